"""Compares generated calls with NumPy and with a model in plain Python, and quick calls with general ones."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from helpers import INNER, OUTER, same, wrap, wrap_signature
from hypothesis import given, settings
from hypothesis import strategies as st

TYPES = (np.float64, np.float32, np.int64, np.int32, np.uint8)
MATMUL = """
    for (int i = 0; i < dims_slice__a[0]; i++)
        for (int k = 0; k < dims_slice__b[1]; k++) {
            item__output(i, k) = 0;
            for (int j = 0; j < dims_slice__a[1]; j++)
                item__output(i, k) += item__a(i, j) * item__b(j, k);
        }
    return true;
"""
FUNCTIONS = {
    "...i,...i->...": ((("n",), ("n",)), (), INNER),
    "...i,...j->...ij": ((("n",), ("m",)), ("n", "m"), OUTER),
    "...ij,...jk->...ik": ((("n", "m"), ("m", "k")), ("n", "k"), MATMUL),
    "...ii->...i": ((("n", "n"),), ("n",), """
        for (int i = 0; i < dims_slice__a[0]; i++)
            item__output(i) = item__a(i, i);
        return true;"""),
    ",->": (((), ()), (), "item__output() = item__a() * item__b(); return true;"),
}  # fmt: skip


@functools.cache
def function(formula: str) -> Any:
    ins, outs, code = FUNCTIONS[formula]
    return wrap(ins, outs, dict.fromkeys(TYPES, code))


# ---- generated arrays -----------------------------------------------------------------------------------


@st.composite
def arrays(draw: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Draws an array with any layout: permuted, reversed, stepped, padded, stretched."""
    order = draw(st.permutations(range(len(shape))))
    steps = [draw(st.sampled_from([1, 1, 2, -1, -2])) for _ in shape]
    zero = [n > 1 and draw(st.integers(0, 9)) == 0 for n in shape]
    base = tuple(
        1 if flat else n * abs(step) + draw(st.integers(0, 1))
        for n, step, flat in zip(shape, steps, zero, strict=True)
    )
    size = int(np.prod(base, dtype=int))
    start = draw(st.integers(0, 5))
    memory = ((np.arange(size) * 7 + start) % 11).astype(dtype).reshape([base[axis] for axis in order])
    view = memory.transpose(np.argsort(order)) if shape else memory
    for axis, (n, step, flat) in enumerate(zip(shape, steps, zero, strict=True)):
        if not flat:
            view = np.moveaxis(np.moveaxis(view, axis, 0)[::step][:n], 0, axis)
    return np.broadcast_to(view, shape)


@st.composite
def broadcastable(draw: Any, count: int) -> list[tuple[int, ...]]:
    """Draws the leading dims of that many arguments. Usually they broadcast; sometimes one is wrong."""
    ndim = draw(st.sampled_from([0, 1, 2, 2, 3, 4]))
    whole = draw(st.lists(st.sampled_from([1, 2, 3, 4, 2, 3, 4, 0]), min_size=ndim, max_size=ndim))
    shapes = []
    for _ in range(count):
        length = draw(st.sampled_from([ndim, draw(st.integers(0, ndim))]))
        shape = [
            1 if draw(st.booleans()) and draw(st.booleans()) else n for n in whole[len(whole) - length :]
        ]
        if shape and draw(st.integers(0, 19)) == 0:
            shape[draw(st.integers(0, length - 1))] = 5
        shapes.append(tuple(shape))
    return shapes


# ---- compared with einsum -------------------------------------------------------------------------------


@st.composite
def einsum_calls(draw: Any) -> tuple[str, list[Any]]:
    formula = draw(st.sampled_from(sorted(FUNCTIONS)))
    dims = {letter: draw(st.integers(0, 4)) for letter in "ijk"}
    terms = formula.split("->")[0].split(",")
    dtype = draw(st.sampled_from(TYPES))
    extras = draw(broadcastable(len(terms)))
    inputs = []
    for term, extra in zip(terms, extras, strict=True):
        core = tuple(dims[letter] for letter in term if letter in dims)
        if core and draw(st.integers(0, 14)) == 0:
            core = (*core[:-1], core[-1] + 1)
        inputs.append(draw(arrays(extra + core, dtype)))
    return formula, inputs


def einsum(formula: str, inputs: list[Any]) -> Any:
    """Returns NumPy's result, or None if it is an error. Named dims may not stretch, unlike in einsum."""
    seen: dict[str, int] = {}
    terms = formula.split("->")[0].split(",")
    for term, x in zip(terms, inputs, strict=True):
        letters = term.replace("...", "")
        for letter, n in zip(letters, x.shape[x.ndim - len(letters) :], strict=True):
            if seen.setdefault(letter, n) != n:
                return None
    try:
        return np.einsum(formula if "..." in formula else "...,...->...", *inputs)
    except ValueError:
        return None


