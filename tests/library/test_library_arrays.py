"""Tests library functions on arrays: geometry, checks, layout, and the memory of results."""

from __future__ import annotations

import gc
import inspect
import sys
from typing import Any

import numpy as np
import pytest
from helpers import ar, refuses, same
from leaks import keeps_nothing
from library_tools import from_c, from_shared

import cwrapjit

TOTALS = """
double total(int64_t n, int64_t s, const double *x)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i * s];
    return sum;
}
double weighed(int64_t n, int64_t m, int64_t sn, int64_t sm, const double *x)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++)
            sum += (100 * i + j + 1) * x[i * sn + j * sm];
    return sum;
}
"""


def weigh(x: Any) -> float:
    n, m = x.shape
    return float(((100 * np.arange(n)[:, None] + np.arange(m) + 1) * x).sum())


# ---- data, sizes and strides ---------------------------------------------------------------------


@pytest.mark.quick
@pytest.mark.row("P01", "P02")
def test_an_array_is_passed_as_data_sizes_and_strides():
    lib, x, wide = from_c(TOTALS), ar(11), ar(6, 9)
    f = lib.function("double total(int64_t n, int64_t s, const double x[n])", strides={"s": ("x", "first")})
    assert [f(each) for each in (x, x[1::2], x[::-1], x[7:2:-2], x[:0])] == [55, 25, 55, 15, 0]
    assert f(np.broadcast_to(2.0, 7)) == 14
    odd = np.zeros(4, [("x", "f8"), ("w", "i4")])["x"]
    refuses(ValueError, lambda: f(odd), "argument x", "stride")
    g = lib.function(
        "double weighed(int64_t n, int64_t m, int64_t sn, int64_t sm, const double x[n][m])",
        strides={"sn": ("x", 0, "first"), "sm": ("x", 1, "first")},
    )
    views = [
        wide,
        wide.T,
        ar(5, 4, 6)[:, 2, :],
        wide[::2, ::3],
        wide[::-1],
        wide[:, ::-1],
        wide[5:1:-2, 8::-3],
    ]
    for view in views:
        assert g(view) == weigh(view)


@pytest.mark.row("P09")
def test_array_arguments():
    lib = from_c(
        "void f(int64_t n, const int64_t *x, int64_t *r) { for (int i = 0; i < n; i++) r[i] = x[i] + 3; }"
    )
    f = lib.function("void f(int64_t n, const int64_t x[n], int64_t r[n])", out="r")
    assert same(f(np.array([1, 2, 3])), np.array([4, 5, 6]))
    assert f(np.array([], np.int64)).shape == (0,)
    for value in [1, 2, 3], (1, 2, 3), 5, None, "abc":
        refuses(TypeError, lambda value=value: f(value), "argument x", f"got {type(value).__name__}")


@pytest.mark.leak
@pytest.mark.row("P10")
def test_an_array_that_the_callee_allocates_is_freed_with_its_last_view():
    text = """
    int64_t live = 0;
    void f(int64_t n, const double *x, double **data, int64_t *shape)
    {
        *data = malloc(n ? n * sizeof(double) : 1);
        for (int64_t i = 0; i < n; i++)
            (*data)[i] = x[i] + 3;
        *shape = n;
        live++;
    }
    void give_back(void *data) { live--; free(data); }
    int64_t living(void) { return live; }
    """
    lib = from_c(text)
    f = lib.function(
        "void f(int64_t n, const double x[n], double **data, int64_t *shape)",
        returns={"data": (("shape",), "callee", "give_back")},
    )
    living = lib.function("int64_t living(void)")
    got = f(np.array([1.0, 2.0, 3.0]))
    assert got.tolist() == [4, 5, 6]
    assert type(got.base).__name__ == "PyCapsule"
    part = got[1:]
    del got
    gc.collect()
    assert living() == 1
    assert part.tolist() == [5, 6]
    del part
    gc.collect()
    assert living() == 0
    x = ar(100)
    keeps_nothing(lambda: f(x), 1000, (x,))
    assert living() == 0


