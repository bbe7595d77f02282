"""Tests what depends on the processor: x86-64 or arm64 (`make test-arm64`), whichever runs the tests."""

from __future__ import annotations

import os
import pathlib
import platform
import re
import shutil
import subprocess
from typing import Any

import numpy as np
import pytest
from helpers import compiler, python, wrap_signature
from library_tools import from_c, from_shared

import cwrapjit as cj

pytestmark = pytest.mark.row("X02")

HERE = pathlib.Path(__file__).resolve().parents[1]
TIERS = pytest.mark.parametrize("optimize", ["off", "eager"])


def define(code: Any, optimize: str = "off", signature: str = "x() -> y()", **options: Any) -> Any:
    """Returns a function with this body; "eager" requires the cc tier."""
    if optimize == "eager":
        compiler()
    f = wrap_signature(signature, code, optimize=optimize, **options)
    if optimize == "eager":
        assert f.wait() and f.tier == "cc", f.tier_error
    return f


def test_this_is_the_machine_that_was_asked_for() -> None:
    assert platform.machine() == os.environ.get("CWRAPJIT_TEST_MACHINE", platform.machine())
    assert platform.machine() in ("x86_64", "aarch64")


# ---- unary minus, on which libtcc for arm64 may abort --------------------------------------------

NEGATIONS = [
    "item__y() = 2 * item__x(); return true; item__y() = -item__x();",
    "if (0) item__y() = -item__x(); item__y() = 2 * item__x(); return true;",
    "item__y() = 2 * item__x(); if (1) return true; else return -item__x() > 0;",
    "item__y() = sizeof(-item__x()) == 8 ? 2 * item__x() : 0; return true;",
    "double a = 2 * item__x(); while (0) { a = -a; } item__y() = a; return true; return -a < 1;",
    "item__y() = 2 * item__x(); goto end; item__y() = -(item__y() + 1); end: return true;",
    "item__y() = isnan(-item__x()) ? 0 : 2 * item__x(); return true;",
]


@pytest.mark.parametrize("code", NEGATIONS)
def test_unary_minus_where_nothing_runs(code: str) -> None:
    """Without our rewriting, libtcc for arm64 aborts on each of these."""
    assert define(code, header="#include <math.h>\n")(3.0) == 6.0


def test_unary_minus_that_runs() -> None:
    """Unary minus changes the sign of zeros, too."""
    x = np.array([0.0, -0.0, 1.5, -np.inf, 5e-324])
    f = define("item__y() = -item__x() * 1 - -item__x() + -(item__x()); return true;")
    assert np.array_equal(np.signbit(define("item__y() = -item__x(); return true;")(x)), ~np.signbit(x))
    assert f(1.5) == -1.5


# ---- the same bits ------------------------------------------------------------------------------------

# Processors have fused multiply-add instructions, which round once; arm64 always has, for float and double.
FUSIBLE = {
    "a * b + c": lambda a, b, c: a * b + c,
    "a * b - c": lambda a, b, c: a * b - c,
    "c - a * b": lambda a, b, c: c - a * b,
    "-(a * b) - c": lambda a, b, c: -(a * b) - c,
    "a * b + c * a": lambda a, b, c: a * b + c * a,
    "(a - b) * (a - b) + c * c": lambda a, b, c: (a - b) * (a - b) + c * c,
}


@pytest.mark.parametrize("expression", FUSIBLE)
@TIERS
def test_products_are_rounded_before_they_are_added(expression: str, optimize: str) -> None:
    rng = np.random.default_rng(7)
    text = re.sub(r"\b([abc])\b", r"item__\1()", expression)
    body = dict.fromkeys((np.float64, np.float32), f"item__y() = {text}; return true;")
    f = define(body, optimize, signature="a(), b(), c() -> y()")
    for dtype in body:
        a, b, c = (rng.normal(size=999).astype(dtype) for _ in "abc")
        assert np.array_equal(f(a, b, c), FUSIBLE[expression](a, b, c))


