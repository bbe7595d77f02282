"""Tests how calls of jitted functions find their kernels: which run no Python code, and odd arguments."""

from __future__ import annotations

import copy
import enum
import gc
import pickle
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers import python, refuses
from leaks import keeps_nothing

import cwrapjit
from cwrapjit._cwrapjit import ShapeDispatch


def frames(f: Callable[..., Any], *args: Any, **kwargs: Any) -> list[str]:
    """Returns the names of the Python functions that a call runs."""
    seen: list[str] = []

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "call":
            seen.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        f(*args, **kwargs)
    finally:
        sys.setprofile(None)
    return seen


def same(one: Any, other: Any) -> bool:
    return (
        type(one) is type(other)
        and np.asarray(one).dtype == np.asarray(other).dtype
        and repr(one) == repr(other)
    )


class Scaled:
    factor = 2.0

    @cwrapjit.jit
    def of(self, x: Any) -> Any:
        return np.sqrt(x) * self.factor


def power(x: Any, y: Any = 2.0) -> Any:
    return np.hypot(x, y) + np.add(x, y)


X = np.array([1.0, 4.0, 9.0])
NUMBERS = (
    4.0,
    4,
    4 + 1j,
    np.float64(4),
    np.float32(4),
    np.int8(4),
    np.uint64(4),
    np.bool_(True),
    np.float16(4),
)


@pytest.mark.row("J10")
@pytest.mark.parametrize(
    "args",
    [(4.0, 9.0), (X, X), (X, 2.0), (2.0, X), (np.float64(4), X), (X.astype("f4"), 2.0), (np.array(4.0), X),
     (X[::-1], X), (np.ones((2, 3)), X)],
)  # fmt: skip
def test_a_call_of_one_kernel_runs_no_python_code(args: Any) -> None:
    f = cwrapjit.jit(power)
    first = f(*args)
    assert len(f.kernels) == 1 and frames(f, *args) == []
    assert type(f(*args)) is type(first)
    np.testing.assert_allclose(f(*args), power(*args), rtol=1e-6)


@pytest.mark.row("J10")
def test_which_calls_are_looked_up() -> None:
    f = cwrapjit.jit(power)
    for args in ((X,), (4.0,), (np.float32(4),)):
        f(*args)
        assert frames(f, *args) == [], "defaults are filled in"
    scaled = Scaled()
    assert scaled.of(X).tolist() == [2, 4, 6] and frames(scaled.of, X) == []
    assert Scaled.of(scaled, X).tolist() == [2, 4, 6] and frames(Scaled.of, scaled, X) == []
    pair = cwrapjit.jit(lambda x, y: (np.sqrt(x) + y, np.sqrt(x) - y))
    assert [each.tolist() for each in pair(X, X)] == [[2, 6, 12], [0, -2, -6]] and frames(pair, X, X) == []
    for f in (
        lambda x: [np.sqrt(x)],
        lambda x: (np.sqrt(x),),
        lambda x: (np.sqrt(x), x),
        lambda x: np.sqrt(np.sqrt(x)[::-1]) + 1,
    ):
        several = cwrapjit.jit(f)
        several(X)
        assert frames(several, X) == ["run"], "one Python function calls the steps"
        assert repr(several(X)) == repr(f(X))


@pytest.mark.row("J10")
@pytest.mark.parametrize("static", ["sum", None, True, 3, -7, 2**62, power, int, np.sqrt, object()])
def test_static_arguments_are_looked_up(static: Any) -> None:
    f = cwrapjit.jit(lambda x, k: np.sqrt(x) * (k if type(k) is int else 2), static="k")
    first = f(X, static)
    assert frames(f, X, static) == [] and same(f(X, static), first)
    if type(static) is int:
        assert first.tolist() == (np.sqrt(X) * static).tolist()
        assert f(X, 5).tolist() == [5, 10, 15] and frames(f, X, int(str(static))) == []


class Color(enum.Enum):
    RED = 1


class Equal:
    """Is equal to others of its number, by Python code."""

    def __init__(self, number: float) -> None:
        self.number = number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Equal) and other.number == self.number

    def __hash__(self) -> int:
        return hash(self.number)


class Like:
    def __init__(self, values: Any) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(self.values)


class Vector(np.ndarray):
    pass


class Double(float):
    pass


