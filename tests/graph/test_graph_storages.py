"""Tests storages (lists of one object between Python and C), what graphs keep between runs, and copies."""

from __future__ import annotations

import copy
import gc
import sys
import weakref
from typing import Any

import numpy as np
import pytest
from graph_types import ADD, DBL, TWICE, Array, Cell, Constant, FilledOp, TemplateOp, add, double, twice
from helpers import refuses

import cwrapjit
import cwrapjit as cj
import cwrapjit.graph as cg

FORMS = ["struct", "function"]
forms = pytest.mark.parametrize("mode", FORMS)


def add_graph(**options: Any) -> Any:
    x, y = DBL("x"), DBL("y")
    return cwrapjit.link([x, y], ADD(x, y), **options)


def twice_graph(fetched: bool = True, **options: Any) -> Any:
    x = Array(fetched)("x")
    return cwrapjit.link([x], twice(x), **options)


# ---- storages ------------------------------------------------------------------------------------------


@pytest.mark.quick
@pytest.mark.row("T01")
@forms
@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_list_that_is_emptied_between_runs(mode: str, which: int) -> None:
    lists: list[list[Any]] = [[1.0], [2.0], [None]]
    k = add_graph(mode=mode)
    s = k.bind(*lists)
    assert s.run() == 0
    lists[which].clear()
    assert s.run() != 0
    assert type(s.error) is ValueError
    lists[which][:] = [4.0, 5.0]
    assert s.run() != 0
    lists[which][:] = [4.0]
    assert s.run() == 0
    k.cells[which].clear()
    refuses(ValueError, lambda: k(1.0, 2.0), "one object")
    assert k.run() != 0


@forms
def test_lists_that_are_emptied_during_a_run(mode: str) -> None:
    lists: list[list[Any]] = [[1.0], [2.0], [None]]

    class Emptying:
        def __float__(self) -> float:
            for cell in lists:
                cell.clear()
            return 1.0

    k = add_graph(mode=mode)
    for which in (0, 1):
        for cell in lists:
            cell[:] = [1.0]
        lists[which][0] = Emptying()
        assert k.once(*lists) != 0
        assert type(k.error) is ValueError


@pytest.mark.row("T02")
@forms
def test_objects_are_fetched_at_each_run(mode: str) -> None:
    k = add_graph(mode=mode)
    one, two = 1.25, 2.25
    k.cells[0][0], k.cells[1][0] = one, two
    assert k.run() == 0
    k.cells[0][0] = 5.0
    assert k.run() == 0
    assert k.cells[2] == [7.25]
    k.cells[0][0] = one
    gc.collect()  # garbage of other tests may refer to None
    counts = sys.getrefcount(one), sys.getrefcount(two), sys.getrefcount(None)
    for _ in range(1000):
        k.run()
    now = sys.getrefcount(one), sys.getrefcount(two), sys.getrefcount(None)
    assert now[:2] == counts[:2]
    assert abs(now[2] - counts[2]) < 500, "not one for each run"


# ---- arrays that graphs keep ------------------------------------------------------------------------------


@pytest.mark.row("A41")
@forms
@pytest.mark.parametrize("fetched", [True, False])
def test_results_are_the_callers(mode: str, fetched: bool) -> None:
    k = twice_graph(fetched, mode=mode)
    first = k(np.arange(3.0))
    second = k(np.arange(3.0) + 10)
    assert first.tolist() == [0, 2, 4]
    assert second.tolist() == [20, 22, 24]
    view = k(np.ones(3))[1:]  # the view keeps the array alive
    third = k(np.arange(3.0))
    assert view.tolist() == [2, 2]
    held = [k(np.full(3, float(i))) for i in range(5)]
    assert [a[0] for a in held] == [0, 2, 4, 6, 8]
    assert third.tolist() == [0, 2, 4]


@pytest.mark.row("A41")
@forms
@pytest.mark.parametrize("kind", ["fetched", "kept", "ready"])
def test_a_result_with_a_weak_reference_dies(mode: str, kind: str) -> None:
    x = cg.ndarray("f8", 1)("x")
    k = cwrapjit.link([x], x * 2, mode=mode) if kind == "ready" else twice_graph(kind == "fetched", mode=mode)
    result = k(np.arange(3.0))
    first = weakref.ref(result)
    del result
    second = k(np.arange(3.0) + 10)
    assert first() is None and second.tolist() == [20, 22, 24]


