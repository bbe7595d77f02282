"""Tests that calls and definitions keep no memory, blocks or references, on any path."""

from __future__ import annotations

import gc
import io
import pathlib
import sys
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers import INNER, ar, refuses, wrap
from leaks import COUNTED, keeps_nothing

import cwrapjit

BODY = """
    if (item__a(0) == -1)
        return false;
    if (item__a(0) == -2) {
        PyErr_Format(PyExc_ValueError, "slice %d", 5);
        return false;
    }
    item__output() = cookie->work[0];
    for (int i = 0; i < dims_slice__a[0]; i++)
        item__output() += item__a(i) * item__b(i);
    return true;
"""


def full() -> Any:
    """Returns a function with all features of calls: validate, cookie, clean-up, extras."""
    return wrap(
        (("n",), ("n",)),
        (),
        BODY,
        header=COUNTED,
        extra_args=(
            ("double", "scale", "1", "d"),
            ("const char*", "text", "NULL", "s"),
            ("PyObject*", "thing", "NULL", "O"),
        ),
        Ccode_cookie_struct="double *work;",
        Ccode_validate="""
            if (*scale < 0) { PyErr_SetString(PyExc_ValueError, "scale"); return false; }
            cookie->work = calloc(100, sizeof(double));
            return *scale > 0;
        """,
        Ccode_cookie_cleanup="free(cookie->work);",
    )


class NoError(Exception):
    """Stands for the exception of a call that succeeds; never raised."""


class Array:
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.ones(4, np.float64)


class Broken:
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise ZeroDivisionError("from __array__")


x, wide, out, odd = ar(4), ar(3, 4), np.zeros(3), np.frombuffer(bytes(40), np.uint8)[1:33].view(np.float64)

PATHS: dict[str, tuple[type[BaseException] | None, str, Callable[[Any], Any]]] = {
    "scalar result": (None, "", lambda f: f(x, x)),
    "array result": (None, "", lambda f: f(wide, x)),
    "keywords": (None, "", lambda f: f(b=x, a=wide, scale=2, text="some text", thing=out)),
    "out": (None, "", lambda f: f(wide, x, out=out)),
    "lists": (None, "", lambda f: f([1.0, 2.0], [3.0, 4.0])),
    "numbers": (None, "", lambda f: f(2, 3.5)),
    "__array__": (None, "", lambda f: f(Array(), x)),
    "missing argument": (TypeError, "missing required argument 'b'", lambda f: f(x)),
    "too many arguments": (TypeError, "4 were given", lambda f: f(x, x, None, x)),
    "unknown keyword": (TypeError, "'colour'", lambda f: f(x, x, colour=1)),
    "given twice": (TypeError, "multiple values for argument 'a'", lambda f: f(x, x, a=x)),
    "extra of a wrong type": (TypeError, "argument 'scale'", lambda f: f(x, x, scale="no")),
    "extra with a NUL": (ValueError, "argument 'text'", lambda f: f(x, x, text="\0")),
    "wrong dtype": (TypeError, "'a' is int32", lambda f: f(np.int32(1), x)),
    "no array": (TypeError, "'a' is <U4", lambda f: f("text", x)),
    "list of a wrong dtype": (TypeError, "'a' is int64", lambda f: f([1, 2], [3, 4])),
    "ragged list": (ValueError, "argument 'b'", lambda f: f(x, [[1.0], [1.0, 2.0]])),
    "__array__ raises": (ZeroDivisionError, "from __array__", lambda f: f(x, Broken())),
    "wrong core shape": (ValueError, "must be 4", lambda f: f(x, ar(5))),
    "wrong broadcast shape": (ValueError, "must be 3 or 1", lambda f: f(wide, ar(2, 4))),
    "unaligned": (ValueError, "not aligned", lambda f: f(odd, x)),
    "byte-swapped": (TypeError, "byte order", lambda f: f(x.astype(">f8"), x)),
    "masked": (TypeError, "masked elements", lambda f: f(np.ma.masked_array(x, True), x)),
    "an empty mask": (None, "", lambda f: f(np.ma.masked_array(x, False), x)),
    "where": (TypeError, "'where'", lambda f: f(x, x, where=x)),
    "list as out": (TypeError, "got list", lambda f: f(x, x, [1.0])),
    "out of a wrong shape": (ValueError, "must be 3", lambda f: f(wide, x, out=np.zeros(2, np.float64))),
    "out of a wrong dtype": (TypeError, "'output' is int8", lambda f: f(wide, x, out=np.zeros(3, np.int8))),
    "out is no array": (TypeError, "got list", lambda f: f(wide, x, out=[1])),
    "out is read-only": (ValueError, "read-only", lambda f: f(wide, x, out=np.broadcast_to(1.0, 3))),
    "out overlaps": (ValueError, "shares memory", lambda f: f(wide, x, out=wide[:, 1])),
    "validate refuses": (RuntimeError, "Ccode_validate returned false", lambda f: f(x, x, scale=0)),
    "validate raises": (ValueError, "scale", lambda f: f(x, x, scale=-1)),
    "slice refuses": (RuntimeError, "Ccode_slice_eval", lambda f: f(x - 1, wide)),
    "slice raises": (ValueError, "slice 5", lambda f: f(wide - 2, x)),
}


