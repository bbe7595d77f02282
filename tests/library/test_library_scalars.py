"""Wrapped C functions: scalars in and out, positions, keywords and defaults, what is refused and how."""

from __future__ import annotations

import ctypes
import inspect
import sys
from typing import Any

import numpy as np
import pytest
from helpers import ar, python, refuses
from library_tools import from_c, from_shared

import cwrapjit

# ---- the seed's functions ------------------------------------------------------------------------

ADD3 = "int64_t f(int64_t x) { return x + 3; }"
OPTIONAL = "int64_t f(const int64_t *x) { return x ? *x + 3 : 2; }"
PLUS = """
void f(int64_t n, const double *x, double y, double *r)
{
    for (int64_t i = 0; i < n; i++)
        r[i] = x[i] + y;
}
"""


def plus() -> Any:
    """The seed's example: x + y, y being 3 unless it is given."""
    return from_c(PLUS).function(
        "void f(int64_t n, const double x[n], double y, double r[n])", out="r", defaults={"y": 3.0}
    )


@pytest.mark.row("P08")
def test_scalar_arguments():
    f = from_c(ADD3).function("int64_t f(int64_t x)")
    assert f(2) == 5
    assert type(f(2)) is int
    assert f(x=2) == 5
    assert [f(2**62), f(-(2**63))] == [2**62 + 3, -(2**63) + 3]
    refuses(TypeError, lambda: f(), "t.f()", "missing required argument 'x'")
    refuses(TypeError, lambda: f(1, 2), "t.f()", "takes 1 positional", "but 2 were given")
    refuses(TypeError, lambda: f(1, y=2), "t.f()", "'y'")
    refuses(TypeError, lambda: f(1, x=2), "t.f()", "multiple values for argument 'x'")


@pytest.mark.row("P08")
def test_the_wrapped_function_is_an_attribute_of_the_library():
    lib = from_c(ADD3, name="adding")
    f = lib.function("int64_t f(int64_t x)")
    assert lib.f is f
    assert lib.f(2) == 5


@pytest.mark.row("P11")
def test_an_absent_optional_scalar_is_null():
    f = from_c(OPTIONAL).function("int64_t f(const int64_t *x)", optional="x")
    assert f() == 2
    assert f(None) == 2
    assert f(x=None) == 2
    assert f(0) == 3
    assert f(x=-5) == -2
    refuses(TypeError, lambda: f("a"), "argument x", "got str")


@pytest.mark.row("P17")
def test_positions_and_keywords():
    f, x = plus(), ar(4)
    first = f(x, 2.0)
    assert np.array_equal(first, x + 2)
    assert np.array_equal(first, f(x, y=2.0))
    assert np.array_equal(first, f(y=2.0, x=x))
    refuses(TypeError, lambda: f(x, 2.0, 3.0), "t.f()", "takes 2 positional", "but 3 were given")
    refuses(TypeError, lambda: f(x, z=2.0), "t.f()", "'z'")
    refuses(TypeError, lambda: f(x, x=x), "t.f()", "multiple values for argument 'x'")
    refuses(TypeError, lambda: f(y=2.0), "t.f()", "missing required argument 'x'")


@pytest.mark.row("P18", "P01i")
@pytest.mark.parametrize("value, got", [("a", "str"), (1j, "complex"), (b"1", "bytes"), ([1.0], "list")])
def test_a_wrong_type_is_named_with_the_argument(value, got):
    f, x = plus(), ar(3)
    refuses(
        TypeError,
        lambda: f(x, value),
        "t.f(): Expected an argument of type float for argument y",
        f"got {got}",
    )


@pytest.mark.row("P18", "P01i")
def test_a_float_is_no_int():
    f = from_c(ADD3).function("int64_t f(int64_t x)")
    for value in 2.0, np.float64(2.0), "2", ar(1), 2j:
        refuses(
            TypeError, lambda value=value: f(value), "Expected an argument of type int for argument x", "got "
        )
    assert f(np.int64(2)) == 5


@pytest.mark.row("P21")
def test_the_seeds_example():
    f, x = plus(), ar(5)
    assert np.array_equal(f(x), x + 3)
    assert np.array_equal(f(x, 2.0), x + 2)
    assert np.array_equal(f(x, y=2.0), x + 2)
    assert np.array_equal(f(y=2.0, x=x), x + 2)
    assert np.array_equal(f(x, None), f(x))
    assert np.array_equal(f(x, 2), x + 2)  # an int, where it is exact
    refuses(TypeError, lambda: f(x, "a"), "argument y, got str")
    refuses(OverflowError, lambda: f(x, 2**53 + 1), "argument y: 9007199254740993 is not exact in float64")


