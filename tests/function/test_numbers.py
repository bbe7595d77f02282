"""Tests how a Python number becomes a C number: one rule for functions, libraries and graphs, in one table.

Python's numbers are weak, as in NumPy. NumPy's scalars and 0-d arrays are strong: their dtype must cast
safely. But its integers count by their value, which must not change unless their dtype casts safely.
"""

from __future__ import annotations

import decimal
import enum
import fractions
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from helpers import refuses, wrap
from library_tools import from_shared

import cwrapjit
import cwrapjit.graph as cg

# ---- the rule, computed by NumPy ------------------------------------------------------------------


class Outcome(NamedTuple):
    value: Any = None  # of the C type's dtype
    warns: bool = False  # that a float became infinite
    error: type[Exception] | None = None
    word: str = ""  # of the error's message


def real(dtype: Any) -> Any:
    """Returns the type of a complex dtype's parts, or of the dtype itself: its constructor takes numbers."""
    return dtype.type(0).real.dtype.type


def fault_of(dtype: Any, value: Any) -> str:
    """Returns what is wrong with an integer, "" if nothing is."""
    number = int(value)
    if dtype.kind in "iu":
        return "" if np.iinfo(dtype).min <= number <= np.iinfo(dtype).max else "out of range of"
    try:
        with np.errstate(over="ignore"):
            near = int(real(dtype)(number))
    except (OverflowError, ValueError):  # infinite, or too many digits for NumPy to read
        return "out of range of"
    is_safe = isinstance(value, int) or np.can_cast(value.dtype, dtype, "safe")
    return "" if is_safe or near == number else "not exact in"


