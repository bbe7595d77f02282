"""Tests type sets: which body runs for which dtypes, whatever ran before; rejections; and cast="safe"."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from helpers import INNER, ar, refuses, same, wrap, wrap_signature
from hypothesis import given, settings
from hypothesis import strategies as st

import cwrapjit

WHICH = "item__output() = {}; return true;"


def tagged(*keys, ins=((),), outs=()):
    """Returns a function that returns the number of the type set that ran."""
    return wrap(ins, outs, {key: WHICH.format(number) for number, key in enumerate(keys)})


@pytest.mark.row("N38", "N21", "N41")
@pytest.mark.parametrize("t", [np.dtype(code).type for code in "bhilBHILfdg?"])
def test_one_type_is_that_of_all_inputs_and_outputs(t):
    f = wrap((("n",), ("n",)), (), {t: INNER})
    x = np.array([1, 0, 1, 1], dtype=t)
    result = f(x, x)
    assert type(result) is t
    assert result == (True if t is np.bool_ else 3)
    for other in {np.float32, np.float64, np.int64, np.complex128, object} - {t}:
        words = f"'b' is {np.dtype(other).name}", f"wanted ({np.dtype(t).name}, "
        refuses(TypeError, lambda other=other: f(x, x.astype(other)), "t.f", *words)


@pytest.mark.row("N38", "B13")
@pytest.mark.parametrize("key", ["float64", "f8", "d", "<f8", np.dtype("f8"), "double", np.double, float])
def test_keys_may_be_whatever_names_a_dtype(key):
    f = wrap(((),), (), {key: "item__output() = 2 * item__a(); return true;"})
    assert same(f(ar(3)), 2 * ar(3))
    assert f.types == ("float64 -> float64",)
    for python_type in (int, bool, complex):
        f = wrap(((),), (), {python_type: "item__output() = item__a(); return true;"})
        assert same(f(np.array([1, 0], python_type)), np.array([1, 0], python_type))


@pytest.mark.row("N38")
def test_an_object_is_no_key_and_code_is_required():
    refuses(
        TypeError, lambda: wrap(((),), (), {object(): "return true;"}), "Ccode_slice_eval", "<object object"
    )
    refuses(TypeError, lambda: cwrapjit.function("f", signature="-> ()"), "Ccode_slice_eval")


@pytest.mark.row("N39")
def test_a_tuple_of_types_is_inputs_then_outputs():
    key = (np.int8, "f4", float, np.dtype("u2"), bool)
    code = """
        item__output0() = (npy_uint16)(item__a() + item__b() + item__c());
        item__output1() = item__a() > 1;
        return true;"""
    f = wrap(((), (), ()), ((), ()), {key: code})
    total, flag = f(np.int8([1, 2]), np.float32([10.5, 20.25]), ar(2))
    assert same(total, np.array([11, 23], dtype=np.uint16))
    assert same(flag, np.array([False, True]))


@pytest.mark.row("N40")
def test_each_type_set_runs_its_own_body():
    f = tagged(np.float64, np.int32, np.uint8, (np.float64, np.int32), (np.int16, np.float64), np.longlong)
    for number, t in enumerate([np.float64, np.int32, np.uint8]):
        assert f(t(0)) == number
    assert f(np.int16(0)) == 4
    assert f(np.float64(0), out=np.zeros((), dtype=np.int32)) == 3
    g = tagged(np.float64, (np.float64, np.int32))
    for _ in range(3):
        assert g(np.zeros(2), out=np.zeros(2, dtype=np.int32)).tolist() == [1, 1]
        assert g(np.zeros(2)).tolist() == [0, 0], "what fitted last is not what fits first"
    for t in (np.longlong, np.int64, np.int_):  # types of one size count as one type
        assert f(np.zeros((), dtype=t)) == (5 if np.dtype(t).itemsize == 8 else 1)


@pytest.mark.row("N42", "N11i")
def test_rounding_inner_product():
    """The seed's function has a separate body for an int32 output, which only out= selects."""
    rounds = """
        double out = 0.0;
        for(int i=0; i<dims_slice__a[0]; i++)
          out += *(const double*)(data_slice__a + i*strides_slice__a[0]) * item__b(i);
        *(int32_t*)data_slice__output = (int32_t)round(out);
        return true;"""
    sets = {np.float64: INNER, np.float32: INNER, (np.float64, np.float64, np.int32): rounds}
    f = wrap((("n",), ("n",)), (), sets, header="#include <stdint.h>")
    x, y, out = ar(4) + 0.25, ar(2, 4), np.zeros(2, dtype=np.int32)
    assert same(f(x, y), y @ x)
    assert f(x, y, out=out) is out and out.tolist() == [16, 44]
    assert f(ar(4), ar(4), out=np.zeros((), dtype=np.int32)) == 14


