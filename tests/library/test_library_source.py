"""Tests library(source=): it maps every function of a C text that is not static, as the text declares it."""

from __future__ import annotations

import ctypes
import gc
import inspect
import re
import threading
import warnings
import weakref
from typing import Any

import numpy as np
import pytest
from helpers import compiler, meeting, refuses
from hypothesis import given, settings
from hypothesis import strategies as st

import cwrapjit

SMOOTH = """
void smooth(OUT double y[n], const double x[n], int n)
{
    for (int i = 0; i < n; i++)
        y[i] = (x[i > 0 ? i - 1 : 0] + x[i] + x[i < n - 1 ? i + 1 : n - 1]) / 3;
}
"""
BLUR = np.array([[1, 4, 1, 0], [2, 2, 8, 5.0]])


def library(text: str, **options: Any) -> Any:
    return cwrapjit.library("t", source=text, **options)


def smoothed(x: np.ndarray) -> np.ndarray:
    wide = np.concatenate([x[..., :1], x, x[..., -1:]], axis=-1)
    return (wide[..., :-2] + wide[..., 1:-1] + wide[..., 2:]) / 3


@pytest.mark.quick
@pytest.mark.parametrize(
    "word, meaning", [("bool", "int"), ("_Bool", "long"), ("float", "double"), ("int", "long")]
)
def test_words_of_types_that_are_macros(word: str, meaning: str, tmp_path: Any) -> None:
    """The words have C's meaning, in the text and in an included file."""
    macro = f"#undef {word}\n#define {word} {meaning}"
    (tmp_path / "own.h").write_text(f"{macro}\n")
    for front in (macro, '#include "own.h"', "#include <own.h>"):
        lib = library(f"{front}\n{word} f({word} x) {{ return x; }}", include_dirs=[tmp_path])
        assert lib.f(np.array([0, 3, 300])).tolist() == [0, 3, 300] if meaning == "long" else lib.f(3) == 3
        assert lib.f.types == (
            " -> ".join([{"int": "int32", "long": "int64", "double": "float64"}[meaning]] * 2),
        )


@pytest.mark.parametrize("name", ['a"b', "a\\b", "a\nb", "\0", "\udc80"])
def test_names_that_c_reads_otherwise_are_refused(name: str) -> None:
    for options in ({"source": "int f(int x) { return x; }"}, {"libraries": ["m"]}, {"sources": "none.c"}):
        refuses(
            ValueError, lambda options=options: cwrapjit.library(name, **options), "name must have neither"
        )


def test_names_of_libraries_in_messages() -> None:
    text, name = "\nint f(int x) { return y; }", "ä 'b' <c> %s"
    error = refuses(cwrapjit.CompileError, lambda: cwrapjit.library(name, source=text), "undeclared")
    assert (error.filename, error.lineno, error.text) == (f"<cwrapjit {name} source>", 2, text[1:])


# ---- which functions are mapped -----------------------------------------------------------------------


def test_arrays_of_structs_broadcast_and_single_ones_are_instances() -> None:
    lib = library(
        """
        typedef struct { long n, d; } ratio;
        static long calls;  // the text is compiled once
        long total(const ratio x[n], long n) { long sum = 0; while (n > 0) sum += x[--n].n; return sum; }
        void turned(const ratio x[n], int n, OUT ratio y[n])
        {
            calls++;
            for(int i = 0; i < n; i++)
                y[i] = (ratio){x[i].d, x[i].n};
        }
        void scale(INOUT ratio x[n], int n, long by) { while(n-- > 0) x[n].n *= by; }
        ratio half(ratio x) { x.d *= 2; return x; }
        """
    )
    x = np.ones((2, 3), lib.ratio)
    x["n"] = np.arange(6).reshape(2, 3)
    assert lib.total(x).tolist() == [3, 12] and lib.total(x[0]) == 3
    turned = lib.turned(x)
    assert turned.dtype == x.dtype and (turned["d"] == x["n"]).all() and (turned["n"] == 1).all()
    assert lib.scale(x, 10) is None and x["n"].tolist() == [[0, 10, 20], [30, 40, 50]]
    refuses(TypeError, lambda: lib.total(np.ones(3, [("n", "i8")])), "no type set fits: 'x'")
    assert lib.half(lib.ratio(3, 4)).d == 8


PACKED = "__attribute__((packed))"
LAYOUTS = [
    f"struct s {{ char a; int b; double c; }} {PACKED};",
    f"struct {PACKED} s {{ char a; int b; double c; }};",
    "struct __attribute__((__packed__, aligned(4))) s { char a; double b; short c; };",
    "struct s { char a; double b; char c; } __attribute__((aligned(16), packed));",
    "#pragma pack(push, 1)\nstruct s { char a; double b; int c; };\n#pragma pack(pop)",
    "#pragma pack(push, 4)\nenum e { X };\nstruct s { char a; double b; enum e c; };\n#pragma pack(pop)",
    "#pragma pack(2)\nstruct s { char a; double b; struct { char d; long e; } c; };\n#pragma pack()",
    "struct s { char a; _Alignas(16) int b; char c; };",
    "struct s { char a; int b __attribute__((aligned(16))); char c; };",
    "struct s { char a; __attribute__((aligned(8))) short b[3]; char c; };",
    f"struct in {{ char x; double y; }} {PACKED};\nstruct s {{ char a; struct in b[2]; int c; }};",
    f"struct in {{ char x; double y; }};\nstruct s {{ char a; struct in b; int c; }} {PACKED};",
    f"struct s {{ char a; struct {{ char q; int r; }} {PACKED} b; int c; }};",
    "struct s { char a, b, c; } __attribute__((aligned(16)));",
    f"#define PACKED {PACKED}\nstruct PACKED s {{ char a; int b; long c; }};",
    f"enum __attribute__((unused)) e {{ X }}; struct s {{ char a; enum e b; short c; }} {PACKED};",
    f"typedef struct {PACKED} t {{ char a; int b; long c; }} t;\n#define s t",
]


