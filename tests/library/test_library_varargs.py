"""Tests what C passes in special ways: variadic numbers, complex ones by value, _Bool, wide enums, NULL."""

from __future__ import annotations

import cmath
from typing import Any

import numpy as np
import pytest
from helpers import refuses
from leaks import keeps_nothing
from library_tools import from_c, from_shared

import cwrapjit

pytestmark = pytest.mark.row("L12")

SNPRINTF = "int snprintf(uint8_t s[size], size_t size, const char *format, ...)"


@pytest.fixture(scope="module")
def libc() -> Any:
    return cwrapjit.library("c", libraries=["c"])


def printer(libc: Any, *varargs: str, **options: Any) -> Any:
    """Returns snprintf for these types, as a function of a format and values that returns text."""
    f = libc.function(SNPRINTF, name="print_" + str(len(varargs)), out="s", varargs=varargs, **options)

    def text(*given: Any) -> str:
        length, made = f(400, *given)
        return bytes(made)[:length].decode()

    return text


# ---- variadic arguments --------------------------------------------------------------------------------


def test_each_type_arrives(libc):
    show = printer(libc, "double", "int", "const char *name", "size_t", "long long", "void *")
    given = (1 / 3, -5, "né", 2**64 - 1, -(2**63), None)
    assert show("%.17g|%d|%s|%zu|%lld|%p", *given) == (
        "0.33333333333333331|-5|né|18446744073709551615|-9223372036854775808|(nil)"
    )
    assert printer(libc)("no more") == "no more"
    assert printer(libc, "int")("%d", 7) == "7", "a name that is declared again has the new types"


def test_numbers_that_do_not_fit_into_registers_arrive(libc):
    show = printer(libc, *["double", "long"] * 12)
    numbers = [each for k in range(12) for each in (k + 0.5, -k)]
    assert show("%g %ld " * 12, *numbers).split() == [f"{each:g}" for each in numbers]


def test_narrow_types_are_promoted_as_c_does(libc):
    """Narrow numbers are checked as their own type, and passed as a double or an int."""
    show = printer(libc, "float", "signed char", "unsigned char", "short", "unsigned short", "_Bool")
    rest = (-128, 255, -32768, 65535, True)
    for number in np.float32(0.1), 0.1:
        assert show("%.9g %d %d %d %d %d", number, *rest) == "0.100000001 -128 255 -32768 65535 1"
    refuses(OverflowError, lambda: show("%g%d%d%d%d%d", 1.0, 128, 0, 0, 0, True), "128 is out of range")
    refuses(TypeError, lambda: show("%g%d%d%d%d%d", 1.0, 1, 0, 0, 0, 1), "type bool for argument arg9")


def test_count_and_types_are_checked_in_each_call(libc):
    f = libc.function(SNPRINTF, out="s", varargs=("double", "int times"))
    refuses(TypeError, lambda: f(9, "%g", 1.0), "times")
    refuses(TypeError, lambda: f(9, "%g", 1.0, 2, 3), "4 positional arguments but 5 were given")
    refuses(TypeError, lambda: f(9, "%g", "1", 2), "type float for argument arg4, got str")
    refuses(TypeError, lambda: f(9, "%g", 1.0, 2.0), "type int for argument times, got float")
    assert f(9, "%g", 1.0, times=2)[0] == 1


def test_one_function_has_several_names(libc):
    one = libc.function(SNPRINTF, name="print_int", out="s", varargs="int")
    other = libc.function(SNPRINTF, name="print_double", out="s", varargs=("double x",))
    assert libc.print_int is one and libc.print_double is other and one.address == other.address
    assert bytes(one(4, "%d", 3)[1]) == b"3\0\0\0" and bytes(other(4, "%g", x=2.5)[1]) == b"2.5\0"
    shown = "int snprintf(uint8_t s[size], size_t size, const char *format, ...)\n\nBehind the dots: double x"
    assert other.__doc__ == shown


