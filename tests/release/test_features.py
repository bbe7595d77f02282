"""Tests that these are true: docs/features.md and the tests' row marks, tests/README.md, the generated C that
ARCHITECTURE.md shows, and that failures of Hypothesis in tests/corpus stay repaired."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import cwrapjit

TESTS = Path(__file__).resolve().parents[1]
LISTED = re.compile(r"^\| ([A-Z]\d{2}i?)( \*planned\*)? \| \S", re.MULTILINE)
IN_C = re.compile(r"/\* rows?((?:[ ,]+[A-Z]\d{2}i?)+) \*/")
IDS = re.compile(r"[A-Z]\d{2}i?")


def listed() -> dict[str, bool]:
    """Maps the rows of the list to whether they are planned."""
    text = (TESTS.parent / "docs" / "features.md").read_text(encoding="utf-8")
    rows = LISTED.findall(text)
    assert len(rows) == len(dict(rows)), "a row is there twice"
    return {row: bool(planned) for row, planned in rows}


def marks(node: ast.AST) -> Iterator[tuple[str, list[str]]]:
    """Yields the names of the pytest marks below a node, with their string arguments."""
    for call in ast.walk(node):
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and isinstance(call.func.value, ast.Attribute)
            and call.func.value.attr == "mark"
        ):
            given = [each.value for each in call.args if isinstance(each, ast.Constant)]
            yield call.func.attr, [each for each in given if isinstance(each, str)]


def claimed_in_python(path: Path) -> set[str]:
    """Returns the rows that tests claim, without tests that are always skipped."""
    rows: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found = [mark for each in node.decorator_list for mark in marks(each)]
        elif isinstance(node, ast.Assign) and any(getattr(t, "id", "") == "pytestmark" for t in node.targets):
            found = list(marks(node.value))
        else:
            continue
        if not any(name in ("skip", "xfail") for name, _ in found):
            rows.update(row for name, ids in found if name == "row" for row in ids)
    return rows


def claimed() -> dict[str, str]:
    """Maps each claimed row to a file that claims it."""
    found: dict[str, str] = {}
    for path in sorted(TESTS.rglob("*.py")):
        found.update(dict.fromkeys(claimed_in_python(path), path.name))
    for path in sorted(TESTS.rglob("*.[ch]")):
        for claim in IN_C.findall(path.read_text(encoding="utf-8")):
            found.update(dict.fromkeys(IDS.findall(claim), path.name))
    return found


def test_tests_claim_rows_that_there_are() -> None:
    rows = listed()
    unknown = {row: file for row, file in claimed().items() if row not in rows}
    assert not unknown, f"no such rows in docs/features.md: {unknown}"


def test_each_row_is_claimed_or_planned() -> None:
    rows, done = listed(), claimed()
    missing = [row for row, planned in rows.items() if not planned and row not in done]
    assert not missing, f"no test claims {missing}: write one, or mark them *planned*"
    there = {row: done[row] for row, planned in rows.items() if planned and row in done}
    assert not there, f"marked *planned*, though tests claim them: {there}"


def test_the_readme_of_the_tests_names_each_file() -> None:
    text = (TESTS / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"`(test_\w+)`", text)
    assert sorted(named) == sorted(path.stem for path in TESTS.rglob("test_*.py"))


# ---- the generated C of the seed's inner product ---------------------------------------------------------


GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "inner.c"

BODY = r"""
    {T}* out = ({T}*)data_slice__output;
    const int N = dims_slice__a[0];

    *out = 0.0;

    for(int i=0; i<N; i++)
        *out += *(const {T}*)(data_slice__a + i*strides_slice__a[0]) *
                *(const {T}*)(data_slice__b + i*strides_slice__b[0]);
    return true;"""

ROUNDED = r"""
    double out = 0.0;

    for(int i=0; i<dims_slice__a[0]; i++)
        out += item__a(i) * item__b(i);
    item__output() = (int32_t)round(out);
    return true;"""


def inner() -> cwrapjit.Function:
    m = cwrapjit.module("innerlib", "An inner product module in C", header="#include <stdint.h>")
    return m.function(
        "inner",
        "Inner product",
        args_input=("a", "b"),
        prototype_input=(("n",), ("n",)),
        prototype_output=(),
        Ccode_slice_eval={
            np.float64: BODY.replace("{T}", "double"),
            np.float32: BODY.replace("{T}", "float"),
            (np.float64, np.float64, np.int32): ROUNDED,
        },
    )


@pytest.mark.row("U08")
def test_the_generated_text_is_the_one_that_was_reviewed() -> None:
    """After an intended change set CWRAPJIT_UPDATE_GOLDEN=1, and check the difference."""
    source = inner().source
    if os.environ.get("CWRAPJIT_UPDATE_GOLDEN") == "1":
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(source, encoding="utf-8")
    assert source == GOLDEN.read_text(encoding="utf-8")


# ---- failures that Hypothesis found are stored and replayed ----------------------------------------------


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


def run(folder: Path, files: list[str], **variables: str) -> tuple[int, str]:
    """Runs pytest with the profiles of conftest.py."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("CWRAPJIT_") or k == "CWRAPJIT_CC"}
    path = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = clean | {"PYTHONPATH": path} | variables  # the checkout may not be the tested package
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=folder, env=environment, timeout=600, check=False
    )
    return done.returncode, done.stdout + done.stderr


def entries(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.soak("five runs of pytest")
def test_a_failure_is_kept_and_replayed(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    (tmp_path / "test_found.py").write_text(FOUND)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    own = ["-p", "conftest", "test_found.py"]
    found = {"CWRAPJIT_CORPUS": str(corpus)}
    code, said = run(tmp_path, own, CWRAPJIT_REPLAY="1", **found)
    assert code == 0 and "1 skipped, 1 deselected" in said, said  # no failure is stored yet
    code, said = run(tmp_path, [*own, "-k", "limit"], CWRAPJIT_EXPLORE="1", **found)
    assert code == 1 and "test_limit(\n" in said and "n=1000" in said, said
    kept = entries(corpus)
    code, said = run(tmp_path, own, CWRAPJIT_REPLAY="1", **found)
    assert code == 1 and "n=1000" in said and "1 failed, 1 deselected" in said, said
    code, said = run(tmp_path, own, CWRAPJIT_REPLAY="1", REPAIRED="1", **found)
    assert code == 0 and "1 passed, 1 deselected" in said, said
    assert kept and entries(corpus) == kept, "reading changes nothing"


@pytest.mark.soak("looks through all files with random tests")
def test_what_was_found_stays_repaired() -> None:
    own = (path for path in TESTS.rglob("test_*.py") if path.parent.name != "peers")
    random = sorted(str(path) for path in own if "import given" in path.read_text())
    assert len(random) > 10
    code, said = run(TESTS, random, CWRAPJIT_REPLAY="1")
    assert code == 0 and " deselected" in said, said


def test_every_mutation_of_the_list_has_its_place() -> None:
    """tools/mutate.py changes texts that are there once; who changes the code changes the list."""
    root = TESTS.parent
    listed = json.loads((root / "tools" / "mutations.json").read_text(encoding="utf-8"))
    counts = {
        each["id"]: (root / each["file"]).read_text(encoding="utf-8").count(each["old"]) for each in listed
    }
    assert len(counts) == len(listed), "an id is there twice"
    assert {name: count for name, count in counts.items() if count != 1} == {}
    assert all(each["old"] != each["new"] for each in listed)
