"""What link() was given, as numbers: the nodes in an order in which they can run, each variable with its own.

Depth first from the outputs; a node is placed when all that its inputs need is placed, so the order depends
on the graph alone. Nothing but attributes is read: variable .type, .owner, .name and .data; node .op, .inputs
and .outputs. Variables are told apart by identity: they may be equal, compare as arrays do or have no hash.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

from cwrapjit._cwrapjit import ask_party, refuse_answer
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

# What became of a variable; the number of its node where a node computes it.
_INPUT, _CONSTANT = -1, -2
_MOST_OF_CYCLE = 10  # nodes of it that a message shows
_MISSING = object()


def _refuse(error: type[Exception], text: str) -> NoReturn:
    raise error(f"link(): {text}")


def _kind_of(value: Any) -> str:
    return "a class" if isinstance(value, type) else type(value).__name__


# ---- what link() was given -------------------------------------------------------------------------------


def _is_variable(value: Any) -> bool:
    """A class of variables is none."""
    return not isinstance(value, type) and hasattr(value, "type")


def _check_variables(values: Sequence[Any], argument: str, op: Any = _MISSING) -> None:
    for i, value in enumerate(values):
        if not _is_variable(value):
            whose = "" if op is _MISSING else f" of a node of {op_label(op)}"
            wanted = f"{argument}[{i}]{whose} must be a variable, with an attribute 'type'"
            _refuse(TypeError, f"{wanted}, not {_kind_of(value)}")


def _sequence(given: Any, argument: str, more: str) -> tuple[Any, ...]:
    is_sequence = hasattr(type(given), "__getitem__") and not isinstance(given, (str, bytes, dict, type))
    if not is_sequence or (not more and _is_variable(given)):
        _refuse(TypeError, f"{argument} must be a sequence of variables{more}, not {_kind_of(given)}")
    return tuple(given)


def _input(item: Any) -> tuple[Any, bool]:
    """The variable that an item of inputs means: itself, or what an In() holds, and whether it is mutable."""
    if _is_variable(item) or isinstance(item, type):
        return item, False
    mutable, variable = getattr(item, "mutable", _MISSING), getattr(item, "variable", _MISSING)
    if mutable is _MISSING or variable is _MISSING:
        return item, False  # refused as what it is
    if getattr(item, "update", None) is not None:  # an In() of PyTensor's may say more than this one does
        _refuse(TypeError, f"an update of {item!r} must be given as updates= of link()")
    return variable, bool(mutable)


class _Node:
    """A node, its inputs and outputs as they were when it was met."""

    def __init__(self, node: Any) -> None:
        self.node = node
        self.op = self._part("op")
        self.inputs, self.outputs = self._list("inputs"), self._list("outputs")
        _check_variables(self.inputs, "inputs", self.op)
        _check_variables(self.outputs, "outputs", self.op)
        self.waiting = self.done = False  # for its inputs' nodes: meeting it again is a cycle
        self.next = 0  # input to look at
        self.above = -1  # who waits for this one
        self.shares = False  # outputs may be inputs, in part or whole

    def _part(self, name: str) -> Any:
        part = getattr(self.node, name, _MISSING)
        if part is _MISSING:
            kind = type(self.node).__name__
            _refuse(TypeError, f"a node of the graph (a '{kind}' object) has no attribute '{name}'")
        return part

    def _list(self, name: str) -> tuple[Any, ...]:
        part = self._part(name)
        if not isinstance(part, (list, tuple)):
            of = f"{name} of a node (a '{type(self.node).__name__}' object)"
            _refuse(TypeError, f"{of} must be a list or a tuple, not {type(part).__name__}")
        return tuple(part)

    def __str__(self) -> str:
        return node_label(self.op, self.inputs)


class _Walk:
    """From variables to the nodes that compute them."""

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
        self.known: dict[int, int] = {}  # by id(): all of these are held by what is here
        self.nodes: list[_Node] = []
        self.order: list[_Node] = []
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
            while top >= 0:  # nodes know who asked for them: a chain of any length needs no stack
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
        """Meet a variable that node `by` needs, or nobody (-1). Return the node to go on with: the one that
        computes it unless that is placed."""
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

    def _meet(self, variable: Any, by: _Node | None) -> None:
        owner = getattr(variable, "owner", _MISSING)
        label = variable_label
        if owner is _MISSING:
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
        """The node's outputs are its own from here on. One that is also an input stays that: the C variable
        behind the node's result is then another one."""
        node, index = _Node(owner), len(self.nodes)
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
        """Say "Add(z, y) needs Mul(x, y) needs Add(z, y)"; of a long cycle, its beginning. top: the node that
        needs `node`, which is waiting itself."""
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
        """Where some op says that it has its inputs' memory: so that what is overwritten has been read."""
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
        """Elementwise nodes in one, where at least two ops say that they fuse."""
        if sum(_flag(node.op, "fuses") for node in self.order) < 2:
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


def _flag(owner: Any, name: str) -> bool:
    value = getattr(owner, name, False)
    return bool(value() if callable(value) and not isinstance(value, type) else value)


# ---- numbers ---------------------------------------------------------------------------------------------


class Numbered(NamedTuple):
    """A variable: what csrc/graph/link/numbering.c reads of it."""

    variable: Any  # None: parameters of nodes
    type: Any
    label: str  # for messages: "x", "V4"
    name: str  # in C, or a literal's text
    is_constant: bool
    value: Any
    is_literal: bool  # it stands in the text: it has neither block nor variable in C
    is_overwritten: bool


class NumberedNode(NamedTuple):
    """A node: the same."""

    node: Any
    op: Any
    label: str  # "Add(x, y)"
    outputs_label: str  # "z", "q, r"
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    params: int  # the variable that holds the parameters, or -1
    shares: bool


