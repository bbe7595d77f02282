"""The exceptions and warnings of this package, made of what compilers say and of what signals mean."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from cwrapjit._imports import late, load

if TYPE_CHECKING:
    from signal import Signals

# What a compiler says: text, file, line, the text of the line, and two columns, which count bytes from 1.
# No file: b""; unknown: 0 and None.
_Message: TypeAlias = tuple[bytes, bytes, int, bytes | None, int, int]
_Place: TypeAlias = tuple[str | None, int | None, str | None]  # file, line, the text of the line


class CompileError(SyntaxError):
    """C text that does not compile.

    A SyntaxError: filename says which text of which function, lineno and offset count from 1
    within it. errors lists one CompileError for each fault, this one's included.
    """

    __module__ = "cwrapjit"
    errors: Sequence[CompileError] = ()


class CompileWarning(UserWarning):
    """What a C compiler says of C text that runs all the same.

    msg is what it says; filename, lineno and offset say where, as in a CompileError, and
    text is that line, where it is known.
    """

    __module__ = "cwrapjit"
    msg: str = ""
    filename: str | None = None
    lineno: int | None = None
    offset: int | None = None
    text: str | None = None


class Fault(RuntimeError):
    """Compiled code of debug=True did what ends a process otherwise, or damaged what is not its own.

    signal is a signal.Signals, or None for damage that was found after a call. address is what
    was accessed, or the instruction, where that is known. filename, lineno and text are the C
    line; None where that is not known.
    """

    __module__ = "cwrapjit"
    signal: Signals | None = None
    address: int | None = None
    filename: str | None = None
    lineno: int | None = None
    text: str | None = None


# ---- what compilers say ----------------------------------------------------------------------------


def _decode(text: bytes) -> str:
    """A compiler cuts a text at a byte, not at a character."""
    return text.decode(errors="replace")


_LATER_BYTES = bytes(range(0x80, 0xC0))  # of a character in UTF-8


def _span(source: bytes, column: int, end_column: int) -> tuple[int, int]:
    """Where the caret begins and ends, in characters from 1; the whole line where nobody knows."""
    if column <= 0:
        column = 1 + len(source) - len(source.lstrip(b" \t\f\v"))
        end_column = len(source) + 1
    first, behind = (
        1 + len(source[: place - 1].translate(None, _LATER_BYTES))
        for place in (column, max(end_column, column + 1))
    )
    return first, max(behind, first + 1)


def _compile_error(message: _Message, more: str = "") -> CompileError:
    text, file, line, source, column, end_column = message
    words = _decode(text) + more
    if not file:
        return CompileError(words)
    if line <= 0:
        return CompileError(words, (_decode(file), None, None, None, None, None))
    if source is None:
        return CompileError(words, (_decode(file), line, None, None, line, None))
    offset, end_offset = _span(source, column, end_column)
    return CompileError(words, (_decode(file), line, offset, _decode(source), line, end_offset))


def compile_error(messages: Sequence[_Message]) -> CompileError:
    """That of the first. The others are notes, drawn as a traceback draws the first; Python 3.10 has none."""
    others = len(messages) - 1
    plural = "s" if others > 1 else ""
    error = _compile_error(messages[0], f" (and {others} more error{plural}: see .errors)" if others else "")
    error.errors = [_compile_error(message) for message in messages]
    if others and hasattr(error, "add_note"):
        with late:  # from CPython 3.15 on, drawing imports more (PEP 810)
            draw = load("traceback").format_exception_only
            for other in error.errors[1:]:
                error.add_note("".join(draw(type(other), other)).rstrip())
    return error


def _compile_warning(message: _Message, behind: str = "") -> CompileWarning:
    text, file, line, source, column, end_column = message
    warning = CompileWarning(_decode(text) + behind)
    warning.msg = _decode(text)
    if file:
        warning.filename = _decode(file)
        warning.lineno = line if line > 0 else None
        if line > 0 and source is not None:
            warning.offset, _ = _span(source, column, end_column)
            warning.text = _decode(source)
    return warning


def compile_warnings(messages: Sequence[_Message]) -> list[CompileWarning]:
    """One for each."""
    return [_compile_warning(message) for message in messages]


def warn(messages: Sequence[_Message], behind: str = "") -> None:
    """Makes them warnings, with a text behind what they say."""
    for message in messages:
        warning = _compile_warning(message, behind)
        warnings.warn_explicit(warning, CompileWarning, _decode(message[1]), message[2], module="cwrapjit")


def warn_of_errors(messages: Sequence[_Message]) -> None:
    """Those of the system's compiler, about code that runs all the same."""
    warn(messages, " (an error to the system's compiler; libtcc took it, and what it made of it runs)")


