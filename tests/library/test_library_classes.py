"""Tests Python classes for structs and handles of a library: members, methods, lifetimes."""

from __future__ import annotations

import copy
import ctypes
import gc
import pickle
import platform
import sys
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers import refuses
from leaks import keeps_nothing
from library_tools import from_c, from_shared

import cwrapjit as cj

SHAPES = """
#include <math.h>

struct point { double x, y; };
struct point origin = {1.0, 2.0};
struct point *get_origin(void) { return &origin; }
void point_init(struct point *p, double x, double y) { p->x = x; p->y = y; }
double point_norm(const struct point *p) { return hypot(p->x, p->y); }
void point_translate(struct point *p, double dx, double dy) { p->x += dx; p->y += dy; }
struct point point_add(struct point a, struct point b) { struct point r = {a.x + b.x, a.y + b.y}; return r; }
double point_get_angle(const struct point *p) { return atan2(p->y, p->x); }
void point_set_angle(struct point *p, double angle) {
    double r = hypot(p->x, p->y); p->x = r * cos(angle); p->y = r * sin(angle);
}

typedef struct { struct point from, to; int count; float grid[2][3]; char name[8]; const char *title;
} segment;
void segment_name(segment *s) { s->title = "a segment"; s->grid[1][2] = 7; }

struct vec { int64_t n; double *data; double *spare; };
int live = 0;
int vec_init(struct vec *v, int64_t n) {
    if (n < 0) return 1;
    v->n = n; v->data = calloc(n + 1, 8); live++; return 0;
}
void vec_clear(struct vec *v) { free(v->data); v->data = 0; live--; }
int64_t vec_len(const struct vec *v) { return v->n; }
double vec_get(const struct vec *v, int64_t i) { return i < 0 || i >= v->n ? 0.0 / 0.0 : v->data[i]; }
void vec_fill(struct vec *v, double x) { for (int64_t i = 0; i < v->n; i++) v->data[i] = x; }
double *vec_data(struct vec *v) { return v->data; }

typedef struct counter_ counter;
struct counter_ { int value; };
int counters = 0;
counter *counter_new(int value) {
    if (value < 0) return 0;
    counter *c = malloc(sizeof *c); c->value = value; counters++; return c;
}
void counter_free(counter *c) { counters--; free(c); }
int counter_next(counter *c) { return c->value++; }
static counter shared_counter = {100};
counter *counter_shared(void) { return &shared_counter; }
"""

SEGMENT = """typedef struct {
    struct point from, to; int count; float grid[2][3]; char name[8]; const char *title;
} segment;"""
POINT = "struct point { double x, y; }"


def make_library(name="shapes"):
    return from_c(SHAPES, name=name)


@pytest.fixture
def lib():
    return make_library()


def make_point(lib, **options):
    return lib.struct(
        POINT,
        methods=[
            "double point_norm(const struct point *p)",
            "void point_translate(struct point *p, double dx, double dy)",
        ],
        **options,
    )


# ---- structs -------------------------------------------------------------------------------------


@pytest.mark.row("P15", "P16")
def test_a_class_instance_by_pointer_getter_with_methods_and_attributes(lib):
    make_point(lib)
    lib.function("struct point *get_origin(void)")
    p = lib.get_origin()
    assert (p.x, p.y) == (1.0, 2.0)
    p.translate(1.0, 2.0)
    assert (lib.get_origin().x, lib.get_origin().y) == (2.0, 4.0)
    p.x = 10.0
    assert lib.get_origin().x == 10.0
    assert isinstance(p, lib.point)


@pytest.mark.quick
@pytest.mark.row("P35")
def test_type_init_and_methods_with_self(lib):
    point = make_point(lib, init="void point_init(struct point *p, double x, double y)", doc="A point.")
    p = point(3.0, y=4.0)
    assert type(p) is point is lib.point
    assert p.norm() == 5.0
    assert point.norm(p) == 5.0
    assert point.__doc__ == "A point."
    refuses(TypeError, lambda: p.__init__(1.0, 2.0), "initialised already")
    with pytest.raises(TypeError):
        point(1.0)
    refuses(TypeError, lambda: point("a", 1.0), "Expected an argument of type float for argument x, got str")
    refuses(ValueError, point.__new__(point).norm, "never initialised")


@pytest.mark.row("P36")
def test_getters_and_setters(lib):
    get = "double point_get_angle(const struct point *p)"
    angle = get, "void point_set_angle(struct point *p, double angle)"
    p = make_point(lib, properties={"angle": angle})(4)
    assert p.x == 4.0 and type(p.x) is float and p.angle == 0.0
    p.angle = np.pi / 2
    assert p.y == pytest.approx(4.0)


def test_members_by_position_and_name(lib):
    point = make_point(lib)
    assert (point(1.0, y=2.0).y, point().x) == (2.0, 0.0)
    for bad in ((1, 2, 3), {"z": 1}, ("a",)):
        with pytest.raises(TypeError):
            point(**bad) if isinstance(bad, dict) else point(*bad)
    refuses(TypeError, lambda: point(1.0, x=1.0), "multiple values")


def test_many_members_and_arrays_are_given(lib):
    members = " ".join(f"int m{k};" for k in range(40))
    many = lib.struct(f"struct many {{ {members} double row[3]; }}")
    made = many(*range(40), row=[1, 2, 3])
    assert [made.m0, made.m16, made.m39, made.row.tolist()] == [0, 16, 39, [1, 2, 3]]
    assert many(m39=5).m39 == 5 and many(m39=5).m38 == 0
    refuses(TypeError, lambda: many(*range(42)), "many(): takes 41 positional arguments but 42 were given")
    refuses(TypeError, lambda: many(0, m0=1), "many(): got multiple values for argument 'm0'")
    refuses(TypeError, lambda: many(m40=1), "many(): got an unexpected keyword argument 'm40'")
    refuses(AttributeError, lambda: many(row="abc"), "attribute row", "assign to its items")
    refuses(ValueError, lambda: many(row=[1, 2]), "broadcast")
    refuses(TypeError, lambda: many(m0="1"), "attribute m0")

    class Doubled(many):
        @property
        def m0(self):
            return many.m0.__get__(self)

        @m0.setter
        def m0(self, value):
            many.m0.__set__(self, 2 * value)

    assert Doubled(4, 5).m0 == 8


@pytest.mark.quick
@pytest.mark.row("P04i")
def test_setters_refuse_wrong_types_and_new_memory(lib):
    make_point(lib)
    lib.struct(SEGMENT)
    s = lib.segment()
    refuses(TypeError, lambda: setattr(s.to, "x", "a"), "type float for attribute x, got str")
    refuses(TypeError, lambda: setattr(s, "count", 1.5), "type int for attribute count, got float")
    refuses(OverflowError, lambda: setattr(s, "count", 2**31), "attribute count: 2147483648")
    refuses(AttributeError, lambda: setattr(s, "grid", np.zeros((2, 3), "f4")), "Can't reallocate memory")
    refuses(TypeError, lambda: setattr(s, "to", s), "struct point for attribute to, got segment")
    refuses(AttributeError, lambda: delattr(s, "count"), "count")
    refuses(AttributeError, lambda: setattr(s, "nothing", 1), "nothing")


