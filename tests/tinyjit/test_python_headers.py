"""Tests the small <Python.h> and <numpy/arrayobject.h>: what snippets can do with objects and arrays."""

from __future__ import annotations

import ctypes
import itertools
import pathlib
import re
import sys
from collections.abc import Sequence
from typing import Any

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np
import pytest
from helpers import ar, refuses, wrap
from hypothesis import given, settings

import cwrapjit

INCLUDE = pathlib.Path(cwrapjit.__file__).parent / "include"


def reader(expressions: Sequence[str], header: str = "", before: str = "", **kw: Any) -> Any:
    """Returns a function of `o`, also an array `a`, that returns C expressions as integers."""
    lines = [f"item__output({i}) = (npy_int64)({text});" for i, text in enumerate(expressions)]
    body = "\n".join(["PyArrayObject *a = (PyArrayObject *)o;", *lines, "return true;"])
    return wrap((), (len(expressions),), {np.int64: body}, extra_args=(("PyObject*", "o", "NULL", "O"),),
                header=f"{before}#include <numpy/arrayobject.h>\n{header}", **kw)  # fmt: skip


def about(array: Any, expressions: Sequence[str], **kw: Any) -> list[int]:
    """Returns the values of C expressions about this object."""
    return [int(value) for value in reader(expressions, **kw)(o=array)]


# ---- Python objects --------------------------------------------------------------------------------------


@pytest.mark.row("N67")
def test_python_objects_in_an_array() -> None:
    f = wrap(
        ((),),
        (),
        {
            (object, np.int64): """
            PyObject *o = *(PyObject **)data_slice__a;
            item__output() = PyList_Check(o) ? PyList_GET_SIZE(o) : PyLong_Check(o) ? PyLong_AsLong(o)
                : PyUnicode_Check(o) ? PyUnicode_GetLength(o) : PyFloat_Check(o) ? (long)PyFloat_AS_DOUBLE(o)
                : o == Py_None ? -1 : o == Py_True ? -2 : PyObject_Length(o);
            return !PyErr_Occurred();
            """
        },
        header="#include <Python.h>",
    )
    objects = np.empty(6, dtype=object)
    objects[:] = [[1, 2], 7, "abc", 2.5, None, {1: 2}]
    assert f(objects).tolist() == [2, 7, 3, 2, -1, 1]
    refuses(TypeError, lambda: f(np.array(object(), dtype=object)), "has no len()")


@pytest.mark.row("N67", "N16i")
def test_references_are_counted() -> None:
    f = wrap(
        (),
        (),
        {
            np.int64: """
            PyObject *list = PyList_New(0), *text = PyUnicode_FromString("x"), *result = NULL;
            if (!list || !text || PyList_Append(list, text) < 0 || PyList_Append(list, o) < 0)
                goto done;
            result = Py_BuildValue("(Oin)", o, 5, (Py_ssize_t)6);
            if (!result)
                goto done;
            Py_INCREF(o);
            Py_DECREF(o);
            item__output() = PyTuple_GET_SIZE(result) + PyList_Size(list) + (Py_REFCNT(o) > 2);
        done:
            Py_XDECREF(list);
            Py_CLEAR(text);
            Py_XDECREF(result);
            return !PyErr_Occurred();
            """
        },
        header="#include <Python.h>",
        extra_args=(("PyObject*", "o", "NULL", "O"),),
    )
    thing = object()
    before = sys.getrefcount(thing)
    for _ in range(100):
        assert f(o=thing) == 6
    assert sys.getrefcount(thing) == before


