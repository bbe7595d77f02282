"""Tests the order of slices, the layout of new outputs, and slices whose text stands in the loop itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers import ar, refuses, same, view, wrap
from hypothesis import given, settings
from hypothesis import strategies as st

import cwrapjit

COUNT = {(np.float64, np.int64): "static npy_int64 n; item__output() = n++; return true;"}
WITH_COOKIE = {(np.float64, np.int64): "item__output() = cookie->n++; return true;"}


def layouts(shape: tuple[int, ...]) -> list[Any]:
    """Returns arrays of one shape in many memory orders."""
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
def test_order_depends_on_the_broadcast_shape_alone() -> None:
    wanted, sets = (
        np.arange(12).reshape(3, 4),
        {(np.float64, np.int64): "item__output() = next(); return true;"},
    )
    f = wrap(((),), (), sets, header="static npy_int64 next(void) { static npy_int64 n; return n++; }")
    assert same(f(ar(4, 3).T), wanted)
    assert same(f(ar(3)), np.arange(12, 15))
    for out in (np.zeros((4, 3), np.int64).T, np.zeros((3, 4), np.int64)[::-1, ::-1]):
        wrap(((),), (), COUNT)(ar(3, 4), out=out)
        assert same(out, wanted)
    g = wrap(((), ()), (), {(np.float64, np.float64, np.int64): COUNT[np.float64, np.int64]})
    assert same(g(ar(3, 1), ar(4)), wanted)


@pytest.mark.quick
@pytest.mark.row("N19i")
def test_a_cookie_counts_in_c_order_also_with_short_inner_axes() -> None:
    f = wrap(((),), (), WITH_COOKIE, Ccode_cookie_struct="npy_int64 n;")
    for shape in ((3, 4), (2000, 3), (3, 2000), (2, 700, 3)):
        for x in layouts(shape):
            assert same(f(x), np.arange(x.size).reshape(shape))
            assert same(f(x[..., :2]), np.arange(x[..., :2].size).reshape((*shape[:-1], 2)))


FREE = {"unordered": True}


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


@pytest.mark.parametrize("shape", [(2,) * 12, (256, *(2,) * 9), (3, 4, 5, 6, 7)])
def test_lines_of_the_cache_are_used_up_whatever_the_layouts(shape: tuple[int, ...]) -> None:
    """Slices that run one after another share cache lines of operands in C order and in Fortran order."""
    both = {
        (np.int64, np.int64, np.int64): "item__output() = n++ + 0 * (item__a() + item__b()); return true;"
    }
    f = wrap(((), ()), (), both, header="static npy_int64 n;", unordered=True)
    order = f(np.asfortranarray(ar(*shape, dtype=np.int64)), ar(*shape, dtype=np.int64))
    assert np.array_equal(np.sort(order, axis=None), np.arange(order.size))
    first = order < 512
    lines = [np.unique(np.flatnonzero(first.ravel(each)) // 8).size for each in ("C", "F")]
    assert max(lines) <= 100, "64 at least; two to eight times as many, if one operand alone decides"


@pytest.mark.row("N19i")
def test_unordered_runs_every_slice_exactly_once() -> None:
    f = wrap(((),), (), COUNT, unordered=True)
    got = f(ar(4, 5).T)
    assert sorted(got.ravel().tolist()) == list(range(20))


SHORT_AXES = [(2,) * 13, (256, *(2,) * 8), (51, *(2,) * 8), (3, 4, 5, 6, 7, 2, 2), (2, 3) * 5]


def opposite(shape: tuple[int, ...], dtype: Any) -> tuple[Any, Any, Any]:
    """Returns two arrays in opposite orders, and one with mixed and reversed axes."""
    count = np.arange(np.prod(shape)) % 100
    mixed = np.zeros((*shape[::2], *shape[1::2]), dtype)
    order = np.argsort([*range(0, len(shape), 2), *range(1, len(shape), 2)])
    turned = mixed.transpose(order)[tuple(slice(None, None, (-1) ** k) for k in range(len(shape)))]
    c = count.astype(dtype).reshape(shape)
    return np.asfortranarray(c + c.dtype.type(1)), c, turned


@pytest.mark.quick
@pytest.mark.row("N19i")
@pytest.mark.parametrize("shape", SHORT_AXES)
def test_many_short_axes_in_opposite_orders(shape: tuple[int, ...]) -> None:
    code = "item__output() = 2 * item__a() + item__b() * item__c(); return true;"
    odd = "if(item__a() % 2) " + code
    types = [np.int8, np.int16, np.int32, np.int64]
    f, g = (wrap(((), (), ()), (), {(dtype,) * 4: text for dtype in types}) for text in (code, odd))
    for dtype in types:
        a, b, out = opposite(shape, dtype)
        k = np.arange(shape[-1], dtype=dtype)
        with np.errstate(over="ignore"):
            wanted = 2 * a + b * k
        assert same(f(a, b, k), wanted) and same(f(b, a[::-1], k), 2 * b + a[::-1] * k)
        f(a, b, k, out=out)
        assert same(out, wanted)
        out[...] = 7
        g(a, b, k, out=out)
        assert same(out, np.where(a % 2, wanted, 7).astype(dtype)), "slices may leave what is there"


@pytest.mark.row("N19i")
def test_short_axes_run_as_long_ones_on_copies() -> None:
    """The copies are of the input whose order differs from the output's."""
    where = {(np.float64, np.float64, np.int64): "item__output() = (npy_int64)&item__a(); return true;"}
    f = wrap(((), ()), (), where, unordered=True)
    few = ((12,) * 4, (300, 400), (1000, 1500))  # too few axes, or cutting in blocks is faster
    for shape, copied in (((2,) * 13, True), ((3, 8, 4, 5, 7, 6), True), *((each, False) for each in few)):
        a, b, _ = opposite(shape, np.float64)
        first, inside = a.ctypes.data, f(a, b)
        outside = (inside < first) | (inside >= first + a.nbytes)
        assert outside.all() == copied == outside.any()
        if copied:
            assert np.unique(inside).size <= 1024, "in one place"