@pytest.mark.row("T15", "T35")
@pytest.mark.parametrize(("mode", "fetched"), [("struct", True), ("struct", False), ("function", True)])
def test_a_buffer_that_nobody_else_holds_is_reused(mode: str, fetched: bool) -> None:
    k = twice_graph(fetched, mode=mode)
    k.cells[0][0] = np.arange(3.0)
    assert k.run() == 0
    address = k.cells[1][0].ctypes.data
    for _ in range(1000):
        assert k.run() == 0
        assert k.cells[1][0].ctypes.data == address
    kept = k.cells[1][0]
    assert k.run() == 0
    assert k.cells[1][0].ctypes.data != address
    assert kept.tolist() == [0, 2, 4]
    del kept
    address = k(np.arange(3.0)).ctypes.data
    assert k(np.arange(3.0)).ctypes.data == address


@pytest.mark.row("A41")
@forms
@pytest.mark.parametrize("fetched", [True, False])
@pytest.mark.parametrize("shares", ["view_map", "destroy_map"])
def test_a_view_of_a_temporary_is_the_callers(mode: str, fetched: bool, shares: str) -> None:
    """If an op says that outputs share its input's memory, that memory is not reused in the next run."""
    same = FilledOp("Py_XDECREF((PyObject *){z}); {z} = {x}; Py_INCREF((PyObject *){z});")
    setattr(same, shares, {0: [0]})
    x = Array(fetched)("x")
    temporary = twice(x)
    both = [temporary, same(temporary)] if shares == "view_map" else [x, same(temporary)]
    for outputs in (same(temporary), same(same(temporary)), both):
        k = cwrapjit.link([x], outputs, mode=mode)
        results = [k(np.full(3, float(i))) for i in range(4)]
        results = [r[1] if isinstance(r, tuple) else r for r in results]
        assert [r.tolist() for r in results] == [[2.0 * i] * 3 for i in range(4)]
    k = cwrapjit.link([x], twice(same(temporary)), mode=mode)  # neither array leaves C
    assert k(np.ones(2)).tolist() == [4, 4]


@pytest.mark.quick
def test_a_result_that_is_taken_out_of_its_cell() -> None:
    k = twice_graph(fetched=False)
    k.cells[0][0] = np.arange(3.0)
    k.run()
    mine = k.cells[1][0]
    k.cells[1][0] = None  # the number of references is the same, but one is the caller's
    k.cells[0][0] = np.ones(3)
    k.run()
    assert mine.tolist() == [0, 2, 4]
    assert k.cells[1][0].tolist() == [2, 2, 2]


@pytest.mark.quick
@pytest.mark.row("T15")
@forms
def test_extract_out_sees_the_old_object(mode: str) -> None:
    k = twice_graph(mode=mode)
    k.cells[1][0] = np.full(2, -1.0)
    address = k.cells[1][0].ctypes.data
    k.cells[0][0] = np.arange(2.0)
    assert k.run() == 0
    assert k.cells[1][0].ctypes.data == address
    mine = np.full(2, -1.0)
    k.cells[1][0] = mine
    assert k.run() == 0
    assert mine.tolist() == [-1, -1]
    k.cells[1][0] = junk = ["no array"]
    assert k.run() == 0  # as the caller has the object, C does not look at it
    k.cells[1][0] = junk
    k.cells[0][0] = "no array"
    assert k.run() == 1
    assert k.cells[1][0] is junk
    assert type(k.error) is TypeError


@pytest.mark.row("T35")
@pytest.mark.parametrize(("mode", "most"), [("struct", 2), ("function", 51)])
def test_a_temporary_is_kept_in_struct_form(mode: str, most: int) -> None:
    made = Cell()
    counting = FilledOp(TWICE.replace("Py_XDECREF", f"{made.c}++; Py_XDECREF"))
    x = Array()("x")
    k = cwrapjit.link([x], counting(counting(x)), mode=mode)
    k.cells[0][0] = np.arange(4.0)
    for _ in range(50):
        assert k.run() == 0
    assert k.cells[1][0].tolist() == [0, 4, 8, 12]
    assert made.value == most


