"""Python's memory runs out: each allocation of a definition or a call fails in turn; nothing is left over.

What tinyjit and libtcc allocate fails in turn in tests/tinyjit/c/test_memory.c.
"""

from __future__ import annotations

import importlib.util
import pathlib

import pycparser
import pytest
from helpers import python
from library_tools import from_c

SWEEP = r"""
import ctypes, gc, io, os, sys
from types import CodeType, FunctionType
import _testcapi
import numpy as np
import cwrapjit
import cwrapjit.graph as cg
from cwrapjit import _cwrapjit

RECORD = np.dtype([("a", "f8")])
TWICE = {np.float64: "item__y() = 2 * item__x() + *k; return true;"}
CHECKED = {np.float64: "item__z() = 1; if (item__x(0) < 0) { PyErr_Format(PyExc_KeyError, \"%d\", 3);"
                       " return false; } return true;"}

def define():
    return cwrapjit.function("f", "text", signature="x() -> y()", optimize="off",
                             extra_args=(("double", "k", "0", "d"),), Ccode_slice_eval=TWICE)

f = define()
g = cwrapjit.function("g", signature="x(n) -> z()", optimize="off", Ccode_slice_eval=CHECKED)
three = np.arange(3.0)

def call():
    f(three); f(2.0, k=3); f([1.0, 2.0]); g(np.ones((2, 3))); f(three, out=np.empty(3))

BAD = (lambda: f("x"), lambda: f(three, three), lambda: g(3.0), lambda: g(-three - 1),
       lambda: f(three, nope=3))

def refuse():
    for bad in BAD:
        try:
            bad()
        except (TypeError, ValueError, KeyError):
            pass

def fail():
    try:
        cwrapjit.function("f", signature="x() -> y()", Ccode_slice_eval={np.float64: "return y_;"})
    except cwrapjit.CompileError:
        pass

def write():
    m = cwrapjit.module("m")
    m.function("f", signature="x() -> y()", Ccode_slice_eval={np.float64: "return true;"}, optimize="off")
    m.write(io.StringIO())

lib = cwrapjit.library("l", sources=[sys.argv[3]])
total = lib.function("double s(int n, const double x[n])")
fill = lib.function("void fill(int n, double x[n])", out="x")

def library():
    assert total(three) == 3 and fill(4)[3] == 3

class Double(cg.ResultBase):
    def c_declare(self):
        return "double %(name)s;"
    def c_init(self):
        return "%(name)s = 0;"
    def c_extract(self):
        return "%(name)s = PyFloat_AsDouble(py_%(name)s); if (PyErr_Occurred()) %(fail)s"
    def c_sync(self):
        return "Py_XDECREF(py_%(name)s); py_%(name)s = PyFloat_FromDouble(%(name)s);"

class Add(cg.Op):
    def c_var_names(self):
        return [["x", "y"], ["z"]]
    def c_code(self):
        return "%(z)s = %(x)s + %(y)s;"

a, b = Double("a"), Double("b")
sum3 = Add(Add(a, b), b)
linked = cwrapjit.link([a, b], sum3, optimize="off")

def link():
    cwrapjit.link([a, b], sum3, optimize="off")

made = cwrapjit.module("made", "text", "#define TWO 2", threads=1)
two = made.function("two", signature="x() -> y()", optimize="off",
                    Ccode_slice_eval={("f8", RECORD): "return true;"})

def again():
    module, environment, options, arguments = _cwrapjit.definition_of(two)
    arguments["Ccode_slice_eval"] = dict(arguments["Ccode_slice_eval"])
    _cwrapjit.define_again(module, environment, None, {**arguments, **options})
    environment, options = _cwrapjit.build_of(made)
    _cwrapjit.module_again("made", None, environment, made, options)

def run():
    assert linked(1.0, 2.5) == 6

def sweep(task):
    failed = 0
    for k in range(int(sys.argv[2])):
        try:
            _testcapi.set_nomemory(k, k + 1)
            try:
                task()
            finally:
                _testcapi.remove_mem_hooks()
        except MemoryError:
            failed += 1
        except RuntimeError as error:  # importlib's, which knows no other
            assert str(error) == "can't allocate lock", error
            failed += 1
        except SystemError as error:  # CPython forgets the exception where it has no memory for a traceback
            assert str(error).endswith(("without exception set", "without setting an exception")), error
            failed += 1
    return failed

# CPython 3.12 and 3.13 drop one reference to its code too many where they have no memory for a function that
# a running one makes, such as a generator expression: MAKE_FUNCTION gives the code back, and its way out of
# errors does it again (python/cpython#122752). So such code gets references to spare, for good.
def nested(code):
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from nested(constant)

def spare(steps):
    makers = [each.__code__ for each in gc.get_objects() if isinstance(each, FunctionType)]
    references = [[code] * steps for maker in makers for code in nested(maker)]
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(references))

def held():
    gc.collect()
    sys._clear_type_cache()
    return sys.getallocatedblocks(), len(os.listdir("/proc/self/fd"))

task = globals()[sys.argv[1]]
for _ in range(3):
    task()
spare(3 * int(sys.argv[2]))
for _ in range(3):  # tables grow in the first ones, and what counts them is held itself
    sweep(task)
    blocks, descriptors = held()
failed = sweep(task)
more_blocks, more_descriptors = held()
task()
print(failed, more_blocks - blocks, more_descriptors - descriptors)
"""

# What is Python for the most part is not here: its own iterators crash when their memory runs out.
TASKS = {
    "call": 80,
    "refuse": 200,
    "define": 100,
    "fail": 150,
    "write": 150,
    "library": 60,
    "link": 300,
    "run": 20,
    "again": 250,
}


@pytest.mark.quick
@pytest.mark.row("G04")
@pytest.mark.skipif(importlib.util.find_spec("_testcapi") is None, reason="this Python has no _testcapi")
@pytest.mark.parametrize("task", TASKS)
def test_every_allocation_of_python_may_fail(task: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "l.c").write_text(
        "double s(int n, const double *x) { double r = 0; for (int i = 0; i < n; i++) r += x[i]; return r; }"
        "void fill(int n, double *x) { for (int i = 0; i < n; i++) x[i] = i; }"
    )
    said = python(SWEEP, task, str(TASKS[task]), str(tmp_path / "l.c")).stdout
    failed, blocks, descriptors = map(int, said.split())
    assert failed >= 1
    assert descriptors <= 0
    assert blocks <= 1 + failed / 3, "one block for each failure would be a leak"


@pytest.mark.row("G04")
def test_memory_that_runs_out_while_a_declaration_is_read_is_no_fault_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lib = from_c("int f(int x) { return x; }")

    def parse(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(pycparser.CParser, "parse", parse)
    with pytest.raises(MemoryError):
        lib.function("int f(int x)")
