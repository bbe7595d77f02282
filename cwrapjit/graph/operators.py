"""Operators of variables of built-in types: x * y + 2.0 builds elementwise nodes. They behave as NumPy's
ufuncs: the dtypes are the same, and Python numbers are weak."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cwrapjit._imports import load
from cwrapjit.graph.base import Variable


def _apply(name: str, *operands: Any) -> Any:
    return load("cwrapjit.graph.ufuncs").apply_ufunc(name, *operands)


def _unary(name: str) -> Callable[[Any], Any]:
    return lambda self: _apply(name, self)


def _binary(name: str) -> Callable[[Any, Any], Any]:
    return lambda self, other: _apply(name, self, other)


def _both_ways(name: str) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    return _binary(name), lambda self, other: _apply(name, other, self)


class NumericVariable(Variable):
    """A variable whose value is a number or an array of numbers. Operators make elementwise nodes. Variables
    are hashed by identity. ==, !=, truth tests and NumPy's functions raise TypeError, as they would treat the
    variable as a value."""

    __array_ufunc__ = None  # NumPy's arrays leave operators to this class
    __hash__ = object.__hash__

    __add__, __radd__ = _both_ways("add")
    __sub__, __rsub__ = _both_ways("subtract")
    __mul__, __rmul__ = _both_ways("multiply")
    __truediv__, __rtruediv__ = _both_ways("divide")
    __floordiv__, __rfloordiv__ = _both_ways("floor_divide")
    __mod__, __rmod__ = _both_ways("remainder")
    __pow__, __rpow__ = _both_ways("power")
    __and__, __rand__ = _both_ways("bitwise_and")
    __or__, __ror__ = _both_ways("bitwise_or")
    __xor__, __rxor__ = _both_ways("bitwise_xor")
    __lshift__, __rlshift__ = _both_ways("left_shift")
    __rshift__, __rrshift__ = _both_ways("right_shift")
    __neg__, __abs__, __invert__ = _unary("negative"), _unary("absolute"), _unary("invert")
    __lt__, __le__ = _binary("less"), _binary("less_equal")
    __gt__, __ge__ = _binary("greater"), _binary("greater_equal")

    def __pos__(self) -> Any:
        return self

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(f"the variable {self} has no value yet, so it is no array")

    def __array_function__(self, function: Any, *_: Any) -> Any:
        raise TypeError(
            f"{function.__module__}.{function.__name__}() knows no variables of graphs, such as {self}"
        )

    def __eq__(self, other: object) -> bool:
        raise TypeError(f"{self} == {other} is no op: `is` tells whether two variables are the same")

    def __bool__(self) -> bool:
        raise TypeError(f"the variable {self} has no value yet, so it is neither true nor false")
