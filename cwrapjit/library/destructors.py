"""Reads free=, which says how objects of a class end.

It is the name of a C function that takes the object alone, or a call: "GEOSGeom_destroy_r(context, self)",
"umfpack_di_free_symbolic(&self)", "ffclos(self, &(int){0})". `self` is the object. A name that is no constant
of the library is bound: it is the parameter of that name (or else the only one of that type) of the function
that returns the object. The argument for it lives as long as the object.
"""

from __future__ import annotations

import dataclasses
import re
import weakref
from typing import TYPE_CHECKING, Any

from cwrapjit import _cwrapjit
from cwrapjit._tokens import arguments, with_names
from cwrapjit.library import types
from cwrapjit.library.declarations import FunctionDeclaration, ParameterDeclaration
from cwrapjit.library.library import Core
from cwrapjit.library.thunks import Unmapped, Writer, call_of, load

if TYPE_CHECKING:
    from cwrapjit.library.mapping import Mapper

_MOST_BOUND = 8
_CALL = re.compile(r"\s*([A-Za-z_]\w*)\s*\((.*)\)\s*;?\s*", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_]\w*")


@dataclasses.dataclass(frozen=True)
class Destructor:
    name: str  # the C function's
    address: int
    place: int = 0  # index of the object among `count` arguments
    count: int = 1
    bound: tuple[ParameterDeclaration, ...] = ()  # its other arguments, with their types
    end: int = 0  # address of void end(void *self, const cwj_slot *bound); 0: C's function is called directly
    code: Any = None  # owner of that code


NONE = Destructor("", 0)
OF_CLASSES: weakref.WeakKeyDictionary[type, Destructor] = weakref.WeakKeyDictionary()


def read(library: Core, text: Any, who: str, struct: types.Struct) -> Destructor:
    """Reads free= of a struct. AttributeError, TypeError or ValueError: it cannot free the objects."""
    if not isinstance(text, str):
        raise TypeError(f"{who}: the name of a C function, or a call of one, not {type(text).__name__}")
    if _NAME.fullmatch(text):
        return Destructor(library.declarations.name_in_c(text), address_of(library, text, who))
    match = _CALL.fullmatch(text)
    if match is None:
        raise ValueError(
            f"{who}: {text!r} should be the name of a C function, or a call of one: 'end_it(context, self)'"
        )
    name = library.declarations.name_in_c(match[1])
    found, address = library.prototype(name), library.code.address(name, who, function=True)
    if found is None or not found.prototyped:
        raise TypeError(f"{who}: {match[1]}() is not declared, and the types of its parameters are unknown")
    given = arguments(match[2])
    if found.variadic or len(given) != len(found.parameters):
        raise ValueError(
            f"{who}: {match[1]}() takes {len(found.parameters)} parameters{' and more' * found.variadic}, "
            f"not the {len(given)} of {text!r}"
        )
    return _Reader(library, who, text, struct).compiled(found, given, address)


def address_of(library: Core, name: str, who: str) -> int:
    """Returns the address of a C function that frees what its only parameter points to."""
    symbol = library.declarations.name_in_c(name)
    declared, address = library.prototype(symbol), int(library.code.address(symbol, who, function=True))
    if declared is not None:
        check(declared, who)
    elif library.variable_at(symbol):
        raise library.code.is_no_function(symbol, who)
    return address


def check(found: FunctionDeclaration, who: str) -> None:
    if found.prototyped and len(found.parameters) != 1:
        raise ValueError(
            f"{who}: {found.name}() takes {len(found.parameters)} parameters: what frees an object takes "
            "a pointer to it; a call says what else, self being the object: free='end_it(context, self)'"
        )
    if found.prototyped and types.target_of(found.parameters[0].type) is None:
        raise ValueError(f"{who}: {found.name}() takes no pointer to what it should free")


