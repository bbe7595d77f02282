"""Reads arguments of function(): operands, types, extra arguments (_windows.py, _lengths.py: rare others).

The results are tuples of names and numbers, which C copies (csrc/function/spec_*.c). `what` is a place in an
argument, for messages: "prototype_input for 'a'"."""

from __future__ import annotations

import functools
import keyword
import operator
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn, TypeAlias, cast

import numpy as np

from cwrapjit._imports import load

Shape: TypeAlias = tuple[int | str, ...]
Operand: TypeAlias = tuple[str, int, Shape]  # name, role, dims
_Type: TypeAlias = tuple[int, int, str, str | None, str | None]  # the members of tj_type, in their order
# A part of the name of the body's file, the body, types for pickles, types.
_Set: TypeAlias = tuple[str, str, Any, tuple[_Type, ...]]

IN, _INOUT, OUT, _SHARED = range(4)  # roles, as in abi.h
_MOST_OPERANDS = 1024  # more than any function needs; counts fit in an int
_MOST_DIMS = 64 if int(np.__version__.split(".")[0]) >= 2 else 32
_MOST_SIZE = 2**63 - 1
_DIGITS = tuple("0123456789")
# C types of numbers, by kind and size in bytes.
CTYPES = {
    **{f"i{n}": f"npy_int{8 * n}" for n in (1, 2, 4, 8)},
    **{f"u{n}": f"npy_uint{8 * n}" for n in (1, 2, 4, 8)},
    **{"b1": "_Bool", "f2": "cwj_half", "f4": "npy_float32", "f8": "npy_float64"},
    **{"c8": "npy_complex64", "c16": "npy_complex128", "m8": "npy_int64", "M8": "npy_int64"},
    f"f{np.dtype('g').itemsize}": "npy_longdouble",
    f"c{np.dtype('G').itemsize}": "npy_clongdouble",
}


def _is_sequence(value: object) -> bool:
    return isinstance(value, (tuple, list))


def is_integer(value: object) -> bool:
    return hasattr(type(value), "__index__") and not isinstance(value, (bool, np.bool_, np.ndarray))


def type_of(value: object) -> str:
    return type(value).__name__


class Reader:
    """Reads parts of arguments. Messages begin with `who`."""

    def __init__(self, who: str) -> None:
        self._who = who

    def bad(self, text: str) -> ValueError:
        return ValueError(f"{self._who}: {text}")

    def wrong(self, text: str) -> TypeError:
        return TypeError(f"{self._who}: {text}")

    def items(self, what: str, given: Any) -> tuple[Any, ...]:
        if not _is_sequence(given):
            raise self.wrong(f"{what} must be a tuple or list, not {type_of(given)}")
        return tuple(given)

    def name(self, what: str, name: Any) -> str:
        """Returns a name that Python code may use."""
        if not isinstance(name, str):
            raise self.wrong(f"{what} must be a str, not {type_of(name)}")
        if not name.isidentifier():
            raise self.bad(f"{what} is not an identifier: {name!r}")
        if keyword.iskeyword(name):
            raise self.bad(f"{what} is a keyword of Python: {name!r}")
        return name

    def shape(self, what: str, shape: Any) -> Shape:
        if not _is_sequence(shape):
            more = "; one dim is written ('n',)" if isinstance(shape, str) else ""
            raise self.wrong(f"{what} must be a tuple of dims, such as ('n', 3), not {type_of(shape)}{more}")
        if not shape:
            return ()
        if len(shape) > _MOST_DIMS:
            raise self.bad(f"{what} has {len(shape)} dims; NumPy has at most {_MOST_DIMS}")
        return tuple(self._dim(f"{what}: dim {axis}", dim) for axis, dim in enumerate(tuple(shape)))

    def _dim(self, what: str, dim: Any) -> int | str:
        if isinstance(dim, str):
            return self.name(what, dim)
        if not is_integer(dim):
            raise self.wrong(f"{what} must be an int or a name, not {type_of(dim)}")
        size = operator.index(dim)
        if not 0 <= size <= _MOST_SIZE:
            raise self.bad(f"{what} is {'negative' if -_MOST_SIZE <= size < 0 else 'out of range'}: {dim!r}")
        return size


