"""Registers with IPython: two magics, how a CompileError is shown, colours, and a hook before each cell."""

from __future__ import annotations

from typing import Any

from cwrapjit import _cwrapjit
from cwrapjit._imports import load
from cwrapjit.notebook import colours, faults
from cwrapjit.notebook.cells import Cells
from cwrapjit.notebook.options import complete, described, split_line

NAME = "cwrapjit"
_TYPED = {"cell": "%%cwrapjit", "line": "%cwrapjit"}


class Extension:
    """The extension in one shell."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.cells = Cells(shell)
        self.handler_before: tuple[Any, Any] | None = None
        self.magics = {"cell": self._cell_magic(), "line": self._line_magic()}

    def _cell_magic(self) -> Any:
        def cwrapjit(line: str, cell: str) -> None:
            """Functions of NumPy arrays, from C. The C text is in the lines below.

            Each function that is not static becomes a Python function, as with cwrapjit.library(source=):
            numbers broadcast; a pointer with OUT in front is allocated and returned; double x[n] is an array.
            %cwrapjit does the same with text in its own line.

                %%cwrapjit
                double excess(double x, double limit) { return x > limit ? x - limit : 0; }
            """
            self.cells.run(self.magics["cell"].parser, line, cell)

        return described(cwrapjit, "%cwrapjit")

    def _line_magic(self) -> Any:
        def cwrapjit(line: str) -> None:
            """Functions of NumPy arrays, from C text in this line, after the options. %cwrapjit double
            excess(double x, double limit) { return x > limit ? x - limit : 0; } {name} and $name are not
            expanded. The magic binds the function, and returns nothing. %%cwrapjit takes the text of a whole
            cell."""
            self.cells.run(self.magics["line"].parser, *split_line(line), in_line=True)

        return load("IPython.core.magic").no_var_expand(described(cwrapjit, NAME))

    def install(self) -> None:
        shell = self.shell
        for kind, magic in self.magics.items():
            shell.register_magic_function(magic, magic_kind=kind, magic_name=NAME)
            shell.set_hook("complete_command", complete, str_key=_TYPED[kind])
        shell.events.register("pre_run_cell", self.cells.begins)
        colours.install(shell)
        load("cwrapjit.show.inspection").register(shell)
        if self.handler_before is None:
            self.handler_before = shell.custom_exceptions, shell.CustomTB
            shell.set_custom_exc((_cwrapjit.CompileError, *shell.custom_exceptions), self._show)

    def uninstall(self) -> None:
        shell = self.shell
        for kind in self.magics:
            shell.magics_manager.magics[kind].pop(NAME, None)
            shell.strdispatchers["complete_command"].strs.pop(_TYPED[kind], None)
        shell.events.unregister("pre_run_cell", self.cells.begins)
        colours.uninstall(shell)
        load("cwrapjit.show.inspection").unregister(shell)
        if self.handler_before is not None:
            shell.custom_exceptions, shell.CustomTB = self.handler_before
            self.handler_before = None

    def _show(self, shell: Any, kind: Any, value: Any, trace: Any, tb_offset: Any = None) -> Any:
        """Shows a CompileError, and passes other exceptions to the previous handler."""
        if not isinstance(value, _cwrapjit.CompileError) and self.handler_before is not None:
            return self.handler_before[1](kind, value, trace, tb_offset=tb_offset)
        return faults.show(shell, kind, value, trace)
