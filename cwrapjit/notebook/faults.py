"""Shows a CompileError with its line of C, a caret, and only those frames that are the user's.

IPython shows a SyntaxError in its own way, with its own frames, before it asks the class. The extension
therefore registers show() for every CompileError: of %%cwrapjit, of cwrapjit.function(), and of other calls
in a cell."""

from __future__ import annotations

import linecache
import os
import sys
import traceback
from collections.abc import Iterator
from typing import Any

from cwrapjit._imports import load

MOST_LINES = 20
_MOST_FRAMES = 3
_WIDTH = 160  # columns of a line of C
_RED, _GREEN, _PLAIN = "\x1b[31m", "\x1b[32m", "\x1b[39m"


def move(error: Any, file: str, label: str) -> None:
    """Replaces the compiler's name `file` by the cell's `label`, and marks the error so that no frames are
    shown."""
    vars(error)["in_cell"] = True
    for each in (error, *error.errors):
        each.msg = str(each.msg).replace(file, label)  # "in a file included from ..."
        if each.filename == file:
            each.filename = label


def show(shell: Any, kind: Any, value: Any, trace: Any) -> list[str]:
    """Shows the exception; returns what IPython calls a structured traceback."""
    sys.last_type, sys.last_value, sys.last_traceback = kind, value, trace
    lines = [*(() if "in_cell" in vars(value) else _frames(shell, trace)), *told(value)]
    if shell.colors.lower() == "nocolor":
        lines = plain(lines)
    if len(lines) > MOST_LINES:
        lines = [*lines[: MOST_LINES - 1], "..."]
    shell._showtraceback(kind, value, lines)
    return lines


def told(error: Any) -> list[str]:
    """Returns the lines for all errors; the first one has the name of the exception."""
    first, *others = error.errors or [error]
    lines = [*place(first), f"{_RED}{type(error).__name__}{_PLAIN}: {first.msg}"]
    for other in others:
        lines += [*place(other), str(other.msg)]
    return lines


def place(error: Any) -> list[str]:
    """Returns the file and line number, the line, and a caret below it."""
    if not error.filename:
        return []
    line = "" if error.lineno is None else f", line {error.lineno}"
    return [f"{_GREEN}{error.filename}{_PLAIN}{line}", *marked(error)]


def marked(error: Any) -> list[str]:
    """Returns the line and a caret, for a CompileError or a CompileWarning."""
    text = error.text
    if text is None and error.filename and not error.filename.startswith("<"):  # of a header
        text = linecache.getline(error.filename, error.lineno or 0)
    text = (text or "").rstrip("\n")
    begin = len(text) - len(text.lstrip())
    if not text.strip():
        return []
    if error.offset is None:
        return [f"    {text[begin : begin + _WIDTH]}"]
    at = error.offset - 1
    end = (getattr(error, "end_offset", None) or at + 2) - 1
    if at - begin > _WIDTH // 2 and len(text) - begin > _WIDTH:  # generated text has long lines
        begin = at - _WIDTH // 2
    blank = "".join(c if c == "\t" else " " for c in text[begin:at])
    carets = "^" * max(1, min(end, begin + _WIDTH) - at)
    return [f"    {text[begin : begin + _WIDTH]}", f"    {blank}{_RED}{carets}{_PLAIN}"]


def plain(lines: list[str]) -> list[str]:
    """Returns the lines without colours."""
    return [line.replace(_RED, "").replace(_GREEN, "").replace(_PLAIN, "") for line in lines]


def _frames(shell: Any, trace: Any) -> Iterator[str]:
    """Yields the user's frames, the innermost one last."""
    ours = tuple(
        os.path.dirname(os.path.abspath(load(package).__file__ or "")) + os.sep
        for package in ("cwrapjit", "IPython", "ipykernel")
        if package in sys.modules
    )
    frames = [frame for frame in traceback.extract_tb(trace) if not frame.filename.startswith(ours)]
    for frame in frames[-_MOST_FRAMES:]:
        known = shell.compile.format_code_name(frame.filename)
        name = " ".join(known) if known else frame.filename
        inside = "" if frame.name.startswith("<") else f", in {frame.name}"
        yield f"{_GREEN}{name}{_PLAIN}, line {frame.lineno}{inside}"
        if frame.line:
            yield f"    {frame.line}"