@pytest.mark.row("J10")
@pytest.mark.parametrize("turns", [1, 3])
def test_odd_arguments(turns: int) -> None:
    """All kinds in turn through one function: none takes the target of another."""
    values: list[Any] = [
        *NUMBERS, True, False, None, "x", "".join(["a", "b"]), X, X.astype(">f8"), X.astype("g"),
        X.astype("e"), X.astype("q"), X.astype("Q"), X > 2, np.ones((2, 3)), np.ones((3, 2)), np.ones(()),
        np.ones((0, 3)), np.ones((1,) * 32), X.view(Vector), [X, 1.0], (X, 1.0), {"x": X}, Like([1.0, 2.0]),
        Like(3), Color.RED, Equal(1), Equal(1), Equal(2), Double(4), 2**70, float("nan"), float, np.float64,
        np.dtype("f8"), ..., memoryview(X), print, np.datetime64(1, "s"), np.str_("x"), object(),
    ]  # fmt: skip

    def show(x: Any, y: Any) -> Any:
        return (x, np.sqrt(y) + 1)

    f = cwrapjit.jit(show)
    for _ in range(turns):
        for value in values:
            for y in (4.0, X):
                got, wanted = f(value, y), show(value, y)
                assert same(got[1], wanted[1])
                if isinstance(value, (Like, memoryview, Vector)):
                    assert type(got[0]) is np.ndarray and (got[0] == np.asarray(value)).all()
                elif isinstance(value, (list, tuple, dict)):
                    assert type(got[0]) is type(value) and len(got[0]) == len(value)
                elif isinstance(value, Equal):
                    assert got[0] == value
                elif isinstance(value, (np.ndarray, float)):
                    np.testing.assert_array_equal(got[0], value)
                    assert type(got[0]) is type(value)
                else:
                    assert got[0] is value or same(got[0], value)


@pytest.mark.row("J10")
def test_unhashable_and_unsupported_arguments_are_refused_each_time() -> None:
    f = cwrapjit.jit(lambda x, k=0: np.sqrt(x))
    for _ in range(3):
        for bad in (set(), bytearray(2), np.ma.array([1.0]), np.array(["a"]), np.array([None])):
            for args in ((X, bad), (bad, X)):
                with pytest.raises(TypeError, match=r"jit: "):
                    f(*args)
        refuses(TypeError, lambda: f(), "missing")
        refuses(TypeError, lambda: f(X, 1, 2), "too many positional")
        refuses(TypeError, lambda: f(X, z=1), "unexpected keyword")
        assert f(X).tolist() == f(X, 1).tolist() == f(x=X).tolist() == f(X, k=1.0).tolist() == [1, 2, 3]
    assert f(X, **{}).tolist() == [1, 2, 3]


@pytest.mark.row("J10")
def test_many_arguments_and_many_dims() -> None:
    for count in (1, 31, 32, 33, 70):
        names = ", ".join(f"x{k}" for k in range(count))
        f = cwrapjit.jit(eval(f"lambda {names}: np.sqrt({' + '.join(names.split(', '))})", {"np": np}))
        for args in ([1.0] * count, [X] * count, [np.ones((2, 3, 4))] * count):
            for _ in range(2):
                assert np.all(f(*args) == np.sqrt(sum(args)))
    f = cwrapjit.jit(lambda x, y, z: np.sqrt(x))
    deep = np.ones((1,) * 30)
    for _ in range(2):
        assert f(deep, deep, deep).shape == deep.shape


# ---- what is kept --------------------------------------------------------------------------------------


@pytest.mark.row("J10")
def test_what_is_kept_is_bounded() -> None:
    runs = []

    def f(x: Any) -> Any:
        runs.append(x)
        return np.sqrt(x)

    g = cwrapjit.jit(f)
    for _ in range(2):
        for n in range(2, 5000):
            assert g(np.empty(n, "f4")).size == n
    assert len(runs) == 1
    held = [each for each in gc.get_referents(g) if each is g.kernels[0]]
    assert 400 < len(held) <= 512, "targets"
    g(X)
    g(X)
    assert frames(g, X) == []


@pytest.mark.row("J10")
def test_objects_of_the_key_live_as_long_as_the_function() -> None:
    class Model:
        pass

    f = cwrapjit.jit(lambda model, x: np.sqrt(x) * model.scale)
    for k in range(50):  # another object at the same address would take the target of the first
        model = Model()
        model.scale = float(k)  # type: ignore[attr-defined]
        for _ in range(2):
            assert f(model, X).tolist() == [k, 2 * k, 3 * k]
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is not None and frames(f, gone(), X) == []
    model = gone()
    model.jitted = f  # type: ignore[union-attr]
    del f, model
    gc.collect()
    assert gone() is None, "in a circle with its function"


