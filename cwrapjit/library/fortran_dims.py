"""Converts the shapes of Fortran's arrays to the reverse Polish notation of description.py."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any, NoReturn

from cwrapjit.library.description import Dim
from cwrapjit.library.fortran_text import Routine, Variable
from cwrapjit.library.thunks import Unmapped

# Maps a name to its value (axis None), or to size(name, axis), with 0 for size(name).
Named = Callable[[str, "int | None"], Dim]


def rpn(text: str, named: Named) -> Dim:
    """Converts an expression to reverse Polish notation, or raises ValueError. Python parses it: what it
    would read otherwise is changed (1_8, 007, names such as `in`) or refused (a sign after an operator)."""
    plain = re.sub(r"\b0*(\d+)(?:_\w+)?", r"\1", " ".join(text.lower().split()))
    plain = re.sub(r"\b[a-z_]\w*", r"_\g<0>", plain)
    try:
        if re.search(r"[-+*/]\s*[-+]", plain):
            raise SyntaxError
        return _rpn(ast.parse(plain, mode="eval").body, named)
    except (SyntaxError, RecursionError):
        raise ValueError("is not understood") from None


def _rpn(node: ast.expr, named: Named) -> Dim:
    match node:
        case ast.Constant(int() as value):
            return (value,)
        case ast.Name(name):
            return named(name[1:], None)
        case ast.UnaryOp(ast.USub(), inner):
            return (0, *_rpn(inner, named), "-")
        case ast.BinOp(left, op, right) if type(op) in _OPERATORS:
            return (*_rpn(left, named), *_rpn(right, named), _OPERATORS[type(op)])
        case ast.Call(ast.Name("_mod"), [left, right], []):
            return (*_rpn(left, named), *_rpn(right, named), "%")
        case ast.Call(ast.Name("_int"), [inner], []):
            return _rpn(inner, named)
        case ast.Call(ast.Name("_size"), [ast.Name(name)], []):
            return named(name[1:], 0)
        case ast.Call(ast.Name("_size"), [ast.Name(name), ast.Constant(int() as axis)], []) if axis > 0:
            return named(name[1:], axis)
    shown = re.sub(r"\b_", "", ast.unparse(node))
    raise ValueError(f"is not understood at {shown!r}")


_OPERATORS: dict[type, str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}


class Shapes:
    """The dims of one routine's arrays."""

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
                last = rpn(upper, self._named)
                dims.append(last if lower == "1" else (*last, *rpn(lower, self._named), "-", 1, "+"))
            except ValueError as error:
                self._no(variable, f"its dim {upper!r} {error}")
        return tuple(dims)

    def _named(self, name: str, axis: int | None) -> Dim:
        """Returns the value of a name, or of size(name, axis), in a dim."""
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
        """True if the caller passes this array. Written ones of known shape are allocated instead."""
        if variable.intent != "out" or "allocatable" in variable.attributes:
            return variable.intent != "out"
        known = variable.name.lower() in self.shapes
        return not known and any(upper in (":", "*") for _, upper in variable.shape)

    def _hidden(self) -> set[str]:
        """Returns the integers that follow from the shapes of arrays that every call passes."""
        found = set()
        for name, dims in self.dims.items():
            variable = self.variables[name]
            if variable.assumed_shape or not self._given(variable) or "optional" in variable.attributes:
                continue
            found |= {str(dim[0]) for dim in dims if len(dim) == 1 and isinstance(dim[0], str)}
        return {name for name in found if self._may_hide(name)}

    def _may_hide(self, name: str) -> bool:
        variable = self.variables.get(name)
        if variable is None or "optional" in variable.attributes or name in self.defaults:
            return False
        return variable.intent in ("", "in")
