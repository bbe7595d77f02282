"""Tests vectorize(), which turns a C function of numbers into a function of arrays."""

from __future__ import annotations

import gc
import inspect
import pathlib
import pickle
import re
import textwrap
import threading
import warnings
import weakref
from typing import Any

import numpy as np
import pytest
from helpers import compiler, python, refuses
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import cwrapjit
from cwrapjit import ElementwiseKernel, ReductionKernel, library, vectorize

LARGER = "T larger(T x, T y) { return x > y ? x : y; }"
SINCOS = "void sincos(double x, OUT double *s, OUT double *c) { *s = sin(x); *c = cos(x); }"
SORTS = ["bool", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]
GOOD = "double f(double x) { return x; }"
NAMES = [np.dtype(each).name for each in SORTS]


def refused(text: str, message: str, **options: Any) -> cwrapjit.CompileError:
    with pytest.raises(cwrapjit.CompileError, match=message) as caught:
        vectorize(text, **options)
    return caught.value


# ---- one type -------------------------------------------------------------------------------------------


@pytest.mark.row("K13")
def test_the_shortest_way() -> None:
    f = vectorize("double hyp(double x, double y) { return sqrt(x * x + y * y); }")
    assert type(f) is cwrapjit.Function
    assert f.__name__ == "hyp" and f.signature == "x(), y() -> output()"
    assert f.__doc__ == "double hyp(double x, double y)"
    assert list(inspect.signature(f).parameters) == ["x", "y", "out"]
    assert f(3, 4.0) == 5.0 and type(f(3, 4)) is np.float64
    np.testing.assert_array_equal(f([3.0, 6.0], [[4.0], [8.0]]), np.hypot([3, 6], [[4], [8]]))
    out = np.empty(2)
    assert f(y=[4.0, 8.0], x=np.array([3.0, 6.0]), out=out) is out and out.tolist() == [5, 10]


@pytest.mark.row("S05")
def test_the_comment_above_is_in_the_docstring() -> None:
    declared, body = "double f(const double x[n], int n)", " { return n; }"
    told = {
        "/* Counts. */\n": "Counts.",
        "/* Not this. */\n\n/** @brief Counts\n *  all:\n *    * items\n */\n": "Counts\nall:\n  * items",
        "// Counts\r\n// all.\r\n__attribute__((noinline)) ": "Counts\nall.",
        "/// \\brief Counts.\nextern\n": "Counts.",
        "/* Counts\n   all,\n     and more. */ ": "Counts\nall,\n  and more.",
        "/*********\n * Counts\n *********/\n": "Counts",
        "/* License. */\n\n": "",
        "/* License. */\n#define M 1\n": "",
        "static int m; /* about m */\n": "",
        "// ------\n": "",
        "/*\n// Not this.\ndouble f(double x)\n*/\n\n": "",
        "": "",
    }
    for above, wanted in told.items():
        assert vectorize(above + declared + body).__doc__ == f"{declared}\n\n{wanted}".strip()
        assert vectorize(above + declared + body, doc="Mine.").__doc__ == "Mine."
    inside = "/* Half. */\nstatic double g(double x) {\n    // then f\n    return f(x);\n}"
    assert vectorize(f"double f(double x) {{ return x; }}\n{inside}", name="h").__doc__.endswith("x)")
    generic = vectorize("// Twice.\nT f(T x) { return x + x; }")
    assert generic.__doc__ == "T f(T x)\n\nTwice."
    generic([1.0])
    assert generic.functions["float64"].__doc__ == generic.__doc__


@pytest.mark.row("S05")
def test_signatures_have_the_types_of_c() -> None:
    texts = {
        "double f(double x, /* it */ unsigned y)": "(x: double, y: unsigned, out=None) -> double",
        "void f(OUT double y[n], const float x[n], int n)": "(x: const float[n], out=None)",
        "int f(INOUT double *lambda, // it\n bool b)": "(lambda_: INOUT double *, b: bool, out=None)",
        "T f(const T x[n], int n)": "(x: const T[n], out=None) -> T",
    }
    for text, wanted in texts.items():
        f = vectorize(f"{text} {{ return{' 0' * (text[:4] != 'void')}; }}")
        assert str(inspect.signature(f)) == wanted
        assert "double" not in repr(f)
    assert inspect.signature(f).parameters["x"].annotation == "const T[n]"


@pytest.mark.row("K13")
@settings(max_examples=60, deadline=None)
@given(npst.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=4), st.data())
def test_broadcasts_as_numpy(shapes: npst.BroadcastableShapes, data: st.DataObject) -> None:
    rng = np.random.default_rng(1)
    x, y = (rng.normal(size=shape) for shape in shapes.input_shapes)
    if x.ndim and data.draw(st.booleans()):
        x = np.repeat(x, 2, axis=-1)[..., ::2]
    if y.ndim and data.draw(st.booleans()):
        y = y[::-1]
    result = POLYNOMIAL(x, y)
    np.testing.assert_array_equal(result, x * y + x)
    assert np.shape(result) == shapes.result_shape


POLYNOMIAL = vectorize("double p(double x, double y) { return x * y + x; }")


@pytest.mark.row("K13")
@pytest.mark.parametrize(
    ("ctype", "dtype"),
    [
        ("bool", "bool"), ("_Bool", "bool"), ("char", "i1"), ("signed char", "i1"), ("unsigned char", "u1"),
        ("short", "i2"), ("unsigned short int", "u2"), ("int", "i4"), ("unsigned", "u4"), ("long", "i8"),
        ("unsigned long", "u8"), ("long long", "i8"), ("size_t", "u8"), ("int16_t", "i2"), ("uint8_t", "u1"),
        ("npy_intp", "i8"), ("npy_float32", "f4"), ("float", "f4"), ("double", "f8"), ("long double", "g"),
        ("const double", "f8"), ("npy_complex128", "c16"), ("npy_complex64", "c8"), ("byte", "u1"),
        ("real", "f8"), ("enum colour", "i4"), ("NUMBER", "f4"), ("enum wide", "u8"), ("enum minus", "i4"),
        ("enum high", "u4"), ("enum both", "i8"), ("plain", "i4"), ("large", "u8"), ("larger", "u8"),
        ("npy_bool", "?"),
    ],
)  # fmt: skip
def test_types(ctype: str, dtype: str) -> None:
    known = "typedef unsigned char byte;\ntypedef double real;\nenum colour { RED };\n#define NUMBER float\n"
    known += "enum wide { WIDE = 0x1ffffffff };\nenum minus { MINUS = -3, PLUS };\n"
    known += "enum high { HIGH = 0xf0000000 };\nenum both { LEAST = -1, MOST = 0x100000000 };\n"
    known += "typedef enum { PLAIN } plain;\ntypedef enum wide large;\n"
    known += "typedef enum any { ANY = 0x100000000 } larger;\n"
    known += "#include <stdint.h>\n"  # C checks what Python has read
    plain = ctype.replace("const ", "")
    f = vectorize(f"{known}{ctype} same({ctype} x) {{ return x; }}")
    values = np.array([0, 1, 100]).astype(dtype)
    result = f(values)
    assert result.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(result, values)
    pointer = f"{known}void same({plain} x, OUT {plain} *y) {{ *y = x; }}"
    np.testing.assert_array_equal(vectorize(pointer)(values), values)


@pytest.mark.row("K13")
def test_enums_are_as_wide_as_in_c() -> None:
    wide = "enum wide { ONE = 1, WIDE = 0x1ffffffff };\n"
    f = vectorize(
        wide + "void f(int x, OUT enum wide *y, OUT enum wide *z) { *y = x ? WIDE : ONE; *z = ONE; }"
    )
    y, z = f(np.arange(5, dtype="i4"))
    assert y.tolist() == [1, *[0x1FFFFFFFF] * 4] and z.tolist() == [1] * 5 and y.dtype == np.uint64
    head = "void f(int n, const int x[n], OUT enum wide y[n])"
    f = vectorize(wide + head + "{ for (int i = 0; i < n; i++) y[i] = WIDE - x[i]; }")
    assert f(np.int32([0, 1])).tolist() == [0x1FFFFFFFF, 0x1FFFFFFFE]
    f = vectorize(wide + "T f(T x, enum wide k) { return x + k; }")
    assert f(1.5, 0x1FFFFFFFF) == 0x1FFFFFFFF + 1.5
    f = vectorize(wide + "struct s { char a; enum wide b; };\nenum wide f(struct s s) { return s.b - s.a; }")
    value = np.zeros(2, [("a", "i1"), ("b", "u8")]).astype(np.dtype([("a", "i1"), ("b", "u8")], align=True))
    value["b"], value["a"] = 0x1FFFFFFFF, 1
    assert f(value).tolist() == [0x1FFFFFFFE] * 2
    assert vectorize("enum { ONE, TWO } f(int x) { return TWO; }")(1) == 1  # the enum has no name


@pytest.mark.row("K13")
@pytest.mark.parametrize(
    "text",
    [
        "enum PACKED e { A };\nenum e f(int x) { return x; }",
        "enum PACKED e { A };\nint f(enum e x) { return x; }",
        "enum PACKED e { A };\nvoid f(int x, OUT enum e *y) { }",
        "enum { A } PACKED e;\nint f(e x) { return x; }",
        "enum PACKED e { A };\nvoid f(const enum e x[n], int n, OUT double *y) { }",
        "enum PACKED e { A };\nstruct s { char a; enum e b; };\ndouble f(struct s s) { return s.b; }",
    ],
)  # fmt: skip
def test_packed_enums_which_compilers_have_otherwise_are_refused(text: str) -> None:
    text = text.replace("enum { A }", "typedef enum { A }").replace("PACKED", "__attribute__((packed))")
    refuses(cwrapjit.CompileError, lambda: vectorize(text), "f()")


HEADER = """
typedef unsigned long count;
typedef short small;
typedef enum { A, B = 0x1ffffffff } wide;
typedef struct { int x, y; } point;
#define REAL float
#ifdef __TINYC__
typedef float by_compiler;
typedef struct { char x; } pair;
#undef bool
#define bool int
#else
typedef double by_compiler;
typedef struct { double x; } pair;
#endif
"""


@pytest.mark.row("K13")
@pytest.mark.parametrize("ctype, dtype", [("count", "u8"), ("small", "i2"), ("wide", "u8"), ("REAL", "f4")])
def test_types_of_included_files(ctype: str, dtype: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "own.h").write_text(HEADER)
    for body in (f"{ctype} f({ctype} x) {{ return x; }}", f"void f({ctype} x, OUT {ctype} *y) {{ *y = x; }}"):
        f = vectorize(f'#include "own.h"\n{body}', include_dirs=[tmp_path])
        values = np.arange(3).astype(dtype)
        np.testing.assert_array_equal(f(values), values, strict=True)
    text = f'#include "own.h"\nT f(T x, {ctype} k) {{ return x + k; }}'
    assert vectorize(text, include_dirs=[tmp_path])(1.5, 2) == 3.5


