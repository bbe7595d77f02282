"""How new outputs lie in memory: as a ufunc's where slices may run in any order, in C order elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers import same, wrap
from hypothesis import given, settings
from hypothesis import strategies as st

ADD = "item__output() = item__a() + item__b(); return true;"
TYPES = {np.float64: ADD, (np.int8, np.float64, np.float32): ADD}

add_unordered = wrap(((), ()), (), TYPES, unordered=True)
add_in_order = wrap(((), ()), (), TYPES, Ccode_cookie_struct="int slices_may_write_here;")


@st.composite
def views(draw: Any, shape: tuple[int, ...], dtype: Any = np.float64) -> Any:
    """An array that broadcasts to shape, cut out of another: permuted, with steps, flipped, stretched."""
    order = draw(st.permutations(range(len(shape))))
    steps = [draw(st.sampled_from([1, 1, 1, 2, -1, -2])) for _ in shape]
    base = np.zeros([shape[axis] * abs(steps[axis]) for axis in order], dtype)
    whole = base.transpose(np.argsort(order).astype(int))
    view = whole[(..., *(slice(None, None, step) for step in steps))]
    view[...] = np.arange(view.size).reshape(view.shape) % 100
    missing = draw(st.integers(0, len(shape)))
    if 0 not in shape[:missing]:
        view = view[(0,) * missing + (...,)]
    short = [draw(st.sampled_from([False, False, True])) for _ in view.shape]
    return view[(..., *(slice(0, 1) if one else slice(None) for one in short))]


def geometry(array: Any) -> list[tuple[int, int]]:
    """Lengths and strides of the axes that have more than one element."""
    return [(n, stride) for n, stride in zip(array.shape, array.strides, strict=True) if n > 1]


@st.composite
def operands(draw: Any) -> tuple[Any, Any]:
    shape = tuple(draw(st.lists(st.integers(0, 4), max_size=4)))
    return draw(views(shape)), draw(views(shape))


@pytest.mark.row("N19i")
@settings(max_examples=300, deadline=None)
@given(operands())
def test_an_unordered_result_lies_as_that_of_a_ufunc(pair: tuple[Any, Any]) -> None:
    got, want = add_unordered(*pair), np.add(*pair)
    assert same(got, want)
    if want.size > 1:
        assert geometry(got) == geometry(want)
        assert got.flags.c_contiguous == want.flags.c_contiguous


@pytest.mark.row("N19i")
@settings(max_examples=100, deadline=None)
@given(operands())
def test_an_ordered_result_lies_in_c_order(pair: tuple[Any, Any]) -> None:
    got, want = add_in_order(*pair), np.add(*pair)
    assert same(got, want)
    assert np.asarray(got).flags.c_contiguous


@pytest.mark.quick
@pytest.mark.row("N19i")
def test_mixed_types_lie_by_the_strides_of_each() -> None:
    x, y = np.zeros((3, 4, 5), np.int8).transpose(2, 0, 1), np.zeros((3, 4, 5)).transpose(2, 0, 1)
    got = add_unordered(x, y)
    assert got.dtype == np.float32
    assert geometry(got) == geometry(np.add(x, y, dtype=np.float64).astype(np.float32, order="K"))


@pytest.mark.row("N19i")
def test_numbers_leave_the_layout_to_the_array() -> None:
    x = np.ones((3, 4)).T
    assert add_unordered(x, 2.0).flags.f_contiguous
    assert add_unordered(np.float64(2), x).flags.f_contiguous
    assert add_unordered(1, x[::-1]).strides == np.add(1, x[::-1]).strides


@pytest.mark.row("N19i")
def test_several_outputs_lie_alike() -> None:
    body = "item__output0() = item__a(); item__output1() = item__a() > 1; return true;"
    split = wrap(((),), ((), ()), {(np.float64, np.float64, np.bool_): body}, unordered=True)
    first, second = split(np.arange(6.0).reshape(2, 3).T)
    assert first.flags.f_contiguous
    assert second.flags.f_contiguous
    assert same(second, np.arange(6).reshape(2, 3).T > 1)


@pytest.mark.row("N19i")
def test_core_dims_keep_c_order() -> None:
    body = "for(npy_intp i = 0; i < dims_slice__a[0]; i++) item__output(i) = item__a(i); return true;"
    copy = wrap((("n",),), ("n",), {np.float64: body}, unordered=True)
    x = np.arange(24.0).reshape(2, 3, 4).T
    assert same(copy(x), x)
    assert copy(x).flags.c_contiguous
