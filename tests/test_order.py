"""The order in which slices run, as far as a snippet can observe it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers import F, ar, same

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
        got = F(((),), (), COUNT)(x)
        assert same(got, np.arange(x.size).reshape(shape))


@pytest.mark.row("N19i")
def test_slices_run_in_c_order_with_a_static_in_the_header() -> None:
    f = F(
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
        f = F(
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
        F(((),), (), COUNT)(ar(3, 4), out=out)
        assert same(out, np.arange(12).reshape(3, 4))


@pytest.mark.row("N19i")
def test_broadcast_inputs_run_in_the_order_of_the_broadcast_shape() -> None:
    f = F(((), ()), (), {(np.float64, np.float64, np.int64): COUNT[np.float64, np.int64]})
    assert same(f(ar(3, 1), ar(4)), np.arange(12).reshape(3, 4))


@pytest.mark.row("N19i")
def test_unordered_runs_every_slice_exactly_once() -> None:
    f = F(((),), (), COUNT, unordered=True)
    got = f(ar(4, 5).T)
    assert sorted(got.ravel().tolist()) == list(range(20))
