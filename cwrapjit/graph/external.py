"""Ops whose C code is in files, divided into sections by lines like "#section support_code"."""

from __future__ import annotations

import inspect
import os
import pathlib
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from cwrapjit._errors import say_whose
from cwrapjit.graph.base import COp

SECTIONS = (
    "init_code",
    "init_code_apply",
    "init_code_struct",
    "support_code",
    "support_code_apply",
    "support_code_struct",
    "cleanup_code_struct",
    "code",
    "code_cleanup",
)
_MARKER = re.compile(r"^#section[ \t]+(\S+)[ \t]*$", re.MULTILINE)
_OLD_MARKER = re.compile(r"^(?:THEANO|AESARA|PYTENSOR)_(APPLY|SUPPORT)_CODE_SECTION[ \t]*$", re.MULTILINE)
_OLD_SECTIONS = {"APPLY": "support_code_apply", "SUPPORT": "support_code"}


def _cut(file: str, text: str) -> list[tuple[str, str]]:
    """Returns the sections of a file, in order. Raises ValueError for text outside of them."""
    old = _OLD_MARKER.search(text) is not None
    parts = (_OLD_MARKER if old else _MARKER).split(text)
    if old and _MARKER.search(text):
        raise ValueError(f"{file}: markers of two kinds, #section and the older ones")
    if len(parts) == 1:
        raise ValueError(f"{file}: there is no #section")
    if parts[0].strip():
        stray = parts[0].strip().splitlines()[0]
        raise ValueError(f"{file}: stray text in front of the first section: {stray!r}")
    found = []
    for name, body in zip(parts[1::2], parts[2::2], strict=True):
        name = _OLD_SECTIONS[name] if old else name
        if name not in SECTIONS:
            raise ValueError(f"{file}: unknown section {name!r}; there are {', '.join(SECTIONS)}")
        found.append((name, body))
    return found


