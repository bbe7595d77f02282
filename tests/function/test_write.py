"""Tests m.write(): the system's compiler builds the emitted source, which behaves like the code in memory."""

from __future__ import annotations

import inspect
import io
import os
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers import INNER, OUTER, ar, build_extension, python, refuses

import cwrapjit

# -ffp-contract=off prevents the fused instructions of arm64.
STRICT = ("-Wall", "-Wextra", "-Werror", "-O0", "-ffp-contract=off")
NAME = "cwj_written"
UNARY = "a() -> output()"


PARTICLE = [("x", "f8"), ("k", "i4")]
SPREAD = {"names": ["k", "x"], "formats": ["i4", "f8"], "offsets": [13, 1], "itemsize": 30}
RECORDS = {
    "packed": np.dtype(PARTICLE),
    "aligned": np.dtype(PARTICLE, align=True),
    "spread": np.dtype(SPREAD),
}
TITLED = np.dtype([(('a "title" \\ */ ??/ \u4e2d', "x"), "f8"), ("k", "i4", (2, 2))], align=True)
MOVE = "item__was() = item__p().x; item__now() = item__p(); item__now().x += item__b(); return true;"


def everything() -> Any:
    """Returns a module whose functions use every feature of functions."""
    m = cwrapjit.module(
        NAME,
        'A "module"\nwith \\ two lines, größe 100%',
        header="""#include <math.h>
#include <stdint.h>
static inline double sq(double x) { return x * x; }
static int calls, cleanups;
""",
    )

    def add(name: str, signature: str, code: Any, doc: str = "", **kw: Any) -> None:
        body = code if isinstance(code, dict) else {np.float64: code}
        m.function(name, doc, signature=signature, Ccode_slice_eval=body, **kw)

    rounded = "double out = 0;" + INNER.replace("item__output() = 0;", "").replace("item__output()", "out")
    rounded = rounded.replace("return", "item__output() = (int32_t)round(out); return")
    add(
        "inner",
        "a(n), b(n) -> output()",
        {np.float64: INNER, np.float32: INNER, (np.float64, np.float64, np.int32): rounded},
        doc='An inner product.\n\n"quoted" \\n %s ünï',
    )
    add("outer", "a(n), b(m) -> output(n, m)", OUTER)
    both = "item__output0() = sq(item__a()); item__output1(0) = 1; item__output1(1) = M_PI; return true;"
    add("both", "a() -> output0(), output1(2)", both)
    add("one_tuple", "a() -> (output0(),)", "return true;")
    identity = {float: "item__output(0, 0) = dims_slice__output[1]; return true;", int: "return true;"}
    add("identity", "-> output(N, N)", identity)
    add(
        "guarded",
        "a(n) -> output()",
        """
        if (item__a(0) < 0) {
            PyErr_Format(PyExc_KeyError, "%d%% of %s", (int)item__a(0), "negative");
            return false;
        }
        item__output() = item__a(0) * *scale + cookie->seen;
        return item__a(0) != 7;
        """,
        Ccode_validate="""cookie->seen = dims_full__a[Ndims_full__a - 1];
                          return *scale > 0 && CHECK_CONTIGUOUS_AND_SETERROR__a();""",
        Ccode_cookie_struct="double seen;",
        Ccode_cookie_cleanup="cleanups += cookie->seen > 0;",
        extra_args=(
            ("double", "scale", "1", "d"),
            ("const char*", "text", '"q\\"\\\\"', "s"),
            ("bool", "flag", "true", "p"),
            ("int", "count", "INT_MAX", "i"),
        ),
    )
    conjugate = "ctype__a v = item__a(); v.imag = -v.imag; item__output() = v; return true;"
    add("complex", UNARY, dict.fromkeys("FDG", conjugate))
    add(
        "mixed",
        "a(), b() -> output()",
        {("i1", "u2", "f4"): "item__output() = item__a() + item__b(); return true;"},
    )
    sums = """
        for (int j = 0; j < 3; j++) item__output0(j) = 0;
        for (int j = 0; j < 2; j++) item__output1(j) = 0;
        for (int i = 0; i < dims_slice__a[0]; i++) {
            for (int j = 0; j < 3; j++) item__output0(j) += item__a(i, j);
            for (int j = 0; j < 2; j++) item__output1(j) += item__b(i, j);
        }
        return true;"""
    add("sums", "a(n, 3), b(n, 2) -> output0(3), output1(2)", sums)
    add("texts", UNARY, {(np.bytes_, np.int64): "item__output() = sizeof_element__a; return true;"})
    add("says", UNARY, 'printf("C %g\\n", item__a()); item__output() = ++calls; return true;')
    add("größe", "länge() -> output()", "item__output() = item__länge(); return true;")
    add("inplace", "a(n) -> output(n)", "item__output(0) = item__a(0) + 1; return true;", inplace=True)
    add("safe", UNARY, "item__output() = item__a(); return true;", cast="safe")
    add("late", UNARY, 'PyErr_SetString(PyExc_ValueError, "late"); return true;')
    add("fails", UNARY, "item__output() = item__a(); return item__a() < 2;")
    updates = """
        for (int i = 0; i < dims_slice__x[0]; i++)
            item__x(i) += item__y();
        item__total() = 1;
        item__last() = 2;
        return true;"""
    add("updates", "inout x(n), y() -> (total(), last())", updates)
    add("bump", "inout a(n) ->", "item__a(0) += 1; return item__a(0) < 3;")

    copy = "for (int i = 0; i < 6; i++) item__y(i / 2, i % 2) = item__x(i / 2, i % 2); return true;"
    windows: dict[str, Any] = {
        "windows": {"x": (3, 2)},
        "window_steps": {"x": (2, 1)},
        "axes": {"x": (0, -1)},
    }
    add("windows", "x() -> y(3, 2)", copy, **windows)
    add("filled", "x() -> y(3, 2)", {"f8": copy, "i1": copy}, border="constant", cval=-3, **windows)
    for name, dtype in RECORDS.items():
        add(name, "p(), b() -> was(), now()", {(dtype, "f8", "f8", dtype): MOVE})
    add("titled", UNARY, {TITLED: "item__output() = item__a(); item__output().k[1][0] = 2; return true;"})
    for name, types in (("units", ("M8", "M8", "m8")), ("ns", ("M8[ns]", "M8[ns]", "m8[ns]"))):
        add(name, "a(), b() -> output()", {types: "item__output() = item__a() - item__b(); return true;"})
    count = "for (int i = 0; i < dims_slice__y[0]; i++) item__y(i) = i; return true;"
    add("dims", "x(n, d) -> y(m)", count, output_dims={"m": "n > 1 ? n*(n-1)/2 : 0"})
    divide = "item__output() = cdiv(cmul(csin(item__a()), item__b()), cexp(item__a())); return true;"
    add("divide", "a(), b() -> output()", {"D": divide, "F": divide.replace("csin", "ctanh")})
    add("size", UNARY, {("D", "d"): "item__output() = cabs(item__a()); return true;"})
    add(
        "half",
        UNARY,
        {"e": "item__output() = float_to_half(half_to_float(item__a()) * 1.0001f); return true;"},
    )
    add("number", UNARY, dict.fromkeys(("i1", "f4"), "item__output() = item__a(); return true;"))
    return m


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    """Returns the module in memory, and the one that the system's compiler built from its source."""
    m = everything()
    file = io.StringIO()
    m.write(file)
    return m, build_extension(tmp_path_factory.mktemp("written"), NAME, file.getvalue(), *STRICT)


