"""Structs and handles of a library as Python classes: members, methods, life."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import cwrapjit as cj

SHAPES = """
#include <stdlib.h>
#include <math.h>
#include <stdint.h>

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


def make_library(folder, name="shapes"):
    path = folder / "shapes.c"
    path.write_text(SHAPES)
    return cj.library(name, sources=[path])


@pytest.fixture
def lib(tmp_path):
    return make_library(tmp_path)


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


def test_a_variable_that_is_a_struct(lib):
    make_point(lib)
    lib.variable("struct point origin")
    lib.origin.translate(dx=1.0, dy=1.0)
    assert lib.origin.x == 2.0


@pytest.mark.quick
@pytest.mark.row("P35")
def test_type_init_and_methods_with_self(lib):
    point = make_point(lib, init="void point_init(struct point *p, double x, double y)", doc="A point.")
    p = point(3.0, y=4.0)
    assert type(p) is point is lib.point
    assert p.norm() == 5.0
    assert point.norm(p) == 5.0
    assert point.__doc__ == "A point."
    with pytest.raises(TypeError, match="initialised already"):
        p.__init__(1.0, 2.0)
    with pytest.raises(TypeError):
        point(1.0)
    with pytest.raises(TypeError, match="Expected an argument of type float for argument x, got str"):
        point("a", 1.0)
    with pytest.raises(ValueError, match="never initialised"):
        point.__new__(point).norm()


@pytest.mark.row("P36")
def test_getters_and_setters(lib):
    point = make_point(
        lib,
        properties={
            "angle": (
                "double point_get_angle(const struct point *p)",
                "void point_set_angle(struct point *p, double angle)",
            )
        },
    )
    p = point(4)
    assert p.x == 4.0
    assert isinstance(p, point)
    assert p.angle == 0.0
    p.angle = np.pi / 2
    assert p.y == pytest.approx(4.0)
    assert type(p.x) is float


def test_members_by_position_and_name(lib):
    point = make_point(lib)
    assert (point(1.0, y=2.0).y, point().x) == (2.0, 0.0)
    for bad in ((1, 2, 3), {"z": 1}, ("a",)):
        with pytest.raises(TypeError):
            point(**bad) if isinstance(bad, dict) else point(*bad)
    with pytest.raises(TypeError, match="multiple values"):
        point(1.0, x=1.0)


@pytest.mark.quick
@pytest.mark.row("P04i")
def test_setters_refuse_wrong_types_and_new_memory(lib):
    make_point(lib)
    lib.struct(SEGMENT)
    s = lib.segment()
    with pytest.raises(TypeError, match="Expected an argument of type float for attribute x, got str"):
        s.to.x = "a"
    with pytest.raises(TypeError, match="Expected an argument of type int for attribute count, got float"):
        s.count = 1.5
    with pytest.raises(OverflowError, match="attribute count: 2147483648"):
        s.count = 2**31
    with pytest.raises(AttributeError, match="Can't reallocate memory"):
        s.grid = np.zeros((2, 3), np.float32)
    with pytest.raises(TypeError, match="struct point for attribute to, got segment"):
        s.to = s
    with pytest.raises(AttributeError):
        del s.count
    with pytest.raises(AttributeError):
        s.nothing = 1


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
    good = lib.struct("struct good { struct { int d; char e[3]; } inside; }")
    assert type(good().inside).__name__ == "good_inside"
    lib.struct("struct deep { int d; char e[3]; }")
    odd = lib.struct("struct odd { char a; double b; short c; struct deep inside; long long f; }")
    import ctypes

    class Deep(ctypes.Structure):
        _fields_ = [("d", ctypes.c_int), ("e", ctypes.c_char * 3)]

    class Odd(ctypes.Structure):
        _fields_ = [
            ("a", ctypes.c_char), ("b", ctypes.c_double), ("c", ctypes.c_short), ("inside", Deep),
            ("f", ctypes.c_longlong),
        ]  # fmt: skip

    layout = odd.__cwrapjit_layout__
    assert layout.size == ctypes.sizeof(Odd)
    for name in ("a", "b", "c", "inside", "f"):
        assert f"{name}@{getattr(Odd, name).offset}:" in layout.fields