def test_other_options_name_what_varargs_says(libc):
    scan = "int sscanf(const char *text, const char *format, ...)"
    f = libc.function(scan, varargs=("int *a", "double *b", "uint8_t word[8]"), out=("a", "b", "word"))
    count, a, b, word = f("12 -2.5 abc", "%d %lf %7s")
    assert (count, a, b, bytes(word)) == (3, 12, -2.5, b"abc\0\0\0\0\0")
    f = libc.function(scan, varargs=("int *a",), inout="a", check=None)
    assert f("x", "%d", 5) == (0, 5)
    f = libc.function(scan, varargs=("int *a",), optional="a")
    assert f("12", "%*d") == 0 and f("12", "%*d", None) == 0


def test_what_varargs_cannot_be(libc):
    def declare(varargs: Any, text: str = "int printf(const char *format, ...)") -> Any:
        return lambda: libc.function(text, varargs=varargs)

    for given in (5, (5,), {"int": 1}):
        refuses(TypeError, declare(given), "c.printf(): varargs must be a tuple of C types, not")
    for text in ("int, int", "int); void g(int", "void", "", "int) {} int x(", "what_t"):
        refuses(ValueError, declare((text,)), "varargs[0]")
    for text in ("...", "int +", "1"):
        refuses(ValueError, declare(("int", text)), "varargs[1]", "is no C type")
    refuses(ValueError, declare(("int format",)), "varargs[0]: another parameter is called format")
    refuses(ValueError, declare(("int",), "int abs(int x)"), "varargs: the declaration does not end with ...")
    refuses(TypeError, declare(("__int128",)), "arg2 is a __int128")
    refuses(NotImplementedError, declare(None), "variable number of arguments (...), whose types varargs=")


def test_of_whole_headers():
    libc = cwrapjit.library("c", libraries=["c"])
    text = "int snprintf(char *s, size_t n, const char *format, ...); int abs(int x);"
    libc.declare(text, options={"snprintf": {"varargs": "int"}})
    assert libc.snprintf(None, 0, "%d", 1234) == 4 and libc.unmapped == {}
    libc = cwrapjit.library("c", libraries=["c"])
    libc.declare(text)
    assert "whose types varargs= would say" in libc.unmapped["snprintf"]
    libc.refine("*", varargs=("double *at",), inout="at")  # applies to variadic functions alone
    assert libc.mapped == ["abs", "snprintf"] and libc.abs(-3) == 3
    libc.refine("snprintf", varargs=("double",), inout=())
    assert libc.snprintf(None, 0, "%.3f", 0.5) == 5


@pytest.mark.parametrize("debug", [False, True])
def test_our_own_variadic_functions(tmp_path, debug):
    """libtcc or the system's compiler builds the function; arguments may be structs, too."""
    text = """
    #include <stdarg.h>
    typedef struct { double x, y; } spot;
    typedef struct { long a, b, c; } large;
    double total(int n, ...)
    {
        double sum = 0; va_list rest; va_start(rest, n);
        for (int i = 0; i < n; i++) sum += va_arg(rest, double);
        va_end(rest); return sum;
    }
    double of_structs(int n, ...)
    {
        va_list rest; va_start(rest, n);
        spot s = va_arg(rest, spot); large l = va_arg(rest, large); spot *p = va_arg(rest, spot *);
        va_end(rest); return s.x - s.y + l.a + l.b * l.c + p->y;
    }
    """
    types = "typedef struct { double x, y; } spot; typedef struct { long a, b, c; } large;"
    for lib in (
        from_c(text, header=types, debug=debug),
        from_shared(text, tmp_path, header=types, debug=debug),
    ):
        f = lib.function("double total(int n, ...)", varargs=["double"] * 10)
        assert f(10, *range(10)) == 45
        spot, large = lib.struct("spot"), lib.struct("large")
        f = lib.function("double of_structs(int n, ...)", varargs=("spot", "large", "spot *"))
        assert f(3, spot(5.0, 2.0), large(1, 2, 3), spot(0.0, 0.5)) == 10.5
        refuses(TypeError, lambda f=f, spot=spot: f(3, spot(), spot(), spot()), "large")


