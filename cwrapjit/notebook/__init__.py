"""C in cells of IPython and Jupyter: `%load_ext cwrapjit`, then `%%cwrapjit` and `%cwrapjit`."""

from __future__ import annotations

from typing import Any

from cwrapjit.notebook.extension import Extension

__all__ = ["load", "unload"]


def load(shell: Any) -> None:
    """Loads the extension. It still knows what cells have bound before %unload_ext or %reload_ext."""
    found = shell.meta.get("cwrapjit")
    if found is None:
        found = shell.meta["cwrapjit"] = Extension(shell)
    found.install()


def unload(shell: Any) -> None:
    """Unloads the extension. Functions stay bound."""
    shell.meta["cwrapjit"].uninstall()
