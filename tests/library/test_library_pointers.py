"""Tests pointers of unknown extent: cwrapjit.Pointer in and out, void *, T ** and pointers as results."""

from __future__ import annotations

import array
import copy
import ctypes
import gc
import os
import pickle
import random
import weakref
from typing import Any

import numpy as np
import pytest
from helpers import refuses
from leaks import keeps_nothing
from library_tools import from_c

import cwrapjit
from cwrapjit import Pointer

TEXT = """
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
typedef struct { double x; int n; } thing;
typedef struct hidden hidden;
struct hidden { double x; };
int live = 0;

double sum(int n, const double *x) { double s = 0; for (int i = 0; i < n; i++) s += x[i]; return s; }
void scale(int n, double *x, double by) { for (int i = 0; i < n; i++) x[i] *= by; }
int is_null(const void *p) { return p == NULL; }
void *same(void *p) { return p; }
const double *behind(const double *x, int n) { return x + n; }
const double table[3] = {1, 2, 3};
const double *get_table(void) { return table; }
void *make(int n) { live++; return calloc(n, 1); }
void end(void *p) { live--; free(p); }
uint8_t first_byte(const uint8_t *p) { return *p; }
char first_char(char *p) { return *p; }
int32_t third(int32_t *x) { return x[2]; }
int open_thing(thing **t, double x) {
    if (x < 0) return 1;
    *t = calloc(1, sizeof **t); (*t)->x = x; live++;
    return 0;
}
void close_thing(thing *t) { live--; free(t); }
double thing_x(const thing *t) { return t->x; }
int open_hidden(double x, hidden **h) {
    if (x < 0) return 1;
    *h = calloc(1, sizeof **h); (*h)->x = x; live++;
    return 0;
}
void close_hidden(hidden *h) { live--; free(h); }
double hidden_x(const hidden *h) { return h->x; }
int open_any(void **p) { *p = calloc(1, 8); live++; return 0; }
int where(double **x) { *x = (double *)table; return 3; }
int count_texts(char **texts) { int n = 0; while (texts[n]) n++; return n; }
void strange(long double *x) { *x = 2.5L; }
"""


HEADER = """
typedef struct { double x; int n; } thing;
typedef struct hidden hidden;
double sum(int n, const double *x);
void scale(int n, double *x, double by);
int is_null(const void *p);
void *same(void *p);
const double *behind(const double *x, int n);
const double *get_table(void);
void *make(int n);
uint8_t first_byte(const uint8_t *p);
char first_char(char *p);
int32_t third(int32_t *x);
int open_thing(thing **t, double x);
double thing_x(const thing *t);
int open_hidden(double x, hidden **h);
double hidden_x(const hidden *h);
int open_any(void **p);
int where(double **x);
int count_texts(char **texts);
void strange(long double *x);
"""


@pytest.fixture
def lib() -> Any:
    made = from_c(TEXT)
    made.declare("#include <stdint.h>\n" + HEADER)
    made.variable("int live")
    assert made.unmapped == {}
    return made


# ---- as arguments ------------------------------------------------------------------------------------


@pytest.mark.row("L05")
def test_a_pointer_is_said_and_what_it_points_to_is_checked(lib: Any) -> None:
    x = np.arange(4.0)
    assert lib.sum(4, Pointer(x)) == 6 and lib.sum(3, Pointer(x[1:])) == 6
    lib.scale(4, Pointer(x), 2.0)
    assert x.tolist() == [0, 2, 4, 6]
    refuses(TypeError, lambda: lib.sum(4, x), "cwrapjit.Pointer(it)")
    refuses(TypeError, lambda: lib.sum(4, [1.0]), "type Pointer[float64] for argument x, got list")
    refuses(TypeError, lambda: lib.sum(4, x.ctypes.data), "for argument x, got int")
    refuses(TypeError, lambda: lib.sum(4, Pointer(x.astype("f4"))), "got Pointer to float32")
    refuses(TypeError, lambda: lib.sum(4), "argument")
    x.flags.writeable = False
    assert lib.sum(4, Pointer(x)) == 12
    refuses(ValueError, lambda: lib.scale(4, Pointer(x), 2.0), "argument x is a Pointer to read-only memory")