@pytest.mark.compiler("passes structs with a layout of their own by value")
@pytest.mark.parametrize("text", LAYOUTS)
def test_packed_and_aligned_structs(text: str) -> None:
    """The structs are passed in arrays, as instances, by value, and in vectorize()."""
    offset = "long at_%s(void) { return __builtin_offsetof(struct s, %s); }\n"
    same = "void same(const struct s x[n], int n, OUT struct s y[n]) { while(n-- > 0) y[n] = x[n]; }\n"
    text += "\n" + "".join(offset % (each, each) for each in "abc") + same
    lib = library(
        f"{text}long size(void) {{ return sizeof(struct s); }}\n"
        "struct s by_value(struct s x) { x.a++; return x; }\n"
    )
    made = lib.struct("struct t" if "define s t" in text else "struct s")
    dtype = made.dtype
    assert dtype.itemsize == lib.size()
    assert [dtype.fields[each][1] for each in "abc"] == [lib.at_a(), lib.at_b(), lib.at_c()]
    memory = np.arange(1, 33 + 3 * dtype.itemsize, dtype=np.uint8)
    x = memory[-memory.ctypes.data % 16 :][: 3 * dtype.itemsize].view(dtype)
    for each in (lib.same(x), cwrapjit.vectorize(text.replace("long at", "static long at"))(x)):
        assert all((each[name] == x[name]).all() for name in "abc")
        assert each.dtype == dtype
    if "align" in text.lower() or "pack(push, 4)" in text or "pack(2)" in text:
        odd = memory[1 - memory.ctypes.data % 16 :][: 3 * dtype.itemsize].view(dtype)
        refuses(ValueError, lambda: lib.same(odd), "must be aligned to")
        refuses(
            TypeError, lambda: lib.function("void same(const struct s x[n], int n, struct s y[n])"), "aligned"
        )
    one = made()
    one.a = "\x05"
    assert lib.by_value(one).a == "\x06" and one.a == "\x05"


@pytest.mark.row("K14")
def test_every_function_that_is_not_static() -> None:
    lib = library(
        """
        #include <math.h>
        #define TWICE(name, type) type name(type x) { return 2 * x; }
        static double square(double x) { return x * x; }
        double hyp(double x, double y) { return sqrt(square(x) + square(y)); }
        double elsewhere(double x);  // a prototype is nothing that could be called
        TWICE(twice, double)
        TWICE(twice_int, int)
        int answer(void) { return 42; }
        """
    )
    assert lib.mapped == ["answer", "hyp", "twice", "twice_int"] and lib.unmapped == {}
    assert lib.hyp(3, [4.0, 0.0]).tolist() == [5, 3]
    assert lib.twice(np.arange(3)).tolist() == [0, 2, 4] and lib.twice_int(4) == 8
    assert lib.answer() == 42
    assert {"hyp", "answer"} <= set(dir(lib)) and "square" not in dir(lib)
    refuses(AttributeError, lambda: lib.square, "square")
    assert lib.hyp.__doc__ == "double hyp(double x, double y)"


@pytest.mark.row("S05")
def test_comments_are_in_docstrings() -> None:
    lib = library(
        """
        /* Twice as much. */
        double twice(double x) { return 2 * x; }
        double thrice(double x) {
            // twice, and once more
            return twice(x) + x;
        }
        // Letters.
        int letters(const char *text) { int n = 0; while (text[n]) n++; return n; }
        """
    )
    assert lib.twice.__doc__ == "double twice(double x)\n\nTwice as much."
    assert lib.letters.__doc__ == "int letters(const char *text)\n\nLetters."
    assert lib.thrice.__doc__ == "double thrice(double x)"
    assert str(inspect.signature(lib.twice)) == "(x: double, out=None) -> double"
    assert lib.interface("any", [lib.letters]).__doc__ == "int letters(const char *text)"
    again = lib.refine("twice", doc="Mine.").twice
    assert again.__doc__ == "Mine." and again(2.0) == 4


@pytest.mark.row("K14")
def test_what_has_no_mapping_says_why() -> None:
    lib = library(
        "int sum(int n, ...) { return n; }\ndouble first(const double *x) { return *x; }\n"
        "double apply(double (*f)(double), double x) { return f(x); }\n"
        "struct p { double x, y; };\ndouble norm(struct p *a) { return a->x; }\n"
        "int wide(int (*many)(int, ...)) { return many != 0; }\n"
        "static double twice(double x) { return 2 * x; }\n"
        "double (*pick(int k))(double) { return k ? twice : 0; }"
    )
    assert lib.mapped == ["apply", "first", "norm", "pick", "wide"] and lib.norm(lib.p(2.0)) == 2
    assert "variable number" in lib.unmapped["sum"] and lib.first(cwrapjit.Pointer(np.ones(2))) == 1
    p = lib.struct("struct p { double x, y; };")
    assert lib.norm(p(x=3.0)) == 3
    assert lib.function("double first(const double *x)", unsafe=True)(np.arange(1.0, 3)) == 1


