"""Tests runs of a linked graph: what runs when, how it fails, and what a failure code means."""

from __future__ import annotations

import ctypes
import gc
import itertools
import signal
import sys
import traceback
import weakref
from typing import Any

import pytest
from graph_types import (
    ADD,
    CHECKED,
    DBL,
    DBLC,
    Apply,
    Cell,
    Constant,
    D,
    FilledOp,
    Template,
    TemplateOp,
    Trace,
    Type,
    Unfiltered,
    Variable,
    add,
    double,
    mul,
)
from helpers import refuses
from hypothesis import given, settings
from hypothesis import strategies as st

import cwrapjit

FORMS = ["struct", "function"]
forms = pytest.mark.parametrize("mode", FORMS)


def add_graph(type: Any = DBL, op: Any = ADD, **options: Any) -> Any:
    """Links x + y of nonnegative doubles, as in the documents."""
    x, y = type("x"), type("y")
    return cwrapjit.link([x, y], op(x, y), **options)


def run(k: Any, *values: Any) -> int:
    """Sets the cells to these values and returns k.run()."""
    for cell, value in zip(k.cells, values, strict=False):
        cell[0] = value
    return int(k.run())


# ---- a run --------------------------------------------------------------------------------------------


@pytest.mark.row("T08")
def test_init_runs_once_per_state() -> None:
    grow = TemplateOp(code="%(z)s += %(x)s + %(y)s;")
    for k in (
        add_graph(op=grow, mode="function"),
        add_graph(Template(simple=True), grow),
        add_graph(Template(simple=True), grow, mode="function"),
    ):
        assert [k(1.0, 2.0), k(1.0, 2.0)] == [3.0, 3.0]
    k = add_graph(op=grow)
    assert [k(1.0, 2.0), k(1.0, 2.0)] == [3.0, 6.0]


@pytest.mark.row("T10")
@forms
def test_only_outputs_are_synced(mode: str) -> None:
    synced = Cell()
    counting = Template(sync=DBL.texts["sync"] + f" {synced.c}++;")
    x, y = counting("x"), counting("y")
    k = cwrapjit.link([x, y], ADD(ADD(x, y), y), mode=mode)
    assert k(1.0, 2.0) == 5.0
    assert synced.value == 1


@pytest.mark.quick
@pytest.mark.row("T11")
@forms
def test_sync_of_a_template_type_may_not_fail(mode: str) -> None:
    failing = Template(sync="if (%(name)s > 1) %(fail)s")
    error = refuses(cwrapjit.CompileError, lambda: add_graph(failing, mode=mode), "c_sync must not fail")
    assert "sync" in str(error).lower()


@pytest.mark.row("T12")
@pytest.mark.parametrize("mode, per_run", [("function", 5), ("struct", 4)])
def test_cleanups_match_failures_in_init_and_code(mode: str, per_run: int) -> None:
    """Counts them for each block that can fail. In struct form z is cleaned up with the state instead."""
    cleaned, failing = Cell(), Cell()

    def fails(block: int) -> str:
        return f'if ({failing.c} == {block}) {{ PyErr_SetString(PyExc_KeyError, "now"); %(fail)s }}'

    count = f"{cleaned.c}++;"
    plain = "%(name)s = PyFloat_AsDouble(py_%(name)s);"
    kinds = [Template(extract=plain + fails(block), cleanup=count) for block in (1, 2)]
    result = Template(init="%(name)s = 0.0;" + fails(3), cleanup=count)
    op = TemplateOp(
        type=result,
        validate=fails(4),
        validate_cleanup=count,
        code=fails(5) + "%(z)s = %(x)s + %(y)s;",
        code_cleanup=count,
    )
    x, y = kinds[0]("x"), kinds[1]("y")
    begun = {1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 0: 5} if mode == "function" else {1: 1, 2: 2, 4: 3, 5: 4, 0: 4}
    for block, wanted in begun.items():
        k = cwrapjit.link([x, y], op(x, y), mode=mode)
        cleaned.value, failing.value = 0, block
        assert run(k, 1.0, 2.0) == block
        assert cleaned.value == wanted, k.blocks[block - 1]
        failing.value = 0
        assert run(k, 1.0, 2.0) == 0
        assert cleaned.value == wanted + per_run
        del k
        assert cleaned.value == wanted + per_run + (mode == "struct")
    failing.value, cleaned.value = 3, 0
    k = cwrapjit.link([x, y], op(x, y), mode=mode)
    assert run(k, 1.0, 2.0) == 3
    assert cleaned.value == (3 if mode == "function" else 1)


