"""Tests what snippets know without #include, the package's headers, the system's headers, gcc's builtins."""

from __future__ import annotations

import itertools
import math
import pathlib
import subprocess
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from helpers import compiler, refuses, wrap

import cwrapjit
import cwrapjit.graph as cg

INCLUDE = pathlib.Path(cwrapjit.__file__).parent / "include"

ISO = (
    "assert complex ctype errno float inttypes limits math stdarg stdbool stddef stdint stdio stdlib string"
    " tgmath time"
).split()
PYTHON = [
    "Python.h",
    "numpy/arrayobject.h",
    "numpy/ndarrayobject.h",
    "numpy/npy_common.h",
    "numpy/npy_math.h",
    "numpy/halffloat.h",
]


def values(
    expressions: Sequence[str], header: str = "", type_: Any = np.float64, before: str = "", **kw: Any
) -> Any:
    """Returns the values of these C expressions in an array."""
    lines = [before, *(f"item__output({i}) = {text};" for i, text in enumerate(expressions)), "return true;"]
    return wrap((), (len(expressions),), {type_: "\n".join(lines)}, header=header, **kw)()


def true(*expressions: str, **kw: Any) -> None:
    """Each of these C expressions must be true."""
    got = values([f"!!({text})" for text in expressions], **kw)
    assert got.all(), [text for text, ok in zip(expressions, got, strict=True) if not ok]


# ---- without any #include ---------------------------------------------------------------------------


@pytest.mark.row("N02")
def test_the_functions_of_math_h_are_known_in_three_precisions() -> None:
    got = values(
        ["round(2.5)", "sqrt(9)", "hypot(3, 4)", "fma(2, 3, 4)", "copysign(3, -0.0)", "lround(-2.5)"]
    )
    assert got.tolist() == [3, 3, 5, 10, -3, -3]
    for suffix in ("", "f", "l"):
        got = values(
            [f"sqrt{suffix}(2.25)", f"floor{suffix}(-0.5)", f"log2{suffix}(8)", f"tgamma{suffix}(5)"]
        )
        assert got.tolist() == [1.5, -1, 3, 24]
    x, n = values(["frexp(12, &n)", "n"], before="int n;")
    assert (x, n) == math.frexp(12)
    true("isless(1, 2)", "!isgreater(1, NAN)", "isunordered(NAN, 1)", "!islessgreater(NAN, 1)")


@pytest.mark.row("N02")
@pytest.mark.parametrize("ctype", ["float", "double", "long double"])
def test_floating_numbers_are_classified(ctype: str) -> None:
    x = np.array([0, -0.0, 1, -1, np.nan, -np.nan, np.inf, -np.inf, 1e-45, 1e38])
    f = wrap(
        ((),),
        ((), (), (), (), (), ()),
        f"""
        {ctype} x[] = {{item__a(), 7}}, *p = x;
        item__output0() = isnan(*p++);
        if (p != x + 1)
            return false; // evaluated twice
        item__output1() = isinf(x[0]);
        item__output2() = isfinite(x[0]);
        item__output3() = signbit(x[0]) != 0;
        item__output4() = isnormal(x[0]);
        item__output5() = fpclassify(x[0]) == (x[0] == 0 ? FP_ZERO : isnan(x[0]) ? FP_NAN
                          : isinf(x[0]) ? FP_INFINITE : isnormal(x[0]) ? FP_NORMAL : FP_SUBNORMAL);
        return true;
        """,
    )
    nan, inf, finite, sign, normal, agrees = f(x)
    least = np.finfo(np.float32 if ctype == "float" else np.float64).tiny
    assert np.array_equal(nan != 0, np.isnan(x)) and np.array_equal(inf, np.where(np.isinf(x), np.sign(x), 0))
    assert np.array_equal(finite, np.isfinite(x)) and np.array_equal(sign, np.signbit(x)) and agrees.all()
    assert np.array_equal(normal, np.isfinite(x) & (abs(x) >= least))


