"""Calls functions with arguments that override __array_ufunc__ (pandas columns, xarray's arrays), or with
keywords of ufuncs."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

_OURS = np.ndarray.__array_ufunc__
_LAST = "put the axes of a slice last, with np.moveaxis()"
# What to do without keywords of ufuncs (all are in bind.c).
_WORDS = {
    "where": "call f() on all slices, and choose with np.where()",
    "dtype": "convert the arguments or the result with astype()",
    "axis": _LAST,
    "axes": _LAST,
    "keepdims": "index the result with [..., None]",
    "casting": "use cast= in the definition",
    **dict.fromkeys(("order", "signature", "subok"), "convert the result"),
}


def ufunc_name(name: str) -> str:
    """Returns the name of a function's ufunc. Other packages would take one called "subtract" or "sub" for
    NumPy's own, or for an operator."""
    taken = isinstance(vars(np).get(name), np.ufunc) or hasattr(operator, f"__{name}__")
    return f"{name}_" if taken else name


def ufunc_texts(function: Any, name: str) -> tuple[bytes, bytes]:
    """Returns the name and the docstring of f.ufunc, for C."""
    doc = getattr(function, "__doc__", None)
    return ufunc_name(name).encode(), doc.encode("utf-8", "replace") if isinstance(doc, str) else b""


def plain(who: str, name: str, value: Any) -> Any:
    """Converts arguments that override __array_ufunc__; TypeError for ndarrays, which would lose units."""
    override = getattr(type(value), "__array_ufunc__", _OURS)
    if override is _OURS:
        return value
    if override is not None and not isinstance(value, np.ndarray):
        return np.asarray(value)
    why = "sets __array_ufunc__ = None"
    if override is not None:
        why = "has its own __array_ufunc__, which this would bypass"
    raise TypeError(
        f"{who}: argument {name!r}: {type(value).__name__} {why}; wanted a NumPy array, for instance "
        f"np.asarray({name})"
    )


def call(
    function: Any, names: Sequence[str], args: Sequence[Any], words: Mapping[str, Any], has_core: bool
) -> Any:
    """Calls f.ufunc if slices have no dims, which keeps labels, else the function with plain arrays. No other package
    may see a kernel's index operand, which has no memory."""
    has_core = has_core or "_takes_plain" in vars(function)
    who = f"{function.__name__}()"
    positional, outputs = args[: len(names)], args[len(names) :]
    inputs = dict(zip(names, positional, strict=False))
    inputs.update((name, value) for name, value in words.items() if name in names)
    more = {name: value for name, value in words.items() if name not in names}
    asked = next((word for word in more if word in _WORDS), None)
    if not has_core and len(inputs) == len(names) and len(positional) + len(words) == len(names) + len(more):
        try:
            ufunc = function.ufunc
        except AttributeError as error:  # slices use more of a call than a ufunc provides
            if asked is not None:
                raise TypeError(f"{who}: {asked}= is for f.ufunc: {error}") from None
        else:
            return ufunc(*(inputs[name] for name in names), *outputs, **more)
    if asked is not None:
        cure = _WORDS[asked]
        if asked != "where" and hasattr(function, "ufunc"):
            cure += ", or f.ufunc, which takes it"
        raise TypeError(f"{who}: got an unexpected keyword argument {asked!r}; instead: {cure}")
    inputs = {name: plain(who, name, value) for name, value in words.items()}
    every = [*names, *map(str, range(len(names), len(args)))]
    return function(*(plain(who, name, each) for name, each in zip(every, args, strict=False)), **inputs)
