"""Tests who owns the results of library functions: bases, capsules, lists of references; no leaks."""

from __future__ import annotations

import contextlib
import gc
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from typing import Any

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
from helpers import python, refuses
from leaks import keeps_nothing
from library_tools import declared, from_c

import cwrapjit

SOURCE = """
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


@pytest.mark.quick
@pytest.mark.row("P15")
def test_an_owner_stays_open_while_c_uses_what_lies_in_it() -> None:
    text = (
        "typedef struct { double x; } pt; pt made(double x)%s pt *same(const pt *p)%s"
        "double meanwhile(const pt *p, void (*f)(void))%s"
    )
    lib = from_c(text % ("{ return (pt){x}; }", "{ return (pt *)p; }", "{ f(); return p->x; }"))
    lib.declare(text % (";", ";", ";"))
    one = lib.made(1.0)
    asked = []

    def close() -> None:
        refuses(RuntimeError, one.close, "a call is using this pt")
        asked.append(one.x)

    assert lib.meanwhile(one, close) == lib.meanwhile(lib.same(one), close) == 1
    assert asked == [1, 1]
    one.close()


@pytest.mark.quick
@pytest.mark.row("P15")
def test_an_owner_is_known_while_it_is_the_newest_and_afterwards() -> None:
    text = (
        "typedef struct { double x; } pt; pt made(double x)%s pt *same(const pt *p)%s pt *at(size_t place)%s"
    )
    lib = from_c(text % ("{ return (pt){x}; }", "{ return (pt *)p; }", "{ return (pt *)place; }"))
    lib.declare(text % (";", ";", ";"))
    for _ in range(3):
        one = lib.made(1.0)
        assert lib.same(one).__cwrapjit_base__ == (one,) and lib.at(one.address).__cwrapjit_base__ is one
        two, three = lib.made(2.0), lib.made(3.0)
        for each in one, two, three:
            assert lib.same(each).__cwrapjit_base__ == (each,)
            assert lib.at(each.address).__cwrapjit_base__ is each
        found, address = lib.same(three), three.address
        del each, two, three
        assert found.x == 3.0
        del found
        assert lib.at(address).__cwrapjit_base__ is not one
        one = lib.made(4.0)
        one.close()  # the newest owner still exists, but owns nothing
        later = [lib.made(4.0) for _ in range(100)]  # one of them reuses its address
        for each in later:
            assert lib.at(each.address).__cwrapjit_base__ is each


@pytest.fixture
def lib():
    made = from_c(SOURCE)
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


# ---- results that C allocates ------------------------------------------------------------------------


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


# ---- results that lie in arguments -------------------------------------------------------------------


@pytest.mark.quick
@pytest.mark.row("P38", "P39", "P44")
def test_returning_an_argument_gives_a_new_array_over_the_same_memory(lib):
    f = lib.function("double *same(int64_t n, double x[n])", returns=("n", "argument"))
    x = np.arange(4.0)
    count = sys.getrefcount(x)
    r = f(x)
    assert sys.getrefcount(x) == count + 1
    assert np.shares_memory(r, x) and r is not x and r.base is x
    r[0] = 9.0
    assert x[0] == 9.0
    del r
    assert sys.getrefcount(x) == count
    x.flags.writeable = False
    g = lib.function("double *same(int64_t n, const double x[n])", returns=("n", "argument"))
    assert not g(x).flags.writeable
    null = from_c("double *f(int64_t n) { return 0; }").function("double *f(int64_t n)", returns="n")
    refuses(RuntimeError, lambda: null(3), "the result is NULL where an array was promised")


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
    assert r.base is x  # the owner of the view
    assert sys.getrefcount(x) == before + 2  # by view and r
    r2 = r[::2]
    del view, r
    assert r2.tolist() == [2.0, 4.0] and r2.base is x
    del r2
    assert sys.getrefcount(x) == before
    assert h(np.arange(8.0)).tolist() == [4.0, 5.0, 6.0, 7.0]
    keeps_nothing(lambda: f(x), 500, (x,))


@pytest.mark.row("P41")
def test_several_possible_targets_warn_and_are_all_kept(lib):
    text = "double *either(int64_t n, double x[n], double y[n])"
    with pytest.warns(UserWarning, match="x, y"):
        f = lib.function(text, returns=("n", "argument"))
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
        g = lib.function(text, returns=("n", "argument", "x"))
    assert g(x, y).base is x


# ---- results that lie in instances -------------------------------------------------------------------


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
    refuses(AttributeError, lambda: setattr(lib.box(), "held", first), "Can't reallocate memory")


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
    assert lib.freed == made  # Python owns that memory


# A second free, a wrong context, or a context that is freed first counts as a fault.
TEXT = """
#include <stdlib.h>
typedef struct context { int alive, things; } context;
typedef struct thing { context *of; int number; struct thing *other; } thing;
int contexts = 0, things = 0, faults = 0;
context *context_new(void) { contexts++; context *c = calloc(1, sizeof *c); c->alive = 1; return c; }
void context_free(context *c)
{ if (!c->alive || c->things) faults++; c->alive = 0; contexts--; free(c); }
thing *thing_new(context *c, int number)
{
    if (number < 0) return 0;
    thing *t = calloc(1, sizeof *t); t->of = c; t->number = number; things++; c->things++; return t;
}
int thing_open(thing **made, context *c, int number)
{ *made = number < 0 ? (thing *)8 : thing_new(c, number); return number < 0 ? 7 : 0; }
thing *thing_twin(const thing *t, context *ctx) { return thing_new(ctx, t->number); }
thing *thing_alone(int number) { return 0; }
void thing_free(context *c, thing *t, int flags)
{ if (t->of != c || !c->alive || flags != 5) faults++; things--; c->things--; free(t); }
void thing_free_by(thing **t, context *c) { thing_free(c, *t, 5); *t = 0; }
void thing_free_sized(thing *t, size_t size, double scale)
{ if (size != 40 || scale != 2.5) faults++; things--; free(t); }
thing *thing_sized(size_t size, double scale, int number)
{ thing *t = calloc(1, sizeof *t); t->number = number; things++; return t; }
int thing_number(const thing *t) { return t->number; }
"""
DECLARED = """
typedef struct context context; typedef struct thing thing; enum { FIVE = 5 };
context *context_new(void); void context_free(context *c);
thing *thing_new(context *c, int number); int thing_open(thing **made, context *c, int number);
thing *thing_twin(const thing *t, context *ctx); thing *thing_alone(int number);
void thing_free(context *c, thing *t, int flags); void thing_free_by(thing **t, context *c);
void thing_free_sized(thing *t, size_t size, double scale);
thing *thing_sized(size_t size, double scale, int number); int thing_number(const thing *t);
extern int contexts, things, faults;
"""
FREES = (
    "thing_free(c, self, FIVE)",
    "thing_free_by(&self, c)",
    "thing_free(c,self,(int){ 5 });",
    'thing_free(c, self, sizeof "FIVE")',
)
NEW = "thing *thing_new(context *c, int number)"


def library(free: str | None = FREES[0]) -> Any:
    lib = from_c(TEXT)
    lib.declare(DECLARED)
    lib.handle("context *", free="context_free", init="context *context_new(void)")
    lib.refine("thing_[nst]*", returns="callee")
    lib.refine("thing_number", returns=None)
    lib.refine("thing_open", out="made", check=ValueError, returns=None)
    if free is not None:
        lib.handle("thing *", free=free)
    return lib


def left(lib: Any) -> tuple[int, int, int]:
    gc.collect()
    return lib.contexts, lib.things, lib.faults


@pytest.mark.row("L06")
@pytest.mark.parametrize("free", FREES)
def test_an_object_is_freed_with_what_made_it(free):
    lib = library(free)
    one, other = lib.context(), lib.context()
    a, b, c = lib.thing_new(one, 1), lib.thing_open(other, 2), lib.thing_twin(lib.thing_new(one, 3), other)
    assert [lib.thing_number(each) for each in (a, b, c)] == [1, 2, 3]
    assert left(lib) == (2, 3, 0)
    a.close()
    assert "closed" in repr(a) and left(lib) == (2, 2, 0)
    a.close()
    del b
    with c:
        assert left(lib) == (2, 1, 0)
    assert left(lib) == (2, 0, 0)
    assert lib.thing_new(one, -1) is None
    del one, other
    assert left(lib) == (0, 0, 0)


def test_what_is_bound_lives_as_long():
    lib = library()
    context = lib.context()
    a, b = lib.thing_new(context, 1), lib.thing_new(context, 2)
    with pytest.raises(BufferError), context:
        pass
    a.close()
    refuses(BufferError, context.close, "refers to it")
    del context
    assert left(lib) == (1, 1, 0)
    del b
    assert left(lib) == (0, 0, 0)
    context = lib.context()
    lib.thing_new(context, 1).close()
    context.close()  # nothing needs it any more
    assert left(lib) == (0, 0, 0)


@pytest.mark.row("L06")
def test_cycles_end_in_the_right_order():
    lib = library()

    class Context(lib.context):
        pass

    class Holder:
        pass

    for order in range(2):
        context, holder = Context(), Holder()
        things = [lib.thing_new(context, k) for k in range(5)]
        context.all = things if order else [*things, holder]
        holder.context, holder.things = context, tuple(things)
        del context, holder, things
        assert left(lib) == (0, 0, 0)


@pytest.mark.row("L06")
@pytest.mark.parametrize("context_is_older", [True, False])
def test_the_collector_leaves_what_is_needed_for_last(context_is_older):
    """Only the thing refers to the context. The collector clears objects in the order of age."""
    lib = library()
    gc.collect()
    gc.disable()  # a collection in between would change the order
    try:
        context = lib.context() if context_is_older else None
        holder: list[Any] = []
        holder.append(holder)
        context = context or lib.context()
        holder.append(lib.thing_new(context, 1))
        del context, holder
        assert (lib.contexts, lib.things) == (1, 1)
    finally:
        gc.enable()
    assert left(lib) == (0, 0, 0)


VARIABLES = """
#include <stdlib.h>
typedef struct { int a; } box;
void (*my_free)(void *) = free;
int vals[3];
box *made(int a) { box *b = malloc(sizeof *b); b->a = a; return b; }
char *text(void) { return calloc(4, 1); }
"""


@pytest.mark.parametrize("compiled", [False, True])
def test_a_variable_is_no_function(compiled):
    lib = from_c(VARIABLES) if compiled else cwrapjit.library("t", source=VARIABLES)
    lib.struct("typedef struct { int a; } box")
    if compiled:
        lib.declare("extern void (*my_free)(void *); extern int vals[3];")
    for name in ("my_free", "vals"):
        says = f"{name} is a variable in library 't', no function"
        refuses(TypeError, lambda n=name: lib.struct("box", init="box *made(int a)", free=n), says)
        returns = ("str", "callee", name)
        refuses(TypeError, lambda r=returns: lib.function("char *text(void)", returns=r), says)
    says = "check: vals is a variable in library 't', no function"
    refuses(TypeError, lambda: lib.function("box *made(int a)", check="vals"), says)
    libc = cwrapjit.library("c", libraries=["c"])
    says = "environ is a variable in library 'c', no function"
    refuses(TypeError, lambda: libc.function("int environ(int)"), says)
    refuses(TypeError, lambda: cwrapjit.library("c", libraries=["c"], free="environ"), says)
    assert libc.function("int abs(int)")(-3) == 3


@pytest.mark.row("L06")
def test_what_a_collected_cycle_needed_can_be_closed():
    lib = library()
    context = lib.context()
    holder: list[Any] = [lib.thing_new(context, 1)]
    holder.append(holder)
    refuses(BufferError, context.close, "refers to it")
    del holder
    assert left(lib) == (1, 0, 0)
    context.close()
    assert left(lib) == (0, 0, 0)


@pytest.mark.row("L06")
def test_what_failing_calls_left_behind_is_no_object():
    lib = library()
    context = lib.context()
    refuses(ValueError, lambda: lib.thing_open(context, -3), "status 7")
    assert left(lib) == (1, 0, 0)
    refuses(TypeError, lambda: lib.thing_new(context, "1"), "number")
    refuses(TypeError, lambda: lib.thing_new(None, 1), "context")
    context.close()
    assert left(lib) == (0, 0, 0)


@pytest.mark.row("L06")
def test_outputs_that_stay_c_s_are_said_to():
    """returns= leaves one function's outputs to C, though their class has free= for others."""
    text = (
        "typedef struct shelf shelf; typedef struct box { int v; char *room; } box; int boxes = 0, shelves;"
        "struct shelf { box first; }; void box_free(box *b) { boxes--; free(b); }"
        "box *box_new(int v) { box *b = calloc(1, sizeof *b); b->v = v; boxes++; return b; }"
        "shelf *shelf_new(void) { shelf *s = calloc(1, sizeof *s); s->first.v = 7; shelves++; return s; }"
        "void shelf_free(shelf *s) { shelves--; free(s); }"
        "int find(shelf *s, box **b) { *b = &s->first; return 0; }"
        "int look(const shelf *s, box *b) { *b = s->first; return 0; }"
        "void all(shelf *s, box *found[2]) { found[0] = &s->first; found[1] = 0; }"
    )
    declared = "typedef struct shelf shelf; typedef struct box { int v; char *room; } box;"
    lib = from_c("#include <stdlib.h>\n" + text).declare(declared + "extern int boxes, shelves;")
    lib.handle("shelf *", free="shelf_free", init="shelf *shelf_new(void)")
    lib.struct("box", free="box_free", init="box *box_new(int v)")
    said = {"out": "b", "discard": "return", "returns": {"b": "argument"}}
    find = lib.function("int find(shelf *s, box **b)", **said)
    found = find(lib.shelf())
    assert found.v == 7 and "borrowed" in repr(found) and lib.shelves == 1
    refuses(ValueError, found.close, "is borrowed")
    listed = lib.function("void all(shelf *s, box *found[2])", out="found", returns={"found": "none"})
    assert listed(lib.shelf())[0].v == 7
    copy = lib.function("int look(const shelf *s, box *b)", **said)(lib.shelf())
    assert copy.v == 7 and lib.box(1).v == 1
    del found, copy
    gc.collect()
    assert (lib.boxes, lib.shelves) == (0, 0)
    given = "int find(shelf *s, box **b)"
    for returns in {"s": "argument"}, {"b": (3, "none")}, {"b": ("argument", "s")}, {"b": "nobody"}:
        refuses(ValueError, lambda r=returns: lib.function(given, out="b", returns=r), "returns")


