"""Tests interfaces, containers, and broadcasting functions, whose slices are C functions."""

from __future__ import annotations

import ctypes
import functools
import gc
import inspect
import math
from typing import Any

import numpy as np
import pytest
from helpers import ar, refuses
from leaks import keeps_nothing
from library_tools import from_c, from_shared

import cwrapjit

# ---- interfaces ----------------------------------------------------------------------------------


@pytest.mark.quick
@pytest.mark.row("P06i")
def test_an_interface_over_an_array_and_a_scalar():
    lib = from_c("""
        double one(double x) { return x; }
        double many(int64_t n, const double *x) { double s = 0; while (n) s += x[--n]; return s; }
        double grid(int64_t m, int64_t n, const double *x) { return m * 100 + n; }
    """)
    f = lib.interface(
        "f",
        [
            lib.function("double one(double x)"),
            lib.function("double many(int64_t n, const double x[n])"),
            lib.function("double grid(int64_t m, int64_t n, const double x[m][n])"),
        ],
    )
    assert lib.f is f
    assert (f(2.5), f(ar(4)), f(ar(2, 3))) == (2.5, 6.0, 203.0)
    for value in ar(1, 1, 1), ar(3).astype(np.float32), [1.0], None, "a":
        refuses(TypeError, lambda value=value: f(value), "Unexpected type for argument x")


@pytest.mark.row("P06i", "P14")
def test_an_interface_over_a_list_a_set_and_an_array():
    lib = from_c("""
        int64_t listed(int64_t n, const int64_t *x) { return n; }
        int64_t chosen(int64_t n, const int64_t *x) { return 100 + n; }
        int64_t tupled(int64_t n, const int64_t *x) { return 200 + n; }
        int64_t arrayed(int64_t n, const int64_t *x) { return 300 + n; }
    """)
    text = "int64_t {}(int64_t n, const int64_t x[n])"
    f = lib.interface(
        "f",
        [
            lib.function(text.format("listed"), container=list),
            lib.function(text.format("chosen"), container={"x": set}),
            lib.function(text.format("tupled"), container="tuple"),
            lib.function(text.format("arrayed")),
        ],
    )
    assert [f([1, 2]), f({1, 2, 3}), f((1,)), f(np.arange(4)), f([]), f(())] == [2, 103, 201, 304, 0, 200]
    refuses(TypeError, lambda: f([1, 2.5]), "Unexpected type for argument x")
    refuses(TypeError, lambda: lib.listed([1, 2.5]), "argument x")
    refuses(TypeError, lambda: lib.listed([1, True]), "argument x")
    refuses(TypeError, lambda: lib.listed((1, 2)), "list[int]", "argument x")
    refuses(TypeError, lambda: lib.chosen({"a"}), "set[int]", "argument x")
    refuses(TypeError, lambda: lib.tupled([1]), "tuple[int, ...]", "argument x")


@pytest.mark.row("P06i", "P32")
def test_an_interface_whose_functions_have_defaults():
    floats, ints = "double floats(double x, double y)", "int64_t ints(int64_t x, int64_t y)"
    lib = from_c(f"{floats} {{ return x + y; }} {ints} {{ return x + y; }}")
    functions = [lib.function(floats, defaults={"y": 0.5}), lib.function(ints, defaults={"y": 10})]
    f = lib.interface("f", functions, doc="Adds.")
    assert [f(1.0), f(1), f(1.0, y=2.0), f(1, y=2), f(y=3, x=4)] == [1.5, 11, 3.0, 3, 7]
    assert [type(f(1.0)), type(f(1))] == [float, int]
    assert (f.__name__, f.__doc__) == ("f", "Adds.")
    refuses(TypeError, lambda: f(1, 2.0), "Unexpected type combination")
    refuses(TypeError, lambda: f(), "t.f()", "missing required argument 'x'")
    refuses(TypeError, lambda: f(1, 2, 3), "t.f()", "takes 2 positional", "but 3 were given")
    refuses(TypeError, lambda: f(1, z=2), "t.f()", "'z'")