@pytest.mark.row("N11i")
def test_type_sets_are_tried_in_their_order():
    f = tagged((np.float64, np.int32), (np.float64, np.float64))
    assert type(f(1.0)) is np.int32
    assert f(1.0) == 0
    g = tagged((np.float64, np.float64), (np.float64, np.int32))
    assert type(g(1.0)) is np.float64
    assert g(1.0) == 0
    assert g(1.0, out=np.zeros((), dtype=np.int32)) == 1


@pytest.mark.row("N11i")
def test_without_inputs_the_first_set_is_taken_or_the_one_of_out():
    f = tagged(np.int32, np.float64, ins=())
    assert type(f()) is np.int32
    assert f() == 0
    out = np.zeros((), dtype=np.float64)
    assert f(out=out) is out
    assert out == 1
    refuses(TypeError, lambda: f(out=np.zeros((), dtype=np.int8)), "t.f", "int32", "float64", "int8")


@pytest.mark.row("N13i")
def test_a_table_of_types_with_one_output_type():
    body = "item__output() = (int)item__a(0); return true;"
    f = wrap((("n",),), (), {(t, np.int32): body for t in (np.float32, np.float64)})
    for t in (np.float32, np.float64):
        x, out = np.arange(3, 6).astype(t), np.zeros((), dtype=np.int32)
        assert type(f(x)) is np.int32 and f(x) == 3
        assert f(x, out=out) is out
        for wrong in (np.int64, np.float32):
            out = np.zeros((), dtype=wrong)
            refuses(TypeError, lambda x=x, out=out: f(x, out=out), "t.f", "int32", np.dtype(wrong).name)
    refuses(TypeError, lambda: f(np.arange(3)), "t.f", "float32", "float64", "int64")


@pytest.mark.row("N21")
def test_inputs_are_never_copied():
    code = {(np.float64, np.int64): "item__output() = (npy_int64)(intptr_t)data_slice__a; return true;"}
    f, x = wrap((("n",),), (), code), ar(6, 4)
    for view in (x[0], x[1], x[:, 1], x[::-1, 2], x.T[0], np.broadcast_to(x[0, :1], (9,))):
        assert f(view) == view.ctypes.data
    assert f(x[::2, ::-1]).tolist() == [x[k, ::-1].ctypes.data for k in (0, 2, 4)]


# ---- cast="safe" ----


COPY = "item__output() = item__a(); return true;"
TYPES = [np.dtype(code) for code in "?bBhHiIlLfdgFDG"]


def copier(*types: Any, **kw: Any) -> Any:
    kw.setdefault("cast", "safe")
    return wrap(((),), (), dict.fromkeys(types or (np.float64,), COPY), **kw)


@pytest.mark.row("N23i")
@pytest.mark.parametrize("target", TYPES, ids=lambda t: t.name)
def test_exactly_numpys_safe_casts_are_taken(target: Any) -> None:
    f, strict = copier(target), copier(target, cast="no")
    for source in TYPES:
        x = np.array([0, 1, 1, 0]).astype(source)
        if np.can_cast(source, target, "safe"):
            assert same(f(x), x.astype(target)), source
        else:
            refuses(TypeError, lambda x=x: f(x), "t.f", f"'a' is {source.name}", target.name)
        if source != target:
            refuses(TypeError, lambda x=x: strict(x), "t.f", f"'a' is {source.name}", target.name)


@pytest.mark.row("N23i")
def test_values_shapes_and_the_source_array() -> None:
    f = wrap((("n",), ("n",)), (), INNER, cast="safe")
    x = ar(2, 4, dtype=np.int32)
    kept = x.copy()
    assert f(x, [0, 1, 2, 3]).tolist() == [14, 38]
    assert f(x[:, ::-1], ar(4, dtype=np.float32)).tolist() == (x[:, ::-1] @ np.arange(4)).tolist()
    assert same(x, kept)
    assert f(np.array([True, False]), ar(2)) == 0


@pytest.mark.row("N23i", "B02", "B04")
def test_byte_order_and_alignment_convert_too() -> None:
    f = copier()
    x = ar(3)
    assert same(f(x.astype(">f8")), x)
    odd = np.zeros(25, np.uint8)[1:].view(np.float64)
    odd[:] = x
    assert not odd.flags.aligned and same(f(odd), x)
    assert same(f(x.astype(">i4")), x)


