"""Tests complex numbers: arithmetic as in NumPy, libm's functions, and the same bits in both tiers."""

from __future__ import annotations

import ctypes
import functools
import itertools
import math
import pathlib
import re
from typing import Any

import numpy as np
import pytest
from helpers import compiler, refuses, wrap_signature
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import cwrapjit
import cwrapjit.graph as cg

C8, C16 = np.complex64, np.complex128
TYPES = pytest.mark.parametrize("dtype", [C8, C16])
EDGES = [0.0, 1.0, 2.5, 3e-40, 1e-310, 5e-324, 1e38, 1e154, 1e300, math.inf]
EDGES = [*EDGES, *(-x for x in EDGES), math.nan]
FUNCTIONS = "exp log sqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh".split()
NUMPY_NAMES = {f"a{name}": f"arc{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")}


@pytest.fixture(autouse=True)
def needs_a_compiler() -> None:
    compiler()


def part(dtype: Any) -> Any:
    return np.zeros(0, dtype).real.dtype.type


def numbers(dtype: Any, size: int = 500) -> Any:
    """Returns all pairs of edge cases, then numbers of all magnitudes."""
    rng = np.random.default_rng(5)
    with np.errstate(all="ignore"):
        edges = np.array([complex(*pair) for pair in itertools.product(EDGES, EDGES)]).astype(dtype)
        near = rng.normal(size=size) + 1j * rng.normal(size=size)
        scale = np.ldexp(1.0, rng.integers(-60, 60, size))
        return np.concatenate([edges, near.astype(dtype), (near * scale).astype(dtype)])


def pairs(dtype: Any) -> Any:
    x = numbers(dtype, 40)
    return [np.ascontiguousarray(each.ravel()) for each in np.meshgrid(x, x)]


def bits(array: Any) -> Any:
    """Views floats as unsigned integers; every NaN becomes 1."""
    array = np.atleast_1d(np.ascontiguousarray(array))
    if array.dtype.kind == "c":
        array = array.view(array.real.dtype)
    if array.dtype.kind != "f":
        return array
    return np.where(np.isnan(array), 1, array.view(f"u{array.itemsize}"))


def equal(got: Any, wanted: Any) -> None:
    assert got.dtype == wanted.dtype
    np.testing.assert_array_equal(bits(got), bits(wanted))


WIDER = {C8: C16, np.float32: np.float64}
NARROWER = {wide: narrow for narrow, wide in WIDER.items()}


def tiers(expression: str, dtype: Any, result: Any, count: int, header: str = "") -> list[Any]:
    """Returns the function of x, y, ... in both tiers, and precisions if the text is for any."""
    types = (*[dtype] * count, result)
    if re.search(r"CMPLX|[a-z]f\(", expression):
        return compiled(expression, (types,), header)
    narrow = tuple(NARROWER.get(each, each) for each in types)
    wide = tuple(WIDER.get(each, each) for each in types)
    return compiled(expression, (narrow, wide), header)


@functools.cache
def compiled(expression: str, type_sets: tuple[tuple[Any, ...], ...], header: str) -> list[Any]:
    compiler()
    names = "xyz"[: len(type_sets[0]) - 1]
    values = " ".join(f"const ctype__{name} {name} = item__{name}();" for name in names)
    code = dict.fromkeys(type_sets, f"{values} item__output() = {expression}; return true;")
    signature = ", ".join(f"{name}()" for name in names) + " -> output()"
    made = [wrap_signature(signature, code, header=header, optimize=tier) for tier in ("off", "eager")]
    assert [f.tier for f in made] == ["tcc", "cc"], made[1].tier_error
    return made


def in_both_tiers(expression: str, *arrays: Any, result: Any = None, header: str = "") -> Any:
    """Returns the values of a C expression of x, y, ..., after comparing the bits of both tiers."""
    dtype = arrays[0].dtype.type
    first, hot = (f(*arrays) for f in tiers(expression, dtype, result or dtype, len(arrays), header))
    equal(hot, first)
    return hot


# ---- arithmetic ---------------------------------------------------------------------------------


@pytest.mark.row("K11")
@TYPES
@pytest.mark.parametrize("name, ufunc", [("cadd", np.add), ("csub", np.subtract), ("cdiv", np.divide)])
def test_arithmetic_is_numpys(name: str, ufunc: Any, dtype: Any) -> None:
    x, y = pairs(dtype)
    with np.errstate(all="ignore"):
        equal(in_both_tiers(f"{name}(x, y)", x, y), ufunc(x, y))


