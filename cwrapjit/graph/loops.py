"""Elementwise ops: a C expression over numbers and arrays that broadcast when the graph runs.

Only the inner loop is generated. cwj_elementwise() (csrc/graph/builtin/elementwise.c) handles shapes, the
result's memory and the outer loops. A loop computes one or more *steps*: an op of elementwise() or an
operator has one step; fused neighbours (fusion.py) have one each, with the dtypes that their results would
have had in memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from zlib import crc32

import numpy as np

from cwrapjit._cwrapjit import expression_standing
from cwrapjit._imports import load
from cwrapjit.graph.arrays import array_of
from cwrapjit.graph.base import Apply, Constant, COp, is_variable
from cwrapjit.graph.scalars import (
    DTYPES,
    c_type,
    c_value_type,
    dtype_name,
    refuse_masked,
    scalar_of,
    type_number,
)
from cwrapjit.kernels.ctext import check_expression
from cwrapjit.kernels.parameters import RESERVED

_LONGEST = 60  # of an expression that names its own place in errors
# In the name of a place. SyntaxErrors show what follows the last /; compilers differ in \" and \\.
_PLAIN = {ord('"'): "'", ord("\\"): "\u2215", ord("/"): "\u2215", **dict.fromkeys(range(32), " ")}
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class Step:
    """One expression of a loop, and the meaning of its names."""

    names: tuple[str, ...]
    sources: tuple[int, ...]  # k >= 0: operand k of the loop; -1 - j: the result of step j
    dtypes: tuple[str, ...]  # the dtype that each source is converted to
    expression: str
    dtype: str  # of the result
    specifier: str = ""  # of the C function that must contain it; "": it stands in the loop
    file: str = ""  # the compilers' name for a user's expression


@dataclass(frozen=True)
class _Value:
    """C text of a number, and its dtype. A float16 is a float here."""

    text: str
    dtype: str


# ---- C text --------------------------------------------------------------------------------------


def c_string(text: str) -> str:
    """Returns a C string literal of the text."""
    plain = {ord(c): c for c in map(chr, range(32, 127)) if c not in '"\\?'}
    return '"' + "".join(plain.get(byte, f"\\{byte:03o}") for byte in text.encode()) + '"'


def _local(dtype: str) -> str:
    return "float" if dtype == "float16" else c_value_type(dtype)


def _load(text: str, dtype: str) -> _Value:
    if dtype == "bool":  # a byte in memory, perhaps neither 0 nor 1
        return _Value(f"({text} != 0)", dtype)
    return _Value(f"npy_half_to_float({text})" if dtype == "float16" else text, dtype)


def _convert(value: _Value, dtype: str) -> str:
    """Converts the value to the C type of a local variable of dtype."""
    if value.dtype == dtype:
        return value.text
    if dtype.startswith("complex"):
        parts = (f"{value.text}.real", f"{value.text}.imag")
        real, imag = parts if value.dtype.startswith("complex") else (value.text, "0")
        return f"cwj_make_{c_type(dtype)}({real}, {imag})"
    if value.dtype.startswith("complex"):
        raise TypeError(f"elementwise: {value.dtype} does not become {dtype} by itself")
    return f"{value.text} != 0" if dtype == "bool" else f"({_local(dtype)}){value.text}"


def _stored(step: Step) -> str:
    """Returns the expression in its type in memory. #line keeps a user's own lines in errors."""
    inner, dtype = f"({step.expression})", step.dtype
    if step.file:
        last = step.expression.count("\n") + 1
        inner = f'(\n#line 1 "{step.file}"\n{step.expression}\n#line {last} "{step.file}"\n)'
    if dtype == "bool":
        return f"{inner} != 0"
    if dtype.startswith("complex"):
        return inner
    # libtcc allows casts of pointers to double. `+` refuses pointers, and ?: makes pointers of functions.
    inner = f"(+(1 ? {inner} : 1))"
    return f"npy_float_to_half((float){inner})" if dtype == "float16" else f"({c_type(dtype)}){inner}"


def _result(step: Step) -> str:
    """Returns the expression for a local variable of its dtype, rounded as in memory."""
    stored = _stored(step)
    return f"npy_half_to_float({stored})" if step.dtype == "float16" else stored


def _step_lines(step: Step, values: dict[int, _Value], target: str) -> list[str]:
    named = [
        f"const {_local(dtype)} {name} = {_convert(values[source], dtype)};"
        for name, source, dtype in zip(step.names, step.sources, step.dtypes, strict=True)
    ]
    return ["{", *(f"    {line}" for line in named), f"    {target};", "}"]


