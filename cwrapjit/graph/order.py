"""Decides what nodes of a graph may overwrite, and the order that this requires.

An op says by view_map that an output may be (part of) an input, by destroy_map that it overwrites an input,
whose memory becomes the output's. Variables that view each other, over any number of ops, share the memory of
their roots. A node that overwrites memory waits for all other nodes that read variables sharing it. If no
order satisfies this, the graph is refused; nothing is copied without an explicit request.

Nothing here calls setdefault(), which CPython 3.13 leaves half done if memory runs out: an exception, and no
object.

link() calls order_nodes() if some op has either map. A node is (op, inputs, outputs), and is known by its
index in the list; variables are distinguished by identity."""

from __future__ import annotations

import collections
import operator
from collections.abc import Sequence
from typing import Any, NoReturn

from cwrapjit._imports import load
from cwrapjit.graph.labels import name_of, node_label, variable_label

Node = tuple[Any, tuple[Any, ...], tuple[Any, ...]]
Pairs = list[tuple[int, int]]  # an output of a node, and the input whose memory it has
Reader = tuple[int, Any, Any]  # a node that must run first, the overwritten variable, the one it reads
Ways = dict[int, list[Any]]  # id of a variable -> other variables

DEEP_COPY = "a cwrapjit.graph.deep_copy()"


def _label(variable: Any) -> str:
    """Return "x", or for a variable without name "what Mul(x, y) gives"."""
    owner = getattr(variable, "owner", None)
    if owner is not None and name_of(variable) is None:
        return f"what {node_label(owner.op, owner.inputs)} gives"
    return variable_label(variable)


def _index(item: Any, count: int) -> int:
    """Return -1 for an invalid index."""
    try:
        index = operator.index(item)
    except TypeError:
        return -1
    return index if 0 <= index < count else -1


def _read_map(node: Node, name: str) -> Pairs:
    op, inputs, outputs = node
    said = getattr(op, name, None)
    if not said:
        return []
    pairs = [
        (_index(key, len(outputs)), _index(item, len(inputs)))
        for key, value in ([*said.items()] if isinstance(said, dict) else [(-1, [-1])])
        for item in ([*value] if isinstance(value, list | tuple) else [-1])  # an __index__ may change it
    ]
    if any(-1 in pair for pair in pairs):
        counts = f"{len(outputs)} outputs and {len(inputs)} inputs are there"
        raise ValueError(
            f"link(): {name} of {node_label(op, inputs)} must say which outputs have the memory of which "
            f"inputs, like {{0: [0]}}: {counts}, not {said!r}"
        )
    return pairs


def _reach(start: Sequence[Any], *ways: Ways) -> list[Any]:
    """Return the variables at the start, and all that these ways lead to."""
    found: list[Any] = [*start]
    pending: list[Any] = [*start]
    seen = {id(v) for v in start}
    while pending:
        key = id(pending.pop())
        for way in ways:
            others: list[Any] = way.get(key, [])
            for other in reversed(others):
                if id(other) not in seen:
                    seen.add(id(other))
                    found.append(other)
                    pending.append(other)
    return found


