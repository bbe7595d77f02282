"""Tests that define and free functions while others call them: cycles, threads, forks, exits, signals.
CWRAPJIT_CYCLES scales the number of rounds (default 1; `make soak` uses 200)."""

from __future__ import annotations

import _imp
import gc
import itertools
import json
import os
import random
import signal
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from helpers import ar, compiler, eventually, figure, python, wrap
from leaks import keeps_nothing
from library_tools import from_c

import cwrapjit
import cwrapjit.graph as cg

CYCLES = int(os.environ.get("CWRAPJIT_CYCLES", "1"))
THREADS = 8
FORKS_WITH_A_SANITIZER = (
    "libasan's malloc takes no part in forks: a child of several threads may find it locked"
)

# Sets the first item of the flag, and waits without the GIL until the second one is set.
WAITS = """
    volatile double *state = (volatile double *)&item__flag(0);
    state[0] = 1;
    while (state[1] == 0)
        usleep(100);
    item__output() = %s;
    return true;
"""


def waiting(number: int, **options: Any) -> Any:
    return wrap(
        ((2,),),
        (),
        WAITS % number,
        names=("flag",),
        args_inout=("flag",),
        header="int usleep(unsigned int);\n",
        **options,
    )


def in_the_background(call: Callable[[], Any]) -> tuple[threading.Thread, list[Any]]:
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(call()))
    thread.start()
    return thread, results


def use_up_what_was_freed() -> None:
    """Overwrites the place of code that was unmapped too early with code of other functions."""
    for k in range(50):
        assert wrap(((),), (), f"item__output() = item__a() + {k}; return true;")(1.0) == 1 + k


# ---- code lives as long as it runs -----------------------------------------------------------------


SLOW = """
int usleep(unsigned int);
static int answer(void) { return 42; }
double slow(volatile double *flag) { flag[0] = 1; while (flag[1] == 0) usleep(100); return answer(); }
"""


@pytest.mark.row("G05")
@pytest.mark.parametrize("kind", ["off", "eager", "library"])
def test_a_function_dropped_during_its_call_ends_it(kind: str) -> None:
    if kind == "library":
        f = from_c(SLOW).function("double slow(double flag[2])")
    else:
        f = waiting(42, optimize=kind)
        f.wait()
    alive, flag, only = weakref.ref(f), np.zeros(2), [f]
    del f
    thread, results = in_the_background(lambda: only.pop()(flag))
    assert eventually(lambda: flag[0] == 1)
    gc.collect()
    use_up_what_was_freed()
    flag[1] = 1
    thread.join(600)
    assert results == [42.0]
    del thread
    gc.collect()
    assert alive() is None


AT_THE_END = """
import builtins
import cwrapjit

class Late:
    def __del__(self):
        print(repr(self.function))

builtins.late = Late()
builtins.late.function = cwrapjit.function("f", signature="x() -> y()",
                                           Ccode_slice_eval={float: "item__y() = 1; return true;"})
"""


@pytest.mark.row("G05")
def test_a_function_shows_itself_at_the_end_of_the_process() -> None:
    """Nothing can be imported then, and the module that words parameters is usually imported late."""
    done = python(AT_THE_END)
    assert "<cwrapjit.Function f(" in done.stdout and not done.stderr


@pytest.mark.row("G05")
def test_a_function_is_redefined_during_its_call() -> None:
    m = cwrapjit.module("t", header="int usleep(unsigned int);\n")

    def define(number: int) -> None:
        m.function("f", signature="inout flag(2) -> output()", Ccode_slice_eval={np.float64: WAITS % number})

    flags, threads = [np.zeros(2) for _ in range(5)], []
    for number, flag in enumerate(flags):
        define(number)
        threads.append(in_the_background(lambda flag=flag: m.f(flag)))
        assert eventually(lambda flag=flag: flag[0] == 1)
    del m.f
    gc.collect()
    use_up_what_was_freed()
    for number, (flag, (thread, results)) in enumerate(zip(flags, threads, strict=True)):
        flag[1] = 1
        thread.join(600)
        assert results == [number]


@pytest.mark.row("G05")
def test_a_graph_is_dropped_during_its_run() -> None:
    class Dropping:
        def __call__(self, *inputs: Any) -> Any:
            return cg.Apply(self, inputs, [cg.float64()]).outputs[0]

        def perform(self, node: Any, inputs: Any, outputs: Any) -> None:
            graphs.clear()
            gc.collect()
            use_up_what_was_freed()
            outputs[0][0] = inputs[0] + 1

    x = cg.float64("x")
    graphs = [cwrapjit.link([x], Dropping()(x * 2.0) * 3.0, python=True)]
    assert graphs[0](5.0) == 33.0
    assert graphs == []