# ---- operands --------------------------------------------------------------------------------------


def _output_shapes(read: Reader, given: dict[str, Any]) -> tuple[bool, tuple[Any, ...]]:
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
                f"(('n',), ()); item {i} is of the other kind than item 0: {type_of(shape)} and "
                f"{type_of(shapes[0])}"
            )
    return not several, shapes if several else (shapes,)


def _input_names(read: Reader, given: Sequence[Any]) -> list[str]:
    names: list[str] = []
    for i, name in enumerate(given):
        if read.name(f"args_input[{i}]", name) in names:
            raise read.bad(f"args_input has '{name}' twice")
        names.append(name)
    return names


def _set_roles(read: Reader, roles: dict[str, int], called: str, given: Any, role: int) -> None:
    """Gives `role` to the inputs that the argument `called` names."""
    for i, name in enumerate(read.items(called, given)):
        if read.name(f"{called}[{i}]", name) not in roles:
            raise read.bad(f"{called}[{i}] is '{name}', which is not in args_input")
        if roles[name] == role:
            raise read.bad(f"{called} has '{name}' twice")
        if roles[name] != IN:
            raise read.bad(f"'{name}' is in args_inout and in args_shared; what is shared is updated, too")
        roles[name] = role


def _prototypes(who: str, given: dict[str, Any]) -> tuple[bool, tuple[Operand, ...]]:
    """Returns whether there is one output, and the operands."""
    read = Reader(who)
    names, shapes = (read.items(what, given.get(what, ())) for what in ("args_input", "prototype_input"))
    is_one, outputs = _output_shapes(read, given)
    if len(names) + len(outputs) > _MOST_OPERANDS:
        raise read.bad(f"{len(names) + len(outputs)} inputs and outputs; at most {_MOST_OPERANDS}")
    roles = dict.fromkeys(_input_names(read, names), IN)
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
        all_operands.append((name, OUT, read.shape(f"prototype_output for '{name}'", shape)))
    return is_one, tuple(all_operands)


# ---- a signature -----------------------------------------------------------------------------------

_WORD = re.compile(r"[ \t\r\n]*([A-Za-z0-9_\x80-\U0010ffff]*)")


