"""Parameters that point to rows: what libtcc gets wrong is refused, and what it gets right is right."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest
from helpers import refuses, wrap_signature
from library_tools import from_c

import cwrapjit
import cwrapjit.graph as cg

pytestmark = pytest.mark.row("G08")

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
CODE = "double b[3][3] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}; item__y() = f(3, b); return true;"
SAID = "write a[][n] for (*a)[n]"


def define(text: str, where: str, folder: pathlib.Path) -> Any:
    source = folder / "trace.c"
    source.write_text(text)
    if where == "header":
        return wrap_signature("x() -> y()", CODE, header="static " + text)
    if where == "sources":
        declared = text[: text.index("{")] + ";"
        return wrap_signature("x() -> y()", CODE, header=declared, sources=[source])
    if where == "library":
        f = from_c(text).function("double f(int n, const double a[n][n])")
        return lambda _x: f(np.arange(1.0, 10).reshape(3, 3))
    x = cg.float64("x")
    values = "{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}"
    row = f"static double g(double x) {{ double b[3][3] = {values}; return x + f(3, b); }}"
    return cwrapjit.link([x], cg.elementwise("x", "g(x)", support_code="static " + text + row)(x))


@pytest.mark.quick
@pytest.mark.parametrize("where", ["header", "sources", "library", "graph"])
@pytest.mark.parametrize("parameter", WRONG)
def test_rows_of_a_length_that_another_parameter_says(
    parameter: str, where: str, tmp_path: pathlib.Path
) -> None:
    text = TRACE.replace("PARAMETER", parameter)
    refuses(cwrapjit.CompileError, lambda: define(text, where, tmp_path), SAID)


@pytest.mark.parametrize("where", ["header", "sources", "library", "graph"])
@pytest.mark.parametrize("parameter", RIGHT)
def test_the_same_type_written_otherwise(parameter: str, where: str, tmp_path: pathlib.Path) -> None:
    assert define(TRACE.replace("PARAMETER", parameter), where, tmp_path)(0.0) == 15


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
