"""Reductions and matrix products of traced values: rows in kernels, the rest by NumPy."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cwrapjit.tracing import ops
from cwrapjit.tracing.shapes import axes_of, index, ravel
from cwrapjit.tracing.ufuncs import apply_ufunc, astype, call, cast, expand, matmul
from cwrapjit.tracing.values import CALL, REDUCE, Traced, trace_of


def _probed(function: Callable[..., Any], x: Traced, **options: Any) -> np.dtype[Any]:
    """Asks NumPy for the type of a result."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return np.dtype(np.asarray(function(np.ones((1,) * x.ndim, x.dtype), **options)).dtype)


def reduce_by_numpy(
    name: str, x: Traced, axis: Any, keepdims: bool, dtype: Any = None, **options: Any
) -> Traced:
    """Returns a reduction that NumPy computes. dtype: of the result, for those in REDUCTIONS."""
    axes = axes_of(x, axis)
    kept = [1 if k in axes else n for k, n in enumerate(x._dims)]
    dims = [n for k, n in enumerate(kept) if keepdims or k not in axes]
    rule = ("reduce", name, axes, keepdims, options)
    function: Any = f"np.{ops.REDUCTIONS[name].ufunc.__name__}.reduce" if dtype else getattr(np, name)
    if callable(function):
        dtype = _probed(function, x, axis=axis, **options)
    options = {"axis": axis, **options, **({"keepdims": True} if keepdims else {})}
    text = "".join(f", {name}={value!r}" for name, value in options.items())
    return call(function, (x,), dims, dtype, text, rule=rule)


def reduce(name: str, x: Any, axis: Any = None, dtype: Any = None, keepdims: Any = False) -> Traced:
    """Returns a reduction: of rows in a kernel, else by NumPy."""
    if dtype is not None:
        x = astype(x, dtype)
    axes = axes_of(x, axis)
    made = ops.reduced_type(name, x.dtype) if dtype is None else np.dtype(dtype)
    is_row = axes == (x.ndim - 1,)  # of a vector, all elements are a row
    fits = ops.has_c_type(x.dtype) and ops.has_c_type(made) and 0 not in x._dims and x.ndim > 0
    if not fits or not (is_row or len(axes) == x.ndim):
        return reduce_by_numpy(name, x, axes, keepdims, made)
    result: Traced = x._trace.make(REDUCE, name, (x,), x._dims[:-1], made)
    if not is_row:
        result = reduce_by_numpy(name, result, None, False, made)
    if keepdims:
        return expand(result) if is_row else index(result, (None,) * x.ndim)
    return result


def mean(x: Any, axis: Any = None, dtype: Any = None, keepdims: Any = False) -> Traced:
    if dtype is not None:
        x = astype(x, dtype)
        if x.dtype.kind not in "fc":
            x._trace.refuse(f"a mean of dtype {x.dtype} is not supported")
    axes = axes_of(x, axis)
    fits = ops.has_c_type(x.dtype) and x.ndim > 0 and 0 not in x._dims
    if not fits or (axes != (x.ndim - 1,) and len(axes) < x.ndim):
        return reduce_by_numpy("mean", x, axis, keepdims)
    total = reduce("sum", x, axis, None if x.dtype.kind == "f" else np.float64, keepdims)
    return apply_ufunc(np.divide, (total, count_of(x, axes)))


def count_of(x: Traced, axes: Sequence[int]) -> Traced:
    """Returns the number of elements along these axes."""
    lengths = [x._trace.length(x._dims[k]) for k in axes]
    return x._trace.make(CALL, " * ".join(lengths) or "1", (), (), np.int64, is_weak=True)


def by_numpy(name: str) -> Callable[..., Traced]:
    """Returns a function of NumPy that reduces axes, for traced values."""

    def made(x: Traced, axis: Any = None, *, keepdims: bool = False, **options: Any) -> Traced:
        for option, value in options.items():
            if type(value) not in (int, float, bool, str):
                x._trace.refuse(f"numpy.{name}: {option}={value!r} is not supported")
        return reduce_by_numpy(name, x, axis, keepdims, **options)

    return made


def cumulated(name: str) -> Callable[..., Traced]:
    """Returns np.cumsum or np.cumprod for traced values."""
    function = getattr(np, name)

    def made(a: Traced, axis: Any = None, dtype: Any = None) -> Traced:
        x = ravel(a) if axis is None else a
        (along,) = axes_of(x, 0 if axis is None else axis)
        result = _probed(function, x, axis=along, dtype=dtype)
        text = f", axis={along}, dtype={result.str!r}"
        return call(function, (x,), x._dims, result, text, rule=(name, along))

    return made


def dot(a: Any, b: Any) -> Traced:
    trace = trace_of(a, b)
    x, y = trace.value(a, "numpy.dot"), trace.value(b, "numpy.dot")
    if not (x.ndim and y.ndim):
        return apply_ufunc(np.multiply, [cast(v, v.dtype) for v in (x, y)])
    if (x.ndim > 2 and y.ndim > 1) or y.ndim > 2:
        trace.refuse("numpy.dot of more than two dims is not supported; use @")
    return matmul(x, y)
