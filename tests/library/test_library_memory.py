"""Tests that Python reads no freed memory, and nothing leaks: references, lifetimes, views, destructors."""

from __future__ import annotations

import contextlib
import gc
import threading
import time
import weakref

import numpy as np
import pytest
from helpers import build_shared, refuses
from library_tools import from_c

import cwrapjit

TEXT = """
#include <unistd.h>
int live = 0;
volatile int entered, leave;
void wait_here(void) { int calls = ++entered; while (leave < calls) usleep(500); }

struct item { double v; };
struct holder { double x[3]; struct item *p; };
struct outer { struct holder h, h2; struct outer *next; };
struct outer the_one;
struct outer *get_one(void) { return &the_one; }
struct holder copy(const struct holder *h) { return *h; }
void copy_to(const struct holder *h, struct holder *to) { *to = *h; }
void outer_take(struct outer *o, struct holder h) { o->h2 = h; }
void outer_set(struct outer *o, struct item *p) { o->h.p = p; }
struct item *outer_get(const struct outer *o) { return o->h.p; }
struct view { double *data; int64_t n; };
struct view look(int64_t n, double x[]) { struct view v = {x, n}; return v; }

struct vec { int64_t n; double *data; };
int vec_init(struct vec *v, int64_t n)
{
    if (n == 77) wait_here();
    if (n < 0) return 1;
    v->n = n; v->data = malloc((n + 1) * 8); live++;
    for (int64_t i = 0; i < n; i++) v->data[i] = i;
    return 0;
}
void vec_clear(struct vec *v) { free(v->data); v->data = 0; live--; }
void vec_resize(struct vec *v, int64_t n) { v->data = realloc(v->data, (n + 1) * 8); v->n = n; }
void vec_scale(struct vec *v, double by) { for (int64_t i = 0; i < v->n; i++) v->data[i] *= by; }
double vec_sum(const struct vec *v)
{
    double s = 0;
    for (int64_t i = 0; i < v->n; i++) s += v->data[i];
    return s;
}
double *vec_values(struct vec *v) { return v->data; }
struct pair { struct vec one, other; };
void paired(const struct vec *v, struct pair *to) { to->one = *v; }
struct vec first(const struct pair *p) { return p->one; }

typedef struct counter_ counter;
struct counter_ { int value; };
counter *counter_new(int value)
{
    if (value == 77) wait_here();
    if (value < 0) return 0;
    counter *c = malloc(sizeof *c);
    c->value = value; live++;
    return c;
}
void counter_free(counter *c) { live--; free(c); }
void counter_free_two(counter *c, int twice) { live -= 1 + twice; free(c); }
int counter_next(counter *c) { return c->value++; }
counter *counter_same(counter *c) { return c; }
counter *of_vec(struct vec *v) { return (counter *)v; }
int slow(const struct vec *v) { int64_t n = v->n; wait_here(); return n == v->n; }
struct item *get_slowly(const struct holder *h) { struct item *p = h->p; wait_here(); return p; }
double read_slowly(const struct holder *h) { return get_slowly(h)->v; }
"""
BOX = """
struct item { double v; };
struct box { struct item *p; } the_box;
struct box *get_box(void) { return &the_box; }
"""
OUTER = "struct outer { struct holder h, h2; struct outer *next; }"
ITEM = "struct item { double v; }"
STRUCTS = (ITEM, "struct holder { double x[3]; struct item *p; }", OUTER)
PAIR = "struct pair { struct vec one, other; }"
RESIZE = "void vec_resize(struct vec *v, int64_t n)"


@pytest.fixture
def lib():
    made = from_c(TEXT)
    for name in "live", "entered", "leave":
        made.variable(f"int {name}")
    for text in STRUCTS:
        made.struct(text)
    return made


