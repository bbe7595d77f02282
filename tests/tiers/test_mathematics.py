"""Tests inlined functions of <math.h>: libm's values, the same bits in both tiers, vectorised."""

from __future__ import annotations

import ctypes
import io
import itertools
import math
import pathlib
import re
import subprocess
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from helpers import build_extension, compiler

import cwrapjit

ROOT = pathlib.Path(__file__).resolve().parents[2]
F4, F8 = np.float32, np.float64
BORDERS = [0.0, 5e-324, 1e-310, 2.2250738585072014e-308, 2.0**-100, 0.3, 0.49999999999999994, 0.5, 1.0, 1.5]
BORDERS += [2.5, 3.0, 7.0, 2.0**100, 4503599627370495.5, 4503599627370497.0, 1e16, 1e154, 1.7e308, math.inf]
SPECIAL = np.array([*BORDERS, *(-x for x in BORDERS), math.nan])
WHOLE = list(range(-8, 9))


@pytest.fixture(autouse=True)
def needs_a_compiler() -> None:
    compiler()


_made: dict[str, Any] = {}  # keys: all arguments


def in_tier(tier: str, expression: str, dtype: Any, count: int, output: Any = None, **options: Any) -> Any:
    """Returns the function of x, y, ... in one tier."""
    key = repr((tier, expression, dtype, count, output, options))
    if key in _made:
        return _made[key]
    names = "xyz"[:count]
    types = tuple(np.dtype(dtype).type for _ in names)
    ctype = {"f": "float", "d": "double"}[np.dtype(dtype).char]
    values = " ".join(f"{ctype} {name} = item__{name}();" for name in names)
    f = _made[key] = cwrapjit.function(
        "f",
        signature=", ".join(f"{name}()" for name in names) + " -> output()",
        Ccode_slice_eval={
            (*types, np.dtype(output or dtype).type): f"{values} item__output() = {expression}; return true;"
        },
        optimize=tier,
        **options,
    )
    return f


def in_both_tiers(expression: str, dtype: Any, *arrays: Any, **options: Any) -> Any:
    """Returns the values of a C expression of x, y, ..., after comparing the bits of both tiers."""
    results = []
    for tier in ("off", "eager"):
        f = in_tier(tier, expression, dtype, len(arrays), **options)
        given = [np.asarray(array, dtype) for array in arrays]
        f(*given)
        assert tier == "off" or f.wait(), f.tier_error
        results.append(f(*given))
    nan = np.isnan(results[0]) if results[0].dtype.kind == "f" else np.zeros(results[0].shape, bool)
    np.testing.assert_array_equal(np.isnan(results[1]) if nan.any() else nan, nan)
    unsigned = f"u{results[0].itemsize}"
    off, eager = (each.view(unsigned)[~nan] for each in results)
    np.testing.assert_array_equal(off, eager)
    return results[1]


def spread(dtype: Any, size: int = 1000, seed: int = 1) -> Any:
    """Returns special values, then numbers of all magnitudes."""
    rng = np.random.default_rng(seed)
    largest = np.finfo(dtype).maxexp
    with np.errstate(over="ignore"):
        far = np.ldexp(rng.normal(size=size), rng.integers(-largest, largest, size))
        near = rng.normal(size=size) * 3
        return np.concatenate([SPECIAL, far, near]).astype(dtype)


def of_libm(name: str, dtype: Any, *arrays: Any) -> Any:
    """Returns the results of the C library's function, called by ctypes."""
    ctype, suffix = (ctypes.c_double, "") if np.dtype(dtype) == F8 else (ctypes.c_float, "f")
    function = getattr(ctypes.CDLL("libm.so.6"), name + suffix)
    function.restype, function.argtypes = ctype, [ctype] * len(arrays)
    rows = zip(*(np.asarray(array, dtype).tolist() for array in arrays), strict=True)
    return np.array([function(*row) for row in rows], dtype)


