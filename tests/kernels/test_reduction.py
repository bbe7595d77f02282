"""Tests ReductionKernel: CuPy's arguments, all axes and layouts, and one tree of operations for all ways."""

from __future__ import annotations

import copy
import functools
import gc
import itertools
import math
import pickle
import re
import threading
import tracemalloc
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import pytest
from helpers import refuses
from hypothesis import given, settings
from hypothesis import strategies as st

import cwrapjit
from cwrapjit import ReductionKernel
from cwrapjit.kernels import reduction

pytestmark = pytest.mark.row("K04")


@contextmanager
def refusing(error: type[BaseException], *words: str) -> Iterator[None]:
    """The body must raise this class, with a message that contains each of the words."""
    with pytest.raises(error) as caught:
        yield
    assert words and all(len(word) > 2 and word in str(caught.value) for word in words), str(caught.value)


def summing(**options: object) -> ReductionKernel:
    return ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total", **options)


TOTAL = summing(optimize="off")
UNEASY = ReductionKernel(
    "uint64 x", "uint64 y", "x * 3", "a * 31 + b * 17 + 5", "y = a", None, "uneasy", optimize="off"
)
NORM = ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "norm", optimize="off")


def same(one: np.ndarray, other: np.ndarray) -> bool:
    """Returns whether both have the same shape, dtype and bits."""
    return one.shape == other.shape and one.dtype == other.dtype and one.tobytes() == other.tobytes()


def layouts(x: np.ndarray) -> list[np.ndarray]:
    """Returns arrays with the same items in other memory layouts."""
    made = [
        x.transpose(order).copy().transpose(np.argsort(order))
        for order in itertools.permutations(range(x.ndim))
    ]
    for axis in range(x.ndim):
        apart = np.repeat(x, 2, axis=axis)
        back = np.flip(x, axis).copy()
        made += [apart[(*[slice(None)] * axis, slice(None, None, 2))], np.flip(back, axis)]
    return made


# ---- examples of CuPy's documentation --------------------------------------------------------------


@pytest.mark.parametrize("axis", [None, 0, 1, 2, -1, (0, 1), (0, 2), (1, 2), (-1, 0), (0, 1, 2), ()])
@pytest.mark.parametrize("keepdims", [False, True])
def test_axes(axis: object, keepdims: bool) -> None:
    x = np.random.default_rng(1).normal(size=(5, 40, 30))
    found, wanted = (
        NORM(x, axis=axis, keepdims=keepdims),
        np.sqrt(np.sum(x * x, axis=axis, keepdims=keepdims)),
    )
    assert found.shape == wanted.shape and type(found) is type(wanted)
    np.testing.assert_allclose(found, wanted, rtol=1e-13)


@pytest.mark.parametrize(
    "n", sorted({max(1, 2**k + d) for k in range(16) for d in (-1, 0, 1)} | {40_000, 100_001})
)
def test_sizes(n: int) -> None:
    x = np.arange(n, dtype=np.int64) ** 2 % 1009
    assert TOTAL(x) == x.sum() and TOTAL(x[::-1]) == x.sum()
    assert (TOTAL(np.stack([x, x + 1]), axis=1) == [x.sum(), x.sum() + n]).all()
    assert (TOTAL(np.stack([x, x + 1], axis=1), axis=0) == [x.sum(), x.sum() + n]).all()


@given(
    shape=st.lists(st.sampled_from([1, 2, 3, 5, 16, 17, 130, 300]), max_size=4).filter(
        lambda s: math.prod(s) < 1e5
    ),
    data=st.data(),
)
@settings(max_examples=80, deadline=None)
def test_any_layout(shape: list[int], data: st.DataObject) -> None:
    """Values must equal NumPy's, and bits those of the contiguous array."""
    axes = data.draw(st.lists(st.integers(0, max(0, len(shape) - 1)), unique=True)) if shape else []
    order = data.draw(st.permutations(range(len(shape))))
    steps = data.draw(st.lists(st.sampled_from([1, 2, -1, -3]), min_size=len(shape), max_size=len(shape)))
    big = (
        np.random.default_rng(0)
        .normal(size=[shape[k] * abs(steps[k]) for k in order])
        .transpose(np.argsort(order))
    )
    x = big[(*(slice(None, None, step) for step in steps), ...)]
    found = TOTAL(x, axis=tuple(axes))
    np.testing.assert_allclose(found, np.sum(x, axis=tuple(axes)), rtol=1e-11, atol=1e-11)
    assert same(np.asarray(found), np.asarray(TOTAL(x.copy(), axis=tuple(axes))))
    out = np.empty([length * 2 for length in found.shape])[(slice(None, None, 2),) * found.ndim + (...,)]
    assert TOTAL(x, axis=tuple(axes), out=out) is out and (out == found).all()


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8", "g"])
def test_types(dtype: str) -> None:
    """A sum has the output's type, as in CuPy: int8 wraps around."""
    x = np.arange(-200, 200).astype(dtype).reshape(20, 20)
    for axis in (0, 1, None):
        found = TOTAL(x, axis=axis)
        assert found.dtype == x.dtype
        assert (found == np.sum(x, axis=axis, dtype=dtype)).all()


def test_bools() -> None:
    any_ = ReductionKernel("bool x", "bool y", "x", "a || b", "y = a", "false", "any_")
    x = np.zeros((300, 4), bool)
    x[7, 2] = True
    for each in layouts(x):
        assert (any_(each, axis=0) == x.any(axis=0)).all() and (any_(each, axis=1) == x.any(axis=1)).all()
    raw = np.frombuffer(b"\x02\x00\x04", np.uint8).view(bool)
    count = ReductionKernel("bool x", "int64 n_true", "x", "a + b", "n_true = a", "0")
    assert count(raw) == 2
    raw = (2 * (np.arange(1200) % 3)).astype(np.uint8).view(bool).reshape(300, 4)
    for each in layouts(raw):
        for axis in 0, 1, (0, 1):
            assert (count(each, axis=axis) == (each.view(np.uint8) != 0).sum(axis)).all()


@pytest.mark.parametrize("dtype", ["i1", "u2", "f4", "f8", "D"])
def test_outputs_side_by_side(dtype: str) -> None:
    """Tests fewer outputs than run at once, as many, and more, for any size of accumulator."""
    text = "((npy_complex128){a.real + b.real, a.imag + b.imag})" if dtype == "D" else "a + b"
    zero = "{0, 0}" if dtype == "D" else "0"
    total = ReductionKernel("T x", "T y", "x", text, "y = a", zero, optimize="off")
    for m in (2, 16, 31, 63, 64, 65, 96, 127, 128, 300, 512, 600, 1031):
        x = (np.arange(20 * m) % 7).astype(dtype).reshape(20, m)
        assert (total(x, axis=0) == x.sum(axis=0, dtype=dtype)).all()
        assert (total(x[:4], axis=0) == x[:4].sum(axis=0, dtype=dtype)).all()
        assert (total(np.asfortranarray(x.T), axis=1) == x.sum(axis=0, dtype=dtype)).all()


def test_reduce_type() -> None:
    x = np.full(1000, 100, np.int8)
    plain = ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0")
    assert plain(x) == np.int8(100_000 % 256 - 256 if 100_000 % 256 > 127 else 100_000 % 256)
    for word in ("long long", "int64", "double", "float64"):
        mean = ReductionKernel("T x", "float64 y", "x", "a + b", "y = a / 1000.0", "0", reduce_type=word)
        assert mean(x) == 100.0
    letter = ReductionKernel("T x, U w", "T y", "x * w", "a + b", "y = a", "0", reduce_type="U")
    assert letter(x, np.ones(1000, np.int64)).dtype == np.int8


