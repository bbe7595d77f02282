"""Who owns what a library's functions return: bases, capsules, reference lists; nothing leaks or dangles."""

from __future__ import annotations

import gc
import sys
import threading
import warnings

import numpy as np
import pytest
from helpers import eventually
from leaks import keeps_nothing

import cwrapjit as cj

SOURCE = """
#include <stdlib.h>
#include <stdint.h>

int freed = 0;
void count_free(void *p) { freed++; free(p); }

void plus3(int64_t n, const int64_t x[], int64_t **out, int64_t *size) {
    int64_t *made = malloc((n + 1) * sizeof *made);
    for (int64_t i = 0; i < n; i++) made[i] = x[i] + 3;
    *out = made; *size = n;
}
double *ramp(int64_t n) {
    double *made = malloc((n + 1) * sizeof *made);
    for (int64_t i = 0; i < n; i++) made[i] = i;
    return made;
}
double *same(int64_t n, double x[]) { return x; }
double *half(int64_t n, double x[]) { return x + n / 2; }
double *either(int64_t n, double x[], double y[]) { return x[0] < y[0] ? x : y; }

typedef struct { double x[4]; double *held; int64_t n; double *old; } box;
double *box_x(box *b) { return b->x; }
void box_hold(box *b, double a[], int64_t n) { b->old = b->held; b->held = a; b->n = n; }
double box_sum(const box *b) {
    double r = 0;
    for (int64_t i = 0; i < b->n; i++) r += b->held[i] + (b->old ? b->old[i] : 0);
    return r;
}
box *box_smaller(box *a, box *b) { return a->x[0] < b->x[0] ? a : b; }
box *box_new(void) { return calloc(1, sizeof(box)); }
"""


@pytest.fixture
def lib(tmp_path):
    path = tmp_path / "owners.c"
    path.write_text(SOURCE)
    made = cj.library("owners", sources=[path])
    made.struct(
        "typedef struct { double x[4]; double *held; int64_t n; double *old; } box",
        arrays={"held": "n"},
        methods=[
            ("double *box_x(box *b)", {"returns": (4, "instance"), "name": "values"}),
            ("void box_hold(box *b, double a[n], int64_t n)", {"keeps": "a"}),
            "double box_sum(const box *b)",
        ],
        free="count_free",
    )
    return made


# ---- what the callee allocates -----------------------------------------------------------------------


def plus3(lib):
    return lib.function(
        "void plus3(int64_t n, const int64_t x[n], int64_t **out, int64_t *size)",
        returns=("size", "callee", "count_free"),
    )


@pytest.mark.leak
@pytest.mark.row("P10")
def test_a_callee_allocated_result_is_freed_with_the_array(lib):
    f = plus3(lib)
    lib.variable("int freed")
    r = f(np.array([1, 2, 3]))
    assert r.tolist() == [4, 5, 6]
    assert type(r.base).__name__ == "PyCapsule"
    view = r[1:]
    del r
    assert lib.freed == 0 and view.tolist() == [5, 6]
    del view
    assert lib.freed == 1
    x = np.arange(1000)
    made = lib.freed
    keeps_nothing(lambda: f(x), 500, (x,))
    assert lib.freed >= made + 600
    assert f(np.array([], np.int64)).shape == (0,)


@pytest.mark.leak
def test_a_returned_pointer_is_freed_with_the_array(lib):
    f = lib.function("double *ramp(int64_t n)", returns=("n", "callee", "count_free"))
    lib.variable("int freed")
    r = f(4)
    assert r.tolist() == [0.0, 1.0, 2.0, 3.0] and r.flags.writeable
    assert type(r.base).__name__ == "PyCapsule"
    del r
    assert lib.freed == 1
    keeps_nothing(lambda: f(100), 500)


# ---- what arguments own ------------------------------------------------------------------------------


@pytest.mark.row("P38", "P44")
def test_returning_an_argument_gives_a_new_array_over_the_same_memory(lib):
    f = lib.function("double *same(int64_t n, double x[n])", returns=("n", "argument"))
    x = np.arange(4.0)
    r = f(x)
    assert np.shares_memory(r, x)
    assert r is not x
    r[0] = 9.0
    assert x[0] == 9.0


@pytest.mark.leak
@pytest.mark.row("P39")
def test_the_base_keeps_the_argument_alive(lib):
    f = lib.function("double *same(int64_t n, double x[n])", returns=("n", "argument"))
    h = lib.function("double *half(int64_t n, double x[n])", returns=("n/2", "argument"))
    x = np.arange(8.0)
    before = sys.getrefcount(x)
    r = f(x)
    assert r.base is x
    assert sys.getrefcount(x) == before + 1
    del r
    assert sys.getrefcount(x) == before
    view = x[2:6]
    r = f(view)
    assert r.base is x  # the view's owner
    assert sys.getrefcount(x) == before + 2  # view, r
    r2 = r[::2]
    del view, r
    assert r2.tolist() == [2.0, 4.0] and r2.base is x
    del r2
    assert sys.getrefcount(x) == before
    assert h(np.arange(8.0)).tolist() == [4.0, 5.0, 6.0, 7.0]
    keeps_nothing(lambda: f(x), 500, (x,))


