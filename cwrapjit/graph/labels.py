"""Names variables, types, ops and nodes in messages, comments and C.

Names come from anywhere. Those in comments of generated C must therefore be printable, and must not end a
comment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_MOST_LETTERS = 60  # of a name in a label
_MOST_ARGUMENTS = 8  # of a node in a label
# Expected errors of users' __str__, for which a label is not worth failing. KeyboardInterrupt and exceptions
# of signal handlers are not among them.
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
    """True for printable text that is not empty and neither ends nor starts a comment."""
    plain = str.__str__(text)  # ignores overrides in classes derived from str
    harmless = "\\" not in plain and "*/" not in plain and "/*" not in plain
    return harmless and plain != "" and plain.isprintable()


def name_of(variable: Any) -> str | None:
    """Return variable.name if it is text that can appear in a message and in a comment."""
    name: Any = getattr(variable, "name", None)
    return str.__str__(name) if issubclass(type(name), str) and is_showable(name) else None


def shortened(text: str) -> str:
    return text if len(text) <= _MOST_LETTERS else f"{text[: _MOST_LETTERS - 3]}..."


def variable_label(variable: Any) -> str:
    """Return "x", for messages before variables have numbers."""
    name = name_of(variable)
    return "a variable without name" if name is None else shortened(name)


def class_of(value: Any) -> str:
    """Return "Double": the class, even if it is used as a type or op itself."""
    return value.__name__ if isinstance(value, type) else type(value).__name__


def op_label(op: Any) -> str:
    """Return "Add", or the op's own str() or repr()."""
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
    """Return call_label() of a node, before variables have numbers."""
    return call_label(op, ["?" if name is None else shortened(name) for name in map(name_of, inputs)])