@pytest.mark.row("L05")
@pytest.mark.quick
def test_none_is_null(lib: Any) -> None:
    assert lib.is_null(None) == 1 and lib.same(None) is None
    assert lib.is_null(Pointer(np.zeros(1))) == 0
    refuses(TypeError, lambda: lib.is_null(), "argument")


@pytest.mark.row("L05")
@pytest.mark.quick
def test_what_pointers_agree(lib: Any) -> None:
    data = bytearray(b"xyz")
    assert lib.first_byte(Pointer(data)) == ord("x") and lib.first_char(Pointer(data)) == "x"
    assert lib.first_byte(Pointer(b"abc")) == ord("a") and lib.first_byte(Pointer(memoryview(b"abc"))) == 97
    refuses(ValueError, lambda: lib.first_char(Pointer(b"abc")), "read-only")
    assert lib.third(Pointer(np.arange(3, dtype=np.intc))) == 2
    assert lib.third(Pointer(array.array("i", [1, 2, 3]))) == 3
    refuses(TypeError, lambda: lib.third(Pointer(np.arange(3))), "Pointer to int64")
    assert lib.is_null(Pointer(np.arange(3))) == 0, "void is everything"
    anything = lib.same(Pointer(np.arange(3, dtype=np.int32)))
    assert anything.item == "" and lib.third(anything) == 2
    refuses(TypeError, lambda: lib.strange(Pointer(np.ones(1))), "Pointer to float64")
    texts = np.zeros(3, np.uintp)
    refuses(TypeError, lambda: lib.count_texts(Pointer(texts)), "Pointer[char *]", "Pointer to uint64")


@pytest.mark.row("L05")
@pytest.mark.quick
def test_what_has_no_memory_for_c() -> None:
    refuses(TypeError, lambda: Pointer(5), "wanted an array or a buffer", "got int")
    refuses(TypeError, lambda: Pointer(None), "got NoneType")
    refuses(TypeError, lambda: Pointer("text"), "got str")
    refuses(TypeError, lambda: Pointer(np.arange(9)[::2]), "must be contiguous")
    refuses(TypeError, lambda: Pointer(memoryview(b"abcdef")[::2]), "contiguous")
    refuses(TypeError, lambda: Pointer(np.array([object()])), "objects")
    refuses(TypeError, lambda: Pointer(np.zeros(17, np.uint8)[1:].view("f8")), "aligned")
    refuses(TypeError, lambda: Pointer(np.zeros(2, ">f8")), "byte order")
    with pytest.raises(TypeError, match=r"missing|required"):
        Pointer()  # type: ignore[call-arg]


@pytest.mark.row("L05")
def test_it_keeps_the_memory(lib: Any) -> None:
    class Mine(np.ndarray[Any, Any]):
        pass

    x = np.ones(1000).view(Mine)
    gone = weakref.ref(x)
    p = Pointer(x)
    del x
    gc.collect()
    assert lib.sum(1000, p) == 1000 and p.base is gone()
    del p
    gc.collect()
    assert gone() is None
    data = bytearray(b"abc")
    p = Pointer(data)
    with pytest.raises(BufferError):
        data.extend(b"d")
    del p
    data.extend(b"d")


@pytest.mark.row("L05")
@pytest.mark.quick
def test_what_it_shows() -> None:
    x = np.arange(3.0)
    p = Pointer(x)
    assert p.address == x.ctypes.data and p.item == "float64" and p.base is x and not p.readonly
    assert repr(p) == f"<cwrapjit.Pointer: float64 *, at {hex(p.address)}>"
    assert Pointer(p) is p and p == Pointer(x) and hash(p) == hash(Pointer(x)) and p != Pointer(x[1:])
    assert p != x.ctypes.data and not p == 3
    assert "const void *" in repr(Pointer(b"")) or Pointer(b"").item == "uint8"
    structured = np.zeros(2, [("a", "f8"), ("b", "i4")])
    assert Pointer(structured).item == ""
    refuses(TypeError, lambda: pickle.dumps(p), "pickle")
    refuses(TypeError, lambda: copy.copy(p), "pickle")
    with pytest.raises(AttributeError):
        p.address = 3  # type: ignore[misc]
    with pytest.raises(TypeError):

        class Derived(Pointer):  # type: ignore[misc]
            pass