def product(x: Any, y: Any) -> Any:
    """Returns the unfused product. NumPy's own fuses products and sums on some processors."""
    with np.errstate(all="ignore"):
        z = np.empty(np.broadcast(x, y).shape, x.dtype)
        z.real = x.real * y.real - x.imag * y.imag
        z.imag = x.real * y.imag + x.imag * y.real
        return z


@pytest.mark.row("K11")
@TYPES
def test_products_are_plain_ones(dtype: Any) -> None:
    x, y = pairs(dtype)
    got = in_both_tiers("cmul(x, y)", x, y)
    equal(got, product(x, y))
    tame = (np.abs(x) < 1e3) & (np.abs(y) < 1e3) & (np.abs(x) > 1e-3) & (np.abs(y) > 1e-3)
    unit = 4 * np.finfo(dtype).eps * np.abs(x[tame] * y[tame])
    assert np.all(np.abs(got[tame] - x[tame] * y[tame]) <= unit) and tame.sum() > 1000


@pytest.mark.row("K11")
@TYPES
def test_powers_are_numpys(dtype: Any) -> None:
    x = numbers(dtype, 40)
    exponents = [
        *(0, 1, 2, 3, 4, 7, 20, 99, 100, -1, -2, -3, -8),
        *(0.5, -0.5, 1j, 2 + 1j, -2 - 3j, 0.25 - 1j, 1e3),
    ]
    x, y = (np.ascontiguousarray(each.ravel()) for each in np.meshgrid(x, np.array(exponents, dtype)))
    got = in_both_tiers("cpow(x, y)", x, y)
    with np.errstate(all="ignore"):
        wanted = np.power(x, y)
    plain = (x != 0) | (y.imag == 0)  # 0 ** 1j differs between versions of NumPy
    equal(got[plain], wanted[plain])
    assert in_both_tiers("cpow(x, y)", np.array([2 + 1j], dtype), np.array([2], dtype)) == [3 + 4j]


PARTS = {
    **{"cneg(x)": np.negative, "conj(x)": np.conjugate, "creal(x)": np.real, "cimag(x)": np.imag},
    **{"x.real": np.real, "cisnan(x)": np.isnan, "cisinf(x)": np.isinf, "cisfinite(x)": np.isfinite},
}


@pytest.mark.row("K11")
@TYPES
@pytest.mark.parametrize("expression", PARTS)
def test_parts_and_signs_are_numpys(expression: str, dtype: Any) -> None:
    x = numbers(dtype)
    wanted = PARTS[expression](x)
    equal(in_both_tiers(expression, x, result=wanted.dtype.type), np.ascontiguousarray(wanted))


@pytest.mark.row("K11")
@TYPES
@pytest.mark.parametrize("name", ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"])
def test_comparisons_are_numpys(name: str, dtype: Any) -> None:
    short = {"equal": "eq", "not_equal": "ne"}.get(name, name[0] + ("e" if "_" in name else "t"))
    x, y = pairs(dtype)
    y[::3] = x[::3]
    with np.errstate(all="ignore"):
        equal(in_both_tiers(f"c{short}(x, y)", x, y, result=np.bool_), getattr(np, name)(x, y))


@pytest.mark.row("K11")
@TYPES
def test_numbers_are_made_of_two_parts(dtype: Any) -> None:
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(2, 100)).astype(part(dtype))
    y[:2] = -0.0, np.inf
    wanted = np.empty(100, dtype)
    wanted.real, wanted.imag = x, y
    equal(in_both_tiers(f"CMPLX{'F' if dtype == C8 else ''}(x, y)", x, y, result=dtype), wanted)
    equal(in_both_tiers("(ctype__output){x, y}", x, y, result=dtype), wanted)
    z = numbers(dtype, 10)
    with np.errstate(all="ignore"):
        scaled = np.empty_like(z)
        scaled.real, scaled.imag = z.real * part(dtype)(2.5), z.imag * part(dtype)(2.5)
    equal(in_both_tiers("cscale(x, 2.5)", z), scaled)


# ---- functions ------------------------------------------------------------------------------------


def of_libm(name: str, array: Any) -> Any:
    """Calls the C library's function by ctypes, which passes a struct of two floats like a complex number."""
    real, suffix = (ctypes.c_double, "") if array.dtype == C16 else (ctypes.c_float, "f")
    kind = type("kind", (ctypes.Structure,), {"_fields_": [("real", real), ("imag", real)]})
    function = getattr(ctypes.CDLL("libm.so.6"), name + suffix)
    function.restype, function.argtypes = kind, [kind]
    results = [function(kind(z.real, z.imag)) for z in array]
    made = np.empty(array.shape, array.dtype)
    made.real, made.imag = [z.real for z in results], [z.imag for z in results]
    return made


