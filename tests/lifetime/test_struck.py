"""Tests that an exception that strikes while cwrapjit looks at an object comes out unchanged.

Ctrl-C, a signal handler that raises, or a lack of memory may strike in any Python code: a user's `__index__`,
an import. The objects here raise once and work before and after. If cwrapjit swallowed the exception and
asked again, it would succeed silently. Then each of Python's allocations in a definition or a call fails in
turn, and nothing may leak.
"""

from __future__ import annotations

import contextlib
import importlib.util
import itertools
import linecache
import pathlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.ma
import pycparser
import pytest
from graph_types import D, FilledOp, TemplateOp, double
from helpers import ar, python, wrap
from library_tools import from_c

import cwrapjit
from cwrapjit import _cwrapjit, _paths
from cwrapjit import graph as cg

assert numpy.ma  # if not imported, nobody checks for masked arrays


class Late(RuntimeError):
    """Raised by a signal handler. NumPy raises its base class, too."""


each_error = pytest.mark.parametrize("error", [KeyboardInterrupt, Late, MemoryError, RecursionError])


class Strike:
    """Raises the error in one of its calls, and returns the answer in the others."""

    def __init__(self, error: BaseException, at: int) -> None:
        self.error = error
        self.left = at

    def __call__(self, answer: Any) -> Any:
        self.left -= 1
        if self.left == 0:
            raise self.error
        return answer


Case = Callable[[Strike], Any]
NUMPY_2 = np.lib.NumpyVersion(np.__version__) >= "2.0.0"
CASES: dict[str, Case] = {}


def case(use: Case) -> Case:
    CASES[use.__name__] = use
    return use


def comes_out_wherever_it_strikes(use: Case, error: type[BaseException]) -> int:
    """Strikes at each place where use() calls its Strike. Returns the number of places."""
    at = 0
    while True:
        at += 1
        strike = Strike(error(), at)
        try:
            use(strike)
        except BaseException as caught:
            assert caught is strike.error
        else:
            assert strike.left > 0, f"what struck at place {at} is gone"
            strike.left = 0  # as caches may still call it
            return at - 1


def subclass(base: type, **members: Any) -> Any:
    return type("Striking", (base,), members)


# ---- functions -------------------------------------------------------------------------------------

PLAIN = wrap((("n",),), (), "item__output() = item__a(0); return true;")
PRINTS = wrap(((),), (), 'printf("%g ", item__a()); item__output() = item__a(); return true;')


@case
def the_array_of_an_argument(strike: Strike) -> Any:
    return PLAIN(subclass(object, __array__=property(lambda _: strike(lambda *_, **__: ar(3))))())


@case
def the_dlpack_of_an_argument(strike: Strike) -> Any:
    # NumPy 1.26 calls the class's attribute, even a property.
    export = property(lambda _: strike(ar(3).__dlpack__)) if NUMPY_2 else lambda _: strike(ar(3).__dlpack__())
    like = subclass(object, __dlpack__=export, __dlpack_device__=lambda _: ar(3).__dlpack_device__())
    return PLAIN(like())


@case
def the_class_of_an_array(strike: Strike) -> Any:
    return PLAIN(ar(3).view(subclass(np.ndarray, __class__=property(lambda _: strike(np.ndarray)))))


@case
def what_numpy_runs_to_read_a_dtype(strike: Strike) -> Any:
    def look(frame: Any, event: str, _argument: Any) -> None:
        if event == "call" and frame.f_globals["__name__"].startswith("numpy."):
            strike(None)

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        wrap(((),), (), {"f8,f8": "return true;"})
    finally:
        sys.setprofile(before)


@case
def the_length_of_args_inout(strike: Strike) -> Any:
    names = subclass(list, __len__=lambda self: strike(list.__len__(self)))(["a"])
    return cwrapjit.module("t", "").function(
        "f", "", args_inout=names, args_input=("a",), prototype_input=(("n",),),
        Ccode_slice_eval={np.float64: "return true;"},
    )  # fmt: skip


@case
def what_write_is_asked_for(strike: Strike) -> Any:
    module = cwrapjit.module("t", "")
    return module.write(subclass(object, write=property(lambda _: strike(lambda text: strike(len(text)))))())


