"""Tests calls that NumPy's ufuncs take: positional outputs, overlapping outputs, integer scalars, where=."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from helpers import refuses, wrap_signature
from hypothesis import given
from hypothesis import strategies as st

import cwrapjit

ADD = cwrapjit.vectorize("double add(double x, double y) { return x + y; }")
TWO = cwrapjit.vectorize(
    "void two(double x, OUT double *half, OUT double *twice) { *half = x / 2; *twice = 2 * x; }"
)
MATMUL = """
    for (int i = 0; i < dims_slice__a[0]; i++)
        for (int j = 0; j < dims_slice__b[1]; j++) {
            item__output(i, j) = 0;
            for (int k = 0; k < dims_slice__b[0]; k++)
                item__output(i, j) += item__a(i, k) * item__b(k, j);
        }
    return true;
"""
SUMS = """
    void sums(int n, const double x[n], OUT double y[n])
    {
        double s = 0;
        for(int i = 0; i < n; i++)
            y[i] = s += x[i];
    }
"""


def times(k: str = "int", **options: Any) -> Any:
    return cwrapjit.vectorize(f"double times(double x, {k} k) {{ return x * k; }}", **options)


# ---- positional outputs ----------------------------------------------------------------------------


@pytest.mark.quick
@pytest.mark.row("S02")
def test_outputs_may_follow_the_inputs() -> None:
    x, out = np.arange(3.0), np.zeros(3)
    for f, wanted in ((ADD, np.add(x, x)), (ADD.ufunc, np.add(x, x))):
        for call in (lambda f=f: f(x, x, out), lambda f=f: f(x, x, out=(out,))):
            out[:] = 0
            assert call() is out and out.tolist() == wanted.tolist()
        for call in (lambda f=f: f(x, x, None), lambda f=f: f(x, x, out=(None,))):
            made = call()
            assert made is not out and made.tolist() == wanted.tolist()
    sums = cwrapjit.vectorize(SUMS)
    assert sums(x, out) is out and out.tolist() == np.cumsum(x).tolist()
    assert ADD([1, 2, 3], 1.0, out) is out and out.tolist() == [2, 3, 4]
    assert ADD(y=x, x=x, out=(out,)) is out and out.tolist() == [0, 2, 4]
    refuses(TypeError, lambda: ADD(x, x, out, out), "takes 3 positional arguments but 4 were given")
    refuses(TypeError, lambda: ADD(x, x, out, out=out), "multiple values for argument 'out'")
    refuses(TypeError, lambda: ADD(x, x, [0.0] * 3), "output", "got list")
    refuses(ValueError, lambda: ADD(x, x, np.zeros(2)), "output", "must be 3")
    refuses(ValueError, lambda: ADD(x, x, out=(out, out)), "wanted 1 array", "got 2")


@pytest.mark.quick
@pytest.mark.row("S02")
def test_some_of_several_outputs() -> None:
    """NumPy returns a tuple of the outputs that it was given, and of new ones."""
    x = np.array([1.0, 4.0])
    for f in (TWO, TWO.ufunc):
        for dtype in (float, ">f8"):  # converted outputs, too
            a, b = np.zeros(2, dtype), np.zeros(2, dtype)
            calls: list[tuple[tuple[Any, ...], list[bool]]] = [
                ((a, b), [True, True]),
                ((a,), [True, False]),
                ((a, None), [True, False]),
                ((None, b), [False, True]),
                ((None,), [False, False]),
                ((None, None), [False, False]),
            ]
            for outputs, are_given in calls:
                every = (*outputs, None)[:2]
                for args, words in (((x, *outputs), {}), ((x,), {"out": every})):
                    made = f(*args, **words)
                    assert type(made) is tuple and [made[0] is a, made[1] is b] == are_given
                    assert [each.tolist() for each in made] == [[0.5, 2], [2, 8]]
                    a[:] = b[:] = 0
    outs = (a, b)
    assert TWO(x, out=outs) is outs
    both = [np.zeros(2), None]
    assert TWO(x, out=both)[0] is both[0] and both[1] is None
    refuses(TypeError, lambda: TWO(x, a, b, a), "takes 3 positional arguments but 4 were given")
    refuses(TypeError, lambda: TWO(x, out=a), "tuple or list of 2 arrays", "ndarray")
    refuses(TypeError, lambda: TWO(x, None, 3.0), "'twice'", "float")


@pytest.mark.row("S02")
def test_positional_outputs_of_a_text_with_any_type() -> None:
    f = cwrapjit.vectorize("T f(T x, T y) { return x + y; }")
    for dtype in ("f4", "i8"):
        out = np.zeros(2, dtype)
        assert f(np.ones(2, dtype), out + 1, out) is out and out.tolist() == [2, 2]
        assert f(np.ones(2, dtype), 1, None).tolist() == [2, 2]
    assert f([1, 2], [3, 4], out=(out,)) is out and out.tolist() == [4, 6]
    lib = cwrapjit.library("lib", source="double half(double x) { return x / 2; }")
    assert lib.half(3.0, out := np.zeros(1)) is out and out[0] == 1.5


def test_positional_outputs_and_extra_arguments() -> None:
    extra = [("double", "k", "2", "d")]
    f = wrap_signature("x() -> y()", "item__y() = item__x() * *k; return true;", extra_args=extra)
    x, out = np.arange(3.0), np.zeros(3)
    assert f(x, out, k=3.0) is out and out.tolist() == [0, 3, 6]
    refuses(TypeError, lambda: f(x, out, 3.0), "takes 2 positional", "3 were given (keyword-only: k)")
    none = wrap_signature("inout x() ->", "item__x() += 1; return true;")
    refuses(TypeError, lambda: none(x, x), "takes 1 positional argument but 2 were given")
    refuses(TypeError, lambda: none(x, out=x), "has no outputs")


# ---- overlap ---------------------------------------------------------------------------------------


@st.composite
def windows_of(draw: st.DrawFn, ndim: int, length: int) -> tuple[int, ...]:
    """A start and strides, in elements, of an array of so many axes of this length in 40 elements."""
    steps = [draw(st.sampled_from([-2, -1, 1, 2, 3] if k else [4, 7, -5])) for k in range(ndim)]
    low = sum(min(0, s) * (length - 1) for s in steps)
    high = sum(max(0, s) * (length - 1) for s in steps)
    return draw(st.integers(-low, 39 - high)), *steps


def view(base: Any, place: tuple[int, ...], length: int) -> Any:
    start, *strides = place
    return np.lib.stride_tricks.as_strided(base[start:], (length,) * len(strides), [8 * s for s in strides])


def apart(place: tuple[int, ...], length: int) -> bool:
    """Whether an output's elements are apart."""
    index = view(np.arange(40), place, length)
    return len(np.unique(index)) == index.size