@pytest.mark.row("N02")
def test_nan_and_infinity_are_the_same_at_run_time_and_in_static_data() -> None:
    got = values(
        ["NAN", "fixed[0]", "-NAN", "INFINITY", "fixed[1]", "HUGE_VAL", "HUGE_VALL"],
        header="static const double fixed[] = {NAN, -INFINITY};",
    )
    assert np.isnan(got[:3]).all() and np.signbit(got[:3]).tolist() == [False, False, True]
    assert got[3:].tolist() == [np.inf, -np.inf, np.inf, np.inf]


@pytest.mark.row("N02")
def test_limits_are_numpys() -> None:
    for name, type_ in (("FLT", np.float32), ("DBL", np.float64), ("LDBL", np.longdouble)):
        info = np.finfo(type_)
        got = values([f"{name}_{what}" for what in ("MAX", "MIN", "EPSILON", "MANT_DIG", "DIG")], type_=type_)
        assert got.tolist() == [info.max, info.tiny, info.eps, info.nmant + 1, info.precision]
    got = values(
        ["INT8_MIN", "INT16_MAX", "INT32_MIN", "INT64_MAX", "INT64_MIN", "LONG_MIN", "CHAR_BIT"],
        type_=np.int64,
    )
    assert got.tolist() == [-(2**7), 2**15 - 1, -(2**31), 2**63 - 1, -(2**63), -(2**63), 8]
    got = values(
        ["UINT8_MAX", "UINT16_MAX", "UINT32_MAX", "UINT64_MAX", "SIZE_MAX", "ULLONG_MAX"], type_=np.uint64
    )
    assert got.tolist() == [2**8 - 1, 2**16 - 1, 2**32 - 1] + 3 * [2**64 - 1]


@pytest.mark.row("N02")
def test_text_and_memory_functions_are_known() -> None:
    true(
        'atof("2.5") == 2.5',
        'strtol("ff", NULL, 16) == 255',
        'strcmp("a", "b") < 0',
        'strlen(strchr("a=b", 61)) == 2',
        'memcmp("x", "x", 2) == 0',
        "abs(-3) == 3 && llabs(-3) == 3",
        "div(7, 2).rem == 1",
        'getenv("no such") == NULL',
    )
    got = wrap(
        (("n",),),
        ("n",),
        """
        npy_intp n = dims_slice__a[0];
        double *copy = malloc((n + 1) * sizeof *copy);
        if (!copy) {
            PyErr_NoMemory();
            return false;
        }
        for (npy_intp i = 0; i < n; i++)
            copy[i] = item__a(i);
        qsort(copy, n, sizeof *copy, ascending);
        for (npy_intp i = 0; i < n; i++)
            item__output(i) = copy[i];
        free(copy);
        return true;
        """,
        header="""static int ascending(const void *x, const void *y)
        { double a = *(const double *)x, b = *(const double *)y; return (a > b) - (a < b); }""",
    )(np.array([3.0, 1, 2]))
    assert got.tolist() == [1, 2, 3]


@pytest.mark.row("N02")
def test_numpys_types_and_numbers_are_known() -> None:
    names = (
        "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 complex64 complex128"
    )
    names += " intp longdouble clongdouble longlong ulonglong byte ubyte short ushort"
    for name in names.split():
        dtype = np.dtype(name)
        size, code = values([f"sizeof(npy_{name})", f"NPY_{name.upper()}"])
        assert (size, code) == (dtype.itemsize, dtype.num), name
    true(
        "NPY_OBJECT == 17",
        "NPY_STRING == 18",
        "NPY_UNICODE == 19",
        "NPY_VOID == 20",
        "NPY_TRUE",
        "(npy_intp)-1 < 0",
    )
    true(
        "((npy_complex128){1, 2}).imag == 2", "sizeof(bool) == 1", "sizeof(int64_t) == 8", "(bool)0.5 == true"
    )


