"""C's number types, by the words of declarations, and their dtypes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cwrapjit._imports import load

MOST_PARAMETERS = 500  # of a C function: libtcc has room for 511 values at a time

# The types that T can stand for: dtype -> C type.
SPELLED = {
    "bool": "_Bool",
    "int8": "signed char", "int16": "short", "int32": "int", "int64": "long",
    "uint8": "unsigned char", "uint16": "unsigned short", "uint32": "unsigned int", "uint64": "unsigned long",
    "float16": "cwj_half", "float32": "float", "float64": "double", "longdouble": "long double",
    "complex64": "npy_complex64", "complex128": "npy_complex128",
}  # fmt: skip

# The usual names of types. library() knows the others, but its import takes longer than compiling a text.
_USUAL = {
    **{spelled: name for name, spelled in SPELLED.items()},
    **{f"{name}_t": name for name in SPELLED if "int" in name},
    "bool": "bool", "unsigned": "uint32", "long long": "int64", "size_t": "uint64", "ptrdiff_t": "int64",
}  # fmt: skip

# NumPy's names of C types, as in <numpy/npy_types.h>.
NUMPY = {
    "npy_bool": "bool", "npy_byte": "int8", "npy_ubyte": "uint8", "npy_short": "int16",
    "npy_ushort": "uint16", "npy_int": "int32", "npy_uint": "uint32",
    "npy_long": "int64", "npy_ulong": "uint64", "npy_longlong": "int64", "npy_ulonglong": "uint64",
    "npy_intp": "int64", "npy_uintp": "uint64",
    "npy_float": "float32", "npy_double": "float64", "npy_longdouble": "longdouble",
    "npy_cfloat": "complex64", "npy_cdouble": "complex128",
    "cwj_half": "float16",
    **{f"npy_{name}": name for name in SPELLED if name not in ("bool", "float16", "longdouble")},
}  # fmt: skip


def dtype_of(words: Sequence[str]) -> str | None:
    """Returns the dtype for words such as ["unsigned", "long"] or ["npy_intp"]. None: NumPy has none."""
    spelled = " ".join(words)
    if spelled in NUMPY or spelled in _USUAL:
        return NUMPY.get(spelled) or _USUAL[spelled]
    if sorted(words) == ["double", "long"]:
        return "longdouble"
    if "_Complex" in words or "complex" in words:
        return None  # libtcc does not support it
    types = load("cwrapjit.library.types")
    known = types.KNOWN.get(words[0]) if len(words) == 1 else None
    found = known if known is not None else types.basic(list(words))
    dtype = getattr(found, "dtype", "")
    return dtype.replace("intc", "int32") or None


CHECK_CONTIGUOUS = "if (!CHECK_CONTIGUOUS_AND_SETERROR__%s()) return 0;\n"
_CHECK_LENGTH = """if (%s > %d) {
    PyErr_SetString(PyExc_ValueError, "the arrays are too large for %s");
    return 0;
}
"""


def check_length(value: str, dtype: Any, name: str) -> str:
    """C text that refuses a length that does not fit this integer dtype. name: its parameter."""
    limits = np.iinfo(dtype)
    return _CHECK_LENGTH % (value, limits.max, name) if limits.bits < 64 else ""


def name_of(dtype: np.dtype) -> str | None:
    """Returns the key of a dtype in SPELLED; None if C has no such type."""
    name = {"g": "longdouble", "q": "int64", "Q": "uint64"}.get(dtype.char, dtype.name)
    return name if name in SPELLED and dtype.isnative else None


_RANKS = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}
_WEAK = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}


def array_of(who: str, name: str, value: object) -> np.ndarray:
    """Converts an argument by np.asarray(). Its errors name the argument."""
    try:
        return np.asarray(value)
    except (TypeError, ValueError) as error:
        if type(error) not in (TypeError, ValueError):
            raise
        raise type(error)(f"{who}: argument {name!r}: {error}") from error


def deduced(who: str, values: Sequence[tuple[str, object]]) -> str:
    """Returns T for the arguments of that type: NumPy's promotion, in which Python's numbers are weak."""
    strong: list[np.dtype] = []
    weak: list[str] = []
    for name, value in values:
        kind = next((made for each, made in _WEAK.items() if isinstance(value, each)), None)
        if kind is not None and not isinstance(value, np.generic):
            weak.append(kind)
            continue
        array = value if isinstance(value, (np.ndarray, np.generic)) else array_of(who, name, value)
        dtype = array.dtype
        if dtype.kind == "O" and array.ndim == 0 and hasattr(type(value), "__array_ufunc__"):
            continue  # pandas.NA: f.ufunc gives it back
        if name_of(dtype.newbyteorder("=")) is None:
            raise TypeError(
                f"{who}: T cannot be deduced: argument {name!r} has dtype {dtype}, for which C has no type"
            )
        strong.append(dtype)
    return _promoted(who, strong, weak)


def _promoted(who: str, strong: Sequence[np.dtype], weak: Sequence[str]) -> str:
    if not strong:
        return str(np.result_type(*weak)) if weak else "float64"
    found = np.result_type(*strong)
    for each in map(np.dtype, weak):
        if _RANKS[each.kind] <= _RANKS[found.kind]:
            continue
        if found.kind == "f":  # a complex number gets the precision of floats
            found = np.result_type(found, np.complex64)
        else:
            found = each
    name = name_of(found)
    if name is None:
        raise TypeError(
            f"{who}: T cannot be deduced: the arguments' common type is {found}, for which C has no type"
        )
    return name
