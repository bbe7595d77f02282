"""Remembers which names cells have bound, and which cell bound them."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from cwrapjit._tokens import defined


class Bound(NamedTuple):
    value: weakref.ref[Any]  # weak, so that deleting the name frees the function
    cell: str | None  # the cell's id, if the front end provides one
    library: str | None  # --name


class Names:
    def __init__(self, namespace: dict[str, Any]) -> None:
        self.namespace = namespace
        self.bound: dict[str, Bound] = {}

    def bind(self, values: Mapping[str, Any], cell: str | None, library: str | None) -> None:
        self.namespace.update(values)
        for name, value in values.items():
            self.bound[name] = Bound(weakref.ref(value), cell, library)

    def forget(self, cell: str | None, text: str) -> None:
        """Removes the names that this cell has bound; without cell ids, those that the text defines."""
        if cell is not None:
            self._remove(lambda name, bound: bound.cell == cell)
        else:
            names = set(defined(text))
            self._remove(lambda name, bound: bound.cell is None and name in names)

    def forget_library(self, library: str) -> None:
        self._remove(lambda name, bound: bound.library == library)

    def _remove(self, belongs: Callable[[str, Bound], bool]) -> None:
        for name, bound in list(self.bound.items()):
            value = bound.value()
            is_there = value is not None and self.namespace.get(name) is value
            if is_there and belongs(name, bound):
                del self.namespace[name]
                is_there = False
            if not is_there:  # deleted or bound to something else
                del self.bound[name]
