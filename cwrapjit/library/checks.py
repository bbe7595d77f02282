"""check=: what becomes of a status."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cwrapjit._cwrapjit import LibraryFunction
from cwrapjit.library import types
from cwrapjit.library.declarations import FunctionDeclaration, ParameterDeclaration
from cwrapjit.library.options import Options


def checker(library: Any, who: str, check: Any) -> Callable[[int], None]:
    """The function of a status that raises or returns None. check is one of

    * a function of the status, which raises if it wants to, or returns an exception that is raised then (what
      else it returns is ignored),
    * the name of the library's message function, or that function as lib.function() returned it:
      const char *message(int status); a status that is not 0 is a RuntimeError with its text,
    * an exception class: it is raised with the status in its text,
    * (exception class, message function): both.
    """
    exception: Any = RuntimeError
    message = check
    if isinstance(check, tuple) and len(check) == 2:
        exception, message = check
    elif isinstance(check, type):
        exception, message = check, None
    if not (isinstance(exception, type) and issubclass(exception, BaseException)):
        raise TypeError(f"{who}: check: {exception!r} is no exception class")
    if isinstance(message, str):
        message = _message_function(library, message)
    elif message is not None and not callable(message):
        raise TypeError(f"{who}: check must be a function, a message function's name or an exception class")
    if message is check and not isinstance(check, (str, LibraryFunction)):
        called: Callable[[int], Any] = check

        def by_function(status: int) -> None:
            told = called(status)
            if isinstance(told, BaseException):
                raise told

        return by_function

    def by_message(status: int) -> None:
        if status:
            text = f"status {status}" if message is None else message(status)
            raise exception(f"{who}: {text}")

    return by_message


def _message_function(library: Any, name: str) -> Any:
    """The declared function of this name, in header= if not by itself, else const char *name(int)."""
    if name in library.mapped:
        return library.attribute(name)
    declared = library.header_function(name)
    if declared is not None:
        return library.make(declared, Options(), keep=False)
    text = types.Pointer(types.Scalar("char", "int8"), const=True)
    return library.make(
        FunctionDeclaration(name, text, [ParameterDeclaration("status", types.INT)]), Options(), keep=False
    )
