"""Tests automatic classes of undescribed types: handles, or structs with known members."""

from __future__ import annotations

import concurrent.futures
import contextlib
import gc
import inspect
import os
import pickle
import random
import threading

import numpy as np
import pytest
from helpers import build_shared, refuses
from leaks import COUNTED, keeps_nothing
from library_tools import from_c

import cwrapjit
from cwrapjit.library import types

SEEDS = int(os.environ.get("CWRAPJIT_LIBRARY_SEEDS", "4"))

CODE = r"""
typedef struct engine engine;
struct engine { int64_t turns; double heat; };
typedef struct point { double x, y; } point;
struct box { point low, high; struct box *next; engine *motor; };
typedef struct engine_hidden *engine_t;
int ended = 0;

engine *engine_new(int64_t turns) {
    engine *made = calloc(1, sizeof *made);
    made->turns = turns;
    return made;
}
void engine_free(engine *e) { ended++; free(e); }
int64_t engine_turns(const engine *e) { return e->turns; }
void engine_turn(engine *e) { e->turns++; }
engine *engine_same(engine *e) { return e; }
engine_t engine_open(int64_t turns) { return (engine_t)engine_new(turns); }
void engine_close(engine_t e) { engine_free((engine *)e); }
int64_t engine_count(engine_t e) { return ((engine *)e)->turns; }
double point_norm1(const point *p) { return p->x + p->y; }
point point_middle(point a, point b) { point m = {(a.x + b.x) / 2, (a.y + b.y) / 2}; return m; }
double box_area(const struct box *b) { return (b->high.x - b->low.x) * (b->high.y - b->low.y); }
int64_t box_turns(struct box *b) { return b->motor ? b->motor->turns : -1; }
int box_length(const struct box *b) { int n = 0; for (; b; b = b->next) n++; return n; }
engine *spare = 0;
point corner = {1, 2};
"""
OPAQUE = """
typedef struct engine engine;
engine *engine_new(int64_t turns);
void engine_free(engine *e);
int64_t engine_turns(const engine *e);
void engine_turn(engine *e);
engine *engine_same(engine *e);
extern int ended;
"""
KNOWN = """
typedef struct point { double x, y; } point;
struct box { point low, high; struct box *next; engine *motor; };
double point_norm1(const point *p);
point point_middle(point a, point b);
double box_area(const struct box *b);
int64_t box_turns(struct box *b);
int box_length(const struct box *b);
extern engine *spare;
extern point corner;
"""
POINTERS = """
typedef struct engine_hidden *engine_t;
engine_t engine_open(int64_t turns);
void engine_close(engine_t e);
int64_t engine_count(engine_t e);
"""


def declared(*texts):
    lib = from_c(COUNTED + CODE)
    lib.declare("".join(texts))
    assert lib.unmapped == {}
    return lib


@pytest.mark.quick
@pytest.mark.row("L04")
def test_a_pointer_to_what_nobody_described_is_a_handle():
    lib = declared(OPAQUE)
    made = lib.engine_new(3)
    assert type(made) is lib.engine and "engine" in dir(lib)
    lib.engine_turn(made)
    assert lib.engine_turns(made) == 4
    assert lib.engine_same(made) == made
    assert repr(made).endswith(", borrowed, no free= is known>")
    assert "handle()" in lib.engine.__doc__
    refuses(TypeError, lib.engine, "come from functions of t")
    refuses(ValueError, made.close, "borrowed")
    refuses(TypeError, lambda: lib.engine_turns(3), "type engine for argument e, got int")
    lib.engine_free(made)
    assert lib.ended == 1


