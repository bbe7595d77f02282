"""Tests which kernels jit() makes: what is fused, what is kept, and that planning is linear."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import cwrapjit
from cwrapjit.tracing import plan

X = np.random.default_rng(3).normal(size=(6, 300))
V = X[0]


def kernels(f: Any, *args: Any) -> list[str]:
    """Returns the signatures of the kernels, and compares the results with those of the function."""
    jitted = cwrapjit.jit(f)
    made, expected = jitted(*args), f(*args)
    for one, other in zip(made, expected, strict=True) if isinstance(made, tuple) else [(made, expected)]:
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11)
    return [kernel.signature for kernel in jitted.kernels]


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def loss(x: Any, y: Any) -> Any:
    p = 1 / (1 + np.exp(-x))
    return -np.mean(y * np.log(p) + (1 - y) * np.log(1 - p)), (p - y).sum(), p, (p * (1 - p)).max()


def normalized(x: Any) -> Any:
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)


def logsumexp(x: Any) -> Any:
    m = x.max(axis=-1)
    return np.log(np.exp(x - m[:, None]).sum(axis=-1)) + m


@pytest.mark.row("J02")
def test_one_kernel() -> None:
    (made,) = kernels(lambda x, y: ((z := np.exp(x) * y), z + 1, z * z), X, V)
    assert made.count("()") == 5  # two inputs, three results
    (made,) = kernels(softmax, X)
    assert made.count("(n)") == 2
    (made,) = kernels(softmax, V)
    (made,) = kernels(loss, V, np.abs(V))
    assert made.count("(n)") == 3
    (made,) = kernels(normalized, X)
    assert made.count("(n)") == 2
    (made,) = kernels(logsumexp, X)
    assert made.partition("->")[2].count("y") == 1  # the rows alone
    (made,) = kernels(lambda x: (x.sum(axis=1), x.max(axis=1), (x * x).sum(axis=-1) / x.sum(axis=1)), X)
    (made,) = kernels(lambda x, w: (x * w[:, None]).sum(axis=1) + w, X, X[:, 0])
    (made,) = kernels(lambda x: np.where(x > x.mean(), x, 0).sum() / x.std(), V)[:1]


@pytest.mark.row("J02")
def test_costly_values_are_not_computed_twice() -> None:
    for f, times in ((softmax, 2), (logsumexp, 2), (lambda x: (np.exp(x), np.exp(x).sum(axis=1)), 2)):
        jitted = cwrapjit.jit(f)
        jitted(X)
        (kernel,) = jitted.kernels
        body = kernel.source.partition("return true")[0].rpartition("const npy_intp n")[2]
        assert body.count("exp(") == times  # in the loop over lanes, and in its rest
    # A value that no result can hold between passes lies in a block of memory.
    for n in (10, 1000):
        x = np.random.default_rng(3).normal(size=(3, n))
        kernels(
            lambda x: (np.exp(x - x.max(axis=1, keepdims=True)) > np.tanh(x).mean(axis=1, keepdims=True)).sum(
                axis=1
            ),
            x,
        )


@pytest.mark.row("J02")
def test_numpy_between_kernels() -> None:
    made = kernels(lambda x, w: np.tanh(np.tanh(x @ w) @ w.T + 1).sum(axis=0) * 2, X, X.T @ X)
    assert len(made) == 3
    assert kernels(lambda x: x.T[::2], X) == [] and kernels(lambda x: x.sum(axis=0), X) == []
    # Of a matrix: sums of rows, then NumPy's; the quotient; the exponentials.
    assert len(kernels(lambda x: np.exp(x - x.mean()).sum(), X)) == 3


@pytest.mark.row("J02")
def test_columns_are_no_rows() -> None:
    """A vector with a number per row of a square matrix stands beside its columns, too."""
    x = X[:, :6]
    kernels(lambda x: x + x.sum(axis=1), x)
    kernels(lambda x: x + x.sum(axis=1) + x.sum(axis=1)[:, None], x)
    kernels(lambda x: (x.sum(axis=1) + x).sum(axis=1) * x.max(axis=1) + x[0], x)
    kernels(lambda x: (x.sum(axis=1)[:, None] * x.sum(axis=1)).max(axis=1) + x.sum(axis=1), x)


@pytest.mark.row("J02")
def test_many_passes() -> None:
    def f(x: Any) -> Any:
        for _ in range(30):
            x = x - x.mean(axis=-1, keepdims=True) * 0.5
            x = np.tanh(x)
        return x

    assert 1 < len(kernels(f, X)) < 10


# ---- many nodes ----------------------------------------------------------------------------------------


def chain(x: Any, n: int) -> Any:
    a = b = x
    for _ in range(n // 2):
        a, b = b * 0.5 + 1, a
    return a


def fan(x: Any, n: int) -> Any:
    return sum([x + k for k in range(n // 2)])


def outputs(x: Any, n: int) -> Any:
    return tuple([x * float(k) for k in range(n)])


def reductions(x: Any, n: int) -> Any:
    return tuple([(x * float(k)).sum() for k in range(n // 2)])


def passes(x: Any, n: int) -> Any:
    for _ in range(n // 5):
        x = np.tanh(x - x.mean() * 0.5)
    return x


def kept(x: Any, n: int) -> Any:
    values = [np.exp(x * (k / n)) for k in range(n // 4)]
    total = sum(values).sum()
    return tuple([value / total for value in values])


def calls(x: Any, n: int) -> Any:
    for _ in range(n // 3):
        x = x[::-1] * 0.5 + 1
    return x


def of_size(f: Any, n: int) -> Any:
    return lambda x: f(x, n)


GRAPHS = [chain, fan, outputs, reductions, passes, kept, calls]


def steps(f: Any, n: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """Returns how many bytecodes of cwrapjit/tracing/ run from the trace to the texts of the kernels."""
    count = 0

    def note(frame: Any, event: str, _: Any) -> Any:
        nonlocal count
        if event == "call":
            ours = "tracing" in frame.f_code.co_filename and "cwrapjit" in frame.f_code.co_filename
            frame.f_trace_opcodes, frame.f_trace_lines = ours and frame.f_code.co_filename != __file__, False
            return note if frame.f_trace_opcodes else None
        count += event == "opcode"
        return note

    class Written(Exception):
        pass

    def make(name: str, *args: Any, **options: Any) -> Any:
        def kernel(*args: Any) -> None:
            raise Written

        kernel.__name__ = name
        return kernel

    jitted = cwrapjit.jit(of_size(f, n))
    before = sys.gettrace()
    with monkeypatch.context() as patch, pytest.raises(Written):
        patch.setattr(cwrapjit, "function", make)
        sys.settrace(note)
        try:
            jitted(V)
        finally:
            sys.settrace(before)
    return count


@pytest.mark.row("J11")
@pytest.mark.parametrize("f", GRAPHS)
def test_planning_is_linear(f: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps are counted, not seconds."""
    steps(f, 10, monkeypatch)  # CPython 3.12 counts none the first time
    few, more, most = (steps(f, n, monkeypatch) for n in (100, 200, 400))
    assert few > 100 * 50 and most - more < 2.2 * (more - few)


