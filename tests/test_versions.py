"""The same results with every supported CPython and NumPy; `make test-all-pythons` runs these under each."""

from __future__ import annotations

import os
import pathlib
import re
import sys

import numpy as np
import pytest
from helpers import INNER, OUTER, ar, refuses, wrap

import cwrapjit

HERE = pathlib.Path(__file__).resolve().parent.parent


@pytest.mark.row("N83")
def test_this_interpreter_is_a_supported_one() -> None:
    """Also the one that `make test-all-pythons` says it is, and the package the one that it installed."""
    assert sys.version_info >= (3, 10)
    assert np.lib.NumpyVersion(np.__version__) >= "1.26.0"
    wanted = os.environ.get("CWRAPJIT_TEST_PYTHON")
    if wanted is not None:
        python, numpy = wanted.split()
        assert f"{sys.version_info.major}.{sys.version_info.minor}" == python
        if numpy == "numpy==1.26.*":
            assert np.__version__.startswith("1.26.")
        else:
            assert numpy == "numpy>=2" and np.lib.NumpyVersion(np.__version__) >= "2.0.0"
        assert pathlib.Path(sys.prefix) in pathlib.Path(cwrapjit.__file__).parents


@pytest.mark.row("N83")
def test_the_suite_runs_on_all_of_them() -> None:
    """On those that the machine has, one with the oldest NumPy; CI does it for every change."""
    script = (HERE / "tools" / "test_pythons.sh").read_text()
    first, last = re.findall(r"^for minor in (\d+) .*?(\d+); do$", script, re.MULTILINE)[0]
    assert (first, script.count("numpy==1.26.*")) == ("10", 1) and int(last) >= 13
    assert re.search(r"^ *make test-all-pythons$", (HERE / ".ci" / "run").read_text(), re.MULTILINE)


@pytest.mark.row("N83")
def test_results_do_not_depend_on_the_version() -> None:
    inner = wrap((("n",), ("n",)), (), {float: INNER, np.float32: INNER, (float, float, np.int32): INNER})
    outer = wrap((("n",), ("m",)), ("n", "m"), OUTER)
    assert inner(ar(4), ar(2, 4)).tolist() == [14.0, 38.0]
    assert inner(ar(4), ar(2, 4), out=np.zeros(2, np.int32)).tolist() == [14, 38]
    assert outer(ar(2), ar(3)).tolist() == [[0, 0, 0], [0, 1, 2]]
    assert type(inner(ar(2), ar(2))) is np.float64
    refuses(TypeError, lambda: inner([1, 2], [3, 4]), "int64", "float64")
    refuses(ValueError, lambda: inner(ar(2), ar(3)), "'n'", "must be 2", "got 3")


@pytest.mark.row("N83")
def test_complex_structs_are_the_same_in_every_numpy() -> None:
    f = wrap(
        ((),),
        (),
        {np.complex128: "ctype__a v = {item__a().imag, item__a().real}; item__output() = v; return true;"},
    )
    assert f(1 + 2j) == 2 + 1j


@pytest.mark.row("N83")
def test_readme_says_what_the_package_asks_for() -> None:
    project = (HERE / "pyproject.toml").read_text()
    oldest = re.findall(r'^requires-python = ">=([\d.]+)"$', project, re.MULTILINE)
    numpy = re.findall(r'^dependencies = \[.*"numpy>=([\d.]+)"', project, re.MULTILINE)
    readme = (HERE / "README.md").read_text()
    assert re.findall(r"\bCPython ([\d.]+) or newer\b", readme) == oldest == ["3.10"]
    assert re.findall(r"\bNumPy \(([\d.]+) or newer\)", readme) == numpy == ["1.26"]
    assert "Python 2 is out of scope" in readme