@pytest.mark.leak
def test_calls_keep_nothing() -> None:
    f = cwrapjit.jit(lambda x, k=None: np.sqrt(x))

    def calls() -> None:
        for n in range(2000):
            f(np.empty(n))
        f(4.0)
        f(X, "k")
        f(x=X)
        refuses(TypeError, lambda: f(X, set()), "hashable")
        refuses(TypeError, lambda: f._keep((1.0,), [], max, 3), "_keep")
        f._keep((X, None), [X], f.kernels[0])

    def define() -> None:
        class Empty(ShapeDispatch):
            pass

        one = Empty((False,), (1.0,))
        one._keep((X,), [X], one)
        one.__init__((False, False), ())  # type: ignore[misc]

    keeps_nothing(calls)
    keeps_nothing(define)


# ---- hostile uses --------------------------------------------------------------------------------------


class Recorded(ShapeDispatch):
    def __init__(self, count: int, defaults: tuple[Any, ...] = (), static: Any = ()) -> None:
        super().__init__(tuple([k in static for k in range(count)]), defaults)

    def _miss(self, *args: Any, **kwargs: Any) -> Any:
        return "miss", args, kwargs


def test_targets() -> None:
    d = Recorded(3, (None, 7.0), static=(1,))
    assert d(X) == ("miss", (X,), {}) and d() == ("miss", (), {}) and d(X, k=1) == ("miss", (X,), {"k": 1})
    d._keep((X, None, 7.0), [X, 7.0], lambda *leaves: leaves)
    assert d(X) == (X, 7.0) and d(X, None) == (X, 7.0) and d(X, None, 8.5) == (X, 8.5)
    assert (
        d(X, 0)[0]
        == d(X, None, 8)[0]
        == d(X, None, np.float64(8))[0]
        == d(X[1:])[0]
        == d(X, k=1)[0]
        == "miss"
    )
    d._keep((X, None, 7.0), [X, 7.0], max)  # replaces
    refuses(ValueError, lambda: d(X), "ambiguous")  # max() compares
    d._keep((X, None, 1), [X, 1.0], None)  # these are other leaves
    d._keep((X, None, 1), [X], None)
    d._keep((X, None), [X], None)
    d._keep((), [], None)
    assert d(X, None, 1)[0] == "miss"
    z = 1j
    d._keep((X, None, z), [X, z], None)
    refuses(TypeError, lambda: d(X, None, 1j), "not callable")
    d.__init__(1)  # type: ignore[misc]  # forgets
    assert d(X)[0] == "miss" and d(X, None, 1j)[0] == "miss"


def test_bad_definitions() -> None:
    for args in ((), (1, 2), ((), []), ([], ()), ((), (), ())):
        refuses(TypeError, lambda args=args: ShapeDispatch(*args), "ShapeDispatch()")
    refuses(ValueError, lambda: ShapeDispatch((False,), (1, 2)), "more defaults than arguments")
    d = Recorded(1)
    for args in ((), (1,), (1, 2, 3), ((), (), max), ([], [], max), ((1.0,), [], max, 1)):
        refuses(TypeError, lambda args=args: d._keep(*args), "_keep()")
    empty = Recorded.__new__(Recorded)
    assert empty(1)[0] == empty()[0] == "miss" and empty._keep((), [], max) is None
    refuses(AttributeError, lambda: ShapeDispatch((), ())(), "_miss")
    blank = type(cwrapjit.jit(power)).__new__(type(cwrapjit.jit(power)))
    refuses(AttributeError, lambda: blank(1.0), "_arity")


def test_calls_that_never_end_in_c_are_refused() -> None:
    d, other = Recorded(1), Recorded(1)
    one = 1.0
    d._keep((one,), [one], other)
    other._keep((one,), [one], d)
    refuses(RecursionError, lambda: d(2.0), "maximum recursion depth")
    d._miss = d  # type: ignore[method-assign]
    refuses(RecursionError, lambda: d("x"), "maximum recursion depth")
    chain: Any = max
    for _ in range(20_000):
        link = Recorded(1)
        link._keep((one,), [one], chain)
        chain = link
    with pytest.raises(RecursionError):
        chain(1.0)
    del chain, link  # frees them one by one, without recursion