def make_vec(lib):
    return lib.struct(
        "struct vec { int64_t n; double *data; }",
        init=("int vec_init(struct vec *v, int64_t n)", {"check": ValueError}),
        free="vec_clear",
        arrays={"data": "n"},
        methods={
            "resize": RESIZE,
            "scale": ("void vec_scale(struct vec *v, double by)", {"stable": True}),
            "sum": "double vec_sum(const struct vec *v)",
            "values": ("double *vec_values(struct vec *v)", {"returns": (3, "instance"), "stable": True}),
        },
    )


def make_counter(lib):
    methods = ["int counter_next(counter *c)"]
    return lib.handle(
        "counter *", init="counter *counter_new(int value)", free="counter_free", methods=methods
    )


@contextlib.contextmanager
def waiting(lib, call):
    """Runs a call in its own thread, which waits in C during the block. Yields a list that then gets its
    result. Overlapping calls end in the order in which they began."""
    found, calls = [], lib.entered + 1
    thread = threading.Thread(target=lambda: found.append(call()))
    thread.start()
    try:
        while lib.entered < calls and thread.is_alive():
            time.sleep(0.001)
        yield found
    finally:
        lib.leave = calls
        thread.join()


def is_alive(gone):
    gc.collect()
    return gone() is not None


# ---- references -------------------------------------------------------------------------------------


@pytest.mark.row("G18")
def test_a_pointer_stored_through_a_member_is_kept_by_the_whole(lib):
    o, item = lib.outer(), lib.item(3.0)
    gone = weakref.ref(item)
    o.h.p = item
    del item
    assert is_alive(gone) and o.h.p.v == 3.0
    pointer = o.h.p
    o.h.p = None
    assert is_alive(gone) and pointer.v == 3.0  # the Pointer that was read keeps it alive
    del pointer
    assert not is_alive(gone)


@pytest.mark.row("G18")
@pytest.mark.parametrize("way", ["variable", "function"])
def test_a_pointer_stored_in_a_global_is_kept(lib, way):
    lib.variable("struct outer the_one")
    lib.function("struct outer *get_one(void)")
    item = lib.item(4.0)
    gone = weakref.ref(item)
    one = lib.the_one if way == "variable" else lib.get_one()
    one.h.p = item
    del item, one
    assert is_alive(gone)
    assert lib.the_one.h.p.v == lib.get_one().h.p.v == 4.0
    lib.get_one().h.p = None
    assert not is_alive(gone)


@pytest.mark.row("G18")
def test_a_global_of_a_shared_library_keeps_what_it_points_to_for_all_that_open_it(built, lib):
    path = build_shared(built, "libkeeper.so", BOX)
    item = lib.item(5.0)
    gone, opened = weakref.ref(item), [cwrapjit.library("keeper", path) for _ in range(2)]
    for each in opened:
        each.struct(lib.item)
        each.struct("struct box { struct item *p; }")
        each.function("struct box *get_box(void)")
    opened[0].get_box().p = item
    del opened[0], item
    assert is_alive(gone)
    assert each.get_box().p.v == 5.0
    each.get_box().p = None
    assert not is_alive(gone)


@pytest.mark.row("G18")
def test_a_library_lives_as_long_as_pointers_into_its_data(lib):
    one = lib.function("struct outer *get_one(void)")()
    one.h.x[1] = 2.5
    del lib
    gc.collect()
    assert one.h.x.tolist() == [0.0, 2.5, 0.0]


@pytest.mark.row("G18")
def test_copies_take_references_along(lib):
    o, h, item = lib.outer(), lib.holder(), lib.item(3.0)
    gone = weakref.ref(item)
    h.p = item
    o.h = h
    o.h2 = o.h
    other = lib.outer()
    other.h = o.h2
    h.p = None
    del h, item
    assert is_alive(gone)
    o.h = lib.holder()
    o.h2.p = None
    assert is_alive(gone) and o.h.p is None and other.h.p.v == 3.0
    other.h = o.h
    assert not is_alive(gone)


