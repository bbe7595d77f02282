"""Reads arguments of function() that are containers: prototypes, types, windows, output_dims, extra_args.

The results are tuples of names and numbers, which C copies (csrc/function/spec_*.c). `what` is a place in an
argument, for messages: "prototype_input for 'a'"."""

from __future__ import annotations

import functools
import keyword
import operator
import sys
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias, cast

import numpy as np

from cwrapjit._imports import load

_Shape: TypeAlias = tuple[int | str, ...]
_Operand: TypeAlias = tuple[str, int, _Shape]  # name, role, dims
_Type: TypeAlias = tuple[int, int, str, str | None, str | None]  # the members of tj_type, in their order
# A part of the name of the body's file, the body, types for pickles, types.
_Set: TypeAlias = tuple[str, str, Any, tuple[_Type, ...]]
# The shape, the border as in abi.h, axes, steps, the name of cval in messages, and cval for each type set: a
# number, or the bytes of a date; None: zeros.
_Window: TypeAlias = tuple[_Shape, int, tuple[int, ...], tuple[int, ...], str, "tuple[Any, ...] | None"]

_IN, _INOUT, _OUT, _SHARED = range(4)  # roles, as in abi.h
_MOST_OPERANDS = 1024  # more than any function needs; counts fit in an int
_MOST_DIMS = 64 if int(np.__version__.split(".")[0]) >= 2 else 32
_MOST_INT = 2**31 - 1
_MOST_SIZE = 2**63 - 1
_BORDERS = "reflect", "nearest", "wrap", "mirror", "constant"  # in the order of abi.h
_CONSTANT = _BORDERS.index("constant")
# C types of numbers, by kind and size in bytes.
CTYPES = {
    **{f"i{n}": f"npy_int{8 * n}" for n in (1, 2, 4, 8)},
    **{f"u{n}": f"npy_uint{8 * n}" for n in (1, 2, 4, 8)},
    **{"b1": "_Bool", "f2": "cwj_half", "f4": "npy_float32", "f8": "npy_float64"},
    **{"c8": "npy_complex64", "c16": "npy_complex128", "m8": "npy_int64", "M8": "npy_int64"},
    f"f{np.dtype('g').itemsize}": "npy_longdouble",
    f"c{np.dtype('G').itemsize}": "npy_clongdouble",
}
_OF_SCIPY = {"grid-mirror": "reflect", "grid-wrap": "wrap", "grid-constant": "constant"}  # its other names


def _is_sequence(value: object) -> bool:
    return isinstance(value, (tuple, list))


def _is_integer(value: object) -> bool:
    return hasattr(type(value), "__index__") and not isinstance(value, (bool, np.bool_, np.ndarray))


def _type(value: object) -> str:
    return type(value).__name__


class _Reader:
    """Reads parts of arguments. Messages begin with `who`."""

    def __init__(self, who: str) -> None:
        self._who = who

    def bad(self, text: str) -> ValueError:
        return ValueError(f"{self._who}: {text}")

    def wrong(self, text: str) -> TypeError:
        return TypeError(f"{self._who}: {text}")

    def items(self, what: str, given: Any) -> tuple[Any, ...]:
        if not _is_sequence(given):
            raise self.wrong(f"{what} must be a tuple or list, not {_type(given)}")
        return tuple(given)

    def name(self, what: str, name: Any) -> str:
        """Returns a name that Python code may use."""
        if not isinstance(name, str):
            raise self.wrong(f"{what} must be a str, not {_type(name)}")
        if not name.isidentifier():
            raise self.bad(f"{what} is not an identifier: {name!r}")
        if keyword.iskeyword(name):
            raise self.bad(f"{what} is a keyword of Python: {name!r}")
        return name

    def shape(self, what: str, shape: Any) -> _Shape:
        if not _is_sequence(shape):
            more = "; one dim is written ('n',)" if isinstance(shape, str) else ""
            raise self.wrong(f"{what} must be a tuple of dims, such as ('n', 3), not {_type(shape)}{more}")
        if not shape:
            return ()
        if len(shape) > _MOST_DIMS:
            raise self.bad(f"{what} has {len(shape)} dims; NumPy has at most {_MOST_DIMS}")
        return tuple(self._dim(f"{what}: dim {axis}", dim) for axis, dim in enumerate(tuple(shape)))

    def _dim(self, what: str, dim: Any) -> int | str:
        if isinstance(dim, str):
            return self.name(what, dim)
        if not _is_integer(dim):
            raise self.wrong(f"{what} must be an int or a name, not {_type(dim)}")
        size = operator.index(dim)
        if not 0 <= size <= _MOST_SIZE:
            raise self.bad(f"{what} is {'negative' if -_MOST_SIZE <= size < 0 else 'out of range'}: {dim!r}")
        return size

    def ints(self, what: str, value: Any, ndims: int, least: int, most: int) -> tuple[int, ...]:
        """Reads an int per axis of a window."""
        items = self.items(what, value)
        if len(items) != ndims:
            raise self.bad(f"{what}: the window has {ndims} axes, got {len(items)} ints")
        for i, item in enumerate(items):
            if not _is_integer(item):
                raise self.wrong(f"{what}[{i}] must be an int, not {_type(item)}")
            if not least <= operator.index(item) <= most:
                raise self.bad(f"{what}[{i}] must be from {least} to {most}, got {item!r}")
        return tuple(map(operator.index, items))