@pytest.mark.row("K14")
def test_variables_are_shared_and_live() -> None:
    text = """
        int calls = 3;
        static int hidden;
        const double table[3] = {1, 2, 3};
        extern int somewhere;
        double count(double x) { calls++; return x + calls; }
        int next(void) { return hidden++; }
        void reset(int to) { hidden = to; }
        """
    lib, other = library(text), library(text)
    assert lib.calls == 3 and lib.table.tolist() == [1, 2, 3] and lib.unmapped == {}
    assert lib.count([0.0, 0.0, 0.0]).tolist() == [4, 5, 6] and lib.calls == 6
    lib.calls = 10
    assert lib.count(0) == 11 and other.calls == 3
    assert [lib.next(), lib.next(), lib.next()] == [0, 1, 2]
    lib.reset(7)
    assert lib.next() == 7 and other.next() == 0
    refuses(AttributeError, lambda: lib.somewhere, "somewhere")


@pytest.mark.row("K14")
def test_results_that_are_enums_are_those_of_a_header() -> None:
    """Results are members, even if numbers would broadcast; broadcast=True makes them numbers."""
    text = """enum mode { UP = 1, DOWN = 5 };
enum mode of(int x) { return x ? DOWN : UP; }
enum mode same(enum mode m) { return m; }
enum mode of_all(int n, const double x[n]) { return n > 1 ? DOWN : UP; }
void put(int x, OUT enum mode *m) { *m = x ? DOWN : UP; }
void fill(int n, OUT enum mode y[n]) { for (int i = 0; i < n; i++) y[i] = DOWN; }
"""
    lib = library(text)
    for made in (lib.of(1), lib.same(5), lib.of_all(np.ones(2)), lib.put(1)):
        assert type(made) is lib.mode and made.name == "DOWN" and made == 5
    assert lib.same(7) == 7 and type(lib.same(7)) is int
    assert lib.fill(2).tolist() == [5, 5]
    lib.refine("of", broadcast=True)
    assert lib.of(np.arange(3, dtype=np.int32)).tolist() == [1, 5, 5]


@pytest.mark.quick
@pytest.mark.parametrize(
    "text",
    [
        "#ifdef __has_include\n#if __has_include(<stdio.h>)\nGOOD\n#endif\n#endif",
        "#if defined __has_include && __has_include(<stdio.h>)\nGOOD\n#endif",
        "#if defined(__has_include) && __has_include(<nobody_has_this.h>)\nint bad;\n#else\nGOOD\n#endif",
        "#if __has_include(<stdio.h>) && __has_include(<math.h>)\nGOOD\n#endif",
        '#ifdef __has_include\n# if __has_include("none.h")\n#  include "none.h"\n# endif\n#endif\nGOOD',
        "#ifdef __has_include\n# if __has_include(<errno.h>)\n# include <errno.h>\n# endif\n#endif\n"
        "#if defined(EDOM) && EDOM > 0\nGOOD\n#endif",
        "#if defined(__SIZEOF_LONG__) && defined(__SIZEOF_INT__)\nGOOD\n#endif",
        "#define A\n#define B\n#if defined(A) && defined(B)\nGOOD\n#endif",
    ],
)
def test_conditions_of_several_names_are_those_of_c(text: str) -> None:
    text = text.replace("GOOD", "double good(double x) { return x; }")
    assert library(text).mapped == ["good"] and library(text).good(2.0) == 2
    assert cwrapjit.vectorize(text)(2.0) == 2


@pytest.mark.parametrize("dim, length", [("min(n, m)", 2), ("max(n,m)", 3), ("min(n,m)+1", 3), ("n", 3)])
def test_dims_that_are_the_smaller_or_larger_one(dim: str, length: int) -> None:
    """C does not know min() and max(), but ignores a first dim."""
    head = f"const double x[n], const double z[m], int n, int m, OUT double y[{dim}]"
    text = f"void f({head}) {{ for (int i = 0; i < {length}; i++) y[i] = i; }}"
    for f in (library(text).f, cwrapjit.vectorize(text)):
        assert f(np.zeros(3), np.zeros(2)).tolist() == list(range(length))


@pytest.mark.parametrize("dim, length", [("min(n, m)", 2), ("max(n,\n m, 1+3) ", 4), ("n-min(m,n,1)", 2)])
def test_later_dims_that_are_the_smaller_or_larger_one(dim: str, length: int) -> None:
    """C needs a later dim, and errors must have the user's columns."""
    head = f"int n, int m, const double x[n], const double z[m], OUT double y[min(m, n)][{dim}]"
    body = f"for (int i = 0; i < 2; i++) for (int j = 0; j < {length}; j++) y[i][j] = i + j;"
    text = f"void f({head}) {{ {body} }}"
    wrong = text.replace("i + j;", "i + nowhere;")
    line = wrong.split("\n")[-1]
    for make in (lambda text: library(text).f, cwrapjit.vectorize):
        made = make(text)(np.zeros(3), np.zeros(2))
        assert made.tolist() == [[i + j for j in range(length)] for i in range(2)]
        error = refuses(cwrapjit.CompileError, lambda make=make: make(wrong), "'nowhere' undeclared")
        assert (error.text, error.offset) == (line, line.index("nowhere") + 1)


