"""Measures the members of structs in memory by the compiler, and plans each as an attribute."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from cwrapjit import _cwrapjit
from cwrapjit._imports import load
from cwrapjit.library import thunks, types
from cwrapjit.library.code import Code
from cwrapjit.library.library import Core

ITSELF: Any = object()  # stands for the class that is being made


class Members:
    """One struct's members. class_of: makes the class of a struct that one is (True) or points to (False)."""

    def __init__(
        self, library: Core, ctype: types.Struct, class_of: Callable[[types.Struct, bool], Any]
    ) -> None:
        self.library = library
        self.ctype = ctype
        self.class_of = class_of
        self.who = f"{library.name}.struct(): {types.show(ctype)}"
        self.all = flatten(ctype)
        self.is_open = thunks.is_open(ctype)
        self.offsets, self.shifts, self.size, self.alignment = measure(library.code, ctype, self.who)

    def plans(self, arrays: Mapping[str, Any], encodings: Mapping[str, str]) -> list[dict[str, Any]]:
        """Returns the arguments of a Field for every member. encodings: of those that are texts."""
        self.encodings = encodings
        unknown = {*arrays, *encodings} - {each.name for each in self.all}
        if unknown:
            raise ValueError(f"{self.who} has no member {', '.join(sorted(unknown))}")
        plans = [self._plan(each, arrays) for each in self.all]
        for plan in plans:
            is_list = plan["kind"] in ("list", "pointers")
            is_text = plan["kind"] in ("buffer", "string") or (is_list and plan["of"] is None)
            if plan["name"] in encodings and not is_text:
                raise ValueError(f"{self.who}: encoding= names {plan['name']}, which is no text")
        self.library.classes.dtypes[self.ctype] = self._dtype(plans)
        # Read-only: whoever changes the length of an array can read all memory through it.
        dims = [given if isinstance(given, (tuple, list)) else (given,) for given in arrays.values()]
        lengths = {dim for given in dims for dim in given if dim != "list"}
        for plan in plans:
            plan["readonly"] = plan["readonly"] or plan["name"] in lengths
        return plans

    def _plan(self, member: types.Member, arrays: Mapping[str, Any]) -> dict[str, Any]:
        plan: dict[str, Any] = {
            "name": member.name, "offset": self.offsets[member.name], "kind": "refused", "dtype": None,
            "dims": (), "of": None, "readonly": False, "reason": "",
            "item": "", "is_const": False,
        }  # fmt: skip
        ctype, layers = types.peeled(member.type)
        plan["readonly"] = any(each.const for each in layers)
        if layers and thunks.is_flexible(layers[0]):
            self._plan_open(plan, ctype, member, arrays)
            return plan
        if member.bits >= 0:
            plan.update(
                kind="bits", dtype=_dtype_of_bits(ctype), dims=(self.shifts[member.name], member.bits),
                of=self.library.classes.enum_members(ctype),
            )  # fmt: skip
            return plan
        dims = plan["dims"] = tuple(map(thunks.array_length, layers))
        if member.name in arrays:
            if dims or not isinstance(ctype, types.Pointer):
                raise TypeError(f"{self.who}: arrays= names {member.name}, which is no pointer")
            self._plan_data(plan, ctype, arrays[member.name], member)
        elif dims and (self._item_dtype(ctype, member) or not types.is_one_struct(member.type)):
            self._plan_array(plan, ctype, member)
        elif isinstance(ctype, types.Scalar):
            plan.update(
                kind="scalar", dtype=ctype.value_type or None, of=self.library.classes.enum_members(ctype)
            )
            if plan["dtype"] is None:
                plan.update(kind="refused", reason=f"{types.show(ctype)} has no mapping")
        elif isinstance(ctype, types.Struct):
            plan.update(kind="inside", of=self._class(ctype, member, True), dims=())
        elif isinstance(ctype, types.Pointer):
            self._plan_pointer(plan, ctype, member)
        else:
            plan["reason"] = f"{types.show(ctype)} has no mapping"
        function = types.function_of(ctype)
        if not dims and isinstance(function, types.Callable):
            plan.update(kind="function", of=self._converter(function, member), reason="")
        return plan

    def _converter(self, function: types.Callable, member: types.Member) -> Any:
        """Hides user data from Python if a member holds it. A first parameter may be the object
        itself: it is user data only if the member after the functions is."""
        here = self.all[self.all.index(member) :]
        behind = itertools.dropwhile(lambda each: types.is_function(each.type), here)
        place = types.place_of_data(function)
        among = self.all if place > 0 else itertools.islice(behind, 1)
        has_data = place >= 0 and any(types.is_data(each.type) for each in among)
        make = load("cwrapjit.library.callbacks").Converter
        who = f"{self.library.name}.{self.ctype.class_name}: attribute {member.name}"
        return make(self.library, function, who, frozenset([place] if has_data else []))

    def _plan_open(
        self, plan: dict[str, Any], item: Any, member: types.Member, arrays: Mapping[str, Any]
    ) -> None:
        """Plans the last member if its length varies: arrays= names the member that gives it."""
        if member.name not in arrays:
            plan["reason"] = "how long this array is, no member says that is known"
            return
        dims = self._lengths(member, arrays[member.name])
        if len(dims) != 1 or isinstance(dims[0], int):
            raise ValueError(f"{self.who}: arrays= of {member.name}: one integer member says how long it is")
        plan["dims"] = (*dims, *map(thunks.array_length, types.peeled(member.type)[1][1:]))
        self._plan_array(plan, item, member)
        plan["readonly"] = plan["readonly"] or plan["kind"] != "array"

    def _plan_array(self, plan: dict[str, Any], item: Any, member: types.Member) -> None:
        target = item.target if isinstance(item, types.Pointer) else None
        is_row = len(plan["dims"]) == 1
        if is_row and self._is_text(item, member):
            plan.update(kind="buffer", item=self.encodings.get(member.name, ""))
            return
        if is_row and (self._is_text(target, member) or isinstance(target, types.Struct)):
            plan.update(kind="pointers", **self._listed(target, member))
            return
        dtype = self._item_dtype(item, member)
        if dtype is None:
            plan["reason"] = f"an array of {types.show(item)} has no mapping"
        else:
            plan.update(kind="array", dtype=dtype)

    def _is_text(self, item: Any, member: types.Member) -> bool:
        """True for char, and for other bytes with an encoding."""
        is_octet = isinstance(item, types.Scalar) and item.is_octet
        return is_octet and (item.is_character or member.name in self.encodings)

    def _class(self, struct: types.Struct, member: types.Member, is_inside: bool) -> Any:
        if not struct.class_name:
            struct.label = f"{self.ctype.class_name}_{member.name}"
        return self.class_of(struct, is_inside)

    def _plan_pointer(self, plan: dict[str, Any], pointer: types.Pointer, member: types.Member) -> None:
        target = pointer.target
        if self._is_text(target, member):
            plan.update(kind="string", item=self.encodings.get(member.name, ""))
        elif isinstance(target, types.Struct):
            plan.update(kind="pointer", of=self._pointed(target, member))
        elif isinstance(target, types.Unknown):
            plan["reason"] = f"{types.show(pointer)} has no mapping"
        else:
            plan.update(kind="address", item=types.item_name(target), is_const=pointer.const)

    def _pointed(self, target: types.Struct, member: types.Member) -> Any:
        return ITSELF if target is self.ctype else self._class(target, member, False)

    def _listed(self, target: Any, member: types.Member) -> dict[str, Any]:
        """Returns what a list of texts or structs consists of."""
        if isinstance(target, types.Struct):
            return {"of": self._pointed(target, member)}
        return {"item": self.encodings.get(member.name, "")}

    def _lengths(self, array: types.Member, given: Any) -> tuple[Any, ...]:
        """Returns the dims that arrays= gives a member: sizes, and integer members that hold them."""
        by_name = {each.name: each for each in self.all}
        dims: list[Any] = []
        for dim in given if isinstance(given, (tuple, list)) else (given,):
            if isinstance(dim, int) and not isinstance(dim, bool) and dim >= 0:
                dims.append(dim)
                continue
            member = by_name.get(dim) if isinstance(dim, str) else None
            dtype = "" if member is None or member.bits >= 0 else getattr(member.type, "dtype", "")
            if member is None or "int" not in dtype:
                raise ValueError(
                    f"{self.who}: arrays= of {array.name}: {dim!r} is neither a size nor an integer member"
                )
            dims.append((self.offsets[member.name], dtype))
        return tuple(dims)

    def _plan_data(
        self, plan: dict[str, Any], pointer: types.Pointer, given: Any, whose: types.Member
    ) -> None:
        inner: Any = pointer.target.target if isinstance(pointer.target, types.Pointer) else None
        is_text = self._is_text(inner, whose)
        is_list = is_text or isinstance(inner, types.Struct)
        if is_list and given == "list":  # it ends with NULL
            given = ()
        dims = self._lengths(whose, given)
        if is_list and len(dims) <= 1:
            plan.update(kind="list", dims=dims, readonly=True, **self._listed(inner, whose))
            return
        dtype = self._item_dtype(pointer.target, whose)
        if dtype is None:
            raise TypeError(f"{self.who}: {plan['name']} points to what is no number")
        plan.update(kind="data", dtype=dtype, dims=dims, readonly=pointer.const)

    def _item_dtype(self, item: Any, member: types.Member) -> Any:
        """Returns the dtype of an array's items: a name, a structured dtype, or None."""
        if isinstance(item, types.Scalar):
            return item.dtype or None
        if isinstance(item, types.Struct) and item.members is not None:
            self._class(item, member, True)
            return self.library.classes.dtypes.get(types.final(item))
        return None

    def _dtype(self, plans: list[dict[str, Any]]) -> Any:
        """Returns NumPy's structured dtype. None if a member has none, such as a pointer, as C would follow
        any number that is written to it, or if the struct has no definite end."""
        formats: list[Any] = []
        if self.is_open:
            return None
        for plan, member in zip(plans, self.all, strict=True):
            item, layers = types.peeled(member.type)
            if plan["kind"] not in ("scalar", "array", "buffer", "inside"):
                return None
            inner = self._item_dtype(item, member)
            if inner is None:
                return None
            formats.append((inner, plan["dims"]) if layers else inner)
        return np.dtype(
            {"names": list(self.offsets), "formats": formats, "offsets": list(self.offsets.values()),
             "itemsize": self.size}, align=bool(plans) and not types.is_laid_out(self.ctype),
        )  # fmt: skip


