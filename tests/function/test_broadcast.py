"""Shapes: how prototypes, named dims and broadcasting decide what matches and how large results are."""

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
NOTHING = "return true;"
# Numbers the slices in the order in which they run, over all calls.
COUNT = "static npy_intp count; item__output() = ++count; return true;"

MAX_DIMS = 64 if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else 32


@pytest.fixture
def inner():
    return wrap((("n",), ("n",)), (), INNER)


@pytest.fixture
def named():
    """The inner product with names that a message cannot hold by chance."""
    return wrap(
        (("n",), ("n",)),
        (),
        INNER.replace("__a", "__left").replace("__b", "__right"),
        names=("left", "right"),
    )


@pytest.mark.row("N12")
@pytest.mark.parametrize("shape", [(2, 3), (4, 2, 3), (5, 4, 2, 3), (0, 2, 3), (1, 2, 3)])
def test_trailing_dims_match_the_prototype(shape):
    x = ar(*shape)
    assert same(wrap((("n", "m"),), (), SUM_2D)(x), x.sum(axis=(-2, -1)))


@pytest.mark.row("N12", "N24")
def test_trailing_dims_of_several_arguments():
    f = wrap(
        (("n", "m"), ("m",)),
        ("n",),
        """
        for (int i = 0; i < dims_slice__a[0]; i++) {
            item__output(i) = 0;
            for (int j = 0; j < dims_slice__a[1]; j++)
                item__output(i) += item__a(i, j) * item__b(j);
        }
        return true;""",
    )
    x, y = ar(4, 2, 3), ar(4, 3)
    assert same(f(x, y), np.einsum("...ij,...j->...i", x, y))
    assert same(f(x[0], y), np.einsum("...ij,...j->...i", x[0], y))


@pytest.mark.row("N13")
@pytest.mark.parametrize(
    ("left", "right", "words"),
    [
        ((2, 5), (3, 5), ("axis -2 must be 2", "got 3")),
        ((7, 2, 5), (7, 4, 5), ("axis -2 must be 2", "got 4")),
        ((7, 1, 5), (6, 4, 5), ("axis -3 must be 7", "got 6")),
        ((2, 5), (8, 3, 5), ("axis -2 must be 2", "got 3")),
        ((0, 5), (2, 5), ("axis -2 must be 0", "got 2")),
    ],
)
def test_extra_dims_must_agree(named, left, right, words):
    refuses(ValueError, lambda: named(ar(*left), ar(*right)), "t.f", "right", *words)


@pytest.mark.row("N13")
def test_disagreement_of_extra_dims_names_the_dimension(named):
    refuses(ValueError, lambda: named(ar(7, 2, 5), ar(7, 4, 5)), "'right'", "axis -2 must be 2", "got 4")
    refuses(ValueError, lambda: named(ar(2, 7, 5), ar(4, 7, 5)), "'right'", "axis -3 must be 2", "got 4")


@pytest.mark.row("N14")
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((2, 3, 5), (4, 1, 3, 5)),
        ((4, 1, 3, 5), (2, 3, 5)),
        ((1, 5), (3, 5)),
        ((3, 1, 5), (1, 4, 5)),
        ((1, 1, 1, 5), (5,)),
        ((2, 1, 5), (2, 0, 5)),
    ],
)
def test_length_1_stretches(inner, left, right):
    x, y = ar(*left), ar(*right)
    assert same(inner(x, y), np.einsum("...i,...i->...", x, y))


@pytest.mark.row("N14")
def test_length_1_stretches_only_in_extra_dims(inner):
    refuses(ValueError, lambda: inner(ar(2, 1), ar(2, 3)), "t.f", "'b'", "'n'", "must be 1", "got 3")


@pytest.mark.row("N15")
def test_missing_leading_dims_are_1(inner):
    x, y = ar(5), ar(2, 5)
    assert same(inner(x, y), y @ x)
    assert same(inner(y, x), y @ x)
    z = ar(3, 2, 5)
    assert same(inner(x, z), z @ x)


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


@pytest.mark.row("N17", "N19i")
def test_slices_run_in_c_order_of_the_result_whatever_the_strides():
    f = wrap(((),), (), COUNT)
    wanted = np.arange(1.0, 25).reshape(2, 3, 4)
    for x in (ar(2, 3, 4), ar(4, 3, 2).T, ar(2, 3, 4)[::-1, :, ::-1], np.broadcast_to(1.0, (2, 3, 4))):
        assert same(wrap(((),), (), COUNT)(x), wanted)
    out = np.zeros((4, 3, 2)).T
    f(ar(2, 3, 4), out=out)
    assert same(out, wanted)


@pytest.mark.row("N19")
def test_a_5_vector_and_a_3_vector_have_no_inner_product(named):
    refuses(ValueError, lambda: named(ar(5), ar(3)), "t.f", "right", "'n'", "must be 5", "got 3")