# ---- scalars of every type -----------------------------------------------------------------------

INTEGERS = ["int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t"]
NATIVE = {"int": int, "int64_t": int, "double": float, "bool": bool, "long": int, "long long": int}


def identity(ctype: str, lib: Any = None) -> Any:
    text = f"{ctype} same({ctype} x) {{ return x; }}"
    return (lib or from_c(text)).function(f"{ctype} same({ctype} x)")


@pytest.mark.row("P19", "P20")
@pytest.mark.parametrize("ctype", INTEGERS)
def test_integers_round_trip_and_are_checked(ctype):
    f = identity(ctype)
    dtype = np.dtype(ctype[:-2])
    info = np.iinfo(dtype)
    wanted = NATIVE.get(ctype, dtype.type)
    for value in info.min, info.max, 0, 1, 77:
        assert f(value) == value
        assert type(f(value)) is wanted
        assert f(dtype.type(value)) == value
    for value in info.min - 1, info.max + 1, 2**80:
        refuses(
            OverflowError, lambda value=value: f(value), f"argument x: {value} is out of range of {dtype}"
        )


@pytest.mark.row("P19", "P20")
@pytest.mark.parametrize("ctype, bits", [("int", 32), ("long", 64), ("long long", 64), ("short", 16)])
def test_the_plain_integers_of_c(ctype, bits):
    f = identity(ctype)
    for value in -(2 ** (bits - 1)), 2 ** (bits - 1) - 1:
        assert f(value) == value
        assert type(f(value)) is NATIVE.get(ctype, np.int16)


@pytest.mark.row("P19", "P20")
def test_floats_and_bool_round_trip():
    double, single, truth = identity("double"), identity("float"), identity("bool")
    for value in 0.0, -1.5, np.finfo(float).max, np.finfo(float).tiny, float("inf"), 5e-324:
        assert double(value) == value
        assert type(double(value)) is float
    assert np.isnan(double(float("nan")))
    assert str(double(-0.0)) == "-0.0"
    for value in np.finfo(np.float32).max, np.finfo(np.float32).tiny, np.float32(0.1):
        assert single(value) == value
        assert type(single(value)) is np.float32
    assert truth(True) is True
    assert truth(False) is False
    assert truth(np.True_) is True


@pytest.mark.row("P19", "P20")
@pytest.mark.parametrize("ctype, dtype", [("double", np.complex128), ("float", np.complex64)])
def test_complex_numbers_round_trip(ctype, dtype, tmp_path):
    text = f"{ctype} _Complex same({ctype} _Complex x) {{ return x; }}"
    f = identity(f"{ctype} _Complex", from_shared(text, tmp_path))
    big = float(np.finfo(dtype).max)
    for value in 1.5 - 2j, complex(big, -big), 0j:
        assert f(value) == dtype(value)
        assert f(dtype(value)) == dtype(value)
        assert type(f(value)) is dtype
    refuses(TypeError, lambda: f("1"), "argument x", "got str")


@pytest.mark.quick
@pytest.mark.row("P03", "P14")
def test_nested_containers_are_checked_at_every_level():
    text = """
    int64_t total(int64_t n, int64_t m, const int64_t *x)
    {
        int64_t sum = 0;
        for (int64_t i = 0; i < n * m; i++) sum = 10 * sum + x[i];
        return sum;
    }
    """
    lib = from_c(text)
    declaration = "int64_t total(int64_t n, int64_t m, const int64_t x[n][m])"
    f = lib.function(declaration, container={"x": tuple})
    assert f(((1, 2), (3, 4))) == 1234 and f(((1, 2, 3),)) == 123 and f(((), ())) == f(()) == 0
    refuses(TypeError, lambda: f(((1, 2), [3, 4])), "argument x", "tuple[tuple[int, ...], ...]")
    refuses(TypeError, lambda: f(((1, 2), (3, 4.5))), "argument x", "an item of type float")
    refuses(TypeError, lambda: f(((1, 2), 3)), "argument x")
    refuses(ValueError, lambda: f(((1, 2), (3,))), "must have one length")
    refuses(ValueError, lambda: lib.function(declaration, container={"x": set}), "sets hold no sets")


@pytest.mark.row("P04")
def test_a_parameter_called_lambda():
    f = from_c("double f(double lambda, double from) { return 10 * lambda + from; }").function(
        "double f(double lambda, double from)"
    )
    assert f(1.0, 2.0) == f(lambda_=1.0, from_=2.0) == 12.0
    assert list(inspect.signature(f).parameters) == ["lambda_", "from_"]
    refuses(TypeError, lambda: f(1.0, **{"lambda": 2.0}), "unexpected keyword argument 'lambda'")