def test_a_struct_as_accumulator() -> None:
    """Computes mean and variance in one pass, combined by Chan's formula."""
    moments = ReductionKernel(
        "T x",
        "T mean, T variance",
        "(moments){x, 0, 1}",
        "merged(a, b)",
        "mean = a.mean; variance = a.m2 / a.n",
        None,
        "moments",
        reduce_type="moments",
        preamble="""
        typedef struct { double mean, m2, n; } moments;
        static moments merged(moments a, moments b)
        {
            double n = a.n + b.n, d = b.mean - a.mean;
            return (moments){a.mean + d * b.n / n, a.m2 + b.m2 + d * d * a.n * b.n / n, n};
        }""",
    )
    x = np.random.default_rng(2).normal(1e6, 1, size=(3, 20_000, 2))
    for each in layouts(x):
        for axis in (None, 0, 1, 2, (0, 2)):
            mean, variance = moments(each, axis=axis)
            np.testing.assert_allclose(mean, x.mean(axis=axis), rtol=1e-14)
            np.testing.assert_allclose(variance, x.var(axis=axis), rtol=1e-6)


def test_several_inputs_broadcast() -> None:
    dot = ReductionKernel("T x, T y", "T z", "x * y", "a + b", "z = a", "0", "dot", optimize="off")
    x, y = np.random.default_rng(3).normal(size=(7, 300)), np.random.default_rng(4).normal(size=300)
    np.testing.assert_allclose(dot(x, y, axis=1), x @ y, rtol=1e-12)
    np.testing.assert_allclose(dot(x, y[:, None][:7], axis=0), (x * y[:7, None]).sum(0), rtol=1e-12)
    np.testing.assert_allclose(dot(x, 3, axis=1), 3 * x.sum(1), rtol=1e-12)
    np.testing.assert_allclose(dot(2, x), 2 * x.sum(), rtol=1e-12)
    np.testing.assert_allclose(dot(x[:1], x[:, :1]), (x[:1] * x[:, :1]).sum(), rtol=1e-12)
    assert same(np.asarray(dot(x, np.float32(3))), np.asarray(dot(x, 3)))
    with refusing(ValueError, "total", "broadcast"):
        ReductionKernel("T x, T y", "T z", "x", "a + b", "z = a", "0", "total")(np.ones(3), np.ones(4))


# ---- outputs ----------------------------------------------------------------------------------------


@pytest.mark.row("K18")
def test_all_outputs_are_returned() -> None:
    both = ReductionKernel(
        "T x", "T s, int64 count", "x", "a + b", "s = a; count = _in_ind.size() / _out_ind.size()", "0"
    )
    total, n = both(np.ones((3, 5)), axis=1)
    assert total.tolist() == [5, 5, 5] and n.tolist() == [5, 5, 5]
    outs = np.empty(3), np.empty(3, np.int64)
    given_back = both(np.ones((3, 5)), *outs, axis=1)
    assert given_back[0] is outs[0] and given_back[1] is outs[1] and outs[1].tolist() == [5, 5, 5]
    assert both(np.ones((3, 5)), axis=1, out=outs)[1] is outs[1]


def test_out() -> None:
    x, out = np.arange(6.0).reshape(2, 3), np.empty(2)
    assert TOTAL(x, out, axis=1) is out and out.tolist() == [3, 12]
    assert TOTAL(x, axis=1, out=out[::-1]).tolist() == [3, 12] and out.tolist() == [12, 3]
    kept = np.empty((2, 1))
    assert TOTAL(x, axis=1, keepdims=True, out=kept) is kept and kept.tolist() == [[3], [12]]
    refuses(ValueError, lambda: TOTAL(x, axis=1, out=np.empty(3)), "total", "'y'", "(3,)", "(2,)")
    refuses(ValueError, lambda: TOTAL(x, out, axis=1, out=out), "position", "out")
    refuses(TypeError, lambda: TOTAL(x, axis=1, out=[[1.0, 2.0]]), "total", "'y'", "list")
    out.flags.writeable = False
    refuses(ValueError, lambda: TOTAL(x, axis=1, out=out), "total")
    refuses(TypeError, lambda: TOTAL(x, axis=1, out=np.empty(2, np.float32)), "float32", "float64")
    assert TOTAL(x, None, axis=1).tolist() == [3, 12]


def test_outputs_of_subclasses() -> None:
    """The kernel fills their memory and returns them."""

    class Sub(np.ndarray):
        pass

    x, out = np.arange(6.0).reshape(2, 3), np.empty((2, 1)).view(Sub)
    for _ in range(2):
        assert TOTAL(x, axis=1, keepdims=True, out=out) is out and out.tolist() == [[3], [12]]
    masked = np.ma.masked_array(np.zeros(2), [False, True])
    refuses(TypeError, lambda: TOTAL(x, axis=1, out=masked), "'y' has masked elements")
    masked.mask = False
    assert TOTAL(np.ma.masked_array(x), axis=1, out=masked) is masked and masked.tolist() == [3, 12]


@pytest.mark.row("S02")
@pytest.mark.parametrize("shape", [(3, 4), (700, 40), (40, 40_000)])
def test_outputs_that_share_memory_with_an_input(shape: tuple[int, int]) -> None:
    for axis, out in ((0, np.s_[1]), (0, np.s_[0, ::-1]), (1, np.s_[:, 2]), (1, np.s_[::-1, 0])):
        x = np.random.default_rng(1).integers(0, 99, shape).astype(float)
        wanted = np.sum(x, axis=axis)
        assert np.array_equal(TOTAL(x, axis=axis, out=x[out]), wanted) and np.array_equal(x[out], wanted)
    strict = ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", cast="no")
    refuses(ValueError, lambda: strict(x, axis=0, out=x[0]), "'y' shares memory with argument 'x'")


def test_an_output_may_be_updated() -> None:
    more = ReductionKernel("T x", "T y", "x", "a + b", "y += a", "0")
    out = np.array([100.0, 200.0])
    more(np.ones((2, 3)), out, axis=1)
    assert out.tolist() == [103, 203]


# ---- arrays that do not lie as C wants them ---------------------------------------------------------------

SUM = ("float64 x", "float64 y", "x", "a + b", "y = a", "0", "sum")


