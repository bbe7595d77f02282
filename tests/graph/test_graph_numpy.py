"""Tests that NumPy's functions raise TypeError for variables of graphs, and never compute something else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers import refuses

import cwrapjit
import cwrapjit.graph as cg

pytestmark = pytest.mark.row("T16")

x, y, m = cg.ndarray("float64", 1)("x"), cg.float64("y"), cg.ndarray("float64", 2)("m")
array = np.ones(3)

FUNCTIONS: dict[str, Callable[[], Any]] = {
    "numpy.mean": lambda: np.mean(x),
    "numpy.dot": lambda: np.dot(m, x),
    "numpy.cumsum": lambda: np.cumsum(x),
    "numpy.ravel": lambda: np.ravel(m),
    "numpy.flip": lambda: np.flip(x),
    "numpy.where": lambda: np.where(x > 0, x, 0),
    "numpy.linalg.norm": lambda: np.linalg.norm(x),
    "numpy.shape": lambda: np.shape(x),
    "numpy.concatenate": lambda: np.concatenate([x, array]),
    "numpy.array_equal": lambda: np.array_equal(x, x),
    "numpy.copyto": lambda: np.full_like(array, x),
}
ARRAYS: dict[str, Callable[[], Any]] = {
    "array": lambda: np.asarray(x),
    "method": lambda: array.dot(x),
    "list": lambda: np.sum([x, x]),
    "full": lambda: np.full(3, y),
}
COMPARISONS: dict[str, Callable[[], Any]] = {
    "==": lambda: x == y,
    "itself": lambda: x == x,
    "!=": lambda: x != y,
    "in": lambda: x in [y],
    "number": lambda: y == 2.0,
    "array": lambda: array == x,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_numpy_are_named(name: str) -> None:
    refuses(TypeError, FUNCTIONS[name], name + "()")


@pytest.mark.parametrize("case", ARRAYS)
def test_variables_are_no_arrays(case: str) -> None:
    refuses(TypeError, ARRAYS[case], "no value yet")


@pytest.mark.parametrize("case", COMPARISONS)
def test_equality_is_never_silent(case: str) -> None:
    refuses(TypeError, COMPARISONS[case], "is no op")


def test_ufuncs_are_refused_and_identity_stays() -> None:
    refuses(TypeError, lambda: np.sqrt(x), "NumericVariable")
    assert x in [x, y] and {x: 1, y: 2}[y] == 2 and len({x, y, x}) == 2
    assert cwrapjit.link([x], np.linspace(0, 1, 3) * x)(array).tolist() == [0, 0.5, 1]
