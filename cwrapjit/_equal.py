"""What counts as equal for a type that does not say: link(check=True) asks here."""

from __future__ import annotations

from typing import Any

import numpy as np


def equal(computed: Any, expected: Any) -> bool:
    """Same values; arrays also in shape and dtype. NaN equals NaN."""
    if isinstance(computed, np.ndarray) or isinstance(expected, np.ndarray):
        one, other = np.asarray(computed), np.asarray(expected)
        return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind in "fc")
    return bool(computed == expected) or bool(computed != computed and expected != expected)
