"""The ops of operators: C expressions for NumPy's ufuncs, with NumPy's dtypes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cwrapjit.graph.base import Constant, is_variable
from cwrapjit.graph.loops import LoopOp, Step, as_operand
from cwrapjit.graph.scalars import c_type, scalar_of

_COMPARISONS = {"less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">="}
_BITWISE = {"bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^"}
_INFIX = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", **_BITWISE, **_COMPARISONS}
_ON_BOOLS = {"add": "a | b", "multiply": "a & b"}
_SHIFTS = {  # by any number, while C allows fewer than the number of bits
    "left_shift": "(npy_uint64)b < 8 * sizeof a ? (npy_uint64)a << b : 0",
    "right_shift": "(npy_uint64)b < 8 * sizeof a ? a >> b : -(a < 0)",
}
_FUNCTIONS = ("floor_divide", "remainder", "power")  # in <cwj_arithmetic.h>


def _single(dtype: str) -> bool:
    return dtype in ("float16", "float32")


def _complex_expression(name: str, dtype: str) -> str:
    if name in ("negative", "absolute"):
        return f"cwj_{name}_{c_type(dtype)}(a)"
    if name in ("add", "subtract", "multiply", "divide"):
        return f"cwj_{name}_{c_type(dtype)}(a, b)"
    raise TypeError(f"{name}: there is none for {dtype} in graphs")


def _unary_expression(name: str, dtype: str) -> str:
    kind = np.dtype(dtype).kind
    if name == "negative":
        return "-a"
    if name == "invert":
        return "!a" if kind == "b" else "~a"
    if kind == "f":
        return "fabsf(a)" if _single(dtype) else "fabs(a)"
    return "a < 0 ? -a : a" if kind == "i" else "a"


def _mixed_comparison(symbol: str, left: str, right: str) -> str:
    """Compares int64 with uint64, which C would do unsigned."""
    if np.dtype(left).kind == "i":
        return f"a < 0 ? {int(symbol[0] == '<')} : (npy_uint64)a {symbol} b"
    return f"b < 0 ? {int(symbol[0] == '>')} : a {symbol} (npy_uint64)b"


def _expression(name: str, dtypes: Sequence[str]) -> str:
    """Returns the ufunc in C, for operands of these dtypes."""
    dtype = dtypes[0]
    kind = np.dtype(dtype).kind
    if kind == "c":
        return _complex_expression(name, dtype)
    if len(dtypes) == 1:
        return _unary_expression(name, dtype)
    if name in _COMPARISONS and {np.dtype(d).kind for d in dtypes} == {"i", "u"}:
        return _mixed_comparison(_COMPARISONS[name], *dtypes)
    if kind == "b" and name in _ON_BOOLS:
        return _ON_BOOLS[name]
    if name in _INFIX:
        return f"a {_INFIX[name]} b"
    if name in _SHIFTS:
        return _SHIFTS[name]
    if name == "power" and kind == "f":
        return "powf(a, b)" if _single(dtype) else "pow(a, b)"
    return f"cwj_{name}_{'float32' if dtype == 'float16' else dtype}(a, b)"


class UfuncOp(LoopOp):
    """NumPy's ufunc of that name, on numbers and arrays."""

    __props__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name
        self.ufunc = getattr(np, name)

    def make_node(self, *inputs: Any) -> Any:
        """Operands are variables, Python numbers or arrays."""
        if len(inputs) != self.ufunc.nin:
            raise TypeError(f"{self} takes {self.ufunc.nin} operands, not {len(inputs)}")
        wanted = self.dtypes([_promoted(self, value) for value in inputs])
        return self.apply_to([_operand(self, v, dtype) for v, dtype in zip(inputs, wanted, strict=False)])

    def dtypes(self, given: Sequence[Any]) -> list[str]:
        """Returns the dtypes of NumPy's loop and its result. given: dtypes, and classes of Python numbers."""
        try:
            found = self.ufunc.resolve_dtypes((*given, None))
        except TypeError as error:
            raise TypeError(f"{self}: {error}") from None
        return [dtype.name for dtype in found]

    def steps(self, types: Sequence[Any]) -> tuple[Step, ...]:
        *used, made = _resolved(self.name, tuple(type.dtype for type in types))
        names = ("a", "b")[: len(used)]
        return (Step(names, tuple(range(len(used))), tuple(used), _expression(self.name, used), made),)

    def argument_names(self) -> Sequence[str]:
        return ("operand 0", "operand 1")[: self.ufunc.nin]

    def c_headers(self, c_compiler: Any = None) -> list[str]:
        return ["<cwj_arrays.h>", *(["<cwj_arithmetic.h>"] if self.name in _FUNCTIONS else [])]

    def compute(self, node: Any, arrays: Sequence[Any]) -> Any:
        given = [np.dtype(v.type.dtype) for v in node.inputs]
        loop = self.ufunc.resolve_dtypes((*given, None))  # NumPy finds none by name: "qQ->?" has no "lL"
        with np.errstate(all="ignore"):
            return self.ufunc(*arrays, signature=tuple(loop))

    def __str__(self) -> str:
        return self.name


_RESOLVED: dict[Any, tuple[str, ...]] = {}


def _resolved(name: str, dtypes: tuple[str, ...]) -> tuple[str, ...]:
    """Caches UfuncOp.dtypes() of dtypes."""
    key = name, dtypes
    if key not in _RESOLVED:
        _RESOLVED[key] = tuple(UfuncOp(name).dtypes([np.dtype(dtype) for dtype in dtypes]))
    return _RESOLVED[key]


def _promoted(op: Any, value: Any) -> Any:
    """Returns what NumPy promotes: a dtype, or the class of a Python number."""
    if is_variable(value):
        dtype = getattr(value.type, "dtype", None)
        if dtype is None:
            raise TypeError(f"{op}: {value} is of type {value.type}, which is no number and no array")
        return np.dtype(dtype)
    return type(value) if type(value) in (int, float, complex) else np.asarray(value).dtype


def _operand(op: Any, value: Any, dtype: str) -> Any:
    if is_variable(value) or type(value) not in (int, float, complex):
        return as_operand(op, value, ())
    try:
        return Constant(scalar_of(dtype), value)
    except (TypeError, OverflowError) as error:
        raise OverflowError(f"{op}: {error}") from None


_OPS = {name: UfuncOp(name) for name in (*_INFIX, *_SHIFTS, *_FUNCTIONS, "negative", "absolute", "invert")}


def apply_ufunc(name: str, *operands: Any) -> Any:
    """Returns the ufunc's result, a variable; NotImplemented for operands that are not numbers."""
    for operand in operands:
        if not is_variable(operand) and np.asarray(operand).dtype.kind not in "biufc":
            return NotImplemented
    return _OPS[name](*operands)