def place_error(who: str, what: str, reason: str, text: str, position: int) -> ValueError:
    """What is wrong in a text, with a caret under a position, which counts bytes."""
    if position < 0:
        return ValueError(f"{who}: {what}: {reason}")
    place = len(text.encode()[:position].decode(errors="replace"))
    return ValueError(f"{who}: {what}: {reason} at position {place}\n    {text}\n    {' ' * place}^")


def add_note(exception: BaseException, text: str) -> None:
    """Once; before Python 3.11, behind the message where that is a str."""
    if hasattr(exception, "add_note"):
        if text not in getattr(exception, "__notes__", ()):
            exception.add_note(text)
    elif exception.args and isinstance(exception.args[0], str) and not exception.args[0].endswith(text):
        exception.args = (f"{exception.args[0]}\n{text}", *exception.args[1:])


def say_whose(error: UnicodeError, text: str) -> None:
    """Behind the reason why it is no text."""
    if isinstance(error, (UnicodeDecodeError, UnicodeEncodeError)):
        error.reason = f"{error.reason} ({text})"


# ---- what debug=True finds -------------------------------------------------------------------------


def place_of(file: bytes, line: int, text: str | tuple[str, int, str] | None) -> tuple[str, _Place]:
    """The words ", in FILE, line N: TEXT", and the place itself. text: None where it is not known yet, or
    the place as the user knows it."""
    name = os.fsdecode(file)
    if isinstance(text, tuple):
        name, line, text = text
    if text is None and not name.startswith("<"):
        try:
            text = load("linecache").getline(name, line) or None
        except (OSError, ValueError, SyntaxError, ImportError):
            pass  # a line less to show
    if text is not None:
        text = text.strip()
    return f", in {name}, line {line}" + ("" if text is None else f": {text}"), (name, line, text)


def _what_happened(
    name: str, address: int | None, deep: bool, over: bool, raised: bool, divided: bool
) -> str:
    if deep:
        return "the stack is exhausted"
    if over:
        return "access behind the end of the stack, as by an index into a local array"
    if raised and name != "SIGABRT":
        return "the code has raised the signal"
    if name == "SIGFPE":
        by_zero = "integer division by zero, or of the most negative integer by -1"
        return by_zero if divided else "arithmetic fault"
    if name == "SIGILL":
        return "an instruction that traps, or is none"
    if name == "SIGABRT":
        return "abort() was called"
    if address is None:
        return "access by a pointer that is no address"
    where = "by a null pointer" if address < 4096 else "to memory that is not there, or not to be used so"
    return f"access {where} (address {address:#x})"


def fault(
    who: str,
    number: int,
    address: int | None,
    kinds: tuple[bool, bool, bool, bool],
    what: str | None,
    library: bytes | None,
    words: str,
    place: _Place,
) -> Fault:
    """Of a signal. what: in words, where more is known; library: whose code that was, where it may have done
    harm to what is not its own."""
    signal = load("signal").Signals(number)
    inside = library and (
        f" inside of {os.fsdecode(library)} (what it was at work on may be damaged; if "
        "that was the heap, nothing is promised)"
    )
    error = Fault(
        f"{who}: {signal.name}: {what or _what_happened(signal.name, address, *kinds)}{inside or ''}{words}"
    )
    error.signal, error.address = signal, address
    error.filename, error.lineno, error.text = place
    return error
