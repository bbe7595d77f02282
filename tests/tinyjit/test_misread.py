"""Tests that C that libtcc would misread is rejected, in every text of every front end.

libtcc would copy whole structs, take addresses for numbers, `const k = 2.5;` for 2, and change addresses that
are written as numbers. Valid C must keep its meaning.
"""

from __future__ import annotations

import io
import mmap
import pathlib
import platform
import subprocess
from typing import Any

import numpy as np
import pytest
from graph_types import FilledOp, double
from helpers import compiler, refuses, wrap, wrap_signature
from library_tools import from_c

import cwrapjit
import cwrapjit.graph as cg

STRUCT = "struct pair { double a, b; } p = {1, 2};\n"
# The text, its wrong line, and the message's words for both sides.
NO_NUMBERS = {
    "item": (STRUCT + "item__output() = p;", 2, "a struct", "the double of 'item__output'"),
    "item, several lines": (STRUCT + "item__output() =\n\n  p\n;", 4, "a struct", "'item__output'"),
    "item, behind others": (
        "double v = 1; v = item__a(); item__output() = &v;",
        1,
        "a pointer",
        "'item__output'",
    ),
    "item, chosen": (STRUCT + "item__output() = item__a() > 0 ? p : p;", 2, "a struct", "'item__output'"),
    "item, in brackets": (STRUCT + "if ((item__output() = p), 1) ;", 2, "a struct", "'item__output'"),
    "a text": ('item__output() = "ab;,";', 1, "a pointer or a text", "'item__output'"),
    "a function": ("item__output() = sin;", 1, "a function", "'item__output'"),
    "a forgotten asterisk": ("item__output() = k;", 1, "a pointer", "a '*' or an index missing"),
    "an argument of libm's": ("item__output() = pow(item__a(), k);", 1, "a pointer", "the double of 'pow'"),
    "a variable": (STRUCT + "double v = 1; /* ; */ v = p;", 2, "a struct", "the double of 'v'"),
    "an initialiser": ("int i;\nfloat v = &i;", 2, "a pointer", "the float of 'v'"),
    "the second one": (STRUCT + "const double v = 1,\n  w = p;", 3, "a struct", "the double of 'w'"),
    "long": (STRUCT + "long double v = p;", 2, "a struct", "the long double of 'v'"),
    "NumPy's": (STRUCT + "npy_float32 v = p;", 2, "a struct", "the float of 'v'"),
    "the operand's": (STRUCT + "ctype__output v = p;", 2, "a struct", "the double of 'v'"),
    "in for": (STRUCT + "for (double v = p; ; ) break;", 2, "a struct", "the double of 'v'"),
    "in a statement expression": (
        STRUCT + "int i = ({ double v = p; 1; });",
        2,
        "a struct",
        "the double of 'v'",
    ),
    "static": ('static const double v = "ab";', 1, "a pointer", "the double of 'v'"),
    "members of an array": (STRUCT + "double v[2][2] = {{1, p}, {2}};", 2, "a struct", "the double of 'v'"),
    "an array's item": (STRUCT + "double v[2]; v[1] = p;", 2, "a struct", "the double of 'v'"),
    "through a pointer": (STRUCT + "double *v = data_slice__output; v[0] = p;", 2, "a struct", "'v'"),
    "through an asterisk": (STRUCT + "double *v = data_slice__output; *v = p;", 2, "a struct", "'v'"),
    "a truth": (STRUCT + "bool v = p;", 2, "a struct", "the bool of 'v'"),
    "a truth, assigned": (STRUCT + "_Bool v; v = p;", 2, "a struct", "the bool of 'v'"),
    "behind a continued line": (STRUCT + "double v; \\\n v = p;", 3, "a struct", "the double of 'v'"),
}


def refused(make: Any, file: str, line: int, *words: str) -> None:
    with pytest.raises(cwrapjit.CompileError) as caught:
        make()
    error = caught.value
    assert (error.filename, error.lineno) == (file, line) and error.text and error.offset
    assert [word for word in words if word not in error.msg] == []


@pytest.mark.row("G13")
@pytest.mark.parametrize("kind", NO_NUMBERS)
def test_what_is_no_number_is_refused(kind: str) -> None:
    debug = len(kind) % 2 == 0  # makes no difference
    text, line, *words = NO_NUMBERS[kind]
    extra = (("double", "k", "1", "d"),)
    refused(
        lambda: wrap(((),), (), text + "\nreturn true;", extra_args=extra, optimize="off", debug=debug),
        "<cwrapjit t.f float64>", line, *words,
    )  # fmt: skip


@pytest.mark.quick
@pytest.mark.row("G13")
@pytest.mark.parametrize(
    "word, renames",
    [
        *((word, "#undef {0}\n#define {0} long") for word in ("bool", "_Bool", "double", "float")),
        ("bool", "#undef {0}\ntypedef long {0};"),
    ],
)
def test_words_of_types_that_mean_others(word: str, renames: str) -> None:
    """Only C knows what such words mean; variables of these types must keep all digits."""
    big = 2**60 + 1
    text = f"{renames.format(word)}\n{word} f(long x) {{ {word} y = x, z[] = {{x}}; y = z[0]; return y; }}\n"
    assert cwrapjit.library("t", source=text).f(big) == big
    code = f"{word} y = item__a(); item__output() = y; return true;"
    made = wrap(((),), (), {("q", "q"): code}, header=f"{renames.format(word)}\n", optimize="off")
    assert made(big) == big
    lib = from_c(text.replace(f"{word} f(", "long f("))
    assert lib.function("long f(long x)")(big) == big


