"""Displays graphs: a picture if Graphviz is installed, else a list of the nodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from cwrapjit.show import ctext, drawing
from cwrapjit.show.functions import attempt, tier_cell
from cwrapjit.show.page import BLUNDERS, Markup, box, code, facts, fold, said, table, text

MOST_DRAWN = 120  # nodes in a picture: larger ones take long to draw and are illegible
MOST_LISTED = 200
_MOST_WALKED = 20_000


class Node(NamedTuple):
    """A node of the graph."""

    op: Any
    inputs: list[Any]
    outputs: list[Any]


class Walk:
    """Walks from outputs up to the inputs. In `nodes`, each node comes after those that it depends on."""

    def __init__(self, inputs: Iterable[Any], outputs: Sequence[Any]) -> None:
        self.inputs, self.outputs = list(inputs), list(outputs)
        self.nodes: list[Node] = []
        self.makers: dict[int, int] = {}  # id of a variable -> index of its node
        self.cut = False
        self._ends = {id(each) for each in self.inputs}
        self._held: list[Any] = []  # keeps the nodes alive, so that ids stay unique
        done: set[int] = set()
        for each in self.outputs:
            self._visit(each, done)

    def can_be_drawn(self) -> bool:
        lines = sum(len(node.inputs) for node in self.nodes) + len(self.inputs) + len(self.outputs)
        return 0 < len(self.nodes) <= MOST_DRAWN and lines <= 4 * MOST_DRAWN and not self.cut

    def _owner(self, variable: Any) -> Any:
        return None if id(variable) in self._ends else getattr(variable, "owner", None)

    def _visit(self, output: Any, done: set[int]) -> None:
        """Without recursion, as graphs may be deep; later changes by users may have created cycles."""
        stack = [(self._owner(output), False)]
        while stack and not self.cut:
            owner, is_ready = stack.pop()
            if owner is None or (id(owner) in done and not is_ready):
                continue
            if is_ready:
                self._add(owner)
                continue
            done.add(id(owner))
            self._held.append(owner)
            self.cut = len(done) > _MOST_WALKED
            stack.append((owner, True))
            stack.extend((self._owner(each), False) for each in reversed(list(owner.inputs)))

    def _add(self, owner: Any) -> None:
        node = Node(owner.op, list(owner.inputs), list(owner.outputs))
        for each in node.outputs:
            self.makers[id(each)] = len(self.nodes)
        self.nodes.append(node)


# ---- words -------------------------------------------------------------------------------------------------


def _name(variable: Any) -> str:
    found = getattr(variable, "name", None)
    return found if isinstance(found, str) else ""


def _is_constant(variable: Any) -> bool:
    return getattr(variable, "owner", None) is None and hasattr(variable, "data")


def _variable_label(variable: Any) -> str:
    if _is_constant(variable):
        return _name(variable) or said(variable)
    shown = said(getattr(variable, "type", "?"))
    return f"{_name(variable)}: {shown}" if _name(variable) else shown


class Numbering:
    """Numbers the variables without name in a list."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}

    def __call__(self, variable: Any) -> str:
        if _name(variable) or _is_constant(variable):
            return _name(variable) or said(variable)
        return self._names.setdefault(id(variable), f"v{len(self._names) + 1}")


# ---- a picture or a list -----------------------------------------------------------------------------------


def _dot(walk: Walk) -> str:
    """Writes the graph in Graphviz's language."""
    made = drawing.Dot()
    drawn: dict[int, str] = {}

    def leaf(variable: Any, shape: str) -> str:
        if id(variable) not in drawn:
            drawn[id(variable)] = made.node(_variable_label(variable), shape)
        return drawn[id(variable)]

    for each in walk.inputs:
        leaf(each, "input")
    places = [made.node(said(node.op), "op") for node in walk.nodes]

    def start(variable: Any) -> str:
        maker = walk.makers.get(id(variable))
        shape = "constant" if _is_constant(variable) else "input"
        return leaf(variable, shape) if maker is None or id(variable) in drawn else places[maker]

    for node, place in zip(walk.nodes, places, strict=True):
        for each in node.inputs:
            named = _name(each) if id(each) in walk.makers else ""
            made.edge(start(each), place, named)
    for each in walk.outputs:
        made.edge(start(each), made.node(_variable_label(each), "output"), "")
    return made.text()


