"""What the classes of structs and handles are made of, apart from members: initialisers and methods."""

from __future__ import annotations

import dataclasses
from typing import Any

from cwrapjit import _cwrapjit
from cwrapjit._imports import load

fill_members = _cwrapjit.Initializer(None, False)


def come_from_functions(self: Any, /, *args: Any, **kwargs: Any) -> None:
    """Objects of this type are made by C functions."""
    cls = type(self)
    raise TypeError(
        f"{cls.__name__} objects come from functions of {cls.__module__}, not from {cls.__name__}()"
    )


def without_end(self: Any, /, *args: Any, **kwargs: Any) -> None:
    """Objects of a type whose last array is as long as their memory."""
    cls = type(self)
    raise TypeError(
        f"{cls.__name__}() would have no memory for its last member, an array whose length nothing says: "
        f"such objects come from functions of {cls.__module__}"
    )


@dataclasses.dataclass
class Keeps:
    """keeps=: arguments of a method that C points to afterwards; the instance keeps them alive."""

    names: tuple[str, ...]
    copied: frozenset[str] = frozenset()  # structs by value: C keeps a copy of their pointers
    replaces: bool = False  # a property's setter: what was kept before is dropped

    def find(self, function: Any) -> list[tuple[str, int]]:
        """Names and positions."""
        names = list(function.__signature__.parameters) if self.names else []
        found = []
        for name in self.names:
            own = name if name in names else f"{name}_"  # C's name, or Python's: in and in_
            if own not in names:
                raise ValueError(f"{function.__qualname__}(): keeps= names {name}, which is no argument")
            found.append((own, names.index(own)))
        return found

    def keep(
        self, found: list[tuple[str, int]], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        """After a call with these arguments."""
        for name, position in found:
            value = args[position] if position < len(args) else kwargs.get(name)
            if value is not None or self.replaces:
                which = id(self) + position if self.replaces else 0
                _cwrapjit.keep(instance, value, name in self.copied, which)


def _then_keep(begin: Any, keeps: Keeps, found: list[tuple[str, int]], with_self: bool) -> Any:
    def __init__(self: Any, /, *args: Any, **kwargs: Any) -> None:
        begin(self, *args, **kwargs)
        keeps.keep(found, self, (self, *args) if with_self else args, kwargs)

    return __init__


def make_init(function: Any, adopts: bool, keeps: Keeps) -> Any:
    __init__: Any = _cwrapjit.Initializer(function, adopts)
    if keeps.names:
        __init__ = _then_keep(__init__, keeps, keeps.find(function), with_self=not adopts)
    __init__.__doc__ = function.__doc__
    parameters = function.__signature__.parameters.values()
    signature = function.__signature__
    if adopts:
        inspect = load("inspect")
        first = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
        signature = signature.replace(parameters=[first, *parameters])
    __init__.__signature__ = signature.replace(return_annotation=None)
    return __init__


def keeping(function: Any, keeps: Keeps) -> Any:
    """A method after which C points to some of its arguments."""
    found = keeps.find(function)

    def method(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        result = function(self, *args, **kwargs)
        keeps.keep(found, self, (self, *args), kwargs)
        return result

    method.__name__ = function.__name__
    method.__qualname__ = function.__qualname__
    method.__doc__ = function.__doc__
    method.__signature__ = function.__signature__  # type: ignore[attr-defined]
    return method
