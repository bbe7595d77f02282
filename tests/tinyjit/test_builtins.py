"""The builtins that gcc's users type: the same in both tiers, and what Python and NumPy say."""

from __future__ import annotations

import itertools
import math
import pathlib

import numpy as np
import pytest
from helpers import refuses

import cwrapjit
import cwrapjit.graph as cg

WHOLE = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


def value(expression: str, **options: object) -> object:
    """What `expression` is in both tiers, as a float64."""
    f = cwrapjit.function(
        "f", "", (), (), (), {np.float64: f"item__output() = {expression}; return true;"}, **options
    )
    first = f()
    assert f.wait(), f.tier_error
    assert np.array_equal(first, f(), equal_nan=True), expression
    return first


LONG_DOUBLES = {
    "pow": 9.0, "hypot": math.hypot(3, 2), "atan2": math.atan2(3, 2), "fmod": 1.0, "remainder": -1.0,
    "copysign": 3.0, "fdim": 1.0, "fmax": 3.0, "fmin": 2.0,
}  # fmt: skip


@pytest.mark.row("G24")
@pytest.mark.parametrize("prefix", ["", "__builtin_"])
def test_functions_of_two_long_doubles_take_variables_of_other_types(prefix: str) -> None:
    """libtcc converts a second double wrongly while it holds a long double."""
    body = "double a = 3, b = 2; float fa = 3, fb = 2;\n"
    for i, name in enumerate(LONG_DOUBLES):
        body += (
            f"item__output({i}, 0) = {prefix}{name}l(a, b); item__output({i}, 1) = {prefix}{name}l(fa, b);\n"
        )
        body += f"item__output({i}, 2) = {prefix}{name}l({prefix}fmaxl(a, fb), {prefix}fminl(b, fa));\n"
    f = cwrapjit.function("f", "", (), (), ((len(LONG_DOUBLES), 3)), {np.float64: body + "return true;"})
    wanted = np.array(list(LONG_DOUBLES.values()))[:, None]
    np.testing.assert_allclose(f(), np.broadcast_to(wanted, (len(LONG_DOUBLES), 3)), rtol=1e-15)
    fma = "double a = 3, b = 2; float c = 1; item__output() = fmal(a, b, c); return true;"
    assert cwrapjit.function("f", "", (), (), (), {np.float64: fma})() == 7


EXPRESSIONS = {
    "__builtin_bswap16(0x0102)": 513,
    "__builtin_bswap32(0x01020304)": 67305985,
    "__builtin_bswap64(0x0102030405060708) == 0x0807060504030201": 1,
    "__builtin_clz(1u) + __builtin_clzl(1ul) + __builtin_clzll(1ull)": 157,
    "__builtin_ctz(8u) + __builtin_ctzll(1ull << 40)": 43,
    "__builtin_popcount(0xffu) + __builtin_popcountll(-1ull)": 72,
    "__builtin_parity(7u) + __builtin_ffs(8) + __builtin_clrsb(0)": 36,
    "__builtin_expect(5, 0) + __builtin_expect_with_probability(6, 0, 0.5)": 11,
    "({ double q[2] = {1, 2}; double *p = __builtin_assume_aligned(q, 8); p[1]; })": 2,
    "({ double q = 3; __builtin_prefetch(&q); __builtin_prefetch(&q, 1, 3); q; })": 3,
    "__builtin_choose_expr(1, 4, 5) + __builtin_constant_p(1)": 5,
    "__builtin_types_compatible_p(int, long)": 0,
    "__builtin_fabs(-2.0) + __builtin_sqrtf(4) + __builtin_floor(-1.5)": 2,
    "__builtin_fmax(1.0, 2.0) + __builtin_copysign(3.0, -1.0) + __builtin_fma(2, 3, 4.0)": 9,
    "__builtin_abs(-3) + __builtin_labs(-4) + __builtin_lround(2.5)": 10,
    "__builtin_isnan(NAN) + 2 * __builtin_isnan(1.0f) + 4 * (__builtin_isinf(-INFINITY) != 0)": 5,
    "__builtin_isinf_sign(-__builtin_inf()) + 8 * __builtin_isfinite(1.0)": 7,
    "__builtin_isnormal(1e-310) + 2 * __builtin_isnormal(1.0f) + 4 * __builtin_isnormal(1e-39f)": 2,
    "__builtin_fpclassify(1, 2, 3, 4, 5, 0.0)": 5,
    "(__builtin_signbit(-0.0) != 0) + 2 * (__builtin_signbitf(1) != 0)": 1,
    "__builtin_isless(1.0, 2.0) + 2 * __builtin_isunordered(NAN, 1.0)": 3,
    "__builtin_huge_val()": math.inf,
    '__builtin_nan("")': math.nan,
    '__builtin_strlen("abc") + __builtin_strspn("aab", "a")': 5,
    "({ char a[4]; __builtin_memset(a, 7, 4); a[2]; })": 7,
    '({ char a[9]; __builtin_snprintf(a, 9, "%d", 42); strlen(a); })': 2,
    "({ if (item__output(0) == 12345) __builtin_trap(); __builtin_LINE() > 0; })": 1,
}