def equal(got: Any, wanted: Any) -> None:
    """Signs of zeros must be equal; the bits of NaNs need not."""
    np.testing.assert_array_equal(got, wanted)
    told = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(got)[told], np.signbit(wanted)[told])


# ---- exact functions ------------------------------------------------------------------------------


@pytest.mark.row("K19")
@pytest.mark.parametrize("dtype", [F4, F8])
@pytest.mark.parametrize("name", ["round", "trunc", "rint", "nearbyint", "floor", "ceil", "fabs", "sqrt"])
def test_functions_of_one_number_are_libms(name: str, dtype: Any) -> None:
    x = spread(dtype)
    call = f"{name}f(x)" if dtype == F4 else f"{name}(x)"
    equal(in_both_tiers(call, dtype, x), of_libm(name, dtype, x))


@pytest.mark.row("K19")
@pytest.mark.parametrize("dtype", [F4, F8])
@pytest.mark.parametrize("name", ["fmin", "fmax", "fdim", "copysign"])
def test_functions_of_two_numbers_are_libms(name: str, dtype: Any) -> None:
    with np.errstate(over="ignore"):
        special = SPECIAL.astype(dtype)
    pairs = np.array(list(itertools.product(special, special)), dtype)
    rng = np.random.default_rng(2)
    x, y = np.concatenate([pairs, rng.normal(size=(500, 2)).astype(dtype)]).T
    call = f"{name}f(x, y)" if dtype == F4 else f"{name}(x, y)"
    equal(in_both_tiers(call, dtype, x, y), of_libm(name, dtype, x, y))


@pytest.mark.row("K19")
@pytest.mark.parametrize("name", ["lround", "llround", "lrint", "llrint"])
@pytest.mark.parametrize("dtype", [F4, F8])
def test_functions_to_whole_numbers(name: str, dtype: Any) -> None:
    x = spread(dtype)
    x = x[np.abs(x) < 2.0**62]
    call = f"{name}f(x)" if dtype == F4 else f"{name}(x)"
    rounded = of_libm("round" if "round" in name else "rint", dtype, x)
    np.testing.assert_array_equal(in_both_tiers(call, dtype, x, output=np.int64), rounded.astype(np.int64))


@pytest.mark.row("K19")
def test_questions_about_numbers() -> None:
    x = spread(F8)
    for name in ("isnan", "isinf", "isfinite", "signbit"):
        got = in_both_tiers(f"{name}(x) != 0", F8, x, output=np.bool_)
        np.testing.assert_array_equal(got, getattr(np, name)(x))


HIDDEN = """#include <fenv.h>
static const int modes[] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
static inline void direct(int which) { fesetround(modes[which]); }
"""


@pytest.mark.row("K19")
@pytest.mark.parametrize("dtype", [F4, F8])
@pytest.mark.parametrize("name", ["round", "trunc", "floor", "ceil", "lround", "llround"])
def test_directions_of_rounding_do_not_matter(name: str, dtype: Any, tmp_path: pathlib.Path) -> None:
    (tmp_path / "hidden.h").write_text(HIDDEN)
    header = HIDDEN if (dtype == F4) == (name in ("round", "ceil", "lround")) else '#include "hidden.h"'
    x = spread(dtype, 300)
    whole = name.startswith("l")
    x = x[np.abs(x) < 2.0**62] if whole else x
    wanted = of_libm(name.lstrip("l"), dtype, x)
    call = f"({{ direct((int)y); x = {name}{'f' if dtype == F4 else ''}(x); direct(0); x; }})"
    for mode in range(4):
        got = in_both_tiers(call, dtype, x, np.full(x.shape, mode), header=header, include_dirs=[tmp_path])
        equal(got, wanted + 0 if whole else wanted)


@pytest.mark.row("K19")
@pytest.mark.parametrize("name", ["round", "trunc", "floor", "ceil"])
def test_exceptions_of_numbers_are_the_same_in_both_tiers(name: str) -> None:
    call = f"""({{ feclearexcept(FE_ALL_EXCEPT);
                   volatile double z = {name}(x);
                   z = fetestexcept(FE_ALL_EXCEPT); }})"""
    in_both_tiers(call, F8, SPECIAL, header="#include <fenv.h>")


