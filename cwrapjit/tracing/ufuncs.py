"""Ufuncs, np.where(), casts and matrix products of traced values, with NumPy's dtypes and broadcasting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cwrapjit.tracing import ops
from cwrapjit.tracing.values import CALL, CONST, ELEMENT, EXPAND, NUMBER, Traced, trace_of

FULL = "np.full("  # begins the text of such a call

# NumPy's operator ** computes these in the same way.
_POWERS: dict[Any, np.ufunc] = {2: np.square, 1: np.positive, 0.5: np.sqrt, -1: np.reciprocal}


def _promoted(value: Traced) -> Any:
    """Returns what NumPy promotes: a dtype, or the class of a Python number."""
    return {"i": int, "f": float, "c": complex}.get(value.dtype.kind, bool) if value._weak else value.dtype


def resolve(ufunc: np.ufunc, values: Sequence[Traced]) -> list[np.dtype[Any]]:
    """Returns the dtypes of NumPy's loop for these operands, and of its result."""
    given = [np.dtype(bool) if _promoted(v) is bool else _promoted(v) for v in values]
    try:
        found = list(ufunc.resolve_dtypes((*given, None)))
    except TypeError as error:
        trace_of(*values).refuse(f"numpy.{ufunc.__name__}: {error}")
    if found[-1].kind not in "biufc":
        trace_of(*values).refuse(f"{ufunc.__name__} makes no numbers, but {found[-1]}")
    return found


def broadcast(who: str, values: Sequence[Traced]) -> tuple[int, ...]:
    dims = [v._dims for v in values]
    try:
        return np.broadcast_shapes(*dims)
    except ValueError:
        shown = " and ".join(map(str, dims))
        trace_of(*values).refuse(f"{who}: shapes {shown} do not broadcast", ValueError)


def cast(value: Traced, dtype: np.dtype[Any]) -> Traced:
    """Returns the value with another type."""
    trace = value._trace
    if value._kind == CONST and not value._dims:
        given = value._params[0]
        if value._weak and dtype.kind in "iu" and not np.iinfo(dtype).min <= given <= np.iinfo(dtype).max:
            trace.refuse(f"Python integer {given} out of bounds for {dtype}", OverflowError)
        number = np.asarray(given).astype(dtype)
        return trace.make(CONST, "const", (), (), dtype, number[()])
    if value._weak:
        return trace.make(NUMBER, "number", (value,), (), dtype)
    return value if value.dtype == dtype else trace.make(ELEMENT, "cast", (value,), value._dims, dtype)


def elementwise(name: str, values: Sequence[Traced], dtype: np.dtype[Any], is_boxed: bool = False) -> Traced:
    """Returns a value of a kernel. The operands have their types."""
    dims = broadcast(name, values)
    trace = trace_of(*values)
    values = [_filling(v, values, dims) for v in values]
    bases = [v._base for v in values]
    if any(v._name == EXPAND for v in values) and all(v._name == EXPAND or not v._dims for v in values):
        return expand(trace.make(ELEMENT, name, bases, dims[:-1], dtype))
    return trace.make(ELEMENT, name, values, dims, dtype, is_boxed=is_boxed and not dims)


def _filling(value: Traced, values: Sequence[Traced], dims: tuple[int, ...]) -> Traced:
    """Returns the number that np.full() has spread, if the other operands have the result's shape."""
    if not value._name.startswith(FULL):
        return value
    others = [v._dims for v in values if v is not value]
    return value._args[0] if np.broadcast_shapes(*others) == dims else value


def call(
    function: Callable[..., Any] | str,
    values: Sequence[Traced],
    dims: Sequence[int],
    dtype: Any,
    text: str = "",
    is_boxed: bool = False,
    rule: tuple[Any, ...] = (),
) -> Traced:
    """Returns the result of a function that runs between kernels. text: its further arguments."""
    params: tuple[Any, ...] = ()
    arguments = ", ".join(f"{{{k}}}" for k in range(len(values)))
    if callable(function):
        name = getattr(function, "__name__", "")
        params = (function,)
        function = f"np.{name}" if getattr(np, name, None) is function else "{k[0]}"
    form = f"{function}({arguments}{text})"
    return trace_of(*values).make(CALL, form, values, dims, dtype, *params, is_boxed=is_boxed, rule=rule)


def apply_ufunc(ufunc: np.ufunc, operands: Sequence[Any]) -> Traced:
    trace = trace_of(*operands)
    who = f"numpy.{ufunc.__name__}"
    if ufunc is np.matmul:
        return matmul(*operands)
    if ufunc.nout != 1 or ufunc.signature is not None:
        trace.refuse(f"{who} is not supported: it has several results, or a signature")
    values = [trace.value(v, who) for v in operands]
    *used, made = resolve(ufunc, values)
    if ufunc is np.power and values[1]._kind == CONST and not values[1]._dims:
        simple = _POWERS.get(values[1]._params[0])
        if simple is np.square or (simple is not None and used[0].kind == "f"):
            return apply_ufunc(simple, [cast(values[0], used[0])])
    dims = broadcast(who, values)
    name = ops.fused_op(ufunc)
    is_fused = name is not None and ops.text_of(name, used) is not None and ops.has_c_type(made)
    if not is_fused or name is None or 0 in dims or _compares_any_int(ufunc, values, used):
        return call(ufunc, values, dims, made, rule=("ufunc", ufunc))
    return elementwise(name, [cast(v, dtype) for v, dtype in zip(values, used, strict=True)], made)


