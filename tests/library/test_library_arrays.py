"""Wrapped C functions on arrays: geometry, checks, layout, and the memory that results live in."""

from __future__ import annotations

import gc
import sys
from typing import Any

import numpy as np
import pytest
from helpers import ar, refuses
from leaks import keeps_nothing
from library_tools import from_c

TOTALS = """
double total(int64_t n, int64_t s, const double *x)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i * s];
    return sum;
}
double weighed(int64_t n, int64_t m, int64_t sn, int64_t sm, const double *x)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++)
            sum += (100 * i + j + 1) * x[i * sn + j * sm];
    return sum;
}
void set(int64_t n, int64_t s, double *x, double value)
{
    for (int64_t i = 0; i < n; i++)
        x[i * s] = value;
}
double first(int64_t n, int64_t s, const double *z) { return n ? z[0] : -1; }
int64_t step(int64_t n, int64_t s, const double *z) { return s; }
"""

ONE = "(int64_t n, int64_t s, {} x[n]{})"


def totals() -> Any:
    return from_c(TOTALS)


def total() -> Any:
    return totals().function("double total" + ONE.format("const double", ""), strides={"s": ("x", "first")})


def weighed() -> Any:
    return totals().function(
        "double weighed(int64_t n, int64_t m, int64_t sn, int64_t sm, const double x[n][m])",
        strides={"sn": ("x", 0, "first"), "sm": ("x", 1, "first")},
    )


def weigh(x: Any) -> float:
    n, m = x.shape
    return float(((100 * np.arange(n)[:, None] + np.arange(m) + 1) * x).sum())


# ---- data, sizes and strides ---------------------------------------------------------------------


@pytest.mark.row("P01")
def test_an_array_is_passed_as_data_sizes_and_strides():
    f, x = total(), ar(11)
    assert f(x) == 55
    assert f(x[1::2]) == 25
    assert f(x[:0]) == 0
    assert f(np.broadcast_to(2.0, 7)) == 14
    g = weighed()
    for view in ar(4, 6), ar(4, 6).T, ar(5, 4, 6)[:, 2, :]:
        assert g(view) == weigh(view)


@pytest.mark.row("P02")
def test_the_start_is_in_the_pointer_and_strides_count_elements():
    x, wide = ar(10), ar(6, 9)
    assert total()(x[::-1]) == 45
    assert total()(x[7:2:-2]) == 7 + 5 + 3
    for view in wide[::2, ::3], wide[::-1], wide[:, ::-1], wide[5:1:-2, 8::-3], wide[1:, 2:]:
        assert weighed()(view) == weigh(view)
    first = totals().function("double first" + ONE.format("const double", ""), strides={"s": ("x", "first")})
    assert first(x[4:]) == 4
    assert first(x[::-1]) == 9
    step = totals().function("int64_t step" + ONE.format("const double", ""), strides={"s": ("x", "first")})
    assert [step(x), step(x[::3]), step(x[::-2])] == [1, 3, -2]


@pytest.mark.row("P02")
def test_a_stride_that_is_no_multiple_of_the_item_size():
    text = "int64_t step(int64_t n, int64_t s, const void *z) { return s; }"
    f = from_c(text).function(
        "int64_t step(int64_t n, int64_t s, const double _Complex z[n])", strides={"s": ("z", "first")}
    )
    odd = np.zeros(4, dtype=[("z", np.complex128), ("w", np.float64)])["z"]
    assert odd.flags.aligned
    refuses(ValueError, lambda: f(odd), "argument z", "stride")
    assert f(np.zeros(8, np.complex128)[::3]) == 3


@pytest.mark.row("P09")
def test_array_arguments():
    text = (
        "void f(int64_t n, const int64_t *x, int64_t *r) { for (int64_t i = 0; i < n; i++) r[i] = x[i] + 3; }"
    )
    f = from_c(text).function("void f(int64_t n, const int64_t x[n], int64_t r[n])", out="r")
    got = f(np.array([1, 2, 3]))
    assert got.dtype == np.int64
    assert got.tolist() == [4, 5, 6]
    assert f(np.array([], np.int64)).shape == (0,)
    for value in [1, 2, 3], (1, 2, 3), 5, None, "abc":
        error = refuses(TypeError, lambda value=value: f(value), "argument x", "got ")
        assert type(value).__name__ in str(error)