@pytest.mark.row("S02", "B10")
@given(st.data())
def test_outputs_that_overlap_inputs_are_computed_as_numpy_does(data: st.DataObject) -> None:
    matmul = wrap_signature("a(n, k), b(k, m) -> output(n, m)", MATMUL, cast="safe")
    for f, numpy in ((ADD, np.add), (matmul, np.matmul)):
        places = [data.draw(windows_of(2, 3)) for _ in range(3)]
        if not apart(places[2], 3):
            continue
        for dtype in (float, np.int64):  # inputs that are converted, too
            got, wanted = np.arange(40.0), np.arange(40.0)
            if dtype is np.int64:
                got.view(dtype)[:] = wanted.view(dtype)[:] = range(40)
            results = [
                run(*(view(base.view(dtype), place, 3) for place in places[:2]), out=view(base, places[2], 3))
                for run, base in ((f, got), (numpy, wanted))
            ]
            assert np.array_equal(results[0], results[1]) and np.array_equal(got, wanted, equal_nan=True)


@pytest.mark.quick
@pytest.mark.row("S02", "B10")
def test_inputs_that_share_memory_with_an_output_are_copied() -> None:
    x = np.arange(5.0)
    assert ADD(x[1:], x[:-1], x[1:]).tolist() == [1, 3, 5, 7] and x.tolist() == [0, 1, 3, 5, 7]
    sums = cwrapjit.vectorize(SUMS, copies="warn")
    for out in (np.s_[:], np.s_[::-1]):
        x = np.arange(12.0).reshape(3, 4)
        wanted = np.cumsum(x, 1)
        with pytest.warns(UserWarning, match="'x' is copied in this call: it shares memory with an output"):
            assert np.array_equal(sums(x, x[out]), wanted)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = np.arange(6.0)
        sums(x[::2].copy(), x[:3])
        ADD(x[::2], 1.0, x[1::2])
        ADD(x, 1.0, x)