@pytest.mark.row("S01")
@pytest.mark.parametrize("cast", ["safe", "same_kind"])
@pytest.mark.parametrize("to", "bHiQlefdD")
def test_inputs_convert_as_numpy_converts_them(to: str, cast: str) -> None:
    fixed = np.dtype(to).name
    kernel = ReductionKernel(f"{fixed} x", "float64 y", "creal(x)" if to == "D" else "x",
                             "a + b", "y = a", "0", cast=cast)  # fmt: skip
    every, checked = np.random.default_rng(3).integers(0, 99, (4, 31)), 0
    for other in "?bBhHiIlLqQefdFD":
        x = every.astype(other)
        if not np.can_cast(x.dtype, fixed, cast):
            refuses(TypeError, lambda x=x: kernel(x, axis=0), "'x' is", fixed)
            continue
        unaligned = np.zeros(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
        unaligned[...] = x
        for each in (x, unaligned, x.astype(x.dtype.newbyteorder()), x.copy("F"), list(x)):
            wanted = np.sum(np.asarray(each).astype(fixed), axis=0).real
            assert kernel(each, axis=0).tolist() == wanted.tolist()
            assert kernel(each[::-2], axis=0).tolist() == kernel(x[::-2].copy(), axis=0).tolist()
            checked += 1
    assert checked > 4


@pytest.mark.row("S01")
@pytest.mark.parametrize("dtype", "?bBhHiIlLefdg")
def test_inputs_of_float16_are_rounded_as_numpy_rounds_them(dtype: str) -> None:
    kernel = ReductionKernel("float16 x", "float32 y", "x", "b", "y = a", None, cast="same_kind")
    random = np.random.default_rng(8)
    halves = random.integers(0, 0x7BFF, 4000, np.uint16)
    middle = (halves.view("e").astype("d") + (halves + 1).view("e")) / 2
    with np.errstate(all="ignore"):
        x = (middle * random.choice([1, 1 - 2**-23, 1 + 2**-40, -1, 1e9], 4000)).astype(dtype)
        np.testing.assert_array_equal(kernel(x[:, None], axis=1), x.astype("e").astype("f"))


@pytest.mark.row("S01")
def test_any_byte_of_a_bool_that_is_converted_is_true() -> None:
    assert ReductionKernel(*SUM)(np.array([0, 2, 255], np.uint8).view(bool)) == 2


@pytest.mark.row("S01")
@pytest.mark.parametrize("fixed", ["float64", "float16"])
def test_what_is_converted_item_by_item_needs_no_memory(fixed: str) -> None:
    kernel = ReductionKernel(f"{fixed} x", *SUM[1:], cast="same_kind")
    x, out = np.ones((20_000, 200), "f4"), np.empty(20_000)
    for call in (lambda: kernel(x, axis=1, out=out), lambda: kernel(x[:, ::-2], axis=1, out=out)):
        call()
        tracemalloc.start()
        call()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 100_000


@pytest.mark.row("S01")
def test_raw_inputs_are_converted_too() -> None:
    kernel = ReductionKernel(
        "float64 x, raw float64 r", "float64 y", "x + r[1] + _raw_x[0]", "a + b", "y = a", "0"
    )
    x, r = np.arange(1, 4), np.array([1, 10], ">f4")
    assert kernel(x, r) == kernel(x.astype(float), r.astype(float)) == 39


@pytest.mark.row("S02")
def test_outputs_of_other_types_are_written_back() -> None:
    x, update = np.ones((2, 3)), ReductionKernel("float64 x", "float64 y", "x", "a + b", "y += a", "0")
    total = ReductionKernel(*SUM)
    for dtype in (">f8", "c16", "g"):
        for _ in range(3):  # later calls have a plan
            out = np.full((2, 2), 7, dtype)[:, 0]
            assert total(x, out, axis=1) is out and out.tolist() == [3, 3]
    both = ReductionKernel("float64 x", "float64 y, int32 m", "x", "a + b", "y = a; m = a", "0")
    for _ in range(3):
        for dtype in ("f8", ">f8"):
            outs = (np.zeros(2, dtype),) * 2
            refuses(
                ValueError, lambda outs=outs: both(x, axis=1, out=outs), "'y' shares memory with output 'm'"
            )
        outs = np.zeros(2), np.zeros(2, "i8")
        made = both(x, axis=1, out=outs)
        assert made[0] is outs[0] and made[1] is outs[1] and outs[1].tolist() == [3, 3]
    out.flags.writeable = False
    refuses(ValueError, lambda: total(x, axis=1, out=out), "sum()", "'y' is read-only")
    out = np.array([100.0, 200.0], ">f8")
    assert update(x, axis=1, out=out) is out and out.tolist() == [103, 203]
    out = np.zeros(2, "f4")
    refuses(TypeError, lambda: ReductionKernel(*SUM)(x, axis=1, out=out), "'y' is float32", "float64")
    assert ReductionKernel(*SUM, cast="same_kind")(x, axis=1, out=out).tolist() == [3, 3]


@pytest.mark.row("S03")
def test_casts_and_copies_are_as_they_are_asked_for() -> None:
    x, y = np.ones(3), np.ones(3, "f4")
    strict = ReductionKernel(*SUM, cast="no")
    assert strict(x) == 3
    for each in (y, x.astype(">f8")):
        refuses(TypeError, lambda each=each: strict(each), "sum()", "'x' is", 'cast="safe" converts it')
    refuses(TypeError, lambda: strict(x, out=np.zeros((), "c16")), "sum()", "'y' is complex128")
    error = refuses(TypeError, lambda: strict(x, out=np.zeros((), "f4")), "'y' is float32; wanted float64")
    assert "cast" not in str(error)
    unaligned = np.frombuffer(bytes(17), np.uint8)[1:].view(np.float64)
    refuses(ValueError, lambda: strict(unaligned), "align")
    refuses(ValueError, lambda: ReductionKernel(*SUM, cast="unsafe"), "sum()", "cast must be", "'unsafe'")
    told = ReductionKernel(*SUM, copies="warn")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert told(x) == told(y) == 3
    for array, out, words in (
        (x.astype(">f8"), None, "argument 'x': it is >f8, in the other byte order; np.array"),
        (unaligned, None, "argument 'x': it is not aligned; np.array"),
        (y, np.zeros((), "c16"), "output 'y': it is complex128, and C has float64; an aligned"),
    ):
        words = words.replace("':", "' is copied in this call:")
        for _ in range(2):  # the second call has a plan
            with pytest.warns(UserWarning, match=re.escape(words)) as caught:
                told(array, out=out)
            assert len(caught) == 1 and caught[0].filename == __file__


# ---- nothing to reduce, and what it starts from --------------------------------------------------------


def test_empty_axes_give_the_identity() -> None:
    seven = ReductionKernel("T x", "T y", "x", "a + b", "y = a * 2", "7", "seven")
    assert seven(np.empty((3, 0)), axis=1).tolist() == [14, 14, 14]
    assert seven(np.empty((3, 0)), axis=0).shape == (0,)
    assert seven(np.empty((3, 0))) == 14 and seven(np.empty((0, 3)), keepdims=True).tolist() == [[14]]
    assert TOTAL(np.empty((2, 0, 3)), axis=(0, 1)).tolist() == [0, 0, 0]


def test_nothing_without_an_identity() -> None:
    for identity in (None, ""):
        largest = ReductionKernel("T x", "T y", "x", "a > b ? a : b", "y = a", identity, "largest")
        assert largest(np.array([[-3.0, -1], [-7, -9]]), axis=1).tolist() == [-1, -7]  # CuPy starts with 0
        with refusing(ValueError, "zero-size array to reduction operation largest which has no identity"):
            largest(np.empty((3, 0)), axis=1)
        assert largest(np.empty((3, 0)), axis=0).shape == (0,)


@pytest.mark.row("K18")
@pytest.mark.parametrize("n", [1, 5, 16, 100, 1000, 16384, 40_000])
def test_the_identity_is_applied_once(n: int) -> None:
    odd = ReductionKernel("T x", "T y", "x", "a + b", "y = a", "1000", "odd", optimize="off", threads=2)
    assert odd(np.ones(n)) == n + 1000
    assert odd(np.ones((n, 3)), axis=0).tolist() == [n + 1000] * 3


def test_identities_may_be_numbers() -> None:
    x = np.array([3.0, 2.0])
    for identity, wanted in ((math.inf, 2.0), (-5, -5.0), (np.float32(1), 1.0), (True, 1.0)):
        least = ReductionKernel("T x", "T y", "x", "a < b ? a : b", "y = a", identity)
        assert least(x) == wanted
    refuses(TypeError, lambda: ReductionKernel("T x", "T y", "x", "a + b", "y = a", []), "identity", "list")


@pytest.mark.parametrize("dtype", ["f8", "i8", "u8", "g"])
@pytest.mark.parametrize(
    "identity",
    [0, -7, -(2**31), 2**32, -(2**63), 2**63, 2**64 - 1, 2**64, 2**70, -(2**70), 0.1, -0.0, 1e-320, 1e308]
    + [np.int64(-(2**63)), np.uint64(2**64 - 1), np.longdouble("0.1"), np.longdouble(1) / 3, np.float16(-0.5)]
    + [np.True_],
)  # fmt: skip
def test_any_number_is_an_identity(identity: object, dtype: str) -> None:
    if dtype in ("i8", "u8"):
        info, whole = np.iinfo(dtype), int(identity)
        if identity != whole or not info.min <= whole <= info.max:
            return  # C would convert the value
        identity = whole
    f = ReductionKernel("T x", "T y", "x", "a + b", "y = a", identity, "f", optimize="off")
    got, wanted = f(np.zeros(0, dtype)), np.dtype(dtype).type(identity)
    assert got == wanted and np.signbit(got) == np.signbit(wanted)


# ---- names ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shape", [(300,), (40_000,), (7, 300), (300, 7), (2, 17_000, 2), (30, 4, 5), (2, 9, 50)]
)
def test_numbers_of_items(shape: tuple[int, ...]) -> None:
    """_J counts in C order along the reduced axes; _j counts all items, outputs fastest."""
    where = ReductionKernel(
        "T x",
        "int64 y",
        "(best){x, _J}",
        "a.x > b.x || (a.x == b.x && a.i < b.i) ? a : b",
        "y = a.i",
        None,
        reduce_type="best",
        preamble="typedef struct { double x; npy_intp i; } best;",
        optimize="off",
    )
    numbers = ReductionKernel("T x", "int64 y", "_j", "a > b ? a : b", "y = a", None, optimize="off")
    x = np.random.default_rng(5).permutation(math.prod(shape)).astype(float).reshape(shape)
    for each in layouts(x):
        assert where(each) == x.argmax()
        for axis in range(x.ndim):
            assert (where(each, axis=axis) == x.argmax(axis=axis)).all()
            wanted = np.arange(x.size).reshape(shape[axis], -1).max(axis=0).reshape(x.max(axis=axis).shape)
            assert (numbers(each, axis=axis) == wanted).all()
        if x.ndim == 3:
            moved = np.moveaxis(x, 1, 0).reshape(shape[1], -1)
            assert (where(each, axis=(0, 2)) == moved.argmax(axis=1)).all()


