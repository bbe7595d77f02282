"""The cookie: a struct of the function's own that lives for one call, and its clean-up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers import INNER, ar, refuses, same, wrap

import cwrapjit

# Counts clean-ups in a static; good calls return how many there were before.
COUNTED = "static int cleanups;\n"
TELL = "item__output() = cleanups; return item__a() >= 0;"


def counted(**kw: Any) -> Any:
    kw.setdefault("Ccode_cookie_cleanup", "cleanups++;")
    return wrap(((),), (), TELL, header=COUNTED, **kw)


@pytest.mark.row("N76", "N77")
def test_the_seeds_cookie() -> None:
    f = wrap(
        (("n",), ("n",)),
        (),
        INNER.replace("return true;", "item__output() *= cookie->scale; return true;"),
        extra_args=(("double", "scale", "1", "d"), ("const char*", "scale_string", "NULL", "s")),
        Ccode_cookie_struct=r"""
          double scale; /* from BOTH scale arguments: "scale", "scale_string" */
        """,
        Ccode_validate=r"""
            if(scale_string == NULL)
            {
                PyErr_Format(PyExc_RuntimeError,
                    "The 'scale_string' argument is required" );
                return false;
            }
            cookie->scale = *scale * (scale_string ? atof(scale_string) : 1.0);
            return true; """,
        Ccode_cookie_cleanup="",
    )
    assert f(ar(4), ar(2, 4), scale_string="1.0").tolist() == [14, 38]
    assert f(ar(4), ar(2, 4), scale=2.0, scale_string="10.0").tolist() == [280, 760]
    refuses(RuntimeError, lambda: f(ar(4), ar(4)), "The 'scale_string' argument is required")


@pytest.mark.row("N77")
def test_atof_runs_once_for_all_slices() -> None:
    f = wrap(
        ((),),
        (2,),
        "item__output(0) = calls; item__output(1) = cookie->scale * item__a(); return true;",
        header="static int calls;\nstatic double counted_atof(const char *s) { calls++; return atof(s); }",
        extra_args=(("const char*", "text", '"2.5"', "s"),),
        Ccode_cookie_struct="double scale;",
        Ccode_validate="cookie->scale = counted_atof(text); return true;",
    )
    assert same(f(ar(2, 3))[..., 0], np.ones((2, 3)))
    assert same(f(ar(2, 3), text="10"), np.stack([np.full((2, 3), 2.0), 10 * ar(2, 3)], -1))


@pytest.mark.row("N77")
def test_slices_share_and_may_write_the_cookie() -> None:
    f = wrap(
        ((),),
        (),
        "cookie->sum += item__a(); item__output() = cookie->sum; return true;",
        Ccode_cookie_struct="double sum;",
    )
    assert same(f(ar(5)), np.cumsum(ar(5)))
    assert same(f(ar(5)), np.cumsum(ar(5))), "and the next call starts from zero"


@pytest.mark.row("N76")
def test_two_functions_with_structs_of_their_own() -> None:
    m = cwrapjit.module("t")
    kw: dict[str, Any] = {"args_input": ("a",), "prototype_input": ((),), "prototype_output": ()}
    m.function(
        "f",
        Ccode_cookie_struct="int n; char name[3];",
        Ccode_validate="cookie->n = 3; return sizeof *cookie == 8;",
        Ccode_slice_eval={np.float64: "item__output() = cookie->n; return true;"},
        **kw,
    )
    m.function(
        "g",
        Ccode_cookie_struct="double n[4], *p; struct { int x; } inner;",
        Ccode_validate="cookie->p = &cookie->n[2]; *cookie->p = 5; cookie->inner.x = 1; return true;",
        Ccode_slice_eval={np.float64: "item__output() = cookie->n[2] + cookie->inner.x; return true;"},
        **kw,
    )
    assert m.f(0.0) == 3 and m.g(0.0) == 6


@pytest.mark.row("N76")
def test_comments_and_directives_in_the_struct() -> None:
    f = wrap(
        ((),),
        (),
        "item__output() = cookie->a + cookie->b; return true;",
        Ccode_cookie_struct="/* one { */ int a; // two }\n#ifdef NO\nint c;\n#else\nint b;\n#endif // last",
        Ccode_validate="cookie->a = 1; cookie->b = 2; return true;",
    )
    assert f(0.0) == 3


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


@pytest.mark.quick
@pytest.mark.row("N78")
def test_aligned_for_every_standard_type() -> None:
    f = wrap(
        ((),),
        (),
        "item__output() = ((npy_intp)cookie % _Alignof(long double)) + cookie->x; return true;",
        Ccode_cookie_struct="long double x; char c;",
        extra_args=(("unsigned char", "odd", "1", "b"),),
    )
    assert f(0.0) == 0


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


@pytest.mark.row("N79")
def test_cleanup_runs_without_slices_and_without_a_struct() -> None:
    f = counted()
    assert f(ar(0)).shape == (0,)
    assert f(0.0) == 1


@pytest.mark.row("N79")
def test_cleanup_knows_whether_the_cookie_was_initialised() -> None:
    f = wrap(
        ((),),
        (),
        "item__output() = undone; return item__a() > 0;",
        header="static int undone;",
        Ccode_cookie_struct="bool initialized;\ndouble *work;",
        Ccode_validate="cookie->work = malloc(64); undone++; cookie->initialized = true; return true;",
        Ccode_cookie_cleanup="if (cookie->initialized) { undone--; free(cookie->work); }",
    )
    assert f(1.0) == 1
    refuses(RuntimeError, lambda: f(-1.0), "t.f")
    refuses(TypeError, lambda: f(), "t.f")
    assert f(1.0) == 1


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


@pytest.mark.row("N79")
def test_cleanup_sees_the_cookie_of_its_call(capsys: pytest.CaptureFixture[str]) -> None:
    f = wrap(
        ((),),
        (),
        "cookie->n++; item__output() = 0; return true;",
        Ccode_cookie_struct="int n;",
        Ccode_cookie_cleanup='printf("%d slices\\n", cookie->n);',
    )
    f(ar(2, 3))
    f(ar(0))
    assert capsys.readouterr().out == "6 slices\n0 slices\n"


@pytest.mark.row("N77", "N79")
def test_a_function_that_calls_itself_has_a_cookie_for_each_call() -> None:
    f = wrap(
        ((),),
        (),
        """
        cookie->depth = item__a();
        if (item__a() > 0) {
            PyObject *result = PyObject_CallFunction(again, "d", item__a() - 1);
            if (result == NULL)
                return false;
            item__output() = PyFloat_AsDouble(result) + cookie->depth;
            Py_DECREF(result);
            return true;
        }
        item__output() = 0;
        return true;
        """,
        header="#include <Python.h>",
        extra_args=(("PyObject*", "again", "NULL", "O"),),
        Ccode_cookie_struct="double depth;",
    )
    assert f(4.0, again=lambda x: f(x, again=lambda y: f(y, again=lambda z: 100.0))) == 4 + 3 + 2 + 100


@pytest.mark.quick
@pytest.mark.row("N76", "N77")
def test_readonly_cookie_is_const_in_slices() -> None:
    kw: dict[str, Any] = {
        "Ccode_cookie_struct": "double scale;",
        "Ccode_validate": "cookie->scale = 3; return true;",
        "cookie": "readonly",
    }
    assert wrap(((),), (), "item__output() = cookie->scale * item__a(); return true;", **kw)(2.0) == 6
    error = refuses(
        cwrapjit.CompileError, lambda: wrap(((),), (), "\ncookie->scale = 1; return true;", **kw), "read-only"
    )
    assert error.lineno == 2


@pytest.mark.row("N76", "U01")
def test_a_fault_in_the_struct_is_reported_there() -> None:
    error = refuses(
        cwrapjit.CompileError,
        lambda: wrap(((),), (), "return true;", Ccode_cookie_struct="int a;\nnosuch b;"),
        "';' expected",
        "nosuch",
    )
    assert error.filename == "<cwrapjit t.f cookie>" and error.lineno == 2
    error = refuses(
        cwrapjit.CompileError,
        lambda: wrap(((),), (), "return true;", Ccode_cookie_cleanup="\n\nnosuch();"),
        "nosuch",
    )
    assert error.filename == "<cwrapjit t.f cleanup>" and error.lineno == 3
    error = refuses(cwrapjit.CompileError, lambda: wrap(((),), (), "return cookie != NULL;"), "cookie")
    assert error.lineno == 1
