"""Maps a declaration and its options to a description of the call, and the thunk for it.

The rules without options: scalars are arguments. `T x[n]` is an array, an input if const, else written in
place; an integer that is a dim of such an array is hidden. `const char *` is a string. Other pointers need an
option; the function is unmapped otherwise, with that reason.
"""

from __future__ import annotations

import dataclasses
import keyword
from collections.abc import Mapping
from typing import Any

from cwrapjit._imports import load
from cwrapjit.kernels.numbers import MOST_PARAMETERS
from cwrapjit.library import destructors, expressions, types
from cwrapjit.library.check_option import Check
from cwrapjit.library.code import Mapped
from cwrapjit.library.constants import text_of
from cwrapjit.library.declarations import FunctionDeclaration, with_varargs
from cwrapjit.library.description import Argument, Dim, Function, Parameter, Result
from cwrapjit.library.library import Core
from cwrapjit.library.names import python_name, qualified
from cwrapjit.library.options import Options, names_a_parameter, names_of
from cwrapjit.library.results import map_result, map_returned_data
from cwrapjit.library.signatures import annotation, behind_dots, documented, returns, signature
from cwrapjit.library.sizes import Sizes
from cwrapjit.library.thunks import Thunk, Unmapped, is_open

_WITHOUT_ARGUMENT = ("hidden", "stride", "data", "length", "status")


def bytes_reason(slot: Slot, what: str) -> str:
    """Says why void is no item here, and what to declare instead."""
    const = "const " if slot.const else ""
    return f"{slot.name} is {what}: declared as {const}uint8_t {slot.name}[n] it is an array of bytes"


@dataclasses.dataclass
class Slot:
    """One parameter while it is being mapped."""

    name: str  # C's name, or argN
    type: Any
    parameter: Parameter | None = None
    item: Any = None  # of arrays and pointers
    const: bool = False
    trees: list[Any] = dataclasses.field(default_factory=list)  # dims

    @property
    def intent(self) -> str:
        """Returns the intent without options."""
        return "in" if self.const else "inout"


