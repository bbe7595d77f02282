"""PyObject * of declarations: Python's objects as they are. Calls keep the GIL then.

An argument is borrowed by C for the call; a result is a new reference, as CPython's own functions return one,
unless returns="static" says that it is borrowed.
"""

from __future__ import annotations

import ctypes
from typing import Any


class Given:
    """What C is given: an argument, or what a callback returns, of which C gets a reference (is_new)."""

    annotation = "object"

    def __init__(self, is_new: bool = False) -> None:
        self.is_new = is_new
        self.known: dict[Any, Any] = {}  # calls look there first: nothing is made of an object

    def __call__(self, value: Any) -> tuple[int, Any]:
        """(address, what keeps it)"""
        if self.is_new:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))
        return id(value), value


class Returned:
    """What C gives: a result, whose reference is ours (is_new), or an argument of a callback."""

    def __init__(self, is_new: bool) -> None:
        self.is_new = is_new

    def at(self, address: int, lifetime: Any) -> Any:
        found = ctypes.cast(address, ctypes.py_object) if address else None
        value = None if found is None else found.value
        if found is not None and self.is_new:
            ctypes.pythonapi.Py_DecRef(found)
        return value