# ---- memory behind pointers --------------------------------------------------------------------------


def test_items_and_arrays_of_what_it_points_to(lib: Any) -> None:
    table = lib.get_table()
    assert (table[0], table[2], type(table[1])) == (1.0, 3.0, float)
    assert table.array(3).tolist() == table[:3].tolist() == [1, 2, 3] and table[0:3:2].tolist() == [1, 3]
    refuses(TypeError, lambda: table.__setitem__(0, 5.0), "const float64", "assigned")
    assert not table.array(3).flags.writeable
    made = lib.make(32)
    refuses(TypeError, lambda: made[0], "void *", "no number")
    refuses(TypeError, lambda: made.array(4), "void *", "dtype")
    refuses(TypeError, lambda: made.array(4, object), "no number")
    view = made.array((2, 2), np.int64)
    view[1] = 7
    assert made.array(4, "i8").tolist() == [0, 0, 7, 7]
    lib.function("void end(void *p)")(made)


def test_its_own_array_is_its_extent() -> None:
    x = np.arange(4, dtype=np.int16)
    p = Pointer(x)
    p[1] = 9
    p[2:4] = [5, 6]
    assert x.tolist() == [0, 9, 5, 6] and np.shares_memory(p.array((2, 2)), x)
    for wrong in 4, -1, 2**62, slice(5), slice(0, 2**62):
        refuses(IndexError, lambda index=wrong: p[index], "4 items" if wrong != 2**62 else "int16")
    for wrong in (2**70, -(2**70)):
        refuses(IndexError, lambda index=wrong: p[index], f": index {wrong} is out of range")
        refuses(IndexError, lambda index=wrong: p.__setitem__(index, 1), f": index {wrong} is out of range")
    refuses(IndexError, lambda: p.array(3, np.int32), "2 items")
    refuses(ValueError, lambda: p.array((2**40, 2**40)), "no shape")
    refuses(OverflowError, lambda: p.__setitem__(0, 2**20), "int16")
    refuses(TypeError, lambda: p.__setitem__(0, "x"), "int16")
    refuses(TypeError, lambda: p.__delitem__(0), "deleted")
    for unknown in lambda: p[:], lambda: p[1:], lambda: np.asarray(p), lambda: np.array(p, np.int16):
        refuses(TypeError, unknown, "how long it is")
    refuses(IndexError, lambda: p[:-1], "where it ends")
    refuses(TypeError, lambda: list(p), "not iterable")


def test_arrays_of_what_structs_point_to_keep_them() -> None:
    lib = from_c(
        """
        typedef struct { double *data; } holder;
        void fill(holder *h, int n) { h->data = malloc(8 * n); for (int i = 0; i < n; i++) h->data[i] = i; }
        void done(holder *h) { free(h->data); }
        """
    )
    text = "typedef struct { double *data; } holder;"
    own = lib.struct(text, init="void fill(holder *h, int n)", free="done")(3)
    data = own.data
    view = data.array(3)
    refuses(BufferError, own.close, "looks into")
    assert view.tolist() == [0, 1, 2] and data[2] == 2
    del view
    own.close()
    for late in lambda: data[0], lambda: data.array(3), lambda: data.__setitem__(0, 1.0):
        refuses(ValueError, late, "float64", "was freed")
    assert repr(data) == f"<cwrapjit.Pointer: float64 *, at {hex(data.address)}, freed>"


# ---- as results --------------------------------------------------------------------------------------