_COMPARISONS = (np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal)


def _compares_any_int(ufunc: np.ufunc, values: Sequence[Traced], used: Sequence[np.dtype[Any]]) -> bool:
    """Returns true for a Python int that the type of the other integers may not have: NumPy compares them."""
    weak = [v for v in values if v._weak]
    if ufunc not in _COMPARISONS or not weak or used[0].kind not in "iu":
        return False
    info = np.iinfo(used[0])
    return any(v._kind != CONST or not info.min <= v._params[0] <= info.max for v in weak)


def where(condition: Any, x: Any, y: Any) -> Traced:
    trace = trace_of(condition, x, y)
    values = [trace.value(v, "numpy.where") for v in (condition, x, y)]
    dims = broadcast("numpy.where", values)
    dtype = resolve(np.add, values[1:])[-1]
    if not ops.has_c_type(dtype) or 0 in dims:
        return call(np.where, values, dims, dtype, is_boxed=not dims, rule=("ufunc", np.where))
    if values[0].dtype != bool:
        values[0] = apply_ufunc(np.not_equal, (values[0], 0))
    types = (np.dtype(bool), dtype, dtype)
    return elementwise("where", list(map(cast, values, types)), dtype, is_boxed=True)


def clip(x: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Traced:
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    if (
        isinstance(x, Traced) and x.dtype.kind in "iu"
    ):  # unlike other functions, np.clip() takes any Python int
        info = np.iinfo(x.dtype)
        low = info.min if type(low) is int and low < info.min else low
        high = info.max if type(high) is int and high > info.max else high
    result = x if low is None else apply_ufunc(np.maximum, (x, low))
    return result if high is None else apply_ufunc(np.minimum, (result, high))


def _type_of_numbers(x: Traced, dtype: Any) -> np.dtype[Any]:
    found: np.dtype[Any] = np.dtype(dtype).newbyteorder("=")
    if found.kind not in "biufc":
        x._trace.refuse(f"dtype {dtype!r}: jit has numbers alone")
    return found


def astype(x: Traced, dtype: Any, copy: bool = True) -> Traced:
    wanted = _type_of_numbers(x, dtype)
    if not (ops.has_c_type(x.dtype) and ops.has_c_type(wanted)) or 0 in x._dims:
        rule, boxed = ("astype", wanted), x._boxed
        return x._trace.make(
            CALL, "{0}.astype({k[0]})", (x,), x._dims, wanted, wanted, is_boxed=boxed, rule=rule
        )
    return elementwise("cast", (x,), wanted, is_boxed=x._boxed)


def expand(x: Traced) -> Traced:
    rule = ("index", (*[slice(None)] * x.ndim, None))
    return x._trace.make(CALL, EXPAND, (x,), (*x._dims, 1), x.dtype, rule=rule)


def full_like(x: Traced, fill_value: Any, dtype: Any = None) -> Traced:
    wanted = x.dtype if dtype is None else _type_of_numbers(x, dtype)
    number = cast(x._trace.value(fill_value, "numpy.full_like"), wanted)
    if number._dims:
        x._trace.refuse("numpy.full_like: the value must be a number")
    return full(number, x._dims)


def full(number: Traced, dims: Sequence[int]) -> Traced:
    trace, dtype = number._trace, number.dtype
    form = f"{FULL}{trace.lengths(dims)}, {{0}}, {{k[0]}})"
    return trace.make(CALL, form, (number,), dims, dtype, dtype, is_boxed=not dims, rule=("spread",))


def spread(value: Traced, dims: tuple[int, ...]) -> Traced:
    """Returns the value broadcast to these dims."""
    if value._dims == dims:
        return value
    if not value._dims:
        return full(cast(value, value.dtype), dims)
    form = f"np.array(np.broadcast_to({{0}}, {value._trace.lengths(dims)}))"
    return value._trace.make(CALL, form, (value,), dims, value.dtype, rule=("spread",))


def matmul(a: Any, b: Any) -> Traced:
    trace = trace_of(a, b)
    x, y = trace.value(a, "numpy.matmul"), trace.value(b, "numpy.matmul")
    if not (x.ndim and y.ndim):
        trace.refuse("numpy.matmul: numbers have no matrix product; use *", ValueError)
    if x._dims[-1] != y._dims[0 if y.ndim == 1 else -2]:
        trace.refuse(f"numpy.matmul: shapes {x._dims} and {y._dims} do not match", ValueError)
    try:
        batch = np.broadcast_shapes(x._dims[:-2], y._dims[:-2])
    except ValueError:
        trace.refuse(f"numpy.matmul: shapes {x._dims} and {y._dims} do not broadcast", ValueError)
    rows = x._dims[-2:-1] if x.ndim > 1 else ()
    columns = y._dims[-1:] if y.ndim > 1 else ()
    dtype = np.result_type(x.dtype, y.dtype)
    dims = (*batch, *rows, *columns)
    return trace.make(CALL, "np.matmul({0}, {1})", (x, y), dims, dtype, rule=("matmul",))
