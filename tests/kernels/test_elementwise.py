"""Tests ElementwiseKernel: CuPy's kernels on the CPU, as in its test_userkernel and test_elementwise."""

from __future__ import annotations

import copy
import enum
import functools
import gc
import pickle
import threading
import warnings
import weakref
from typing import Any

import numpy as np
import pytest
from helpers import python, refuses
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from leaks import keeps_nothing

import cwrapjit
from cwrapjit import CompileError, ElementwiseKernel
from cwrapjit._cwrapjit import Adapted
from cwrapjit.kernels import elementwise
from cwrapjit.kernels.parameters import parse, resolve

INTEGERS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]
NUMBERS = ["?", *INTEGERS, "f4", "f8"]

DIFF = ElementwiseKernel("T x, T y", "T z", "z = (x - y) * (x - y)", "diff")
REVERSE = ElementwiseKernel("T x, raw T y", "T z", "z = x + y[_ind.size() - i - 1]", "add_reverse")
SHIFT = ElementwiseKernel("raw T x", "raw T y", "y[(i + 1) % _ind.size()] = x[i]", "shift")


# ---- kernels of CuPy's documentation ------------------------------------------------------------


@pytest.mark.row("K01", "K03")
def test_squared_diff() -> None:
    kernel = ElementwiseKernel("float32 x, float32 y", "float32 z", "z = (x - y) * (x - y)", "squared_diff")
    x, y = np.arange(10, dtype=np.float32).reshape(2, 5), np.arange(5, dtype=np.float32)
    expected = (x - y) ** 2
    np.testing.assert_array_equal(kernel(x, y), expected, strict=True)
    assert (kernel(x, 5) == (x - 5) ** 2).all()
    z = np.empty((2, 5), dtype=np.float32)
    for call in (lambda: kernel(x, y, z), lambda: kernel(x, y, out=z), lambda: kernel(x, y, out=(z,))):
        z[:] = 0
        assert call() is z and (z == expected).all()
    assert kernel(x, y, out=None) is not z
    assert (kernel.name, kernel.nin, kernel.nout, kernel.nargs) == ("squared_diff", 2, 1, 3)
    assert repr(kernel) == "<ElementwiseKernel squared_diff(float32 x, float32 y) -> float32 z>"
    assert kernel.__name__ == "squared_diff"


@pytest.mark.row("K01", "K05")
def test_squared_diff_generic() -> None:
    kernel = ElementwiseKernel("T x, T y", "T z", "z = (x - y) * (x - y)", "squared_diff_generic")
    for sort in ("f4", "f8", "i4", "u1"):
        x, y = np.arange(6, dtype=sort), np.arange(6, dtype=sort)[::-1]
        assert (kernel(x, y) == (x - y) * (x - y)).all() and kernel(x, y).dtype == sort
    assert len(kernel.functions) == 4, "once per combination"
    assert kernel(x, y).dtype == np.uint8 and len(kernel.functions) == 4


@pytest.mark.row("K02")
def test_add_reverse() -> None:
    for x, y in [
        (np.arange(5.0), np.arange(5.0)),
        (np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(2, 6)[:, ::2]),
        (np.arange(6.0).reshape(2, 3).T, np.arange(6.0)[::-1]),
        (np.arange(24.0).reshape(2, 3, 4).transpose(2, 0, 1), np.arange(24.0).reshape(4, 3, 2).T),
    ]:
        assert (REVERSE(x, y) == x + y.ravel()[::-1].reshape(x.shape)).all()


@pytest.mark.row("K02")
def test_shift_with_raw_operands_alone() -> None:
    x = np.arange(5.0)
    assert SHIFT(x, size=5).tolist() == [4, 0, 1, 2, 3]
    y = np.zeros((3, 2))
    wide = np.zeros((4, 6))
    assert SHIFT(x, y, size=5) is y and y.tolist() == [[4, 0], [1, 2], [3, 0]]
    SHIFT(x, wide[::2, ::-3], size=4)
    assert wide[::2, ::-3].tolist() == [[3, 0], [1, 2]]
    assert SHIFT(np.arange(4, dtype="i2"), size=4).dtype == np.int16
    assert SHIFT(x, size=0).shape == (0,)


@pytest.mark.quick
@pytest.mark.row("K02")
def test_index_and_multi_index() -> None:
    linear = ElementwiseKernel("T x", "int64 y", "y = i", "linear")
    for x in (
        np.zeros((3, 4)),
        np.zeros((4, 3)).T,
        np.zeros((3, 4))[::-1, ::-2],
        np.zeros(()),
        np.zeros((2, 0)),
    ):
        expected = np.arange(x.size).reshape(x.shape)
        assert np.array_equal(linear(x), expected)
    column = ElementwiseKernel("T x", "int64 y", "y = _ind.get()[1] + 10 * _ind.ndim", reduce_dims=False)
    assert (column(np.zeros((3, 4))) == 20 + np.arange(4)).all()
    strange = ElementwiseKernel(
        "raw T x", "int64 y", "y = x.size() * 1000 + x.shape()[0] * 100 + x.strides()[1] + x.ndim"
    )
    y = np.zeros(2, int)
    strange(np.zeros((3, 5)), y)
    assert (y == 15000 + 300 + 8 + 2).all()


# ---- types --------------------------------------------------------------------------------------


@pytest.mark.quick
@pytest.mark.row("K05")
@pytest.mark.parametrize("sort", NUMBERS)
def test_scalars_at_the_limits(sort: str) -> None:
    """Numbers of NumPy's count as Python's: only arrays decide types."""
    kernel = ElementwiseKernel("T x, T y", "T z", "z = y", "second")
    x, dtype = np.zeros(3, sort), np.dtype(sort)
    rank = next(k for k, kinds in enumerate(("b", "iu", "f")) if dtype.kind in kinds)
    limits = np.iinfo(dtype if rank == 1 else "i8")
    for value in (
        *(False, True, 0, limits.min, limits.max, limits.max + 1, limits.min - 1, -(2**64), 10**400),
        *(2.75, 1e30, float("inf"), float("nan"), 1j),
        *(np.bool_(True), np.int8(-3), np.uint16(65535), np.int64(2**40 + 5), np.float32(2.5)),
        *(np.float64(0.1), np.float64("inf"), np.complex64(1)),
    ):
        plain = value.item() if isinstance(value, np.generic) else value
        kind = (bool, int, float, complex).index(type(plain))
        fits = kind != 1 or limits.min <= plain <= limits.max if rank == 1 else plain != 10**400
        if kind > rank:
            words = "second(): no type set fits", "'y' is a "
            refuses(TypeError, lambda value=value: kernel(x, value), *words)
        elif not fits:
            words = "second(): argument 'y': ", f"is out of range of {dtype}"
            refuses(OverflowError, lambda value=value: kernel(x, value), *words)
        else:
            got = kernel(x, value)
            np.testing.assert_array_equal(got, np.full(3, np.asarray(plain).astype(dtype)))
            assert got.dtype == dtype
    if rank == 1:
        fixed = ElementwiseKernel(f"T x, {dtype} n", "T z", "z = x + n", "shifted", cast="no")
        assert fixed(np.ones(2), np.int64(3)).tolist() == [4, 4]
        for number in (np.float32(2.9), float("nan"), float("inf")):
            words = "shifted(): no type set fits", "'n' is a Python float"
            refuses(TypeError, lambda number=number: fixed(np.ones(2), number), *words)
    refuses(TypeError, lambda: kernel(x, np.datetime64(5, "s")), "second(): ", "'y' is ")