# ---- operands --------------------------------------------------------------------------------------


def _output_shapes(read: _Reader, given: dict[str, Any]) -> tuple[bool, tuple[Any, ...]]:
    """Returns whether there is one output, and the shapes; none if inputs are updated instead."""
    prototype = given.get("prototype_output")
    if prototype is None:
        updated = [given.get(called) for called in ("args_inout", "args_shared")]
        if any(isinstance(names, (tuple, list)) and names for names in updated):
            return False, ()
        raise read.wrong(
            "prototype_output is required: () for a scalar, ('n',) for a vector, a tuple of such shapes for "
            f"several outputs{'; got None' if 'prototype_output' in given else ''}"
        )
    shapes = read.items("prototype_output", prototype)
    several = bool(shapes) and _is_sequence(shapes[0])
    for i, shape in enumerate(shapes):
        if _is_sequence(shape) != several:
            raise read.wrong(
                "prototype_output must be one shape, such as ('n', 3), or a tuple of shapes, such as "
                f"(('n',), ()); item {i} is of the other kind than item 0: {_type(shape)} and "
                f"{_type(shapes[0])}"
            )
    return not several, shapes if several else (shapes,)


def _input_names(read: _Reader, given: Sequence[Any]) -> list[str]:
    names: list[str] = []
    for i, name in enumerate(given):
        if read.name(f"args_input[{i}]", name) in names:
            raise read.bad(f"args_input has '{name}' twice")
        names.append(name)
    return names


def _set_roles(read: _Reader, roles: dict[str, int], called: str, given: Any, role: int) -> None:
    """Gives `role` to the inputs that the argument `called` names."""
    for i, name in enumerate(read.items(called, given)):
        if read.name(f"{called}[{i}]", name) not in roles:
            raise read.bad(f"{called}[{i}] is '{name}', which is not in args_input")
        if roles[name] == role:
            raise read.bad(f"{called} has '{name}' twice")
        if roles[name] != _IN:
            raise read.bad(f"'{name}' is in args_inout and in args_shared; what is shared is updated, too")
        roles[name] = role


def operands(who: str, given: dict[str, Any]) -> tuple[bool, tuple[_Operand, ...]]:
    """Returns whether there is one output, and the operands."""
    read = _Reader(who)
    names, shapes = (read.items(what, given.get(what, ())) for what in ("args_input", "prototype_input"))
    is_one, outputs = _output_shapes(read, given)
    if len(names) + len(outputs) > _MOST_OPERANDS:
        raise read.bad(f"{len(names) + len(outputs)} inputs and outputs; at most {_MOST_OPERANDS}")
    roles = dict.fromkeys(_input_names(read, names), _IN)
    if len(shapes) != len(names):
        raise read.bad(f"prototype_input has {len(shapes)} shapes, args_input has {len(names)} names")
    inputs = {
        name: read.shape(f"prototype_input for '{name}'", shape)
        for name, shape in zip(names, shapes, strict=True)
    }
    for called, role in ("args_inout", _INOUT), ("args_shared", _SHARED):
        if given.get(called) is not None:
            _set_roles(read, roles, called, given[called], role)
    all_operands = [(name, roles[name], inputs[name]) for name in names]
    for i, shape in enumerate(outputs):
        name = "output" if is_one else f"output{i}"
        all_operands.append((name, _OUT, read.shape(f"prototype_output for '{name}'", shape)))
    return is_one, tuple(all_operands)


