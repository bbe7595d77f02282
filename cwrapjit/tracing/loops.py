"""The steps of scan(): one loop in C, where all values are elementwise, else a loop in Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cwrapjit.tracing import ops
from cwrapjit.tracing.kernel import Operand, Text
from cwrapjit.tracing.plan import Group, live_values
from cwrapjit.tracing.values import CONST, ELEMENT, INPUT, Trace, Traced


class Loop:
    """A step, as a trace of its own: `inputs` are carried values, elements of xs, and what stays the same.

    results: the carried values, and the elements of ys. given: what the inputs are outside of the step."""

    def __init__(self, name: str, markers: Sequence[Traced], carried: int, results: Sequence[Traced]) -> None:
        self.carried, self.stepped = carried, len(markers) - carried
        self.trace = Trace(name)
        self.inputs: list[Traced] = []
        self.given: list[Traced] = []
        self._copies: dict[int, Traced] = {}
        for marker in markers:
            self._input(marker)
        values = live_values([*markers, *results])
        inner = {marker.id for marker in markers}
        for v in values:
            if not inner.isdisjoint(arg.id for arg in v._args):
                inner.add(v.id)
                self._copies[v.id] = self._copy(v, [self._inside(arg) for arg in v._args])
        self.results = [self._inside(v) for v in results]
        self.dims = self.inputs[0]._dims if carried else ()
        self.text = LoopText(self) if self._is_elementwise() else None

    def _copy(self, value: Traced, args: Sequence[Traced]) -> Traced:
        return self.trace.make(
            value._kind,
            value._name,
            args,
            value._dims,
            value.dtype,
            *value._params,
            is_weak=value._weak,
            is_boxed=value._boxed,
            rule=value._rule,
        )

    def _input(self, value: Traced) -> Traced:
        made = self.trace.make(INPUT, f"s{len(self.inputs)}", (), value._dims, value.dtype)
        self.inputs.append(made)
        self.given.append(value)
        self._copies[value.id] = made
        return made

    def _inside(self, value: Traced) -> Traced:
        """Returns the value in the step: what does not change there is an input, too."""
        if value._kind == CONST and not value._dims:
            return self._copy(value, ())
        copy = self._copies.get(value.id)
        return self._input(value) if copy is None else copy

    def _is_elementwise(self) -> bool:
        """Returns true if carried values have one shape, and the others are computed element by element."""
        same = [*self.inputs[: self.carried], *self.results]
        return (
            bool(self.carried)
            and all(v._kind in (INPUT, CONST, ELEMENT) for v in self.trace.values)
            and all(v._dims == self.dims for v in same)
            and np.broadcast_shapes(*(v._dims for v in self.inputs)) == self.dims
            and 0 not in self.dims
            and all(ops.has_c_type(v.dtype) for v in [*self.inputs, *self.results])
        )

    def run(self, step: Callable[..., Any], *given: Any) -> Any:
        """Runs the loop in Python. step: takes the inputs, and returns the results."""
        values = [np.asarray(v, i.dtype)[()] for v, i in zip(given, self.inputs, strict=True)]
        first = self.carried + self.stepped
        carries, xs, same = values[: self.carried], values[self.carried : first], values[first:]
        ys = [np.empty((len(xs[0]), *v._dims), v.dtype) for v in self.results[self.carried :]]
        for k, elements in enumerate(zip(*xs, strict=True)):
            made = step(*carries, *elements, *same)
            carries = made[: self.carried]
            for y, element in zip(ys, made[self.carried :], strict=True):
                y[k] = element
        made = (*carries, *ys)
        return made[0] if len(made) == 1 else made


class LoopText(Text):
    """The C text of a loop: a slice is one row of steps."""

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        members = [v for v in loop.trace.values if v._kind == ELEMENT]
        super().__init__(Group(loop.dims, members, set(), {}), ())

    @property
    def described(self) -> str:
        return "kernel, one loop over all steps"

    @property
    def signature(self) -> str:
        inputs = ", ".join(f"{o.name}({o.dims})" for o in self.operands.values())
        return f"{inputs} -> {', '.join(f'{name}({dims})' for name, dims in self.outputs)}"

    @property
    def types(self) -> tuple[np.dtype[Any], ...]:
        return tuple([v.dtype for v in (*self.loop.inputs, *self.loop.results)])

    @property
    def outputs(self) -> list[tuple[str, str]]:
        """The names and dims of the results."""
        count = self.loop.carried
        return [(f"c{k}", "") if k < count else (f"y{k}", "n") for k in range(len(self.loop.results))]

    def _elements(self) -> str:
        loop, count = self.loop, self.loop.carried
        stepped = range(count, count + loop.stepped)
        for k, v in enumerate(loop.inputs):
            self.operands[f"x{v.id}"] = Operand(f"x{v.id}", v, "n" if k in stepped else "")
        lines = [self._define(value) for value in self.group.values]
        results = [f"v{v.id}" if v.id in self.members else self._operand(v, False) for v in loop.results]
        lines += [f"item__y{k}(i) = {results[k]};" for k in range(count, len(results))]
        carried = list(self.operands.values())[:count]
        kinds = [ops.c_type(o.value.dtype) for o in carried]
        lines += [f"const {kind} next{k} = {results[k]};" for k, kind in enumerate(kinds)]
        lines += [f"{o.name}_ = next{k};" for k, o in enumerate(carried)]
        names = {f"{o.name}_" for o in carried}
        before = [f"{kind} {o.name}_ = {o.item};" for o, kind in zip(carried, kinds, strict=True)]
        before += [line for line in self._loads(lines, "") if line.split()[2] not in names]
        return "\n".join(
            [
                f"const npy_intp n = dims_slice__x{loop.inputs[count].id}[0];",
                *before,
                "for(npy_intp i = 0; i < n; i++) {",
                *self._loads(lines, "n"),
                *lines,
                "}",
                *(f"item__c{k}() = {o.name}_;" for k, o in enumerate(carried)),
                "return true;",
            ]
        )