@pytest.mark.row("K05")
def test_scalars_do_not_decide_and_0d_arrays_do() -> None:
    x = np.arange(3, dtype="f4")
    assert DIFF(x, 2.0).dtype == DIFF(x, np.float64(2)).dtype == DIFF(np.int8(1), x).dtype == np.float32
    with pytest.raises(
        TypeError, match=r"'y' is float64, but T is float32 by 'x'.*deduced: T = float32 \('x'\)"
    ):
        DIFF(x, np.array(2.0))
    refuses(TypeError, lambda: DIFF(1, 2), "nothing says what T is: no array is given for 'x', 'y', 'z'")
    z = np.empty(3, "f4")
    refuses(TypeError, lambda: DIFF(x.astype("f8"), x, z), "'x' is float64, but T is float32 by 'z'")
    fixed = ElementwiseKernel("float32 x", "float64 y", "y = x", "widen")
    refuses(
        TypeError,
        lambda: fixed(np.zeros(3)),
        "'x' is float64, but it is declared as float32, and float32 does",
    )
    refuses(TypeError, lambda: fixed(x, x), "'y' is float32, but it is declared as float64, and float32 does")
    z = np.empty(6, ">c16")[::2]
    assert fixed(np.arange(3, dtype=">i2"), z) is z and z.tolist() == [0, 1, 2]
    gather = ElementwiseKernel("raw float64 x, int64 k", "T y", "y = x[k]", "gather")
    table = np.arange(3000, dtype="i4")[::3]
    assert gather(table, np.arange(999, -1, -1, dtype="i2"), np.empty(1000)).tolist() == table[::-1].tolist()


@pytest.mark.row("K05")
def test_letters_are_types_in_every_text() -> None:
    kernel = ElementwiseKernel(
        "T x, U y", "T z", "U twice = y + y; z = (T)plus(x, twice)", "letters",
        preamble="static T plus(T a, U b)\n{\n    return a + (T)b;\n}",
    )  # fmt: skip
    assert kernel(np.arange(3.0), np.arange(3)).tolist() == [0, 3, 6]
    assert kernel(np.arange(3), np.arange(3, dtype="u1")).dtype == np.int64
    assert ElementwiseKernel("f x, d y", "f z", "z = x + y")(np.arange(2), np.ones(2)).dtype == int, "letters"


@pytest.mark.row("K05")
def test_the_oldest_of_too_many_functions_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elementwise, "_MOST_FUNCTIONS", 2)
    kernel = ElementwiseKernel("T x", "T y", "y = x + 1", "one", optimize="off")
    for sort in ("f4", "f8", "i4", "i8", "f4"):
        assert kernel(np.ones(2, sort)).tolist() == [2, 2]
        assert len(kernel.functions) <= 2


@pytest.mark.row("K01")
@pytest.mark.parametrize("tier", ["off", "eager"])
def test_a_number_is_less_and_more_than_what_is_none(tier: str) -> None:
    kernel = ElementwiseKernel("T x, T y", "T a, T b", "a = min(x, y); b = max(x, y)", "both", optimize=tier)
    for sort in ("f4", "f8", "g"):
        x = np.array([np.nan, 1, np.nan, -np.inf, np.inf], sort)
        y = np.array([1, np.nan, np.nan, np.nan, 2], sort)
        least, most = kernel(x, y)
        assert np.array_equal(least, np.fmin(x, y), equal_nan=True)
        assert np.array_equal(most, np.fmax(x, y), equal_nan=True)


@pytest.mark.row("K01")
@pytest.mark.parametrize("sort", ["f4", "f8", *INTEGERS])
def test_min_max_abs_by_type(sort: str) -> None:
    kernel = ElementwiseKernel(
        "T x, T y", "T a, T b, T c", "a = min(x, y); b = max(x, y); c = abs(x)", "three"
    )
    x = np.array([0, 1, 5, 100, 3], sort)
    x = -x if sort[0] != "u" else x
    y = x[::-1].copy()
    for result, expected in zip(kernel(x, y), (np.minimum(x, y), np.maximum(x, y), np.abs(x)), strict=True):
        assert (result == expected).all() and result.dtype == sort
    own = ElementwiseKernel("T x", "T y", "y = max(x)", preamble="static T max(T v) { return v + 1; }")
    assert own(np.arange(2.0)).tolist() == [1, 2]


