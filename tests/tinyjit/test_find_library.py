"""Shared libraries by the name that -l would take: folders, versions, linker scripts, the loader's cache."""

from __future__ import annotations

import ctypes
import pathlib
import struct
import sys

import pytest

from cwrapjit import _find_library
from cwrapjit._find_library import find_library

HEAD = pathlib.Path(sys.executable).read_bytes()[:64]


def fake(folder: pathlib.Path, name: str, machine: int | None = None) -> str:
    """The head of a shared object of this machine, or of another one."""
    kind = struct.pack("=H", 3)
    number = HEAD[18:20] if machine is None else struct.pack("=H", machine)
    path = folder / name
    path.write_bytes(HEAD[:16] + kind + number + HEAD[20:])
    return str(path)


@pytest.mark.parametrize("name", ["m", "c", "pthread", "dl"])
def test_libraries_of_the_system(name: str) -> None:
    ctypes.CDLL(find_library(name, ()))


def test_the_highest_version_counts(tmp_path: pathlib.Path) -> None:
    for version in ("2.9", "10", "99.bak"):
        fake(tmp_path, f"libver.so.{version}")
    wanted = fake(tmp_path, "libver.so.10.1")
    fake(tmp_path, "libver.so.11", machine=0)
    (tmp_path / "libver.so.12").write_text("not a library")
    (tmp_path / "libver.so.txt").write_text("not a library")
    fake(tmp_path, "libversion.so.99")
    assert find_library("ver", [str(tmp_path)]) == wanted
    plain = fake(tmp_path, "libver.so")
    assert find_library("ver", ["/nonexistent", str(tmp_path)]) == plain


@pytest.mark.parametrize(
    "script",
    [
        "/* GNU ld script: GROUP ( /no/such.so ) */\nOUTPUT_FORMAT(elf64)\n"
        "GROUP ( /no/such.so.1 AS_NEEDED ( {0} ) )\n",
        "INPUT(-lreal)",
        "INPUT( -lreal /* never closed",
    ],
)
def test_scripts_are_followed(tmp_path: pathlib.Path, script: str) -> None:
    wanted = fake(tmp_path, "libreal.so.3")
    (tmp_path / "libscript.so").write_text(script.format(wanted))
    assert find_library("script", [str(tmp_path)]) == wanted


@pytest.mark.parametrize(
    "script", ["INPUT(-lscript)", "INPUT( /* never closed ", "", "INPUT", "INPUT(libbare.so)"]
)
def test_scripts_that_lead_nowhere(tmp_path: pathlib.Path, script: str) -> None:
    fake(tmp_path, "libbare.so")
    (tmp_path / "libscript.so").write_text(script)
    with pytest.raises(OSError, match="'script'"):
        find_library("script", [str(tmp_path)])


def test_files(tmp_path: pathlib.Path) -> None:
    assert find_library("/any/where.so", [str(tmp_path)]) == "/any/where.so"
    assert find_library("libzork.so.7", [str(tmp_path)]) == "libzork.so.7"  # for the loader to find or refuse
    assert find_library("libhere.so.7", [str(tmp_path)]) == "libhere.so.7"
    wanted = fake(tmp_path, "libhere.so.7")
    assert find_library("libhere.so.7", [str(tmp_path)]) == wanted


def test_a_missing_one_is_named_with_the_places(tmp_path: pathlib.Path) -> None:
    with pytest.raises(
        OSError, match=r"library 'zork_nowhere' not found.* in .*/nonexistent, .*ld\.so\.cache, /"
    ):
        find_library("zork_nowhere", [str(tmp_path), "/nonexistent"])


def test_search_path(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = fake(tmp_path, "libonpath.so.1")
    monkeypatch.setenv("LD_LIBRARY_PATH", f":/nonexistent:{tmp_path}")
    assert find_library("onpath", ()) == wanted
    monkeypatch.delenv("LD_LIBRARY_PATH")
    with pytest.raises(OSError, match="'onpath'"):
        find_library("onpath", ())


def cache(*entries: tuple[str, str, int]) -> bytes:
    """The loader's cache with these: name, path, processors."""
    start = 48 + 24 * len(entries)
    table, strings = b"", b""
    for name, path, hwcap in entries:
        at = start + len(strings)
        table += struct.pack("=iIIIQ", 3, at, at + len(name) + 1, 0, hwcap)
        strings += f"{name}\0{path}\0".encode()
    head = b"glibc-ld.so.cache1.1" + struct.pack("=II", len(entries), len(strings))
    return head.ljust(48, b"\0") + table + strings


@pytest.mark.parametrize("old", [b"", b"ld.so-1.7.0\0" + struct.pack("=I", 1) + bytes(12) + bytes(4)])
def test_cache(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, old: bytes) -> None:
    wanted = fake(tmp_path, "libcached.so.2")
    newer = fake(tmp_path, "libcached.so.3")
    other = fake(tmp_path, "libother.so.9")
    table = cache(
        ("libcached.so.1", "libcached.so.1", 0),
        ("libcached.so.2", wanted, 0),
        ("libcached.so.3", newer, 5),
        ("libcached.so.9", other, 0),
    )
    file = tmp_path / "cache"
    file.write_bytes(old + table)
    monkeypatch.setattr(_find_library, "_CACHE", str(file))
    assert find_library("cached", ()) == wanted
    for length in range(len(table)):
        file.write_bytes(table[:length])
        assert all(wanted.startswith(path) for path in _find_library._listed_in_cache("cached"))


@pytest.mark.parametrize("start", [b"ld.so-1.7.0", b"glibc-ld.so.cache1.1"])
def test_broken_caches(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, start: bytes) -> None:
    file = tmp_path / "cache"
    monkeypatch.setattr(_find_library, "_CACHE", str(file))
    for rest in (b"", b"\xff" * 3, b"\xff" * 200, bytes(200)):
        file.write_bytes(start + rest)
        assert _find_library._listed_in_cache("m") == []