def test_what_goes_from_step_to_step_is_begun_in_each_run() -> None:
    made = Cell()
    counting = FilledOp(TWICE.replace("Py_XDECREF", f"{made.c}++; Py_XDECREF"))
    x = Array(False)("x")
    k = cwrapjit.link([x], counting(counting(x)), per_op=True)
    k.cells[0][0] = np.arange(4.0)
    assert [k.run() for _ in range(50)] == [0] * 50
    assert k.cells[1][0].tolist() == [0, 4, 8, 12]
    assert made.value == 51  # only the returned one


@pytest.mark.row("T35")
@forms
def test_a_failing_run_keeps_buffers_sound(mode: str) -> None:
    failing = FilledOp(TWICE + "if (PyArray_DIM({x}, 0) == 3) {fail}")
    x = Array()("x")
    k = cwrapjit.link([x], failing(x), mode=mode)
    for _ in range(3):
        assert k(np.ones(2)).tolist() == [2, 2]
        refuses(RuntimeError, lambda: k(np.ones(3)), "c_code of Op(x)", "no Python exception was set")


@pytest.mark.row("T12i")
@forms
@pytest.mark.parametrize("fetched", [True, False])
def test_updates_of_arrays(mode: str, fetched: bool) -> None:
    x = Array(fetched)("x")
    z = twice(x)
    k = cwrapjit.link([x], z, updates={x: z}, mode=mode)
    start = np.ones(2)
    results = [k(start), *(k() for _ in range(4))]
    assert [r[0] for r in results] == [2, 4, 8, 16, 32]
    assert start.tolist() == [1, 1]
    both = [start]
    s = cwrapjit.link([x], z, mode=mode).bind(both, both)
    for _ in range(3):
        assert s.run() == 0
    assert both[0].tolist() == [8, 8]
    assert start.tolist() == [1, 1]


@pytest.mark.row("T12i")
@forms
def test_updates_happen_at_once(mode: str) -> None:
    """Updates and outputs use the values that inputs had during the run."""
    x, y, step = double("x"), double("y"), double("step")
    k = cwrapjit.link([x, y], add(x, y), updates={x: y, y: x}, mode=mode)
    assert k(1.0, 2.0) == 3.0
    assert k.cells[:2] == ([2.0], [1.0])
    k = cwrapjit.link([x, y], [], updates={x: add(x, y), y: x}, mode=mode)
    k(1.0, 0.0)
    assert [(k(), k.cells[0][0])[1] for _ in range(5)] == [2.0, 3.0, 5.0, 8.0, 13.0]
    z = add(x, step)
    k = cwrapjit.link([step, x], [x, z, x], updates={x: z}, mode=mode)
    assert k(1.0, 10.0) == (10.0, 11.0, 10.0)
    assert k(1.0) == (11.0, 12.0, 11.0)
    assert k.cells[1] == [12.0]
    cells: list[list[Any]] = [[1.0], [5.0], [None], [None], [None]]
    assert k.once(*cells) == 0
    assert cells == [[1.0], [6.0], [5.0], [6.0], [5.0]]


@forms
def test_views_between_input_and_output(mode: str) -> None:
    same = FilledOp("Py_XDECREF((PyObject *){z}); {z} = {x}; Py_INCREF((PyObject *){z});")
    x = Array(fetched=False)("x")
    k = cwrapjit.link([x], same(x), mode=mode)
    a = np.arange(2.0)
    count = sys.getrefcount(a)
    assert k(a) is a
    for i in range(5):
        assert k(a) is a
        b = np.full(2, float(i))
        assert k(b) is b
    assert a.tolist() == [0, 1]
    del k
    assert sys.getrefcount(a) == count


@forms
def test_two_bound_objects_share_nothing(mode: str) -> None:
    grow = TemplateOp(code="%(z)s += %(x)s + %(y)s;")
    x, y = DBL("x"), DBL("y")
    k = cwrapjit.link([x, y], grow(x, y), mode=mode)
    one, two = k.bind([1.0], [1.0], [None]), k.bind([2.0], [2.0], [None])
    for s in (one, two, one, k):
        s.cells[0][0], s.cells[1][0] = 1.0, 1.0
        assert s.run() == 0
    kept = mode == "struct"
    assert one.cells[2] == [4.0 if kept else 2.0]
    assert two.cells[2] == [2.0]
    assert k.cells[2] == [2.0]