@pytest.mark.row("K13")
def test_structs_of_included_files(tmp_path: pathlib.Path) -> None:
    (tmp_path / "own.h").write_text(HEADER)
    text = '#include "own.h"\npoint f(point p) { return (point){p.y, p.x}; }'
    f = vectorize(text, include_dirs=[tmp_path])
    assert f(np.array([(1, 2)], [("x", "i4"), ("y", "i4")])).tolist() == [(2, 1)]


@pytest.mark.row("K13")
@pytest.mark.compiler("the cc tier")
@pytest.mark.parametrize("tier", ["off", "eager"])
@pytest.mark.parametrize(
    "text, dtype",
    [
        ("by_compiler f(int x) { return x; }", "f4"), ("double f(by_compiler x) { return x; }", "f8"),
        ("void f(int x, OUT by_compiler *y) { *y = x; }", "f4"),
        ("pair f(int x) { return (pair){x}; }", [("x", "i1")]),
    ],
)  # fmt: skip
def test_types_that_hang_on_the_compiler(text: str, dtype: Any, tier: Any, tmp_path: pathlib.Path) -> None:
    """A header may test the compiler; all readers see libtcc's choice."""
    (tmp_path / "own.h").write_text(HEADER)
    f = vectorize(f'#include "own.h"\n{text}', include_dirs=[tmp_path], optimize=tier)
    assert f.tier == ("tcc" if tier == "off" else "cc")
    assert f(3) == np.array((3,) if "pair" in text else 3, dtype) and f(3).dtype == np.dtype(
        dtype, align=True
    )


@pytest.mark.row("K13")
def test_types_that_python_and_c_read_differently_are_refused(tmp_path: pathlib.Path) -> None:
    """A type that was read wrongly must not pass silently."""
    (tmp_path / "own.h").write_text(HEADER)
    text = '#include "own.h"\nvoid f(int x, OUT bool *y) { *y = x; }'
    message = "and is another one to C"
    assert (
        refuses(cwrapjit.CompileError, lambda: vectorize(text, include_dirs=[tmp_path]), message).lineno == 2
    )


@pytest.mark.row("K13")
@pytest.mark.quick
@pytest.mark.parametrize(
    "word, meaning",
    [
        ("bool", "int"), ("bool", "unsigned char"), ("_Bool", "char"), ("float", "double"),
        ("double", "float"), ("short", "int"), ("unsigned", "signed"), ("int8_t", "int"), ("int", "long"),
    ],
)  # fmt: skip
def test_words_of_types_that_are_macros(word: str, meaning: str, tmp_path: pathlib.Path) -> None:
    """Macros in the text itself are followed as in C; macros in an included file are rejected."""
    macro, body = f"#undef {word}\n#define {word} {meaning}\n", f"\n{word} f({word} x) {{ return x; }}"
    (tmp_path / "own.h").write_text(macro)
    message = f"which was read as {vectorize(body).types[0].split()[0]}, and is another"
    for include in ('"own.h"', "<own.h>"):
        text = f"#include {include}{body}"
        assert refused(text, message, include_dirs=[tmp_path]).lineno == 2
    if word != "int":  # generated text uses int itself
        assert vectorize(macro + body).types == vectorize(body.replace(word, meaning)).types


@pytest.mark.row("K13")
def test_bool_may_be_a_typedef() -> None:
    refused("#undef bool\ntypedef int bool;\nbool f(bool x) { return x; }", "bool, and is another one to C")


@pytest.mark.row("K13")
def test_inputs_are_cast_as_ufuncs_do() -> None:
    f = vectorize("float half(float x) { return x / 2; }")
    assert f(np.arange(3, dtype="i2")).tolist() == [0, 0.5, 1]
    assert f(np.array([1.0], dtype=">f4")).tolist() == [0.5]
    refuses(TypeError, lambda: f(np.arange(3.0)), "'x' is ", "float64")
    with pytest.raises(TypeError, match='cast="safe" converts it'):
        vectorize("double f(double x) { return x; }", cast="no")(np.arange(3))


@pytest.mark.row("K13")
def test_several_results() -> None:
    f = vectorize(SINCOS)
    assert f.signature == "x() -> s(), c()"
    x = np.linspace(0, 3, 12).reshape(3, 4).T
    s, c = f(x)
    np.testing.assert_array_equal(s, np.array([[np.sin(float(v)) for v in row] for row in x]), strict=True)
    np.testing.assert_allclose(c, np.cos(x), rtol=1e-15)
    s2, c2 = np.empty((4, 3)), np.empty((4, 3))
    assert f(x, out=(s2, c2))[0] is s2
    assert (c2 == c).all()


@pytest.mark.row("K13")
@pytest.mark.parametrize("out", ["OUT", "/* out */", "/*OUT*/"])
def test_a_result_and_more(out: str) -> None:
    f = vectorize(f"int parts(double x, {out} double *fraction, {out} int *sign) {{"
                  " *sign = x < 0; *fraction = fabs(x) - (int)fabs(x); return (int)fabs(x); }")  # fmt: skip
    whole, fraction, sign = f([-2.5, 3.25])
    assert whole.tolist() == [2, 3] and fraction.tolist() == [0.5, 0.25] and sign.tolist() == [1, 0]
    assert f.signature == "x() -> output(), fraction(), sign()"
    assert [each.dtype.name for each in (whole, fraction, sign)] == ["int32", "float64", "int32"]


@pytest.mark.row("K13")
@pytest.mark.parametrize("inout", ["INOUT", "/* inout */"])
def test_updated_in_place(inout: str) -> None:
    f = vectorize(f"int add({inout} double *sum, double x) {{ *sum += x; return *sum > 2; }}")
    total = np.zeros(3)
    assert f(total, [1.0, 2.0, 3.0]).tolist() == [0, 0, 1]
    f(total, 1.0)
    assert total.tolist() == [2, 3, 4]
    nothing = vectorize(f"void add({inout} double *sum, double x) {{ *sum += x; }}")
    nothing(total, 1.0)
    assert total.tolist() == [3, 4, 5]


@pytest.mark.row("K13")
def test_helpers_statics_and_directives() -> None:
    f = vectorize(
        """
        #include <math.h>
        #define SQUARE(v) ((v) * (v))
        /* double unused(double x) { return x; } */
        static const double table[3] = {1, 2, 3};
        typedef struct { double re, im; } pair;
        double declared_only(double x);
        static inline pair turn(pair p) { return (pair){-p.im, p.re}; }
        __attribute__((unused)) static int helper(void) { return '}' + sizeof "}{"; }

        double f(double x, int k)
        {
            pair p = turn((pair){x, table[k]});
            return SQUARE(p.re) + p.im; // "}"
        }
        """
    )
    assert f(10.0, np.arange(3, dtype="i4")).tolist() == [11, 14, 19]


@pytest.mark.quick
@pytest.mark.row("K13")
def test_conditions() -> None:
    f = vectorize(
        """
        #if 0
        double g(double x) { return x; }
        double f(double x) { return 5; }
        # define TWO 3
        #elif 0
        }}}
        #else
        # define TWO 2
        #endif
        #ifdef THRICE
        double f(double x) { return 3 * x; }
        #else
        double f(double x) { return TWO * x; }
        #endif
        """
    )
    assert f(2) == 4


@pytest.mark.quick
@pytest.mark.row("K13")
@pytest.mark.parametrize(
    "text",
    [
        '#ifdef __cplusplus\nextern "C" {\n#endif\nTWICE\n#ifdef __cplusplus\n}\n#endif\n',
        '#if defined(__cplusplus) // no\nextern "C" {\n#endif\nTWICE',
        "#if 0 /* no */\ndouble twice(double x) { return x; }\n#endif\nTWICE",
        "#ifndef __cplusplus\nTWICE\n#endif",
        '#define BEGIN "/*"\nTWICE /* end */',
        "#define QUOTE '\"'\n#define A 'a' // don't \"\nTWICE /* \" */",
        "#define A 1 // begins /* here\nTWICE // ends */ here",
        "#define DO(x) \\\r\n (2 * (x))\r\ndouble twice(double x)\r\n{\r\n    return DO(x);\r\n}\r\n",
        "// a comment \\\r\n double once(double x) {\r\nTWICE",
        "/* größe */ TWICE // \u2028 double once(double x) { return x; }",
        "/* a */ # /* b */ define REAL /* c */ double // d\nREAL twice(REAL x) { return 2 * x; }",
        "#if \\\r\n 0 // a\nTWICE\n#elif defined ( __cplusplus ) // a\nTWICE\n#else\nTWICE\n#endif",
    ],
)
def test_comments_quotes_and_directives_end_where_c_has_it(text: str) -> None:
    f = vectorize(text.replace("TWICE", "double twice(double x) { return 2 * x; }"))
    assert f.__name__ == "twice" and f(4) == 8


@pytest.mark.quick
@pytest.mark.row("K13")
@pytest.mark.parametrize(
    "text",
    [
        "double f(double x\n#ifdef NO\n, int y\n#else\n, float y\n#endif\n) { return x - y; }",
        "#define TWO 2\ndouble f(double x\n#if TWO > 1\n, float\n#else\n, int\n#endif\n y) { return x - y; }",
        "#ifdef NO\nint f(int x)\n#else\ndouble f(double x, float y)\n#endif\n{ return x - y; }",
        "#if NO\nint\n#elif !defined NO\ndouble\n#endif\nf(double x, float y) { return x - y; }",
        "#if NO + 1 == 2\nint f(int x) { return 0; }\n#else\ndouble f(double x, float y) { return x - y; }\n"
        "#endif",
        "#define BOTH double x, float y\ndouble f(BOTH) { return x - y; }",
        "#define OF(type, name) type name\ndouble f(OF(double, x), OF(float, y)) { return x - y; }",
        "#define HEAD(name) double name(double x, float y)\nHEAD(f) { return x - y; }",
        "#define BEGIN {\n#define END }\ndouble f(double x, float y) BEGIN return x - y; END",
        "#define NAMED(name) f ## name\n#define F NAMED\ndouble F()(double x, float y) { return x - y; }",
        "#define HELPER static double\nHELPER g(double x) { return x; }\n"
        "double f(double x, float y) { return g(x) - y; }",
        "#define TWICE(name) static double name(double x) { return 2 * x; }\nTWICE(g)\n"
        "double f(double x, float y) { return g(x) - x - y; }",
        "double f(GIVEN x, float y\n#ifdef GIVEN\n) { return x - y; }\n#endif",
        "#define FLOAT A\n#undef FLOAT\ntypedef float FLOAT;\ndouble f(double x, FLOAT y) { return x - y; }",
    ],
)
def test_heads_are_what_the_preprocessor_leaves(text: str) -> None:
    f = vectorize(text, define_macros=["GIVEN=double"])
    assert f.signature == "x(), y() -> output()" and f.types == ("float64, float32 -> float64",)
    assert f.__doc__ in ("double f(double x, float y)", "double f(double x, FLOAT y)")
    assert f(3, np.float32([1, 2])).tolist() == [2, 1]