def test_types_enums_and_macros_of_the_text() -> None:
    lib = library(
        "typedef float real; typedef unsigned char byte;\n#define SIZE 3\nenum mode { UP = 1, DOWN };\n"
        "real half(real x) { return x / 2; }\nbyte next(byte x) { return x + 1; }\n"
        "bool is_down(enum mode m) { return m == DOWN; }\n"
        "double sum(const double x[SIZE]) { return x[0] + x[1] + x[2]; }\n"
        "npy_intp same(npy_intp x) { return x; }\n"
        "npy_complex128 turn(npy_complex128 z) { npy_complex128 r = {-z.imag, z.real}; return r; }"
    )
    assert lib.half(np.float32(3)) == 1.5 and type(lib.half(3)) is np.float32
    assert lib.next(np.uint8(255)) == 0
    assert (lib.UP, lib.DOWN, lib.SIZE) == (1, 2, 3) and lib.is_down(lib.DOWN) is np.True_
    assert lib.sum(np.arange(6.0).reshape(2, 3)).tolist() == [3, 12]
    assert lib.same(np.arange(2)).tolist() == [0, 1]
    assert lib.turn([1 + 2j, 3]).tolist() == [-2 + 1j, 3j]


@pytest.mark.quick
@pytest.mark.row("K14")
@pytest.mark.parametrize("state", ["", "static int calls; void count(void) { calls++; }\n"])
def test_arrays_of_characters_are_arrays_of_numbers(state: str) -> None:
    """Bytes are accepted, and texts for char."""
    lib = library(
        f"{state}typedef unsigned char byte;\n"
        "int total(const unsigned char x[n], int n) { int s = 0; while(n > 0) s += x[--n]; return s; }\n"
        "int sum(int n, const char s[n]) { int t = 0; while(n > 0) t += (signed char)s[--n]; return t; }\n"
        "void invert(INOUT byte x[n], int n) { while(n > 0) { --n; x[n] = 255 - x[n]; } }\n"
        "void more(const signed char x[4], OUT signed char y[4]) { for(int i = 0; i < 4; i++) y[i] = -x[i]; }"
    )
    x = np.arange(6, dtype=np.uint8).reshape(2, 3)
    assert lib.total(x).tolist() == [3, 12] and lib.total(x[:, None, :2]).tolist() == [[1], [7]]
    assert lib.sum(x.view(np.int8) - np.int8(3)).tolist() == [-6, 3]
    assert lib.more(np.eye(4, dtype=np.int8)).tolist() == (-np.eye(4)).tolist()
    for each in b"abc", bytearray(b"abc"), np.frombuffer(b"abc", np.uint8), memoryview(b"abc"):
        assert lib.total(each) == 294
    assert lib.sum("abc") == lib.sum(b"abc") == 294 and lib.total(b"") == 0
    room = bytearray(b"\0\1\2")
    assert lib.invert(room) is None and room == b"\xff\xfe\xfd"
    room.append(1)  # works only if no buffer is exported
    for wrong in np.zeros(3), np.zeros(3, np.int32), np.zeros(3, np.int8), np.zeros(3, "S1"), "abc":
        refuses(TypeError, lambda wrong=wrong: lib.total(wrong), "total(): no type set fits", "uint8")
    refuses(TypeError, lambda: lib.sum(x), "'s' is uint8", "int8")
    refuses(ValueError, lambda: lib.sum("\udcff"), "sum(): argument 's'", "surrogates not allowed")
    refuses(TypeError, lambda: lib.invert("abc"), "wanted a NumPy array, got str")
    refuses(ValueError, lambda: lib.invert(b"abc"), "wanted a writable array")
    refuses(ValueError, lambda: lib.more(b"abc"), "'x'", "(3,)")


@pytest.mark.quick
@pytest.mark.row("K14")
@pytest.mark.parametrize("first", ["const char *s, ", ""], ids=["single calls", "broadcast"])
@pytest.mark.parametrize("out", ["", ", OUT int *y"])
def test_faults_show_what_was_written(first: str, out: str) -> None:
    text = f"\nint f({first}const double x[n], int n{out}) {{ return *(volatile int *)(long)(n - 2); }}"
    given = [*([""] if first else []), np.ones(2)]
    fault = refuses(
        cwrapjit.Fault,
        lambda: library(text, debug=True).f(*given),
        "<cwrapjit t source>, line 2: int f(const",
    )
    assert (fault.filename, fault.lineno, fault.text) == ("<cwrapjit t source>", 2, text[1:])


# ---- scalars --------------------------------------------------------------------------------------------


@pytest.mark.quick
@pytest.mark.row("K15")
@pytest.mark.parametrize("state", ["", "static int calls; void count(void) { calls++; }\n"])
def test_functions_of_numbers_broadcast(state: str) -> None:
    lib = library(
        state + "double add(double x, double y) { return x + y; }\n"
        "void parts(double x, OUT double *whole, /* out */ int *negative)\n"
        "{ *whole = trunc(x); *negative = x < 0; }\n"
        "bool more(INOUT double *total, double x) { *total += x; return *total > 2; }"
    )
    assert lib.add(np.arange(3), [[1.0], [2.0]]).tolist() == [[1, 2, 3], [2, 3, 4]]
    assert lib.add(np.float32(1), np.int8(2)) == 3.0
    with pytest.raises(TypeError):
        lib.add(1j, 2)
    whole, negative = lib.parts([-1.5, 2.5])
    assert whole.tolist() == [-1, 2] and negative.tolist() == [1, 0] and negative.dtype == "i4"
    assert lib.parts.signature == "x() -> whole(), negative()"
    total = np.zeros(2)
    assert lib.more(total, [1.0, 3.0]).tolist() == [False, True] and total.tolist() == [1, 3]


@pytest.mark.row("K15")
def test_functions_without_state_get_hot() -> None:
    compiler()
    lib = library(
        "static double sq(double x) { return x * x; }\ndouble f(double x) { return sq(x) + 1; }" + SMOOTH
    )
    x = np.linspace(0, 1, 100)
    assert lib.f.wait() and lib.smooth.wait()
    np.testing.assert_array_equal(lib.f(x), x * x + 1)
    np.testing.assert_array_equal(lib.smooth(x), smoothed(x))
    counting = library("int calls; double f(double x) { calls++; return x; }")
    counting.f.wait()
    assert counting.f([1.0, 2.0]).tolist() == [1, 2] and counting.calls == 2