@pytest.mark.row("P08i")
def test_classes_methods_and_properties_have_docstrings():
    lib = from_c("struct p { double x; }; double p_norm(const struct p *p) { return p->x; }")
    cls = lib.struct(
        "struct p { double x; }",
        doc="A point.",
        methods=[("double p_norm(const struct p *p)", {"doc": "How far it is."})],
        properties={"size": ("double p_norm(const struct p *p)", {"doc": "The same."})},
    )
    assert (cls.__doc__, cls.norm.__doc__, cls.size.__doc__) == ("A point.", "How far it is.", "The same.")
    plain = lib.struct("struct p { double x; }", methods=["double p_norm(const struct p *p)"], name="plain")
    assert plain.__doc__ == "A point." and plain.norm.__doc__ == "double p_norm(const struct p *p)"


@pytest.mark.quick
@pytest.mark.row("P19")
def test_strings_reach_c():
    lib = from_c(
        "#include <string.h>\n"
        "int64_t length(const char *s) { return strlen(s); }\n"
        "int last(const char *s) { return (unsigned char)s[strlen(s) - 1]; }"
    )
    length, last = lib.function("int64_t length(const char *s)"), lib.function("int last(const char *s)")
    assert length("") == 0
    assert length("many " * 1000) == 5000
    assert length("ä") == 2
    assert last("ä") == "ä".encode()[1]
    assert length(b"bytes") == 5
    refuses(TypeError, lambda: length(5), "Expected an argument of type str for argument s", "got int")
    refuses(ValueError, lambda: length("a\0b"), "argument s holds a NUL")


@pytest.mark.row("P20")
def test_results_are_packed_by_their_declared_types():
    lib = from_c(
        "int32_t narrow(int64_t x) { return (int32_t)x; }\n"
        "int64_t wide(int64_t x) { return x; }\n"
        "void nothing(void) {}\n"
        "double several(double x, int32_t *whole, double *rest)\n"
        "{ *whole = (int32_t)x; *rest = x - *whole; return 2 * x; }"
    )
    narrow = lib.function("int32_t narrow(int64_t x)")
    assert type(narrow(5)) is np.int32
    assert type(lib.function("int64_t wide(int64_t x)")(5)) is int
    assert lib.function("void nothing(void)")() is None
    several = lib.function("double several(double x, int32_t *whole, double *rest)", out=("whole", "rest"))
    got = several(2.25)
    assert got == (4.5, 2, 0.25)
    assert [type(each) for each in got] == [float, np.int32, float]


@pytest.mark.row("P15i")
def test_pointers_to_scalars_are_results():
    lib = from_c(
        "int half(double x, double *result) { *result = x / 2; return 0; }\n"
        "void grow(size_t *len) { *len *= 2; }"
    )
    assert lib.function("int half(double x, double *result)", out="result")(3.0) == (0, 1.5)
    grow = lib.function("void grow(size_t *len)", inout="len")
    assert grow(21) == 42
    refuses(TypeError, lambda: grow("a"), "argument len")


# ---- how functions may be called, and how they look ----------------------------------------------


@pytest.mark.row("P03i")
def test_positional_only_and_keyword_only_arguments():
    text = "double f(double x, double y, double z) { return 100 * x + 10 * y + z; }"
    f = from_c(text).function(
        "double f(double x, double y, double z)", positional_only=("x",), keyword_only=("z",)
    )
    assert f(1.0, 2.0, z=3.0) == 123
    assert f(1.0, y=2.0, z=3.0) == 123
    refuses(TypeError, lambda: f(x=1.0, y=2.0, z=3.0), "positional-only argument 'x' by keyword")
    refuses(TypeError, lambda: f(1.0, 2.0, 3.0), "t.f()", "takes 2 positional", "but 3 were given")
    refuses(TypeError, lambda: f(1.0, 2.0), "missing required keyword-only argument 'z'")
    kinds = [p.kind for p in inspect.signature(f).parameters.values()]
    assert kinds == [
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        inspect.Parameter.KEYWORD_ONLY,
    ]


@pytest.mark.row("P26", "P08i")
def test_name_and_docstring():
    doc = 'Adds "three".\n\n\\n stays as it is, ä too.'
    lib = from_c(ADD3, name="adding", doc="A library.\nOf one function.")
    f = lib.function("int64_t f(int64_t x)", doc=doc)
    assert f.__name__ == "f"
    assert f.__doc__ == doc
    assert lib.__doc__ == "A library.\nOf one function."
    other = lib.function("int64_t f(int64_t x)", name="add_three")
    assert other.__name__ == "add_three"
    assert lib.add_three(1) == 4
    assert list(inspect.signature(f).parameters) == ["x"]
    assert repr(f) == "<cwrapjit.LibraryFunction adding.f(x: int)>"


