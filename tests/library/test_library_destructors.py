"""Destructors that take more than the object: bound arguments, addresses, constants; who lives how long."""

from __future__ import annotations

import gc
from typing import Any

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
from helpers import python, refuses
from leaks import keeps_nothing
from library_tools import declared, from_c

pytestmark = pytest.mark.row("L06")

# Whoever is freed twice, with another context than its own, or after that one, is counted as a fault.
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
FREES = ("thing_free(c, self, FIVE)", "thing_free_by(&self, c)", "thing_free(c,self,(int){ 5 });")


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


@pytest.mark.parametrize("free", FREES)
def test_an_object_is_freed_with_what_made_it(free):
    lib = library(free)
    one, other = lib.context(), lib.context()
    a, b, c = lib.thing_new(one, 1), lib.thing_open(other, 2), lib.thing_twin(lib.thing_new(one, 3), other)
    assert [lib.thing_number(each) for each in (a, b, c)] == [1, 2, 3]
    assert left(lib) == (2, 3, 0)
    a.close()
    assert "freed" in repr(a) and left(lib) == (2, 2, 0)
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
    refuses(BufferError, context.close, "refers to it")
    with pytest.raises(BufferError), context:
        pass
    a.close()
    refuses(BufferError, context.close, "refers to it")
    del context
    assert left(lib) == (1, 1, 0)
    del b
    assert left(lib) == (0, 0, 0)
    context = lib.context()
    a = lib.thing_new(context, 1)
    a.close()
    context.close()  # now nothing needs it
    assert left(lib) == (0, 0, 0)


def test_cycles_end_in_the_right_order():
    lib = library()

    class Context(lib.context):
        pass

    class Holder:
        pass

    lib.handle("thing *", free=FREES[0])
    for order in range(2):
        context, holder = Context(), Holder()
        things = [lib.thing_new(context, k) for k in range(5)]
        context.all = things if order else [*things, holder]
        holder.context, holder.things = context, tuple(things)
        del context, holder, things
        assert left(lib) == (0, 0, 0)


@pytest.mark.parametrize("context_is_older", [True, False])
def test_the_collector_leaves_what_is_needed_for_last(context_is_older):
    """Nothing but the thing knows the context, and the collector clears in the order of age."""
    lib = library()
    context = lib.context() if context_is_older else None
    holder: list[Any] = []
    holder.append(holder)
    context = context or lib.context()
    holder.append(lib.thing_new(context, 1))
    del context, holder  # not collected in between: that changes the order
    assert (lib.contexts, lib.things) == (1, 1)
    assert left(lib) == (0, 0, 0)


def test_what_failing_calls_left_behind_is_no_object():
    lib = library()
    context = lib.context()
    refuses(ValueError, lambda: lib.thing_open(context, -3), "status 7")
    assert left(lib) == (1, 0, 0)
    refuses(TypeError, lambda: lib.thing_new(context, "1"), "number")
    refuses(TypeError, lambda: lib.thing_new(None, 1), "context")
    context.close()
    assert left(lib) == (0, 0, 0)


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
    init = "thing *thing_new(context *c, int number)"
    thing = lib.handle("thing *", free=FREES[0], init=init, methods=["int thing_number(const thing *t)"])
    context = lib.context()
    a = thing(context, 4)
    assert a.number() == 4 and left(lib) == (1, 1, 0)
    refuses(BufferError, context.close, "refers to it")
    refuses(RuntimeError, lambda made_in=context: thing(made_in, -1), "no struct thing was made")
    del context, a
    assert left(lib) == (0, 0, 0)
    text = "struct spot { double x; }; void spot_set(struct spot *s, void *p) {} "
    text += "void spot_end(struct spot *s, void *p) {}"
    lib = from_c(text)
    lib.declare("struct spot { double x; }; void spot_end(struct spot *s, void *p);")
    init = "void spot_set(struct spot *s, void *p)"
    refuses(ValueError, lambda: lib.struct("struct spot", free="spot_end(self, p)", init=init), "wants more")
    assert lib.struct("struct spot", free="spot_end(self, NULL)", init=init)(None).x == 0


