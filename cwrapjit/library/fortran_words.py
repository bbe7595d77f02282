"""Data classes for what Fortran text declares."""

from __future__ import annotations

import dataclasses
import re

_MARK = re.compile(r"""[][(),]|'[^']*(?:'|$)|"[^"]*(?:"|$)""")


@dataclasses.dataclass
class Type:
    """A type: its kind in bytes (of one part for complex), or the name of a derived type."""

    base: str  # "integer", "real", "complex", "logical", "character", "type" or "class"
    kind: int = 0
    length: str = ""  # of characters
    name: str = ""


@dataclasses.dataclass
class Variable:
    """A dummy argument, a component, a module's variable or a function's result."""

    name: str
    type: Type | None = None
    attributes: set[str] = dataclasses.field(default_factory=set)
    intent: str = ""
    # Lower and upper bounds; ("", ":") if assumed; the last may be ("1", "*").
    shape: tuple[tuple[str, str], ...] = ()
    initial: str = ""
    interface: Routine | None = None  # of a procedure, if it is known

    @property
    def kind(self) -> Type:
        """Returns the type, which must be known."""
        assert self.type is not None
        return self.type

    @property
    def assumed_shape(self) -> bool:
        return bool(self.shape) and all(upper == ":" for _, upper in self.shape)


@dataclasses.dataclass
class Routine:
    """A subroutine or, with a result, a function."""

    name: str
    arguments: list[Variable]
    result: Variable | None = None
    module: str = ""
    bind: str | None = None  # C's name, if it has bind(c)
    elemental: bool = False
    constants: dict[str, int] = dataclasses.field(default_factory=dict)  # by lower-case name
    generic: str = ""  # the public generic name of a private routine


@dataclasses.dataclass
class Derived:
    """A derived type; `methods` are pairs of a name in the type and the routine's name."""

    name: str
    module: str = ""
    components: list[Variable] = dataclasses.field(default_factory=list)
    methods: list[tuple[str, str]] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Declared:
    """All that a text declares."""

    routines: list[Routine] = dataclasses.field(default_factory=list)
    types: list[Derived] = dataclasses.field(default_factory=list)
    variables: list[tuple[str, Variable]] = dataclasses.field(default_factory=list)  # (module, variable)
    generics: dict[str, list[str]] = dataclasses.field(default_factory=dict)  # names of several routines
    commons: set[str] = dataclasses.field(default_factory=set)  # blocks
    faulty: dict[str, Exception] = dataclasses.field(default_factory=dict)  # what is not understood, by name


def split(text: str) -> list[str]:
    """Splits a list at commas outside parentheses and quotes."""
    parts, depth, start = [], 0, 0
    for match in _MARK.finditer(text):
        depth += (match[0] in "([") - (match[0] in ")]")
        if match[0] == "," and depth == 0:
            parts.append(text[start : match.start()].strip())
            start = match.end()
    parts.append(text[start:].strip())
    return parts if parts != [""] else []
