"""repr() of an instance of a struct or union with its members: point(x=1.0, y=2.0).

Debuggers and tracebacks may call it on any instance, even one that C has not filled or has freed. It
therefore reads memory through the kernel, which reports invalid addresses, and follows no pointers but those
to texts."""

from __future__ import annotations

import ctypes
import enum
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from cwrapjit._cwrapjit import Field, Instance, instance_at
from cwrapjit.library import thunks, types
from cwrapjit.library.structs import STRUCTS, python_name
from cwrapjit.show.page import BLUNDERS

_MOST_BYTES = 1 << 20  # of an object
_MOST_LETTERS = 60  # of a member
_MOST = 400  # letters, after which further members are left out
_DEEPEST = 4
_POINTERS = ("address", "data", "function", "list", "pointer", "string")


def peek(address: int, size: int) -> bytes:
    """Returns the bytes at the address, as many as can be read."""
    try:
        with open("/proc/self/mem", "rb", 0) as memory:
            return os.pread(memory.fileno(), size, address)
    except (OSError, OverflowError):
        return b""


def shown(instance: Any) -> str:
    """Returns the repr of an instance. Raises ValueError if its memory cannot be read."""
    size = instance.__cwrapjit_layout__.size
    memory = np.frombuffer(peek(instance.address, size if size <= _MOST_BYTES else 0), np.uint8)
    if len(memory) != size:
        raise ValueError("no such memory")
    copy = instance_at(type(instance), memory.ctypes.data, memory)
    return _shown(copy, type(instance).__name__, 0)


def _shown(copy: Any, name: str, depth: int) -> str:
    """copy: an instance in valid memory that nothing else uses."""
    struct = STRUCTS[type(copy)]
    text = "..." if depth > _DEEPEST else _cut(_members(copy, struct, depth))
    return f"{'union ' * (struct.kind == 'union')}{name}({text})"


def _cut(parts: Iterator[str]) -> str:
    text = next(parts, "")
    for each in parts:
        if len(text) > _MOST:
            return f"{text}, ..."
        text = f"{text}, {each}"
    return text


def _members(copy: Any, struct: types.Struct, depth: int) -> Iterator[str]:
    for member in types.final(struct).members or ():
        name = python_name(member.name)
        field = vars(type(copy)).get(name)
        if isinstance(field, Field):
            yield f"{name}={_member(copy, field, member.type, depth)}"
        elif not member.name and isinstance(member.type, types.Struct):
            inside = _members(copy, member.type, depth)
            yield from inside if member.type.kind == "struct" else [f"<union {_cut(inside)}>"]


def _member(copy: Any, field: Any, ctype: Any, depth: int) -> str:
    item, layers = types.peeled(ctype)
    word = f"<{types.show(types.function_of(item))}{types.dims(layers)}>"
    try:
        if field.kind in _POINTERS:
            at = ctypes.c_void_p.from_address(copy.address + field.offset).value
            return "NULL" if at is None else _text(field, at) or f"{word[:-1]} at {hex(at)}>"
        if field.kind in ("pointers", "refused") or (layers and thunks.is_flexible(layers[0])):
            return word
        return _value(field.__get__(copy), depth)
    except BLUNDERS:  # undecodable text
        return word


def _text(field: Any, at: int) -> str:
    """Returns the text that a string pointer leads to; "" if there is none or it cannot be read."""
    found, end, _ = (peek(at, 4 * _MOST_LETTERS) if field.kind == "string" else b"").partition(b"\0")
    text = found if field.item == "bytes" else found.decode(field.item or "utf-8", "surrogateescape")
    return _value(text, 0) if end or found else ""


def _value(value: Any, depth: int) -> str:
    if isinstance(value, Instance):
        return _shown(value, type(value).__name__, depth + 1)
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, np.ndarray):
        edges = 3 if value.ndim == 1 else 1
        text = np.array2string(value, separator=", ", threshold=10, edgeitems=edges, max_line_width=_MOST)
        text = " ".join(text.split()).replace("[ ", "[")
        return text if len(text) <= _MOST else f"{text[:_MOST]}..."
    if isinstance(value, (str, bytes)) and len(value) > _MOST_LETTERS:
        return f"{value[:_MOST_LETTERS]!r}..."
    return str(value) if isinstance(value, np.generic) else repr(value)
