"""Tests when the GIL is released, what code may call without it, threads, and forks during a compilation."""

from __future__ import annotations

import ctypes
import gc
import threading
import time
from typing import Any

import numpy as np
import pytest
from helpers import INNER, ar, eventually, in_threads, python, refuses, same, says, wrap

import cwrapjit

# Waits until another Python thread, which needs the GIL, sets the flag; gives up after two minutes. If
# `begun` is an address, it first stores 1 there.
WAIT = """
    const volatile npy_int64 *flag = data_slice__flag;
    if (*begun)
        *(volatile npy_int64 *)*begun = 1;
    item__output() = 0;
    for (int i = 0; i < *rounds; i++) {
        if (*flag) {
            item__output() = 1;
            break;
        }
        usleep(1000);
    }
    EXTRA
    return true;
"""
HEADER = "int usleep(unsigned int);\n"
SETS = (np.int64, np.int64)
EXTRAS = (("int", "rounds", "120000", "i"), ("size_t", "begun", "0", "n"))


def waiter(extra: str = "", header: str = "", **kw: Any) -> Any:
    code = {SETS: WAIT.replace("EXTRA", extra)}
    return wrap(((),), (), code, names=("flag",), extra_args=EXTRAS, header=HEADER + header, **kw)


# Calls PyGILState_Check() by its address: a snippet that names a Python function would keep the GIL.
ASK = "item__output() = ((int (*)(void))*check)();"
CHECK = ctypes.cast(ctypes.pythonapi.PyGILState_Check, ctypes.c_void_p).value


def asker(extra: str = "", header: str = "", **kw: Any) -> Any:
    check = ("size_t", "check", "0", "n")
    return wrap(((),), (), {SETS: ASK + extra + "return true;"}, extra_args=(check,), header=header, **kw)


def holds_the_gil(f: Any) -> bool:
    """Returns whether the first call of f has the GIL in its slices; later ones may be short, and keep it."""
    held = f(np.zeros(4, np.int64), check=CHECK).tolist()
    assert held in ([0] * 4, [1] * 4)
    return bool(held[0])


@pytest.mark.row("B12")
@pytest.mark.parametrize("options", [{}, {"unordered": True}, {"threads": 2}, {"gil": False}], ids=str)
def test_other_threads_run_during_a_long_call_of_short_slices(options: dict[str, Any]) -> None:
    f = waiter(**options)
    stop = np.ones((), np.int64)
    for _ in range(100):
        assert f(stop) == 1, "calls that are over at once"
    flag, counts = np.zeros((), np.int64), []

    def other() -> None:
        for n in range(200):
            time.sleep(0)
            counts.append(n)
        flag[...] = 1

    thread = threading.Thread(target=other)
    thread.start()
    # Each slice waits for the flag for at most 2 ms; it is enough that one sees it.
    told = f(np.broadcast_to(flag, 100_000), rounds=2)
    thread.join()
    assert told[-1] == 1 and len(counts) == 200


PYTHON = "#include <Python.h>"
LIST = "PyObject *list = PyList_New(0); Py_XDECREF(list);"


@pytest.mark.row("N21i", "B12")
@pytest.mark.parametrize(
    "extra",
    [
        "",
        'if (item__output() > 5) { PyErr_SetString(PyExc_ValueError, "x"); return false; }',
        'if (item__output() > 5) { PyErr_Format(PyExc_ValueError, "%d", 1); return false; }',
        "if (PyErr_Occurred()) return false;",
        'if (item__output() > 5) printf("never");',
    ],
)
def test_released_when_only_the_error_api_is_used(extra: str) -> None:
    assert not holds_the_gil(asker(extra))


@pytest.mark.row("N21i")
def test_kept_when_the_python_api_is_used(tmp_path: Any) -> None:
    assert not holds_the_gil(asker("", PYTHON)), "the header alone keeps nothing"
    assert holds_the_gil(asker(LIST, PYTHON))
    assert holds_the_gil(asker("touch();", f"{PYTHON}\nstatic void touch(void) {{ {LIST} }}"))
    assert holds_the_gil(asker("", PYTHON, Ccode_validate=LIST + " return list != NULL;"))
    assert not holds_the_gil(asker("", PYTHON, Ccode_validate="return true;"))
    text = "void *PyList_New(long); void Py_DecRef(void *);\nvoid touch(void) { Py_DecRef(PyList_New(0)); }\n"
    (tmp_path / "s.c").write_text(text)
    assert holds_the_gil(asker("touch();", "void touch(void);", sources=[tmp_path / "s.c"]))


@pytest.mark.row("N21i")
def test_gil_true_keeps_it_and_false_releases_it() -> None:
    assert holds_the_gil(asker(gil=True))
    assert not holds_the_gil(asker(gil=False))
    ensured = "PyGILState_STATE state = PyGILState_Ensure(); " + LIST + " PyGILState_Release(state);"
    assert not holds_the_gil(asker(ensured, PYTHON, gil=False))
    assert holds_the_gil(asker(ensured, PYTHON))