@pytest.mark.row("S03")
@pytest.mark.compiler("explain() asks it")
def test_copies_for_shared_memory_are_counted() -> None:
    sums, x = cwrapjit.vectorize(SUMS), np.arange(12.0).reshape(3, 4)
    sums(x, x)
    sums(x.copy(), x)
    assert sums.explain().copies == {"x": 1}


@pytest.mark.row("S02", "B10")
def test_stretched_inputs_and_windows_that_share_memory_with_an_output() -> None:
    sums = cwrapjit.vectorize(SUMS)
    x = np.arange(6.0).reshape(2, 3)
    wanted = np.cumsum(np.broadcast_to(x[0], (2, 3)), 1)
    assert np.array_equal(sums(np.broadcast_to(x[0], (2, 3)), x), wanted), "its copy has contiguous slices"
    code = "item__y() = item__x(0) + item__x(1) + item__x(2); return true;"
    moving = wrap_signature("x(3) -> y()", code, windows={"x": (3,)}, border="nearest", cast="safe")
    x = np.arange(8.0)
    assert moving(x.copy()).tolist() == moving(x, x).tolist() == x.tolist()


@pytest.mark.row("S02", "B10")
def test_overlap_that_is_refused() -> None:
    x = np.arange(4.0)
    for outs in ((x, x), (x[1:], x[:-1])):
        shared = "'half' shares memory with output 'twice'"
        refuses(ValueError, lambda outs=outs: TWO(np.ones(len(outs[0])), *outs), shared)
    update = cwrapjit.vectorize("double update(INOUT double *x, double y) { return *x += y; }")
    refuses(ValueError, lambda: update(x[1:], x[:-1]), "'x' shares memory with argument 'y'; wanted separate")
    refuses(ValueError, lambda: update(x, 1.0, x), "'x' shares memory with output")
    strict = cwrapjit.vectorize("double add(double x, double y) { return x + y; }", cast="no")
    refuses(ValueError, lambda: strict(x[1:], 1.0, x[:-1]), "'x'; wanted separate", 'cast="safe" copies the')
    assert x.tolist() == [0, 1, 2, 3]


# ---- integers --------------------------------------------------------------------------------------


@pytest.mark.quick
@pytest.mark.row("S01")
def test_integers_of_numpy_count_by_value() -> None:
    x = np.arange(3.0)
    for k, fits in (("int", 2**31 - 1), ("npy_uint8", 200), ("float", 2**24), ("npy_int16", -300)):
        f = times(k)
        for number in (np.int64(fits), np.array(fits), np.array(fits, ">i8")):
            assert f(x, number).tolist() == (x * fits).tolist()
            assert f(3.0, number) == 3 * fits
        refuses(TypeError, lambda f=f: f(x, np.array([1])), "'k' is int64")
        refuses(TypeError, lambda f=f: f(1j * x, np.int64(1)), "'k' is the integer 1")
    refuses(OverflowError, lambda: times()(x, np.int64(2**31)), "'k': 2147483648 is out of range of int32")
    refuses(OverflowError, lambda: times("float")(x, np.int64(2**24 + 1)), "16777217 is not exact in float32")
    refuses(TypeError, lambda: times()(x, np.timedelta64(1, "s")), "'k' is timedelta64")
    refuses(TypeError, lambda: times()(x, np.float64(1)), "'k' is float64")
    refuses(TypeError, lambda: times(cast="no")(x, np.int64(1)), "'k' is int64")
    both = cwrapjit.vectorize("T twice(T x) { return 2 * x; }", T=("i4", "i8"))
    for own in (np.int32, np.int64):
        assert type(both(own(1))) is own, "their own type comes first"


# ---- keywords of ufuncs ----------------------------------------------------------------------------


