"""Tests windows=: a slice sees a window that moves over its input."""

from __future__ import annotations

import io
import re
from typing import Any

import leaks
import numpy as np
import pytest
from helpers import python, refuses, same, wrap_signature
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import sliding_window_view

import cwrapjit

BORDERS = ("reflect", "nearest", "wrap", "mirror", "constant")
# Maps borders to the modes of np.pad.
PADS = dict(zip(BORDERS, ("symmetric", "edge", "wrap", "reflect", "constant"), strict=True))
RANDOM = np.random.default_rng(17)


def copy(ndim: int) -> str:
    """Returns C text that copies the window."""
    loops = "".join(
        f"for (int {c} = 0; {c} < dims_slice__x[{k}]; {c}++) " for k, c in enumerate("ijk"[:ndim])
    )
    index = ", ".join("ijk"[:ndim])
    return f"{loops} item__y({index}) = item__x({index}); return true;"


MEAN3 = """
    item__y() = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            item__y() += item__x(i, j);
    item__y() /= 9;
    return true;
"""


def copier(size: tuple[int, ...], dtype: Any = np.float64, **kw: Any) -> Any:
    """Returns a function whose result is the window itself."""
    shape = ", ".join(map(str, size))
    code = {dtype: copy(len(size))}
    return wrap_signature(f"x() -> y({shape})", code, windows={"x": size}, **kw)


def mean(**kw: Any) -> Any:
    return wrap_signature("x(3, 3) -> y()", MEAN3, windows={"x": (3, 3)}, **kw)