# ---- layout of new outputs ----


ADD = "item__output() = item__a() + item__b(); return true;"
TYPES = {np.float64: ADD, (np.int8, np.float64, np.float32): ADD}

add_unordered = wrap(((), ()), (), TYPES, unordered=True)
add_in_order = wrap(((), ()), (), TYPES, Ccode_cookie_struct="int slices_may_write_here;")


@st.composite
def views(draw: Any, shape: tuple[int, ...], dtype: Any = np.float64) -> Any:
    """Draws an array that broadcasts to shape: a view with permuted, strided, reversed and stretched axes."""
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
    """Returns lengths and strides of the axes longer than 1."""
    return [(n, stride) for n, stride in zip(array.shape, array.strides, strict=True) if n > 1]


@st.composite
def operands(draw: Any) -> tuple[Any, Any]:
    shape = tuple(draw(st.lists(st.integers(0, 4), max_size=4)))
    return draw(views(shape)), draw(views(shape))


@pytest.mark.row("N19i")
@settings(max_examples=120, deadline=None)
@given(operands())
def test_an_unordered_result_lies_as_that_of_a_ufunc(pair: tuple[Any, Any]) -> None:
    got, want, ordered = add_unordered(*pair), np.add(*pair), add_in_order(*pair)
    assert same(got, want) and same(ordered, want)
    assert np.asarray(ordered).flags.c_contiguous
    if want.size > 1:
        assert geometry(got) == geometry(want)
        assert got.flags.c_contiguous == want.flags.c_contiguous


@pytest.mark.quick
@pytest.mark.row("N19i")
def test_mixed_types_lie_by_the_strides_of_each() -> None:
    x, y = np.zeros((3, 4, 5), np.int8).transpose(2, 0, 1), np.zeros((3, 4, 5)).transpose(2, 0, 1)
    got = add_unordered(x, y)
    assert got.dtype == np.float32
    assert geometry(got) == geometry(np.add(x, y, dtype=np.float64).astype(np.float32, order="K"))


@pytest.mark.row("N19i")
def test_numbers_leave_the_layout_to_the_array_and_several_outputs_lie_alike() -> None:
    x = np.ones((3, 4)).T
    assert add_unordered(x, 2.0).flags.f_contiguous
    assert add_unordered(1, x[::-1]).strides == np.add(1, x[::-1]).strides
    body = "item__output0() = item__a(); item__output1() = item__a() > 1; return true;"
    split = wrap(((),), ((), ()), {(np.float64, np.float64, np.bool_): body}, unordered=True)
    first, second = split(np.arange(6.0).reshape(2, 3).T)
    assert first.flags.f_contiguous and second.flags.f_contiguous
    assert same(second, np.arange(6).reshape(2, 3).T > 1)


@pytest.mark.row("N19i")
def test_core_dims_keep_c_order() -> None:
    body = "for(npy_intp i = 0; i < dims_slice__a[0]; i++) item__output(i) = item__a(i); return true;"
    copy = wrap((("n",),), ("n",), {np.float64: body}, unordered=True)
    x = np.arange(24.0).reshape(2, 3, 4).T
    assert same(copy(x), x)
    assert copy(x).flags.c_contiguous


