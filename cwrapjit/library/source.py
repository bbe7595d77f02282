"""library(source=): makes every function of a C text callable, as the text declares it.

OUT and INOUT are macros of such text. They say what C cannot: what is allocated and returned, and what is
updated. Functions of numbers, and of arrays whose dims all have names, broadcast: slices of a function() call
them. If the text has no writable data, they have the text as their header, for the cc tier; otherwise they
call the code that the library has compiled.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np

from cwrapjit import _cwrapjit
from cwrapjit.kernels.numbers import NUMPY, SPELLED
from cwrapjit.kernels.text import Text
from cwrapjit.library import expressions, thunks, types
from cwrapjit.library.broadcast import Slice, operand_name
from cwrapjit.library.code import Later, addresses
from cwrapjit.library.declarations import Declarations, FunctionDeclaration, Parsed
from cwrapjit.library.library import Core
from cwrapjit.library.mapping import bytes_reason, refuse
from cwrapjit.library.names import attribute_name, python_name
from cwrapjit.library.options import Options
from cwrapjit.library.settings import Settings
from cwrapjit.library.thunks import Unmapped, Unsized

MARKS = (("OUT", ""), ("INOUT", ""))


def macros(text: Text) -> list[tuple[str, str]]:
    """Returns the macros that the text needs."""
    return [mark for mark in MARKS if mark[0] in text.words]


def teach(declarations: Declarations) -> None:
    """Makes NumPy's names of C types known."""
    for name, dtype in NUMPY.items():
        declarations.typedefs.setdefault(name, number(dtype, name))


def number(dtype: str, name: str) -> types.Scalar:
    """Returns the C type of a dtype, under this name."""
    spelled = {"complex128": "double _Complex", "complex64": "float _Complex"}.get(dtype, SPELLED[dtype])
    return types.Scalar(spelled, dtype, name)


class Given:
    """The source= text of a library."""

    def __init__(self, said: Settings) -> None:
        file = f"<cwrapjit {said.name} source>"
        self.said, self.text = said, Text(said.source or "", file, said.include_dirs, said.define_macros)
        self.text.check()
        said.define_macros = [*said.define_macros, *macros(self.text)]
        self._read: tuple[Parsed, set[str], set[str]] | None = None

    def environment(self, known: Declarations) -> object:
        """Compiles the text. Returns the environment with its code."""
        teach(known)
        inner = confirmed = ""
        with contextlib.suppress(_cwrapjit.CompileError):  # libtcc's message is better
            self._read = known.read_definitions(self.text.source, self.text.file)
            parsed, defined, headers = self._read
            inner = addresses(headers)
            found = [each for each in parsed.functions if each.name in defined]
            confirmed = "".join(confirmation(self.text, each, _bytes_of) for each in found)
        with self.text.own_lines():
            try:
                return self.said.environment(self.text.compiled() + confirmed + inner, self.text.source)
            except _cwrapjit.CompileError:
                if not inner:
                    raise
                # Headers' functions that nobody uses may be no valid C.
                return self.said.environment(self.text.compiled() + confirmed, self.text.source)

    def declare(self, library: Core) -> None:
        """Maps what the text defines."""
        read = self._read or library.declarations.read_definitions(self.text.source, self.text.file)
        parsed, defined, inner = read
        defined |= {
            each.name for each in parsed.functions if each.name in inner and library.code.take_inner(each)
        }
        library.declared.take(parsed)
        single = []
        for found in parsed.functions:
            if found.name in defined and not found.private:
                known = (found, marks_of(self.text, found), attribute_name(found.name))
                try:
                    library.keep(found.name, Broadcasting(library, self.text, found, known[1]))
                except (Unmapped, AttributeError, _cwrapjit.CompileError):
                    single.append(known)
                else:
                    found.slices = self.text
                    library.declared.known[known[2]] = known
        library.map_all(single)
        library.take_variables(each for each in parsed.variables if not each.private and not each.external)


def refined(library: Core, found: FunctionDeclaration, own: dict[str, Any]) -> Broadcasting | None:
    """Makes a broadcasting function anew, as refine() says. None: it is not to broadcast."""
    said = library.declared.refinements.of(found, own)
    if not said.pop("broadcast", True):
        return None
    for option, value in said.items():
        if option != "doc" and not (option in own and list(value) == list(own[option])):
            raise TypeError(
                f"{library.name}.refine(): {option}= is not for {found.name}(), which broadcasts; "
                "broadcast=False beside it makes a function of single calls"
            )
    return Broadcasting(library, found.slices, found, {**own, "doc": said.get("doc")})


def marks_of(text: Text, found: FunctionDeclaration) -> dict[str, Any]:
    """Returns out= and inout= by the marks; by position, as names may be macros."""
    function = text.named.get(found.name)
    pairs = list(zip(found.parameters, function.parameters if function else [], strict=False))
    made = {
        intent: tuple(each.name for each, marked in pairs if marked.intent == intent)
        for intent in ("out", "inout")
    }
    return {intent: names for intent, names in made.items() if names}  # () would take back what refine() says


