"""The names that Python sees for C's."""

from __future__ import annotations

import keyword

# Attributes of Library itself: a C name of these gets a "_" behind it.
RESERVED = frozenset(
    "declare diagnose fortran function handle interface mapped refine struct unmapped variable _core".split()
)


def python_name(name: str) -> str:
    """A name that Python can have: lambda becomes lambda_."""
    return name + "_" if keyword.iskeyword(name) else name


def attribute_name(name: str) -> str:
    """The attribute for a C name: one that Python can have and that the library itself does not use."""
    made = python_name(name)
    while made in RESERVED or (made[:2] == "__" and made[-2:] == "__"):
        made += "_"
    return made
