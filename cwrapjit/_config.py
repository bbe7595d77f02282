"""show_config(): prints what this installation consists of."""

from __future__ import annotations

import os
import sys

from cwrapjit._cwrapjit import __version__, backend, config, optimizer


def _collect() -> dict[str, str | int | None]:
    import numpy

    from cwrapjit._paths import backend_files

    libtcc, lib_dir, include_dir = backend_files()
    tier = optimizer()
    return {
        "cwrapjit": __version__,
        "python": sys.version.split()[0],
        "numpy": numpy.__version__,
        "libtcc version": backend(),
        "libtcc": libtcc,
        "tcc folder": lib_dir,
        "headers": include_dir,
        "optimize": config.optimize,
        "threads": config.threads,
        "debug": config.debug,
        "compiler": " ".join(tier["compiler"] or [f"none: {tier['problem']}"]),
        "compiler flags": tier["flags"],
        "compiler flags with fastmath": tier["fastmath flags"],
        "last failure of the compiler": tier["last failure"],
        "processors": os.cpu_count(),
    }


def _shorten(text: str) -> str:
    """Counts the flags for single functions, as there are too many to print."""
    words = text.split(" ")
    kept = [word for word in words if not word.startswith("-fno-builtin-")]
    left_out = len(words) - len(kept)
    return " ".join(kept) + (f" -fno-builtin-... ({left_out} functions of libm)" if left_out else "")


def show_config(mode: str = "stdout") -> dict[str, str | int | None] | None:
    """Print versions, paths and defaults; mode="dicts" returns them instead."""
    if mode not in ("stdout", "dicts"):
        raise ValueError(f"show_config(): mode must be 'stdout' or 'dicts', not {mode!r}")
    facts = _collect()
    if mode == "dicts":
        return facts
    width = max(map(len, facts))
    for name, value in facts.items():
        print(f"{name:{width}}  {_shorten(str(value))}")
    return None
