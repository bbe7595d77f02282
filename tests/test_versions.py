"""The same results with every supported CPython and NumPy; `make test-all-pythons` runs these under each."""

from __future__ import annotations

import pathlib
import sys

import numpy as np
import pytest
from helpers import IN, OUTER, F, R, ar

import cwrapjit

HERE = pathlib.Path(__file__).resolve().parent.parent


@pytest.mark.row("N83")
def test_this_interpreter_is_a_supported_one() -> None:
    assert sys.version_info >= (3, 10)
    assert np.lib.NumpyVersion(np.__version__) >= "1.26.0"
    assert cwrapjit.__version__


@pytest.mark.row("N83")
def test_results_do_not_depend_on_the_version() -> None:
    inner = F((("n",), ("n",)), (), {float: IN, np.float32: IN, (float, float, np.int32): IN})
    outer = F((("n",), ("m",)), ("n", "m"), OUTER)
    assert inner(ar(4), ar(2, 4)).tolist() == [14.0, 38.0]
    assert inner(ar(4), ar(2, 4), out=np.zeros(2, np.int32)).tolist() == [14, 38]
    assert outer(ar(2), ar(3)).tolist() == [[0, 0, 0], [0, 1, 2]]
    assert type(inner(ar(2), ar(2))) is np.float64
    R(TypeError, lambda: inner([1, 2], [3, 4]), "int64", "float64")
    R(ValueError, lambda: inner(ar(2), ar(3)), "'n'", "2", "3")


@pytest.mark.row("N83")
def test_complex_structs_are_the_same_in_every_numpy() -> None:
    f = F(
        ((),),
        (),
        {np.complex128: "ctype__a v = {item__a().imag, item__a().real}; item__output() = v; return true;"},
    )
    assert f(1 + 2j) == 2 + 1j


@pytest.mark.row("N83")
def test_readme_and_packaging_say_which_versions() -> None:
    project = (HERE / "pyproject.toml").read_text()
    assert 'requires-python = ">=3.10"' in project
    assert "Python 2" in (HERE / "README.md").read_text()