@pytest.mark.quick
@pytest.mark.row("G13")
@pytest.mark.parametrize(
    "value, truth", [("0.5L", 1), ("1e-300", 1), ("-0.0", 0), ("text", 1), ("sin", 1), ("256", 1)]
)
def test_truths(value: str, truth: int) -> None:
    text = f"int f(int x) {{ char text[] = {{0}}; bool y = {value}; _Bool z; z = {value}; return y + z; }}"
    assert cwrapjit.library("t", source=text).f(0) == 2 * truth


@pytest.mark.quick
@pytest.mark.row("G13")
@pytest.mark.parametrize(
    "types", [("D", "d"), ("F", "f"), ("D", "?"), ("G", "g"), ("D", "f"), ("F", "?")], ids="-".join
)
def test_no_neighbour_is_overwritten(types: tuple[str, str]) -> None:
    words = {"d": "double", "f": "float", "g": "long double", "?": "bool"}
    refused(
        lambda: wrap(((),), (), {tuple(map(np.dtype, types)): "\nitem__output()=item__a(); return true;"}),
        f"<cwrapjit t.f {np.dtype(types[0])},{np.dtype(types[1])}>", 2,
        f"a struct stands where the {words[types[1]]} of 'item__output' belongs",
    )  # fmt: skip
    f = wrap(
        ((),),
        (),
        {tuple(map(np.dtype, types)): "item__output() = item__a().real; return true;"},
        optimize="off",
    )
    out = np.zeros(3, types[1])
    f(np.array(2.5, types[0]), out=out[1:2])
    assert out.tolist() == [0, np.array(2.5, types[1]).item(), 0]


@pytest.mark.row("G13")
@pytest.mark.parametrize(
    ("header", "line", "word"),
    [
        ("static double h(double x)\n{\n    return &x;\n}", 3, "'h'"),
        ('static bool h(double x)\n{ struct { int a; } s = {1};\n double v; v = s; return "ab"; }', 3, "'v'"),
        ("#define A 1\n#if A\nstatic float h(float x) { x = &x; return x; }\n#endif", 3, "'x'"),
    ],
)
def test_headers_that_store(header: str, line: int, word: str) -> None:
    refused(
        lambda: wrap(((),), (), "item__output() = h(item__a()); return true;", header=header),
        "<cwrapjit t header>", line, word,
    )  # fmt: skip
    refused(lambda: cwrapjit.library("m", libraries=["m"], header=header).function("double j0(double x)"),
            "<cwrapjit m header>", line, word)  # fmt: skip


@pytest.mark.row("G13")
@pytest.mark.parametrize("options", [{}, {"mode": "function"}, {"per_op": True}], ids=str)
@pytest.mark.parametrize("text", ["{z} =\n &{x};", "double v;\n v = &{x};", "double v =\n data;"])
def test_graphs_that_store(options: dict[str, Any], text: str) -> None:
    x = double("x")
    refused(
        lambda: cwrapjit.link([x], FilledOp("char data[3];\n" + text, name="Wrong")(x), **options),
        "<cwrapjit FilledOp.c_code of V2>", 3, "a pointer or a text stands where the double of",
    )  # fmt: skip


