"""What C writes: lengths that count after the call, structs that it fills, a status that is a result, too."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from helpers import refuses, same
from library_tools import from_c

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
        ("void primes(int64_t *n, double y[n])", {"out": "n"}),  # C would read it, and get a zero
        ("void primes(int64_t *n, double y[2 * n + 1])", {"out": ("n", "y")}),
        ("void keep(int64_t *n, const double x[n], double y[n])", {"out": ("n", "y")}),
        ("void word(size_t *n, char text[n])", {"out": ("n", "text")}),
    ],
)
def test_what_c_writes_is_no_length_before_the_call(lib, declaration, options):
    refuses(
        ValueError, lambda: lib.function(declaration, **options), "out= names n", "before the call", "inout="
    )
    with pytest.raises(ValueError, match="before the call"):
        lib.declare(declaration + ";", options={declaration.split("(")[0].split()[-1]: options})


@pytest.mark.quick
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
    assert ramp(7)[0].shape == (8,)  # nothing was as long before: C may say more
    part = lib.function("double *part(int64_t *n, double x[n])", inout="n", returns=("n", "argument"))
    assert part(5, np.arange(5.0))[0].tolist() == [1.0, 2.0]
    refuses(ValueError, lambda: part(1, np.arange(1.0)), "n is 2 after the call", "made for 1")
    twice = lib.function(
        "void twice(int64_t *n, const double x[n], double **made)", returns=("n", "callee", "count_free")
    )
    assert twice(np.array([1.0, 2.0])).tolist() == [1.0, 1.0, 2.0, 2.0]
    del r
    assert lib.freed == 3


@pytest.mark.quick
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
    refuses(ValueError, lambda: locate(-2.0), "t.find(): status 1")  # the name that Python knows
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
    """A routine that returns early has written nothing: nothing of other memory is seen."""
    nothing = from_c("void nothing(int n, double *y) {}").function(
        "void nothing(int n, double y[n][3])", out="y", order=order
    )
    for n in (1, 20, 1000, 100_000):
        junk = [np.full((n, 3), 7.25e7) for _ in range(5)]
        del junk
        made = nothing(n)
        assert made.shape == (n, 3) and made.flags[f"{order}_CONTIGUOUS"] and not made.any()