def rule(value: Any, dtype: Any) -> Outcome:
    """Returns what becomes of a value for a C type of this dtype."""
    ranks = "b", "iu", "f", "c"
    rank = next(i for i, kinds in enumerate(ranks) if dtype.kind in kinds)
    if isinstance(value, (np.generic, np.ndarray)):
        is_int = value.dtype.kind in "iu"
        if (is_int and dtype.kind == "b") or value is np.ma.masked:
            return Outcome(error=TypeError)
        if not is_int and not np.can_cast(value.dtype, dtype, "safe"):
            return Outcome(error=TypeError, word=str(value.dtype))
    else:
        classes = [i for i, kind in enumerate((bool, int, float, complex)) if isinstance(value, kind)]
        if not classes or classes[0] > rank:
            return Outcome(error=TypeError, word=type(value).__name__ if type(value) in NUMBERS else "")
        is_int = isinstance(value, int) and not isinstance(value, bool)
    fault = fault_of(dtype, value) if is_int else ""
    if fault:
        digits = str(int(value)) if abs(int(value)) < 10**4000 else "so large an int"
        return Outcome(error=OverflowError, word=f"{digits} is {fault} {dtype}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = np.asarray(real(dtype)(int(value)) if is_int else value).astype(dtype)
    return Outcome(made, not is_int and bool(np.isfinite(value) and not np.isfinite(made)))


# ---- the values -----------------------------------------------------------------------------------


class Count(int):
    pass


class Share(float):
    pass


class Turn(complex):
    pass


class Color(enum.IntEnum):
    RED = 7


class Index:
    def __index__(self) -> int:
        return 1


class Real:
    def __float__(self) -> float:
        return 1.0


class Complex:
    def __complex__(self) -> complex:
        return 1j


NUMBERS = bool, int, float, complex
WEAK: list[Any] = [
    *(True, False, 0, 1, -1, 127, 128, -128, -129, 255, 256, 2**15, 2**16 - 1, 2049, 65504, 65505, 2**17),
    *(2**24, 2**24 + 1, -(2**24) - 1, 2**31 - 1, 2**31, 2**32, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1),
    *(2**63, -(2**63), -(2**63) - 1, 2**64 - 1, 2**64, 2**100, 2**100 + 1, 10**400, -(10**400), 10**5000),
    *(0.0, 1.5, -0.1, 1 / 3, 1e-50, 65520.0, 3.4028235e38, 3.5e38, 1e300, -1e300, float("inf"), float("nan")),
    *(1j, 0.1 - 2.5j, 1e300j, complex("nan"), complex(-1e300, 1), Color.RED),
    *(Count(5), Count(2**53 + 1), Share(0.1), Share(1e300), Turn(1j), Turn(1e300)),
]
STRONG: list[Any] = [
    *(np.ones((), code)[()] for code in "?bBhHiIlLqQefdgFDG"),
    *(np.ones((), code) for code in "?bBhHiIlLqQefdgFDG"),
    *(np.int8(-1), np.int64(2**53 + 1), np.uint64(2**64 - 1), np.uint64(2**63), np.int32(2**24 + 1)),
    *(np.float64(0.1), np.float64(1e300), np.float64("nan"), np.float32("inf"), np.complex128(1e300j)),
    *(np.array(2**53 + 1), np.array(258, ">i2"), np.array(0.1), np.array(1.5, ">f4")),
    *(np.ma.masked, np.str_("1"), np.timedelta64(1, "s"), np.datetime64("2020-01-01"), np.void(b"1")),
]
OTHERS: list[Any] = [
    *(None, "1", b"1", decimal.Decimal(1), fractions.Fraction(1), Index(), Real(), Complex(), object()),
]

# ---- the front ends -------------------------------------------------------------------------------

C_TYPES = {
    "bool": "bool",
    **{f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "float32": "float",
    "float64": "double",
    "complex64": "float _Complex",
    "complex128": "double _Complex",
}
LETTERS = dict(zip(C_TYPES, " bhilbhilfd", strict=False))
COPY = "memcpy(data_slice__output, data_slice__%s, sizeof_element__output); return true;"

TEXT = "".join(
    f"""
    {c} same_{name}({c} x) {{ return x; }}
    {c} variable_{name};
    struct s_{name} {{ {c} member; }};
    void clear_{name}(struct s_{name} *p) {{ p->member = 0; }}
    """
    for name, c in C_TYPES.items()
)


@pytest.fixture(scope="module")
def lib(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return from_shared(TEXT, tmp_path_factory.mktemp("numbers"))


def function(dtype: str, lib: Any) -> Any:
    return wrap(((),), (), {np.dtype(dtype): COPY % "a"}, cast="safe")


def beside(dtype: str, lib: Any) -> Any:
    f = wrap(((), ()), (), {np.dtype(dtype): COPY % "b"}, cast="safe")
    return lambda value: f(np.zeros(1, dtype), value)[0]


def extra(dtype: str, lib: Any) -> Any:
    given = [(C_TYPES[dtype], "v", "0", LETTERS[dtype])]
    code = {(np.dtype("i4"), np.dtype(dtype)): "item__output() = *v; return true;"}
    f = wrap(((),), (), code, extra_args=given)
    return lambda value: f(np.int32(0), v=value)


def library(dtype: str, lib: Any) -> Any:
    return lib.function(f"{C_TYPES[dtype]} same_{dtype}({C_TYPES[dtype]} x)")


def broadcast(dtype: str, lib: Any) -> Any:
    name = f"broadcast_{dtype}"
    return lib.function(f"{C_TYPES[dtype]} same_{dtype}({C_TYPES[dtype]} x)", name=name, broadcast=True)


def variable(dtype: str, lib: Any) -> Any:
    name = f"variable_{dtype}"
    lib.variable(f"{C_TYPES[dtype]} {name}")

    def put(value: Any) -> Any:
        setattr(lib, name, value)
        return getattr(lib, name)

    return put


def member(dtype: str, lib: Any) -> Any:
    made = lib.struct(f"struct s_{dtype} {{ {C_TYPES[dtype]} member; }};")()

    def put(value: Any) -> Any:
        made.member = value
        return made.member

    return put


def graph(dtype: str, lib: Any) -> Any:
    x = cg.Scalar(dtype)("a")
    return cwrapjit.link([x], cg.deep_copy(x))


def array(dtype: str, lib: Any) -> Any:
    x = cg.ndarray(dtype, 0)("a")
    return cwrapjit.link([x], cg.deep_copy(x))


def cell(dtype: str, lib: Any) -> Any:
    x = cg.Scalar(dtype)("a")
    k = cwrapjit.link([x], cg.deep_copy(x))

    def run(value: Any) -> Any:
        k.cells[0][0] = value
        if k.run() != 0:
            raise k.error
        return k.cells[1][0]

    return run


LIBRARY = list(C_TYPES)
GRAPH = [*C_TYPES, "float16"]
DTYPES: dict[Callable[[str, Any], Any], list[str]] = {
    function: [*GRAPH, "longdouble", "clongdouble"],
    beside: [*GRAPH, "longdouble", "clongdouble"],
    extra: [name for name in LETTERS if name != "bool"],
    **dict.fromkeys((library, broadcast, variable, member), LIBRARY),
    **dict.fromkeys((graph, array, cell), GRAPH),
}


def outcome(call: Callable[[Any], Any], value: Any, wanted: Outcome, dtype: Any) -> str:
    """Returns what is wrong with the call, or ""."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            got = call(value)
        except (TypeError, OverflowError) as error:
            right = type(error) is wanted.error and wanted.word in str(error)
            return "" if right else f"{type(error).__name__}: {error}"
    warned = [each.category for each in told] == [RuntimeWarning] * wanted.warns
    right = wanted.error is None and np.array_equal(np.asarray(got, dtype), wanted.value, equal_nan=True)
    return "" if warned and right else f"{got!r} {[str(each.message) for each in told]}"


@pytest.mark.quick
@pytest.mark.row("N09i")
@pytest.mark.parametrize("front, name", [(front, name) for front, names in DTYPES.items() for name in names])
def test_all_front_ends_have_the_one_rule(front: Callable[[str, Any], Any], name: str, lib: Any) -> None:
    call, dtype = front(name, lib), np.dtype(name)
    wrong = []
    numeric = [value for value in STRONG if value.dtype.kind in "biufc"]  # those of others raise a ValueError
    for value in {extra: WEAK, array: [*WEAK, *numeric]}.get(front, [*WEAK, *STRONG, *OTHERS]):
        wanted = rule(value, dtype)
        fault = outcome(call, value, wanted, dtype)
        if fault:
            shown = "large" if wanted.word.startswith("so large") else repr(value)
            wrong.append(f"{type(value).__name__} {shown}: wanted {wanted}, got {fault}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.quick
@pytest.mark.row("N09i")
@pytest.mark.parametrize("front", DTYPES)
def test_a_float_that_becomes_infinite_is_told_as_np_errstate_says(
    front: Callable[[str, Any], Any], lib: Any, strict_warnings: None
) -> None:
    call = front("float32", lib)
    with np.errstate(over="ignore"):
        assert call(1e300) == np.inf
    with np.errstate(over="raise"):
        refuses(FloatingPointError, lambda: call(1e300), "overflow encountered in cast")
    refuses(RuntimeWarning, lambda: call(-1e300), "overflow encountered in cast")
    assert call(1.5) == 1.5


@pytest.mark.row("N09i", "N23i")
def test_functions_are_strict_unless_cast_is_safe() -> None:
    """A function may have a type set for each dtype; a parameter of a library or a graph has one type."""
    f = wrap(((),), (), {np.float64: COPY % "a"})
    for value in np.float32(1), np.array(1), np.int8(1), np.True_:
        refuses(TypeError, lambda value=value: f(value), f"'a' is {value.dtype}", "safe")
    assert f(np.float64(0.5)) == f(np.array(0.5)) == 0.5
    f = wrap(((),), (), {np.float64: COPY % "a"}, cast="safe")
    assert f([2**53 + 1, 1]).tolist() == [2.0**53, 1.0], "as NumPy casts arrays"
    for value in np.array(2**53 + 1), np.int64(2**53 + 3), np.uint64(2**64 - 1):
        assert f(value) == value.astype(float)
    single = wrap(((),), (), {np.float32: COPY % "a"}, cast="safe")
    fault = "argument 'a': 16777217 is not exact in float32"
    refuses(OverflowError, lambda: single(np.array(2**24 + 1)), fault)
    refuses(OverflowError, lambda: single(np.int32(2**24 + 1)), fault)
