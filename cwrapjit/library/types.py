"""C types, as far as calls need them, on 64-bit Linux: int has 32 bits, long and pointers 64.

A C spelling is built from what was parsed, never from the user's text.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any, TypeGuard

from cwrapjit._unsupported import built_for
from cwrapjit.library import constants
from cwrapjit.library.constants import text_of


@dataclasses.dataclass(frozen=True)
class Scalar:
    """A number. `dtype` is NumPy's name, "" if it has none; C's int and its enums are "intc"."""

    spelling: str
    dtype: str
    alias: str = ""  # the typedef's or enum's name that the declaration used
    counts: bool = dataclasses.field(default=False, compare=False)  # an enum without negative values
    values: dict[str, int] | None = dataclasses.field(default=None, compare=False)  # an enum's, by name

    @property
    def field(self) -> str:
        """Returns the member of a slot that holds it."""
        return _FIELDS.get(self.dtype, "i" if self.dtype[:3] == "int" else "u")

    @property
    def is_integer(self) -> bool:
        return self.dtype[:3] == "int" or self.dtype[:4] == "uint"

    @property
    def is_signed(self) -> bool:
        """True for an integer that C lets be negative. The dtype of char is int8 on all machines."""
        return self.dtype[:3] == "int" and (self.spelling != "char" or constants.CHAR_IS_SIGNED)

    @property
    def is_real(self) -> bool:
        return self.dtype in ("float32", "float64", "longdouble")

    @property
    def is_complex(self) -> bool:
        return self.dtype[:7] == "complex"

    @property
    def is_character(self) -> bool:
        """C's own char: text. signed char and unsigned char are bytes, or numbers."""
        return self.is_byte and self.spelling == "char"

    @property
    def value_type(self) -> str:
        """Returns its type in Python: its dtype, or "char" for a character."""
        return "char" if self.is_character else self.dtype

    @property
    def is_octet(self) -> bool:
        """True if options can make it text."""
        return self.spelling in _BYTES

    @property
    def is_byte(self) -> bool:
        """True for char, which is text or bytes, not a number (int8_t, npy_uint8, ... are numbers)."""
        return self.is_octet and self.alias not in _SMALL_NUMBERS


