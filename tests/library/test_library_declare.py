"""Tests declare() of whole texts, functions without a mapping and the reasons, and invalid declarations."""

from __future__ import annotations

import concurrent.futures
import functools
import gc
import inspect
import sys
import textwrap
from typing import Any

import numpy as np
import pytest
from helpers import python, refuses
from library_tools import declared, from_c

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


UNSIGNED = {
    8: "uint8_t, unsigned char, uint_least8_t, uint_fast8_t",
    16: "uint16_t, unsigned short, short unsigned int, uint_least16_t",
    32: "uint32_t, unsigned, unsigned int, uint_least32_t",
    64: "uint64_t, unsigned long, long unsigned int, unsigned long long, uint_least64_t, uint_fast16_t,"
    "uint_fast32_t, uint_fast64_t, uintmax_t, uintptr_t, size_t",
}


@pytest.mark.quick
def test_numbers_are_as_wide_as_those_of_c() -> None:
    for bits, names in UNSIGNED.items():
        for name in names.split(","):
            f = from_c(f"{name} f({name} x) {{ return x; }}").function(f"{name} f({name} x)")
            assert f(2**bits - 1) == 2**bits - 1, name
            refuses(OverflowError, lambda f=f: f(-1), "argument x")


@pytest.mark.quick
def test_declarations_that_differ_in_a_const_differ() -> None:
    lib = from_c("").declare("struct p { const double *x; };").declare("struct p { const double *x; };")
    assert not lib.unmapped
    lib.declare("struct p { double *x; };")
    assert "struct p is known with other members" in str(lib.unmapped)


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
    lib = from_c(
        TEXT
        + """
        #include <stdarg.h>
        typedef int (*any)(int count, ...);
        static any kept;
        any again(any f) { any old = kept; kept = f; return old; }
        int both(void) { return kept(2, 30, 12); }
        """
    )
    lib.declare("typedef int (*any)(int count, ...); any again(any f); int both(void);")
    refuses(TypeError, lambda: lib.again(print), "argument f", "variable number of arguments", "C text")
    text = "va_list l; va_start(l, count); int a = va_arg(l, int); a += va_arg(l, int); va_end(l); return a;"
    assert lib.again("#include <stdarg.h>\n" + text) is None
    assert lib.both() == 42
    old = lib.again(None)
    assert lib.again(old) is None and lib.both() == 42
    refuses(TypeError, lambda: old(1), "variable number of arguments")
    lib.function("int apply(int (*f)(int), int x)", name="plain")
    refuses(TypeError, lambda: lib.plain(old, 1), "argument f", "Pointer to int (*)(int count, ...)")


@pytest.mark.row("P19i")
def test_an_unsafe_pointer_takes_an_aligned_array_unchecked():
    lib = from_c(TEXT)
    f = lib.function("double sum(int n, const double *x)")
    refuses(TypeError, lambda: f(3, np.ones(3)), "nothing says how long")
    f = lib.function("double sum(int n, const double *x)", unsafe=True)
    assert f(3, np.arange(6.0).reshape(2, 3)) == 3
    refuses(TypeError, lambda: f(3, np.arange(3)), "float64")
    refuses(TypeError, lambda: f(3, [1.0, 2.0, 3.0]), "got list")
    raw = np.zeros(8 * 4 + 1, np.uint8)[1:].view(np.float64)
    refuses(ValueError, lambda: f(3, raw), "not aligned")
    lib.declare("double sum(int n, const double *x);", unsafe=True)
    assert lib.sum(2, np.ones(2)) == 2


