"""Tests shapes: how prototypes, named dims and broadcasting decide what matches, and the results' shapes."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import INNER, OUTER, ar, refuses, same, wrap

SUM_2D = """
    item__output() = 0;
    for (int i = 0; i < dims_slice__a[0]; i++)
        for (int j = 0; j < dims_slice__a[1]; j++)
            item__output() += item__a(i, j);
    return true;
"""
# Numbers the slices in the order in which they run, across calls.
COUNT = "static npy_intp count; item__output() = ++count; return true;"

MAX_DIMS = 64 if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else 32


@pytest.fixture
def inner():
    return wrap((("n",), ("n",)), (), INNER)


@pytest.mark.row("N12")
@pytest.mark.parametrize("shape", [(2, 3), (4, 2, 3), (5, 4, 2, 3), (0, 2, 3), (1, 2, 3)])
def test_trailing_dims_match_the_prototype(shape):
    x = ar(*shape)
    assert same(wrap((("n", "m"),), (), SUM_2D)(x), x.sum(axis=(-2, -1)))


@pytest.mark.row("N13", "N14", "N19", "N22", "N06i", "N07i", "N01i")
@pytest.mark.parametrize(
    ("left", "right", "words"),
    [
        ((2, 5), (3, 5), ("axis -2 must be 2", "got 3")),
        ((7, 2, 5), (7, 4, 5), ("axis -2 must be 2", "got 4")),
        ((7, 1, 5), (6, 4, 5), ("axis -3 must be 7", "got 6")),
        ((2, 7, 5), (4, 7, 5), ("axis -3 must be 2", "got 4")),
        ((2, 5), (8, 3, 5), ("axis -2 must be 2", "got 3")),
        ((0, 5), (2, 5), ("axis -2 must be 0", "got 2")),
        ((5,), (3,), ("'n'", "(axis -1) must be 5", "got 3")),
        ((2, 1), (2, 3), ("'n'", "must be 1", "got 3")),
        ((2, 0), (2, 1), ("'n'", "must be 0", "got 1")),
        ((), (2,), ("'n'", "must be 1", "got 2")),
    ],
)
def test_dims_must_agree_before_a_slice_runs(left, right, words):
    f = wrap((("n",), ("n",)), (), COUNT)
    refuses(ValueError, lambda: f(ar(*left), ar(*right)), "t.f", "'b'", *words)
    assert f(ar(3), ar(3)) == 1


@pytest.mark.row("N14", "N15", "N06i")
@pytest.mark.parametrize(
    ("left", "right"),
    [
        *(((2, 3, 5), (4, 1, 3, 5)), ((4, 1, 3, 5), (2, 3, 5)), ((1, 5), (3, 5)), ((3, 1, 5), (1, 4, 5))),
        *(((1, 1, 1, 5), (5,)), ((5,), (2, 5)), ((5,), (3, 2, 5)), ((2, 5), (5,))),
        *(((2, 1, 5), (2, 0, 5)), ((0, 3), (1, 3)), ((0, 3), (3,)), ((2, 0, 3), (2, 1, 3))),
    ],
)
def test_length_1_and_missing_dims_stretch(inner, left, right):
    x, y = ar(*left), ar(*right)
    assert same(inner(x, y), np.einsum("...i,...i->...", x, y))


@pytest.mark.row("N16")
def test_output_shape_is_extra_dims_then_prototype():
    f = wrap((("n",), ("m",)), ("n", "m"), OUTER)
    x, y = ar(2, 3, 5), ar(4, 1, 3, 5)
    assert same(f(x, y), x[..., :, None] * y[..., None, :])
    assert f(x, y).shape == (4, 2, 3, 5, 5)


@pytest.mark.row("N17")
@pytest.mark.parametrize(
    ("left", "right", "shape"),
    [((2, 3, 5), (5,), (2, 3)), ((5,), (5,), ()), ((3, 1, 5), (4, 5), (3, 4)), ((1, 5), (5,), (1,))],
)
def test_one_slice_call_per_broadcast_slice(left, right, shape):
    f = wrap((("n",), ("n",)), (), COUNT)
    wanted = np.arange(1.0, np.prod(shape) + 1).reshape(shape)
    assert same(f(ar(*left), ar(*right)), wanted)
    assert same(f(ar(*left), ar(*right)), wanted + wanted.size)


@pytest.mark.row("N22")
def test_fixed_dim_takes_only_that_length():
    code = "item__output() = item__vector(0) + item__vector(2); return true;"
    f = wrap(((3,),), (), code, names=("vector",))
    assert f(ar(3)) == 2
    assert same(f(ar(2, 3)), np.array([2.0, 8.0]))
    for wrong in (ar(4), ar(2), ar(0), ar(1), ar(3, 4)):
        refuses(
            ValueError, lambda wrong=wrong: f(wrong), "t.f", "vector", "length 3", f"got {wrong.shape[-1]}"
        )
    empty = wrap(((0,),), (), "item__output() = 7 + dims_slice__a[0]; return true;")
    assert empty(ar(0)) == 7 and same(empty(ar(2, 0)), np.array([7.0, 7.0]))
    refuses(ValueError, lambda: empty(ar(1)), "t.f", "'a'", "length 0", "got 1")


@pytest.mark.row("N23", "N24", "N19", "N28")
def test_named_dims_are_equal_within_and_across_inputs():
    f = wrap((("n", "m"), ("m", "n", 2), ("n", "n")), (), "return true;")
    f(ar(2, 3), ar(3, 2, 2), ar(2, 2))
    refuses(ValueError, lambda: f(ar(2, 3), ar(2, 3, 2), ar(2, 2)), "t.f", "'b'", "'m'", "must be 3", "got 2")
    refuses(ValueError, lambda: f(ar(2, 3), ar(3, 3, 2), ar(2, 2)), "t.f", "'b'", "'n'", "must be 2", "got 3")
    refuses(ValueError, lambda: f(ar(2, 3), ar(3, 2, 1), ar(2, 2)), "t.f", "'b'", "length 2", "got 1")
    refuses(ValueError, lambda: f(ar(2, 3), ar(3, 2, 2), ar(2, 3)), "t.f", "'c'", "'n'", "must be 2", "got 3")


@pytest.mark.row("N12", "N24", "N25", "N28")
def test_named_dims_size_the_output():
    code = """
        for (int i = 0; i < dims_slice__a[0]; i++)
            for (int j = 0; j < dims_slice__b[0]; j++)
                item__output(i, j) = item__a(i, 1) * item__b(j);
        return true;"""
    f = wrap((("n", 2), ("m",)), ("n", "m"), code)
    x, y = ar(4, 3, 2), ar(5)
    assert same(f(x, y), x[..., 1:] * y)
    assert same(f(x[0], y), x[0, :, 1:] * y)
    assert f(x[:, :0], y[:0]).shape == (4, 0, 0)


@pytest.mark.row("N01i", "N12i", "N57")
def test_implicit_leading_ones_inside_the_prototype():
    """Slices see the leading dims of length 1, with the strides of a contiguous array."""
    code = """
        item__output(0) = Ndims_slice__a;
        item__output(1) = dims_slice__a[0];
        item__output(2) = dims_slice__a[1];
        item__output(3) = CHECK_CONTIGUOUS__a();
        item__output(4) = strides_slice__a[0];
        item__output(5) = strides_slice__a[1];
        item__output(6) = 0;
        for (int j = 0; j < dims_slice__a[1]; j++)
            item__output(6) += item__a(0, j);
        return true;"""
    f = wrap((("N", "M"),), (7,), code)
    assert f(ar(4)).tolist() == [2, 1, 4, 1, 32, 8, 6]
    assert f(ar(8)[::2]).tolist()[:4] == [2, 1, 4, 0]
    assert f(np.array(3.0)).tolist() == f(3.0).tolist() == [2, 1, 1, 1, 8, 8, 3]


@pytest.mark.row("N02i")
def test_no_inputs():
    f = wrap((), (3, 3), "for (int i = 0; i < 9; i++) item__output(i / 3, i % 3) = i % 4 == 0; return true;")
    assert same(f(), np.eye(3))
    out = np.full((2, 3, 3), 9.0)
    assert f(out=out) is out
    assert same(out, np.stack([np.eye(3)] * 2))
    refuses(TypeError, lambda: f(1.0), "t.f", "'output'", "after the 0 inputs", "got float")
    refuses(TypeError, lambda: f(out, None), "t.f", "takes 1 positional argument but 2 were given")


@pytest.mark.row("N06i")
def test_zero_length_broadcast_dim_validates_but_runs_no_slice():
    f = wrap(
        ((),),
        (2,),
        "item__output(0) = validated; item__output(1) = ++ran; return true;",
        header="static int validated, ran;",
        Ccode_validate="validated++; return true;",
    )
    assert f(ar(0)).shape == (0, 2)
    assert f(ar(3, 0)).shape == (3, 0, 2)
    assert f(1.0).tolist() == [3, 1]


@pytest.mark.row("N07i")
def test_zero_length_core_dim_runs_the_slice(inner):
    assert same(inner(ar(2, 0), ar(2, 0)), np.zeros(2)) and inner(ar(0), ar(0)) == 0
    f = wrap((("n",),), (), "item__output() = 5 + dims_slice__a[0]; return true;")
    assert same(f(ar(3, 0)), np.full(3, 5.0))


@pytest.mark.row("N08i")
@pytest.mark.parametrize(
    "view",
    [
        lambda x: x[::-1],
        lambda x: x[:, ::-1],
        lambda x: x[::-2, ::3],
        lambda x: x.T[:, ::-1],
        lambda x: np.broadcast_to(x[0], (4, x.shape[1])),
        lambda x: np.broadcast_to(x[:, :1], (x.shape[0], 5)),
        lambda x: np.lib.stride_tricks.sliding_window_view(x[0], 3),
        lambda x: np.lib.stride_tricks.as_strided(x, (3, 3), (8, 8)),
    ],
)
def test_negative_zero_and_overlapping_strides(inner, view):
    x = view(ar(6, 7))
    y = np.cos(np.arange(float(x.shape[-1])))
    assert np.allclose(inner(x, y), x @ y, rtol=1e-14, atol=1e-14)
    assert same(inner(x, np.ones_like(y)), x.sum(axis=-1))


@pytest.mark.row("N12i")
def test_as_many_broadcast_dims_as_numpy_has(inner):
    x = np.arange(8.0).reshape((1,) * (MAX_DIMS - 4) + (2, 1, 2, 2))
    y = np.array([1.0, 10.0])
    assert same(inner(x, y), x @ y)
    scalar = wrap(((),), (), "item__output() = -item__a(); return true;")
    assert same(scalar(x), -x)


@pytest.mark.row("N12i")
def test_as_many_core_dims_as_numpy_has():
    index, ones = ", ".join(["0"] * (MAX_DIMS - 1)), (1,) * (MAX_DIMS - 1)
    f = wrap((("n",) * MAX_DIMS,), (), f"item__output() = item__a({index}, 0); return true;")
    refuses(ValueError, lambda: f(np.zeros([2] * 4 + [1] * (MAX_DIMS - 4))), "t.f", "'a'", "'n'", "got 1")
    g = wrap(((*ones, 2),), (), f"item__output() = item__a({index}, 1); return true;")
    assert g(np.array([3.0, 4.0]).reshape(*ones, 2)) == 4
    h = wrap((("n",),), ("n", 1, 1), "item__output(0, 0, 0) = 0; return true;")
    refuses(ValueError, lambda: h(np.zeros((1,) * MAX_DIMS)), "t.f", f"[0, {MAX_DIMS}]")
