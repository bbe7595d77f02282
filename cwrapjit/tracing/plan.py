"""Groups traced values into kernels, in time that is linear in their number.

Every value has a level: a kernel holds the values of one level and one space, which is the shape of its
elements. Values that a kernel needs from elsewhere have lower levels, so no two kernels wait for each other.
A reduction along the last axis, and what is computed of such reductions, is a number per row, in the space of
the rows. What uses a row's numbers together with the row is a further pass over the row."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any, NamedTuple

from cwrapjit.tracing.values import CALL, CONST, ELEMENT, EXPAND, FUSED, REDUCE, Traced

MAX_PASSES = 8  # over a row in one kernel; what comes later is another kernel
MAX_OPERANDS = 500  # that a kernel reads, and that it writes: function() has a limit


class Group(NamedTuple):
    """The values of a kernel in the order of computation. rows: ids of those that are numbers per row.
    passes: the pass, by id, in which a value is computed."""

    space: tuple[int, ...]
    values: list[Traced]
    rows: set[int]
    passes: dict[int, int]

    def parts(self, results: list[Traced]) -> list[tuple[Group, list[Traced]]]:
        """Returns groups for a limited number of results each."""
        starts = range(0, len(results), MAX_OPERANDS)
        chunks = [results[start : start + MAX_OPERANDS] for start in starts]
        return [(self._needed(chunk) if len(chunks) > 1 else self, chunk) for chunk in chunks]

    def _needed(self, results: list[Traced]) -> Group:
        """Returns a group of what these results need."""
        found = live_values(results, {value.id for value in self.values})
        return self._replace(values=found, passes={v.id: self.passes[v.id] for v in found})


class Planner:
    """Finds the steps for the outputs: `steps` are groups and single calls, in the order of running."""

    def __init__(self, outputs: Sequence[Traced]) -> None:
        self.outputs = {value.id for value in outputs}
        self.live = live_values(outputs)
        self.level: dict[int, int] = {}
        self.space: dict[int, tuple[int, ...]] = {}
        self.rows: set[int] = set()
        self.passes: dict[int, int] = {}
        self.reads: dict[Any, set[int]] = {}  # by level and space
        self.is_cut = False
        for value in self.live:
            self._place(value)
        if not self.is_cut:
            self._sink()
        self.steps = self._steps()

    def _place(self, value: Traced) -> None:
        if value._kind == REDUCE:
            self.space[value.id] = value._args[0]._dims
            self.rows.add(value.id)
        elif value._kind == ELEMENT:
            self._choose_space(value)
        level = 0
        for arg in value._args:
            near = self._near(arg, value)
            if near is not None:
                level = max(level, self.level[near.id])
            else:
                source = arg._base if value._kind in FUSED else arg
                level = max(level, self.level[source.id] + (source._kind in FUSED))
        self.level[value.id] = level
        if value._kind in FUSED:
            self._limit_reads(value)
            self._set_pass(value)

    def _choose_space(self, value: Traced) -> None:
        """Numbers per row join the rows of the argument that is ready last."""
        rows = [a for a in value._args if a.id in self.rows and a._dims == value._dims]
        if rows:
            last = max(rows, key=lambda a: self.level[a.id])
            self.space[value.id] = self.space[last.id]
            self.rows.add(value.id)
        else:
            self.space[value.id] = value._dims

    def _near(self, arg: Traced, value: Traced) -> Traced | None:
        """Returns the value of the same space that a fused value reads as its argument, if there is one."""
        if value._kind not in FUSED:
            return None
        base, space = arg._base, self.space[value.id]
        if self.space.get(base.id) != space:
            return None
        is_row, of_row = base.id in self.rows, value.id in self.rows and value._kind == ELEMENT
        if of_row:
            fits = is_row and base is arg and arg._dims == value._dims
        elif is_row:
            fits = value._kind == ELEMENT and (arg._name == EXPAND or len(space) == 1)
        else:
            fits = base is arg
        return base if fits else None

    def _limit_reads(self, value: Traced) -> None:
        """Moves a value to a later kernel if its own would read too much."""
        args = [arg for arg in value._args if arg._kind != CONST or arg._dims]  # others are literals
        near = [(arg.id, self._near(arg, value)) for arg in args]
        while True:
            level = self.level[value.id]
            reads = self.reads.setdefault((level, self.space[value.id]), set())
            reads |= {k for k, base in near if base is None or self.level[base.id] < level}
            if len(reads) <= MAX_OPERANDS:
                break
            self.level[value.id], self.is_cut = level + 1, True

    def _set_pass(self, value: Traced) -> None:
        number = 0
        for arg in value._args:
            near = self._near(arg, value)
            if near is not None and self.level[near.id] == self.level[value.id]:
                after = near.id in self.rows and value.id not in self.rows
                number = max(number, self.passes[near.id] + after)
        if number >= MAX_PASSES and value.id not in self.rows:
            self.level[value.id] += 1
            number = 0
        self.passes[value.id] = number

    def _sink(self) -> None:
        """Computes elements no earlier than in the first kernel that uses them."""
        limits: dict[int, int] = {}
        for value in reversed(self.live):
            is_element = value._kind == ELEMENT and value.id not in self.rows
            limit = limits.get(value.id)
            if is_element and limit is not None and value.id not in self.outputs:
                if limit > self.level[value.id]:
                    self.level[value.id], self.passes[value.id] = limit, 0
            for arg in value._args:
                near = self._near(arg, value)
                if near is not None:
                    source, most = near, self.level[value.id]
                elif value._kind in FUSED:
                    source, most = arg._base, self.level[value.id] - 1
                else:  # a call stays where it is, and so does what it needs
                    source, most = arg, self.level[arg.id]
                limits[source.id] = min(limits.get(source.id, most), most)

    def _steps(self) -> list[Group | Traced]:
        """Returns the calls of each level, and then its groups."""
        groups: dict[tuple[int, tuple[int, ...]], Group] = {}
        calls: list[tuple[int, Traced]] = []
        for value in self.live:
            level = self.level[value.id]
            if value._kind == CALL:
                calls.append((2 * level, value))
            elif value._kind in FUSED:
                space = self.space[value.id]
                group = groups.setdefault((level, space), Group(space, [], set(), {}))
                group.values.append(value)
                group.passes[value.id] = self.passes[value.id]
                if value.id in self.rows:
                    group.rows.add(value.id)
        steps: list[tuple[int, Group | Traced]] = [*calls]
        steps += [(2 * level + 1, group) for (level, _), group in groups.items()]
        return [step for _, step in sorted(steps, key=lambda step: step[0])]


def live_values(outputs: Sequence[Traced], among: Container[int] | None = None) -> list[Traced]:
    """Returns the values, among these, that the outputs need, in the order of computation."""
    found: dict[int, Traced] = {}
    pending = list(outputs)
    while pending:
        value = pending.pop()
        if value.id not in found and (among is None or value.id in among):
            found[value.id] = value
            pending += [*value._args, *(arg._base for arg in value._args)]
    return [found[k] for k in sorted(found)]