@pytest.mark.quick
@pytest.mark.row("K15")
def test_options_of_what_broadcasts() -> None:
    text = meeting() + "long f(double x) { meet(x); usleep(100); return (long)pthread_self(); }"
    assert len(set(library(text, threads=2).f(np.arange(1000.0)))) == 2
    refuses(TypeError, lambda: library("", fastmath=1), "library('t'): fastmath must be True or False")
    refuses(ValueError, lambda: library("", threads=0), "library('t'): threads must be 1 to 1024")
    refuses(ValueError, lambda: cwrapjit.library("t", threads=2), "threads= goes with source=")
    refuses(ValueError, lambda: library("", cast="all"), "library('t'): cast must be 'no' or 'safe'")
    refuses(TypeError, lambda: library("", optimize=1), "library('t'): optimize must be 'auto'")
    refuses(ValueError, lambda: library("", copies="no"), "library('t'): copies must be 'allow' or 'warn'")
    half = "float half(float x) { return x / 2; }"
    assert library(half, cast="same_kind").half(np.array([3.0])).tolist() == [1.5]
    refuses(TypeError, lambda: library(half, cast="no").half(np.array([3], "i2")), "half")
    with pytest.warns(UserWarning, match="'x' is copied in this call: it is int16, and C has float32"):
        library(half, copies="warn").half(np.array([3], "i2"))


@pytest.mark.row("K15")
@pytest.mark.plain("instrumented loops are not vectorised")
def test_fastmath_of_what_broadcasts() -> None:
    compiler()
    fast = library("double f(double x) { return sin(x); }", fastmath=True).f.explain()
    assert [loop["vectorized"] for loop in fast.loops] == [True]


# ---- arrays ---------------------------------------------------------------------------------------------


@pytest.mark.row("K15")
@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 3), max_size=2), st.integers(1, 5), st.booleans())
def test_leading_dims_broadcast(lead: list[int], n: int, reverse: bool) -> None:
    x = np.random.default_rng(0).normal(size=(*lead, n))
    if reverse and lead:
        x = x[::-1]
    np.testing.assert_array_equal(SMOOTHER.smooth(x), smoothed(x))


SMOOTHER = library(SMOOTH)


@pytest.mark.quick
@pytest.mark.row("K15")
def test_arrays_follow_their_declarations() -> None:
    lib = library(
        SMOOTH
        + """
        void scale(INOUT double x[n], double by, size_t n) { for (size_t i = 0; i < n; i++) x[i] *= by; }
        void zero(double x[n], int n) { for (int i = 0; i < n; i++) x[i] = 0; }
        double trace(int n, const double a[n][n])
        {
            double t = 0;
            for (int i = 0; i < n; i++)
                t += a[i][i];
            return t;
        }
        int product(int n, int k, int m, const float a[n][k], const float b[k][m], OUT float c[n][m])
        {
            for (int i = 0; i < n; i++)
                for (int j = 0; j < m; j++) {
                    c[i][j] = 0;
                    for (int l = 0; l < k; l++)
                        c[i][j] += a[i][l] * b[l][j];
                }
            return n;
        }
        void steps(const double x[n], OUT double y[n - 1], int n)
        {
            for (int i = 1; i < n; i++)
                y[i - 1] = x[i] - x[i - 1];
        }
        void fill(int n, OUT double y[n]) { for (int i = 0; i < n; i++) y[i] = i; }
        double last(int n, const double x[n + 1]) { return x[n]; }
        """
    )
    assert lib.smooth.signature == "x(n) -> y(n)"
    np.testing.assert_array_equal(lib.steps(BLUR), np.diff(BLUR))
    np.testing.assert_array_equal(lib.smooth(BLUR), smoothed(BLUR))
    out = np.empty(4)
    assert lib.smooth(BLUR[1], out=out) is out
    x = np.ones((2, 3))
    assert lib.scale(x, [[2.0], [3.0]][0][0]) is None and x.tolist() == [[2] * 3] * 2
    lib.zero(x)
    assert not x.any()
    assert lib.trace(np.arange(18.0).reshape(2, 3, 3)).tolist() == [12, 39]
    a, b = np.arange(6, dtype="f4").reshape(2, 3), np.arange(24, dtype="f4").reshape(2, 3, 4)
    rows, c = lib.product(a, b)
    np.testing.assert_array_equal(c, a @ b)
    assert rows.tolist() == [2, 2]
    assert lib.fill(3).tolist() == [0, 1, 2] and type(lib.fill) is cwrapjit._cwrapjit.LibraryFunction
    assert lib.last(2, np.arange(3.0)) == 2


@pytest.mark.row("K15")
def test_arrays_are_what_a_ufunc_takes() -> None:
    lib = library(
        SMOOTH + "double dot(const double x[n], const double y[n], double by, int n)\n"
        "{ double s = 0; for (int i = 0; i < n; i++) s += x[i] * y[i]; return s * by; }"
    )
    wanted = lib.smooth(np.arange(4.0))
    for x in (range(4), np.arange(4, dtype="f4"), np.arange(4, dtype=">f8"), np.arange(0, 4, 0.5)[::2]):
        np.testing.assert_array_equal(lib.smooth(x), wanted)
    refuses(TypeError, lambda: lib.smooth(np.arange(4) + 0j), "'x'")
    refuses(ValueError, lambda: lib.dot(np.zeros(3), np.zeros(4), 1), "'y'")
    assert lib.dot(np.ones(3), np.ones(3), 2) == 6.0
    assert lib.dot(np.ones((2, 3)), np.ones(3), [2.0, 3.0]).tolist() == [6, 9]
    x = np.arange(8.0)
    np.testing.assert_array_equal(lib.smooth(x[:4], x[1:5]), wanted)
    np.testing.assert_array_equal(x[1:5], wanted)
    assert lib.smooth(np.empty((3, 0))).shape == (3, 0)


