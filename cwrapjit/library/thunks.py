"""Writes the C text of thunks: functions that take arguments from slots, and store the result in the first.

The C text contains nothing of the user's text except names of struct members. It calls a C function by its
address, through a pointer of a simplified type: each pointer is a void *, a complex number is a struct of two
numbers (passed in the same registers), and a struct that is passed by value is defined anew, member by
member. Headers and their macros therefore cannot interfere.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np

from cwrapjit._unsupported import built_for
from cwrapjit.library import attributes, constants, types

COMPLEX = "typedef struct { double re, im; } cwj_z;\ntypedef struct { float re, im; } cwj_c;\n"
PREAMBLE = f"""\
{COMPLEX}\
typedef union cwj_slot {{
    long long i; unsigned long long u; double d; float f; void *p; cwj_z z; cwj_c c;
    struct __attribute__((packed)) {{ long double v; }} g; /* slots lie at multiples of 8 */
}} cwj_slot;
"""


class Unmapped(Exception):
    """Says why a declaration cannot be mapped."""


class Unsized(Unmapped):
    """No argument determines a dim of a result."""


class Classless(Unmapped):
    """A struct has no Python class yet: struct() or handle() may still make one."""

    def __init__(self, struct: Any, reason: str) -> None:
        super().__init__(reason)
        self.struct = struct


@dataclasses.dataclass
class Thunk:
    """The call of a function. references: numbers (from 1) of integer parameters that C takes by address."""

    result: Any
    parameters: list[Any]
    references: set[int] = dataclasses.field(default_factory=set)
    discards: bool = False  # the result is not stored
    fixed: int = -1  # of a variadic function: how many parameters precede the dots


# Size and alignment of members of types that libtcc does not have.
_STRANGE = {"__int128": (16, 16), "_Float128": (16, 16), "_Float16": (2, 2), "long double _Complex": (32, 16)}


class Writer:
    """Collects the thunks of one unit. only_layouts: no struct is passed by value."""

    def __init__(self, only_layouts: bool = False) -> None:
        self.only_layouts = only_layouts
        self.parts = [PREAMBLE]
        self.structs: dict[types.Struct, str] = {}
        self.names: list[str] = []
        self.needs_compiler = False
        self.most_aligned = 0  # attributes' alignment of structs by value, for libtcc 16 at most

    def text(self) -> str:
        return "".join(self.parts)

    def optimize(self, by_libtcc: bool) -> bool:
        """True if the C compiler must compile the unit. Code of libtcc that calls it, or is called, passes
        some structs in its own way: then it must not."""
        if by_libtcc and self.most_aligned > 16:
            raise Unmapped("libtcc does not pass what is aligned to more than 16 bytes by value")
        return self.needs_compiler and not by_libtcc

    def add(self, thunk: Thunk, target: str) -> str:
        """Adds a thunk; `target` is the function's address as a C integer. Returns the thunk's name."""
        name = f"cwj_thunk_{len(self.names)}"
        kinds = [self.spell(each) for each in thunk.parameters]
        result = self.spell(thunk.result)
        lines, given = [], []
        # On arm64, libtcc reads a float through a register that has part of a struct already.
        in_locals = any(isinstance(each, types.Struct) for each in thunk.parameters)
        for k, ctype in enumerate(thunk.parameters, 1):
            if in_locals and k not in thunk.references and not 0 <= thunk.fixed < k:
                lines.append(f"    {self.spell(ctype)} cwj_{k} = {load(ctype, k, self)};\n")
                given.append(f"cwj_{k}")
            elif k in thunk.references:
                lines.append(f"    {self.spell(ctype.target)} cwj_{k} = {load(ctype.target, k, self)};\n")
                given.append(f"&cwj_{k}")
            elif 0 <= thunk.fixed < k:
                given.append(promoted(ctype, load(ctype, k, self)))
            else:
                given.append(load(ctype, k, self))
        call = call_of(target, result, kinds, given, thunk.fixed)
        lines.append(f"    {call if thunk.discards else self._assignment(thunk.result, call)};\n")
        self.parts.append(f"void {name}(cwj_slot *s)\n{{\n{''.join(lines)}}}\n")
        self.names.append(name)
        return name

    def _assignment(self, result: Any, call: str) -> str:
        if isinstance(result, types.Void):
            return call
        if isinstance(result, types.Scalar):
            return f"s[0].{result.field} = {call}"
        if isinstance(result, types.Struct):
            return f"*({self.spell(result)} *)s[0].p = {call}"
        return f"s[0].p = (void *){call}"

    def spell(self, ctype: Any) -> str:
        """Returns the type as C text of the unit."""
        if isinstance(ctype, types.Scalar):
            return {"complex128": "cwj_z", "complex64": "cwj_c"}.get(ctype.dtype, ctype.spelling)
        if isinstance(ctype, types.Void):
            return "void"
        if isinstance(ctype, types.Struct):
            self.needs_compiler = self.needs_compiler or passes_wrongly(ctype)
            self.most_aligned = max(self.most_aligned, types.asked_alignment(ctype))
            return self._struct(ctype)
        return "void *"

    def _struct(self, struct: types.Struct) -> str:
        if struct not in self.structs:
            tag = f"{struct.kind} cwj_struct_{len(self.structs)}"
            self.structs[struct] = tag
            if struct.members is None:
                reason = attributes.REASON if struct.altered else "it is not complete"
                raise Unmapped(f"{types.show(struct)}: {reason}")
            # Structs inside come first: spell() appends their definitions.
            self.parts.append(definition(struct, tag, self._members(struct)))
        return self.structs[struct]

    def _members(self, struct: types.Struct) -> str:
        if _is_misplaced(struct):
            why = "libtcc aligns it in its own way, for a bit-field that has no name"
            raise Unmapped(f"{types.show(struct)}: {why}")
        return " ".join(self._member(each) for each in struct.members or ())

    def _member(self, member: types.Member) -> str:
        ctype = member.type
        if member.bits >= 0:
            return f"{self.spell(ctype)} {member.name}:{member.bits};"
        if not member.name and isinstance(ctype, types.Struct):  # its members are members of the outer struct
            return f"{ctype.kind} {attributes_of(ctype)}{{ {self._members(ctype)} }};"
        ctype, layers = types.peeled(ctype)
        if self.only_layouts and layers and is_flexible(layers[0]):
            layers = [types.Array(layers[0].item, None), *layers[1:]]
            dims = "[0]" + "".join(f"[{array_length(each)}]" for each in layers[1:])
        else:
            dims = "".join(f"[{array_length(each)}]" for each in layers)
        if self.only_layouts and isinstance(ctype, types.Scalar) and ctype.spelling in _STRANGE:
            size, alignment = _STRANGE[ctype.spelling]
            return (
                f"struct {{ char cwj_bytes[{size}]; }} "
                f"__attribute__((aligned({alignment}))) {member.name}{dims};"
            )
        unknown = isinstance(ctype, types.Scalar) and not ctype.dtype
        if unknown or isinstance(ctype, types.Unknown):
            raise Unmapped(f"its member {member.name} has no type that is mapped")
        return f"{self.spell(ctype)} {member.name}{dims}{aligned(member)};"


def definition(struct: types.Struct, tag: str, members: str) -> str:
    """Returns C text that defines a struct with its layout."""
    text = f"{struct.kind} {attributes_of(struct)}{tag.split()[1]} {{ {members} }};\n"
    return f"#pragma pack(push, {struct.pack})\n{text}#pragma pack(pop)\n" if struct.pack > 1 else text


def aligned(member: types.Member) -> str:
    return f" __attribute__((aligned({member.align})))" if member.align else ""


def attributes_of(struct: types.Struct) -> str:
    said = ["packed"] * (struct.pack == 1) + [f"aligned({struct.align})"] * (struct.align > 0)
    return f"__attribute__(({', '.join(said)})) " if said else ""


def is_flexible(array: types.Array) -> bool:
    """True for the last member of a struct if its length is that of the memory: x[], or GNU's x[0]."""
    return array.dim is None or getattr(array.dim, "value", "") == "0"


