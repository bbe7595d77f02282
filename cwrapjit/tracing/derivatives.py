"""Derivatives of what a trace computes, in reverse: from the result to the arguments.

They are computed by functions of traced values, so they are traced, too, and have derivatives. A cotangent
(g: the derivative of the result by a value) may have fewer dims than its value, if it broadcasts to them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cwrapjit.tracing import numpys as numpys
from cwrapjit.tracing.ops import fused_op
from cwrapjit.tracing.plan import live_values
from cwrapjit.tracing.reductions import count_of, cumulated, mean, reduce
from cwrapjit.tracing.shapes import concatenate, index, reshape, scatter, transpose
from cwrapjit.tracing.ufuncs import astype, cast, full_like, matmul, spread
from cwrapjit.tracing.values import CALL, CONST, ELEMENT, NUMBER, REDUCE, Traced

Rule = Callable[..., Any]


def cotangents(result: Traced, points: Sequence[Traced]) -> list[Traced]:
    """Returns the derivatives of a number by these values. The time is linear in the number of values."""
    trace, wanted = result._trace, {point.id for point in points}
    live = live_values([result])
    depend = set(wanted)
    for value in live:
        if value.dtype.kind in "fcO" and any(arg.id in depend for arg in value._args):
            depend.add(value.id)
    one = trace.value(1.0 if result._weak else result.dtype.type(1), "grad")
    found: dict[int, Traced] = {result.id: one}
    for value in reversed(live):
        if value.id not in depend or value.id in wanted or value.id not in found:
            continue
        trace.place = value._place
        rules = _rules(value)
        for k, arg in enumerate(value._args):
            rule = rules[k] if k < len(rules) and arg.id in depend else None
            part = rule(found[value.id], value, *value._args) if rule else None
            if part is not None:
                part = _fit(part, value, arg)
                found[arg.id] = found[arg.id] + part if arg.id in found else part
    trace.place = None
    zeros = [trace.value(0.0 if p._weak else p.dtype.type(0), "grad") for p in points]
    return [spread(found.get(p.id, zero), p._dims) for p, zero in zip(points, zeros, strict=True)]


def _fit(part: Traced, value: Traced, arg: Traced) -> Traced:
    """Returns a cotangent of the argument: summed over axes along which the argument was broadcast."""
    if part.dtype != arg.dtype or (part._weak and not arg._weak):
        part = (cast if part._weak or part._kind == CONST else astype)(part, arg.dtype)
    if value._kind == REDUCE or (value._kind == CALL and value._rule[0] not in ("ufunc", "spread")):
        return part
    return part if arg._dims == value._dims else unspread(spread(part, value._dims), arg._dims)


def unspread(x: Traced, dims: tuple[int, ...]) -> Traced:
    """Returns the sum over the axes that broadcasting has added or made longer."""
    more = x.ndim - len(dims)
    if more:
        x = reduce("sum", x, tuple(range(more)))
    long = tuple(k for k, n in enumerate(dims) if n == 1 and x._dims[k] != 1)
    return reduce("sum", x, long, None, True) if long else x


def _rules(value: Traced) -> Sequence[Rule | None]:
    """Returns a rule for each argument; None: the derivative is zero."""
    name: Any = value._name
    if any(v.dtype.kind == "c" for v in (value, *value._args)):
        value._trace.refuse(f"grad: {shown(value)}: complex numbers have no derivative here")
    if value._kind == NUMBER:
        return (_same,)
    if value._kind == REDUCE:
        return (lambda g, y, x: REDUCTIONS[name](g, y, x, (x.ndim - 1,), False),)
    if value._kind == CALL and value._rule:
        operation, *params = value._rule
        if operation in CALLS:
            made = CALLS[operation]
            return [
                lambda g, y, *args, k=k: made(spread(g, y._dims), y, k, *params)
                for k in range(len(value._args))
            ]
        if operation == "reduce" and params[0] in REDUCTIONS:
            kind, axes, keepdims, options = params
            if options.keys() <= {"ddof"}:
                return (lambda g, y, x: REDUCTIONS[kind](g, y, x, axes, keepdims, **options),)
        name = params[0].__name__ if operation == "ufunc" else None
        if name and getattr(np, name, None) is not params[0] and not fused_op(params[0]):
            name = None  # a user's own
    if value._kind in (ELEMENT, CALL) and name in ELEMENTS:
        return ELEMENTS[name]
    return value._trace.refuse(f"grad: {shown(value)} has no derivative")


def shown(value: Traced) -> str:
    """Returns the name of an operation for messages."""
    if value._kind == CALL and value._rule:
        operation, *params = value._rule
        first = params[0] if params and operation in ("ufunc", "reduce") else operation
        return str(getattr(first, "__name__", first))
    return value._name


# ---- elementwise -----------------------------------------------------------------------------------------


def _same(g: Any, y: Any, *args: Any) -> Any:
    return g


def _by_base(g: Any, y: Any, x: Any, n: Any) -> Any:
    if n._kind == CONST and not n._dims:
        k = n._params[0] if n._weak else n._params[0].item()
        return None if k == 0 else g * (k * x ** (k - 1))
    is_zero = np.equal(n, 0)
    return g * np.where(is_zero, 0, n * x ** (np.where(is_zero, 1, n) - 1))


def _by_exponent(g: Any, y: Any, x: Any, n: Any) -> Any:
    is_positive = np.greater(x, 0)
    return g * np.where(is_positive, y * np.log(np.where(is_positive, x, 1)), 0)


def _chosen(g: Any, y: Any, a: Any, b: Any) -> Any:
    return g * np.where(np.equal(y, a), np.where(np.equal(a, b), 0.5, 1), 0)


def _by_sign(g: Any, y: Any, x: Any) -> Any:
    return g * np.sign(x)


def _beside(g: Any, y: Any, a: Any) -> Any:
    """Returns g * a / y for a length y, and 0 where it is 0."""
    return g * (a / np.where(np.equal(y, 0), 1, y))


_LN2, _LN10, _ERF = math.log(2), math.log(10), 2 / math.sqrt(math.pi)
_ZERO = (None, None)
_MOST = (_chosen, lambda g, y, a, b: _chosen(g, y, b, a))
_DEGREES = (lambda g, y, x: g * (180 / math.pi),)
_RADIANS = (lambda g, y, x: g * (math.pi / 180),)
ELEMENTS: dict[str, Sequence[Rule | None]] = {
    "add": (_same, _same),
    "subtract": (_same, lambda g, y, a, b: -g),
    "multiply": (lambda g, y, a, b: g * b, lambda g, y, a, b: g * a),
    "divide": (lambda g, y, a, b: g / b, lambda g, y, a, b: -g * (y / b)),
    "remainder": (_same, lambda g, y, a, b: -g * np.floor_divide(a, b)),
    "fmod": (_same, lambda g, y, a, b: -g * np.trunc(a / b)),
    "power": (_by_base, _by_exponent),
    "float_power": (_by_base, _by_exponent),
    "hypot": (lambda g, y, a, b: _beside(g, y, a), lambda g, y, a, b: _beside(g, y, b)),
    "arctan2": (
        lambda g, y, a, b: g * b / (a * a + b * b),
        lambda g, y, a, b: -g * a / (a * a + b * b),
    ),
    "copysign": (lambda g, y, a, b: g * np.copysign(1, a) * np.copysign(1, b), None),
    "nextafter": (_same, None),
    **dict.fromkeys(("maximum", "minimum", "fmax", "fmin"), _MOST),
    # Steps, and what has no real numbers.
    **dict.fromkeys("floor_divide floor ceil trunc rint sign heaviside".split(), _ZERO),
    **dict.fromkeys("less less_equal greater greater_equal equal not_equal".split(), _ZERO),
    **dict.fromkeys("logical_and logical_or logical_xor logical_not".split(), _ZERO),
    **dict.fromkeys("bitwise_and bitwise_or bitwise_xor invert left_shift right_shift".split(), _ZERO),
    **dict.fromkeys("isnan isinf isfinite signbit".split(), _ZERO),
    "negative": (lambda g, y, x: -g,),
    **dict.fromkeys(("positive", "conjugate", "cast"), (_same,)),
    **dict.fromkeys(("absolute", "fabs"), (_by_sign,)),
    "square": (lambda g, y, x: g * (2 * x),),
    "reciprocal": (lambda g, y, x: -g * (y * y),),
    "exp": (lambda g, y, x: g * y,),
    "exp2": (lambda g, y, x: g * (_LN2 * y),),
    "expm1": (lambda g, y, x: g * (y + 1),),
    "log": (lambda g, y, x: g / x,),
    "log2": (lambda g, y, x: g / (_LN2 * x),),
    "log10": (lambda g, y, x: g / (_LN10 * x),),
    "log1p": (lambda g, y, x: g / (1 + x),),
    "sqrt": (lambda g, y, x: g / (2 * y),),
    "cbrt": (lambda g, y, x: g / (3 * (y * y)),),
    "sin": (lambda g, y, x: g * np.cos(x),),
    "cos": (lambda g, y, x: -g * np.sin(x),),
    "tan": (lambda g, y, x: g * (1 + y * y),),
    "sinh": (lambda g, y, x: g * np.cosh(x),),
    "cosh": (lambda g, y, x: g * np.sinh(x),),
    "tanh": (lambda g, y, x: g * (1 - y * y),),
    "arcsin": (lambda g, y, x: g / np.sqrt(1 - x * x),),
    "arccos": (lambda g, y, x: -g / np.sqrt(1 - x * x),),
    "arctan": (lambda g, y, x: g / (1 + x * x),),
    "arcsinh": (lambda g, y, x: g / np.hypot(x, 1),),
    "arccosh": (lambda g, y, x: g / (np.sqrt(x - 1) * np.sqrt(x + 1)),),
    "arctanh": (lambda g, y, x: g / (1 - x * x),),
    "logaddexp": (lambda g, y, a, b: g * np.exp(a - y), lambda g, y, a, b: g * np.exp(b - y)),
    "erf": (lambda g, y, x: g * (_ERF * np.exp(-x * x)),),
    "erfc": (lambda g, y, x: -g * (_ERF * np.exp(-x * x)),),
    **dict.fromkeys(("degrees", "rad2deg"), _DEGREES),
    **dict.fromkeys(("radians", "deg2rad"), _RADIANS),
    "where": (
        None,
        lambda g, y, c, a, b: np.where(c, g, 0),
        lambda g, y, c, a, b: np.where(c, 0, g),
    ),
}

# ---- reductions ------------------------------------------------------------------------------------------


def _along(x: Traced, like: Traced, axes: Sequence[int], keepdims: bool) -> Traced:
    """Returns what is there once for each row with axes of length 1 for those that were reduced."""
    if not x._dims or keepdims:
        return x
    return index(x, tuple(None if k in axes else slice(None) for k in range(like.ndim)))


def _sum(g: Traced, y: Traced, x: Traced, axes: Sequence[int], keepdims: bool) -> Traced:
    return _along(spread(g, y._dims) if g._dims else g, x, axes, keepdims)


def _mean(g: Any, y: Any, x: Any, axes: Any, keepdims: bool) -> Any:
    return _sum(g, y, x, axes, keepdims) / count_of(x, axes)


def _extreme(g: Any, y: Any, x: Any, axes: Any, keepdims: bool) -> Any:
    """Elements that are equal have equal parts."""
    is_it = np.equal(x, _along(y, x, axes, keepdims)).astype(x.dtype)
    return _sum(g, y, x, axes, keepdims) * (is_it / reduce("sum", is_it, axes, None, True))


def _prod(g: Any, y: Any, x: Any, axes: Any, keepdims: bool) -> Any:
    """Returns the product of the other elements, without a division: elements may be zero."""
    kept = [k for k in range(x.ndim) if k not in axes]
    order = (*kept, *axes)
    rows = transpose(x, order)
    shape = rows._dims
    rows = reshape(rows, (*shape[: len(kept)], math.prod(shape[len(kept) :])))
    others = _before(rows) * _before(rows[..., ::-1])[..., ::-1]
    others = transpose(reshape(others, shape), tuple(np.argsort(order).tolist()))
    return _sum(g, y, x, axes, keepdims) * others


def _before(x: Any) -> Any:
    """Returns for each element of a row the product of those before it."""
    length, step = x._dims[-1], 1

    def later(v: Any, by: int) -> Any:
        ones = full_like(v[..., :by], 1)
        return concatenate((ones, v[..., : length - by]), -1)

    made = later(x, 1)
    while step < length:
        made = made * later(made, step)
        step *= 2
    return made


def _var(g: Any, y: Any, x: Any, axes: Any, keepdims: bool, ddof: Any = 0) -> Any:
    scale = 2 / (count_of(x, axes) - ddof)
    return _sum(g, y, x, axes, keepdims) * ((x - mean(x, tuple(axes), keepdims=True)) * scale)


def _std(g: Any, y: Any, x: Any, axes: Any, keepdims: bool, ddof: Any = 0) -> Any:
    return _var(g / (2 * y), y, x, axes, keepdims, ddof)


REDUCTIONS: dict[str, Rule] = {
    "sum": _sum,
    "prod": _prod,
    "max": _extreme,
    "min": _extreme,
    "mean": _mean,
    "var": _var,
    "std": _std,
    # Their results are no real numbers.
    **dict.fromkeys(("any", "all", "argmax", "argmin"), lambda *args: None),
}

# ---- calls of NumPy: of argument k, with the rule's parameters ---------------------------------------------


def _matmul(g: Any, y: Any, k: int, *params: Any) -> Any:
    a, b = y._args
    if b.ndim == 1:
        g = index(g, (..., None))
    if a.ndim == 1:
        g = index(g, (..., None, slice(None)))
    other = (b, a)[k]
    if other.ndim == 1:  # the product of a column and a row
        part = g * (other if k == 0 else index(other, (slice(None), None)))
    else:
        turned = transpose(other, (*range(other.ndim - 2), other.ndim - 1, other.ndim - 2))
        part = matmul(g, turned) if k == 0 else matmul(turned, g)
    if y._args[k].ndim == 1:
        part = index(part, (..., 0, slice(None)) if k == 0 else (..., 0))
    return unspread(part, y._args[k]._dims)


def _part(g: Any, y: Any, k: int, axis: int) -> Any:
    """Returns the part of argument k of what concatenate() has joined."""
    start = sum(v._dims[axis] for v in y._args[:k])
    return index(g, (*[slice(None)] * axis, slice(start, start + y._args[k]._dims[axis]), ...))


def _cumsum(g: Any, y: Any, k: int, axis: int) -> Any:
    """Returns the sums of an element and those after it."""
    turned = (*[slice(None)] * axis, slice(None, None, -1), ...)
    return index(cumulated("cumsum")(index(g, turned), axis), turned)


CALLS: dict[str, Rule] = {
    "index": lambda g, y, k, items: scatter(g, y._args[0]._dims, items),
    "scatter": lambda g, y, k, items: index(g, items),
    "reshape": lambda g, y, k: reshape(g, y._args[0]._dims),
    "transpose": lambda g, y, k, order: transpose(g, tuple(np.argsort(order).tolist())),
    "concatenate": _part,
    "stack": lambda g, y, k, axis: index(g, (*[slice(None)] * axis, k, ...)),
    "cumsum": _cumsum,
    "spread": lambda g, y, k: g,
    "astype": lambda g, y, k, dtype: g,
    "matmul": _matmul,
}
