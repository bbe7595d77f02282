"""Tests results, all kinds of out=, and output_dims=: lengths that are computed from those of inputs."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from helpers import INNER, OUTER, ar, refuses, same, wrap, wrap_signature
from hypothesis import given, settings
from hypothesis import strategies as st
from leaks import keeps_nothing

import cwrapjit

# Computes the inner and the outer product of a(n) and b(n).
BOTH = """
    item__output0() = 0;
    for (int i = 0; i < dims_slice__a[0]; i++) {
        item__output0() += item__a(i) * item__b(i);
        for (int j = 0; j < dims_slice__b[0]; j++)
            item__output1(i, j) = item__a(i) * item__b(j);
    }
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


@pytest.mark.row("N09", "N09i", "N20")
def test_created_outputs_have_the_dtypes_of_the_chosen_type_set():
    types = np.int32, np.float32, np.float64, np.int64, np.uint8
    f = wrap((("n",), ("n",)), (), dict.fromkeys(types, INNER))
    for t in types:
        x = np.arange(4, dtype=t)
        assert same(f(x, np.stack([x, x])), np.array([14, 14], t))
        assert type(f(x, x)) is t, "of dims 0 it is a scalar"
    code = "item__output0() = (int)item__a(); item__output1() = item__a() / 2; return true;"
    result = wrap(((),), ((), ()), {(np.float64, np.int32, np.float32): code})(np.array([3.5, 5.0]))
    assert type(result) is tuple and len(result) == 2
    assert same(result[0], np.array([3, 5], dtype=np.int32))
    assert same(result[1], np.array([1.75, 2.5], dtype=np.float32))


@pytest.mark.row("N09")
def test_a_fresh_result_owns_its_memory(outer):
    first, second = outer(ar(3), ar(3)), outer(ar(3), ar(3))
    assert first.flags.owndata and first.flags.writeable and first.flags.c_contiguous
    assert not np.shares_memory(first, second)


@pytest.mark.row("N05i", "N10", "N11", "N04i")
@pytest.mark.parametrize("kind", [tuple, list])
def test_the_very_out_object_is_filled_and_returned(inner, both, kind):
    class Own(np.ndarray):
        pass

    x, y = ar(3), ar(2, 3)
    for out in (np.zeros(()), np.zeros(()).view(Own)):
        assert inner(x, x, out=out) is inner(out=out, a=x, b=x) is out
        assert out == inner(x, x, out=None) == 5
    outs = kind([np.zeros(2).view(Own), np.zeros((2, 3, 3))])
    assert both(x, y, out=outs) is outs and type(outs[0]) is Own
    scalars, matrices = both(x, y, out=None)
    assert np.array_equal(outs[0], y @ x) and same(scalars, y @ x)
    assert same(outs[1], x[:, None] * y[:, None, :]) and same(matrices, outs[1])


@pytest.mark.row("N27", "N29")
def test_a_shape_is_one_output_and_a_tuple_of_shapes_several():
    x, out = ar(2), np.zeros(())
    one = wrap((("n",),), (), "item__output() = 4; return true;")(x)
    assert one == 4 and type(one) is np.float64
    tuple_of_one = wrap((("n",),), ((),), "item__output0() = 5; return true;")
    assert tuple_of_one(x) == (5,) and tuple_of_one(x, out=(out,))[0] is out
    for bare in (np.zeros(()), np.zeros((1,))):
        refuses(TypeError, lambda bare=bare: tuple_of_one(x, out=bare), "t.f", "out")
    vector = wrap((("n",),), ("n",), "item__output(0) = item__output(1) = 6; return true;")
    assert same(vector(x), np.array([6.0, 6.0]))
    two = wrap(((),), (2,), "item__output(0) = item__a(); item__output(1) = -item__a(); return true;")
    assert same(two(x), np.stack([x, -x], axis=-1))
    (only,) = wrap((("n",),), (("n",),), "item__output0(0) = item__output0(1) = 7; return true;")(x)
    assert same(only, np.array([7.0, 7.0]))


