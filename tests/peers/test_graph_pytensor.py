"""Tests graphs of PyTensor's classes: link() accepts them if their C is plain C, with PyTensor's results."""

from __future__ import annotations

import math
import os
import tempfile
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from graph_in_place import both, can_be_ordered, graphs, mul, nodes_of
from helpers import python, refuses
from hypothesis import assume, given, settings

import cwrapjit
import cwrapjit.graph as cg

# Keeps its cache of compiled files out of the checkout and the home folder.
os.environ.setdefault(
    "PYTENSOR_FLAGS", "base_compiledir=" + os.path.join(tempfile.gettempdir(), "cwrapjit-pytensor")
)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytensor = pytest.importorskip("pytensor")
    try:
        import pytensor.scalar as ps
        import pytensor.tensor as pt
        from pytensor.compile.mode import Mode
        from pytensor.graph.basic import Apply
        from pytensor.graph.destroyhandler import DestroyHandler
        from pytensor.graph.fg import FunctionGraph
        from pytensor.graph.op import Op
        from pytensor.graph.utils import InconsistencyError
        from pytensor.link.c.op import COp
        from pytensor.link.c.type import CDataType, CType, EnumList, generic
    except ImportError as error:
        pytest.skip(f"this PyTensor is too old: {error}", allow_module_level=True)

pytestmark = [pytest.mark.row("A06i"), pytest.mark.filterwarnings("ignore")]
both_forms = pytest.mark.parametrize("mode", ("struct", "function"))


def own_results(inputs: Any, outputs: Any, *args: Any, linker: str = "py") -> Any:
    """Returns PyTensor's results."""
    return pytensor.function(inputs, outputs, mode=Mode(linker=linker, optimizer=None))(*args)


# ---- classes derived from PyTensor's ---------------------------------------------------------------


