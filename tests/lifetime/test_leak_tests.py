"""The tests of what is kept can fail: leaks of every kind are put in, and each must be found."""

from __future__ import annotations

import ctypes
import os
import pathlib
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from helpers import ar, wrap
from leaks import MEASURES, keeps_nothing, what_grows
from library_tools import from_c

TESTS = pathlib.Path(__file__).resolve().parents[1]
pytestmark = [pytest.mark.row("G22"), pytest.mark.leak]

x = ar(4)
kept: list[Any] = []


def leaking_cookie() -> Callable[[], Any]:
    f = wrap(
        ((),),
        (),
        "item__output() = *cookie->work; return true;",
        Ccode_cookie_struct="double *work;",
        Ccode_validate="cookie->work = calloc(1, sizeof(double)); return true;",
    )
    return lambda: f(x)


def leaking_now_and_then() -> Callable[[], Any]:
    f = wrap(((),), (), "if (item__a() == 0) malloc(1); item__output() = 0; return true;")
    ones, calls = np.ones(1), iter(range(10**9))
    return lambda: f(0.0 if next(calls) % 40 == 0 else ones)


def leaking_reference() -> Callable[[], Any]:
    f = wrap(
        ((),),
        (),
        "Py_INCREF(thing); item__output() = 0; return true;",
        header="#include <Python.h>\n",
        extra_args=(("PyObject*", "thing", "NULL", "O"),),
    )
    return lambda: f(0.0, thing=x)


def losing_reference() -> Callable[[], Any]:
    f = wrap(
        ((),),
        (),
        "Py_DECREF(thing); item__output() = 0; return true;",
        header="#include <Python.h>\n",
        extra_args=(("PyObject*", "thing", "NULL", "O"),),
    )
    for _ in range(2000):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(x))
    return lambda: f(0.0, thing=x)


def leaking_library() -> Callable[[], Any]:
    f = from_c("#include <stdlib.h>\nvoid f(void) { volatile char *p = malloc(1); (void)p; }").function(
        "void f(void)"
    )
    return lambda: f()


def leaking_functions() -> Callable[[], Any]:
    return lambda: kept.append(wrap(((),), (), "return true;"))


def leaking_memory_of_the_kernel() -> Callable[[], Any]:
    anonymous = "char *p = mmap(0, 8192, 3, 0x22, -1, 0); *p = 1; item__output() = 0; return true;"
    f = wrap(((),), (), anonymous, header="void *mmap(void *, size_t, int, int, int, long);\n")
    return lambda: f(0.0)


def leaking_descriptors() -> Callable[[], Any]:
    return lambda: os.dup(0)


LEAKS: dict[str, tuple[Callable[[], Callable[[], Any]], str]] = {
    "a block of a cookie": (leaking_cookie, "bytes of malloc()"),
    "a block in every 40th call": (leaking_now_and_then, "bytes of malloc()"),
    "a reference": (leaking_reference, "references to"),
    "a reference too few": (losing_reference, "references to"),
    "a block of a library": (leaking_library, "bytes of malloc()"),
    "functions": (leaking_functions, "blocks of Python's"),
    "pages": (leaking_memory_of_the_kernel, "resident bytes"),
    "descriptors": (leaking_descriptors, "file descriptors"),
}


@pytest.mark.parametrize("leak", LEAKS)
def test_a_leak_is_found(leak: str) -> None:
    make, wanted = LEAKS[leak]
    with open(os.devnull) as below:
        first = below.fileno()
    grown = what_grows(make(), 400, (x,))
    assert any(text.startswith(wanted) for text in grown), grown
    kept.clear()
    if leak == "descriptors":
        os.closerange(first, max(map(int, os.listdir("/proc/self/fd"))) + 1)


def test_clean_work_is_acquitted() -> None:
    cache: dict[int, Any] = {}
    turns = iter(range(10**9))

    def fills_a_cache() -> None:
        cache[next(turns) % 150] = []

    keeps_nothing(fills_a_cache, 100, (x,))


def run_with_a_leak(files: Sequence[pathlib.Path], folder: pathlib.Path) -> str:
    """What pytest prints of the leak tests in these files, when a leak is put into each."""
    options = ["-q", "-m", "leak", "--tb=line", "-p", "no:cacheprovider"]
    where = ["-c", str(TESTS.parent / "pyproject.toml"), "--rootdir", str(TESTS.parent)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *where, *map(str, files)],
        cwd=folder,  # not the checkout, whose package is not the one that is tested
        env={**os.environ, "CWRAPJIT_TEST_LEAK": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    return done.stdout


def test_every_leak_test_fails_when_a_leak_is_put_in(tmp_path: pathlib.Path) -> None:
    others = [path for path in sorted(TESTS.rglob("test_*.py")) if path.name != pathlib.Path(__file__).name]
    which = [path for path in others if "mark.leak" in path.read_text()]
    with ThreadPoolExecutor() as pool:
        said = list(pool.map(run_with_a_leak, (which[::2], which[1::2]), (tmp_path, tmp_path)))
    count = 0
    for each in said:
        failed = re.match(r"(\d+) failed, (?:\d+ skipped, )?\d+ deselected in", each.splitlines()[-1])
        assert failed, each
        assert each.count("AssertionError: work leaks: ") >= int(failed[1]), "and for no other reason"
        count += int(failed[1])
    assert count > 100


def test_every_measure_has_a_leak() -> None:
    wanted = {wanted for _, wanted in LEAKS.values()}
    assert wanted >= {*MEASURES} - {"memory mappings"}
