"""Tests scan(), cumulative sums and slices in jitted functions. NumPy, step by step, is the oracle."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import cwrapjit
from cwrapjit import jit, scan

RNG = np.random.default_rng(5)
X = RNG.normal(size=300)
M = RNG.normal(size=(40, 3))


def by_steps(f: Any, init: Any, xs: Any) -> tuple[Any, Any]:
    """Runs the loop in Python. xs: an array, or a tuple of arrays."""
    rows = zip(*xs, strict=True) if isinstance(xs, tuple) else xs
    ys, carry = [], init
    for x in rows:
        carry, y = f(carry, x)
        ys.append(y)
    return carry, tuple(map(np.array, zip(*ys, strict=True))) if isinstance(ys[0], tuple) else np.array(ys)


def same(made: Any, expected: Any) -> None:
    if isinstance(expected, tuple):
        assert type(made) is type(expected) and len(made) == len(expected)
        for one, other in zip(made, expected, strict=True):
            same(one, other)
    else:
        assert np.asarray(made).dtype == np.asarray(expected).dtype
        np.testing.assert_array_equal(made, expected, strict=False)
        assert np.shape(made) == np.shape(expected)


def smooth(carry: Any, x: Any) -> Any:
    return 0.9 * carry + 0.1 * x, carry * x


@pytest.mark.row("J12")
def test_numbers_are_carried_in_one_loop() -> None:
    for init in (0.0, 1, np.float64(3)):
        same(scan(smooth, init, X), by_steps(smooth, float(init), X))
    f = jit(lambda xs, init: scan(smooth, init, xs))
    for x in (X, X[::-2], X[:1]):
        same(f(x, 0.5), by_steps(smooth, 0.5, x))
    assert {k.signature for k in f.kernels} == {"x0(), x1(n) -> c0(), y1(n)"}
    assert "one loop over all steps" in f.explain() and f.explain().count("writes t") == 6  # two traces


@pytest.mark.row("J12")
def test_trees_are_carried() -> None:
    class State(NamedTuple):
        low: Any
        count: Any

    def f(carry: Any, x: Any) -> Any:
        a, b = x
        state = State(np.minimum(carry["s"].low, a), carry["s"].count + 1)
        return {"s": state, "t": [carry["t"][0] + b]}, (state.low, None, a > b)

    carry, ys = scan(f, {"s": State(np.inf, 0), "t": [np.int32(0)]}, (X, np.arange(300, dtype=np.int32)))
    assert type(carry["s"]) is State and carry["s"].low == X.min() and carry["s"].count == 300
    assert carry["t"][0] == np.arange(300).sum() and carry["t"][0].dtype == np.int32
    same(ys[0], np.minimum.accumulate(X))
    assert ys[1] is None
    same(ys[2], np.arange(300) < X)
    # What is carried is exchanged at once, and may be a y, too.
    swap = scan(lambda c, x: ((c[1], c[0] + c[1]), c[0]), (0, 1), np.zeros(20))
    same(swap, by_steps(lambda c, x: ((c[1], c[0] + c[1]), c[0]), (np.int64(0), np.int64(1)), np.zeros(20)))
    same(scan(lambda c, x: ((c[1], c[0]), c[0]), (1, 2), X[:3])[0], (np.int64(2), np.int64(1)))
    same(scan(lambda c, x: (c, (c, x, 1.5)), 2.0, X[:3])[1], (np.full(3, 2.0), X[:3], np.full(3, 1.5)))


@pytest.mark.row("J12")
def test_types() -> None:
    for dtype in (np.float32, np.int8, np.uint16, np.int64, bool):
        x = RNG.integers(0, 2, 50).astype(dtype)
        f = np.logical_xor if dtype is bool else np.add
        same(scan(lambda c, x, f=f: (f(c, x), c), x[0], x), by_steps(lambda c, x, f=f: (f(c, x), c), x[0], x))
    x = X.astype(np.float32)
    assert scan(smooth, 0.0, x)[0].dtype == np.float32  # a Python number takes the function's type
    assert scan(smooth, 0, x)[1].dtype == np.float32
    assert scan(lambda c, x: (c + x, None), 0, np.array([True]))[0].dtype == np.int64
    for init, xs, what in (
        (np.float32(0), X, "float32 and float64"),
        (np.int64(0), x, "int64 and float64"),
        (np.zeros(2), M[:, 0], None),
        (0.0, M, r"float64 and float64\(3,\)"),
    ):
        if what is not None:
            with pytest.raises(TypeError, match=rf"smooth\(\): scan: carried value 0 .*{what}.*test_scan"):
                scan(smooth, init, xs)
    z = X[:5] * 1j
    same(scan(smooth, 0j, z), by_steps(smooth, np.complex128(0), z))  # NumPy computes, step by step


@pytest.mark.row("J12")
def test_arrays_of_one_shape_are_carried_in_c() -> None:
    for xs, init in ((M, np.zeros(3)), (M[:, 0], np.ones(3)), (M.T[:, :, None], np.ones((40, 1)))):
        f = jit(lambda init, xs: scan(smooth, init, xs))
        if xs.ndim == 1:
            f = jit(lambda init, xs: scan(lambda c, x: (0.9 * c + x, c), init, xs))
            same(f(init, xs), by_steps(lambda c, x: (0.9 * c + x, c), init, xs))
        else:
            same(f(init, xs), by_steps(smooth, init, xs))
        assert len(f.kernels) == 1 and "in Python" not in f.explain()


@pytest.mark.row("J12")
def test_other_steps_run_in_python() -> None:
    w = RNG.normal(size=(3, 3)) / 3

    def cell(c: Any, x: Any) -> Any:
        return np.tanh(w @ c + x), (c.sum(), c[:2])

    made, expected = scan(cell, np.zeros(3), M), by_steps(cell, np.zeros(3), M)
    np.testing.assert_allclose(made[0], expected[0], rtol=1e-12)
    for one, other in zip(made[1], expected[1], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    f = jit(lambda w, xs: scan(lambda c, x: (w @ c + x + np.mean(xs), c.mean()), np.zeros(3), xs))
    for xs in (M, M[:7], M[:3]):
        a = f(w, xs)
        c, ys = by_steps(lambda c, x, xs=xs: (w @ c + x + np.mean(xs), c.mean()), np.zeros(3), xs)
        np.testing.assert_allclose(a[0], c, rtol=1e-12)
        np.testing.assert_allclose(a[1], ys, rtol=1e-12, atol=1e-12)
    assert "loop in Python, of steps" in f.explain() and "writes t" in f.explain()
    # A step that asks for a length of an argument, which it does not get.
    g = jit(lambda t, xs: scan(lambda c, x: (c + np.full_like(t, x).sum(), c), 0.0, xs))
    for n in (4, 5):
        np.testing.assert_allclose(g(M[:n], X)[0], X.sum() * n * 3, rtol=1e-11)


@pytest.mark.row("J12")
def test_values_from_outside_and_nested_loops() -> None:
    table = np.arange(3.0)

    @jit
    def f(x: Any, decay: Any) -> Any:
        low = x.min()
        return scan(lambda c, v: (np.where(v > low, c * decay + v, c), c + table.sum()), 0.0, x * 2)

    a = by_steps(lambda c, v: (np.where(v > X.min(), c * 0.5 + v, c), c + 3.0), 0.0, X * 2)
    same(f(X, 0.5)[1], a[1])
    assert f(X, 0.5)[0] == a[0]
    # init and xs may be known, while the function uses traced values.
    g = jit(lambda k: scan(lambda c, x: (c * k + x, c), 1.0, np.arange(4.0)))
    same(g(3.0), by_steps(lambda c, x: (c * 3.0 + x, c), np.float64(1.0), np.arange(4.0)))

    def outer(c: Any, row: Any) -> Any:
        total, ys = scan(smooth, c, row)
        return total, ys.max()

    expected = by_steps(lambda c, row: ((p := by_steps(smooth, c, row))[0], p[1].max()), 0.0, M)
    same(scan(outer, 0.0, M), expected)
    same(scan(jit(smooth), 0.0, X), by_steps(smooth, 0.0, X))


@pytest.mark.row("J12")
def test_no_steps() -> None:
    carry, ys = scan(smooth, 2.5, X[:0])
    assert carry == 2.5 and ys.shape == (0,) and ys.dtype == np.float64
    carry, ys = scan(smooth, np.ones(3), M[:0])
    assert carry.tolist() == [1, 1, 1] and ys.shape == (0, 3)
    carry, ys = scan(lambda c, x: (M[:3] @ c + x, c.sum()), np.ones(3), M[:0])
    assert carry.tolist() == [1, 1, 1] and ys.shape == (0,)


@pytest.mark.row("J12")
def test_what_scan_refuses() -> None:
    kept: list[Any] = []

    def keeps(c: Any, x: Any) -> Any:
        kept.append(c + x)
        return c + x, x

    for use, error, what in (
        (lambda: scan(lambda c, x: c, 0.0, X), TypeError, "returns a carried value and a y, not a Traced"),
        (lambda: scan(lambda c, x: ((c, c), c), 0.0, X), TypeError, "another structure than init"),
        (lambda: scan(smooth, 0.0, 1.0), ValueError, r"xs: arrays .* not \(\)"),
        (lambda: scan(smooth, 0.0, ()), ValueError, "not none"),
        (lambda: scan(smooth, 0.0, (X, X[1:])), ValueError, r"not \((300|299),\), \((300|299),\)"),
        (lambda: scan(smooth, "a", X), TypeError, "init: an operand of dtype"),
        (lambda: scan(lambda c, x: (c if x > 0 else x, c), 0.0, X), TypeError, r"bool\(\) of a traced"),
        (lambda: jit(lambda x: (scan(keeps, 0.0, x), kept[-1]))(X), TypeError, "kept"),
        (lambda: jit(lambda x: (scan(keeps, 0.0, x), kept[-1] + x.sum()))(X), TypeError, "kept"),
    ):
        with pytest.raises(error, match=rf"jit: .*{what}.*test_scan\.py, line"):
            use()


def along(function: Any, axis: Any) -> Any:
    return lambda x: function(x, axis=axis)


@pytest.mark.row("J12")
def test_cumulative_sums() -> None:
    for x in (M, X, M[0, 0], np.arange(6, dtype=np.int8), M > 0, M.astype(np.float32), M[:0], M * 1j):
        for axis in (None, *range(-np.ndim(x), np.ndim(x))):
            for function in (np.cumsum, np.cumprod):
                same(jit(along(function, axis))(x), function(x, axis=axis))
    same(jit(lambda x: x.cumsum(0, dtype=np.float32) * x)(M), M.cumsum(0, dtype=np.float32) * M)
    f = jit(lambda x: np.cumsum(np.exp(x), axis=-1)[..., -1:] - 1)
    for x in (M, M[:9]):
        np.testing.assert_allclose(f(x), np.cumsum(np.exp(x), axis=-1)[..., -1:] - 1, rtol=1e-13)
    for use in (lambda x: np.cumsum(x, 2), lambda x: x.cumsum(axis=-3)):
        with pytest.raises(np.exceptions.AxisError):
            jit(use)(M)
    with pytest.raises(TypeError, match=r"numpy\.cumsum.*out"):
        jit(lambda x: np.cumsum(x, out=M))(M)


@pytest.mark.row("J12")
def test_slices() -> None:
    """A step of heat flow on a grid, differences, and windows."""

    def step(x: Any) -> Any:
        inner = x[1:-1, 1:-1]
        return inner + 0.1 * (x[1:-1, :-2] + x[1:-1, 2:] + x[:-2, 1:-1] + x[2:, 1:-1] - 4 * inner)

    for f, grids in (
        (step, (M, M[:5], RNG.normal(size=(6, 6)), RNG.normal(size=(3, 9)))),
        (lambda x: (x[1:] - x[:-1]) / 2, (M, M[:5], X, X[:2], X[:1])),
        (lambda x: x[::-1][1::2] * x[: len(x) // 2], (X, X[:10])),
        (lambda x: x[..., -1] + x[..., 0], (M, X)),
    ):
        made = jit(f)
        for x in (*grids, *grids):
            np.testing.assert_allclose(made(x), f(x), rtol=1e-13, atol=1e-15)
    assert len({k.signature for k in made.kernels}) <= 2
    stencil = jit(step)
    stencil(M)
    assert len(stencil.kernels) == 1 and stencil.explain().count("[") == 5


@pytest.mark.row("J12")
def test_the_loop_of_a_function_is_traced_once() -> None:
    runs = []

    def f(c: Any, x: Any) -> Any:
        runs.append(1)
        return c + x, c

    for _ in range(3):
        scan(f, np.float64(0), X)
    assert len(runs) == 1
    assert cwrapjit.scan is scan