# ---- slices whose text stands in the loop ----


def is_inlined(f: object) -> bool:
    return "cwj_next:" in f.source  # type: ignore[attr-defined]


@pytest.mark.row("U08")
def test_a_plain_body_stands_in_the_loop() -> None:
    body = "if (item__a() < 0)\n    return false;\nitem__output() = item__a(); return true;"
    f, out = wrap(((),), (), body), np.zeros(4)
    assert is_inlined(f)
    assert f(np.arange(4.0)[::-2]).tolist() == [3, 1] and f(np.empty(0)).tolist() == []
    refuses(RuntimeError, lambda: f(np.array([1.0, 2.0, -1.0, 4.0]), out=out), "returned false")
    assert out.tolist() == [1, 2, 0, 0]


@pytest.mark.row("U08")
def test_a_return_in_a_macro_is_found() -> None:
    body = "BAIL(item__a() < 0); item__output() = item__a(); return true;"
    f, out = wrap(((),), (), body, header="#define BAIL(x) if (x) return false"), np.zeros(3)
    assert not is_inlined(f)
    refuses(RuntimeError, lambda: f(np.array([1.0, -2.0, 3.0]), out=out), "returned false")
    assert out.tolist() == [1, 0, 0]
    body = "item__output() = 1; DONE; item__output() = 2; return true;"
    assert wrap(((),), (), body, header="#define DONE return true")(np.zeros(2)).tolist() == [1, 1]


@pytest.mark.row("U08")
@pytest.mark.parametrize(
    "header", ["#undef true\n#define true 0", "#if MORE\n#define return return 0 *\n#endif"]
)
def test_changed_words_keep_the_change(header: str) -> None:
    refuses(
        RuntimeError,
        lambda: wrap(((),), (), "return true;", header=header, define_macros=["MORE=1"])(np.zeros(2)),
        "returned false",
    )


SKIP = "data_slice__a = (const char *)data_slice__a + strides_slice__a[0]; item__output() = item__a(0);"


@pytest.mark.row("U08")
@pytest.mark.parametrize(
    ("code", "wanted", "options"),
    [
        (SKIP, [1, 3, 5], {}),
        ("dims_slice__a++; strides_slice__a = 0; item__output() = 1;", [1, 1, 1], {}),
        ("strides_slice__a--; item__output() = strides_slice__a[1];", [8, 8, 8], {}),
        ("scale++; item__output() = scale[-1];", [7] * 3, {"extra_args": (("double", "scale", "7", "d"),)}),
        ("item__output() = *text++;", [120] * 3, {"extra_args": (("const char*", "text", '"xyz"', "s"),)}),
        ("cookie++; cookie--; item__output() = ++cookie->n;", [1, 2, 3], {"Ccode_cookie_struct": "int n;"}),
    ],
)
def test_parameters_that_a_slice_changes_are_new_in_the_next(code: str, wanted: Any, options: Any) -> None:
    f = wrap((("n",),), (), code + " return true;", **options)
    assert f(np.arange(6.0).reshape(3, 2)).tolist() == wanted


@pytest.mark.row("U08")
def test_arrays_of_variable_length_do_not_pile_up() -> None:
    body = """
        double copy[dims_slice__a[0]];
        for (int i = 0; i < dims_slice__a[0]; i++)
            copy[i] = item__a(i);
        if (copy[0] < 0)
            return false;
        item__output() = copy[dims_slice__a[0] - 1];
        return true;"""
    f = wrap((("n",),), (), body)
    a = np.broadcast_to(np.arange(10_000.0), (10_000, 10_000))
    assert (f(a) == 9999).all()


@pytest.mark.row("U08")
@pytest.mark.parametrize("word", ["break", "continue"])
def test_leaving_no_loop_is_an_error(word: str) -> None:
    code = f"if (item__a() > 0) {word}; return true;"
    refuses(cwrapjit.CompileError, lambda: wrap(((),), (), code), word)
    assert is_inlined(wrap(((),), (), f"while (item__a() < 1) {word}; return true;"))


@pytest.mark.row("U08")
def test_names_that_hide_in_macros_are_there() -> None:
    last = "#define LAST item__a(dims_slice__a[0] - 1)"
    f = wrap((("n",),), (), "item__output() = LAST; return true;", header=last)
    assert is_inlined(f)
    assert f(np.arange(6.0).reshape(2, 3)).tolist() == [2, 5]
    glue = "#define OF(x) x##a"
    f = wrap((("n",),), (), "item__output() = OF(dims_slice__)[0] + OF(item__)(1); return true;", header=glue)
    assert f(np.arange(6.0).reshape(2, 3)).tolist() == [4, 7]
