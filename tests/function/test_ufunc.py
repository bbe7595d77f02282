"""Tests f.ufunc, a numpy.ufunc over a function's loops, against NumPy's own ufuncs of the same operation."""

from __future__ import annotations

import gc
import math
import pickle
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers import INNER, ar, eventually, in_threads, python, refuses, wrap_signature
from hypothesis import given, settings
from hypothesis import strategies as st
from leaks import keeps_nothing

import cwrapjit

UNARY = "a() -> output()"
BINARY = "a(), b() -> output()"
TIERS = ("off", "eager")


def operation(expression: str, *types: Any, **options: Any) -> Any:
    """Returns a function of a and b with this expression as the slice of each type."""
    body = f"item__output() = {expression}; return true;"
    return wrap_signature(BINARY, dict.fromkeys(types or (np.float64,), body), **options)


def subtract(**options: Any) -> Any:
    return operation("item__a() - item__b()", np.float64, np.float32, np.int64, name="minus", **options)


def add(*types: Any, **options: Any) -> Any:
    options = {"name": "plus", "identity": 0, "associative": True} | options
    return operation("item__a() + item__b()", *types, **options)


def extremes() -> Any:
    code = """
        double least = item__a(0), most = item__a(0);
        for (int i = 1; i < dims_slice__a[0]; i++) {
            least = item__a(i) < least ? item__a(i) : least;
            most = item__a(i) > most ? item__a(i) : most;
        }
        item__least() = least;
        item__most() = most;
        return true;
    """
    return wrap_signature("a(n) -> least(), most()", code, name="extremes")


def identical(got: Any, wanted: Any) -> None:
    """Value, shape and dtype must be equal, including the signs of zeros."""
    got, wanted = np.asarray(got), np.asarray(wanted)
    assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_array_equal(got, wanted)
    if got.dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(got), np.signbit(wanted))


# ---- type and attributes -------------------------------------------------------------------------


@pytest.mark.row("K06")
def test_it_is_a_ufunc():
    f = subtract(doc="What is left of a.")
    u = f.ufunc
    assert type(u) is np.ufunc and u is f.ufunc and u.signature is None
    assert (u.__name__, u.nin, u.nout, u.nargs, u.ntypes, u.identity) == ("minus", 2, 1, 3, 3, None)
    assert u.__doc__.endswith("What is left of a.") and u(5, 3) == 2
    for doc in (None, "", "ein Maß µ", "a lone \udcff", "a\0NUL"):
        assert isinstance(operation("item__a()", doc=doc).ufunc.__doc__, str)
    f, g = operation("item__a()"), operation("item__a()")
    f.__doc__ = 3
    del g.__doc__
    assert f.ufunc(1.0, 2.0) == g.ufunc(1.0, 2.0) == 1


@pytest.mark.quick
@pytest.mark.row("K06")
def test_a_gufunc_has_a_signature():
    assert wrap_signature("a(n), b(n) -> output()", INNER).ufunc.signature == "(n),(n)->()"
    assert extremes().ufunc.signature == "(n)->(),()"
    f = wrap_signature("a(3), b(m, 3) -> output(m)", "return true;")
    assert f.ufunc.signature == "(3),(m,3)->(m)"


# ---- types ---------------------------------------------------------------------------------------


def test_narrower_types_come_first():
    u = operation("item__a()", np.float64, np.int64, np.complex128, np.float32, np.int8, np.int16).ufunc
    assert [each[0] for each in u.types] == ["b", "h", "l", "f", "d", "D"]
    u = subtract().ufunc
    assert u(np.ones(2, np.float32), 2.5).dtype == np.float32
    assert (u(1, 2).dtype, u(1.0, 2).dtype) == (np.int64, np.float64)
    refuses(TypeError, lambda: u("text", 1), "minus")


def test_outputs_of_several_types_and_bools():
    same_or_7 = {(float, float): "item__output() = item__a(); return true;"}
    same_or_7[float, np.int32] = "item__output() = 7; return true;"
    u = wrap_signature(UNARY, same_or_7).ufunc
    assert u(1.5) == 1.5
    identical(u(1.5, signature="d->i"), np.int32(7))
    u, x = operation("item__a() || item__b()", np.bool_, identity=False).ufunc, np.array([True, False, False])
    identical(u(x, False), x)
    identical(u.reduce(np.zeros(0, bool)), np.False_)
    identical(u.outer(x, x), np.logical_or.outer(x, x))
    small = np.ones(5, np.int16)
    identical(operation("item__a() + item__b()", np.int16, name="add").ufunc.reduce(small), np.int16(5))


# ---- calls ---------------------------------------------------------------------------------------