@pytest.mark.row("G18")
def test_structs_that_c_copied_keep_what_the_originals_point_to(lib):
    lib.function("struct holder copy(const struct holder *h)")
    lib.function("void copy_to(const struct holder *h, struct holder *to)", out="to")
    for copy in (lib.copy, lib.copy_to):
        h, item = lib.holder(), lib.item(7.0)
        gone = weakref.ref(item)
        h.p = item
        made = copy(h)
        h.p = None
        del h, item
        assert is_alive(gone) and made.p.v == 7.0
        del made
        assert not is_alive(gone)


@pytest.mark.row("G18")
def test_a_struct_by_value_keeps_the_arrays_that_it_may_point_into(lib):
    lib.struct("struct view { double *data; int64_t n; }", arrays={"data": "n"})
    lib.function("struct view look(int64_t n, double x[n])")
    x = np.arange(4.0)
    gone = weakref.ref(x)
    view = lib.look(x)
    del x
    assert is_alive(gone) and view.data.tolist() == [0.0, 1.0, 2.0, 3.0]
    del view
    assert not is_alive(gone)


@pytest.mark.row("G18")
def test_a_copy_keeps_the_owner_of_what_it_points_to(lib):
    vec = make_vec(lib)
    pair = lib.struct(PAIR)()
    pair.one = vec(4)
    pair.other = pair.one
    assert lib.live == 1
    pair.one = pair.other
    assert pair.other.data.tolist() == [0.0, 1.0, 2.0, 3.0]
    look = pair.other.data
    refuses(BufferError, lambda: setattr(pair, "other", vec(2)), "array looks into")
    del look
    pair.other = pair.one = vec(2)
    gc.collect()
    assert lib.live == 1
    pair = None
    gc.collect()
    assert lib.live == 0


@pytest.mark.quick
@pytest.mark.row("G18")
def test_a_method_that_takes_a_struct_by_value_keeps_what_it_points_to(lib):
    take = ("void outer_take(struct outer *o, struct holder h)", {"keeps": "h"})
    outer = lib.struct(OUTER, methods=[take])
    o, h, item = outer(), lib.holder(), lib.item(9.0)
    gone = weakref.ref(item)
    h.p = item
    o.take(h)
    h.p = None
    del h, item
    assert is_alive(gone) and o.h2.p.v == 9.0


@pytest.mark.quick
@pytest.mark.row("G18")
def test_a_function_that_takes_a_struct_by_value_keeps_what_it_points_to(lib):
    take = lib.function("void outer_take(struct outer *o, struct holder h)", name="take", keeps={"o": "h"})
    o, h, item = lib.struct(OUTER)(), lib.holder(), lib.item(9.0)
    gone = weakref.ref(item)
    h.p = item
    take(o, h)
    h.p = None
    del item
    assert is_alive(gone) and o.h2.p.v == 9.0


@pytest.mark.row("G18")
def test_assigning_again_replaces(lib):
    put = "void outer_set(struct outer *o, struct item *p)"
    p = "struct item *outer_get(const struct outer *o)", (put, {"keeps": "p", "optional": "p"})
    o = lib.struct(OUTER, properties={"p": p}, methods=[(put, {"keeps": "p"})])()
    alive = weakref.WeakSet()
    for k in range(20):
        item = lib.item(k)
        alive.add(item)
        if k % 2:
            o.h2.p = item
        else:
            o.p = item
    del item
    gc.collect()
    assert sorted(each.v for each in alive) == [18.0, 19.0]
    item = lib.item()
    for _ in range(100):
        o.set(item)  # C may keep them all, but each one is kept once
    assert len(o.referenced_objects) == 3
    o.p = None
    assert len(o.referenced_objects) == 2


