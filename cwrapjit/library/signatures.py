"""Shows functions and arguments in messages, docstrings, signatures and capsules."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cwrapjit._comments import docstring
from cwrapjit.library import types
from cwrapjit.library.constants import text_of
from cwrapjit.library.declarations import Declarations, FunctionDeclaration, ParameterDeclaration
from cwrapjit.library.description import Parameter, Result

WORDS = {"char": "str", "float64": "float", "intc": "int", "int64": "int", "complex128": "complex"}
_OF_ROLES = {"status": "int", "stream": "file", "string": "str", "texts": "list[str]"}


def annotation(parameter: Parameter) -> str:
    """Returns the type of an argument for messages and signatures."""
    if parameter.role == "value":
        return WORDS.get(parameter.type, parameter.type)
    if parameter.role in _OF_ROLES:
        return _OF_ROLES[parameter.role]
    if parameter.role in ("array", "data"):
        dtype = parameter.type.replace("intc", "int32") or getattr(parameter.cls, "__name__", "")
        if not parameter.dims:
            return f"{dtype}[...]"
        order = ", order=F" if parameter.order == "F" and len(parameter.dims) > 1 else ""
        return f"{dtype}[{','.join(':' * len(parameter.dims))}{order}]"
    if parameter.role == "items":
        word = WORDS.get(parameter.type, parameter.type)
        more = ", ..." * (parameter.container is tuple)
        for _ in parameter.dims:
            word = f"{parameter.container.__name__}[{word}{more}]"
        return word
    if parameter.role == "callback":
        return getattr(parameter.cls, "annotation", "Callable")
    if parameter.role == "address" and hasattr(parameter.cls, "is_new"):  # a Python object: objects.py
        return "object"
    if parameter.role == "address":
        return f"Pointer[{parameter.type}]" if parameter.type else "Pointer"
    if parameter.role == "handles":
        return f"list[{parameter.cls.__name__}]"
    if parameter.role == "buffer":
        bytes_like = "bytes" if parameter.intent == "in" else "bytearray"
        return bytes_like if len(parameter.dims) == 1 else "buffer"
    return str(getattr(parameter.cls, "__name__", "object"))


def returns(result: Result, parameters: Iterable[Parameter]) -> str:
    """Returns the type of a call's result, as annotation() shows it. Rule: cwj_is_result() in tables.h."""
    given: list[Parameter] = [] if result.role in ("none", "status") else [result]
    for each in parameters:
        role, is_out = each.role, each.intent == "out" and each.role not in ("hidden", "length")
        if role == "data" or is_out or (role == "value" and each.intent == "inout"):
            given.append(each)
    shown = [_enum(each) or annotation(each) for each in given if not each.discarded]
    return shown[0] if len(shown) == 1 else f"({', '.join(shown)})" if shown else "None"


def _enum(result: Result | Parameter) -> str:
    """Returns the name of the enum that a result is a member of; "" if there is none."""
    members = result.cls if result.role == "value" and isinstance(result.cls, dict) else {}
    name = "".join({type(each).__name__ for each in members.values()})
    return "" if name == "enum" else name


def written(text: str) -> str:
    """Returns a declaration's text in one line; "" if it has directives, comments, types or a body."""
    line = " ".join(text.split()).rstrip("; ")
    return "" if any(each in line for each in ("#", "//", "/*", ";", "{", "\\")) else line


def shown(declaration: FunctionDeclaration) -> str:
    """Returns the declaration in one line, as the user wrote it if that is known."""
    return declaration.text or signature(declaration)


def documented(known: Declarations, declaration: FunctionDeclaration, more: str = "") -> str:
    """Returns a docstring: the declaration, and the comment above it."""
    return docstring(shown(declaration) + more, known.comment(declaration))


def signature(declaration: FunctionDeclaration, names: bool = True) -> str:
    """Returns the declaration in one line; without names, it has the form of scipy.LowLevelCallable."""
    parts = [_declared(each.type, each.name if names else "") for each in _fixed(declaration)]
    if declaration.variadic:
        parts.append("...")
    result = types.show(declaration.result)
    inner = ", ".join(parts) or ("void" if names else "")
    if not names:
        return f"{result} ({inner})"
    return f"{result}{'' if result.endswith('*') else ' '}{declaration.name}({inner})"


def _fixed(declaration: FunctionDeclaration) -> list[ParameterDeclaration]:
    return declaration.parameters[: declaration.fixed if declaration.fixed >= 0 else None]


def behind_dots(declaration: FunctionDeclaration) -> str:
    """Returns the parameters of varargs=."""
    said = declaration.parameters[len(_fixed(declaration)) :]
    return ", ".join(_declared(each.type, each.name) for each in said)


def _declared(ctype: Any, name: str) -> str:
    """Returns a parameter as C writes it: const double A[m][k]."""
    if isinstance(ctype, types.Callable) and not ctype.alias:
        return types.declared(ctype, name)
    if not isinstance(ctype, types.Array):
        shown = types.show(ctype)
        return f"{shown}{'' if shown.endswith('*') or not name else ' '}{name}"
    item, layers = types.peeled(ctype)
    dims = "".join(f"[{'' if each.dim is None else text_of(each.dim)}]" for each in layers)
    shown = f"{'const ' if ctype.const else ''}{types.show(item)}"
    space = "" if shown.endswith("*") else " "
    return f"{shown}{space}{name}{dims}" if name else f"{shown}{space}*"