class _Signature(Reader):
    """Parses "inout a(n, 3), b(n) -> out(3)". It stops at the first fault, and tells its place.

    signature = [operand {"," operand}] "->" outputs
    outputs   = output {"," output} | "(" output "," [output {"," output}] ")"
    operand   = ["inout"] ["shared"] name "(" [dim {"," dim}] ")"
    output    = [name] "(" [dim {"," dim}] ")"
    dim       = name | digits

    Outputs without a name are called output, or output0, output1, ... if there are several. The text after
    the arrow may be empty only if an argument takes the result."""

    def __init__(self, who: str, text: str) -> None:
        super().__init__(who)
        self._text = text
        self._at = 0
        self.operands: list[tuple[str, int, Shape]] = []

    def _fail(self, reason: str, place: int | None = None) -> NoReturn:
        before = self._text[: self._at if place is None else place]
        raise load("cwrapjit._errors").place_error(
            self._who, "signature", reason, self._text, len(before.encode())
        )

    def _word(self) -> str:
        """Skips blanks. Returns the name or number that comes next."""
        match = _WORD.match(self._text, self._at)
        assert match is not None
        self._at = match.start(1)
        return match[1]

    def _name(self) -> str:
        word = self._word()
        return "" if word[:1] in _DIGITS else word

    def _take(self, mark: str) -> bool:
        """Skips the mark and returns true if it comes next."""
        self._word()
        taken = self._text.startswith(mark, self._at)
        self._at += len(mark) * taken
        return taken

    def _size(self) -> int | str:
        word, start = self._word(), self._at
        if not word:
            self._fail("expected a dim (a name, or a size that is not negative)")
        digits = len(word) - len(word.lstrip("0123456789"))
        self._at += digits or len(word)
        if digits == 0:
            return word
        if (size := int(word[:digits])) > _MOST_SIZE:
            self._fail("this size is too large", start)
        if digits < len(word):
            self._fail("expected ',' or ')'")
        return size

    def _role(self) -> int:
        role = IN
        for word, meant in ("inout", _INOUT), ("shared", _SHARED):
            start = self._at
            if self._name() == word:
                self._at += len(word)
                role = meant if self._name() else role
                self._at = self._at if role == meant else start  # an argument may have the name of a role
        return role

    def _operand(self, is_output: bool) -> None:
        role = OUT if is_output else self._role()
        name = self._name()
        if not name and not (is_output and self._text.startswith("(", self._at)):
            self._fail("expected an output" if is_output else "expected an argument")
        if name and name in [other for other, _, _ in self.operands]:
            self._fail("this name is taken")
        self._at += len(name)
        if not self._take("("):
            self._fail("expected '(' and the dims")
        dims: list[int | str] = []
        if not self._take(")"):
            dims.append(self._size())
            while self._take(","):
                dims.append(self._size())
            if not self._take(")"):
                self._fail("expected ',' or ')'")
        self.operands.append((name, role, tuple(dims)))

    def _takes_tuple(self) -> bool:
        """Skips the parenthesis of "(out(3),", which is around outputs, not around dims."""
        start = self._at
        if self._take("("):
            inside = self._at
            self._at += len(self._name())
            is_one = self._take("(")
            self._at = inside if is_one else start
            return is_one
        return False

    def _outputs(self) -> bool:
        """Returns true if there is one output."""
        self._word()
        if self._at == len(self._text) and any(role != IN for _, role, _ in self.operands):
            return False
        ninputs, is_tuple = len(self.operands), self._takes_tuple()
        self._operand(True)
        while self._take(","):
            if is_tuple and self._take(")"):
                return False
            self._operand(True)
        count = len(self.operands) - ninputs
        if is_tuple and not (count > 1 and self._take(")")):
            self._fail("expected ','" if count == 1 else "expected ',' or ')'")
        return count == 1

    def parse(self) -> tuple[bool, tuple[Operand, ...]]:
        if not self._take("->"):
            self._operand(False)
            while self._take(","):
                self._operand(False)
            if not self._take("->"):
                self._fail("expected ',' or '->'")
        is_one = self._outputs()
        self._word()
        if self._at < len(self._text):
            self._fail("expected the end")
        return is_one, tuple(self._named())

    def _named(self) -> Iterator[Operand]:
        outputs = [name for name, role, _ in self.operands if role == OUT]
        names = [name for name, _, _ in self.operands]
        for k, (name, role, dims) in enumerate(self.operands):
            if not name:
                name = f"output{k - len(names) + len(outputs)}" if len(outputs) > 1 else "output"
                if name in names:
                    raise self.bad(f"signature: an output without a name is '{name}', and that name is taken")
            if not name.isidentifier() or keyword.iskeyword(name):
                raise self.bad(f"signature: {name!r} is not a name that Python can use")
            if len(dims) > _MOST_DIMS:
                raise self.bad(f"signature: '{name}' has {len(dims)} dims; NumPy has at most {_MOST_DIMS}")
            yield name, role, dims


def _parse(who: str, text: str) -> tuple[bool, tuple[Operand, ...]]:
    text.encode()  # refuses lone surrogates
    is_one, operands = _Signature(who, text).parse()
    if len(operands) > _MOST_OPERANDS:
        raise ValueError(f"{who}: signature: {len(operands)} operands; at most {_MOST_OPERANDS}")
    return is_one, operands


_parse_once = functools.lru_cache(_parse)

_REPLACED = "args_input", "prototype_input", "prototype_output", "args_inout", "args_shared"


def _signature(who: str, given: dict[str, Any]) -> tuple[bool, tuple[Operand, ...]]:
    text = given["signature"]
    for replaced in () if given.keys().isdisjoint(_REPLACED) else _REPLACED:
        if given.get(replaced) is not None:
            raise TypeError(f"{who}: signature takes the place of {replaced}: give one")
    if not isinstance(text, str):
        raise TypeError(f"{who}: signature must be a str, not {type_of(text)}")
    return _parse_once(who, str(text))


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


