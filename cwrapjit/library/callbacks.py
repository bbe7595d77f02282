"""Converts functions that are passed as arguments to addresses of C functions.

Python callables get trampolines: C functions of one signature, compiled several at a time and never freed, as
nobody knows when C calls them last. A trampoline's place says whose it is (csrc/library/callbacks/).
"""

from __future__ import annotations

import contextlib
import types as python_types
from typing import Any

from cwrapjit import _cwrapjit
from cwrapjit._imports import load
from cwrapjit.library import expressions, thunks, types
from cwrapjit.library.declarations import FunctionDeclaration, declaration_of
from cwrapjit.library.library import Core

_MOST_FUNCTIONS = 128  # limit of each of a converter's tables
_SURELY_PYTHON: tuple[type, ...] = (
    python_types.FunctionType,
    python_types.MethodType,
    python_types.BuiltinFunctionType,
)
_KNOWN_AGAIN: tuple[type, ...] = (str, _cwrapjit.LibraryFunction, _cwrapjit.Function)
_trampolines: dict[tuple[str, bool], Any] = {}  # key: C signature, and whether it needs the C compiler
_environment: list[Any] = []
# (crossing, name, type, class or dtype, dims, readonly)
Passed = tuple[str, str, str, Any, tuple[Any, ...], bool]


