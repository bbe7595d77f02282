"""C in its colours: in cells where the front end lets Python say so, which is the terminal's alone."""

from __future__ import annotations

import sys
from typing import Any

from cwrapjit._imports import load

_before: dict[Any, Any] = {}


def install(shell: Any) -> None:
    """Terminals: what is typed below %%cwrapjit is coloured as C. Other front ends do as they like."""
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
