"""Locates Fortran's data: variables of modules, and components of objects of derived types.

An emitted procedure returns the address and the shape each time, because allocatable arrays may move.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cwrapjit._cwrapjit import Initializer, Instance, array_at, instance_at, scalar_at, store_scalar
from cwrapjit.library import library, types
from cwrapjit.library.description import Argument, Parameter
from cwrapjit.library.fortran_text import NUMPY, POINTER, Derived, Variable, declared
from cwrapjit.library.thunks import Thunk, Unmapped

_INTEGERS = {1: "int8", 2: "int16", 4: "intc", 8: "int64"}


class Place(library.Variable):
    """One variable or component: emits its accessor, and reads and writes its value."""

    def __init__(self, variable: Variable, module: str, symbol: str, derived: Derived | None = None) -> None:
        kind = variable.type
        if kind is None or kind.base in ("character", "class") or "pointer" in variable.attributes:
            raise Unmapped(f"{variable.name}: characters, pointers and polymorphic data have no mapping")
        if kind.base == "type" and "parameter" in variable.attributes:
            raise Unmapped(f"{variable.name}: a constant of a derived type has no mapping")
        if kind.base == "type" and variable.shape:
            raise Unmapped(f"{variable.name}: an array of a derived type has no mapping")
        if kind.base == "logical" and variable.shape and kind.kind != 1:
            raise Unmapped(
                f"{variable.name}: an array of logical({kind.kind}) has no NumPy type: want logical(c_bool)"
            )
        self.variable = variable
        self.module = module
        self.symbol = symbol
        self.derived = derived
        self.logical = kind.base == "logical"
        self.type_name = kind.name
        if self.logical and not variable.shape:
            self.type = _INTEGERS[kind.kind]
        else:
            self.type = NUMPY.get((kind.base, kind.kind), "")
        self.cls: Any = None
        self.locate: Callable[..., Any] | None = None

    @property
    def name(self) -> str:
        return f"{self.derived.name}%{self.variable.name}" if self.derived else self.variable.name

    @property
    def arguments(self) -> list[Argument]:
        return [Argument("self")] if self.derived is not None else []

    @property
    def parameters(self) -> list[Parameter]:
        """Returns the parameters of the accessor for the call path. Addresses are integers."""
        own = [Parameter("handle", argument=0, cls=self.derived.name, name="self")] if self.derived else []
        out = range(1 + len(self.variable.shape))
        return own + [
            Parameter("value", "int64", by_pointer=True, intent="out", name=f"place {i}") for i in out
        ]

    def text(self) -> str:
        variable, kind = self.variable, self.variable.kind
        rank = len(variable.shape)
        sizes = [f"size_{axis}" for axis in range(1, rank + 1)]
        dummies = (["object"] if self.derived else []) + ["place", *sizes]
        what = "whole%" + variable.name if self.derived else "target_data"
        lines = [f'subroutine {self.symbol}({", ".join(dummies)}) bind(c, name="{self.symbol}")']
        used = f"type_whole => {self.derived.name}" if self.derived else f"target_data => {variable.name}"
        lines += [f"  use {self.module}, only: {used}"]
        if kind.base == "type":
            lines += [f"  use {self.module}, only: type_data => {kind.name}"]
        if self.derived:
            lines += ["  type(c_ptr), value :: object", "  type(type_whole), pointer :: whole"]
        lines += ["  type(c_ptr), intent(out) :: place"]
        lines += [f"  integer(c_int64_t), intent(out) :: {s}" for s in sizes]
        if "parameter" in variable.attributes:  # it has no address, so a copy is used
            shape = ", ".join(f"size(target_data, {axis})" for axis in range(1, rank + 1))
            lines += [
                f"  {declared(kind)}, save, target :: constant{f'({shape})' if rank else ''} = target_data"
            ]
            what = "constant"
        if self.derived:
            lines += ["  call c_f_pointer(object, whole)"]
        lines += ["  place = c_null_ptr", *(f"  {s} = 0" for s in sizes)]
        if "allocatable" in variable.attributes:
            lines += [f"  if (.not. allocated({what})) return"]
        lines += [f"  {s} = size({what}, {axis}, kind=c_int64_t)" for axis, s in enumerate(sizes, 1)]
        own = "type(type_data)" if kind.base == "type" else declared(kind)
        lines += [f"  call locate({what})", "contains", "  subroutine locate(data)"]
        lines += [f"    {own}, target, intent(in) :: data{'(*)' if rank else ''}", "    place = c_loc(data)"]
        lines += ["  end subroutine locate", f"end subroutine {self.symbol}"]
        return "\n".join("  " + line for line in lines)

    def thunk(self) -> Thunk:
        return Thunk(types.Void(), [POINTER] * len(self.parameters))

    def _where(self, owner: Any) -> tuple[int, tuple[int, ...]]:
        assert self.locate is not None
        found = self.locate(owner) if self.derived is not None else self.locate()
        return (found[0], tuple(found[1:])) if isinstance(found, tuple) else (found, ())

    def get(self, owner: Any = None) -> Any:
        """Returns the value; None if it is not allocated. Arrays and objects are Fortran's, not copies."""
        address, shape = self._where(owner)
        if address == 0:
            return None
        if self.variable.shape:
            writeable = not self.variable.attributes & {"protected", "parameter"}
            base = owner if self.derived is not None else self.locate  # keeps the library in memory
            return array_at(address, self.type, shape, "F", base, writeable)
        if self.type_name:
            return instance_at(self.cls, address, owner)
        value = scalar_at(address, self.type)
        return bool(value) if self.logical else value

    def set(self, value: object, owner: Any = None) -> None:
        """Writes a scalar. Arrays are written through what get() returns."""
        name = self.variable.name
        if "parameter" in self.variable.attributes:
            raise AttributeError(f"{name} is a constant of {self.module}")
        if self.variable.shape or self.type_name:
            raise AttributeError(f"Can't reallocate memory of {name}: write to its elements")
        if "protected" in self.variable.attributes:
            raise AttributeError(f"{name} is protected in {self.module}")
        address, _ = self._where(owner)
        if address == 0:
            raise ValueError(f"{name} is not allocated")
        if self.logical:
            if not isinstance(value, bool):
                raise TypeError(f"Expected an argument of type bool for {name}, got {type(value).__name__}")
            value = int(value)
        store_scalar(address, self.type, value, name)