@pytest.mark.row("N19", "N22")
def test_shape_errors_never_run_a_slice(inner):
    f = wrap((("n",), ("n",)), (), COUNT)
    for left, right, word in [
        ((5,), (3,), "(axis -1) must be 5"),
        ((2, 5), (3, 5), "axis -2 must be 2"),
        ((5, 3), (3, 5), "(axis -1) must be 3"),
    ]:
        refuses(ValueError, lambda left=left, right=right: f(ar(*left), ar(*right)), "'b'", word)
    assert f(ar(3), ar(3)) == 1


@pytest.mark.quick
@pytest.mark.row("N22")
def test_fixed_dim_takes_only_that_length():
    f = wrap(
        ((3,),), (), "item__output() = item__vector(0) + item__vector(2); return true;", names=("vector",)
    )
    assert f(ar(3)) == 2
    assert same(f(ar(2, 3)), np.array([2.0, 8.0]))
    for wrong in (ar(4), ar(2), ar(0), ar(1), ar(3, 4)):
        refuses(
            ValueError, lambda wrong=wrong: f(wrong), "t.f", "vector", "length 3", f"got {wrong.shape[-1]}"
        )


@pytest.mark.row("N22")
def test_fixed_dim_of_length_0():
    f = wrap(((0,),), (), "item__output() = 7 + dims_slice__a[0]; return true;")
    assert f(ar(0)) == 7
    assert same(f(ar(2, 0)), np.array([7.0, 7.0]))
    refuses(ValueError, lambda: f(ar(1)), "t.f", "'a'", "length 0", "got 1")


@pytest.mark.row("N22")
def test_negative_fixed_dim_is_refused_at_definition():
    refuses(
        ValueError,
        lambda: wrap(((3, -2),), (), NOTHING, names=("vector",)),
        "vector",
        "dim 1 is negative: -2",
    )
    refuses(ValueError, lambda: wrap(((3,),), (-7,), NOTHING), "dim 0 is negative: -7")


@pytest.mark.row("N23")
def test_name_twice_in_one_argument_means_square():
    f = wrap((("n", "n"),), (), SUM_2D.replace("__a", "__matrix"), names=("matrix",))
    assert f(ar(3, 3)) == 36
    assert f(ar(4, 3, 3)).shape == (4,)
    refuses(ValueError, lambda: f(ar(2, 3)), "t.f", "matrix", "'n'", "must be 2", "got 3")


@pytest.mark.row("N24", "N19")
def test_named_dim_is_equal_across_inputs():
    f = wrap((("n", "m"), ("m", "n")), (), NOTHING, names=("left", "right"))
    f(ar(2, 3), ar(3, 2))
    refuses(ValueError, lambda: f(ar(2, 3), ar(2, 3)), "t.f", "right", "'m'", "must be 3", "got 2")
    refuses(ValueError, lambda: f(ar(2, 3), ar(3, 3)), "t.f", "right", "'n'", "must be 2", "got 3")


@pytest.mark.row("N25")
def test_named_dim_sizes_the_output():
    f = wrap(
        (("n",),),
        ("n", "n"),
        """
        for (int i = 0; i < dims_slice__a[0]; i++)
            for (int j = 0; j < dims_slice__a[0]; j++)
                item__output(i, j) = i == j ? item__a(i) : 0;
        return true;""",
    )
    x = ar(2, 3)
    assert same(f(x[1]), np.diag(x[1]))
    assert same(f(x), np.stack([np.diag(x[0]), np.diag(x[1])]))
    assert f(ar(0)).shape == (0, 0)


@pytest.mark.row("N28")
def test_mixed_fixed_and_named_dims():
    f = wrap(
        (("n", 2), ("n", 3)),
        ("n",),
        """
        for (int i = 0; i < dims_slice__a[0]; i++)
            item__output(i) = item__a(i, 1) + item__b(i, 2);
        return true;""",
    )
    x, y = ar(7, 2), ar(7, 3)
    assert same(f(x, y), x[:, 1] + y[:, 2])
    refuses(ValueError, lambda: f(x, ar(6, 3)), "t.f", "'b'", "'n'", "must be 7", "got 6")
    refuses(ValueError, lambda: f(x, ar(7, 2)), "t.f", "'b'", "length 3", "got 2")


@pytest.mark.quick
@pytest.mark.row("N01i")
def test_implicit_leading_ones_inside_the_prototype():
    code = """
        item__output() = dims_slice__a[0];
        for (int i = 0; i < dims_slice__a[0]; i++)
            for (int j = 0; j < dims_slice__a[1]; j++)
                item__output() += item__a(i, j) - 0.25;
        return true;"""
    f = wrap((("N", "M"),), (), code)
    x = ar(4)
    assert f(x) == 1 + (x - 0.25).sum()
    assert f(np.array(3.0)) == 1 + 2.75


@pytest.mark.row("N01i")
def test_scalars_where_vectors_are_wanted(inner):
    assert inner(np.array(6.0), np.array(5.0)) == 30
    assert inner(np.array(6.0), np.array([5.0])) == 30
    assert inner(6.0, 5.0) == 30
    refuses(ValueError, lambda: inner(np.array(6.0), ar(2)), "t.f", "'n'", "must be 1", "got 2")