@pytest.mark.row("P41")
def test_several_possible_targets_warn_and_are_all_kept(lib):
    with pytest.warns(UserWarning, match="x, y"):
        f = lib.function("double *either(int64_t n, double x[n], double y[n])", returns=("n", "argument"))
    x, y = np.zeros(3), np.ones(3)
    counts = sys.getrefcount(x), sys.getrefcount(y)
    r = f(x, y)
    assert np.shares_memory(r, x)
    assert all(any(each is a for each in r.base) for a in (x, y))
    assert (sys.getrefcount(x), sys.getrefcount(y)) == (counts[0] + 1, counts[1] + 1)
    del r
    assert (sys.getrefcount(x), sys.getrefcount(y)) == counts
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        g = lib.function(
            "double *either(int64_t n, double x[n], double y[n])", returns=("n", "argument", "x")
        )
    assert g(x, y).base is x


# ---- what instances own ------------------------------------------------------------------------------


@pytest.mark.leak
@pytest.mark.row("P40")
def test_an_array_attribute_keeps_its_instance(lib):
    a = lib.box(x=[1, 2, 3, 4])
    count = sys.getrefcount(a)
    b, c = a.x, a.values()
    assert b.base is a and c.base is a
    assert np.shares_memory(b, c)
    assert sys.getrefcount(a) == count + 2
    del a
    gc.collect()
    assert b[0] == 1.0 and c[3] == 4.0
    keep = lib.box(x=5)
    count = sys.getrefcount(keep)
    keeps_nothing(lambda: (keep.x, keep.values()), 500, (keep,))
    assert sys.getrefcount(keep) == count


@pytest.mark.leak
@pytest.mark.row("P42", "P43")
def test_a_class_pointer_keeps_all_possible_targets(lib):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        f = lib.function("box *box_smaller(box *a, box *b)")
    a1, a2 = lib.box(x=1), lib.box(x=2)
    counts = sys.getrefcount(a1), sys.getrefcount(a2)
    r = f(a1, a2)
    assert type(r) is lib.box and r is not a1 and r == a1
    assert r.referenced_objects == [a1, a2]
    assert all(given is kept for given, kept in zip((a1, a2), r.referenced_objects, strict=True))
    assert (sys.getrefcount(a1), sys.getrefcount(a2)) == (counts[0] + 1, counts[1] + 1)
    del r
    gc.collect()
    assert (sys.getrefcount(a1), sys.getrefcount(a2)) == counts
    keeps_nothing(lambda: f(a1, a2), 500, (a1, a2))


@pytest.mark.row("P10i")
def test_arguments_that_an_instance_holds_live_as_long_as_it(lib):
    b = lib.box()
    first, second = np.ones(3), np.full(3, 2.0)
    counts = sys.getrefcount(first), sys.getrefcount(second)
    b.hold(first)
    assert sys.getrefcount(first) == counts[0] + 1
    assert b.held.tolist() == [1.0] * 3
    b.hold(a=second)
    assert (sys.getrefcount(first), sys.getrefcount(second)) == (counts[0] + 1, counts[1] + 1)
    assert b.referenced_objects[0] is first and b.referenced_objects[1] is second
    assert b.sum() == 9.0
    del b
    gc.collect()
    assert (sys.getrefcount(first), sys.getrefcount(second)) == counts
    with pytest.raises(AttributeError, match="Can't reallocate memory"):
        lib.box().held = first


@pytest.mark.leak
def test_objects_that_c_gave_away_are_freed_once(lib):
    new = lib.function("box *box_new(void)", returns="callee")
    lib.variable("int freed")
    b = new()
    b.x[1] = 3.0
    x = b.x
    with pytest.raises(BufferError):
        b.close()
    del b
    gc.collect()
    assert lib.freed == 0 and x[1] == 3.0
    del x
    gc.collect()
    assert lib.freed == 1
    keeps_nothing(new, 500)
    made = lib.freed
    lib.box()
    assert lib.freed == made  # memory of Python's is not C's to free


def test_close_waits_for_no_call_and_ends_no_running_one(lib, tmp_path):
    (tmp_path / "slow.c").write_text(
        """
        #include <stdlib.h>
        #include <unistd.h>
        typedef struct { int value; } slow;
        volatile int entered, leave;
        slow *slow_new(int value) { slow *s = malloc(sizeof *s); s->value = value; return s; }
        int slow_get(slow *s) { entered = 1; while (!leave) usleep(500); return s->value; }
        void slow_free(slow *s) { s->value = -1; free(s); }
        """
    )
    slow = cj.library("slow", sources=[tmp_path / "slow.c"]).declare("extern int entered, leave;")
    cls = slow.handle(
        "slow *", init="slow *slow_new(int value)", free="slow_free", methods=["int slow_get(slow *s)"]
    )
    s = cls(7)
    found = []
    thread = threading.Thread(target=lambda: found.append(s.get()))
    thread.start()
    try:
        assert eventually(lambda: slow.entered)
        with pytest.raises(RuntimeError, match="using"):
            s.close()
    finally:
        slow.leave = 1
        thread.join()
    assert found == [7]
    s.close()
