"""Passes arrays to C as structs (data, shape, strides), as compilers of other languages do.

A C function in front of the real one takes data, shape and strides, and fills the struct as it is declared.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from cwrapjit import _cwrapjit
from cwrapjit.library import types
from cwrapjit.library.declarations import FunctionDeclaration, ParameterDeclaration
from cwrapjit.library.library import Core
from cwrapjit.library.names import qualified
from cwrapjit.library.options import Options, names_of
from cwrapjit.library.signatures import shown
from cwrapjit.library.thunks import Unmapped, Writer, array_length, call_of

_NAMES = {
    "shape": ("shape", "dims", "sizes", "size", "n", "length", "len"),
    "strides": ("strides", "stride"),
    "rank": ("rank", "ndim", "nd"),
}


@dataclasses.dataclass
class Descriptor:
    """The members of such a struct; "" if it has none. Strides count items or bytes."""

    ctype: types.Struct
    item: types.Scalar
    const: bool
    rank: int
    members: dict[str, str]
    is_array: dict[str, bool]
    in_bytes: bool


def read(who: str, ctype: types.Struct, given: Any) -> Descriptor:
    """Reads struct(array=...): True, or names of members by "data", "shape", "strides" and "rank"."""
    members = {each.name: each.type for each in ctype.members or ()}
    names = dict(given) if isinstance(given, Mapping) else {}
    unit = names.pop("unit", "items")
    pointers = [name for name, each in members.items() if isinstance(each, types.Pointer)]
    found = {"data": names.pop("data", pointers[0] if len(pointers) == 1 else "")}
    for role, usual in _NAMES.items():
        found[role] = names.pop(role, next((name for name in usual if name in members), ""))
    if names or unit not in ("items", "bytes") or not all(name in members for name in found.values() if name):
        raise ValueError(
            f"{who}: array= gives names of members by 'data', 'shape', 'strides' and 'rank', not {given!r}"
        )
    data = members.get(found["data"])
    item = data.target if isinstance(data, types.Pointer) else None
    if data is None or not isinstance(item, types.Scalar) or not item.dtype:
        raise TypeError(f"{who}: array=: there must be one pointer to numbers")
    if not found["shape"]:
        raise TypeError(f"{who}: array=: no member says the shape")
    lengths = {role: _length(who, members[found[role]]) for role in ("shape", "strides") if found[role]}
    rank = lengths["shape"] or 1
    if lengths.get("strides", rank) not in (rank, 0 if rank == 1 else rank):
        raise TypeError(f"{who}: array=: shape and strides differ in length")
    is_array = {role: length > 0 for role, length in lengths.items()}
    return Descriptor(ctype, item, data.const, rank, found, is_array, unit == "bytes")


def _length(who: str, ctype: Any) -> int:
    """Returns the length of an array of integers; 0 for one integer."""
    length = 0
    if isinstance(ctype, types.Array):
        length, ctype = array_length(ctype), ctype.item
    if not isinstance(ctype, types.Scalar) or not ctype.is_integer:
        raise TypeError(f"{who}: array=: shape and strides are integers")
    return length


class _Adapter:
    """Builds the function in front of one C function."""

    def __init__(self, library: Core, found: FunctionDeclaration, options: Options) -> None:
        self.library = library
        self.found = found
        self.options = dataclasses.replace(options)
        self.writer = Writer()
        self.parameters: list[ParameterDeclaration] = []
        self.text: list[str] = []  # parameters in C
        self.before: list[str] = []
        self.after: list[str] = []
        self.calls: list[str] = []
        self.types: list[str] = []
        self.strides = dict(options.strides or {})
        given = options.returns
        self.returns = dict(given) if isinstance(given, Mapping) else {}
        self.single = None if isinstance(given, Mapping) else given
        self.out = list(names_of(options.out))

    def descriptor(self, ctype: Any) -> Descriptor | None:
        ctype = ctype.target if isinstance(ctype, types.Pointer) else ctype
        found = self.library.classes.descriptors.get(ctype) if isinstance(ctype, types.Struct) else None
        return found if isinstance(found, Descriptor) else None

    def declare(self, text: str) -> None:
        """Adds parameters, given as C text."""
        parsed = self.library.declarations.read(f"void f({text});", "<array>")
        for each in parsed.functions[0].parameters:
            self.parameters.append(each)
            self.text.append(f"{self.writer.spell(each.type)} {each.name}")

    def take(self, name: str, known: Descriptor, ctype: Any) -> None:
        """Adds a descriptor as parameter."""
        local = f"cwj_{name}"
        self.before.append(f"{self.writer.spell(known.ctype)} {local} = {{0}};")
        by_pointer = isinstance(ctype, types.Pointer)
        if name in self.out:
            if not by_pointer:
                who = qualified(self.library.name, self.found.name)
                raise ValueError(f"{who}(): out= names {name}, which is no pointer")
            self.out.remove(name)
            self.give(name, local, known)
        else:
            self._put_together(name, local, known, by_pointer and ctype.const)
        may_lack = by_pointer and name in names_of(self.options.optional)
        self.calls.append(f"{name} ? " * may_lack + "&" * by_pointer + local + " : 0" * may_lack)
        self.types.append(self.writer.spell(ctype))

    def _put_together(self, name: str, local: str, known: Descriptor, const: bool) -> None:
        dims = [f"{name}_shape_{k}" for k in range(known.rank)]
        const = const or known.const
        shape = "".join(f"[{dim}]" for dim in dims)
        self.declare(f"{'const ' if const else ''}{known.item.spelling} {name}{shape}")
        self.declare(", ".join(f"long {dim}" for dim in dims))
        self.before.append(f"{local}.{known.members['data']} = {name};")
        for k, dim in enumerate(dims):
            self.before.append(f"{_member(local, known, 'shape', k)} = {dim};")
        if known.members["rank"]:
            self.before.append(f"{local}.{known.members['rank']} = {known.rank};")
        for k in range(known.rank if known.members["strides"] else 0):
            stride = f"{name}_stride_{k}"
            self.declare(f"long {stride}")
            self.strides[stride] = (name, k, "first")
            unit = f" * (long)sizeof({self.writer.spell(known.item)})" if known.in_bytes else ""
            self.before.append(f"{_member(local, known, 'strides', k)} = {stride}{unit};")

    def give(self, name: str, local: str, known: Descriptor) -> None:
        """Adds a descriptor that C fills, whose data is a result. Data with gaps becomes NULL, an error."""
        dims = [f"{name}_shape_{k}" for k in range(known.rank)]
        self.declare(f"{known.item.spelling} **{name}, " + ", ".join(f"long *{dim}" for dim in dims))
        for k, dim in enumerate(dims):
            self.after.append(f"*(long *){dim} = {_member(local, known, 'shape', k)};")
        self.after.append(f"*(void **){name} = (void *){local}.{known.members['data']};")
        if known.members["strides"]:
            unit = f"sizeof({self.writer.spell(known.item)})" if known.in_bytes else "1"
            self.after.append(f"long {name}_step = {unit};")
            for k in reversed(range(known.rank)):
                stride = _member(local, known, "strides", k)
                self.after.append(
                    f"if (*(long *){dims[k]} > 1 && {stride} != {name}_step) *(void **){name} = 0;"
                )
                self.after.append(f"{name}_step *= *(long *){dims[k]};")
        given = self.returns.get(name, self.single)
        owner = () if given is None else (given,) if isinstance(given, str) else tuple(given)
        self.returns[name] = (tuple(dims), *(owner or ("none",)))

    def make(self) -> tuple[FunctionDeclaration, Options]:
        found = self.found
        for k, each in enumerate(found.parameters):
            name = each.name or f"arg{k + 1}"
            known = self.descriptor(each.type)
            if known is not None:
                self.take(name, known, each.type)
                continue
            self.parameters.append(dataclasses.replace(each, name=name))
            self.text.append(f"{self.writer.spell(each.type)} {name}")
            self.calls.append(name)
            self.types.append(self.writer.spell(each.type))
        result, keep = found.result, self.descriptor(found.result)
        spelled = self.writer.spell(result)
        address = self.library.code.address(
            found.name, f"{qualified(self.library.name, found.name)}()", function=True
        )
        call = call_of(address, spelled, self.types, self.calls)
        if keep is not None:
            self.before.append(f"{spelled} cwj_r = {call};")
            if isinstance(result, types.Pointer):
                struct = self.writer.spell(keep.ctype)
                self.before.append(f"{struct} cwj_none = {{0}}, *cwj_p = cwj_r ? cwj_r : &cwj_none;")
                for k in range(keep.rank):  # a shape that is not empty, so that NULL is an error
                    self.before.append(f"{_member('cwj_none', keep, 'shape', k)} = 1;")
            self.give("result", "(*cwj_p)" if isinstance(result, types.Pointer) else "cwj_r", keep)
            result = types.Void()
        elif isinstance(result, types.Void):
            self.before.append(f"{call};")
        else:
            self.before.append(f"{spelled} cwj_r = {call};")
            self.after.append("return cwj_r;")
        lines = "".join(f"    {line}\n" for line in [*self.before, *self.after])
        text = f"{self.writer.spell(result)} cwj_adapter({', '.join(self.text) or 'void'})\n{{\n{lines}}}\n"
        optimize = self.writer.optimize(self.library.code.is_by_libtcc(self.found))
        code, addresses = _cwrapjit.compile_thunks(
            self.library.code.environment, self.writer.text() + text, ["cwj_adapter"], optimize
        )
        adapter = dataclasses.replace(found, result=result, parameters=self.parameters)
        adapter.address, adapter.code = addresses[0], code
        options = self.options
        options.strides, options.out = self.strides or None, self.out
        options.returns = self.returns or self.single
        return adapter, options


def adapt(library: Core, found: FunctionDeclaration, options: Options) -> tuple[FunctionDeclaration, Options]:
    """Returns what it is given or, if arrays come as structs, a function in front and its options."""
    adapter = _Adapter(library, found, options)
    if not any(map(adapter.descriptor, [found.result, *(p.type for p in found.parameters)])):
        return found, options
    if found.variadic or found.private or not found.prototyped:
        return found, options
    if adapter.options.doc is None:  # for the user's declaration
        adapter.options.doc = shown(found)
    try:
        return adapter.make()
    except RecursionError:
        raise Unmapped("the declaration is nested too deeply") from None


def _member(local: str, known: Descriptor, role: str, k: int) -> str:
    return f"{local}.{known.members[role]}{f'[{k}]' if known.is_array[role] else ''}"
