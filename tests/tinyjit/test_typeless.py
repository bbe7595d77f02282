"""What C once took for int, and a bare return: errors in every text of every front end, and nothing else is.

libtcc takes all of this in silence and computes something else: `const k = 2.5;` is 2.
"""

from __future__ import annotations

import pathlib
import subprocess
from typing import Any

import numpy as np
import pytest
from helpers import compiler, refuses, wrap, wrap_signature

import cwrapjit as cj
import cwrapjit.graph as cg

CALL = "item__y() = h(1.5); return true;"


def said(wanted: str) -> str:
    """What the message says of that name; longer texts stand for themselves."""
    return f"'{wanted}' has no type" if len(wanted) == 1 else wanted


# Statements that stand in a snippet, and the name that has no type.
STATEMENTS = {
    "auto v = 1.5;": "v",
    "const k = 2.5;": "k",
    "static const k = 2.5;": "k",
    "const volatile k = 2.5;": "k",
    "register r = 1.5;": "r",
    "static n;": "n",
    "static a[3];": "a",
    "static a, b;": "a",
    "auto v = 1.5, w = 2.5;": "v",
    "for (auto i = 0.5; i < 2; i++) item__y() = i;": "i",
    "for (const i = 0.5; ; ) break;": "i",
    "if (1) { const k = 2.5; }": "k",
    "if (1) { } const k = 2.5;": "k",
    "struct { const x; } s = {2.5};": "x",
    "struct { double a; } s; const k = 2.5;": "k",
    "typedef T; T t = 2.5;": "T",
    "extern h(double);": "h",
    "double a = (const)2.5;": "type is missing",
    "const *p = 0;": "type is missing",
    "int i = 0; ; const k = 2.5;": "k",
    "case_of: ; const k = 2.5;": "k",
    "__attribute__((unused)) const k = 2.5;": "k",
    "__extension__ const k = 2.5;": "k",
}
# Headers that define h().
HEADERS = {
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
    # with headers that are included
    "#include <math.h>\nstatic h(double x) { return x * 2.5; }": "h",
    '#include "some.h"\nstatic h(double x) { return x * 2.5; }': "h",
    '#include "some.h"\nh(x) double x; { return x * 2.5; }': "h",
    '#include "some.h"\nstatic double h(double x) { const k = 2.5; return k; }': "k",
}
BARE = {
    "static double h(double x) { if (x > 0) return; return x; }": "no value",
    "#define BACK return\nstatic double h(double x) { if (x > 0) BACK; return x; }": "no value",
}


@pytest.mark.quick
@pytest.mark.row("G13")
@pytest.mark.parametrize("statement", STATEMENTS)
def test_snippets(statement: str) -> None:
    code = f"{statement}\n item__y() = item__x(); return true;"
    error = refuses(cj.CompileError, lambda: wrap_signature("x() -> y()", code), said(STATEMENTS[statement]))
    assert (error.filename, error.lineno) == ("<cwrapjit t.f float64>", 1)


@pytest.mark.quick
@pytest.mark.row("G13")
@pytest.mark.parametrize("header", HEADERS | BARE)
def test_headers(header: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "some.h").write_text("#define SOME(x) x\n")
    wanted = said((HEADERS | BARE)[header])
    refuses(
        cj.CompileError,
        lambda: wrap_signature("x() -> y()", CALL, header=header, include_dirs=[str(tmp_path)]),
        wanted,
    )


@pytest.mark.row("G13")
@pytest.mark.parametrize("header", HEADERS | BARE)
def test_files_of_modules_and_libraries(header: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "some.h").write_text("#define SOME(x) x\n")
    source = tmp_path / "mine.c"
    source.write_text(header + "\ndouble call(double x) { return h(x); }\n")
    wanted = said((HEADERS | BARE)[header])
    error = refuses(cj.CompileError, lambda: cj.module("m", "", sources=[source]), wanted)
    assert error.filename == str(source)
    refuses(cj.CompileError, lambda: cj.library("m", sources=[source]), wanted)


@pytest.mark.row("G13")
@pytest.mark.parametrize("text", ["return;", "if (item__x() > 0) return; return true;"])
def test_a_bare_return_of_a_slice(text: str) -> None:
    refuses(cj.CompileError, lambda: wrap_signature("x() -> y()", f"item__y() = 1; {text}"), "return")
    refuses(
        cj.CompileError,
        lambda: wrap_signature("x() -> y()", "return true;", Ccode_validate=text.replace("item__x()", "1")),
        "return",
    )


@pytest.mark.quick
@pytest.mark.row("G13")
def test_other_pieces_of_a_function() -> None:
    code = "item__y() = 1; return true;"
    refuses(
        cj.CompileError, lambda: wrap_signature("x() -> y()", code, Ccode_cookie_struct="const a;"), said("a")
    )
    cleanup = {"Ccode_cookie_struct": "int a;", "Ccode_cookie_cleanup": "auto k = 2.5;"}
    refuses(cj.CompileError, lambda: wrap_signature("x() -> y()", code, **cleanup), said("k"))
    extra = ("double", "scale", "(const)2.5", "d")
    refuses(
        cj.CompileError, lambda: wrap_signature("x() -> y()", code, extra_args=(extra,)), "type is missing"
    )
    macros = ["K=static f(double x) { return 1; }"]
    refuses(
        cj.CompileError,
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
def test_graphs(code: str, support: str, wanted: str) -> None:
    x = cg.float64("x")
    refuses(cj.CompileError, lambda: cj.link([x], Texts(code, support)(x)), said(wanted))


@pytest.mark.quick
@pytest.mark.row("G13")
def test_texts_of_libraries(tmp_path: pathlib.Path) -> None:
    source = tmp_path / "fine.c"
    source.write_text("double h(double x) { return 2 * x; }\n")
    lib = cj.library("fine", sources=[source], header="static g(double x) { return x * 2.5; }")
    refuses(cj.CompileError, lambda: lib.function("double h(double x)"), said("g"))
    fine = cj.library("fine", sources=[source])
    for declaration, name in (
        ("extern h(double x)", "h"),
        ("double h(const x)", "x"),
        ("double h(register x)", "x"),
    ):
        refuses(cj.CompileError, lambda d=declaration: fine.function(d), said(name))
    refuses(cj.CompileError, lambda: fine.function("h(double x)"), "invalid function definition")
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


@pytest.mark.quick
@pytest.mark.row("G13")
@pytest.mark.parametrize("kind", FINE)
def test_legal_c_is_taken(kind: str, tmp_path: pathlib.Path) -> None:
    """As a header, as a file; and gcc takes it, too."""
    (tmp_path / "some.h").write_text(SOME)
    header = FINE[kind]
    f = wrap_signature("x() -> y()", CALL, header=header, include_dirs=[str(tmp_path)])
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


@pytest.mark.quick
@pytest.mark.row("G13")
def test_what_hides_in_a_system_header_is_not_the_users() -> None:
    """glibc's own headers are full of macros, of attributes and of old prototypes."""
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
    with pytest.raises(cj.CompileError):
        wrap_signature("x() -> y()", f"{bomb}\nreturn true;")


def test_the_first_of_many_faults_is_told_where_it_is() -> None:
    code = "\n  item__y() = 1;\n  const  rate = 0.5;\n  auto v = 1; return true;"
    error = refuses(
        cj.CompileError, lambda: wrap_signature("x() -> y()", {np.float64: code}), "rate", "has no type"
    )
    assert (error.lineno, error.offset, error.end_offset) == (3, 10, 14)
    assert error.text is not None and "rate = 0.5" in error.text
