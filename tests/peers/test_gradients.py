"""Gradients of functions of SciPy that jit() knows."""

from __future__ import annotations

import numpy as np
import pytest

import cwrapjit
from cwrapjit.tracing import ops


@pytest.mark.row("J06")
@pytest.mark.parametrize("name", ops.OF_SCIPY)
def test_functions_of_scipy(name: str) -> None:
    function = getattr(pytest.importorskip("scipy.special"), name)
    x, step = np.linspace(-2, 2, 41), 1e-6
    made = cwrapjit.grad(lambda v: function(v).sum())(x)
    np.testing.assert_allclose(made, (function(x + step) - function(x - step)) / (2 * step), rtol=1e-7)