@pytest.mark.row("N54")
def test_every_exception_of_python_can_be_raised() -> None:
    import builtins

    names = [
        name
        for name, value in vars(builtins).items()
        if isinstance(value, type) and issubclass(value, BaseException) and not name.endswith("Group")
    ]
    names = [name for name in names if name[0] != "_"]
    got = values([f"PyExc_{name} != NULL" for name in names])
    assert len(names) > 60 and got.all()


@pytest.mark.row("N02")
def test_names_that_iso_c_leaves_free_are_free() -> None:
    body = (
        "double y0 = 1, j1 = 2, gamma = 3, index = 4, time = 5, exp = 6; int round = 7, read = 8, stat = 9;"
    )
    assert values(["y0 + j1 + gamma + index + time + exp + round + read + stat"], before=body)[0] == 45
    header = (
        "static double gamma(double x) { return 2 * x; }\nstatic double log2(double x) { return x + 100; }"
    )
    assert values(["gamma(4)", "log2(1)"], header=header).tolist() == [8, 101]


@pytest.mark.row("N02", "N80")
def test_declaring_again_what_is_known_is_allowed(strict_warnings: None) -> None:
    header = """
        typedef unsigned char uint8_t; typedef unsigned long size_t; typedef long npy_intp;
        double cbrt(double); double sin(double x); void *malloc(size_t size); int printf(const char *, ...);
        """
    assert values(["cbrt(8) + sin(0)"], header=header)[0] == 2


# ---- the package's headers -----------------------------------------------------------------------------


@pytest.mark.row("N02")
def test_headers_of_the_package_can_be_included(strict_warnings: None) -> None:
    """Each is included alone and twice, and all together in two orders."""
    includes = [f"#include <{name}>" for name in [*PYTHON, *(name + ".h" for name in ISO)]]
    for lines in (*([each, each] for each in includes), includes, ["#define _GNU_SOURCE", *includes[::-1]]):
        assert values(["1"], header="\n".join(lines) + "\n")[0] == 1, lines


@pytest.mark.row("N02")
def test_posix_names_come_with_the_include() -> None:
    got = values(["y0(1)", "finite(1)", "M_PI"], header="#include <math.h>")
    assert got[0] == pytest.approx(0.08825696421567697) and got[1] == 1 and got[2] == math.pi
    refuses(cwrapjit.CompileError, lambda: values(["y0(1)"]), "'y0'")
    true('strcmp(strdup("ab"), "ab") == 0', 'strnlen("abc", 2) == 2', header="#include <string.h>")
    true("rand_r(&seed) >= 0", "(uint)3 == 3", header="#include <stdlib.h>", before="unsigned seed = 1;")


@pytest.mark.row("N02")
def test_the_other_iso_headers_work() -> None:
    true(
        "errno == ERANGE",
        before='errno = 0; strtol("99999999999999999999", NULL, 10);',
        header="#include <errno.h>",
    )
    true("isalpha(97)", "!isdigit(97)", "toupper(97) == 65", header="#include <ctype.h>")
    true(
        "time(NULL) > 1000000000",
        "clock() >= 0",
        "gmtime(&t)->tm_year == 70",
        header="#include <time.h>",
        before="time_t t = 0;",
    )
    true(
        "sum(3, 1, 2, 3) == 6",
        header="""#include <stdarg.h>
        static int sum(int n, ...)
        {
            va_list list;
            int total = 0;
            va_start(list, n);
            while (n--)
                total += va_arg(list, int);
            va_end(list);
            return total;
        }""",
    )
    true(
        'strcmp(text, "-5 ff") == 0',
        header="#include <inttypes.h>",
        before='char text[20]; snprintf(text, 20, "%" PRId64 " %" PRIx32, (int64_t)-5, 255U);',
    )
    true("offsetof(struct s, d) == 8", header="#include <stddef.h>\nstruct s { char c; double d; };")
    true(
        "sizeof(sqrt(f)) == 4",
        "sizeof(pow(f, 2)) == 8",
        "sizeof(fmax(f, l)) == 16",
        "fabs(-f) == 1",
        header="#include <tgmath.h>",
        before="float f = 1; long double l = 1; (void)l;",
    )
    true("1", header='#include <assert.h>\nstatic_assert(sizeof(int) == 4, "int");', before="assert(2 > 1);")