@pytest.mark.leak
@pytest.mark.row("P10")
def test_an_array_that_the_callee_allocates_is_freed_with_its_last_view():
    text = """
    int64_t live = 0;
    void f(int64_t n, const double *x, double **data, int64_t *shape)
    {
        *data = malloc(n ? n * sizeof(double) : 1);
        for (int64_t i = 0; i < n; i++)
            (*data)[i] = x[i] + 3;
        *shape = n;
        live++;
    }
    void give_back(void *data) { live--; free(data); }
    int64_t living(void) { return live; }
    """
    lib = from_c(text)
    f = lib.function(
        "void f(int64_t n, const double x[n], double **data, int64_t *shape)",
        returns={"data": (("shape",), "callee", "give_back")},
    )
    living = lib.function("int64_t living(void)")
    got = f(np.array([1.0, 2.0, 3.0]))
    assert got.tolist() == [4, 5, 6]
    assert type(got.base).__name__ == "PyCapsule"
    part = got[1:]
    del got
    gc.collect()
    assert living() == 1
    assert part.tolist() == [5, 6]
    del part
    gc.collect()
    assert living() == 0
    x = ar(100)
    keeps_nothing(lambda: f(x), 1000, (x,))
    assert living() == 0


# ---- optional arrays -----------------------------------------------------------------------------


@pytest.mark.row("P12")
def test_an_absent_optional_array_is_null():
    text = """
    void f(int64_t s, const double *x, double *r)
    {
        for (int i = 0; i < 3; i++)
            r[i] = x ? x[i * s] + 3 : 1;
    }
    """
    f = from_c(text).function(
        "void f(int64_t s, const double x[3], double r[3])",
        optional="x",
        out="r",
        strides={"s": ("x", "first")},
    )
    assert np.array_equal(f(), np.ones(3))
    assert np.array_equal(f(None), np.ones(3))
    assert np.array_equal(f(ar(3)), ar(3) + 3)
    assert np.array_equal(f(ar(6)[::-2]), ar(6)[::-2] + 3)
    refuses(TypeError, lambda: f([1.0, 2.0, 3.0]), "argument x")
    refuses(ValueError, lambda: f(ar(4)), "argument x is 4", "must be 3")


@pytest.mark.row("P07i")
def test_an_optional_array_in_fortran_order():
    text = "double f(const double *x) { return x ? x[1] : -1; }"
    f = from_c(text).function("double f(const double x[2][3])", optional="x", order="F")
    x = ar(2, 3)
    assert f() == -1
    assert f(np.asfortranarray(x)) == x[1, 0]
    refuses(TypeError, lambda: f(x), "argument x", "order")


# ---- checks --------------------------------------------------------------------------------------


@pytest.mark.row("P22")
def test_all_faults_of_an_array_are_in_one_message():
    text = "double f(int64_t n, int64_t m, const double *x) { return x[0]; }"
    f = from_c(text).function("double f(int64_t n, int64_t m, const double x[n][m])")
    wrong = np.asfortranarray(np.ones((2, 3, 4), np.int32))
    faults = "dtype is int32, not float64", "rank is 3, not 2", "ordering is F, not C"
    refuses(TypeError, lambda: f(wrong), "argument x", *faults)
    assert f(np.full((2, 3), 5.0)) == 5
    refuses(TypeError, lambda: f(np.ones((2, 3), np.float32)), "argument x", "dtype is float32, not float64")
    refuses(TypeError, lambda: f(np.ones(3)), "argument x", "rank is 1, not 2")
    refuses(TypeError, lambda: f(np.asfortranarray(np.ones((2, 3)))), "argument x", "order")
    refuses(TypeError, lambda: f(np.ones((2, 3), ">f8")), "argument x", "dtype is >f8")


