"""Tests what C writes: lengths that count after the call, structs that it fills, a status as a result."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from helpers import ar, refuses, same
from library_tools import from_c
from numpy.lib.stride_tricks import as_strided

TEXT = """
int freed = 0;
void count_free(void *p) { freed++; free(p); }

/* Reads *n as the room there is, writes how much of it was used. */
void primes(int64_t *n, double y[])
{
    int64_t found = 0;
    for (int64_t k = 2; k < 12 && found < *n; k++) {
        int64_t d = 2;
        while (d < k && k % d) d++;
        if (d == k) y[found++] = k;
    }
    *n = found;
}
void set(int64_t *n, double y[], int64_t to) { *n = to; }
void keep(int64_t *n, const double x[], double y[])
{
    int64_t m = 0;
    for (int64_t i = 0; i < *n; i++) if (x[i] > 0) y[m++] = x[i];
    *n = m;
}
void corner(int *n, int *m, double y[]) /* y[n][m] */
{
    for (int i = 0; i < *n; i++) for (int j = 0; j < *m; j++) y[i * *m + j] = 10 * i + j;
    *n -= 1; *m -= 2;
}
void word(size_t *n, char text[]) { text[0] = 'o'; text[1] = 'k'; *n = 2; }
double *ramp(int64_t *n)
{
    double *made = malloc(100 * sizeof(double));
    for (int i = 0; i < 100; i++) made[i] = i;
    *n = *n == 0 ? 5 : *n + 1;
    return made;
}
double *part(int64_t *n, double x[]) { *n = 2; return x + 1; }
void twice(int64_t *n, const double x[], double **made)
{
    *made = malloc((2 * *n + 1) * sizeof(double));
    for (int64_t i = 0; i < 2 * *n; i++) (*made)[i] = x[i / 2];
    *n = 2 * *n;
}