@pytest.mark.row("T13")
@forms
def test_an_output_begins_without_an_object(mode: str) -> None:
    none = Cell()
    looking = TemplateOp(code=f"{none.c} = py_%(z)s == Py_None; %(z)s = %(x)s;")
    k = add_graph(op=looking, mode=mode)
    k.cells[2][0] = "junk"
    assert run(k, 1.0, 2.0) == 0
    assert none.value == 1
    assert k.cells[2] == [1.0]


@pytest.mark.row("T14", "A28", "T36")
def test_memory_that_sync_gives_away_or_the_state_keeps() -> None:
    """A double on the heap: c_cleanup frees it when the run or the state ends, unless c_sync has."""
    freed = Cell()
    sync = "Py_XDECREF(py_%(name)s); py_%(name)s = PyFloat_FromDouble(*%(name)s);"
    texts = {
        "declare": "double *%(name)s;",
        "init": "%(name)s = NULL;",
        "cleanup": f"if (%(name)s) {{ {freed.c}++; free(%(name)s); }}",
    }
    giving, keeping = (
        Template(sync=sync + "free(%(name)s); %(name)s = NULL;", **texts),
        Template(sync=sync, **texts),
    )
    x, y = DBL("x"), DBL("y")
    code = "if (!%(z)s) %(z)s = malloc(sizeof(double)); *%(z)s = %(x)s + %(y)s; if (%(x)s < 0) %(fail)s"
    k = cwrapjit.link([x, y], TemplateOp(type=giving, code=code)(x, y), mode="function")
    assert k(1.0, 2.0) == 3.0
    assert freed.value == 0
    assert run(k, -1.0, 2.0) == 4
    assert freed.value == 1
    k = cwrapjit.link([x, y], TemplateOp(type=keeping, code=code)(x, y))
    state = k.bind([1.0], [2.0], out := [None])
    assert [state.run(), state.run()] == [0, 0]
    assert out == [3.0]
    assert freed.value == 1
    del state
    assert freed.value == 2


# ---- failures ------------------------------------------------------------------------------------------


def traced(trace: Trace) -> tuple[Any, Any]:
    """Returns a type and an op whose cleanups record their names."""
    types = [
        Template(extract=CHECKED, cleanup=trace.mark(name), declare="double %(name)s;") for name in "xyz"
    ]
    op = TemplateOp(
        type=types[2],
        validate="if (%(x)s < 0) %(fail)s",
        validate_cleanup=trace.mark("validate"),
        code="if (%(y)s < 0) %(fail)s %(z)s = %(x)s + %(y)s;",
        code_cleanup=trace.mark("code"),
    )
    return types, op


@pytest.mark.row("T19", "T22", "T27", "T28")
@forms
def test_only_what_ran_is_cleaned_up_in_reverse_order(mode: str) -> None:
    trace = Trace()
    types, op = traced(trace)
    x, y = types[0]("x"), types[1]("y")
    k = cwrapjit.link([x, y], op(x, y), mode=mode)
    assert k.blocks[:4] == (
        "c_extract of x",
        "c_extract of y",
        "c_init of V3",
        "c_validate_update of Add(x, y)",
    )
    kept = ["z"] if mode == "function" else []
    for values, code, wanted in [
        ((1.0, -1.0), 5, ["code", "validate", *kept, "y", "x"]),
        ((-1.0, 1.0), 4, ["validate", *kept, "y", "x"]),
        ((1.0, "a"), 2, ["y", "x"]),
        (("a", 1.0), 1, ["x"]),
        ((1.0, 1.0), 0, ["code", "validate", *kept, "y", "x"]),
    ]:
        trace.words()
        assert run(k, *values) == code
        assert trace.words() == wanted
    trace.words()
    del k
    gc.collect()
    assert trace.words() == (["z"] if mode == "struct" else [])