@pytest.mark.row("K14")
def test_marks_dims_and_types_that_macros_make() -> None:
    text = "#define RESULT OUT double *\n#define VALUES(name) const T name[3]\n"
    f = vectorize(text + "void f(VALUES(x), RESULT y) { *y = x[0] + x[2]; }", T=("f4", "f8"))
    assert f.signature == "x(3) -> y()" and f(np.arange(3, dtype="f4")) == f(np.arange(3.0)) == 2
    text = "#define ARGS T x, /* OUT */ T *y\n#define POINTER *restrict\n"
    f = vectorize(text + "void f(ARGS, OUT double POINTER z) { *y = x; *z = 2; }")
    assert [each.tolist() for each in f([1.0])] == [[1], [2]]
    text = "#define LENGTH n\nvoid f(const double x[LENGTH], OUT double *y, int n) { *y = x[n - 1]; }"
    assert vectorize(text)([1.0, 5.0]) == 5
    text = "#define VALUES double x[n]\ndouble f(const VALUES, int n) { return x[0]; }"
    assert refused(text, "n stands behind x, whose dim it is").lineno == 2


def test_what_conditions_ask_of_included_files_is_asked(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own.h").write_text("#define OWN 1\n")
    text = '#include "own.h"\n#if OWN\nfloat f(float x)\n#else\nint f(int x)\n#endif\n{ return x; }'
    f = vectorize(text, include_dirs=[tmp_path])
    assert f.types == ("float32 -> float32",) and f(np.float32(1.5)) == 1.5
    monkeypatch.setattr("cwrapjit.library.headers.expanded", None)
    idiom = (
        "#include <math.h>\n#ifndef M_PI\n#define M_PI 3.14\n#endif\ndouble f(double x) { return M_PI * x; }"
    )
    assert vectorize(idiom)(1.0) == np.pi


@pytest.mark.quick
@pytest.mark.row("K13")
@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("ifdef M_PI", True), ("if __SIZEOF_LONG__ == 8", True), ("ifdef NAN", True), ("ifdef bool", True),
        ("if INT64_MAX > 5", True), ("if __LINE__ == 1", True), ("if __LINE__ == 2", False),
        ("if 0\n\nint\n\n#elif __LINE__ == 5", True), ("ifdef __has_include", True),
        ("if defined __has_include && __has_include(<stdio.h>)", True), ("ifdef __TINYC__", True),
        ("if __has_include(<nobody_has_this.h>)", False), ("if defined(M_PI) && defined(M_E)", True),
        ("ifdef OUT", True), ("ifndef INOUT", False), ("ifdef linux", False), ("if UINT_MAX < 0u - 2", True),
        ('line 7 "own.c"\n#if __LINE__ == 7', True), ("line 7\n\n\n#if 0\n#elif __LINE__ == 10", True),
        ("line 7 /* and\n*/\n\n#line 3\n\n#if __LINE__ == 4", True), ("line 2\n#if __LINE__ == 1", False),
        ("ifdef WIDE", True), ("include <math.h>\n#if defined(HUGE_VAL) && !defined(NO)", True),
    ],
)  # fmt: skip
def test_conditions_hold_where_they_hold_for_c(condition: str, holds: bool) -> None:
    text = f"#{condition}\nfloat f(float x, OUT float *y)\n#else\ndouble f(double x, OUT double *y)\n#endif\n"
    text += "{ *y = sizeof x; return sizeof *y; }"
    for f in (vectorize(text, define_macros=["WIDE"]), library("t", source=text, define_macros=["WIDE"]).f):
        for result in f(np.zeros(3, "f4")):
            assert result.tolist() == [result.itemsize] * 3 and (result.itemsize == 4) == holds


def test_conditions_behind_files_that_need_the_text(tmp_path: pathlib.Path) -> None:
    """C cannot compile such a file alone, but its macros and the compiler's are known nevertheless."""
    (tmp_path / "own.h").write_text("#define OWN 1\nstatic real half(real x) { return x / 2; }\n")
    text = 'typedef double real;\n#include "own.h"\n#if OWN && defined M_PI && __LINE__ == 3\n'
    text += "real f(real x)\n#else\nint f(int x)\n#endif\n{ return half(x); }"
    assert vectorize(text, include_dirs=[tmp_path])(3.0) == 1.5
    assert library("t", source=text, include_dirs=[tmp_path]).f(3.0) == 1.5


def test_macros_behind_a_file_are_not_those_of_the_file(tmp_path: pathlib.Path) -> None:
    (tmp_path / "own.h").write_text("#ifdef LATER\n#define EARLY\n#endif\n")
    text = '#include "own.h"\n#define LATER\n#ifdef EARLY\nint\n#else\nfloat\n#endif\n'
    text += "f(float x) { return x; }"
    assert vectorize(text, include_dirs=[tmp_path])(np.float32(1.5)) == 1.5


def test_asking_which_conditions_hold_warns_of_nothing() -> None:
    text = f"#define M_PI 3\n#if M_PI == 3\n{GOOD}\n#endif"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert vectorize(text)(2.0) == 2
    assert [str(each.message) for each in caught] == ["M_PI redefined"]


def test_macros_without_end() -> None:
    deep = "#define M0 double\n" + "".join(f"#define M{k + 1} M{k}\n" for k in range(900))
    wide = "#define M0 double\n" + "".join(f"#define M{k + 1} M{k} M{k}\n" for k in range(900))
    for text in (deep, wide):
        assert refused(f"{text}{GOOD}\ndouble g(M900 x) {{ return x; }}", "macros").lineno == 903
        assert refused(f"{text}#if M900\n#endif\n{GOOD}", "#if: macros").lineno == 902
        text = f"{text}#if M900\n#endif\n{GOOD}"
        error = refuses(cwrapjit.CompileError, lambda text=text: library("t", source=text), "#if: macros")
        assert error.lineno == 902
    many = "#define M0 + 1\n" + "".join(f"#define M{k + 1} M{k} M{k}\n" for k in range(15))
    assert vectorize(f"{many}\ndouble f(double x) {{ return x M15; }}")(0.0) == 2**15


def test_a_text_whose_conditions_leave_no_function() -> None:
    for text in (f"#ifdef ON\n{GOOD}\n#endif", f"#if 0\n{GOOD}\n#else\nint x;\n#endif"):
        refuses(ValueError, lambda text=text: vectorize(text), "defines no function; its #if leaves text out")
    assert vectorize(f"#ifdef ON\n{GOOD}\n#endif", define_macros=["ON"])(2.0) == 2


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("#if 1 +\n#endif\ndouble f(double x) { return x; }", "#if", 1),
        ("double f(double x\n#else\n) { return x; }", "#else without #if", 2),
        ("#ifdef T\ntypedef T t;\n#else\ntypedef int t;\n#endif\nint f(T x, OUT t *y) { }", "asks for it", 6),
        ("#define ARGS double x, vector y\n\ndouble f(ARGS) { return x; }", "y is a vector, which is no", 3),
        ("#define ARGS double x, double x\n\ndouble f(ARGS) { return x; }", "two parameters are called x", 3),
    ],
)  # fmt: skip
def test_faults_of_directives_have_places(text: str, message: str, line: int) -> None:
    assert refused(text, message).lineno == line


@pytest.mark.parametrize(
    "comment", ['/* #include "x.h" */', "// #define conj\n", "#if 0\n#define conj\n#endif\n"]
)
def test_directives_in_comments_are_none(comment: str) -> None:
    assert vectorize(f"{comment} npy_complex128 f(npy_complex128 x) {{ return conj(x); }}")(2j) == -2j


@pytest.mark.parametrize("text", ["\ufeffREAL", "REAL // −\nx−1", 'REAL "−" 1\u00a0'])
def test_what_word_processors_write_is_no_character_of_c(text: str) -> None:
    text = text.replace("REAL", "double f(double x) { return x + sizeof") + "; }"
    name = "ZERO WIDTH" if "\ufeff" in text else "MINUS SIGN" if "x−1" in text else "NO-BREAK SPACE"
    refuses(cwrapjit.CompileError, lambda: vectorize(text), "is no character of C", name.lower())


@pytest.mark.row("K13")
def test_names_that_python_cannot_have() -> None:
    f = vectorize("double lambda(double in, double output, double out) { return in + 10 * output + out; }")
    assert f.__name__ == "lambda_"
    assert f(in_=1.0, output_=2.0, out_=0.5) == 21.5
    assert vectorize("int f(unsigned int, int *);\nint g(long x) { return 3; }").__name__ == "g"


@pytest.mark.row("K13")
def test_name_doc_and_options() -> None:
    f = vectorize(
        "double f(double x) { return x * FACTOR; }", name="g", doc="Times.", define_macros=[("FACTOR", "3")],
        optimize="off", threads=2, unordered=True,
    )  # fmt: skip
    assert f.__name__ == "g" and f.__doc__ == "Times." and f(2.0) == 6.0
    assert f.tier == "tcc"


@pytest.mark.row("K13")
def test_hot_and_fast_as_function() -> None:
    compiler()
    text = "static double square(double x) { return x * x; }\n"
    text += "double f(double x, double y) { return square(x) > y ? x : y; }"
    f = vectorize(text)
    x = np.linspace(-1, 1, 1001)
    cold = f(x, x[::-1])
    assert f.wait() and f.tier == "cc"
    np.testing.assert_array_equal(f(x, x[::-1]), cold)


@pytest.mark.row("K13")
def test_the_rest_of_function_is_there() -> None:
    f = vectorize("double plus(double x, double y) { return x + y; }", identity=0, associative=True)
    assert f.ufunc.reduce(np.ones((3, 4))).tolist() == [3] * 4
    assert "plus" in f.source and f.address and f.diagnose() in ([], None)


@pytest.mark.row("K13")
def test_no_arguments() -> None:
    f = vectorize("int answer(void) { return 42; }")
    assert f() == 42
    assert f(out=np.zeros(3, "i4")).tolist() == [42] * 3


