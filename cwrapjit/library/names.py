"""Makes Python's names for C's."""

from __future__ import annotations

import keyword

# Attributes of Library itself. Such a C name gets a "_" at its end; __init__ loses one in front.
RESERVED = frozenset(
    "declare diagnose fortran function handle interface mapped refine struct unmapped variable _core".split()
)


def python_name(name: str) -> str:
    """Returns a name that Python can have: lambda becomes lambda_."""
    return name + "_" if keyword.iskeyword(name) else name


def attribute_name(name: str) -> str:
    """Returns the attribute for a C name: Python can have it, and the library itself does not use it."""
    while name[:2] == "__" and name[-2:] == "__":
        name = name[1:]
    return name + "_" if name in RESERVED else python_name(name)


def qualified(owner: str, name: str) -> str:
    """Returns the name for messages: "gsl.hypot", but "climb" for climb of the library climb."""
    return name if owner == name else f"{owner}.{name}"
