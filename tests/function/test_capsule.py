"""Tests f.address and f.capsule, which give functions to ctypes and other compiled code."""

from __future__ import annotations

import ctypes
import gc
import sys
import weakref
from typing import Any

import numpy as np
import pytest
from helpers import in_threads, refuses, wrap, wrap_signature
from leaks import keeps_nothing

import cwrapjit

SIGNATURE = b"int (char **, npy_intp *, npy_intp *, void *)"
LOOP = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.POINTER(ctypes.c_ssize_t),
    ctypes.POINTER(ctypes.c_ssize_t),
    ctypes.c_void_p,
)


def numbers(*values: int) -> Any:
    return (ctypes.c_ssize_t * max(1, len(values)))(*values)


def run(f: Any, arrays: tuple[np.ndarray, ...], dims: tuple[int, ...], ncore: tuple[int, ...], extras=None):
    """Calls the loop as NumPy's ufuncs do: `steps` has one step per operand, then the core strides."""
    data = (ctypes.c_void_p * len(arrays))(*[a.ctypes.data for a in arrays])
    steps = [a.strides[0] if a.ndim > n else 0 for a, n in zip(arrays, ncore, strict=True)]
    core = [s for a, n in zip(arrays, ncore, strict=True) for s in a.strides[a.ndim - n :]]
    return LOOP(f.address)(data, numbers(*dims), numbers(*steps, *core), extras)


def square(**options: Any) -> Any:
    return wrap_signature("x() -> y()", "item__y() = item__x() * item__x(); return true;", **options)


def capsule_name(f: Any) -> str:
    name = ctypes.pythonapi.PyCapsule_GetName
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    return name(f.capsule).decode()


# ---- a function's loop ---------------------------------------------------------------------------


@pytest.mark.row("U11")
def test_the_loop_by_ctypes():
    f = square()
    x, y = np.arange(100.0)[::2], np.zeros(50)
    for _ in range(2):
        address = f.address
        assert run(f, (x, y), (50,), (0, 0)) == 1
        np.testing.assert_array_equal(y, x * x)
        y[:] = 0
        f.wait()  # then the cc tier's loop runs, if there is one
        assert f.address == address
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    assert capsule_name(f) == SIGNATURE.decode()
    assert pointer(f.capsule, SIGNATURE) == f.address


def test_core_dims_and_their_strides():
    f = wrap_signature(
        "a(n, 2), b(n) -> y(2), n(n)",
        """
        for (int j = 0; j < 2; j++) {
            item__y(j) = 0;
            for (int i = 0; i < dims_slice__a[0]; i++)
                item__y(j) += item__a(i, j) * item__b(i);
        }
        for (int i = 0; i < dims_slice__n[0]; i++)
            item__n(i) = dims_slice__a[0] * 10 + dims_slice__a[1];
        return true;""",
    )
    rng = np.random.default_rng(0)
    a, b = rng.random((5, 2, 3)).transpose(0, 2, 1), rng.random((5, 6))[:, ::2]
    y, n = np.zeros((5, 4))[:, ::-2], np.zeros((5, 3))
    assert run(f, (a, b, y, n), (5, 3, 2), (2, 1, 1, 1)) == 1
    wanted = f(a, b)
    np.testing.assert_array_equal(y, wanted[0])
    np.testing.assert_array_equal(n, wanted[1])
    assert (n == 32).all()


def test_the_geometry_of_the_whole_is_that_of_the_run():
    code = "item__y() = dims_full__a[0] * 10 + strides_full__a[1] + CHECK_CONTIGUOUS__a() * 0.5"
    f = wrap_signature("a(n) -> y()", code + "+ CHECK_CONTIGUOUS_ALL() * 0.25; return true;")
    y = np.zeros(4)
    for a, wanted in ((np.zeros((4, 3)), 48.75), (np.zeros((4, 6))[:, ::2], 56.0)):
        assert run(f, (a, y), (4, 3), (1, 0)) == 1
        assert y.tolist() == [wanted] * 4


def test_what_slices_share_is_one_array():
    f = wrap_signature(
        "x(), shared t(n) -> y()",
        "item__t((int)item__x()) += 1; item__y() = dims_full__t[0] * 10 + dims_full__x[0]; return true;",
    )
    x, t, y = np.array([1.0, 2, 1, 0]), np.zeros(3), np.zeros(4)
    data = (ctypes.c_void_p * 3)(x.ctypes.data, t.ctypes.data, y.ctypes.data)
    assert LOOP(f.address)(data, numbers(4, 3), numbers(8, 0, 8, 8), None) == 1
    assert t.tolist() == [1, 2, 1] and y.tolist() == [34] * 4