@pytest.mark.row("L06")
def test_the_destructor_itself_frees_once():
    lib = library()
    context = lib.context()
    a = lib.thing_new(context, 1)
    lib.thing_free(context, a, 5)
    lib.thing_free(context, a, 5)
    assert left(lib) == (1, 0, 0)
    refuses(TypeError, lambda: lib.thing_free(a), "takes 3 positional arguments but 1 were given")
    refuses(TypeError, lambda: lib.thing_free(a, context, 5), "type thing", "got context")
    refuses(ValueError, lambda: lib.thing_number(a), "freed")


@pytest.mark.row("L06")
def test_numbers_are_bound_as_they_were_given():
    lib = from_c(TEXT)
    lib.declare(DECLARED)
    lib.handle("thing *", free="thing_free_sized(self, size, scale)")
    lib.refine("thing_sized", returns="callee")
    a = lib.thing_sized(40, scale=2.5, number=3)
    assert lib.thing_number(a) == 3
    del a
    assert left(lib) == (0, 0, 0)
    lib.thing_sized(41, 2.5, 3)
    assert left(lib) == (0, 0, 1), "the number was not the one that was given"


def test_init_makes_such_objects():
    lib = library(None)
    thing = lib.handle("thing *", free=FREES[0], init=NEW, methods=["int thing_number(const thing *t)"])
    context = lib.context()
    a = thing(context, 4)
    assert a.number() == 4 and left(lib) == (1, 1, 0)
    refuses(BufferError, context.close, "refers to it")
    refuses(RuntimeError, lambda made_in=context: thing(made_in, -1), "no struct thing was made")
    del context, a
    assert left(lib) == (0, 0, 0)
    end, init = "void spot_end(struct spot *s, void *p)", "void spot_set(struct spot *s, void *p)"
    lib = from_c(f"struct spot {{ double x; }}; {init} {{}} {end} {{}}")
    lib.declare(f"struct spot {{ double x; }}; {end};")
    refuses(ValueError, lambda: lib.struct("struct spot", free="spot_end(self, p)", init=init), "wants more")
    assert lib.struct("struct spot", free="spot_end(self, NULL)", init=init)(None).x == 0