# ---- powers -----------------------------------------------------------------------------------------


def units_off(got: float, exact: Fraction) -> float:
    """Returns the error in units in the last place of the exact value."""
    unit = Fraction(math.ulp(float(exact)))
    return float(abs(Fraction(got) - exact) / unit)


@pytest.mark.row("K19")
@pytest.mark.parametrize("n", [-8, -5, -3, -2, -1, 2, 3, 4, 5, 7, 8])
def test_whole_powers_are_rounded_once(n: int) -> None:
    """The error is at most half a unit in the last place; libm's may be 0.52 units."""
    edge = 1020 // abs(n)
    rng = np.random.default_rng(n + 100)
    near = rng.normal(size=60)
    far = np.ldexp(rng.uniform(1, 2, 60), rng.integers(-edge, edge, 60))
    x = np.concatenate([near, far, -far])
    x = x[np.abs(x) > 2.0**-edge]
    got = in_both_tiers(f"pow(x, {n})", F8, x)
    errors = [
        units_off(value, Fraction(base) ** n) for base, value in zip(x.tolist(), got.tolist(), strict=True)
    ]
    assert max(errors) < 0.5000001


@pytest.mark.row("K19")
@pytest.mark.parametrize("n", [-8, -3, -2, -1, 0, 1, 2, 3, 5, 8, 0.5, 2.5, -0.5, 9])
@pytest.mark.parametrize("dtype", [F4, F8])
def test_powers_at_the_borders_are_libms(n: float, dtype: Any) -> None:
    x = spread(dtype, 200)
    suffix = "f" if dtype == F4 else ""
    got = in_both_tiers(f"pow{suffix}(x, {n})", dtype, x)
    wanted = of_libm("pow", dtype, x, np.full(x.shape, n, dtype))
    with np.errstate(over="ignore", invalid="ignore"):
        near = np.isclose(got, wanted, rtol=2 * np.finfo(dtype).eps, atol=np.finfo(dtype).smallest_subnormal)
    np.testing.assert_array_equal(near | (np.isnan(got) & np.isnan(wanted)), True)
    zeros = wanted == 0
    np.testing.assert_array_equal(np.signbit(got)[zeros], np.signbit(wanted)[zeros])


@pytest.mark.row("K19")
def test_half_powers_are_roots() -> None:
    x = np.abs(spread(F8))
    equal(in_both_tiers("pow(x, .5)", F8, x), np.sqrt(x))
    got = in_both_tiers("pow(x, 0.5)", F8, [-0.0, -math.inf, -1.0])
    assert got[0] == 0 and not np.signbit(got[0]) and got[1] == math.inf and np.isnan(got[2])


@pytest.mark.row("K19")
def test_an_exponent_that_varies_gives_the_same_numbers() -> None:
    x = spread(F8, 300)
    for n in (*WHOLE[::3], 2, 0, 0.5, 2.2):
        constant = in_both_tiers(f"pow(x, {n})", F8, x)
        equal(in_both_tiers("pow(x, y)", F8, x, np.full(x.shape, n)), constant)


# ---- fma ----------------------------------------------------------------------------------------------


@pytest.mark.row("K19")
@pytest.mark.parametrize("dtype", [F4, F8])
def test_fma_rounds_once_and_nothing_else_does(dtype: Any) -> None:
    """A text that calls fma() may use fused instructions, but its other products must be rounded."""
    rng = np.random.default_rng(5)
    x, y, z = rng.normal(size=(3, 2000)).astype(dtype)
    suffix = "f" if dtype == F4 else ""
    got = in_both_tiers(f"fma{suffix}(x, y, z)", dtype, x, y, z)
    exact = (
        Fraction(a) * Fraction(b) + Fraction(c)
        for a, b, c in zip(*map(np.ndarray.tolist, (x, y, z)), strict=True)
    )
    if dtype == F8:
        assert got.tolist() == [float(value) for value in exact]
    both = in_both_tiers(f"fma{suffix}(x, y, z) + (x * y + z)", dtype, x, y, z)
    np.testing.assert_array_equal(both, got + (x * y + z))