@pytest.mark.row("K06")
@pytest.mark.parametrize("optimize", TIERS)
def test_calls_as_numpy_documents_them(optimize):
    u, n = subtract(optimize=optimize).ufunc, np.subtract
    x, y = ar(4, 5) * 1.25, ar(5)[::-1] + 0.5
    keep = x % 2 < 1
    identical(u(x, y), n(x, y))
    identical(u(x.T, y[:4]), n(x.T, y[:4]))
    identical(u(x[::2, ::-1], y), n(x[::2, ::-1], y))
    identical(u(x, y, where=keep, out=np.zeros((4, 5))), n(x, y, where=keep, out=np.zeros((4, 5))))
    identical(u(x, y, dtype=np.float32, casting="same_kind"), n(x, y, dtype=np.float32, casting="same_kind"))
    identical(u(x, 1, order="F"), n(x, 1, order="F"))
    assert u(x, 1, order="F").flags.f_contiguous
    identical(u(x, y, out=np.zeros((2, 4, 5))), n(x, y, out=np.zeros((2, 4, 5))))
    identical(u(np.zeros((0, 5)), y), np.zeros((0, 5)))
    identical(u(np.float64(3), np.array(2.0)), np.float64(1))
    swapped = x.astype(">f8")
    identical(u(swapped, y), n(x, y))
    unaligned = np.frombuffer(b"\0" + y.tobytes(), np.uint8)[1:].view(np.float64)
    identical(u(x, unaligned), n(x, y))
    inplace = x.copy()
    assert u(inplace, y, out=inplace) is inplace
    identical(inplace, n(x, y))
    moved = np.arange(100.0)  # NumPy copies overlapping operands
    identical(u(moved[1:], moved[:-1], out=moved[1:]), np.ones(99))


@pytest.mark.row("K06")
@pytest.mark.parametrize("optimize", TIERS)
@pytest.mark.parametrize("n", [3, 50, 5000, 20000])
def test_an_output_behind_its_input(n, optimize):
    """NumPy does not copy here. gcc would turn the first store into one memset before the loop."""
    body = "item__output() = 0; if (item__a() > 50) item__output() = sqrt(item__a()); return true;"
    f = wrap_signature("a() -> output()", body, optimize=optimize)
    for shift in (1, 2, 9):
        x = np.arange(n + shift) * 7.0 % 101
        wanted = f(x[shift:])
        f.ufunc(x[shift:], out=x[:-shift])
        identical(x[:-shift], wanted)
        x = x[::-1].copy()[::-1]
        wanted = f(x[shift:])
        f.ufunc(x[shift:], out=x[:-shift])
        identical(x[:-shift], wanted)


@pytest.mark.row("K06")
@pytest.mark.parametrize("optimize", TIERS)
def test_an_output_that_begins_where_its_input_does(optimize):
    """NumPy does not copy here either; only the first slice reads what it has written."""
    body = "item__output() = 0; item__output() += item__a() + 1; return true;"
    u = wrap_signature("a() -> output()", body, optimize=optimize).ufunc
    for step in (1, 2, 3):
        x = np.arange(5.0, 3005.0)
        wanted = x[::step] + 1
        wanted[: 1 if step > 1 else None] = 1
        u(x[::step], out=x[: len(wanted)])
        identical(x[: len(wanted)], wanted)


@pytest.mark.row("K06")
@pytest.mark.parametrize("optimize", TIERS)
def test_methods_as_numpy_documents_them(optimize):
    u, n = subtract(optimize=optimize).ufunc, np.subtract
    x = np.random.default_rng(1).normal(size=(40, 50))
    whole = ar(30, dtype=np.int32)
    for work in [
        *(lambda f, axis=axis: f.reduce(x, axis=axis) for axis in (0, 1, -1)),
        *(lambda f, axis=axis: f.accumulate(x, axis=axis) for axis in (0, 1, -1)),
        *(lambda f, axis=axis: f.reduceat(x, [0, 7, 3, 30], axis=axis) for axis in (0, 1, -1)),
        lambda f: f.reduce(x, axis=1, keepdims=True),
        lambda f: f.reduce(x, initial=2.5),
        lambda f: f.reduce(x, where=x > 0, initial=0),
        lambda f: f.reduce(x, dtype=np.float32),
        lambda f: f.reduce(x, out=np.zeros(50)),
        lambda f: f.outer(x[0], x[1]),
        lambda f: f.accumulate(whole, dtype=np.int64),
        lambda f: (lambda line: f.accumulate(line, out=line))(x[0].copy()),
        lambda f: (lambda line: (f.at(line, [3, 3, 3, 49, 0], x[1, :5]), line)[1])(x[0].copy()),
    ]:
        identical(work(u), work(n))