def confirmation(text: Text, found: FunctionDeclaration, dtype_of: Callable[[Any], Any]) -> str:
    """Returns C text that does not compile if C's types differ from those read. dtype_of: of structs."""
    function = text.named.get(found.name)
    if function is None:  # macros have made it
        return ""
    pairs = zip(function.parameters, found.parameters, strict=False)
    said = [("the result", function.words, function.stars, found.result)]
    said += [(each.name, each.words, each.stars + len(each.dims), read.type) for each, read in pairs]
    read = []
    for whose, words, layers, ctype in said:
        for _ in range(layers):
            ctype = types.target_of(ctype)
        if isinstance(ctype, types.Scalar) and ctype.dtype:
            is_either = ctype.values is not None or ctype.is_character  # signed or not, an int or text here
            read.append((whose, words, np.dtype(ctype.dtype), is_either))
        elif isinstance(ctype, types.Struct) and not thunks.is_open(ctype) and (dtype := dtype_of(ctype)):
            read.append((whose, words, dtype, True))
    return text.confirmation(function, read)


def _bytes_of(struct: types.Struct) -> np.dtype[Any] | None:
    try:
        return np.dtype(f"V{thunks.size_of(struct)}")
    except Unmapped:
        return None


class TextSlice(Slice):
    """A slice that calls a function of a text. called: its name in the text; "": call its address. structs:
    single ones are elements of arrays, not instances of a class."""

    def __init__(
        self, library: Core, found: FunctionDeclaration, own: dict[str, Any], called: str = "",
        name: str = "", structs: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(library, found, Options(name=name or None, **own))
        self.mapper.has_free_symbols = False  # C text must declare what dims name
        self.mapper.has_aligned = False
        self.called = called
        self.takes_structs = structs
        refuse(found, self.options)
        self.result = self.mapper.map().function.result
        if structs:
            self._take_structs()
        self._sort()

    def _take_structs(self) -> None:
        """Makes structs, by value and by pointer, values with the dtype of their arrays."""
        for slot in self.slots:
            parameter, ctype = slot.parameter, slot.item or slot.type
            marked = parameter is not None and (parameter.intent == "out" or slot.name in self.options.inout)
            if parameter is not None and (
                parameter.role == "struct" or (parameter.role == "handle" and marked)
            ):
                parameter.by_pointer = marked
                parameter.role, parameter.descr = "value", self._struct(ctype, slot.name)
        if self.result.role == "struct":
            self.result.role, self.result.descr = "value", self._struct(self.found.result, "the result")

    def _struct(self, ctype: Any, what: str) -> np.dtype[Any]:
        found: np.dtype[Any] | None = self.library.classes.dtype_of(ctype)
        if found is None or self.library.classes.more_alignment(ctype) > 16:
            why = (
                "has members that NumPy's types do not cover" if found is None else "NumPy does not align so"
            )
            raise Unmapped(f"{what} is {types.show(ctype)}, which {why}")
        return found

    def _sort(self) -> None:
        """Sorts the operands, and names them."""
        super()._sort()
        arguments = self.mapper.arguments
        for slot in self.inputs:
            if slot.parameter.role == "buffer" and slot.parameter.dims:
                raise Unmapped(bytes_reason(slot, f"an array of {types.show(slot.item)}"))
            if slot.parameter.role in ("address", "handle"):
                raise Unmapped(
                    f"{slot.name} is a pointer without dims: {slot.name}[n], beside `int n`, is an array, "
                    "OUT in front of it makes it a result, INOUT what is updated in place"
                )
            if slot.parameter.role not in ("value", "array"):
                raise Unmapped(f"{slot.name} is neither a number nor an array of numbers")
            self.c_names[slot.name] = operand_name(arguments[slot.parameter.argument].name)
        for slot in self.outputs:
            self.c_names[slot.name] = operand_name(slot.name)
        if self.result.role == "value":
            taken = self.c_names.values()
            self.c_names["return"] = "output_" if "output" in taken else "output"
        elif self.result.role != "none":
            raise Unmapped(f"it returns {types.show(self.found.result)}")
        self._check_dims()

    def _dims(self, slot: Any) -> tuple[int | str, ...]:
        """Returns the dims of an operand. Those of outputs may be computed: double y[n - 1]."""
        if slot.parameter.intent != "out":
            return super()._dims(slot)
        return tuple(
            dim[0] if len(dim) == 1 else self._computed(f"{slot.name}_{axis}", dim, slot)
            for axis, dim in enumerate(slot.parameter.dims)
        )

    def _computed(self, name: str, dim: Any, slot: Any) -> str:
        """Returns the name of a length that function() computes in each call."""
        known = {each for other in self.inputs for each in self._dims(other)}
        for symbol in sorted(expressions.symbols(dim) - known):
            raise Unsized(f"no argument has the dim {symbol} of {slot.name}")
        while name in known:
            name += "_"
        self.output_dims[name] = expressions.shown(dim)
        return name

    @property
    def has_arrays(self) -> bool:
        return any(slot.parameter.dims for slot in [*self.inputs, *self.outputs])

    def text(self) -> str:
        """Returns the C text of the slice."""
        if not self.called:
            return self._call()
        call = f"{self.called}({', '.join(self._given(slot) for slot in self.slots)})"
        target = ""
        if self.result.role == "value":
            target = f"item__{self.c_names['return']}() = "
            if self.result.descr is not None:
                target = f"*({self.found.result.name} *)data_slice__{self.c_names['return']} = "
        return f"{target}{call};\nreturn 1;"

    def _given(self, slot: Any) -> str:
        if self.called and slot.parameter.role == "value" and not slot.parameter.by_pointer:
            if slot.parameter.descr is not None:
                return f"*(const {slot.type.name} *)data_slice__{self.c_names[slot.name]}"
            return f"item__{self.c_names[slot.name]}()"
        return super()._given(slot)

    def validate(self) -> str | None:
        """Returns Ccode_validate: arrays are contiguous, structs aligned as C requires, lengths fit."""
        slots = [*self.inputs, *self.outputs]
        kinds = {self.c_names[slot.name]: slot.item or slot.type for slot in slots}
        kinds |= {self.c_names[name]: self.found.result for name in self.c_names.keys() & {"return"}}
        checks = ""
        for name, ctype in kinds.items():
            more = self.library.classes.more_alignment(ctype) if isinstance(ctype, types.Struct) else 0
            checks += _CHECK_ALIGNMENT % {"x": name, "most": more} if more else ""
        lengths = self._validate(slots)
        return checks + (lengths or "return 1;") if checks or lengths else None

    def input_names(self) -> list[str]:
        return [self.c_names[slot.name] for slot in self.inputs]

    def check_uses(self) -> None:
        """Raises Unmapped if there is no input or no output, or for enums, which arrays cannot hold."""
        single = (slot.item for slot in self.outputs if not slot.parameter.dims)
        given = (self.found.result, *single)
        if not self.takes_structs and any(map(self.library.classes.enum_members, given)):
            raise Unmapped("it gives an enum")
        read = {slot.name for slot in self.inputs if slot.parameter.intent == "in"}
        if not self.inputs or not self.c_names.keys() - read:
            raise Unmapped("it takes or gives nothing that could broadcast")

    def arguments(self) -> dict[str, Any]:
        """Returns the arguments of function() that do not depend on the types."""
        return {
            "docstring": self._doc(),
            "signature": self.signature(),
            "Ccode_validate": self.validate(),
            "cast": "safe",  # as in a ufunc, slices that do not lie as C requires run on copies
            "output_dims": self.output_dims or None,
        }

    def define(self, header: str = "") -> Any:
        called = self.found.name if header else f"{self.found.name}__c"
        made = _cwrapjit.function(
            self.options.name or python_name(self.found.name),
            Ccode_slice_eval={self.dtypes(): self.text()},
            header=header or self._forwarding(called),
            c_function=self._c_function(called),
            debug=self.library.code.debug,
            gil=True if self.library.said.gil else None,
            **{**self.arguments(), **self.library.said.loops},
            **(self.library.said.build if header else {}),
        )
        self._keep(made)
        return made


_CHECK_ALIGNMENT = """{
    npy_uintp cwj_place = (npy_uintp)data__%(x)s;
    for (int cwj_i = 0; cwj_i < Ndims_full__%(x)s; cwj_i++)
        cwj_place |= dims_full__%(x)s[cwj_i] > 1 ? (npy_uintp)strides_full__%(x)s[cwj_i] : 0;
    if (cwj_place %% %(most)d) {
        PyErr_SetString(PyExc_ValueError, "%(x)s must be aligned to %(most)d bytes");
        return 0;
    }
}
"""


class Broadcasting(Later):
    """A function that is made on first use. Raises Unmapped if no slice can call it."""

    def __init__(self, library: Core, text: Text, found: FunctionDeclaration, own: dict[str, Any]) -> None:
        self.library, self.text, self.found, self.own = library, text, found, own
        self.mapped = (attribute_name(found.name),)
        TextSlice(library, found, own).check_uses()
        self.by_name = not _cwrapjit.library_has_state(library.code.environment)
        if not self.by_name:
            library.code.target(found)  # raises for an inline function

    def finish(self) -> dict[str, Any]:
        (name,) = self.mapped
        made = self._made(name)
        self.text.give_to(made)
        return {name: made}

    def _made(self, name: str) -> Any:
        if self.by_name:
            try:
                by_name = TextSlice(self.library, self.found, self.own, self.found.name, name)
                confirmed = confirmation(self.text, self.found, self.library.classes.dtype_of)
                return by_name.define(self.text.instance(of=self.found.name) + confirmed)
            except _cwrapjit.CompileError:  # the text does not compile there: use its code
                pass
        return TextSlice(self.library, self.found, self.own, "", name).define()