def _basic(dtype: np.dtype[Any]) -> _Type:
    number, size, label = _SAME.get(dtype.num, dtype.num), dtype.itemsize, _label(dtype)
    unit = dtype.str[1:] if dtype.kind in "mM" and "[" in label else None
    return number, size, label, CTYPES.get(f"{dtype.kind}{size}"), unit


_basic_once = functools.cache(_basic)

_USUAL = tuple(map(np.dtype, "?bBhHilILefdFD"))
_QUICK: dict[Any, _Type] = {each: _basic(dtype) for dtype in _USUAL for each in (dtype, dtype.type)} | {
    float: _basic(np.dtype("d"))
}


class _Types(Reader):
    """Reads the keys of Ccode_slice_eval: what np.dtype() accepts, for all operands, or tuples of that."""

    def __init__(self, who: str, name: str, operands: Sequence[Operand]) -> None:
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
        one = _basic_once(dtype)
        return one[2], one

    def _check_units(self, types: Sequence[_Type], key: Any) -> None:
        """In a type set, all datetimes have a unit, or an input sets the unit of the call for all."""
        free = [k for k, one in enumerate(types) if one[2] in ("datetime64", "timedelta64")]
        if free and any("64[" in one[2] for one in types):
            fault = 'either all datetimes must have a unit, such as "M8[ns]", or none of them'
            raise self.bad(f"Ccode_slice_eval: of the key {key!r} {fault}")
        if free and all(self._operands[k][1] == OUT for k in free):
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
            raise self.wrong(f"Ccode_slice_eval: the body for {label} must be a str, not {type_of(body)}")
        return label, body, shown[0] if len(shown) == 1 else shown, types


def _typesets(
    who: str, name: str, operands: Sequence[Operand], given: dict[str, Any]
) -> tuple[str | None, list[_Set]]:
    """Returns the text of the structs of dtypes, and the type sets."""
    read, sets = None, given.get("Ccode_slice_eval")
    if not isinstance(sets, dict):
        got = type_of(sets) if "Ccode_slice_eval" in given else "absent"
        wanted = 'a dict of types and C texts, such as {np.float64: "..."}'
        raise TypeError(f"{who}: Ccode_slice_eval must be {wanted}, not {got}")
    if not sets:
        raise ValueError(f"{who}: Ccode_slice_eval is empty: no type set at all")
    found: list[_Set] = []
    # Copied, as NumPy may run Python code on a key. Without memory, CPython 3.11 crashes in items().
    for key, body in zip([*sets], [*sets.values()], strict=True):
        keys = key if isinstance(key, tuple) else (key,)
        types = [_QUICK.get(one) if isinstance(one, (type, np.dtype)) else None for one in keys]
        if (
            None not in types
            and len(types) == (len(operands) if keys is key else 1)
            and isinstance(body, str)
        ):  # the usual case
            labels = tuple([one[2] for one in types if one is not None])
            shown: Any = labels if len(labels) > 1 else labels[0]
            types = types if len(types) == len(operands) else types * len(operands)
            new = ",".join(labels), body, shown, cast("tuple[_Type, ...]", tuple(types))
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


# ---- extra arguments -------------------------------------------------------------------------------


def _extra(read: Reader, what: str, item: Any, codes: str) -> tuple[str, str, str, str]:
    if not _is_sequence(item):
        raise read.wrong(f"{what} must be a tuple (c_type, name, default, parse code), not {type_of(item)}")
    if len(item) != 4:
        raise read.bad(f"{what} must have 4 items (c_type, name, default, parse code), not {len(item)}")
    ctype, name, default, code = item
    of = f"extra argument '{read.name(f'{what}: the name', name)}'"
    if not isinstance(ctype, str):
        raise read.wrong(f"{what}: the C type must be a str, not {type_of(ctype)}")
    if "\0" in ctype:
        raise read.bad(f"{what}: the C type holds a NUL character: {ctype!r}")
    if not isinstance(default, str):
        example = '"0"' if isinstance(default, int) else '"NULL"'
        text = f"the default is C text and must be a str, such as {example}, not {type_of(default)}"
        raise read.wrong(f"{of}: {text}")
    if not isinstance(code, str):
        raise read.wrong(f"{of}: the parse code must be a str, not {type_of(code)}")
    if len(code) != 1 or code not in codes:
        several = "stands for several C values or none, and an extra argument is one"
        fault = several if len(code) > 1 else "is not known"
        raise read.bad(f"{of}: the parse code {code!r} {fault}; wanted one of {codes}")
    return ctype, name, default, code


