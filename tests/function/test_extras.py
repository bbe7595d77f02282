"""Tests how arguments are bound, the same in all front ends, and extra arguments: codes, defaults, types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers import INNER, ar, refuses, says, wrap
from library_tools import from_c

import cwrapjit
import cwrapjit.graph as cg


def seed(**kw: Any) -> Any:
    """Returns the seed's inner product with its two scales."""
    body = INNER.replace("return true;", "item__output() *= *scale * atof(scale_string); return true;")
    validate = r"""
    if(scale_string == NULL)
    {
        PyErr_Format(PyExc_RuntimeError,
            "The 'scale_string' argument is required" );
        return false;
    }
    return true; """
    extras = (("double", "scale", "1", "d"), ("const char*", "scale_string", "NULL", "s"))
    return wrap((("n",), ("n",)), (), body, name="inner", extra_args=extras, Ccode_validate=validate, **kw)


def one(
    c_type: str, default: str, code: str, expression: str = "*v", dtype: Any = np.int64, **kw: Any
) -> Any:
    """Returns a function f(v=default) that gives `expression` as dtype."""
    body = {dtype: f"item__output() = {expression}; return true;"}
    return wrap((), (), body, extra_args=((c_type, "v", default, code),), **kw)


# ---- the seed's examples --------------------------------------------------------------------------


@pytest.mark.row("N75", "N69", "N72", "N73", "N74", "B09")
def test_the_seeds_example() -> None:
    f, x, y, out = seed(), ar(4), ar(2, 4), np.zeros(2)
    assert f(x, y, scale_string="1.0").tolist() == [14, 38]
    assert f(x, y, scale=2.0, scale_string="10.0").tolist() == [280, 760]
    assert f(b=y, scale_string="1", a=x).tolist() == [14, 38]
    assert f(x, y, out=out, scale_string="2") is out and out.tolist() == [28, 76]
    for given in ({}, {"scale": 3.0}):
        says(RuntimeError, lambda given=given: f(x, y, **given), "The 'scale_string' argument is required")
    refuses(TypeError, lambda: f(x, x, 2.0), "t.inner", "output", "after the 2 inputs", "got float")
    refuses(TypeError, lambda: f(x, x, None, 2.0), "t.inner", "takes 3 positional", "4 were given")
    refuses(TypeError, lambda: f(x, x, scale_string="1", scail=3), "t.inner", "scail")


# ---- parse codes ----------------------------------------------------------------------------------

INTEGERS = [
    ("unsigned char", "b", 0, 255, True),
    ("short", "h", -(2**15), 2**15 - 1, True),
    ("int", "i", -(2**31), 2**31 - 1, True),
    ("long", "l", -(2**63), 2**63 - 1, True),
    ("long long", "L", -(2**63), 2**63 - 1, True),
    ("npy_intp", "n", -(2**63), 2**63 - 1, True),
    ("unsigned long", "k", 0, 2**64 - 1, False),
    ("unsigned long long", "K", 0, 2**64 - 1, False),
    ("unsigned int", "I", 0, 2**32 - 1, False),
    ("unsigned char", "B", 0, 255, False),
    ("unsigned short", "H", 0, 2**16 - 1, False),
]


@pytest.mark.quick
@pytest.mark.row("N69")
@pytest.mark.parametrize("c_type, code, low, high, checked", INTEGERS, ids=lambda v: str(v))
def test_integer_codes(c_type: str, code: str, low: int, high: int, checked: bool) -> None:
    dtype = np.uint64 if low == 0 else np.int64
    f = one(c_type, "7", code, dtype=dtype)
    assert int(f()) == 7
    for value in (low, 0, 1, high):
        assert int(f(v=value)) == value
    assert int(f(v=True)) == 1
    refuses(TypeError, lambda: f(v=1.5), "t.f", "'v'", "float")
    refuses(TypeError, lambda: f(v="3"), "t.f", "'v'", "str")
    refuses(TypeError, lambda: f(v=None), "t.f", "'v'", "None")
    if checked:
        refuses(OverflowError, lambda: f(v=high + 1), "t.f", "'v'")
        refuses(OverflowError, lambda: f(v=low - 1), "t.f", "'v'")
    else:
        assert int(f(v=high + 2)) == 1, "unsigned codes wrap, as CPython documents"


