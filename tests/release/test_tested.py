"""docs/tested.md: what was tested where, and tools/tested.py, which makes its table."""

from __future__ import annotations

import importlib.util
import json
import pathlib
import re
from types import ModuleType
from typing import Any

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "tested.md"
# What pyproject.toml tells the world.
PYTHONS = set(re.findall(r"Python :: (3\.\d+)\"", (ROOT / "pyproject.toml").read_text()))


@pytest.fixture(scope="module")
def tested() -> ModuleType:
    spec = importlib.util.spec_from_file_location("tested", ROOT / "tools" / "tested.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(**changes: Any) -> dict[str, Any]:
    usual = {"python": "3.12.1", "numpy": "2.3.1", "compiler": "gcc 12.2.0", "libc": "glibc 2.36"}
    usual |= {"machine": "x86_64", "cwrapjit": "0.1.0", "part": "whole", "passed": 7, "failed": 0}
    return usual | {"skipped": 1, "rerun": 0, "seconds": 119, "status": 0, "date": "2026-01-02"} | changes


def test_newest_run_of_an_environment_counts(tested: ModuleType, tmp_path: pathlib.Path) -> None:
    page, runs = tmp_path / "page.md", tmp_path / "runs"
    page.write_text(f"before\n{tested.BEGIN}\n{tested.END}\nbehind\n")
    first = [
        run(machine="aarch64", part="chosen for emulation"),
        run(passed=6, failed=1),
        run(python="3.9.2"),
    ]
    runs.write_text("\n".join(map(json.dumps, first)))
    tested.main(str(runs), str(page))
    second = [run(python="3.12.4", compiler=None), run(passed=8), run(part="test_cast.py", passed=99)]
    second += [run(passed=1, status=2), run(passed=1, part="-m leak"), run(passed=1, part="-x or --lf")]
    runs.write_text("\n".join(map(json.dumps, second)))
    tested.main(str(runs), str(page))
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("\nbehind\n")
    rows = tested.rows_in(text)
    told = [(row[0], row[1], row[4], row[6], row[7]) for row in rows]
    assert told == [
        ("x86_64", "3.9.2", "gcc 12.2.0", "7", "0"),
        ("x86_64", "3.12.1", "gcc 12.2.0", "8", "0"),
        ("x86_64", "3.12.4", "none", "7", "0"),
        ("aarch64", "3.12.1", "gcc 12.2.0", "7", "0"),
    ]
    assert rows[0][9] == "2"  # minutes


def test_without_runs(tested: ModuleType, tmp_path: pathlib.Path) -> None:
    with pytest.raises(SystemExit, match="make test and its like write it"):
        tested.main(str(tmp_path / "runs"), str(PAGE))


@pytest.mark.row("X01")
def test_page_is_green(tested: ModuleType) -> None:
    """Whole on the oldest and the newest CPython, in part at least on those between and on arm64."""
    rows = tested.rows_in(PAGE.read_text())
    assert [row for row in rows if row[7] != "0" or int(row[6]) < 100] == []
    ran = {(row[0], re.sub(r"(\d+\.\d+).*", r"\1", row[1]), row[5]) for row in rows}
    assert {python for machine, python, _ in ran if machine == "x86_64"} == PYTHONS
    assert {("x86_64", "3.10", "whole"), ("x86_64", "3.15", "whole")} <= ran
    assert "aarch64" in {machine for machine, _, _ in ran}
    assert "none" in {row[4] for row in rows}  # from the wheel, without a compiler
