"""Slices that stand in the loop itself mean the same as slices in a function of their own."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import wrap


def is_inlined(f: object) -> bool:
    return "cwj_next:" in f.source  # type: ignore[attr-defined]


@pytest.mark.row("U08")
def test_a_plain_body_stands_in_the_loop() -> None:
    f = wrap(((),), (), "item__output() = 2 * item__a(); return true;")
    assert is_inlined(f)
    assert f(np.arange(4.0)).tolist() == [0, 2, 4, 6]
    assert f(np.arange(4.0)[::-2]).tolist() == [6, 2]
    assert f(np.empty(0)).tolist() == []


@pytest.mark.row("U08")
def test_a_false_slice_ends_the_loop() -> None:
    body = "if (item__a() < 0)\n    return false;\nitem__output() = item__a(); return true;"
    f = wrap(((),), (), body)
    out = np.zeros(4)
    with pytest.raises(RuntimeError, match="false"):
        f(np.array([1.0, 2.0, -1.0, 4.0]), out=out)
    assert is_inlined(f)
    assert out.tolist() == [1, 2, 0, 0]


@pytest.mark.row("U08")
def test_a_return_in_a_macro_is_found() -> None:
    body = "BAIL(item__a() < 0); item__output() = item__a(); return true;"
    f = wrap(((),), (), body, header="#define BAIL(x) if (x) return false")
    out = np.zeros(3)
    assert not is_inlined(f)
    with pytest.raises(RuntimeError, match="false"):
        f(np.array([1.0, -2.0, 3.0]), out=out)
    assert out.tolist() == [1, 0, 0]
    f = wrap(
        ((),),
        (),
        "item__output() = 1; DONE; item__output() = 2; return true;",
        header="#define DONE return true",
    )
    assert f(np.zeros(2)).tolist() == [1, 1]


@pytest.mark.row("U08")
@pytest.mark.parametrize("header", ["#undef true\n#define true 0", "#define return return 0 *"])
def test_changed_words_keep_the_change(header: str) -> None:
    with pytest.raises(RuntimeError, match="false"):
        wrap(((),), (), "return true;", header=header)(np.zeros(2))


@pytest.mark.row("U08")
def test_parameters_that_a_slice_changes_are_new_in_the_next() -> None:
    a = np.arange(6.0).reshape(3, 2)
    skips = "data_slice__a = (const char *)data_slice__a + strides_slice__a[0];"
    f = wrap((("n",),), (), skips + "item__output() = item__a(0); return true;")
    assert f(a).tolist() == [1, 3, 5]
    f = wrap((("n",),), (), "dims_slice__a++; strides_slice__a = 0; item__output() = 1; return true;")
    assert f(a).tolist() == [1, 1, 1]
    f = wrap((("n",),), (), "strides_slice__a--; item__output() = strides_slice__a[1]; return true;")
    assert f(a).tolist() == [8, 8, 8]
    f = wrap(
        ((),),
        (),
        "scale++; item__output() = scale[-1]; return true;",
        extra_args=(("double", "scale", "7", "d"),),
    )
    assert f(np.zeros(3)).tolist() == [7, 7, 7]
    f = wrap(
        ((),),
        (),
        "item__output() = *text++; return true;",
        extra_args=(("const char*", "text", '"xyz"', "s"),),
    )
    assert f(np.zeros(3)).tolist() == [ord("x")] * 3
    f = wrap(
        ((),),
        (),
        "cookie++; cookie--; cookie->n++; item__output() = cookie->n; return true;",
        Ccode_cookie_struct="int n;",
    )
    assert f(np.zeros(3)).tolist() == [1, 2, 3]


@pytest.mark.row("U08")
def test_arrays_of_variable_length_do_not_pile_up() -> None:
    body = """
        double copy[dims_slice__a[0]];
        for (int i = 0; i < dims_slice__a[0]; i++)
            copy[i] = item__a(i);
        if (copy[0] < 0)
            return false;
        item__output() = copy[dims_slice__a[0] - 1];
        return true;"""
    f = wrap((("n",),), (), body)
    a = np.broadcast_to(np.arange(10_000.0), (10_000, 10_000))
    assert (f(a) == 9999).all()


@pytest.mark.row("U08")
@pytest.mark.parametrize("word", ["break", "continue"])
def test_leaving_no_loop_is_an_error(word: str) -> None:
    with pytest.raises(SyntaxError, match=word):
        wrap(((),), (), f"if (item__a() > 0) {word}; return true;")
    f = wrap(((),), (), f"item__output() = 0; while (item__output()++ < 1) {word}; return true;")
    assert is_inlined(f)


@pytest.mark.row("U08")
def test_names_that_hide_in_macros_are_there() -> None:
    last = "#define LAST item__a(dims_slice__a[0] - 1)"
    f = wrap((("n",),), (), "item__output() = LAST; return true;", header=last)
    assert is_inlined(f)
    assert f(np.arange(6.0).reshape(2, 3)).tolist() == [2, 5]
    glue = "#define OF(x) x##a"
    f = wrap((("n",),), (), "item__output() = OF(dims_slice__)[0] + OF(item__)(1); return true;", header=glue)
    assert f(np.arange(6.0).reshape(2, 3)).tolist() == [4, 7]
