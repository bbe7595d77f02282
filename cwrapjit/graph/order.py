"""Who may overwrite what in a graph, and the order that follows.

An op says by view_map that an output may be (part of) an input, by destroy_map that it overwrites an input,
whose memory becomes the output's. Variables that view each other, over any number of ops, share what is at
their roots. What one node overwrites, all others must have read before: the node waits for the readers of
all that shares the memory. Where none of this can be, the graph is refused; nothing is copied that nobody
asked to copy.

link() calls order_nodes() where some op says either. A node is (op, inputs, outputs), and goes by its place
in the list; variables are told apart by identity.
"""

from __future__ import annotations

import operator
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, NoReturn

Node = tuple[Any, tuple[Any, ...], tuple[Any, ...]]


class Labels(NamedTuple):
    """What messages call things; link() has one way to say it."""

    of_node: Callable[[Any, tuple[Any, ...]], str]
    name: Callable[[Any], str | None]  # of a variable that has one that can be shown

    def of_variable(self, variable: Any) -> str:
        """Return "x"; without a name, "what Mul(x, y) gives"."""
        name = self.name(variable)
        owner = getattr(variable, "owner", None)
        if name is None and owner is not None:
            return f"what {self.of_node(owner.op, tuple(owner.inputs))} gives"
        return "a variable without name" if name is None else name


class Sharing(NamedTuple):
    """An output of a node may have the memory of an input, which it may overwrite."""

    output: int
    input: int
    destroys: bool


class Reader(NamedTuple):
    """A node that must run before another one, and why."""

    node: int
    destroyed: Any  # what the other one overwrites
    shared: Any  # what this one reads of it


class Given(NamedTuple):
    """What link() was given."""

    inputs: tuple[Any, ...]
    mutable: tuple[bool, ...]  # inputs whose value the caller lends
    outputs: tuple[Any, ...]  # what the caller wants, behind it what updates inputs
    nreturned: int
    updated: tuple[Any, ...]  # the inputs that the latter update


# ---- what ops say ---------------------------------------------------------------------------------


def _index(item: Any, count: int) -> int | None:
    try:
        index = operator.index(item)
    except TypeError:
        return None
    return index if 0 <= index < count else None


def _read_map(labels: Labels, node: Node, name: str) -> Iterator[Sharing]:
    op, inputs, outputs = node
    said = getattr(op, name, None)
    if not said:
        return
    sound = isinstance(said, dict)
    for key, value in [*said.items()] if sound else ():  # an __index__ may change it
        output = _index(key, len(outputs))
        for item in [*value] if isinstance(value, list | tuple) else [None]:
            input = _index(item, len(inputs))
            if output is None or input is None:
                sound = False
                break
            yield Sharing(output, input, name == "destroy_map")
    if not sound:
        counts = f"{len(outputs)} outputs and {len(inputs)} inputs are there"
        raise ValueError(
            f"link(): {name} of {labels.of_node(op, inputs)} must say which outputs have the memory of which "
            f"inputs, like {{0: [0]}}: {counts}, not {said!r}"
        )


# ---- who shares memory ----------------------------------------------------------------------------


class _Memory:
    """Which variables have the memory of which others; all lists have the newest at the end."""

    def __init__(self, nodes: Sequence[Node], sharing: Sequence[Sequence[Sharing]], given: Given) -> None:
        inputs = {id(v) for v in given.inputs}
        # A node's output that the caller gives as an input is another variable.
        self.owner = {id(v): n for n, node in enumerate(nodes) for v in node[2] if id(v) not in inputs}
        self.sources: dict[int, list[Any]] = defaultdict(list)  # of a view: what it shows
        self.views: dict[int, list[Any]] = defaultdict(list)  # the same the other way
        self.origins: dict[int, list[Any]] = defaultdict(list)  # of what overwrites: whose memory it has
        self.readers: dict[int, list[tuple[int, int]]] = defaultdict(list)  # nodes, and by which input
        for n, (_, node_inputs, _) in enumerate(nodes):
            for place, variable in enumerate(node_inputs):
                self.readers[id(variable)].append((n, place))
            for each in sharing[n]:
                self._add(nodes[n], sharing[n], each)

    def _add(self, node: Node, sharing: Sequence[Sharing], this: Sharing) -> None:
        _, inputs, outputs = node
        output, source = outputs[this.output], inputs[this.input]
        # The output that has the memory of this input, where the node overwrites it.
        heir = next((s.output for s in sharing if s.destroys and inputs[s.input] is source), None)
        if heir is not None and heir != this.output:
            source = outputs[heir]
        if id(output) not in self.owner or output is source:
            return
        if heir == this.output:
            self.origins[id(output)].append(source)
        else:
            self.sources[id(output)].append(source)
            self.views[id(source)].append(output)


