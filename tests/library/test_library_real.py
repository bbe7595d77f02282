"""Libraries that others wrote: libm, zlib, and GSL where it is installed.

What they compute is compared with math, zlib and NumPy: on random shapes, strides and orders.
"""

from __future__ import annotations

import math
import zlib
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from helpers import refuses
from hypothesis import given, settings

import cwrapjit

# ---- libm ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def libm() -> Any:
    return cwrapjit.library("libm", libraries=["m"])


def test_libm_gives_what_math_gives(libm):
    names = "sin cos tan exp log1p expm1 erf erfc atan sinh tanh cbrt".split()
    libm.declare("\n".join(f"double {name}(double x);" for name in names))
    for name in names:
        wrapped = getattr(libm, name)
        for x in (0.25, 0.5, 1.5, 3.0, 20.25):
            if hasattr(math, name):
                assert wrapped(x) == getattr(math, name)(x) or math.isclose(
                    wrapped(x), getattr(math, name)(x), rel_tol=1e-15
                )
            else:
                assert math.isclose(wrapped(x) ** 3, x, rel_tol=1e-14)


def test_libm_with_two_results(libm):
    frexp = libm.function("double frexp(double x, int *exponent)", out="exponent")
    for x in (0.0, 1.0, -40.0, 1e300, 5e-324):
        assert frexp(x) == math.frexp(x)
    modf = libm.function("double modf(double x, double *whole)", out="whole")
    assert modf(-2.75) == math.modf(-2.75)


@settings(max_examples=60)
@given(
    st.lists(st.integers(0, 4), max_size=3).map(tuple),
    st.lists(st.integers(-1, 3), min_size=3, max_size=3),
    st.integers(0, 2**32),
)
def test_a_broadcast_libm_function_is_a_ufunc(shape, steps, seed):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(tuple(3 * n for n in shape))
    sections = zip(shape, steps, strict=False)
    x = x[tuple(slice(None, None, step or 1) for _, step in sections)]
    x = x[tuple(slice(n) for n in shape)]
    y = rng.standard_normal(shape[-1:])
    np.testing.assert_allclose(HYPOT(x, y), np.hypot(x, y), rtol=1e-15)
    np.testing.assert_allclose(HYPOT(x.T, 2.0), np.hypot(x.T, 2.0), rtol=1e-15)


HYPOT = cwrapjit.library("libm", libraries=["m"]).function("double hypot(double x, double y)", broadcast=True)

# ---- zlib ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def libz() -> Any:
    try:
        lib = cwrapjit.library("libz", libraries=["z"])
    except OSError:
        pytest.skip("zlib's shared library is not installed")
    lib.declare(
        """
        const char *zlibVersion(void);
        const char *zError(int status);
        unsigned long crc32(unsigned long crc, const unsigned char buf[len], unsigned int len);
        unsigned long adler32(unsigned long adler, const unsigned char buf[len], unsigned int len);
        unsigned long compressBound(unsigned long sourceLen);
        """
    )
    for name in ("compress", "uncompress"):
        lib.function(
            f"int {name}(unsigned char dest[destLen], unsigned long *destLen, "
            "const unsigned char source[sourceLen], unsigned long sourceLen)",
            inout="destLen",
            check=(ValueError, "zError"),
        )
    return lib


@pytest.mark.quick
@settings(max_examples=40)
@given(st.binary(max_size=400))
def test_checksums_are_those_of_python(libz, data):
    assert libz.crc32(0, data) == zlib.crc32(data)
    assert libz.crc32(7, bytearray(data)) == zlib.crc32(data, 7)
    assert libz.adler32(1, memoryview(data)) == zlib.adler32(data)


@settings(max_examples=40)
@given(st.binary(max_size=400))
def test_what_zlib_compresses_python_reads(libz, data):
    room = bytearray(libz.compressBound(len(data)))
    length = int(libz.compress(room, len(room), data))
    assert zlib.decompress(bytes(room[:length])) == data
    back = bytearray(len(data) + 1)
    assert libz.uncompress(back, len(back), room[:length]) == len(data)
    assert back[:-1] == data


def test_zlibs_errors_have_zlibs_words(libz):
    refuses(ValueError, lambda: libz.uncompress(bytearray(10), 10, b"nonsense"), "uncompress", "data error")
    refuses(ValueError, lambda: libz.uncompress(bytearray(1), 1, zlib.compress(bytes(100))), "buffer error")
    assert libz.zlibVersion().split(".")[0] == "1"
    refuses(TypeError, lambda: libz.crc32(0, 1.5), "buf")
    refuses(OverflowError, lambda: libz.crc32(-1, b""), "argument crc: -1 is out of range of uint64")