def test_nested_structs_arrays_and_text(lib):
    make_point(lib)
    segment = lib.struct(SEGMENT, methods={"give_title": "void segment_name(segment *s)"})
    s = segment(to=lib.point(5, 6), name="abc", grid=[[1, 2, 3], [4, 5, 6]])
    assert (s.to.x, s.to.y, s.from_.x) == (5.0, 6.0, 0.0)
    assert s.name == "abc"
    assert s.title is None
    s.give_title()
    assert s.title == "a segment"
    assert s.grid[1, 2] == 7.0
    s.grid[1, 2] = 6.0
    grid, to = s.grid, s.to
    assert grid.dtype == np.float32 and grid.shape == (2, 3) and grid.base is s
    del s
    gc.collect()
    to.x = 9.0
    assert grid.sum() == 21.0


def test_layout_is_the_compilers(lib):
    lib.struct("struct deep { int d; char e[3]; }")
    odd = lib.struct("struct odd { char a; double b; short c; struct deep inside; long long f; }")

    class Deep(ctypes.Structure):
        _fields_ = [("d", ctypes.c_int), ("e", ctypes.c_char * 3)]

    kinds = {
        "a": ctypes.c_char,
        "b": ctypes.c_double,
        "c": ctypes.c_short,
        "inside": Deep,
        "f": ctypes.c_longlong,
    }

    class Odd(ctypes.Structure):
        _fields_ = list(kinds.items())

    layout = odd.__cwrapjit_layout__
    assert layout.size == ctypes.sizeof(Odd)
    for name in kinds:
        assert f"{name}@{getattr(Odd, name).offset}:" in layout.fields


@pytest.mark.row("P09i")
def test_magic_methods(lib):
    methods = {
        "__len__": "int64_t vec_len(const struct vec *v)",
        "__getitem__": "double vec_get(const struct vec *v, int64_t i)",
        "fill": "void vec_fill(struct vec *v, double x)",
    }
    init = ("int vec_init(struct vec *v, int64_t n)", {"check": ValueError})
    made = {"init": init, "free": "vec_clear", "arrays": {"data": "n"}, "methods": methods}
    v = lib.struct("struct vec { int64_t n; double *data; double *spare; }", **made)(3)
    v.fill(2.5)
    assert len(v) == 3 and v[1] == 2.5 and v.data.tolist() == [2.5] * 3
    refuses(TypeError, lambda: v["a"], "argument i")


@pytest.mark.quick
def test_what_has_no_way_to_python_says_why(lib):
    v = lib.struct("struct odd { double *many[2]; long double _Complex l; }")()
    for name, word in (("many", "an array of double * has"), ("l", "long double")):
        refuses(NotImplementedError, lambda name=name: getattr(v, name), word)
        refuses(NotImplementedError, lambda name=name: setattr(v, name, 1), word)


ONE = """
typedef struct { long n; double *d; } big_s; typedef big_s big_t[1];
typedef struct { long n, d; } ratio_s; typedef ratio_s ratio_t[1];
typedef struct { big_t of; ratio_t by; } both;
big_t whole = {{3, 0}};
ratio_t half = {{1, 2}};
void big_init(big_t x, long n) { x->n = n; }
long big_len(const big_t x) { return x->n; }
long ratio_sum(const ratio_t x) { return x->n + x->d; }
void ratio_set(ratio_t x, long n, long d) { x->n = n; x->d = d; }
long big_with(long (*f)(big_t x, const ratio_t y), big_t x) { ratio_t y = {{5, 6}}; return f(x, y); }
"""


def test_an_array_of_one_struct_is_the_struct():
    """GMP's mpz_t, mpfr_t and fmpz_poly_t are such arrays."""
    lib = cj.library("one", source=ONE)
    big, ratio = lib.big_t(), lib.ratio_t(1, 2)
    lib.big_init(big, 7)
    lib.ratio_set(ratio, 3, 4)
    assert (lib.big_len(big), lib.ratio_sum(ratio), lib.big_len(lib.whole)) == (7, 7, 3)
    assert (type(big), type(ratio), type(lib.whole)) == (lib.big_s, lib.ratio_s, lib.big_s)
    assert lib.big_with(lambda x, y: x.n + y.d, big) == 13
    both = lib.both()
    lib.big_init(both.of, 5)  # members whose type NumPy has are arrays
    assert (both.of.n, both.by.shape, lib.half.tolist()) == (5, (1,), [(1, 2)])
    lib.function("void big_init(big_t x, long n)", out="x")
    assert lib.big_init(9).n == 9
    lib.function("long ratio_sum(const ratio_t x)", dims={"x": 1})
    assert lib.ratio_sum(np.ones(1, lib.ratio_s)) == 2  # dims= makes x an array


def test_an_instance_has_an_address(lib):
    Point = make_point(lib)
    point = Point(1.0, 2.0)
    assert (ctypes.c_double * 2).from_address(point.address)[:] == [1.0, 2.0]
    point.close()
    refuses(ValueError, lambda: point.address, "freed")
    named = cj.library("named", source="typedef struct { int address; } house; int f(house *h) { return 1; }")
    assert named.house(12).address == 12  # the member hides the attribute


@pytest.mark.quick
def test_pointers_with_sizes(lib):
    struct = "struct vec { int64_t n; double *data; double *spare; }"
    resizing = from_c(struct + "; void resize(struct vec *v, int64_t n) { v->n = n; }")
    vec = resizing.struct(struct, arrays={"data": ("n", 1)})
    resize = resizing.function("void resize(struct vec *v, int64_t n)")
    v = vec()
    assert v.data.shape == (0, 1)
    refuses(AttributeError, lambda: setattr(v, "n", 2**40), "read-only")  # a larger n would expose all memory
    for size, word in (3, "NULL"), (-1, "no size"):
        resize(v, size)
        refuses(ValueError, lambda: v.data, word)
    for bad in ({"what": "n"}, {"data": "m"}, {"data": -1}):
        with pytest.raises(ValueError):
            lib.struct(struct, arrays=bad)
    refuses(TypeError, lambda: lib.struct(struct, arrays={"n": "n"}), "arrays")


# ---- by value --------------------------------------------------------------------------------------


MIXED = [
    ("double", "long"), ("long", "double"), ("float", "int"), ("int", "float"), ("double", "int"),
    ("char", "double"), ("float", "float", "int"), ("int", "float", "float"),
    ("float", "float", "float", "int"), ("double", "float"), ("float", "float", "float"),
    ("float", "float"), ("char", "char", "char"), ("int", "int", "int"), ("long", "char"),
    ("double", "double", "double"), ("float", "int", "long", "int"), ("short", "float", "char"),
]  # fmt: skip


def test_structs_by_value_are_never_passed_wrongly(tmp_path):
    """The system's compiler builds the library."""
    texts, code = [], ""
    for number, kinds in enumerate(MIXED):
        members = " ".join(f"{kind} m{i};" for i, kind in enumerate(kinds))
        texts.append(f"struct s{number} {{ {members} }};")
        turn = " ".join(f"r.m{i} = a.m{i} * 2 + k;" for i in range(len(kinds)))
        code += f"{texts[-1]}\nstruct s{number} turn{number}(int k, struct s{number} a, double d)\n"
        code += f"{{ struct s{number} r = a; k += (int)d; {turn} return r; }}\n"
    lib = from_shared(code, tmp_path)
    for number, kinds in enumerate(MIXED):
        s = lib.struct(texts[number])
        turn = lib.function(f"struct s{number} turn{number}(int k, struct s{number} a, double d)")
        r = turn(1, s(*range(3, 3 + len(kinds))), 2.0)
        wanted = [2 * (3 + i) + 3 for i in range(len(kinds))]
        wanted = [chr(each) if kind == "char" else each for kind, each in zip(kinds, wanted, strict=True)]
        assert [getattr(r, f"m{i}") for i in range(len(kinds))] == wanted, kinds
    refuses(TypeError, lambda: turn(1, 2.0, 2.0), "argument a")