def is_open(ctype: Any) -> bool:
    """True if its last member is such an array, or a struct with one."""
    if isinstance(ctype, types.Struct):
        members = ctype.members or []
        return ctype.kind == "struct" and bool(members) and is_open(members[-1].type)
    return isinstance(ctype, types.Array) and is_flexible(ctype)


def array_length(array: types.Array) -> int:
    """Returns the length of a member or variable."""
    if array.dim is None:
        raise Unmapped("an array without length")
    try:
        length = constants.of_tree(array.dim, lambda name: None, types.of_words)
    except constants.NotConstant as error:
        raise Unmapped(f"the length of an array: {error}") from None
    if not 0 < length < 2**31:
        raise Unmapped(f"an array of length {length}")
    return length


def size_of(ctype: Any) -> int:
    """Returns the bytes of a value. Raises Unmapped if they are unknown."""
    for each in types.parts(ctype):
        is_struct = isinstance(each, types.Struct)
        is_plain = is_struct and each.members is not None and not types.is_laid_out(each)
        has_bits = is_struct and any(member.bits >= 0 for member in each.members or ())
        if (is_struct and (not is_plain or has_bits)) or isinstance(each, (types.Void, types.Unknown)):
            raise Unmapped(f"the size of {types.show(each)} is not known")
    for layer in types.peeled(ctype)[1]:
        array_length(layer)
    return _measure(ctype)[0]