@pytest.mark.row("L05")
def test_results_are_pointers_that_keep_what_they_may_point_into(lib: Any) -> None:
    x = np.arange(6.0)
    p = lib.behind(Pointer(x), 2)
    assert p.address == x.ctypes.data + 16 and p.readonly and p.item == "float64"
    assert lib.sum(4, p) == 14
    gone = weakref.ref(x)
    del x
    gc.collect()
    assert gone() is not None and lib.sum(4, p) == 14
    del p
    gc.collect()
    assert gone() is None
    table = lib.get_table()
    assert table.readonly and (ctypes.c_double * 3).from_address(table.address)[:] == [1, 2, 3]
    refuses(ValueError, lambda: lib.scale(3, table, 2.0), "read-only")


@pytest.mark.row("L05")
def test_what_c_gives_away_is_ended_once(lib: Any) -> None:
    make = lib.function("void *make(int n)", returns=("callee", "end"))
    p = make(64)
    assert lib.live == 1
    q = lib.same(p)
    assert q == p and q is not p
    del p
    gc.collect()
    assert lib.live == 1, "the other one may point there"
    del q
    gc.collect()
    assert lib.live == 0
    refuses(ValueError, lambda: lib.function("void *make(int n)", returns=(3, "callee", "end")), "no items")


@pytest.mark.row("L05")
def test_pointers_to_pointers_are_results(lib: Any) -> None:
    lib.function("int where(double **x)", out="x")
    n, p = lib.where()
    assert n == 3 and p.item == "float64" and lib.sum(n, p) == 6
    lib.function("int open_any(void **p)", out="p")
    status, p = lib.open_any()
    assert status == 0 and p.item == "" and lib.is_null(p) == 0
    refuses(ValueError, lambda: lib.function("int where(double **x)", inout="x"), "use out=")


@pytest.mark.row("L05")
def test_structs_and_handles_that_c_makes_are_results(lib: Any) -> None:
    thing = lib.struct("thing", free="close_thing")
    hidden = lib.handle("hidden *", free="close_hidden")
    lib.function("int open_thing(thing **t, double x)", out="t", check=ValueError)
    lib.function("int open_hidden(double x, hidden **h)", out="h", check=ValueError)
    t, h = lib.open_thing(2.5), lib.open_hidden(3.5)
    assert type(t) is thing and t.x == 2.5 == lib.thing_x(t)
    assert type(h) is hidden and lib.hidden_x(h) == 3.5 and lib.live == 2
    refuses(ValueError, lambda: lib.open_thing(-1.0), "status 1")
    refuses(ValueError, lambda: lib.open_hidden(-1.0), "status 1")
    t.close()
    refuses(ValueError, lambda t=t: lib.thing_x(t), "was freed")
    del t, h
    gc.collect()
    assert lib.live == 0


ITEMS = """
typedef struct item_ item;
struct item_ { int v; };
int live = 0;
item *item_new(int v) { item *made = malloc(sizeof *made); made->v = v; live++; return made; }
void item_free(item *i) { live--; free(i); }
int sum(item *const items[], int n) { int s = 0; for (int i = 0; i < n; i++) s += items[i]->v; return s; }
int sum_to_null(item *const *items) { int s = 0; while (*items) s += (*items++)->v; return s; }
int total(item **items, int n) { return sum(items, n); }
void make(item **made, int n) { for (int i = 0; i < n; i++) made[i] = i == 2 ? 0 : item_new(i); }
void make_some(item **made, int *room) { if (*room > 2) *room = 2; make(made, *room); }
const char *make_badly(item **made, int n) { make(made, n); return "\\xff"; }
static item a = {3}, b = {4}, *both[] = {&a, &b, 0};
item **all(void) { return both; }
item **copied(int *n) { item **made = malloc(24); memcpy(made, both, 24); *n = 2; return made; }
void words(char **to, int n) { for (int i = 0; i < n; i++) to[i] = i == 1 ? 0 : "word"; }
void rows(double **to, int n) {}
"""


@pytest.fixture
def items() -> Any:
    lib = from_c("#include <string.h>\n" + ITEMS, name="items", header="typedef struct item_ item;")
    lib.variable("int live")
    lib.handle("item *", free="item_free")
    lib.function("item *item_new(int v)", returns="callee")
    return lib