# ---- optional arrays -----------------------------------------------------------------------------


@pytest.mark.row("P12", "P07i")
def test_absent_optional_arrays_and_texts_are_null():
    lib = from_c(
        "double f(int64_t s, const double *x) { return x ? x[s] : -1; }"
        "double g(const double *x) { return x ? x[1] : -1; }"
        "int64_t h(const char *s) { return s ? s[0] : -1; }"
    )
    f = lib.function("double f(int64_t s, const double x[3])", optional="x", strides={"s": ("x", "first")})
    assert [f(), f(None), f(ar(3)), f(ar(6)[::-2])] == [-1, -1, 1, 3]
    refuses(TypeError, lambda: f([1.0, 2.0, 3.0]), "argument x")
    refuses(ValueError, lambda: f(ar(4)), "argument x is 4", "must be 3")
    g = lib.function("double g(const double x[2][3])", optional="x", order="F")
    assert [g(), g(np.asfortranarray(ar(2, 3)))] == [-1, 3]
    refuses(TypeError, lambda: g(ar(2, 3)), "argument x", "order")
    h = lib.function("int64_t h(const char *s)", optional="s")
    assert [h(), h(None), h(""), h("four")] == [-1, -1, 0, ord("f")]


# ---- checks --------------------------------------------------------------------------------------


@pytest.mark.row("P22", "P23")
def test_all_faults_of_an_array_are_in_one_message():
    lib = from_c("double f(int64_t n, int64_t m, const double *x) { return x[1]; }")
    text = "double f(int64_t n, int64_t m, const double x[n][m])"
    f, by_columns, x = lib.function(text), lib.function(text, order="F"), ar(2, 3)
    wrong = np.asfortranarray(np.ones((2, 3, 4), np.int32))
    faults = "dtype is int32, not float64; rank is 3, not 2; ordering is F, not C"
    refuses(TypeError, lambda: f(wrong), "type float64[:,:] for argument x", faults)
    assert (f(x), by_columns(x.T), by_columns(np.asfortranarray(x))) == (1, 1, 3)
    refuses(TypeError, lambda: f(np.asfortranarray(x)), "argument x", "ordering is F, not C")
    refuses(TypeError, lambda: by_columns(x), "argument x", "ordering is C, not F")
    refuses(TypeError, lambda: f(x.astype(">f8")), "dtype is >f8")
    refuses(ValueError, lambda: f(ar(4, 6)[::2, ::2]), "argument x is not contiguous")
    unaligned = np.frombuffer(bytearray(49), np.uint8)[1:].view(np.float64).reshape(2, 3)
    refuses(ValueError, lambda: f(unaligned), "argument x is not aligned")
    for order in "C", "F":  # order does not matter for one dim
        line = lib.function("double f(int64_t n, int64_t m, const double x[n])", order=order)
        assert line(5, ar(3)) == 1


@pytest.mark.quick
@pytest.mark.row("P24")
def test_a_strided_array_is_written_where_it_is_and_nowhere_else():
    lib = from_c("void set(int64_t n, int64_t s, double *x) { while (n-- > 0) x[n * s] = 7; }")
    f = lib.function("void set(int64_t n, int64_t s, double x[n])", strides={"s": ("x", "first")})
    x = np.ones((2, 3, 4))
    wanted = x.copy()
    wanted[0, :, 3] = 7
    f(x[0, :, 3])
    assert np.array_equal(x, wanted)
    line = ar(9)
    f(line[8:2:-3])
    assert line.tolist() == [0, 1, 2, 3, 4, 7, 6, 7, 7]
    line.flags.writeable = False
    refuses(ValueError, lambda: f(line[::2]), "argument x is written, but is read-only")


# ---- written in place, and new -------------------------------------------------------------------


