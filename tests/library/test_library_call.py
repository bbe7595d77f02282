"""Tests the call path of library functions with hand-made descriptions."""

from __future__ import annotations

import ctypes
import inspect
import itertools
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from leaks import keeps_nothing
from library_tools import from_c

import cwrapjit
from cwrapjit import _cwrapjit
from cwrapjit.library.description import Argument, Function, Parameter, Result
from cwrapjit.library.mapping import Mapper
from cwrapjit.library.options import Options
from cwrapjit.library.signatures import annotation
from cwrapjit.library.thunks import Writer

SLOT = """
typedef union cwj_test_slot {
    long long i; unsigned long long u; double d; float f; void *p;
    struct { double re, im; } z; struct { float re, im; } c;
} slot;
"""
numbers = itertools.count()


@pytest.fixture(scope="module")
def unit():
    return _cwrapjit.library_environment("wrapped", header="#include <stdlib.h>\n#include <string.h>\n")


@pytest.fixture
def make(unit):
    """Returns make(C text, thunk's statement, parameters, arguments, result), which returns a callable."""

    def make(text, thunk, parameters, arguments=(), result=None, **more):
        name = f"thunk_{next(numbers)}"
        whole = f"{SLOT}{text}\nvoid {name}(slot *s) {{ {thunk} }}\n"
        owner, (address,) = _cwrapjit.compile_thunks(unit, whole, [name])
        arguments = [Argument(each) if isinstance(each, str) else each for each in arguments]
        for each in parameters:
            if 0 <= each.argument < len(arguments):
                arguments[each.argument].annotation = annotation(each)
        names = "f", "lib.f", "The doc."
        whole = *names, arguments, parameters, result or Result(), address, address, owner
        return _cwrapjit.wrap_function(Function(*whole, **more))

    return make


def refuses(error, match, call, *args, **kwargs):
    with pytest.raises(error, match=match):
        call(*args, **kwargs)


def value(type, argument, **more):
    return Parameter("value", type, argument, **more)


SCALARS = {
    "bool": ("i", "unsigned char"), "int8": ("i", "signed char"), "int64": ("i", "long long"),
    "float32": ("f", "float"), "float64": ("d", "double"), "complex64": ("c", ""), "complex128": ("z", ""),
}  # fmt: skip


def word(type):
    return {"intc": "int", "int64": "int", "float64": "float", "complex128": "complex"}.get(type, type)


def identity(make, type, **more):
    member, ctype = SCALARS[type]
    thunk = f"s[0].{member} = {f'({ctype})' if ctype else ''}s[1].{member};"
    return make("", thunk, [value(type, 0, **more)], ["x"], Result("value", type))


@pytest.mark.parametrize("type", ["float32", "float64", "complex64", "complex128"])
def test_floats_take_and_round_numbers(make, type):
    f = identity(make, type)
    info = np.finfo(type)
    for number in (float(info.min), float(info.max), 0.5, 3, np.int8(7), np.float32(1.5), np.float16(-2.5)):
        assert f(number) == number
    assert np.isnan(f(float("nan"))) and np.isinf(f(float("inf")))
    bits = 25 if type in ("float32", "complex64") else 54
    assert f(2**bits + 1) == 2**bits and f(-(2**bits) - 3) == -(2**bits) - 4
    refuses(OverflowError, "argument x: [0-9]+ is out of range of", f, 10**400)
    assert f(2**bits) == 2**bits
    for wrong in ("1", None, [1.0], b"1"):
        refuses(TypeError, f"Expected an argument of type {word(type)} for argument x, got", f, wrong)
    if type.startswith("float"):
        refuses(TypeError, "got complex", f, 1j)
        assert type != "float64" or isinstance(f(1), float)
    else:
        assert f(1 - 2j) == 1 - 2j and f(np.complex64(2j)) == 2j
    if type == "float32":
        refuses(RuntimeWarning, "overflow encountered in cast", f, 1e300)  # a warning is an error here


@pytest.mark.quick
def test_interfaces_ask_for_the_type_alone(make):
    fits = {}
    offered = [True, 1, 1.5, 1j, np.int8(1), np.int64(1), np.float32(1), np.float64(1), np.complex64(1)]
    for type in SCALARS:
        f = identity(make, type)
        fits[type] = [k for k, each in enumerate(offered) if f._fits(each)[0]]
        assert all(f(offered[k]) == offered[k] for k in fits[type])
    taken = {"bool": [0], "int8": [4], "int64": [1, 5], "float32": [6], "float64": [2, 7]}
    assert fits == {**taken, "complex64": [8], "complex128": [3]}
    assert f._fits() is None


