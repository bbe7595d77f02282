"""Displays jitted functions: a picture of their steps if Graphviz is installed, else the steps as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cwrapjit.show import drawing
from cwrapjit.show.page import box, code, escaped, fold, listing

if TYPE_CHECKING:
    from cwrapjit.tracing.jit import Jitted
    from cwrapjit.tracing.program import Program

MOST_DRAWN = 120  # steps


def dot(programs: Sequence[Program]) -> str:
    """Writes the steps of all programs in Graphviz's language."""
    made = drawing.Dot()
    for program in programs:
        places = {name: made.node(f"{name} {what}", "input") for name, what in program.inputs.items()}
        for step in program.steps:
            _, _, call = step.line.partition(" = ")
            is_kernel = step.kind.startswith("kernel")
            place = made.node(call.partition("(")[0] if is_kernel else call, "op")
            for name, what in step.reads.items():
                start = places.get(name) or made.node(f"{name} {what}", "constant")
                made.edge(start, place, what if name not in program.inputs and name in places else "")
            places.update(dict.fromkeys(step.writes, place))
        for name, what in program.outputs.items():
            start = places.get(name) or made.node(f"{name} {what}", "constant")
            made.edge(start, made.node(f"{name} {what}", "output"), "")
    return made.text()


def of_jitted(shown: Jitted[..., object]) -> str:
    programs = shown._programs()
    count = sum(len(program.steps) for program in programs)
    picture = drawing.draw(dot(programs)) if 0 < count <= MOST_DRAWN and drawing.is_there() else None
    steps = listing(escaped("\n".join(program.explanation for program in programs)[:10_000]))
    return box(
        "jit",
        code(f"{shown.__name__}{shown.__signature__}"),
        *([picture, fold("steps", steps)] if picture else [steps]),
    )
