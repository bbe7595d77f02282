"""Tests the leak tests: leaks of every kind are added, and each must be found."""

from __future__ import annotations

import ctypes
import os
import pathlib
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from helpers import ar, wrap
from leaks import COUNTED, MEASURES, ROUNDS, keeps_nothing, what_grows
from library_tools import from_c

import cwrapjit
import cwrapjit.graph as cg
from cwrapjit import _cwrapjit

TESTS = pathlib.Path(__file__).resolve().parents[1]
pytestmark = [pytest.mark.row("G22"), pytest.mark.leak]

x = ar(4)
kept: list[Any] = []
over = threading.Event()


def leaking_cookie() -> Callable[[], Any]:
    f = wrap(
        ((),),
        (),
        "item__output() = *cookie->work; return true;",
        header=COUNTED,
        Ccode_cookie_struct="double *work;",
        Ccode_validate="cookie->work = calloc(1, sizeof(double)); return true;",
    )
    return lambda: f(x)


def counting(change: str) -> Callable[[], Any]:
    f = wrap(
        ((),),
        (),
        f"Py_{change}(thing); item__output() = 0; return true;",
        header="#include <Python.h>\n",
        extra_args=(("PyObject*", "thing", "NULL", "O"),),
    )
    return lambda: f(0.0, thing=x)


def leaking_reference() -> Callable[[], Any]:
    return counting("INCREF")


def losing_reference() -> Callable[[], Any]:
    for _ in range(2000):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(x))
    return counting("DECREF")


def leaking_now_and_then() -> Callable[[], Any]:
    calls = iter(range(10**9))
    return lambda: _cwrapjit.lose(16 if next(calls) % ROUNDS == 0 else 0)


def leaking_blocks() -> Callable[[], Any]:
    return lambda: _cwrapjit.lose(16)


def leaking_functions() -> Callable[[], Any]:
    return lambda: kept.append(wrap(((),), (), "return true;"))


def leaking_mappings() -> Callable[[], Any]:
    """Code of more than 256 pages gets its own mapping."""
    return lambda: kept.append(wrap(((),), (), "return true;", header="static char large[2000000];\n"))


def leaking_shared_objects() -> Callable[[], Any]:
    return lambda: kept.append(cwrapjit.module("m", libraries=["m"]))


def leaking_jobs() -> Callable[[], Any]:
    cwrapjit.config.compiler = "/bin/false"  # makes its jobs fail
    return lambda: kept.append(wrap(((),), (), "return true;", optimize="auto")) or kept[-1].wait()


def leaking_graphs() -> Callable[[], Any]:
    y = cg.float64("y")
    return lambda: kept.append(cwrapjit.link([y], y + 1.0))


def leaking_library_functions() -> Callable[[], Any]:
    lib = from_c("int f(int i) { return i; }")
    return lambda: kept.append(lib.function("int f(int i)"))


def leaking_instances() -> Callable[[], Any]:
    lib = from_c("").declare("typedef struct { double x, y; } point;")
    return lambda: kept.append(lib.point())


def leaking_callbacks() -> Callable[[], Any]:
    holder = "typedef struct { int (*f)(int); } holder;"
    lib = from_c(f"{holder} void hold(holder *h, int (*f)(int)) {{ h->f = f; }}").declare(holder)
    hold = lib.function("void hold(holder *h, int (*f)(int))", keeps={"h": "f"})

    def work() -> None:
        kept.append(lib.holder())
        hold(kept[-1], lambda i: i)

    return work


def leaking_threads() -> Callable[[], Any]:
    over.clear()
    return lambda: threading.Thread(target=over.wait).start()


def leaking_descriptors() -> Callable[[], Any]:
    return lambda: kept.append(os.dup(0))


# The counts that change, per round or per batch. Bytes and blocks change with many of them.
LEAKS: dict[Callable[[], Callable[[], Any]], list[str]] = {
    leaking_cookie: ["blocks of C text: +20"],
    leaking_reference: [f"references to {x}: +20"],
    losing_reference: [f"references to {x}: -20"],
    leaking_now_and_then: ["blocks: +1", "bytes: +16"],
    leaking_blocks: ["blocks: +20", "bytes: +320"],
    leaking_functions: ["functions: +20", "units: +20", "environments: +20", "pages of code: +"],
    leaking_mappings: ["mappings: +20"],
    leaking_shared_objects: ["shared objects: +20"],
    leaking_jobs: ["jobs: +"],
    leaking_graphs: ["graphs: +20", "blocks of Python's: +"],
    leaking_library_functions: ["functions of libraries: +20"],
    leaking_instances: ["instances: +20", "owners: +20"],
    leaking_callbacks: ["callbacks: +20"],
    leaking_threads: ["threads: +20"],
    leaking_descriptors: ["file descriptors: +20"],
}