@pytest.mark.quick
def test_a_struct_whose_members_are_known_has_them():
    lib = declared(OPAQUE, KNOWN)
    p = lib.point(1.0, y=2.0)
    assert lib.point_norm1(p) == 3.0
    assert lib.point_middle(p, lib.point(3.0, 4.0)).y == 3.0
    motor = lib.engine_new(5)
    first = lib.box(high=lib.point(2.0, 3.0))
    second = lib.box(next=first, motor=motor)
    assert lib.box_area(first) == 6.0 and lib.box_length(second) == 2
    assert second.next.high.y == 3.0 and second.next == first and second.motor == motor
    assert lib.box_turns(second) == 5 and first.motor is None
    assert first.referenced_objects == [] and first in second.referenced_objects
    assert lib.spare is None and lib.corner.y == 2.0
    lib.engine_free(motor)


@pytest.mark.quick
@pytest.mark.parametrize("used", [False, True])
def test_handle_describes_the_class_that_is_there(used):
    lib = declared(OPAQUE)
    old = lib.engine_new(1) if used else None
    automatic, freed = lib.engine, lib.engine_free
    init, methods = "engine *engine_new(int64_t turns)", ["int64_t engine_turns(const engine *e)"]
    said = {"init": init, "free": "engine_free", "methods": methods, "doc": "An engine."}
    engine = lib.handle("engine *", name="Engine", **said)
    assert engine is automatic is lib.Engine is lib.engine
    assert (engine.__name__, engine.__doc__) == ("Engine", "An engine.")
    with engine(7) as made:
        assert made.turns() == lib.engine_turns(made) == 7
        assert "open" in repr(made)
    assert lib.ended == 1
    assert lib.engine_free is not freed  # now it frees each object once
    made = engine(8)
    lib.engine_free(made)
    lib.engine_free(made)
    assert lib.ended == 2
    refuses(TypeError, lambda: freed(engine(9)), "which Python owns")
    if used:
        assert old.turns() == 1 and type(old) is engine
        assert repr(old).endswith(", borrowed>")


@pytest.mark.row("L16")
def test_descriptions_add_up():
    lib = declared(OPAQUE, KNOWN)
    engine = lib.handle("engine *", free="engine_free", name="Engine", doc="An engine.")
    made = lib.function("engine *engine_new(int64_t turns)", returns="callee")(3)
    assert engine is lib.handle("engine", methods=["int64_t engine_turns(const engine *e)"]) is type(made)
    assert lib.handle("engine *", init="engine *engine_new(int64_t turns)") is engine
    assert lib.handle("engine *", free="engine_free") is engine
    assert engine(4).turns() == 4 and made.turns() == 3
    assert (engine.__name__, engine.__doc__) == ("Engine", "An engine.")
    del made
    assert lib.ended == 2
    box = lib.struct("struct box")
    assert box is lib.struct("struct box", methods={"area": "double box_area(const struct box *b)"})
    assert box(high=lib.point(2.0, 3.0)).area() == 6.0
    assert lib.struct("struct box", name="Box") is box is lib.Box is lib.box


@pytest.mark.row("L16")
def test_descriptions_that_contradict_each_other():
    data = "typedef struct { int64_t n, m; double *x; } data; void data_free(data *d)"
    lib = from_c(CODE + data + " {}").declare(OPAQUE + data + ";")
    lib.handle("engine *", free="engine_free")
    refuses(ValueError, lambda: lib.handle("engine *", free="free"), "free='free'")
    lib.struct("data", arrays={"x": "n"}, free="data_free")
    refuses(ValueError, lambda: lib.struct("data", arrays={"x": "m"}), "'m' contr")
    refuses(ValueError, lambda: lib.struct("data", free="free"), "'data_free' already", "free='free' contr")
    other = "typedef struct { int n; } data"
    refuses(cwrapjit.CompileError, lambda: lib.struct(other), "and now { int n;")
    assert lib.data().x.shape == (0,)