@pytest.mark.quick
@pytest.mark.row("N02")
def test_a_header_that_cannot_be_says_why() -> None:
    refuses(cwrapjit.CompileError, lambda: values(["1"], header="#include <numpy/ufuncobject.h>"), "ufunc")


@pytest.mark.row("N02")
def test_the_headers_are_c11_for_other_compilers_too(built: pathlib.Path) -> None:
    for names in ([name + ".h" for name in ISO], PYTHON, PYTHON[1:]):
        text = "".join(f"#include <{name}>\n" for name in names) + "int answer(void) { return 42; }\n"
        flags = "-std=c11 -nostdinc -Wall -Wextra -Werror -Wstrict-prototypes -fsyntax-only -x c -".split()
        command = [compiler(), f"-I{INCLUDE}", *flags]
        done = subprocess.run(command, input=text, capture_output=True, text=True)
        assert done.returncode == 0, f"{names}: {done.stderr}"


# ---- the system's headers after the package's ------------------------------------------------------------

SYSTEM = (
    "alloca.h arpa/inet.h bzlib.h dirent.h dlfcn.h endian.h fcntl.h features.h fenv.h getopt.h gmp.h iconv.h"
    " jpeglib.h langinfo.h lzma.h malloc.h netdb.h netinet/in.h openssl/evp.h png.h poll.h pthread.h pwd.h"
    " regex.h sched.h semaphore.h setjmp.h signal.h sqlite3.h strings.h sys/mman.h sys/resource.h"
    " sys/select.h sys/socket.h sys/stat.h sys/time.h sys/types.h sys/uio.h sys/wait.h unistd.h wchar.h"
    " wctype.h yaml.h zlib.h gsl/gsl_math.h fftw3.h hdf5.h"
).split()
FOLDERS = [
    pathlib.Path(folder) for folder in ("/usr/local/include", "/usr/include/x86_64-linux-gnu", "/usr/include")
]


@pytest.mark.row("N80")
@pytest.mark.parametrize("name", SYSTEM)
def test_a_header_of_the_system_can_follow(name: str) -> None:
    if not any((folder / name).is_file() for folder in FOLDERS):
        pytest.skip(f"this machine has no {name}")
    ours = "".join(f"#include <{iso}.h>\n" for iso in ISO if iso != "tgmath")
    assert values(["1"], header=f"{ours}#include <{name}>\n")[0] == 1
    if name not in ("jpeglib.h",):  # it needs <stdio.h> first
        assert values(["1"], header=f"#define _GNU_SOURCE\n#include <{name}>\n{ours}")[0] == 1


# ---- builtins give the same in both tiers, in Python and in NumPy ----------------------------------------


WHOLE = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


def value(expression: str, **options: object) -> object:
    """Returns the value of `expression`, a float64, after comparing both tiers."""
    f = cwrapjit.function(
        "f", "", (), (), (), {np.float64: f"item__output() = {expression}; return true;"}, **options
    )
    first = f()
    assert f.wait(), f.tier_error
    assert np.array_equal(first, f(), equal_nan=True), expression
    return first


LONG_DOUBLES = {
    "pow": 9.0, "hypot": math.hypot(3, 2), "atan2": math.atan2(3, 2), "fmod": 1.0, "remainder": -1.0,
    "copysign": 3.0, "fdim": 1.0, "fmax": 3.0, "fmin": 2.0,
}  # fmt: skip


