"""Tests how jit() binds arguments, when it traces, what it refuses, threads, and what functions tell."""

from __future__ import annotations

import copy
import functools
import inspect
import pickle
import textwrap
import threading
from typing import Any, NamedTuple

import numpy as np
import pytest
from helpers import python

import cwrapjit


class Counted:
    """Counts how often the function runs."""

    def __init__(self, function: Any) -> None:
        self.function, self.runs = function, 0
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.runs += 1
        return self.function(*args, **kwargs)


def counted(function: Any, **options: Any) -> tuple[Counted, Any]:
    counter = Counted(function)
    return counter, cwrapjit.jit(**options)(counter)


# ---- arguments -----------------------------------------------------------------------------------------


class Point(NamedTuple):
    x: Any
    y: Any


@pytest.mark.row("J05")
def test_trees() -> None:
    @cwrapjit.jit
    def f(tree: Any) -> Any:
        return {
            "sum": tree["a"] + tree["b"][0],
            "rest": [tree["b"][1].x * 2, (tree["b"][1].y,)],
            "p": Point(1, tree["a"]),
        }

    x = np.arange(3.0)
    tree = {"a": x, "b": [2, Point(x, "text")]}
    made, expected = f(tree), f.__wrapped__(tree)
    assert (made["sum"] == expected["sum"]).all() and (made["rest"][0] == x * 2).all()
    assert made["rest"][1] == ("text",) and type(made["p"]) is Point and made["p"].x == 1 and made["p"].y is x
    assert type(made) is dict and type(made["rest"]) is list
    assert f({"a": 1, "b": [2, Point(3, 4)]})["sum"] == 3


@pytest.mark.row("J05")
def test_arguments_bind_as_in_python() -> None:
    def f(x: Any, /, y: Any = 2.0, *more: Any, scale: Any = 1, **options: Any) -> Any:
        return (x + y) * scale + sum(more) + options.get("z", 0)

    x = np.arange(4.0)
    jitted = cwrapjit.jit(f)
    for args, kwargs in [
        ((x,), {}),
        ((x, 3), {}),
        ((x, x, 1, x), {}),
        ((x,), {"y": x, "scale": 3}),
        ((x,), {"z": x}),
        ((x, 1), {"scale": x, "z": 2}),
    ]:
        np.testing.assert_array_equal(jitted(*args, **kwargs), f(*args, **kwargs))
    assert inspect.signature(jitted) == inspect.signature(f)
    for args, kwargs in [((), {}), ((x,), {"x": 1})]:
        if not args:
            with pytest.raises(TypeError, match="missing a required"):
                jitted(*args, **kwargs)
    plain = cwrapjit.jit(lambda x, y: x - y)
    np.testing.assert_array_equal(plain(y=x, x=1), 1 - x)
    with pytest.raises(TypeError, match="too many positional"):
        plain(1, 2, 3)


@pytest.mark.row("J05")
def test_objects_that_numpy_takes_as_arrays() -> None:
    class Like:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return np.arange(3.0)

    import array

    f = cwrapjit.jit(lambda x: x * 2)
    for given in (Like(), array.array("d", [0, 1, 2]), memoryview(np.arange(3.0))):
        assert f(given).tolist() == [0, 2, 4]
    assert cwrapjit.jit(lambda x: x[0] * x[1])([3, 4]) == 12  # a list is a tree
    with pytest.raises(TypeError, match="MaskedArray is not supported"):
        f(np.ma.array([1.0], mask=[True]))
    with pytest.raises(TypeError, match=r"jit: <lambda>\(\): an array of dtype"):
        f(np.array(["a"]))
    with pytest.raises(TypeError, match="dtype object"):
        f(np.array([None]))


@pytest.mark.row("J05")
def test_changes_of_trees_are_refused() -> None:
    def append(items: Any) -> Any:
        items[1].append(items[0])
        return items[0]

    def insert(items: Any) -> Any:
        items["b"] = items["a"] * 2
        return items["a"]

    for f, tree in ((append, [1, [2]]), (insert, {"a": 1, "b": 2})):
        with pytest.raises(TypeError, match=r"changes a (list|dict) that is an argument"):
            cwrapjit.jit(f)(tree)
    assert tree == {"a": 1, "b": 2}