def _list(walk: Walk) -> Markup:
    number = Numbering()
    rows = []
    for node in walk.nodes[:MOST_LISTED]:
        given = ", ".join(map(number, node.inputs[:20])) + (", ..." if len(node.inputs) > 20 else "")
        results = ", ".join(map(number, node.outputs[:20]))
        types = ", ".join(said(getattr(each, "type", "?")) for each in node.outputs[:20])
        rows.append([code(results), code(f"{said(node.op)}({given})"), code(types)])
    count = len(walk.nodes)
    title = f"{'more than ' if walk.cut else ''}{count:,} node{'' if count == 1 else 's'}"
    return fold(title, table(("result", "computed by", "type"), rows, count), opened=count <= 20)


def shown_graph(inputs: Iterable[Any], outputs: Sequence[Any]) -> Markup:
    """Displays the graph between inputs and outputs."""
    try:
        walk = Walk(inputs, outputs)
        if walk.can_be_drawn() and drawing.is_there():
            picture = drawing.draw(_dot(walk))
            if picture is not None:
                return picture
        return _list(walk)
    except BLUNDERS as error:  # users' attributes of variables and nodes may raise
        return text(f"the graph cannot be followed: {type(error).__name__}: {said(error)}")


# ---- boxes
# ---------------------------------------------------------------------------------------------------


def _raised(error: BaseException | None) -> Markup | None:
    return None if error is None else text(f"{type(error).__name__}: {said(error)}")


def _variables(variables: Sequence[Any]) -> Markup:
    shown = [said(attempt(lambda each=each: _variable_label(each))) for each in variables[:20]]  # type: ignore[misc]
    more = f", and {len(variables) - 20:,} more" if len(variables) > 20 else ""
    return code(", ".join(shown) + more, 1000)


def of_graph(shown: Any) -> str:
    try:
        inputs, outputs = shown.inputs, shown.outputs
    except RuntimeError as error:  # raised if a finalizer revived the graph
        return box("graph", text(error))
    raised = shown.error
    return box(
        "graph",
        code(called_graph(shown)),
        facts(
            [
                ("inputs", _variables(inputs) if inputs else None),
                ("outputs", _variables(outputs) if outputs else None),
                ("tier", tier_cell(shown, "") if shown.source else None),
                ("compiler", code(shown.compiler) if shown.compiler != "tcc" else None),
                ("last run", _raised(raised)),
            ]
        ),
        shown_graph(inputs, outputs),
        fold("generated C, the lines of types and ops marked", ctext.generated_view(shown.source))
        if shown.source
        else Markup(""),
    )


def called_graph(shown: Any) -> str:
    signature = attempt(lambda: shown.__signature__)
    return f"{shown.name}{said(signature) if not isinstance(signature, Exception) else '(...)'}"


def of_bound(shown: Any) -> str:
    try:
        graph, cells = shown.graph, shown.cells
    except RuntimeError as error:
        return box("bound graph", text(error))
    raised = shown.error
    return box(
        "bound graph",
        code(called_graph(graph)),
        facts(
            [
                ("storages", text(f"{len(cells)}")),
                ("last run", _raised(raised)),
            ]
        ),
        shown_graph(graph.inputs, graph.outputs),
    )


def of_variable(shown: Any) -> str:
    """Displays a variable and its computation."""
    kind = "constant" if attempt(lambda: _is_constant(shown)) is True else "variable"
    owner = attempt(lambda: shown.owner)
    picture = shown_graph((), [shown]) if owner is not None else Markup("")
    return box(kind, code(said(attempt(lambda: _variable_label(shown)))), picture)
