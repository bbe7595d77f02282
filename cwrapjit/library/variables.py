"""Variables of a library: attributes that are read from memory and written to it, each time."""

from __future__ import annotations

import ctypes
from typing import Any

from cwrapjit import _cwrapjit
from cwrapjit.library import expressions, thunks, types
from cwrapjit.library.thunks import Unmapped


class ScalarVariable:
    def __init__(self, library: Any, name: str, address: int, dtype: str, const: bool) -> None:
        self.library, self.name, self.address, self.dtype, self.const = (
            library.name,
            name,
            address,
            dtype,
            const,
        )
        self.sizes = ""  # the variable whose length this is

    def get(self) -> Any:
        return _cwrapjit.scalar_at(self.address, self.dtype)

    def set(self, value: Any) -> None:
        if self.const:
            raise AttributeError(f"{self.library}.{self.name} is const")
        if self.sizes:
            raise AttributeError(f"{self.library}.{self.name} is read-only: it is the size of {self.sizes}")
        _cwrapjit.store_scalar(self.address, self.dtype, value, f"{self.library}.{self.name}")


class _NotAssignable:
    library = name = ""

    def set(self, value: Any) -> None:
        raise AttributeError(
            f"{self.library}.{self.name}: Can't reallocate memory; assign to its items instead"
        )


class ArrayVariable(_NotAssignable):
    """T x[3]: one view, made when it is first asked for."""

    def __init__(
        self, library: Any, name: str, address: int, dtype: str, shape: list[int], const: bool
    ) -> None:
        self.library, self.name, self.lifetime = library.name, name, library.lifetime
        self.arguments: tuple[Any, ...] = (address, dtype, shape, "C", self.lifetime, not const)

    def get(self) -> Any:
        return _cwrapjit.array_at(*self.arguments)


class PointerVariable(_NotAssignable):
    """T *x with shape=: what it points to now."""

    def __init__(self, library: Any, name: str, address: int, dtype: str, dims: Any, const: bool) -> None:
        self.library, self.name, self.address, self.dtype, self.const = (
            library.name,
            name,
            address,
            dtype,
            const,
        )
        self.dims, self.lifetime, self.variables = dims, library.lifetime, library._variables

    def get(self) -> Any:
        pointer = ctypes.c_void_p.from_address(self.address).value
        if not pointer:
            return None
        shape = [self._length(dim) for dim in self.dims]
        return _cwrapjit.array_at(pointer, self.dtype, shape, "C", self.lifetime, not self.const)

    def _length(self, dim: Any) -> int:
        from cwrapjit.library import constants

        stack: list[int] = []
        for each in dim:
            if isinstance(each, int):
                stack.append(each)
            elif each in "+-*/%":
                right = stack.pop()
                stack.append(constants.apply(each, stack.pop(), right))
            else:
                stack.append(int(self.variables[each].get()))
        if stack[0] < 0 or stack[0] >= 2**60:
            raise ValueError(f"{self.library}.{self.name} has length {stack[0]}")
        return stack[0]


class TextVariable:
    """const char *x: str, or None."""

    def __init__(self, library: Any, name: str, address: int) -> None:
        self.library, self.name, self.address = library.name, name, address

    def get(self) -> str | None:
        text = ctypes.c_char_p.from_address(self.address).value
        return None if text is None else text.decode("utf-8", "surrogateescape")

    def set(self, value: Any) -> None:
        raise AttributeError(f"{self.library}.{self.name} is text of the library")


class InstanceVariable(_NotAssignable):
    """A struct, or a pointer to one."""

    def __init__(self, library: Any, name: str, address: int, cls: Any, by_pointer: bool) -> None:
        self.library, self.name, self.address, self.cls = library.name, name, address, cls
        self.by_pointer, self.lifetime = by_pointer, library.lifetime

    def get(self) -> Any:
        address = self.address
        if self.by_pointer:
            address = ctypes.c_void_p.from_address(self.address).value or 0
        return None if not address else _cwrapjit.instance_at(self.cls, address, self.lifetime)


def make(library: Any, found: Any, shape: Any, readonly: bool) -> Any:
    """The variable for a declaration. Unmapped with the reason."""
    who = f"{library.name}.{found.name}"
    if found.private:
        raise Unmapped("it is private (static)")
    const = found.const or readonly
    ctype = found.type
    address = library.address(found.name, who)
    if isinstance(ctype, types.Pointer):
        return _pointer(library, found, ctype, address, shape, readonly)
    if shape is not None:
        raise ValueError(f"{who}: shape= is for pointers; it is a {types.show(ctype)}")
    if isinstance(ctype, types.Scalar) and ctype.dtype:
        return ScalarVariable(library, found.name, address, ctype.dtype, const)
    if isinstance(ctype, types.Struct):
        cls = library.class_of(ctype)
        if cls is None:
            raise Unmapped(f"it is a {types.show(ctype)}, which has no class: see struct() of the library")
        return InstanceVariable(library, found.name, address, cls, False)
    if isinstance(ctype, types.Array):
        lengths = []
        while isinstance(ctype, types.Array):
            const = const or ctype.const
            lengths.append(thunks.array_length(ctype))
            ctype = ctype.item
        if isinstance(ctype, types.Scalar) and ctype.dtype:
            return ArrayVariable(library, found.name, address, ctype.dtype, lengths, const)
    raise Unmapped(f"it is a {types.show(found.type)}, which has no mapping")


def _pointer(library: Any, found: Any, ctype: types.Pointer, address: int, shape: Any, readonly: bool) -> Any:
    target = ctype.target
    if isinstance(target, types.Struct) and library.class_of(target) is not None:
        return InstanceVariable(library, found.name, address, library.class_of(target), True)
    if isinstance(target, types.Scalar) and target.dtype and shape is not None:

        def lookup(name: str) -> int | str | None:
            if isinstance(library._variables.get(name), ScalarVariable):
                return name
            value = library.constant(name)
            return value if isinstance(value, int) else None

        try:
            dims = expressions.shape_of(shape, lookup)
        except expressions.BadDim as error:
            raise ValueError(
                f"{library.name}.{found.name}: shape: {str(error).replace('parameter', 'variable')}"
            ) from None
        for symbol in {each for dim in dims for each in expressions.symbols(dim)}:
            # Who could write the length of an array could read all memory through it.
            library._variables[symbol].sizes = found.name
        return PointerVariable(library, found.name, address, target.dtype, dims, ctype.const or readonly)
    if isinstance(target, types.Scalar) and target.spelling == "char":
        return TextVariable(library, found.name, address)
    raise Unmapped(f"it is a pointer ({types.show(ctype)}): shape= says how much it points to")