@pytest.mark.row("N69")
@pytest.mark.parametrize(
    "c_type, code",
    [
        *(("int32_t", "i"), ("npy_int64", "l"), ("int64_t", "L"), ("size_t", "n"), ("ptrdiff_t", "n")),
        *(("uint8_t", "B"), ("const int", "i"), ("signed", "i"), ("unsigned", "i"), ("long int", "l")),
    ],
)
def test_other_names_of_the_same_types_fit(c_type: str, code: str) -> None:
    assert int(one(c_type, "1", code)(v=42)) == 42


@pytest.mark.row("N69")
@pytest.mark.parametrize(
    "c_type, code, fits, given",
    [
        ("size_t", "n", 2**63 - 1, -1),
        ("unsigned", "i", 2**31 - 1, -1),
        ("unsigned short", "h", 2**15 - 1, -(2**15)),
        ("unsigned long", "l", 2**63 - 1, -(2**63)),
        ("uint64_t", "L", 2**63 - 1, -2),
        ("signed char", "b", 127, 128),
        ("int8_t", "b", 127, 255),
    ],
)
def test_a_checked_code_does_not_wrap_into_a_type_of_other_signedness(
    c_type: str, code: str, fits: int, given: int
) -> None:
    f = one(c_type, "1", code)
    assert int(f(v=fits)) == fits
    assert int(f(v=0)) == 0
    refuses(OverflowError, lambda: f(v=given), "t.f", "'v'", f"{given} is out of range of")
    assert int(f()) == 1


@pytest.mark.row("N69")
def test_float_codes() -> None:
    f = one("double", "0.1", "d", dtype=np.float64)
    assert f() == 0.1 and f(v=3) == 3 and f(v=np.float32(0.5)) == 0.5 and f(v=1 / 3) == 1 / 3
    assert one("float", "0", "f", dtype=np.float64)(v=1 / 3) == float(np.float32(1 / 3))
    refuses(TypeError, lambda: f(v="1"), "t.f", "'v'", "str")
    refuses(TypeError, lambda: f(v=1j), "t.f", "'v'", "complex")


@pytest.mark.row("N69", "B20")
@pytest.mark.parametrize("c_type", ["bool", "int", "unsigned char", "long", "_Bool"])
def test_truth_code_fits_bool_and_every_integer(c_type: str) -> None:
    f = one(c_type, "1", "p")
    assert f() == 1
    truths = [(True, 1), (False, 0), ([], 0), ("x", 1), (None, 0), (256, 1), (0.0, 0), (0.5, 1)]
    assert [(value, int(f(v=value))) for value, _ in truths] == truths


@pytest.mark.row("N69")
def test_char_code() -> None:
    f = one("char", "'x'", "c")
    assert f() == ord("x") and f(v=b"A") == 65 and f(v=bytearray(b"B")) == 66
    refuses(TypeError, lambda: f(v=b"AB"), "t.f", "'v'", "length 1")
    refuses(TypeError, lambda: f(v="A"), "t.f", "'v'", "not str")


@pytest.mark.quick
@pytest.mark.row("N69", "N72")
def test_text_codes() -> None:
    length = "v == NULL ? -1 : (npy_int64)strlen(v)"
    s, z = one("const char*", "NULL", "s", length), one("const char *", "NULL", "z", length)
    y = one("char*", "NULL", "y", length)
    assert s() == -1 and s(v="") == 0 and s(v="hällo") == 6
    assert z() == -1 and z(v=None) == -1 and z(v="four") == 4
    assert y() == -1 and y(v=b"abc") == 3
    for f, given, word in ((s, None, "None"), (s, 5, "int"), (y, "text", "str")):
        refuses(TypeError, lambda f=f, given=given: f(v=given), "t.f", "'v'", word)
    for f, given, word in (
        (s, "nul\0", "null character"),
        (z, "nul\0", "null character"),
        (y, b"\0", "null byte"),
    ):
        refuses(ValueError, lambda f=f, given=given: f(v=given), "t.f", "'v'", word)
    refuses(ValueError, lambda: s(v="\ud800"), "t.f(): argument 'v'", "surrogates not allowed")


