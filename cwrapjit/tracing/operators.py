"""Python's operators on traced values. Of Python numbers alone, Python computes the result."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cwrapjit.tracing.ufuncs import apply_ufunc
from cwrapjit.tracing.values import CALL, PYTHON_NUMBERS, Methods, Traced, trace_of

_ARITHMETIC = {
    "add": ("+", np.add),
    "sub": ("-", np.subtract),
    "mul": ("*", np.multiply),
    "truediv": ("/", np.divide),
    "floordiv": ("//", np.floor_divide),
    "mod": ("%", np.remainder),
    "pow": ("**", np.power),
    "and_": ("&", np.bitwise_and),
    "or_": ("|", np.bitwise_or),
    "xor": ("^", np.bitwise_xor),
    "lshift": ("<<", np.left_shift),
    "rshift": (">>", np.right_shift),
    "matmul": ("@", np.matmul),
}
_COMPARISONS = {
    "lt": ("<", np.less),
    "le": ("<=", np.less_equal),
    "gt": (">", np.greater),
    "ge": (">=", np.greater_equal),
    "eq": ("==", np.equal),
    "ne": ("!=", np.not_equal),
}
_UNARY = {
    "neg": ("-", np.negative),
    "pos": ("+", np.positive),
    "invert": ("~", np.invert),
    "abs": ("abs", np.absolute),
}
_IN_PYTHON = {
    (sign, 1 if name in _UNARY else 2): getattr(operator, name)
    for name, (sign, _) in (_ARITHMETIC | _COMPARISONS | _UNARY).items()
}
_UFUNCS = {
    (sign, 1 if name in _UNARY else 2): ufunc
    for name, (sign, ufunc) in (_ARITHMETIC | _COMPARISONS | _UNARY).items()
}
_STAND_INS = {"b": True, "i": 1, "f": 1.0, "c": 1j}  # numbers with which all operators work


def operate(sign: str, ufunc: np.ufunc, values: Sequence[Any]) -> Any:
    if all(v._weak if isinstance(v, Traced) else type(v) in (*PYTHON_NUMBERS, bool) for v in values):
        return _of_python(sign, values)
    if sign == "**" and type(values[1]) is int and values[1] == 2:
        return apply_ufunc(np.square, values[:1])  # of bools, too, whose np.power() is an int64
    for value in values:
        if value is None or isinstance(value, (str, bytes)):
            trace_of(*values).refuse(f"{sign} of a traced value and of a {type(value).__name__}")
    return apply_ufunc(ufunc, values)


def _of_python(sign: str, values: Sequence[Any]) -> Traced:
    """Returns an operator on Python numbers. Their classes decide the result's, but for powers."""
    trace = trace_of(*values)
    known = [trace.value(v, sign) for v in values]
    stand_ins = [_STAND_INS[v.dtype.kind] if isinstance(v, Traced) else v for v in values]
    try:
        kind = type(_IN_PYTHON[sign, len(values)](*stand_ins))
    except TypeError as error:
        trace.refuse(str(error))
    form = f"{sign}({{0}})" if len(values) == 1 else f"({{0}} {sign} {{1}})"
    params: tuple[Any, ...] = ()
    if sign == "**" and type(values[1]) is not int:
        form, params = f"{{k[0]}}({form}, {{k[1]}})", (_power_of_type, kind)
    rule = ("ufunc", _UFUNCS[sign, len(values)])
    return trace.make(CALL, form, known, (), np.asarray(kind(0)).dtype, *params, is_weak=True, rule=rule)


def _power_of_type(value: Any, kind: type) -> Any:
    """Returns the power, if its class is the one that was foreseen."""
    if type(value) is not kind:
        raise TypeError(
            f"jit: a power of Python numbers is of type {type(value).__name__}, not {kind.__name__}; "
            "name the numbers in static="
        )
    return value


def _in_place(sign: str, ufunc: np.ufunc, x: Traced, y: Any) -> Any:
    """Refuses arrays, whose other names would see the change. Numbers and scalars cannot change."""
    if x._dims or x._boxed:
        x._trace.refuse(f"x {sign}= v changes an array in place; write x = x {sign} v")
    return operate(sign, ufunc, (x, y))


def _binary(sign: str, ufunc: np.ufunc) -> list[Callable[..., Any]]:
    """Returns the operator's methods: the plain one, reflected, in place."""
    return [
        lambda x, y: operate(sign, ufunc, (x, y)),
        lambda x, y: operate(sign, ufunc, (y, x)),
        lambda x, y: _in_place(sign, ufunc, x, y),
    ]


def _unary(x: Traced, sign: str, ufunc: np.ufunc) -> Any:
    return operate(sign, ufunc, (x,))


for _name, (_sign, _ufunc) in (_ARITHMETIC | _COMPARISONS).items():
    _prefixes = ("", "r", "i") if _name in _ARITHMETIC else ("",)
    for _prefix, _method in zip(_prefixes, _binary(_sign, _ufunc), strict=False):
        setattr(Methods, f"__{_prefix}{_name.rstrip('_')}__", _method)
for _name, (_sign, _ufunc) in _UNARY.items():
    setattr(Methods, f"__{_name}__", functools.partialmethod(_unary, _sign, _ufunc))
