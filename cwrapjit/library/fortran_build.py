"""Finds the Fortran compiler and makes a shared object of an emitted wrapper module."""

from __future__ import annotations

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence

from cwrapjit._cwrapjit import CompileError

_COMPILERS = ("gfortran", "gfortran-14", "gfortran-13", "gfortran-12", "gfortran-11")
_SECONDS = 120


def compiler() -> list[str]:
    """Returns the command line of the Fortran compiler: $CWRAPJIT_FC if it is set, else gfortran on PATH."""
    wanted = shlex.split(os.environ.get("CWRAPJIT_FC", ""))
    if wanted:
        found = shutil.which(wanted[0])
        if found is None:
            raise RuntimeError(
                f"no Fortran compiler: $CWRAPJIT_FC is {wanted[0]!r}, which is no program here"
            )
        return [found, *wanted[1:]]
    for found in filter(None, map(shutil.which, _COMPILERS)):
        return [found]
    raise RuntimeError(
        "no Fortran compiler: ordinary Fortran routines need one (gfortran on PATH, or $CWRAPJIT_FC;"
        " Debian: apt install gfortran). bind(c) routines do not: declare them in C with function()"
    )


def _run(command: Sequence[str], folder: str | os.PathLike[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=_SECONDS,
        env={**os.environ, "LC_ALL": "C", "TMPDIR": str(folder)},
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
    """Compiles the sources and the text to a shared object. AttributeError: the library lacks symbols."""
    command = compiler()
    wrapper = folder / "wrapper.f90"
    wrapper.write_text(text, encoding="utf-8")
    made = folder / "wrapper.so"
    command += ["-shared", "-fPIC", "-O2", f"-J{folder}", *(f"-I{path}" for path in include_dirs), *flags]
    command += [*sources, str(wrapper), "-o", str(made), *link, "-Wl,-z,defs"]
    try:
        done = _run(command, folder)
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


class Constants:
    """Asks the compiler for constants of modules that it finds, or that the sources define."""

    def __init__(self, sources: Sequence[str], include_dirs: Sequence[str], flags: Sequence[str]) -> None:
        self.sources, self.words = sources, [*(f"-I{path}" for path in include_dirs), *flags]
        self.folder: tempfile.TemporaryDirectory[str] | None = None

    def close(self) -> None:
        if self.folder is not None:
            self.folder.cleanup()

    def _said(self, *words: str) -> str | None:
        assert self.folder is not None
        try:
            done = _run(words, self.folder.name)
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout if done.returncode == 0 else None

    def __call__(self, place: tuple[str, str]) -> int | None:
        """Returns the integer value of (module, name); None if there is none."""
        try:
            command = compiler()
        except RuntimeError:
            return None
        if self.folder is None:
            self.folder = tempfile.TemporaryDirectory(prefix="cwrapjit-fortran-")
            if self.sources:
                self._said(*command, "-fsyntax-only", *self.words, *self.sources)
        text = f"use {place[0]}, only: value => {place[1]}\nprint '(i0)', value\nend\n"
        pathlib.Path(self.folder.name, "ask.f90").write_text(text)
        if self._said(*command, *self.words, "ask.f90", "-o", "ask") is None:
            return None
        said = self._said(os.path.join(self.folder.name, "ask"))
        return int(said) if said and said.strip().isdigit() else None


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
