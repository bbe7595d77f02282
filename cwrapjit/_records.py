"""Converts structured dtypes among the keys of a function's type sets to C structs, once per definition."""

from __future__ import annotations

import math
import re
from typing import Any, NoReturn

import numpy as np

from cwrapjit._arguments import CTYPES
from cwrapjit._words import KEYWORDS

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# With the words of GNU C, and the macros of <stdbool.h> and <stddef.h>.
_WORDS = KEYWORDS | set("asm typeof bool true false NULL offsetof".split())
# Python's parser accepts about 200 nested brackets.
_DEEPEST = 32
# Characters that a label must not contain, as it appears in comments, strings and file names of C text.
_UNSAFE = re.compile(r'[^ -~]|["\\*?]')


class Records:
    """The structs of the function `name`. Messages begin with `who`."""

    def __init__(self, who: str, name: str) -> None:
        self.text = ""  # definitions of the structs
        self._who = who
        self._name = name
        self._key: object = None
        self._structs: dict[str, tuple[str, int]] = {}  # expression of the dtype -> C name and alignment

    def take(self, dtype: np.dtype[Any], key: object) -> tuple[np.dtype[Any], str, str, str]:
        """Returns a copy of the dtype, an expression for it, a label, and the name of its struct."""
        self._key = key
        if dtype.subdtype is not None:
            self._refuse("no array has a subarray as its dtype: its dims belong into the prototype")
        try:
            written = expression_of(dtype)
        except _NotWritten as error:
            self._refuse(str(error))
        ctype, _ = self._struct(dtype, "")
        own: np.dtype[Any] = eval(written, {"__name__": __name__, "dtype": np.dtype})
        if own != dtype:
            self._refuse(f"as {written} it is another one")
        return own, written, _UNSAFE.sub("_", str(dtype)), ctype

    def _refuse(self, why: str) -> NoReturn:
        raise TypeError(f"{self._who}: Ccode_slice_eval: {self._key!r} has no struct in C: {why}")

    def _struct(self, dtype: np.dtype[Any], place: str) -> tuple[str, int]:
        """Returns the struct's name and alignment; defines it if it is new."""
        written = expression_of(dtype)
        if written not in self._structs:
            members = self._members(dtype, place)
            name = f"cwj_record_{len(self._structs)}__{self._name}"
            text, alignment = _definition(dtype, members, name)
            self.text += text
            self._structs[written] = name, alignment
        return self._structs[written]

    def _members(self, dtype: np.dtype[Any], place: str) -> list[_Member]:
        """Returns the members in the order of their offsets."""
        if not dtype.itemsize:
            self._refuse(f"{_the_field(place)}has no bytes")
        fields: Any = dtype.fields
        names = sorted(dtype.names or (), key=lambda name: fields[name][1])
        return [self._member(name, fields[name][0], fields[name][1], place) for name in names]

    def _member(self, name: str, dtype: np.dtype[Any], offset: int, place: str) -> _Member:
        path = f"{place}.{name}" if place else name
        if not _IDENTIFIER.fullmatch(name):
            self._refuse(f"{_the_field(path)}has no name that C can use")
        if name in _WORDS or name.startswith(("cwj_", "__")) or re.match("_[A-Z]", name):
            self._refuse(f"{_the_field(path)}has a name that is reserved in C")
        shape: tuple[int, ...] = ()
        while dtype.subdtype is not None:
            dtype, more = dtype.subdtype
            shape += more
        if 0 in (dtype.itemsize, *shape):
            self._refuse(f"{_the_field(path)}has no bytes")
        size = dtype.itemsize * math.prod(shape)
        ctype, dims, alignment = self._leaf(dtype, path)
        return _Member(name, offset, size, alignment, ctype, "".join(f"[{n}]" for n in shape + dims))

    def _leaf(self, dtype: np.dtype[Any], path: str) -> tuple[str, tuple[int, ...], int]:
        """Returns a field's C type, the dims that the type adds, and its alignment."""
        if dtype.names is not None:
            ctype, alignment = self._struct(dtype, path)
            return ctype, (), alignment
        if dtype.hasobject:
            self._refuse(f"{_the_field(path)}is {dtype}: C would have to count references")
        if not dtype.isnative:
            self._refuse(f"{_the_field(path)}has the other byte order than this machine")
        if dtype.kind in "SV":
            return ("char" if dtype.kind == "S" else "unsigned char"), (dtype.itemsize,), 1
        if dtype.kind == "U":
            return "npy_uint32", (dtype.itemsize // 4,), dtype.alignment
        ctype_of_number = CTYPES.get(f"{dtype.kind}{dtype.itemsize}")
        if ctype_of_number is None:
            self._refuse(f"{_the_field(path)}is {dtype}, which C has no type for")
        return ctype_of_number, (), dtype.alignment


class _Member:
    """A member of a struct; size is in bytes; ctype, name and dims make its declaration."""

    def __init__(self, name: str, offset: int, size: int, alignment: int, ctype: str, dims: str) -> None:
        self.name, self.offset, self.end, self.alignment = name, offset, offset + size, alignment
        self.declaration = f"{ctype} {name}{dims};"


def _the_field(path: str) -> str:
    return f"field '{path}' " if path else "it "


def _definition(dtype: np.dtype[Any], members: list[_Member], name: str) -> tuple[str, int]:
    """Returns the text of a struct whose members are at the dtype's offsets, and the alignment of the struct.
    Gaps become members. The struct is packed, with alignment 1, unless the dtype's alignment, size and
    offsets suit the alignment of the members. If members overlap, it is a packed union."""
    ends = [0, *(member.end for member in members)]
    overlap = any(member.offset < max(ends[: i + 1]) for i, member in enumerate(members))
    alignment = max((member.alignment for member in members), default=1)
    natural = (
        not overlap
        and dtype.alignment >= alignment
        and all(member.offset % member.alignment == 0 for member in members)
        and dtype.itemsize % alignment == 0
    )
    packed = "" if natural else "__attribute__((packed)) "
    lines = []
    for i, member in enumerate(members):
        gap = member.offset - (0 if overlap else ends[i])
        before = f"unsigned char cwj_gap_{i}[{gap}]; " if gap else ""
        line = f"{before}{member.declaration}"
        lines.append(f"struct {packed}{{ {line} }};" if overlap else line)
    rest = dtype.itemsize if overlap else dtype.itemsize - ends[-1]
    if rest:
        lines.append(f"unsigned char cwj_gap[{rest}];")
    asserts = [f"sizeof({name}) == {dtype.itemsize}"]
    asserts += [f"offsetof({name}, {member.name}) == {member.offset}" for member in members]
    text = f"typedef {'union' if overlap else 'struct'} {packed}{name} {{\n"
    text += "".join(f"    {line}\n" for line in lines) + f"}} {name};\n"
    text += "".join(f'_Static_assert({each}, "laid out as in NumPy");\n' for each in asserts)
    return text, alignment if natural else 1


class _NotWritten(ValueError):
    """Says why a dtype cannot be written as an expression."""


def expression_of(dtype: np.dtype[Any], depth: int = 0) -> str:
    """Returns an expression for an equal dtype, in which `dtype` is NumPy's class."""
    if depth > _DEEPEST:
        raise _NotWritten("its fields are nested too deeply")
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return f"({expression_of(base, depth)}, {shape})"
    if dtype.names is None:
        return repr(dtype.str)
    fields: Any = dtype.fields
    parts = [fields[name] for name in dtype.names]
    written = {
        "names": "".join(f"{name!r}, " for name in dtype.names),
        "formats": "".join(f"{expression_of(part[0], depth + 1)}, " for part in parts),
        "offsets": "".join(f"{part[1]}, " for part in parts),
    }
    if any(len(part) > 2 for part in parts):
        written["titles"] = "".join(f"{_title(part[2:])}, " for part in parts)
    lists = "".join(f"{key!r}: [{text[:-2]}], " for key, text in written.items())
    # Within an aligned dtype, NumPy would align a nested dict, too: so each nested dtype is a call.
    align = ", align=True" if dtype.isalignedstruct else ""
    return f"dtype({{{lists}'itemsize': {dtype.itemsize}}}{align})"


def _title(title: tuple[object, ...]) -> str:
    if not title or title[0] is None:
        return "None"
    if not isinstance(title[0], str):
        raise _NotWritten(f"{title[0]!r} is a title and no text")
    return ascii(str(title[0])).replace("?", "\\x3f")  # C has trigraphs
