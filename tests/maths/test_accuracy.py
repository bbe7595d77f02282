"""Tests errors, special values and flags of the functions of <math.h>, against those of long double."""

from __future__ import annotations

import itertools
import pathlib
import re
from typing import Any

import numpy as np
import pytest
from helpers import compiler

import cwrapjit

ROOT = pathlib.Path(__file__).resolve().parents[2]
LONG = np.longdouble
# NumPy's name of each function, and where its arguments are.
ONE = {
    "exp": ("exp", -745, 709),
    "exp2": ("exp2", -1070, 1020),
    "expm1": ("expm1", -40, 700),
    "log": ("log", 1e-3, 3),
    "log2": ("log2", 1e-3, 3),
    "log10": ("log10", 1e-3, 3),
    "log1p": ("log1p", -0.999, 3),
    "sin": ("sin", -100, 100),
    "cos": ("cos", -100, 100),
    "tan": ("tan", -100, 100),
    "sinh": ("sinh", -30, 30),
    "cosh": ("cosh", -30, 30),
    "tanh": ("tanh", -20, 20),
    "asin": ("arcsin", -1, 1),
    "acos": ("arccos", -1, 1),
    "atan": ("arctan", -5, 5),
    "asinh": ("arcsinh", -5, 5),
    "acosh": ("arccosh", 1, 5),
    "atanh": ("arctanh", -0.999, 0.999),
    "cbrt": ("cbrt", -10, 10),
}
TWO = {"pow": ("power", 0.01, 20), "atan2": ("arctan2", -5, 5), "hypot": ("hypot", -5, 5)}
BOTH = {name: (1, *rest) for name, rest in ONE.items()} | {name: (2, *rest) for name, rest in TWO.items()}
COUNT = 1500
# sin and cos are hard there: far from 0, and near a multiple of pi/2.
FAR = [1e22, 1e5, 2.0**28, 2.0**1023, np.pi, np.pi / 2, 6381956970095103.0 * 2.0**797]
FAR += [float.fromhex("0x1.6ac5b262ca1ffp+849")]
SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    2.0,
    -2.0,
    3.0,
    -3.0,
    2.5,
    -2.5,
    np.inf,
    -np.inf,
    np.nan,
    1e300,
    -1e300,
    1e-300,
]

pytestmark = [
    pytest.mark.skipif(np.finfo(LONG).nmant < 63, reason="long double is double here"),
    pytest.mark.parametrize("optimize", ["off", "eager"]),
]


@pytest.fixture(autouse=True)
def needs_a_compiler() -> None:
    compiler()


def define(name: str, count: int, kind: str, optimize: str) -> Any:
    names = ["x", "y"][:count]
    parameters = ", ".join(f"{kind} {each}" for each in names)
    text = f"{kind} f({parameters}) {{ return {name}({', '.join(names)}); }}"
    return cwrapjit.vectorize(text, optimize=optimize)


