"""What may be given where C wants a function, other than Python's own callables."""

from __future__ import annotations

from typing import Any

from cwrapjit.library import types


def convert(library: Any, ctype: types.Callable, given: Any, who: str) -> tuple[int, Any] | None:
    """The address of a C function of this type, and what keeps it. None: `given` has no such address. An
    exception, which begins with `who`: it has one that does not fit."""
    return None
