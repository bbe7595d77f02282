"""The ops of operators: C expressions for NumPy's ufuncs, with NumPy's dtypes."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from cwrapjit.graph.base import Constant, is_variable
from cwrapjit.graph.loops import LoopOp, Step, as_operand
from cwrapjit.graph.scalars import c_type, scalar_of
from cwrapjit.tracing import ops

_FUNCTIONS = ("floor_divide", "remainder", "power")  # in <cwj_arithmetic.h>
_NAMES = (
    *_FUNCTIONS, "add", "subtract", "multiply", "divide", "negative", "absolute", "invert",
    "bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift",
    "less", "less_equal", "greater", "greater_equal",
)  # fmt: skip


def _expression(name: str, dtypes: Sequence[str]) -> str:
    """Returns the ufunc in C, for operands of these dtypes. A float16 is a float here."""
    names, types = ("a", "b")[: len(dtypes)], [np.dtype(d.replace("float16", "float32")) for d in dtypes]
    kinds = {dtype.kind for dtype in types}
    if kinds == {"c"}:
        if name not in ("add", "subtract", "multiply", "divide", "negative", "absolute"):
            raise TypeError(f"{name}: there is none for {types[0]} in graphs")
        return f"cwj_{name}_{c_type(dtypes[0])}({', '.join(names)})"
    if kinds == {"i", "u"}:  # a comparison of int64 with uint64, which C would do unsigned
        negative, is_less = names[types[1].kind == "i"], int(name.startswith("less"))
        compared = ops.expression(name, [types[0]] * 2, [f"(npy_uint64){each}" for each in names])
        return f"{negative} < 0 ? {is_less if negative == 'a' else 1 - is_less} : {compared}"
    if name == "power" and kinds != {"f"}:
        return f"cwj_power_{dtypes[0]}(a, b)"
    return ops.expression(name, types, names)


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
        return (_step(self.name, *(type.dtype for type in types)),)

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


def _step_of(name: str, *dtypes: str) -> Step:
    """Returns the step of operands of these dtypes."""
    *used, made = _OPS[name].dtypes([np.dtype(dtype) for dtype in dtypes])
    return Step(("a", "b")[: len(used)], tuple(range(len(used))), tuple(used), _expression(name, used), made)


_step = functools.cache(_step_of)


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


_OPS = {name: UfuncOp(name) for name in _NAMES}


def apply_ufunc(name: str, *operands: Any) -> Any:
    """Returns the ufunc's result, a variable; NotImplemented for operands that are not numbers."""
    for operand in operands:
        if not is_variable(operand) and np.asarray(operand).dtype.kind not in "biufc":
            return NotImplemented
    return _OPS[name](*operands)