@pytest.mark.row("T29", "T30")
@forms
def test_a_failure_leaves_the_old_result(mode: str) -> None:
    k = add_graph(mode=mode)
    old = object()
    k.cells[2][0] = old
    assert run(k, -1.0, 2.0) == 4
    assert k.cells[2][0] is old
    assert run(k, 1.0, 2.0) == 0  # outputs are not extracted
    assert k.cells[2] == [3.0]


@pytest.mark.row("T01i")
@forms
def test_failing_without_an_exception(mode: str) -> None:
    k = add_graph(mode=mode)
    error = refuses(RuntimeError, lambda: k(-1.0, 2.0), "block 4 of graph", "no Python exception was set")
    assert "c_validate_update of Add" in str(error)
    assert run(k, -1.0, 2.0) == 4
    assert type(k.error) is RuntimeError


@pytest.mark.row("T09", "T15i")
@forms
def test_an_exception_with_and_without_failing(mode: str) -> None:
    for kind in (DBLC, DBL):  # only DBLC's extraction checks for errors
        k = add_graph(kind, mode=mode)
        refuses(TypeError, lambda k=k: k("a", 1.0), "must be real number, not str")
        assert run(k, "a", 1.0) == 1 and type(k.error) is TypeError
        assert run(k, 1.0, "a") == 2 and type(k.error) is TypeError
        assert run(k, 1.0, 2.0) == 0 and k.error is None and k.cells[2] == [3.0]
    silent = TemplateOp(code='PyErr_SetString(PyExc_KeyError, "silent"); %(z)s = 1;')
    k = add_graph(op=silent, mode=mode)
    refuses(KeyError, lambda: k(1.0, 2.0), "silent")
    assert run(k, 1.0, 2.0) == 4  # there is no validate: x, y, z and the code
    assert k.cells[2] == [None]


class Failing(Type):
    """A type whose extraction calls Python code that raises."""

    def c_declare(self, name: str, sub: dict[str, str], check_input: bool = True) -> str:
        return f"PyObject *{name};"

    def c_init(self, name: str, sub: dict[str, str]) -> str:
        return f"{name} = NULL;"

    def c_extract(self, name: str, sub: dict[str, str], check_input: bool = True, **kw: Any) -> str:
        return f"""
            {name} = PyObject_CallObject(py_{name}, NULL);
            if (!{name}) {{ {sub["fail"]} }}"""

    def c_sync(self, name: str, sub: dict[str, str]) -> str:
        return f"Py_XDECREF(py_{name}); py_{name} = {name}; Py_XINCREF({name});"

    def c_cleanup(self, name: str, sub: dict[str, str]) -> str:
        return f"Py_XDECREF({name});"


@pytest.mark.quick
@pytest.mark.row("T02i")
@forms
def test_ctrl_c_is_not_lost_beside_an_exception(mode: str) -> None:
    """Wording the exception's note runs Python code, and with that the signal's handler."""
    text = '{z} = {x}; int raise(int); raise(2); PyErr_SetString(PyExc_ValueError, "no"); {fail}'
    x = double("x")
    k = cwrapjit.link([x], FilledOp(text)(x), mode=mode)
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt) as caught:
            k(1.0)
    finally:
        signal.signal(signal.SIGINT, handler)
    assert isinstance(caught.value.__context__, ValueError)


@pytest.mark.row("T02i")
@forms
def test_an_exception_is_the_one_that_was_raised(mode: str) -> None:
    class Own(Exception):
        pass

    raised = Own("as it is")

    def fail() -> None:
        raise raised

    x = Failing()("x")
    k = cwrapjit.link([x], FilledOp("{z} = {x}; Py_INCREF({z});")(x), mode=mode)
    with pytest.raises(Own) as caught:
        k(fail)
    assert caught.value is raised
    assert any(frame.name == "fail" for frame in traceback.extract_tb(raised.__traceback__))
    if sys.version_info >= (3, 11):
        assert raised.__notes__ == ["in c_extract of x, block 1 of graph"]
    k.cells[0][0] = fail
    assert [k.run(), k.run()] == [1, 1]
    assert k.error is raised
    if sys.version_info >= (3, 11):
        assert raised.__notes__ == ["in c_extract of x, block 1 of graph"]