# Valid texts, and the value of `item__output()` for item__a() == 2.5.
GOOD = {
    "struct pair { double x, y; } v = {1, 2}, w = v; item__output() = w.y;": 2,
    "double v = 1, *q = &v, b[2] = {1, v}, (*f)(double) = fabs, w = 3; *q = 2; q = b; q[1] = 5; f = sqrt; "
    "item__output() = v + b[1] + f(4) + w;": 12,
    "double v = 1; { double *v = data_slice__output, *w; w = v; v = w; *v = 3; } item__output() += v - 1;": 3,
    "double v = 1; { struct { int a; } v = {3}, w; w = v; item__output() = w.a; }": 3,
    'double v = 1; { char *v; v = "ab"; item__output() = v[1]; }': 98,
    "double v = 1; { double (*v)(double); v = sqrt; item__output() = v(4); }": 2,
    "double v = 1; { struct { int a; } w, v; w.a = 4; v = w; item__output() = v.a; }": 4,
    "typedef struct { int a; } T; double v = 1; { T w = {3}, v = w; item__output() = v.a; }": 3,
    "typedef struct { int a; } T; double v = 1; { T w = {3}; __typeof__(w) v = w; item__output() = v.a; }": 3,
    "struct { double *v; } s; double v = 7; s.v = &v; item__output() = *s.v;": 7,
    "struct { double v; } s = {.v = 2}, *t = &s; t->v = 3; item__output() = s.v;": 3,
    "double v[3] = {[1] = 2.5, [2] = -1}, w[] = {v[1], -v[2]}; item__output() = w[0] + w[1];": 3.5,
    "double v = -0.0, w = -v; item__output() = 1 / v + (1 / w > 0);": -np.inf,
    "float v = -0.0f; v = v; item__output() = 1 / v;": -np.inf,
    "double v = NAN; float w = v; item__output() = v != v && w != w;": 1,
    "long double v = 1.25L; v = v * 3; item__output() = v;": 3.75,
    "float v = 1e-45f * 1; v = v / 2; item__output() = v;": 0,
    "float v = 16777217, w = item__a() * 1e9; item__output() = (double)w - v;": 2.5e9 - 16777216,
    "double v = 18446744073709551615ULL; item__output() = v;": 2.0**64,
    'bool v = 0.5, w = NAN, x = -0.0, y = "ab", z = &v; item__output() = v + 2 * w + x + 8 * y + 16 * z;': 27,
    "bool v; v = 256LL; v = v; item__output() = v;": 1,
    "bool v; v = 0; { int v = 2; v = 3; item__output() = v; }": 3,
    "double a, b, c; a = b = c = item__a(); item__output() = a + b + c;": 7.5,
    "double v; int i; for (i = 0, v = 0; i < 3; i++, v = v + 2) ; item__output() = v;": 6,
    "for (double v = 0, *q = &v; v < 3; v = *q + 1) item__output() = v;": 2,
    "double v; item__output() = item__a() > 9 ? v = 1 : 2; ": 2,
    "double v = item__a() > 9 ? 1 : item__a() > 8 ? 2 : 3; item__output() = v;": 3,
    "double v; switch (2) { case 1: v = 3; break; case 2: v = 4; break; default: v = 5; } "
    "item__output() = v;": 4,
    "double v = ({ double w = 2; w = w * 2; w; }); item__output() = v;": 4,
    "double v = 1\n#define B 2\n+ B\n#if B > 1\n + 4;\n#else\n;\n#endif\nitem__output() = v;": 7,
    "double v = /* ; */ 1 // , w\n + 2; item__output() = v;": 3,
    "double v = \\\n 1 + \\\n 2; item__output() = v;": 3,
    "char c = ';'; double v = c, w = \"a;b\"[1]; item__output() = v == w;": 1,
    "double v = (char)300, w = (int)2.9, x = (double)(float)0.1; item__output() = v + w + (x > 0.1);": 47,
    "struct { unsigned a : 3; } s = {5}; double v = s.a, w; w = s.a; item__output() = v + w;": 10,
    "double v = sizeof(double), w = sizeof (struct { int a[3]; }); item__output() = v + w;": 20,
    "enum { ONE = 1, TWO } e = TWO; double v = e, w = ONE; item__output() = v + w;": 3,
    "double v = 3 <= 4, w = 3 == 4, x = 3 >= 4; item__output() = v + 2 * w + 4 * x;": 1,
    "double v = 5; v += 2, v *= 3; item__output() = v;": 21,
    "double v; v = (item__output() = 2, 3); item__output() += v;": 5,
    # with macros
    "double b; item__output() = LIST; b = b;": 1,
    "double v = 0; item__output() = TWICE; item__output() += v;": 3,
    "PAIR(double, v, w); v = 1; w = &v; item__output() = *w;": 1,
    "SET(item__output(), 4);": 4,
    "double v BECOMES 4; item__output() = v;": 4,
    "double log = 3, *pow = &log; log = 4; pow = pow; item__output() = *pow;": 4,
    'struct { double (*sin)(const char *); } s = {length}; item__output() = s.sin("abc");': 3,
    "item__output() = cube(2);": 8,
}
HEADER = """
#define LIST 1, b = 2
#define TWICE 1; v = 2
#define PAIR(type, one, other) type one, *other
#define SET(place, value) place = value
#define BECOMES =
static double length(const char *text) { double n = 0; while (*text++) n = n + 1; return n; }
static double cube(double x)
{
    double y = x * x;
    if (y < 0) return -1;
    return x * y;
}
"""


@pytest.mark.row("G13")
@pytest.mark.parametrize("text", GOOD)
@pytest.mark.parametrize("apart", [False, True])
def test_what_is_good_means_the_same(text: str, apart: bool) -> None:
    behind = "\nif (item__a() > 0) return true; return false;" if apart else "\nreturn true;"
    f = wrap(((),), (), text + behind, header=HEADER)
    assert f.tier == "tcc"
    assert f(2.5) == GOOD[text]


@pytest.mark.quick
@pytest.mark.row("G13")
def test_good_texts_are_good_to_an_optimizing_compiler_too() -> None:
    compiler()
    parts = "".join(f"case {i}: {{ {text}\n break; }}\n" for i, text in enumerate(GOOD))
    f = wrap(((), ()), (), f"switch ((int)item__b()) {{ {parts} }}\nreturn true;", header=HEADER)
    first = [f(2.5, i) for i in range(len(GOOD))]
    assert first == list(GOOD.values())
    assert f.wait() and f.tier == "cc" and f.tier_error is None
    assert [f(2.5, i) for i in range(len(GOOD))] == first


@pytest.mark.row("G13")
def test_a_macro_of_the_text_may_have_a_name_of_libms() -> None:
    macro = "#define fabs(x) (*(x))"
    f = wrap(((),), (), "double v = item__a(); item__output() = fabs(&v); return true;", header=macro)
    assert f(-3.0) == -3


@pytest.mark.row("G13")
def test_written_modules_and_sources_keep_the_text() -> None:
    m, file = cwrapjit.module("m", ""), io.StringIO()
    text = "double v = item__x(); item__y() = v; return true;"
    m.function("f", "", signature="x() -> y()", Ccode_slice_eval={np.float64: text})
    m.write(file=file)
    of_slices = file.getvalue().partition("#define ctype__x")[2]
    assert text in of_slices and "choose_expr" not in of_slices + m.f.source


