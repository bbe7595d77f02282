"""Mistakes in a definition: refused at once, with reason and place, and without a half-made function."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import INNER, ar, refuses, wrap

import cwrapjit

NOTHING = "return true;"


def define(m=None, **changes):
    """A sound definition of f(left(n), right(n)) with changes."""
    arguments = {
        "name": "f",
        "docstring": "doc",
        "args_input": ("left", "right"),
        "prototype_input": (("n",), ("n",)),
        "prototype_output": (),
        "Ccode_slice_eval": {np.float64: NOTHING},
        **changes,
    }
    return (m or cwrapjit.module("t", "")).function(**arguments)


def test_the_unchanged_definition_is_sound():
    assert define().__name__ == "f"


@pytest.mark.row("N10i")
@pytest.mark.parametrize(
    ("prototype", "error", "words"),
    [
        ((("n",), (-1,)), ValueError, ("right", "negative: -1")),
        ((("n",), (3, -(2**70))), ValueError, ("right",)),
        ((("n",), (2**70,)), ValueError, ("right",)),
        ((("n",), "n"), TypeError, ("right", "str")),
        ((("n",), 3), TypeError, ("right", "int")),
        ((("n",), None), TypeError, ("right", "None")),
        ((("n",), ("m", ())), TypeError, ("right", "tuple")),
        ((("n",), (1.5,)), TypeError, ("right", "float")),
        ((("n",), (None,)), TypeError, ("right", "None")),
        ((("n",), (b"n",)), TypeError, ("right", "bytes")),
        ((("n",), (True,)), TypeError, ("right", "bool")),
        ((("n",), ("",)), ValueError, ("right", "identifier: ''")),
        ((("n",), ("a b",)), ValueError, ("right", "'a b'")),
        ((("n",), ("3",)), ValueError, ("right", "'3'")),
        ((("n",), ("n\0",)), ValueError, ("right", r"'n\x00'")),
        ((("n",),), ValueError, ("prototype_input has 1 shapes", "args_input has 2 names")),
        ((("n",),) * 3, ValueError, ("prototype_input has 3 shapes", "args_input has 2 names")),
        ((), ValueError, ("prototype_input has 0 shapes", "args_input has 2 names")),
        ("ab", TypeError, ("prototype_input", "str")),
        (3, TypeError, ("prototype_input", "int")),
        (None, TypeError, ("prototype_input", "None")),
        ({("n",): 1, ("m",): 2}, TypeError, ("prototype_input", "dict")),
    ],
)
def test_faulty_input_prototypes(prototype, error, words):
    refuses(error, lambda: define(prototype_input=prototype), *words)


@pytest.mark.quick
@pytest.mark.row("N10i", "N26")
@pytest.mark.parametrize(
    ("prototype", "error", "words"),
    [
        ((-1,), ValueError, ("'output'", "negative: -1")),
        (((), (-1,)), ValueError, ("'output1'", "negative: -1")),
        ("n", TypeError, ("prototype_output", "str")),
        (3, TypeError, ("prototype_output", "int")),
        (None, TypeError, ("prototype_output",)),
        (("n", ()), TypeError, ("prototype_output", "tuple")),
        (((), "n"), TypeError, ("prototype_output", "str")),
        (((), ("n", ())), TypeError, ("output1", "tuple")),
        ((1.5,), TypeError, ("output", "float")),
        ((True,), TypeError, ("output", "bool")),
    ],
)
def test_faulty_output_prototypes(prototype, error, words):
    refuses(error, lambda: define(prototype_output=prototype), *words)


@pytest.mark.row("N10i")
@pytest.mark.parametrize(
    ("names", "error", "words"),
    [
        (("left",), ValueError, ("prototype_input has 2 shapes", "args_input has 1 names")),
        (("left", "right", "third"), ValueError, ("prototype_input has 2 shapes", "args_input has 3 names")),
        ("ab", TypeError, ("args_input", "str")),
        (("left", 3), TypeError, ("args_input", "int")),
        (("left", b"right"), TypeError, ("args_input", "bytes")),
        (("left", "left"), ValueError, ("args_input", "left")),
        (("left", "a b"), ValueError, ("'a b'",)),
        (("left", ""), ValueError, ("identifier: ''",)),
        (("left", "1st"), ValueError, ("'1st'",)),
        (("left", "out"), ValueError, ("'out'",)),
        (("left", "output"), ValueError, ("'output'",)),
        (("left", "class"), ValueError, ("'class'",)),
        (("left", "x\0y"), ValueError, (r"'x\x00y'",)),
        (None, TypeError, ("args_input", "None")),
    ],
)
def test_faulty_argument_names(names, error, words):
    refuses(error, lambda: define(args_input=names), *words)


@pytest.mark.row("N10i", "B13")
@pytest.mark.parametrize("name", ["output0", "output1"])
def test_an_argument_named_as_one_of_several_outputs(name):
    refuses(ValueError, lambda: define(args_input=("left", name), prototype_output=((), ())), repr(name))


@pytest.mark.quick
@pytest.mark.row("N10i")
def test_lists_will_do_for_tuples():
    f = cwrapjit.module("t", "").function(
        "f",
        "",
        args_input=["a", "b"],
        prototype_input=[["n"], ("n",)],
        prototype_output=[],
        Ccode_slice_eval={np.float64: INNER},
    )
    assert f(ar(3), ar(3)) == 5
    g = define(prototype_output=[["n"], []])
    assert [o.shape for o in g(ar(3), ar(3))] == [(3,), ()]


@pytest.mark.row("N10i", "B13")
def test_dims_may_be_numpy_integers():
    f = wrap(
        ((np.int64(3), np.uint8(2)),),
        (np.int32(2),),
        "item__output(0) = item__output(1) = item__a(2, 1); return true;",
    )
    assert f(ar(3, 2)).tolist() == [5, 5]


@pytest.mark.quick
@pytest.mark.row("N10i", "N39")
@pytest.mark.parametrize("key", [(float,), (float, float), (float,) * 4, ()])
def test_a_type_tuple_of_a_wrong_length(key):
    words = "Ccode_slice_eval", f"has {len(key)} types; wanted 3"
    refuses(ValueError, lambda: define(Ccode_slice_eval={key: NOTHING}), *words)


@pytest.mark.row("N10i")
@pytest.mark.parametrize(
    ("name", "error", "word"),
    [
        ("", ValueError, "not an identifier: ''"),
        ("a b", ValueError, "'a b'"),
        ("1st", ValueError, "'1st'"),
        ("def", ValueError, "keyword of Python: 'def'"),
        (None, TypeError, "must be a str, not NoneType"),
        (3, TypeError, "must be a str, not int"),
        ("f\0", ValueError, r"'f\x00'"),
    ],
)
def test_faulty_function_names(name, error, word):
    refuses(error, lambda: define(name=name), word)


@pytest.mark.row("N10i")
@pytest.mark.parametrize("name", ["function", "write", "register"])
def test_a_function_cannot_take_the_name_of_a_method(name):
    m = cwrapjit.module("t", "")
    refuses(ValueError, lambda: define(m, name=name), repr(name))
    assert callable(getattr(m, name))
    assert define(m).__name__ == "f"


@pytest.mark.row("N10i")
@pytest.mark.parametrize(
    "option", ["docstring", "Ccode_validate", "Ccode_cookie_struct", "Ccode_cookie_cleanup"]
)
@pytest.mark.parametrize("value", [3, b"text", ["text"]])
def test_texts_must_be_text(option, value):
    refuses(TypeError, lambda: define(**{option: value}), option, type(value).__name__)


@pytest.mark.row("N10i")
def test_unknown_options_are_refused():
    refuses(TypeError, lambda: define(Ccode_slice_evil={}), "Ccode_slice_evil")
    refuses(TypeError, lambda: cwrapjit.module("t", "", headers="x"), "headers")


@pytest.mark.quick
@pytest.mark.row("N10i")
def test_a_refused_definition_leaves_the_module_alone():
    m = cwrapjit.module("t", "")
    first = define(m, Ccode_slice_eval={np.float64: "item__output() = 1; return true;"})
    for error, word, changes in (
        (TypeError, "prototype_input", {"prototype_input": (("n",), "n")}),
        (ValueError, "empty", {"Ccode_slice_eval": {}}),
        (cwrapjit.CompileError, "'this' undeclared", {"Ccode_slice_eval": {np.float64: "this is not C"}}),
        (ValueError, "'left' twice", {"args_input": ("left", "left")}),
    ):
        refuses(error, lambda changes=changes: define(m, **changes), word)
    assert m.f is first
    assert m.f(ar(3), ar(3)) == 1


@pytest.mark.quick
@pytest.mark.row("N10i")
def test_refusals_are_value_or_type_errors_for_anything_at_all():
    """Whatever object is given for whatever argument, an exception is all that happens."""
    things = [
        None,
        3,
        -1,
        1.5,
        "x",
        b"x",
        (),
        [],
        {},
        ("x",),
        ((),),
        (("x",),),
        object(),
        np.zeros(2),
        {1: 2},
        {float: 3},
        float,
        "\ud800",
        "\0",
    ]
    options = (
        "name docstring args_input prototype_input prototype_output Ccode_slice_eval Ccode_validate "
        "Ccode_cookie_struct Ccode_cookie_cleanup extra_args args_inout optimize fastmath debug "
        "threads unordered inplace gil cast cookie"
    ).split()
    refused = 0
    for option in options:
        for thing in things:
            try:
                define(**{option: thing})
            except (TypeError, ValueError, NotImplementedError, cwrapjit.CompileError):
                refused += 1
    assert refused > len(options) * len(things) // 2


@pytest.mark.row("N10i")
def test_more_dims_than_numpy_has_are_refused():
    refuses(ValueError, lambda: define(prototype_input=(("n",), ("n",) * 65)), "right", "65 dims")


@pytest.mark.row("N10i")
def test_a_size_that_cannot_exist_is_refused_or_raises_when_called():
    big = 2**62
    f = define(prototype_output=(big, big))
    refuses(ValueError, lambda: f(ar(3), ar(3)), "t.f", "output", "too big")
    g = define(prototype_output=(2**40,))
    refuses(ValueError, lambda: g(ar(2**20, 3), ar(3)), "t.f", "output", "too big")