def test_arrays_of_handles_are_lists(items: Any) -> None:
    given = [items.item_new(k) for k in (1, 2, 3)]
    total = items.function("int sum(item *const items[n], int n)")
    assert [total(each) for each in (given, tuple(given), np.array(given, object), [])] == [6, 6, 6, 0]
    assert items.function("int sum_to_null(item *const *items)", container={"items": list})(given) == 6
    said = {"dims": {"items": "n"}, "container": {"items": list}}  # it is not const, so C could write
    assert items.function("int total(item **items, int n)", **said)(given) == 6
    refuses(TypeError, lambda: total([given[0], None]), "list[item]", "an item of type NoneType")
    refuses(TypeError, lambda: total(np.arange(3)), "list[item]", "numpy.ndarray")
    given[1].close()
    refuses(ValueError, lambda: total(given), "was freed")


def test_arrays_of_handles_that_c_fills(items: Any) -> None:
    make = items.function("void make(item **made, int n)", dims={"made": "n"}, out="made")
    made = make(4)
    assert made[2] is None and items.live == 3
    assert items.function("int sum(item *const items[n], int n)")([made[0], made[1], made[3]]) == 4
    some = items.function(
        "void make_some(item *made[room], int *room)", out="made", inout="room", discard="room"
    )
    assert len(some(5)) == 2 and len(some(1)) == 1
    badly = items.function("const char *make_badly(item *made[n], int n)", out="made")
    refuses(UnicodeDecodeError, lambda: badly(4), "utf-8")
    del made
    gc.collect()
    assert items.live == 0, "each is freed once, those of failed calls, too"
    words = items.function("void words(char *to[n], int n)", out="to")
    assert words(3) == ["word", None, "word"]
    rows = "void rows(double *to[n], int n)"
    refuses(TypeError, lambda: items.function(rows, out="to"), "array of double *")


def test_arrays_of_handles_that_c_returns(items: Any) -> None:
    total = items.function("int sum(item *const items[n], int n)")
    found = items.function("item **all(void)", returns="list")()
    assert total(found) == 7 and total(items.function("item **all(void)", returns=1)()) == 3
    copied = items.function("item **copied(int *n)", returns=("n", "callee", "free"), out="n", discard="n")
    assert copied() == found
    del found
    gc.collect()
    assert items.live == 0, "nobody gave them away"


@pytest.mark.row("L05")
def test_handles_are_owned_once_their_end_is_known(lib: Any) -> None:
    lib.refine("open_*", out=("t", "h"))
    status, h = lib.open_hidden(1.0)
    assert status == 0 and lib.hidden_x(h) == 1 and "no free= is known" in repr(h)
    lib.handle("hidden *", free="close_hidden")
    _, other = lib.open_hidden(2.0)
    del other
    gc.collect()
    assert lib.live == 1
    h.close()
    assert lib.live == 0


@pytest.mark.row("L05")
@pytest.mark.parametrize("way", ["out", "returned"])
def test_what_lies_in_an_argument_ends_with_it_by_whatever_way_it_comes(way: str) -> None:
    """An output without a destructor lies in an argument."""
    text = """
    typedef struct box box; typedef struct entry entry; struct entry { int v; }; int live = 0;
    box *box_new(void) { live++; entry *e = malloc(sizeof *e); e->v = 5; return (box *)e; }
    void box_free(box *b) { live--; ((entry *)b)->v = -1; free(b); }
    int box_next(box *b, entry **e) { *e = (entry *)b; return 0; }
    int entry_next(const entry *b, entry **e) { *e = (entry *)b; return 0; }
    entry *box_entry(box *b) { return (entry *)b; }
    """
    lib = cwrapjit.library("boxes", source="#include <stdlib.h>\n" + text)
    lib.handle("box *", free="box_free")
    new = lib.function("box *box_new(void)", returns="callee")
    stored = lib.function("int box_next(box *b, entry **e)", out="e", discard="return")
    following = lib.function("int entry_next(const entry *b, entry **e)", out="e", discard="return")
    get = stored if way == "out" else lib.function("entry *box_entry(box *b)")
    box = new()
    entry = get(box)
    del box
    for _ in range(1000):
        entry = following(entry)
    gc.collect()
    assert (lib.live, entry.v, len(entry.referenced_objects)) == (1, 5, 1)
    del entry
    gc.collect()
    assert lib.live == 0
    box = new()
    entry = get(box)
    box.close()
    refuses(ValueError, lambda: entry.v, "was freed")