def test_a_window_is_a_slice():
    text = "item__y() = item__x(0) + item__x(1) + item__x(2); return true;"
    f = wrap_signature("x() -> y()", text, windows={"x": (3,)})
    x, y = np.arange(6.0), np.zeros(4)
    data = (ctypes.c_void_p * 2)(x.ctypes.data, y.ctypes.data)
    assert LOOP(f.address)(data, numbers(4, 3), numbers(8, 8, 8), None) == 1
    np.testing.assert_array_equal(y, f(x)[1:-1])


class Extras(ctypes.Structure):
    _fields_ = (("k", ctypes.c_double), ("n", ctypes.c_int))


@pytest.mark.quick
@pytest.mark.row("U11")
def test_extra_arguments_are_the_user_data():
    f = wrap_signature(
        "x() -> y()",
        "item__y() = item__x() * *k + *n; return true;",
        extra_args=(("double", "k", "2.0", "d"), ("int", "n", "1", "i")),
    )
    x, y = np.arange(4.0), np.zeros(4)
    assert run(f, (x, y), (4,), (0, 0), None) == 1
    np.testing.assert_array_equal(y, f(x))
    given = Extras(10.0, -3)
    assert run(f, (x, y), (4,), (0, 0), ctypes.addressof(given)) == 1
    np.testing.assert_array_equal(y, f(x, k=10.0, n=-3))


def test_what_slices_answer():
    f = wrap_signature("x() -> y()", "item__y() = item__x(); return item__x() < 3;")
    x, y = np.arange(6.0), np.zeros(6)
    assert run(f, (x, y), (6,), (0, 0)) == 0 and y.tolist() == [0, 1, 2, 3, 0, 0]
    assert run(f, (x[:2], y), (2,), (0, 0)) == run(f, (x, y), (0,), (0, 0)) == 1


@pytest.mark.quick
def test_what_slices_raise_is_unraisable(monkeypatch: pytest.MonkeyPatch):
    code = 'if (item__x() > 1) { PyErr_Format(PyExc_ValueError, "got %d", (int)item__x()); return false; }'
    f, seen = wrap_signature("x() -> y()", code + "item__y() = 7; return true;"), []
    monkeypatch.setattr(sys, "unraisablehook", lambda info: seen.append(str(info.exc_value)))
    x, y = np.arange(3.0), np.zeros(3)
    assert run(f, (x, y), (2,), (0, 0)) == 1 and seen == []
    assert run(f, (x, y), (3,), (0, 0)) == 0 and seen == ["got 2"]  # ctypes has released the GIL
    with_gil = ctypes.PYFUNCTYPE(LOOP._restype_, *LOOP._argtypes_)(f.address)
    data = (ctypes.c_void_p * 2)(x.ctypes.data + 16, y.ctypes.data)
    assert with_gil(data, numbers(1), numbers(8, 8), None) == 0 and seen == ["got 2"] * 2
    f = wrap_signature("x() -> y()", code.replace("return false;", "") + "item__y() = 7; return true;")
    assert run(f, (x, y), (3,), (0, 0)) == 0 and seen == ["got 2"] * 3, "an answer of true does not hide it"


@pytest.mark.quick
def test_functions_that_need_the_gil_take_it():
    code = """
        PyObject *made = PyLong_FromLong((long)item__x());
        item__y() = made ? PyLong_AsLong(made) + PyGILState_Check() : -1;
        Py_XDECREF(made); return true;"""
    f = wrap_signature("x() -> y()", code, header="#include <Python.h>")
    x, y = np.arange(5.0), np.zeros(5)
    assert run(f, (x, y), (5,), (0, 0)) == 1
    np.testing.assert_array_equal(y, x + 1)


@pytest.mark.quick
def test_many_operands():
    names = [f"x{i}" for i in range(60)]
    text = f"item__y() = {' + '.join(f'item__{n}()' for n in names)}; return true;"
    f = wrap_signature(", ".join(f"{n}()" for n in names) + " -> y()", text)
    arrays = [np.full(3, float(i)) for i in range(60)]
    y = np.zeros(3)
    assert run(f, (*arrays, y), (3,), (0,) * 61) == 1
    assert y.tolist() == [sum(range(60))] * 3


def test_threads_run_one_loop():
    f = square()
    loop, x = LOOP(f.address), np.arange(1000.0)
    outs = [np.zeros(1000) for _ in range(4)]

    def work(k: int) -> None:
        for _ in range(50):
            loop(
                (ctypes.c_void_p * 2)(x.ctypes.data, outs[k].ctypes.data), numbers(1000), numbers(8, 8), None
            )

    in_threads(work, 4, meanwhile=f.wait)  # the loops are swapped meanwhile
    for out in outs:
        np.testing.assert_array_equal(out, x * x)