@pytest.mark.leak
@pytest.mark.row("N16i")
@pytest.mark.parametrize("path", PATHS)
def test_calls_keep_nothing(path: str) -> None:
    f = full()
    error, word, call = PATHS[path]
    watched = (x, wide, out, odd, np.dtype(np.float64), f, np.ndarray, Array, TypeError, ValueError)
    if error is not None:
        refuses(error, lambda: call(f), word)
    keeps_nothing(lambda: refused(call, f, error), 500, watched)


@pytest.mark.leak
@pytest.mark.row("N16i")
def test_several_outputs_are_given_back() -> None:
    f = wrap(((),), ((), (4,), (2, 2)), "item__output0() = 1; return item__a() >= 0;")
    keeps_nothing(lambda: f(x), 500)

    def fails() -> None:
        try:
            f(-1 - x)
        except RuntimeError:
            pass

    keeps_nothing(fails, 500)


@pytest.mark.leak
@pytest.mark.row("N16i")
def test_converted_inputs_are_given_back() -> None:
    f = wrap(((),), (), "item__output() = item__a(); return true;", cast="safe")
    ints = ar(50, dtype=np.int32)
    keeps_nothing(lambda: f(ints), 500, (ints,))


DEFINITIONS: dict[str, tuple[Any, str, Callable[[], Any]]] = {
    "good": (None, "", lambda: full()),
    "good, called": (None, "", lambda: full()(x, x)),
    "without a module": (
        None,
        "",
        lambda: cwrapjit.function(
            "f",
            args_input=(),
            prototype_input=(),
            prototype_output=(),
            Ccode_slice_eval={float: "return true;"},
        ),
    ),
    "C error": (cwrapjit.CompileError, "'oops' undeclared", lambda: wrap(((),), (), "return oops;")),
    "several C errors": (
        cwrapjit.CompileError,
        "see .errors",
        lambda: wrap(((),), (), {float: "return oops;", int: "return ouch;"}),
    ),
    "header error": (
        cwrapjit.CompileError,
        "<cwrapjit t",
        lambda: wrap(((),), (), "return true;", header="oops"),
    ),
    "refused text": (cwrapjit.CompileError, "closes nothing", lambda: wrap(((),), (), "return true; }")),
    "missing symbol": (
        cwrapjit.CompileError,
        "cwj_gone",
        lambda: wrap(((),), (), "return cwj_gone();", header="int cwj_gone(void);"),
    ),
    "missing library": (
        OSError,
        "/nonexistent.so",
        lambda: wrap(((),), (), "return true;", libraries=["/nonexistent.so"]),
    ),
    "bad prototype": (ValueError, "negative: -1", lambda: wrap(((-1,),), (), "return true;")),
    "bad signature": (
        ValueError,
        "signature: expected",
        lambda: cwrapjit.function("f", signature="a(n -> b", Ccode_slice_eval={float: "return 1;"}),
    ),
    "bad key": (TypeError, "'no such type'", lambda: wrap(((),), (), {"no such type": "return true;"})),
    "bad extra": (
        ValueError,
        "parse code 'd'",
        lambda: wrap(((),), (), "return true;", extra_args=(("int", "e", "1", "d"),)),
    ),
    "bad option": (TypeError, "debug must be", lambda: wrap(((),), (), "return true;", debug=1)),
    "warning": (None, "", lambda: wrap(((),), (), "return true;", header="/* none */")),
}