@pytest.mark.quick
@pytest.mark.row("P19i")
def test_leading_dimensions_are_strides_in_elements():
    text = """double corner(int m, int n, const double *A, int lda) { return A[(m - 1) * lda + n - 1]; }
    double corner_f(int m, int n, const double *A, int lda) { return A[(n - 1) * lda + m - 1]; }"""
    lib = from_c(text)
    declared = "double {}(int m, int n, const double A[m][n], int lda)"
    f = lib.function(declared.format("corner"), strides={"lda": ("A", 0)})
    a = np.arange(60.0).reshape(6, 10)
    for view in a, a[:3, :4], a[::2, 2:5], a[1:, :1]:
        assert f(view) == view[-1, -1]
    refuses(ValueError, lambda: f(a[:, ::2]), "argument A is not contiguous")
    rows = np.lib.stride_tricks.as_strided(a, (3, 4), (8, 8))
    refuses(ValueError, lambda: f(rows), "argument A", "overlap")
    g = lib.function(declared.format("corner_f"), strides={"lda": ("A", 1)}, order="F")
    assert g(a.T) == a[-1, -1]
    assert g(a.T[2:5, ::2]) == a.T[2:5, ::2][-1, -1]


@pytest.mark.row("S05")
def test_comments_of_texts_and_headers_are_in_docstrings(tmp_path):
    lib = from_c(
        "double one(double x) { return x; } int two(void) { return 2; } int three(void) { return 3; }"
    )
    header = tmp_path / "two.h"
    header.write_text("#pragma once\n/** Gives\n *  two.\n */\nextern int\ntwo(void);\n", encoding="latin-1")
    lib.declare(
        f'/* One more. */\ndouble one(double x);\n/* Of what? */\n\nint three(void);\n#include "{header}"'
    )
    assert lib.one.__doc__ == "double one(double x)\n\nOne more."
    assert lib.two.__doc__ == "int two(void)\n\nGives\ntwo."
    assert lib.three.__doc__ == "int three(void)"
    f = lib.function("// Broadcasts.\ndouble one(double x)", broadcast=True)
    assert f.__doc__ == "double one(double x)\n\nBroadcasts."
    assert str(inspect.signature(f)) == "(x: double, out=None) -> double"
    assert lib.function("/* Mine? */ int two(void)", doc="Mine.").__doc__ == "Mine."


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


# ---- invalid declarations ------------------------------------------------------------------------


# ---- cost ----------------------------------------------------------------------------------------


def test_importing_cwrapjit_does_not_import_the_parsers():
    code = """
        import sys, cwrapjit
        assert not any(name.startswith(("pycparser", "cwrapjit.library")) for name in sys.modules)
        lib = cwrapjit.library("m", libraries=["m"])
        assert not any("fortran" in name for name in sys.modules)
        assert lib.function("double cos(double x)")(0.0) == 1.0
    """
    python(textwrap.dedent(code))


class Struck(Exception):
    """Raised by a signal handler."""


@pytest.mark.row("G07")
def test_an_exception_that_strikes_inside_the_parser_is_itself() -> None:
    """A signal may come at any time; its handler's exception does not concern the text."""

    def strike(frame: Any, event: str, _argument: Any) -> None:
        if frame.f_globals.get("__name__") == "pycparser.c_parser" and frame.f_code.co_name != "__init__":
            raise Struck

    lib = cwrapjit.library("m", libraries=["m"])
    lib.function("double cos(double x)")  # imports pycparser
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
    refuses(ValueError, lambda: lib.declare(POINTS, options={"moved": {"out": "by"}}), "out= names by")
    lib.declare(POINTS, options={"stack_new": {"returns": "callee"}})
    assert lib.mapped == ["both", "middle", "moved", "norm1", "size", "stack_depth", "stack_free"]
    before = lib.point, lib.norm1
    point = lib.struct("point")
    assert before == (point, lib.norm1)
    assert lib.norm1(point(1.0, 2.0)) == 3
    middle = lib.middle(point(0.0, 2.0), point(2.0, 4.0))
    assert (middle.x, middle.y) == (1, 3)
    assert "no free=" in lib.unmapped["stack_new"]  # its result could not be freed
    lib.handle("stack", free="stack_free")
    made = lib.stack_new()
    assert lib.stack_depth(made) == 0
    assert lib.both(point(3.0, 0.0), made) == 3
    lib.stack_free(made)
    lib.stack_free(made)  # frees each object once
    with pytest.raises(ValueError):
        lib.stack_depth(made)