class Double(CType):
    """The document's double, derived from PyTensor's class."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def filter(self, data, strict=False, allow_downcast=None):
        if strict and not isinstance(data, float):
            raise TypeError("Expected a float!")
        return float(data)

    def c_declare(self, name, sub, check_input=True):
        return f"double {name};"

    def c_init(self, name, sub):
        return f"{name} = 0.0;"

    def c_extract(self, name, sub, check_input=True, **kwargs):
        return f"""
        if (!PyFloat_Check(py_{name})) {{
            PyErr_SetString(PyExc_TypeError, "expected a float");
            {sub["fail"]}
        }}
        {name} = PyFloat_AsDouble(py_{name});
        """

    def c_sync(self, name, sub):
        return f"""
        Py_XDECREF(py_{name});
        py_{name} = PyFloat_FromDouble({name});
        if (!py_{name}) {{
            Py_XINCREF(Py_None);
            py_{name} = Py_None;
        }}
        """

    def c_cleanup(self, name, sub):
        return ""

    def c_code_cache_version(self):
        return (1,)


class Binary(COp):
    """Computes x SIGN y; the root of a negative sum fails."""

    __props__ = ("sign",)

    def __init__(self, sign):
        self.sign = sign

    def make_node(self, x, y):
        return Apply(self, [x, y], [x.type()])

    def perform(self, node, inputs, output_storage):
        x, y = inputs
        output_storage[0][0] = x + y if self.sign == "+" else x * y

    def c_code(self, node, name, inputs, outputs, sub):
        (x, y), (z,) = inputs, outputs
        return f"""
        if ({x} > 1e6) {{
            PyErr_Format(PyExc_OverflowError, "%d%% too large", 100);
            {sub["fail"]}
        }}
        {z} = {x} {self.sign} {y};
        """

    def c_code_cache_version(self):
        return (1,)


def graph_of_the_document() -> tuple[Any, Any]:
    double = Double()
    x, y, z = double("x"), double("y"), double("z")
    return [x, y, z], Binary("*")(Binary("+")(x, y), z)


@both_forms
@pytest.mark.parametrize("per_op", [False, True])
def test_own_types_and_ops(mode: str, per_op: bool) -> None:
    inputs, b = graph_of_the_document()
    k = cwrapjit.link(inputs, b, mode=mode, per_op=per_op)
    for values in ([1.0, 2.0, 3.0], ["1.5", 2, -0.25], [0.1, 0.2, 0.3]):
        wanted = own_results(inputs, b, *values)
        assert k(*values) == wanted
        assert type(k(*values)) is type(wanted)
    refuses(OverflowError, lambda: k(2e6, 1, 1), "100% too large")
    assert k(x=1, y=2, z=3) == 9.0
    refuses(ValueError, lambda: k("one", 2, 3), "'one'")
    with pytest.raises(TypeError):
        k(None, 2, 3)


@both_forms
def test_own_types_and_ops_are_compared_with_their_python_reference(mode: str) -> None:
    inputs, b = graph_of_the_document()
    assert cwrapjit.link(inputs, b, mode=mode, check=True)(1.0, 2.0, 3.0) == 9.0


def test_the_same_as_pytensors_c_linker() -> None:
    if not pytensor.config.cxx:
        pytest.skip("PyTensor has no C++ compiler here")
    inputs, b = graph_of_the_document()
    assert cwrapjit.link(inputs, b)(1.5, 2, 3) == own_results(inputs, b, 1.5, 2, 3, linker="c")


# ---- PyTensor's own types and ops ------------------------------------------------------------------

EXPRESSIONS = [
    lambda x, y: x + y,
    lambda x, y: x * y - x,
    lambda x, y: x / y,
    lambda x, y: -x * ps.exp(y) + ps.sqrt(y),
    lambda x, y: ps.sin(x) * ps.cos(y) + ps.tanh(x * y),
    lambda x, y: x * 2.5 + ps.log(y) * 4.12345678,
    lambda x, y: x**y,
    lambda x, y: ps.sqr(x) + ps.sqr(y) + x + x,
]


@both_forms
@pytest.mark.parametrize("number", range(len(EXPRESSIONS)))
def test_graphs_of_pytensors_scalars(number: int, mode: str) -> None:
    x, y = ps.float64("x"), ps.float64("y")
    z = EXPRESSIONS[number](x, y)
    k = cwrapjit.link([x, y], z, mode=mode)
    for a, b in ((1.5, 2.25), (0.1, 7.0), (3.0, 0.3)):
        wanted = own_results([x, y], z, a, b)
        got = k(a, b)
        assert type(got) is type(wanted) is np.float64
        assert math.isclose(got, wanted, rel_tol=1e-15)


def ready_made() -> dict[str, tuple[Any, Any, Any]]:
    """Returns graphs of PyTensor ops in plain C: an input, an output, an argument."""
    from pytensor.compile.ops import deep_copy_op, view_op
    from pytensor.scalar.basic import Composite
    from pytensor.tensor.shape import shape, shape_i

    x, f, i, b = ps.float64("x"), ps.float32("f"), ps.int64("i"), ps.bool("b")
    s, v, m = pt.dscalar("s"), pt.dvector("v"), pt.dmatrix("m")
    vector, matrix = np.arange(6.0)[::2], np.ones((2, 3))
    return {
        "composite": (x, Composite([x], [x * x + ps.exp(x)])(x), 1.5),
        "switch": (x, ps.switch(ps.lt(x, 1.0), x, -x), 1.5),
        "integers": (i, ps.int_div(i, 2) + i % 4, -3),
        "float32": (f, f * f, np.float32(1.1)),
        "bool": (b, ps.invert(b), True),
        "cast": (x, ps.cast(x, "int32"), 3.7),
        "erf": (x, ps.erf(x), 0.5),
        "deep copy": (v, deep_copy_op(v), vector),
        "view": (v, view_op(v), vector),
        "one length": (m, shape_i(m, 1), matrix),
        "shape": (m, shape(m), matrix),
        "to array": (x, pt.tensor_from_scalar(x), 1.5),
        "to scalar": (s, pt.scalar_from_tensor(s), 1.5),
        "reshape": (v, v.reshape((3, 1)), vector),
        "slice": (v, v[1:], vector),
        "alloc": (x, pt.alloc(pt.tensor_from_scalar(x), 3), 1.5),
    }


@both_forms
@pytest.mark.parametrize("per_op", [False, True])
@pytest.mark.parametrize("name", ready_made())
def test_pytensors_own_ops(name: str, per_op: bool, mode: str) -> None:
    """The graph is one C function, or one per op, which is PyTensor's way."""
    x, z, value = ready_made()[name]
    got = cwrapjit.link([x], z, mode=mode, per_op=per_op)(value)
    wanted = own_results([x], z, value)
    assert type(got) is type(wanted)
    assert (np.asarray(got).dtype, np.shape(got)) == (np.asarray(wanted).dtype, np.shape(wanted))
    # PyTensor's compiler may fuse products and sums, which may change the last bit.
    np.testing.assert_allclose(got, wanted, rtol=1e-15)