# ---- memory -----------------------------------------------------------------------------------


def measure(
    code: Code, ctype: types.Struct, who: str, includes: str = ""
) -> tuple[dict[str, int], dict[str, int], int, int]:
    """Asks the compiler for offsets, first bits, size and alignment. The header or `includes` must agree."""
    writer = thunks.Writer(only_layouts=True)
    try:
        names = [writer.spell(ctype)]
    except thunks.Unmapped as error:
        raise TypeError(f"{who}: {error}") from None
    if ctype.in_header or includes:
        names.append(ctype.name or f"unnamed {ctype.kind}")
    members = flatten(ctype)
    plain = [each.name for each in members if each.bits < 0]
    fields = [each for each in members if each.bits >= 0]
    text, tables = includes + writer.text(), []
    for k, name in enumerate(names):
        text += _table(f"cwj_layout_{k}", name, plain)
        text += "".join(_filled(f"cwj_bits_{k}_{i}", name, each) for i, each in enumerate(fields))
        tables += [f"cwj_layout_{k}", *(f"cwj_bits_{k}_{i}" for i in range(len(fields)))]
    owner, addresses = _cwrapjit.compile_thunks(code.environment, text, tables)
    count = 1 + len(fields)
    read = [_read(addresses[k * count : (k + 1) * count], len(plain)) for k in range(len(names))]
    del owner
    if read[0] != read[-1]:
        raise TypeError(
            f"{who} lies otherwise in memory in the header than its "
            "members say (it is packed, aligned or has other members)"
        )
    (size, alignment, *found), bits = read[0]
    offsets, shifts = dict(zip(plain, found, strict=True)), {}
    for each, first in zip(fields, bits, strict=True):
        word = np.dtype(_dtype_of_bits(each.type)).itemsize
        offsets[each.name], shifts[each.name] = first // 8 // word * word, first % (8 * word)
    return {each.name: offsets[each.name] for each in members}, shifts, size, alignment


