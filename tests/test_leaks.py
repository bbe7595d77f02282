"""Nothing is kept that a call or a definition took: resident size and reference counts, on every path."""

from __future__ import annotations

import gc
import io
import sys
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers import IN, F, R, ar, grown_kib

import cwrapjit

ROUNDS = 20_000
LIMIT_KIB = 400  # the smallest leak there is, 32 bytes a call, makes 625 KiB

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
    """A function with everything that a call can take: validate, cookie, clean-up, extras."""
    return F(
        (("n",), ("n",)),
        (),
        BODY,
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
    """What a path that succeeds may raise: never raised."""


class Array:
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.ones(4, np.float64)


class Broken:
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise ZeroDivisionError


x, wide, out, odd = ar(4), ar(3, 4), np.zeros(3), np.frombuffer(bytes(40), np.uint8)[1:33].view(np.float64)

PATHS: dict[str, tuple[type[BaseException] | None, Callable[[Any], Any]]] = {
    "scalar result": (None, lambda f: f(x, x)),
    "array result": (None, lambda f: f(wide, x)),
    "keywords": (None, lambda f: f(b=x, a=wide, scale=2, text="some text", thing=out)),
    "out": (None, lambda f: f(wide, x, out=out)),
    "lists": (None, lambda f: f([1.0, 2.0], [3.0, 4.0])),
    "numbers": (None, lambda f: f(2, 3.5)),
    "__array__": (None, lambda f: f(Array(), x)),
    "missing argument": (TypeError, lambda f: f(x)),
    "too many arguments": (TypeError, lambda f: f(x, x, x)),
    "unknown keyword": (TypeError, lambda f: f(x, x, colour=1)),
    "given twice": (TypeError, lambda f: f(x, x, a=x)),
    "extra of a wrong type": (TypeError, lambda f: f(x, x, scale="no")),
    "extra with a NUL": (ValueError, lambda f: f(x, x, text="\0")),
    "wrong dtype": (TypeError, lambda f: f(np.int32(1), x)),
    "no array": (TypeError, lambda f: f("text", x)),
    "list of a wrong dtype": (TypeError, lambda f: f([1, 2], [3, 4])),
    "ragged list": (ValueError, lambda f: f(x, [[1.0], [1.0, 2.0]])),
    "__array__ raises": (ZeroDivisionError, lambda f: f(x, Broken())),
    "wrong core shape": (ValueError, lambda f: f(x, ar(5))),
    "wrong broadcast shape": (ValueError, lambda f: f(wide, ar(2, 4))),
    "unaligned": (ValueError, lambda f: f(odd, x)),
    "byte-swapped": (TypeError, lambda f: f(x.astype(">f8"), x)),
    "masked": (TypeError, lambda f: f(np.ma.masked_array(x), x)),
    "out of a wrong shape": (ValueError, lambda f: f(wide, x, out=np.zeros(2, np.float64))),
    "out of a wrong dtype": (TypeError, lambda f: f(wide, x, out=np.zeros(3, np.int8))),
    "out is no array": (TypeError, lambda f: f(wide, x, out=[1])),
    "out is read-only": (ValueError, lambda f: f(wide, x, out=np.broadcast_to(1.0, 3))),
    "out overlaps": (ValueError, lambda f: f(wide, x, out=wide[:, 1])),
    "validate refuses": (RuntimeError, lambda f: f(x, x, scale=0)),
    "validate raises": (ValueError, lambda f: f(x, x, scale=-1)),
    "slice refuses": (RuntimeError, lambda f: f(x - 1, wide)),
    "slice raises": (ValueError, lambda f: f(wide - 2, x)),
}


@pytest.mark.row("N16i")
@pytest.mark.parametrize("path", PATHS)
def test_resident_size_is_flat(path: str) -> None:
    f = full()
    error, call = PATHS[path]
    if error is None:
        call(f)

        def work() -> None:
            call(f)
    else:
        R(error, lambda: call(f))

        def work() -> None:
            try:
                call(f)
            except error:
                pass

    assert least_growth(work, ROUNDS) < LIMIT_KIB


def least_growth(work: Callable[[], Any], rounds: int) -> int:
    """The allocator's own habits come and go; a leak is there every time."""
    grown = grown_kib(work, rounds)
    for _ in range(3):
        if grown < LIMIT_KIB:
            break
        grown = min(grown, grown_kib(work, rounds))
    return grown


@pytest.mark.row("N16i")
def test_several_outputs_are_given_back() -> None:
    f = F(((),), ((), (4,), (2, 2)), "item__output0() = 1; return item__a() >= 0;")
    assert least_growth(lambda: f(x), ROUNDS) < LIMIT_KIB

    def fails() -> None:
        try:
            f(-1 - x)
        except RuntimeError:
            pass

    assert least_growth(fails, ROUNDS) < LIMIT_KIB


@pytest.mark.row("N16i")
def test_converted_inputs_are_given_back() -> None:
    f = F(((),), (), "item__output() = item__a(); return true;", cast="safe")
    ints = ar(50, dtype=np.int32)
    assert least_growth(lambda: f(ints), ROUNDS) < LIMIT_KIB


DEFINITIONS: dict[str, tuple[Any, Callable[[], Any]]] = {
    "good": (None, lambda: full()),
    "good, called": (None, lambda: full()(x, x)),
    "without a module": (
        None,
        lambda: cwrapjit.function(
            "f",
            args_input=(),
            prototype_input=(),
            prototype_output=(),
            Ccode_slice_eval={float: "return true;"},
        ),
    ),
    "C error": (cwrapjit.CompileError, lambda: F(((),), (), "return oops;")),
    "several C errors": (
        cwrapjit.CompileError,
        lambda: F(((),), (), {float: "return oops;", int: "return ouch;"}),
    ),
    "header error": (cwrapjit.CompileError, lambda: F(((),), (), "return true;", header="oops")),
    "refused text": (cwrapjit.CompileError, lambda: F(((),), (), "return true; }")),
    "missing symbol": (
        cwrapjit.CompileError,
        lambda: F(((),), (), "return cwj_gone();", header="int cwj_gone(void);"),
    ),
    "missing library": (OSError, lambda: F(((),), (), "return true;", libraries=["/nonexistent.so"])),
    "bad prototype": (ValueError, lambda: F(((-1,),), (), "return true;")),
    "bad signature": (
        ValueError,
        lambda: cwrapjit.function("f", signature="a(n -> b", Ccode_slice_eval={float: "return 1;"}),
    ),
    "bad key": (TypeError, lambda: F(((),), (), {"no such type": "return true;"})),
    "bad extra": (ValueError, lambda: F(((),), (), "return true;", extra_args=(("int", "e", "1", "d"),))),
    "bad option": (NotImplementedError, lambda: F(((),), (), "return true;", debug=True)),
    "warning": (None, lambda: F(((),), (), "return true;", header="/* none */")),
}


@pytest.mark.row("N16i")
@pytest.mark.parametrize("path", DEFINITIONS)
def test_definitions_are_given_back(path: str) -> None:
    error, define = DEFINITIONS[path]
    expected = error or NoError
    if error is not None:
        R(error, define)

    def work() -> None:
        try:
            define()
        except expected:
            pass

    rounds = 500
    for _ in range(100):
        work()
    assert least_growth(work, rounds) < LIMIT_KIB, "800 bytes a definition"


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
    assert least_growth(lambda: f.write(io.StringIO()), 500) < LIMIT_KIB


# ---- reference counts -----------------------------------------------------------------------------


def counts(*things: Any) -> list[int]:
    return [sys.getrefcount(thing) for thing in things]


@pytest.mark.row("N16i")
@pytest.mark.parametrize("path", PATHS)
def test_reference_counts_are_as_before(path: str) -> None:
    f = full()
    error, call = PATHS[path]
    things = (
        x,
        wide,
        out,
        odd,
        np.dtype(np.float64),
        np.dtype(np.int32),
        f,
        np.ndarray,
        Array,
        TypeError,
        ValueError,
    )
    for _ in range(3):  # caches fill
        refused(call, f, error)
    gc.collect()
    before = counts(*things)
    for _ in range(50):
        refused(call, f, error)
    gc.collect()
    changed = [b - a for a, b in zip(before, counts(*things), strict=True)]
    assert max(map(abs, changed)) < 20, changed


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
    assert sys.getrefcount(result) == 2
    given = np.zeros(3)
    assert f(wide, x, out=given) is given
    assert sys.getrefcount(given) == 2
    alive = weakref.ref(given)
    del given
    assert alive() is None


@pytest.mark.row("N16i")
def test_extras_are_not_held() -> None:
    f = full()
    thing, text = ["a thing"], "a text of " + str(5)
    before = counts(thing, text)
    f(x, x, thing=thing, text=text)
    R(RuntimeError, lambda: f(x - 1, x, thing=thing, text=text))
    assert counts(thing, text) == before


@pytest.mark.row("N16i")
def test_definitions_hold_no_more_than_they_need() -> None:
    class Key(str):
        pass

    body, doc, sets = Key("item__output() = 1; return true;"), Key("doc"), {np.float64: None}
    sets[np.float64] = body
    before = counts(body, doc, sets)
    m = cwrapjit.module("t")
    f = m.function("f", doc, args_input=(), prototype_input=(), prototype_output=(), Ccode_slice_eval=sets)
    assert f() == 1
    del f, m
    gc.collect()
    assert counts(body, doc, sets) == before


@pytest.mark.row("N16i")
def test_functions_are_freed_with_their_last_reference() -> None:
    f = F((("n",), ("n",)), (), IN)
    alive = weakref.ref(f)
    del f
    gc.collect()
    assert alive() is None