@pytest.mark.row("K01")
def test_words_of_cuda_and_cpp() -> None:
    x = np.array([0.25, 1.0, 4.0])
    for operation, expected in (
        ("y = x < 1 or x > 3 and not (x == 5)", [1, 0, 1]),
        ("const T *p = nullptr; y = p ? 1 : rsqrt(x)", [2, 1, 0.5]),
        ("y = __popc((int)x) + __popcll(3LL << 40)", [2, 3, 3]),
        ("y = x < 1 ? CUDART_INF : -CUDART_INF_F", [np.inf, -np.inf, -np.inf]),
        ("y = 0;\n#pragma unroll\nfor (int k = 0; k < 3; k++)\n#pragma unroll 2\n  y += x;", [0.75, 3, 12]),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            kernel = ElementwiseKernel("T x", "T y", operation)
            kernel(x)
            kernel.wait()
            assert kernel(x).tolist() == expected, operation
    single = ElementwiseKernel("T x", "T y", "y = rsqrt(x)")(x.astype("f4"))
    assert single.dtype == np.float32 and single.tolist() == [2, 1, 0.5]
    device = "__device__ __forceinline__ T half_of(T x)\n{\n    return x / 2;\n}"
    assert ElementwiseKernel("T x", "T y", "y = half_of(x)", preamble=device)(x).tolist() == [0.125, 0.5, 2]
    smallest = cwrapjit.ReductionKernel("T x", "T y", "x", "min(a, b)", "y = a", "CUDART_INF")
    assert smallest(x) == 0.25 and smallest(x[:0]) == np.inf
    own = "static double rsqrt(double x) { return -x; }"
    assert ElementwiseKernel("T x", "T y", "y = rsqrt(x)", preamble=own)(x).tolist() == [-0.25, -1, -4]
    with pytest.raises(CompileError) as info:
        ElementwiseKernel("T x", "T y", "y = f(x)", preamble="__device__ T f(T x)\n{ return x +; }")(x)
    assert info.value.lineno == 2
    refuses(ValueError, lambda: ElementwiseKernel("T or", "T y", "y = or"), "'or' is a word of C")


@pytest.mark.row("K01")
def test_an_output_that_no_text_names() -> None:
    with pytest.warns(cwrapjit.CompileWarning, match=r"twice\(\): no text names the output 'y'") as found:
        ElementwiseKernel("T x", "T y", "2 * x", "twice")
    assert found[0].filename == __file__
    with pytest.warns(cwrapjit.CompileWarning, match="no text names the output 'y'") as found:
        cwrapjit.ReductionKernel("T x", "T y", "x", "a + b", "a", "0")
    assert found[0].filename == __file__
    preamble = "#define STORE y = 2 * x"
    assert ElementwiseKernel("T x", "T y", "STORE", preamble=preamble)(np.ones(2)).tolist() == [2, 2]


@pytest.mark.row("K01")
def test_what_one_of_its_functions_has() -> None:
    kernels = (DIFF, cwrapjit.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0"))
    for kernel in kernels:
        with pytest.raises(AttributeError, match=r"'explain'; each of its \.functions has"):
            getattr(kernel, "explain")  # noqa: B009
        with pytest.raises(AttributeError, match=r"no attribute 'colour'$"):
            getattr(kernel, "colour")  # noqa: B009
    with pytest.raises(TypeError, match="'dtype'; calls of the kernel have it"):
        ElementwiseKernel("T x", "Z y", "y = x", dtype={"Z": "f4"})


def test_functions_of_float32_are_those_of_float() -> None:
    kernel = ElementwiseKernel(
        "T x", "T y", "y = sizeof(sqrt(x)) == sizeof(T) ? sqrt(x) + exp(x) : 0", "by_type"
    )
    for sort in ("f4", "f8"):
        x = np.linspace(0.5, 2, 5).astype(sort)
        assert np.allclose(kernel(x), np.sqrt(x) + np.exp(x)) and kernel(x).dtype == sort


@pytest.mark.parametrize("sort", ["G", "O", "U3", "M8[s]"])
def test_types_that_c_cannot_compute_with(sort: str) -> None:
    refuses(TypeError, lambda: DIFF(np.zeros(2, sort), np.zeros(2, sort)), "diff(): ")


def test_numbers_of_subclasses() -> None:
    class Float(float):
        pass

    class Three(enum.IntEnum):
        IS = 3

    for sort in ("f4", "f8", "i4"):
        x = np.zeros(2, sort)
        assert DIFF(x, Three.IS).tolist() == [9, 9] and DIFF(x, Three.IS).dtype == sort
        if sort != "i4":
            assert DIFF(x, Float(2)).tolist() == [4, 4] and DIFF(x, Float(2)).dtype == sort
    assert DIFF(np.zeros(2, "f4"), 2**24 + 1).tolist() == [2.0**48] * 2
    refuses(OverflowError, lambda: DIFF(np.zeros(2, "f4"), 2**128), "is out of range of float32")


def test_arrays_that_are_not_aligned() -> None:
    x = np.zeros(33, "i1")[1:].view("f8")
    y = x.copy()
    for call in (lambda x: DIFF(x, 1.0), lambda x: SHIFT(x, size=4), lambda x: DIFF(1.0, np.zeros(4), x)):
        np.testing.assert_array_equal(call(x), call(y))
    strict = ElementwiseKernel("T x", "T y", "y = x", "strict", cast="no")
    refuses(ValueError, lambda: strict(x), "not aligned")


# ---- shapes -------------------------------------------------------------------------------------


@pytest.mark.row("K01")
@settings(max_examples=80, deadline=None)
@given(npst.mutually_broadcastable_shapes(num_shapes=2, max_dims=4, max_side=4), st.data())
def test_broadcasts_as_numpy(shapes: npst.BroadcastableShapes, data: st.DataObject) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 9)))
    x, y = (rng.integers(-9, 9, shape).astype(float) for shape in shapes.input_shapes)
    if x.ndim and data.draw(st.booleans()):
        x = np.repeat(x, 2, axis=-1)[..., ::2]
    if data.draw(st.booleans()):
        y = np.asfortranarray(y)
    if y.ndim and data.draw(st.booleans()):
        y = y[::-1]
    expected = (x - y) ** 2
    assert np.array_equal(DIFF(x, y), expected)
    out = np.zeros((2, *expected.shape))
    assert DIFF(x, y, out) is out and np.array_equal(out, np.stack([expected] * 2)), "outputs broadcast, too"
    indexed = ElementwiseKernelOf.index(x, y)
    assert np.array_equal(indexed, np.arange(expected.size).reshape(expected.shape) + x)
    flat = rng.normal(size=expected.size)
    raw = data.draw(st.permutations(range(expected.ndim)))
    moved = flat.reshape(expected.shape).transpose(raw)
    if expected.size:
        gathered = ElementwiseKernelOf.gather(np.zeros(expected.shape), moved)
        assert np.array_equal(gathered, moved.ravel().reshape(expected.shape))


class ElementwiseKernelOf:
    index = ElementwiseKernel("T x, T y", "T z", "z = i + x + 0 * y", "index")
    gather = ElementwiseKernel("T x, raw T y", "T z", "z = y[i]", "gather")


@pytest.mark.row("K01")
def test_given_outputs_must_have_room() -> None:
    x = np.zeros((2, 3))
    for shape in [(3,), (1, 3), (2, 1), (), (4, 2, 2)]:
        refuses(ValueError, lambda shape=shape: DIFF(x, x, np.empty(shape)), "diff()")
    y = np.arange(4.0)
    assert DIFF(y[:-1], 1.0, y[1:]).tolist() == [1, 0, 1], "y[:-1] is copied"
    both = ElementwiseKernel("T x", "T y, T z", "y = x; z = 2 * x", "both")
    x, y = np.arange(3.0), np.zeros(3)
    for call in (lambda: both(x, None, y), lambda: both(x, out=(None, y)), lambda: both(x, y)):
        made = call()
        assert [each.tolist() for each in made] == [[0, 1, 2], [0, 2, 4]] and any(each is y for each in made)
    assert both(x, None, None)[0].tolist() == [0, 1, 2] and DIFF(x, 0, None).tolist() == [0, 1, 4]
    y = np.arange(4.0)
    assert DIFF(y, 1.0, y) is y and y.tolist() == [1, 0, 1, 4], "the very same view is allowed"
    add = ElementwiseKernel("T x", "T y", "y += x", "add")
    assert add(np.ones(4), y) is y and y.tolist() == [2, 1, 2, 5], "outputs are references"
    frozen = np.zeros(3)
    frozen.flags.writeable = False
    refuses(ValueError, lambda: DIFF(np.zeros(3), 1, frozen), "read-only")


@pytest.mark.quick
@pytest.mark.row("K01")
def test_several_outputs() -> None:
    kernel = ElementwiseKernel("T x", "T y, int32 z", "y = x * 2; z = (int)x", "both")
    x = np.arange(4.0)
    y, z = kernel(x)
    assert y.tolist() == [0, 2, 4, 6] and z.dtype == np.int32 and z.tolist() == [0, 1, 2, 3]
    a, b = np.empty(4), np.empty(4, "i4")
    for result in (kernel(x, a, b), kernel(x, out=(a, b)), kernel(x, out=[a, b])):
        assert result[0] is a and result[1] is b and (a == y).all() and (b == z).all()
    mixed = ElementwiseKernel(
        "T x", "T y, raw int64 last", "y = x; if (i == _ind.size() - 1) last[0] = i", "mixed"
    )
    last = np.zeros(1, int)
    out = np.empty(4)
    result = mixed(x, out, last)
    assert result[0] is out and result[1] is last and last[0] == 3


