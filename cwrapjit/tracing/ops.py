"""The elementwise operations and reductions that have C text; all others are calls of NumPy."""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

C_TYPES = {
    np.dtype(bool): "_Bool",
    np.dtype(np.float32): "float",
    np.dtype(np.float64): "double",
    **{
        np.dtype(f"{sign}int{bits}"): f"npy_{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
    },
}


class Op(NamedTuple):
    """An operation on operands of one type. texts: the C text by the kinds of that type. In it, {0} and {1}
    are operands, {f} is "f" for float32, {t} the type's name. costly: better stored than computed again."""

    texts: dict[str, str]
    costly: bool = False


def _function(name: str) -> Op:
    return Op({"f": f"{name}{{f}}({{0}})"}, True)


def _of_two(name: str) -> Op:
    return Op({"f": f"{name}{{f}}({{0}}, {{1}})"}, True)


def _infix(sign: str, kinds: str = "biuf") -> Op:
    return Op({kinds: f"{{0}} {sign} {{1}}"})


_SAME_NAME = "exp exp2 expm1 log log2 log10 log1p sqrt cbrt sin cos tan sinh cosh tanh".split()
_ARCS = {f"arc{name}": f"a{name}" for name in "sin cos tan sinh cosh tanh".split()}

OPS = {
    "add": _infix("+"),
    "subtract": _infix("-"),
    "multiply": _infix("*"),
    "divide": Op({"f": "{0} / {1}"}, True),
    "floor_divide": Op({"iuf": "cwj_floor_divide_{t}({0}, {1})"}, True),
    "remainder": Op({"iuf": "cwj_remainder_{t}({0}, {1})"}, True),
    "power": _of_two("pow"),
    "fmod": _of_two("fmod"),
    "hypot": _of_two("hypot"),
    "arctan2": _of_two("atan2"),
    "copysign": _of_two("copysign"),
    "nextafter": _of_two("nextafter"),
    "fmax": _of_two("fmax"),
    "fmin": _of_two("fmin"),
    "maximum": Op({"f": "npy_maximum({0}, {1})", "biu": "{0} > {1} ? {0} : {1}"}),
    "minimum": Op({"f": "npy_minimum({0}, {1})", "biu": "{0} < {1} ? {0} : {1}"}),
    "less": _infix("<"),
    "less_equal": _infix("<="),
    "greater": _infix(">"),
    "greater_equal": _infix(">="),
    "equal": _infix("=="),
    "not_equal": _infix("!="),
    "logical_and": _infix("&&"),
    "logical_or": _infix("||"),
    "logical_xor": Op({"biuf": "!{0} != !{1}"}),
    "logical_not": Op({"biuf": "!{0}"}),
    "bitwise_and": _infix("&", "biu"),
    "bitwise_or": _infix("|", "biu"),
    "bitwise_xor": _infix("^", "biu"),
    "invert": Op({"b": "!{0}", "iu": "~{0}"}),
    # By any number, while C allows fewer than the number of bits.
    "left_shift": Op({"iu": "(npy_uint64){1} < 8 * sizeof {0} ? (npy_uint64){0} << {1} : 0"}),
    "right_shift": Op({"iu": "(npy_uint64){1} < 8 * sizeof {0} ? {0} >> {1} : -({0} < 0)"}),
    "negative": Op({"iuf": "-{0}"}),
    "positive": Op({"iuf": "{0}"}),
    "conjugate": Op({"iuf": "{0}"}),
    "absolute": Op({"f": "fabs{f}({0})", "i": "{0} < 0 ? -{0} : {0}", "bu": "{0}"}),
    "fabs": Op({"f": "fabs{f}({0})"}),
    "sign": Op({"iuf": "{0} > 0 ? 1 : {0} < 0 ? -1 : {0}"}),
    "square": Op({"iuf": "{0} * {0}"}),
    "reciprocal": Op({"f": "1 / {0}"}, True),
    "isnan": Op({"f": "isnan({0}) != 0"}),
    "isinf": Op({"f": "isinf({0}) != 0"}),
    "isfinite": Op({"f": "isfinite({0}) != 0"}),
    "signbit": Op({"f": "signbit({0}) != 0"}),
    **{name: Op({"f": f"{name}{{f}}({{0}})"}) for name in ("floor", "ceil", "trunc", "rint")},
    **{name: _function(name) for name in _SAME_NAME},
    **{name: _function(in_c) for name, in_c in _ARCS.items()},
    "logaddexp": Op(
        {
            "f": "{0} == {1} ? {0} + ({ct})0.69314718055994530942 : "
            "fmax{f}({0}, {1}) + log1p{f}(exp{f}(-fabs{f}({0} - {1})))"
        },
        True,
    ),
    # Ufuncs of SciPy.
    "erf": _function("erf"),
    "erfc": _function("erfc"),
    # Not ufuncs: the first operand of where is a bool; casts change the type.
    "where": Op({"biuf": "{0} ? {1} : {2}"}),
    "cast": Op({"biuf": "{0}"}),
}
OF_SCIPY = ("erf", "erfc")


