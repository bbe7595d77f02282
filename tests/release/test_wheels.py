"""Tests the wheels of `make wheel` for this Python: tags, machine, symbols, licences; no compiler needed."""

from __future__ import annotations

import os
import pathlib
import re
import sys
import zipfile

import elf
import pytest
from helpers import python
from test_release import OF_GLIBC, extension_for, holds_the_package, in_c, newest


def wheels(machine: str) -> list[pathlib.Path]:
    """Returns the wheels for this Python, the newest last."""
    minor = sys.version_info[1]
    pattern = f"cwrapjit-{in_c()}-cp3{minor}-cp3{minor}-*_{machine}.whl"
    found = pathlib.Path(os.environ["CWRAPJIT_WHEELS"]).glob(pattern)
    return sorted(found, key=lambda path: path.stat().st_mtime)


HERE = os.uname().machine


@pytest.fixture(params=[HERE, *(each for each in ("x86_64", "aarch64") if each != HERE and wheels(each))])
def made_wheel(request: pytest.FixtureRequest) -> tuple[pathlib.Path, str]:
    """Returns the wheel and its machine."""
    return wheels(request.param)[-1], request.param


@pytest.mark.row("X03")
def test_a_wheel_is_for_systems_with_glibc_2_28(made_wheel: tuple[pathlib.Path, str]) -> None:
    """The name says so. The extension needs no newer symbols, and of libraries only glibc's."""
    path, machine = made_wheel
    *_, tags = path.stem.split("-")
    glibc = [tuple(map(int, each)) for each in re.findall(r"manylinux_(\d+)_(\d+)_", tags)]
    assert glibc and min(glibc) <= (2, 28)
    found = elf.read(zipfile.ZipFile(path).read(extension_for(machine)))
    assert found.machine == elf.MACHINES[machine]
    assert newest(found.versions) <= min(glibc)
    assert [name for name in found.needs if not OF_GLIBC.fullmatch(name)] == []
    assert found.exports == {"PyInit__cwrapjit"}
    assert found.search_paths == [] and not found.has_symbol_table and not found.stack_is_executable


@pytest.mark.row("X03", "X06")
def test_a_wheel_holds_the_package_its_licences_and_no_library(made_wheel: tuple[pathlib.Path, str]) -> None:
    path, machine = made_wheel
    holds_the_package(zipfile.ZipFile(path), machine)
    assert path.stat().st_size < 2e6


FIRST_TIER = """
import os, sys
import cwrapjit
excess = cwrapjit.vectorize("double excess(double x, double y) { return x > y ? x - y : 0; }")
assert excess([18.5, 25.5], [[20.0], [24.0]]).tolist() == [[0.0, 5.5], [0.0, 1.5]]
libm = cwrapjit.library("libm", libraries=["m"])
hypot = libm.function("double hypot(double x, double y)", broadcast=True)
assert hypot([9.0, 16.0], 12.0).tolist() == [15.0, 20.0]
assert excess.tier == "tcc" and cwrapjit._cwrapjit.optimizer()["compiler"] is None
print(cwrapjit.__file__)
"""


@pytest.mark.row("X03")
def test_a_wheel_runs_without_a_compiler(tmp_path: pathlib.Path) -> None:
    zipfile.ZipFile(wheels(HERE)[-1]).extractall(tmp_path)
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}){FIRST_TIER}"
    done = python(code, env={"PATH": "", "CWRAPJIT_CC": "none"}, cwd=tmp_path)
    assert pathlib.Path(done.stdout.strip()).parent == tmp_path / "cwrapjit"
