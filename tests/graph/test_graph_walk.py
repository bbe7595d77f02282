"""Tests how link() walks variables and nodes: which graphs it accepts, their order, and rejections."""

from __future__ import annotations

import sys
import types
from typing import Any

import pytest
from graph_types import (
    Apply,
    Constant,
    D,
    FilledOp,
    Trace,
    Type,
    Variable,
    add,
    double,
    mul,
)
from helpers import refuses

import cwrapjit

link = cwrapjit.link


def variables(names: str, type: Any = double) -> list[Variable]:
    return [Variable(type, name) for name in names]


# ---- inputs and outputs ----------------------------------------------------------------------------


@pytest.mark.row("T03i")
def test_unused_inputs_and_duplicates() -> None:
    x, y, unused = variables("xyu")
    assert link([x, unused, y], add(x, y))(1.0, 5.0, 2.0) == 3.0
    assert link([x], add(x, x))(2.0) == 4.0
    assert link([x, y], add(mul(x, y), mul(x, y)))(2.0, 3.0) == 12.0
    assert link([x, y], [add(x, y)] * 2)(1.0, 2.0) == (3.0, 3.0)


class Strict(D):
    """A double that records what it filters; its C rejects 0."""

    def __init__(self) -> None:
        super().__init__()
        self.filtered: list[float] = []

    def filter(self, value: Any, strict: bool = False, allow_downcast: Any = None) -> float:
        self.filtered.append(value)
        return float(value)

    def c_extract(self, name: str, sub: dict[str, str], check_input: bool = True, **kw: Any) -> str:
        fails = f'if ({name} == 0) {{ PyErr_SetString(PyExc_ValueError, "zero"); {sub["fail"]} }}'
        return f"{super().c_extract(name, sub, check_input)}\n{fails}"


@pytest.mark.quick
@pytest.mark.row("T03i")
@pytest.mark.parametrize("mode", ["struct", "function"])
@pytest.mark.parametrize("options", [{}, {"per_op": True}, {"check": True}, {"python": True}])
def test_inputs_that_nothing_uses_are_looked_at(mode: str, options: dict[str, Any]) -> None:
    x, y = variables("xy")
    strict = Strict()
    unused = Variable(strict, "unused")
    first = add(x, y)
    if "python" in options:  # the first node runs in Python
        first = FilledOp("", name="there", python=lambda x, y: x + y)(x, y)
        first.owner.op.c_code = None  # type: ignore[attr-defined]
    k = link([x, unused, y], add(mul(first, y), first), mode=mode, **options)
    assert k(1.0, 7.0, 2.0) == 9.0
    assert strict.filtered == [7.0]
    refuses(ValueError, lambda: k(1.0, 0.0, 2.0), "zero")
    assert k.run() == k.blocks.index("c_extract of unused") + 1
    assert k(1.0, 7.0, 2.0) == 9.0


def test_outputs_that_nothing_computes() -> None:
    x, y = variables("xy")
    assert link([x], x)(1.5) == 1.5
    assert link([], Constant(double, 7.0))() == 7.0
    assert link([x, y], [Constant(double, 7.0), x, add(x, y)])(1.0, 2.0) == (7.0, 1.0, 3.0)


def test_outputs_that_depend_on_no_input() -> None:
    (x,) = variables("x")
    z = add(Constant(double, 1.0), Constant(double, 2.0))
    assert link([], z)() == 3.0
    assert link([x], z)(9.0) == 3.0


def test_an_input_that_something_computes_is_an_input() -> None:
    x, y, missing = variables("xym")
    middle = add(x, missing)
    assert link([middle, y], mul(middle, y))(3.0, 4.0) == 12.0
    assert link([middle], [middle, add(middle, middle)])(3.0) == (3.0, 6.0)


class Both:
    """Returns x and 2 x."""

    def __call__(self, x: Variable) -> list[Variable]:
        return Apply(self, [x], [x.type, x.type]).outputs

    def c_code(self, node: Any, name: str, inputs: Any, outputs: Any, sub: Any) -> str:
        return f"{outputs[0]} = {inputs[0]}; {outputs[1]} = 2 * {inputs[0]};"


@pytest.mark.quick
def test_an_input_may_be_a_result_of_a_node_that_runs() -> None:
    (x,) = variables("x")
    one, two = Both()(x)
    assert link([x, one], [one, two])(1.0, 10.0) == (10.0, 2.0)
    assert link([x], two)(4.0) == 8.0


