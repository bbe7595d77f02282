"""Tests who computes exp, sin and similar functions, that all ways give the same bits, and math="libm".

tools/maths_check.c, not this file, tests how near the results are.
"""

from __future__ import annotations

import ctypes
import io
import itertools
import pathlib
import pickle
import platform
import re
import shutil
import subprocess
from typing import Any

import numpy as np
import pytest
from helpers import build_extension, build_shared, compiler, python, refuses

import cwrapjit
import cwrapjit.graph as cg

ROOT = pathlib.Path(__file__).resolve().parents[2]
LISTED = re.findall(
    r"^TJV_FUNCTION\((\w+), (\d), (double|float)\)$",
    (ROOT / "tinyjit/maths/functions.def").read_text() if (ROOT / "tinyjit").is_dir() else "",
    re.MULTILINE,
)
OURS = [(name, int(arity), kind) for name, arity, kind in LISTED]
ONE = [name for name, arity, kind in OURS if arity == 1 and kind == "double"]
SETS = ["sse2", "avx2", "avx512"] if platform.machine() == "x86_64" else ["neon"]
SINCOS = "void sincos(double, double *, double *), sincosf(float, float *, float *);"
TIERS = pytest.mark.parametrize("optimize", ["off", "eager"])


@pytest.fixture(autouse=True)
def needs_a_compiler() -> None:
    compiler()


def numbers(kind: str, size: int = 1003) -> Any:
    """Returns special values, and numbers of all magnitudes."""
    rng = np.random.default_rng(4)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -1e-310, 1.7e308, 1e22, 709.7, -745.0, 88.0, -1]
    near = rng.normal(size=size)
    far = np.ldexp(near, rng.integers(-1000, 1000, size))
    with np.errstate(over="ignore", under="ignore"):
        return np.concatenate([special, near, 30 * near, far]).astype({"double": "f8", "float": "f4"}[kind])


def calls(name: str, arity: int, kind: str) -> str:
    parameters = ["x", "y"][:arity]
    declared = ", ".join(f"{kind} {each}" for each in parameters)
    return f"{kind} f({declared}) {{ return {name}({', '.join(parameters)}); }}"


def define(text: str, optimize: str = "eager", **options: Any) -> Any:
    f = cwrapjit.vectorize(text, optimize=optimize, **options)
    assert f.tier == {"eager": "cc", "off": "tcc"}[optimize], f.tier_error
    return f


def arguments(kind: str, arity: int) -> list[Any]:
    x = numbers(kind)
    return [x, np.roll(x[::-1], 7)][:arity]


def bits(x: Any) -> bytes:
    """Returns the bits, with one for all NaNs."""
    return bytes(np.where(np.isnan(x), np.nan, x).astype(x.dtype).tobytes())


def of_libm(name: str, kind: str, *arrays: Any) -> Any:
    function = getattr(ctypes.CDLL("libm.so.6"), name)
    number = {"double": ctypes.c_double, "float": ctypes.c_float}[kind]
    function.restype, function.argtypes = number, [number] * len(arrays)
    rows = zip(*(array.tolist() for array in arrays), strict=True)
    return np.array([function(*row) for row in rows], arrays[0].dtype)


def assert_near(got: Any, wanted: Any) -> None:
    """Both are within an ulp of the truth, or libm's is within a few."""
    np.testing.assert_allclose(got, wanted, rtol=8 * np.finfo(got.dtype).eps, atol=np.finfo(got.dtype).tiny)


# ---- the same bits ------------------------------------------------------------------------------


@pytest.mark.row("M02")
@pytest.mark.parametrize("name, arity, kind", OURS, ids=[name for name, *_ in OURS])
def test_both_tiers_have_the_same_bits_for_each_length(name: str, arity: int, kind: str) -> None:
    """Vector loops, their last elements, strided arrays and single numbers."""
    fast, slow = (define(calls(name, arity, kind), optimize) for optimize in ("eager", "off"))
    x = arguments(kind, arity)
    with np.errstate(all="ignore"):
        assert_near(slow(*x), of_libm(name, kind, *x))
    assert bits(fast(*x)) == bits(slow(*x))
    for n in range(18):
        assert bits(fast(*(each[14 : 14 + n] for each in x))) == bits(slow(*x)[14 : 14 + n])
    assert bits(fast(*(each[::-3] for each in x))) == bits(slow(*x)[::-3])
    alone = [np.asarray(fast(*(each[k] for each in x)), x[0].dtype) for k in range(20, 40)]
    assert bits(np.array(alone)) == bits(slow(*x)[20:40])


