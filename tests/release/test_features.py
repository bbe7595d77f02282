"""docs/features.md and the row marks of the tests say the same; tests/README.md names every file."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
LISTED = re.compile(r"^\| ([A-Z]\d{2}i?)( \*planned\*)? \| \S", re.MULTILINE)
IN_C = re.compile(r"/\* rows?((?:[ ,]+[A-Z]\d{2}i?)+) \*/")
IDS = re.compile(r"[A-Z]\d{2}i?")


def listed() -> dict[str, bool]:
    """The rows of the list, and whether they are planned."""
    text = (TESTS.parent / "docs" / "features.md").read_text(encoding="utf-8")
    rows = LISTED.findall(text)
    assert len(rows) == len(dict(rows)), "a row is there twice"
    return {row: bool(planned) for row, planned in rows}


def marks(node: ast.AST) -> Iterator[tuple[str, list[str]]]:
    """Names of pytest marks below a node, with the ids that they are given."""
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
    """What tests claim that are not skipped as a whole."""
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
    """The rows that some test claims, and a file where one does."""
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


@pytest.mark.parametrize("letter", "NTAPFBKUGLJX")
def test_each_part_of_the_list_has_rows(letter: str) -> None:
    assert any(row.startswith(letter) for row in listed())


def test_the_readme_of_the_tests_names_each_file() -> None:
    text = (TESTS / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"`(test_\w+)`", text)
    assert sorted(named) == sorted(path.stem for path in TESTS.rglob("test_*.py"))
