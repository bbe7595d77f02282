"""Late imports. A fork waits for those under way: no child has half a module and waits for the rest."""

from __future__ import annotations

import os
from _thread import RLock  # that of threading, which takes longer to import
from types import ModuleType

# Held around every import of this package that does not happen with it.
late = RLock()
os.register_at_fork(before=late.acquire, after_in_parent=late.release, after_in_child=late.release)


def load(name: str) -> ModuleType:
    """The module of that name, imported now if it is not there yet."""
    with late:
        # On CPython 3.10 importlib.import_module() takes the interpreter's import lock also for what is
        # there, which an exception of a signal's handler leaves held for ever if it strikes within importlib.
        return __import__(name, None, None, ("__name__",))
