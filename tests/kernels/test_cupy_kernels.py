"""Kernels as CuPy's documentation and examples have them run here, or say why they do not."""

from __future__ import annotations

import numpy as np
import pytest

import cwrapjit
from cwrapjit import ElementwiseKernel, ReductionKernel

X = np.arange(10, dtype=np.float32).reshape(2, 5)
Y = np.arange(5, dtype=np.float32)
WANTED = (X - Y) ** 2


# ---- the user guide -----------------------------------------------------------------------------------


@pytest.mark.row("K03")
def test_a_squared_difference_of_fixed_types() -> None:
    squared_diff = ElementwiseKernel(
        "float32 x, float32 y", "float32 z", "z = (x - y) * (x - y)", "squared_diff"
    )
    np.testing.assert_array_equal(squared_diff(X, Y), WANTED)
    np.testing.assert_array_equal(squared_diff(X, 5), (X - 5) ** 2)
    z = np.empty((2, 5), np.float32)
    assert squared_diff(X, Y, z) is z
    np.testing.assert_array_equal(z, WANTED)


@pytest.mark.row("K03")
@pytest.mark.parametrize("text", ["z = (x - y) * (x - y)", "\n    T diff = x - y;\n    z = diff * diff;\n"])
def test_a_squared_difference_of_any_type(text: str) -> None:
    squared_diff = ElementwiseKernel("T x, T y", "T z", text, "squared_diff_generic")
    np.testing.assert_array_equal(squared_diff(X, Y), WANTED, strict=True)
    np.testing.assert_array_equal(squared_diff(X.astype(int), Y.astype(int)), WANTED.astype(int), strict=True)


@pytest.mark.row("K03")
def test_a_squared_difference_of_several_types() -> None:
    squared_diff = ElementwiseKernel("X x, Y y", "Z z", "z = (x - y) * (x - y)", "squared_diff_super_generic")
    z = np.empty((2, 5))
    assert squared_diff(X, Y.astype(np.int16), z) is z
    np.testing.assert_array_equal(z, WANTED)
    with pytest.raises(TypeError, match="nothing says what Z is"):
        squared_diff(X, Y)


@pytest.mark.row("K03")
def test_raw_parameters() -> None:
    add_reverse = ElementwiseKernel("T x, raw T y", "T z", "z = x + y[_ind.size() - i - 1]", "add_reverse")
    np.testing.assert_array_equal(add_reverse(Y, Y), Y + Y[::-1])
    np.testing.assert_array_equal(add_reverse(X, X), X + X[::-1, ::-1])
    every = ElementwiseKernel("raw T x, raw T y", "raw T z", "z[i] = x[i] + y[_ind.size() - i - 1]", "every")
    np.testing.assert_array_equal(every(Y, Y[::-1], size=5), 2 * Y)
    with pytest.raises(ValueError, match="Undecided"):
        every(Y, Y)


@pytest.mark.row("K05")
def test_the_norm() -> None:
    l2norm = ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "l2norm")
    np.testing.assert_allclose(l2norm(X, axis=1), [5.477226, 15.9687195], rtol=1e-6)
    assert l2norm(X, axis=1).dtype == np.float32


@pytest.mark.quick
@pytest.mark.row("K05")
def test_raw_parameters_of_reductions() -> None:
    # There axes must lead; here any may be reduced.
    dot = ReductionKernel("T x, raw T w", "T y", "x * w[_in_ind.get()[0]]", "a + b", "y = a", "0", "weighted")
    w = np.array([2, 3], np.float32)
    np.testing.assert_array_equal(dot(X, w, axis=0), w @ X)
    np.testing.assert_array_equal(dot(X, w, axis=1), w * X.sum(axis=1))


# ---- programs in its manner ------------------------------------------------------------------------------


@pytest.mark.quick
@pytest.mark.row("K03")
@pytest.mark.parametrize("sort", ["f4", "f8"])
def test_prices_of_options(sort: str) -> None:
    prices = ElementwiseKernel(
        "T s, T x, T t, T r, T v",
        "T call, T put",
        """
        const T d1 = (log(s / x) + (r + v * v / 2) * t) / (v * sqrt(t)), d2 = d1 - v * sqrt(t);
        const T later = x * exp(-r * t);
        call = s * normal(d1) - later * normal(d2);
        put = later * normal(-d2) - s * normal(-d1);
        """,
        "prices",
        preamble="__device__ __forceinline__ T normal(T x) { return T(0.5) * erfc(-x * T(0.70710678)); }",
    )
    rng = np.random.default_rng(1)
    s, x, t = (rng.uniform(*each, 100).astype(sort) for each in ((5, 30), (1, 100), (0.25, 10)))
    call, put = prices(s, x, t, 0.02, 0.3)
    assert call.dtype == put.dtype == sort
    np.testing.assert_allclose(call - put, s - x * np.exp(-0.02 * t), rtol=1e-3, atol=1e-3)


@pytest.mark.row("K05")
def test_clusters() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(100, 2)).astype(np.float32)
    near = x[:, 0] > 0
    distance = ElementwiseKernel("T x, T y, T a, T b", "T out", "out = (x - a) * (x - a) + (y - b) * (y - b)")
    np.testing.assert_allclose(distance(x[:, 0], x[:, 1], 1, 2), ((x - [1, 2]) ** 2).sum(axis=1), rtol=1e-5)
    masked = ReductionKernel("T x, S mask", "T out", "mask ? x : 0", "a + b", "out = a", "0", "masked")
    np.testing.assert_allclose(masked(x, near[:, None], axis=0), x[near].sum(axis=0), rtol=1e-4)
    count = ReductionKernel("T mask", "float32 out", "mask ? 1.0 : 0.0", "a + b", "out = a", "0.0", "count")
    assert count(near, axis=0) == near.sum()


@pytest.mark.row("K03")
def test_random_numbers_of_a_state() -> None:
    uniform = ElementwiseKernel(
        "uint64 seed",
        "raw float64 y",
        "start(seed + i, &state); y[i] = next(&state);",
        "uniform",
        preamble="""
        typedef struct { unsigned long long bits; } state_t;
        __device__ void start(unsigned long long seed, state_t *s)
        {
            s->bits = seed * 2862933555777941757ull + 1;
        }
        __device__ double next(state_t *s)
        {
            s->bits ^= s->bits << 13; s->bits ^= s->bits >> 7; s->bits ^= s->bits << 17;
            return (s->bits >> 11) * 0x1p-53;
        }""",
        loop_prep="state_t state;",
    )
    made = uniform(7, size=1000)
    assert made.shape == (1000,) and 0 <= made.min() < 0.1 < 0.9 < made.max() < 1
    np.testing.assert_array_equal(made, uniform(7, np.empty(1000), size=1000))


# ---- what is C++ ------------------------------------------------------------------------------------------


@pytest.mark.row("K03")
def test_cpp_is_refused_with_its_line() -> None:
    for preamble, line in (
        ("template <typename A>\nstatic A f(A x) { return x; }", 1),
        ("\nstatic void f(double &x) { x = 1; }", 2),
    ):
        with pytest.raises(cwrapjit.CompileError) as caught:
            ElementwiseKernel("float64 x", "float64 y", "y = f(x)", "cpp", preamble=preamble)
        assert caught.value.lineno == line
    with pytest.raises(cwrapjit.CompileError, match="complex numbers are structs here"):
        ElementwiseKernel("complex64 x, complex64 y", "complex64 z", "z = x + y")
    assert not hasattr(cwrapjit, "RawKernel")