# ---- several types --------------------------------------------------------------------------------------


@pytest.mark.row("K16")
def test_given_types_are_type_sets_of_one_function() -> None:
    f = vectorize(LARGER, T=("f4", np.float64, "i8"))
    assert type(f) is cwrapjit.Function
    assert f.types == ("float32, float32 -> float32", "float64, float64 -> float64", "int64, int64 -> int64")
    for dtype in ("f4", "f8", "i8"):
        x, y = np.array([1, 5], dtype), np.array([3, 2], dtype)
        assert f(x, y).tolist() == [3, 5] and f(x, y).dtype == dtype
    assert f(1, 2).dtype == "i8" and f(1.5, 2.5).dtype == "f8" and f(1.5, 2).dtype == "f8"
    assert (
        f(np.float32(1), 2).dtype == "f4" and f(np.int8(1), np.int8(2)).dtype == "f4"
    )  # the first safe type set
    refuses(TypeError, lambda: f(1j, 2), "no type set fits")
    assert vectorize(LARGER, T="f4").types == ("float32, float32 -> float32",)
    assert vectorize(LARGER, T=["f4", "f4"]).types == ("float32, float32 -> float32",)


@pytest.mark.row("K16")
def test_what_the_text_defines_is_there_once_for_each_type() -> None:
    text = """
        #include <math.h>
        #define HALF(v) ((v) / 2)
        typedef struct node { T x, y; } node;
        struct pair { T x; };
        typedef T number;
        enum { ONE = 1, TWO };
        static const T table[] = {1, 2, 3}, *end = table + TWO;
        static int calls;
        static number square(number x) { calls++; return x * x; }
        T f(T x, int k, OUT T *y)
        {
            node p = {x, 1};
            struct pair q = {ONE};
            *y = HALF(x);
            return square(p.x) + table[k] * q.x + *end + sizeof(T) + calls;
        }"""
    f = vectorize(text, T=("f4", "f8", "i8", "u1"))
    for dtype in ("f4", "f8", "i8", "u1"):
        one, other = f(np.array([3], dtype), 1)
        assert one.dtype == other.dtype == dtype
        assert one[0] == 9 + 2 + 3 + np.dtype(dtype).itemsize + 1
        assert other[0] == (1.5 if dtype[0] == "f" else 1)


@pytest.mark.row("K16")
def test_errors_of_any_type_are_in_the_users_lines() -> None:
    text = "static T odd(T x)\n{\n    return x % 2;\n}\nT f(T x) { return odd(x); }"
    for types in (("f4",), ("i8", "f4"), ("u1", "i2", "f8")):
        error = refused(text, "operand", T=types)
        assert error.lineno == 3 and error.text is not None and error.text.strip() == "return x % 2;"


@pytest.mark.row("K16")
@pytest.mark.parametrize(("name", "short"), list(zip(NAMES, SORTS, strict=True)))
def test_a_deduced_type_is_that_of_the_arguments(name: str, short: str) -> None:
    x, y = np.array([0, 1, 1]).astype(short), np.array([1, 0, 1]).astype(short)
    result = DEDUCED(x, y)
    assert result.dtype == short and result.tolist() == [1, 1, 1]
    assert DEDUCED(x, y) is not result and DEDUCED.functions[name].types == (f"{name}, {name} -> {name}",)


DEDUCED = vectorize(LARGER)


@pytest.mark.row("K16")
@settings(max_examples=80, deadline=None)
@given(st.lists(st.sampled_from([*SORTS, True, 2, 2.5]), min_size=2, max_size=2))
def test_deduced_as_numpy_promotes(kinds: list[Any]) -> None:
    values = [np.array([1, 0]).astype(each) if isinstance(each, str) else each for each in kinds]
    try:
        wanted = np.maximum(*values)
    except OverflowError:
        return
    if tuple(map(int, np.__version__.split(".")[:1])) < (2,) and any(
        not isinstance(each, str) for each in kinds
    ):
        return  # NumPy 1 looks at values
    result = DEDUCED(*values)
    assert result.dtype == wanted.dtype
    np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize(
    "call",
    [
        'cwrapjit.vectorize("T f(T x, double y, unsigned long n) { return x + y + n; }")(1, 2, 3)',
        'cwrapjit.vectorize("T f(const T x[n][3], size_t n, uint8_t k) { return x[n - 1][0] + k; }")(x, 2)',
        'cwrapjit.vectorize("void f(int n, INOUT double x[n], OUT double y[n][n]) { y[0][0] = *x; }")(x[0])',
    ],
)
def test_little_is_imported_for_plain_functions(call: str) -> None:
    """The first function of a process must not take much longer than later ones."""
    code = f"""
        import sys, cwrapjit, numpy
        known, x = set(sys.modules), numpy.ones((2, 3))
        {call}
        print(*sorted(name for name in set(sys.modules) - known if "." not in name or "cwrapjit" in name))
    """
    wanted = (
        "cwrapjit._comments cwrapjit._content cwrapjit._tokens cwrapjit.kernels cwrapjit.kernels.directives "
    )
    wanted += (
        "cwrapjit.kernels.numbers cwrapjit.kernels.scalars cwrapjit.kernels.text cwrapjit.kernels.vectorize"
    )
    assert python(textwrap.dedent(code)).stdout.strip() == wanted


@pytest.mark.row("K16")
def test_lists_are_resolved_once() -> None:
    f = vectorize("void f(T x, INOUT T *sum, float k, OUT T *y) { *sum += x; *y = k * x; }")
    kernel = ElementwiseKernel("T x, T y", "T z", "z = x + y")
    for x in ([1.0, 2.0], (3.0, 4.0)):
        total = np.zeros(2)
        assert f(x, total, 2.0).tolist() == [2 * x[0], 2 * x[1]] and total.tolist() == [*x]
        assert kernel(x, [1.0, 1]).tolist() == [x[0] + 1, x[1] + 1]
    assert len(f.combinations) == len(kernel.combinations) == 1
    for x in ([1.0, 2.0], (3.0, 4.0)):
        assert f(sum=np.zeros(2), k=2.0, x=x).tolist() == [2 * x[0], 2 * x[1]]
    assert len(f.combinations) == 2, "known at the second call"
    refuses(TypeError, lambda: f(x=[1.0], sum=[0.0], k=2.0), "list")
    refuses(TypeError, lambda: f([1.0], np.zeros(1), 2.0, out=[0.0]), "list")
    refuses(TypeError, lambda: f([1.0], [0.0], 2.0), "list")  # the updated list would be lost
    refuses(TypeError, lambda: kernel([1.0], [1.0], [0.0]), "list")
    assert f.functions.keys() == {"float64"}


@pytest.mark.row("K16")
def test_each_combination_is_compiled_once() -> None:
    f = vectorize(LARGER)
    assert f.functions == {} and f.types == ()
    for x, y in ((1.0, 2.0), (np.zeros(3), 1), (np.zeros(3), np.zeros(3, "f4")), ([1.0], 1)):
        f(x, y)
    f(y=np.zeros(1), x=1)
    (only,) = f.functions.values()
    assert f.types == only.types and all(each is only for each in f.combinations)
    assert f.signature == "x(), y() -> output()" and f.__name__ == "larger"
    assert list(inspect.signature(f).parameters) == ["x", "y", "out"]
    out = np.zeros(2, "f4")
    assert f(np.float32(1), out, out=np.empty(2, "f4")).dtype == "f4"
    refuses(TypeError, lambda: f(1.0, 2.0, out=out), "no type set fits")


@pytest.mark.row("K16")
def test_fixed_types_do_not_decide() -> None:
    f = vectorize("T scaled(T x, double factor, OUT long *count) { *count = sizeof(T); return x * factor; }")
    result, count = f(np.array([2, 4], "i2"), 1.5)
    assert result.dtype == "i2" and result.tolist() == [3, 6] and count.tolist() == [2, 2]


@pytest.mark.quick
@pytest.mark.row("K16")
def test_what_cannot_be_deduced() -> None:
    error = refused("double g(double x) { return 0; }".replace("double g", "T g"), "no input of g.. is a T")
    assert (error.lineno, error.offset) == (1, 3)
    f = vectorize(LARGER)
    for value in (np.zeros(2, "M8[s]"), "text", object(), None, np.zeros(2, "V8"), [1, "a"]):
        refuses(TypeError, lambda value=value: f(value, 1), "T cannot be deduced: argument 'x'")
    with pytest.raises(TypeError, match=r"common type is c?longdouble|common type is complex256"):
        f(np.zeros(2, "g"), 2j)
    refuses(TypeError, lambda: f(1), "'y'")
    with pytest.raises(OverflowError):
        f(2**70, 1)
    assert vectorize("T g(int x) { return x + sizeof(T); }", T=("f8",))(1) == 9.0


@pytest.mark.row("K16")
def test_a_type_for_which_the_text_does_not_compile() -> None:
    f = vectorize("T odd(T x)\n{\n    return x % 2;\n}")
    assert f([3, 4]).tolist() == [1, 0]
    for _ in range(2):
        with pytest.raises(cwrapjit.CompileError, match="operand") as caught:
            f([0.5])
        assert caught.value.lineno == 3
    assert f(5) == 1


