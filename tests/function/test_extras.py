"""Extra arguments: parse codes, defaults, how snippets see them, and what is refused."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from helpers import INNER, ar, refuses, same, wrap

import cwrapjit

SEED_VALIDATE = r"""
    if(scale_string == NULL)
    {
        PyErr_Format(PyExc_RuntimeError,
            "The 'scale_string' argument is required" );
        return false;
    }
    return true; """

SEED_BODY = r"""
    double* out = (double*)data_slice__output;
    const int N = dims_slice__a[0];

    *out = 0.0;

    for(int i=0; i<N; i++)
      *out += *(const double*)(data_slice__a +
                               i*strides_slice__a[0]) *
              *(const double*)(data_slice__b +
                               i*strides_slice__b[0]);
    *out *= *scale * atof(scale_string);

    return true;"""


def seed(**kw: Any) -> Any:
    """The inner product of the seed with its two scales."""
    return wrap(
        (("n",), ("n",)),
        (),
        SEED_BODY,
        module="innerlib",
        name="inner",
        extra_args=(("double", "scale", "1", "d"), ("const char*", "scale_string", "NULL", "s")),
        Ccode_validate=SEED_VALIDATE,
        **kw,
    )


def one(
    c_type: str, default: str, code: str, expression: str = "*v", dtype: Any = np.int64, **kw: Any
) -> Any:
    """f(v=default) gives `expression` as dtype."""
    body = {dtype: f"item__output() = {expression}; return true;"}
    return wrap((), (), body, extra_args=((c_type, "v", default, code),), **kw)


# ---- the seed's examples --------------------------------------------------------------------------


@pytest.mark.row("N75", "N69")
def test_seed_numbers() -> None:
    f = seed()
    x, y = ar(4), ar(2, 4)
    assert f(x, y, scale_string="1.0").tolist() == [14, 38]
    assert f(x, y, scale=2.0, scale_string="10.0").tolist() == [280, 760]
    assert f(x, y, scale_string="10.0", scale=2).tolist() == [280, 760]
    assert f(b=y, scale_string="1", a=x).tolist() == [14, 38]


@pytest.mark.row("N73")
def test_required_extra_is_enforced_by_validate() -> None:
    error = refuses(RuntimeError, lambda: seed()(ar(4), ar(2, 4)), "The 'scale_string' argument is required")
    assert str(error) == "The 'scale_string' argument is required"
    refuses(
        RuntimeError, lambda: seed()(ar(4), ar(2, 4), scale=3.0), "The 'scale_string' argument is required"
    )


@pytest.mark.row("N74", "B09")
def test_extras_are_keyword_only() -> None:
    f = seed()
    refuses(TypeError, lambda: f(ar(4), ar(4), 2.0), "innerlib.inner", "takes 2 positional", "3 were given")
    refuses(
        TypeError, lambda: f(ar(4), ar(4), None, 2.0), "innerlib.inner", "takes 2 positional", "4 were given"
    )
    refuses(TypeError, lambda: f(ar(4), ar(4), scale_string="1", scail=3), "innerlib.inner", "scail")


@pytest.mark.row("N69")
def test_extras_next_to_out() -> None:
    f, out = seed(), np.zeros(2)
    assert f(ar(4), ar(2, 4), out=out, scale_string="2") is out
    assert out.tolist() == [28, 76]


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
        ("int32_t", "i"),
        ("npy_int64", "l"),
        ("int64_t", "L"),
        ("size_t", "n"),
        ("ptrdiff_t", "n"),
        ("uint8_t", "B"),
        ("const int", "i"),
        ("signed", "i"),
        ("unsigned", "i"),
        ("long int", "l"),
    ],
)
def test_other_names_of_the_same_types_fit(c_type: str, code: str) -> None:
    assert int(one(c_type, "1", code)(v=42)) == 42


@pytest.mark.quick
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
    assert one("double", "0.1", "d", dtype=np.float64)() == 0.1
    assert one("double", "0", "d", dtype=np.float64)(v=1 / 3) == 1 / 3
    assert one("double", "0", "d", dtype=np.float64)(v=3) == 3
    assert one("double", "0", "d", dtype=np.float64)(v=np.float32(0.5)) == 0.5
    assert one("float", "0", "f", dtype=np.float64)(v=1 / 3) == float(np.float32(1 / 3))
    refuses(TypeError, lambda: one("double", "0", "d")(v="1"), "t.f", "'v'", "str")
    refuses(TypeError, lambda: one("double", "0", "d")(v=1j), "t.f", "'v'", "complex")


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
    refuses(TypeError, lambda: s(v=None), "t.f", "'v'", "None")
    refuses(TypeError, lambda: s(v=5), "t.f", "'v'", "int")
    refuses(TypeError, lambda: y(v="text"), "t.f", "'v'", "str")
    refuses(ValueError, lambda: s(v="nul\0inside"), "t.f", "'v'", "null character")
    refuses(ValueError, lambda: z(v="nul\0inside"), "t.f", "'v'", "null character")
    refuses(ValueError, lambda: y(v=b"nul\0inside"), "t.f", "'v'", "null byte")
    refuses(UnicodeEncodeError, lambda: s(v="\ud800"), "surrogates not allowed")


@pytest.mark.row("N69", "N72")
def test_object_code_passes_the_object_itself() -> None:
    f = one("PyObject*", "NULL", "O", "v == NULL ? -1 : PyObject_Length(v)", header="#include <Python.h>")
    assert f() == -1 and f(v=[1, 2, 3]) == 3 and f(v={}) == 0
    address = one("PyObject *", "NULL", "O", "(npy_intp)v")
    thing = object()
    assert int(address(v=thing)) == id(thing)


@pytest.mark.quick
@pytest.mark.row("N69")
@pytest.mark.parametrize(
    "code", ["s#", "z#", "y#", "O!", "O&", "(dd)", "dd", "es", "w*", "s*", "", "q", "%", "|", "$", "d:"]
)
def test_codes_of_other_shapes_are_refused_with_the_reason(code: str) -> None:
    refuses(ValueError, lambda: one("double", "1", code), "t.f", "extra argument 'v'", f"parse code {code!r}")


@pytest.mark.quick
@pytest.mark.row("N69")
@pytest.mark.parametrize(
    "c_type, code",
    [
        ("int", "d"),
        ("double", "i"),
        ("double", "f"),
        ("float", "d"),
        ("char", "i"),
        ("int", "b"),
        ("short", "i"),
        ("int", "l"),
        ("bool", "i"),
        ("double", "p"),
        ("double", "s"),
        ("int", "O"),
        ("const char*", "d"),
        ("const char*", "O"),
        ("PyObject*", "s"),
        ("int*", "s"),
        ("double*", "d"),
        ("double", "O"),
        ("long double", "d"),
    ],
)
def test_a_code_that_does_not_fit_the_c_type_is_refused(c_type: str, code: str) -> None:
    error = refuses(ValueError, lambda: one(c_type, "0", code, "0"), "t.f", "'v'", f"parse code {code!r}")
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


@pytest.mark.quick
@pytest.mark.row("N70")
@pytest.mark.parametrize("default", [0, 1.5, None, True, b"0"])
def test_default_that_is_no_text_is_a_type_error(default: Any) -> None:
    refuses(TypeError, lambda: one("int", default, "i"), "t.f", "'v'", f"not {type(default).__name__}")


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


@pytest.mark.quick
@pytest.mark.row("N70")
@pytest.mark.parametrize("default", ["", "  \n"])
def test_an_empty_default_is_refused(default: str) -> None:
    refuses(ValueError, lambda: one("int", default, "i"), "t.f", "'v'", "default", "empty")


@pytest.mark.row("N70")
def test_defaults_are_evaluated_anew_in_each_call() -> None:
    f = one("int", "++count", "i", header="static int count = 5;")
    assert [int(f()), int(f()), int(f())] == [6, 7, 8]


# ---- what snippets see ----------------------------------------------------------------------------


@pytest.mark.row("N71")
def test_extras_arrive_as_const_pointers_in_validate_and_slices() -> None:
    f = wrap(
        (("n",), ("n",)),
        (),
        INNER.replace(
            "return true;", "item__output() *= *scale; const double *p = scale; return *p == *scale;"
        ),
        extra_args=(("double", "scale", "1", "d"),),
        Ccode_validate="return *scale > 0;",
    )
    assert f(ar(4), ar(4)) == 14
    assert f(ar(4), ar(2, 4), scale=3).tolist() == [42, 114]
    refuses(RuntimeError, lambda: f(ar(4), ar(4), scale=-1.0), "t.f", "Ccode_validate")


@pytest.mark.row("N71", "N24i")
@pytest.mark.parametrize("where", ["body", "validate"])
def test_writing_to_an_extra_is_a_compile_error(where: str) -> None:
    write = "\n*scale = 1;\nreturn true;"
    kw = {"Ccode_validate": write} if where == "validate" else {}
    body = write if where == "body" else "return true;"
    error = refuses(
        cwrapjit.CompileError,
        lambda: wrap(((),), (), body, extra_args=(("double", "scale", "1", "d"),), **kw),
        "read-only",
    )
    assert error.lineno == 2 and error.text.strip() == "*scale = 1;"


@pytest.mark.row("N72")
def test_pointer_types_are_not_dereferenced_twice() -> None:
    f = wrap(
        ((),),
        (),
        "item__output() = item__a() * atof(s); return s[0] != 'x';",
        extra_args=(("const char*", "s", '"2.5"', "s"),),
    )
    assert f(2.0) == 5
    assert f(2.0, s="10") == 20
    refuses(RuntimeError, lambda: f(2.0, s="x"), "t.f")


@pytest.mark.row("B20")
@pytest.mark.parametrize("flag, n", list(itertools.product([True, False, None], [0, 1, -1, 2**31 - 1, None])))
def test_mixed_kinds_arrive_right(flag: bool | None, n: int | None) -> None:
    f = wrap(
        (),
        (2,),
        {np.int64: "item__output(0) = *flag; item__output(1) = *n; return true;"},
        extra_args=(("bool", "flag", "false", "p"), ("int", "n", "7", "i")),
    )
    given = {key: value for key, value in (("flag", flag), ("n", n)) if value is not None}
    assert f(**given).tolist() == [int(bool(flag)), 7 if n is None else n]


@pytest.mark.quick
@pytest.mark.row("B20")
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
        order = kinds[turn:] + kinds[:turn]
        extras = [(c_type, f"e{i}", "0", code) for i, (c_type, code, _, _) in enumerate(order)]
        test = " && ".join(f"({check.format(f'e{i}')})" for i, (_, _, _, check) in enumerate(order))
        f = wrap((), (), {np.int32: f"item__output() = {test}; return true;"}, extra_args=extras)
        assert f(**{f"e{i}": value for i, (_, _, value, _) in enumerate(order)}) == 1


@pytest.mark.row("N69")
def test_many_extras() -> None:
    count = 100
    extras = [("int", f"e{i}", str(i), "i") for i in range(count)]
    body = "item__output() = " + " + ".join(f"*e{i}" for i in range(count)) + "; return true;"
    f = wrap((), (), {np.int64: body}, extra_args=extras)
    assert f() == sum(range(count))
    assert f(e99=0, e0=1000) == sum(range(count)) - 99 + 1000
    assert f(**{f"e{i}": 1 for i in range(count)}) == count


@pytest.mark.quick
@pytest.mark.row("N69")
def test_errors_of_the_objects_themselves_surface() -> None:
    class Bad:
        def __bool__(self) -> bool:
            raise ZeroDivisionError("from __bool__")

        __index__ = __float__ = __bool__

    for c_type, code in (("int", "i"), ("double", "d"), ("bool", "p")):
        refuses(
            ZeroDivisionError,
            lambda c_type=c_type, code=code: one(c_type, "0", code)(v=Bad()),
            "from __bool__",
        )


# ---- definitions that make no sense ---------------------------------------------------------------


@pytest.mark.quick
@pytest.mark.row("N69")
@pytest.mark.parametrize(
    "extra_args, error, words",
    [
        ((("double", "v", "1"),), ValueError, ["extra_args[0] must have 4 items", "not 3"]),
        ((("double", "v", "1", "d", "e"),), ValueError, ["extra_args[0] must have 4 items", "not 5"]),
        (("double", "v", "1", "d"), TypeError, ["extra_args[0] must be a tuple", "not str"]),
        (5, TypeError, ["extra_args must be a tuple or list, not int"]),
        ("dddd", TypeError, ["extra_args must be a tuple or list, not str"]),
        ((("double", 5, "1", "d"),), TypeError, ["extra_args[0]: the name must be a str, not int"]),
        (((float, "v", "1", "d"),), TypeError, ["extra_args[0]: the C type must be a str, not type"]),
        ((("double", "v", "1", None),), TypeError, ["'v': the parse code must be a str, not NoneType"]),
    ],
)
def test_extra_args_of_a_wrong_form(extra_args: Any, error: type[Exception], words: list[str]) -> None:
    refuses(error, lambda: wrap((), (), {np.int64: "return true;"}, extra_args=extra_args), "t.f", *words)


@pytest.mark.quick
@pytest.mark.row("N69")
@pytest.mark.parametrize(
    "name", ["a", "out", "output", "lambda", "1x", "x y", "", "int", "dims_slice__a", "cwj_x", "cookie", "e"]
)
def test_extra_names_that_cannot_be(name: str) -> None:
    extras = (("double", "e", "1", "d"), ("double", name, "1", "d"))
    refuses(ValueError, lambda: wrap(((),), (), "return true;", extra_args=extras), "t.f", f" {name!r}")


@pytest.mark.quick
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


@pytest.mark.row("N69", "N07")
def test_an_inputs_name_does_not_clash_with_snippet_text() -> None:
    f = wrap(
        ((),),
        (),
        "double a = 2; item__output() = item__a() * a * *b; return true;",
        extra_args=[("double", "b", "3", "d")],
    )
    assert same(f(ar(3)), ar(3) * 6)