struct point { double x, y; };
int locate(double x, struct point *p) { p->x = x; p->y = 2 * x; return x < 0; }
typedef struct opaque_ opaque;
void fill(opaque *o) { (void)o; }
void solve(double x, double *y, int *info) { *y = 2 * x; *info = x < 0 ? -1 : x > 100; }
const char *words(int status) { return status < 0 ? "negative" : "large"; }
"""


@pytest.fixture
def lib():
    return from_c(TEXT)


# ---- lengths -----------------------------------------------------------------------------------------


@pytest.mark.row("G20")
@pytest.mark.parametrize(
    ("declaration", "options"),
    [
        ("void primes(int64_t *n, double y[n])", {"out": ("n", "y")}),
        ("void primes(int64_t *n, double y[n])", {"out": "n"}),  # C would read a zero from it
        ("void primes(int64_t *n, double y[2 * n + 1])", {"out": ("n", "y")}),
        ("void keep(int64_t *n, const double x[n], double y[n])", {"out": ("n", "y")}),
        ("void word(size_t *n, char text[n])", {"out": ("n", "text")}),
    ],
)
def test_what_c_writes_is_no_length_before_the_call(lib, declaration, options):
    refuses(ValueError, lambda: lib.function(declaration, **options), "out= names n", "before the call")
    with pytest.raises(ValueError, match="before the call"):
        lib.declare(declaration + ";", options={declaration.split("(")[0].split()[-1]: options})


@pytest.mark.row("G20")
def test_an_inout_length_is_the_room_before_and_cuts_the_result_after(lib):
    primes = lib.function("void primes(int64_t *n, double y[n])", inout="n", out="y")
    n, y = primes(9)
    assert n == 5 and same(y, np.array([2.0, 3.0, 5.0, 7.0, 11.0]))
    assert primes(2)[1].tolist() == [2.0, 3.0]
    assert primes(0)[1].shape == (0,)
    assert y.flags.writeable and y.flags.c_contiguous

    keep = lib.function("void keep(int64_t *n, const double x[n], double y[n])", inout="n", out="y")
    assert keep(4, np.array([1.0, -1.0, 3.0, -2.0]))[1].tolist() == [1.0, 3.0]
    refuses(ValueError, lambda: keep(5, np.ones(4)), "dim 0 of argument x is 4", "n is 5")

    corner = lib.function("void corner(int *n, int *m, double y[n][m])", inout=("n", "m"), out="y")
    n, m, y = corner(3, 4)
    assert (n, m) == (2, 2) and y.tolist() == [[0.0, 1.0], [10.0, 11.0]]
    refuses(ValueError, lambda: corner(3, 1), "m is -1 after the call", "made for 1")

    word = lib.function("void word(size_t *n, char text[n])", inout="n", out="text")
    n, text = word(10)
    assert n == 2 and text == "ok"


@pytest.mark.row("G20")
def test_an_array_that_the_caller_gave_stays_as_it_is(lib):
    primes = lib.function("void primes(int64_t *n, double y[n])", inout="n")
    y = np.zeros(8)
    assert primes(8, y) == 5
    assert y.tolist() == [2.0, 3.0, 5.0, 7.0, 11.0, 0.0, 0.0, 0.0]
    refuses(ValueError, lambda: primes(9, y), "dim 0 of argument y is 8", "n is 9")


@pytest.mark.row("G20")
@pytest.mark.parametrize("to", [-1, 5, 2**62])
def test_more_than_there_was_room_for_is_refused(lib, to):
    f = lib.function("void set(int64_t *n, double y[n], int64_t to)", inout="n", out="y")
    assert f(4, 4)[1].shape == (4,)
    refuses(ValueError, lambda: f(4, to), f"n is {to} after the call", "made for 4")


@pytest.mark.quick
@pytest.mark.row("G20")
def test_a_returned_array_has_the_length_from_after_the_call(lib):
    lib.variable("int freed")
    ramp = lib.function("double *ramp(int64_t *n)", out="n", returns=("n", "callee", "count_free"))
    r, n = ramp()
    assert n == 5 and r.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    ramp = lib.function("double *ramp(int64_t *n)", inout="n", returns=("n", "callee", "count_free"))
    assert ramp(7)[0].shape == (8,)  # no array had that length before, so C may return more
    part = lib.function("double *part(int64_t *n, double x[n])", inout="n", returns=("n", "argument"))
    assert part(5, np.arange(5.0))[0].tolist() == [1.0, 2.0]
    refuses(ValueError, lambda: part(1, np.arange(1.0)), "n is 2 after the call", "made for 1")
    twice = lib.function(
        "void twice(int64_t *n, const double x[n], double **made)", returns=("n", "callee", "count_free")
    )
    assert twice(np.array([1.0, 2.0])).tolist() == [1.0, 1.0, 2.0, 2.0]
    del r
    assert lib.freed == 3


def test_what_the_callee_gave_is_freed_when_its_length_is_no_length(lib):
    lib.variable("int freed")
    f = lib.function("double *ramp(int64_t *n)", inout="n", returns=("n - 20", "callee", "count_free"))
    refuses(ValueError, lambda: f(7), "-12")
    assert lib.freed == 1


# ---- structs and statuses ----------------------------------------------------------------------------


def test_a_struct_that_c_fills_is_a_result(lib):
    point = lib.struct("struct point { double x, y; }")
    locate = lib.function("int locate(double x, struct point *p)", out="p", check=ValueError, name="find")
    p = locate(2.0)
    assert type(p) is point and (p.x, p.y) == (2.0, 4.0)
    assert p != locate(2.0)
    gone = weakref.ref(p)
    refuses(ValueError, lambda: locate(-2.0), "t.find(): status 1")  # with Python's name of it
    del p
    gc.collect()
    assert gone() is None
    refuses(ValueError, lambda: lib.function("int locate(double x, const struct point *p)", out="p"), "const")
    refuses(
        ValueError, lambda: lib.function("int locate(double x, struct point *p)", out="x"), "out= names x"
    )
    lib.handle("opaque *")
    refuses(ValueError, lambda: lib.function("void fill(opaque *o)", out="o"), "opaque")


@pytest.mark.quick
@pytest.mark.row("P14i")
def test_a_status_that_out_names_is_a_result_too(lib):
    declaration = "void solve(double x, double *y, int *info)"
    solve = lib.function(declaration, out=("y", "info"), check={"info": "words"}, name="run")
    assert solve(2.0) == (4.0, 0)
    refuses(RuntimeError, lambda: solve(-2.0), "t.run(): negative")
    assert lib.function(declaration, out="y", check={"info": "words"})(2.0) == 4.0

    def only_negative(status):
        if status < 0:
            raise ArithmeticError(f"status {status}")

    lenient = lib.function(declaration, out=("y", "info"), check={"info": only_negative})
    assert lenient(200.0) == (400.0, 1)
    refuses(ArithmeticError, lambda: lenient(-1.0), "status -1")


def test_messages_about_a_status_have_the_name_that_python_knows(lib):
    point = lib.struct(
        "struct point { double x, y; }",
        methods={"place": ("int locate(double x, struct point *p)", {"check": "words"})},
    )
    refuses(RuntimeError, lambda: point.place(-1.0, point()), "t.point.place(): large")


@pytest.mark.row("G20")
@pytest.mark.parametrize("order", ["C", "F"])
def test_new_arrays_begin_as_zeros(order):
    """A routine that returns early writes nothing; old memory must not show."""
    nothing = from_c("void nothing(int n, double *y) {}").function(
        "void nothing(int n, double y[n][3])", out="y", order=order
    )
    for n in (1, 20, 1000, 100_000):
        junk = [np.full((n, 3), 7.25e7) for _ in range(5)]
        del junk
        made = nothing(n)
        assert made.shape == (n, 3) and made.flags[f"{order}_CONTIGUOUS"] and not made.any()


SHIFTS = """
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
def shifts():
    return from_c(SHIFTS)


