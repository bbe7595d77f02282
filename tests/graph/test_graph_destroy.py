"""Tests ops that overwrite inputs (destroy_map) and views (view_map): readers run first, conflicts are
rejected by name, and the caller's objects change only if the caller allows it."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from graph_in_place import (
    CONSTANT,
    PLUS,
    TAKE,
    Add,
    Neg,
    Own,
    add,
    back,
    can_be_ordered,
    graphs,
    inputs,
    mul,
    neg,
    nodes_of,
    pure,
    turn,
    vector,
)
from helpers import refuses
from hypothesis import given, settings
from hypothesis import strategies as st

import cwrapjit
import cwrapjit.graph as cg
from cwrapjit import link
from cwrapjit.graph import In, deep_copy, view

forms = pytest.mark.parametrize("mode", ["struct", "function"])
EXAMPLES = int(os.environ.get("CWRAPJIT_GRAPH_EXAMPLES", "100"))
options = st.fixed_dictionaries(
    {
        "mode": st.sampled_from(["struct", "function"]),
        "per_op": st.booleans(),
        "optimize": st.just("off"),
        "check": st.sampled_from([False, False, False, True]),
    }
)


@pytest.mark.row("G21")
@given(graph=graphs(), mutable=st.sets(st.integers(0, 2)), options=options)
@settings(max_examples=EXAMPLES)
def test_random_graphs_compute_what_copies_would(
    graph: Any, mutable: set[int], options: dict[str, Any]
) -> None:
    """A graph is rejected if no order works; otherwise it computes what ops on copies would."""
    given, outputs = graph
    declared = [In(v, mutable=k in mutable) for k, v in enumerate(given)]
    protected = [v for k, v in enumerate(given) if k not in mutable]
    if not can_be_ordered(given, outputs, protected):
        refuses(ValueError, lambda: link(declared, outputs, **options), "overwrites", "deep_copy")
        return
    f = link(declared, outputs, **options)
    held = []
    for run in range(3):
        arrays = [np.arange(5.0) * (k + 2) + run for k in range(len(given))]
        wanted = pure(outputs, {id(v): a for v, a in zip(given, arrays, strict=True)})
        before = [a.copy() for a in arrays]
        results = f(*arrays)
        held.append((results if isinstance(results, tuple) else (results,), wanted))
        for k, (array, old) in enumerate(zip(arrays, before, strict=True)):
            assert k in mutable or np.array_equal(array, old), "protected"
        for got, expected in held:  # earlier results do not change
            assert [x.tolist() for x in got] == [x.tolist() for x in expected]
    constants = [v for node in nodes_of(outputs) for v in node.inputs if hasattr(v, "data")]
    assert all(np.array_equal(v.data, CONSTANT) for v in constants)


class Hidden:
    """An op without C, which perform() runs."""

    def __init__(self, op: Any) -> None:
        self.op = op
        self.destroy_map, self.view_map = op.destroy_map, op.view_map

    def perform(self, node: Any, inputs: Any, output_storage: Any, *params: Any) -> None:
        self.op.perform(node, inputs, output_storage)


@pytest.mark.row("G21")
@given(graph=graphs(), hidden=st.sets(st.integers(0, 6)), mode=st.sampled_from(["struct", "function"]))
@settings(max_examples=EXAMPLES // 2)
def test_the_same_with_ops_that_run_in_python(graph: Any, hidden: set[int], mode: str) -> None:
    given, outputs = graph
    for k, node in enumerate(nodes_of(outputs)):
        if k in hidden and isinstance(node.op, Own):
            node.op = Hidden(node.op)
    possible = can_be_ordered(given, outputs, [])
    if not possible:
        refuses(
            ValueError, lambda: link([In(v, mutable=True) for v in given], outputs, python=True), "overwrites"
        )
        return
    f = link([In(v, mutable=True) for v in given], outputs, python=True, mode=mode, optimize="off")
    for node in nodes_of(outputs):
        node.op = node.op.op if isinstance(node.op, Hidden) else node.op
    for run in range(2):
        arrays = [np.arange(5.0) * (k + 2) + run for k in range(len(given))]
        wanted = pure(outputs, {id(v): a for v, a in zip(given, arrays, strict=True)})
        results = f(*arrays)
        assert [x.tolist() for x in (results if len(outputs) > 1 else [results])] == [
            x.tolist() for x in wanted
        ]


# ---- graphs that are rejected ----------------------------------------------------------------------------


def refused(outputs: Any, *words: str, given: Any = (), **kw: Any) -> None:
    refuses(ValueError, lambda: link(given, outputs, **kw), "link(): ", *words)


CONFLICTS: list[tuple[Any, str]] = [
    # a reader needs the result
    (lambda x, y, t, u: mul(t, neg(t)), "Neg(t) overwrites t, which Mul(t, ?) reads, and"),
    (lambda x, y, t, u: mul(view(t), neg(t)), "Neg(t) overwrites t, and so what view(t) gives"),
    (lambda x, y, t, u: mul(t, neg(back(t))), "overwrites what Back(t) gives, and so t, which Mul(t, ?)"),
    (lambda x, y, t, u: [add(t, u), add(u, t)], "reads, and that can only run afterwards"),
    # two ops overwrite the same memory
    (lambda x, y, t, u: mul(neg(t), add(t, x)), "Add(t, x) overwrites t, which Neg(t) overwrites too"),
    (lambda x, y, t, u: mul(neg(view(t)), neg(back(t))), "and so t, which Neg(?) overwrites too"),
    (lambda x, y, t, u: add(t, t), "Add(t, t) overwrites t, which is its input 1 too"),
    (lambda x, y, t, u: add(back(t), t), "what Back(t) gives, and so t, which is its input 1 too"),
    (lambda x, y, t, u: turn(t, t), "Turn(t, t) overwrites t, which is its input"),
    # the memory is not the graph's own
    (lambda x, y, t, u: neg(FIXED), "Neg(fixed) overwrites fixed, which is a constant"),
    (lambda x, y, t, u: neg(view(FIXED)), "what view(fixed) gives, and so fixed, which is a constant"),
    (lambda x, y, t, u: [t, neg(t)], "Neg(t) overwrites t, which is an output"),
    (lambda x, y, t, u: [view(t), neg(t)], "and so what view(t) gives, which is an output"),
]
FIXED = cg.Constant(vector, np.arange(3.0), "fixed")


@pytest.mark.row("G21")
@pytest.mark.parametrize("make, words", CONFLICTS, ids=[words for _, words in CONFLICTS])
def test_what_cannot_be_ordered_is_refused(make: Any, words: str) -> None:
    x, y = inputs("xy")
    t, u = mul(x, y), mul(y, y)
    t.name, u.name = "t", "u"
    refused(make(x, y, t, u), words, "deep_copy()", given=[x, y])


@pytest.mark.row("G21")
def test_a_copy_is_what_helps() -> None:
    x, y = inputs("xy")
    t = mul(x, y)
    a, b = np.arange(3.0), np.full(3, 2.0)
    refused(mul(t, neg(t)), "Neg(?) overwrites what Mul(x, y) gives", "Mul(?, ?) reads", given=[x, y])
    assert link([x, y], mul(t, neg(deep_copy(t))))(a, b).tolist() == [0, -4, -16]
    assert link([x, y], mul(deep_copy(t), neg(t)))(a, b).tolist() == [0, -4, -16]
    assert link([x, y], neg(neg(neg(t))))(a, b).tolist() == [0, -2, -4]
    assert link([], neg(deep_copy(FIXED)))().tolist() == [0, -1, -2]
    refused(neg(t), "which is what updates x", given=[x, y], updates={x: t})
    first, second = link([x, y], [deep_copy(t), neg(t)])(a, b)
    assert (first.tolist(), second.tolist()) == ([0, 2, 4], [0, -2, -4])


@pytest.mark.row("G21")
@pytest.mark.parametrize("through", [lambda x: x, view, back, lambda x: back(view(back(x)))])
def test_inputs_are_protected_unless_they_are_mutable(through: Any) -> None:
    x, y = inputs("xy")
    z = mul(neg(through(x)), y)
    words = "which is an input: declare it as cwrapjit.graph.In(x, mutable=True)"
    for protected in ([x, y], [In(x), y], [In(x, mutable=False), In(y, mutable=True)]):
        refused(z, "overwrites", words, given=protected)
    f = link([In(x, mutable=True), y], z)
    array = np.arange(3.0)
    assert sorted(f(array, np.ones(3)).tolist()) == [-2, -1, 0]
    assert array.tolist() == [0, -1, -2]
    assert f([1, 2, 3], np.ones(3)).tolist() in (
        [-1, -2, -3],
        [-3, -2, -1],
    )  # filter() made a new array
    assert "x (ndarray), overwritten by runs" in f.source


@pytest.mark.quick
@pytest.mark.row("G21")
def test_what_in_takes() -> None:
    (x,) = inputs("x")
    assert (In(x).variable, In(x).mutable, In(x, mutable=True).mutable) == (x, False, True)
    assert repr(In(x, mutable=True)) == "In(x, mutable=True)"
    assert cwrapjit.graph.In is In
    refuses(TypeError, lambda: link([In], x), "inputs[0]", "a class")

    class Theirs:  # like PyTensor's In
        variable, mutable, update = x, True, None

    assert link([Theirs()], neg(x))(np.ones(2)).tolist() == [-1, -1]
    Theirs.update = x
    refuses(TypeError, lambda: link([Theirs()], neg(x)), "must be given as updates=")


class Lenient(Add):
    """Add that allows its other input to share memory with the one that it overwrites."""


@pytest.mark.row("G21")
def test_ops_that_bear_the_same_memory_twice() -> None:
    (x,) = inputs("x")
    t = mul(x, x)
    same, aliased = Lenient(), Lenient()
    same.destroyhandler_tolerate_same = [(0, 1)]
    aliased.destroyhandler_tolerate_aliased = [(0, 1)]
    assert link([x], same(t, t))(np.arange(3.0)).tolist() == [0, 3, 12]
    assert link([x], aliased(t, view(t)))(np.arange(3.0)).tolist() == [0, 3, 12]
    refused(same(t, view(t)), "which is its input 1 too", given=[x])
    same.destroyhandler_tolerate_same = [(1, 0)]
    refused(same(t, t), "which is its input 1 too", given=[x])


# ---- while the graph runs --------------------------------------------------------------------------------


@pytest.mark.row("G21")
@forms
def test_arguments_that_share_memory_with_what_is_overwritten(mode: str) -> None:
    x, y = inputs("xy")
    fixed = np.arange(4.0)
    z = PLUS(neg(x), mul(y, cg.Constant(vector, fixed)))
    f = link([In(x, mutable=True), y], z, mode=mode)
    a = np.arange(8.0)
    shared = "graph(): 'x' is overwritten, but shares memory with "
    for first, second in [(a[:4], a[:4]), (a[:4], a[3:7]), (a[::2], a[6::-2]), (a[4:], a[7:3:-1])]:
        refuses(ValueError, lambda first=first, second=second: f(first, second), shared + "'y'")
    refuses(ValueError, lambda: f(fixed, a[:4]), shared)
    assert a.tolist() == list(range(8)), "nothing has run"
    assert f(a[::2], a[1::2]).tolist() == [0, -2 + 9, -4 + 30, -6 + 63]  # interleaved, but without overlap
    assert a.tolist() == [0, 1, -2, 3, -4, 5, -6, 7]
    bound = f.bind([a[:4]], [a[:4]], [None])
    assert bound.run() == -1
    assert type(bound.error) is ValueError and shared in str(bound.error)


@pytest.mark.quick
@pytest.mark.row("G21")
@forms
def test_arrays_that_cannot_be_overwritten(mode: str) -> None:
    x, y = inputs("xy")
    f = link([In(x, mutable=True), In(y, mutable=True)], mul(neg(x), y), mode=mode, name="flip")
    a = np.arange(6.0)
    frozen = a[:3].view()
    frozen.flags.writeable = False
    refuses(ValueError, lambda: f(frozen, np.ones(3)), "flip(): 'x'", "read-only")
    repeated = np.lib.stride_tricks.as_strided(a, (3,), (0,))
    refuses(ValueError, lambda: f(repeated, np.ones(3)), "flip(): 'x'", "several elements in the same memory")
    assert f(a[:3], frozen[::-1].copy()).tolist() == [0, -1, 0]
    a[:3] *= -1
    assert f(np.ones(3), frozen).tolist() == [0, -1, -2]  # y is mutable, but no op changes it
    one = np.lib.stride_tricks.as_strided(a, (1,), (0,))
    assert f(one, np.ones(1)).tolist() == [0]


@pytest.mark.quick
@pytest.mark.row("G21")
def test_several_axes_and_other_objects() -> None:
    x = cg.ndarray("float64", 2)("x")

    class Fill(cg.COp):
        destroy_map = {0: [0]}

        def c_code(self, node: Any, name: str, inputs: Any, outputs: Any, sub: Any) -> str:
            take = TAKE.format(o=outputs[0], i=inputs[0])
            return take + f"*(double *)PyArray_GETPTR2({outputs[0]}, 0, 0) = 9;"

    f = link([In(x, mutable=True)], Fill()(x))
    a = np.zeros((4, 6))
    for each in (a, a.T, a[::2, ::-1], a[1:, 2:4].T, a[:0], np.asfortranarray(a)):
        f(each)
        assert each.size == 0 or each[0, 0] == 9
    window = np.lib.stride_tricks.sliding_window_view(np.zeros(8), 3, writeable=True)
    refuses(ValueError, lambda: f(window), "several elements in the same memory")

    class Push(cg.COp):
        """Appends an item to a list in place."""

        destroy_map = {0: [0]}

        def c_code(self, node: Any, name: str, inputs: Any, outputs: Any, sub: Any) -> str:
            (items, item), (o,) = inputs, outputs
            return f"if (PyList_Append({items}, {item}) < 0) {sub['fail']}\n" + TAKE.format(o=o, i=items)

    items, item = cg.generic("items"), cg.generic("item")
    push = link([In(items, mutable=True), item], Push()(items, item))
    mine: list[Any] = [1]
    assert push(mine, 2) is mine
    assert mine == [1, 2]
    refuses(ValueError, lambda: push(mine, mine), "'items' is overwritten, but shares memory with 'item'")


@pytest.mark.quick
@pytest.mark.row("G21")
def test_numbers_are_nobodys_memory() -> None:
    """A C number belongs to the graph: the caller's object does not change, and may be passed twice."""

    class Bump(cg.COp):
        destroy_map = {0: [0]}

        def c_code(self, node: Any, name: str, inputs: Any, outputs: Any, sub: Any) -> str:
            return f"{inputs[0]} += 1; {outputs[0]} = {inputs[0]};"

    x, y = cg.float64("x"), cg.float64("y")
    f = link([In(x, mutable=True), y], Bump()(x) * y)
    two = 2.0
    assert [f(two, two), f(two, two)] == [6.0, 6.0]
    t = x * y
    refused(t + Bump()(t), "overwrites", given=[x, y])