@pytest.mark.quick
@pytest.mark.row("G13")
@pytest.mark.parametrize("which", ["module", "library"])
def test_sources_that_store(which: str, tmp_path: pathlib.Path) -> None:
    def make(text: str, **options: Any) -> Any:
        path = tmp_path / "source.c"
        path.write_text(text)
        if which == "library":
            return cwrapjit.library("m", sources=[str(path)], **options).function("double h(double x)")
        return wrap(((),), (), "item__output() = h(item__a()); return true;", header="double h(double x);",
                 sources=[str(path)], **options)  # fmt: skip

    (tmp_path / "beside.h").write_text("typedef struct { double a, b; } pair;\n#define TWO 2.0\n")
    begin = '#include "beside.h"\nstatic const pair p = {1, 2};\n'
    wrong = begin + "double h(double x)\n{\n    double v = x;\n    v = p;\n    return v;\n}\n"
    refused(lambda: make(wrong), str(tmp_path / "source.c"), 6, "a struct", "'v'")
    refused(lambda: make(wrong.replace("v = p;", "return &x;")), str(tmp_path / "source.c"), 6, "'h'")
    good = wrong.replace("v = p;", "v = p.b * TWO + x; double *q; q = &v; *q = v * FACTOR;")
    h = make(good, define_macros=[("FACTOR", "3")], include_dirs=[str(tmp_path / "none")])
    assert h(1.0) == 15


@pytest.mark.row("G13")
@pytest.mark.parametrize("text", ["item__y() = item__x();", "long double a = item__x(); item__y() = a;"])
def test_integers_keep_all_digits(text: str) -> None:
    """Rejecting values that are no numbers must not convert others to double on the way."""
    f = wrap_signature("x() -> y()", {(np.int64, np.longdouble): text + " return true;"}, optimize="off")
    x = np.array([2**53 + 1, -(2**63) + 1, 7])
    assert np.array_equal(f(x), x.astype(np.longdouble))
    code = {(np.int64, np.float32): "item__y() = item__x(); return true;"}
    g = wrap_signature("x() -> y()", code, optimize="off")
    odd = np.array([2**60 + 2**36 + 1])  # by way of a double it would be rounded twice
    assert np.array_equal(g(odd), odd.astype(np.float32)) and g(odd) == np.float32(2**60 + 2**37)


# ---- implicit int, and return without a value ------------------------------------------------------------


CALL_H = "item__y() = h(1.5); return true;"


def said(wanted: str) -> str:
    """Returns the message about that name; longer texts are the message."""
    return f"'{wanted}' has no type" if len(wanted) == 1 else wanted


# Statements of a snippet, and the name that has no type.
STATEMENTS = {
    "auto v = 1.5;": "v",
    "const k = 2.5;": "k",
    "static const k = 2.5;": "k",
    "register r = 1.5;": "r",
    "static n;": "n",
    "static a[3];": "a",
    "auto v = 1.5, w = 2.5;": "v",
    "for (auto i = 0.5; i < 2; i++) item__y() = i;": "i",
    "if (1) { const k = 2.5; }": "k",
    "if (1) { } const k = 2.5;": "k",
    "struct { const x; } s = {2.5};": "x",
    "struct { double a; } s; const k = 2.5;": "k",
    "typedef T; T t = 2.5;": "T",
    "extern h(double);": "h",
    "double a = (const)2.5;": "type is missing",
    "const *p = 0;": "type is missing",
    "case_of: ; const k = 2.5;": "k",
    "__attribute__((unused)) const k = 2.5;": "k",
    "__extension__ const k = 2.5;": "k",
}
# Headers that define h().
TYPELESS = {
    "static h(double x) { return x * 2.5; }": "h",
    "h(double x) { return x * 2.5; }": "h",
    "static inline h(double x) { return x * 2.5; }": "h",
    "inline static h(x) double x; { return x * 2.5; }": "h",
    "h(x) double x; { return x * 2.5; }": "h",
    "__attribute__((noinline)) h(double x) { return x * 2.5; }": "h",
    "static __attribute__((noinline)) h(double x) { return x * 2.5; }": "h",
    "int a;\nh(double x) { return x * 2.5; }": "h",
    "static double g(void) { return 1; }\nh(double x) { return x * 2.5; }": "h",
    "struct s { double a; };\nh(double x) { return x * 2.5; }": "h",
    "#ifdef X\nint a;\n#endif\nh(double x) { return x * 2.5; }": "h",
    "static double h(x) { return x * 2.5; }": "x",
    "static double h(x, y) double y; { return x * 2.5; }": "x",
    "static double h(const x) { return x * 2.5; }": "x",
    "static double h(register x) { return x; }": "x",
    "static const k = 2.5; static double h(double x) { return k; }": "k",
    "static double h(double x) { const k = 2.5; return k; }": "k",
    "static double h(double x) { return x; }\nstatic (*p)(double);": "type is missing",
    "k = 2.5; static double h(double x) { return k; }": "defaults to int",
    # macros of the text
    "#define LOCAL static\nLOCAL h(double x) { return x * 2.5; }": "h",
    "#define LOCAL static\n#define MINE LOCAL inline\nMINE h(double x) { return x * 2.5; }": "h",
    "#define FUNCTION(name) static name(double x)\nFUNCTION(h) { return x * 2.5; }": "h",
    "#define FIXED(n, v) const n = v\nstatic double h(double x) { FIXED(k, 2.5); return k; }": "k",
    "#define FIXED const k = 2.5\nstatic double h(double x) { FIXED; return k; }": "k",
    # with included headers
    "#include <math.h>\nstatic h(double x) { return x * 2.5; }": "h",
    '#include "some.h"\nstatic h(double x) { return x * 2.5; }': "h",
    '#include "some.h"\nh(x) double x; { return x * 2.5; }': "h",
    '#include "some.h"\nstatic double h(double x) { const k = 2.5; return k; }': "k",
}
BARE_RETURNS = {
    "static double h(double x) { if (x > 0) return; return x; }": "no value",
    "#define BACK return\nstatic double h(double x) { if (x > 0) BACK; return x; }": "no value",
}