# ---- names -----------------------------------------------------------------------------------------


@pytest.mark.row("T03", "A19", "A32")
def test_names_are_unique_whatever_variables_are_called() -> None:
    a, b, c, d, e = (Variable(double, name) for name in ("x", "x", "ä b", None, "V1_x"))
    k = link([a, b, c, d, e], add(add(a, b), add(c, add(d, e))))
    assert k(1.0, 2.0, 3.0, 4.0, 5.0) == 15.0
    for name in ("double V1_x;", "double V2_x;", "double V3;", "double V4;", "double V5_V1_x;"):
        assert name in k.source
    assert "c_extract of ä b" in k.blocks and "c_extract of V4" in k.blocks


@pytest.mark.quick
def test_names_that_would_end_a_comment_stay_out_of_the_text() -> None:
    names = ["*/ #error", "a\nb", "a\\", "", "q" * 500, 5, object(), "int", "failure", "label_1", "1"]
    inputs = [Variable(double, name) for name in names]  # type: ignore[arg-type]
    total: Any = inputs[0]
    for variable in inputs[1:]:
        total = add(total, variable)
    k = link(inputs, total)
    assert k(*[1.0] * len(names)) == len(names)
    assert "#error" not in k.source
    assert "V5_" + "q" * 500 in k.source