@pytest.mark.row("P09i")
def test_magic_methods(lib):
    vec = lib.struct(
        "struct vec { int64_t n; double *data; double *spare; }",
        init=("int vec_init(struct vec *v, int64_t n)", {"check": ValueError}),
        free="vec_clear",
        arrays={"data": "n"},
        methods={
            "__len__": "int64_t vec_len(const struct vec *v)",
            "__getitem__": "double vec_get(const struct vec *v, int64_t i)",
            "fill": "void vec_fill(struct vec *v, double x)",
        },
    )
    v = vec(3)
    v.fill(2.5)
    assert len(v) == 3
    assert v[1] == 2.5
    with pytest.raises(TypeError):
        v["a"]
    assert v.data.tolist() == [2.5] * 3


@pytest.mark.quick
def test_what_has_no_way_to_python_says_why(lib):
    vec = lib.struct(
        """struct vec {
            int64_t n; double *data; double *spare; void (*hook)(int, ...); long double _Complex l;
        }"""
    )
    v = vec(n=3)
    hook = r"void \(\*\)\(int, \.\.\.\) has no mapping"
    for name, reason in (("hook", hook), ("l", "long double")):
        with pytest.raises(NotImplementedError, match=reason):
            getattr(v, name)
        with pytest.raises(NotImplementedError):
            setattr(v, name, 1)


@pytest.mark.quick
def test_pointers_with_sizes(lib, tmp_path):
    file = tmp_path / "resize.c"
    struct = "struct vec { long n; double *data, *spare; };"
    file.write_text(struct + "void resize(struct vec *v, long n) { v->n = n; }")
    resizing = cj.library("resizing", sources=[file])
    vec = resizing.struct("struct vec { int64_t n; double *data; double *spare; }", arrays={"data": ("n", 1)})
    resize = resizing.function("void resize(struct vec *v, int64_t n)")
    v = vec()
    assert v.data.shape == (0, 1)
    with pytest.raises(AttributeError, match="n of struct vec is read-only"):
        v.n = 2**40  # all memory would be in reach
    resize(v, 3)
    with pytest.raises(ValueError, match="NULL"):
        v.data  # noqa: B018
    resize(v, -1)
    with pytest.raises(ValueError, match="no size"):
        v.data  # noqa: B018
    for bad in ({"what": "n"}, {"data": "m"}, {"data": -1}):
        with pytest.raises(ValueError):
            lib.struct("struct vec { int64_t n; double *data; double *spare; }", arrays=bad)
    with pytest.raises(TypeError):
        lib.struct("struct vec { int64_t n; double *data; double *spare; }", arrays={"n": "n"})


def test_self_reference(lib):
    node = lib.struct("struct node { struct node *next; int value; }")
    a, b = node(value=1), node(value=2)
    a.next = b
    assert a.next == b and a.next.value == 2 and a.next is not b
    assert a.referenced_objects == [b]
    b.next = a  # a cycle, which the collector must end
    ref = weakref.ref(a)
    del a, b
    gc.collect()
    assert ref() is None


def test_an_initialiser_that_fails(lib):
    vec = lib.struct(
        "struct vec { int64_t n; double *data; double *spare; }",
        init=("int vec_init(struct vec *v, int64_t n)", {"check": ValueError}),
        free="vec_clear",
    )
    lib.variable("int live")
    with pytest.raises(ValueError):
        vec(-1)
    assert lib.live == 0  # and vec_clear did not run
    v = vec(2)
    assert lib.live == 1
    del v
    assert lib.live == 0


# ---- by value --------------------------------------------------------------------------------------


