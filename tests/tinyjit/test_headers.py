"""What snippets know without any #include, the package's small headers, and the system's own after them."""

from __future__ import annotations

import math
import pathlib
import subprocess
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from helpers import compiler, refuses, wrap

import cwrapjit

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
    """What these C expressions are worth, in an array."""
    lines = [before, *(f"item__output({i}) = {text};" for i, text in enumerate(expressions)), "return true;"]
    return wrap((), (len(expressions),), {type_: "\n".join(lines)}, header=header, **kw)()


def true(*expressions: str, **kw: Any) -> None:
    """Each of the C expressions must be true."""
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
def test_comparisons_of_math_h_know_nan() -> None:
    true(
        "isless(1, 2)",
        "!isgreater(1, NAN)",
        "isunordered(NAN, 1)",
        "!isunordered(1.f, 2)",
        "islessgreater(1, 2)",
    )
    true(
        "!islessgreater(NAN, 1)", "isnan(sqrt(-1.0))", "isinf(-INFINITY)", "isnan(3) == 0", "isfinite(1 / 3)"
    )


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
@pytest.mark.parametrize("name", [*(name + ".h" for name in ISO), *PYTHON])
def test_a_header_of_the_package_can_be_included(name: str, strict_warnings: None) -> None:
    assert values(["1"], header=2 * f"#include <{name}>\n")[0] == 1


@pytest.mark.row("N02")
def test_all_headers_of_the_package_go_together(strict_warnings: None) -> None:
    includes = [f"#include <{name}>" for name in [*PYTHON, *(name + ".h" for name in ISO)]]
    for lines in (includes, includes[::-1], ["#define _GNU_SOURCE", *includes]):
        assert values(["1"], header="\n".join(lines))[0] == 1


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
    for names in [[name] for name in [*(name + ".h" for name in ISO), *PYTHON]] + [[*PYTHON]]:
        text = "".join(f"#include <{name}>\n" for name in names) + "int answer(void) { return 42; }\n"
        done = subprocess.run(
            [
                compiler(),
                "-std=c11",
                "-nostdinc",
                f"-I{INCLUDE}",
                "-Wall",
                "-Wextra",
                "-Werror",
                "-Wstrict-prototypes",
                "-fsyntax-only",
                "-x",
                "c",
                "-",
            ],
            input=text,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{names}: {done.stderr}"


# ---- the system's headers after them ---------------------------------------------------------------------

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
    for header in (f"#include <stdio.h>\n#include <{name}>\n", f"{ours}#include <{name}>\n"):
        assert values(["1"], header=header)[0] == 1
    if name not in ("jpeglib.h",):  # which wants <stdio.h> first
        assert values(["1"], header=f"#define _GNU_SOURCE\n#include <{name}>\n{ours}")[0] == 1
