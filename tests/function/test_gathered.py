"""Tests arguments whose type, byte order, strides or alignment differ from what the C text needs."""

from __future__ import annotations

import re
import tracemalloc
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers import ar, refuses, wrap_signature

import cwrapjit

NUMBERS = "?bBhHiIlLefdgFDG"
SUM = """double sum(int n, const double x[n]) {
    double total = 0;
    for (int i = 0; i < n; i++)
        total += (i + 1) * x[i];
    return total;
}"""
DOT = "double dot(int n, const double x[n], double p) {\
 double total = 0; for (int i = 0; i < n; i++) total += x[i] * p; return total; }"
SCALE = "void scale(int n, double x[n]) { for (int i = 0; i < n; i++) x[i] *= i; }"
EDGES = "void edges(int n, int m, const double x[n][m], OUT double y[2][m]) {\
 for (int j = 0; j < m; j++) { y[0][j] = x[0][j]; y[1][j] = x[n - 1][j]; } }"


def some(dtype: Any, count: int = 700) -> np.ndarray:
    """Returns numbers from the whole range of a type."""
    rng, wanted = np.random.default_rng(1), np.dtype(dtype)
    if wanted.kind == "b":
        return rng.integers(0, 2, count).astype(wanted)
    if wanted.kind in "iu":
        limits = np.iinfo(wanted)
        return rng.integers(limits.min, limits.max, count, dtype=wanted.newbyteorder("="), endpoint=True)
    numbers = rng.standard_normal(count) * 1e4
    return (numbers + 1j * rng.standard_normal(count) if wanted.kind == "c" else numbers).astype(wanted)


def unaligned(x: np.ndarray) -> np.ndarray:
    made = np.zeros(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    made[...] = x
    assert not made.flags.aligned or x.dtype.alignment == 1 or x.size == 0
    return made


def layouts(x: np.ndarray) -> list[np.ndarray]:
    """Returns the same numbers with other strides, alignment and byte order."""
    wide = np.repeat(x, 2, axis=-1)
    return [
        wide[..., ::2],
        np.asfortranarray(x),
        x[..., ::-1].copy()[..., ::-1],
        unaligned(x),
        x.astype(x.dtype.newbyteorder()),
        unaligned(wide.astype(x.dtype.newbyteorder()))[..., ::2],
    ]


@pytest.mark.row("N23i")
@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid")
@pytest.mark.parametrize("to", NUMBERS)
@pytest.mark.parametrize("cast", ["safe", "same_kind"])
def test_all_numbers_convert_as_numpy_converts_them(to: str, cast: str) -> None:
    dtype = np.dtype(to)
    code = {(dtype, dtype): "item__y() = item__x(); return 1;"}
    f = cwrapjit.function("f", signature="x() -> y()", Ccode_slice_eval=code, cast=cast)
    checked = 0
    for other in NUMBERS:
        for order in "=S":
            x = some(other).astype(np.dtype(other).newbyteorder(order))
            if np.can_cast(x.dtype, dtype, cast):
                for given in (x, x[::-3], x.reshape(7, 100).T, x[:0]):
                    np.testing.assert_array_equal(f(given), given.astype(dtype))
                    checked += 1
            if np.can_cast(dtype, x.dtype, cast):
                y = some(to)[::2]
                out = np.zeros(y.shape, x.dtype)
                assert f(y, out=out) is out
                np.testing.assert_array_equal(out, y.astype(x.dtype))
                checked += 1
    assert checked > 20


def bits(x: np.ndarray) -> Any:
    """Returns the bits, with NaNs made quiet: some processors do that in the instructions that NumPy uses.

    These need no bit for a payload of which none fits, and others set the last."""
    quiet = {2: 1 << 9, 4: 1 << 22, 8: 1 << 51}[x.itemsize]
    made = x.view(f"u{x.itemsize}") | np.where(np.isnan(x), quiet, 0).astype(f"u{x.itemsize}")
    return made | np.where(np.isnan(x), made & (quiet - 1) == 0, 0).astype(made.dtype)


@pytest.mark.row("N23i", "K11")
@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid")
@pytest.mark.parametrize("to", [np.float32, np.float64])
def test_bits_of_float16_are_numpys(to: Any) -> None:
    code = {to: "item__y() = item__x(); return 1;"}
    f = cwrapjit.function("f", signature="x() -> y()", Ccode_slice_eval=code, cast="same_kind")
    halves = np.arange(65536, dtype=np.uint16).view(np.float16)
    np.testing.assert_array_equal(bits(f(halves)), bits(halves.astype(to)))
    unsigned = f"u{np.dtype(to).itemsize}"
    any_bits = np.random.default_rng(5).integers(0, 2 ** (8 * np.dtype(to).itemsize), 100_000, unsigned)
    finite = np.sort(halves[np.isfinite(halves)]).astype(to)
    middle = (finite[1:] + finite[:-1]) / 2  # exact
    near = np.concatenate([middle, np.nextafter(middle, to(np.inf)), np.nextafter(middle, to(-np.inf))])
    for given in (halves.astype(to), any_bits.view(to), near, np.array([65519.99, 65520, 2.0**-25], to)):
        for order in "=S":
            out = np.zeros(given.shape, np.dtype("f2").newbyteorder(order))
            f(given, out=out)
            np.testing.assert_array_equal(bits(out.astype("=f2")), bits(given.astype("f2")))


@pytest.mark.quick
@pytest.mark.row("N23i", "K15")
@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 300, 3), (4, 0), (0, 3), (1, 1), (2, 3, 4, 5)])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "?"])
def test_slices_come_as_c_lays_them_out(shape: tuple[int, ...], dtype: str) -> None:
    f = cwrapjit.vectorize(SUM)
    x = some(dtype, int(np.prod(shape))).reshape(shape)
    wanted = f(np.ascontiguousarray(x, float))
    for given in (x, *layouts(x)):
        np.testing.assert_array_equal(f(given), wanted)
        out = np.full((*shape[:-1], 2), 7.0)[..., 0]
        assert f(given, out=out) is out
        np.testing.assert_array_equal(out, wanted)