@pytest.mark.row("G13")
@pytest.mark.parametrize("statement", STATEMENTS)
def test_snippets(statement: str) -> None:
    code = f"{statement}\n item__y() = item__x(); return true;"
    error = refuses(
        cwrapjit.CompileError, lambda: wrap_signature("x() -> y()", code), said(STATEMENTS[statement])
    )
    assert (error.filename, error.lineno) == ("<cwrapjit t.f float64>", 1)


@pytest.mark.quick
@pytest.mark.row("G13")
@pytest.mark.parametrize("header", TYPELESS | BARE_RETURNS)
def test_headers_without_types(header: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "some.h").write_text("#define SOME(x) x\n")
    source = tmp_path / "mine.c"
    source.write_text(header + "\ndouble call(double x) { return h(x); }\n")
    for make in (
        lambda: wrap_signature("x() -> y()", CALL_H, header=header, include_dirs=[str(tmp_path)]),
        lambda: cwrapjit.library("m", sources=[source]),
        lambda: cwrapjit.module("m", "", sources=[source]),
    ):
        error = refuses(cwrapjit.CompileError, make, said((TYPELESS | BARE_RETURNS)[header]))
    assert error.filename == str(source)


@pytest.mark.row("G13")
@pytest.mark.parametrize("text", ["return;", "if (item__x() > 0) return; return true;"])
def test_a_bare_return_of_a_slice(text: str) -> None:
    refuses(cwrapjit.CompileError, lambda: wrap_signature("x() -> y()", f"item__y() = 1; {text}"), "return")
    refuses(
        cwrapjit.CompileError,
        lambda: wrap_signature("x() -> y()", "return true;", Ccode_validate=text.replace("item__x()", "1")),
        "return",
    )


@pytest.mark.quick
@pytest.mark.row("G13")
def test_other_pieces_of_a_function() -> None:
    code = "item__y() = 1; return true;"
    refuses(
        cwrapjit.CompileError,
        lambda: wrap_signature("x() -> y()", code, Ccode_cookie_struct="const a;"),
        said("a"),
    )
    cleanup = {"Ccode_cookie_struct": "int a;", "Ccode_cookie_cleanup": "auto k = 2.5;"}
    refuses(cwrapjit.CompileError, lambda: wrap_signature("x() -> y()", code, **cleanup), said("k"))
    extra = ("double", "scale", "(const)2.5", "d")
    refuses(
        cwrapjit.CompileError,
        lambda: wrap_signature("x() -> y()", code, extra_args=(extra,)),
        "type is missing",
    )
    macros = ["K=static f(double x) { return 1; }"]
    refuses(
        cwrapjit.CompileError,
        lambda: wrap_signature("x() -> y()", code, header="K", define_macros=macros),
        said("f"),
    )


class Texts(cg.COp):
    """An op with these texts."""

    def __init__(self, code: str, support: str = "") -> None:
        self.code, self.support = code, support

    def make_node(self, x: Any) -> Any:
        return cg.Apply(self, [x], [cg.float64()])

    def c_support_code(self) -> str:
        return self.support

    def c_code(self, node: Any, name: str, inputs: Any, outputs: Any, sub: Any) -> str:
        return self.code.replace("OUT", outputs[0]).replace("IN", inputs[0])


@pytest.mark.row("G13")
@pytest.mark.parametrize(
    ("code", "support", "wanted"),
    [
        ("const k = 2.5; OUT = k;", "", "k"),
        ("auto v = IN; OUT = v;", "", "v"),
        ("OUT = h(IN);", "static h(double x) { return x * 2.5; }", "h"),
        ("OUT = h(IN);", "static double h(double x) { if (x > 0) return; return x; }", "no value"),
    ],
)
def test_graphs_without_types(code: str, support: str, wanted: str) -> None:
    x = cg.float64("x")
    refuses(cwrapjit.CompileError, lambda: cwrapjit.link([x], Texts(code, support)(x)), said(wanted))


@pytest.mark.quick
@pytest.mark.row("G13")
def test_texts_of_libraries(tmp_path: pathlib.Path) -> None:
    source = tmp_path / "fine.c"
    source.write_text("double h(double x) { return 2 * x; }\n")
    lib = cwrapjit.library("fine", sources=[source], header="static g(double x) { return x * 2.5; }")
    refuses(cwrapjit.CompileError, lambda: lib.function("double h(double x)"), said("g"))
    fine = cwrapjit.library("fine", sources=[source])
    for declaration, name in (
        ("extern h(double x)", "h"),
        ("double h(const x)", "x"),
        ("double h(register x)", "x"),
    ):
        refuses(cwrapjit.CompileError, lambda d=declaration: fine.function(d), said(name))
    refuses(cwrapjit.CompileError, lambda: fine.function("h(double x)"), "invalid function definition")
    fine.declare("typedef double real;\nextern g(double x);\nreal h(const real x);\nint f(const int);")
    assert fine.mapped == ["h"] and "has no type" in fine.unmapped["g"]