COMPLEX = """
typedef struct { double re, im; } pair;
static inline pair product(pair a, pair b)
{ return (pair){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
"""


@pytest.mark.row("K19")
def test_fma_beside_complex_products() -> None:
    """gcc fuses such products on its own where it can (tinyjit/optimize/fused_x86_64.c)."""
    rng = np.random.default_rng(6)
    x, y = rng.normal(size=(2, 500, 16))
    text = """
        for (int i = 0; i < 8; i++) {
            pair a = {item__x(2 * i), item__x(2 * i + 1)}, b = {item__y(2 * i), item__y(2 * i + 1)};
            pair p = product(a, b);
            item__output(2 * i) = p.re;
            item__output(2 * i + 1) = p.im;
        }
        item__output(0) += fma(item__x(0), item__y(1), item__x(2));
        return true;"""
    make = {"signature": "x(16), y(16) -> output(16)", "Ccode_slice_eval": {F8: text}, "header": COMPLEX}
    plain, fused = (cwrapjit.function("f", optimize=tier, **make) for tier in ("off", "eager"))
    assert fused.wait(), fused.tier_error
    np.testing.assert_array_equal(plain(x, y), fused(x, y))


# ---- other ways to call them --------------------------------------------------------------------------


@pytest.mark.row("K19")
@pytest.mark.parametrize(
    ("header", "expression"),
    [
        ("#include <tgmath.h>", "pow(x, 3) + fmin(x, 1) + fmax(x, y) + fdim(x, y) + round(x)"),
        ("#include <math.h>\n#include <numpy/npy_math.h>", "npy_pow(x, 3) + npy_pow(y, 2)"),
        ("", "__builtin_pow(x, 3) + __builtin_fmin(x, y) + __builtin_fmax(x, y) + __builtin_fdim(x, y)"),
        (
            "static double (*const which[])(double, double) = {pow, fmin, fmax, fdim};",
            "which[0](x, 3) + which[1](x, y)",
        ),
        ("#define cube(x) pow(x, 3)", "cube(x)"),
        ("#undef pow\n#undef fmin", "pow(x, 3) + fmin(x, y)"),
    ],
)
def test_however_they_are_called(header: str, expression: str) -> None:
    """Large numbers are left out: a sum of infinities with two signs is NaN in any case."""
    rng = np.random.default_rng(8)
    x, y = rng.normal(size=(2, 5000)) * 4
    in_both_tiers(expression, F8, x, y, header=header)


@pytest.mark.row("K19")
def test_a_library_with_functions_of_its_own(tmp_path: pathlib.Path) -> None:
    (tmp_path / "own.c").write_text("double pow(double x, double y) { return 42 + 0 * x * y; }")
    library = tmp_path / "libown.so"
    subprocess.run(
        [compiler(), "-shared", "-fPIC", "-fno-builtin", "-o", library, tmp_path / "own.c"], check=True
    )
    x = np.array([1.5, 2.5])
    for call in ("pow(x, 3)", "pow(x, 2.2)", "pow(x, y)", "__builtin_pow(x, 2)"):
        assert in_both_tiers(call, F8, x, x, libraries=[library]).tolist() == [42, 42]
    powers = in_both_tiers("powf(x, 3)", F4, x, libraries=[library])
    equal(powers, of_libm("pow", F4, x, [3, 3]))
    for libraries, number in (([library], 0), (["m"], 1)):  # a written module calls libm, too
        source = io.StringIO()
        cwrapjit.module("m", libraries=libraries).write(source)
        assert source.getvalue().count("#define pow ") == number


