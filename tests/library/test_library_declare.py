"""Whole texts of declarations at once, what has no mapping and why, and declarations that are none."""

from __future__ import annotations

import concurrent.futures
import functools
import gc
import sys
import textwrap
from typing import Any

import numpy as np
import pytest
from helpers import python, refuses
from library_tools import from_c

import cwrapjit

TEXT = """
typedef double real;
typedef struct opaque opaque;
struct pair { int a, b; };
double add(double a, double b) { return a + b; }
real half(real x) { return x / 2; }
int apply(int (*f)(int), int x) { return f(x); }
int total(int n, ...) { return n; }
double sum(int n, const double *x) { double s = 0; for (int i = 0; i < n; i++) s += x[i]; return s; }
void wide(void) {}
opaque *make(void) { return 0; }
int old() { return 1; }
struct pair swap(struct pair p) { struct pair q = {p.b, p.a}; return q; }
double *borrow(void) { return 0; }
void store(double **to) { *to = 0; }
int fill(void *p) { return p == 0; }
"""
DECLARATIONS = """
typedef double real;
typedef struct opaque opaque;
struct pair { int a, b; };
double add(double a, double b);
extern real half(real x);
int apply(int (*f)(int), int x);
int total(int n, ...);
double sum(int n, const double *x);
void wide(long double _Complex x);
opaque *make(void);
int old();
struct pair swap(struct pair p);
double *borrow(void);
void store(double **to);
int fill(void *p);
int absent(int x);
int unknown(what_t x);
"""


@pytest.mark.row("P03", "P13", "P19i")
def test_what_has_no_mapping_is_listed_with_the_reason():
    lib = from_c(TEXT)
    assert lib.declare(DECLARATIONS) is lib
    assert lib.mapped == ["add", "apply", "borrow", "fill", "half", "make", "store", "sum", "swap"]
    assert lib.add(1.0, 2.0) == 3
    assert lib.half(3.0) == 1.5
    assert lib.make() is None
    assert lib.swap(lib.pair(1, 2)).a == 2
    wanted = {
        "total": "variable number",
        "wide": "long double _Complex",
        "old": "prototype",
        "absent": "no symbol absent",
        "unknown": "what_t is not a known type",
    }
    assert lib.unmapped.keys() == wanted.keys()
    for name, reason in wanted.items():
        assert reason in lib.unmapped[name]
        refuses(AttributeError, lambda name=name: getattr(lib, name), name)


@pytest.mark.row("P03")
def test_what_is_said_of_void_pointers_works():
    lib = cwrapjit.library("bytes", source="void f(const void *seen, void *made, int n) {}")
    for made in ("void *made", "void made[n]"):
        text = f"void f(const void seen[n], {made}, int n)"
        refuses(TypeError, lambda text=text: lib.function(text, out="made"), "uint8_t made[n]")
    refuses(
        TypeError, lambda: lib.function("void f(const void seen[3], void *made, int n)"), "uint8_t seen[n]"
    )
    f = lib.function("void f(const void seen[n], uint8_t made[n], int n)", out="made")
    assert f(b"123").dtype == np.uint8


@pytest.mark.row("P03")
def test_an_unknown_type_is_a_definition_error_that_names_it():
    lib = from_c(TEXT)
    error = refuses(cwrapjit.CompileError, lambda: lib.function("int unknown(int a, what_t x)"), "what_t")
    assert (error.lineno, error.offset, error.end_offset) == (1, 20, 26)
    assert error.text == "int unknown(int a, what_t x);"
    refuses(TypeError, lambda: lib.function("void wide(long double _Complex x)"), "long double _Complex")


@pytest.mark.row("P13")
def test_a_kind_of_callback_that_cannot_be_typed_is_refused():
    lib = from_c(TEXT + "typedef int (*any)(int, ...); int again(any f) { return f(1); }")
    refuses(
        TypeError, lambda: lib.function("int apply(int (*f)(int, ...), int x)"), "f is a function of a var"
    )
    lib.declare("typedef int (*any)(int, ...); int again(any f);")
    assert "again" not in lib.mapped
    assert lib.unmapped["again"] == "f is a function of a variable number of arguments (...)"


