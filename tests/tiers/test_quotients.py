"""Tests that integer quotients, remainders and differences from zero are the same in both tiers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cwrapjit

pytestmark = [pytest.mark.row("G08"), pytest.mark.compiler("compares both tiers")]

# With -fwrapv gcc turns -(a / b) into a / -b: a trap for the most negative a and b == 1.
FORMS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "-(x / {d})": lambda q, r, x: -q,
    "~(x / {d}) + x": lambda q, r, x: ~q + x,
    "x - x / {d}": lambda q, r, x: x - q,
    "5 - x / {d}": lambda q, r, x: 5 - q,
    "5 - (x - x % {d})": lambda q, r, x: 5 - (x - r),
    "-(x % {d}) - x / {d}": lambda q, r, x: -r - q,
    "-QUOTIENT(x, {d})": lambda q, r, x: -q,
}
DIVISORS: dict[str, Callable[[Any, Any], Any]] = {
    "((x & 7) + 1)": lambda x, y: x % 8 + 1,
    "(y + 1)": lambda x, y: y + 1,
    "(T)(2 * y + 1)": lambda x, y: 2 * y + 1,
    "- - (y + 1)": lambda x, y: y + 1,
    "COUNT(y)": lambda x, y: y + 1,
    "(6 / (1 / (y + 1) + 1) + y)": lambda x, y: 6 // (1 // (y + 1) + 1) + y,  # nested divisors
}
MACROS = "#define QUOTIENT(a, b) ((a) / (b))\n#define COUNT(n) ((n) + 1)\n"


@pytest.mark.parametrize("name", ["int8", "int16", "int32", "int64"])
def test_both_tiers_divide_alike(name: str) -> None:
    least = int(np.iinfo(name).min)
    x = np.array([least, least + 1, -8, -1, 0, 1, 7, 100], name)[:, None]
    y = np.array([0, 1, 2, 6, 19], name)
    wide, by = np.broadcast_arrays(x.astype(object), y.astype(object))
    for divisor, value in DIVISORS.items():
        d = value(wide, by)
        q = np.sign(wide) * (abs(wide) // d)  # rounded as in C
        lines = "".join(f"*out{i} = {form.format(d=divisor)};" for i, form in enumerate(FORMS))
        outs = "".join(f", OUT T *out{i}" for i in range(len(FORMS)))
        text = f"#define T npy_{name}\n{MACROS}void f(T x, T y{outs}) {{ {lines} }}"
        first, second = (cwrapjit.vectorize(text, optimize=tier) for tier in ("off", "eager"))
        for form, one, other in zip(FORMS, first(x, y), second(x, y), strict=True):
            wanted = (FORMS[form](q, wide - q * d, wide) - least) % (-2 * least) + least
            assert one.tolist() == other.tolist() == wanted.tolist(), (form, divisor)
        assert second.tier == "cc", second.tier_error


def test_divisors_in_macros_of_functions_of_arrays() -> None:
    """Loops over arrays have conditions of their own, which contain no macro of the text."""
    text = f"""#define T int
        {MACROS}void f(int n, const T x[n], const T y[n], OUT T q[n])
        {{ for (int i = 0; i < n; i++) q[i] = -QUOTIENT(x[i], COUNT(y[i])); }}"""
    least = np.iinfo(np.int32).min
    x, y = np.array([least, least, 7], np.int32), np.array([0, 1, 2], np.int32)
    for tier in ("off", "eager"):
        f = cwrapjit.vectorize(text, optimize=tier)
        assert f(x, y).tolist() == [least, 2**30, -2]
    assert f.tier == "cc", f.tier_error


@pytest.mark.parametrize(
    "form",
    ["0.0 - fabs(x)", "0.0 - i", "0. - (float)i", "0.0f - i", "0 - fabs(x)", "0e1 + -fabs(x)", "NEGATED(x)"],
)
def test_zero_less_zero_is_zero(form: str) -> None:
    """gcc 12 turns 0.0 - fabs(x) into -fabs(x), which is -0.0 for 0."""
    text = f"""#define NEGATED(x) (0.0 - fabs(x))
        double f(double x, int i) {{ (void)x, (void)i; return {form}; }}"""
    x = np.array([0.0, -0.0, 2.0])
    for tier in ("off", "eager"):
        f = cwrapjit.vectorize(text, optimize=tier)
        found = f(x, x.astype(np.int32))
        assert found.tolist() == [0, 0, -2] and np.signbit(found).tolist() == [False, False, True]
    assert f.tier == "cc", f.tier_error


def test_constant_divisors_stay_constant() -> None:
    """C may need a constant there, and loops must not become slower."""
    f = cwrapjit.vectorize(
        """
        #define UP(n, m) (((n) + (m) - 1) / (m))
        enum { WIDTH = 4 };
        static const double table[UP(10, WIDTH)] = {1, 2, 3};
        double f(int x) {
            static const double own[12 / WIDTH] = {1, 2, 3};
            switch (x) {
            case 8 / WIDTH: return own[8 / WIDTH];
            default: return table[x % UP(10, WIDTH)];
            }
        }""",
        optimize="eager",
    )
    assert f(np.arange(5, dtype=np.int32)).tolist() == [1, 2, 3, 1, 2]
    assert f.tier == "cc", f.tier_error
    macro = "#define UP(n, m) (((n) + (m) - 1) / (m))\n"
    condition = f"{macro}#if UP(9, 4) == 3\nint f(int x) {{ return -(x / UP(x, 4)); }}\n#endif"
    g = cwrapjit.vectorize(condition, optimize="eager")
    assert g(np.int32(10)) == -3 and g.tier == "cc", g.tier_error
