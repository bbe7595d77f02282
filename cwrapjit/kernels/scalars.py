"""Numbers beside arrays, and the C types of dtypes, for all kernels with parameter lists."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

import numpy as np

_NAMED = {"?": "_Bool", "q": "npy_int64", "Q": "npy_uint64", "g": "npy_longdouble", "e": "cwj_half"}


_OF_COMPLEX = (
    "add sub mul scale div pow neg real imag abs arg proj eq ne lt le gt ge isnan isinf isfinite exp log "
    "sqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh"
)
# Names that the package's headers declare, for texts that do not include these: see emit_implied.c.
_HEADERS = {
    "complex.h": {"CMPLX", "CMPLXF", "conj", "conjf"}
    | {f"c{name}{suffix}" for name in _OF_COMPLEX.split() for suffix in ("", "f")},
    "numpy/halffloat.h": {"half_to_float", "half_to_double", "float_to_half", "double_to_half"},
}


def includes(used: Set[str], own: Set[str]) -> str:
    """Returns #includes for names of complex numbers and float16, unless texts define such names."""
    fit = [header for header, names in _HEADERS.items() if used & names and not own & names]
    return "".join(f"#include <{header}>\n" for header in fit)


def is_scalar(value: object) -> bool:
    """True for values that never decide a type: Python's and NumPy's numbers, but not 0-d arrays."""
    return isinstance(value, (bool, int, float, complex, np.generic))


def c_type(dtype: np.dtype[Any]) -> str:
    """Returns the C type of a dtype's items in memory."""
    return _NAMED.get(dtype.char) or f"npy_{dtype.name}"


def value_type(dtype: np.dtype[Any]) -> str:
    """Returns the C type that texts compute with: float for float16, which is rounded when stored."""
    return "npy_float32" if dtype.char == "e" else c_type(dtype)


def literal(value: int | float, suffix: str = "") -> str:
    """Returns a number in C, which has no negative literals. A float is the shortest text of its value."""
    if isinstance(value, int):
        text = f"{value}{suffix}" if value > -(2**63) else f"{value + 1}{suffix} - 1"
    elif value != value:
        text = "NAN"
    else:
        text = f"{value!r}{suffix}".replace(f"inf{suffix}", "INFINITY")
    return f"({text})" if text.startswith("-") else text


def check_type(dtype: np.dtype[Any], who: str, what: str) -> None:
    if dtype.char == "G":
        raise TypeError(
            f"{who}: {what} is {dtype}, which C text cannot compute with; convert it with astype()"
        )


def is_weak(value: object) -> bool:
    """True for numbers of NumPy's. They count as Python's own, by item(): only arrays decide types."""
    return isinstance(value, np.generic) and value.dtype.kind in "biufc"