@pytest.mark.row("P19i")
def test_an_unsafe_pointer_takes_an_aligned_array_unchecked():
    lib = from_c(TEXT)
    f = lib.function("double sum(int n, const double *x)")
    refuses(TypeError, lambda: f(3, np.ones(3)), "Pointer[float64] for argument x", "nothing says how long")
    f = lib.function("double sum(int n, const double *x)", unsafe=True)
    assert f(3, np.arange(6.0).reshape(2, 3)) == 3
    refuses(TypeError, lambda: f(3, np.arange(3)), "float64")
    refuses(TypeError, lambda: f(3, [1.0, 2.0, 3.0]), "argument x, got list")
    raw = np.zeros(8 * 4 + 1, np.uint8)[1:].view(np.float64)
    refuses(ValueError, lambda: f(3, raw), "argument x is not aligned")
    lib.declare("double sum(int n, const double *x);", unsafe=True)
    assert lib.sum(2, np.ones(2)) == 2


@pytest.mark.row("P19i")
def test_leading_dimensions_are_strides_in_elements():
    text = """double corner(int m, int n, const double *A, int lda) { return A[(m - 1) * lda + n - 1]; }
    double corner_f(int m, int n, const double *A, int lda) { return A[(n - 1) * lda + m - 1]; }"""
    lib = from_c(text)
    f = lib.function("double corner(int m, int n, const double A[m][n], int lda)", strides={"lda": ("A", 0)})
    a = np.arange(60.0).reshape(6, 10)
    for view in a, a[:3, :4], a[::2, 2:5], a[1:, :1]:
        assert f(view) == view[-1, -1]
    refuses(ValueError, lambda: f(a[:, ::2]), "argument A is not contiguous")
    g = lib.function(
        "double corner_f(int m, int n, const double A[m][n], int lda)", strides={"lda": ("A", 1)}, order="F"
    )
    assert g(a.T) == a[-1, -1]
    assert g(a.T[2:5, ::2]) == a.T[2:5, ::2][-1, -1]


def test_options_of_declared_functions():
    lib = from_c(
        "double my_sum(int n, const double *x) { return n; } int my_put(int *r) { *r = 7; return 1; }"
    )
    lib.declare(
        "double my_sum(int n, const double *x); int my_put(int *r); int my_n(void);",
        strip_prefix="my_",
        options={"my_put": {"out": "r", "doc": "Puts."}},
        unsafe=True,
    )
    assert lib.mapped == ["put", "sum"]
    assert lib.put() == (1, 7)
    assert lib.put.__doc__ == "Puts."
    refuses(TypeError, lambda: lib.declare("int my_put(int *r);", options=5), "options")
    refuses(TypeError, lambda: lib.declare("int my_put(int *r);", no_option=5), "no_option")


@pytest.mark.row("P04")
def test_a_name_that_python_cannot_have_is_mapped():
    lib = from_c("double lambda(double from, double in) { return from - in; } int name(void) { return 1; }")
    f = lib.function("double lambda(double from, double in)")
    assert f(from_=3.0, in_=1.0) == 2
    assert f.__name__ == "lambda_"
    assert lib.lambda_ is f
    g = lib.function("double lambda(double from, double in)", name="minus", rename={"from": "a", "in": "b"})
    assert g(b=1.0, a=3.0) == lib.minus(3.0, 1.0) == 2
    lib.declare("int name(void);")
    assert lib.name() == 1
    assert lib.__name__ == "t"


# ---- types of headers ----------------------------------------------------------------------------


def test_typedefs_enums_and_macros_are_resolved():
    header = """
    #define API extern __attribute__((visibility("default")))
    #define ARGS(x) x
    #define CONST const
    typedef unsigned long ulong_t; typedef ulong_t size; typedef const double *vector;
    enum mode { A = 3, B };
    typedef enum mode mode_t_;
    #define N 4
    """
    source = """
    size f(size n) { return n + 1; } enum mode g(mode_t_ m) { return m; } double h(vector x) { return x[0]; }
    double k(const double x[N]) { return x[N - 1]; }
    """
    lib = from_c(header + source, header=header)
    lib.declare("API size f ARGS((size n)); API enum mode g(mode_t_ m); double k(CONST double x[N]);")
    assert lib.unmapped == {}
    assert lib.f(1) == 2
    assert type(lib.f(1)) is np.uint64
    assert lib.g(lib.B) == 4
    assert lib.k(np.arange(4.0)) == 3
    refuses(ValueError, lambda: lib.k(np.arange(5.0)), "argument x is 5", "must be 4")


