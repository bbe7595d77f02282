"""Tests arguments in place of arrays: lists, numbers, buffers, DLPack. What could be misread is rejected."""

from __future__ import annotations

import array
import warnings
from typing import Any

import numpy as np
import pytest
from helpers import INNER, ar, refuses, same, wrap, wrap_signature

import cwrapjit

TIMES = "item__output() = 2 * item__a(); return true;"


def inner() -> Any:
    body = INNER.replace("__a", "__left").replace("__b", "__right")
    return wrap((("n",), ("n",)), (), body, names=("left", "right"))


def double(*types: Any) -> Any:
    return wrap(((),), (), dict.fromkeys(types or (np.float64,), TIMES))


def add(*types: Any, **kw: Any) -> Any:
    code = "item__output() = item__a() + item__b(); return true;"
    return wrap(((), ()), (), dict.fromkeys(types or (np.float64,), code), **kw)


# ---- converted ------------------------------------------------------------------------------------


@pytest.mark.row("N09i")
def test_lists_and_tuples_become_arrays_and_match_strictly() -> None:
    f = inner()
    assert f([1.0, 2.0], (3.0, 4.0)) == 11 and f([], []) == 0
    assert f([[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0]).tolist() == [3, 7]
    assert f([ar(2), ar(2)], ar(2)).tolist() == [1, 1]
    assert f([1, 2.5], [2, 2.0]) == 7, "np.asarray makes float64 of these"
    refuses(TypeError, lambda: f([1, 2], [3, 4]), "t.f", "left", "int64", "float64")
    refuses(TypeError, lambda: f([1.0, 2.0], [True, False]), "t.f", "right", "bool", "float64")
    refuses(ValueError, lambda: f(ar(1), [[1.0], [1.0, 2.0]]), "t.f", "argument 'right'", "inhomogeneous")
    loop: list[Any] = []
    loop.append(loop)
    refuses(ValueError, lambda: f(loop, ar(1)), "t.f", "argument 'left'")


@pytest.mark.row("N09i", "N26i")
def test_buffers_and_memory_maps_are_read_where_they_are(tmp_path: Any) -> None:
    code = "item__output() = (npy_intp)data_slice__a; return true;"
    address, x = wrap((("n",),), (), {(np.float64, np.int64): code}), array.array("d", [1.0, 2.0, 3.0])
    assert int(address(x)) == x.buffer_info()[0], "no copy"
    assert int(address(memoryview(x)[1:])) == x.buffer_info()[0] + 8
    assert inner()(x, x) == inner()(memoryview(bytes(x)).cast("d"), x) == 14
    first = wrap((("n",),), (), {np.uint8: "item__output() = item__a(2); return true;"})
    assert first(bytearray(b"\1\2\3")) == 3
    refuses(TypeError, lambda: inner()(array.array("f", [1.0]), x), "left", "float32")
    mapped = np.memmap(tmp_path / "x", np.float64, "w+", shape=(3,))
    mapped[:] = 1, 2, 3
    assert double()(mapped).tolist() == [2, 4, 6]
    assert double()(ar(3), out=mapped) is mapped and mapped.tolist() == [0, 2, 4]


class HasArray:
    def __init__(self, value: Any) -> None:
        self.value = value

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.value


class HasInterface:
    def __init__(self, value: Any) -> None:
        self.value = value
        self.__array_interface__ = value.__array_interface__


class HasDLPack:
    """A CPU array of another library, which offers DLPack."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __dlpack__(self, **kw: Any) -> Any:
        return self.value.__dlpack__(**kw)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


class OnGPU:
    """An array that claims to be on a CUDA device."""

    def __dlpack__(self, **kw: Any) -> Any:
        raise AssertionError("nobody may ask for the memory")

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)


class GPUWithArray(OnGPU):
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise AssertionError("nobody may ask for a copy")


@pytest.mark.row("N09i")
@pytest.mark.parametrize("wrap", [HasArray, HasInterface, HasDLPack])
def test_objects_that_offer_an_array(wrap: Any) -> None:
    x = ar(2, 4)
    assert inner()(wrap(x), ar(4)).tolist() == [14, 38]
    assert inner()(wrap(x[:, ::-1]), ar(4)).tolist() == (x[:, ::-1] @ ar(4)).tolist()
    refuses(TypeError, lambda: inner()(wrap(ar(4, dtype=np.int16)), ar(4)), "left", "int16")


@pytest.mark.quick
@pytest.mark.row("N26i", "N09i")
@pytest.mark.parametrize("kind", [OnGPU, GPUWithArray])
def test_memory_of_a_gpu_is_refused(kind: Any) -> None:
    refuses(TypeError, lambda: inner()(kind(), ar(4)), "t.f", "left", kind.__name__, "(2, 0)")
    refuses(TypeError, lambda: inner()(ar(4), kind()), "t.f", "right", kind.__name__)


@pytest.mark.row("N09i")
def test_what_such_objects_raise_surfaces() -> None:
    class Broken:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            raise ZeroDivisionError("from __array__")

    class OddDevice:
        def __dlpack__(self, **kw: Any) -> Any: ...

        def __dlpack_device__(self) -> Any:
            return "xy"

    class NoDevice(OddDevice):
        def __dlpack_device__(self) -> Any:
            raise KeyError("from __dlpack_device__")

    f = inner()
    refuses(ZeroDivisionError, lambda: f(Broken(), ar(4)), "from __array__")
    refuses(KeyError, lambda: f(NoDevice(), ar(4)), "from __dlpack_device__")
    refuses(TypeError, lambda: f(OddDevice(), ar(4)), "'str' object cannot be interpreted as an integer")
    refuses(ValueError, lambda: f(HasArray(5), ar(4)), "t.f", "'left'", "__array__")


@pytest.mark.row("N09i")
def test_an_object_that_reshapes_an_earlier_argument_while_it_is_converted() -> None:
    x = ar(4)

    class Evil:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # NumPy 2.5 warns
                x.shape = (2, 2)
            return ar(2)

    assert inner()(x, Evil()).tolist() == [1, 3], "as if it had had that shape from the start"


@pytest.mark.row("N09i")
@pytest.mark.parametrize(
    "thing, word",
    [
        *((thing, "object") for thing in (None, object(), {}, {1.0}, (x for x in [1.0]), len)),
        ("text", "<U4"),
        (b"bytes", "|S5"),
        (3 + 4j, "a Python complex"),
    ],
)
def test_everything_else_is_refused_by_name(thing: Any, word: str) -> None:
    refuses(TypeError, lambda: inner()(ar(1), thing), "t.f", f"'right' is {word}")


# ---- Python's numbers -----------------------------------------------------------------------------


@pytest.mark.row("N09i", "N41")
def test_python_numbers_take_the_dtype_of_the_type_set() -> None:
    f = add(np.float64, np.float32, np.int32, np.int64)
    for t in (np.float64, np.float32, np.int32, np.int64):
        for got in (f(ar(3, dtype=t), 2), f(2, ar(3, dtype=t))):
            assert got.dtype == t and got.tolist() == [2, 3, 4]
    assert f(ar(2, dtype=np.float32), 0.5).dtype == np.float32
    weak = wrap(((), ()), (), dict.fromkeys("FD", "item__output() = item__b(); return true;"))
    assert (
        type(weak(np.complex64(1), 2j)) is np.complex64 and type(weak(np.complex128(1), 2)) is np.complex128
    )
    f = double(np.int64, np.float64)
    assert type(f(2)) is np.int64 and f(2) == 4
    assert type(f(2.5)) is np.float64 and f(2.5) == 5
    refuses(TypeError, lambda: f(2.5j), "t.f", "'a' is a Python complex")


@pytest.mark.row("N09i")
def test_numbers_that_do_not_fit_are_refused() -> None:
    f = add(np.int32)
    assert f(np.int32(1), 2**31 - 2) == 2**31 - 1
    for number in (2**31, -(2**31) - 1, 2**70):
        words = f"t.f(): argument 'b': {number} is out of range of int32", "wanted (int32"
        refuses(OverflowError, lambda number=number: f(np.int32(1), number), *words)
    refuses(TypeError, lambda: f(np.int32(1), 2.0), "t.f", "'b' is a Python float", "int32")
    refuses(TypeError, lambda: add()(1.0, 2j), "t.f", "'b' is a Python complex", "float64")
    refuses(OverflowError, lambda: add(np.uint8)(np.uint8(1), -1), "'b': -1 is out of range of uint8")
    refuses(TypeError, lambda: add(np.uint8)(np.int8(1), -1), "no type set fits")
    safe = add(np.int16, cast="safe")
    assert safe(np.uint8(1), 256) == 257
    refuses(OverflowError, lambda: safe(np.uint8(1), 2**15), "'b': 32768 is out of range of int16")
    assert add()(1.0, 2**53) == 2.0**53 + 1 and add()(ar(2), 2).tolist() == [2, 3] and inner()(3, 4.0) == 12
    assert add()(0.0, 2**53 + 1) == 2.0**53 and add()(0.0, 2**64 + 2**12 + 1) == 2.0**64 + 2**12
    refuses(OverflowError, lambda: add()(1.0, 2**1024), "'b': 1797", "is out of range of float64")
    refuses(TypeError, lambda: add()(ar(2), np.int64(2)), "t.f", "'b' is int64")


# ---- subclasses, masks, overrides -----------------------------------------------------------------


class Sub(np.ndarray):
    pass


@pytest.mark.row("N26i", "N05i")
def test_subclasses_are_accepted_and_results_are_base_arrays() -> None:
    f = double()
    for kind in (Sub, np.matrix, np.recarray):
        got = f(ar(2, 3).view(kind))
        assert type(got) is np.ndarray and same(got, 2 * ar(2, 3))
    assert type(inner()(ar(4).view(Sub), ar(4))) is type(f(np.array(2.0).view(Sub))) is np.float64
    out = np.zeros(3).view(Sub)
    assert f(ar(3), out=out) is out and out.tolist() == [0, 2, 4]


@pytest.mark.row("N26i")
def test_masked_elements_are_refused_and_masks_without_any_are_not() -> None:
    x = np.ma.masked_array(ar(3), [False, True, False])
    for each in (x, np.ma.masked, HasArray(x), np.ma.masked_array(ar(3), True)):
        refuses(TypeError, lambda each=each: double()(each), "t.f", "'a'", "masked")
    refuses(TypeError, lambda: double()(ar(3), out=x), "t.f", "output", "masked")
    for mask in (np.ma.nomask, False, [False] * 3):
        x = np.ma.masked_array(ar(3), mask)
        for each in (x, HasArray(x)):
            got = double()(each)
            assert type(got) is np.ndarray and got.tolist() == np.add(x, x).tolist()
        assert double()(ar(3), out=x) is x and x.data.tolist() == [0, 2, 4] and not x.mask.any()
    assert double()(np.ma.masked_array(2.0)) == 4


@pytest.mark.row("N26i")
def test_the_masks_of_structs() -> None:
    f = wrap(((),), (), {(np.dtype("i4,f8"), np.float64): "item__output() = item__a().f1; return true;"})
    x = np.ma.zeros(2, "i4,f8")
    assert f(x).tolist() == [0, 0]
    x.mask[1] = (False, True)
    refuses(TypeError, lambda: f(x), "'a'", "masked")


class Opted:
    """Opts out of NumPy's ufuncs."""

    __array_ufunc__ = None

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return ar(3)


class Series:
    """Overrides NumPy's ufuncs, as a column of a data frame does."""

    def __init__(self, values: Any, index: Any) -> None:
        self.values, self.index = values, index

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.values

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kw: Any) -> Any:
        return NotImplemented

    def __len__(self) -> int:
        return len(self.values)


