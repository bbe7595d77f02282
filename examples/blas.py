"""Makes CBLAS and LAPACKE Python functions, from nothing but their C declarations with shapes.

The library is the OpenBLAS that PyPI ships as scipy-openblas32; no header of it is read and nothing is
built. Sizes and leading dimensions are filled in from the arrays, so that dgemm(A, B) takes two arrays and
returns one. Every result is compared with NumPy's on random shapes and strides.
"""

import sys
from pathlib import Path

import numpy as np

import cwrapjit

ROW_MAJOR, NO_TRANS = 101, 111


def declare() -> cwrapjit.library:
    """The three routines of this program."""
    import scipy_openblas32

    path = Path(scipy_openblas32.get_lib_dir()) / f"lib{scipy_openblas32.get_library()}.so"
    blas = cwrapjit.library("blas", path, doc="Some of OpenBLAS.")

    blas.function(
        """double scipy_cblas_ddot(int n, const double x[n], int incx, const double y[n], int incy)""",
        name="ddot",
        strides={"incx": ("x", "lowest"), "incy": ("y", "lowest")},
        doc="The inner product of two vectors.",
    )
    blas.function(
        """void scipy_cblas_dgemm(int layout, int trans_a, int trans_b, int m, int n, int k,
                                  double alpha, const double A[m][k], int lda, const double B[k][n], int ldb,
                                  double beta, double C[m][n], int ldc)""",
        name="dgemm",
        out="C",
        hidden={
            "layout": ROW_MAJOR,
            "trans_a": NO_TRANS,
            "trans_b": NO_TRANS,
            "lda": "k",
            "ldb": "n",
            "ldc": "n",
        },
        defaults={"alpha": 1.0, "beta": 0.0},
        keyword_only=("alpha", "beta"),
        doc="alpha A B for C-ordered matrices.",
    )
    blas.function(
        """int scipy_LAPACKE_dgesv(int layout, int n, int nrhs, double A[n][n], int lda, int pivots[n],
                                   double b[n][nrhs], int ldb)""",
        name="dgesv",
        out="pivots",
        hidden={"layout": ROW_MAJOR, "lda": "n", "ldb": "nrhs"},
        check=refuse_singular,
        discard="return",
        doc="Solves A x = b in place: A becomes its factors, b becomes x.",
    )
    return blas


def refuse_singular(info: int) -> None:
    """What LAPACK's status means."""
    if info > 0:
        raise np.linalg.LinAlgError(f"the matrix is singular: pivot {info} is zero")
    if info < 0:
        raise ValueError(f"LAPACK refuses its parameter {-info}")


def compare(blas: cwrapjit.library, rng: np.random.Generator) -> float:
    """The largest difference from NumPy, relative to what rounding may do, in 200 random problems."""
    worst = 0.0
    for _ in range(200):
        m, n, k = rng.integers(1, 40, 3)
        a, b = rng.standard_normal((m, k)), rng.standard_normal((k, n))
        worst = max(worst, float(np.abs(blas.dgemm(a, b) - a @ b).max()))

        step, start = rng.choice([-3, -1, 1, 2], 2), rng.standard_normal(3 * k)
        x, y = start[:: step[0]][:k], rng.standard_normal(3 * k)[:: step[1]][:k]
        length = min(len(x), len(y))
        worst = max(worst, abs(blas.ddot(x[:length], y[:length]) - float(x[:length] @ y[:length])))

        matrix = rng.standard_normal((n, n)) + n * np.eye(n)
        wanted = rng.standard_normal((n, 2))
        factors, solution = matrix.copy(), matrix @ wanted
        pivots = blas.dgesv(factors, solution)
        assert pivots.shape == (n,)
        worst = max(worst, float(np.abs(solution - wanted).max()))
    return worst


def main() -> int:
    try:
        blas = declare()
    except ModuleNotFoundError:
        print("this example needs scipy-openblas32: pip install scipy-openblas32", file=sys.stderr)
        return 1
    print("dgemm", blas.dgemm.__signature__)
    print(blas.dgemm(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0], [10.0]]), alpha=0.5))
    for wrong in (np.ones((3, 2), np.float32), np.ones((3, 5))):
        try:
            blas.dgemm(wrong, np.ones((2, 2)))
        except (TypeError, ValueError) as error:
            print(f"{type(error).__name__}: {error}")
    try:
        blas.dgesv(np.zeros((2, 2)), np.ones((2, 1)))
    except np.linalg.LinAlgError as error:
        print(f"LinAlgError: {error}")

    worst = compare(blas, np.random.default_rng(0))
    print(f"largest difference from NumPy  {worst:.1e}")
    return int(worst > 1e-10)


if __name__ == "__main__":
    sys.exit(main())