@pytest.mark.quick
@pytest.mark.row("K01")
def test_what_is_returned() -> None:
    x = np.arange(3.0)
    assert ElementwiseKernel("T x", "T y", "y = x", no_return=True)(x, np.empty(3)) is None
    assert ElementwiseKernel("T x", "T y, T z", "y = z = x", no_return=True)(x) is None
    (y,) = ElementwiseKernel("T x", "T y", "y = x", return_tuple=True)(x)
    assert (y == x).all()
    given = np.empty(3)
    assert ElementwiseKernel("T x", "T y", "y = x", return_tuple=True)(x, given)[0] is given
    assert ElementwiseKernel("raw T x", "raw T y", "y[i] = x[i]", return_tuple=True)(x, size=3)[
        0
    ].tolist() == [0, 1, 2]
    assert type(DIFF(np.array(3.0), 1)) is np.float64, "as ufuncs do"
    assert DIFF([1.0, 2.0], np.ones(2)).tolist() == [0, 1], "what NumPy makes arrays of is one"


@pytest.mark.quick
@pytest.mark.row("K02")
def test_size() -> None:
    x = np.arange(3.0)
    with pytest.raises(ValueError, match="Specified 'size' can be used only if all of the ndarray are 'raw'"):
        DIFF(x, x, size=3)
    with pytest.raises(ValueError, match="Specified 'size' can be used only if all"):
        ElementwiseKernel("raw T x", "T y", "y = x[i]")(x, np.empty(3), size=3)
    fixed = ElementwiseKernel("float64 x", "float64 y", "y = x + i", "fixed")
    refuses(ValueError, lambda: fixed(1.0), "Loop size is undecided. fixed() has no array", "or size=")
    assert fixed(1.0, size=3).tolist() == [1, 2, 3], "scalars are no arrays"
    assert fixed(1.0, size=np.int64(2)).tolist() == [1, 2]
    gather = ElementwiseKernel("raw T x", "T y", "y = x[2 * i]", "gather")
    assert gather(np.arange(6.0), size=3).tolist() == [0, 2, 4]
    assert [gather(np.arange(6.0), size=n).tolist() for n in (2, 1, 0, 3)] == [[0, 2], [0], [], [0, 2, 4]]
    for kernel in (SHIFT, gather):
        with pytest.raises(
            ValueError, match="Output array size is Undecided" if kernel is SHIFT else "undecided"
        ):
            kernel(x)
        for size in (-1, -(2**70), 2**63 - 1, 2**70):
            words = f"(): size must be 0 to {2**63 - 2}, not {size}"
            refuses(ValueError, lambda kernel=kernel, size=size: kernel(x, size=size), words)
        for size in (2.5, "3", True, [3], np.array(3)):
            refuses(TypeError, lambda kernel=kernel, size=size: kernel(x, size=size), "size must be an int")
        assert len(kernel.functions) < 6


@pytest.mark.row("K02")
@pytest.mark.parametrize("shape", [(7,), (2, 3), (2, 1, 3), (1,), ()])
@pytest.mark.parametrize("sort", ["?", "i4", "f8"])
def test_raw_elements_are_counted_in_c_order(shape: tuple[int, ...], sort: str) -> None:
    n = int(np.prod(shape))
    values = (np.arange(n) % 2 if sort == "?" else np.arange(n)).astype(sort).reshape(shape)
    read = ElementwiseKernel("raw T x, int64 k", "T y", "y = x[k]", "read")
    write = ElementwiseKernel("T x", "raw T y", "y[i] = x", "write")
    views = [values, np.asfortranarray(values)]
    if values.ndim:
        wide = np.zeros((*shape[:-1], 3 * shape[-1]), sort)
        wide[..., ::3] = values
        views += [wide[..., ::3], values[::-1], np.broadcast_to(values[:1], shape)]
    for each in views:
        assert (read(each, np.arange(n)) == each.ravel()).all()
        target = np.zeros_like(each, subok=False) if each.flags.writeable else np.zeros(shape, sort)
        write(each.ravel(), target)
        assert (target == each).all()
    assert read(values, np.array([n - 1] * 3)).tolist() == [values.ravel()[-1]] * 3


@pytest.mark.row("K02")
def test_raw_parameters_and_scalars() -> None:
    kernel = ElementwiseKernel("T x, raw T factor", "T z", "z = x * factor", "scale")
    assert kernel(np.arange(3.0), 2.5).tolist() == [0, 2.5, 5], "a scalar for a raw parameter is a value"
    with pytest.raises(ValueError, match="factor is raw: only an element of it"):
        kernel(np.arange(3.0), np.arange(3.0))
    with pytest.raises(TypeError, match="'y' is raw and a scalar here, but operation indexes it"):
        REVERSE(np.arange(3.0), 1.0)
    nested = ElementwiseKernel("raw T x, raw int64 k", "T z", "z = x[k[k[i]]] + x[(i, 0)]", "nested")
    assert nested(np.arange(3.0) * 10, np.array([2, 0, 1]), size=3).tolist() == [10, 20, 0]
    counted = ElementwiseKernel("raw T x", "T z", "npy_intp j = 0; z = x[j++] + x[j++] + j", "counted")
    for x in (
        np.array([5.0, 7.0]),
        np.array([5.0, 0, 7.0])[::2],
        np.array([[5.0], [7.0]]).T,
        np.zeros((4, 4))[::2, ::2] + 6,
    ):
        assert counted(x, size=1)[0] == x.ravel()[:2].sum() + 2, "an index is computed once"


# ---- texts --------------------------------------------------------------------------------------


@pytest.mark.row("K03")
def test_preamble_and_local_variables() -> None:
    kernel = ElementwiseKernel(
        "T x", "T y", "T twice = helper(x); for (int k = 0; k < TIMES; k++) twice += k; y = twice;", "pre",
        preamble="#define TIMES 3\nstatic T helper(T v) { return 2 * v; }",
        options=("-DUNUSED=1", "--std=c++11"),
    )  # fmt: skip
    assert kernel(np.arange(3.0)).tolist() == [3, 5, 7]
    flagged = ElementwiseKernel("T x", "T y", "y = x * FACTOR", options=("-DFACTOR=4",))
    assert flagged(np.arange(3)).tolist() == [0, 4, 8]
    # The preamble, and comments and strings of all texts, may use the parameters' names.
    same = ElementwiseKernel(
        "T x, raw T r", "T y", '/* return x[1] _ind */ y = x + r[i] + sizeof "return r"; // y = r', "same",
        preamble="static inline double of(double x, double r) { double y = x; return y + r; }",
    )  # fmt: skip
    assert same(np.zeros(2), np.ones(2)).tolist() == [10, 10]


