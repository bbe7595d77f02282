"""C in the cells of IPython and Jupyter: `%load_ext cwrapjit`, then `%%cwrapjit` and `%cwrapjit`."""

from __future__ import annotations

from typing import Any

from cwrapjit.notebook.extension import Extension

__all__ = ["load", "unload"]


def load(shell: Any) -> None:
    """%load_ext cwrapjit. What cells have bound is known again after %unload_ext and %reload_ext."""
    found = shell.meta.get("cwrapjit")
    if found is None:
        found = shell.meta["cwrapjit"] = Extension(shell)
    found.install()


def unload(shell: Any) -> None:
    """%unload_ext cwrapjit. Functions stay."""
    shell.meta["cwrapjit"].uninstall()
