"""Tests that no Python input ends the process: each call raises, or does what it should."""

from __future__ import annotations

import contextlib
import copy
import gc
import itertools
import pickle
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers import ar, refuses
from library_tools import from_c

import cwrapjit
from cwrapjit import _cwrapjit
from cwrapjit.library.description import Argument, Function, Result

TEXT = """
typedef struct point { double x, y; } point;
double f(int64_t n, const double *x, double y, const char *s) { return n ? x[0] + y : (s != NULL); }
int64_t g(int64_t x) { return x; }
"""
F_DECLARATION = "double f(int64_t n, const double x[n], double y, const char *s)"


class Odd:
    """Raises an exception from every method."""

    def __getattr__(self, name: str) -> Any:
        raise ZeroDivisionError(name)

    def __index__(self) -> int:
        raise ZeroDivisionError

    def __float__(self) -> float:
        raise ZeroDivisionError


class Renamed(str):
    """A subclass of str, used as a keyword."""


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
    *({1}, Odd(), Odd, len, object(), slice(1), range(3), Ellipsis, NotImplemented, memoryview(b"abc")),
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


TEXTS = [
    *("", ";", "int", "int f", "f(int x)", "int f(int x", "int f(int x))", "int f(int x) int g(int y)"),
    *("int f(int x) { return 1; }", "int f(int x); int f(double x);", "int f(int x[)", "int f(int x[n])"),
    *("double f(int n, double x[n / 0])", "double f(int n, double x[-1])", "double f(int n, double x[n(3)])"),
    *("double f(double x[99999999999999999999999])", "double f(double x[n][m][n * m])", "int f(int, int)"),
    *(
        "int f(...)",
        "int f(int x, int x)",
        "void f(void x)",
        "int f(struct nothing s)",
        "int f(int (*g)(int))",
    ),
    *("int f(int x[3][])", "int f(__int128 x)", "int f(int x : 3)", "int f(int x\0y)", "\ud800", "#else"),
    *("#define X\nint f(X x)", "int f(int \u00e4)", '}); system("true"); void g(void) { ((0', '"unended'),
    *("/* unended", "int f(int x[1 << 100]);", "int f(int x[1/0]);", "enum { A = 1 / 0 }; int f(int x);"),
    *("#define f(\nint f(int x);", "#define\n#undef\n#include\n#if\n#endif", "#define A A A\nA" * 3),
    *("typedef struct s { struct s x; } s; int f(s x);", "#define A(x) A(x x) x\nint f(A(A(A(A(1)))));"),
    # long texts
    "int f(" + "(" * 3000 + "int x" + ")" * 3000 + ")",
    "int f(" + "(" * 20_000,
    "int f(int " + "*" * 3000 + "x)",
    "int " + "*" * 20_000 + "f(int x);",
    "int f(int x[" + "-" * 20_000 + "1]);",
    "int f(int x[" + "1+" * 5000 + "1]);",
    "#if " + "(" * 20_000 + "\n#endif",
    "#if " + "!" * 20_000 + "1\n#endif",
    "\n".join(f"#define A{i} A{i + 1} A{i + 1}" for i in range(60)) + "\nA0",
    "int f(" + ", ".join(f"int a{k}" for k in range(500)) + ")",
    "int f(int " + "x" * 20_000 + ")",
    "__attribute__(" * 20_000 + "int f(int x);",
]


def test_texts_end_in_an_exception_or_a_function():
    for text in TEXTS:
        lib = from_c("int f(int x) { return x; }")
        for method in lib.function, lib.declare, lib.variable:
            try:
                method(text)
            except (
                SyntaxError,
                TypeError,
                ValueError,
                NotImplementedError,
                AttributeError,
                OverflowError,
            ) as error:
                assert str(error), text[:40]
            except Warning:  # about callbacks; here warnings are errors
                pass
        assert lib.function("int f(int x)", name="g")(2) == 2, text[:40]


def test_a_default_that_does_not_fit():
    lib = from_c(TEXT)
    f = lib.function(F_DECLARATION, defaults={"y": "text"})
    refuses(TypeError, lambda: f(ar(3), s=""), "argument y, got str")


def test_odd_libraries():
    file = {"header": "int f("}
    for *args, options in [
        *([{}], [5, {}], ["x", 5, {}], ["x", "/", {}], ["x", "/etc/passwd", {}], ["x\0y", {}], ["x", file]),
        *(["x", {"libraries": each}] for each in ("m", [5])),
        *(["x", {"sources": ["/nowhere.c"]}], ["x", {"header": 5}], ["x", {"what": 5}]),
        *(["x", {"init": each}] for each in ("nothing", 5)),
        ["x", {"free": "nothing"}],
    ]:
        with pytest.raises((TypeError, ValueError, OSError, AttributeError, SyntaxError)):
            cwrapjit.library(*args, **options).function("int no_such_symbol_anywhere(int x)")


