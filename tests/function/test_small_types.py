"""Tests that both tiers agree with NumPy about float16 and bool, and the alignment of locals."""

from __future__ import annotations

import functools
import pathlib
from typing import Any

import numpy as np
import pytest
from helpers import compiler, refuses, wrap_signature

import cwrapjit
import cwrapjit.graph as cg

F2, F4, F8 = np.float16, np.float32, np.float64
HALVES = np.arange(65536, dtype=np.uint16).view(F2)
FROM = {F4: "half_to_float", F8: "half_to_double"}


@pytest.fixture(autouse=True)
def needs_a_compiler() -> None:
    compiler()


@functools.cache
def tiers() -> list[Any]:
    """Returns functions in both tiers that convert float16 to other types, and these to float16."""
    texts = {(F2, to): f"item__y() = {name}(item__x()); return true;" for to, name in FROM.items()}
    texts |= {(given, F2): "item__y() = float_to_half(item__x()); return true;" for given in FROM}
    made = [wrap_signature("x() -> y()", texts, optimize=tier) for tier in ("off", "eager")]
    assert [f.tier for f in made] == ["tcc", "cc"], made[1].tier_error
    return made


def widened(array: Any, dtype: Any) -> Any:
    """Converts halves, after comparing the bits of both tiers."""
    first, hot = (np.asarray(f(array, out=np.empty(np.shape(array), dtype))) for f in tiers())
    unsigned = f"u{first.itemsize}"
    np.testing.assert_array_equal(first.view(unsigned), hot.view(unsigned))
    return hot


def narrowed(array: Any) -> Any:
    first, hot = (np.atleast_1d(f(array)) for f in tiers())
    np.testing.assert_array_equal(first.view("u2"), hot.view("u2"))
    return hot


def bits(halves: Any) -> Any:
    """Returns the bits, with NaNs made quiet: arm64 does that in the instructions that NumPy uses."""
    return halves.view("u2") | np.where(np.isnan(halves), np.uint16(0x200), np.uint16(0))


def numpys(array: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.atleast_1d(array).astype(F2)


# ---- conversions ------------------------------------------------------------------------------------


@pytest.mark.row("K11", "A05i")
@pytest.mark.parametrize("dtype", [F4, F8])
def test_all_halves_are_numpys(dtype: Any) -> None:
    with np.errstate(invalid="ignore"):
        wanted = HALVES.astype(dtype)
    got = widened(HALVES, dtype)
    told = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.isnan(got), ~told)
    np.testing.assert_array_equal(got[told].view(f"u{got.itemsize}"), wanted[told].view(f"u{got.itemsize}"))
    back = narrowed(wanted)
    np.testing.assert_array_equal(bits(back), bits(HALVES))  # including NaNs


@pytest.mark.row("K11")
@pytest.mark.parametrize("dtype", [F4, F8])
def test_what_lies_between_two_halves_goes_to_the_nearest(dtype: Any) -> None:
    finite = np.sort(HALVES[np.isfinite(HALVES)]).astype(F8)
    middle = (finite[1:] + finite[:-1]) / 2  # the midpoints, exact in float32, too
    assert np.array_equal(middle, middle.astype(F4))
    middle = np.concatenate([middle, [65520.0, -65520.0, 2.0**-25, -(2.0**-25)]]).astype(dtype)
    for numbers in (middle, np.nextafter(middle, dtype(np.inf)), np.nextafter(middle, dtype(-np.inf))):
        np.testing.assert_array_equal(narrowed(numbers).view("u2"), numpys(numbers).view("u2"))


@pytest.mark.row("K11")
def test_floats_of_all_bits_are_numpys() -> None:
    with np.errstate(invalid="ignore"):
        numbers = np.random.default_rng(3).integers(0, 2**32, 200_000, dtype=np.uint32).view(F4)
        tiny = np.arange(0x33000000 - 50, 0x33000000 + 50, dtype=np.uint32).view(F4)
        least = np.arange(0x38800000 - 9000, 0x38800000 + 9000, dtype=np.uint32).view(F4)
        most = np.arange(0x47800000 - 9000, 0x47800000 + 9000, dtype=np.uint32).view(F4)
    numbers = np.concatenate([numbers, tiny, least, most])
    np.testing.assert_array_equal(bits(narrowed(numbers)), bits(numpys(numbers)))


