"""Reads windows=, border=, cval=, axes= and window_steps= of function()."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias, cast

import numpy as np

from cwrapjit._arguments import IN, OUT, Operand, Reader, Shape, is_integer, type_of

# The shape, the border as in abi.h, axes, steps, the name of cval in messages, and cval for each type set: a
# number, or the bytes of a date; None: zeros.
_Window: TypeAlias = tuple[Shape, int, tuple[int, ...], tuple[int, ...], str, "tuple[Any, ...] | None"]

_BORDERS = "reflect", "nearest", "wrap", "mirror", "constant"  # in the order of abi.h
_CONSTANT = _BORDERS.index("constant")
_OF_SCIPY = {"grid-mirror": "reflect", "grid-wrap": "wrap", "grid-constant": "constant"}  # its other names
_MOST_INT = 2**31 - 1


class _Windows(Reader):
    """Reads arguments of windows, dicts by the names of inputs."""

    def __init__(self, who: str, operands: Sequence[Operand], given: Any) -> None:
        super().__init__(who)
        self._operands = operands
        self.shapes: dict[int, Shape] = {}
        self.shapes.update(
            {k: self._window(k, what, value) for k, what, value in self.each("windows", given)}
        )
        inputs = enumerate(dims for _, role, dims in operands if role != OUT)
        told = {dim for k, dims in inputs if k not in self.shapes for dim in dims}
        for k, shape in sorted(self.shapes.items()):
            for dim in shape:
                if isinstance(dim, str) and dim not in told:
                    raise self.bad(f"windows for '{operands[k][0]}': no other input sets dimension '{dim}'")

    def _window(self, k: int, what: str, value: Any) -> Shape:
        name, role, dims = self._operands[k]
        if role != IN:
            is_what = "an output" if role == OUT else "updated in place"
            raise self.bad(f"{what}: it is {is_what}; windows move over inputs that are only read")
        shape = self.shape(what, value)
        if not shape:
            raise self.bad(f"{what} is empty; wanted a length per axis")
        for i, dim in enumerate(shape):
            if isinstance(dim, int) and not 1 <= dim <= _MOST_INT:
                raise self.bad(f"{what}: dim {i} must be from 1 to {_MOST_INT}, got {dim}")
        if dims not in ((), shape):
            raise self.bad(
                f"{what}: the prototype of '{name}' has another shape; wanted () or the window's, and a "
                "slice sees nothing beside its window"
            )
        return shape

    def ints(self, what: str, value: Any, ndims: int, least: int, most: int) -> tuple[int, ...]:
        """Reads an int per axis of a window."""
        items = self.items(what, value)
        if len(items) != ndims:
            raise self.bad(f"{what}: the window has {ndims} axes, got {len(items)} ints")
        for i, item in enumerate(items):
            if not is_integer(item):
                raise self.wrong(f"{what}[{i}] must be an int, not {type_of(item)}")
            if not least <= operator.index(item) <= most:
                raise self.bad(f"{what}[{i}] must be from {least} to {most}, got {item!r}")
        return tuple(map(operator.index, items))

    def each(self, argument: str, given: Any) -> Iterator[tuple[int, str, Any]]:
        """Yields indexes of inputs, their places in the argument, and values."""
        if not isinstance(given, dict):
            example = "{'x': (3, 3)}"
            raise self.wrong(
                f"{argument} must be a dict by the names of inputs, such as {example}, not {type_of(given)}"
            )
        names = [name for name, _, _ in self._operands]
        for name, value in tuple(given.items()):  # an item's __index__ may change the dict
            if not isinstance(name, str):
                raise self.wrong(f"{argument}: {name!r} must be the name of an input")
            if name not in names:
                raise self.bad(f"{argument}: there is no input {name!r}")
            if argument != "windows" and names.index(name) not in self.shapes:
                raise self.bad(f"{argument}: {name!r} is not in windows")
            yield names.index(name), f"{argument} for '{name}'", value

    def each_or_all(self, argument: str, given: Any) -> Iterator[tuple[int, str, Any]]:
        """The same, also for one value for all windows."""
        if isinstance(given, dict):
            yield from self.each(argument, given)
        elif given is not None:
            yield from ((k, argument, given) for k in sorted(self.shapes))

    def border(self, what: str, value: Any) -> int:
        if not isinstance(value, str):
            raise self.wrong(f"{what} must be a str, not {type_of(value)}")
        name = _OF_SCIPY.get(value, value)
        if name not in _BORDERS:
            *others, last = map(repr, _BORDERS)
            raise self.bad(f"{what} must be {', '.join(others)} or {last}, not {value!r}")
        return _BORDERS.index(name)

    def fill(self, what: str, value: Any, label: str) -> Any:
        """Returns a number as it is, and the bytes of a date in the unit of a type."""
        if not label.startswith(("datetime64", "timedelta64")):
            return value
        error: type[Exception] = TypeError
        if isinstance(value, (np.datetime64, np.timedelta64)) and np.can_cast(value.dtype, label, "safe"):
            error = OverflowError
            try:
                made = np.asarray(value).astype(label)  # NumPy 2.5 raises OverflowError
                if made.view("i8") == value.view("i8") or made.astype(value.dtype) == value:
                    return made.tobytes()
            except OverflowError:
                pass  # the year 9999 does not fit into nanoseconds
        raise error(f"{self._who}: {what}: {value!r} is no value of {label}")


def _number(value: Any) -> Any:
    """Returns the Python number of a NumPy scalar; dates and other objects as they are."""
    is_one = isinstance(value, np.generic) and not isinstance(value, (np.datetime64, np.timedelta64))
    return value.item() if is_one else value


def _is_zero(number: Any) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and int.__eq__(number, 0)


def windows(
    who: str, operands: Sequence[Operand], labels: Sequence[Sequence[str]], options: dict[str, Any]
) -> tuple[_Window | None, ...]:
    """Returns the window of each operand. labels: those of each operand's types."""
    if "windows" not in options:
        raise Reader(who).bad(f"{next(iter(options))} needs windows")
    read = _Windows(who, operands, options["windows"])
    found: dict[int, list[Any]] = {
        k: [shape, 0, tuple(range(-len(shape), 0)), (1,) * len(shape), "", None]
        for k, shape in read.shapes.items()
    }
    for k, what, value in read.each("axes", options.get("axes", {})):
        found[k][2] = axes = read.ints(what, value, len(read.shapes[k]), -64, 63)  # dims in any NumPy version
        for i, axis in enumerate(axes):
            if axis in axes[:i]:
                raise read.bad(f"{what} has axis {axis} twice")
    for k, what, value in read.each("window_steps", options.get("window_steps", {})):
        found[k][3] = read.ints(what, value, len(read.shapes[k]), 1, _MOST_INT)
    for k, what, value in read.each_or_all("border", options.get("border")):
        found[k][1] = read.border(what, value)
        if found[k][1] == _CONSTANT and "object" in labels[k]:  # cval is a number
            raise read.bad(f"border for '{operands[k][0]}': 'constant' needs numbers, not objects")
    for k, what, value in read.each_or_all("cval", options.get("cval")):
        number = _number(value)
        if found[k][1] == _CONSTANT and not _is_zero(number):  # all types have a 0
            found[k][4:] = what, tuple(read.fill(what, number, label) for label in labels[k])
    return tuple(cast("_Window", tuple(found[k])) if k in found else None for k in range(len(operands)))


def describe_window(window: _Window, label: str, fill: bytes | None) -> dict[str, Any]:
    """Returns the item of f.windows. fill: cval as a value of the type `label`."""
    shape, border, axes, steps, *_ = window
    shown: dict[str, Any] = {"window": shape, "border": _BORDERS[border], "axes": axes, "window_steps": steps}
    if border == _CONSTANT:
        shown["cval"] = 0 if fill is None else _number(np.frombuffer(fill, label, 1)[0])
    return shown
