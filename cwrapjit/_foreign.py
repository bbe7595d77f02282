"""Calls functions with arguments that override __array_ufunc__ (pandas columns, xarray's arrays), or with
keywords of ufuncs."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

_OURS: Any = np.ndarray.__array_ufunc__
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


class _Ufunc:
    """The function in place of its ufunc: the casts, extra arguments and debug=True of the function count."""

    signature = None

    def __init__(self, function: Any, nin: int, nout: int, words: Mapping[str, Any]) -> None:
        self.function, self.nin, self.nout, self.words = function, nin, nout, words
        self.__name__ = ufunc_name(function.__name__)

    def __reduce__(self) -> Any:
        return _Ufunc, (self.function, self.nin, self.nout, self.words)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.function.ufunc, name)

    def __call__(self, *args: Any, **words: Any) -> Any:
        if self.nout == 1 and isinstance(words.get("out"), tuple):
            (words["out"],) = words["out"]
        return self.function(*args, **self.words, **words)


def _dispatch(who: str, ufunc: _Ufunc, inputs: Mapping[str, Any], out: Any) -> Any:
    """Asks the arguments to make the call, as NumPy does for a ufunc."""
    outputs = out if isinstance(out, tuple) else () if out is None else (out,)
    words = {"out": outputs} if outputs else {}
    for name, value in (*inputs.items(), *(("out", each) for each in outputs)):
        override = getattr(type(value), "__array_ufunc__", _OURS)
        if override is None:
            return plain(who, name, value)  # raises
        if override is not _OURS:
            made = override(value, ufunc, "__call__", *inputs.values(), **words)
            if made is not NotImplemented:
                return made
    types = ", ".join(type(each).__name__ for each in inputs.values())
    raise TypeError(f"{who}: __array_ufunc__ of the arguments does not take the types {types}")


def call(
    function: Any, names: Sequence[str], args: Sequence[Any], words: Mapping[str, Any], has_core: bool,
    elementwise: bool, nout: int,
) -> Any:  # fmt: skip
    """Lets elementwise functions be called as ufuncs, which keeps labels, and others with plain arrays. No
    other package may see a kernel's index operand, which has no memory."""
    who = f"{function.__name__}()"
    positional, outputs = args[: len(names)], args[len(names) :]
    inputs = dict(zip(names, positional, strict=False))
    inputs.update((name, words[name]) for name in names if name in words)
    more = {name: value for name, value in words.items() if name not in names}
    asked = next((word for word in more if word in _WORDS), None)
    complete = len(inputs) == len(names) and len(positional) + len(words) == len(names) + len(more)
    if complete and elementwise and asked is None and "_takes_plain" not in vars(function):
        out = more.pop("out", tuple(outputs) or None)
        return _dispatch(who, _Ufunc(function, len(names), nout, more), inputs, out)
    if complete and not has_core and asked is not None:
        try:
            ufunc = function.ufunc
        except AttributeError as error:
            raise TypeError(f"{who}: {asked}= is for f.ufunc: {error}") from None
        return ufunc(*(inputs[name] for name in names), *outputs, **more)
    if asked is not None:
        cure = _WORDS[asked]
        if asked != "where" and hasattr(function, "ufunc"):
            cure += ", or f.ufunc, which takes it"
        raise TypeError(f"{who}: got an unexpected keyword argument {asked!r}; instead: {cure}")
    inputs = {name: plain(who, name, value) for name, value in words.items()}
    every = [*names, *map(str, range(len(names), len(args)))]
    return function(*(plain(who, name, each) for name, each in zip(every, args, strict=False)), **inputs)