@case
def what_printf_prints_to(strike: Strike) -> Any:
    with contextlib.redirect_stdout(subclass(object, write=lambda _, text: strike(len(text)))()):
        return PRINTS(1.0), PRINTS(ar(3))


@case
def the_index_of_a_setting(strike: Strike) -> Any:
    try:
        cwrapjit.config.processes = subclass(object, __index__=lambda _: strike(2))()
        assert type(cwrapjit.config.processes) is int  # starting a compiler does not ask again
    finally:
        cwrapjit.config.processes = None


# ---- libraries -------------------------------------------------------------------------------------

LIB = from_c("""
    typedef struct { int x; double y; } pair;
    double real(double x) { return x; }
    float single(float x) { return x; }
    long whole(long x) { return x; }
    double sum(long n, const double *x) { double s = 0; while (n) s += x[--n]; return s; }
    double second(const pair *p) { return p->y; }
""")
LIB.declare("double real(double x); float single(float x); long whole(long x);")
LIB.function("double sum(long n, const double x[n])")
ANY = LIB.interface(
    "any", [LIB.function("double real(double x)", name="r"), LIB.function("long whole(long x)", name="w")]
)
PAIR = LIB.struct("typedef struct { int x; double y; } pair;")


def index(base: type, strike: Strike) -> Any:
    """Returns a NumPy number whose value is asked for as an int."""
    return subclass(base, __index__=lambda _: strike(3))(3)


@case
def a_number_for_a_library(strike: Strike) -> Any:
    for f in (LIB.real, LIB.single, LIB.whole):
        f(index(np.int16, strike))
        f(x=index(np.int16, strike))
    ANY(index(np.int64, strike))


@case
def the_class_of_an_array_for_a_library(strike: Strike) -> Any:
    return LIB.sum(ar(3).view(subclass(np.ndarray, __class__=property(lambda _: strike(np.ndarray)))))


# ---- graphs ----------------------------------------------------------------------------------------


@case
def the_index_in_a_destroy_map(strike: Strike) -> Any:
    number = subclass(object, __index__=lambda _: strike(0), __hash__=lambda _: 0)
    op = FilledOp("{z} = {x};")
    op.destroy_map = {number(): [number()]}  # type: ignore[attr-defined]
    op.view_map = {}  # type: ignore[attr-defined]
    x = double("x")
    return cwrapjit.link([cg.In(x, mutable=True)], op(x))


@case
def the_text_of_an_op(strike: Strike) -> Any:
    op = subclass(FilledOp, __str__=lambda _: strike("op"))("{z} = {x};")
    x = double("x")
    return cwrapjit.link([x], op(x))(3.0)


@case
def the_text_of_c_var_names(strike: Strike) -> Any:
    class Text(str):
        def lstrip(self, *letters: Any) -> str:
            return strike(str.lstrip(self, *letters))

    op = TemplateOp()
    op.c_var_names = lambda: Text("[['x', 'y'], ['z']]")  # type: ignore[method-assign]
    x, y = double("x"), double("y")
    return cwrapjit.link([x, y], op(x, y))(1.0, 2.0)


@case
def the_hash_of_a_version(strike: Strike) -> Any:
    version = subclass(int, __hash__=lambda _: strike(5))(5)
    x = cg.float64("x")
    return cwrapjit.link([x], FilledOp("{z} = {x};", version=(version,))(x))(3.0)


@case
def the_equality_of_a_type(strike: Strike) -> Any:
    same = subclass(D, values_eq_approx=property(lambda _: strike(lambda x, y: strike(True))))()
    x, y = same("x"), same("y")
    nearly = FilledOp("{z} = {x} + {y};", python=lambda x, y: x + y + 1e-9)
    return cwrapjit.link([x, y], nearly(x, y), check=True)(1.0, 2.0)


@case
def the_name_of_a_variable(strike: Strike) -> Any:
    x = double("x")
    x.__class__ = subclass(type(x), name=property(lambda _: strike("x"), lambda *_: None))
    return cwrapjit.link([x], FilledOp("{z} = {x};")(x))(x=3.0)


NUMBER = cg.float64("x")
NEGATED = cwrapjit.link([NUMBER], -NUMBER)
VECTOR = cg.ndarray("float64", 1)("v")
DOUBLED = cwrapjit.link([VECTOR], VECTOR + VECTOR)