class Converter:
    """Makes addresses for one parameter of a function, or a member. hidden: the callback's parameters that
    Python does not get; dims: dims= of them; by_libtcc: code of libtcc calls it (None: if it has sources)."""

    def __init__(
        self,
        library: Core,
        ctype: types.Callable,
        who: str,
        hidden: frozenset[int] = frozenset(),
        dims: Any = None,
        by_libtcc: bool | None = None,
    ) -> None:
        self.library = library
        self.ctype = ctype
        self.names = [name or f"arg{k}" for k, name in enumerate(ctype.names)]
        self.who = who
        self.hidden = hidden
        self.dims = dims or {}
        self.by_libtcc = library.code.has_sources if by_libtcc is None else by_libtcc
        self._kind: Any = None
        self._made: Any = None
        self._functions: dict[int, Any] = {}  # by address
        self.known: dict[Any, Any] = {}  # conversions of texts and functions, where calls look first

    def __call__(self, given: Any) -> tuple[Any, ...]:
        """Returns (address, what keeps the function alive), and for C text also what ctext.py adds."""
        if not isinstance(given, _SURELY_PYTHON):
            found: tuple[Any, ...] | None
            convert = load("cwrapjit.library.native").convert
            known, code = self.library.declarations, self.library.code
            found = convert(known, code, self.ctype, given, self.who, self.by_libtcc)
            if found is not None and isinstance(given, _KNOWN_AGAIN):
                if len(self.known) >= _MOST_FUNCTIONS:
                    self.known.clear()
                found = (found[0], (found[1], given), *found[2:])
                self.known[id(given) if isinstance(given, _cwrapjit.Function) else given] = found
            if found is not None:
                return found
            if not callable(given):
                raise TypeError(f"{self.who}: expected {types.show(self.ctype)}, got {type(given).__name__}")
        kind = self._kind or self._make_kind()
        if missing := self._made.missing:
            _add_trampolines(self._made, self.ctype, self.by_libtcc, missing)
        closure = kind(given)
        return closure.address, closure

    def at(self, address: int, base: Any = None) -> Any:
        """Returns the Python callable at an address, else a callable Pointer that keeps base; NULL: None."""
        if not address:
            return None
        with contextlib.suppress(thunks.Unmapped):
            made = _trampolines.get(_text(self.ctype, 0, self.by_libtcc))
            found = None if made is None else made.callable_at(address)
            if found is not None:
                return found
        return _cwrapjit.function_pointer(address, types.declared(self.ctype), self, base)

    def callable(self, address: int) -> Any:
        """Returns a function that calls the C function at this address."""
        if address not in self._functions:
            if len(self._functions) > _MOST_FUNCTIONS:
                self._functions.clear()
            options = load("cwrapjit.library.options").Options(gil=self.library.said.gil)
            options.qualname = self.who
            try:
                found = self.library.make(self.declaration(address), options, keep=False)
            except thunks.Unmapped as reason:
                raise TypeError(f"{self.who}: it cannot be called: {reason}") from None
            self._functions[address] = found
        return self._functions[address]

    def declaration(self, address: int = 0) -> FunctionDeclaration:
        """Returns the declaration of a function of this type."""
        made = declaration_of(self.ctype, self.ctype.alias or "function")
        made.address, made.by_libtcc = address, self.by_libtcc
        return made

    def _make_kind(self) -> Any:
        try:
            if self.ctype.variadic:
                raise thunks.Unmapped("it takes a variable number of arguments (...); C text can be given")
            self._made = _trampolines_of(self.ctype, self.by_libtcc)
            arguments, result = self.described()
        except thunks.Unmapped as reason:
            raise TypeError(f"{self.who}: no Python callable can be given: {reason}") from None
        self._kind = _cwrapjit.CallbackKind(self.who, self._made, arguments, result)
        return self._kind

    def check_dims(self, who: str) -> None:
        """Raises ValueError if dims= contradicts the declaration."""
        for name in self.dims:
            if name not in self.names:
                known = ", ".join(self.names)
                raise ValueError(f"{who} names {name!r}, which is no parameter; they are: {known}")
        try:
            self.described()
        except thunks.Unmapped as reason:
            raise ValueError(f"{who}: {reason}") from None

    # ---- what Python gets as arguments -------------------------------------------------------------

    def described(self) -> tuple[tuple[Any, ...], Any]:
        """Returns the arguments and the result for CallbackKind."""
        self.lengths: set[str] = set()  # integers that are lengths of arrays
        self.types = list(map(self._with_dims, self.names, self.ctype.parameters))
        found = list(map(self._passed, self.names, self.types))
        arguments = tuple(
            (*each, k in self.hidden or each[1] in self.lengths) for k, each in enumerate(found)
        )
        result = self._passed("the result", self.ctype.result)
        if types.is_object(self.ctype.result):
            result = ("address", "the result", "", load("cwrapjit.library.objects").Given(True), (), False)
        if result[0] == "array":
            result = ("address", "the result", types.item_name(self.ctype.result.item), None, (), False)
        return arguments, (*result, False)

    def _is_ended(self, name: str) -> bool:
        """True for a list that ends with NULL."""
        return bool(self.dims.get(name) == "list")

    def _with_dims(self, name: str, ctype: Any) -> Any:
        if name not in self.dims:
            return ctype
        if isinstance(ctype, types.Array) and ctype.dim is None and not types.peeled(ctype.item)[1]:  # x[]
            ctype = types.Pointer(ctype.item, ctype.const)
        if isinstance(ctype, types.Pointer) and self.dims[name] == ():
            return ctype
        if isinstance(ctype, types.Pointer) and self._is_ended(name):
            return types.Array(ctype.target, None, ctype.const)
        shape = () if self._is_ended(name) else self.dims[name]
        trees = expressions.trees_of(f"{self.who}: dims[{name!r}]", shape)
        try:
            return expressions.with_dims(name, ctype, trees)
        except expressions.BadDim as error:
            raise thunks.Unmapped(str(error)) from None

    def _passed(self, name: str, ctype: Any) -> Passed:
        if isinstance(ctype, types.Void):
            return "nothing", name, "", None, (), False
        if isinstance(ctype, types.Scalar) and ctype.dtype:
            return "number", name, ctype.dtype, None, (), False
        if isinstance(ctype, types.Struct):
            return "struct", name, "", self.library.classes.of(ctype), (), False
        if types.is_object(ctype):
            return "address", name, "", load("cwrapjit.library.objects").Returned(False), (), False
        if isinstance(types.function_of(ctype), types.Callable):
            who = f"{self.who}: {name}"
            return "address", name, "", Converter(self.library, types.function_of(ctype), who), (), False
        if types.is_one_struct(ctype) and name not in self.dims:
            return self._pointer(name, ctype.item, ctype.const)
        if isinstance(ctype, types.Array):
            return self._array(name, ctype)
        if isinstance(ctype, types.Pointer) and self.dims.get(name) == ():
            return self._reference(name, ctype)
        if isinstance(ctype, types.Pointer):
            return self._pointer(name, ctype.target, ctype.const)
        raise thunks.Unmapped(f"{name} is {types.show(ctype)}")

    def _pointer(self, name: str, target: Any, const: bool) -> Passed:
        if isinstance(target, types.Scalar) and target.spelling == "char" and const:
            return "string", name, "", None, (), True
        if isinstance(target, types.Struct):
            return "instance", name, "", self.library.classes.of(target), (), const
        return "address", name, types.item_name(target), None, (), const

    def _reference(self, name: str, ctype: types.Pointer) -> Passed:
        """Describes a const pointer to one number, whose dims are ()."""
        target = ctype.target
        if not isinstance(target, types.Scalar) or not target.dtype or not ctype.const:
            raise thunks.Unmapped(
                f"dims names {name}, which is no const pointer to a number: (1,) is an array"
            )
        return "reference", name, target.dtype, None, (), True

    def _array(self, name: str, ctype: types.Array) -> Passed:
        item, layers = types.peeled(ctype)
        const = layers[-1].const
        dtype: Any = None
        if isinstance(item, types.Scalar) and item.dtype:
            dtype = load("numpy").dtype(item.dtype)
        elif isinstance(item, types.Struct):
            dtype = self.library.classes.items_of(item)
        target = item.target if isinstance(item, types.Pointer) and not types.is_object(item) else None
        cls = self.library.classes.of(target) if isinstance(target, types.Struct) else None
        is_text = isinstance(target, types.Scalar) and target.spelling == "char"
        is_list = len(layers) == 1 and (is_text or cls is not None)
        if is_list and self._is_ended(name):
            return "texts", name, "", cls, (), const
        if (dtype is None and not is_list) or any(each.dim is None for each in layers):
            if name in self.dims:
                raise thunks.Unmapped(f"dims names {name}, a pointer to what arrays and lists do not hold")
            return self._pointer(name, ctype.item, const)
        dims = tuple(self._dim(each.dim) for each in layers)
        self.lengths |= {dim[0] for dim in dims if len(dim) == 1 and isinstance(dim[0], str)}
        if is_list:
            return "texts", name, "", cls, dims, const
        return "array", name, "", dtype, dims, const

    def _dim(self, tree: Any) -> Any:
        try:
            return expressions.of_tree(tree, self._lookup)
        except expressions.BadDim as error:
            raise thunks.Unmapped(str(error)) from None

    def _lookup(self, name: str) -> int | str | None:
        if name in self.names:
            ctype = self.types[self.names.index(name)]
            ctype = ctype.target if self.dims.get(name) == () else ctype
            return name if isinstance(ctype, types.Scalar) and ctype.is_integer else None
        value = self.library.values.of(name)
        return value if isinstance(value, int) else None


