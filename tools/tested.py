"""usage: tested.py [RUNS [PAGE]]

Writes the table of what was tested where into the documentation (docs/tested.md), from what runs of the suite
have left in .results/runs (tests/results.py). Of several runs in one environment the newest counts; lines of
the table about environments without a run stay. Runs of chosen tests are left out.
"""

from __future__ import annotations

import json
import pathlib
import re
import sys
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- made by `make tested` -->", "<!-- end -->"
HEAD = ["machine", "CPython", "NumPy", "C library", "compiler of the second tier", "what ran"]
HEAD += ["passed", "failed", "skipped", "minutes", "cwrapjit", "date"]
KEY = (0, 1, 2, 4, 5)  # columns that tell one environment from another, without patch releases

Row = list[str]


def row_of(run: dict[str, Any]) -> Row:
    minutes = f"{run['seconds'] / 60:.0f}"
    where = [run["machine"], run["python"], run["numpy"], run["libc"], run["compiler"] or "none"]
    counts = [str(run[each]) for each in ("passed", "failed", "skipped")]
    return [*where, run["part"], *counts, minutes, run["cwrapjit"], run["date"]]


def is_of_suite(run: dict[str, Any]) -> bool:
    """It came to its end, and is not of some tests that somebody chose."""
    ended = run["status"] in (0, 1)  # pytest's: all passed, or some failed
    return ended and not re.search(r"\.py\b|-[kmx] ", run["part"])


def key_of(row: Row) -> tuple[str, ...]:
    return tuple(re.sub(r"(\d+\.\d+)[\d.]*\w*", r"\1", row[column]) for column in KEY)


def order_of(row: Row) -> tuple[Any, ...]:
    numbers = [tuple(int(each) for each in re.findall(r"\d+", row[column])) for column in (1, 2)]
    return row[0] != "x86_64", *numbers, row[5] != "whole", row[4:6]


def rows_in(page: str) -> list[Row]:
    """Those of the table on the page."""
    table = page.partition(BEGIN)[2].partition(END)[0].strip().splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


def updated(page: str, runs: list[dict[str, Any]]) -> str:
    """The page with these runs, the oldest first."""
    rows = {key_of(row): row for row in rows_in(page)}
    rows |= {key_of(row): row for row in map(row_of, filter(is_of_suite, runs))}
    lines = [HEAD, ["---"] * len(HEAD), *sorted(rows.values(), key=order_of)]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{table}\n\n{END}{rest.partition(END)[2]}"


def main(runs: str = str(ROOT / ".results" / "runs"), page: str = str(ROOT / "docs" / "tested.md")) -> None:
    if not pathlib.Path(runs).exists():
        sys.exit(f"tested.py: there is no {runs}: make test and its like write it")
    lines = pathlib.Path(runs).read_text().splitlines()
    text = pathlib.Path(page).read_text()
    pathlib.Path(page).write_text(updated(text, [json.loads(line) for line in lines]))


if __name__ == "__main__":
    main(*sys.argv[1:])
