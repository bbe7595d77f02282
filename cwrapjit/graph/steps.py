"""Groups nodes into steps, each of which runs as one C function, and finds the roles of variables in these.

Neighbouring nodes form one step, unless each has to be a step; a node in Python separates two steps. Values
that go from step to step, to Python or to the caller go through a storage."""

from __future__ import annotations

from collections.abc import Sequence

from cwrapjit.graph.walk import Node, Value

_INPUT, _CONSTANT, _TEMPORARY, _OUTPUT = range(4)  # tj_graph_role


class Step:
    """Some nodes in C, or one in Python."""

    def __init__(self, number: int, node: Node, alone: bool) -> None:
        self.number = number
        self.in_c = node.texts is not None
        self.node = node.number if alone or not self.in_c else -1
        self.nodes: list[Node] = []
        self.roles: dict[int, int] = {}  # number of a variable -> its role

    def use(self, value: Value) -> None:
        if value.is_literal or value.number in self.roles:
            return
        value.nsteps += 1
        if value.step == self.number:
            role = _OUTPUT if value.stored else _TEMPORARY
            value.is_output = value.stored
            value.fetched = value.stored and value.kind.fetches
            value.begun = True
        else:
            role = _CONSTANT if value.is_constant else _INPUT
            value.extracted = True
        self.roles[value.number] = role

    def said(self) -> tuple[int, bool, tuple[tuple[int, int], ...], int]:
        """Return for C: the only node or -1, if it is in C, variables and roles, number of nodes in C."""
        return self.node, self.in_c, tuple(sorted(self.roles.items())), len(self.nodes) * self.in_c


def _cut(nodes: Sequence[Node], alone: bool) -> list[Step]:
    steps: list[Step] = []
    is_open = False  # the newest step takes more nodes
    for node in nodes:
        in_c = node.texts is not None
        if not (is_open and in_c):
            steps.append(Step(len(steps), node, alone))
        is_open = in_c and not alone
        steps[-1].nodes.append(node)
        for value in node.made:
            value.step = len(steps) - 1
    return steps


def _find_stored(values: Sequence[Value], steps: Sequence[Step], check: bool) -> None:
    for step in steps:
        in_python = check or not step.in_c
        for value in (v for node in step.nodes for v in node.all()):
            value.stored |= in_python or (value.step != step.number and not value.is_literal)
    for value in values:
        value.stored |= value.is_input or value.wanted or (value.is_constant and not value.is_literal)


def _find_kept(values: Sequence[Value], nodes: Sequence[Node], struct_form: bool) -> None:
    """Finds the variables that stay from run to run. Memory that the caller may see through a view must not
    be reused: `escapes` leave C, or share memory with such. Users of a variable come after it."""
    escapes: set[int] = set()
    for node in reversed(nodes if struct_form else ()):
        if node.shares and any(v.stored or v.number in escapes for v in node.made):
            escapes.update(v.number for v in node.used)
    for value in values if struct_form else ():
        value.kept = (
            value.extracted
            if value.is_constant
            else value.begun
            and not value.kind.simple
            and not value.fetched
            and value.number not in escapes
            and value.nsteps == 1
        )


def make_steps(
    values: Sequence[Value],
    nnumbered: int,
    nodes: Sequence[Node],
    struct_form: bool,
    alone: bool,
    check: bool,
) -> list[Step]:
    """Return the steps in order, and set the roles of values. Those after nnumbered have no block."""
    steps = _cut(nodes, alone)
    _find_stored(values, steps, check)
    first = next((step for step in steps if step.in_c), None)
    for step in steps if first is not None else ():
        for node in step.nodes if step.in_c else ():
            for value in node.all():
                step.use(value)
        if step is first:  # a graph checks all its inputs, even those that no node uses
            for value in values:
                if value.is_input and value.declare is not None and (len(steps) == 1 or not value.has_client):
                    step.use(value)
    _find_kept(values[:nnumbered], nodes, struct_form)
    return steps