def lifetime(derived: Derived, make: str, end: str) -> str:
    """Returns the procedures that make and end an object."""
    return _LIFETIME.format(make=make, end=end, module=derived.module, name=derived.name)


_LIFETIME = """\
  function {make}() bind(c, name="{make}") result(object)
    use {module}, only: type_whole => {name}
    type(c_ptr) :: object
    type(type_whole), pointer :: whole
    allocate(whole)
    object = c_loc(whole)
  end function {make}
  subroutine {end}(object) bind(c, name="{end}")
    use {module}, only: type_whole => {name}
    type(c_ptr), value :: object
    type(type_whole), pointer :: whole
    call c_f_pointer(object, whole)
    deallocate(whole)
  end subroutine {end}"""


def new_class(
    derived: Derived, qualname: str, layout: Any, make: Callable[[], Any], places: list[Place]
) -> type:
    """Makes the Python class of a derived type. Its constructor takes components by position or name."""
    begin = Initializer(make, True)
    scalars = {p.variable.name.lower(): p for p in places if not p.variable.shape and not p.type_name}

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        if len(args) > len(scalars):
            raise TypeError(f"{qualname}() takes at most {len(scalars)} components, got {len(args)}")
        given = dict(zip(scalars, args, strict=False))
        for name, value in kwargs.items():
            if name.lower() not in scalars or name.lower() in given:
                raise TypeError(f"{qualname}(): no scalar component {name!r}, or given twice")
            given[name.lower()] = value
        begin(self)
        for name, value in given.items():
            scalars[name].set(value, self)

    def component(place: Place) -> property:
        name = f"Component {place.variable.name} of type({derived.name})."
        return property(place.get, lambda self, value: place.set(value, self), doc=name)

    members: dict[str, Any] = {
        p.variable.name: component(p) for p in places if p.variable.name.isidentifier()
    }
    members |= {"__cwrapjit_layout__": layout, "__init__": __init__, "__slots__": ()}
    members |= {"__doc__": f"Fortran's type({derived.name}).", "__qualname__": qualname}
    return type(derived.name, (Instance,), members)
