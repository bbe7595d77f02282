"""Shows the system compiler's warnings below the cell, as soon as they arrive."""

from __future__ import annotations

import contextvars
import threading
from typing import Any

from cwrapjit._imports import load
from cwrapjit.notebook import faults
from cwrapjit.show.page import escaped

PATIENCE = 0.2  # seconds that a cell waits for warnings
MOST = 10
CODE = "font-family: var(--jp-code-font-family, monospace);font-size: .92em;line-height: 1.35;color: inherit"


class Remarks:
    """Warnings, as displayed in notebooks and terminals."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines

    def __repr__(self) -> str:
        return "\n".join(self.lines)

    def _repr_html_(self) -> str:
        if not self.lines:
            return ""
        return (
            f'<pre style="{CODE};margin: 0;padding: 4px 8px;border-left: 4px solid #dc9a00;'
            f'background: rgba(220,154,0,.14)">{escaped(repr(self))}</pre>'
        )


class Check:
    """Asks the compiler for warnings about a cell, in a thread."""

    def __init__(self, made: Any) -> None:
        self.turn = threading.Lock()
        self.remarks: Remarks | None = None
        self.handle: Any = None  # the display to update, if the notebook has one
        # The context tells the notebook which cell the output belongs to.
        run = contextvars.copy_context().run
        self.thread = threading.Thread(target=run, args=(self._ask, made), name="cwrapjit-check", daemon=True)
        self.thread.start()

    def _ask(self, made: Any) -> None:
        found = Remarks(lines_of(made))
        with self.turn:
            self.remarks = found
            if self.handle is not None:
                self.handle.update(found)

    def wait(self) -> bool:
        """Waits briefly, and shows the warnings if they have arrived; else returns False."""
        self.thread.join(PATIENCE)
        return self.tell()

    def tell(self) -> bool:
        if self.remarks is not None and self.remarks.lines:
            load("IPython.display").display(self.remarks)
        return self.remarks is not None

    def tell_later(self, shell: Any) -> bool:
        """Reserves a display below the cell. Returns False in terminals, which can only add lines."""
        if not hasattr(shell, "kernel"):
            return False
        with self.turn:
            handle = load("IPython.display").display(self.remarks or Remarks([]), display_id=True)
            self.handle = handle if self.remarks is None else None
        return True


def lines_of(made: Any) -> list[str]:
    """Returns the warnings with their lines; none without a compiler."""
    try:
        found = made.library.diagnose() or []
    except RuntimeError as error:  # the compiler does not work
        return [f"no warnings: {error}"]
    lines: list[str] = []
    for warning in found[:MOST]:
        where = made.file if warning.filename == made.compiler_file else warning.filename
        lines += [f"{where}, line {warning.lineno}: warning: {warning.msg}", *faults.marked(warning)]
    if len(found) > MOST:
        lines.append(f"and {len(found) - MOST} more")
    return faults.plain(lines)