@pytest.mark.parametrize("leak", LEAKS, ids=lambda leak: leak.__name__)
def test_a_leak_is_found(leak: Callable[[], Callable[[], Any]]) -> None:
    grown = what_grows(leak(), ROUNDS, (x,), tries=2)
    over.set()
    for each in kept:
        if leak is leaking_descriptors:
            os.close(each)
    kept.clear()
    for wanted in LEAKS[leak]:
        assert any(text.startswith(wanted) for text in grown), grown


def test_each_count_has_a_leak() -> None:
    """tinyjit/c/test_memory.c counts libtcc's memory; memory of calls is tested below."""
    found = {text.partition(":")[0] for leak in LEAKS.values() for text in leak if ":" in text}
    assert found >= {*MEASURES} - {"blocks of libtcc", "bytes of libtcc", "blocks of calls"}


def test_what_calls_hold_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[int] = []

    class Output:
        def write(self, text: str) -> None:
            held.append(_cwrapjit.live()["blocks of calls"])

    f = wrap(((),), (), 'printf("%d", 5); item__output() = 0; return true;')
    monkeypatch.setattr(sys, "stdout", Output())
    f(0.0)
    monkeypatch.undo()
    assert held == [1] and _cwrapjit.live()["blocks of calls"] == 0


def test_clean_work_is_acquitted() -> None:
    cache: dict[int, Any] = {}
    turns = iter(range(10**9))

    def fills_a_cache() -> None:
        cache[next(turns) % 150] = []

    keeps_nothing(fills_a_cache, watched=(x,))


def test_what_other_threads_keep_is_not_the_works() -> None:
    """Workers of pytest-xdist get messages at any time; here one comes in the batch that decides."""
    calls, when, mine = 0, -1, []
    wanted, done = threading.Event(), threading.Event()

    def other() -> None:
        wanted.wait()
        mine.extend([[] for _ in range(50)])
        done.set()
        over.wait()

    def work() -> None:
        nonlocal calls
        calls += 1
        if calls == when:
            wanted.set()
            done.wait()

    over.clear()
    thread = threading.Thread(target=other)
    thread.start()
    for _ in range(2):
        calls = 0
        keeps_nothing(work)
    usual, when, calls = calls, calls - ROUNDS + 1, 0
    keeps_nothing(work)
    over.set()
    thread.join()
    assert len(mine) == 50 and calls > usual


def run_with_a_leak(files: Sequence[pathlib.Path], folder: pathlib.Path) -> str:
    """Runs the leak tests of these files with an added leak, and returns pytest's output."""
    options = ["-q", "-m", "leak", "--tb=line", "-p", "no:cacheprovider"]
    where = ["-c", str(TESTS.parent / "pyproject.toml"), "--rootdir", str(TESTS.parent)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *where, *map(str, files)],
        cwd=folder,  # not the checkout, whose package is not the tested one
        env={**os.environ, "CWRAPJIT_TEST_LEAK": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    return done.stdout


@pytest.mark.soak("runs all leak tests once more")
def test_every_leak_test_fails_when_a_leak_is_put_in(tmp_path: pathlib.Path) -> None:
    others = [path for path in sorted(TESTS.rglob("test_*.py")) if path.name != pathlib.Path(__file__).name]
    which = [path for path in others if "mark.leak" in path.read_text() and path.parent.name != "peers"]
    with ThreadPoolExecutor() as pool:
        said = list(pool.map(run_with_a_leak, (which[::2], which[1::2]), (tmp_path, tmp_path)))
    count = 0
    for each in said:
        failed = re.match(r"(\d+) failed, (?:\d+ skipped, )?\d+ deselected in", each.splitlines()[-1])
        assert failed, each
        assert each.count("AssertionError: work leaks: ") >= int(failed[1]), "and for no other reason"
        count += int(failed[1])
    assert count > 100