@pytest.mark.row("N08i", "N12", "N13", "N14", "N15", "N16", "N19", "N24", "N40")
@settings(max_examples=300)
@given(einsum_calls())
def test_against_einsum(call):
    formula, inputs = call
    f, wanted = function(formula), einsum(formula, inputs)
    if wanted is None:
        with pytest.raises(ValueError) as caught:
            f(*inputs)
        assert "t.f" in str(caught.value)
        return
    assert same(f(*inputs), wanted)
    out = np.zeros(wanted.shape, wanted.dtype)
    assert f(*inputs, out=out) is out
    assert same(out, wanted)


@pytest.mark.row("N10", "N36", "N08i")
@settings(max_examples=100)
@given(einsum_calls(), st.data())
def test_out_of_any_layout(call, data):
    formula, inputs = call
    wanted = einsum(formula, inputs)
    if wanted is None:
        return
    whole = np.full([2 * n + 1 for n in wanted.shape[::-1]], 77, dtype=wanted.dtype)
    steps = [data.draw(st.sampled_from([1, 2])) for _ in wanted.shape]
    cut = tuple(slice(0, n * step, step) for n, step in zip(wanted.shape, steps, strict=True))
    out = whole.T[(*cut, ...)]
    function(formula)(*inputs, out=out)
    assert same(out, wanted)
    whole.T[cut] = 77
    assert np.all(whole == 77)


# ---- generated prototypes -------------------------------------------------------------------------------


Proto = tuple[Any, ...]  # ints and names


def body(ins: list[Proto]) -> str:
    """Returns C text that sums all elements, weighted by position in C order and by argument."""
    lines = ["npy_intp at = 0;", "npy_int64 sum = 0;"]
    for number, proto in enumerate(ins):
        name = "abcd"[number]
        index = [f"i{axis}" for axis in range(len(proto))]
        loops = " ".join(
            f"for (npy_intp {i} = 0; {i} < dims_slice__{name}[{axis}]; {i}++)" for axis, i in enumerate(index)
        )
        lines.append(f"at = 0; {loops} sum += {number + 1} * ++at * item__{name}({', '.join(index)});")
    return "\n".join([*lines, "item__output0() = sum;", FILL, "return true;"])


# Fills output1 with 0, 1, 2, ... in C order.
FILL = """
    npy_intp n = 0;
    for (npy_intp i = 0; i < dims_slice__output1[0]; i++)
        for (npy_intp j = 0; j < dims_slice__output1[1]; j++)
            item__output1(i, j) = n++;
"""


@st.composite
def prototypes(draw: Any) -> tuple[list[Proto], Proto]:
    dim = st.sampled_from(["n", "m", "k", 0, 1, 2, 3])
    ins = draw(st.lists(st.lists(dim, max_size=3).map(tuple), max_size=4))
    known = sorted({d for proto in ins for d in proto if isinstance(d, str)})
    out = draw(st.lists(st.sampled_from([*known, 0, 1, 2]), min_size=2, max_size=2).map(tuple))
    return ins, out


def model(ins: list[Proto], out: Proto, inputs: list[Any]) -> tuple[Any, Any] | None:
    """Returns the results of a call, or None if it must be rejected."""
    named: dict[str, int] = {}
    sums: list[Any] = []
    for number, (proto, x) in enumerate(zip(ins, inputs, strict=True)):
        full = x.reshape((1,) * (len(proto) - x.ndim) + x.shape)
        extra = full.ndim - len(proto)
        for want, got in zip(proto, full.shape[extra:], strict=True):
            if isinstance(want, str):
                want = named.setdefault(want, got)
            if want != got:
                return None
        flat = full.reshape((*full.shape[:extra], int(np.prod(full.shape[extra:], dtype=int))))
        sums.append(((number + 1) * (1 + np.arange(flat.shape[-1])) * flat).sum(axis=-1, dtype=np.int64))
    try:
        total = functools.reduce(np.add, sums, np.int64(0))
    except ValueError:
        return None
    core = [named[d] if isinstance(d, str) else d for d in out]
    fill = np.broadcast_to(np.arange(np.prod(core, dtype=int)).reshape(core), (*np.shape(total), *core))
    return total, fill


@st.composite
def prototype_calls(draw: Any) -> tuple[list[Proto], Proto, list[Any]]:
    ins, out = draw(prototypes())
    sizes = {name: draw(st.integers(0, 3)) for name in "nmk"}
    inputs = []
    for proto, extra in zip(ins, draw(broadcastable(len(ins))), strict=True):
        core = [sizes[d] if isinstance(d, str) else d for d in proto]
        if core and draw(st.integers(0, 9)) == 0:
            core[draw(st.integers(0, len(core) - 1))] = draw(st.integers(0, 3))
        shape = tuple(extra) + tuple(core)
        while shape and shape[0] == 1 and draw(st.booleans()):
            shape = shape[1:]
        inputs.append(draw(arrays(shape, np.int64)))
    return ins, out, inputs


