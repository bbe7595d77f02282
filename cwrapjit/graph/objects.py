"""Any Python object, and C pointers that Python only passes around."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from cwrapjit.graph.base import BuiltIn

_POINTER = re.compile(r"[A-Za-z_][\w ]*\**[\s*]*")
_CAPSULE = type(__import__("datetime").datetime_CAPI)


class Generic(BuiltIn):
    """Any Python object: NAME is a PyObject *, an owned reference; NULL becomes None.

    >>> import cwrapjit, cwrapjit.graph as cg
    >>> x = cg.generic("x")
    >>> cwrapjit.link([x], cg.view(x))({"any": "object"})
    {'any': 'object'}"""

    ctype = "PyObject *"

    def c_extract(self, name: str, sub: dict[str, str], check_input: bool = True) -> str:
        return f"{name} = py_{name};\nPy_INCREF({name});"

    def c_sync(self, name: str, sub: dict[str, str]) -> str:
        return f"""\
if (py_{name} != {name}) {{
    Py_XDECREF(py_{name});
    py_{name} = {name} != NULL ? {name} : Py_None;
    Py_INCREF(py_{name});
}}"""

    def c_cleanup(self, name: str, sub: dict[str, str]) -> str:
        return f"Py_XDECREF({name});"

    def _key(self) -> tuple[Any, ...]:
        return ()


generic = Generic()


class CDataType(BuiltIn):
    """An opaque C pointer. In C, the variable NAME is of type ctype; Python sees a capsule, or None for NULL.

    >>> import cwrapjit.graph as cg
    >>> print(cg.CDataType("void *", "free", headers=["<stdlib.h>"])("block").type.ctype)
    void *

    ctype: a pointer type, "void *".
    freefunc: a C function of one pointer, which frees what NAME points to: when a result's capsule is
    collected, or in the cleanup if no capsule was made. A pointer from a capsule belongs to that capsule. A
    capsule keeps the code loaded that made the capsule, so freefunc may be part of the support code.
    headers, header_dirs, libraries, lib_dirs, compile_args: what c_headers() and its like return.
    extra_support_code: functions and types, at file level.
    version: a number that changes with the C text; None: compiled code is never reused for another graph.

    Raises TypeError for a type that is no pointer and a name that is none in C."""

    def __init__(
        self,
        ctype: str,
        freefunc: str | None = None,
        *,
        headers: Sequence[str] = (),
        header_dirs: Sequence[str] = (),
        libraries: Sequence[str] = (),
        lib_dirs: Sequence[str] = (),
        compile_args: Sequence[str] = (),
        extra_support_code: str = "",
        version: int | None = None,
    ) -> None:
        if not isinstance(ctype, str) or not _POINTER.fullmatch(ctype) or "*" not in ctype:
            raise TypeError(f"CDataType: ctype must be a pointer type like 'void *', not {ctype!r}")
        if freefunc is not None and not re.fullmatch(r"[A-Za-z_]\w*", freefunc):
            raise TypeError(f"CDataType: freefunc must be the name of a C function, not {freefunc!r}")
        self.ctype = ctype
        self.freefunc = freefunc
        self.headers = tuple(headers)
        self.header_dirs = tuple(header_dirs)
        self.libraries = tuple(libraries)
        self.lib_dirs = tuple(lib_dirs)
        self.compile_args = tuple(compile_args)
        self.extra_support_code = extra_support_code
        self.version = version

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        """Returns a capsule or None unchanged; raises TypeError for anything else."""
        if value is not None and not isinstance(value, _CAPSULE):
            raise TypeError(f"{self}.filter(): wanted a capsule or None, got {type(value).__name__}")
        return value

    def values_eq(self, a: Any, b: Any) -> bool:
        return a is b

    def c_headers(self, c_compiler: Any = None) -> list[str]:
        return ["<Python.h>", "<cwj_arrays.h>", *self.headers]

    def c_header_dirs(self, c_compiler: Any = None) -> list[str]:
        return list(self.header_dirs)

    def c_libraries(self, c_compiler: Any = None) -> list[str]:
        return list(self.libraries)

    def c_lib_dirs(self, c_compiler: Any = None) -> list[str]:
        return list(self.lib_dirs)

    def c_compile_args(self, c_compiler: Any = None) -> list[str]:
        return list(self.compile_args)

    def c_support_code(self) -> str:
        return self.extra_support_code

    def c_declare(self, name: str, sub: dict[str, str], check_input: bool = True) -> str:
        return f"{self.ctype} {name};\nvoid *{name}_elsewhere;"

    def c_init(self, name: str, sub: dict[str, str]) -> str:
        return f"{name} = NULL;\n{name}_elsewhere = NULL;"

    def c_extract(self, name: str, sub: dict[str, str], check_input: bool = True) -> str:
        return f"""\
{name} = NULL;
{name}_elsewhere = NULL;
if (py_{name} != Py_None) {{
    {name}_elsewhere = PyCapsule_GetPointer(py_{name}, NULL);
    if ({name}_elsewhere == NULL) {sub["fail"]}
    {name} = ({self.ctype}){name}_elsewhere;
}}"""

    def c_sync(self, name: str, sub: dict[str, str]) -> str:
        free = f"(void (*)(void *)){self.freefunc}" if self.freefunc else "NULL"
        return f"""\
Py_XDECREF(py_{name});
if ({name} == NULL) {{
    py_{name} = Py_None;
    Py_INCREF(Py_None);
}} else {{
    py_{name} = cwj_capsule_new((void *){name}, {free});
    if (py_{name} == NULL) {sub["fail"]}
    {name}_elsewhere = (void *){name};
}}"""

    def c_cleanup(self, name: str, sub: dict[str, str]) -> str:
        if not self.freefunc:
            return f"(void){name}_elsewhere;"  # avoids a warning about an unused variable
        return f"if ({name} != NULL && (void *){name} != {name}_elsewhere) {self.freefunc}({name});"

    def c_code_cache_version(self) -> tuple[Any, ...]:
        return () if self.version is None else (1, self.version)

    def _key(self) -> tuple[Any, ...]:
        return tuple(v for _, v in sorted(vars(self).items()))

    def __str__(self) -> str:
        return f"CDataType({self.ctype})"