@pytest.mark.row("T33")
@forms
def test_once(mode: str) -> None:
    k = add_graph(mode=mode)
    out: list[Any] = [None]
    assert k.once([1.0], [2.0], out) == 0
    assert out == [3.0]
    assert k.once([-1.0], [2.0], out) == 4
    assert out == [3.0]
    assert k.once(["a"], [2.0], out) != 0
    assert type(k.error) is TypeError
    assert [cell[0] for cell in k.cells] == [None] * 3


@pytest.mark.quick
@pytest.mark.row("T34")
@forms
def test_bound_storages(mode: str) -> None:
    k = add_graph(mode=mode)
    x, out = [1.0], [None]
    s = k.bind(x, [2.0], out)
    assert [s.run(), s.run(), s.run()] == [0, 0, 0]
    assert out == [3.0]
    x[0] = 5.0
    assert s.run() == 0
    assert out == [7.0]
    x[0] = -1.0
    assert s.run() == 4
    assert out == [7.0]
    assert type(s.error) is RuntimeError
    assert s.cells[2] is out
    assert s.graph is k


@pytest.mark.quick
@pytest.mark.row("T34", "T04")
def test_a_state_that_cannot_begin() -> None:
    trace = Trace()
    good = Template(init="%(name)s = 0;", cleanup=trace.mark("a"))
    bad = Template(init='PyErr_SetString(PyExc_OSError, "no init"); %(fail)s', cleanup=trace.mark("b"))
    x, y = DBL("x"), DBL("y")
    a = TemplateOp(type=good, code="%(z)s = 1;")(x, y)
    b = TemplateOp(type=bad, code="%(z)s = 1;")(x, a)
    k = cwrapjit.link([x, y], [a, b])
    refuses(OSError, lambda: k.bind([1.0], [2.0], [None], [None]), "no init")
    assert trace.words() == ["b", "a"]
    assert run(k, 1.0, 2.0) == 4
    refuses(OSError, lambda: k(1.0, 2.0), "no init")
    trace.words()
    del k
    assert trace.words() == []
    k = cwrapjit.link([x, y], [a, b], mode="function")
    assert run(k, 1.0, 2.0) == 4
    assert trace.words() == ["b", "a"]


@pytest.mark.quick
@pytest.mark.row("T34")
def test_a_state_that_cannot_begin_though_nothing_says_so() -> None:
    """The text names no function that raises, but sets an exception. All is cleaned up for the next try."""
    trace, address = Trace(), ctypes.cast(ctypes.pythonapi.PyErr_NoMemory, ctypes.c_void_p).value
    type = Template(init=f"%(name)s = 0; ((void *(*)(void)){address}ul)();", cleanup=trace.mark("a"))
    x = DBL("x")
    k = cwrapjit.link([x], TemplateOp(type=type, code="%(z)s = 1;")(x, x))
    for _ in range(3):
        with pytest.raises(MemoryError):
            k(1.0)
        assert trace.words() == ["a"]


# ---- the later protocol ---------------------------------------------------------------------------------


@pytest.mark.row("A21", "A25")
@forms
def test_a_float_is_expected(mode: str) -> None:
    cleaned = Trace()
    x = Unfiltered(cleaned, "x")("x")
    k = cwrapjit.link([x], FilledOp("{z} = {x};")(x), mode=mode)
    assert k(1.0) == 1.0
    refuses(TypeError, lambda: k(1), "expected a float")
    cleaned.words()
    assert run(k, "a") == 1
    assert type(k.error) is TypeError
    assert cleaned.words() == ["extract x", "cleanup x"]