@pytest.mark.row("K16")
def test_threads_and_lifetimes() -> None:
    f = vectorize(LARGER)
    results: list[Any] = []

    def call() -> None:
        results.extend(f(np.ones(3, dtype), 2).tolist() for dtype in SORTS[1:])

    threads = [threading.Thread(target=call) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert results == [[2, 2, 2]] * 40
    assert f.wait() in (True, False)
    assert pickle.loads(pickle.dumps(f)) is f
    assert ends()


def ends() -> bool:
    f = vectorize(LARGER)
    f(1, 2)
    f.me = f
    seen = weakref.ref(f)
    del f
    gc.collect()
    return seen() is None


# ---- what is refused ------------------------------------------------------------------------------------


@pytest.mark.row("K16")
@pytest.mark.parametrize(
    ("text", "message", "line", "column"),
    [
        ("double f(int x) { return x; }\ndouble g(int x) { return x; }", "one function.* has 2: f, g", 2, 8),
        ("double f(int x) { return x; }\n\n double f(float x) { return x; }", "two .*called f: .* 1", 3, 9),
        ("double f(int n,\n         vector v) { return 0; }", "v is a vector, which is no number", 2, 10),
        ("double f(double *x) { return *x; }", "x is a pointer: OUT", 1, 18),
        ("double f(OUT double x) { return x; }", "x is no pointer: OUT stands", 1, 21),
        ("double f(OUT const double *x) { return *x; }", "x points to const: OUT", 1, 28),
        ("double f(double (*g)(double)) { return 0; }", "g is a function: callbacks", 1, 19),
        ("double f(double x, ...) { return x; }", "variable number of arguments", 1, 8),
        ("void f(double x) { }", "f.. has no result", 1, 1),
        ("double *f(double x) { return 0; }", "returns a pointer", 1, 1),
        ("double f(double complex z) { return 0; }", "libtcc has no _Complex", 1, 10),
        ("double f(double x, double x) { return 0; }", "two parameters are called x", 1, 27),
        ("unsigned T f(T x) { return 0; }", "T alone stands for a type", 1, 1),
        ("void *f(double x) { return 0; }", "returns a pointer", 1, 1),
        ("f(double x) { return x; }", "f.. has no type in front", 1, 1),
        ("double f(x) { return x; }", "x has no type, as in `double x`", 1, 10),
        ("double f(double x, y) { return x; }", "y has no type, as in `double y`", 1, 20),
        ("double f(float64) { return 0; }", "NumPy's name: C's is double", 1, 10),
        ("double größe(double x) { return x; }", "größe is not ASCII.*name=", 1, 8),
        ("double f(double x)\n{\n    return y;\n}", "'y' undeclared", 3, None),
        ("double f(double x)\n{\n    return undeclared(x);\n}", "undeclared", 3, None),
    ],
)  # fmt: skip
def test_faults_of_the_text_have_places(text: str, message: str, line: int, column: int | None) -> None:
    error = refused(text, message)
    assert error.lineno == line and error.text is not None and error.text.strip() in text
    assert column is None or error.offset == column
    assert error.errors and error.filename is not None and error.filename.startswith("<cwrapjit ")


BROKEN = [
    ("double f(double x)\n{\n    if (x > 0 {\n        return x;\n    }\n    return 0;\n}\n", "'('", 3, 8),
    ("double f(double x)\n{\n    double y[3;\n    return x;\n}\n", "'['", 3, 13),
    ("double f(double x)\n{\n    return x;\n", "'{'", 2, 1),
    ("double f(double x\n{\n    return x;\n}\n", "'('", 1, 9),
    ("double f(const double x[n, int n)\n{\n    return x[0];\n}\n", "'['", 1, 24),
    ("double f(double x) {\n    puts(\"(\");\n    return x > ')' ? (x : 0;\n}\n", "'('", 3, 22),
]


@pytest.mark.row("K13")
@pytest.mark.parametrize(("text", "bracket", "line", "column"), BROKEN)
def test_an_unclosed_bracket_is_where_it_was_opened(text: str, bracket: str, line: int, column: int) -> None:
    for work in (
        lambda: vectorize(text),
        lambda: cwrapjit.library("t", source=f"{text}"),
        lambda: cwrapjit.function(
            "f", signature="x() -> y()", header=text, Ccode_slice_eval={np.float64: "return true;"}
        ),
        lambda: ElementwiseKernel("T x", "T y", "y = x", preamble=text)(X),
    ):
        error = refuses(cwrapjit.CompileError, work, f"{bracket} is not closed")
        assert (error.lineno, error.offset) == (line, column) and error.text == text.split("\n")[line - 1]
    error = refuses(
        cwrapjit.CompileError,
        lambda: cwrapjit.function(
            "f", signature="x() -> y()", Ccode_slice_eval={np.float64: "if (item__x() {\n} return true;"}
        ),
        "'(' is not closed",
    )
    assert (error.lineno, error.offset) == (1, 4)
    for more in ")}]":
        text = f"double f(double x)\n{{ return x; {more} }}"
        error = refuses(cwrapjit.CompileError, lambda text=text: vectorize(text), "closes nothing")
        assert (error.lineno, error.offset) == (2, 15 if more == "}" else 13)


@pytest.mark.row("K13")
def test_bad_arguments() -> None:
    for text in (
        "",
        "x * x",
        "static double f(double x) { return x; }",
        "double f(double x);",
        "#",
    ):
        refuses(ValueError, lambda text=text: vectorize(text), "the text defines no function")
    assert vectorize("double psat(double T) { return T; }")(T=2) == 2
    refuses(TypeError, lambda: vectorize("double f(double x) { return x; }", colour=1), "'colour'")
    refuses(TypeError, lambda: vectorize(LARGER, T=("f8", "M8")), "T has")
    refuses(cwrapjit.CompileError, lambda: vectorize("double f(double x) { return x; }\0"), "NUL")


def test_paths_in_place_of_texts_are_named() -> None:
    hint = "wanted C text, not a path: read it, pathlib.Path('src/half.c').read_text()"
    library = cwrapjit.library
    refuses(ValueError, lambda: vectorize("src/half.c"), "vectorize(): the text defines no function", hint)
    refuses(ValueError, lambda: library("l").declare("src/half.c"), "l.declare()", hint, "#include")
    refuses(cwrapjit.CompileError, lambda: library("l", source="src/half.c"), hint)
    words: dict[str, Any] = {"signature": "-> y()", "Ccode_slice_eval": {float: "src/half.c"}}
    refuses(cwrapjit.CompileError, lambda: cwrapjit.function("f", **words), hint)


@pytest.mark.row("K13")
@settings(max_examples=150, deadline=None)
@given(st.text("(){}[];,*=#\"'/\\ \nTOUT double int x f . static enum typedef struct 1", max_size=60))
def test_any_text_is_taken_or_refused(text: str) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cwrapjit.CompileWarning)
            vectorize(text)
    except (ValueError, cwrapjit.CompileError):
        pass


@pytest.mark.row("K13")
@pytest.mark.parametrize(
    ("character", "name"),
    [
        ("\u00a0", "no-break space"),
        ("\u2212", "minus sign"),
        ("\ufeff", "zero width"),
        ("\u201c", "left double"),
    ],
)
def test_characters_of_word_processors(character: str, name: str) -> None:
    error = refused(f"double f(double x)\n{{\n    return {character} x;\n}}", name)
    assert (error.lineno, error.offset) == (3, 12)
    comment = f'/* {character} */ // {character}\n#define S "{character}"\n#if 0\n{character}\n#endif\n'
    assert vectorize(f"{comment}double f(double x) {{ return x + sizeof(S) * 0; }}")(2) == 2


@pytest.mark.row("K13")
def test_names_beyond_ascii() -> None:
    wave = vectorize("double wave(double λ, double größe) { return größe / λ; }")
    assert wave(λ=2, größe=3) == 1.5
    assert wave.wait() in (True, False)
    assert wave(4, 1) == 0.25


@pytest.mark.row("K16")
def test_what_a_deduced_function_does_not_have() -> None:
    plus = vectorize("T plus(T x, T y) { return x + y; }")
    for name in ("ufunc", "address", "capsule", "explain"):
        with pytest.raises(AttributeError, match=rf"plus\(\): \.{name} is of types that are known: T="):
            getattr(plus, name)
    with pytest.raises(AttributeError, match="'Deduced' object has no attribute 'colour'"):
        getattr(plus, "colour")  # noqa: B009
    assert plus(1.5, 1) == 2.5
    assert plus.functions["float64"].ufunc(1.5, 1) == 2.5


@pytest.mark.row("K13")
def test_debug_shows_the_line() -> None:
    f = vectorize("int quotient(int x, int y)\n{\n    return x / y;\n}", debug=True)
    with pytest.raises(cwrapjit.Fault) as caught:
        f(1, 0)
    assert caught.value.lineno == 3 and "x / y" in (caught.value.text or "")
    assert f(6, np.array([2, 3], "i4")).tolist() == [3, 2]


@pytest.mark.row("K13")
@pytest.mark.parametrize("inside", ["\n{\n    ", " { "])
@pytest.mark.parametrize(
    "head", ["OUT double *y, const double x[n], int n", "OUT double y[n], const double x[n], int n"]
)
def test_texts_with_outputs_show_the_line_as_it_was_written(head: str, inside: str) -> None:
    """A macro may have expanded the line, and dims that C does not know yet were removed from it."""
    text = (
        f"static double one = 1;\nvoid f({head}){inside}y[0] = one / *(volatile int *)(npy_intp)(n - 2); }}"
    )
    line = 2 + inside.count("\n")
    for made in vectorize(text, debug=True), cwrapjit.library("t", source=text, debug=True).f:
        fault = refuses(cwrapjit.Fault, lambda made=made: made([1.0, 2.0]), "SIGSEGV")
        assert (fault.lineno, fault.text) == (line, text.split("\n")[line - 1].strip())
        assert str(fault).endswith(f"line {line}: {fault.text}")
    wrong = text.replace("one / ", "two / ")
    for define in vectorize, lambda text: cwrapjit.library("t", source=text):
        error = refuses(cwrapjit.CompileError, lambda define=define: define(wrong), "'two' undeclared")
        assert error.lineno == line and error.text.rstrip("\n") == wrong.split("\n")[line - 1]


# ---- arrays -------------------------------------------------------------------------------------------

DOT = """T dot(int n, const T x[n], const T y[n], T by)
{
    T sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum * by;
}"""


@pytest.mark.row("K15")
def test_a_function_of_arrays() -> None:
    f = vectorize(
        "static double mean(double a, double b) { return (a + b) / 2; }\n"
        "void folded(OUT double y[n], const double x[n], int n)\n"
        "{ for (int i = 0; i < n; i++) y[i] = mean(x[i], x[n - 1 - i]); }"
    )
    assert type(f) is cwrapjit.Function and f.signature == "x(n) -> y(n)"
    x = np.arange(24.0).reshape(2, 3, 4) ** 2
    np.testing.assert_array_equal(f(x), (x + x[..., ::-1]) / 2)
    f.wait()
    np.testing.assert_array_equal(f(x), (x + x[..., ::-1]) / 2)
    np.testing.assert_array_equal(f(x[..., ::2]), (x[..., ::2] + x[..., 2::-2]) / 2)
    np.testing.assert_array_equal(f(range(4)), np.full(4, 1.5))


@pytest.mark.quick
@pytest.mark.row("K16")
def test_arrays_of_t() -> None:
    f, g = vectorize(DOT), vectorize(DOT, T=("f4", "f8", "i8"))
    assert f.signature == g.signature == "x(n), y(n), by() -> output()"
    assert list(inspect.signature(f).parameters) == ["x", "y", "by", "out"]
    for dtype in ("f4", "f8", "i8"):
        x = np.arange(6, dtype=dtype).reshape(2, 3)
        for each in (f, g):
            assert each(x, x[0], 2).tolist() == [10, 28] and each(x, x, 2).dtype == dtype
    assert list(f.functions) == ["float32", "float64", "int64"]
    assert f(np.ones(3, "f4"), np.ones(3), 1).dtype == "f8"
    refuses(TypeError, lambda: g(np.ones(3, "c8"), np.ones(3), 1), "no type set fits")
    three = vectorize("#define N 3\nvoid twice(INOUT T x[N], OUT T *first) { *first = x[0]; x[1] *= 2; }")
    x = np.arange(6, dtype="i2").reshape(2, 3)
    assert three(x).tolist() == [0, 3] and x.tolist() == [[0, 2, 2], [3, 8, 5]]


