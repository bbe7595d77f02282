"""Generated shapes, strides, dtypes and prototypes against NumPy and against a model in plain Python."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from helpers import INNER, OUTER, refuses, same, wrap

hypothesis = pytest.importorskip("hypothesis")
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

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
    """An array of that shape in memory of any layout: permuted, reversed, stepped, padded, stretched."""
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
    """Extra dims for that many arguments: usually they broadcast, sometimes one dim is spoilt."""
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


# ---- against einsum -------------------------------------------------------------------------------------


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
    """What NumPy says, or None where it refuses. Named dims must be equal: einsum would stretch 1s there."""
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


@pytest.mark.row("N08i", "N12", "N14", "N15", "N16", "N19", "N24", "N40")
@settings(max_examples=600)
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
@settings(max_examples=200)
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


@pytest.mark.row("N13", "N14", "N15", "N16")
@settings(max_examples=300)
@given(broadcastable(3))
def test_broadcast_shapes_are_numpys(shapes):
    f = three_scalars()
    inputs = [np.zeros(shape) for shape in shapes]
    try:
        wanted = np.broadcast_shapes(*shapes)
    except ValueError:
        refuses(ValueError, lambda: f(*inputs), "broadcast")
        return
    assert f(*inputs).shape == wanted


@functools.cache
def three_scalars() -> Any:
    return wrap(((), (), ()), (), "item__output() = item__a() + item__b() + item__c(); return true;")


# ---- generated prototypes -------------------------------------------------------------------------------


Dim = Any  # an int or a name
Proto = tuple[Dim, ...]


def body(ins: list[Proto]) -> str:
    """Sums the elements of all inputs, each weighted by its position in C order and by its argument."""
    lines = ["npy_intp at = 0;", "npy_int64 sum = 0;"]
    for number, proto in enumerate(ins):
        name = "abcd"[number]
        index = [f"i{axis}" for axis in range(len(proto))]
        loops = " ".join(
            f"for (npy_intp {i} = 0; {i} < dims_slice__{name}[{axis}]; {i}++)" for axis, i in enumerate(index)
        )
        lines.append(f"at = 0; {loops} sum += {number + 1} * ++at * item__{name}({', '.join(index)});")
    return "\n".join([*lines, "item__output0() = sum;", FILL, "return true;"])


# output1 gets 0, 1, 2, ... in C order
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
    """What such a call gives, or None where it must be refused."""
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
@settings(max_examples=600)
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
    """What an out of that shape holds, or None where it must be refused."""
    ndim = max(np.ndim(result), len(shape))
    have = (1,) * (ndim - np.ndim(result)) + np.shape(result)
    room = (1,) * (ndim - len(shape)) + shape
    if any(n != m and (n != 1 or m == 0) for n, m in zip(have, room, strict=True)):
        return None
    return np.broadcast_to(np.reshape(result, have), room).reshape(shape)


@pytest.mark.row("N03i", "N35")
@settings(max_examples=400)
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


# ---- inputs of any kind ---------------------------------------------------------------------------------


@pytest.mark.row("N41", "N21", "B02")
@settings(max_examples=200)
@given(
    st.sampled_from("? b B h H i I l L q Q e f d g F D G S3 U2 O V4 M8[s] m8[s] >f8 >i4 <f8 =f4".split()),
    st.integers(0, 3),
)
def test_dtypes_run_their_own_set_or_raise(code, length):
    dtype = np.dtype(code)
    x = np.zeros(length, dtype=dtype)
    known = {np.dtype(t) for t in TYPES}
    same_kind = [t for t in known if t.kind == dtype.kind and t.itemsize == dtype.itemsize and dtype.isnative]
    f = function(",->")
    if same_kind:
        assert f(x, x).dtype == same_kind[0]
    else:
        with pytest.raises(TypeError) as caught:
            f(x, x)
        assert "t.f" in str(caught.value)