SCALARS = {
    "int8_t": np.int8, "int16_t": np.int16, "int32_t": np.int32, "uint8_t": np.uint8, "uint16_t": np.uint16,
    "uint32_t": np.uint32, "uint64_t": np.uint64, "float": np.float32, "float _Complex": np.complex64,
    "int64_t": int, "double": float, "bool": bool, "double _Complex": complex,
}  # fmt: skip


@pytest.mark.row("P06i", "P30", "P31", "P33", "P02i")
def test_an_interface_over_all_scalar_types(tmp_path):
    """Each function takes exactly its own type, and returns it."""
    lib = from_shared("".join(f"{c} f{k}({c} x) {{ return x; }}\n" for k, c in enumerate(SCALARS)), tmp_path)
    f = lib.interface("f", [lib.function(f"{c} f{k}({c} x)") for k, c in enumerate(SCALARS)])
    for kind in SCALARS.values():
        assert type(f(kind(1))) is (np.complex128 if kind is complex else kind) and f(kind(1)) == 1
    assert f(np.complex128(2j)) == 2j
    refuses(TypeError, lambda: f(np.longdouble(1)), "Unexpected type for argument x", "longdouble")
    refuses(TypeError, lambda: f("a"), "Unexpected type for argument x")
    few = lib.interface("few", [lib.function("double f10(double x)"), lib.function("bool f11(bool x)")])
    assert few(True) is True and few(1.0) == 1.0
    refuses(TypeError, lambda: few(1), "Unexpected type for argument x")
    refuses(ValueError, lambda: lib.interface("g", []), "functions")
    refuses(TypeError, lambda: lib.interface("g", [len]), "functions of libraries")


# ---- broadcasting --------------------------------------------------------------------------------

SPECIAL = """
#include <math.h>
double twice(double x) { return 2 * x; }
double scaled(int n, double x) { return n * x; }
float single(float x) { return x / 2; }
int parts(double x, double *whole, double *rest) { *rest = x - (int)x; *whole = x - *rest; return 7; }
double sum(int n, const double *x, int step)
{ double s = 0; for (int i = 0; i < n; i++) s += x[i * step]; return s; }
void outer(int n, int m, const double *a, const double *b, double *r)
{ for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) r[i * m + j] = a[i] * b[j]; }
"""


def test_a_scalar_function_broadcasts():
    lib = from_c(SPECIAL)
    f = lib.function("double twice(double x)", broadcast=True)
    assert lib.twice is f
    assert isinstance(f, cwrapjit.Function)
    assert np.array_equal(f(ar(4, 3)), 2 * ar(4, 3))
    assert np.array_equal(f(ar(4, 6)[::-1, ::2]), 2 * ar(4, 6)[::-1, ::2])
    assert f(1.5) == 3
    out = np.zeros(3)
    assert f(ar(3), out=out) is out
    g = lib.function("double scaled(int n, double x)", broadcast=True, name="times", doc="Multiplies.")
    n = np.arange(3, dtype=np.int32)[:, None]
    assert np.array_equal(lib.times(n, ar(4)), n * ar(4))
    assert np.array_equal(g(2, ar(4)), 2 * ar(4))
    assert g.__doc__ == "Multiplies."
    assert list(inspect.signature(g).parameters)[:2] == ["n", "x"]
    h = lib.function("float single(float x)", broadcast=True)
    assert h(np.float32([1, 2])).dtype == np.float32
    refuses(TypeError, lambda: f("a"), "'x' is <U1")


def test_several_results_and_pointers_broadcast():
    f = from_c(SPECIAL).function(
        "int parts(double x, double *whole, double *rest)", out=("whole", "rest"), broadcast=True
    )
    status, whole, rest = f(np.array([1.25, 2.5]))
    assert status.tolist() == [7, 7]
    assert whole.tolist() == [1, 2]
    assert rest.tolist() == [0.25, 0.5]