@pytest.mark.quick
def test_free_may_be_said_later():
    """Functions that were mapped before are mapped again; who kept the old one is told."""
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
    refuses(
        ValueError,
        lambda: lib.handle("thing *", free=FREES[1]),
        "has free=",
        FREES[0],
        "contradicts",
        FREES[1],
    )
    lib.handle("thing *", free=FREES[0])


def test_what_free_cannot_be():
    lib = library(None)

    def handle(free: Any) -> Any:
        return lambda: lib.handle("thing *", free=free)

    refuses(ValueError, handle("thing_free"), "takes 3 parameters", "free='end_it(context, self)'")
    refuses(ValueError, handle("thing_free(c, self)"), "takes 3 parameters, not the 2 of")
    refuses(ValueError, handle("thing_free(c, self, 5"), "a call of one")
    refuses(ValueError, handle(""), "name of a C function")
    refuses(ValueError, handle("a = thing_free(c, self, 5)"), "name of a C function")
    refuses(TypeError, handle(5), "free= of thing: the name of a C function", "not int")
    refuses(TypeError, handle("thing_free(self, c, 5)"), "gives a thing where C wants a context *")
    refuses(TypeError, handle("thing_free(c, &self, 5)"), "gives a thing where C wants a thing *")
    refuses(ValueError, handle("thing_free(c, d, 5)"), "self once")
    refuses(ValueError, handle("thing_free(c, self, +)"), "does not compile")
    refuses(AttributeError, handle("no_such(c, self)"), "no symbol no_such")
    refuses(TypeError, handle("free(self, c)"), "free() is not declared")
    assert lib.thing.__cwrapjit_layout__.automatic, "nothing of all that is left"
    lib.handle("thing *", free=FREES[0])
    alone = "thing *thing_alone(int number)"
    refuses(TypeError, lambda: lib.function(alone, returns="callee"), "with c, a context *", "no parameter")
    assert lib.function(alone, returns="none")(1) is None


def test_other_threads_and_libraries_may_have_the_class():
    lib = library()
    context = lib.context()
    other = from_c("typedef struct thing thing; thing *same(thing *t) { return t; }")
    other.handle(lib.thing)
    a = lib.thing_new(context, 7)
    assert other.function("thing *same(thing *t)")(a) == a
    del context, a
    assert left(lib) == (0, 0, 0)


AT_EXIT = """
import sys
sys.path[:0] = {tests!r}
import test_library_destructors as t
lib = t.library()
context = lib.context()
things = [lib.thing_new(context, k) for k in range(3)]
sys.kept = things
"""


def test_the_end_of_the_process_is_quiet(request):
    done = python(AT_EXIT.format(tests=[str(request.path.parent), str(request.path.parents[1])]))
    assert done.stdout == done.stderr == ""


@hypothesis.settings(max_examples=60, deadline=None)
@hypothesis.given(st.lists(st.tuples(st.sampled_from("ctkdxgsl"), st.integers(0, 5), st.integers(0, 5))))
def test_random_programs(steps):
    """Contexts (c) and things (t), kept in one another (k), dropped (d), closed (x), collected (g)."""
    lib = LIBRARY[0] if LIBRARY else LIBRARY.append(library()) or LIBRARY[0]

    class Context(lib.context):
        pass

    contexts: dict[int, Any] = {}
    things: dict[int, Any] = {}
    for step, i, j in steps:
        if step == "c":
            contexts[i] = Context()
        elif step == "t" and j in contexts and "freed" not in repr(contexts[j]):
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
        elif step == "s" and i in things and "freed" not in repr(things[i]):
            assert lib.thing_number(things[i]) == i
        elif step == "l":
            contexts = dict(reversed(contexts.items()))
        assert lib.faults == 0
    contexts.clear()
    things.clear()
    assert left(lib) == (0, 0, 0)


LIBRARY: list[Any] = []


# ---- real libraries --------------------------------------------------------------------------------------


@pytest.mark.quick
def test_geos():
    """Areas of polygons, with the reentrant functions: each geometry is destroyed by its context."""
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
    assert isinstance(made, symbolic) and "owned" in repr(made)
    made.close()
    assert "freed" in repr(made)


# ---- leaks -------------------------------------------------------------------------------------------------


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