# ---- updates ---------------------------------------------------------------------------------------------


@pytest.mark.row("G21")
@forms
@pytest.mark.parametrize("per_op", [False, True])
def test_a_state_that_is_updated_in_place(mode: str, per_op: bool) -> None:
    state, step = inputs("sx")
    new = add(state, step)
    f = link([In(state, mutable=True), step], deep_copy(new), updates={state: new}, mode=mode, per_op=per_op)
    mine = np.zeros(3)
    results = [f(mine, np.ones(3))] + [f(x=np.full(3, float(k))) for k in (2, 3)]
    assert [r.tolist() for r in results] == [[2] * 3, [6] * 3, [12] * 3]
    assert mine.tolist() == [12] * 3, "the caller lent it"


@pytest.mark.quick
@pytest.mark.row("G21")
def test_updates_that_the_next_run_would_overwrite() -> None:
    x, y = inputs("xy")
    fixed = cg.Constant(vector, np.ones(3), "fixed")
    lent, other = In(x, mutable=True), In(y, mutable=True)
    z = neg(x)
    z.name = "z"
    t = mul(y, y)
    t.name = "t"
    for outputs, updates, words in (
        (z, {x: z}, "x becomes z, which shares memory with the output z, and the next run overwrites it"),
        ([view(z)], {x: z}, "x becomes z, which shares memory with the output what view(z) gives"),
        (mul(z, y), {x: y}, "x becomes y, which shares memory with the input y"),
        (mul(z, y), {x: back(y)}, "with the input y"),
        (mul(z, y), {x: fixed}, "x becomes fixed, which shares memory with the constant fixed"),
        (mul(z, y), {x: t, y: back(t)}, "which shares memory with what updates"),
    ):
        refused(outputs, words, "deep_copy()", given=[lent, y], updates=updates)
    # Each update takes the other's memory.
    f = link([lent, other], mul(z, z), updates={x: neg(y), y: z})
    a, b = np.arange(3.0), np.ones(3)
    assert [f(a, b).tolist(), f().tolist(), f().tolist()] == [[0, 1, 4], [1, 1, 1], [0, 1, 4]]