@pytest.mark.leak
@pytest.mark.row("N16i")
@pytest.mark.parametrize("path", DEFINITIONS)
def test_definitions_are_given_back(path: str) -> None:
    error, word, define = DEFINITIONS[path]
    expected = error or NoError
    if error is not None:
        refuses(error, define, word)

    def work() -> None:
        try:
            define()
        except expected:
            pass

    keeps_nothing(work)


@pytest.mark.leak
@pytest.mark.row("N16i", "N06")
def test_write_is_given_back() -> None:
    f = cwrapjit.module("t")
    f.function(
        "f",
        args_input=("a",),
        prototype_input=((),),
        prototype_output=(),
        Ccode_slice_eval={float: "return true;"},
    )
    keeps_nothing(lambda: f.write(io.StringIO()))


@pytest.mark.leak(jobs=True)
@pytest.mark.row("N16i")
@pytest.mark.parametrize("good", [True, False])
def test_jobs_are_given_back(cc: Callable[[str], Any], tmp_path: pathlib.Path, good: bool) -> None:
    """Tests jobs that end, and jobs that are abandoned while they wait or run. All use one object file."""
    kept, says = tmp_path / "kept.o", "<cwrapjit t.f float64>:1:1: error: no such thing"
    cc(f'test -f {kept} || REAL "$@" 3>{kept}; cat {kept} >&3' if good else f"echo '{says}' >&2; exit 3")

    def work() -> None:
        f, *given_up = (wrap(((),), (), "item__output() = 2 * item__a(); return true;") for _ in range(3))
        assert f.wait() == good and (good or "no such thing" in str(f.tier_error))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cwrapjit.CompileWarning)
            assert f(3.0) == 6
        for each in given_up:
            each.wait(timeout=0)

    keeps_nothing(work)


# ---- reference counts -----------------------------------------------------------------------------


def refused(call: Callable[[Any], Any], f: Any, error: type[BaseException] | None) -> None:
    expected = error or NoError
    try:
        call(f)
    except expected:
        pass


@pytest.mark.row("N16i")
def test_results_own_themselves_and_out_is_not_held() -> None:
    f = full()
    result = f(wide, x)
    assert result.base is None and result.flags.owndata and result.flags.writeable
    nobodys = np.zeros(3)  # CPython 3.14 passes it without a new reference, older versions with one
    assert sys.getrefcount(result) == sys.getrefcount(nobodys)
    given = np.zeros(3)
    assert f(wide, x, out=given) is given
    assert sys.getrefcount(given) == sys.getrefcount(nobodys)
    alive = weakref.ref(given)
    del given
    assert alive() is None


@pytest.mark.leak
@pytest.mark.row("N16i")
def test_extras_are_not_held() -> None:
    f = full()
    thing, text = ["a thing"], "a text of " + str(5)

    def work() -> None:
        f(x, x, thing=thing, text=text)
        refused(lambda f: f(x - 1, x, thing=thing, text=text), f, RuntimeError)

    keeps_nothing(work, watched=(thing, text))


@pytest.mark.leak
@pytest.mark.row("N16i")
def test_definitions_hold_no_more_than_they_need() -> None:
    class Key(str):
        pass

    body, doc, sets = Key("item__output() = 1; return true;"), Key("doc"), {np.float64: None}
    sets[np.float64] = body

    def work() -> None:
        f = cwrapjit.module("t").function(
            "f", doc, args_input=(), prototype_input=(), prototype_output=(), Ccode_slice_eval=sets
        )
        assert f() == 1

    keeps_nothing(work, watched=(body, doc, sets))


@pytest.mark.row("N16i")
def test_functions_are_freed_with_their_last_reference() -> None:
    f = wrap((("n",), ("n",)), (), INNER)
    alive = weakref.ref(f)
    del f
    gc.collect()
    assert alive() is None