def test_what_waits_displaces_nothing_that_was_made_since():
    lib = from_c(POINTS_CODE)
    lib.declare(POINTS)
    size = lib.struct("struct size { int n; }")
    assert lib.size is size  # the struct displaces the function of this name
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
    "-1 > 0u ? 5 : 3", "(0u - 1) / 2", "5000000000u / 1000000000u", "(1 ? -1 : 0u) > 0",
    "3000000000 - 4000000000u", "~0u >> 4", "-7u / 2", "1ull << 40", "'a' - 98u", "-1L < 0u", "-1L < 0ul",
    "0 ? 1 : -8 / 3u", "07777777777777l & ~7u",
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
    enums = ", ".join(f"E{k} = {each}" for k, each in enumerate(CONSTANTS))
    lib.declare(f"enum {{ {enums} }};")
    for k, each in enumerate(CONSTANTS):
        assert (each, getattr(lib, f"E{k}")) == (each, getattr(lib, f"I{k}"))
    lib.declare("enum { HIGH = 1 << 31, SHIFTED = (1 << 31) >> 3, LOW = HIGH - 1, HEX = 0x80000000 };")
    assert (lib.HIGH, lib.SHIFTED, lib.LOW, lib.HEX) == (-(2**31), -(2**28), 2**31 - 1, 2**31)


@pytest.mark.quick
def test_lengths_are_what_constants_are_to_c() -> None:
    """The types of literals matter: -1 > 0u is true."""
    lengths = {
        "5000000000u / 1000000000u": 5, "-1 > 0u ? 5 : 3": 5, "(0u - 1) / 1000000000": 4, "1 << 2 | 1": 5,
        "SIZE / 2u": 3, "(unsigned char)260": 4, "07 & ~3u": 4, "0x100000002 >> 32 << 1": 2,
        "!0 + 'a' - 96": 2,
    }  # fmt: skip
    for text, length in lengths.items():
        lib = cwrapjit.library(
            "t",
            source=f"enum {{ SIZE = 7 }}; struct s {{ signed char a[{text}], b; }};\n"
            f"int last(const int x[{text}], int by) {{ return x[({text}) - 1] * by; }}\n"
            f"int size(void) {{ return sizeof(struct s); }}",
        )
        x = np.arange(2 * length, dtype="i4").reshape(2, length)
        assert lib.last(x, 2).tolist() == (2 * x[:, -1]).tolist(), text
        assert lib.size() == length + 1 == len(lib.struct("struct s")().a) + 1, text
        plain = from_c("int first(const int *x) { return *x; }")
        first = plain.function(f"int first(const int x[{text.replace('SIZE', '7')}])")
        assert first(x[0].copy()) == 0, text
        refuses(ValueError, lambda first=first, x=x: first(x[0, 1:].copy()), f"must be {length}")


def test_lengths_are_not_negative() -> None:
    """C computes the length, and the error shows its place."""
    lib = from_c("int first(const int *x) { return *x; }")
    define = [lambda text: lib.function(text), cwrapjit.vectorize]
    for made, end in zip(define, (";", "{ return 0; }"), strict=True):
        call = functools.partial(made, f"int first(const int x[2 - 3]){end}")
        error = refuses(cwrapjit.CompileError, call, "first(): the length 2 - 3 is negative")
        assert (error.lineno, error.offset) == (1, 23)