@pytest.mark.row("K03")
def test_loop_prep_and_after_loop() -> None:
    kernel = ElementwiseKernel(
        "T x", "T y, raw int64 count", "if (x < 2) continue;\nsum += x; y = sum;", "loops",
        loop_prep="T sum = 10;\nint64_t seen = 1;", after_loop="count[0] += seen;",
    )  # fmt: skip
    y, count = np.full(4, -1.0), np.zeros(1, int)
    kernel(np.arange(4.0), y, count)
    assert y.tolist() == [-1, -1, 12, 15] and count[0] == 1
    kernel(np.arange(4.0), np.zeros((3, 4)), count)
    assert count[0] == 4  # once per row
    many = np.ones((3000, 100))
    for _ in range(3):
        kernel(many, np.zeros(many.shape), count)
    assert count[0] == 9004


@pytest.mark.quick
@pytest.mark.row("K03")
@pytest.mark.parametrize("debug", [False, True])
def test_variables_of_loop_prep_last_for_a_row(debug: bool) -> None:
    total = ElementwiseKernel(
        "T x, T w", "T y", "s += x * w;\ny = s", "total", loop_prep="T s = 0; // the sum", debug=debug
    )
    x, w = np.arange(24.0).reshape(2, 3, 4), np.array([1.0, -2, 3, 0.5])
    for a in (x, x[::-1, :, ::-1], x.T, np.asfortranarray(x), x[:, :, :1], x[:0], x[..., :0]):
        for b in (2, np.array(3.0), w[: a.shape[-1]], w[:1], np.full((1, 1, 1), 2.0), np.float64(2)):
            np.testing.assert_array_equal(total(a, b), (a * b).cumsum(axis=-1), strict=True)
            out = np.zeros(a.shape)
            assert total(a, b, out) is out
            np.testing.assert_array_equal(out, (a * b).cumsum(axis=-1))
    np.testing.assert_array_equal(total(w, x[..., :1]), (w * x[..., :1]).cumsum(axis=-1))
    same = x.copy()
    total(same, 1, same)
    np.testing.assert_array_equal(same, x.cumsum(axis=-1))
    assert total(np.array(3.0), 2) == 6 and total(x.astype("f2"), 2).dtype == np.float16
    place = ElementwiseKernel(
        "raw T x", "T y", "s += x[i]; y = s + _ind.size()", loop_prep="T s = 0;", after_loop="s = 0;"
    )
    np.testing.assert_array_equal(place(w, size=4), w.cumsum() + 4)
    gathered = ElementwiseKernel(
        "raw T x, int64 k", "T y, raw T z", "s += x[k]; y = s; z[k] = y", loop_prep="T s = 0;", debug=debug
    )
    every, k = x[0, :, ::2], np.array([[4, 0, 2], [5, 3, 1]])  # elements count in C order
    y, z = gathered(every, k, np.empty(k.shape), np.empty((2, 3, 2))[:, :, 0])
    np.testing.assert_array_equal(y, every.ravel()[k].cumsum(axis=-1))
    np.testing.assert_array_equal(z.ravel()[k], y)
    for bad, words in (
        ({"loop_prep": "T s = i;"}, "loop_prep: i is an element's"),
        ({"after_loop": "y[0] = 1;", "threads": 2}, "'y', which all threads share"),
    ):
        with pytest.raises(ValueError, match=words):
            ElementwiseKernel("T x", "raw T y", "y[i] = x", **bad)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="loop_prep: x is an element's"):
        ElementwiseKernel("T x", "T y", "y = x", loop_prep="T s = x;")(x)
    refuses(ValueError, lambda: total(x, 1, np.zeros(4)), "output 'y'")
    refuses(ValueError, lambda: total(x, np.ones(3)), "argument 'w'")


@pytest.mark.row("K03")
def test_continue_ends_an_element() -> None:
    kernel = ElementwiseKernel(
        "T x", "T y", "for (;;) { if (x > 0) break; y = -1; break; }\nif (x < 2) continue; y = x", "skip"
    )
    y = np.full(4, 9.0)
    assert kernel(np.arange(4.0), y) is y and y.tolist() == [-1, 9, 2, 3]


def test_faults_in_c_name_the_users_lines() -> None:
    with pytest.raises(CompileError, match="implicit declaration of function 'foo'") as caught:
        ElementwiseKernel("float32 x", "float32 y", "y = x;\ny += foo(x)", "wrong")
    assert (caught.value.lineno, caught.value.text) == (2, "y += foo(x)")
    kernel = ElementwiseKernel(
        "T x", "T y", "y = foo(x)", "wrong", loop_prep="int a = 1;\n int b = 2;", after_loop="a = b;"
    )
    with pytest.raises(CompileError, match="'foo'") as caught:
        kernel(np.zeros(3))
    assert (caught.value.lineno, caught.value.text, caught.value.offset) == (1, "y = foo(x)", 5)
    # Compilers find some faults at the next word; the reported line is the statement's nevertheless.
    with pytest.raises(CompileError, match="'late'") as caught:
        ElementwiseKernel("float64 x", "float64 y", "y = x;\ny = late", "k")
    assert (caught.value.lineno, caught.value.text) == (2, "y = late")
    with pytest.raises(CompileError, match="'bar'") as caught:
        ElementwiseKernel(
            "float32 x", "float32 y", "y = min(sqrt(x), 1)", preamble="\nint f(int a)\n{ return bar(a); }"
        )
    assert caught.value.lineno == 3 and "header" in (caught.value.filename or "")
    with pytest.raises(CompileError):
        ElementwiseKernel("float32 x", "float32 y", "i = 3; y = x")
    with pytest.raises(CompileError):
        ElementwiseKernel("float32 x", "float32 y", "x = 3; y = x")
    with pytest.raises(CompileError):
        ElementwiseKernel("float32 x", "float32 y", "} y = x; {")


def test_words_of_a_device_are_ignored() -> None:
    x = np.zeros(3)
    assert DIFF(x, x, stream=None, block_size=128, size=None).tolist() == [0, 0, 0]


# ---- tiers, threads, leaks ------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{"optimize": "eager"}, {"optimize": "off"}, {"debug": True}], ids=str)
def test_tiers_agree(options: dict[str, Any]) -> None:
    x = np.random.default_rng(1).normal(size=(300, 7)).astype("f4")
    k = np.random.default_rng(2).integers(0, x.size, x.shape)
    kernel = ElementwiseKernel(
        "T x, raw T r, int64 k", "T y, raw T z",
        "y = sqrt(abs(x)) + r[k] * i; z[_ind.size() - 1 - i] = max(x, r[i])",
        "all_of_it", **options,
    )  # fmt: skip
    for each in (x, np.asfortranarray(x), x[::-1, ::2]):
        index = np.arange(each.size).reshape(each.shape)
        places = k.ravel()[: each.size].reshape(each.shape) % each.size
        r = np.random.default_rng(3).normal(size=each.size * 2).astype("f4")[::2]
        y, z = np.empty(each.shape, "f4"), np.zeros(each.size, "f4")
        kernel(each, r, places, y, z)
        flat = each.ravel()
        assert np.allclose(y, np.sqrt(np.abs(each)) + r[places] * index, rtol=1e-4)
        assert (z[::-1] == np.maximum(flat, r)).all()