@pytest.mark.quick
@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"Ccode_validate": "return true;"}, "Ccode_validate"),
        ({"Ccode_cookie_struct": "int k;", "Ccode_validate": None}, "cookie"),
        ({"debug": True}, "debug=True"),
    ],
)
def test_what_has_no_address(options: dict[str, Any], reason: str):
    f = square(**options)
    for name in ("address", "capsule"):
        refuses(AttributeError, lambda name=name: getattr(f, name), "t.f(): there is no address: ", reason)
    assert f(3.0) == 9


@pytest.mark.quick
def test_several_type_sets_have_no_address():
    f = wrap(((),), (), dict.fromkeys((np.float64, np.int32), "item__output() = item__a(); return true;"))
    refuses(AttributeError, lambda: f.address, "several type sets")
    assert not hasattr(f, "capsule")


# ---- a function of the header --------------------------------------------------------------------


@pytest.mark.row("K21")
def test_a_function_of_the_header_stands_for_the_loop():
    header = "static double two = 2;\ndouble twice(double x, int n) { return n * two * x; }"
    text = "item__y() = twice(item__x(), 1); return true;"
    declared = "double twice (double, int)"
    f = wrap_signature("x() -> y()", text, header=header, c_function=declared)
    assert capsule_name(f) == "double (double, int)"
    call = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_int)(f.address)
    assert call(1.5, 2) == 6 and f(1.5) == 3
    gone, capsule = weakref.ref(f), f.capsule
    del f
    gc.collect()
    assert gone() is not None and call(1.5, 2) == 6
    del capsule
    gc.collect()
    assert gone() is None


@pytest.mark.row("K21")
def test_vectorize_gives_the_function_of_the_text():
    f = cwrapjit.vectorize("double f(double x) { return 3 * x * x; }")
    assert capsule_name(f) == "double (double)"
    assert ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(f.address)(2.0) == 12
    f = cwrapjit.vectorize("T f(T x, OUT T *y) { *y = x; return 2 * x; }", T="f4")
    assert capsule_name(f) == "float (float, float *)"
    several = cwrapjit.vectorize("T f(T x) { return 2 * x; }", T=("f4", "f8"))
    refuses(AttributeError, lambda: several.address, "several type sets")


@pytest.mark.parametrize(
    "declared", ["", "f", "f(double)", "double f", "double f(int", "double 2f(int)", "x (*f)(int)"]
)
def test_what_is_no_declaration(declared: str):
    refuses(ValueError, lambda: square(c_function=declared), "t.f(): c_function", "is no declaration such as")
    refuses(TypeError, lambda: square(c_function=3), "c_function")


def test_a_function_that_is_not_there():
    f = square(c_function="double nothing(double)")
    refuses(AttributeError, lambda: f.capsule, "no such function that is not static")
    f = square(c_function="double g(double)", header="static double g(double x) { return x; }")
    assert f(2.0) == 4 and not hasattr(f, "address")


# ---- lifetime --------------------------------------------------------------------------------------


@pytest.mark.row("U11")
def test_the_capsule_keeps_the_code():
    f = square()
    gone = weakref.ref(f)
    address, capsule = f.address, f.capsule
    del f
    gc.collect()
    assert gone() is not None
    x, y = np.arange(3.0), np.zeros(3)
    data = (ctypes.c_void_p * 2)(x.ctypes.data, y.ctypes.data)
    assert LOOP(address)(data, numbers(3), numbers(8, 8), None) == 1
    del capsule
    gc.collect()
    assert gone() is None


@pytest.mark.leak
def test_addresses_and_capsules_keep_nothing():
    f = square()
    keeps_nothing(lambda: (f.address, f.capsule), 300, (f,))

    def of_the_header() -> None:
        text = "item__y() = g(item__x()); return true;"
        header = "double g(double x) { return x; }"
        made = wrap_signature("x() -> y()", text, header=header, c_function="double g(double)")
        assert made.capsule is not None

    keeps_nothing(lambda: square().capsule)
    keeps_nothing(of_the_header)


@pytest.mark.quick
def test_no_memory_is_an_exception():
    testcapi = pytest.importorskip("_testcapi")
    failures = 0
    for k in range(1, 400):
        f = square()
        testcapi.set_nomemory(k, k + 1)
        try:
            capsule = f.capsule
        except MemoryError:
            failures += 1
        else:
            if failures and k > 40:
                break
            del capsule
        finally:
            testcapi.remove_mem_hooks()
        assert f.address
    assert failures > 2
