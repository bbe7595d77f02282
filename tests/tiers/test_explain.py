"""Tests f.explain(): which loops are vectorised, how wide, what prevents others, what functions they call."""

from __future__ import annotations

import pathlib
import platform
import shutil
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers import compiler, refuses, wrap, wrap_signature
from leaks import keeps_nothing

import cwrapjit
from cwrapjit import _explain

SUM = """double sum = 0;
for (int i = 0; i < dims_slice__x[0]; i++)
    sum += exp(item__x(i));
for (int i = 0; i < dims_slice__x[0]; i++)
    item__y(i) = 2 * item__x(i) + sum;
return true;"""

on_x86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="widths are those of x86-64")


@pytest.fixture(autouse=True)
def needs_a_compiler() -> None:
    compiler()


def real_compiler(name: str) -> str:
    return shutil.which(name) or pytest.skip(f"there is no {name}")


def square(**options: Any) -> Any:
    return wrap_signature("x() -> y()", "item__y() = item__x() * item__x(); return true;", **options)


def only_loop(explanation: Any) -> dict[str, Any]:
    (loop,) = explanation.loops
    return loop


@pytest.mark.row("K20")
@pytest.mark.parametrize("cc", ["gcc", "clang"])
def test_a_loop_over_slices_is_vectorised(cc: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CWRAPJIT_CC", real_compiler(cc))
    found = square().explain()
    loop = only_loop(found)
    assert loop["vectorized"] is True and loop["reasons"] == []
    assert (loop["bytes"] or 8 * loop["lanes"]) in (16, 32, 64)
    assert loop["line"] is None and loop["text"] == ""
    assert loop["types"] == "float64 -> float64" and loop["variant"] == "unit"
    (function,) = found.functions
    assert function["calls"] == [] and 16 < function["size"] < 10_000
    assert repr(found) == "<cwrapjit explanation of t.f: 1 of 1 loops vectorized>"
    shown = str(found).splitlines()
    assert shown[0].startswith("t.f, by /") and "variant 'unit'" in shown[1]
    assert shown[2] == "  the loop over slices" and shown[3].startswith("      vectorized, ")


@pytest.mark.row("K20")
def test_a_clang_that_is_a_link_to_ccache_is_clang(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ccache, link = tmp_path / "ccache", tmp_path / "clang"
    ccache.write_text(f'#!/bin/sh\nexec {real_compiler("clang")} "$@"\n')
    ccache.chmod(0o755)
    link.symlink_to(ccache)
    monkeypatch.setenv("CWRAPJIT_CC", str(link))
    assert only_loop(square().explain())["vectorized"] is True


@pytest.mark.quick
@pytest.mark.row("K20")
@pytest.mark.parametrize("cc", ["gcc", "clang"])
def test_lines_and_reasons_are_the_users(cc: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CWRAPJIT_CC", real_compiler(cc))
    found = wrap_signature("x(n) -> y(n)", SUM).explain()
    loops = {loop["line"]: loop for loop in found.loops}
    assert {2, 4} <= set(loops)
    scalar = loops[2]
    assert scalar["vectorized"] is False and scalar["reasons"]
    assert scalar["text"] == "for (int i = 0; i < dims_slice__x[0]; i++)"
    assert scalar["file"] == "<cwrapjit t.f float64>"
    assert found.functions[0]["calls"] == [("exp", "cwrapjit")]
    assert "  calls exp (cwrapjit)" in str(found)
    assert "  line 2: for (int i" in str(found)


@pytest.mark.quick
@on_x86
@pytest.mark.plain("kernels with checks of a sanitizer are other loops")
@pytest.mark.row("K20")
def test_functions_for_vectors_are_named() -> None:
    found = wrap_signature("x() -> y()", "item__y() = exp(item__x()); return true;", fastmath=True).explain()
    if not any(library == "libmvec" for _, library in found.functions[0]["calls"]):
        pytest.skip("there is no libmvec")
    assert only_loop(found)["vectorized"] is True


@pytest.mark.plain("kernels with checks of a sanitizer are other loops")
def test_it_is_the_variant_that_calls_take() -> None:
    text = "for (npy_intp i = 0; i < dims_slice__x[0]; i++)\n    item__y(i) = 2 * item__x(i);\nreturn true;"
    f = wrap_signature("x(n) -> y(n)", text)
    found = f.explain()
    assert found.functions[0]["variant"] == "contiguous"
    assert [loop["vectorized"] for loop in found.loops if loop["line"] == 1] == [True]
    wide, out = np.zeros((3000, 200)), np.zeros((3000, 100))
    for _ in range(20):
        f(wide[:, ::2], out=out)
    assert f.explain().functions[0]["variant"] == "steady"


def test_every_type_set() -> None:
    body = "item__output() = item__a() + item__a(); return true;"
    f = wrap(((),), (), dict.fromkeys((np.float64, np.float32, np.int64), body))
    found = f.explain()
    assert [each["types"] for each in found.functions] == list(f.types)
    assert [loop["types"] for loop in found.loops] == list(f.types)


def test_loops_of_the_header_have_its_lines() -> None:
    header = "static double g(double x)\n{\n    while (x > 1)\n        x = x / 3;\n    return x;\n}"
    found = wrap_signature("x() -> y()", "item__y() = g(item__x()); return true;", header=header).explain()
    lines = [(loop["file"], loop["text"].strip()) for loop in found.loops if loop["line"] is not None]
    assert any(file == "<cwrapjit t header>" for file, _ in lines)
    assert all(text in header for file, text in lines if file == "<cwrapjit t header>")


GCC = """\
FILE:2:5: missed: couldn't vectorize loop
FILE:3:9: missed: not vectorized: unsupported use in stmt.
FILE:2:5: missed: couldn't vectorize loop
FILE:3:9: missed: not vectorized: unsupported use in stmt.
FILE:2:5: missed: couldn't vectorize loop
FILE:2:5: missed: not vectorized: no grouped stores.
FILE:4:5: missed: couldn't vectorize loop
FILE:5:9: missed: statement clobbers memory: y_3 = expf (x_2);
FILE:6:5: missed: couldn't vectorize loop
FILE:6:9: missed: not vectorized: too narrow.
FILE:6:5: optimized: loop vectorized using 32 byte vectors
FILE:6:5: optimized: loop vectorized using 16 byte vectors
<cwrapjit f generated>:9:1: optimized: loop vectorized using 16 byte vectors
cwrapjit size cwj_contiguous0_1__f 320
cwrapjit calls expf /lib/x86_64-linux-gnu/libm.so.6
cwrapjit calls own /somewhere/_cwrapjit.cpython-311.so
"""
CLANG = """\
--- !Analysis
Pass:            loop-vectorize
DebugLoc:        { File: 'FILE', Line: 3, Column: 9 }
Args:
  - String:          'loop not vectorized: '
  - String:          'it''s not known; allow this with'
...
--- !Missed
Pass:            loop-vectorize
DebugLoc:        { File: 'FILE', Line: 2, Column: 5 }
Args:
  - String:          loop not vectorized
...
--- !Passed
Pass:            loop-vectorize
DebugLoc:        { File: FILE, Line: 6, Column: 5 }
Args:
  - String:          'vectorized loop (vectorization width: '
  - VectorizationFactor: '4'
  - String:          ')'
...
"""


def told(text: str) -> Any:
    lines = "\n".join(f"line {k}" for k in range(1, 8))
    explanation = _explain.build("f", "cc", [("float64", text.replace("FILE", "<f>"), (("<f>", lines),))])
    return explanation, explanation.functions[0]


@pytest.mark.row("K20")
def test_what_gcc_says() -> None:
    explanation, function = told(GCC)
    slices, unknown, call, vectorized = function["loops"]
    assert (slices["line"], slices["bytes"], slices["text"]) == (None, 16, "")
    assert (unknown["line"], unknown["text"], unknown["vectorized"]) == (2, "line 2", False)
    assert unknown["reasons"] == [
        {"line": 3, "text": "unsupported use in stmt"},
        {"line": 2, "text": "no grouped stores"},
    ]
    assert call["reasons"] == [{"line": 5, "text": "expf() is called"}]
    assert (vectorized["vectorized"], vectorized["bytes"], vectorized["reasons"]) == (True, 32, [])
    assert {loop["variant"] for loop in function["loops"]} == {function["variant"]} == {"contiguous"}
    assert (function["size"], function["calls"]) == (320, [("expf", "libm"), ("own", "cwrapjit")])
    assert repr(explanation) == "<cwrapjit explanation of f: 2 of 4 loops vectorized>"
    assert str(explanation).splitlines() == [
        "f, by cc",
        "float64: variant 'contiguous', 320 bytes of code",
        "  the loop over slices",
        "      vectorized, 16 bytes at a time",
        "  line 2: line 2",
        "      not vectorized",
        "      line 3: unsupported use in stmt",
        "      no grouped stores",
        "  line 4: line 4",
        "      not vectorized",
        "      line 5: expf() is called",
        "  line 6: line 6",
        "      vectorized, 32 bytes at a time",
        "  calls expf (libm), own (cwrapjit)",
    ]


@pytest.mark.row("K20")
def test_what_clang_says() -> None:
    _, function = told(CLANG)
    missed, vectorized = function["loops"]
    assert (missed["line"], missed["reasons"]) == (2, [{"line": 3, "text": "it's not known"}])
    assert (vectorized["vectorized"], vectorized["bytes"], vectorized["lanes"]) == (True, None, 4)


def test_it_changes_nothing() -> None:
    f = square(optimize="off")
    before = f.source
    assert f.explain() is not None
    assert f.tier == "tcc" and f.source == before and f(3.0) == 9
    assert square(debug=True).explain().loops
    assert wrap(((),), (), "item__output() = 1; return true;").explain().functions[0]["variant"]


@pytest.mark.quick
def test_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CWRAPJIT_CC", "/nowhere/cc")
    assert square().explain() is None


@pytest.mark.quick
def test_what_the_compiler_refuses_is_raised(cc: Callable[[str], pathlib.Path]) -> None:
    header = "static double twice(double x) { return 2 * x; }\n"
    f = wrap_signature("x() -> y()", 'item__y() = item__x() + twice("x"); return true;', header=header)
    with pytest.raises(cwrapjit.CompileError, match="incompatible type for argument 1"):
        f.explain()
    cc("exit 3")
    refuses(RuntimeError, square().explain, "t.f()", "it failed with status 3")


def test_a_compiler_that_says_anything(cc: Callable[[str], pathlib.Path], tmp_path: pathlib.Path) -> None:
    said = tmp_path / "said"
    said.write_bytes(
        b"x:1:1: missed: couldn't vectorize loop\nx:9999999999:1: missed: y\n\0\377--- !Passed\n"
        b"DebugLoc:\n--- !Missed\nDebugLoc: { File: a, Line: 3, Column: 5 }\n...\n"
        b"cwrapjit size\ncwrapjit size a b\n:::\n"
        b"x:" + b"1" * 9000 + b":1: optimized: loop vectorized using " + b"9" * 9000 + b" byte vectors\n"
    )
    cc(f"cat '{said}' >&2; exec REAL \"$@\"")
    found = square().explain()
    assert "the loop over slices" in str(found)
    assert any(loop["file"] == "x" and not loop["vectorized"] for loop in found.loops)


@pytest.mark.leak
def test_it_keeps_nothing(cc: Callable[[str], pathlib.Path], tmp_path: pathlib.Path) -> None:
    kept, said = tmp_path / "kept.o", tmp_path / "said"
    cc(f'test -f {kept} || REAL "$@" 3>{kept} 2>{said}; cat {said} >&2; cat {kept} >&3')
    f = square()
    keeps_nothing(f.explain, watched=(f,))
