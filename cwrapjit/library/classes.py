"""The Python classes of a library's types, and what is known of them. structs.py makes those of structs."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from cwrapjit.library import types
from cwrapjit.library.thunks import Classless, Unmapped


class _Enum(enum.IntEnum):
    """Numbers in all that they do but repr()."""

    __str__ = int.__repr__
    __format__ = int.__format__  # type: ignore[assignment]

    def __reduce_ex__(self, protocol: Any) -> Any:
        return int, (int(self),)


class Classes(dict[types.Struct, Any]):
    """By what they stand for. make: an automatic one."""

    def __init__(self, library: str, make: Callable[[types.Struct], Any]) -> None:
        super().__init__()
        self.name, self._make = library, make
        self._enums: dict[int, tuple[dict[str, int], Any]] = {}  # by the identity of their values
        # Automatic classes that may still get members, once those of this struct are known: of itself, or of
        # one inside of it.
        self.open: dict[types.Struct, types.Struct] = {}
        self.undescribed: dict[types.Struct, str] = {}  # why a struct has no members for Python
        self.described: dict[types.Struct, Any] = {}  # by struct() and handle(): Said in structs.py
        self.taken: set[Any] = set()  # the classes that are another library's
        self.dtypes: dict[types.Struct, Any] = {}  # NumPy's, of structs of numbers; None for others
        self.frees: dict[str, Any] = {}  # the classes, by the C functions that free their objects
        self.descriptors: dict[types.Struct, Any] = {}  # structs that describe arrays

    def may_grow(self, struct: types.Struct) -> bool:
        """Whether its class can get members now."""
        of = self.open.get(struct)
        return of is not None and (of if of is struct else types.final(of)).members is not None

    def growing(self) -> list[types.Struct]:
        return [each for each in list(self.open) if self.may_grow(each)]

    def of(self, struct: types.Struct) -> Any:
        """The class of a struct or union. One that nobody described is made of what is known of it."""
        struct = types.final(struct)
        if struct not in self or self.may_grow(struct):
            return self._make(struct)
        return self[struct]

    def by_value(self, struct: types.Struct, what: str) -> Any:
        """The class of one that is passed by value; Classless, whose reason begins with `what`."""
        found = self.of(struct)
        if not found.__cwrapjit_layout__.size:
            why = "what it consists of is not known: see struct() of the library"
            why = self.undescribed.get(struct) or why
            raise Classless(struct, f"{what} {types.show(struct)} by value: {why}")
        return found

    def items_of(self, struct: types.Struct, what: str = "") -> Any:
        """NumPy's dtype of a struct, as an item of arrays; Unmapped, whose reason begins with `what`."""
        found = self.dtype_of(struct)
        if found is None:
            raise Unmapped(
                f"{what}an array of {types.show(struct)}, which has members that NumPy's types do not cover"
            )
        return found

    def dtype_of(self, struct: types.Struct) -> Any:
        """The same, or None."""
        self.of(struct)
        return self.dtypes.get(types.final(struct))

    def more_alignment(self, struct: types.Struct) -> int:
        """That of a struct where C asks for more than NumPy does; 0: nowhere."""
        alignment = self.of(struct).__cwrapjit_layout__.alignment
        dtype = self.dtype_of(struct)
        return alignment if dtype is not None and alignment > dtype.alignment else 0

    def enum(self, ctype: Any) -> Any:
        """The class of an enum, which is made once; None: it is no enum, or Python wants one of its names."""
        values = getattr(ctype, "values", None)
        if values is None:
            return None
        if id(values) not in self._enums:  # the first thread's is everybody's
            self._enums.setdefault(id(values), (values, self._make_enum(ctype)))
        return self._enums[id(values)][1]

    def enum_names(self) -> set[str]:
        """Of the classes of enums so far."""
        return {cls.__name__ for _, cls in list(self._enums.values()) if cls is not None}

    def enum_members(self, ctype: types.Scalar) -> Any:
        """The members of an enum by value, for results that say which one they are; None as above."""
        return getattr(self.enum(ctype), "_value2member_map_", None)

    def _make_enum(self, ctype: types.Scalar) -> Any:
        name = ctype.alias.removeprefix("enum ")
        try:
            make: Any = _Enum  # the functional way, which mypy does not know of subclasses
            return make(name if name.isidentifier() else "enum", ctype.values or {}, module=self.name)
        except (TypeError, ValueError):
            return None