@pytest.mark.row("G24")
@pytest.mark.parametrize("prefix", ["", "__builtin_"])
def test_functions_of_two_long_doubles_take_variables_of_other_types(prefix: str) -> None:
    """libtcc converts a second double wrongly while it holds a long double."""
    body = "double a = 3, b = 2; float fa = 3, fb = 2;\n"
    for i, name in enumerate(LONG_DOUBLES):
        body += (
            f"item__output({i}, 0) = {prefix}{name}l(a, b); item__output({i}, 1) = {prefix}{name}l(fa, b);\n"
        )
        body += f"item__output({i}, 2) = {prefix}{name}l({prefix}fmaxl(a, fb), {prefix}fminl(b, fa));\n"
    f = cwrapjit.function("f", "", (), (), ((len(LONG_DOUBLES), 3)), {np.float64: body + "return true;"})
    wanted = np.array(list(LONG_DOUBLES.values()))[:, None]
    np.testing.assert_allclose(f(), np.broadcast_to(wanted, (len(LONG_DOUBLES), 3)), rtol=1e-15)
    fma = "double a = 3, b = 2; float c = 1; item__output() = fmal(a, b, c); return true;"
    assert cwrapjit.function("f", "", (), (), (), {np.float64: fma})() == 7


EXPRESSIONS = {
    "__builtin_bswap16(0x0102)": 513,
    "__builtin_bswap32(0x01020304)": 67305985,
    "__builtin_bswap64(0x0102030405060708) == 0x0807060504030201": 1,
    "__builtin_clz(1u) + __builtin_clzl(1ul) + __builtin_clzll(1ull)": 157,
    "__builtin_ctz(8u) + __builtin_ctzll(1ull << 40)": 43,
    "__builtin_popcount(0xffu) + __builtin_popcountll(-1ull)": 72,
    "__builtin_parity(7u) + __builtin_ffs(8) + __builtin_clrsb(0)": 36,
    "__builtin_expect(5, 0) + __builtin_expect_with_probability(6, 0, 0.5)": 11,
    "({ double q[2] = {1, 2}; double *p = __builtin_assume_aligned(q, 8); p[1]; })": 2,
    "({ double q = 3; __builtin_prefetch(&q); __builtin_prefetch(&q, 1, 3); q; })": 3,
    "__builtin_choose_expr(1, 4, 5) + __builtin_constant_p(1)": 5,
    "__builtin_types_compatible_p(int, long)": 0,
    "__builtin_fabs(-2.0) + __builtin_sqrtf(4) + __builtin_floor(-1.5)": 2,
    "__builtin_fmax(1.0, 2.0) + __builtin_copysign(3.0, -1.0) + __builtin_fma(2, 3, 4.0)": 9,
    "__builtin_abs(-3) + __builtin_labs(-4) + __builtin_lround(2.5)": 10,
    "__builtin_isnan(NAN) + 2 * __builtin_isnan(1.0f) + 4 * (__builtin_isinf(-INFINITY) != 0)": 5,
    "__builtin_isinf_sign(-__builtin_inf()) + 8 * __builtin_isfinite(1.0)": 7,
    "__builtin_isnormal(1e-310) + 2 * __builtin_isnormal(1.0f) + 4 * __builtin_isnormal(1e-39f)": 2,
    "__builtin_fpclassify(1, 2, 3, 4, 5, 0.0)": 5,
    "(__builtin_signbit(-0.0) != 0) + 2 * (__builtin_signbitf(1) != 0)": 1,
    "__builtin_isless(1.0, 2.0) + 2 * __builtin_isunordered(NAN, 1.0)": 3,
    "__builtin_huge_val()": math.inf,
    '__builtin_nan("")': math.nan,
    '__builtin_strlen("abc") + __builtin_strspn("aab", "a")': 5,
    "({ char a[4]; __builtin_memset(a, 7, 4); a[2]; })": 7,
    '({ char a[9]; __builtin_snprintf(a, 9, "%d", 42); strlen(a); })': 2,
    "({ if (item__output(0) == 12345) __builtin_trap(); __builtin_LINE() > 0; })": 1,
}