_BYTES = ("char", "signed char", "unsigned char")
_SMALL_NUMBERS = frozenset("int8_t uint8_t npy_int8 npy_uint8 npy_byte npy_ubyte".split())
_FIELDS = {
    "float64": "d", "float32": "f", "longdouble": "g.v", "complex128": "z", "complex64": "c", "bool": "i",
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Void:
    alias: str = ""


@dataclasses.dataclass(frozen=True)
class Pointer:
    target: Any
    const: bool = False  # of the target
    alias: str = ""


@dataclasses.dataclass(frozen=True)
class Array:
    """`dim` is a syntax tree of pycparser; None for [] and [*]."""

    item: Any
    dim: Any
    const: bool = False
    alias: str = ""


@dataclasses.dataclass(frozen=True)
class Callable:
    """A function or, if it is `pointed`, a pointer to one. As parameters both are the same."""

    alias: str = ""
    result: Any = None
    names: tuple[str, ...] = ()  # of the parameters, "" where the declaration has none
    parameters: tuple[Any, ...] = ()
    variadic: bool = False
    prototyped: bool = True
    pointed: bool = False


@dataclasses.dataclass(frozen=True)
class Unknown:
    """A type that cannot be mapped, and why."""

    reason: str
    alias: str = ""


@dataclasses.dataclass(frozen=True)
class Member:
    name: str  # "": a struct whose members are the outer one's, or bits that fill a gap
    type: Any
    bits: int = -1  # the width of a bit-field
    align: int = 0  # an attribute's; 0: that of the type


@dataclasses.dataclass(eq=False)
class Struct:
    """A struct or union, incomplete while `members` is None. There is one per tag, alias or body."""

    kind: str  # "struct" or "union"
    tag: str
    alias: str = ""
    members: list[Member] | None = None
    in_header: bool = False  # the library's header defines it
    altered: bool = False  # it has attributes that are not mapped, and stays incomplete
    pack: int = 0  # the greatest alignment of members; 0: no limit
    align: int = 0  # an attribute's; 0: that of the members
    label: str = ""  # its class's name if C has none, or does not show the type
    united: Struct | None = None  # the type that this one was found to be

    @property
    def class_name(self) -> str:
        """Returns Python's name. A type that users only know by pointers is named like these."""
        is_hidden = self.members is None and self.label
        return self.alias or (self.label if is_hidden else self.tag) or self.label

    @property
    def is_name_only(self) -> bool:
        """True if only handle("rng *") has named it, and no C text says which struct it is."""
        return not self.tag and self.members is None and bool(self.alias) and not self.altered

    @property
    def name(self) -> str:
        """Returns its name in C code."""
        return f"{self.kind} {self.tag}" if self.tag else self.alias


INT = Scalar("int", "intc")

# Words of a declaration in alphabetical order -> the type.
BASIC: dict[tuple[str, ...], Any] = {
    ("void",): Void(),
    ("char",): Scalar("char", "int8"),
    ("char", "signed"): Scalar("signed char", "int8"),
    ("char", "unsigned"): Scalar("unsigned char", "uint8"),
    ("short",): Scalar("short", "int16"),
    ("short", "unsigned"): Scalar("unsigned short", "uint16"),
    ("int",): INT,
    ("signed",): INT,
    ("unsigned",): Scalar("unsigned int", "uint32"),
    ("long",): Scalar("long", "int64"),
    ("long", "unsigned"): Scalar("unsigned long", "uint64"),
    ("long", "long"): Scalar("long long", "int64"),
    ("long", "long", "unsigned"): Scalar("unsigned long long", "uint64"),
    ("float",): Scalar("float", "float32"),
    ("double",): Scalar("double", "float64"),
    ("double", "long"): Scalar("long double", "longdouble"),
    ("_Bool",): Scalar("_Bool", "bool"),
    ("_Complex", "double"): Scalar("double _Complex", "complex128"),
    ("_Complex", "float"): Scalar("float _Complex", "complex64"),
    ("_Complex", "double", "long"): Scalar("long double _Complex", ""),
    ("__int128",): Scalar("__int128", ""),
    ("_Float16",): Scalar("_Float16", ""),
    ("_Float128",): Scalar("_Float128", ""),
}


def basic(words: list[str]) -> Any:
    """Returns the type of words such as ["unsigned", "long", "int"], or None."""
    key = tuple(sorted(words))
    if key in BASIC:
        return BASIC[key]
    shorter = list(key)
    if "int" in shorter and len(shorter) > 1:
        shorter.remove("int")
    if "signed" in shorter and len(shorter) > 1 and "char" not in shorter:
        shorter.remove("signed")
    return BASIC.get(tuple(shorter))


def _known(dtype: str, spelling: str, *names: str) -> dict[str, Any]:
    return {name: Scalar(spelling, dtype, name) for name in names}


# Types that <stdint.h>, <stddef.h>, <stdbool.h>, <complex.h>, <sys/types.h> and <stdio.h> define.
KNOWN: dict[str, Any] = {
    **_known("int8", "signed char", "int8_t", "int_least8_t", "int_fast8_t"),
    **_known("int16", "short", "int16_t", "int_least16_t"),
    "int32_t": Scalar("int", "int32", "int32_t"),
    "int_least32_t": Scalar("int", "int32", "int_least32_t"),
    **_known("int64", "long", "int64_t", "int_least64_t", "int_fast16_t", "int_fast32_t", "int_fast64_t"),
    **_known("int64", "long", "intmax_t", "intptr_t", "ptrdiff_t", "ssize_t", "off_t", "time_t"),
    **_known("uint8", "unsigned char", "uint8_t", "uint_least8_t", "uint_fast8_t"),
    **_known("uint16", "unsigned short", "uint16_t", "uint_least16_t"),
    **_known("uint32", "unsigned int", "uint32_t", "uint_least32_t"),
    **_known("uint64", "unsigned long", "uint64_t", "uint_least64_t", "uint_fast16_t", "uint_fast32_t"),
    **_known("uint64", "unsigned long", "uint_fast64_t", "uintmax_t", "uintptr_t", "size_t"),
    **_known(*(("int32", "int") if built_for()[0] == "x86_64" else ("uint32", "unsigned int")), "wchar_t"),
    "bool": Scalar("_Bool", "bool", "bool"),
    "FILE": Unknown("FILE is a stream of the C library", "FILE"),
    "va_list": Unknown("va_list is a list of variable arguments", "va_list"),
    "__builtin_va_list": Unknown("va_list is a list of variable arguments"),
}


def of_words(node: Any) -> Any:
    """Returns the type of a syntax tree if it consists of C's own words, else None."""
    words = getattr(getattr(node.type, "type", None), "names", None)
    return basic(list(words)) or KNOWN.get(" ".join(words)) if words else None


def final(struct: Struct) -> Struct:
    """Returns the type that a struct was found to be."""
    while struct.united is not None:
        struct = struct.united
    return struct


def with_alias(ctype: Any, alias: str) -> Any:
    """Returns the type under the name of a typedef."""
    if isinstance(ctype, Struct):
        if not ctype.alias:
            ctype.alias = alias
        return ctype
    if isinstance(ctype, Scalar) and ctype.alias in KNOWN:
        return ctype  # a typedef of uint8_t is a number, too
    return dataclasses.replace(ctype, alias=alias)


def with_const_items(ctype: Any) -> Any:
    """Makes the items of a typedef's array const. Returns other types unchanged."""
    if not isinstance(ctype, Array):
        return ctype
    return dataclasses.replace(ctype, item=with_const_items(ctype.item), const=True)


def is_object(ctype: Any) -> bool:
    """True for PyObject *."""
    target = ctype.target if isinstance(ctype, Pointer) else None
    return isinstance(target, Struct) and (target.tag == "_object" or target.alias == "PyObject")


def replaced(ctype: Any, before: Any, now: Any) -> Any:
    """Returns the type with `now` in place of `before`."""
    if ctype == before:
        return now
    if isinstance(ctype, Pointer):
        return dataclasses.replace(ctype, target=replaced(ctype.target, before, now))
    return ctype


def holds(ctype: Any, wanted: Struct) -> bool:
    """True if values of ctype are or contain a `wanted`. What pointers point to does not count."""
    return any(each is wanted for each in parts(ctype))


def has_pointers(ctype: Any) -> bool:
    """True if values of ctype may contain addresses."""
    kinds = (Pointer, Callable, Unknown)
    return incomplete_inside(ctype) is not None or any(isinstance(each, kinds) for each in parts(ctype))


def incomplete_inside(ctype: Any) -> Struct | None:
    """Returns a struct without known members that is part of ctype, or None."""
    return next((each for each in parts(ctype) if isinstance(each, Struct) and each.members is None), None)


def is_laid_out(ctype: Any) -> bool:
    """True if attributes say how values of ctype lie in memory."""
    structs = [each for each in parts(ctype) if isinstance(each, Struct)]
    return any(each.pack or each.align or any(m.align for m in each.members or ()) for each in structs)


def asked_alignment(ctype: Any) -> int:
    """Returns the largest alignment that attributes ask for, or 0."""
    structs = [each for each in parts(ctype) if isinstance(each, Struct)]
    return max([0, *(each.align for each in structs), *(m.align for s in structs for m in s.members or ())])


def peeled(ctype: Any) -> tuple[Any, list[Array]]:
    """Returns the items of nested arrays, and the layers. Other types have no layers."""
    layers = []
    while isinstance(ctype, Array):
        layers.append(ctype)
        ctype = ctype.item
    return ctype, layers


def target_of(ctype: Any) -> Any:
    """Returns what a parameter points to; None: it is no pointer."""
    return ctype.target if isinstance(ctype, Pointer) else ctype.item if isinstance(ctype, Array) else None


def is_one_struct(ctype: Any) -> TypeGuard[Array]:
    """True for T x[1] of a struct: GMP and others pass pointers so, by a typedef."""
    item, layers = peeled(ctype)
    return isinstance(item, Struct) and len(layers) == 1 and _length(layers[0]) == 1


def parts(ctype: Any) -> Iterator[Any]:
    """Yields ctype, its members, and theirs."""
    seen: set[int] = set()
    left = [ctype]
    while left:
        each, _ = peeled(left.pop())
        yield each
        if isinstance(each, Struct) and id(each) not in seen:
            seen.add(id(each))
            left += [member.type for member in each.members or ()]


def same(one: Any, other: Any) -> bool:
    """True if two types, of members that were declared twice, are the same in C."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, Scalar):
        return (one.spelling, one.dtype) == (other.spelling, other.dtype)
    if isinstance(one, Pointer):
        return one.const == other.const and same(one.target, other.target)
    if isinstance(one, Array):
        return _length(one) == _length(other) and same(one.item, other.item)
    if isinstance(one, Struct):
        if one.kind != other.kind or one.tag != other.tag or None in (one.members, other.members):
            return one.tag != "" and one.name == other.name
        return (one.pack, one.align, [(each.name, each.bits, each.align) for each in one.members or ()]) == (
            other.pack,
            other.align,
            [(each.name, each.bits, each.align) for each in other.members or ()],
        ) and all(same(a.type, b.type) for a, b in zip(one.members or (), other.members or (), strict=True))
    return isinstance(one, (Void, Callable)) or bool(one == other)


def _length(array: Array) -> int | str:
    """Returns the length, or its C text if it is not known yet."""
    try:
        return "" if array.dim is None else constants.of_tree(array.dim, lambda name: None, of_words)
    except constants.NotConstant:
        return text_of(array.dim)


def dims(layers: Iterable[Array]) -> str:
    return "".join(f"[{_length(each)}]" for each in layers)


def body(struct: Struct) -> str:
    """Shows the members as C does."""
    shown = []
    for member in struct.members or ():
        ctype, layers = peeled(member.type)
        bits = f":{member.bits}" if member.bits >= 0 else ""
        shown.append(f"{show(ctype)} {member.name}{dims(layers)}{bits};".replace("* ", "*"))
    return f"{'packed ' * bool(struct.pack)}{{ {' '.join(shown)} }}"


def is_data(ctype: Any) -> bool:
    """True for void *, which may be user data."""
    return isinstance(ctype, Pointer) and isinstance(ctype.target, Void) and not ctype.const


def place_of_data(ctype: Any) -> int:
    """Returns the index of a function's user data, its only void *, or -1."""
    found = [k for k, each in enumerate(getattr(ctype, "parameters", ())) if is_data(each)]
    return found[0] if len(found) == 1 and isinstance(ctype, Callable) else -1


def function_of(ctype: Any) -> Any:
    """Returns the function that a type is or points to. Returns other types unchanged."""
    is_pointer = isinstance(ctype, Pointer) and isinstance(ctype.target, Callable)
    return ctype.target if is_pointer and not ctype.target.pointed else ctype


def is_function(ctype: Any) -> bool:
    return isinstance(function_of(ctype), Callable)


def declared(function: Callable, name: str = "") -> str:
    """Returns a pointer to a function as C declares it: int (*compare)(const void *a, const void *b)."""
    shown = []
    for ctype, each in zip(function.parameters, function.names, strict=True):
        word = show(ctype)
        shown.append(f"{word}{'' if word.endswith('*') or not each else ' '}{each}")
    if function.variadic:
        shown.append("...")
    return f"{show(function.result)} (*{name})({', '.join(shown) or ('void' if function.prototyped else '')})"


def item_name(ctype: Any) -> str:
    """Returns a Pointer's item: NumPy's name of a number, "" for void, C's name of anything else."""
    if isinstance(ctype, Void):
        return ""
    if isinstance(ctype, Scalar) and ctype.dtype:
        return {"intc": "int32", "uintc": "uint32"}.get(ctype.dtype, ctype.dtype)
    return show(ctype)


def show(ctype: Any) -> str:
    """Returns the type as messages show it."""
    alias = getattr(ctype, "alias", "")
    if alias and not isinstance(ctype, Struct):
        return str(alias)
    if isinstance(ctype, Scalar):
        return ctype.spelling
    if isinstance(ctype, Void):
        return "void"
    if isinstance(ctype, (Pointer, Array)):
        inner = ctype.target if isinstance(ctype, Pointer) else ctype.item
        const = "const " if ctype.const else ""
        shown = show(inner)
        return f"{const}{shown}{'' if shown.endswith('*') else ' '}*"
    if isinstance(ctype, Struct):
        return ctype.alias or ctype.name or "an unnamed struct"
    if isinstance(ctype, Callable):
        return declared(ctype)
    return "an unknown type"
