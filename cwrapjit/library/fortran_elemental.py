"""Makes an elemental routine, if it takes numbers, the slice of a broadcasting function."""

from __future__ import annotations

from typing import Any

import numpy as np

from cwrapjit import _cwrapjit
from cwrapjit.library.fortran_emit import Procedure
from cwrapjit.library.fortran_text import NUMBERS, Slot
from cwrapjit.library.thunks import Writer, call_of


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


def define(made: Procedure, name: str, doc: str, address: int, owner: Any) -> Any:
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