# ---- cycles -----------------------------------------------------------------------------------------


def one_function(k: int) -> None:
    f = wrap(((),), (), f"item__output() = item__a() * {k}; return true;")
    assert f(2.0) == 2 * k


def one_failure(k: int) -> None:
    with pytest.raises(cwrapjit.CompileError):
        wrap(((),), (), f"return oops_{k % 50};")  # looked-up names are cached for a while


def one_library(k: int) -> None:
    f = from_c(f"double f(double x) {{ return x + {k}; }}").function("double f(double x)")
    assert f(1.0) == 1 + k


def one_graph(k: int) -> None:
    x = cg.float64("x")
    assert cwrapjit.link([x], x + float(k))(1.0) == 1 + k


KINDS = [one_function, one_function, one_failure, one_function, one_graph, one_function, one_library]


@pytest.mark.soak("what a few show is in test_leaks.py")
@pytest.mark.leak
@pytest.mark.row("G05")
def test_cycles_leave_the_process_as_large_as_it_was() -> None:
    """`make soak` runs a hundred thousand."""
    numbers = itertools.count()

    def cycles() -> None:
        for kind in KINDS:
            kind(next(numbers))

    keeps_nothing(cycles, 24 * CYCLES)
    figure("life cycles", next(numbers))


@pytest.mark.row("G05")
def test_redefinition_under_load() -> None:
    m = cwrapjit.module("t")
    rounds = 100 * CYCLES

    def define(k: int) -> None:
        code = f"item__output() = {k}; return true;"
        m.function("f", signature="a() -> output()", Ccode_slice_eval={np.float64: code}, optimize="off")

    define(0)
    seen: list[list[float]] = [[] for _ in range(3)]
    stop = threading.Event()

    def load(mine: list[float]) -> None:
        x = ar(50)
        while not stop.is_set():
            result = m.f(x)
            assert (result == result[0]).all()
            mine.append(result[0])

    threads = [threading.Thread(target=load, args=(mine,)) for mine in seen]
    for thread in threads:
        thread.start()
    for k in range(1, rounds):
        define(k)
    stop.set()
    for thread in threads:
        thread.join(600)
        assert not thread.is_alive()
    for mine in seen:
        assert mine == sorted(mine), "a function came back"
    assert m.f(0.0) == rounds - 1


# ---- threads ----------------------------------------------------------------------------------------


def run_threads(work: Callable[[int], None], count: int = THREADS) -> None:
    failures: list[BaseException] = []

    def guarded(k: int) -> None:
        try:
            work(k)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=guarded, args=(k,)) for k in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(600 + 60 * CYCLES)
        assert not thread.is_alive()
    if failures:
        raise failures[0]


@pytest.mark.row("G06")
def test_threads_define_call_drop_and_swap_tiers() -> None:
    """All threads call one function whose tiers swap; each defines functions of its own, too."""
    shared = wrap(((),), (), "item__output() = 3 * item__a(); return true;", optimize="off")
    operations = [0] * THREADS

    def work(k: int) -> None:
        x = ar(200) + k
        mine: list[Any] = []
        for i in range(15 * CYCLES):
            number = 1000 * k + i
            f = wrap(((),), (), f"item__output() = item__a() + {number}; return true;", optimize="off")
            mine.append(f)
            assert (f(x) == x + number).all()
            assert (shared(x) == 3 * x).all()
            if i % 5 == k % 5:
                one_library(number)
                one_graph(number)
                one_failure(number)
            if i % 15 == k:
                (shared if k % 2 else f).wait()
                assert (f(x) == x + number).all()
            del mine[:-3]
            operations[k] += 5
        assert all(g(0.0) in range(1000 * k, 1000 * (k + 1)) for g in mine) or CYCLES > 60

    run_threads(work)
    figure("thread operations", sum(operations))
    shared.wait()
    assert (shared(ar(9)) == 3 * ar(9)).all()