@pytest.mark.row("G18")
def test_cycles_and_long_chains(lib):
    a, b = lib.outer(), lib.outer()
    gone = weakref.ref(a), weakref.ref(b)
    a.next, b.next = b, a
    a.h.p = lib.item(1.0)
    assert a.next.next.next == b
    del a, b
    assert not any(is_alive(each) for each in gone)
    own = lib.outer()
    own.next = own
    at = own
    for _ in range(30_000):  # each keeps the owner alive, not the one before it
        at = at.next
    del at
    assert own.referenced_objects == []
    first = last = lib.outer()
    for _ in range(30_000):
        last.next = lib.outer()
        last = last.next
    del last, first


@pytest.mark.row("G18")
def test_what_c_returns_keeps_the_object_that_a_pointer_of_an_argument_leads_to(lib):
    lib.function("struct item *outer_get(const struct outer *o)")
    outer, item = lib.outer(), lib.item(v=2.5)
    outer.h.p = item
    found, gone = lib.outer_get(outer), weakref.ref(item)
    outer.h.p = None
    del item
    assert is_alive(gone)
    assert found.v == 2.5
    del found
    assert not is_alive(gone)


@pytest.mark.row("G18")
def test_what_is_replaced_during_a_call_outlives_the_call(lib):
    read = lib.function("double read_slowly(const struct holder *h)")
    h, item = lib.holder(), lib.item(6.0)
    gone = weakref.ref(item)
    h.p = item
    del item
    with waiting(lib, lambda: read(h)) as found:
        h.p = None  # C has read the pointer already
        assert is_alive(gone)
    assert found == [6.0]
    assert not is_alive(gone)


@pytest.mark.row("G18")
@pytest.mark.parametrize("way", ["quick", "long"])
def test_what_c_returns_outlives_the_call_when_it_was_replaced_meanwhile(lib, way):
    get = lib.function("struct item *get_slowly(const struct holder *h)")
    h, item = lib.holder(), lib.item(6.0)
    gone = weakref.ref(item)
    h.p = item
    del item
    with waiting(lib, (lambda: get(h)) if way == "quick" else (lambda: get(h=h))) as found:
        h.p = None
    assert is_alive(gone)
    assert found[0].v == 6.0
    del found[:]
    assert not is_alive(gone)


@pytest.mark.row("G18")
@pytest.mark.parametrize("kind", ["pointer", "struct inside"])
def test_what_runs_when_an_object_goes_sees_the_new_pointer(lib, kind):
    o, item, seen = lib.outer(), lib.item(1.0), []
    gone = weakref.ref(item, lambda _: seen.append(o.h.p.v))
    o.h.p = item
    del item
    if kind == "pointer":
        o.h.p = lib.item(2.0)
    else:
        h = lib.holder()
        h.p = lib.item(2.0)
        o.h = h
    assert seen == [2.0]
    assert gone() is None


@pytest.mark.row("G18")
def test_what_is_replaced_goes_when_the_calls_of_its_time_have_ended(lib):
    """The calls overlap, so that one is always running."""
    read = lib.function("double read_slowly(const struct holder *h)")
    h, gone = lib.holder(), []
    with contextlib.ExitStack() as last:
        for k in range(6):
            item = lib.item(float(k))
            gone.append(weakref.ref(item))
            h.p = item
            del item
            with contextlib.ExitStack() as this:
                this.enter_context(waiting(lib, lambda: read(h)))
                last.close()  # ends the call before; this one goes on
                last = this.pop_all()
        assert [is_alive(each) for each in gone] == [False] * 4 + [True] * 2


# ---- lifetimes --------------------------------------------------------------------------------------


@pytest.mark.row("G18")
def test_a_second_initialisation_is_refused(lib):
    vec, counter = make_vec(lib), make_counter(lib)
    for made in (vec(3), counter(3)):
        refuses(TypeError, lambda made=made: made.__init__(4), "initialised already")
    del made
    gc.collect()
    assert lib.live == 0
    v = vec.__new__(vec)
    refuses(ValueError, lambda: v.__init__(-1), "status 1")
    v.__init__(2)
    v.close()
    refuses(TypeError, lambda: v.__init__(2), "this struct vec was freed")
    gc.collect()
    assert lib.live == 0


