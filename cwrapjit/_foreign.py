"""Calls functions with arguments that override __array_ufunc__: pandas columns, xarray's arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

_OURS = np.ndarray.__array_ufunc__


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
    """Calls f.ufunc if slices have no dims, which keeps labels, else the function with plain arrays."""
    inputs = dict(zip(names, args, strict=False))
    inputs.update((name, value) for name, value in words.items() if name in names)
    more = {name: value for name, value in words.items() if name not in names}
    if not has_core and len(inputs) == len(names) and len(args) + len(words) == len(names) + len(more):
        try:
            ufunc = function.ufunc
        except AttributeError:  # slices use more of a call than a ufunc provides
            pass
        else:
            return ufunc(*(inputs[name] for name in names), **more)
    who = f"{function.__name__}()"
    inputs = {name: plain(who, name, value) for name, value in words.items()}
    every = [*names, *map(str, range(len(names), len(args)))]
    return function(*(plain(who, name, each) for name, each in zip(every, args, strict=False)), **inputs)