@pytest.mark.row("J05")
def test_static_arguments() -> None:
    def f(x: Any, power: Any, mode: str = "sum", flag: bool = False) -> Any:
        if power > 2:
            x = x * 10
        return getattr(x**power, mode)() if not flag else x

    x = np.arange(4.0)
    for static in ("power", 1, -3, ["power"], (1,)):
        counter, g = counted(f, static=static)
        for power in (2, 3, 2, 3):
            assert g(x, power) == f(x, power)
        assert counter.runs == 2
        assert g(x, 2, "max") == 9 and g(x, 2, flag=True) is x and g(x, 2, mode="max") == 9
        assert counter.runs == 4
    with pytest.raises(TypeError, match="hashable"):
        g(x, power={1})
    with pytest.raises(TypeError, match=r"argument 'mode': a set"):
        cwrapjit.jit(f)(x, 2, {1})
    for static, shown in (("no", "'no'"), (4, "4"), ([1, "no"], "'no'")):
        with pytest.raises(ValueError, match=f"no parameter {shown}; there are x, power, mode, flag"):
            cwrapjit.jit(static=static)(f)
    counter, g = counted(lambda x, k: x * k, static="k")
    assert [type(g(1, k)) for k in (1, 1.0, True)] == [int, float, int] and counter.runs == 3


@pytest.mark.row("J05")
def test_methods() -> None:
    class Model:
        def __init__(self, scale: float) -> None:
            self.scale = scale

        @cwrapjit.jit
        def predict(self, x: Any) -> Any:
            """Scales."""
            return x * self.scale

    one, two = Model(2), Model(3)
    x = np.arange(3.0)
    for _ in range(2):
        assert one.predict(x).tolist() == [0, 2, 4] and two.predict(x).tolist() == [0, 3, 6]
    assert Model.predict(one, x).tolist() == [0, 2, 4]
    assert Model.predict.__doc__ == "Scales." and Model.predict.__name__ == "predict"


# ---- traces --------------------------------------------------------------------------------------------


@pytest.mark.row("J05")
def test_one_trace_for_all_lengths() -> None:
    counter, f = counted(lambda x, y: (x + y) / x.mean() - np.full_like(x, 2).sum(axis=-1, keepdims=True))
    for n in (2, 5, 100, 7):
        x, y = np.arange(1.0, n + 1), np.ones(n)
        np.testing.assert_allclose(f(x, y), counter.function(x, y))
    assert counter.runs == 1
    f(np.ones((2, 3)), np.ones((2, 3)))
    f(np.ones((5, 7)), np.ones((5, 7)))
    assert counter.runs == 2
    f(np.ones((5, 5)), np.ones((5, 5)))  # more axes are equal
    f(np.ones((5, 1)), np.ones((5, 1)))
    f(np.ones((5, 1)), np.ones((5, 3)))
    f(np.ones(3, "f4"), np.ones(3))
    f(np.ones(3), 1.0)
    f(np.ones(3), 1)
    assert counter.runs == 8
    for _ in range(3):
        f(np.ones(9), 8)
    assert counter.runs == 8
    with pytest.raises(ValueError, match=r"numpy.add: shapes \(2,\) and \(3,\) do not broadcast \(in .*line"):
        f(np.ones(2), np.ones(3))


@pytest.mark.row("J05")
@pytest.mark.parametrize(
    "text",
    [
        "x * x.shape[0]",
        "x * len(x)",
        "x.sum() / x.size",
        "x[1:] + 1",
        "x.reshape(2, -1) * 1",
        "np.concatenate([x, x]) + 0",
    ],
)
def test_lengths_that_matter(text: str) -> None:
    counter, f = counted(eval(f"lambda x: {text}", {"np": np}))
    for runs, n in enumerate((4, 6, 8), start=1):
        for _ in range(2):
            np.testing.assert_array_equal(f(np.arange(float(n))), counter.function(np.arange(float(n))))
        assert counter.runs == runs