@pytest.mark.row("L05")
@pytest.mark.leak
def test_pointers_keep_nothing(lib: Any) -> None:
    x = np.ones(8)
    make = lib.function("void *make(int n)", returns=("callee", "end"))

    def work() -> None:
        lib.sum(8, Pointer(x))
        lib.behind(Pointer(x), 2)
        lib.same(make(8))
        Pointer(bytearray(b"abc"))
        refuses(TypeError, lambda: lib.sum(8, x), "Pointer")
        refuses(TypeError, lambda: Pointer(x[::2]), "contiguous")

    keeps_nothing(work, watched=(x,))


@pytest.mark.row("L05")
@pytest.mark.quick
def test_void_pointers_take_structs_and_handles(lib) -> None:
    """A freed object is rejected, and so is a function that frees."""
    thing = lib.thing(2.5, 7)
    assert lib.is_null(thing) == 0
    same = lib.same(thing)
    assert lib.is_null(same) == 0 and same.address == lib.same(same).address
    refuses(TypeError, lambda: lib.same(np.zeros(2)), "dims=")
    closed = lib.thing(1.0, 1)
    closed.close()
    refuses(ValueError, lambda: lib.is_null(closed), "freed")
    keeping = lib.function("int is_null(const void *p)", name="keeping", keeps={"p": "p"})
    refuses(TypeError, lambda: keeping(Pointer(np.zeros(1))), "keeps= says", "struct or a handle")
    assert keeping(thing) == 0


def test_what_is_freed_does_not_get_to_c() -> None:
    lib = from_c(
        "typedef struct thing thing; static int calls; int count(const void *p) { return ++calls; }"
        "thing *thing_new(void) { return malloc(8); } void thing_free(thing *t) { free(t); }"
    )
    lib.handle("thing *", free="thing_free")
    lib.function("thing *thing_new(void)", returns="callee")
    lib.function("int count(const void *p)")
    thing = lib.thing_new()
    assert lib.count(thing) == 1
    thing.close()
    refuses(ValueError, lambda: lib.count(thing), "freed")
    assert lib.count(None) == 2


SEEDS = int(os.environ.get("CWRAPJIT_LIBRARY_SEEDS", "3"))

TYPES = """
struct job { const double *x; double *y; unsigned char *bytes; const void *any;
             int64_t n; struct job *next; };
union either { double *x; struct job *job; const double *z; };
"""
JOBS = (
    TYPES
    + r"""
static double sum(const double *x, int64_t n) { double s = 0; while (n-- > 0) s += *x++; return s; }
double total(const struct job *j) { return (j->x ? sum(j->x, j->n) : 0) + (j->y ? sum(j->y, j->n) : 0); }
void advance(struct job *j) { j->x++; j->bytes++; j->n--; }
int first(const struct job *j) { return j->bytes[0]; }
"""
)


def jobs():
    lib = from_c(JOBS)
    lib.declare(
        TYPES
        + "double total(const struct job *j); void advance(struct job *j); int first(const struct job *j);"
    )
    return lib


@pytest.mark.row("L04")
def test_pointer_members_keep_what_they_are_given():
    lib = jobs()
    x, text = np.arange(3.0), bytearray(b"abc")
    job = lib.job(x=x, bytes=text, n=3)
    assert lib.total(job) == 3.0 and lib.first(job) == ord("a")
    assert job.x is x and job.bytes is text and job.y is None and job.any is None
    assert {id(each) for each in job.referenced_objects} == {id(x), id(text)}
    with pytest.raises(BufferError):
        text.append(1)
    pointer = job.y = cwrapjit.Pointer(np.ones(3))
    assert job.y is pointer and lib.total(job) == 6.0
    job.bytes = job.any = None
    text.append(1)
    alive = weakref.ref(x)
    del x
    gc.collect()
    assert alive() is not None and lib.total(job) == 6.0
    job.x = None
    gc.collect()
    assert alive() is None and lib.total(job) == 3.0


