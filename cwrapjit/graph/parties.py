"""Calls methods of types and ops, and checks what they return.

Methods may take check_input and c_compiler or not: these are passed if the signature has room for them, never
by trying. An exception raised inside is passed on, with a note that names the method and its place."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any, NoReturn

from cwrapjit._errors import add_note
from cwrapjit._imports import load
from cwrapjit.graph.base import Op
from cwrapjit.graph.labels import class_of

MISSING: Any = object()
Piece = tuple[str, str]  # C text, and its name: "<cwrapjit Add.c_code of z>"
NOTHING: Piece = ("", "")

# Methods that are not called if they are missing or inherited from the base classes.
_OPTIONAL = (
    "c_headers", "c_header_dirs", "c_libraries", "c_lib_dirs", "c_compile_args", "c_no_compile_args",
    "c_support_code", "c_init_code", "c_compiler", "c_code_cleanup", "c_support_code_apply", "c_element_code",
    "c_support_code_struct", "c_init_code_struct", "c_cleanup_code_struct", "c_init_code_apply",
)  # fmt: skip
_PLAIN: Any = object.__getattribute__
_DEFAULTS = {name: getattr(Op, name, None) for name in _OPTIONAL}


def taken(function: Callable[..., Any]) -> tuple[int, bool, bool, tuple[str, ...]]:
    """Return the number of positional parameters, if there are *args and **kwargs, and the other names."""
    bound = isinstance(function, MethodType)
    plain: Any = function.__func__ if isinstance(function, MethodType) else function
    if not isinstance(plain, FunctionType) or hasattr(plain, "__wrapped__"):
        return load("cwrapjit._signature").taken(function)  # type: ignore[no-any-return]
    code = plain.__code__
    names = code.co_varnames[bound : code.co_argcount + code.co_kwonlyargcount]
    positional = max(code.co_argcount - bound, 0)
    return positional, bool(code.co_flags & 4), bool(code.co_flags & 8), names


def takes_parameters(perform: Callable[..., Any]) -> bool:
    """Return True if perform() can take a fourth argument."""
    positional, more, _, _ = taken(perform)
    return more or positional >= 4


def flag(owner: Any, name: str, fallback: bool = False) -> bool:
    """Return whether the attribute, or the result if it is a method, is true."""
    value = getattr(owner, name, fallback)
    return bool(value() if callable(value) and not isinstance(value, type) else value)


def _silent_methods(cls: type) -> frozenset[str]:
    """Return the optional methods that a class does not define. (Its objects may, as attributes.)"""
    if cls.__getattribute__ is not _PLAIN or hasattr(cls, "__getattr__"):
        return frozenset()
    return frozenset(
        [name for name, default in _DEFAULTS.items() if getattr(cls, name, None) in (None, default)]
    )


class Party:
    """A type or an op, and how to ask it."""

    __slots__ = ("_silent", "about", "is_op", "known", "object", "piece")

    def __init__(self, object: Any, about: str, is_op: bool, known: dict[Any, Any], piece: str) -> None:
        self.object = object
        self.about = about  # the variable in messages, "x", or the node, "Add(x, y)"
        self.is_op = is_op
        self.known = known  # what functions take, and silent methods of classes, for one link()
        self.piece = piece  # the object of a text, in the text's name: "x", "z"
        self._silent: frozenset[str] | None = None

    def silent(self) -> frozenset[str]:
        """Return the methods that need not be asked."""
        if self._silent is None:
            cls = type(self.object)
            found: frozenset[str] | None = self.known.get(id(cls))
            if found is None:
                found = self.known[id(cls)] = _silent_methods(cls)
            own = getattr(self.object, "__dict__", ())
            apart = found.isdisjoint(own) and not isinstance(self.object, type)
            self._silent = found if apart else frozenset()
        return self._silent

    def ask(
        self,
        method: str,
        arguments: tuple[Any, ...] = (),
        required: bool = False,
        extra: tuple[str, Any] | None = None,
    ) -> Any:
        """Return the answer, or MISSING if there is no such method or it raises NotImplementedError. extra:
        name and value of an argument that the method may take or not."""
        try:
            found = getattr(self.object, method, None)
            if callable(found):
                return found(*arguments) if extra is None else self._call(found, arguments, *extra)
        except BaseException as error:
            ours = isinstance(error, NotImplementedError)
            # Theano's successors have their own class for this.
            if required if ours else type(error).__name__ != "MethodNotDefined":
                self.note(error, method)
                raise
            found = None
        if found is not None:
            self.refuse(method, TypeError, f"must be a method, not {type(found).__name__}")
        if required:
            kind, what = ("op", "") if self.is_op else ("type", "variable ")
            raise NotImplementedError(
                f"link(): {kind} {class_of(self.object)} has no {method}, which {what}{self.about} needs"
            )
        return MISSING

    def _call(self, found: Any, arguments: tuple[Any, ...], name: str, value: Any) -> Any:
        key: Any = found.__func__ if type(found) is MethodType else found
        if type(key) is FunctionType:
            room = self.known.get(key)
            if room is None:
                room = self.known[key] = taken(found)
        else:
            room = taken(found)
        positional, _, any_name, names = room
        if any_name or name in names:
            return found(*arguments, **{name: value})
        if name == "check_input" and positional > len(arguments):  # by any name
            return found(*arguments, value)
        return found(*arguments)

    def text(
        self,
        method: str,
        arguments: tuple[Any, ...] = (),
        required: bool = False,
        extra: tuple[str, Any] | None = None,
    ) -> Piece | None:
        """Return a text, or None if there is none and none is required."""
        answer = self.ask(method, arguments, required, extra)
        if answer is MISSING or (answer is None and not required):
            return None
        if not issubclass(type(answer), str):
            self.refuse(method, TypeError, f"must return a str, not {type(answer).__name__}")
        text = str.__str__(answer)
        if not text:
            return NOTHING
        if not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError as error:
                self.note(error, method)
                raise
        return text, f"<cwrapjit {class_of(self.object)}.{method} of {self.piece}>"

    def optional(self, method: str, arguments: tuple[Any, ...] = ()) -> Piece:
        return NOTHING if method in self.silent() else self.text(method, arguments) or NOTHING

    # ---- messages

    def _subject(self, method: str) -> str:
        """Return "c_code of Add(x, y)", "c_extract of Double, variable x"."""
        return (
            f"{method} of {self.about if self.is_op else f'{class_of(self.object)}, variable {self.about}'}"
        )

    def _place(self, method: str) -> str:
        """Return " (types.py, line 12)", or "" for a method that is not written in Python."""
        found = getattr(self.object, method, None)
        function: Any = found.__func__ if isinstance(found, MethodType) else found
        if not isinstance(function, FunctionType):
            return ""
        return f" ({function.__code__.co_filename}, line {function.__code__.co_firstlineno})"

    def refuse(self, method: str, error: type[Exception], text: str) -> NoReturn:
        raise error(f"link(): {self._subject(method)} {text}{self._place(method)}")

    def note(self, error: BaseException, method: str) -> None:
        try:
            add_note(error, f"in {self._subject(method)}{self._place(method)}")
        except Exception:  # the original error matters, not one of the note
            pass
