"""Plans the bind(c) procedures that call ordinary Fortran, and describes them to the call path.

An array becomes data, shape and strides; an optional argument a pointer that may be NULL; an allocatable
result data and sizes; an object of a derived type a pointer. Names are made unique.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import numpy as np

from cwrapjit.library import types
from cwrapjit.library.description import Argument, Dim, Parameter, Result
from cwrapjit.library.expressions import symbols
from cwrapjit.library.fortran_dims import Shapes, rpn
from cwrapjit.library.fortran_text import (
    INT64,
    ISO,
    NUMBERS,
    NUMPY,
    POINTER,
    Names,
    Routine,
    Slot,
    Variable,
    declared,
    item_size,
)
from cwrapjit.library.names import python_name
from cwrapjit.library.thunks import Unmapped


class Procedure(Shapes):
    """The bind(c) procedure for one routine, and its description."""

    def __init__(self, routine: Routine, symbol: str, options: dict[str, Any], types: dict[str, str]) -> None:
        self.symbol = symbol
        self.types = types  # known derived types, with their modules
        self.names = Names()
        if not routine.module:
            self.names.taken.add(routine.name.lower())  # its interface's name
        self.target = self.names.fresh(f"target_{routine.name}")
        self.slots: list[Slot] = []
        self.locals: list[str] = []
        self.before: list[str] = []
        self.after: list[str] = []
        self.actual: list[str] = []
        self.left_out: dict[int, str] = {}  # arguments to leave out if these are NULL
        self.arguments: list[Argument] = []
        self.result = Result()
        self.result_dims: tuple[Dim, ...] = ()
        self.returned = ""  # what the bind(c) function returns, as Fortran
        self.refused: list[str] = []  # arrays whose strides may not fit; the status is the index + 1
        self.status = ""
        self.imports: dict[str, str] = {}
        self.interfaces: list[Routine] = []  # of dummy procedures, renamed
        super().__init__(routine, options)
        texts = filter(_is_written_text, routine.arguments)
        self.lengths = {v.name.lower(): self._text_length(v) for v in texts}
        self._arguments()
        if routine.result is not None:
            self._result(routine.result)
        for variable in routine.arguments:
            self._argument(variable)
        if self.refused:
            self._status()

    # Arguments

    def _arguments(self) -> None:
        given = []
        for variable in self.routine.arguments:
            name = variable.name.lower()
            if (variable.type is None or "external" in variable.attributes) and variable.interface is None:
                raise NotImplementedError(
                    f"argument {variable.name} of {self.routine.name} is a procedure whose interface is not "
                    "said"
                )
            made = variable.interface is None and variable.intent == "out"
            if made:
                is_object = not variable.shape and variable.kind.base in ("type", "class")
                made = not (self._given(variable) if variable.shape else is_object)
            if not made and name not in self.hidden:
                given.append(variable)

        def may_lack(variable: Variable) -> bool:
            return "optional" in variable.attributes or variable.name.lower() in self.defaults

        self.given = sorted(given, key=may_lack)
        for variable in self.given:
            default = self.defaults.get(variable.name.lower())
            self.arguments.append(
                Argument(python_name(variable.name), "any", not may_lack(variable), default)
            )

    def _dtype(self, variable: Variable) -> str:
        return NUMPY[variable.kind.base, variable.kind.kind]

    @property
    def name(self) -> str:
        return self.routine.name

    def _index(self, variable: Variable) -> int:
        return next((i for i, given in enumerate(self.given) if given is variable), -1)

    def _slot(self, name: str, c: Any, fortran: str, parameter: Parameter) -> str:
        name = self.names.fresh(name)
        self.slots.append(Slot(name, c, f"{fortran} :: {name}", parameter))
        return name

    def _pointer(self, name: str, parameter: Parameter, fortran: str = "type(c_ptr), value") -> str:
        return self._slot(f"bound_{name}", POINTER, fortran, parameter)

    def _size(self, name: str, value: Dim) -> str:
        """Adds an integer that follows from the shapes of arrays."""
        return self._integer(name, Parameter("hidden", "int64", value=value, name=name))

    def _integer(self, name: str, parameter: Parameter) -> str:
        return self._slot(f"bound_{name}", NUMBERS["int64"], f"{INT64}, value", parameter)

    def _argument(self, variable: Variable) -> None:
        if variable.interface is not None:
            self._procedure(variable, variable.interface)
            return
        kind = variable.kind
        is_section = variable.assumed_shape and kind.base in ("integer", "real", "complex")
        if "pointer" in variable.attributes and not (variable.intent == "in" and is_section):
            self._no(variable, "a pointer has a mapping only as an array of numbers with intent(in)")
        if "allocatable" in variable.attributes:
            if variable.intent != "out" or not variable.shape:
                self._no(variable, "an allocatable argument has a mapping only as an array with intent(out)")
            self.actual.append(self._allocated(variable))
        elif kind.base == "character":
            self._character(variable)
        elif kind.base in ("type", "class"):
            self._object(variable)
        elif variable.assumed_shape:
            self._assumed(variable)
        elif variable.shape:
            self._explicit(variable)
        else:
            self._scalar(variable)

    def _procedure(self, variable: Variable, interface: Routine) -> None:
        """Converts C's function pointer to Fortran's."""
        if "optional" in variable.attributes or "pointer" in variable.attributes:
            self._no(variable, "an optional procedure, or a pointer to one, has no mapping")
        made = callback(variable.name, interface)
        parameter = Parameter("callback", "", self._index(variable), cls=made, name=variable.name)
        bound = self._pointer(variable.name, parameter, "type(c_funptr), value")
        named = self.names.fresh(f"kind_{variable.name}")
        self.interfaces.append(dataclasses.replace(interface, name=named))
        local = self._local(f"procedure({named}), pointer :: ", variable.name)
        self.before.append(f"call c_f_procpointer({bound}, {local})")
        self.actual.append(local)

    def _scalar(self, variable: Variable) -> None:
        name, dtype = variable.name, self._dtype(variable)
        dims = [dim for each in (*self.dims.values(), self.result_dims) for dim in each]
        dims += self.lengths.values()
        symbol = name.lower() if any(name.lower() in symbols(dim) for dim in dims) else ""
        optional = "optional" in variable.attributes and name.lower() not in self.defaults
        kind = variable.kind
        parameter = Parameter("value", dtype, self._index(variable), name=name, symbol=symbol)
        if name.lower() in self.hidden:
            parameter = Parameter("hidden", dtype, name=name, value=(name.lower(),))
        elif optional or variable.intent in ("out", "inout") or kind.base == "complex":
            parameter.by_pointer = True
            parameter.optional = optional and variable.intent != "out"
            parameter.intent = variable.intent or "in"
            self._scalar_by_pointer(variable, parameter)
            return
        iso = "integer(c_int8_t)" if dtype == "bool" else ISO[dtype]
        bound = self._slot(f"bound_{name}", NUMBERS[dtype], f"{iso}, value", parameter)
        if dtype == "bool":
            local = self._local(f"{declared(kind)} :: ", name)
            self.before.append(f"{local} = {bound} /= 0")
            bound = local
        self.actual.append(bound)

    def _scalar_by_pointer(self, variable: Variable, parameter: Parameter) -> None:
        kind = variable.kind
        bound = self._pointer(variable.name, parameter)
        if "value" in variable.attributes and parameter.optional:
            self.left_out[len(self.actual)] = bound
            if len(self.left_out) > 4:
                self._no(variable, "more than four optional arguments by value have no mapping")
        if kind.base != "logical":
            local = self._local(f"{ISO[parameter.type]}, pointer :: ", variable.name)
            self._associate(bound, f"call c_f_pointer({bound}, {local})", local)
            self.actual.append(local)
            return
        raw = self._local("integer(c_int8_t), pointer :: ", f"{variable.name}_byte")
        local = self._local(f"{declared(kind)}, allocatable :: ", variable.name)
        self.before += [f"if (c_associated({bound})) then", f"  call c_f_pointer({bound}, {raw})"]
        self.before += [f"  allocate({local})", f"  {local} = {raw} /= 0", "end if"]
        if variable.intent in ("out", "inout"):
            self.after.append(f"if (allocated({local})) {raw} = merge(1_c_int8_t, 0_c_int8_t, {local})")
        self.actual.append(local)

    def _local(self, declaration: str, name: str, suffix: str = "") -> str:
        name = self.names.fresh(name)
        self.locals.append(f"{declaration}{name}{suffix}")
        return name

    def _associate(self, bound: str, statement: str, local: str) -> None:
        """Sets a pointer, unless the argument is absent: then it stays null."""
        self.before += [f"nullify({local})", f"if (c_associated({bound})) {statement}"]

    def _array(self, variable: Variable) -> Parameter:
        optional = "optional" in variable.attributes
        return Parameter(
            "array",
            self._dtype(variable),
            self._index(variable),
            optional=optional and self._given(variable),
            intent="in" if variable.intent == "in" else "inout" if self._given(variable) else "out",
            dims=self.dims[variable.name.lower()],
            order="F",
            name=variable.name,
        )

    def _explicit(self, variable: Variable) -> None:
        """Passes data without gaps: all of it, in one dim."""
        name = variable.name
        parameter = self._array(variable)
        bound = self._pointer(name, parameter)
        total: Dim = parameter.dims[0]
        for dim in parameter.dims[1:]:
            total = (*total, *dim, "*")
        size = self._size(f"{name}_size", total)
        local = self._local(f"{ISO[parameter.type]}, pointer, contiguous :: ", name, "(:)")
        self._associate(bound, f"call c_f_pointer({bound}, {local}, [{size}])", local)
        self.actual.append(self._converted(variable, parameter, local, "(:)"))

    def _assumed(self, variable: Variable) -> None:
        """Makes of data, shape and strides a section of a whole array, which Fortran can describe."""
        name = variable.name
        parameter = self._array(variable)
        at = len(self.slots)
        bound = self._pointer(name, parameter)
        rank = len(variable.shape)
        shape = [self._size(f"{name}_shape_{i}", dim) for i, dim in enumerate(parameter.dims, 1)]
        strides = [
            Parameter("stride", "int64", of=at, axis=i, name=name, negative="first") for i in range(rank)
        ]
        steps = [self._integer(f"{name}_stride_{i}", each) for i, each in enumerate(strides, 1)]
        colons = ",".join(":" * rank)
        local = self._local(f"{ISO[parameter.type]}, pointer :: ", name, f"({colons})")
        whole = self._local(f"{ISO[parameter.type]}, pointer :: ", f"{name}_whole", f"({colons})")
        layout = self._local(f"{INT64} :: ", f"{name}_layout", f"({rank}, 4)")
        offset = self._local(f"{INT64} :: ", f"{name}_offset")
        parts = ", ".join(f"{layout}({i}, 2):{layout}({i}, 3):{layout}({i}, 4)" for i in range(1, rank + 1))
        lowest = f"cwj_shifted({bound}, {offset} * {item_size(variable)})"
        lines = [
            f"call cwj_layout([{', '.join(shape)}], [{', '.join(steps)}], {layout}, {offset})",
            f"call c_f_pointer({lowest}, {whole}, {layout}(:, 1))",
            f"{local} => {whole}({parts})",
        ]
        self.refused.append(name)
        lines[1:1] = [f"if ({offset} > 0) then", f"  @status = {len(self.refused)}", "  return", "end if"]
        self.before += [f"nullify({local})", f"if (c_associated({bound})) then"]
        self.before += ["  " + line for line in lines] + ["end if"]
        self.actual.append(self._converted(variable, parameter, local, f"({colons})"))

    def _converted(self, variable: Variable, parameter: Parameter, bound: str, suffix: str) -> str:
        """Returns what is passed: the array itself, or a copy with logicals of more bytes than NumPy's."""
        kind = variable.kind
        if kind.base != "logical" or kind.kind == 1:
            return bound
        local = self._local(f"{declared(kind)}, allocatable :: ", f"{variable.name}_copy", suffix)
        self.before.append(f"if (associated({bound})) then")
        if parameter.intent == "out":  # it is uninitialised
            self.before.append(f"  {bound} = .false.")
        self.before += [f"  {local} = {bound}", "end if"]
        if parameter.intent != "in":
            self.after.append(f"if (allocated({local})) {bound} = {local}")
        return local

    def _character(self, variable: Variable) -> None:
        kind = variable.kind
        if variable.shape:
            self._characters(variable)
            return
        if variable.name.lower() in self.lengths:
            self._written_text(variable)
            return
        if kind.length != "*" and not kind.length.isdigit():
            self._no(variable, f"a length of {kind.length} has no mapping")
        optional = "optional" in variable.attributes
        parameter = Parameter("string", "", self._index(variable), optional=optional, name=variable.name)
        bound = self._pointer(variable.name, parameter)
        local = self._local("character(len=:), allocatable :: ", variable.name)
        least = kind.length if kind.length != "*" else "0"
        self.before.append(f"if (c_associated({bound})) call cwj_text({bound}, {least}_c_int64_t, {local})")
        self.actual.append(local)

    def _characters(self, variable: Variable) -> None:
        """Passes a list of texts to read, or an array of bytes of one length to write."""
        name, length = variable.name, variable.kind.length
        if len(variable.shape) != 1 or variable.intent == "inout" or "optional" in variable.attributes:
            self._no(variable, "arrays of characters have a mapping with one dim, and in or out alone")
        is_out, dims = variable.intent == "out", self.dims[name.lower()]
        if is_out and (not length.isdigit() or self._given(variable)):
            self._no(
                variable, "an array of characters that is written needs a length and a dim that are known"
            )
        parameter = Parameter("texts", "", self._index(variable), dims=dims, name=name, container=list)
        if is_out:
            descr = np.dtype(f"S{length}")
            parameter = Parameter("array", intent="out", dims=dims, name=name, descr=descr)
        bound = self._pointer(name, parameter)
        count = self._size(f"{name}_size", dims[0])
        if not is_out:
            least, fixed = (length, ".true.") if length.isdigit() else ("0", ".false.")
            local = self._local("character(len=:), allocatable :: ", name, "(:)")
            self.before.append(f"call cwj_texts({bound}, {count}, {least}_c_int64_t, {fixed}, {local})")
        else:
            local = self._local(f"character(len={length}), allocatable :: ", name, "(:)")
            raw = self._local("integer(c_int8_t), pointer :: ", f"{name}_bytes", "(:)")
            self.before += [f"allocate({local}({count}))", f'{local} = ""']
            self.after += [
                f"call c_f_pointer({bound}, {raw}, [{count} * {length}])",
                f"{raw} = transfer({local}, {raw}, {count} * {length})",
            ]
        self.actual.append(local)

    def _text_length(self, variable: Variable) -> Dim:
        """Returns how many characters a routine may write."""
        name, length = variable.name.lower(), variable.kind.length
        said = self.shapes.get(name)
        if said is None and length in ("*", ":"):
            hint = f"shapes={{{name!r}: 80}}"
            self._no(variable, f"its length {length!r} is the caller's: {hint} says how much room there is")
        try:
            return rpn(length if said is None else str(said), self._named)
        except ValueError as error:
            self._no(variable, f"its length {length!r} {error}")

    def _written_text(self, variable: Variable) -> None:
        """Makes room for characters. They are returned without trailing blanks."""
        name, length = variable.name, self.lengths[variable.name.lower()]
        if "optional" in variable.attributes and variable.intent == "inout":
            self._no(variable, "optional characters with intent(inout) have no mapping")
        room = (*length, 0, ">?", 1, "+")
        given = ""
        if variable.intent == "inout":
            given = self._pointer(f"{name}_given", Parameter("string", "", self._index(variable), name=name))
        out = self._pointer(name, Parameter("array", "char", intent="out", dims=(room,), name=name))
        size = self._size(f"{name}_size", room)
        local = self._local("character(len=:), allocatable :: ", name)
        if given:
            self.before.append(f"call cwj_text({given}, {size} - 1, {local})")
        else:
            self.before.append(f'{local} = repeat(" ", {size} - 1)')
        self.after.append(f"call cwj_letters({local}, {out}, {size})")
        self.actual.append(local)

    def _object(self, variable: Variable) -> None:
        kind = variable.kind
        if variable.shape:
            self._objects(variable)
            return
        cls = self._class(variable)
        parameter = Parameter("handle", "", self._index(variable), cls=cls, name=variable.name)
        parameter.optional = "optional" in variable.attributes
        bound = self._pointer(variable.name, parameter)
        local = self._local(f"type({self.imports[kind.name]}), pointer :: ", variable.name)
        self._associate(bound, f"call c_f_pointer({bound}, {local})", local)
        self.actual.append(local)

    def _objects(self, variable: Variable) -> None:
        """Passes an array of copies of a list of objects. Unless it is only read, they are copied back."""
        name, kind = variable.name, variable.kind
        if len(variable.shape) != 1 or variable.intent == "out" or "optional" in variable.attributes:
            self._no(
                variable, "an array of a derived type has a mapping with one dim, and as in or inout alone"
            )
        if kind.base == "class":
            self._no(variable, "an array of any class has no mapping")
        cls, dims = self._class(variable), self.dims[name.lower()]
        parameter = Parameter("handles", "", self._index(variable), cls=cls, dims=dims, name=name)
        bound = self._pointer(name, parameter)
        count = self._size(f"{name}_size", dims[0])
        of = f"type({self.imports[kind.name]})"
        local = self._local(f"{of}, allocatable :: ", name, "(:)")
        each = self._local(f"{of}, pointer :: ", f"{name}_each")
        pointers = self._local("type(c_ptr), pointer :: ", f"{name}_pointers", "(:)")
        at = self._local(f"{INT64} :: ", f"{name}_at")
        loop = [f"do {at} = 1, {count}", f"  call c_f_pointer({pointers}({at}), {each})"]
        self.before += [f"call c_f_pointer({bound}, {pointers}, [{count}])", f"allocate({local}({count}))"]
        self.before += [*loop, f"  {local}({at}) = {each}", "end do"]
        if variable.intent != "in":
            self.after += [*loop, f"  {each} = {local}({at})", "end do"]
        self.actual.append(local)

    def _class(self, variable: Variable) -> str:
        """Returns the name of its type. The description gets the class later."""
        kind = variable.kind
        if kind.name not in self.types:
            self._no(variable, f"the type {kind.name} is not declared here, in a module")
        if kind.name not in self.imports:
            self.imports[kind.name] = self.names.fresh(f"type_{kind.name}")
        return kind.name

    # Results

    def _result(self, variable: Variable) -> None:
        kind = variable.kind
        if "pointer" in variable.attributes:
            self._no(variable, "a pointer as result has no mapping")
        if kind.base == "character":
            self._text_result(variable)
        elif kind.base in ("type", "class"):
            self._object_result(variable)
        elif "allocatable" in variable.attributes:
            if not variable.shape:
                self._no(variable, "an allocatable scalar as result has no mapping")
            self.returned = self._allocated(variable)
        elif variable.shape:
            self._array_result(variable)
        elif kind.base == "complex":
            dtype = self._dtype(variable)
            parameter = Parameter("value", dtype, by_pointer=True, intent="out", name="result")
            bound = self._pointer(variable.name, parameter)
            self.returned = self._local(f"{ISO[dtype]}, pointer :: ", variable.name)
            self.before.append(f"call c_f_pointer({bound}, {self.returned})")
        else:
            self.result = Result("value", self._dtype(variable))
            self.returned = self._local(f"{declared(kind)} :: ", variable.name)

    def _text_result(self, variable: Variable) -> None:
        if variable.shape:
            self._no(variable, "an array of characters as result has no mapping")
        if variable.kind.length == "*":
            self._no(variable, "a result whose length is the caller's has no mapping")
        self.result = Result("string", owner="callee")
        self.returned = self._local("character(len=:), allocatable :: ", variable.name)

    def _array_result(self, variable: Variable) -> None:
        dtype = self._dtype(variable)
        try:
            dims = self.result_dims = self._dims(variable)
        except Unmapped:  # count(x > 0): known only after the call
            self.returned = self._allocated(variable)
            return
        parameter = Parameter("array", dtype, intent="out", dims=dims, order="F", name="the result")
        bound = self._pointer(variable.name, parameter)
        shape = [self._size(f"{variable.name}_shape_{i}", dim) for i, dim in enumerate(dims, 1)]
        colons = ",".join(":" * len(dims))
        self.returned = self._local(f"{ISO[dtype]}, pointer, contiguous :: ", variable.name, f"({colons})")
        self.before.append(f"call c_f_pointer({bound}, {self.returned}, [{', '.join(shape)}])")

    def _allocated(self, variable: Variable) -> str:
        """Copies what Fortran allocates to memory from malloc(), which is freed with the array."""
        name, dtype = variable.name, self._dtype(variable)
        rank = len(variable.shape)
        places = [f"{name.lower()}_shape_{axis}" for axis in range(1, rank + 1)]
        parameter = Parameter("data", dtype, intent="out", dims=tuple((p,) for p in places), order="F")
        parameter.name, parameter.free = name, -1
        data = self._pointer(name, parameter, "type(c_ptr), intent(out)")
        sizes = [
            self._pointer(place, Parameter("length", "int64", symbol=place), f"{INT64}, intent(out)")
            for place in places
        ]
        colons = ",".join(":" * rank)
        kind = declared(variable.kind) if dtype == "bool" else ISO[dtype]
        local = self._local(f"{kind}, allocatable :: ", name, f"({colons})")
        copy = self._local(f"{ISO[dtype]}, pointer :: ", f"{name}_copy", f"({colons})")
        # NULL data is then an error
        self.before[:0] = [f"{data} = c_null_ptr", *(f"{size} = 1" for size in sizes)]
        self.after += [
            f"if (allocated({local})) then",
            *(f"  {size} = size({local}, {axis}, kind=c_int64_t)" for axis, size in enumerate(sizes, 1)),
            f"  {data} = cwj_memory(size({local}, kind=c_int64_t) * {item_size(variable)} + 1)",
            f"  if (c_associated({data})) then",
            f"    call c_f_pointer({data}, {copy}, [{', '.join(sizes)}])",
            f"    {copy} = {local}",
            "  end if",
            "end if",
        ]
        return local

    def _object_result(self, variable: Variable) -> None:
        if variable.shape:
            self._no(variable, "an array of a derived type as result has no mapping")
        cls = self._class(variable)
        kind = self.imports[variable.kind.name]
        self.returned = self._local(f"type({kind}), pointer :: ", variable.name)
        self.before.append(f"allocate({self.returned})")
        self.result = Result("handle", cls=cls, owner="callee")

    def _status(self) -> None:
        parameter = Parameter("status", "intc", name="status")
        self.status = self._pointer("status", parameter, "integer(c_int), intent(out)")
        self.before[:0] = [f"{self.status} = 0"]
        self.before = [line.replace("@status", self.status) for line in self.before]


