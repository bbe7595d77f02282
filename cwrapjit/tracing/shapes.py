"""Indexing, and NumPy's functions that change shapes, of traced values."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from cwrapjit.tracing.ufuncs import expand
from cwrapjit.tracing.values import CALL, EXPAND, Traced, trace_of

_ALL = slice(None)


def axes_of(x: Traced, axis: Any) -> tuple[int, ...]:
    """Returns axes of a value as sorted numbers from 0. axis: an int, a tuple, or None for all."""
    if axis is None:
        return tuple(range(x.ndim))
    given = [operator.index(a) for a in (axis if isinstance(axis, tuple) else (axis,))]
    for each in given:
        if not -x.ndim <= each < x.ndim:
            raise np.exceptions.AxisError(each, x.ndim)
    found = tuple(sorted(each % x.ndim for each in given))
    if len(set(found)) < len(found):
        x._trace.refuse("an axis is named twice", ValueError)
    return found


# ---- indexing --------------------------------------------------------------------------------------


def index(x: Traced, key: Any) -> Traced:
    """Returns x[key]."""
    items = list(key) if isinstance(key, tuple) else [key]
    for each in items:
        is_number = isinstance(each, (int, np.integer)) and not isinstance(each, bool)
        if not (is_number or each is None or each is Ellipsis or isinstance(each, slice)):
            of = f"a {type(each).__name__}" if not isinstance(each, Traced) else "a traced value"
            cure = "np.where() selects elements, and static= keeps an argument as it is"
            x._trace.refuse(f"an index is an int, a slice, None or ..., not {of}; {cure}")
    has_ellipsis = Ellipsis in items
    if not has_ellipsis:
        items.append(Ellipsis)
    at = items.index(Ellipsis)
    missing = x.ndim - sum(k is not None for k in items) + 1
    if missing < 0 or items.count(Ellipsis) > 1:
        x._trace.refuse(f"index {key!r} of an array of {x.ndim} dims", IndexError)
    return _view(x, (*items[:at], *[_ALL] * missing, *items[at + 1 :]), has_ellipsis)


def _view(x: Traced, items: tuple[Any, ...], has_ellipsis: bool) -> Traced:
    """Returns x[items], which have an item for each axis."""
    whole = (_ALL,) * x.ndim
    if items == whole:
        is_scalar = x._boxed and not x.ndim and not has_ellipsis
        return x._trace.make(CALL, "{0}[()]", (x,), (), x.dtype, rule=("index", ())) if is_scalar else x
    if items == (*whole, None):
        return expand(x)
    is_shrunk = items in ((*whole[1:], 0), (*whole[1:], -1)) and (x.ndim > 1 or not has_ellipsis)
    if x._name == EXPAND and is_shrunk:
        return x._base
    dims, axis = [], 0
    for item in items:
        if item is None:
            dims.append(1)
            continue
        if isinstance(item, slice):
            dims.append(_length(x, item, x._dims[axis]))
        elif not -x._dims[axis] <= item < x._dims[axis]:
            x._trace.refuse(f"index {item} of an axis of length {x._dims[axis]}", IndexError)
        axis += 1
    text = ", ".join([_slice_text(i) if isinstance(i, slice) else repr(i) for i in items])
    is_boxed = not dims and has_ellipsis
    form = f"{{0}}[{text},{' ...' * is_boxed}]"
    return x._trace.make(CALL, form, (x,), dims, x.dtype, is_boxed=is_boxed, rule=("index", items))


def scatter(x: Traced, dims: tuple[int, ...], items: tuple[Any, ...]) -> Traced:
    """Returns zeros of these dims, with x at [items]. As items are those of a view, none is met twice."""
    inverse: list[Any] = []
    axis = 0
    for item in items:
        if item is None:
            inverse.append(0)
            continue
        if isinstance(item, slice):
            if not (item.start is None and item.stop is None and item.step in (None, 1, -1)):
                break
            inverse.append(item)
        elif dims[axis] == 1:
            inverse.append(None)
        else:
            break
        axis += 1
    else:
        return index(x, tuple(inverse))
    form = f"{{k[0]}}({{0}}, {x._trace.lengths(dims)}, {{k[1]}})"
    return x._trace.make(CALL, form, (x,), dims, x.dtype, scattered, items, rule=("scatter", items))


def scattered(x: Any, dims: tuple[int, ...], items: tuple[Any, ...]) -> np.ndarray:
    made = np.zeros(dims, np.asarray(x).dtype)
    made[items] = x
    return made


def _length(x: Traced, item: slice, length: int) -> int:
    """Returns the length of a slice of an axis."""
    if any(isinstance(part, Traced) for part in (item.start, item.stop, item.step)):
        x._trace.refuse("a slice needs known numbers; name them in static=")
    keeps = item.start is None and item.stop is None and item.step in (None, 1, -1)
    x._trace.is_exact |= not keeps
    return len(range(*item.indices(length)))


def _slice_text(item: slice) -> str:
    parts = ["" if v is None else str(operator.index(v)) for v in (item.start, item.stop, item.step)]
    return ":".join(parts) if parts[2] else ":".join(parts[:2])


# ---- shapes ------------------------------------------------------------------------------------------


def reshape(x: Traced, *shape: Any, order: str = "C") -> Traced:
    wanted = shape[0] if len(shape) == 1 else shape
    lengths = [operator.index(n) for n in (wanted if isinstance(wanted, (tuple, list)) else (wanted,))]
    if order != "C":
        x._trace.refuse(f"reshape() with order={order!r} is not supported")
    size = int(np.prod(x._dims, dtype=int))
    known = int(np.prod([n for n in lengths if n != -1], dtype=int))
    dims = tuple(size // max(known, 1) if n == -1 else n for n in lengths)
    if lengths.count(-1) > 1 or int(np.prod(dims, dtype=int)) != size or min(lengths, default=0) < -1:
        x._trace.refuse(f"reshape: an array of shape {x._dims} has no shape {tuple(lengths)}", ValueError)
    moves_ones = [n for n in dims if n != 1] == [n for n in x._dims if n != 1] and 0 not in dims
    x._trace.is_exact |= not moves_ones or any(n not in (1, -1) for n in lengths)
    if dims == x._dims:
        return x
    if not moves_ones:
        return x._trace.make(CALL, f"{{0}}.reshape({dims!r})", (x,), dims, x.dtype, rule=("reshape",))
    without = index(x, (*(0 if n == 1 else _ALL for n in x._dims), ...))
    return index(without, (*(None if n == 1 else _ALL for n in dims), ...))


def ravel(x: Traced) -> Traced:
    return reshape(x, -1)


def transpose(x: Traced, *axes: Any) -> Traced:
    given = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
    order = tuple(axes_of(x, int(a))[0] for a in given) if given else tuple(range(x.ndim))[::-1]
    if sorted(order) != list(range(x.ndim)):
        x._trace.refuse(f"transpose: axes {tuple(given)} of an array of {x.ndim} dims", ValueError)
    if order == tuple(range(x.ndim)):
        return x
    dims, rule = [x._dims[k] for k in order], ("transpose", order)
    return x._trace.make(CALL, f"{{0}}.transpose({order!r})", (x,), dims, x.dtype, rule=rule)


def squeeze(x: Traced, axis: Any = None) -> Traced:
    axes = [k for k, n in enumerate(x._dims) if n == 1] if axis is None else axes_of(x, axis)
    if any(x._dims[k] != 1 for k in axes):
        x._trace.refuse(f"squeeze: axis {axis} of shape {x._dims} is not of length 1", ValueError)
    return index(x, (*(0 if k in axes else _ALL for k in range(x.ndim)), ...))


def expand_dims(x: Traced, axis: Any) -> Traced:
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    ndim = x.ndim + len(given)
    axes = {a % ndim for a in given if -ndim <= a < ndim}
    if len(axes) < len(given):
        x._trace.refuse(f"expand_dims: axis {axis} of a result of {ndim} dims", ValueError)
    return index(x, tuple(None if k in axes else _ALL for k in range(ndim)))


def concatenate(arrays: Sequence[Any], axis: int = 0) -> Traced:
    trace = trace_of(*arrays)
    values = [trace.value(v, "numpy.concatenate") for v in arrays]
    first = values[0]
    if not first.ndim or any(v.ndim != first.ndim for v in values):
        trace.refuse("numpy.concatenate: arrays need the same number of dims, at least 1", ValueError)
    (along,) = axes_of(first, axis)
    if len({v._dims[:along] + v._dims[along + 1 :] for v in values}) > 1:
        trace.refuse(f"numpy.concatenate: shapes {[v._dims for v in values]} do not match", ValueError)
    trace.is_exact = True
    dims = list(first._dims)
    dims[along] = sum(v._dims[along] for v in values)
    form = f"np.concatenate(({''.join(f'{{{k}}}, ' for k in range(len(values)))}), {along})"
    dtype = np.result_type(*(v.dtype for v in values))
    return trace.make(CALL, form, values, dims, dtype, rule=("concatenate", along))


def stack(arrays: Sequence[Any], axis: int = 0) -> Traced:
    trace = trace_of(*arrays)
    values = [trace.value(v, "numpy.stack") for v in arrays]
    if len({v._dims for v in values}) > 1:
        trace.refuse(f"numpy.stack: shapes {[v._dims for v in values]} differ", ValueError)
    dims = list(values[0]._dims)
    at = axis if axis >= 0 else axis + len(dims) + 1
    if not 0 <= at <= len(dims):
        raise np.exceptions.AxisError(axis, len(dims) + 1)
    dims.insert(at, len(values))
    trace.literals.add(len(values))
    dtype = np.result_type(*(v.dtype for v in values))
    form = f"np.stack(({''.join(f'{{{k}}}, ' for k in range(len(values)))}), {at})"
    return trace.make(CALL, form, values, dims, dtype, rule=("stack", at))
