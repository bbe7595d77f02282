"""Keeps a library's declarations: functions that are mapped, wait, are not read yet, or cannot be mapped."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from cwrapjit.library import types
from cwrapjit.library.declarations import FunctionDeclaration, Parsed, Unread, has_united
from cwrapjit.library.names import attribute_name
from cwrapjit.library.refine import Refinement, Refinements

Known = tuple[FunctionDeclaration, dict[str, Any], str]  # a function, its own options, its attribute


@dataclasses.dataclass(eq=False)
class Said:
    """Holds what one call of declare() says about its functions."""

    strip_prefix: str
    options: Mapping[str, Any]
    shared: Mapping[str, Any]

    def of(self, name: str) -> tuple[str, dict[str, Any]]:
        """Returns the attribute of a C name, and its options."""
        own = {**self.shared, **self.options.get(name, {})}
        return attribute_name(own.get("name") or name.removeprefix(self.strip_prefix)), own


class Declared:
    """The declarations of one library."""

    def __init__(self, library: str) -> None:
        self.prototypes: dict[str, FunctionDeclaration] = {}  # of all declarations so far, by C name
        self.unmapped: dict[str, str] = {}  # C name -> reason
        self.refinements = Refinements(library)
        self.known: dict[str, Known] = {}  # what declare() and function() have read, by attribute
        self.by_declare: set[str] = set()  # the attributes that declare() made
        self.by_function: set[str] = set()  # those of function(), which no header replaces
        # Functions that declare() mapped by automatic classes, or could not map.
        self.waiting: dict[types.Struct, list[Known]] = {}
        # Declarations that declare() has left for their first use, by C name; C names by attribute.
        self.unread: dict[str, list[Unread]] = {}
        self.unread_attributes: dict[str, str] = {}

    def __contains__(self, name: str) -> bool:
        return name in self.unread or name in self.prototypes

    def is_given(self, attribute: str, own: Mapping[str, Any]) -> bool:
        """True if function() has declared it, and this declaration has no options."""
        return attribute in self.by_function and not own

    def leave(self, each: Unread, said: Said) -> None:
        """Keeps a declaration for its first use."""
        each.declared = said
        for name in each.names:
            attribute, own = said.of(name)
            if not self.is_given(attribute, own):
                before = self.unread.setdefault(name, [])
                before[:] = [other for other in before if str(other) != str(each)]
                before.append(each)
                self.unread_attributes[attribute] = name
                self.unmapped.pop(name, None)

    def drop(self, name: str) -> None:
        """Forgets the unread declarations of a name, which are read now."""
        for each in self.unread.pop(name, ()):
            attribute, _ = each.declared.of(name)
            if self.unread_attributes.get(attribute) == name:
                del self.unread_attributes[attribute]

    def unread_texts(self) -> dict[str, str]:
        """Returns the texts of the declarations left for their first use, by attribute."""
        pairs = list(self.unread_attributes.items())
        return {attribute: str(self.unread[name][-1]) for attribute, name in pairs if name in self.unread}

    def take(self, parsed: Parsed) -> None:
        """Takes over the functions of a text, and its errors."""
        self.prototypes.update((found.name, found) for found in parsed.functions)
        self.unmapped.update((name, str(error)) for name, error in parsed.failed)

    def named(self, made: Refinement) -> list[Known]:
        """Returns the functions that were read and that a pattern names."""
        return [each for each in list(self.known.values()) if made.matches(each[0].name)]

    def united(self) -> list[Known]:
        """Returns functions that function() mapped by a type that was found to be another one."""
        said = [self.known[name] for name in self.by_function if name in self.known]
        return [each for each in said if has_united(each[0])]

    def replace(self, before: Any, now: Any) -> list[Known]:
        """Replaces a type in the functions that were read. Returns those that changed."""
        stale = []
        for each in self.known.values():
            found, types_before = each[0], [each[0].result, *(one.type for one in each[0].parameters)]
            found.result = types.replaced(found.result, before, now)
            for one in found.parameters:
                one.type = types.replaced(one.type, before, now)
            if types_before != [found.result, *(one.type for one in found.parameters)]:
                stale.append(each)
        return stale