def flags(f: Any, *x: Any) -> set[str]:
    raised = set()
    with np.errstate(all="call", under="ignore", call=lambda kind, _: raised.add(kind)):
        f.ufunc(*x)
    return raised


@pytest.mark.row("M02")
@pytest.mark.parametrize("name, arity, kind", OURS, ids=[name for name, *_ in OURS])
def test_calls_with_one_number_have_the_bits_and_flags_of_vectors(name: str, arity: int, kind: str) -> None:
    """Calls of the tcc tier and, under a condition, of gcc's loops, for special values and others."""
    vectors, ones = (define(calls(name, arity, kind), optimize) for optimize in ("eager", "off"))
    text = calls(name, arity, kind).replace("return", "if (x == 99) return x; return")
    under_condition = define(text)
    for x in itertools.product(numbers(kind)[:20], repeat=arity):
        wanted = flags(vectors, *(np.full(9, each) for each in x))
        assert wanted <= {"invalid value", "divide by zero", "overflow"}
        assert flags(ones, *x) == flags(under_condition, *(np.full(9, each) for each in x)) == wanted, x
    x = arguments(kind, arity)
    assert bits(under_condition(*x)) == bits(vectors(*x))


DIGESTS = """
import hashlib, sys
import numpy as np
sys.path[:0] = [sys.argv[1], sys.argv[1] + "/tiers"]
from test_maths import OURS, arguments, bits, calls, define

digest = hashlib.sha256()
for name, arity, kind in OURS:
    x = arguments(kind, arity)
    for optimize in ("off", "eager"):
        f = define(calls(name, arity, kind), optimize)
        digest.update(bits(f(*x)))
        if optimize == "eager":
            f.wait()
            print(name, *sorted(call for each in f.explain().functions for call, _ in each["calls"]))
print("digest", digest.hexdigest())
"""


@pytest.mark.row("M02")
@pytest.mark.plain("explain() of loops without sanitizers' calls")
def test_all_instruction_sets_have_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    widths = {"sse2": "b", "avx2": "d", "avx512": "e", "neon": "n"}
    digests = {}
    for cpu in SETS:
        monkeypatch.setenv("CWRAPJIT_CPU", cpu)
        ran = python(DIGESTS, str(ROOT / "tests"), check=False)
        if "on this processor, not" in ran.stderr:
            continue
        assert ran.returncode == 0, ran.stderr
        *lines, last = ran.stdout.splitlines()
        digests[cpu] = last
        if "Free Software Foundation" in compiler_version():
            for line in lines:
                assert f"_ZGV{widths[cpu]}N" in line and not re.search(f"_ZGV[^bcd{widths[cpu]}]", line), line
    assert digests and len(set(digests.values())) == 1, digests


def compiler_version() -> str:
    return subprocess.run([compiler(), "--version"], capture_output=True, text=True, check=True).stdout


@pytest.mark.row("M02")
@pytest.mark.parametrize("threads", [1, 4])
def test_threads_do_not_change_bits(threads: int) -> None:
    x = np.linspace(-30, 30, 400_001)
    f = define("double f(double x) { return exp(-x * x) * sin(x); }", threads=threads)
    assert bits(f(x)) == bits(define("double f(double x) { return exp(-x * x) * sin(x); }", "off")(x))


@pytest.mark.row("M02")
@pytest.mark.parametrize("kind", ["double", "float"])
def test_powers_have_the_bits_of_constant_exponents(kind: str) -> None:
    """mathematics.h has the text for whole exponents from -8 to 8, and for 0.5."""
    suffix = "f" if kind == "float" else ""
    x = numbers(kind, 200)
    exponents = [*range(-9, 10), 0.5, -0.5, 1.5, 1.7]
    with np.errstate(all="ignore"):
        constant = [define(f"{kind} f({kind} x) {{ return pow{suffix}(x, {n}); }}")(x) for n in exponents]
        for optimize in ("off", "eager"):
            f = define(calls("pow" + suffix, 2, kind), optimize)
            each, every = np.meshgrid(np.array(exponents, x.dtype), x)  # neighbours differ
            assert bits(f(every, each)) == bits(np.array(constant).T.copy())
            for n, wanted in zip(exponents, constant, strict=True):
                assert bits(f(x, x.dtype.type(n))) == bits(wanted), n