FINE = {
    "old style": "static double h(x, n) double x; int n; { return n * x; }\n#define h(x) h(x, 1)",
    "old style, no parameters": "static double g() { return 2; }\n"
    "static double h(double x) { return x * g(); }",
    "storage behind the type": "double static const k = 2.5;\nstatic double h(double x) { return x * k; }",
    "qualified twice": "typedef double real;\nreal const static k = 2;\nstatic real h(real x) { return "
    "x * k; }",
    "types of its own": "typedef double real;\nstatic real (h)(const real x) { real const k = x; return k; }",
    "a type without a name": "typedef double real;\nstatic double g(const real, real const *);\n"
    "static double h(double x) { return x; }\nstatic double g(const real x, const real *y) { return x; }",
    "a pointer to a function": "typedef double real;\nstatic real (*p)(real);\nstatic real h(real x) { "
    "return x; }",
    "casts": "typedef double real;\nstatic double h(double x) { const real *p = (const real *)&x; return "
    "*p; }",
    "sizes": "typedef double real;\nstatic double h(double x) { return x * sizeof(const real) / "
    "sizeof(real); }",
    "arrays": "static double first(int n, const double a[static const 1]) { return a[0]; }\n"
    "static double h(double x) { return first(1, &x); }",
    "assembler": 'static double h(double x) { __asm__ volatile("nop"); asm volatile("" ::: "memory"); return '
    "x; }",
    "attributes": "static double g(double x) __attribute__((const));\n"
    "static double g(double x) { return x; }\nstatic double h(double x) { return g(x); }",
    "attributes alone": "__attribute__((unused)) static double h(double x) { return x; }",
    "a macro with the type": "#define API static double\nAPI h(double x) { return x; }",
    "a macro with everything": "#define FUNCTION(n) static double n(double x)\nFUNCTION(h) { return x; }",
    "macros without an end": "#define BEGIN static double h(double x) {\n#define END return x; }\nBEGIN END",
    "pasted names": "#define NAME(a, b) a##b\nstatic double NAME(h, )(double x) { return x; }",
    "conditions": '#ifdef __cplusplus\nextern "C" {\n#endif\n#ifdef X\nstatic long\n#else\nstatic double\n'
    "#endif\n"
    "h(double x) { return x; }\n#ifdef __cplusplus\n}\n#endif",
    "one of two macros": "#ifdef X\n#define API static\n#else\n#define API static double\n#endif\n"
    "API h(double x) { "
    "return x; }",
    "structs": "static const struct s { double k; } s = {2.5}, *t = &s;\nstatic double h(double x) { return "
    "x * t->k; }",
    "enums": "static const enum e { A, B } e = B;\nstatic double h(double x) { return x * e; }",
    "braces behind types": "struct s { double k; } const s = {2};\nstatic double h(double x) { return x * "
    "s.k; }",
    "typeof": "static double h(double x) { const __typeof__(x) k = 2.5; static typeof(k) *const p = 0; "
    "return k; }",
    "generic": "static double h(double x) { return _Generic(&x, const double *: 1, double *: 2) * x; }",
    "empty declarations": "struct s;\n;\nstatic double h(double x) { ; return x; }",
    "a label": "static double h(double x) { goto out; out: ; const double k = x; return k; }",
    "register and auto": "static double h(double x) { register double a = x; auto double b = a; return b; }",
    "a void function": "static void g(double *x) { if (*x > 0) return; *x = 1; }\n"
    "static double h(double x) { g(&x); return x; }",
    "a macro of a file": '#include "some.h"\nstatic SOME(double) h(double x) { return x; }\nDECLARE(int);\n'
    "static real const k = 2;\nstatic const real l = 2;\nMAKE(h3)\nTEST(h4) { return 1; }\nlower(int);",
    "system headers": "#include <stdio.h>\n#include <stdlib.h>\n#include <math.h>\n#include <string.h>\n"
    "#include "
    "<ctype.h>\n"
    "#include <errno.h>\n#include <limits.h>\n#include <sys/types.h>\n#include <sys/stat.h>\n"
    "#include <unistd.h>\n"
    "#include <pthread.h>\n#include <sys/queue.h>\n"
    "LIST_HEAD(heads, entry) heads;\nstruct entry { LIST_ENTRY(entry) all; };\n"
    "static LIST_HEAD(, entry) more;\nstatic double h(double x) { return x; }",
}
SOME = """
#define SOME(x) x
#define DECLARE(t) extern t some_int
#define MAKE(name) static double name(void) { return 1; }
#define TEST(name) static double name(void)
#define lower(t) extern t some_int
typedef double real;
"""


@pytest.mark.row("G13")
@pytest.mark.parametrize("kind", FINE)
def test_legal_c_is_taken(kind: str, tmp_path: pathlib.Path) -> None:
    """The text is a header and a file; gcc accepts it, too."""
    (tmp_path / "some.h").write_text(SOME)
    header = FINE[kind]
    f = wrap_signature("x() -> y()", CALL_H, header=header, include_dirs=[str(tmp_path)])
    assert f(0.0) >= 1.5
    source = tmp_path / "mine.c"
    source.write_text(header + "\ndouble call(double x) { return h(x); }\n")
    assert (
        wrap_signature(
            "x() -> y()", "double call(double); item__y() = call(1.5); return true;", sources=[source]
        )(0.0)
        >= 1.5
    )
    checked = [compiler(), "-std=gnu11", "-fsyntax-only", "-Werror=implicit-int", "-Werror=return-type", "-w"]
    subprocess.run([*checked, str(source)], check=True, timeout=600)