def _table(name: str, spelled: str, members: list[str]) -> str:
    """Returns C text of constants: size, alignment, offsets."""
    offsets = "".join(f", __builtin_offsetof({spelled}, {member})" for member in members)
    return f"const long long {name}[] = {{sizeof({spelled}), _Alignof({spelled}){offsets}}};\n"


def _filled(name: str, spelled: str, member: types.Member) -> str:
    """Returns C text of a struct in which the bits of one bit-field are set."""
    ones = 1 if member.type.dtype == "bool" or member.bits == 1 else -1
    return f"const {spelled} {name} = {{.{member.name} = {ones}}};\n"


def _read(addresses: Sequence[int], count: int) -> tuple[list[int], list[int]]:
    """Returns size, alignment and `count` offsets; then the first bit that is set in each struct."""
    ctypes = load("ctypes")
    numbers = list((ctypes.c_longlong * (count + 2)).from_address(addresses[0]))
    structs = [int.from_bytes(ctypes.string_at(each, numbers[0]), "little") for each in addresses[1:]]
    return numbers, [(each & -each).bit_length() - 1 for each in structs]


def _dtype_of_bits(ctype: types.Scalar) -> str:
    return "uint32" if ctype.counts and ctype.dtype == "intc" else ctype.dtype


def flatten(ctype: types.Struct) -> list[types.Member]:
    """Returns the members, including those of structs without a name."""
    found: list[types.Member] = []
    for member in ctype.members or ():
        if member.name:
            found.append(member)
        elif isinstance(member.type, types.Struct):
            found += flatten(member.type)
    return found


def plan_text(plan: Mapping[str, Any]) -> str:
    """Returns a text in which libraries must agree to share a struct."""
    cls = plan["of"]
    has_class = cls is not None and plan["kind"] not in ("function", "scalar", "bits")
    of = "itself" if cls is ITSELF else cls.__cwrapjit_layout__.name if has_class else ""
    kinds = ("string", "list", "data", "address", "refused", "function")
    is_said = bool(plan["dims"]) and isinstance(plan["dims"][0], tuple)  # by arrays=
    kind = "pointer" if is_said or plan["kind"] in kinds else plan["kind"]
    dims = plan["dims"] if not is_said and plan["kind"] not in ("list", "data") else ""
    dtype = plan["dtype"] if not is_said and plan["kind"] != "data" else ""
    return (
        f"{plan['name']}@{plan['offset']}:{kind}:{dtype or ''}:{dims or ''}:{of if kind != 'pointer' else ''}"
    )