@pytest.mark.row("G18")
def test_an_instance_without_memory_is_not_initialised(lib):
    """It was made when its type was opaque."""
    assert lib.declare("struct vec; double vec_sum(const struct vec *v);").vec_sum
    opaque = lib.vec
    v = opaque.__new__(opaque)
    assert make_vec(lib) is opaque
    refuses(TypeError, lambda: v.__init__(2), "this struct vec has no memory")
    assert opaque(2).n == 2
    gc.collect()
    assert lib.live == 0


@pytest.mark.row("G18")
@pytest.mark.parametrize("kind", ["struct", "handle"])
def test_two_threads_in_one_initialiser_make_one_object(lib, kind):
    cls = make_vec(lib) if kind == "struct" else make_counter(lib)
    one = cls.__new__(cls)
    with waiting(lib, lambda: one.__init__(77)) as found:
        refuses(TypeError, lambda: one.__init__(3), "being initialised already")
        refuses(ValueError, lambda: one.n if kind == "struct" else one.next(), "initialised")
        if kind == "struct":
            refuses(RuntimeError, one.close, "using")
    assert found == [None]
    refuses(TypeError, lambda: one.__init__(3), "is initialised already")
    assert lib.live == 1
    one = None
    gc.collect()
    assert lib.live == 0


@pytest.mark.quick
@pytest.mark.row("G18")
def test_nothing_is_seen_of_an_object_before_it_is_initialised(lib):
    vec, counter = make_vec(lib), make_counter(lib)
    for look in ("n", "data"):
        refuses(ValueError, lambda look=look: getattr(vec.__new__(vec), look), "never initialised")
    refuses(ValueError, lambda: counter.__new__(counter).next(), "never initialised")
    refuses(TypeError, lambda: hash(vec.__new__(vec)), "no hash")


@pytest.mark.row("G18")
def test_blocks_end_when_nobody_looks_any_more(lib):
    vec = make_vec(lib)
    with vec(4) as v:
        assert v.data.sum() == v.values().sum() + 3.0 == 6.0
    assert lib.live == 0
    refuses(ValueError, lambda: v.data, "was freed")
    with pytest.raises(BufferError, match="looks into"), vec(4) as v:
        look = v.data[1:]
    assert look.tolist() == [1.0, 2.0, 3.0] and lib.live == 1
    del look
    v.close()
    assert lib.live == 0
    with pytest.raises(KeyError, match="goes on"), vec(3) as v:
        look = v.data
        raise KeyError("goes on")
    assert look.tolist() == [0.0, 1.0, 2.0]
    v = look = None
    gc.collect()
    assert lib.live == 0


@pytest.mark.quick
@pytest.mark.row("G18")
def test_closing_ends_what_lies_inside(lib):
    o, other = lib.outer(), lib.outer()
    inner, part = o.h, o.h2.x
    refuses(BufferError, o.close, "looks into")
    del part
    other.next = o
    pointer = other.next
    refuses(BufferError, o.close, "refers to it")
    other.next = None
    o.close()
    copy = lib.function("struct holder copy(const struct holder *h)")
    ended = lambda: inner.x, lambda: pointer.h, lambda: setattr(inner, "p", None), lambda: copy(inner)
    for each in ended:
        refuses(ValueError, each, "was freed")
    assert "freed" in repr(inner)


@pytest.mark.quick
@pytest.mark.row("G18")
def test_nothing_is_closed_while_c_works_on_a_part_of_it(lib):
    vec = make_vec(lib)
    slow = lib.function("int slow(const struct vec *v)")
    pair = lib.struct(PAIR)()
    pair.one = vec(3)
    with waiting(lib, lambda: slow(pair.one)) as found:
        refuses(RuntimeError, pair.close, "a call is using")
    assert found == [1]