@TIERS
def test_sums_of_products_are_rounded_one_by_one(optimize: str) -> None:
    rng = np.random.default_rng(8)
    a, b = rng.normal(size=(2, 40, 33))
    code = "double s = 0; for (int i = 0; i < dims_slice__a[0]; i++) s += item__a(i) * item__b(i);"
    f = define(code + " item__y() = s; return true;", optimize, signature="a(n), b(n) -> y()")
    wanted = np.zeros(40)
    for i in range(33):
        wanted += a[:, i] * b[:, i]
    assert np.array_equal(f(a, b), wanted)


@pytest.mark.quick
@TIERS
def test_complex_products_are_rounded_part_by_part(optimize: str) -> None:
    rng = np.random.default_rng(9)
    a, b = rng.normal(size=(2, 500)) + 1j * rng.normal(size=(2, 500))
    f = define(
        {np.complex128: "item__y() = cmul(item__a(), item__b()); return true;"},
        optimize,
        signature="a(), b() -> y()",
        header="#include <complex.h>\n",
    )
    got = f(a, b)
    assert np.array_equal(got.real, a.real * b.real - a.imag * b.imag)
    assert np.array_equal(got.imag, a.real * b.imag + a.imag * b.real)


# ---- char ------------------------------------------------------------------------------------------------

CHARS = """
#include <limits.h>
int least(void) { return CHAR_MIN; }
int most(void) { return CHAR_MAX; }
int of(int k) { char c = k; return c; }
"""


@TIERS
def test_char_has_the_sign_that_the_systems_compiler_gives_it(optimize: str, tmp_path: pathlib.Path) -> None:
    system = from_shared(CHARS, tmp_path)
    mine = from_c(CHARS)
    for lib in (system, mine):
        lib.declare("int least(void); int most(void); int of(int k);")
    wanted = system.of(200)
    assert wanted == (200 if platform.machine() == "aarch64" else -56)
    assert (mine.least(), mine.most(), mine.of(200)) == (system.least(), system.most(), wanted)
    f = define("char c = (char)(int)item__x(); item__y() = c; return true;", optimize)
    assert f(200.0) == wanted
    text = "const char *t = \"\\xc8\"; item__y() = t[0] * 1000.0 + '\\xc8' * (CHAR_MIN == %d); return true;"
    f = define(text % system.least(), optimize, header="#include <limits.h>\n")
    assert f(0.0) == wanted * 1001.0


# ---- long double -----------------------------------------------------------------------------------------

LONG_DOUBLES = """
    long double a = item__x(), b = a / 3 + 1e-19L, c = a * b - b;
    int64_t i = (int64_t)(c * 1000); uint64_t u = (uint64_t)(c < 0 ? -c : c);
    c += i + (long double)u; c = -c;
    item__y() = (double)(c - (long double)(double)c) * 1e15 + (a < b) + 2 * (a == b) + (a >= 1) + (float)b;
    return true;
"""


CONDITIONS = [
    "if (item__x()) item__y() = 1;",
    "item__y() = item__x() ? 1 : 0;",
    "item__y() = item__x() && 1;",
    "item__y() = 0 || item__x();",
    "for (; item__x() - item__y(); ) { item__y() = 1; break; }",
    "npy_longdouble v = item__x(); while (v) { v = 0; item__y() = 1; }",
    "if (fmodl(item__x(), 1e6L)) item__y() = 1;",
    "#define PICK(v) ((v) ? 1 : 0)\nitem__y() = PICK(item__x());",
]


@TIERS
def test_conditions_of_long_double(optimize: str) -> None:
    """libtcc for arm64 takes each of these as false."""
    x = np.array([0, -0.0, 1, -3, np.nan, np.inf, np.longdouble("1e-4000"), 0.5], np.longdouble)
    for code in CONDITIONS:
        text = {np.longdouble: "item__y() = 0;\n" + code + "\nreturn true;"}
        f = define(text, optimize, header="#include <math.h>\n")
        assert f(x).tolist() == x.astype(bool).tolist(), code
    third = {np.longdouble: "item__y() = item__x() / 3 + 1; return true;"}
    x = np.array([1, 2, np.longdouble("0.1")], np.longdouble)
    got = define(third, optimize)(x)
    assert got.dtype == np.longdouble and np.array_equal(got, x / 3 + 1)


