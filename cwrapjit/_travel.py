"""Pickles and hashes of what is compiled: C text and options, compiled again where a pickle is loaded.

A pickle is load(FORMAT, version, kind, content). What one process has loaded or pickled is found again by
its content for as long as somebody holds it, so that it is compiled once. Functions of a module share its
sources' variables; so do those that pickles bring.
"""

from __future__ import annotations

import hashlib
import os
import threading
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from cwrapjit import _cwrapjit
from cwrapjit._errors import CompileError
from cwrapjit._imports import load as imported

FORMAT = 1  # of what load() takes; higher where older versions could not read it

# Held while something is made of a pickle, so that two threads make one. A fork waits for it.
_turn = threading.RLock()
os.register_at_fork(before=_turn.acquire, after_in_parent=_turn.release, after_in_child=_turn.release)
_known: weakref.WeakValueDictionary[bytes, Any] = weakref.WeakValueDictionary()
# By the digest of an environment, those who have it.
_holders: dict[bytes, list[weakref.ref[Any]]] = {}


class Definition(NamedTuple):
    """What definition_of() says of a function, and what a pickle of one has."""

    module: str | None
    environment: tuple[Any, ...]  # header and the lists of the C side
    options: dict[str, Any]
    arguments: dict[str, Any]


# ---- pickles ---------------------------------------------------------------------------------------------


def reduced(thing: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """What __reduce__() of a function returns."""
    found = _definition(thing)
    with _turn:
        _remember(digest(thing), thing)
        _hold(found, thing)
    return load, (FORMAT, _cwrapjit.__version__, "function", tuple(found))


def load(*parts: Any) -> Any:
    """What a pickle brings: the object that this process has of it, or a new one, compiled now."""
    if len(parts) != 4 or type(parts[0]) is not int or type(parts[1]) is not str:
        raise ValueError(
            f"cwrapjit {_cwrapjit.__version__}: a pickle is damaged: it does not say its version"
        )
    format, version, kind, content = parts
    if format > FORMAT:
        raise ValueError(
            f"a pickle of cwrapjit {version} cannot be loaded by cwrapjit {_cwrapjit.__version__}, which is "
            f"older: its format is {format}, and formats up to {FORMAT} are known"
        )
    make = _MAKERS.get(kind) if isinstance(kind, str) else None
    if make is None or format < 1:
        raise _damaged(version, f"there is no kind {kind!r} of format {format}")
    with _turn:
        return make(version, content)


def _damaged(version: str, why: str) -> ValueError:
    return ValueError(f"a pickle of cwrapjit {version} is damaged: {why}")


def _load_function(version: str, content: Any) -> Any:
    found = _checked(version, content)
    key = _digest("function", found)
    function = _known.get(key)
    if function is None:
        function = _define(version, found)
        _remember(key, function)
    _hold(found, function)
    return function


def _checked(version: str, content: Any) -> Definition:
    types: tuple[Any, ...] = ((str, type(None)), tuple, dict, dict)
    if type(content) is not tuple or len(content) != len(types):
        raise _damaged(version, "a function has four parts")
    for name, value, wanted in zip(Definition._fields, content, types, strict=True):
        if not isinstance(value, wanted):
            raise _damaged(version, f"{name} of a function is of type {type(value).__name__}")
    found = Definition(*content)
    for name, option in (*found.options.items(), *found.arguments.items()):
        if not isinstance(name, str):
            raise _damaged(version, f"{name!r} is no name of an argument ({option!r})")
    sets = found.arguments.get("Ccode_slice_eval")
    if type(sets) is not tuple or not all(type(each) is tuple and len(each) == 2 for each in sets):
        raise _damaged(version, "Ccode_slice_eval holds no pairs of types and text")
    header, lists = found.environment if len(found.environment) == 2 else (None, None)
    if type(header) is not str or type(lists) is not tuple or len(lists) != 5:
        raise _damaged(version, "the environment is no header with five lists")
    if not all(type(each) is tuple for each in lists):
        raise _damaged(version, "the environment's lists are no tuples")
    return found


def _define(version: str, found: Definition) -> Any:
    arguments = {**found.arguments, **found.options}
    name = arguments.get("name")
    who = f"{found.module}.{name}" if found.module is not None else f"{name}"
    try:
        arguments["Ccode_slice_eval"] = dict(arguments["Ccode_slice_eval"])
        return _cwrapjit.define_again(found.module, found.environment, _holder(found), arguments)
    except CompileError as error:
        error.msg = f"{who}(), from a pickle of cwrapjit {version}, does not compile here: {error.msg}"
        raise
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{who}() cannot be made from a pickle of cwrapjit {version}: {error}") from error


_MAKERS: dict[str, Callable[[str, Any], Any]] = {"function": _load_function}

# ---- what this process has -------------------------------------------------------------------------------


def _remember(key: bytes, thing: Any) -> None:
    _known.setdefault(key, thing)


def _environment_key(found: Definition) -> bytes | None:
    """None: a function without a module, which has it for itself."""
    return None if found.module is None else _digest("environment", (found.module, found.environment))


def _hold(found: Definition, thing: Any) -> None:
    key = _environment_key(found)
    if key is None:
        return
    holders = _holders.setdefault(key, [])
    if all(each() is not thing for each in holders):

        def forget(gone: weakref.ref[Any]) -> None:
            left = _holders.get(key, [])
            if gone in left:
                left.remove(gone)
            if not left:
                _holders.pop(key, None)

        holders.append(weakref.ref(thing, forget))


def _holder(found: Definition) -> Any:
    key = _environment_key(found)
    for each in list(_holders.get(key, ())) if key is not None else ():
        thing = each()
        if thing is not None:
            return thing
    return None


# ---- content ---------------------------------------------------------------------------------------------


def digest(thing: Any) -> bytes:
    """Bytes that things of the same content have in common."""
    return _digest("function", _definition(thing))


def token(thing: Any) -> tuple[str, str]:
    """What __dask_tokenize__() returns: the same in each process."""
    return type(thing).__name__, digest(thing).hex()


def _definition(function: Any) -> Definition:
    return Definition(*_cwrapjit.definition_of(function))


def _digest(kind: str, content: Any) -> bytes:
    text = repr((kind, _plain(content)))
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _plain(value: Any) -> Any:
    """The value as something whose repr() says all of it, and the same in each process."""
    if value is None or type(value) in (str, bytes, bool, int, float, complex):
        return value
    if isinstance(value, (tuple, list)):
        return tuple(_plain(each) for each in value)
    if isinstance(value, dict):
        return "dict", sorted((repr(_plain(key)), _plain(each)) for key, each in value.items())
    if isinstance(value, np.dtype):
        return "dtype", _written(value)
    if isinstance(value, (np.generic, np.ndarray)) and not value.dtype.hasobject:
        array = np.asarray(value)
        return type(value).__name__, _written(array.dtype), array.shape, array.tobytes()
    if isinstance(value, str):
        return str.__str__(value)
    return type(value).__qualname__, imported("pickle").dumps(value, 4)


def _written(dtype: np.dtype[Any]) -> str:
    return dtype.str if dtype.names is None else imported("cwrapjit._records").expression_of(dtype)