@pytest.mark.quick
def test_mixed_structs_without_an_optimizing_compiler():
    text, turned = "struct s { double d; long l; };", "struct s turn(struct s a)"
    lib = from_c(text + turned + "{ a.d += 1; a.l += 2; return a; }")  # libtcc compiles the function, too
    s = lib.struct(text)
    r = lib.function(turned)(s(1.5, 2))
    assert (r.d, r.l) == (2.5, 4)
    libc = cj.library("c", libraries=["c"])
    libc.struct("struct s { double m[2]; };")  # libtcc passes it wrongly on every machine
    cj.config.compiler = "no-such-compiler"
    refuses(TypeError, lambda: libc.function("struct s lldiv(long a, long b)"), "by value", "libtcc")
    libc.declare("struct s lldiv(long a, long b); int abs(int x);")
    assert libc.abs(-3) == 3
    assert "by value" in libc.unmapped["lldiv"]


# ---- handles ---------------------------------------------------------------------------------------


def make_counter(lib, **options):
    return lib.handle("counter *", free="counter_free", methods=["int counter_next(counter *c)"], **options)


@pytest.mark.row("P16i")
def test_handles_own_or_borrow_are_freed_once_and_type_checked(lib):
    make_counter(lib)
    lib.variable("int counters")
    new = lib.function("counter *counter_new(int value)", returns="callee")
    shared = lib.function("counter *counter_shared(void)")
    following = lib.function("int counter_next(counter *c)")
    c = new(5)
    assert (following(c), c.next(), lib.counters) == (5, 6, 1)
    assert shared().next() == 100
    assert lib.counters == 1  # a borrowed counter is not freed
    for bad in (object(), 1, None, "a"):
        refuses(TypeError, lambda bad=bad: following(bad), "counter")
    refuses(ValueError, shared().close, "borrowed")
    c.close()
    c.close()
    assert lib.counters == 0
    refuses(ValueError, c.next, "was freed")
    del c
    gc.collect()
    assert lib.counters == 0
    refuses(TypeError, lib.counter, "come from functions")


def test_a_handle_with_a_constructor(lib):
    counter = make_counter(lib, init="counter *counter_new(int value)")
    lib.variable("int counters")
    with counter(3) as c:
        assert c.next() == 3
        assert lib.counters == 1
    assert lib.counters == 0
    refuses(RuntimeError, lambda: counter(-1), "no counter was made")
    refuses(AttributeError, lambda: lib.handle("counter *", free="nothing_here"), "nothing_here")


@pytest.mark.quick
@pytest.mark.row("P37")
def test_another_librarys_functions_accept_the_class(lib):
    point, text = make_point(lib), "double point_norm(const struct point *p)"
    other = make_library("other")
    other.struct(POINT)
    norm = other.function(text)
    assert norm(point(3.0, 4.0)) == 5.0
    refuses(TypeError, lambda: norm(object()), "got object")
    third = make_library("third")
    third.struct(point)
    assert third.function(text)(point(3.0, 4.0)) == 5.0
    fourth = make_library("fourth")
    fourth.struct("struct point { float x, y; }")  # another struct of the same name
    refuses(TypeError, lambda: fourth.function(text)(point(3.0, 4.0)), "point")


@pytest.mark.quick
def test_a_capsule_of_other_code_is_taken(lib):
    make_point(lib)
    norm = lib.function("double point_norm(const struct point *p)")
    memory = (ctypes.c_double * 2)(3.0, 4.0)
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    names = b"struct point", b"struct line"  # they must outlive the capsules
    point, line = [new(ctypes.addressof(memory), name, None) for name in names]
    assert norm(point) == 5.0
    refuses(TypeError, lambda: norm(line), "PyCapsule")


def test_classes_can_be_derived_from(lib):
    point = make_point(lib)

    class Named(point):
        def __init__(self, label, *args):
            super().__init__(*args)
            self.label = label

    p = Named("a", 3.0, 4.0)
    assert (p.label, p.norm(), isinstance(p, point)) == ("a", 5.0, True)
    assert p != point(3.0, 4.0)
    assert p == p
    assert len({p, p}) == 1


def test_instances_cannot_be_pickled(lib):
    p = make_point(lib)()
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        refuses(TypeError, lambda protocol=protocol: pickle.dumps(p, protocol), "point")


def test_bad_declarations_and_methods(lib):
    for text, error in (
        ("int x;", TypeError),
        ("struct nowhere", TypeError),
        ("struct a { int x", cj.CompileError),
        ("struct a { unknown x; }", cj.CompileError),
        ("struct a { int x[n]; }", TypeError),
    ):
        with pytest.raises(error):
            lib.struct(text)
    for methods, error in (
        (["double missing(struct point *p)"], AttributeError),
        (["int x;"], ValueError),
        ([3], TypeError),
        ({"class": "double point_norm(const struct point *p)"}, ValueError),
        ({"x": "double point_norm(const struct point *p)"}, ValueError),
    ):
        with pytest.raises(error):
            lib.struct(POINT, methods=methods)


@pytest.mark.quick
def test_derived_classes_end_as_python_says(lib):
    point, ended = make_point(lib), []

    class Early(point):
        __slots__ = ()

        def __del__(self):
            ended.append(self.x)

    class Late(point):
        __slots__ = ()

    class Holder(point):
        __slots__ = ("__dict__", "more")

    Early(1.0, 2.0)
    late = Late(2.0, 3.0)
    Late.__del__ = Early.__del__
    seen = weakref.ref(late)
    del late
    assert ended == [1.0, 2.0] and seen() is None

    class Word:
        pass

    holder = Holder(3.0, 4.0)
    holder.more, holder.other = Word(), Word()
    seen = weakref.ref(holder.more), weakref.ref(holder.other)
    del holder
    assert [each() for each in seen] == [None, None]

    saved = []
    Late.__del__ = lambda self: saved.append(self)  # resurrects the object
    Late(5.0, 6.0)
    del Late.__del__
    assert saved.pop().x == 5.0
    refs = sys.getrefcount(Late)
    for _ in range(10):
        Late(1.0, 1.0)
    assert sys.getrefcount(Late) == refs


def test_classes_and_libraries_are_collected():
    lib = make_library()
    point = make_point(lib)
    ref, cls = weakref.ref(lib), weakref.ref(point)
    p = point(3.0, 4.0)
    del lib, point
    gc.collect()
    assert p.norm() == 5.0  # the object keeps its code
    del p
    gc.collect()
    assert ref() is None and cls() is None


@pytest.mark.quick
def test_no_tampering_reads_outside_an_object(lib):
    point = make_point(lib)
    big = lib.struct("struct big { double x[100]; }")
    p = point(3.0, 4.0)
    refuses(TypeError, lambda: vars(big)["x"].__get__(p), "struct big objects")
    p.__class__ = big
    with pytest.raises(TypeError):
        p.x  # noqa: B018
    assert point.norm(p) == 5.0  # it keeps the layout that it was made with
    big.__cwrapjit_layout__ = point.__cwrapjit_layout__
    with pytest.raises(TypeError):
        big().x  # noqa: B018
    big.__cwrapjit_layout__ = 3
    refuses(TypeError, big, "is no class")