# ---- trampolines ----------------------------------------------------------------------------------


def _trampolines_of(ctype: types.Callable, by_libtcc: bool) -> Any:
    """Returns the trampolines of this C signature, which all libraries share."""
    key = _text(ctype, 0, by_libtcc)
    found = _trampolines.get(key)
    if found is None:
        found = _cwrapjit.Trampolines()
        _add_trampolines(found, ctype, by_libtcc, found.missing)
        found = _trampolines.setdefault(key, found)
    return found


def _add_trampolines(trampolines: Any, ctype: types.Callable, by_libtcc: bool, count: int) -> None:
    text, optimize = _text(ctype, count, by_libtcc)
    if not _environment:
        _environment.append(_cwrapjit.library_environment("callbacks"))
    names = [f"cwj_trampoline_{k}" for k in range(count)]
    unit, (places, *addresses) = _cwrapjit.compile_thunks(
        _environment[0], text, ["cwj_places", *names], optimize
    )
    trampolines.add(unit, places, addresses)


def _text(ctype: types.Callable, count: int, by_libtcc: bool) -> tuple[str, bool]:
    """Returns the C text of `count` trampolines, and whether only the C compiler can compile it."""
    writer = thunks.Writer()
    result = writer.spell(ctype.result)
    as_passed = [
        types.Pointer(each.item) if isinstance(each, types.Array) else each for each in ctype.parameters
    ]
    spelled = list(map(writer.spell, as_passed))
    signature = ", ".join(f"{each} a{k}" for k, each in enumerate(spelled, 1)) or "void"
    stores = "".join(f"    {_store(each, k)}\n" for k, each in enumerate(ctype.parameters, 1))
    before = "    s[0].z.re = s[0].z.im = 0;\n"
    after = ""
    if isinstance(ctype.result, types.Struct):
        before = f"    static const {result} zero;\n    {result} made = zero;\n    s[0].p = &made;\n"
        after = "    return made;\n"
    elif not isinstance(ctype.result, types.Void):
        after = f"    return {thunks.load(ctype.result, 0, writer)};\n"
    enter = f"((void (*)(void *, cwj_slot *)){_cwrapjit.callback_entry}ull)"
    parts = [writer.text(), f"long long cwj_places[{max(count, 1)}][4];\n"]
    for k in range(count):
        parts.append(
            f"{result} cwj_trampoline_{k}({signature})\n{{\n    cwj_slot s[{len(spelled) + 1}];\n"
            f"{before}{stores}    {enter}(cwj_places[{k}], s);\n{after}}}\n"
        )
    if not count:
        parts.append(f"{result}({signature})")
    return "".join(parts), writer.optimize(by_libtcc)


def _store(ctype: Any, k: int) -> str:
    if isinstance(ctype, types.Scalar):
        return f"s[{k}].{ctype.field} = a{k};"
    if isinstance(ctype, types.Struct):
        return f"s[{k}].p = &a{k};"
    return f"s[{k}].p = (void *)a{k};"
