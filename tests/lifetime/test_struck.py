"""What strikes while this package looks at an object is no matter of the package: it comes out as itself.

Ctrl-C, a signal's handler that raises, no memory: any of them may come out of any Python code that runs
meanwhile, of a user's `__index__` or of an import. The objects here raise once and are well behaved before
and after, so that who swallows what they raise, and looks again, succeeds in silence.
"""

from __future__ import annotations

import contextlib
import itertools
import linecache
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.ma
import pytest
from graph_types import D, FilledOp, TemplateOp, double
from helpers import ar, wrap
from library_tools import from_c

import cwrapjit
from cwrapjit import _cwrapjit, _paths
from cwrapjit import graph as cg

assert numpy.ma  # without it nobody looks whether an array is a masked one


class Struck(Exception):
    """What a handler of signals raises."""


class Late(RuntimeError):
    """Another, of a class that NumPy raises, too."""


each_error = pytest.mark.parametrize(
    "error", [KeyboardInterrupt, Struck, Late, MemoryError, RecursionError, SystemExit]
)


class Strike:
    """Raises the error at one of its calls; at the others it answers."""

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
    """At how many places use() asked the Strike that it is given."""
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
    # NumPy 1.26 calls what stands in the class, a property, too.
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
        assert type(cwrapjit.config.processes) is int  # nobody asks again, when a compiler is started
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
    """A number of NumPy's kind that is asked for its value as an int."""
    return subclass(base, __index__=lambda _: strike(3))(3)


def numbers(strike: Strike) -> Any:
    for f in (LIB.real, LIB.single, LIB.whole):
        f(index(np.int16, strike))
        f(x=index(np.int16, strike))
    ANY(index(np.int64, strike))


@case
def a_number_for_a_library(strike: Strike) -> Any:
    numbers(strike)


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


# ---- the search for a compiler, which may happen in any call ---------------------------------------

SLOW = {"header": "int usleep(unsigned int);"}
BODY = "usleep(5000); item__output() = item__a(); return true;"  # a call is enough to be worth a compiler


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
    """From here on one is looked for, in Python at last, and not found."""
    for variable in ("CC", "CWRAPJIT_CC"):
        patch.delenv(variable, raising=False)
    patch.setenv("PATH", f"/nowhere/{next(SEARCHED)}")
    patch.setattr(_paths, "zig", lambda: strike(None))


SEARCHED = itertools.count()


@pytest.mark.quick
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
    call()  # without a compiler


# ---- other code that runs meanwhile ----------------------------------------------------------------


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
    """A definition that needs an optimizing compiler."""
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