def arguments(low: float, high: float, dtype: Any, seed: int) -> Any:
    """Returns numbers of that range, some of them nearer to 0."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(low, high, COUNT)
    near = COUNT // 3
    x[:near] = np.clip(np.ldexp(x[:near], rng.integers(-40, 1, near)), low, high)
    return x.astype(dtype)


def largest_error(result: Any, exact: Any) -> float:
    """Returns the largest error in units in the last place of exact results."""
    size, dtype = np.abs(exact), result.dtype.type
    nearest = size.astype(dtype)
    # Where the exact number is below a power of two that is nearest, its unit is the smaller one.
    below = np.where(size < nearest, np.nextafter(nearest, dtype(0)), nearest)
    return float((np.abs(result.astype(LONG) - exact) / np.spacing(below).astype(LONG)).max())


@pytest.mark.row("M01")
@pytest.mark.parametrize("kind", ["double", "float"])
def test_errors_are_at_most_one_unit_in_the_last_place(kind: str, optimize: str) -> None:
    dtype = np.float64 if kind == "double" else np.float32
    found = {}
    for name, (count, oracle, low, high) in BOTH.items():
        limit = 1e9 if kind == "double" else 80
        xs = [arguments(max(low, -limit), min(high, limit), dtype, seed) for seed in range(count)]
        if name in ("sin", "cos", "tan") and kind == "double":
            xs[0][: len(FAR)] = FAR
        if name == "pow":  # bases near 1 with large exponents
            signs = np.where(np.arange(COUNT) % 3, 1, -1)
            near = (1 + signs * np.ldexp(0.1 + xs[0] / 20, -1 - np.arange(COUNT) % 19)).astype(dtype)
            logs = np.random.default_rng(9).uniform(-min(limit, 700), min(limit, 700), COUNT)
            xs = [np.append(xs[0], near), np.append(xs[1], (logs / np.log(near)).astype(dtype))]
        f = define(name + "f" * (kind == "float"), count, kind, optimize)
        exact = getattr(np, oracle)(*(x.astype(LONG) for x in xs))
        found[name] = largest_error(f(*xs), exact)
    assert max(found.values()) <= 1.0, found


@pytest.mark.row("M01")
@pytest.mark.parametrize("name", ["erf", "erfc"])
@pytest.mark.parametrize("kind", ["double", "float"])
def test_errors_of_erf_beside_long_double(kind: str, name: str, optimize: str) -> None:
    """The error in units of the last place is computed in C: NumPy has no erf."""
    suffix, digits = ("", 53) if kind == "double" else ("f", 24)
    text = f"""
        double f(double x)
        {{
            int exponent;
            long double exact = {name}l(({kind})x), error = (long double){name}{suffix}(({kind})x) - exact;
            frexpl(exact, &exponent);
            return (double)ldexpl(error, {digits} - exponent);
        }}"""
    x = arguments(-6, 9 if kind == "float" else 26, np.float64, 1)
    assert np.abs(cwrapjit.vectorize(text, optimize=optimize)(x)).max() <= 1.0


def expected_flags(x: tuple[float, ...], result: float) -> set[str]:
    if np.isnan(result):
        return set() if any(map(np.isnan, x)) else {"invalid value"}
    return {"overflow or divide"} if np.isinf(result) and not any(map(np.isinf, x)) else set()


@pytest.mark.row("M01")
@pytest.mark.parametrize("name", BOTH)
def test_special_values_and_flags_are_those_of_annex_f(name: str, optimize: str) -> None:
    count, oracle = BOTH[name][:2]
    f = define(name, count, "double", optimize).ufunc
    flags: list[str] = []
    for x in itertools.product(SPECIAL, repeat=count):
        with np.errstate(all="ignore"):
            wanted = np.float64(getattr(np, oracle)(*map(LONG, x)))
        flags.clear()
        with np.errstate(all="call", under="ignore", call=lambda kind, _: flags.append(kind)):
            result = f(*x)
        if not np.isfinite(wanted) or wanted == 0:
            np.testing.assert_array_equal(result, wanted, str(x))
            assert np.isnan(wanted) or np.signbit(result) == np.signbit(wanted), (x, result)
        raised = {"overflow or divide" if each != "invalid value" else each for each in flags}
        assert raised == expected_flags(x, float(result)), (x, result)


@pytest.mark.row("M05")
def test_the_table_in_docs_has_each_function(optimize: str) -> None:
    del optimize
    if not (ROOT / "docs/accuracy.md").exists():
        pytest.skip("no checkout")
    list_of_ours = (ROOT / "tinyjit/maths/functions.def").read_text()
    listed = re.findall(r"^TJV_FUNCTION\((\w+), \d", list_of_ours, re.MULTILINE)
    page = (ROOT / "docs/accuracy.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| ([\d.]+) \|", page, re.MULTILINE)
    assert [name for name, _ in rows] == listed
    assert all(float(error) <= 1.0 for _, error in rows)
