"""Late imports. fork() waits for running ones, so that a child never has a module that is half loaded."""

from __future__ import annotations

import os
from _thread import RLock  # threading.RLock, but quicker to import
from types import ModuleType

# Held during every late import of this package.
late = RLock()
os.register_at_fork(before=late.acquire, after_in_parent=late.release, after_in_child=late.release)


def load(name: str) -> ModuleType:
    """Returns the module of that name, and imports it if necessary."""
    with late:
        # On CPython 3.10 importlib.import_module() takes the import lock even for loaded modules. If a signal
        # handler raises within importlib, that lock is never released.
        return __import__(name, None, None, ("__name__",))
