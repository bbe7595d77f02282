"""Tests threads=: the slices of one call run on several threads. Slices sleep a little, so that other threads
are worthwhile, and wait for them where a test needs them. pthread_self(), which threading.get_ident()
returns, tells which thread ran a slice."""

from __future__ import annotations

import io
import os
import pathlib
import sys
import threading
from typing import Any

import helpers
import numpy as np
import pytest
from helpers import (
    INNER,
    ar,
    build_extension,
    in_threads,
    meeting,
    python,
    refuses,
    same,
    says,
    view,
    wrap,
    wrap_signature,
)
from hypothesis import given
from hypothesis import strategies as st

import cwrapjit

HEADER = "int usleep(unsigned int);\nunsigned long pthread_self(void);\n"
MEETING = meeting()
SUM = "usleep(20); item__output() = 3 * item__a() - item__b(); return true;"
WHO = {(np.float64, np.uint64): "usleep(50); item__output() = pthread_self(); return true;"}
MEET = {(np.float64, np.uint64): "meet(item__a()); usleep(50); item__output() = pthread_self(); return true;"}


def threaded(ins: Any, outs: Any, code: Any, threads: Any = 2, **kw: Any) -> Any:
    return wrap(ins, outs, code, threads=threads, header=HEADER + MEETING, **kw)


shapes = st.lists(st.integers(1, 9), min_size=1, max_size=4).map(tuple)
bits = st.integers(0, 15)


# ---- results --------------------------------------------------------------------------------------


@pytest.mark.row("N81")
def test_several_threads_run_the_slices_of_one_call() -> None:
    for threads in (2, 3):
        ran = set(threaded(((),), (), MEET, threads)(ar(400)).tolist())
        assert threading.get_ident() in ran and 2 <= len(ran) <= threads
    assert set(threaded(((),), (), WHO, 1)(ar(100)).tolist()) == {threading.get_ident()}


@pytest.mark.row("N81")
def test_results_equal_numpys_whatever_the_layout() -> None:
    f = threaded(((), ()), (), SUM, 3)

    @given(shapes, bits, bits, bits, st.integers(0, 3))
    def check(shape: tuple[int, ...], order: int, reverse: int, gaps: int, narrow: int) -> None:
        a = view(shape, order, reverse, gaps)
        b = view(
            tuple(1 if axis == narrow else n for axis, n in enumerate(shape)), reverse, gaps, order, start=-9
        )
        out = view(shape, gaps, order, reverse)
        assert same(f(a, b), 3 * a - b)
        assert f(a, b, out=out) is out and same(out, 3 * a - b)

    check()


@pytest.mark.quick
@pytest.mark.row("N81")
@pytest.mark.parametrize("shape", [(3000, 3), (3, 3000), (2, 1500, 2), (1023, 2, 3), (7, 3, 700)])
def test_short_inner_axes_of_a_wider_array(shape: tuple[int, ...]) -> None:
    code = "for (volatile int i = 0; i < 100; i++); item__output() = 3 * item__a() - item__b(); return true;"
    f = threaded(((), ()), (), code, 2)
    wide = (*shape[:-1], shape[-1] + 1)
    a = ar(*wide)[..., :-1]
    b = ar(*wide)[..., 1:]
    out = np.zeros(wide)[..., 1:]
    for _ in range(3):
        f(a, b, out=out)
        assert same(out, 3 * a - b)
        assert not out.base[..., 0].any()
        out[...] = 0


@pytest.mark.row("N81")
def test_short_axes_in_opposite_orders() -> None:
    code = "for (volatile int i = 0; i < 100; i++); item__output() = 3 * item__a() - item__b(); return true;"
    f = threaded(((), ()), (), code, 2)
    b = ar(41, *(2,) * 9)
    a = np.asfortranarray(b + 1)
    for _ in range(3):
        assert same(f(a, b), 3 * a - b)


@pytest.mark.quick
@pytest.mark.row("N81")
@pytest.mark.parametrize("threads", ["auto", 4, 1024])
def test_core_dims_inouts_a_readonly_cookie_and_extras(threads: Any) -> None:
    f = threaded(
        (("n",), ("n",)),
        (),
        {
            (np.float64, np.float32, np.float64): "usleep(20);"
            + INNER.replace("return", "item__a(0) = cookie->k; return")
        },
        threads,
        args_inout=("a",),
        Ccode_cookie_struct="double k;",
        Ccode_validate="cookie->k = *shift * 2; return true;",
        extra_args=(("double", "shift", "1", "d"),),
        cookie="readonly",
    )
    a, b = ar(300, 5), ar(5, dtype=np.float32)
    wanted = a @ b.astype(np.float64)
    assert same(f(a[::-1], b, shift=3), wanted[::-1])
    assert (a[:, 0] == 6).all() and same(a[:, 1:], ar(300, 5)[:, 1:])


