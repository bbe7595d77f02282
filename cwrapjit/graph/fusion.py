"""Fusion: makes one loop of neighbouring elementwise nodes, without an array between them.

A node is merged into the one that uses its result if that is the only user, the result is no output, and both
results have the same number of dimensions. The intermediate value keeps its dtype, so results have the same
bits. A node that reads memory which another node overwrites is not merged."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from cwrapjit.graph.base import Apply
from cwrapjit.graph.loops import LoopOp, Step

MAX_STEPS = 64  # a much longer loop gains nothing


class FusedOp(LoopOp):
    """Several elementwise nodes in one loop, the last of which has its result. replaced: variables for which
    others stand now, by id."""

    fuses = False

    def __init__(self, nodes: Sequence[Any], replaced: dict[int, Any]) -> None:
        self.ops = tuple(node.op for node in nodes)
        self.operands: list[Any] = []
        self._names: list[str] = []
        steps: list[Step] = []
        sources: dict[int, int] = {}  # see Step.sources
        for node in nodes:
            (step,) = node.op.steps([variable.type for variable in node.inputs])
            used = [replaced.get(id(variable), variable) for variable in node.inputs]
            for variable, name in zip(used, node.op.argument_names(), strict=True):
                if id(variable) not in sources:
                    sources[id(variable)] = len(self.operands)
                    self.operands.append(variable)
                    self._names.append(name)
            steps.append(replace(step, sources=tuple(sources[id(used[k])] for k in step.sources)))
            sources[id(node.outputs[0])] = -len(steps)
        self._steps = tuple(steps)

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


def _groups(nodes: Sequence[Any], outputs: Sequence[Any], overwritten: Sequence[Any]) -> Iterable[list[Any]]:
    """Returns for each remaining node the nodes of its loop, in order: itself comes last."""
    changing = {id(variable) for variable in overwritten}
    makers = {
        id(node.outputs[0]): node
        for node in nodes
        if _may_fuse(node) and changing.isdisjoint(map(id, node.inputs))
    }
    for variable in outputs:
        makers.pop(id(variable), None)
    clients = collections.Counter(key for node in nodes for key in set(map(id, node.inputs)))
    groups: dict[int, list[Any]] = {}
    for node in nodes:
        members = [node]
        for key in dict.fromkeys(map(id, node.inputs if _may_fuse(node) else ())):
            maker = makers.get(key)
            if maker is None or clients[key] > 1 or len(groups[id(maker)]) + len(members) > MAX_STEPS:
                continue
            if maker.outputs[0].type.ndim == node.outputs[0].type.ndim:
                members = [*groups.pop(id(maker)), *members]
        groups[id(node)] = members
    return groups.values()


def fuse(nodes: Sequence[Any], outputs: Sequence[Any], overwritten: Sequence[Any] = ()) -> list[Any]:
    """Returns outputs of a graph that computes the same with fewer nodes. nodes: all nodes, in an order in
    which they can run. overwritten: variables whose memory some op overwrites. The given graph is not
    changed: nodes with new inputs are copied. Results that another library's nodes use are left alone."""
    if sum(map(_may_fuse, nodes)) < 2:
        return list(outputs)
    foreign = {id(v) for node in nodes if not isinstance(node, Apply) for v in node.inputs}
    replaced: dict[int, Any] = {}
    for members in _groups(nodes, outputs, overwritten):
        node = members[-1]
        if any(id(output) in foreign for output in node.outputs):
            continue
        op, inputs = node.op, [replaced.get(id(v), v) for v in node.inputs]
        if len(members) > 1:
            op = FusedOp(members, replaced)
            inputs = op.operands
        elif all(id(v) not in replaced for v in node.inputs):
            continue
        new = Apply(op, inputs, [v.clone() for v in node.outputs])
        for old, made in zip(node.outputs, new.outputs, strict=True):
            made.name = old.name
            replaced[id(old)] = made
    return [replaced.get(id(variable), variable) for variable in outputs]
