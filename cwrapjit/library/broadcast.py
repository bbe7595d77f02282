"""Makes a C function the slice of a broadcasting function: broadcast=True and prototype=."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from cwrapjit import _cwrapjit
from cwrapjit.kernels.numbers import CHECK_CONTIGUOUS, check_length
from cwrapjit.library import destructors, expressions, types
from cwrapjit.library.declarations import FunctionDeclaration
from cwrapjit.library.library import Core
from cwrapjit.library.mapping import Mapper, refuse
from cwrapjit.library.names import python_name
from cwrapjit.library.options import Options
from cwrapjit.library.signatures import documented, shown, signature
from cwrapjit.library.thunks import COMPLEX, Unmapped, Unsized, Writer, call_of, promoted


def define(library: Core, found: FunctionDeclaration, options: Options) -> Any:
    """Returns a cwrapjit.Function whose slices are calls of the C function. Raises Unmapped with a reason."""
    try:
        refuse(found, options)
        _refuse_options(options)
        return Slice(library, found, options).define()
    except Unmapped as reason:
        raise Unmapped(f"it cannot be broadcast: {reason}") from None


# The options that functions that broadcast refuse, with the reasons. All others are supported.
_FOR_SINGLE_CALLS = {
    "optional": "is for single calls: a slice has every argument",
    "defaults": "is for single calls: what slices are taken from has no defaults",
    "keyword_only": "is for single calls: what slices are taken from is given by place or by name",
    "positional_only": "is for single calls: what slices are taken from is given by place or by name",
    "returns": "is for single calls: results are numbers and arrays of their own",
    "check": "is asked after each call, and broadcasting makes many",
    "keeps": "is for single calls: C must not keep addresses of slices",
    "overlap": "is for single calls: nothing may overlap what slices write, which run in any order",
    "stable": "is for single calls: arrays look into no memory of C's",
    "unsafe": "is for single calls: dims= says how much of a pointer is a slice",
    "container": "is for single calls: slices are taken from arrays, and results are such",
    "encoding": "is for single calls: characters are numbers where slices are",
}


def _refuse_options(options: Options) -> None:
    plain = Options()
    for option, reason in _FOR_SINGLE_CALLS.items():
        given = getattr(options, option)
        if given != getattr(plain, option) and (given or option == "encoding"):  # encoding=None means bytes
            raise Unmapped(f"{option}= {reason}")


class Slice:
    """Turns a declaration and its options into the arguments of function()."""

    def __init__(self, library: Core, found: FunctionDeclaration, options: Options) -> None:
        self.library, self.found, self.options = library, found, options
        self.mapper = Mapper(library, found, options)
        self.mapper.has_characters = False
        self.who = self.mapper.who
        self.slots: list[Any] = self.mapper.slots
        self.c_names: dict[str, str] = {}  # parameter -> name of its operand
        self.output_dims: dict[str, str] = {}  # name of a computed length -> expression

    def define(self) -> Any:
        function = self.mapper.map().function
        self.result = function.result
        if function.sizes:
            raise Unmapped("a dim is what a C function or a struct says")
        if any(each.discarded for each in function.parameters):
            raise Unmapped("discard= of what it writes is for single calls")
        if self.result.role not in ("value", "none"):
            raise Unmapped(f"it returns {types.show(self.found.result)}")
        self._take_elements()
        self._sort()
        self._check_dims()
        for slot in self.inputs:
            if slot.parameter.intent != "in":
                raise Unmapped(f"{slot.name} is written in place: out= says that it is a result")
            if slot.parameter.role == "address":
                raise Unmapped(f"{slot.name} is a pointer without dims: dims= or out= say what it is")
            if slot.parameter.role not in ("value", "array") or slot.parameter.optional:
                raise Unmapped(f"{slot.name} is neither a number nor an array of numbers")
        for slot in self.outputs:
            if slot.parameter.role not in ("value", "array"):
                raise Unmapped(f"the result {slot.name} is neither a number nor an array of numbers")
        written = [*["return"] * (self.result.role == "value"), *(slot.name for slot in self.outputs)]
        if not written:
            raise Unmapped("it has no result: out= names what it writes")
        names = ["output"] if len(written) == 1 else [f"output{i}" for i in range(len(written))]
        arguments = self.mapper.arguments
        self.c_names = dict(zip(written, names, strict=True))
        self.c_names |= {
            slot.name: operand_name(arguments[slot.parameter.argument].name, names) for slot in self.inputs
        }
        called = f"{self.found.name}__c" if self.mapper.declaration.fixed < 0 else ""
        made = _cwrapjit.function(
            self.options.name or python_name(self.found.name),
            self._doc(),
            signature=self.signature(),
            Ccode_slice_eval={self.dtypes(): self._call()},
            Ccode_validate=self._validate([*self.inputs, *self.outputs]),
            cast="safe",
            header=self._forwarding(called) if called else None,
            c_function=self._c_function(called) if called else None,
            debug=self.library.code.debug,
            gil=True if self.options.gil else None,
        )
        self._keep(made)
        return made

    def _take_elements(self) -> None:
        """Makes pointers to one struct of numbers elements of arrays, if C reads it or out= names it."""
        classes = self.library.classes
        for slot in self.slots:
            parameter = slot.parameter
            if parameter is None or parameter.optional:
                continue
            is_read = parameter.role == "handle" and slot.const
            is_result = parameter.role == "struct" and parameter.intent == "out"
            if is_result and destructors.of(parameter.cls) is not destructors.NONE:
                raise Unmapped(f"{slot.name} has to be freed, and nobody frees elements of arrays")
            if (is_read or is_result) and not classes.more_alignment(slot.item):
                dtype = classes.dtype_of(slot.item)
                if dtype is not None:
                    parameter.role, parameter.by_pointer, parameter.descr = "value", True, dtype

    def _c_function(self, called: str) -> str:
        """Returns the declaration of the C function that f.address points to."""
        result, _, inner = signature(self.found, names=False).partition(" (")
        return f"{result} {called}({inner}"

    def _forwarding(self, called: str) -> str:
        """Returns C text of a function with the library's types that calls the compiled one."""
        spell = Writer().spell
        kinds = [spell(slot.type) for slot in self.slots]
        returns = spell(self.found.result)
        taken = ", ".join(f"{kind} a{k}" for k, kind in enumerate(kinds)) or "void"
        call = call_of(
            self.library.code.target(self.found), returns, kinds, [f"a{k}" for k in range(len(kinds))]
        )
        word = "" if isinstance(self.found.result, types.Void) else "return "
        text = f"{returns} {called}({taken}) {{ {word}{call}; }}\n"
        return f"{COMPLEX if 'cwj_' in text else ''}{text}"

    def _doc(self) -> str:
        doc: str | None = self.options.doc
        return documented(self.library.declarations, self.found) if doc is None else doc

    def _keep(self, made: Any) -> None:
        """Stores the function's C declaration, the code that it calls, and whether C may keep arguments."""
        made.__dict__["_declared"] = shown(self.found)
        made.__dict__["_library"] = self.library.code.lifetime
        made.__dict__["_keeps"] = self.library.code.may_keep

    def _sort(self) -> None:
        """Sorts the slots into inputs, in the caller's order, and outputs. Updated operands are inputs."""
        slots = [slot for slot in self.slots if slot.parameter is not None]
        self.inputs = [slot for slot in slots if slot.parameter.argument >= 0]
        self.inputs.sort(key=lambda slot: slot.parameter.argument)
        self.outputs = [slot for slot in slots if slot.parameter.intent == "out"]

    def signature(self) -> str:
        """Returns the signature= of function()."""
        inputs = [
            f"{'inout ' * (slot.parameter.intent == 'inout')}{self._shown(slot)}" for slot in self.inputs
        ]
        returned = [f"{self.c_names['return']}()"] if self.result.role == "value" else []
        outputs = returned + [self._shown(slot) for slot in self.outputs]
        return f"{', '.join(inputs)} -> {', '.join(outputs)}"

    def _shown(self, slot: Any) -> str:
        return f"{self.c_names[slot.name]}({', '.join(map(str, self._dims(slot)))})"

    def dtypes(self) -> tuple[np.dtype, ...]:
        """Returns one dtype per operand."""
        returned = [self.result.descr or np.dtype(self.result.type)] if self.result.role == "value" else []
        return (*map(self._dtype, self.inputs), *returned, *map(self._dtype, self.outputs))

    def _dtype(self, slot: Any) -> np.dtype[Any]:
        """Returns the dtype of an operand, which consists of numbers or structs."""
        made: np.dtype[Any] = slot.parameter.descr or np.dtype(slot.parameter.type)
        return made

    def _dims(self, slot: Any) -> tuple[int | str, ...]:
        dims = []
        for dim in slot.parameter.dims:
            if len(dim) != 1:
                named = "".join(f"[{each[0] if len(each) == 1 else 'k'}]" for each in slot.parameter.dims)
                raise Unmapped(
                    f"the dim {expressions.shown(dim)} of {slot.name} is computed, and only a result of a "
                    f"text may have such: wanted a name, as in {slot.name}{named} beside `long k`"
                )
            dims.append(dim[0])
        if slot.parameter.order == "F" and len(dims) > 1:
            raise Unmapped(f"{slot.name} is in Fortran order")
        return tuple(dims)

    def _check_dims(self) -> None:
        """Raises Unsized if no argument determines a dim of an output."""
        known = {dim for slot in self.inputs for dim in self._dims(slot)}
        for slot in self.outputs:
            for dim in self._dims(slot):
                if isinstance(dim, str) and dim not in known and dim not in self.output_dims:
                    raise Unsized(f"no argument has the dim {dim} of {slot.name}")

    def _call(self) -> str:
        spell = Writer().spell
        returns = spell(self.found.result)
        fixed = self.mapper.declaration.fixed
        values = [self._given(slot) for slot in self.slots]
        for k, slot in enumerate(self.slots[fixed:] if fixed >= 0 else [], fixed):
            values[k] = promoted(slot.type, values[k])
        kinds = [spell(slot.type) for slot in self.slots]
        call = call_of(self.library.code.target(self.found), returns, kinds, values, fixed)
        if self.result.role == "value":
            target = self.c_names["return"]
            call = f"*({returns} *)data_slice__{target} = {call}"
        return f"{COMPLEX if 'cwj_' in call else ''}{call};\nreturn 1;"

    def _given(self, slot: Any) -> str:
        """Returns the C expression that the call passes for a parameter."""
        parameter = slot.parameter
        spelled = Writer().spell(slot.type)
        if parameter.role == "hidden":
            value = self._value(parameter.value)
            if slot.name in self.mapper.by_reference:
                return f"&({Writer().spell(slot.type.target)}){{{value}}}"
            return f"({spelled})({value})"
        if parameter.role == "stride":
            name = self.c_names[self.slots[parameter.of].name]
            size = np.dtype(self.slots[parameter.of].parameter.type).itemsize
            return f"({spelled})(strides_slice__{name}[{parameter.axis}] / {size})"
        name = self.c_names[slot.name]
        if parameter.role == "array" or parameter.by_pointer:
            return f"(void *)(data_slice__{name}{self._to_lowest(slot, name)})"
        return f"*(const {spelled} *)data_slice__{name}"

    def _to_lowest(self, slot: Any, name: str) -> str:
        """Returns, as C text, the offset from the first item to the lowest, on axes that run backwards."""
        wanted = ("stride", self.mapper.by_name[slot.name], "lowest")
        strides = [each.parameter for each in self.slots]
        axes = [each.axis for each in strides if (each.role, each.of, each.negative) == wanted]
        return "".join(_TO_LOWEST % {"x": name, "axis": axis} for axis in axes)

    def _value(self, dim: Any) -> str:
        """Returns an expression of dims as C text."""

        def value(each: int | str) -> str:
            return f"(npy_intp){each}" if isinstance(each, int) else self._symbol(each)

        text: str = expressions.folded(dim, value, expressions.spelled)
        return text

    def _symbol(self, symbol: str) -> str:
        for slot in self.slots:
            if slot.parameter.intent != "out" and (symbol,) in slot.parameter.dims:
                axis = slot.parameter.dims.index((symbol,))
                return f"dims_slice__{self.c_names[slot.name]}[{axis}]"
        raise Unmapped(f"no argument has the dim {symbol}")

    def _validate(self, slots: list[Any]) -> str | None:
        """Returns Ccode_validate: slices without strides are contiguous; hidden integers fit their types."""
        checks = []
        strided = {each.parameter.of for each in self.slots if each.parameter.role == "stride"}
        for slot in self.slots:
            parameter = slot.parameter
            if parameter.role == "stride":
                of = self.slots[parameter.of]
                name, size = self.c_names[of.name], np.dtype(of.parameter.type).itemsize
                words = {"x": name, "axis": parameter.axis, "size": size, "stride": slot.name}
                checks.append(_CHECK_STRIDE % words)
                if not parameter.negative:
                    checks.append(_CHECK_FORWARDS % words)
            if parameter.role == "hidden":
                checks.append(check_length(self._value(parameter.value), parameter.type, slot.name))
        for slot in slots:
            if slot.parameter.dims and self.mapper.by_name[slot.name] not in strided:
                checks.append(CHECK_CONTIGUOUS % self.c_names[slot.name])
        return "".join([*checks, "return 1;"]) if checks else None


_CHECK_STRIDE = """if (strides_slice__%(x)s[%(axis)d] %% %(size)d) {
    PyErr_SetString(PyExc_ValueError, "a stride of %(x)s is no multiple of the item size");
    return 0;
}
"""
_CHECK_FORWARDS = """if (strides_slice__%(x)s[%(axis)d] < 0 && dims_slice__%(x)s[%(axis)d] > 1) {
    PyErr_SetString(PyExc_ValueError, "%(x)s runs backwards, and what %(stride)s means then is not said: "
                                      "strides= may end with \\"first\\" or \\"lowest\\"");
    return 0;
}
"""
_TO_LOWEST = (
    " + (strides_slice__%(x)s[%(axis)d] < 0 && dims_slice__%(x)s[%(axis)d] > 0"
    " ? strides_slice__%(x)s[%(axis)d] * (dims_slice__%(x)s[%(axis)d] - 1) : 0)"
)


def operand_name(name: str, taken: Collection[str] = ()) -> str:
    """Returns an operand's name for a parameter's: function() reserves some names."""
    while name in ("output", "out", "cookie", *taken):
        name += "_"
    return name