@pytest.mark.quick
@pytest.mark.row("G24")
@pytest.mark.compiler("compares the tiers")
def test_builtins_give_the_same_in_both_tiers() -> None:
    body = "".join(f"item__output({i}) = {each};\n" for i, each in enumerate(EXPRESSIONS))
    f = cwrapjit.function("f", "", (), (), (len(EXPRESSIONS),), {np.float64: body + "return true;"})
    for tier in ("tcc", "cc"):
        assert f.tier == tier
        wrong = {
            each: got
            for (each, wanted), got in zip(EXPRESSIONS.items(), f(), strict=True)
            if not np.array_equal(got, wanted, equal_nan=True)
        }
        assert not wrong, tier
        assert f.wait(), f.tier_error


@pytest.mark.row("G24", "G08")
@pytest.mark.parametrize(
    "call", ["sin(x)", "exp(x)", "pow(x, 2.0)", "pow(x, 0.5)", "cbrt(x)", "fmod(x, 0.7)"]
)
@pytest.mark.compiler("compares the tiers")
def test_builtins_of_libm_keep_their_bits(call: str) -> None:
    """gcc makes x*x of __builtin_pow(x, 2.0), whatever it is told of pow()."""
    code = f"double x = item__a(); item__output() = __builtin_{call}; return true;"
    f = cwrapjit.function("f", "", ("a",), ((),), (), {np.float64: code})
    plain = cwrapjit.function("f", "", ("a",), ((),), (), {np.float64: code.replace("__builtin_", "")})
    x = np.random.default_rng(1).uniform(0.1, 50, 50_000)
    first = f(x)
    assert f.wait(), f.tier_error
    assert np.array_equal(first, f(x)) and np.array_equal(first, plain(x))


# Where types end, and what lies around it.
INTERESTING = {
    0, 1, 2, 3, 7, -1, -2, 127, -128, 255, 2**15, 2**16 - 1, 2**31 - 1, -(2**31), 2**32 - 1, 2**32,
    3037000500, 2**33 + 5, 2**62, 2**63 - 1, -(2**63), 2**63, 2**64 - 1,
}  # fmt: skip


def fitting(name: str) -> np.ndarray:
    limits = np.iinfo(name)
    return np.array(sorted(x for x in INTERESTING if limits.min <= x <= limits.max), dtype=name)


EDGES = {name: fitting(name) for name in WHOLE}

OPERATIONS = {"add": int.__add__, "sub": int.__sub__, "mul": int.__mul__}


def overflowing(a: str, b: str, result: str) -> object:
    """a(), b() -> three results and three flags, of add, sub and mul."""
    body = "".join(
        f"item__output{i + 3}() = __builtin_{name}_overflow(item__a(), item__b(), &item__output{i}());\n"
        for i, name in enumerate(OPERATIONS)
    )
    types = (a, b) + (result,) * 3 + ("int8",) * 3
    return cwrapjit.function(
        "f", "", ("a", "b"), ((), ()), ((),) * 6, {tuple(map(np.dtype, types)): body + "return true;"}
    )


def exact(a: str, b: str, result: str) -> list[np.ndarray]:
    """The same by Python's integers."""
    bits, least = np.iinfo(result).bits, int(np.iinfo(result).min)
    wrapped, flags = [], []
    for operation in OPERATIONS.values():
        true = [[operation(int(x), int(y)) for y in EDGES[b]] for x in EDGES[a]]
        wrapped.append(np.array([[(v - least) % 2**bits + least for v in row] for row in true], dtype=result))
        flags.append(
            np.array([[not least <= v <= np.iinfo(result).max for v in row] for row in true], "int8")
        )
    return wrapped + flags


