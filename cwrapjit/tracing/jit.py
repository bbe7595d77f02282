"""jit: a decorator that traces NumPy functions and runs them as C kernels."""

from __future__ import annotations

import array
import functools
import inspect
import os
from _thread import RLock
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, ParamSpec, TypeVar, overload

import numpy as np

from cwrapjit._cwrapjit import ShapeDispatch
from cwrapjit._imports import load
from cwrapjit.tracing import numpys as numpys  # gives traced values their operators and methods
from cwrapjit.tracing.program import Program
from cwrapjit.tracing.values import PYTHON_NUMBERS, Trace, Traced, running

if TYPE_CHECKING:
    import cwrapjit
    from cwrapjit._cwrapjit import _Optimize, _Threads

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

MOST_KEYS = 4096  # combinations of shapes that are found at once
# One lock, as traces may call other jitted functions. fork() waits for it.
_lock = RLock()
os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


class _Inline(Exception):
    """An argument is traced: the function is part of another trace."""


class Arguments:
    """Reads a call's arguments: `leaves` are arrays and numbers, `key` is what decides a trace.

    has_shapes: the key has shapes, else numbers of dims."""

    def __init__(self, values: Sequence[Any], static: Sequence[bool], has_shapes: bool = True) -> None:
        self.leaves: list[Any] = []
        self.has_shapes = has_shapes
        self.key = tuple([(type(v), v) if s else self._read(v) for v, s in zip(values, static, strict=True)])

    def _read(self, value: Any) -> Any:
        kind = type(value)
        if kind is np.ndarray:
            self.leaves.append(value)
            return value.dtype, value.shape if self.has_shapes else value.ndim
        if kind in PYTHON_NUMBERS:
            self.leaves.append(value)
            return kind
        if isinstance(value, (tuple, list)):
            return kind, tuple([self._read(item) for item in value])
        if kind is dict:
            return kind, tuple(value), tuple([self._read(item) for item in value.values()])
        return self._read_other(value)

    def _read_other(self, value: Any) -> Any:
        if isinstance(value, Traced):
            raise _Inline
        if isinstance(value, (np.ma.MaskedArray, np.matrix)):
            raise TypeError(f"jit: a {type(value).__name__} is not supported; pass a plain array")
        if isinstance(value, np.generic) and value.dtype.kind in "biufc":
            self.leaves.append(value)
            return value.dtype
        is_like = isinstance(value, (memoryview, array.array)) or hasattr(value, "__array__")
        if is_like and not isinstance(value, (np.generic, type)):
            return self._read(np.asarray(value))
        return type(value), value

    def lengths(self) -> list[int]:
        return [n for leaf in self.leaves if type(leaf) is np.ndarray for n in leaf.shape]

    def equal(self) -> tuple[int, ...]:
        """Returns a number per axis: which axes are equal, and which are of length 0 or 1."""
        symbols = {0: 0, 1: 1}
        return tuple([symbols.setdefault(n, len(symbols)) for n in self.lengths()])


class _Plan:
    """A program, and the lengths for which it holds."""

    def __init__(self, program: Program, lengths: list[int]) -> None:
        self.program, self.lengths = program, lengths

    def fits(self, lengths: list[int]) -> bool:
        """Returns true if no length is one of a constant's, or it was when traced, too."""
        if self.program.trace.is_exact:
            return lengths == self.lengths
        fixed = self.program.trace.literals
        return all(
            a == b or (a not in fixed and b not in fixed) for a, b in zip(lengths, self.lengths, strict=True)
        )


