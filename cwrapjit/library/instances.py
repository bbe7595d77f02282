"""What the classes of structs and handles are made of, apart from members: initialisers and methods."""

from __future__ import annotations

from typing import Any

from cwrapjit import _cwrapjit


def fill_members(self: Any, /, *args: Any, **kwargs: Any) -> None:
    """Members by position or by name; the rest is zero."""
    cls = type(self)
    names = cls.__match_args__
    if len(args) > len(names):
        raise TypeError(f"{cls.__name__}() takes at most {len(names)} arguments ({len(args)} given)")
    for name in names[: len(args)]:
        if name in kwargs:
            raise TypeError(f"{cls.__name__}() got multiple values for argument {name!r}")
    kwargs.update(zip(names, args, strict=False))
    for name, value in kwargs.items():
        if name not in names:
            raise TypeError(f"{cls.__name__}() got an unexpected keyword argument {name!r}")
        _set_member(self, name, value)


def _set_member(self: Any, name: str, value: Any) -> None:
    import numpy

    now = getattr(self, name) if not isinstance(value, (str, bytes)) else None
    if isinstance(now, numpy.ndarray):
        now[...] = value
    else:
        setattr(self, name, value)


def come_from_functions(self: Any, /, *args: Any, **kwargs: Any) -> None:
    """Objects of this type are made by C functions."""
    cls = type(self)
    raise TypeError(
        f"{cls.__name__} objects come from functions of {cls.__module__}, not from {cls.__name__}()"
    )


def make_init(function: Any, adopts: bool, keeps: tuple[str, ...]) -> Any:
    positions = _positions(function, keeps)

    def __init__(self: Any, /, *args: Any, **kwargs: Any) -> None:
        _cwrapjit.construct(self, function, args, kwargs, adopts)
        for name, position in positions:
            _keep(self, name, position, args if adopts else (self, *args), kwargs)

    __init__.__doc__ = function.__doc__
    parameters = function.__signature__.parameters.values()
    signature = function.__signature__
    if adopts:
        import inspect

        first = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
        signature = signature.replace(parameters=[first, *parameters])
    __init__.__signature__ = signature.replace(return_annotation=None)  # type: ignore[attr-defined]
    return __init__


def _positions(function: Any, keeps: tuple[str, ...]) -> list[tuple[str, int]]:
    names = list(function.__signature__.parameters) if keeps else []
    for name in keeps:
        if name not in names:
            raise ValueError(f"{function.__qualname__}(): keeps= names {name}, which is no argument")
    return [(name, names.index(name)) for name in keeps]


def _keep(instance: Any, name: str, position: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    value = args[position] if position < len(args) else kwargs.get(name)
    if value is not None:
        _cwrapjit.keep(instance, value)


def keeping(function: Any, keeps: tuple[str, ...]) -> Any:
    """A method after which C points to some of its arguments: the instance keeps them alive."""
    positions = _positions(function, keeps)

    def method(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        result = function(self, *args, **kwargs)
        for name, position in positions:
            _keep(self, name, position, (self, *args), kwargs)
        return result

    method.__name__ = function.__name__
    method.__qualname__ = function.__qualname__
    method.__doc__ = function.__doc__
    method.__signature__ = function.__signature__  # type: ignore[attr-defined]
    return method
