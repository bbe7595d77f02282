"""Tests libm and zlib against math, zlib and NumPy, for random shapes, strides and orders."""

from __future__ import annotations

import math
import zlib
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import cwrapjit

# ---- libm ---------------------------------------------------------------------------------------


def test_libm_gives_what_math_gives():
    libm = cwrapjit.library("libm", libraries=["m"])
    names = "sin cos tan exp log1p expm1 erf erfc atan sinh tanh".split()
    libm.declare("\n".join(f"double {name}(double x);" for name in names))
    for name in names:
        for x in (0.25, 0.5, 1.5, 3.0, 20.25):
            assert math.isclose(getattr(libm, name)(x), getattr(math, name)(x), rel_tol=1e-15)


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