def test_functions_of_arrays_broadcast_over_what_is_left():
    lib, said = from_c(SPECIAL), {"strides": {"step": ("x", "first")}}
    f = lib.function("double sum(int n, const double x[n], int step)", **said, broadcast=True)
    for x in ar(4, 6), ar(4, 6)[:, ::-2]:
        assert np.array_equal(f(x), x.sum(1))
    outer = "void outer(int n, int m, const double a[n], const double b[m], double r[n][m])"
    g = lib.function(outer, out="r", broadcast=True)
    assert np.array_equal(g(ar(5, 1, 2), ar(3)), ar(5, 1, 2)[..., :, None] * ar(3)[..., None, :])
    some = ar(5, 4)[:, ::2]  # C does not get the stride
    assert np.array_equal(g(some, range(3)), some[..., :, None] * ar(3)[..., None, :])
    h = lib.function("double sum(int n, const double *x, int step)", prototype={"x": "n"}, **said, name="h")
    assert np.array_equal(h(ar(2, 3)), [3, 12])


SHAPES = """
typedef struct { double x, y; } point;
typedef struct { point centre; float size; } circle;
typedef struct { char *name; } named;
double area(const circle *c) { return c->size * c->size; }
int inside(const point *p, const circle *c)
{ double x = p->x - c->centre.x, y = p->y - c->centre.y; return x * x + y * y < c->size * c->size; }
void middle(const point *p, int n, point *m)
{ m->x = m->y = 0; for (int i = 0; i < n; i++) { m->x += p[i].x / n; m->y += p[i].y / n; } }
int scan(const char *text, point *p) { p->x = p->y = *text; return 0; }
void grow(circle *c, double by) { c->size *= by; }
int opened(point *p, int n) { p->x = p->y = n; return 0; }
void closed(point *p) {}
int length(const named *x) { return 0; }
int maybe(const point *p) { return p != 0; }
double by_value(point p) { return p.x; }
int fill(named *x, int n) { return n; }
"""


def test_pointers_to_structs_broadcast():
    """One struct of numbers is an element of an array, of any strides, alignment and byte order."""
    lib = from_c(SHAPES).declare("typedef struct { double x, y; } point;")
    lib.declare("typedef struct { point centre; float size; } circle; typedef struct { char *name; } named;")
    area = lib.function("double area(const circle *c)", broadcast=True)
    circles = np.zeros((2, 3), lib.circle)
    circles["size"] = ar(2, 3)
    circles["centre"]["x"] = 10 * ar(2, 3)
    other = np.dtype([("centre", [("x", ">f4"), ("y", ">f8")]), ("size", "<f4")])
    unaligned = np.frombuffer(b"1" + circles.tobytes(), circles.dtype, offset=1).reshape(2, 3)
    for each in circles, circles[:, ::-2], circles.astype(other), unaligned, circles[1], circles[1, 2]:
        assert np.array_equal(area(each), each["size"] ** 2)
    inside = lib.function("int inside(const point *p, const circle *c)", broadcast=True)
    points = np.array([(10, 0.5), (49, 3)], lib.point)
    assert inside(points[:, None, None], circles).tolist() == [
        [[0, 1, 0], [0, 0, 0]],
        [[0, 0, 0], [0, 0, 1]],
    ]
    middle = lib.function("void middle(const point p[n], int n, point *m)", out="m", broadcast=True)
    table = ar(2, 4, 2).view(lib.point)[..., 0]
    assert middle(table).tolist() == [(3, 4), (11, 12)] and middle(table[:, ::3]).tolist() == [
        (3, 4),
        (11, 12),
    ]
    kept = np.zeros((2, 2), lib.circle)
    assert middle(table, out=kept["centre"][:, 1])["x"].tolist() == [3, 11]
    assert kept["centre"]["x"].tolist() == [[0, 3], [0, 11]]
    lib.declare("int maybe(const point *p);").refine("maybe", broadcast=True)
    assert lib.maybe(points).tolist() == [1, 1]


