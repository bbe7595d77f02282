"""Passes Python's files, and paths, where C wants a FILE *.

C gets a stream of its own over a duplicate of the descriptor. Python's buffers are empty while C has it, and
Python continues where C stopped. A path is opened for reading.
"""

from __future__ import annotations

import ctypes
import fcntl
import io
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cwrapjit import _cwrapjit
from cwrapjit.library import types
from cwrapjit.library.options import names_of

if TYPE_CHECKING:
    from cwrapjit.library.mapping import Mapper

_libc = ctypes.CDLL(None, use_errno=True)
_libc.fdopen.restype = ctypes.c_void_p
_libc.fdopen.argtypes = (ctypes.c_int, ctypes.c_char_p)
_libc.ftell.restype = ctypes.c_long
_libc.ftell.argtypes = _libc.fflush.argtypes = _libc.fclose.argtypes = (ctypes.c_void_p,)
_ITEM = types.item_name(types.KNOWN["FILE"])


class Stream:
    """One FILE * for C. finish() closes it, or whatever keeps it does."""

    def __init__(self, descriptor: int, file: Any, kept: bool) -> None:
        """Takes over the descriptor."""
        self.address = 0
        self.file = file  # Python's file, which continues afterwards; None: a path
        self.kept = kept
        try:
            self.address = _libc.fdopen(descriptor, _mode(descriptor)) or 0
            if not self.address:
                raise _error()
        except BaseException:
            os.close(descriptor)
            raise

    def finish(self) -> None:
        """Closes it after the call, unless C keeps it."""
        if not self.kept:
            self.close()

    def close(self) -> None:
        """Writes what C has not written yet, and closes. Raises OSError if that fails."""
        address, self.address = self.address, 0
        if not address:
            return
        failed = _libc.fflush(address) != 0
        error = _error() if failed else None
        position = -1 if self.file is None or not self.file.seekable() else _libc.ftell(address)
        if _libc.fclose(address) != 0 and error is None:
            error = _error()
        if position >= 0:
            self.file.seek(position)  # Python's file continues where C stopped
        if error is not None:
            raise error

    def __del__(self) -> None:
        if self.address:
            _libc.fclose(self.address)


class Converter:
    """Makes a FILE * for one parameter. kept: C has it after the call, too; refusal: why only C's own are
    accepted; optional: it may be NULL."""

    def __init__(self, who: str, kept: bool, refusal: str, optional: bool) -> None:
        self.who = who
        self.kept = kept
        self.refusal = refusal
        self.optional = optional

    def __call__(self, given: Any) -> tuple[int, Any]:
        """Returns (address, what ends the stream). For C's own stream, that is only the Pointer."""
        if given is None and self.optional:
            return 0, None
        if not isinstance(given, _cwrapjit.Pointer):
            made = self._opened(given)
            return made.address, made
        if given.item not in ("", _ITEM):
            raise TypeError(f"{self.who}: expected a Pointer to FILE, got one to {given.item}")
        return given.address, given

    def _opened(self, given: Any) -> Stream:
        is_path = isinstance(given, (str, bytes)) or hasattr(type(given), "__fspath__")
        if not is_path and not _is_file(given):
            hint = ": None is NULL where optional= names the argument" if given is None else ""
            raise TypeError(
                f"{self.who}: expected a file, as open() makes, or a path, got {type(given).__name__}{hint}"
            )
        if self.refusal:
            raise TypeError(f"{self.who}: {self.refusal}")
        if is_path:
            return Stream(os.open(given, os.O_RDONLY | os.O_CLOEXEC), None, self.kept)
        descriptor = os.dup(given.fileno())
        try:
            self._empty(given, descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        return Stream(descriptor, given, self.kept)

    def _empty(self, file: Any, descriptor: int) -> None:
        """Empties Python's buffers, and sets the descriptor to where Python reads or writes next."""
        if not file.seekable():
            file.flush()
            if _mode(descriptor) != b"w":
                raise ValueError(f"{self.who}: this file cannot seek: what is read ahead would be lost")
            return
        position = file.tell()
        if position >= 1 << 63:  # a text file's, with its decoder's state
            raise ValueError(f"{self.who}: this text file stands within a character or a line end")
        file.seek(0, os.SEEK_END)  # empties buffers, which seek(position) alone would keep
        file.seek(position)


def _is_file(given: Any) -> bool:
    """True if its descriptor has the very bytes that it reads or writes, unlike that of gzip.open()."""
    buffer = getattr(given, "buffer", given)
    return isinstance(getattr(buffer, "raw", buffer), io.FileIO)


def _mode(descriptor: int) -> bytes:
    flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
    access = flags & os.O_ACCMODE
    if access == os.O_RDONLY:
        return b"r"
    if flags & os.O_APPEND:
        return b"a" if access == os.O_WRONLY else b"a+"
    return b"w" if access == os.O_WRONLY else b"r+"


def _error() -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))


# ---- what may keep it -----------------------------------------------------------------------------


def converter(mapper: Mapper, slot: Any) -> Converter:
    """Makes the converter of a FILE *. keeps= must mention the objects that C could keep it in."""
    given = mapper.options.keeps
    said = given if isinstance(given, Mapping) else {}
    lists = said.values() if isinstance(given, Mapping) else (given,)
    kept = any(slot.name in names_of(each) for each in lists)
    open_to = [] if kept else [each for each in _keepers(mapper) if each not in said]
    refusal = ""
    if open_to:
        keeper = open_to[0]
        refusal = (
            f"C could keep this stream in {keeper}, where it is closed after the call: "
            f"keeps={{{keeper!r}: {slot.name!r}}} says that it does, keeps={{{keeper!r}: ()}} that it does "
            "not; a Pointer to a FILE of C's is taken as it is"
        )
    optional = slot.name in mapper.options.optional
    return Converter(f"{mapper.called}(): argument {slot.name}", kept, refusal, optional)


def _keepers(mapper: Mapper) -> list[str]:
    """Returns structs and handles that C writes or returns, and a returned pointer unless to numbers."""
    found = []
    for each in mapper.slots:
        ctype = each.type
        target = ctype.target if isinstance(ctype, types.Pointer) else None
        inner = target.target if isinstance(target, types.Pointer) else target
        is_const = isinstance(ctype, types.Pointer) and ctype.const and target is inner
        if isinstance(inner, types.Struct) and not is_const:
            found.append(each.name)
    result = mapper.declaration.result
    target = result.target if isinstance(result, types.Pointer) else None
    if isinstance(result, (types.Struct, types.Pointer)) and not isinstance(target, types.Scalar):
        found.append("return")
    return found