def test_address_and_capsule(unit):
    rand, hypot = (_cwrapjit.library_symbol(unit, name) for name in ("rand", "hypot"))
    signature = "double (double, double)"
    description = Function("hypot", "m.hypot", "", [], [], Result(), rand, hypot, unit, signature=signature)
    f = _cwrapjit.wrap_function(description)
    assert ctypes.CFUNCTYPE(*[ctypes.c_double] * 3)(f.address)(3, 4) == 5
    capsule, count = f.capsule, sys.getrefcount(f)
    name = ctypes.pythonapi.PyCapsule_GetName
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    assert name(capsule) == signature.encode()
    del capsule
    assert sys.getrefcount(f) == count - 1


MATMUL = """
static void f(int m, int n, int k, const double *a, const double *b, double *c) {
    for (int i = 0; i < m; i++) for (int j = 0; j < n; j++) {
        c[i * n + j] = 0;
        for (int l = 0; l < k; l++) c[i * n + j] += a[i * k + l] * b[l * n + j];
    }
}
"""


@pytest.fixture
def matmul(make):
    def array(argument, *dims, **more):
        return Parameter("array", "float64", argument, dims=tuple((each,) for each in dims), **more)

    hidden = [Parameter("hidden", "intc", value=(each,), name=each) for each in "mnk"]
    arrays = [array(0, "m", "k"), array(1, "k", "n"), array(-1, "m", "n", intent="out", name="C")]
    thunk = "f(s[1].i, s[2].i, s[3].i, s[4].p, s[5].p, s[6].p);"
    return make(MATMUL, thunk, hidden + arrays, ["A", "B"])


def test_shapes_are_solved_and_checked(matmul):
    rng = np.random.default_rng(1)
    for m, n, k in [(2, 3, 4), (1, 1, 1), (0, 3, 2), (3, 0, 2), (3, 2, 0)]:
        a, b = rng.random((m, k)), rng.random((k, n))
        c = matmul(a, b)
        assert np.allclose(c, a @ b) and c.shape == (m, n) and c.flags.owndata and c.flags.writeable
    refuses(
        ValueError,
        r"dim 0 of argument B is 3, but must be 4 \(k, k is 4 by argument A\)",
        matmul,
        a := np.ones((3, 4)),
        a,
    )


@pytest.mark.quick
def test_hidden_integers_and_expressions(make):
    hidden = Parameter("hidden", "int8", value=("n",), name="n")
    packed = Parameter("array", "float64", 0, dims=(("n", "n", 1, "+", "*", 2, "/"),))
    f = make(
        "",
        "s[0].i = s[1].i;",
        [hidden, packed, Parameter("array", "uint8", 1, dims=(("n",),))],
        ["ap", "x"],
        Result("value", "intc"),
    )
    assert f(np.zeros(6), np.zeros(3, "u1")) == 3
    refuses(ValueError, "argument ap is 5, but must be 6", f, np.zeros(5), np.zeros(3, "u1"))
    refuses(ValueError, "n would be 128, .* out of range", f, np.zeros(8256), np.zeros(128, "u1"))
    n = value("int64", 0, symbol="n")
    for operation in ((0, "/"), (0, "%"), (2**62, "*")):
        hidden = Parameter("hidden", "int64", value=("n", *operation), name="h")
        g = make("", "s[0].i = s[1].i;", [hidden, n], ["n"], Result("value", "int64"))
        refuses(ValueError, "computing h: a division by zero, or a number too large", g, 2)
    out = make("", ";", [Parameter("array", "int8", intent="out", dims=(("n",),), name="o"), n], ["n"])
    assert out(3).shape == (3,) and out(0).shape == (0,)
    refuses(ValueError, "dim 0 of o would be -1", out, -1)
    refuses((ValueError, MemoryError), "array", out, 2**62)
    x = Parameter("array", "float64", 0, dims=(("n",),))
    narrow = make("", ";", [x, Parameter("stride", "int8", of=0, axis=0)], ["x"])
    refuses(ValueError, "out of range", narrow, np.zeros(1000)[::500])


