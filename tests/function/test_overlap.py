"""Tests arrays that are written to (outputs, inout and shared arguments), and memory that must not be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers import ar, refuses, same, wrap, wrap_signature
from hypothesis import assume, given
from hypothesis import strategies as st
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
def test_a_read_only_out_is_refused_and_inputs_may_be() -> None:
    frozen, two = np.zeros(3), wrap(((),), ((), ()), "return true;")
    frozen.flags.writeable = False
    for out in (frozen, np.frombuffer(bytes(24), np.float64)):
        refuses(ValueError, lambda out=out: twice()(ar(3), out=out), "t.f", "output", "read-only")
        refuses(ValueError, lambda out=out: two(ar(3), out=(np.zeros(3), out)), "t.f", "output1", "read-only")
        assert twice()(out).tolist() == [0, 0, 0]


@pytest.mark.row("B04", "N21")
def test_unaligned_arrays_are_refused() -> None:
    x, packed = unaligned(3), np.zeros(3, np.dtype([("c", "i1"), ("x", "f8")]))["x"]
    for odd in (x, packed, as_strided(np.zeros(10), (3,), (12,))):
        assert not odd.flags.aligned
        refuses(ValueError, lambda odd=odd: twice()(odd), "t.f", "'a'", "align")
    refuses(ValueError, lambda: twice()(ar(3), out=unaligned(3)), "t.f", "output", "align")
    assert twice()(x.copy()).tolist() == [0, 0, 0]
    of_bytes = wrap(((),), (), {np.uint8: TWICE})
    assert of_bytes(np.arange(8, dtype=np.uint8)[1:]).tolist() == list(range(2, 16, 2))


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
def test_axes_of_one_make_no_other_view() -> None:
    a = ar(2, 3)
    assert twice()(a, out=a[None]).tolist() == [[[0, 2, 4], [6, 8, 10]]]
    assert twice()(a[:, None], out=a.reshape(1, 2, 1, 3)).shape == (1, 2, 1, 3) and a[1, 2] == 20
    refuses(ValueError, lambda: twice()(a[0], out=a[None, 0, ::-1]), "shares memory")
    refuses(ValueError, lambda: twice()(a[None, 0, :2], out=a[0, 1:]), "shares memory")
    both = wrap((("n",),), ("n",), "item__output(0) = item__a(0) + 1; return true;", inplace=True)
    assert both(a[0], out=a[None, 0]).tolist() == [[1, 4, 8]]


UP = cwrapjit.ElementwiseKernel("", "T y", "y += 1", "up")
UPDATE = cwrapjit.vectorize("void add(INOUT double *x, double by) { *x += by; }")


@given(st.data())
def test_elements_are_apart_or_not(data: Any) -> None:
    """A count of the writes to each element tells whether elements overlap."""
    ndim = data.draw(st.integers(1, 4))
    shape = data.draw(st.tuples(*[st.integers(1, 4)] * ndim))
    strides = data.draw(st.tuples(*[st.integers(-9, 9)] * ndim))
    memory, counted = np.zeros(300), np.zeros(300, int)
    np.add.at(
        counted, sum(np.ix_(*(np.arange(n) * step for n, step in zip(shape, strides, strict=True)))) + 150, 1
    )
    view = as_strided(memory[150:], shape, [8 * step for step in strides])
    if counted.max() > 1:
        refuses(ValueError, lambda: UP(view), "several elements in the same memory")
        refuses(ValueError, lambda: UPDATE(view, 2), "several elements in the same memory")
    else:
        UP(view)
        UPDATE(view, 2)
        assert memory.tolist() == (3 * counted).tolist()


@pytest.mark.row("B10")
def test_the_very_same_view_with_core_dims_needs_inplace() -> None:
    x = ar(2, 4)
    refuses(ValueError, lambda: cumulate()(x, out=x), "t.f", "'a'", "'output'", "inplace")
    wanted = np.cumsum(x, -1)
    assert cumulate(inplace=True)(x, out=x) is x and same(x, wanted)
    refuses(ValueError, lambda: cumulate(inplace=True)(x, out=x[:, ::-1]), "t.f", "'a'", "'output'")
    refuses(ValueError, lambda: cumulate(inplace=True)(x[0], out=x), "t.f")


@pytest.mark.row("B10")
def test_two_outs_must_not_share() -> None:
    f = wrap(((),), ((), ()), "item__output0() = item__a(); item__output1() = -item__a(); return true;")
    o = np.zeros(8)
    refuses(ValueError, lambda: f(ar(4), out=(o[:4], o[:4])), "t.f", "output0", "output1")
    refuses(ValueError, lambda: f(ar(4), out=(o[:4], o[3:7])), "t.f", "output0", "output1")
    f(ar(4), out=(o[::2], o[1::2]))
    assert o.tolist() == [0, -0.0, 1, -1, 2, -2, 3, -3]
    for _ in range(5):  # later calls are short
        f(ar(4), out=(o[:4], o[4:]))
        refuses(ValueError, lambda: f(ar(4), out=(o[:4], o[:4])), "t.f", "output0", "output1")


@pytest.mark.quick
@pytest.mark.row("B10")
def test_one_element_is_no_view_of_several_in_its_memory() -> None:
    code = {
        (np.complex128, np.float64, np.float64): "item__output() = creal(item__a()) + item__b(); return true;"
    }
    f, number, x = wrap(((), ()), (), code, header="#include <complex.h>"), np.array(1 + 2j), np.ones(2)
    for _ in range(5):  # later calls are short
        assert f(number, x, out=np.zeros(2)).tolist() == [2, 2]
        refuses(ValueError, lambda: f(number, x, out=number.reshape(1).view(float)), "t.f", "'a'", "'output'")


@pytest.mark.row("B10")
def test_interleaved_views_and_arrays_without_elements_share_nothing() -> None:
    x, f = ar(4, 2), twice()
    out = x[:, 1]
    assert f(x[:, 0], out=out) is out and same(x, np.array([[0, 0], [2, 4], [4, 8], [6, 12.0]]))
    c = np.arange(4) + 1j
    f(c.real, out=c.imag)
    assert c.tolist() == [0, 1 + 2j, 2 + 4j, 3 + 6j]
    assert f(x[:0], out=x[4:]).shape == (0, 2)
    assert cumulate()(x[:, :0], out=x[:, :0]).shape == (4, 0)


@pytest.mark.row("B10")
def test_other_dtypes_of_the_same_memory_are_seen() -> None:
    f = wrap(((),), (), {(np.int32, np.float64): TWICE})
    x = np.zeros(4)
    refuses(ValueError, lambda: f(x.view(np.int32)[:4], out=x), "t.f", "'a'", "'output'")
    f(x[2:].view(np.int32), out=np.zeros(4))
    assert f(x[2:].view(np.int32)[:2], out=x[:2]).tolist() == [0, 0]


# ---- compared with NumPy's exact answer -----------------------------------------------------------

ROOM = 60


@st.composite
def pairs(draw: Any) -> tuple[Any, Any]:
    """Draws two views of one shape in one buffer, neither with internal overlap."""
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    buffer = np.arange(ROOM, dtype=np.float64)
    return tuple(_view(draw, buffer, shape) for _ in "ab")  # type: ignore[return-value]


def _view(draw: Any, buffer: Any, shape: tuple[int, ...]) -> Any:
    """Draws strides from the smallest up, each at least as long as the dims so far."""
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
    assume(not overlaps_itself(a) and not overlaps_itself(out))
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


TWICE_FUNCTION = twice()


# ---- arguments updated in place ----


ADD = "for (int i = 0; i < dims_slice__a[0]; i++) item__a(i) += item__b(i); return true;"


@pytest.fixture
def add():
    code = ADD.replace("return", "item__output() = item__a(0); return")
    return wrap_signature("inout a(n), b(n) -> ()", code)


@pytest.mark.row("K09", "N43")
def test_an_inout_is_an_array_that_fits_and_is_updated(add):
    x = np.ones(3)
    assert add(x, ar(3)) == 1 and same(x, np.array([1.0, 2.0, 3.0]))
    add(x, ar(3))
    assert same(x, np.array([1.0, 3.0, 5.0]))
    for thing in ([1.0, 2.0, 3.0], 1.0, memoryview(np.zeros(3)), np.float64(1)):
        refuses(TypeError, lambda thing=thing: add(thing, ar(3)), "t.f", "'a'", type(thing).__name__)
    refuses(TypeError, lambda: add(np.zeros(3, dtype=np.float32), ar(3)), "t.f", "float32", "float64")
    refuses(ValueError, lambda: add(np.zeros(4), ar(3)), "t.f", "'n'", "must be 4", "got 3")
    x.flags.writeable = False
    refuses(ValueError, lambda: add(x, ar(3)), "t.f", "'a'", "read-only")
    apart = np.lib.stride_tricks.as_strided(np.zeros(3), (2, 3), (0, 8))
    refuses(ValueError, lambda: add(apart, ar(3)), "t.f", "'a'", "same memory")


@pytest.mark.row("K09")
def test_without_outputs_none_is_returned():
    f, x = wrap((("n",), ("n",)), None, ADD, args_inout=("a",)), np.zeros(3)
    assert f(x, ar(3)) is None
    assert same(x, ar(3))
    refuses(TypeError, lambda: f(x, ar(3), out=np.zeros(3)), "t.f", "out")


@pytest.mark.row("K09")
def test_a_strided_inout_is_updated_where_it_is(add):
    whole = np.zeros((4, 6))
    add(whole[1::2, ::2], ar(3))
    assert same(whole[1::2, ::2], np.stack([ar(3)] * 2))
    assert whole.sum() == 6
    back = np.zeros(3)
    add(back[::-1], ar(3))
    assert same(back, ar(3)[::-1])


@pytest.mark.quick
@pytest.mark.row("K09")
def test_an_inout_is_not_stretched_by_broadcasting(add):
    """Otherwise each element would be updated several times."""
    x = np.zeros(3)
    refuses(ValueError, lambda: add(x, ar(2, 3)), "t.f", "'a'", "must be 2")
    assert not x.any()
    many = np.zeros((2, 3))
    add(many, ar(3))
    assert same(many, np.stack([ar(3)] * 2))


@pytest.mark.row("K09", "B10")
def test_an_inout_counts_as_an_output_for_overlap(add):
    x = ar(6)
    for other in (x[1:4], x[2::-1], x[:3]):
        refuses(ValueError, lambda other=other: add(x[:3], other), "t.f", "argument 'a'", "argument 'b'")
    assert same(x, ar(6))
    add(x[:3], x[3:])
    assert same(x, np.array([3.0, 5.0, 7.0, 3.0, 4.0, 5.0]))
    add(x[::2], x[1::2])
    assert x[0] == 8
    code = "item__a(0) = item__b(0); item__b(0) = 7; item__c(0) = 1; return true;"
    both = wrap_signature("inout a(n), inout b(n) -> c(n)", code)
    refuses(ValueError, lambda: both(x[:3], x[2:5]), "t.f", "argument 'a'", "argument 'b'")
    refuses(ValueError, lambda: both(x[:3], x[3:], out=x[3:]), "t.f", "argument 'b'", "output 'c'")
    refuses(ValueError, lambda: both(x[:3], x[3:], out=x[2::-1]), "t.f", "argument 'a'", "output 'c'")
    assert both(x[:3], x[3:])[0] == 1 and x[0] == 3 and x[3] == 7


@pytest.mark.row("K09")
@pytest.mark.parametrize(
    "code", ["item__b(0) = 1;", "item__b(0) += 1;", "item__b(0)++;", "*(const ctype__b *)data_slice__b = 1;"]
)
def test_plain_inputs_are_const_in_c(code):
    define = lambda: wrap_signature("inout a(n), b(n) -> ()", code + " return true;")  # noqa: E731
    error = refuses(cwrapjit.CompileError, define, "read-only")
    assert isinstance(error, SyntaxError)
    assert (error.lineno, error.filename) == (1, "<cwrapjit t.f float64>")


@pytest.mark.row("K09")
@pytest.mark.filterwarnings("error")
def test_pointers_to_inouts_and_outputs_are_writable():
    code = """
        double *a = data_slice__a, *out = data_slice__output;
        const double *b = data_slice__b;
        *out = *a;
        *a = *b;
        return true;"""
    x = np.array(3.0)
    assert wrap_signature("inout a(), b() -> ()", code)(x, 5.0) == 3
    assert x == 5


# ---- arguments that all slices share ----


COUNT = """
    if (item__k() < 0 || item__k() >= dims_slice__counts[0]) {
        PyErr_Format(PyExc_IndexError, "%d is no bin", (int)item__k());
        return false;
    }
    item__counts(item__k())++;
    return true;"""


def histogram(**options: Any) -> cwrapjit.Function:
    return cwrapjit.function(
        "histogram", signature="k(), shared counts(m) ->", Ccode_slice_eval={np.int64: COUNT}, **options
    )


@pytest.mark.parametrize("optimize", ["off", "eager"])
@pytest.mark.parametrize(("slices", "m"), [(10, 5), (5000, 7), (300_000, 3)])
def test_each_slice_writes_where_it_likes(optimize: str, slices: int, m: int) -> None:
    k = np.random.default_rng(3).integers(0, m, slices)
    f = histogram(optimize=optimize)
    for keys in (k, k[::-1], k.reshape(5, -1), k.reshape(5, -1).T, k[::3]):
        counts = np.zeros(m, int)
        for _ in range(3):
            assert f(keys, counts) is None
        assert (counts == 3 * np.bincount(keys.ravel(), minlength=m)).all()
    wide = np.zeros(2 * m, int)
    f(k, wide[::-2])
    assert (wide[::-2] == np.bincount(k, minlength=m)).all() and not wide[::2].any()
    f(np.int64(0), wide[:m])
    f(k[:0], wide[:m])


@pytest.mark.quick
def test_it_does_not_broadcast() -> None:
    f = histogram()
    assert f.signature == "k(), shared counts(m) ->"
    code = {np.int64: "return true;"}
    alike = cwrapjit.function("f", signature="k(), inout shared counts(m) ->", Ccode_slice_eval=code)
    assert alike.signature == f.signature
    frozen, k = np.zeros(3, int), np.zeros(4, int)
    frozen.flags.writeable = False
    for error, keys, counts, words in [
        (ValueError, k[:2], np.zeros((2, 5), int), ("(2, 5): wanted 1 dims", "all slices share it")),
        (ValueError, 1, np.zeros((2, 5), int), ("wanted 1 dims",)),
        (TypeError, k[:2], [0, 0], ("wanted a NumPy array, got list",)),
        (ValueError, k[:2], frozen, ("wanted a writable array",)),
        (ValueError, k, k, ("'counts' shares memory with argument 'k'",)),
        (
            ValueError,
            k,
            np.lib.stride_tricks.as_strided(np.zeros(1, int), (4,), (0,)),
            ("in the same memory",),
        ),
    ]:
        refuses(error, lambda keys=keys, counts=counts: f(keys, counts), "'counts'", *words)
    refuses(IndexError, lambda: f(np.array([9]), np.zeros(2, int)), "9 is no bin")


def test_beside_outputs_and_without_dims() -> None:
    code = "item__total() += item__x(); item__output() = item__total(); return true;"
    f = wrap(((), ()), (), code, names=("total", "x"), args_shared=("total",))
    x = np.random.default_rng(1).random((40, 50))
    for order in "CF":
        total = np.zeros(())
        sums = f(total, np.asarray(x, order=order))
        assert np.allclose(sums, x.cumsum().reshape(x.shape)), "slices run in C order"
        assert np.isclose(total, x.sum())


@pytest.mark.quick
def test_threads_need_a_word() -> None:
    refuses(ValueError, lambda: histogram(threads=2), "they share an argument that each of them may write to")
    assert histogram(threads=2, unordered=True).tier == histogram().tier == "tcc"


@pytest.mark.quick
@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"args_shared": ("q",)}, "args_shared[0] is 'q', which is not in args_input"),
        ({"args_shared": ("b", "b")}, "args_shared has 'b' twice"),
        ({"args_shared": ("b",), "args_inout": ("b",)}, "'b' is in args_inout and in args_shared"),
    ],
)
def test_bad_names(options: dict[str, Any], why: str) -> None:
    refuses(ValueError, lambda: wrap(((), ("m",)), None, "return true;", **options), why)
    define = lambda: wrap_signature("k(), c(m) ->", "return true;", args_shared=("c",))  # noqa: E731
    refuses(TypeError, define, "signature takes the place of args_shared")


def test_debug_and_write_know_it() -> None:
    f = histogram(debug=True)
    counts = np.zeros(3, int)
    f(np.array([1, 1, 2]), counts)
    assert counts.tolist() == [0, 2, 1]
    m = cwrapjit.module("shared_ones")
    m.function("histogram", signature="k(), shared counts(m) ->", Ccode_slice_eval={np.int64: COUNT})
    written: list[str] = []
    m.write(file=type("File", (), {"write": lambda self, text: written.append(text)})())
    assert "CWJ_SHARED, 1, (const npy_intp[]){-1}, 0}" in "".join(written)