def output_dims(
    who: str, known: Sequence[_Operand], given: Any
) -> list[tuple[str, str, list[tuple[int, int | str]]]]:
    """Returns the items of output_dims: a dim that only outputs have, the expression, and its steps."""
    read, read_dims = _Reader(who), []
    example = '"n*(n-1)/2"'
    if not isinstance(given, dict):
        wanted = f'a dict of names and expressions, such as {{"m": {example}}}'
        raise read.wrong(f"output_dims must be {wanted}, not {_type(given)}")
    of_inputs = {dim: name for name, role, dims in reversed(known) if role != _OUT for dim in dims}
    for name, text in given.items():
        read.name("output_dims: a name", name)
        if name in of_inputs:
            raise read.bad(
                f"output_dims: '{name}' is a dimension of the input '{of_inputs[name]}', which sets it"
            )
        if not any(name in dims for _, _, dims in known):
            raise read.bad(f"output_dims: no output has a dimension '{name}'")
        if not isinstance(text, str):
            raise read.wrong(f"output_dims['{name}'] must be a str, such as {example}, not {_type(text)}")
        steps = load("cwrapjit._lengths").parse(who, f"output_dims['{name}']", text, of_inputs)
        read_dims.append((name, text, steps))
    return read_dims


# ---- types -----------------------------------------------------------------------------------------

# NumPy 1 converts these to one type of the family.
_FAMILIES = frozenset(
    (
        *(np.generic, np.number, np.integer, np.signedinteger, np.unsignedinteger),
        *(np.inexact, np.floating, np.complexfloating, np.flexible, np.character),
    )
)
_SAME = {np.dtype("q").num: np.dtype("l").num, np.dtype("Q").num: np.dtype("L").num}  # the same in C
_LAST_NUMBER = np.dtype("e").num
_SWAPPED = "<" if sys.byteorder == "big" else ">"
_LABELS = {
    "b": "bool",
    "O": "object",
    "S": "bytes",
    "U": "str",
    "V": "void",
    "M": "datetime64",
    "m": "timedelta64",
}
_WORDS = {"i": "int", "u": "uint", "f": "float", "c": "complex"}  # before the number of bits


def _label(dtype: np.dtype[Any]) -> str:
    """Returns "float64", like dtype.name, but "S5" for strings of five bytes."""
    kind, size = dtype.kind, dtype.itemsize
    if kind in _WORDS:
        return f"{_WORDS[kind]}{8 * size}"
    if kind in "SUV" and size > 0:
        return f"{kind}{size // 4 if kind == 'U' else size}"
    return _LABELS[kind] + (dtype.str[3:] if kind in "mM" else "")


@functools.cache
def _basic(dtype: np.dtype[Any]) -> _Type:
    number, size, label = _SAME.get(dtype.num, dtype.num), dtype.itemsize, _label(dtype)
    unit = dtype.str[1:] if dtype.kind in "mM" and "[" in label else None
    return number, size, label, CTYPES.get(f"{dtype.kind}{size}"), unit


_QUICK = {np.dtype(code).type: _basic(np.dtype(code)) for code in "?bBhHilILefdFD"} | {
    float: _basic(np.dtype("d"))
}


