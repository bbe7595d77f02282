"""Tests faults in C text: places, messages, hints; all are reported, and no text crashes the process."""

from __future__ import annotations

import pathlib
import random
import traceback
import warnings
from typing import Any

import numpy as np
import pytest
from helpers import INNER, ar, refuses, wrap, wrap_signature

import cwrapjit

Error = cwrapjit.CompileError


def fails(body: Any, **kw: Any) -> Any:
    """Returns the CompileError of a function of one number; the test checks its message."""
    with pytest.raises(Error) as caught:
        wrap(((),), (), body, **kw)
    assert type(caught.value) is Error
    return caught.value


def token(error: Any) -> str:
    """Returns the text above the caret."""
    return error.text[error.offset - 1 : error.end_offset - 1]


# ---- place, text, caret ---------------------------------------------------------------------------


@pytest.mark.row("U01", "N22i")
def test_a_compile_error_is_a_syntax_error_with_a_place() -> None:
    error = fails("\n  double x = 1;\n  return undefined_thing + x;\n")
    assert isinstance(error, SyntaxError)
    assert error.filename == "<cwrapjit t.f float64>"
    assert error.lineno == 3 and error.end_lineno in (None, 3)
    assert error.text.rstrip("\n") == "  return undefined_thing + x;"
    assert token(error) == "undefined_thing" and error.offset == 10
    assert "undefined_thing" in error.msg
    assert cwrapjit.CompileError.__module__ == "cwrapjit"
    assert [each.lineno for each in error.errors] == [3] and "more" not in str(error)
    assert "Python.h" not in fails("undefined_thing(1); return true;").msg, "it is in no header of Python's"
    assert wrap((("n",), ("n",)), (), INNER)(ar(4), ar(4)) == 14, "the next definition is fine"
    error = fails(f"double x = 0; {'x = x + 1; ' * 2000} return undefined_thing;")
    assert error.lineno == 1 and token(error) == "undefined_thing"


@pytest.mark.row("U01")
def test_the_plain_traceback_shows_the_line_and_a_caret() -> None:
    shown = "".join(traceback.format_exception(fails("\n  return undefined_thing + 1;")))
    lines = shown.splitlines()
    at = next(i for i, line in enumerate(lines) if '"<cwrapjit t.f float64>", line 2' in line)
    assert lines[at + 1].strip() == "return undefined_thing + 1;"
    code, caret = lines[at + 1], lines[at + 2]
    assert set(caret.strip()) == {"^"}
    assert code[caret.index("^") : caret.rindex("^") + 1] == "undefined_thing"
    assert lines[at + 3].startswith("cwrapjit.CompileError: ")


@pytest.mark.quick
@pytest.mark.row("U01")
def test_the_column_counts_characters() -> None:
    error = fails("/* größe 漢字 */ return undefined_thing;")
    assert token(error) == "undefined_thing"
    error = fails("\treturn größe_fehlt;")
    assert token(error) == "größe_fehlt"
    error = fails("int oops_too = 1, größe = 2; return oops_too + oops;")
    assert token(error) == "oops" and error.offset == 48, "not in front of a longer word"
    error = fails("undefined_thing = 1; return true;")
    assert token(error) == "undefined_thing" and error.offset == 1


@pytest.mark.row("U01")
@pytest.mark.parametrize(
    "where, filename",
    [
        ("Ccode_validate", "<cwrapjit t.f validate>"),
        ("Ccode_cookie_struct", "<cwrapjit t.f cookie>"),
        ("Ccode_cookie_cleanup", "<cwrapjit t.f cleanup>"),
        ("header", "<cwrapjit t header>"),
    ],
)
def test_every_snippet_has_a_name(where: str, filename: str) -> None:
    error = fails("return true;", **{where: "\n\nundefined_type x;\n"})
    assert error.filename == filename and error.lineno == 3
    assert "undefined_type x;" in error.text


@pytest.mark.row("U01")
def test_names_of_type_sets_and_of_functions_without_a_module() -> None:
    error = refuses(
        Error,
        lambda: wrap((("n",), ("n",)), (), {(np.float64, np.float32, np.int32): "return oops;"}),
        "'oops' undeclared",
    )
    assert error.filename == "<cwrapjit t.f float64,float32,int32>"
    kw: dict[str, Any] = {"args_input": (), "prototype_input": (), "prototype_output": ()}
    error = refuses(
        Error,
        lambda: cwrapjit.function("inner", Ccode_slice_eval={np.int16: "return oops;"}, **kw),
        "'oops' undeclared",
    )
    assert error.filename == "<cwrapjit inner int16>"
    sets = dict.fromkeys((np.int16, float), "return 1;")
    make = lambda: cwrapjit.function("inner", Ccode_slice_eval=sets, header="int x = oops;", **kw)  # noqa: E731
    error = refuses(Error, make, "'oops' undeclared")
    assert [each.filename for each in error.errors] == ["<cwrapjit inner header>"], "once"


