"""Waiting times of users, beside peers: installing, importing, notebook cells, pickles, dask's chunks."""

import importlib.util
import os
import pickle
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import _common as common
import _race as race
import numpy as np

import cwrapjit

ROOT = Path(__file__).resolve().parents[1]
CHUNKS = 200
OWN = "cwrapjit"

TEXT = "double f(double x, double y) { return x * x > y ? x * y : y * y; }"
SLICE = """double x = item__x(), y = item__y();
item__output() = x * x > y ? x * y : y * y;
return true;"""
CYTHON = "def f(double x, double y): return x * y if x * x > y else y * y"
RESULT = 3.0  # f(1.5, 2.0)

# ---- fresh processes, which say how long something took ------------------------------------------

SHELL = """
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config
shell = InteractiveShell.instance(config=Config(HistoryManager={"enabled": False}))
"""
CHILD = """
import sys, time, numpy
data = sys.stdin.buffer.read()
BEFORE
start = time.perf_counter()
ACTION
print(time.perf_counter() - start)
"""

# What is loaded before, and what takes time.
IMPORTS = {
    "import cwrapjit": ("", "import cwrapjit"),
    "%load_ext cwrapjit": (SHELL, "shell.run_line_magic('load_ext', 'cwrapjit')"),
    "%load_ext Cython": (SHELL, "shell.run_line_magic('load_ext', 'Cython')"),
    "import numba": ("", "import numba"),
}
CHECK = f"assert f(1.5, 2.0) == {RESULT}"
CELLS = {
    "%%cwrapjit": (
        SHELL + "shell.run_line_magic('load_ext', 'cwrapjit')",
        f"shell.run_cell_magic('cwrapjit', '', {TEXT!r}); f = shell.user_ns['f']; {CHECK}",
    ),
    "vectorize()": ("import cwrapjit", f"f = cwrapjit.vectorize({TEXT!r}); {CHECK}"),
    "%%cython": (
        SHELL + "shell.run_line_magic('load_ext', 'Cython')",
        f"shell.run_cell_magic('cython', '', {CYTHON!r}); f = shell.user_ns['f']; {CHECK}",
    ),
    "numba.njit": (
        "import numba",
        f"f = numba.njit(lambda x, y: x * y if x * x > y else y * y); {CHECK}",
    ),
}
CELLS |= {
    f"{name}, second cell": (
        f"{before}\n" + action.partition("; f = ")[0].replace("x * y", "x + y"),
        action,
    )
    for name, (before, action) in CELLS.items()
    if name.startswith("%%")
}
MODULES = {"%load_ext cwrapjit": "IPython", "%load_ext Cython": "Cython", "import numba": "numba"} | {
    "%%cwrapjit": "IPython",
    "%%cython": "Cython",
    "numba.njit": "numba",
}


def is_there(name: str) -> bool:
    """What a case needs is installed."""
    needed = MODULES.get(name.split(",")[0])
    magic = "cwrapjit" not in name or needed is None or hasattr(cwrapjit, "load_ipython_extension")
    return magic and (needed is None or importlib.util.find_spec(needed) is not None)


def child(before: str, action: str, data: bytes = b"") -> list[float]:
    """The seconds that a fresh process prints."""
    code = CHILD.replace("BEFORE", before).replace("ACTION", action)
    with tempfile.TemporaryDirectory(prefix="cwrapjit-bench-") as folder:  # Cython keeps what it compiled
        env = {**os.environ, "IPYTHONDIR": folder, "XDG_CACHE_HOME": folder}
        done = subprocess.run([sys.executable, "-c", code], input=data, capture_output=True, env=env)
    if done.returncode:
        raise SystemExit(f"{action}:\n{done.stderr.decode()}")
    return [float(line) for line in done.stdout.split()[-2:]]


def children(cases: dict[str, tuple[str, str]], rounds: int) -> dict[str, float]:
    """Median seconds of each case, turn by turn."""
    found = {name: case for name, case in cases.items() if is_there(name)}
    for name in cases.keys() - found.keys():
        print(f"({name} is left out: not installed)")
    times: dict[str, list[float]] = {name: [] for name in found}
    for turn in range(rounds + 1):
        for name, case in found.items():
            seconds = child(*case)[-1]
            if turn or not rounds:  # the first turn is for byte code and the page cache
                times[name].append(seconds)
    return {name: statistics.median(values) for name, values in times.items()}


