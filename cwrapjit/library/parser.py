"""Imports pycparser when it is first needed. It has no type hints."""

from __future__ import annotations

from typing import Any

from cwrapjit._imports import load


def pycparser() -> Any:
    """Returns the package."""
    return load("pycparser")


def text_of(tree: Any) -> str:
    """Returns a syntax tree as C text."""
    return str(load("pycparser.c_generator").CGenerator().visit(tree))
