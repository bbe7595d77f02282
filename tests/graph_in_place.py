"""Provides ops that overwrite inputs or return views, a reference for graphs of them, and random graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

import cwrapjit.graph as cg
from cwrapjit.graph import deep_copy, view

vector = cg.ndarray("float64", 1)


class Kept(cg.ndarray):
    """An array whose C value stays in the state: no c_extract_out replaces it by the last object."""

    c_extract_out = None  # type: ignore[assignment]


kept = Kept("float64", 1)
TAKE = "Py_XDECREF({o}); {o} = {i}; Py_INCREF({o});\n"


class Own(cg.COp):
    """An op in C (`text`) and in Python (`python`), which work as `maps` says; `pure` works on copies."""

    maps: tuple[dict[int, list[int]], dict[int, list[int]]] = ({}, {})
    noutputs = 1

    def __init__(self) -> None:
        self.destroy_map, self.view_map = self.maps

    def make_node(self, *inputs: Any) -> Any:
        return cg.Apply(self, inputs, [inputs[0].type() for _ in range(self.noutputs)])

    def pure(self, *inputs: Any) -> Any:
        raise NotImplementedError

    def perform(self, node: Any, inputs: Any, output_storage: Any, *params: Any) -> None:
        results = self.python(*inputs)
        for storage, result in zip(output_storage, results, strict=True):
            storage[0] = result

    def python(self, *inputs: Any) -> Any:
        raise NotImplementedError

    def text(self, i: Sequence[str], o: Sequence[str]) -> str:
        raise NotImplementedError

    def c_code(self, node: Any, name: str, inputs: Any, outputs: Any, sub: Any) -> str:
        return self.text(inputs, outputs)


def each(o: str, expression: str) -> str:
    return f"for (npy_intp k = 0; k < PyArray_SIZE({o}); k++) {{ {expression} }}\n"


def at(name: str) -> str:
    return f"*(double *)PyArray_GETPTR1({name}, k)"


class Neg(Own):
    """Computes -x, in x's memory."""

    maps = ({0: [0]}, {})

    def pure(self, x: Any) -> Any:
        return [-x]

    def python(self, x: Any) -> Any:
        np.negative(x, x)
        return [x]

    def text(self, i: Sequence[str], o: Sequence[str]) -> str:
        return TAKE.format(o=o[0], i=i[0]) + each(o[0], f"{at(o[0])} = -{at(o[0])};")


class Add(Own):
    """Computes x + 2 y, in x's memory. It reads y[k] only when it computes element k."""

    maps = ({0: [0]}, {})

    def pure(self, x: Any, y: Any) -> Any:
        return [x + 2 * y]

    def python(self, x: Any, y: Any) -> Any:
        for k in range(len(x)):
            x[k] += 2 * y[k]
        return [x]

    def text(self, i: Sequence[str], o: Sequence[str]) -> str:
        return TAKE.format(o=o[0], i=i[0]) + each(o[0], f"{at(o[0])} += 2 * {at(i[1])};")


class Turn(Own):
    """Computes x + y in y's memory, and x - y in x's."""

    maps = ({0: [1], 1: [0]}, {})
    noutputs = 2

    def pure(self, x: Any, y: Any) -> Any:
        return [x + y, x - y]

    def python(self, x: Any, y: Any) -> Any:
        x[...], y[...] = x - y, x + y
        return [y, x]

    def text(self, i: Sequence[str], o: Sequence[str]) -> str:
        take = TAKE.format(o=o[0], i=i[1]) + TAKE.format(o=o[1], i=i[0])
        swap = f"double a = {at(i[0])}, b = {at(i[1])}; {at(o[0])} = a + b; {at(o[1])} = a - b;"
        return take + each(o[0], swap)


class Back(Own):
    """Returns a view of x in reverse order."""

    maps = ({}, {0: [0]})

    def pure(self, x: Any) -> Any:
        return [x[::-1].copy()]

    def python(self, x: Any) -> Any:
        return [x[::-1]]

    def text(self, i: Sequence[str], o: Sequence[str]) -> str:
        return f"""
            npy_intp n = PyArray_SIZE({i[0]}), step = -PyArray_STRIDE({i[0]}, 0);
            Py_XDECREF({o[0]});
            {o[0]} = (PyArrayObject *)PyArray_New(&PyArray_Type, 1, &n, NPY_DOUBLE, &step,
                PyArray_BYTES({i[0]}) - (n - 1) * step, 0, NPY_ARRAY_BEHAVED, NULL);
            Py_INCREF({i[0]});
            PyArray_SetBaseObject({o[0]}, (PyObject *){i[0]});
        """


class Both(Own):
    """Negates x in place, and returns it together with a view of it in reverse order."""

    maps = ({0: [0]}, {1: [0]})
    noutputs = 2

    def pure(self, x: Any) -> Any:
        return [-x, -x[::-1]]

    def python(self, x: Any) -> Any:
        np.negative(x, x)
        return [x, x[::-1]]

    def text(self, i: Sequence[str], o: Sequence[str]) -> str:
        return Neg().text(i, o) + Back().text(o, o[1:])


