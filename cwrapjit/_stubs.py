"""write_stubs(): writes the types of a module or a library for type checkers, from inspect.signature()."""

from __future__ import annotations

import enum
import inspect
import keyword
import os
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np

from cwrapjit._cwrapjit import Dispatch, Function, Instance, module
from cwrapjit._imports import load
from cwrapjit._signature import CText
from cwrapjit._tokens import arguments

_HEAD = '''"""Types of {name}, by cwrapjit.write_stubs()."""

import enum
from os import PathLike
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cwrapjit import Pointer as _Pointer
from cwrapjit._cwrapjit import Instance as _Instance

_Text: TypeAlias = str | bytes | PathLike[str]
_Writeable: TypeAlias = bytearray | memoryview | NDArray[Any]
_Bytes: TypeAlias = str | bytes | np.void | _Writeable

'''
_KINDS = {"f": "float", "i": "int", "u": "int", "b": "bool", "c": "complex", "U": "str", "S": "bytes"}
_ARRAY = re.compile(r"(\w+)\[[:.]")  # float64[:,:]
_ITEMS = re.compile(r"(list|set|tuple)\[(.*?)(, \.\.\.)?\]")  # of containers
_INOUT = re.compile(r"\binout (\w+)")
# Types of arguments, by the word of an annotation.
_TAKEN = {"str": "_Text", "bytes": "_Bytes", "bytearray": "_Writeable", "buffer": "_Writeable"}
_TAKEN["ArrayLike"] = "ArrayLike"  # members of a struct
_MEMBER = re.compile(r"(\w+)@\d+:(\w+):(\w*):")  # of Layout.fields


def write_stubs(module_or_library: Any, path: str | os.PathLike[str]) -> None:
    """Write a .pyi file with the functions, classes and constants of a module or a library, and their types.

    >>> import cwrapjit
    >>> m = cwrapjit.module("curves")
    >>> _ = m.function("area", signature="x(n), y(n) -> a()", Ccode_slice_eval={float: "return 1;"})
    >>> m.register()
    >>> cwrapjit.write_stubs(m, "curves.pyi")

    module_or_library: what module() or library() made.
    path: the file to write; an existing one is replaced.

    Type checkers use it for the Python module of that name. Inputs of functions that broadcast are
    array-like; what is updated in place, and arrays of other functions of libraries, are arrays. Results are
    arrays if slices have dims, else Any, as they are scalars or arrays. Returns None. Raises TypeError for
    other objects, OSError if the file cannot be written.
    """
    is_library = isinstance(module_or_library, load("cwrapjit.library.public").Library)
    if not is_library and not isinstance(module_or_library, module):
        kind = type(module_or_library).__name__
        raise TypeError(f"write_stubs() takes a cwrapjit.module or a library, not {kind}")
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"write_stubs(): path must be a str or a path, not {type(path).__name__}")
    names = set(vars(module_or_library))
    if is_library:
        module_or_library._core.force()
        names = module_or_library._core.attributes() | module_or_library._core.classes.enum_names()
    names = {each for each in names if each.isidentifier() and not keyword.iskeyword(each)}
    found = {name: getattr(module_or_library, name, None) for name in sorted(names) if name[:2] != "__"}
    known = {name: each for name, each in found.items() if isinstance(each, type)}
    lines = [line for name, each in found.items() if each is not None for line in _member(name, each, known)]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join([_HEAD.format(name=module_or_library.__name__), *lines, ""]))


def _member(name: str, value: Any, known: Mapping[str, type]) -> Iterator[str]:
    if isinstance(value, type) and issubclass(value, enum.Enum):
        yield f"class {name}(enum.IntEnum):"
        members = {each: number for each, number in value.__members__.items() if not keyword.iskeyword(each)}
        yield from (f"    {each} = {number.value}" for each, number in members.items())
    elif isinstance(value, type) and issubclass(value, Instance):
        yield f"class {name}(_Instance):"
        yield from (f"    {line}" for line in [*_inside(value, known), "..."])
    elif callable(value):
        yield f"def {name}{_signature(value, known)}: ..."
    elif isinstance(value, np.ndarray):
        yield f"{name}: {_array(value.dtype.name)}"
    else:
        yield f"{name}: {_word(type(value).__name__, (), '')}"


