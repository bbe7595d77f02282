"""pycparser, imported when it is first needed. It has no type hints."""

from __future__ import annotations

import importlib
from typing import Any


def pycparser() -> Any:
    """The package."""
    return importlib.import_module("pycparser")


def text_of(tree: Any) -> str:
    """A syntax tree as C."""
    return str(importlib.import_module("pycparser.c_generator").CGenerator().visit(tree))