@pytest.mark.quick
def test_free_may_be_said_later():
    """Mapped functions are mapped again; calls of the old ones raise an error."""
    lib = library(None)
    lib.refine("thing_[nst]*", returns="callee")
    context = lib.context()
    opened = lib.thing_open
    lost = opened(context, 1)
    lib.handle("thing *", free=FREES[0])
    refuses(RuntimeError, lambda: opened(context, 2), "free= of struct thing was said after", "again")
    a = lib.thing_open(context, 3)
    assert lib.thing_number(lost) == 1 and lib.thing_number(a) == 3
    del a, lost
    assert left(lib) == (1, 2, 0), "the two that nobody could free"
    refuses(ValueError, lambda: lib.handle("thing *", free=FREES[1]), FREES[0], "contradicts", FREES[1])
    lib.handle("thing *", free=FREES[0])


def test_what_free_cannot_be():
    lib = library(None)
    for free, error, *words in (
        ("thing_free", ValueError, "takes 3 parameters", "free='end_it(context, self)'"),
        ("thing_free(c, self)", ValueError, "takes 3 parameters, not the 2 of"),
        ("thing_free(c, self, 5", ValueError, "a call of one"),
        ("", ValueError, "name of a C function"),
        ("a = thing_free(c, self, 5)", ValueError, "name of a C function"),
        (5, TypeError, "free= of thing: the name of a C function", "not int"),
        ("thing_free(self, c, 5)", TypeError, "gives a thing where C wants a context *"),
        ("thing_free(c, &self, 5)", TypeError, "gives a thing where C wants a thing *"),
        ("thing_free(c, d, 5)", ValueError, "self once"),
        ("thing_free(c, self, +)", ValueError, "does not compile"),
        ("no_such(c, self)", AttributeError, "no symbol no_such"),
        ("free(self, c)", TypeError, "free() is not declared"),
    ):
        refuses(error, lambda free=free: lib.handle("thing *", free=free), *words)
    assert lib.thing.__cwrapjit_layout__.automatic, "nothing of all that is left"
    lib.handle("thing *", free=FREES[0])
    alone = "thing *thing_alone(int number)"
    refuses(TypeError, lambda: lib.function(alone, returns="callee"), "with c, a context *", "no parameter")
    assert lib.function(alone, returns="none")(1) is None