@pytest.mark.row("J05")
def test_arrays_from_outside_are_constants() -> None:
    table = np.array([1.0, 2.0, 3.0])
    counter, f = counted(lambda x: (x[:, None] * table).sum(axis=1) + x)
    for n, runs in ((5, 1), (7, 1), (3, 2), (9, 2), (3, 2)):
        x = np.arange(float(n))
        np.testing.assert_array_equal(f(x), counter.function(x))
        assert counter.runs == runs
    _, g = counted(lambda x: x + table)
    assert g(table).tolist() == [2, 4, 6] and g(np.ones(1)).tolist() == [2, 3, 4]
    for n in (2, 4):
        with pytest.raises(ValueError, match="do not broadcast"):
            g(np.ones(n))
    first, second = (cwrapjit.jit(lambda x: (np.zeros(2), x))(1)[0] for _ in range(2))
    first[:] = 1
    assert second.tolist() == [0, 0]


@pytest.mark.row("J05")
def test_jit_calls_jit() -> None:
    counter, inner = counted(lambda x, k=2: np.exp(x) * k)
    outer = cwrapjit.jit(lambda x: inner(x).sum() + inner(x, k=3).max() + inner(1.0))
    x = np.arange(3.0)
    np.testing.assert_allclose(outer(x), (np.exp(x) * 2).sum() + (np.exp(x) * 3).max() + np.e * 2)
    assert len(outer.kernels) == 1 and counter.runs == 3


@pytest.mark.row("J05")
def test_first_calls_in_threads() -> None:
    counter, f = counted(lambda x: np.tanh(x).sum())
    gate, results = threading.Barrier(8), []

    def call() -> None:
        gate.wait()
        results.append(f(np.ones(50)))

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter.runs == 1 and len(set(results)) == 1


@pytest.mark.row("J05")
def test_fork() -> None:
    done = python(
        textwrap.dedent("""
        import os
        import numpy as np, cwrapjit
        f = cwrapjit.jit(lambda x: x.sum() + 1)
        f(np.ones(3))
        pid = os.fork()
        if pid == 0:
            ok = f(np.ones(3)) == 4 and f(np.ones(3, "f4")) == 4 and cwrapjit.jit(lambda x: x * 2)(3) == 6
            os._exit(0 if ok else 1)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    """)
    )
    assert done.stdout.strip() == "0"


# ---- what is refused -----------------------------------------------------------------------------------


def keep(x: Any) -> Any:
    KEPT.append(x)
    return x + 1


KEPT: list[Any] = []


def assign(x: Any) -> Any:
    x[0] = 1
    return x


def add_in_place(x: Any) -> Any:
    x += 1
    return x


def add_to_outside(x: Any) -> Any:
    total = np.zeros(3)
    total += x
    return total


