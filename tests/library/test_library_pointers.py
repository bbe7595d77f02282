"""Pointers whose extent nothing says: cwrapjit.Pointer in and out, void *, T ** and pointers as results."""

from __future__ import annotations

import array
import copy
import ctypes
import gc
import pickle
import weakref
from typing import Any

import numpy as np
import pytest
from helpers import refuses
from leaks import keeps_nothing
from library_tools import from_c

from cwrapjit import Pointer

pytestmark = pytest.mark.row("L05")

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


# ---- in ----------------------------------------------------------------------------------------------


@pytest.mark.quick
def test_a_pointer_is_said_and_what_it_points_to_is_checked(lib: Any) -> None:
    x = np.arange(4.0)
    assert lib.sum(4, Pointer(x)) == 6 and lib.sum(3, Pointer(x[1:])) == 6
    lib.scale(4, Pointer(x), 2.0)
    assert x.tolist() == [0, 2, 4, 6]
    refuses(
        TypeError,
        lambda: lib.sum(4, x),
        "type Pointer[float64] for argument x, got numpy.ndarray",
        'dims={"x": ...}',
        "cwrapjit.Pointer(it)",
    )
    refuses(TypeError, lambda: lib.sum(4, [1.0]), "type Pointer[float64] for argument x, got list")
    refuses(TypeError, lambda: lib.sum(4, x.ctypes.data), "for argument x, got int")
    refuses(TypeError, lambda: lib.sum(4, Pointer(x.astype("f4"))), "got Pointer to float32")
    refuses(TypeError, lambda: lib.sum(4), "argument")
    x.flags.writeable = False
    assert lib.sum(4, Pointer(x)) == 12
    refuses(ValueError, lambda: lib.scale(4, Pointer(x), 2.0), "argument x is a Pointer to read-only memory")


@pytest.mark.quick
def test_none_is_null(lib: Any) -> None:
    assert lib.is_null(None) == 1 and lib.same(None) is None
    assert lib.is_null(Pointer(np.zeros(1))) == 0
    refuses(TypeError, lambda: lib.is_null(), "argument")


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


# ---- out ---------------------------------------------------------------------------------------------


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


def test_pointers_to_pointers_are_results(lib: Any) -> None:
    lib.function("int where(double **x)", out="x")
    n, p = lib.where()
    assert n == 3 and p.item == "float64" and lib.sum(n, p) == 6
    lib.function("int open_any(void **p)", out="p")
    status, p = lib.open_any()
    assert status == 0 and p.item == "" and lib.is_null(p) == 0
    refuses(ValueError, lambda: lib.function("int where(double **x)", inout="x"), "use out=")


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
    with pytest.raises(ValueError, match="was freed"):
        lib.thing_x(t)
    del t, h
    gc.collect()
    assert lib.live == 0


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


@pytest.mark.quick
def test_void_pointers_take_structs_and_handles(lib) -> None:
    """As long as they are there; what ends them is refused."""
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
