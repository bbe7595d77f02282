"""Tests Dispatch: one callable stands for many, and the argument types choose."""

from __future__ import annotations

import functools
import gc
import pickle
import sys
import threading
import weakref
from typing import Any

import numpy as np
import pytest
from helpers import python, refuses

from cwrapjit._cwrapjit import Dispatch


class Asking(Dispatch):
    """A Dispatch that calls a function to resolve."""

    def __init__(self, resolve: Any, **options: Any) -> None:
        super().__init__(**options)
        self.resolve = resolve


class Counted(Dispatch):
    """A Dispatch of functions that return their arguments, which records each resolve()."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def resolve(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self.asked.append((args, kwargs))
        number = len(self.asked)
        return lambda *a, **k: (number, a, k)


def test_it_asks_once_per_combination_of_types() -> None:
    d = Counted()
    x, y = np.zeros(3), np.zeros((2, 2), np.float32)
    assert d(x, 1) == (1, (x, 1), {})
    assert d(np.ones(()), 5)[0] == 1, "arrays of all shapes are one"
    kinds = [
        (x, 1.0), (x, True), (x, 1j), (x, np.float64(1)), (x, np.float32(1)), (x, y), (y, x), (x, None),
        (x, np.int64(1)), (x, np.int8(1)), (x,), (), (x, np.bool_(True)), (x, np.array(1)),
    ]  # fmt: skip
    first = [d(*args)[0] for args in kinds]
    assert first == list(range(2, 2 + len(kinds)))
    assert [d(*args)[0] for args in reversed(kinds)] == first[::-1]
    assert len(d.combinations) == len(kinds) + 1
    assert d.asked[0][0][0] is x and d.asked[0][1] == {}


@pytest.mark.quick
def test_lists_become_arrays_where_they_may() -> None:
    asked: list[Any] = []
    d = Asking(lambda args, kwargs: asked.append(args) or (lambda *a, **k: (a, k)), lists=(0, 2))
    for first in ([1.0, 2.0], (3.0, 4.0)):
        (x, y, z), _ = d(first, 1, [[1]])
        assert type(x) is np.ndarray is type(z) and y == 1 and x.tolist() == [*first] and z.shape == (1, 1)
    assert len(asked) == 1 == len(d.combinations) and d(np.ones(2), 1, np.array([1]))[0][1] == 1
    assert len(asked) == 1, "lists are what their arrays are"
    assert d([1], [2], x=[3])[0][1] == [2] and d(1, 1, x=[3]) == ((1, 1), {"x": [3]})
    assert d([[1], [2, 3]]) == (([[1], [2, 3]],), {}), "what makes no array is for resolve to refuse"
    many = d(*[[1.0]] * 40)
    assert many[0][0] == [1.0] and type(many[0][0]) is list, "more arguments than are looked at"
    named = Asking(lambda args, kwargs: asked.append(args) or (lambda *a, **k: (a, k)), lists=(0, "x"))
    before = len(asked)
    for x in ([1.0], (2.0,)):
        _, kwargs = named(1, x=x, lo=2)
        assert type(kwargs["x"]) is np.ndarray and kwargs["x"].tolist() == [*x] and kwargs["lo"] == 2
        assert named(1, **{"X".lower(): x})[1]["x"].tolist() == [*x], "whatever str the name is"
    assert len(asked) == before + 2 and named(1, y=[3]) == ((1,), {"y": [3]})
    refuses(TypeError, lambda: Asking(max, ranks=("x",)), "str")
    refuses(ValueError, lambda: Asking(max, lists=(32,)), "lists: 32 is no position")
    refuses(ValueError, lambda: Asking(max, ranks=(-1,)), "ranks: -1 is no position")


def test_keywords_are_part_of_the_combination() -> None:
    d = Counted()
    x = np.zeros(3)
    assert d(x, out=x) == (1, (x,), {"out": x})
    assert d(x, x)[0] == 2
    assert d(x, size=3)[0] == 3
    assert d(x, out=x, size=3)[0] == 4
    assert d(x, out=x)[0] == 1
    assert d(*(x,), **{"size": 7}) == (3, (x,), {"size": 7})
    assert d.asked[0] == ((x,), {"out": x})


@pytest.mark.parametrize(
    "argument",
    [
        [1.0], "text", object(), np.array(["a"]), np.zeros(2, object), np.zeros(2, "M8[s]"),
        np.zeros(2, "f8,i4"),
        np.zeros(2, ">f8" if sys.byteorder == "little" else "<f8"), np.datetime64("2020"), np.void(b"ab"),
    ],
    ids=lambda argument: f"{type(argument).__name__}-{getattr(argument, 'dtype', '')}",
)  # fmt: skip
def test_what_a_number_of_a_type_does_not_describe_is_asked_for_each_time(argument: Any) -> None:
    d = Counted()
    assert [d(argument)[0] for _ in range(3)] == [1, 2, 3]
    assert d.combinations == ()


def test_numbers_of_subclasses() -> None:
    class Int(int):
        pass

    class Float(float):
        pass

    class Array(np.ndarray[Any, Any]):
        pass

    d = Counted()
    assert [d(x)[0] for x in (1, Int(1), 1.0, Float(1.0))] == [1, 1, 2, 2]
    assert [d(x)[0] for x in (np.zeros(2), np.zeros(2).view(Array))] == [3, 3]


@pytest.mark.quick
def test_the_list_is_bounded() -> None:
    d = Counted()
    types = "?bhilqBHILQefdgFDG"
    for a in types:
        for b in types:
            d(np.zeros(1, a), np.zeros(1, b))
    assert len(d.asked) == len(types) ** 2
    assert len(d.combinations) == 128
    for b in types[-5:]:
        d(np.zeros(1, "G"), np.zeros(1, b))
    assert len(d.asked) == len(types) ** 2, "the latest are there"
    d.forget()
    assert d.combinations == ()
    d(np.zeros(1))
    assert len(d.asked) == len(types) ** 2 + 1


@pytest.mark.quick
def test_many_arguments_are_resolved_each_time() -> None:
    d = Counted()
    assert [d(*range(33))[0] for _ in range(2)] == [1, 2]
    assert [d(*range(32))[0] for _ in range(2)] == [3, 3]


@pytest.mark.parametrize("count", [1, 7, 8, 9, 16, 17, 32])
def test_every_argument_counts(count: int) -> None:
    """Each of any number of arguments decides, wherever it stands."""
    d = Counted()
    args: list[Any] = [0] * count
    assert d(*args)[0] == 1
    for k in range(count):
        assert d(*args[:k], 0.5, *args[k + 1 :])[0] == k + 2
    for k in range(count):
        assert d(*args[:k], 2.5, *args[k + 1 :])[0] == k + 2
        assert d(*args[:k])[0] == count + 2 + k, "fewer are others"
    assert d(*args)[0] == 1


@pytest.mark.quick
def test_errors_come_out_and_nothing_is_kept() -> None:
    def resolve(args: Any, kwargs: Any) -> Any:
        if args[0] == 1:
            raise KeyError("T")
        return args[0]

    d = Asking(resolve)
    with pytest.raises(KeyError, match="T"):
        d(1)
    refuses(TypeError, lambda: d(1.5), "resolve() must return a callable, not float")
    with pytest.raises(IndexError):
        d()
    assert d.combinations == ()
    assert Asking(lambda a, k: pow)(2, 3) == 8
    with pytest.raises(ZeroDivisionError):
        Asking(lambda a, k: lambda x: 1 / x)(0)


def test_bad_definitions() -> None:
    with pytest.raises(TypeError):
        pickle.dumps(Asking(max))
    unready = Dispatch()
    refuses(AttributeError, lambda: unready(1), "resolve")


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt, RecursionError, TypeError])
def test_what_looking_for_the_method_raises_comes_out(error: type[BaseException]) -> None:
    class Raises(Dispatch):
        @property
        def resolve(self) -> Any:
            raise error("from the property")

    class Hooked(Dispatch):
        def __getattr__(self, name: str) -> Any:
            raise error(f"from the property {name}")

    for cls in (Raises, Hooked):
        refuses(error, lambda cls=cls: cls()(1), "from the property")


def test_definitions_and_calls_without_memory() -> None:
    """Each allocation fails in turn, which must raise MemoryError and nothing else."""
    pytest.importorskip("_testcapi")
    python(
        """