class _Types(_Reader):
    """Reads the keys of Ccode_slice_eval: what np.dtype() accepts, for all operands, or tuples of that."""

    def __init__(self, who: str, name: str, operands: Sequence[_Operand]) -> None:
        super().__init__(who)
        self._name = name
        self._operands = operands
        self.records: Any = None  # for structured dtypes

    def _dtype(self, key: Any) -> np.dtype[Any]:
        if key is None:  # which NumPy converts to float64
            raise self.wrong("Ccode_slice_eval: None is not a type")
        if isinstance(key, type) and key in _FAMILIES:
            raise self.wrong(f"Ccode_slice_eval: {key!r} is a family of types; name one of them")
        try:
            dtype: np.dtype[Any] = np.dtype(key)
            return dtype
        except (TypeError, ValueError, SyntaxError):
            raise self.wrong(f"Ccode_slice_eval: {key!r} is not a dtype") from None

    def _type(self, key: Any) -> tuple[Any, _Type]:
        """Returns the type for pickles, and for C."""
        dtype = self._dtype(key)
        if dtype.byteorder == _SWAPPED:
            fault = "has the other byte order than this machine; C code needs the native one"
            raise self.wrong(f"Ccode_slice_eval: {key!r} {fault}")
        if dtype.names is not None or dtype.subdtype is not None:
            if self.records is None:
                self.records = load("cwrapjit._records").Records(self._who, self._name)
            own, literal, label, ctype = self.records.take(dtype, key)
            return own, (dtype.num, dtype.itemsize, label, ctype, literal)
        if dtype.num > _LAST_NUMBER:
            raise self.wrong(f"Ccode_slice_eval: no C code can work on dtype {key!r}")
        one = _basic(dtype)
        return one[2], one

    def _check_units(self, types: Sequence[_Type], key: Any) -> None:
        """In a type set, all datetimes have a unit, or an input sets the unit of the call for all."""
        free = [k for k, one in enumerate(types) if one[2] in ("datetime64", "timedelta64")]
        if free and any("64[" in one[2] for one in types):
            fault = 'either all datetimes must have a unit, such as "M8[ns]", or none of them'
            raise self.bad(f"Ccode_slice_eval: of the key {key!r} {fault}")
        if free and all(self._operands[k][1] == _OUT for k in free):
            fault = 'tells the unit of an output; wanted one, such as "M8[ns]"'
            raise self.bad(f"Ccode_slice_eval: no input of the key {key!r} {fault}")

    def set(self, key: Any, body: Any) -> _Set:
        count = len(self._operands)
        if isinstance(key, tuple) and len(key) != count:
            wanted = f"wanted {count}, one for each input and output"
            raise self.bad(f"Ccode_slice_eval: the key {key!r} has {len(key)} types; {wanted}")
        read = [self._type(one) for one in (key if isinstance(key, tuple) else (key,))]
        shown = tuple([own for own, _ in read])
        label = ",".join([one[2] for _, one in read])
        types = tuple([one for _, one in (read if len(read) == count else read * count)])
        if "64" in label and ("date" in label or "delta" in label):
            self._check_units(types, key)
        if not isinstance(body, str):
            raise self.wrong(f"Ccode_slice_eval: the body for {label} must be a str, not {_type(body)}")
        return label, body, shown[0] if len(shown) == 1 else shown, types


def typesets(
    who: str, name: str, operands: Sequence[_Operand], given: dict[str, Any]
) -> tuple[str | None, list[_Set]]:
    """Returns the text of the structs of dtypes, and the type sets."""
    read, sets = None, given.get("Ccode_slice_eval")
    if not isinstance(sets, dict) or not sets:
        raise _refuse_sets(who, given)
    found: list[_Set] = []
    # Copied, as NumPy may run Python code on a key. Without memory, CPython 3.11 crashes in items().
    for key, body in zip([*sets], [*sets.values()], strict=True):
        one = _QUICK.get(key) if isinstance(key, type) else None
        if one is not None and isinstance(body, str):  # the usual case
            new = one[2], body, one[2], (one,) * len(operands)
        else:
            read = read or _Types(who, name, operands)
            new = read.set(key, body)
        for other in found:
            if other[3] == new[3]:
                label = new[3][0][2]
                raise ValueError(
                    f"{who}: Ccode_slice_eval has the same types twice: {key!r} is {label} again"
                )
        found.append(new)
    return read.records.text if read is not None and read.records is not None else None, found