def test_wide_strings_and_those_of_utf_8_are_constants() -> None:
    lib = from_c(TEXT)
    lib.declare(
        '#define WIDE L"w\\x1F600\\u00e9"\n#define BYTES u8"\\xc3\\xa9"\n#define BOTH "a" L"b\\n"\n'
        '#define SHORT u"\\U0001F600"\n#define OF_C "\\303\\251\\0tail"\n#define HALF "\\xff"\n'
        '#define CHARACTER L\'x\'\n#define POINTER ((const char *)"x")\n#define NONE L"\\xFFFFFFFF"'
    )
    assert (lib.WIDE, lib.BYTES, lib.BOTH, lib.SHORT) == ("w\U0001f600\xe9", "\xe9", "ab\n", "\U0001f600")
    assert (lib.OF_C, lib.HALF, lib.CHARACTER, lib.POINTER) == ("\xe9\0tail", "\udcff", 120, "x")
    assert type(lib.NONE) is cwrapjit.Pointer, "what Python has no character for"


def test_what_c_gives_no_value_is_no_constant():
    lib = from_c(TEXT)
    texts = ["1/0", "7%0", "1/0+3", "1<<40", "1<<-1", "18446744073709551616", "9223372036854775807+1"]
    lib.declare("".join(f"#define N{k} ({text})\n" for k, text in enumerate(texts)))
    assert [text for k, text in enumerate(texts) if hasattr(lib, f"N{k}")] == []


CONDITIONS = [
    "~0U > 0xffffU", "-1 > 0u", "1u - 2 > 0", "0xffffffffffffffff == ~0u", "-1 / 2u > 5", "!0u - 2 < 0",
    "-1 >> 1u < 0", "~0 < 0xffff", "(0u - 1) >> 63 == 1", "(1 ? -1 : 0u) > 0", "(0 ? 0u : -1) > 0",
    "(1 ? -1 : 0) < 0", "(1 << 40) > 0 && (1 || 1 / 0)",
]  # fmt: skip


@pytest.mark.quick
def test_conditions_are_computed_as_a_compiler_does() -> None:
    """Conditions have 64 bits; if one operand is unsigned, so is the result."""
    texts = [f"#if {each}\n#define N{k} 1\n#endif\n" for k, each in enumerate(CONDITIONS)]
    lib = cwrapjit.library("l", sources=[]).declare("".join(texts))
    assert [each for k, each in enumerate(CONDITIONS) if not hasattr(lib, f"N{k}")] == []