class Reused(D):
    """A double whose sync changes py_ only under a condition."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text

    def c_sync(self, name: str, sub: dict[str, str]) -> str:
        return self.text.replace("NAME", name)


@pytest.mark.row("A26", "A27")
@forms
def test_sync_and_references(mode: str) -> None:
    class Object:
        pass

    x = double("x")
    k = cwrapjit.link([x], FilledOp("{z} = {x};")(x), mode=mode)
    old = Object()
    count = sys.getrefcount(old)
    k.cells[1][0] = old
    assert run(k, 1.0) == 0
    assert sys.getrefcount(old) == count
    nothing = Reused("Py_XDECREF(py_NAME); py_NAME = NULL;")
    k = cwrapjit.link([x], FilledOp("{z} = {x};", type=nothing)(x), mode=mode)
    k.cells[1][0] = old
    for _ in range(1000):
        assert run(k, 1.0) == 0
        assert k.cells[1] == [None]
    assert k(1.0) is None
    unchanged = Reused("(void)NAME;")
    k = cwrapjit.link([x], FilledOp("{z} = {x};", type=unchanged)(x), mode=mode)
    assert k(1.0) is None
    assert sys.getrefcount(old) == count


def mixed_graph(trace: Trace, **options: Any) -> Any:
    """Links b = (x + y) * z, whose texts record what they do."""
    x, y, z = (D(trace, name)(name) for name in "xyz")
    plus = FilledOp(trace.mark("code add") + "{z} = {x} + {y};", trace.mark("cleanup add"), name="add")
    times = FilledOp(
        trace.mark("code mul") + "if ({x} > 100) {fail} {z} = {x} * {y};",
        trace.mark("cleanup mul"),
        name="mul",
    )
    plus.type, times.type = D(trace, "a"), D(trace, "b")
    return cwrapjit.link([x, y, z], times(plus(x, y), z), **options)


@pytest.mark.row("A30")
@forms
def test_the_order_of_a_whole_graph(mode: str) -> None:
    """In struct form a and b live as long as the state."""
    trace = Trace()
    k = mixed_graph(trace, mode=mode)
    extracted, ran = [f"extract {v}" for v in "xyz"], ["code add", "code mul", "cleanup mul", "cleanup add"]
    begun, ended = ["init a", "init b"], [f"cleanup {v}" for v in "zyx"]
    kept = [] if mode == "struct" else ["cleanup b", "cleanup a"]
    assert k(1.0, 2.0, 3.0) == 9.0
    said = trace.words()
    assert sorted(said[:5]) == extracted + begun and said[5:] == [*ran, "sync b", *kept, *ended]
    assert run(k, 1000.0, 2.0, 3.0) == 7
    assert trace.words() == [*extracted, *(begun if kept else []), *ran, *kept, *ended]
    del k
    gc.collect()
    assert trace.words() == ([] if kept else ["cleanup b", "cleanup a"])


@pytest.mark.row("A31")
@forms
def test_one_block_per_op(mode: str) -> None:
    trace = Trace()
    assert mixed_graph(trace, mode=mode)(1.0, 2.0, 3.0) == 9.0
    assert "sync a" not in trace.words()
    k = mixed_graph(trace, mode=mode, per_op=True)
    assert k(1.0, 2.0, 3.0) == 9.0
    words = trace.words()
    assert words.index("code add") < words.index("sync a")
    assert words.index("sync a") < words.index("extract a") < words.index("code mul")
    assert run(k, 1000.0, 2.0, 3.0) == 7


# ---- calling ----------------------------------------------------------------------------------------------


@pytest.mark.row("A08i")
def test_arguments_by_name_and_position() -> None:
    k = add_graph(double, add)
    assert k(1, y=2) == k(y=2, x=1) == k("1", "2") == 3.0
    refuses(TypeError, lambda: k(1.0), "graph()", "'y'")
    refuses(TypeError, lambda: k(1.0, x=2.0), "multiple values", "'x'")
    refuses(TypeError, lambda: k(1.0, q=2.0), "unexpected", "'q'")
    error = refuses(ValueError, lambda: k(1.0, "a"), "could not convert")
    if sys.version_info >= (3, 11):
        assert "argument 2" in error.__notes__[0]
    assert k.cells[0] == [1.0]


@pytest.mark.quick
def test_names_that_two_variables_share() -> None:
    x, other = double("x"), double("x")
    k = cwrapjit.link([x, other], FilledOp("{z} = {x} - {y};")(x, other))
    assert k(3.0, 1.0) == 2.0
    refuses(TypeError, lambda: k(3.0, x=1.0), "by position")
    assert str(k.__signature__) == "(input1, input2, /)"
    named = [double("input2"), double(), double("x")]
    k = cwrapjit.link(named, add(named[0], add(named[1], named[2])))
    assert str(k.__signature__) == "(input2, _input2, /, x)"


@pytest.mark.quick
def test_what_a_graph_says_of_itself() -> None:
    x, y = double("x"), double("y")
    k = cwrapjit.link([x, y], add(x, y), name="total")
    assert repr(k) == "<cwrapjit.graph.Graph total(x, y): 1 node, 1 output, struct form>"
    assert str(k.__signature__) == "(x, y)"
    assert k.inputs == (x, y)
    assert len(k.outputs) == 1
    assert k.name == "total"
    assert "total" in k.source
    assert (k.compiler, k.tier) == ("tcc", "tcc")
    assert "BoundGraph total" in repr(k.bind([1.0], [2.0], [None]))


def test_graphs_cannot_be_made_nor_their_states_pickled() -> None:
    import pickle

    k = add_graph()
    refuses(TypeError, lambda: pickle.dumps(k.bind([1.0], [2.0], [None])), "BoundGraph")
    refuses(TypeError, lambda: type(k)(), "Graph")


def test_a_graph_is_freed_with_its_cycles() -> None:
    x, y = double("x"), double("y")
    k = cwrapjit.link([x, y], add(x, y))
    k.cells[0][0] = k
    s = k.bind([None], [2.0], [None])
    s.cells[0][0] = s
    gone = [weakref.ref(k), weakref.ref(s)]
    del k, s
    gc.collect()
    assert [r() for r in gone] == [None, None]


# ---- updates -----------------------------------------------------------------------------------------------


@pytest.mark.row("T12i")
@forms
def test_updates(mode: str) -> None:
    x, y = double("x"), double("y")
    z = add(x, y)
    k = cwrapjit.link([x, y], mul(x, y), updates={x: z}, mode=mode)
    refuses(TypeError, lambda: k(y=1.0), "'x'")
    assert k(3.0, 2.0) == 6.0
    assert k.cells[0] == [5.0]
    assert k(y=2.0) == 10.0
    assert k.cells[0] == [7.0]
    assert k(1.0, 1.0) == 1.0
    total = cwrapjit.link([x, y], z, updates={x: z}, mode=mode)
    total.cells[0][0] = 0.0
    assert [total(y=i) for i in range(5)] == [0.0, 1.0, 3.0, 6.0, 10.0]


@pytest.mark.row("T12i")
@forms
@pytest.mark.parametrize("per_op", [False, True])
def test_one_list_for_an_input_and_an_output(mode: str, per_op: bool) -> None:
    x, y = double("x"), double("y")
    z = add(x, y)
    k = cwrapjit.link([x, y], [z, mul(z, x)], mode=mode, per_op=per_op)
    both, product = [1.0], [None]
    s = k.bind(both, [2.0], both, product)
    assert s.run() == 0
    assert (both, product) == ([3.0], [3.0])  # x kept its value 1 until the run ended
    assert s.run() == 0
    assert (both, product) == ([5.0], [15.0])
    assert k.once(both, [2.0], both, product) == 0
    assert (both, product) == ([7.0], [35.0])


# ---- the Python reference -----------------------------------------------------------------------------


@pytest.mark.row("T09i")
@forms
def test_check_compares_with_perform(mode: str) -> None:
    x, y = double("x"), double("y")
    k = cwrapjit.link([x, y], mul(add(x, y), y), check=True, mode=mode)
    assert k(1.0, 2.0) == 6.0
    assert k(0.0, 0.0) == 0.0
    wrong = FilledOp("{z} = {x} + {y} + ({x} > 5);", name="wrong", python=lambda a, b: a + b)
    k = cwrapjit.link([x, y], wrong(x, y), check=True, mode=mode)
    assert k(1.0, 2.0) == 3.0
    refuses(ValueError, lambda: k(6.0, 2.0), "wrong", "9.0", "8.0")
    assert run(k, 6.0, 2.0) == 4
    failing = FilledOp("{z} = 1;", name="bad", python=lambda a, b: a // 0)
    error = refuses(
        ZeroDivisionError,
        lambda: cwrapjit.link([x, y], failing(x, y), check=True)(1.0, 2.0),
        "division by zero",
    )
    if sys.version_info >= (3, 11):
        assert any("check of bad" in note for note in error.__notes__)


@pytest.mark.quick
@pytest.mark.row("T09i")
def test_check_needs_a_reference() -> None:
    x, y = DBL("x"), DBL("y")
    refuses(NotImplementedError, lambda: cwrapjit.link([x, y], ADD(x, y), check=True), "perform")


@pytest.mark.quick
def test_nodes_that_run_in_python() -> None:
    class Python:
        """An op without C."""

        def __call__(self, *inputs: Any) -> Variable:
            return Apply(self, inputs, [double]).outputs[0]

        def perform(self, node: Any, inputs: Any, output_storage: Any) -> None:
            if inputs[0] > 100:
                raise OverflowError("too much")
            output_storage[0][0] = inputs[0] / inputs[1]

        def __str__(self) -> str:
            return "divide"

    divide = Python()
    x, y = double("x"), double("y")
    z = mul(divide(add(x, y), y), x)
    refuses(NotImplementedError, lambda: cwrapjit.link([x, y], z), "no c_code")
    k = cwrapjit.link([x, y], z, python=True)
    assert k(3.0, 2.0) == 7.5
    error = refuses(OverflowError, lambda: k(200.0, 2.0), "too much")
    if sys.version_info >= (3, 11):
        assert "in perform of divide" in error.__notes__[0]
    error = refuses(ZeroDivisionError, lambda: k(3.0, 0.0), "division by zero")
    constant = divide(x, Constant(double, 4.0))
    assert cwrapjit.link([x], constant, python=True)(2.0) == 0.5


# ---- both forms: struct and function ------------------------------------------------------------------


VALUES = st.one_of(st.floats(), st.sampled_from(["a", None, 1, -1.0, 0.0]))


@st.composite
def scalar_graphs(draw: Any) -> Any:
    """Draws up to ten operations of both styles on two numbers; some divisions and validations fail."""
    divide = FilledOp(
        'if ({y} == 0) { PyErr_SetString(PyExc_ZeroDivisionError, "zero"); {fail} } {z} = {x} / {y};',
        cleanup="/* nothing */",
    )
    known = [DBLC("x"), DBLC("y")]
    for _ in range(draw(st.integers(1, 10))):
        op = draw(st.sampled_from([ADD, mul, add, divide]))
        known.append(op(draw(st.sampled_from(known)), draw(st.sampled_from(known))))
    return known[:2], [known[-1], *draw(st.lists(st.sampled_from(known), max_size=2))]


@pytest.mark.row("T14i")
@settings(max_examples=40)
@given(graph=scalar_graphs(), values=st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=4))
def test_both_forms_agree_on_random_graphs(graph: Any, values: list[tuple[Any, Any]]) -> None:
    """Results, failing blocks and exceptions are the same in both modes, for one function and for one per op.
    If several inputs are wrong, a graph with one function per op may report another one, because it extracts
    inputs later."""
    told: dict[bool, list[Any]] = {False: [], True: []}
    for mode, per_op in itertools.product(FORMS, (False, True)):
        k = cwrapjit.link(*graph, mode=mode, per_op=per_op, optimize="off")
        said = []
        for pair in values:
            code = run(k, *pair)
            results = [repr(cell[0]) for cell in k.cells[2:]]
            said.append((k.blocks[code - 1], type(k.error), str(k.error)) if code else results)
        told[per_op].append(said)
    for struct, function in told.values():
        assert struct == function
    for pair, whole, steps in zip(values, told[False][0], told[True][0], strict=True):
        if all(isinstance(value, float) for value in pair):
            assert whole == steps
        else:
            assert type(whole) is type(steps)
