"""Outputs that must not be: read-only, unaligned, of stride zero, in the memory of another operand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers import INNER, ar, refuses, same, wrap
from numpy.lib.stride_tricks import as_strided

import cwrapjit

TWICE = "item__output() = 2 * item__a(); return true;"
MATMUL = """
    for (int i = 0; i < dims_slice__a[0]; i++)
        for (int j = 0; j < dims_slice__a[0]; j++) {
            item__output(i, j) = 0;
            for (int k = 0; k < dims_slice__a[0]; k++)
                item__output(i, j) += item__a(i, k) * item__b(k, j);
        }
    return true;
"""


def twice(**kw: Any) -> Any:
    return wrap(((),), (), TWICE, **kw)


def cumulate(**kw: Any) -> Any:
    body = """
        double sum = 0;
        for (int i = 0; i < dims_slice__a[0]; i++)
            item__output(i) = sum += item__a(i);
        return true;
    """
    return wrap((("n",),), ("n",), body, **kw)


def unaligned(n: int, dtype: Any = np.float64) -> Any:
    return np.zeros(n * np.dtype(dtype).itemsize + 1, np.uint8)[1:].view(dtype)


# ---- B03, B04, B05 --------------------------------------------------------------------------------


@pytest.mark.row("B03")
def test_a_read_only_out_is_refused() -> None:
    out = np.zeros(3)
    out.flags.writeable = False
    refuses(ValueError, lambda: twice()(ar(3), out=out), "t.f", "output", "read-only")
    assert out.tolist() == [0, 0, 0]
    two = wrap(((),), ((), ()), "return true;")
    refuses(ValueError, lambda: two(ar(3), out=(np.zeros(3), out)), "t.f", "output1", "read-only")
    frozen = np.frombuffer(bytes(24), np.float64)
    refuses(ValueError, lambda: twice()(ar(3), out=frozen), "read-only")


@pytest.mark.row("B03")
def test_read_only_inputs_are_fine() -> None:
    x = ar(3)
    x.flags.writeable = False
    assert twice()(x).tolist() == [0, 2, 4]
    assert twice()(np.frombuffer(bytes(16), np.float64)).tolist() == [0, 0]


@pytest.mark.row("B04")
def test_unaligned_arrays_are_refused() -> None:
    x = unaligned(3)
    assert not x.flags.aligned
    refuses(ValueError, lambda: twice()(x), "t.f", "'a'", "align")
    refuses(ValueError, lambda: twice()(ar(3), out=unaligned(3)), "t.f", "output", "align")
    packed = np.zeros(3, np.dtype([("c", "i1"), ("x", "f8")]))["x"]
    refuses(ValueError, lambda: twice()(packed), "t.f", "'a'", "align")
    assert twice()(x.copy()).tolist() == [0, 0, 0]


@pytest.mark.row("B04")
def test_unaligned_strides_are_refused_too() -> None:
    x = as_strided(np.zeros(10), (3,), (12,))
    assert not x.flags.aligned
    refuses(ValueError, lambda: wrap((("n",), ("n",)), (), INNER)(ar(3), x), "t.f", "'b'", "align")


@pytest.mark.row("B04")
def test_bytes_have_no_alignment() -> None:
    f = wrap(((),), (), {np.uint8: TWICE})
    assert f(np.arange(8, dtype=np.uint8)[1:]).tolist() == list(range(2, 16, 2))


@pytest.mark.row("B05")
def test_an_out_of_stride_zero_is_refused() -> None:
    store = np.zeros(1)
    refuses(ValueError, lambda: twice()(ar(3), out=as_strided(store, (3,), (0,))), "t.f", "output")
    refuses(ValueError, lambda: cumulate()(ar(3), out=as_strided(store, (3,), (0,))), "t.f", "output")
    wide = as_strided(np.zeros(3), (4, 3), (0, 8))
    refuses(ValueError, lambda: twice()(ar(4, 3), out=wide), "t.f", "output")
    assert store[0] == 0


@pytest.mark.row("B05")
def test_stride_zero_is_fine_where_it_is_never_taken() -> None:
    one = as_strided(np.zeros(1), (1,), (0,))
    assert twice()(ar(1) + 4, out=one) is one and one[0] == 8
    assert twice()(ar(1, 3), out=as_strided(np.zeros(3), (1, 3), (0, 8))).tolist() == [[0, 2, 4]]
    assert twice()(ar(0, 3), out=as_strided(np.zeros(3), (0, 3), (0, 8))).shape == (0, 3)
    assert twice()(np.broadcast_to(3.0, 4)).tolist() == [6, 6, 6, 6], "and for inputs always"


# ---- B10 ------------------------------------------------------------------------------------------


@pytest.mark.row("B10")
def test_a_reversed_view_is_refused_naming_both() -> None:
    x = ar(4)
    refuses(ValueError, lambda: twice()(x, out=x[::-1]), "t.f", "'a'", "output", "memory")
    refuses(ValueError, lambda: twice()(x[1:], out=x[:-1]), "t.f", "'a'", "output", "memory")
    assert x.tolist() == [0, 1, 2, 3]


@pytest.mark.quick
@pytest.mark.row("B10")
def test_matmul_into_its_input_is_refused() -> None:
    f = wrap((("n", "n"), ("n", "n")), ("n", "n"), MATMUL, names=("a", "b"))
    a, b = ar(3, 3), ar(3, 3) + 1
    wanted = a @ b
    refuses(ValueError, lambda: f(a, b, out=a), "t.f", "'a'", "'output'")
    refuses(ValueError, lambda: f(a, b, out=b), "t.f", "'b'", "'output'")
    refuses(ValueError, lambda: f(a, b, out=b.T), "t.f", "'b'", "'output'")
    out = np.zeros((3, 3))
    assert same(f(a, b, out=out), wanted)
    assert same(f(a, a), a @ a), "inputs may be the same array"


@pytest.mark.quick
@pytest.mark.row("B10")
def test_the_very_same_view_is_allowed_without_core_dims() -> None:
    for x in (ar(4), ar(3, 4), ar(3, 4).T, ar(8)[::2], ar(4)[::-1], ar()):
        wanted = 2 * x
        assert twice()(x, out=x) is x and same(x, wanted)
    x = ar(6)
    twice()(x[::2], out=x[::2])
    assert x.tolist() == [0, 1, 4, 3, 8, 5], "another view of the same elements"


@pytest.mark.row("B10")
def test_the_very_same_view_with_core_dims_needs_inplace() -> None:
    x = ar(2, 4)
    refuses(ValueError, lambda: cumulate()(x, out=x), "t.f", "'a'", "'output'", "inplace")
    wanted = np.cumsum(x, -1)
    assert cumulate(inplace=True)(x, out=x) is x and same(x, wanted)
    refuses(ValueError, lambda: cumulate(inplace=True)(x, out=x[:, ::-1]), "t.f", "'a'", "'output'")
    refuses(ValueError, lambda: cumulate(inplace=True)(x[0], out=x), "t.f")


@pytest.mark.row("B10")
def test_a_broadcast_input_inside_out_is_refused() -> None:
    x = ar(3, 4)
    refuses(ValueError, lambda: twice()(x[1], out=x), "t.f", "'a'", "'output'")
    assert same(x, ar(3, 4))


@pytest.mark.quick
@pytest.mark.row("B10")
def test_two_outs_must_not_share() -> None:
    f = wrap(((),), ((), ()), "item__output0() = item__a(); item__output1() = -item__a(); return true;")
    o = np.zeros(8)
    refuses(ValueError, lambda: f(ar(4), out=(o[:4], o[:4])), "t.f", "output0", "output1")
    refuses(ValueError, lambda: f(ar(4), out=(o[:4], o[3:7])), "t.f", "output0", "output1")
    f(ar(4), out=(o[::2], o[1::2]))
    assert o.tolist() == [0, -0.0, 1, -1, 2, -2, 3, -3]


@pytest.mark.row("B10")
def test_interleaved_views_share_nothing() -> None:
    x = ar(4, 2)
    f = twice()
    out = x[:, 1]
    assert f(x[:, 0], out=out) is out and same(x, np.array([[0, 0], [2, 4], [4, 8], [6, 12.0]]))
    c = np.arange(4) + 1j
    f(c.real, out=c.imag)
    assert c.tolist() == [0, 1 + 2j, 2 + 4j, 3 + 6j]


@pytest.mark.row("B10")
def test_other_dtypes_of_the_same_memory_are_seen() -> None:
    f = wrap(((),), (), {(np.int32, np.float64): TWICE})
    x = np.zeros(4)
    refuses(ValueError, lambda: f(x.view(np.int32)[:4], out=x), "t.f", "'a'", "'output'")
    f(x[2:].view(np.int32), out=np.zeros(4))
    assert f(x[2:].view(np.int32)[:2], out=x[:2]).tolist() == [0, 0]


@pytest.mark.row("B10", "K09")
def test_inouts_count_as_outputs() -> None:
    m = cwrapjit.module("t")
    f = m.function(
        "f",
        signature="inout a(n), b(n) -> output()",
        Ccode_slice_eval={float: "item__output() = item__a(0) += item__b(0); return true;"},
    )
    x = ar(4)
    refuses(ValueError, lambda: f(x, x), "t.f", "'a'", "'b'")
    refuses(ValueError, lambda: f(x[:3], x[1:]), "t.f", "'a'", "'b'")
    refuses(ValueError, lambda: f(x, ar(4), out=x[:1].reshape(())), "t.f", "'a'", "'output'")
    assert f(x[:2], x[2:]) == 2 and x.tolist() == [2, 1, 2, 3]


@pytest.mark.row("B10")
def test_arrays_without_elements_never_overlap() -> None:
    x = ar(3, 3)
    assert twice()(x[:0], out=x[3:]).shape == (0, 3)
    assert cumulate()(x[:, :0], out=x[:, :0]).shape == (3, 0)


# ---- against NumPy's exact answer -----------------------------------------------------------------

hypothesis = pytest.importorskip("hypothesis")
from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

ROOM = 60


@st.composite
def pairs(draw: Any) -> tuple[Any, Any]:
    """Two views of one shape in one buffer, each without internal overlap."""
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    buffer = np.arange(ROOM, dtype=np.float64)
    return tuple(_view(draw, buffer, shape) for _ in "ab")  # type: ignore[return-value]


def _view(draw: Any, buffer: Any, shape: tuple[int, ...]) -> Any:
    """Dims get strides from the smallest on, each stepping over the ones before it."""
    strides, reach = [0] * len(shape), 1
    for axis in draw(st.permutations(range(len(shape)))):
        step = reach * draw(st.integers(1, 2))
        if reach + step * (shape[axis] - 1) > ROOM:
            step = 1
        strides[axis] = step
        reach += step * (shape[axis] - 1)
    reach = min(reach, ROOM)
    start = draw(st.integers(0, ROOM - reach))
    view = as_strided(buffer[start:], shape, [8 * s for s in strides])
    flips = tuple(slice(None, None, draw(st.sampled_from([1, -1]))) for _ in shape)
    return view[flips]


def overlaps_itself(view: Any) -> bool:
    grids = np.indices(view.shape).reshape(view.ndim, -1)
    places = np.array(view.strides) @ grids
    return len(set(places.tolist())) < places.size


@pytest.mark.row("B10", "B05")
@given(pairs())
def test_refused_exactly_when_memory_is_shared(pair: tuple[Any, Any]) -> None:
    a, out = pair
    hypothesis.assume(not overlaps_itself(a) and not overlaps_itself(out))
    same_view = a.ctypes.data == out.ctypes.data and all(
        s == t for s, t, n in zip(a.strides, out.strides, a.shape, strict=True) if n > 1
    )
    wanted = 2 * a
    kept = out.copy()
    if np.shares_memory(a, out) and not same_view:
        refuses(ValueError, lambda: TWICE_FUNCTION(a, out=out), "t.f", "'a'", "'output'")
        assert same(out, kept)
    else:
        assert TWICE_FUNCTION(a, out=out) is out and same(out, wanted)


@pytest.mark.row("B10")
@given(pairs())
def test_refused_exactly_when_outs_share(pair: tuple[Any, Any]) -> None:
    one, two = pair
    hypothesis.assume(not overlaps_itself(one) and not overlaps_itself(two))
    if np.shares_memory(one, two):
        refuses(ValueError, lambda: BOTH_FUNCTION(1.0, out=(one, two)), "output0", "output1")
    else:
        BOTH_FUNCTION(1.0, out=(one, two))
        assert (one == 1).all() and (two == -1).all()


TWICE_FUNCTION = twice()
BOTH_FUNCTION = wrap(
    ((),), ((), ()), "item__output0() = item__a(); item__output1() = -item__a(); return true;"
)