@pytest.mark.row("U01")
def test_a_line_directive_is_followed_and_a_macro_fails_where_it_is_used() -> None:
    error = fails('#line 77 "mine.c"\nreturn oops;')
    assert error.filename == "mine.c" and error.lineno == 77
    header = '#define A 1\n#line 1 "mine.h"\nint x = oops;\n'
    error = fails("return true;", header=header)
    assert (error.filename, error.lineno, error.offset, error.text) == ("mine.h", 1, 9, "int x = oops;")
    error = fails("return true;", header='#line 1 "mine.h"\nint x\nint y;\n')
    assert error.lineno == 2 and "is a ';' missing at the end of line 1?" in error.msg
    error = fails("double x = 1;\nreturn USE(x);", header="#define USE(v) ((v) + undefined_thing)")
    assert error.lineno == 2 and error.filename == "<cwrapjit t.f float64>"


# ---- several faults in one text -------------------------------------------------------------------


@pytest.mark.row("U01")
def test_every_failing_body_is_reported() -> None:
    error = refuses(
        Error,
        lambda: wrap(
            ((),),
            (),
            {np.float64: "return first_oops;", np.int32: "return true;", np.float32: "\nreturn second_oops;"},
            Ccode_validate="\n\nreturn third_oops;",
        ),
        "third_oops",
    )
    places = {(e.filename, e.lineno, token(e)) for e in error.errors}
    assert places == {
        ("<cwrapjit t.f float64>", 1, "first_oops"),
        ("<cwrapjit t.f float32>", 2, "second_oops"),
        ("<cwrapjit t.f validate>", 3, "third_oops"),
    }
    assert all(type(e) is Error for e in error.errors)
    assert (error.filename, error.lineno) in {(e.filename, e.lineno) for e in error.errors}
    assert "2 more" in str(error)


@pytest.mark.row("U01", "N18i")
def test_percent_signs_and_unicode_in_the_compilers_text() -> None:
    error = fails("#error 100% broken %s %n {0} größe 漢\nreturn true;")
    assert "100% broken %s %n {0} größe 漢" in error.msg and error.lineno == 1


# ---- warnings, and those that are errors ----------------------------------------------------------


@pytest.mark.row("N24i")
def test_warnings_surface_with_their_line() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        f = wrap(((),), (), "\n#warning take care\nitem__output() = 5;\nreturn true;")
    assert f(0.0) == 5
    ours = [w for w in caught if issubclass(w.category, cwrapjit.CompileWarning)]
    assert len(ours) == 1 == len(caught)
    assert "take care" in str(ours[0].message)
    assert ours[0].filename == "<cwrapjit t.f float64>" and ours[0].lineno == 2
    assert issubclass(cwrapjit.CompileWarning, Warning) and cwrapjit.CompileWarning.__module__ == "cwrapjit"


@pytest.mark.quick
@pytest.mark.row("N24i")
def test_warnings_may_be_made_errors() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", cwrapjit.CompileWarning)
        with pytest.raises(cwrapjit.CompileWarning, match="take care"):
            wrap(((),), (), "#warning take care\nreturn true;")
        assert wrap(((),), (), "item__output() = 1; return true;")(0.0) == 1


@pytest.mark.row("N24i")
@pytest.mark.usefixtures("strict_warnings")
def test_good_code_warns_about_nothing() -> None:
    f = wrap(
        (("n",), ("n",)),
        (),
        {
            float: INNER,
            np.float32: INNER,
            (float, float, np.int32): INNER,
            np.complex64: "item__output() = item__a(0); return true;",
        },
        header="#include <math.h>\n#include <stdint.h>\n#include <stdio.h>\nstatic inline int unused(void);",
        extra_args=(("double", "scale", "1", "d"), ("const char*", "s", "NULL", "s")),
        Ccode_cookie_struct="int n;",
        Ccode_validate="cookie->n = 1; return CHECK_CONTIGUOUS_AND_SETERROR_ALL();",
        Ccode_cookie_cleanup="cookie->n = 0;",
    )
    assert f(ar(4), ar(4)) == 14