@pytest.mark.row("L06")
def test_other_threads_and_libraries_may_have_the_class():
    lib = library()
    context = lib.context()
    other = from_c("typedef struct thing thing; thing *same(thing *t) { return t; }")
    other.handle(lib.thing)
    a = lib.thing_new(context, 7)
    assert other.function("thing *same(thing *t)")(a) == a
    del context, a
    assert left(lib) == (0, 0, 0)


MEETING = """
#include <sched.h>
struct leaf { double id; };
struct inner { struct leaf *p; };
struct node { struct inner one; };
int leaf_init(struct leaf *s, double id) { s->id = id; return 0; }
void leaf_clear(struct leaf *s) { s->id = -1; }
/* 0: nobody has read; 1: the call has read, and waits; 2: the other thread is done */
volatile int step;
void go_on(void) { step = 2; }
struct inner node_one(const struct node *s)
{
    struct inner one = s->one;
    for (step = 1; step != 2; ) sched_yield();
    return one;
}
struct inner node_one_now(const struct node *s) { return s->one; }
"""


@contextlib.contextmanager
def meeting() -> Iterator[tuple[Any, Any, Any, list[Any]]]:
    """Gives a library, a node, a list of the leaf that it holds, and one of a call's result in the end.
    The call has read the node, and waits."""
    lib = from_c(MEETING)
    lib.struct(
        "struct leaf { double id; }", init="int leaf_init(struct leaf *s, double id)", free="leaf_clear"
    )
    lib.struct("struct inner { struct leaf *p; }")
    lib.struct("struct node { struct inner one; }")
    for each in ("node_one", "node_one_now"):
        lib.function(f"struct inner {each}(const struct node *s)")
    lib.function("void go_on(void)")
    lib.variable("int step")
    node, leaf, results = lib.node(), lib.leaf(7.0), []
    node.one.p = leaf
    call = threading.Thread(target=lambda: results.append(lib.node_one(node)), daemon=True)
    call.start()
    while lib.step != 1:
        time.sleep(0.001)
    leaves = [leaf]
    del leaf
    yield lib, node, leaves, results
    lib.go_on()
    call.join()