def _body(steps: Sequence[Step], operands: dict[int, _Value], target: str) -> list[str]:
    """Returns lines that compute all steps, and store the last result in target in its type in memory."""
    values, lines = dict(operands), []
    for j, step in enumerate(steps[:-1]):
        values[-1 - j] = _Value(f"t{j}_", step.dtype)
        lines.append(f"{_local(step.dtype)} t{j}_;")
        lines += _step_lines(step, values, f"t{j}_ = {_result(step)}")
    last = steps[-1]
    return lines + _step_lines(last, values, f"{target} = {_stored(last)}")


def _indent(lines: Iterable[str], depth: int) -> str:
    return "\n".join("    " * depth + line for line in lines)


def _step_function(name: str, step: Step) -> list[str]:
    """Returns the C function of a step, in which compilers refuse a `return` that a macro hides."""
    parameters = ", ".join(f"const {_local(d)} {n}" for n, d in zip(step.names, step.dtypes, strict=True))
    return [
        f"static {step.specifier} {_local(step.dtype)} {name}({parameters or 'void'})",
        "{",
        f"    {_local(step.dtype)} result_;",
        '#define return ({ _Static_assert(0, "a return here would skip the rest of the element"); })',
        f"    result_ = {_result(step)};",
        "#undef return",
        "    return result_;",
        "}",
    ]


def _step_functions(name: str, steps: Sequence[Step]) -> tuple[list[str], list[Step]]:
    """Returns the functions that steps need, and the steps with calls of these."""
    lines, called = [], []
    for j, step in enumerate(steps):
        if step.specifier:
            lines += _step_function(f"{name}_step{j}", step)
            step = replace(step, expression=f"{name}_step{j}({', '.join(step.names)})", file="")
        called.append(step)
    return lines, called


def _inner_function(name: str, steps: Sequence[Step], types: Sequence[Any], dtype: str) -> str:
    """Returns the text of a cwj_inner: a loop over contiguous elements, and one over strided ones."""
    functions, steps = _step_functions(name, steps)
    arrays = [k for k, type in enumerate(types) if type.is_array]
    scalars = [k for k, type in enumerate(types) if not type.is_array]
    c = {k: c_type(types[k].dtype) for k in arrays}
    fixed = {k: _load(f"s{k}_", types[k].dtype) for k in scalars}
    unit = " && ".join(f"steps_[{i}] == sizeof({t})" for i, t in enumerate([c_type(dtype), *c.values()]))
    flat = fixed | {k: _load(f"p{k}_[i_]", types[k].dtype) for k in arrays}
    strided = fixed | {k: _load(f"(*(const {c[k]} *)p{k}_)", types[k].dtype) for k in arrays}
    unfold = [f"const {c_type(types[k].dtype)} s{k}_ = *(const {c_type(types[k].dtype)} *)scalars_[{i}];"
              for i, k in enumerate(scalars)]  # fmt: skip
    return "\n".join(
        [
            *functions,
            f"static void {name}(npy_intp n_, char *const *at_, const npy_intp *steps_,",
            "    const void *const *scalars_)",
            "{",
            *(f"    {line}" for line in unfold),
            f"    if ({unit}) {{",
            f"        {c_type(dtype)} *restrict out_ = ({c_type(dtype)} *)at_[0];",
            *(
                f"        const {c[k]} *restrict p{k}_ = (const {c[k]} *)at_[{i}];"
                for i, k in enumerate(arrays, 1)
            ),
            "        for (npy_intp i_ = 0; i_ < n_; i_++) {",
            _indent(_body(steps, flat, "out_[i_]"), 3),
            "        }",
            "        return;",
            "    }",
            "    char *out_ = at_[0];",
            *(f"    const char *p{k}_ = at_[{i}];" for i, k in enumerate(arrays, 1)),
            "    for (npy_intp i_ = 0; i_ < n_; i_++) {",
            _indent(_body(steps, strided, f"*({c_type(dtype)} *)out_"), 2),
            "        out_ += steps_[0];",
            *(f"        p{k}_ += steps_[{i}];" for i, k in enumerate(arrays, 1)),
            "    }",
            "}",
        ]
    )


# ---- ops -----------------------------------------------------------------------------------------


