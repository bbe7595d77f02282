"""Writes the text of a bind(c) procedure, and the thunk or the slice that calls it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from cwrapjit import _cwrapjit
from cwrapjit.library import types
from cwrapjit.library.fortran_emit import Procedure
from cwrapjit.library.fortran_text import ISO, NUMBERS, POINTER, Routine, Slot, Variable, declared, folded
from cwrapjit.library.thunks import Thunk, Writer, call_of


def _interface(routine: Routine) -> list[str]:
    """Returns the interface of an external routine, rebuilt from its declaration."""
    inner = [v.name for v in routine.arguments]
    what = "subroutine" if routine.result is None else "function"
    head = f"{what} {routine.name}({', '.join(inner)})"
    if routine.bind is not None:
        head += f' bind(c, name="{routine.bind}")'
    if routine.result is not None and routine.result.name.lower() != routine.name.lower():
        head += f" result({routine.result.name})"
    lines = [head, "  import", "  implicit none"]
    every = routine.arguments + ([routine.result] if routine.result is not None else [])
    # Scalars first: the bounds of arrays refer to them.
    for variable in sorted(every, key=lambda v: bool(v.shape)):
        lines.append("  " + _rebuilt(variable, routine.constants))
    return ["interface", *("  " + line for line in [*lines, f"end {what}"]), "end interface"]


def _rebuilt(variable: Variable, constants: dict[str, int]) -> str:
    kind = variable.kind
    text = f"character(len={kind.length})" if kind.base == "character" else declared(kind)
    if variable.intent:
        text += f", intent({variable.intent})"
    kept = {"optional", "value", "allocatable", "contiguous", "target"}
    text += "".join(f", {attribute}" for attribute in sorted(variable.attributes & kept))
    bounds = []
    for lower, upper in variable.shape:
        is_plain = not lower or (lower == "1" and upper != ":")
        bounds.append(upper if is_plain else f"{lower}:{upper.strip(':')}")
    for name, value in constants.items():
        bounds = [re.sub(rf"\b{name}\b", str(value), bound, flags=re.IGNORECASE) for bound in bounds]
    return f"{text} :: {variable.name}" + (f"({', '.join(bounds)})" if bounds else "")


def procedure(made: Procedure) -> str:
    """Returns the whole bind(c) procedure."""
    routine = made.routine
    dummies = ", ".join(slot.name for slot in made.slots)
    function = made.result.role != "none"
    out = made.names.fresh("bound_result") if function else ""
    what = "function" if function else "subroutine"
    tail = f" result({out})" if function else ""
    lines = [f'{what} {made.symbol}({dummies}) bind(c, name="{made.symbol}"){tail}']
    body = []
    if routine.module:
        body.append(f"use {routine.module}, only: {made.target} => {routine.generic or routine.name}")
    for name, local in made.imports.items():
        body.append(f"use {made.types[name]}, only: {local} => {name}")
    body += [slot.fortran for slot in made.slots]
    if function:
        of_role = {"handle": "type(c_ptr)", "string": "type(c_ptr)"}.get(made.result.role)
        of_type = "integer(c_int8_t)" if made.result.type == "bool" else ISO.get(made.result.type)
        body.append(f"{of_role or of_type} :: {out}")
    for interface in made.interfaces:
        body += ["abstract interface", *_interface(interface)[1:]]
    body += made.locals
    if not routine.module:
        body += _interface(routine)
    body += made.before
    body += _calls(made, list(made.left_out.items()), set())
    body += made.after
    if made.result.role == "handle":
        body.append(f"{out} = c_loc({made.returned})")
    elif made.result.role == "string":
        body.append(f"{out} = c_null_ptr")
        body.append(f"if (allocated({made.returned})) {out} = cwj_made_text({made.returned})")
    elif made.result.type == "bool":
        body.append(f"{out} = merge(1_c_int8_t, 0_c_int8_t, {made.returned})")
    elif function:
        body.append(f"{out} = {made.returned}")
    lines += ["  " + line for line in body] + [f"end {what} {made.symbol}"]
    return "\n".join(folded("  " + line) for line in lines)


def _calls(made: Procedure, left: list[tuple[int, str]], absent: set[int]) -> list[str]:
    """Returns the call. Absent arguments by value must be left out: there is a call for each case."""
    if left:
        (index, bound), rest = left[0], left[1:]
        given, without = _calls(made, rest, absent), _calls(made, rest, absent | {index})
        lines = [f"if (c_associated({bound})) then", *("  " + line for line in given), "else"]
        return [*lines, *("  " + line for line in without), "end if"]
    words = []
    for index, (variable, actual) in enumerate(zip(made.routine.arguments, made.actual, strict=True)):
        if index not in absent:
            words.append(f"{variable.name}={actual}" if any(k < index for k in absent) else actual)
    call = f"{made.target if made.routine.module else made.routine.name}({', '.join(words)})"
    return [f"{made.returned} = {call}" if made.returned else f"call {call}"]


def thunk(made: Procedure) -> Thunk:
    """Returns the thunk of the bind(c) procedure."""
    result: Any = POINTER if made.result.role in ("handle", "string") else types.Void()
    result = NUMBERS[made.result.type] if made.result.role == "value" else result
    return Thunk(result, [slot.c for slot in made.slots])


# ---- elemental routines that are slices of broadcasting functions --------------------------------------


def broadcasts(made: Procedure) -> bool:
    """True if every argument is a number that is read, or one that is written. Others are called once."""
    if not made.routine.elemental or made.result.role not in ("none", "value"):
        return False
    parameters = [slot.parameter for slot in made.slots]
    simple = all(p.role == "value" and not p.optional and p.intent in ("in", "out") for p in parameters)
    given = [p for p in parameters if p.intent == "in"]
    has_results = made.result.role == "value" or len(given) < len(made.slots)
    required = all(argument.required for argument in made.arguments)
    return simple and bool(given) and has_results and required


def define_elemental(made: Procedure, name: str, doc: str, address: int, owner: Any) -> Any:
    """Returns the broadcasting function; `owner` keeps the code that it calls."""
    given = [slot for slot in made.slots if slot.parameter.intent == "in"]
    given.sort(key=lambda slot: slot.parameter.argument)
    written = [slot for slot in made.slots if slot.parameter.intent == "out"]
    returned = [made.result.type] if made.result.role == "value" else []
    number = len(returned) + len(written)
    outputs = ["output"] if number == 1 else [f"output{i}" for i in range(number)]
    inputs = [made.arguments[slot.parameter.argument].name for slot in given]
    called = {id(slot): argument for slot, argument in zip(given, inputs, strict=True)}
    called |= {id(slot): output for slot, output in zip(written, outputs[len(returned) :], strict=True)}
    values = [_value(slot, called[id(slot)]) for slot in made.slots]
    result = NUMBERS[made.result.type].spelling if returned else "void"
    call = call_of(f"{address}ull", result, [_SPELL(slot.c) for slot in made.slots], values)
    if returned:
        call = f"*({result} *)data_slice__{outputs[0]} = {call}"
    dtypes = [slot.parameter.type for slot in given] + returned + [slot.parameter.type for slot in written]
    function = _cwrapjit.function(
        name,
        doc,
        signature=f"{'(), '.join(inputs)}() -> {'(), '.join(outputs)}()",
        Ccode_slice_eval={tuple(np.dtype(each) for each in dtypes): f"{call};\nreturn 1;"},
        cast="safe",
    )
    function.__dict__["_library"] = owner
    return function


def _value(slot: Slot, name: str) -> str:
    if slot.parameter.by_pointer:
        return f"(void *)data_slice__{name}"
    return f"*(const {_SPELL(slot.c)} *)data_slice__{name}"


_SPELL = Writer().spell