def test_structs_that_are_no_elements_say_why():
    lib = from_c(SHAPES).declare(
        "typedef struct { double x, y; } point; typedef struct { char *name; } named;"
    )
    lib.declare("typedef struct { point centre; float size; } circle;")
    both = "neither a number nor an array"
    for text, options, *words in (
        ("void grow(circle *c, double by)", {}, "c is written in place"),
        ("int length(const named *x)", {}, f"x is {both}"),
        ("int fill(named *x, int n)", {"out": "x"}, f"the result x is {both}"),
        ("int maybe(const point *p)", {"optional": "p"}, "optional="),
        ("double by_value(point p)", {}, f"p is {both}"),
        ("int scan(const char *text, point *p)", {"out": "p"}, f"text is {both}"),
    ):
        refuses(TypeError, functools.partial(lib.function, text, broadcast=True, **options), *words)
    lib.struct("point", free="closed")
    opened = functools.partial(lib.function, "int opened(point *p, int n)", out="p", broadcast=True)
    refuses(TypeError, opened, "p has to be freed")


def test_a_broadcast_function_keeps_its_library():
    f = from_c(SPECIAL).function("double twice(double x)", broadcast=True)
    gc.collect()
    assert f(4.0) == 8
    cos = cwrapjit.library("m", libraries=["m"]).function("double cos(double x)", broadcast=True)
    gc.collect()
    assert np.array_equal(cos(ar(9)), [math.cos(x) for x in range(9)])


def test_what_cannot_be_broadcast_says_why():
    more = "void none(double x) {} const char *text(double x) { return 0; } void in(int n, double *x) {}"
    lib = from_c(SPECIAL + more)
    for text, error, *words in (
        ("void none(double x)", TypeError, "none", "out="),
        ("const char *text(double x)", TypeError, "text"),
        ("void in(int n, double x[n])", TypeError, "in place"),
        ("double missing(double x)", AttributeError, "missing"),
    ):
        refuses(error, lambda text=text: lib.function(text, broadcast=True), *words)


def test_no_slice_writes_further_than_its_array():
    """Only the caller tells C the length."""
    lib = from_c("void ones(int n, double *x) { for (int i = 0; i < n; i++) x[i] = 1; }")
    for text, options in (
        ("void ones(int n, double x[n])", {}),
        ("void ones(int n, double *x)", {"dims": {"x": "n"}}),
        ("void ones(int n, double *x)", {"prototype": {"x": "n"}}),
    ):
        options = {"out": "x", "broadcast": True, **options}
        refuses(TypeError, functools.partial(lib.function, text, **options), "the dim n of x")


@pytest.mark.parametrize(
    ("option", "given"),
    [
        ("defaults", {"x": 1.0}), ("keyword_only", "x"), ("positional_only", ("x",)), ("optional", "x"),
        ("container", list), ("container", {"x": tuple}), ("unsafe", True), ("overlap", "allow"),
        ("stable", True), ("encoding", "latin-1"), ("encoding", None), ("keeps", "x"),
        ("returns", "callee"), ("check", OSError),
    ],
)  # fmt: skip
def test_an_option_for_single_calls_is_refused_where_slices_are(option, given):
    lib, text = from_c(SPECIAL), "double twice(double x)"
    refuses(TypeError, lambda: lib.function(text, broadcast=True, **{option: given}), "twice", f"{option}=")
    lib.declare(f"{text}; float single(float x);", broadcast=True, options={"twice": {option: given}})
    assert f"{option}=" in lib.unmapped["twice"]  # as for other functions that declare() cannot map
    assert lib.single(np.float32([2, 4])).tolist() == [1, 2]
    lib = from_c(SPECIAL)
    lib.refine("twice", **{option: given})
    refuses(TypeError, lambda: lib.function(text, broadcast=True), "twice", f"{option}=")