@pytest.mark.quick
@pytest.mark.row("G18")
def test_no_method_moves_memory_that_an_array_looks_into(lib):
    vec = make_vec(lib)
    v = vec(5)
    for look in (v.data, v.values(), v.data[::2], memoryview(v.data)):
        refuses(BufferError, lambda: v.resize(1_000_000), "argument v", "stable=True")
        assert look[0] == 0.0
    v.scale(2.0)  # is declared as stable
    assert v.data.tolist() == [0.0, 2.0, 4.0, 6.0, 8.0] and v.sum() == 20.0
    del look
    v.resize(2)
    assert v.data.shape == (2,)
    pair = lib.struct(PAIR)()
    pair.one = v
    look = pair.one.data
    resize = lib.function(RESIZE)
    refuses(BufferError, lambda: resize(pair.one, 9), "argument v")
    del look


@pytest.mark.quick
@pytest.mark.row("G18")
def test_hashes_tell_instances_apart(lib):
    items = [lib.item(k) for k in range(100)]
    assert len({hash(each) for each in items}) > 90
    o = lib.outer()
    before = hash(items[0])
    o.h.p = items[0]
    assert o.h.p == items[0] and hash(o.h.p) == before
    assert {items[0]: 1}[o.h.p] == 1
    o.h.p = None
    items[0].close()
    assert hash(items[0]) == before


# ---- the destructor ---------------------------------------------------------------------------------


@pytest.mark.row("G19")
def test_a_shared_class_carries_its_destructor(lib):
    counter = make_counter(lib)
    other = from_c(TEXT, name="other")
    other.handle(counter)
    other.variable("int live")
    c = counter(1)
    end = other.function("void counter_free(counter *c)")
    end(c)
    assert (lib.live, other.live) == (0, 0)
    refuses(ValueError, c.next, "was freed")
    end(c)
    other.declare("void counter_free(counter *c);")
    c = counter(1)
    other.counter_free(c)
    del c
    gc.collect()
    assert (lib.live, other.live) == (0, 0)


@pytest.mark.row("G19")
def test_a_destructor_that_came_by_another_way_is_refused(lib):
    bare = from_c(TEXT, name="bare")
    bare.handle("counter *")  # the type without free=
    end = bare.function("void counter_free(counter *c)")
    same = bare.function("counter *counter_same(counter *c)")
    c = make_counter(lib)(1)
    for each in (c, same(c)):
        refuses(TypeError, lambda each=each: end(each), "bare.counter_free()", "close()")
    assert lib.live == 1
    del c, each
    gc.collect()
    assert lib.live == 0


@pytest.mark.row("G19")
def test_an_object_of_another_library_ends_as_it_was_declared_there(lib):
    counter = make_counter(lib)
    lib.function("counter *counter_new(int value)", returns="callee", name="new")
    bare = from_c(TEXT, name="bare")
    bare.variable("int live")
    cls = bare.handle("counter *", free="counter_free")
    cls.__init__ = lambda self, value: cwrapjit._cwrapjit.Initializer(lib.new, True)(self, value)
    c = cls(1)
    assert lib.live == 1 and isinstance(c, cls) and not isinstance(c, counter)
    del c
    gc.collect()
    assert (lib.live, bare.live) == (0, 0)