def _is_written_text(variable: Variable) -> bool:
    kind = variable.type
    is_text = kind is not None and kind.base == "character" and not variable.shape
    return is_text and variable.intent in ("out", "inout") and "allocatable" not in variable.attributes


# ---- procedures as arguments ----------------------------------------------------------------------------


@dataclasses.dataclass
class Callback:
    """The type of a dummy procedure, and its arguments for Python, in the form of dims=."""

    ctype: types.Callable
    dims: dict[str, Any]


def callback(name: str, routine: Routine) -> Callback:
    """Maps a procedure. Raises Unmapped with a reason if C cannot call it, or Python cannot be called.

    Fortran passes everything by address. Python gets a number that is only read as a number, one that is
    written as an array of one item. Results are by value."""
    dims: dict[str, Any] = {}
    parameters = tuple(_parameter(name, each, dims) for each in routine.arguments)
    names = tuple(each.name.lower() for each in routine.arguments)
    result: Any = types.Void()
    if routine.result is not None:
        if routine.result.shape or {"allocatable", "pointer"} & routine.result.attributes:
            raise Unmapped(f"{name}: a procedure whose result is an array")
        result = _number(name, routine.result)
    return Callback(types.Callable("", result, names, parameters), dims)


def _number(name: str, variable: Variable) -> types.Scalar:
    kind = variable.type
    dtype = "intc" if kind and kind.base == "logical" and kind.kind == 4 else ""
    if kind is not None and kind.base in ("integer", "real"):
        dtype = NUMPY.get((kind.base, kind.kind), "")
    if not dtype:
        raise Unmapped(f"{name}: a procedure whose {variable.name} is neither an integer nor a real number")
    return NUMBERS[dtype]


def _parameter(name: str, variable: Variable, dims: dict[str, Any]) -> Any:
    inner = variable.name.lower()
    lower, upper = variable.shape[0] if variable.shape else ("1", "")
    fault = ""
    if {"optional", "allocatable", "pointer", "external"} & variable.attributes:
        fault = "is optional, a pointer or a procedure"
    elif variable.assumed_shape:
        fault = "has an assumed shape"
    elif len(variable.shape) > 1:
        fault = f"has {len(variable.shape)} dims"
    elif upper not in ("", "*") and (lower != "1" or not re.fullmatch(r"[\w\s+*()-]+", upper)):
        fault = f"has the dim {lower}:{upper}"
    if fault:
        raise Unmapped(f"{name}: a procedure whose argument {variable.name} {fault}")
    number = _number(name, variable)
    if "value" in variable.attributes:
        return number
    is_read = variable.intent in ("", "in") and not variable.shape
    if upper != "*":
        dims[inner] = (upper.lower(),) if upper else () if is_read else (1,)
    return types.Pointer(number, const=is_read or variable.intent == "in")