def test_what_fails_leaves_the_class_as_it_was():
    lib = declared(OPAQUE, KNOWN)
    for ask, text, options in (
        (lib.handle, "engine *", {"free": "engine_gone"}),
        (lib.handle, "engine *", {"name": "Engine", "doc": "?", "methods": ["int absent(engine *e)"]}),
        (lib.handle, "engine *", {"free": "engine_free", "properties": {"x": ()}}),
        (lib.struct, "point", {"name": "P", "methods": ["double point_norm1(const point *p)"], "init": "?"}),
        (lib.struct, "point", {"methods": {"norm": "double point_norm1(const point *p)", "x": 3}}),
        (lib.struct, "point", {"arrays": {"x": 3}}),
    ):
        cls = lib.point if text == "point" else lib.engine
        before = dict(vars(cls)), cls.__name__, cls.__cwrapjit_layout__.free_name
        with pytest.raises((TypeError, ValueError, AttributeError, SyntaxError)):
            ask(text, **options)
        assert (dict(vars(cls)), cls.__name__, cls.__cwrapjit_layout__.free_name) == before
        assert cls.__cwrapjit_layout__.automatic
    assert lib.point(1.0, 2.0).y == 2.0 and lib.engine_turns(lib.engine_new(1)) == 1


def test_members_that_are_known_later():
    lib = declared(OPAQUE)
    made, engine = lib.engine_new(6), lib.engine
    assert not hasattr(made, "turns")
    lib.declare("struct engine { int64_t turns; double heat; };")
    assert lib.engine is engine and made.turns == 6
    made.heat = 3.0
    assert lib.engine_same(made).heat == 3.0 and engine(turns=2).turns == 2
    lib.handle("engine *", free="engine_free")
    assert made.turns == 6
    refuses(TypeError, lambda: engine(turns=2), "come from functions")


@pytest.mark.row("L16")
def test_classes_of_libraries_that_know_different_parts_fit_together():
    opaque, known = declared(OPAQUE), declared(OPAQUE, "struct engine { int64_t turns; double heat; };")
    made = opaque.engine_new(2)
    assert known.engine_turns(made) == 2 and opaque.engine_turns(known.engine(turns=4)) == 4
    assert known.engine.turns.__get__(made) == 2
    other = declared(OPAQUE, "typedef struct point { int x; } point;")
    refuses(TypeError, lambda: declared(OPAQUE, KNOWN).point_norm1(other.point(1)), "type point")
    assert opaque.handle(known.engine) is known.engine is opaque.engine


@pytest.mark.row("L04")
def test_types_that_point_at_each_other():
    lib = from_c("int f(void *p) { return 1; }")
    lib.declare(
        """
        struct a { struct b *b; struct c *c; int n; };
        struct b { struct a a; struct c *c; struct { struct c *deep; } inner; };
        struct c { struct b b; struct a *a; struct d *d; union { int i; double d; } *u; };
        int f(struct c *c);
        """
    )
    c = lib.c()
    assert lib.f(c) == 1
    c.b.a.b = c.b
    c.b.inner.deep = c
    assert c.b.a.b.inner.deep == c
    assert type(c.b).__name__ == "b" and type(c.b.inner).__name__ == "b_inner"
    assert c.d is None and c.u is None
    assert lib.struct("struct a") is lib.a


def test_structs_whose_members_have_no_layout_stay_handles():
    lib = from_c("int f(void *p) { return 1; } void *g(void) { return 0; }")
    lib.declare("struct half { struct no *p; struct no n; }; int f(struct half *p); struct half g(void);")
    assert lib.mapped == ["f"] and "by value" in lib.unmapped["g"]
    refuses(TypeError, lib.half, "come from functions")
    refuses(TypeError, lambda: lib.struct("struct half"), "not complete")


@pytest.mark.row("L04")
def test_pointers_that_have_a_name_of_their_own():
    """In typedef struct hidden *handle, users know only the handle."""
    lib = declared(POINTERS)
    made = lib.engine_open(4)
    assert type(made) is lib.engine_t is lib.engine_hidden and lib.engine_count(made) == 4
    assert lib.engine_t.__name__ == "engine_t"
    assert lib.handle("engine_t", free="engine_close") is type(made)
    lib.declare("typedef struct { int x; } *lonely; int engine_count(lonely x);")
    assert lib.lonely.__name__ == "lonely" and lib.lonely(3).x == 3


