"""vectorize() for a function with arrays: maps it as library(source=) does, once for each T."""

from __future__ import annotations

from typing import Any

import numpy as np

from cwrapjit.kernels.vectorize import Definition
from cwrapjit.library import source
from cwrapjit.library.library import Core
from cwrapjit.library.settings import Settings
from cwrapjit.library.thunks import Unmapped, Unsized


class OfArrays(Definition):
    """The definition of a function whose arrays have dims."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.text.check()
        self._slices: dict[str | None, source.TextSlice] = {}
        if not self.generic:
            self._of(None)

    def _of(self, T: str | None) -> source.TextSlice:
        if T not in self._slices:
            self._slices[T] = self._mapped(T)
        return self._slices[T]

    def _mapped(self, T: str | None) -> source.TextSlice:
        """Maps the function as library(source=) would."""
        found, text = self.found, self.text
        macros = [*text.macros, *source.macros(text)]
        folders = text.include_dirs
        core = Core(
            Settings(found.name, include_dirs=folders, define_macros=macros, debug=False), as_libtcc=True
        )
        source.teach(core.declarations)
        if T is not None:
            core.declarations.typedefs["T"] = source.number(T, f"npy_{T}")
        parsed, _, _ = core.declarations.read_definitions(text.source, text.file)
        for name, error in parsed.failed:
            if name == found.name:
                raise error
        declared = next((each for each in parsed.functions if each.name == found.name), None)
        if declared is None:
            text.fail(f"{found.name}() is not seen: is it behind an #if?", found.at, len(found.name))
        try:
            made = source.TextSlice(core, declared, source.marks_of(text, declared), found.name, structs=True)
            made.check_uses()
        except Unmapped as reason:
            hint = ""
            if isinstance(reason, Unsized) and not self.generic:
                hint = "; library(source=) makes it an argument"
            text.fail(f"{found.name}(): {reason}{hint}", found.at, len(found.name))
        return made

    def signature(self) -> str:
        return self._of("float64" if self.generic else None).signature()

    def inputs(self) -> list[tuple[str, bool]]:
        one, other = self._of("float64"), self._of("int16")
        pairs = zip(one.input_names(), one.dtypes(), other.dtypes(), strict=False)
        return [(name, a != b) for name, a, b in pairs]

    def dtypes(self, T: str | None) -> tuple[np.dtype, ...]:
        return self._of(T).dtypes()

    def confirmation(self, T: str | None) -> str:
        made = self._of(T)
        return source.confirmation(self.text, made.found, made.library.classes.dtype_of)

    def slice(self, called: str, T: str | None) -> str:
        made = self._of(T)
        made.called = called
        return made.text()

    def defaults(self) -> dict[str, Any]:
        made = self._of("float64" if self.generic else None)
        arguments = made.arguments()
        return {name: arguments[name] for name in ("cast", "Ccode_validate", "output_dims")}