def test_variadic_functions_broadcast():
    lib = from_c("""
        #include <stdarg.h>
        double pick(int n, ...)
        {
            va_list rest; va_start(rest, n);
            double x = va_arg(rest, double); int k = va_arg(rest, int); va_end(rest); return n * x + k;
        }
        """)
    f = lib.function("double pick(int n, ...)", varargs=("float x", "short k"), broadcast=True)
    x = np.array([0.5, 1.5], np.float32)
    assert f(np.int32(2), x, np.array([[1], [2]], np.int16)).tolist() == [[2, 4], [3, 5]]


def test_methods_take_varargs():
    text = """
        #include <stdarg.h>
        typedef struct { double sum; } counter;
        void counter_add(counter *c, ...)
        {
            va_list rest; va_start(rest, c); c->sum += va_arg(rest, double) + va_arg(rest, int); va_end(rest);
        }
        """
    lib = from_c(text, header="typedef struct { double sum; } counter;")
    add = ("void counter_add(counter *c, ...)", {"varargs": ("double", "int n")})
    c = lib.struct("counter", methods=[add])(1.0)
    c.add(0.5, n=2)
    assert c.sum == 3.5


# ---- complex numbers by value --------------------------------------------------------------------------


def test_complex_numbers_by_value():
    libm = cwrapjit.library("m", libraries=["m"])
    for name, oracle in (("cexp", cmath.exp), ("csqrt", cmath.sqrt), ("catan", cmath.atan)):
        wide = libm.function(f"double _Complex {name}(double _Complex z)")
        narrow = libm.function(f"float _Complex {name}f(float _Complex z)")
        for z in (0.5 + 2j, -0.25 - 0.125j, 3 + 0j):
            assert wide(z) == pytest.approx(oracle(z), rel=1e-14)
            assert type(narrow(z)) is np.complex64 and narrow(z) == pytest.approx(oracle(z), rel=1e-6)
    assert libm.function("double cabs(double complex z)", broadcast=True)([3 + 4j, 5j]).tolist() == [5, 5]
    cpow = libm.function("double _Complex cpow(double _Complex x, double _Complex y)")
    assert cpow(1 + 2j, 0.5 - 1j) == pytest.approx((1 + 2j) ** (0.5 - 1j), rel=1e-14)


def test_complex_numbers_where_registers_end(tmp_path):
    """The fifth double complex does not fit into the eight registers, so all of it is on the stack."""
    text = """
    #include <complex.h>
    #include <stdarg.h>
    double _Complex mix(double a, double _Complex b, float _Complex c, double _Complex d, double _Complex e,
                        int i, double _Complex f, double g, float _Complex h)
    { return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * i + 7 * f + 8 * g + 9 * h; }
    double _Complex sum(int n, ...)
    {
        double _Complex sum = 0; va_list rest; va_start(rest, n);
        for (int i = 0; i < n; i++) sum += (i + 1) * va_arg(rest, double _Complex);
        va_end(rest); return sum;
    }
    """
    lib = from_shared(text, tmp_path)
    mix = lib.function("""
        double _Complex mix(double a, double _Complex b, float _Complex c, double _Complex d,
                            double _Complex e, int i, double _Complex f, double g, float _Complex h)
        """)
    given = (1.0, 2 + 1j, 3 - 2j, 4 + 3j, 5 - 4j, 6, 7 + 5j, 8.0, 9 - 6j)
    assert mix(*given) == sum((k + 1) * each for k, each in enumerate(given))
    f = lib.function("double _Complex sum(int n, ...)", varargs=["double _Complex"] * 6)
    given = [k + 1j * k * k for k in range(6)]
    assert f(6, *given) == sum((k + 1) * each for k, each in enumerate(given))


# ---- long double ---------------------------------------------------------------------------------------