def _refuse_sets(who: str, given: dict[str, Any]) -> Exception:
    sets = given.get("Ccode_slice_eval")
    if isinstance(sets, dict):
        return ValueError(f"{who}: Ccode_slice_eval is empty: no type set at all")
    got = _type(sets) if "Ccode_slice_eval" in given else "absent"
    wanted = 'a dict of types and C texts, such as {np.float64: "..."}'
    return TypeError(f"{who}: Ccode_slice_eval must be {wanted}, not {got}")


# ---- windows ---------------------------------------------------------------------------------------


class _Windows(_Reader):
    """Reads arguments of windows, dicts by the names of inputs."""

    def __init__(self, who: str, operands: Sequence[_Operand], given: Any) -> None:
        super().__init__(who)
        self._operands = operands
        self.shapes: dict[int, _Shape] = {}
        self.shapes.update(
            {k: self._window(k, what, value) for k, what, value in self.each("windows", given)}
        )
        inputs = enumerate(dims for _, role, dims in operands if role != _OUT)
        told = {dim for k, dims in inputs if k not in self.shapes for dim in dims}
        for k, shape in sorted(self.shapes.items()):
            for dim in shape:
                if isinstance(dim, str) and dim not in told:
                    raise self.bad(f"windows for '{operands[k][0]}': no other input sets dimension '{dim}'")

    def _window(self, k: int, what: str, value: Any) -> _Shape:
        name, role, dims = self._operands[k]
        if role != _IN:
            is_what = "an output" if role == _OUT else "updated in place"
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

    def each(self, argument: str, given: Any) -> Iterator[tuple[int, str, Any]]:
        """Yields indexes of inputs, their places in the argument, and values."""
        if not isinstance(given, dict):
            example = "{'x': (3, 3)}"
            raise self.wrong(
                f"{argument} must be a dict by the names of inputs, such as {example}, not {_type(given)}"
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
            raise self.wrong(f"{what} must be a str, not {_type(value)}")
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
    who: str, operands: Sequence[_Operand], labels: Sequence[Sequence[str]], given: dict[str, Any]
) -> tuple[_Window | None, ...]:
    """Returns the window of each operand. labels: those of each operand's types."""
    names = "windows", "border", "cval", "axes", "window_steps"
    options = {name: given[name] for name in names if given.get(name) is not None}
    if "windows" not in options:
        raise _Reader(who).bad(f"{next(iter(options))} needs windows")
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


# ---- extra arguments -------------------------------------------------------------------------------


def _extra(read: _Reader, what: str, item: Any, codes: str) -> tuple[str, str, str, str]:
    if not _is_sequence(item):
        raise read.wrong(f"{what} must be a tuple (c_type, name, default, parse code), not {_type(item)}")
    if len(item) != 4:
        raise read.bad(f"{what} must have 4 items (c_type, name, default, parse code), not {len(item)}")
    ctype, name, default, code = item
    of = f"extra argument '{read.name(f'{what}: the name', name)}'"
    if not isinstance(ctype, str):
        raise read.wrong(f"{what}: the C type must be a str, not {_type(ctype)}")
    if "\0" in ctype:
        raise read.bad(f"{what}: the C type holds a NUL character: {ctype!r}")
    if not isinstance(default, str):
        example = '"0"' if isinstance(default, int) else '"NULL"'
        text = f"the default is C text and must be a str, such as {example}, not {_type(default)}"
        raise read.wrong(f"{of}: {text}")
    if not isinstance(code, str):
        raise read.wrong(f"{of}: the parse code must be a str, not {_type(code)}")
    if len(code) != 1 or code not in codes:
        several = "stands for several C values or none, and an extra argument is one"
        fault = several if len(code) > 1 else "is not known"
        raise read.bad(f"{of}: the parse code {code!r} {fault}; wanted one of {codes}")
    return ctype, name, default, code


def extras(who: str, extra_args: Any, codes: str) -> tuple[tuple[str, str, str, str], ...]:
    """Returns the extra arguments. codes: the parse codes that there are."""
    read = _Reader(who)
    given = read.items("extra_args", extra_args)
    return tuple(_extra(read, f"extra_args[{i}]", item, codes) for i, item in enumerate(given))
