"""Writes the C text of a kernel, for function().

If no number per row is in the kernel, a slice is one element. Otherwise it is a row, and its text has a loop
for each pass. Between passes, costly values are kept: in a result that is written later, or in a block of
memory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from cwrapjit.tracing import ops
from cwrapjit.tracing.plan import Group
from cwrapjit.tracing.values import CONST, ELEMENT, EXPAND, NUMBER, REDUCE, Traced

SMALL = 4096  # bytes that are kept on the stack
LANES = 8  # accumulators of a sum
LANES_OF_EXTREMES = 32  # gcc vectorises no loop over fewer


class Operand(NamedTuple):
    """What a kernel reads. dims: "", "n" or "1"; those with "n" are read in loops."""

    name: str
    value: Traced
    dims: str

    @property
    def number(self) -> Traced:
        """The value before NumPy's rules have decided its type."""
        return self.value._args[0] if self.value._kind == NUMBER else self.value

    @property
    def item(self) -> str:
        return f"item__{self.name}({ {'n': 'i', '1': '0', '': ''}[self.dims] })"


class Text:
    """The C text of a group. results: the values that others need. `operands` are what it reads."""

    def __init__(self, group: Group, results: Sequence[Traced]) -> None:
        self.group, self.results = group, results
        self.stored = {value.id for value in results}
        self.members = {value.id for value in group.values}
        self.operands: dict[str, Operand] = {}
        elements = [v for v in group.values if v.id not in group.rows]
        self.of_rows = any(v._kind == REDUCE for v in group.values) or bool(group.rows and elements)
        self.elements = elements
        self.body = self._rows() if self.of_rows else self._elements()
        # In the order of the function's arguments, so that a call may be the kernel's own.
        self.operands = dict(sorted(self.operands.items(), key=lambda item: item[1].number.id))

    @property
    def signature(self) -> str:
        inputs = [f"{operand.name}({operand.dims})" for operand in self.operands.values()]
        outputs = [f"y{v.id}({'n' if self._is_long(v) else ''})" for v in self.results]
        return f"{', '.join(inputs)} -> {', '.join(outputs)}"

    @property
    def types(self) -> tuple[np.dtype[Any], ...]:
        return tuple([o.value.dtype for o in self.operands.values()] + [v.dtype for v in self.results])

    @property
    def described(self) -> str:
        if not self.of_rows:
            return "kernel, element by element"
        count = max(self.group.passes.values()) + 1
        kept = [f"t{k} in t{r}" for k, r in self.lent.items()] + [f"t{v.id} in a block" for v in self.blocks]
        keeps = f", keeps {', '.join(kept)}" if kept else ""
        return f"kernel, {count} pass{'es' * (count > 1)} over rows of {self.group.space[-1]}{keeps}"

    def _is_long(self, value: Traced) -> bool:
        """Returns true for values with a number for each element of a row."""
        return self.of_rows and value.id not in self.group.rows

    # ---- operands -------------------------------------------------------------------------------------

    def _operand(self, value: Traced, in_row: bool) -> str:
        """Returns the C name of an argument from elsewhere. in_row: it is read by a number per row."""
        space = self.group.space
        if value._kind == CONST and not value._dims:
            return ops.literal(value._params[0], value.dtype)
        dims = ""
        if self.of_rows and not in_row and value._dims:
            if value._name == EXPAND and space[-1] != 1:
                value = value._base
            else:
                dims = "n" if value._dims[-1] == space[-1] else "1"
        name = f"x{value.id}{'r' * (dims == '' and self.of_rows)}"
        self.operands.setdefault(name, Operand(name, value, dims))
        return f"{name}_"

    def _define(self, value: Traced) -> str:
        in_row = value.id in self.group.rows
        names = [self._operand(arg, in_row) if not self._is_member(arg, in_row) else f"v{arg._base.id}"
                 for arg in value._args]  # fmt: skip
        kind = ops.c_type(value.dtype)
        text = ops.expression(value._name, [arg.dtype for arg in value._args], names)
        return f"const {kind} v{value.id} = ({kind})({text});"

    def _is_member(self, arg: Traced, in_row: bool) -> bool:
        """Returns true for an argument that the kernel computes, and that is read as computed."""
        base = arg._base
        if base.id not in self.members:
            return False
        if base.id not in self.group.rows:
            return base is arg and not in_row
        return (base is arg and in_row) or (not in_row and (arg is not base or len(self.group.space) == 1))

    def _loads(self, lines: Iterable[str], dims: str) -> list[str]:
        """Returns the definitions of the operands with such dims that the lines name."""
        used = set(re.findall(r"\bx\w+_\b", "\n".join(lines)))
        return [
            f"const {ops.c_type(o.value.dtype)} {o.name}_ = {o.item};"
            for o in self.operands.values()
            if (o.dims == "n") == (dims == "n") and f"{o.name}_" in used
        ]

    # ---- elements ------------------------------------------------------------------------------------

    def _elements(self) -> str:
        lines = [self._define(value) for value in self.group.values]
        stores = [f"item__y{v.id}() = v{v.id};" for v in self.results]
        return "\n".join([*self._loads(lines, ""), *lines, *stores, "return true;"])

    # ---- rows ----------------------------------------------------------------------------------------

    def _rows(self) -> str:
        needs = self._needs()
        passes = [line for number in range(len(needs)) for line in self._pass(number, needs[number])]
        stores = [f"item__y{v.id}() = v{v.id};" for v in self.results if not self._is_long(v)]
        first = next(o.name for o in self.operands.values() if o.dims == "n")
        head = [f"const npy_intp n = dims_slice__{first}[0];", *self._loads(passes, "")]
        free = ["if(kept != small) free(kept);"] if self.blocks else []
        return "\n".join([*head, *self._block(), *passes, *stores, *free, "return true;"])

    def _needs(self) -> list[list[tuple[Traced, bool]]]:
        """Returns the elements that each pass uses, and whether it computes them. Finds what is kept."""
        group = self.group
        results = self.stored
        self.blocks: list[Traced] = []
        self.lent: dict[int, int] = {}
        kept: set[int] = set()
        spare: dict[Any, list[int]] = {}  # results, by dtype, that no earlier pass writes
        needs: list[list[tuple[Traced, bool]]] = []
        for number in range(max(group.passes.values()), -1, -1):
            for value in self.results:
                if self._is_long(value) and group.passes[value.id] == number:
                    spare.setdefault(value.dtype, []).append(value.id)
            wanted = {
                v._args[0].id for v in group.values if v._kind == REDUCE and group.passes[v.id] == number
            }
            wanted |= {
                v.id
                for v in self.elements
                if group.passes[v.id] == number and (v.id in results or v.id in kept)
            }
            used: list[tuple[Traced, bool]] = []
            for value in reversed(self.elements):
                if value.id not in wanted:
                    continue
                is_new = group.passes[value.id] == number
                is_kept = not is_new and (value.id in results or ops.OPS[value._name].costly)
                used.append((value, not is_kept))
                if not is_kept:
                    wanted |= {arg.id for arg in value._args}
                elif value.id not in results and value.id not in kept:
                    kept.add(value.id)
                    if spare.get(value.dtype):
                        self.lent[value.id] = spare[value.dtype].pop()
                    else:
                        self.blocks.append(value)
            needs.append(used[::-1])
        return needs[::-1]

    def _place(self, value: Traced) -> str:
        if value.id in self.stored:
            return f"item__y{value.id}(i)"
        return f"item__y{self.lent[value.id]}(i)" if value.id in self.lent else f"k{value.id}[i]"

    def _block(self) -> list[str]:
        """Returns the text that gets memory for kept values: the largest types first, for their alignment."""
        if not self.blocks:
            return []
        self.blocks.sort(key=lambda v: -v.dtype.itemsize)
        size = sum(v.dtype.itemsize for v in self.blocks)
        lines = [
            f"double small[{SMALL // 8}];",
            f"void *kept = n <= {SMALL // size} ? small : 0;",
            f"if(kept == 0 && n <= {(2**63 - 1) // size}) kept = malloc(n * {size});",
            "if(kept == 0) { PyErr_NoMemory(); return false; }",
        ]
        before = 0
        for value in self.blocks:
            kind = ops.c_type(value.dtype)
            lines.append(f"{kind} *const k{value.id} = ({kind} *)((char *)kept + n * {before});")
            before += value.dtype.itemsize
        return lines

    def _pass(self, number: int, needs: list[tuple[Traced, bool]]) -> list[str]:
        values = [
            v for v in self.group.values if v.id in self.group.rows and self.group.passes[v.id] == number
        ]
        reductions = [v for v in values if v._kind == REDUCE]
        stored = self.stored | set(self.lent) | {v.id for v in self.blocks}
        # A kept value is read before a result is written in its place.
        lines = [
            f"const {ops.c_type(v.dtype)} v{v.id} = {self._place(v)};" for v, is_new in needs if not is_new
        ]
        for value in [v for v, is_new in needs if is_new]:
            lines.append(self._define(value))
            if value.id in stored and self.group.passes[value.id] == number:
                lines.append(f"{self._place(value)} = v{value.id};")
        sources = {r.id: self._define_source(r) for r in reductions}
        lines = [*self._loads([*lines, *sources.values()], "n"), *lines]
        made = self._reduce(reductions, sources, lines) if reductions else []
        if not reductions and lines:
            made = ["for(npy_intp i = 0; i < n; i++) {", *lines, "}"]
        return [*made, *(self._define(v) for v in values if v._kind == ELEMENT)]

    def _define_source(self, reduction: Traced) -> str:
        """Returns the C name of what is reduced."""
        arg = reduction._args[0]
        return f"v{arg.id}" if self._is_member(arg, False) else self._operand(arg, False)

    def _reduce(self, values: list[Traced], sources: dict[int, str], lines: list[str]) -> list[str]:
        """Returns a loop with several accumulators per reduction, which the compiler makes vectors of."""
        is_extreme = any(v._name in ("max", "min") for v in values)
        lanes = LANES_OF_EXTREMES if is_extreme else LANES
        text = [f"npy_intp at{values[0].id} = 0;"]
        at = f"at{values[0].id}"
        for v in values:
            text.append(f"{_accumulator(v)} a{v.id}[{lanes}];")
            text.append(f"for(int l = 0; l < {lanes}; l++) a{v.id}[l] = {ops.first_of(v._name, v.dtype)};")
        adds = [_add(v, f"a{v.id}[l]", sources[v.id]) for v in values]
        inner = [f"const npy_intp i = {at} + l;", *lines, *adds, "}"]
        text += [f"for(; {at} + {lanes} <= n; {at} += {lanes})"]
        # gcc makes no vectors of a loop that it has unrolled before, as it does with fastmath.
        text += ["#pragma GCC unroll 1", f"for(int l = 0; l < {lanes}; l++) {{", *inner]
        text += [f"for(int l = 0; l < n - {at}; l++) {{", *inner]
        for v in values:
            join = _add(v, f"a{v.id}[l]", f"a{v.id}[l + h]")
            text.append(f"for(int h = {lanes // 2}; h; h /= 2) for(int l = 0; l < h; l++) {{ {join} }}")
            kind = ops.c_type(v.dtype)
            text.append(f"const {kind} v{v.id} = ({kind})a{v.id}[0];")
        return text


def _accumulator(value: Traced) -> str:
    """Returns the C type of an accumulator: sums of float32 are kept as double."""
    is_sum = value._name in ("sum", "prod")
    return "double" if is_sum and value.dtype == np.float32 else ops.c_type(value.dtype)


def _add(value: Traced, accumulator: str, given: str) -> str:
    return ops.REDUCTIONS[value._name].add.format(a=accumulator, v=given)