@pytest.mark.row("N23i")
def test_an_exact_match_comes_before_a_conversion() -> None:
    f = copier(np.float64, np.int32, np.float32)
    for t in (np.float64, np.int32, np.float32):
        assert f(np.ones(2, t)).dtype == t
    assert f(np.ones(2, np.int16)).dtype == np.float64, "the first set that it converts to"


@pytest.mark.row("N23i")
def test_a_matching_argument_is_still_not_copied() -> None:
    code = {(np.float64, np.float64, np.int64): "item__output() = (npy_intp)data_slice__a; return true;"}
    x = ar(1)
    assert int(wrap(((), ()), (), code, cast="safe")(x, np.float32(1))[0]) == x.ctypes.data


@pytest.mark.row("N23i", "N34", "K09")
def test_outputs_and_inouts_convert_where_no_value_is_lost() -> None:
    for dtype in (np.complex128, np.longdouble, ">f8"):
        out = np.zeros(2, dtype)
        assert copier()(ar(2), out=out) is out and same(out, ar(2).astype(dtype))
    for dtype, name in ((np.float32, "float32"), (np.int64, "int64")):
        out = np.zeros(2, dtype)
        refuses(TypeError, lambda out=out: copier()(ar(2), out=out), "t.f", "output", name)
    f = wrap_signature("inout a() -> output()", "item__a() += 1; return true;", cast="safe")
    refuses(TypeError, lambda: f(ar(3, dtype=np.float32)), "t.f", "'a' is float32")
    x = ar(3).astype(">f8")
    f(x)
    assert x.tolist() == [1, 2, 3]


@pytest.mark.row("N23i", "B10")
def test_out_may_share_memory_with_what_was_converted() -> None:
    x = np.zeros(8)
    x.view(np.int32)[:8:2] = 1, 2, 3, 4
    assert copier()(x.view(np.int32)[:8:2], out=x[:4]).tolist() == [1, 2, 3, 4]


@pytest.mark.row("N23i", "N25i")
def test_the_modules_choice_is_the_functions_default() -> None:
    m = cwrapjit.module("t", cast="safe")
    kw: dict[str, Any] = {"signature": "a() -> output()", "Ccode_slice_eval": {float: COPY}}
    m.function("f", **kw)
    m.function("g", cast="no", **kw)
    assert m.f(np.int32(5)) == 5
    refuses(TypeError, lambda: m.g(np.int32(5)), "t.g", "int32")


# ---- earlier calls change nothing ----


# Each set writes its number. Some sets take the same inputs, and some differ only in the second input.
SETS = [
    (np.float32, np.float32, np.float32),
    (np.float32, np.float64, np.float64),
    (np.float64, np.float64, np.float64),
    (np.float64, np.float64, np.int64),
    (np.int64, np.uint8, np.int16),
    (np.int64, np.int64, np.int64),
    (np.complex128, np.float64, np.float64),
]
CODE = {types: f"item__output() = {index}; return true;" for index, types in enumerate(SETS)}
ARGUMENTS = [
    *(np.ones(2, t) for t in (np.float32, np.float64, np.int64, np.longlong, np.uint8, np.complex128)),
    np.ones(()),
    np.ones(2, ">f8"),
    *(np.float32(1), np.float64(1), np.int64(1), np.uint8(1), np.complex128(1), np.longlong(1)),
    *(1, 1.0, 300, -1, 2**24 + 1, 2**60 + 1, True, 1j, 1e300),
    [1.0, 2.0],
]
OUTS = [None, *(np.empty(2, types[2]) for types in SETS[1:5])]


def outcome(f: Any, a: Any, b: Any, out: Any) -> Any:
    """Returns the dtype, shape and first element of the result, or the exception's type and text."""
    try:
        result = np.asarray(f(a, b) if out is None else f(a, b, out=out))
    except (TypeError, ValueError, OverflowError) as error:
        return type(error), str(error)
    return result.dtype, result.shape, result.flat[0]


CASES = list(itertools.product(ARGUMENTS, ARGUMENTS, OUTS))


@pytest.mark.row("N40", "N11i")
@pytest.mark.filterwarnings("ignore:overflow")
@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, len(CASES) - 1), min_size=2, max_size=8))
def test_calls_before_change_nothing(order: list[int]) -> None:
    """A function that was called with other types behaves like a new one."""
    veteran = wrap(((), ()), (), CODE)
    for index in order:
        assert outcome(veteran, *CASES[index]) == outcome(wrap(((), ()), (), CODE), *CASES[index])