@pytest.mark.row("L04")
def test_pointers_that_c_moves():
    lib = jobs()
    x = np.arange(3.0)
    job = lib.job(x=x, bytes=bytearray(b"abc"), n=3)
    lib.advance(job)
    moved = job.x
    assert type(moved) is cwrapjit.Pointer and moved.address == x.ctypes.data + 8 and moved.readonly
    assert moved.item == "float64" and lib.total(job) == 3.0 and not job.bytes.readonly
    other = lib.job(x=moved, n=1)
    job.x = None
    del job, moved
    alive = weakref.ref(x)
    del x
    gc.collect()
    assert alive() is not None and lib.total(other) == 1.0


@pytest.mark.quick
def test_what_is_no_memory_for_the_member():
    lib = jobs()
    job = lib.job()
    read_only = np.zeros(3)
    read_only.flags.writeable = False
    job.x = read_only
    for name, value, error, text in (
        ("x", 3, TypeError, "type Pointer, array, buffer or None for attribute x, got int"),
        ("x", np.zeros(3, "f4"), TypeError, "wanted a pointer to float64, got one to float32"),
        ("x", np.zeros(6)[::2], TypeError, "contiguous"),
        ("y", read_only, ValueError, "attribute y of struct job: this memory is read-only"),
        ("bytes", b"abc", ValueError, "read-only"),
        ("any", np.array([None]), TypeError, "objects"),
        ("any", [1.0], TypeError, "got list"),
    ):  # fmt: skip
        with pytest.raises(error, match=text):
            setattr(job, name, value)
    assert job.x is read_only and job.y is None and job.any is None
    job.any = b"abc"
    assert job.any == b"abc"


@pytest.mark.quick
def test_unions_of_pointers():
    """Objects that another member keeps at this address do not belong to this one."""
    lib = jobs()
    lib.struct("union either")
    u, job = lib.either(), lib.job(n=1)
    u.job = job
    assert type(u.x) is cwrapjit.Pointer
    x = u.x = np.ones(3)
    assert u.x is x and len(u.referenced_objects) == 1
    other = np.zeros(1)
    u = lib.either(x=x, z=other)
    assert u.x is u.z is other and x.tolist() == [1.0] * 3


@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_programs(seed):
    """C must see what Python believes, whatever was assigned, copied and dropped."""
    rng, lib = random.Random(seed), jobs()
    live = [(lib.job(n=0), None)]
    for _ in range(60):
        k = rng.randrange(len(live))
        job, x = live[k]
        what = rng.randrange(6)
        if what == 0:
            x = np.arange(float(rng.randrange(1, 9)))
            job.x, job.n = rng.choice((x, cwrapjit.Pointer(x))), len(x)
            live[k] = job, x.tolist()
        elif what == 1:
            job.x = None
            live[k] = job, None
        elif what == 2:
            live.append((lib.job(x=job.x, n=job.n), x))
        elif what == 3 and x and len(x) > 1:
            job.bytes = bytearray(9)
            lib.advance(job)
            live[k] = job, x[1:]
        elif what == 4 and len(live) > 1:
            del live[k]
        else:
            job.next = live[rng.randrange(len(live))][0]
        del job
        if rng.random() < 0.2:
            gc.collect()
        for each, numbers in live:
            assert lib.total(each) == sum(numbers or ())


@pytest.mark.leak
def test_members_that_are_pointers_keep_nothing():
    lib = jobs()

    def use():
        job = lib.job(x=np.zeros(1000), bytes=bytearray(1000), n=3)
        lib.advance(job)
        job.next = lib.job(x=job.x, any=job.bytes)
        job.x = cwrapjit.Pointer(np.zeros(100))
        with pytest.raises(TypeError):
            job.x = 3
        with pytest.raises(ValueError):
            job.bytes = b"abc"

    keeps_nothing(use)