def outcome(f: Any, call: Callable[[Any], Any]) -> tuple[str, Any]:
    """Returns the result, or the type and text of the exception."""
    try:
        return "result", call(f)
    except Exception as error:
        return type(error).__name__, str(error)


def alike(one: Any, two: Any) -> None:
    if isinstance(one, tuple):
        assert type(two) is type(one) and len(one) == len(two)
        for left, right in zip(one, two, strict=True):
            alike(left, right)
    elif isinstance(one, (np.ndarray, np.generic)):
        assert type(one) is type(two) and one.dtype == two.dtype
        np.testing.assert_array_equal(one, two)
        assert np.shape(one) == np.shape(two)
    else:
        assert one == two


class Opted:
    __array_ufunc__ = None


x4, x24 = ar(4), ar(2, 4)
TIMES = np.array(["2024-02-29T12:00:00.123456789", "NaT", "1969-12-31"], "M8[ns]")
numbers = np.exp(1j * ar(99)) * np.exp2(ar(99) - 50)
odd = np.zeros(33, np.uint8)[1:].view(np.float64)

CALLS: list[tuple[str, Callable[[Any], Any]]] = [
    ("inner", lambda f: f(x4, x24)),
    ("inner", lambda f: f(b=x24, a=x4)),
    ("inner", lambda f: f([1.0, 2.0], [3.0, 4.0])),
    ("inner", lambda f: f(2.0, 3)),
    ("inner", lambda f: f(x4.astype("f4"), x24.astype("f4"))),
    ("inner", lambda f: f(x4 / 3, x24, out=np.zeros(2, np.int32))),
    ("inner", lambda f: f(x4 / 3, x24, out=np.zeros(4)[::2])),
    ("inner", lambda f: f(x24[:, ::-1], ar(3, 1, 8)[..., ::2])),
    ("inner", lambda f: f(np.zeros((2, 0)), np.zeros((2, 0)))),
    ("inner", lambda f: f(np.zeros((0, 3)), np.zeros(3))),
    ("inner", lambda f: f()),
    ("inner", lambda f: f(x4)),
    ("inner", lambda f: f(x4, x4, x4)),
    ("inner", lambda f: f(x4, x4, colour=1)),
    ("inner", lambda f: f(x4, x4, a=1)),
    ("inner", lambda f: f([1, 2], [3, 4])),
    ("inner", lambda f: f(x4, x4.astype("i4"))),
    ("inner", lambda f: f(x4, x4.astype(">f8"))),
    ("inner", lambda f: f(x4, ar(5))),
    ("inner", lambda f: f(x24, ar(3, 4))),
    ("inner", lambda f: f(odd, x4)),
    ("inner", lambda f: f(x4, None)),
    ("inner", lambda f: f(x4, "text")),
    ("inner", lambda f: f(x4, np.ma.masked_array(x4))),
    ("inner", lambda f: f(x4, Opted())),
    ("inner", lambda f: f(x4, x24, out=np.zeros(3))),
    ("inner", lambda f: f(x4, x24, out=np.zeros(2, "i8"))),
    ("inner", lambda f: f(x4, x24, out=[0, 0])),
    ("inner", lambda f: f(x4, x24, out=(np.zeros(2),))),
    ("inner", lambda f: f(x4, x24, out=np.broadcast_to(1.0, 2))),
    ("inner", lambda f: f(x4, x24, out=np.zeros((3, 2)))),
    ("inner", lambda f: (lambda x: f(x, x24, out=x[0, :2]))(x24.copy())),
    ("outer", lambda f: f(x4, ar(3))),
    ("outer", lambda f: f(ar(3, 1, 2), ar(2, 3))),
    ("outer", lambda f: f(ar(1), ar(1), out=np.zeros(()))),
    ("outer", lambda f: f(ar(2), ar(2), out=np.zeros(2))),
    ("outer", lambda f: f(np.broadcast_to(1.0, 2**40), np.broadcast_to(1.0, 2**40))),
    ("both", lambda f: f(3.0)),
    ("both", lambda f: f(x24)),
    ("both", lambda f: f(x4, out=(np.zeros(4), np.zeros((4, 2))))),
    ("both", lambda f: f(x4, out=(np.zeros(4), None))),
    ("both", lambda f: f(x4, out=(np.zeros(4),))),
    ("both", lambda f: f(x4, out=np.zeros(4))),
    ("one_tuple", lambda f: f(ar(2), out=(np.zeros(2),))),
    ("one_tuple", lambda f: f(ar(2), out=np.zeros(2))),
    ("identity", lambda f: f(out=np.zeros((3, 3)))),
    ("identity", lambda f: f(out=np.zeros((2, 3, 3)))),
    ("identity", lambda f: f(out=np.zeros((3, 2)))),
    ("identity", lambda f: f(out=np.zeros((2, 2), "i4"))),
    ("identity", lambda f: f()),
    ("guarded", lambda f: f(x4)),
    ("guarded", lambda f: f(x24 + 1, scale=2.5)),
    ("guarded", lambda f: f(x4, scale=-1)),
    ("guarded", lambda f: f(x24[:, ::2])),
    ("guarded", lambda f: f(x24 - 1)),
    ("guarded", lambda f: f(x24 + 3)),
    ("guarded", lambda f: f(x4, 2.0)),
    ("guarded", lambda f: f(x4, scale="x")),
    ("guarded", lambda f: f(x4, text=None)),
    ("guarded", lambda f: f(x4, text="nul\0")),
    ("guarded", lambda f: f(x4, flag=[], count=2**31)),
    ("guarded", lambda f: f(x4, flag=[], count=2**31 - 1, text="fine")),
    ("complex", lambda f: f(1 + 2j)),
    ("complex", lambda f: f(np.array([1 + 2j, 3], "F"))),
    ("complex", lambda f: f(np.array([1 + 2j, 3], "G"))),
    ("mixed", lambda f: f(np.int8(-3), np.arange(3, dtype="u2"))),
    ("mixed", lambda f: f(-3, 5)),
    ("mixed", lambda f: f(-300, np.uint16(5))),
    ("sums", lambda f: f(ar(7, 3), ar(2, 7, 2))),
    ("sums", lambda f: f(ar(7, 3), ar(6, 2))),
    ("texts", lambda f: f(np.array([b"abc", b"d"]))),
    ("texts", lambda f: f(np.array(["abc"]))),
    ("größe", lambda f: f(4.0)),
    ("größe", lambda f: f(länge=4.0)),
    ("größe", lambda f: f(np.int8(4))),
    ("inplace", lambda f: (lambda x: f(x, out=x))(ar(1))),
    ("inplace", lambda f: (lambda x: f(x, out=x[::-1]))(ar(2))),
    ("safe", lambda f: f(x4.astype("i2"))),
    ("safe", lambda f: f(x4.astype(">f4"))),
    ("safe", lambda f: f(1j)),
    ("late", lambda f: f(x4)),
    ("fails", lambda f: f(x4)),
    ("fails", lambda f: f(x4[:2])),
    ("updates", lambda f: (lambda x: (f(x, 5.0), x))(ar(3))),
    ("updates", lambda f: (lambda x: (f(x, ar(2)), x))(ar(2, 3))),
    ("updates", lambda f: f([1.0], 2.0)),
    ("bump", lambda f: (lambda x: (f(x), x))(ar(2))),
    ("bump", lambda f: (lambda x: (f(x), x))(ar(2) + 5)),
    ("bump", lambda f: f(ar(2), out=ar(2))),
    ("bump", lambda f: f(np.broadcast_to(1.0, 3))),
    ("updates", lambda f: (lambda x: f(x, x[0]))(ar(3))),
    ("windows", lambda f: f(ar(5, 2, 4))),
    ("windows", lambda f: f(ar(5, 2, 4)[:, ::-1])),
    ("windows", lambda f: f(1.0)),
    ("filled", lambda f: f(ar(5, 2, 4))),
    ("filled", lambda f: f(ar(5, 2, 4, dtype=np.int8))),
    *((name, lambda f, t=t: f(ar(3, 4).astype(t), 2.5)) for name, t in RECORDS.items()),
    *((name, lambda f: f(np.zeros(3, "V12"), 2.5)) for name in RECORDS),
    ("titled", lambda f: f(np.ones(3, TITLED))),
    ("titled", lambda f: f(np.ones(3, [("x", "f8"), ("k", "i4", (2, 2))]))),
    ("units", lambda f: f(TIMES, TIMES[0])),
    ("units", lambda f: f(TIMES.astype("M8[s]"), TIMES.astype("M8[s]")[0])),
    ("units", lambda f: f(TIMES.astype("M8[s]"), TIMES)),
    ("ns", lambda f: f(TIMES, TIMES[0])),
    ("ns", lambda f: f(TIMES.astype("M8[s]"), TIMES)),
    ("dims", lambda f: f(ar(4, 5, 2))),
    ("dims", lambda f: f(ar(4, 5, 2), out=np.empty((4, 10)))),
    ("dims", lambda f: f(ar(4, 5, 2), out=np.empty((4, 11)))),
    ("divide", lambda f: f(numbers, numbers[::-1])),
    ("divide", lambda f: f(numbers.astype("F"), numbers[::-1].astype("F"))),
    ("size", lambda f: f(numbers)),
    ("half", lambda f: f(np.arange(65536, dtype=np.uint16).view(np.float16))),
    *(("number", lambda f, n=n: f(n)) for n in (1, 128, -129, 10**400, 0.1, np.int8(1))),
]