def test_functions_that_only_the_declaration_knows_by_another_type_of_the_same_size():
    lib = from_c("int f(unsigned char a, short b) { return a - b; }")
    assert lib.function("int f(uint8_t a, int16_t b)")(200, -200) == 400


# ---- what is no declaration ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, message, place",
    [
        ("int f(", "end of input", (1, 7)),
        ("int f(int x,\n      foo y)", "foo is not a known type", (2, 7)),
        ("int f(int x; int y)", "syntax error", (1, 12)),
        ("42", "before 42", (1, 1)),
        ("double double f(int x)", "known type", (1, 1)),
        ("#if 1\nint f(int x);", "#endif", (1, None)),
        ("#error no\n", "#error no", (1, None)),
        ("int f(int x[m + 1])", "m in a dim is no integer", (1, 13)),
        ("int f(int n, double x[n * 2.5])", "2.5", (1, 27)),
        ("int f(int n, double x[n << 2])", "dim", None),
        ("int f(int x, int y) { return x", "end of input", None),
    ],
)
def test_a_declaration_that_does_not_parse(text, message, place):
    lib = from_c("int f(int x) { return x; }")
    error = refuses(cwrapjit.CompileError, lambda: lib.function(text), message)
    if place is not None:
        assert (error.lineno, error.offset) == place
        assert error.text is not None


@pytest.mark.parametrize(
    "text, error",
    [
        ("", ValueError),
        ("int x", ValueError),
        ("int f(int x); int g(int x);", ValueError),
        ("int f()", TypeError),
        ("int f(a, b)", (TypeError, SyntaxError)),
        ("int f(a) int a; { return a; }", (TypeError, SyntaxError)),
        ("int f(int n, ...)", NotImplementedError),
        ("int f(va_list v)", TypeError),
        ("_Float16 f(int x)", TypeError),
        ("__int128 f(int x)", TypeError),
        ("int f(int x\0)", SyntaxError),
        (b"int f(int x)", TypeError),
        (None, TypeError),
    ],
)
def test_a_declaration_that_cannot_be_mapped(text, error):
    lib = from_c("int f(int x) { return x; }")
    with pytest.raises(error) as caught:
        lib.function(text)
    assert str(caught.value)
    assert lib.function("int f(int x)")(2) == 2


@pytest.mark.parametrize(
    "options, error",
    [
        ({"out": "z"}, ValueError),
        ({"out": "n"}, ValueError),
        ({"out": "x"}, ValueError),
        ({"out": 5}, TypeError),
        ({"inout": "y", "out": "y"}, ValueError),
        ({"optional": "n2"}, ValueError),
        ({"defaults": {"q": 1}}, ValueError),
        ({"defaults": {"n": 1, "y": None, "z": 2}}, ValueError),
        ({"order": "K"}, ValueError),
        ({"order": {"q": "F"}}, ValueError),
        ({"strides": {"n2": "q"}}, ValueError),
        ({"strides": {"n2": ("x", 1)}}, ValueError),
        ({"strides": {"x": "y"}}, ValueError),
        ({"strides": ["x"]}, TypeError),
        ({"hidden": {"n2": "k + 1"}}, ValueError),
        ({"hidden": {"n2": "("}}, ValueError),
        ({"hidden": {"x": "n"}}, ValueError),
        ({"returns": ("n", "owner")}, ValueError),
        ({"returns": ("n", "callee")}, ValueError),
        ({"returns": 1.5}, TypeError),
        ({"container": "deque"}, ValueError),
        ({"container": {"y": tuple}}, ValueError),
        ({"check": 5}, TypeError),
        ({"check": "no_message"}, AttributeError),
        ({"check": {"q": 5}}, ValueError),
        ({"name": "no name"}, ValueError),
        ({"name": 5}, TypeError),
        ({"rename": {"x": "y"}}, ValueError),
        ({"rename": {"x": "if"}}, ValueError),
        ({"keyword_only": "x", "positional_only": "x"}, ValueError),
        ({"broadcast": True}, TypeError),
        ({"prototype": {"q": "n"}}, ValueError),
        ({"unsafe": "q"}, ValueError),
        ({"surprise": 1}, TypeError),
    ],
)
def test_options_that_make_no_sense(options, error):
    lib = from_c("int f(int n, const double *x, double *y, int n2) { return n; }")
    with pytest.raises(error) as caught:
        lib.function("int f(int n, const double x[n], double y[n], int n2)", **options)
    assert str(caught.value)
    assert (
        lib.function("int f(int n, const double x[n], double y[n], int n2)")(np.ones(2), np.ones(2), 1) == 2
    )