@pytest.mark.row("L16")
def test_a_handle_that_is_described_before_its_header_is_read():
    lib = from_c(CODE)
    cls = lib.handle("engine_t", free="engine_close")
    lib.function("int64_t engine_count(struct engine_hidden *e)")  # not known as the same type yet
    lib.declare(POINTERS, options={"engine_open": {"returns": "callee"}})
    made = lib.engine_open(3)
    assert type(made) is cls is lib.engine_hidden and lib.engine_count(made) == 3
    lib.engine_close(made)
    refuses(ValueError, lambda: lib.engine_count(made), "was freed")
    other = lib.handle("engine *", free="engine_free")
    lib.declare(OPAQUE, options={"engine_new": {"returns": "callee"}})
    assert type(lib.engine_new(1)) is other is lib.engine


BITS = """
enum mode { OFF, ON, WILD };
enum { WORDS = 2 };
typedef struct flags {
    unsigned ready : 1, level : 7;
    int balance : 5;
    enum mode mode : 2;
    _Bool sure : 1;
    int : 0;
    long wide : 40;
    char pad[WORDS * sizeof(long) - sizeof(void *)];
} flags;
"""


@pytest.mark.quick
@pytest.mark.row("L04")
def test_bit_fields():
    lib = from_c(
        BITS + "int level(const flags *f) { return f->ready * 1000 + f->level * 10 + f->balance + f->mode; }"
        "flags made(int x) { flags f = {1, x, -x, WILD, 1, -3}; return f; }"
        "typedef struct { unsigned a : 3, b : 4; } few;"
        "few twice(few f) { f.a *= 2; f.b *= 2; return f; }"
        "typedef struct { int k : 4; double d; } mixed; double sum(mixed m) { return m.k + m.d; }"
    )
    lib.declare(BITS + "int level(const flags *f); flags made(int x);")
    f = lib.flags(ready=1, level=100, balance=-16, mode=lib.WILD, sure=True, wide=-(2**39))
    assert lib.level(f) == 1986
    assert (f.ready, f.level, f.balance, f.mode, f.sure, f.wide) == (1, 100, -16, 2, True, -(2**39))
    f.level = 0
    assert (f.ready, f.level, f.balance) == (1, 0, -16)
    for name, value in (("ready", 2), ("level", -1), ("balance", 16), ("mode", 4), ("wide", 2**39)):
        refuses(OverflowError, lambda n=name, v=value: setattr(f, n, v), name, "out of range")
    refuses(TypeError, lambda: setattr(f, "ready", 1.0), "attribute ready, got float")
    assert (f.ready, f.level, f.balance, f.mode) == (1, 0, -16, 2)
    made = lib.made(9)
    assert (made.ready, made.level, made.balance, made.mode, made.sure, made.wide) == (1, 9, -9, 2, True, -3)
    assert len(made.pad.encode()) == 0 and "pad@13:buffer::(8,)" in lib.flags.__cwrapjit_layout__.fields
    lib.declare("typedef struct { unsigned a : 3, b : 4; } few; few twice(few f);")
    lib.declare("typedef struct { int k : 4; double d; } mixed; double sum(mixed m);")
    gap = "struct gap { struct { char a; long : 40; }; }"
    refuses(TypeError, lambda: lib.struct(gap), "bit-field that has no name")
    twice = lib.twice(lib.few(3, 7))
    assert (twice.a, twice.b) == (6, 14) and lib.sum(lib.mixed(-3, 4.0)) == 1.0


def test_bit_fields_that_are_none():
    for bits in "double x : 3", "int x : 33", "int x : -1", "int x : y", "char *x : 2":
        refuses(
            cwrapjit.CompileError,
            lambda bits=bits: from_c("").struct(f"struct s {{ {bits}; }}"),
            "<cwrapjit t",
        )


