"""Arrays as a type of graphs. In C, NAME is a PyArrayObject *."""

from __future__ import annotations

import operator
from functools import cache
from typing import Any

import numpy as np

from cwrapjit._cwrapjit import make_filter
from cwrapjit.graph.base import BuiltIn
from cwrapjit.graph.operators import NumericVariable
from cwrapjit.graph.scalars import Scalar, c_type, dtype_name, own_headers, refuse_masked, type_number

_NUMBERS = (bool, int, float, complex, np.number, np.bool_, np.ndarray)


class ndarray(BuiltIn):
    """An array of one dtype and rank, of any shape and strides, aligned and in native byte order.

    >>> import numpy as np
    >>> import cwrapjit, cwrapjit.graph as cg
    >>> x = cg.ndarray("float64", 2)("x")
    >>> cwrapjit.link([x], x + x)(np.ones((1, 2)))
    array([[2., 2.]])

    dtype: as for Scalar.
    ndim: the number of dims, 0 to 32.

    In C, NAME is a PyArrayObject *, or NULL if there is no array yet. The next run reuses a result's array if
    only the graph holds a reference to it: see cwj_array_prepare() in <cwj_arrays.h>. Raises TypeError for
    other dtypes, ValueError for another rank."""

    variable_class = NumericVariable
    is_array = True
    ctype = "PyArrayObject *"

    def __init__(self, dtype: Any, ndim: int) -> None:
        self.dtype = dtype_name("ndarray", dtype)
        self.ndim = operator.index(ndim)
        if isinstance(ndim, bool) or not 0 <= self.ndim <= 32:
            raise ValueError(f"ndarray: ndim must be from 0 to 32, not {ndim!r}")
        number = np.dtype(self.dtype).num
        if type(self).filter is ndarray.filter:  # a quicker filter with the same results
            self.filter = make_filter(number, self.ndim, np.ndarray, self._convert)  # type: ignore[method-assign]

    # ---- Python's side

    def _convert(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        who = f"{self}.filter()"
        if value is None:
            raise ValueError(f"{who}: expected an array of {self.dtype}, got None")
        refuse_masked(who, value)
        if isinstance(value, np.ndarray):
            casting = "safe"
        elif strict:
            raise TypeError(f"{who}: wanted an ndarray, got {type(value).__name__} (strict)")
        else:
            casting = "safe" if hasattr(value, "dtype") or allow_downcast is False else "same_kind"
        array = np.asarray(value)
        if array.ndim != self.ndim:
            raise TypeError(f"{who}: wanted {self.ndim} dimensions, got {array.ndim}")
        if array.dtype == self.dtype and (array.flags.aligned or strict):
            return array
        if self.ndim == 0 and not strict and not allow_downcast and isinstance(value, _NUMBERS):
            return np.asarray(Scalar(self.dtype).filter(value, allow_downcast=allow_downcast), self.dtype)
        if array.dtype.kind not in "biufc":
            raise ValueError(f"{who}: expected an array of {self.dtype}, got {type(value).__name__}")
        if strict or not np.can_cast(array.dtype, self.dtype, "unsafe" if allow_downcast else casting):  # type: ignore[arg-type]
            raise TypeError(f"{who}: wanted {self.dtype}, got {array.dtype}")
        made = array.astype(self.dtype)
        if not allow_downcast and made.dtype.kind in "iu" and not np.array_equal(made, array):
            raise OverflowError(f"{who}: {array[made != array][0]} is out of range of {self.dtype}")
        return made

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        """Returns an array of this dtype and rank: the value itself if it is one. Converts array-likes;
        arrays of other dtypes only by safe casting, and unaligned ones (the result is a copy); single numbers
        as Scalar.filter() does. strict: converts nothing. allow_downcast=True: allows any cast. Raises
        TypeError for values that do not fit, OverflowError for integers out of range, ValueError if the value
        is not an array."""
        return self._convert(value, strict, allow_downcast)

    def values_eq(self, a: Any, b: Any) -> bool:
        """True if shape, dtype and elements are equal; NaNs are equal."""
        return bool(
            np.shape(a) == np.shape(b)
            and np.asarray(a).dtype == np.asarray(b).dtype
            and np.array_equal(a, b, equal_nan=np.dtype(self.dtype).kind in "fc")
        )

    def values_eq_approx(self, a: Any, b: Any, tolerance: float = 1e-4) -> bool:
        """As values_eq, but with a relative tolerance for elements."""
        if np.dtype(self.dtype).kind not in "fc":
            return self.values_eq(a, b)
        same = np.shape(a) == np.shape(b) and np.asarray(a).dtype == np.asarray(b).dtype
        return same and np.allclose(a, b, rtol=tolerance, atol=0.0, equal_nan=True)

    # ---- C's side

    def c_is_simple(self) -> bool:
        return False

    def c_element_type(self) -> str:
        return c_type(self.dtype)

    def c_headers(self, c_compiler: Any = None) -> list[str]:
        return ["<cwj_arrays.h>", *own_headers(self.dtype)]

    def c_extract(self, name: str, sub: dict[str, str], check_input: bool = True) -> str:
        check = f"cwj_array_check(py_{name}, {type_number(self.dtype)}, {self.ndim})"
        checked = f"if ({check} < 0) {sub['fail']}\n" if check_input else ""
        return f"{name} = NULL;\n{checked}{name} = (PyArrayObject *)py_{name};\nPy_INCREF(py_{name});"

    def c_extract_out(self, name: str, sub: dict[str, str], check_input: bool = True) -> str:
        """Takes the result of the previous run, so that its memory can be reused."""
        extract = self.c_extract(name, sub, check_input).replace("\n", "\n    ")
        return f"if (py_{name} == Py_None) {{\n    {self.c_init(name, sub)}\n}} else {{\n    {extract}\n}}"

    def c_sync(self, name: str, sub: dict[str, str]) -> str:
        return f"""\
if ({name} == NULL) {{
    Py_XDECREF(py_{name});
    py_{name} = Py_None;
    Py_INCREF(py_{name});
}} else if (py_{name} != (PyObject *){name}) {{
    Py_XDECREF(py_{name});
    py_{name} = (PyObject *){name};
    Py_INCREF(py_{name});
}}"""

    def c_cleanup(self, name: str, sub: dict[str, str]) -> str:
        return f"Py_XDECREF({name});"

    # ---- identity

    def _key(self) -> tuple[Any, ...]:
        return self.dtype, self.ndim

    def __reduce__(self) -> Any:
        return type(self), self._key()

    def __str__(self) -> str:
        return f"ndarray({self.dtype}, {self.ndim})"


array_of = cache(ndarray)  # as scalar_of()
