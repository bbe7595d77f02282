"""The shapes of Fortran's arrays, in the reverse Polish notation of description.py."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NoReturn

from cwrapjit.library.description import Dim
from cwrapjit.library.fortran_words import Routine, Variable
from cwrapjit.library.thunks import Unmapped

_TOKEN = re.compile(r"\s*(?:(\d+)(?:_\w+)?|([a-z_]\w*)|(\*\*|.))", re.IGNORECASE)

# The value of a name, or of size(name, axis): axis 0 is all of it, None the name itself.
Named = Callable[[str, "int | None"], Dim]


def rpn(text: str, named: Named) -> Dim:
    """The expression in reverse Polish notation; ValueError where it is not understood."""
    tokens = [match[1] or match[2] or match[3] for match in _TOKEN.finditer(text.strip()) if match[0].strip()]
    dim, rest = _sum(tokens, named)
    if rest:
        raise ValueError(f"is not understood at {rest[0]!r}")
    return dim


def _sum(tokens: list[str], named: Named) -> tuple[Dim, list[str]]:
    if tokens[:1] == ["-"]:
        first, tokens = _product(tokens[1:], named)
        left: Dim = (0, *first, "-")
    else:
        left, tokens = _product(tokens, named)
    while tokens and tokens[0] in "+-":
        right, rest = _product(tokens[1:], named)
        left, tokens = (*left, *right, tokens[0]), rest
    return left, tokens


def _product(tokens: list[str], named: Named) -> tuple[Dim, list[str]]:
    left, tokens = _atom(tokens, named)
    while tokens and tokens[0] in ("*", "/"):
        right, rest = _atom(tokens[1:], named)
        left, tokens = (*left, *right, tokens[0]), rest
    return left, tokens


def _atom(tokens: list[str], named: Named) -> tuple[Dim, list[str]]:
    if not tokens:
        raise ValueError("ends too early")
    first, rest = tokens[0], tokens[1:]
    if first.isdigit():
        return (int(first),), rest
    if first == "(":
        inner, rest = _sum(rest, named)
        if rest[:1] != [")"]:
            raise ValueError("lacks a parenthesis")
        return inner, rest[1:]
    name = first.lower()
    if name in ("mod", "int") and rest[:1] == ["("]:
        return _intrinsic(name, rest[1:], named)
    if name == "size" and len(rest) > 2 and rest[0] == "(":
        if rest[2] == ")":
            return named(rest[1].lower(), 0), rest[3:]
        if rest[2] == "," and len(rest) > 4 and rest[3].isdigit() and int(rest[3]) > 0 and rest[4] == ")":
            return named(rest[1].lower(), int(rest[3])), rest[5:]
    if re.fullmatch(r"[a-z_]\w*", name) and rest[:1] != ["("]:
        return named(name, None), rest
    raise ValueError(f"is not understood at {first!r}")


def _intrinsic(name: str, tokens: list[str], named: Named) -> tuple[Dim, list[str]]:
    left, tokens = _sum(tokens, named)
    if name == "mod":
        if tokens[:1] != [","]:
            raise ValueError("is not understood at 'mod'")
        right, tokens = _sum(tokens[1:], named)
        left = (*left, *right, "%")
    if tokens[:1] != [")"]:
        raise ValueError("lacks a parenthesis")
    return left, tokens[1:]


class Shapes:
    """What the dims of one routine's arrays are made of."""

    def __init__(self, routine: Routine, options: dict[str, Any]) -> None:
        self.routine = routine
        self.defaults: dict[str, Any] = {k.lower(): v for k, v in options.get("defaults", {}).items()}
        self.shapes: dict[str, Any] = {k.lower(): v for k, v in options.get("shapes", {}).items()}
        self.unsafe = bool(options.get("unsafe"))
        self.variables = {v.name.lower(): v for v in routine.arguments}
        for name in [*self.defaults, *self.shapes]:
            if name not in self.variables:
                raise TypeError(f"fortran(): {routine.name} has no argument {name!r}")
        self.dims = {name: self._dims(v) for name, v in self.variables.items() if v.shape}
        self.hidden = self._hidden()

    def _no(self, variable: Variable, reason: str) -> NoReturn:
        raise Unmapped(f"{variable.name}: {reason}")

    def _dims(self, variable: Variable) -> tuple[Dim, ...]:
        name = variable.name.lower()
        given = self.shapes.get(name)
        bounds = variable.shape
        if given is not None:
            texts = [given] if isinstance(given, str) else [str(part) for part in given]
            if len(texts) != len(variable.shape):
                raise ValueError(
                    f"fortran(): shapes of {name}: want {len(variable.shape)} dims, got {len(texts)}"
                )
            bounds = tuple(("1", text) for text in texts)
        dims: list[Dim] = []
        for axis, (lower, upper) in enumerate(bounds, 1):
            if upper == "*" and not self.unsafe:
                self._no(
                    variable, f"shapes={{{name!r}: ...}} says how large it is, unsafe=True takes any array"
                )
            if upper in (":", "*"):
                dims.append((f"{name}_shape_{axis}",))
                continue
            try:
                dims.append(self._extent(lower, upper))
            except ValueError as error:
                self._no(variable, f"its dim {upper!r} {error}")
        return tuple(dims)

    def _extent(self, lower: str, upper: str) -> Dim:
        last = rpn(upper, self._named)
        if lower == "1":
            return last
        return (*last, *rpn(lower, self._named), "-", 1, "+")

    def _named(self, name: str, axis: int | None) -> Dim:
        """The value of a name, or of size(name, axis), in a dim."""
        variable = self.variables.get(name)
        if axis is not None:
            if variable is None or not variable.shape:
                raise ValueError(f"asks for the size of {name!r}, which is no array here")
            own = self._dims(variable)
            if axis > len(own):
                raise ValueError(f"asks for dim {axis} of {name!r}, which has {len(own)}")
            product: Dim = own[0] if axis == 0 else own[axis - 1]
            for dim in own[1:] if axis == 0 else ():
                product = (*product, *dim, "*")
            return product
        if variable is None:
            constant = self.routine.constants.get(name)
            if constant is None:
                raise ValueError(f"has {name!r} in it, which is neither an argument nor a constant")
            return (constant,)
        if variable.shape or variable.type is None or variable.type.base != "integer":
            raise ValueError(f"has {name!r} in it, which is no integer")
        return (name,)

    def _given(self, variable: Variable) -> bool:
        """Whether the caller gives this array: what is only written is made, where its shape is known."""
        if variable.intent != "out" or "allocatable" in variable.attributes:
            return variable.intent != "out"
        known = variable.name.lower() in self.shapes
        return not known and any(upper in (":", "*") for _, upper in variable.shape)

    def _hidden(self) -> set[str]:
        """Integers that follow from the shapes of arrays that every call gives."""
        found = set()
        for name, dims in self.dims.items():
            variable = self.variables[name]
            if variable.assumed_shape or not self._given(variable) or "optional" in variable.attributes:
                continue
            found |= {str(dim[0]) for dim in dims if len(dim) == 1 and isinstance(dim[0], str)}
        return {name for name in found if self._may_hide(name)}

    def _may_hide(self, name: str) -> bool:
        variable = self.variables.get(name)
        return (
            variable is not None
            and variable.intent in ("", "in")
            and "optional" not in variable.attributes
            and name not in self.defaults
        )