@pytest.mark.leak
def test_callee_allocated_results(make, unit):
    free = _cwrapjit.library_symbol(unit, "free")
    parameters = [
        Parameter("data", "float64", dims=(("m",),), free=free, name="data"),
        Parameter("length", "int64", symbol="m"),
        Parameter("hidden", "int64", value=("n",)),
        Parameter("array", "float64", 0, dims=(("n",),)),
    ]
    text = """
static void f(double **data, long long *length, long long n, const double *x) {
    *data = malloc(n * sizeof(double));
    for (int i = 0; i < n; i++) (*data)[i] = x[i] + 3;
    *length = n;
}"""
    f = make(text, "f(s[1].p, s[2].p, s[3].i, s[4].p);", parameters, ["x"])
    y = f(np.arange(1.0, 4.0))
    assert y.tolist() == [4, 5, 6] and type(y.base).__name__ == "PyCapsule" and y.flags.writeable
    x = np.ones(4000)
    keeps_nothing(lambda: f(x), 500, (x,))
    lies = make(text, "f(s[1].p, s[2].p, s[3].i, s[4].p); *(long long *)s[2].p = -1;", parameters, ["x"])
    refuses(ValueError, "dim 0 of data would be -1", lies, x)
    null = make("", "*(long long *)s[2].p = 3;", parameters[:2])
    refuses(RuntimeError, "data is NULL where an array was promised", null)
    nothing = make("", "", parameters[:2])
    assert nothing().shape == (0,)


def containers(make, container, type="int64", dims=(("n",),)):
    item = "double" if type == "float64" else "long long"
    return make(
        "",
        f"s[0].d = 0; for (int i = 0; i < s[2].i; i++) s[0].d = 10 * s[0].d + (({item} *)s[1].p)[i];",
        [
            Parameter("items", type, 0, dims=dims, container=container),
            Parameter("hidden", "int64", value=dims[0] if len(dims) == 1 else (*dims[0], *dims[1], "*")),
        ],
        ["a"],
        Result("value", "float64"),
    )


@pytest.mark.quick
@pytest.mark.row("P14", "P27", "P28")
def test_containers(make):
    f = containers(make, tuple)
    assert f((7, 8)) == 78 and f(()) == 0
    for wrong in ((1, 2.0), [1], (7, True), ("a",), 5, None, np.arange(2)):
        refuses(TypeError, r"Expected an argument of type tuple\[int, \.\.\.\] for argument a, got", f, wrong)
    refuses(OverflowError, "out of range of int64", f, (2**70,))
    g = containers(make, list, "float64")
    assert g([1, 2.0, np.float32(3)]) == 123
    refuses(TypeError, r"list\[float\]", g, (1.0,))
    assert containers(make, set)({4}) == 4 and containers(make, set)(frozenset({4})) == 4
    h = containers(make, tuple, dims=(("m",), ("n",)))
    assert h(((1, 2), (3, 4))) == 1234 and h(()) == 0
    refuses(ValueError, "one length", h, ((1, 2), (3,)))
    refuses(TypeError, "argument a", h, ((1, 2), 3))


