"""What counts as equal: link(check=True) asks here."""

from __future__ import annotations

from typing import Any

import numpy as np


def equal(computed: Any, expected: Any) -> bool:
    """Same values; arrays also in shape and dtype. NaN equals NaN."""
    if isinstance(computed, np.ndarray) or isinstance(expected, np.ndarray):
        one, other = np.asarray(computed), np.asarray(expected)
        return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind in "fc")
    return bool(computed == expected) or bool(computed != computed and expected != expected)


def same(type: Any, computed: Any, expected: Any) -> bool:
    """What the type says: its values_eq_approx, else values_eq, else as above. Two floats that are the same
    are equal anyway: the approximations that people write divide by zero there.
    """
    if computed is expected:
        return True
    if isinstance(computed, float) and isinstance(expected, float):
        x, y = float(computed), float(expected)
        if x == y or (x != x and y != y):
            return True
    compare = getattr(type, "values_eq_approx", getattr(type, "values_eq", equal))
    return bool(compare(computed, expected))