def test_attributes_are_found_quickly_and_follow_what_is_declared():
    """A name that was looked up is in the library's dict until something is declared."""
    lib = from_c("int counter = 3; int one(void) { return 1; } double half(double x) { return x / 2; }")
    lib.declare("extern int counter; int one(void); double half(double x);\n#define SIZE 5\nenum { A = 7 };")
    first = lib.half  # maps it, and perhaps others
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
    """The package's headers, for machines without their own, declare libm like this."""
    lib = cwrapjit.library("m", libraries=["m"])
    lib.declare("typedef double one(double), two(double x, double y); one cbrt, floor; two nextafter;")
    assert lib.floor(2.5) == 2.0 and lib.nextafter(1.0, y=2.0) == 1.0000000000000002
    assert sorted(lib.mapped) == ["cbrt", "floor", "nextafter"] and not lib.unmapped
    lib = cwrapjit.library("m", libraries=["m"]).declare("typedef void none(void); none no_such_thing;")
    assert "no symbol" in lib.unmapped["no_such_thing"]
    lib = cwrapjit.library("m", libraries=["m"])
    lib.declare("typedef double one(double); one cbrt __attribute__((ms_abi)), floor;")
    assert "attribute" in lib.unmapped["cbrt"]


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Returns a list that collects the texts that are parsed."""
    from cwrapjit.library.declarations import Declarations

    seen: list[str] = []
    tree = Declarations._tree

    def noting(self: Any, parser: Any, plain: str, *rest: Any) -> Any:
        seen.append(plain)
        return tree(self, parser, plain, *rest)

    monkeypatch.setattr(Declarations, "_tree", noting)
    return seen


CODE = """
typedef struct pair { double a, b; } pair;
enum kind { SMALL = 3, LARGE = 5 };
int limit = 7;
const char version[] = "2.5";
double sum(const pair *p) { return p->a + p->b; }
int twice(int x) { return 2 * x; }
int same_as(enum kind k) { return k; }
"""
HEADER = """
typedef struct pair { double a, b; } pair;
typedef pair other;
enum kind { SMALL = 3, LARGE = 5 };
#define MOST (LARGE + 1)
#define NAME "pairs"
#define doubled twice
#define bound limit
extern int limit;
extern const char version[];
double sum(const other *p);
int twice(int x), absent(int x);
int same_as(enum kind k);
int faulty(no_such_type x);
"""


@pytest.mark.row("L03")
def test_nothing_is_parsed_before_it_is_used(parsed: list[str]) -> None:
    lib = from_c(CODE)
    parsed.clear()
    lib.declare(HEADER)
    assert not any("sum" in each or "twice" in each or "pair" in each for each in parsed)
    assert "declared and not used yet" in repr(lib)
    assert lib.twice(4) == 8
    assert any("twice" in each for each in parsed)
    assert not any("sum" in each or "pair" in each for each in parsed)
    assert lib.sum(lib.pair(1.0, 2.0)) == 3.0
    assert any("struct pair" in each for each in parsed)


@pytest.mark.row("L03")
def test_all_names_are_listed_and_forced() -> None:
    lib = from_c(CODE).declare(HEADER)
    assert {"sum", "twice", "same_as", "limit", "version", "SMALL", "LARGE", "MOST", "NAME", "pair"} <= {
        *dir(lib)
    }
    assert {"doubled", "bound"} <= {*dir(lib)}
    assert lib.mapped == ["same_as", "sum", "twice"]
    assert "no symbol absent" in lib.unmapped["absent"]
    assert "no_such_type is not a known type" in lib.unmapped["faulty"]
    assert set(lib.unmapped) == {"absent", "faulty"}
    refuses(AttributeError, lambda: lib.faulty, "no_such_type")
    assert "declared and not used yet" not in repr(lib)


@pytest.mark.row("L01")
def test_constants_macros_and_other_names() -> None:
    lib = from_c(CODE).declare(HEADER)
    assert (lib.SMALL, lib.MOST, lib.NAME, lib.version) == (3, 6, "pairs", "2.5")
    assert lib.doubled is lib.twice and lib.doubled(5) == 10
    assert lib.bound == 7
    lib.limit = 9
    assert lib.bound == 9
    with pytest.raises(AttributeError):
        lib.no_such_name  # noqa: B018


@pytest.mark.row("L03")
@pytest.mark.parametrize("before", [True, False])
def test_what_is_said_before_or_after_counts(before: bool) -> None:
    lib = from_c(CODE)
    if before:
        lib.declare("typedef struct pair { double a, b; } pair;")
        lib.refine("t*", doc="other")
    else:
        lib.declare(HEADER)
        lib.struct("pair", methods=["double sum(const pair *p)"])
        lib.function("double sum(const pair *p)", name="total")
        assert lib.pair(1.0, 2.0).sum() == 3.0 and lib.total(lib.pair(2.0, 2.0)) == 4.0
    lib.refine("twice", doc="2 x")
    lib.function("int twice(int number)")
    if before:
        lib.declare(HEADER)
    assert lib.twice(number=3) == 6  # function() still decides
    assert "2 x" in lib.twice.__doc__
    assert lib.sum(lib.pair(1.0, 2.0)) == 3.0


def test_a_type_that_changes_does_so_for_later_declarations_alone() -> None:
    lib = from_c("int wide(long x) { return x == 1L << 40; } int narrow(int x) { return x; }")
    lib.declare("#define SIZE 3\ntypedef long number; int wide(number x);")
    lib.declare("typedef int number; int narrow(number x);")
    assert lib.wide(1 << 40) == 1
    refuses(OverflowError, lambda: lib.narrow(1 << 40), "narrow")


def test_types_may_need_each_other() -> None:
    lib = from_c(
        "struct node { int value; struct list *in; }; struct list { struct node *first; int n; };"
        "int count(struct list *l) { return l->n; } int value(struct node *n) { return n->value; }"
    )
    lib.declare(
        "typedef struct list *list_ptr; typedef struct node *node_ptr;"
        "struct node { int value; list_ptr in; int (*visit)(node_ptr n, list_ptr l); };"
        "struct list { node_ptr first; int n; }; int count(list_ptr l); int value(node_ptr n);"
    )
    assert lib.mapped == ["count", "value"] and lib.unmapped == {}
    assert lib.list(n=4).n == 4


@pytest.mark.row("L03")
def test_threads_that_use_names_first_get_the_same() -> None:
    """Threads may compile a function at the same time, but all get one object."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(10):
            lib = from_c(CODE).declare(HEADER)
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                names = ["twice", "sum", "same_as", "limit", "doubled"] * 8
                found = list(pool.map(functools.partial(getattr, lib), names))
            assert len({id(each) for each in found}) == 4  # "doubled" is an alias of "twice"
            gc.collect()
            assert [f(3) for f in found[::5]] == [6] * 8
    finally:
        sys.setswitchinterval(interval)


