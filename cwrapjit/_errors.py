"""Makes exceptions and warnings from compilers' messages and from signals."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from cwrapjit._imports import late, load

if TYPE_CHECKING:
    from signal import Signals

# A compiler's message: text, file, line, the text of the line, and two columns, which count bytes from 1.
# b"": no file; 0 and None: unknown.
_Message: TypeAlias = tuple[bytes, bytes, int, bytes | None, int, int]
_Place: TypeAlias = tuple[str | None, int | None, str | None]  # file, line, the text of the line


class CompileError(SyntaxError):
    """Raised when C text does not compile.

    As in any SyntaxError, filename names the text and its function; lineno and offset count from 1 within
    that text. errors lists one CompileError for each error, including this one."""

    __module__ = "cwrapjit"
    errors: Sequence[CompileError] = ()


class CompileWarning(UserWarning):
    """A C compiler's warning about C text that runs nevertheless.

    msg is the compiler's message. filename, lineno and offset give its place as in a CompileError, and text
    is that line, if known."""

    __module__ = "cwrapjit"
    msg: str = ""
    filename: str | None = None
    lineno: int | None = None
    offset: int | None = None
    text: str | None = None


class Fault(RuntimeError):
    """Raised when code compiled with debug=True would have ended the process, or damaged memory of others.

    signal is a signal.Signals, or None for damage found after a call. address is the accessed address, or
    that of the instruction, if known. filename, lineno and text give the line of C, or are None if unknown.
    """

    __module__ = "cwrapjit"
    signal: Signals | None = None
    address: int | None = None
    filename: str | None = None
    lineno: int | None = None
    text: str | None = None


# ---- compilers' messages ---------------------------------------------------------------------------


def _decode(text: bytes) -> str:
    """Decodes a compiler's text, which may be cut within a character."""
    return text.decode(errors="replace")


_LATER_BYTES = bytes(range(0x80, 0xC0))  # bytes of UTF-8 that continue a character


def _span(source: bytes, column: int, end_column: int) -> tuple[int, int]:
    """Returns the caret's begin and end in characters from 1; the whole line for an unknown column."""
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


def compile_error(messages: Sequence[_Message], read: Any = None) -> CompileError:
    """Makes the exception for the first message, with the others as notes (from Python 3.11 on). read: what
    _arguments.read() returned, for hints about snippets of a function."""
    add_hints = load("cwrapjit._hints").add_hints
    messages = [add_hints(message, read) for message in messages]
    others = len(messages) - 1
    plural = "s" if others > 1 else ""
    error = _compile_error(messages[0], f" (and {others} more error{plural}: see .errors)" if others else "")
    error.errors = [_compile_error(message) for message in messages]
    if others and hasattr(error, "add_note"):
        with late:  # from CPython 3.15 on, formatting imports more modules (PEP 810)
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
    """Makes a CompileWarning of each message."""
    return [_compile_warning(message) for message in messages]


def warn(messages: Sequence[_Message], behind: str = "") -> None:
    """Emits the messages as warnings, with `behind` added to each text."""
    for message in messages:
        warning = _compile_warning(message, behind)
        warnings.warn_explicit(warning, CompileWarning, _decode(message[1]), message[2], module="cwrapjit")


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warns in the line of the user's code that has led here."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).split(".")[0] == "cwrapjit":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def warn_of_errors(messages: Sequence[_Message]) -> None:
    """Warns of errors of the system's compiler in code that libtcc has accepted."""
    warn(messages, " (an error to the system's compiler; libtcc took it, and what it made of it runs)")


def place_error(who: str, what: str, reason: str, text: str, position: int) -> ValueError:
    """Makes the ValueError for a text, with a caret at `position`, which counts bytes; negative: no caret."""
    if position < 0:
        return ValueError(f"{who}: {what}: {reason}")
    place = len(text.encode()[:position].decode(errors="replace"))
    return ValueError(f"{who}: {what}: {reason} at position {place}\n    {text}\n    {' ' * place}^")


def add_note(exception: BaseException, text: str) -> None:
    """Adds a note, once. Before Python 3.11 it is appended to the message, if that is a str."""
    if hasattr(exception, "add_note"):
        if text not in getattr(exception, "__notes__", ()):
            exception.add_note(text)
    elif exception.args and isinstance(exception.args[0], str) and not exception.args[0].endswith(text):
        exception.args = (f"{exception.args[0]}\n{text}", *exception.args[1:])


def say_whose(error: UnicodeError, text: str) -> None:
    """Adds to the reason of an encoding error whose text it is."""
    if isinstance(error, (UnicodeDecodeError, UnicodeEncodeError)):
        error.reason = f"{error.reason} ({text})"


# ---- faults of debug=True --------------------------------------------------------------------------


def place_of(file: bytes, line: int, text: str | tuple[str, int, str] | None) -> tuple[str, _Place]:
    """Returns the words ", in FILE, line N: TEXT", and the place. text: the line; None if not read yet; or
    the place in the user's terms as (name, line, text)."""
    name = os.fsdecode(file)
    if isinstance(text, tuple):
        name, line, text = text
    if name.endswith(" generated>"):  # users do not know that text
        return "", (None, None, None)
    if text is None and not name.startswith("<"):
        try:
            text = load("linecache").getline(name, line) or None
        except (OSError, ValueError, SyntaxError, ImportError):
            pass  # then the line is not shown
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
    """Makes the Fault for a signal. what: a more precise description, if known. library: the library whose
    code was interrupted and may have left data damaged."""
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
