"""Fusion: makes one loop of neighbouring elementwise nodes, without an array between them.

A node is merged into the one that uses its result if that is the only user, the result is no output, and both
results have the same number of dimensions. The intermediate value keeps its dtype, so results have the same
bits. A node that reads memory which another node overwrites is not merged."""

from __future__ import annotations

import collections
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from cwrapjit.graph.base import Apply
from cwrapjit.graph.loops import LoopOp, Step

MAX_STEPS = 64  # a much longer loop gains nothing


class FusedOp(LoopOp):
    """Several elementwise ops in one loop."""

    fuses = False

    def __init__(self, ops: Sequence[LoopOp], steps: tuple[Step, ...], names: Sequence[str]) -> None:
        self.ops = tuple(ops)
        self._steps = steps
        self._names = tuple(names)

    def steps(self, types: Sequence[Any]) -> tuple[Step, ...]:
        return self._steps

    def argument_names(self) -> Sequence[str]:
        return self._names

    def c_headers(self, c_compiler: Any = None) -> list[str]:
        return [header for op in self.ops for header in op.c_headers()]

    def c_support_code(self) -> list[str]:
        texts = [op.c_support_code() for op in self.ops]
        return [text for text in texts if text]

    def __str__(self) -> str:
        return "+".join(map(str, self.ops))


def _may_fuse(node: Any) -> bool:
    return (
        isinstance(node.op, LoopOp)
        and bool(getattr(node.op, "fuses", False))
        and isinstance(node, Apply)
        and node.outputs[0].type.is_array
    )


class _Groups:
    """Decides which nodes are merged: `into` maps a node's id to the node that takes it up."""

    def __init__(self, nodes: Sequence[Any], outputs: Sequence[Any], overwritten: Sequence[Any]) -> None:
        self.overwritten = {id(variable) for variable in overwritten}
        clients: dict[int, list[Any]] = collections.defaultdict(list)
        for node in nodes:
            for key in {id(variable): variable for variable in node.inputs}:
                clients[key].append(node)
        kept = {id(variable) for variable in outputs}
        self.into: dict[int, Any] = {}
        self.sizes: dict[int, int] = {id(node): 1 for node in nodes}
        for node in nodes:
            using = clients.get(id(node.outputs[0]), []) if node.outputs else []
            if len(using) == 1 and id(node.outputs[0]) not in kept and self._suits(node, using[0]):
                self.into[id(node)] = using[0]
                self.sizes[id(using[0])] += self.sizes[id(node)]

    def _suits(self, node: Any, user: Any) -> bool:
        return (
            _may_fuse(node)
            and _may_fuse(user)
            and not any(id(variable) in self.overwritten for variable in node.inputs)
            and node.outputs[0].type.ndim == user.outputs[0].type.ndim
            and self.sizes[id(node)] + self.sizes[id(user)] <= MAX_STEPS
        )


class _Loop:
    """The steps of a group of nodes, in the order of the nodes."""

    def __init__(self, members: Sequence[Any], replaced: dict[int, Any]) -> None:
        self.operands: list[Any] = []
        self.names: list[str] = []
        self.steps: list[Step] = []
        made: dict[int, int] = {}
        for node in members:
            (step,) = node.op.steps([variable.type for variable in node.inputs])
            sources = [
                made[id(v)] if id(v) in made else self._operand(replaced.get(id(v), v), name)
                for v, name in zip(node.inputs, node.op.argument_names(), strict=True)
            ]
            self.steps.append(replace(step, sources=tuple(sources[k] for k in step.sources)))
            made[id(node.outputs[0])] = -len(self.steps)

    def _operand(self, variable: Any, name: str) -> int:
        for k, known in enumerate(self.operands):
            if known is variable:
                return k
        self.operands.append(variable)
        self.names.append(name)
        return len(self.operands) - 1


def _members(nodes: Sequence[Any], into: dict[int, Any]) -> Iterator[tuple[Any, list[Any]]]:
    """Yields each remaining node with the nodes merged into it, in order."""
    taken: dict[int, list[Any]] = collections.defaultdict(list)
    for node in nodes:
        members = [*taken.pop(id(node), []), node]
        if id(node) in into:
            taken[id(into[id(node)])].extend(members)
        else:
            yield node, members


def fuse(nodes: Sequence[Any], outputs: Sequence[Any], overwritten: Sequence[Any] = ()) -> list[Any]:
    """Returns outputs of a graph that computes the same with fewer nodes. nodes: all nodes, in an order in
    which they can run. overwritten: variables whose memory some op overwrites. The given graph is not
    changed: nodes with new inputs are copied. Results that another library's nodes use are left alone."""
    if sum(map(_may_fuse, nodes)) < 2:
        return list(outputs)
    foreign = {id(v) for node in nodes if not isinstance(node, Apply) for v in node.inputs}
    groups = _Groups(nodes, outputs, overwritten)
    replaced: dict[int, Any] = {}
    for node, members in _members(nodes, groups.into):
        if any(id(output) in foreign for output in node.outputs):
            continue
        if len(members) > 1:
            new = _fused(members, replaced)
        elif any(id(v) in replaced for v in node.inputs):
            new = Apply(
                node.op, [replaced.get(id(v), v) for v in node.inputs], [v.clone() for v in node.outputs]
            )
        else:
            continue
        for old, made in zip(node.outputs, new.outputs, strict=True):
            made.name = old.name
            replaced[id(old)] = made
    return [replaced.get(id(variable), variable) for variable in outputs]


def _fused(members: Sequence[Any], replaced: dict[int, Any]) -> Apply:
    loop = _Loop(members, replaced)
    op = FusedOp([node.op for node in members], tuple(loop.steps), loop.names)
    return Apply(op, loop.operands, [members[-1].outputs[0].clone()])