@pytest.mark.row("N69", "N72")
def test_object_code_passes_the_object_itself() -> None:
    f = one("PyObject*", "NULL", "O", "v == NULL ? -1 : PyObject_Length(v)", header="#include <Python.h>")
    assert f() == -1 and f(v=[1, 2, 3]) == 3 and f(v={}) == 0
    address = one("PyObject *", "NULL", "O", "(npy_intp)v")
    thing = object()
    assert int(address(v=thing)) == id(thing)


@pytest.mark.row("N69")
@pytest.mark.parametrize("code", "s# z# y# O! O& (dd) dd es w* s* q % | $ d:".split() + [""])
def test_codes_of_other_shapes_are_refused_with_the_reason(code: str) -> None:
    refuses(ValueError, lambda: one("double", "1", code), "t.f", "extra argument 'v'", f"parse code {code!r}")


@pytest.mark.row("N69")
@pytest.mark.parametrize(
    "c_type, codes",
    [
        *(("int", "dblO"), ("double", "ifpsO"), ("float", "d"), ("char", "i"), ("short", "i"), ("bool", "i")),
        *(("const char*", "dO"), ("PyObject*", "s"), ("int*", "s"), ("double*", "d"), ("long double", "d")),
    ],
)
def test_a_code_that_does_not_fit_the_c_type_is_refused(c_type: str, codes: str) -> None:
    for code in codes:
        error = refuses(
            ValueError, lambda code=code: one(c_type, "0", code, "0"), "t.f", f"parse code {code!r}"
        )
        assert c_type.replace(" ", "") in str(error).replace(" ", "")


# ---- defaults -------------------------------------------------------------------------------------


@pytest.mark.row("N70")
@pytest.mark.parametrize(
    "c_type, code, default, expression, value",
    [
        ("double", "d", "DBL_MAX", "*v == DBL_MAX", 1),
        ("const char*", "s", "NULL", "v == NULL", 1),
        ("const char*", "s", '"a, b"', "strlen(v)", 4),
        ("bool", "p", "false", "*v", 0),
        ("int", "i", "-1", "*v", -1),
        ("int", "i", "INT_MAX", "*v", 2**31 - 1),
        ("int", "i", "1 ? 2 : 3", "*v", 2),
        ("int", "i", "(int)sizeof(double) * 2", "*v", 16),
        ("int", "i", "TWELVE + twice(4)", "*v", 20),
        ("double", "d", "sqrt(2.25) * M_PI / M_PI", "*v * 10", 15),
        ("double", "d", "NAN", "isnan(*v)", 1),
    ],
)
def test_default_is_any_c_expression(
    c_type: str, code: str, default: str, expression: str, value: int
) -> None:
    header = "#define TWELVE 12\nstatic int twice(int x) { return 2 * x; }"
    assert one(c_type, default, code, expression, header=header)() == value


@pytest.mark.row("N70", "U01")
@pytest.mark.parametrize(
    "default, word",
    [
        ("undeclared_thing", "'undeclared_thing' undeclared"),
        ("1 +", "expression expected"),
        (") + (1", "closes nothing"),
        ("1; return", "')' expected"),
        ("{1}", "';' expected"),
    ],
)
def test_default_that_is_no_expression_is_a_compile_error(default: str, word: str) -> None:
    error = refuses(cwrapjit.CompileError, lambda: one("int", default, "i"), word)
    assert error.filename == "<cwrapjit t.f default of v>"
    assert error.lineno == 1


@pytest.mark.row("N70")
def test_defaults_are_evaluated_anew_in_each_call() -> None:
    f = one("int", "++count", "i", header="static int count = 5;")
    assert [int(f()), int(f()), int(f())] == [6, 7, 8]


# ---- what snippets see ----------------------------------------------------------------------------


