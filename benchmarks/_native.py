"""C loops, compiled by the system's compiler and called through ctypes and through cffi.

the bound   the plain loop of each workload, with the flags of cwrapjit's cc tier, but gcc's <math.h>
cffi        the same loop with usual flags: USUAL (and -ffast-math)

Neither cwrapjit nor numba sets errno. If C has to, sqrt() keeps a loop from being vectorised.
"""

import ctypes
import os
import re
import shlex
import subprocess
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import cwrapjit

HEADER = "#include <math.h>\n#include <stddef.h>\n#include <stdint.h>\n"
USUAL = ["-O3", "-march=native", "-fno-math-errno"]
# Flags that keep the bits of plain C: what fastmath=True is there to give up.
_EXACT = re.compile(r"-ffp-contract=|-mno-|-fno-builtin|-fno-tree-slp|-O|-march=|-fno-fast-math|-mprefer")


def compiler() -> list[str]:
    found = cwrapjit.show_config("dicts").get("compiler")
    if isinstance(found, str) and found and not found.startswith("none"):
        return shlex.split(found)
    return shlex.split(os.environ.get("CC", "cc"))


def tier_flags(fastmath: bool) -> list[str]:
    """The cc tier's flags, as far as they say how to compile."""
    facts = cwrapjit.show_config("dicts")
    given = facts.get("compiler flags with fastmath") if fastmath else facts.get("compiler flags")
    if isinstance(given, str) and given:
        # glibc shows its vectorised functions to the whole of -ffast-math alone; cwrapjit's text has them.
        shown = [flag for flag in given.split() if not flag.startswith("-fno-builtin")]
        return [*shown, "-fno-math-errno", *(["-D__FAST_MATH__"] if fastmath else [])]
    exact = str(facts.get("compiler flags") or "").split()
    if not fastmath:
        return exact or USUAL
    return [*USUAL, "-ffast-math", *(flag for flag in exact if not _EXACT.match(flag))]


def usual_flags(fastmath: bool) -> list[str]:
    return [*USUAL, "-ffast-math"] if fastmath else USUAL


def _run(command: Sequence[object]) -> None:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{command[0]} failed:\n{done.stderr}")


def build(text: str, name: str, flags: Iterable[str], folder: Path) -> Path:
    """A shared library. It is linked without the flags: -ffast-math would change the whole process' modes."""
    source, binary, library = (folder / f"{name}{end}" for end in (".c", ".o", ".so"))
    source.write_text(HEADER + text)
    _run([*compiler(), *flags, "-fPIC", "-w", "-c", "-o", binary, source])
    _run([*compiler(), "-shared", "-o", library, binary, "-lm"])
    return library


def by_ctypes(library: Path, name: str, arguments: Sequence[Any]) -> Callable[[], Any]:
    function = getattr(ctypes.CDLL(str(library)), name)
    function.restype = None
    given = [
        ctypes.c_void_p(value.ctypes.data) if isinstance(value, np.ndarray) else ctypes.c_ssize_t(value)
        for value in arguments
    ]
    return lambda: function(*given)


def declaration(text: str, name: str) -> str:
    found = re.search(rf"void {name}\([^)]*\)", text)
    assert found is not None, name
    return found[0].replace("restrict", "") + ";"


def by_cffi(cffi: Any, library: Path, text: str, name: str, arguments: Sequence[Any]) -> Callable[[], Any]:
    """ABI mode. The pointers are made once, as a user of one array would do."""
    ffi = cffi.FFI()
    ffi.cdef(declaration(text, name))
    opened = ffi.dlopen(str(library))
    function = getattr(opened, name)
    given = []
    for kind, value in zip(ffi.typeof(function).args, arguments, strict=True):
        is_array = isinstance(value, np.ndarray)
        given.append(ffi.cast(kind, value.ctypes.data) if is_array else int(value))
    return lambda: (opened, function(*given))[1]