class _Constant:
    """A constant before it has its number, and what its type writes for it, in brackets."""

    def __init__(self, variable: Any, type: Any, value: Any, label: str) -> None:
        self.variable, self.type, self.value, self.label = variable, type, value, label
        self.literal: str | None = None
        (answer,) = ask_party(type, label, False, "c_literal", (value,)) or (None,)
        if answer is not None and not isinstance(answer, str):
            must = f"must return a str, not {_kind_of(answer)}"
            refuse_answer(type, label, False, "c_literal", TypeError, must)
        if answer:
            self.literal = "".join(("(", answer, ")"))


class _Constants:
    """Constants in the order in which nodes need them, then parameters of nodes, which equal ones share."""

    def __init__(self, walk: _Walk) -> None:
        self.all: list[_Constant] = []
        self.by_id: dict[int, _Constant] = {}
        self.by_value: dict[Any, _Constant] = {}
        needed = [*(v for node in walk.order for v in node.inputs), *walk.outputs]
        for variable in needed:
            if walk.known[id(variable)] == _CONSTANT and id(variable) not in self.by_id:
                made = self._add(variable, variable.type, variable.data, variable_label(variable))
                self.by_id[id(variable)] = made
        self.params = [self._parameters(node) for node in walk.order]

    def _add(self, *said: Any) -> _Constant:
        self.all.append(_Constant(*said))
        return self.all[-1]

    def _parameters(self, node: _Node) -> _Constant | None:
        """Those that have no hash are equal to none."""
        type = getattr(node.op, "params_type", None)
        said = None if type is None else ask_party(node.op, str(node), True, "get_params", (node.node,))
        if said is None:
            return None
        key = type, said[0]
        try:
            hash(key)
        except TypeError:
            has_hash = False
        else:
            has_hash = True
        found = self.by_value.get(key) if has_hash else None
        if found is None:
            found = self._add(None, *key, f"parameters of {op_label(node.op)}")
            if has_hash:
                self.by_value[key] = found
        return found


class _Numbering:
    """Inputs come first, in the order given, then constants, then what nodes compute, in their order; this is
    the order of blocks. Constants whose type writes them as C text stand behind all that."""

    def __init__(self, walk: _Walk) -> None:
        self.variables: list[Numbered] = []
        self.numbers: dict[int, int] = {}  # of variables and of constants, by id()
        constants = _Constants(walk)
        literals = [each for each in constants.all if each.literal is not None]
        for variable, overwritten in zip(walk.inputs, walk.overwritten_inputs, strict=True):
            self._add(variable, variable.type, is_overwritten=overwritten)
        self._add_constants(each for each in constants.all if each.literal is None)
        computed = [v for node in walk.order for v in node.outputs]
        places = range(len(self.variables), len(self.variables) + len(computed))
        for variable in computed:
            self._add(variable, variable.type)
        self.nnumbered = len(self.variables)
        self._add_constants(literals)
        self.numbers |= {key: self.numbers[id(each)] for key, each in constants.by_id.items()}
        next_places = iter(places)
        self.nodes = tuple(
            self._node(node, tuple(next(next_places) for _ in node.outputs), params)
            for node, params in zip(walk.order, constants.params, strict=True)
        )
        outputs = tuple(self.numbers[id(output)] for output in walk.outputs)
        self.outputs, values = outputs[: walk.nreturned], outputs[walk.nreturned :]
        self.updates = tuple((self.numbers[id(v)], n) for v, n in zip(walk.updated, values, strict=True))

    def _add(
        self, variable: Any, type: Any, constant: _Constant | None = None, is_overwritten: bool = False
    ) -> None:
        number = len(self.variables)
        self.numbers.setdefault(id(variable if constant is None else constant), number)
        known = None if variable is None else name_of(variable)
        usable = known is not None and known.isascii() and known.isidentifier()
        name = f"V{number + 1}_{known}" if usable else f"V{number + 1}"
        label = name if known is None else shortened(known)
        literal = None if constant is None else constant.literal
        if (
            constant is not None and literal is not None
        ):  # "2.5" rather than "(2.5)" or a number that is nowhere
            name, label = literal, literal[1:-1] if is_showable(literal[1:-1]) else constant.label
        elif constant is not None and variable is None:
            label = constant.label
        value = None if constant is None else constant.value
        self.variables.append(
            Numbered(
                variable, type, label, name, constant is not None, value,
                literal is not None, is_overwritten,
            )
        )  # fmt: skip

    def _add_constants(self, constants: Any) -> None:
        for each in constants:
            self._add(each.variable, each.type, each)

    def _node(self, node: _Node, outputs: tuple[int, ...], params: _Constant | None) -> NumberedNode:
        inputs = tuple(self.numbers[id(v)] for v in node.inputs)
        return NumberedNode(
            node.node,
            node.op,
            call_label(node.op, [self.variables[n].label for n in inputs]),
            ", ".join(self.variables[n].label for n in outputs),
            inputs,
            outputs,
            -1 if params is None else self.numbers[id(params)],
            node.shares,
        )


def read_graph(
    name: str, inputs: Any, outputs: Any, updates: dict[Any, Any] | None, may_fuse: bool
) -> tuple[Any, ...]:
    """Return variables, nodes in the order in which they run, outputs, pairs of an input and what updates it;
    how many inputs there are, how many variables without literals.

    TypeError for what is no graph, ValueError for one that cannot run.
    """
    if not is_showable(name):
        _refuse(ValueError, f"name must be printable text, not {name!r}")
    walk = _Walk(inputs, outputs, updates)
    if may_fuse:
        walk.fuse()
    made = _Numbering(walk)
    return tuple(made.variables), made.nodes, made.outputs, made.updates, len(walk.inputs), made.nnumbered
