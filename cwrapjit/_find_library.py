"""Finds a shared library by the name that -l takes, without starting a process.

dlopen("libm.so") fails if that file is a linker script, or is only part of a development package; ctypes'
finder starts a compiler. This module therefore searches as the linker and the loader do: the given folders,
LD_LIBRARY_PATH, the loader's cache, the default folders. In each it prefers lib<name>.so, then the highest
version of lib<name>.so.<versions>. It skips files of other machines and follows linker scripts."""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Collection, Iterable

from cwrapjit._unsupported import built_for

_CACHE = "/etc/ld.so.cache"
_MACHINE = built_for()[0]
_ELF_MACHINE = {"x86_64": 62, "aarch64": 183}[_MACHINE]
_MOST_SCRIPT_BYTES = 65536
_MOST_SCRIPT_DEPTH = 4


def _default_dirs() -> list[str]:
    multiarch = [f"/lib/{_MACHINE}-linux-gnu", f"/usr/lib/{_MACHINE}-linux-gnu"]
    return [*multiarch, "/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib", "/usr/local/lib64"]


def find_library(name: str, dirs: Collection[str]) -> str:
    """Returns a path, or a name for dlopen(): a name with ".so" that is not in dirs is returned unchanged."""
    if "/" in name:
        return name
    if ".so" in name:
        return next(filter(None, (_usable(os.path.join(folder, name), dirs) for folder in dirs)), name)
    found = _find(name, dirs)
    if found is None:
        path = ["LD_LIBRARY_PATH"] if "LD_LIBRARY_PATH" in os.environ else []
        places = ", ".join([*dirs, *path, _CACHE, *_default_dirs()])
        raise OSError(f"library '{name}' not found: no usable lib{name}.so in {places}")
    return found


def _find(name: str, dirs: Collection[str], depth: int = 0) -> str | None:
    path = filter(None, re.split("[:;]", os.environ.get("LD_LIBRARY_PATH", "")))
    for folder in (*dirs, *path, None, *_default_dirs()):
        files = _listed_in_cache(name) if folder is None else _listed_in(folder, name)
        for file in files:
            found = _usable(file, dirs, depth)
            if found is not None:
                return found
    return None


def _listed_in(folder: str, name: str) -> Iterable[str]:
    """Lists the files of this library in the folder, the best one first."""
    yield os.path.join(folder, f"lib{name}.so")
    try:
        files = os.listdir(folder)
    except OSError:
        return
    yield from _by_version((os.path.join(folder, file) for file in files), name)


def _by_version(paths: Iterable[str], name: str) -> list[str]:
    """Lists the paths named lib<name>.so or lib<name>.so.<versions>, the best one first."""
    has_name = re.compile(rf"lib{re.escape(name)}\.so(|\.[.0-9]+)")
    found = []
    for path in paths:
        match = has_name.fullmatch(os.path.basename(path))
        if match:
            numbers = [int(number or 0) for number in match[1][1:].split(".")]
            found.append((not match[1], numbers, path))
    return [path for *_, path in sorted(found, key=lambda one: one[:2], reverse=True)]


def _listed_in_cache(name: str) -> list[str]:
    """Lists the files of this library in the cache of glibc's loader. It may begin with an old table:
    "ld.so-1.7.0" pad | count | count * { flags key value }. The new one follows: "glibc-ld.so.cache1.1" |
    count | string bytes | ... | entries | strings. Its offsets of strings count from its own start."""
    try:
        with open(_CACHE, "rb") as file:
            table = file.read()
        if table.startswith(b"ld.so-1.7.0"):
            (count,) = struct.unpack_from("=I", table, 12)
            table = table[(16 + count * 12 + 7) & ~7 :]
        if not table.startswith(b"glibc-ld.so.cache1.1"):
            return []
        (count,) = struct.unpack_from("=I", table, 20)
        # entries with a hwcap other than 0 are for certain processors only
        entries = [*struct.iter_unpack("=iIIIQ", table[48 : 48 + 24 * count])]
    except (OSError, struct.error):
        return []

    prefix = os.fsencode(f"lib{name}.so")
    named = [path for _, key, path, _, hwcap in entries if not hwcap and table.startswith(prefix, key)]
    paths = (os.fsdecode(table[path : table.find(b"\0", path)]) for path in named)
    return _by_version((path for path in paths if path.startswith("/")), name)


def _usable(path: str, dirs: Collection[str], depth: int = 0) -> str | None:
    """Returns the path if it is a shared object for this machine, the target of a linker script, or None."""
    try:
        with open(path, "rb") as file:
            head = file.read(_MOST_SCRIPT_BYTES)
    except OSError:
        return None
    if head.startswith(b"\x7fELF") and len(head) >= 20:
        kind, machine = struct.unpack_from("=HH", head, 16)
        shared_object, of_64_bits = 3, 2
        return path if (kind, head[4], machine) == (shared_object, of_64_bits, _ELF_MACHINE) else None
    if depth == _MOST_SCRIPT_DEPTH or b"\0" in head:
        return None
    return _follow_script(os.fsdecode(head), dirs, depth + 1)


def _follow_script(text: str, dirs: Collection[str], depth: int) -> str | None:
    """Returns the first shared object that GROUP(...) or INPUT(...) names."""
    text = re.sub(r"/\*.*?(\*/|\Z)", " ", text, flags=re.DOTALL)
    group = re.search(r"GROUP[^(]*\((.*)", text, re.DOTALL) or re.search(r"INPUT[^(]*\((.*)", text, re.DOTALL)
    for word in re.split(r"[ \t\r\n(),;]+", group[1]) if group else ():
        found = None  # AS_NEEDED, or a bare file name, which needs the linker's -L
        if word.startswith("-l"):
            found = _find(word[2:], dirs, depth)
        elif "/" in word:
            found = _usable(word, dirs, depth)
        if found is not None:
            return found
    return None