def test_a_bound_object_outlives_its_graph() -> None:
    k = add_graph()
    s = k.bind([1.0], [2.0], [None])
    del k
    assert s.run() == 0
    assert s.cells[2] == [3.0]
    assert s.graph(1.0, 1.0) == 2.0


def test_outputs_that_are_inputs_or_given_twice() -> None:
    x, y = double("x"), double("y")
    z = add(x, y)
    k = cwrapjit.link([x, y], [z, x, z])
    first, same, again = [None], [None], [None]
    assert k.once([1.0], [2.0], first, same, again) == 0
    assert (first, same, again) == ([3.0], [1.0], [3.0])
    assert k.cells[2] is k.cells[4]
    assert k.cells[3] is k.cells[0]


def test_constants_in_storages() -> None:
    array = Array()
    constant = Constant(array, np.arange(3.0))
    k = cwrapjit.link([], [twice(constant), constant])
    result, same = k()
    assert result.tolist() == [0, 2, 4]
    assert same is constant.data
    assert k()[0].tolist() == [0, 2, 4]


# ---- deep_copy, view, shape, shape_i; C code that is registered for types ---------------------------------


class Plain(cg.CType):
    """A type without C."""


class Sized:
    """An object with a shape."""

    shape = (4, 5)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sized)

    def __hash__(self) -> int:
        return 1


def linked(op: Any, type: Any, **kw: Any) -> Any:
    x = type("x")
    return cj.link([x], [op(x)], **kw)


@pytest.mark.row("A36", "A37")
@pytest.mark.parametrize("mode", ["struct", "function"])
def test_a_deep_copy_shares_nothing(mode: str) -> None:
    k = linked(cg.deep_copy, cg.ndarray("float64", 2), mode=mode)
    for x in (np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(2, 3).T[::-1], np.zeros((0, 2))):
        y = k(x)
        assert np.array_equal(x, y) and not np.shares_memory(x, y) and y.base is None
    assert linked(cg.deep_copy, cg.float64)(2.5) == 2.5
    value = [1, [2, 3]]
    got = linked(cg.deep_copy, Plain())(value)  # copied by Python
    assert got == value and got is not value and got[1] is not value[1]
    got = linked(cg.deep_copy, cg.generic)(value)
    assert got == value and got[1] is not value[1]


@pytest.mark.row("A38")
@pytest.mark.parametrize("mode", ["struct", "function"])
@pytest.mark.parametrize("type", [cg.generic, cg.ndarray("float64", 1), Plain()], ids=str)
def test_a_view_is_the_very_object(type: Any, mode: str) -> None:
    k = linked(cg.view, type, mode=mode)
    x = np.arange(3.0)
    k(x)
    k.cells[0][0] = k.cells[1][0] = None
    before = sys.getrefcount(x)
    r = k(x)
    assert r is x
    k.cells[0][0] = k.cells[1][0] = None
    assert sys.getrefcount(x) == before + 1
    del r
    assert sys.getrefcount(x) == before


@pytest.mark.quick
@pytest.mark.row("A39")
def test_shapes() -> None:
    k = linked(cg.shape, cg.ndarray("float64", 2))
    assert k(np.zeros((2, 3))).tolist() == [2, 3] and k(np.zeros((2, 3))).dtype == np.int64
    assert linked(cg.shape, cg.ndarray("int8", 0))(np.array(3, "i1")).tolist() == []
    assert linked(cg.shape, Plain())(Sized()).tolist() == [4, 5]  # a type without C has any object's shape
    assert linked(cg.shape, cg.generic)(Sized()).tolist() == [4, 5]