def test_casts_of_cpp() -> None:
    kernel = ElementwiseKernel(
        "T x, raw T w", "float64 y",
        "int k = int(x); y = double(float(w[int32_t(1)])) + unsigned(k % 3) * bool(x) - double (-x)\n"
        " + signed(called(f, k))",
        "casts",
        preamble="typedef int (*one)(int);\nstatic int f(int x) { return short(x + 1.0f * int(1)); }\n"
        "static int called(int (*g)(int), int x) { static int (*const table[1])(int) = {f};\n"
        "float (*rows)[1] = 0; (void)rows;\n"
        "return int(table[0](x)) - int((g)(x)) + int(sizeof(int)); }",
    )  # fmt: skip
    x = np.array([0.75, 7.5])
    wanted = 16777217 // 2 * 2 + np.array([0, 1]) + x + 4
    assert kernel(x, np.array([0, 16777217.0])).tolist() == wanted.tolist()


@pytest.mark.quick
def test_compile_errors_show_what_was_written() -> None:
    """Messages show and mark the user's text, not what C gets."""
    for text, preamble, offset, shown in (
        ("double t = 1;\ny = x[i] + float(z) + t", "", 18, 1),
        ("y = x[i]", "static double g(int i)\n{ return float(i) + z; }", 21, 1),
        ("double y1 = x[0]; y = z + y1", "", 23, 0),
        ("y = x[i] +", "", None, 0),
    ):
        define = functools.partial(
            ElementwiseKernel, "raw float64 x", "float64 y", text, "k", preamble=preamble
        )
        error = refuses(cwrapjit.CompileError, define, "'z' undeclared" if offset else "expected")
        assert (error.text, error.offset) == ((preamble or text).split("\n")[shown], offset)
        assert error.lineno == shown + 1


@pytest.mark.parametrize("words", [{}, {"loop_prep": "T none = 0;"}], ids=["elements", "rows"])
def test_objects_of_other_packages_are_counted_and_never_see_the_index(words: dict[str, str]) -> None:
    class Column:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return np.arange(6.0)

        def __array_ufunc__(self, *args: Any, **kw: Any) -> Any:
            raise AssertionError(args)

    class Quantity(np.ndarray):
        __array_ufunc__ = Column.__array_ufunc__

    place = ElementwiseKernel("T x, T y", "T z", "z = x + y + 10 * i", "place", **words)
    wanted = np.arange(6.0) * 11
    assert np.array_equal(place(np.arange(6.0), np.zeros(1)), wanted)
    assert np.array_equal(place(Column(), np.zeros(1)), wanted)
    assert place(Column(), np.zeros((2, 1)))[1, 5] == 5 + 110
    refuses(TypeError, lambda: place(np.arange(6.0).view(Quantity), np.zeros(1)), "Quantity")


def test_debug_sees_bad_indices() -> None:
    kernel = ElementwiseKernel("raw T x", "T y", "y = x[i + 1]", "beyond", debug=True)
    for x in (np.zeros(3), np.zeros((3, 2)), np.zeros((2, 3)).T):
        error = refuses(IndexError, lambda x=x: kernel(x, size=x.size), "out of range", "in C order")
        assert f"beyond(): x[{x.size}]" in str(error) and str(error).endswith(", line 1: y = x[i + 1]")
        kernel(x, size=x.size - 1)


def test_debug_sees_numbers_that_no_element_has() -> None:
    """x is indexed by one number in C order, whatever its dims and strides are."""
    for x in (np.zeros((3, 4)), np.zeros((4, 3)).T, np.zeros((3, 8))[:, ::2], np.zeros((2, 2, 3))):
        read = ElementwiseKernel("int64 k, raw T x", "T y", "y = x[k]", "read", debug=True)
        write = ElementwiseKernel("int64 k", "raw T x", "x[k] = 1", "write", debug=True)
        for k in (12, -1, 2**40):
            message = f"x[{k}] is out of range: x has 12 elements in C order"
            refuses(IndexError, lambda x=x, k=k, read=read: read(np.array([k]), x), message, "y = x[k]")
            refuses(IndexError, lambda x=x, k=k, write=write: write(np.array([k]), x), message)
        write(np.array([7]), x)
        assert read(np.array([6, 7, 11]), x).tolist() == [0, 1, 0] and x.ravel()[7] == 1


def test_debug_sees_axes_that_the_loop_has_not() -> None:
    for before in ("", "T sum = 0;"):
        kernel = ElementwiseKernel(
            "T x, int64 k", "int64 y", "y = _ind.get()[k]", "place", loop_prep=before, debug=True
        )
        x = np.zeros((2, 3))
        assert kernel(x, 1).tolist() == [[0, 1, 2], [0, 1, 2]]
        for k in (2, 7, -1):
            message = f"place(): _ind.get() has no axis {k}: it has 2 dims"
            error = refuses(IndexError, lambda kernel=kernel, k=k, x=x: kernel(x, k), message)
            assert str(error).endswith(": y = _ind.get()[k]")


@pytest.mark.parametrize("asked", ["strides", "shape"])
def test_debug_sees_axes_that_are_not_there(asked: str) -> None:
    kernel = ElementwiseKernel("raw T x, int64 k", "int64 n", f"n = x.{asked}()[k]", "kernel", debug=True)
    x = np.zeros((3, 4))
    assert kernel(x, np.arange(2)).tolist() == [*getattr(x, asked)]
    error = refuses(IndexError, lambda: kernel(x, np.array([2])), "x has no axis 2: it has 2 dims")
    assert str(error).endswith(f", line 1: n = x.{asked}()[k]")
    refuses(IndexError, lambda: kernel(x, np.array([-1])), "no axis -1")
    written = ElementwiseKernel("int64 k", "raw T x", f"x[0] = x.{asked}()[k]", "kernel", debug=True)
    refuses(IndexError, lambda: written(np.array([7]), x), "x has no axis 7: it has 2 dims")


def test_large_unsigned_indices_are_told_as_they_are() -> None:
    for index, told in (("18446744073709551615u", 2**64 - 1), ("(size_t)x - 3", 2**64 - 2), ("-1", -1)):
        kernel = ElementwiseKernel("raw T r, T x", "T z", f"z = r[{index}]", "kernel", debug=True)
        refuses(
            IndexError, lambda kernel=kernel: kernel(np.ones(3), np.ones(2)), f"r[{told}] is out of range"
        )
        asked = ElementwiseKernel("raw T r, T x", "T z", f"z = r.shape()[{index}]", "kernel", debug=True)
        refuses(IndexError, lambda asked=asked: asked(np.ones(3), np.ones(2)), f"r has no axis {told}")


