"""Variables of ready types compute: x * y + 2.0 builds elementwise nodes.

Operators mean what NumPy's ufuncs of those names mean: the same dtypes, Python numbers are weak.
"""

from __future__ import annotations

from typing import Any

from cwrapjit._imports import late
from cwrapjit.graph.base import Variable


def _apply(name: str, *operands: Any) -> Any:
    with late:
        from cwrapjit.graph.ufuncs import apply_ufunc

    return apply_ufunc(name, *operands)


class NumericVariable(Variable):
    """A number or an array of numbers. Operators make elementwise nodes; == and hash are by identity."""

    __array_ufunc__ = None  # NumPy's arrays leave operators to us

    def __add__(self, other: Any) -> Any:
        return _apply("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return _apply("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return _apply("subtract", self, other)

    def __rsub__(self, other: Any) -> Any:
        return _apply("subtract", other, self)

    def __mul__(self, other: Any) -> Any:
        return _apply("multiply", self, other)

    def __rmul__(self, other: Any) -> Any:
        return _apply("multiply", other, self)

    def __truediv__(self, other: Any) -> Any:
        return _apply("divide", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _apply("divide", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return _apply("floor_divide", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _apply("floor_divide", other, self)

    def __mod__(self, other: Any) -> Any:
        return _apply("remainder", self, other)

    def __rmod__(self, other: Any) -> Any:
        return _apply("remainder", other, self)

    def __pow__(self, other: Any) -> Any:
        return _apply("power", self, other)

    def __rpow__(self, other: Any) -> Any:
        return _apply("power", other, self)

    def __neg__(self) -> Any:
        return _apply("negative", self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return _apply("absolute", self)

    def __lt__(self, other: Any) -> Any:
        return _apply("less", self, other)

    def __le__(self, other: Any) -> Any:
        return _apply("less_equal", self, other)

    def __gt__(self, other: Any) -> Any:
        return _apply("greater", self, other)

    def __ge__(self, other: Any) -> Any:
        return _apply("greater_equal", self, other)

    def __bool__(self) -> bool:
        raise TypeError(f"the variable {self} has no value yet, so it is neither true nor false")