class _Reader:
    def __init__(self, library: Core, who: str, text: str, struct: types.Struct) -> None:
        self.library = library
        self.who = who
        self.text = text
        self.struct = struct
        self.places: list[int] = []  # indices of the object
        self.bound: list[ParameterDeclaration] = []
        self.writer = Writer()

    def compiled(self, found: FunctionDeclaration, given: list[str], address: int) -> Destructor:
        try:
            spelled = [self.writer.spell(each.type) for each in found.parameters]
            result = self.writer.spell(found.result)
            words = [self._argument(k, each, found.parameters[k]) for k, each in enumerate(given)]
        except Unmapped as reason:
            raise TypeError(f"{self.who}: {found.name}() cannot be called: {reason}") from None
        if len(self.places) != 1:
            raise ValueError(f"{self.who}: {self.text!r} should have self once: the object that it ends")
        if len(self.bound) > _MOST_BOUND:
            raise ValueError(f"{self.who}: {self.text!r} has more than {_MOST_BOUND} names")
        call = call_of(address, result, spelled, words)
        body = f"void cwj_end(void *self, const cwj_slot *s)\n{{\n    (void)s;\n    {call};\n}}\n"
        try:
            environment, text = self.library.code.environment, self.writer.text() + body
            code, (end,) = _cwrapjit.compile_thunks(
                environment, text, ["cwj_end"], self.writer.needs_compiler
            )
        except _cwrapjit.CompileError as error:
            raise ValueError(f"{self.who}: {self.text!r} does not compile: {error.msg}") from None
        return Destructor(found.name, address, self.places[0], len(given), tuple(self.bound), end, code)

    def _argument(self, k: int, given: str, wanted: ParameterDeclaration) -> str:
        """Returns the argument as C text of the unit."""
        by_address = given.replace(" ", "") == "&self"
        if given == "self" or by_address:
            self._check_object(wanted, by_address)
            self.places.append(k)
            return "&self" if by_address else "self"
        if not _NAME.fullmatch(given) or given == "NULL" or self.library.values.of(given) is not None:
            return f"({with_names(given, self._constant)})"
        if given not in [each.name for each in self.bound]:
            self.bound.append(ParameterDeclaration(given, wanted.type))
        place = [each.name for each in self.bound].index(given)
        if not _may_be_bound(wanted.type):
            raise TypeError(
                f"{self.who}: {given} is a {types.show(wanted.type)}, and what can be bound are pointers to "
                "structs, void * and numbers"
            )
        return load(wanted.type, place, self.writer)

    def _check_object(self, wanted: ParameterDeclaration, by_address: bool) -> None:
        target = types.target_of(wanted.type)
        if by_address and target is not None and not isinstance(target, types.Void):
            target = target.target if isinstance(target, types.Pointer) else None
        if target is None or (isinstance(target, types.Struct) and types.final(target) != self.struct):
            raise TypeError(
                f"{self.who}: {self.text!r} gives a {types.show(self.struct)} where C wants a "
                f"{types.show(wanted.type)}"
            )

    def _constant(self, name: str) -> str:
        """Replaces enumerators and macros by their values."""
        value = self.library.values.of(name) if name != "NULL" else None
        return name if value is None or isinstance(value, str) else repr(value)


def _may_be_bound(ctype: Any) -> bool:
    if isinstance(ctype, types.Scalar):
        return ctype.is_integer or ctype.is_real
    return isinstance(ctype, types.Pointer) and isinstance(ctype.target, (types.Struct, types.Void))


# ---- destructors of classes ------------------------------------------------------------------------


def of(cls: type) -> Destructor:
    return OF_CLASSES.get(cls, NONE)


def places(mapper: Mapper, cls: type) -> tuple[int, ...]:
    """Returns the parameters that the result's destructor needs. Raises Unmapped if one is missing."""
    return tuple(_place(mapper, each, cls) for each in of(cls).bound)


def _place(mapper: Mapper, wanted: ParameterDeclaration, cls: type) -> int:
    options = mapper.options
    others = {*options.out, *options.inout, *options.hidden}
    slots = enumerate(mapper.slots)
    fitting = [k for k, slot in slots if _agree(slot.type, wanted.type) and slot.name not in others]
    named = [k for k in fitting if mapper.slots[k].name == wanted.name]
    if not named and len(fitting) != 1:
        raise Unmapped(
            f"{of(cls).name}() frees each {cls.__name__} with {wanted.name}, a {types.show(wanted.type)}, "
            f"and {'more than one parameter' if fitting else 'no parameter'} has that type"
        )
    return (named or fitting)[0]


def _agree(given: Any, wanted: Any) -> bool:
    if isinstance(wanted, types.Scalar):
        both = isinstance(given, types.Scalar) and given.is_integer == wanted.is_integer
        return both and (given.is_integer or given.dtype == wanted.dtype)
    target = given.target if isinstance(given, types.Pointer) else None
    if isinstance(wanted.target, types.Struct):
        return isinstance(target, types.Struct) and types.final(target) == types.final(wanted.target)
    return isinstance(target, types.Void)
