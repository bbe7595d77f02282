"""Tests that graphs lose no reference and no memory, whichever block fails."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from graph_types import ADD, CHECKED, DBL, Array, FilledOp, Template, TemplateOp, add, double, twice
from leaks import COUNTER, keeps_nothing

import cwrapjit

FORMS = ["struct", "function"]
forms = pytest.mark.parametrize("mode", FORMS)


class Marker(Exception):
    """An exception whose instances are counted."""


def count_markers() -> int:
    gc.collect()
    return sum(issubclass(type(o), Marker) for o in gc.get_objects())  # isinstance() would ask weak proxies


def failing_graph(where: str, mode: str) -> tuple[Any, list[Any]]:
    """Links x + y with an op that fails in this block. Returns the graph, and values that make it fail."""
    raising = "PyErr_SetObject(PyExc_LookupError, Py_None); %(fail)s"
    op: dict[str, str] = {}
    kind = Template(extract=CHECKED)
    values: list[Any] = [1.0, -1.0]
    if where == "extract x":
        values = ["a", 1.0]
    elif where == "extract y":
        values = [1.0, "a"]
    elif where == "init":
        out = Template(init=raising)
        return link(kind, TemplateOp(type=out, code="%(z)s = 0;"), mode), values
    elif where == "validate":
        op = {"validate": f"if (%(y)s < 0) {{ {raising} }}", "code": "%(z)s = %(x)s;"}
    elif where == "code":
        op = {"code": f"%(z)s = %(x)s; if (%(y)s < 0) {{ {raising} }}"}
    elif where == "silently":
        op = {"code": "%(z)s = %(x)s; if (%(y)s < 0) %(fail)s"}
    elif where == "unnoticed":
        op = {"code": "%(z)s = %(x)s; if (%(y)s < 0) PyErr_SetNone(PyExc_KeyError);"}
    return link(kind, TemplateOp(**op), mode), values


def link(kind: Any, op: Any, mode: str) -> Any:
    x, y = kind("x"), kind("y")
    return cwrapjit.link([x, y], op(x, y), mode=mode)


BLOCKS: dict[str, type[Exception]] = {
    "extract x": TypeError,
    "extract y": TypeError,
    "init": LookupError,
    "validate": LookupError,
    "code": LookupError,
    "silently": RuntimeError,
    "unnoticed": KeyError,
}


@pytest.mark.leak
@pytest.mark.row("T12", "T28", "T29")
@forms
@pytest.mark.parametrize("where", BLOCKS)
def test_failing_blocks_lose_nothing(where: str, mode: str) -> None:
    k, values = failing_graph(where, mode)
    values = [Watched(v) if isinstance(v, float) else v for v in values]
    old = object()
    k.cells[2][0] = old
    k.cells[0][0], k.cells[1][0] = values

    def work() -> None:
        assert k.run() != 0
        assert k.once([values[0]], [values[1]], [old]) != 0
        with pytest.raises(BLOCKS[where]):
            k(*values)

    keeps_nothing(work, watched=(*values, old))
    assert k.cells[2][0] is old
    keeps_nothing(lambda: k.run(), 500)


class Watched(float):
    """A float to which nothing else refers."""


@pytest.mark.leak
@forms
@pytest.mark.parametrize(
    "work",
    [
        pytest.param(lambda k: k(np.ones(100)), id="call"),
        pytest.param(lambda k: k.run(), id="run"),
        pytest.param(lambda k: k.once([np.ones(100)], [None]), id="once"),
        pytest.param(lambda k: k.bind([np.ones(100)], [None]).run(), id="bind"),
    ],
)
def test_memory_of_arrays(work: Callable[[Any], Any], mode: str) -> None:
    for fetched in (True, False):
        x = Array(fetched)("x")
        k = cwrapjit.link([x], twice(twice(x)), mode=mode)
        k.cells[0][0] = np.ones(100)
        keeps_nothing(lambda k=k: work(k), 500)


@pytest.mark.leak
def test_graphs_are_freed() -> None:
    x, y = double("x"), double("y")
    z = add(x, y)

    def work() -> None:
        k = cwrapjit.link([x, y], z)
        k.bind([1.0], [2.0], [None]).run()
        assert k(1.0, 2.0) == 3.0

    keeps_nothing(work)


@pytest.mark.leak
def test_failing_definitions_lose_nothing() -> None:
    x, y = double("x"), double("y")
    z = FilledOp("{z} = nonsense;")(x, y)

    def work() -> None:
        with pytest.raises(cwrapjit.CompileError):
            cwrapjit.link([x, y], z)

    keeps_nothing(work)


def test_exceptions_are_let_go() -> None:
    class Raising:
        def __float__(self) -> float:
            raise Marker

    k = link(Template(extract=CHECKED), ADD, "struct")
    before = count_markers()
    for _ in range(10):
        with pytest.raises(Marker):
            k(Raising(), 1.0)
        k.cells[0][0] = Raising()
        assert k.run() == 1
    assert count_markers() == before + 1  # k.error holds one
    k(1.0, 2.0)
    assert k.error is None
    assert count_markers() == before


@pytest.mark.leak
@pytest.mark.row("T36")
def test_states_are_freed() -> None:
    keeping = Template(
        declare="double *%(name)s;",
        init=f"%(name)s = calloc(1000, sizeof(double)); ++*{COUNTER};",
        sync="Py_XDECREF(py_%(name)s); py_%(name)s = PyFloat_FromDouble(*%(name)s);",
        cleanup=f"free(%(name)s); --*{COUNTER};",
    )
    x, y = DBL("x"), DBL("y")
    k = cwrapjit.link([x, y], TemplateOp(type=keeping, code="*%(z)s = %(x)s + %(y)s;")(x, y))
    out: list[Any] = [None]

    def work() -> None:
        assert k.bind([1.0], [2.0], out).run() == 0

    keeps_nothing(work)
    assert out == [3.0]