REFUSED = [
    (lambda x: x if x > 0 else -x, r"bool\(\) of a traced value.*np\.where"),
    (lambda x: 1 if (x > 0).all() else 2, r"bool\(\) .*static="),
    (lambda x: 0 < x < 1, r"bool\(\)"),
    (lambda x: float(x[0]), r"float\(\)"),
    (lambda x: int(x[0]), r"int\(\)"),
    (lambda x: list(range(x[0])), "integer.*static="),
    (lambda x: [v * 2 for v in x], "iteration"),
    (lambda x: 1.0 in x, "`in`"),
    (lambda x: np.asarray(x), r"an array.*np\.asarray"),
    (lambda x: np.array([x, x]), r"np\.stack"),
    (lambda x: np.fft.fft(x), r"numpy\.fft is not supported"),
    (lambda x: np.interp(x, x, x), r"numpy\.interp"),
    (lambda x: np.histogram(x), r"numpy\.histogram"),
    (lambda x: np.einsum("i->", x), r"numpy\.einsum"),
    (lambda x: np.modf(x), r"numpy\.modf is not supported"),
    (lambda x: np.add(x, 1, out=np.zeros(3)), "out="),
    (lambda x: np.add(x, 1, where=x > 0), "with where="),
    (lambda x: np.add.at(x, 0, 1), r"numpy\.add\.at\(\)"),
    (lambda x: np.add.accumulate(x), r"\.accumulate\(\)"),
    (lambda x: np.sum(x, where=x > 0), r"numpy\.sum: .*where"),
    (lambda x: np.sum(x, initial=3), r"numpy\.sum: .*initial"),
    (lambda x: x.tolist(), "attribute 'tolist'"),
    (lambda x: x.fill(3), "attribute 'fill'"),
    (lambda x: x.item(), "attribute 'item'"),
    (lambda x: x == "a", "== of a traced value and of a str"),
    (lambda x: x == None, "NoneType"),  # noqa: E711
    (lambda x: x + "a", r"\+ of a traced value"),
    (lambda x: x[x > 0], r"not a traced value; np\.where.*static="),
    (lambda x: x[[0, 1]], "an index is an int.*not a list"),
    (lambda x: np.sort(x), r"numpy\.sort is not supported"),
    (lambda x: x.argsort(), "attribute 'argsort'"),
    (lambda x: x["a"], "an index is"),
    (lambda x: x[True], "an index is"),
    (lambda x: x[: x[0].astype(int)], "a slice needs known numbers"),
    (lambda x: x.reshape(-1, order="F"), "order='F'"),
    (lambda x: x & 1, r"numpy\.bitwise_and: "),
    (lambda x: np.where(x > 0), r"numpy\.where: missing"),
    (lambda x: x.astype("U3"), "numbers alone"),
    (lambda x: np.frompyfunc(lambda a: a, 1, 1)(x), "makes no numbers"),
    (assign, r"x\[\.\.\.\] = v"),
    (add_in_place, r"x \+= v .*write x = x \+ v"),
    (add_to_outside, "out=, or an operator such as"),
]


@pytest.mark.row("J03", "J04", "J05")
@pytest.mark.parametrize(("f", "message"), REFUSED)
def test_refused(f: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message) as caught:
        cwrapjit.jit(f)(np.arange(3.0))
    text = str(caught.value)
    assert text.startswith("jit: ") and f"{__file__}, line " in text


@pytest.mark.row("J05")
def test_refused_by_shape() -> None:
    x = np.ones((2, 3))
    for f, error in [
        (lambda x: x @ x, ValueError),
        (lambda x: x.reshape(4), ValueError),
        (lambda x: x[5], IndexError),
        (lambda x: x[0, 0, 0], IndexError),
        (lambda x: x.sum(axis=2), np.exceptions.AxisError),
        (lambda x: np.squeeze(x, 0), ValueError),
        (lambda x: x.sum(axis=(0, 0)), ValueError),
        (lambda x: np.concatenate([x, x[:, :2]]), ValueError),
        (lambda x: x @ 2, ValueError),
        (lambda x: x.transpose(0, 0), ValueError),
    ]:
        with pytest.raises(error):
            f(x)
        with pytest.raises(error, match=None if error is np.exceptions.AxisError else "jit: "):
            cwrapjit.jit(f)(x)
    f = cwrapjit.jit(lambda x: x[2])
    assert f(np.arange(5)) == 2
    with pytest.raises(IndexError):
        f(np.arange(2))  # no new trace: NumPy says it


