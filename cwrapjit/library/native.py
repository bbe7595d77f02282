"""Converts texts, compiled functions, capsules, ctypes and cffi pointers, and addresses to C functions."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from cwrapjit import _cwrapjit
from cwrapjit._imports import load
from cwrapjit.library import types
from cwrapjit.library.code import Code
from cwrapjit.library.declarations import Declarations


def convert(
    known: Declarations, code: Code, ctype: types.Callable, given: Any, who: str, by_libtcc: bool
) -> tuple[Any, ...] | None:
    """Returns the address of a C function of this type, its owner and, for C text, what ctext.py adds. None:
    `given` has no such address. Raises an exception that begins with `who` if it does not fit."""
    if given is None:
        return 0, None
    if isinstance(given, str):
        made: tuple[Any, ...] = load("cwrapjit.library.ctext").compiled(
            known, code, ctype, given, who, by_libtcc
        )
        return made
    if isinstance(given, _cwrapjit.Pointer):
        if given.item and (given._function is None or not agrees(ctype, given._function.declaration())):
            raise TypeError(f"{who}: expected {types.show(ctype)}, got a Pointer to {given.item}")
        return given.address, given
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool):
        if not 0 <= given < 1 << 64:
            raise OverflowError(f"{who}: {given} is no address")
        if 0 < given < 65536:  # Linux maps nothing there
            raise ValueError(f"{who}: {given} is no address of a function; None or 0 is NULL")
        return int(given), given
    if type(given).__name__ == "PyCapsule":
        return _of_capsule(known, ctype, given, who)
    if isinstance(given, (_cwrapjit.Function, _cwrapjit.LibraryFunction)):
        capsule = getattr(given, "capsule", None)  # without one, it will be a Python callable
        return None if capsule is None else _of_capsule(known, ctype, capsule, who)
    return _of_others(known, ctype, given, who)


def _of_others(known: Declarations, ctype: types.Callable, given: Any, who: str) -> tuple[int, Any] | None:
    """Converts objects of packages that are imported only if somebody has such an object."""
    ctypes, scipy, cffi = map(sys.modules.get, ("ctypes", "scipy._lib._ccallback", "_cffi_backend"))
    if scipy is not None and isinstance(given, scipy.LowLevelCallable):
        return _of_scipy(known, ctype, given, who)
    if ctypes is not None and isinstance(given, ctypes._CFuncPtr):
        return _of_ctypes(ctypes, ctype, given, who)
    if ctypes is not None and isinstance(given, ctypes.c_void_p):
        return given.value or 0, given
    if cffi is not None and isinstance(given, cffi.FFI.CData):
        return _of_cffi(known, cffi, ctype, given, who)
    return None


# ---- objects that have their type as C text -------------------------------------------------------


def _of_capsule(known: Declarations, ctype: types.Callable, capsule: Any, who: str) -> tuple[int, Any]:
    name, address, _ = _cwrapjit.capsule_parts(capsule)
    if name is None or "(" not in name:
        raise TypeError(
            f"{who}: the capsule is called {name!r}, which is no signature such as 'double (double, void *)'"
        )
    result, _, rest = name.partition("(")
    _check(known, ctype, f"{result} cwj_given({rest}", name, who)
    return address, capsule


def _of_scipy(known: Declarations, ctype: types.Callable, given: Any, who: str) -> tuple[int, Any]:
    capsule = tuple.__getitem__(given, 0)
    _, _, context = _cwrapjit.capsule_parts(capsule)
    if context and given.user_data is not None:
        raise TypeError(
            f"{who}: a LowLevelCallable with user data: give C the data as an argument of its own, "
            "cwrapjit.Pointer(data)"
        )
    return _of_capsule(known, ctype, capsule, who)[0], given


def _of_cffi(known: Declarations, cffi: Any, ctype: types.Callable, given: Any, who: str) -> tuple[int, Any]:
    kind = cffi.typeof(given)
    if kind.kind not in ("function", "pointer") or (kind.kind == "pointer" and kind.item.kind != "void"):
        raise TypeError(f"{who}: expected {types.show(ctype)}, got cffi's {kind.cname}")
    address = int(cffi.cast(cffi.new_primitive_type("uintptr_t"), given))
    if kind.kind == "function":
        _check(known, ctype, cffi.getcname(kind, "cwj_given").replace("(*cwj_given)", " cwj_given"),
               kind.cname, who)  # fmt: skip
    return address, given


def _check(known: Declarations, ctype: types.Callable, declaration: str, shown: str, who: str) -> None:
    """Raises TypeError unless the declaration agrees with the type."""
    kept = known.signatures
    if kept.get(declaration) is ctype:
        return
    try:
        parsed = known.read(declaration + ";", "<callback>")
    except _cwrapjit.CompileError as error:
        raise TypeError(f"{who}: the signature {shown!r} cannot be read: {error.msg}") from None
    if len(parsed.functions) != 1 or not agrees(ctype, parsed.functions[0]):
        raise TypeError(f"{who}: expected {types.show(ctype)}, got {shown}")
    if len(kept) > 256:
        kept.clear()
    kept[declaration] = ctype


# ---- agreement of types ---------------------------------------------------------------------------


def agrees(wanted: types.Callable, found: Any) -> bool:
    """True if C may call a function declared as `found` where it wants one of this type."""
    parameters = [each.type for each in found.parameters]
    return (
        found.variadic == wanted.variadic
        and len(parameters) == len(wanted.parameters)
        and same(wanted.result, found.result)
        and all(map(same, wanted.parameters, parameters))
    )


def same(one: Any, other: Any) -> bool:
    """True if both are passed alike, and mean memory of the same type."""
    targets = types.target_of(one), types.target_of(other)
    if None not in targets:
        return _targets(*targets)
    if isinstance(one, types.Callable) or isinstance(other, types.Callable):
        return _is_pointer(one) and _is_pointer(other)
    if isinstance(one, types.Scalar) and isinstance(other, types.Scalar):
        have_dtypes = one.dtype and other.dtype
        return np.dtype(one.dtype) == np.dtype(other.dtype) if have_dtypes else one.spelling == other.spelling
    return types.same(one, other)


def _is_pointer(ctype: Any) -> bool:
    return isinstance(ctype, types.Callable) or (
        isinstance(ctype, types.Pointer) and isinstance(ctype.target, (types.Void, types.Callable))
    )


def _targets(one: Any, other: Any) -> bool:
    if isinstance(one, types.Void) or isinstance(other, types.Void):
        return True
    if isinstance(one, types.Scalar) and isinstance(other, types.Scalar) and one.is_byte and other.is_byte:
        return True
    if isinstance(one, types.Struct) and isinstance(other, types.Struct):
        one, other = types.final(one), types.final(other)
        return one is other or one.name == other.name or types.same(one, other)
    return same(one, other)


# ---- ctypes ---------------------------------------------------------------------------------------


def _of_ctypes(ctypes: Any, ctype: types.Callable, given: Any, who: str) -> tuple[int, Any]:
    if given.argtypes is None:
        raise TypeError(f"{who}: the function of ctypes has no argtypes, so that nobody knows if it fits")
    wanted = [_ctypes_form(ctypes, each) for each in (given.restype, *given.argtypes)]
    found = [_form(each) for each in (ctype.result, *ctype.parameters)]
    agree = len(wanted) == len(found) and all(
        a == b or (a[0] == b[0] == "pointer" and "" in (a[1], b[1]))
        for a, b in zip(wanted, found, strict=True)
    )
    if not agree:
        names = [getattr(each, "__name__", "None") for each in (given.restype, *given.argtypes)]
        raise TypeError(
            f"{who}: expected {types.show(ctype)}, got a function of ctypes that is {names[0]} "
            f"({', '.join(names[1:])})"
        )
    return ctypes.cast(given, ctypes.c_void_p).value or 0, given


def _form(ctype: Any) -> tuple[str, str]:
    """Returns how C passes a type and, for pointers, the type of the memory if it can be compared."""
    if isinstance(ctype, types.Void):
        return "void", ""
    if isinstance(ctype, types.Scalar):
        return "number", np.dtype(ctype.dtype).str if ctype.dtype else ctype.spelling
    if isinstance(ctype, types.Struct):
        return "struct", str(load("cwrapjit.library.thunks").size_of(ctype))
    target = ctype.target if isinstance(ctype, types.Pointer) else getattr(ctype, "item", None)
    if isinstance(target, types.Scalar) and target.dtype:
        return "pointer", "" if target.is_byte else np.dtype(target.dtype).str
    return "pointer", ""


def _ctypes_form(ctypes: Any, kind: Any) -> tuple[str, str]:
    if kind is None:
        return "void", ""
    if issubclass(kind, (ctypes.Structure, ctypes.Union)):
        return "struct", str(ctypes.sizeof(kind))
    if issubclass(kind, ctypes._SimpleCData) and kind._type_ not in "PzZO":
        if kind._type_ == "g":
            return "number", "long double"
        if kind._type_ == "c":
            return "number", "|i1"
        return "number", np.dtype(kind).str
    target: Any = getattr(kind, "_type_", None)
    simple = isinstance(target, type) and issubclass(target, ctypes._SimpleCData)
    if simple and target._type_ not in "PzZOcbBg":
        return "pointer", np.dtype(target).str
    return "pointer", ""
