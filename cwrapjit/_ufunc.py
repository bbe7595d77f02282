"""Which functions can be ufuncs, and what their reductions may assume: see csrc/function/ufunc.c."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cwrapjit._arguments import IN, OUT, Operand, Reader, type_of

_MOST_OPERANDS = 64  # as in ufunc_loop.h
_MOST_DIMS = 128
_HALF, _OBJECT = np.dtype("e").num, np.dtype("O").num
_NUMBERS = int, float, complex, np.number, np.bool_


def _is_number(one: Any) -> bool:
    """True for types that the loops of a ufunc may have: bools and numbers."""
    return bool(one[0] < _OBJECT or one[0] == _HALF)


def _is_same(one: Any, other: Any) -> bool:
    return bool(one == other or (one != one and other != other))


def _has_value(label: str, number: Any) -> bool:
    array = np.zeros((), label)
    try:
        array[()] = number
    except (OverflowError, TypeError, ValueError, DeprecationWarning):
        return False
    return _is_same(array[()], number)


def reduction(
    who: str, operands: Sequence[Operand], sets: Any, identity: Any, associative: Any
) -> tuple[Any, bool]:
    """Reads identity= and associative=."""
    read = Reader(who)
    if associative is not None and not isinstance(associative, bool):
        raise read.wrong(f"associative must be True or False, not {associative!r}")
    if identity is not None and not isinstance(identity, _NUMBERS):
        raise read.wrong(f"identity must be a number, not {type_of(identity)}")
    is_binary = [(role, dims) for _, role, dims in operands] == [(IN, ()), (IN, ()), (OUT, ())]
    for option, given in ("associative", associative or None), ("identity", identity):
        if given is not None and not is_binary:
            raise read.bad(
                f"{option}= is about reductions, which need two inputs and one output without core dims"
            )
    for *_, types in sets if identity is not None else ():  # NumPy's reductions begin with it
        if _is_number(types[2]) and not _has_value(types[2][2], identity):
            raise read.bad(f"identity {identity!r} is no value of {types[2][2]}")
    return identity, bool(associative)


def _reason(read: Any, debug: bool, cookie: bool, validate: bool, cleanup: bool) -> str | None:
    _, operands, dims, extras, _, _, windows, *_ = read
    noutputs = sum(role == OUT for _, role, _ in operands)
    reasons = (
        (debug, "debug=True checks calls of the function alone"),
        (extras, f"ufuncs have no extra arguments such as '{extras[0][1] if extras else ''}'"),
        (cookie, "NumPy's calls have no cookie struct"),
        (
            validate,
            "NumPy's calls run no Ccode_validate (C parameters x[n] have one: it checks that slices are "
            "contiguous)",
        ),
        (cleanup, "NumPy's calls run no Ccode_cookie_cleanup"),
        (windows, "NumPy's calls have no windows"),
        (len(operands) == noutputs, "ufuncs have at least one input"),
        (noutputs == 0, "ufuncs have at least one output"),
        (len(operands) > _MOST_OPERANDS, f"ufuncs have at most {_MOST_OPERANDS} arguments"),
    )
    for holds, reason in reasons:
        if holds:
            return reason
    for name, role, shape in operands:
        if role not in (IN, OUT):
            return (
                f"it updates argument '{name}' in place"
                if role < OUT
                else f"all of its slices share argument '{name}'"
            )
        if 0 in shape:
            return f"ufuncs have no core dims of length 0, as '{name}' has"
    if dims:
        return f"the length '{dims[0][0]}' of an output is computed (output_dims=)"
    if sum(len(shape) for _, _, shape in operands) > _MOST_DIMS:
        return f"its arguments have more than {_MOST_DIMS} core dims in all"
    return None


def refuse(who: str, read: Any, *facts: bool) -> None:
    """Raises AttributeError if what _arguments.read() returned is no ufunc. facts: as for _reason()."""
    reason, operands = _reason(read, *facts), read[1]
    for *_, types in read[5]:
        if reason is None and not all(map(_is_number, types)):
            ninputs = sum(role != OUT for _, role, _ in operands)
            labels = [one[2] for one in types]
            shown = f"{', '.join(labels[:ninputs])} -> {', '.join(labels[ninputs:])}"
            reason = f"its loops would be of bools and numbers alone, not of '{shown}'"
    if reason is not None:
        raise AttributeError(f"{who}: it has no .ufunc: {reason}")


def signature(operands: Sequence[Operand]) -> bytes:
    """Returns the signature of a gufunc, such as "(n,3),(n)->()"."""
    texts: dict[bool, list[str]] = {True: [], False: []}
    for _, role, dims in operands:
        texts[role == OUT].append(f"({','.join(map(str, dims))})")
    return f"{','.join(texts[False])}->{','.join(texts[True])}".encode()
