"""C's enums as classes of Python's, for results that say which enumerator they are."""

from __future__ import annotations

import enum
from typing import Any

from cwrapjit.library import types
from cwrapjit.library.classes import Classes


class _Enum(enum.IntEnum):
    """Numbers in all that they do but repr()."""

    __str__ = int.__repr__
    __format__ = int.__format__  # type: ignore[assignment]

    def __reduce_ex__(self, protocol: Any) -> Any:
        return int, (int(self),)


def of(classes: Classes, ctype: Any) -> Any:
    """The class of an enum, which is made once; None: it is no enum, or Python wants one of its names."""
    values = getattr(ctype, "values", None)
    if values is None:
        return None
    kept = classes.enums.get(id(values))
    if kept is None:  # the first thread's is everybody's
        kept = classes.enums.setdefault(id(values), (values, _make(classes.name, ctype)))
    return kept[1]


def members_of(classes: Classes, ctype: types.Scalar) -> Any:
    """The members of an enum by value; None as above."""
    return getattr(of(classes, ctype), "_value2member_map_", None)


def _make(library: str, ctype: types.Scalar) -> Any:
    name = ctype.alias.removeprefix("enum ")
    try:
        make_class: Any = _Enum  # the functional way, which mypy does not know of subclasses
        return make_class(name if name.isidentifier() else "enum", ctype.values or {}, module=library)
    except (TypeError, ValueError):
        return None