@pytest.mark.row("N71")
def test_extras_arrive_as_const_pointers_in_validate_and_slices() -> None:
    f = wrap(
        ((),),
        (),
        "double b = 2; const double *p = scale; item__output() = b * *p * item__a(); return true;",
        extra_args=[("double", "scale", "1", "d")],
        Ccode_validate="return *scale > 0;",
    )
    assert f(7.0) == 14 and f([1.0, 2.0], scale=3).tolist() == [6, 12]
    refuses(RuntimeError, lambda: f(7.0, scale=-1.0), "t.f", "Ccode_validate")


@pytest.mark.row("N71", "N24i")
@pytest.mark.parametrize("where", ["body", "validate"])
def test_writing_to_an_extra_is_a_compile_error(where: str) -> None:
    write, extras = "\n*scale = 1;\nreturn true;", (("double", "scale", "1", "d"),)
    kw = {"Ccode_validate": write} if where == "validate" else {}
    body = write if where == "body" else "return true;"
    define = lambda: wrap(((),), (), body, extra_args=extras, **kw)  # noqa: E731
    error = refuses(cwrapjit.CompileError, define, "read-only")
    assert error.lineno == 2 and error.text.strip() == "*scale = 1;"


@pytest.mark.row("B20", "N69")
def test_all_kinds_together_in_every_order() -> None:
    kinds = [
        ("bool", "p", True, "*{0} == 1"),
        ("double", "d", 1 / 3, "*{0} == 1 / 3.0"),
        ("unsigned char", "b", 200, "*{0} == 200"),
        ("const char*", "s", "text", '!strcmp({0}, "text")'),
        ("short", "h", -5, "*{0} == -5"),
        ("float", "f", 0.5, "*{0} == 0.5f"),
        ("long long", "L", -(2**60), "*{0} == -(1LL << 60)"),
        ("char", "c", b"q", "*{0} == 'q'"),
        ("int", "i", 2**30, "*{0} == 1 << 30"),
    ]
    for turn in range(len(kinds)):
        order = (kinds[turn:] + kinds[:turn]) * 11  # 99 extra arguments
        extras = [(c_type, f"e{i}", "0", code) for i, (c_type, code, _, _) in enumerate(order)]
        test = " && ".join(f"({check.format(f'e{i}')})" for i, (_, _, _, check) in enumerate(order))
        f = wrap((), (), {np.int32: f"item__output() = {test}; return true;"}, extra_args=extras)
        assert f(**{f"e{i}": value for i, (_, _, value, _) in enumerate(order)}) == 1


@pytest.mark.row("N69")
@pytest.mark.parametrize("c_type, code", [("int", "i"), ("double", "d"), ("bool", "p")])
def test_errors_of_the_objects_themselves_surface(c_type: str, code: str) -> None:
    class Bad:
        def __bool__(self) -> bool:
            raise ZeroDivisionError("from __bool__")

        __index__ = __float__ = __bool__

    refuses(ZeroDivisionError, lambda: one(c_type, "0", code)(v=Bad()), "from __bool__")


# ---- definitions that make no sense ---------------------------------------------------------------


@pytest.mark.quick
@pytest.mark.row("N69")
@pytest.mark.parametrize(
    "name", ["a", "out", "output", "lambda", "1x", "x y", "", "int", "dims_slice__a", "cwj_x", "cookie", "e"]
)
def test_extra_names_that_cannot_be(name: str) -> None:
    extras = (("double", "e", "1", "d"), ("double", name, "1", "d"))
    refuses(ValueError, lambda: wrap(((),), (), "return true;", extra_args=extras), "t.f", f" {name!r}")


@pytest.mark.row("N69")
@pytest.mark.parametrize(
    "c_type", ["", "int; int x", "int[3]", "double)", "struct { int x; }", "int (*)(void)"]
)
def test_c_types_that_cannot_be(c_type: str) -> None:
    words = "t.f", "extra argument 'v'", f"{c_type!r} is not a plain type name"
    refuses(ValueError, lambda: one(c_type, "0", "i", "0"), *words)


@pytest.mark.row("N69")
@pytest.mark.parametrize("c_type, word", [("void", "'v'"), ("no_such_type", "no_such_type")])
def test_c_types_that_only_the_compiler_knows(c_type: str, word: str) -> None:
    refuses(cwrapjit.CompileError, lambda: one(c_type, "0", "i", "0"), word)