@pytest.mark.row("N01i", "N12i")
def test_padded_dims_are_visible_and_contiguous():
    f = wrap(
        (("N", "M"),),
        (4,),
        """
        item__output(0) = Ndims_slice__a;
        item__output(1) = dims_slice__a[0];
        item__output(2) = dims_slice__a[1];
        item__output(3) = CHECK_CONTIGUOUS__a();
        return true;""",
    )
    assert f(ar(4)).tolist() == [2, 1, 4, 1]
    assert f(ar(8)[::2]).tolist() == [2, 1, 4, 0]
    assert f(np.array(1.0)).tolist() == [2, 1, 1, 1]


@pytest.mark.row("N01i", "N57")
def test_padded_dims_have_the_strides_of_a_contiguous_array():
    f = wrap(
        (("N", "M"),),
        (2,),
        {
            (np.float64, np.int64): """
        item__output(0) = strides_slice__a[0];
        item__output(1) = strides_slice__a[1];
        return true;"""
        },
    )
    assert f(ar(4)).tolist() == [32, 8]
    assert f(np.array(1.0)).tolist() == [8, 8]
    assert f(5.0).tolist() == [8, 8]


@pytest.mark.quick
@pytest.mark.row("N02i")
def test_no_inputs():
    f = wrap(
        (),
        (3, 3),
        """
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                item__output(i, j) = i == j;
        return true;""",
    )
    assert same(f(), np.eye(3))
    out = np.full((2, 3, 3), 9.0)
    assert f(out=out) is out
    assert same(out, np.stack([np.eye(3)] * 2))
    refuses(TypeError, lambda: f(1.0), "t.f", "takes 0 positional", "1 was given")


@pytest.mark.row("N06i")
def test_zero_length_broadcast_dim(inner):
    assert same(inner(ar(0, 3), ar(1, 3)), np.zeros(0))
    assert same(inner(ar(0, 3), ar(3)), np.zeros(0))
    assert same(inner(ar(2, 0, 3), ar(2, 1, 3)), np.zeros((2, 0)))
    refuses(ValueError, lambda: inner(ar(0, 3), ar(2, 3)), "t.f", "'b'", "axis -2 must be 0", "got 2")


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
    assert same(inner(ar(2, 0), ar(2, 0)), np.zeros(2))
    assert inner(ar(0), ar(0)) == 0
    f = wrap((("n",),), (), "item__output() = 5 + dims_slice__a[0]; return true;")
    assert same(f(ar(3, 0)), np.full(3, 5.0))
    refuses(ValueError, lambda: inner(ar(2, 0), ar(2, 1)), "t.f", "'b'", "'n'", "must be 0", "got 1")


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
def test_size_0_arrays_are_contiguous():
    f = wrap((("n", "m"),), (), "item__output() = CHECK_CONTIGUOUS__a(); return true;")
    assert f(np.zeros((4, 0))[::2]) == 1
    assert f(np.zeros((0, 4)).T) == 1
    assert f(np.zeros((6, 4))[0:0, ::2]) == 1
    assert f(np.zeros((4, 4))[:, ::2]) == 0


@pytest.mark.row("N12i", "N65")
def test_item_takes_expressions():
    f = wrap(
        (("n",),),
        ("n",),
        """
        const int N = dims_slice__a[0];
        for (int i = -1; i < N - 1; i++)
            item__output(i + 1) = item__a(i + 1) + item__a(i + 2 < N ? i + 2 : 0) * 2;
        return true;""",
    )
    x = ar(3, 4)[:, ::-1]
    assert same(f(x), x + 2 * np.roll(x, -1, axis=-1))


@pytest.mark.row("N12i")
def test_as_many_broadcast_dims_as_numpy_has(inner):
    x = np.arange(8.0).reshape((1,) * (MAX_DIMS - 4) + (2, 1, 2, 2))
    y = np.array([1.0, 10.0])
    assert same(inner(x, y), x @ y)
    scalar = wrap(((),), (), "item__output() = -item__a(); return true;")
    assert same(scalar(x), -x)


@pytest.mark.row("N12i")
def test_as_many_core_dims_as_numpy_has():
    index = ", ".join(["0"] * (MAX_DIMS - 1))
    f = wrap(
        (("n",) * MAX_DIMS,), (), f"item__output() = item__a({index}, 1) - item__a({index}, 0); return true;"
    )
    shape = [2] * 4 + [1] * (MAX_DIMS - 4)
    refuses(ValueError, lambda: f(np.zeros(shape)), "t.f", "'a'", "'n'", "got 1")
    g = wrap(((1,) * (MAX_DIMS - 1) + (2,),), (), f"item__output() = item__a({index}, 1); return true;")
    assert g(np.array([3.0, 4.0]).reshape((1,) * (MAX_DIMS - 1) + (2,))) == 4


@pytest.mark.row("N12i")
def test_a_result_with_more_dims_than_numpy_has_is_refused():
    f = wrap((("n",),), ("n", 1, 1), "item__output(0, 0, 0) = 0; return true;")
    refuses(ValueError, lambda: f(np.zeros((1,) * MAX_DIMS)), "t.f", f"[0, {MAX_DIMS}]")