@pytest.mark.row("P04")
@pytest.mark.parametrize("name", ["self", "args", "kwargs", "kwlist", "x_obj", "s", "cwj_slot"])
def test_names_of_arguments_collide_with_nothing(name):
    f = from_c(f"double f(double {name}, double b) {{ return {name} - b; }}").function(
        f"double f(double {name}, double b)"
    )
    assert f(3.0, 1.0) == 2
    assert f(**{"b": 1.0, name: 3.0}) == 2


@pytest.mark.row("P07i")
def test_an_optional_string():
    text = "#include <string.h>\nint64_t f(const char *s) { return s ? (int64_t)strlen(s) : -1; }"
    f = from_c(text).function("int64_t f(const char *s)", optional="s")
    assert f() == -1
    assert f(None) == -1
    assert f("") == 0
    assert f("four") == 4


@pytest.mark.row("P11i")
def test_none_and_booleans_are_real_references():
    lib = from_c("void nothing(void) {}\nbool truth(void) { return 1; }\nbool untruth(void) { return 0; }")
    calls = [
        lib.function("void nothing(void)"),
        lib.function("bool truth(void)"),
        lib.function("bool untruth(void)"),
    ]
    wanted = [None, True, False]
    before = [sys.getrefcount(value) for value in wanted]
    kept = [[call() for _ in range(5000)] for call in calls]
    for values, value, count in zip(kept, wanted, before, strict=True):
        assert all(each is value for each in values)
        if sys.version_info < (3, 12):  # there they are immortal
            assert sys.getrefcount(value) >= count + 5000
    del kept, values
    for value, count in zip(wanted, before, strict=True):
        assert abs(sys.getrefcount(value) - count) < 100


# ---- interfaces ----------------------------------------------------------------------------------


def overloaded() -> Any:
    lib = from_c("double f_00(double x) { return x + 2; }\nint64_t f_01(int64_t x) { return x + 2; }")
    functions = [lib.function("double f_00(double x)"), lib.function("int64_t f_01(int64_t x)")]
    return lib.interface("f", functions)


@pytest.mark.row("P30", "P33", "P31")
def test_one_name_for_several_functions():
    f = overloaded()
    assert f(1) == 3
    assert type(f(1)) is int
    assert f(1.5) == 3.5
    assert type(f(1.5)) is float
    refuses(TypeError, lambda: f("a"), "Unexpected type for argument x")


@pytest.mark.row("P32")
def test_an_unexpected_combination():
    lib = from_c(
        "double ff(double x, double y) { return x + y; }\nint64_t ii(int64_t x, int64_t y) { return x + y; }"
    )
    f = lib.interface(
        "f",
        [lib.function("double ff(double x, double y)"), lib.function("int64_t ii(int64_t x, int64_t y)")],
    )
    assert f(3.5, 4.0) == 7.5
    assert f(3, 4) == 7
    refuses(TypeError, lambda: f(3.5, 4), "Unexpected type combination")


@pytest.mark.row("P02i")
def test_scalars_are_strict_within_an_interface():
    f = overloaded()
    refuses(TypeError, lambda: f(True), "Unexpected type for argument x")
    lib = from_c("double f_00(double x) { return x; }\nbool f_01(bool x) { return x; }")
    f = lib.interface("f", [lib.function("double f_00(double x)"), lib.function("bool f_01(bool x)")])
    assert f(True) is True
    assert f(1.0) == 1.0
    refuses(TypeError, lambda: f(1), "Unexpected type for argument x")


# ---- addresses, errors ---------------------------------------------------------------------------


def test_the_address_is_the_c_functions():
    f = from_c(ADD3).function("int64_t f(int64_t x)")
    assert ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(f.address)(39) == 42


@pytest.mark.row("P14i")
def test_a_status_becomes_an_exception():
    lib = from_c(
        "int half(int64_t x, int64_t *r) { if (x % 2) return 7; *r = x / 2; return 0; }\n"
        'const char *message(int status) { return status == 7 ? "odd" : "fine"; }'
    )
    message = lib.function("const char *message(int status)")

    def check(status: int) -> None:
        if status:
            raise RuntimeError(message(status))

    half = lib.function("int half(int64_t x, int64_t *r)", out="r", check=check)
    assert half(10) == 5
    refuses(RuntimeError, lambda: half(11), "odd")
    assert half(12) == 6