@pytest.mark.row("A40")
def test_one_length() -> None:
    k = linked(cg.shape_i(1), cg.ndarray("float64", 2))
    assert k(np.zeros((2, 3))) == 3 and type(k(np.zeros((2, 3)))) is int
    assert linked(cg.shape_i(0), Plain())(Sized()) == 4
    beyond, other = linked(cg.shape_i(2), cg.ndarray("float64", 2)), linked(cg.shape_i(2), Plain())
    refuses(ValueError, lambda: beyond(np.zeros((2, 3))), "shape_i(2)", "2 dim")
    refuses(ValueError, lambda: other(Sized()), "shape_i(2)", "2 dim")
    for i in (-1, True, 1.0, "a"):
        refuses(ValueError, lambda i=i: cg.shape_i(i), "axis")
    assert cg.shape_i(1) == cg.shape_i(1) != cg.shape_i(2)


class Text(cg.CType):
    """A str as PyObject *; its shape is its length."""

    def c_declare(self, name: str, sub: Any) -> str:
        return f"PyObject *{name};"

    def c_init(self, name: str, sub: Any) -> str:
        return f"{name} = NULL;"

    def c_extract(self, name: str, sub: Any) -> str:
        return f"{name} = py_{name}; Py_INCREF({name});"

    def c_sync(self, name: str, sub: Any) -> str:
        return f"Py_XDECREF(py_{name}); py_{name} = {name}; Py_XINCREF({name});"

    def c_cleanup(self, name: str, sub: Any) -> str:
        return f"Py_XDECREF({name});"


class Subtext(Text):
    """A type without registered code of its own."""


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Undoes registrations after the test."""
    for op in (cg.deep_copy, cg.view, cg.shape, cg.shape_i(0)):
        monkeypatch.setattr(type(op), "_registry", dict(op._registry))


@pytest.mark.row("A36", "A38", "A39", "A40")
@pytest.mark.usefixtures("registered")
def test_registered_code_is_used_for_the_class_and_its_subclasses() -> None:
    copied = (
        'Py_XDECREF(%(oname)s); %(oname)s = PyUnicode_FromFormat("%%U!", %(iname)s); if (!%(oname)s) %(fail)s'
    )
    cg.register_deep_copy_op_c_code(Text, copied, version=(3,))
    cg.register_view_op_c_code(Text, copied.replace("!", "?", 1))
    cg.register_shape_c_code(
        Text,
        "npy_intp n = PyUnicode_GetLength(%(iname)s), one = 1;\n"
        "if (cwj_array_prepare(&%(oname)s, py_%(oname)s, NPY_INT64, 1, &one, 0) < 0) %(fail)s\n"
        "*(npy_int64 *)PyArray_DATA(%(oname)s) = n;",
        version=2,
    )
    check = 'if (%(i)s > 0) { PyErr_SetString(PyExc_IndexError, "only axis 0"); %(fail)s }'
    cg.register_shape_i_c_code(Text, "%(oname)s = PyUnicode_GetLength(%(iname)s);", check, version=())
    for cls in (Text, Subtext):
        assert linked(cg.deep_copy, cls())("ab") == "ab!"
        assert linked(cg.view, cls())("ab") == "ab?"
        assert linked(cg.shape, cls())("abc").tolist() == [3]
        assert linked(cg.shape_i(0), cls())("abcd") == 4
        refuses(IndexError, lambda cls=cls: linked(cg.shape_i(1), cls())("abcd"), "only axis 0")


@pytest.mark.row("A36", "A17")
@pytest.mark.usefixtures("registered")
def test_the_version_is_that_of_the_code() -> None:
    x = Text()("x")
    node = cg.deep_copy(x).owner
    cg.register_deep_copy_op_c_code(Text, "%(oname)s = NULL;", version=(7, "a"))
    assert cg.deep_copy.c_code_cache_version_apply(node) == (7, "a")
    assert (7, "a") in [version for _, version in cg.deep_copy.c_code_cache_version()]
    cg.register_deep_copy_op_c_code(Text, "%(oname)s = NULL;")
    assert cg.deep_copy.c_code_cache_version_apply(node) == () == cg.deep_copy.c_code_cache_version()


def test_an_object_that_cannot_be_copied() -> None:
    class Stubborn:
        def __deepcopy__(self, memo: Any) -> Any:
            raise KeyError("no copies")

    refuses(KeyError, lambda: linked(cg.deep_copy, Plain())(Stubborn()), "no copies")
    assert copy.deepcopy(cg.deep_copy) == cg.deep_copy