@pytest.mark.row("K11")
@TYPES
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_libms(name: str, dtype: Any) -> None:
    x = numbers(dtype, 200)
    got = in_both_tiers(f"c{name}(x)", x)
    equal(got, of_libm(f"c{name}", x))
    with np.errstate(all="ignore"):
        wanted = getattr(np, NUMPY_NAMES.get(name, name))(x)
    finite = np.isfinite(wanted) & np.isfinite(x)
    np.testing.assert_allclose(got[finite], wanted[finite], rtol=1e-4 if dtype == C8 else 1e-12)


@pytest.mark.row("K11")
@TYPES
def test_projection_and_argument(dtype: Any) -> None:
    x = numbers(dtype)
    equal(in_both_tiers("cproj(x)", x), of_libm("cproj", x))
    got = in_both_tiers("carg(x)", x, result=part(dtype))
    with np.errstate(all="ignore"):
        wanted = np.array([math.atan2(z.imag, z.real) for z in x]).astype(part(dtype))
    signed = ~np.isnan(wanted)  # the sign of a NaN means nothing
    np.testing.assert_array_equal(np.signbit(got)[signed], np.signbit(wanted)[signed])
    np.testing.assert_allclose(got, wanted, rtol=5e-16 if dtype == C16 else 3e-7)


@pytest.mark.quick
@pytest.mark.row("K11")
@TYPES
def test_absolute_values(dtype: Any) -> None:
    x = numbers(dtype, 5000)
    got = in_both_tiers("cabs(x)", x, result=part(dtype))
    wide = [math.hypot(z.real, z.imag) for z in x.astype(C16)]
    with np.errstate(all="ignore"):
        wanted = np.array(wide).astype(part(dtype))
    told = np.isfinite(wanted)
    np.testing.assert_array_equal(got[~told], wanted[~told])
    unit = np.maximum(np.spacing(wanted[told]), np.finfo(dtype).smallest_subnormal)
    off = np.abs(got[told] - np.array(wide)[told]) / unit
    assert off.max() < 1.3 and off.mean() < 0.4
    exact = np.array([3 + 4j, -0j, -5 - 12j], dtype)
    assert in_both_tiers("cabs(x)", exact, result=part(dtype)).tolist() == [5, 0, 13]


# ---- any numbers, any strides ----------------------------------------------------------------------


@pytest.mark.row("K11")
def test_names_with_f_are_of_complex64() -> None:
    x = numbers(C8, 50)
    equal(in_both_tiers("csubf(cmulf(x, x), cexpf(x))", x), in_both_tiers("csub(cmul(x, x), cexp(x))", x))


@pytest.mark.row("K11", "G08")
@TYPES
@settings(max_examples=50)
@given(data=st.data())
def test_any_numbers_have_the_same_bits(dtype: Any, data: Any) -> None:
    width = 64 if dtype == C8 else 128
    anything = st.complex_numbers(width=width, allow_nan=True, allow_infinity=True)
    shapes = hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=4, min_side=0)
    shapes = data.draw(shapes).input_shapes
    x, y = (data.draw(hnp.arrays(dtype, shape, elements=anything)) for shape in shapes)
    x, y = (
        each[tuple(slice(None, None, data.draw(st.sampled_from([1, -1, 2]))) for _ in each.shape)]
        for each in (x, y)
    )
    try:
        np.broadcast(x, y)
    except ValueError:
        y = x
    name = data.draw(st.sampled_from(["cadd", "csub", "cmul", "cdiv", "cpow"]))
    first, hot = (f(x, y) for f in tiers(f"{name}(x, y)", dtype, dtype, 2))
    equal(np.asarray(hot), np.asarray(first))
    if name in ("cadd", "csub", "cdiv", "cmul"):
        ufunc = {"cadd": np.add, "csub": np.subtract, "cdiv": np.divide, "cmul": product}[name]
        with np.errstate(all="ignore"):
            equal(np.asarray(hot), np.asarray(ufunc(x, y)))


# ---- where the names are known -------------------------------------------------------------------------


def one(text: str, *, dtype: Any = C16, **options: Any) -> Any:
    return wrap_signature("x() -> y()", {dtype: text + " return true;"}, **options)


@pytest.mark.quick
@pytest.mark.row("K11")
def test_a_header_asks_for_them() -> None:
    square = "static npy_complex128 square(npy_complex128 z) { return cmul(z, z); }"
    without = lambda: one("item__y() = square(item__x());", header=square)  # noqa: E731
    refuses(cwrapjit.CompileError, without, "<complex.h>")
    header = "#include <complex.h>\n"
    f = one("item__y() = square(cexp(item__x()));", header=header + square)
    assert f(0) == 1 and f.wait() and f(0) == 1
    assert one("item__y() = cabs(CMPLX(item__x(), 4));", dtype=np.float64, header=header)(3.0) == 5
    refuses(cwrapjit.CompileError, lambda: one("item__y() = cabs(1);", dtype=np.float64), "include that")