@pytest.mark.row("G19")
def test_another_layout_is_an_error_that_shows_both():
    for first, then in (
        ("struct p { double x; double y; }", "struct p { float x; float y; }"),
        ("struct p { double x; double y; }", "struct p { double y; double x; }"),
        ("struct p { double x[2]; }", "struct p { double x[3]; }"),
        ("typedef struct { double x; } p", "typedef struct { double x; double y; } p"),
        ("struct p { struct item *a; }", "struct p { struct outer *a; }"),
    ):
        lib = from_c("")
        lib.declare(f"{ITEM}; struct outer;")
        lib.struct(first)
        both = [text[text.index("{") : text.index("}")] for text in (first, then)]
        refuses(cwrapjit.CompileError, lambda t=then, m=lib: m.struct(t), "known with other members", *both)
        lib.declare(then + ";")
        assert any("other members" in each for each in lib.unmapped.values())
        assert lib.struct(first).__name__ == "p"  # the same declaration may be repeated
        other = from_c("", name="other")
        other.declare(f"{ITEM}; struct outer; {then};")
        refuses(cwrapjit.CompileError, lambda m=lib, o=other: o.struct(m.p), "other members")


@pytest.mark.row("G19")
def test_what_frees_takes_the_object_alone(lib):
    two = "void counter_free_two(counter *c, int twice);"
    with_header = from_c(TEXT, header="typedef struct counter_ counter; " + two)
    lib.handle("counter *")
    lib.function(two)
    for made in with_header, lib:
        free = "counter_free_two"
        refuses(ValueError, lambda m=made, f=free: m.handle("counter *", free=f), "takes 2 parameters")
    returns = (3, "callee", "counter_free_two")
    refuses(
        ValueError, lambda: lib.function("double *vec_values(void)", returns=returns), "takes 2 parameters"
    )
    late = from_c(TEXT)
    late.handle("counter *", free="counter_free_two")
    refuses(ValueError, lambda: late.function(two), "takes 2 parameters")
    lib.function("int counter_next(int c)")
    refuses(ValueError, lambda: lib.handle("counter *", free="counter_next"), "no pointer")


@pytest.mark.quick
@pytest.mark.row("G19")
def test_what_the_callee_gives_away_needs_an_end(lib):
    lib.handle("counter *")
    new = "counter *counter_new(int value)"
    refuses(ValueError, lambda: lib.function(new, returns="callee"), "gives the object away", "no free=")
    refuses(ValueError, lambda: lib.handle("counter *", init=new), "no free=")


@pytest.mark.quick
@pytest.mark.row("G18")
def test_what_copies_have_in_common_is_not_moved(lib):
    vec = make_vec(lib)
    pair = lib.struct(PAIR)()
    v = vec(3)
    pair.one = v
    resize = lib.function(RESIZE)
    for each in (v, pair.one):
        refuses(BufferError, lambda each=each: resize(each, 9), "argument v and a copy of it")
    resize(pair.other, 9)  # a separate struct
    v.scale(2.0)  # is declared as stable
    assert pair.one.data.tolist() == [0.0, 2.0, 4.0]
    pair.one = pair.other
    resize(v, 1)
    v.close()


@pytest.mark.row("G18")
@pytest.mark.parametrize("member", ["holder held[2];", "struct { const char *name; int n; } held[2];"])
def test_no_array_shows_pointers_as_numbers(member: str) -> None:
    """C would follow numbers that Python writes there, and copies would keep no object alive."""
    lib = from_c("typedef struct holder { double *p; double w; } holder;\n")
    lib.struct("typedef struct holder { double *p; double w; } holder;")
    lib.struct(f"typedef struct outer {{ {member} double d; }} outer;")
    o = lib.outer(d=2.0)
    refuses(NotImplementedError, lambda: o.held, "has no mapping")
    assert o.d == 2.0


@pytest.mark.row("G18")
def test_who_owns_one_returned_object_is_said_in_known_words() -> None:
    node, make = "typedef struct node { int v; } node;", "node *make(void)"
    lib = from_c(node + make + " { return calloc(1, sizeof(node)); }\n")
    lib.struct(node, free="free")
    for returns in "calee", "free_node":
        refuses(ValueError, lambda r=returns: lib.function(make, returns=r), "one of callee, argument")
    made = lib.function(make, returns="callee")()
    made.close()
    refuses(ValueError, lambda: made.v, "freed")