def test_a_function_that_changes_itself_while_it_runs() -> None:
    d: Any = Recorded(2, (2.0,))
    one = 1.0

    def target(x: float, y: float) -> Any:
        d.__init__(1)
        gc.collect()
        return x, y

    d._keep((one, one), [one, one], target)
    assert d(one) == (1.0, 2.0) and d(one)[0] == "miss"

    def last(*args: Any) -> Any:
        nonlocal d
        del d
        gc.collect()
        return args

    d = Recorded(1)
    d._keep((one,), [one], last)
    assert d(3.0) == (3.0,)

    class Dies:
        def __del__(self) -> None:
            holder._keep((one,), [one], max)

        def __call__(self, x: float) -> float:
            return x

    holder = Recorded(1)
    holder._keep((one,), [one], Dies())
    holder._keep((one,), [one], min)  # frees the former target, which is back at once
    refuses(TypeError, lambda: holder(1.0), "not iterable")


@pytest.mark.row("J10")
def test_calls_while_the_function_is_traced() -> None:
    def f(x: Any, n: int) -> Any:
        if n == 0:
            return np.sqrt(x)
        return g(x, n - 1) + g(4.0, 0) + (g(X, n - 1)[0] if isinstance(n, int) else 0)

    g = cwrapjit.jit(static="n")(f)
    for _ in range(2):
        assert (
            g(X, 0).tolist() == [1, 2, 3]
            and g(X, 1).tolist() == [4, 5, 6]
            and g(X, 2).tolist() == [10, 11, 12]
        )
        assert g(4.0, 0) == 2.0

    def endless(x: Any) -> Any:
        return h(x)

    h = cwrapjit.jit(endless)
    for _ in range(2):
        refuses(RecursionError, lambda: h(X), "maximum recursion depth")


def of_module(x: Any) -> Any:
    return np.sqrt(x)


in_module = cwrapjit.jit(of_module)
in_module.__qualname__ = "in_module"


@pytest.mark.row("J10")
def test_the_object() -> None:
    in_module(X)
    assert pickle.loads(pickle.dumps(in_module)) is in_module
    assert copy.copy(in_module) is in_module is copy.deepcopy(in_module)
    assert weakref.ref(in_module)() is in_module and in_module.__call__(X).tolist() == [1, 2, 3]
    assert type(in_module).__flags__ & (1 << 11), "Py_TPFLAGS_HAVE_VECTORCALL"
    assert in_module.__get__(None, int) is in_module and in_module.__get__(3, int).__self__ == 3

    class Mine(type(in_module)):  # type: ignore[misc]
        def __call__(self, *args: Any) -> Any:
            return "mine", super().__call__(*args)

    mine = Mine(of_module, (), {})
    for _ in range(2):
        assert mine(X)[0] == "mine" and mine(X)[1].tolist() == [1, 2, 3]
    del mine._plans
    assert mine(X)[1].tolist() == [1, 2, 3]
    refuses(AttributeError, lambda: mine(4.0), "_plans")
    del mine.__dict__
    refuses(AttributeError, lambda: mine(5), "_arity")
    with pytest.raises(TypeError):
        ShapeDispatch._keep = None  # type: ignore[method-assign,assignment]


def test_threads() -> None:
    f = cwrapjit.jit(lambda x, k=None: np.sqrt(x))
    wrong: list[Any] = []

    def work(seed: int) -> None:
        for n in np.random.default_rng(seed).integers(0, 3000, 1000).tolist():
            x = np.full(n, 4.0)
            if f(x).tolist() != [2.0] * n or f(4.0, Color) != 2.0:
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_calls_without_memory() -> None:
    """Each allocation fails in turn, which must raise MemoryError and nothing else."""
    pytest.importorskip("_testcapi")
    python(
        """
import _testcapi, sys
import numpy as np, cwrapjit
from cwrapjit._cwrapjit import ShapeDispatch

class Missing(ShapeDispatch):
    def _miss(self, x):
        self._keep((x,), [x], abs)
        return -1.0

def work():
    d = Missing((False,), (2.0,))
    return d(-3.0), d(-3.0), d()

def known():
    return jitted(2.0)

jitted = cwrapjit.jit(lambda x, k=None: np.sqrt(x))
known()
for work, wanted in (work, (-1.0, 3.0, 2.0)), (known, np.sqrt(2.0)):
    assert work() == wanted
    failed = fine = k = 0
    while fine < 20:
        k += 1
        try:
            _testcapi.set_nomemory(k, k + 1)
            made = work()
        except MemoryError:
            failed += 1
        else:
            assert made == wanted
            fine += 1
        finally:
            _testcapi.remove_mem_hooks()
    assert failed or work is known
"""
    )
