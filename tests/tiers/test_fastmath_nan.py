"""fastmath=True may reorder and round in other ways, but tests for NaN and infinity keep their meaning."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers import compiler, wrap_signature

TYPES = {np.float32: ("f", "FLT_MAX"), np.float64: ("", "DBL_MAX"), np.longdouble: ("l", "LDBL_MAX")}
TESTS = {
    "isnan(x)": np.isnan,
    "x != x": np.isnan,
    "!(x == x)": np.isnan,
    "!(x < 1) && !(x >= 1)": np.isnan,
    "isunordered(x, 1)": np.isnan,
    "isnan(x * 2 + 1)": np.isnan,
    "isnan(x - x)": lambda x: ~np.isfinite(x),
    "fpclassify(x) == FP_NAN": np.isnan,
    "isinf(x) != 0": np.isinf,
    "x == INFINITY || x == -INFINITY": np.isinf,
    "x > MAX || x < -MAX": np.isinf,
    "fabs(x) == HUGE_VAL": np.isinf,
    "fpclassify(x) == FP_INFINITE": np.isinf,
    "isinf(1 / x) != 0": lambda x: x == 0,
    "isfinite(x)": np.isfinite,
    "isfinite(x) && x < 1e30": lambda x: np.isfinite(x) & (x < 1e30),
    "!isfinite(sqrt(x))": lambda x: ~np.isfinite(np.sqrt(x)),
    "isnan(fmax(x, 1)) || fmax(x, 1) < 1": lambda x: np.zeros_like(x, bool),
    "fmin(x, 1) == 1": lambda x: np.isnan(x) | (x >= 1),
}


@pytest.mark.row("G15")
@pytest.mark.parametrize("dtype", TYPES)
def test_nan_and_infinity_can_be_told(dtype: Any) -> None:
    compiler()
    suffix, most = TYPES[dtype]
    names = [f"t{i}" for i in range(len(TESTS))]
    texts = [test.replace("MAX", most) for test in TESTS]
    for function in ("fabs", "sqrt", "fmax", "fmin"):
        texts = [text.replace(function + "(", function + suffix + "(") for text in texts]
    code = "const ctype__x x = item__x();" + "".join(
        f"item__{name}() = {text};" for name, text in zip(names, texts, strict=True)
    )
    f = wrap_signature(
        "x() -> " + ", ".join(f"{name}()" for name in names),
        {(dtype, *[np.bool_] * len(names)): code + "return true;"},
        fastmath=True,
        optimize="eager",
    )
    assert f.tier == "cc"
    edges = np.array([np.nan, np.inf, -np.inf, 0.0, 1.0, -1.0, 1e20, 0.5], dtype)
    x = np.tile(edges, 37)
    with np.errstate(all="ignore"):
        for test, result in zip(TESTS, f(x), strict=True):
            assert np.array_equal(result, TESTS[test](x)), test


@pytest.mark.quick
@pytest.mark.row("G15")
def test_functions_of_libm_still_give_nan_and_infinity() -> None:
    """Also those that compute several values at once."""
    compiler()
    names = ("exp", "log", "sin", "sqrt", "pow", "atan")
    code = "".join(f"item__{name}_() = {name}({'x, -2' if name == 'pow' else 'x'});" for name in names)
    f = wrap_signature(
        "x() -> " + ", ".join(f"{name}_()" for name in names),
        "const double x = item__x();" + code + "return true;",
        fastmath=True,
        optimize="eager",
    )
    x = np.tile([np.nan, np.inf, -np.inf, 0.0, -1.0, 1000.0, 2.0, 1e-3], 37)
    with np.errstate(all="ignore"):
        for name, result in zip(names, f(x), strict=True):
            wanted = x**-2.0 if name == "pow" else getattr(np, {"atan": "arctan"}.get(name, name))(x)
            assert np.array_equal(np.isnan(result), np.isnan(wanted)), name
            assert np.array_equal(np.isinf(result), np.isinf(wanted)), name
            assert np.allclose(result, wanted, rtol=1e-12, equal_nan=True), name


@pytest.mark.row("G15")
def test_a_masked_mean_with_fastmath() -> None:
    """What people write: NaN stands for a missing value."""
    compiler()
    code = """
        double sum = 0;
        npy_intp n = 0;
        for (npy_intp i = 0; i < dims_slice__x[0]; i++)
            if (!isnan(item__x(i))) {
                sum += item__x(i);
                n++;
            }
        item__y() = n ? sum / n : NAN;
        return true;"""
    f = wrap_signature("x(n) -> y()", code, fastmath=True, optimize="eager")
    x = np.random.default_rng(2).random((200, 64))
    x[x < 0.3] = np.nan
    x[7] = np.nan
    with pytest.warns(RuntimeWarning, match="empty slice"):
        wanted = np.nanmean(x, axis=1)
    assert np.allclose(f(x), wanted, equal_nan=True)
