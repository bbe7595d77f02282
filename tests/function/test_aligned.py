"""Alignment of locals: libtcc gives 16 bytes; what asks for more is refused, and holds where it is data."""

from __future__ import annotations

import pathlib

import pytest
from helpers import refuses, wrap_signature

import cwrapjit as cj

ADDRESS = "item__y() = (size_t)&v % {} == 0; return true;"


@pytest.mark.quick
@pytest.mark.row("G15")
@pytest.mark.parametrize(
    "local",
    [
        "_Alignas(64) double v = 1;",
        "double v[8] __attribute__((aligned(32)));",
        "__attribute__((unused, __aligned__(64))) double v;",
        "struct { _Alignas(64) double x; } v;",
        "\n#define LINE _Alignas(64)\nLINE double v;",
    ],
)
def test_locals_that_ask_for_more_are_refused(local: str, tmp_path: pathlib.Path) -> None:
    refuses(
        cj.CompileError,
        lambda: wrap_signature("x() -> y()", local + ADDRESS.format(32)),
        "locals are aligned to 16 bytes",
    )
    header = f"static double h(void) {{ {local}\nreturn sizeof(v); }}"
    code = "item__y() = h(); return true;"
    refuses(
        cj.CompileError,
        lambda: wrap_signature("x() -> y()", code, header=header),
        "locals are aligned to 16 bytes",
    )
    source = tmp_path / "mine.c"
    source.write_text(header)
    refuses(cj.CompileError, lambda: cj.module("m", "", sources=[source]), "locals are aligned to 16 bytes")


@pytest.mark.row("G15")
@pytest.mark.parametrize("optimize", ["off", "eager"])
@pytest.mark.parametrize(
    ("header", "local", "bytes_"),
    [
        ("", "_Alignas(16) double v = 1;", 16),
        ("", "char c = 0; _Alignas(8) char v = c;", 8),
        ("", "static const _Alignas(64) double v = 1;", 64),
        ("", "char c = 0; static const double v __attribute__((aligned(64))) = 1; (void)c;", 64),
        ("static const char c = 1; static const _Alignas(64) double v = 1;", "(void)c;", 64),
        ("struct s { _Alignas(64) double x; }; static const struct s v = {1};", "", 64),
    ],
)
def test_alignment_that_holds(header: str, local: str, bytes_: int, optimize: str) -> None:
    f = wrap_signature("x() -> y()", local + ADDRESS.format(bytes_), header=header, optimize=optimize)
    assert f(0.0) == 1
