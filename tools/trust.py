"""Runs the robustness tests and prints a table of how much was tried (make trust).

--quick takes some minutes. Without it, an hour: a soak run of 100,000 definitions, five minutes of fuzzing
for each target at the same time, and twenty times the tests' usual number of random cases."""

from __future__ import annotations

import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Figures that are states, not amounts: the last value counts.
STATES = ("fuzz seconds per target",)


def run(title: str, command: list[str], figures: pathlib.Path, **settings: str) -> str:
    """Runs the command, which must succeed, and returns its output."""
    print(f"== {title}: {' '.join(command)}", flush=True)
    environment = {**os.environ, **settings, "CWRAPJIT_FIGURES": str(figures)}
    began = time.monotonic()
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{done.stdout}\n{title}: status {done.returncode}")
    print(f"   {title}: {time.monotonic() - began:.0f} s", flush=True)
    return done.stdout


def table_of(lines: list[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for line in lines:
        name, value = line.split("\t")
        found[name] = float(value) + (0 if name in STATES else found.get(name, 0))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    pytest = [sys.executable, "-m", "pytest", "-q"]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor() as beside:
        figures = pathlib.Path(folder, "figures")
        figures.touch()
        fuzz = ["sh", "tools/fuzz.sh", "10" if quick else "300"]
        fuzzing = beside.submit(run, "fuzzing", fuzz, figures, PYTHON=sys.executable)
        files = sorted(p for p in (ROOT / "tests").rglob("test_*.py") if p.parent.name != "peers")
        random = [str(path) for path in files if "hypothesis" in path.read_text()]
        statistics = [*pytest, "--hypothesis-show-statistics", *random]
        if quick:  # other cases than the suite's, the same in each run; without --quick they are new
            statistics.append("--hypothesis-seed=1")
        said = run("properties, new examples", statistics, figures, CWRAPJIT_EXPLORE="1" if quick else "20")
        cases = sum(map(int, re.findall(r"- (\d+) passing\b", said)))
        soak = [*pytest, "tests/lifetime/test_life_cycles.py"]
        run("life cycles", soak, figures, CWRAPJIT_CYCLES="2" if quick else "200")
        run("failing allocations", [*pytest, "tests/tinyjit/test_tinyjit_c.py", "-k", "test_memory"], figures)
        faults = [sys.executable, "tests/trust_faults.py", "300" if quick else "5000"]
        injected, survived = re.findall(
            r"faults injected: (\d+), survived: (\d+)", run("faults", faults, figures)
        )[-1]
        fuzzing.result()
        found = table_of(figures.read_text().splitlines())
        found = {"property cases": cases, **found}
        found |= {"faults injected": int(injected), "faults survived": int(survived)}
    print("\n| figure | value |\n|---|---|")
    for name, value in found.items():
        print(f"| {name} | {value:,.0f} |" if value == int(value) else f"| {name} | {value:,.1f} |")


if __name__ == "__main__":
    main()
