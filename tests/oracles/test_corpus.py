"""Failures that Hypothesis found are kept in tests/corpus, and each run of the tests replays them."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("hypothesis")
TESTS = pathlib.Path(__file__).resolve().parents[1]

FOUND = """
import os
import hypothesis.strategies as st
from hypothesis import given

@given(st.integers())
def test_limit(n):
    assert n < 1000 or "REPAIRED" in os.environ

def test_that_is_not_random():
    assert False
"""


def run(folder: pathlib.Path, files: list[str], **variables: str) -> tuple[int, str]:
    """pytest with the profiles of conftest.py."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("CWRAPJIT_") or k == "CWRAPJIT_CC"}
    path = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = clean | {"PYTHONPATH": path} | variables  # no checkout: it may not be what is tested
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=folder, env=environment, timeout=600, check=False
    )
    return done.returncode, done.stdout + done.stderr


def entries(folder: pathlib.Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_failure_is_kept_and_replayed(tmp_path: pathlib.Path) -> None:
    corpus = tmp_path / "corpus"
    (tmp_path / "test_found.py").write_text(FOUND)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    own = ["-p", "conftest", "test_found.py"]
    found = {"CWRAPJIT_CORPUS": str(corpus)}
    code, said = run(tmp_path, own, CWRAPJIT_REPLAY="1", **found)
    assert code == 0 and "1 skipped, 1 deselected" in said, said  # nothing is known yet
    code, said = run(tmp_path, [*own, "-k", "limit"], CWRAPJIT_EXPLORE="1", **found)
    assert code == 1 and "test_limit(\n" in said and "n=1000" in said, said
    kept = entries(corpus)
    code, said = run(tmp_path, own, CWRAPJIT_REPLAY="1", **found)
    assert code == 1 and "n=1000" in said and "1 failed, 1 deselected" in said, said
    code, said = run(tmp_path, own, CWRAPJIT_REPLAY="1", REPAIRED="1", **found)
    assert code == 0 and "1 passed, 1 deselected" in said, said
    assert kept and entries(corpus) == kept, "reading changes nothing"


def test_what_was_found_stays_repaired() -> None:
    random = sorted(str(path) for path in TESTS.rglob("test_*.py") if "import given" in path.read_text())
    assert len(random) > 10
    code, said = run(TESTS, random, CWRAPJIT_REPLAY="1")
    assert code == 0 and " deselected" in said, said