@pytest.mark.row("K11")
def test_a_double_is_rounded_once() -> None:
    value = 1 + 2**-11 + 2**-40  # float32 rounds it to a tie, which rounds to 1
    assert numpys(value) > 1 and narrowed(value) > 1 and narrowed(F4(value)) == 1
    code = {(F8, F2): "item__y() = float_to_half(item__x() + 0x1p-40); return true;"}
    assert wrap_signature("x() -> y()", code)(1 + 2**-11) > 1


# ---- in functions ----------------------------------------------------------------------------------------


def one(statement: str, signature: str = "x() -> y()", **options: Any) -> Any:
    return wrap_signature(signature, {F2: statement + " return true;"}, **options)


@pytest.mark.row("K11")
@pytest.mark.parametrize("optimize", ["off", "eager"])
def test_computing_and_copying(optimize: str) -> None:
    twice = one("item__y() = float_to_half(half_to_float(item__x()) * 2);", optimize=optimize)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(twice(HALVES), HALVES * F2(2))
    assert type(twice(F2(3))) is F2 and twice(1.5) == 3 and twice(HALVES[::-3]).strides == (2,)
    same = one("ctype__y h = item__x(); h.bits ^= 0x8000; item__y() = h;", optimize=optimize)
    np.testing.assert_array_equal(same(HALVES).view("u2"), (-HALVES).view("u2"))
    code = "float sum = 0; for (npy_intp i = 0; i < dims_slice__x[0]; i++) sum += half_to_float(item__x(i));"
    total = one(code + "item__y() = float_to_half(sum);", "x(n) -> y()", optimize=optimize)
    x, given = np.random.default_rng(1).normal(size=(50, 100)).astype(F2), np.ones(4, F2)
    np.testing.assert_allclose(total(x), x.astype(F4).sum(-1), rtol=2e-3)
    changed = one(
        "item__y() = item__x(); item__x() = float_to_half(0);", "inout x() -> y()", optimize=optimize
    )
    assert changed(given).tolist() == [1] * 4 and given.tolist() == [0] * 4


@pytest.mark.row("K11")
def test_float16_needs_a_header_there() -> None:
    half = "static cwj_half half_of(cwj_half h) { return float_to_half(half_to_float(h) / 2); }"
    code = "item__y() = half_of(item__x());"
    refuses(cwrapjit.CompileError, lambda: one(code, header=half), "<numpy/halffloat.h>")
    f = one(code, header="#include <numpy/halffloat.h>\n" + half)
    assert f(3.0) == 1.5 and f.wait() and f(3.0) == 1.5
    own = "static npy_half float_to_half(float x) { return (npy_half)(42 * x); }"
    f = one("item__y() = item__x(); item__y().bits = float_to_half(1);", header=own)
    assert f(0.0).view(np.uint16) == 42
    refuses(cwrapjit.CompileError, lambda: one("_Float16 h = 1;"), "libtcc", "cwj_half")


@pytest.mark.row("K11")
@pytest.mark.parametrize(
    "statement",
    [
        "item__y() = item__x() + item__x();",
        "item__y() = item__x() * 2;",
        "item__y() = -item__x();",
        "item__y() = 1.5;",
        "item__y() = 1;",
        "item__y() += 1;",
        "item__y()++;",
        "float f = item__x(); item__y() = float_to_half(f);",
        "float f; f = item__x(); item__y() = float_to_half(f);",
        "float f = (float)item__x(); item__y() = float_to_half(f);",
        "double f = 2 * (double)item__x(); item__y() = float_to_half(f);",
        "int i = item__x(); item__y() = float_to_half(i);",
        "float f = sinf(item__x()); item__y() = float_to_half(f);",
        "if (item__x() > 0) return false;",
        "if (item__x()) return false;",
        "item__y() = half_to_float(item__x());",
        "item__y() = float_to_half(item__x());",
        "item__y() = double_to_half(item__x());",
        "float f = half_to_float(1.5f); item__y() = float_to_half(f);",
    ],
)
def test_arithmetic_on_bits_is_refused_with_the_way_to_go(statement: str) -> None:
    refuses(cwrapjit.CompileError, lambda: one(statement), "half_to_float", "float_to_half")