def test_the_argument_that_is_no_array_is_named() -> None:
    """The message is NumPy's. C looks at lists that are given by position."""
    ragged = [[1, 2], [3]]
    g = vectorize("T g(T x, T y) { return x + y; }")
    e = cwrapjit.ElementwiseKernel("T x, T y", "T z", "z = x + y", "e")
    r = cwrapjit.ReductionKernel("T x, float64 y", "T z", "x * y", "a + b", "z = a", "0", "r")
    for function in (g, e, r):
        who = f"{function.__name__}(): argument"
        refuses(ValueError, lambda f=function: f(ragged, 1.0), f"{who} 'x'", "inhomogeneous")
        refuses(ValueError, lambda f=function: f(1.0, ragged), f"{who} 'y'", "inhomogeneous")
    refuses(ValueError, lambda: g(y=1.0, x=ragged), "g(): argument 'x'", "inhomogeneous")


MOMENTS = """
__attribute__((noinline)) void moments(const T x[n], int n, %s)
{
    FIRST = SECOND = 0;
    for (int i = 0; i < n; i++) {
        FIRST += x[i];
        SECOND += x[i] * x[i];
    }
}"""


@pytest.mark.compiler("asks what it makes of the loop")
@pytest.mark.plain("loops with checks of a sanitizer are other loops")
@pytest.mark.parametrize("kind", ["OUT T y[2]", "INOUT T y[2]", "/* out */ T *y, OUT T *z"])
def test_compilers_know_that_outputs_are_apart(kind: str) -> None:
    second = "*z" if "z" in kind else "y[1]"
    text = (MOMENTS % kind).replace("FIRST", "y[0]").replace("SECOND", second)
    for options in ({}, {"inplace": True}):
        f = vectorize(text, T="f8", fastmath=True, **options)
        loops = [loop["vectorized"] for loop in f.explain().loops if loop["line"] == 5]
        assert loops == [not options], (kind, options)


@pytest.mark.compiler("compares both tiers")
@pytest.mark.parametrize("tier", ["off", "eager"])
def test_what_may_overlap_is_not_said_to_be_apart(tier: str, tmp_path: pathlib.Path) -> None:
    """With restrict, a compiler would assume that `after` equals `before`."""
    text = "void f(const double x[2], OUT double y[2])\n{ double before = x[0]; y[0] = before + 1; %s }"
    f = vectorize(text % "double after = x[0]; y[1] = after - before;", inplace=True, optimize=tier)
    x = np.array([1.0, 2.0])
    assert f(x, out=x).tolist() == [2, 1]
    own = vectorize(
        "double f(double x, INOUT double *a, INOUT double *b)\n"
        "{ if (x > 0) return f(-1, a, a); double before = *a; *b = before + 1; return *a - before; }",
        optimize=tier,
    )
    assert own(1, np.ones(1), np.ones(1)).tolist() == [1] == [*own(1, np.zeros(1), np.ones(1))]
    (tmp_path / "apply.h").write_text("static double apply(double (*f)(double), double x) { return f(x); }\n")
    including = (
        '#include <math.h>\n#include "apply.h"\nvoid f(double x, OUT double *y) { *y = apply(sqrt, x); }'
    )
    assert vectorize(including, include_dirs=[tmp_path], optimize=tier)(9.0) == 3
    chosen = "void f(T x, OUT T *y\n#if 1\n, int k\n#endif\n)\n{ *y = x + k; }"
    assert vectorize(chosen, T=("f4", "f8"), optimize=tier)(np.ones(2), 1).tolist() == [2, 2]


@pytest.mark.row("K15")
@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("double f(const double x[n]) { return 0; }", "is `int n` missing among the parameters", 1),
        ("double f(const double x[], int n) { return 0; }", "x.n., beside `int n`, is an array", 1),
        ("void f(const double x[n], int n, double *y) { }", "OUT in front of it makes it a result", 1),
        ("void f(const double x[n], int n) { }", "takes or gives nothing", 1),
        ("\ndouble f(const double x[n + 1], int n) { return x[n]; }", "the dim n \\+ 1 of x is computed", 2),
        (
            "void f(int n, OUT double x[n]) { }",
            "no argument has the dim n of x; library.source=. makes it an argument",
            1,
        ),
        ("void f(const T x[n], OUT T y[n - m], int n, int m) { }", "no argument has the dim m of y .<", 1),
        ("double f(int n,\n const foo x[n]) { return 0; }", "foo is not a known type", 2),
        (
            "double f(const double x[n],\n const double *y, int n) { return 0; }",
            "y is a pointer without dims",
            1,
        ),
        ("double f(int n, OUT const double x[n]) { return 0; }", "points to const", 1),
        ("double f(const double a[n][m], int n, int m) { return 0; }", "m stands behind a", 1),
        ("double f(int n, const double x[n])\n{\n    return z;\n}", "'z' undeclared", 3),
        ("T f(int n, const double x[n]) { return 0; }", "T cannot be deduced", 1),
    ],
)
def test_faults_of_arrays_have_places(text: str, message: str, line: int) -> None:
    error = refused(text, message)
    assert error.lineno == line


@pytest.mark.row("K15")
def test_arrays_of_characters() -> None:
    text = "int sum(int n, const {} x[n]) {{ int s = 0; while(n > 0) s += x[--n]; return s; }}"
    for word, dtype in ("unsigned char", "u1"), ("signed char", "i1"), ("T", "u1"):
        f = vectorize(text.format(word))
        assert f(np.arange(6, dtype=dtype).reshape(2, 3)).tolist() == [3, 12]
    assert vectorize(text.format("unsigned char"))(b"\1\2") == vectorize(text.format("char"))("\1\2") == 3
    whole = cwrapjit.function(
        "f",
        signature="x(n), s() -> y()",
        Ccode_slice_eval={(np.uint8, np.dtype("S2"), np.int64): "item__y() = dims_slice__x[0]; return 1;"},
    )
    assert whole(b"abc", b"de") == 3  # without dims NumPy decides
    texts = cwrapjit.function(
        "f",
        signature="x(n) -> y()",
        Ccode_slice_eval={
            (np.dtype("S2"), np.int64): "item__y() = dims_slice__x[0]; return 1;",
            (np.uint8, np.int64): "item__y() = -1; return 1;",
        },
    )
    assert texts([b"ab", b"cd"]) == 2 and texts(np.zeros(1, "u1")) == -1


# ---- structs ----------------------------------------------------------------------------------------------

HIT = np.dtype([("k", "u1"), ("at", [("x", "f8"), ("y", "f8")], (2,)), ("z", "c16")], align=True)
HITS = np.zeros((2, 3), HIT)
HITS["k"] = np.arange(6).reshape(2, 3)
HITS["at"]["y"][..., 1] = HITS["k"] / 2
POINTS = "struct point { double x, y; };\n"
ONE = "typedef struct { unsigned char k; struct point at[2]; npy_complex128 z; } hit;\n"
TAGGED = "struct hit { unsigned char k; struct point at[2]; npy_complex128 z; };\n"
SAME = "typedef struct hit { unsigned char k; struct point at[2]; npy_complex128 z; } hit;\n"


@pytest.mark.row("K15")
@pytest.mark.compiler("asks for the cc tier")
@pytest.mark.parametrize(
    ("text", "hit", "optimize"),
    [(ONE, "hit", "off"), (TAGGED, "struct hit", "off"), (SAME, "hit", "eager"), (SAME, "struct hit", "off")],
)
def test_structs_are_structured_arrays(text: str, hit: str, optimize: str) -> None:
    """Structs are passed in arrays and alone, as inputs and outputs."""

    def made(head: str, body: str) -> Any:
        return vectorize(f"{POINTS}{text}{head} {{ {body} }}".replace("HIT", hit), optimize=optimize)

    total = made(
        "double total(const HIT h[n], int n)",
        "double sum = 0; while(n-- > 0) sum += h[n].at[1].y; return sum;",
    )
    assert total.signature == "h(n) -> output()" and total(HITS).tolist() == [1.5, 6]
    assert total(HITS[:, ::-1].copy()).tolist() == [1.5, 6]
    back = made(
        "void back(const HIT h[n], int n, OUT HIT g[n])", "for(int i = 0; i < n; i++) g[n - 1 - i] = h[i];"
    )
    assert back(HITS).dtype == HIT and (back(HITS) == HITS[:, ::-1]).all()
    key = made("int key(HIT h, double x)", "return h.k + (int)x;")
    assert key(HITS[:, ::-2], [[1], [2]]).tolist() == [[3, 1], [7, 5]] and key(HITS[1, 1], 0) == 4
    moved = made("HIT moved(HIT h, double x)", "h.at[0].x = x; return h;")
    assert moved(HITS, 2.5)["at"]["x"][..., 0].tolist() == [[2.5] * 3] * 2
    assert (moved(HITS, 0) == HITS).all() and moved(HITS[0, 0], 1).dtype == HIT
    split = made("void split(HIT h, OUT struct point *p, OUT HIT *g)", "*p = h.at[1]; *g = h; g->k++;")
    point, more = split(HITS)
    assert (point == HITS["at"][..., 1]).all() and (more["k"] == HITS["k"] + 1).all()
    bump, own = made("void bump(INOUT HIT *h, long by)", "h->k += by;"), HITS.copy()
    assert bump(own, [[1], [2]]) is None and (own["k"] == HITS["k"] + [[1], [2]]).all()
    refuses(TypeError, lambda: total(HITS["at"][..., 0]), "no type set fits: 'h'")
    assert pickle.loads(pickle.dumps(total))(HITS).tolist() == [1.5, 6]


@pytest.mark.row("K16")
def test_structs_beside_a_type_that_calls_say() -> None:
    f = vectorize(f"{POINTS}T along(struct point p, T x) {{ return p.y * x; }}")
    points = HITS["at"][0, :, 1].copy()
    assert f(points, np.float32([2, 4, 6])).tolist() == [0, 2, 6] and f(points, 2).dtype == np.int64
    with_types = vectorize(
        f"{POINTS}T first(const struct point p[n], int n, T x) {{ return p->y * x; }}", T="f4 i8".split()
    )
    assert with_types(points[1:], np.float32(3)) == 1.5 and len(with_types.types) == 2


