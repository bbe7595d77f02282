"""Tests grad() and value_and_grad(): each operation beside central differences, trees, nesting, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers import refuses
from hypothesis import given, settings
from hypothesis import strategies as st

import cwrapjit
from cwrapjit.tracing import derivatives, ops

W = np.array([[0.7, -1.3, 0.4], [1.1, 0.6, -0.9]])
A = np.array([[0.3, -0.7, 0.45], [-0.28, 0.6, 0.8]])
B = np.array([[1.4, 0.37, -1.2], [0.55, -1.7, 0.9]])


def differences(f: Callable[..., Any], args: tuple[np.ndarray, ...]) -> list[np.ndarray]:
    """Returns the gradients of a number by central differences."""
    found = []
    for k, arg in enumerate(args):
        made = np.zeros(arg.shape)
        for at in np.ndindex(arg.shape):
            step = np.zeros(arg.shape)
            step[at] = 1e-5
            high, low = (f(*args[:k], arg + s, *args[k + 1 :]) for s in (step, -step))
            made[at] = (high - low) / 2e-5
        found.append(made)
    return found


def check(f: Callable[..., Any], *args: Any, second: bool = True) -> None:
    """Compares gradients with differences, and those of the gradient."""
    first = cwrapjit.grad(lambda values: f(*values), optimize="off")
    with np.errstate(all="ignore"):
        for got, expected in zip(first(args), differences(f, args), strict=True):
            assert type(got) in (np.ndarray, np.float64) and got.dtype == float
            np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-7)
    if second:

        def directed(*values: Any) -> Any:
            return sum((g * np.cos(3.0 * v)).sum() for g, v in zip(first(values), values, strict=True))

        twice = cwrapjit.grad(lambda values: directed(*values), optimize="off")(args)
        for got, expected in zip(twice, differences(directed, args), strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-6)


NEAR_ONE = np.abs(A) + 1.1
DOMAINS: dict[str, Any] = {
    **dict.fromkeys(("log", "log2", "log10", "sqrt"), (np.abs(A) + 0.1,)),
    "arccosh": (NEAR_ONE,),
    "power": (np.abs(A) + 0.1, B),
}
OF_BOOLS = "logical_and logical_or logical_xor logical_not".split()
OF_INTEGERS = "bitwise_and bitwise_or bitwise_xor invert left_shift right_shift".split()
MADE = {"where": lambda a, b: np.where(a > 0, a * b, b), "cast": lambda a: a.astype("f4").astype("f8")}


@pytest.mark.row("J06")
@pytest.mark.parametrize("name", [name for name in ops.OPS if name not in ops.OF_SCIPY])
def test_every_operation(name: str) -> None:
    assert name in derivatives.ELEMENTS
    if name in OF_INTEGERS:

        def of_integers(x: Any) -> Any:
            whole = np.floor(4 * x).astype("i8")
            made = getattr(np, name)(whole, *[3] * (getattr(np, name).nin - 1))
            return (made * x).sum()

        check(of_integers, A)
        return
    f: Any = MADE.get(name) or getattr(np, name)
    count = 1 if name == "cast" else 2 if name == "where" else f.nin
    args = DOMAINS.get(name, (A, B))[:count]
    if name == "cast":
        np.testing.assert_array_equal(cwrapjit.grad(lambda x: (f(x) * W).sum())(A), W.astype("f4"))
        return
    check(lambda *values: (f(*values) * W * values[0]).sum(), *args)


@pytest.mark.row("J06")
@pytest.mark.parametrize("name", ops.REDUCTIONS)
@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_every_reduction(name: str, axis: Any, keepdims: bool) -> None:
    x = np.array([[0.5, 0.0, -1.5], [1.0, 3.0, 0.7], [0.0, 0.2, 0.0]])
    x = x if name == "prod" else x + np.linspace(0.1, 0.3, 9).reshape(3, 3)

    def f(v: Any) -> Any:
        made = getattr(np, name)(v, axis=axis, keepdims=keepdims)
        return (made * v**2).sum() if keepdims else made.sum() * v[0, 0]

    check(f, x)


CALLS: dict[str, Any] = {
    "mean of an axis": lambda a, b: (a.mean(axis=0) * b[1]).sum(),
    "mean": lambda a, b: np.mean(a * b),
    "std": lambda a, b: np.std(a * b, axis=1).sum(),
    "var": lambda a, b: (np.var(a, axis=0, ddof=1, keepdims=True) * b).sum(),
    "argmax": lambda a, b: (np.argmax(a, axis=1) * b[:, 0]).sum(),
    "matmul": lambda a, b: ((a @ b.T) ** 2).sum(),
    "matrix and vector": lambda a, b: ((a @ b[0]) ** 3).sum() + ((b[:, 1] @ a) ** 2).sum(),
    "vectors": lambda a, b: a[0] @ b[1] * a[1, 1],
    "batches": lambda a, b: ((a[:, None, :, None] * np.ones((3, 2))) @ (b[:, :2])).sum() * b[0, 0],
    "dot": lambda a, b: (np.dot(a, b[1]) ** 2).sum(),
    "transpose": lambda a, b: (a.T * np.transpose(b[None], (0, 2, 1))).sum(),
    "reshape": lambda a, b: (a.reshape(3, 2) * np.ravel(b)[::-1].reshape((3, 2))).sum(),
    "slices": lambda a, b: (a[:, 1:] * b[::-1, :-1] ** 2).sum() + (a[1, ::2] * b[-1, 0]).sum(),
    "new axes": lambda a, b: (a[:, None, :] * b[None, :, :, None][..., 0]).sum(),
    "concatenate": lambda a, b: (np.concatenate((a, b, a * b), axis=1) ** 2).sum(),
    "stack": lambda a, b: (np.stack([a, b, a], axis=1) ** 3).sum(),
    "full_like": lambda a, b: (np.full_like(a, b[0, 0] * 2) * a).sum(),
    "clip": lambda a, b: (np.clip(a * 2, -0.7, 0.8) * b).sum(),
    "broadcasting": lambda a, b: (a[0] * b + a[:, :1] - b[1, 2]).sum() * a[0, 0],
    "softmax": lambda a, b: (
        np.exp(a - a.max(axis=-1, keepdims=True)) / np.exp(b).sum(-1, keepdims=True)
    ).sum(),
    "square root of a sum": lambda a, b: np.sqrt((a * b) ** 2 + 1).sum() ** 0.5,
    "powers": lambda a, b: (a**2 + b**3 + a**-1 + (b * b) ** 0.5 + a**4.0 + a**1 + a**0).sum(),
    "a power": lambda a, b: (2.0 ** (a * b)).sum(),
    "SciPy's names": lambda a, b: (np.deg2rad(a) + np.degrees(b) + np.float_power(b * b, a)).sum(),
    "float16": lambda a, b: (np.sin(a) * 2).astype("f2").astype("f8").sum() * 0 + b.sum(),
    "a value used twice": lambda a, b: sum([(v * v + v).sum() for v in (a * b, a + b)]),
}


@pytest.mark.row("J06")
@pytest.mark.parametrize("name", CALLS)
def test_calls_of_numpy(name: str) -> None:
    if name == "float16":
        got = cwrapjit.grad(lambda a: (np.sin(a.astype("f2")) * 2).sum().astype("f8"))(A)
        np.testing.assert_allclose(got, 2 * np.cos(A), atol=2e-3)
    check(CALLS[name], A, B)


@pytest.mark.row("J06")
def test_third_derivatives_of_a_product_with_zeros() -> None:
    def mixed(x: Any) -> Any:
        first = cwrapjit.grad(lambda v: np.prod(v))
        return cwrapjit.grad(lambda v: first(v)[0])(x)[1]

    np.testing.assert_array_equal(cwrapjit.grad(mixed)(np.array([0.0, 0.0, 3.0, 0.5])), [0, 0, 0.5, 3])


STEPS: list[Any] = [
    lambda x: np.sin(x) * x,
    lambda x: x @ x.T @ x,
    lambda x: x - x.mean(axis=0),
    lambda x: np.tanh(x[::-1] + 0.5 * x),
    lambda x: x / (1 + (x * x).sum(axis=-1, keepdims=True)),
    lambda x: np.logaddexp(x, x[:, :1]),
    lambda x: np.concatenate((x[:, 1:], x[:, :1] * 2), axis=1),
]


@pytest.mark.row("J06")
@settings(deadline=None, max_examples=25, derandomize=True, database=None)
@given(st.lists(st.sampled_from(STEPS), min_size=1, max_size=5))
def test_random_chains(steps: list[Any]) -> None:
    def chain(x: Any) -> Any:
        for step in steps:
            x = step(x)
        return (x * W).sum()

    check(chain, A, second=False)


@pytest.mark.row("J06")
def test_a_logistic_likelihood() -> None:
    rng = np.random.default_rng(3)
    x, w = rng.standard_normal((50, 4)), rng.standard_normal(4)
    y = (rng.random(50) < 0.5) * 1.0

    def loglik(w: Any, x: Any, y: Any) -> Any:
        eta = x @ w
        return (y * eta - np.logaddexp(0.0, eta)).sum()

    value, gradient = cwrapjit.value_and_grad(loglik)(w, x, y)
    np.testing.assert_allclose(value, loglik(w, x, y))
    np.testing.assert_allclose(gradient, x.T @ (y - 1 / (1 + np.exp(-x @ w))))


@pytest.mark.row("J06")
def test_trees_names_and_tuples() -> None:
    def f(p: Any, x: Any, *, scale: Any = 2.0) -> Any:
        return ((p["w"] * x + p["b"][0]) ** 2).sum() * scale

    p, x = {"w": 3.0, "b": (np.array([1.0, 2.0]), np.zeros(0))}, np.array([1.0, -1.0])
    r = 3 * x + [1, 2]
    by_p = cwrapjit.grad(f)(p, x)
    assert list(by_p) == ["w", "b"] and type(by_p["b"]) is tuple and by_p["b"][1].shape == (0,)
    np.testing.assert_allclose(by_p["w"], (4 * r * x).sum())
    np.testing.assert_allclose(by_p["b"][0], 4 * r)
    value, (by_x, by_scale) = cwrapjit.value_and_grad(f, ("x", "scale"))(p, x, scale=2.0)
    np.testing.assert_allclose(value, f(p, x))
    np.testing.assert_allclose(by_x, 12 * r)
    np.testing.assert_allclose(by_scale, (r**2).sum())
    same = cwrapjit.grad(f, -2)(p, x)
    np.testing.assert_array_equal(same, by_x)
    np.testing.assert_array_equal(cwrapjit.grad(f, (1, "x"))(p, x)[1], by_x)
    assert cwrapjit.grad(lambda x, y: y * 2.0)(x, 1.0).tolist() == [0, 0]


@pytest.mark.row("J06")
def test_types() -> None:
    x = np.array([1.0, 2.0], np.float32)
    got = cwrapjit.grad(lambda x, s: (np.sin(x) * s + x.mean()).sum(), (0, 1))(x, 2.0)
    assert got[0].dtype == np.float32 and isinstance(got[1], float)
    assert type(cwrapjit.grad(lambda x: x**3)(2.0)) is float
    assert cwrapjit.grad(lambda x: x * x)(np.float32(3)) == np.float32(6)
    got = cwrapjit.grad(lambda x: (x.astype("f4") * np.float32(2)).sum())(np.ones(2))
    assert got.dtype == np.float64 and got.tolist() == [2, 2]


@pytest.mark.row("J06")
def test_kinks() -> None:
    zeros = np.zeros(2)
    for f, expected in [
        (lambda x: np.abs(x).sum(), 0),
        (lambda x: np.maximum(x, 0.0).sum(), 0.5),
        (lambda x: np.fmin(0.0, x).sum(), 0.5),
        (lambda x: x.max(), 0.5),
        (lambda x: np.hypot(x, x).sum(), 0),
        (lambda x: (x**2.0 + x**0 + np.floor(x)).sum(), 0),
        (lambda x: np.where(x > 0, np.log(np.where(x > 0, x, 1)), 0).sum(), 0),
    ]:
        assert cwrapjit.grad(f)(zeros).tolist() == [expected] * 2
    assert cwrapjit.grad(lambda x, n: (x**n).sum(), 1)(zeros, 2.0) == 0


@pytest.mark.row("J06")
def test_nesting() -> None:
    x = np.array([1.0, 2.0, 3.0])
    assert cwrapjit.grad(cwrapjit.grad(cwrapjit.grad(lambda x: x**4)))(2.0) == 48
    inner = cwrapjit.grad(lambda y, z: (y * z).sum())
    assert cwrapjit.grad(lambda x: inner(x, x).sum())(x).tolist() == [1, 1, 1]  # y's part of x * x alone

    @cwrapjit.jit
    def both(x: Any, y: Any) -> Any:
        value, gradient = cwrapjit.value_and_grad(cwrapjit.jit(lambda v, w: (v * v * w).sum()))(x + 1, y)
        return value - y, gradient * x

    value, gradient = both(x, 2.0)
    assert value == 2 * 29 - 2 and gradient.tolist() == [8, 24, 48]

    def step(x: Any) -> Any:
        return x - 0.1 * cwrapjit.grad(lambda v: (v**2).sum())(x)

    np.testing.assert_allclose(cwrapjit.grad(lambda x: step(step(x)).sum())(x), np.full(3, 0.64))


@pytest.mark.row("J06")
def test_options_and_signature() -> None:
    f = cwrapjit.jit(lambda x, n: (x**n).sum(), static="n", optimize="off")
    made = cwrapjit.grad(f)
    assert made(np.array([2.0]), 3).tolist() == [12] and str(made.__signature__) == "(x, n)"
    assert made._options["optimize"] == "off" and made._static == [False, True]
    made = cwrapjit.grad(lambda x, n: (x**n).sum(), static="n", fastmath=True)
    assert made(np.array([2.0]), 3).tolist() == [12] and made._options["fastmath"]
    assert len(made.kernels) == 1 and "grad" not in made.tier


@pytest.mark.row("J06")
def test_long_chains() -> None:
    def f(x: Any) -> Any:
        for _ in range(5000):
            x = x * 1.0001 + 1e-6
        return x.sum()

    np.testing.assert_allclose(cwrapjit.grad(f, optimize="off")(np.ones(2)), [1.0001**5000] * 2)


def plain(x: Any) -> Any:
    return x


X = np.ones(3)
REFUSED: list[tuple[Any, tuple[Any, ...], str]] = [
    (plain, (X,), r"grad: plain\(\) must return one real number, not an array of shape \(3,\)"),
    (lambda x: (x.sum(), 1), (X,), "must return one real number, not tuple"),
    (lambda x: x.argmax(), (X,), "must return one real number, not a number of dtype int64"),
    (lambda x: None, (X,), "not NoneType"),
    (lambda x: x.sum(), (np.arange(3),), "argument 'x': real floating-point numbers are wanted, not int64"),
    (lambda x: x.sum(), (X > 0,), "argument 'x': real floating-point numbers are wanted, not bool"),
    (lambda x: x.real, (1j,), "argument 'x': real floating-point numbers are wanted, not complex128"),
    (lambda x, y: y.sum(), ("text", X), "argument 'x': real floating-point numbers are wanted, not str"),
    (lambda x, y: y.sum(), ([1.0, 2], X), "argument 'x': .* not int64"),
    (lambda x: abs(x * 1j).sum(), (X,), "grad: absolute: complex numbers .*test_grad.py, line"),
    (lambda x: np.spacing(x).sum(), (X,), r"grad: spacing has no derivative \(in .*test_grad.py, line"),
]


@pytest.mark.row("J06")
@pytest.mark.parametrize(("f", "args", "message"), REFUSED)
def test_refused(f: Any, args: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        cwrapjit.grad(f)(*args)


@pytest.mark.row("J06")
def test_refused_at_once() -> None:
    with pytest.raises(ValueError, match=r"grad: plain\(\): wrt: there is no parameter 'y'; there are x"):
        cwrapjit.grad(plain, "y")
    with pytest.raises(ValueError, match="there is no parameter 1"):
        cwrapjit.grad(plain, (0, 1))
    with pytest.raises(TypeError, match="value_and_grad: a function is wanted, not 3"):
        cwrapjit.value_and_grad(3)  # type: ignore[arg-type]
    kept: list[Any] = []

    def keeps(x: Any) -> Any:
        kept.append(x * 2)
        return x.sum()

    with pytest.raises(TypeError, match="a value was kept in a function that grad"):
        cwrapjit.jit(lambda x: (cwrapjit.grad(keeps)(x), kept[-1]))(X)


@pytest.mark.row("J06", "J12")
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_cumulative_sums(axis: Any) -> None:
    check(lambda x: (np.cumsum(x * x, axis=axis).ravel() * W.ravel()).sum(), A)


@pytest.mark.row("J06", "J12")
def test_loops_have_no_derivative() -> None:
    loops = [
        lambda x: np.cumprod(x).sum(),
        lambda x: cwrapjit.scan(lambda carry, v: (carry + v * v, carry), 0.0, x)[0],
        lambda x: cwrapjit.scan(lambda carry, v: (carry + v * v, carry), 0.0, x)[1].sum(),
        lambda x: cwrapjit.scan(lambda carry, v: (carry * v, None), x[0], x)[0],
    ]
    for f in loops:
        refuses(TypeError, lambda f=f: cwrapjit.grad(f)(np.ones(3)), "has no derivative")