@pytest.mark.quick
@pytest.mark.row("N24i")
@pytest.mark.parametrize(
    "body, word",
    [
        ("if (item__a() > 0)\n    return true;", "return"),
        ("item__output() = 1;", "return"),
        ("item__a() = 1;\nreturn true;", "read-only"),
        ("const double x = 1;\n*(&x) = 2;\nreturn true;", "read-only"),
        ("int *p = &item__output();\nreturn p != NULL;", "incompatible"),
        ("int *p = 5;\nreturn p != NULL;", "pointer"),
        ("int n = data_slice__a;\nreturn n != 0;", "pointer"),
        ("return undeclared_function(1);", "undeclared_function"),
        ("return rount(item__a());", "rount"),
    ],
)
def test_these_are_errors_not_warnings(body: str, word: str) -> None:
    error = fails(body)
    assert word in error.msg and error.filename == "<cwrapjit t.f float64>"
    error = fails("return true;", Ccode_validate="if (dims_slice__output == NULL) return true;")
    assert error.filename == "<cwrapjit t.f validate>"


@pytest.mark.row("N24i")
@pytest.mark.parametrize(
    "body",
    [
        "for (;;) { item__output() = 1; return true; }",
        "if (item__a() > 0) { item__output() = 1; return true; } else { item__output() = 2; return true; }",
        "item__output() = 1; while (1) return true;",
        "item__output() = 1; do { return true; } while (0); return false;",
    ],
)
def test_bodies_that_always_return_are_fine(body: str) -> None:
    assert wrap(((),), (), body)(1.0) == 1


# ---- texts that are rejected for their form -------------------------------------------------------

NESTED = {
    "parentheses": lambda n: "return " + "(" * n + "1" + ")" * n + ";",
    "open parentheses": lambda n: "return " + "(" * n,
    "blocks": lambda n: "{" * n + "}" * n + "return true;",
    "open blocks": lambda n: "{" * n,
    "brackets": lambda n: "int x[1] = {0}; return x" + "[x" * n + "[0]" + "]" * n + ";",
    "minus": lambda n: "return " + "- " * n + "1;",
    "not": lambda n: "return " + "!" * n + "1;",
    "complement": lambda n: "return " + "~" * n + "1;",
    "stars": lambda n: "int " + "*" * n + "p = 0; return p == 0;",
    "dereference": lambda n: "return (" + "*" * n + "abs)(-1);",
    "address": lambda n: "int p = 0; return " + "&*" * n + "&p != 0;",
    "casts": lambda n: "return " + "(int)" * n + "1;",
    "sizeof": lambda n: "return " + "sizeof " * n + "1;",
    "ternary": lambda n: "return " + "1 ? 1 : " * n + "1;",
    "ternary in the middle": lambda n: "return " + "1 ? " * n + "1" + " : 0" * n + ";",
    "assignment": lambda n: "int x; x " + "= x " * n + "= 1; return x;",
    "comma calls": lambda n: "return " + "abs(" * n + "1" + ")" * n + ";",
    "if": lambda n: "if (1) " * n + "return true; return true;",
    "else if": lambda n: "if (0) ; " + "else if (0) ; " * n + "return true;",
    "for": lambda n: "for (;;) " * n + "return true;",
    "while": lambda n: "while (1) " * n + "return true;",
    "do": lambda n: "do " * n + "; " + "while (0); " * n + "return true;",
    "switch": lambda n: "switch (1) " * n + "; return true;",
    "labels": lambda n: "".join(f"l{i}: " for i in range(n)) + "return true;",
    "case": lambda n: "switch (1) { " + "".join(f"case {i}: " for i in range(n)) + "; } return true;",
    "initialisers": lambda n: "int x[1] = " + "{" * n + "1" + "}" * n + "; return x[0];",
    "structs": lambda n: "struct { " * n + "int x; " + "} s; " * n + "return true;",
    "pointers to functions": lambda n: "int " + "(*" * n + "p" + ")(void)" * n + "; return true;",
    "array types": lambda n: "char x" + "[1]" * n + "; return sizeof x;",
    "typeof": lambda n: "return sizeof(" + "typeof(" * n + "1" + ")" * n + ");",
    "statement expressions": lambda n: "return " + "({" * n + "1" + ";})" * n + ";",
    "generic": lambda n: "return " + "_Generic(1, int: " * n + "1" + ")" * n + ";",
    "if directives": lambda n: "\n".join(["#if 1"] * n + ["return true;"] + ["#endif"] * n),
    "if expressions": lambda n: "#if " + "(" * n + "1" + ")" * n + "\n#endif\nreturn true;",
    "minus in a directive": lambda n: "#if " + "- " * n + "1\n#endif\nreturn true;",
    "defines": lambda n: (
        "".join(f"#define M{i} (M{i + 1})\n" for i in range(n)) + f"#define M{n} 1\nreturn M0;"
    ),
    "attributes": lambda n: "int x " + "__attribute__((unused)) " * n + "= 1; return x;",
    "plus": lambda n: "return " + "1 + " * n + "1;",
    "strings": lambda n: "const char *s = " + '"x" ' * n + "; return s != NULL;",
}


