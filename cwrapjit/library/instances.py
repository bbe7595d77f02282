"""Provides __init__ of structs and handles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from cwrapjit import _cwrapjit
from cwrapjit._imports import load
from cwrapjit._signature import CText
from cwrapjit.library.names import python_name
from cwrapjit.library.signatures import WORDS


def as_array(self: Any, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    """The struct as a record array without dims, for np.asarray(): a view of its memory."""
    view = self._cwrapjit_view()
    return np.asarray(view, dtype) if copy is None else np.array(view, dtype, copy=copy)


def be_no_number(self: Any) -> Any:
    """NumPy asks for a number when it stores the struct as one item: it knows only tuples there."""
    raise TypeError(
        f"a {type(self).__name__} is no number; a[i] = np.asarray(x) stores it in an array of structs, and "
        "np.stack(list) makes an array of several"
    )


def make_fill(plans: Iterable[Mapping[str, Any]]) -> Any:
    """Makes the __init__ that takes members, by position or by name."""
    inspect = load("inspect")
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    named = {python_name(each["name"]): _annotation(each) for each in plans}
    first = "self_" if "self" in named else "self"
    __init__: Any = _cwrapjit.Initializer(None, False)
    __init__.__signature__ = inspect.Signature(
        [
            inspect.Parameter(first, inspect.Parameter.POSITIONAL_ONLY),
            *(inspect.Parameter(name, kind, default=CText("..."), annotation=x) for name, x in named.items()),
        ]
    )
    return __init__


def _annotation(plan: Mapping[str, Any]) -> Any:
    if plan["kind"] == "array":
        return CText("ArrayLike")
    word = {"buffer": "str", "string": "str"}.get(plan["kind"], "")
    if plan["kind"] in ("scalar", "bits"):
        word = WORDS.get(plan["dtype"], plan["dtype"])
    elif plan["kind"] in ("inside", "pointer"):
        word = getattr(plan["of"], "__name__", "")  # "" is the class itself
    return CText(word) if word else load("inspect").Parameter.empty


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