@pytest.mark.row("K11")
def test_strange_strides_and_numbers() -> None:
    for f in tiers():
        assert f(np.broadcast_to(F2(2.5), (3, 0, 2)), out=np.empty((3, 0, 2), F4)).shape == (3, 0, 2)
        assert f(np.broadcast_to(F2(2.5), (2, 3)), out=np.empty((2, 3), F4)).tolist() == [[2.5] * 3] * 2
        odd = np.zeros(4, dtype=[("c", "i1"), ("h", F2)])["h"]
        refuses(ValueError, lambda f=f, odd=odd: f(odd, out=np.empty(4, F4)), "aligned")
        refuses(TypeError, lambda f=f: f(np.int8([1])), "float16")


@pytest.mark.quick
@pytest.mark.row("K11", "K16")
def test_vectorize_of_float16() -> None:
    text = "#include <numpy/halffloat.h>\nT f(T x) { return float_to_half(2 * half_to_float(x)); }"
    assert cwrapjit.vectorize(text, T="f2")(F2(1.5)) == 3 and cwrapjit.vectorize(text)(F2([1.5])) == [3]
    plain = cwrapjit.vectorize("T f(T x) { return 2 * x; }")
    refuses(cwrapjit.CompileError, lambda: plain(F2([1.5])), "half_to_float")


# ---- bools: stores convert, any byte in memory reads as true or false ----


TIERS = ["off", "eager"]
N = 5000


def bytes_of(array: Any) -> Any:
    return np.asarray(array).view(np.uint8)


def odd_bools(n: int = N) -> np.ndarray[Any, Any]:
    """Returns a bool array whose true elements are any bytes except 0."""
    rng = np.random.default_rng(3)
    raw = rng.integers(0, 256, n).astype(np.uint8)
    raw[rng.random(n) < 0.4] = 0
    return raw.view(np.bool_)


@pytest.mark.row("G15")
@pytest.mark.parametrize("optimize", TIERS)
@pytest.mark.parametrize(
    ("dtype", "code", "wanted"),
    [
        (np.float64, "item__x()", lambda x: x != 0),
        (np.float64, "item__x() * 0.5", lambda x: x * 0.5 != 0),
        (np.int64, "item__x() & 6", lambda x: x & 6 != 0),
        (np.int64, "item__x() * 256", lambda x: x != 0),
        (np.uint8, "item__x()", lambda x: x != 0),
    ],
)
def test_stores_into_bools_follow_bool(optimize: str, dtype: Any, code: str, wanted: Any) -> None:
    f = wrap_signature(
        "x() -> y()", {(dtype, np.bool_): f"item__y() = {code}; return true;"}, optimize=optimize
    )
    x = np.random.default_rng(1).integers(0, 9, N).astype(dtype)
    if dtype is np.float64:
        x[:6] = [0.5, -0.0, 1e-300, np.nan, np.inf, 0.25]
    out = np.ones(N, np.bool_)
    assert (f.tier == "tcc") == (optimize == "off")
    assert np.array_equal(bytes_of(f(x)), wanted(x).astype(np.uint8))
    f(x, out=out)
    assert np.array_equal(bytes_of(out), wanted(x).astype(np.uint8))


@pytest.mark.row("G15")
@pytest.mark.parametrize("optimize", TIERS)
def test_locals_of_a_bools_type_are_bools(optimize: str) -> None:
    code = "ctype__y half = 0.5; item__y() = half == 1 && half == true && sizeof(half) == 1; return true;"
    assert wrap_signature("x() -> y()", {(float, bool): code}, optimize=optimize)(np.zeros(3)).all()


