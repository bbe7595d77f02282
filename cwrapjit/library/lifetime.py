"""Begins and ends a library: init= runs once, exec= after it, free= when nothing of the library is left."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

from cwrapjit._cwrapjit import Instance, Layout, instance_at
from cwrapjit.library import types
from cwrapjit.library.declarations import FunctionDeclaration
from cwrapjit.library.library import Core
from cwrapjit.library.options import Options
from cwrapjit.library.thunks import Unmapped

_LOCK = threading.Lock()
_BEGUN: dict[int, int] = {}  # address of an init function -> number of libraries that use it


class Lifetime(Instance):
    """Everything that needs the library's code keeps this object; its end is the library's. As an Instance it
    owns structs in the library's memory, and keeps what their pointers point to. It has no memory itself."""

    __slots__ = ("unit",)
    __cwrapjit_layout__ = Layout("the library", "", 0, 1, None)

    unit: Any


# Owns memory of shared libraries, which may outlive our library objects, or belong to several of them.
_SHARED = instance_at(Lifetime, 1)


def begin(library: Core, init: object, free: object) -> Lifetime:
    """Runs init, unless another library object of the same C library has run it, and registers free."""
    lifetime: Lifetime = instance_at(Lifetime, 1, None if library.code.is_compiled else _SHARED)
    lifetime.unit = library.code.environment
    start = None if init is None else _function(library, "init", init, types.Void())
    end = None if free is None else _function(library, "free", free, types.Void())
    key = start.address if start is not None else end.address if end is not None else 0
    if key:
        with _LOCK:
            count = _BEGUN.get(key, 0)
            if count == 0 and start is not None:
                _run(start)
            _BEGUN[key] = count + 1
        weakref.finalize(lifetime, _finish, key, end, library.code.environment)
    return lifetime


def _finish(key: int, end: Callable[[], Any] | None, unit: Any) -> None:
    """Calls end after the last library object. unit: keeps the code until then."""
    with _LOCK:
        _BEGUN[key] -= 1
        if _BEGUN[key] == 0:
            del _BEGUN[key]
            if end is not None:
                end()


def execute(shown: Any, library: Core, exec: Any) -> None:
    """Runs exec=: the name of a C function that returns an int, or a Python function, called with `shown`."""
    if isinstance(exec, str):
        _run(_function(library, "exec", exec, types.INT))
    elif callable(exec):
        exec(shown)
    else:
        raise TypeError(
            f"library({library.name!r}): exec must be a function or its name, not {type(exec).__name__}"
        )


def _run(function: Any) -> None:
    status = function()
    if status:
        raise RuntimeError(f"{function.__qualname__}() failed: it returned {status}")


def _function(library: Core, option: str, given: object, result: Any) -> Any:
    """Makes the C function that an option gives, by its name or by its declaration."""
    who = f"library({library.name!r})"
    if not isinstance(given, str):
        raise TypeError(f"{who}: {option} must be the name of a C function, not {type(given).__name__}")
    found = library.declarations.header_function(given)
    if "(" in given:
        text = given.rstrip().rstrip(";") + ";"
        found = next(iter(library.declarations.read(text, f"<{library.name} {option}>").functions), None)
    found = found or FunctionDeclaration(given, result, [])
    if found.parameters or not isinstance(found.result, (types.Void, types.Scalar)):
        raise ValueError(f"{who}: {option} must name a function without parameters that returns int or void")
    try:
        return library.make(found, Options(), keep=False)
    except Unmapped as reason:
        raise ValueError(f"{who}: {option}: {found.name}(): {reason}") from None
