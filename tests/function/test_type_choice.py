"""Which type set runs, whatever ran before: a quick way to the last one must not change the choice."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from helpers import wrap
from hypothesis import given, settings
from hypothesis import strategies as st

# Each set says its number in its output; some take the same inputs, some differ in the second alone.
SETS = [
    (np.float32, np.float32, np.float32),
    (np.float32, np.float64, np.float64),
    (np.float64, np.float64, np.float64),
    (np.float64, np.float64, np.int64),
    (np.int64, np.uint8, np.int16),
    (np.int64, np.int64, np.int64),
    (np.complex128, np.float64, np.float64),
]
CODE = {types: f"item__output() = {index}; return true;" for index, types in enumerate(SETS)}
ARGUMENTS = [
    *(np.ones(2, t) for t in (np.float32, np.float64, np.int64, np.longlong, np.uint8, np.complex128)),
    np.ones(()),
    np.ones(2, ">f8"),
    *(np.float32(1), np.float64(1), np.int64(1), np.uint8(1), np.complex128(1), np.longlong(1)),
    *(1, 1.0, 300, -1, 2**24 + 1, 2**60 + 1, True, 1j, 1e300),
    [1.0, 2.0],
]
OUTS = [None, *(np.empty(2, types[2]) for types in SETS[1:5])]


def outcome(f: Any, a: Any, b: Any, out: Any) -> Any:
    """What f makes of these: its type and value, or its complaint."""
    try:
        result = np.asarray(f(a, b) if out is None else f(a, b, out=out))
    except (TypeError, ValueError, OverflowError) as error:
        return type(error), str(error)
    return result.dtype, result.shape, result.flat[0]


CASES = list(itertools.product(ARGUMENTS, ARGUMENTS, OUTS))


@pytest.mark.row("N40", "N11i")
@pytest.mark.filterwarnings("ignore:overflow")
@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, len(CASES) - 1), min_size=2, max_size=8))
def test_calls_before_change_nothing(order: list[int]) -> None:
    """A function that has been called with other types answers as one that has not."""
    veteran = wrap(((), ()), (), CODE)
    for index in order:
        assert outcome(veteran, *CASES[index]) == outcome(wrap(((), ()), (), CODE), *CASES[index])