# ---- errors ---------------------------------------------------------------------------------------

FAILS = """
    usleep(20);
    if (item__a() < 0) {
        PyErr_Format(PyExc_KeyError, "slice %d of %R", (int)-item__a(), PyExc_KeyError);
        return false;
    }
    item__output() = item__a();
    return true;
"""


@pytest.mark.row("N81")
def test_an_exception_of_any_slice_surfaces() -> None:
    f = threaded(((),), (), FAILS, 4)
    for at in (0, 57, 298, 299):
        x = np.ones(300)
        x[at] = -1 - at
        says(KeyError, lambda x=x: f(x), f"\"slice {at + 1} of <class 'KeyError'>\"")
        assert same(f(np.ones(300)), np.ones(300)), "nothing is left behind"
    said = {refuses(KeyError, lambda: f(-np.arange(1.0, 301)), "slice").args[0] for _ in range(5)}
    assert said <= {f"slice {i} of <class 'KeyError'>" for i in range(1, 301)}, "one of many"


HERE = ("unsigned long", "here", "0", "k")
ELSEWHERE = """
    meet(item__a());
    usleep(50);
    item__output() = 0;
    if (pthread_self() == *here)
        return true;
"""


@pytest.mark.row("N81")
@pytest.mark.parametrize(
    "code, error, text",
    [
        ('PyErr_SetString(PyExc_OSError, "there"); return false;', OSError, "there"),
        ("PyErr_SetNone(PyExc_IndexError); return false;", IndexError, ""),
        ('PyErr_SetString(PyExc_ValueError, "true"); return true;', ValueError, "true"),
        ("PyErr_NoMemory(); return false;", MemoryError, ""),
        ("return false;", RuntimeError, "t.f(): the slice code (Ccode_slice_eval) returned false"),
        (
            'PyErr_SetString(PyExc_OSError, "x"); PyErr_Clear(); return PyErr_Occurred() != NULL;',
            RuntimeError,
            "t.f(): the slice code (Ccode_slice_eval) returned false",
        ),
        (
            'if (PyErr_Occurred()) return false; PyErr_SetString(PyExc_OSError, "seen");'
            ' if (PyErr_Occurred() == PyExc_OSError) PyErr_SetString(PyExc_EOFError, "mine"); return false;',
            EOFError,
            "mine",
        ),
    ],
)
def test_errors_of_other_threads_reach_the_caller(code: str, error: type[BaseException], text: str) -> None:
    f = threaded(((),), (), ELSEWHERE + code, extra_args=(HERE,))
    for _ in range(3):
        says(error, lambda: f(ar(400), here=threading.get_ident()), text)


@pytest.mark.quick
@pytest.mark.row("N81", "N21i")
def test_errors_inside_an_ensured_region_of_other_threads() -> None:
    code = (
        ELSEWHERE
        + """
        PyGILState_STATE state = PyGILState_Ensure();
        PyObject *list = PyList_New(0);
        Py_XDECREF(list);
        PyErr_Format(PyExc_OSError, "slice %d", (int)item__a());
        PyGILState_Release(state);
        return false;"""
    )
    header = "#include <Python.h>\n" + HEADER + MEETING
    f = wrap(((),), (), code, threads=2, gil=False, header=header, extra_args=(HERE,))
    for _ in range(3):
        refuses(OSError, lambda: f(ar(400), here=threading.get_ident()), "slice ")


@pytest.mark.row("N81", "N54")
def test_other_threads_print_through_sys_stdout(monkeypatch: pytest.MonkeyPatch) -> None:
    code = ELSEWHERE + 'printf("%d\\n", (int)item__a()); item__output() = 1; return true;'
    f = threaded(((),), (), code, extra_args=(HERE,))
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    told = f(ar(300), here=threading.get_ident())
    lines = [int(line) for line in stream.getvalue().split()]
    assert 0 < len(lines) == told.sum() and sorted(lines) == np.flatnonzero(told).tolist()


# ---- functions that may not use threads -----------------------------------------------------------