def _inside(cls: Any, known: Mapping[str, type]) -> Iterator[str]:
    """Yields the members of a class for a struct or a handle."""
    for name, role, dtype in _MEMBER.findall(cls.__cwrapjit_layout__.fields):
        arrays = _array(dtype) if role == "array" else "Any"
        shown = load("cwrapjit.library.names").python_name(name)
        yield f"{shown}: {_word(dtype, known, '') if role == 'scalar' else arrays}"
    for name, each in vars(cls).items():
        if isinstance(each, property):
            yield "@property"
            yield f"def {name}{_signature(each.fget, known, name)}: ..."
        elif callable(each) and (name == "__init__" or name[:2] != "__"):
            yield f"def {name}{_signature(each, known, name)}: ..."


def _signature(function: Any, known: Mapping[str, type], method: str = "") -> inspect.Signature:
    try:
        shown = inspect.signature(function)
    except ValueError:  # raised for many of Python's own callables
        shown = inspect.signature(lambda *args, **kwargs: None)
    broadcasts = isinstance(function, (Function, Dispatch))
    updated = _INOUT.findall(getattr(function, "signature", "")) if broadcasts else ()
    made = []
    for k, each in enumerate(shown.parameters.values()):
        said = "" if each.annotation is each.empty else str(each.annotation)
        if broadcasts:
            word = "NDArray[Any]" if each.name in updated else _input(each, said)
        else:
            word = _taken(said, known) + " | None" * (each.default is None)
        kind = each.empty if method and k == 0 and each.kind != each.VAR_POSITIONAL else CText(word)
        has_default = each.default is not each.empty
        made.append(each.replace(annotation=kind, default=CText("...") if has_default else each.empty))
    given = "None" if method == "__init__" else _word(str(shown.return_annotation), known, "Any")
    if broadcasts:
        given = _results(function) if isinstance(function, Function) else "Any"
    return inspect.Signature(made, return_annotation=CText(given), __validate_parameters__=False)


def _taken(said: str, known: Mapping[str, type]) -> str:
    """Returns the Python type that a function of a library takes for one of our annotations."""
    items = _ITEMS.fullmatch(said)
    if items is not None:
        item = "Any" if items[2] == "str" else _taken(items[2], known)
        return f"{items[1]}[{item}{items[3] or ''}]"
    if said in known:
        return f"{said} | np.void" if hasattr(known[said], "__array__") else said
    if said.startswith("Pointer"):
        return "_Pointer | None"
    return _TAKEN.get(said) or _word(said, known, "")


def _word(said: str, known: Collection[str], null: str) -> str:
    """Returns the Python type of a result or member; null: the type of a NULL of C."""
    if said[:1] == "(" and said[-1:] == ")":
        return f"tuple[{', '.join(_word(each, known, null) for each in arguments(said[1:-1]))}]"
    if said in known:
        return f"{said} | {null}" if null else said
    array = _ARRAY.match(said)
    if array is not None:
        return _array(array[1])
    word = said if said == "None" else _KINDS.get(_dtype(said).kind, "Any")
    return f"{word} | {null}" if word == "str" and null else word


def _dtype(name: str | None) -> np.dtype[Any]:
    try:
        return np.dtype(name or "O")
    except (TypeError, ValueError, SyntaxError):  # NumPy's errors for unknown words
        return np.dtype("O")


def _array(name: str) -> str:
    dtype = _dtype(name)
    return f"NDArray[{f'np.{dtype.type.__name__}' if dtype.kind in 'biufc' else 'Any'}]"


def _input(parameter: inspect.Parameter, c_type: str) -> str:
    """Returns the type of an input, out= or an extra argument of a broadcasting function."""
    if parameter.name != "out" and parameter.kind != parameter.KEYWORD_ONLY:
        return "ArrayLike"
    if "*" in c_type:
        return "_Text | None" if "char" in c_type else "Any"
    words = [word for word in c_type.split() if word != "const"]
    return _KINDS.get(_dtype(load("cwrapjit.kernels.numbers").dtype_of(words)).kind, "Any")


def _results(function: Function) -> str:
    """Returns the type of the results: arrays if the function's signature has dims."""
    outputs = function.signature.partition("->")[2].strip()
    dims = re.findall(r"\w+\(([^()]*)\)", outputs)
    by_output = zip(*(each.partition("-> ")[2].split(", ") for each in function.types), strict=False)
    pairs = zip(dims, by_output, strict=False)
    made = [_array(names[0] if len({*names}) == 1 else "") if dim else "Any" for dim, names in pairs]
    is_tuple = len(made) != 1 or outputs[0] == "("
    return "None" if not made else f"tuple[{', '.join(made)}]" if is_tuple else made[0]
