"""What inspect.signature() shows of a Function. Imported when somebody asks."""

from __future__ import annotations

import inspect
from collections.abc import Sequence


class CText(str):
    """The C text of a default value, shown as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def build(inputs: Sequence[str], extras: Sequence[tuple[str, str]], has_outputs: bool) -> inspect.Signature:
    """Inputs by position or keyword, then out= and the extra arguments by keyword only."""
    parameter = inspect.Parameter
    parameters = [parameter(name, parameter.POSITIONAL_OR_KEYWORD) for name in inputs]
    if has_outputs:
        parameters.append(parameter("out", parameter.KEYWORD_ONLY, default=None))
    parameters += [parameter(name, parameter.KEYWORD_ONLY, default=CText(text)) for name, text in extras]
    return inspect.Signature(parameters)