@pytest.mark.row("P25")
@pytest.mark.parametrize("order", ["C", "F"])
def test_flags_of_a_returned_array(order):
    lib = from_c("void f(int64_t n, int64_t m, double *r) { for (int i = 0; i < n * m; i++) r[i] = i; }")
    f = lib.function("void f(int64_t n, int64_t m, double r[n][m])", out="r", order=order)
    r = f(2, 3)
    assert r.flags.writeable and r.flags.aligned and r.flags[f"{order}_CONTIGUOUS"]
    assert np.array_equal(r, np.arange(6.0).reshape(2, 3, order=order))


# ---- an argument as the result -------------------------------------------------------------------


# ---- leading dimensions, broadcasting ------------------------------------------------------------


# ---- the seed's functions ------------------------------------------------------------------------

ADD3 = "int64_t f(int64_t x) { return x + 3; }"
PLUS = """
void f(int64_t n, const double *x, double y, double *r)
{
    for (int64_t i = 0; i < n; i++)
        r[i] = x[i] + y;
}
"""


def plus() -> Any:
    """Returns the seed's example: x + y, with y = 3 by default."""
    return from_c(PLUS).function(
        "void f(int64_t n, const double x[n], double y, double r[n])", out="r", defaults={"y": 3.0}
    )


@pytest.mark.quick
@pytest.mark.row("P08", "P11")
def test_scalar_arguments():
    lib = from_c(ADD3 + "int64_t g(const int64_t *x) { return x ? *x + 3 : 2; }")
    f = lib.function("int64_t f(int64_t x)")
    assert lib.f is f and f(2) == f(x=2) == 5
    assert [f(2**62), f(-(2**63))] == [2**62 + 3, -(2**63) + 3]
    refuses(TypeError, lambda: f(), "t.f()", "missing required argument 'x'")
    for value in 2.0, np.float64(2.0), "2", ar(1), 2j:
        refuses(TypeError, lambda value=value: f(value), "argument x, got ")
    g = lib.function("int64_t g(const int64_t *x)", optional="x")
    assert [g(), g(None), g(x=None), g(0), g(x=-5)] == [2, 2, 2, 3, -2]
    refuses(TypeError, lambda: g("a"), "argument x", "got str")


@pytest.mark.row("P17", "P18", "P01i", "P21")
def test_positions_and_keywords():
    f, x = plus(), ar(4)
    assert np.array_equal(f(x), x + 3) and np.array_equal(f(x, None), x + 3)
    for made in f(x, 2.0), f(x, y=2.0), f(y=2.0, x=x), f(x, 2):
        assert np.array_equal(made, x + 2)
    refuses(TypeError, lambda: f(x, 2.0, 3.0), "t.f()", "takes 2 positional", "but 3 were given")
    refuses(TypeError, lambda: f(x, z=2.0), "t.f()", "'z'")
    refuses(TypeError, lambda: f(x, x=x), "t.f()", "multiple values for argument 'x'")
    refuses(TypeError, lambda: f(y=2.0), "t.f()", "missing required argument 'x'")
    for value, got in ("a", "str"), (1j, "complex"), (b"1", "bytes"), ([1.0], "list"):
        refuses(TypeError, lambda value=value: f(x, value), "t.f(): ", f"argument y, got {got}")
    refuses(OverflowError, lambda: f(x, -(10**400)), "argument y: -1000")


# ---- scalars of every type -----------------------------------------------------------------------

NUMBERS = {
    "int8_t": np.int8, "int16_t": np.int16, "int32_t": np.int32, "int64_t": int, "uint8_t": np.uint8,
    "uint16_t": np.uint16, "uint32_t": np.uint32, "uint64_t": np.uint64, "int": int, "short": np.int16,
    "long": int, "unsigned long": np.uint64, "long long": int, "double": float, "float": np.float32,
    "bool": bool,
}  # fmt: skip