def test_refused_calls() -> None:
    x = np.ones((2, 3))
    assert ReductionKernel("T x", "Z y", "x", "a + b", "y = a", "0")(x, dtype={"Z": "i4"}).dtype == np.int32
    with refusing(TypeError, "block_size"):
        TOTAL(x, block_size=128)  # type: ignore[call-arg]
    with refusing(ValueError, "bytes"):
        ReductionKernel("T x", "T y", "(w){x}", "a", "y = a.x", None, reduce_type="w",
                        preamble="typedef struct { double x, more[1000]; } w;")(x)  # fmt: skip


@pytest.mark.parametrize(
    ("what", "arguments"),
    [
        ("map_expr", {"map_expr": "x +\n nowhere"}),
        ("reduce_expr", {"reduce_expr": "a +\n nowhere"}),
        ("post_map_expr", {"post_map_expr": "y =\n nowhere"}),
        ("identity", {"identity": "0 +\n nowhere"}),
        ("preamble", {"preamble": "\nstatic int f(void) { return nowhere; }"}),
    ],
)
def test_faults_have_the_users_lines(what: str, arguments: dict[str, str]) -> None:
    usual = {
        "in_params": "float64 x", "out_params": "float64 y", "map_expr": "x", "reduce_expr": "a + b",
        "post_map_expr": "y = a", "identity": "0",
    }  # fmt: skip
    with pytest.raises(cwrapjit.CompileError, match="nowhere") as caught:
        ReductionKernel(**(usual | arguments), name="kernel")  # where all types are known
    error = caught.value
    assert error.filename == f"<cwrapjit kernel {what}>" and error.lineno == 2
    assert error.text is not None and "nowhere" in error.text


def test_lines_of_c_alone_are_lines() -> None:
    """Only C's line ends count: not form feeds, but CRLF. The preamble may contain #line."""
    preamble = '\f#define ONE 1\x0b\n#line 100 "own.h"\nstatic const char text[] = "a\u2028b";\r\n'
    given = {"in_params": "float64 x", "out_params": "float64 y", "reduce_expr": "a +\r\nb", "identity": 0}
    given |= {"post_map_expr": "y = a; // return", "preamble": preamble + "#define TWO \\\r\n 2"}
    f = ReductionKernel(map_expr="x + TWO *\r\nONE + sizeof text", **given)
    assert f(np.ones(3)) == 3 * (3 + 6)
    with pytest.raises(cwrapjit.CompileError) as caught:
        ReductionKernel(map_expr="x +\r\nnowhere", **given)
    error = caught.value
    assert (error.filename, error.lineno) == ("<cwrapjit reduce_kernel map_expr>", 2)
    with pytest.raises(cwrapjit.CompileError) as caught:
        ReductionKernel(map_expr="x", **given | {"preamble": '#line 100 "own.h"\nint i = nowhere;'})
    assert (caught.value.filename, caught.value.lineno) == ("own.h", 100)


def test_plans_of_many_shapes_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reduction, "_MOST_PLANS", 8)
    f = summing(optimize="off")
    for n in (*range(1, 30), 1, 2):
        assert f(np.ones(n)) == f(np.ones((n, 1)), axis=0) == n
        assert 0 < len(f._plans) <= 8


def test_kernels_are_pickled_as_their_texts() -> None:
    f = ReductionKernel(
        "T x", "T y", "x * N", "a + b", "y = a", 1, "scaled", reduce_type="double", options=("-DN=3",),
        preamble="// nothing", optimize="off",
    )  # fmt: skip
    x = np.arange(6.0).reshape(2, 3)
    f(x)
    data = pickle.dumps(f)
    assert pickle.loads(data) is f and copy.copy(f) is f and copy.deepcopy(f) is f
    del f
    gc.collect()
    again = pickle.loads(data)
    assert type(again) is ReductionKernel and again.name == "scaled" and again.functions == ()
    assert again(x, axis=1).tolist() == [10, 37]


# ---- the tree ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def eager() -> ReductionKernel:
    """Returns a kernel in the cc tier, if there is a compiler."""
    return summing(optimize="eager", threads=2)


