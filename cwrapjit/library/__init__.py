"""C and Fortran libraries. The package can be called, and makes a Library: help(cwrapjit.library.Library)."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from cwrapjit._imports import load

if TYPE_CHECKING:
    from cwrapjit.library.public import Library as Library

__all__ = ["Library"]


class _Package(ModuleType):
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.Library(*args, **kwargs)

    @property
    def __signature__(self) -> Any:
        return load("inspect").signature(self.Library)

    def __getattr__(self, name: str) -> Any:
        if name != "Library":
            raise AttributeError(f"module 'cwrapjit.library' has no attribute {name!r}")
        made = self.__dict__["Library"] = load("cwrapjit.library.public").Library
        return made


sys.modules[__name__].__class__ = _Package