@pytest.mark.compiler("a library of its")
def test_enums_are_as_wide_as_their_values(tmp_path):
    text = """
    enum big { HUGE = 0x7fffffffffffffff, LOW = -5 };
    enum most { MOST = 0xffffffffffffffff };
    enum half { HALF = 0x80000000 };
    enum big same_big(enum big x);
    enum most same_most(enum most x);
    enum half same_half(enum half x);
    """
    defined = text.replace("x);", "x) { return x; }")
    for lib in (from_c(defined), cwrapjit.library("t", build_shared(tmp_path, "libenums.so", defined))):
        lib.declare(text)
        for name in ("HUGE", "LOW"):
            assert lib.same_big(getattr(lib, name)) == getattr(lib, name)
        assert lib.same_half(lib.HALF) == lib.HALF == 2**31
    assert lib.same_most(lib.MOST) == lib.MOST == 2**64 - 1


@pytest.mark.parametrize("value", ["0xffffffffffffffff", "0x8000000000000000", "~0ull", "1ull << 63"])
def test_enums_that_libtcc_takes_for_signed_ones_are_refused(value):
    text = f"enum most {{ MOST = {value} }};\nenum most f(enum most x) {{ return x; }}"
    reason = "libtcc takes an enum with values of 2**63 and more for a signed one"
    error = refuses(cwrapjit.CompileError, lambda: cwrapjit.vectorize(text), reason)
    assert error.lineno == 2
    for lib in (cwrapjit.library("t", source=text), from_c(text).declare(text)):
        refuses(AttributeError, lambda lib=lib: lib.f, reason)


@pytest.mark.row("L04")
def test_results_that_are_enums_say_which():
    text = """
    enum color { RED, GREEN = 5, BLUE = GREEN };
    typedef enum { LOW = -3, HIGH = 1 << 30 } level;
    typedef enum { NOW = 4 } const when;
    enum wide { LEAST, MOST = 0x80000000u };
    enum odd { mro = 1 };
    """
    functions = (
        "enum color next(enum color c) { return c == RED ? GREEN : c; } int number(void) { return 0; }"
        "level up(int x) { return x ? HIGH : LOW; } enum wide widest(void) { return MOST; }"
        "void both(enum color *c, level *l) { *c = *c == RED ? GREEN : RED; *l = HIGH; }"
        "enum odd same(void) { return mro; } when now(void) { return NOW; }"
    )
    lib = from_c(text + functions).declare(
        text + "enum color next(enum color c); int number(void); level up(int x); enum wide widest(void);"
        "void both(enum color *c, level *l); enum odd same(void); when now(void);"
    )
    green = lib.next(lib.RED)
    assert repr(green) == "<color.GREEN: 5>" and green is lib.color.GREEN is lib.next(green)
    assert (green, str(green), f"{green:03}", green + 1, type(lib.number())) == (5, "5", "005", 6, int)
    assert lib.next(7) == 7 and type(lib.next(7)) is int, "no enumerator has this value"
    assert [repr(lib.up(x)) for x in (0, 1)] == ["<level.LOW: -3>", "<level.HIGH: 1073741824>"]
    assert lib.widest() == lib.MOST == 2**31 and repr(lib.now()) == "<when.NOW: 4>"
    assert lib.same() == 1 and type(lib.same()) is int, "Python has another mro"
    lib.refine("both", inout="c", out="l")
    assert repr(lib.both(lib.color.RED)) == "(<color.GREEN: 5>, <level.HIGH: 1073741824>)"
    lib.struct("struct pen { enum color ink; level up : 31; }")
    pen = lib.pen(lib.RED, -3)
    assert (pen.ink, pen.up) == (0, -3) and pen.ink is lib.color.RED and pen.up is lib.level.LOW
    pen.ink, pen.up = 7, lib.level.HIGH - 1
    assert [type(each) for each in (pen.ink, pen.up)] == [int, int] and pen.ink == 7
    copied = pickle.loads(pickle.dumps(green))
    assert copied == 5 and type(copied) is int