@pytest.mark.row("M02")
@TIERS
@pytest.mark.parametrize("kind", ["double", "float"])
def test_sincos_has_the_bits_of_sin_and_cos(kind: str, optimize: str) -> None:
    x, suffix = numbers(kind), "f" if kind == "float" else ""
    text = f"{SINCOS} void f({kind} x, OUT {kind} *s, OUT {kind} *c) {{ sincos{suffix}(x, s, c); }}"
    with np.errstate(all="ignore"):
        got = define(text, optimize)(x)
        for each, name in zip(got, ["sin" + suffix, "cos" + suffix], strict=True):
            assert bits(each) == bits(define(calls(name, 1, kind), "off")(x))
        text = f"*s = sin{suffix}(x); *c = cos{suffix}(x);"
        both = f"void f({kind} x, OUT {kind} *s, OUT {kind} *c) {{ {text} }}"
        assert bits(define(both, optimize)(x)[1]) == bits(got[1])


@pytest.mark.row("M02")
@pytest.mark.parametrize("text", ["exp({0})", "{1}f({0}f)", "__builtin_exp({0})"])
def test_constants_have_the_same_bits(text: str) -> None:
    """Compilers would fold them to the nearest numbers."""
    values = [1.5, 0.1, 3.7, -20.25, 700.5, 1e-5, 12.0, 0.7]
    terms = "".join(f"y[{k}] = {text.format(value, 'exp')};" for k, value in enumerate(values))
    loop = "for (int i = 0; i < 3; i++) y[8 + i] = exp(0.3 * i);"  # unrolled to constants
    body = f"void f(const double x[1], OUT double y[11]) {{ (void)x; {terms} {loop} }}"
    fast, slow = define(body), define(body, "off")
    one = np.zeros(1)
    assert bits(fast(one)) == bits(slow(one))
    table = define("double f(double x) { return exp(x); }")
    if "f(" not in text.replace("exp(", ""):
        assert bits(slow(one)[:8]) == bits(table(np.array(values)))


# ---- vectors --------------------------------------------------------------------------------------


@pytest.mark.row("M03")
@pytest.mark.plain("loops without sanitizers' calls")
@pytest.mark.parametrize(
    "text, vectors",
    [
        ("double f(double x) { return exp(-x * x) * sin(x); }", True),
        ("float f(float x) { return logf(x) + cosf(x); }", True),
        ("double f(double x) { double e = exp(x); return x > 0 ? e : 1; }", True),
        ("double f(double x) { double (*e)(double) = &exp; return e(x); }", True),
        ("double f(double x) { return atan2(x, 1.7) + hypot(x, 2) + pow(x, 1.7); }", True),
        ("static double g(double x) { return log(x); } double f(double x) { return g(x) + 1; }", True),
        ("double f(double x, double y) { return pow(x, y) * pow(y, 3) + pow(y, x); }", True),
        ("float f(float x) { return powf(x, 1.7f) + powf(x, 3); }", True),
        ("double f(double x) { return sin(x) + cos(x); }", True),
        (f"{SINCOS} double f(double x) {{ double s, c; sincos(x, &s, &c); return s / c; }}", True),
        (f"{SINCOS} float f(float x) {{ float s, c; sincosf(x, &s, &c); return s / c; }}", True),
        ("double f(double x) { return x > 0 ? exp(x) : 1; }", False),  # as docs/mathematics.md says
    ],
)
def test_loops_are_vectors_without_fastmath(text: str, vectors: bool) -> None:
    f = define(text)
    if "Free Software Foundation" not in compiler_version():
        pytest.skip("clang calls the functions one by one")
    found = f.explain()
    assert found.loops[0]["vectorized"] == vectors
    called = [call for each in found.functions for call in each["calls"]]
    assert {library for _, library in called} == {"cwrapjit"}
    assert any(name.startswith("_ZGV") for name, _ in called) == vectors
    x = np.linspace(0.1, 5, 1003).astype("f4" if "float f" in text else "f8")
    both = [x, x[::-1]][: 2 if "double y" in text else 1]
    assert bits(f(*both)) == bits(define(text, "off")(*both))


