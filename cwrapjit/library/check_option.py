"""Implements check=, which handles a status, or NULL where a pointer was expected.

check= is one of

* a function of the status: it raises, or returns an exception or class to raise; other results are ignored,
* the library's message function: its name, or what lib.function() returned. A status other than 0 raises a
  RuntimeError with its text. "name(db)" passes this argument of the call, "name(ctx, status)" both,
* an exception class, which is raised with the status in its text,
* (exception class, message function): both,
* "negative": a status below 0 raises a RuntimeError,
* {code: one of these}, for these statuses alone; the code "negative" stands for all others below 0.

If check= accepts statuses other than 0, the status is a result. OSError and its subclasses without a message
function read errno: -1 and NULL are failures, which have its text; all other values are results. A status
behind a pointer says itself what failed; OSError is then a class like any other. The check of a pointer is
called for NULL alone, with None.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Any

from cwrapjit._cwrapjit import LibraryFunction
from cwrapjit.library import types
from cwrapjit.library.declarations import FunctionDeclaration, ParameterDeclaration
from cwrapjit.library.library import Core
from cwrapjit.library.options import Options

_CALL = re.compile(r"\s*([A-Za-z_]\w*)\s*(?:\(([\w\s,]*)\))?\s*")


class Check:
    """A check= that has been read."""

    def __init__(
        self, library: Core, who: str, check: Any, c_name: str, status: Any, is_returned: bool = True
    ) -> None:
        """who: "zlib.compress()"; status: its type. C returns it, or (not is_returned) stores it."""
        self.library, self.who, self.c_name, self.is_returned = library, who, c_name, is_returned
        self.is_pointer = isinstance(status, types.Pointer)
        self.exception: Any = RuntimeError
        self.message: Any = None
        self.given: tuple[str, ...] = ()  # what the message function gets: names of parameters, "status"
        self.by_function: Any = None
        self.codes: dict[Any, Check] = {}
        check = {"negative": RuntimeError} if isinstance(check, str) and check == "negative" else check
        if isinstance(check, Mapping):
            self._read_codes(check, status)
            return
        if isinstance(check, tuple) and len(check) == 2:
            self.exception, check = check
            if check is None:
                raise TypeError(f"{who}: check: (exception, message function) lacks the message function")
        elif isinstance(check, type):
            self.exception, check = check, None
        if not (isinstance(self.exception, type) and issubclass(self.exception, BaseException)):
            raise TypeError(f"{who}: check: {self.exception!r} is no exception class")
        if isinstance(check, str):
            self._read_message(check)
        elif check is not None and not callable(check):
            raise TypeError(
                f"{who}: check must be a function, a message function's name or an exception class"
            )
        elif check is not None and (self.exception is not RuntimeError or isinstance(check, LibraryFunction)):
            self.message, self.given = check, ("status",)
        else:
            self.by_function = check
        self.reads_errno = is_returned and issubclass(self.exception, OSError) and self.message is None
        if self.is_pointer and "status" in self.given:
            raise ValueError(
                f"{who}: check: it returns a pointer, whose NULL is no status that a message function could "
                "explain; check=MemoryError, OSError or a function is for pointers"
            )
        self.good = "from zero" if self.reads_errno else "" if self.by_function is not None else "zero"
        self.good = "there" if self.is_pointer else self.good

    def _read_codes(self, checks: Mapping[Any, Any], status: Any) -> None:
        if not checks or not isinstance(status, types.Scalar):
            raise ValueError(f"{self.who}: check: codes are of an integer status, {checks!r} says none")
        for code, check in checks.items():
            if code != "negative" and (isinstance(code, bool) or not isinstance(code, int)):
                raise TypeError(f'{self.who}: check: {code!r} is no status: an int or "negative" is one')
            if not status.is_signed and (code == "negative" or code < 0):
                raise ValueError(f"{self.who}: check: {types.show(status)} is never negative")
            self.codes[code] = Check(self.library, self.who, check, self.c_name, status, self.is_returned)
        self.given = tuple(dict.fromkeys(name for each in self.codes.values() for name in each.given))
        self.reads_errno = any(each.reads_errno for each in self.codes.values())
        self.good = "from zero" if all(code == "negative" or code < 0 for code in self.codes) else ""

    def _read_message(self, text: str) -> None:
        found = _CALL.fullmatch(text)
        if found is None:
            raise ValueError(f'{self.who}: check: {text!r} should be "name" or "name(argument, status)"')
        name, given = found[1], found[2]
        if name == self.c_name:
            raise ValueError(f"{self.who}: check: {name}() cannot explain itself")
        self.given = ("status",) if given is None else tuple(each.strip() for each in given.split(","))
        self.given = () if self.given == ("",) else self.given
        self.message = _message_function(self.library, self.who, name, given is None)

    def arguments(self) -> tuple[str, ...]:
        """Returns the C names of the parameters that the check gets."""
        return tuple(each for each in self.given if each != "status")

    def described(self, places: Mapping[str, int]) -> dict[str, Any]:
        """Returns entries of description.Function. places: C parameter -> index of the argument, or -1."""
        for each in self.arguments():
            if places.get(each, -1) < 0:
                raise ValueError(
                    f"{self.who}: check: {each} is no argument of a call; they are: "
                    f"{', '.join(name for name, place in places.items() if place >= 0) or 'none'}, and status"
                )
        return {
            "check": self.function(), "good": self.good, "reads_errno": self.reads_errno,
            "checked": tuple(places[each] for each in self.arguments()),
        }  # fmt: skip

    def function(self) -> Callable[..., None]:
        """Returns the callable that csrc/library calls."""
        exception, who, message, given = self.exception, self.who, self.message, self.given
        if self.codes:
            return self._by_code()
        if self.by_function is not None:
            return _raising(self.by_function)
        if self.reads_errno:

            def by_errno(status: int | None, error: int) -> None:
                value = "NULL" if status is None else f"status {status}"
                if not error:
                    raise exception(f"{who}: {value}, and errno does not say why")
                raise exception(error, f"{who}: {os.strerror(error)}")

            return by_errno

        def by_message(status: int | None, *arguments: Any) -> None:
            if message is None:
                raise exception(f"{who}: {'NULL' if status is None else f'status {status}'}")
            others = iter(arguments)
            told = message(*(status if each == "status" else next(others) for each in given))
            text = told if isinstance(told, str) and told else f"status {status}" if told is None else told
            if issubclass(exception, OSError) and status is not None:
                raise exception(status, f"{who}: {text}")
            raise exception(f"{who}: {text}")

        return by_message

    def _by_code(self) -> Callable[..., None]:
        behind = 1 + self.reads_errno  # the arguments follow status and errno
        places = {name: behind + i for i, name in enumerate(self.arguments())}
        checks = {
            code: (each.function(), [1] * each.reads_errno + [places[name] for name in each.arguments()])
            for code, each in self.codes.items()
        }

        def by_code(*told: Any) -> None:
            found = checks.get(told[0], checks.get("negative") if told[0] < 0 else None)
            if found is not None:
                found[0](told[0], *(told[place] for place in found[1]))

        return by_code


def _raising(called: Callable[[int | None], Any]) -> Callable[[int | None], None]:
    def by_function(status: int | None) -> None:
        told = called(status)
        if isinstance(told, BaseException) or (isinstance(told, type) and issubclass(told, BaseException)):
            raise told

    return by_function


def _message_function(library: Core, who: str, name: str, by_status: bool) -> Any:
    """Returns the declared function, if necessary header='s, or else const char *name(int)."""
    try:
        found = library.attribute(name)
    except AttributeError:
        found = None
    if callable(found):
        return found
    if library.variable_at(name):
        raise library.code.is_no_function(name, f"{who}: check")
    declared = library.declarations.header_function(name)
    if declared is None and not by_status:
        raise ValueError(f"{who}: check: {name}() is not declared, so nothing says what it takes")
    if declared is None:
        text = types.Pointer(types.Scalar("char", "int8"), const=True)
        declared = FunctionDeclaration(name, text, [ParameterDeclaration("status", types.INT)])
    return library.make(declared, Options(), keep=False)