@pytest.mark.row("K06")
@pytest.mark.parametrize("optimize", TIERS)
def test_gufuncs_as_numpy_documents_them(optimize):
    u = wrap_signature("a(n), b(n) -> output()", INNER, optimize=optimize).ufunc
    x, y = ar(4, 5, 6), ar(5, 6) + 0.5
    np.testing.assert_allclose(u(x, y), (x * y).sum(-1))
    np.testing.assert_allclose(u(x, x, axis=0), (x * x).sum(0))
    np.testing.assert_allclose(u(x, x, axis=1, keepdims=True), (x * x).sum(1, keepdims=True))
    moved = u(np.moveaxis(x, 1, -1), np.moveaxis(y, 0, -1))
    np.testing.assert_allclose(u(x, y, axes=[1, 0, ()]), moved)
    np.testing.assert_allclose(u(x.astype(">i4"), y), (x * y).sum(-1))
    np.testing.assert_allclose(u(x[:, ::-2, ::2], y[::-2, ::2]), (x[:, ::-2, ::2] * y[::-2, ::2]).sum(-1))
    assert u(x[..., :0], y[..., :0]).tolist() == [[0.0] * 5] * 4
    refuses(ValueError, lambda: u(x, y[:, :3]), "mismatch in its core dimension")
    refuses(RuntimeError, lambda: u.reduce(x), "Reduction not defined on ufunc with signature")


PRODUCT = """
    for (npy_intp i = 0; i < dims_slice__output[0]; i++)
        for (npy_intp j = 0; j < dims_slice__output[1]; j++) {
            ctype__output sum = 0;
            for (npy_intp k = 0; k < dims_slice__a[1]; k++)
                sum += item__a(i, k) * item__b(k, j);
            item__output(i, j) = sum;
        }
    return true;
"""
MATRICES = {
    tier: wrap_signature("a(n, k), b(k, m) -> output(n, m)", dict.fromkeys("lfd", PRODUCT), optimize=tier)
    for tier in TIERS
}
AXES = [
    [(-2, -1), (-2, -1), (-2, -1)], [(-1, -2), (-2, -1), (-2, -1)], [(0, 1), (0, 1), (0, 1)],
    [(0, -1), (1, 0), (-1, 0)], [(0, 0), (0, 1), (0, 1)], [(0, 1)], 3,
]  # fmt: skip


