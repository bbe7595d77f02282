"""varargs=: the types of arguments that a variadic C function gets after its fixed ones.

Each is a parameter as C declares it, with or without a name, mapped like fixed ones. Only the call differs: C
promotes arguments after the dots, and tells the function how many vector registers are in use.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from cwrapjit import _cwrapjit
from cwrapjit.library.declarations import Declarations, FunctionDeclaration, ParameterDeclaration


def give(declarations: Declarations, who: str, found: FunctionDeclaration, said: Any) -> FunctionDeclaration:
    """Returns the declaration with the parameters of varargs=, or as it is."""
    if said is None:
        return found
    texts = (said,) if isinstance(said, str) else said
    if not isinstance(texts, (tuple, list)) or not all(isinstance(each, str) for each in texts):
        raise TypeError(f"{who}: varargs must be a tuple of C types, not {said!r}")
    if not found.variadic:
        raise ValueError(f"{who}: varargs: the declaration does not end with ...")
    made = [*found.parameters]
    names = {each.name for each in made if each.name}
    for k, text in enumerate(texts):
        each = _read(declarations, f"{who}: varargs[{k}]", text)
        if each.name in names:
            raise ValueError(f"{who}: varargs[{k}]: another parameter is called {each.name}")
        names |= {each.name} - {""}
        made.append(each)
    return dataclasses.replace(found, parameters=made, fixed=len(found.parameters))


def _read(declarations: Declarations, who: str, text: str) -> ParameterDeclaration:
    try:
        parsed = declarations.read(f"void cwj_varargs({text});", "<varargs>")
    except _cwrapjit.CompileError as error:
        raise ValueError(f"{who}: {text!r} is no C type: {error.msg}") from None
    match parsed.functions:
        case [FunctionDeclaration(parameters=[only], variadic=False)] if not parsed.variables:
            return only
    raise ValueError(f"{who}: {text!r} should be one C type that is known, with or without a name")
