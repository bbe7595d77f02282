"""Makes what inspect.signature() returns for functions and graphs, and reads the signatures of users'
callables. Imported on first use."""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cwrapjit._arguments import OUT, Operand
from cwrapjit._imports import load
from cwrapjit._tokens import split

if TYPE_CHECKING:
    from cwrapjit.library.description import Argument


class CText(str):
    """C text shown as a default value or an annotation."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def build(
    inputs: Sequence[str],
    extras: Sequence[tuple[str, str, str]],
    noutputs: int,
    known: Mapping[str, Any] | None,
) -> inspect.Signature:
    """Inputs and one output by position or keyword, then the extra arguments, and `out` for several
    outputs, by keyword only. known: may contain `_declared`, the C function that gives the types of inputs;
    None: no types are shown."""
    parameter = inspect.Parameter
    kinds = c_types(known["_declared"]) if known and "_declared" in known else {}
    unknown = parameter.empty
    parameters = [
        parameter(name, parameter.POSITIONAL_OR_KEYWORD, annotation=kinds.get(name.rstrip("_"), unknown))
        for name in inputs
    ]
    if noutputs:
        kind = parameter.POSITIONAL_OR_KEYWORD if noutputs == 1 else parameter.KEYWORD_ONLY
        parameters.append(parameter("out", kind, default=None))
    for name, text, c_type in extras:
        shown = unknown if known is None else CText(c_type)
        parameters.append(parameter(name, parameter.KEYWORD_ONLY, default=CText(text), annotation=shown))
    return inspect.Signature(parameters, return_annotation=kinds.get("return", unknown))


def build_function(
    operands: Sequence[Operand], extras: Sequence[tuple[str, str, str, str]], known: Mapping[str, Any] | None
) -> inspect.Signature:
    """The same from what _arguments.read() returned."""
    inputs = [name for name, role, _ in operands if role != OUT]
    others = [(name, default, ctype) for ctype, name, default, _ in extras]
    return build(inputs, others, len(operands) - len(inputs), known)


def line(operands: Sequence[Operand], extras: Sequence[tuple[str, str, str, str]]) -> str:
    """Returns the signature as one line, without types. Defaults may contain more blanks."""
    return " ".join(str(build_function(operands, extras, None)).split())


def c_types(declared: str) -> dict[str, CText]:
    """Returns the C types of parameters by name; that of "return" if the function has no other result."""
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


def build_kernel(inputs: Sequence[Any], outputs: Sequence[Any], options: Sequence[str]) -> inspect.Signature:
    """Inputs, and outputs that are passed, by position; options of calls by keyword. inputs, outputs: of
    kernels.parameters.Parameter."""
    parameter = inspect.Parameter
    parameters: list[inspect.Parameter] = []
    for k, each in enumerate((*inputs, *outputs)):
        name, default = each.name, parameter.empty if k < len(inputs) else CText("...")
        while keyword.iskeyword(name) or name in [other.name for other in parameters] or name in options:
            name += "_"
        kind = CText(f"{'raw ' * each.raw}{each.word}")
        parameters.append(parameter(name, parameter.POSITIONAL_ONLY, default=default, annotation=kind))
    defaults = {"keepdims": False}
    parameters += [parameter(name, parameter.KEYWORD_ONLY, default=defaults.get(name)) for name in options]
    return inspect.Signature(parameters)


def build_graph(names: Sequence[str | None]) -> inspect.Signature:
    """One parameter per input. Those whose names cannot be keywords, and all before, are positional."""
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
    """Makes the signature from the descriptions of the arguments, and of the result at the end. Optional
    arguments before required ones are shown without a default."""
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
    """Returns the number of positional parameters, if there are *args and **kwargs, and all names."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # unknown: then pass what every method gets
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