IN_A_ROW = ("labels", "case", "attributes", "plus", "strings")  # may repeat any number of times
WITHOUT_BRACKETS = (
    "minus", "not", "complement", "stars", "dereference", "address", "casts", "sizeof", "ternary",
    "ternary in the middle", "if", "else if", "for", "while", "do", "switch", "minus in a directive",
)  # fmt: skip


def define_quietly(body: str, **kw: Any) -> Any:
    """Defines a function and ignores the compiler's warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cwrapjit.CompileWarning)
        return wrap(kw.pop("ins", ((),)), (), body, **kw)


def outcome(body: str, **kw: Any) -> str:
    """Defines and calls a function. Returns "ran", or "refused" after a CompileError with a place."""
    try:
        f = define_quietly(body, **kw)
    except Error as error:
        assert error.filename.startswith("<cwrapjit t"), error.filename
        assert isinstance(error.lineno, int) and error.lineno >= 1
        return "refused"
    if "for (;;) " in body or "while (1)" in body:
        return "ran"
    try:
        f(1.0)
    except RuntimeError:
        pass  # the slice returned 0
    return "ran"


@pytest.mark.quick
@pytest.mark.row("G02")
@pytest.mark.parametrize("kind", NESTED)
def test_deep_nesting_is_compiled_or_refused(kind: str) -> None:
    assert outcome(NESTED[kind](20)) == ("refused" if kind.startswith("open") else "ran")
    assert outcome(NESTED[kind](1000)) == ("ran" if kind in IN_A_ROW + WITHOUT_BRACKETS else "refused")
    assert outcome(NESTED[kind](30_000)) == ("ran" if kind in IN_A_ROW else "refused")
    if kind in ("parentheses", "blocks", "minus", "ternary in the middle", "casts", "if"):
        assert fails(NESTED[kind](100_000)).msg.startswith("nested too deeply")


@pytest.mark.quick
@pytest.mark.row("G02")
def test_nesting_made_by_macros() -> None:
    header = "#define A0(x) ((((((((x))))))))\n" + "".join(
        f"#define A{i + 1}(x) A{i}(A{i}(A{i}(A{i}(x))))\n" for i in range(9)
    )
    assert outcome("item__output() = A1(2); return true;", header=header) == "ran"
    assert outcome("item__output() = A9(2); return true;", header=header) == "refused"


@pytest.mark.row("G02")
def test_long_else_if_chains_made_by_programs_are_compiled() -> None:
    depth = 1000
    chain = "if (item__a() == 0) item__output() = 0;\n" + "".join(
        f"else if (item__a() == {i}) item__output() = {10 * i};\n" for i in range(1, depth)
    )
    assert wrap(((),), (), chain + "return true;")(float(depth - 1)) == 10 * (depth - 1)


@pytest.mark.row("G02", "U01")
@pytest.mark.parametrize(
    "where", ["body", "header", "Ccode_validate", "Ccode_cookie_struct", "Ccode_cookie_cleanup"]
)
def test_bytes_that_are_no_text_are_refused_at_their_place(where: str) -> None:
    for bad in ("\0", "int x; \0", "\x01", "\x1b[31m", "\x7f\0", "/* \ud800 */"):
        text = f"\n\n{bad}\n" + "return true;" * (where in ("body", "Ccode_validate"))
        error = fails(text) if where == "body" else fails("return true;", **{where: text})
        assert "lone surrogate" in str(error) if "\ud800" in bad else error.lineno == 3


@pytest.mark.quick
@pytest.mark.row("G02", "U01")
@pytest.mark.parametrize("word", ["_Thread_local", "__thread", "thread_local"])
def test_thread_locals_are_refused_with_the_reason(word: str) -> None:
    error = fails(f"\nstatic {word} int x; return x;")
    assert error.lineno == 2 and token(error) == word and "thread" in error.msg
    assert fails("return true;", header=f"static {word} int x;").filename == "<cwrapjit t header>"
    assert wrap(((),), (), f'item__output() = 1; /* {word} */ return sizeof "{word}" > 1;')(0.0) == 1


UNBALANCED = [
    "return true; }",
    "return true; } bool other(void) { return true; } int x = {1",
    "{ return true;",
    "return (1;",
    "return 1);",
    "}",
    "(",
    "]",
    "return (1];",
    'const char *s = "never closed;\nreturn true;',
    "char c = 'x;\nreturn true;",
    "return true; /*",
    "#if 1\nreturn true;",
    "return true;\n#endif",
    "#elif 1\nreturn true;",
    "??<",
]


@pytest.mark.quick
@pytest.mark.row("G02", "U01")
@pytest.mark.parametrize("body", UNBALANCED)
def test_unbalanced_texts_are_refused(body: str) -> None:
    error = fails(body)
    assert error.filename == "<cwrapjit t.f float64>" and 1 <= error.lineno <= body.count("\n") + 1
    assert fails("return true;", Ccode_validate=body).filename == "<cwrapjit t.f validate>"


@pytest.mark.quick
@pytest.mark.row("G02", "U01")
@pytest.mark.parametrize("text", ["int x; } y; struct {", "}", "{", "int x", "int x[", "/*", "#if 1"])
def test_unbalanced_cookies_and_headers_are_refused(text: str) -> None:
    assert fails("return true;", Ccode_cookie_struct=text).filename == "<cwrapjit t.f cookie>"
    if text not in ("int x; } y; struct {", "int x"):  # with the semicolon these are declarations
        assert fails("return true;", header=text + "\n;").filename == "<cwrapjit t header>"


@pytest.mark.quick
@pytest.mark.row("U01")
@pytest.mark.parametrize(
    "body",
    [
        "#ifdef NEVER\nif (1) {\n#else\n{\n#endif\nitem__output() = 1;\n}\nreturn true;",
        "item__output() = '{' - '{' + 1; /* } */ // }\nreturn true;",
        'const char *s = "}}}\\"{"; item__output() = s[0] == 125; return true;',
        "item__output() = 1; return true; // no newline",
        "item__output() = 1; return true; /* x */",
        "#define OPEN {\n#define CLOSE }\nOPEN item__output() = 1; CLOSE return true;",
        "#if 0\nit's (([[ {{\n#endif\nitem__output() = 1; return true;",
        "item__output() \\\n = 1; return true;",
        "item__output() = 1;\r\nreturn true;\r\n",
        "\f\v\titem__output() = 1; return true;",
        "int c = '\"'; item__output() = c == 34; return true;",
        "int c = '\\''; item__output() = c == 39; return true;",
    ],
)
def test_legal_text_with_odd_brackets_is_compiled(body: str) -> None:
    assert wrap(((),), (), body)(0.0) == 1


@pytest.mark.row("U01")
@pytest.mark.parametrize(
    "tail", ["//", "// comment \\", "\\", "/**/", "\n\n\n", "#define X", "#define X \\", "#undef X"]
)
def test_how_a_text_ends_does_not_reach_the_next_one(tail: str) -> None:
    kw: dict[str, Any] = {"header": "static int k = 5;\n" + tail, "Ccode_validate": "return true;\n" + tail}
    kw |= {"Ccode_cookie_struct": "int x;\n" + tail, "Ccode_cookie_cleanup": "cookie->x = 1;\n" + tail}
    try:
        f = wrap(
            ((),),
            (),
            dict.fromkeys((float, int), "item__output() = k + cookie->x; return true;\n" + tail),
            **kw,
        )
    except Error:
        assert tail.endswith("\\"), "a text may be refused for its last backslash, and for nothing else"
    else:
        assert f(0.0) == 5


@pytest.mark.row("G02")
def test_megabytes_of_text() -> None:
    assert outcome("// " + "x" * 1_000_000 + "\nitem__output() = 1; return true;") == "ran"
    assert outcome("item__output() = 1;\n" * 3_000 + "return true;") == "ran"
    assert outcome('const char *s = "' + "x" * 100_000 + '"; return s[0];') in ("ran", "refused")
    assert outcome("return x" + "y" * 100_000 + ";") == "refused"
    error = fails(" " * (17 << 20) + "return true;")
    assert error.msg == "the text is too long: more than 16 MiB"


@pytest.mark.quick
@pytest.mark.row("G02")
def test_binary_text() -> None:
    noise = random.Random(5)
    for size in (1, 10, 100, 1000) * 25:
        body = "".join(chr(noise.randrange(256)) for _ in range(size))
        assert outcome(body) == "refused"


TOKENS = (
    "{ } ( ) [ ] ; , int double char struct union enum typedef static const return if else for while do goto "
    "switch case default break continue sizeof x y z 0 1 1.5 'c' \"s\" + - * / % = == ! ~ & | ^ << >> "
    "? : . -> item__a() item__output() dims_slice__a __attribute__ asm volatile extern void _Generic typeof "
    "... ## # \n #define #if #endif #include #line #pragma\n _Static_assert _Alignof (int) [1] = {1} "
    "__builtin_va_arg alloca( "
    "register inline auto unsigned long short _Bool x: 1e999 0x 1LLU 099 __FILE__ __LINE__ __func__"
).split(" ")


@pytest.mark.row("G02")
@pytest.mark.parametrize("seed", range(3))
def test_random_tokens(seed: int) -> None:
    noise = random.Random(seed)
    for _ in range(60):
        body = " ".join(noise.choice(TOKENS) for _ in range(noise.randrange(1, 40)))
        try:
            define_quietly(body)
        except Error as error:
            assert error.errors and error.msg


@pytest.mark.row("G02")
@pytest.mark.parametrize("seed", range(2))
def test_good_text_with_characters_knocked_out(seed: int) -> None:
    noise = random.Random(seed)
    for _ in range(60):
        text = list(INNER)
        for _ in range(noise.randrange(1, 4)):
            text[noise.randrange(len(text))] = noise.choice(
                ["", "(", "}", '"', "'", "*", "#", "/*", "\\", "0"]
            )
        try:
            define_quietly("".join(text), ins=(("n",), ("n",)))
        except Error as error:
            assert error.msg


@pytest.mark.quick
@pytest.mark.row("G02")
@pytest.mark.parametrize(
    "body",
    [
        "char x[1ull << 62]; return sizeof x > 0;",
        "static char x[(1ull << 40)]; return x[0];",
        "int x = 1 / 0; return x;",
        '_Static_assert(1 / 0, "no"); return true;',
        "#if 1 / 0\n#endif\nreturn true;",
        "#include __FILE__\nreturn true;",
        '#include "<cwrapjit t.f float64>"\nreturn true;',
        "#include </dev/zero>\nreturn true;",
        "#define X X X\nreturn X;",
        "#define X(a) X(a) X(a)\nreturn X(X(X(1)));",
        "#define X(a, ...) #a ## __VA_ARGS__\nreturn X(1, 2)[0];",
        'asm("nonsense operand"); return true;',
        'asm(".incbin \\"/dev/zero\\""); return true;',
        'asm(".fill 1000000000"); return true;',
        'asm(".org 1000000000000"); return true;',
        "__attribute__((aligned(1 << 40))) int x; return true;",
        '__attribute__((section(""))) static int x; return x;',
        '__attribute__((alias("nowhere"))) int x(void); return x();',
        "__attribute__((vector_size(16))) int x; return true;",
        "__attribute__((constructor)) void f(void); return true;",
        "struct s { struct s x; } y; return true;",
        "return sizeof(int[sizeof(int[sizeof(int[0])])]);",
        "_Complex double z; return true;",
        "__int128 x = 0; return x;",
        "_Float16 x = 0; return x;",
        "int f(void) { return 1; } return f();",
        "double printf(int); return true;",
        "#pragma pack(push, 0x7fffffff)\nstruct { int x; } s; return sizeof s;",
        "#pragma pack(pop)\n#pragma pack(pop)\nreturn true;",
        '#pragma push_macro("X")\n#pragma pop_macro("Y")\nreturn true;',
        "#line 0\nreturn oops;",
        "#line 4294967296\nreturn oops;",
        '#line 5 ""\nreturn oops;',
        '# 1 "x" 1 3 4\nreturn oops;',
        "#define\nreturn true;",
        "#define defined\n#if defined(X)\n#endif\nreturn true;",
        "#undef __FILE__\nreturn __FILE__ != NULL;",
        "#undef item__a\nreturn item__a() > 0;",
        "#define return\nreturn true;",
        "#define bool struct\nreturn true;",
        "case 1: return true;",
        "break;",
        "return __builtin_frame_address(1000) != NULL;",
        "int x[] = {[1000000000000] = 1}; return x[0];",
        "int x[3] = {[-1] = 1}; return x[0];",
        "int n = 3; int x[n]; goto in; { int y[n]; in: ; } return true;",
        "double x = 0x1p99999; return x > 0;",
        "long x = 99999999999999999999999999999; return x;",
        'const char *s = "\\xfffffffff"; return s[0];',
        'const char *s = "\\U99999999"; return s[0];',
        "return L'\\u0000';",
        "$",
        "\\",
        "int $x = 1; return $x;",
    ],
)
def test_nasty_texts_leave_the_process_alive(body: str) -> None:
    try:
        define_quietly(body)
    except Error as error:
        assert error.msg
    assert wrap(((),), (), "item__output() = 1; return true;")(0.0) == 1, "the compiler is as good as before"


@pytest.mark.quick
@pytest.mark.row("U01")
def test_what_libtcc_lacks_is_said_to_be_libtccs_lack() -> None:
    for body in ("_Complex double z; return true;", "__int128 x; return true;", "_Float16 x; return true;"):
        assert "libtcc" in str(fails(body)), body


@pytest.mark.quick
@pytest.mark.row("U01")
@pytest.mark.parametrize("value", [None, 5, b"return true;", ["return true;"]])
def test_bodies_that_are_no_text(value: Any) -> None:
    refuses(
        TypeError, lambda: wrap(((),), (), {float: value}), "t.f", "Ccode_slice_eval", type(value).__name__
    )
    if value is not None:
        for where in ("Ccode_validate", "Ccode_cookie_struct", "Ccode_cookie_cleanup"):
            refuses(
                TypeError,
                lambda where=where: wrap(((),), (), "return 1;", **{where: value}),
                where,
                type(value).__name__,
            )
        refuses(TypeError, lambda: cwrapjit.module("t", header=value), "header", type(value).__name__)


# ---- two texts that together would hang libtcc -----------------------------------------------------

PASTES = "#define PASTE_(a, b) a##b\n#define PASTE(a, b) PASTE_(a, b)\n"
TOGETHER = "'/' as a macro's argument together with ## is not supported"


@pytest.mark.quick
def test_a_macro_of_the_command_line_meets_another_text(tmp_path: Any) -> None:
    """If ## makes `//`, libtcc would read on without end."""
    error = fails("item__output() = 4 PASTE(SLASH, SLASH) 2;", header=PASTES, define_macros=["SLASH=/"])
    assert TOGETHER in str(error)
    source = tmp_path / "paste.c"
    source.write_text(PASTES + "int two(void) { return 4 PASTE(SLASH, SLASH) 2; }\n")
    lib = cwrapjit.library("t", header=PASTES, define_macros=[("SLASH", "/")])
    lib.declare("int abs(int);")
    for make in (
        lambda: cwrapjit.module("t", sources=[str(source)], define_macros=["SLASH=/"]),
        lambda: cwrapjit.module("t", define_macros=["SLASH=/", "P=a ## b"]),
        lambda: lib.abs(-3),
    ):
        refuses(Error, make, TOGETHER)