@pytest.mark.row("N30")
def test_three_outputs():
    code = """
        for (int i = 0; i < dims_slice__a[0]; i++) {
            item__output0(i, 0) = item__a(i);
            item__output0(i, 1) = 2 * item__a(i);
        }
        for (int i = 0; i < 3; i++)
            item__output1(i) = 10 + i;
        item__output2() = dims_slice__a[0];
        return true;"""
    f, x = wrap((("n",),), (("n", 2), (3,), ()), code), ar(4)
    pairs, three, scalar = f(x)
    assert same(pairs, np.stack([x, 2 * x], axis=-1)) and same(three, np.array([10.0, 11.0, 12.0]))
    assert type(scalar) is np.float64 and scalar == 4
    assert [o.shape for o in f(ar(5, 6, 4))] == [(5, 6, 4, 2), (5, 6, 3), (5, 6)]


@pytest.mark.row("N31", "N32", "N33")
def test_a_dim_that_only_outputs_have_comes_from_out():
    code = """for (int i = 0; i < dims_slice__output[0]; i++)
        for (int j = 0; j < dims_slice__output[1]; j++) item__output(i, j) = i == j;
        return true;"""
    identity = wrap((), ("N", "N"), code)
    for absent in ({}, {"out": None}):
        refuses(ValueError, lambda absent=absent: identity(**absent), "t.f", "out", "'N'")
    out, whole = np.full((2, 4, 4), 9.0), np.full((4, 5, 6), 9.0)
    assert identity(out=out) is out and same(out, np.stack([np.eye(4)] * 2))
    identity(out=whole[:3, :3, 0])
    assert same(whole[:3, :3, 0], np.eye(3))
    whole[:3, :3, 0] = 9
    refuses(ValueError, lambda: identity(out=whole[:3, :2, 0]), "t.f", "'N'", "must be 3", "got 2")
    assert np.all(whole == 9)
    f = wrap(((2,), ("n",)), (("m",), ("m", "m")), "return true;")
    refuses(ValueError, lambda: f(ar(2), ar(5)), "t.f", "out", "'m'")
    outs = np.zeros(3), np.zeros((3, 3)), np.zeros((2, 2))
    f(ar(2), ar(5), out=outs[:2])
    refuses(ValueError, lambda: f(ar(2), ar(5), out=outs[::2]), "t.f", "'m'", "must be 3", "got 2")


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
@pytest.mark.parametrize("out", [3.0, [0.0, 0.0], "text", {}, np.float64(3)])
def test_out_must_be_an_array(inner, out):
    for call in (lambda: inner(ar(3), ar(2, 3), out=out), lambda: inner(ar(3), ar(2, 3), out)):
        refuses(TypeError, call, "t.f", "out", type(out).__name__)
    refuses(TypeError, lambda: inner(ar(3), ar(2, 3), (np.zeros(2),)), "t.f", "out", "tuple")
    refuses(TypeError, lambda: inner(ar(3), ar(2, 3), out=(out,)), "t.f", "out", type(out).__name__)


@pytest.mark.row("N36")
def test_out_may_be_a_column_transposed_reversed_or_padded(inner, outer):
    out = np.zeros((2, 2))
    x, y = ar(4), ar(2, 4)
    inner(x, y, out=out[:, 0])
    inner(1 + x, y, out=out[:, 1])
    assert same(out, np.array([[14.0, 20.0], [38.0, 60.0]]))
    x, y = ar(2, 3), ar(4)
    big = np.full((8, 6, 4), -1.0)
    for out in (np.zeros((4, 3, 2)).T, np.zeros((2, 3, 4))[::-1, :, ::-1], big.T[::2, ::2, ::2]):
        outer(x, y, out=out)
        assert same(out, x[..., :, None] * y)
    assert np.all(big[1::2] == -1)


