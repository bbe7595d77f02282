"""Traced values: what a function that jit() traces gets in place of arrays and numbers.

A value knows its dtype, its dims and how it is computed, but no elements. Equal computations are one value.
Dims are those of the call that is traced; a Trace notes what makes them matter."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any, NoReturn

import numpy as np

from cwrapjit._imports import load

# Kinds of values. A call is Python code between kernels: of NumPy, or of operators on Python numbers. NUMBER:
# a Python number whose type an array's dtype has decided.
# POINT: an argument of a function whose values are replayed with others in its place (transforms.py).
INPUT, CONST, NUMBER, ELEMENT, REDUCE, CALL = "input", "const", "number", "element", "reduce", "call"
LOOP = "loop"  # what a step of scan() gets; only Loop may use it
POINT = "point"
FUSED = (ELEMENT, REDUCE)
PYTHON_NUMBERS = (int, float, complex)
EXPAND = "{0}[..., None]"
KEPT = "a traced value was kept and is used outside of the call that traced it; return it instead"


class Unsupported(TypeError, AttributeError):
    """Raised for an attribute of arrays that traced values do not have."""


# The trace that runs in this thread.
running: ContextVar[Trace | None] = ContextVar("running", default=None)


class Trace:
    """The values of one run of the function.

    is_exact: the plan holds for these lengths alone. literals: lengths of constants. sources: Python text of
    lengths."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.values: list[Traced] = []
        self.known: dict[Any, Traced] = {}
        self.kept: list[Any] = []  # constants: their ids are parts of keys
        self.is_exact = False
        self.is_open = True
        self.literals: set[int] = set()
        self.sources: dict[int, str] = {}
        self.place: tuple[str, int] | None = None  # the user's line, while its values are replayed

    def close(self) -> None:
        """Ends the trace. What is left of it are the facts about lengths."""
        self.is_open = False
        self.values, self.known, self.kept = [], {}, []

    def make(
        self,
        kind: str,
        name: str,
        args: Sequence[Traced],
        dims: Sequence[int],
        dtype: Any,
        *params: Any,
        is_weak: bool = False,
        is_boxed: bool = False,
        rule: tuple[Any, ...] = (),
    ) -> Traced:
        """Returns the value of this computation. params: constants that it needs. is_weak: a Python number.
        is_boxed: an array without dims rather than a scalar. rule: of a call, the operation's name and
        parameters, from which derivatives.py and transforms.py make others."""
        for arg in args:
            arg._check(self)
        shown = tuple([key_of(param) for param in params])
        dims, dtype = tuple(dims), np.dtype(dtype)
        key = (kind, name, tuple([a.id for a in args]), dims, dtype, shown, is_weak, is_boxed)
        found = self.known.get(key)
        if found is None:
            self.kept.append(params)
            found = Traced(self, len(self.values), kind, name, tuple(args), dims, dtype)
            found._params, found._weak, found._boxed, found._rule = params, is_weak, is_boxed, rule
            found._place = (self.place or users_place()) if kind == CALL else None
            self.known[key] = found
            self.values.append(found)
        return found

    def input(self, index: int, given: Any) -> Traced:
        """Returns the value for an argument: an array, a scalar or a Python number."""
        is_weak = type(given) in PYTHON_NUMBERS
        dims = np.shape(given)
        dtype = np.asarray(type(given)(0) if is_weak else given).dtype.newbyteorder("=")
        for axis, length in enumerate(dims):
            self.sources.setdefault(length, f"a{index}.shape[{axis}]")
        boxed = isinstance(given, np.ndarray)
        return self.make(INPUT, f"a{index}", (), dims, dtype, is_weak=is_weak, is_boxed=boxed)

    def value(self, given: Any, who: str) -> Traced:
        """Returns a traced value as it is, and a constant for arrays and numbers."""
        if isinstance(given, Traced):
            given._check(self)
            return given
        if type(given) in (*PYTHON_NUMBERS, bool):
            dtype = np.asarray(type(given)(0)).dtype
            return self.make(CONST, "const", (), (), dtype, given, is_weak=True)
        array = np.asarray(given)
        if array.dtype.kind not in "biufc":
            self.refuse(f"{who}: an operand of dtype {array.dtype} is no number")
        if array.ndim == 0:
            number = array.astype(array.dtype.newbyteorder("="))[()]
            return self.make(CONST, "const", (), (), number.dtype, number)
        self.literals.update(array.shape)
        return self.make(CONST, "const", (), array.shape, array.dtype.newbyteorder("="), array)

    def length(self, length: int) -> str:
        """Returns Python text for a length."""
        is_fixed = self.is_exact or length in (0, 1) or length in self.literals
        return str(length) if is_fixed else self.sources[length]

    def lengths(self, dims: Sequence[int]) -> str:
        """Returns Python text for a shape."""
        return f"({''.join(f'{self.length(n)}, ' for n in dims)})"

    def refuse(self, what: str, kind: type[Exception] = TypeError) -> NoReturn:
        raise kind(f"jit: {self.name}(): {what}{users_line(self.place)}")