# ---- other parts of link() -------------------------------------------------------------------------------


@pytest.mark.quick
@pytest.mark.row("G21")
def test_elementwise_ops_are_not_joined_over_what_is_overwritten() -> None:
    """If fused, PLUS(t, y) would read t after neg(t) has run."""
    x, y = inputs("xy")
    t = mul(x, y)
    early, flipped = PLUS(t, y), neg(t)
    f = link([x, y], PLUS(PLUS(early, y), flipped))
    assert [b for b in f.blocks if "Neg" in b or "elementwise" in b]
    a, b = np.arange(4.0), np.full(4, 3.0)
    assert f(a, b).tolist() == (a * b + 3 * b + 3 * b - 3 * a * b).tolist()
    names = [block for block in f.blocks if block.startswith("c_code")]
    assert len(names) == 4, names  # mul, early, neg, and one fused loop


@pytest.mark.row("G21")
def test_validate_stays_with_its_op() -> None:
    class Guarded(cg.Op):
        """An op that negates in place in c_validate_update, which runs before its code."""

        destroy_map = {0: [0]}

        def c_var_names(self) -> Any:
            return [["x"], ["z"]]

        def c_validate_update(self) -> str:
            return (
                "Py_XDECREF(%(z)s); %(z)s = %(x)s; Py_INCREF(%(z)s);\n"
                "*(double *)PyArray_GETPTR1(%(x)s, 0) *= -1;"
            )

        def c_code(self) -> str:
            return "*(double *)PyArray_GETPTR1(%(z)s, 0) *= 10;"

    (x,) = inputs("x")
    t = mul(x, x)
    z = mul(Guarded()(t), PLUS(t, t))
    assert link([x], z)(np.full(1, 3.0)).tolist() == [-90.0 * 36.0]


