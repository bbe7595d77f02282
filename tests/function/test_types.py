"""Type sets: which body runs for which dtypes, and what is refused instead of converted."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import INNER, ar, refuses, same, wrap

import cwrapjit

BASIC = [
    np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.float32, np.float64,
    np.longdouble, np.bool_,
]  # fmt: skip
WHICH = "item__output() = {}; return true;"


def tagged(*keys, ins=((),), outs=()):
    """A function that answers with the number of the type set that ran."""
    return wrap(ins, outs, {key: WHICH.format(number) for number, key in enumerate(keys)})


@pytest.mark.quick
@pytest.mark.row("N38")
def test_code_is_required():
    m = cwrapjit.module("t", "")
    call = {"args_input": ("a",), "prototype_input": ((),), "prototype_output": ()}
    refuses(TypeError, lambda: m.function("f", "", **call), "Ccode_slice_eval")
    refuses(TypeError, lambda: m.function("f", "", **call, Ccode_slice_eval=None), "Ccode_slice_eval")
    refuses(
        TypeError,
        lambda: m.function("f", "", **call, Ccode_slice_eval="return true;"),
        "Ccode_slice_eval",
        "str",
    )
    refuses(ValueError, lambda: m.function("f", "", **call, Ccode_slice_eval={}), "Ccode_slice_eval")
    assert not hasattr(m, "f")


@pytest.mark.row("N38")
@pytest.mark.parametrize("body", [None, 3, b"return true;", ["return true;"]])
def test_a_body_must_be_text(body):
    refuses(TypeError, lambda: wrap(((),), (), {np.float64: body}), "Ccode_slice_eval", type(body).__name__)


@pytest.mark.row("N38")
@pytest.mark.parametrize("t", BASIC)
def test_one_type_is_that_of_all_inputs_and_outputs(t):
    f = wrap((("n",), ("n",)), (), {t: INNER})
    x = np.array([1, 0, 1, 1], dtype=t)
    result = f(x, x)
    assert type(result) is t
    assert result == (True if t is np.bool_ else 3)
    other = np.float32 if t is not np.float32 else np.float64
    refuses(TypeError, lambda: f(x, x.astype(other)), "t.f", np.dtype(t).name, np.dtype(other).name)


@pytest.mark.row("N38")
@pytest.mark.parametrize(
    ("python_type", "wanted"),
    [(float, np.float64), (int, np.int64), (bool, np.bool_), (complex, np.complex128)],
)
def test_python_types_are_keys_too(python_type, wanted):
    f = wrap(((),), (), {python_type: "item__output() = item__a(); return true;"})
    x = np.array([1, 0, 1], dtype=wanted)
    assert same(f(x), x)
    assert f(x).dtype == np.dtype(python_type)


@pytest.mark.row("N38", "B13")
@pytest.mark.parametrize("key", ["float64", "f8", "d", "<f8", np.dtype("f8"), "double", np.double])
def test_keys_may_be_whatever_names_a_dtype(key):
    f = wrap(((),), (), {key: "item__output() = 2 * item__a(); return true;"})
    assert same(f(ar(3)), 2 * ar(3))
    assert f.types == ("float64 -> float64",)


@pytest.mark.quick
@pytest.mark.row("N38")
@pytest.mark.parametrize("key", ["nonsense", "f3", 3, None, object(), ">f8"])
def test_keys_that_name_no_native_dtype(key):
    refuses(TypeError, lambda: wrap(((),), (), {key: "return true;"}), "Ccode_slice_eval", f" {key!r} ")


@pytest.mark.row("N38")
def test_the_same_types_twice_are_refused():
    bodies = {np.float64: "return true;", (np.float64, np.float64): "return true;"}
    refuses(ValueError, lambda: wrap(((),), (), bodies), "the same types twice", "is float64 again")


@pytest.mark.row("N39")
def test_a_tuple_of_types_is_inputs_then_outputs():
    f = wrap(((),), (), {(np.float32, np.int32): "item__output() = (int)(item__a() * 2); return true;"})
    result = f(np.array([1.5, 2.25], dtype=np.float32))
    assert same(result, np.array([3, 4], dtype=np.int32))
    refuses(TypeError, lambda: f(ar(2)), "t.f", "float32", "float64")


@pytest.mark.row("N39")
def test_a_tuple_of_types_for_several_inputs_and_outputs():
    key = (np.int8, "f4", float, np.dtype("u2"), bool)
    f = wrap(
        ((), (), ()),
        ((), ()),
        {
            key: """
        item__output0() = (npy_uint16)(item__a() + item__b() + item__c());
        item__output1() = item__a() > 1;
        return true;"""
        },
    )
    total, flag = f(np.int8([1, 2]), np.float32([10.5, 20.25]), ar(2))
    assert same(total, np.array([11, 23], dtype=np.uint16))
    assert same(flag, np.array([False, True]))


@pytest.mark.row("N39", "N10i")
@pytest.mark.parametrize("key", [(), (np.float64,), (np.float64,) * 2, (np.float64,) * 4])
def test_a_tuple_of_types_of_a_wrong_length(key):
    refuses(ValueError, lambda: wrap(((), ()), (), {key: "return true;"}), f"has {len(key)} types; wanted 3")


@pytest.mark.row("N40")
def test_several_type_sets_are_dispatched_by_the_actual_dtypes():
    types = (np.float64, np.float32, np.int64, np.int32)
    f = wrap((("n",), ("n",)), (), dict.fromkeys(types, INNER))
    for t in types + types[::-1]:
        x = np.arange(4, dtype=t)
        assert type(f(x, x)) is t
        assert f(x, x) == 14


@pytest.mark.row("N40")
def test_each_type_set_runs_its_own_body():
    f = tagged(np.float64, np.int32, np.uint8, (np.float64, np.int32), (np.int16, np.float64))
    for number, t in enumerate([np.float64, np.int32, np.uint8]):
        assert f(t(0)) == number
    assert f(np.int16(0)) == 4
    out = np.zeros((), dtype=np.int32)
    assert f(np.float64(0), out=out) == 3


@pytest.mark.row("N40")
def test_types_of_one_size_are_one_type():
    f = tagged(np.int64, np.int32)
    assert f(np.zeros((), dtype=np.longlong)) == 0
    assert f(np.zeros((), dtype=np.intc)) == 1
    assert f(np.zeros((), dtype=np.int_)) == (0 if np.dtype(np.int_).itemsize == 8 else 1)
    g = wrap(((),), (), {np.longlong: WHICH.format(5)})
    assert g(np.zeros((), dtype=np.int64)) == 5


@pytest.mark.row("N41")
def test_no_match_lists_known_sets_and_received_types():
    f = wrap(
        (("n",), ("n",)),
        (),
        {np.float64: INNER, np.float32: INNER, (np.float64, np.float64, np.int32): INNER},
    )
    error = refuses(
        TypeError, lambda: f(ar(4, dtype=np.int64), ar(4)), "t.f", "float64", "float32", "int32", "int64"
    )
    assert "complex" not in str(error)
    refuses(TypeError, lambda: f(ar(4).astype(complex), ar(4)), "t.f", "complex128")
    refuses(TypeError, lambda: f(ar(4), np.array(["x"] * 4)), "t.f", "float64", "<U1")
    refuses(TypeError, lambda: f(ar(4), ar(4).astype(object)), "t.f", "object")


@pytest.mark.row("N41")
def test_no_match_with_an_out_names_its_type_too():
    f = wrap((("n",), ("n",)), (), {np.float64: INNER})
    refuses(TypeError, lambda: f(ar(4), ar(4), out=np.zeros((), dtype=np.uint16)), "t.f", "float64", "uint16")


@pytest.mark.row("N41")
def test_byte_order_matters():
    f = wrap((("n",), ("n",)), (), {np.float64: INNER})
    refuses(TypeError, lambda: f(ar(4), ar(4).astype(">f8")), "t.f", "'b'", "byte order")


@pytest.mark.row("N42", "N11i")
def test_rounding_inner_product():
    f = wrap((("n",), ("n",)), (), {
        np.float64: INNER,
        np.float32: INNER,
        (np.float64, np.float64, np.int32): """
            double out = 0.0;
            const int N = dims_slice__a[0];

            for(int i=0; i<N; i++)
              out += *(const double*)(data_slice__a +
                                      i*strides_slice__a[0]) *
                     *(const double*)(data_slice__b +
                                      i*strides_slice__b[0]);
            *(int32_t*)data_slice__output = (int32_t)round(out);
            return true;""",
    }, header="#include <stdint.h>")  # fmt: skip
    x, y = ar(4) + 0.25, ar(2, 4)
    exact = y @ x
    assert same(f(x, y), exact)
    out = np.zeros(2, dtype=np.int32)
    assert f(x, y, out=out) is out
    assert same(out, np.array([16, 44], dtype=np.int32))
    scalar = np.zeros((), dtype=np.int32)
    f(ar(4), ar(4), out=scalar)
    assert scalar == 14


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
    f = wrap(
        (("n",),),
        (),
        {(t, np.int32): "item__output() = (int)item__a(0); return true;" for t in (np.float32, np.float64)},
    )
    for t in (np.float32, np.float64):
        x = np.arange(3, 6).astype(t)
        result = f(x)
        assert type(result) is np.int32
        assert result == 3
        out = np.zeros((), dtype=np.int32)
        assert f(x, out=out) is out
        for wrong in (np.int64, np.float32, np.float64):
            refuses(
                TypeError,
                lambda x=x, wrong=wrong: f(x, out=np.zeros((), dtype=wrong)),
                "t.f",
                "int32",
                np.dtype(wrong).name,
            )
    refuses(TypeError, lambda: f(np.arange(3)), "t.f", "float32", "float64", "int64")


@pytest.mark.row("N21")
def test_inputs_are_never_copied():
    f = wrap((("n",),), (), {
        (np.float64, np.int64): "item__output() = (npy_int64)(intptr_t)data_slice__a; return true;"
    })  # fmt: skip
    x = ar(6, 4)
    for view in (x[0], x[1], x[:, 1], x[::-1, 2], x.T[0], np.broadcast_to(x[0, :1], (9,))):
        assert f(view) == view.ctypes.data
    addresses = f(x[::2, ::-1])
    assert addresses.tolist() == [x[k, ::-1].ctypes.data for k in (0, 2, 4)]
    assert f(np.float64([1.0])).dtype == np.int64


@pytest.mark.row("N21")
def test_a_wrong_type_raises_instead_of_being_converted():
    f = wrap((("n",), ("n",)), (), {np.float64: INNER})
    for t in (np.float32, np.int64, np.int8, np.bool_, np.longdouble, np.complex128, object):
        refuses(TypeError, lambda t=t: f(ar(3).astype(t), ar(3)), "t.f", "float64", np.dtype(t).name)


@pytest.mark.row("N21", "B04")
def test_an_unaligned_input_raises_instead_of_being_copied():
    f = wrap((("n",), ("n",)), (), {np.float64: INNER})
    bytes_ = np.zeros(8 * 4 + 1, dtype=np.uint8)
    unaligned = bytes_[1:].view(np.float64)
    assert not unaligned.flags.aligned
    refuses(ValueError, lambda: f(ar(4), unaligned), "t.f", "'b'", "align")