def key_of(param: Any) -> Any:
    """Returns a constant's part of a value's key. 0.0, -0.0 and 0 differ, and NaN is NaN."""
    if isinstance(param, (np.ndarray, np.ufunc)) or callable(param):
        return id(param)
    return type(param), repr(param)


def users_place() -> tuple[str, int]:
    """Returns the file and line of the traced function that is running."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        if str(frame.f_globals.get("__name__")).split(".")[0] not in ("cwrapjit", "numpy"):
            break
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def users_line(place: tuple[str, int] | None) -> str:
    """Returns words for that line."""
    name, line = place or users_place()
    text = load("linecache").getline(name, line).strip()
    return f" (in {name}, line {line}{': ' if text else ''}{text})"


def trace_of(*values: Any) -> Trace:
    first = next(value for value in values if isinstance(value, Traced))
    first._check(first._trace)
    return first._trace


# Where numpys.py and operators.py put operators and methods. Type checkers read no tables.
Methods: Any = type("Methods", (), {})


class Traced(Methods):  # type: ignore[misc]
    """A value of a function that jit() traces: an array or a number that is not computed yet."""

    _params: tuple[Any, ...]
    _weak: bool
    _boxed: bool
    _rule: tuple[Any, ...]
    _place: tuple[str, int] | None

    def __init__(
        self,
        trace: Trace,
        id: int,
        kind: str,
        name: str,
        args: tuple[Traced, ...],
        dims: tuple[int, ...],
        dtype: np.dtype[Any],
    ) -> None:
        self._trace, self.id, self._kind, self._name = trace, id, kind, name
        self._args, self._dims, self.dtype = args, dims, dtype

    # ---- what is known ------------------------------------------------------------------------------

    @property
    def ndim(self) -> int:
        return len(self._dims)

    @property
    def shape(self) -> tuple[int, ...]:
        self._trace.is_exact = True
        return self._dims

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=int))

    def __len__(self) -> int:
        if not self._dims:
            self._trace.refuse("len() of a number")
        return self.shape[0]

    @property
    def _base(self) -> Traced:
        """The value without the last axis that an index [..., None] has added."""
        return self._args[0] if self._name == EXPAND else self

    def __repr__(self) -> str:
        dims = ", ".join("1" if n == 1 else "n" for n in self._dims)
        return f"<traced {self.dtype}({dims}) of {self._trace.name}()>"

    def _check(self, trace: Trace) -> None:
        """Refuses a value outside of its trace."""
        if self._trace is not trace or not trace.is_open:
            self._trace.refuse(KEPT)

    # ---- what is not --------------------------------------------------------------------------------

    def __bool__(self) -> bool:
        self._unknown(
            "bool()",
            "np.where(condition, a, b) computes both branches, and static= keeps an argument as it is",
        )

    def __float__(self) -> float:
        self._unknown("float()", "use NumPy's functions and astype(), or name the argument in static=")

    def __int__(self) -> int:
        self._unknown("int()", "use NumPy's functions and astype(), or name the argument in static=")

    def __index__(self) -> int:
        self._unknown("the integer", "name the argument in static=")

    def __iter__(self) -> Any:
        self._unknown(
            "iteration", "compute with whole arrays, with an index such as x[0], or with np.where()"
        )

    def __contains__(self, item: object) -> bool:
        self._unknown("`in`", "use (x == item).any()")

    def __array__(self, *args: Any, **options: Any) -> Any:
        self._unknown("an array", "leave out np.asarray() and np.array(); np.stack() joins values")

    def _unknown(self, what: str, cure: str) -> NoReturn:
        self._trace.refuse(f"{what} of a traced value is not known while the function is traced: {cure}")

    def __setitem__(self, key: Any, value: Any) -> None:
        self._trace.refuse("x[...] = v changes an array in place; np.where() makes a new one")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(np.ndarray, name):
            raise AttributeError(f"traced values have no attribute {name!r}")
        self._trace.refuse(f"arrays' attribute {name!r} is not supported", Unsupported)

    __hash__ = object.__hash__
