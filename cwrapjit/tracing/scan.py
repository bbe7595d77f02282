"""scan(): a loop that carries values from step to step, inside jitted functions and outside."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from cwrapjit.tracing.jit import Jitted
from cwrapjit.tracing.loops import Loop
from cwrapjit.tracing.shapes import transpose
from cwrapjit.tracing.ufuncs import cast, resolve
from cwrapjit.tracing.values import CALL, LOOP, Trace, Traced, running


def scan(f: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any) -> tuple[Any, Any]:
    """Run a loop that carries a value: carry, y = f(carry, x) for each x along the first axis of xs.

    >>> import numpy as np
    >>> import cwrapjit
    >>> def smooth(carry, x):
    ...     carry = 0.5 * carry + 0.5 * x
    ...     return carry, carry
    >>> last, ys = cwrapjit.scan(smooth, 0.0, np.array([8.0, 8.0, 0.0]))
    >>> print(last, ys)
    3.0 [4. 6. 3.]

    f is traced, as by jit(), and may use traced values from outside. Where carried values are numbers, or
    arrays of one shape, and f computes element by element, the loop is one kernel. Other loops run in Python.

    f: takes the carried value and an element of xs; returns the next carried value and an element of ys.
    init: the first carried value: a number, an array, or a tuple, list or dict of these. A Python number
        takes the type that f gives it.
    xs: an array, or a tuple, list or dict of arrays, whose first axes are equal.

    Returns the last carried value and ys. Raises TypeError if f changes the dtype, shape or structure of the
    carried value, and ValueError if the lengths of xs differ."""
    carries: list[Any] = []
    sources: list[Any] = []
    shape, outer = _flat(init, carries), _flat(xs, sources)
    traced = [v for v in (*carries, *sources) if isinstance(v, Traced)]
    trace = traced[0]._trace if traced else running.get()
    if trace is None:
        made: tuple[Any, Any] = _outside(f)(init, xs)
        return made
    first = [trace.value(v, "scan: init") for v in carries]
    arrays = [trace.value(v, "scan: xs") for v in sources]
    lengths = {v._dims[:1] for v in arrays}
    if len(lengths) != 1 or () in lengths:
        shapes = ", ".join(str(v._dims) for v in arrays) or "none"
        trace.refuse(f"scan: xs: arrays with first axes of one length are wanted, not {shapes}", ValueError)
    step = functools.partial(_step, trace, f, (shape, outer), arrays)
    dtypes = [v.dtype for v in first]
    if any(v._weak for v in first):
        _, new, _ = step(first)
        dtypes = [_joined(a, b) if a._weak else a.dtype for a, b in zip(first, new, strict=True)]
    first = [cast(v, dtype) for v, dtype in zip(first, dtypes, strict=True)]
    loop, structure = _loop(trace, step, first)
    if loop.text is None and not trace.is_exact:  # the loop is apart from the arguments that tell lengths
        trace.is_exact = True
        loop, structure = _loop(trace, step, first)
    leaves = _results(loop, first, arrays)
    carry = _tree(shape, iter(leaves[: len(first)]))
    return carry, _tree(structure, iter(leaves[len(first) :]))


def _step(
    trace: Trace,
    f: Callable[..., Any],
    shapes: tuple[Any, Any],
    arrays: Sequence[Traced],
    first: Sequence[Traced],
) -> tuple[list[Traced], list[Traced], tuple[Any, list[Traced]]]:
    """Runs f once. Returns what it got, the new carried values, and the structure and leaves of y."""

    def marker(value: Traced, dims: tuple[int, ...]) -> Traced:
        return trace.make(
            LOOP, f"s{len(trace.values)}", (), dims, value.dtype, is_weak=value._weak and not dims
        )

    given = [marker(v, v._dims) for v in first]
    items = [marker(v, v._dims[1:]) for v in arrays]
    made = f(_tree(shapes[0], iter(given)), _tree(shapes[1], iter(items)))
    if not (isinstance(made, tuple) and len(made) == 2):
        trace.refuse(f"scan: the function returns a carried value and a y, not a {type(made).__name__}")
    new: list[Any] = []
    ys: list[Any] = []
    if _flat(made[0], new) != shapes[0]:
        trace.refuse("scan: the carried value that the function returns has another structure than init")
    structure = _flat(made[1], ys)
    values, elements = ([trace.value(v, "scan") for v in leaves] for leaves in (new, ys))
    return [*given, *items], values, (structure, elements)


def _joined(a: Traced, b: Traced) -> np.dtype[Any]:
    return resolve(np.add, (a, b))[-1]


def _loop(trace: Trace, step: Callable[..., Any], first: Sequence[Traced]) -> tuple[Loop, Any]:
    """Returns the step, and the structure of y. Refuses carried values that change."""
    markers, new, (structure, ys) = step(first)
    for k, (a, b) in enumerate(zip(first, new, strict=True)):
        dtype = _joined(a, b) if b._weak else b.dtype
        if (dtype, b._dims) != (a.dtype, a._dims):
            shown = " and ".join(f"{d}{v._dims or ''}" for d, v in ((a.dtype, a), (dtype, b)))
            trace.refuse(f"scan: carried value {k} changes its type: {shown}, of init and of the function")
        new[k] = cast(b, dtype)
    ys = [cast(v, v.dtype) for v in ys]  # Python numbers become NumPy's
    return Loop(trace.name, markers, len(first), [*new, *ys]), structure


def _results(loop: Loop, first: Sequence[Traced], arrays: Sequence[Traced]) -> list[Traced]:
    """Returns the loop's results. A kernel has the steps in the last axis."""
    trace = (*first, *arrays)[0]._trace
    in_c = loop.text is not None
    moved = [transpose(v, *range(1, v.ndim), 0) if in_c else v for v in arrays]
    args = [*first, *moved, *loop.given[len(first) + len(arrays) :]]
    steps = arrays[0]._dims[:1]
    dims = [v._dims for v in loop.results[: len(first)]]
    dims += [(*v._dims, *steps) if in_c else (*steps, *v._dims) for v in loop.results[len(first) :]]
    form = f"{{k[0]}}({', '.join(f'{{{k}}}' for k in range(len(args)))})"
    types = [v.dtype for v in loop.results]
    if len(dims) == 1:
        made = [trace.make(CALL, form, args, dims[0], types[0], loop, rule=("scan",))]
    else:
        whole = trace.make(CALL, form, args, (), object, loop, rule=("scan",))  # a tuple
        made = [
            trace.make(CALL, f"{{0}}[{k}]", (whole,), dims[k], types[k], rule=("scan",))
            for k in range(len(dims))
        ]
    return [
        transpose(v, v.ndim - 1, *range(v.ndim - 1)) if in_c and k >= len(first) and v.ndim > 1 else v
        for k, v in enumerate(made)
    ]


def _flat(tree: Any, leaves: list[Any]) -> Any:
    """Returns the structure of a tree, and adds its leaves to the list. None is no leaf."""
    if isinstance(tree, (tuple, list)):
        return type(tree), None, [_flat(v, leaves) for v in tree]
    if type(tree) is dict:
        return dict, list(tree), [_flat(v, leaves) for v in tree.values()]
    if tree is not None:
        leaves.append(tree)
    return tree is None


def _tree(structure: Any, leaves: Iterator[Any]) -> Any:
    if isinstance(structure, bool):
        return None if structure else next(leaves)
    kind, keys, parts = structure
    items = [_tree(part, leaves) for part in parts]
    if kind is dict:
        return dict(zip(keys, items, strict=True))
    return kind(*items) if hasattr(kind, "_fields") else kind(items)


def _jitted(f: Callable[..., Any]) -> Jitted[..., Any]:
    def scanned(init: Any, xs: Any) -> Any:
        return scan(f, init, xs)

    scanned.__name__ = getattr(f, "__name__", "scan")
    return Jitted(scanned, (), {"cast": "safe"})


_outside = functools.lru_cache(64)(_jitted)