@pytest.mark.quick
@pytest.mark.row("S01")
def test_keywords_of_ufuncs() -> None:
    x, mask = np.arange(4.0), np.arange(4) % 2 == 0
    wanted = np.add(x, 1.0, where=mask, out=np.full(4, 9.0)).tolist()
    out = np.full(4, 9.0)
    assert ADD(x, 1.0, where=mask, out=out) is out and out.tolist() == wanted
    out[:] = 9
    assert ADD(x, y=1.0, out=out, where=mask).tolist() == ADD(x, 1.0, out, where=mask).tolist() == wanted
    f = cwrapjit.vectorize("T f(T x, T y) { return x + y; }", T=("f4", "f8"))
    assert f(x, x, dtype="f8", order="F").dtype == f.ufunc(x, x, dtype="f8").dtype == "f8"
    any_type = cwrapjit.vectorize("T f(T x, T y) { return x + y; }")
    assert any_type(x, 1.0, where=mask, out=np.full(4, 9.0)).tolist() == wanted
    refuses(TypeError, lambda: ADD(x, 1.0, where=mask, z=1), "'z'")
    refuses(TypeError, lambda: ADD(x, where=mask), "add()", "where")
    refuses(TypeError, lambda: ADD(x, 1.0, axis=0), "axis")
    named = cwrapjit.vectorize("double f(double where, double x) { return where - x; }")
    assert named(x=1.0, where=x).tolist() == (x - 1).tolist(), "an argument of that name"


@pytest.mark.row("S01")
def test_keywords_of_ufuncs_where_there_is_none() -> None:
    x = np.ones((2, 3))
    sums = cwrapjit.vectorize(SUMS)
    inner = wrap_signature("a(n, k), b(k, m) -> output(n, m)", MATMUL, cast="safe")
    refuses(TypeError, lambda: sums(x, axis=0), "sums()", "'axis'; instead", "np.moveaxis()")
    refuses(TypeError, lambda: sums(x, where=x > 0), "'where'; instead", "np.where()")
    refuses(TypeError, lambda: inner(x, x, axes=0), "'axes'; instead", "f.ufunc, which takes it")
    update = cwrapjit.vectorize("void update(INOUT double *x) { *x += 1; }")
    refuses(TypeError, lambda: update(x, where=x > 0), "update(): where= is for f.ufunc", "no .ufunc")
    strict = wrap_signature("x() -> y()", "item__y() = item__x(); return true;")
    refuses(TypeError, lambda: strict(x, where=x > 0), "t.f()", "keyword argument 'where'; .ufunc")
    refuses(TypeError, lambda: strict(x, when=x > 0), "t.f(): got an unexpected keyword argument 'when'")


# ---- messages about structs ------------------------------------------------------------------------


@pytest.mark.row("N23")
def test_messages_name_the_first_member_that_differs() -> None:
    text = "typedef struct { double x; int n; } point; double f(point p, double k) { return p.x + p.n + k; }"
    f = cwrapjit.vectorize(text)
    fits, same = "wanted (struct ('x', 'n'), float64 -> float64)", "struct ('x', 'n')"
    for dtype, is_, fault in (
        ("f8,f8", "struct ('f0', 'f1')", "; 'p' has no member 'x'"),
        ([("x", "f8"), ("n", "f8")], same, "; 'p' has 'n' as float64 at byte 8, not int32 at byte 8"),
        ([("x", "S2"), ("n", "f8")], same, "; 'p' has 'x' as |S2 at byte 0, not float64 at byte 0"),
        ([("x", "f8"), ("n", "i4"), ("m", "i4")], "struct ('x', 'n', 'm')", fits),
        ([("x", "f8"), ("n", "i4"), ("m", "i8")], "struct", "; 'p' has items of 20 bytes, not 16"),
        ("f8", "float64", fits),
    ):
        error = refuses(TypeError, lambda dtype=dtype: f(np.zeros(2, dtype), 1), f"'p' is {is_}", fits)
        assert str(error).endswith(fault)
    right = np.zeros(2, [("x", "f8"), ("n", "i4")])
    refuses(TypeError, lambda: f(right, 1j), f"'p' is {same}, 'k' is a Python complex; {fits}")