@pytest.mark.row("L04")
def test_members_that_python_has_no_type_for():
    text = """
    struct odd {
        __int128 i; long double _Complex l; _Float128 q; int (*f)(int); void *p; char **names;
        int (*many[2])(void);
        union { struct { int low, high; }; double d; }; struct { char c; } inner[2]; int last; short tail[];
    };
    """
    known = text.replace("_Float128", "long double").replace("__int128", "long double")
    known = known.replace("long double _Complex l", "long double l[2]")
    made = "struct odd *made(void) { static union { struct odd o; char room[512]; } u; return &u.o; }"
    lib = from_c(known + made + "int last(struct odd *o) { return o->last + o->low; }")
    lib.declare(text + "int last(struct odd *o); struct odd *made(void);")
    o = lib.made()
    o.last, o.low = 3, 4
    assert lib.last(o) == 7 and o.high == 0 and o.inner.shape == (2,)
    assert o.p is None and o.names is None
    for name in ("l", "many", "tail"):
        refuses(NotImplementedError, lambda name=name: getattr(o, name), f"attribute {name} of struct odd")


POINTS = """
typedef struct { double x, y; } spot;
typedef struct { spot at; int32_t weight; char name[4]; } star;
typedef struct { spot *at; } held;
"""
STARS = r"""
double total(int64_t n, const star stars[n]);
void moved(int64_t n, star stars[n], double by);
void grid(int64_t m, int64_t n, spot out[m][n]);
star *made(int64_t n);
extern spot corners[2];
double reach(int64_t n, const held all[n]);
"""


def stars():
    lib = from_c(
        POINTS
        + r"""
        double total(int64_t n, const star *s) {
            double t = 0; for (int64_t i = 0; i < n; i++) t += s[i].at.x * s[i].weight; return t;
        }
        void moved(int64_t n, star *s, double by) { for (int64_t i = 0; i < n; i++) s[i].at.y += by; }
        void grid(int64_t m, int64_t n, spot *out) {
            for (int64_t i = 0; i < m * n; i++) out[i] = (spot){i / n, i % n};
        }
        star *made(int64_t n) {
            star *s = calloc(n + 1, sizeof *s);
            for (int64_t i = 0; i < n; i++) { s[i].weight = i; s[i].name[0] = 'a' + i; }
            return s;
        }
        spot corners[2] = {{1, 2}, {3, 4}};
        double reach(int64_t n, const held *all) { return 0; }
        """
    )
    lib.declare(POINTS + STARS, options={"grid": {"out": "out"}, "made": {"returns": ("n", "callee")}})
    return lib


@pytest.mark.quick
@pytest.mark.row("L04")
def test_arrays_of_structs():
    lib = stars()
    assert "held, which has members that NumPy's types do not cover" in lib.unmapped["reach"]
    x = np.zeros(3, lib.star)
    assert x.itemsize == lib.star.dtype.itemsize == 24
    x["at"]["x"], x["weight"] = [1, 2, 3], [4, 5, 6]
    assert lib.total(x) == 32.0
    lib.moved(x, 2.0)
    assert x["at"]["y"].tolist() == [2, 2, 2]
    packed = np.zeros(2, [("x", "f8"), ("y", "f8")])
    grid = lib.grid(2, 3)
    assert grid.shape == (2, 3) and grid.dtype == packed.dtype and grid["y"][1].tolist() == [0, 1, 2]
    made = lib.made(2)
    assert made["weight"].tolist() == [0, 1] and bytes(made["name"][1]) == b"b\0\0\0"
    assert lib.corners["y"].tolist() == [2, 4]
    lib.corners["y"][0] = 5
    assert lib.corners[0]["y"] == 5
    assert "stars: star[:]" in str(inspect.signature(lib.total))