@pytest.mark.row("M03")
@TIERS
def test_no_flag_is_raised_that_c_does_not_raise(optimize: str) -> None:
    """NumPy's own functions say which arguments overflow, and so on."""
    quiet = {"exp": [-800.0, 0.0, 700.0, -np.inf, np.inf, np.nan, 1e-320]}
    quiet |= {"log": [1e-320, 1.0, np.inf, np.nan]}
    quiet |= {"sin": [0.0, 1e22, 1e300, np.nan, 5e-324], "cos": [0.0, 1e22, 1e300, np.nan, 5e-324]}
    loud = {"exp": ([710.0], "overflow"), "log": ([-1.0], "invalid")}
    loud |= {"sin": ([np.inf], "invalid"), "cos": ([-np.inf], "invalid")}
    for name, values in quiet.items():
        f = define(f"double f(double x) {{ return {name}(x); }}", optimize).ufunc
        for n in (1, 2, 4, 9, 33):
            for value in values:
                with np.errstate(invalid="raise", divide="raise", over="raise", under="ignore"):
                    f(np.full(n, value))
                    f(np.resize([value, 0.5, 1.0], n))
        for value in loud.get(name, ([], ""))[0]:
            flag = pytest.raises(FloatingPointError, match=loud[name][1])
            with np.errstate(all="raise", under="ignore"), flag:
                f(np.resize([0.5, value], 9))
    f = define("double f(double x) { return log(x); }", optimize).ufunc
    with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="divide"):
        f(np.zeros(3))


@pytest.mark.row("M03")
@TIERS
def test_powers_raise_the_flags_that_c_raises(optimize: str) -> None:
    values = [0.0, -0.0, 1.0, -1.5, 2.0, np.inf, -np.inf, np.nan, 1e300, -1e300, 1e-300, 5e-324, 2.0**341]
    exponents = [-9, -8, -3, -2, -1, 0, 1, 2, 3, 4, 8, 9, 0.5, 1.7, -1.7, np.inf, -np.inf, np.nan]
    exponents += [-7, -6, -5, -4, 5, 6, 7]
    names = {"invalid value": "invalid", "divide by zero": "divide", "overflow": "overflow"}
    raised: list[str] = []
    varies = define("double f(double x, double y) { return pow(x, y); }", optimize).ufunc
    with np.errstate(all="call", under="ignore", call=lambda kind, _: raised.append(names[kind])):
        for y in exponents:
            text = repr(y).replace("inf", "INFINITY").replace("nan", "1")  # NAN itself raises a flag
            constant = define(f"double f(double x) {{ return pow(x, {text}); }}", optimize).ufunc
            for x in values:
                infinite = np.isinf(x) or np.isinf(y)
                for call in (constant, varies)[int(np.isnan(y)) :]:
                    one = call(*[np.full(9, x), y][: call.nin])[0]
                    wanted = ["invalid"] if np.isnan(one) and not (np.isnan(x) or np.isnan(y)) else []
                    if np.isinf(one) and not infinite:
                        wanted = ["divide" if x == 0 else "overflow"]
                    assert raised == wanted, (x, y)
                    raised.clear()


# ---- names ----------------------------------------------------------------------------------------


