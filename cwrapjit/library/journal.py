"""Records a library's arguments and the calls that declared something, for pickles."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from cwrapjit._content import frozen
from cwrapjit._cwrapjit import LibraryFunction
from cwrapjit.library.public import Library

Step = tuple[str, tuple[Any, ...], dict[str, Any]]


class Own:
    """Stands for an attribute of the library itself among the arguments of a step."""

    def __init__(self, name: str) -> None:
        self.name = name


class Journal:
    """The record of one library. It does not hold the library, so that each function can hold it."""

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        self.arguments = {name: _kept(value, None) for name, value in frozen(arguments).items()}
        self.steps: list[Step] = []
        self.number: bytes | None = None  # other processes know the library by it
        self.process = 0  # the one that chose the number
        self.origin: bytes | None = None  # its number in the other process; None: it was made here
        self.brought: int | None = None  # how many steps of that process are done; None: it was made here
        self.library: Callable[[], Any] = lambda: None

    def begin(self, library: Library) -> None:
        self.library = weakref.ref(library)

    def add(self, method: str, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> None:
        """Records a call that succeeded."""
        self.settle()
        library = self.library()
        self.steps.append((method, _kept(arguments, library), _kept(keywords, library)))
        if self.brought is not None:
            self.number = None  # the other process has another library now

    def settle(self) -> None:
        """Lets the child of a fork go its own way, as if the library had come by pickle."""
        if self.origin is None and self.number is not None and self.process != os.getpid():
            self.origin, self.brought = self.number, len(self.steps)

    def content(self) -> tuple[bytes, dict[str, Any], tuple[Step, ...]]:
        self.settle()
        if self.number is None:
            self.number, self.process = os.urandom(16), os.getpid()
        return self.number, self.arguments, tuple(self.steps)


def catch_up(library: Library, number: bytes, steps: tuple[Step, ...]) -> None:
    """Takes the steps that the library has not taken yet."""
    journal = library._core.journal
    journal.settle()
    if number != journal.origin:
        return  # it is the original, or the pickle is its own
    is_the_same = len(journal.steps) == journal.brought
    for method, arguments, keywords in steps[journal.brought :]:
        getattr(library, method)(*_there(arguments, library), **_there(keywords, library))
        journal.brought += 1
    journal.number = number if is_the_same else None


def _kept(value: Any, library: Library | None) -> Any:
    """Returns a copy that nobody else can change. Own stands for the library's attributes."""

    def own(each: Any) -> Any:
        if library is None or not isinstance(each, (LibraryFunction, type)):
            return each
        return next((Own(name) for name, one in list(library._core.table.items()) if one is each), each)

    return _changed(value, own)


def _there(value: Any, library: Library | None) -> Any:
    return _changed(value, lambda each: getattr(library, each.name) if isinstance(each, Own) else each)


def _changed(value: Any, change: Callable[[Any], Any]) -> Any:
    """Returns a copy in which everything in tuples, lists and dicts is changed."""
    if isinstance(value, (list, tuple)):
        return tuple(_changed(each, change) for each in value)
    if isinstance(value, Mapping):
        return {key: _changed(each, change) for key, each in value.items()}
    return change(value)
