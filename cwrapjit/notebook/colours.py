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


def html(text: str) -> list[str]:
    """C text as HTML, line by line, with its colours in it."""
    pygments = load("pygments")
    lexer = load("pygments.lexers.c_cpp").CLexer(stripnl=False, ensurenl=False)
    form = load("pygments.formatters.html").HtmlFormatter(noclasses=True, nowrap=True)
    made: str = pygments.highlight(text, lexer, form)
    lines = made.split("\n")
    return lines[:-1] if made.endswith("\n") and not text.endswith("\n") else lines