class LoopOp(COp):
    """The common part of elementwise ops: from steps to C. Subclasses provide the steps and the reference in
    Python."""

    fuses = True  # fusion.py may merge neighbours
    params_type = None

    def steps(self, types: Sequence[Any]) -> tuple[Step, ...]:
        """Returns the steps for operands of these types. Raises TypeError if there are none."""
        raise NotImplementedError(f"{type(self).__name__} does not define steps()")

    def argument_names(self) -> Sequence[str]:
        """Returns names for operands without a name, for messages."""
        raise NotImplementedError(f"{type(self).__name__} does not define argument_names()")

    def apply_to(self, operands: Sequence[Any]) -> Apply:
        """Makes a node; the operands are variables of built-in types."""
        types = [operand.type for operand in operands]
        for operand in operands:
            if getattr(operand.type, "is_array", None) is None or operand.type.dtype not in DTYPES:
                raise TypeError(
                    f"{self}: {operand} is of type {operand.type}, which is no number and no array"
                )
        dtype = self.steps(types)[-1].dtype
        rank = max((type.ndim for type in types if type.is_array), default=-1)
        return Apply(self, operands, [(scalar_of(dtype) if rank < 0 else array_of(dtype, rank))()])

    def c_code_cache_version(self) -> tuple[Any, ...]:
        return (1,)

    def c_headers(self, c_compiler: Any = None) -> list[str]:
        return ["<cwj_arrays.h>"]

    def _node_steps(self, node: Any) -> tuple[list[Any], tuple[Step, ...]]:
        types = [variable.type for variable in node.inputs]
        return types, self.steps(types)

    def c_support_code_apply(self, node: Any, name: str) -> str:
        types, steps = self._node_steps(node)
        if not node.outputs[0].type.is_array:
            return ""
        return _inner_function(f"{name}_inner", steps, types, steps[-1].dtype)

    def c_element_code(self, node: Any, name: str) -> str:
        """Returns the loop's code for each element, which the linker inspects."""
        if not node.outputs[0].type.is_array:
            return ""  # c_code has it
        return "\n".join(f"{step.expression}\n;" for step in self._node_steps(node)[1])

    def c_code(
        self, node: Any, name: str, inputs: Sequence[str], outputs: Sequence[str], sub: dict[str, str]
    ) -> str:
        types, steps = self._node_steps(node)
        if node.outputs[0].type.is_array:
            return self._array_code(node, name, inputs, outputs[0], sub)
        values = {
            k: _load(text, type.dtype) for k, (text, type) in enumerate(zip(inputs, types, strict=True))
        }
        return "\n".join(_body(steps, values, outputs[0]))

    def _array_code(
        self, node: Any, name: str, inputs: Sequence[str], output: str, sub: dict[str, str]
    ) -> str:
        called = [v.name or n for v, n in zip(node.inputs, self.argument_names(), strict=True)]
        arrays = [k for k, variable in enumerate(node.inputs) if variable.type.is_array]
        scalars = [k for k, variable in enumerate(node.inputs) if not variable.type.is_array]
        number = type_number(node.outputs[0].type.dtype)
        return "\n".join(
            [
                f"PyArrayObject *operands_[] = {{{', '.join(['NULL', *(inputs[k] for k in arrays)])}}};",
                f"const char *const names_[] = {{{', '.join(c_string(called[k]) for k in arrays)}}};",
                *(f"const {c_type(node.inputs[k].type.dtype)} s{k}_ = {inputs[k]};" for k in scalars),
                f"const void *const scalars_[] = {{{', '.join([*(f'&s{k}_' for k in scalars), 'NULL'])}}};",
                f"if (cwj_elementwise({c_string(str(self))}, {len(arrays)}, operands_, names_,",
                f"    &{output}, py_{output}, {number}, {name}_inner, scalars_) < 0)",
                f"    {sub['fail']}",
            ]
        )

    # ---- the reference

    def compute(self, node: Any, arrays: Sequence[Any]) -> Any:
        """Returns the result for arrays of the input dtypes."""
        alone = Apply(self, [v.type() for v in node.inputs], [node.outputs[0].type()])
        return load("cwrapjit.graph.linking").link(alone.inputs, alone.out, optimize="off")(*arrays)

    def perform(self, node: Any, inputs: Sequence[Any], output_storage: Any, *params: Any) -> None:
        """Computes the op outside the graph."""
        arrays = [np.asarray(value, v.type.dtype) for value, v in zip(inputs, node.inputs, strict=True)]
        made = node.outputs[0].type
        result = np.asarray(self.compute(node, arrays)).astype(made.dtype)
        output_storage[0][0] = result if made.is_array else made.filter(result[()])