@pytest.mark.row("G24")
@pytest.mark.parametrize("result", WHOLE)
def test_overflow_builtins_are_exact_for_all_types(result: str) -> None:
    """Operands and result of any three types, as if computed without limit and then cut."""
    for a, b in itertools.product(WHOLE, WHOLE):
        got = overflowing(a, b, result)(EDGES[a][:, None], EDGES[b])
        for one, wanted in zip(got, exact(a, b, result), strict=True):
            assert np.array_equal(one, wanted), (a, b, result)


@pytest.mark.row("G24")
@pytest.mark.parametrize(("a", "b", "result"), [("int64", "uint64", "int64"), ("int8", "int32", "uint16")])
@pytest.mark.compiler("compares the tiers")
def test_overflow_builtins_are_the_same_when_hot(a: str, b: str, result: str) -> None:
    f = overflowing(a, b, result)
    assert f.wait(), f.tier_error
    for one, wanted in zip(f(EDGES[a][:, None], EDGES[b]), exact(a, b, result), strict=True):
        assert np.array_equal(one, wanted)


@pytest.mark.row("G24")
@pytest.mark.compiler("compares the tiers")
def test_typed_and_asking_overflow_builtins() -> None:
    assert value("({ int r; __builtin_sadd_overflow(2147483647, 1, &r) * 10 + (r < 0); })") == 11
    assert value("({ unsigned long r; __builtin_umull_overflow(1ul << 63, 2, &r); })") == 1
    assert value("__builtin_add_overflow_p(100, 100, (signed char)0)") == 1
    assert value("__builtin_mul_overflow_p(10, 10, (signed char)0)") == 0
    assert value("({ int r[1], n = 0; __builtin_add_overflow(n++, 2, r); 10 * n + r[0]; })") == 12


@pytest.mark.quick
@pytest.mark.row("G24")
@pytest.mark.compiler("compares the tiers")
def test_builtins_in_headers_sources_graphs_and_libraries(tmp_path: pathlib.Path) -> None:
    (tmp_path / "swap.h").write_text("static unsigned swap(unsigned x) { return __builtin_bswap32(x); }\n")
    body = "item__output() = swap(item__a()); return true;"
    f = cwrapjit.function(
        "f", "", ("a",), ((),), (), {np.uint32: body}, header='#include "swap.h"', include_dirs=[tmp_path]
    )
    source = tmp_path / "flip.c"
    source.write_text(
        "double flip(double x) { return __builtin_isnan(x) ? -1 : __builtin_copysign(x, -1.0); }\n"
        "int grow(int a, int b, int *sum) { return __builtin_add_overflow(a, b, sum); }\n"
    )
    lib = cwrapjit.library("flips", sources=[source])
    lib.function("double flip(double x)")
    lib.function("int grow(int a, int b, int *sum)", out="sum")
    x = np.array([1, 2**31, 0x01020304], "uint32")
    assert np.array_equal(f(x), x.byteswap())
    assert (lib.flip(2.0), lib.flip(math.nan)) == (-2, -1)
    assert (lib.grow(1, 2), lib.grow(2**31 - 1, 1)) == ((0, 3), (1, -(2**31)))

    class Swap(cg.COp):
        def make_node(self, x: object) -> object:
            return cg.Apply(self, [x], [cg.uint32()])

        def c_code(self, node: object, name: str, inputs: list[str], outputs: list[str], sub: object) -> str:
            return f"{outputs[0]} = __builtin_bswap32({inputs[0]});"

    v = cg.uint32("v")
    g = cwrapjit.link([v], Swap()(v))
    assert g(1) == 2**24
    assert g.wait() and g(1) == 2**24


@pytest.mark.quick
@pytest.mark.row("G24")
def test_an_unknown_builtin_is_refused_by_its_name() -> None:
    code = "item__output() = __builtin_nonsense(1.0); return true;"
    refuses(
        cwrapjit.CompileError,
        lambda: cwrapjit.function("f", "", (), (), (), {np.float64: code}),
        "__builtin_nonsense",
    )
