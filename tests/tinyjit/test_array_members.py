"""Arrays and types are read in place: NumPy's accessors as macros, members of public structs, 0-d arrays."""

from __future__ import annotations

import ctypes
import itertools
from typing import Any

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np
import pytest
from helpers import ar, refuses, wrap
from hypothesis import given, settings
from test_python_headers import about

import cwrapjit

CALLS = "#define CWJ_ARRAY_CALLS 1\n"  # in front of the header: functions in place of the macros
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
    **{f"PyArray_DIM(a, {k})": lambda a, k=k: a.shape[k] if k < a.ndim else 1 for k in range(5)},
    **{f"PyArray_STRIDE(a, {k})": lambda a, k=k: a.strides[k] if k < a.ndim else 0 for k in range(5)},
    **{f"PyArray_DIMS(a)[{k}]": lambda a, k=k: a.shape[k] if k < a.ndim else None for k in range(4)},
    **{f"PyArray_SHAPE(a)[{k}]": lambda a, k=k: a.shape[k] if k < a.ndim else None for k in range(4)},
    **{f"PyArray_STRIDES(a)[{k}]": lambda a, k=k: a.strides[k] if k < a.ndim else None for k in range(4)},
}


def macros(optimize: str) -> Any:
    """All accessors that hold for any array, those of what it may not have left out."""
    fixed = [text for text in ACCESSORS if "[" not in text]
    lines = "".join(f"item__output({i}) = (npy_int64)({text});\n" for i, text in enumerate(fixed))
    f = wrap(
        (),
        (len(fixed),),
        {np.int64: f"PyArrayObject *a = (PyArrayObject *)o;\n{lines}return true;"},
        header="#include <numpy/arrayobject.h>",
        extra_args=(("PyObject*", "o", "NULL", "O"),),
        optimize=optimize,
    )
    assert f.tier == ("cc" if optimize == "eager" and cwrapjit._cwrapjit.optimizer()["compiler"] else "tcc")
    return lambda array: dict(zip(fixed, f(o=array).tolist(), strict=True))


@pytest.fixture(scope="module", params=["off", "eager"])
def read(request: pytest.FixtureRequest) -> Any:
    return macros(request.param)


arrays = hnp.arrays(
    dtype=hnp.scalar_dtypes() | hnp.unicode_string_dtypes() | hnp.array_dtypes(max_size=3),
    shape=hnp.array_shapes(min_dims=0, max_dims=6, min_side=0, max_side=4),
)


@pytest.mark.row("J01")
@given(array=arrays, data=st.data())
@settings(max_examples=60)
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
    # And one axis where two are asked for: nothing behind the strides is read.
    assert about(ar(4), ["*(double *)PyArray_GETPTR2(a, 3, 7)"], optimize=optimize) == [3]


@pytest.mark.quick
@pytest.mark.row("J01")
def test_the_macros_are_macros_where_numpys_layout_is_known() -> None:
    fixed = [text for text in ACCESSORS if "[" not in text]
    functions = {text.partition("(")[0] for text in ACCESSORS} | {f"PyArray_GETPTR{k}" for k in (1, 2, 3, 4)}
    known = "".join(f"#ifndef {name}\n#error {name} is a call\n#endif\n" for name in sorted(functions))
    unknown = known.replace("#ifndef", "#ifdef").replace("is a call", "is a macro")
    array = ar(3, 4)[1:, ::2]
    in_place = about(array, fixed, header=known)
    assert in_place == [int(ACCESSORS[text](array)) for text in fixed]
    texts = [text for text in fixed if not text.startswith(("PyArray_DIM(a", "PyArray_STRIDE(a"))]
    f = wrap(
        (),
        (len(texts),),
        {
            np.int64: "PyArrayObject *a = (PyArrayObject *)o;\n"
            + "".join(f"item__output({i}) = (npy_int64)({text});\n" for i, text in enumerate(texts))
            + "return true;"
        },
        header=CALLS + "#include <numpy/arrayobject.h>\n" + unknown,
        extra_args=(("PyObject*", "o", "NULL", "O"),),
    )
    assert f(o=array).tolist() == [int(ACCESSORS[text](array)) for text in texts]


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
        text.replace("(a", "((count++, a)")
        for text in ACCESSORS
        if "[" not in text and "DESCR" not in text and "DTYPE" not in text
    ]
    body = "".join(f"item__output({i}) = ((void)({text}), count);\n" for i, text in enumerate(texts))
    f = wrap(
        (),
        (len(texts),),
        {np.int64: f"int count = 0; PyArrayObject *a = (PyArrayObject *)o;\n{body}return true;"},
        header="#include <numpy/arrayobject.h>",
        extra_args=(("PyObject*", "o", "NULL", "O"),),
    )
    assert f(o=ar(2, 2)).tolist() == list(range(1, len(texts) + 1))


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
    """A class with a dict and a name of its own."""

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
