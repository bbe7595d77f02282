"""Finds the Fortran compiler and makes a shared object of an emitted wrapper module."""

from __future__ import annotations

import os
import pathlib
import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence

from cwrapjit._cwrapjit import CompileError

_COMPILERS = ("gfortran", "gfortran-14", "gfortran-13", "gfortran-12", "gfortran-11")
_SECONDS = 120


def compiler() -> list[str]:
    """The command line of the Fortran compiler: $CWRAPJIT_FC and nothing else, or gfortran on PATH."""
    wanted = shlex.split(os.environ.get("CWRAPJIT_FC", ""))
    if wanted:
        found = shutil.which(wanted[0])
        if found is None:
            raise RuntimeError(
                f"no Fortran compiler: $CWRAPJIT_FC is {wanted[0]!r}, which is no program here"
            )
        return [found, *wanted[1:]]
    for name in _COMPILERS:
        found = shutil.which(name)
        if found is not None:
            return [found]
    raise RuntimeError(
        "no Fortran compiler: ordinary Fortran routines need one (gfortran on PATH, or $CWRAPJIT_FC;"
        " Debian: apt install gfortran). bind(c) routines do not: declare them in C with function()"
    )


def build(
    text: str,
    folder: pathlib.Path,
    *,
    who: str,
    sources: Sequence[str],
    include_dirs: Sequence[str],
    link: Sequence[str],
    flags: Sequence[str] = (),
) -> pathlib.Path:
    """Compiles the sources and then the text, in the folder; the path of the shared object.

    What the library has not got is found here: AttributeError that names the symbol.
    """
    command = compiler()
    wrapper = folder / "wrapper.f90"
    wrapper.write_text(text, encoding="utf-8")
    made = folder / "wrapper.so"
    command += ["-shared", "-fPIC", "-O2", f"-J{folder}", *(f"-I{path}" for path in include_dirs), *flags]
    command += [*sources, str(wrapper), "-o", str(made), *link, "-Wl,-z,defs"]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            env={**os.environ, "LC_ALL": "C", "TMPDIR": str(folder)},
        )
    except subprocess.TimeoutExpired:
        raise CompileError(f"{who}: the Fortran compiler did not end within {_SECONDS} s") from None
    except OSError as error:
        raise RuntimeError(
            f"{who}: the Fortran compiler {command[0]} cannot be run: {error.strerror}"
        ) from None
    if done.returncode == 0 and made.exists():
        return made
    said = done.stderr.replace(str(folder) + os.sep, "").strip()
    refused = _error(said, who)
    refused.said = said  # type: ignore[attr-defined]  # which lines it is about
    raise refused


def _error(said: str, who: str) -> Exception:
    if missing := re.findall(r"undefined reference to [`'\"]([^`'\"]+)['\"]", said):
        symbols = ", ".join(dict.fromkeys(missing))
        return AttributeError(f"{who}: the library has no symbol {symbols} (sources= takes Fortran files)")
    if match := re.search(r"Cannot open module file '(\w+)\.mod'", said):
        return CompileError(
            f"{who}: the compiler finds no {match[1]}.mod: name its folder in include_dirs=, or the module's"
            " file in sources="
        )
    return CompileError(f"{who}: the Fortran compiler refuses this\n{said}")
