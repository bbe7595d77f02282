"""Runs all benchmarks, one after the other, each in its own process: `make bench`.

Prints their tables, then every target with the measured value. Writes results/NAME.json, NAME.png, and
summary.md, whose tables docs/speed.md quotes. With --quick everything runs once, on small inputs: the
figures mean nothing and are not kept.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import _common as common

HERE = Path(__file__).parent
NAMES = (
    "throughput",
    "mathematics",
    "complex",
    "vectorize",
    "inputs",
    "reduction",
    "windows",
    "elementwise",
    "tiers",
    "call",
    "ufunc",
    "define",
    "threads",
    "scaling",
    "graph",
    "jit",
    "library",
    "objects",
    "callbacks",
    "tasks",
    "memory",
    "importtime",
    "people",
)
FIRST, OWN = "tcc tier", "cwrapjit"


def run(name: str, folder: Path, quick: bool) -> bool:
    print(f"\n== benchmarks/{name}.py", flush=True)
    started = time.monotonic()
    command = [
        sys.executable,
        str(HERE / f"{name}.py"),
        "--results",
        str(folder),
        *(["--quick"] if quick else []),
    ]
    status = subprocess.run(command).returncode
    print(f"({name}: {time.monotonic() - started:.0f} s{'' if status == 0 else ', FAILED'})", flush=True)
    return status == 0


def read(folder: Path) -> dict[str, dict[str, Any]]:
    """What this run's benchmarks wrote."""
    paths = {name: folder / f"{name}.json" for name in NAMES}
    return {name: json.loads(path.read_text()) for name, path in paths.items() if path.exists()}


def draw(folder: Path) -> None:
    try:
        import _plots
    except ImportError as error:
        print(f"(no pictures: {error})")
        return
    for path in _plots.draw(folder):
        print(f"written: {path}", file=sys.stderr)


# ---- summary.md ----------------------------------------------------------------------------------


def markdown(columns: list[str], rows: list[list[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def peers_of(workload: dict[str, Any]) -> dict[str, float]:
    """Median times, NumPy's functions as one contender, the quickest."""
    found: dict[str, float] = {}
    for name, value in workload["median_s"].items():
        short = name.split(".")[0]
        found[short] = min(value, found.get(short, value))
    return found


def throughput_table(results: dict[str, Any]) -> str:
    shown = ["bound", "numpy", "numba", "numexpr", "numpysane_pywrap", "cffi", FIRST]
    rows = []
    for workload in results["workloads"].values():
        times = peers_of(workload)
        cells = [f"{times[name] / times[OWN]:.2f}" if name in times else "" for name in shown]
        mark = "" if workload["best peer / cwrapjit"] >= common.LEVEL else "behind " + workload["best peer"]
        rows.append([workload["title"], f"{1e3 * times[OWN]:.3g}", *cells, mark])
    heads = [
        "one thread, times of the others / cwrapjit's",
        "ms",
        "plain C",
        *shown[1:-1],
        "tcc tier",
        "",
    ]
    return markdown(heads, rows)


def call_table(results: dict[str, Any]) -> str:
    cases = results["cases"]
    names = list(dict.fromkeys(name for case in cases.values() for name in case))
    rows = [
        [name, *(f"{case[name]['median_ns']:.0f} ns" if name in case else "" for case in cases.values())]
        for name in names
    ]
    return markdown(["one call", *cases], rows)


def target_table(targets: list[dict[str, Any]]) -> str:
    verdicts = {True: "", False: "behind", None: "not measured"}
    rows = [[t["figure"], t["wanted"], common.number(t["measured"]), verdicts[t["ok"]]] for t in targets]
    return markdown(["target", "wanted", "measured", ""], rows)


def summary(results: dict[str, dict[str, Any]], targets: list[dict[str, Any]]) -> str:
    about = next(iter(results.values()))["machine"]
    parts = ["Measured on " + ", ".join(f"{key} {value}" for key, value in about.items()) + ".\n"]
    if "throughput" in results:
        parts.append(throughput_table(results["throughput"]))
    if "call" in results:
        parts.append(call_table(results["call"]))
    parts.append(target_table(targets))
    return "\n".join(parts)


def main() -> int:
    given = common.arguments("All benchmarks.")
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="cwrapjit-bench-") as scratch:
        folder = given.results or (Path(scratch) if given.quick else common.RESULTS)
        folder.mkdir(exist_ok=True)
        for name in NAMES:
            (folder / f"{name}.json").unlink(missing_ok=True)
        failed = [name for name in NAMES if not run(name, folder, given.quick)]
        results = read(folder)
        targets = [target for found in results.values() for target in found.get("targets", [])]
        draw(folder)
        if results:
            (folder / "summary.md").write_text(summary(results, targets))
    title = "all targets" + (" (--quick: the figures mean nothing)" if given.quick else "")
    common.print_targets(targets, given, title)
    if not given.quick:
        print(f"\n{len(targets)} targets, behind in {sum(target['ok'] is False for target in targets)}")
    print(f"\n{time.monotonic() - started:.0f} s in all")
    if failed:
        print(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