VIEWS = """
typedef struct { double *data; int64_t shape[2]; int64_t stride[2]; } view2;
typedef struct { int rank; const double *base; size_t n; ptrdiff_t strides; } line;

static double at(view2 a, int64_t i, int64_t j) { return a.data[i * a.stride[0] + j * a.stride[1]]; }
double total(view2 a) {
    double r = 0;
    for (int64_t i = 0; i < a.shape[0]; i++) for (int64_t j = 0; j < a.shape[1]; j++) r += at(a, i, j);
    return r;
}
void scale(view2 *a, double by) {
    for (int64_t i = 0; i < a->shape[0]; i++)
        for (int64_t j = 0; j < a->shape[1]; j++) a->data[i * a->stride[0] + j * a->stride[1]] *= by;
}
view2 plus3(view2 a) {
    view2 r = {malloc(8 * a.shape[0] * a.shape[1] + 1), {a.shape[0], a.shape[1]}, {a.shape[1], 1}};
    for (int64_t i = 0; i < a.shape[0]; i++) for (int64_t j = 0; j < a.shape[1]; j++)
        r.data[i * a.shape[1] + j] = at(a, i, j) + 3;
    return r;
}
void plus3_to(const view2 *a, view2 *r) { *r = plus3(*a); }
double first(const line *a) { return a ? a->rank * *a->base + a->n * 100 + a->strides * 1000 : -1; }
static double fixed[6] = {0, 1, 2, 3, 4, 5};
static view2 table = {fixed, {2, 3}, {3, 1}};
view2 *get_table(void) { return &table; }
view2 *get_none(void) { return 0; }
view2 turned(void) { view2 r = {fixed, {3, 2}, {1, 3}}; return r; }
"""


@pytest.fixture
def views():
    made = from_c(VIEWS)
    made.struct("typedef struct { double *data; int64_t shape[2]; int64_t stride[2]; } view2", array=True)
    made.struct(
        "typedef struct { int rank; const double *base; size_t n; ptrdiff_t strides; } line",
        array={"shape": "n", "unit": "bytes"},
    )
    return made


@pytest.mark.row("P12i")
def test_descriptors_by_value_and_pointer_as_argument_and_result(views):
    a = np.arange(12.0).reshape(3, 4)
    total = views.function("double total(view2 a)")
    assert total.__doc__ == "double total(view2 a)"
    for each in a, a[::-2, 1::2], a.T, np.zeros((0, 3)):
        assert total(each) == each.sum()
    scale, b = views.function("void scale(view2 *a, double by)"), a.copy()
    scale(b[1:2, ::2], by=2.0)
    a[1:2, ::2] *= 2
    np.testing.assert_array_equal(b, a)
    r = views.function("view2 plus3(view2 a)", returns=("callee", "free"))(a[:, ::-1])
    np.testing.assert_array_equal(r, a[:, ::-1] + 3)
    assert type(r.base).__name__ == "PyCapsule"
    r = views.function("void plus3_to(const view2 *a, view2 *r)", out="r", returns=("callee", "free"))(a)
    np.testing.assert_array_equal(r, a + 3)
    table = views.function("view2 *get_table(void)")()
    assert table.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


def test_other_layouts_and_absent_ones(views):
    first = views.function("double first(const line *a)", optional="a")
    x = np.arange(10.0, 20.0)
    x.flags.writeable = False
    assert first(x[1::3]) == 11 + 300 + 24000
    assert first(None) == first() == -1.0
    refuses(TypeError, lambda: first(np.zeros((2, 2))), "argument a")


def test_descriptors_that_are_none(views):
    total = views.function("double total(view2 a)")
    for wrong in np.zeros((2, 2), np.float32), None:
        refuses(TypeError, lambda wrong=wrong: total(wrong), "argument a")
    for name in ("view2 *get_none(void)", "view2 turned(void)"):
        refuses(RuntimeError, views.function(name), "NULL")
    for name, members in ("a", "*p, *q; long n;"), ("b", "*p;"), ("c", "*p; double n;"):
        text = f"struct {name} {{ double {members} }}"
        refuses(TypeError, lambda text=text: views.struct(text, array=True), "array=")
    text = "struct d { double *p; long n; }"
    refuses(ValueError, lambda: views.struct(text, array={"shapes": "n"}), "shapes")
