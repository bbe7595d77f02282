"""When a snippet refuses or raises: which exception, with what text, and what the outputs then hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers import ar, refuses, same, says, wrap

# Doubles a, and fails where it is negative.
DOUBLES = """
    if (item__a() < 0)
        FAIL
    item__output() = 2 * item__a();
    return true;
"""


def failing(statement: str, **kw: Any) -> Any:
    return wrap(((),), (), DOUBLES.replace("FAIL", statement), **kw)


@pytest.mark.row("N53")
def test_false_abandons_the_slices_behind_it() -> None:
    f = wrap(((), (1,)), (), "(*(double *)data_slice__b)++; item__output() = 0; return item__a() != 3;")
    counter = np.zeros(1)
    refuses(RuntimeError, lambda: f(ar(2, 3, 4), counter), "t.f")
    assert counter[0] == 4, "slices 0, 1, 2 and the failing one"


@pytest.mark.row("N53")
def test_generic_error_says_which_snippet_refused() -> None:
    refuses(
        RuntimeError,
        lambda: failing("return false;")(np.array([1.0, -1.0])),
        "t.f",
        "Ccode_slice_eval",
        "false",
    )
    refuse = wrap(((),), (), "return true;", Ccode_validate="return false;")
    refuses(RuntimeError, lambda: refuse(1.0), "t.f", "Ccode_validate", "false")


@pytest.mark.quick
@pytest.mark.row("N54")
@pytest.mark.parametrize(
    "statement, error, text",
    [
        ('{ PyErr_SetString(PyExc_ValueError, "big"); return false; }', ValueError, "big"),
        ('{ PyErr_Format(PyExc_KeyError, "%s-%d", "k", 5); return false; }', KeyError, "'k-5'"),
        ("{ PyErr_SetNone(PyExc_StopIteration); return false; }", StopIteration, ""),
        ("{ PyErr_NoMemory(); return false; }", MemoryError, ""),
        ('{ PyErr_SetString(PyExc_ZeroDivisionError, ""); return false; }', ZeroDivisionError, ""),
        (
            '{ PyErr_Format(PyExc_OverflowError, "%.9s %zd %c %ld", "s", (npy_intp)-1, 65, 7L); return 0; }',
            OverflowError,
            "s -1 A 7",
        ),
    ],
)
def test_own_exception_surfaces_unchanged(statement: str, error: type[BaseException], text: str) -> None:
    f = failing(statement)
    says(error, lambda: f(-1.0), text)
    says(error, lambda: f(np.array([1.0, -1.0, 2.0])), text)
    assert f(2.0) == 4, "and the next call is fine"


@pytest.mark.row("N54")
def test_the_later_of_two_errors_wins_and_cleared_ones_are_gone() -> None:
    two = failing(
        '{ PyErr_SetString(PyExc_ValueError, "first"); PyErr_SetString(PyExc_KeyError, "second"); return 0; }'
    )
    assert refuses(KeyError, lambda: two(-1.0), "second").args == ("second",)
    cleared = failing(
        '{ PyErr_SetString(PyExc_ValueError, "first"); if (PyErr_Occurred()) PyErr_Clear(); return true; }'
    )
    assert cleared(1.0) == 2
    cleared(-1.0)
    forgotten = failing('{ PyErr_SetString(PyExc_ValueError, "first"); PyErr_Clear(); return false; }')
    refuses(RuntimeError, lambda: forgotten(-1.0), "t.f")


@pytest.mark.quick
@pytest.mark.row("N54")
def test_pyerr_occurred_tells_true_and_which() -> None:
    body = """
        item__output(0) = PyErr_Occurred() != NULL;
        PyErr_SetString(PyExc_ValueError, "x");
        item__output(1) = PyErr_Occurred() == PyExc_ValueError;
        PyErr_Clear();
        item__output(2) = PyErr_Occurred() != NULL;
        return true;
    """
    assert wrap(((),), (3,), body)(1.0).tolist() == [0, 1, 0]


@pytest.mark.row("B08")
@pytest.mark.parametrize("shape", [(), (1,), (5,), (2, 3)])
def test_an_error_that_is_set_surfaces_although_the_slice_returned_true(shape: tuple[int, ...]) -> None:
    f = failing('PyErr_SetString(PyExc_ValueError, "quiet");')
    says(ValueError, lambda: f(np.full(shape, -1.0)), "quiet")
    last = np.ones(6)
    last[-1] = -1
    says(ValueError, lambda: f(last), "quiet")
    says(ValueError, lambda: f(last[::-1], out=np.zeros(6)), "quiet")


@pytest.mark.row("B08")
def test_an_error_that_validate_sets_surfaces_although_it_returned_true() -> None:
    f = wrap(
        ((), (1,)),
        (),
        "(*(double *)data_slice__b)++; return true;",
        Ccode_validate='PyErr_SetString(PyExc_LookupError, "quiet"); return true;',
    )
    counter = np.zeros(1)
    says(LookupError, lambda: f(ar(3), counter), "quiet")
    assert counter[0] == 0, "no slice has run"


@pytest.mark.row("B15")
def test_outputs_after_a_failing_slice_hold_what_ran_before_it() -> None:
    f = failing("{ item__output() = -7; return false; }")
    out = np.full(6, 99.0)
    refuses(RuntimeError, lambda: f(np.array([1.0, 2, 3, -1, 4, 5]), out=out), "t.f")
    assert out.tolist() == [2, 4, 6, -7, 99, 99]


@pytest.mark.row("B15", "N19i")
def test_the_same_in_c_order_for_strided_outputs_of_two_dims() -> None:
    f = failing('{ PyErr_SetString(PyExc_ValueError, "stop"); return false; }')
    x = ar(3, 4) + 1
    x[1, 2] = -1
    wanted = np.where(np.arange(12).reshape(3, 4) < 6, 2 * x, 99)
    for out in (np.full((3, 4), 99.0), np.full((4, 3), 99.0).T, np.full((6, 8), 99.0)[::-2, ::2]):
        for view in (x, np.asfortranarray(x)):
            out[...] = 99
            refuses(ValueError, lambda view=view, out=out: f(view, out=out), "stop")
            assert same(out, wanted)


@pytest.mark.row("B15")
def test_a_refused_call_leaves_out_alone() -> None:
    f = wrap(
        (("n",),), (), "item__output() = 1; return true;", Ccode_validate="return dims_slice__a[0] == 3;"
    )
    out = np.full(2, 99.0)
    refuses(RuntimeError, lambda: f(ar(2, 4), out=out), "t.f")
    refuses(TypeError, lambda: f(ar(2, 3, dtype=np.int32), out=out), "int32")
    refuses(ValueError, lambda: f(ar(5, 3), out=out), "t.f")
    assert out.tolist() == [99, 99]


HARD = '100% sure: %s %n %d %% ünï 漢字 \U0001f600 {0} \\ " \t end%'


@pytest.mark.row("N18i")
def test_percent_signs_and_unicode_in_an_exception_text() -> None:
    quoted = '"' + HARD.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t") + '"'
    f = failing("{ PyErr_SetString(PyExc_ValueError, " + quoted + "); return false; }")
    says(ValueError, lambda: f(-1.0), HARD)
    g = failing('{ PyErr_Format(PyExc_ValueError, "%s", ' + quoted + "); return false; }")
    says(ValueError, lambda: g(-1.0), HARD)
    h = failing('{ PyErr_Format(PyExc_ValueError, "at last 100%%"); return false; }')
    says(ValueError, lambda: h(-1.0), "at last 100%")


@pytest.mark.row("N18i")
def test_unicode_names_in_our_own_messages() -> None:
    f = wrap(
        (("länge",), ("länge",)), (), "item__output() = 1; return true;", names=("größe", "漢"), name="fläche"
    )
    refuses(ValueError, lambda: f(ar(3), ar(4)), "t.fläche", "'漢'", "länge", "must be 3", "got 4")
    refuses(TypeError, lambda: f(ar(3, dtype=np.int64), ar(3)), "t.fläche", "größe", "int64")
    refuses(TypeError, lambda: f(ar(3)), "t.fläche", "'漢'")
    refuses(TypeError, lambda: f(ar(3), ar(3), **{"50% größer %s": 1}), "50% größer %s")


@pytest.mark.row("N18i")
def test_bytes_that_are_no_text_do_not_break_the_exception() -> None:
    f = failing('{ PyErr_SetString(PyExc_ValueError, "bad \\xff byte"); return false; }')
    with pytest.raises(ValueError):  # or its subclass UnicodeDecodeError, as CPython decides
        f(-1.0)
    assert f(1.0) == 2


@pytest.mark.row("N54")
def test_long_exception_texts_arrive_whole() -> None:
    f = failing("""{
        static char text[100001];
        memset(text, 'x', 100000);
        PyErr_Format(PyExc_ValueError, "%s", text);
        return false;
    }""")
    says(ValueError, lambda: f(-1.0), "x" * 100000)