def expected(
    x: Any,
    size: tuple[int, ...],
    border: str,
    cval: Any = 0,
    axes: tuple[int, ...] | None = None,
    steps: tuple[int, ...] | None = None,
) -> Any:
    """Returns all windows of an array that NumPy pads at once."""
    axes = tuple(a % x.ndim for a in axes or range(-len(size), 0))
    pads, cut = [(0, 0)] * x.ndim, [slice(None)] * x.ndim
    for axis, n, step in zip(axes, size, steps or (1,) * len(size), strict=True):
        pads[axis] = (n // 2, n - 1 - n // 2)
        cut[axis] = slice(None, None, step)
    options = {"constant_values": cval} if border == "constant" else {}
    padded = np.pad(x, pads, mode=PADS[border], **options)
    return sliding_window_view(padded, size, axes)[tuple(cut)]


# ---- what windows see ----------------------------------------------------------------------------------


@pytest.mark.row("K17")
@pytest.mark.parametrize(
    "border, line",
    list(zip(BORDERS, "cbaabccba aaaabcccc abcabcabc bcbabcbab zzzabczzz".split(), strict=True)),
)
def test_the_edges_are_extended_as_scipy_says(border, line):
    f = copier((7,), np.int64, border=border, cval=ord("z"))
    seen = f(np.array([ord(c) for c in "abc"]))
    assert ["".join(map(chr, row)) for row in seen] == [line[i : i + 7] for i in range(3)]


@pytest.mark.row("K17")
@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("size", [(1, 1), (3, 3), (2, 4), (1, 5), (9, 3), (40, 2)])
def test_windows_are_those_of_numpy(border, size):
    f = copier(size, border=border, cval=-2.5)
    for shape in [(6, 7), (1, 1), (1, 9), (9, 1), (2, 3), (30, 41), (2, 5, 6), (3, 1, 2, 2)]:
        x = RANDOM.normal(size=shape)
        assert same(f(x), expected(x, size, border, -2.5)), shape


@pytest.mark.quick
@pytest.mark.row("K17")
@given(data=st.data())
@settings(max_examples=60)
def test_any_shape_strides_axes_and_steps(data):
    ndim = data.draw(st.integers(1, 4))
    core = data.draw(st.integers(1, min(ndim, 3)))
    size = tuple(data.draw(st.lists(st.integers(1, 5), min_size=core, max_size=core)))
    axes = tuple(data.draw(st.permutations(range(-ndim, 0)))[:core])
    steps = tuple(data.draw(st.lists(st.integers(1, 4), min_size=core, max_size=core)))
    border, dtype = data.draw(st.sampled_from(BORDERS)), np.dtype(data.draw(st.sampled_from("dhBDg?")))
    base = RANDOM.integers(0, 2, (2 * ndim + 9,) * ndim).astype(dtype)
    cut = []
    for stride in [data.draw(st.sampled_from([1, 2, -1, -2])) for _ in range(ndim)]:
        n = data.draw(st.integers(0, 7))
        cut.append(slice(None, n * stride, stride) if stride > 0 else slice(n, None, stride))
    x = base.transpose(data.draw(st.permutations(range(ndim))))[tuple(cut)]
    f = copier(size, dtype, border=border, cval=True, axes={"x": axes}, window_steps={"x": steps})
    got = f(x)
    if x.size == 0:
        counts = list(x.shape)
        for axis, step in zip(axes, steps, strict=True):
            counts[axis] = -(-x.shape[axis] // step)
        assert got.shape == (*counts, *size)
    else:
        assert same(got, expected(x, size, border, 1, axes, steps))


@pytest.mark.quick
@pytest.mark.row("K17")
def test_nothing_is_empty_or_too_large():
    f = mean()
    assert f(np.empty((0, 5))).shape == (0, 5) and f(np.empty((3, 0, 5))).shape == (3, 0, 5)
    assert f(np.empty((5, 0))).shape == (5, 0) and f(np.empty((0, 4, 5))).shape == (0, 4, 5)
    wide = np.broadcast_to(np.float64(3), (50, 60))
    assert np.allclose(f(wide), 3)
    assert f([[1.0, 2.0], [3.0, 4.0]]).shape == (2, 2)
    # The window is much larger than its array, and there are more of them than one gather takes.
    huge = wrap_signature(
        "x() -> y()", "item__y() = item__x(0); return true;", windows={"x": (100_001,)}, border="wrap"
    )
    x = RANDOM.normal(size=(40, 5))
    assert same(huge(x), np.roll(x, 50_000, axis=1))


@pytest.mark.row("K17")
def test_several_windows_and_arrays_beside_them():
    """The windows have different sizes and borders; the weights w are per element; leading dims broadcast."""
    f = wrap_signature(
        "x(), y(), w() -> z(2)",
        """
        item__z(0) = item__x(0, 0) + item__w() * item__y(2, 0);
        item__z(1) = item__x(1, 4) - item__w() * item__y(0, 0);
        return true;""",
        windows={"x": (3, 5), "y": (3, 1)},
        border={"x": "wrap", "y": "constant"},
        cval={"y": 7.0},
    )
    for xs, ys, ws in [
        ((6, 7), (6, 7), (6, 7)),
        ((4, 6, 7), (6, 7), ()),
        ((6, 7), (3, 1, 6, 7), (3, 2, 1, 1)),
        ((1, 7), (6, 7), (6, 1)),
        ((6, 7), (6, 1), (7,)),
        ((1, 1), (1, 1), (4, 5)),
    ]:
        x, y, w = RANDOM.normal(size=xs), RANDOM.normal(size=ys), RANDOM.normal(size=ws)
        ex, ey = expected(x, (3, 5), "wrap"), expected(y, (3, 1), "constant", 7)
        wanted = np.stack([ex[..., 0, 0] + w * ey[..., 2, 0], ex[..., 1, 4] - w * ey[..., 0, 0]], axis=-1)
        assert same(f(x, y, w), wanted)
    says = "axis -1 must be 7 or 1 to broadcast with 'x', got 6"
    refuses(
        ValueError, lambda: f(np.ones((6, 7)), np.ones((6, 6)), 1.0), "argument 'y' with shape (6, 6)", says
    )


@pytest.mark.quick
@pytest.mark.row("K17")
def test_a_window_whose_shape_another_input_has():
    code = """
        item__y() = 0;
        for (npy_intp i = 0; i < dims_slice__x[0]; i++)
            for (npy_intp j = 0; j < dims_slice__w[1]; j++)
                item__y() += item__x(i, j) * item__w(i, j);
        return true;"""
    f = wrap_signature("x(), w(n, m) -> y()", code, windows={"x": ("n", "m")})
    assert f.signature == "x(n, m), w(n, m) -> y()"
    again = wrap_signature("x(n, m), w(n, m) -> y()", code, windows={"x": ("n", "m")})
    assert again.signature == f.signature
    turned = lambda: wrap_signature("x(m, n), w(n, m) -> y()", code, windows={"x": ("n", "m")})  # noqa: E731
    refuses(ValueError, turned, "windows for 'x'")
    x = RANDOM.normal(size=(9, 8))
    for size in [(1, 1), (3, 3), (2, 5), (30, 1)]:
        w = RANDOM.normal(size=size)
        assert np.allclose(f(x, w), (expected(x, size, "reflect") * w).sum((-1, -2)))
    refuses(ValueError, lambda: f(x, np.empty((0, 3))), "argument 'x'", "'n' = 0")


@pytest.mark.row("K17")
def test_computed_lengths_go_with_windows():
    f = wrap_signature(
        "x(), w(n) -> y(m)",
        "for (int i = 0; i < dims_slice__y[0]; i++) item__y(i) = item__x(i % dims_slice__w[0]); return true;",
        windows={"x": ("n",)},
        output_dims={"m": "2 * n"},
    )
    x = RANDOM.normal(size=6)
    windows = expected(x, (3,), "reflect")
    assert same(f(x, np.ones(3)), np.concatenate([windows, windows], axis=-1))


@pytest.mark.row("K17")
def test_types_and_numbers_outside():
    for dtype in "?bBhHiIlLfdgFDG":
        f = copier((3, 2), dtype, border="constant", cval=True)
        x = RANDOM.integers(0, 100, (4, 5)).astype(dtype)
        assert same(f(x), expected(x, (3, 2), "constant", 1)), dtype
    both = {np.float32: copy(1), np.int32: copy(1)}
    f = wrap_signature("x() -> y(3)", both, windows={"x": (3,)}, border="grid-constant", cval=-4)
    for dtype in both:
        x = np.arange(5, dtype=dtype)
        assert same(f(x), expected(x, (3,), "constant", -4))
    nan = copier((3,), border="constant", cval=np.float32("nan"))
    assert np.isnan(nan(np.ones(2))[0, 0])
    # Bytes are read through the pointer; outside of the array they are 0.
    code = "memcpy(data_slice__y, (char *)data_slice__x, 3); return true;"
    f = wrap_signature("x() -> y()", {("S3", "S3"): code}, windows={"x": (3,)}, border="constant")
    assert same(f(np.array([b"abc", b"def"])), np.array([b"", b"abc"]))


# ---- windows with all options of functions --------------------------------------------------------------


@pytest.mark.row("K17")
def test_all_that_functions_have():
    m = cwrapjit.module("wins", "", header="static double twice(double x) { return 2 * x; }")
    f = m.function(
        "f",
        "Weighted",
        args_input=("x", "y"),
        prototype_input=((3,), ()),
        prototype_output=((), ("n",)),
        Ccode_slice_eval={
            np.float64: """
            item__output0() = twice(item__x(0)) + cookie->sum + item__y();
            for (int i = 0; i < dims_slice__output1[0]; i++)
                item__output1(i) = item__x(2);
            return true;"""
        },
        Ccode_cookie_struct="double sum;",
        Ccode_validate="""
            cookie->sum = *factor + dims_full__x[0] + 10 * Ndims_full__x + 100 * dims_slice__x[0];
            return *(double *)data__x >= 0 && strides_full__x[0] == 8;""",
        extra_args=(("double", "factor", "1", "d"),),
        windows={"x": (3,)},
    )
    x = np.abs(RANDOM.normal(size=6))
    windows = expected(x, (3,), "reflect")
    out = (np.zeros(6), np.zeros((6, 2)))
    assert f(y=1.0, x=x, factor=2.0, out=out) is out
    assert np.allclose(out[0], 2 * windows[:, 0] + 2 + 6 + 10 + 300 + 1)
    assert same(out[1], np.repeat(windows[:, 2:], 2, axis=1))
    refuses(RuntimeError, lambda: f(-x, 1.0, out=out), "wins.f()", "Ccode_validate returned false")


@pytest.mark.quick
@pytest.mark.row("K17")
def test_out_does_not_share_memory_with_the_array():
    f, x, out, big = mean(), RANDOM.normal(size=(6, 7)), np.empty((6, 7)), np.empty((12, 7))
    assert f(x, out=out) is out and same(out, f(x))
    assert same(f(x, out=np.empty((2, 6, 7)))[1], out)
    for g in (f, mean(inplace=True)):
        refuses(ValueError, lambda g=g: g(x, out=x), "'y' shares memory with argument 'x'")
    refuses(ValueError, lambda: f(big[:6], out=big[3:9]), "shares memory with argument 'x'")
    assert f(big[:6], out=big[6:]).base is big
    refuses(ValueError, lambda: f(x, out=np.empty((6, 6))), "'y' with shape (6, 6)", "axis -1 must be 7")


@pytest.mark.row("K17")
def test_a_failing_slice_ends_the_call():
    code = """
        if (item__x(1) == 5) { PyErr_SetString(PyExc_KeyError, "five"); return false; }
        item__y() = item__x(0);
        return true;"""
    f = wrap_signature("x() -> y()", code, windows={"x": (3,)})
    for at in range(7):
        x = np.zeros((2, 7))
        x[1, at] = 5
        refuses(KeyError, lambda x=x: f(x), "five")
    assert f(np.zeros(7)).sum() == 0


@pytest.mark.row("K17")
def test_both_tiers_and_threads_say_the_same():
    x = RANDOM.normal(size=(3, 500, 333)).astype(np.float32)
    results = []
    for options in ({"optimize": "off"}, {"threads": 4, "optimize": "eager"}, {"unordered": True}):
        f = wrap_signature("x() -> y()", {np.float32: MEAN3}, windows={"x": (3, 3)}, **options)
        for each in (x[:, ::2, ::-1], np.asfortranarray(x), x):
            got = f(each)
            assert np.allclose(got, expected(each, (3, 3), "reflect").mean((-1, -2)), atol=1e-5)
        results.append(got)
    assert same(results[1], results[0]) and same(results[2], results[0])


@pytest.mark.row("K17")
def test_loops_know_the_stride_of_a_windows_last_axis():
    """Loops assume no other stride of a window: images have any size. `k` may be a number (step 0)."""
    code = "item__y() = item__x(1, 1) + item__k() * (item__x(0, 1) + item__x(1, 2)); return true;"
    options: dict[str, Any] = {"windows": {"x": (3, 3)}, "window_steps": {"x": (1, 2)}}
    m, text = cwrapjit.module("written_heat", ""), io.StringIO()
    m.function("heat", signature="x(), k() -> y()", Ccode_slice_eval={np.float64: code}, **options)
    m.write(text)
    for step in ("8", "0"):
        choice = rf"cwj_steps\[0\] == 8 \* 2 &&\s+cwj_steps\[1\] == {step} &&[^;]*;"
        found = re.search(choice, text.getvalue())
        assert found and "cwj->operands[0].strides_slice[1] == 8" in found[0]
        assert "cwj->operands[0].strides_slice[0]" not in found[0]
    off, eager = (
        wrap_signature("x(), k() -> y()", code, optimize=tier, **options) for tier in ("off", "eager")
    )
    x = RANDOM.normal(size=(31, 40))
    for k in (0.5, RANDOM.normal(size=(31, 20)), RANDOM.normal(size=(31, 1))):
        assert same(off(x, k), eager(x, k))


@pytest.mark.quick
@pytest.mark.row("K17")
def test_debug_checks_the_indices():
    options: dict[str, Any] = {"windows": {"x": (3,)}, "debug": True}
    code = {np.int64: "item__y() = item__x(item__k()); return true;"}
    f, x = wrap_signature("x(), k() -> y()", code, **options), np.arange(6)
    assert same(f(x, 0), expected(x, (3,), "reflect")[..., 0])
    refuses(IndexError, lambda: f(x, 3), "argument 'x'", "index 3")
    assert same(f(x, 2), expected(x, (3,), "reflect")[..., 2])
    lazy = wrap_signature("x() -> y()", "if (item__x(1) != 0) item__y() = 1; return true;", **options)
    refuses(cwrapjit.Fault, lambda: lazy(np.array([1.0, 0, 1, 1])), "never written")


@pytest.mark.row("K17")
def test_a_signal_is_seen_between_pieces():
    """With a window wider than its array all slices are gathered, in thousands of pieces."""
    code = '''
import signal, numpy as np, cwrapjit
f = cwrapjit.function("f", signature="x() -> y()", windows={"x": (20001,)}, border="wrap",
    header=f"int raise(int);\\n#define SIGNAL {int(signal.SIGALRM)}", Ccode_slice_eval={np.float64: """
        raise(SIGNAL);
        double s = 0;
        for (int i = 0; i < 20001; i++) s += item__x(i);
        item__y() = s;
        return true;"""})
signal.signal(signal.SIGALRM, signal.default_int_handler)
try:
    f(np.ones((1 << 16, 64)))
except KeyboardInterrupt:
    print("interrupted")
'''
    assert python(code).stdout == "interrupted\n"


@pytest.mark.filterwarnings("error")
def test_loops_may_be_unrolled_by_pragma():
    """libtcc ignores the pragma without a message."""
    code = MEAN3.replace("    for", "#pragma GCC unroll 3\n    for").replace("item__y()", "sum")
    code = f"double sum; {code.replace('return', 'item__y() = sum; return')}"
    f, x = wrap_signature("x() -> y()", code, windows={"x": (3, 3)}), RANDOM.normal(size=(7, 6))
    assert np.allclose(f(x), expected(x, (3, 3), "reflect").mean((-1, -2)))


@pytest.mark.quick
@pytest.mark.row("K17")
def test_a_function_says_what_was_asked_for():
    options: dict[str, Any] = {"windows": {"x": (3, "n"), "z": (2,)}, "window_steps": {"x": (1, 2)}}
    f = wrap_signature(
        "x(), w(n), z() -> y()",
        {np.float32: "item__y() = 1; return true;", np.float64: "item__y() = 1; return true;"},
        border={"x": "grid-wrap", "z": "constant"},
        cval={"z": np.float32(0.5)},
        axes={"z": (0,)},
        **options,
    )
    assert f.windows == {
        "x": {"window": (3, "n"), "border": "wrap", "axes": (-2, -1), "window_steps": (1, 2)},
        "z": {"window": (2,), "border": "constant", "cval": 0.5, "axes": (0,), "window_steps": (1,)},
    }
    assert type(f.windows["z"]["cval"]) is float
    f.windows.clear()
    assert list(f.windows) == ["x", "z"]
    nothing = copier((2,), border="constant")
    assert nothing.windows["x"]["cval"] == 0
    assert [copier((2,), border=border).windows["x"]["border"] for border in BORDERS] == list(BORDERS)
    assert wrap_signature("x() -> y()", "return true;").windows == {}


@pytest.mark.quick
@pytest.mark.row("K12", "K17")
@pytest.mark.filterwarnings("ignore:The 'generic' unit:DeprecationWarning")  # NumPy 2.5 warns
def test_dates_outside_are_dates_of_numpys():
    def first(dtype: str, cval: Any) -> Any:
        code = {np.dtype(dtype): "item__y() = item__x(0); return true;"}
        return wrap_signature("x() -> y()", code, windows={"x": (3,)}, border="constant", cval=cval)

    days = np.array(["2001-01-01", "2002-01-01"], "M8[D]")
    seconds = days.astype("M8[s]")
    nat = first("M8[D]", np.datetime64("NaT"))
    assert np.isnat(nat(days)[0]) and nat(days)[1] == days[0]
    assert np.isnat(nat.windows["x"]["cval"])
    assert np.isnat(first("M8", np.datetime64("NaT"))(seconds)[0])
    assert first("M8[s]", days[1])(seconds).tolist() == seconds[::-1].tolist()
    assert first("m8[D]", np.timedelta64(3))(days - days[0]).tolist()[0].days == 3
    for dtype, cval in [
        ("M8[D]", np.datetime64("2001-01-01T01", "h")),
        ("M8[D]", np.timedelta64(3)),
        ("M8[D]", 3),
        ("M8", days[0]),  # each call sets the unit
        ("m8[D]", 1.5),
        ("f8", np.datetime64("NaT")),
        ("i8", np.timedelta64(3)),
    ]:
        words = f"cval: {cval!r} is no value of {np.dtype(dtype).name}"
        refuses(TypeError, lambda d=dtype, c=cval: first(d, c), "t.f()", words)
    for cval in np.datetime64("9999"), np.datetime64("-9999-01-01"):  # NumPy's casts overflow silently
        refuses(
            OverflowError, lambda c=cval: first("M8[ns]", c), f"cval: {cval!r} is no value of datetime64[ns]"
        )


# ---- what is refused ---------------------------------------------------------------------------------------


def define(*, signature: str = "x() -> y()", code: Any = "return true;", **kw: Any) -> Any:
    return lambda: wrap_signature(signature, code, **kw)


W3: dict[str, Any] = {"windows": {"x": (3,)}}
FILLED: dict[str, Any] = {**W3, "border": "constant"}


@pytest.mark.quick
@pytest.mark.row("K17")
@pytest.mark.parametrize(
    "error, words, options",
    [
        (ValueError, "windows: there is no input 'z'", {"windows": {"z": (3,)}}),
        (ValueError, "windows for 'y': it is an output", {"windows": {"y": (3,)}}),
        (TypeError, "windows: 3 must be the name", {"windows": {3: (3,)}}),
        (TypeError, "windows must be a dict", {"windows": (3, 3)}),
        (TypeError, "windows for 'x' must be a tuple", {"windows": {"x": 3}}),
        (TypeError, "dim 0 must be an int or a name", {"windows": {"x": (3.0,)}}),
        (TypeError, "dim 0 must be an int or a name", {"windows": {"x": (True,)}}),
        (ValueError, "windows for 'x' is empty", {"windows": {"x": ()}}),
        (ValueError, "dim 1 must be from 1 to", {"windows": {"x": (3, 0)}}),
        (ValueError, "dim 0 is negative", {"windows": {"x": (-3,)}}),
        (ValueError, "dim 0 must be from 1 to", {"windows": {"x": (2**31,)}}),
        (ValueError, "dim 0 is out of range", {"windows": {"x": (2**70,)}}),
        (ValueError, "no other input sets dimension 'n'", {"windows": {"x": ("n",)}}),
        (ValueError, "has 100 dims", {"windows": {"x": (1,) * 100}}),
        (ValueError, "border needs windows", {"border": "wrap"}),
        (ValueError, "cval needs windows", {"cval": 1}),
        (ValueError, "axes needs windows", {"axes": {"x": (0,)}}),
        (ValueError, "window_steps needs windows", {"window_steps": {"x": (1,)}}),
        (ValueError, "border must be 'reflect'", {**W3, "border": "reflex"}),
        (TypeError, "border must be a str", {**W3, "border": 1}),
        (ValueError, "border for 'x' must be", {**W3, "border": {"x": "grid"}}),
        (ValueError, "border: there is no input", {**W3, "border": {"q": "wrap"}}),
        (TypeError, "axes must be a dict", {**W3, "axes": (0,)}),
        (ValueError, "the window has 1 axes, got 2", {**W3, "axes": {"x": (0, 1)}}),
        (ValueError, "has axis -1 twice", {"windows": {"x": (3, 3)}, "axes": {"x": (-1, -1)}}),
        (ValueError, "axes for 'x'[0] must be from -64", {**W3, "axes": {"x": (2**80,)}}),
        (TypeError, "axes for 'x'[0] must be an int", {**W3, "axes": {"x": ("a",)}}),
        (ValueError, "window_steps for 'x'[0] must be", {**W3, "window_steps": {"x": (0,)}}),
        (ValueError, "window_steps for 'x'[0] must be", {**W3, "window_steps": {"x": (-1,)}}),
        (ValueError, "window_steps: there is no input 'q'", {**W3, "window_steps": {"q": (1,)}}),
        (TypeError, "cval: 'a' is no value of", {**FILLED, "cval": "a"}),
        (TypeError, "1j is no value of float64", {**FILLED, "cval": 1j}),
        (ValueError, "it is updated in place", {**W3, "signature": "inout x(3) -> y()"}),
        (ValueError, "the prototype of 'x' has another shape", {**W3, "signature": "x(4) -> y()"}),
        (ValueError, "the prototype of 'x' has another shape", {**W3, "signature": "x(3, 3) -> y()"}),
        (ValueError, "'w' is not in windows", {**W3, "signature": "x(), w() -> y()", "axes": {"w": (0,)}}),
        (
            ValueError,
            "no other input sets dimension 'n'",
            {"windows": {"x": ("n",), "w": ("n",)}, "signature": "x(), w() -> y()"},
        ),
        (OverflowError, "cval: 300 is no value of uint8", {**FILLED, "cval": 300, "code": {np.uint8: "x"}}),
        (OverflowError, "cval: -1 is no value of uint8", {**FILLED, "cval": -1, "code": {np.uint8: "x"}}),
        (ValueError, "'constant' needs numbers", {**FILLED, "code": {object: "return true;"}}),
    ],
)
def test_bad_arguments_of_definitions(error, words, options):
    refuses(error, define(**options), "t.f()", words)


@pytest.mark.quick
@pytest.mark.row("K17")
def test_what_is_not_looked_at_and_what_objects_raise():
    define(windows={"x": (3,)}, cval=None)()  # other borders ignore cval
    define(windows=None, border=None, axes=None)()
    define(code="item__y() = 1; return true;", windows={})()(3.0)

    class Zero(int):
        def __bool__(self) -> bool:
            raise ZeroDivisionError("struck")

    for cval in (Zero(), Zero(3)):
        define(**FILLED, cval=cval)()

    class Struck:
        def __index__(self) -> int:
            raise ZeroDivisionError("struck")

    refuses(ZeroDivisionError, define(windows={"x": (Struck(),)}), "struck")
    refuses(ZeroDivisionError, define(**W3, axes={"x": (Struck(),)}), "struck")


@pytest.mark.quick
@pytest.mark.row("K17")
def test_bad_arguments_of_calls():
    f = mean()
    for few in (3.0, np.float64(3), np.ones(4), []):
        refuses(ValueError, lambda few=few: f(few), "'x'", "moves over axis -2, which it does not have")
    both = mean(axes={"x": (0, -1)})
    refuses(ValueError, lambda: both(np.ones(4)), "its window moves over axis 0 twice")
    refuses(TypeError, lambda: f(np.ones((3, 3), dtype=int)), "no type set fits")
    unaligned = np.zeros(9 * 8 + 1, dtype=np.uint8)[1:].view(np.float64).reshape(3, 3)
    refuses(ValueError, lambda: f(unaligned), "is not aligned")
    refuses(TypeError, lambda: f(np.ones((3, 3), dtype=">f8")), "byte order")
    far = copier((1, 3), np.uint8, window_steps={"x": (1, 2**31 - 1)})
    long = np.broadcast_to(np.uint8(1), (1, 2**61))
    refuses(ValueError, lambda: far(long), "axis 1 is too long for a window")
    with pytest.raises(MemoryError):
        f(np.broadcast_to(1.0, (2**18, 2**40)))


@pytest.mark.quick
@pytest.mark.row("K17")
def test_elements_without_bytes_and_objects():
    code = {(np.void, bool): "*(npy_bool *)data_slice__y = 1; return true;"}
    f = wrap_signature("x() -> y()", code, windows={"x": (3,)})
    assert f(np.empty(5, "V0")).tolist() == f(np.empty(5, "V40")).tolist() == [True] * 5
    refs = "*(npy_bool *)data_slice__n = Py_REFCNT(((PyObject **)data_slice__x)[0]) > 0; return true;"
    header = "#include <Python.h>"
    f = wrap_signature("x() -> n()", {(object, bool): refs}, windows={"x": (3,)}, header=header)
    assert f(np.array(["a", 3, None], dtype=object)).all()


# ---- memory ----------------------------------------------------------------------------------------------


@pytest.mark.leak
def test_calls_and_definitions_keep_nothing():
    f, x = mean(optimize="off"), RANDOM.normal(size=(20, 9))
    failing = wrap_signature("x() -> y()", "return item__x(0) < 2;", windows={"x": (9,)})

    def work() -> None:
        f(x)
        refuses(ValueError, lambda: f(x, out=x), "shares memory")
        refuses(RuntimeError, lambda: failing(np.full((3, 30), 2.0)), "returned false")
        refuses(ValueError, define(windows={"x": (3,)}, window_steps={"x": (0,)}), "must be from 1")

    leaks.keeps_nothing(work, watched=(x,))


@pytest.mark.quick
def test_without_memory_calls_fail_and_nothing_else():
    pytest.importorskip("_testcapi")
    code = """
import _testcapi, numpy as np, cwrapjit
f = cwrapjit.function("f", signature="x() -> y()", windows={"x": (3, 3)}, border="wrap", optimize="off",
    Ccode_slice_eval={np.float64: "item__y() = item__x(0, 0); return true;"})
x = np.arange(60000.0).reshape(50, 40, 30)
wanted = f(x)
failed = 0
for k in range(60):
    _testcapi.set_nomemory(k, k + 1)
    try:
        got = f(x)
    except MemoryError:
        failed += 1
    else:
        _testcapi.remove_mem_hooks()
        assert (got == wanted).all()
    finally:
        _testcapi.remove_mem_hooks()
assert failed > 4, failed
assert (f(x) == wanted).all()
"""
    python(code)


@pytest.mark.parametrize(
    ("index", "told", "column"),
    [
        ("7, 9", "index 7 is outside of axis 0 of a slice of 'x', which has 3 elements", 21),
        ("2, 4u", "index 4u is outside of axis 1 of a slice of 'x', which has 4 elements", 24),
        ("0, -1", "index -1 is outside of axis 1", 24),
        ("WIDE, 0", "index 3 is outside of axis 0", 21),
        ("item__x(0, 0x10), 0", "index 0x10 is outside of axis 1", 32),
    ],
)
def test_constant_indices_outside_are_refused(index: str, told: str, column: int) -> None:
    """A constant index outside used to read the memory beside the window."""

    def define(text: str, **options: Any) -> Any:
        return cwrapjit.function("f", Ccode_slice_eval={np.uint8: f"{text} return true;"}, **options)

    options = {"signature": "x() -> y()", "windows": {"x": (3, 4)}, "header": "#define WIDE 3\n"}
    error = refuses(cwrapjit.CompileError, lambda: define(f"item__y() = item__x({index});", **options), told)
    assert (error.lineno, error.offset) == (1, column)
    inside = "item__x(2, 3) + item__x(0x2, -0) + item__x(WIDE - 1, (3)) + item__x(item__x(0, 0) % 3, 0)"
    dead = "\n#ifdef NONE\nitem__x(9, 9);\n#endif\n"
    assert define(f"{dead} item__y() = {inside};", **options)(np.ones((3, 4), np.uint8)).tolist()[1][2] == 4
    fixed = {"signature": "x(2), z(n) -> y(2)"}
    for text in ("item__y(0) = item__x(2);", "item__y(2) = 0;", "item__y(1) = item__x(-1);"):
        refuses(cwrapjit.CompileError, lambda text=text: define(text, **fixed), "which has 2 elements")
    define("item__y(0) = item__y(1) = item__x(1) + item__z(5);", **fixed)
