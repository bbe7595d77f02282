"""Helpers for tests of libraries: they make libraries of C text, and find libraries of the machine."""

from __future__ import annotations

import itertools
import pathlib
import tempfile
from typing import Any

import pytest
from helpers import build_shared

import cwrapjit

_NUMBERS = itertools.count()
INCLUDES = "#include <stddef.h>\n#include <stdint.h>\n#include <stdbool.h>\n#include <stdlib.h>\n"


def from_c(text: str, *, name: str = "t", **options: Any) -> Any:
    """Returns a library of this C text, compiled in memory."""
    with tempfile.TemporaryDirectory(prefix="cwrapjit-test-") as folder:
        source = f"{folder}/{name}.c"  # no pathlib: CPython 3.12 keeps each part of a path forever
        with open(source, "w") as file:
            file.write(INCLUDES + text)
        return cwrapjit.library(name, sources=[source], **options)


def from_shared(text: str, folder: pathlib.Path, *flags: str, name: str = "t", **options: Any) -> Any:
    """Returns a library of C text that the system's compiler builds, for C that libtcc does not know."""
    path = build_shared(folder, f"lib{name}{next(_NUMBERS)}.so", INCLUDES + text, *flags)
    return cwrapjit.library(name, path, **options)


# ---- libraries of the machine ----------------------------------------------------------------------------

PACKAGES = {
    "sqlite3.h": "libsqlite3-dev",
    "zlib.h": "zlib1g-dev",
    "fftw3.h": "libfftw3-dev",
    "lapacke.h": "liblapacke-dev",
    "fitsio.h": "libcfitsio-dev",
    "proj.h": "libproj-dev",
    "suitesparse/umfpack.h": "libsuitesparse-dev",
    "gsl/gsl_rng.h": "libgsl-dev",
    "gsl/gsl_integration.h": "libgsl-dev",
    "gsl/gsl_multimin.h": "libgsl-dev",
    "nlopt.h": "libnlopt-dev",
    "geos_c.h": "libgeos-dev",
    "cvode/cvode.h": "libsundials-dev",
}


def declared(header: str, *libraries: str, before: str = "") -> Any:
    """Returns a library of the machine by its own header, or skips with the name of its package."""
    if not pathlib.Path("/usr/include", header).is_file():
        pytest.skip(f"{header} is not installed (apt install {PACKAGES[header]})")
    lib = cwrapjit.library(pathlib.Path(header).stem, libraries=list(libraries), header=before)
    return lib.declare(f"#include <{header}>")