@pytest.mark.row("K19")
def test_libm_among_the_libraries_changes_nothing() -> None:
    text = "({ errno = 0; volatile double z = pow(x, 2); z = errno; })"  # pow() does not set errno
    assert in_both_tiers(text, F8, [1e300], header="#include <errno.h>", libraries=["m"]) == 0


@pytest.mark.row("K19")
def test_messages_have_the_usual_names() -> None:
    def define(text: str) -> Any:
        return cwrapjit.function("f", signature="x() -> y()", Ccode_slice_eval={F8: text})

    with pytest.raises(cwrapjit.CompileError, match="got 'pow'") as caught:
        define("item__y() = 2 pow(item__x(), 2); return true;")
    assert caught.value.offset == 15
    with pytest.raises(cwrapjit.CompileError, match="is a ';' missing at the end of line 1"):
        define("double z = 1\npow(z, 2); return true;")
    found = define("int floor; item__y() = 2; return true;").diagnose()
    assert not any("cwj_" in warning.msg for warning in found)


@pytest.mark.row("K19")
def test_tgmath_with_fastmath() -> None:
    f = cwrapjit.function(
        "f",
        signature="x() -> y()",
        Ccode_slice_eval={F8: "item__y() = pow(item__x(), 3) + fmin(item__x(), 1); return true;"},
        header="#include <tgmath.h>",
        fastmath=True,
        optimize="eager",
    )
    x = np.linspace(-2, 2, 101)
    f(x)
    assert f.wait(), f.tier_error
    np.testing.assert_allclose(f(x), x**3 + np.fmin(x, 1), rtol=1e-14, atol=1e-15)


@pytest.mark.row("K19", "U09")
def test_a_written_module_has_the_same_numbers(tmp_path: pathlib.Path) -> None:
    text = """item__output() = pow(item__x(), 3) + pow(item__x(), -2) + pow(item__x(), item__y())
                    + fmin(item__x(), item__y()) + round(item__x()); return true;"""
    m = cwrapjit.module("powers")
    f = m.function("f", signature="x(), y() -> output()", Ccode_slice_eval={F8: text})
    source = io.StringIO()
    m.write(source)
    built = build_extension(tmp_path, "powers", source.getvalue(), "-ffp-contract=off", "-fno-builtin-pow")
    rng = np.random.default_rng(9)
    x, y = np.abs(rng.normal(size=2000)) * 3, rng.integers(-9, 9, 2000) / 2
    np.testing.assert_array_equal(built.f(x, y), f(x, y))


@pytest.mark.quick
@pytest.mark.row("K19", "U09")
def test_a_written_module_that_sees_exceptions() -> None:
    """The module's floor() is libm's, as in memory, and raises no exceptions."""
    m = cwrapjit.module("exceptions", "", "#include <fenv.h>")
    m.function(
        "f",
        signature="x() -> output()",
        Ccode_slice_eval={F8: "item__output() = floor(item__x()); return true;"},
    )
    source = io.StringIO()
    m.write(source)
    assert source.getvalue().index("#define CWJ_SEES_EXCEPTIONS") < source.getvalue().index(
        "#define CWJ_INLINE"
    )


# ---- vectors ------------------------------------------------------------------------------------------


VECTORS = "pow(x, 2);pow(x, 3);pow(x, -4);pow(x, .5);fmin(fmax(x, .2), .8);fdim(x, .5);copysign(2, x)".split(
    ";"
)
VECTORS += [f"{name}(x)" for name in "round trunc floor ceil rint nearbyint sqrt fabs isnan".split()]
FMA = ["fma(x, 2.5, x)", "fma(x, y, x * y + x)"]