@pytest.mark.quick
def test_descriptions_are_checked(make):
    array = Parameter("array", "float64", 0, dims=(("n",),))
    bad = [
        ([Parameter("nonsense")], [], "role must be 'value' or .*, not 'nonsense'"),
        ([value("float80", 0)], ["x"], "there is no type 'float80'"),
        ([value("float64", 1)], ["x"], "has an argument that is not there"),
        ([value("float64", -1)], ["x"], "needs an argument"),
        ([value("", 0)], ["x"], "needs a type"),
        ([Parameter("hidden", "intc", value=("n",))], [], "nothing gives n a value"),
        ([Parameter("hidden", "float64", value=("n",)), array], ["x"], "needs an integer type"),
        ([Parameter("hidden", "intc", value=("n", "+")), array], ["x"], "is no expression"),
        ([Parameter("hidden", "intc", value=("n", "n")), array], ["x"], "is no expression"),
        ([Parameter("stride", "intc", of=1), array], ["x"], None),
        ([Parameter("stride", "intc", of=5), array], ["x"], "must be the stride along an axis"),
        ([Parameter("stride", "intc", of=1, axis=1), array], ["x"], "must be the stride along an axis"),
        ([Parameter("buffer", intent="out", dims=((3,),))], [], "cannot be an output"),
        ([value("float64", 0, by_pointer=True, intent="out")], ["x"], "which no argument gives"),
        ([Parameter("array", "float64", intent="out", dims=((),))], [], "needs all of its dims"),
        ([array], ["x", "x"], "two arguments have the name x"),
        ([array], [Argument("x", required=False)], "is not optional, but has no default"),
        ([value("float64", 0, optional=True)], ["x"], "cannot be NULL"),
        ([Parameter("items", "int64", 0, dims=(("n",),), container=dict)], ["x"], "container must be"),
        ([], [Argument("x", kind="keyword"), Argument("y")], "behind one that is keyword-only"),
        ([], [Argument("x"), Argument("y", kind="positional")], "behind one that is not positional-only"),
    ]
    for parameters, arguments, match in bad:
        if match is None:
            make("", ";", parameters, arguments)
        else:
            refuses(ValueError, match, make, "", ";", parameters, arguments)
    refuses(ValueError, "the result has a role", make, "", ";", [], (), Result("hidden", "int64"))
    refuses(TypeError, "check must be callable", make, "", ";", [], check=3)


def test_nothing_leaks_and_nothing_crashes(matmul, make):
    rng = np.random.default_rng(3)
    f = containers(make, tuple)
    odd = [None, 1, (), "a", b"b", 2**80, 1.5, "a text", b"bytes", [], (1, (2,)), np.float64(3), object()]
    odd += [np.ones(3), np.ones((2, 2)), np.ones((2, 2), object), np.ones((0, 2)), np.ones((2, 2), ">f8")]
    odd += [np.ones((2, 2)).T, np.ma.ones((2, 2))]
    counts = [sys.getrefcount(each) for each in odd]
    for _ in range(1000):
        pick = [odd[i] for i in rng.integers(len(odd), size=rng.integers(4))]
        for callable_ in (matmul, f):
            try:
                callable_(*pick)
            except (TypeError, ValueError):
                pass
    pick = None
    assert [sys.getrefcount(each) for each in odd][5:] == counts[5:]  # all Python code refers to the others


@pytest.mark.quick
def test_many_parameters(make):
    parameters = [value("float64", k) for k in range(60)]
    thunk = "s[0].d = 0; for (int i = 1; i <= 60; i++) s[0].d += s[i].d;"
    f = make("", thunk, parameters, [f"a{k}" for k in range(60)], Result("value", "float64"))
    assert f(*range(60)) == sum(range(60))


@pytest.mark.quick
def test_memory_at_addresses(unit):
    data = np.arange(4.0)
    address = data.ctypes.data
    assert _cwrapjit.scalar_at(address + 8, "float64") == 1
    _cwrapjit.store_scalar(address, "float64", 9, "x")
    assert data[0] == 9
    refuses(
        TypeError,
        "Expected an argument of type float for x, got str",
        _cwrapjit.store_scalar,
        address,
        "float64",
        "a",
        "x",
    )
    refuses(ValueError, "address is NULL", _cwrapjit.scalar_at, 0, "float64")
    view = _cwrapjit.array_at(address, "float64", (2, 2), "F", data)
    assert view.base is data and view[1, 0] == 1 and view.flags.f_contiguous
    refuses(ValueError, "array is too big", _cwrapjit.array_at, address, "float64", (2**40, 2**40))


def test_units(unit):
    assert _cwrapjit.library_symbol(unit, "no_such_name") is None
    refuses(OSError, "cannot be loaded", _cwrapjit.library_environment, "x", libraries=["/no/such.so"])
    refuses(
        cwrapjit.CompileError,
        "hyqot",
        _cwrapjit.compile_thunks,
        unit,
        "int hyqot(void); int t(void) { return hyqot(); }",
        ["t"],
    )
    refuses(
        ValueError, "does not define t2", _cwrapjit.compile_thunks, unit, "int t(void) { return 1; }", ["t2"]
    )
    with pytest.raises(cwrapjit.CompileError) as info:
        _cwrapjit.compile_thunks(unit, "int t(void) {\n return x; }", ["t"])
    assert info.value.filename == "<cwrapjit wrapped>" and info.value.lineno == 2