@pytest.mark.quick
def test_long_double_computes_the_same_in_both_tiers() -> None:
    """On arm64 long double has 128 bits, and functions of libtcc compute it."""
    x = np.array([0.0, 1.0, -1.0, 0.1, 1e10, -12345.678, 1.5, 2.0 / 3])
    assert np.array_equal(define(LONG_DOUBLES)(x), define(LONG_DOUBLES, "eager")(x))


def test_long_double_goes_through_functions(tmp_path: pathlib.Path) -> None:
    """The functions are libm's, and a library's, built by the system's compiler or by libtcc."""
    third = np.longdouble(1) / 3
    lib = cj.library("m", libraries=["m"])
    lib.declare("long double sqrtl(long double x); long double ldexpl(long double x, int n);")
    assert lib.sqrtl(np.longdouble(2)) == np.sqrt(np.longdouble(2))
    assert lib.ldexpl(third, 3) == third * 8
    text = "long double turn(int k, long double a, double d, long double b) { return a * k + d - b; }"
    for made in (from_shared(text, tmp_path), from_c(text)):
        made.declare(text.partition("{")[0] + ";")
        assert made.turn(3, third, 0.5, third) == third * 3 + np.longdouble(0.5) - third


# ---- other differences between processors ----------------------------------------------------------


@TIERS
def test_numbers_of_64_bits_become_floats_and_come_back(optimize: str) -> None:
    x = np.array([0, 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64 - 513, 2**53 + 1, 0x8000008000000001], np.uint64)
    to_double = define({(np.uint64, float): "item__y() = item__x(); return true;"}, optimize)
    assert np.array_equal(to_double(x), x.astype(float))
    to_float = define({(np.uint64, np.float32): "item__y() = item__x(); return true;"}, optimize)
    assert np.array_equal(to_float(x), x.astype(np.float32))
    back = define({(float, np.uint64): "item__y() = (uint64_t)item__x(); return true;"}, optimize)
    doubles = np.array([0.0, 1.9, 2.0**53, 2.0**63, 2.0**64 - 2048])
    assert np.array_equal(back(doubles), doubles.astype(np.uint64))


@TIERS
def test_numbers_behind_dots(optimize: str) -> None:
    """Each processor passes variadic numbers in its own way; these need more than the registers."""
    code = """
        char b[200];
        int n = snprintf(b, sizeof b, "%g %d %s %g %ld %g %g %g %g %g %g %g %d %d %d %d",
                         item__x(), 7, "text", 2.5, 123456789012L, 1., 2., 3., 4., 5., 6., 7., 1, 2, 3, 4);
        item__y() = strcmp(b, "1.5 7 text 2.5 123456789012 1 2 3 4 5 6 7 1 2 3 4") ? -1 : n;
        return true;
    """
    f = define(code, optimize, header="#include <stdio.h>\n#include <string.h>\n")
    assert f(1.5) == 49.0


@pytest.mark.quick
@TIERS
def test_alloca(optimize: str) -> None:
    """libtcc's archive has no alloca for arm64. A slice frees its stack memory at its end."""
    code = """
        double *a = alloca((size_t)item__x() * sizeof *a), s = 0;
        char *b = alloca(3);
        b[2] = 3;
        for (int i = 0; i < item__x(); i++) a[i] = i;
        for (int i = 0; i < item__x(); i++) s += a[i];
        item__y() = s + b[2];
        return true;
    """
    f = define(code, optimize, header="#include <stdlib.h>\n")
    x = np.full(2000, 9999.0)
    assert np.array_equal(f(x), x * (x - 1) / 2 + 3)