@pytest.mark.row("G18")
def test_a_result_keeps_what_another_thread_replaced_during_the_call():
    with meeting() as (_, node, leaves, results):
        node.one.p = None
        refuses(BufferError, leaves[0].close, "refers to it")  # the call may return its address
        leaves.clear()
        gc.collect()
    (one,) = results
    assert one.p.id == 7.0


@pytest.mark.row("G18")
def test_results_keep_nothing_else_of_what_is_replaced_while_a_call_runs():
    with meeting() as (lib, node, _, _):
        for number in range(50):
            node.one.p = lib.leaf(number)
        one = lib.node_one_now(node)
        assert one.p.id == 49
        assert len(one.referenced_objects) == 2  # the node and the leaf


AT_EXIT = """
import sys
sys.path[:0] = {tests!r}
import test_library_ownership as t
lib = t.library()
context = lib.context()
things = [lib.thing_new(context, k) for k in range(3)]
sys.kept = things
"""


@pytest.mark.row("L06")
def test_the_end_of_the_process_is_quiet(request):
    done = python(AT_EXIT.format(tests=[str(request.path.parent), str(request.path.parents[1])]))
    assert done.stdout == done.stderr == ""


LIBRARY: list[Any] = []


@pytest.mark.row("L06")
@hypothesis.settings(max_examples=30, deadline=None)
@hypothesis.given(st.lists(st.tuples(st.sampled_from("ctkdxgs"), st.integers(0, 5), st.integers(0, 5))))
def test_random_programs(steps):
    """Steps make contexts (c) and things (t), keep (k), drop (d) and close (x) them, and collect (g)."""
    if not LIBRARY:
        LIBRARY.append(library())
    (lib,) = LIBRARY

    class Context(lib.context):
        pass

    contexts: dict[int, Any] = {}
    things: dict[int, Any] = {}
    for step, i, j in steps:
        if step == "c":
            contexts[i] = Context()
        elif step == "t" and j in contexts and "closed" not in repr(contexts[j]):
            things[i] = lib.thing_open(contexts[j], i) if i % 2 else lib.thing_new(contexts[j], i)
        elif step == "k" and i in things and j in contexts:
            contexts[j].kept = things[i], contexts.get(i)
        elif step == "d":
            (things if j % 2 else contexts).pop(i, None)
        elif step == "x" and i in (contexts if j % 2 else things):
            try:
                (contexts if j % 2 else things)[i].close()
            except BufferError:
                assert j % 2
        elif step == "g":
            gc.collect()
        elif step == "s" and i in things and "closed" not in repr(things[i]):
            assert lib.thing_number(things[i]) == i
        assert lib.faults == 0
    contexts.clear()
    things.clear()
    assert left(lib) == (0, 0, 0)