def laid_out(x: np.ndarray, rng: np.random.Generator, order: str) -> np.ndarray:
    """Returns a copy of x with its axes in any order in memory, and with any steps along them."""
    axes, steps = rng.permutation(x.ndim), rng.choice([1, 1, 2, 3, -1], x.ndim)
    base = np.full([n * abs(s) for n, s in zip(x.shape, steps, strict=True)], 7, x.dtype.newbyteorder(order))
    base = base.transpose(axes).copy().transpose(np.argsort(axes))
    made = base[tuple(slice(None, None, s) for s in steps)]
    made[...] = x
    return made


@pytest.mark.row("N23i", "K15")
@pytest.mark.parametrize("to", [np.int16, np.float32, np.float64, np.complex128, np.longdouble, np.int8])
def test_any_layout_in_and_out(to: Any) -> None:
    code = """for (npy_intp i = 0; i < dims_slice__x[0]; i++)
        memcpy(&item__y(i, 0), &item__x(i, 0), dims_slice__x[1] * sizeof(ctype__x));
    return true;"""
    check = "return CHECK_CONTIGUOUS_AND_SETERROR_ALL();"
    f = cwrapjit.function(
        "f", signature="x(n,m) -> y(n,m)", Ccode_slice_eval={to: code}, Ccode_validate=check, cast="same_kind"
    )
    rng, lengths = np.random.default_rng(8), [1, 2, 3, 4, 5, 7, 8, 9, 16, 41]
    kinds = [t for t in "bhefdFDg" if np.can_cast(t, to, "same_kind") and np.can_cast(to, t, "same_kind")]
    if to is np.longdouble:
        kinds.remove("e")  # NumPy rounds to it once on arm64, and twice on x86-64
    for turn in range(80):
        shape = (*rng.choice([1, 3, 30], rng.integers(0, 3)), *rng.choice(lengths, 2))
        given = some(np.dtype(to), int(np.prod(shape))).reshape(shape)
        x = laid_out(given.astype(rng.choice(kinds)), rng, "=S"[turn % 2])
        out = laid_out(np.zeros(shape, rng.choice(kinds)), rng, "=S"[turn // 2 % 2])
        gaps = out.base.size - out.size
        with np.errstate(all="ignore"):
            wanted = x.astype(to)
            np.testing.assert_array_equal(f(x), wanted)
            assert f(x, out=out) is out
            np.testing.assert_array_equal(out, wanted.astype(out.dtype))
        out[...] = 0
        assert np.count_nonzero(out.base) == gaps  # nothing beside the output was changed


@pytest.mark.row("K15")
def test_slices_of_two_axes() -> None:
    f = cwrapjit.vectorize(EDGES)
    x = np.arange(2 * 3 * 4 * 5.0).reshape(2, 3, 4, 5)
    wanted = x[:, :, [0, -1]]
    for given in (*layouts(x), np.moveaxis(np.moveaxis(x, 2, 0).copy(), 0, 2), list(x.astype(int))):
        np.testing.assert_array_equal(f(given), wanted)
    out = np.zeros((2, 3, 2, 10), ">f8")[..., ::2]
    assert f(x, out=out) is out
    np.testing.assert_array_equal(out, wanted)
    one = np.broadcast_to(x[:, :, :, :1], x.shape)  # all strides of the last axis are 0
    np.testing.assert_array_equal(f(one), one[:, :, [0, -1]])


@pytest.mark.compiler("the cc tier's loops run on the same copies")
@pytest.mark.row("N23i")
@pytest.mark.parametrize("threads", [1, 2])
def test_in_both_tiers_and_on_threads(threads: int) -> None:
    f = cwrapjit.vectorize(SUM, threads=threads)
    x = np.random.default_rng(2).random((20_000, 60))[:, ::3]
    wanted = f(np.ascontiguousarray(x))
    for _ in range(3):
        np.testing.assert_array_equal(f(x), wanted)
        np.testing.assert_array_equal(f(x.astype("f4").astype(">f4")), f(x.astype("f4").astype(float)))
        assert f.wait()
    assert f.tier == "cc"


@pytest.mark.row("N23i", "K15")
@pytest.mark.parametrize("threads", [1, 2])
def test_slices_that_an_axis_shares_are_copied_anew_for_the_next(threads: int) -> None:
    f = cwrapjit.vectorize(DOT, threads=threads)
    x, p = np.random.default_rng(2).integers(-9, 9, (5, 1, 24)), np.arange(5 * 70.0).reshape(5, 70)
    wanted = x[:, :, ::2].sum(axis=2) * p
    for given in (x.astype("f8"), x.astype("f4"), x.astype("i2")):
        np.testing.assert_array_equal(f(given[:, :, ::2], p), wanted)


@pytest.mark.row("N23i", "K15")
def test_what_is_updated_is_written_back() -> None:
    f = cwrapjit.vectorize(SCALE)
    x = np.arange(24.0).reshape(4, 6)
    wanted = x * np.arange(6)
    for given in layouts(x):
        base = given if given.base is None else given.base
        before = base.copy()
        f(given)
        np.testing.assert_array_equal(given, wanted)
        given[...] = x
        np.testing.assert_array_equal(base, before)  # nothing beside the view was changed
    refuses(TypeError, lambda: f(x.astype("f4")), "'x' is float32", 'cast="same_kind"')
    g = cwrapjit.vectorize(SCALE, cast="same_kind")
    y = x.astype("f4")
    g(y[::-1, ::2])
    np.testing.assert_array_equal(y[:, ::2], x[:, ::2] * np.arange(3))
    np.testing.assert_array_equal(y[:, 1::2], x[:, 1::2])
    refuses(TypeError, lambda: g(x.astype(int)), "'x' is int64", "no type set fits")
    refuses(ValueError, lambda: f(np.broadcast_to(x[0], (4, 6))), "'x'", "writable")


@pytest.mark.row("N23i")
def test_what_slices_do_not_write_stays() -> None:
    f = cwrapjit.vectorize("void f(int n, const double x[n], OUT double y[n]) { y[0] = x[n - 1]; }")
    out = np.arange(12.0).astype(">f8").reshape(2, 6)[:, ::2]
    f(np.ones((2, 3), "f4"), out=out)
    assert out.tolist() == [[1, 2, 4], [1, 8, 10]]


@pytest.mark.row("N23i", "N42")
def test_an_exception_of_a_slice_comes_out() -> None:
    code = """if (item__x() > 5) { PyErr_SetString(PyExc_ArithmeticError, "too large"); return false; }
    item__y() = item__x();
    return true;"""
    f = wrap_signature("x() -> y()", code, cast="safe")
    x = np.arange(8, dtype="i2")
    refuses(ArithmeticError, lambda: f(x), "too large")
    out = np.full(16, 9.0, ">f8")
    refuses(ArithmeticError, lambda: f(x, out=out[::2]), "too large")
    assert out[::2].tolist() == [0, 1, 2, 3, 4, 5, 9, 9] and set(out[1::2]) == {9}


@pytest.mark.row("N23i", "B10")
def test_whole_arrays_are_copied_where_somebody_looks_at_them() -> None:
    code = "item__y() = strides_full__x[0] + dims_full__x[0]; return true;"
    f = wrap_signature("x(n) -> y()", code, cast="safe")
    assert f(ar(3)[::-1].astype("f4")).tolist() == 8 + 3
    header = "static double first;"
    validate = "first = *(const double *)data__x; return CHECK_CONTIGUOUS_AND_SETERROR_ALL();"
    g = wrap_signature(
        "x(n) -> y()", "item__y() = first; return true;", cast="safe", header=header, Ccode_validate=validate
    )
    for given in (np.arange(4, 8), np.arange(4, 8, 0.5)[::2]):
        assert g(given) == 4
    cookie: dict[str, Any] = {"Ccode_cookie_struct": "const double *kept;", "Ccode_cookie_cleanup": ""}
    keep = "if (!cookie->kept) cookie->kept = &item__x(0); item__y() = *cookie->kept; return true;"
    h = wrap_signature("x(n) -> y()", keep, cast="safe", **cookie)
    x = np.arange(40_000, dtype="i4").reshape(20_000, 2)
    assert set(h(x)) == {0}


@pytest.mark.row("N23i", "B10")
def test_overlap_is_kept_apart() -> None:
    f = cwrapjit.vectorize(SUM)
    x = np.arange(12.0).reshape(3, 4)
    wanted = f(x).tolist()
    assert f(x, out=x[:, 0]).tolist() == x[:, 0].tolist() == wanted
    whole = np.zeros(8)
    ints = whole.view("i4")[:8]
    ints[:] = np.arange(8)
    assert cwrapjit.vectorize("double f(double x) { return x + 1; }")(ints, out=whole).tolist() == [
        *range(1, 9)
    ]


def peak_of(call: Callable[[], Any]) -> int:
    """Returns the most bytes that Python and NumPy have in use during a call."""
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


@pytest.mark.row("N23i", "S01")
@pytest.mark.parametrize("threads", [1, 2])
def test_a_call_needs_no_more_memory_than_a_few_slices(threads: int) -> None:
    f = cwrapjit.vectorize(SUM, cast="same_kind", threads=threads)
    g = cwrapjit.vectorize("double f(double x) { return 2 * x; }", cast="same_kind", threads=threads)
    x = np.ones((5_000, 200))
    out, lines, other = np.empty(len(x)), np.empty((len(x), 400)), np.ones(x.shape)
    swapped, halves = x.astype(">f8"), x.astype("f2")
    odd = unaligned(x)
    inputs = [x.astype("f4"), swapped, halves, odd, x[:, ::-1], np.asfortranarray(x), lines[:, ::2]]
    calls = [lambda x=x: f(x, out=out) for x in inputs]
    for given in inputs:
        calls += [lambda y=given: g(y, out=other), lambda y=given: g(other, out=y)]
    for call in calls:
        call()
        assert peak_of(call) < 100_000


@pytest.mark.row("N23i", "S01")
@pytest.mark.parametrize("n", [300, 10_000, 20_000])
def test_interleaved_slices_are_gathered_together_in_limited_memory(n: int) -> None:
    f = cwrapjit.vectorize(SUM)
    x = np.asfortranarray(np.random.default_rng(4).random((9, n)))
    out = np.empty(len(x))
    f(x, out=out)
    assert peak_of(lambda: f(x, out=out)) < max(8 * n, 1 << 20) + 100_000
    np.testing.assert_array_equal(out, f(np.ascontiguousarray(x)))


@pytest.mark.row("N23i", "G01")
def test_debug_sees_the_copies() -> None:
    f = cwrapjit.vectorize(SUM, debug=True)
    x = np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(f(np.repeat(x, 2, axis=1)[:, ::2]), f(x))
    beyond = cwrapjit.vectorize("double f(int n, const double x[n]) { return x[n]; }", debug=True)
    with pytest.raises(cwrapjit.Fault):
        beyond(x[:, ::2])


@pytest.mark.row("N25i")
def test_cast_is_as_it_is_asked_for() -> None:
    strict = cwrapjit.vectorize(SUM, cast="no")
    x = np.arange(6.0)
    refuses(ValueError, lambda: strict(x[::2]), "'x' must be contiguous")
    refuses(TypeError, lambda: strict(x.astype("f4")), 'cast="safe" converts it')
    f = cwrapjit.vectorize("float f(float x) { return x; }", cast="same_kind")
    assert f(x).dtype == "f4" and f(1e300 * x[1:]).tolist() == [np.inf] * 5
    refuses(TypeError, lambda: f(x + 0j), "no type set fits")


@pytest.mark.row("N25i")
def test_copies_are_counted_and_warned_of() -> None:
    f = cwrapjit.vectorize(SUM, copies="warn")
    x = np.arange(12.0).reshape(3, 4)
    assert f(x).tolist() == f(x[::-1])[::-1].tolist()  # a contiguous slice is used in place
    half = np.zeros(4, "f2")
    for given, why in (
        (x[:, ::2], "its slices are not contiguous"),
        (x.astype(">f8"), "it is >f8, in the other byte order"),
        (unaligned(x), "it is not aligned"),
        (half, "it is float16, and C has float64"),
    ):
        cure = "np.array(x, 'float64', order='C') before the calls copies it once"
        words = f"sum(): argument 'x' is copied in this call: {why}; {cure}"
        with pytest.warns(UserWarning, match=re.escape(words)):
            f(given)
    why = "it is complex128, and C has float64; an aligned array"
    with pytest.warns(UserWarning, match=f"output 'output' is copied in this call: {why}"):
        f(x, out=np.empty(3, complex))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        refuses(UserWarning, lambda: f(x[:, ::2]), "'x' is copied")
        assert cwrapjit.vectorize(SUM)(x[:, ::2]).shape == (3,)


@pytest.mark.compiler("explain() asks it")
@pytest.mark.row("K20")
def test_explain_says_how_many_calls_copied() -> None:
    f = cwrapjit.vectorize("double f(double x, double y) { return x + y; }")
    x = np.arange(4.0)
    assert f.explain().copies == {}
    for _ in range(3):
        f(x.astype("f4"), x)
    f(x, x, out=np.empty(4, complex))
    explained = f.explain()
    assert explained.copies == {"x": 3, "output": 1}
    assert "'x' was copied in 3 calls" in str(explained)
    kernel = cwrapjit.ElementwiseKernel("double x, double y", "double z", "z = x + y")
    kernel(x.astype("f4"), x)
    kernel(x, x)
    assert kernel.functions[0].explain().copies == {"x": 1}
    total = cwrapjit.ReductionKernel("double x", "double y", "x", "a + b", "y = a", "0")
    for size in 4, 40_000:  # in one level, and in two
        swapped = np.ones(size, ">f8")
        for _ in range(3):
            assert total(swapped) == total(swapped.astype("f8")) == total(np.ones(size, "f4")) == size
        assert total(swapped, out=np.zeros((), complex)) == size
    found = [each.explain().copies for each in total.functions]
    assert [each for each in found if each] == [{"x": 4, "y": 1}, {"x": 4}, {"y": 1}]
