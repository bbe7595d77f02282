"""Passes PyObject * of declarations: Python's objects as they are. Such calls keep the GIL.

C borrows arguments for the call. Results are new references or, with returns="static", borrowed ones.
"""

from __future__ import annotations

import ctypes
from typing import Any


class Given:
    """Passes an argument to C, or a callback's result, of which C gets a reference (is_new)."""

    annotation = "object"

    def __init__(self, is_new: bool = False) -> None:
        self.is_new = is_new
        self.known: dict[Any, Any] = {}  # calls look there first; it stays empty

    def __call__(self, value: Any) -> tuple[int, Any]:
        """Returns (address, what keeps the object)."""
        if self.is_new:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))
        return id(value), value


class Returned:
    """Takes a result from C, whose reference is ours (is_new), or an argument of a callback."""

    def __init__(self, is_new: bool) -> None:
        self.is_new = is_new

    def at(self, address: int, lifetime: Any) -> Any:
        found = ctypes.cast(address, ctypes.py_object) if address else None
        value = None if found is None else found.value
        if found is not None and self.is_new:
            ctypes.pythonapi.Py_DecRef(found)
        return value
