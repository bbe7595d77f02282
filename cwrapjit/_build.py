"""Encodes the paths and macros of module()'s arguments as bytes for the C side."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable
from typing import Any

from cwrapjit._find_library import find_library


class Source:
    """A C file of a pickle: its path, which is never opened, and its text."""

    __slots__ = ("path", "text")

    def __init__(self, path: str, text: bytes) -> None:
        self.path, self.text = path, text

    def __fspath__(self) -> str:
        return self.path

    def __reduce__(self) -> Any:
        return Source, (self.path, self.text)


def encode(
    who: str, sources: Any, include_dirs: Any, define_macros: Any, libraries: Any, library_dirs: Any
) -> tuple[Any, ...]:
    """Checks and encodes arguments of module(). Returns tuples of bytes: sources, their texts (None: C reads
    the file), include_dirs, define_macros and the library files. The last item has all five lists as tuples
    of str. Messages begin with `who`."""
    if sources is include_dirs is define_macros is libraries is library_dirs is None:
        return (), (), (), (), (), ((),) * 5  # the usual case
    sources = tuple(sources) if isinstance(sources, list) else sources
    given = sources if isinstance(sources, tuple) else ()
    contents = tuple(each.text if type(each) is Source else None for each in given)
    lists = (
        _encode_each(sources, _path, f"{who}: sources"),
        _encode_each(include_dirs, _path, f"{who}: include_dirs"),
        _encode_each(define_macros, _macro, f"{who}: define_macros"),
        _encode_each(libraries, _path, f"{who}: libraries"),
        _encode_each(library_dirs, _path, f"{who}: library_dirs"),
    )
    texts = tuple(tuple(map(os.fsdecode, each)) for each in lists)
    return lists[0], contents, *lists[1:3], find_libraries(who, texts[3], texts[4]), texts


def find_libraries(who: str, names: Iterable[str], dirs: Collection[str]) -> tuple[bytes, ...]:
    """Returns the paths of the libraries, or names for dlopen(). Raises OSError."""
    try:
        return tuple(os.fsencode(find_library(name, dirs)) for name in names)
    except OSError as error:
        raise OSError(f"{who}: {error}") from None


def _encode_each(given: Any, encode_one: Callable[[Any, str], bytes], what: str) -> tuple[bytes, ...]:
    if given is None:
        return ()
    if not isinstance(given, (list, tuple)):
        raise TypeError(f"{what} must be a list or tuple, not {type(given).__name__}")
    return tuple(encode_one(item, f"{what}[{i}]") for i, item in enumerate(tuple(given)))


def _path(item: Any, what: str) -> bytes:
    try:
        path = os.fsencode(item)
    except TypeError:
        raise TypeError(f"{what} must be a str or a path, not {type(item).__name__}") from None
    except ValueError:
        raise ValueError(f"{what} is not a possible path: {item!r}") from None
    if b"\0" in path:
        raise ValueError(f"{what} is not a possible path: {item!r}")
    if not path:
        raise ValueError(f"{what} is empty")
    return path


def macros(given: Any, what: str) -> list[tuple[str, str | None]]:
    """Returns macros in the form of setuptools: (name, value or None)."""
    texts = (each.decode() for each in _encode_each(given, _macro, what))
    pairs = (text.partition("=") for text in texts)
    return [(name, value if equals else None) for name, equals, value in pairs]


def _macro(item: Any, what: str) -> bytes:
    """Encodes "NAME", "NAME=VALUE", or setuptools' (name, value)."""
    text = item
    if isinstance(item, (list, tuple)) and len(item) == 2 and isinstance(item[0], str):
        name, value = item
        text = name if value is None else f"{name}={value}" if isinstance(value, str) else None
    if not isinstance(text, str):
        raise TypeError(f"{what} must be (name, value or None), 'NAME' or 'NAME=VALUE', not {item!r}")
    if not text.partition("=")[0].isidentifier() or not {"\0", "\n", "\r"}.isdisjoint(text):
        raise ValueError(f"{what} does not define a macro: {item!r}")
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{what} does not define a macro: {item!r}") from None