@pytest.mark.row("G15")
@pytest.mark.parametrize("optimize", TIERS)
def test_any_byte_but_0_reads_as_true(optimize: str) -> None:
    odd = odd_bools()
    truth = bytes_of(odd) != 0
    code = "item__y() = item__x() + (item__x() == true) + 8 * (item__x() ^ 1) + 4 * !!item__x(); return true;"
    f = wrap_signature("x() -> y()", {(np.bool_, np.int64): code}, optimize=optimize)
    assert np.array_equal(f(odd), np.where(truth, 6, 8))
    assert np.array_equal(f(odd[::-3]), np.where(truth, 6, 8)[::-3])
    both = wrap_signature(
        "a(), b() -> y()", {np.bool_: "item__y() = item__a() & item__b(); return true;"}, optimize=optimize
    )
    assert np.array_equal(bytes_of(both(odd, odd[::-1])), truth & truth[::-1])
    code = "item__y() = 0; for (int i = 0; i < dims_slice__x[0]; i++) item__y() += item__x(i); return true;"
    count = wrap_signature("x(n) -> y()", {(np.bool_, np.int64): code}, optimize=optimize)
    assert np.array_equal(count(odd.reshape(-1, 50)), truth.reshape(-1, 50).sum(1))


@pytest.mark.quick
@pytest.mark.row("G15")
@pytest.mark.parametrize("optimize", TIERS)
@pytest.mark.parametrize("prefix", ["", "static int calls; calls++;"], ids=["in the loop", "a function"])
def test_bools_that_are_updated_in_place(optimize: str, prefix: str) -> None:
    """Any byte except 0 reads as true; stores leave 0 or 1."""
    code = (
        prefix
        + """
        item__y() = 0;
        for (int i = 0; i < dims_slice__x[0]; i++)
            for (int j = 0; j < dims_slice__x[1]; j++) {
                item__y() += item__x(i, j);
                if (j != 1)
                    item__x(i, j) ^= 1;
            }
        return true;"""
    )
    f = wrap_signature("inout x(n, m) -> y()", {(np.bool_, np.int64): code}, optimize=optimize)
    x = odd_bools().reshape(-1, 10, 10)
    truth = bytes_of(x) != 0
    wanted = ~truth
    wanted[..., 1] = truth[..., 1]
    assert np.array_equal(f(x), truth.sum((1, 2)))
    assert np.array_equal(bytes_of(x), wanted)


@pytest.mark.row("G15")
@pytest.mark.parametrize(
    ("change", "of_false", "of_true"),
    [
        ("item__x()++", 1, 1),
        ("item__x()--", 1, 0),
        ("item__x() += 2", 1, 1),
        ("item__x() -= 1", 1, 0),
        ("item__x() *= 0.5", 0, 1),
        ("item__x() |= 8", 1, 1),
        ("item__x() &= 6", 0, 0),
        ("item__x() /= 2", 0, 0),
        ("item__x() <<= 8", 0, 1),
        ("item__x() = (char)256", 0, 0),
        ("item__x() = 256", 1, 1),
        ("item__x() = -0.0", 0, 0),
    ],
)
def test_assignments_to_bools(change: str, of_false: int, of_true: int) -> None:
    x = odd_bools()
    wanted = np.where(bytes_of(x) != 0, of_true, of_false)
    for optimize in TIERS:
        f = wrap_signature("inout x() ->", {np.bool_: f"{change}; return true;"}, optimize=optimize)
        changed = x.copy()
        f(changed)
        assert np.array_equal(bytes_of(changed), wanted), optimize


@pytest.mark.row("G15")
@pytest.mark.parametrize("optimize", TIERS)
def test_bools_in_graphs(optimize: str) -> None:
    odd = odd_bools()
    truth = bytes_of(odd) != 0
    x = cg.ndarray(np.bool_, 1)("x")
    add = cg.elementwise("a, b", "a + b", dtype="int64")
    assert np.array_equal(cwrapjit.link([x], add(x, x), optimize=optimize)(odd), 2 * truth)
    both = cg.elementwise("a, b", "a & b", dtype="bool")
    assert np.array_equal(bytes_of(cwrapjit.link([x], both(x, x), optimize=optimize)(odd)), truth)

    class Half(cg.COp):
        def make_node(self, a: Any) -> Any:
            return cg.Apply(self, [a], [cg.Scalar("bool")()])

        def c_code(self, node: Any, name: str, inputs: Any, outputs: Any, sub: Any) -> str:
            return f"{outputs[0]} = {inputs[0]} * 0.5;"

    number = cg.Scalar("float64")("number")
    half = cwrapjit.link([number], Half()(number), optimize=optimize)
    assert [half(value) for value in (1.0, 0.0, 2.0)] == [True, False, True]


