"""The quick way through a call and the general one: the same results, and the same complaints.

A dtype with metadata is another object than NumPy's own of the same type, so that arrays of it are looked
at step by step.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers import INNER, OUTER, wrap_signature
from hypothesis import given, settings
from hypothesis import strategies as st

MARKED = np.dtype(np.float64, metadata={"marked": True})
COPY = "for(npy_intp i = 0; i < dims_slice__a[0]; i++) item__output(i) = item__a(i); return true;"
GEOMETRY = """
    item__output() = Ndims_full__a * 1000 + Ndims_slice__b * 100 + dims_slice__b[0] * 10 + dims_slice__b[1]
                     + sizeof_element__a + strides_slice__b[1] * .1 + item__a() + item__b(0, 1);
    return true;"""
FUNCTIONS = [
    (2, wrap_signature("a(n), b(n) -> output()", INNER)),
    (2, wrap_signature("a(), b() -> output()", "item__output() = item__a() - 2 * item__b(); return true;")),
    (2, wrap_signature("a(n), b(m) -> output(n, m)", OUTER)),
    (2, wrap_signature("a(), b(n, 2) -> output()", GEOMETRY)),
    (
        2,
        wrap_signature("inout a(), b() -> output()", "item__output() = item__a() += item__b(); return true;"),
    ),
    (2, wrap_signature("a(), inout b(n) -> ()", "item__b(0) += item__a(); return true;")),
    (1, wrap_signature("a(n) -> output(n)", COPY)),
    (1, wrap_signature("a(n, n) -> output()", "item__output() = dims_slice__a[0]; return true;")),
    (1, wrap_signature("a() -> output(n)", "item__output(0) = item__a(); return true;")),
    (
        1,
        wrap_signature(
            "a() -> lo(), hi(2)", "item__lo() = item__a(); item__hi(1) = item__hi(0) = 1; return true;"
        ),
    ),
]


@st.composite
def arrays(draw: Any) -> Any:
    shape = draw(st.lists(st.sampled_from([0, 1, 2, 2, 2, 3, 3]), max_size=3))
    array = np.zeros(shape)
    array[...] = np.arange(1, array.size + 1).reshape(shape)
    kind = draw(st.sampled_from(["plain"] * 6 + ["transposed", "flipped", "readonly", "number"]))
    if kind == "transposed":
        return array.T
    if kind == "flipped":
        return array[..., ::-1] if shape else array
    if kind == "readonly":
        array.flags.writeable = False
    return 2.5 if kind == "number" else array


def marked(value: Any) -> Any:
    """A copy of an array, of the other dtype object, in the same memory order."""
    if isinstance(value, tuple):
        return tuple(marked(one) for one in value)
    if not isinstance(value, np.ndarray):
        return value
    whole = np.zeros(value.size + 1, MARKED)
    low = sum(min(0, (n - 1) * s) for n, s in zip(value.shape, value.strides, strict=True))
    view = np.ndarray(value.shape, MARKED, whole, -low if value.size else 0, value.strides)
    assert view.dtype is MARKED
    view[...] = value
    view.flags.writeable = value.flags.writeable
    return view


def outcome(f: Any, arguments: list[Any], out: Any) -> Any:
    try:
        result = f(*arguments) if out is None else f(*arguments, out=out)
    except (TypeError, ValueError) as error:
        return type(error), str(error)
    results = result if isinstance(result, tuple) else (result,)
    written = [np.asarray(a).tolist() for a in arguments]
    return [(type(r), np.shape(r), np.asarray(r).tolist()) for r in results], written


@pytest.mark.row("N11i", "N20")
@settings(max_examples=600, deadline=None)
@given(st.data())
def test_the_quick_way_is_as_the_general_one(data: Any) -> None:
    count, f = data.draw(st.sampled_from(FUNCTIONS))
    arguments = [data.draw(arrays()) for _ in range(count)]
    out = data.draw(st.one_of(st.none(), arrays(), st.tuples(arrays(), arrays())))
    if data.draw(st.booleans()):  # one that fits
        try:
            out = f(*[np.copy(a) for a in arguments])
            if out is not None:
                out = tuple(map(np.array, out)) if isinstance(out, tuple) else np.array(out)
        except (TypeError, ValueError):
            pass
    others = [marked(a) for a in arguments], marked(out)
    assert outcome(f, arguments, out) == outcome(f, *others)


def again(f: Any, *arguments: Any, **keywords: Any) -> Any:
    """Calls often enough that most calls are known to be short; the result of the last."""
    for _ in range(5):
        result = f(*arguments, **keywords)
    return result


@pytest.mark.quick
@pytest.mark.row("N11i", "N20")
def test_short_calls_of_an_elementwise_function() -> None:
    body = "item__output() = item__a() - 2 * item__b(); return true;"
    f = wrap_signature("a(), b() -> output()", {np.float64: body, np.int32: body})
    for dtype in (np.float64, np.int32, np.float64):
        for shape in [(), (1,), (3,), (2, 3), (2, 1, 3), (2, 2, 1, 3), (2, 1, 2, 1, 3)]:
            a = np.arange(1, np.prod(shape, dtype=int) + 1, dtype=dtype).reshape(shape)
            b = np.asarray(3 * a + 1, dtype)  # NumPy 1 gives int64 for 0-d int32
            expected = a - 2 * b
            for result in (again(f, a, b), again(f, a, b, out=np.empty(shape, dtype))):
                assert result.dtype == dtype and result.shape == shape
                np.testing.assert_array_equal(result, expected)
            np.testing.assert_array_equal(again(f, a, 2), a - 4)
            np.testing.assert_array_equal(again(f, 2, a), 2 - 2 * a)
            np.testing.assert_array_equal(again(f, a, np.array(2, dtype)), a - 4)
            np.testing.assert_array_equal(f(a, b, out=b), expected)
            assert again(f, a, a.copy(), out=a) is a


@pytest.mark.row("N11i", "N20")
def test_short_calls_that_share_memory() -> None:
    add = wrap_signature("a(), b() -> output()", "item__output() = item__a() + item__b(); return true;")
    double = wrap_signature("a(n) -> output(n)", COPY)
    two = wrap_signature(
        "a() -> lo(), hi()", "item__lo() = item__a(); item__hi() = 2 * item__a(); return true;"
    )
    x = np.arange(6.0)
    for f, arguments in [(add, (x, x)), (double, (x,)), (two, (x,))]:
        again(f, *arguments)
    for f, arguments, out in [
        (add, (x[:5], x[:5]), x[1:]),
        (add, (x[1:], x[:5]), x[:5]),
        (add, (x, x[3]), x[::-1]),
        (add, (x[:1].reshape(()), np.ones(1)), x[:1]),
        (double, (x,), x),
        (two, (x[:3],), (x[3:], x[2:5])),
        (two, (x[:2].copy(),), (x[1:3], x[2:4])),
    ]:
        copies = [np.array(a) for a in arguments]
        with pytest.raises(ValueError, match="shares memory"):
            f(*arguments, out=out)
        for a, copy in zip(arguments, copies, strict=True):
            np.testing.assert_array_equal(a, copy)
    lo, hi = np.empty(6), np.empty(6)
    result = again(two, x, out=(lo, hi))
    assert result[0] is lo and result[1] is hi
    np.testing.assert_array_equal(hi, 2 * x)
    np.testing.assert_array_equal(again(two, x[0]), (0.0, 0.0))


@pytest.mark.quick
@pytest.mark.row("N11i", "N25")
def test_short_calls_whose_slices_complain() -> None:
    body = """
        if(item__a(0) < 0) return false;
        if(item__a(0) > 9) { PyErr_Format(PyExc_KeyError, "%d", 9); return true; }
        if(!CHECK_CONTIGUOUS_AND_SETERROR_ALL()) return false;
        item__output(0) = item__a(0); return true;"""
    f = wrap_signature("a(2) -> output(1)", body)
    x = np.arange(4.0)
    again(f, x[:2])
    for out in (None, np.empty(1)):
        assert again(f, x[1:3], out=out) == [1]
        for value, error, text in [(-1, RuntimeError, "returned false"), (10, KeyError, "9")]:
            with pytest.raises(error, match=text):
                f(np.array([value, 1.0]), out=out)
        if out is None:
            with pytest.raises(ValueError, match=r"argument 'a' must be contiguous"):
                f(x[::2], out=out)