# ---- hints, where the compiler's message does not help ---------------------------------------------------


END = "\nreturn true;"
HINTS = {
    "double a = 1\nitem__y() = a;": "missing at the end of line 1",
    "double a = 1;\nitem__y() = a": "missing at the end of line 2",
    "data_slice__x[0] = 1;": "'x' is an input: args_inout=(\"x\",) lets C write to it",
    "static char a[1000000][1000000]; item__y() = a[0][0];": "above any cwrapjit.config.compile_memory",
    "static int a[] = {[0 ... 0x7ffffffe] = 1}; item__y() = a[0];": "cwrapjit.config.compile_memory",
    "item__y() = sin(item__x(0))\n\n  if (1) return true;": "missing at the end of line 1",
    "item__y() = item__x(0, 1);": "item__x() takes 1 index",
    "item__y() = item__x();": "item__x() takes 1 index",
    "item__y() = item__m(0);": "item__m() takes 2 indices",
    "item__y(0) = 1;": "a slice of 'y' is one element: item__y()",
    "item__y() = item__z(0);": "there is no operand 'z'; there are x, m, y",
    "item__y() = dims_slice__output[0];": "there is no operand 'output'; there are x, m, y",
    "item__y() = x[0];": "item__x(...)",
    "item__x(0) = 1;": 'args_inout=("x",)',
    "item__x(0)++;": 'args_inout=("x",)',
    "item__y() = isalpha(65);": "<ctype.h>",
    "item__y() = clock();": "<time.h>",
    "item__y() = j0(1.0);": "<math.h>",
    "item__y() = getpid();": "<unistd.h>",
    "item__y() = 1; return True;": "C writes it true",
    "item__y() = 1;\nreturn true\n": "missing at the end of line 2?",
    "{\n}\nreturn\n true": "missing at the end of line 4?",
}