class Jitted(Generic[P, R], ShapeDispatch):
    """A function that jit() has made."""

    __wrapped__: Callable[P, R]
    __name__: str
    __qualname__: str

    def __init__(self, function: Callable[P, R], static: Any, options: dict[str, Any]) -> None:
        self.__name__ = self.__qualname__ = type(function).__name__  # of a functools.partial, for example
        functools.update_wrapper(self, function)
        self._options = options
        self.__signature__ = inspect.signature(function)
        self._parameters = list(self.__signature__.parameters.values())
        self._static = _static_flags(self.__name__, self._parameters, static)
        kinds = {p.kind for p in self._parameters}
        plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        self._arity = len(self._parameters) if kinds <= set(plain) else -1
        if self._arity >= 0:
            defaults = [p.default for p in self._parameters if p.default is not p.empty]
            super().__init__(tuple(self._static), tuple(defaults))
        self._quick: dict[Any, Program] = {}  # by types and shapes
        self._plans: dict[Any, list[_Plan]] = {}  # by pattern

    if TYPE_CHECKING:

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...

    def _miss(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Does a call with arguments that ShapeDispatch has not seen, or does not look at."""
        values: tuple[Any, ...] = args
        if kwargs or len(values) != self._arity:
            bound = self.__signature__.bind(*args, **kwargs)
            bound.apply_defaults()
            values = tuple(bound.arguments.values())
        try:
            given = Arguments(values, self._static)
        except _Inline:
            return self.__wrapped__(*args, **kwargs)
        try:
            program = self._quick.get(given.key)
        except TypeError:
            self._refuse_unhashable(values)
            raise
        if program is None:
            program = self._find(given, values)
        self._keep(values, given.leaves, program.run)
        result: R = program.run(*given.leaves)
        return result

    def _find(self, given: Arguments, values: Sequence[Any]) -> Program:
        """Returns the program of a trace that fits, or traces."""
        with _lock:
            pattern = Arguments(values, self._static, has_shapes=False).key, given.equal()
            plans = self._plans.setdefault(pattern, [])
            lengths = given.lengths()
            plan = next((plan for plan in plans if plan.fits(lengths)), None)
            if plan is None:
                plan = _Plan(self._trace(values, self._program), lengths)
                plans.append(plan)
            if len(self._quick) >= MOST_KEYS:
                self._quick.clear()
            self._quick[given.key] = plan.program
            return plan.program

    def _trace(self, values: Sequence[Any], build: Callable[[Trace, list[Traced], Any], T]) -> T:
        trace = Trace(self.__name__)
        inputs: list[Traced] = []
        trees: list[Any] = []
        traced = [
            value if is_static else _traced(trace, value, inputs, trees)
            for value, is_static in zip(values, self._static, strict=True)
        ]
        names = [parameter.name for parameter in self._parameters]
        bound = inspect.BoundArguments(self.__signature__, dict(zip(names, traced, strict=True)))
        before = running.set(trace)
        try:
            result = self.__wrapped__(*bound.args, **bound.kwargs)
            for tree, items in trees:
                if list(map(id, tree.values() if isinstance(tree, dict) else tree)) != items:
                    trace.refuse(f"it changes a {type(tree).__name__} that is an argument; return a new one")
            return build(trace, inputs, result)
        finally:
            running.reset(before)
            trace.close()

    def _program(self, trace: Trace, inputs: list[Traced], result: Any) -> Program:
        return Program(trace, inputs, result, self._options)

    def _refuse_unhashable(self, values: Sequence[Any]) -> None:
        for value, parameter in zip(values, self._parameters, strict=True):
            try:
                hash(Arguments([value], [self._static[self._parameters.index(parameter)]]).key)
            except TypeError:
                raise TypeError(
                    f"jit: {self.__name__}(): argument {parameter.name!r}: a {type(value).__name__} is "
                    "part of the key of traces, and must be hashable"
                ) from None

    def _programs(self) -> list[Program]:
        with _lock:
            return [plan.program for plans in self._plans.values() for plan in plans]

    @property
    def kernels(self) -> list[cwrapjit.Function]:
        """The kernels of all traces."""
        return [kernel for program in self._programs() for kernel in program.kernels]

    @property
    def source(self) -> str:
        """The C text of all kernels."""
        return "\n".join(kernel.source for kernel in self.kernels)

    @property
    def tier(self) -> str:
        """ "cc" if the system's compiler has made all kernels, else "tcc"."""
        tiers = {kernel.tier for kernel in self.kernels}
        return "cc" if tiers == {"cc"} else "tcc"

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until all kernels are in the cc tier.

        timeout: seconds for each kernel, by default without end.

        Returns False if a kernel is not in that tier."""
        return min([kernel.wait(timeout) for kernel in self.kernels], default=True)

    def explain(self) -> str:
        """Returns the steps of each trace: kernels and calls of NumPy, with what they read and write.

        For kernels, also the passes over a row, and the values that are kept between them."""
        return "\n".join(program.explanation for program in self._programs())

    def draw(self) -> str:
        """Returns a drawing of the steps of all traces, in Graphviz's language."""
        text: str = load("cwrapjit.show.jitted").dot(self._programs())
        return text

    def write(self, name: str, /, *examples: Any, folder: str | os.PathLike[str] = ".") -> None:
        """Writes the function as C99, in name.c and name.h, which need neither Python nor NumPy.

        >>> import os, tempfile
        >>> import numpy as np
        >>> import cwrapjit
        >>> twice = cwrapjit.jit(lambda x: x * 2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     twice.write("twice", np.ones(3), folder=folder)
        ...     sorted(os.listdir(folder))
        ['twice.c', 'twice.h']

        name: the C function's. Its parameters are described in the header.
        examples: arguments, as in a call: their dtypes, numbers of dims, equal axes and axes of length 1 are
            those of the C function.
        folder: where the files are written.

        Raises ValueError for a name that C does not allow, and TypeError for what has no form in C."""
        load("cwrapjit.tracing.write").write(self, name, examples, folder)

    def _repr_html_(self) -> str:
        page: str = load("cwrapjit.show").html(self)
        return page

    def __reduce__(self) -> str:
        return self.__qualname__

    def __repr__(self) -> str:
        traces, kernels = len(self._programs()), len(self.kernels)
        return f"<cwrapjit.jit {self.__qualname__}{self.__signature__}: {traces} traces, {kernels} kernels>"


def _static_flags(name: str, parameters: list[inspect.Parameter], static: Any) -> list[bool]:
    """Returns for each parameter whether static= names it."""
    named = (static,) if isinstance(static, (str, int)) else tuple(static)
    names = [parameter.name for parameter in parameters]
    for each in named:
        if not ((isinstance(each, int) and -len(names) <= each < len(names)) or each in names):
            raise ValueError(
                f"jit: {name}(): static: there is no parameter {each!r}; there are {', '.join(names)}"
            )
    chosen = {names[each] if isinstance(each, int) else each for each in named}
    return [each in chosen for each in names]


def _traced(trace: Trace, value: Any, inputs: list[Traced], trees: list[Any]) -> Any:
    """Returns the argument with traced values in place of arrays and numbers, in the order of Arguments.

    trees: gets the lists and dicts, with the ids of their items."""
    if isinstance(value, (tuple, list)) or type(value) is dict:
        items = [_traced(trace, v, inputs, trees) for v in (value.values() if type(value) is dict else value)]
        if type(value) is dict:
            made: Any = dict(zip(value, items, strict=True))
        else:
            made = type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
        trees.append((made, list(map(id, items))))
        return made
    given = Arguments([value], [False])
    if not given.leaves:
        return value
    leaf = given.leaves[0]
    if isinstance(leaf, np.ndarray) and leaf.dtype.kind not in "biufc":
        raise TypeError(f"jit: {trace.name}(): an array of dtype {leaf.dtype}; jit has numbers alone")
    inputs.append(trace.input(len(inputs), leaf))
    return inputs[-1]


@overload
def jit(
    f: Callable[P, R],
    /,
    *,
    static: str | int | Sequence[str | int] = (),
    fastmath: bool | None = None,
    threads: _Threads | None = None,
    optimize: _Optimize | None = None,
    debug: bool | Literal["left"] | None = None,
) -> Jitted[P, R]: ...
@overload
def jit(
    f: None = None,
    /,
    *,
    static: str | int | Sequence[str | int] = (),
    fastmath: bool | None = None,
    threads: _Threads | None = None,
    optimize: _Optimize | None = None,
    debug: bool | Literal["left"] | None = None,
) -> Callable[[Callable[P, R]], Jitted[P, R]]: ...
def jit(
    f: Any = None,
    /,
    *,
    static: str | int | Sequence[str | int] = (),
    fastmath: bool | None = None,
    threads: _Threads | None = None,
    optimize: _Optimize | None = None,
    debug: bool | Literal["left"] | None = None,
) -> Any:
    """Run a NumPy function as C kernels: a decorator.

    >>> import numpy as np
    >>> import cwrapjit
    >>> @cwrapjit.jit
    ... def softmax(x):
    ...     e = np.exp(x - x.max(axis=-1, keepdims=True))
    ...     return e / e.sum(axis=-1, keepdims=True)
    >>> softmax(np.zeros((2, 4)))
    array([[0.25, 0.25, 0.25, 0.25],
           [0.25, 0.25, 0.25, 0.25]])

    The first call runs f with traced values in place of arrays and numbers, and compiles what it computes.
    Calls with the same dtypes, ranks, equal axes and axes of length 1 run the kernels alone. What cannot be
    traced is a TypeError that names the line.

    f: a function of arrays, numbers, and tuples, lists and dicts of these. Other arguments (str, bool, None,
    objects) are static: each value has a trace of its own.
    static: names or positions of more static parameters.
    fastmath, threads, optimize, debug: options of function(), for the kernels.

    Returns a callable with f's signature. Raises ValueError for a static parameter that f does not have."""
    options = {"fastmath": fastmath, "threads": threads, "optimize": optimize, "debug": debug}
    given = {name: value for name, value in options.items() if value is not None}

    def decorate(function: Callable[P, R]) -> Jitted[P, R]:
        if not callable(function):
            raise TypeError(f"jit: a function is wanted, not {function!r}")
        return Jitted(function, static, {"cast": "safe", **given})

    return decorate if f is None else decorate(f)