def test_long_doubles_keep_their_digits(tmp_path):
    """Values go to and from libm, and the system compiler's functions, in registers and on the stack."""
    libm = cwrapjit.library("m", libraries=["m"])
    libm.declare(
        """
        long double sqrtl(long double x); long double fmal(long double a, long double b, long double c);
        long double modfl(long double x, long double *whole); long double frexpl(long double x, int *e);
        """,
        options={"modfl": {"out": "whole"}, "frexpl": {"out": "e"}},
    )
    third = np.longdouble(1) / 3
    assert type(libm.sqrtl(third)) is np.longdouble and libm.sqrtl(third) == np.sqrt(third)
    assert 0 < abs(libm.fmal(third, 3, -1)) < np.finfo(np.longdouble).eps
    assert libm.modfl(third + 5) == ((third + 5) % 1, 5) and libm.frexpl(third) == (third * 2, -1)
    assert libm.sqrtl(4) == libm.sqrtl(np.float32(4)) == libm.sqrtl(np.float64(4)) == 2
    refuses(TypeError, lambda: libm.sqrtl("1"), "type longdouble for argument x, got str")
    refuses(TypeError, lambda: libm.sqrtl(1j), "longdouble", "got complex")
    mix = """long double mix(long double a, float b, long double c, int d, double e, long double f,
                             long double g)"""
    text = mix + "{ return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g; }"
    tiny = np.longdouble(2) ** -60
    for lib in (from_c(text), from_shared(text, tmp_path)):
        assert lib.function(mix)(1, 2.0, 3, 4, 5.0, 6, 7 + tiny) == 140 + 7 * tiny


def test_long_doubles_in_memory():
    """Long doubles in arrays, structs and behind pointers. The system's compiler passes structs by value."""
    text = """
    struct wide { char c; long double x; long double v[3]; };
    struct pair { int n; long double x; };
    long double total(const long double *x, int n)
    { long double sum = 0; for (int i = 0; i < n; i++) sum += x[i]; return sum; }
    long double pick(const struct wide *w) { return w->x + w->v[2]; }
    struct pair half(struct pair p) { p.x /= 2; p.n++; return p; }
    void twice(long double *x) { *x *= 2; }
    """
    structs = text[: text.index("long double total")]
    lib = from_c(text, header=structs)
    tiny = np.longdouble(2) ** -60
    total = lib.function("long double total(const long double x[n], int n)")
    assert total(np.array([1, tiny, 2], np.longdouble)) == 3 + tiny
    refuses(TypeError, lambda: total(np.ones(3)), "longdouble[:] for argument x", "float64, not float128")
    wide, pair = lib.struct("struct wide"), lib.struct("struct pair")
    w = wide(c="c", x=tiny)
    w.v[:] = [0, 0, 4]
    assert w.x == tiny and type(w.x) is np.longdouble and w.v.dtype == np.longdouble
    assert lib.function("long double pick(const struct wide *w)")(w) == 4 + tiny
    made = lib.function("struct pair half(struct pair p)")(pair(1, 2 * tiny + 2))
    assert (made.n, made.x) == (2, tiny + 1)
    assert lib.function("void twice(long double *x)", inout="x")(tiny + 1) == 2 * tiny + 2


@pytest.mark.quick
def test_long_doubles_in_callbacks_behind_dots_and_broadcast(libc):
    tiny = np.longdouble(2) ** -60
    assert printer(libc, "long double", "int")("%.21Lg|%d", 1 + tiny, 7) == "1.00000000000000000087|7"
    lib = from_c(
        "long double apply(long double (*f)(long double x, int n), long double x) { return f(x, 3); }"
    )
    apply = lib.function("long double apply(long double (*f)(long double x, int n), long double x)")
    seen = []

    def keep(x: Any, n: int) -> Any:
        seen.append(x)
        return x * n

    assert apply(keep, 1 + tiny) == 3 + 3 * tiny and seen == [1 + tiny] and type(seen[0]) is np.longdouble
    assert apply("return x / n;", 3 + 3 * tiny) == 1 + tiny
    sqrtl = cwrapjit.library("m", libraries=["m"]).function(
        "long double sqrtl(long double x)", broadcast=True
    )
    x = np.array([[2], [3]], np.longdouble)
    assert np.array_equal(sqrtl(x), np.sqrt(x)) and sqrtl(x).dtype == np.longdouble


