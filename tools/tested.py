"""usage: tested.py RUNS PAGE COMMIT

Writes the table of tested platforms into docs/tested.md: a line for each run of the tests in the file RUNS
(tests/results.py), with the date and commit. `make release-check` runs it."""

from __future__ import annotations

import datetime
import json
import pathlib
import sys

BEGIN, END = "<!-- made by `make release-check` -->", "<!-- end -->"
COLUMNS = ["machine", "CPython", "NumPy", "C library", "cc tier", "what ran"]
COLUMNS += ["passed", "failed", "skipped", "reruns", "minutes"]


def main(runs: str, page: str, commit: str) -> None:
    found = [json.loads(line) for line in pathlib.Path(runs).read_text().splitlines()]
    # A run that pytest did not finish (any status but 0 and 1) has failed, whatever it counted.
    for each in found:
        each["failed"] = each["failed"] or int(each["status"] != 0)
    lines = [COLUMNS, ["---"] * len(COLUMNS), *([str(each[name]) for name in COLUMNS] for each in found)]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    before, _, rest = pathlib.Path(page).read_text().partition(BEGIN)
    said = f"On {datetime.date.today()}, of commit {commit}:"
    pathlib.Path(page).write_text(f"{before}{BEGIN}\n\n{said}\n\n{table}\n\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit((__doc__ or "").partition("\n")[0])
    main(*sys.argv[1:])