class Mul(Own):
    """Computes x * y, in new memory."""

    def pure(self, x: Any, y: Any) -> Any:
        return [x * y]

    def python(self, x: Any, y: Any) -> Any:
        return self.pure(x, y)

    def text(self, i: Sequence[str], o: Sequence[str]) -> str:
        new = f"npy_intp n = PyArray_SIZE({i[0]}); Py_XDECREF({o[0]});\n"
        new += f"{o[0]} = (PyArrayObject *)PyArray_SimpleNew(1, &n, NPY_DOUBLE);\n"
        return new + each(o[0], f"{at(o[0])} = {at(i[0])} * {at(i[1])};")


neg, add, turn, back, both, mul = Neg(), Add(), Turn(), Back(), Both(), Mul()
PLUS = cg.elementwise("x, y", "x + 3 * y")  # neighbouring nodes of this op are fused to one loop
OPS = [(neg, 1), (add, 2), (turn, 2), (back, 1), (both, 1), (mul, 2), (PLUS, 2), (view, 1), (deep_copy, 1)]


def inputs(names: str) -> list[Any]:
    return [vector(name) for name in names]


# ---- the reference: every op runs on copies --------------------------------------------------------------


def nodes_of(outputs: Sequence[Any]) -> list[Any]:
    """Returns the nodes that the outputs depend on, each after those that it reads."""
    found: list[Any] = []

    def walk(variable: Any) -> None:
        if variable.owner is not None and variable.owner not in found:
            for each in variable.owner.inputs:
                walk(each)
            found.append(variable.owner)

    for output in outputs:
        walk(output)
    return found


def pure(outputs: Sequence[Any], values: dict[int, Any]) -> list[Any]:
    values = dict(values)
    for node in nodes_of(outputs):
        given = [
            values[id(v)].copy() if id(v) in values else np.array(v.data, copy=True) for v in node.inputs
        ]
        if isinstance(node.op, Own):
            results = node.op.pure(*given)
        elif node.op is PLUS:
            results = [given[0] + 3 * given[1]]
        else:
            results = [given[0].copy()]  # view, deep_copy
        values |= {id(v): result for v, result in zip(node.outputs, results, strict=True)}
    return [values[id(v)].copy() if id(v) in values else np.array(v.data) for v in outputs]


# ---- search for an order, by trying all ------------------------------------------------------------------


class Memory:
    """Knows each variable's memory, and how often that had been written to when it was computed."""

    def __init__(self, fixed: Sequence[Any]) -> None:
        self.place: dict[int, tuple[int, int]] = {}
        self.written: list[int] = []
        for variable in fixed:
            self.new(variable)

    def new(self, variable: Any) -> None:
        self.place[id(variable)] = (len(self.written), 0)
        self.written.append(0)

    def copy(self) -> Memory:
        other = Memory(())
        other.place, other.written = dict(self.place), list(self.written)
        return other

    def reads(self, variable: Any) -> bool:
        memory, version = self.place[id(variable)]
        return self.written[memory] == version

    def run(self, node: Any) -> bool:
        """Returns False if an input was overwritten, or shares the memory of one that the op overwrites."""
        memories = [self.place[id(v)][0] for v in node.inputs]
        if not all(map(self.reads, node.inputs)):
            return False
        destroys = getattr(node.op, "destroy_map", {}) or {}
        views = getattr(node.op, "view_map", {}) or {}
        for (place,) in destroys.values():
            if memories.count(memories[place]) > 1:
                return False
        for (place,) in destroys.values():
            self.written[memories[place]] += 1
        for index, output in enumerate(node.outputs):
            (place,) = destroys.get(index) or views.get(index) or [None]
            if place is None:
                self.new(output)
            else:
                self.place[id(output)] = (memories[place], self.written[memories[place]])
        return True


def can_be_ordered(given: Sequence[Any], outputs: Sequence[Any], protected: Sequence[Any]) -> bool:
    nodes = nodes_of(outputs)
    constants = {id(v): v for node in nodes for v in node.inputs if hasattr(v, "data")}
    constants |= {id(v): v for v in outputs if hasattr(v, "data")}
    kept = [*outputs, *protected, *constants.values()]

    def search(memory: Memory, left: tuple[Any, ...]) -> bool:
        if not left:
            return all(map(memory.reads, kept))
        for node in left:
            ready = all(id(v) in memory.place for v in node.inputs)
            after = memory.copy()
            if ready and after.run(node) and search(after, tuple(n for n in left if n is not node)):
                return True
        return False

    return search(Memory([*given, *constants.values()]), tuple(nodes))


# ---- random graphs ---------------------------------------------------------------------------------------

CONSTANT = np.arange(5.0)


@st.composite
def graphs(draw: Any, most: int = 7) -> Any:
    kind = draw(st.sampled_from([vector, kept]))
    given = [kind(name) for name in "abc"[: draw(st.integers(1, 3))]]
    known = [*given, cg.Constant(kind, CONSTANT.copy())]
    for _ in range(draw(st.integers(1, most))):
        op, count = draw(st.sampled_from(OPS))
        made = op(*(draw(st.sampled_from(known)) for _ in range(count)))
        known += made if isinstance(made, list) else [made]
    computed = known[len(given) + 1 :]
    outputs = [computed[-1], *draw(st.lists(st.sampled_from(known), max_size=2))]
    return given, outputs
