"""Calls one of several C functions by the types of the arguments. Here an int is no float, a bool no int."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterable
from typing import Any

from cwrapjit._content import Shown
from cwrapjit._cwrapjit import LibraryFunction


class Interface(Shown):
    """Calls the first of its functions that takes arguments of the given types."""

    def __init__(self, name: str, qualname: str, functions: Iterable[Any], doc: str | None) -> None:
        self.functions = tuple(functions)
        if not self.functions:
            raise ValueError(f"{qualname}: an interface needs functions")
        for each in self.functions:
            if not isinstance(each, LibraryFunction):
                raise TypeError(f"{qualname}: an interface is made of functions of libraries, not {each!r}")
        self.__name__ = name
        self.__qualname__ = qualname
        shown = "\n".join(str(each.__doc__ or each.__name__).partition("\n")[0] for each in self.functions)
        self.__doc__ = shown if doc is None else doc

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        for function in self.functions:
            fits = function._fits(*args, **kwargs)
            if fits is not None and all(fits):
                return function(*args, **kwargs)
        raise self._refusal(args, kwargs)

    def _refusal(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> TypeError:
        """Says which argument no function takes, or that none takes all of them together."""
        verdicts = []
        for function in self.functions:
            fits = function._fits(*args, **kwargs)
            if fits is not None:
                signature = inspect.signature(function)
                given = signature.bind(*args, **kwargs).arguments
                verdicts.append(
                    (given, {n for n, fit in zip(signature.parameters, fits, strict=True) if not fit})
                )
        if not verdicts:
            try:
                self.functions[0](*args, **kwargs)
            except TypeError as error:
                return TypeError(f"{self.__qualname__}(): {str(error).partition('(): ')[2]}")
        given = verdicts[0][0]
        never = [name for name in given if all(name in wrong for _, wrong in verdicts)]
        if never:
            got = type(given[never[0]]).__name__
            return TypeError(f"{self.__qualname__}(): Unexpected type for argument {never[0]}, got {got}")
        shown = ", ".join(type(value).__name__ for value in (*args, *kwargs.values()))
        return TypeError(f"{self.__qualname__}(): Unexpected type combination: ({shown})")

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __getattr__(self, name: str) -> Any:
        """Makes __signature__. It names the arguments only if all functions have the same names."""
        if name != "__signature__" or "functions" not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        found = [inspect.signature(each) for each in self.functions]
        if len({tuple(each.parameters) for each in found}) == 1:
            plain = [each.replace(annotation=each.empty) for each in found[0].parameters.values()]
            return inspect.Signature(plain)
        kind = inspect.Parameter
        return inspect.Signature([kind("args", kind.VAR_POSITIONAL), kind("kwargs", kind.VAR_KEYWORD)])

    def __repr__(self) -> str:
        name, functions = vars(self).get("__qualname__", "without name"), vars(self).get("functions", ())
        return f"<interface {name} of {len(functions)} functions>"
