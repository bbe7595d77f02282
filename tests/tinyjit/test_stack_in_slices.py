"""Slices that take stack, come back by longjmp or jump to computed labels: right in both tiers.

An optimizing compiler that made such a slice a part of the loop would let its stack grow with each slice, or
refuse the text.
"""

from __future__ import annotations

import io
import pathlib
import sys
from typing import Any

import numpy as np
import pytest
from helpers import build_extension, compiler, wrap_signature

import cwrapjit

SUM = "for (int i = 0; i < dims_slice__x[0]; i++) s += 2 * item__x(i); *t = item__y() = s; return true;"
TAKE = "double s = 0, *t = %s; " + SUM
SLICES = 40_000  # times 4 KB: more stack than there is

CASES = {
    "alloca": ("#include <alloca.h>", TAKE % "alloca(4096)"),
    "the builtin": ("", TAKE % "__builtin_alloca(4096)"),
    "a macro": ("#include <alloca.h>\n#define ROOM(n) alloca(n)", TAKE % "ROOM(4096)"),
    "the macro of a file": ('#include "hidden.h"', TAKE % "HIDDEN(4096)"),
    "a function": (
        "static inline __attribute__((always_inline)) double twice(double x)\n"
        "{ double *t = __builtin_alloca(4096); t[1] = x; return 2 * t[1]; }",
        "double s = 0; for (int i = 0; i < dims_slice__x[0]; i++) s += twice(item__x(i)); item__y() = s;"
        "return true;",
    ),
    "a variable array": ("", "double s = 0, t[512 * dims_slice__x[0]]; " + SUM),
    "a variable array, left early": (
        "",
        "double s = 0, t[512 * dims_slice__x[0]]; " + SUM.replace("return", "if (s > 3) return true; return"),
    ),
    "setjmp": (
        "#include <setjmp.h>\nstatic void back(jmp_buf to, int n) { longjmp(to, n); }",
        "jmp_buf here; volatile double s = 0; volatile int i = 0; setjmp(here);"
        "if (i < dims_slice__x[0]) { s += 2 * item__x(i); i++; back(here, 1); } item__y() = s; return true;",
    ),
    "a computed goto": (
        "",
        "const void *to[] = {&&more, &&end}; double s = 0; int i = 0; more: s += 2 * item__x(i); i++;"
        "goto *to[i == dims_slice__x[0]]; end: item__y() = s; return true;",
    ),
    "static labels": (
        "",
        "static const void *const to[] = {&&more, &&end}; double s = 0; int i = 0; more: s += 2 * item__x(i);"
        "i++; goto *to[i == dims_slice__x[0]]; end: item__y() = s; return true;",
    ),
    "a computed goto of a macro": (
        "#define NEXT goto *to[i == dims_slice__x[0]]",
        "const void *to[] = {&&more, &&end}; double s = 0; int i = 0; more: s += 2 * item__x(i); i++; NEXT;"
        "end: item__y() = s; return true;",
    ),
    "local labels": (
        "",
        "__label__ end; double s = 0; int i = 0; for (;;) { if (i == dims_slice__x[0]) goto end;"
        "s += 2 * item__x(i++); } end: item__y() = s; return true;",
    ),
}


@pytest.fixture
def hidden(tmp_path: pathlib.Path) -> list[str]:
    (tmp_path / "hidden.h").write_text("#include <alloca.h>\n#define HIDDEN(n) alloca(n)\n")
    return [str(tmp_path)]


@pytest.mark.row("G14")
@pytest.mark.parametrize("case", CASES)
def test_both_tiers_are_right(case: str, hidden: list[str]) -> None:
    compiler()
    header, code = CASES[case]
    x = np.random.default_rng(5).integers(0, 9, (SLICES, 3)).astype(np.float64)
    for optimize, tier in (("off", "tcc"), ("eager", "cc")):
        f = wrap_signature("x(n) -> y()", code, header=header, include_dirs=hidden, optimize=optimize)
        assert f.tier == tier
        assert np.array_equal(f(x), 2 * x.sum(1)), optimize


@pytest.mark.row("G14")
def test_written_modules_keep_such_slices_apart(hidden: list[str], built: pathlib.Path) -> None:
    header, code = CASES["the macro of a file"]
    m = cwrapjit.module("apart", "", header=header, include_dirs=hidden)
    m.function("f", "", signature="x(n) -> y()", Ccode_slice_eval={np.float64: code})
    text: Any = io.StringIO()
    m.write(text)
    loaded = build_extension(built, "apart", text.getvalue(), f"-I{hidden[0]}", "-O3")
    x = np.ones((SLICES, 3))
    try:
        assert np.array_equal(loaded.f(x), 2 * x.sum(1))
    finally:
        sys.modules.pop("apart", None)