@pytest.mark.row("P14i")
def test_an_exception_that_check_returns_is_raised():
    lib = from_c("int twice(int x) { return 2 * x; }")
    check = lambda status: ValueError("odd", status) if status else None  # noqa: E731
    twice = lib.function("int twice(int x)", check=check)
    assert twice(0) is None
    refuses(ValueError, lambda: twice(3), "odd")


def test_a_missing_library_or_symbol_is_named():
    refuses(OSError, lambda: cwrapjit.library("none", "/nowhere/libnone.so"), "/nowhere/libnone.so")
    refuses(OSError, lambda: cwrapjit.library("none", libraries=["no_such_library"]), "no_such_library")
    lib = from_c(ADD3, name="adding")
    refuses(AttributeError, lambda: lib.function("int64_t g(int64_t x)"), "symbol g", "adding")
    refuses(AttributeError, lambda: lib.nothing_of_this_name, "nothing_of_this_name")


def test_a_failing_definition_leaves_the_library_as_it_was():
    lib = from_c(ADD3)
    for text, error, word in (
        ("int64_t f(", cwrapjit.CompileError, "unexpected end of input"),
        ("int64_t f(what x)", cwrapjit.CompileError, "what is not a known type"),
        ("int64_t f(int64_t x, ...)", NotImplementedError, "variable number of arguments"),
        ("", ValueError, "declares 0 functions"),
        ("int f(x) int x;", cwrapjit.CompileError, "x is not a known type"),
    ):
        refuses(error, lambda text=text: lib.function(text), word)
    assert lib.function("int64_t f(int64_t x)")(2) == 5


# ---- structs by value that libtcc passes wrongly -------------------------------------------------


@pytest.mark.quick
def test_small_structs_of_mixed_members_are_never_wrong(tmp_path):
    lib = from_shared(
        "struct mixed { double d; long k; };\n"
        "double total(struct mixed m) { return m.d + m.k; }\n"
        "struct mixed make(double d, long k) { struct mixed m = {d, k}; return m; }",
        tmp_path,
        header="struct mixed { double d; long k; };",
    )
    cls = lib.struct("struct mixed { double d; long k; };")
    make = lib.function("struct mixed make(double d, long k)")
    total = lib.function("double total(struct mixed m)")
    made = make(0.5, 7)
    assert isinstance(made, cls)
    assert (made.d, made.k, total(made)) == (0.5, 7, 7.5)


# With their sizes. What libtcc passes wrongly is small on x86-64; on arm64 it is up to four floating numbers.
FLOATS_IN_ARRAYS = {
    "float m[1];": 4,
    "float m[2];": 8,
    "double m[2];": 16,
    "float m[4];": 16,
    "float k; float m[1];": 8,
    "struct pair m;": 8,
    "struct pair m[2];": 16,
    "double m[3]; double k;": 32,
    "struct { double q[2]; } m[2];": 32,
    "union { double k; double m[4]; } u;": 32,
    "double m[5];": 40,
    "float m[2]; int k;": 12,
}


@pytest.mark.row("X02")
@pytest.mark.parametrize("members", FLOATS_IN_ARRAYS)
def test_structs_with_arrays_of_floats_are_never_wrong(tmp_path, members):
    text = "struct pair { float q[2]; };\nstruct s { " + members + " };\n"
    lib = from_shared(
        text + "struct s same(double d, struct s x) { return x; }\n"
        "struct s of(const unsigned char *p) { return *(const struct s *)p; }\n"
        "void bytes(struct s x, unsigned char *p) { *(struct s *)p = x; }",
        tmp_path,
    )
    lib.declare(text)
    lib.struct("struct s")
    of = lib.function("struct s of(const uint8_t p[40])")
    same = lib.function("struct s same(double d, struct s x)")
    to_bytes = lib.function("void bytes(struct s x, uint8_t p[40])", inout="p")
    data = np.array([1.5, -2.5, 3.5, 4.5, -5.5, 6.5, 7.5, -8.5, 9.5, 10.5], np.float32).view(np.uint8)
    out = np.zeros(40, np.uint8)
    to_bytes(same(1.0, of(data)), out)
    size = FLOATS_IN_ARRAYS[members]
    assert out[:size].tolist() == data[:size].tolist()


def test_importing_cwrapjit_loads_nothing_of_this():
    python(
        "import sys, cwrapjit\n"
        "loaded = [name for name in sys.modules if 'pycparser' in name or 'cwrapjit.library' in name]\n"
        "assert not loaded, loaded\n"
        "cwrapjit.library('m', libraries=['m']).function('double cbrt(double x)')(8.0)\n"
        "assert 'pycparser' in sys.modules\n"
    )