# ---- make test-arm64 ---------------------------------------------------------------------------------


def name_of(path: pathlib.Path) -> str:
    """Returns the name in the list, such as "tiers/test_machines"."""
    return str(path.relative_to(HERE).with_suffix(""))


def test_the_list_for_arm64_names_every_test_file() -> None:
    """Each file runs, or has a reason not to."""
    lines = [line.split(None, 2) for line in (HERE / "arm64.txt").read_text().splitlines()]
    lines = [line for line in lines if line and line[0] != "#"]
    assert {line[0] for line in lines} == {"run", "left"}
    assert [line for line in lines if line[0] == "left" and len(line) < 3] == [], "why?"
    whole = [line[1] for line in lines if "::" not in line[1]]
    files = [path for path in HERE.rglob("test_*.py") if path.parent.name != "peers"]
    assert sorted(whole) == sorted(map(name_of, files))
    running = {line[1] for line in lines if line[0] == "run"}
    for _, name, _ in (line for line in lines if "::" in line[1]):
        file, _, test = name.partition("::")
        assert file.removesuffix(".py") in running, f"{name}: its file does not run"
        assert f"def {test.partition('[')[0]}(" in (HERE / file).read_text(), name
    claiming = {name_of(path) for path in files if re.search(r'row\([^)]*"X02"', path.read_text())}
    assert claiming and claiming <= running, "what says something about arm64 runs there"


def test_the_tool_says_what_is_missing(tmp_path: pathlib.Path) -> None:
    """The tool lists everything at once, and builds nothing."""
    tool = HERE.parent / "tools" / "test_arm64.sh"
    if platform.machine() == "aarch64":
        done = subprocess.run(["/bin/sh", str(tool)], capture_output=True, text=True)
        assert done.returncode == 1 and "make test" in done.stderr
        return
    for name in ("dirname", "uname", "cat", "nproc"):
        (tmp_path / name).symlink_to(str(shutil.which(name, path="/usr/bin:/bin")))
    checkout = tmp_path / "checkout"
    (checkout / "tools").mkdir(parents=True)
    shutil.copy(tool, checkout / "tools")
    done = subprocess.run(
        ["/bin/sh", str(checkout / "tools" / tool.name)],
        capture_output=True,
        text=True,
        env={"PATH": str(tmp_path)},
    )
    assert done.returncode == 1, done.stdout + done.stderr
    wanted = ("mmdebstrap", "qemu-user-static", "gcc-aarch64-linux-gnu", "util-linux", "python3-venv")
    assert [word for word in wanted if f"apt install {word}" not in done.stderr] == [], done.stderr
    assert [path.name for path in checkout.iterdir()] == ["tools"]


@TIERS
def test_long_doubles_of_libm_in_one_expression(optimize: str) -> None:
    """libtcc for x86-64 converts a double wrongly while it holds a long double."""
    code = "double x = item__x(); item__y() = logl(x) - logl(2) + fabsl(x) * expl(x) - sqrtl(floorl(x));"
    x = np.array([1.0, 2.5, 7.0])
    exact = x.astype(np.longdouble)
    wanted = np.log(exact) - np.log(np.longdouble(2)) + exact * np.exp(exact) - np.sqrt(np.floor(exact))
    assert np.allclose(define(code + " return true;", optimize)(x), wanted.astype(float), rtol=1e-15)


# A process may be told that the machine has 32 bits, as in containers of such systems.
OTHERWISE = """
import ctypes
PER_LINUX32 = 8
assert ctypes.CDLL(None).personality(PER_LINUX32) >= 0
import cwrapjit, platform
assert platform.machine() not in ("x86_64", "aarch64")
print(cwrapjit.library("m", libraries=["m"]).declare("double cos(double x);").cos(0.0))
"""


def test_the_machine_is_what_the_interpreter_was_built_for() -> None:
    """The kernel's answer does not count."""
    assert python(OTHERWISE).stdout == "1.0\n"
