"""A struct, an address or a function where a number belongs is refused in the first tier, too.

libtcc would copy structs whole and take addresses for numbers. What is a number means what it meant.
"""

from __future__ import annotations

import io
import pathlib
from typing import Any

import numpy as np
import pytest
from graph_types import FilledOp, double
from helpers import compiler, wrap, wrap_signature

import cwrapjit

STRUCT = "struct pair { double a, b; } p = {1, 2};\n"
# The text, its line that is wrong, and what the message says of the two sides.
REFUSED = {
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
    assert (error.filename, error.lineno) == (file, line)
    assert [word for word in words if word not in error.msg] == []


@pytest.mark.row("G13")
@pytest.mark.parametrize("kind", REFUSED)
@pytest.mark.parametrize("debug", [False, True])
def test_what_is_no_number_is_refused(kind: str, debug: bool) -> None:
    text, line, *words = REFUSED[kind]
    extra = (("double", "k", "1", "d"),)
    refused(
        lambda: wrap(((),), (), text + "\nreturn true;", extra_args=extra, optimize="off", debug=debug),
        "<cwrapjit t.f float64>", line, *words,
    )  # fmt: skip


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
def test_an_error_shows_the_place() -> None:
    with pytest.raises(cwrapjit.CompileError) as caught:
        wrap(((),), (), "double v = 1; item__output() = &v; return true;")
    assert caught.value.text == "double v = 1; item__output() = &v; return true;"
    assert caught.value.text[caught.value.offset - 1 :].startswith("item__output()")


@pytest.mark.row("G13")
@pytest.mark.parametrize(
    ("header", "line", "word"),
    [
        ("static double h(double x)\n{\n    return &x;\n}", 3, "'h'"),
        ('static bool h(double x)\n{ struct { int a; } s = {1};\n double v; v = s; return "ab"; }', 3, "'v'"),
        ("#define A 1\n#if A\nstatic float h(float x) { x = &x; return x; }\n#endif", 3, "'x'"),
    ],
)
def test_headers(header: str, line: int, word: str) -> None:
    refused(
        lambda: wrap(((),), (), "item__output() = h(item__a()); return true;", header=header),
        "<cwrapjit t header>", line, word,
    )  # fmt: skip
    refused(lambda: cwrapjit.library("m", libraries=["m"], header=header).function("double j0(double x)"),
            "<cwrapjit m header>", line, word)  # fmt: skip


@pytest.mark.row("G13")
@pytest.mark.parametrize("options", [{}, {"mode": "function"}, {"per_op": True}], ids=str)
@pytest.mark.parametrize("text", ["{z} =\n &{x};", "double v;\n v = &{x};", "double v =\n data;"])
def test_graphs(options: dict[str, Any], text: str) -> None:
    x = double("x")
    refused(
        lambda: cwrapjit.link([x], FilledOp("char data[3];\n" + text, name="Wrong")(x), **options),
        "<cwrapjit FilledOp.c_code of V2>", 3, "a pointer or a text stands where the double of",
    )  # fmt: skip


# Texts of good C; they give `item__output()` the value behind them for item__a() == 2.5.
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
    # What macros hide.
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
    assert text in file.getvalue() and "choose_expr" not in file.getvalue()
    assert "choose_expr" not in m.f.source


@pytest.mark.quick
@pytest.mark.row("G13")
@pytest.mark.parametrize("which", ["module", "library"])
def test_sources(which: str, tmp_path: pathlib.Path) -> None:
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
    """What refuses values that are no numbers makes no double of others on their way."""
    f = wrap_signature("x() -> y()", {(np.int64, np.longdouble): text + " return true;"}, optimize="off")
    x = np.array([2**53 + 1, -(2**63) + 1, 7])
    assert np.array_equal(f(x), x.astype(np.longdouble))
    code = {(np.int64, np.float32): "item__y() = item__x(); return true;"}
    g = wrap_signature("x() -> y()", code, optimize="off")
    odd = np.array([2**60 + 2**36 + 1])  # by way of a double it would be rounded twice
    assert np.array_equal(g(odd), odd.astype(np.float32)) and g(odd) == np.float32(2**60 + 2**37)