@pytest.mark.row("G13")
def test_what_hides_in_a_system_header_is_not_the_users() -> None:
    """glibc's headers are full of macros, attributes and old prototypes."""
    names = ["stdio", "stdlib", "math", "string", "time", "inttypes", "wchar", "locale", "signal", "setjmp"]
    names += ["netdb", "netinet/in", "sys/socket", "sys/mman", "dirent", "regex", "search", "fcntl", "poll"]
    header = "".join(f"#include <{name}.h>\n" for name in names)
    assert wrap(((),), (), "item__output() = 2 * item__a(); return true;", header=header)(1.5) == 3


@pytest.mark.row("G13")
@pytest.mark.parametrize(
    "bomb",
    [
        "#define A0 const\n"
        + "".join(f"#define A{i} A{i - 1} A{i - 1}\n" for i in range(1, 18))
        + "A17 k = 2.5;",
        "".join(f"#define B{i} B{i + 1} B{i + 1}\n" for i in range(60)) + "#define B60\nB0",
        "#define R(x) R(x) R(x)\nR(R(R(1)));",
        "#define S(x, y) S(y, x)\nS(S(1, 2), S(3, 4));",
    ],
)
def test_macros_without_an_end_do_not_hang(bomb: str) -> None:
    with pytest.raises(cwrapjit.CompileError):
        wrap_signature("x() -> y()", f"{bomb}\nreturn true;")


def test_the_first_of_many_faults_is_told_where_it_is() -> None:
    code = "\n  item__y() = 1;\n  const  rate = 0.5;\n  auto v = 1; return true;"
    error = refuses(
        cwrapjit.CompileError, lambda: wrap_signature("x() -> y()", {np.float64: code}), "rate", "has no type"
    )
    assert (error.lineno, error.offset, error.end_offset) == (3, 10, 14)
    assert error.text is not None and "rate = 0.5" in error.text


# ---- addresses written as numbers ------------------------------------------------------------------------


PAIRS = "struct pair { double a, b; double c[2]; };\ntypedef struct pair *pointer;\n"
ANOTHER = "libtcc takes another address than this number: put it into a pointer variable first"

ACCESSES = [
    "*(double *)ADDRESS = 9;",
    "*(volatile double *)ADDRESS = 9;",
    "*(char *)ADDRESS = 9;",
    "((double *)ADDRESS)[0] = 9;",
    "((double *)ADDRESS)[1 + 1] += 9;",
    "*((double *)ADDRESS + 1) = 9;",
    "*(double *)(ADDRESS + 8) *= 9;",
    "*(double *)(void *)(ADDRESS) = 9;",
    "(*(double *)ADDRESS) = 9;",
    "++*(int64_t *)ADDRESS;",
    "(*(int64_t *)ADDRESS)--;",
    "if (1) *(int *)ADDRESS <<= 1;",
    "((struct pair *)ADDRESS)->b = 9;",
    "double z = item__x(); item__y() = z + *(double *)ADDRESS;",
    "item__y() = ((double *)ADDRESS)[1] + 1;",
    "item__y() = (float)*(double *)ADDRESS;",
    "while (0) *(pointer)ADDRESS = (struct pair){1, 2};",
    "((struct pair *)ADDRESS)->c[1] = 9;",
    "(*(struct pair *)ADDRESS).b = 9;",
    "((pointer)ADDRESS)->a = 9;",
    "\n#define PLACE ((double *)ADDRESS)\nPLACE[1] = 9;",
]
BY_NUMBER = {
    "double *p = (double *)ADDRESS; p[1] = 9;": (1, 9),
    "double *const p = (double *)ADDRESS; *p = 9;": (0, 9),
    "static double *const p = (double *)ADDRESS; p[3] += 9;": (3, 12),
    "for (int i = 0; i < 3; i++) if (i == 2) ((double *)ADDRESS)[i] = 9;": (2, 9),
    "int i = item__x(); *((double *)ADDRESS + i) = 9;": (1, 9),
    "double *p = &((double *)ADDRESS)[1]; *p = 9;": (1, 9),
    "double *p = &((struct pair *)ADDRESS)->b; *p = 9;": (1, 9),
    "int i = item__x(); item__y() = 9 * (i * (int64_t)ADDRESS == ADDRESS);": (0, 0),
    "int i = item__x(); item__y() = 9 * ((i) * (int64_t)(ADDRESS) == ADDRESS);": (0, 0),
    "uintptr_t a = ADDRESS; *(double *)a = 9;": (0, 9),
    "memcpy((double *)ADDRESS, &(double){9}, 8);": (0, 9),
    "int64_t k = (int64_t)ADDRESS; ((void)(double *)ADDRESS), item__y() = k == ADDRESS ? 9 : 1;": (0, 0),
}


def in_high_memory() -> Any:
    """Returns 0 to 7 above 4 GiB: the heap of an interpreter without PIE lies below."""
    memory = np.frombuffer(mmap.mmap(-1, mmap.PAGESIZE))[:8]
    memory[:] = range(8)
    return memory


def define_access(code: str, address: int, **options: Any) -> Any:
    text = "item__y() = 0; " + code.replace("ADDRESS", f"{address:#x}ul") + " return true;"
    return wrap_signature("x() -> y()", text, header=PAIRS + "#include <string.h>\n", **options)