# ---- strides -----------------------------------------------------------------------------------


def test_which_end_of_a_vector_that_runs_backwards(tmp_path):
    """BLAS counts from the lowest address, natural C from the first item: only the caller knows which."""
    file = tmp_path / "ends.c"
    file.write_text("double ends(int n, const double *x, int inc) { return x[0] + 0 * n * inc; }")
    lib = cwrapjit.library("ends", sources=[file])
    x = np.arange(3.0)
    for name in ("incx", "step"):
        text = f"double ends(int n, const double x[n], int {name})"
        unsaid = lib.function(text, strides={name: "x"})
        assert unsaid(x[1:]) == unsaid(x[1::2]) == 1.0
        refuses(
            ValueError, lambda unsaid=unsaid: unsaid(x[::-1]), "runs backwards", '"first"', '"lowest"', name
        )
        for first, lowest in (("x", "first"), ("x", "lowest")), (("x", 0, "first"), ("x", 0, "lowest")):
            assert lib.function(text, strides={name: first})(x[::-1]) == 2.0
            assert lib.function(text, strides={name: lowest})(x[::-1]) == 0.0
    refuses(
        ValueError, lambda: lib.function(text, strides={name: ("x", 0, "last")}), "'last'", "first", "lowest"
    )


# ---- GSL ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def gsl() -> Any:
    try:
        return cwrapjit.library("gsl", libraries=["gslcblas", "gsl"])
    except OSError:
        pytest.skip("GSL is not installed (apt install libgsl-dev)")


def test_gsl_functions_of_one_number(gsl):
    gsl.declare(
        "double gsl_sf_bessel_J0(double x); double gsl_sf_erf(double x); double gsl_log1p(const double x);"
    )
    assert math.isclose(gsl.gsl_sf_bessel_J0(2.404825557695773), 0.0, abs_tol=1e-15)
    assert math.isclose(gsl.gsl_sf_erf(0.3), math.erf(0.3), rel_tol=1e-14)
    assert math.isclose(gsl.gsl_log1p(1e-10), math.log1p(1e-10), rel_tol=1e-14)


def test_gsl_statistics_take_strides(gsl):
    for name, wanted in (("mean", np.mean), ("variance", lambda x: np.var(x, ddof=1))):
        measured = gsl.function(
            f"double gsl_stats_{name}(const double data[n], size_t stride, size_t n)",
            strides={"stride": "data"},
        )
        x = np.random.default_rng(1).standard_normal((7, 5))
        assert math.isclose(measured(x[:, 2]), wanted(x[:, 2]), rel_tol=1e-12)
        assert math.isclose(measured(x[3]), wanted(x[3]), rel_tol=1e-12)


def test_gsl_polynomials_and_its_error_strings(gsl):
    evaluate = gsl.function("double gsl_poly_eval(const double c[len], const int len, const double x)")
    c = np.array([1.0, -2.0, 0.5])
    assert evaluate(c, 3.0) == np.polynomial.polynomial.polyval(3.0, c)
    strerror = gsl.function("const char *gsl_strerror(const int gsl_errno)")
    assert strerror(1) == "input domain error"


def test_a_gsl_generator_is_owned(gsl):
    rng = gsl.handle("gsl_rng *", name="gsl_rng", free="gsl_rng_free")
    gsl.handle("gsl_rng_type *", name="gsl_rng_type")
    gsl.function("const gsl_rng_type *gsl_rng_env_setup(void)", returns="static")
    gsl.function("gsl_rng *gsl_rng_alloc(const gsl_rng_type *t)", returns="callee")
    gsl.function("void gsl_rng_set(const gsl_rng *r, unsigned long seed)")
    gsl.function("unsigned long gsl_rng_get(const gsl_rng *r)")
    one, two = gsl.gsl_rng_alloc(gsl.gsl_rng_env_setup()), gsl.gsl_rng_alloc(gsl.gsl_rng_env_setup())
    assert isinstance(one, rng)
    gsl.gsl_rng_set(one, 42)
    gsl.gsl_rng_set(two, 42)
    assert gsl.gsl_rng_get(one) == gsl.gsl_rng_get(two) == 1608637542  # mt19937's first number, as in NumPy
    assert np.random.RandomState(42).randint(0, 2**32, dtype=np.uint64) == 1608637542
    refuses(TypeError, lambda: gsl.gsl_rng_get(object()), "argument r", "got object")
