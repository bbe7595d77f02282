"""Numbers as types of graphs: float64, int32 and so on, each one C variable."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from cwrapjit._cwrapjit import make_filter, read_scalar
from cwrapjit.graph.base import BuiltIn
from cwrapjit.graph.operators import NumericVariable
from cwrapjit.kernels.scalars import literal

DTYPES = (
    "bool",
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
)
_NATIVE: dict[str, type] = {"float64": float, "int64": int, "bool": bool}
_SUFFIX = {"uint32": "U", "int64": "L", "uint64": "UL", "float32": "f"}


def dtype_name(who: str, dtype: Any) -> str:
    """Returns the name of one of the 14 dtypes. Raises TypeError for any other."""
    try:
        found = np.dtype(dtype)
    except (TypeError, ValueError, SyntaxError):  # NumPy's errors for unknown words
        found = np.dtype(object)
    if found.name not in DTYPES or not found.isnative:
        raise TypeError(f"{who}: no graph type for dtype {dtype!r}; there are {', '.join(DTYPES)}")
    return str(found.name)


def c_type(dtype: str) -> str:
    """ "npy_int32": how C calls it."""
    return f"npy_{dtype}"


def c_value_type(dtype: str) -> str:
    """Returns the C type of a number. A bool converts like a _Bool; in memory it is a byte."""
    return "bool" if dtype == "bool" else c_type(dtype)


def type_number(dtype: str) -> str:
    """ "NPY_INT32"."""
    return f"NPY_{dtype.upper()}"


def own_headers(dtype: str) -> list[str]:
    """Returns the headers that C needs to compute with that dtype."""
    if dtype.startswith("complex"):
        return ["<cwj_complex.h>"]
    return ["<numpy/halffloat.h>"] if dtype == "float16" else []


def refuse_masked(who: str, value: Any) -> None:
    """Raises TypeError for an array with masked elements, which would be lost."""
    if isinstance(value, np.ndarray) and isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise TypeError(f"{who}: this has masked elements, which would be lost: give x.filled(...)")


class Scalar(BuiltIn):
    """A number: in C a variable of c_element_type(), for bool a bool; float16 as its bits
    (<numpy/halffloat.h>).

    >>> import cwrapjit.graph as cg
    >>> cg.Scalar("float32") == cg.float32
    True

    dtype: one of the 14 dtypes of bools, integers, floats and complex numbers, in native byte order.

    Results are float for float64, int for int64, bool for bool, and otherwise NumPy scalars. Raises TypeError
    for other dtypes."""

    variable_class = NumericVariable
    ndim = 0
    is_array = False

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype_name("Scalar", dtype)
        self.ctype = c_value_type(self.dtype)
        self._number = np.dtype(self.dtype).num
        self._class: type = _NATIVE.get(self.dtype, np.dtype(self.dtype).type)
        if type(self).filter is Scalar.filter:  # a quicker filter with the same results
            self.filter = make_filter(self._number, -1, self._class, self._convert)  # type: ignore[method-assign]

    # ---- Python's side

    def _convert(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        who = f"{self}.filter()"
        refuse_masked(who, value)
        if strict and not isinstance(value, (self._class, np.dtype(self.dtype).type)):
            raise TypeError(f"{who}: wanted {self._class.__name__}, got {type(value).__name__} (strict)")
        try:
            if allow_downcast and not isinstance(value, (str, bytes)):
                return self._downcast(value)
            with np.errstate(over="ignore" if allow_downcast is False else None):
                made = read_scalar(self._number, value)
        except OverflowError as error:  # an int out of range
            raise OverflowError(f"{who}: {error}") from None
        except (TypeError, ValueError) as error:
            raise TypeError(f"{who}: {error}") from None
        if allow_downcast is False and complex(made) != complex(value) and value == value:
            raise TypeError(f"{who}: {value!r} would be rounded")
        return made

    def _downcast(self, value: Any) -> Any:
        array = np.asarray(value)
        if array.ndim != 0 or array.dtype.kind not in "biufc":
            raise TypeError(f"expected {self.dtype}, got {type(value).__name__}")
        with np.errstate(all="ignore"):
            part = array.real if array.dtype.kind == "c" and not self.dtype.startswith("complex") else array
            return read_scalar(self._number, part.astype(self.dtype)[()])

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        """Converts the value to this type: TypeError for another kind of number, OverflowError for an int
        that is out of range. Python's floats are rounded, with a RuntimeWarning if they become infinite;
        NumPy's numbers must have a dtype that casts safely, or be integers that fit. strict: only this type's
        own class. allow_downcast=True: any number, even if its value changes; False: not even rounding."""
        return self._convert(value, strict, allow_downcast)

    def values_eq(self, a: Any, b: Any) -> bool:
        """True if equal, or both NaN."""
        return bool(a == b) or (a != a and b != b)

    def values_eq_approx(self, a: Any, b: Any, tolerance: float = 1e-4) -> bool:
        """True if they differ by less than tolerance, relative to the sum of their magnitudes."""
        if self.values_eq(a, b):
            return True
        if np.dtype(self.dtype).kind not in "fc":
            return False
        difference, total = abs(a - b), abs(a) + abs(b)
        return bool(math.isfinite(total) and difference < tolerance * total)

    # ---- C's side

    def c_element_type(self) -> str:
        return c_type(self.dtype)

    def c_headers(self, c_compiler: Any = None) -> list[str]:
        return ["<cwj_arrays.h>", *own_headers(self.dtype)]

    def c_init(self, name: str, sub: dict[str, str]) -> str:
        if self.dtype.startswith("complex"):
            return f"{name}.real = {name}.imag = 0;"
        return f"{name} = 0;"

    def c_extract(self, name: str, sub: dict[str, str], check_input: bool = True) -> str:
        read = f"cwj_scalar_read(py_{name}, {type_number(self.dtype)}, &{name})"
        return f"if ({read} < 0) {sub['fail']}" if check_input else f"(void){read};"

    def c_sync(self, name: str, sub: dict[str, str]) -> str:
        make = {"float64": "PyFloat_FromDouble", "int64": "PyLong_FromLong", "bool": "PyBool_FromLong"}.get(
            self.dtype
        )
        made = f"{make}({name})" if make else f"cwj_scalar_make({type_number(self.dtype)}, &{name})"
        return f"Py_XDECREF(py_{name});\npy_{name} = {made};\nif (!py_{name}) {sub['fail']}"

    def c_literal(self, data: Any) -> str:
        """Returns the constant as C text; "" for complex numbers, which have none."""
        kind = np.dtype(self.dtype).kind
        if kind == "c":
            return ""
        if self.dtype == "float16":
            return f"{int(np.float16(data).view(np.uint16))}"
        return literal(float(data) if kind == "f" else int(data), _SUFFIX.get(self.dtype, ""))

    # ---- identity

    def _key(self) -> tuple[Any, ...]:
        return (self.dtype,)

    def __reduce__(self) -> Any:
        return type(self), self._key()

    def __str__(self) -> str:
        return self.dtype


scalar_of = cache(Scalar)  # one object for each name, so that a graph asks it only once

bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64 = map(scalar_of, DTYPES[:9])
float16, float32, float64, complex64, complex128 = map(scalar_of, DTYPES[9:])
