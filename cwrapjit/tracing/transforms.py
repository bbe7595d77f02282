"""grad(), value_and_grad() and vmap(): functions of the values that a function's trace has.

The function runs with points in place of arguments. Its values are then replayed with the arguments, for
vmap() with an axis in front."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypedDict, TypeVar

import numpy as np

from cwrapjit.tracing import ops
from cwrapjit.tracing.derivatives import cotangents, shown
from cwrapjit.tracing.jit import Jitted, jit
from cwrapjit.tracing.plan import live_values
from cwrapjit.tracing.reductions import cumulated, reduce, reduce_by_numpy
from cwrapjit.tracing.shapes import concatenate, index, reshape, scatter, stack, transpose
from cwrapjit.tracing.ufuncs import astype, call, cast, elementwise, matmul, spread
from cwrapjit.tracing.values import ELEMENT, NUMBER, POINT, REDUCE, Trace, Traced

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from cwrapjit._cwrapjit import _Optimize, _Threads

P = ParamSpec("P")
R = TypeVar("R")
Mapped = tuple[Traced, bool]  # whether the value has the axis in front
_ALL = slice(None)


class _Options(TypedDict, total=False):
    static: str | int | Sequence[str | int]
    fastmath: bool
    threads: _Threads
    optimize: _Optimize
    debug: bool | Literal["left"]


# ---- replay ----------------------------------------------------------------------------------------------


def _replay(outputs: Sequence[Traced], new: dict[int, Mapped], length: int = 0) -> list[Mapped]:
    """Returns the outputs, computed of other values. new: what is in place of values, by their ids."""
    for value in live_values(outputs):
        if value.id in new:
            continue
        args = [new[arg.id] for arg in value._args]
        is_mapped = any(mapped for _, mapped in args)
        if all(made is arg for (made, _), arg in zip(args, value._args, strict=True)):
            new[value.id] = value, False
            continue
        trace, before = value._trace, value._trace.place
        trace.place = value._place or before
        new[value.id] = (_with_axis if is_mapped else _remade)(value, args, length), is_mapped
        trace.place = before
    return [new[value.id] for value in outputs]


def _remade(value: Traced, args: Sequence[Mapped], length: int) -> Traced:
    if value._kind == NUMBER:
        return cast(args[0][0], value.dtype)
    return value._trace.make(
        value._kind,
        value._name,
        [made for made, _ in args],
        value._dims,
        value.dtype,
        *value._params,
        is_weak=value._weak,
        is_boxed=value._boxed,
        rule=value._rule,
    )


def _with_axis(value: Traced, args: Sequence[Mapped], length: int) -> Traced:
    """Returns the value with one more axis in front."""
    dims = (length, *value._dims)
    x = args[0][0]
    if value._kind == ELEMENT:
        return elementwise(value._name, _lifted(args), value.dtype)
    if value._kind == REDUCE:
        return value._trace.make(REDUCE, value._name, (x,), dims, value.dtype)
    operation, *params = value._rule or ("",)
    if operation == "ufunc":
        return call(params[0], _lifted(args), dims, value.dtype, rule=value._rule)
    if operation == "index":
        return index(x, (_ALL, *params[0]))
    if operation == "scatter":
        return scatter(x, dims, (_ALL, *params[0]))
    if operation == "reshape":
        return reshape(x, dims)
    if operation == "transpose":
        return transpose(x, (0, *(k + 1 for k in params[0])))
    if operation in ("concatenate", "stack"):
        parts = [made if mapped else spread(made, (length, *made._dims)) for made, mapped in args]
        return (stack if operation == "stack" else concatenate)(parts, params[0] + 1)
    if operation == "spread":
        return spread(_lifted(args, value.ndim)[0], dims)
    if operation == "astype":
        return astype(x, params[0])
    if operation in ("cumsum", "cumprod"):
        return cumulated(operation)(x, params[0] + 1, value.dtype)
    if operation == "matmul":
        return _product(args)
    if operation == "reduce":
        return _reduced(x, value, *params)
    return value._trace.refuse(f"vmap: {shown(value)} cannot be mapped")


def _lifted(args: Sequence[Mapped], ndim: int = 0) -> list[Traced]:
    """Returns operands that broadcast, as those without the axis in front did."""
    ndim = max([ndim, *(made.ndim - mapped for made, mapped in args)])
    return [
        index(made, (_ALL, *[None] * (ndim + 1 - made.ndim), ...)) if mapped else made
        for made, mapped in args
    ]


def _product(args: Sequence[Mapped]) -> Traced:
    (a, a_mapped), (b, b_mapped) = args
    is_row, is_column = a.ndim - a_mapped == 1, b.ndim - b_mapped == 1
    a = index(a, (..., None, _ALL)) if is_row else a
    b = index(b, (..., None)) if is_column else b
    made = matmul(*_lifted([(a, a_mapped), (b, b_mapped)]))
    made = index(made, (..., 0)) if is_column else made
    if is_row:
        made = index(made, (..., 0) if is_column else (..., 0, _ALL))
    return made


def _reduced(x: Traced, value: Traced, name: str, axes: Any, keepdims: bool, options: Any) -> Traced:
    moved = tuple(k + 1 for k in axes)
    if name in ops.REDUCTIONS:
        return reduce(name, x, moved, value.dtype, keepdims)
    if name not in ("argmax", "argmin"):
        return reduce_by_numpy(name, x, moved, keepdims, **options)
    if len(moved) != 1:
        x = reduce_by_numpy(name, reshape(x, (x._dims[0], -1)), 1, False)
        return reshape(x, (x._dims[0], *value._dims))
    return reduce_by_numpy(name, x, moved[0], keepdims)


# ---- trees and arguments ---------------------------------------------------------------------------------


def _each(tree: Any, change: Callable[[Any], Any]) -> Any:
    """Returns the tree with other leaves."""
    if type(tree) is dict:
        return {key: _each(item, change) for key, item in tree.items()}
    if not isinstance(tree, (tuple, list)):
        return change(tree)
    items = [_each(item, change) for item in tree]
    return type(tree)(*items) if hasattr(tree, "_fields") else type(tree)(items)


def _leaves(tree: Any) -> list[Any]:
    found: list[Any] = []
    _each(tree, found.append)
    return found


def _point(value: Traced, dims: tuple[int, ...], is_mapped: bool = False) -> Traced:
    """Returns a value that has no other's place yet."""
    trace, name = value._trace, f"p{len(value._trace.values)}"
    boxed = value._boxed and not is_mapped
    return trace.make(POINT, name, (), dims, value.dtype, is_weak=value._weak, is_boxed=boxed)


