"""The small <Python.h> and <numpy/arrayobject.h>: what snippets can do with objects and arrays."""

from __future__ import annotations

import pathlib
import re
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from helpers import ar, refuses, wrap

import cwrapjit

INCLUDE = pathlib.Path(cwrapjit.__file__).parent / "include"


def about(array: Any, expressions: Sequence[str], **kw: Any) -> list[int]:
    """The C expressions, as integers, where `a` is this object and <numpy/arrayobject.h> is known."""
    lines = [f"item__output({i}) = (npy_int64)({text});" for i, text in enumerate(expressions)]
    f = wrap(
        (),
        (len(expressions),),
        {np.int64: "\n".join(["PyArrayObject *a = (PyArrayObject *)o;", *lines, "return true;"])},
        header="#include <numpy/arrayobject.h>\n" + kw.pop("header", ""),
        extra_args=(("PyObject*", "o", "NULL", "O"),),
        **kw,
    )
    return [int(value) for value in f(o=array)]


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


@pytest.mark.quick
@pytest.mark.row("N80")
def test_arrays_say_what_they_are() -> None:
    asked = """
        PyArray_Check(o); PyArray_CheckExact(o); PyArray_NDIM(a); PyArray_DIM(a, 0); PyArray_DIMS(a)[1];
        PyArray_SHAPE(a)[1]; PyArray_STRIDE(a, 0); PyArray_STRIDES(a)[1]; PyArray_ITEMSIZE(a);
        PyArray_SIZE(a); PyArray_NBYTES(a); PyArray_TYPE(a); PyArray_DATA(a); PyArray_BYTES(a);
        PyArray_ISCONTIGUOUS(a); PyArray_IS_F_CONTIGUOUS(a); PyArray_ISWRITEABLE(a); PyArray_ISBEHAVED(a);
        PyArray_ISFLOAT(a); PyArray_ISINTEGER(a); PyArray_ISSIGNED(a); PyArray_BASE(a) != NULL;
        (PyArray_FLAGS(a) & NPY_ARRAY_OWNDATA) != 0; PyArray_ISBYTESWAPPED(a);
        PyDataType_ELSIZE(PyArray_DESCR(a)); Py_TYPE(o) == &PyArray_Type
        """.split(";")
    for x in (
        ar(3, 4),
        ar(3, 4).T,
        ar(6, 8, dtype=np.int16)[::2, ::-2],
        ar(2, 2).astype(">i4"),
        ar(2, 3, dtype=np.uint8),
    ):
        kind = x.dtype.kind
        wanted = [
            1,
            1,
            x.ndim,
            x.shape[0],
            x.shape[1],
            x.shape[1],
            x.strides[0],
            x.strides[1],
            x.itemsize,
            x.size,
            x.nbytes,
            x.dtype.num,
            x.ctypes.data,
            x.ctypes.data,
            x.flags.c_contiguous,
            x.flags.f_contiguous,
            x.flags.writeable,
            x.flags.behaved and x.dtype.isnative,
            kind == "f",
            kind in "iu",
            kind == "i",
            x.base is not None,
            x.flags.owndata,
            not x.dtype.isnative,
            x.itemsize,
            1,
        ]
        got = [
            bool(g) if isinstance(w, bool | np.bool_) else g
            for g, w in zip(about(x, asked), wanted, strict=True)
        ]
        assert got == wanted
    assert about([1], ["PyArray_Check(o)"]) == [0]


@pytest.mark.quick
@pytest.mark.row("N80")
def test_elements_of_arrays() -> None:
    x = ar(2, 3, 4, 5)[:, ::2, ::-1]
    got = about(
        x[0, 0], ["*(double *)PyArray_GETPTR2(a, 1, 2)", "*(double *)PyArray_GetPtr(a, (npy_intp[]){3, 4})"]
    )
    assert got == [x[0, 0, 1, 2], x[0, 0, 3, 4]]
    assert about(x, ["*(double *)PyArray_GETPTR4(a, 1, 1, 2, 3)"]) == [x[1, 1, 2, 3]]
    assert about(x[0, 0, 0], ["*(double *)PyArray_GETPTR1(a, 1)"]) == [x[0, 0, 0, 1]]
    y = np.zeros(2)
    header = "static int put(PyObject *o, double x) { PyObject *v = PyFloat_FromDouble(x);\n"
    header += "int r = PyArray_SETITEM((PyArrayObject *)o, PyArray_GETPTR1((PyArrayObject *)o, 1), v);\n"
    header += "Py_DECREF(v); return r; }"
    assert about(y, ["put(o, 2.5)"], header=header) == [0] and y.tolist() == [0, 2.5]


@pytest.mark.quick
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
    """Python.h and arrayobject.h promise nothing that is missing in this interpreter."""
    for name, count in (("Python.h", 300), ("numpy/arrayobject.h", 150)):
        text = (INCLUDE / name).read_text()
        names = sorted(set(declared(text)))
        assert len(names) >= count
        body = "".join(f"x += (size_t){function} != 0;\n" for function in names)
        f = wrap(
            (),
            (),
            {np.int64: f"size_t x = 0;\n{body}item__output() = x;\nreturn true;"},
            header=f"#include <{name}>",
        )
        assert f() == len(names)


def declared(text: str) -> list[str]:
    """The names of the functions that a header of ours declares, macros and comments apart."""
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


@pytest.mark.quick
@pytest.mark.row("N80")
def test_an_objects_count_and_type_are_members() -> None:
    checks = ["o->ob_refcnt == Py_REFCNT(o)", "o->ob_type == Py_TYPE(o)", "sizeof(PyObject)"]
    assert about(ar(2), checks) == [1, 1, 16]