@pytest.mark.row("N67")
def test_calling_back_into_python() -> None:
    f = wrap(
        ((),),
        (),
        """
        PyObject *x = PyFloat_FromDouble(item__a()), *y = x ? PyObject_CallOneArg(call, x) : NULL;
        if (y)
            item__output() = PyFloat_AsDouble(y);
        Py_XDECREF(x);
        Py_XDECREF(y);
        return !PyErr_Occurred();
        """,
        header="#include <Python.h>",
        extra_args=(("PyObject*", "call", "NULL", "O"),),
    )
    assert f(ar(3), call=lambda x: 10 * x).tolist() == [0, 10, 20]
    refuses(ZeroDivisionError, lambda: f(ar(3), call=lambda x: 1 / x), "division by zero")


# ---- NumPy's functions -----------------------------------------------------------------------------------


@pytest.mark.row("N80")
def test_elements_of_arrays() -> None:
    x = ar(4, 5)[::2, ::-1]
    assert about(x, ["*(double *)PyArray_GetPtr(a, (npy_intp[]){1, 4})"]) == [x[1, 4]]
    assert about([1], ["PyArray_Check(o)", "o->ob_refcnt == Py_REFCNT(o)", "sizeof(PyObject)"]) == [0, 1, 16]
    y = np.zeros(2)
    header = "static int put(PyObject *o, double x) { PyObject *v = PyFloat_FromDouble(x);\n"
    header += "int r = PyArray_SETITEM((PyArrayObject *)o, PyArray_GETPTR1((PyArrayObject *)o, 1), v);\n"
    header += "Py_DECREF(v); return r; }"
    assert about(y, ["put(o, 2.5)"], header=header) == [0] and y.tolist() == [0, 2.5]


@pytest.mark.row("N80")
def test_arrays_can_be_made() -> None:
    f = wrap(
        (),
        (),
        {
            np.int64: """
            npy_intp dims[2] = {2, 3};
            PyObject *made = PyArray_SimpleNew(2, dims, NPY_DOUBLE);
            PyObject *zeros = PyArray_ZEROS(1, dims, NPY_INT16, 0);
            PyObject *from = PyArray_FROM_OTF(o, NPY_DOUBLE, NPY_ARRAY_IN_ARRAY), *sum = NULL;
            if (!made || !zeros || !from)
                goto done;
            for (npy_intp i = 0; i < 6; i++)
                ((double *)PyArray_DATA((PyArrayObject *)made))[i] = i;
            sum = PyArray_Sum((PyArrayObject *)from, 0, NPY_DOUBLE, NULL);
            if (!sum || PyList_Append(list, made) || PyList_Append(list, zeros) || PyList_Append(list, sum))
                goto done;
            item__output() = 1;
        done:
            Py_XDECREF(made);
            Py_XDECREF(zeros);
            Py_XDECREF(from);
            Py_XDECREF(sum);
            return !PyErr_Occurred();
            """
        },
        header="#include <numpy/arrayobject.h>",
        extra_args=(("PyObject*", "o", "NULL", "O"), ("PyObject*", "list", "NULL", "O")),
    )
    results: list[Any] = []
    assert f(o=[1, 2, 3.5], list=results) == 1
    made, zeros, total = results
    assert made.tolist() == [[0, 1, 2], [3, 4, 5]] and made.dtype == np.float64
    assert zeros.tolist() == [0, 0] and zeros.dtype == np.int16 and total == 6.5
    refuses(ValueError, lambda: f(o="no number", list=results), "'no number'")


@pytest.mark.row("N80")
def test_every_declared_function_exists() -> None:
    """This interpreter has every function that Python.h and arrayobject.h declare."""
    for name, count in (("Python.h", 300), ("numpy/arrayobject.h", 150)):
        names = sorted(set(declared((INCLUDE / name).read_text())))
        assert len(names) >= count
        body = "".join(f"x += (size_t){function} != 0;\n" for function in names)
        f = wrap(
            (),
            (),
            {np.int64: f"size_t x = 0;\n{body}item__output() = x;\nreturn true;"},
            header=f"#include <{name}>",
        )
        assert f() == len(names)