@pytest.mark.quick
@pytest.mark.row("K11")
def test_names_of_the_users_own_stay_theirs(tmp_path: pathlib.Path) -> None:
    own = "static npy_complex128 cmul(npy_complex128 a, npy_complex128 b) { a.real = 42; return a; }"
    (tmp_path / "own.h").write_text(own)
    for header in (own, "#define cmul(a, b) ((npy_complex128){42})", '#include "own.h"'):
        f = one("item__y() = cmul(item__x(), item__x());", header=header, include_dirs=[str(tmp_path)])
        assert f(0) == 42
    assert one("\n#define cmul(a, b) (a)\n item__y() = cmul(item__x(), 0);")(7) == 7
    assert one("npy_complex128 cexp(npy_complex128); item__y() = cexp(item__x());")(0) == 1
    assert one("double conj = 3, creal = 4; item__y().real = conj + creal;", dtype=C8)(0).real == 7


@pytest.mark.row("K11")
@pytest.mark.parametrize(
    "statement",
    [
        "item__y() = item__x() + item__x();",
        "item__y() = 2 * item__x();",
        "item__y() = -item__x();",
        "item__y() += item__x();",
        "item__y() = 1.5;",
        "item__y() = cmul(item__x(), 2.0);",
        "item__y() = cscale(item__x(), item__x());",
        "item__y() = cexp(1.0);",
        "item__y().real = item__x();",
        "if (item__x() == item__x()) return false;",
        "double d = item__x(); item__y().real = d;",
        "double d = (double)item__x(); item__y().real = d;",
        "double d = fabs(item__x()); item__y().real = d;",
        "item__y() = (ctype__y){CMPLX(item__x(), 1)};",
        "struct { double re, im; } z = {0}; item__y() = cmul(item__x(), z);",
    ],
)
@TYPES
def test_operators_are_refused_with_the_way_to_go(statement: str, dtype: Any) -> None:
    refuses(cwrapjit.CompileError, lambda: one(statement, dtype=dtype), "structs here", "cmul")


@pytest.mark.quick
@pytest.mark.row("K11")
@pytest.mark.parametrize("statement", ["double complex z;", "_Complex double z;", "float _Complex z = 1;"])
def test_complex_types_of_c_are_refused_with_the_way_to_go(statement: str) -> None:
    for header in ("", "#include <complex.h>"):
        refuses(cwrapjit.CompileError, lambda h=header: one(statement, header=h), "libtcc", "npy_complex128")


# ---- other front ends ------------------------------------------------------------------------------


@pytest.mark.row("K11", "K10")
def test_fields_of_structured_dtypes() -> None:
    dtype = np.dtype([("z", C16), ("w", C8), ("h", np.float16)])
    text = """
        item__y() = item__x();
        item__y().z = cmul(item__x().z, CMPLX(0, 1));
        item__y().w.real = cabs(item__x().w);
        item__y().h = float_to_half(2 * half_to_float(item__x().h));"""
    x = np.array([(1 + 2j, 3 + 4j, 1.5)], dtype)
    for tier in ("off", "eager"):
        assert one(text, dtype=dtype, optimize=tier)(x).tolist() == [(-2 + 1j, 5 + 4j, 3.0)]
    refuses(
        cwrapjit.CompileError, lambda: one("item__y().h = item__x().h * 2;", dtype=dtype), "half_to_float"
    )


@pytest.mark.row("K11", "A42", "K14", "K16")
def test_other_front_ends() -> None:
    z = np.array([0.5j, 1 - 1j])
    op = cg.elementwise("z", "cexp(csqrt(z))", headers=["<complex.h>"])
    x = cg.ndarray("complex128", 1)("z")
    np.testing.assert_allclose(cwrapjit.link([x], op(x))(z), np.exp(np.sqrt(z)), rtol=1e-14)
    f = cwrapjit.vectorize("#include <complex.h>\nT f(T x, T y) { return cmul(cexp(x), y); }")
    for dtype in (C8, C16):
        got = f(z.astype(dtype), dtype(2))
        assert got.dtype == dtype
        np.testing.assert_allclose(got, np.exp(z) * 2, rtol=1e-6)
    text = "#include <complex.h>\nnpy_complex128 turned(npy_complex128 z) { return cmul(z, CMPLX(0, 1)); }"
    assert cwrapjit.library("l", source=text).turned(2 + 3j) == -3 + 2j
