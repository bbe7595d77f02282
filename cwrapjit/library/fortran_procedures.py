"""Maps procedures as arguments: what a dummy procedure is in C, and what Python gets.

Fortran passes everything by address. Python gets a number that is only read as a number, one that is written
as an array of one item. Results are by value.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from cwrapjit.library import types
from cwrapjit.library.fortran_text import NUMBERS, NUMPY
from cwrapjit.library.fortran_words import Routine, Variable
from cwrapjit.library.thunks import Unmapped


@dataclasses.dataclass
class Callback:
    """The type of a dummy procedure, and its arguments for Python, in the form of dims=."""

    ctype: types.Callable
    dims: dict[str, Any]


def callback(name: str, routine: Routine) -> Callback:
    """Maps a procedure. Raises Unmapped with a reason if C cannot call it, or Python cannot be called."""
    dims: dict[str, Any] = {}
    parameters = tuple(_parameter(name, each, dims) for each in routine.arguments)
    names = tuple(each.name.lower() for each in routine.arguments)
    result: Any = types.Void()
    if routine.result is not None:
        if routine.result.shape or {"allocatable", "pointer"} & routine.result.attributes:
            raise Unmapped(f"{name}: a procedure whose result is an array")
        result = _number(name, routine.result)
    return Callback(types.Callable("", result, names, parameters), dims)


def _number(name: str, variable: Variable) -> types.Scalar:
    kind = variable.type
    dtype = "intc" if kind and kind.base == "logical" and kind.kind == 4 else ""
    if kind is not None and kind.base in ("integer", "real"):
        dtype = NUMPY.get((kind.base, kind.kind), "")
    if not dtype:
        raise Unmapped(f"{name}: a procedure whose {variable.name} is neither an integer nor a real number")
    return NUMBERS[dtype]


def _parameter(name: str, variable: Variable, dims: dict[str, Any]) -> Any:
    inner = variable.name.lower()
    if {"optional", "allocatable", "pointer", "external"} & variable.attributes:
        raise Unmapped(
            f"{name}: a procedure whose argument {variable.name} is optional, a pointer or a procedure"
        )
    if variable.assumed_shape:
        raise Unmapped(f"{name}: a procedure whose argument {variable.name} has an assumed shape")
    if len(variable.shape) > 1:
        raise Unmapped(f"{name}: a procedure whose argument {variable.name} has {len(variable.shape)} dims")
    number = _number(name, variable)
    if "value" in variable.attributes:
        return number
    is_read = variable.intent in ("", "in") and not variable.shape
    if variable.shape:
        ((lower, upper),) = variable.shape
        if upper != "*":
            if lower != "1" or not re.fullmatch(r"[\w\s+*()-]+", upper):
                raise Unmapped(
                    f"{name}: a procedure whose argument {variable.name} has the dim {lower}:{upper}"
                )
            dims[inner] = (upper.lower(),)
    else:
        dims[inner] = () if is_read else (1,)
    return types.Pointer(number, const=is_read or variable.intent == "in")
