"""Addresses written as numbers: libtcc takes others where memory is accessed, which is refused."""

from __future__ import annotations

import mmap
import pathlib
import platform
from typing import Any

import numpy as np
import pytest
from helpers import refuses, wrap_signature

import cwrapjit as cj

pytestmark = pytest.mark.row("G08")

HEADER = "struct pair { double a, b; double c[2]; };\ntypedef struct pair *pointer;\n"
SAID = "libtcc takes another address than this number: put it into a pointer variable first"

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
RIGHT = {
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
    """0 to 7, above 4 GiB: the heap of an interpreter that is linked without PIE lies below."""
    memory = np.frombuffer(mmap.mmap(-1, mmap.PAGESIZE))[:8]
    memory[:] = range(8)
    return memory


def define(code: str, address: int, **options: Any) -> Any:
    text = "item__y() = 0; " + code.replace("ADDRESS", f"{address:#x}ul") + " return true;"
    return wrap_signature("x() -> y()", text, header=HEADER + "#include <string.h>\n", **options)


@pytest.mark.quick
@pytest.mark.parametrize("code", ACCESSES)
def test_accesses_by_numbers_are_refused(code: str, tmp_path: pathlib.Path) -> None:
    memory = in_high_memory()
    for address in (memory.ctypes.data, 1 << 31, (1 << 64) - 64):
        refuses(cj.CompileError, lambda address=address: define(code, address), SAID, "line ")
    text = HEADER + "static void store(void) {\n" + code.replace("ADDRESS", "140737488355328") + "\n}\n"
    refuses(
        cj.CompileError,
        lambda: wrap_signature("x() -> y()", "store(); return true;", header="#include <stdint.h>\n" + text),
        SAID,
    )
    (tmp_path / "mine.c").write_text("#include <stdint.h>\n" + text)
    refuses(cj.CompileError, lambda: cj.module("m", "", sources=[tmp_path / "mine.c"]), SAID)
    assert memory.tolist() == list(range(8))


def test_small_numbers_are_right_or_refused() -> None:
    """libtcc keeps 31 bits for x86-64, and none for arm64. Nobody calls what it makes."""
    text = "if (item__x() > 5) { " + ACCESSES[0] + ACCESSES[3] + ACCESSES[12] + ACCESSES[13] + " }"
    if platform.machine() == "aarch64":
        refuses(cj.CompileError, lambda: define(text, (1 << 31) - 64), SAID)
    else:
        assert define(text, (1 << 31) - 64)(1.0) == 0


def test_members_of_null_are_not_accessed() -> None:
    """What offsetof() was before it was a builtin, and how headers ask for the size of a member."""
    text = "item__y() = (size_t)&((struct pair *)0)->b + sizeof(((struct pair *)0)->c); return true;"
    assert wrap_signature("x() -> y()", text, header="#include <stddef.h>\n" + HEADER)(1.0) == 24


@pytest.mark.quick
@pytest.mark.parametrize("optimize", ["off", "eager"])
@pytest.mark.parametrize("code", RIGHT)
def test_other_uses_of_numbers_are_right(code: str, optimize: str) -> None:
    memory = in_high_memory()
    f = define(code, memory.ctypes.data, optimize=optimize)
    value = f(1.0)
    at, wanted = RIGHT[code]
    expected = np.arange(8.0)
    expected[at] = wanted
    assert memory.tolist() == expected.tolist()
    assert value == (9 if "item__y()" in code else 0)
