"""Both tiers give the same bits: what libtcc compiled against what the optimizing compiler made of it.

Outside the promise, as in docs/speed.md: shifts by a negative or too large number, conversions of a value
that the integer type cannot hold, and the bits inside a NaN.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from helpers import compiler, wrap, wrap_signature

EDGES = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -1.5,
    2.5,
    3.0,
    1e-3,
    1e3,
    123456.789,
    -7.25,
    1 / 3,
    0.1,
    1e16,
    1e300,
    -1e300,
]
EDGES += [
    -1e300,
    np.inf,
    -np.inf,
    np.nan,
    5e-324,
    -5e-324,
    2.2250738585072014e-308,
    1e-310,
    1.7976931348623157e308,
]
EDGES += [
    0.9999999999999999,
    1.0000000000000002,
    4503599627370497.5,
    2147483647.0,
    2147483648.5,
    9.007199254740993e15,
]


@pytest.fixture(autouse=True)
def needs_a_compiler() -> None:
    compiler()


def numbers(dtype: Any, size: int, seed: int) -> np.ndarray[Any, Any]:
    """Edge values of the type, then random ones of very different magnitude."""
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
    """Every edge value meets every edge value."""
    a, b = numbers(dtype, size, seed), numbers(other, size, seed + 1)
    n = 36
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


# ---- expressions, by the dozen -----------------------------------------------------------------

HEADER = "#include <math.h>\n#include <stdint.h>\n"
C_TYPE = {
    "float64": "double",
    "float32": "float",
    "int64": "int64_t",
    "int32": "int32_t",
    "int16": "int16_t",
    "int8": "int8_t",
    "uint64": "uint64_t",
    "uint32": "uint32_t",
    "uint16": "uint16_t",
    "uint8": "uint8_t",
}
EXACT = ["sqrt", "fabs", "floor", "ceil", "trunc", "rint", "nearbyint", "round"]
ROUNDED = [
    "exp",
    "log",
    "sin",
    "cos",
    "tan",
    "atan",
    "tanh",
    "cbrt",
    "log1p",
    "expm1",
    "exp2",
    "log10",
    "asinh",
    "erf",
]
TWO = ["pow", "atan2", "hypot", "fmod", "fmin", "fmax", "copysign", "fdim", "remainder", "nextafter"]
LIMITS = {"int64_t": 9e18, "int32_t": 2e9, "int16_t": 3e4, "int8_t": 120, "uint64_t": 1.8e19, "uint32_t": 4e9,
          "uint16_t": 6e4, "uint8_t": 250}  # fmt: skip


class Grammar:
    """Random C expressions in x (of one type) and y (of another) without undefined behaviour."""

    def __init__(self, seed: int, x: str, y: str) -> None:
        self.random = random.Random(seed)
        self.floats = [name for name, c in (("x", x), ("y", y)) if c.startswith("float")]
        self.integers = [name for name, c in (("x", x), ("y", y)) if not c.startswith("float")]

    def pick(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def number(self, depth: int) -> str:
        """A floating-point expression."""
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
        if shape == "divide":  # neither by 0 nor INT_MIN / -1
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
    """A function of two inputs with `count` outputs, each a random expression; both tiers of it."""
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
@pytest.mark.parametrize("seed", range(20))
def test_random_expressions(seed: int) -> None:
    x, y = TYPES[seed % len(TYPES)], TYPES[(seed * 3 + seed // len(TYPES)) % len(TYPES)]
    x = "float64" if seed >= len(TYPES) else x
    fast, slow, texts = batch(seed, x, y, 12)
    a, b = pairs(x, y, 3000, seed)
    assert_same_bits(fast, slow, a, b, texts=texts)
    assert_same_bits(fast, slow, a[::-3], b[::-3], texts=texts)
    assert_same_bits(fast, slow, a, b[7], texts=texts)


# ---- what optimizers are known to change -------------------------------------------------------

KNOWN = {
    "to an integer and back": """double x = item__a() > -1e9 && item__a() < 1e9 ? item__a() : 0;
        item__output() = (double)(int)x;""",
    "pow by a small integer": "item__output() = pow(item__a(), 2.0) + pow(item__b(), 3.0);",
    "pow by a half": "item__output() = pow(item__a(), 0.5) * pow(item__b(), -1.0);",
    "multiply and add": "item__output() = item__a() * item__b() + item__a();",
    "multiply and subtract": "item__output() = item__a() * item__b() - item__b() * item__a();",
    "division by a constant": "item__output() = item__a() / 3.0 + item__b() / 10.0;",
    "one over a square root": "item__output() = 1.0 / sqrt(item__a()) + 1.0f / sqrtf((float)item__b());",
    "addition of zero": "item__output() = item__a() + 0.0 - (item__b() - 0.0);",
    "multiplication by zero": "item__output() = item__a() * 0.0 + 0.0 * item__b();",
    "reassociation": "item__output() = (item__a() + item__b()) - item__a();",
    "float and double": "float f = item__a() * item__b(); item__output() = f * item__a() + (float)item__b();",
    "sin and cos together": "item__output() = sin(item__a()) + cos(item__a()) * item__b();",
    "constants": "item__output() = item__a() * sin(0.7) + exp(1.3) + log(3.0) * item__b() + pow(1.1, 3.7);",
    "comparisons": "item__output() = (item__a() < item__b()) + 2 * !(item__a() >= item__b());",
    "minimum by hand": "item__output() = item__a() < item__b() ? item__a() : item__b();",
    "absolute by hand": "item__output() = item__a() < 0 ? -item__a() : item__a();",
    "classification": """item__output() = isnan(item__a()) + 2 * isinf(item__b()) + 4 * !!signbit(item__a())
        + 8 * isfinite(item__b());""",
    "sums in order": """double s = 0;
        for (int i = 0; i < 50; i++) s += item__a() * i - item__b() / (i + 1);
        item__output() = s;""",
    "long double": "long double l = item__a(); item__output() = (double)(l * item__b() + l);",
    "frexp and ldexp": "int e; double m = frexp(item__a(), &e); item__output() = ldexp(m, e) + item__b();",
    "modf": "double w; double p = modf(item__a(), &w); item__output() = p + w * item__b();",
}


@pytest.mark.row("G08")
@pytest.mark.parametrize("what", KNOWN)
def test_what_optimizers_like_to_change(what: str) -> None:
    body = {np.float64: KNOWN[what] + " return true;", np.float32: KNOWN[what] + " return true;"}
    fast, slow = both(wrap, ((), ()), (), body, header=HEADER)
    for dtype in (np.float64, np.float32):
        a, b = pairs(dtype, dtype, 20_000, 7)
        assert_same_bits(fast, slow, a, b, texts=[f"{what}, {np.dtype(dtype)}"])


COMPLEX = {
    "product": """
        item__output().real = item__a().real * item__b().real - item__a().imag * item__b().imag;
        item__output().imag = item__a().real * item__b().imag + item__a().imag * item__b().real;""",
    "multiply and add": """
        double r = item__a().real, i = item__a().imag;
        for (int k = 0; k < 5; k++) {
            double next = r * r - i * i + item__b().real;
            i = 2 * r * i + item__b().imag;
            r = next;
        }
        item__output().real = r;
        item__output().imag = i;""",
    "conjugate product": """
        item__output().real = item__a().real * item__b().real + item__a().imag * item__b().imag;
        item__output().imag = item__a().real * item__b().imag - item__a().imag * item__b().real;""",
    "quotient": """
        double d = item__b().real * item__b().real + item__b().imag * item__b().imag;
        item__output().real = (item__a().real * item__b().real + item__a().imag * item__b().imag) / d;
        item__output().imag = (item__a().imag * item__b().real - item__a().real * item__b().imag) / d;""",
}


@pytest.mark.row("G08")
@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("what", COMPLEX)
def test_complex_arithmetic_on_the_members(what: str, dtype: Any) -> None:
    """Vectorisers know instructions that multiply and add complex numbers with one rounding."""
    fast, slow = both(wrap, ((), ()), (), {dtype: COMPLEX[what] + "return true;"})
    part = np.dtype(dtype).type(0).real.dtype
    size = 20_000
    a, b = np.empty(size, dtype), np.empty(size, dtype)
    a.real, a.imag = numbers(part, size, 1), numbers(part, size, 2)[::-1]
    b.real, b.imag = numbers(part, size, 3), numbers(part, size, 4)
    assert_same_bits(fast, slow, a, b)
    assert_same_bits(fast, slow, a[::2], b[1])


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
@pytest.mark.parametrize("name", ["uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_integers_wrap_around_the_same_way(name: str) -> None:
    c = C_TYPE[name]
    body = f"""
        {c} x = item__a(), y = item__b();
        item__plus() = x + y;
        item__minus() = x - y;
        item__times() = x * y;
        item__power() = x * x * x * y;
        item__negative() = -x;
        item__quotient() = y != 0 && !(y == ({c})-1) ? x / y : 0;
        item__rest() = y != 0 && !(y == ({c})-1) ? x % y : 0;
        item__blend() = x > y ? x - y : (x + y) / 2;
        item__sum() = (int32_t)x + (int32_t)y + 2147483647 > 0;
        return true;"""
    outputs = "plus minus times power negative quotient rest blend sum".split()
    signature = "a(), b() -> " + ", ".join(f"{output}()" for output in outputs)
    fast, slow = both(wrap_signature, signature, {np.dtype(name).type: body}, header=HEADER)
    assert_same_bits(fast, slow, *pairs(name, name, 10_000, 11), texts=outputs)


@pytest.mark.row("G08")
def test_every_conversion_between_number_types() -> None:
    names = list(C_TYPE)
    for source in names:
        whole = not source.startswith("float")
        body = f"{C_TYPE[source]} x = item__a();\n"
        for k, to in enumerate(names):
            limit = LIMITS.get(C_TYPE[to])
            fits = (
                "1"
                if whole or limit is None
                else f"x > {'-' if to[0] == 'i' else '0 * '}{limit} && x < {limit}"
            )
            body += f"item__o{k}() = ({fits}) ? ({C_TYPE[to]})x : 0;\n"
        signature = "a() -> " + ", ".join(f"o{k}()" for k in range(len(names)))
        fast, slow = both(wrap_signature, signature, {(source, *names): body + "return true;"}, header=HEADER)
        assert_same_bits(fast, slow, numbers(source, 5000, 5), texts=[f"{source} to {to}" for to in names])


@pytest.mark.row("G08")
def test_aliased_memory_is_read_as_written() -> None:
    """Type punning and pointers into the same slice: what strict aliasing would break."""
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
    """gcc loads two addresses into one vector, by an instruction with a constant at its end."""
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
