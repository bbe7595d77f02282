"""Tests cases that today's numpysane_pywrap gets wrong: mixed types, byte order, sizes, names, messages."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from helpers import INNER, OUTER, ar, refuses, same, wrap

import cwrapjit

COPY = "item__output() = item__a(); return true;"


# ---- B01: every operand has its own type ----------------------------------------------------------


@pytest.mark.row("B01")
def test_storing_into_another_type_converts_the_value() -> None:
    f = wrap(((),), (), {(np.float64, np.int64): COPY, (np.int64, np.float64): COPY})
    assert f(3.7) == 3 and f(np.array([3.0, -2.9])).tolist() == [3, -2]
    got = f(np.int64(5))
    assert got == 5 and type(got) is np.float64
    f = wrap((("n",), ("n",)), (), {(np.float64, np.float64, np.int32): INNER})
    got = f(np.ones(4), np.ones(4))
    assert got == 4 and type(got) is np.int32


@pytest.mark.row("B01")
def test_three_types_at_once() -> None:
    body = "item__output().real = item__a() * item__b(); item__output().imag = 0; return true;"
    f = wrap(((), ()), (), {(np.int8, np.float32, np.complex128): body})
    assert same(f(np.int8(-3), np.array([0.5, 2], np.float32)), np.array([-1.5, -6], np.complex128))


# ---- B02: byte order ------------------------------------------------------------------------------


@pytest.mark.row("B02", "B13")
@pytest.mark.parametrize("dtype", [">f8", ">i4", ">c16"])
def test_byte_swapped_arrays_are_refused_with_the_reason(dtype: str) -> None:
    f = wrap(((),), (), {np.dtype(dtype).newbyteorder("="): COPY})
    x = np.ones(3, dtype)
    refuses(TypeError, lambda: f(x), "t.f", "'a'", "byte order")
    refuses(
        TypeError, lambda: f(x.astype(x.dtype.newbyteorder("=")), out=x.copy()), "t.f", "output", "byte order"
    )
    assert f(x.astype(x.dtype.newbyteorder("="))).tolist() == [1, 1, 1]
    refuses(TypeError, lambda: wrap(((),), (), {dtype: COPY}), "Ccode_slice_eval", "byte order")


# ---- B06: sizes -----------------------------------------------------------------------------------

HUGE = 2**32 + 3


def huge(*shape: int) -> Any:
    return np.broadcast_to(np.float64(1), shape)


@pytest.mark.row("B06")
def test_sizes_are_never_cut() -> None:
    fixed = wrap(((3,),), (), "item__output() = 1; return true;")
    refuses(ValueError, lambda: fixed(huge(HUGE)), "t.f", "'a'", "length 3", f"got {HUGE}")
    named = wrap((("n",), ("n",)), (), "item__output() = 1; return true;")
    refuses(ValueError, lambda: named(huge(HUGE), ar(3)), "'n'", f"must be {HUGE}", "got 3")
    refuses(ValueError, lambda: named(ar(3), huge(HUGE)), "'n'", "must be 3", f"got {HUGE}")
    assert named(huge(HUGE), huge(HUGE)) == 1
    copied = wrap((("n",),), ("n",), "return true;")
    refuses(ValueError, lambda: copied(huge(HUGE), out=np.zeros(3)), "output", f"must be {HUGE}", "got 3")
    refuses(ValueError, lambda: named(huge(HUGE, 3), huge(3, 3)), "t.f", f"must be {HUGE}", "got 3")


@pytest.mark.row("B06")
def test_outputs_that_cannot_be_are_an_error() -> None:
    f = wrap((("n",),), ("n", "n"), "return false;")
    for n in (2**27, HUGE, 2**40, 2**59):
        with pytest.raises((ValueError, MemoryError)) as caught:
            f(np.lib.stride_tricks.as_strided(ar(1), (n,), (0,)))
        assert "t.f" in str(caught.value) and "output" in str(caught.value)


@pytest.mark.row("B06")
def test_fixed_dims_beyond_32_bits() -> None:
    f = wrap(((HUGE,),), (), "item__output() = dims_slice__a[0]; return true;")
    assert f(huge(HUGE)) == HUGE
    refuses(ValueError, lambda: f(ar(3)), f"length {HUGE}", "got 3")


# ---- B13: definitions -----------------------------------------------------------------------------


@pytest.mark.row("B13")
@pytest.mark.parametrize(
    "key", [np.dtype("f8"), "float64", "f8", "d", float, np.float64, np.double, "<f8", "=f8"], ids=repr
)
def test_spellings_of_a_key(key: Any) -> None:
    f = wrap(((),), (), {key: COPY})
    assert same(f(ar(3)), ar(3)) and tuple(f.types) == ("float64 -> float64",)
    g = wrap(((),), (), {(key, np.dtype("i4")): COPY})
    assert g(ar(3)).dtype == np.int32


@pytest.mark.row("B13")
def test_dims_may_be_numpy_integers() -> None:
    f = wrap(
        ((np.int64(3), np.uint8(2)),),
        (np.int32(2),),
        "item__output(0) = item__a(2, 1); item__output(1) = 0; return true;",
    )
    assert f(ar(3, 2)).tolist() == [5, 0]
    assert f.signature == "a(3, 2) -> output(2)"


@pytest.mark.row("B13")
@pytest.mark.parametrize(
    "name", "out output output0 output17 1a a-b class cwj_a cookie".split() + ["", "a b", "a\0b"]
)
def test_argument_names_that_cannot_be(name: str) -> None:
    refuses(ValueError, lambda: wrap(((),), (), "return true;", names=(name,)), "t.f", f" {name!r}")
    refuses(ValueError, lambda: wrap(((), ()), (), "return true;", names=("a", "a")), "t.f", "'a' twice")
    refuses(ValueError, lambda: wrap(((),), (), {}), "t.f", "Ccode_slice_eval")


@pytest.mark.row("B13")
@pytest.mark.parametrize(
    "dim",
    [True, False, 1.0, None, b"n", -1, np.int64(-2), "", "n m", "3n", ("n",), 2**70, np.float64(2)],
    ids=repr,
)
def test_dims_that_cannot_be(dim: Any) -> None:
    for ins, outs in ((((dim,),), ()), (((),), ((dim,),))):
        error = ValueError if isinstance(dim, (int, np.integer, str)) and type(dim) is not bool else TypeError
        refuses(
            error, lambda ins=ins, outs=outs: wrap(ins, outs, "return true;"), "t.f", "prototype_", "dim 0"
        )


@pytest.mark.row("B13")
@pytest.mark.parametrize(
    "key", ["no such type", 3, (), (float,), (float, float, float), ("f8", "zz"), b"f8 "], ids=repr
)
def test_keys_that_cannot_be(key: Any) -> None:
    wanted = key != ("f8", "zz") and isinstance(key, tuple)  # wrong number of types
    words = (f"has {len(key)} types; wanted 2",) if wanted else ("is not a dtype",)
    error = ValueError if wanted else TypeError
    refuses(error, lambda: wrap(((),), (), {key: "return true;"}), "t.f", "Ccode_slice_eval", *words)


@pytest.mark.row("B13")
@pytest.mark.parametrize("key", ["datetime64[s]", "timedelta64[D]", np.dtype([("x", "f8")])], ids=str)
def test_keys_of_dates_and_records(key: Any) -> None:
    assert wrap(((),), (), {key: "return true;"})(np.zeros(3, key)).dtype == key


# ---- B14: messages and introspection --------------------------------------------------------------


@pytest.mark.row("B14")
def test_messages_name_function_argument_dim_wanted_and_got() -> None:
    named = {"names": ("matrix", "vector"), "module": "lib", "name": "times"}
    f = wrap((("rows", "n"), ("n",)), ("rows",), "return true;", **named)
    refuses(ValueError, lambda: f(ar(2, 3), ar(4)), "lib.times", "vector", "'n'", "must be 3", "got 4")
    refuses(TypeError, lambda: f(ar(2, 3), ar(3, dtype=np.int16)), "lib.times", "vector", "int16", "float64")
    refuses(TypeError, lambda: f(ar(2, 3)), "lib.times", "vector")
    out = np.zeros(5)
    refuses(ValueError, lambda: f(ar(2, 3), ar(3), out=out), "lib.times", "'rows'", "must be 2", "got 5")
    g = wrap(((4, 2),), (), "return true;", names=("matrix",), module="lib", name="fixed")
    refuses(ValueError, lambda: g(ar(4, 3)), "lib.fixed", "matrix", "length 2", "got 3")
    refuses(ValueError, lambda: g(ar(7, 5, 2)), "lib.fixed", "matrix", "length 4", "got 5")


@pytest.mark.row("B14")
def test_inspect_signature() -> None:
    extras = (("double", "scale", "1", "d"), ("int", "n", "2 + 3", "i"))
    f = wrap(((), ()), (), "return true;", names=("x", "y"), extra_args=extras)
    signature = inspect.signature(f)
    kinds = {name: parameter.kind.name for name, parameter in signature.parameters.items()}
    by_position = dict.fromkeys(["x", "y", "out"], "POSITIONAL_OR_KEYWORD")
    assert kinds == by_position | dict.fromkeys(["scale", "n"], "KEYWORD_ONLY")
    assert signature.parameters["out"].default is None
    assert signature.parameters["x"].default is inspect.Parameter.empty
    assert "2 + 3" in str(signature)
    assert signature.bind(1.0, y=2.0, scale=3).arguments == {"x": 1.0, "y": 2.0, "scale": 3}
    refuses(TypeError, lambda: signature.bind(1.0), "missing", "'y'")


@pytest.mark.row("B14")
def test_longlong_and_int64_of_one_size_are_the_same() -> None:
    longlong, long = np.dtype("q"), np.dtype("l")
    assert longlong.itemsize == long.itemsize
    for key in (longlong, long, np.int64):
        f = wrap(((),), (), {key: "item__output() = item__a() + 1; return true;"})
        for dtype in (longlong, long):
            assert f(np.zeros(2, dtype)).tolist() == [1, 1]
            out = np.zeros(2, dtype)
            assert f(np.zeros(2, dtype), out=out) is out and out.tolist() == [1, 1]
    unsigned = wrap(((),), (), {np.uint64: COPY})
    assert unsigned(np.ones(2, "Q")).tolist() == [1, 1] == unsigned(np.ones(2, "L")).tolist()
    refuses(TypeError, lambda: unsigned(np.ones(2, "q")), "int64", "uint64")


# ---- B16: arrays without elements -----------------------------------------------------------------


@pytest.mark.row("B16")
@pytest.mark.parametrize("a, b", [((0,), (0,)), ((0, 3), (3,)), ((0, 0), (1, 0)), ((4, 0, 3), (1, 3))])
def test_empty_arrays_go_through(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    f = wrap((("n",), ("n",)), (), INNER, Ccode_validate="return CHECK_CONTIGUOUS_AND_SETERROR_ALL();")
    x, y = np.zeros(a), np.zeros(b)
    wanted = (
        (x[..., None, :] @ y[..., :, None])[..., 0, 0]
        if x.shape[-1]
        else np.zeros(np.broadcast_shapes(a[:-1], b[:-1]))
    )
    assert same(f(x, y), wanted)
    out = np.full(wanted.shape, 7.0)
    assert f(x, y, out=out) is out and same(out, wanted)


@pytest.mark.row("B16")
def test_empty_views_of_every_kind_are_accepted() -> None:
    f = wrap((("n", "m"),), ("m", "n"), "return true;", Ccode_validate="return CHECK_CONTIGUOUS_ALL();")
    x = ar(4, 6)
    for view in (x[:0], x[4:, ::-2], x.T[:0], x[::2, 3:3], np.broadcast_to(1.0, (0, 5)), np.zeros((0, 0))):
        assert f(view).shape == view.shape[::-1]
        out = np.zeros((12, 12))[: view.shape[1], : view.shape[0]]
        assert f(view, out=out) is out
    assert f(x[:0], out=x.T[:, :0]).shape == (6, 0), "no elements, no overlap"
    refuses(ValueError, lambda: wrap((("n",), ("n",)), (), INNER)(ar(0), ar(3)), "'n'", "must be 0", "got 3")


# ---- B18: names -----------------------------------------------------------------------------------


@pytest.mark.quick
@pytest.mark.row("B18")
@pytest.mark.parametrize("length", [64, 1000, 100_000])
def test_names_of_any_length(length: int) -> None:
    fill = "x" * length
    a, b, n, e = fill + "a", fill + "b", fill + "n", fill + "e"
    m = cwrapjit.module(fill + "m")
    f = m.function(
        fill + "f",
        "",
        args_input=(a, b),
        prototype_input=((n,), (n,)),
        prototype_output=(),
        extra_args=(("double", e, "2", "d"),),
        Ccode_slice_eval={float: f"item__output() = *{e} * item__{a}(0) * item__{b}(0); return true;"},
        Ccode_validate=f"return CHECK_CONTIGUOUS_AND_SETERROR__{a}();",
    )
    assert f(ar(2) + 3, ar(2) + 4) == 24
    assert f(**{a: ar(2) + 1, b: ar(2) + 1, e: 5}) == 5
    refuses(ValueError, lambda: f(ar(2), ar(3)), f"{m.__name__}.{f.__name__}", b, n)
    refuses(ValueError, lambda: f(ar(4)[::2], ar(2)), a)
    refuses(TypeError, lambda: f(ar(2)), b)


@pytest.mark.quick
@pytest.mark.row("B18")
@pytest.mark.parametrize("name", ["größe", "变量", "переменная", "ñ", "ꓜꓝ", "_", "__x", "αβγ_1"])
def test_unicode_identifiers(name: str) -> None:
    if not name.isidentifier():
        pytest.skip("this Python takes it for no identifier")
    f = wrap(
        ((name,),),
        (),
        f"item__output() = item__{name}(0) * *e{name} + dims_slice__{name}[0]; return true;",
        module=name,
        name=name,
        names=(name,),
        extra_args=(("double", "e" + name, "2", "d"),),
    )
    assert f(ar(3) + 1) == 5 and f(**{name: ar(3) + 1, "e" + name: 10}) == 13
    assert f.__name__ == name and f.signature == f"{name}({name}) -> output()"
    refuses(TypeError, lambda: f(ar(3, dtype=np.int32)), f"{name}(): no type set", "int32")
    assert f"<cwrapjit {name} float64>" in f.source


@pytest.mark.row("B18")
@pytest.mark.parametrize(
    "name", "int struct auto main NULL bool data malloc loop ctx dims steps cwj n self".split()
)
def test_c_keywords_and_common_names_are_fine_as_argument_function_and_dim(name: str) -> None:
    f = wrap(
        ((name,),),
        (),
        f"item__output() = item__{name}(0) + dims_slice__{name}[0]; return true;",
        name=name,
        names=(name,),
    )
    assert f(ar(3) + 1) == 4 and f(**{name: ar(3)}) == 3


@pytest.mark.row("B18")
def test_many_arguments_dims_and_outputs() -> None:
    names = tuple(f"a{i}" for i in range(40))
    body = (
        "item__output0() = "
        + " + ".join(f"item__{name}({', '.join('0' * 4)})" for name in names)
        + "; item__output29() = 29; return true;"
    )
    f = wrap((("n", "m", 2, 1),) * 40, ((),) * 30, body, names=names)
    got = f(*[np.ones((2, 3, 2, 1))] * 40)
    assert len(got) == 30 and got[0] == 40 and got[29] == 29
    refuses(TypeError, lambda: f(*[np.ones((2, 3, 2, 1))] * 39), "a39")
    refuses(TypeError, lambda: f(*[1.0] * 71), "takes 70 positional", "71 were given")


@pytest.mark.row("B18", "N12i")
def test_as_many_dims_as_numpy_has() -> None:
    most = 64 if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else 32
    x = np.ones((1,) * (most - 1) + (3,))
    f = wrap((("n",),), (), "item__output() = item__a(0) + item__a(2); return true;")
    assert f(x).shape == (1,) * (most - 1) and f(x).item() == 2
    core = wrap(
        ((1,) * (most - 1) + ("n",),),
        (),
        f"item__output() = item__a({', '.join(['0'] * (most - 1))}, 2); return true;",
    )
    assert core(x) == 1
    refuses(ValueError, lambda: wrap(((),), (2, 2), "return true;")(x), "t.f", "output", f"[0, {most}]")


# ---- B19: out with fewer dims than its prototype --------------------------------------------------


@pytest.mark.row("B19")
def test_an_out_of_fewer_dims_has_leading_ones() -> None:
    outer = wrap((("n",), ("m",)), ("n", "m"), OUTER)
    scalar = np.zeros(())
    assert outer(ar(1) + 2, ar(1) + 3, out=scalar) is scalar and scalar == 6
    row = np.zeros(3)
    assert outer(ar(1) + 2, ar(3), out=row) is row and row.tolist() == [0, 2, 4]
    strided = np.zeros(6)[::2]
    assert outer(ar(1) + 2, ar(3), out=strided) is strided and strided.tolist() == [0, 2, 4]


@pytest.mark.row("B19")
def test_an_out_of_fewer_dims_that_does_not_fit_is_an_error() -> None:
    outer = wrap((("n",), ("m",)), ("n", "m"), OUTER)
    guard = np.full(12, 7.0)
    refuses(ValueError, lambda: outer(ar(2), ar(3), out=guard[3:6]), "t.f", "output")
    refuses(ValueError, lambda: outer(ar(2), ar(2), out=guard[5:6].reshape(())), "t.f", "output")
    refuses(ValueError, lambda: outer(ar(5, 1), ar(3), out=guard[3:6]), "t.f", "output")
    assert (guard == 7).all(), "nothing was written"