@pytest.mark.row("P19", "P20")
def test_numbers_round_trip():
    names = {ctype: "f_" + ctype.replace(" ", "_") for ctype in NUMBERS}
    lib = from_c("".join(f"{ctype} {name}({ctype} x) {{ return x; }}\n" for ctype, name in names.items()))
    for ctype, kind in NUMBERS.items():
        f = lib.function(f"{ctype} {names[ctype]}({ctype} x)")
        dtype = np.dtype({"int": np.intc}.get(ctype, kind))
        if dtype.kind == "b":
            ends, beyond = [False, True], []
        elif dtype.kind == "f":
            ends, beyond = [np.finfo(dtype).max, np.finfo(dtype).tiny, -1.5, float("inf")], []
        else:
            ends = [int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)]
            beyond = [ends[0] - 1, ends[1] + 1]
        for value in ends:
            assert f(value) == f(dtype.type(value)) == value and type(f(value)) is kind
        for value in beyond:
            refuses(OverflowError, lambda f=f, value=value: f(value), f"{value} is out of range of {dtype}")
        if dtype.kind == "f":
            assert np.isnan(f(float("nan"))) and np.signbit(f(-0.0))


@pytest.mark.row("P19", "P20")
@pytest.mark.parametrize("ctype, dtype", [("double", np.complex128), ("float", np.complex64)])
def test_complex_numbers_round_trip(ctype, dtype, tmp_path):
    text = f"{ctype} _Complex same({ctype} _Complex x)"
    f = from_shared(text + " { return x; }", tmp_path).function(text)
    big = float(np.finfo(dtype).max)
    for value in 1.5 - 2j, complex(big, -big), 0j:
        assert f(value) == f(dtype(value)) == dtype(value) and type(f(value)) is dtype
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


@pytest.mark.row("P20", "P15i")
def test_results_are_packed_by_their_declared_types():
    lib = from_c(
        "void nothing(void) {}\n"
        "double several(double x, int32_t *whole, double *rest)\n"
        "{ *whole = (int32_t)x; *rest = x - *whole; return 2 * x; }\n"
        "void grow(size_t *len) { *len *= 2; }"
    )
    assert lib.function("void nothing(void)")() is None
    got = lib.function("double several(double x, int32_t *whole, double *rest)", out=("whole", "rest"))(2.25)
    assert got == (4.5, 2, 0.25) and [type(each) for each in got] == [float, np.int32, float]
    grow = lib.function("void grow(size_t *len)", inout="len")
    assert grow(21) == 42
    refuses(TypeError, lambda: grow("a"), "argument len")


# ---- calls, signatures and docstrings ------------------------------------------------------------


@pytest.mark.row("P03i")
def test_positional_only_and_keyword_only_arguments():
    text = "double f(double x, double y, double z)"
    f = from_c(text + " { return 100 * x + 10 * y + z; }").function(
        text, positional_only=("x",), keyword_only=("z",)
    )
    assert f(1.0, 2.0, z=3.0) == f(1.0, y=2.0, z=3.0) == 123
    refuses(TypeError, lambda: f(x=1.0, y=2.0, z=3.0), "positional-only argument 'x'")
    refuses(TypeError, lambda: f(1.0, 2.0, 3.0), "takes 2 positional", "but 3 were given")
    refuses(TypeError, lambda: f(1.0, 2.0), "missing required keyword-only argument 'z'")
    assert str(inspect.signature(f)).startswith("(x: float, /, y: float, *, z: float)")


@pytest.mark.row("P26", "P08i")
def test_name_and_docstring():
    doc = 'Adds "three".\n\n\\n stays as it is, ä too.'
    lib = from_c(ADD3, name="adding", doc="A library.\nOf one function.")
    f = lib.function("int64_t f(int64_t x)", doc=doc)
    assert (f.__name__, f.__qualname__, f.__doc__) == ("f", "adding.f", doc)
    f.__doc__ = "other"
    assert f.__doc__ == "other" and lib.__doc__ == "A library.\nOf one function."
    other = lib.function("int64_t f(int64_t x)", name="add_three", defaults={"x": 3})
    assert other.__name__ == "add_three" and lib.add_three(1) == 4
    assert repr(other) == "<cwrapjit.LibraryFunction adding.add_three(x: int = 3) -> int>"


@pytest.mark.row("P04")
def test_names_of_arguments_collide_with_nothing():
    for name in "self", "args", "kwargs", "kwlist", "x_obj", "s", "cwj_slot":
        text = f"double f(double {name}, double b)"
        f = from_c(text + f"{{ return {name} - b; }}").function(text)
        assert f(3.0, 1.0) == f(**{"b": 1.0, name: 3.0}) == 2


