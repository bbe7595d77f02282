"""The first messages that a beginner sees say what is meant, where the compiler's words do not."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest
from helpers import refuses, wrap_signature

import cwrapjit as cj

END = "\nreturn true;"
HINTS = {
    "double a = 1\nitem__y() = a;": "missing at the end of line 1",
    "double a = 1;\nitem__y() = a": "missing at the end of line 2",
    "data_slice__x[0] = 1;": "'x' is an input: args_inout=(\"x\",) lets C write to it",
    "static char a[1LL << 40]; item__y() = a[0];": "above any cwrapjit.config.compile_memory",
    "static char a[3000000000]; item__y() = a[0];": "above any cwrapjit.config.compile_memory",
    "static char a[1000000][1000000]; item__y() = a[0][0];": "above any cwrapjit.config.compile_memory",
    "static int a[] = {[0 ... 0x7ffffffe] = 1}; item__y() = a[0];": "cwrapjit.config.compile_memory",
    "item__y() = sin(item__x(0))\n\n  if (1) return true;": "missing at the end of line 1",
    "int n\ndouble z;": "missing at the end of line 1",
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
}


@pytest.mark.quick
@pytest.mark.row("G24")
@pytest.mark.parametrize("code", HINTS)
def test_hints(code: str) -> None:
    refuses(cj.CompileError, lambda: wrap_signature("x(n), m(n, n) -> y()", code + END), HINTS[code])


# Python's words, in any text.
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
}


@pytest.mark.quick
@pytest.mark.row("G24")
@pytest.mark.parametrize("words", WORDS)
def test_what_python_writes_and_c_does_not(words: str) -> None:
    refuses(cj.CompileError, lambda: cj.vectorize(f"double f(double x) {{ return {words}; }}"), WORDS[words])


@pytest.mark.quick
@pytest.mark.row("G24")
@pytest.mark.parametrize("code", ["return true", "item__y() = 1;\nreturn true\n", "{\n}\nreturn\n true"])
def test_the_last_semicolon(code: str) -> None:
    line = len(code.strip().split("\n"))
    refuses(
        cj.CompileError, lambda: wrap_signature("x(n) -> y()", code), f"missing at the end of line {line}?"
    )


@pytest.mark.row("G24")
@pytest.mark.parametrize(
    "code", ["item__y() = nonsense(1);", "item__y() = 1 2;", "item__y() = unknown;", "int x = ;"]
)
def test_no_hint_where_nothing_is_known(code: str) -> None:
    error = refuses(
        cj.CompileError, lambda: wrap_signature("x(n), m(n, n) -> y()", code + END), "<cwrapjit t.f float64>"
    )
    assert "(" not in error.msg.replace("(got '", "")


@pytest.mark.row("G24")
def test_headers_are_named_for_all_front_ends(tmp_path: pathlib.Path) -> None:
    source = tmp_path / "mine.c"
    source.write_text("double h(double x) { return isalpha((int)x); }\n")
    refuses(cj.CompileError, lambda: cj.module("m", "", sources=[source]), "<ctype.h>")
    refuses(cj.CompileError, lambda: cj.library("m", sources=[source]), "<ctype.h>")
    wrap_signature("x() -> y()", "item__y() = isalpha(65) != 0; return true;", header="#include <ctype.h>")


@pytest.mark.row("G24")
def test_a_list_that_a_cast_would_take() -> None:
    """A list of ints is no float64; where NumPy's safe casting would do, the message says how to ask."""
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
    """It is a value, converted from its byte; the message says where its memory is."""
    code = "const bool *p = &item__x(); item__y() = *p; return true;"
    refuses(cj.CompileError, lambda: wrap_signature("x() -> y()", {np.bool_: code}), "data_slice__x")