def print_times(title: str, times: dict[str, float]) -> None:
    common.table(title, ("", "ms"), ((name, f"{1e3 * value:.3g}") for name, value in times.items()))


# ---- pickles -------------------------------------------------------------------------------------

LOAD = """import pickle
f = pickle.loads(data)
print(time.perf_counter() - start)
assert f(1.5, 2.0) == 3.0"""


def by_numba(numba: Any) -> dict[str, Any]:
    def f(x: float, y: float) -> float:
        return x * y if x * x > y else y * y

    compiled = numba.njit(f)
    compiled(1.5, 2.0)
    return {"numba.njit": compiled, "numba.vectorize": numba.vectorize(["float64(float64, float64)"])(f)}


def travellers() -> dict[str, tuple[str, Any]]:
    """Functions by name, and what a process imports before it loads their pickles."""
    made: dict[str, tuple[str, Any]] = {
        "vectorize()": ("import cwrapjit", cwrapjit.vectorize(TEXT)),
        "function()": (
            "import cwrapjit",
            cwrapjit.function("f", signature="x(), y() -> output()", Ccode_slice_eval={float: SLICE}),
        ),
    }
    numba = common.optional("numba")
    if numba:
        made.update({name: ("import numba", f) for name, f in by_numba(numba).items()})
    return made


def pickles(rounds: int) -> dict[str, dict[str, float]]:
    cloudpickle = common.optional("cloudpickle")
    found: dict[str, dict[str, float]] = {}
    for name, (before, f) in travellers().items():
        data = (cloudpickle or pickle).dumps(f)
        times = [
            child(before + ("; import cloudpickle" if cloudpickle else ""), LOAD, data) for _ in range(rounds)
        ]
        pickle.loads(data)
        again = race.seconds_of(lambda data=data: pickle.loads(data), 20)
        found[name] = {
            "bytes": len(data),
            "load_s": statistics.median(each[0] for each in times),
            "load_and_call_s": statistics.median(each[1] for each in times),
            "again_s": again,
        }
    common.table(
        "a pickled function in a fresh process (its package is imported before)",
        ("", "bytes", "load, ms", "load and first call, ms", "load again, ms"),
        (
            (
                name,
                each["bytes"],
                *(f"{1e3 * each[key]:.3g}" for key in ("load_s", "load_and_call_s", "again_s")),
            )
            for name, each in found.items()
        ),
    )
    return found


# ---- dask ----------------------------------------------------------------------------------------


def chunks(quick: bool) -> dict[str, float]:
    """Microseconds per chunk of small arrays, which are dask's and the call's, threaded scheduler."""
    da = common.optional("dask.array")
    if da is None:
        return {}
    f = cwrapjit.vectorize("double f(double x, double y) { return hypot(x, y); }")
    count = 20 if quick else CHUNKS
    x, y = (da.from_array(np.full(10 * count, value), chunks=10) for value in (3.0, 4.0))
    contenders: dict[str, Callable[..., Any]] = {"np.hypot": np.hypot, OWN: f, f"{OWN}, f.ufunc": f.ufunc}
    numba = common.optional("numba")
    if numba:
        contenders["numba.vectorize"] = numba.vectorize(["float64(float64, float64)"])(
            lambda x, y: np.hypot(x, y)
        )
    ways: dict[str, Callable[[Any], Any]] = {
        "map_blocks": lambda g: da.map_blocks(g, x, y, dtype=float),
        "apply_gufunc": lambda g: da.apply_gufunc(g, "(),()->()", x, y, output_dtypes=float),
    }
    actions: dict[str, Callable[[], Any]] = {}
    for way, make in ways.items():
        for name, g in contenders.items():
            graph = make(g)
            assert (graph.compute(scheduler="threads") == 5).all()
            actions[f"{way}, {name}"] = lambda graph=graph: graph.compute(scheduler="threads")
            actions[f"{way}, {name}, its graph"] = lambda make=make, g=g: make(g)
    # The fastest: dask's threads wait for each other, and for whatever else the machine does.
    times = race.fastest(common.interleaved(actions, 1 if quick else 40))
    found = {name: 1e6 * value / (1 if name.endswith("graph") else count) for name, value in times.items()}
    rows = [
        (
            f"{way}, {name}",
            f"{found[f'{way}, {name}']:.1f}",
            f"{found[f'{way}, {name}, its graph'] / 1e3:.2f}",
        )
        for way in ways
        for name in contenders
    ]
    common.table(
        f"dask, {count} chunks of 10 numbers", ("fastest", "us per chunk", "making the graph, ms"), rows
    )
    return found