# ---- _Bool, enums, NULL --------------------------------------------------------------------------------


def test_bools_and_wide_enums_go_everywhere():
    text = """
    enum big { LARGE = 0x7fffffffffffffff, LOW = -5 };
    struct both { _Bool sure; enum big size; };
    _Bool nor(_Bool a, _Bool b) { return !(a | b); }
    void flip(_Bool *x) { *x = !*x; }
    void next(enum big *x) { *x -= 1; }
    int count(_Bool *x, int n) { int k = 0; for (int i = 0; i < n; i++) k += x[i]; return k; }
    struct both turned(struct both b) { b.sure = !b.sure; b.size = -b.size; return b; }
    """
    lib = from_c(text)
    lib.declare("""
        enum big { LARGE = 0x7fffffffffffffff, LOW = -5 };
        struct both { _Bool sure; enum big size; };
        _Bool nor(_Bool a, _Bool b); struct both turned(struct both b);
        """)
    assert lib.nor(False, False) is True and lib.nor(True, False) is False
    refuses(TypeError, lambda: lib.nor(1, False), "type bool for argument a, got int")
    flip, step = (
        lib.function("void flip(_Bool *x)", inout="x"),
        lib.function("void next(enum big *x)", inout="x"),
    )
    assert flip(True) is False and step(lib.LARGE) == 2**63 - 2 and step(lib.LOW) == -6
    count = lib.function("int count(_Bool x[n], int n)")
    assert count(np.array([True, False, True])) == 2
    turned = lib.turned(lib.both(True, lib.LARGE))
    assert turned.sure is False and turned.size == -(2**63 - 1)


def test_whatever_is_a_pointer_may_be_null():
    absent = "int absent(const char *s, double *x, const int *one, struct spot *p, void *v, int (*f)(int),"
    absent += " int n, _Bool *b)"
    code = "{ return !s + 2 * !x + 4 * !one + 8 * !p + 16 * !v + 32 * !f + 64 * !b; }"
    lib = from_c(f"struct spot {{ double x; }}; {absent} {code}", header="struct spot { double x; };")
    pointers = ("s", "x", "one", "p", "v", "f", "b")
    f = lib.function(absent.replace("*x", "x[n]"), optional=pointers)
    assert f() == f(None, None, None, None, None, None, b=None) == 127
    x = np.ones(3)
    assert f("s", x, 1, lib.spot(1.0), cwrapjit.Pointer(x), "return arg0;", b=True) == 0
    assert f(x=x, b=False) == 127 - 2 - 64


# ---- leaks ---------------------------------------------------------------------------------------------


@pytest.mark.leak
def test_calls_and_refusals_keep_nothing(libc):
    f = libc.function(SNPRINTF, name="kept", out="s", varargs=("double", "const char *word", "void *"))
    x = np.ones(2)
    pointer = cwrapjit.Pointer(x)

    def work() -> None:
        f(20, "%g %s %p", 1.5, "word", pointer)
        refuses(TypeError, lambda: f(20, "%g %s %p", 1.5, 7, pointer), "word")
        refuses(TypeError, lambda: f(20, "%g %s %p", "1.5", "", x), "arg4")

    keeps_nothing(work, watched=(x, pointer))


@pytest.mark.leak
def test_declarations_keep_nothing():
    def work() -> None:
        lib = cwrapjit.library("c", libraries=["c"])
        refuses(ValueError, lambda: lib.function(SNPRINTF, varargs=("int, int",)), "varargs")
        assert lib.function(SNPRINTF, out="s", varargs=("int",))(3, "%d", 5)[0] == 1

    keeps_nothing(work)