def whole_numbers(data: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Draws an array of some dtype and memory layout."""
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    base = rng.integers(0, 9, [2 * size for size in shape]).astype(
        data.draw(st.sampled_from(["f8", "f4", "i8", "i2", "u1", ">f8"]))
    )
    way = data.draw(st.sampled_from(["apart", "backwards", "C", "F", "stretched", "unaligned"]))
    x = base[tuple(slice(size) for size in shape)]
    if way == "apart":
        x = base[(slice(None, None, 2),) * len(shape)]
    elif way == "backwards":
        x = x[(slice(None, None, -1),) * len(shape)]
    elif way in "CF":
        x = x.copy(order=way)
    elif way == "stretched" and shape[0] > 0:
        x = np.broadcast_to(x[:1], shape)
    elif way == "unaligned" and x.size > 0:
        x = np.frombuffer(b"-" + x.tobytes(), x.dtype, offset=1).reshape(shape)
    return x


def outcome(work: Callable[[], Any]) -> Any:
    """Returns the result, or the type of the exception."""
    try:
        return work()
    except (TypeError, ValueError) as error:
        return type(error)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_matrices_as_numpys(data):
    """Draws shapes that fit or not, strides, dtypes, and all options of a generalized ufunc."""
    u, size = MATRICES[data.draw(st.sampled_from(TIERS))].ufunc, st.sampled_from([0, 1, 2, 5])
    n, k, m = data.draw(size), data.draw(size), data.draw(size)
    stack = data.draw(st.sampled_from([(), (1,), (2,), (0,), (3, 2)]))
    x = whole_numbers(data, (*stack, n, k))
    y = whole_numbers(data, (*data.draw(st.sampled_from([(), stack, stack[1:], (2,)])), k, m))
    options = {
        "dtype": [np.float64, np.float32, np.int64], "casting": ["no", "safe", "same_kind", "unsafe"],
        "order": ["C", "F", "A", "K"], "axes": AXES, "axis": [0], "subok": [False],
    }  # fmt: skip
    chosen = {
        name: data.draw(st.sampled_from(choice))
        for name, choice in options.items()
        if data.draw(st.integers(0, 3)) == 0
    }
    common = np.result_type(x, y)
    if common not in (np.int64, np.float32, np.float64):
        chosen.setdefault("dtype", np.int64 if common.kind in "iu" else np.float64)
    got, wanted = outcome(lambda: u(x, y, **chosen)), outcome(lambda: np.matmul(x, y, **chosen))
    if isinstance(wanted, type):
        assert got is wanted
        return
    identical(got, wanted)
    assert got.size == 0 or got.strides == wanted.strides
    room = np.full([2 * size for size in wanted.shape], 7, wanted.dtype)
    out = room[(slice(None, None, 2),) * room.ndim]
    chosen.pop("subok", None)
    assert u(x, y, out=out, **chosen) is out
    identical(out, wanted)
    out[...] = 7
    assert (room == 7).all()


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_overlapping_views_as_numpys(data):
    """Inputs and outputs lie in one array, at any distance and in any direction."""
    tier, associative = data.draw(st.sampled_from(TIERS)), data.draw(st.booleans())
    u, n = OVERLAPPING[tier, associative].ufunc, np.add if associative else np.subtract
    both = [np.random.default_rng(4).integers(-9, 9, 300).astype(data.draw(st.sampled_from(["i8", "f8"])))]
    both.append(both[0].copy())
    start, step = st.sampled_from([0, 1, 2, 7]), st.sampled_from([1, 2, -1, -2])
    length = data.draw(st.sampled_from([1, 3, 30, 120]))
    places = [(data.draw(start), data.draw(step)) for _ in range(2)]
    places.append(data.draw(st.sampled_from([*places, (data.draw(start), data.draw(step))])))
    way = data.draw(st.sampled_from(["call", "where", "accumulate", "reduce", "rows", "reduceat", "at"]))

    def work(f: Any, base: np.ndarray) -> Any:
        x, y, out = (base[at:][:: abs(step)][:length][:: step // abs(step)] for at, step in places)
        rows = x[: length // 3 * 3].reshape(3, -1)
        return {
            "call": lambda: f(x, y, out=out),
            "where": lambda: f(x, y, out=out, where=x > 0),
            "accumulate": lambda: f.accumulate(x, out=out),
            "reduce": lambda: f.reduce(x, out=out[:1].reshape(())),
            "rows": lambda: f.reduce(rows, axis=0, out=out[: rows.shape[1]]),
            "reduceat": lambda: f.reduceat(x, [0, length // 2], out=out[:2]),
            "at": lambda: f.at(out, np.arange(length) // 2, y),
        }[way]()

    got, wanted = (
        outcome(lambda f=f, base=base: work(f, base)) for f, base in zip((u, n), both, strict=True)
    )
    if isinstance(wanted, type):
        assert got is wanted
    identical(*both)


OVERLAPPING = {
    (tier, associative): add(np.int64, np.float64, optimize=tier) if associative else subtract(optimize=tier)
    for tier in TIERS
    for associative in (True, False)
}


def test_several_outputs_and_core_dims_of_outputs():
    least, most = extremes().ufunc(ar(3, 4), axis=0)
    assert (least.tolist(), most.tolist()) == ([0, 1, 2, 3], [8, 9, 10, 11])
    code = "for (int i = 0; i < 3; i++) item__output(i) = item__a(2 - i); return true;"
    u = wrap_signature("a(3) -> output(3)", code).ufunc
    assert u([[1.0, 2, 3]]).tolist() == [[3, 2, 1]]
    refuses(ValueError, lambda: u([1.0, 2]), "mismatch in its core dimension")
    code = "for (int i = 0; i < dims_slice__output[0]; i++) item__output(i) = item__a() + i; return true;"
    u = wrap_signature("a() -> output(m)", code).ufunc
    assert u([1.0, 5], out=np.zeros((2, 3))).tolist() == [[1, 2, 3], [5, 6, 7]]
    refuses(ValueError, lambda: u(1.0), "core dimension 0 unspecified")


def test_what_slices_see():
    code = """if (!CHECK_CONTIGUOUS_AND_SETERROR__a()) return false;
        item__output() = 100 * Ndims_slice__a + 10 * dims_slice__a[0] + sizeof_element__b;
        return true;"""
    u = wrap_signature("a(n), b(n) -> output()", code, module="lib").ufunc
    assert u(ar(2, 4), ar(4)).tolist() == [148, 148]
    refuses(ValueError, lambda: u(ar(2, 8)[:, ::2], ar(4)), "lib.f(): argument 'a' must be contiguous")


# ---- reductions ----------------------------------------------------------------------------------


@pytest.mark.row("K06")
def test_reductions_fold_from_the_left():
    u, x = subtract().ufunc, np.random.default_rng(2).normal(size=10_001)
    total = x[0]
    for each in x[1:]:
        total -= each
    assert u.reduce(x) == total
    refuses(ValueError, lambda: u.reduce(np.zeros(0)), "has no identity")
    refuses(ValueError, lambda: u.reduce(np.zeros((2, 2)), axis=None), "not reorderable")


@pytest.mark.quick
def test_identities():
    u = operation("item__a() * item__b()", np.float64, np.int64, name="times", identity=1).ufunc
    assert u.identity == 1
    identical(u.reduce(np.zeros((0, 2))), np.ones(2))
    identical(u.reduce(np.zeros((0, 2), np.int64)), np.ones(2, np.int64))
    assert u.reduce(ar(2, 2) + 1, axis=(0, 1)) == 24
    u = operation("item__a() > item__b() ? item__a() : item__b()", identity=-np.inf, name="most").ufunc
    assert u.reduce([]) == -np.inf
    for identity in (True, 2, 2.5, np.inf, np.float32(2), np.int8(3), np.bool_(True)):
        assert operation("item__a()", identity=identity).ufunc.identity == identity
    u = operation("fmax(item__a(), item__b())", identity=np.nan).ufunc
    with np.errstate(invalid="ignore"):
        assert np.isnan(u.identity) and np.isnan(u.reduce(np.zeros(0))) and u.reduce([1.0, 3.0, np.nan]) == 3
    for identity in (np.nan, np.float32(np.nan), complex(1, np.nan)):
        assert operation("item__a()", np.complex64, identity=identity).ufunc.identity is identity
    assert operation("item__a()", np.complex128, identity=1j).ufunc.reduce(np.zeros(0, complex)) == 1j


@pytest.mark.quick
@pytest.mark.parametrize(
    "type_, identity",
    [(np.int64, -np.inf), (np.int8, 300), (np.uint8, -1), (np.int64, 2.5), (np.float64, 1j), (np.bool_, 2)],
)
def test_identities_that_a_type_does_not_have(type_, identity):
    call = lambda: operation("item__a()", np.float32, type_, identity=identity)  # noqa: E731
    refuses(ValueError, call, f"t.f(): identity {identity!r} is no value of ")


@pytest.mark.quick
def test_reductions_that_make_no_sense():
    for wrong in ("0", [0], np.zeros(1), np.zeros(()), object(), np.datetime64(0, "s")):
        refuses(TypeError, lambda wrong=wrong: add(identity=wrong), "t.plus(): identity must be a number")
    refuses(TypeError, lambda: add(associative=1), "associative must be True or False")
    for option in ({"identity": 0}, {"associative": True}):
        refuses(
            ValueError, lambda option=option: wrap_signature(UNARY, "return true;", **option), "reductions"
        )
    wrap_signature(UNARY, "return true;", identity=None, associative=False)
    inner = lambda: wrap_signature("a(n), b(n) -> output()", INNER, identity=0)  # noqa: E731
    refuses(ValueError, inner, "without core dims")


SIZES = [0, 1, 2, 3, 23, 24, 25, 31, 63, 64, 65, 255, 511, 512, 513, 1000, 4095, 4096, 4097, 8193, 100_003]


@pytest.mark.parametrize("type_", [np.float64, np.float32, np.int8, np.int64, np.longdouble])
def test_associative_reductions_take_every_element_once(type_):
    u = {tier: add(type_, optimize=tier).ufunc for tier in TIERS}
    for size in SIZES:
        x = (np.arange(2 * size) * 7 % 11).astype(type_)
        for each in (x[:size], x[::2], x[::-2]):
            with np.errstate(all="ignore"):
                identical(u["off"].reduce(each), each.sum(dtype=type_))
                identical(u["eager"].reduce(each), each.sum(dtype=type_))


def test_associative_reductions_are_accurate_and_the_same_in_both_tiers():
    u = {tier: add(np.float64, optimize=tier).ufunc for tier in TIERS}
    for size in SIZES[3:] + [1_000_000]:
        x = np.random.default_rng(size).normal(size=2 * size) + 1
        for each in (x[:size], x[::-2]):
            got, exact = u["off"].reduce(each), math.fsum(each)
            assert got == u["eager"].reduce(each)
            assert abs(got - exact) <= 4 * max(abs(each.sum() - exact), np.spacing(abs(exact)))
    x = x.reshape(1000, -1)
    for axis in (0, 1, (0, 1)):
        np.testing.assert_allclose(u["eager"].reduce(x, axis=axis), x.sum(axis=axis), rtol=1e-13)


def test_other_associative_operations():
    x = np.random.default_rng(3).normal(size=5000)
    most = operation("fmax(item__a(), item__b())", header="#include <math.h>", associative=True).ufunc
    assert most.identity is None
    assert most.reduce(x) == x.max()
    assert most.reduce(x.reshape(50, 100), axis=(0, 1)) == x.max()
    refuses(ValueError, lambda: most.reduce([]), "has no identity")
    mixed = wrap_signature(  # elements and results differ in type, so the fold goes from the left
        BINARY, {(np.int64, np.int32, np.int64): "item__output() = item__a() + item__b(); return true;"},
        associative=True, identity=0,
    ).ufunc  # fmt: skip
    assert mixed.reduce(np.arange(100, dtype=np.int32)) == 4950
    gcd = """
        npy_int64 x = item__a(), y = item__b();
        while (y) { npy_int64 rest = x % y; x = y; y = rest; }
        item__output() = x;
        return true;
    """
    u = wrap_signature(BINARY, {np.int64: gcd}, associative=True, identity=0).ufunc
    assert u.reduce(np.arange(6, 60_000, 6)) == 6


@pytest.mark.quick
def test_errors_in_associative_reductions():
    code = """
        if (item__b() < 0) { PyErr_Format(PyExc_KeyError, "minus"); return false; }
        item__output() = item__a() + item__b();
        return true;
    """
    u = wrap_signature(BINARY, code, associative=True, identity=0).ufunc
    for size in SIZES[2:]:
        x = np.ones(size)
        assert u.reduce(x) == size
        x[-1] = -1
        refuses(KeyError, lambda x=x: u.reduce(x), "minus")
    code = "item__output() = item__a() + item__b(); return item__a() != -1 && item__b() != -1;"
    u = wrap_signature(BINARY, code, associative=True).ufunc
    for at in range(1, 4097, 97):
        x = np.ones(4097)
        x[at] = -1
        refuses(RuntimeError, lambda x=x: u.reduce(x), "returned false")


# ---- errors --------------------------------------------------------------------------------------

STRICT = """
    if (item__a() < 0) { PyErr_Format(PyExc_ValueError, "below zero: %d", (int)item__a()); return false; }
    item__output() = item__a() + item__b();
    return true;
"""
BAD = np.where(np.arange(30_000) == 20_000, -5.0, 1.0)
CALLS: dict[str, Callable[[Any], Any]] = {
    "call": lambda u: u(BAD, 1),
    "scalar": lambda u: u(-5, 1),
    "where": lambda u: u(BAD, 1, where=BAD < 0, out=np.zeros_like(BAD)),
    "cast": lambda u: u(BAD.astype(np.int32), 1),
    "strides": lambda u: u(BAD.reshape(100, 300).T, np.ones(100)),
    "reduce": lambda u: u.reduce(np.full(9, -5.0)),
    "reduce over the first axis": lambda u: u.reduce(np.full((9, 900), -5.0)),
    "accumulate": lambda u: u.accumulate(np.full(9, -5.0)),
    "reduceat": lambda u: u.reduceat(np.full(9, -5.0), [0, 4]),
    "outer": lambda u: u.outer(BAD, [1.0, 2.0]),
    "at": lambda u: u.at(BAD.copy(), [0, 20_000], 1),
}


@pytest.mark.row("K06")
@pytest.mark.parametrize("way", CALLS)
@pytest.mark.parametrize("optimize", TIERS)
def test_errors_surface_from_every_method(way, optimize):
    u = wrap_signature(BINARY, STRICT, optimize=optimize).ufunc
    for _ in range(3):
        refuses(ValueError, lambda: CALLS[way](u), "below zero: -5")
        assert u(1, 2) == 3
    u = wrap_signature(BINARY, "return item__a() >= 0;", module="lib").ufunc
    refuses(RuntimeError, lambda: CALLS[way](u), "lib.f(): the slice code (Ccode_slice_eval) returned false")


@pytest.mark.parametrize("mode", ["warn", "raise"])
def test_an_exception_of_a_slice_comes_before_what_flags_say(mode):
    """NumPy reads the flags first, and a warning turned the pending exception into a SystemError."""
    code = """
        if (item__b() == 3) { PyErr_SetString(PyExc_KeyError, "three"); return false; }
        item__output() = item__a() / item__b();
        return true;
    """
    u = wrap_signature(BINARY, code).ufunc
    with np.errstate(all="ignore"):
        assert np.isnan(u(0.0, 0.0))
    with np.errstate(all=mode):
        refuses(KeyError, lambda: u.outer(np.arange(5.0), np.arange(5.0)), "three")
        refuses(KeyError, lambda: u(np.ones(4), np.arange(4.0)), "three")


@pytest.mark.quick
def test_an_error_ends_a_call_at_once():
    code = "item__output() = ++count; if (item__a() < 0) { PyErr_SetNone(PyExc_KeyError); } return true;"
    f = wrap_signature(BINARY, code, header="static int count;", optimize="off")
    x = np.full((50, 1000), 1.0)[:, :500]  # enough for several chunks
    x[1, 3] = -1
    with pytest.raises(KeyError):
        f.ufunc(x, np.ones(500))
    assert f.ufunc(1, 1) < 25_000


@pytest.mark.quick
def test_python_and_printing_in_slices(capsys):
    code = """
        PyObject *x = PyFloat_FromDouble(item__a());
        if (!x) return false;
        item__output() = 2 * PyFloat_AsDouble(x);
        Py_DECREF(x);
        return true;
    """
    u = wrap_signature(UNARY, code, header="#include <Python.h>").ufunc
    identical(u(ar(5000)), 2 * ar(5000))
    identical(u(ar(5000).astype(np.int32)), 2 * ar(5000))
    wrap_signature(UNARY, 'printf("%g;", item__a()); item__output() = 0; return true;').ufunc(ar(1000))
    assert capsys.readouterr().out.count(";") == 1000


def test_threads_have_their_own_errors():
    u = wrap_signature(BINARY, STRICT).ufunc

    def work(k: int) -> None:
        x = np.ones(20_000)
        x[15_000] = -1 if k % 2 else 1
        for _ in range(50):
            if k % 2:
                refuses(ValueError, lambda: u(x, 1), "below zero")
            else:
                assert u(x, 1).sum() == 40_000

    in_threads(work, 6)


@pytest.mark.row("K06")
def test_floating_point_errors_are_numpys():
    u = operation("item__a() / item__b()", name="ratio").ufunc
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in ratio"):
        assert u(1.0, 0.0) == np.inf
    with np.errstate(divide="raise"):
        refuses(FloatingPointError, lambda: u([1.0], 0.0), "divide by zero encountered in ratio")
    with np.errstate(all="ignore"):
        assert np.isnan(u(0.0, 0.0))


@pytest.mark.parametrize("optimize", TIERS)
def test_floating_point_errors_are_the_same_in_both_tiers(optimize):
    """Each method reports each kind of error as NumPy's division does."""
    u = operation("item__a() / item__b()", optimize=optimize).ufunc
    x = np.array([0.0, 1, -1, np.inf, np.nan, 1e308, 5e-324] * 9)

    def told(f: Any) -> list[Any]:
        calls: list[Any] = []
        with np.errstate(all="call", call=lambda kind, flags: calls.append((kind, flags))):
            for work in (
                lambda: f(x, x[::-1]), lambda: f(x, 1e-300), lambda: f.reduce(x[1:]),
                lambda: f.accumulate(x), lambda: f.reduceat(x, [0, 5]), lambda: f.outer(x, x),
                lambda: f(x, x, where=x > 1, out=np.ones(63)), lambda: f.at(x.copy(), [0], 0.0),
                lambda: f(x, x, dtype=np.float64),
            ):  # fmt: skip
                work()
                calls.append("next")
        return calls

    assert told(u) == told(np.divide)

    def stop(kind: str, flags: int) -> None:
        raise KeyError(kind)

    with np.errstate(all="call", call=stop), pytest.raises(KeyError, match="divide by zero"):
        u(x[1:2], 0.0)
    with np.errstate(all="raise"):
        for kind, a, b in (("divide", 1.0, 0.0), ("invalid", 0.0, 0.0), ("over", 1e308, 1e-9)):
            with pytest.raises(FloatingPointError):
                u(a, b)
            with np.errstate(**{kind: "ignore"}):
                u(a, b)


PASSES = """
#include <fenv.h>
static long double same(long double x) { return x; }
static long double minus(long double x, long double y) { return x - y; }
static double narrow(int n, long double x, double y) { return n + x + y; }
"""


@pytest.mark.parametrize("optimize", TIERS)
@pytest.mark.parametrize("type_", [np.longdouble, np.float64, np.float32])
def test_long_doubles_that_are_passed_raise_no_flag(type_, optimize):
    """Passing and returning them must set no floating-point flag."""
    spelled = {np.longdouble: "long double", np.float64: "double", np.float32: "float"}[type_]
    for body, wanted in (
        ("return same(x);", 4),
        ("return same(same(x)) + 1;", 5),
        ("return sqrtl(x);", 2),
        ("return powl(x, x);", 256),
        ("return minus(x, x / 2);", 2),
        ("return narrow(1, x, 2);", 7),
        ("long double (*f)(long double) = same; f(x); return f(x);", 4),
        ("feclearexcept(FE_ALL_EXCEPT); same(x); return fetestexcept(FE_INVALID);", 0),
    ):
        u = cwrapjit.vectorize(f"{PASSES} {spelled} f({spelled} x) {{ {body} }}", optimize=optimize).ufunc
        with np.errstate(all="raise"):
            identical(u(np.full(20, 4, type_)), np.full(20, wanted, type_))


@pytest.mark.parametrize("optimize", TIERS)
@pytest.mark.parametrize("type_", [np.longdouble, np.float64, np.float32])
def test_long_doubles_that_are_invalid_raise_a_flag(type_, optimize):
    spelled = {np.longdouble: "long double", np.float64: "double", np.float32: "float"}[type_]
    u = cwrapjit.vectorize(
        f"{PASSES} {spelled} f({spelled} x) {{ return minus(x, x); }}", optimize=optimize
    ).ufunc
    with np.errstate(invalid="raise"):
        refuses(FloatingPointError, lambda: u(type_(np.inf)), "invalid value encountered in f")


@pytest.mark.parametrize("optimize", TIERS)
def test_what_a_slice_does_not_compute_raises_no_floating_point_error(optimize):
    u = operation("item__b() != 0 ? item__a() / item__b() : 0", optimize=optimize).ufunc
    root = operation("item__a() >= 0 ? sqrt(item__a()) : item__b()", optimize=optimize).ufunc
    x = np.arange(1000.0) % 3
    with np.errstate(all="raise"):
        for b in (x, x[1:], x[::2], x[::-1]):
            identical(u(1.0, b), np.divide(1.0, b, out=np.zeros_like(b), where=b != 0))
            identical(root(b - 1, b), np.where(b >= 1, np.sqrt(np.abs(b - 1)), b))


# ---- functions that cannot be ufuncs -------------------------------------------------------------

NAMES = [f"a{i}" for i in range(70)]
LONG = ",".join(NAMES[:25])
REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "inout": ("inout a() -> output()", {}, "updates argument 'a' in place"),
    "shared": ("shared a() -> output()", {}, "all of its slices share argument 'a'"),
    "extras": (UNARY, {"extra_args": (("int", "k", "1", "i"),)}, "no extra arguments such as 'k'"),
    "cookie": (UNARY, {"Ccode_cookie_struct": "int n;"}, "no cookie struct"),
    "validate": (UNARY, {"Ccode_validate": "return true;"}, "run no Ccode_validate"),
    "debug": (UNARY, {"debug": True}, "debug=True checks"),
    "no input": ("-> output()", {}, "at least one input"),
    "length 0": ("a(0) -> output()", {}, "no core dims of length 0, as 'a' has"),
    "output_dims": ("a(n) -> output(m)", {"output_dims": {"m": "n + 1"}}, "length 'm' of an output is"),
    "windows": (UNARY, {"windows": {"a": (3,)}}, "have no windows"),
    "types": (UNARY, {"code": {"S5": "return true;"}}, "bools and numbers alone, not of 'S5 -> S5'"),
    "full geometry": (UNARY, {"code": "return Ndims_full__a;"}, "reads Ndims_full__a"),
    "full strides": (UNARY, {"code": "return strides_full__output[0];"}, "reads strides_full__output"),
    "in the header": (UNARY, {"header": "#define N dims_full__a[0]"}, "reads dims_full__a"),
    "pasted": (UNARY, {"header": "#define J(a, b) a##b"}, "may hide"),
    "operands": (",".join(f"{name}()" for name in NAMES) + " -> output()", {}, "at most 64 arguments"),
    "dims": (
        ",".join(f"{name}({LONG})" for name in "uvwxyz") + " -> output()",
        {},
        "more than 128 core dims",
    ),
}


