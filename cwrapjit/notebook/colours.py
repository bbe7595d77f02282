"""Colours the C in cells. Only the terminal's front end lets Python choose the lexer."""

from __future__ import annotations

import sys
from typing import Any

from cwrapjit._imports import load

_before: dict[Any, Any] = {}


def install(shell: Any) -> None:
    """In terminals, colours the text below %%cwrapjit as C. Does nothing in other front ends."""
    terminal: Any = sys.modules.get("IPython.terminal.interactiveshell")
    if terminal is None or not isinstance(shell, terminal.TerminalInteractiveShell) or terminal in _before:
        return
    usual = _before[terminal] = terminal.IPythonPTLexer

    def begin(self: Any) -> None:
        usual.__init__(self)
        lexer = load("prompt_toolkit.lexers").PygmentsLexer
        self.magic_lexers["cwrapjit"] = lexer(load("pygments.lexers.c_cpp").CLexer)

    terminal.IPythonPTLexer = type("CellLexer", (usual,), {"__init__": begin})


def uninstall(shell: Any) -> None:
    for terminal, usual in _before.items():
        terminal.IPythonPTLexer = usual
    _before.clear()
