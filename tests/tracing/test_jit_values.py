"""Tests the values, dtypes, shapes and kinds of jit()'s results beside those of the function itself."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cwrapjit

is_old = np.lib.NumpyVersion(np.__version__) < "2.0.0"
as_numpy_2 = pytest.mark.skipif(
    is_old, reason="this NumPy promotes scalars by their value, jit() as NumPy 2 does"
)

INTEGERS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]
RNG = np.random.default_rng(8)


def same(got: Any, expected: Any, exact: bool = False) -> None:
    """Compares types, dtypes, shapes and values of results, which may be trees."""
    assert type(got) is type(expected), (type(got), type(expected))
    if isinstance(expected, (tuple, list)):
        assert len(got) == len(expected)
        for one, other in zip(got, expected, strict=True):
            same(one, other, exact)
    elif isinstance(expected, dict):
        assert list(got) == list(expected)
        for key in expected:
            same(got[key], expected[key], exact)
    elif isinstance(expected, (np.ndarray, np.generic)):
        assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
        single = expected.dtype in (np.float32, np.complex64)
        tolerance = 1e-2 if expected.dtype == np.float16 else 3e-6 if single else 1e-12
        if exact or expected.dtype.kind in "bui":
            tolerance = 0
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)
    else:
        assert got == expected or (got != got and expected != expected)


def check(f: Callable[..., Any], *args: Any, exact: bool = False, **kwargs: Any) -> Any:
    """Calls f with jit and without."""
    jitted = cwrapjit.jit(f)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # such as NumPy's for divisions by zero
        expected = f(*args, **kwargs)
        for _ in range(2):  # the trace, and the plan that it left
            same(jitted(*args, **kwargs), expected, exact)
    return jitted


def numbers(dtype: str, shape: Any = (4, 5)) -> np.ndarray:
    kind = np.dtype(dtype).kind
    if kind == "b":
        return RNG.random(shape) < 0.5
    if kind in "iu":
        return RNG.integers(0 if kind == "u" else -9, 10, shape).astype(dtype)
    if kind == "c":
        return (RNG.normal(size=shape) + 1j * RNG.normal(size=shape)).astype(dtype)
    return RNG.normal(size=shape).astype(dtype)


# x and y are matrices, v is a vector; n is a Python int and t a Python float.
EXPRESSIONS = """
x + y; x - y; x * y; x / y; x // y; x % y; x ** 2; y ** 2.0; abs(x) ** 0.5; x ** -1.0; abs(x) ** 1.7;
x < y; x <= y; x > y; x >= y; x == y; x != y; -x; +x; abs(x); x + 1; 1 + x; 2.5 * x; x / 3; 3 / x; 7 // x;
7 % x; x + n; n * x; x - t; t / x; n + t; n // 2; n % 3; n / 2; n ** 2; -n; n > 2; t * t; n * 1.5 + t;
(n, t); n & 3; n << 2; x + v; v * x; x - v[:, None][:4]; (x * v).sum(axis=-1);
x - x.mean(axis=1, keepdims=True); x - x.mean(axis=0); np.exp(x); np.log(abs(x) + 1); np.sqrt(abs(x));
np.sin(x); np.cos(x); np.tan(x); np.tanh(x); np.expm1(x); np.log1p(abs(x)); np.exp2(x);
np.log2(abs(x) + 1); np.log10(abs(x) + 1); np.cbrt(x); np.sinh(x); np.cosh(x); np.arctan(x);
np.arcsin(x / 20); np.arccos(x / 20); np.arcsinh(x); np.arccosh(abs(x) + 1); np.arctanh(x / 20);
np.arctan2(x, y); np.hypot(x, y); np.copysign(x, y); np.floor(x); np.ceil(x); np.trunc(x); np.rint(x);
np.sign(x); np.square(x); np.reciprocal(y); np.fmod(x, y); np.fabs(x); np.maximum(x, y); np.minimum(x, 0);
np.fmax(x, y); np.fmin(x, y); np.clip(x, -0.5, 0.5); x.clip(0, 1); np.logaddexp(x, y); np.isnan(x / x);
np.isinf(1 / x); np.isfinite(x); np.signbit(x); np.logical_and(x, y); np.logical_or(x, 0);
np.logical_not(x); np.logical_xor(x, y); np.where(x > 0, x, 0); np.where(x > y, x, y);
np.where(x > 0, 1, 2); np.where(x, 1.5, y); np.where(n > 2, x, y); x.sum(); x.sum(axis=0); x.sum(axis=1);
x.sum(axis=-1, keepdims=True); x.sum(axis=(0, 1)); x.sum(keepdims=True); v.sum(); v.sum(keepdims=True);
x.prod(); x.prod(axis=1); x.max(); x.max(axis=0); x.min(axis=1); x.max(axis=1, keepdims=True); x.mean();
x.mean(axis=1); v.mean(); x.any(); x.all(); (x > 0).any(axis=1); (x > 0).all(axis=0); (x > 0).sum();
(x > 0).mean(axis=1); x.argmax(); x.argmin(axis=1); x.std(); x.var(axis=1); np.sum(x); np.max(x, axis=-1);
np.mean(x, 1); np.argmax(x, axis=0); np.sum(x, dtype=np.float32); np.add.reduce(x);
np.maximum.reduce(x, axis=1); x.T; x.T + 1; x.reshape(5, 4); x.reshape(-1); x.ravel() + 1;
x.reshape(4, 5, 1) * v[:, None]; np.reshape(x, (2, -1)); np.transpose(x); x[0]; x[1, 2]; x[:, 1];
x[-1] + v; x[1:] - x[:-1]; x[::2, ::-1]; x[..., 0]; x[None]; x[:, None, :]; v[::-1]; v[1, ...];
x[..., None][..., 0]; x.astype(np.float32); x.astype(int); x.astype(bool); x.astype("f4") * y;
x.dtype == y.dtype; x.ndim; x.shape; x.size; len(x); x.astype(np.complex128); x @ v; x.T @ y;
np.dot(x, v); v @ v; np.matmul(x, y.T) + 1; x.dot(v); np.dot(x, 2.0); np.zeros_like(x);
np.ones_like(x) + x; np.full_like(x, 3) * y; np.full_like(v, n); np.expand_dims(v, 0); np.squeeze(x[:1]);
np.concatenate([x, y]); np.stack([v, v + 1]); np.concatenate((x, y), axis=1);
np.exp(x - x.max(axis=1, keepdims=True)) / np.exp(x - x.max(axis=1, keepdims=True))
.sum(axis=1, keepdims=True);
np.log(np.exp(x - x.max(axis=-1)[:, None]).sum(axis=-1)) + x.max(axis=-1); (x - x.mean()) / x.std();
x / x.sum(); v / np.sqrt((v * v).sum()); [x, {"a": y + 1, "b": (v, None, "text", 3)}];
(x + y, x - y, (x + y) * (x - y)); np.array([1.0, 2, 3, 4, 5]) * x; np.float32(2) * x; x * np.int64(2);
np.nextafter(x, y); np.degrees(x); np.heaviside(x, 0.5); np.float64(1) - x; np.add(n, 1); np.exp(t);
np.where(n > 1, n, t); abs(-n); np.maximum(n, 2); x * (n + 1); x / (n * t); (x > n) & (x < t); ~(x > 0);
(x > 0) ^ (y > 0); ((x - x.mean(axis=1, keepdims=True)) ** 2).mean(axis=1);
(x - x.max(axis=1)[:, None]).min(axis=1).sum(); x.sum(axis=1) * 2 + v[:4]; x.sum(axis=1)[:, None] + x
""".split(";")
EXPRESSIONS = ["".join(text.splitlines()).strip() for text in EXPRESSIONS]


def function_of(text: str) -> Callable[..., Any]:
    made: Callable[..., Any] = eval(f"lambda x, y, v, n, t: {text}", {"np": np})
    return made


@pytest.mark.row("J03", "J04", "J05")
@pytest.mark.parametrize("text", EXPRESSIONS)
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_expressions(text: str, dtype: str) -> None:
    if is_old and dtype == "f4" and text in ("x * np.int64(2)", "np.float64(1) - x"):
        return  # promoted by value
    x, y, v = numbers(dtype), numbers(dtype), numbers(dtype, 5)
    check(function_of(text), x, y, v, 3, 0.75)


OF_INTEGERS = """
x + y; x - y; x * y; x // y; x % y; x / y; x & y; x | y; x ^ y; x << (y & 3); x >> (y & 3); ~x; -x;
abs(x); x ** 2; x == y; x < y; x + 1; x * 2.5; x // 3; x % 7; x + n; x * t; x < n; x > 5; np.sign(x);
np.maximum(x, y); np.minimum(x, 1); np.exp(x); np.sqrt(abs(x)); np.arctan2(x, y); x.sum(); x.sum(axis=0);
x.sum(axis=1); x.prod(axis=1); x.max(); x.min(axis=1); x.mean(); x.mean(axis=1); x.mean(axis=0); x.any();
x.all(axis=1); np.square(x); x.astype(float); x.astype("i2") + y; np.where(x > y, x, y);
np.where(x > 2, x, 1.5); np.logical_not(x); np.logical_and(x, y); x @ v; v @ v; x.argmax(axis=1); x ** y;
np.floor(x); np.isfinite(x); np.isnan(x); np.invert(x); np.clip(x, 1, 4); 2 ** abs(x); x ** 0.5;
np.left_shift(x, 1)
""".split(";")
OF_INTEGERS = ["".join(text.splitlines()).strip() for text in OF_INTEGERS]


@pytest.mark.row("J03", "J05")
@pytest.mark.parametrize("text", OF_INTEGERS)
@pytest.mark.parametrize("dtype", ["?", "u1", "i4", "i8", "u8"])
def test_expressions_of_integers(text: str, dtype: str) -> None:
    x, y, v = numbers(dtype), numbers(dtype), numbers(dtype, 5)
    f = function_of(text)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            f(x, y, v, 3, 0.75)
    except (TypeError, ValueError) as error:  # such as a difference of bools
        with pytest.raises(TypeError if isinstance(error, TypeError) else ValueError):
            cwrapjit.jit(f)(x, y, v, 3, 0.75)
        return
    check(f, x, y, v, 3, 0.75)


# ---- layouts and shapes ------------------------------------------------------------------------------


def mixed(x: Any, y: Any) -> Any:
    e = np.exp(x - y.max(axis=-1, keepdims=True))
    s = e.sum(axis=-1, keepdims=True)
    return e / s, np.log(s)[..., 0], (e * y).mean(), np.where(x > y, x, 0).sum(axis=-1), (x + y).max(axis=0)


SHAPES = [
    ((4, 5), (4, 5)),
    ((4, 5), (5,)),
    ((4, 1), (4, 5)),
    ((4, 5), (1, 5)),
    ((1, 1), (4, 5)),
    ((4, 5), (4, 1)),
    ((3, 4, 5), (4, 1)),
    ((1, 5), (4, 1)),
    ((5,), (5,)),
    ((1,), (5,)),
    ((5,), (1,)),
    ((1,), (1,)),
    ((5,), (4, 1)),
    ((5, 5), (5,)),
    ((2, 2, 2), (2, 2)),
    ((300, 3), (3,)),
    ((3, 1000), (3, 1)),
    ((2, 40), (40,)),
]


@pytest.mark.row("J02", "J05")
@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize(("one", "other"), SHAPES)
def test_shapes(one: Any, other: Any, dtype: str) -> None:
    check(mixed, numbers(dtype, one), numbers(dtype, other))


@pytest.mark.row("J05")
@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 3)])
def test_no_elements(shape: Any) -> None:
    x = np.zeros(shape)
    check(
        lambda x: (np.exp(x) + 1, x.sum(), x.sum(axis=0), x.prod(axis=-1), x * 2 > 1, x.mean(), x.any(), x.T),
        x,
    )
    with pytest.raises(ValueError, match="zero-size array"):
        cwrapjit.jit(lambda x: x.max())(x)
    check(lambda x, y: (x + y, (x + y).sum(axis=-1)), x, np.ones((*shape[:-1], 1)))
    check(lambda x: x[5:].sum() + x[5:].mean(), np.ones(3))


def layouts() -> list[Any]:
    x = RNG.normal(size=(6, 8))
    unaligned = np.frombuffer(b" " + x.tobytes(), np.uint8)[1:].view(np.float64).reshape(6, 8)
    fixed = x.copy()
    fixed.flags.writeable = False
    return [
        x.T,
        x[::2, ::-1],
        x[:, 3],
        x[1],
        np.asfortranarray(x),
        x.astype(">f8"),
        unaligned,
        fixed,
        np.broadcast_to(x[0], (6, 8)),
        np.broadcast_to(1.5, (3, 4)),
        x[:, ::3],
    ]


@pytest.mark.row("J05")
@pytest.mark.parametrize("x", layouts())
def test_layouts(x: np.ndarray) -> None:
    check(lambda x: (x * 2 + 1, x.sum(), x.max(axis=-1), np.exp(x - x.max()), x.sum(axis=0)), x)
    check(lambda x: (x - x.mean(axis=-1, keepdims=True)).std(), x)


@pytest.mark.row("J03")
def test_nan_propagates() -> None:
    x = numbers("f8", (50, 70))
    x[3, 4] = x[20, 0] = x[30, 69] = np.nan
    x[7, 7], x[8, 8] = np.inf, -np.inf
    check(
        lambda x: (
            x.max(),
            x.min(),
            x.max(axis=1),
            x.min(axis=1),
            x.max(axis=0),
            x.argmax(axis=1),
            x.sum(axis=1),
        ),
        x,
    )
    check(
        lambda x, y: (np.maximum(x, y), np.minimum(y, x), np.fmax(x, y), x.any(axis=1), np.sign(x)),
        x,
        x[::-1],
    )
    check(lambda x: (np.where(x > 0, x, -x), x == x, x != x, x < 0, np.clip(x, -1, 1)), x)


@pytest.mark.row("J05")
@pytest.mark.parametrize("dtype", ["f2", "c8", "c16", "g"])
def test_types_without_c(dtype: str) -> None:
    """NumPy computes these, between kernels."""
    x = numbers(dtype)
    check(
        lambda x, n: (x + n, x * x, x.sum(), x.sum(axis=1), x.mean(axis=0), np.exp(x), -x, x / 2, abs(x)),
        x,
        2,
    )
    check(lambda x: np.exp(abs(x).astype("f8")).sum(axis=1) * abs(x).astype("f4").max(), x)
    check(lambda x, z: (x * z, x + z * x, z == 1j, z * z), numbers("f4"), 1j)


@pytest.mark.row("J05")
def test_mixed_types() -> None:
    kinds = ["?", *INTEGERS, "f4", "f8"]
    for one in kinds:
        x, y = numbers(one, 6), {kind: numbers(kind, 6) for kind in kinds}
        check(
            lambda x, y: {
                k: (x + v, x * v, x < v, np.where(v, x, v), np.maximum(x, v)) for k, v in y.items()
            },
            x,
            y,
        )


@as_numpy_2
@pytest.mark.row("J05")
def test_scalars_and_arrays_without_dims() -> None:
    zero = np.array(2.5)
    check(
        lambda x: (
            x + 1,
            x.T,
            x.sum(),
            np.where(x > 1, x, 2),
            x[()],
            x.reshape(()),
            x.astype("f4"),
            x[...],
            x,
        ),
        zero,
    )
    check(lambda x: (x + 1, np.exp(x), x > 1, x.reshape(1), np.zeros_like(x), np.squeeze(x[None])), zero)
    check(lambda x: (x + 1, x * 2.5, np.exp(x), abs(x), x.astype("f8"), x), np.float32(2))
    check(lambda n: (n, n + 1, n / 2, n // 2, n > 3, -n, np.sqrt(n), np.add(n, 1), n**2, n**-1, 2**n), 5)
    check(lambda n: (2**70 * n, n << 80, (n > 2) + 1, (n > 2) & True, -(2**n), (-2) ** n), 7)
    check(lambda t: (t**2, t**-1, t**0.5, t % 1, t // 1, round(2.5) * t, float("inf") * t, -0.0 * t), 2.25)


@pytest.mark.row("J03")
def test_sums_are_accurate() -> None:
    """Sums of float32 are at least as accurate as those of one accumulator."""
    x = RNG.random(1_000_001).astype("f4")
    exact = float(x.astype("f8").sum())
    assert abs(float(cwrapjit.jit(lambda x: x.sum())(x)) - exact) <= abs(float(np.sum(x)) - exact) + 0.04
    y = np.array([1e100, 1.0, -1e100] + [0.0] * 50)
    assert cwrapjit.jit(lambda x: x.sum())(y) in (0.0, 1.0)
    big = np.full(1000, 200, "u1")
    check(lambda x: (x.sum(), (x + x).sum(), x.mean(), x.prod()), big)


@pytest.mark.row("J02")
def test_bits_of_vectorize() -> None:
    """Elementwise results have the bits of the same C text."""
    text = "double f(double x, double y) { return exp(-x * x) * sin(y) + x / y; }"
    x, y = numbers("f8", 1000), numbers("f8", 1000)
    f = cwrapjit.jit(lambda x, y: np.exp(-x * x) * np.sin(y) + x / y)
    expected = cwrapjit.vectorize(text)(x, y)
    assert f(x, y).tobytes() == expected.tobytes()
    fused = cwrapjit.jit(lambda x, y: ((z := np.exp(-x * x) * np.sin(y) + x / y), z.sum(), z / z.max()))
    assert fused(x, y)[0].tobytes() == expected.tobytes()


@pytest.mark.row("J02")
def test_axes_of_length_one() -> None:
    v, x = numbers("f8", 5), numbers("f8")
    check(lambda x: x.reshape(-1, 1).max(axis=1) + x.reshape(-1, 1).sum(axis=-1), v)
    check(lambda x: (x[:, None] * 2 + x[:, None].sum(axis=1, keepdims=True)).sum(axis=1), v)
    check(lambda x: np.exp(x[:, None]).sum(axis=1)[:, None].sum(axis=1), v)
    check(lambda x: x[:, :1].sum(axis=1)[:, None].sum(axis=1) + x.sum(axis=1), x)
    check(lambda x: (x[None, :, 0], x[:, None][:, 0], x.sum(axis=-1)[..., None, None], x[:, :1] - x), x)


@as_numpy_2
@pytest.mark.row("J05")
def test_python_integers_beside_small_ones() -> None:
    for dtype in ("u1", "i1"):
        x = numbers(dtype)
        check(
            lambda x: (x <= 255, x > 255, x < 0, x != 256, -1 <= x, 300 > x, x == -1, np.clip(x, -300, 300)),
            x,
        )
        check(lambda x, n: (x < n, n >= x), x, 300)
        check(lambda x, n: (x + (n > 2), x * (n < 2), np.where(n > 2, x, 0)), x, 300)
    x = numbers("f4")
    for n in (2**24 + 1, 2**70, -(2**53) - 1):  # no float32 has this value
        check(lambda x, n: (x * n, x + n, x < n, np.maximum(x, n), np.full_like(x, n)), x, n)
    many = np.broadcast_to(np.float32(1), 2**24 + 1)
    assert cwrapjit.jit(lambda x: x.mean())(many) == 1


# ---- random expressions --------------------------------------------------------------------------------

# Continuous functions that do not enlarge differences, as another order of sums would else be seen.
UNARY = [
    np.negative,
    np.tanh,
    np.abs,
    lambda x: np.exp(-np.abs(x)),
    lambda x: np.sqrt(1 + np.square(x)),
    lambda x: np.where(x > 0, x, 0),
    lambda x: x[..., None][..., 0],
    lambda x: x.T.T,
    lambda x: x[:, None][:, 0] if x.ndim > 1 else x[None][0],
    lambda x: x.mean(axis=-1, keepdims=True),
    lambda x: x.sum(axis=-1)[..., None] / 99,
    lambda x: x.max(axis=-1)[..., None],
    lambda x: x - x.mean(axis=-1, keepdims=True),
    lambda x: x.mean(),
    lambda x: x.sum(axis=0) / 9,
    lambda x: x.min(axis=-1) + 0 * x.sum(),
    lambda x: x.astype("f4"),
    np.zeros_like,
]
BINARY = [
    np.add,
    np.subtract,
    lambda x, y: x * y * 0.02,
    np.maximum,
    np.hypot,
    lambda x, y: x / (60 + abs(y)),
    lambda x, y: np.where(y > 0, y, 0) + x,
]
steps = st.lists(st.tuples(st.integers(0, 99), st.integers(0, 7), st.integers(0, 7)), min_size=2, max_size=12)


def program(steps: list[tuple[int, int, int]]) -> Callable[..., Any]:
    def f(x: Any, y: Any, v: Any) -> Any:
        values = [x + 0.0, y, v, x * 0.5]
        for op, one, other in steps:
            a, b = values[-1 - one % len(values)], values[-1 - other % len(values)]
            if a.ndim == 0:
                a = a + v
            if op < 50:
                values.append(UNARY[op % len(UNARY)](a))
            else:
                values.append(BINARY[op % len(BINARY)](a, b))
            values[-1] = np.clip(values[-1] * 1.0, -50, 50)
        return values[-3:]

    return f


@as_numpy_2
@pytest.mark.row("J02", "J05")
@settings(max_examples=60, deadline=None)
@given(steps, st.sampled_from([(4, 5), (5, 5), (1, 5), (5, 1), (2, 64), (3, 3, 3)]))
def test_random_programs(steps: list[tuple[int, int, int]], shape: Any) -> None:
    rng = np.random.default_rng(4)
    x, y, v = rng.normal(size=shape), rng.normal(size=shape), rng.normal(size=shape[-1])
    f = program(steps)
    with np.errstate(all="ignore"):
        for one, other in zip(cwrapjit.jit(f)(x, y, v), f(x, y, v), strict=True):
            assert (one.dtype, one.shape) == (other.dtype, other.shape)
            np.testing.assert_allclose(one, other, atol=1e-9 if one.dtype == np.float64 else 1e-3)