@pytest.mark.soak("seconds; many outputs side by side show the same")
@pytest.mark.row("K18")
@pytest.mark.parametrize("shape", [(40_000,), (17_000, 3), (30, 5, 3)])
def test_the_same_bits(shape: tuple[int, ...], eager: ReductionKernel) -> None:
    """Layout, number of threads and tier make no difference."""
    x = np.random.default_rng(6).normal(size=shape) * 10.0 ** np.random.default_rng(7).integers(
        -9, 9, size=shape
    )
    kernels = [summing(optimize="off", threads=threads) for threads in (2, 4)] + [eager]
    for axes in itertools.chain.from_iterable(
        itertools.combinations(range(len(shape)), r) for r in (1, 2, 3)
    ):
        wanted = np.asarray(TOTAL(x, axis=axes))
        for number, each in enumerate(layouts(x)[1::2]):
            for kernel in kernels[: 3 if number == 1 else 2]:  # as compiling is slow
                assert same(np.asarray(kernel(each, axis=axes)), wanted)


@pytest.mark.row("K18")
@pytest.mark.parametrize("optimize", ["off", "eager"])
def test_many_outputs_side_by_side_have_the_same_bits(optimize: str, eager: ReductionKernel) -> None:
    """Rows are parts of leaves, one leaf, or several; lanes are joined differently there."""
    kernel = eager if optimize == "eager" else summing(optimize=optimize)
    for n, m in itertools.product((15, 16, 17, 127, 129, 300, 1000), (64, 65, 1040)):
        x = np.random.default_rng(n).normal(size=(n, m))
        wanted = TOTAL(np.ascontiguousarray(x.T), axis=1)  # computes each output alone
        gaps = np.zeros((n, m + 3))
        gaps[:, :m] = x
        for each in (x, gaps[:, :m], np.repeat(x, 2, axis=1)[:, ::2]):
            assert same(kernel(each, axis=0), wanted)
    x = np.random.default_rng(9).normal(size=(30, 17, 70))  # rows of two axes
    wanted = TOTAL(np.ascontiguousarray(x.transpose(2, 0, 1)), axis=(1, 2))
    assert same(kernel(x, axis=(0, 1)), wanted)
    assert same(kernel(x.transpose(1, 0, 2).copy().transpose(1, 0, 2), axis=(0, 1)), wanted)


@pytest.mark.row("K18")
def test_as_accurate_as_numpy() -> None:
    """Compares the errors of many sums of numbers that cancel."""
    rng = np.random.default_rng(8)
    for n in (100, 1000, 30_000):
        ours, theirs = [], []
        for _ in range(60):
            x = rng.normal(size=n) * 10.0 ** rng.integers(-3, 3, size=n)
            exact = math.fsum(x)
            ours.append(abs(TOTAL(x) - exact))
            theirs.append(abs(np.sum(x) - exact))
        assert np.mean(ours) <= 1.1 * np.mean(theirs)


