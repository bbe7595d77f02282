"""Tests that libtcc's code and the system compiler's code give the same bits.

Not promised (docs/speed.md): shifts by a negative or too large number, conversions of values that the integer
type cannot represent, and the bits of a NaN. tests/tinyjit/c/test_bits.c tests single expressions.

CWRAPJIT_EXPLORE=N makes N times as many random statements, new ones each time.
"""

from __future__ import annotations

import io
import itertools
import os
import pathlib
import random
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from helpers import build_extension, compiler, figure, wrap, wrap_signature
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import cwrapjit

EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -1.5, 2.5, 3.0, 1e-3, 123456.789, 1 / 3, 0.1, 1e16, 1e300, -1e300]
EDGES += [np.inf, -np.inf, np.nan, 5e-324, 2.2250738585072014e-308, 1e-310, 1.7976931348623157e308, 1 - 1e-16]
EDGES += [4503599627370497.5, 2147483647.0, 2147483648.5, 9.007199254740993e15]


@pytest.fixture(autouse=True)
def needs_a_compiler() -> None:
    compiler()


def numbers(dtype: Any, size: int, seed: int) -> np.ndarray[Any, Any]:
    """Returns edge cases of the type, then random numbers of very different magnitudes."""
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        if kind.kind == "b":
            values = rng.integers(0, 2, size).astype(kind)
        elif kind.kind in "iu":
            info = np.iinfo(kind)
            values = rng.integers(info.min, info.max, size, dtype=kind, endpoint=True)
            edges = [info.min, info.max, 0, 1, info.max - 1, info.min + 1, 2, 3, 7]
            values[: len(edges)] = edges
            values[len(edges) : size // 2] = rng.integers(0, 10, size // 2 - len(edges))
        else:
            values = (rng.normal(size=size) * 10.0 ** rng.integers(-5, 6, size)).astype(kind)
            values[: len(EDGES)] = EDGES
            values[len(EDGES) : size // 3] = rng.normal(size=size // 3 - len(EDGES))
    return values


def pairs(dtype: Any, other: Any, size: int, seed: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Returns two arrays in which every edge case meets every other."""
    a, b = numbers(dtype, size, seed), numbers(other, size, seed + 1)
    n = len(EDGES) + 4
    corner = np.array(list(itertools.product(range(n), range(n))))
    return np.concatenate([a[corner[:, 0]], a]), np.concatenate([b[corner[:, 1]], b])


def assert_same_bits(fast: Any, slow: Any, *args: Any, texts: Any = None) -> None:
    assert fast.tier == "cc" and slow.tier == "tcc"
    got, wanted = fast(*args), slow(*args)
    if not isinstance(got, tuple):
        got, wanted = (got,), (wanted,)
    for k, (one, two) in enumerate(zip(got, wanted, strict=True)):
        one, two = np.asarray(one), np.asarray(two)
        size = one.dtype.itemsize
        if one.dtype.kind == "c":
            one, two = one.view(one.real.dtype), two.view(two.real.dtype)
        differ = np.ascontiguousarray(one).view(f"V{one.dtype.itemsize}") != np.ascontiguousarray(two).view(
            f"V{one.dtype.itemsize}"
        )
        if one.dtype.kind == "f":
            differ &= ~(np.isnan(one) & np.isnan(two))
        where = np.flatnonzero(differ)
        what = texts[k] if texts else f"output {k}"
        assert where.size == 0, (
            f"{what}: {where.size} of {one.size} differ, first at {where[0]}: "
            f"{one.flat[where[0]]!r} instead of {two.flat[where[0]]!r} ({size} bytes)"
        )


def both(make: Any, *args: Any, **options: Any) -> tuple[Any, Any]:
    return make(*args, optimize="eager", **options), make(*args, optimize="off", **options)


# ---- random expressions ------------------------------------------------------------------------

HEADER = "#include <math.h>\n#include <stdint.h>\n"
C_TYPE = {"float64": "double", "float32": "float"}
C_TYPE |= {f"{u}int{n}": f"{u}int{n}_t" for u in ("", "u") for n in (8, 16, 32, 64)}
EXACT = ["sqrt", "fabs", "floor", "ceil", "trunc", "rint", "nearbyint", "round"]
ROUNDED = "exp log sin cos tan atan tanh cbrt log1p expm1 exp2 log10 asinh erf".split()
TWO = ["pow", "atan2", "hypot", "fmod", "fmin", "fmax", "copysign", "fdim", "remainder", "nextafter"]
LIMITS = {"int64_t": 9e18, "int32_t": 2e9, "int16_t": 3e4, "int8_t": 120, "uint64_t": 1.8e19, "uint32_t": 4e9,
          "uint16_t": 6e4, "uint8_t": 250}  # fmt: skip


class Grammar:
    """Makes random C expressions of x (of one type) and y (of another) without undefined behaviour."""

    def __init__(self, seed: int, x: str, y: str) -> None:
        self.random = random.Random(seed)
        self.floats = [name for name, c in (("x", x), ("y", y)) if c.startswith("float")]
        self.integers = [name for name, c in (("x", x), ("y", y)) if not c.startswith("float")]

    def pick(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def number(self, depth: int) -> str:
        """Returns a floating-point expression."""
        if depth <= 0:
            leaf = self.pick("leaf", "leaf", "leaf", "constant")
            if leaf == "leaf" and self.floats:
                return str(self.pick(*self.floats))
            return str(self.pick("0.1", "2.0", "-0.0", "3.0f", "1e-3", "0.5", "7.0", "1e30f", "0.3f"))
        shape = self.pick("op", "op", "op", "op", "one", "two", "if", "cast", "int", "negate", "fma")
        a, b = self.number(depth - 1), self.number(depth - 2)
        if shape == "op":
            return f"({a} {self.pick('+', '-', '*', '/')} {b})"
        if shape == "one":
            return f"{self.pick(*EXACT, *ROUNDED)}{self.pick('', '', 'f')}({a})"
        if shape == "two":
            return f"{self.pick(*TWO)}({a}, {self.pick(b, '2.0', '0.5', '3.0')})"
        if shape == "if":
            return f"({a} {self.pick('<', '>', '<=', '>=', '==', '!=')} {b} ? {a} : {self.number(depth - 2)})"
        if shape == "cast":
            return f"(({self.pick('float', 'double')}){a})"
        if shape == "fma":
            return f"fma({a}, {b}, {self.number(depth - 2)})"
        if shape == "int":
            return f"({self.pick('float', 'double')}){self.integer(depth - 1)}"
        return f"(- {a})"

    def integer(self, depth: int) -> str:
        if depth <= 0:
            if self.integers and self.random.random() < 0.8:
                return str(self.pick(*self.integers))
            return str(self.pick("3", "-7", "1000003", "255u", "0x7fffffff", "5L", "(uint8_t)200"))
        shape = self.pick("op", "op", "op", "divide", "shift", "if", "cast", "float", "not")
        a, b = self.integer(depth - 1), self.integer(depth - 2)
        if shape == "op":
            return f"({a} {self.pick('+', '-', '*', '&', '|', '^')} {b})"
        if shape == "divide":  # neither by 0, nor INT_MIN / -1
            return f"({a} {self.pick('/', '%')} (({b} & 0x3f) + 1))"
        if shape == "shift":
            return f"((uint64_t){a} {self.pick('<<', '>>')} ({b} & 31))"
        if shape == "if":
            return f"({a} {self.pick('<', '>', '==', '!=')} {b} ? {a} : {b})"
        if shape == "cast":
            return f"(({self.pick(*LIMITS)}){a})"
        if shape == "float":
            to = self.pick(*LIMITS)
            low = "-" if not to.startswith("u") else "0 * "
            value = self.number(depth - 1)
            return f"(({value}) > {low}{LIMITS[to]} && ({value}) < {LIMITS[to]} ? ({to})({value}) : ({to})1)"
        return f"({self.pick('~', '-', '!')} {a})"


def batch(seed: int, x: str, y: str, count: int) -> tuple[Any, Any, list[str]]:
    """Returns a function of two inputs with `count` outputs, each a random expression, in both tiers."""
    grammar = Grammar(seed, x, y)
    floating = [grammar.number(4) for _ in range(count // 2)]
    whole = [grammar.integer(4) for _ in range(count - count // 2)]
    names = [f"o{k}" for k in range(count)]
    body = f"const {C_TYPE[x]} x = item__a(); const {C_TYPE[y]} y = item__b(); (void)x; (void)y;\n"
    for name, text in zip(names, floating + whole, strict=True):
        body += f"item__{name}() = {text};\n"
    outputs = ["float64" if k % 3 else "float32" for k in range(len(floating))] + ["int64"] * len(whole)
    types = (x, y, *outputs)
    signature = "a(), b() -> " + ", ".join(f"{name}()" for name in names)
    fast, slow = both(wrap_signature, signature, {types: body + "return true;"}, header=HEADER)
    return fast, slow, floating + whole


TYPES = ["float64", "float32", "int32", "uint8", "int64", "uint64", "int16", "uint32", "int8", "uint16"]


@pytest.mark.row("G08")
@pytest.mark.filterwarnings("ignore::cwrapjit.CompileWarning")
@pytest.mark.parametrize("seed", range(10))
def test_random_expressions(seed: int) -> None:
    x, y = TYPES[seed % len(TYPES)], TYPES[(seed * 3) % len(TYPES)]
    fast, slow, texts = batch(seed, x, y, 12)
    a, b = pairs(x, y, 2000, seed)
    assert_same_bits(fast, slow, a, b, texts=texts)
    assert_same_bits(fast, slow, a[::-3], b[::-3], texts=texts)
    assert_same_bits(fast, slow, a, b[7], texts=texts)


def slices() -> Iterator[Any]:
    yield (
        "dot",
        ((("n",), ("n",)), ()),
        """
        double s = 0;
        for (int i = 0; i < dims_slice__a[0]; i++) s += item__a(i) * item__b(i);
        item__output() = s;""",
        [(50, 3), (50, 1), (7, 129)],
    )
    yield (
        "matmul",
        ((("n", "n"), ("n", "n")), ("n", "n")),
        """
        for (int i = 0; i < dims_slice__a[0]; i++)
            for (int j = 0; j < dims_slice__a[0]; j++) {
                item__output(i, j) = 0;
                for (int k = 0; k < dims_slice__a[0]; k++)
                    item__output(i, j) += item__a(i, k) * item__b(k, j);
            }""",
        [(40, 3, 3), (5, 8, 8), (2, 17, 17)],
    )
    yield (
        "matmul of fixed size",
        (((3, 3), (3, 3)), (3, 3)),
        """
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                item__output(i, j) = item__a(i, 0) * item__b(0, j) + item__a(i, 1) * item__b(1, j)
                    + item__a(i, 2) * item__b(2, j);""",
        [(1000, 3, 3)],
    )
    yield (
        "cumulative sum",
        ((("n",), ("n",)), ("n",)),
        """
        double s = 0;
        for (int i = 0; i < dims_slice__a[0]; i++)
            item__output(i) = s += item__a(i) - 0.1 * item__b(i);""",
        [(9, 100)],
    )
    yield (
        "softmax",
        ((("n",), ("n",)), ("n",)),
        """
        double top = item__a(0), sum = 0;
        for (int i = 1; i < dims_slice__a[0]; i++) if (item__a(i) > top) top = item__a(i);
        for (int i = 0; i < dims_slice__a[0]; i++)
            sum += item__output(i) = exp(item__a(i) - top) + item__b(i);
        for (int i = 0; i < dims_slice__a[0]; i++) item__output(i) /= sum;""",
        [(11, 33)],
    )
    yield (
        "distance",
        ((("n",), ("n",)), ()),
        """
        double s = 0;
        for (int i = 0; i < dims_slice__a[0]; i++) s += (item__a(i) - item__b(i)) * (item__a(i) - item__b(i));
        item__output() = sqrt(s);""",
        [(200, 3)],
    )


@pytest.mark.row("G08")
@pytest.mark.parametrize("what, prototypes, body, shapes", list(slices()), ids=[case[0] for case in slices()])
def test_loops_over_core_dims(what: str, prototypes: Any, body: str, shapes: Any) -> None:
    text = body + " return true;"
    fast, slow = both(wrap, *prototypes, {np.float64: text, np.float32: text}, header=HEADER)
    rng = np.random.default_rng(3)
    for shape, dtype in itertools.product(shapes, (np.float64, np.float32)):
        a, b = rng.normal(size=shape).astype(dtype), (rng.normal(size=shape) * 1e3).astype(dtype)
        for one, two in ((a, b), (a, np.asfortranarray(b)), (a[::-1], b[:1]), (a[..., ::-1], a)):
            assert_same_bits(fast, slow, one, two)


@pytest.mark.row("G08")
def test_aliased_memory_is_read_as_written() -> None:
    """Type punning and pointers into the same slice would break with strict aliasing."""
    body = """
        double x = item__a();
        uint64_t bits = *(uint64_t *)&x;
        float *half = (float *)&x;
        half[0] = half[1] + 1.0f;
        *(uint32_t *)&item__output() = (uint32_t)bits;
        ((uint32_t *)&item__output())[1] = (uint32_t)(*(uint64_t *)&x >> 33);
        return true;"""
    fast, slow = both(wrap, ((),), (), body, header=HEADER)
    assert_same_bits(fast, slow, numbers(np.float64, 10_000, 9))


# ---- addresses of functions --------------------------------------------------------------------


@pytest.mark.row("G08")
@pytest.mark.parametrize("kind", ["", "volatile", "static", "const"])
def test_tables_of_functions(kind: str) -> None:
    """gcc loads two addresses into one vector, by an instruction that ends with a constant."""
    pointer = "*volatile" if kind == "volatile" else "*const" if kind == "const" else "*"
    storage = "static " if kind == "static" else ""
    body = f"""
        {storage}double ({pointer} functions[])(double) = {{sin, cos, exp, tgamma}};
        {storage}void {pointer} addresses[] = {{(void *)cos, (void *)sin, (void *)tgamma, (void *)exp}};
        for (int i = 0; i < 4; i++) {{
            item__y(i) = functions[i](item__x());
            item__at(i) = (int64_t)(uintptr_t)addresses[i];
        }}
        return true;"""
    fast, slow = both(
        wrap_signature, "x() -> y(4), at(4)", {(np.float64, np.float64, np.int64): body}, header=HEADER
    )
    assert_same_bits(fast, slow, np.linspace(-2.25, 3.0, 50))


# ---- random statements: loops, branches, switches, arrays, side effects ----------------------------------


PROGRAMS = 4  # per function
EXAMPLES = 2 * int(os.environ.get("CWRAPJIT_EXPLORE", "1"))

DOUBLES, INTS, BYTES = ("x", "y", "z"), ("i", "j", "k"), ("u", "v")
names_of = {"double": DOUBLES, "int64_t": INTS, "uint8_t": BYTES}


def constant(kind: str) -> st.SearchStrategy[str]:
    if kind == "double":
        return st.sampled_from(["0.5", "-1.25", "3.0", "1e10", "7e-3", "-2.0"])
    return st.sampled_from(["1", "2", "-3", "7", "100", "255", "(int64_t)1 << 40"]).map(lambda c: f"({c})")


@st.composite
def expression(draw: Any, kind: str, depth: int = 3) -> str:
    """Draws a defined expression of variables; libtcc's arithmetic on constants differs (docs/speed.md)."""
    variable = draw(st.sampled_from(names_of[kind]))
    if depth == 0 or draw(st.integers(0, 4)) == 0:
        return (
            draw(st.sampled_from([variable, f"d[{draw(st.sampled_from(INTS))} & 7]"]))
            if kind == "double"
            else variable
        )
    left = draw(expression(kind, depth - 1))
    right = draw(st.one_of(constant(kind), expression(kind, depth - 1)))
    forms = [f"({left} + {right})", f"({left} - {right})", f"({left} * {right})"]
    if kind == "double":
        whole = draw(expression("int64_t", depth - 1))
        forms += [
            f"({left} / {right})",
            f"sqrt(fabs({left}))",
            f"({left} + (double){whole})",
            f"floor({left})",
        ]
        forms += [f"({left} < {right} ? {left} : {right})", f"(double)(float){left}"]
    else:
        other = draw(expression("uint8_t" if kind == "int64_t" else "int64_t", depth - 1))
        forms += [
            f"({left} / (({right} & 7) + 1))",
            f"({left} % (({right} & 15) + 1))",
            f"(~{left})",
            f"(-{left})",
        ]
        forms += [f"({left} ^ {right})", f"({left} & {other})", f"({left} | {right})", f"(int32_t){left}"]
        forms += [
            f"({left} << ({other} & 5))",
            f"({left} >> ({right} & 6))",
            f"({left} < {other})",
            f"(!{left})",
        ]
        forms += [f"({left} && {other})", f"({left} ? {right} : {other})"]
    return draw(st.sampled_from(forms))


@st.composite
def statement(draw: Any, depth: int = 2) -> str:
    kind = draw(st.sampled_from(["double", "double", "int64_t", "uint8_t"]))
    name, value = draw(st.sampled_from(names_of[kind])), draw(expression(kind, 2))
    if depth == 0 or draw(st.integers(0, 2)) == 0:
        assignments = [
            f"{name} = {value};",
            f"{name} += {value};",
            f"{name} -= {value};",
            f"{name} *= {value};",
        ]
        if kind == "double":
            assignments.append(f"d[{draw(st.sampled_from(INTS))} & 7] = {value};")
        else:
            assignments += [f"{name}++;", f"--{name};", f"{name} ^= {value};"]
        return draw(st.sampled_from(assignments))
    body = draw(block(depth - 1))
    count = draw(st.sampled_from(["7", "(i & 15)", "(u & 3) + 1"]))
    loop = f"n{depth}"
    test = draw(st.one_of(expression("int64_t", 1), expression("double", 1).map(lambda e: f"{e} > 0")))
    return draw(
        st.sampled_from(
            [
                f"if ({test}) {{ {body} }}",
                f"if ({test}) {{ {body} }} else {{ {draw(block(depth - 1))} }}",
                f"for (int {loop} = 0; {loop} < {count}; {loop}++) {{ {body} }}",
                f"for (int {loop} = 0; {loop} < 20; {loop}++) {{ if ({test}) break; {body} }}",
                f"{{ int {loop} = 0; do {{ if ({test}) continue; {body} }} while (++{loop} < 5); }}",
                f"switch ({draw(expression('int64_t', 1))} & 3) {{ case 0: {body} break;"
                f" case 2: {name} = {value}; default: {draw(block(depth - 1))} }}",
            ]
        )
    )


def block(depth: int) -> st.SearchStrategy[str]:
    return st.lists(statement(depth), min_size=1, max_size=3).map(" ".join)


def text_of(programs: list[str]) -> str:
    begin = "double x = item__a(), y = item__b(), z = 1.5, d[8] = {x, y, 2, 3, 4, 5, 6, 7};"
    begin += " int64_t i = item__m(), j = item__n(), k = 5; uint8_t u = (uint8_t)i, v = 200;"
    texts = []
    for at, program in enumerate(programs):
        ends = "".join(f" item__r({at}, {e}) = {name};" for e, name in enumerate([*DOUBLES, "d[3]"]))
        ends += "".join(f" item__s({at}, {e}) = {name};" for e, name in enumerate([*INTS, *BYTES]))
        texts.append(f"{{ {begin}\n {program}\n {ends} }}\n")
    return "".join(texts) + "return true;"


def values() -> tuple[Any, ...]:
    chance = np.random.default_rng(5)
    a = np.concatenate(
        [[0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, 1e300, 5e-324], chance.normal(size=56) * 100]
    )
    m = np.concatenate([[0, 1, -1, 2**62, -(2**63), 2**31, 255, 256], chance.integers(-(2**40), 2**40, 56)])
    return a, a[::-1].copy(), m, chance.permutation(m)


SIGNATURE = f"a(), b(), m(), n() -> r({PROGRAMS}, 4), s({PROGRAMS}, 5)"
ALL_TYPES = (np.float64, np.float64, np.int64, np.int64, np.float64, np.int64)


def outcome(results: Any) -> list[bytes]:
    """Returns all bits, except those of NaNs."""
    r, s = results
    return [np.where(np.isnan(r), 0.0, r).tobytes(), np.isnan(r).tobytes(), s.tobytes()]


@pytest.mark.row("G08")
@settings(
    max_examples=EXAMPLES, phases=[Phase.reuse, Phase.generate], suppress_health_check=list(HealthCheck)
)
@given(st.lists(block(2), min_size=PROGRAMS, max_size=PROGRAMS))
def test_both_tiers_agree(programs: list[str]) -> None:
    compiler()
    f = wrap_signature(SIGNATURE, {ALL_TYPES: text_of(programs)})
    first = outcome(f(*values()))
    assert f.wait(), "the cc tier"
    assert f.tier == "cc"
    assert outcome(f(*values())) == first
    figure("differential programs", len(programs))


# ---- fastmath=True may round differently, but keeps NaN and infinity -------------------------------------


REALS = {np.float32: ("f", "FLT_MAX"), np.float64: ("", "DBL_MAX"), np.longdouble: ("l", "LDBL_MAX")}
TESTS = {
    "isnan(x)": np.isnan,
    "x != x": np.isnan,
    "!(x == x)": np.isnan,
    "!(x < 1) && !(x >= 1)": np.isnan,
    "isunordered(x, 1)": np.isnan,
    "isnan(x * 2 + 1)": np.isnan,
    "isnan(x - x)": lambda x: ~np.isfinite(x),
    "fpclassify(x) == FP_NAN": np.isnan,
    "isinf(x) != 0": np.isinf,
    "x == INFINITY || x == -INFINITY": np.isinf,
    "x > MAX || x < -MAX": np.isinf,
    "fabs(x) == HUGE_VAL": np.isinf,
    "fpclassify(x) == FP_INFINITE": np.isinf,
    "isinf(1 / x) != 0": lambda x: x == 0,
    "isfinite(x)": np.isfinite,
    "isfinite(x) && x < 1e30": lambda x: np.isfinite(x) & (x < 1e30),
    "!isfinite(sqrt(x))": lambda x: ~np.isfinite(np.sqrt(x)),
    "isnan(fmax(x, 1)) || fmax(x, 1) < 1": lambda x: np.zeros_like(x, bool),
    "fmin(x, 1) == 1": lambda x: np.isnan(x) | (x >= 1),
}


@pytest.mark.row("G15")
@pytest.mark.parametrize("dtype", REALS)
def test_nan_and_infinity_can_be_told(dtype: Any) -> None:
    suffix, most = REALS[dtype]
    names = [f"t{i}" for i in range(len(TESTS))]
    texts = [test.replace("MAX", most) for test in TESTS]
    for function in ("fabs", "sqrt", "fmax", "fmin"):
        texts = [text.replace(function + "(", function + suffix + "(") for text in texts]
    code = "const ctype__x x = item__x();" + "".join(
        f"item__{name}() = {text};" for name, text in zip(names, texts, strict=True)
    )
    f = wrap_signature(
        "x() -> " + ", ".join(f"{name}()" for name in names),
        {(dtype, *[np.bool_] * len(names)): code + "return true;"},
        fastmath=True,
        optimize="eager",
    )
    assert f.tier == "cc"
    edges = np.array([np.nan, np.inf, -np.inf, 0.0, 1.0, -1.0, 1e20, 0.5], dtype)
    x = np.tile(edges, 37)
    with np.errstate(all="ignore"):
        for test, result in zip(TESTS, f(x), strict=True):
            assert np.array_equal(result, TESTS[test](x)), test


@pytest.mark.quick
@pytest.mark.row("G15")
def test_functions_of_libm_still_give_nan_and_infinity() -> None:
    """libm's functions for vectors do so, too."""
    names = ("exp", "log", "sin", "sqrt", "pow", "atan")
    code = "".join(f"item__{name}_() = {name}({'x, -2' if name == 'pow' else 'x'});" for name in names)
    f = wrap_signature(
        "x() -> " + ", ".join(f"{name}_()" for name in names),
        "const double x = item__x();" + code + "return true;",
        fastmath=True,
        optimize="eager",
    )
    x = np.tile([np.nan, np.inf, -np.inf, 0.0, -1.0, 1000.0, 2.0, 1e-3], 37)
    with np.errstate(all="ignore"):
        for name, result in zip(names, f(x), strict=True):
            wanted = x**-2.0 if name == "pow" else getattr(np, {"atan": "arctan"}.get(name, name))(x)
            assert np.array_equal(np.isnan(result), np.isnan(wanted)), name
            assert np.array_equal(np.isinf(result), np.isinf(wanted)), name
            assert np.allclose(result, wanted, rtol=1e-12, equal_nan=True), name


# ---- slices with stack memory, longjmp, or computed labels -----------------------------------------------


TWICE_SUM = "for (int i = 0; i < dims_slice__x[0]; i++) s += 2 * item__x(i); *t = item__y() = s; return true;"
TAKE = "double s = 0, *t = %s; " + TWICE_SUM
SLICES = 5_000  # times 4 KB is more than the stack

CASES = {
    "alloca": ("#include <alloca.h>", TAKE % "alloca(4096)"),
    "the macro of a file": ('#include "hidden.h"', TAKE % "HIDDEN(4096)"),
    "a function": (
        "static inline __attribute__((always_inline)) double twice(double x)\n"
        "{ double *t = __builtin_alloca(4096); t[1] = x; return 2 * t[1]; }",
        "double s = 0; for (int i = 0; i < dims_slice__x[0]; i++) s += twice(item__x(i)); item__y() = s;"
        "return true;",
    ),
    "a variable array": ("", "double s = 0, t[512 * dims_slice__x[0]]; " + TWICE_SUM),
    "a variable array, left early": (
        "",
        "double s = 0, t[512 * dims_slice__x[0]]; " + TWICE_SUM.replace("ret", "if (s > 3) return true; ret"),
    ),
    "setjmp": (
        "#include <setjmp.h>\nstatic void back(jmp_buf to, int n) { longjmp(to, n); }",
        "jmp_buf here; volatile double s = 0; volatile int i = 0; setjmp(here);"
        "if (i < dims_slice__x[0]) { s += 2 * item__x(i); i++; back(here, 1); } item__y() = s; return true;",
    ),
    "a computed goto": (
        "",
        "const void *to[] = {&&more, &&end}; double s = 0; int i = 0; more: s += 2 * item__x(i); i++;"
        "goto *to[i == dims_slice__x[0]]; end: item__y() = s; return true;",
    ),
    "static labels": (
        "",
        "static const void *const to[] = {&&more, &&end}; double s = 0; int i = 0; more: s += 2 * item__x(i);"
        "i++; goto *to[i == dims_slice__x[0]]; end: item__y() = s; return true;",
    ),
    "local labels": (
        "",
        "__label__ end; double s = 0; int i = 0; for (;;) { if (i == dims_slice__x[0]) goto end;"
        "s += 2 * item__x(i++); } end: item__y() = s; return true;",
    ),
}


@pytest.fixture
def hidden(tmp_path: pathlib.Path) -> list[str]:
    (tmp_path / "hidden.h").write_text("#include <alloca.h>\n#define HIDDEN(n) alloca(n)\n")
    return [str(tmp_path)]


@pytest.mark.row("G14")
@pytest.mark.parametrize("case", CASES)
def test_both_tiers_are_right(case: str, hidden: list[str]) -> None:
    header, code = CASES[case]
    x = np.random.default_rng(5).integers(0, 9, (SLICES, 3)).astype(np.float64)
    for optimize, tier in (("off", "tcc"), ("eager", "cc")):
        f = wrap_signature("x(n) -> y()", code, header=header, include_dirs=hidden, optimize=optimize)
        assert f.tier == tier
        assert np.array_equal(f(x), 2 * x.sum(1)), optimize


@pytest.mark.soak("builds a module with -O3")
@pytest.mark.row("G14")
def test_written_modules_keep_such_slices_apart(hidden: list[str], built: pathlib.Path) -> None:
    header, code = CASES["the macro of a file"]
    m = cwrapjit.module("apart", "", header=header, include_dirs=hidden)
    m.function("f", "", signature="x(n) -> y()", Ccode_slice_eval={np.float64: code})
    text: Any = io.StringIO()
    m.write(text)
    loaded = build_extension(built, "apart", text.getvalue(), f"-I{hidden[0]}", "-O3")
    x = np.ones((SLICES, 3))
    try:
        assert np.array_equal(loaded.f(x), 2 * x.sum(1))
    finally:
        sys.modules.pop("apart", None)
