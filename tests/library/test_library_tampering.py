"""What Python code does to arguments during a call, and to classes and results after it, ends no process."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from library_tools import from_c

from cwrapjit import _cwrapjit
from cwrapjit.library.description import Argument, Function, Result

TEXT = r"""
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
    """An integer that does something when it is asked for its value."""

    action = staticmethod(lambda: None)

    def __index__(self) -> int:
        self.action()
        return 3


@pytest.fixture(scope="module")
def lib():
    return from_c(TEXT, header=TYPES)


def test_an_argument_that_moves_another_during_the_call(lib):
    f = lib.function("double sum(int64_t n, double x[n], int64_t k)")
    x = np.ones(1_000_000)
    k = Acting(1)

    def move():
        x.resize((2_000_000,), refcheck=False)
        x[:] = 2.0

    k.action = move
    assert f(x, k) == 4_000_003


@pytest.mark.quick
def test_an_argument_that_frees_another_during_the_call(lib):
    lib.handle("box *", free="box_free")
    box = lib.function("box *box_new(void)", returns="callee")()
    get = lib.function("int64_t box_get(box *b, int64_t k)")
    k = Acting(1)
    k.action = lambda: box.__exit__(None, None, None)
    with pytest.raises(ValueError, match="was freed"):
        get(box, k)


@pytest.mark.quick
def test_a_class_with_the_layout_of_another(lib):
    small, big = lib.struct("small"), lib.struct("big")
    make, total = lib.function("big make_big(double value)"), lib.function("double sum_big(const big *b)")
    b, layout = make(1.0), big.__cwrapjit_layout__
    big.__cwrapjit_layout__ = small.__cwrapjit_layout__
    for call in (lambda: make(1.0), lambda: total(small())):
        with pytest.raises(TypeError, match="is no class"):
            call()
    assert total(b) == 64, "b is what it was"
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
        with pytest.raises(TypeError, match="memory"):
            fill(held)
    for held in (objects, records):
        with pytest.raises(TypeError, match="memory"):
            anything(1, held)


@pytest.mark.quick
def test_masked_arrays_are_refused(lib):
    f = lib.function("double sum(int64_t n, double x[n], int64_t k)", name="masked_sum")
    with pytest.raises(TypeError, match="mask would be lost"):
        f(np.ma.array([1.0, 2.0], mask=[True, False]), 0)
    assert f(np.arange(3.0).view(np.recarray), 0) == 3.0


def test_numbers_beyond_double_do_not_become_infinite(lib):
    f = from_c("double same(double x) { return x; }").function("double same(double x)")
    for number in "1e4000", "inf", "0.5":
        with pytest.raises(TypeError, match="which does not cast safely to float64: give float"):
            f(np.longdouble(number))


class Text(tuple[str, ...]):
    """Of parts that nobody has joined yet."""


class Shown:
    """Its attributes are new objects at each look, which nobody else keeps."""

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
    """A flag that takes all other attributes away when it is read."""

    def __init__(self) -> None:
        self.attributes: dict[str, Any] = {}

    def __bool__(self) -> bool:
        self.attributes.clear()
        return False


@pytest.mark.quick
def test_a_text_without_thunks():
    environment = _cwrapjit.library_environment("x")
    with pytest.raises(ValueError, match="does not define t"):
        _cwrapjit.compile_thunks(environment, "", ("t",))


@pytest.mark.quick
def test_descriptions_that_change_while_they_are_read():
    environment = _cwrapjit.library_environment("x")
    code, (address,) = _cwrapjit.compile_thunks(environment, "void t(void *slots) {}", ("t",))
    result = vars(Result())
    argument = vars(Argument(""))
    whole = vars(Function("", "", "", [], [], Result(), address, address, code))
    for i in range(100):
        word = Text((f"{i} ", "of" * 40))  # a text that is made when it is asked for
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


@pytest.mark.quick
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