@pytest.mark.row("M04")
@TIERS
@pytest.mark.parametrize(
    "text, wanted",
    [
        ("static double exp(double x) { return x + 1; } double f(double x) { return exp(x); }", 3.0),
        ("static inline __attribute__((noinline)) double exp(double x) { return x + 1; } "
         "double f(double x) { double (*e)(double) = exp; return e(x); }", 3.0),
        ("static double pow(double x, double y) { return x + y; } "
         "double f(double x) { return pow(x, 3); }", 5.0),
        ("static double fabs(double x) { return x - 7; } "
         "double f(double x) { return fabs(x) + floor(x); }", -3.0),
        ("static void sincos(double x, double *s, double *c) { *s = x; *c = 1; } "
         "double f(double x) { double s, c; sincos(x, &s, &c); return s + c; }", 3.0),
        ("double f(double exp) { double log = exp; { double sin = log; return sin; } }", 2.0),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::cwrapjit.CompileWarning")
def test_a_function_of_the_text_wins(text: str, wanted: float, optimize: str) -> None:
    f = define(text, optimize)
    assert f(2.0) == wanted
    assert (f(np.full(101, 2.0)) == wanted).all()


@pytest.mark.row("M04")
@TIERS
def test_a_function_of_the_header_wins(optimize: str) -> None:
    f = cwrapjit.function(
        "f",
        signature="x() -> y()",
        header="double exp(double x) { return x + 1; }",
        Ccode_slice_eval={np.float64: "item__y() = exp(item__x()); return true;"},
        optimize=optimize,
    )
    assert f.tier == ("cc" if optimize == "eager" else "tcc"), f.tier_error
    assert (f(np.full(101, 2.0)) == 3.0).all()


@pytest.mark.row("M04")
@TIERS
@pytest.mark.parametrize("brought", ["library", "sources"])
def test_a_library_or_a_source_wins(brought: str, optimize: str, tmp_path: pathlib.Path) -> None:
    text = "double exp(double x) { return x + 1; }\nfloat cosf(float x) { return x + 2; }\n"
    text += "void sincos(double x, double *s, double *c) { *s = x; *c = 3; }"
    (tmp_path / "own.c").write_text(text)
    given: dict[str, Any] = {"sources": [tmp_path / "own.c"]}
    if brought == "library":
        given = {"libraries": [build_shared(tmp_path, "own.so", text, "-fno-builtin")]}
    text = "double s, c; sincos(x, &s, &c); return exp(x) + cosf((float)x) + s * c;"
    f = define(f"{SINCOS} double f(double x) {{ {text} }}", optimize, **given)
    assert (f(np.full(101, 2.0)) == 13.0).all()


@pytest.mark.row("M04")
@TIERS
def test_a_library_that_only_needs_libm_brings_nothing(optimize: str, tmp_path: pathlib.Path) -> None:
    caller = "double exp(double); double g(double x) { return exp(x); }"
    needs = build_shared(tmp_path, "needs.so", caller, "-lm")
    x = numbers("double")
    text = "double f(double x) { return exp(x); }"
    for libraries in ([needs], ["m"]):
        assert bits(define(text, optimize, libraries=libraries)(x)) == bits(define(text, "off")(x))


# ---- math= ----------------------------------------------------------------------------------------


def makers(text: str, option: dict[str, str], optimize: str) -> dict[str, Any]:
    body = {np.float64: "item__y() = log(item__x()); return true;"}
    m = cwrapjit.module("m", optimize=optimize, **option)
    opposite = "cwrapjit" if option["math"] == "libm" else "libm"
    other = cwrapjit.module("m", optimize=optimize, math=opposite)
    slices = {"signature": "x() -> y()", "Ccode_slice_eval": body}
    return {
        "vectorize": cwrapjit.vectorize(text, optimize=optimize, **option),
        "function": cwrapjit.function("f", **slices, optimize=optimize, **option),
        "module": m.function("f", **slices),
        "of another module": other.function("f", **slices, **option),
        "kernel": cwrapjit.ElementwiseKernel("T x", "T y", "y = log(x)", optimize=optimize, **option),
        "library": cwrapjit.library("l", source=text, optimize=optimize, **option).f,
    }


@pytest.mark.row("M04")
@TIERS
def test_libm_is_an_option_of_all_front_ends(optimize: str) -> None:
    text = "double f(double x) { return log(x); }"
    x = np.abs(np.random.default_rng(3).normal(size=30_000))
    theirs = of_libm("log", "double", x)
    ours = define(text, "off")(x)
    assert bits(ours) != bits(theirs), "they differ in no argument: choose others"
    for who, f in makers(text, {"math": "libm"}, optimize).items():
        assert bits(f(x)) == bits(theirs), who
    for who, f in makers(text, {"math": "cwrapjit"}, optimize).items():
        assert bits(f(x)) == bits(ours), who


@pytest.mark.row("M04")
def test_libm_is_an_option_of_graphs() -> None:
    x = cg.ndarray("float64", 1)("x")
    data = np.abs(np.random.default_rng(3).normal(size=30_000))
    ours = define("double f(double x) { return log(x); }", "off")(data)
    for math, wanted in (("libm", of_libm("log", "double", data)), ("cwrapjit", ours)):
        for optimize in ("off", "eager"):
            f = cwrapjit.link([x], cg.elementwise("v", "log(v)")(x), math=math, optimize=optimize)
            assert bits(f(data)) == bits(wanted)


@pytest.mark.row("M04")
def test_libm_is_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "double f(double x) { return log(x); }"
    x = np.abs(np.random.default_rng(3).normal(size=30_000))
    cwrapjit.config.math = "libm"
    try:
        f = define(text)
        assert cwrapjit.config.math == "libm"
    finally:
        cwrapjit.config.math = None
    assert bits(f(x)) == bits(of_libm("log", "double", x))
    monkeypatch.setenv("CWRAPJIT_MATH", "libm")
    assert bits(define(text, math="cwrapjit")(x)) != bits(f(x))
    assert bits(define(text)(x)) == bits(f(x))
    monkeypatch.setenv("CWRAPJIT_MATH", "")
    assert cwrapjit.config.math == "cwrapjit"
    again = pickle.loads(pickle.dumps(cwrapjit.vectorize(text, math="libm")))
    assert bits(again(x)) == bits(f(x))


@pytest.mark.row("M04")
def test_functions_that_a_library_declares_are_its_own() -> None:
    libm = cwrapjit.library("libm", libraries=["m"]).declare("double log(double x);")
    x = np.abs(np.random.default_rng(3).normal(size=3000))
    assert [libm.log(each) for each in x.tolist()] == of_libm("log", "double", x).tolist()


@pytest.mark.row("M04")
def test_wrong_values_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    text, words = "double f(double x) { return x; }", ("math must be 'cwrapjit' or 'libm'", "'glibc'")
    refuses(ValueError, lambda: cwrapjit.vectorize(text, math="glibc"), "f()", *words)  # type: ignore[call-overload]
    refuses(ValueError, lambda: cwrapjit.vectorize("T f(T x) { return x; }", math="glibc"), *words)  # type: ignore[call-overload]
    refuses(ValueError, lambda: cwrapjit.module("m", math="glibc"), "module()", *words)  # type: ignore[arg-type]
    refuses(ValueError, lambda: cwrapjit.library("l", source=text, math="glibc"), "library('l')", *words)  # type: ignore[arg-type]
    refuses(TypeError, lambda: cwrapjit.vectorize(text, math=1), "math must be 'cwrapjit' or 'libm', not 1")  # type: ignore[call-overload]
    refuses(ValueError, lambda: setattr(cwrapjit.config, "math", "glibc"), *words)
    monkeypatch.setenv("CWRAPJIT_MATH", "glibc")
    refuses(ValueError, lambda: cwrapjit.vectorize(text), "CWRAPJIT_MATH", *words)
    monkeypatch.delenv("CWRAPJIT_MATH")
    monkeypatch.setenv("CWRAPJIT_CPU", "sse5")
    ran = python(f"import cwrapjit; cwrapjit.vectorize({text!r})", check=False)
    assert "ValueError: cwrapjit: CWRAPJIT_CPU must be " in ran.stderr and "not 'sse5'" in ran.stderr
    with pytest.raises(cwrapjit.CompileError, match="too many arguments"):
        cwrapjit.vectorize("double f(double x) { return exp(x, x); }")


@pytest.mark.row("M04")
@TIERS
def test_exceptions_that_a_text_asks_for_are_seen(optimize: str) -> None:
    """Calls without side effects could move behind the question."""
    f = cwrapjit.function(
        "f",
        signature="x() -> y(), flags()",
        header="#include <fenv.h>",
        Ccode_slice_eval={
            (np.float64, np.float64, np.int32): """
                feclearexcept(FE_ALL_EXCEPT);
                item__y() = exp(item__x());
                item__flags() = fetestexcept(FE_OVERFLOW | FE_INVALID | FE_DIVBYZERO) != 0;
                return true;"""
        },
        optimize=optimize,
    )
    assert f.tier == ("cc" if optimize == "eager" else "tcc"), f.tier_error
    assert f(np.array([1.0, 800.0, 2.0, -900.0]))[1].tolist() == [0, 1, 0, 0]


# ---- written modules --------------------------------------------------------------------------------

STRICT = ["-Wall", "-Wextra", "-Werror"]
FUSED = ["-march=native"] if platform.machine() == "x86_64" else []


def written(m: Any) -> str:
    text = io.StringIO()
    m.write(text)
    return text.getvalue()


def defining(name: str, value: str, kind: str = "double", arity: int = 1, **options: Any) -> Any:
    """Returns a module with a function f of one or two numbers, whose result is `value`."""
    m = cwrapjit.module(name, **{key: options.pop(key) for key in ("header", "sources") if key in options})
    add(m, "f", value, kind, arity, **options)
    return m


def add(m: Any, name: str, value: str, kind: str = "double", arity: int = 1, **options: Any) -> None:
    inputs = ", ".join(["x()", "y()"][:arity])
    body = {{"double": "f8", "float": "f4"}[kind]: f"item__z() = {value}; return true;"}
    m.function(name, signature=f"{inputs} -> z()", Ccode_slice_eval=body, **options)


@pytest.mark.row("M04")
@pytest.mark.parametrize("cc, flags", [("", ["-O0"]), ("", ["-O2", *FUSED]), ("clang", ["-O1", *FUSED])])
def test_a_written_module_has_the_same_bits(
    cc: str, flags: list[str], tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compilers that may fuse products and sums do not fuse those of these functions."""
    if cc and not shutil.which(cc):
        pytest.skip(f"no {cc} on this machine")
    monkeypatch.setenv("CC", cc or compiler())
    m = cwrapjit.module("cwj_maths")
    for name, arity, kind in OURS:
        add(m, name, f"{name}({', '.join(['item__x()', 'item__y()'][:arity])})", kind, arity)
    built = build_extension(tmp_path, "cwj_maths", written(m), *STRICT, "-Wno-unused-function", *flags)
    for name, arity, kind in OURS:
        x = arguments(kind, arity)
        with np.errstate(all="ignore"):
            assert bits(getattr(built, name)(*x)) == bits(getattr(m, name)(*x)), name


@pytest.mark.row("M04")
def test_a_written_module_contains_what_each_function_needs(tmp_path: pathlib.Path) -> None:
    """The others are not there to complete it."""
    begin = "".join(f"#include <{each}.h>\n" for each in ("math", "stdbool", "stdint", "string"))
    begin += "double cwj_quick_pow(double, double);\nfloat cwj_quick_powf(float, float);\n"
    pattern = r"\n/\* ---- functions of mathematics.*?#define \w+ cwj_math_\w+\n#endif\n"
    files = []
    for name, arity, kind in OURS:
        given = ", ".join(["item__x()", "item__y()"][:arity])
        text = written(defining("cwj_alone", f"{name}({given})", kind, arity))
        part = re.search(pattern, text, re.DOTALL)
        assert part and part[0].count("cwj_math_") == (4 if name.startswith("pow") else 2)
        assert len(part[0]) < 20_000
        files.append(tmp_path / f"{name}.c")
        files[-1].write_text(f"{begin}{part[0]}{kind} (*p)({', '.join([kind] * arity)}) = {name};\n")
    subprocess.run([compiler(), *STRICT, "-std=gnu11", "-fsyntax-only", *map(str, files)], check=True)


HEADER = """
static double twice(double (*function)(double), double x) { return function(function(x)); }
static float short_log(float x) { return logf(x); }
struct angle { double cos; };
"""


@pytest.mark.row("M04")
@pytest.mark.parametrize(
    "value, names",
    [
        ("exp(item__x()) + cbrt(item__x())", "exp cbrt logf"),
        ("twice(tan, item__x())", "tan logf"),
        ("item__x() < 0 ? 0 : (&acos)(item__x())", "acos logf"),
        ("JOINED(sinh)(item__x())", "sinh sinhf logf"),
        ("carg(CMPLX(item__x(), 1))", "atan2 atan2f logf"),
        ("pow(item__x(), 3)", "pow logf"),
        ("0; double s, c; sincos(item__x(), &s, &c); item__z() = s - c", "sincos sin cos logf"),
        ("0; double erf = item__x(), *sin = &erf; item__z() = twice(floor, erf) + (*sin)", "logf"),
        ("LOG_OF(item__x())", "logf"),
        ("((struct angle){.cos = item__x()}).cos", "logf"),
    ],
)
def test_a_written_module_contains_what_its_text_calls(
    value: str, names: str, tmp_path: pathlib.Path
) -> None:
    more = "#define JOINED(name) name##f\n" if "JOINED" in value else ""
    more += "#define log(x) 2 * (x)\n#define LOG_OF(x) log(x)\n" if "LOG_OF" in value else ""
    more += "#include <complex.h>\n" if "carg" in value else ""
    more += "void sincos(double, double *, double *);\n" if "sincos" in value else ""
    m = defining("cwj_called", value, header=more + HEADER)
    text = written(m)
    assert sorted(re.findall(r"#define \w+ cwj_math_(\w+)\n", text)) == sorted(names.split())
    built = build_extension(tmp_path, "cwj_called", text, *STRICT)
    x = numbers("double")
    with np.errstate(all="ignore"):
        assert bits(built.f(x)) == bits(m.f(x))


@pytest.mark.row("M04")
def test_a_written_module_calls_libm_where_the_function_does(tmp_path: pathlib.Path) -> None:
    x = np.abs(np.random.default_rng(3).normal(size=30_000))
    theirs = of_libm("log", "double", x)
    for option in ({"math": "libm"}, {"fastmath": True}):
        m = defining("cwj_theirs", "log(item__x())", **option)
        assert "tjv_" not in written(m)
        add(m, "g", "log(item__x())")
        add(m, "h", "log(item__x())", **option)
        built = build_extension(tmp_path, "cwj_theirs", written(m), *STRICT)
        assert bits(built.f(x)) == bits(built.h(x)) == bits(theirs) != bits(built.g(x)) == bits(m.g(x))
        (tmp_path / "cwj_theirs.so").unlink(missing_ok=True)


@pytest.mark.row("M04")
def test_powers_of_a_written_module_have_the_same_bits(tmp_path: pathlib.Path) -> None:
    """Also those of constants, and beside powers of libm, whose whole exponents are ours."""
    m = defining("cwj_powers", "pow(item__x(), item__y())", arity=2)
    add(m, "g", "pow(item__x(), item__y())", arity=2, math="libm")
    add(m, "h", "pow(item__x(), 3) + item__y()", arity=2)
    add(m, "k", "powf(item__x(), item__y()) - powf(item__x(), 0.5f)", "float", 2)
    built = build_extension(tmp_path, "cwj_powers", written(m), *STRICT, "-O3", *FUSED)
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=4000) ** 2, rng.integers(-20, 20, 4000) / 2
    for name in "fghk":
        both = [each.astype("f4" if name == "k" else "f8") for each in (x, y)]
        assert bits(getattr(built, name)(*both)) == bits(getattr(m, name)(*both)), name


@pytest.mark.row("M04")
def test_an_own_function_wins_in_a_written_module(tmp_path: pathlib.Path) -> None:
    plus = "double %s(double x) { return x + 1; }"
    (tmp_path / "own.c").write_text(plus % "exp")
    header = f"double exp(double);\nstatic {plus % 'sin'}\n{plus % 'fabs'}\nstatic {plus % 'floor'}\n"
    m = defining("cwj_own", "exp(item__x()) + sin(item__x()) + fabs(item__x()) + floor(item__x())",
                 header=header, sources=[tmp_path / "own.c"])  # fmt: skip
    assert "tjv_" not in written(m)
    sources = ["-Wl,-Bsymbolic", str(tmp_path / "own.c")]
    built = build_extension(tmp_path, "cwj_own", written(m), *STRICT, *sources)
    assert built.f(2.5) == m.f(2.5) == 14.0
