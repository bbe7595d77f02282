"""Numbers beside arrays, and dtypes as C types: what is the same for all kernels of parameter lists."""

from __future__ import annotations

from typing import Any

import numpy as np

_NAMED = {"?": "_Bool", "q": "npy_longlong", "Q": "npy_ulonglong", "g": "npy_longdouble"}


def is_scalar(value: object) -> bool:
    """True for what never decides a type: numbers of Python's and of NumPy's, but not 0-d arrays."""
    return isinstance(value, (bool, int, float, complex, np.generic))


def c_type(dtype: np.dtype[Any]) -> str:
    """The C type of a dtype, as generated text calls it."""
    return _NAMED.get(dtype.char) or f"npy_{dtype.name}"


def check_type(dtype: np.dtype[Any], who: str, what: str) -> None:
    if dtype.char in "eG":
        raise TypeError(
            f"{who}: {what} is {dtype}, which C text cannot compute with; convert it with astype()"
        )


def cast(value: Any, dtype: np.dtype[Any], who: str, name: str) -> Any:
    """How a scalar becomes a number of that type; None: the function does that, or it is no scalar."""
    if isinstance(value, np.generic):
        if value.dtype.kind not in "biufc":
            raise TypeError(f"{who}: {name!r} is a scalar of {value.dtype}; wanted a number")
        if value.dtype.kind == "c" and dtype.kind != "c":
            raise TypeError(f"{who}: {name!r} is complex, but its type is {dtype}")
        return None if value.dtype.char == dtype.char else dtype
    if isinstance(value, complex) and dtype.kind != "c":
        raise TypeError(f"{who}: {name!r} is complex, but its type is {dtype}")
    if dtype.kind == "b" and isinstance(value, (int, float)) and not isinstance(value, bool):
        return bool
    if dtype.kind in "iu" and isinstance(value, float):
        return int
    return None
