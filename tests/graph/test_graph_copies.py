"""deep_copy, view, shape, shape_i, and C code that is registered for types."""

from __future__ import annotations

import copy
import sys
from typing import Any

import numpy as np
import pytest
from helpers import refuses

import cwrapjit as cj
import cwrapjit.graph as cg


class Plain(cg.CType):
    """A type without any C."""


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
    got = linked(cg.deep_copy, Plain())(value)  # no C: Python's
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
    assert linked(cg.shape, Plain())(Sized()).tolist() == [4, 5]  # of any object
    assert linked(cg.shape, cg.generic)(Sized()).tolist() == [4, 5]


@pytest.mark.row("A40")
def test_one_length() -> None:
    k = linked(cg.shape_i(1), cg.ndarray("float64", 2))
    assert k(np.zeros((2, 3))) == 3 and type(k(np.zeros((2, 3)))) is int
    refuses(
        ValueError,
        lambda: linked(cg.shape_i(2), cg.ndarray("float64", 2))(np.zeros((2, 3))),
        "shape_i(2)",
        "2 dim",
    )
    assert linked(cg.shape_i(0), Plain())(Sized()) == 4
    refuses(ValueError, lambda: linked(cg.shape_i(2), Plain())(Sized()), "shape_i(2)", "2 dim")
    for i in (-1, True, 1.0, "a"):
        refuses(ValueError, lambda i=i: cg.shape_i(i), "axis")
    assert cg.shape_i(1) == cg.shape_i(1) != cg.shape_i(2)


class Text(cg.CType):
    """A str, as a PyObject *; its shape is its length."""

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
    """Has no code of its own."""


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Registrations end with the test."""
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


def test_registrations_that_are_none() -> None:
    refuses(TypeError, lambda: cg.register_deep_copy_op_c_code(cg.float64, ""), "class")
    refuses(TypeError, lambda: cg.register_view_op_c_code(Text, None), "str")
    refuses(TypeError, lambda: cg.register_shape_i_c_code(Text, "", None), "str")


def test_an_object_that_cannot_be_copied() -> None:
    class Stubborn:
        def __deepcopy__(self, memo: Any) -> Any:
            raise KeyError("no copies")

    refuses(KeyError, lambda: linked(cg.deep_copy, Plain())(Stubborn()), "no copies")
    assert copy.deepcopy(cg.deep_copy) == cg.deep_copy