def test_arrays_that_are_not_of_the_struct():
    lib = stars()
    x = np.zeros(4, lib.star)
    spots, fields = lib.spot.dtype, lib.star.dtype.fields
    for wrong in (
        np.zeros(3),
        np.zeros(3, lib.spot),
        np.zeros((3, 3), lib.star),
        np.zeros(3, x.dtype.newbyteorder()),
        np.zeros(3, np.dtype([("at", spots), ("weight", "i4"), ("name", "S4")])),
        np.zeros(3, np.dtype([("at", spots), ("weight", "i4"), ("name", "i1", 4), ("more", "i4")])),
        np.zeros(3, [(f"f{k}", object) for k in range(3)]),
        lib.star(),
        [lib.star()],
        None,
    ):
        refuses(TypeError, lambda wrong=wrong: lib.total(wrong), "t.total(): ", "star[:]")
    formats, offsets = ([each[k] for each in fields.values()] for k in (0, 1))
    unaligned = {"names": list(fields), "formats": formats, "offsets": offsets, "itemsize": 24}
    refuses(ValueError, lambda: lib.total(x[::2]), "not contiguous")
    refuses(ValueError, lambda: lib.total(np.zeros(73, "u1")[1:].view(np.dtype(unaligned))), "not aligned")
    x.flags.writeable = False
    assert lib.total(x) == 0
    refuses(ValueError, lambda: lib.moved(x, 1.0), "read-only")


TURNS = "int64_t engine_turns(const struct engine *e)"
NEW = "struct engine *engine_new(int64_t turns)"
PIECES = (
    ("declare", "typedef struct engine engine;"),
    ("declare", "struct engine { int64_t turns; double heat; };"),
    ("declare", f"typedef struct engine engine; {NEW}; void engine_free(engine *e);"),
    ("declare", f"struct engine; {TURNS};"),
    ("declare", "typedef struct point { double x, y; } point; double point_norm1(const point *p);"),
    ("declare", "struct box { struct point low, high; struct box *next; struct engine *motor; };"),
    ("declare", "struct box; int box_length(const struct box *b); int64_t box_turns(struct box *b);"),
    ("handle", "struct engine *"),
    ("handle", "engine *", {"free": "engine_free"}),
    ("handle", "engine", {"init": NEW, "free": "engine_free"}),
    ("handle", "struct engine", {"methods": [TURNS]}),
    ("handle", "struct engine", {"methods": ["int64_t engine_gone(const struct engine *e)"]}),
    ("struct", "struct engine", {"name": "Engine"}),
    ("struct", "struct point", {"methods": {"norm": "double point_norm1(const struct point *p)"}}),
    ("struct", "struct box", {}),
    ("function", NEW, {"returns": "callee"}),
    ("function", NEW, {"name": "given"}),
    ("ask", "engine"),
    ("ask", "box"),
    ("use",),
)


def step(lib, kept, what, text="", options=None):
    """Runs one of PIECES, which may fail because it comes too early."""
    if what == "use":
        if hasattr(lib, "given") and hasattr(lib, "engine_turns"):
            made = lib.given(len(kept))
            kept.append((made, len(kept)))
        if hasattr(lib, "box_length") and hasattr(lib, "box") and lib.box.__cwrapjit_layout__.size:
            first, second = lib.box(), lib.box()
            first.next = second
            second.motor = kept[-1][0] if kept else None
            assert lib.box_length(first) == 2 and first.next == second
            assert lib.box_turns(second) == (kept[-1][1] if kept else -1)
    elif what == "ask":
        getattr(lib, text, None)
    else:
        getattr(lib, what)(text, **(options or {}))