def refused(words: tuple[str, ...], code: str = "item__output() = 1; return true;", **kw: Any) -> None:
    header = kw.pop("header", "")
    for threads in (2, "auto"):
        m = cwrapjit.module("t", header=header, threads=threads)
        options = {"signature": "a() -> output()", "Ccode_slice_eval": {float: code}, **kw}
        refuses(ValueError, lambda m=m, options=options: m.function("f", **options), "t.f()", *words)
        own = lambda t=threads: wrap(((),), (), code, threads=t, header=header, **kw)  # noqa: E731
        refuses(ValueError, own, "t.f()", *words)
    assert wrap(((),), (), code, threads=1, header=header, **kw)(1.0) == 1


@pytest.mark.row("N81")
def test_a_cookie_that_slices_write_is_refused() -> None:
    refused(("threads", "cookie", "readonly"), Ccode_cookie_struct="int n;")
    refused(("threads", "cookie", "readonly"), Ccode_cookie_struct="int n;", unordered=True)


@pytest.mark.row("N81")
def test_code_that_keeps_the_gil_is_refused() -> None:
    refused(("threads", "gil=True"), gil=True)
    code = "PyObject *list = PyList_New(0); Py_XDECREF(list); item__output() = 1; return true;"
    refused(("threads", "GIL", "Python"), code, header="#include <Python.h>")


@pytest.mark.row("N81", "N19i")
def test_code_with_writable_data_is_refused_unless_unordered() -> None:
    counting = "static int n; n++; item__output() = 1; return true;"
    refused(("threads", "static", "unordered=True"), counting)
    refused(("threads", "unordered=True"), header="int counter = 3;\n")
    assert wrap(((),), (), counting, threads=2, unordered=True)(1.0) == 1


@pytest.mark.quick
@pytest.mark.row("N81", "N25i")
def test_a_default_of_the_process_asks_nothing_of_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cwrapjit.config, "threads", 2)
    code = {(np.float64, np.uint64): "cookie->n++; usleep(50); item__output() = pthread_self(); return true;"}
    f = wrap(((),), (), code, header=HEADER, Ccode_cookie_struct="int n;", unordered=True)
    assert set(f(ar(100)).tolist()) == {threading.get_ident()}
    assert wrap(((),), (), "item__output() = 1; return true;", gil=True)(1.0) == 1
    counting = "static int n; n++; item__output() = n; return true;"
    assert wrap(((),), (), counting)(ar(5)).tolist() == [1, 2, 3, 4, 5]
    assert len(set(wrap(((),), (), MEET, header=MEETING, unordered=True)(ar(400)).tolist())) == 2
    stops = "if (item__a() < 0) return false; usleep(50); item__output() = pthread_self(); return true;"
    ordered = wrap(((),), (), {(np.float64, np.uint64): stops}, header=HEADER)
    assert set(ordered(ar(400)).tolist()) == {threading.get_ident()}, "behind a failure nothing runs"


# ---- one pool for many callers --------------------------------------------------------------------


@pytest.mark.row("N81")
def test_many_python_threads_call_at_once() -> None:
    """Python threads call functions with threads=, with windows, and with computed lengths."""
    f, g = threaded(((), ()), (), SUM, 3), threaded(((),), (), FAILS, 2)
    code = "for (int i = 0; i < dims_slice__y[0]; i++) item__y(i) = item__x(i % 3); return true;"
    h = wrap_signature("x(), w(n) -> y(m)", code, windows={"x": (3,)}, output_dims={"m": "n * n"})

    def work(k: int) -> None:
        for i in range(20):
            a = ar(20, 11) + k
            assert same(f(a, a.T[:11, :1].T), 3 * a - a.T[:11, :1].T)
            x = np.ones(200)
            x[(k * 20 + i) % 200] = -1 - k
            says(KeyError, lambda x=x: g(x), f"\"slice {k + 1} of <class 'KeyError'>\"")
            y = h(a[0, : k + 2], np.ones(k + 1))
            assert y.shape == (k + 2, (k + 1) ** 2) and same(y[1:, 0], a[0, : k + 1])
            if i % 5 == 0:
                own = threaded(((),), (), f"usleep(20); item__output() = item__a() + {k}; return true;")
                assert same(own(ar(150)), ar(150) + k)

    in_threads(work, 6)


@pytest.mark.quick
@pytest.mark.row("N81")
def test_calls_inside_of_calls_run_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    inner, results = threaded(((),), (), WHO), []

    class Stream(io.StringIO):
        def write(self, text: str) -> int:
            if text.strip():
                results.append(set(inner(ar(60)).tolist()) == {threading.get_ident()})
            return len(text)

    f = threaded(((),), (), 'usleep(20); if (item__a() < 4 || item__a() > 395) printf("x"); return true;')
    monkeypatch.setattr(sys, "stdout", Stream())
    f(ar(400))
    monkeypatch.undo()
    assert results[4:] == [True] * 4, "the first ones ran before there were threads"