@pytest.mark.quick
@pytest.mark.row("K06")
@pytest.mark.parametrize("why", REFUSED)
def test_what_cannot_be_a_ufunc_says_why(why):
    signature, options, words = REFUSED[why]
    options = dict(options)
    f = wrap_signature(signature, options.pop("code", "return true;"), module="lib", **options)
    refuses(AttributeError, lambda: f.ufunc, "lib.f(): it has no .ufunc: ", words)
    assert not hasattr(f, "ufunc")


@pytest.mark.quick
def test_numpys_own_limits():
    signature = ",".join(f"{name}()" for name in NAMES[:40]) + " -> output()"
    f = wrap_signature(signature, "item__output() = item__a39(); return true;")
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        assert f.ufunc(*range(40)) == 39
    else:
        refuses(ValueError, lambda: f.ufunc, "more than 32 operands")
    first = ",".join("0" * 25)
    u = wrap_signature(f"a({LONG}) -> output()", f"item__output() = item__a({first}); return true;").ufunc
    assert u(np.full((1,) * 25, 5.0)) == 5


# ---- lifetime ------------------------------------------------------------------------------------


def test_it_keeps_the_function():
    f = subtract()
    f.me, f.mine, seen, u = f, f.ufunc, weakref.ref(f), f.ufunc
    reduce = u.reduce
    del f
    gc.collect()
    assert seen() is not None and u(5, 3) == 2
    del u
    gc.collect()
    assert seen() is not None and reduce([5.0, 1.0]) == 4
    del reduce
    gc.collect()
    assert seen() is None, "also out of cycles"