# ---- long texts -----------------------------------------------------------------------------------------


def test_a_function_of_a_long_text_compiles_what_it_needs() -> None:
    """Thus 1,000 first uses take 1,000 times as long as one, although each is a compilation of its own."""

    def sources(n: int) -> list[str]:
        """The functions call the one before, as far as a tenth one."""
        bodies = [f"x + {1000 + k}" + f" + f{k - 1}(x)" * (k % 10 > 0) for k in range(n)]
        declared = "".join(f"double f{k}(double x);\n" for k in range(n))
        heads = (f"// one\ndouble f{k}(double x)" for k in range(n))
        defined = "".join(f"{head} {{ return {body}; }}\n" for head, body in zip(heads, bodies, strict=True))
        lib = library(f"#include <math.h>\n{declared}#define UNIT 1\n{defined}")
        made = [lib.f3, lib.f7]
        assert [each(np.array([0, 1.0])).tolist() for each in made] == [[4006, 4010], [8028, 8036]]
        return [re.sub("#line.*", "", each.source) for each in made]

    assert sources(10) == sources(300)


PARTS = """
static double half(double x);  // a declaration
double one(double x) { return half(x) + 1001; }
#define THREE 3
double two(double x) { return THREE * x + 1002; }
__attribute__((noinline)) double three(double x) { return two(x) + 1003; }
static double half(double x)
{
#define LATER 2
    return x / LATER + 1004;
}
double four(double x) { return LATER * x + 1005; }
#define CALL five(x)
double five(double x) { return x + 1006; }
double six(double x) { return CALL + 1007; }
#define BOTH(f, g) double f(double x) { return x + 1008; } double g(double x) { return x + 1009; }
#define DEFINE(f, k) double f(double x) { return x + k; }
BOTH(seven, eight)
DEFINE(nine, 1010) DEFINE(ten, 1011)
#if THREE == 3
double eleven(double x) { return x + 1012; }
#else
double eleven(double x) { return x + 1013; }
#endif
typedef double (*function)(double);
double twelve(double x) { function f = nine; return f(x) + 1014; }
double last(const double x[n], double y, int n) { return x[n - 1] + y + 1015; }
"""


def test_which_functions_belong_to_one() -> None:
    """Those that it names, those that macros name, and those that are not a piece of text of their own."""
    lib, x = library(PARTS), np.array([2.0, 4.0])
    always = {1004, 1006, 1008, 1009}  # has a directive, is named by a macro, shares a macro
    always |= {1012, 1013}  # a condition leaves out one of them
    for name, own, result in (
        ("one", {1001}, 2006), ("two", {1002}, 1008), ("three", {1002, 1003}, 2011), ("four", {1005}, 1009),
        ("five", set(), 1008), ("six", {1007}, 2015), ("seven", set(), 1010), ("eight", set(), 1011),
        ("nine", {1010}, 1012), ("ten", {1011}, 1013), ("eleven", set(), 1014),
        ("twelve", {1010, 1014}, 2026),
    ):  # fmt: skip
        f = getattr(lib, name)
        assert f(x)[0] == result, name
        assert {int(each) for each in re.findall(r"\b10[01]\d\b", f.source)} == always | own, name
    assert lib.last(np.arange(3.0), 1) == 1018 and "1001" not in lib.last.source


@pytest.mark.parametrize(
    "more, call", [("#define PASTE(a, b) a##b", "PASTE(hyp, ot)(3, 4)"), ('#include "own.h"', "OWN")]
)
def test_names_that_a_text_does_not_show(more: str, call: str, tmp_path: Any) -> None:
    """Macros that paste words, and those of included files, may name any function: here ours, not C's."""
    (tmp_path / "own.h").write_text("#define OWN hypot(3, 4)\n")
    text = "double hypot(double x, double y) { return 1 + x; }\ndouble f(double x) { return x + CALL; }"
    lib = library(f"{more}\n{text}".replace("CALL", call), include_dirs=[tmp_path])
    assert lib.f(np.ones(2)).tolist() == [5, 5]


@pytest.mark.parametrize("directive", ['#line 70 "own.y"', '# 70 "own.y"'])
def test_lines_that_a_text_counts_itself(directive: str) -> None:
    text = "double two(double x, int n)\n{\n    if (n) __builtin_trap(); return x;\n}\n"
    lib = library(f"double one(double x) {{ return x; }}\n{directive}\n{text}", debug=True)
    with pytest.raises(cwrapjit.Fault) as caught:
        lib.two(1, 2)
    assert (caught.value.filename, caught.value.lineno) == ("own.y", 72)


# ---- errors ---------------------------------------------------------------------------------------------


