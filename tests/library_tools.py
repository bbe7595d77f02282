"""What the tests of libraries share: C text as a library."""

from __future__ import annotations

import itertools
import pathlib
import tempfile
from typing import Any

from helpers import build_shared

import cwrapjit

_NUMBERS = itertools.count()
INCLUDES = "#include <stddef.h>\n#include <stdint.h>\n#include <stdbool.h>\n#include <stdlib.h>\n"


def from_c(text: str, *, name: str = "t", **options: Any) -> Any:
    """A library of this C text, compiled in memory."""
    with tempfile.TemporaryDirectory(prefix="cwrapjit-test-") as folder:
        source = pathlib.Path(folder) / f"{name}.c"
        source.write_text(INCLUDES + text)
        return cwrapjit.library(name, sources=[source], **options)


def from_shared(text: str, folder: pathlib.Path, *flags: str, name: str = "t", **options: Any) -> Any:
    """A library of this C text, built by the system's compiler: for C that libtcc does not know."""
    path = build_shared(folder, f"lib{name}{next(_NUMBERS)}.so", INCLUDES + text, *flags)
    return cwrapjit.library(name, path, **options)
