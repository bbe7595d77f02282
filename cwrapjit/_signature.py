"""What inspect.signature() shows of a Function or a Graph, and what it says of others' callables. Imported
when somebody asks.
"""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cwrapjit._imports import load
from cwrapjit._tokens import split

if TYPE_CHECKING:
    from cwrapjit.library.description import Argument


class CText(str):
    """The C text of a default value, shown as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def build(
    inputs: Sequence[str],
    extras: Sequence[tuple[str, str, str]],
    has_outputs: bool,
    known: Mapping[str, Any] | None,
) -> inspect.Signature:
    """Inputs by position or keyword, then out= and the extra arguments by keyword only.

    known: may have the C function that says the types of inputs, `_declared`; None: no types are shown.
    """
    parameter = inspect.Parameter
    kinds = c_types(known["_declared"]) if known and "_declared" in known else {}
    unknown = parameter.empty
    parameters = [
        parameter(name, parameter.POSITIONAL_OR_KEYWORD, annotation=kinds.get(name.rstrip("_"), unknown))
        for name in inputs
    ]
    if has_outputs:
        parameters.append(parameter("out", parameter.KEYWORD_ONLY, default=None))
    for name, text, c_type in extras:
        kind = unknown if known is None else CText(c_type)
        parameters.append(parameter(name, parameter.KEYWORD_ONLY, default=CText(text), annotation=kind))
    return inspect.Signature(parameters, return_annotation=kinds.get("return", unknown))


def c_types(declared: str) -> dict[str, CText]:
    """Those of a C function's parameters, by name; of "return", where it is all that the function gives."""
    made: dict[str, CText] = {}
    text = load("cwrapjit.kernels.text")
    for found in text.Text(f"{declared}{{}}", "<declaration>").functions:
        named = (part for part in split(found.inner) if part[0].text != "." and part[-1].text != "void")
        for each, part in zip(found.parameters, named, strict=False):
            kind = text.shown([token for token in part if token.at != each.at])
            made[each.name.rstrip("_")] = CText(kind)
        if all(each.const or not (each.stars or each.dims) for each in found.parameters):
            made["return"] = CText(declared[found.result_at : found.at].strip())
    return made


def build_kernel(inputs: Sequence[str], outputs: Sequence[str], options: Sequence[str]) -> inspect.Signature:
    """Inputs and, if they are given, outputs by position; options of calls by keyword."""
    parameter = inspect.Parameter
    taken: list[str] = []
    for name in (*inputs, *outputs):
        while keyword.iskeyword(name) or name in taken or name in options:
            name += "_"
        taken.append(name)
    names = taken[: len(inputs)]
    parameters = [parameter(name, parameter.POSITIONAL_ONLY) for name in names]
    parameters += [
        parameter(name, parameter.POSITIONAL_ONLY, default=CText("...")) for name in taken[len(inputs) :]
    ]
    defaults = {"keepdims": False}
    parameters += [parameter(name, parameter.KEYWORD_ONLY, default=defaults.get(name)) for name in options]
    return inspect.Signature(parameters)


def build_graph(names: Sequence[str | None]) -> inspect.Signature:
    """One parameter per input. Those that no keyword can name, and all before them, by position only."""
    shown: list[str] = []
    first_named = 0
    for i, name in enumerate(names):
        if name is None or not name.isidentifier() or keyword.iskeyword(name) or names.count(name) > 1:
            name = f"input{i + 1}"
            while name in names:
                name = "_" + name
            first_named = i + 1
        shown.append(name)
    parameter = inspect.Parameter
    kinds = (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    return inspect.Signature([parameter(name, kinds[i >= first_named]) for i, name in enumerate(shown)])


def build_library(described: Sequence[Any]) -> inspect.Signature:
    """Of what describes a library function's arguments, and what it returns. Optional ones in front of others
    that must be given have no default to be seen."""
    arguments: list[Argument]
    *arguments, returns = described
    parameter = inspect.Parameter
    kinds = {
        "any": parameter.POSITIONAL_OR_KEYWORD,
        "positional": parameter.POSITIONAL_ONLY,
        "keyword": parameter.KEYWORD_ONLY,
    }
    needed = [i for i, each in enumerate(arguments) if each.required and each.kind != "keyword"]
    must = max(needed, default=-1)
    return inspect.Signature(
        [
            parameter(
                each.name,
                kinds[each.kind],
                default=parameter.empty if each.required or i < must else each.default,
                annotation=CText(each.annotation) if each.annotation else parameter.empty,
            )
            for i, each in enumerate(arguments)
        ],
        return_annotation=CText(returns) if returns else parameter.empty,
        __validate_parameters__=False,
    )


def taken(function: Callable[..., Any]) -> tuple[int, bool, bool, tuple[str, ...]]:
    """How many positional arguments a callable takes; whether *args, **kwargs; the names of all others."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # nobody knows: then it gets what every method gets
        return 2, False, False, ()
    parameter = inspect.Parameter
    variadic = (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    kinds = [each.kind for each in parameters]
    return (
        sum(kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD) for kind in kinds),
        parameter.VAR_POSITIONAL in kinds,
        parameter.VAR_KEYWORD in kinds,
        tuple(each.name for each in parameters if each.kind not in variadic),
    )