@pytest.mark.row("N37", "N04i")
def test_outs_that_are_none_for_all_outputs(both):
    x, scalar, matrix = ar(3), np.full((), 9.0), np.full((3, 3), 9.0)
    for outs in [
        *((scalar, 3.0), (3.0, None), [scalar, ()]),
        *((scalar, [[0.0] * 3] * 3), {0: scalar, 1: matrix}, "ab", scalar, np.zeros((2, 1))),
    ]:
        refuses(TypeError, lambda outs=outs: both(x, x, out=outs), "t.f", "out")
    for outs, got in [((scalar,), 1), ((scalar, matrix, scalar), 3), ((), 0), ([scalar], 1)]:
        words = "t.f", "out: wanted 2 arrays", f"got {got}"
        refuses(ValueError, lambda outs=outs: both(x, x, out=outs), *words)
    assert scalar == 9 and np.all(matrix == 9)


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
def test_outs_of_several_sizes_broadcast_together(both):
    x, y = ar(2, 5), ar(5)
    for shapes in [((2,), (2, 2, 5, 5)), ((1,), (2, 5, 5)), ((2,), (1, 5, 5))]:
        left = x if len(shapes[1]) == 4 else y
        outs = tuple(map(np.zeros, shapes))
        both(left, y, out=outs)
        assert same(outs[0], np.broadcast_to(left @ y, shapes[0]))
        assert same(outs[1], np.broadcast_to(left[..., :, None] * y, shapes[1]))
    for first, second, words in [
        ((2,), (2, 1, 5, 5), ("must be 2", "got 1")),
        ((3,), (2, 5, 5), ("must be 3",)),
    ]:
        left, outs = x if len(second) == 4 else y, (np.zeros(first), np.zeros(second))
        refuses(ValueError, lambda left=left, outs=outs: both(left, y, out=outs), "t.f", "output1", *words)


@pytest.mark.row("N03i")
def test_an_out_smaller_than_the_result(inner):
    x, y = ar(3), ar(4, 3)
    for shape in [(), (1,), (3,), (0,), (4, 1), (4, 3)]:
        refuses(ValueError, lambda shape=shape: inner(x, y, out=np.zeros(shape)), "t.f", "out", "must be 4")


@pytest.mark.row("N04i")
def test_references_of_outs_are_kept_straight(both):
    x, i, o = ar(3), np.zeros(()), np.zeros((3, 3))
    outs = (i, o)
    before = [sys.getrefcount(thing) for thing in (x, i, o, outs)]
    for _ in range(50):
        both(x, x, out=outs)
        refuses(ValueError, lambda: both(x, ar(4), out=outs), "must be 3", "got 4")
        refuses(TypeError, lambda: both(x, x, out=(i, 1.0)), "'output1'", "got float")
        assert both(x, x, out=(i, None))[0] is both(x, x, i)[0] is i
        assert both(x, x, out=[None, o])[1] is both(x, x, i, o)[1] is o
    assert [sys.getrefcount(thing) for thing in (x, i, o, outs)] == before


# ---- output_dims= ----


DISTANCES = """
    int k = 0;
    for (npy_intp i = 0; i < dims_slice__x[0]; i++)
        for (npy_intp j = i + 1; j < dims_slice__x[0]; j++) {
            double sum = 0;
            for (npy_intp d = 0; d < dims_slice__x[1]; d++)
                sum += (item__x(i, d) - item__x(j, d)) * (item__x(i, d) - item__x(j, d));
            item__output(k++) = sqrt(sum);
        }
    return true;
"""
# Sets each element of the output to its index.
COUNT = "for (int i = 0; i < dims_slice__output[0]; i++) item__output(i) = i; return true;"


def distances(**kw: Any) -> Any:
    return wrap_signature("x(n, d) -> output(m)", DISTANCES, output_dims={"m": "n*(n-1)/2"}, **kw)


def expected(x: Any) -> Any:
    i, j = np.triu_indices(x.shape[-2], 1)
    return np.sqrt(((x[..., i, :] - x[..., j, :]) ** 2).sum(-1))


def length(expression: str, **kw: Any) -> Any:
    """Returns a function n, k -> int that evaluates an expression of them as output_dims= does."""
    f = wrap_signature("a(n), b(k) -> output(m)", COUNT, output_dims={"m": expression}, **kw)
    return lambda n, k=1: len(f(np.zeros(n), np.zeros(k)))