def test_sizes_of_variables_are_not_written_from_python():
    lib = from_c("int n = 3; static double d[3] = {1, 2, 3}; double *x = d; void cut(void) { n = 2; }")
    lib.variable("int n")
    lib.n = 3  # no shape depends on it yet
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
    """C would use a number as an address if it took it for a text."""
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
            # Attributes that describe it may change, as in Python functions.
            for act in lambda c=change, v=value: setattr(f, c, v), lambda: (repr(f), f(1), f(x=1)):
                with contextlib.suppress(AttributeError, TypeError, ValueError):
                    act()
    for copied in (lambda: pickle.dumps(f), lambda: copy.deepcopy(f)):
        with contextlib.suppress(TypeError):
            copied()
    gc.collect()
    assert f(3) == 3


LAYOUTS = [
    "struct s { char a; int b __attribute__((packed)); };",
    "#pragma pack(push, MOST)\nstruct s { char a; int b; };\n#pragma pack(pop)\n",
    "struct s { char a; _Alignas(double) int b; };",
    "struct s { char a; int b __attribute__((aligned(16))), c; };",
    "struct s { char a; int b, c __attribute__((aligned(16))); };",
    "struct s { char a; int b; } __attribute__((aligned));",
    "struct s { char a; int b; } __attribute__((packed, aligned(1 << 3)));",
    "typedef float v4 __attribute__((vector_size(16))); struct s { char a; v4 b; };",
    "enum __attribute__((packed)) tiny { X }; struct s { char a; enum tiny b; };",
]


def test_layouts_that_are_not_mapped_are_refused():
    for text in LAYOUTS:
        lib = cwrapjit.library("c", libraries=["c"]).declare(text + "\nint abs(int x);")
        assert lib.abs(-3) == 3
        refuses(TypeError, lambda lib=lib: lib.struct("struct s"), "struct s")


BIG = r"""
typedef struct small { double x; } small;
typedef struct big { double x[64]; } big;
typedef struct box box;
big make_big(double value) { big b; for (int i = 0; i < 64; i++) b.x[i] = value; return b; }
double sum_big(const big *b) { double s = 0; for (int i = 0; i < 64; i++) s += b->x[i]; return s; }
double sum(int64_t n, double *x, int64_t k) {
    double s = k;
    for (int64_t i = 0; i < n; i++) s += x[i];
    return s;
}
box *box_new(void) { return calloc(1, 64); }
void box_free(box *b) { free(b); }
int64_t box_get(box *b, int64_t k) { return *(int64_t *)b + k; }
const char *bytes_of(int64_t n, const char *text) { return text; }
double *first(int64_t n, double *x) { return x; }
void fill(int64_t n, char *memory) { for (int64_t i = 0; i < n; i++) memory[i] = 65; }
const double *table(void) { static const double t[3] = {1, 2, 3}; return t; }
"""
TYPES = """
typedef struct small { double x; } small;
typedef struct big { double x[64]; } big;
typedef struct box box;
"""


class Acting(np.int64):
    """An integer that runs an action when its value is read."""

    action = staticmethod(lambda: None)

    def __index__(self) -> int:
        self.action()
        return 3


@pytest.fixture(scope="module")
def lib():
    return from_c(BIG, header=TYPES)


def test_an_argument_that_moves_another_during_the_call(lib):
    f = lib.function("double sum(int64_t n, double x[n], int64_t k)")
    x = np.ones(1_000_000)
    k = Acting(1)

    def move():
        x.resize((2_000_000,), refcheck=False)
        x[:] = 2.0

    k.action = move
    assert f(x, k) == 4_000_003


def test_an_argument_that_frees_another_during_the_call(lib):
    lib.handle("box *", free="box_free")
    box = lib.function("box *box_new(void)", returns="callee")()
    get = lib.function("int64_t box_get(box *b, int64_t k)")
    k = Acting(1)
    k.action = lambda: box.__exit__(None, None, None)
    refuses(ValueError, lambda: get(box, k), "was freed")


@pytest.mark.quick
def test_a_class_with_the_layout_of_another(lib):
    small, big = lib.struct("small"), lib.struct("big")
    make, total = lib.function("big make_big(double value)"), lib.function("double sum_big(const big *b)")
    b, layout = make(1.0), big.__cwrapjit_layout__
    big.__cwrapjit_layout__ = small.__cwrapjit_layout__
    refuses(TypeError, big, "is no class")
    refuses(TypeError, lambda: total(small()), "got small")
    assert total(b) == total(make(1.0)) == 64, "functions and instances are what they were"
    big.__cwrapjit_layout__ = layout
    assert total(make(1.0)) == 64 and total(b) == 64

    class Derived(big):
        pass

    assert total(Derived()) == 0


@pytest.mark.quick
def test_results_into_buffers(lib):
    f = lib.function("const char *bytes_of(int64_t n, const char text[n])", returns=("n", "argument", "text"))
    text = bytearray(b"abc")
    result = f(text)
    with pytest.raises(BufferError):
        text.clear()
    assert bytes(result) == b"abc" and not result.flags.writeable
    assert not hasattr(result.base, "release"), "nobody can release what keeps the buffer"
    del result
    text.clear()
    for fixed in (b"abc", "abc", memoryview(b"abc")):
        assert bytes(f(fixed)) == b"abc" and not f(fixed).flags.writeable