PRELUDE = f"""
import os, signal, sys, threading, time, warnings
warnings.simplefilter("ignore")
import numpy as np
import cwrapjit
sys.path.insert(0, {os.path.dirname(helpers.__file__)!r})
from helpers import meeting
HEADER = {HEADER!r} + meeting()
def define(body, threads=2):
    return cwrapjit.function("f", signature="a() -> output()", header=HEADER, threads=threads,
                             Ccode_slice_eval={{(np.float64, np.uint64): body}})
who = define("meet(item__a()); usleep(50); item__output() = pthread_self(); return true;")
x = np.arange(400.0)
"""

FORK = """
def child_of(seen):
    pid = os.fork()
    if pid == 0:
        signal.alarm(600)  # no child hangs
        os._exit(0 if len(set(who(x).tolist())) == 2 else 3)
    return os.waitpid(pid, 0)[1]

bad = [child_of(who(x))]
stop = False
def busy():
    while not stop:
        who(x)
thread = threading.Thread(target=busy)
thread.start()
for _ in range(8):
    time.sleep(0.007)
    bad.append(child_of(None))
stop = True
thread.join()
assert len(set(who(x).tolist())) == 2
print(bad)
"""


@pytest.mark.row("N81")
def test_forked_children_have_threads_of_their_own() -> None:
    assert python(PRELUDE + FORK).stdout.strip() == str([0] * 9)


FORK_INSIDE = """
class Stream:
    pid = None
    def write(self, text):
        if self.pid is None:
            self.pid = os.fork()
    def flush(self):
        pass

f = cwrapjit.function(
    "f", signature="a() -> output()", header=HEADER, threads=2,
    extra_args=(("unsigned long", "here", "0", "k"),),
    Ccode_slice_eval={
        float: 'usleep(100); if (item__a() >= 50 && pthread_self() == *here) printf("x"); return true;'
    },
)
real, sys.stdout = sys.stdout, Stream()
try:
    f(x, here=threading.get_ident())
    said = "finished"
except RuntimeError as error:
    said = str(error)
stream, sys.stdout = sys.stdout, real
if stream.pid == 0:
    os._exit(0 if "fork" in said and len(set(who(x).tolist())) == 2 else 3)
print(said, os.waitpid(stream.pid, 0)[1])
"""


@pytest.mark.row("N81")
def test_a_child_forked_inside_of_a_call_gets_an_error() -> None:
    assert python(PRELUDE + FORK_INSIDE).stdout.strip() == "finished 0"


EXIT = """
who(x)
slow = define("usleep(1000); return true;")
threading.Thread(target=lambda: slow(np.zeros(10**6)), daemon=True).start()
time.sleep(float(sys.argv[1]))
print("leaving")
"""


@pytest.mark.row("N81")
@pytest.mark.parametrize("seconds", ["0", "0.02", "0.2"])
def test_the_interpreter_may_exit_while_threads_run(seconds: str) -> None:
    assert python(PRELUDE + EXIT, seconds).stdout == "leaving\n"


SCARCE = """
import resource
size = int(open("/proc/self/statm").read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
resource.setrlimit(resource.RLIMIT_AS, (size + (20 << 20), size + (20 << 20)))
many = define("usleep(50); item__output() = item__a(); return true;", 1024)
print(many(np.arange(2000.0)).tolist() == list(range(2000)))
"""


@pytest.mark.row("N81")
def test_fewer_threads_do_where_no_more_can_be_had() -> None:
    assert python(PRELUDE + SCARCE).stdout == "True\n"


@pytest.mark.row("N81")
def test_emitted_modules_have_threads_too(built: pathlib.Path) -> None:
    m = cwrapjit.module("cwj_threaded", header=HEADER + MEETING, threads=2)
    m.function("who", signature="a() -> output()", Ccode_slice_eval=MEET)
    m.function("fails", signature="a() -> output()", Ccode_slice_eval={float: FAILS})
    text = io.StringIO()
    m.write(file=text)
    twin = build_extension(built, "cwj_threaded", text.getvalue(), "-Wall", "-Wextra", "-Werror")
    assert len(set(twin.who(ar(400)).tolist())) == 2
    x = np.ones(300)
    x[200] = -7
    assert refuses(KeyError, lambda: twin.fails(x), "slice 7 of").args == ("slice 7 of <class 'KeyError'>",)
    assert same(twin.fails(np.ones(300)), np.ones(300))
