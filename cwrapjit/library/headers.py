"""Reads #include lines by the preprocessor of the machine's C compiler.

It does more than preprocess.py: it knows its folders and macros, $CPATH, other sysroots, #include_next and
other machines. preprocess.py reads headers if it fails, or there is none; ARCHITECTURE.md has the figures.
"""

from __future__ import annotations

import codecs
import os
import re
import subprocess
import sysconfig
from collections.abc import Iterable, Sequence

from cwrapjit import _cwrapjit
from cwrapjit._paths import backend_files

_SECONDS = 60
_MARK = re.compile(r'# (\d{1,9}) "((?:\\.|[^"\\])*)"(.*)')
_ESCAPED = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_SPELLED = re.compile(r'#include(_next)?\s*(["<])([^">]*)')

# The headers of C11, 7.1.2.
ISO = frozenset(
    f"{name}.h"
    for name in (
        "assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign "
        "stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar "
        "wchar wctype"
    ).split()
)


def _octal(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return "".join(f"\\{byte:o}" for byte in error.object[error.start : error.end]), error.end


# For headers: bytes that are not UTF-8 are written as \351, which means the same in texts and characters.
codecs.register_error("cwrapjit.octal", _octal)


class Failed(Exception):
    """There is no compiler, or it did not read the headers; the text says why."""


def expanded(
    includes: Sequence[str], macros: Iterable[str], folders: Sequence[str], as_libtcc: bool = False
) -> str:
    """Returns what `cc -E` makes of these #include lines, with #define and #include lines. as_libtcc: with
    libtcc's macros and folders, for what libtcc compiles, not with the compiler's."""
    found = _cwrapjit.optimizer()
    if not found["compiler"]:
        raise Failed(f"no compiler: {found['problem']}")
    # Fatal: otherwise a header that includes itself twice would be refused 2**200 times.
    command = [*found["compiler"], "-E", "-dD", "-dI", "-w", "-Wfatal-errors", "-x", "c"]
    name = os.path.basename(command[0])
    command += [f"-I{each}" for each in folders]
    if as_libtcc:
        _, lib, own = backend_files()
        local, *system = system_folders()
        command += ["-undef", "-nostdinc"]
        for each in (f"{own}/whole", local, f"{lib}/include", *system):
            command += ["-isystem", each]
        macros = [_cwrapjit.predefined(), *macros]
    try:
        done = subprocess.run(
            [*command, "-"],
            input="\n".join([*macros, *includes, ""]).encode(errors="surrogateescape"),
            capture_output=True,
            timeout=_SECONDS,
            env={**os.environ, "LC_ALL": "C"},
        )
    except subprocess.TimeoutExpired:
        raise Failed(f"{name} did not end within {_SECONDS} s") from None
    except (OSError, ValueError) as error:  # ValueError: a folder's name has a NUL
        raise Failed(f"{name} cannot be run: {error}") from None
    said = re.search(r"error: .*", done.stderr.decode(errors="replace"))
    if done.returncode or said:  # if SIGCHLD is ignored, all processes seem to succeed
        raise Failed(f"{name}: {said[0] if said else f'it ended with {done.returncode}'}")
    return done.stdout.decode(errors="cwrapjit.octal").replace("\r\n", "\n")


class Origins:
    """Tells included files that the user asked for from those that only these need. The latter are *foreign*:
    only their types and macros are known, because declarations use them."""

    def __init__(self, folders: Sequence[str]) -> None:
        self.folders = folders  # include_dirs: nothing in them is foreign
        self.foreign: set[str] = set()  # paths
        self._own: set[str] = set()
        self._entered: list[tuple[str, str, bool, str]] = []  # arguments of enter(), of files by files

    def enter(self, path: str, spelled: str, quoted: bool, includer: str | None, asked: bool) -> None:
        """Enters an included file. includer: None for the user's text; asked: that has only directives."""
        if includer is not None:
            self._entered.append((path, spelled, quoted, includer))
        self._judge(path, spelled, quoted, includer, asked)

    def again(self, spelled: str, asked: bool) -> None:
        """Enters a file that another header included first, so that the compiler does not show it again."""
        for path in [each for each in self.foreign if asked and each.endswith(f"/{spelled}")]:
            self.enter(path, spelled, False, None, asked)

    def _judge(self, path: str, spelled: str, quoted: bool, includer: str | None, asked: bool) -> None:
        folder = os.path.dirname(path)
        if includer is None:
            own = asked or quoted
        else:
            beside = "/" in spelled and os.path.dirname(includer) == folder
            # bits/: the C library's folder for parts of other headers
            own = includer in self._own and (quoted or beside or spelled.startswith("bits/"))
        own = own or any(path.startswith(os.path.join(each, "")) for each in self.folders)
        is_new = own and path not in self._own
        if own:
            self._own.add(path)
        if path not in self._own:
            self.foreign.add(path)
        else:
            self.foreign.discard(path)
        if is_new:  # files that it includes may have been judged before
            for each in [each for each in self._entered if each[3] == path and each[0] in self.foreign]:
                self._judge(*each, asked)


def lines_of(said: str, origins: Origins, asked: bool) -> list[tuple[str, int, str]]:
    """Returns what expanded() took from headers, as (file, line, text); file "" has the compiler's own
    macros. Enters the files into origins."""
    found: list[tuple[str, int, str]] = []
    stack: list[str] = []  # open files, without the user's text
    file, at, spelled, quoted = "", 0, "", False
    waiting: list[str] = []  # the user's #include lines that opened no file yet
    for line in said.split("\n"):
        mark = _MARK.match(line)
        if mark is not None:
            before, file, at = file, _unescaped(mark[2]), int(mark[1])
            flags = mark[3].split()
            if "1" in flags and file[:1] != "<":
                includer = stack[-1] if stack else None if before == "<stdin>" else before
                origins.enter(file, spelled, quoted, includer, asked)
                stack.append(file)
                waiting = waiting if includer else waiting[:-1]
            elif "2" in flags and stack:
                stack.pop()
            continue
        include = _SPELLED.match(line)
        if include is not None:
            quoted, spelled = bool(include[1]) or include[2] == '"', include[3]
            if not stack and file == "<stdin>":
                waiting.append(spelled)
        elif stack or file == "<built-in>":
            found.append((file if stack else "", at, line))
        at += 1
    for spelled in waiting:
        origins.again(spelled, asked)
    return found


def _unescaped(path: str) -> str:
    """Decodes a path: quotes and backslashes follow a backslash, other bytes may be octal."""

    def character(match: re.Match[bytes]) -> bytes:
        return bytes([int(match[1], 8) & 0xFF]) if len(match[1]) == 3 else match[1]

    return _ESCAPED.sub(character, path.encode()).decode(errors="surrogateescape")


def system_folders() -> list[str]:
    """Returns the folders of headers without a compiler. The last are ours, instead of the compiler's."""
    multiarch = sysconfig.get_config_var("MULTIARCH")
    found = ["/usr/local/include", *([f"/usr/include/{multiarch}"] if multiarch else []), "/usr/include"]
    return [*found, backend_files()[2]]
