"""Provides __init__ of structs and handles."""

from __future__ import annotations

from typing import Any

import numpy as np

from cwrapjit import _cwrapjit
from cwrapjit._imports import load


def as_array(self: Any, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    """The struct as a record array without dims, for np.asarray(): a view of its memory."""
    return np.array(self._cwrapjit_view(), dtype, copy=copy)


def be_no_number(self: Any) -> Any:
    """NumPy asks for a number when it stores the struct as one item: it knows only tuples there."""
    raise TypeError(
        f"a {type(self).__name__} is no number; a[i] = np.asarray(x) stores it in an array of structs, and "
        "np.stack(list) makes an array of several"
    )


fill_members = _cwrapjit.Initializer(None, False)


def come_from_functions(self: Any, /, *args: Any, **kwargs: Any) -> None:
    """Objects of this type are made by C functions."""
    cls = type(self)
    raise TypeError(
        f"{cls.__name__} objects come from functions of {cls.__module__}, not from {cls.__name__}()"
    )


def without_end(self: Any, /, *args: Any, **kwargs: Any) -> None:
    """Objects of this type come from C functions: nothing says how long their last array is."""
    cls = type(self)
    raise TypeError(
        f"{cls.__name__}() would have no memory for its last member, an array whose length nothing says: "
        f"such objects come from functions of {cls.__module__}"
    )


def make_init(function: Any, adopts: bool) -> Any:
    __init__: Any = _cwrapjit.Initializer(function, adopts)
    __init__.__doc__ = function.__doc__
    parameters = function.__signature__.parameters.values()
    signature = function.__signature__
    if adopts:
        inspect = load("inspect")
        first = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
        signature = signature.replace(parameters=[first, *parameters])
    __init__.__signature__ = signature.replace(return_annotation=None)
    return __init__