@pytest.mark.quick
@pytest.mark.row("K14")
@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("int f(int x)\n{\n    return y;\n}", "'y' undeclared", 3),
        ("int f(int x)\n{\n    return g(x);\n}", "g", 3),
        ("int f(int x) { return x; }\n\nint f(int x) { return 1; }", "two functions are called f", 3),
        ("int f(int x) { return x; }\n\ndouble g(double x) { return x }", "expected", 3),
        ("void f(OUT const double *x) { }", "x points to const: OUT cannot be", 1),
        ("\nvoid f(INOUT double x) { }", "x is no pointer: INOUT", 2),
        ("double f(double x) { return \"a\"; }", "string|number|double", 1),
        ("#error no", "no", 1),
        ("double f(double C[n][m], int n, int m) { return 0; }", "m stands behind C", 1),
    ],
)  # fmt: skip
def test_faults_have_the_lines_of_the_text(text: str, message: str, line: int) -> None:
    with pytest.raises(cwrapjit.CompileError, match=message) as caught:
        library(text)
    assert caught.value.lineno == line and caught.value.filename == "<cwrapjit t source>"
    assert (caught.value.text or "").strip() in text


@pytest.mark.row("K14")
def test_bad_arguments() -> None:
    refuses(TypeError, lambda: library(b"int f(void) { return 1; }"), "must be a str, C text, not bytes")
    refuses(ValueError, lambda: library("int f(void) { return 1; }", sources=["f.c"]), "do not go together")
    assert library("").mapped == [] and library("static int f(void) { return 1; }").mapped == []
    refuses(cwrapjit.CompileError, lambda: library("int f(void) { return 1; }\0"), "NUL")
    wrong = "int f(void) { return 1; } // \udcff"
    refuses(
        cwrapjit.CompileError, lambda: library(wrong), "<cwrapjit t source>", "lone surrogate at position 29"
    )
    macros = ["A=1", "B=\udcff"]
    refuses(ValueError, lambda: library("", define_macros=macros), "define_macros[1] does not define a macro")


@pytest.mark.row("K14")
def test_faults_and_diagnoses_show_lines() -> None:
    text = "int f(int x)\n{\n    return 1 / x;\n}\n"
    text += "int g(int n, const double a[n + 1])\n{\n    return 1 / (n - n);\n}"
    lib = library(text, debug=True)
    with pytest.raises(cwrapjit.Fault) as caught:
        lib.f(0)
    assert (caught.value.lineno, (caught.value.text or "").strip()) == (3, "return 1 / x;")
    with pytest.raises(cwrapjit.Fault) as caught:
        lib.g(1, np.zeros(2))
    assert (caught.value.lineno, (caught.value.text or "").strip()) == (7, "return 1 / (n - n);")
    compiler()
    found = library('int f(int x)\n{\n    printf("%s", x);\n    return 0;\n}').diagnose()
    assert [each.lineno for each in found] == [3] and found[0].filename == "<cwrapjit t source>"
    assert library("int f(int x) { return x; }").diagnose() == []


# ---- lifetimes ------------------------------------------------------------------------------------------


@pytest.mark.row("K14")
def test_libraries_options_hold_for_the_text() -> None:
    lib = library(
        "static int ready; int gone;\nvoid begin(void) { ready = 5; }\nint is_ready(void) { return ready; }\n"
        "double cosine(double x) { return cos(x) * FACTOR; }",
        libraries=["m"], define_macros=[("FACTOR", "2")], init="begin", doc="Something.",
    )  # fmt: skip
    assert lib.is_ready() == 5 and lib.cosine(0.0) == 2 and lib.__doc__ == "Something."
    assert ctypes.CFUNCTYPE(ctypes.c_int)(lib.is_ready.address)() == 5


@pytest.mark.row("K14")
def test_macros_in_both_spellings() -> None:
    text = "#ifdef ON\ndouble first(const double x[LENGTH]) { return x[0]; }\n#endif"
    for macros in (["ON", "LENGTH=3"], [("ON", None), ("LENGTH", "3")]):
        assert library(text, define_macros=macros).first.signature == "x(3) -> output()"
        assert cwrapjit.vectorize(text, define_macros=macros).signature == "x(3) -> output()"
    for macros, message in (("LENGTH=3", "must be a list"), ([3], "'NAME=VALUE', not 3")):
        with pytest.raises(TypeError, match=f"library.'t'.: define_macros.*{message}"):
            library(text, define_macros=macros)
        with pytest.raises(TypeError, match=f"vectorize.*: define_macros.*{message}"):
            cwrapjit.vectorize(text, define_macros=macros)


@pytest.mark.quick
@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("double f(POINTER, const double w[n], int n, int m) BODY", {"m": 7}),
        ("double f(int m, POINTER, const double w[n], int n) BODY", {"m": 7}),
        ("double f(void cb(PARAMETERS), const double w[k], int k) BODY", {}),
        ("double f(POINTER, const double *w, int n, int m) BODY", {"n": 7, "m": 7}),
        ("typedef void function(PARAMETERS);\ndouble f(function *cb, const double w[n], int n) BODY", {}),
        ("#define CALLBACK void (*cb)\ndouble f(CALLBACK(PARAMETERS), const double w[n], int n) BODY", {}),
        (
            "struct with { POINTER; };\nstatic double g(struct with s, const double w[m], int m)\n"
            "{ double y[2]; s.cb(y, w, 2, 3); return y[1]; }\n"
            "double f(POINTER, const double w[n], int n) { return g((struct with){cb}, w, n); }",
            {},
        ),
    ],
)
def test_names_in_a_function_pointers_dims_are_its_own(text: str, given: dict[str, int]) -> None:
    text = text.replace("POINTER", "void (*cb)(PARAMETERS)")
    text = text.replace("PARAMETERS", "double y[n], const double x[m], int n, int m")
    lib = library(text.replace("BODY", "{ double y[2] = {0, 0}; cb(y, w, 2, 3); return y[1]; }"))
    values, seen = np.arange(3.0), []

    def fill(y: Any, x: Any) -> None:
        seen.append((y.shape, x.shape))
        y[:] = x[1:]

    assert lib.f(cb=fill, w=cwrapjit.Pointer(values) if "*w" in text else values, **given) == 2
    assert seen == [((2,), (3,))]