class Quantity(np.ndarray):
    """Stands for an array with a unit."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kw: Any) -> Any:
        return NotImplemented


@pytest.mark.quick
@pytest.mark.row("N26i")
@pytest.mark.parametrize(
    "thing", [Opted(), Series(ar(3), "abc"), ar(3).view(Quantity)], ids=["None", "Series", "Quantity"]
)
def test_objects_that_take_numpys_calls_over_are_refused(thing: Any) -> None:
    words = type(thing).__name__, "__array_ufunc__"
    refuses(TypeError, lambda: double()(thing), "t.f", "'a'", *words)
    refuses(TypeError, lambda: inner()(ar(3), thing), "t.f", "right", *words)
    refuses(TypeError, lambda: double()(ar(3), out=thing), "t.f", "output", type(thing).__name__)
    assert double()(np.array(thing)).tolist() == [0, 2, 4], "their data, converted by the caller, is fine"


@pytest.mark.row("N26i")
def test_where_arrays_may_convert_the_ufunc_is_asked() -> None:
    calls: list[Any] = []

    class Column(Series):
        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kw: Any) -> Any:
            calls.append((ufunc.__name__, [type(each).__name__ for each in inputs]))
            plain = (each.values if isinstance(each, Column) else each for each in inputs)
            return Column(ufunc(*plain, **kw), self.index)

    column = Column(ar(3), "abc")
    f = cwrapjit.vectorize("double f(double x, double y) { return x + y; }")
    assert f(column, 1).values.tolist() == f(y=1, x=column).values.tolist() == [1, 2, 3]
    assert calls == [("f", ["Column", "int"])] * 2 and f(1, column).index == "abc"
    out = np.empty(3)
    assert f(column, 2, out=out).values is out
    safe = wrap_signature("a(n) -> output()", "item__output() = item__a(0); return true;", cast="safe")
    assert safe(column) == 0 and len(calls) == 4  # slices with core dims get arrays
    keeps = {"Ccode_cookie_struct": "int x;", "Ccode_cookie_cleanup": ""}
    none = wrap_signature("a() -> output()", "item__output() = item__a(); return true;", cast="safe", **keeps)
    assert none(column).tolist() == [0, 1, 2] and len(calls) == 4  # a cookie may see the whole call
    double = "double f(double x) { return 2 * x; }"
    assert cwrapjit.vectorize(double, debug=True)(column).index == "abc"
    more = {"extra_args": (("double", "k", "1.0", "d"),), "cast": "safe"}
    times = wrap_signature("a() -> output()", "item__output() = item__a() * *k; return true;", **more)
    assert times(column, k=3).values.tolist() == [0, 3, 6] and times(column, k=3).index == "abc"
    single = cwrapjit.vectorize(double.replace("double", "float"), cast="same_kind")
    assert single(column).values.dtype == np.float32
    f32 = cwrapjit.vectorize("float f(float x, float y) { return x + y; }")
    assert f32(Column(ar(3, dtype="f4"), "abc"), np.int64(2)).values.tolist() == [2, 3, 4]
    refuses(TypeError, lambda: f(column), "f(): missing required argument 'y'")
    refuses(TypeError, lambda: f(Opted(), 1), "'x'", "Opted sets __array_ufunc__ = None")
    refuses(TypeError, lambda: f(ar(3).view(Quantity), 1), "__array_ufunc__")
    refuses(TypeError, lambda: safe(ar(3).view(Quantity)), "'a'", "Quantity has its own")
    refuses(TypeError, lambda: f(1, 2, out=ar(3).view(Quantity)), "output", "Quantity has its own")


@pytest.mark.compiler("explain() reports on the cc tier's code")
@pytest.mark.row("N26i", "S03")
def test_a_converted_series_is_told() -> None:
    class Column(Series):
        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kw: Any) -> Any:
            plain = (each.values if isinstance(each, Column) else each for each in inputs)
            return Column(ufunc(*plain, **kw), self.index)

    double = cwrapjit.vectorize("double f(double x) { return 2 * x; }", copies="warn")
    with pytest.warns(UserWarning, match="'x'"):
        assert double(Column(ar(3, dtype="i8"), "abc")).index == "abc"
    assert double.explain().copies == {"x": 1}


@pytest.mark.row("N09i", "N34")
@pytest.mark.parametrize(
    "out", [[0.0, 0.0, 0.0], memoryview(bytearray(24)).cast("d"), 5, "x", HasArray(np.zeros(3))]
)
def test_out_is_never_converted(out: Any) -> None:
    refuses(TypeError, lambda: double()(ar(3), out=out), "t.f", "out", type(out).__name__)