@pytest.mark.row("J05")
@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.0.0", reason="this NumPy lets them wrap")
def test_python_integers_out_of_range() -> None:
    x = np.arange(3, dtype="u1")
    for f in (lambda x: x + 300, lambda x: x - -1):
        with pytest.raises(OverflowError):
            f(x)
        with pytest.raises(OverflowError):
            cwrapjit.jit(f)(x)
    g = cwrapjit.jit(lambda x, n: x + n)
    assert g(x, 3).tolist() == [3, 4, 5]
    for n in (300, -1, 2**70):
        with pytest.raises(OverflowError):
            g(x, n)
    power = cwrapjit.jit(lambda n, m: n**m)
    assert power(2, 3) == 8
    with pytest.raises(TypeError, match="type float, not int"):
        power(2, -1)
    with pytest.raises(ZeroDivisionError):
        cwrapjit.jit(lambda n: 1 // n)(0)


@pytest.mark.row("J05")
def test_values_that_escape() -> None:
    KEPT.clear()
    cwrapjit.jit(keep)(np.arange(3.0))
    (stale,) = KEPT
    assert repr(stale) == "<traced float64(n) of keep()>"
    for use in (
        lambda: stale + 1,
        lambda: np.exp(stale),
        lambda: stale.sum(),
        lambda: stale[0],
        lambda: stale == 1,
        lambda: cwrapjit.jit(lambda y: y + stale)(np.ones(3)),
        lambda: np.where(stale, 1, 2),
        lambda: cwrapjit.jit(lambda y: stale)(np.ones(3)),
        lambda: cwrapjit.jit(keep)(stale),
    ):
        with pytest.raises(TypeError, match=r"keep.*outside of the call that traced it"):
            use()
    assert hash(stale) == hash(stale) and stale in [stale]


@pytest.mark.row("J05")
def test_a_failed_trace_leaves_nothing() -> None:
    fails = [True]

    @cwrapjit.jit
    def f(x: Any) -> Any:
        if fails:
            raise KeyError("no")
        return x + 1

    with pytest.raises(KeyError):
        f(1)
    fails.clear()
    assert f(1) == 2


# ---- what a jitted function tells ----------------------------------------------------------------------


@cwrapjit.jit
def module_level(x: Any, scale: float = 2.0) -> Any:
    """Scales."""
    return np.exp(x) * scale


@pytest.mark.row("J05")
def test_attributes() -> None:
    f = module_level
    assert (f.__name__, f.__doc__, f.__module__, f.__wrapped__(0.0)) == (
        "module_level",
        "Scales.",
        __name__,
        2,
    )
    part = cwrapjit.jit(functools.partial(lambda x, y: x + y, 3))
    assert part(4) == 7 and part.__name__ == "partial"
    assert "0 traces" in repr(cwrapjit.jit(lambda x: x))
    f(np.ones(3))
    assert repr(f).startswith("<cwrapjit.jit module_level(x: 'Any', scale: 'float' = 2.0) -> 'Any': ")
    assert (
        "exp(" in f.source
        and f.tier in ("tcc", "cc")
        and all(isinstance(k, cwrapjit.Function) for k in f.kernels)
    )
    assert (
        "module_level_" in f.explain() and "reads a0 float64(3)" in f.explain() and "writes t" in f.explain()
    )
    assert pickle.loads(pickle.dumps(f)) is f and copy.deepcopy(f) is f


@pytest.mark.row("J05")
@pytest.mark.compiler("waits for the cc tier")
def test_tiers() -> None:
    f = cwrapjit.jit(lambda x: np.exp(x).sum(axis=-1), optimize="eager")
    x = np.random.default_rng(1).normal(size=(20, 300))
    before = cwrapjit.jit(lambda x: np.exp(x).sum(axis=-1), optimize="off")
    assert before(x).tobytes() == f(x).tobytes()
    assert f.wait() and f.tier == "cc" and before.tier == "tcc"
    assert before(x).tobytes() == f(x).tobytes()


@pytest.mark.row("J05")
def test_options() -> None:
    x = np.random.default_rng(1).normal(size=(400, 500))
    expected = np.exp(x).sum(axis=1)
    for options in ({"threads": 2}, {"fastmath": True}, {"debug": True}, {"optimize": "off"}):
        np.testing.assert_allclose(
            cwrapjit.jit(**options)(lambda x: np.exp(x).sum(axis=1))(x), expected, rtol=1e-12
        )
    with pytest.raises(TypeError, match="thread"):
        cwrapjit.jit(thread=2)
    with pytest.raises(TypeError, match="a function is wanted"):
        cwrapjit.jit(3)
    with pytest.raises(ValueError, match="optimize"):
        cwrapjit.jit(lambda x: x + 1, optimize="never")(1.0 + np.ones(2))
