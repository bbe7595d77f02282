"""NumPy's protocols for traced values, and arrays' methods: what is not here is a TypeError."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from cwrapjit.tracing import operators as operators
from cwrapjit.tracing import ops, shapes
from cwrapjit.tracing.reductions import by_numpy, cumulated, dot, mean, reduce
from cwrapjit.tracing.ufuncs import apply_ufunc, astype, clip, full_like, where
from cwrapjit.tracing.values import Methods, Traced, trace_of

_OF_UFUNCS = {reduction.ufunc: name for name, reduction in ops.REDUCTIONS.items()}


def array_ufunc(self: Traced, ufunc: np.ufunc, method: str, *operands: Any, **options: Any) -> Any:
    who = f"numpy.{ufunc.__name__}"
    trace = trace_of(*operands, *options.get("out", ()))
    if options.get("out") is not None:
        trace.refuse(f"{who} with out=, or an operator such as +=, on an array that is not traced is refused")
    if method == "reduce" and ufunc in _OF_UFUNCS and options.keys() <= {"axis", "dtype", "keepdims"}:
        return reduce(_OF_UFUNCS[ufunc], *operands, **{"axis": 0, **options})
    if method != "__call__" or options:
        what = f".{method}()" if method != "__call__" else f" with {', '.join(options)}="
        trace.refuse(f"{who}{what} is not supported")
    return apply_ufunc(ufunc, operands)


def array_function(self: Traced, function: Any, types: Any, args: Any, options: Any) -> Any:
    name = f"numpy.{getattr(function, '__name__', function)}"
    made = FUNCTIONS.get(function)
    if made is None:
        self._trace.refuse(f"{name} is not supported")
    try:
        inspect.signature(made).bind(*args, **options)
    except TypeError as error:
        self._trace.refuse(f"{name}: {error}, or it is not supported")
    return made(*args, **options)


def _reduction(name: str) -> Callable[..., Traced]:
    if name in ("sum", "prod"):
        return lambda a, axis=None, dtype=None, *, keepdims=False: reduce(name, a, axis, dtype, keepdims)
    return lambda a, axis=None, *, keepdims=False: reduce(name, a, axis, None, keepdims)


def _mean(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: Any = False) -> Traced:
    return mean(a, axis, dtype, keepdims)


# Functions of NumPy that arrays have as methods, too.
METHODS: dict[str, Callable[..., Any]] = {
    **{name: _reduction(name) for name in ops.REDUCTIONS},
    **{name: by_numpy(name) for name in ("argmax", "argmin", "std", "var")},
    **{name: cumulated(name) for name in ("cumsum", "cumprod")},
    "mean": _mean,
    "clip": clip,
    "dot": dot,
    "squeeze": shapes.squeeze,
    "ravel": shapes.ravel,
    "reshape": shapes.reshape,
    "transpose": shapes.transpose,
}
FUNCTIONS: dict[Any, Callable[..., Any]] = {
    **{getattr(np, name): method for name, method in METHODS.items()},
    np.amax: METHODS["max"],
    np.amin: METHODS["min"],
    np.where: where,
    np.expand_dims: shapes.expand_dims,
    np.concatenate: shapes.concatenate,
    np.stack: shapes.stack,
    np.full_like: full_like,
    np.zeros_like: lambda a, dtype=None: full_like(a, 0, dtype),
    np.ones_like: lambda a, dtype=None: full_like(a, 1, dtype),
    np.shape: lambda a: a.shape,
    np.ndim: lambda a: a.ndim,
    np.size: lambda a: a.size,
}

for _name, _method in METHODS.items():
    setattr(Methods, _name, _method)
for _name, _attribute in {
    "astype": astype,
    "T": property(shapes.transpose),
    "__getitem__": shapes.index,
    "__array_ufunc__": array_ufunc,
    "__array_function__": array_function,
}.items():
    setattr(Methods, _name, _attribute)