class _Ordering:
    def __init__(
        self,
        nodes: Sequence[Node],
        inputs: Sequence[Any],
        mutable: Sequence[bool],  # inputs whose value runs may overwrite
        outputs: Sequence[Any],  # the caller's outputs, then the values for updates
        nreturned: int,
        updated: Sequence[Any],  # the inputs that these update
    ) -> None:
        self.nodes, self.inputs, self.mutable = nodes, inputs, mutable
        self.outputs, self.nreturned, self.updated = outputs, nreturned, updated
        self.input_at = {id(v): i for i, v in enumerate(inputs)}
        self.output_at = {id(v): i for i, v in reversed([*enumerate(outputs)])}  # the first one
        # A node's output that is also an input of the graph is treated as an input.
        self.owner = {id(v): n for n, node in enumerate(nodes) for v in node[2] if id(v) not in self.input_at}
        self.readers: dict[int, list[tuple[int, int]]] = collections.defaultdict(
            list
        )  # variable -> nodes that read it, and by which input
        for n, (_, read, _) in enumerate(nodes):
            for place, variable in enumerate(read):
                self.readers[id(variable)].append((n, place))
        self.sources: Ways = collections.defaultdict(list)  # view -> the variables that it shows
        self.views: Ways = collections.defaultdict(list)  # variable -> its views
        self.origins: Ways = collections.defaultdict(list)  # overwriting output -> whose memory it has
        self.before: dict[int, list[Reader]] = collections.defaultdict(
            list
        )  # node -> readers that must run before it
        self.destroyers: dict[int, int] = {}  # root -> the node that overwrites it
        self.overwritten_inputs = [False] * len(inputs)
        self.overwritten: list[Any] = []

    def share(self, n: int, destroyed: Pairs, viewed: Pairs) -> None:
        """Records that outputs of node n have the memory of inputs."""
        _, inputs, outputs = self.nodes[n]
        heirs: dict[int, int] = {}  # overwritten input -> the output that then has its memory
        for place, input in destroyed:
            heirs[id(inputs[input])] = heirs.get(id(inputs[input]), place)
        for place, input in (*destroyed, *viewed):
            output, source = outputs[place], inputs[input]
            heir = heirs.get(id(source))
            if heir is not None and heir != place:
                source = outputs[heir]
            if id(output) not in self.owner or output is source:
                continue
            if heir == place:
                self.origins[id(output)].append(source)
            else:
                self.sources[id(output)].append(source)
                self.views[id(source)].append(output)

    def refuse(self, n: int, destroyed: Any, shared: Any, why: str) -> NoReturn:
        """Raise "Neg(v) overwrites v, and so x, which WHY give it a deep_copy()"."""
        so = "" if destroyed is shared else f", and so {_label(shared)}"
        raise ValueError(
            f"link(): {self.label(n)} overwrites {_label(destroyed)}{so}, which {why} give it {DEEP_COPY}"
        )

    def label(self, n: int) -> str:
        return node_label(*self.nodes[n][:2])

    # ---- one variable that is overwritten

    def destroy(self, n: int, place: int) -> None:
        """Records that node n overwrites its input `place`."""
        destroyed = self.nodes[n][1][place]
        roots = _reach([destroyed], self.sources)
        for variable in roots:
            first = n if id(variable) in self.sources else self.destroyers.get(id(variable), n)
            if first != n:
                self.refuse(n, destroyed, variable, f"{self.label(first)} overwrites too;")
            self.destroyers[id(variable)] = n
        for variable in _reach(roots, self.views):  # all views of them
            self.check_owner(n, destroyed, variable)
            for reader, other in reversed(self.readers.get(id(variable), ())):
                if reader != n:
                    self.before[n].append((reader, destroyed, variable))
                elif other != place and not self.tolerates(n, place, other, destroyed is variable):
                    self.refuse(n, destroyed, variable, f"is its input {other} too;")
            self.overwritten.append(variable)

    def check_owner(self, n: int, destroyed: Any, shared: Any) -> None:
        """Refuses to overwrite constants, inputs that are not mutable, outputs and values of updates."""
        at, output = self.input_at.get(id(shared)), self.output_at.get(id(shared))
        if at is None and id(shared) not in self.owner:
            self.refuse(n, destroyed, shared, "is a constant;")
        if at is not None and not self.mutable[at]:
            way = f"cwrapjit.graph.In({_label(shared)}, mutable=True)"
            why = f"is an input: declare it as {way} if the caller's object may change, or"
            self.refuse(n, destroyed, shared, why)
        if at is not None:
            self.overwritten_inputs[at] = True
        if output is not None and output >= self.nreturned:
            updated = _label(self.updated[output - self.nreturned])
            self.refuse(n, destroyed, shared, f"is what updates {updated};")
        if output is not None:
            self.refuse(n, destroyed, shared, "is an output;")

    def tolerates(self, n: int, place: int, other: int, same: bool) -> bool:
        """True if the overwritten memory may be another input, too; only some ops allow it."""
        names = ["destroyhandler_tolerate_aliased", *(["destroyhandler_tolerate_same"] if same else [])]
        said = [getattr(self.nodes[n][0], name, None) for name in names]
        return any(pairs is not None and (place, other) in pairs for pairs in said)

    # ---- the order

    def order(self) -> list[int]:
        graphlib = load("graphlib")
        sorter = graphlib.TopologicalSorter({n: self.needed(n) for n in range(len(self.nodes))})
        try:
            return [*sorter.static_order()]
        except graphlib.CycleError as error:
            self.refuse_order(error.args[1][::-1])

    def computing(self, n: int) -> list[int]:
        """Return the nodes that compute the inputs of node n."""
        return [self.owner[id(v)] for v in self.nodes[n][1] if id(v) in self.owner]

    def needed(self, n: int) -> list[int]:
        """Return the nodes that have to run before node n."""
        return self.computing(n) + [reader for reader, _, _ in reversed(self.before.get(n, ()))]

    def refuse_order(self, way: list[int]) -> NoReturn:
        """Finds on the cycle, from its end backwards, the reader that had to run first, and reports it."""
        other = way.pop()
        while other in self.computing(way[-1]):
            other = way.pop()
        n = way[-1]
        _, destroyed, shared = next(r for r in reversed(self.before[n]) if r[0] == other)
        why = f"{self.label(other)} reads, and that can only run afterwards;"
        self.refuse(n, destroyed, shared, why)

    # ---- what the next run overwrites

    def check_updates(self) -> None:
        """Checks that updates whose values the next run overwrites share memory with nothing else."""
        wanted: dict[int, int] = {}  # root -> the output that has it
        for at, output in enumerate(self.outputs if self.updated else ()):
            for root in _reach([output], self.sources, self.origins):
                if id(root) not in self.sources and id(root) not in self.origins:
                    self.check_root(root, at, wanted.get(id(root)))
                    wanted[id(root)] = at

    def becomes_overwritten(self, at: int) -> bool:
        """Return True if the output updates an input that runs overwrite."""
        updated = at - self.nreturned
        return updated >= 0 and self.overwritten_inputs[self.input_at[id(self.updated[updated])]]

    def check_root(self, root: Any, at: int, other: int | None) -> None:
        overwritten = self.becomes_overwritten(at)
        if other is not None and (overwritten or self.becomes_overwritten(other)):
            at, other = (at, other) if overwritten else (other, at)
            if other < self.nreturned:
                self.refuse_update(at, f"the output {_label(self.outputs[other])}")
            self.refuse_update(at, f"what updates {_label(self.updated[other - self.nreturned])}")
        input = self.input_at.get(id(root))
        if overwritten and input is None and id(root) not in self.owner:
            self.refuse_update(at, f"the constant {_label(root)}")
        if overwritten and input is not None and not self.mutable[input]:
            self.refuse_update(at, f"the input {_label(root)}")

    def refuse_update(self, at: int, why: str) -> NoReturn:
        updated, value = _label(self.updated[at - self.nreturned]), _label(self.outputs[at])
        raise ValueError(
            f"link(): updates: {updated} becomes {value}, which shares memory with {why}, and the next run "
            f"overwrites it; one of them must be {DEEP_COPY}"
        )


def order_nodes(
    nodes: Sequence[Node], *given: Any
) -> tuple[list[bool], list[int] | None, list[bool] | None, list[Any] | None]:
    """Return which nodes share memory; if some overwrite it, also an order, and what is overwritten, as a
    flag for each input and as a list of variables. Raises ValueError if there is no order."""
    maps = [[_read_map(node, name) for name in ("destroy_map", "view_map")] for node in nodes]
    shares = [bool(destroyed or viewed) for destroyed, viewed in maps]
    if not any(destroyed for destroyed, _ in maps):
        return shares, None, None, None
    ordering = _Ordering(nodes, *given)
    for n, (destroyed, viewed) in enumerate(maps):
        if shares[n]:
            ordering.share(n, destroyed, viewed)
    for n, (destroyed, _) in enumerate(maps):
        for _, input in destroyed:
            ordering.destroy(n, input)
    order = ordering.order()
    ordering.check_updates()
    return shares, order, ordering.overwritten_inputs, ordering.overwritten