@pytest.mark.row("U09", "N06", "K08", "K10", "K11", "K12", "K17", "N09i")
@pytest.mark.parametrize("name, call", CALLS, ids=[f"{i}-{name}" for i, (name, _) in enumerate(CALLS)])
def test_both_do_the_same(twins: tuple[Any, Any], name: str, call: Callable[[Any], Any]) -> None:
    in_memory, built = (outcome(getattr(m, name), call) for m in twins)
    assert in_memory[0] == built[0], (in_memory, built)
    alike(in_memory[1], built[1])


@pytest.mark.quick
@pytest.mark.row("U09")
def test_the_calls_cover_results_and_every_exception(twins: tuple[Any, Any]) -> None:
    kinds = [outcome(getattr(twins[0], name), call)[0] for name, call in CALLS]
    assert {"result", "TypeError", "ValueError", "RuntimeError", "KeyError", "OverflowError"} <= set(kinds)
    assert kinds.count("result") > 25


@pytest.mark.row("U09", "N04")
def test_names_docs_and_signatures_are_the_same(twins: tuple[Any, Any]) -> None:
    in_memory, built = twins
    assert built.__name__ == NAME and built.__doc__ == in_memory.__doc__
    for name in {name for name, _ in CALLS}:
        one, two = getattr(in_memory, name), getattr(built, name)
        assert two.__name__ == one.__name__ == name
        assert (two.__doc__ or "") == (one.__doc__ or "")
        parameters = inspect.signature(one).parameters
        if "".join(parameters).isascii():
            assert list(inspect.signature(two).parameters) == list(parameters)
        else:  # CPython cannot read other signatures of C functions
            assert two.__text_signature__ is None
        assert two.__module__ == one.__module__ == NAME