@pytest.mark.quick
@pytest.mark.row("G24")
@pytest.mark.parametrize("code", HINTS)
def test_hints(code: str) -> None:
    end = "" if "return true" in code else END
    refuses(Error, lambda: wrap_signature("x(n), m(n, n) -> y()", code + end), HINTS[code])


# Names of Python and C++, in any text.
WORDS = {
    "x ** 2": "powers: pow(x, y)",
    "x ^ 2": "powers: pow(x, y)",
    "max(x, 1)": "floating numbers it is fmax",
    "min(x, 1)": "floating numbers it is fmin",
    "math.sqrt(x)": "no module in front: sqrt(x)",
    "np.sqrt(x)": "no module in front: sqrt(x)",
    "x * pi": "C calls it M_PI",
    "x > 1 and x < 2": "C writes it &&",
    "x > 1 or x < 2": "C writes it ||",
    "x if x > 0 else 0": "condition ? a : b",
    "float(x) / 2": "C writes a cast (float)(x)",
    "int (x)": "C writes a cast (int)(x)",
    "2 * double(x)": "C writes a cast (double)(x)",
    "static_cast<float>(x)": "C writes a cast (float)(x)",
}


@pytest.mark.quick
@pytest.mark.row("G24")
@pytest.mark.parametrize("words", WORDS)
def test_what_python_writes_and_c_does_not(words: str) -> None:
    refuses(Error, lambda: cwrapjit.vectorize(f"double f(double x) {{ return {words}; }}"), WORDS[words])