# ---- positional and keyword arguments, in all front ends ----


def function_of_slices() -> Any:
    code = "item__output() = item__x() - item__y(); return true;"
    return wrap(((), ()), (), code, names=("x", "y"))


def function_of_a_library() -> Any:
    text = "double f(double x, double y)"
    return from_c(f"{text} {{ return x - y; }}").function(text)


def graph() -> Any:
    x, y = cg.float64("x"), cg.float64("y")
    return cwrapjit.link([x, y], x - y)


FRONT_ENDS = (function_of_slices, function_of_a_library, graph)
# Messages of calls, without the leading "NAME(): ".
REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "too many": (lambda f: f(1.0, 2.0, 3.0), "takes 2 positional arguments but 3 were given"),
    "unknown": (lambda f: f(1.0, 2.0, z=3.0), "got an unexpected keyword argument 'z'"),
    "twice": (lambda f: f(1.0, 2.0, x=3.0), "got multiple values for argument 'x'"),
    "none": (lambda f: f(), "missing required argument 'x' (position 1)"),
    "the last is missing": (lambda f: f(1.0), "missing required argument 'y' (position 2)"),
    "the first is missing": (lambda f: f(y=1.0), "missing required argument 'x' (position 1)"),
}


@pytest.mark.row("N18")
@pytest.mark.row("A08i")
@pytest.mark.row("P03i")
@pytest.mark.parametrize("make", FRONT_ENDS)
@pytest.mark.parametrize("fault", REFUSED)
def test_what_does_not_fit_is_refused_in_the_same_words(make: Callable[[], Any], fault: str) -> None:
    f = make()
    assert f(y=1.0, x=3.0) == f(3.0, y=1.0) == f(3.0, 1.0) == 2.0
    call, wanted = REFUSED[fault]
    if make is function_of_slices and fault == "too many":  # an output may follow the inputs
        call, wanted = lambda f: f(1.0, 2.0, None, 3.0), "takes 3 positional arguments but 4 were given"
    error = refuses(TypeError, lambda: call(f), wanted)
    who, _, text = str(error).partition("(): ")
    assert who in ("t.f", "graph")
    assert text == wanted


@pytest.mark.row("N18")
@pytest.mark.parametrize("make", FRONT_ENDS)
def test_keywords_that_nobody_interned(make: Callable[[], Any]) -> None:
    """Names match by their text, not only by identity."""
    f = make()
    x, z = ("".join(part) for part in (("", "x"), ("z", "z")))
    assert f(**{x: 3.0, "y": 1.0}) == 2.0
    refuses(TypeError, lambda: f(1.0, 2.0, **{z: 3.0}), "got an unexpected keyword argument 'zz'")


@pytest.mark.quick
@pytest.mark.row("P03i")
def test_keyword_only_arguments_are_named() -> None:
    text, who = "double f(double x, double y, double z)", "t.f(): "
    f = from_c(text + " { return x + y + z; }").function(text, positional_only="x", keyword_only=("y", "z"))
    many = "takes 1 positional argument but 2 were given (keyword-only: y, z)"
    says(TypeError, lambda: f(1.0, 2.0), who + many)
    says(TypeError, lambda: f(1.0, y=2.0), who + "missing required keyword-only argument 'z'")
    says(TypeError, lambda: f(x=1.0, y=2.0, z=3.0), who + "got positional-only argument 'x' by keyword")
    g = from_c("int g(void) { return 7; }").function("int g(void)")
    says(TypeError, lambda: g(1), "t.g(): takes 0 positional arguments but 1 was given")


@pytest.mark.row("P03i")
def test_members_of_structs_are_given_by_the_same_rule() -> None:
    p = from_c("").struct("struct pair { double x, y; };")
    assert (p(3.0, y=1.0).x, p(y=1.0).x) == (3.0, 0.0)
    for fault in ("too many", "unknown", "twice"):
        call, wanted = REFUSED[fault]
        says(TypeError, lambda call=call: call(p), f"pair(): {wanted}")