BANK = """
#include <Python.h>

typedef struct { double x, y; int n; } point;
typedef struct { int64_t n; double *items; } vector;
typedef struct account { double balance; } account;
int live = 0;

double point_sum(const point *p) { return p->x + p->y; }
void point_shift(point *p, double by) { p->x += by; }
double point_dot(const point *p, const point *q) { return p->x * q->x + p->y * q->y; }
account *account_open(double balance)
{
    account *opened = balance < 0 ? NULL : malloc(sizeof *opened);
    if (opened != NULL) {
        opened->balance = balance;
        live++;
    }
    return opened;
}
double account_balance(const account *a) { return a->balance; }
int account_add(account *a, double amount) { a->balance += amount; return 0; }
void account_close(account *a) { live--; free(a); }
double vector_first(vector *v) { return v->items[0]; }
int account_raise(const account *a)
{
    PyErr_SetString(PyExc_KeyError, a->balance > 0 ? "rich" : "poor");
    return 1;
}
"""


class Bank:
    def __init__(self) -> None:
        lib = self.lib = cj.library("bank", source=BANK, gil=True)
        self.point = lib.struct("point")
        self.account = lib.handle(
            "account *", init="account *account_open(double balance)", free="account_close"
        )


@pytest.fixture
def bank() -> Bank:
    return Bank()


def by_name(function: Callable[..., Any], *args: Any) -> Any:
    """Calls with a keyword, which takes the long way."""
    names = list(function.__signature__.parameters)  # type: ignore[attr-defined]
    return function(*args[:-1], **{names[len(args) - 1]: args[-1]})


def both_ways(function: Callable[..., Any], *args: Any) -> list[Any]:
    return [function(*args), by_name(function, *args)]


@pytest.mark.row("L14")
def test_both_ways_agree(bank: Bank) -> None:
    lib, p, q, a = bank.lib, bank.point(1.0, 2.0), bank.point(3.0, 4.0), bank.account(5.0)
    assert both_ways(lib.point_sum, p) == [3.0, 3.0]
    assert both_ways(lib.point_dot, p, q) == [11.0, 11.0] and both_ways(lib.point_dot, p, p) == [5.0, 5.0]
    assert both_ways(lib.account_add, a, 2) == [0, 0] and lib.account_balance(a) == 9.0
    assert both_ways(lib.point_shift, p, np.float32(0.5)) == [None, None] and p.x == 2.0


LENT = """
typedef struct { double x, y; int n; } trio;
typedef struct shelf shelf; struct shelf { int book; };
typedef struct { const shelf *on; int n; } label;
static shelf own = {7};
shelf *shelf_first(void) { return &own; }
shelf *shelf_new(int book) { shelf *s = malloc(sizeof *s); s->book = book; return s; }
void shelf_free(shelf *s) { free(s); }
shelf *shelf_next(shelf *s, int none) { return none ? 0 : s + 0; }
int shelf_book(const shelf *s, int more) { return s->book + more; }
int shelf_put(shelf *s, int book) { return s->book = book; }
double trio_sum(trio t, double more) { return t.x + t.y + t.n + more; }
trio trio_make(double x, double y, int n) { trio t = {x, y, n}; return t; }
label label_make(const shelf *on, int n) { label l = {on, n}; return l; }
int label_book(label l, int more) { return l.on->book + more; }
"""


def test_both_ways_agree_on_what_is_lent_and_on_structs_by_value() -> None:
    functions = [line.split(" {")[0] + ";" for line in LENT.split("\n") if ") {" in line]
    lib = from_c(LENT, name="lent").declare(LENT.split("static")[0] + "".join(functions))
    lib.handle("shelf *", free="shelf_free")
    lib.function("shelf *shelf_new(int book)", returns="callee")
    first, made = lib.shelf_first(), lib.shelf_new(3)
    for each in first, made, lib.shelf_next(made, 0), lib.shelf_next(lib.shelf_next(first, 0), 0):
        assert both_ways(lib.shelf_put, each, 9) == [9, 9] and both_ways(lib.shelf_book, each, 1) == [10, 10]
        assert both_ways(lib.shelf_next, each, 1) == [None, None]
        assert both_ways(lib.shelf_next, each, 0) == [each, each]
    trios = both_ways(lib.trio_make, 1.0, 2.0, 3)
    assert [both_ways(lib.trio_sum, each, 1.0) for each in trios] == [[7.0, 7.0]] * 2
    lent = both_ways(lib.shelf_next, made, 0)
    labels = both_ways(lib.label_make, made, 1)
    assert [both_ways(lib.label_book, each, 1) for each in labels] == [[10, 10]] * 2
    refuses(BufferError, made.close, "refers to it")  # the labels refer to it
    del labels
    made.close()
    for each in lent:
        for call in lib.shelf_book, by_name_of(lib.shelf_book):
            refuses(ValueError, lambda call=call, each=each: call(each, 1), "was freed")


