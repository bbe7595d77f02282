"""Tests what slices see: geometry, pointers, item__ and ctype__ accessors, and CHECK_CONTIGUOUS macros."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from helpers import ar, refuses, same, wrap
from numpy.lib.stride_tricks import as_strided

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
    """Returns what DUMP must write for that array."""
    dims, strides = list(array.shape), list(array.strides)
    core = array.ndim - ncore
    told = [array.ndim, ncore, array.itemsize, *dims, *strides, *dims[core:], *strides[core:]]
    return told + [-99] * (ROOM - len(told))


# ---- N55: the body is a function ------------------------------------------------------------------


@pytest.mark.row("N55")
def test_early_return_labels_statics_and_own_locals() -> None:
    body = """
        static const double table[2] = {10, 20};
        enum { TWO = 2 };
        struct pair { double first, second; } pair = {item__a(), TWO};
        double data = 0, dims = 0, steps = 1, ctx = 0, ok = 1, k = 0, n = 0, a = dims + steps, output = 0;
        if (pair.first < 0)
            goto negative;
        if (pair.first > 1) {
            item__output() = a + ctx + k + n + output + ok;
            return true;
        }
        { double pair = table[1]; item__output() = pair; }
        return true;
    negative:
        item__output() = table[0] * pair.second + 1;
        return true;
    """
    assert wrap(((),), (), body)(np.array([-1.0, 1.0, 2.0])).tolist() == [21, 20, 2]


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
def test_geometry_of_outputs_and_of_each_input() -> None:
    f = wrap(((),), (ROOM,), {(np.float64, np.int64): dump("output")})
    made = f(ar(2))
    assert made[1].tolist() == geometry(made, 1)
    given = np.zeros((3, ROOM * 2), np.int64)[::-1, ::2]
    f(ar(3), out=given)
    assert given[2].tolist() == geometry(given, 1)
    x, y = ar(3, dtype=np.int16), ar(4, 1)
    for name, each in (("a", x), ("b", y)):  # of the operand itself, not of the broadcast shape
        got = wrap(((), ()), (ROOM,), {(np.int16, np.float64, np.int64): dump(name)})(x, y)
        assert got.shape == (4, 3, ROOM) and got[3, 2].tolist() == geometry(each, 0)
    length = wrap((("n",),), (), {(np.float64, np.int64): "item__output() = dims_slice__a[0]; return true;"})
    assert length(np.broadcast_to(np.float64(1), (2**32 + 3,))) == 2**32 + 3


# ---- N60, N61: raw addresses ----------------------------------------------------------------------


@pytest.mark.row("N60")
def test_data_in_validate_is_the_start_of_the_array() -> None:
    body = "item__output(0) = cookie->a; item__output(1) = cookie->output; return true;"
    f = wrap(
        (("n",),),
        (2,),
        {(np.float64, np.int64): body},
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
@pytest.mark.row("N61", "N60", "N56", "N57", "N58")
@pytest.mark.parametrize(
    "place",
    ["item__a(0)", *(f"{kind}__a[0]" for kind in "dims_full dims_slice strides_full strides_slice".split())],
)
def test_inputs_and_geometry_are_const(place: str) -> None:
    write = f"{place} = 1"
    error = refuses(
        cwrapjit.CompileError, lambda: wrap((("n",),), (), write + ";\nreturn true;"), "read-only"
    )
    assert error.lineno == 1 and write in error.text
    with pytest.warns(cwrapjit.CompileWarning, match="qualifiers"):
        wrap((("n",),), (), "double *p = data_slice__a;\nreturn p != NULL;")
    code = "double *p = data_slice__output; const double *q = data_slice__a; *p = *q; return true;"
    assert wrap((("n",),), (), code)(ar(3) + 5) == 5


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
@pytest.mark.parametrize(
    "text", ["item__a(0) > 0", "sizeof(ctype__a) == 8", "data_slice__a != NULL", "data__a != NULL"]
)
def test_names_of_the_other_snippet_are_refused_with_the_way_out(text: str) -> None:
    code, place = f"/* first */\nreturn {text};", "validate"
    define = lambda: wrap((("n",),), (), "return true;", Ccode_validate=code)  # noqa: E731
    if text.startswith("data__a"):
        define, place = lambda: wrap((("n",),), (), code), "float64"
    error = refuses(cwrapjit.CompileError, define, "data__a", "is for")
    assert error.filename == f"<cwrapjit t.f {place}>" and error.lineno == 2
    assert ("data_slice__a" if place == "float64" else "Ccode_slice_eval") in error.msg
    assert error.text[error.offset - 1 : error.end_offset - 1] in text


@pytest.mark.row("N62")
def test_such_names_in_comments_and_strings_do_not_matter() -> None:
    body = '/* data__a */ const char *s = "data__a"; item__output() = strlen(s); return true; // data__a'
    validate = '/* item__a(0) */ return sizeof "item__a" == 8; // ctype__a'
    assert wrap((("n",),), (), body, Ccode_validate=validate)(ar(3)) == 7


# ---- N63-N66: accessors ---------------------------------------------------------------------------


@pytest.mark.row("N63")
def test_names_of_one_and_of_several_outputs() -> None:
    code = "item__output0() = item__a(); item__output1(1) = 7; item__output1(0) = 6; return true;"
    first, second = wrap(((),), ((), (2,)), code)(1.0)
    assert first == 1 and second.tolist() == [6, 7]
    for outs, name in (((), "item__output0"), (((), ()), "item__output")):
        body = f"{name}() = 1; return true;"
        refuses(cwrapjit.CompileError, lambda outs=outs, body=body: wrap(((),), outs, body), name)


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


REALS = [np.dtype(code).type for code in "?bhilBHILfdg"]
COMPLEXES = [np.dtype(code).type for code in "FDG"]


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


@pytest.mark.row("N66", "N64", "B01")
@pytest.mark.parametrize("dtype", REALS + COMPLEXES, ids=lambda d: np.dtype(d).name)
def test_item_of_every_basic_dtype(dtype: Any) -> None:
    body = "const ctype__a v = item__a(); item__output() = v; return sizeof(ctype__a) == sizeof_element__a;"
    f, x = wrap(((),), (), {dtype: body}), extremes(dtype)
    for view in (x, x[::-1], np.repeat(x, 2)[::2]):
        got = f(view)
        assert same(got, view)
        if np.dtype(dtype).kind in "fc":
            assert np.array_equal(np.signbit(got.real), np.signbit(view.real))


@pytest.mark.row("N66")
@pytest.mark.parametrize("dtype", REALS[1:], ids=lambda d: np.dtype(d).name)
def test_ctype_has_the_right_signedness_and_arithmetic(dtype: Any) -> None:
    negative = wrap(((),), (), {(dtype, np.int32): "item__output() = (ctype__a)-1 < 0; return true;"})
    assert bool(negative(np.ones((), dtype))) is (np.dtype(dtype).kind != "u")
    f = wrap(((), ()), (), {dtype: "item__output() = item__a() * item__b(); return true;"})
    a, b = np.array([1, 100], dtype), np.array([2, 27], dtype)
    assert same(f(a, b), a * b), "integers wrap as NumPy's do"


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


@pytest.mark.row("N66", "B14")
def test_bool_items_are_truth_values() -> None:
    f = wrap(((), ()), (), {np.bool_: "item__output() = item__a() && !item__b(); return true;"})
    assert f(np.array([True, True, False]), np.array([False, True, False])).tolist() == [True, False, False]
    count = wrap((("n",),), (), {(bool, int): "item__output() = item__a(0) + item__a(1); return true;"})
    assert count(np.array([True, True])) == 2


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
    made, out = f(x), np.array([1, 2, 3], dtype=object)
    assert made.dtype == object and made[0] is thing and made[2] is None
    f(x, out=out)
    assert out[1] is thing
    assert sys.getrefcount(thing) == before + 4
    del made, out
    assert sys.getrefcount(thing) == before
    failing = wrap(((),), (), {(np.float64, object): "return item__a() < 1;"})
    refuses(RuntimeError, lambda: failing(ar(4)), "t.f")


@pytest.mark.row("N67")
def test_keys_of_bytes_match_any_itemsize_or_one() -> None:
    f = wrap(((),), (), {(np.bytes_, np.int64): "item__output() = sizeof_element__a; return true;"})
    assert f(np.array([b"a", b"abc"])).tolist() == [3, 3]
    assert f(np.array([b"hello"])).tolist() == [5]
    refuses(TypeError, lambda: f(np.array(["unicode"])), "t.f")
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
        define = lambda text=text: wrap(((),), (), {(key, np.int64): f"return sizeof({text}) > 0;"})  # noqa: E731
        refuses(cwrapjit.CompileError, define, text.removesuffix("()"), "type that C")
    f = wrap(((),), (), {(key, np.int64): "item__output() = data_slice__a != NULL; return true;"})
    assert f(np.zeros((), np.dtype(key) if key is object else np.dtype(key).str[:2] + "3")) == 1


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


# ---- CHECK_CONTIGUOUS ----


ASK = "item__output() = CHECK_CONTIGUOUS__a(); return true;"


def views_2d() -> list[Any]:
    """Returns 2-d views, contiguous and not, including cases that a simple check would get wrong."""
    x = ar(4, 6)
    return [
        *(x, x.T, np.asfortranarray(x), x[::2], x[:, ::2], x[:, :3], x[:2], x[1:2, 1:4], x[1:2, ::2]),
        *(x[:, 1:2], x[::-1], x[:, ::-1], x[2:3, ::-1], x[:0], x[:, :0], x[::-2, :0]),
        *(np.broadcast_to(ar(6), (4, 6)), np.broadcast_to(1.0, (4, 6)), np.broadcast_to(1.0, (1, 1))),
        *(as_strided(x, (1, 3), (56, 8)), as_strided(x, (3, 1), (8, 1000))),
        *(as_strided(x, (1, 1), (-7, 3)), as_strided(x, (0, 3), (5, 11))),
    ]


@pytest.mark.row("N47", "B07", "B16", "N12i")
def test_check_agrees_with_numpys_flag() -> None:
    f = wrap((("n", "m"),), (), ASK)
    strict = wrap((("n", "m"),), (), ASK, Ccode_validate="return CHECK_CONTIGUOUS_AND_SETERROR__a();")
    for view in views_2d():
        contiguous = view.flags.c_contiguous
        assert bool(f(view)) is contiguous, (view.shape, view.strides)
        if contiguous:
            assert strict(view) == 1
        else:
            refuses(ValueError, lambda view=view: strict(view), "contiguous")


@pytest.mark.row("N47")
def test_check_of_scalars_and_vectors() -> None:
    assert wrap(((),), (), ASK)(ar(3)[::2]).tolist() == [1.0, 1.0]
    vector = wrap((("n",),), (), ASK)
    assert vector(ar(5)) == 1
    assert vector(ar(5)[::-1]) == 0
    assert vector(ar(5)[::2]) == 0
    assert vector(np.float64(3)) == 1, "a scalar taken as a vector of one element"


@pytest.mark.row("N48")
def test_seterror_names_function_argument_and_dim() -> None:
    f = wrap(
        (("n", "m"), ("n",)),
        (),
        "item__output() = 1; return true;",
        names=("wind", "rain"),
        Ccode_validate="return CHECK_CONTIGUOUS_AND_SETERROR__wind();",
    )
    assert f(ar(2, 3), ar(2)) == 1
    error = refuses(
        ValueError, lambda: f(ar(2, 6)[:, ::2], ar(2)), "t.f", "wind", "8 bytes", "got 16", "axis"
    )
    assert "rain" not in str(error)
    assert f(ar(2, 3), ar(4)[::2]) == 1, "rain is not asked about"


@pytest.mark.row("N49", "N50")
def test_all_covers_inputs_and_outputs_and_names_the_one_at_fault() -> None:
    body = """for (int i = 0; i < dims_slice__wind[0]; i++) {
               item__output0(i) = item__wind(i);
               item__output1(i) = item__rain(i);
           }
           return true;"""
    dims, x, strided = ("n",), ar(3), ar(6)[::2]
    quiet, tells = (
        wrap((dims, dims), (dims, dims), body, names=("wind", "rain"), Ccode_validate=f"return {macro}();")
        for macro in ("CHECK_CONTIGUOUS_ALL", "CHECK_CONTIGUOUS_AND_SETERROR_ALL")
    )
    for f in (quiet, tells):
        assert same(f(x, 2 * x)[1], 2 * x)
    for name, args, out in [
        *(("wind", (strided, x), None), ("rain", (x, strided), None)),
        *(
            ("output0", (x, x), (np.zeros(6)[::2], np.zeros(3))),
            ("output1", (x, x), (np.zeros(3), np.zeros(6)[::2])),
        ),
    ]:
        refuses(RuntimeError, lambda args=args, out=out: quiet(*args, out=out), "t.f")
        refuses(ValueError, lambda args=args, out=out: tells(*args, out=out), "t.f", name, "contiguous")


@pytest.mark.row("N51")
def test_macros_in_slice_code_say_the_same() -> None:
    body = """
        item__output() = !CHECK_CONTIGUOUS__a() ? 1 : !CHECK_CONTIGUOUS_ALL() ? 2 : 3;
        return true;"""
    f = wrap((("n",), ("n",)), (), body)
    assert (f(ar(6)[::2], ar(3)), f(ar(3), ar(6)[::2]), f(ar(3), ar(3))) == (1, 2, 3)


@pytest.mark.row("N51", "N48", "N50")
@pytest.mark.parametrize(
    "macro", ["CHECK_CONTIGUOUS_AND_SETERROR__wind()", "CHECK_CONTIGUOUS_AND_SETERROR_ALL()"]
)
def test_seterror_in_slice_code_raises_the_same_message(macro: str) -> None:
    plain = "item__output() = 0; return true;"
    early = wrap((("n",),), (), plain, names=("wind",), Ccode_validate=f"return {macro};")
    late = wrap((("n",),), (), f"item__output() = 0; return {macro};", names=("wind",))
    assert late(ar(4)) == 0
    wanted = refuses(ValueError, lambda: early(ar(4)[::2]), "wind")
    got = refuses(ValueError, lambda: late(ar(2, 4)[:, ::2]), "wind")
    assert str(got) == str(wanted)


@pytest.mark.row("N52", "N50")
def test_only_the_slice_has_to_be_contiguous() -> None:
    body = "memcpy(data_slice__output, data_slice__a, 8 * dims_slice__a[0] * dims_slice__a[1]); return true;"
    validate = "return CHECK_CONTIGUOUS_AND_SETERROR_ALL();"
    f = wrap((("n", "m"),), ("n", "m"), body, Ccode_validate=validate)
    x, out = ar(4, 2, 3), np.zeros((8, 2, 3))[::2]
    for each in (x[::2], x[::-1], np.broadcast_to(x[0], (5, 2, 3)), as_strided(ar(3), (1, 3), (1000, 8))):
        assert same(f(each), each.copy())
    assert f(x, out=out) is out and same(out, x)
    refuses(ValueError, lambda: f(ar(4, 3, 2).transpose(0, 2, 1)), "'a'", "contiguous")


@pytest.mark.row("B07")
def test_a_check_in_a_slice_raises_whatever_the_slice_answers() -> None:
    f = wrap((("n",),), (), "CHECK_CONTIGUOUS_AND_SETERROR__a(); item__output() = item__a(0); return true;")
    for _ in range(5):  # later calls are quick
        assert f(ar(4)) == 0
        refuses(ValueError, lambda: f(ar(4)[::2]), "'a'", "contiguous")
