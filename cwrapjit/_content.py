"""Display, pickling and equality by content, for classes that are written in Python."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from cwrapjit._build import Source
from cwrapjit._imports import load


class Shown:
    """Base of classes that notebooks display as cwrapjit.show draws them."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        html: str = load("cwrapjit.show").html(self)
        return html


class Pickled(Shown):
    """Base of classes that are pickled as the arguments that create them; a copy is the object itself."""

    __slots__ = ()

    def __reduce__(self) -> Any:
        return load("cwrapjit._travel").reduced(self)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __dask_tokenize__(self) -> tuple[str, str]:
        found: tuple[str, str] = load("cwrapjit._travel").token(self)
        return found


class Travels(Pickled):
    """Base of objects made from texts and options, which decide whether two are equal. _made_by() returns the
    callable that makes the object, its arguments and its keywords."""

    __slots__ = ()

    def _made_by(self) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
        raise NotImplementedError

    def _own_digest(self) -> bytes:
        kept = vars(self)
        if "_digest" not in kept:
            kept["_digest"] = load("cwrapjit._travel").digest(self)
        found: bytes = kept["_digest"]
        return found

    def __hash__(self) -> int:
        return hash(self._own_digest())

    def __eq__(self, other: object) -> Any:
        if self is other:
            return True
        if type(self) is not type(other) or not isinstance(other, Travels):
            return NotImplemented
        return self._own_digest() == other._own_digest()


def frozen(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Copies settings for pickles: lists become tuples, and sources include their present text."""
    made = {name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()}
    if isinstance(made.get("sources"), tuple):
        made["sources"] = tuple(map(_with_text, made["sources"]))
    return made


def _with_text(source: Any) -> Any:
    """Adds the text to the path of a file. Anything else is returned as it is: the definition reports it."""
    is_path = isinstance(source, (str, bytes, os.PathLike)) and type(source) is not Source
    if is_path and os.path.isfile(source):
        try:
            with open(source, "rb") as file:
                return Source(os.fsdecode(source), file.read())
        except (OSError, ValueError):
            return source
    return source