@pytest.mark.parametrize("before", ["", "double one = 1; // set\ndouble two = 2;"])
def test_what_debug_finds_is_shown_as_the_user_wrote_it(before: str) -> None:
    kernel = ElementwiseKernel(
        "raw T x, T d", "T y", "T k = x[i];\ny = x[i + 3 * d] + third(d)", "kernel", loop_prep=before,
        preamble="static long third(long d)\n{\n  return 3 / (d - 2);\n}", debug=True,
    )  # fmt: skip
    x, d = np.arange(4), np.array([1, 1])
    error = refuses(IndexError, lambda: kernel(x, d), "kernel(): x[4] is out of range: x has 4 elements")
    assert str(error).endswith(", line 2: y = x[i + 3 * d] + third(d)"), str(error)
    fault = refuses(cwrapjit.Fault, lambda: kernel(np.arange(9), 2 * d), "SIGFPE")
    assert (fault.lineno, fault.text) == (3, "return 3 / (d - 2);") and fault.filename.endswith(" header>")


def test_large_arrays_in_several_threads() -> None:
    x = np.arange(600_000.0).reshape(2, 3, -1)
    indexed = ElementwiseKernel("T x", "T y", "y = x - i", "indexed", threads=2)
    assert not indexed(x).any() and indexed(x.T).shape == x.T.shape
    assert (indexed(x.transpose(1, 0, 2)) == x.transpose(1, 0, 2) - np.arange(x.size).reshape(3, 2, -1)).all()
    wrong: list[Any] = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(60):
            a = rng.normal(size=rng.integers(1, 50)).astype("f4" if rng.random() < 0.5 else "f8")
            if not (REVERSE(a, a[::-1].copy()) == 2 * a).all():
                wrong.append(a)

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for each in workers:
        each.start()
    for each in workers:
        each.join()
    assert wrong == []


def test_a_kernel_is_let_go_and_can_be_copied() -> None:
    kernel = ElementwiseKernel("T x", "T y", "y = x + A", "copied", preamble="#define A 3")
    kernel(np.zeros(2))
    data = pickle.dumps(kernel)
    assert pickle.loads(data) is kernel and copy.copy(kernel) is kernel and copy.deepcopy(kernel) is kernel
    gone = weakref.ref(kernel)
    functions = [weakref.ref(each) for each in kernel.functions]
    del kernel
    gc.collect()
    assert gone() is None and functions[0]() is None
    again = pickle.loads(data)
    assert again.name == "copied" and type(again) is ElementwiseKernel
    assert again(np.zeros(2)).tolist() == [3, 3]


@pytest.mark.quick
@pytest.mark.parametrize(
    "arguments",
    [
        (2, (0, 5), (), (), (-1,), 0, -1, 2, 2),
        (2, (0, -2), (), (), (-1,), 0, -1, -1, 1),
        (2, (0, 1), (3,), (), (-1,), 0, -1, -1, 1),
        (2, (0, -1), (), (), (-1,), 0, -1, -1, 1),
        (2, (0, 1), (), (), (-1,), 0, 2, -1, 1),
        (2, (0, 1), (), (), (-2,), 0, -1, -1, 1),
        (2, (0, 1), (), (-1,), (-1,), 0, -1, -1, 1),
        (2, (0, 1), (), (), (-1, -1), 0, -1, -1, 1),
        (2, (0, 2), (), (), (-1,), 1, -1, -1, 1),
        (2, (0, 3), (), (), (-1,), 1, 1, -1, 1),
        (2, (0, 1), (), (), (-1,), 65, 1, -1, 1),
        (2, (0, 1), (), (), (-1,), 0, -1, 0, 2),
        (0, (), (), (), (-1,), 0, -1, -1, 3),
        (65, (0,), (), (), (-1,), 0, -1, -1, 1),
        (2, (0,) * 65, (), (), (-1,), 0, -1, 1, 2),
    ],
)
def test_calls_that_no_kernel_makes(arguments: tuple[Any, ...]) -> None:
    """The private class rejects arguments that would lead out of its memory."""
    nargs, inputs, weak, outs, results, count, size, nown, form = arguments
    dtypes = (np.dtype("f8"),) * count
    with pytest.raises((TypeError, ValueError), match=r"Adapted|at most 64"):
        Adapted(max, "f()", nargs, inputs, weak, outs, results, dtypes, (0,), size, nown, form)


@pytest.mark.quick
def test_a_call_by_hand_is_checked() -> None:
    f = Adapted(pow, "f()", 2, (0, 1), (0,), (), (-1,), (), (), -1, -1, 1)
    assert f(np.int8(3), 2) == 9 and f.target is pow
    refuses(TypeError, lambda: f(np.int8(3)), "wanted 2 arguments")
    refuses(AttributeError, lambda: f(3, 2), "'int' object has no attribute 'item'")
    with pytest.raises(TypeError):
        pickle.dumps(f)
    refuses(TypeError, lambda: Adapted(max, "f()", 1, (0,), (), (), (-1,), (3,), (), 0, -1, 1), "a dtype")
    two = Adapted(pow, "f()", 2, (0, 1), (), (), (-1, -2), (), (), -1, 2, 2)
    refuses(TypeError, lambda: two(2, 3), "did not return 2 outputs")


def test_one_that_is_dropped_while_it_is_called() -> None:
    class Last:
        def item(self) -> int:
            partial.__setstate__((max, (), {}, {}))  # type: ignore[attr-defined]
            kernel.forget()
            assert any(isinstance(one, Adapted) and one.target is target for one in gc.get_objects())
            return 3

    kernel = ElementwiseKernel("T x, int32 m", "T z, T w", "z = x * m; w = i", "f")
    kernel(np.ones(2), np.int64(2))
    partial = functools.partial(kernel.combinations[0])
    target = kernel.combinations[0].target
    z, w = partial(np.ones(2), Last())
    assert (z.tolist(), w.tolist()) == ([3, 3], [0, 1])


@pytest.mark.quick
def test_without_memory() -> None:
    """Each allocation fails in turn, in a call and in a definition."""
    pytest.importorskip("_testcapi")
    python(
        """
import _testcapi, sys, numpy as np
from cwrapjit import ElementwiseKernel as E
x, z = np.arange(3.0), np.empty(3)
reverse = E("T x, raw T y", "T z", "z = x + y[_ind.size() - i - 1]", "reverse", optimize="off")
two = E("T x, T y", "T z, T w", "w = z = x - y", "two", optimize="off")
shift = E("raw T x", "raw T y", "y[(i + 1) % _ind.size()] = x[i]", "shift", optimize="off")

def call():
    reverse(x, x); two(x, x, z, x.copy()); two(x, np.float32(3)); two(x, x, out=(z, x.copy()))
    assert shift(x, size=3).tolist() == [2, 0, 1]

def define():
    E("T x, raw T y", "T z", "z = x + min(y[i], y[0])", "made", optimize="off")(x, x)

# CPython 3.12 and 3.13 drop a reference to the code of a function that a running one makes where there is no
# memory for it (python/cpython#122752), and a definition makes some.
works = ((call, 15),) if (3, 12) <= sys.version_info < (3, 14) else ((call, 15), (define, 200))
for work, least in works:
    work()
    failed = fine = k = 0
    while fine < 20:
        k += 1
        try:
            _testcapi.set_nomemory(k, k + 1)
            work()
        except (MemoryError, RuntimeError) as error:  # Python 3.10 cannot allocate a lock
            assert isinstance(error, MemoryError) or "lock" in str(error)
            failed += 1
        else:
            fine += 1
        finally:
            _testcapi.remove_mem_hooks()
    assert failed > least, (work, failed)
call()
"""
    )