class Mapper:
    """Maps one declaration. `library` gives constants, classes and addresses."""

    def __init__(self, library: Core, declaration: FunctionDeclaration, options: Options) -> None:
        self.library = library
        self.options = options
        self.who = f"{qualified(library.name, declaration.name)}()"  # C's name, for errors in the declaration
        self.declaration = declaration = with_varargs(
            library.declarations, self.who, declaration, options.varargs
        )
        self.called = options.qualname or qualified(library.name, options.name or declaration.name)
        self.slots = [
            Slot(each.name or f"arg{k + 1}", each.type) for k, each in enumerate(declaration.parameters)
        ]
        self.by_name = {slot.name: k for k, slot in enumerate(self.slots)}
        self.arguments: list[Argument] = []
        self.result_of: tuple[str, ...] = ()  # parameters that the result may point into
        self.sizes = Sizes(self)
        self.has_free_symbols = True
        self.has_aligned = True  # False: calls check the address of arrays of structs
        self.has_characters = True  # False: char is a number, in arrays, too
        self.borrowed: set[str] = set()  # outputs that returns= leaves to C
        self.by_reference: set[str] = set()  # hidden integers that C takes by pointer

    def wrong(self, message: object) -> ValueError:
        """Returns an error of the options, or of the dims."""
        return ValueError(f"{self.who}: {message}")

    def map(self) -> Mapped:
        """Raises Unmapped with a reason; ValueError and TypeError for options that make no sense."""
        declaration, options = self.declaration, self.options
        options.read(self.who, list(self.by_name))
        refuse(declaration, options)
        self._give_dims()
        check = None if options.check is None else self._check()
        result = map_result(self, check)
        returned = map_returned_data(self)
        for slot in self.slots:
            self._look(slot)
        for slot in self.slots:
            if slot.parameter is None:
                slot.parameter = returned.get(slot.name) or self._parameter(slot)
            slot.parameter.name = slot.name
        self._mark_models()
        self._hide(result)
        self._check_free(result)
        arguments = self.arguments = self._arguments()
        self._discard()
        self._check_uses()
        places = {slot.name: parameter.argument for slot, parameter in self.parameters()}
        has_objects = any(map(types.is_object, [declaration.result, *(slot.type for slot in self.slots)]))
        function = Function(
            name=options.name or python_name(declaration.name),
            qualname=self.called,
            doc=options.doc if options.doc is not None else self._doc(),
            arguments=arguments,
            parameters=[parameter for _, parameter in self.parameters()],
            result=result,
            thunk=0,
            address=0,
            owner=None,
            keeps=self._keeps(result),
            replaces=options.replaces,
            returns=returns(result, [parameter for _, parameter in self.parameters()]),
            keep_gil=bool(options.gil) or has_objects,
            may_overlap=options.overlap == "allow",
            stable=bool(options.stable),
            c_name=declaration.name,
            signature=signature(declaration, names=False),
            sizes=list(self.sizes.found.values()),
            **({} if check is None else check.described(places)),
        )
        result.bases = tuple(sorted({self._argument_of(name) for name in self.result_of}))
        references = {self.by_name[name] + 1 for name in self.by_reference}
        discards = "return" in options.discard and options.check is None
        passed = [slot.type for slot in self.slots]
        thunk = Thunk(declaration.result, passed, references, discards, declaration.fixed)
        return Mapped(declaration, function, thunk)

    def _doc(self) -> str:
        """Returns the docstring: the declaration, and the dims and types that options give."""
        dims = []
        for name in self.options.dims:
            trees = self.slots[self.by_name[name]].trees
            dims.append(name + "".join(f"[{text_of(each)}]" for each in trees))
        lengths = f"\n\nArrays: {', '.join(dims)}" if dims else ""
        more = behind_dots(self.declaration)
        more = f"\n\nBehind the dots: {more}" if more else ""
        return documented(self.library.declarations, self.declaration, more + lengths)

    def parameters(self) -> list[tuple[Slot, Parameter]]:
        """Returns the slots that have a parameter, with it."""
        return [(slot, slot.parameter) for slot in self.slots if slot.parameter is not None]

    # ---- parameters --------------------------------------------------------------------------------

    def _give_dims(self) -> None:
        """Applies dims=, by which pointers become arrays."""
        given = {name: each for name, each in self.options.dims.items() if not isinstance(each, Mapping)}
        for name in self.options.dims.keys() - given.keys():
            if not isinstance(types.function_of(self.slots[self.by_name[name]].type), types.Callable):
                raise self.wrong(f"dims[{name!r}] is a dict, but {name} is no function")
        trees = {name: expressions.trees_of(f"{self.who}: dims[{name!r}]", given[name]) for name in given}
        for name, each in trees.items():
            slot = self.slots[self.by_name[name]]
            try:
                slot.type = expressions.with_dims(name, slot.type, each)
            except expressions.BadDim as error:
                raise self.wrong(error) from None
        for name, each in trees.items():
            for tree in each:
                try:
                    self._length(tree)
                except expressions.BadDim as error:
                    raise self.wrong(f"dims[{name!r}]: {error}") from None

    def _look(self, slot: Slot) -> None:
        """Finds item, dims and const of arrays and pointers."""
        ctype, layers = types.peeled(slot.type)
        slot.trees = [each.dim for each in layers]
        if slot.trees and any(tree is None for tree in slot.trees[1:]):
            raise Unmapped(f"{slot.name} is an array with an unknown inner dim")
        if slot.trees:
            slot.item, slot.const = ctype, layers[-1].const
            if slot.trees[0] is None and len(slot.trees) > 1:
                raise Unmapped(f"{slot.name} is an array whose first dim is not known")
            is_one = types.is_one_struct(slot.type) and slot.name not in self.options.dims
            if slot.trees[0] is None or is_one:
                slot.trees = []
                slot.type = types.Pointer(slot.item, slot.const)
        elif isinstance(ctype, types.Pointer):
            slot.item, slot.const = ctype.target, ctype.const

    def _parameter(self, slot: Slot) -> Parameter:
        ctype = slot.type
        if slot.name in self.options.strides:
            return self._stride(slot)
        if slot.name in self.options.hidden:
            return self._fixed(slot)
        if isinstance(ctype, types.Scalar):
            return self._scalar(slot)
        if isinstance(ctype, types.Array):
            return self._array(slot)
        if types.is_object(ctype):
            given = load("cwrapjit.library.objects").Given
            return Parameter("callback", cls=given(), optional=slot.name in self.options.optional)
        if isinstance(ctype, types.Pointer):
            return self._pointer(slot)
        if isinstance(ctype, types.Struct):
            return Parameter("struct", cls=self.library.classes.by_value(ctype, f"{slot.name} is"))
        if isinstance(ctype, types.Callable):
            return self._callback(slot, ctype)
        reason = ctype.reason if isinstance(ctype, types.Unknown) else f"{types.show(ctype)} has no mapping"
        raise Unmapped(f"{slot.name}: {reason}")

    def _scalar(self, slot: Slot) -> Parameter:
        ctype = slot.type
        if not ctype.dtype:
            raise Unmapped(f"{slot.name} is a {ctype.spelling}, which NumPy's types do not cover")
        if slot.name in self.options.optional and slot.name not in self.options.defaults:
            raise self.wrong(f"{slot.name} is no pointer: give it a default instead of optional=")
        return Parameter("value", self.value_type(ctype))

    def value_type(self, ctype: types.Scalar) -> str:
        """Returns what one number, or character, is in Python."""
        return ctype.value_type if self.has_characters else ctype.dtype

    def _intent(self, slot: Slot) -> str:
        named = "out" if slot.name in self.options.out else "inout" if slot.name in self.options.inout else ""
        if named and slot.const:
            raise self.wrong(f"{slot.name} points to const: {named}= cannot name it")
        return named or slot.intent

    def _array(self, slot: Slot) -> Parameter:
        intent, item = self._intent(slot), slot.item
        dims = tuple(self.dim(tree) for tree in slot.trees)
        optional = slot.name in self.options.optional
        container = self.options.container.get(slot.name)
        is_bytes = isinstance(item, types.Scalar) and item.is_byte and self.has_characters
        is_bytes = is_bytes or (isinstance(item, types.Void) and len(dims) == 1 and _is_symbol(dims[0]))
        if is_bytes and len(dims) == 1 and intent != "out" and container is None:
            return Parameter("buffer", "uint8", intent=intent, dims=dims, optional=optional)
        if isinstance(item, types.Pointer):
            return self._list(slot, dims) or Parameter("address", types.item_name(item), intent=intent)
        match dims:  # n items of any type, of size bytes each: void base[n * size]
            case ((str(count), str(size), "*"),) if isinstance(item, types.Void) and intent != "out":
                both = ((count,), (size,))
                return Parameter("buffer", "uint8", intent=intent, dims=both, optional=optional)
        if isinstance(item, types.Void):  # no buffer
            raise Unmapped(bytes_reason(slot, "an array of void"))
        if isinstance(item, types.Struct) and container is None:
            order = self.options.order.get(slot.name, "C")
            cls, descr = self.library.classes.of(item), self._items(slot.name, item)
            return Parameter(
                "array", intent=intent, dims=dims, order=order, optional=optional, cls=cls, descr=descr
            )
        if intent == "out" and len(dims) == 1 and self._is_text(slot.name, item):
            encoding = self.options.encoding.get(slot.name, "")
            return Parameter("array", "char", intent=intent, dims=dims, encoding=encoding)
        if not isinstance(item, types.Scalar) or not item.dtype:
            raise Unmapped(f"{slot.name} is an array of {types.show(item)}, which NumPy's types do not cover")
        if container is not None:
            nested = len(dims) != 1
            if self.options.all_containers and (intent != "in" or nested):
                container = None
            elif intent != "in":
                raise self.wrong(f"container: {slot.name} must be a const array")
            elif nested and container is set:
                raise self.wrong(f"container: {slot.name} has several dims, and sets hold no sets")
        if container is not None:
            return Parameter("items", item.dtype, dims=dims, container=container, optional=optional)
        order = self.options.order.get(slot.name, "C")
        return Parameter("array", item.dtype, intent=intent, dims=dims, order=order, optional=optional)

    def _list(self, slot: Slot, dims: tuple[Dim, ...] = ()) -> Parameter | None:
        """Maps a list of texts, structs or handles: const says that C only reads it, container= that it is a
        list, out= that C fills it. Texts without dims end with NULL."""
        name, target, options = slot.name, slot.item.target, self.options
        is_text, is_struct = self._is_c_text(name, target), isinstance(target, types.Struct)
        out = name in options.out and bool(dims)
        said = not options.all_containers and options.container.get(name) in (list, tuple)
        is_given = said or slot.const or (slot.item.const and bool(dims))
        if out and (len(dims) > 1 or not (is_text or is_struct)):
            raise Unmapped(f"{name} is an array of {types.show(slot.item)}, which no list in Python holds")
        if not (is_text or (is_struct and (dims or said))) or not (out or is_given) or len(dims) > 1:
            return None
        if (name in options.out and not dims) or name in options.inout:
            return None
        made = Parameter("texts" if is_text else "handles", dims=dims, container=list)
        made.intent = "out" if out else "in"
        made.optional = name in options.optional
        made.encoding = options.encoding.get(name, "")
        if is_struct:
            made.cls = self.library.classes.of(target)
            made.bound = destructors.places(self, made.cls) if out else ()
            made.owner = self._owner(name)
        return made

    def _is_text(self, name: str, item: Any) -> bool:
        """True for char, and for other bytes with an encoding."""
        if not isinstance(item, types.Scalar) or not self.has_characters:
            return False
        said = item.is_byte and name in self.options.encoding
        return item.is_character or said or (item.is_octet and name in self.options.texts)

    def _is_c_text(self, name: str, item: Any) -> bool:
        """Like _is_text(), behind a pointer: functions of numbers have texts there, too."""
        return self._is_text(name, item) or (isinstance(item, types.Scalar) and item.spelling == "char")

    def _items(self, name: str, struct: types.Struct) -> Any:
        found = self.library.classes.items_of(struct, f"{name} is ")
        if self.library.classes.more_alignment(struct) > (0 if self.has_aligned else 16):
            raise Unmapped(
                f"{name} is an array of {types.show(struct)}, aligned otherwise than NumPy's arrays"
            )
        return found

    def _pointer(self, slot: Slot) -> Parameter:
        item, name, options = slot.item, slot.name, self.options
        optional = name in options.optional
        if isinstance(item, types.Callable) and not item.pointed:
            return self._callback(slot, item)
        if isinstance(item, types.Struct):
            if name in options.out:
                return self._filled_struct(slot)
            cls = self.library.classes.of(item)
            return Parameter("handle", cls=cls, optional=optional, intent=slot.intent)
        named = name in options.out or name in options.inout
        if self._is_c_text(name, item) and slot.const and not named:
            return Parameter("string", optional=optional, encoding=options.encoding.get(name, ""))
        if isinstance(item, types.Scalar) and item.dtype:
            if named:
                dtype, intent = self.value_type(item), self._intent(slot)
                members = self.library.classes.enum_members(item)
                return Parameter(
                    "value", dtype, by_pointer=True, intent=intent, optional=optional, cls=members
                )
            dims = (self.dim(tree) for each in self.slots for tree in each.trees)
            if slot.const and item.is_integer and name in expressions.symbols(*dims):
                return Parameter("value", item.dtype, by_pointer=True)
            if name in options.unsafe:
                return Parameter("array", item.dtype, intent=slot.intent, optional=optional)
            if optional:
                return Parameter("value", item.dtype, by_pointer=True, optional=True)
        if isinstance(item, types.Void):
            if name in options.unsafe:
                return Parameter("buffer", "uint8", intent=slot.intent, dims=((),), optional=optional)
            if name in options.out:
                raise Unmapped(bytes_reason(slot, "a void pointer"))
            optional = optional or any(name == self._data_of(each) for each in self.slots)
        if isinstance(item, (types.Pointer, types.Callable)) and named:
            return self._stored_pointer(slot)
        made = self._list(slot) if isinstance(item, types.Pointer) else None
        if made is not None:
            return made
        if item is types.KNOWN["FILE"] and not named:
            streams = load("cwrapjit.library.streams")
            return Parameter("stream", cls=streams.converter(self, slot), optional=optional)
        if named:
            raise Unmapped(f"{name} points to {types.show(item)}, which has no value in Python")
        return Parameter("address", types.item_name(item), intent=slot.intent, optional=optional)

    def _stored_pointer(self, slot: Slot) -> Parameter:
        """Maps out= of a T **: what C stores there is a result."""
        if slot.name in self.options.inout:
            raise self.wrong(f"inout= names {slot.name}, a {types.show(slot.type)}: use out=")
        self._intent(slot)
        function = types.function_of(slot.item)
        if isinstance(function, types.Callable):
            return Parameter("address", "", intent="out", cls=self.function_at(function, slot.name))
        target = slot.item.target
        if isinstance(target, types.Struct):
            return self._given_away("handle", slot, self.library.classes.of(target))
        return Parameter("address", types.item_name(target), intent="out")

    def _data_of(self, slot: Slot) -> str:
        """Returns the user data of a callback: the next void * after it, or ""."""
        if types.place_of_data(types.function_of(slot.type)) < 0:
            return ""
        for each in self.slots[self.by_name[slot.name] + 1 :]:
            if types.is_data(each.type):
                return each.name
        return ""

    def _callback(self, slot: Slot, ctype: types.Callable) -> Parameter:
        """Maps a function: the argument becomes the address of a function of this type."""
        callbacks = load("cwrapjit.library.callbacks")
        hidden = frozenset(k for k in (types.place_of_data(ctype),) if self._data_of(slot) and k >= 0)
        dims = self.options.dims.get(slot.name)
        who = f"{self.called}(): argument {slot.name}"
        own = self.library.code.is_by_libtcc(self.declaration)
        converter = callbacks.Converter(self.library, ctype, who, hidden, dims, own)
        if dims is not None:
            converter.check_dims(f"{self.who}: dims[{slot.name!r}]")
        return Parameter("callback", cls=converter, optional=slot.name in self.options.optional)

    def function_at(self, ctype: types.Callable, name: str = "") -> Any:
        """Returns the converter of function addresses that C returns."""
        who = f"{self.called}()" + (f": {name}" if name else "")
        return load("cwrapjit.library.callbacks").Converter(self.library, ctype, who)

    def _filled_struct(self, slot: Slot) -> Parameter:
        """Maps out= of a struct: a new instance, which C fills."""
        cls = self.library.classes.of(slot.item)
        self._intent(slot)
        if not cls.__cwrapjit_layout__.size:
            raise self.wrong(
                f"out= names {slot.name}: {types.show(slot.item)} is opaque, only C makes such "
                'objects; returns="callee" is for functions that return one'
            )
        if is_open(slot.item):
            raise self.wrong(
                f"out= names {slot.name}: {types.show(slot.item)} ends with an array whose "
                "length nothing says"
            )
        return self._given_away("struct", slot, cls)

    def _given_away(self, role: str, slot: Slot, cls: Any) -> Parameter:
        bound, owner = destructors.places(self, cls), self._owner(slot.name)
        return Parameter(role, cls=cls, intent="out", bound=bound, owner=owner)

    def _owner(self, name: str) -> str:
        return "none" if name in self.borrowed else "callee"

    def _mark_models(self) -> None:
        """Marks structs of which a returned struct may be a copy, as one type contains the other."""
        filled = [slot.item for slot, p in self.parameters() if (p.role, p.intent) == ("struct", "out")]
        returned = [*filled, self.declaration.result]
        made = [types.final(each) for each in returned if isinstance(each, types.Struct)]
        for slot, parameter in self.parameters():
            given = slot.item or slot.type
            if parameter.role in ("handle", "struct") and isinstance(given, types.Struct):
                given = types.final(given)
                parameter.is_model = any(types.holds(a, given) or types.holds(given, a) for a in made)

    def _stride(self, slot: Slot) -> Parameter:
        given = self.options.strides[slot.name]
        parts = (given,) if isinstance(given, str) else given
        if not isinstance(parts, tuple) or not 1 <= len(parts) <= 3 or parts[0] not in self.by_name:
            raise self.wrong(f"strides[{slot.name!r}] must be an array's name or (name, axis)")
        if len(parts) == 2 and isinstance(parts[1], str):
            parts = (parts[0], 0, parts[1])
        of = self.by_name[parts[0]]
        axis = parts[1] if len(parts) > 1 else 0
        rank = len(self.slots[of].trees)
        if not isinstance(slot.type, types.Scalar) or not slot.type.is_integer:
            raise self.wrong(f"strides: {slot.name} is no integer")
        if not isinstance(axis, int) or isinstance(axis, bool) or not 0 <= axis < rank:
            raise self.wrong(f"strides[{slot.name!r}]: {parts[0]} has no axis {axis!r}")
        if len(parts) == 3 and parts[2] not in ("first", "lowest"):
            raise self.wrong(f"strides[{slot.name!r}]: {parts[2]!r} should be 'first' or 'lowest'")
        negative = parts[2] if len(parts) == 3 else ""
        return Parameter("stride", slot.type.dtype, of=of, axis=axis, negative=negative)

    def _fixed(self, slot: Slot) -> Parameter:
        """Maps hidden={"lda": "n"}: an integer that no caller passes; None: a pointer that is always NULL."""
        if self.options.hidden[slot.name] is None:
            if not isinstance(slot.type, (types.Pointer, types.Array, types.Callable)):
                raise self.wrong(f"hidden: None is NULL, and {slot.name} is no pointer")
            null = expressions.of_text("0", self.lookup, self.sizes.ask)
            return Parameter("hidden", "uint64", value=null)
        by_pointer = isinstance(slot.type, types.Pointer) and not slot.type.const
        item = slot.type.target if by_pointer else slot.type
        if not isinstance(item, types.Scalar) or not item.is_integer:
            raise self.wrong(f"hidden: {slot.name} is no integer")
        try:
            value = expressions.of_text(self.options.hidden[slot.name], self.lookup, self.sizes.ask)
        except expressions.BadDim as error:
            raise self.wrong(f"hidden[{slot.name!r}]: {error}") from None
        return Parameter("hidden", item.dtype, value=value, by_pointer=by_pointer)

    # ---- dims --------------------------------------------------------------------------------------

    def lookup(self, name: str) -> int | str | None:
        """Returns the value or the symbol that a name in a dim stands for."""
        k = self.by_name.get(name)
        if k is not None:
            ctype = self.slots[k].type
            if isinstance(ctype, types.Pointer):
                ctype = ctype.target
            return name if isinstance(ctype, types.Scalar) and ctype.is_integer else None
        value = self.library.values.of(name)
        if value is None and self.has_free_symbols:
            return self._free(name)
        if value is None:  # C text must declare what it names
            raise expressions.BadDim(f"{name} in a dim: is `int {name}` missing among the parameters?")
        return value if isinstance(value, int) else None

    def _free(self, name: str) -> str:
        """Returns a length that no parameter gives: all arrays naming it must have it. Refuses typos."""
        integers = [each for each in self.by_name if self.lookup(each) is not None]
        near = [each for each in integers if each.casefold() == name.casefold()]
        near += load("difflib").get_close_matches(name, integers, 1, 0.85)
        if near:
            raise expressions.BadDim(
                f"{name} in a dim is no integer parameter and no constant, but {near[0]} is: a length that "
                "no parameter says needs a name of its own"
            )
        return name

    def _length(self, tree: Any) -> Dim:
        found = expressions.of_tree(tree, self.lookup, self.sizes.ask)
        if len(found) == 1 and isinstance(found[0], int) and found[0] < 0:
            raise expressions.BadDim(f"the length {text_of(tree)} is negative", getattr(tree, "coord", None))
        return found

    def dim(self, tree: Any) -> Dim:
        try:
            return self._length(tree)
        except expressions.BadDim as error:
            coord = error.coord or getattr(tree, "coord", None)
            raise self.library.declarations.error(f"{self.who}: {error}", coord) from None
        except RecursionError:
            raise self.library.declarations.error(f"{self.who}: a dim is nested too deeply", None) from None

    def _argument_of(self, name: str) -> int:
        parameter = self.slots[self.by_name[name]].parameter
        if parameter is None or parameter.argument < 0:
            raise self.wrong(f"returns: {name} is no argument that could own the result")
        return parameter.argument

    def _hide(self, result: Result) -> None:
        """Hides integers that are dims of arrays which the caller passes; their shapes give the values."""
        parameters = self.parameters()
        data = [dim for _, each in parameters if each.role == "data" for dim in each.dims]
        early = [each.value for _, each in parameters]
        early += [dim for _, each in parameters if each.role != "data" for dim in each.dims]
        before = expressions.symbols(*early) | self.sizes.symbols()  # what must be known before the call
        for name in sorted(before & set(self.options.out)):
            raise self.wrong(
                f"out= names {name}, but arrays are {name} long before the call writes it: "
                f"inout= makes {name} the capacity, which cuts the results after the call"
            )
        used = before | expressions.symbols(*data, *result.dims)
        self._preset(used)
        solved = self._solved() - self.options.defaults.keys()
        for slot, parameter in parameters:
            if parameter.role != "value" or slot.name not in used:
                continue
            if slot.name in solved and parameter.intent == "in":
                if parameter.by_pointer:
                    self.by_reference.add(slot.name)
                slot.parameter = Parameter("hidden", parameter.type, value=(slot.name,), name=slot.name)
            else:
                parameter.symbol = slot.name

    def _preset(self, used: set[str]) -> None:
        """Gives hidden parameters that dims name the values of hidden=, whatever the arrays' shapes."""
        hidden = {slot.name: each for slot, each in self.parameters() if each.role == "hidden"}
        hidden = {name: each for name, each in hidden.items() if name in used}
        for name, each in hidden.items():
            each.symbol = name
        early = self.sizes.symbols() | expressions.symbols(*(each.value for each in hidden.values()))
        for name in sorted(early & hidden.keys()):
            raise self.wrong(f"hidden: what {name} is depends on others that are hidden")
        for name in sorted(self.sizes.handles()):
            asked = self.slots[self.by_name[name]].parameter
            if asked is None or asked.role != "handle" or asked.intent == "out":
                raise self.wrong(f"a dim asks {name}, which is no handle that is given")

    def _solved(self) -> set[str]:
        """Returns the symbols that are dims of their own of arrays which the caller passes."""
        given = [each for _, each in self.parameters() if each.intent != "out" and each.role != "data"]
        return expressions.symbols(*(dim for each in given for dim in each.dims if _is_symbol(dim)))

    def _check_free(self, result: Result) -> None:
        """Checks that each length that no parameter gives comes from an array that is passed."""
        dims = [dim for _, each in self.parameters() for dim in (each.value, *each.dims)]
        used = expressions.symbols(*dims, *result.dims)
        for name in sorted(used - self.sizes.found.keys() - self.by_name.keys() - self._solved()):
            reason = (
                f"{name} in a dim is no integer parameter and no constant, and no array that is given has it "
                "as a dim of its own"
            )
            for slot in self.slots:
                place = expressions.place_of(name, [] if slot.name in self.options.dims else slot.trees)
                if place is not None:
                    raise self.library.declarations.error(f"{self.who}: {reason}", place)
            raise self.wrong(reason)

    def _check_uses(self) -> None:
        """Checks that options apply to the parameters that they name."""
        options_container = () if self.options.all_containers else self.options.container
        for slot, parameter in self.parameters():
            for intent in ("out", "inout"):
                if slot.name in getattr(self.options, intent) and parameter.intent != intent:
                    raise self.wrong(f"{intent}= names {slot.name}, which is no pointer")
            if slot.name in self.options.defaults and parameter.argument < 0:
                raise self.wrong(f"defaults: {slot.name} is no argument")
            if slot.name in options_container and parameter.role not in ("items", "texts", "handles"):
                raise self.wrong(
                    f"container: {slot.name} must be a const array of one dim, or a list of texts or handles"
                )

    # ---- arguments ---------------------------------------------------------------------------------

    def _arguments(self) -> list[Argument]:
        """Sorts the arguments: those with defaults and user data after others, keyword-only ones last."""
        made: list[tuple[tuple[int, bool], Argument, Parameter]] = []  # by kind; required ones first
        taken = set(self.options.rename.values())
        for slot, parameter in self.parameters():
            if parameter.intent == "out" or parameter.role in _WITHOUT_ARGUMENT:
                continue
            name = self.options.rename.get(slot.name) or self._python_name(slot.name, taken)
            if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
                raise self.wrong(f"rename: {name!r} is no name in Python")
            place = 1 + (slot.name in self.options.keyword_only) - (slot.name in self.options.positional_only)
            kind = ("positional", "any", "keyword")[place]
            has_default = slot.name in self.options.defaults
            required = not (has_default or parameter.optional)
            is_last = has_default or (parameter.optional and slot.name not in self.options.optional)
            argument = Argument(
                name, kind, required, self.options.defaults.get(slot.name), annotation(parameter)
            )
            made.append(((place, place < 2 and is_last), argument, parameter))
            if place == 1 and required and any(key == (0, True) for key, _, _ in made):
                raise self.wrong(f"{name} must be given, but a positional-only argument before it not")
        made.sort(key=lambda each: each[0])
        names = [argument.name for _, argument, _ in made]
        for name in names:
            if names.count(name) > 1:
                raise self.wrong(f"two arguments are called {name}")
        for i, (_, _, parameter) in enumerate(made):
            parameter.argument = i
        return [argument for _, argument, _ in made]

    def _python_name(self, name: str, taken: set[str]) -> str:
        made = python_name(name)
        while made != name and (made in self.by_name or made in taken):
            made += "_"
        return made

    # ---- the status --------------------------------------------------------------------------------

    def _check(self) -> Check:
        """Reads check=. check={"info": ...} names a pointer that the status is written to."""
        check, status = self.options.check, self.declaration.result
        is_returned = not names_a_parameter(check)
        if not is_returned:
            name, check = next(iter(check.items()))
            if len(self.options.check) != 1 or name not in self.by_name:
                raise self.wrong("check must be a dict of one parameter's name, or of codes")
            slot = self.slots[self.by_name[name]]
            status = slot.type.target if isinstance(slot.type, types.Pointer) else None
            if not isinstance(status, types.Scalar) or not status.is_integer or slot.type.const:
                raise self.wrong(f"check: {name} is no pointer to an integer")
            intent = "out" if name in self.options.out else "in"
            slot.parameter = Parameter("status", status.dtype, intent=intent, name=name)
        return Check(self.library, f"{self.called}()", check, self.declaration.name, status, is_returned)

    def _discard(self) -> None:
        """Marks the results that discard= names."""
        for slot, parameter in self.parameters():
            if slot.name not in self.options.discard:
                continue
            is_number = parameter.role == "value" and parameter.intent == "inout"
            if parameter.intent != "out" and not is_number and parameter.role != "data":
                raise self.wrong(f"discard names {slot.name}, which is no result")
            parameter.discarded = True

    # ---- objects that C keeps ----------------------------------------------------------------------

    def _keeps(self, result: Result) -> tuple[int, ...]:
        """Reads keeps={"plan": ("in", "out")}: the instance keeps these arguments alive. Without a keeper,
        the result keeps them, or the first instance that is passed."""
        given = self.options.keeps
        by_keeper = given if isinstance(given, Mapping) else {self._keeper(result): given} if given else {}
        found: list[int] = []
        for keeper, names in by_keeper.items():
            at = self._place_of_keeper(keeper, result)
            for name in names_of(names):
                kept = self.slots[self.by_name[name]].parameter if name in self.by_name else None
                if kept is None or kept.argument < 0:
                    raise self.wrong(f"keeps names {name!r}, which is no argument")
                if kept.role in ("value", "items"):
                    raise self.wrong(f"keeps: {name} is a number or a container: C gets a copy of it")
                found += [at, self.by_name[name]]
        return tuple(found)

    def _place_of_keeper(self, keeper: str, result: Result) -> int:
        places = {"return": len(self.slots), "library": len(self.slots) + 1}
        at = self.by_name.get(keeper, places.get(keeper, -1))
        if at > len(self.slots):
            return at
        what = result if at == len(self.slots) else self.slots[at].parameter if at >= 0 else None
        is_void = what is not None and what.role == "address" and not what.type  # calls want a handle
        if what is None or (what.role not in ("handle", "struct") and not is_void):
            raise self.wrong(f"keeps: {keeper} is no handle or struct, which could keep something")
        return at

    def _keeper(self, result: Result) -> str:
        if result.role == "handle":
            return "return"
        for slot, parameter in self.parameters():
            if parameter.role == "handle" and parameter.argument >= 0:
                return slot.name
        raise self.wrong("keeps: there is no handle or struct that could keep something")


def refuse(declaration: FunctionDeclaration, options: Options) -> None:
    """Raises Unmapped for declarations that cannot be mapped."""
    if declaration.private:
        raise Unmapped("it is private (static)")
    if declaration.variadic and options.varargs is None:
        raise Unmapped("it takes a variable number of arguments (...), whose types varargs= would say")
    if len(declaration.parameters) > MOST_PARAMETERS:
        raise Unmapped(f"it has {len(declaration.parameters)} parameters, {MOST_PARAMETERS} at most")
    if not declaration.prototyped:
        raise Unmapped("its parameters have no types: no prototype, or one of old C; f(void) has none")


def _is_symbol(dim: Dim) -> bool:
    return len(dim) == 1 and isinstance(dim[0], str)