@pytest.mark.leak
def test_nothing_is_kept():
    def whole() -> None:
        f = add(np.float64, np.int64, doc="some text", identity=1000)
        f.ufunc.reduce([1.0, 2.0])
        del f
        gc.collect()

    keeps_nothing(whole)


@pytest.mark.leak
@pytest.mark.parametrize("way", ["call", "reduce", "at"])
def test_calls_that_raise_keep_nothing(way):
    u = wrap_signature(BINARY, STRICT, optimize="off").ufunc

    def work() -> None:
        try:
            CALLS[way](u)
        except ValueError:
            pass

    keeps_nothing(work)


def test_it_is_not_pickled():
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(subtract().ufunc)


@pytest.mark.compiler("waits for the cc tier")
@pytest.mark.parametrize("way", ["call", "reduce", "gufunc", "short"])
def test_it_gets_hot_by_itself(way):
    f = wrap_signature("a(n), b(n) -> output()", INNER) if way == "gufunc" else add(np.float64)
    u, x = f.ufunc, np.ones({"gufunc": (300, 100), "short": 20}.get(way, 50_000))

    def is_better():
        for _ in range(100):
            u.reduce(x) if way == "reduce" else u(x, x)
        return f.tier == "cc"

    assert eventually(is_better)


NO_MEMORY = """
import _testcapi, gc
import numpy as np
import cwrapjit

def make():
    return cwrapjit.function("f", "doc", signature="a(), b() -> y()", optimize="off", identity=0,
        Ccode_slice_eval=dict.fromkeys((float, int), "item__y() = item__a() + item__b(); return true;"))

make().ufunc.reduce(np.ones(3))
failed = 0
for k in range(2):
    f = make()
    try:
        _testcapi.set_nomemory(k, k + 1)
        try:
            f.ufunc
        finally:
            _testcapi.remove_mem_hooks()
    except MemoryError:
        failed += 1
    assert f.ufunc.reduce(np.ones(3)) == 3
    assert f.ufunc(1, 2) == 3
print(failed)
"""


@pytest.mark.quick
def test_memory_that_runs_out():
    """Only our allocations fail: if one of NumPy's next ones did, NumPy would crash, as in frompyfunc()."""
    pytest.importorskip("_testcapi")
    assert int(python(NO_MEMORY).stdout) == 2