@pytest.mark.leak
def test_nothing_is_kept() -> None:
    x, z = np.arange(4.0), np.empty(4)
    diff = ElementwiseKernel("T x, T y", "T z", "z = (x - y) * (x - y)", "diff")
    shift = ElementwiseKernel("raw T x", "raw T y", "y[(i + 1) % _ind.size()] = x[i]", "shift")

    def calls() -> None:
        shift(x, size=4)
        diff(x, np.float32(2), z)
        diff(x, x, out=(z,))
        for bad in (lambda: diff(x, x, z[:2]), lambda: shift(x, size=-1)):
            refuses(ValueError, lambda bad=bad: bad(), "must")

    def define() -> None:
        kernel = ElementwiseKernel("T x, raw T y", "T z", "z = x + y[i]", "kept", optimize="off")
        kernel(x, x)
        with pytest.raises(TypeError):
            kernel(1, 2)

    keeps_nothing(calls)
    keeps_nothing(define)


def shown(text: str) -> list[tuple[str, str, bool]]:
    return [(p.name, p.word, p.raw) for p in parse(text, "f()", "in_params")]


def test_lists() -> None:
    assert shown("T x, raw T y ,float32  z") == [("x", "T", False), ("y", "T", True), ("z", "float32", False)]
    assert shown("") == shown("  \n ") == []
    assert shown("raw\tint32\nidx,d x") == [("idx", "int32", True), ("x", "d", False)], (
        "one letter is a letter"
    )
    assert [p.position for p in parse("T x, raw T yy", "f()", "in_params")] == [2, 11]
    assert parse("f4 x", "f()", "a")[0].dtype == np.float32
    assert not parse("f4 x", "f()", "a")[0].placeholder and parse("f x", "f()", "a")[0].placeholder


def test_faults_give_the_position() -> None:
    with pytest.raises(ValueError, match="at position 5") as caught:
        parse("T x,\nwrong y", "f()", "in_params")
    assert str(caught.value).split("\n")[1:] == ["    wrong y", "    ^"]


def types(inputs: str, outputs: str, given: list[Any], **chosen: Any) -> dict[str, str]:
    dtypes = [None if g is None else np.dtype(g) for g in given]
    found = resolve("f()", parse(inputs, "f()", "a"), parse(outputs, "f()", "b"), dtypes, chosen or None)
    return {letter: str(dtype) for letter, dtype in found.items()}


def test_letters() -> None:
    assert types("T x, T y", "T z", ["f4", None, None]) == {"T": "float32"}
    assert types("T x, U y", "T z", [None, "i4", "f8"]) == {"T": "float64", "U": "int32"}
    assert types("T x, float32 y", "int8 z", ["f8", "f4", "i1"]) == {"T": "float64"}
    assert types("T x", "U z", ["f8", None], U="i8") == {"T": "float64", "U": "int64"}
    assert types("", "", []) == {}


X = np.arange(10, dtype=np.float32).reshape(2, 5)


Y = np.arange(5, dtype=np.float32)


WANTED = (X - Y) ** 2


@pytest.mark.quick
@pytest.mark.row("K03")
@pytest.mark.parametrize("sort", ["f4", "f8"])
def test_prices_of_options(sort: str) -> None:
    prices = ElementwiseKernel(
        "T s, T x, T t, T r, T v",
        "T call, T put",
        """
        const T d1 = (log(s / x) + (r + v * v / 2) * t) / (v * sqrt(t)), d2 = d1 - v * sqrt(t);
        const T later = x * exp(-r * t);
        call = s * normal(d1) - later * normal(d2);
        put = later * normal(-d2) - s * normal(-d1);
        """,
        "prices",
        preamble="__device__ __forceinline__ T normal(T x) { return T(0.5) * erfc(-x * T(0.70710678)); }",
    )
    rng = np.random.default_rng(1)
    s, x, t = (rng.uniform(*each, 100).astype(sort) for each in ((5, 30), (1, 100), (0.25, 10)))
    call, put = prices(s, x, t, 0.02, 0.3)
    assert call.dtype == put.dtype == sort
    np.testing.assert_allclose(call - put, s - x * np.exp(-0.02 * t), rtol=1e-3, atol=1e-3)


@pytest.mark.row("K03")
def test_cpp_is_refused_with_its_line() -> None:
    for preamble, line in (
        ("template <typename A>\nstatic A f(A x) { return x; }", 1),
        ("\nstatic void f(double &x) { x = 1; }", 2),
    ):
        with pytest.raises(cwrapjit.CompileError) as caught:
            ElementwiseKernel("float64 x", "float64 y", "y = f(x)", "cpp", preamble=preamble)
        assert caught.value.lineno == line
    with pytest.raises(cwrapjit.CompileError, match="complex numbers are structs here"):
        ElementwiseKernel("complex64 x, complex64 y", "complex64 z", "z = x + y")
    assert not hasattr(cwrapjit, "RawKernel")


@pytest.mark.parametrize(
    "texts, what, line, mark",
    [
        (("y = (x;",), "", 1, 5),
        (("y = 1; }",), "", 1, 8),
        (("y = 1;\ny = x); y = (x);",), "", 2, 6),
        (("y = {1; y = (x);",), "", 1, 5),
        (("y = (r[i] + (x);",), "", 1, 5),
        (("y = r[i]); y = (x);",), "", 1, 9),
        (("y = x;", "int a = (1;"), "loop_prep", 1, 9),
        (("y = x;", "int a = 1;\nint b = 2; }"), "loop_prep", 2, 12),
        (("y = x;", "int a = (1);", "int b = 2);"), "", None, 10),
    ],
)
def test_the_mark_is_below_what_is_wrong(
    texts: tuple[str, ...], what: str, line: int | None, mark: int
) -> None:
    """The line that C sees has more in front of the operation, and other names for raw elements."""
    operation, prep, after = (*texts, "", "")[:3]
    kernel = ElementwiseKernel("raw T r, T x", "T y", operation, "k", loop_prep=prep, after_loop=after)
    error = refuses(cwrapjit.CompileError, lambda: kernel(np.ones(3), np.ones(3)), "<cwrapjit k ")
    assert error.offset == mark and (line is None or error.lineno == line)
    shown = texts[-1 if what else 0] if line is not None else texts[2]
    assert error.text in shown and str(error.filename).startswith(f"<cwrapjit k {what}")


@pytest.mark.parametrize("what", ["operation", "loop_prep"])
def test_a_line_may_be_continued_anywhere(what: str) -> None:
    """A line may even be continued within a name that kernels define."""
    text = {"operation": "y = r[i] * 12 + _ind.size() + k", "loop_prep": "double k = 12 >> 1;"}
    for at in range(len(text[what])):
        cut = {**text, what: text[what][:at] + "\\\n" + text[what][at:]}
        kernel = ElementwiseKernel("raw T r", "T y", cut["operation"], "k", loop_prep=cut["loop_prep"])
        assert np.array_equal(kernel(np.arange(3.0), np.zeros(3)), [9, 21, 33]), cut
