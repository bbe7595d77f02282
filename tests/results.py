"""What a run of the suite came to, as one line of JSON in the file that CWRAPJIT_RESULTS names.

    {"python": "3.15.2", "implementation": "CPython", "numpy": "2.5.5", "compiler": "gcc 16.2.0",
     "libc": "glibc 2.43", "machine": "x86_64", "cwrapjit": "0.1.0", "part": "whole", "passed": 4712,
     "failed": 0, "skipped": 12, "rerun": 1, "seconds": 431, "status": 0, "date": "2026-11-23"}

`part` is "whole", "every 4" (--every 4), or the tests that the command line names; CWRAPJIT_RESULTS_PART
replaces it. `compiler` is the one of the optimizing tier, null where there is none. `failed` counts errors of
fixtures and of collecting, too. Runs append: the newest line about an environment is the one that counts.
"""

from __future__ import annotations

import datetime
import json
import os
import pathlib
import platform
import re
import subprocess

import numpy as np
import pytest

import cwrapjit

TESTS = pathlib.Path(__file__).resolve().parent


def _compiler() -> str | None:
    """The optimizing tier's, as "gcc 16.2.0"."""
    command = cwrapjit._cwrapjit.optimizer()["compiler"]
    if command is None:
        return None
    said = subprocess.run([*command, "--version"], capture_output=True, text=True).stdout
    name = next((each for each in ("zig", "clang") if each in " ".join([*command, said])), "gcc")
    if name == "gcc":
        version = subprocess.run([*command, "-dumpfullversion"], capture_output=True, text=True).stdout
    else:
        version = "".join(re.findall(r"version (\d[\d.]*)", said)[:1])
    return f"{name} {version.strip()}"


def _part(config: pytest.Config) -> str:
    told = os.environ.get("CWRAPJIT_RESULTS_PART")
    if told:
        return told
    named = []
    for argument in config.args:
        path, *rest = argument.split("::")
        where = (config.invocation_params.dir / path).resolve()
        named.append("::".join([os.path.relpath(where, TESTS), *rest]))
    step = config.getoption("every")
    parts = [f"every {step}"] if step > 1 else []
    if named != ["."]:
        parts += named
    if config.getoption("keyword"):
        parts.append(f"-k {config.getoption('keyword')}")
    if config.getoption("markexpr") not in ("", "not once"):
        parts.append(f"-m {config.getoption('markexpr')}")
    if config.getoption("maxfail") or config.getoption("lf", False):  # no cache, no such option
        parts.append("-x or --lf")
    return " ".join(parts) or "whole"


def write(file: str, config: pytest.Config, status: int, counts: dict[str, int], seconds: float) -> None:
    """Appends the line. Counts are pytest's: "passed", "failed", "error", "skipped", "rerun", ..."""
    line = {
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "numpy": np.__version__,
        "compiler": _compiler(),
        "libc": os.confstr("CS_GNU_LIBC_VERSION"),
        "machine": platform.machine(),
        "cwrapjit": cwrapjit.__version__,
        "part": _part(config),
        "passed": counts.get("passed", 0),
        "failed": counts.get("failed", 0) + counts.get("error", 0),
        "skipped": counts.get("skipped", 0),
        "rerun": counts.get("rerun", 0),
        "seconds": round(seconds),
        "status": status,
        "date": datetime.date.today().isoformat(),
    }
    path = pathlib.Path(config.invocation_params.dir, file)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as out:
        out.write(json.dumps(line) + "\n")