@pytest.mark.row("K15")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("struct s { double *x; };\nint f(struct s a) { return 0; }", "a is struct s, which has"),
        ("struct s { double *x; };\nint f(const struct s a[n], int n) { return 0; }", "array of struct s"),
        ("struct s { int x; };\nint f(const struct s *a) { return 0; }", "a is a pointer without dims"),
        ("struct s { int x : 3; };\nint\tf(struct s a) { return 0; }", "a is struct s, which has members"),
        ("struct s;\nint f(struct s a) { return 0; }", "a is struct s by value: what it consists of"),
        ("struct s { int x; };\nint f(OUT const struct s *a) { return 0; }", "points to const: OUT"),
    ],
)  # fmt: skip
def test_structs_that_numpy_has_not(text: str, message: str) -> None:
    assert refused(text, message).lineno == 2


# ---- pragmas, and many parameters ----------------------------------------------------------------------


@pytest.mark.compiler("asks for the cc tier")
@pytest.mark.parametrize("optimize", ["off", "eager"])
def test_pragmas_as_words(optimize: str) -> None:
    """Pragmas stand in statements, in macros, between declarations; in slices, kernels and libraries."""
    loop = '_Pragma("GCC unroll 4") for(int i = 0; i < n; i++) s += i;'
    assert vectorize(f"int f(int n) {{ int s = 0; {loop} return s; }}", optimize=optimize)(5) == 10
    text = """
        #define UNROLL _Pragma("GCC ivdep")
        #define DO(x) _Pragma(#x)
        _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \\"-Wall\\"")
        static const double two = 2; _Pragma("GCC diagnostic pop")
        _Pragma("GCC diagnostic push") T total(const T x[n], int n)
        {
            T s = 0;
            DO(GCC unroll 2) for(int i = 0; i < n; i++) s += two * x[i];
            UNROLL while(s > 100) s -= 1;
            return s;
        }
        DO(GCC diagnostic pop)
    """
    assert vectorize(text, T=("f4", "f8"), optimize=optimize)(np.ones((2, 5))).tolist() == [10, 10]
    body = f"int s = 0, n = item__x(); {loop} item__y() = s; return true;"
    f = cwrapjit.function("f", signature="x() -> y()", Ccode_slice_eval={np.int32: body}, optimize=optimize)
    assert f(np.int32(5)) == 10
    k = ElementwiseKernel("int32 n", "int32 s", f"s = 0; {loop}", "k", optimize=optimize)
    assert k(np.array([5], np.int32)).tolist() == [10]
    lib = cwrapjit.library("t", source=f"int f(int n) {{ int s = 0; {loop} return s; }}")
    assert lib.f(5) == 10
    odd = '_Pragma("pack(1)") struct s { char a; int b; };\nint f(int n) { return sizeof(struct s); }'
    assert refused(odd, "'_Pragma' cannot pack: write #pragma pack").offset == 1


def test_calls_of_too_many_arguments() -> None:
    names = [f"x{k}" for k in range(600)]
    call = f"g({', '.join('x' for _ in names)})"
    text = f"double g(double {', double '.join(names)});\ndouble f(double x) {{ return {call}; }}"
    assert refused(text, "calls of at most 500 arguments").lineno == 2
    most = vectorize(f"double f(double {', double '.join(names[:500])}) {{ return x499; }}", optimize="off")
    assert most(*range(500)) == 499
    lib = cwrapjit.library("t", source=f"double f(double {', double '.join(names)}) {{ return x0; }}")
    assert lib.unmapped["f"] == "it has 600 parameters, 500 at most"


# ---- macros with the names of keywords --------------------------------------------------------------------


@pytest.mark.compiler("asks for the cc tier")
@pytest.mark.parametrize("optimize", ["off", "eager"])
@pytest.mark.parametrize(
    ("macros", "n"),
    [
        ("#define true 0", "n + true + 1"),
        ("#define false 1", "n + false"),
        ("#undef NULL\n#define NULL 5", "n + NULL - 4"),
        ("#undef NULL", "n + 1"),
        ("#define bool char", "n + (bool)257"),
        ("#define inline\n#define restrict\n#define volatile\n#define signed\n#define short", "n + 1"),
        ("#define int long\n#undef int", "n + 1"),
        ("#if 0\n#define return return 1 +\n#endif", "n + 1"),
    ],
)
def test_macros_that_change_the_users_text_alone(optimize: str, macros: str, n: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cwrapjit.CompileWarning)  # of redefinitions
        f = vectorize(f"{macros}\nint f(int n) {{ return {n}; }}", optimize=optimize)
        g = vectorize(
            f"{macros}\nvoid g(const int x[n], int n, OUT int y[1]) {{ n = x[n - 1]; *y = {n}; }}",
            optimize=optimize,
        )
    assert f(3) == 4 and g(np.full(5, 3, np.int32)).tolist() == [4]
    assert f.tier == g.tier == ("cc" if optimize == "eager" else "tcc")


@pytest.mark.parametrize(
    "line",
    ["#define NAME 5", "#define NAME(i) i", "#undef NAME", '#pragma push_macro("NAME")', "#un\\\ndef NAME"],
)
@pytest.mark.parametrize("name", ["item__x", "ctype__x", "dims_slice__x", "strides_full__x", "cwj_at__x"])
def test_macros_of_names_that_generated_text_has(tmp_path: Any, line: str, name: str) -> None:
    """Generated text would redefine such a macro, or fail in a line that no user wrote."""
    text = f"\n{line.replace('NAME', name)}\n"
    for work in (
        lambda: vectorize(f"{text}double f(double x) {{ return x; }}"),
        lambda: vectorize(f"{text}double f(const double x[n], long n) {{ return x[n - 1]; }}"),
        lambda: vectorize(f"{text}T f(T x) {{ return x; }}")(1.0),
        lambda: cwrapjit.function(
            "f", signature="x() -> y()", Ccode_slice_eval={np.int8: f"{text}return true;"}
        ),
        lambda: ElementwiseKernel("T x", "T y", "y = x", preamble=text)(X),
        lambda: ElementwiseKernel("T x", "T y", f"{text}y = x")(X),
        lambda: ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", preamble=text)(X.real),
    ):
        error = refuses(cwrapjit.CompileError, work, f"{name!r} is a name of generated code")
        assert error.text == text.split("\n")[error.lineno - 1] and name in error.text
    if line == "#define NAME 5":
        (tmp_path / "own.h").write_text(text)
        plain = '#include "own.h"\ndouble f(double x) { return x; }'
        if not name.startswith("cwj_"):
            refuses(
                cwrapjit.CompileError,
                lambda: vectorize(plain, include_dirs=[tmp_path]),
                "macro",
                "generated code",
            )
        work = lambda: vectorize(GOOD, define_macros=[f"{name}=5"])  # noqa: E731
        refuses(cwrapjit.CompileError, work, f"{name!r} is a name of generated code")


def test_macros_of_names_like_those_of_generated_text() -> None:
    text = '#define item__other 5\n#pragma push_macro("other")\n#pragma pop_macro("other")\n'
    assert vectorize(f"{text}double f(double x) {{ return x + item__other; }}")(1.0) == 6.0


@pytest.mark.parametrize("name", ["raw__x", "raw_at__x", "cwr_acc"])
@pytest.mark.parametrize("line", ["#define", "# undef"])
def test_macros_of_names_that_kernels_have(line: str, name: str) -> None:
    text, words = f"\n{line} {name}\n", f"preamble: {name!r} is a name of generated code"
    refuses(ValueError, lambda: ElementwiseKernel("raw T x", "T y", "y = x[0]", preamble=text), words)
    refuses(
        ValueError, lambda: ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", preamble=text), words
    )


@pytest.mark.parametrize(
    "macro", ["int long", "return return 1 +", "const", "static", "if(x) if (!(x))", "char int"]
)
def test_macros_that_would_change_the_code_around_them(tmp_path: Any, macro: str) -> None:
    """One of these macros changed a struct of ours, and ended the process."""
    text, word = f"\n#define {macro}\n", re.split(r"\W", macro)[0]
    for work in (
        lambda: vectorize(f"{text}double f(double x) {{ return x; }}"),
        lambda: vectorize(f"{text}double f(const double x[n], long n) {{ return x[n - 1]; }}"),
        lambda: vectorize(f"{text}T f(T x) {{ return x; }}")(1.0),
        lambda: cwrapjit.function(
            "f", signature="x() -> y()", Ccode_slice_eval={np.int8: f"{text}return true;"}
        ),
        lambda: ElementwiseKernel("T x", "T y", "y = x", preamble=text)(X),
        lambda: ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", preamble=text)(X.real),
    ):
        error = refuses(cwrapjit.CompileError, work, f"the macro {word!r} changes code around this text")
        assert error.lineno == 2 and error.offset == 9 and error.text == text.split("\n")[1]
    (tmp_path / "own.h").write_text(text)
    plain = '#include "own.h"\ndouble f(double x) { return x; }'
    refuses(cwrapjit.CompileError, lambda: vectorize(plain, include_dirs=[tmp_path]), "macro of a word of C")
    if "(" not in macro:
        given = "=".join([*macro.split(" ", 1), ""][:2])
        refuses(cwrapjit.CompileError, lambda: vectorize(GOOD, define_macros=[given]), f"the macro {word!r}")
    assert cwrapjit.library("own", source=f"{text}double f(double x) {{ return 2 * x; }}").f(2.0) in (4, 5)


X = np.array([[1 + 2j, -3j, 0.5], [-1.5 + 0.25j, 4, -2 - 1j]])


HALVES = np.array([0.0, -0.0, 1.5, 65504, 6e-8, np.inf, -2.25], np.float16)


@pytest.mark.row("K11")
@pytest.mark.parametrize("sort", ["F", "D"])
def test_complex_letters(sort: str) -> None:
    x = X.astype(sort)
    for text, wanted in (
        ("y = cadd(cmul(x, conj(x)), T(1, 2))", x * x.conj() + (1 + 2j)),
        ("y = T(x.imag(), x.real())", x.imag + 1j * x.real),
        ("y = T(norm(x))", (x.real**2 + x.imag**2).astype(sort)),
        ("y = T(abs(x), arg(x))", np.abs(x) + 1j * np.angle(x)),
        ("y = cmul(exp(x), sqrt(x))", np.exp(x) * np.sqrt(x)),
        ("T half = {x.real() / 2, x.imag / 2}; y = half", x / 2),
        ("y = x; y.real = imag(x)", x.imag + 1j * x.imag),
    ):
        made = ElementwiseKernel("T x", "T y", text)(x)
        assert made.dtype == sort
        np.testing.assert_allclose(made, wanted, rtol=1e-5 if sort == "F" else 1e-12)
    real = ElementwiseKernel("T x, U k", "U y", "y = x.real() * k + sin(k) + abs(k)")
    k = np.array([1.0, -2, 3], x.real.dtype)
    np.testing.assert_allclose(real(x, k), x.real * k + np.sin(k) + np.abs(k), rtol=1e-5)