class Equal(Variable):
    """A variable that equals everything, and has no hash."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return True


def test_variables_are_told_apart_by_identity() -> None:
    x, y = Equal(double, "same"), Equal(double, "same")
    assert link([x, y], FilledOp("{z} = {x} - {y};")(x, y))(5.0, 3.0) == 2.0
    k = link([x, y], FilledOp("{z} = {x} - {y};")(x, y), updates=None, mode="function")
    assert k(5.0, 3.0) == 2.0


def test_labels_of_ops_come_from_their_class_or_what_they_print() -> None:
    class Halve:
        def c_code(self, node: Any, name: str, inputs: Any, outputs: Any, sub: Any) -> str:
            return f"{outputs[0]} = {inputs[0]} / 2;"

    class Angry(Halve):
        def __str__(self) -> str:
            raise ValueError("no")

    class Loud(Halve):
        def __str__(self) -> str:
            return "half*/"

    (x,) = variables("x")
    for op, label in ((Halve(), "Halve"), (Angry(), "Angry"), (Loud(), "Loud")):
        k = link([x], Apply(op, [x], [double]).outputs)
        assert k(3.0) == 1.5
        assert k.blocks[-1] == f"c_code of {label}(x)"


# ---- order -----------------------------------------------------------------------------------------


def test_nodes_run_in_the_order_in_which_outputs_need_them() -> None:
    trace = Trace()
    x, y = variables("xy")

    def step(word: str, *inputs: Variable) -> Variable:
        return FilledOp("{z} = 0;" + trace.mark(word), name=word)(*inputs)

    a = step("a", x)
    b = step("b", a, y)
    c = step("c", x)
    d = step("d", c, b)
    link([x, y], [d, a])(1.0, 2.0)
    assert trace.words() == ["c", "a", "b", "d"]
    for _ in range(3):
        link([x, y], [b, d])(1.0, 2.0)
        assert trace.words() == ["a", "b", "c", "d"]


def test_ten_thousand_nodes_in_a_row_need_no_recursion() -> None:
    x, y = variables("xy")
    missing = Variable(double, "absent")
    chain: Variable = missing
    limit = sys.getrecursionlimit()
    for _ in range(10_000):
        chain = add(chain, y)
    error = refuses(ValueError, lambda: link([x, y], chain), "absent is needed by add(absent, y)")
    assert len(str(error)) < 200
    assert sys.getrecursionlimit() == limit


# ---- invalid graphs --------------------------------------------------------------------------------


def test_cycles_name_their_nodes() -> None:
    x, a, b = variables("xab")
    for op, inputs, output in ((add, [b, x], a), (mul, [a, x], b)):
        output.owner = types.SimpleNamespace(op=op, inputs=inputs, outputs=[output])
    refuses(ValueError, lambda: link([x], a), "cycle: add(b, x) needs mul(a, x) needs add(b, x)")
    assert link([x, b], a)(1.0, 2.0) == 3.0  # b is an input, so there is no cycle

    own = Variable(double, "own")
    own.owner = types.SimpleNamespace(op=add, inputs=[own, x], outputs=[own])
    refuses(ValueError, lambda: link([x], own), "cycle: add(own, x) needs add(own, x)")


@pytest.mark.quick
def test_long_cycles_are_told_in_short() -> None:
    (x,) = variables("x")
    ring = [Variable(double, f"v{k}") for k in range(3000)]
    for k, variable in enumerate(ring):
        variable.owner = types.SimpleNamespace(op=add, inputs=[ring[k - 1], x], outputs=[variable])
    error = refuses(ValueError, lambda: link([x], ring[5]), "add(v4, x) needs add(v3, x)", "needs ...")
    assert len(str(error)) < 400


def test_exceptions_of_attributes_go_on() -> None:
    class Moody(Variable):
        @property
        def owner(self) -> Any:
            raise ZeroDivisionError("not today")

        @owner.setter
        def owner(self, value: Any) -> None:
            pass

    (x,) = variables("x")
    refuses(ZeroDivisionError, lambda: link([x], Moody(double, "m")), "not today")


@pytest.mark.row("A06i")
def test_any_classes_with_these_attributes_are_a_graph() -> None:
    space = types.SimpleNamespace
    x = space(type=double, owner=None, name="x")
    two = space(type=double, owner=None, name=None, data=2.0)
    z = space(type=double, name="z")
    z.owner = space(op=mul, inputs=(x, two), outputs=(z,))
    assert link([x], z)(21.0) == 42.0


# ---- constants -------------------------------------------------------------------------------------


class Literal(D):
    def c_literal(self, data: Any) -> Any:
        return None if data is None else "INFINITY" if data == float("inf") else repr(data)


@pytest.mark.row("T04i")
def test_constants_with_a_literal_stand_in_the_text() -> None:
    type = Literal()
    (x,) = variables("x", type)
    k = link([x], add(x, Constant(type, 4.12345678)))
    assert "(4.12345678)" in k.source and k(1.0) == 5.12345678
    assert k.blocks == ("c_extract of x", "c_init of V2", "c_code of add(x, 4.12345678)")
    assert link([x], add(x, Constant(type, float("inf"))))(1.0) == float("inf")


def test_constants_without_a_literal_have_a_block() -> None:
    (x,) = variables("x")
    two = Constant(double, 2.0)
    for mode in ("struct", "function"):
        k = link([x], [mul(x, two), add(x, two)], mode=mode)
        assert k(3.0) == (6.0, 5.0)
        assert k.blocks[:2] == ("c_extract of x", "c_extract of V2")
        assert k.blocks[-1] == "c_code of add(x, V2)"


# ---- steps -----------------------------------------------------------------------------------------


class Scalar(Type):
    """A type without C."""


def test_nodes_in_python_cut_the_graph() -> None:
    x, y = variables("xy")
    host = FilledOp(name="host", python=lambda value: value + 100.0)
    host.c_code = None  # type: ignore[assignment, method-assign]
    z = add(mul(x, y), host(add(x, y)))
    refuses(NotImplementedError, lambda: link([x, y], z), "op FilledOp has no c_code, which host(V", "needs")
    for mode in ("struct", "function"):
        k = link([x, y], z, python=True, mode=mode)
        assert k(2.0, 3.0) == 111.0
        assert [block.split()[0] for block in k.blocks[-4:]] == ["c_code", "c_code", "perform", "c_code"]
    host.python_fallback = True  # type: ignore[attr-defined]
    assert link([x, y], z)(2.0, 3.0) == 111.0


@pytest.mark.quick
def test_a_node_with_neither_c_nor_python() -> None:
    (x,) = variables("x")
    nothing = types.SimpleNamespace()
    z = Apply(nothing, [x], [double]).outputs[0]
    refuses(NotImplementedError, lambda: link([x], z), "op SimpleNamespace has no c_code")
    refuses(NotImplementedError, lambda: link([x], z, python=True), "neither c_code nor perform")
    nothing.perform = None
    refuses(NotImplementedError, lambda: link([x], z, python=True), "neither c_code nor perform")


# ---- fusion ----------------------------------------------------------------------------------------


@pytest.mark.quick
def test_fusion_is_asked_where_two_ops_fuse(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    module = types.ModuleType("cwrapjit.graph.fusion")
    x, y = variables("xy")
    fusing = FilledOp("{z} = {x} + {y};", name="fusing", python=lambda a, b: a + b)
    fusing.fuses = True  # type: ignore[attr-defined]
    z = fusing(fusing(x, y), y)

    def fuse(nodes: Any, outputs: Any) -> list[Any]:
        asked.append((nodes, outputs))
        return [FilledOp("{z} = {x} + 2 * {y};", name="fused")(x, y)]

    module.fuse = fuse  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "cwrapjit.graph.fusion", module)
    k = link([x, y], z)
    assert k(1.0, 2.0) == 5.0
    assert k.blocks[-1] == "c_code of fused(x, y)"
    assert asked == [((z.owner.inputs[0].owner, z.owner), (z,))]
    for option in ("per_op", "check"):
        assert link([x, y], z, **{option: True})(1.0, 2.0) == 5.0
    link([x, y], fusing(x, y))
    assert len(asked) == 1
    module.fuse = lambda nodes, outputs: []  # type: ignore[attr-defined]
    refuses(RuntimeError, lambda: link([x, y], z), "another number of outputs")


# ---- plans that Python computes and C checks --------------------------------------------------------


def with_item(found: tuple[Any, ...], *changes: Any) -> tuple[Any, ...]:
    """Returns the tuple with another item at the place that the indices in `changes` lead to."""
    *places, item = changes
    if not places:
        return item  # type: ignore[no-any-return]
    at = places[0]
    return (*found[:at], with_item(found[at], *places[1:], item), *found[at + 1 :])


@pytest.mark.quick
@pytest.mark.parametrize(
    "changes",
    [
        (0, ()), (0, 0, None), (0, 1, ()), (0, 1, [1]), (0, 1, 0, None), (0, 1, 0, 2, 5),
        (0, 1, 0, 4, 3), (0, 1, 0, 4, "1"), (0, 2, 0, ()), (0, 2, 0, 3, (0, 3)), (0, 2, 0, 3, (0, -1)),
        (0, 2, 0, 3, (0, 10**30)), (0, 2, 0, 3, (0, "1")), (0, 2, 0, 4, (3,)), (0, 2, 0, 5, 3), (0, 3, None),
        (0, 4, (None, None, None, None)), (0, 4, ("x", 5)), (0, 5, (3,)), (1, 0, 0, 1), (1, 0, 1, False),
        (1, 0, 2, ((3, 0),)), (1, 0, 2, ((-1, 0),)), (1, 0, 2, ((0, 4),)), (1, 0, 2, ((0, -1),)),
        (1, 0, 2, ((0, "1"),)), (1, 0, 2, (0, 1)),
        (1, 0, 3, 2), (1, 0, 3, -1), (2, ((),)), (2, 0, 0, None), (2, 0, 5, None), (2, 0, 5, ("", 5)),
        (3, 0, 3, "1"), (3, 0, 11, ()), (4, None), (4, 1, ("",)), (4, 3, ("",)),
    ],
)  # fmt: skip
def test_numbers_that_are_none_are_not_taken(monkeypatch: pytest.MonkeyPatch, changes: Any) -> None:
    from cwrapjit.graph import linking

    x, y = variables("xy")
    z, whole = add(x, y), linking.read_graph
    monkeypatch.setattr(
        linking, "read_graph", lambda *given, **flags: with_item(whole(*given, **flags), *changes)
    )
    refuses(RuntimeError, lambda: link([x, y], z), "read_graph() returned no graph")
    monkeypatch.undo()
    assert link([x, y], z)(1.0, 2.0) == 3.0


@pytest.mark.quick
@pytest.mark.parametrize("number", range(3))
def test_a_variable_without_storage_is_an_error_of_the_call(
    monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    from cwrapjit.graph import linking

    x, y = variables("xy")
    said, whole = (0, 1, number, 7, False), linking.read_graph
    monkeypatch.setattr(
        linking, "read_graph", lambda *given, **flags: with_item(whole(*given, **flags), *said)
    )
    k = link([x, y], add(x, y))
    refuses(TypeError, lambda: k(1.0, 2.0), "a storage must be a list of one object, not nothing")
    cells: list[list[Any]] = [[1.0], [2.0], [None]]
    assert k.bind(*cells).run() == 0
    assert cells[2] == [3.0]
