"""Tests docs/coming: the code for other packages runs, too, and gives the same results as ours."""

from __future__ import annotations

import importlib.util
import itertools
import re
import shutil
import subprocess
import sys
from pathlib import Path

import documents
import pytest

ROOT = Path(__file__).resolve().parents[2]
COMING = ROOT / "docs" / "coming"

needs_gfortran = pytest.mark.skipif(
    shutil.which("gfortran") is None, reason="no gfortran on this machine (apt install gfortran)"
)

needs_jax = pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="could not import 'jax'")

FORTRAN = ("f2py.md", "pyccel.md")

# Pages on which only our code can run, and the reason.
ALONE = {"index.md": "an overview", "cupy.md": "needs CUDA"}


def run(page: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tests" / "theirs.py"), str(page)]
    return subprocess.run(command, capture_output=True, text=True, timeout=1200, cwd=folder)


def parameters() -> list[object]:
    """Returns the pages. Those that need gfortran (Pyccel does, even for C) or JAX are skipped without."""
    found = sorted(path.name for path in COMING.glob("*.md") if path.name not in ALONE)
    needs = {**dict.fromkeys(FORTRAN, needs_gfortran), "jax.md": needs_jax}
    return [pytest.param(page, marks=needs.get(page, ())) for page in found]


@pytest.mark.row("U13")
@pytest.mark.parametrize("page", parameters())
def test_theirs_gives_what_ours_gives(page: str, tmp_path: Path) -> None:
    done = run(COMING / page, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "theirs as promised, and as ours" in done.stdout and ": 0 blocks" not in done.stdout


OURS = 'import cwrapjit\ntwice = cwrapjit.vectorize("double twice(double x) { return 2 * x; }")'


@pytest.mark.row("U13")
@pytest.mark.parametrize(
    ("page", "theirs", "wrong"),
    [
        ("example.md", "def twice(x): return 2 * x + 1", "Not equal to tolerance"),
        ("numba.md", "def twice(x): return 2 * x", "defined by both: ['twice']; in CALLS: ['ewma'"),
        ("example.md", "print(1)  # -> 2", "printed ['1'], promised ['2']"),
    ],
)
def test_a_page_that_is_not_true_is_found(page: str, theirs: str, wrong: str, tmp_path: Path) -> None:
    file = tmp_path / page
    file.write_text(f"```python\n{OURS}\n```\n```python theirs\n{theirs}\n```\n")
    done = run(file, tmp_path)
    assert done.returncode == 1 and wrong in done.stderr


def lines_of(text: str) -> int:
    """Counts lines without imports, comments and print(); in C text all lines except #include."""
    return len(re.findall(r"^ *(?!#|import |from |print\()\S.*$", text, re.MULTILINE))


def counted(page: Path) -> dict[str, list[int]]:
    """Maps headings to the numbers of lines, theirs and ours, of blocks that follow each other."""
    text = page.read_text(encoding="utf-8").splitlines()
    blocks = documents.blocks(page)
    found: dict[str, list[int]] = {}
    for theirs, ours in itertools.pairwise(blocks):
        if (theirs.language, ours.language) == ("python theirs", "python"):
            heading = [line[3:] for line in text[: theirs.line] if line.startswith("## ")][-1]
            before = found.get(heading, [0, 0])
            found[heading] = [before[0] + lines_of(theirs.text), before[1] + lines_of(ours.text)]
    return found


@pytest.mark.row("U13")
@pytest.mark.parametrize("page", ["cffi.md", "ctypes.md"])
def test_lines_are_counted_rightly(page: str) -> None:
    section = (COMING / page).read_text(encoding="utf-8").split("## Lines\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (.+?) \| (\d+) \| (\d+) \|$", section, re.MULTILINE)
    assert {name: [int(theirs), int(ours)] for name, theirs, ours in rows} == counted(COMING / page)