@pytest.mark.quick
@pytest.mark.row("G24")
@pytest.mark.parametrize("name", ["npy_maximum", "npy_minimum", "npy_amax", "npy_amin", "isnan", "fmaxl"])
def test_functions_that_have_the_name_of_a_macro(name: str) -> None:
    text = f"static int other(int n) {{ return n; }}\ndouble *{name}(double *a, int n) {{ return a + n; }}"
    for front in (
        lambda text: wrap_signature("x(n), m(n, n) -> y()", "item__y() = 1;" + END, header=text),
        lambda text: cwrapjit.library("m", source=text),
        lambda text: cwrapjit.ElementwiseKernel("double x", "double y", "y = x", preamble=text)(np.ones(2)),
    ):
        cure = f"{name}() is a macro here: a function of its own has another name, or #undef {name} in front"
        assert refuses(Error, lambda front=front: front(text), cure).lineno == 2
        if name != "fmaxl":  # that function exists
            front(f"#undef {name}\n{text}")
    mine = cwrapjit.vectorize("#undef npy_maximum\ndouble npy_maximum(double a, double b) { return a - b; }")
    assert mine(3.0, 1.0) == 2
    called = refuses(
        Error, lambda: cwrapjit.vectorize("double f(double x) { return isnan(x, x) + 1; }"), "isnan"
    )
    assert "here" not in called.msg