class ExternalCOp(COp):
    """ExternalCOp(files, func_name=None): an op made from the sections of C files.

    func_files: a path or several. Relative ones start in the folder of the derived class's source file, or in
    the current folder for this class itself and for classes without a file. Sections of the same name in
    several files are joined.
    func_name: a function of the files, func_name(inputs..., &outputs..., params), which the op calls, and
    which returns 0 unless it fails.

    Sections can use these macros: INPUT_0, OUTPUT_0 ... (in code and code_cleanup), FAIL, PARAMS (if the op
    has them), APPLY_SPECIFIC(name), and for each variable with a dtype DTYPE_INPUT_0, TYPENUM_INPUT_0 and
    ITEMSIZE_INPUT_0, likewise for outputs.

    Raises OSError for files that cannot be read, ValueError for files without sections or with unknown
    ones."""

    def __init__(self, func_files: Any, func_name: str | None = None) -> None:
        files = [func_files] if isinstance(func_files, (str, os.PathLike)) else list(func_files)
        self.func_files = [self._path(file) for file in files]
        self.func_name = func_name
        self.code_sections: dict[str, str] = {}
        texts = [(str(path), self._read(path)) for path in self.func_files]
        old = [file for file, text in texts if _OLD_MARKER.search(text)]
        if old and len(old) < len(texts):
            raise ValueError(f"{', '.join(old)}: older markers, beside files with #section")
        for file, text in texts:
            for name, body in _cut(file, text):
                self.code_sections[name] = self.code_sections.get(name, "") + body
        if not self.code_sections:
            raise ValueError("ExternalCOp: there are no C files")
        if func_name is not None:
            self._check_function(func_name)

    @staticmethod
    def _read(file: pathlib.Path) -> str:
        try:
            return file.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            say_whose(error, str(file))
            raise

    @classmethod
    def _path(cls, file: Any) -> pathlib.Path:
        path = pathlib.Path(file)
        if path.is_absolute():
            return path
        folder = pathlib.Path()
        if cls is not ExternalCOp:
            try:
                folder = pathlib.Path(inspect.getfile(cls)).parent
            except (TypeError, OSError):  # defined in a session
                pass
        return (folder / path).resolve()

    def _check_function(self, func_name: str) -> None:
        if not isinstance(func_name, str) or not func_name.isidentifier():
            raise ValueError(f"ExternalCOp: func_name must be the name of a C function, not {func_name!r}")
        for section in ("code", "code_cleanup"):
            if section in self.code_sections:
                raise ValueError(f"ExternalCOp: section {section!r} beside func_name={func_name!r}")

    # ---- macros

    @staticmethod
    def _variable_macros(node: Any) -> dict[str, str]:
        macros = {}
        named = [(f"INPUT_{i}", v) for i, v in enumerate(node.inputs)]
        named += [(f"OUTPUT_{i}", v) for i, v in enumerate(node.outputs)]
        for name, variable in named:
            dtype = getattr(variable.type, "dtype", None)
            if dtype is not None:
                found = np.dtype(dtype)
                macros[f"DTYPE_{name}"] = f"npy_{found.name}"
                macros[f"TYPENUM_{name}"] = str(found.num)
                macros[f"ITEMSIZE_{name}"] = str(found.itemsize)
        return macros

    def _wrapped(self, section: str, node: Any, name: str, more: dict[str, str] | None = None) -> str:
        """Returns a section between the #define and #undef lines of its macros."""
        text = self.code_sections.get(section, "")
        if not text:
            return ""
        macros = {**self._variable_macros(node), "APPLY_SPECIFIC(name)": f"name##_{name}", **(more or {})}
        define = "".join(f"#define {macro} {value}\n" for macro, value in macros.items())
        undefine = "".join(f"#undef {macro.partition('(')[0]}\n" for macro in macros)
        return f"{define}{text.rstrip()}\n{undefine}"

    @staticmethod
    def _sub_macros(sub: dict[str, str]) -> dict[str, str]:
        macros = {"FAIL": " ".join(sub["fail"].split())} if "fail" in sub else {}
        return {**macros, "PARAMS": sub["params"]} if "params" in sub else macros

    def _code_macros(
        self, inputs: Sequence[str], outputs: Sequence[str], sub: dict[str, str]
    ) -> dict[str, str]:
        names = {f"INPUT_{i}": text for i, text in enumerate(inputs)}
        names.update({f"OUTPUT_{i}": text for i, text in enumerate(outputs)})
        return {**names, **self._sub_macros(sub)}

    # ---- sections

    def c_init_code(self) -> list[str]:
        return [self.code_sections["init_code"]] if "init_code" in self.code_sections else []

    def c_support_code(self) -> str:
        return self.code_sections.get("support_code", "")

    def c_init_code_apply(self, node: Any, name: str) -> str:
        return self._wrapped("init_code_apply", node, name)

    def c_support_code_apply(self, node: Any, name: str) -> str:
        return self._wrapped("support_code_apply", node, name)

    def c_support_code_struct(self, node: Any, name: str) -> str:
        """Replaces macros instead of defining them, as the section contains only declarations."""
        text = self.code_sections.get("support_code_struct", "")
        text = re.sub(r"\bAPPLY_SPECIFIC\(\s*(\w+)\s*\)", rf"\1_{name}", text)
        for macro, value in self._variable_macros(node).items():
            text = re.sub(rf"\b{macro}\b", value, text)
        return text

    def c_init_code_struct(self, node: Any, name: str, sub: dict[str, str]) -> str:
        return self._wrapped("init_code_struct", node, name, self._sub_macros(sub))

    def c_cleanup_code_struct(self, node: Any, name: str) -> str:
        return self._wrapped("cleanup_code_struct", node, name)

    def c_code(
        self, node: Any, name: str, inputs: Sequence[str], outputs: Sequence[str], sub: dict[str, str]
    ) -> str:
        if self.func_name is None:
            if "code" not in self.code_sections:
                raise NotImplementedError(
                    f"{self}: the C files have no section code, and there is no func_name"
                )
            return self._wrapped("code", node, name, self._code_macros(inputs, outputs, sub))
        arguments = [
            *inputs,
            *(f"&{output}" for output in outputs),
            *([sub["params"]] if "params" in sub else []),
        ]
        return (
            f"#define APPLY_SPECIFIC(name) name##_{name}\n"
            f"if ({self.func_name}({', '.join(arguments)}) != 0) {sub['fail']}\n"
            "#undef APPLY_SPECIFIC\n"
        )

    def c_code_cleanup(
        self, node: Any, name: str, inputs: Sequence[str], outputs: Sequence[str], sub: Any
    ) -> str:
        return self._wrapped("code_cleanup", node, name, self._code_macros(inputs, outputs, sub or {}))