@pytest.mark.row("P22")
def test_rank_one_has_no_order():
    text = "double f(int64_t n, const double *x) { return x[0]; }"
    for order in "C", "F":
        f = from_c(text).function("double f(int64_t n, const double x[n])", order=order)
        assert f(np.array([5.0, 6.0])) == 5


@pytest.mark.row("P23")
def test_fortran_order_is_asked_for():
    text = "double f(int64_t n, int64_t m, const double *x) { return x[1]; }"
    f = from_c(text).function("double f(int64_t n, int64_t m, const double x[n][m])", order="F")
    x = ar(2, 3)
    assert f(np.asfortranarray(x)) == x[1, 0]
    assert f(ar(3, 2).T) == 1
    refuses(TypeError, lambda: f(x), "argument x", "order")


def test_what_is_not_contiguous_aligned_or_writeable_is_refused():
    lib = from_c(
        "double f(int64_t n, const double *x) { return x[0]; }\nvoid g(int64_t n, double *x) { x[0] = 1; }"
    )
    f = lib.function("double f(int64_t n, const double x[n])")
    g = lib.function("void g(int64_t n, double x[n])")
    refuses(ValueError, lambda: f(ar(6)[::2]), "argument x is not contiguous: its strides are (16,) bytes")
    skewed = np.frombuffer(bytes(17), np.uint8)[1:].view(np.float64)
    refuses(ValueError, lambda: f(skewed), "argument x is not aligned")
    fixed = ar(3)
    fixed.flags.writeable = False
    assert f(fixed) == 0
    refuses(ValueError, lambda: g(fixed), "argument x is written, but is read-only")


def test_contradicting_dims_are_named():
    lib = from_c("double f(int n, const double *x, const double *y) { return n; }")
    f = lib.function("double f(int n, const double x[n], const double y[n])")
    assert f(ar(3), ar(3)) == 3
    refuses(ValueError, lambda: f(ar(3), ar(4)), "argument y is 4", "must be 3 (n")


def test_a_dim_that_an_int_cannot_hold():
    lib = from_c("double f(int8_t n, const double *x) { return n; }")
    f = lib.function("double f(int8_t n, const double x[n])")
    assert f(ar(127)) == 127
    refuses(ValueError, lambda: f(ar(128)), "n would be 128, which is out of range of its type int8")


def test_shapes_come_from_the_declaration():
    text = """
    void matmul(int m, int n, int k, const double *A, const double *B, double *C)
    {
        for (int i = 0; i < m; i++)
            for (int j = 0; j < n; j++) {
                C[i * n + j] = 0;
                for (int l = 0; l < k; l++)
                    C[i * n + j] += A[i * k + l] * B[l * n + j];
            }
    }
    """
    f = from_c(text).function(
        "void matmul(int m, int n, int k, const double A[m][k], const double B[k][n], double C[m][n])",
        out="C",
    )
    a, b = ar(3, 4), ar(4, 5)
    assert np.array_equal(f(a, b), a @ b)
    assert f(ar(0, 4), b).shape == (0, 5)
    refuses(ValueError, lambda: f(a, ar(3, 5)), "argument B is 3", "must be 4 (k")


# ---- written in place, and new -------------------------------------------------------------------


@pytest.mark.row("P24")
def test_a_strided_argument_is_written_where_it_is_and_nowhere_else():
    f = totals().function("void set" + ONE.format("double", ", double value"), strides={"s": ("x", "first")})
    x = np.ones((2, 3, 4))
    wanted = x.copy()
    wanted[0, :, 3] = 7
    f(x[0, :, 3], 7.0)
    assert np.array_equal(x, wanted)
    line = ar(9)
    f(line[8:2:-3], -1.0)
    assert line.tolist() == [0, 1, 2, 3, 4, -1, 6, 7, -1]


