"""Tests the built-in types of graphs (numbers, arrays, any object, C pointers) and the classes of graphs."""

from __future__ import annotations

import copy
import ctypes
import gc
import inspect
import math
import pathlib
import pickle
from typing import Any

import numpy as np
import pytest
from helpers import build_shared, python, refuses, says
from leaks import keeps_nothing

import cwrapjit as cj
import cwrapjit.graph as cg

DTYPES = [
    *("bool int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()),
    *("float16 float32 float64 complex64 complex128".split()),
]


class Code(cg.COp):
    """An op with this C text; {i} and {o} are its first input and its output."""

    def __init__(self, text: str, otypes: Any = None, **fields: Any) -> None:
        self.text = text
        self.otypes = otypes
        vars(self).update(fields)

    def c_code(self, node: Any, name: str, inputs: Any, outputs: Any, sub: Any) -> str:
        return self.text.replace("{i}", inputs[0]).replace("{o}", outputs[0]).replace("{fail}", sub["fail"])


def copies(type: Any, **kw: Any) -> Any:
    """Links a graph that returns a copy of its argument."""
    x = type("x")
    return cj.link([x], [cg.deep_copy(x)], **kw)


# ---- numbers -------------------------------------------------------------------------------------


@pytest.mark.row("A05i", "A01")
@pytest.mark.parametrize("mode", ["struct", "function"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_of_all_dtypes_come_back(dtype: str, mode: str) -> None:
    k = copies(cg.Scalar(dtype), mode=mode)
    info = np.iinfo(dtype) if np.dtype(dtype).kind in "iu" else None
    values = [info.min, info.max] if info else [True, False] if dtype == "bool" else [0.5, -2.0, math.inf]
    for value in map(np.dtype(dtype).type, values):
        got = k(value)
        assert got == value
        assert type(got) is {"float64": float, "int64": int, "bool": bool}.get(dtype, np.dtype(dtype).type)


@pytest.mark.row("A01", "A25")
def test_extraction_takes_what_filters_take() -> None:
    def run(dtype: str, value: Any) -> Any:
        k = copies(cg.Scalar(dtype))
        k.cells[0][0] = value
        if k.run() != 0:
            raise k.error
        return k.cells[1][0]

    assert run("float64", 3) == 3.0
    assert run("float64", np.float32(0.1)) == np.float32(0.1)
    assert run("float64", np.array(2.5)) == 2.5
    assert run("float32", 0.5) == 0.5
    assert run("uint8", np.array(255, np.uint8)) == 255 and run("int16", np.uint8(255)) == 255
    assert run("float32", 0.1) == np.float32(0.1) and run("float16", 0.1) == np.float16(0.1)
    assert run("complex64", 1j) == 1j
    assert run("bool", np.True_) is True
    assert run("float16", 65504) == 65504
    assert math.isnan(run("float16", math.nan))
    assert run("float64", 2**53 + 1) == 2**53 and run("float16", 65505) == 65504  # rounded, as NumPy does
    assert run("uint8", np.int64(255)) == 255  # an integer counts by its value
    refuses(OverflowError, lambda: run("uint8", np.int64(256)), "256 is out of range of uint8")
    for dtype, value in [
        *(("float64", v) for v in ("3", None, 1j, np.zeros(1), 10**400, np.longdouble(1))),
        *[("float32", np.float64(0.1)), ("int8", 128), ("uint8", -1)],
        *[("int64", 3.0), ("uint64", 2**64), ("int64", [1]), ("bool", 1)],
    ]:
        outside = type(value) is int and dtype != "bool"
        error, word = (OverflowError, dtype) if outside else (TypeError, f"expected {dtype}")
        refuses(error, lambda dtype=dtype, value=value: run(dtype, value), word)


@pytest.mark.quick
@pytest.mark.row("A33")
def test_filter_of_numbers() -> None:
    f = cg.float64.filter
    assert f(1.5) == 1.5 and f(3) == 3.0 and type(f(3)) is float and f(np.float32(2)) == 2.0
    assert f(1.5, strict=True) == 1.5 and f(1.5, True, None) == 1.5
    refuses(TypeError, lambda: f(1, strict=True), "float64.filter()", "int", "strict")
    refuses(TypeError, lambda: f("3"), "float64")
    refuses(TypeError, lambda: f(1j), "float64", "got complex")
    refuses(TypeError, lambda: f(1.0, banana=True), "banana")
    assert cg.float32.filter(0.1) == np.float32(0.1)  # a Python float is rounded
    refuses(TypeError, lambda: cg.float32.filter(np.float64(0.1)), "got float64", "to float32: give float(")
    refuses(TypeError, lambda: cg.float32.filter(0.1, allow_downcast=False), "float32", "0.1")
    assert cg.float32.filter(np.float64(0.1), allow_downcast=True) == np.float32(0.1)
    assert cg.int8.filter(3.9, allow_downcast=True) == 3
    assert cg.float64.filter(1 + 2j, allow_downcast=True) == 1.0
    refuses(TypeError, lambda: cg.int8.filter(3.0), "int8", "got float")
    refuses(OverflowError, lambda: cg.int64.filter(2**63), "int64", str(2**63))
    refuses(TypeError, lambda: cg.float64.filter("3", allow_downcast=True), "float64", "got str")
    refuses(TypeError, lambda: cg.float64.filter(np.zeros(3), allow_downcast=True), "float64", "got ndarray")


@pytest.mark.row("A33")
@pytest.mark.parametrize("dtype", DTYPES)
def test_filter_gives_the_same_by_either_way(dtype: str) -> None:
    """C converts the usual numbers, and Python all others, or any if options are positional."""
    numbers = [0, 1, -1, 255, 2**40, 2**63, 2**70, 0.5, 0.1, 1e300, 1j, True]
    values = [*numbers, *(np.array(v).astype(t)[()] for v in (0, 1, 100) for t in DTYPES)]
    type = cg.Scalar(dtype)

    def told(*options: Any, **named: Any) -> Any:
        got = []
        for value in values:
            try:
                made = type.filter(value, *options, **named)
                got.append((repr(made), made.__class__))
            except (TypeError, OverflowError, RuntimeWarning) as error:
                got.append((str(error), error.__class__))
        return got

    assert told() == told(False, None) == told(strict=False, allow_downcast=None)
    assert told(strict=True) == told(True)
    assert told(allow_downcast=True) == told(False, True)


@pytest.mark.row("A34")
def test_approximately_equal() -> None:
    same = cg.float64.values_eq_approx
    assert same(0.0, 0.0) and same(1.0, 1.00001) and same(-1.0, -1.00001) and same(math.nan, math.nan)
    assert not same(-1.0, -2.0) and not same(1.0, -1.0) and not same(0.0, 1e-9) and not same(math.inf, 1.0)
    assert same(1.0, 1.5, tolerance=0.5) and same(math.inf, math.inf)
    assert not cg.int32.values_eq_approx(10**6, 10**6 + 1)
    array = cg.ndarray("float64", 1)
    assert array.values_eq_approx(np.ones(2), np.ones(2) + 1e-6)
    assert not array.values_eq_approx(np.ones(2), np.ones(3))
    assert not array.values_eq(np.ones(2), np.ones(2) + 1e-6)


@pytest.mark.row("T04i")
def test_constants_stand_in_the_text() -> None:
    x = cg.float64("x")
    k = cj.link([x], [x * 4.12345678])
    assert "4.12345678" in k.source and k(2.0) == 2.0 * 4.12345678
    for value, text in [(math.inf, "INFINITY"), (-math.inf, "-INFINITY"), (math.nan, "NAN")]:
        k = cj.link([x], [x * 0.0 + cg.Constant(cg.float64, value)])
        assert text in k.source
        assert cg.float64.values_eq(k(1.0), value)
    assert cg.bool_.c_literal(True) == "1" and cg.bool_.c_literal(False) == "0"
    assert cg.float64.c_literal(2.0) == "2.0" and cg.complex64.c_literal(1j) == ""


@pytest.mark.row("T04i")
@pytest.mark.parametrize("dtype", DTYPES)
def test_constants_keep_their_value(dtype: str) -> None:
    kind = np.dtype(dtype).kind
    values: list[Any] = [0.1, -3.4e-5, 1 / 3, 1e4] if kind in "fc" else [True, False] if kind == "b" else []
    if kind in "iu":
        values = [np.iinfo(dtype).min, np.iinfo(dtype).max, 0]
    for value in np.array(values, dtype):
        constant = cg.Constant(cg.Scalar(dtype), value)
        assert cj.link([], [cg.deep_copy(constant)])() == value


@pytest.mark.row("A22")
def test_check_input_drops_the_check() -> None:
    for type in (cg.float64, cg.ndarray("float64", 1)):
        x = type("x")
        unchecked = type.c_extract("NAME", {"fail": "FAIL"}, False)
        assert "FAIL" in type.c_extract("NAME", {"fail": "FAIL"}) and "FAIL" not in unchecked
        k = cj.link([x], [Code("(void){i};", [cg.float64], check_input=False)(x)])
        assert "cwj_array_check(py_V1_x" not in k.source


@pytest.mark.row("A18")
def test_element_types() -> None:
    assert cg.ndarray("int32", 2).c_element_type() == "npy_int32"
    assert cg.float64.c_element_type() == "npy_float64" and cg.bool_.c_element_type() == "npy_bool"
    refuses(NotImplementedError, cg.CType().c_element_type, "CType", "c_element_type")


def test_types_compare_pickle_and_refuse_other_dtypes() -> None:
    assert cg.Scalar("float64") == cg.float64 != cg.float32 and cg.ndarray("f8", 1) != cg.ndarray("f8", 2)
    assert (
        cg.ndarray(float, 1) == cg.ndarray("float64", np.int64(1))
        and len({cg.float64, cg.Scalar(float)}) == 1
    )
    for type in (cg.float64, cg.ndarray("int8", 3), cg.generic, cg.CDataType("void *")):
        assert pickle.loads(pickle.dumps(type)) == type == copy.deepcopy(type)
    for dtype in ("longdouble", ">f8", object, "M8[s]"):
        refuses(TypeError, lambda dtype=dtype: cg.Scalar(dtype), "no graph type")
    for ndim in (33, True):
        refuses(ValueError, lambda ndim=ndim: cg.ndarray(float, ndim), "ndim")
    refuses(TypeError, lambda: cg.ndarray(float, 1.5), "'float' object cannot be interpreted as an integer")


# ---- arrays --------------------------------------------------------------------------------------


@pytest.mark.row("A05i")
@pytest.mark.parametrize("mode", ["struct", "function"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_of_all_dtypes_come_back(dtype: str, mode: str) -> None:
    k = copies(cg.ndarray(dtype, 2), mode=mode)
    for value in (
        np.arange(6).reshape(2, 3).astype(dtype),
        np.zeros((0, 3), dtype),
        np.ones((3, 2), dtype).T,
    ):
        got = k(value)
        assert got.dtype == dtype and np.array_equal(got, value) and not np.shares_memory(got, value)


@pytest.mark.quick
@pytest.mark.row("A01i")
def test_what_an_array_must_be() -> None:
    k = copies(cg.ndarray("float64", 1))

    def run(value: Any) -> None:
        k.cells[0][0] = value
        assert k.run() == 1
        raise k.error

    unaligned = np.zeros(17, np.uint8)[1:].view(np.float64)
    refuses(ValueError, lambda: run(None), "None")
    refuses(ValueError, lambda: run([1.0]), "list")
    refuses(ValueError, lambda: run(1.0), "float")
    refuses(NotImplementedError, lambda: run(unaligned), "aligned")
    refuses(TypeError, lambda: run(np.zeros(2, np.float32)), "float32", "float64")
    refuses(TypeError, lambda: run(np.zeros(2, ">f8")), "byte order")
    refuses(TypeError, lambda: run(np.zeros((2, 2))), "1 dimensions", "one of 2")
    refuses(ValueError, lambda: k(None), "array of float64", "got None")
    refuses(NotImplementedError, lambda: run(k.inputs[0].type.filter(unaligned, strict=True)), "not aligned")
    k.cells[0][0] = np.arange(6.0)[::-2]
    assert k.run() == 0 and k.cells[1][0].tolist() == [5.0, 3.0, 1.0]


def test_filter_of_arrays() -> None:
    f = cg.ndarray("float64", 1).filter
    a = np.ones(3)
    assert f(a) is a and f(a, strict=True) is a and f(a[::-1]).strides == (-8,)
    assert f([1, 2.5]).tolist() == [1.0, 2.5] and f(np.ones(2, np.float32)).dtype == np.float64
    assert f(np.ones(2, ">f8")).dtype.isnative
    unaligned = np.arange(17, dtype=np.uint8)[1:].view(np.float64)
    copied = copies(cg.ndarray("float64", 1))(unaligned)
    assert copied.flags.aligned and np.array_equal(copied, unaligned)
    record = np.zeros(2, [("k", "i1"), ("x", "f8")])
    assert f(record["x"]).tolist() == [0, 0] and f(unaligned, strict=True) is unaligned
    point = np.zeros(9, np.uint8)[1:].view(np.float64).reshape(())
    assert cg.ndarray("float64", 0).filter(point).flags.aligned
    refuses(TypeError, lambda: f([1.0], strict=True), "wanted an ndarray, got list")
    refuses(TypeError, lambda: f(np.ones(2, np.float32), strict=True), "float32")
    refuses(TypeError, lambda: f(1.0), "dimensions")
    refuses(ValueError, lambda: f(["a"]), "array of float64", "got list")
    narrow = cg.ndarray("float32", 1).filter
    assert narrow([0.1]).dtype == np.float32 and narrow(a, allow_downcast=True).dtype == np.float32
    refuses(TypeError, lambda: narrow(a), "float64")
    refuses(TypeError, lambda: narrow([0.1], allow_downcast=False), "wanted float32, got float64")
    small = cg.ndarray("int8", 1).filter
    assert small([1, -128]).tolist() == [1, -128]
    refuses(OverflowError, lambda: small([1, 300]), "300 is out of range of int8")
    assert small([300], allow_downcast=True).tolist() == [44]


@pytest.mark.quick
@pytest.mark.row("A01i")
def test_masked_arrays_are_refused() -> None:
    """Masked values must not enter a computation, and masks must not be lost."""
    x, s = cg.ndarray("float64", 1)("x"), cg.float64("s")
    masked = np.ma.array([1.0, 2.0], mask=[False, True])
    k = cj.link([x, s], x * s)
    refuses(TypeError, lambda: k(masked, 1.0), "mask")
    refuses(TypeError, lambda: k(masked.data, np.ma.masked), "mask")
    refuses(TypeError, lambda: x.type.filter(masked, allow_downcast=True), "mask")
    refuses(TypeError, lambda: s.type.filter(np.ma.masked, allow_downcast=True), "mask")
    refuses(TypeError, lambda: x + masked, "mask")
    for cells in ([[masked], [1.0], [None]], [[masked.data], [np.ma.masked], [None]]):
        assert k.once(*cells) != 0
        assert type(k.error) is TypeError
    assert k(masked.filled(0.0), 1.0).tolist() == [1.0, 0.0]


@pytest.mark.row("A02i")
def test_extract_out_begins_from_the_storage() -> None:
    k = copies(cg.ndarray("float64", 1))
    k.cells[0][0] = np.ones(2)
    k.cells[1][0] = None
    assert k.run() == 0
    k.cells[1][0] = np.zeros((2, 2))
    assert k.run() == 2  # the block of the output
    assert isinstance(k.error, TypeError)
    text = cg.ndarray("float64", 1).c_extract_out("NAME", {"fail": "FAIL"})
    assert "Py_None" in text and "NAME = NULL" in text and "FAIL" in text


@pytest.mark.row("A03i")
def test_an_array_that_is_null_is_none() -> None:
    x = cg.ndarray("float64", 1)("x")
    k = cj.link([x], [Code("Py_XDECREF({o}); {o} = NULL;")(x)])
    for _ in range(3):
        assert k(np.ones(2)) is None
    k.cells[1][0] = np.ones(3)
    assert k.run() == 0 and k.cells[1][0] is None


@pytest.mark.row("T35")
def test_temporaries_keep_their_memory() -> None:
    x = cg.ndarray("float64", 1)("x")
    where = Code("{o} = (npy_int64)(size_t)PyArray_DATA({i});", [cg.int64])
    copied = cg.deep_copy(x)
    k = cj.link([x], [where(copied)])
    assert len({k(np.full(5000, float(i))) for i in range(100)}) == 1
    keep = cj.link([x], [where(cg.view(copied)), cg.view(copied)])
    results = [keep(np.full(4, float(i))) for i in range(3)]
    assert [r[1][0] for r in results] == [0.0, 1.0, 2.0]  # arrays that were returned are not overwritten


# ---- any object, and pointers --------------------------------------------------------------------


@pytest.mark.leak
@pytest.mark.row("A04i")
def test_any_object() -> None:
    x = cg.generic("x")
    k = cj.link([x], [Code("{o} = PyObject_Repr({i}); if ({o} == NULL) {fail}", [cg.generic])(x)])
    assert k([1, "a"]) == "[1, 'a']" and k(None) == "None"

    class Bad:
        def __repr__(self) -> str:
            raise KeyError("no repr")

    refuses(KeyError, lambda: k(Bad()), "no repr")
    nothing = cj.link([x], [Code("{o} = NULL;", [cg.Generic()])(x)])
    assert nothing(3) is None
    keeps_nothing(lambda: k(list(range(100))), 500)


FREED = """
#include <stdlib.h>
int made, freed;
void *make_thing(double x) { double *p = malloc(sizeof *p); *p = x; made++; return p; }
double read_thing(void *p) { return *(double *)p; }
void free_thing(void *p) { freed++; free(p); }
"""


@pytest.fixture(scope="module")
def things(built: Any) -> Any:
    """Returns a pointer type, and a function that returns how many were made and freed."""
    path = build_shared(built, "libthings.so", FREED)
    header = "void *make_thing(double); double read_thing(void *); void free_thing(void *);"
    type = cg.CDataType("void *", "free_thing", libraries=[str(path)], extra_support_code=header, version=1)
    lib = ctypes.CDLL(str(path))
    return type, lambda: (ctypes.c_int.in_dll(lib, "made").value, ctypes.c_int.in_dll(lib, "freed").value)


@pytest.mark.row("T06i")
def test_a_pointer_is_freed_once(things: Any) -> None:
    type, counts = things
    x, q = cg.float64("x"), type("q")
    make = Code("{o} = make_thing({i});", [type])
    read = Code("{o} = read_thing({i});", [cg.float64])
    made, freed = counts()
    k = cj.link([x], [make(x)])
    capsule = k(2.5)
    assert "capsule" in repr(capsule) and cj.link([q], [read(q)])(capsule) == 2.5
    assert counts() == (made + 1, freed)
    k.cells[1][0] = None
    del capsule
    gc.collect()
    assert counts() == (made + 1, freed + 1)
    assert cj.link([x], [read(make(x))])(7.0) == 7.0  # a temporary has no capsule
    assert counts() == (made + 2, freed + 2)
    failing = cj.link([x], [Code("{o} = make_thing({i}); PyErr_SetNone(PyExc_KeyError); {fail}", [type])(x)])
    says(KeyError, lambda: failing(1.0), "")
    assert counts() == (made + 3, freed + 3)


@pytest.mark.quick
@pytest.mark.row("T06i")
def test_the_free_function_may_be_support_code() -> None:
    own = "static void own_free(double *p) { *(double *)(size_t)*p += 1; free(p); }"
    type = cg.CDataType("double *", "own_free", extra_support_code=own)
    seen = np.zeros(1)
    x = cg.float64("x")
    k = cj.link([x], [Code("{o} = malloc(sizeof(double)); *{o} = {i};", [type])(x)])
    capsule = k(float(seen.ctypes.data))
    del k
    gc.collect()
    assert seen[0] == 0
    del capsule
    assert seen[0] == 1


END = """
#define JOIN(a, b) a##b
static void count_end(PyObject *capsule)
{
    *(double *)PyCapsule_GetPointer(capsule, "at") += 1;
}"""


@pytest.mark.row("T06i")
@pytest.mark.parametrize(
    "how",
    [
        '{o} = PyCapsule_New((void *)(size_t){i}, "at", count_end);',
        '{o} = JOIN(PyCap, sule_New)((void *)(size_t){i}, "at", count_end);',
        '{o} = PyCapsule_New((void *)(size_t){i}, "at", NULL); PyCapsule_SetDestructor({o}, count_end);',
    ],
)
@pytest.mark.parametrize("optimize", ["off", "eager"])
def test_destructors_of_capsules_stay(how: str, optimize: str) -> None:
    """A destructor is code of the graph; this one adds 1 to *at."""
    seen = np.zeros(1)
    x = cg.float64("x")
    op = Code("Py_XDECREF({o}); " + how, [cg.generic], c_support_code=lambda: END)
    k = cj.link([x], [op(x)], optimize=optimize)
    capsules = [k(float(seen.ctypes.data)) for _ in range(2)]
    del k
    gc.collect()
    capsules.pop()
    gc.collect()
    assert seen[0] == 1
    del capsules
    gc.collect()
    assert seen[0] == 2


@pytest.mark.leak
@pytest.mark.row("T06i")
@pytest.mark.parametrize(
    "text",
    [
        "/* no PyCapsule_New */ {o} = {i};",
        'const char *const why = "PyCapsule_SetDestructor"; {o} = why ? {i} : 0;',
        'if ({i} < 0) Py_XDECREF(PyCapsule_New(&{o}, "never", NULL)); {o} = {i};',
        'Py_XDECREF(PyCapsule_New(&{o}, "without destructor", NULL)); {o} = {i};',
    ],
)
def test_code_that_only_speaks_of_capsules_goes(text: str) -> None:
    def make_and_drop() -> None:
        x = cg.float64("x")
        assert cj.link([x], [Code(text)(x)], optimize="off")(1.0) == 1.0

    keeps_nothing(make_and_drop)


@pytest.mark.leak
@pytest.mark.row("T06i")
def test_code_goes_with_its_last_capsule() -> None:
    own = "static void own_free(double *p) { free(p); }"
    type = cg.CDataType("double *", "own_free", extra_support_code=own)
    x = cg.float64("x")

    def make_and_drop() -> None:
        k = cj.link([x], [Code("{o} = malloc(sizeof(double)); *{o} = {i};", [type])(x)], optimize="off")
        capsule = k(1.0)
        del k
        del capsule

    keeps_nothing(make_and_drop)


@pytest.mark.leak
@pytest.mark.row("T06i")
def test_graphs_that_only_read_pointers_are_unloaded() -> None:
    def link() -> None:
        p = cg.CDataType("void *", "free", headers=("<stdlib.h>",))("p")

        class Known(cg.COp):
            def make_node(self, *inputs: Any) -> Any:
                return cg.Apply(self, inputs, [cg.bool_()])

            def c_code(self, node: Any, name: str, inputs: Any, outputs: Any, sub: Any) -> str:
                return f"{outputs[0]} = {inputs[0]} != NULL;"

        assert cj.link([p], Known()(p), optimize="off")(None) is False

    keeps_nothing(link)


@pytest.mark.row("T06i")
def test_null_is_none(things: Any) -> None:
    type, _ = things
    q = type("q")
    k = cj.link([q], [Code("{o} = {i} == NULL ? NULL : {i};", [cg.CDataType("void *")])(q)])
    assert k(None) is None
    refuses(TypeError, lambda: k(3), "capsule")
    k.cells[0][0] = 3
    assert k.run() == 1
    for ctype in ("", "void *x;", 3):
        refuses(TypeError, lambda ctype=ctype: cg.CDataType(ctype), "pointer type")


# ---- classes of graphs ---------------------------------------------------------------------------


def test_variables_and_nodes() -> None:
    x = cg.float64("x")
    assert (
        str(x) == repr(x) == "x"
        and x.owner is None
        and x.type is cg.float64
        and str(cg.float64()) == "<float64>"
    )
    y = cg.Op.__new__(cg.Op)
    assert str(y) == "Op"
    z = x + 1.0
    assert str(z.owner) == "add(x, 1.0)" and z.owner.out is z and z.index == 0
    refuses(TypeError, lambda: cg.float64(3), "str")
    refuses(TypeError, lambda: cg.Apply(y, [3], []), "input 0", "int")
    refuses(ValueError, lambda: cg.Apply(y, [], [z]), "belongs to another node")
    refuses(TypeError, lambda: bool(x), "no value")
    assert cg.Constant(cg.float64, 3).data == 3.0
    refuses(TypeError, lambda: cg.Constant(cg.float64, "a"), "float64", "got str")


def test_ops_and_their_default_nodes() -> None:
    class Twice(cg.COp):
        __props__ = ("n",)
        n = 2

        def c_code(self, node: Any, name: str, inputs: Any, outputs: Any, sub: Any) -> str:
            return f"{outputs[0]} = {self.n} * {inputs[0]};"

    x = cg.float64("x")
    assert cj.link([x], [Twice(x)])(4.0) == 8.0  # the class itself is called
    assert (
        Twice() == Twice() and hash(Twice()) == hash(Twice()) and Twice() != cg.COp() and cg.COp() != cg.COp()
    )
    refuses(TypeError, lambda: Twice()(3), "input 0", "int")
    refuses(TypeError, lambda: Twice()(), "make_node")
    refuses(TypeError, lambda: Code("", itypes=[cg.int8])(x), "int8", "float64")
    refuses(TypeError, lambda: Code("", itypes=[])(x), "0 inputs")
    assert len(Code("", [cg.int8, cg.int16])(x)) == 2

    class Pair(cg.Op):
        def c_var_names(self) -> Any:
            return "[['a'], ['b', 'c']]"

    assert [v.type for v in Pair(x)] == [cg.float64, cg.float64]
    refuses(TypeError, lambda: Pair()(x, x), "Pair takes 1 inputs (a), not 2")

    class Wrong(cg.COp):
        def make_node(self, *inputs: Any) -> Any:
            return 3

    refuses(TypeError, lambda: Wrong()(x), "make_node", "int")
    for method in ("c_code", "perform"):
        refuses(NotImplementedError, lambda method=method: getattr(Wrong(), method)(1, 2, 3), "Wrong", method)
    for method in ("c_declare", "c_init", "c_extract", "c_sync", "c_cleanup"):
        refuses(
            NotImplementedError, lambda method=method: getattr(cg.CType(), method)("x", {}), "CType", method
        )


@pytest.mark.row("A33", "A35")
def test_what_ready_types_are_called() -> None:
    kinds = [cg.float64, cg.int8, cg.bool_, cg.complex128, cg.ndarray("float32", 2), cg.generic]
    names = ["float64", "int8", "bool", "complex128", "ndarray(float32, 2)", "Generic"]
    assert [str(kind) for kind in kinds] == names
    assert [str(kind()) for kind in kinds] == [f"<{name}>" for name in names]
    assert [str(kind("x")) for kind in kinds] == ["x"] * len(kinds)
    assert str(cg.CDataType("double *")) == "CDataType(double *)"


def test_a_template_variable_is_its_own_type() -> None:
    class D(cg.ResultBase):
        size = 1

    x = D("x")
    x.size = 3
    y = x("y")
    assert x.type is x and x.name == "x" and x.owner is None and str(x) == "x" and str(D()) == "<D>"
    assert type(y) is D and y.size == 3 and y.name == "y" and y is not x and y.owner is None
    refuses(TypeError, lambda: D(3), "str")
    refuses(NotImplementedError, x.c_declare, "D does not define c_declare()")


def test_signatures_of_ops_are_those_of_their_constructors() -> None:
    class Scale(cg.COp):
        def __init__(self, factor: float, offset: float = 0.0) -> None:
            pass

    told = [str(inspect.signature(op)) for op in (Scale, cg.COp, cg.ExternalCOp)]
    assert told[0].startswith("(factor: ") and told[1] == "()" and told[2].startswith("(func_files: ")


def test_importing_loads_nothing_of_this() -> None:
    code = "import sys, cwrapjit; assert not [m for m in sys.modules if 'cwrapjit.graph.' in m]"
    code += "; import cwrapjit.graph as cg; cg.float64; assert 'cwrapjit.graph.params' not in sys.modules"
    python(code + "; x = cwrapjit.graph.In; assert {'elementwise', 'float64', 'In'} <= set(dir(cg))")
    own = "import cwrapjit; from graph_types import Variable, add, double; x = Variable(double, 'x')"
    here = pathlib.Path(__file__).parents[1]
    assert python(f"{own}; print(cwrapjit.link([x], add(x, x))(2.0))", cwd=here).stdout == "4.0\n"


def test_the_package_shows_the_ways_in_and_graph_what_graphs_are_made_of() -> None:
    ways = set("module function library link vectorize ElementwiseKernel ReductionKernel".split())
    around = set("CompileError CompileWarning Fault config show_config Config Function Pointer".split())
    around |= {
        "deadline",
        "grad",
        "graph",
        "jit",
        "progress",
        "scan",
        "value_and_grad",
        "vmap",
        "write_stubs",
    }
    assert {name for name in dir(cj) if not name.startswith("_")} == ways | around
    assert set(cj.__all__) == (ways | around | {"__version__"}) - {"graph"}
    assert {name for name in dir(cg) if not name.startswith("_")} == set(cg.__all__)
    assert [name for name in cg.__all__ if inspect.ismodule(getattr(cg, name))] == []
    assert (cg.Graph.__module__, cg.BoundGraph.__module__) == ("cwrapjit.graph", "cwrapjit.graph")
    for name in cg.__all__:
        refuses(AttributeError, lambda name=name: getattr(cj, name), f"cwrapjit.graph.{name} is there")
    for package in (cj, cg):
        caught = refuses(AttributeError, lambda package=package: package.no_such_name, "no_such_name")
        assert "is there" not in str(caught)
