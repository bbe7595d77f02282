"""Variables of a library: attributes that are read from memory and written to it, each time."""

from __future__ import annotations

import ctypes
import dataclasses
from typing import Any, ClassVar

from cwrapjit import _cwrapjit
from cwrapjit._imports import load
from cwrapjit.library import expressions, thunks, types
from cwrapjit.library.library import Core, Variable
from cwrapjit.library.names import qualified
from cwrapjit.library.thunks import Unmapped


@dataclasses.dataclass
class _Variable(Variable):
    """The address of a variable. Subclasses that can be assigned to have set()."""

    who: str
    address: int
    refusal: ClassVar[str] = ": Can't reallocate memory; assign to its items instead"

    def set(self, value: Any) -> None:
        raise AttributeError(f"{self.who}{self.refusal}")


@dataclasses.dataclass
class ScalarVariable(_Variable):
    dtype: str
    const: bool
    sizes: str = ""  # the variable whose length this is

    def get(self) -> Any:
        return _cwrapjit.scalar_at(self.address, self.dtype)

    def set(self, value: Any) -> None:
        if self.const:
            raise AttributeError(f"{self.who} is const")
        if self.sizes:
            raise AttributeError(f"{self.who} is read-only: it is the size of {self.sizes}")
        _cwrapjit.store_scalar(self.address, self.dtype, value, self.who)


@dataclasses.dataclass
class ArrayVariable(_Variable):
    """T x[3]"""

    dtype: Any  # a name, or NumPy's of a struct
    shape: list[int]
    const: bool
    lifetime: Any

    def get(self) -> Any:
        return _cwrapjit.array_at(self.address, self.dtype, self.shape, "C", self.lifetime, not self.const)

    def set(self, value: Any) -> None:
        now = self.get()
        if not isinstance(value, (bytes, bytearray)) or self.const or now.ndim != 1 or now.itemsize != 1:
            super().set(value)
        if len(value) != now.size:
            raise ValueError(f"{self.who} has {now.size} bytes, got {len(value)}")
        now.view("u1")[...] = bytearray(value)


@dataclasses.dataclass
class PointerVariable(_Variable):
    """T *x with shape=: the array that it points to now."""

    dtype: str
    dims: Any
    const: bool
    lifetime: Any
    table: dict[str, Any]  # the library's attributes

    def get(self) -> Any:
        pointer = ctypes.c_void_p.from_address(self.address).value
        if not pointer:
            return None
        shape = [self._length(dim) for dim in self.dims]
        return _cwrapjit.array_at(pointer, self.dtype, shape, "C", self.lifetime, not self.const)

    def _length(self, dim: Any) -> int:
        def value(each: int | str) -> int:
            return each if isinstance(each, int) else int(self.table[each].get())

        found: int = expressions.value_of(dim, value)
        if not 0 <= found < 2**60:
            raise ValueError(f"{self.who} has length {found}")
        return found


@dataclasses.dataclass
class TextVariable(_Variable):
    """const char *x: str, or None; const char x[]: str."""

    by_pointer: bool
    refusal = " is text of the library"

    def get(self) -> str | None:
        address = ctypes.c_void_p.from_address(self.address).value if self.by_pointer else self.address
        return None if not address else ctypes.string_at(address).decode("utf-8", "surrogateescape")


@dataclasses.dataclass
class TextsVariable(_Variable):
    """const char *x[3], or x[] up to a NULL: a list of str, None for NULL."""

    length: int | None
    refusal = " is text of the library"

    def get(self) -> list[Any]:
        found: list[str | None] = []
        while self.length is None or len(found) < self.length:
            text = ctypes.c_char_p.from_address(self.address + 8 * len(found)).value
            if text is None and self.length is None:
                break
            found.append(None if text is None else text.decode("utf-8", "surrogateescape"))
        made: list[Any] = load("cwrapjit.library.items").Items(found, self.who)
        return made


@dataclasses.dataclass
class InstanceVariable(_Variable):
    """A struct, or a pointer to one."""

    cls: Any
    by_pointer: bool
    lifetime: Any

    def get(self) -> Any:
        address = self.address
        if self.by_pointer:
            address = ctypes.c_void_p.from_address(self.address).value or 0
        return None if not address else _cwrapjit.instance_at(self.cls, address, self.lifetime)


