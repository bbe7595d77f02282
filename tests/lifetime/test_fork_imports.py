"""A fork at any moment: what another thread was just importing is whole in the child, which works."""

from __future__ import annotations

import json
import os
import sys

import pytest
from helpers import python

# A process that has imported nothing late forks a world for each case. In a world, a thread does something
# for the first time, and the main thread forks a child meanwhile, which has to do all there is.
WORLD = """
import json, os, random, signal, sys, threading, time, warnings
import numpy as np
warnings.simplefilter("ignore")  # newer interpreters warn of forks beside threads
import cwrapjit

def function():
    f = cwrapjit.function("f", "", signature="a() -> b()",
        Ccode_slice_eval={np.float64: "item__b() = 2 * item__a(); return true;"})
    assert f(3.0) == 6

def error():
    try:
        cwrapjit.function("f", "", signature="a() -> b()",
            Ccode_slice_eval={np.float64: "return x;", np.int32: "return y;"})
    except cwrapjit.CompileError as caught:
        assert len(caught.errors) == 2

def library():
    lib = cwrapjit.library("m", libraries=["m"])
    assert lib.function("double hypot(double x, double y)")(3.0, 4.0) == 5

def broadcast():
    lib = cwrapjit.library("m", libraries=["m"])
    assert lib.function("double fabs(double x)", broadcast=True)([-2.0, 3.0]).tolist() == [2, 3]

def struct():
    cwrapjit.library("m", libraries=["m"]).struct("struct pair { int a, b; }")

def graph():
    cg = cwrapjit.graph
    x, y = cg.float64("x"), cg.float64("y")
    assert cwrapjit.link([x, y], x * y + y)(2.0, 3.0) == 9
    assert cwrapjit.link([x], cg.view(x))(2.0) == 2

def shown():
    f = cwrapjit.function("f", "", signature="a() -> b()",
        Ccode_slice_eval={np.float64: "item__b() = item__a(); return true;"})
    assert list(f.__signature__.parameters) == ["a", "out"]

def settings():
    assert cwrapjit.show_config("dicts")["numpy"]

def everything():
    for each in (function, error, library, broadcast, struct, graph, shown, settings):
        each()

class Slow:
    # Finds nothing, but waits for the fork with one module.
    def __init__(self, name):
        self.name, self.begun, self.forks = name, threading.Event(), threading.Event()
        os.register_at_fork(before=self.forks.set)  # before what cwrapjit does there
    def find_spec(self, name, path=None, target=None):
        if name == self.name:
            self.begun.set()
            self.forks.wait(60)

def child():
    signal.alarm(120)  # the end of one that hangs
    everything()
    return 0

def forked(work):
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            status = work()
        except Exception as error:
            print(error.__traceback__.tb_next.tb_lineno, repr(error), file=sys.stderr, flush=True)
        os._exit(status)
    return pid

def end(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

def world(action, ready):
    thread = threading.Thread(target=action)
    thread.start()
    if not ready():
        return 99
    status = end(forked(child))
    thread.join()
    return status
"""

LATE = {
    "cwrapjit.library": "library",
    "cwrapjit.library.face": "library",
    "cwrapjit.library.lifetime": "library",
    "pycparser": "library",
    "pycparser.c_parser": "library",
    "cwrapjit.library.broadcast": "broadcast",
    "cwrapjit.library.structs": "struct",
    "cwrapjit.graph.base": "graph",
    "cwrapjit.graph.ufuncs": "graph",
    "cwrapjit.graph.fusion": "graph",
    "cwrapjit.graph.order": "graph",
    "cwrapjit.graph.words": "graph",
    "cwrapjit._signature": "shown",
    "traceback": "error",
    "cwrapjit._config": "settings",
}

if sys.version_info < (3, 11):  # notes of exceptions, which traceback words, begin there
    del LATE["traceback"]

IN_THE_MIDDLE = """
results = {}
for name, action in json.loads(sys.argv[1]).items():
    slow = Slow(name)
    def run(slow=slow, action=globals()[action]):
        sys.meta_path.insert(0, slow)
        return world(action, lambda: slow.begun.wait(60))
    results[name] = end(forked(run))
print(json.dumps(results))
"""


@pytest.mark.row("G16")
def test_a_fork_in_the_middle_of_an_import() -> None:
    done = python(WORLD + IN_THE_MIDDLE, json.dumps(LATE), timeout=1000)
    found = json.loads(done.stdout)  # 99: nobody imports it; 242: the child hung
    assert found == dict.fromkeys(LATE, 0), done.stderr


LOCKED = """
import _imp, threading
import cwrapjit
from cwrapjit._imports import load
load("cwrapjit.library")
_imp.acquire_lock()  # as an exception of a signal's handler leaves it that strikes within importlib
other = threading.Thread(target=load, args=("cwrapjit.library",))
other.start()
other.join(120)
print(other.is_alive(), load("cwrapjit.library").__name__)
_imp.release_lock()
"""


@pytest.mark.row("G16")
def test_what_is_there_waits_for_no_lock() -> None:
    """On CPython 3.10 importlib.import_module() does."""
    assert python(LOCKED).stdout == "False cwrapjit.library\n"


AT_ANY_MOMENT = """
results = []
for k in range(int(sys.argv[1])):
    for action in (function, library, graph):
        wait = random.Random(k).random() * 0.05
        results.append(end(forked(lambda: world(action, lambda: time.sleep(wait) or True))))
print(json.dumps(results))
"""


@pytest.mark.plain("runs for minutes with a sanitizer")
@pytest.mark.row("G16")
def test_a_fork_at_any_moment_of_the_first_use() -> None:
    rounds = os.environ.get("CWRAPJIT_TEST_FORKS", "4")
    results = json.loads(python(WORLD + AT_ANY_MOMENT, rounds, timeout=1000).stdout)
    assert len(results) == 3 * int(rounds) and set(results) == {0}


NOTHING_LATE = """
import sys, numpy as np, cwrapjit
before = set(sys.modules)
m = cwrapjit.module("m", header="static double two(void) { return 2; }")
f = m.function("f", "", signature="a() -> b()",
    Ccode_slice_eval={np.float64: "item__b() = two() * item__a(); return true;"})
assert f(3.0) == 6 and f([1.0, 2.0]).tolist() == [2, 4] and f.tier == "tcc"
assert f(np.ones(100000)).sum() == 2e5
print(sorted(set(sys.modules) - before))
"""


@pytest.mark.row("G16")
def test_a_definition_imports_nothing() -> None:
    assert python(NOTHING_LATE).stdout.split() == ["[]"]


@pytest.mark.row("G16")
def test_a_fork_inside_an_import_does_not_wait_for_itself() -> None:
    code = """
import os, sys, cwrapjit, cwrapjit.graph as cg
class Forks:
    def find_spec(self, name, path=None, target=None):
        if name == "cwrapjit.graph.base" and self in sys.meta_path:
            sys.meta_path.remove(self)
            self.pid = os.fork()
forks = Forks()
sys.meta_path.insert(0, forks)
x = cg.float64("x")
assert cwrapjit.link([x], x + x)(2.0) == 4
if forks.pid == 0:
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(forks.pid, 0)[1]) == 7
"""
    python(code)
