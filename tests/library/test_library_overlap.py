"""Arrays that C writes share no memory with others, and strides mean what somebody said."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import ar, refuses
from library_tools import from_c
from numpy.lib.stride_tricks import as_strided

TEXT = """
void shift(int64_t n, const double x[], double y[]) { for (int64_t i = 0; i < n; i++) y[i] = x[i] + 1; }
void swap(int64_t n, double x[], double y[])
{
    for (int64_t i = 0; i < n; i++) { double t = x[i]; x[i] = y[i]; y[i] = t; }
}
double dot(int64_t n, const double x[], const double y[])
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}
void shift_strided(int64_t n, const double x[], int64_t sx, double y[], int64_t sy)
{
    for (int64_t i = 0; i < n; i++) y[i * sy] = x[i * sx] + 1;
}
void set2(int64_t n, int64_t m, double A[], int64_t lda, double value)
{
    for (int64_t i = 0; i < n; i++) for (int64_t j = 0; j < m; j++) A[i * lda + j] = value;
}
void bytes(size_t n, const void *from, size_t m, void *to) { (void)n; (void)m; (void)from; (void)to; }
/* As BLAS: from the lowest address, whatever the sign. */
double blas_like(int64_t n, const double x[], int64_t incx)
{
    double sum = 0;
    const double *at = incx < 0 ? x - (n - 1) * incx : x;
    for (int64_t i = 0; i < n; i++) sum = 10 * sum + at[i * incx];
    return sum;
}
double plain(int64_t n, const double x[], int64_t sx)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum = 10 * sum + x[i * sx];
    return sum;
}
double mixed(int64_t n, int64_t m, const double x[], int64_t sn, int64_t sm)
{
    /* Axis 0 from its lowest address, axis 1 from its first. */
    const double *low = x + (sn < 0 ? -(n - 1) * sn : 0);
    return 100 * low[0] + 10 * low[(n - 1) * sn] + low[(m - 1) * sm];
}
"""


@pytest.fixture
def lib():
    return from_c(TEXT)


@pytest.mark.row("G20")
def test_a_const_input_and_an_output_are_separate(lib):
    declaration = "void shift(int64_t n, const double x[n], double y[n])"
    shift = lib.function(declaration)
    x = ar(8)
    for one, other in ((x, x), (x[:5], x[3:]), (x[1:], x[:-1])):
        refuses(
            ValueError,
            lambda a=one, b=other: shift(a, b),
            "t.shift()",
            "argument y shares memory with argument x",
        )
    assert x.tolist() == list(range(8))
    shift(x[:4], x[4:])
    assert x.tolist() == [0, 1, 2, 3, 1, 2, 3, 4]
    in_place = lib.function(declaration, overlap="allow", name="in_place")
    in_place(x, x)
    assert x.tolist() == [1, 2, 3, 4, 2, 3, 4, 5]
    refuses(ValueError, lambda: lib.function(declaration, overlap="yes"), "overlap must be", "'yes'")


@pytest.mark.row("G20")
def test_two_outputs_are_separate_and_inputs_need_not_be(lib):
    swap = lib.function("void swap(int64_t n, double x[n], double y[n])")
    dot = lib.function("double dot(int64_t n, const double x[n], const double y[n])")
    x = ar(6)
    refuses(ValueError, lambda: swap(x, x), "argument x shares memory with argument y")
    refuses(ValueError, lambda: swap(x[1:4], x[3:]), "shares memory")
    swap(x[:3], x[3:])
    assert x.tolist() == [3, 4, 5, 0, 1, 2]
    assert dot(x, x) == 55


@pytest.mark.quick
@pytest.mark.row("G20")
def test_views_that_interleave_are_separate(lib):
    shift = lib.function(
        "void shift_strided(int64_t n, const double x[n], int64_t sx, double y[n], int64_t sy)",
        strides={"sx": "x", "sy": ("y", "first")},
    )
    x = ar(10)
    shift(x[::2], x[1::2])
    assert x.tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    refuses(ValueError, lambda: shift(x[::3], x[:8:2]), "argument y shares memory with argument x")
    y = np.zeros(5)
    shift(x[:5], y[::-1])
    assert y.tolist() == [5, 4, 3, 2, 1]


@pytest.mark.row("G20")
def test_buffers_and_arrays_count_alike(lib):
    copy = lib.function("void bytes(size_t n, const void from[n], size_t m, void to[m])")
    memory = bytearray(16)
    view = memoryview(memory)
    copy(view[:8], view[8:])
    refuses(ValueError, lambda: copy(view[:9], view[8:]), "argument to shares memory with argument from")
    array = np.frombuffer(memory, np.float64)
    refuses(ValueError, lambda: copy(array, memory), "shares memory")


@pytest.mark.quick
@pytest.mark.row("G20")
def test_an_output_has_memory_for_each_item(lib):
    shift = lib.function(
        "void shift_strided(int64_t n, const double x[n], int64_t sx, double y[n], int64_t sy)",
        strides={"sx": "x", "sy": "y"},
    )
    flat = np.zeros(9)
    for y in (as_strided(flat, (4,), (0,)), as_strided(flat, (1, 4), (8, 0))[0]):
        refuses(
            ValueError, lambda y=y: shift(ar(4), y), "argument y is written", "strides are zero or overlap"
        )
    shift(np.broadcast_to(np.float64(3), (4,)), flat[:4])  # an input may
    assert flat.tolist() == [4, 4, 4, 4, 0, 0, 0, 0, 0]
    set2 = lib.function(
        "void set2(int64_t n, int64_t m, double A[n][m], int64_t lda, double value)",
        strides={"lda": ("A", 0)},
        overlap="allow",  # between arguments: not within one
    )
    for strides in ((0, 8), (8, 8), (16, 8)):
        with pytest.raises(ValueError, match="overlap"):
            set2(as_strided(flat, (3, 3), strides), 1.0)
    set2(flat.reshape(3, 3)[:, :2], 5.0)
    assert flat.tolist() == [5, 5, 4, 5, 5, 0, 5, 5, 0]


@pytest.mark.row("G20")
@pytest.mark.parametrize("name", ["incx", "step"])
def test_a_negative_stride_means_what_was_said_whatever_its_name(lib, name):
    for function, which in (("plain", "first"), ("blas_like", "lowest")):
        text = f"double {function}(int64_t n, const double x[n], int64_t {name})"
        for strides in ("x", ("x", 0)):
            f = lib.function(text, strides={name: strides})
            assert f(ar(8)[1:6:2]) == 135
            assert f(ar(8)[2:3][::-1]) == 2  # one item runs nowhere
            assert f(ar(0)[::-1]) == 0
            refuses(
                ValueError,
                lambda f=f: f(ar(8)[::-1]),
                '"first"',
                '"lowest"',
                "argument x runs backwards",
                name,
            )
        assert lib.function(text, strides={name: ("x", which)})(ar(8)[5:0:-2]) == 531
        assert lib.function(text, strides={name: ("x", 0, which)})(ar(8)[::-3]) == 741


@pytest.mark.row("G20")
def test_each_axis_has_a_meaning_of_its_own(lib):
    f = lib.function(
        "double mixed(int64_t n, int64_t m, const double x[n][m], int64_t sn, int64_t sm)",
        strides={"sn": ("x", 0, "lowest"), "sm": ("x", 1, "first")},
    )
    x = ar(3, 2)  # 0 1, 2 3, 4 5
    assert f(x) == 100 * 0 + 10 * 4 + 1
    assert f(x[::-1]) == 100 * 4 + 10 * 0 + 5
    assert f(x[:, ::-1]) == 100 * 1 + 10 * 5 + 0
    assert f(x[::-1, ::-1]) == 100 * 5 + 10 * 1 + 4


@pytest.mark.row("G20")
def test_broadcasting_functions_say_it_too(lib):
    text = "double blas_like(int64_t n, const double x[n], int64_t incx)"
    x = ar(2, 5)
    f = lib.function(text, strides={"incx": ("x", "lowest")}, broadcast=True)
    assert f(x[:, ::-2]).tolist() == [420, 975]
    unsaid = lib.function(text, strides={"incx": "x"}, broadcast=True)
    assert unsaid(x[:, ::2]).tolist() == [24, 579]
    refuses(ValueError, lambda: unsaid(x[:, ::-1]), "runs backwards", '"first"', '"lowest"')


STRUCTS = """
typedef struct series { double v[4]; double w; } series;
void delay(series *s, const double x[4]) { for (int i = 3; i >= 0; i--) s->v[i] = i ? x[i - 1] : 9; }
void load(const series *s, double x[4]) { for (int i = 0; i < 4; i++) x[i] = s->v[3 - i]; }
void add(series *to, const series *a, const series *b)
{
    for (int i = 0; i < 4; i++) to->v[i] = a->v[i] + b->v[i];
}
"""


@pytest.mark.quick
@pytest.mark.row("G20")
def test_an_array_in_a_struct_that_c_writes_is_no_second_argument() -> None:
    lib = from_c(STRUCTS)
    lib.struct("typedef struct series { double v[4]; double w; } series;")
    delay = lib.function("void delay(series *s, const double x[4])")
    load = lib.function("void load(const series *s, double x[4])", inout="x")
    s, other = lib.series(v=[1, 2, 3, 4]), lib.series(v=[1, 2, 3, 4])
    refuses(ValueError, lambda: delay(s, s.v), "argument s shares memory with argument x")
    refuses(ValueError, lambda: load(s, s.v), "argument x shares memory with argument s")
    assert s.v.tolist() == [1, 2, 3, 4]
    delay(s, other.v)
    assert s.v.tolist() == [9, 1, 2, 3]
    delay = lib.function("void delay(series *s, const double x[4])", overlap="allow", name="delay_in_place")
    delay(other, other.v)
    assert other.v[0] == 9


@pytest.mark.row("G20")
def test_structs_may_be_given_twice() -> None:
    lib = from_c(STRUCTS)
    lib.struct("typedef struct series { double v[4]; double w; } series;")
    add = lib.function("void add(series *to, const series *a, const series *b)")
    s = lib.series(v=[1, 2, 3, 4])
    add(s, s, s)
    assert s.v.tolist() == [2, 4, 6, 8]
