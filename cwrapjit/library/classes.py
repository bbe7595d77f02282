"""Keeps the Python classes of a library's types. structs.py makes those of structs."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from cwrapjit.library import types
from cwrapjit.library.thunks import Classless, Unmapped


class _Enum(enum.IntEnum):
    """Members are numbers in everything but repr()."""

    __str__ = int.__repr__
    __format__ = int.__format__  # type: ignore[assignment]

    def __reduce_ex__(self, protocol: Any) -> Any:
        return int, (int(self),)


class Classes(dict[types.Struct, Any]):
    """Maps structs to their classes. make(struct) makes an automatic class."""

    def __init__(self, library: str, make: Callable[[types.Struct], Any]) -> None:
        super().__init__()
        self.name, self._make = library, make
        self._enums: dict[int, tuple[dict[str, int], Any]] = {}  # by id() of their values
        # Automatic classes that lack members, and the struct to wait for: their own, or one inside it.
        self.open: dict[types.Struct, types.Struct] = {}
        self.undescribed: dict[types.Struct, str] = {}  # why Python sees no members
        self.described: dict[types.Struct, Any] = {}  # what struct() and handle() said: structs.Said
        self.taken: set[Any] = set()  # classes that belong to other libraries
        self.dtypes: dict[types.Struct, Any] = {}  # of structs of numbers; None for other structs
        self.frees: dict[str, Any] = {}  # C function -> the class whose objects it frees
        self.descriptors: dict[types.Struct, Any] = {}  # structs that describe arrays

    def may_grow(self, struct: types.Struct) -> bool:
        """True if the struct's class can get members now."""
        of = self.open.get(struct)
        return of is not None and (of if of is struct else types.final(of)).members is not None

    def growing(self) -> list[types.Struct]:
        return [each for each in list(self.open) if self.may_grow(each)]

    def of(self, struct: types.Struct) -> Any:
        """Returns the class of a struct or union. Makes an automatic one if nobody has described it."""
        struct = types.final(struct)
        if struct not in self or self.may_grow(struct):
            return self._make(struct)
        return self[struct]

    def by_value(self, struct: types.Struct, what: str) -> Any:
        """Returns the class of a struct passed by value. Raises Classless; its reason begins with `what`."""
        found = self.of(struct)
        if not found.__cwrapjit_layout__.size:
            why = "what it consists of is not known: see struct() of the library"
            why = self.undescribed.get(struct) or why
            raise Classless(struct, f"{what} {types.show(struct)} by value: {why}")
        return found

    def items_of(self, struct: types.Struct, what: str = "") -> Any:
        """Returns a struct's dtype as array item. Raises Unmapped; its reason begins with `what`."""
        found = self.dtype_of(struct)
        if found is None:
            raise Unmapped(
                f"{what}an array of {types.show(struct)}, which has members that NumPy's types do not cover"
            )
        return found

    def dtype_of(self, struct: types.Struct) -> Any:
        """Returns the same dtype, or None."""
        self.of(struct)
        return self.dtypes.get(types.final(struct))

    def more_alignment(self, struct: types.Struct) -> int:
        """Returns the alignment of a struct if C requires more than NumPy, else 0."""
        alignment = self.of(struct).__cwrapjit_layout__.alignment
        dtype = self.dtype_of(struct)
        return alignment if dtype is not None and alignment > dtype.alignment else 0

    def enum(self, ctype: Any) -> Any:
        """Returns an enum's class, made once. None: it is no enum, or Python reserves one of its names."""
        values = getattr(ctype, "values", None)
        if values is None:
            return None
        if id(values) not in self._enums:  # all threads use the first one's
            self._enums.setdefault(id(values), (values, self._make_enum(ctype)))
        return self._enums[id(values)][1]

    def enum_names(self) -> set[str]:
        """Returns the names of the enum classes made so far."""
        return {cls.__name__ for _, cls in list(self._enums.values()) if cls is not None}

    def enum_members(self, ctype: types.Scalar) -> Any:
        """Returns the members of an enum by value, for results. None as in enum()."""
        return getattr(self.enum(ctype), "_value2member_map_", None)

    def _make_enum(self, ctype: types.Scalar) -> Any:
        name = ctype.alias.removeprefix("enum ")
        try:
            make: Any = _Enum  # mypy does not know the functional API of subclasses
            return make(name if name.isidentifier() else "enum", ctype.values or {}, module=self.name)
        except (TypeError, ValueError):
            return None