@pytest.mark.row("L02")
@pytest.mark.parametrize(
    "compiler", [pytest.param("found", marks=pytest.mark.compiler("it reads the headers")), "none"]
)
@pytest.mark.parametrize(
    ("header", "name", "count", "constant", "value"),
    [("zlib.h", "z", 79, "Z_BEST_COMPRESSION", 9), ("fitsio.h", "cfitsio", 600, "DOUBLE_IMG", -64)],
)
def test_real_headers_with_and_without_a_compiler(
    compiler: str, header: str, name: str, count: int, constant: str, value: int
) -> None:
    if compiler == "none":
        cwrapjit.config.compiler = "none"
    lib = declared(header, name)
    assert ("C compiler" in repr(lib)) == (compiler == "found")
    assert len(dir(lib)) > count
    assert getattr(lib, constant) == value
    assert not {"printf", "malloc", "FILE", "size_t", "abs"} & {*dir(lib)}
    assert len(lib.mapped) >= count


@pytest.mark.row("L03")
def test_a_header_of_thousands_of_functions(parsed: list[str]) -> None:
    lib = declared("lapacke.h", "lapacke")
    assert sum(each.count("(") for each in parsed) < 100  # none of the 3,820 declarations is parsed
    assert len([each for each in dir(lib) if each.startswith("LAPACKE_")]) > 2400
    x = np.array([3.0, 1.0, 2.0])
    lib.refine("LAPACKE_dlasrt", dims={"d": "n"}, check=ValueError)
    lib.LAPACKE_dlasrt(ord("I"), x)
    assert x.tolist() == [1.0, 2.0, 3.0]
    assert sum(each.count("(") for each in parsed) < 100


@pytest.mark.parametrize("continued", ["\\\n", "\\\r\n"], ids=["\\n", "\\r\\n"])
def test_a_line_may_be_continued_anywhere(continued: str) -> None:
    """C joins lines first, so this holds within a word, a number, an operator or a comment, too."""
    text = """#define TWICE 24 // }
typedef struct point { double xy; int b[12]; } point; /* { */
enum { HALF = 1 << 2 };
double f(point *p, double beta) { return p->xy + beta; }
"""
    for at in range(len(text)):
        lib = cwrapjit.library("lib", source=text[:at] + continued + text[at:])
        point = lib.point(xy=2.0)
        assert (lib.f(p=point, beta=1.0), lib.TWICE, lib.HALF, len(point.b)) == (3.0, 24, 4, 12), text[:at]


def test_faults_are_in_the_line_that_continues_another() -> None:
    lib = cwrapjit.library("lib", source="int unused;")
    lib.declare("int x;\ndou\\\nble co\\\ns(dou\\\nble x, unkn\\\nown y);\nint z;")
    refuses(AttributeError, lambda: lib.cos, "unknown is not a known type", "line 5")