def model(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Implements docs/kernels.md for a * 31 + b * 17 + 5, which fixes order and grouping."""

    def join(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return a * np.uint64(31) + b * np.uint64(17) + np.uint64(5)

    def leaf(items: np.ndarray) -> np.ndarray:
        starts = range(16) if len(items) >= 16 else (0,)
        lanes = [functools.reduce(join, items[k :: len(starts)]) for k in starts]
        while len(lanes) > 1:
            half = len(lanes) // 2
            lanes = [join(lanes[k], lanes[k + half]) for k in range(half)]
        return lanes[0]

    def piece(items: np.ndarray) -> np.ndarray:
        stack: list[np.ndarray] = []
        for number, begin in enumerate(range(0, len(items), 128)):
            value = leaf(items[begin : begin + 128])
            while number & 1:  # joins as a binary counter carries
                value, number = join(stack.pop(), value), number >> 1
            stack.append(value)
        while len(stack) > 1:
            last = stack.pop()
            stack.append(join(stack.pop(), last))
        return stack[0]

    def row_of(lengths: Sequence[int], follows: Sequence[bool]) -> tuple[int, int]:
        """Returns the row's axes, [first, end); follows[k]: no kept axis is in front of axis k."""
        for joined in (follows, [True] * len(lengths)):
            end = len(lengths)
            for first in reversed(range(end)):
                if math.prod(lengths[first:end]) >= 256:
                    return first, end
                end = end if joined[first] else first
        return 0, len(lengths)

    def rows(items: np.ndarray, lengths: Sequence[int], follows: Sequence[bool]) -> np.ndarray:
        first, end = row_of(lengths, follows)
        row, inner = math.prod(lengths[first:end]), math.prod(lengths[first + 1 : end])
        cut = max(1, 16384 // inner) * inner
        items = items.reshape(-1, row, math.prod(lengths[end:]), items.shape[-1]).swapaxes(1, 2)
        parts = [piece(one[k : k + cut]) for one in items.reshape(-1, row, items.shape[-1])
                 for k in range(0, row, cut)]  # fmt: skip
        return parts[0] if len(parts) == 1 else rows(np.array(parts), (len(parts),), (True,))

    moved = np.moveaxis(x, axes, range(len(axes)))
    kept = moved.shape[len(axes) :]
    left = [axis for axis in range(x.ndim) if axis not in axes or x.shape[axis] > 1]
    places = [k for k, axis in enumerate(left) if axis in axes]
    follows = [k > 0 and place == places[k - 1] + 1 for k, place in enumerate(places)]
    lengths = [x.shape[left[place]] for place in places]
    return rows(moved.reshape(-1, math.prod(kept)), lengths, follows).reshape(kept)


@pytest.mark.row("K18")
@pytest.mark.parametrize(
    ("shape", "axes"),
    [((n,), (0,)) for n in (1, 15, 16, 17, 31, 127, 128, 129, 144, 300, 1000, 1153, 16384, 16385, 40_000)]
    + [((3, n), axes) for n in (255, 256, 257, 300, 512) for axes in ((0, 1), (1,), (0,))]
    + [((300, 5), (0,)), ((300, 64), (0,)), ((300, 65), (0,)), ((143, 1100), (0,)), ((40_000, 3), (0,))]
    + [((3, 7, 11, 13), axes) for axes in ((0, 1, 2, 3), (1, 2), (0, 2), (1, 3), (0, 3), (0, 1, 3))]
    + [((9, 1, 40, 50), axes) for axes in ((0, 2), (0, 1, 2, 3), (2, 3))]
    + [((2, 129, 200), (0, 1)), ((70, 250, 3), (0, 1)), ((2, 20_000, 2), (0, 1, 2)), ((9_000, 2, 5), (0, 2))]
    + [((20, 15, 2, 3), axes) for axes in ((0, 1, 3), (0, 3), (1, 3))] + [((2, 260, 1, 3, 4), (0, 1, 2, 4))],
)  # fmt: skip
def test_operations_are_grouped_as_documented(shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    wanted = model(np.arange(math.prod(shape), dtype=np.uint64).reshape(shape) * np.uint64(3), axes)
    for x in layouts(np.arange(math.prod(shape), dtype=np.uint64).reshape(shape)):
        assert np.array_equal(UNEASY(x, axis=axes), wanted), x.strides
        columns = np.empty(wanted.shape[::-1], np.uint64).T
        assert np.array_equal(UNEASY(x, axis=axes, out=columns), wanted), x.strides


def test_threads_and_tiers_while_they_change() -> None:
    """Several threads call while the cc tier's loops are swapped in."""
    kernel, x = summing(threads=2), np.random.default_rng(9).normal(size=(200, 300))
    wanted, wrong = TOTAL(x, axis=0), []

    def work() -> None:
        for _ in range(200):
            if not same(kernel(x, axis=0), wanted):
                wrong.append(1)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for each in workers:
        each.start()
    for each in workers:
        each.join()
    assert not wrong


def test_options() -> None:
    x = np.random.default_rng(10).normal(size=(50, 40))
    for options in ({"debug": True}, {"fastmath": True}, {"define_macros": [("TWO", "2")]}):
        kernel = summing(**options)
        np.testing.assert_allclose(kernel(x, axis=0), x.sum(0), rtol=1e-12)
        np.testing.assert_allclose(kernel(x.T, axis=(0, 1)), x.sum(), rtol=1e-12)
    refuses(TypeError, lambda: summing(nothing=1), "unexpected keyword argument 'nothing'")


def test_functions_of_any_type() -> None:
    """min, max, abs and the functions of <math.h> have the types of their operands."""
    largest = ReductionKernel("T x", "T y", "abs(x)", "max(a, b)", "y = a", None, "largest")
    for dtype in ("i1", "u4", "i8", "f4", "f8"):
        x = np.arange(-100, 100).astype(dtype).reshape(10, 20)
        assert (largest(x, axis=1) == np.abs(x).max(axis=1)).all()
    assert largest(np.array([-(2**62) - 1])) == 2**62 + 1


def test_axes_of_any_kind() -> None:
    x = np.ones((2, 3))
    for axis in (np.int64(1), np.array(1), (np.int64(1),), True):
        for _ in range(2):
            assert TOTAL(x, axis=axis).tolist() == [3, 3]


def test_what_calls_of_the_same_geometry_must_not_share() -> None:
    """A plan is stored per geometry, but other arguments are rejected or need another plan."""
    x, w = np.arange(6.0).reshape(2, 3), np.full((2, 3), 2.0)
    dot = ReductionKernel("T x, T w", "T y", "x * w", "a + b", "y = a", "0", "dot", optimize="off")
    ends = ReductionKernel(
        "T x", "T lo, T hi", "(pair){x, x}", "(pair){min(a.lo, b.lo), max(a.hi, b.hi)}",
        "lo = a.lo; hi = a.hi", None, "ends", "pair", preamble="typedef struct { double lo, hi; } pair;",
        optimize="off",
    )  # fmt: skip
    for k in range(2):
        assert TOTAL(x, axis=1).tolist() == [3, 12] and TOTAL(x, axis=(1,)).tolist() == [3, 12]
        assert dot(x + k, k, axis=1).tolist() == (k * (x + k).sum(1)).tolist()
        assert dot(x.T, x.T, axis=0).tolist() == (x * x).sum(1).tolist()
        assert dot(x[:0], 2.0, axis=1).shape == (0,) and dot(x[:0], 2.0) == 0
        assert dot(x, x.astype(">f8"), axis=1).tolist() == dot(x, x, axis=1).tolist()
        refuses(TypeError, lambda: dot(x.astype(np.float32), x, axis=1), "float32")
        assert dot(x, w, axis=1).tolist() == [6, 24] and dot(x, 2, axis=1).tolist() == [6, 24]
        assert dot(2.0, x, axis=1).tolist() == [6, 24] and dot(x, w[0], axis=1).tolist() == [6, 24]
        for keepdims in (False, True):
            out, lo, hi = (np.empty((2, 1) if keepdims else 2) for _ in range(3))
            for found in (
                TOTAL(x, axis=1, out=out, keepdims=keepdims),
                TOTAL(x, out, axis=1, keepdims=keepdims),
                TOTAL(x, axis=1, out=(out,), keepdims=keepdims),
                dot(x, w, axis=1, out=out, keepdims=keepdims),
                dot(x, w[:1], out, axis=1, keepdims=keepdims),
                dot(x, 2, out, axis=1, keepdims=keepdims),
            ):
                assert found is out and out.ravel().tolist() in ([3, 12], [6, 24])
            for both in (
                ends(x, lo, hi, axis=1, keepdims=keepdims),
                ends(x, axis=1, out=(lo, hi), keepdims=keepdims),
            ):
                assert both[0] is lo and both[1] is hi and lo.ravel().tolist() == [0, 3]
            assert ends(x, axis=1, keepdims=keepdims)[1].shape == out.shape
        assert TOTAL(x, axis=1, keepdims=True).shape == (2, 1) and TOTAL(x, keepdims=True).shape == (1, 1)
    for wrong in ((1.0,), (True, 1.0)):
        refuses(TypeError, lambda wrong=wrong: TOTAL(x, axis=wrong), "axis must be None")
    refuses(TypeError, lambda: dot(x, axis=1, out=w), "2 or 3 positional")
    refuses(ValueError, lambda: ends(x, lo, hi, axis=1, out=(lo, hi)), "both by position and as out")
    refuses(ValueError, lambda: ends(x, axis=1, out=lo), "out has 1 arrays")
    refuses(TypeError, lambda: TOTAL(x, 2.0, axis=1), "must be an array, not float")


def test_outputs_of_other_types_have_other_functions() -> None:
    total, x = (
        ReductionKernel("T x", "Z y", "x", "a + b", "y = a", "0", "total", optimize="off"),
        np.ones((2, 3)),
    )
    for sort in ("f8", "f4", "i8", "f8"):
        assert total(x, axis=1, out=np.zeros(2, sort)).tolist() == [3, 3]


def test_signed_zeros_and_nans() -> None:
    largest = ReductionKernel("T x", "T y", "x", "a > b || isnan(a) ? a : b", "y = a", None)
    x = np.ones((3, 200))
    x[1, 77] = np.nan
    assert np.isnan(largest(x, axis=1)).tolist() == [False, True, False]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(TOTAL(x))


@pytest.mark.row("K05")
def test_messages_name_a_kernel_once_and_a_stream_is_of_no_use() -> None:
    x = np.ones((2, 3))
    kernel = ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total", threads=1)
    assert kernel(x, stream=None) == 6
    np.testing.assert_array_equal(kernel(x, axis=0, stream=object()), [2, 2, 2])
    out = np.zeros(3)
    out.flags.writeable = False
    for bad in (out, np.zeros(2)):
        with pytest.raises(ValueError, match=r"^total\(\): output 'y'"):
            kernel(x, axis=0, out=bad)


# ---- raw inputs, and indices of items --------------------------------------------------------------------


@pytest.mark.row("K05")
@pytest.mark.parametrize("axis", [None, 0, 1, 2, (0, 1), (0, 2), (1, 2), (-1, 0), ()])
@pytest.mark.parametrize("shape", [(3, 4, 5), (1, 7, 1), (17000, 2, 3), (2, 3, 40000)])
def test_places_and_raw_inputs(shape: tuple[int, ...], axis: int | tuple[int, ...] | None) -> None:
    rng = np.random.default_rng(1)
    x = rng.integers(-9, 9, shape)
    wanted_axis = tuple(range(3)) if axis is None else axis
    place = ReductionKernel(
        "T x, raw T w", "T y", "x * w[_in_ind.get()] + _in_ind.get()[2]", "a + b", "y = a", "0", "place"
    )
    numbers = np.arange(shape[2])
    for w in (x[::-1], np.ascontiguousarray(x[::-1]), np.broadcast_to(rng.integers(9, size=shape[2]), shape)):
        np.testing.assert_array_equal(place(x, w, axis=axis), (x * w + numbers).sum(axis=wanted_axis))
    # _j counts outputs fastest, and reduced axes slower.
    axes = range(3) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    reduced = sorted(each % 3 for each in axes)
    kept = [each for each in range(3) if each not in reduced]
    moved = np.arange(x.size).reshape([shape[k] for k in (*reduced, *kept)])
    at = ReductionKernel("T x, raw T w", "T y", "x * w[_j]", "a + b", "y = a", "0", "at")
    w = rng.integers(-9, 9, x.size)
    by_number = w[moved.transpose(np.argsort([*reduced, *kept]))]
    np.testing.assert_array_equal(at(x, w, axis=axis), (x * by_number).sum(axis=wanted_axis))
    np.testing.assert_array_equal(at(x.T.copy().T, w, axis=axis), (x * by_number).sum(axis=wanted_axis))


@pytest.mark.row("K05")
@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
@pytest.mark.parametrize("shape", [(3, 4), (20000, 3), (3, 20000)])
def test_the_end_of_a_reduction_sees_raw_inputs_and_its_place(
    shape: tuple[int, ...], axis: int | tuple[int, ...] | None
) -> None:
    kernel = ReductionKernel(
        "T x, raw U w, raw int32 k",
        "T y",
        "x",
        "a + b",
        "y = a * w[_out_ind.get()[0] % w.size()] + w.ndim + w.shape()[0] + k",
        "0",
        "ends",
    )
    x, w = np.arange(float(np.prod(shape))).reshape(shape), np.array([2.0, 3, 5])
    sums = x.sum(axis=axis)
    factors = w[np.arange(sums.shape[0]) % 3] if sums.ndim else w[0]
    np.testing.assert_allclose(kernel(x, w, 7, axis=axis), sums * factors + 1 + 3 + 7)
    if axis == 0:
        nothing = kernel(np.empty((0, 4)), w, 7, axis=0)
        np.testing.assert_array_equal(nothing, np.full(4, 11.0))


@pytest.mark.quick
@pytest.mark.row("K05")
def test_raw_inputs_of_all_kinds() -> None:
    flags = np.array([1, 0, 255], np.uint8).view(bool)
    count = ReductionKernel("T x, raw bool w", "int64 y", "w[_J]", "a + b", "y = a", "0", "count")
    for w in (flags, np.stack([flags, flags], 1)[:, 0]):
        assert count(np.zeros(3), w) == 2
    whole = ReductionKernel(
        "T x, T z", "T y", "_raw_x[_in_ind.get()] * z", "a + b", "y = a + 0 * _raw_z.size()", "0", "whole"
    )
    x, z = np.arange(6.0).reshape(2, 3), np.array([[2.0], [3.0]])
    np.testing.assert_array_equal(whole(x[:, ::-1], z, axis=1), (x * z).sum(axis=1))
    np.testing.assert_array_equal(whole(x[0], z, axis=1), (x[0] * z).sum(axis=1))
    with refusing(ValueError, "Loop size is undecided", "raw"):
        ReductionKernel("raw T x", "T y", "x[_J]", "a + b", "y = a", "0")(x)
    with refusing(TypeError, "'w' is raw and a scalar here", "map_expr"):
        ReductionKernel("T x, raw T w", "T y", "x * w[0]", "a + b", "y = a", "0")(x, 2.0)
    scaled = ReductionKernel("T x, raw T w", "T y", "x * w", "a + b", "y = a", "0")
    assert scaled(x, 2.0) == 30
    refuses(ValueError, lambda: scaled(x, x), "w is raw: only an element of it")


@pytest.mark.quick
@pytest.mark.row("K05")
def test_numbers_must_fit() -> None:
    times = ReductionKernel("T x, int32 m", "T y", "x * m", "a + b", "y = a", "0", "times")
    x = np.arange(4.0)
    assert times(x, np.int64(3)) == times(x, np.True_ + 2) == times(x, 3) == 18
    for value, got in (2.9, "float"), (np.float32(2.9), "float"), (float("nan"), "float"), (1j, "complex"):
        words = f"times(): argument 'm': expected int32, got {got}"
        refuses(TypeError, lambda value=value: times(x, value), words)
    for value in (np.int64(2**40), 2**31):
        words = f"times(): argument 'm': {value} is out of range of int32"
        refuses(OverflowError, lambda value=value: times(x, value), words)
    shift = ReductionKernel("T x, T y", "T z", "x + y", "a + b", "z = a", "0", "shift")
    for dtype in ("f4", "g"):
        total = shift(x.astype(dtype), np.float64(0.1))
        assert total.dtype == dtype and total == pytest.approx(6.4, rel=1e-6)
    assert shift(np.zeros(1, "g"), 2**63 + 1) == np.longdouble(2**63 + 1)
    refuses(TypeError, lambda: shift([1, 2], 0.5), "shift(): argument 'y': expected int64, got float")


@pytest.mark.quick
@pytest.mark.row("K05")
def test_raw_indices_are_checked_with_debug() -> None:
    text = ("T x, raw T w", "T y", "x * w[_J + 1]", "a + b", "y = a", "0", "next")
    x = np.arange(6.0).reshape(2, 3)
    checked = ReductionKernel(*text, debug=True)
    for w in (np.ones(3), np.ones((3, 2))[:, 0], np.ones(1), np.ones(0)):
        with refusing(IndexError, "next(): w[", "is out of range", f"w has {w.size} elements"):
            checked(x, w, axis=1)
    np.testing.assert_array_equal(checked(x, np.arange(4.0), axis=1), [8, 26])
    place = ReductionKernel("T x, raw T w", "T y", "w[_in_ind.get()]", "a + b", "y = a", "0", debug=True)
    for w, axis in ((x[:1], 0), (x[:, :2], 1), (np.ones((1, 9)), 0)):  # that are long enough
        message = (
            f"w: index {w.shape[axis]} is out of range for axis {axis}, which has {w.shape[axis]} elements"
        )
        error = refuses(IndexError, lambda w=w: place(x, w), message)
        assert str(error).endswith("map_expr>, line 1: w[_in_ind.get()]")


@pytest.mark.parametrize("asked", ["strides", "shape"])
def test_axes_are_checked_with_debug(asked: str) -> None:
    text = ("T x, raw T w", "T y", f"x * w.{asked}()[k]", "a + b", "y = a", "0", "along")
    for k in (0, 1, 2, -1):
        kernel = ReductionKernel(*text, preamble=f"enum {{ k = {k} }};", debug=True)
        x, w = np.arange(3.0), np.ones((4, 5))
        if k in (0, 1):
            assert kernel(x, w) == 3 * getattr(w, asked)[k]
        else:
            message = f"along(): w has no axis {k}: it has 2 dims"
            refuses(IndexError, lambda kernel=kernel, x=x, w=w: kernel(x, w), message)


def test_axes_of_places_are_checked_with_debug() -> None:
    x = np.ones((2, 3))
    text = ("T x", "T y", "x * _in_ind.get()[K]", "a + b", "y = a + 0 * _out_ind.get()[L]", "0", "places")
    for k, end in ((1, 0), (2, 0), (-1, 0), (0, 1), (0, -1)):
        kernel = ReductionKernel(*text, debug=True, define_macros=[f"K={k}", f"L={end}"])
        if (k, end) == (1, 0):
            assert kernel(x, axis=1).tolist() == [3, 3]
            continue
        name, axis, dims = ("_in_ind", k, 2) if end == 0 else ("_out_ind", end, 1)
        message = f"places(): {name}.get() has no axis {axis}: it has {dims} dims"
        refuses(IndexError, lambda kernel=kernel: kernel(x, axis=1), message, f"{name}.get()[")


def test_a_reduce_type_that_is_none_is_refused_at_once() -> None:
    text = ("T x", "T y", "x", "a + b", "y = a", "0", "sum")
    for word in ("nosuch", "unsigned nosuch", "struct nosuch", "nosuch *"):
        message = "sum(): reduce_type: wanted a type of C, NumPy, a letter or the preamble, got 'nosuch'"
        refuses(TypeError, lambda word=word: ReductionKernel(*text, reduce_type=word), message)
        refuses(
            TypeError, lambda word=word: ReductionKernel("int32 x", "float32 y", *text[2:], word), message
        )
    for word in "T", "size_t", "uint16_t", "npy_int64", "long double", "unsigned", "float16", "REAL", "ours":
        kernel = ReductionKernel(
            *text, reduce_type=word, preamble="typedef double ours;", options=("-DREAL=float",)
        )
        assert kernel(np.arange(4.0)) == 6, word
    more = {"reduce_type": "nosuch", "preamble": "#include <stdio.h>"}  # stdio.h might define the type
    refuses(
        cwrapjit.CompileError, lambda: ReductionKernel("int32 x", "int32 y", *text[2:], **more), "reduce_type"
    )


@pytest.mark.parametrize("debug", [False, True])
def test_casts_of_cpp(debug: bool) -> None:
    total = ReductionKernel(
        "T x", "int64 y", "half(int (x / 2)) + float(1)", "double(a) + int64_t(b)", "y = long(a)", "float(0)",
        "total", "double", preamble="static float half(int x) { return float(x) / 2; }", debug=debug,
    )  # fmt: skip
    assert total(np.array([5.0, 8.0])) == 1 + 1 + 2 + 1


def test_compile_errors_point_at_what_was_written() -> None:
    text = ("float64 x, raw float64 w", "float64 y", "x + w[_J] + z", "a + b", "y = a", "0")
    error = refuses(cwrapjit.CompileError, lambda: ReductionKernel(*text), "'z' undeclared", "map_expr")
    assert (error.text, error.lineno, error.offset) == ("x + w[_J] + z", 1, 13)


def test_units_of_others_are_not_lost() -> None:
    class Quantity(np.ndarray):
        def __array_ufunc__(self, *args: object, **kwargs: object) -> None:
            raise AssertionError("reductions do not ask")

    class Plain(np.ndarray):
        pass

    total = ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")
    with pytest.raises(TypeError, match=r"total\(\): argument 'x': Quantity has its own __array_ufunc__"):
        total(np.ones(3).view(Quantity))
    assert total(np.ones(3).view(Plain)) == 3
    assert total([1.0, 2.0]) == 3


@pytest.mark.quick
@pytest.mark.parametrize("char", "qQ")
def test_long_long(char: str) -> None:
    """The second 64-bit type of NumPy is another type for C, too."""
    x = np.arange(10).astype(char)
    total = ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")
    assert total(x) == 45
    assert total(x, out=np.zeros((), char)) == 45
    assert total(x.astype(char.replace("q", "l").replace("Q", "L"))) == 45
    largest = ReductionKernel("T x", "T y", "x", "max(a, b)", "y = a", None, reduce_type="long long")
    assert largest(x) == 9


@pytest.mark.row("K18")
def test_what_stands_behind_an_expression_is_refused() -> None:
    def kernel(map_expr: str = "x", reduce_expr: str = "a + b", identity: str = "0") -> ReductionKernel:
        return ReductionKernel("T x", "T y", map_expr, reduce_expr, "y = a", identity, "r")

    for what, text in (("map_expr", "x; 1"), ("reduce_expr", "a + b;"), ("identity", "0, other = 1")):
        with refusing(ValueError, f"r(): {what}", "outside of brackets"):
            kernel(**{what: text})
    assert kernel("({ T twice = 2 * x; twice; }) /* ; */")(np.arange(5.0)) == 20


@pytest.mark.parametrize("what", ["map_expr", "reduce_expr", "post_map_expr", "preamble"])
def test_faults_are_in_the_text_that_has_them(what: str) -> None:
    texts = {"map_expr": "x", "reduce_expr": "a + b", "post_map_expr": "y = a", "preamble": ""}
    texts[what] = {
        "map_expr": "x +\n 1 / (x - 2)",
        "reduce_expr": "a +\n 1 / (b - 2)",
        "post_map_expr": "y =\n 1 / (a - 3)",
        "preamble": "static long f(long x)\n{ return 1 / (x - 2); }",
    }[what]
    if what == "preamble":
        texts["map_expr"] = "f(x)"
    expressions = (texts[name] for name in ("map_expr", "reduce_expr", "post_map_expr"))
    options = {"preamble": texts["preamble"], "debug": True}
    kernel = ReductionKernel("T x", "T y", *expressions, "0", "kernel", **options)
    fault = refuses(cwrapjit.Fault, lambda: kernel(np.array([1, 2])), "SIGFPE")
    line = texts[what].split("\n")[1].strip()
    assert (fault.filename, fault.lineno, fault.text) == (f"<cwrapjit kernel {what}>", 2, line)


@pytest.mark.row("K18")
@pytest.mark.parametrize(
    ("order", "axis", "signature"),
    [
        ("F", (0, 2), "x(n) -> cwr_q()"),
        ("C", (0, 2), "x(n, m) -> cwr_q(m)"),
        ("C", (1, 2), "x(n) -> y()"),
        ("F", (1, 2), "x(n0, n1, m), cwr_at_x(n) -> y(m)"),
    ],
)
def test_rows_do_not_go_over_kept_axes(order: str, axis: tuple[int, int], signature: str) -> None:
    """If neighbouring axes have 256 items, rows (or outputs side by side) are lines in memory."""
    kernel, x = summing(optimize="off"), np.asarray(np.arange(3600.0).reshape(300, 4, 3), order=order)
    assert np.array_equal(kernel(x, axis=axis), x.sum(axis=axis))
    assert kernel.functions[0].signature == signature


@pytest.mark.row("K18")
def test_columns_with_gaps_are_one_line() -> None:
    """Columns with gaps, too, run in one loop over the items of all columns."""
    for gap in (1, 2):
        kernel = summing(optimize="off")
        x = np.arange(900.0).reshape(300, 3).repeat(gap, axis=1)[:, ::gap]
        assert np.array_equal(kernel(x, axis=0), x.sum(axis=0))
        assert "cwr_t < (16) * cwr_m" in kernel.functions[0].source


@pytest.mark.compiler("which vectors it makes")
def test_no_eight_items_are_gathered_at_once() -> None:
    """gcc would gather items that are not neighbours, which takes twice as long on AMD's processors."""
    kernel = ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total", optimize="eager")
    x = np.arange(3000.0).reshape(100, 10, 3)
    assert np.array_equal(kernel(np.asfortranarray(x), axis=(0, 2)), x.sum(axis=(0, 2)))
    found = kernel.functions[0].explain()
    assert "n0, n1" in kernel.functions[0].signature
    assert not [each for each in found.loops if (each["bytes"] or 0) > 32]


def test_a_line_may_be_continued_anywhere() -> None:
    """A line may even be continued within a name that kernels define."""
    x = np.arange(4.0)
    for text in ("x * _in_ind.get()[0] * 12", "_raw_x[_in_ind.get()] * _in_ind.get()[0] * 12"):
        for at in range(1, len(text)):
            cut = text[:at] + "\\\n" + text[at:]
            assert ReductionKernel("T x", "T y", cut, "a + b", "y = a", "0", "total")(x) == 168, cut