class Reduction(NamedTuple):
    """A reduction along a row. first: what an accumulator {a} begins with; add: takes up a value {v}."""

    ufunc: Any
    first: str
    add: str


REDUCTIONS = {
    "sum": Reduction(np.add, "0", "{a} += {v};"),
    "prod": Reduction(np.multiply, "1", "{a} *= {v};"),
    "max": Reduction(np.maximum, "lowest", "{a} = npy_maximum({a}, {v});"),
    "min": Reduction(np.minimum, "highest", "{a} = npy_minimum({a}, {v});"),
    "any": Reduction(np.logical_or, "0", "{a} |= {v} != 0;"),
    "all": Reduction(np.logical_and, "1", "{a} &= {v} != 0;"),
}


def has_c_type(dtype: np.dtype[Any]) -> bool:
    return dtype in C_TYPES


def c_type(dtype: np.dtype[Any]) -> str:
    return C_TYPES[dtype]


def fused_op(ufunc: np.ufunc) -> str | None:
    """Returns the name in OPS of the ufunc; None for those that have no C text, and for a user's own."""
    name = ufunc.__name__
    home = sys.modules.get("scipy.special") if name in OF_SCIPY else np
    return name if name in OPS and getattr(home, name, None) is ufunc else None


def text_of(name: str, types: Sequence[np.dtype[Any]]) -> str | None:
    """Returns the C text of an operation on operands of these types, or None."""
    if types.count(types[0]) < len(types) or types[0] not in C_TYPES:
        return None
    return next((text for kinds, text in OPS[name].texts.items() if types[0].kind in kinds), None)


def expression(name: str, types: Sequence[np.dtype[Any]], operands: Sequence[str]) -> str:
    """Returns the C expression. types: those of the operands."""
    text = text_of(name, types[1:] if name == "where" else types)
    assert text is not None, name
    single = "f" if types[-1] == np.float32 else ""
    return text.format(*operands, f=single, t=types[0].name, ct=c_type(types[-1]))


def literal(value: Any, dtype: np.dtype[Any]) -> str:
    """Returns a number of that type in C."""
    if dtype.kind in "bi":
        low = -(2**63)
        return "(-9223372036854775807 - 1)" if value == low else f"{int(value)}"
    if dtype.kind == "u":
        return f"{int(value)}u" if int(value) < 2**63 else f"{int(value)}ull"
    number = float(value)
    if number != number:
        return f"({c_type(dtype)})NAN"
    if number in (np.inf, -np.inf):
        return f"({c_type(dtype)}){'-' * (number < 0)}INFINITY"
    return f"({c_type(dtype)}){number!r}"


def first_of(name: str, dtype: np.dtype[Any]) -> str:
    """Returns what an accumulator of that type begins with."""
    first = REDUCTIONS[name].first
    if first not in ("lowest", "highest"):
        return first
    if dtype.kind == "f":
        return "-INFINITY" if first == "lowest" else "INFINITY"
    if dtype.kind == "b":
        return "0" if first == "lowest" else "1"
    info = np.iinfo(dtype)
    return literal(info.min if first == "lowest" else info.max, dtype)


def _reduced_type(name: str, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Asks NumPy for the type of a reduction."""
    reduced = REDUCTIONS[name].ufunc.reduce(np.ones(1, dtype))
    found: np.dtype[Any] = reduced.dtype
    return found


reduced_type = functools.cache(_reduced_type)
