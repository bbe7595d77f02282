"""Tests the whole messages of libraries about invalid options, declarations, dims and calls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers import ar, refuses
from library_tools import from_c

import cwrapjit

TEXT = """
typedef struct vec_s { size_t size; struct { char count; } inner; double *data; } *vec;
double f(int64_t n, const double *x, double *y, int64_t m, const char *s) { return n; }
double g(int n, int k, const vec v, const double *x) { return 0; }
size_t vec_size(const vec v) { return v->size; }
double vec_half(const vec v) { return 1; }
unsigned long bound(unsigned long n) { return n; }
"""
KNOWN = """
typedef struct vec_s { size_t size; struct { char count; } inner; double *data; } *vec;
size_t vec_size(const vec v); double vec_half(const vec v); unsigned long bound(unsigned long n);
"""


@pytest.fixture(scope="module")
def lib() -> Any:
    return from_c(TEXT).declare(KNOWN)


def says(lib: Any, text: Any, options: dict[str, Any], error: type[Exception], message: str) -> Any:
    with pytest.raises(error) as caught:
        lib.function(text, **options)
    assert getattr(caught.value, "msg", str(caught.value)) == message
    return caught.value


# ---- options ----------------------------------------------------------------------------------------

F = "double f(int64_t n, const double x[n], double y[n], int64_t m, const char *s)"
NONE = "which is no parameter; they are: n, x, y, m, s"
NAMES = "must be the name of a parameter or a tuple of names, not 5"
DICT = "must be a dict by names of parameters, not"
NO_POINTER = "the function returns double, no pointer"
OPTIONS = [
    ({"out": "nothing"}, ValueError, f"out names 'nothing', {NONE}"),
    ({"out": 5}, TypeError, f"out {NAMES}"),
    ({"out": "x"}, ValueError, "x points to const: out= cannot name it"),
    (
        {"out": "n"},
        ValueError,
        "out= names n, but arrays are n long before the call writes it: inout= makes n the capacity, which"
        " cuts the results after the call",
    ),
    ({"inout": "m"}, ValueError, "inout= names m, which is no pointer"),
    ({"inout": "y", "out": "y"}, ValueError, "y is in out= and in inout="),
    ({"optional": "n"}, ValueError, "n is no pointer: give it a default instead of optional="),
    ({"optional": "nothing"}, ValueError, f"optional names 'nothing', {NONE}"),
    ({"defaults": {"nothing": 1}}, ValueError, f"defaults names 'nothing', {NONE}"),
    ({"defaults": 5}, TypeError, f"defaults {DICT} int"),
    ({"dims": {"q": "n"}}, ValueError, f"dims names 'q', {NONE}"),
    ({"dims": {"m": "n"}}, ValueError, "dims names m, which is no pointer"),
    ({"dims": "x"}, TypeError, f"dims {DICT} str"),
    ({"order": "K"}, ValueError, "order must be 'C' or 'F', not 'K'"),
    ({"order": 5}, ValueError, "order must be 'C' or 'F', not 5"),
    ({"order": {"q": "F"}}, ValueError, f"order names 'q', {NONE}"),
    ({"strides": {"nothing": "x"}}, ValueError, f"strides names 'nothing', {NONE}"),
    ({"strides": {"s": "x"}}, ValueError, "strides: s is no integer"),
    ({"strides": {"m": ("x", 7)}}, ValueError, "strides['m']: x has no axis 7"),
    ({"strides": {"m": "q"}}, ValueError, "strides['m'] must be an array's name or (name, axis)"),
    ({"strides": {"m": 5}}, ValueError, "strides['m'] must be an array's name or (name, axis)"),
    ({"strides": ["x"]}, TypeError, f"strides {DICT} list"),
    ({"strides": {"m": ("x", 0, "up")}}, ValueError, "strides['m']: 'up' should be 'first' or 'lowest'"),
    (
        {"hidden": {"m": "k + 1"}},
        ValueError,
        "k in a dim is no integer parameter and no constant, and no array that is given has it as a dim of"
        " its own",
    ),
    ({"hidden": {"m": "("}}, ValueError, "hidden['m']: '(' is no dim"),
    ({"hidden": {"x": "n"}}, ValueError, "hidden: x is no integer"),
    ({"hidden": {"m": None}}, ValueError, "hidden: None is NULL, and m is no pointer"),
    ({"returns": ("n", "argument")}, ValueError, f"returns: {NO_POINTER}"),
    ({"returns": 5}, ValueError, f"returns: {NO_POINTER}"),
    ({"returns": 1.5}, TypeError, "returns must be (shape, owner), not 1.5"),
    ({"container": "deque"}, ValueError, "container must be tuple, list or set, not 'deque'"),
    ({"container": {"y": tuple}}, ValueError, "container: y must be a const array"),
    ({"keyword_only": ("nothing",)}, ValueError, f"keyword_only names 'nothing', {NONE}"),
    ({"positional_only": 5}, TypeError, f"positional_only {NAMES}"),
    (
        {"keyword_only": "x", "positional_only": "x"},
        ValueError,
        "x is in keyword_only= and in positional_only=",
    ),
    ({"name": 5}, TypeError, "name must be a str, not int"),
    ({"name": "no name"}, ValueError, "name='no name' is no name in Python"),
    ({"doc": 5}, TypeError, "doc must be a str, not int"),
    (
        {"check": 5},
        TypeError,
        "check must be a function, a message function's name or an exception class",
    ),
    ({"check": len}, ValueError, "check: it returns double, which is no integer status"),
    ({"check": {"q": 5}}, ValueError, "check must be a dict of one parameter's name, or of codes"),
    ({"discard": "q"}, ValueError, f"discard names 'q', {NONE}, return"),
    ({"keeps": "q"}, ValueError, "keeps: there is no handle or struct that could keep something"),
    ({"rename": {"x": "y"}}, ValueError, "two arguments are called y"),
    ({"rename": {"x": "if"}}, ValueError, "rename: 'if' is no name in Python"),
    (
        {"prototype": {"q": "n"}},
        ValueError,
        "prototype names 'q', which is no parameter; they are: n, x, y, m, s",
    ),
    ({"unsafe": "q"}, ValueError, f"unsafe names 'q', {NONE}"),
    ({"overlap": "yes"}, ValueError, "overlap must be \"allow\", not 'yes'"),
    ({"varargs": "int"}, ValueError, "varargs: the declaration does not end with ..."),
    ({"encoding": 3}, TypeError, "encoding must be the name of one, or None, not int"),
    ({"encoding": {"t": "latin-1"}}, ValueError, f"encoding names 't', {NONE}, return"),
    (
        {"encoding": "utf-16"},
        ValueError,
        "encoding='utf-16' is no codec that leaves ASCII as it is: texts of C end at a NUL; others are arrays"
        " of bytes, as in const unsigned char text[n]",
    ),
]


def test_options_that_fit_nothing(lib: Any) -> None:
    for options, error, message in OPTIONS:
        says(lib, F, options, error, f"t.f(): {message}")
        assert lib.function(F)(ar(3), ar(3), 1, "") == 3
    for option, more in (("surprise", "the options are: name, doc, out,"), ("outs", "did you mean 'out'?")):
        begins = f"t.function() got an unexpected keyword argument {option!r}; {more}"
        refuses(TypeError, lambda o=option: lib.function(F, **{o: 1}), begins)
    refuses(
        AttributeError, lambda: lib.function(F, check="no_message"), "no symbol no_message in library 't'"
    )
    why = "has no mapping: it cannot be broadcast: y is written in place: out= says that it is a result"
    says(lib, F, {"broadcast": True}, TypeError, f"t.f() {why}")


# ---- declarations -------------------------------------------------------------------------------------

OLD = "t.f() has no mapping: its parameters have no types: no prototype, or one of old C; f(void) has none"
ONE = "t.function(): the text should declare one function, it declares"
NO_DIM = "a dim is made of integers, parameters, + - * / %, min(), max(), comparisons and ?:"
NO_NUMBER = "in a dim is no integer parameter and no constant"
GIVEN = "and no array that is given has it as a dim of its own"
DECLARATIONS: list[tuple[Any, type[Exception], str, tuple[int, int | None] | None]] = [
    ("int f(", SyntaxError, "'(' is not closed", (1, 6)),
    ("int f(int x,\n      foo y)", SyntaxError, "foo is not a known type", (2, 7)),
    ("int f(int x; int y)", SyntaxError, "syntax error before ;", (1, 12)),
    ("int f(int x[3; int y);", SyntaxError, "'[' is not closed", (1, 12)),
    ("42", SyntaxError, "syntax error before 42", (1, 1)),
    ("double double f(int x)", SyntaxError, "double double is not a known type", (1, 1)),
    ("#if 1\nint f(int x);", SyntaxError, "#if without #endif", (1, None)),
    ("#error no\n", SyntaxError, "#error no;", (1, None)),
    ("int f(int x[m + 1])", SyntaxError, f"t.f(): m {NO_NUMBER}, {GIVEN}", (1, 13)),
    ("int f(int n, double x[n * 2.5])", SyntaxError, "t.f(): 2.5 is no integer", (1, 27)),
    ("int f(int n, double x[n << 2])", SyntaxError, f"t.f(): {NO_DIM}", (1, 23)),
    ("int f(int x, int y) { return x", SyntaxError, "'{' is not closed", (1, 21)),
    ("int f(int x\0)", SyntaxError, "<t.function>: the text has a NUL character", None),
    ("", ValueError, f"{ONE} 0 functions and 0 variables", None),
    ("int x", ValueError, f"{ONE} 0 functions and 1 variables", None),
    ("int f(int x); int g(int x);", ValueError, f"{ONE} 2 functions and 0 variables", None),
    ("int f()", TypeError, OLD, None),
    ("int f(a, b)", TypeError, OLD, None),
    ("int f(a) int a; { return a; }", TypeError, OLD, None),
    (
        "int f(int n, ...)",
        NotImplementedError,
        "t.f(): it takes a variable number of arguments (...), whose types varargs= would say",
        None,
    ),
    ("int f(va_list v)", TypeError, "t.f() has no mapping: v: va_list is a list of variable arguments", None),
    (
        "_Float16 f(int x)",
        TypeError,
        "t.f() has no mapping: it returns _Float16, which NumPy's types do not cover",
        None,
    ),
    (b"int f(int x)", TypeError, "t.function(): the declaration must be a str, not bytes", None),
    (None, TypeError, "t.function(): the declaration must be a str, not NoneType", None),
    ("int absent(int x)", AttributeError, "t.absent(): there is no symbol absent in library 't'", None),
    ("static int f(int x)", NotImplementedError, "t.f(): it is private (static)", None),
]


@pytest.mark.row("P03")
@pytest.mark.parametrize("text, error, message, place", DECLARATIONS)
def test_declarations_that_make_no_function(
    lib: Any, text: Any, error: type[Exception], message: str, place: tuple[int, int | None] | None
) -> None:
    found = says(lib, text, {}, error, message)
    if place is not None:
        assert (found.lineno, found.offset) == place and found.text is not None
    assert lib.function(F)(ar(2), ar(2), 1, "") == 2


# ---- dims ---------------------------------------------------------------------------------------------

G = "double g(int n, int k, const vec v, const double *x)"
NESTED = "n"
for _ in range(20):
    NESTED = f"n ? n : ({NESTED})"
SHAPE = "a shape must be a str, an int or a tuple of these, not"
DIMS: dict[Any, str] = {
    "min(n)": "min() takes two numbers at least",
    "least(n, k)": "least(n, k): nothing declares a function least()",
    "n->k": "n->k: n is no parameter that points to a struct",
    "n, k ? 1": "'k ? 1' is no dim",
    "n ? k": "'n ? k' is no dim",
    "~n": "'~n' is no dim",
    "n;": "'n;' is no dim",
    "n = k": NO_DIM,
    "n & k": NO_DIM,
    "n << 2": NO_DIM,
    "n++": NO_DIM,
    "sizeof(n)": NO_DIM,
    "(int)n": NO_DIM,
    "x": f"x {NO_NUMBER}",
    "*x": f"x {NO_NUMBER}",
    NESTED: "a dim is nested too deeply",
    "+".join("n" * 40): "a dim is too long",
    "1.5": "1.5 is no integer",
    "'ab'": "'ab' is no integer",
    "10000000000000000000000": "10000000000000000000000 is too large",
    "10000000000000000000": "a number in a dim is too large",
    "2 - 3": "the length 2 - 3 is negative",
    -1: "the length -1 is negative",
    2.5: f"{SHAPE} float",
    None: f"{SHAPE} NoneType",
    True: "a dim must be an int or a str, not bool",
    "v->none": "v->none: struct vec_s has no member none",
    "v.size": "v.size: v is a pointer: ->",
    "v->data": "v->data is a double *, no integer",
    "v->size.a": "v->size.a: the members of size_t are not known",
    "w->size": "w->size: w is no parameter that points to a struct",
    "v->inner->count": "v->inner->count: it goes through several pointers",
    "vec_size()": "vec_size(): vec_size() takes 1 arguments, of which there can be six",
    "vec_size(v, v)": "vec_size(v, v): vec_size() takes 1 arguments, of which there can be six",
    "vec_size(x)": "vec_size(x): x should be a parameter of type vec",
    "vec_size(3)": "vec_size(3): 3 should be a parameter of type vec",
    "vec_half(v)": "vec_half(v): vec_half() returns double, no integer",
    "bound(v)": f"v {NO_NUMBER}",
}


def test_dims_that_are_no_dims(lib: Any) -> None:
    for dim, message in DIMS.items():
        with pytest.raises((ValueError, TypeError)) as caught:
            lib.function(G, dims={"x": dim})
        assert type(caught.value) in (ValueError, TypeError)
        assert str(caught.value) == f"t.g(): dims['x']: {message}"
    lib.function(G, dims={"x": "(" * 40 + "n" + ")" * 40})


def test_messages_show_dims_as_c_writes_them(lib: Any) -> None:
    for dim, size, shown in (
        ("n + k * 2", 8, "n + (k * 2)"),
        ("n > k ? n : max(n, k, 1)", 3, "(n > k) ? n : max(max(n, k), 1)"),
        ("!n + (n && !k)", 0, "!n + (n && !k)"),
        ("max(n - k, n * (k - 1)) + 2", 6, "max(n - k, n * (k - 1)) + 2"),
    ):
        g = lib.function(G, dims={"x": dim}, hidden={"v": None})
        error = refuses(ValueError, lambda g=g: g(2, 3, np.ones(5)), "argument x")
        known = "n is 2 by argument n, k is 3 by argument k"
        assert str(error) == f"t.g(): dim 0 of argument x is 5, but must be {size} ({shown}, {known})"


# ---- calls --------------------------------------------------------------------------------------------


def test_calls_that_do_not_fit() -> None:
    f = cwrapjit.library("m", libraries=["m"]).function("double pow(double x, double y)", keyword_only="y")
    for args, names, message in (
        ((), {}, "missing required argument 'x' (position 1)"),
        ((1,), {}, "missing required keyword-only argument 'y'"),
        ((1, 2), {}, "takes 1 positional argument but 2 were given (keyword-only: y)"),
        ((1,), {"z": 2}, "got an unexpected keyword argument 'z'"),
        ((1,), {"x": 2}, "got multiple values for argument 'x'"),
        (("a",), {"y": 2}, "Expected an argument of type float for argument x, got str"),
    ):
        error = refuses(TypeError, lambda a=args, n=names: f(*a, **n), "m.pow(): ")
        assert str(error) == f"m.pow(): {message}"