@pytest.mark.row("G21")
def test_the_cache_knows_what_is_mutable() -> None:
    class Versioned(Neg):
        def c_code_cache_version(self) -> tuple[Any, ...]:
            return (1,)

    (x,) = inputs("x")
    op = Versioned()
    op.destroy_map = {}
    first = link([In(x, mutable=True)], op(x))
    same = link([x], op(x))
    assert first.source == same.source, "nothing is overwritten"
    op.destroy_map = {0: [0]}
    other = link([In(x, mutable=True)], op(x))
    assert other.source != first.source
    refused(op(x), "which is an input", given=[x])  # whatever the cache contains


@pytest.mark.row("G21")
def test_long_chains_and_many_views() -> None:
    """Takes linear time, without recursion."""
    (x,) = inputs("x")
    v = mul(x, x)
    for _ in range(3000):
        v = neg(v)
    assert link([x], v, optimize="off")(np.arange(3.0)).tolist() == [0, 1, 4]
    t = mul(x, x)
    views = [t]
    for _ in range(1500):
        views.append(view(views[-1]))
    total = mul(views[-1], views[700])
    assert link([x], mul(total, neg(views[900])), optimize="off")(np.arange(3.0)).tolist() == [0, -1, -64]
    refused([mul(views[3], neg(views[900]))], "overwrites", given=[x])
