"""Maps what a C function gives back: its return value, and data that it allocates behind a T **.

returns= is (shape, owner), (shape, owner, detail), an owner alone, or a dict by parameter ("return" is the
return value). Owners: "callee", detail: its free function (default: free); "argument", detail: the arguments
it may point into (default: all possible ones); "instance": the object of the method; "none": static.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cwrapjit._errors import warn_user
from cwrapjit._imports import load
from cwrapjit.library import destructors, expressions, types
from cwrapjit.library.description import Dim, Parameter, Result
from cwrapjit.library.thunks import Classless, Unmapped

if TYPE_CHECKING:
    from cwrapjit.library.mapping import Mapper

OWNERS = ("callee", "argument", "instance", "none", "static")


@dataclasses.dataclass
class Returned:
    """One entry of returns=, after reading."""

    shape: Any = None
    owner: str = ""
    detail: Any = None
    text: str = ""  # "str", "bytes" or "list" (of texts, up to NULL)


def read_returns(who: str, given: Any) -> Returned:
    """Reads an entry of returns= in any of its forms."""
    made = Returned()
    parts = (given,) if isinstance(given, (str, int)) else given
    if isinstance(parts, list):
        parts = tuple(parts)
    if not isinstance(parts, tuple) or not parts or len(parts) > 4:
        raise TypeError(f"{who}: returns must be (shape, owner), not {given!r}")
    if len(parts) > 1 and isinstance(parts[1], tuple) and parts[1]:
        parts = (parts[0], *parts[1], *parts[2:])  # (shape, ("callee", "free"))
    if parts[0] in ("str", "bytes", "list"):
        made.text, parts = parts[0], parts[1:]
    elif parts[0] is None or parts[0] == "":
        parts = parts[1:]
    elif parts[0] not in OWNERS:
        made.shape, parts = parts[0], parts[1:]
    if parts:
        if parts[0] not in OWNERS:
            raise ValueError(f"{who}: returns: {parts[0]!r} should be one of {', '.join(OWNERS)}")
        made.owner = "none" if parts[0] == "static" else parts[0]
        made.detail = parts[1] if len(parts) > 1 else None
    return made


def map_result(mapper: Mapper, check: Any) -> Result:
    """Maps the return value. check: a check_option.Check, or None."""
    ctype, who = mapper.declaration.result, mapper.who
    given = mapper.options.returns
    discards = "return" in mapper.options.discard
    is_status = check is not None and check.is_returned
    if discards and not is_status:
        if isinstance(ctype, types.Void):
            raise ValueError(f"{who}: discard names return, but it returns nothing")
        if given is not None and not isinstance(given, Mapping) and not _data_parameters(mapper):
            raise ValueError(f"{who}: discard and returns contradict each other: {given!r}")
        return Result()
    if is_status and check.is_pointer:
        if discards:
            return Result()
        is_status = False
    elif is_status and check.good != "zero" and not discards and isinstance(ctype, types.Scalar):
        is_status = not ctype.is_integer  # if not, an error is raised below
    if isinstance(given, Mapping):
        given = given.get("return", given.get(mapper.declaration.name))
    elif given is not None and _data_parameters(mapper) and not isinstance(ctype, types.Pointer):
        given = None
    returned = Returned() if given is None else read_returns(who, given)
    if is_status:
        if not isinstance(ctype, types.Scalar) or not ctype.is_integer:
            raise ValueError(f"{who}: check: it returns {types.show(ctype)}, which is no integer status")
        return Result("status", ctype.dtype)
    if isinstance(ctype, types.Void):
        made = Result()
    elif isinstance(ctype, types.Scalar):
        if not ctype.dtype:
            raise Unmapped(f"it returns {ctype.spelling}, which NumPy's types do not cover")
        made = Result("value", mapper.value_type(ctype), cls=mapper.library.classes.enum_members(ctype))
    elif isinstance(ctype, types.Struct):
        made = Result("struct", cls=mapper.library.classes.by_value(ctype, "it returns"))
    elif isinstance(types.function_of(ctype), types.Callable):
        made = Result("address", cls=mapper.function_at(types.function_of(ctype)))
    elif isinstance(ctype, types.Pointer):
        return _pointer(mapper, ctype, returned)
    else:
        reason = ctype.reason if isinstance(ctype, types.Unknown) else f"it returns {types.show(ctype)}"
        raise Unmapped(reason)
    if returned.shape is not None or returned.text == "list" or returned.owner not in ("", "none"):
        raise ValueError(f"{who}: returns: the function returns {types.show(ctype)}, no pointer")
    return made


def _is_misspelled(mapper: Mapper, returned: Returned) -> bool:
    """True if returns= for one object has a word that is neither a shape nor an owner."""
    word = returned.shape if isinstance(returned.shape, str) and not returned.owner else ""
    return word.isidentifier() and word not in mapper.by_name and mapper.library.values.of(word) is None


def _pointer(mapper: Mapper, ctype: types.Pointer, returned: Returned) -> Result:
    target = ctype.target
    if types.is_object(ctype):
        is_new = returned.owner in ("", "callee")
        return Result("address", cls=load("cwrapjit.library.objects").Returned(is_new))
    if returned.text == "list" or (isinstance(target, types.Pointer) and returned.shape is not None):
        return _list(mapper, ctype, returned)
    if isinstance(target, types.Struct):
        if returned.shape is not None and not _is_misspelled(mapper, returned):
            classes = mapper.library.classes
            cls, descr = classes.of(target), classes.items_of(target, "it returns ")
            made = Result("array", dims=_dims(mapper, returned.shape), cls=cls, descr=descr)
            made.readonly = ctype.const and returned.owner != "callee"
            return _owned(mapper, made, returned, target)
        made = Result("handle", cls=mapper.library.classes.of(target))
        if not returned.owner:
            returned.owner, returned.detail = _may_be_given(mapper)
        return _owned(mapper, made, returned, target)
    if returned.shape is None and _is_text(mapper, returned, target):
        encoding = mapper.options.encoding.get("return", "")
        made = Result("string", encoding="bytes" if returned.text == "bytes" else encoding)
        if returned.owner in ("argument", "instance"):
            returned.owner = ""  # text is copied
        return _owned(mapper, made, returned, target)
    if isinstance(target, types.Scalar) and target.dtype:
        if returned.shape is None:
            return _address(mapper, ctype, returned)
        made = Result("array", target.dtype, dims=_dims(mapper, returned.shape))
        order = mapper.options.order.get("return") or next(iter({*mapper.options.order.values()}), "C")
        made.order = order if len({*mapper.options.order.values()}) <= 1 else "C"
        made.readonly = ctype.const and returned.owner != "callee"
        return _owned(mapper, made, returned, target)
    if returned.shape is not None:
        raise mapper.wrong(f"returns: it returns {types.show(ctype)}, which has no items in Python")
    return _address(mapper, ctype, returned)


def _list(mapper: Mapper, ctype: types.Pointer, returned: Returned) -> Result:
    """Maps a list of texts, structs or handles. Its length is given, or it ends with NULL."""
    item = ctype.target.target if isinstance(ctype.target, types.Pointer) else None
    dims = () if returned.shape is None else _dims(mapper, returned.shape)
    if isinstance(item, types.Struct) and len(dims) <= 1:
        handles = Result("handles", dims=dims, cls=mapper.library.classes.of(item))
        return _owned(mapper, handles, returned, item)
    if not _is_text(mapper, Returned(), item) or len(dims) > 1:
        raise mapper.wrong(
            f"returns: it returns {types.show(ctype)}, which is no list of texts or handles in Python"
        )
    if returned.owner in ("argument", "instance"):
        returned.owner = ""  # texts are copied
    made = Result("texts", dims=dims, encoding=mapper.options.encoding.get("return", ""))
    return _owned(mapper, made, returned, item)


def _is_text(mapper: Mapper, returned: Returned, target: Any) -> bool:
    """True for char, and for other bytes that options call text."""
    if not isinstance(target, types.Scalar):
        return False
    if returned.text or "return" in mapper.options.texts:
        return bool(target.is_octet)
    return target.spelling == "char" or bool(target.is_byte and "return" in mapper.options.encoding)


def _address(mapper: Mapper, ctype: types.Pointer, returned: Returned) -> Result:
    """Maps a pointer that no option describes."""
    made = Result("address", types.item_name(ctype.target))
    made.readonly = ctype.const and returned.owner != "callee"
    if not returned.owner:
        returned.owner, returned.detail = _may_be_given(mapper)
    return _owned(mapper, made, returned, ctype.target)


def _may_be_given(mapper: Mapper) -> tuple[str, Any]:
    """Assumes that the result may point into any memory that the caller passes."""
    given = tuple(slot.name for slot in mapper.slots if _is_memory(mapper, slot))
    return ("argument", given) if given else ("", None)


def _is_memory(mapper: Mapper, slot: Any) -> bool:
    """True if the caller passes a struct, a handle or an array for it."""
    if slot.name in mapper.options.hidden or (slot.parameter is not None and slot.parameter.role == "status"):
        return False
    if slot.name in mapper.options.out or isinstance(slot.type, types.Array):
        return slot.name not in mapper.options.out and slot.name not in mapper.options.container
    return isinstance(slot.type, types.Pointer) and slot.name not in mapper.options.inout


def _dims(mapper: Mapper, shape: Any) -> tuple[Dim, ...]:
    try:
        return expressions.shape_of(shape, mapper.lookup, mapper.sizes.ask)
    except expressions.BadDim as error:
        raise mapper.wrong(f"returns: {error}") from None


def _owned(mapper: Mapper, made: Result, returned: Returned, target: Any) -> Result:
    """Adds the owner, and what it needs."""
    if made.role == "handle" and returned.shape is not None:
        raise mapper.wrong(
            f"returns: {returned.shape!r} should be one of {', '.join(OWNERS)}: what it "
            "returns is one object, which has no shape"
        )
    made.owner = returned.owner or "none"
    if made.owner == "callee":
        made.free = free_address(mapper, returned.detail, made)
    elif made.owner == "argument":
        mapper.result_of = _targets(mapper, returned.detail, target)
    elif made.owner == "instance":
        if not mapper.slots:
            raise mapper.wrong("returns: a function without parameters is no method of an instance")
        made.owner, mapper.result_of = "argument", (mapper.slots[0].name,)
    return made


def _targets(mapper: Mapper, detail: Any, target: Any) -> tuple[str, ...]:
    """Returns the parameters that a returned pointer may point into."""
    if detail is not None:
        names = (detail,) if isinstance(detail, str) else tuple(detail)
        for name in names:
            if name not in mapper.by_name:
                raise mapper.wrong(f"returns: {name!r} is no parameter")
        return names
    found = []
    for slot in mapper.slots:
        ctype, _ = types.peeled(slot.type)
        inner = ctype.target if isinstance(ctype, types.Pointer) else ctype
        is_number = isinstance(slot.type, types.Scalar)
        found += [slot.name] * (inner == target and not is_number and slot.name not in mapper.options.out)
    if not found:
        raise mapper.wrong(f"returns: no argument could own a pointer to {types.show(target)}")
    if len(found) > 1:
        warn_user(
            f"{mapper.who}: the result may point into any of {', '.join(found)}: it keeps all of them "
            f'(returns=(shape, "argument", name) names the right one)'
        )
    return tuple(found)


def free_address(mapper: Mapper, detail: Any, made: Result | None = None) -> int:
    """Returns the address of the function that frees what the callee allocated."""
    if made is not None and made.role == "handle":
        if detail is not None:
            raise mapper.wrong("returns: free= of struct() or handle() says what frees such objects")
        if not made.cls.__cwrapjit_layout__.free_name:
            message = (
                f'{mapper.who}: returns: "callee" gives the object away, but nothing could end it: '
                f"{made.cls.__name__} has no free=: see handle() of the library"
            )
            if made.cls.__cwrapjit_layout__.automatic:
                raise Classless(mapper.declaration.result.target, message)
            raise ValueError(message)
        made.bound = destructors.places(mapper, made.cls)
        return 0  # the class knows what frees it
    name = "free" if detail is None else getattr(detail, "__name__", detail)
    if not isinstance(name, str):
        raise TypeError(
            f"{mapper.who}: returns: the free function must be a name, not {type(detail).__name__}"
        )
    return destructors.address_of(mapper.library, name, f"{mapper.who}: returns")


# ---- data that the callee allocates --------------------------------------------------------------


def _data_parameters(mapper: Mapper) -> list[str]:
    """Returns the parameters of type T **, T being a number."""
    found = []
    for slot in mapper.slots:
        match slot.type:
            case types.Pointer(types.Pointer(types.Scalar()), const=False):
                found.append(slot.name)
    return found


def map_returned_data(mapper: Mapper) -> dict[str, Parameter]:
    """Returns the "data" parameters, and the "length" parameters that their shapes name."""
    given, who = mapper.options.returns, mapper.who
    found = _data_parameters(mapper)
    if isinstance(given, Mapping):
        entries = {
            name: each for name, each in given.items() if name not in ("return", mapper.declaration.name)
        }
    elif given is not None and len(found) == 1 and not isinstance(mapper.declaration.result, types.Pointer):
        entries = {found[0]: given}
    else:
        entries = {}
    made: dict[str, Parameter] = {}
    for name, each in entries.items():
        returned = read_returns(who, each)
        if name not in found:
            _say_whose(mapper, name, returned)
            continue
        if returned.shape is None and not returned.text:
            raise ValueError(f"{who}: returns[{name!r}] needs a shape")
        if returned.owner not in ("", "callee", "none"):
            raise ValueError(f"{who}: returns[{name!r}]: the owner must be 'callee' or 'none'")
        ctype = mapper.slots[mapper.by_name[name]].type.target.target
        if returned.text:
            parameter = _stored_text(mapper, name, returned, ctype)
        else:
            parameter = Parameter("data", ctype.dtype, intent="out", dims=_dims(mapper, returned.shape))
            parameter.order = mapper.options.order.get(name, "C")
        parameter.free = free_address(mapper, returned.detail) if returned.owner != "none" else 0
        made[name] = parameter
        for symbol in expressions.symbols(*parameter.dims):
            length = _length(mapper, symbol)
            if length is not None:
                made[symbol] = length
    return made


def _stored_text(mapper: Mapper, name: str, returned: Returned, ctype: types.Scalar) -> Parameter:
    """Maps a text that C stores in a char **."""
    if returned.text == "list" or returned.shape is not None or not ctype.is_octet:
        raise mapper.wrong(f"returns[{name!r}]: {types.show(ctype)} ** stores no {returned.text}")
    encoding = "bytes" if returned.text == "bytes" else mapper.options.encoding.get(name, "")
    return Parameter("string", intent="out", encoding=encoding)


def _say_whose(mapper: Mapper, name: str, returned: Returned) -> None:
    """Reads the owner of a handle or struct in an output. Default: given away if its class has free=."""
    place = mapper.by_name.get(name)
    target = None if place is None else types.target_of(mapper.slots[place].type)
    target = types.target_of(target) or target
    if not isinstance(target, types.Struct) or name not in mapper.options.out:
        raise mapper.wrong(f"returns: {name!r} is no parameter that takes the address of a pointer")
    if returned.shape is not None or returned.text or returned.detail is not None:
        raise mapper.wrong(f"returns[{name!r}] should be one of {', '.join(OWNERS)}")
    if returned.owner != "callee":
        mapper.borrowed.add(name)


def _length(mapper: Mapper, name: str) -> Parameter | None:
    """Returns the parameter through which the callee gives a length; None: an argument gives it."""
    ctype = mapper.slots[mapper.by_name[name]].type
    if not isinstance(ctype, types.Pointer) or ctype.const:
        return None
    return Parameter("length", ctype.target.dtype, intent="out", symbol=name)