@pytest.mark.row("K11")
def test_complex_texts_of_other_places() -> None:
    kernel = ElementwiseKernel(
        "T x, raw T w",
        "T y",
        "y = f(w[i % w.size()], x)",
        preamble="static T f(T a, T b) { return cmul(a, b); }",
    )
    np.testing.assert_array_equal(kernel(X, X[0]), X[0] * X)
    mine = ElementwiseKernel(
        "T x", "T y", "y = cadd(x)", preamble="static T cadd(T z) { z.real += 1; return z; }"
    )
    np.testing.assert_array_equal(mine(X), X + 1)
    for text in ("y = x * x", "y = sqrt(x) + x", "y = 1"):
        refuses(cwrapjit.CompileError, lambda text=text: ElementwiseKernel("T x", "T y", text)(X), "complex")


@pytest.mark.row("K11")
@pytest.mark.parametrize("sort", ["F", "D"])
def test_complex_reductions(sort: str) -> None:
    x = X.astype(sort)
    own: tuple[Any, ...] = ("CMPLXF(0, 0)",) if sort == "F" else (0j, "CMPLX(0, 0)")
    for identity in ("0", 0, None, "T(0)", *own):
        total = ReductionKernel("T x", "T y", "cmul(x, x)", "cadd(a, b)", "y = a", identity)  # type: ignore[arg-type]
        np.testing.assert_allclose(total(x, axis=0), (x * x).sum(axis=0), rtol=1e-6)
    norm = ReductionKernel("T x", "R y", "norm(x)", "a + b", "y = sqrt(a)", "0", "norm")
    real = x.real.dtype
    np.testing.assert_allclose(norm(x, axis=1, dtype={"R": real}), np.linalg.norm(x, axis=1), rtol=1e-6)
    text = ("T x", "U y", "cmul(x, x)", "cadd(a, b)", "y = abs(a)", "0")
    first = ReductionKernel(*text, reduce_type="complex128")
    if sort == "D":
        np.testing.assert_allclose(first(x, axis=0, dtype={"U": "f8"}), np.abs((x * x).sum(axis=0)))


@pytest.mark.row("K11")
def test_complex_texts_of_vectorize() -> None:
    square = vectorize("npy_complex128 square(npy_complex128 z) { return cmul(z, z); }")
    np.testing.assert_array_equal(square(X), X * X)
    turn = vectorize(
        "static T twice(T z) { return cadd(z, z); }\nT turn(T z) { return cmul(twice(z), conj(z)); }",
        T=("c8", "c16"),
    )
    for sort in ("F", "D"):
        x = X.astype(sort)
        made = turn(x)
        assert made.dtype == sort
        np.testing.assert_allclose(made, 2 * x * x.conj(), rtol=1e-6)
    own = vectorize(
        "#define cneg(z) mine(z)\nstatic npy_complex128 mine(npy_complex128 z) { z.real = 7; return z; }\n"
        "npy_complex128 f(npy_complex128 z) { return cneg(z); }"
    )
    assert own(1j) == 7 + 1j
    with pytest.raises(cwrapjit.CompileError) as caught:
        vectorize("npy_complex128 f(npy_complex128 z)\n{\n    return cmul(z, w);\n}")
    assert caught.value.lineno == 3


@pytest.mark.row("K11")
def test_float16_is_read_as_float_and_rounded_where_it_is_stored() -> None:
    scaled = ElementwiseKernel("T x, T k", "T y", "y = x / 3 * k")
    with np.errstate(all="ignore"):
        wanted = (HALVES.astype("f4") / np.float32(3) * np.float32(2.5)).astype("f2")
    made = scaled(HALVES, 2.5)
    assert made.dtype == np.float16
    np.testing.assert_array_equal(made, wanted)
    again = HALVES.copy()
    ElementwiseKernel("T x", "T y", "if (x < 0) continue; y += x")(HALVES, again)
    np.testing.assert_array_equal(again, [0, 0, 3, np.inf, 2 * HALVES[4], np.inf, -2.25])
    apart = ElementwiseKernel("float16 x, raw float16 w", "float32 y, float16 z", "y = x * w[i]; z = sqrt(y)")
    y, z = apart(HALVES[::2], HALVES[::-2])
    wide = HALVES[::2].astype("f4") * HALVES[::-2].astype("f4")
    np.testing.assert_array_equal(y, wide)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(z, np.sqrt(wide).astype("f2"))
    with pytest.raises(TypeError, match="'y' is raw, written to and float16"):
        ElementwiseKernel("raw T x", "raw T y", "y[i] = x[i]")(HALVES, size=7)


@pytest.mark.row("K11")
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_float16_is_reduced_as_float(axis: int | None) -> None:
    x = (np.arange(3000) % 7).reshape(60, 50).astype("f2")
    total = ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0")
    made = total(x, axis=axis)
    assert made.dtype == np.float16
    np.testing.assert_array_equal(made, x.astype("f4").sum(axis=axis).astype("f2"))
    weights = ReductionKernel("T x, raw T w", "T y", "x * w[_J]", "a + b", "y = a / w.size()", "0")
    if axis is not None:
        w = x[0, :, None][:, 0] if axis else x[:, 0]
        wide = x.astype("f4") * (w.astype("f4") if axis else w.astype("f4")[:, None])
        np.testing.assert_array_equal(weights(x, w, axis=axis), (wide.sum(axis=axis) / len(w)).astype("f2"))


@pytest.mark.row("K11")
def test_float16_texts_of_vectorize() -> None:
    third = vectorize("cwj_half third(cwj_half x) { return float_to_half(half_to_float(x) / 3); }")
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(third(HALVES), (HALVES.astype("f4") / np.float32(3)).astype("f2"))


@pytest.mark.row("K04")
def test_letters_are_casts_as_in_cpp() -> None:
    clip = ElementwiseKernel("T x", "T y", "y = x > T(2) ? x : T(1.5)")
    np.testing.assert_array_equal(clip(np.arange(4.0)), [1.5, 1.5, 1.5, 3])
    np.testing.assert_array_equal(clip(np.arange(4)), [1, 1, 1, 3])
    assert ReductionKernel("T x", "T y", "x > T(1) ? x : T(0)", "a + b", "y = a", "T(0)")(np.arange(4)) == 5


@pytest.mark.parametrize(
    "text, place",
    [
        ('static double h(double q) { return "q; }\nSLICE', (1, 36)),
        ("SLICE\nstatic int k(void) { return 1; ) }", (2, 32)),
        ("int a;\nint b = '}\nSLICE", (2, 9)),
        ("SLICE\n#endif\n", (2, 2)),
        ('SLICE\n\nint q = L"x" "y";', (3, 10)),
        ('#line 50 "other.c"\nstatic double h(double q) { return "q; }\nSLICE', (2, 36)),
    ],
)
def test_what_is_refused_before_it_is_compiled_is_at_its_line(text: str, place: tuple[int, int]) -> None:
    """The lines that are generated in front of the text for OUT do not count."""
    text = text.replace("SLICE", "void f(double p, OUT double *r) { *r = p; }")
    with pytest.raises(cwrapjit.CompileError) as caught:
        cwrapjit.vectorize(text)
    error = caught.value
    assert (error.lineno, error.offset) == place and error.text == text.split("\n")[place[0] - 1]


@pytest.mark.parametrize("continued", ["\\\n", "\\\r\n"], ids=["\\n", "\\r\\n"])
@pytest.mark.parametrize(
    "text",
    [
        "#define K 12\nvoid f(const double x[n], long n, OUT double y[n]) { for (;n--;) y[n] = x[n] * K; }\n",
        "int twelve(long n, const double x[n], OUT double y[min(n, 3)]) { y[0] = x[0]; y[1] = x[1] * 0xC; "
        "y[2] = 24; return n >= 3; }",
    ],
)
def test_a_line_may_be_continued_anywhere(text: str, continued: str) -> None:
    """C joins lines first, so this holds within a word, a number or an operator, too."""
    for at in range(len(text)):
        f = vectorize(text[:at] + continued + text[at:], name="f")
        made = f(np.arange(3.0))
        assert np.array_equal(made[-1] if isinstance(made, tuple) else made, [0, 12, 24]), text[:at]


def test_faults_keep_their_lines_where_lines_are_continued() -> None:
    text = "dou\\\nble f(dou\\\nble al\\\npha) {\n    return alp\\\nha + missing;\n}"
    assert refused(text, "missing").lineno == 6


@pytest.mark.parametrize("dims", ["[2][{}]", "[{}]"])
@pytest.mark.parametrize("parameters", ["long n, const double x[n]", "const double x[n], long n"])
def test_computed_lengths_are_spelled_as_people_write_them(parameters: str, dims: str) -> None:
    for dim, shown, value in (
        ("min(n - 5, 0)", "min(n - 5, 0)", -2),
        ("2 - max( n>3 ? n : 4,n+1 )", "2 - max((n > 3) ? n : 4, n + 1)", -2),
        ("min(n, n*(n - 9)/2, 7)", "min(min(n, (n * (n - 9)) / 2), 7)", -9),
        ("n - 5", "n - 5", -2),
    ):
        text = f"void f({parameters}, OUT double y{dims.format(dim)}) {{ }}"
        lib = library("lib", source=text)
        for f in (vectorize(text), lib.f):
            refuses(ValueError, lambda f=f: f(np.ones(3)), f"= {shown} is {value} with n = 3;")
            assert list(f.output_dims.values()) == [shown]


def test_a_computed_length_of_an_argument_says_what_to_write() -> None:
    text = (
        "void f(long n, const double x[n], const double z[2][min(n - 1, 3)], OUT double *y) { *y = z[1][1]; }"
    )
    refused(
        text, r"the dim min\(n - 1, 3\) of z is computed.* wanted a name, as in z\[2\]\[k\] beside `long k`"
    )
    f = library("lib", source=text).f
    assert f(np.ones(3), np.ones((2, 2))) == 1.0
    refuses(
        ValueError, lambda: f(np.ones(3), np.ones((2, 3))), "f(): dim 1 of argument z is 3, but must be 2"
    )