@pytest.mark.row("G08")
@pytest.mark.quick
@pytest.mark.parametrize("code", ACCESSES)
def test_accesses_by_numbers_are_refused(code: str, tmp_path: pathlib.Path) -> None:
    memory = in_high_memory()
    for address in (memory.ctypes.data, 1 << 31, (1 << 64) - 64):
        refuses(cwrapjit.CompileError, lambda address=address: define_access(code, address), ANOTHER, "line ")
    text = PAIRS + "static void store(void) {\n" + code.replace("ADDRESS", "140737488355328") + "\n}\n"
    refuses(
        cwrapjit.CompileError,
        lambda: wrap_signature("x() -> y()", "store(); return true;", header="#include <stdint.h>\n" + text),
        ANOTHER,
    )
    (tmp_path / "mine.c").write_text("#include <stdint.h>\n" + text)
    refuses(cwrapjit.CompileError, lambda: cwrapjit.module("m", "", sources=[tmp_path / "mine.c"]), ANOTHER)
    assert memory.tolist() == list(range(8))


@pytest.mark.row("G08")
def test_small_numbers_are_right_or_refused() -> None:
    """libtcc keeps 31 bits on x86-64, and none on arm64. The code does not run."""
    text = "if (item__x() > 5) { " + ACCESSES[0] + ACCESSES[3] + ACCESSES[12] + ACCESSES[13] + " }"
    if platform.machine() == "aarch64":
        refuses(cwrapjit.CompileError, lambda: define_access(text, (1 << 31) - 64), ANOTHER)
    else:
        assert define_access(text, (1 << 31) - 64)(1.0) == 0


@pytest.mark.row("G08")
def test_members_of_null_are_not_accessed() -> None:
    """offsetof() was like this before it was a builtin, and headers ask like this for a member's size."""
    text = "item__y() = (size_t)&((struct pair *)0)->b + sizeof(((struct pair *)0)->c); return true;"
    assert wrap_signature("x() -> y()", text, header="#include <stddef.h>\n" + PAIRS)(1.0) == 24


@pytest.mark.row("G08")
@pytest.mark.parametrize("optimize", ["off", "eager"])
@pytest.mark.parametrize("code", BY_NUMBER)
def test_other_uses_of_numbers_are_right(code: str, optimize: str) -> None:
    memory = in_high_memory()
    f = define_access(code, memory.ctypes.data, optimize=optimize)
    value = f(1.0)
    at, wanted = BY_NUMBER[code]
    expected = np.arange(8.0)
    expected[at] = wanted
    assert memory.tolist() == expected.tolist()
    assert value == (9 if "item__y()" in code else 0)


# ---- parameters that point to rows -----------------------------------------------------------------------


TRACE = "double f(int n, PARAMETER) { double t = 0; for (int i = 0; i < n; i++) t += a[i][i]; return t; }\n"
WRONG = [
    "double (*a)[n]",
    "const double (*a)[n]",
    "double (*restrict a)[n]",
    "double (*const restrict a)[n * 1]",
    "double (*a)[n + 0]",
]
RIGHT = [
    "double a[n][n]",
    "double a[][n]",
    "double a[static n][n]",
    "double a[restrict n][n]",
    "double (*a)[3]",
]
TRACED = "double b[3][3] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}; item__y() = f(3, b); return true;"


def define_trace(text: str, where: str, folder: pathlib.Path) -> Any:
    source = folder / "trace.c"
    source.write_text(text)
    if where == "header":
        return wrap_signature("x() -> y()", TRACED, header="static " + text)
    if where == "sources":
        declared = text[: text.index("{")] + ";"
        return wrap_signature("x() -> y()", TRACED, header=declared, sources=[source])
    if where == "library":
        f = from_c(text).function("double f(int n, const double a[n][n])")
        return lambda _x: f(np.arange(1.0, 10).reshape(3, 3))
    x = cg.float64("x")
    values = "{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}"
    row = f"static double g(double x) {{ double b[3][3] = {values}; return x + f(3, b); }}"
    return cwrapjit.link([x], cg.elementwise("x", "g(x)", support_code="static " + text + row)(x))


@pytest.mark.row("G08")
@pytest.mark.quick
@pytest.mark.parametrize("where", ["header", "sources", "library", "graph"])
def test_rows_of_a_length_that_another_parameter_says(where: str, tmp_path: pathlib.Path) -> None:
    for parameter in WRONG:
        text = TRACE.replace("PARAMETER", parameter)
        make = lambda text=text: define_trace(text, where, tmp_path)  # noqa: E731
        refuses(cwrapjit.CompileError, make, "write a[][n] for (*a)[n]")
    for parameter in RIGHT:
        assert define_trace(TRACE.replace("PARAMETER", parameter), where, tmp_path)(0.0) == 15


@pytest.mark.row("G08")
@pytest.mark.quick
def test_what_looks_alike_is_taken() -> None:
    header = """enum { K = 2 };
        static double first(double (*a)[K]) { return a[1][0]; }
        static double (*rows(double (*a)[2]))[2] { return a; }
        static int at(int (*p)[3], int n) { return (*p)[n]; }
        static double m(int n, double b[n][n]) { double (*p)[n] = b; return p[1][1]; }"""
    code = """double b[2][2] = {{1, 2}, {3, 4}}; int c[3] = {5, 6, 7}, (*p)[3] = &c, n = 1;
        if (at(p, (*p)[n] - 5) == 6) { item__y() = first(b) + (*rows(b))[n] + m(2, b); } return true;"""
    assert wrap_signature("x() -> y()", code, header=header)(0.0) == 3 + 2 + 4
