"""The programs in examples/ run, and their own comparison with NumPy holds."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(name: str, folder: Path) -> str:
    command = [sys.executable, str(EXAMPLES / name)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.row("U10", "N08", "N36")
def test_inner_prints_what_its_docstring_says(tmp_path):
    source = (EXAMPLES / "inner.py").read_text(encoding="utf-8")
    promised = re.findall(r"^    (\[.*|  ?\[.*)$", source.split('"""')[1], re.MULTILINE)
    assert run("inner.py", tmp_path).splitlines() == promised
    assert len(promised) == 3


@pytest.mark.row("U10")
def test_hillshade_agrees_with_numpy_and_draws(tmp_path):
    pytest.importorskip("matplotlib", reason="the demo extra is not installed")
    printed = run("hillshade.py", tmp_path)
    difference = re.search(r"largest difference +(\S+)", printed)
    assert difference is not None
    assert float(difference[1]) <= 1e-12
    picture = re.search(r"picture +(\S.*)$", printed, re.MULTILINE)
    assert picture is not None
    assert Path(picture[1]).read_bytes().startswith(b"\x89PNG")


@pytest.mark.row("U10")
def test_the_graph_agrees_with_numpy(tmp_path):
    printed = run("graph.py", tmp_path)
    difference = re.search(r"largest difference +(\S+)", printed)
    assert difference is not None
    assert float(difference[1]) <= 1e-12
    assert re.search(r"cwrapjit +\S+ ms +\S+ us", printed)
    assert list(tmp_path.iterdir()) == []


def test_blas_agrees_with_numpy(tmp_path):
    pytest.importorskip("scipy_openblas32", reason="the demo extra is not installed")
    printed = run("blas.py", tmp_path)
    difference = re.search(r"largest difference from NumPy +(\S+)", printed)
    assert difference is not None
    assert float(difference[1]) <= 1e-10
    assert "LinAlgError: the matrix is singular: pivot 1 is zero" in printed
    assert re.search(r"^TypeError: .*A", printed, re.MULTILINE)
    assert re.search(r"^ValueError: .*k", printed, re.MULTILINE)


def test_a_special_function_agrees_with_its_integral(tmp_path):
    printed = run("special.py", tmp_path)
    difference = re.search(r"largest difference +(\S+)", printed)
    assert difference is not None
    assert float(difference[1]) <= 1e-13