@pytest.mark.row("J11")
@pytest.mark.parametrize("f", [chain, fan])
def test_ten_thousand_nodes(f: Any) -> None:
    """Nothing recurses."""
    assert len(kernels(of_size(f, 10_000), V)) == 1


@pytest.mark.row("J11")
def test_a_kernel_has_a_limited_number_of_operands(monkeypatch: pytest.MonkeyPatch) -> None:
    """function() refuses more than 1024."""
    assert len(kernels(lambda x: tuple([x * float(k) for k in range(1500)]), V[:5])) == 3
    assert len(kernels(lambda values: sum(values) * 1.0, [V[:5] + k for k in range(1200)])) == 3
    for most in (5, 20):
        monkeypatch.setattr(plan, "MAX_OPERANDS", most)
        for f in GRAPHS:
            for n in (8, 40):
                made = kernels(of_size(f, n), V[:7])
                assert max(each.partition("->")[0].count("x") for each in made) <= most
        rows = X[:, :7] / 4
        made = kernels(
            lambda x: tuple(
                [x / (x + k).sum(axis=1, keepdims=True) + (x * k).max(axis=1)[:, None] for k in range(25)]
            ),
            rows,
        )
        assert len(made) > 1 and max(each.partition("->")[2].count("y") for each in made) <= most


@pytest.mark.row("J02")
def test_several_values_are_kept() -> None:
    """Two values wait at once: beside each other in memory, or in results that are written later."""

    def f(x: Any) -> Any:
        one, two = np.exp(x - x.max(axis=1, keepdims=True)), np.tanh(x)
        total = one.sum(axis=1, keepdims=True) + two.sum(axis=1, keepdims=True)
        return ((one / total) > (two / total)).sum(axis=1), (one - two / total).max(axis=1)

    def g(x: Any) -> Any:
        one, two = np.exp(x), np.tanh(x)
        total = one.sum(axis=1, keepdims=True) + two.sum(axis=1, keepdims=True)
        early = x * total
        return early, one * total + two / early.max(axis=1, keepdims=True)

    for n in (10, 1000):
        for function in (f, g):
            assert len(kernels(function, np.random.default_rng(3).normal(size=(3, n)))) == 1


@pytest.mark.row("J02")
def test_cheap_values_are_computed_where_they_are_used() -> None:
    """x - 1 is not stored by the first kernel, and the ones are no array."""
    made = kernels(lambda x: (x - 1) * np.exp(x).sum(), X)
    assert [signature.partition("->")[2].count("y") for signature in made] == [1, 1]
    (made_of_ones,) = kernels(lambda x: x + np.ones_like(x), X)
    assert made_of_ones.partition("->")[0].count("x") == 1