@pytest.mark.quick
@pytest.mark.row("G24")
@pytest.mark.compiler("compares the tiers")
def test_builtins_give_the_same_in_both_tiers() -> None:
    body = "".join(f"item__output({i}) = {each};\n" for i, each in enumerate(EXPRESSIONS))
    f = cwrapjit.function("f", "", (), (), (len(EXPRESSIONS),), {np.float64: body + "return true;"})
    for tier in ("tcc", "cc"):
        assert f.tier == tier
        wrong = {
            each: got
            for (each, wanted), got in zip(EXPRESSIONS.items(), f(), strict=True)
            if not np.array_equal(got, wanted, equal_nan=True)
        }
        assert not wrong, tier
        assert f.wait(), f.tier_error


@pytest.mark.row("G24", "G08")
@pytest.mark.parametrize(
    "call", ["sin(x)", "exp(x)", "pow(x, 2.0)", "pow(x, 0.5)", "cbrt(x)", "fmod(x, 0.7)"]
)
@pytest.mark.compiler("compares the tiers")
def test_builtins_of_libm_keep_their_bits(call: str) -> None:
    """gcc turns __builtin_pow(x, 2.0) into x*x, whatever flags say about pow()."""
    code = f"double x = item__a(); item__output() = __builtin_{call}; return true;"
    f = cwrapjit.function("f", "", ("a",), ((),), (), {np.float64: code})
    plain = cwrapjit.function("f", "", ("a",), ((),), (), {np.float64: code.replace("__builtin_", "")})
    x = np.random.default_rng(1).uniform(0.1, 50, 50_000)
    first = f(x)
    assert f.wait(), f.tier_error
    assert np.array_equal(first, f(x)) and np.array_equal(first, plain(x))


# The ends of types, and numbers near them.
INTERESTING = {
    0, 1, 2, 3, 7, -1, -2, 127, -128, 255, 2**15, 2**16 - 1, 2**31 - 1, -(2**31), 2**32 - 1, 2**32,
    3037000500, 2**33 + 5, 2**62, 2**63 - 1, -(2**63), 2**63, 2**64 - 1,
}  # fmt: skip


def fitting(name: str) -> np.ndarray:
    limits = np.iinfo(name)
    return np.array(sorted(x for x in INTERESTING if limits.min <= x <= limits.max), dtype=name)


EDGES = {name: fitting(name) for name in WHOLE}

OPERATIONS = {"add": int.__add__, "sub": int.__sub__, "mul": int.__mul__}


def overflowing(a: str, b: str, result: str) -> object:
    """Returns a function a(), b() -> results and flags of add, sub and mul."""
    body = "".join(
        f"item__output{i + 3}() = __builtin_{name}_overflow(item__a(), item__b(), &item__output{i}());\n"
        for i, name in enumerate(OPERATIONS)
    )
    types = (a, b) + (result,) * 3 + ("int8",) * 3
    return cwrapjit.function(
        "f", "", ("a", "b"), ((), ()), ((),) * 6, {tuple(map(np.dtype, types)): body + "return true;"}
    )


def exact(a: str, b: str, result: str) -> list[np.ndarray]:
    """Returns the same, computed with Python's integers."""
    bits, least = np.iinfo(result).bits, int(np.iinfo(result).min)
    wrapped, flags = [], []
    for operation in OPERATIONS.values():
        true = [[operation(int(x), int(y)) for y in EDGES[b]] for x in EDGES[a]]
        wrapped.append(np.array([[(v - least) % 2**bits + least for v in row] for row in true], dtype=result))
        flags.append(
            np.array([[not least <= v <= np.iinfo(result).max for v in row] for row in true], "int8")
        )
    return wrapped + flags