READERS = """
#include <string.h>
typedef struct { int at; double *data; } reader;
typedef struct { int kind; char *word; } event;
typedef struct { double *data; int64_t n; } window;
int readers = 0, events = 0;
void reader_init(reader *r) { r->at = 0; r->data = calloc(4, 8); readers++; }
void reader_end(reader *r) { free(r->data); readers--; }
void reader_grow(reader *r) { r->data = realloc(r->data, 800000); }
void reader_see(reader *r, window *w) { w->data = r->data; w->n = 4; }
int reader_next(reader *r, event *e)
{
    if (r->at == 2) return -1;
    *e = (event){++r->at, malloc(8)};
    strcpy(e->word, r->at == 1 ? "one" : "two"); events++;
    return 0;
}
const char *reader_fails(reader *r, event *e) { reader_next(r, e); return "\\xff"; }
void event_end(event *e) { free(e->word); events--; }
"""


def make_readers(free=None):
    lib = from_c(READERS)
    lib.struct(
        "typedef struct { int at; double *data; } reader",
        init="void reader_init(reader *r)",
        free="reader_end",
    )
    lib.struct("typedef struct { int kind; char *word; } event", free=free)
    lib.struct("typedef struct { double *data; int64_t n; } window", arrays={"data": "n"})
    lib.function("int reader_next(reader *r, event *e)", out="e", check=ValueError)
    for name in "readers", "events":
        lib.variable(f"int {name}")
    return lib


@pytest.mark.quick
@pytest.mark.row("G18")
@pytest.mark.parametrize("free", [None, "event_end"])
def test_a_struct_that_c_fills_is_no_copy_of_another_type(free):
    lib = make_readers(free)
    r = lib.reader()
    found = [lib.reader_next(r), lib.reader_next(r)]  # the first one still exists
    assert [(each.kind, each.word) for each in found] == [(1, "one"), (2, "two")]
    refuses(ValueError, lambda r=r: lib.reader_next(r), "status -1")
    if free:
        r.close()  # with free=, Python owns the events
        assert lib.readers == 0 and found[0].word == "one"
        found.pop().close()
        assert lib.events == 1
    else:
        refuses(BufferError, r.close, "refers to it")
    del found, r
    gc.collect()
    assert lib.readers == 0 and lib.events == (0 if free else 2)


@pytest.mark.row("G18")
def test_an_output_that_free_ends_is_ended_when_a_later_result_fails():
    lib = make_readers("event_end")
    fails = lib.function("const char *reader_fails(reader *r, event *e)", out="e")
    refuses(UnicodeDecodeError, lambda: fails(lib.reader()), "utf-8")
    gc.collect()
    assert lib.events == 0


@pytest.mark.quick
@pytest.mark.row("G18")
def test_arrays_that_are_found_through_what_c_filled_look_into_arguments():
    lib = make_readers()
    see = lib.function("void reader_see(reader *r, window *w)", out="w")
    grow = lib.function("void reader_grow(reader *r)")
    r = lib.reader()
    window = see(r)
    assert see(r).n == 4  # no array looks into it yet
    look = window.data
    refuses(BufferError, lambda: grow(r), "an array looks into memory of argument r")
    refuses(BufferError, lambda: see(r), "an array looks into memory of argument r")
    del look
    grow(r)


@pytest.mark.row("G18")
def test_what_has_a_struct_inside_may_be_a_copy_of_it(lib):
    vec = make_vec(lib)
    lib.struct(PAIR)
    v = vec(3)
    pair = lib.function("void paired(const struct vec *v, struct pair *to)", out="to")(v)
    refuses(BufferError, lambda: v.resize(9), "argument v and a copy of it")
    one = lib.function("struct vec first(const struct pair *p)")(pair)
    refuses(BufferError, lambda one=one: one.resize(9), "argument v and a copy of it")
    del pair, one
    gc.collect()  # the caught error forms a cycle with `one`
    v.resize(9)