def _value(trace: Trace, leaf: Any) -> Traced | None:
    """Returns the value of an array or a number; None for others."""
    is_number = isinstance(leaf, (Traced, np.ndarray, np.generic, int, float, complex))
    return trace.value(leaf, "grad") if is_number else None


def _made(who: str, f: Any, run: Callable[..., Any], options: _Options) -> Any:
    """Returns a Jitted of run(f, bound arguments, trace)."""
    if not callable(f):
        raise TypeError(f"{who}: a function is wanted, not {f!r}")
    if isinstance(f, Jitted):
        static = [p.name for p, is_static in zip(f._parameters, f._static, strict=True) if is_static]
        given: Any = {"static": static, **f._options, **options}
        given.pop("cast")
        options, f = given, f.__wrapped__
    signature = inspect.signature(f)

    def function(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        known = [leaf for leaf in _leaves(bound.arguments.copy()) if isinstance(leaf, Traced)]
        if not known:
            raise TypeError(f"{who}: {name}(): no argument is an array or a number that is not static")
        return run(f, bound, known[0]._trace)

    name = getattr(f, "__name__", type(f).__name__)
    function.__name__ = function.__qualname__ = name
    functools.update_wrapper(function, f)
    return jit(function, **options)


# ---- gradients -------------------------------------------------------------------------------------------


def _differentiated(who: str, f: Any, wrt: Any, options: _Options, has_value: bool) -> Any:
    def run(function: Any, bound: inspect.BoundArguments, trace: Trace) -> Any:
        new: dict[int, Mapped] = {}
        points: list[Traced] = []

        def point(name: str, leaf: Any) -> Traced:
            value = _value(trace, leaf)
            if value is None or value.dtype.kind != "f":
                kind = type(leaf).__name__ if value is None else value.dtype
                raise TypeError(
                    f"{who}: {trace.name}(): argument {name!r}: real floating-point numbers are wanted, "
                    f"not {kind}"
                )
            points.append(_point(value, value._dims))
            new[points[-1].id] = value, False
            return points[-1]

        trees = {}
        for name in dict.fromkeys(names):
            trees[name] = bound.arguments[name] = _each(bound.arguments[name], functools.partial(point, name))
        result = function(*bound.args, **bound.kwargs)
        value = _value(trace, result)
        if value is None or value._dims or value.dtype.kind != "f":
            what = type(result).__name__ if value is None else f"a number of dtype {value.dtype}"
            what = f"an array of shape {value._dims}" if value is not None and value._dims else what
            raise TypeError(f"{who}: {trace.name}() must return one real number, not {what}")
        made = _replay([value, *cotangents(value, points)], new)
        by_point = {p.id: gradient for p, (gradient, _) in zip(points, made[1:], strict=True)}
        gradients = tuple(_each(trees[name], lambda p: by_point[p.id]) for name in names)
        chosen = gradients if isinstance(wrt, tuple) else gradients[0]
        return (made[0][0], chosen) if has_value else chosen

    jitted = _made(who, f, run, options)
    known = [parameter.name for parameter in jitted._parameters]
    names = []
    for each in wrt if isinstance(wrt, tuple) else (wrt,):
        is_position = type(each) is int and -len(known) <= each < len(known)
        if not is_position and each not in known:
            raise ValueError(
                f"{who}: {jitted.__name__}(): wrt: there is no parameter {each!r}; "
                f"there are {', '.join(known)}"
            )
        names.append(known[each] if is_position else each)
    return jitted


def grad(
    f: Callable[P, Any],
    wrt: int | str | tuple[int | str, ...] = 0,
    **options: Unpack[_Options],
) -> Jitted[P, Any]:
    """Return a function that computes the gradient of f.

    >>> import numpy as np
    >>> import cwrapjit
    >>> cwrapjit.grad(lambda x: (x**3).sum())(np.array([1.0, 2.0]))
    array([ 3., 12.])

    f: a function that returns one real number, made as jit() wants it. A jitted f gives its options, too.
    wrt: the arguments by which to differentiate: a position, a name, or a tuple of these. Their numbers must
    be floats.
    options: those of jit().

    Returns a callable as jit() does, with f's signature. Its result is like the argument: an array, or a tree
    of arrays; a tuple if wrt is one. Raises ValueError for an argument that f does not have. Calls raise
    TypeError for other results of f, other numbers, and operations without a derivative."""
    return _differentiated("grad", f, wrt, options, False)  # type: ignore[no-any-return]


def value_and_grad(
    f: Callable[P, R],
    wrt: int | str | tuple[int | str, ...] = 0,
    **options: Unpack[_Options],
) -> Jitted[P, tuple[R, Any]]:
    """Return a function that computes f and its gradient, as a tuple.

    >>> import cwrapjit
    >>> cwrapjit.value_and_grad(lambda x: x**3)(2.0)
    (8.0, 12.0)

    f, wrt, options: as for grad().

    Returns a callable as jit() does, with f's signature. Raises what grad() raises."""
    return _differentiated("value_and_grad", f, wrt, options, True)  # type: ignore[no-any-return]


# ---- vmap ------------------------------------------------------------------------------------------------


def vmap(
    f: Callable[P, Any],
    axes: int | tuple[int | None, ...] | None = 0,
    **options: Unpack[_Options],
) -> Jitted[P, Any]:
    """Return a function that maps f over an axis of its arguments.

    >>> import numpy as np
    >>> import cwrapjit
    >>> cwrapjit.vmap(lambda x, y: x @ y, (0, None))(np.eye(2), np.array([3.0, 4.0]))
    array([3., 4.])

    f: a function as jit() wants it.
    axes: the axis to map, None for an argument that is the same for all, or a tuple with one of these for
    each parameter. It holds for all arrays of a tuple, list or dict.
    options: those of jit().

    Returns a callable as jit() does, with f's signature. It computes np.stack([f(x[i]), ...]) without a loop
    in Python. Raises ValueError for axes that do not match the parameters; calls raise it for lengths that
    differ, and TypeError for operations that cannot be mapped."""

    def run(function: Any, bound: inspect.BoundArguments, trace: Trace) -> Any:
        new: dict[int, Mapped] = {}
        lengths: dict[str, int] = {}

        def point(name: str, axis: int | None, leaf: Any) -> Any:
            value = None if type(leaf) is bool else _value(trace, leaf)
            if value is None:
                return leaf
            if axis is None:
                made = _point(value, value._dims)
                new[made.id] = value, False
                return made
            where = f"vmap: {trace.name}(): argument {name!r}"
            if not -value.ndim <= axis < value.ndim:
                raise ValueError(f"{where} has {value.ndim} dims, and no axis {axis}; None maps none")
            axis %= value.ndim
            others = [k for k in range(value.ndim) if k != axis]
            lengths.setdefault(name, value._dims[axis])
            if len({*lengths.values(), value._dims[axis]}) > 1:
                seen = ", ".join(
                    f"{n} of {key!r}" for key, n in (lengths | {name: value._dims[axis]}).items()
                )
                raise ValueError(f"vmap: {trace.name}(): lengths differ along the mapped axis: {seen}")
            made = _point(value, tuple(value._dims[k] for k in others), True)
            new[made.id] = transpose(value, (axis, *others)), True
            return made

        chosen = axes if isinstance(axes, tuple) else (axes,) * len(bound.arguments)
        for (name, tree), axis in zip(list(bound.arguments.items()), chosen, strict=True):
            bound.arguments[name] = _each(tree, functools.partial(point, name, axis))
        if not lengths:
            raise ValueError(f"vmap: {trace.name}(): no argument has an axis to map")
        length = next(iter(lengths.values()))
        result = function(*bound.args, **bound.kwargs)

        def finish(leaf: Any) -> Any:
            value = _value(trace, leaf)
            if value is None:
                return leaf
            ((made, is_mapped),) = _replay([value], new, length)
            return made if is_mapped else spread(made, (length, *made._dims))

        return _each(result, finish)

    jitted = _made("vmap", f, run, options)
    wanted = len(jitted._parameters)
    given = axes if isinstance(axes, tuple) else (axes,)
    if any(type(axis) is not int and axis is not None for axis in given) or (
        isinstance(axes, tuple) and len(axes) != wanted
    ):
        raise ValueError(
            f"vmap: {jitted.__name__}(): axes: an int, None or a tuple of {wanted} of these is wanted, "
            f"not {axes!r}"
        )
    return jitted  # type: ignore[no-any-return]