@pytest.mark.row("G24")
@pytest.mark.parametrize(
    "code", ["item__y() = nonsense(1);", "item__y() = 1 2;", "item__y() = unknown;", "int x = ;"]
)
def test_no_hint_where_nothing_is_known(code: str) -> None:
    error = refuses(
        Error, lambda: wrap_signature("x(n), m(n, n) -> y()", code + END), "<cwrapjit t.f float64>"
    )
    assert "(" not in error.msg.replace("(got '", "")


@pytest.mark.row("G24")
def test_headers_are_named_for_all_front_ends(tmp_path: pathlib.Path) -> None:
    source = tmp_path / "mine.c"
    source.write_text("double h(double x) { return isalpha((int)x); }\n")
    refuses(Error, lambda: cwrapjit.module("m", "", sources=[source]), "<ctype.h>")
    refuses(Error, lambda: cwrapjit.library("m", sources=[source]), "<ctype.h>")
    wrap_signature("x() -> y()", "item__y() = isalpha(65) != 0; return true;", header="#include <ctype.h>")


@pytest.mark.row("G24")
def test_a_list_that_a_cast_would_take() -> None:
    """A list of ints is no float64. If NumPy could cast it safely, the message says how to ask for it."""
    f = wrap_signature("x(n) -> y()", "item__y() = item__x(0); return true;")
    refuses(TypeError, lambda: f([1, 2, 3]), "'x' is int64", 'cast="safe" converts it')
    refuses(TypeError, lambda: f(np.arange(3)), 'cast="safe" converts it')
    error = refuses(TypeError, lambda: f(["a"]), "no type set fits")
    assert "cast=" not in str(error)
    g = wrap_signature("x(n) -> y()", "item__y() = item__x(0); return true;", cast="safe")
    assert g([1, 2, 3]) == 1
    error = refuses(TypeError, lambda: g(["a"]), "no type set fits")
    assert "cast=" not in str(error)


@pytest.mark.quick
@pytest.mark.row("G24")
def test_the_address_of_a_bool_that_is_an_input() -> None:
    """The input is a value, converted from its byte; the message names its memory."""
    code = "const bool *p = &item__x(); item__y() = *p; return true;"
    refuses(Error, lambda: wrap_signature("x() -> y()", {np.bool_: code}), "data_slice__x")