# ---- real libraries --------------------------------------------------------------------------------------


@pytest.mark.row("L06")
@pytest.mark.quick
def test_geos():
    """Computes areas of polygons with the reentrant functions: the context destroys each geometry."""
    geos = declared("geos_c.h", "geos_c")
    init = "GEOSContextHandle_t GEOS_init_r(void)"
    context = geos.handle("GEOSContextHandle_t", init=init, free="GEOS_finish_r")()
    geos.handle("GEOSGeometry *", free="GEOSGeom_destroy_r(handle, self)")
    geos.refine("GEOSGeomFromWKT_r", returns="callee")
    geos.refine("GEOSIntersection_r", returns="callee")
    geos.refine("GEOSArea_r", out="area", discard="return")
    low, high = (
        geos.GEOSGeomFromWKT_r(context, f"POLYGON(({a} {a}, {b} {a}, {b} {b}, {a} {b}, {a} {a}))")
        for a, b in ((0, 2), (1, 4))
    )
    both = geos.GEOSIntersection_r(context, low, high)
    assert [geos.GEOSArea_r(context, each) for each in (low, high, both)] == [4, 9, 1]
    refuses(BufferError, context.close, "refers to it")
    del low, high
    both.close()
    context.close()


@pytest.mark.row("L06")
@pytest.mark.quick
def test_umfpack_frees_by_the_address():
    umfpack = declared("suitesparse/umfpack.h", "umfpack")
    symbolic = umfpack.handle("symbolic *", free="umfpack_di_free_symbolic(&self)")
    analyse = umfpack.function(
        """int umfpack_di_symbolic(int n_row, int n_col, const int Ap[nap], const int Ai[nz],
                   const double Ax[nz], symbolic **Symbolic, const double *Control, double *Info)""",
        out="Symbolic",
        check=ValueError,
    )
    p, i, x = np.array([0, 1, 2], np.intc), np.array([0, 1], np.intc), np.array([1.0, 2.0])
    made = analyse(2, 2, p, i, x, None, None)
    assert isinstance(made, symbolic) and "open" in repr(made)
    made.close()
    assert "closed" in repr(made)


# ---- leaks -------------------------------------------------------------------------------------------------


@pytest.mark.row("L06")
@pytest.mark.leak
def test_nothing_is_kept():
    lib = library()

    def work() -> None:
        context = lib.context()
        a = lib.thing_new(context, 1)
        refuses(BufferError, context.close, "refers to it")
        refuses(ValueError, lambda: lib.thing_open(context, -3), "status 7")
        lib.thing_twin(a, context).close()
        del a
        context.close()

    keeps_nothing(work)
    assert left(lib) == (0, 0, 0)