@pytest.mark.row("K08")
@pytest.mark.parametrize(
    "options", [{}, {"debug": True}, {"threads": 2}, {"cast": "safe"}, {"optimize": "eager"}]
)
def test_pairwise_distances_without_out(options):
    f = distances(**options)
    assert f.signature == "x(n, d) -> output(m)" and f.output_dims == {"m": "n*(n-1)/2"}
    for n in (0, 1, 2, 3, 7):
        for outer in ((), (2,), (2, 3), (0,), (300,)):
            x = np.random.default_rng(n).normal(size=(*outer, n, 3))
            for each in (x, x[::-1, ::2]):
                got = f(each)
                assert np.allclose(got, expected(each)) and got.shape == expected(each).shape
                out = np.empty(got.shape)
                assert f(each, out=out) is out and same(out, got)
    refuses(ValueError, lambda: f(x, out=np.empty((300, 20))), "must be 21")


@pytest.mark.row("K08")
def test_out_must_have_the_computed_length():
    f = distances()
    for _ in range(3):  # later calls are quick
        error = refuses(ValueError, lambda: f(ar(4, 2), out=np.empty(5)), "t.f()", "'output'", "'m'")
        assert "must be 6, which is n*(n-1)/2 with n = 4, got 5" in str(error)
        assert same(f(ar(4, 2), out=np.empty(6)), expected(ar(4, 2)))
    assert same(f(ar(4, 2), out=np.empty((2, 6))), np.stack([expected(ar(4, 2))] * 2))