def test_structs_by_value(lib):
    point = make_point(lib)
    add = lib.function("struct point point_add(struct point a, struct point b)")
    r = add(point(1, 2), point(3, 4))
    assert type(r) is point and (r.x, r.y) == (4.0, 6.0)
    with pytest.raises(TypeError, match="point"):
        add(point(), 1.0)


MIXED = [
    ("double", "long"), ("long", "double"), ("float", "int"), ("int", "float"), ("double", "int"),
    ("char", "double"), ("float", "float", "int"), ("int", "float", "float"),
    ("float", "float", "float", "int"), ("double", "float"), ("float", "float", "float"),
    ("float", "float"), ("char", "char", "char"), ("int", "int", "int"), ("long", "char"),
    ("double", "double", "double"), ("float", "int", "long", "int"), ("short", "float", "char"),
]  # fmt: skip


@pytest.mark.parametrize("kinds", MIXED, ids="-".join)
def test_structs_by_value_are_never_passed_wrongly(kinds, tmp_path):
    """Against a library that the system's compiler made."""
    import shutil
    import subprocess

    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler on this machine")
    members = " ".join(f"{kind} m{i};" for i, kind in enumerate(kinds))
    text = f"struct s {{ {members} }};"
    turn = " ".join(f"r.m{i} = a.m{i} * 2 + k;" for i in range(len(kinds)))
    (tmp_path / "s.c").write_text(
        f"{text}\nstruct s turn(int k, struct s a, double d)\n"
        f"{{ struct s r = a; k += (int)d; {turn} return r; }}"
    )
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-o", tmp_path / "s.so", tmp_path / "s.c"], check=True
    )
    lib = cj.library("s", tmp_path / "s.so")
    s = lib.struct(text)
    turn = lib.function("struct s turn(int k, struct s a, double d)")
    r = turn(1, s(*range(3, 3 + len(kinds))), 2.0)
    wanted = [2 * (3 + i) + 3 for i in range(len(kinds))]
    wanted = [chr(each) if kind == "char" else each for kind, each in zip(kinds, wanted, strict=True)]
    assert [getattr(r, f"m{i}") for i in range(len(kinds))] == wanted


@pytest.mark.quick
def test_mixed_structs_without_an_optimizing_compiler(tmp_path):
    text = "struct s { double d; long l; };"
    turned = "struct s turn(struct s a)"
    (tmp_path / "s.c").write_text(text + turned + "{ a.d += 1; a.l += 2; return a; }")
    lib = cj.library("s", sources=[tmp_path / "s.c"])  # libtcc made it, in its own way
    s = lib.struct(text)
    r = lib.function(turned)(s(1.5, 2))
    assert (r.d, r.l) == (2.5, 4)
    libc = cj.library("c", libraries=["c"])
    libc.struct("struct s { double m[2]; };")  # what no machine passes rightly
    before = cj.config.compiler
    try:
        cj.config.compiler = "no-such-compiler"
        with pytest.raises(TypeError, match="by value, which libtcc does wrongly"):
            libc.function("struct s lldiv(long a, long b)")
        libc.declare("struct s lldiv(long a, long b); int abs(int x);")
        assert libc.abs(-3) == 3
        assert "by value" in libc.unmapped["lldiv"]
    finally:
        cj.config.compiler = before


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
    assert lib.counters == 1  # a borrowed one is not freed
    for bad in (object(), 1, None, "a"):
        with pytest.raises(TypeError, match="counter"):
            following(bad)
    with pytest.raises(ValueError, match="borrowed"):
        shared().close()
    c.close()
    c.close()
    assert lib.counters == 0
    with pytest.raises(ValueError, match="was freed"):
        c.next()
    del c
    gc.collect()
    assert lib.counters == 0
    with pytest.raises(TypeError, match="come from functions"):
        lib.counter()


@pytest.mark.quick
def test_a_handle_with_a_constructor(lib):
    counter = make_counter(lib, init="counter *counter_new(int value)")
    lib.variable("int counters")
    with counter(3) as c:
        assert c.next() == 3
        assert lib.counters == 1
    assert lib.counters == 0
    with pytest.raises(RuntimeError, match="no counter was made"):
        counter(-1)
    with pytest.raises(AttributeError, match="nothing_here"):
        lib.handle("counter *", free="nothing_here")


