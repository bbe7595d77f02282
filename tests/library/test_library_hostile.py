"""No input from Python ends the process, however odd: each of these raises, or does what it says."""

from __future__ import annotations

import copy
import gc
import itertools
import pickle
from typing import Any

import numpy as np
import pytest
from helpers import ar, refuses
from library_tools import from_c

import cwrapjit

TEXT = """
typedef struct point { double x, y; } point;
double f(int64_t n, const double *x, double y, const char *s) { return n ? x[0] + y : (s != NULL); }
int64_t g(int64_t x) { return x; }
"""
F_DECLARATION = "double f(int64_t n, const double x[n], double y, const char *s)"


class Odd:
    """Answers every question with an exception."""

    def __getattr__(self, name: str) -> Any:
        raise ZeroDivisionError(name)

    def __index__(self) -> int:
        raise ZeroDivisionError

    def __float__(self) -> float:
        raise ZeroDivisionError


class Renamed(str):
    """A keyword that is not str itself."""


ODDITIES: list[Any] = [
    *(
        None,
        True,
        0,
        -1,
        2**63,
        -(2**200),
        1.5,
        float("nan"),
        1j,
        "",
        "x\0y",
        "\ud800",
        b"",
        b"\0",
        (),
        [],
        {},
    ),
    *({1}, {}, Odd(), Odd, len, object(), slice(1), range(3), Ellipsis, NotImplemented, memoryview(b"abc")),
    *(ar(), ar(0), ar(3), ar(2, 3), ar(3)[::2], ar(3)[::-1], np.float32(1), np.int8(1), np.str_("a")),
    *(np.zeros(3, object), np.zeros(3, "M8[s]"), np.zeros(3, "S2"), np.zeros(3, ">f8"), np.zeros(2, "f8,i4")),
    *(np.frombuffer(bytes(25), np.uint8)[1:].view(np.float64), np.broadcast_to(1.0, (3,)), np.ma.masked),
    *(np.lib.stride_tricks.as_strided(ar(1), (2**40,), (0,)), np.empty((0, 2**40)), np.empty((1,) * 32)),
]


@pytest.mark.quick
def test_odd_arguments():
    lib = from_c(TEXT)
    functions = [
        lib.function(F_DECLARATION),
        lib.function(F_DECLARATION, optional=("x", "s"), defaults={"y": 1.0}, name="f2"),
        lib.function("int64_t g(int64_t x)"),
    ]
    for f, (one, two) in itertools.product(functions, itertools.product(ODDITIES, repeat=2)):
        for args, names in [
            ((one, two), {}),
            ((one, 1.0, two), {}),
            ((one,), {"y": two}),
            ((two,), {}),
            ((), {Renamed("x"): one, "s": two}),
            ((one, two, one, two, one), {"x": one}),
        ]:
            try:
                f(*args, **names)
            except (TypeError, ValueError, OverflowError, ZeroDivisionError, UnicodeError):
                pass


@pytest.mark.parametrize(
    "text",
    [
        "",
        ";",
        "int",
        "int f",
        "f(int x)",
        "int f(int x",
        "int f(int x))",
        "int f(int x) int g(int y)",
        "int f(int x) { return 1; }",
        "int f(int x); int f(double x);",
        "int f(int x[)",
        "int f(int x[n])",
        "double f(int n, double x[n / 0])",
        "double f(int n, double x[-1])",
        "double f(int n, double x[n(3)])",
        "double f(double x[99999999999999999999999])",
        "double f(double x[n][m][n * m])",
        "int f(int, int)",
        "int f(...)",
        "int f(int x, int x)",
        "void f(void x)",
        "int f(struct nothing s)",
        "int f(int (*g)(int))",
        "int f(int x[3][])",
        "int f(__int128 x)",
        "int f(int x : 3)",
        "int f(" + "(" * 3000 + "int x" + ")" * 3000 + ")",
        "int f(int " + "*" * 3000 + "x)",
        "int f(" + ", ".join(f"int a{k}" for k in range(3000)) + ")",
        "int f(int " + "x" * 100_000 + ")",
        "#define X\nint f(X x)",
        "int f(int \u00e4)",
        "int f(int x\0y)",
        '}); system("true"); void g(void) { ((0',
        "\ud800",
    ],
)
def test_declarations_that_are_none(text):
    lib = from_c("int f(int x) { return x; }")
    for call in (lambda: lib.function(text), lambda: lib.declare(text), lambda: lib.variable(text)):
        try:
            call()
        except (SyntaxError, TypeError, ValueError, NotImplementedError, AttributeError, OverflowError):
            pass
        except RecursionError:
            pass
        except Warning:  # of callbacks; warnings are errors here
            pass