def _extras(who: str, extra_args: Any, codes: str) -> tuple[tuple[str, str, str, str], ...]:
    """Returns the extra arguments. codes: the parse codes that there are."""
    read = Reader(who)
    given = read.items("extra_args", extra_args)
    return tuple(_extra(read, f"extra_args[{i}]", item, codes) for i, item in enumerate(given))


# ---- c_function ------------------------------------------------------------------------------------

_DECLARED = re.compile(
    r"(?P<result>[^(]*[^( ]) *(?<![A-Za-z0-9_])(?P<name>[A-Za-z_][A-Za-z0-9_]*) *(?P<rest>\(.*\))", re.DOTALL
)


def _c_function(who: str, given: Any) -> tuple[bytes, str]:
    """Returns the name of the function that "double f(double)" declares, and the text without the name."""
    read = Reader(who)
    if not isinstance(given, str):
        raise read.wrong(f"c_function must be a str such as 'double f(double)', not {type_of(given)}")
    match = _DECLARED.fullmatch(given)
    if match is None or "\0" in given:
        raise read.bad(f"c_function {given!r} is no declaration such as 'double f(double, int)'")
    return match["name"].encode(), f"{match['result']} {match['rest']}"


# ---- all of it -------------------------------------------------------------------------------------

_OF_WINDOWS = "windows", "border", "cval", "axes", "window_steps"


def read(who: str, name: str, codes: str, given: dict[str, Any]) -> tuple[Any, ...]:
    """Reads the arguments of the function `name`. codes: the parse codes that extra arguments may have.
    Returns whether there is one output, the operands, output_dims, extra_args, the text of the structs of
    dtypes, the type sets, windows, c_function, and (identity, associative)."""
    read_operands = _prototypes if given.get("signature") is None else _signature
    is_one, operands = read_operands(who, given)
    if not operands or (operands[-1][1] == IN and all(role == IN for _, role, _ in operands)):
        raise ValueError(f"{who}: there is neither an output nor an argument that is updated (inout)")
    dims, extra_args, windows = given.get("output_dims"), given.get("extra_args"), None
    dims = [] if dims is None else load("cwrapjit._lengths").output_dims(who, operands, dims)
    extra_args = () if extra_args is None else _extras(who, extra_args, codes)
    records, sets = _typesets(who, name, operands, given)
    if not given.keys().isdisjoint(_OF_WINDOWS):
        options = {option: given[option] for option in _OF_WINDOWS if given.get(option) is not None}
        labels = [[types[k][2] for _, _, _, types in sets] for k in range(len(operands))]
        windows = load("cwrapjit._windows").windows(who, operands, labels, options) if options else None
    declared = given.get("c_function")
    declared = declared if declared is None else _c_function(who, declared)
    identity, associative = given.get("identity"), given.get("associative")
    reduction = (None, False)
    if identity is not None or associative is not None:
        reduction = load("cwrapjit._ufunc").reduction(who, operands, sets, identity, associative)
    return is_one, operands, dims, extra_args, records, sets, windows, declared, reduction


def again(name: str, sets: Sequence[_Set], kept: tuple[Any, ...] | None) -> dict[str, Any]:
    """Returns the arguments of function() by name, Ccode_slice_eval as a tuple of pairs. kept: the others."""
    arguments = {"name": name, "Ccode_slice_eval": tuple([(types, body) for _, body, types, _ in sets])}
    return arguments | dict(zip(kept[::2], kept[1::2], strict=True)) if kept else arguments
