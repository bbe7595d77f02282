"""Reads the parts of an ELF file that the tests of wheels check. Files must be 64-bit and little-endian."""

from __future__ import annotations

import struct
from typing import NamedTuple

MACHINES = {"x86_64": 62, "aarch64": 183}

_PROGRAM_HEADER_OF_STACK, _EXECUTABLE = 0x6474E551, 1
_SYMBOLS, _DYNAMIC, _DYNAMIC_SYMBOLS, _VERSIONS_NEEDED = 2, 6, 11, 0x6FFFFFFE
_NEEDED, _RPATH, _RUNPATH = 1, 15, 29


class Elf(NamedTuple):
    machine: int
    needs: list[str]  # libraries
    versions: set[str]  # of these libraries' symbols, such as GLIBC_2.17
    exports: set[str]
    search_paths: list[str]
    has_symbol_table: bool  # strip removes it
    stack_is_executable: bool


def read(data: bytes) -> Elf:
    assert data[:6] == b"\x7fELF\x02\x01", "an ELF file of 64 bits"
    (machine,) = struct.unpack_from("<H", data, 18)
    programs, headers = struct.unpack_from("<QQ", data, 32)
    size_p, count_p, size, count = struct.unpack_from("<HHHH", data, 54)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, headers + i * size) for i in range(count)]

    def text(section: int, offset: int) -> str:
        """Returns the string at `offset` of the string section that `section` links to."""
        start = sections[sections[section][6]][4] + offset
        return data[start : data.index(b"\0", start)].decode()

    by_type = {section[1]: i for i, section in enumerate(sections)}
    tags = []
    dynamic = by_type[_DYNAMIC]
    for offset in range(sections[dynamic][4], sections[dynamic][4] + sections[dynamic][5], 16):
        tag, value = struct.unpack_from("<qQ", data, offset)
        if tag in (_NEEDED, _RPATH, _RUNPATH):
            tags.append((tag, text(dynamic, value)))

    symbols = by_type[_DYNAMIC_SYMBOLS]
    exports = set()
    for offset in range(sections[symbols][4], sections[symbols][4] + sections[symbols][5], 24):
        name, _, _, place = struct.unpack_from("<IBBH", data, offset)
        if place:
            exports.add(text(symbols, name))

    versions: set[str] = set()
    if _VERSIONS_NEEDED in by_type:
        needed = by_type[_VERSIONS_NEEDED]
        entry, step = sections[needed][4], 1
        while step:
            _, _, _, first, step = struct.unpack_from("<HHIII", data, entry)
            version, further = entry + first, 1
            while further:
                _, _, _, name, further = struct.unpack_from("<IHHII", data, version)
                versions.add(text(needed, name))
                version += further
            entry += step

    stacks = [
        struct.unpack_from("<II", data, programs + i * size_p)
        for i in range(count_p)
        if struct.unpack_from("<I", data, programs + i * size_p)[0] == _PROGRAM_HEADER_OF_STACK
    ]
    return Elf(
        machine,
        [name for tag, name in tags if tag == _NEEDED],
        versions,
        exports,
        [name for tag, name in tags if tag != _NEEDED],
        _SYMBOLS in by_type,
        any(flags & _EXECUTABLE for _, flags in stacks) or not stacks,
    )
