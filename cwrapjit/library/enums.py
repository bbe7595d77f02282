"""C's enums as classes of Python's, for results that say which enumerator they are."""

from __future__ import annotations

import enum
from typing import Any

from cwrapjit.library import types


class _Enum(enum.IntEnum):
    """Numbers in all that they do but repr()."""

    __str__ = int.__repr__  # type: ignore[assignment]
    __format__ = int.__format__  # type: ignore[assignment]

    def __reduce_ex__(self, protocol: Any) -> Any:
        return int, (int(self),)


def make(library: str, ctype: types.Scalar) -> Any:
    """The class of an enum; None where Python wants one of its names for itself."""
    name = ctype.alias.removeprefix("enum ")
    try:
        make_class: Any = _Enum  # the functional way, which mypy does not know of subclasses
        return make_class(name if name.isidentifier() else "enum", ctype.values or {}, module=library)
    except (TypeError, ValueError):
        return None
