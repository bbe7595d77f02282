"""Valgrind over definitions, calls, failures and drops: no memory that is not there, nothing lost.

CPython is not free of reports: those count that have frames of ours, of libtcc's or of compiled code.
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

TESTS = pathlib.Path(__file__).resolve().parents[1]
# What makes strings that are interned for good, whoever calls it: CPython 3.12 and 3.13 no longer count their
# references, and leave them behind at the end, while the table of them goes (python/cpython#113190). Names
# that we intern once too often count on other versions.
INTERNING = {
    (3, 12): "PyUnicode_InternFromString|PyDict_SetItemString",
    (3, 13): "PyDict_SetItemString",
}.get(sys.version_info[:2])
# The string itself: nothing lies between it and what interns it but the making of strings.
FOR_GOOD = re.compile(
    rf"definitely lost.*\n(.*: (\w*[Mm]alloc|PyUnicode_\w+|\w*decode_\w+) \(.*\n)+.*: ({INTERNING}) \("
)
OURS = re.compile(r"_cwrapjit|libtcc|cwj_|tj_|: \?\?\?")
# int.from_bytes() makes its zero of a number without digits, and reads the first one (CPython 3.11:
# maybe_small_long() in _PyLong_FromByteArray()). That zero is a flag of most .pyc files: Python code that
# imports computes with it.
IMPORTING = re.compile(
    r".*uninitialised.*\n(?:.*: (?!cwj_|tj_)\w+ \(.*\n)*.*: _PyEval_EvalFrameDefault \((?s:.*): cwj_import \("
)
# Fibres: said once or twice in front of whatever comes next.
OF_STACKS = re.compile(
    r"^==\d+== (Warning: client switching|  +to suppress, use: --max-stack|  +further instances).*\n",
    re.MULTILINE,
)

BEGIN = """
import gc, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
import cwrapjit

def function(body):
    return cwrapjit.function("f", signature="a(n) -> output()", optimize="off",
                             Ccode_slice_eval={np.float64: body})
"""
CYCLES = """
for k in range(3):
    f = function(f"item__output() = item__a(0) + {k}; return true;")
    assert f(np.ones(3)) == 1 + k and f([1.0]) == 1 + k
    texts = ("return oops;", "return true; }")
    for wrong in (f, lambda: f("a"), *(lambda text=text: function(text) for text in texts)):
        try:
            wrong()
        except (TypeError, SyntaxError):
            pass
        else:
            raise SystemExit("no exception")
    del f, wrong
    gc.collect()
"""
# A type whose value is allocated: sync gives it away, cleanup frees what is left.
GRAPHS = """
from graph_types import DBL, Template, TemplateOp
heap = Template(
    declare="double *%(name)s;",
    init="%(name)s = NULL;",
    sync="Py_XDECREF(py_%(name)s); py_%(name)s = PyFloat_FromDouble(*%(name)s);"
         " free(%(name)s); %(name)s = NULL;",
    cleanup="if (%(name)s) free(%(name)s);",
)
for mode in ("struct", "function"):
    for code in ("", "if (%(x)s < 0) %(fail)s"):
        x, y = DBL("x"), DBL("y")
        body = "%(z)s = malloc(sizeof(double)); *%(z)s = %(x)s + %(y)s;" + code
        k = cwrapjit.link([x, y], TemplateOp(type=heap, code=body)(x, y), mode=mode, optimize="off")
        assert k(1.0, 2.0) == 3.0
        if code:
            try:
                k(-1.0, 2.0)
            except RuntimeError:
                pass
            else:
                raise SystemExit("no exception")
        del k
        gc.collect()
"""
# The same where the storage of a run before is freed or used again, and where cells are the caller's.
OWNED = """
take = "Py_XDECREF(py_%(name)s); py_%(name)s = PyFloat_FromDouble(*%(name)s);"
heap = dict(declare="double *%(name)s;", init="%(name)s = NULL;", cleanup="free(%(name)s);")
giving = Template(sync=take + "free(%(name)s); %(name)s = NULL;", **heap)
keeping = Template(sync=take, **heap)
x, y = DBL("x"), DBL("y")
code = "free(%(z)s); %(z)s = malloc(sizeof(double)); *%(z)s = %(x)s + %(y)s; if (%(x)s < 0) %(fail)s"
for type in giving, keeping:
    for mode in "function", "struct":
        k = cwrapjit.link([x, y], TemplateOp(type=type, code=code)(x, y), mode=mode, optimize="off")
        k.cells[1][0] = 2.0
        for k.cells[0][0], wanted in (1.0, 0), (-1.0, 4), (3.0, 0):
            assert k.run() == wanted
        assert k.cells[2] == [5.0]
        del k
"""
FAULT = "f = function('volatile char *p = malloc(8); p[8] = 1; item__output() = 0; return true;'); f([1.0])"
LEAK = "f = function('volatile char *p = malloc(80); item__output() = 0; return true;'); f([1.0]); del f"


PROGRAMS = {"clean": CYCLES + GRAPHS + OWNED, "faulty": FAULT + "\n" + LEAK}


def run(code: str) -> subprocess.CompletedProcess[str]:
    valgrind = shutil.which("valgrind")
    if not valgrind:
        pytest.skip("no valgrind on this machine (apt install valgrind)")
    options = [
        "--smc-check=all-non-file",
        "--leak-check=full",
        "--show-leak-kinds=definite",
        "--num-callers=12",
    ]
    return subprocess.run(
        [valgrind, *options, sys.executable, "-c", BEGIN + code + "\nprint('done')", str(TESTS)],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "PYTHONMALLOC": "malloc"},
    )


@pytest.fixture(scope="module")
def processes() -> Iterator[dict[str, Future[subprocess.CompletedProcess[str]]]]:
    """All of them at once: most of their time goes into imports."""
    with ThreadPoolExecutor() as pool:
        yield {name: pool.submit(run, code) for name, code in PROGRAMS.items()}


def reports(processes: dict[str, Future[subprocess.CompletedProcess[str]]], name: str) -> list[str]:
    """What valgrind reports of a process, and that is ours."""
    first = processes.pop(name, None)  # another try is a run of its own
    done = first.result() if first else run(PROGRAMS[name])
    assert (done.stdout, done.returncode) == ("done\n", 0), done.stderr[-3000:]
    assert "ERROR SUMMARY" in done.stderr
    blocks = re.split(r"(?m)^==\d+== *\n", OF_STACKS.sub("", done.stderr))
    found = [block for block in blocks if "   at 0x" in block and OURS.search(block)]
    found = [block for block in found if not IMPORTING.match(block)]
    return [block for block in found if not (INTERNING and FOR_GOOD.search(block))]


@pytest.mark.plain("valgrind and sanitizers do not go together")
@pytest.mark.row("G05", "G07", "A28")
def test_definitions_calls_drops_and_owned_memory_of_graphs_are_clean(processes: Any) -> None:
    assert reports(processes, "clean") == []


@pytest.mark.plain("valgrind and sanitizers do not go together")
@pytest.mark.row("G22")
def test_faults_and_leaks_are_reported(processes: Any) -> None:
    fault, *leaks = reports(processes, "faulty")
    assert "Invalid write of size 1" in fault
    assert any("80 bytes in 1 blocks are definitely lost" in leak for leak in leaks), leaks
