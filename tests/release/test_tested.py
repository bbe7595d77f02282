"""Tests the results of a test run, the part of the tests that runs, and the page with the results."""

from __future__ import annotations

import os
import pathlib
import platform
import re
import subprocess
import sys

import numpy as np
import pytest

HERE = pathlib.Path(__file__).resolve().parents[2]
TESTED = HERE / "tools" / "tested.py"

ONE_OF_EACH = """
import pytest

def test_pass(): pass
def test_fail(): assert False
def test_skip(): pytest.skip("this one is skipped")
def test_absent(): pytest.importorskip("no_such_package")
@pytest.fixture
def broken(): raise ValueError
def test_error(broken): pass
"""


def run(folder: pathlib.Path, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Runs the tests in this folder with our conftest.py."""
    (folder / "conftest.py").write_text("from tests_conftest import *\n")
    (folder / "tests_conftest.py").write_text((HERE / "tests" / "conftest.py").read_text())
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = leak\n")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE / "tests"), *sys.path[1:]])}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(
        command, cwd=folder, env={**environment, **settings}, capture_output=True, text=True
    )


def test_a_run_is_a_line_of_the_page(tmp_path: pathlib.Path) -> None:
    """The line names the versions. Skips for missing packages and unfinished runs count as failures."""
    (tmp_path / "test_four.py").write_text(ONE_OF_EACH)
    settings = {"CWRAPJIT_RESULTS": "folder/results", "CWRAPJIT_NO_SKIPS": "1"}
    assert run(tmp_path, CWRAPJIT_RESULTS_PART="whole", **settings).returncode == 1
    assert run(tmp_path, "-k", "nothing", CWRAPJIT_RESULTS_PART="nothing", **settings).returncode == 5
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- made by `make release-check` -->\nold\n<!-- end -->\nbehind\n")
    subprocess.run([sys.executable, TESTED, tmp_path / "folder" / "results", page, "e631adf"], check=True)
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("\nbehind\n") and "old" not in text
    assert re.search(r"On \d{4}-\d\d-\d\d, of commit e631adf:", text)
    table = [line.split("|")[1:-1] for line in text.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line] for line in table]
    one, nothing = cells[2:]
    assert one[:3] == [platform.machine(), platform.python_version(), np.__version__]
    assert re.fullmatch(r"glibc \d\.\d+", one[3]) and re.fullmatch(r"none|(gcc|clang|zig) \d[\d.]+", one[4])
    assert one[5:10] == ["whole", "1", "3", "1", "0"]
    assert nothing[5:8] == ["nothing", "0", "1"]


@pytest.mark.soak("six runs of pytest")
def test_the_part_that_runs_changes_by_commit(tmp_path: pathlib.Path) -> None:
    """The printed part selects the same tests again."""
    names = [f"test_{k}" for k in range(10)]
    (tmp_path / "test_ten.py").write_text("".join(f"def {name}(): pass\n" for name in names))
    seen = []
    for commit in ("5", "6c", "fffffff0"):
        done = run(tmp_path, "-v", "--every", "4", CWRAPJIT_COMMIT=commit)
        seen += re.findall(r"::(\w+) PASSED", done.stdout)
        (part,) = re.findall(r"--every (4:\d)", done.stdout)
        again = run(tmp_path, "-v", "--every", part, CWRAPJIT_COMMIT="1")
        assert re.findall(r"::(\w+) PASSED", again.stdout) == names[int(part[2]) :: 4]
    assert seen == names[1::4] + names[0::4] + names[0::4]