@pytest.mark.row("G20")
def test_a_const_input_and_an_output_are_separate(shifts):
    declaration = "void shift(int64_t n, const double x[n], double y[n])"
    shift = shifts.function(declaration)
    x = ar(8)
    for one, other in ((x, x), (x[:5], x[3:]), (x[1:], x[:-1])):
        refuses(ValueError, lambda a=one, b=other: shift(a, b), "argument y shares memory with argument x")
    assert x.tolist() == list(range(8))
    shift(x[:4], x[4:])
    assert x.tolist() == [0, 1, 2, 3, 1, 2, 3, 4]
    in_place = shifts.function(declaration, overlap="allow", name="in_place")
    in_place(x, x)
    assert x.tolist() == [1, 2, 3, 4, 2, 3, 4, 5]
    refuses(ValueError, lambda: shifts.function(declaration, overlap="yes"), "overlap must be", "'yes'")


@pytest.mark.row("G20")
def test_two_outputs_are_separate_and_inputs_need_not_be(shifts):
    swap = shifts.function("void swap(int64_t n, double x[n], double y[n])")
    dot = shifts.function("double dot(int64_t n, const double x[n], const double y[n])")
    x = ar(6)
    refuses(ValueError, lambda: swap(x, x), "argument x shares memory with argument y")
    refuses(ValueError, lambda: swap(x[1:4], x[3:]), "shares memory")
    swap(x[:3], x[3:])
    assert x.tolist() == [3, 4, 5, 0, 1, 2]
    assert dot(x, x) == 55