# ---- from a checkout to a kernel -----------------------------------------------------------------


def install() -> dict[str, float]:
    """Seconds of README's two steps in a fresh environment: pip install ., and its first example."""
    example = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert example is not None
    with tempfile.TemporaryDirectory(prefix="cwrapjit-bench-") as folder:
        place = Path(folder)
        listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
        for name in listed.stdout.splitlines():
            (place / "checkout" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, place / "checkout" / name)
        venv.create(place / "venv", with_pip=True, symlinks=True)
        (place / "kernel.py").write_text(example[1])
        python = place / "venv" / "bin" / "python"
        commands = {
            "pip install .": [python, "-m", "pip", "install", "--quiet", "."],
            "python kernel.py": [python, place / "kernel.py"],
        }
        env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "CC")}
        found = {}
        for name, command in commands.items():
            start = time.perf_counter()
            done = subprocess.run(command, cwd=place / "checkout", env=env, capture_output=True, text=True)
            found[name] = time.perf_counter() - start
            if done.returncode:
                raise SystemExit(f"{name} failed:\n{done.stderr}")
    common.table(
        "in a fresh environment", ("", "s"), ((name, f"{value:.1f}") for name, value in found.items())
    )
    return found


# ---- all -----------------------------------------------------------------------------------------


def ratio(times: dict[str, float], over: str, under: str) -> float | None:
    return times[over] / times[under] if over in times and under in times else None


def goal(figure: str, wanted: str, measured: float | None, ok: Callable[[float], bool]) -> dict[str, Any]:
    if measured is None:
        return common.target(figure, wanted, "-", None)
    return common.target(figure, wanted, measured, ok(measured))


def main() -> int:
    given = common.arguments(__doc__.splitlines()[0])
    rounds = 0 if given.quick else 10
    imports = children(IMPORTS, rounds)
    print_times("loading, NumPy and IPython are there, ms", imports)
    cells = children(CELLS, rounds and 5)
    print_times("from the text of a cell to its first result", cells)
    travelled = pickles(max(rounds, 1))
    loads = {name: each["load_and_call_s"] for name, each in travelled.items()}
    per_chunk = chunks(given.quick)
    installed = {} if given.quick else install()
    minutes = sum(installed.values()) / 60 if installed else None
    targets = [
        goal("pip install . to README's first result, minutes", "<= 5", minutes, lambda value: value <= 5),
        goal(
            "%load_ext cwrapjit / %load_ext Cython",
            "<= 0.5",
            ratio(imports, "%load_ext cwrapjit", "%load_ext Cython"),
            lambda value: value <= 0.5,
        ),
        goal(
            "a second cell to its result: %%cython / %%cwrapjit",
            ">= 20",
            ratio(cells, "%%cython, second cell", "%%cwrapjit, second cell"),
            lambda value: value >= 20,
        ),
        goal(
            "pickle to the first result: numba.njit / vectorize()",
            ">= 10",
            ratio(loads, "numba.njit", "vectorize()"),
            lambda value: value >= 10,
        ),
        *(
            goal(
                f"dask, a chunk, {way}: cwrapjit / NumPy's ufunc",
                "<= 1.1",
                ratio(per_chunk, f"{way}, {OWN}", f"{way}, np.hypot"),
                lambda value: value <= 1.1,
            )
            for way in ("map_blocks", "apply_gufunc")
        ),
    ]
    common.print_targets(targets, given)
    results = {
        "imports_s": imports,
        "cells_s": cells,
        "pickles": travelled,
        "dask": per_chunk,
        "install_s": installed,
    }
    common.save("people", {**results, "targets": targets}, given)
    return 0


if __name__ == "__main__":
    sys.exit(main())