@pytest.mark.row("G24")
@pytest.mark.parametrize("result", WHOLE)
def test_overflow_builtins_are_exact_for_all_types(result: str) -> None:
    """Operands and result may have any types: the exact result is cut to its type."""
    for a, b in itertools.product(WHOLE, WHOLE[WHOLE.index(result) % 2 :: 2]):
        got = overflowing(a, b, result)(EDGES[a][:, None], EDGES[b])
        for one, wanted in zip(got, exact(a, b, result), strict=True):
            assert np.array_equal(one, wanted), (a, b, result)


@pytest.mark.row("G24")
@pytest.mark.parametrize(("a", "b", "result"), [("int64", "uint64", "int64"), ("int8", "int32", "uint16")])
@pytest.mark.compiler("compares the tiers")
def test_overflow_builtins_are_the_same_when_hot(a: str, b: str, result: str) -> None:
    f = overflowing(a, b, result)
    assert f.wait(), f.tier_error
    for one, wanted in zip(f(EDGES[a][:, None], EDGES[b]), exact(a, b, result), strict=True):
        assert np.array_equal(one, wanted)


@pytest.mark.row("G24")
@pytest.mark.compiler("compares the tiers")
def test_typed_and_asking_overflow_builtins() -> None:
    assert value("({ int r; __builtin_sadd_overflow(2147483647, 1, &r) * 10 + (r < 0); })") == 11
    assert value("({ unsigned long r; __builtin_umull_overflow(1ul << 63, 2, &r); })") == 1
    assert value("__builtin_add_overflow_p(100, 100, (signed char)0)") == 1
    assert value("__builtin_mul_overflow_p(10, 10, (signed char)0)") == 0
    assert value("({ int r[1], n = 0; __builtin_add_overflow(n++, 2, r); 10 * n + r[0]; })") == 12


@pytest.mark.quick
@pytest.mark.row("G24")
@pytest.mark.compiler("compares the tiers")
def test_builtins_in_headers_sources_graphs_and_libraries(tmp_path: pathlib.Path) -> None:
    (tmp_path / "swap.h").write_text("static unsigned swap(unsigned x) { return __builtin_bswap32(x); }\n")
    body = "item__output() = swap(item__a()); return true;"
    f = cwrapjit.function(
        "f", "", ("a",), ((),), (), {np.uint32: body}, header='#include "swap.h"', include_dirs=[tmp_path]
    )
    source = tmp_path / "flip.c"
    source.write_text(
        "double flip(double x) { return __builtin_isnan(x) ? -1 : __builtin_copysign(x, -1.0); }\n"
        "int grow(int a, int b, int *sum) { return __builtin_add_overflow(a, b, sum); }\n"
    )
    lib = cwrapjit.library("flips", sources=[source])
    lib.function("double flip(double x)")
    lib.function("int grow(int a, int b, int *sum)", out="sum")
    x = np.array([1, 2**31, 0x01020304], "uint32")
    assert np.array_equal(f(x), x.byteswap())
    assert (lib.flip(2.0), lib.flip(math.nan)) == (-2, -1)
    assert (lib.grow(1, 2), lib.grow(2**31 - 1, 1)) == ((0, 3), (1, -(2**31)))

    class Swap(cg.COp):
        def make_node(self, x: object) -> object:
            return cg.Apply(self, [x], [cg.uint32()])

        def c_code(self, node: object, name: str, inputs: list[str], outputs: list[str], sub: object) -> str:
            return f"{outputs[0]} = __builtin_bswap32({inputs[0]});"

    v = cg.uint32("v")
    g = cwrapjit.link([v], Swap()(v))
    assert g(1) == 2**24
    assert g.wait() and g(1) == 2**24
    nonsense = "item__output() = __builtin_nonsense(1.0); return true;"
    make = lambda: cwrapjit.function("f", "", (), (), (), {np.float64: nonsense})  # noqa: E731
    refuses(cwrapjit.CompileError, make, "__builtin_nonsense")