@pytest.mark.row("L16")
@pytest.mark.parametrize("seed", range(SEEDS))
def test_any_order(seed):
    """Each type has one class, and existing objects keep working, whatever the order of descriptions."""
    rng = random.Random(seed)
    lib, kept, classes = from_c(CODE), [], {}
    for _ in range(30):
        with contextlib.suppress(TypeError, ValueError, AttributeError, cwrapjit.CompileError):
            step(lib, kept, *rng.choice(PIECES))
        for struct, cls in lib._core.classes.items():
            name = types.final(struct).tag
            assert classes.setdefault(name, cls) is cls, name
        for made, turns in kept:
            assert type(made) is lib._core.classes[lib._core.declarations.tags["struct engine"]]
            assert lib.engine_turns(made) == turns
            assert getattr(made, "turns", turns) == turns or callable(made.turns)
    for piece in PIECES[:7]:
        step(lib, kept, *piece)
    assert lib.box(motor=kept[0][0] if kept else None).low.x == 0
    assert lib.point_norm1(lib.point(1.0, 2.0)) == 3.0
    assert isinstance(lib.engine_new(1), lib.engine)


def test_functions_come_before_types_of_their_name():
    lib = from_c("struct stat { int a; }; int stat(struct stat *s) { return s->a; }")
    lib.declare("struct stat { int a; }; int stat(struct stat *s);")
    assert lib.mapped == ["stat"]
    (cls,) = lib._core.classes.values()
    assert lib.stat(cls(3)) == 3
    assert lib.struct("struct stat", name="Stat") is cls is lib.Stat
    assert lib.stat(cls(4)) == 4


def test_an_array_struct_that_is_described_after_its_functions():
    lib = from_c(
        "typedef struct { double *data; int64_t n; } vec;"
        "double total(vec v) { double s = 0; for (int64_t i = 0; i < v.n; i++) s += v.data[i]; return s; }"
    )
    lib.declare("typedef struct { double *data; int64_t n; } vec; double total(vec v);")
    assert lib.total(lib.vec()) == 0
    lib.struct("vec", array=True)
    assert lib.total(np.array([1.0, 2.0, 3.0])) == 6.0


def test_threads_get_one_class():
    for _ in range(5):
        lib = from_c(CODE)
        lib._core.declarations.read_each(OPAQUE + KNOWN, "<test>")
        ready = threading.Barrier(4)

        def ask(_, ready=ready, lib=lib):
            ready.wait()
            return lib.box

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            (found,) = set(pool.map(ask, range(4)))
        assert found().low.x == 0


@pytest.mark.soak("seconds; other leak tests reach the same")
@pytest.mark.leak
def test_nothing_is_kept():
    def declare_and_describe():
        lib = declared(OPAQUE, KNOWN)
        p = lib.box(low=lib.point(1.0, 2.0))
        p.next = lib.box()
        lib.engine_free(lib.engine_new(3))
        lib.handle("engine *", free="engine_free", init="engine *engine_new(int64_t turns)")
        with pytest.raises(ValueError):
            lib.struct("point", arrays={"z": 3})
        lib.struct("point")
        lib.engine(3)
        del lib, p
        gc.collect()

    keeps_nothing(declare_and_describe)


@pytest.mark.row("L04", "L16")
@pytest.mark.parametrize("order", ["abcd", "dcba", "bacd", "cdab"])
def test_several_names_of_one_definition_are_one_class(order):
    """Tests libpng's typedef struct { ... } png_image, *png_imagep; used in any order."""
    code = "typedef struct { int n; } img, *imgp; typedef imgp *imgpp;"
    text = "int a(imgp x) { return x->n; } int b(img *x) { return x->n; } int c(imgpp x) { return (*x)->n; }"
    lib = from_c(f"{code} {text} int d(const img *x) {{ return x->n; }} imgp e(imgp x) {{ return x; }}")
    lib.declare(code + "int a(imgp x); int b(img *x); int c(imgpp x); int d(const img *x); imgp e(imgp x);")
    functions = [getattr(lib, name) for name in order if name != "c"]
    image = lib.img(5)
    assert [f(image) for f in functions] == [5] * 3
    assert type(lib.e(image)) is lib.img
    lib.declare(code)  # a repetition
    assert lib.a(lib.img(6)) == 6 and lib.b(image) == 5
    variables = from_c("struct { int n; } one = {3}, *two = &one;")
    variables.declare("extern struct { int n; } one, *two;")
    assert type(variables.one) is type(variables.two) and variables.two.n == 3
