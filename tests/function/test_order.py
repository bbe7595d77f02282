"""The order in which slices run, as far as a snippet can observe it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers import ar, refuses, same, wrap
from hypothesis import given
from hypothesis import strategies as st

COUNT = {(np.float64, np.int64): "static npy_int64 n; item__output() = n++; return true;"}


def layouts(shape: tuple[int, ...]) -> list[Any]:
    """Arrays of one shape in many memory orders."""
    double = tuple(2 * n for n in shape)
    reverse = tuple(slice(None, None, -1) for _ in shape)
    return [
        ar(*shape),
        np.asfortranarray(ar(*shape)),
        ar(*shape)[reverse],
        ar(*double)[tuple(slice(None, None, 2) for _ in shape)],
        np.broadcast_to(1.0, shape),
        np.swapaxes(np.zeros(tuple(np.zeros(shape).swapaxes(0, -1).shape)), 0, -1),
    ]


@pytest.mark.row("N19i", "N17")
@pytest.mark.parametrize("shape", [(7,), (3, 4), (2, 3, 4), (1, 5, 1, 2)])
def test_slices_run_in_c_order_with_a_static(shape: tuple[int, ...]) -> None:
    for x in layouts(shape):
        got = wrap(((),), (), COUNT)(x)
        assert same(got, np.arange(x.size).reshape(shape))


@pytest.mark.row("N19i")
def test_slices_run_in_c_order_with_a_static_in_the_header() -> None:
    f = wrap(
        ((),),
        (),
        {(np.float64, np.int64): "item__output() = next(); return true;"},
        header="static npy_int64 next(void) { static npy_int64 n; return n++; }",
    )
    assert same(f(ar(4, 3).T), np.arange(12).reshape(3, 4))
    assert same(f(ar(3)), np.arange(12, 15))


@pytest.mark.row("N19i")
def test_slices_run_in_c_order_with_a_cookie() -> None:
    for x in layouts((3, 4)):
        f = wrap(
            ((),),
            (),
            {(np.float64, np.int64): "item__output() = cookie->n++; return true;"},
            Ccode_cookie_struct="npy_int64 n;",
        )
        assert same(f(x), np.arange(12).reshape(3, 4))


@pytest.mark.row("N19i")
def test_order_does_not_depend_on_the_layout_of_out() -> None:
    for out in (
        np.zeros((3, 4), np.int64),
        np.zeros((4, 3), np.int64).T,
        np.zeros((3, 4), np.int64)[::-1, ::-1],
    ):
        wrap(((),), (), COUNT)(ar(3, 4), out=out)
        assert same(out, np.arange(12).reshape(3, 4))


@pytest.mark.row("N19i")
def test_broadcast_inputs_run_in_the_order_of_the_broadcast_shape() -> None:
    f = wrap(((), ()), (), {(np.float64, np.float64, np.int64): COUNT[np.float64, np.int64]})
    assert same(f(ar(3, 1), ar(4)), np.arange(12).reshape(3, 4))


@pytest.mark.quick
@pytest.mark.row("N19i")
def test_a_cookie_counts_in_c_order_also_with_short_inner_axes() -> None:
    f = wrap(
        ((),),
        (),
        {(np.float64, np.int64): "item__output() = cookie->n++; return true;"},
        Ccode_cookie_struct="npy_int64 n;",
    )
    for shape in ((2000, 3), (3, 2000), (2, 700, 3)):
        for x in layouts(shape):
            assert same(f(x), np.arange(x.size).reshape(shape))
            assert same(f(x[..., :2]), np.arange(x[..., :2].size).reshape((*shape[:-1], 2)))


FREE = {"unordered": True}


def view(shape: tuple[int, ...], order: int, reverse: int, gaps: int, wide: int) -> Any:
    """A view of this shape: axes permuted, reversed, with gaps, some of them broadcast."""
    axes = np.random.default_rng(order).permutation(len(shape))
    memory = ar(*(shape[axis] * (1 + (gaps >> axis & 1)) for axis in axes)).transpose(np.argsort(axes))
    step = [(1 + (gaps >> axis & 1)) * (1 - 2 * (reverse >> axis & 1)) for axis in range(len(shape))]
    cut = [slice(0, 1) if wide >> axis & 1 else slice(None, None, step[axis]) for axis in range(len(shape))]
    return memory[tuple(cut)]


@pytest.mark.row("N19i")
def test_unordered_results_are_the_ordered_ones_whatever_the_layout() -> None:
    code = "item__output() = 2 * item__a() - item__b(); return true;"
    f, g = wrap(((), ()), (), code), wrap(((), ()), (), code, **FREE)
    bits = st.integers(0, 15)
    dims = st.sampled_from([1, 2, 3, 4, 5, 7, 20])

    @given(st.lists(dims, min_size=1, max_size=4).map(tuple), st.lists(bits, min_size=10, max_size=10))
    def check(shape: tuple[int, ...], how: list[int]) -> None:
        a, b, out = view(shape, *how[:4]), view(shape, *how[3:7]), view(shape, *how[6:9], 0)
        assert same(g(a, b), 2 * a - b) and same(f(a, b), 2 * a - b)
        if np.broadcast_shapes(a.shape, b.shape) == shape:
            g(a, b, out=out)
            assert same(out, 2 * a - b)

    check()


@pytest.mark.row("N19i")
@pytest.mark.parametrize("length", [15, 31, 511, 512, 513, 1023, 1024, 1025, 3000])
@pytest.mark.parametrize("more", [(3,), (2, 3), (15,)])
def test_unordered_results_where_long_axes_are_cut_in_blocks(length: int, more: tuple[int, ...]) -> None:
    f = wrap(((),), (), "item__output() = 2 * item__a() + 1; return true;", **FREE)
    for place in range(len(more) + 1):
        shape = (*more[:place], length, *more[place:])
        wide = tuple(n + 2 for n in shape)
        part = tuple(slice(1, -1) for _ in shape)
        a, out = ar(*wide), np.zeros(wide)
        f(a[part], out=out[part])
        wanted = np.zeros(wide)
        wanted[part] = 2 * a[part] + 1
        assert same(out, wanted)


@pytest.mark.row("N19i")
def test_after_a_failing_slice_those_behind_it_have_not_run() -> None:
    f = wrap(((),), (), "item__output() = item__a(); return item__a() != 1700;")
    out = np.full((2000, 3), -1.0)[:, ::2]
    refuses(RuntimeError, lambda: f(ar(2000, 2), out=out), "t.f", "returned false")
    assert same(out.ravel()[:1701], np.arange(1701.0)) and (out.ravel()[1701:] == -1).all()


@pytest.mark.row("N19i")
def test_unordered_runs_every_slice_exactly_once() -> None:
    f = wrap(((),), (), COUNT, unordered=True)
    got = f(ar(4, 5).T)
    assert sorted(got.ravel().tolist()) == list(range(20))