@pytest.mark.row("N21i", "N54")
def test_errors_and_prints_inside_an_ensured_region(capsys: pytest.CaptureFixture[str]) -> None:
    code = """
        PyGILState_STATE state = PyGILState_Ensure();
        PyErr_Clear();
        printf("ensured ");
        PyErr_Format(PyExc_ValueError, "from %d", (int)item__a());
        PyGILState_Release(state);
        return false;"""
    f = wrap(((),), (), code, header=PYTHON, gil=False)
    says(ValueError, lambda: f(3.0), "from 3")
    assert capsys.readouterr().out == "ensured "


@pytest.mark.row("N21i")
def test_the_modules_choice_is_the_functions_default() -> None:
    m = cwrapjit.module("t", gil=True)
    kw: dict[str, Any] = {"signature": "a() -> output()", "Ccode_slice_eval": {SETS: ASK + "return true;"}}
    kw["extra_args"] = (("size_t", "check", "0", "n"),)
    m.function("kept", **kw)
    m.function("released", gil=False, **kw)
    assert holds_the_gil(m.kept)
    assert not holds_the_gil(m.released)


@pytest.mark.row("N21i", "N54")
def test_errors_raised_without_the_gil_reach_their_own_thread() -> None:
    code = """
        if (item__a() < 0) {
            PyErr_Format(PyExc_ValueError, "thread %d of %R", (int)item__b(), PyExc_ValueError);
            return false;
        }
        item__output() = item__a();
        return true;"""
    f, x = wrap(((), ()), (), code), np.ones(200)
    x[-1] = -1

    def work(k: int) -> None:
        for _ in range(100):
            says(ValueError, lambda: f(x, float(k)), f"thread {k} of <class 'ValueError'>")
            assert same(f(x[:-1], 0.0), x[:-1])

    in_threads(work, 8)


@pytest.mark.row("N21i", "N82")
def test_eight_threads_define_call_redefine_and_drop() -> None:
    m = cwrapjit.module("t")

    def define(value: int) -> None:
        body = {np.int64: f"item__output() = {value} + item__a(); return true;"}
        m.function("f", signature="a() -> output()", Ccode_slice_eval=body)

    define(0)

    def work(k: int) -> None:
        for i in range(10):
            own = INNER.replace("return true;", f"item__output() += {k * 100 + i}; return true;")
            assert wrap((("n",), ("n",)), (), own)(ar(4), ar(4)) == 14 + k * 100 + i
            error = refuses(cwrapjit.CompileError, lambda: wrap(((),), (), f"return oops_{k};"), f"oops_{k}")
            assert error.lineno == 1
            if i % 5 == 0:
                define(k)
            assert 0 <= int(m.f(ar(50, dtype=np.int64))[1]) - 1 < 8

    in_threads(work, 8)


@pytest.mark.row("N21i", "N22i")
def test_code_stays_while_a_call_runs_in_it() -> None:
    m = cwrapjit.module("t", header=HEADER)
    body = {SETS: WAIT.replace("EXTRA", "item__output() += 10;")}
    kw: dict[str, Any] = {"args_input": ("flag",), "prototype_input": ((),), "prototype_output": ()}
    m.function("f", Ccode_slice_eval=body, extra_args=EXTRAS, **kw)
    flag, begun, results = np.zeros((), np.int64), np.zeros((), np.int64), []
    thread = threading.Thread(target=lambda: results.append(int(m.f(flag, begun=begun.ctypes.data))))
    thread.start()
    assert eventually(lambda: bool(begun))
    m.function("f", Ccode_slice_eval={SETS: "item__output() = -1; return true;"}, **kw)
    gc.collect()
    for i in range(20):  # new code that may reuse the old code's memory
        wrap(((),), (), f"item__output() = {i}; return true;")
    flag[...] = 1
    thread.join()
    assert results == [11] and m.f(flag) == -1


FORK = """
import os, signal, threading, time, warnings
warnings.simplefilter("ignore")
import numpy as np
import cwrapjit

def define(i):
    return cwrapjit.function("f", args_input=("a",), prototype_input=((),), prototype_output=(),
                             Ccode_slice_eval={np.float64: f"item__output() = item__a() + {i}; return true;"})

define(0)
stop = False
def busy():
    i = 0
    while not stop:
        i += 1
        define(i)

threads = [threading.Thread(target=busy) for _ in range(2)]
for thread in threads:
    thread.start()
bad = []
for k in range(15):
    pid = os.fork()
    if pid == 0:
        signal.alarm(600)  # no child hangs
        os._exit(0 if all(define(i)(1.0) == 1 + i for i in range(3)) else 3)
    status = os.waitpid(pid, 0)[1]
    if status:
        bad.append(status)
        break
    time.sleep(0.003)
stop = True
for thread in threads:
    thread.join()
print(bad)
"""


@pytest.mark.plain("libasan's malloc takes no part in forks: a child of several threads may find it locked")
@pytest.mark.row("N21i")
def test_a_child_forked_during_a_compile_can_compile() -> None:
    assert python(FORK).stdout.strip() == "[]"


EXIT = """
import threading
import cwrapjit

def busy():
    while True:
        cwrapjit.function("f", signature="a() -> output()", Ccode_slice_eval={float: "return true;"})

for _ in range(3):
    threading.Thread(target=busy, daemon=True).start()
import time
time.sleep(0.1)
print("leaving")
"""


@pytest.mark.row("N21i")
def test_the_interpreter_may_exit_while_threads_compile() -> None:
    for _ in range(2):
        assert python(EXIT).stdout == "leaving\n"