@pytest.mark.row("N01i", "N02i", "N06i", "N07i", "N16", "N22", "N23", "N25", "N30")
@settings(max_examples=200)
@given(prototype_calls())
def test_any_prototype_against_a_model(call):
    ins, out, inputs = call
    f = wrap(tuple(ins), ((), out), {np.int64: body(ins)})
    wanted = model(ins, out, inputs)
    if wanted is None:
        with pytest.raises(ValueError) as caught:
            f(*inputs)
        assert "t.f" in str(caught.value)
        return
    total, fill = f(*inputs)
    assert same(total, wanted[0])
    assert same(fill, wanted[1])


# ---- outputs larger than the result ---------------------------------------------------------------------


def copies(result: Any, shape: tuple[int, ...]) -> Any:
    """Returns the contents of an out of that shape, or None if it must be rejected."""
    ndim = max(np.ndim(result), len(shape))
    have = (1,) * (ndim - np.ndim(result)) + np.shape(result)
    room = (1,) * (ndim - len(shape)) + shape
    if any(n != m and (n != 1 or m == 0) for n, m in zip(have, room, strict=True)):
        return None
    return np.broadcast_to(np.reshape(result, have), room).reshape(shape)


@pytest.mark.row("N03i", "N35")
@settings(max_examples=150)
@given(broadcastable(2), st.lists(st.sampled_from([0, 1, 2, 3, 4]), max_size=4), st.booleans())
def test_out_holds_copies_or_is_refused(shapes, more, free):
    x, y = (np.arange(1.0, np.prod(shape, dtype=int) + 1).reshape(shape) for shape in shapes)
    try:
        result = x * y
    except ValueError:
        return
    shape = tuple(more) if free else tuple(more[:2]) + np.shape(result)
    out = np.full(shape, -1.0)
    wanted = copies(result, shape)
    f = function(",->")
    if wanted is None:
        with pytest.raises(ValueError) as caught:
            f(x, y, out=out)
        assert "t.f" in str(caught.value)
        assert np.all(out == -1)
    else:
        assert f(x, y, out=out) is out
        assert same(out, wanted)


# ---- quick calls and general calls: the same results and errors ------------------------------------------


# A dtype with metadata is not NumPy's own object, so quick calls reject its arrays.
MARKED = np.dtype(np.float64, metadata={"marked": True})
COPY = "for(npy_intp i = 0; i < dims_slice__a[0]; i++) item__output(i) = item__a(i); return true;"
GEOMETRY = """
    item__output() = Ndims_full__a * 1000 + Ndims_slice__b * 100 + dims_slice__b[0] * 10 + dims_slice__b[1]
                     + sizeof_element__a + strides_slice__b[1] * .1 + item__a() + item__b(0, 1);
    return true;"""
EITHER_WAY = [
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
def arguments(draw: Any) -> Any:
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
    """Returns a copy of an array with that dtype object and the same layout."""
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
@settings(max_examples=200, deadline=None)
@given(st.data())
def test_the_quick_way_is_as_the_general_one(data: Any) -> None:
    count, f = data.draw(st.sampled_from(EITHER_WAY))
    given_ = [data.draw(arguments()) for _ in range(count)]
    out = data.draw(st.one_of(st.none(), arguments(), st.tuples(arguments(), arguments())))
    if data.draw(st.booleans()):  # makes one that fits
        try:
            out = f(*[np.copy(a) for a in given_])
            if out is not None:
                out = tuple(map(np.array, out)) if isinstance(out, tuple) else np.array(out)
        except (TypeError, ValueError):
            pass
    others = [marked(a) for a in given_], marked(out)
    assert outcome(f, given_, out) == outcome(f, *others)


def again(f: Any, *arguments: Any, **keywords: Any) -> Any:
    """Calls until most calls are known to be short. Returns the last result."""
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
            b = np.asarray(3 * a + 1, dtype)  # for 0-d int32, NumPy 1 gives int64
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
        (double, (x,), x),
        (two, (x[:3],), (x[3:], x[2:5])),
        (two, (x[:2].copy(),), (x[1:3], x[2:4])),
    ]:
        copies = [np.array(a) for a in arguments]
        with pytest.raises(ValueError, match="shares memory"):
            f(*arguments, out=out)
        for a, copy in zip(arguments, copies, strict=True):
            np.testing.assert_array_equal(a, copy)
    one = x[4:5].copy()
    assert again(add, one.reshape(()), np.ones(1), out=one) is one, "the same element: axes of 1 do not count"
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