@pytest.mark.parametrize(
    "text",
    [
        "int f(" + "(" * 100000,
        "int " + "*" * 100000 + "f(int x);",
        "int f(int x[" + "-" * 100000 + "1]);",
        "int f(int x[" + "1+" * 20000 + "1]);",
        "#define A A A\nA" * 3,
        "#define A(x) A(x x) x\nint f(A(A(A(A(1)))));",
        "\n".join(f"#define A{i} A{i + 1} A{i + 1}" for i in range(60)) + "\nA0",
        "#if " + "(" * 100000 + "\n#endif",
        "#if " + "!" * 100000 + "1\n#endif",
        "#define f(\nint f(int x);",
        "#define\n#undef\n#include\n#if\n#endif",
        "#else",
        '"unended',
        "/* unended",
        "int f(int x[1 << 100]);",
        "int f(int x[99999999999999999999999]);",
        "int f(int x[-1]);",
        "enum { A = 1 / 0 }; int f(int x);",
        "typedef struct s { struct s x; } s; int f(s x);",
        "int f(int x[1/0]);",
        "\ud800",
        "int f(int \u00e4);",
    ],
)
def test_hostile_texts_end_in_an_exception_or_a_function(text):
    lib = from_c("int f(int x) { return x; }")
    for method in lib.function, lib.declare, lib.variable:
        try:
            method(text)
        except (
            SyntaxError,
            TypeError,
            ValueError,
            NotImplementedError,
            AttributeError,
            OverflowError,
        ) as error:
            assert str(error) is not None
    lib.function("int f(int x)", name="g")
    assert lib.g(2) == 2