@pytest.mark.quick
@pytest.mark.row("G20")
def test_views_that_interleave_are_separate(shifts):
    shift = shifts.function(
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
def test_buffers_and_arrays_count_alike(shifts):
    copy = shifts.function("void bytes(size_t n, const void from[n], size_t m, void to[m])")
    memory = bytearray(16)
    view = memoryview(memory)
    copy(view[:8], view[8:])
    refuses(ValueError, lambda: copy(view[:9], view[8:]), "argument to shares memory with argument from")
    array = np.frombuffer(memory, np.float64)
    refuses(ValueError, lambda: copy(array, memory), "shares memory")


@pytest.mark.quick
@pytest.mark.row("G20")
def test_an_output_has_memory_for_each_item(shifts):
    shift = shifts.function(
        "void shift_strided(int64_t n, const double x[n], int64_t sx, double y[n], int64_t sy)",
        strides={"sx": "x", "sy": "y"},
    )
    flat = np.zeros(9)
    for y in (as_strided(flat, (4,), (0,)), as_strided(flat, (1, 4), (8, 0))[0]):
        refuses(ValueError, lambda y=y: shift(ar(4), y), "strides are zero or overlap")
    shift(np.broadcast_to(np.float64(3), (4,)), flat[:4])  # an input may have zero strides
    assert flat.tolist() == [4, 4, 4, 4, 0, 0, 0, 0, 0]
    set2 = shifts.function(
        "void set2(int64_t n, int64_t m, double A[n][m], int64_t lda, double value)",
        strides={"lda": ("A", 0)},
        overlap="allow",  # allows overlap between arguments, not within one
    )
    for strides in ((0, 8), (8, 8), (16, 8)):
        refuses(ValueError, lambda strides=strides: set2(as_strided(flat, (3, 3), strides), 1.0), "overlap")
    set2(flat.reshape(3, 3)[:, :2], 5.0)
    assert flat.tolist() == [5, 5, 4, 5, 5, 0, 5, 5, 0]


@pytest.mark.quick
@pytest.mark.row("G20")
@pytest.mark.parametrize("name", ["incx", "step"])
def test_a_negative_stride_means_what_was_said_whatever_its_name(shifts, name):
    for function, which in (("plain", "first"), ("blas_like", "lowest")):
        text = f"double {function}(int64_t n, const double x[n], int64_t {name})"
        for strides in ("x", ("x", 0)):
            f = shifts.function(text, strides={name: strides})
            assert f(ar(8)[1:6:2]) == 135
            assert f(ar(8)[2:3][::-1]) == 2  # a single item has no direction
            assert f(ar(0)[::-1]) == 0
            refuses(
                ValueError,
                lambda f=f: f(ar(8)[::-1]),
                '"first"',
                '"lowest"',
                "argument x runs backwards",
                name,
            )
        assert shifts.function(text, strides={name: ("x", which)})(ar(8)[5:0:-2]) == 531
        assert shifts.function(text, strides={name: ("x", 0, which)})(ar(8)[::-3]) == 741


@pytest.mark.row("G20")
def test_each_axis_has_a_meaning_of_its_own(shifts):
    f = shifts.function(
        "double mixed(int64_t n, int64_t m, const double x[n][m], int64_t sn, int64_t sm)",
        strides={"sn": ("x", 0, "lowest"), "sm": ("x", 1, "first")},
    )
    x = ar(3, 2)  # 0 1, 2 3, 4 5
    assert f(x) == 100 * 0 + 10 * 4 + 1
    assert f(x[::-1]) == 100 * 4 + 10 * 0 + 5
    assert f(x[:, ::-1]) == 100 * 1 + 10 * 5 + 0
    assert f(x[::-1, ::-1]) == 100 * 5 + 10 * 1 + 4


@pytest.mark.row("G20")
def test_broadcasting_functions_say_it_too(shifts):
    text = "double blas_like(int64_t n, const double x[n], int64_t incx)"
    x = ar(2, 5)
    f = shifts.function(text, strides={"incx": ("x", "lowest")}, broadcast=True)
    assert f(x[:, ::-2]).tolist() == [420, 975]
    unsaid = shifts.function(text, strides={"incx": "x"}, broadcast=True)
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