@case
def the_number_of_a_scalar(strike: Strike) -> Any:
    return NEGATED(index(np.int16, strike))


@case
def the_class_of_an_array_for_a_graph(strike: Strike) -> Any:
    return DOUBLED(ar(3).view(subclass(np.ndarray, __class__=property(lambda _: strike(np.ndarray)))))


# ---- all of them -----------------------------------------------------------------------------------


@pytest.mark.quick
@pytest.mark.row("G07")
@each_error
@pytest.mark.parametrize("use", CASES.values(), ids=CASES)
def test_what_an_object_raises_comes_out(use: Case, error: type[BaseException]) -> None:
    assert comes_out_wherever_it_strikes(use, error) > 0


# ---- the search for a compiler, which any call may start -------------------------------------------

SLOW = {"header": "int usleep(unsigned int);"}
BODY = "usleep(5000); item__output() = item__a(); return true;"  # one call is enough to get hot


def slow_graph() -> Any:
    x = double("x")
    return cwrapjit.link([x], FilledOp("int usleep(unsigned int); usleep(5000); {z} = {x};")(x))


SEARCHES: dict[str, Callable[[], Callable[[], Any]]] = {
    "a call": lambda: lambda f=wrap(((),), (), BODY, **SLOW): f(2.0),
    "a long call": lambda: lambda f=wrap(((),), (), BODY, **SLOW): f(ar(20)),
    "wait()": lambda: wrap(((),), (), BODY, **SLOW).wait,
    "eager": lambda: lambda: wrap(((),), (), BODY, optimize="eager", **SLOW),
    "diagnose()": lambda: wrap(((),), (), BODY, **SLOW).diagnose,
    "a graph's call": lambda: lambda k=slow_graph(): k(2.0),
    "a graph's wait()": lambda: slow_graph().wait,
}


def without_a_compiler(patch: pytest.MonkeyPatch, strike: Strike) -> None:
    """From now on the search for a compiler ends in Python code, and finds none."""
    for variable in ("CC", "CWRAPJIT_CC"):
        patch.delenv(variable, raising=False)
    patch.setenv("PATH", f"/nowhere/{next(SEARCHED)}")
    patch.setattr(_paths, "zig", lambda: strike(None))


SEARCHED = itertools.count()