def test_results_into_what_the_call_leaves_nothing_of(lib):
    with pytest.raises(ValueError, match="cannot point into"):
        lib.function(
            "double *first(int64_t n, const double x[n])",
            container={"x": tuple}, returns=("n", "argument"), name="first_of_tuple",
        )  # fmt: skip


def test_const_results_are_read_only(lib):
    table = lib.function("const double *table(void)", returns=(3, "none"))()
    with pytest.raises(ValueError, match="read-only"):
        table[0] = 5.0
    assert table.tolist() == [1.0, 2.0, 3.0]


def test_nothing_is_written_over_references(lib):
    fill = lib.function("void fill(int64_t n, void memory[n])", inout="memory")
    anything = lib.function("void fill(int64_t n, void *memory)", unsafe=True, name="anything")
    objects, records = np.array([object(), None]), np.zeros(2, [("a", "O"), ("b", "i4")])
    for held in (objects, memoryview(objects), records):
        refuses(TypeError, lambda held=held: fill(held), "memory")
    for held in (objects, records):
        refuses(TypeError, lambda held=held: anything(1, held), "memory")


def test_masked_arrays_are_refused(lib):
    f = lib.function("double sum(int64_t n, double x[n], int64_t k)", name="masked_sum")
    refuses(TypeError, lambda: f(np.ma.array([1.0, 2.0], mask=[True, False]), 0), "masked elements")
    assert f(np.ma.array([1.0, 2.0], mask=[False, False]), 0) == 3.0
    assert f(np.arange(3.0).view(np.recarray), 0) == 3.0


def test_numbers_beyond_double_do_not_become_infinite(lib):
    f = from_c("double same(double x) { return x; }").function("double same(double x)")
    for number in "1e4000", "inf", "0.5":
        refuses(TypeError, lambda number=number: f(np.longdouble(number)), "safely to float64: give float")


class Text(tuple[str, ...]):
    """A text of parts that are joined on demand."""


class Shown:
    """Returns new attribute objects on each access, to which nothing else refers."""

    __slots__ = ("attributes",)

    def __init__(self, **attributes: Any) -> None:
        self.attributes = attributes

    @property
    def __dict__(self) -> dict[str, Any]:
        return {
            key: "".join(value) if isinstance(value, Text) else value
            for key, value in self.attributes.items()
        }


class Clearing:
    """A flag that deletes all other attributes when it is read."""

    def __init__(self) -> None:
        self.attributes: dict[str, Any] = {}

    def __bool__(self) -> bool:
        self.attributes.clear()
        return False


@pytest.mark.quick
def test_a_text_without_thunks():
    environment = _cwrapjit.library_environment("x")
    refuses(ValueError, lambda: _cwrapjit.compile_thunks(environment, "", ("t",)), "does not define t")


@pytest.mark.quick
def test_descriptions_that_change_while_they_are_read():
    environment = _cwrapjit.library_environment("x")
    code, (address,) = _cwrapjit.compile_thunks(environment, "void t(void *slots) {}", ("t",))
    result = vars(Result())
    argument = vars(Argument(""))
    whole = vars(Function("", "", "", [], [], Result(), address, address, code))
    for i in range(100):
        word = Text((f"{i} ", "of" * 40))  # str() creates the text on demand
        texts = dict.fromkeys(("name", "qualname", "doc", "c_name"), word)
        arguments = [Shown(**argument | {"name": word})]
        described = Shown(**whole | texts | {"arguments": arguments, "result": Shown(**result)})
        f = _cwrapjit.wrap_function(described)
        assert f.__name__ == "".join(word)
        assert f(1) is None
        flag = Clearing()
        texts = {key: "".join(word) for key in texts}
        gone = SimpleNamespace(**whole | texts | {"result": SimpleNamespace(**result)})
        gone.stable, flag.attributes = flag, gone.__dict__
        f = _cwrapjit.wrap_function(gone)
        assert f.__doc__ == "".join(word)
        assert f() is None


def test_no_metaclass_is_asked_in_the_middle(lib):
    small, big = lib.struct("small"), lib.struct("big")
    asked = []

    class Meta(type(small)):  # type: ignore[misc]
        def __getattribute__(cls, name: str) -> Any:
            asked.append(name)
            return type.__getattribute__(cls, name)

    class Derived(small, metaclass=Meta):
        pass

    value, holder = Derived(x=3.0), big()
    for kind in "inside", "pointer":
        member = _cwrapjit.Field(big.__cwrapjit_layout__, "member", 0, kind, of=Derived)
        asked.clear()
        member.__set__(holder, value)
        assert member.__get__(holder).x == 3.0
        assert "__cwrapjit_layout__" not in asked


@pytest.mark.quick
def test_memory_of_a_struct_holds_no_objects(lib):
    layout = lib.struct("big").__cwrapjit_layout__
    for dtype in "O", [("a", "i8"), ("b", "O")]:
        for kind in "array", "data":
            with pytest.raises(ValueError, match="no Python objects"):
                _cwrapjit.Field(layout, "member", 0, kind, dtype, (1,))