def test_threads_that_use_a_declared_function_first_get_the_same_one():
    """Each may compile it; what one of them has compiled is not taken apart by another."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(100):
            lib = cwrapjit.library("c", libraries=["c"]).declare("int abs(int x); long labs(long x);")
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                found = list(pool.map(functools.partial(getattr, lib), ["abs", "labs"] * 8))
            assert len({id(each) for each in found}) == 2
            gc.collect()
            assert [each(-3) for each in found] == [3] * 16
    finally:
        sys.setswitchinterval(interval)


# ---- cost ----------------------------------------------------------------------------------------


def test_importing_cwrapjit_does_not_import_the_parser():
    code = """
        import sys, cwrapjit
        assert not any(name.startswith(("pycparser", "cwrapjit.library")) for name in sys.modules)
        lib = cwrapjit.library("m", libraries=["m"])
        assert lib.function("double cos(double x)")(0.0) == 1.0
        print("fine")
    """
    assert "fine" in python(textwrap.dedent(code)).stdout


class Struck(Exception):
    """What a handler of signals raises."""


@pytest.mark.row("G07")
def test_an_exception_that_strikes_inside_the_parser_is_itself() -> None:
    """A signal may come at any moment: what its handler raises says nothing about the text."""

    def strike(frame: Any, event: str, _argument: Any) -> None:
        if frame.f_globals.get("__name__") == "pycparser.c_parser" and frame.f_code.co_name != "__init__":
            raise Struck

    lib = cwrapjit.library("m", libraries=["m"])
    lib.function("double cos(double x)")  # pycparser is imported
    before = sys.getprofile()
    sys.setprofile(strike)
    try:
        with pytest.raises(Struck):
            lib.function("double sin(double x)")
    finally:
        sys.setprofile(before)
    assert lib.function("double sin(double x)")(0.0) == 0.0


POINTS = """
typedef struct point { double x, y; } point;
typedef struct stack stack;
struct size { int n; };
double norm1(const point *p);
point *moved(point *p, double by);
point middle(point a, point b);
int both(const point *p, stack *s);
stack *stack_new(void);
void stack_free(stack *s);
int stack_depth(const stack *s);
int size(struct size s);
"""
POINTS_CODE = """
#include <stdlib.h>
typedef struct point { double x, y; } point;
typedef struct stack { int depth; } stack;
struct size { int n; };
double norm1(const point *p) { return p->x + p->y; }
point *moved(point *p, double by) { p->x += by; return p; }
point middle(point a, point b) { point m = {(a.x + b.x) / 2, (a.y + b.y) / 2}; return m; }
int both(const point *p, stack *s) { return p->x + s->depth; }
stack *stack_new(void) { return calloc(1, sizeof(stack)); }
void stack_free(stack *s) { free(s); }
int stack_depth(const stack *s) { return s->depth; }
int size(struct size s) { return s.n; }
"""


def test_a_class_that_comes_after_declare_describes_what_was_mapped():
    lib = from_c(POINTS_CODE)
    with pytest.raises(ValueError, match="out= names by"):
        lib.declare(POINTS, options={"moved": {"out": "by"}})
    lib.declare(POINTS, options={"stack_new": {"returns": "callee"}})
    assert lib.mapped == ["both", "middle", "moved", "norm1", "size", "stack_depth", "stack_free"]
    before = lib.point, lib.norm1
    point = lib.struct("point")
    assert before == (point, lib.norm1)
    assert lib.norm1(point(1.0, 2.0)) == 3
    middle = lib.middle(point(0.0, 2.0), point(2.0, 4.0))
    assert (middle.x, middle.y) == (1, 3)
    assert "no free=" in lib.unmapped["stack_new"]  # nothing could end what it gives away
    lib.handle("stack", free="stack_free")
    made = lib.stack_new()
    assert lib.stack_depth(made) == 0
    assert lib.both(point(3.0, 0.0), made) == 3
    lib.stack_free(made)
    lib.stack_free(made)  # each object is freed once
    with pytest.raises(ValueError):
        lib.stack_depth(made)


def test_what_waits_displaces_nothing_that_was_made_since():
    lib = from_c(POINTS_CODE)
    lib.declare(POINTS)
    size = lib.struct("struct size { int n; }")
    assert lib.size is size  # and not the function of the same name
    point = lib.struct("struct point")
    mine = lib.function("double norm1(const point *p)", doc="mine")
    assert lib.norm1 is mine
    lib.struct("struct point", name="other")
    assert lib.norm1 is mine
    assert lib.moved(lib.other(1.0, 1.0), 2.0).x == 3
    assert lib.point is point


def test_a_function_of_header_alone_says_so():
    lib = from_c(TEXT, header="double add(double a, double b);")
    with pytest.raises(AttributeError, match="of header= only types, enums and macros are used"):
        _ = lib.add
    assert not hasattr(lib, "subtract")


CONSTANTS = [
    "1<<31", "(1<<31)>>3", "(1<<31)/2", "(1<<31)-1", "(1<<31)|1", "(1<<30)*2-1", "2147483647*2",
    "-2147483647-1", "~0", "-7/2", "-7%2", "0x80000000", "-0x80000000", "~0xFFFFFFFF", "0xFFFFFFFF&~1",
    "1L<<40", "1u<<31", "0xFFFFFFFFu+1", "0u-1", "-1U", "0777", "'a'", "'\\377'", "(1<<31)<0",
]  # fmt: skip
FLOATS = ["0.1f", "1.5f", "-3.3F", "0.1", "1e39f", "16777217.0f"]


def test_constants_have_the_values_that_c_gives_them():
    wanted = from_c(
        "".join(f"long long i{k}(void) {{ return {each}; }}\n" for k, each in enumerate(CONSTANTS))
        + "".join(f"double f{k}(void) {{ return {each}; }}\n" for k, each in enumerate(FLOATS))
    )
    lib = from_c(TEXT)
    lib.declare("".join(f"#define I{k} ({each})\n" for k, each in enumerate(CONSTANTS)))
    lib.declare("".join(f"#define F{k} {each}\n" for k, each in enumerate(FLOATS)))
    for k, each in enumerate(CONSTANTS):
        assert (each, getattr(lib, f"I{k}")) == (each, wanted.function(f"long long i{k}(void)")())
    for k, each in enumerate(FLOATS):
        assert (each, getattr(lib, f"F{k}")) == (each, wanted.function(f"double f{k}(void)")())
    lib.declare("enum { HIGH = 1 << 31, SHIFTED = (1 << 31) >> 3, LOW = HIGH - 1, HEX = 0x80000000 };")
    assert (lib.HIGH, lib.SHIFTED, lib.LOW, lib.HEX) == (-(2**31), -(2**28), 2**31 - 1, 2**31)


@pytest.mark.parametrize(
    "text", ["1/0", "7%0", "1/0+3", "1<<40", "1<<-1", "18446744073709551616", "9223372036854775807+1"]
)
def test_what_c_gives_no_value_is_no_constant(text):
    lib = from_c(TEXT)
    lib.declare(f"#define NUMBER ({text})\n")
    assert not hasattr(lib, "NUMBER")


@pytest.mark.parametrize(
    "condition",
    ["~0U > 0xffffU", "-1 > 0u", "1u - 2 > 0", "0xffffffffffffffff == ~0u", "-1 / 2u > 5", "!0u - 2 < 0",
     "-1 >> 1u < 0", "~0 < 0xffff", "(0u - 1) >> 63 == 1", "(1 ? -1 : 0u) > 0", "(0 ? 0u : -1) > 0",
     "(1 ? -1 : 0) < 0"],
)  # fmt: skip
def test_unsigned_numbers_in_conditions(condition: str) -> None:
    """As a compiler computes them: one unsigned number makes the other so."""
    lib = cwrapjit.library("l", sources=[]).declare(f"#if {condition}\ndouble sqrt(double x);\n#endif")
    assert lib.sqrt(4.0) == 2


@pytest.mark.quick
def test_conditions_are_computed_in_64_bits():
    lib = from_c(TEXT)
    lib.declare("#if (1 << 40) > 0 && (1 || 1 / 0)\ndouble add(double a, double b);\n#endif\n")
    assert lib.mapped == ["add"]


def test_attributes_are_found_quickly_and_follow_what_is_declared():
    """Python finds in the library's dict what was looked up once, until something is declared."""
    lib = from_c("int counter = 3; int one(void) { return 1; } double half(double x) { return x / 2; }")
    lib.declare("extern int counter; int one(void); double half(double x);\n#define SIZE 5\nenum { A = 7 };")
    first = lib.half  # which maps it, and with it perhaps others
    assert lib.half is first and vars(lib)["half"] is first
    assert lib.SIZE == lib.SIZE == 5 and lib.A == lib.A == 7 and {"SIZE", "A"} <= vars(lib).keys()
    assert lib.counter == 3 and "counter" not in vars(lib), "a variable is read each time"
    lib.counter = 4
    assert lib.counter == 4
    lib.function("double half(double x)", broadcast=True)
    assert "SIZE" not in vars(lib) and lib.half is not first and lib.half([2.0]).tolist() == [1]
    lib.declare("#define SIZE 6")
    assert lib.SIZE == 6
    assert lib.one() == 1
    lib.refine("one", discard="return")
    assert lib.one() is None
    lib.declare("#define one_more one\nint one_more(void);")
    with pytest.raises(AttributeError):
        lib.two  # noqa: B018
    assert "two" not in vars(lib)
    assert sorted(set(dir(lib))) == dir(lib)


@pytest.mark.row("L01")
def test_functions_whose_type_is_a_typedef() -> None:
    """As the headers of the package declare libm's, which machines without headers of their own get."""
    lib = cwrapjit.library("m", libraries=["m"])
    lib.declare("typedef double one(double), two(double x, double y); one cbrt, floor; two nextafter;")
    assert lib.floor(2.5) == 2.0 and lib.nextafter(1.0, y=2.0) == 1.0000000000000002
    assert sorted(lib.mapped) == ["cbrt", "floor", "nextafter"] and not lib.unmapped
    lib = cwrapjit.library("m", libraries=["m"]).declare("typedef void none(void); none no_such_thing;")
    assert "no symbol" in lib.unmapped["no_such_thing"]
    lib = cwrapjit.library("m", libraries=["m"])
    lib.declare("typedef double one(double); one cbrt __attribute__((ms_abi)), floor;")
    assert "attribute" in lib.unmapped["cbrt"]
