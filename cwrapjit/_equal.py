"""Compares values for link(check=True)."""

from __future__ import annotations

from typing import Any

import numpy as np


def equal(computed: Any, expected: Any) -> bool:
    """Compares values; arrays also by shape and dtype. NaN equals NaN."""
    if isinstance(computed, np.ndarray) or isinstance(expected, np.ndarray):
        one, other = np.asarray(computed), np.asarray(expected)
        return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind in "fc")
    return bool(computed == expected) or bool(computed != computed and expected != expected)


def same(type: Any, computed: Any, expected: Any) -> bool:
    """Compares by the type's values_eq_approx, else by its values_eq, else by equal(). Identical floats are
    equal without asking the type: users' approximations often divide by zero there."""
    if computed is expected:
        return True
    if isinstance(computed, float) and isinstance(expected, float):
        x, y = float(computed), float(expected)
        if x == y or (x != x and y != y):
            return True
    compare = getattr(type, "values_eq_approx", getattr(type, "values_eq", equal))
    return bool(compare(computed, expected))
