"""Tests that compiled code of cffi, numba and SciPy calls ours by address or capsule, and ours theirs."""

from __future__ import annotations

import ctypes
import gc
import weakref
from typing import Any

import cffi
import numba
import numpy as np
import pytest
import scipy
from helpers import INNER, refuses, same, wrap, wrap_signature
from library_tools import from_c
from scipy import integrate, ndimage

import cwrapjit

SIGNATURE = "int (char **, npy_intp *, npy_intp *, void *)"


def square() -> Any:
    return wrap_signature("x() -> y()", "item__y() = item__x() * item__x(); return true;")


@pytest.mark.quick
def test_cffi_calls_the_loop():
    ffi = cffi.FFI()
    f = wrap(((("n",)), ("n",)), (), INNER)
    a, b, out = np.arange(6.0).reshape(2, 3), np.ones((2, 3)), np.zeros(2)
    data = ffi.new("char *[3]", [ffi.cast("char *", each.ctypes.data) for each in (a, b, out)])
    loop = ffi.cast("int (*)(char **, intptr_t *, intptr_t *, void *)", f.address)
    assert loop(data, [2, 3], [24, 24, 8, 8, 8], ffi.NULL) == 1
    np.testing.assert_array_equal(out, f(a, b))


def test_numba_calls_the_loop():
    f = square()
    call = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4)(f.address)

    @numba.njit
    def by_numba(x, y, data, dims, steps):
        data[0], data[1] = x.ctypes.data, y.ctypes.data
        dims[0] = len(x)
        steps[0] = steps[1] = 8
        return call(data.ctypes.data, dims.ctypes.data, steps.ctypes.data, 0)

    x, y = np.arange(5.0), np.zeros(5)
    made = [np.zeros(n, np.intp) for n in (2, 1, 2)]
    assert by_numba(x, y, *made) == 1
    np.testing.assert_array_equal(y, x * x)


def test_numba_calls_a_function_of_a_library():
    f = from_c("double hypot3(double x, double y) { return x * x + y * y; }").function(
        "double hypot3(double x, double y)"
    )
    call = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_double)(f.address)

    @numba.njit
    def total(x):
        sum = 0.0
        for each in x:
            sum += call(each, 1.0)
        return sum

    assert total(np.arange(4.0)) == 18


@pytest.mark.row("U11")
def test_scipy_integrates_a_function_of_a_library():
    lib = from_c("""
        double f(double x) { return 3 * x * x; }
        double g(double x, void *data) { return ((double *)data)[0] * x; }""")
    f = lib.function("double f(double x)")
    call = scipy.LowLevelCallable(f.capsule)
    assert call.signature == "double (double)"
    del f, lib
    gc.collect()
    assert integrate.quad(call, 0, 2)[0] == pytest.approx(8)


@pytest.mark.row("U11")
def test_scipy_filters_by_a_function_of_a_library():
    f = from_c("""
        #include <stdint.h>
        int spread(double *window, intptr_t n, double *result, void *scale) {
            double least = window[0], most = window[0];
            for (intptr_t i = 1; i < n; i++) {
                if (window[i] < least) least = window[i];
                if (window[i] > most) most = window[i];
            }
            *result = (most - least) * *(double *)scale;
            return 1;
        }""").function(
        "int spread(double window[n], intptr_t n, double *result, void *scale)", out="result", unsafe=True
    )
    scale = ctypes.c_double(2.0)
    call = scipy.LowLevelCallable(f.capsule, ctypes.cast(ctypes.pointer(scale), ctypes.c_void_p))
    x = np.random.default_rng(1).random((9, 8))
    wanted = ndimage.generic_filter(x, lambda w: 2 * np.ptp(w), 3)
    np.testing.assert_allclose(ndimage.generic_filter(x, call, 3), wanted)


def test_scipy_takes_the_capsule_of_a_function():
    f = square()
    call = scipy.LowLevelCallable(f.capsule)
    assert call.signature == SIGNATURE
    gone = weakref.ref(f)
    del f
    gc.collect()
    assert gone() is not None


def test_a_wrapped_function_is_scipys_low_level_callable():
    f = from_c("double square(double x) { return x * x; }").function("double square(double x)")
    value, _ = integrate.quad(scipy.LowLevelCallable(f.capsule), 0.0, 3.0)
    assert abs(value - 9.0) < 1e-12


@pytest.fixture(scope="module")
def lib() -> Any:
    return from_c("double plain(double (*f)(double), double x) { return f ? f(x) : -1; }").declare(
        "double plain(double (*f)(double), double x);"
    )


def test_function_pointers_of_cffi(lib):
    ffi = cffi.FFI()
    twice = ffi.callback("double(double)", lambda x: 2 * x)
    assert lib.plain(twice, 2.0) == 4
    assert lib.plain(ffi.cast("void *", twice), 2.0) == 4
    assert lib.plain(ffi.NULL, 2.0) == -1
    refuses(
        TypeError,
        lambda: lib.plain(ffi.callback("float(double)", abs), 2.0),
        "argument f",
        "float(*)(double)",
    )
    refuses(TypeError, lambda: lib.plain(ffi.new("int *"), 2.0), "argument f", "cffi's int *")


def test_low_level_callables_of_scipy(lib):
    twice = cwrapjit.vectorize("double twice(double x) { return 2 * x; }")
    assert lib.plain(scipy.LowLevelCallable(twice.capsule), 2.0) == 4
    made = from_c("double f(double x, void *data) { return x + *(double *)data; }")
    f = made.function("double f(double x, void *data)", unsafe=True)
    data = ctypes.cast(ctypes.pointer(ctypes.c_double(3)), ctypes.c_void_p)
    taken = scipy.LowLevelCallable(f.capsule, data)
    refuses(TypeError, lambda: lib.plain(taken, 2.0), "argument f", "user data")


@pytest.mark.row("K17")
@pytest.mark.parametrize("border", ("reflect", "nearest", "wrap", "mirror", "constant"))
@pytest.mark.parametrize(
    "shape, size", [((13, 17), (3, 3)), ((4, 31), (4, 7)), ((3, 2), (6, 5)), ((25,), (5,))]
)
def test_windows_are_those_of_scipy_ndimage(border, shape, size):
    names = "ij"[: len(size)]
    loops = "".join(f"for (int {c} = 0; {c} < dims_slice__x[{k}]; {c}++) " for k, c in enumerate(names))
    dims, index = ", ".join("nm"[: len(size)]), ", ".join(names)
    f = wrap_signature(
        f"x(), w({dims}) -> sum(), most()",
        f"""
        double sum = 0, most = -INFINITY;
        {loops} {{
            sum += item__x({index}) * item__w({index});
            most = fmax(most, item__x({index}));
        }}
        item__sum() = sum;
        item__most() = most;
        return true;""",
        windows={"x": tuple(dims.split(", "))},
        border=border,
        cval=0.5,
    )
    random = np.random.default_rng(17)
    x, weights = random.normal(size=shape), random.normal(size=size)
    sums, most = f(x, weights)
    assert np.allclose(sums, ndimage.correlate(x, weights, mode=border, cval=0.5), rtol=1e-12, atol=1e-12)
    assert same(most, ndimage.generic_filter(x, np.max, size=size, mode=border, cval=0.5))