@pytest.mark.row("U09", "N20i")
def test_both_print_through_sys_stdout(twins: tuple[Any, Any], capsys: pytest.CaptureFixture[str]) -> None:
    for m in twins:
        print("before")
        assert m.says(ar(2)).tolist() == [1, 2], "each has state of its own"
        print("after")
        assert capsys.readouterr().out == "before\nC 0\nC 1\nafter\n"


@pytest.mark.quick
@pytest.mark.row("N06", "U09")
def test_write_to_stdout_or_to_a_file(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    m, text = everything(), io.StringIO()
    remark = "/* a remark: 100% \\ verbatim */\n  item__output()   =   1 ;\nreturn true;"
    for body in ("/* redefined */ return true;", remark):
        m.function("f", signature="-> output()", Ccode_slice_eval={float: body})
    m.write(text)
    assert m.write() is None
    shown = capsys.readouterr()
    assert shown.out == text.getvalue() and shown.err == ""
    assert remark in shown.out and "redefined" not in shown.out
    assert f"PyInit_{NAME}" in shown.out and shown.out.endswith("\n")
    for path in (os.path.dirname(cwrapjit.__file__), os.getcwd(), "site-packages"):
        assert path not in shown.out, "nothing of this machine"
    with open(tmp_path / "m.c", "w", encoding="utf-8") as file:
        m.write(file=file)
    assert (tmp_path / "m.c").read_text(encoding="utf-8") == text.getvalue()
    refuses(TypeError, lambda: m.write(5), "write(): file must be open for writing text, not int")

    class Full:
        def write(self, text: str) -> int:
            raise OSError("disk full")

    refuses(OSError, lambda: m.write(Full()), "disk full")


@pytest.mark.row("U09")
@pytest.mark.parametrize(
    "functions", [0, pytest.param(1, marks=pytest.mark.soak("optimizes, for the compiler's warnings"))]
)
def test_the_built_module_needs_nothing_of_this_package(functions: int, tmp_path: Any) -> None:
    m, text = cwrapjit.module("cwj_alone", "nothing"), io.StringIO()
    for _ in range(functions):
        m.function(
            "f", signature=UNARY, Ccode_slice_eval={float: "item__output() = -item__a(); return true;"}
        )
    m.write(text)
    flags = "-Wall", "-Wextra", "-Werror", "-O2" if functions else "-O0", "-std=gnu11"
    assert build_extension(tmp_path, "cwj_alone", text.getvalue(), *flags).__doc__ == "nothing"
    code = "import sys; sys.path[:0] = sys.argv[1:]; import cwj_alone; f = getattr(cwj_alone, 'f', abs)"
    done = python(code + "; print(f(2.0), 'cwrapjit' in sys.modules)", str(tmp_path))
    assert done.stdout == ("-2.0 False\n" if functions else "2.0 False\n")


@pytest.mark.row("N06")
def test_a_source_of_the_modules_own_name_stays_what_it_is(tmp_path: Any) -> None:
    """The command in the emitted text compiles both files, so the text must not overwrite the source."""
    source = tmp_path / "mylib.c"
    source.write_text("double twice(double x) { return 2 * x; }\n")
    twice = "static npy_complex128 both(npy_complex128 z) { return cadd(z, z); }"
    header = f"#include <complex.h>\n#include <numpy/halffloat.h>\ndouble twice(double);\n{twice}\n"
    m = cwrapjit.module("mylib", sources=[source], header=header)
    codes = {
        float: "npy_maximum(twice(item__a()), npy_amin(i, 3, i))",
        complex: "both(item__a())",
        np.float16: "float_to_half(half_to_float(item__a()))",
    }
    code = {key: f"item__output() = {value}; return true;" for key, value in codes.items()}
    m.function("f", signature=UNARY, Ccode_slice_eval=code)
    text = io.StringIO()
    m.write(text)
    command = text.getvalue().split("*/")[0]
    assert re.findall(r"^ +\*? *(\S+\.c) ", command, re.MULTILINE) == ["mylib_module.c", str(source)]
    folder = tmp_path / "built"
    folder.mkdir()
    built = build_extension(folder, "mylib", text.getvalue(), str(source))
    assert built.f(2.0) == 4 and built.f(1 + 2j) == 2 + 4j and built.f(np.float16(3)) == 3


@pytest.mark.row("U09", "G08")
def test_quotients_of_a_built_module_trap_on_no_defined_values(tmp_path: Any) -> None:
    """With -fwrapv, which is among Python's own flags, gcc turns -(a / b) into a / -b."""
    header = "#define QUOTIENT(a, b) ((a) / (b))\nstatic int minus(int a, int b) { return -(a / (b + 1)); }\n"
    m, text = cwrapjit.module("cwj_divided", header=header), io.StringIO()
    x, k = "item__x()", "item__k()"
    forms = f"~({x} / (({k} & 7) + 1))", f"-QUOTIENT({x}, {k} + 1)", f"minus({x}, {k})"
    for i, form in enumerate(forms):
        code = {np.int32: f"item__y() = {form}; return true;"}
        m.function(f"f{i}", signature="x(), k() -> y()", Ccode_slice_eval=code)
    m.write(text)
    build_extension(tmp_path, "cwj_divided", text.getvalue(), "-fwrapv", "-Wall", "-Wextra", "-Werror")
    call = "import sys, numpy as np; sys.path[:0] = sys.argv[1:]; import cwj_divided as m"
    call += "; print(*(f(np.int32(-(2**31)), np.int32(0)) for f in (m.f0, m.f1, m.f2)))"
    done = python(call, str(tmp_path))
    assert done.stdout.split() == ["2147483647", "-2147483648", "-2147483648"]