@pytest.mark.quick
@pytest.mark.row("G15")
def test_bools_of_libraries(tmp_path: pathlib.Path) -> None:
    """C's bool is 0 or 1. Arrays that C writes to are made so first; const ones are rejected instead."""
    source = tmp_path / "bools.c"
    source.write_text("""
        #include <stdbool.h>
        int count(int n, const bool *x) { int c = 0; for (int i = 0; i < n; i++) c += x[i]; return c; }
        int flip(int n, bool *x) { int c = count(n, x); for (int i = 0; i < n; i++) x[i] = !x[i]; return c; }
        int every(int n, bool *x, int s) { int c = 0; for (int i = 0; i < n; i++) c += x[i * s]; return c; }
    """)
    lib = cwrapjit.library("bools", sources=[source])
    lib.function("int count(int n, const bool x[n])")
    lib.function("int flip(int n, bool x[n])", inout="x")
    lib.function("int every(int n, bool x[n], int s)", inout="x", strides={"s": "x"})
    x = odd_bools()
    truth = bytes_of(x) != 0
    refuses(ValueError, lambda: lib.count(x), "argument x", "0 and 1", "x != 0")
    assert lib.count(x != 0) == truth.sum()
    assert lib.every(x[::2]) == truth[::2].sum()
    assert np.array_equal(bytes_of(x[::2]), truth[::2])
    assert lib.flip(x) == truth.sum()
    assert np.array_equal(bytes_of(x), ~truth)


# ---- the alignment of locals: libtcc gives 16 bytes ----


ADDRESS = "item__y() = (size_t)&v % {} == 0; return true;"


@pytest.mark.quick
@pytest.mark.row("G15")
@pytest.mark.parametrize(
    "local",
    [
        "_Alignas(64) double v = 1;",
        "double v[8] __attribute__((aligned(32)));",
        "__attribute__((unused, __aligned__(64))) double v;",
        "struct { _Alignas(64) double x; } v;",
        "\n#define LINE _Alignas(64)\nLINE double v;",
    ],
)
def test_locals_that_ask_for_more_are_refused(local: str, tmp_path: pathlib.Path) -> None:
    header = f"static double h(void) {{ {local}\nreturn sizeof(v); }}"
    code, source = "item__y() = h(); return true;", tmp_path / "mine.c"
    source.write_text(header)
    for define in (
        lambda: wrap_signature("x() -> y()", local + ADDRESS.format(32)),
        lambda: wrap_signature("x() -> y()", code, header=header),
        lambda: cwrapjit.module("m", "", sources=[source]),
    ):
        refuses(cwrapjit.CompileError, define, "locals are aligned to 16 bytes")


@pytest.mark.row("G15")
@pytest.mark.parametrize("optimize", ["off", "eager"])
@pytest.mark.parametrize(
    ("header", "local", "bytes_"),
    [
        ("", "_Alignas(16) double v = 1;", 16),
        ("", "char c = 0; _Alignas(8) char v = c;", 8),
        ("", "static const _Alignas(64) double v = 1;", 64),
        ("", "char c = 0; static const double v __attribute__((aligned(64))) = 1; (void)c;", 64),
        ("static const char c = 1; static const _Alignas(64) double v = 1;", "(void)c;", 64),
        ("struct s { _Alignas(64) double x; }; static const struct s v = {1};", "", 64),
    ],
)
def test_alignment_that_holds(header: str, local: str, bytes_: int, optimize: str) -> None:
    f = wrap_signature("x() -> y()", local + ADDRESS.format(bytes_), header=header, optimize=optimize)
    assert f(0.0) == 1