def test_the_others_are_honoured_where_slices_are():
    lib = from_c(SPECIAL)
    f = lib.function(
        "double scaled(int n, double x)", broadcast=True, hidden={"n": 3}, rename={"x": "y"}, name="g"
    )
    assert f(y=[1.0, 2.0]).tolist() == [3, 6]
    assert lib.g is f
    g = lib.function(
        "int parts(double x, double *whole, double *rest)", out=("whole", "rest"), discard="return",
        broadcast=True,
    )  # fmt: skip
    assert np.array_equal(g([1.25, 2.5]), [[1, 2], [0.25, 0.5]])
    text = "double sum(int n, const double *x, int step)"
    h = lib.function(text, prototype={"x": "n"}, hidden={"step": 1})
    assert np.array_equal(h(ar(2, 3)), [3, 12])
    refuses(ValueError, lambda: lib.function(text, prototype={"x": "n() -> z(), y"}), "sum", "function n()")
    refuses(TypeError, lambda: lib.function(text, prototype={"x": 2.5}), "sum", "float")
    assert lib.function("double twice(double output)", broadcast=True)([1.0]).tolist() == [2]


def test_the_gil_is_kept_where_slices_are():
    source = "int PyGILState_Check(void); int has(int x) { return x + PyGILState_Check(); }"
    text, x = "int has(int x)", np.zeros(100_000, np.intc)
    held = from_c(source)
    assert held.function(text, broadcast=True, gil=True)(x).all()
    assert from_c(source, gil=True).function(text, broadcast=True)(x).all()
    assert not held.function(text, broadcast=True, name="free")(x).all()


def test_what_broadcasts_has_a_ufunc_and_the_address_of_its_c_function():
    lib = from_c(SPECIAL)
    f = lib.function("double twice(double x)", broadcast=True)
    assert f.ufunc(ar(3)).tolist() == [0, 2, 4]
    called = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(f.address)
    assert called(4.0) == 8
    g = lib.function("double sum(int n, const double x[n], int step)", hidden={"step": 1}, broadcast=True)
    x = ar(3)
    kinds = ctypes.c_double, ctypes.c_int, ctypes.c_void_p, ctypes.c_int
    assert ctypes.CFUNCTYPE(*kinds)(g.address)(3, x.ctypes.data, 1) == 3
    refuses(AttributeError, lambda: g.ufunc, "contiguous")
    text = "int parts(double x, double *whole, double *rest)"
    h = lib.function(text, out=("whole", "rest"), discard="return", broadcast=True)
    parts = np.zeros(2)
    kinds = ctypes.c_int, ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p
    assert ctypes.CFUNCTYPE(*kinds)(h.address)(1.25, parts.ctypes.data, parts.ctypes.data + 8) == 7
    assert parts.tolist() == [1, 0.25]


# ---- containers ----------------------------------------------------------------------------------

SUM = "double sum(int64_t n, const double *a) { double sum = 0; while (n) sum += a[--n]; return sum; }"


@pytest.mark.leak
@pytest.mark.row("P29")
def test_its_buffer_is_freed():
    f = from_c(SUM).function("double sum(int64_t n, const double a[n])", container={"a": tuple})
    good, bad = tuple(range(1000)), (*range(1000), "2")

    def failing() -> None:
        with pytest.raises(TypeError):
            f(bad)

    keeps_nothing(lambda: f(good), 500, (good,))
    keeps_nothing(failing, 500, (bad,))


def test_a_container_that_changes_while_it_is_read():
    class Growing(float):
        """A subclass of float: its value is read without calling its methods."""

        def __float__(self) -> float:
            items.clear()
            return 1.0

    total = from_c(SUM).function("double sum(int64_t n, const double a[n])", container={"a": list})
    items: list[Any] = [Growing(1.0), *[2.0] * 100]
    assert total(items) == 201
    assert len(items) == 101


# ---- the GIL -------------------------------------------------------------------------------------


@pytest.mark.row("P18i")
@pytest.mark.parametrize("gil", [False, True])
def test_the_gil_is_released_during_a_call_unless_it_is_kept(gil):
    lib = from_c("int PyGILState_Check(void); int held(int x) { return x * PyGILState_Check(); }")
    held = lib.function("int held(int x)", gil=gil)
    assert held(3) == (3 if gil else 0)