@pytest.mark.quick
@pytest.mark.row("K08")
@pytest.mark.parametrize(
    ("text", "python"),
    [
        ("n + k * 2 + 1", lambda n, k: n + k * 2 + 1),
        ("(n + k) * 2 % 7", lambda n, k: (n + k) * 2 % 7),
        ("0 - (-7 / 2) + n - k + 20", lambda n, k: 3 + n - k + 20),
        ("-(-7 % 4) + n", lambda n, k: 3 + n),
        ("n < k ? n : k", min),
        ("min(n, k) + max(n, k - 1)", lambda n, k: min(n, k) + max(n, k - 1)),
        (
            "(n > k) + 2 * (n >= k) + 4 * (n < k) + 8 * (n <= k) + 16 * (n == k) + 32 * (n != k)",
            lambda n, k: 44 if n < k else 35 if n > k else 26,
        ),
        ("n && k || !n", lambda n, k: int((n and k) != 0 or n == 0)),
        ("k == 0 || n / k > 1 ? 1 : 2", lambda n, k: 1 if k == 0 or n // k > 1 else 2),
        ("k != 0 && n % k == 0 ? n / k : 0", lambda n, k: n // k if k and n % k == 0 else 0),
        ("1 << n >> k", lambda n, k: 1 << n >> k),
        ("1+n<<1", lambda n, k: (1 + n) << 1),
        ("0x1F + 010 + n", lambda n, k: 31 + 8 + n),
        ("n ? k ? 3 : 2 : k ? 1 : 0", lambda n, k: (3 if k else 2) if n else 1 if k else 0),
        ("!!n + + - -k", lambda n, k: int(n != 0) + k),
        (" n\n\t/ 2", lambda n, k: n // 2),
    ],
)
def test_all_operators_are_those_of_c(text, python):
    f = length(text)
    for n, k in np.random.default_rng(0).integers(0, 8, size=(12, 2)):
        assert f(n, k) == python(int(n), int(k)), (n, k)


# Draws an expression as C text and as Python text, with the same value.
def expressions() -> Any:
    leaf = st.one_of(st.integers(0, 9).map(str), st.sampled_from("nk"))

    def more(inner: Any) -> Any:
        binary = st.tuples(inner, st.sampled_from("+ - * / % < <= > >= == != && ||".split()), inner)
        return st.one_of(
            binary.map(lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"),
            inner.map(lambda text: f"(-{text})"),
            inner.map(lambda text: f"!({text})"),
            st.tuples(inner, inner, inner).map(lambda three: "({} ? {} : {})".format(*three)),
            st.tuples(st.sampled_from(["min", "max"]), inner, inner).map(lambda t: "{}({}, {})".format(*t)),
        )

    return st.recursive(leaf, more, max_leaves=8)


@pytest.mark.row("K08")
@settings(max_examples=50, deadline=None)
@given(expressions(), st.integers(0, 5), st.integers(0, 5))
def test_random_expressions_are_what_c_says(text, n, k):
    size = f"({text}) % 50 * (({text}) % 50)"  # a square, so not negative
    header = """
        static npy_intp cwj_least(npy_intp a, npy_intp b) { return a < b ? a : b; }
        static npy_intp cwj_most(npy_intp a, npy_intp b) { return a > b ? a : b; }"""
    code = f"""
        #define min(a, b) cwj_least(a, b)
        #define max(a, b) cwj_most(a, b)
        npy_intp n = dims_slice__a[0], k = dims_slice__b[0];
        item__output() = {size};
        return true;"""
    in_c = wrap_signature("a(n), b(k) -> output()", code, header=header, debug=True)
    f = length(size)
    try:
        wanted = int(in_c(np.zeros(n), np.zeros(k)))
    except cwrapjit.Fault:
        refuses(ValueError, lambda: f(n, k), "divides by zero")
    else:
        assert f(n, k) == wanted


@pytest.mark.quick
@pytest.mark.row("K08")
def test_what_has_no_length_is_refused():
    f = length("n - 2")
    assert f(2) == 0
    error = refuses(ValueError, lambda: f(1), "t.f()", "'m'", "n - 2 is -1 with n = 1", "negative")
    assert "k =" not in str(error)
    refuses(ValueError, lambda: length("n / k")(3, 0), "t.f()", "'m' = n / k divides by zero", "n = 3, k = 0")
    refuses(ValueError, lambda: length("n % k")(3, 0), "divides by zero")
    big = 2**62
    for text in (
        f"{big} + n * {big}",
        f"n * {big} * 2",
        f"-{big} - {big} - n",
        "n << 62",
        "-1 << 63 << n",
        f"-(-{big} * 2) * n",
        f"(-{big} * 2) / -n",
    ):
        value = 2 if text.startswith(("n", "-1", str(big))) else 1
        refuses(ValueError, lambda text=text, value=value: length(text)(value), "t.f()", "too large")
    refuses(ValueError, lambda: length("1 << n")(64), "shifts by a count")
    refuses(ValueError, lambda: length("n >> k - 2")(3, 1), "shifts by a count")
    with pytest.raises((ValueError, MemoryError), match=r"t\.f\(\)"):
        length(f"{big} + 1")(1)
    # out= cannot correct a negative length
    g = wrap_signature("a(n) -> output(m)", COUNT, output_dims={"m": "n - 2"})
    refuses(ValueError, lambda: g(np.zeros(1), out=np.zeros(1)), "n - 2 is -1")
    assert same(g(np.zeros(4), out=np.zeros(2)), ar(2))


@pytest.mark.quick
@pytest.mark.row("K08")
@pytest.mark.parametrize(
    ("text", "place", "word"),
    [
        ("n * q", 4, "no input has a dimension 'q'"),
        ("n * m", 4, "no input has a dimension 'm'"),
        ("n +", 3, "expected a number"),
        ("", 0, "expected a number"),
        ("(n", 2, "expected an operator or ')'"),
        ("n)", 1, "expected an operator or the end"),
        ("n n", 2, "expected an operator or the end"),
        ("n ** 2", 3, "expected a number"),
        ("n & 1", 2, "expected an operator or the end"),
        ("n ? 1", 5, "expected an operator or ':'"),
        ("min(n)", 5, "expected an operator or ','"),
        ("min n", 4, "expected '('"),
        ("09", 1, "octal"),
        ("0x", 2, "expected a digit"),
        ("12ab", 2, "expected a digit"),
        ("1.5", 1, "expected an operator or the end"),
        ("99999999999999999999", 0, "too large"),
        ("n\0", 1, "expected an operator or the end"),
        ("ä + n", 0, "no input has a dimension 'ä'"),
        ("(" * 200 + "n", None, "too deeply nested"),
        ("-" * 200 + "n", None, "too deeply nested"),
        ("+".join("n" * 20000), None, "too large"),
        ("(n < n + n * " * 95 + "n" + ")" * 95, None, "too large"),
        ("n ? " * 120 + "n" + ": n" * 120, None, "too deeply nested"),
    ],
)
def test_a_text_that_is_no_expression_is_refused_with_its_place(text, place, word):
    error = refuses(ValueError, lambda: length(text), "t.f()", "output_dims['m']", word)
    if place is not None:
        assert f"at position {place}\n" in str(error)
        assert str(error).endswith("\n    " + " " * place + "^")


@pytest.mark.quick
@pytest.mark.row("K08")
def test_what_is_no_dim_to_compute_is_refused():
    def define(dims: Any) -> Any:
        return wrap_signature("a(n, 2) -> output(m)", COUNT, output_dims=dims)

    refuses(ValueError, lambda: define({"n": "n"}), "t.f()", "'n' is a dimension of the input 'a'")
    refuses(ValueError, lambda: define({"q": "n"}), "t.f()", "no output has a dimension 'q'")
    refuses(ValueError, lambda: define({"m": "n", "q": "n"}), "no output has a dimension 'q'")
    refuses(ValueError, lambda: define({"m": "n", "1": "n"}), "t.f()", "output_dims", "'1'")
    refuses(TypeError, lambda: define({1: "n"}), "t.f()", "output_dims", "int")
    refuses(TypeError, lambda: define({"m": 3}), "t.f()", "output_dims['m']", "int")
    refuses(TypeError, lambda: define("n"), "t.f()", "output_dims", "dict")
    refuses(TypeError, lambda: define([("m", "n")]), "t.f()", "output_dims", "dict")
    for nothing in (None, {}):
        f = define(nothing)
        assert f.output_dims == {}
        refuses(ValueError, lambda f=f: f(ar(3, 2)), "out is required")
    with pytest.raises(UnicodeEncodeError):
        define({"m": "\ud800"})


@pytest.mark.row("K08")
def test_several_dims_and_outputs_beside_dims_that_only_out_has():
    code = """
        for (int i = 0; i < dims_slice__p[0]; i++) item__p(i) = 1;
        for (int i = 0; i < dims_slice__q[0]; i++)
            for (int j = 0; j < dims_slice__q[1]; j++) item__q(i, j) = 10 * i + j;
        return true;"""
    f = wrap_signature("a(n), inout b(k) -> p(s), q(t, n)", code, output_dims={"s": "n + k", "t": "k * 2"})
    p, q = f(np.zeros(3), np.zeros(2))
    assert same(p, np.ones(5)) and same(q, 10 * ar(4)[:, None] + ar(3))
    assert f.output_dims == {"s": "n + k", "t": "k * 2"}
    g = wrap_signature("a(n) -> p(s), q(t, n)", code, output_dims={"s": "n + 1"})
    refuses(ValueError, lambda: g(np.zeros(3)), "'q'", "no input sets dimension 't', so out is required")
    p, q = g(np.zeros(3), out=(np.empty(4), np.empty((5, 3))))
    assert same(p, np.ones(4)) and q[4, 2] == 42
    refuses(ValueError, lambda: g(np.zeros(3), out=(np.empty(3), np.empty((5, 3)))), "must be 4")
    names = wrap_signature("a(min, max) -> output(m)", COUNT, output_dims={"m": "min * max"})
    assert same(names(ar(2, 3)), ar(6)), "which are functions elsewhere"
    # Two outputs share a dim, an input lacks its dim, and prototypes replace the signature.
    h = wrap((("n",),), (("m",), ("m", 2)), "return true;", output_dims={"m": "n + 1"})
    assert [each.shape for each in h(1.0)] == [(2,), (2, 2)]
    refuses(ValueError, lambda: h(1.0, out=(np.empty(2), np.empty((3, 2)))), "'m'", "must be 2", "got 3")


@pytest.mark.leak
@pytest.mark.parametrize("text", ["n*(n-1)/2 + min(n, 3)", "n + n * " * 20, "n * q"])
def test_definitions_and_calls_keep_nothing(text):
    def define() -> None:
        f = wrap_signature("a(n) -> output(m)", COUNT, output_dims={"m": text}, optimize="off")
        f(np.zeros(4))
        with pytest.raises(ValueError, match="must be 9"):
            f(np.zeros(4), out=np.zeros(8))

    def attempt() -> None:
        try:
            define()
        except ValueError as error:
            assert "output_dims" in str(error)

    keeps_nothing(attempt)
