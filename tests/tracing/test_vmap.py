"""Tests vmap() beside np.stack() of single calls: each kind of operation, gradients of samples, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers import refuses

import cwrapjit
from cwrapjit.tracing import ops

RNG = np.random.default_rng(5)
X = RNG.uniform(0.1, 0.9, (4, 2, 3))
Y = RNG.uniform(0.1, 0.9, (4, 3))
M = RNG.uniform(0.1, 0.9, (2, 3))


def check(f: Callable[..., Any], axes: Any, *args: Any) -> None:
    """Compares with a loop, and with one in which each array is the last that is mapped."""
    each = axes if isinstance(axes, tuple) else (axes,) * len(args)
    length = next(a.shape[k] for a, k in zip(args, each, strict=True) if k is not None)
    with np.errstate(all="ignore"):
        expected = np.stack(
            [
                f(*[a if k is None else np.take(a, i, k) for a, k in zip(args, each, strict=True)])
                for i in range(length)
            ]
        )
    got = cwrapjit.vmap(f, axes, optimize="off")(*args)
    assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)


CASES: dict[str, Any] = {
    "broadcasting": lambda x, y: x * y[0] + y,
    "numbers": lambda x, y: 2.0 * y[1] - x.sum(),
    "rows": lambda x, y: x / x.sum(axis=-1, keepdims=True) - y.max(),
    "softmax": lambda x, y: np.exp(y - y.max()) / np.exp(y - y.max()).sum() + x[0],
    "axes": lambda x, y: x.sum(axis=0) + x.mean(axis=0) * np.std(x, axis=0) - x.prod() * y,
    "keepdims": lambda x, y: x.max(axis=0, keepdims=True) - x.var(axis=(0, 1), keepdims=True) + y,
    "any and all": lambda x, y: (x > 0.5).any(axis=0) & (y < 0.8) | (x > 0.1).all(),
    "argmax": lambda x, y: np.stack([x.argmax(axis=1) + y.argmin(), x.argmin(axis=-1) * 2]),
    "argmax of all": lambda x, y: x.argmax() + y.argmax(),
    "matmul": lambda x, y: x @ y + (y @ x.T) * 2,
    "products": lambda x, y: (x @ x.T)[0, 1] + y @ y + (x[0] @ x.T).sum(),
    "batches": lambda x, y: np.stack([x, x]) @ x.T + y.sum(),
    "constants": lambda x, y: (x @ np.ones(3)).sum() + (np.eye(2) @ x) - y,
    "reshape": lambda x, y: x.reshape(3, 2).T + y.reshape((1, 3)) + np.ravel(x)[:3],
    "transpose": lambda x, y: x.T * y[:, None] + np.transpose(x[None], (2, 0, 1))[:, 0],
    "slices": lambda x, y: x[:, 1:] + x[::-1, :-1] - y[1:] + x[0, -1],
    "joined": lambda x, y: np.concatenate((x, y[None], np.ones((1, 3)))),
    "stacked": lambda x, y: np.stack([y, x[0], np.zeros(3)], axis=1),
    "full": lambda x, y: np.full_like(x, y[0]) + np.zeros_like(y),
    "casts": lambda x, y: x.astype("f4") + (y * 5).astype("i4") + (x > 0.5),
    "float16": lambda x, y: x.astype("f2") * y.astype("f2"),
    "complex": lambda x, y: np.exp(1j * x) * y,
    "where": lambda x, y: np.where(x > y, x, 0.0) + np.clip(y, 0.3, 0.6),
    "the same for all": lambda x, y: np.ones((2, 2)) * 1.0 if x is None else M,
    "a number": lambda x, y: 3.0,
}


@pytest.mark.row("J08")
@pytest.mark.parametrize("name", CASES)
def test_calls_and_kernels(name: str) -> None:
    check(CASES[name], 0, X, Y)
    if name == "a number" or name == "the same for all":
        return
    check(CASES[name], (None, 0), M, Y)
    check(CASES[name], (0, None), X, Y[0])
    check(CASES[name], (-1, 1), X.transpose(1, 2, 0), Y.T)


@pytest.mark.row("J08")
@pytest.mark.parametrize("name", [name for name in ops.OPS if isinstance(getattr(np, name, None), np.ufunc)])
def test_every_operation(name: str) -> None:
    f: Any = getattr(np, name)
    kind = "i8" if all("f" not in kinds for kinds in ops.OPS[name].texts) else "f8"
    args = [(10 * v).astype(kind) if kind == "i8" else v for v in (X, Y)]
    if f.nin == 1:
        check(lambda y: f(y), 0, args[1])
    else:
        check(lambda x, y: f(x, y), 0, *args)


@pytest.mark.row("J08")
def test_gradients_of_samples() -> None:
    def loss(w: Any, x: Any, y: Any) -> Any:
        return (np.tanh(x @ w[1:] + w[0]) - y) ** 2

    w, x, y = RNG.random(4), RNG.random((5, 3)), RNG.random(5)
    got = cwrapjit.jit(cwrapjit.vmap(cwrapjit.grad(loss), (None, 0, 0)))(w, x, y)
    single = cwrapjit.grad(loss)
    np.testing.assert_allclose(got, [single(w, *each) for each in zip(x, y, strict=True)], rtol=1e-12)
    total = cwrapjit.grad(lambda w: cwrapjit.vmap(loss, (None, 0, 0))(w, x, y).sum())(w)
    np.testing.assert_allclose(total, got.sum(axis=0), rtol=1e-12)
    jacobian = cwrapjit.vmap(cwrapjit.grad(lambda x, k: (x * k * x).sum()), (None, 0))(x[0], np.eye(3))
    np.testing.assert_allclose(jacobian, np.diag(2 * x[0]))


@pytest.mark.row("J08")
def test_nesting() -> None:
    outer = cwrapjit.vmap(cwrapjit.vmap(lambda x, y: x - 2 * y, (None, 0)), (0, None))
    np.testing.assert_array_equal(outer(Y[0], Y[1]), np.subtract.outer(Y[0], 2 * Y[1]))
    for shape in [(3, 5), (1, 4), (7, 1)]:  # the plan serves other lengths
        z = RNG.random(shape)
        np.testing.assert_allclose(cwrapjit.vmap(lambda v: v / v.sum())(z), z / z.sum(axis=1, keepdims=True))


@pytest.mark.row("J08")
def test_trees_and_static_arguments() -> None:
    def f(tree: Any, scale: Any, mode: str) -> Any:
        made = tree["a"] * scale + tree["b"][0]
        return {"sum": made.sum(), mode: [made, mode, None]}

    got = cwrapjit.vmap(f, (0, None, None))({"a": Y, "b": (Y[:, 0],)}, 2.0, "all")
    expected = Y * 2 + Y[:, :1]
    np.testing.assert_allclose(got["sum"], expected.sum(axis=1))
    np.testing.assert_allclose(got["all"][0], expected)
    assert got["all"][1:] == ["all", None]


@pytest.mark.row("J08")
def test_refused() -> None:
    def add(x: Any, y: Any) -> Any:
        return x + y

    mapped = cwrapjit.vmap(add)
    with pytest.raises(ValueError, match=r"vmap: add\(\): lengths differ .*: 4 of 'x', 3 of 'y'"):
        mapped(Y, Y[:3])
    with pytest.raises(ValueError, match=r"argument 'y' has 0 dims, and no axis 0; None maps none"):
        mapped(Y, 2.0)
    with pytest.raises(ValueError, match="no argument has an axis to map"):
        cwrapjit.vmap(add, None)(Y, Y)
    for axes in [(0,), (0, 0, 0), 1.0, "x", (0, "x"), True]:
        with pytest.raises(ValueError, match=r"vmap: add\(\): axes: an int, None or a tuple of 2 of these"):
            cwrapjit.vmap(add, axes)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="vmap: a function is wanted"):
        cwrapjit.vmap(3)  # type: ignore[arg-type]


@pytest.mark.row("J08", "J12")
def test_cumulative_sums_and_loops() -> None:
    x = np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(cwrapjit.vmap(lambda r: np.cumsum(r))(x), np.cumsum(x, 1))
    np.testing.assert_array_equal(cwrapjit.vmap(lambda r: np.cumprod(r))(x), np.cumprod(x, 1))
    f = cwrapjit.vmap(lambda r: cwrapjit.scan(lambda carry, v: (carry + v, carry), 0.0, r)[0])
    refuses(TypeError, lambda: f(x), "scan cannot be mapped")