def test_declarations_that_are_no_text():
    lib = from_c("int f(int x) { return x; }")
    for text in None, 5, b"int f(int x)", ["int f(int x)"], Odd():
        refuses(TypeError, lambda text=text: lib.function(text), "the declaration must be a str")


def test_a_default_that_does_not_fit():
    lib = from_c(TEXT)
    f = lib.function(F_DECLARATION, defaults={"y": "text"})
    refuses(TypeError, lambda: f(ar(3), s=""), "argument y, got str")


@pytest.mark.parametrize(
    "options, error, word",
    [
        ({"out": "nothing"}, ValueError, "out names 'nothing', which is no parameter"),
        ({"out": 5}, TypeError, "out must be the name of a parameter"),
        ({"out": ("x", "x")}, ValueError, "x points to const: out= cannot"),
        ({"inout": "y"}, ValueError, "inout= names y, which is no pointer"),
        ({"optional": "n"}, ValueError, "n is no pointer"),
        ({"optional": "nothing"}, ValueError, "optional names 'nothing'"),
        ({"defaults": {"nothing": 1}}, ValueError, "defaults names 'nothing'"),
        ({"defaults": 5}, TypeError, "defaults must be a dict"),
        ({"order": "K"}, ValueError, "order must be 'C' or 'F', not 'K'"),
        ({"order": 5}, ValueError, "order must be 'C' or 'F', not 5"),
        ({"strides": {"nothing": "x"}}, ValueError, "strides names 'nothing'"),
        ({"strides": {"y": "x"}}, ValueError, "strides: y is no integer"),
        ({"strides": {"n": ("x", 7)}}, ValueError, "x has no axis 7"),
        ({"strides": {"n": 5}}, ValueError, "strides['n'] must be"),
        ({"returns": ("n", "argument")}, ValueError, "the function returns double, no pointer"),
        ({"returns": ("n", "callee", "nothing")}, ValueError, "the function returns double, no pointer"),
        ({"returns": 5}, ValueError, "the function returns double, no pointer"),
        ({"keyword_only": ("nothing",)}, ValueError, "keyword_only names 'nothing'"),
        ({"keyword_only": ("x",), "positional_only": ("x",)}, ValueError, "in keyword_only= and in"),
        ({"positional_only": 5}, TypeError, "positional_only must be the name"),
        ({"name": 5}, TypeError, "name must be a str, not int"),
        ({"doc": 5}, TypeError, "doc must be a str, not int"),
        ({"check": 5}, TypeError, "check must be a function"),
        ({"check": len}, ValueError, "check: it returns double"),
        ({"no_such_option": 1}, TypeError, "has no option 'no_such_option'"),
    ],
)
def test_options_that_fit_nothing(options, error, word):
    lib = from_c(TEXT)
    refuses(error, lambda: lib.function(F_DECLARATION, **options), word)
    assert lib.function(F_DECLARATION)(ar(3), 1.0, "") == 1


def test_odd_libraries():
    for args, options in [
        ((), {}),
        ((5,), {}),
        (("x", 5), {}),
        (("x", "/"), {}),
        (("x", "/etc/passwd"), {}),
        (("x",), {"libraries": "m"}),
        (("x",), {"libraries": [5]}),
        (("x",), {"sources": ["/nowhere.c"]}),
        (("x",), {"header": 5}),
        (("x",), {"header": "int f("}),
        (("x",), {"init": "nothing"}),
        (("x",), {"free": "nothing"}),
        (("x",), {"init": 5}),
        (("x",), {"what": 5}),
        (("x\0y",), {}),
    ]:
        try:
            lib: Any = cwrapjit.library(*args, **options)
            lib.function("int no_such_symbol_anywhere(int x)")
        except (TypeError, ValueError, OSError, AttributeError, SyntaxError):
            continue
        raise AssertionError(f"{args}, {options} were accepted")


def test_sizes_of_variables_are_not_written_from_python():
    lib = from_c("int n = 3; static double d[3] = {1, 2, 3}; double *x = d; void cut(void) { n = 2; }")
    lib.variable("int n")
    lib.n = 3  # nothing depends on it yet
    lib.variable("double *x", shape="n")
    assert lib.x.tolist() == [1, 2, 3]
    refuses(AttributeError, lambda: setattr(lib, "n", 2**30), "t.n is read-only", "size of x")
    lib.function("void cut(void)")()
    assert lib.n == 2 and lib.x.tolist() == [1, 2]