@pytest.mark.row("P25")
@pytest.mark.parametrize("order", ["C", "F"])
def test_flags_of_a_returned_array(order):
    text = """
    void f(int64_t n, int64_t m, const double *x, double *r)
    {
        for (int64_t i = 0; i < n * m; i++)
            r[i] = i;
    }
    """
    f = from_c(text).function(
        "void f(int64_t n, int64_t m, const double x[n][m], double r[n][m])", out="r", order=order
    )
    r = f(np.zeros((2, 3), order=order))
    assert r.shape == (2, 3)
    assert r.flags.writeable
    assert r.flags.aligned
    assert r.flags.c_contiguous is (order == "C")
    assert r.flags.f_contiguous is (order == "F")
    assert np.array_equal(r, np.arange(6.0).reshape(2, 3, order=order))
    r[0, 0] = 5


# ---- an argument as the result -------------------------------------------------------------------

SAME = """
double *same(int64_t n, double *x) { return x; }
double *every_second(int64_t n, double *x) { return x; }
double *tail(int64_t n, double *x) { return x + 1; }
"""


def same() -> Any:
    return from_c(SAME).function("double *same(int64_t n, double x[n])", returns=("n", "argument"))


@pytest.mark.row("P38", "P44")
def test_a_returned_argument_is_a_new_array_on_the_same_memory():
    f, x = same(), ar(5)
    got = f(x)
    assert got is not x
    assert np.shares_memory(got, x)
    assert np.array_equal(got, x)
    got[2] = -7
    assert x[2] == -7
    tail = from_c(SAME).function("double *tail(int64_t n, double x[n])", returns=("n - 1", "argument"))
    assert np.array_equal(tail(x), x[1:])
    assert np.shares_memory(tail(x), x)


@pytest.mark.row("P39")
def test_its_base_keeps_the_argument_alive():
    f, x = same(), np.arange(5.0)
    before = sys.getrefcount(x)
    got = f(x)
    assert got.base is x
    assert sys.getrefcount(x) == before + 1
    part = got[::2]
    del got
    assert sys.getrefcount(x) == before + 1
    assert part.base is x
    del part
    assert sys.getrefcount(x) == before
    survivor = f(ar(5))
    gc.collect()
    assert np.array_equal(survivor, ar(5))


@pytest.mark.row("P39")
def test_the_base_of_a_returned_view_is_its_owner():
    f, owner = same(), np.arange(10.0)
    view = owner[2:6]
    before = sys.getrefcount(owner), sys.getrefcount(view)
    got = f(view)
    assert got.base is owner
    assert (sys.getrefcount(owner), sys.getrefcount(view)) == (before[0] + 1, before[1])
    assert np.array_equal(got, view)
    del got
    assert sys.getrefcount(owner) == before[0]


def test_null_where_an_array_was_promised():
    f = from_c("double *f(int64_t n, double *x) { return NULL; }").function(
        "double *f(int64_t n, double x[n])", returns=("n", "argument")
    )
    with pytest.raises((ValueError, RuntimeError), match=r"f|NULL"):
        f(ar(3))


# ---- leading dimensions, broadcasting ------------------------------------------------------------


@pytest.mark.row("P19i")
def test_leading_dimensions():
    text = """
    double corner(int m, int n, const double *A, int lda) { return A[(m - 1) * lda + n - 1]; }
    """
    f = from_c(text).function(
        "double corner(int m, int n, const double A[m][n], int lda)", strides={"lda": ("A", 0)}
    )
    A = ar(5, 6)
    assert f(A) == A[-1, -1]
    assert f(A[1:4, 2:5]) == A[3, 4]
    refuses(ValueError, lambda: f(A[:, ::2]), "argument A is not contiguous: its strides are (48, 16) bytes")


def test_a_scalar_function_broadcasts():
    f = from_c("double hyp(double x, double y) { return x * x + y * y; }").function(
        "double hyp(double x, double y)", broadcast=True
    )
    x, y = ar(3, 1), ar(4)
    assert np.array_equal(f(x, y), x * x + y * y)
    assert f(3.0, 4.0) == 25