@pytest.mark.row("G07")
@each_error
@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)
def test_what_strikes_the_search_for_a_compiler_comes_out(
    search: Callable[[], Callable[[], Any]], error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    strike = Strike(error(), 1)
    without_a_compiler(monkeypatch, strike)
    call = search()
    with pytest.raises(error) as caught:
        call()
    assert caught.value is strike.error
    call()  # a call without a compiler


# ---- other code that runs during a call ------------------------------------------------------------


@pytest.mark.quick
@pytest.mark.row("G07")
@each_error
def test_what_strikes_while_a_fault_is_described_comes_out(
    error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    strike = Strike(error(), 1)
    lib = from_c("double follow(double x) { return x + *(volatile double *)8; }", debug=True)
    lib.function("double follow(double x)")
    with monkeypatch.context() as patch, pytest.raises(error) as caught:
        patch.setattr(linecache, "getline", lambda *_: strike(""))
        lib.follow(1.0)
    assert caught.value is strike.error


def by_value() -> Callable[[], Any]:
    """Returns a definition that needs the system's compiler."""
    libc = cwrapjit.library("c", libraries=["c"])
    libc.struct("struct s { long l; double d; };")
    return lambda: libc.function("struct s lldiv(long a, long b)")


@pytest.mark.row("G07")
@each_error
def test_what_strikes_a_definition_that_needs_a_compiler_is_not_its_refusal(
    error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    strike = Strike(error(), 1)
    compile_thunks = _cwrapjit.compile_thunks

    def struck(environment: Any, text: str, names: Any, compiler: Any) -> Any:
        return compile_thunks(environment, text, names, compiler) if compiler is None else strike(None)

    for name, searched in (("the wait", False), ("the search", True)):
        strike.left = 1
        define = by_value()
        with monkeypatch.context() as patch, pytest.raises(error) as caught:
            if searched:
                without_a_compiler(patch, strike)
            else:
                patch.setattr(_cwrapjit, "compile_thunks", struck)
            define()
        assert caught.value is strike.error, name


# ---- each allocation of Python's fails in turn (tinyjit's: tests/tinyjit/c/test_memory.c) ----------------


SWEEP = r"""
import ctypes, gc, io, os, sys
from types import CodeType, FunctionType
import _testcapi
import numpy as np
import cwrapjit
import cwrapjit.graph as cg
from cwrapjit import _cwrapjit
from cwrapjit.graph import linking

RECORD = np.dtype([("a", "f8")])
TWICE = {np.float64: "item__y() = 2 * item__x() + *k; return true;"}
CHECKED = {np.float64: "item__z() = 1; if (item__x(0) < 0) { PyErr_Format(PyExc_KeyError, \"%d\", 3);"
                       " return false; } return true;"}

def define():
    return cwrapjit.function("f", "text", signature="x() -> y()", optimize="off",
                             extra_args=(("double", "k", "0", "d"),), Ccode_slice_eval=TWICE)

f = define()
g = cwrapjit.function("g", signature="x(n) -> z()", optimize="off", Ccode_slice_eval=CHECKED)
h = cwrapjit.function("h", signature="x() -> y(), z()", optimize="off",
                      Ccode_slice_eval={np.float64: "item__y() = item__z() = item__x(); return true;"})
three = np.arange(3.0)

def call():
    f(three); f(2.0, k=3); f([1.0, 2.0]); g(np.ones((2, 3))); f(three, out=np.empty(3)); h(three); h(2.0)

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

def ask():
    cwrapjit.link([a, b], sum3, optimize="off")

whole = linking.read_graph
said = whole("graph", [a, b], sum3, None, True, False, True, False, False)

def link():  # what C does of it
    linking.read_graph = lambda *given, **flags: said
    try:
        ask()
    finally:
        linking.read_graph = whole

made = cwrapjit.module("made", "text", "#define TWO 2", threads=1)
two = made.function("two", signature="x() -> y()", optimize="off",
                    Ccode_slice_eval={("f8", RECORD): "return true;"})

def again():
    module, environment, options, arguments = _cwrapjit.definition_of(two)
    arguments["Ccode_slice_eval"] = dict(arguments["Ccode_slice_eval"])
    _cwrapjit.module_again(module, "", environment, None, {}).function(**arguments, **options)
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
    _cwrapjit.live()  # waits until no job has descriptors
    return sys.getallocatedblocks(), len(os.listdir("/proc/self/fd")), *_cwrapjit.live().values()

task = globals()[sys.argv[1]]
for _ in range(3):
    task()
spare(3 * int(sys.argv[2]))
for _ in range(3):  # tables grow in the first ones, and what counts them is held itself
    sweep(task)
    blocks, *counts = held()
failed = sweep(task)
more_blocks, *more_counts = held()
assert counts == more_counts, (counts, more_counts)
task()
print(failed, more_blocks - blocks)
"""

# Without memory for a frame, Python itself leaks blocks; C code leaks nothing. Code that is mostly Python is
# not tested, as Python's iterators crash without memory.
IN_C = ("call", "refuse", "library", "run")
# A call without memory for its frame leaks its arguments in Python: once, the whole graph.
FORGETS = ("ask",)
TASKS = {
    "call": 80,
    "refuse": 200,
    "define": 100,
    "fail": 150,
    "write": 150,
    "library": 60,
    "ask": 600,
    "link": 100,
    "run": 20,
    "again": 250,
}
LONG = ("fail", "write", "ask")


@pytest.mark.row("G04")
@pytest.mark.skipif(importlib.util.find_spec("_testcapi") is None, reason="this Python has no _testcapi")
@pytest.mark.parametrize(
    "task", [task if task in LONG else pytest.param(task, marks=pytest.mark.quick) for task in TASKS]
)
def test_every_allocation_of_python_may_fail(task: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "l.c").write_text(
        "double s(int n, const double *x) { double r = 0; for (int i = 0; i < n; i++) r += x[i]; return r; }"
        "void fill(int n, double *x) { for (int i = 0; i < n; i++) x[i] = i; }"
    )
    said = python(SWEEP, task, str(TASKS[task]), str(tmp_path / "l.c")).stdout
    failed, blocks = map(int, said.split())
    assert failed >= 1
    most = 0 if task in IN_C else failed * 3 if task in FORGETS else failed / 3
    assert blocks <= most, "one block for each failure would be a leak"


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