def _reach(start: Sequence[Any], *ways: dict[int, list[Any]]) -> list[Any]:
    """Return the variables at the start, and all that these ways lead to."""
    found, pending = list(start), list(start)
    seen = {id(v) for v in start}
    while pending:
        variable = pending.pop()
        for way in ways:
            for other in reversed(way.get(id(variable), ())):
                if id(other) not in seen:
                    seen.add(id(other))
                    found.append(other)
                    pending.append(other)
    return found


def _position(variables: Sequence[Any], variable: Any) -> int | None:
    return next((i for i, each in enumerate(variables) if each is variable), None)


class _Ordering:
    def __init__(
        self, labels: Labels, nodes: Sequence[Node], sharing: Sequence[Sequence[Sharing]], given: Given
    ) -> None:
        self.labels, self.nodes, self.sharing, self.given = labels, nodes, sharing, given
        self.memory = _Memory(nodes, sharing, given)
        self.before: dict[int, list[Reader]] = defaultdict(list)  # of a node: those that must have run
        self.destroyers: dict[int, int] = {}  # of a root: the node that overwrites it
        self.input_at = {id(v): i for i, v in enumerate(given.inputs)}
        self.overwritten_inputs = [False] * len(given.inputs)
        self.overwritten: list[Any] = []

    def label(self, n: int) -> str:
        op, inputs, _ = self.nodes[n]
        return self.labels.of_node(op, inputs)

    def refuse(self, n: int, destroyed: Any, shared: Any, why: str) -> NoReturn:
        """Raise "Neg(v) overwrites v, and so x, which WHY give it a deep_copy()"."""
        so = "" if destroyed is shared else f", and so {self.labels.of_variable(shared)}"
        raise ValueError(
            f"link(): {self.label(n)} overwrites {self.labels.of_variable(destroyed)}{so}, which {why} "
            "give it a cwrapjit.graph.deep_copy()"
        )

    # ---- one variable that is overwritten

    def destroy(self, n: int, place: int) -> None:
        """Node n overwrites its input `place`."""
        destroyed = self.nodes[n][1][place]
        roots = _reach([destroyed], self.memory.sources)
        for variable in roots:
            self.claim_root(n, destroyed, variable)
        for variable in _reach(roots, self.memory.views):  # all that shows them
            self.check_owner(n, destroyed, variable)
            self.check_readers(n, place, destroyed, variable)
            self.overwritten.append(variable)

    def claim_root(self, n: int, destroyed: Any, variable: Any) -> None:
        if id(variable) in self.memory.sources:
            return  # no root
        before = self.destroyers.setdefault(id(variable), n)
        if before != n:
            self.refuse(n, destroyed, variable, f"{self.label(before)} overwrites too;")

    def check_owner(self, n: int, destroyed: Any, shared: Any) -> None:
        """What the caller has, or gets, does not change under him."""
        given, at = self.given, self.input_at.get(id(shared))
        if at is None and id(shared) not in self.memory.owner:
            self.refuse(n, destroyed, shared, "is a constant;")
        if at is not None and not given.mutable[at]:
            way = f"cwrapjit.graph.In({self.labels.of_variable(shared)}, mutable=True)"
            why = f"is an input: declare it as {way} if the caller's object may change, or"
            self.refuse(n, destroyed, shared, why)
        if at is not None:
            self.overwritten_inputs[at] = True
        output = _position(given.outputs, shared)
        if output is not None and output >= given.nreturned:
            updated = self.labels.of_variable(given.updated[output - given.nreturned])
            self.refuse(n, destroyed, shared, f"is what updates {updated};")
        if output is not None:
            self.refuse(n, destroyed, shared, "is an output;")

    def check_readers(self, n: int, place: int, destroyed: Any, shared: Any) -> None:
        for reader, other in reversed(self.memory.readers.get(id(shared), ())):
            if reader != n:
                self.before[n].append(Reader(reader, destroyed, shared))
            elif other != place and not self.tolerates(n, place, other, destroyed is shared):
                self.refuse(n, destroyed, shared, f"is its input {other} too;")

    def tolerates(self, n: int, place: int, other: int, same: bool) -> bool:
        """A node may not have what it overwrites as another input, unless it says that it can."""
        names = ["destroyhandler_tolerate_aliased", *(["destroyhandler_tolerate_same"] if same else [])]
        said = [getattr(self.nodes[n][0], name, None) for name in names]
        return any(pairs is not None and (place, other) in pairs for pairs in said)

    # ---- the order

    def needed(self, n: int) -> Iterator[tuple[int, Reader | None]]:
        """Yield the nodes that have to run before n, and whether that is for what they read."""
        for variable in self.nodes[n][1]:
            if id(variable) in self.memory.owner:
                yield self.memory.owner[id(variable)], None
        for reader in reversed(self.before.get(n, ())):
            yield reader.node, reader

    def order(self) -> list[int]:
        order: list[int] = []
        waiting: dict[int, bool] = {}  # False: done
        for first in range(len(self.nodes)):
            stack: list[tuple[int, Any, Reader | None]] = []
            if first not in waiting:
                stack.append((first, self.needed(first), None))
                waiting[first] = True
            while stack:
                n, rest, _ = stack[-1]
                other, by = next(rest, (None, None))
                if other is None:
                    waiting[n] = False
                    order.append(n)
                    stack.pop()
                elif other not in waiting:
                    waiting[other] = True
                    stack.append((other, self.needed(other), by))
                elif waiting[other]:
                    self.refuse_order(stack, by)
        return order

    def refuse_order(self, stack: list[tuple[int, Any, Reader | None]], by: Reader | None) -> NoReturn:
        """Somewhere on the way back to a node that is waiting itself, a reader had to be first."""
        n, _, before = stack.pop()
        while by is None:
            by = before
            n, _, before = stack.pop()
        why = f"{self.label(by.node)} reads, and that can only run afterwards;"
        self.refuse(n, by.destroyed, by.shared, why)

    # ---- what the next run overwrites

    def check_updates(self) -> None:
        """The values that updates leave for the next run to overwrite are nobody else's."""
        memory = self.memory
        wanted: dict[int, int] = {}  # of a root: the output that has it
        for at, output in enumerate(self.given.outputs):
            for root in _reach([output], memory.sources, memory.origins):
                if id(root) not in memory.sources and id(root) not in memory.origins:
                    self.check_root(root, at, wanted.get(id(root)))
                    wanted[id(root)] = at

    def becomes_overwritten(self, at: int) -> bool:
        """True where the output is an update of an input that runs overwrite."""
        if at < self.given.nreturned:
            return False
        return self.overwritten_inputs[self.input_at[id(self.given.updated[at - self.given.nreturned])]]

    def check_root(self, root: Any, at: int, other: int | None) -> None:
        given, label = self.given, self.labels.of_variable
        overwritten = self.becomes_overwritten(at)
        if other is not None and (overwritten or self.becomes_overwritten(other)):
            at, other = (at, other) if overwritten else (other, at)
            if other < given.nreturned:
                self.refuse_update(at, f"the output {label(given.outputs[other])}")
            self.refuse_update(at, f"what updates {label(given.updated[other - given.nreturned])}")
        input = self.input_at.get(id(root))
        if overwritten and input is None and id(root) not in self.memory.owner:
            self.refuse_update(at, f"the constant {label(root)}")
        if overwritten and input is not None and not given.mutable[input]:
            self.refuse_update(at, f"the input {label(root)}")

    def refuse_update(self, at: int, why: str) -> NoReturn:
        given, label = self.given, self.labels.of_variable
        updated, value = label(given.updated[at - given.nreturned]), label(given.outputs[at])
        raise ValueError(
            f"link(): updates: {updated} becomes {value}, which shares memory with {why}, and the next run "
            "overwrites it; one of them must be a cwrapjit.graph.deep_copy()"
        )


def order_nodes(
    of_node: Callable[[Any, tuple[Any, ...]], str],
    name: Callable[[Any], str | None],
    nodes: Sequence[Node],
    *given: Any,
) -> tuple[list[bool], list[int] | None, list[bool] | None, list[Any] | None]:
    """Return which nodes share memory; where some overwrite it, also an order, and what is overwritten.

    That is told of each input, and as a list of variables. ValueError where there is no order.
    """
    labels = Labels(of_node, name)
    maps = ("destroy_map", "view_map")
    sharing = [[each for map in maps for each in _read_map(labels, node, map)] for node in nodes]
    shares = [bool(each) for each in sharing]
    overwriting = [(n, each.input) for n in range(len(nodes)) for each in sharing[n] if each.destroys]
    if not overwriting:
        return shares, None, None, None
    ordering = _Ordering(labels, nodes, sharing, Given(*given))
    for n, input in overwriting:
        ordering.destroy(n, input)
    order = ordering.order()
    ordering.check_updates()
    return shares, order, ordering.overwritten_inputs, ordering.overwritten