def test_the_librarys_own_free_function_frees_once(lib):
    counter = make_counter(lib, init="counter *counter_new(int value)")
    lib.variable("int counters")
    free = lib.function("void counter_free(counter *c)")
    c = counter(1)
    free(c)
    assert lib.counters == 0
    free(c)
    del c
    gc.collect()
    assert lib.counters == 0
    with pytest.raises(TypeError, match="counter"):
        free(3)


@pytest.mark.quick
@pytest.mark.row("P37")
def test_another_librarys_functions_accept_the_class(lib, tmp_path):
    point = make_point(lib)
    other = make_library(tmp_path, "other")
    other.struct(POINT)
    norm = other.function("double point_norm(const struct point *p)")
    assert norm(point(3.0, 4.0)) == 5.0
    with pytest.raises(TypeError, match="got object"):
        norm(object())
    third = make_library(tmp_path, "third")
    third.struct(point)
    assert third.function("double point_norm(const struct point *p)")(point(3.0, 4.0)) == 5.0
    fourth = make_library(tmp_path, "fourth")
    fourth.struct("struct point { float x, y; }")  # the same name, another struct
    with pytest.raises(TypeError):
        fourth.function("double point_norm(const struct point *p)")(point(3.0, 4.0))


@pytest.mark.quick
def test_a_capsule_of_other_code_is_taken(lib):
    import ctypes

    make_point(lib)
    norm = lib.function("double point_norm(const struct point *p)")
    memory = (ctypes.c_double * 2)(3.0, 4.0)
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    name = b"struct point"
    assert norm(new(ctypes.addressof(memory), name, None)) == 5.0
    other = b"struct line"
    with pytest.raises(TypeError):
        norm(new(ctypes.addressof(memory), other, None))


@pytest.mark.quick
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
    import pickle

    p = make_point(lib)()
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(TypeError):
            pickle.dumps(p, protocol)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("int x;", TypeError),
        ("struct nowhere", TypeError),
        ("struct a { int x", SyntaxError),
        ("struct a { unknown x; }", SyntaxError),
        ("struct a { int x[n]; }", TypeError),
    ],
)
def test_bad_declarations(lib, text, error):
    with pytest.raises(error):
        lib.struct(text)


def test_bad_methods(lib):
    for methods, error in (
        (["double missing(struct point *p)"], AttributeError),
        (["int x;"], ValueError),
        ([3], TypeError),
        ({"class": "double point_norm(const struct point *p)"}, ValueError),
        ({"x": "double point_norm(const struct point *p)"}, ValueError),
    ):
        with pytest.raises(error):
            lib.struct(POINT, methods=methods)


def test_classes_and_libraries_are_collected(tmp_path):
    lib = make_library(tmp_path)
    point = make_point(lib)
    ref, cls = weakref.ref(lib), weakref.ref(point)
    p = point(3.0, 4.0)
    del lib, point
    gc.collect()
    assert p.norm() == 5.0  # the code stays as long as the object
    del p
    gc.collect()
    assert ref() is None and cls() is None


@pytest.mark.quick
def test_no_tampering_reads_outside_an_object(lib):
    point = make_point(lib)
    big = lib.struct("struct big { double x[100]; }")
    p = point(3.0, 4.0)
    with pytest.raises(TypeError, match="struct big objects"):
        vars(big)["x"].__get__(p)
    p.__class__ = big
    with pytest.raises(TypeError):
        p.x  # noqa: B018
    assert point.norm(p) == 5.0  # it still is what it was made as
    big.__cwrapjit_layout__ = point.__cwrapjit_layout__
    with pytest.raises(TypeError):
        big().x  # noqa: B018
    big.__cwrapjit_layout__ = 3
    with pytest.raises(TypeError, match="is no class"):
        big()