def test_structs_that_would_hold_themselves():
    lib = from_c("int f(int x) { return x; }")
    refuses(cwrapjit.CompileError, lambda: lib.struct("struct q { struct q a; }"), "struct q", "itself")
    lib.declare("struct a; struct b { struct a x[2]; };")
    refuses(cwrapjit.CompileError, lambda: lib.struct("struct a { struct b y; }"), "struct a", "itself")
    assert lib.struct("struct list { struct list *next; int value; }")(value=3).value == 3


def test_a_message_function_is_called_as_the_header_declares_it():
    """A number that is taken for a text would be an address."""
    lib = from_c(
        "int st(int s) { return s; } int code(int s) { return s + 40; } "
        'const char *msg(int s) { return "bad"; }',
        header="int code(int s); const char *msg(int s);",
    )
    for name, said in (("code", "t.st_code(): 42"), ("msg", "t.st_msg(): bad")):
        st = lib.function("int st(int s)", check=name, name=f"st_{name}")
        refuses(RuntimeError, lambda st=st: st(2), said)


def test_a_check_that_raises_or_calls_again():
    lib = from_c("int f(int x) { return x; }")

    def again(status: int) -> None:
        if status:
            f(status - 1)
        else:
            raise KeyError("deep")

    f = lib.function("int f(int x)", check=again)
    refuses(KeyError, lambda: f(50), "deep")


def test_a_function_made_by_hand_is_refused():
    f = from_c(TEXT).function("int64_t g(int64_t x)")
    refuses(TypeError, lambda: type(f)(), "LibraryFunction")
    refuses(TypeError, lambda: type(f).__call__(f), "missing required argument 'x'")
    refuses(TypeError, lambda: type(f).__new__(type(f))(3), "LibraryFunction")
    for change in ("address", "capsule", "__name__", "__qualname__", "__doc__", "__signature__", "__dict__"):
        for value in (5, None, {}):
            try:
                setattr(f, change, value)  # what it says of itself may change, as in Python's own functions
            except (AttributeError, TypeError, ValueError):
                pass
            try:
                repr(f), f(1), f(x=1)
            except (AttributeError, TypeError, ValueError):
                pass
    for copied in (lambda: pickle.dumps(f), lambda: copy.deepcopy(f)):
        try:
            copied()
        except TypeError:
            pass
    gc.collect()
    assert f(3) == 3


@pytest.mark.parametrize(
    "text",
    [
        "struct s { char a; int b; } __attribute__((packed));",
        "struct __attribute__((__packed__)) s { char a; int b; };",
        "#define PACKED __attribute__((packed))\nstruct s { char a; int b; } PACKED;",
        "#pragma pack(push, 1)\nstruct s { char a; int b; };\n#pragma pack(pop)\n",
        "struct s { char a; _Alignas(16) int b; };",
        "struct s { char a; int b __attribute__((aligned(16))); };",
        "typedef float v4 __attribute__((vector_size(16))); struct s { char a; v4 b; };",
        "enum __attribute__((packed)) tiny { X }; struct s { char a; enum tiny b; };",
        "struct s { char a[-1 > 0u ? 5 : 3]; char b; };",
    ],
)
def test_layouts_that_are_not_mapped_are_refused(text):
    lib = from_c("int f(int x) { return x; }")
    lib.declare(text + "\nint f(int x);")
    assert lib.f(3) == 3
    refuses(TypeError, lambda: lib.struct("struct s"), "struct s")


def test_unsigned_constants_wrap_around():
    lib = from_c(
        "int f(int x) { return x; }",
        header="#define A (~0u)\n#define B (-1UL)\n#define C ((0u-1)/2)\n"
        "#define D '\\377'\n#define E 1u<<31\n",
    )
    assert (lib.A, lib.B, lib.D, lib.E) == (2**32 - 1, 2**64 - 1, -1, 2**31)
    refuses(AttributeError, lambda: lib.C, "'C'")


def test_many_open_parentheses_take_no_time():
    lib = from_c("int f(int x) { return x; }")
    refuses(cwrapjit.CompileError, lambda: lib.declare("__attribute__(" * 20_000 + "int f(int x);"), "no end")