FORK = """
import os, sys, threading, time
import numpy as np
import cwrapjit

def one(k, optimize="off"):
    f = cwrapjit.function("f", signature="a() -> output()", optimize=optimize,
                          Ccode_slice_eval={np.float64: f"item__output() = item__a() + {k}; return true;"})
    assert f(1.0) == 1 + k
    return f

stop = False
def busy(k):
    while not stop:
        one(k, "eager" if k == 0 else "off")

threads = [threading.Thread(target=busy, args=(k,)) for k in range(4)]
for thread in threads:
    thread.start()
ends = []
for k in range(int(sys.argv[1])):
    pid = os.fork()
    if pid == 0:
        try:
            one(k).wait()
            os._exit(7)
        finally:
            os._exit(8)
    for _ in range(60_000):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            break
        time.sleep(0.01)
    else:
        os.kill(pid, 9)
        status = "hung"
    ends.append(status)
stop = True
for thread in threads:
    thread.join()
print(set(ends))
"""


@pytest.mark.plain(FORKS_WITH_A_SANITIZER)
@pytest.mark.row("G06")
def test_forks_while_threads_define() -> None:
    done = python(FORK, str(6 * CYCLES), timeout=600 + 60 * CYCLES, env=quiet())
    assert done.stdout == f"{{{7 << 8}}}\n", done.stderr


def quiet() -> dict[str, str]:
    """Python 3.12 and later warn of a fork in a process with threads."""
    return {**os.environ, "PYTHONWARNINGS": "ignore"}


EXIT = """
import os, sys, threading, time
import numpy as np
import cwrapjit
how, threads, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])

def busy(k):
    x = np.arange(3000.0)
    while True:
        code = f"item__output() = sin(item__a() + {k}); return true;"
        f = cwrapjit.function("f", signature="a() -> output()", optimize=("off", "eager")[k % 2],
                              threads=1 + k % 3, Ccode_slice_eval={np.float64: code})
        for _ in range(20):
            f(x)

for k in range(threads):
    threading.Thread(target=busy, args=(k,), daemon=True).start()
time.sleep(seconds)
sys.stdout.write("leaving\\n")
sys.stdout.flush()
if how == "_exit":
    os._exit(0)
elif how == "raise":
    raise SystemExit(0)
"""


@pytest.mark.row("G06")
@pytest.mark.parametrize("how", ["end", "raise", "_exit"])
def test_the_interpreter_exits_at_any_moment(how: str) -> None:
    chance = random.Random(how)
    for _ in range(3 * CYCLES):
        seconds = chance.choice([0.0, 0.001, 0.01, 0.05, 0.1]) * (1 + chance.random())
        done = python(EXIT, how, "4", str(seconds), check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, "leaving\n", ""), seconds


# ---- signals ----------------------------------------------------------------------------------------