def load(ctype: Any, k: int, writer: Writer) -> str:
    """Returns the content of slot k in the type of the C function."""
    if isinstance(ctype, types.Scalar):
        field = ctype.field
        return f"s[{k}].{field}" if field in "dfzc" else f"({writer.spell(ctype)})s[{k}].{field}"
    if isinstance(ctype, types.Struct):
        return f"*({writer.spell(ctype)} *)s[{k}].p"
    return f"s[{k}].p"


def promoted(ctype: Any, value: str) -> str:
    """Converts a value after the dots: C makes doubles of floats, and ints of narrower integers."""
    if isinstance(ctype, types.Scalar) and ctype.dtype == "float32":
        return f"(double){value}"
    if isinstance(ctype, types.Scalar) and ctype.dtype in ("bool", "int8", "uint8", "int16", "uint16"):
        return f"(int){value}"
    return value


def call_of(address: Any, result: str, kinds: list[str], given: Iterable[str], fixed: int = -1) -> str:
    """Returns the call of a function by its address. fixed: how many parameters precede the dots, or -1."""
    parameters = ", ".join(kinds if fixed < 0 else [*kinds[:fixed], "..."]) or "void"
    return f"(({result} (*)({parameters})){address})({', '.join(given)})"


# ---- what libtcc passes wrongly ------------------------------------------------------------------


def passes_wrongly(struct: types.Struct) -> bool:
    """True if libtcc would pass it wrongly by value."""
    if types.is_laid_out(struct):
        return True
    if built_for()[0] == "aarch64":
        # arrays of one to four floating numbers of one kind, which go into registers of their own
        _, count, in_arrays = _equal_floats(struct) or (0, 0, False)
        return count <= 4 and in_arrays
    # up to 16 bytes with floating members, and integers, arrays or a long double
    size, _, floating, integer = _measure(struct)
    has_long_double = any(getattr(each, "spelling", "") == "long double" for each in types.parts(struct))
    return size <= 16 and floating and (integer or has_long_double)


def _equal_floats(ctype: Any) -> tuple[int, int, bool] | None:
    """Returns size and number of floats, and whether there are arrays. None: they are not all of one kind."""
    if isinstance(ctype, types.Scalar) and ctype.dtype and (ctype.is_real or ctype.is_complex):
        count = 2 if ctype.is_complex else 1
        return np.dtype(ctype.dtype).itemsize // count, count, False
    if isinstance(ctype, types.Array):
        inner = _equal_floats(ctype.item)
        return inner and (inner[0], inner[1] * array_length(ctype), True)
    if not isinstance(ctype, types.Struct):
        return None
    sizes, counts, in_arrays = set(), [0], False
    for member in ctype.members or ():
        inner = _equal_floats(member.type)
        if inner is None or member.bits >= 0:
            return None
        sizes.add(inner[0])
        counts.append(inner[1])
        in_arrays = in_arrays or inner[2]
    count = max(counts) if ctype.kind == "union" else sum(counts)
    return (sizes.pop(), count, in_arrays) if len(sizes) == 1 else None


def _is_misplaced(struct: types.Struct) -> bool:
    """True if a nameless bit-field aligns it for libtcc alone (x86-64), or for all others alone (arm64)."""
    nameless = [_measure(each.type)[1] for each in struct.members or () if each.bits >= 0 and not each.name]
    return bool(nameless) and max(nameless) > _measure(struct)[1]


def _measure(ctype: Any) -> tuple[int, int, bool, bool]:
    """Returns size, alignment, and whether there are floating and integer parts."""
    if isinstance(ctype, types.Struct):
        size, alignment, floating, integer = 0, 1, False, False
        for member in ctype.members or ():
            if member.bits >= 0:  # size 0 rather than too much: then the C compiler passes it
                alignment = max(alignment, _measure(member.type)[1]) if member.name else alignment
                integer = True
                continue
            inner, align, has_floating, has_integer = _measure(member.type)
            if ctype.kind == "union":
                size = max(size, inner)
            else:
                size = (size + align - 1) // align * align + inner
            alignment = max(alignment, align)
            floating, integer = floating or has_floating, integer or has_integer
        return (size + alignment - 1) // alignment * alignment, alignment, floating, integer
    if isinstance(ctype, types.Array):
        inner, align, has_floating, has_integer = _measure(ctype.item)
        # libtcc takes an array inside a struct for a pointer: floats go into integer registers.
        has_integer = has_integer or has_floating
        try:
            return inner * array_length(ctype), align, has_floating, has_integer
        except Unmapped:
            return inner, align, has_floating, has_integer
    if isinstance(ctype, types.Scalar) and ctype.dtype:
        size = np.dtype(ctype.dtype).itemsize
        if ctype.is_complex:
            return size, size // 2, True, False
        return size, size, ctype.is_real, not ctype.is_real
    return (16, 16, True, False) if isinstance(ctype, types.Scalar) else (8, 8, False, True)
