"""What messages, comments and C names call variables, types, ops and nodes.

Names come from anywhere, so they are looked at before they get into a comment of generated C: printable, and
nothing that ends a comment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_MOST_LETTERS = 60  # of a name in a label
_MOST_ARGUMENTS = 8  # of a node in a label
# A label is not worth a failure where __str__ has one of the usual faults. Ctrl-C is none of these, nor is
# what a signal's handler raises.
_BLUNDERS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NameError,
    NotImplementedError,
    TypeError,
    ValueError,
)


def is_showable(text: str) -> bool:
    """Printable, not empty, and neither the end of a comment nor the start of one."""
    plain = str.__str__(text)  # whatever a class derived from str says
    harmless = "\\" not in plain and "*/" not in plain and "/*" not in plain
    return harmless and plain != "" and plain.isprintable()


def name_of(variable: Any) -> str | None:
    """Return variable.name where it is text that can stand in a message and in a comment."""
    name: Any = getattr(variable, "name", None)
    return str.__str__(name) if issubclass(type(name), str) and is_showable(name) else None


def shortened(text: str) -> str:
    return text if len(text) <= _MOST_LETTERS else f"{text[: _MOST_LETTERS - 3]}..."


def variable_label(variable: Any) -> str:
    """Return "x", for messages before variables have numbers."""
    name = name_of(variable)
    return "a variable without name" if name is None else shortened(name)


def class_of(value: Any) -> str:
    """Return "Double": the class, also where a class is its own type or op."""
    return value.__name__ if isinstance(value, type) else type(value).__name__


def op_label(op: Any) -> str:
    """Return "Add", or what the op says of itself when printed."""
    methods: Any = type(op).__str__, type(op).__repr__
    prints = not isinstance(op, type) and methods != (object.__str__, object.__repr__)
    try:
        label = str.__str__(str(op)) if prints else ""
    except _BLUNDERS:
        label = ""
    return label if len(label) <= _MOST_LETTERS and is_showable(label) else class_of(op)


def call_label(op: Any, arguments: Sequence[str]) -> str:
    """Return "Add(x, y)"."""
    more = ", ..." if len(arguments) > _MOST_ARGUMENTS else ""
    return f"{op_label(op)}({', '.join(arguments[:_MOST_ARGUMENTS])}{more})"


def node_label(op: Any, inputs: Sequence[Any]) -> str:
    """The same of a node's op and inputs, before variables have numbers."""
    return call_label(op, ["?" if name is None else shortened(name) for name in map(name_of, inputs)])