import _testcapi, sys
from cwrapjit._cwrapjit import Dispatch

class Method(Dispatch):
    def resolve(self, args, kwargs):
        return max

works = [
    lambda: Method(ranks=(0, 1)),
    lambda: Method()(1, 2),
]
for work in works:
    work()
    failed = fine = k = 0
    while fine < 20:
        k += 1
        sys._clear_type_cache() if hasattr(sys, "_clear_type_cache") else None
        try:
            _testcapi.set_nomemory(k, k + 1)
            work()
        except MemoryError:
            failed += 1
        else:
            fine += 1
        finally:
            _testcapi.remove_mem_hooks()
    assert failed, work
"""
    )


def test_it_is_let_go_with_what_it_holds() -> None:
    class Target:
        def __call__(self, *args: Any) -> int:
            return 1

    target = Target()
    d = Asking(lambda args, kwargs, kept=target: kept)
    target.d = d  # type: ignore[attr-defined]
    assert d(1) == 1
    gone = weakref.ref(target)
    del d, target
    gc.collect()
    assert gone() is None


def test_a_target_that_is_dropped_while_it_runs() -> None:
    d: Dispatch

    def resolve(args: Any, kwargs: Any) -> Any:
        return lambda x: (d.forget(), x)[1]

    d = Asking(resolve)
    assert [d(5), d(6)] == [5, 6]


def test_one_that_is_dropped_while_it_resolves() -> None:
    def resolve(args: Any, kwargs: Any) -> Any:
        partial.__setstate__((max, (), {}, {}))  # type: ignore[attr-defined]
        gc.collect()
        assert gone() is not None
        return min

    d = Asking(resolve)
    partial, gone = functools.partial(d), weakref.ref(d)
    del d
    assert (partial(1, 2), gone(), partial(1, 2)) == (1, None, 2)


@pytest.mark.quick
def test_names_that_are_not_interned() -> None:
    d = Counted()
    for _ in range(3):
        d(**{"".join(["a", "b"]): 1})
    assert len(d.combinations) == len(d.asked) == 1
    d(**{"".join(["a", "c"]): 1})
    assert len(d.combinations) == 2


def test_what_was_resolved_meanwhile_is_kept_once() -> None:
    def resolve(args: Any, kwargs: Any) -> Any:
        made.append(lambda x: made[0])
        if len(made) < 4:
            d(args[0])
        return made[-1] if len(made) == 4 else None

    made: list[Any] = []
    d = Asking(resolve)
    d(1)
    assert len(made) == 4 and len(d.combinations) == 1


@pytest.mark.quick
def test_resolving_inside_of_resolve() -> None:
    def resolve(args: Any, kwargs: Any) -> Any:
        if args[0] > 0:
            d(args[0] - 1) if args[0] % 2 else d(float(args[0] - 1))
        return type(args[0])

    d = Asking(resolve)
    assert d(10) == 10 and d(2.5) == 2.5
    assert set(d.combinations) == {int, float}


@pytest.mark.quick
def test_calls_that_never_end_in_c_are_refused() -> None:
    itself: Dispatch = Asking(lambda args, kwargs: itself)
    resolved = Asking(max)
    resolved.resolve = resolved
    one: Dispatch = Asking(lambda args, kwargs: other)
    other: Dispatch = Asking(lambda args, kwargs: one)
    for d in itself, resolved, one:
        for _ in range(2):
            with pytest.raises(RecursionError):
                d(1)
    assert Asking(lambda args, kwargs: max)(1, 2) == 2


def test_a_long_chain_of_them() -> None:
    d: Any = max
    for _ in range(100_000):
        d = Asking(d)
    with pytest.raises(RecursionError):
        d(1)
    del d  # frees them one by one, without recursion


def test_threads() -> None:
    d = Counted()
    wrong: list[Any] = []

    def work() -> None:
        for _ in range(200):
            for t in "?bhilqBHILQefdgFDG":
                x = np.zeros(1, t)
                if d(x)[1][0] is not x:
                    wrong.append(t)
            d.forget()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_calls_of_subclasses_take_the_short_way() -> None:
    assert Counted.__flags__ & (1 << 11), "Py_TPFLAGS_HAVE_VECTORCALL"

    class Slower(Counted):
        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return "other"

    assert Slower()(1) == "other"
