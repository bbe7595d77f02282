"""Which names of a namespace cells have bound, and which cell."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from cwrapjit._tokens import defined


class Bound(NamedTuple):
    value: weakref.ref[Any]  # a name that somebody deletes lets go of its function
    cell: str | None  # the cell's id, where the front end gives one
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
        """Removes what this cell has bound; what the text defines, where cells have no ids."""
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
            if not is_there:  # somebody has put something else in its place
                del self.bound[name]