@pytest.mark.row("P11i")
def test_none_and_booleans_are_real_references():
    lib = from_c("void nothing(void) {}\nbool truth(void) { return 1; }\nbool untruth(void) { return 0; }")
    for text, value in (
        ("void nothing(void)", None),
        ("bool truth(void)", True),
        ("bool untruth(void)", False),
    ):
        call = lib.function(text)
        gc.collect()  # garbage of other tests must not count
        before = sys.getrefcount(value)
        kept = [call() for _ in range(5000)]
        assert all(each is value for each in kept)
        if sys.version_info < (3, 12):  # since 3.12 they are immortal
            assert sys.getrefcount(value) > before + 4900  # other threads hold references, too
        del kept
        assert abs(sys.getrefcount(value) - before) < 100


# ---- addresses, errors ---------------------------------------------------------------------------


@pytest.mark.row("P14i")
def test_a_status_becomes_an_exception():
    """The check may raise the exception, or return it."""
    lib = from_c(
        "int half(int64_t x, int64_t *r) { if (x % 2) return 7; *r = x / 2; return 0; }\n"
        'const char *message(int status) { return status == 7 ? "odd" : "fine"; }'
    )
    message = lib.function("const char *message(int status)")

    def raises(status: int) -> None:
        if status:
            raise RuntimeError(message(status))

    for check, error in (raises, RuntimeError), (lambda s: KeyError(message(s)) if s else None, KeyError):
        half = lib.function("int half(int64_t x, int64_t *r)", out="r", check=check, discard="return")
        assert half(10) == 5
        refuses(error, lambda half=half: half(11), "odd")
        assert half(12) == 6


def test_a_missing_library_or_symbol_is_named():
    refuses(OSError, lambda: cwrapjit.library("none", "/nowhere/libnone.so"), "/nowhere/libnone.so")
    refuses(OSError, lambda: cwrapjit.library("none", libraries=["no_such_library"]), "no_such_library")
    lib = from_c(ADD3, name="adding")
    refuses(AttributeError, lambda: lib.function("int64_t g(int64_t x)"), "symbol g", "adding")
    refuses(AttributeError, lambda: lib.nothing_of_this_name, "nothing_of_this_name")


# ---- structs by value that libtcc passes wrongly -------------------------------------------------


# Members and sizes. On x86-64 libtcc passes small ones wrongly, on arm64 up to four floats.
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
def test_structs_with_arrays_of_floats_are_never_wrong(tmp_path):
    text = code = "struct pair { float q[2]; };\n"
    for k, members in enumerate(FLOATS_IN_ARRAYS):
        text += f"struct s{k} {{ {members} }};\n"
        code += (
            f"struct s{k} {{ {members} }};\n"
            f"struct s{k} same{k}(double d, struct s{k} x) {{ return x; }}\n"
            f"struct s{k} of{k}(const unsigned char *p) {{ return *(const struct s{k} *)p; }}\n"
            f"void bytes{k}(struct s{k} x, unsigned char *p) {{ *(struct s{k} *)p = x; }}\n"
        )
    lib = from_shared(code, tmp_path)
    lib.declare(text)
    data = np.array([1.5, -2.5, 3.5, 4.5, -5.5, 6.5, 7.5, -8.5, 9.5, 10.5], np.float32).view(np.uint8)
    for k, size in enumerate(FLOATS_IN_ARRAYS.values()):
        of = lib.function(f"struct s{k} of{k}(const uint8_t p[40])")
        same = lib.function(f"struct s{k} same{k}(double d, struct s{k} x)")
        to_bytes = lib.function(f"void bytes{k}(struct s{k} x, uint8_t p[40])", inout="p")
        out = np.zeros(40, np.uint8)
        to_bytes(same(1.0, of(data)), out)
        assert out[:size].tolist() == data[:size].tolist(), text.splitlines()[k + 1]