def test_dims_of_function_pointers_that_macros_make() -> None:
    text = "#define PARAMETERS double y[n], int n\nvoid f(void (*cb)(PARAMETERS), int n) {}"
    error = refuses(cwrapjit.CompileError, lambda: library(text), "n stands behind y, whose dim it is")
    assert error.lineno == 2
    text = "double f(void (*cb)(OUT double *y, int y2), double x) { return x; }"
    refuses(cwrapjit.CompileError, lambda: cwrapjit.vectorize(text), "cb is a function")


@pytest.mark.row("K14")
@pytest.mark.parametrize("state", ["", "int calls;\n"])
def test_addresses_are_those_of_the_c_functions(state: str) -> None:
    lib = library(
        state + "static double more(double x) { return x + 1; }\ndouble f(double x) { return more(x); }\n"
        "double sum(const double x[n], int n) { return n > 1 ? x[0] + x[1] : 0; }\n"
        "npy_complex128 turn(npy_complex128 z) { npy_complex128 r = {-z.imag, z.real}; return r; }"
    )
    double, pointer = ctypes.c_double, ctypes.POINTER(ctypes.c_double)
    assert ctypes.CFUNCTYPE(double, double)(lib.f.address)(1.5) == 2.5
    assert "double (double)" in repr(lib.f.capsule)
    x = np.arange(3.0) + 1
    assert ctypes.CFUNCTYPE(double, pointer, ctypes.c_int)(lib.sum.address)(x.ctypes.data_as(pointer), 3) == 3
    assert "double (const double *, int)" in repr(lib.sum.capsule)
    assert lib.turn(1 + 2j) == -2 + 1j and lib.turn.address and lib.f(2) == 3 and lib.sum(x) == 3


@pytest.mark.row("K14")
def test_an_inline_function_is_no_symbol() -> None:
    text = "inline double twice(double x) { return 2 * x; }\ndouble f(double x) { return twice(x); }"
    assert library(text).twice([1.0, 2.0]).tolist() == [2, 4]
    lib = library(f"int state;\n{text}")
    assert lib.mapped == ["f"] and "no symbol twice" in lib.unmapped["twice"] and lib.f(2.0) == 4


@pytest.mark.row("K14")
def test_threads_ask_for_functions_at_the_same_time() -> None:
    lib = library("\n".join(f"double f{k}(double x) {{ return x + {k}; }}" for k in range(30)))
    found: list[list[float]] = []

    def call() -> None:
        found.append([getattr(lib, f"f{k}")(1.0) for k in range(30)])

    threads = [threading.Thread(target=call) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == [[1.0 + k for k in range(30)]] * 4


@pytest.mark.row("K14")
def test_parameters_whose_names_are_taken() -> None:
    lib = library("double f(double output, double out, double cookie) { return output + 10 * out + cookie; }")
    assert lib.f(1.0, 2.0, 3.0) == 24 == lib.f(output_=1.0, out_=2.0, cookie_=3.0)


@pytest.mark.row("K15")
def test_columns_behind_a_dim_that_comes_later() -> None:
    text = "\nvoid g(OUT double y[n], int n) { y[0] = nowhere; }"
    with pytest.raises(cwrapjit.CompileError, match="nowhere") as caught:
        library(text)
    assert (caught.value.lineno, caught.value.offset) == (2, text.index("nowhere"))


@pytest.mark.row("L01", "K14")
def test_declarations_beside_definitions_and_lengths_of_initializers() -> None:
    lib = library(
        "extern int x; int x = 4; int y = 5; extern int y; extern int nowhere;"
        'const char *const words[] = {"a", "bb", 0}; const char *several[] = {"x", 0, "z"};'
        "extern char **none; int list[] = {1, 2, 3}, table[][2] = {{1, 2}, {3, 4}};"
        'double odd[] = {[4] = 1}; const char text[] = "abc";'
    )
    assert (lib.x, lib.y) == (4, 5)
    lib.x = 6
    assert lib.x == 6
    assert (lib.words, lib.several) == (["a", "bb", None], ["x", None, "z"])
    assert (lib.list.tolist(), lib.table.tolist(), lib.text) == ([1, 2, 3], [[1, 2], [3, 4]], "abc")
    assert lib.unmapped == {"odd": "an array without length"}
    refuses(AttributeError, lambda: setattr(lib, "words", []), "is text of the library")
    other = cwrapjit.library("t", sources=[]).declare("extern const char *const words[]; int nowhere;")
    assert set(other.unmapped) == {"words", "nowhere"}


@pytest.mark.row("K14")
@pytest.mark.parametrize("state", ["", "double total;"])
def test_functions_keep_the_code_that_they_call(state: str) -> None:
    lib = library(state + "double twice(double x) { return 2 * x; }")
    f, code = lib.twice, weakref.ref(lib._core.code.lifetime)
    del lib
    gc.collect()
    assert code() is not None and f([1.0, 2.0]).tolist() == [2, 4]
    del f
    gc.collect()
    assert code() is None


@pytest.mark.quick
@pytest.mark.row("K14")
@settings(max_examples=100, deadline=None)
@given(st.text("(){}[];,*=#\"'/\\ \nOUTdoubleintx f.static 1", max_size=50))
def test_any_text_is_taken_or_refused(text: str) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cwrapjit.CompileWarning)
            library("int g(void);\n" + text)
    except (cwrapjit.CompileError, ValueError):
        pass
