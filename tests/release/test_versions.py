"""Tests that all supported CPythons and NumPys give the same results (`make test-all-pythons` and others)."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import re
import shutil
import sys

import numpy as np
import pytest
from conftest import packages_without_a_build
from helpers import INNER, OUTER, ar, refuses, run_quietly, wrap

import cwrapjit

HERE = pathlib.Path(__file__).resolve().parents[2]


def minor_versions() -> list[int]:
    """Returns the minor versions of CPython in tools/test_pythons.sh."""
    script = (HERE / "tools" / "test_pythons.sh").read_text()
    return [int(each) for each in re.findall(r"^for minor in ([\d ]+); do$", script, re.MULTILINE)[0].split()]


@pytest.mark.row("N83", "X01")
def test_the_same_versions_are_named_everywhere() -> None:
    """Compares the lists of versions that are tested, documented, and built from source."""
    minors = minor_versions()
    assert minors == list(range(10, 16))
    project = (HERE / "pyproject.toml").read_text()
    named = re.findall(r'^    "Programming Language :: Python :: 3\.(\d+)",$', project, re.MULTILINE)
    assert [int(each) for each in named] == minors
    limits = (HERE / "docs" / "limits.md").read_text()
    assert re.findall(r"CPython 3\.(\d+) to 3\.(\d+)", limits) == [(str(minors[0]), str(minors[-1]))]
    script = (HERE / "tools" / "test_new_pythons.sh").read_text()
    new = re.findall(r'^pythons="(.*)"$', script, re.MULTILINE)[0].split()
    assert new == [f"3.{minor}" for minor in minors][-len(new) :]
    wheels = re.findall(r"cp3(\d+)-\*", project.partition("[tool.cibuildwheel]")[2].partition("\nskip")[0])
    assert [int(each) for each in wheels] == minors


@pytest.mark.row("N83", "X01")
def test_this_interpreter_is_a_supported_one() -> None:
    """It is the one that `make test-all-pythons` or `make test-new-pythons` names, with its own package."""
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


@pytest.mark.row("X01")
def test_what_has_no_build_for_an_interpreter_is_marked() -> None:
    """With CWRAPJIT_NO_SKIPS only such packages may be missing, depending on the interpreter alone."""
    project = (HERE / "pyproject.toml").read_text()
    markers = re.findall(r'^    "[\w.-]+[^"]*; ([^"]*)",', project.partition("[tool.")[0], re.MULTILINE)
    assert all(re.fullmatch(r"python_version < '3\.1\d'", each) for each in markers)
    assert packages_without_a_build(project, {"python_version": "3.13"}) == set()
    assert packages_without_a_build(project, {"python_version": "3.15"}) <= {"pytensor", "jax"}
    for name in packages_without_a_build(project):
        assert importlib.util.find_spec(name) is None, f"there is a build of {name}: its marker can go"


# Private names that the extension may import: pattern, first CPython without permission, reason.
PRIVATE_NAMES = [
    (r"_Py_(None|True|False|NotImplemented)Struct", None, "Py_None and its like; of the stable ABI"),
    (r"_Py_Dealloc", None, "Py_DECREF(); of the stable ABI"),
    (r"_Py\w+_SizeT", (3, 13), "PY_SSIZE_T_CLEAN of Python.h; of the stable ABI"),
    (r"_PyObject_MakeTpCall|_Py_CheckFunctionResult", (3, 11), "PyObject_Vectorcall(), in line there"),
    (r"_PyTrash_\w+", (3, 14), "Py_TRASHCAN_BEGIN, whose text Python.h has"),
    (r"_PyThreadState_UncheckedGet", (3, 13), "compat.h: there was no public name before"),
    (r"_Py_IsFinalizing", (3, 13), "compat.h: there was no public name before"),
]


@pytest.mark.row("X01")
def test_the_extension_uses_nothing_that_is_private_to_cpython() -> None:
    """Private names may vanish in any version. The list has only the necessary ones."""
    nm = shutil.which("nm") or pytest.skip("nm is not installed (apt install binutils)")
    symbols = run_quietly([nm, "-D", "--undefined-only", cwrapjit._cwrapjit.__file__]).stdout
    names = set(re.findall(r"\b_Py\w+", symbols))
    usable = [pattern for pattern, until, _ in PRIVATE_NAMES if until is None or sys.version_info < until]
    assert not [name for name in names if not any(re.fullmatch(each, name) for each in usable)]
    assert not [pattern for pattern in usable if not any(re.fullmatch(pattern, name) for name in names)]