class Elementwise(LoopOp):
    """One C expression over named operands, made by elementwise()."""

    __props__ = ("names", "expression", "dtype", "headers", "support_code", "reference")

    def __init__(
        self,
        names: tuple[str, ...],
        expression: str,
        dtype: str | None,
        headers: tuple[str, ...],
        support_code: str,
        reference: Callable[..., Any] | None,
    ) -> None:
        self.names = names
        self.expression = expression
        self.dtype = dtype
        self.headers = headers
        self.support_code = support_code
        self.reference = reference
        before = "\n".join([*(f"#include {header}" for header in headers), support_code])
        self._specifier = expression_standing(expression, before)
        shown = str(self).translate(_PLAIN)
        if len(shown) > _LONGEST:
            shown = f"{shown[:_LONGEST]}... {crc32(expression.encode()):08x}"
        self._file = f"<cwrapjit {shown}>"

    def make_node(self, *inputs: Any) -> Apply:
        """Operands are variables, Python numbers or arrays."""
        if len(inputs) != len(self.names):
            raise TypeError(f"{self} takes {len(self.names)} operands, not {len(inputs)}")
        known = [v.type.dtype for v in inputs if is_variable(v) and hasattr(v.type, "dtype")]
        return self.apply_to([as_operand(self, value, known) for value in inputs])

    def steps(self, types: Sequence[Any]) -> tuple[Step, ...]:
        dtypes = tuple(type.dtype for type in types)
        dtype = self.dtype or dtype_name(str(self), np.result_type(*dtypes))
        sources = tuple(range(len(types)))
        return (Step(self.names, sources, dtypes, self.expression, dtype, self._specifier, self._file),)

    def argument_names(self) -> Sequence[str]:
        return self.names

    def c_headers(self, c_compiler: Any = None) -> list[str]:
        return ["<cwj_arrays.h>", *self.headers]

    def c_support_code(self) -> str:
        return self.support_code

    def compute(self, node: Any, arrays: Sequence[Any]) -> Any:
        return super().compute(node, arrays) if self.reference is None else self.reference(*arrays)

    def __str__(self) -> str:
        return f"elementwise[{' '.join(self.expression.split())}]"


def as_operand(op: Any, value: Any, dtypes: Sequence[str]) -> Any:
    """Returns the variable itself, or a constant. Python numbers get a dtype that suits the others."""
    if is_variable(value):
        return value
    array = np.asarray(value)
    if array.dtype.kind not in "biufc":
        raise TypeError(f"{op}: an operand must be a variable or a number, not {type(value).__name__}")
    refuse_masked(str(op), value)
    if isinstance(value, (np.ndarray, list, tuple)):
        array = np.array(array, order="K")  # a copy, as the caller may change the array
        array.flags.writeable = False
        return Constant(array_of(dtype_name("ndarray", array.dtype), array.ndim), array)
    weak = type(value) in (int, float, complex) and dtypes
    dtype = np.result_type(*map(np.dtype, dtypes), value) if weak else array.dtype
    return Constant(scalar_of(dtype_name("Scalar", dtype)), value)


def elementwise(
    operands: str,
    expression: str,
    dtype: Any = None,
    *,
    headers: Sequence[str] = (),
    support_code: str = "",
    reference: Callable[..., Any] | None = None,
) -> Elementwise:
    """An op that computes a C expression for each element.

    >>> import numpy as np
    >>> import cwrapjit, cwrapjit.graph as cg
    >>> x, y = cg.ndarray("float64", 1)("x"), cg.float64("y")
    >>> cwrapjit.link([x, y], cg.elementwise("a, b", "sqrt(a) + b")(x, y))(np.array([4.0, 9.0]), 1.0)
    array([3., 4.])

    operands: names, "a, b, c".
    expression: C, in which each operand is a number of its own type (npy_float64 ...; float16 is a float,
    complex numbers are structs: see <cwj_complex.h>).
    dtype: that of the result, by default NumPy's result_type of the operands.
    headers: those that declare functions that the expression calls: "<math.h>".
    support_code: C that declares or defines such functions.
    reference: what check= of link() compares with, a callable of the arrays; by default the expression
    itself, compiled on its own.

    Returns the op, which takes one variable for each operand. Operands broadcast when the graph runs; the
    result is an array if one of them is. Raises TypeError and ValueError for arguments."""
    if not isinstance(operands, str) or not isinstance(expression, str):
        raise TypeError("elementwise(): operands and expression must be str")
    names = tuple(name.strip() for name in operands.split(","))
    for name in names:
        if not _IDENTIFIER.fullmatch(name) or name.endswith("_") or name in RESERVED:
            raise ValueError(f"elementwise(): {name!r} cannot be the name of an operand")
    if len(set(names)) < len(names):
        raise ValueError(f"elementwise(): operands {operands!r} has a name twice")
    if not expression.strip():
        raise ValueError("elementwise(): the expression is empty")
    check_expression(expression, "elementwise()", "expression")
    if isinstance(headers, str) or not all(isinstance(each, str) for each in (*headers, support_code)):
        raise TypeError(
            'elementwise(): headers must be a sequence of str such as ["<math.h>"], support_code a str'
        )
    if reference is not None and not callable(reference):
        raise TypeError(f"elementwise(): reference must be callable, not {type(reference).__name__}")
    made = None if dtype is None else dtype_name("elementwise()", dtype)
    return Elementwise(names, expression.strip(), made, tuple(headers), support_code, reference)
