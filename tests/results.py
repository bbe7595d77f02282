"""Appends the result of a test run as one line of JSON to the file that CWRAPJIT_RESULTS names.

    {"machine": "x86_64", "CPython": "3.15.2", "NumPy": "2.5.5", "C library": "glibc 2.43",
     "cc tier": "gcc 16.2.0", "what ran": "whole", "passed": 4712, "failed": 0, "skipped": 12,
     "reruns": 0, "minutes": 7, "status": 0}

`make release-check` sets it, and CWRAPJIT_RESULTS_PART to the text for "what ran"; --every is added here.
`failed` includes errors in fixtures and during collection.
"""

from __future__ import annotations

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


def _compiler() -> str:
    """Returns name and version of the cc tier's compiler, such as "gcc 16.2.0"."""
    command = cwrapjit._cwrapjit.optimizer()["compiler"]
    if command is None:
        return "none"
    said = subprocess.run([*command, "--version"], capture_output=True, text=True).stdout
    name = next((each for each in ("zig", "clang") if each in " ".join([*command, said])), "gcc")
    if name == "gcc":
        version = subprocess.run([*command, "-dumpfullversion"], capture_output=True, text=True).stdout
    else:
        version = "".join(re.findall(r"version (\d[\d.]*)", said)[:1])
    return f"{name} {version.strip()}"


def write(file: str, config: pytest.Config, status: int, counts: dict[str, int], seconds: float) -> None:
    """Appends the line. `counts` has pytest's keys: "passed", "failed", "error", "skipped", "rerun", ..."""
    every = config.getoption("every")
    line = {
        "machine": platform.machine(),
        "CPython": platform.python_version(),
        "NumPy": np.__version__,
        "C library": os.confstr("CS_GNU_LIBC_VERSION"),
        "cc tier": _compiler(),
        "what ran": os.environ.get("CWRAPJIT_RESULTS_PART", "?") + (f", --every {every}" if every else ""),
        "passed": counts.get("passed", 0),
        "failed": counts.get("failed", 0) + counts.get("error", 0),
        "skipped": counts.get("skipped", 0),
        "reruns": counts.get("rerun", 0),
        "minutes": round(seconds / 60),
        "status": status,
    }
    path = pathlib.Path(config.invocation_params.dir, file)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as out:
        out.write(json.dumps(line) + "\n")