@pytest.fixture
def alarms() -> Iterator[Callable[[Callable[[], None], float], None]]:
    """Yields start(action, seconds), which calls action periodically, in the middle of whatever runs."""
    before = signal.getsignal(signal.SIGALRM)

    def start(action: Callable[[], None], seconds: float) -> None:
        signal.signal(signal.SIGALRM, lambda *_: action())
        signal.setitimer(signal.ITIMER_REAL, seconds, seconds)

    yield start
    signal.setitimer(signal.ITIMER_REAL, 0, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.row("G06")
def test_signals_disturb_nothing(alarms: Any) -> None:
    """Signals interrupt system calls with EINTR, including those on the compiler's pipe."""
    rang: list[int] = []
    alarms(lambda: rang.append(1), 0.001)
    for k in range(20 * CYCLES):
        KINDS[k % len(KINDS)](k)
    assert eventually(lambda: len(rang) > 5)
    compiler()
    f = wrap(((),), (), "item__output() = item__a() + 0.5; return true;", optimize="eager")
    assert f.wait() and f.tier == "cc"
    assert f(1.0) == 1.5


class Struck(Exception):
    """Raised by the alarm."""


# Finalizers and callbacks of the garbage collector cannot raise; Python then reports the exception.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.row("G06", "G07")
def test_exceptions_of_signals_strike_at_any_moment(alarms: Any) -> None:
    chance = random.Random(4)
    struck, armed = 0, False

    def strike() -> None:
        if armed:
            raise Struck

    for k in range(60 * CYCLES):
        try:
            try:
                armed = True
                signal.signal(signal.SIGALRM, lambda *_: strike())
                signal.setitimer(signal.ITIMER_REAL, chance.random() * 0.004 + 1e-5)
                KINDS[k % len(KINDS)](k)
            finally:
                armed = False  # CPython may handle a signal late, when a thread wants the GIL
                signal.setitimer(signal.ITIMER_REAL, 0)
        except Struck:
            struck += 1
        KINDS[k % len(KINDS)](k)
    while _imp.lock_held():  # importlib's lock, if struck between acquire_lock() and try
        _imp.release_lock()
    figure("exceptions of signals", struck)
    assert struck > 0


# ---- under sanitizers -------------------------------------------------------------------------------

FAULTS = {
    "a snippet's memory": (
        "volatile char *p = malloc(8); p[9] = 1; item__output() = 0; return true;",
        "eager",
        "heap-buffer-overflow",
    ),
    "a block freed twice": (
        "char *p = malloc(8); free(p); free(p); item__output() = 0; return true;",
        "off",
        "attempting double-free",
    ),
}
FAULTY = """
import sys
import numpy as np
import cwrapjit
f = cwrapjit.function("f", signature="a() -> output()", Ccode_slice_eval={np.float64: sys.argv[1]},
                      optimize=sys.argv[2])
print(f.wait() or sys.argv[2] == "off", flush=True)
f(1.0)
"""


@pytest.mark.skipif(
    os.environ.get("CWRAPJIT_SANITIZED") != "address", reason="this build has no AddressSanitizer"
)
@pytest.mark.row("G07")
@pytest.mark.parametrize("fault", FAULTS)
def test_the_sanitizer_is_awake(fault: str) -> None:
    """Checks the sanitizer: it sees faults in optimised code, and libtcc's allocations."""
    code, optimize, wanted = FAULTS[fault]
    options = os.environ["ASAN_OPTIONS"] + ":log_path=stderr"
    done = python(FAULTY, code, optimize, check=False, env={**os.environ, "ASAN_OPTIONS": options})
    assert (done.stdout, done.returncode) == ("True\n", 99), done.stderr
    assert wanted in done.stderr


# ---- forks while another thread imports: the child has whole modules -------------------------------------


# A process without late imports forks a "world" for each case. In it, a thread uses a feature for the first
# time. Meanwhile the main thread forks a child, which must be able to do everything.
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
            self.forks.wait(600)

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
    "cwrapjit.library.public": "library",
    "cwrapjit.library.lifetime": "library",
    "pycparser": "library",
    "pycparser.c_parser": "library",
    "cwrapjit.library.broadcast": "broadcast",
    "cwrapjit.library.structs": "struct",
    "cwrapjit.graph.base": "graph",
    "cwrapjit.graph.ufuncs": "graph",
    "cwrapjit.graph.fusion": "graph",
    "cwrapjit.graph.labels": "graph",
    "cwrapjit.graph.order": "graph",
    "cwrapjit.graph.parties": "graph",
    "cwrapjit.graph.linking": "graph",
    "cwrapjit.graph.steps": "graph",
    "cwrapjit.graph.texts": "graph",
    "cwrapjit.graph.walk": "graph",
    "cwrapjit.graph.words": "graph",
    "cwrapjit._signature": "shown",
    "traceback": "error",
    "cwrapjit._config": "settings",
}

if sys.version_info < (3, 11):  # notes, which need traceback, are new in Python 3.11
    del LATE["traceback"]

IN_THE_MIDDLE = """
results = {}
for name, action in json.loads(sys.argv[1]).items():
    slow = Slow(name)
    def run(slow=slow, action=globals()[action]):
        sys.meta_path.insert(0, slow)
        return world(action, lambda: slow.begun.wait(600))
    results[name] = end(forked(run))
print(json.dumps(results))
"""


@pytest.mark.plain(FORKS_WITH_A_SANITIZER)
@pytest.mark.row("G16")
def test_a_fork_in_the_middle_of_an_import() -> None:
    done = python(WORLD + IN_THE_MIDDLE, json.dumps(LATE), timeout=1000)
    found = json.loads(done.stdout)  # 99: it was not imported; 242: the child hung
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
    """importlib.import_module() of CPython 3.10 waits."""
    assert python(LOCKED).stdout == "False cwrapjit.library\n"


AT_ANY_MOMENT = """
results = []
for k in range(int(sys.argv[1])):
    for action in (function, library, graph):
        wait = random.Random(k).random() * 0.05
        results.append(end(forked(lambda: world(action, lambda: time.sleep(wait) or True))))
print(json.dumps(results))
"""


@pytest.mark.plain(FORKS_WITH_A_SANITIZER)
@pytest.mark.row("G16")
def test_a_fork_at_any_moment_of_the_first_use() -> None:
    rounds = os.environ.get("CWRAPJIT_TEST_FORKS", "2")
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


INSIDE = """
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


@pytest.mark.row("G16")
def test_a_definition_imports_nothing_and_a_fork_inside_an_import_does_not_wait_for_itself() -> None:
    assert python(NOTHING_LATE).stdout.split() == ["[]"]
    python(INSIDE)