class Total(COp):
    """Sums a vector's squares to a vector of length 1, in plain C."""

    __props__ = ()

    def make_node(self, x):
        return Apply(self, [x], [pt.dvector()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = np.array([sum(v * v for v in inputs[0])])

    def c_code(self, node, name, inputs, outputs, sub):
        (x,), (z,) = inputs, outputs
        return f"""
        npy_intp one = 1;
        double sum = 0;
        for (npy_intp i = 0; i < PyArray_DIMS({x})[0]; i++) {{
            double v = *(double *)PyArray_GETPTR1({x}, i);
            sum += v * v;
        }}
        if (!{z} || PyArray_DIMS({z})[0] != 1) {{
            Py_XDECREF({z});
            {z} = (PyArrayObject *)PyArray_EMPTY(1, &one, NPY_DOUBLE, 0);
            if (!{z}) {sub["fail"]}
        }}
        *(double *)PyArray_DATA({z}) = sum;
        """

    def c_code_cache_version(self):
        return (1,)


@pytest.mark.quick
@both_forms
def test_pytensors_arrays(mode: str) -> None:
    x = pt.dvector("x")
    z = Total()(x)
    k = cwrapjit.link([x], z, mode=mode)
    values = np.arange(6.0)[::2]
    first = k(values)
    assert first.tolist() == own_results([x], z, values).tolist() == [20.0]
    assert k(np.ones(3)).tolist() == [3.0]
    assert first.tolist() == [20.0], "the caller's result is the caller's"
    k.cells[1][0] = None
    k.run()
    at = k.cells[1][0].ctypes.data
    for _ in range(5):
        assert k.run() == 0
        assert k.cells[1][0].ctypes.data == at, "nobody else has it: it is used again"
    with pytest.raises(TypeError):
        k(np.ones((2, 2)))
    k.cells[0][0] = None
    assert k.run() == 1 and type(k.error) is ValueError
    k.cells[0][0] = np.ones(3, "i4")
    assert k.run() == 1 and type(k.error) is TypeError


class Scaled(COp):
    """Multiplies x by an enumerated constant, a parameter in PyTensor's way."""

    __props__ = ("how",)
    params_type = EnumList(("ONCE", "once"), ("TWICE", "twice"), ctype="int")

    def __init__(self, how):
        self.how = how

    def get_params(self, node):
        return self.params_type.filter(self.how)

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage, params):
        output_storage[0][0] = inputs[0] * (2 if params == self.params_type.TWICE else 1)

    def c_code(self, node, name, inputs, outputs, sub):
        return f"{outputs[0]} = {inputs[0]} * ({sub['params']} == TWICE ? 2 : 1);"

    def c_code_cache_version(self):
        return (1,)


@pytest.mark.quick
@both_forms
@pytest.mark.parametrize("how, wanted", [("once", 1.5), ("twice", 3.0)])
def test_pytensors_enumerations_as_parameters(how: str, wanted: float, mode: str) -> None:
    x = Double()("x")
    assert cwrapjit.link([x], Scaled(how)(x), mode=mode)(1.5) == wanted


class Pair(COp):
    """Makes a tuple with an object twice."""

    __props__ = ()

    def make_node(self, x):
        return Apply(self, [x], [generic()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = (inputs[0], inputs[0])

    def c_code(self, node, name, inputs, outputs, sub):
        (x,), (z,) = inputs, outputs
        return f"""
        Py_XDECREF({z});
        {z} = PyTuple_New(2);
        if (!{z}) {sub["fail"]}
        Py_INCREF({x});
        PyTuple_SetItem({z}, 0, {x});
        Py_INCREF({x});
        PyTuple_SetItem({z}, 1, {x});
        """


@pytest.mark.row("J01")
@both_forms
@pytest.mark.parametrize("axis", [0, 1])
def test_join_reads_and_moves_members_of_arrays(axis: int, mode: str) -> None:
    """The C text of join uses data and dimensions as members of PyArrayObject_fields."""
    a, b = pt.dmatrix("a"), pt.dmatrix("b")
    k = cwrapjit.link([a, b], pt.join(axis, a, b), mode=mode)
    for rows, columns in [(3, 4), (3, 4), (2, 2), (0, 4)]:
        first = np.arange(rows * columns, dtype=float).reshape(rows, columns)
        second = -np.ones((rows, columns))[::-1]
        assert np.array_equal(k(first, second), np.concatenate([first, second], axis))


@both_forms
def test_pytensors_generic_objects(mode: str) -> None:
    x = generic("x")
    k = cwrapjit.link([x], Pair()(x), mode=mode)
    for value in ([1], None, "text"):
        first, second = k(value)
        assert first is second is value


class MakesPointer(COp):
    __props__ = ()

    def make_node(self, x):
        return Apply(self, [x], [CDataType("double *", "free")()])

    def perform(self, node, inputs, output_storage):
        raise NotImplementedError

    def c_code(self, node, name, inputs, outputs, sub):
        z = outputs[0]
        return f"{z} = malloc(sizeof *{z}); if (!{z}) {sub['fail']} *{z} = {inputs[0]};"


class ReadsPointer(COp):
    __props__ = ()

    def make_node(self, p):
        return Apply(self, [p], [Double()()])

    def perform(self, node, inputs, output_storage):
        raise NotImplementedError

    def c_code(self, node, name, inputs, outputs, sub):
        return f"{outputs[0]} = *{inputs[0]};"


@pytest.mark.quick
@both_forms
def test_pytensors_pointers_in_capsules(mode: str) -> None:
    x = Double()("x")
    p = MakesPointer()(x)
    make = cwrapjit.link([x], p, mode=mode)
    held = p.type("held")
    read = cwrapjit.link([held], ReadsPointer()(held), mode=mode)
    capsules = [make(float(n)) for n in range(5)]
    assert [read(capsule) for capsule in capsules] == [0.0, 1.0, 2.0, 3.0, 4.0]
    del make  # the capsules' destructor is code of the graph
    assert read(capsules[-1]) == 4.0
    del capsules


# ---- what is not supported -------------------------------------------------------------------------


class InPython(Op):
    __props__ = ()

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0] + 100


@both_forms
def test_ops_without_c_run_in_python_where_that_is_wanted(mode: str) -> None:
    x = Double()("x")
    z = Binary("+")(InPython()(x), x)
    refuses(NotImplementedError, lambda: cwrapjit.link([x], z, mode=mode), "InPython")
    assert cwrapjit.link([x], z, mode=mode, python=True)(1.0) == own_results([x], z, 1.0) == 102.0


@pytest.mark.quick
def test_ops_in_cpp_are_refused_as_such() -> None:
    a, b = pt.dvector("a"), pt.dvector("b")
    caught = refuses(cwrapjit.CompileError, lambda: cwrapjit.link([a, b], a + b), "this is C++")
    assert "this is C++" in str(caught), "it comes first"


def test_linking_does_not_import_pytensor() -> None:
    """link() reads attributes, and needs no class of another library."""
    python(
        """
import sys, types, cwrapjit, cwrapjit.graph as cg
x, y = cg.float64("x"), cg.float64("y")
assert cwrapjit.link([x, y], x + y)(1.0, 2.0) == 3.0
assert "pytensor" not in sys.modules
"""
    )


class Box:
    """An object with these attributes, which is enough for a part of a graph."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


@both_forms
def test_graphs_of_no_library_at_all(mode: str) -> None:
    class Type:
        c_declare = Double.c_declare
        c_init = Double.c_init
        c_extract = Double.c_extract
        c_sync = Double.c_sync
        c_cleanup = Double.c_cleanup

    class Twice:
        def c_code(self, node, name, inputs, outputs, sub):
            return f"{outputs[0]} = 2 * {inputs[0]};"

    kind = Type()
    x = Box(type=kind, owner=None, name="x")
    z = Box(type=kind, owner=None, name=None)
    z.owner = Box(op=Twice(), inputs=[x], outputs=[z])
    assert cwrapjit.link([x], z, mode=mode)(1.5) == 3.0
    z.owner = Box(op=Twice(), inputs=(x,), outputs=(z,))
    assert cwrapjit.link((x,), (z,), mode=mode)(1.5) == 3.0


# ---- ops that overwrite --------------------------------------------------------------------------------


@pytest.mark.row("G21")
@given(graph=graphs(most=8))
@settings(max_examples=75)
def test_pytensors_own_handler_agrees(graph: Any) -> None:
    """link() and DestroyHandler find an order for the same graphs, but the latter ignores outputs."""
    given, outputs = graph
    assume(all(node.op is not both for node in nodes_of(outputs)))  # it takes the view for one of the input
    possible, but_for_outputs = (can_be_ordered(given, each, []) for each in (outputs, last_of(outputs)))
    assume(possible or not but_for_outputs)
    mutable = [cg.In(v, mutable=True) for v in given]
    if pytensor_graph(given, outputs) is None:
        refuses(ValueError, lambda: cwrapjit.link(mutable, outputs), "overwrites")
    else:
        cwrapjit.link(mutable, outputs, optimize="off")


def last_of(outputs: Sequence[Any]) -> list[Any]:
    """Returns the graph with a new op on each output, so that nothing else uses the outputs."""
    return [mul(v, v) for v in outputs]


def pytensor_graph(given: Sequence[Any], outputs: Sequence[Any]) -> Any:
    """Builds the graph with PyTensor's classes and its handler, or returns None if that rejects it."""

    def theirs_of(op: Any, count: int) -> Any:
        class Theirs(Op):
            destroy_map = getattr(op, "destroy_map", {})
            view_map = getattr(op, "view_map", {})

            def make_node(self, *inputs: Any) -> Any:
                return Apply(self, list(inputs), [pt.dvector() for _ in range(count)])

            def perform(self, *args: Any) -> None:
                raise NotImplementedError

        return Theirs()

    made: dict[int, Any] = {id(v): pt.dvector() for v in given}
    for node in nodes_of(outputs):
        for variable in node.inputs:
            if id(variable) not in made:
                made[id(variable)] = pt.constant(variable.data)
        theirs = theirs_of(node.op, len(node.outputs)).make_node(*(made[id(v)] for v in node.inputs))
        made |= {id(v): t for v, t in zip(node.outputs, theirs.outputs, strict=True)}
    results = [made[id(v)] if id(v) in made else pt.constant(v.data) for v in outputs]
    try:
        fgraph = FunctionGraph([made[id(v)] for v in given], results, clone=False)
        fgraph.attach_feature(DestroyHandler())
        fgraph.toposort()
    except InconsistencyError:
        return None
    except ValueError as error:
        assert str(error) == "graph contains cycles"
        return None
    return fgraph