@pytest.mark.row("K19")
@pytest.mark.parametrize("expressions", [VECTORS, FMA], ids=["all", "fma"])
def test_they_are_vectorised(expressions: list[str], tmp_path: pathlib.Path) -> None:
    """gcc reports vectorised loops by their line: loops of this text, with the cc tier's flags."""
    cc = compiler()
    said = subprocess.run([cc, "--version"], capture_output=True, text=True, check=True).stdout
    if "Free Software Foundation" not in said:
        pytest.skip("this compiler is not gcc, and says it in other words")
    flags = str(cwrapjit.show_config("dicts")["compiler flags"]).split()
    if expressions is not VECTORS:
        flags = [flag for flag in flags if flag != "-mno-fma"]  # a flag for x86-64
    head = "void loop{}(double *restrict o, const double *restrict a, const double *restrict b, long n)"
    body = "{{ for (long i = 0; i < n; i++) {{ const double x = a[i], y = b[i]; (void)y; o[i] = {}; }} }}"
    loops = [head.format(k) + body.format(text) for k, text in enumerate(expressions)]
    (tmp_path / "loops.c").write_text("\n".join(["#include <math.h>", '#include "mathematics.h"', *loops]))
    command = [
        cc,
        *flags,
        "-fno-math-errno",
        "-fopt-info-vec-optimized",
        "-I",
        ROOT / "tinyjit",
        "-c",
        "loops.c",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    missing = [
        text for k, text in enumerate(expressions, 3)
        if not re.search(rf"loops.c:{k}:\d+: .*loop vectorized", done.stderr)
    ]  # fmt: skip
    assert not missing, done.stderr


@pytest.mark.parametrize("optimize", ["off", "eager"])
@pytest.mark.parametrize("name", ["pow", "round"])
def test_a_macro_of_the_users_takes_the_place_of_a_function(name, optimize):
    def define(header):
        code = {np.float64: f"item__y() = {name}(item__x(), 2); return true;"}
        function = cwrapjit.function(
            "f", signature="x() -> y()", header=header, Ccode_slice_eval=code, optimize=optimize
        )
        assert function(5.0) == 12

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no warning, as if <math.h> had no such macro
        define(f"#define {name}(a, b) ((a) + (b) + 5)")
    if optimize == "off":
        with pytest.warns(cwrapjit.CompileWarning, match="MINE redefined"):
            define(f"#define MINE 1\n#define MINE 2\n#define {name}(a, b) ((a) + (b) + 5)")


# ---- the largest and the smallest -------------------------------------------------------------------------


def rows(n: int, dtype: Any) -> Any:
    """Returns rows with zeros of both signs and infinities; every other row has a NaN."""
    rng = np.random.default_rng(n)
    x = rng.choice([-math.inf, -2.5, -0.0, 0.0, 1.0, 7.0, math.inf], size=(40, n)).astype(dtype)
    x[1::2, :][np.arange(20), rng.integers(0, n, 20)] = math.nan
    x[0], x[2] = -0.0, -math.inf
    return x


def extremes_of_rows(dtype: Any, tier: str, fastmath: bool) -> Any:
    code = """
        item__high() = npy_amax(i, dims_slice__x[0], item__x(i));
        item__low() = npy_amin(k, dims_slice__x[0], item__x(k) - 0);
        return true;"""
    return cwrapjit.function(
        "f",
        signature="x(n) -> high(), low()",
        Ccode_slice_eval={dtype: code},
        optimize=tier,
        fastmath=fastmath,
    )


@pytest.mark.row("K19")
@pytest.mark.parametrize("fastmath", [False, True])
@pytest.mark.parametrize("dtype", [F4, F8])
def test_the_largest_of_a_row_minds_what_is_no_number(dtype: Any, fastmath: bool) -> None:
    made = {tier: extremes_of_rows(dtype, tier, fastmath) for tier in ("off", "eager")}
    for n in (1, 2, 31, 32, 33, 64, 200):
        for x in (rows(n, dtype), np.asfortranarray(rows(n, dtype))):
            for high, low in (made["off"](x), made["eager"](x)):
                np.testing.assert_array_equal(high, x.max(axis=1))
                np.testing.assert_array_equal(low, x.min(axis=1))
            for one, other in zip(made["off"](x), made["eager"](x), strict=True):
                told = ~np.isnan(one) & (not fastmath)
                np.testing.assert_array_equal(np.signbit(one)[told], np.signbit(other)[told], "zeros")
    for f in made.values():
        assert [float(each[0]) for each in f(np.zeros((1, 0), dtype))] == [0, 0], "of nothing"


@pytest.mark.plain("loops without sanitizers' calls")
@pytest.mark.row("K19")
@pytest.mark.parametrize("fastmath", [False, True])
@pytest.mark.parametrize("dtype", [F4, F8])
def test_the_largest_of_a_row_is_found_by_vectors(dtype: Any, fastmath: bool) -> None:
    loops = extremes_of_rows(dtype, "eager", fastmath).explain().loops
    # gcc reports the bytes of a vector, clang its lanes.
    assert max(each["bytes"] or (each["lanes"] or 0) * np.dtype(dtype).itemsize for each in loops) >= 16


@pytest.mark.row("K19")
@pytest.mark.parametrize("fastmath", [False, True])
@pytest.mark.parametrize("sign", ["maximum", "minimum"])
def test_the_larger_of_two_minds_what_is_no_number(sign: str, fastmath: bool) -> None:
    x = spread(F8, 200)
    y = x[::-1].copy()
    wanted = getattr(np, sign)(x, y)
    equal(in_both_tiers(f"npy_{sign}(x, y)", F8, x, y, fastmath=fastmath), wanted)
    equal(in_both_tiers(f"npy_{sign}(npy_{sign}(x, 1), y)", F8, x, y), getattr(np, sign)(wanted, 1))
    inf = "-" if sign == "maximum" else ""
    reduced = cwrapjit.ReductionKernel(
        "T x", "T y", "x", f"npy_{sign}(a, b)", "y = a", f"{inf}INFINITY", fastmath=fastmath
    )
    assert np.isnan(reduced(x)) and reduced(np.arange(1.0, 900)) == getattr(np, sign).reduce(
        np.arange(1.0, 900)
    )
    whole = cwrapjit.vectorize(f"T f(T x, T y) {{ return npy_{sign}(x, y); }}")
    assert whole(np.int8(-3), np.int8(2)) == getattr(np, sign)(-3, 2)


@pytest.mark.soak("a second for each of eight kernels")
@pytest.mark.plain("loops without sanitizers' calls")
@pytest.mark.row("K19")
@pytest.mark.parametrize("fastmath", [False, True])
@pytest.mark.parametrize("reduce", ["npy_maximum", "npy_minimum", "fmax", "fmin"])
def test_extremes_of_rows_are_vectors_in_all_steps(reduce: str, fastmath: bool) -> None:
    """The lanes of all leaves are vectors, and so are all joins but the last. No loop calls libm."""
    made = [
        cwrapjit.ReductionKernel(
            "T x", "T y", "x", f"{reduce}(a, b)", "y = a", None, fastmath=fastmath, optimize=tier
        )
        for tier in ("off", "eager")
    ]
    for n in (100, 128, 1000, 16384 + 130):
        x = rows(n, F8)
        with np.errstate(invalid="ignore"):
            wanted = getattr(np, {"npy_maximum": "max", "npy_minimum": "min"}.get(reduce, f"nan{reduce[1:]}"))
            for kernel in made:
                np.testing.assert_array_equal(kernel(x, axis=1), wanted(x, axis=1))
    found = made[1].functions[0].explain()
    assert [each["calls"] for each in found.functions] == [[]] * len(found.functions)
    if any(each["lanes"] for each in found.loops):
        pytest.skip("clang says nothing of what it unrolls before it makes vectors")
    wide = [each["text"] for each in found.loops if each["vectorized"]]
    for lanes, least in (("(16)", 2), ("8", 1), ("4", 1), ("2", 1)):
        assert sum(f"cwr_t < {lanes} * cwr_m" in text for text in wide) >= least, (lanes, wide)