@dataclasses.dataclass
class FunctionVariable(_Variable):
    """A pointer to a function."""

    converter: Any
    const: bool
    lifetime: Any
    kept: Any = None  # what was assigned: C may call it

    def get(self) -> Any:
        address = ctypes.c_void_p.from_address(self.address).value or 0
        return self.converter.at(address, self.lifetime)

    def set(self, value: Any) -> None:
        if self.const:
            raise AttributeError(f"{self.who} is const")
        address, kept, *_ = self.converter(value)
        ctypes.c_void_p.from_address(self.address).value = address
        self.kept = kept


def make(library: Core, found: Any, shape: Any, readonly: bool) -> Any:
    """Makes the variable for a declaration. Raises Unmapped with a reason."""
    who = qualified(library.name, found.name)
    if found.private:
        raise Unmapped("it is private (static)")
    const = found.const or readonly
    ctype = found.type
    address = library.code.address(found.name, who)
    function = types.function_of(ctype)
    if isinstance(function, types.Callable):
        converter = load("cwrapjit.library.callbacks").Converter(library, function, who)
        return FunctionVariable(who, address, converter, const, library.code.lifetime)
    if isinstance(ctype, types.Pointer):
        return _pointer(library, found, ctype, address, shape, readonly)
    if shape is not None:
        raise ValueError(f"{who}: shape= is for pointers; it is a {types.show(ctype)}")
    if isinstance(ctype, types.Scalar) and ctype.dtype:
        return ScalarVariable(who, address, ctype.value_type, const)
    if types.is_one_struct(ctype) and library.classes.dtype_of(ctype.item) is None:
        ctype = ctype.item
    if isinstance(ctype, types.Struct):
        return InstanceVariable(who, address, library.classes.of(ctype), False, library.code.lifetime)
    if isinstance(ctype, types.Array):
        ctype, layers = types.peeled(ctype)
        const = const or any(each.const for each in layers)
        if len(layers) == 1 and getattr(getattr(ctype, "target", None), "is_character", False):
            return TextsVariable(who, address, layers[0].dim and thunks.array_length(layers[0]))
        is_text = isinstance(ctype, types.Scalar) and ctype.spelling == "char" and const
        if is_text and len(layers) == 1 and layers[0].dim is None:
            return TextVariable(who, address, by_pointer=False)
        lengths = list(map(thunks.array_length, layers))
        if isinstance(ctype, types.Scalar) and ctype.dtype:
            return ArrayVariable(who, address, ctype.dtype, lengths, const, library.code.lifetime)
        if isinstance(ctype, types.Struct):
            return ArrayVariable(
                who, address, library.classes.items_of(ctype), lengths, const, library.code.lifetime
            )
    raise Unmapped(f"it is a {types.show(found.type)}, which has no mapping")


def _pointer(
    library: Core, found: Any, ctype: types.Pointer, address: int, shape: Any, readonly: bool
) -> Any:
    target, who = ctype.target, qualified(library.name, found.name)
    if isinstance(target, types.Struct):
        return InstanceVariable(who, address, library.classes.of(target), True, library.code.lifetime)
    if isinstance(target, types.Scalar) and target.dtype and shape is not None:

        def lookup(name: str) -> int | str | None:
            library.settle([name])
            found = library.variable_at(name)
            if isinstance(found, ScalarVariable) and found.dtype != "char":
                return name
            value = library.values.of(name)
            return value if isinstance(value, int) else None

        try:
            dims = expressions.shape_of(shape, lookup)
        except expressions.BadDim as error:
            raise ValueError(f"{who}: shape: {str(error).replace('parameter', 'variable')}") from None
        for symbol in expressions.symbols(*dims):
            # Read-only: whoever changes the length of an array can read all memory through it.
            library.table[symbol].sizes = found.name
        const = ctype.const or readonly
        return PointerVariable(who, address, target.dtype, dims, const, library.code.lifetime, library.table)
    if isinstance(target, types.Scalar) and target.spelling == "char":
        return TextVariable(who, address, by_pointer=True)
    raise Unmapped(f"it is a pointer ({types.show(ctype)}): shape= says how much it points to")