def test_the_package_that_is_called_shows_what_it_takes() -> None:
    """cwrapjit.library is a package that returns a Library when it is called."""
    shown = inspect.signature(cwrapjit.library)
    assert shown == inspect.signature(cwrapjit.library.Library)
    assert {"name", "libraries", "sources", "header", "debug"} <= set(shown.parameters)


# ---- generated C ---------------------------------------------------------------------------------

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "thunks.c"
# Declarations and options of function(), in the file's order.
FUNCTIONS = [
    ("double hypotenuse(double x, double y);", {}),
    ("void scale(int n, double x[n], int *done);", {"out": "done"}),
    ("point shift(point p, enum axis along);", {}),
    ("const char *message(float _Complex z);", {}),
]


@pytest.mark.row("P08", "P20")
def test_the_thunks_are_those_that_were_reviewed():
    """People review the text. Thunks call addresses, so names of headers cannot interfere. After an intended
    change run this with CWRAPJIT_UPDATE_GOLDEN=1 and check the difference."""
    lib = from_c("")
    lib.struct("typedef struct point { double x; long n[2]; } point;")
    lib.declare("enum axis { ACROSS, ALONG };")
    core, writer = lib._core, Writer()
    for number, (declaration, options) in enumerate(FUNCTIONS, 1):
        found = core.declarations.read(declaration, "<test>").functions[0]
        writer.add(Mapper(core, found, Options(**options)).map().thunk, hex(number * 0x1000))
    if os.environ.get("CWRAPJIT_UPDATE_GOLDEN") == "1":
        GOLDEN.write_text(writer.text(), encoding="utf-8")
    assert writer.text() == GOLDEN.read_text(encoding="utf-8")


# ---- Python objects --------------------------------------------------------------------------------------

OBJECTS = """
#include <Python.h>
PyObject *same(PyObject *x) { Py_INCREF(x); return x; }
long references(PyObject *x) { return (long)Py_REFCNT(x); }
PyObject *nothing(void) { return 0; }
PyObject *fails(PyObject *x) { PyErr_Format(PyExc_ValueError, "no %R", x); return 0; }
PyObject *number(int n, PyObject *unused, double x) { return PyFloat_FromDouble(n + x); }
PyObject *kept;
PyObject *borrowed(PyObject *x) { return kept ? kept : x; }
int is_null(PyObject *x) { return !x; }
PyObject *call(PyObject *(*f)(PyObject *x, int n), PyObject *x) { return f(x, 3); }
"""


@pytest.mark.row("L07")
@pytest.mark.parametrize("way", ["source", "declare", "function"])
def test_any_object_goes_where_c_has_a_pyobject(way):
    if way == "source":
        lib = cwrapjit.library("t", source=OBJECTS)
    else:
        lib = from_c(OBJECTS)
        heads = [line.partition(" {")[0] for line in OBJECTS.splitlines() if line.endswith("}")]
        if way == "declare":
            lib.declare("typedef struct _object PyObject;" + ";".join(heads) + ";")
        for head in heads if way == "function" else ():
            lib.function(head)
    shown = "t.number(n: int, unused: object, x: float) -> object"
    assert str(lib.number) == f"<cwrapjit.LibraryFunction {shown}>"
    for value in object(), [1], 5, None, "text", np.zeros(3), lib, lib.same:
        assert lib.same(value) is value
        before = sys.getrefcount(value)
        for _ in range(100):
            lib.same(value)
        assert sys.getrefcount(value) - before < 50
    assert lib.references([]) > 0 and lib.nothing() is None and lib.is_null(None) == 0
    assert lib.number(2, None, 0.5) == 2.5
    refuses(ValueError, r"no \[1\]", lib.fails, [1])
    lib.refine("borrowed", returns="static")
    value = ["mine"]
    before = sys.getrefcount(value)
    assert [lib.borrowed(value) is value for _ in range(50)] == [True] * 50
    assert sys.getrefcount(value) == before
    assert lib.call(lambda x, n: x * n, "ab") == "ababab" and lib.call(lambda x, n: None, value) is None
    made = [lib.call(lambda x, n: x, value) for _ in range(50)]
    assert made[49] is value
    del made
    assert sys.getrefcount(value) == before
    lib.function("int is_null(PyObject *x)", optional="x", name="may_be_null")
    assert lib.may_be_null() == 1 and lib.may_be_null([]) == 0
