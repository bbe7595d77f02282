"""Tests Ccode_validate and the cookie: when they run, how often, what their result does, and the clean-up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers import INNER, ar, refuses, same, says, wrap

import cwrapjit

# Counts clean-ups in a static variable. TELL returns the number of earlier ones.
COUNTED = "static int cleanups;\n"
TELL = "item__output() = cleanups; return item__a() >= 0;"


def counted(**kw: Any) -> Any:
    return wrap(((),), (), TELL, header=COUNTED, Ccode_cookie_cleanup="cleanups++;", **kw)


@pytest.mark.row("N76", "N77")
def test_the_seeds_cookie() -> None:
    """The cookie is filled once for all slices."""
    f = wrap(
        (("n",), ("n",)),
        (),
        INNER.replace("return true;", "item__output() *= cookie->scale; return cookie->calls == 1;"),
        extra_args=(("double", "scale", "1", "d"), ("const char*", "scale_string", "NULL", "s")),
        Ccode_cookie_struct=r"""
          double scale; /* from BOTH scale arguments: "scale", "scale_string" { */ int calls; // last }
        """,
        Ccode_validate=r"""
            if(scale_string == NULL)
            {
                PyErr_Format(PyExc_RuntimeError,
                    "The 'scale_string' argument is required" );
                return false;
            }
            cookie->calls++;
            cookie->scale = *scale * (scale_string ? atof(scale_string) : 1.0);
            return true; """,
        Ccode_cookie_cleanup="",
    )
    assert f(ar(4), ar(2, 4), scale_string="1.0").tolist() == [14, 38]
    assert f(ar(4), ar(2, 4), scale=2.0, scale_string="10.0").tolist() == [280, 760]
    refuses(RuntimeError, lambda: f(ar(4), ar(4)), "The 'scale_string' argument is required")


@pytest.mark.row("N77", "N79")
def test_slices_share_and_may_write_the_cookie(capsys: pytest.CaptureFixture[str]) -> None:
    f = wrap(
        ((),),
        (),
        "cookie->sum += item__a(); item__output() = cookie->sum; return true;",
        Ccode_cookie_struct="double sum;",
        Ccode_cookie_cleanup='printf("%g ", cookie->sum);',
    )
    for x in (ar(5), ar(3)):  # each call starts with a zeroed cookie
        assert same(f(x), np.cumsum(x))
    assert f(ar(0)).shape == (0,)
    assert capsys.readouterr().out == "10 3 0 "


@pytest.mark.row("N76")
def test_two_functions_with_structs_of_their_own() -> None:
    m = cwrapjit.module("t")
    m.function(
        "f",
        signature="-> output()",
        Ccode_cookie_struct="int n; char name[3];",
        Ccode_validate="cookie->n = 3; return sizeof *cookie == 8;",
        Ccode_slice_eval={np.float64: "item__output() = cookie->n; return true;"},
    )
    m.function(
        "g",
        signature="-> output()",
        Ccode_cookie_struct="double n[4], *p;\n#ifdef NO\nint a;\n#else\nstruct { int x; } inner;\n#endif",
        Ccode_validate="cookie->p = &cookie->n[2]; *cookie->p = 5; cookie->inner.x = 1; return true;",
        Ccode_slice_eval={np.float64: "item__output() = cookie->n[2] + cookie->inner.x; return true;"},
    )
    assert m.f() == 3 and m.g() == 6


@pytest.mark.row("N78")
@pytest.mark.parametrize("size", [1, 8, 4096, 1 << 20])
def test_zeroed_in_every_call_whatever_its_size(size: int) -> None:
    f = wrap(
        ((),),
        (),
        "memset(cookie->bytes, 0xff, sizeof cookie->bytes); item__output() = 1; return true;",
        Ccode_cookie_struct=f"unsigned char bytes[{size}];",
        Ccode_validate="""for (size_t i = 0; i < sizeof cookie->bytes; i++)
                              if (cookie->bytes[i]) return false;
                          return true;""",
    )
    for _ in range(3):
        assert f(0.0) == 1


@pytest.mark.row("N78")
def test_aligned_for_every_standard_type() -> None:
    code = "item__output() = ((npy_intp)cookie % _Alignof(long double)) + cookie->x; return true;"
    odd = ("unsigned char", "odd", "1", "b")
    assert wrap(((),), (), code, Ccode_cookie_struct="long double x; char c;", extra_args=(odd,))(0.0) == 0


@pytest.mark.row("N78", "N79")
def test_cleanup_and_slices_never_see_the_previous_call() -> None:
    f = wrap(
        ((),),
        (),
        "item__output() = stale; cookie->mark = 1; return item__a() >= 0;",
        header="static int stale;",
        Ccode_cookie_struct="int mark, validated;",
        Ccode_validate="if (cookie->mark || cookie->validated) stale++; cookie->validated = 1; return true;",
        Ccode_cookie_cleanup="if (cookie->mark && !cookie->validated) stale++;",
    )
    assert f(1.0) == 0
    refuses(RuntimeError, lambda: f(-1.0), "t.f")
    refuses(TypeError, lambda: f(), "missing required argument 'a'")
    refuses(TypeError, lambda: f("text"), "'a' is <U4")
    assert f(1.0) == 0


FAILURES: dict[str, Any] = {
    "slice fails": (RuntimeError, lambda f: f(-1.0)),
    "dtype": (TypeError, lambda f: f(np.int32(1))),
    "missing argument": (TypeError, lambda f: f()),
    "too many arguments": (TypeError, lambda f: f(1.0, 2.0)),
    "unknown keyword": (TypeError, lambda f: f(1.0, colour=3)),
    "given twice": (TypeError, lambda f: f(1.0, a=3.0)),
    "extra of a wrong type": (TypeError, lambda f: f(1.0, e="x")),
    "out of a wrong shape": (ValueError, lambda f: f(ar(3), out=np.zeros(2))),
    "out of a wrong dtype": (TypeError, lambda f: f(ar(3), out=np.zeros(3, np.int32))),
    "out is no array": (TypeError, lambda f: f(ar(3), out=[1.0])),
    "out is read-only": (ValueError, lambda f: f(ar(3), out=np.broadcast_to(1.0, 3))),
    "no array at all": (TypeError, lambda f: f("text")),
    "validate refuses": (RuntimeError, lambda f: f(1.0, e=-1)),
    "overlap": (ValueError, lambda f: (lambda x: f(x, out=x[::-1]))(ar(4))),
}


@pytest.mark.row("N79")
@pytest.mark.parametrize("how", FAILURES)
def test_cleanup_runs_exactly_once_after_every_failure(how: str) -> None:
    f = counted(
        extra_args=(("int", "e", "1", "i"),), Ccode_validate="return *e >= 0;", Ccode_cookie_struct="int x;"
    )
    error, call = FAILURES[how]
    assert f(0.0) == 0
    assert f(0.0) == 1, "once for the good call before"
    refuses(error, lambda: call(f), "t.f")
    assert f(0.0) == 3
    refuses(error, lambda: call(f), "t.f")
    assert f(ar(2)).tolist() == [5, 5]
    without = counted()  # calls with a cookie, but no slices
    assert without(ar(0)).shape == (0,) and without(0.0) == 1


@pytest.mark.row("N79", "N54")
def test_cleanup_does_not_disturb_the_exception_on_its_way() -> None:
    f = wrap(
        ((),),
        (),
        'PyErr_SetString(PyExc_KeyError, "mine"); return false;',
        Ccode_cookie_struct="char *text;",
        Ccode_validate="cookie->text = malloc(100); return cookie->text != NULL;",
        Ccode_cookie_cleanup="""
            snprintf(cookie->text, 100, "%d", 5);
            printf("%s\\n", cookie->text);
            free(cookie->text);
        """,
    )
    assert refuses(KeyError, lambda: f(1.0), "'mine'").args == ("mine",)


@pytest.mark.row("N77", "N79")
def test_a_function_that_calls_itself_has_a_cookie_for_each_call() -> None:
    code = """
        cookie->depth = item__a();
        item__output() = 0;
        if (item__a() > 0) {
            PyObject *result = PyObject_CallFunction(again, "d", item__a() - 1);
            if (result == NULL)
                return false;
            item__output() = PyFloat_AsDouble(result) + cookie->depth;
            Py_DECREF(result);
        }
        return true;"""
    again = ("PyObject*", "again", "NULL", "O")
    header, struct = "#include <Python.h>", "double depth;"
    f = wrap(((),), (), code, header=header, extra_args=(again,), Ccode_cookie_struct=struct)
    assert f(4.0, again=lambda x: f(x, again=lambda y: f(y, again=lambda z: 100.0))) == 4 + 3 + 2 + 100


@pytest.mark.row("N76", "N77")
def test_readonly_cookie_is_const_in_slices() -> None:
    kw: dict[str, Any] = {"Ccode_cookie_struct": "double scale;", "cookie": "readonly"}
    kw["Ccode_validate"] = "cookie->scale = 3; return true;"
    assert wrap(((),), (), "item__output() = cookie->scale * item__a(); return true;", **kw)(2.0) == 6
    define = lambda: wrap(((),), (), "\ncookie->scale = 1; return true;", **kw)  # noqa: E731
    assert refuses(cwrapjit.CompileError, define, "read-only").lineno == 2


@pytest.mark.row("N76", "U01")
@pytest.mark.parametrize(
    ("place", "line", "text", "option"),
    [
        ("cookie", 2, "int a;\nnosuch b;", "Ccode_cookie_struct"),
        ("cleanup", 3, "\n\nnosuch();", "Ccode_cookie_cleanup"),
        ("float64", 1, "return nosuch != NULL;", ""),
        ("float64", 1, "return cookie->nosuch != NULL;", ""),
    ],
)
def test_a_fault_is_reported_where_it_is(place: str, line: int, text: str, option: str) -> None:
    options = {option: text} if option else {}
    define = lambda: wrap(((),), (), "return true;" if option else text, **options)  # noqa: E731
    error = refuses(cwrapjit.CompileError, define, "nosuch" if "->" not in text else "cookie")
    assert error.filename == f"<cwrapjit t.f {place}>" and error.lineno == line


# ---- Ccode_validate ----


ONCE = {"header": "static int validated;", "Ccode_validate": "validated++; return true;"}
REPORT = "item__output() = validated; return true;"


@pytest.mark.row("N43")
def test_runs_exactly_once_per_call():
    f = wrap((("n",), ("n",)), (), REPORT, **ONCE)
    assert same(f(ar(2, 3, 5), ar(5)), np.full((2, 3), 1.0))
    assert same(f(ar(2, 3, 5), ar(5)), np.full((2, 3), 2.0))
    assert f(ar(5), ar(5)) == 3


@pytest.mark.row("N43")
def test_runs_after_the_checks_of_arguments_shapes_and_types():
    f = wrap((("n",), ("n",)), (), REPORT, **ONCE)
    refuses(TypeError, lambda: f(ar(5)), "missing", "'b'")
    refuses(TypeError, lambda: f(ar(5), ar(5), nonsense=1), "nonsense")
    refuses(TypeError, lambda: f(ar(5, dtype=np.int32), ar(5)), "'a' is int32")
    refuses(ValueError, lambda: f(ar(5), ar(3)), "'n'", "must be 5", "got 3")
    refuses(ValueError, lambda: f(ar(2, 5), ar(3, 5)), "axis -2 must be 2", "got 3")
    refuses(TypeError, lambda: f(ar(5), ar(5), out=np.zeros((), dtype=np.int32)), "'output' is int32")
    refuses(ValueError, lambda: f(ar(2, 5), ar(5), out=np.zeros(3)), "must be 2", "got 3")
    assert f(ar(5), ar(5)) == 1


@pytest.mark.row("N43")
def test_sees_the_outputs_too():
    f = wrap(
        (("n",),),
        ("n", 2),
        "return true;",
        Ccode_validate="""
        return Ndims_slice__output == 2 && dims_slice__output[0] == dims_slice__a[0] &&
               dims_slice__output[1] == 2 && Ndims_full__output == 3 && data__output != NULL;""",
    )
    assert f(ar(5, 3)).shape == (5, 3, 2)
    f(ar(5, 3), out=np.zeros((5, 3, 2)))


@pytest.mark.row("N44", "N62", "B15")
@pytest.mark.parametrize("answer", ["dims_full__a[0] != 3", "dims_full__a[0] == 3 ? 0 : 1"])
def test_false_raises_runs_no_slice_and_leaves_out_alone(answer):
    f = wrap(((),), (), "item__output() = 1; return true;", Ccode_validate=f"return {answer};")
    out = np.full(3, 9.0)
    refuses(RuntimeError, lambda: f(ar(3), out=out), "t.f", "Ccode_validate")
    refuses(TypeError, lambda: f(ar(2, dtype=np.int32), out=out), "int32")
    assert np.all(out == 9)
    assert same(f(ar(2)), np.ones(2))


@pytest.mark.row("N43", "N45")
def test_its_own_exception_surfaces():
    """The snippet sees extra arguments, too."""
    code = """
        if (dims_slice__a[0] > *most)
            PyErr_Format(PyExc_LookupError, "%d is too many for '%s'", (int)dims_slice__a[0], "a");
        return dims_slice__a[0] <= *most;"""
    f = wrap((("n",), ("n",)), (), INNER, extra_args=(("int", "most", "4", "i"),), Ccode_validate=code)
    assert f(ar(4), ar(4)) == 14
    says(LookupError, lambda: f(ar(2, 5), ar(5)), "5 is too many for 'a'")
    says(LookupError, lambda: f(ar(4), ar(4), most=3), "4 is too many for 'a'")
    assert f(ar(5), ar(5), most=5) == 30


@pytest.mark.row("N46")
@pytest.mark.parametrize("absent", [None, ""])
def test_none_means_omitted(absent):
    """As C text, an empty body would lack its return; as an option, it means no validate snippet."""
    f, x, y = wrap((("n",), ("n",)), (), INNER, Ccode_validate=absent), ar(4, 5), ar(4)
    assert same(f(x.T[::-1, ::-1], y), x.T[::-1, ::-1] @ y), "every call that matches is accepted"