@pytest.mark.quick
def test_types_of_arrays_and_scalars_are_numpys() -> None:
    text = (INCLUDE / "numpy" / "arrayobject.h").read_text()
    names = sorted(set(re.findall(r"\bPy\w+_Type\b", text)))
    kinds = [name.removeprefix("Py").removesuffix("_Type").removesuffix("ArrType") for name in names]
    others = {
        "Array": np.ndarray, "Generic": np.generic, "Bool": np.bool_, "Int": np.intc, "UInt": np.uintc,
        "Long": np.int_, "ULong": np.uint, "Half": np.float16, "Float": np.float32, "CFloat": np.complex64,
        "CDouble": np.complex128,
    }  # fmt: skip
    types = [others[kind] if kind in others else getattr(np, kind.lower()) for kind in kinds]
    assert len(names) > 30 and about(ar(1), [f"&{name}" for name in names]) == [id(each) for each in types]


def declared(text: str) -> list[str]:
    """Returns the functions that a header declares, without macros and comments."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL).replace("\\\n", "")
    text = re.sub(r"^#.*$", "", text, flags=re.MULTILINE)
    return re.findall(r"\b(_?Py\w+)\(", text)


@pytest.mark.quick
@pytest.mark.row("N80", "U01")
@pytest.mark.parametrize(
    "code, word",
    [
        ("PyArray_ITER_NOTDONE(o)", "cwrapjit offer"),
        ("o->ob_type->tp_as_number->nb_add", "cwrapjit offer"),
        ("Py_tp_dealloc", "cwrapjit offer"),
        ("PyArray_DESCR((PyArrayObject *)o)->subarray", "field not found: subarray"),
    ],
)
def test_what_is_out_of_reach_says_so(code: str, word: str) -> None:
    refuses(cwrapjit.CompileError, lambda: about(ar(2), [code]), word)


@pytest.mark.quick
def test_numpys_scalars_are_made_and_read() -> None:
    f = wrap(
        (),
        (),
        {
            np.float64: """
            PyObject *made = PyArrayScalar_New(Int32);
            if (!made) return false;
            PyArrayScalar_ASSIGN(made, Int32, 7);
            item__output() = PyArrayScalar_VAL(o, Float64) + PyArrayScalar_VAL(made, Int32);
            int added = PyList_Append(list, made);
            Py_DECREF(made);
            return added == 0;
            """
        },
        header="#include <numpy/arrayscalars.h>",
        extra_args=(("PyObject*", "o", "NULL", "O"), ("PyObject*", "list", "NULL", "O")),
    )
    made: list[Any] = []
    assert f(o=np.float64(1.5), list=made) == 8.5
    assert made == [7] and type(made[0]) is np.int32


# ---- inline access to arrays and types: macros, members of public structs, 0-d arrays --------------------


# Functions of NumPy that are no macros in either case.
CHECKS = {
    "PyArray_Check",
    "PyArray_CheckExact",
    "PyArray_ISBYTESWAPPED",
    "PyArray_ISFLOAT",
    "PyArray_ISINTEGER",
    "PyArray_ISSIGNED",
}
CALLS = "#define CWJ_ARRAY_CALLS 1\n"  # makes the header use functions instead of macros
ACCESSORS = {
    "PyArray_NDIM(a)": lambda a: a.ndim,
    "PyArray_SIZE(a)": lambda a: a.size,
    "PyArray_NBYTES(a)": lambda a: a.nbytes,
    "PyArray_ITEMSIZE(a)": lambda a: a.itemsize,
    "PyArray_TYPE(a)": lambda a: a.dtype.num,
    "PyArray_DATA(a)": lambda a: a.ctypes.data,
    "PyArray_BYTES(a)": lambda a: a.ctypes.data,
    "PyArray_DESCR(a)": lambda a: id(a.dtype),
    "PyArray_DTYPE(a)": lambda a: id(a.dtype),
    "PyArray_BASE(a)": lambda a: 0 if a.base is None else id(a.base),
    "PyArray_FLAGS(a) & 0x507": lambda a: a.flags.num & 0x507,
    "PyArray_CHKFLAGS(a, NPY_ARRAY_BEHAVED)": lambda a: a.flags.behaved,
    "PyArray_ISCONTIGUOUS(a)": lambda a: a.flags.c_contiguous,
    "PyArray_IS_C_CONTIGUOUS(a)": lambda a: a.flags.c_contiguous,
    "PyArray_IS_F_CONTIGUOUS(a)": lambda a: a.flags.f_contiguous,
    "PyArray_ISALIGNED(a)": lambda a: a.flags.aligned,
    "PyArray_ISWRITEABLE(a)": lambda a: a.flags.writeable,
    "PyArray_ISBYTESWAPPED(a) != 0": lambda a: a.dtype.byteorder == ">",
    "PyArray_ISFLOAT(a)": lambda a: a.dtype.kind == "f",
    "PyArray_ISINTEGER(a)": lambda a: a.dtype.kind in "iu",
    "PyArray_ISSIGNED(a)": lambda a: a.dtype.kind == "i",
    "PyDataType_ELSIZE(PyArray_DESCR(a))": lambda a: a.itemsize,
    "PyArray_Check(o) + PyArray_CheckExact(o) + (Py_TYPE(o) == &PyArray_Type)": lambda a: 3,
    **{f"PyArray_DIM(a, {k})": lambda a, k=k: a.shape[k] if k < a.ndim else 1 for k in range(5)},
    **{f"PyArray_STRIDE(a, {k})": lambda a, k=k: a.strides[k] if k < a.ndim else 0 for k in range(5)},
    **{f"PyArray_DIMS(a)[{k}]": lambda a, k=k: a.shape[k] if k < a.ndim else None for k in range(4)},
    **{f"PyArray_SHAPE(a)[{k}]": lambda a, k=k: a.shape[k] if k < a.ndim else None for k in range(4)},
    **{f"PyArray_STRIDES(a)[{k}]": lambda a, k=k: a.strides[k] if k < a.ndim else None for k in range(4)},
}


# Expressions that are valid for any array.
FIXED = [text for text in ACCESSORS if "[" not in text]


@pytest.fixture(scope="module", params=["off", "eager"])
def read(request: pytest.FixtureRequest) -> Any:
    """Returns a function of an array that evaluates all expressions in FIXED."""
    f = reader(FIXED, optimize=request.param)
    has_compiler = cwrapjit._cwrapjit.optimizer()["compiler"]
    assert f.tier == ("cc" if request.param == "eager" and has_compiler else "tcc")
    return lambda array: dict(zip(FIXED, f(o=array).tolist(), strict=True))


arrays = hnp.arrays(
    dtype=hnp.scalar_dtypes() | hnp.unicode_string_dtypes() | hnp.array_dtypes(max_size=3),
    shape=hnp.array_shapes(min_dims=0, max_dims=6, min_side=0, max_side=4),
)


@pytest.mark.row("J01")
@given(array=arrays, data=st.data())
@settings(max_examples=30)
def test_each_accessor_says_what_numpy_says(read: Any, array: Any, data: Any) -> None:
    view = np.asarray(array[data.draw(hnp.basic_indices(array.shape, allow_newaxis=True))])
    for each in (array, view, view.T, view[...]):
        for text, number in read(each).items():
            assert number == int(ACCESSORS[text](each)), (text, each.shape, each.dtype)


@pytest.mark.row("J01")
@pytest.mark.parametrize("array", [ar(2, 3, 4, 5), ar(3, 4).T, ar(7)[::-2], ar(2, 0), ar(1, 3)[:, 1:]])
def test_dims_and_strides_are_where_they_are(array: Any) -> None:
    wanted = {text: find(array) for text, find in ACCESSORS.items() if "[" in text}
    known = {text: number for text, number in wanted.items() if number is not None}
    assert about(array, list(known)) == list(known.values())


@pytest.mark.row("J01")
@pytest.mark.parametrize("ndim", range(1, 5))
@pytest.mark.parametrize("optimize", ["off", "eager"])
def test_elements_are_found_by_their_strides(ndim: int, optimize: str) -> None:
    array = ar(*range(6, 6 - ndim, -1)).T[1:, ...][::-1]
    names = "ijkl"[:ndim]
    text = f"*(double *)PyArray_GETPTR{ndim}(a, {', '.join(f'{name}++' for name in names)})"
    f = wrap(
        (),
        (2,),
        {
            np.float64: f"""
            const PyArrayObject *a = (const PyArrayObject *)o;
            int {", ".join(f"{name} = *{name}{name}" for name in names)};
            item__output(0) = {text};
            item__output(1) = {" + ".join(f"({name} - *{name}{name})" for name in names)};
            return true;"""
        },
        header="#include <numpy/arrayobject.h>",
        extra_args=(
            ("PyObject*", "o", "NULL", "O"),
            *(("int", f"{name}{name}", "0", "i") for name in names),
        ),
        optimize=optimize,
    )
    for index in itertools.islice(np.ndindex(array.shape), 0, None, 7):
        at = {f"{name}{name}": i for name, i in zip(names, index, strict=True)}
        assert f(o=array, **at).tolist() == [array[index], ndim], "each index is evaluated once"


@pytest.mark.row("J01")
@pytest.mark.parametrize("optimize", ["off", "eager"])
def test_arrays_without_axes_are_safe(optimize: str) -> None:
    zero = np.array(2.5)
    found = about(
        zero,
        [
            "2 * *(double *)PyArray_GETPTR1(a, 3)",
            "2 * *(double *)PyArray_GETPTR2(a, 3, 4)",
            "2 * *(double *)PyArray_GETPTR3(a, 3, 4, 5)",
            "2 * *(double *)PyArray_GETPTR4(a, 3, 4, 5, 6)",
            *("PyArray_DIMS(a)[0]", "PyArray_SHAPE(a)[3]", "PyArray_STRIDES(a)[0]", "PyArray_STRIDES(a)[63]"),
            *("PyArray_DIM(a, 0)", "PyArray_DIM(a, -1)", "PyArray_STRIDE(a, 0)", "PyArray_STRIDE(a, 99)"),
            *("PyArray_SIZE(a)", "PyArray_NDIM(a)", "PyArray_NBYTES(a)"),
        ],
        optimize=optimize,
    )
    assert found == [5, 5, 5, 5, 1, 1, 0, 0, 1, 1, 0, 0, 1, 0, 8]
    # If two axes are asked for and there is one, nothing after the strides is read.
    assert about(ar(4), ["*(double *)PyArray_GETPTR2(a, 3, 7)"], optimize=optimize) == [3]


@pytest.mark.quick
@pytest.mark.row("J01")
def test_the_macros_are_macros_where_numpys_layout_is_known() -> None:
    names = {text.partition("(")[0] for text in FIXED if text.startswith("PyArray_")} - CHECKS
    names |= {f"PyArray_GETPTR{k}" for k in (1, 2, 3, 4)}
    known = "".join(f"#ifndef {name}\n#error {name} is a call\n#endif\n" for name in sorted(names))
    unknown = known.replace("#ifndef", "#ifdef").replace("is a call", "is a macro")
    array = ar(3, 4)[1:, ::2]
    assert about(array, FIXED, header=known) == [int(ACCESSORS[text](array)) for text in FIXED]
    texts = [text for text in FIXED if not text.startswith(("PyArray_DIM(a", "PyArray_STRIDE(a"))]
    assert about(array, texts, before=CALLS, header=unknown) == [
        int(ACCESSORS[text](array)) for text in texts
    ]


@pytest.mark.row("J01")
@pytest.mark.parametrize(
    "code, word",
    [
        ("PyArray_DATA((double *)o) != NULL", "incompatible"),
        ("PyArray_GETPTR1((npy_intp *)o, 0) != NULL", "incompatible"),
        ("PyArray_NDIM(a) = 3", "read-only"),
        ("(PyArray_DIMS(a) = NULL) != NULL", "lvalue"),
        ("PyArray_DIM(a)", "PyArray_DIM"),
    ],
)
def test_what_is_no_array_and_what_is_no_variable(code: str, word: str) -> None:
    refuses(cwrapjit.CompileError, lambda: about(ar(2), [code]), word)


@pytest.mark.row("J01")
def test_the_array_is_evaluated_once() -> None:
    texts = [
        each.replace("(a", "((count++, a)") for each in FIXED if "DESCR" not in each and "DTYPE" not in each
    ]
    texts = [each for each in texts if "count++" in each]
    counted = [f"({{ int count = 0; (void)({each}); count; }})" for each in texts]
    assert about(ar(2, 2), counted) == [1] * len(texts)


@pytest.mark.row("J01")
def test_members_of_arrays_and_of_dtypes() -> None:
    array = ar(3, 4)[::2]
    texts = {
        "((PyArrayObject_fields *)o)->data": array.ctypes.data,
        "a->nd": 2,
        "a->dimensions[0] * 100 + a->dimensions[1]": 204,
        "a->strides[0]": 64,
        "a->base": id(array.base),
        "a->flags & NPY_ARRAY_C_CONTIGUOUS": 0,
        "a->descr": id(array.dtype),
        "a->descr->type_num": np.dtype(np.float64).num,
        "a->descr->elsize": 8,
        "a->descr->alignment": 8,
        "a->descr->kind": ord("f"),
        "a->descr->type": ord("d"),
        "a->descr->byteorder": ord("="),
        "a->descr->typeobj": id(np.float64),
    }
    assert about(array, list(texts)) == list(texts.values())


class Weird:
    """A class with a dict and two slots."""

    __slots__ = ("__dict__", "one", "two")


@pytest.mark.row("J01")
@pytest.mark.parametrize("value", [1.5, 7, "abc", (1, 2, 3), Weird(), [1], np.float32(1), ar(2)])
def test_members_of_types(value: Any) -> None:
    kind = type(value)
    texts = {
        "Py_TYPE(o)->tp_basicsize": kind.__basicsize__,
        "Py_TYPE(o)->tp_itemsize": kind.__itemsize__,
        "Py_TYPE(o)->tp_flags": kind.__flags__,
        "Py_TYPE(o)->tp_dictoffset": kind.__dictoffset__,
        "Py_TYPE(o)->tp_weaklistoffset": kind.__weakrefoffset__,
        "Py_TYPE(o)->tp_base": id(kind.__base__),
        "Py_TYPE(o)->tp_mro": id(kind.__mro__),
        "Py_TYPE(o)->tp_hash == Py_TYPE(o)->tp_base->tp_hash": None,
        "((PyObject *)Py_TYPE(o))->ob_type": id(type(kind)),
        "((PyVarObject *)Py_TYPE(o))->ob_size >= 0": 1,
        "Py_TYPE(o)->tp_getattro != NULL && Py_TYPE(o)->tp_new != NULL && Py_TYPE(o)->tp_free != NULL": 1,
    }
    known = {text: wanted for text, wanted in texts.items() if wanted is not None}
    assert about(value, list(known)) == list(known.values())
    (name,) = about(value, ["Py_TYPE(o)->tp_name"])
    assert ctypes.string_at(name).decode().rpartition(".")[2] == kind.__name__
    (text,) = about(value, ["(npy_int64)Py_TYPE(o)->tp_repr(o)"])
    made = ctypes.cast(text, ctypes.py_object).value
    assert made == repr(value)
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(made))
