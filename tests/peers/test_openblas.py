"""Tests an OpenBLAS from PyPI, by its header and by declarations, against NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
import scipy_openblas32
from helpers import refuses
from hypothesis import given

import cwrapjit

ROW, COLUMN, PLAIN, TRANSPOSED = 101, 102, 111, 112


def test_a_large_header_is_declared():
    folder = scipy_openblas32.get_lib_dir()
    lib = cwrapjit.library(
        "blas",
        f"{folder}/lib{scipy_openblas32.get_library()}.so",
        include_dirs=[scipy_openblas32.get_include_dir()],
        define_macros=[("FORCE_OPENBLAS_COMPLEX_STRUCT", None)],
    )
    lib.declare('#include "cblas.h"', strip_prefix="scipy_", unsafe=True)
    assert len(lib.mapped) > 150
    assert len(lib.mapped) + len(lib.unmapped) > 220
    assert "no symbol" in lib.unmapped["scipy_openblas_setaffinity"]
    x = np.arange(5.0)
    assert lib.cblas_ddot(5, x, 1, x, 1) == 30
    assert lib.CblasRowMajor == 101


@pytest.fixture(scope="module")
def blas() -> Any:
    path = Path(scipy_openblas32.get_lib_dir()) / f"lib{scipy_openblas32.get_library()}.so"
    return cwrapjit.library("blas", path)


DTYPES = {"float": np.float32, "double": np.float64}
VECTORS = st.tuples(
    st.integers(0, 12), st.sampled_from([-3, -2, -1, 1, 2, 3]), st.sampled_from([-2, -1, 1, 2])
)


def vector(rng: np.random.Generator, length: int, step: int, dtype: type) -> np.ndarray:
    """Returns integers, whose sums are exact, `step` items apart."""
    whole = rng.integers(-8, 9, max(length, 1) * abs(step)).astype(dtype)
    return whole[::step][:length]


def matrix(
    rng: np.random.Generator, shape: tuple[int, int], order: str, extra: int, dtype: type
) -> np.ndarray:
    """Returns a matrix in a wider one: rows, or columns for order F, are `extra` items apart."""
    m, n = shape if order == "C" else shape[::-1]
    made = rng.integers(-8, 9, (m, n + extra)).astype(dtype)[:, :n]
    return made if order == "C" else made.T


@pytest.mark.parametrize("ctype, letter", [("float", "s"), ("double", "d")])
def test_dot_of_any_strides(blas, ctype, letter):
    dot = blas.function(
        f"{ctype} scipy_cblas_{letter}dot(int n, const {ctype} x[n], int incx, const {ctype} y[n], int incy)",
        strides={"incx": ("x", "lowest"), "incy": ("y", "lowest")},
    )

    @given(VECTORS, st.integers(0, 2**32))
    def agrees(how, seed):
        length, step_x, step_y = how
        rng = np.random.default_rng(seed)
        x = vector(rng, length, step_x, DTYPES[ctype])
        y = vector(rng, length, step_y, DTYPES[ctype])
        assert dot(x, y) == x @ y

    agrees()
    refuses(
        ValueError,
        lambda: dot(np.ones(2, DTYPES[ctype]), np.ones(3, DTYPES[ctype])),
        "argument y is 3",
        "must be 2 (n",
    )


def test_axpy_writes_only_its_own_items(blas):
    axpy = blas.function(
        "void scipy_cblas_daxpy(int n, double alpha, const double x[n], int incx, double y[n], int incy)",
        strides={"incx": ("x", "lowest"), "incy": ("y", "lowest")},
    )

    @given(VECTORS, st.integers(0, 2**32))
    def agrees(how, seed):
        length, step_x, step_y = how
        rng = np.random.default_rng(seed)
        x = vector(rng, length, step_x, np.float64)
        whole = rng.integers(-8, 9, 3 * length + 4).astype(float)
        wanted = whole.copy()
        wanted[::step_y][:length] += 3 * x
        axpy(3.0, x, whole[::step_y][:length])
        np.testing.assert_array_equal(whole, wanted)

    agrees()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("ctype, letter", [("float", "s"), ("double", "d")])
def test_gemm_of_any_shape_and_order(blas, ctype, letter, order):
    axis = 0 if order == "C" else 1
    gemm = blas.function(
        f"""void scipy_cblas_{letter}gemm(int layout, int trans_a, int trans_b, int m, int n, int k,
            {ctype} alpha, const {ctype} A[m][k], int lda, const {ctype} B[k][n], int ldb,
            {ctype} beta, {ctype} C[m][n], int ldc)""",
        hidden={"layout": ROW if order == "C" else COLUMN, "trans_a": PLAIN, "trans_b": PLAIN},
        strides={"lda": ("A", axis), "ldb": ("B", axis), "ldc": ("C", axis)},
        order=order,
        defaults={"alpha": 1.0, "beta": 0.0},
        keyword_only=("alpha", "beta"),
    )
    sizes = st.integers(1, 9)

    @given(sizes, sizes, sizes, st.integers(0, 3), st.integers(0, 2), st.integers(0, 2**32))
    def agrees(m, n, k, extra, beta, seed):
        rng = np.random.default_rng(seed)
        dtype = DTYPES[ctype]
        a = matrix(rng, (m, k), order, extra, dtype)
        b = matrix(rng, (k, n), order, seed % 2, dtype)
        c = matrix(rng, (m, n), order, extra, dtype)
        wanted = 2 * (a @ b) + beta * c
        gemm(a, b, c, alpha=2.0, beta=float(beta))
        np.testing.assert_array_equal(c, wanted)

    agrees()
    a = np.ones((2, 3), DTYPES[ctype], order=order)
    refuses(ValueError, lambda: gemm(a, a, a), "argument B is 2", "must be 3 (k")
    backwards = a[::-1] if order == "C" else a[:, ::-1]
    refuses(
        ValueError,
        lambda: gemm(backwards, a.T.copy(order), a[:, :2].copy(order)),
        "argument A",
        "overlap or run backwards",
    )
    other = "F" if order == "C" else "C"
    wrong = np.ones((2, 3), DTYPES[ctype], order=other)
    refuses(
        ValueError, lambda: gemm(wrong, a.T.copy(order), a[:, :2].copy(order)), "argument A", "contiguous"
    )


def test_gemm_makes_its_result(blas):
    gemm = blas.function(
        """void scipy_cblas_dgemm(int layout, int trans_a, int trans_b, int m, int n, int k,
            double alpha, const double A[m][k], int lda, const double B[k][n], int ldb,
            double beta, double C[m][n], int ldc)""",
        name="matmul",
        out="C",
        hidden={"layout": ROW, "trans_a": PLAIN, "trans_b": PLAIN, "lda": "k", "ldb": "n", "ldc": "n"},
        defaults={"alpha": 1.0, "beta": 0.0},
        keyword_only=("alpha", "beta"),
    )
    a, b = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(gemm(a, b), a @ b)
    np.testing.assert_array_equal(gemm(A=a, B=b, alpha=-1.0), -(a @ b))
    refuses(TypeError, lambda: gemm(a, [[1.0]] * 3), "argument B", "got list")


def test_gemv_with_a_transposed_matrix(blas):
    gemv = blas.function(
        """void scipy_cblas_dgemv(int layout, int trans, int m, int n,
            double alpha, const double A[m][n], int lda, const double x[m], int incx,
            double beta, double y[n], int incy)""",
        out="y",
        hidden={"layout": ROW, "trans": TRANSPOSED, "lda": "n", "incy": 1},
        strides={"incx": ("x", "lowest")},
        defaults={"alpha": 1.0, "beta": 0.0},
        keyword_only=("alpha", "beta"),
    )
    a, x = np.arange(6.0).reshape(2, 3), np.array([1.0, 0.0, 2.0])[::2]
    np.testing.assert_array_equal(gemv(a, x), x @ a)
    np.testing.assert_array_equal(gemv(a, x[::-1]), x[::-1] @ a)
