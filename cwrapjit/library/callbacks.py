"""Functions as arguments: from what is given to the address of a C function."""

from __future__ import annotations

from typing import Any

from cwrapjit._imports import load
from cwrapjit.library import types


class Converter:
    """Makes addresses for one parameter of a function."""

    def __init__(self, library: Any, ctype: types.Callable, who: str, name: str) -> None:
        self.library = library
        self.ctype = ctype
        self.who = f"{who}: argument {name}"

    def __call__(self, given: Any) -> tuple[int, Any]:
        """(address, what keeps the function)"""
        found: tuple[int, Any] | None
        found = load("cwrapjit.library.callables").convert(self.library, self.ctype, given, self.who)
        if found is None:
            raise TypeError(f"{self.who}: expected {types.show(self.ctype)}, got {type(given).__name__}")
        return found