def by_name_of(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: by_name(function, *args)


def test_both_ways_refuse_the_same(bank: Bank) -> None:
    lib, p, a = bank.lib, bank.point(1.0, 2.0), bank.account(5.0)
    closed, never = bank.account(1.0), bank.account.__new__(bank.account)
    closed.close()
    for wanted, function, *args in [
        *((TypeError, lib.account_balance, wrong) for wrong in (p, None, 5.0)),
        *((ValueError, lib.account_balance, wrong) for wrong in (closed, never)),
        (TypeError, lib.account_add, a, "1"),
        (KeyError, lib.account_raise, a),
    ]:
        with pytest.raises(wanted) as short:
            function(*args)
        with pytest.raises(wanted) as long:
            by_name(function, *args)
        assert str(short.value) == str(long.value)


@pytest.mark.row("L14")
def test_derived_classes_and_those_of_other_libraries(bank: Bank) -> None:
    class Mine(bank.account):  # type: ignore[name-defined, misc]
        pass

    other = Bank()
    mine, theirs = Mine(3.0), other.account(4.0)
    assert bank.lib.account_balance(mine) == 3.0
    assert bank.lib.account_balance(theirs) == 4.0 and other.lib.account_balance(mine) == 3.0


@pytest.mark.row("L14")
def test_numbers_that_free_an_instance(bank: Bank) -> None:
    a = bank.account(1.0)

    class Acting(np.int64):
        def __index__(self) -> int:
            a.close()
            return 3

    count = bank.lib.function("int account_add(account *a, int64_t amount)", name="count")
    refuses(ValueError, lambda: count(a, Acting(1)), "was freed")
    assert bank.lib.live == 0


@pytest.mark.row("L14")
def test_numbers_are_asked_once(bank: Bank) -> None:
    asked = []

    class Asked(np.int64):
        def __index__(self) -> int:
            asked.append(1)
            return 3

    count = bank.lib.function("int account_add(account *a, int64_t amount)", name="count")
    refuses(TypeError, lambda: count(bank.point(1.0), Asked(1)), "type account for argument a, got point")
    assert len(asked) == 1
    assert count(bank.account(1.0), Asked(1)) == 0 and len(asked) == 2


@pytest.mark.row("L14")
def test_initialisers_take_over_and_end_once(bank: Bank) -> None:
    made = [bank.account(float(i)) for i in range(50)]
    assert bank.lib.live == 50 and [bank.lib.account_balance(a) for a in made] == [*range(50)]
    refuses(RuntimeError, lambda: bank.account(-1.0), "account was made: the initialiser returned None")
    refuses(TypeError, lambda: made[0].__init__(1.0), "is initialised already")
    refuses(TypeError, lambda: bank.account.__init__(3, 1.0), "wanted an instance to initialise, got int")
    refuses(TypeError, lambda: bank.account(), "balance")
    refuses(TypeError, lambda: bank.account(1.0, balances=1.0), "balances")
    made.clear()
    gc.collect()
    assert bank.lib.live == 0
    assert bank.lib.account_balance(bank.account(balance=2.0)) == 2.0


@pytest.mark.row("L14")
@pytest.mark.leak
def test_calls_and_instances_keep_nothing(bank: Bank) -> None:
    lib, p, a = bank.lib, bank.point(1.0, 2.0), bank.account(5.0)

    def work() -> None:
        lib.point_dot(p, p)
        lib.account_add(a, 1.0)
        bank.account(2.0)
        refuses(KeyError, lambda: lib.account_raise(a), "rich")
        refuses(RuntimeError, lambda: bank.account(-1.0), "account was made")

    keeps_nothing(work, watched=(p, a))


# ---- packed structs ----------------------------------------------------------------------------------

PACKED = """
#pragma pack(push, 1)
typedef struct { char c; double d; int i[2]; } dense;
typedef struct { char c; struct { short s; double d; } inner; char *text; double x; } nested;
#pragma pack(pop)
#pragma pack(2)
typedef struct { char c; double d; } two;
#pragma pack()
typedef struct __attribute__((packed)) { char c; double d; } first;
typedef struct { char c; int i; } __attribute__((__packed__)) last;
struct tagged { char c; long l; } __attribute__((packed));
typedef struct { char c; last l; } outer;
typedef struct { char c; double d; } plain;
"""
OF_PACKED = """
double of_dense(const dense *p, int n) { double s = 0; while(n--) s += p[n].d + p[n].i[1]; return s; }
double of_nested(nested *p) { return p->inner.d + p->x + p->text[1]; }
double of_two(two *p) { return p->d; }
double of_first(first *p) { return p->d; }
int of_last(last *p) { return p->i; }
long of_tagged(struct tagged *p) { return p->l; }
double of_plain(plain *p) { return p->d; }
dense next_dense(dense p) { p.d += 1; return p; }
two next_two(two p) { p.d += 1; return p; }
last next_last(last p) { p.i++; return p; }
outer next_outer(outer p) { p.l.i++; return p; }
struct far { char c; int i __attribute__((aligned(16))); };
double reached(double (*f)(struct far *p)) { struct far p = {1, 7}; return f(&p); }
double called(double (*f)(dense *p)) { dense p = {1, 2.5, {3, 4}}; return f(&p); }
int sizes(int k)
{
    int all[] = {sizeof(dense), sizeof(nested), sizeof(two), sizeof(first), sizeof(last),
                 sizeof(struct tagged), sizeof(outer), sizeof(plain)};
    return all[k];
}
"""
PROTOTYPES = """
double of_dense(const dense p[n], int n); double of_nested(nested *p); double of_two(two *p);
double of_first(first *p); int of_last(last *p); long of_tagged(struct tagged *p); double of_plain(plain *p);
dense next_dense(dense p); two next_two(two p); last next_last(last p); outer next_outer(outer p);
struct far { char c; int i __attribute__((aligned(16))); }; double reached(double (*f)(struct far *p));
double called(double (*f)(dense *p)); int sizes(int k);
"""


@pytest.mark.row("P01")
@pytest.mark.parametrize(
    "way", ["source", "include", pytest.param("by value", marks=pytest.mark.compiler("calls"))]
)
def test_packed_structs_lie_as_c_has_them(tmp_path, way):
    (tmp_path / "dense.h").write_text(PACKED)
    if way == "source":
        lib = cj.library("t", source=PACKED + OF_PACKED)
        lib.function("double of_dense(const dense p[n], int n)")
    else:
        lib = from_shared(PACKED + OF_PACKED, tmp_path, include_dirs=[tmp_path])
        lib.declare("#include <dense.h>" if way == "include" else PACKED).declare(PROTOTYPES)
    for k, name in enumerate(["dense", "nested", "two", "first", "last", "tagged", "outer", "plain"]):
        layout = getattr(lib, name).__cwrapjit_layout__
        assert lib.sizes(k) == layout.size, name
    array = np.zeros(3, lib.dense)
    array["d"], array["i"][:, 1] = 1.5, 2
    assert array.itemsize == 17 and lib.of_dense(array) == 10.5
    nested = lib.nested(text="abc", x=1.0)
    nested.inner.d = 0.5
    assert lib.of_nested(nested) == 99.5 and nested.text == "abc"
    assert (lib.of_two(lib.two(d=3.5)), lib.of_first(lib.first(d=4.5))) == (3.5, 4.5)
    assert (lib.of_last(lib.last(i=-3)), lib.of_tagged(lib.tagged(l=2**40))) == (-3, 2**40)
    assert lib.of_plain(lib.plain(d=2.5)) == 2.5
    dense = lib.dense(d=2.5)
    dense.i[1] = 7
    assert dense.i.tolist() == [0, 7]
    assert lib.called(lambda p: p.d) == 2.5
    assert lib.called("return p->d + p->i[1];") == 6.5
    assert lib.reached(lambda p: p.i) == lib.reached("return p->i;") == 7
    if way != "include":
        assert (lib.next_dense(dense).d, lib.next_dense(dense).i.tolist()) == (3.5, [0, 7])
        outer = lib.outer()
        outer.l.i = 5
        assert (lib.next_two(lib.two(d=1.5)).d, lib.next_last(lib.last(i=8)).i) == (2.5, 9)
        assert lib.next_outer(outer).l.i == 6
    text = "struct tagged { char c; long l; };"
    refuses(cj.CompileError, lambda: lib.struct(text), "other members: packed { char c; long l; }")


# ---- flexible array members, handles of void, bytes ------------------------------------------------------

OPEN = """
#include <stdlib.h>
typedef struct { int n; double v[]; } row;
typedef struct { int n; double v[0]; } gnu;
typedef struct { int k; row r; } outer;
row *row_new(int n) { row *r = calloc(1, sizeof *r + n * 8); r->n = n; r->v[n - 1] = 7; return r; }
double row_last(row *r) { return r->v[r->n - 1]; }
"""


@pytest.mark.row("P01")
def test_structs_without_an_end_come_from_c():
    lib = cj.library("t", source=OPEN)
    for cls in lib.row, lib.gnu, lib.outer:
        refuses(TypeError, lambda cls=cls: cls(), cls.__name__, "array whose length nothing says")
        refuses(TypeError, lambda cls=cls: cls(n=3), "functions of t")
    lib.struct("row", free="free")
    lib.refine("row_new", returns="callee")
    made = lib.row_new(3)
    assert (made.n, lib.row_last(made)) == (3, 7)
    refuses(TypeError, lambda: lib.row(n=3), "functions of t")
    refuses(ValueError, lambda: lib.row_last(lib.row.__new__(lib.row)), "never initialised")
    refuses(ValueError, lambda: lib.function("double row_last(row *r)", out="r"), "length nothing says")


@pytest.mark.row("P01")
@pytest.mark.parametrize("first", ["handle", "declare", "use"])
@pytest.mark.parametrize("typedef", ["typedef void box;", "typedef struct box_ box;"])
def test_a_handle_of_what_c_calls_void(tmp_path, first, typedef):
    text = "box *box_new(int n); int box_get(const box *b); void box_free(box *b);"
    lib = from_shared(
        "int left; void *box_new(int n) { left++; int *b = malloc(4); *b = n; return b; }"
        "int box_get(const int *b) { return *b; } void box_free(void *b) { left--; free(b); }",
        tmp_path,
    )
    lib.variable("int left")
    if first == "handle":
        box = lib.handle("box *", free="box_free")
        lib.declare(typedef + text)
    else:
        lib.declare(typedef + text)
        if first == "use":
            assert callable(lib.box_new) and callable(lib.box_get)
        box = lib.handle("box *", free="box_free")
    lib.refine("box_new", returns="callee")
    made = lib.box_new(5)
    assert isinstance(made, box) and lib.box_get(made) == 5 and lib.left == 1
    made.close()
    assert lib.left == 0
    refuses(TypeError, lambda: lib.box_get(cj.Pointer(np.zeros(1, np.intc))), "box")


@pytest.mark.row("P01", "P14")
def test_arrays_of_bytes_take_bytes(tmp_path):
    lib = cj.library(
        "t",
        source="struct key { unsigned char k[4]; int n; signed char s[2]; uint8_t u[2][2]; };\n"
        "unsigned char key[4] = {1, 2, 3, 4}; static int sum(const unsigned char *k, int n)"
        "{ int s = 0; while(n--) s += k[n]; return s; }\n"
        "int first(const unsigned char k[4]) { return k[0]; } void fill(unsigned char k[4]) { k[3] = 9; }\n"
        "int all(struct key *k) { return sum(k->k, 4); } int now(void) { return sum(key, 4); }",
    )
    text = b"\x05abc"
    for given in text, bytearray(text), np.frombuffer(text, np.uint8), memoryview(text):
        assert lib.first(given) == 5
    refuses(ValueError, lambda: lib.first(b"abc"), "first(): argument 'k'", "(3,)")
    room = bytearray(4)
    lib.fill(room)
    assert room == b"\0\0\0\x09"
    refuses(ValueError, lambda: lib.fill(b"abcd"), "writable")
    key = lib.struct("struct key")(k=b"\1\2\3\4", s=b"\xff\x01")
    assert lib.all(key) == 10 and key.s.tolist() == [-1, 1]
    key.k = bytearray(b"\5\5\5\5")
    assert lib.all(key) == 20
    refuses(ValueError, lambda: setattr(key, "k", b"abc"), "attribute k has 4 bytes, got 3")
    refuses(AttributeError, lambda: setattr(key, "u", b"abcd"), "Can't reallocate")
    refuses(AttributeError, lambda: setattr(key, "k", [1, 2, 3, 4]), "Can't reallocate")
    lib.variable("unsigned char key[4]", name="bytes_of_key")
    lib.bytes_of_key = b"\2\2\2\2"
    assert lib.now() == 8
    refuses(ValueError, lambda: setattr(lib, "bytes_of_key", b"abc"), "has 4 bytes, got 3")
    refuses(AttributeError, lambda: setattr(lib, "bytes_of_key", [1]), "Can't reallocate")


@pytest.mark.row("P14")
def test_optional_arguments_stay_where_they_are():
    text = "typedef struct h h; int both(int a, const char *s, h *p, int b)"
    lib = from_c(text + "{ return a + b + !s + 2 * !p; }").declare(text + ";")
    hint = "got NoneType: None is NULL where optional= names the argument"
    refuses(TypeError, lambda: lib.both(1, None, None, 2), "argument s", hint)
    refuses(TypeError, lambda: lib.both(1, "s", None, 2), "argument p", hint)
    lib.refine("both", optional=("s", "p"))
    assert (lib.both(1, None, None, 2), lib.both(1, "s", None, 2), lib.both(a=1, b=2)) == (6, 5, 6)
    assert str(lib.both) == "<cwrapjit.LibraryFunction t.both(a: int, s: str, p: h, b: int) -> int>"
    f = lib.function("int both(int a, const char *s, h *p, int b)", optional=("s", "p"), defaults={"a": 5})
    assert f(None, None, 2) == 10 and "(s: str, p: h, b: int, a: int = 5)" in str(f)


STORES = """
typedef struct box box; struct box { int v; }; typedef struct pair { int a, b; } pair;
int left = 0;
int box_open(int v, box **made)
{ if(v < 0) return 3; *made = malloc(sizeof(box)); (*made)->v = v; left++; return 0; }
void box_store(box **made, int v) { box_open(v, made); }
int box_join(box **parts, int n, box **made)
{ int v = 0; while(n--) v += parts[n]->v; return box_open(v, made); }
int box_get(const box *b) { return b->v; }
void box_free(box *b) { left--; free(b); }
int pair_open(const char *s, pair **made)
{ *made = malloc(8); **made = (pair){s[0], 2}; left++; return 0; }
void pair_free(pair *p) { left--; free(p); }
int nothing(int v) { return v; }
"""


@pytest.mark.quick
@pytest.mark.row("P16i")
def test_init_may_store_the_object_in_an_output():
    lib = from_c(STORES)
    lib.variable("int left")
    text = "int box_open(int v, box **)"
    box = lib.handle(
        "box *", init=(text, {"check": ValueError}), free="box_free", methods=["int box_get(const box *b)"]
    )
    made = box(5)
    assert (made.get(), lib.left) == (5, 1)
    assert box(v=6).get() == 6
    refuses(ValueError, lambda: box(-1), "status 3")
    made.close()
    gc.collect()
    assert lib.left == 0
    stored = from_c(STORES).handle("box *", init="void box_store(box **made, int v)", free="box_free")
    assert isinstance(stored(1), stored)
    refuses(RuntimeError, lambda: stored(-1), "no box was made")
    said = {"out": "made", "container": {"parts": list}, "dims": {"parts": "n"}}
    other = from_c(STORES)
    joined = other.handle(
        "box *", init=("int box_join(box **parts, int n, box **made)", said), free="box_free"
    )
    assert other.function("int box_get(const box *b)")(joined([])) == 0
    pair = lib.struct(
        "struct pair { int a, b; }",
        init="int pair_open(const char *text, struct pair **made)",
        free="pair_free",
    )
    with pair("A") as p:
        assert (p.a, p.b, lib.left) == (65, 2, 1)
    assert lib.left == 0
    for init in "int nothing(int v)", "void pair_free(struct pair *p)":
        refuses(TypeError, lambda init=init: lib.handle("box *", init=init), "init", "neither fills a box")


NUMBERS = """
typedef struct { int n; long *limbs; } big_struct;
typedef big_struct big_t[1];
#define big_init_set lib_big_init_set
#define big_clear lib_big_clear
#define big_copy lib_big_copy
#define big_get lib_big_get
#define big_size lib_big_size
void big_init_set(big_t x, long v); void big_clear(big_t x); void big_copy(big_t to, const big_t x);
long big_get(const big_t x); long *big_limbs(const big_t x); int big_size(const big_struct *x);
extern int left;
"""


@pytest.mark.parametrize("free", ["big_clear", "lib_big_clear", "big_clear(self)"])
def test_macros_are_names_of_functions_and_arrays_of_one_are_structs(free):
    lib = from_c(
        NUMBERS + "int left = 0; void big_clear(big_t x) { free(x->limbs); left--; }\n"
        "void big_init_set(big_t x, long v) { x->n = 1; x->limbs = malloc(8); *x->limbs = v; left++; }\n"
        "void big_copy(big_t to, const big_t x) { big_init_set(to, *x->limbs); }\n"
        "long big_get(const big_t x) { return *x->limbs; }\n"
        "int big_size(const big_struct *x) { return x->n; }\n"
        "long *big_limbs(const big_t x) { long *made = malloc(8); *made = *x->limbs; left++; return made; }\n"
        "void lib_free(void *p) { left--; free(p); }"
    ).declare(NUMBERS + "#define big_free lib_free\n")
    big = lib.struct("big_t", init="void big_init_set(big_t x, long v)", free=free)
    assert big is lib.big_t
    x = big(7)
    copy = lib.function("void big_copy(big_t to, const big_t x)", out="to")
    y = copy(x)
    assert (lib.big_get(x), lib.big_get(y), lib.left) == (7, 7, 2)
    limbs = lib.function("long *big_limbs(const big_t x)", returns=("big_size(x)", "callee", "big_free"))
    assert limbs(x).tolist() == [7]
    lib.refine("big_size", rename={"x": "number"})
    assert lib.big_size(number=x) == 1
    lib.big_clear(x)
    refuses(ValueError, lambda: lib.big_get(x), "was freed")
    del y
    gc.collect()
    assert lib.left == 0


def test_arrays_of_small_numbers_take_bytes():
    text = "int sum(const uint8_t *x, int n) { int s = 0; while(n--) s += x[n]; return s; }"
    lib = from_c(text)
    total = lib.function("int sum(const uint8_t x[n], int n)")
    room = bytearray(b"\1\2\3")
    assert [total(each) for each in (b"\1\2\3", room, np.array([1, 2, 3], np.uint8), b"")] == [6, 6, 6, 0]
    room.append(4)  # as no buffer is exported
    written = from_c("void fill(uint8_t *x, int n) { while(n--) x[n] = n; }")
    fill = written.function("void fill(uint8_t x[n], int n)")
    fill(room)
    assert room == b"\0\1\2\3"
    refuses(ValueError, lambda: fill(b"abc"), "read-only")
    refuses(TypeError, lambda: total("abc"), "uint8[:]")
    refuses(TypeError, lambda: total(memoryview(b"abc").cast("b")), "uint8[:]")
    rows = lib.function("int sum(const uint8_t x[n][m], int n, int m)", name="rows")
    refuses(TypeError, lambda: rows(b"abc"), "uint8[:,:]", "got bytes")


def test_const_of_a_typedef_of_an_array_is_that_of_its_items():
    text = "typedef unsigned char key[4]; typedef double rows[2][2];"
    text += "typedef struct { const key k; key own; } held;"
    lib = from_c(
        text + "int same(const key a, const key b) { return a[0] == b[0]; } void fill(key k) { k[0] = 5; }"
        "double of(const rows x) { return x[1][0]; }"
    ).declare(text + "int same(const key a, const key b); void fill(key k); double of(const rows x);")
    assert lib.same(b"abcd", b"axyz") == 1
    array = np.zeros(4, np.uint8)
    array.flags.writeable = False
    assert lib.same(array, array) == 1, "neither is written"
    assert lib.of(np.arange(4.0).reshape(2, 2)) == 2
    refuses(ValueError, lambda: lib.fill(b"abcd"), "writeable")
    held = lib.held()
    held.own = b"abcd"
    refuses(AttributeError, lambda: setattr(held, "k", b"abcd"), "read-only")


def test_structs_go_by_the_names_that_attributes_have():
    text = "typedef struct node *node_p; struct node { int v; node_p next; }; typedef union num number;"
    lib = from_c(text + "union num { int i; double d; };").declare(text + "union num { int i; double d; };")
    for name in "node", "node_p", "struct node":
        assert lib.struct(name) is lib.node
    assert lib.struct("num") is lib.num and lib.struct("number") is lib.num
    refuses(TypeError, lambda: lib.struct("nothing"), "nothing is no struct")


def test_macros_are_names_of_types():
    lib = from_c("typedef struct box_8 { int v; } box_8; int get(box_8 *b) { return b->v; }")
    lib.declare(
        "#define box box_8\n#define pile pile_8\ntypedef struct box_8 { int v; } box_8; int get(box *b);"
    )
    lib.declare("typedef struct pile_8 pile_8; pile *same(pile *p);")
    box, pile = lib.struct("box"), lib.handle("pile *")
    assert box is lib.box is lib.box_8 and lib.get(box(v=3)) == 3 and pile is lib.pile_8


WIDE = """
#define LINE 64
typedef struct { char c; double x[2]; } __attribute__((aligned(LINE))) wide;
typedef struct { char c; _Alignas(32) int n; } member;
typedef struct { wide w; int n; } outer;
int is_aligned(const wide *w) { return (long)w % 64 == 0; }
void fill(wide *w, double v) { w->c = 'x'; w->x[1] = v; }
int at(void) { return __builtin_offsetof(member, n) + __builtin_offsetof(outer, n) + sizeof(wide); }
wide next(wide w) { w.x[1] += 1; return w; }
double total(const wide *w, int n) { double s = 0; while (n--) s += w[n].x[1]; return s; }
"""


@pytest.mark.parametrize("reader", ["text", "header"])
def test_structs_of_any_alignment(tmp_path, reader):
    (tmp_path / "wide.h").write_text(WIDE[: WIDE.index("int is_aligned")])
    lib = from_shared(WIDE, tmp_path, include_dirs=[tmp_path])
    lib.declare("#include <wide.h>" if reader == "header" else WIDE[: WIDE.index("int is_aligned")])
    lib.declare("int is_aligned(const wide *w); void fill(wide *w, double v); int at(void);")
    lib.refine("fill", out="w")
    made = [lib.wide(c="a") for _ in range(9)] + [lib.fill(2.5), lib.outer().w]
    assert all(lib.is_aligned(each) for each in made) and made[9].x[1] == 2.5
    member, outer = lib.member.__cwrapjit_layout__, lib.outer.__cwrapjit_layout__
    assert (member.size, member.alignment, outer.size, outer.alignment) == (64, 32, 128, 64)
    assert lib.at() == 32 + 64 + 64
    refuses(
        TypeError,
        lambda: lib.function("double total(const wide w[n], int n)"),
        "aligned otherwise than NumPy",
    )


@pytest.mark.compiler("passes structs that are aligned to more than 16 bytes by value")
def test_structs_of_any_alignment_by_value(tmp_path):
    lib = from_shared(WIDE, tmp_path).declare(WIDE[: WIDE.index("int is_aligned")] + "wide next(wide w);")
    made = lib.wide(c="a", x=[1, 2])
    assert lib.next(made).x.tolist() == [1, 3] and lib.next(made).c == "a"
    own = cj.library("own", source=WIDE)
    refuses(AttributeError, lambda: own.next, "more than 16 bytes by value")
    assert own.is_aligned(own.wide()) and "which" not in own.unmapped["next"]


@pytest.mark.row("P01")
def test_attributes_count_behind_headers_of_the_system():
    """glibc's headers define attributes away for compilers other than GNU's."""
    struct = "typedef struct { char c; double d; int i; } __attribute__((packed)) dense;"
    lib = from_c(
        f"#include <math.h>\n#include <sys/epoll.h>\n{struct} double get(const dense *p) {{ return p->d; }}"
        "int size(int k) { return k ? sizeof(struct epoll_event) : sizeof(dense); }"
    )
    lib.declare(f"{struct} double get(const dense *p); int size(int k);")
    assert lib.get(lib.dense(d=2.5)) == 2.5
    assert (lib.size(0), lib.size(1)) == (13, 12 if platform.machine() == "x86_64" else 16)


TAILS = """
typedef struct { long n; double x[]; } row;
typedef struct { int rows; double cell[][2]; } table;
typedef struct { uint8_t n; char text[]; } word;
typedef struct { int n; const char *words[]; } words;
typedef struct { int n; struct { int a, b; } items[]; } pairs;
row *row_new(long n) { row *r = malloc(sizeof *r + n * 8); r->n = n; while(n--) r->x[n] = n; return r; }
table *table_new(void) { table *t = calloc(1, 64); t->rows = 3; t->cell[2][1] = 7; return t; }
word *word_new(void) { word *w = calloc(1, 8); w->n = 5; strcpy(w->text, "abcde"); return w; }
words *words_new(void) { words *w = calloc(1, 40); w->n = 2; w->words[0] = "one"; return w; }
pairs *pairs_new(void) { pairs *p = calloc(1, 40); p->n = 2; p->items[1].b = 9; return p; }
"""


@pytest.mark.quick
@pytest.mark.row("P01")
def test_arrays_at_the_end_of_structs_are_as_long_as_a_member_says():
    lib = from_c("#include <string.h>\n" + TAILS)
    lib.declare(TAILS[: TAILS.index("row *row_new")])
    lib.declare("row *row_new(long n); table *table_new(void); word *word_new(void); words *words_new(void);")
    lib.declare("pairs *pairs_new(void);")
    refuses(NotImplementedError, lambda: lib.row_new(3).x, "how long this array is")
    row = lib.struct("row", free="free", arrays={"x": "n"})
    lib.refine("row_new", returns="callee")
    r = lib.row_new(3)
    assert r.x.tolist() == [0, 1, 2]
    r.x[1] = 5
    assert r.x.sum() == 7
    refuses(AttributeError, lambda: setattr(r, "n", 9), "read-only")
    refuses(AttributeError, lambda: setattr(r, "x", [1]), "Can't reallocate")
    look = r.x
    refuses(BufferError, r.close, "looks into")
    del look
    r.close()
    refuses(TypeError, lambda: row(n=3), "no memory for its last member")
    for name, member, found in (
        ("table", {"cell": "rows"}, [[0, 0], [0, 0], [0, 7]]),
        ("pairs", {"items": "n"}, [(0, 0), (0, 9)]),
    ):
        lib.struct(name, arrays=member)
        assert getattr(getattr(lib, f"{name}_new")(), next(iter(member))).tolist() == found
    lib.struct("word", arrays={"text": "n"})
    lib.struct("words", arrays={"words": "n"})
    assert lib.word_new().text == "abcde" and lib.words_new().words == ["one", None]
    refuses(AttributeError, lambda: setattr(lib.word_new(), "text", "x"), "read-only")
    other = from_c(TAILS[: TAILS.index("row *row_new")] + "long f(row *r) { return r->n; }")
    other.declare(TAILS[: TAILS.index("row *row_new")] + "long f(row *r);")
    assert other.f(lib.row_new(2)) == 2  # `other` has fewer members of row


@pytest.mark.quick
@pytest.mark.row("P01")
def test_what_arrays_cannot_name():
    text = "typedef struct {{ long n:8; int m; double d; double {}; }} row{}"
    for k, (x, arrays, words) in enumerate(
        (
            ("x[]", {"x": "k"}, ("'k'", "neither a size nor an integer member")),
            ("x[]", {"x": "d"}, ("'d'", "neither a size")),
            ("x[]", {"x": "n"}, ("'n'", "neither a size")),
            ("x[]", {"x": 3}, ("arrays= of x", "one integer member")),
            ("x[]", {"x": ("m", "m")}, ("arrays= of x", "one integer member")),
            ("x[]", {"y": "m"}, ("has no member y",)),
            ("*x", {"x": "n"}, ("'n'", "neither a size")),
            ("*x", {"x": "k"}, ("'k'", "neither a size")),
        )
    ):
        struct, said = cj.library("c", libraries=["c"]).struct, text.format(x, k)
        refuses(ValueError, lambda f=struct, t=said, a=arrays: f(t, arrays=a), "struct()", *words)


HELD = """
typedef struct node { int v; struct node *child[2]; const char *w[4]; char *const fixed[2]; } node;
int sum(const node *n) { return n ? n->v + sum(n->child[0]) + sum(n->child[1]) : 0; }
const char *word(const node *n, int k) { return n->w[k]; }
typedef struct { int *p[2]; char *rows[2][2]; } others;
"""


@pytest.mark.quick
@pytest.mark.row("P01")
def test_arrays_of_pointers_in_structs_are_lists():
    lib = cj.library("t", source=HELD)
    n = lib.node(v=1, w=["one", None, b"three", "four"])
    assert n.w == ["one", None, "three", "four"] and n.child == [None, None] and n.fixed == [None, None]
    assert [lib.word(n, k) for k in range(4)] == n.w
    inner = lib.node(v=4)
    gone = weakref.ref(inner)
    n.child = (lib.node(v=2), inner)
    del inner
    assert lib.sum(n) == 7 and n.child[1].v == 4 and gone() is not None
    n.child = [None, n.child[0]]
    gc.collect()
    assert gone() is None and lib.sum(n) == 3 and n.child[0] is None
    before = n.w
    for wrong, kind, words in (
        (["a", "b"], ValueError, "attribute w has 4 items, got 2"),
        (["a", "b", "c", 5], TypeError, "attribute w"),
        (["a", "b", "c\0", None], ValueError, "no NUL"),
        ("four", TypeError, "list"),
        (None, TypeError, "list"),
    ):
        refuses(kind, lambda wrong=wrong: setattr(n, "w", wrong), words)
        assert n.w == before
    refuses(TypeError, lambda: setattr(n, "child", [n, lib.others()]), "node")
    refuses(AttributeError, lambda: setattr(n, "fixed", [None, None]), "read-only")
    refuses(NotImplementedError, lambda: lib.others().p, "an array of int *")
    refuses(NotImplementedError, lambda: lib.others().rows, "an array of char *")
    latin = cj.library("t", source=HELD).struct("node", encoding={"w": "latin-1"})(
        w=["\xe9", None, None, None]
    )
    assert latin.w[0] == "\xe9"


@pytest.mark.quick
@pytest.mark.row("P01")
def test_items_of_lists_in_structs_are_assigned_in_c():
    lib = cj.library("t", source=HELD + "node inside; typedef struct { node one; } outer; char *texts[2];")
    n = lib.outer().one
    w, before = n.w, n.w
    for k, given in ((1, "z"), (-1, b"bytes"), (0, "a"), (1, None), (2, "\xe9")):
        w[k] = given
        shown = given.decode() if isinstance(given, bytes) else given
        assert (w[k], n.w[k], lib.word(n, k % 4)) == (shown, shown, shown)
    assert n.w == w == ["a", None, "\xe9", "bytes"] != before and isinstance(w, list)
    child = lib.node(v=5)
    gone = weakref.ref(child)
    n.child[1] = child
    del child
    assert lib.sum(n) == 5 and gone() is not None
    n.child[1] = None
    gc.collect()
    assert lib.sum(n) == 0 and gone() is None
    for k, wrong, kind, words in (
        (4, "a", IndexError, "range"),
        ("0", "a", TypeError, "integers"),
        (0, 5, TypeError, "attribute w"),
        (0, "c\0", ValueError, "no NUL"),
        (slice(2), ["a", "b"], TypeError, "assign to single items, or a list of 4"),
    ):
        refuses(kind, lambda k=k, wrong=wrong: n.w.__setitem__(k, wrong), words)
    refuses(TypeError, lambda: n.child.__setitem__(0, lib.outer()), "node")
    for change in ("append('x')", "pop()", "sort()", "__delitem__(0)", "__iadd__(['x'])"):
        refuses(TypeError, lambda change=change: eval(f"n.w.{change}", {"n": n}), "attribute w of")
    refuses(TypeError, lambda: n.fixed.__setitem__(0, "x"), "attribute fixed of", "cannot be changed")
    refuses(TypeError, lambda: lib.texts.__setitem__(0, "x"), "t.texts", "cannot be changed")
    refuses(AttributeError, lambda: setattr(lib, "texts", ["x", None]), "t.texts is text of the library")
    assert n.w == w and type(copy.copy(w)) is list and type(pickle.loads(pickle.dumps(w))) is list
