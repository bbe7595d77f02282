"""Walks the graph of link(), and numbers its variables, and its nodes in an order in which they can run.

The walk is depth first from the outputs. A node is placed after all that its inputs need, so the order
depends only on the graph. Only attributes are read: variable .type, .owner, .name and .data; node .op,
.inputs and .outputs. Variables are distinguished by identity: they may be equal, compare like arrays, or lack
a hash.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from cwrapjit._imports import load
from cwrapjit.graph.labels import (
    call_label,
    is_showable,
    name_of,
    node_label,
    op_label,
    shortened,
    variable_label,
)
from cwrapjit.graph.parties import MISSING, Party, Piece, flag

# Kinds of variables; those that nodes compute have the node's number instead.
_INPUT, _CONSTANT = -1, -2
_MOST_OF_CYCLE = 10  # nodes of a cycle in a message


def _refuse(error: type[Exception], text: str) -> NoReturn:
    raise error(f"link(): {text}")


def _kind_of(value: Any) -> str:
    return "a class" if isinstance(value, type) else type(value).__name__


# ---- the arguments of link() -----------------------------------------------------------------------------


def _is_variable(value: Any) -> bool:
    """True for objects with a type. A class of variables is not a variable."""
    return not isinstance(value, type) and hasattr(value, "type")


def _check_variables(values: Sequence[Any], argument: str, op: Any = MISSING) -> None:
    for i, value in enumerate(values):
        if not _is_variable(value):
            whose = "" if op is MISSING else f" of a node of {op_label(op)}"
            wanted = f"{argument}[{i}]{whose} must be a variable, with an attribute 'type'"
            _refuse(TypeError, f"{wanted}, not {_kind_of(value)}")


def _sequence(given: Any, argument: str, more: str) -> tuple[Any, ...]:
    is_sequence = hasattr(type(given), "__getitem__") and not isinstance(given, (str, bytes, dict, type))
    if not is_sequence or (not more and _is_variable(given)):
        _refuse(TypeError, f"{argument} must be a sequence of variables{more}, not {_kind_of(given)}")
    return tuple(given)


def _input(item: Any) -> tuple[Any, bool]:
    """Returns the variable of an item of inputs, itself or in an In(), and whether it is mutable."""
    if _is_variable(item) or isinstance(item, type):
        return item, False
    mutable, variable = getattr(item, "mutable", MISSING), getattr(item, "variable", MISSING)
    if mutable is MISSING or variable is MISSING:
        return item, False  # the caller refuses it
    if getattr(item, "update", None) is not None:  # PyTensor's In() may have an update
        _refuse(TypeError, f"an update of {item!r} must be given as updates= of link()")
    return variable, bool(mutable)


class Node:
    """A node, with its inputs and outputs at the time of the walk."""

    # Numbering:
    number: int
    name: str  # in C: "node_1"
    label: str  # for messages: "Add(x, y)"
    used: list[Value]
    made: list[Value]
    params: tuple[Value, ...]  # the parameters of its op, or ()
    party: Party
    # texts.py:
    code_block: int
    texts: tuple[Any, ...] | None  # the texts for C; None: it runs in Python

    def __init__(self, node: Any) -> None:
        self.node = node
        self.op = self._part("op")
        self.inputs, self.outputs = self._list("inputs"), self._list("outputs")
        _check_variables(self.inputs, "inputs", self.op)
        _check_variables(self.outputs, "outputs", self.op)
        self.waiting = self.done = False  # waiting: for the nodes of its inputs; meeting it again is a cycle
        self.next = 0  # the next input to visit
        self.above = -1  # the node that waits for this one
        self.shares = False  # outputs may share memory with inputs

    def _part(self, name: str) -> Any:
        part = getattr(self.node, name, MISSING)
        if part is MISSING:
            kind = type(self.node).__name__
            _refuse(TypeError, f"a node of the graph (a '{kind}' object) has no attribute '{name}'")
        return part

    def _list(self, name: str) -> tuple[Any, ...]:
        part = self._part(name)
        if not isinstance(part, (list, tuple)):
            of = f"{name} of a node (a '{type(self.node).__name__}' object)"
            _refuse(TypeError, f"{of} must be a list or a tuple, not {type(part).__name__}")
        return tuple(part)

    def all(self) -> tuple[Value, ...]:
        return *self.used, *self.made, *self.params

    def __str__(self) -> str:
        return node_label(self.op, self.inputs)


class Walk:
    """Finds the nodes that compute the outputs."""

    def __init__(self, inputs: Any, outputs: Any, updates: dict[Any, Any] | None) -> None:
        given = [_input(item) for item in _sequence(inputs, "inputs", "")]
        self.inputs, self.mutable = tuple(each for each, _ in given), [mutable for _, mutable in given]
        _check_variables(self.inputs, "inputs")
        self._begin()
        self.outputs = (
            (outputs,) if _is_variable(outputs) else _sequence(outputs, "outputs", " or a variable")
        )
        _check_variables(self.outputs, "outputs")
        self.nreturned = len(self.outputs)
        pairs = [*dict.items({} if updates is None else updates)]
        for updated, value in pairs:
            if not _is_variable(value):
                _refuse(TypeError, f"updates: a value must be a variable, not {type(value).__name__}")
            if self.known.get(id(updated)) != _INPUT:
                _refuse(ValueError, f"updates: {variable_label(updated)} is not among the inputs")
        self.updated = tuple(updated for updated, _ in pairs)
        self.outputs += tuple(value for _, value in pairs)
        if not self.outputs:
            _refuse(ValueError, "there are no outputs")
        self._walk()

    def _begin(self) -> None:
        self.known: dict[int, int] = {}  # by id(); the objects are kept alive by attributes here
        self.nodes: list[Node] = []
        self.order: list[Node] = []
        self.overwritten: list[Any] | None = None  # variables whose memory some node overwrites
        self.overwritten_inputs = [False] * len(self.inputs)
        for i, each in enumerate(self.inputs):
            if id(each) in self.known:
                again = f"inputs[{i}] is {variable_label(each)} again"
                _refuse(ValueError, f"{again}: a variable is an input once")
            self.known[id(each)] = _INPUT

    def _walk(self) -> None:
        for output in self.outputs:
            top = self._visit(output, -1)
            while top >= 0:  # nodes know who waits for them, so that long chains need no stack
                node = self.nodes[top]
                if node.next < len(node.inputs):
                    node.next += 1
                    top = self._visit(node.inputs[node.next - 1], top)
                else:
                    node.done = True
                    self.order.append(node)
                    top = node.above
        self._put_in_order()

    def _visit(self, variable: Any, by: int) -> int:
        """Visit a variable that node `by` needs (-1: an output). Return the node to go on with: the one that
        computes it, unless that is placed already."""
        if id(variable) not in self.known:
            self._meet(variable, None if by < 0 else self.nodes[by])
        found = self.known[id(variable)]
        if found < 0 or self.nodes[found].done:
            return by
        node = self.nodes[found]
        if node.waiting:
            self._refuse_cycle(by, found)
        node.waiting, node.above = True, by
        return found

    def _meet(self, variable: Any, by: Node | None) -> None:
        owner = getattr(variable, "owner", MISSING)
        label = variable_label
        if owner is MISSING:
            kind = type(variable).__name__
            _refuse(TypeError, f"{label(variable)} (a '{kind}' object) has no attribute 'owner'")
        if owner is None and hasattr(variable, "data"):
            self.known[id(variable)] = _CONSTANT
        elif owner is None and by is not None:
            _refuse(ValueError, f"{label(variable)} is needed by {by}, but is not among the inputs")
        elif owner is None:
            _refuse(ValueError, f"{label(variable)} is among the outputs, but neither computed nor an input")
        elif self._add(owner) != self.known.get(id(variable)):
            whose = f"the owner of {label(variable)} (a '{type(owner).__name__}' object)"
            _refuse(TypeError, f"{whose} does not have it among its outputs")

    def _add(self, owner: Any) -> int:
        """Register a node's outputs. One that is also an input of the graph stays an input: the node's result
        then is another C variable."""
        node, index = Node(owner), len(self.nodes)
        self.nodes.append(node)
        for output in node.outputs:
            before = self.known.get(id(output))
            if before == _INPUT:
                continue
            if before == index:
                _refuse(ValueError, f"{variable_label(output)} is twice among the outputs of {node}")
            if getattr(output, "owner", None) is not owner:
                among = f"{variable_label(output)} is among the outputs of {node}"
                _refuse(ValueError, f"{among}, but has another owner")
            self.known[id(output)] = index
        return index

    def _refuse_cycle(self, top: int, node: int) -> NoReturn:
        """Report "Add(z, y) needs Mul(x, y) needs Add(z, y)", or the beginning of a long cycle. top: the node
        that needs `node`, which is waiting."""
        way = [node]
        while top != node:
            way.append(top)
            top = self.nodes[top].above
        way = [node, *reversed(way)]
        labels = [str(self.nodes[at]) for at in way[: _MOST_OF_CYCLE + 1]]
        if len(way) > len(labels):
            labels[-1] = "..."
        _refuse(ValueError, f"the graph has a cycle: {' needs '.join(labels)}")

    def _put_in_order(self) -> None:
        """If ops share memory, order the nodes so that memory is read before it is overwritten."""
        if not any(
            getattr(node.op, name, None) for node in self.order for name in ("destroy_map", "view_map")
        ):
            return
        nodes = tuple((node.op, node.inputs, node.outputs) for node in self.order)
        shares, order, inputs, self.overwritten = load("cwrapjit.graph.order").order_nodes(
            nodes, self.inputs, self.mutable, self.outputs, self.nreturned, self.updated
        )
        for node, each in zip(self.order, shares, strict=True):
            node.shares = each
        if order is not None:
            self.order, self.overwritten_inputs = [self.order[n] for n in order], inputs

    def fuse(self) -> None:
        """Merge elementwise nodes, if at least two ops say that they fuse."""
        if sum(flag(node.op, "fuses") for node in self.order) < 2:
            return
        more = () if self.overwritten is None else (self.overwritten,)
        nodes = tuple(node.node for node in self.order)
        outputs = tuple(load("cwrapjit.graph.fusion").fuse(nodes, self.outputs, *more))
        if len(outputs) != len(self.outputs):
            _refuse(RuntimeError, "fusion returned another number of outputs")
        _check_variables(outputs, "outputs after fusion")
        self.outputs = outputs
        self._begin()
        self._walk()


# ---- numbers ---------------------------------------------------------------------------------------------


class Value:
    """A variable of the graph, or parameters of nodes, and all that link() finds out about it."""

    number = -1
    name = ""  # in C, or a literal's text
    owner = -1  # the number of the node that computes it
    value: Any = None  # of a constant
    update = -1  # of an input: the number of the variable whose value it takes after a run
    is_constant = is_input = is_overwritten = False
    is_literal = False  # written into the text, without block or variable in C
    wanted = False  # by the caller, or by an update
    # texts.py:
    has_client = client_checks = owner_checks = False  # check_input of the ops around it
    kind: Any  # properties of its type
    sub: dict[str, Any]  # for methods of the type
    declare: Piece | None  # None: it has no C
    # steps.py:
    step = -1  # the step of its owner
    stored = False  # has a storage: inputs, constants, outputs, and values that go from step to step
    extracted = begun = False  # by some step in C
    is_output = False  # of some step in C
    fetched = False  # c_extract_out sees the object of the previous run
    kept = False  # its C value is kept in the state
    nsteps = 0  # the number of steps in C that use it

    def __init__(self, variable: Any, type: Any, label: str, known: dict[Any, Any]) -> None:
        self.variable, self.type, self.label = variable, type, label
        self.party = Party(type, label, False, known, label)


class Numbering:
    """Numbers variables: inputs first, as given, then constants, then the nodes' outputs, in the nodes'
    order; blocks have the same order. Constants that are literals in C follow last."""

    def __init__(self, walk: Walk) -> None:
        self.known: dict[Any, Any] = {}  # see Party.known
        self.values: list[Value] = []
        self.nodes = walk.order
        self.constants: list[Value] = []  # in the order in which nodes need them
        self.by_id: dict[int, Value] = {}
        self.by_value: dict[Any, Value] = {}  # parameters of nodes; equal ones are shared
        for variable in [*(v for node in walk.order for v in node.inputs), *walk.outputs]:
            if walk.known[id(variable)] == _CONSTANT and id(variable) not in self.by_id:
                said = variable, variable.type, variable_label(variable), variable.data
                self.by_id[id(variable)] = self._constant(*said)
        for node in walk.order:
            node.params = self._parameters(node)
        for variable, overwritten in zip(walk.inputs, walk.overwritten_inputs, strict=True):
            value = self.by_id[id(variable)] = self._number(Value(variable, variable.type, "", self.known))
            value.is_input, value.is_overwritten = True, overwritten
        for value in self.constants:
            if not value.is_literal:
                self._number(value)
        for number, node in enumerate(walk.order):
            node.made = [self._number(Value(v, v.type, "", self.known)) for v in node.outputs]
            for value in node.made:
                value.owner = number
                if id(value.variable) not in self.by_id:
                    self.by_id[id(value.variable)] = value
        self.nnumbered = len(self.values)
        for value in self.constants:
            if value.is_literal:
                self._number(value)
        for number, node in enumerate(walk.order):
            self._label(node, number)
        outputs = [self.by_id[id(output)] for output in walk.outputs]
        for value in outputs:
            value.wanted = True
        self.outputs = tuple(value.number for value in outputs[: walk.nreturned])
        for variable, value in zip(walk.updated, outputs[walk.nreturned :], strict=True):
            self.by_id[id(variable)].update = value.number

    def _constant(self, variable: Any, type: Any, label: str, data: Any) -> Value:
        value = Value(variable, type, label, self.known)
        value.is_constant, value.value = True, data
        answer = value.party.ask("c_literal", (data,))
        if answer is not MISSING and not isinstance(answer, str | None):
            value.party.refuse("c_literal", TypeError, f"must return a str, not {_kind_of(answer)}")
        if answer is not MISSING and answer:
            value.is_literal, value.name = True, "".join(("(", answer, ")"))
        self.constants.append(value)
        return value

    def _parameters(self, node: Node) -> tuple[Value, ...]:
        """Return the parameters of the node's op. Those without a hash are not shared."""
        type = getattr(node.op, "params_type", None)
        if type is None:
            return ()
        said = Party(node.op, str(node), True, self.known, "").ask("get_params", (node.node,))
        if said is MISSING:
            return ()
        key = type, said
        try:
            hash(key)
        except TypeError:
            return (self._constant(None, type, f"parameters of {op_label(node.op)}", said),)
        if key not in self.by_value:
            self.by_value[key] = self._constant(None, type, f"parameters of {op_label(node.op)}", said)
        return (self.by_value[key],)

    def _number(self, value: Value) -> Value:
        value.number = len(self.values)
        self.values.append(value)
        if value.is_literal:  # "2.5" instead of "(2.5)", or instead of a useless number
            if is_showable(value.name[1:-1]):
                value.label = value.name[1:-1]
        else:
            known = None if value.variable is None else name_of(value.variable)
            usable = known is not None and known.isascii() and known.isidentifier()
            value.name = f"V{len(self.values)}_{known}" if usable else f"V{len(self.values)}"
            if value.variable is not None:
                value.label = value.name if known is None else shortened(known)
        value.party.about = value.party.piece = value.label
        return value

    def _label(self, node: Node, number: int) -> None:
        node.number, node.name = number, f"node_{number + 1}"
        node.used = [self.by_id[id(v)] for v in node.inputs]
        node.label = call_label(node.op, [value.label for value in node.used])
        outputs = ", ".join([value.label for value in node.made])
        node.party = Party(node.op, node.label, True, self.known, outputs)
