"""Tests messages of functions word for word: the fault, its class, the whole text. (Other files check only
for a word that identifies the message.)"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers import INNER, ar, refuses, says, wrap, wrap_signature
from hypothesis import given as draw
from hypothesis import settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided

import cwrapjit

NOTHING = "return true;"
MAX_DIMS = 64 if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else 32


def define(**changes: Any) -> Any:
    """Defines a valid f(left(n), right(n)), with changes."""
    arguments: dict[str, Any] = {
        "name": "f",
        "args_input": ("left", "right"),
        "prototype_input": (("n",), ("n",)),
        "prototype_output": (),
        "Ccode_slice_eval": {float: NOTHING},
    }
    return cwrapjit.module("t").function(**(arguments | changes))


# ---- definitions ----------------------------------------------------------------------------------

# Maps a place to the arguments that put a value there.
MAKERS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "right": lambda shape: {"prototype_input": (("n",), shape)},
    "extra": lambda extra: {"extra_args": (extra,)},
    "key": lambda key: {"Ccode_slice_eval": {key: NOTHING}},
}
# The keys are such a place and the beginning of the message.
DEFINITIONS: dict[tuple[str, str], list[tuple[Any, type[Exception], str]]] = {
    ("right", "prototype_input for 'right'"): [
        ((-1,), ValueError, ": dim 0 is negative: -1"),
        ((3, -(2**70)), ValueError, ": dim 1 is out of range: -1180591620717411303424"),
        ("n", TypeError, " must be a tuple of dims, such as ('n', 3), not str; one dim is written ('n',)"),
        (3, TypeError, " must be a tuple of dims, such as ('n', 3), not int"),
        (("m", ()), TypeError, ": dim 1 must be an int or a name, not tuple"),
        ((1.5,), TypeError, ": dim 0 must be an int or a name, not float"),
        ((True,), TypeError, ": dim 0 must be an int or a name, not bool"),
        (("",), ValueError, ": dim 0 is not an identifier: ''"),
        (("n\0",), ValueError, ": dim 0 is not an identifier: 'n\\x00'"),
        (("n",) * 65, ValueError, f" has 65 dims; NumPy has at most {MAX_DIMS}"),
    ],
    ("prototype_input", "prototype_input"): [
        ((("n",),), ValueError, " has 1 shapes, args_input has 2 names"),
        ((), ValueError, " has 0 shapes, args_input has 2 names"),
        (3, TypeError, " must be a tuple or list, not int"),
        ({("n",): 1, ("m",): 2}, TypeError, " must be a tuple or list, not dict"),
    ],
    ("prototype_output", "prototype_output"): [
        ((-1,), ValueError, " for 'output': dim 0 is negative: -1"),
        (((), (-1,)), ValueError, " for 'output1': dim 0 is negative: -1"),
        ("n", TypeError, " must be a tuple or list, not str"),
        (3, TypeError, " must be a tuple or list, not int"),
        (
            None,
            TypeError,
            " is required: () for a scalar, ('n',) for a vector, a tuple of such shapes for several "
            "outputs; got None",
        ),
        (
            ("n", ()),
            TypeError,
            " must be one shape, such as ('n', 3), or a tuple of shapes, such as (('n',), ()); item 1 is "
            "of the other kind than item 0: tuple and str",
        ),
        (
            ((), "n"),
            TypeError,
            " must be one shape, such as ('n', 3), or a tuple of shapes, such as (('n',), ()); item 1 is "
            "of the other kind than item 0: str and tuple",
        ),
        (((), ("n", ())), TypeError, " for 'output1': dim 1 must be an int or a name, not tuple"),
        ((True,), TypeError, " for 'output': dim 0 must be an int or a name, not bool"),
    ],
    ("args_input", ""): [
        (("left",), ValueError, "prototype_input has 2 shapes, args_input has 1 names"),
        (("left", "right", "third"), ValueError, "prototype_input has 2 shapes, args_input has 3 names"),
        (("left", "out"), ValueError, "argument 'out': this name is reserved"),
        (("left", "output"), ValueError, "argument 'output': this name is reserved"),
    ],
    ("args_input", "args_input"): [
        (("left", 3), TypeError, "[1] must be a str, not int"),
        (("left", "left"), ValueError, " has 'left' twice"),
        (("left", "1st"), ValueError, "[1] is not an identifier: '1st'"),
        (("left", "class"), ValueError, "[1] is a keyword of Python: 'class'"),
        (("left", "x\0y"), ValueError, "[1] is not an identifier: 'x\\x00y'"),
    ],
    ("name", "name"): [
        ("", ValueError, " is not an identifier: ''"),
        ("1st", ValueError, " is not an identifier: '1st'"),
        ("def", ValueError, " is a keyword of Python: 'def'"),
        (3, TypeError, " must be a str, not int"),
        ("f\0", ValueError, " is not an identifier: 'f\\x00'"),
    ],
    ("name", ""): [
        ("write", ValueError, "the name 'write' belongs to the module object itself"),
    ],
    ("Ccode_slice_eval", "Ccode_slice_eval"): [
        (None, TypeError, ' must be a dict of types and C texts, such as {np.float64: "..."}, not NoneType'),
        (NOTHING, TypeError, ' must be a dict of types and C texts, such as {np.float64: "..."}, not str'),
        ({}, ValueError, " is empty: no type set at all"),
        ({float: None}, TypeError, ": the body for float64 must be a str, not NoneType"),
        ({float: b"return true;"}, TypeError, ": the body for float64 must be a str, not bytes"),
        (
            {float: NOTHING, (float,) * 3: NOTHING},
            ValueError,
            " has the same types twice: (<class 'float'>, <class 'float'>, <class 'float'>) is float64 again",
        ),
    ],
    ("key", "Ccode_slice_eval: "): [
        (
            (float,),
            ValueError,
            "the key (<class 'float'>,) has 1 types; wanted 3, one for each input and output",
        ),
        ((), ValueError, "the key () has 0 types; wanted 3, one for each input and output"),
        (
            (float,) * 4,
            ValueError,
            "the key (<class 'float'>, <class 'float'>, <class 'float'>, <class 'float'>) has 4 types; "
            "wanted 3, one for each input and output",
        ),
        ("nonsense", TypeError, "'nonsense' is not a dtype"),
        (3, TypeError, "3 is not a dtype"),
        (None, TypeError, "None is not a type"),
        (">f8", TypeError, "'>f8' has the other byte order than this machine; C code needs the native one"),
    ],
    ("docstring", "docstring"): [
        (3, TypeError, " must be a str, not int"),
    ],
    ("Ccode_validate", "Ccode_validate"): [
        (b"text", TypeError, " must be a str, not bytes"),
    ],
    ("Ccode_cookie_struct", "Ccode_cookie_struct"): [
        (["text"], TypeError, " must be a str, not list"),
    ],
    ("Ccode_cookie_cleanup", "Ccode_cookie_cleanup"): [
        (3, TypeError, " must be a str, not int"),
    ],
    ("args_inout", "args_inout"): [
        (("c",), ValueError, "[0] is 'c', which is not in args_input"),
        ("a", TypeError, " must be a tuple or list, not str"),
        (("left", "left"), ValueError, " has 'left' twice"),
        ((3,), TypeError, "[0] must be a str, not int"),
    ],
    ("extra", "extra_args[0]"): [
        (("double", "v", "1"), ValueError, " must have 4 items (c_type, name, default, parse code), not 3"),
        (
            ("double", "v", "1", "d", "e"),
            ValueError,
            " must have 4 items (c_type, name, default, parse code), not 5",
        ),
        (("double", 5, "1", "d"), TypeError, ": the name must be a str, not int"),
        ((float, "v", "1", "d"), TypeError, ": the C type must be a str, not type"),
        (("double", "lambda", "1", "d"), ValueError, ": the name is a keyword of Python: 'lambda'"),
    ],
    ("extra_args", "extra_args"): [
        (
            ("double", "v", "1", "d"),
            TypeError,
            "[0] must be a tuple (c_type, name, default, parse code), not str",
        ),
        (5, TypeError, " must be a tuple or list, not int"),
        ("dddd", TypeError, " must be a tuple or list, not str"),
    ],
    ("extra", "extra argument 'v': "): [
        (("double", "v", "1", None), TypeError, "the parse code must be a str, not NoneType"),
        (("int", "v", 0, "i"), TypeError, 'the default is C text and must be a str, such as "0", not int'),
        (("int", "v", " ", "i"), ValueError, "the default is empty; wanted a C expression"),
        (
            ("double", "v", "1", "s#"),
            ValueError,
            "the parse code 's#' stands for several C values or none, and an extra argument is one; "
            "wanted one of bhilLnkKIHBfdpcszyO",
        ),
        (
            ("int", "v", "1", "d"),
            ValueError,
            "the parse code 'd' stores a double, but the C type 'int' is a signed integer of 4 bytes",
        ),
        (
            ("int[3]", "v", "1", "i"),
            ValueError,
            "'int[3]' is not a plain type name such as double or const char*",
        ),
    ],
    ("extra_args", ""): [
        ((("double", "left", "1", "d"),), ValueError, "argument 'left' is named twice"),
        ((("double", "out", "1", "d"),), ValueError, "extra argument 'out': this name is reserved"),
        (
            (("double", "cwj_x", "1", "d"),),
            ValueError,
            "extra argument 'cwj_x': names that begin with cwj_ are reserved",
        ),
        ((("double", "e", "1", "d"),) * 2, ValueError, "argument 'e' is named twice"),
    ],
}


@pytest.mark.quick
@pytest.mark.row("N10i", "N26", "N38", "N39", "N69", "B13", "K09", "N22")
@pytest.mark.parametrize("of, begins", DEFINITIONS)
def test_what_is_wrong_in_a_definition(of: str, begins: str) -> None:
    assert define().__name__ == "f"
    for value, error, text in DEFINITIONS[of, begins]:
        changes = MAKERS[of](value) if of in MAKERS else {of: value}
        who = "t.function" if of == "name" else "t.f"
        says(error, lambda changes=changes: define(**changes), f"{who}(): {begins}{text}")


SIGNATURES: list[tuple[str, int, str]] = [
    ("a(n), b(n)", 10, "expected ',' or '->'"),
    ("a(n) b(n) -> out()", 5, "expected ',' or '->'"),
    ("a(n), b(n -> out()", 10, "expected ',' or ')'"),
    ("a(n), -> out()", 6, "expected an argument"),
    ("a(n,) -> out()", 4, "expected a dim (a name, or a size that is not negative)"),
    ("a(n, 3x) -> out()", 6, "expected ',' or ')'"),
    ("a(-3) -> out()", 2, "expected a dim (a name, or a size that is not negative)"),
    ("a(n) -> out() junk", 14, "expected the end"),
    ("1a(n) -> out()", 0, "expected an argument"),
    ("größe(n) => out()", 9, "expected ',' or '->'"),
    ("", 0, "expected an argument"),
    ("a(n) ->", 7, "expected an output"),
    ("a(99999999999999999999999) -> out()", 2, "this size is too large"),
    ("a(n), a(n) -> out()", 6, "this name is taken"),
    ("a(n) -> a(n)", 8, "this name is taken"),
    ("a[n] -> out()", 1, "expected '(' and the dims"),
    ("a((n)) -> out()", 2, "expected a dim (a name, or a size that is not negative)"),
    ("a() ->\0 ()", 6, "expected an output"),
    ("a() -> (z(3)", 12, "expected ','"),
    ("a() -> (z(3) y())", 13, "expected ','"),
    ("a() -> (z(3), y()", 17, "expected ',' or ')'"),
]


@pytest.mark.quick
@pytest.mark.row("K07")
def test_faults_of_signatures_have_their_place() -> None:
    """The position counts characters, not bytes."""
    for text, place, word in SIGNATURES:
        shown = f"t.f(): signature: {word} at position {place}\n    {text}\n    {' ' * place}^"
        says(ValueError, lambda text=text: wrap_signature(text, NOTHING), shown)


READ = [
    ("a(n), b(n) -> output()", "a(n), b(n) -> output()"),
    ("inout a(n, 3), b(n) -> z(3)", "inout a(n, 3), b(n) -> z(3)"),
    ("  a(n),\n\tb ( 0 ,m)->o( )  ", "a(n), b(0, m) -> o()"),
    ("a() -> ()", "a() -> output()"),
    ("a(n) -> (n)", "a(n) -> output(n)"),
    ("a() -> (), (3)", "a() -> output0(), output1(3)"),
    ("a() -> (z(3),)", "a() -> (z(3),)"),
    ("a() -> (z(3), y())", "a() -> z(3), y()"),
    ("a() -> (z(3), y(),)", "a() -> z(3), y()"),
    ("-> eye(3, 3)", "-> eye(3, 3)"),
    ("inout(n) -> o()", "inout(n) -> o()"),
    ("inout inout(n) -> o()", "inout inout(n) -> o()"),
    ("inout shared a(n), shared(n) ->", "shared a(n), shared(n) ->"),
    ("inout a(n) ->", "inout a(n) ->"),
    ("größe(länge) -> o()", "größe(länge) -> o()"),
]


@pytest.mark.quick
@pytest.mark.row("K07")
@pytest.mark.parametrize(("text", "wanted"), READ)
def test_signatures_are_read_and_written(text: str, wanted: str) -> None:
    assert wrap_signature(text, NOTHING).signature == wanted
    assert wrap_signature(wanted, NOTHING).signature == wanted


PIECES = "a b ab inout shared ( ) ( ) , -> n 3 0 12 ä".split()


@pytest.mark.row("K07")
@settings(max_examples=60, deadline=None)
@draw(st.lists(st.sampled_from([*PIECES, " "]), max_size=14).map("".join))
def test_any_text_is_a_signature_or_has_a_fault_with_its_place(text: str) -> None:
    try:
        again = wrap_signature(text, NOTHING).signature
    except ValueError as error:
        assert str(error).startswith("t.f(): signature: ")
        assert f"\n    {text}\n" in str(error) or "that name is taken" in str(error)
    else:
        assert wrap_signature(again, NOTHING).signature == again


@pytest.mark.quick
@pytest.mark.row("N10i", "K07")
def test_what_is_wrong_in_several_options_together() -> None:
    names = "left", "output1"
    says(
        ValueError,
        lambda: define(args_input=names, prototype_output=((), ())),
        "t.f(): argument 'output1': this name is reserved",
    )
    for signature, taken in (("-> (n), output0(n)", "output0"), ("-> output1(3), ()", "output1")):
        text = f"t.f(): signature: an output without a name is '{taken}', and that name is taken"
        says(ValueError, lambda signature=signature: wrap_signature(signature, NOTHING), text)
    says(TypeError, lambda: wrap_signature(3, NOTHING), "t.f(): signature must be a str, not int")  # type: ignore[arg-type]
    refuses(UnicodeEncodeError, lambda: wrap_signature("a\ud800() -> ()", NOTHING), "surrogates not allowed")
    for given in (
        {"args_input": ("a",)},
        {"prototype_input": ((),)},
        {"prototype_output": ()},
        {"args_inout": ("a",)},
    ):
        text = f"t.f(): signature takes the place of {next(iter(given))}: give one"
        says(TypeError, lambda given=given: wrap_signature("a() -> ()", NOTHING, **given), text)
    refuses(TypeError, lambda: define(Ccode_slice_evil={}), "Ccode_slice_evil")
    refuses(TypeError, lambda: cwrapjit.module("t", "", headers="x"), "headers")


@pytest.mark.quick
@pytest.mark.row("N10i")
def test_refusals_are_value_or_type_errors_for_anything_at_all() -> None:
    """Whatever object an argument gets, the only result is an exception."""
    things: list[Any] = [
        *(None, 3, -1, 1.5, "x", b"x", (), [], {}, ("x",), ((),), (("x",),), object(), np.zeros(2)),
        *({1: 2}, {float: 3}, float, "\ud800", "\0"),
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


# ---- calls ----------------------------------------------------------------------------------------

x4 = ar(4)
odd = np.zeros(33, np.uint8)[1:].view(np.float64)
FIT, WANT = "no type set fits:", "wanted (float64, float64 -> float64)"
OUT, RIGHT = "output 'output'", "argument 'right' with shape"
WANTED = "wanted a NumPy array, in out or after the 2 inputs"
CALLS: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
    (lambda f: f.inner(), TypeError, "missing required argument 'left' (position 1)"),
    (lambda f: f.inner(x4), TypeError, "missing required argument 'right' (position 2)"),
    (
        lambda f: f.inner(x4, x4, None, x4),
        TypeError,
        "takes 3 positional arguments but 4 were given",
    ),
    (
        lambda f: f.inner(x4, x4, 4),
        TypeError,
        f"{OUT}: {WANTED}, got int",
    ),
    (lambda f: f.inner(x4, x4, ar(), out=ar()), TypeError, "got multiple values for argument 'out'"),
    (
        lambda f: f.inner(x4, x4, out=(ar(), ar())),
        ValueError,
        "out: wanted 1 array, one for each output, got 2",
    ),
    (lambda f: f.inner(x4, x4, middle=1), TypeError, "got an unexpected keyword argument 'middle'"),
    (lambda f: f.inner(x4, x4, left=1), TypeError, "got multiple values for argument 'left'"),
    (
        lambda f: f.inner(x4, ar(5)),
        ValueError,
        f"{RIGHT} (5,): dimension 'n' (axis -1) must be 4, as in 'left', got 5",
    ),
    (
        lambda f: f.inner(ar(2, 4), ar(3, 4)),
        ValueError,
        f"{RIGHT} (3, 4): axis -2 must be 2 or 1 to broadcast with 'left', got 3",
    ),
    (
        lambda f: f.inner(x4, x4.astype(">f8")),
        TypeError,
        "argument 'right' has dtype >f8 in the other byte order; wanted this machine's, for instance "
        "x.astype(x.dtype.newbyteorder('='))",
    ),
    (lambda f: f.inner(x4, None), TypeError, f"{FIT} 'left' is float64, 'right' is object; {WANT}"),
    (lambda f: f.inner(x4, "text"), TypeError, f"{FIT} 'left' is float64, 'right' is <U4; {WANT}"),
    (lambda f: f.inner(x4, 2j), TypeError, f"{FIT} 'left' is float64, 'right' is a Python complex; {WANT}"),
    (
        lambda f: f.inner([1], 2.0),
        TypeError,
        f"{FIT} 'left' is int64, 'right' is a Python float; {WANT} (cast=\"safe\" converts it)",
    ),
    (
        lambda f: f.inner(2**1024, 2.0),
        OverflowError,
        f"argument 'left': {2**1024} is out of range of float64; {WANT}",
    ),
    (
        lambda f: f.inner(x4, np.ma.array(x4, mask=[0, 0, 1, 0])),
        TypeError,
        "argument 'right' has masked elements, which would be lost; wanted an array without them, for "
        "instance right.filled(...); .ufunc, where there is one, keeps masks",
    ),
    (
        lambda f: f.inner(odd, x4),
        ValueError,
        "argument 'left' is not aligned in memory for dtype float64; wanted an aligned array, for "
        "instance x.copy()",
    ),
    (lambda f: f.inner(x4, x4, out=3.0), TypeError, f"{OUT}: {WANTED}, got float"),
    (
        lambda f: f.inner(x4, x4, out=np.zeros(()).astype(int)),
        TypeError,
        f"{FIT} 'left' is float64, 'right' is float64, 'output' is int64; {WANT}",
    ),
    (
        lambda f: f.inner(ar(2, 4), x4, out=np.zeros(3)),
        ValueError,
        f"{OUT} with shape (3,): axis -1 must be 2 to hold the result, got 3",
    ),
    (
        lambda f: f.inner(ar(3, 4), x4, out=np.broadcast_to(0.0, 3)),
        ValueError,
        f"{OUT}: wanted a writable array in out, got a read-only one",
    ),
    (
        lambda f: f.inner(x4, x4[:0]),
        ValueError,
        f"{RIGHT} (0,): dimension 'n' (axis -1) must be 4, as in 'left', got 0",
    ),
    (lambda f: f.both(x4, x4, out=(None,)), ValueError, "out: wanted 2 arrays, one for each output, got 1"),
    (
        lambda f: f.both(x4, x4, out=np.zeros(())),
        TypeError,
        "out: wanted a tuple or list of 2 arrays, one for each output, got numpy.ndarray",
    ),
    (
        lambda f: f.fixed(ar(4), ar(2, 2)),
        ValueError,
        "argument 'left' with shape (4,): axis -1 must have length 3, got 4",
    ),
    (
        lambda f: f.fixed(ar(3), ar(2, 3)),
        ValueError,
        f"{RIGHT} (2, 3): dimension 'm' (axis -1) must be 2, as in another axis of 'right', got 3",
    ),
    (
        lambda f: f.two(np.int16(1)),
        TypeError,
        f"{FIT} 'left' is int16; wanted (float64 -> float64), (float32 -> float32) "
        '(cast="safe" converts it)',
    ),
    (lambda f: f.safe(1j), TypeError, f"{FIT} 'left' is a Python complex; wanted (float64 -> float64)"),
    (
        lambda f: f.small(128),
        OverflowError,
        "argument 'left': 128 is out of range of int8; wanted (int8 -> int8)",
    ),
    (
        lambda f: f.inner(ar(3, 4), x4, out=as_strided(np.zeros(1), (3,), (0,))),
        ValueError,
        f"{OUT} may hold several elements in the same memory (its strides are zero or overlap); wanted "
        "an array with memory for each element",
    ),
    (
        lambda f: (lambda x: f.inner(x, x4, out=x[0, :2]))(ar(2, 4)),
        ValueError,
        f"{OUT} shares memory with argument 'left'; wanted separate arrays "
        '(cast="safe" copies the argument)',
    ),
    (
        lambda f: f.both(x4, x4, out=[1.0, 2.0]),
        TypeError,
        f"output 'output0': {WANTED}, got float",
    ),
]


@pytest.mark.row("N13", "N18", "N19", "N22", "N23", "N34", "N35", "N41", "B03", "B05", "B10")
def test_what_is_wrong_in_a_call() -> None:
    inner = INNER.replace("__a", "__left").replace("__b", "__right")
    sets: dict[Any, str] = {(float, float): NOTHING, np.float32: NOTHING}
    names = "left", "right"
    f = types.SimpleNamespace(
        inner=wrap((("n",), ("n",)), (), inner, names=names),
        both=wrap((("n",), ("n",)), ((), ()), NOTHING, names=names),
        fixed=wrap(((3,), ("m", "m")), (), NOTHING, names=names),
        two=wrap(((),), (), sets, names=names[:1]),
        safe=wrap(((),), (), NOTHING, names=names[:1], cast="safe"),
        small=wrap(((),), (), {np.int8: NOTHING}, names=names[:1]),
    )
    for call, error, text in CALLS:
        says(error, lambda call=call: call(f), f"t.f(): {text}")


@pytest.mark.quick
@pytest.mark.row("S05")
def test_wrong_options_name_the_nearest_right_one() -> None:
    m, lib = cwrapjit.module("m"), cwrapjit.library("lib", source="typedef struct { int v; } s; int x;")
    good: dict[str, Any] = {"signature": "x() -> y()", "Ccode_slice_eval": {float: NOTHING}}
    for who, call, wrong, right in (
        ("function()", lambda **o: cwrapjit.function("f", **good, **o), "thread", "threads"),
        ("function()", lambda **o: m.function("f", **good, **o), "Ccode_validat", "Ccode_validate"),
        ("module()", lambda **o: cwrapjit.module("m", **o), "sourced", "sources"),
        ("vectorize()", lambda **o: cwrapjit.vectorize("int f(int x);", **o), "thread", "threads"),
        ("library()", lambda **o: cwrapjit.library("lib", **o), "thread", "threads"),
        ("lib.function()", lambda **o: lib.function("int f(void)", **o), "outs", "out"),
        ("lib.declare()", lambda **o: lib.declare("int f(void);", **o), "strip_prefx", "strip_prefix"),
        ("lib.refine()", lambda **o: lib.refine("*", **o), "broadcasts", "broadcast"),
        ("lib.fortran()", lambda **o: lib.fortran("subroutine f()\nend", **o), "source", "sources"),
        ("struct()", lambda **o: lib.struct("s", **o), "fre", "free"),
        ("handle()", lambda **o: lib.handle("s *", **o), "method", "methods"),
        ("variable()", lambda **o: lib.variable("int x", **o), "shap", "shape"),
        ("link()", lambda **o: cwrapjit.link([], [], **o), "optimise", "optimize"),
    ):
        text = f"{who} got an unexpected keyword argument {wrong!r}; did you mean {right!r}?"
        says(TypeError, lambda call=call, wrong=wrong: call(**{wrong: 1}), text)
    text = "module() got an unexpected keyword argument 'x'; the options are: name, docstring, header,"
    refuses(TypeError, lambda: cwrapjit.module("m", x=1), text)
    refuses(TypeError, lambda: cwrapjit.module(3, threads=1), "name must be a str")
    refuses(TypeError, lambda: cwrapjit.module("m", name="n"), "argument for module() given by name")


@pytest.mark.quick
def test_a_name_is_said_once() -> None:
    f = cwrapjit.module("climb").function("climb", signature="x() -> y()", Ccode_slice_eval={float: NOTHING})
    says(TypeError, lambda: f(), "climb(): missing required argument 'x' (position 1)")
    assert repr(f).startswith("<cwrapjit.Function climb(x") and "climb.climb" not in f.source
    source = "typedef struct { int a; } climb; int walk(climb c) { return c.a; }"
    lib = cwrapjit.library("climb", source=source)
    says(TypeError, lambda: lib.walk(), "climb.walk(): missing required argument 'c' (position 1)")
    lib = cwrapjit.library("climb", source="void climb(int *x, int y) { *x = y; }")
    says(TypeError, lambda: lib.climb(), "climb(): missing required argument 'x' (position 1)")
    text = "double climb(const double x[m]) { return x[0]; }"
    error = refuses(cwrapjit.CompileError, lambda: cwrapjit.vectorize(text), "climb(): m in a dim")
    assert "climb.climb" not in str(error)
