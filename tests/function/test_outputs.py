"""What comes back, and out=: kinds, shapes, dtypes, filling in place, outputs larger than the result."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import INNER, OUTER, ar, refuses, same, wrap

# a(n), b(n) -> their inner product, their outer product
BOTH = """
    item__output0() = 0;
    for (int i = 0; i < dims_slice__a[0]; i++) {
        item__output0() += item__a(i) * item__b(i);
        for (int j = 0; j < dims_slice__b[0]; j++)
            item__output1(i, j) = item__a(i) * item__b(j);
    }
    return true;
"""
IDENTITY = """
    for (int i = 0; i < dims_slice__output[0]; i++)
        for (int j = 0; j < dims_slice__output[1]; j++)
            item__output(i, j) = i == j;
    return true;
"""


@pytest.fixture
def inner():
    return wrap((("n",), ("n",)), (), INNER)


@pytest.fixture
def outer():
    return wrap((("n",), ("m",)), ("n", "m"), OUTER)


@pytest.fixture
def both():
    return wrap((("n",), ("n",)), ((), ("n", "n")), BOTH)


@pytest.fixture
def identity():
    return wrap((), ("N", "N"), IDENTITY)


@pytest.mark.row("N09")
def test_one_output_is_itself_several_are_a_tuple(inner, outer, both):
    x = ar(3)
    assert type(outer(x, x)) is np.ndarray
    assert type(inner(x, x)) is np.float64
    result = both(x, x)
    assert type(result) is tuple
    assert len(result) == 2
    assert result[0] == 5
    assert type(result[0]) is np.float64
    assert same(result[1], np.outer(x, x))


@pytest.mark.row("N09", "N09i")
def test_a_0d_result_is_a_scalar_of_its_dtype():
    f = wrap(
        ((),), (), dict.fromkeys((np.float32, np.int8, np.uint64), "item__output() = item__a(); return true;")
    )
    for t in (np.float32, np.int8, np.uint64):
        assert type(f(np.array(3, dtype=t))) is t


@pytest.mark.row("N09")
def test_a_fresh_result_owns_its_memory(outer):
    x = ar(3)
    first, second = outer(x, x), outer(x, x)
    assert first.flags.owndata
    assert first.flags.writeable
    assert first.flags.c_contiguous
    assert not np.shares_memory(first, second)


@pytest.mark.row("N10")
def test_out_is_filled_in_place(inner):
    out = np.zeros(2)
    inner(ar(4), ar(2, 4), out=out)
    assert same(out, np.array([14.0, 38.0]))


@pytest.mark.row("N10")
def test_out_of_dims_0(inner):
    out = np.zeros(())
    assert inner(ar(4), ar(4), out=out) is out
    assert out == 14


@pytest.mark.quick
@pytest.mark.row("N11")
@pytest.mark.parametrize("kind", [tuple, list])
def test_all_outs_are_filled(both, kind):
    x, y = ar(3), ar(2, 3)
    outs = kind([np.zeros(2), np.zeros((2, 3, 3))])
    both(x, y, out=outs)
    assert same(outs[0], y @ x)
    assert same(outs[1], x[:, None] * y[:, None, :])


@pytest.mark.row("N05i")
def test_the_very_out_object_is_returned(inner, both):
    x = ar(3)
    out = np.zeros(())
    assert inner(x, x, out=out) is out
    assert inner(out=out, a=x, b=x) is out
    for outs in ((np.zeros(()), np.zeros((3, 3))), [np.zeros(()), np.zeros((3, 3))]):
        result = both(x, x, out=outs)
        assert result is outs
        assert result[0] == 5


@pytest.mark.row("N05i")
def test_a_subclass_given_as_out_is_kept(outer):
    class Own(np.ndarray):
        pass

    out = np.zeros((3, 3)).view(Own)
    result = outer(ar(3), ar(3), out=out)
    assert result is out
    assert type(result) is Own
    assert same(np.asarray(out), np.outer(ar(3), ar(3)))


@pytest.mark.row("N20")
def test_created_outputs_have_the_dtype_of_the_chosen_type_set():
    types = (np.int32, np.float32, np.float64, np.int64, np.uint8)
    f = wrap((("n",), ("n",)), (), dict.fromkeys(types, INNER))
    for t in types:
        x = np.arange(4, dtype=t)
        result = f(x, np.stack([x, x]))
        assert result.dtype == t
        assert result.tolist() == [14, 14]


@pytest.mark.row("N20")
def test_created_outputs_of_mixed_types_have_their_own():
    f = wrap(
        ((),),
        ((), ()),
        {
            (np.float64, np.int32, np.float32): """
        item__output0() = (int)item__a();
        item__output1() = item__a() / 2;
        return true;"""
        },
    )
    whole, half = f(np.array([3.5, 5.0]))
    assert same(whole, np.array([3, 5], dtype=np.int32))
    assert same(half, np.array([1.75, 2.5], dtype=np.float32))


@pytest.mark.row("N26")
def test_output_prototype_is_required():
    refuses(TypeError, lambda: wrap((("n",),), None, "return true;"), "prototype_output")


@pytest.mark.row("N26")
def test_output_prototype_cannot_be_left_out():
    import cwrapjit

    m = cwrapjit.module("t", "")
    refuses(
        TypeError,
        lambda: m.function(
            "f", "", args_input=("a",), prototype_input=((),), Ccode_slice_eval={np.float64: "return true;"}
        ),
        "prototype_output",
    )
    assert not hasattr(m, "f")


@pytest.mark.row("N27")
def test_a_shape_is_one_output_and_a_tuple_of_shapes_several():
    x = ar(2)
    one = wrap((("n",),), (), "item__output() = 4; return true;")
    assert one(x) == 4
    assert type(one(x)) is np.float64
    tuple_of_one = wrap((("n",),), ((),), "item__output0() = 5; return true;")
    result = tuple_of_one(x)
    assert type(result) is tuple
    assert result == (5,)
    out = np.zeros(())
    assert tuple_of_one(x, out=(out,))[0] is out
    vector = wrap((("n",),), ("n",), "item__output(0) = item__output(1) = 6; return true;")
    assert same(vector(x), np.array([6.0, 6.0]))
    tuple_of_vector = wrap((("n",),), (("n",),), "item__output0(0) = item__output0(1) = 7; return true;")
    (only,) = tuple_of_vector(x)
    assert same(only, np.array([7.0, 7.0]))


@pytest.mark.row("N27")
def test_a_one_tuple_refuses_a_bare_out():
    f = wrap((("n",),), ((),), "item__output0() = 5; return true;")
    refuses(TypeError, lambda: f(ar(2), out=np.zeros(())), "t.f", "out")
    refuses(TypeError, lambda: f(ar(2), out=np.zeros((1,))), "t.f", "out")


@pytest.mark.row("N29")
def test_one_output_of_two_elements():
    f = wrap(((),), (2,), "item__output(0) = item__a(); item__output(1) = -item__a(); return true;")
    x = ar(3)
    assert same(f(x), np.stack([x, -x], axis=-1))


@pytest.mark.row("N30")
def test_three_outputs():
    f = wrap(
        (("n",),),
        (("n", 2), (3,), ()),
        """
        for (int i = 0; i < dims_slice__a[0]; i++) {
            item__output0(i, 0) = item__a(i);
            item__output0(i, 1) = 2 * item__a(i);
        }
        for (int i = 0; i < 3; i++)
            item__output1(i) = 10 + i;
        item__output2() = dims_slice__a[0];
        return true;""",
    )
    x = ar(4)
    pairs, three, scalar = f(x)
    assert same(pairs, np.stack([x, 2 * x], axis=-1))
    assert same(three, np.array([10.0, 11.0, 12.0]))
    assert type(scalar) is np.float64
    assert scalar == 4
    assert [o.shape for o in f(ar(5, 6, 4))] == [(5, 6, 4, 2), (5, 6, 3), (5, 6)]


@pytest.mark.row("N31")
def test_output_only_named_dim_needs_out(identity):
    refuses(ValueError, lambda: identity(), "t.f", "out", "'N'")
    refuses(ValueError, lambda: identity(out=None), "t.f", "out", "'N'")


@pytest.mark.row("N31")
def test_output_only_named_dim_beside_inputs():
    f = wrap(((2,), ("n",)), (("m",), ("m", "m")), "return true;")
    refuses(ValueError, lambda: f(ar(2), ar(5)), "t.f", "out", "'m'")
    outs = (np.zeros(3), np.zeros((3, 3)))
    assert f(ar(2), ar(5), out=outs) is outs


@pytest.mark.row("N32")
def test_output_only_named_dim_comes_from_out(identity):
    out = np.full((3, 3), 9.0)
    assert identity(out=out) is out
    assert same(out, np.eye(3))
    whole = np.full((4, 5, 6), 9.0)
    identity(out=whole[:3, :3, 0])
    assert same(whole[:3, :3, 0], np.eye(3))
    rest = np.ones_like(whole, dtype=bool)
    rest[:3, :3, 0] = False
    assert np.all(whole[rest] == 9)


@pytest.mark.row("N32")
def test_output_only_named_dim_with_extra_dims_in_out(identity):
    out = np.full((2, 4, 4), 9.0)
    identity(out=out)
    assert same(out, np.stack([np.eye(4)] * 2))


@pytest.mark.row("N33")
def test_output_only_named_dim_is_consistent_in_the_given_out(identity):
    out = np.full((3, 2), 9.0)
    refuses(ValueError, lambda: identity(out=out), "t.f", "'N'", "must be 3", "got 2")
    assert np.all(out == 9)


@pytest.mark.row("N33")
def test_output_only_named_dim_is_consistent_across_outs():
    f = wrap((), (("m",), ("m", "m")), "return true;")
    f(out=(np.zeros(3), np.zeros((3, 3))))
    refuses(ValueError, lambda: f(out=(np.zeros(3), np.zeros((2, 2)))), "t.f", "'m'", "must be 3", "got 2")


@pytest.mark.row("N34")
@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.complex128, bool, object, "S8", "M8[s]"])
def test_out_of_a_wrong_dtype(inner, dtype):
    out = np.zeros(2, dtype=dtype)
    before = out.copy()
    words = "t.f", "wanted (float64", f"'output' is {out.dtype}"
    refuses(TypeError, lambda: inner(ar(3), ar(2, 3), out=out), *words)
    assert np.array_equal(out, before)


@pytest.mark.row("N35")
@pytest.mark.parametrize("shape", [(3, 3), (4, 5), (5,), (), (5, 4), (0, 5), (6, 6)])
def test_out_of_a_wrong_shape(outer, shape):
    out = np.full(shape, 9.0)
    refuses(ValueError, lambda: outer(ar(5), ar(5), out=out), "t.f", "must be 5")
    assert np.all(out == 9)


@pytest.mark.row("N35")
def test_out_of_a_wrong_shape_says_wanted_and_got(inner, outer):
    refuses(ValueError, lambda: outer(ar(5), ar(7), out=np.zeros((5, 6))), "t.f", "out", "must be 7", "got 6")
    refuses(ValueError, lambda: inner(ar(4, 3), ar(3), out=np.zeros(5)), "t.f", "out", "must be 4", "got 5")


@pytest.mark.row("N35")
@pytest.mark.parametrize("out", [3.0, [0.0, 0.0], "text", {}, (np.zeros(2),), np.float64(3)])
def test_out_must_be_an_array(inner, out):
    refuses(TypeError, lambda: inner(ar(3), ar(2, 3), out=out), "t.f", "out", type(out).__name__)


@pytest.mark.row("N36")
def test_out_may_be_a_strided_column(inner):
    out = np.zeros((2, 2))
    x, y = ar(4), ar(2, 4)
    inner(x, y, out=out[:, 0])
    inner(1 + x, y, out=out[:, 1])
    assert same(out, np.array([[14.0, 20.0], [38.0, 60.0]]))


@pytest.mark.row("N36")
def test_out_may_be_transposed_reversed_or_padded(outer):
    x, y = ar(2, 3), ar(4)
    wanted = x[..., :, None] * y
    big = np.full((8, 6, 4), -1.0)
    for out in (np.zeros((4, 3, 2)).T, np.zeros((2, 3, 4))[::-1, :, ::-1], big.T[::2, ::2, ::2]):
        outer(x, y, out=out)
        assert same(out, wanted)
    assert np.all(big[1::2] == -1)


@pytest.mark.row("N37", "N04i")
def test_all_outs_or_none(both):
    x = ar(3)
    scalar, matrix = np.full((), 9.0), np.full((3, 3), 9.0)
    for outs in [(scalar, None), (None, matrix), [None, None], (scalar, 3.0), (scalar, [[0.0] * 3] * 3)]:
        refuses(TypeError, lambda outs=outs: both(x, x, out=outs), "t.f", "out")
    assert scalar == 9
    assert np.all(matrix == 9)


@pytest.mark.row("N03i")
def test_an_out_larger_than_the_result_is_filled_with_copies(outer, inner):
    x = ar(5)
    out = np.full((5, 5, 5), 9.0)
    outer(x, x, out=out)
    assert same(out, np.stack([np.outer(x, x)] * 5))
    column = np.full((3, 2), 9.0)
    y = ar(2, 5)
    inner(x, y, out=column)
    assert same(column, np.stack([y @ x] * 3))
    stretched = np.full((3, 2), 9.0)
    inner(x, y[:1], out=stretched)
    assert same(stretched, np.full((3, 2), y[0] @ x))


@pytest.mark.row("N03i")
def test_outs_of_several_sizes(both):
    x, y = ar(2, 5), ar(5)
    o2, o2255 = np.zeros(2), np.zeros((2, 2, 5, 5))
    both(x, y, out=(o2, o2255))
    assert same(o2, x @ y)
    assert same(o2255, np.stack([x[:, :, None] * y] * 2))
    refuses(
        ValueError,
        lambda: both(x, y, out=(np.zeros(2), np.zeros((2, 1, 5, 5)))),
        "t.f",
        "output1",
        "must be 2",
        "got 1",
    )


@pytest.mark.quick
@pytest.mark.row("N03i")
def test_outs_of_several_sizes_must_broadcast_together(both):
    x = ar(5)
    one, many = np.zeros(1), np.zeros((2, 5, 5))
    both(x, x, out=(one, many))
    assert same(one, np.array([30.0]))
    assert same(many, np.stack([np.outer(x, x)] * 2))
    refuses(
        ValueError,
        lambda: both(x, x, out=(np.zeros(3), np.zeros((2, 5, 5)))),
        "t.f",
        "output1",
        "must be 3",
        "got 2",
    )


@pytest.mark.row("N03i")
def test_the_order_of_outs_of_several_sizes_does_not_matter(both):
    x = ar(5)
    many, one = np.zeros(2), np.zeros((1, 5, 5))
    both(x, x, out=(many, one))
    assert same(many, np.full(2, 30.0))
    assert same(one, np.outer(x, x)[None])


@pytest.mark.row("N03i")
def test_an_out_smaller_than_the_result(inner):
    x, y = ar(3), ar(4, 3)
    for shape in [(), (1,), (3,), (0,), (4, 1), (4, 3)]:
        refuses(ValueError, lambda shape=shape: inner(x, y, out=np.zeros(shape)), "t.f", "out", "must be 4")


@pytest.mark.row("N04i")
def test_out_none_is_absent(inner, both):
    x = ar(3)
    assert inner(x, x, out=None) == 5
    scalar, matrix = both(x, x, out=None)
    assert scalar == 5
    assert same(matrix, np.outer(x, x))


@pytest.mark.row("N04i")
def test_several_outs_come_as_a_tuple_or_list_of_the_right_length(both):
    x = ar(3)
    i, o = np.zeros(()), np.zeros((3, 3))
    for outs, got in [((i,), 1), ((i, o, i), 3), ((), 0), ([i], 1)]:
        refuses(
            ValueError, lambda outs=outs: both(x, x, out=outs), "t.f", "out: wanted 2 arrays", f"got {got}"
        )
    refuses(TypeError, lambda: both(x, x, out=(None, i)), "t.f", "out")
    refuses(TypeError, lambda: both(x, x, out={0: i, 1: o}), "t.f", "out", "dict")
    refuses(TypeError, lambda: both(x, x, out="ab"), "t.f", "out", "str")


@pytest.mark.row("N04i")
def test_a_bare_array_is_not_several_outs():
    f = wrap(((),), ((), ()), "item__output0() = item__output1() = item__a(); return true;")
    refuses(TypeError, lambda: f(1.0, out=np.zeros(2)), "t.f", "out", "ndarray")
    refuses(TypeError, lambda: f(1.0, out=np.zeros((2, 1))), "t.f", "out", "ndarray")


@pytest.mark.row("N04i")
def test_references_of_outs_are_kept_straight(both):
    import sys

    x = ar(3)
    i, o = np.zeros(()), np.zeros((3, 3))
    outs = (i, o)
    before = [sys.getrefcount(thing) for thing in (x, i, o, outs)]
    for _ in range(50):
        both(x, x, out=outs)
        refuses(ValueError, lambda: both(x, ar(4), out=outs), "must be 3", "got 4")
        refuses(TypeError, lambda: both(x, x, out=(i, None)), "'output1'", "got NoneType")
    assert [sys.getrefcount(thing) for thing in (x, i, o, outs)] == before
