"""varargs=: the types that a C function of a variable number of arguments gets behind its fixed ones.

Each is a parameter as C declares it, with a name or without. They follow the fixed parameters, and are
mapped as those are; only the call differs, as C promotes what stands behind the dots, and as the function is
told how many vector registers are in use.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from cwrapjit import _cwrapjit
from cwrapjit.library.declarations import FunctionDeclaration, ParameterDeclaration


def give(library: Any, found: FunctionDeclaration, said: Any) -> FunctionDeclaration:
    """The declaration with the parameters that varargs= says; itself, where it says none."""
    if said is None:
        return found
    who = f"{library.name}.{found.name}()"
    texts = (said,) if isinstance(said, str) else said
    if not isinstance(texts, (tuple, list)) or not all(isinstance(each, str) for each in texts):
        raise TypeError(f"{who}: varargs must be a tuple of C types, not {said!r}")
    if not found.variadic:
        raise ValueError(f"{who}: varargs: the declaration does not end with ...")
    made = [*found.parameters]
    names = {each.name for each in made if each.name}
    for k, text in enumerate(texts):
        each = _read(library, f"{who}: varargs[{k}]", text)
        if each.name in names:
            raise ValueError(f"{who}: varargs[{k}]: another parameter is called {each.name}")
        names |= {each.name} - {""}
        made.append(each)
    return dataclasses.replace(found, parameters=made, fixed=len(found.parameters))


def _read(library: Any, who: str, text: str) -> ParameterDeclaration:
    try:
        parsed = library.declarations.read(f"void cwj_varargs({text});", f"<{library.name}.varargs>")
    except _cwrapjit.CompileError as error:
        raise ValueError(f"{who}: {text!r} is no C type: {error.msg}") from None
    (found, *more) = parsed.functions or [None]
    if found is None or more or parsed.variables or found.variadic or len(found.parameters) != 1:
        raise ValueError(f"{who}: {text!r} should be one C type that is known, with or without a name")
    only: ParameterDeclaration = found.parameters[0]
    return only
