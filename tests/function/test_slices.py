"""What a slice sees: geometry names, raw pointers, and the accessors item__ and ctype__."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from helpers import ar, refuses, same, wrap

import cwrapjit

# Writes Ndims_full, Ndims_slice, sizeof_element, then dims and strides, full and slice, of operand %s.
DUMP = """
    npy_intp k = 0;
    const int nfull = Ndims_full__%s;
    const int nslice = Ndims_slice__%s;
    const npy_intp *dims_full = dims_full__%s;
    const npy_intp *strides_full = strides_full__%s;
    const npy_intp *dims_slice = dims_slice__%s;
    const npy_intp *strides_slice = strides_slice__%s;
    item__output(k++) = nfull;
    item__output(k++) = nslice;
    item__output(k++) = sizeof_element__%s;
    for (int i = 0; i < nfull; i++) item__output(k++) = dims_full[i];
    for (int i = 0; i < nfull; i++) item__output(k++) = strides_full[i];
    for (int i = 0; i < nslice; i++) item__output(k++) = dims_slice[i];
    for (int i = 0; i < nslice; i++) item__output(k++) = strides_slice[i];
    while (k < dims_slice__output[0]) item__output(k++) = -99;
    return true;
"""
ROOM = 24


def dump(name: str) -> str:
    return DUMP % ((name,) * DUMP.count("%s"))


def geometry(array: Any, ncore: int) -> list[int]:
    """What DUMP has to write for that array."""
    dims, strides = list(array.shape), list(array.strides)
    core = array.ndim - ncore
    told = [array.ndim, ncore, array.itemsize, *dims, *strides, *dims[core:], *strides[core:]]
    return told + [-99] * (ROOM - len(told))


# ---- N55: the body is a function ------------------------------------------------------------------


@pytest.mark.row("N55")
def test_early_return_and_own_locals() -> None:
    body = """
        const int N = dims_slice__a[0];
        item__output() = -1;
        if (N == 0)
            return true;
        double sum = 0, data = 0, dims = 0, steps = 1, ctx = 0, ok = 1, k = 0, n = 0;
        for (int i = 0; i < N; i++)
            sum += item__a(i);
        item__output() = sum + data + dims + ctx + k + n + 0 * (steps + ok);
        return true;
    """
    f = wrap((("n",),), (), body)
    assert f(ar(4)) == 6
    assert f(ar(0)) == -1
    assert same(f(ar(2, 4)), np.array([6.0, 22.0]))


@pytest.mark.row("N55")
def test_locals_may_be_called_like_arguments_of_this_and_other_functions() -> None:
    m = cwrapjit.module("t")
    body = "double x = item__{0}(), {0} = 1, output = 2; item__output() = x + {0} + output; return true;"
    kw: dict[str, Any] = {"prototype_input": ((),), "prototype_output": ()}
    m.function("f", "", args_input=("x1",), Ccode_slice_eval={np.float64: body.format("x1")}, **kw)
    m.function("g", "", args_input=("y",), Ccode_slice_eval={np.float64: body.format("y")}, **kw)
    assert m.f(1.0) == 4 and m.g(2.0) == 5


@pytest.mark.row("N55")
def test_labels_statics_and_nested_blocks() -> None:
    body = """
        static const double table[2] = {10, 20};
        enum { TWO = 2 };
        struct pair { double first, second; } pair = {item__a(), TWO};
        if (pair.first < 0)
            goto negative;
        { double pair = table[1]; item__output() = pair; }
        return true;
    negative:
        item__output() = table[0] * pair.second;
        return true;
    """
    assert same(wrap(((),), (), body)(np.array([-1.0, 1.0])), np.array([20.0, 20.0]))


# ---- N56-N59: geometry ----------------------------------------------------------------------------


@pytest.mark.row("N56", "N57", "N58", "N59")
@pytest.mark.parametrize(
    "x",
    [
        ar(5, 2, 3)[::2],
        ar(2, 3),
        ar(3, 2).T,
        ar(5, 4, 6)[::-1, ::2, ::-3],
        np.broadcast_to(ar(3), (2, 2, 3)),
        ar(2, 1, 2, 3)[:, :, :1],
    ],
    ids=lambda x: f"{x.shape}",
)
def test_geometry_of_an_input_is_numpys(x: Any) -> None:
    f = wrap((("n", "m"),), (ROOM,), {(np.float64, np.int64): dump("a")})
    got = f(x)
    wanted = geometry(x, 2)
    assert got.shape == (*x.shape[:-2], ROOM)
    for told in got.reshape(-1, ROOM):
        assert told.tolist() == wanted, "the same in every slice"


@pytest.mark.row("N56", "N57", "N58", "N59")
def test_geometry_of_outputs_given_and_made() -> None:
    f = wrap(((),), (ROOM,), {(np.float64, np.int64): dump("output")})
    made = f(ar(2))
    assert made[1].tolist() == geometry(made, 1)
    given = np.zeros((3, ROOM * 2), np.int64)[::-1, ::2]
    f(ar(3), out=given)
    assert given[2].tolist() == geometry(given, 1)


@pytest.mark.row("N56")
def test_full_is_the_arguments_own_array_not_the_broadcast_shape() -> None:
    body = """
        item__output(0) = Ndims_full__a;
        item__output(1) = Ndims_full__b;
        item__output(2) = dims_full__a[0];
        item__output(3) = dims_full__b[0];
        item__output(4) = dims_full__b[1];
        item__output(5) = Ndims_full__output;
        item__output(6) = Ndims_slice__a;
        return true;
    """
    got = wrap(((), ()), (7,), {(np.float64, np.float64, np.int64): body})(ar(3), ar(4, 1))
    assert got.shape == (4, 3, 7)
    assert {tuple(row) for row in got.reshape(-1, 7).tolist()} == {(1, 2, 3, 4, 1, 3, 0)}


@pytest.mark.row("N56", "N57", "N58")
@pytest.mark.parametrize("name", ["dims_full__a", "dims_slice__a", "strides_full__a", "strides_slice__a"])
def test_geometry_cannot_be_written(name: str) -> None:
    error = refuses(
        cwrapjit.CompileError,
        lambda: wrap((("n",),), (), f"{name}[0] = 1;\nreturn true;"),
        "read-only location",
    )
    assert error.lineno == 1 and name in error.text


@pytest.mark.row("N59")
def test_sizeof_element_per_operand() -> None:
    body = """item__output() = 100 * sizeof_element__a + 10 * sizeof_element__b + sizeof_element__output;
              return true;"""
    f = wrap(
        ((), ()), (), {(np.int16, np.complex128, np.int64): body, (np.int8, np.float32, np.float64): body}
    )
    assert f(np.int16(0), np.complex128(0)) == 200 + 160 + 8
    assert f(np.int8(0), np.float32(0)) == 100 + 40 + 8


@pytest.mark.row("N56", "N57")
def test_sizes_beyond_32_bits_arrive_whole() -> None:
    f = wrap((("n",),), (), {(np.float64, np.int64): "item__output() = dims_slice__a[0]; return true;"})
    assert f(np.broadcast_to(np.float64(1), (2**32 + 3,))) == 2**32 + 3


# ---- N60, N61: raw addresses ----------------------------------------------------------------------


@pytest.mark.row("N60")
def test_data_in_validate_is_the_start_of_the_array() -> None:
    f = wrap(
        (("n",),),
        (2,),
        {
            (
                np.float64,
                np.int64,
            ): "item__output(0) = cookie->a; item__output(1) = cookie->output; return true;"
        },
        Ccode_cookie_struct="npy_intp a, output;",
        Ccode_validate="cookie->a = (npy_intp)data__a; cookie->output = (npy_intp)data__output; return true;",
    )
    for x in (ar(4), ar(3, 4), ar(3, 8)[::-1, ::2]):
        out = np.zeros((*x.shape[:-1], 2), np.int64)
        f(x, out=out)
        assert out.reshape(-1, 2).tolist() == [[x.ctypes.data, out.ctypes.data]] * (out.size // 2)


@pytest.mark.row("N61")
@pytest.mark.parametrize(
    "x", [ar(5, 3), ar(5, 3)[::2], ar(5, 3)[::-1], ar(3, 5).T], ids=lambda x: f"{x.strides}"
)
def test_data_slice_is_the_start_of_each_slice(x: Any) -> None:
    body = """item__output(0) = (npy_intp)data_slice__a;
              item__output(1) = (npy_intp)data_slice__output;
              return true;"""
    f = wrap((("n",),), (2,), {(np.float64, np.int64): body})
    out = np.zeros((x.shape[0], 4), np.int64)[:, ::2]
    f(x, out=out)
    assert out[:, 0].tolist() == [x.ctypes.data + k * x.strides[0] for k in range(len(x))]
    assert out[:, 1].tolist() == [out.ctypes.data + k * out.strides[0] for k in range(len(x))]


@pytest.mark.quick
@pytest.mark.row("N61", "N60")
def test_input_pointers_are_const() -> None:
    with pytest.warns(cwrapjit.CompileWarning, match="qualifiers"):
        wrap((("n",),), (), "double *p = data_slice__a;\nreturn p != NULL;")
    refuses(
        cwrapjit.CompileError,
        lambda: wrap((("n",),), (), "item__a(0) = 1; return true;"),
        "read-only location",
    )
    f = wrap(
        (("n",),),
        (),
        "double *p = data_slice__output; const double *q = data_slice__a; *p = *q; return true;",
    )
    assert f(ar(3) + 5) == 5


# ---- N62: what the two kinds of snippets share ----------------------------------------------------


@pytest.mark.row("N62")
def test_both_see_slice_and_full_geometry() -> None:
    f = wrap(
        (("n",),),
        (),
        "item__output() = Ndims_full__a * 100 + dims_full__a[0] * 10 + dims_slice__a[0]; return true;",
        Ccode_validate="""return dims_slice__a[0] == 3 && Ndims_slice__a == 1 && strides_slice__a[0] == 8
                              && dims_full__a[Ndims_full__a - 1] == 3 && strides_full__a[0] != 0
                              && sizeof_element__a == 8 && Ndims_slice__output == 0;""",
    )
    assert f(ar(3)) == 100 + 30 + 3
    assert same(f(ar(2, 3)), np.full(2, 200.0 + 20 + 3))
    refuses(RuntimeError, lambda: f(ar(4)), "t.f")


@pytest.mark.row("N62")
@pytest.mark.parametrize("text", ["item__a(0) > 0", "sizeof(ctype__a) == 8", "data_slice__a != NULL"])
def test_slice_names_in_validate_are_refused_with_the_way_out(text: str) -> None:
    validate = f"/* first */\nreturn {text};"
    error = refuses(
        cwrapjit.CompileError,
        lambda: wrap((("n",),), (), "return true;", Ccode_validate=validate),
        "is for Ccode_slice_eval",
        "data__a",
    )
    assert error.filename == "<cwrapjit t.f validate>" and error.lineno == 2
    assert "Ccode_slice_eval" in error.msg and "data__a" in error.msg


@pytest.mark.row("N62")
def test_validate_names_in_a_slice_are_refused_with_the_way_out() -> None:
    body = "\nconst double *p = data__a; return p != NULL;"
    error = refuses(cwrapjit.CompileError, lambda: wrap((("n",),), (), body), "data__a", "data_slice__a")
    assert error.filename == "<cwrapjit t.f float64>" and error.lineno == 2
    assert "data__a" in error.msg and "data_slice__a" in error.msg
    assert error.text[error.offset - 1 : error.end_offset - 1] == "data__a"


@pytest.mark.row("N62")
def test_such_names_in_comments_and_strings_do_not_matter() -> None:
    f = wrap(
        (("n",),),
        (),
        '/* data__a */ const char *s = "data__a"; item__output() = strlen(s); return true; // data__a',
        Ccode_validate='/* item__a(0) */ return sizeof "item__a" == 8; // ctype__a',
    )
    assert f(ar(3)) == 7


# ---- N63-N66: accessors ---------------------------------------------------------------------------


@pytest.mark.row("N63")
def test_names_of_one_and_of_several_outputs() -> None:
    one = wrap(((),), (), "item__output() = item__a() + 1; return true;")
    two = wrap(
        ((),),
        ((), (2,)),
        "item__output0() = item__a(); item__output1(1) = 7; item__output1(0) = 6; return true;",
    )
    assert one(1.0) == 2
    first, second = two(1.0)
    assert first == 1 and second.tolist() == [6, 7]
    refuses(
        cwrapjit.CompileError,
        lambda: wrap(((),), ((), ()), "item__output() = 1; return true;"),
        "item__output",
    )
    refuses(
        cwrapjit.CompileError, lambda: wrap(((),), (), "item__output0() = 1; return true;"), "item__output0"
    )


@pytest.mark.row("N64", "N65")
def test_item_follows_strides_and_is_assignable() -> None:
    body = """
        for (int i = 0; i < dims_slice__a[0]; i++)
            for (int j = 0; j < dims_slice__a[1]; j++) {
                const ctype__a v = item__a(i, j);
                item__output(i, j) = v;
                item__output(i, j) += 1;
                item__output(i, j)++;
                ctype__output *p = &item__output(i, j);
                *p *= 2;
            }
        return true;
    """
    f = wrap((("n", "m"),), ("n", "m"), body)
    x = ar(4, 6)
    for view in (x, x.T, x[::-1, ::2], x[:, ::-3], np.broadcast_to(x[0], (3, 6))):
        assert same(f(view), 2 * (view + 2))
        out = np.zeros((*view.shape, 2))[..., 1]
        assert f(view, out=out) is out and same(out, 2 * (view + 2))


@pytest.mark.row("N65", "N12i")
def test_item_takes_expressions() -> None:
    body = """
        int i = 0;
        item__output() = item__a(i + 1) + item__a(i ? 0 : 2) * 10 + item__a(dims_slice__a[0] - 1 - i) * 100
                         + item__a((i += 1, i)) * 1000 + -item__a(i) + item__a(i)*item__a(2 | 1);
        return true;
    """
    x = ar(4) + 1
    assert wrap((("n",),), (), body)(x) == x[1] + 10 * x[2] + 100 * x[3] + 1000 * x[1] - x[1] + x[1] * x[3]


REALS = [
    np.bool_,
    np.int8,
    np.int16,
    np.int32,
    np.int64,
    np.uint8,
    np.uint16,
    np.uint32,
    np.uint64,
    np.float32,
    np.float64,
    np.longdouble,
]
COMPLEXES = [np.complex64, np.complex128, np.clongdouble]


def extremes(dtype: Any) -> Any:
    kind = np.dtype(dtype).kind
    if kind == "b":
        return np.array([False, True, True])
    if kind in "iu":
        info = np.iinfo(dtype)
        return np.array([info.min, 0, 1, info.max], dtype)
    info = np.finfo(dtype)
    values = [info.min, info.tiny, 0, -0.0, 1 / np.longdouble(3), info.max, np.inf, np.nan]
    if kind == "f":
        return np.array(values, dtype)
    array = np.empty(len(values), dtype)
    array.real, array.imag = values, values[::-1]
    return array


@pytest.mark.row("N66", "N64")
@pytest.mark.parametrize("dtype", REALS + COMPLEXES, ids=lambda d: np.dtype(d).name)
def test_item_of_every_basic_dtype(dtype: Any) -> None:
    body = "const ctype__a v = item__a(); item__output() = v; return sizeof(ctype__a) == sizeof_element__a;"
    f = wrap(((),), (), {dtype: body})
    x = extremes(dtype)
    for view in (x, x[::-1], np.repeat(x, 2)[::2]):
        got = f(view)
        assert got.dtype == np.dtype(dtype)
        assert same(got, view)
        if np.dtype(dtype).kind in "fc":
            assert np.array_equal(np.signbit(got.real), np.signbit(view.real))


@pytest.mark.row("N66")
@pytest.mark.parametrize("dtype", REALS[1:], ids=lambda d: np.dtype(d).name)
def test_ctype_has_the_right_signedness_and_arithmetic(dtype: Any) -> None:
    body = "item__output() = (ctype__a)-1 < 0; return true;"
    assert bool(wrap(((),), (), {(dtype, np.int32): body})(np.ones((), dtype))) is (
        np.dtype(dtype).kind != "u"
    )
    add = wrap(((), ()), (), {dtype: "item__output() = item__a() + item__b(); return true;"})
    assert same(add(np.array([1, 100], dtype), np.array([2, 27], dtype)), np.array([3, 127], dtype))


@pytest.mark.row("N66")
def test_integers_wrap_as_numpys_do() -> None:
    f = wrap(
        ((), ()),
        (),
        dict.fromkeys((np.uint8, np.uint64), "item__output() = item__a() * item__b(); return true;"),
    )
    assert f(np.uint8(200), np.uint8(3)) == (600) % 256
    assert int(f(np.uint64(2**63 + 1), np.uint64(3))) == ((2**63 + 1) * 3) % 2**64


@pytest.mark.row("N66", "B14")
def test_bool_items_are_truth_values() -> None:
    f = wrap(((), ()), (), {np.bool_: "item__output() = item__a() && !item__b(); return true;"})
    assert same(
        f(np.array([True, True, False]), np.array([False, True, False])), np.array([True, False, False])
    )
    count = wrap((("n",),), (), {(bool, int): "item__output() = item__a(0) + item__a(1); return true;"})
    assert count(np.array([True, True])) == 2


@pytest.mark.row("N66")
@pytest.mark.parametrize("dtype", COMPLEXES, ids=lambda d: np.dtype(d).name)
def test_complex_items_have_real_and_imag(dtype: Any) -> None:
    body = """
        item__output().real = item__a().real * item__b().real - item__a().imag * item__b().imag;
        item__output().imag = item__a().real * item__b().imag + item__a().imag * item__b().real;
        return true;
    """
    a, b = np.array([1 + 2j, 3 - 1j], dtype), np.array([5 - 4j], dtype)
    assert same(wrap(((), ()), (), {dtype: body})(a, b), a * b)


@pytest.mark.row("N64", "B01")
def test_accessors_have_each_operands_own_type() -> None:
    body = """item__output() = sizeof(ctype__a) * 100 + sizeof(ctype__b) * 10 + sizeof(ctype__output)
                               + (item__a() == -3) * 1000 + (item__b() == 0.5f) * 2000; return true;"""
    f = wrap(((), ()), (), {(np.int8, np.float32, np.int16): body})
    assert f(np.int8(-3), np.float32(0.5)) == 100 + 40 + 2 + 3000


# ---- N67: types without a C type ------------------------------------------------------------------


@pytest.mark.row("N67")
def test_object_elements_by_raw_pointer() -> None:
    body = """
        PyObject *element = *(PyObject **)data_slice__a;
        const npy_intp length = PyObject_Length(element);
        if (length < 0)
            return false;
        item__output() = length;
        return true;
    """
    f = wrap(((),), (), {(object, np.int64): body}, header="#include <Python.h>")
    x = np.array([[1, 2, 3], "four", set(), {}], dtype=object)
    before = [sys.getrefcount(element) for element in x]
    assert f(x).tolist() == [3, 4, 0, 0]
    assert f(x[::-2]).tolist() == [0, 4]
    bad = np.array([[1], 5], dtype=object)
    refuses(TypeError, lambda: f(bad), "int")
    assert [sys.getrefcount(element) for element in x] == before


@pytest.mark.row("N67")
def test_object_outputs_hold_references() -> None:
    body = """
        PyObject *element = *(PyObject **)data_slice__a;
        PyObject **place = (PyObject **)data_slice__output;
        PyObject *old = *place;
        Py_INCREF(element);
        *place = element;
        Py_XDECREF(old);
        return true;
    """
    f = wrap(((),), (), {object: body}, header="#include <Python.h>")
    thing = ["only", "here"]
    x = np.array([thing, thing, None], dtype=object)
    before = sys.getrefcount(thing)
    made = f(x)
    assert made.dtype == object and made[0] is thing and made[2] is None
    out = np.array([1, 2, 3], dtype=object)
    f(x, out=out)
    assert out[1] is thing
    assert sys.getrefcount(thing) == before + 4
    del made, out
    assert sys.getrefcount(thing) == before


@pytest.mark.row("N67")
def test_object_array_of_a_failing_call_is_freed_cleanly() -> None:
    f = wrap(((),), (), {(np.float64, object): "return item__a() < 1;"})
    refuses(RuntimeError, lambda: f(ar(4)), "t.f")


@pytest.mark.row("N67")
def test_bytes_key_matches_any_itemsize_and_sizeof_element_tells_it() -> None:
    f = wrap(((),), (), {(np.bytes_, np.int64): "item__output() = sizeof_element__a; return true;"})
    assert f(np.array([b"a", b"abc"])).tolist() == [3, 3]
    assert f(np.array([b"hello"])).tolist() == [5]
    refuses(TypeError, lambda: f(np.array(["unicode"])), "t.f")
    refuses(TypeError, lambda: f(ar(2)), "t.f", "float64")


@pytest.mark.quick
@pytest.mark.row("N67")
def test_a_key_with_an_itemsize_matches_that_one() -> None:
    f = wrap(((),), (), {("S5", np.int64): "item__output() = ((const char *)data_slice__a)[4]; return true;"})
    assert f(np.array([b"hello", b"world"])).tolist() == [ord("o"), ord("d")]
    refuses(TypeError, lambda: f(np.array([b"four"])), "'a' is |S4", "wanted (S5")


@pytest.mark.quick
@pytest.mark.row("N67")
@pytest.mark.parametrize(
    "key, x",
    [
        (np.str_, np.array(["ab", "cd"])),
        (np.bytes_, np.array([b"ab", b"cd"])),
        (np.void, np.array([b"abcd", b"efgh"], "V4")),
        (np.void, np.array([(1, 2.0), (3, 4.0)], [("i", "i4"), ("x", "f8")])),
    ],
    ids=["str", "bytes", "void", "structured"],
)
def test_flexible_outputs_need_out(key: Any, x: Any) -> None:
    body = """memcpy(data_slice__output, data_slice__a, sizeof_element__a);
              return sizeof_element__output == sizeof_element__a;"""
    f = wrap(((),), (), {key: body})
    refuses(ValueError, lambda: f(x), "t.f", "output", "out")
    out = np.zeros_like(x)
    assert f(x, out=out) is out
    assert out.tobytes() == x.tobytes()


@pytest.mark.quick
@pytest.mark.row("N67")
@pytest.mark.parametrize("key", [object, np.bytes_, np.str_, np.void], ids=str)
def test_types_without_a_c_type_have_no_accessors(key: Any) -> None:
    for text in ("item__a()", "ctype__a"):
        refuses(
            cwrapjit.CompileError,
            lambda text=text: wrap(((),), (), {(key, np.int64): f"return sizeof({text}) > 0;"}),
            text.removesuffix("()"),
            "type that C",
        )
    f = wrap(((),), (), {(key, np.int64): "item__output() = data_slice__a != NULL; return true;"})
    assert f(np.zeros((), np.dtype(key) if key is object else np.dtype(key).str[:2] + "3")) == 1


@pytest.mark.row("N67")
def test_float16_by_raw_pointer() -> None:
    f = wrap(
        ((),),
        (),
        {(np.float16, np.uint16): "item__output() = *(const npy_uint16 *)data_slice__a; return true;"},
    )
    x = np.array([1.5, -2, np.inf], np.float16)
    assert same(f(x), x.view(np.uint16))


# ---- N68: the three forms of the seed -------------------------------------------------------------

FORMS = {
    "bytes": "*(const double *)(data_slice__a + i * strides_slice__a[0] + j * strides_slice__a[1])",
    "index": "((double *)data_slice__a)[i * dims_slice__a[1] + j]",
    "item": "item__a(i, j)",
}


@pytest.mark.row("N68")
@pytest.mark.parametrize("form", FORMS)
def test_three_ways_to_an_element_agree(form: str) -> None:
    body = f"""
        for (int i = 0; i < dims_slice__a[0]; i++)
            for (int j = 0; j < dims_slice__a[1]; j++)
                item__output(i, j) = {FORMS[form]};
        return true;
    """
    validate = "return CHECK_CONTIGUOUS_AND_SETERROR__a();" if form == "index" else None
    f = wrap((("n", "m"),), ("n", "m"), body, Ccode_validate=validate)
    x = ar(3, 4, 5)
    assert same(f(x), x)
    assert same(f(x[::2]), x[::2])
    if form != "index":
        assert same(f(x.T), x.T)
        assert same(f(x[:, ::-1, ::2]), x[:, ::-1, ::2])


@pytest.mark.row("N68")
def test_the_seeds_synopsis_body() -> None:
    body = r"""
        double* out = (double*)data_slice__output;
        const int N = dims_slice__a[0];

        *out = 0.0;

        for(int i=0; i<N; i++)
          *out += *(const double*)(data_slice__a +
                                   i*strides_slice__a[0]) *
                  *(const double*)(data_slice__b +
                                   i*strides_slice__b[0]);
        return true;"""
    f = wrap((("n",), ("n",)), (), body)
    assert f(ar(4), ar(2, 4)).tolist() == [14, 38]
    assert f(ar(2, 4)[:, ::-1], ar(8)[::2]).tolist() == [8, 56]
