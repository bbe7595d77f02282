"""Tests debug=True: indices are checked, and faults that would end the process raise exceptions."""

from __future__ import annotations

import ctypes
import gc
import io
import os
import pathlib
import signal
import string
import sys
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from faults import FAULTS, SINK, faulting
from helpers import ar, in_threads, python, refuses, wrap, wrap_signature
from leaks import keeps_nothing
from library_tools import INCLUDES, from_c, from_shared

import cwrapjit
import cwrapjit.graph as cg

pytestmark = pytest.mark.row("G03")

GOOD = np.arange(6, dtype=np.int32)
BAD = np.arange(9, dtype=np.int32)


@pytest.fixture
def config() -> Iterator[Any]:
    yield cwrapjit.config
    cwrapjit.config.debug = None


# ---- faults ------------------------------------------------------------------------------------


@pytest.mark.quick
@pytest.mark.parametrize("kind", FAULTS)
def test_a_fault_is_an_exception_with_its_line(kind: str) -> None:
    f = faulting(kind)
    assert f(GOOD).tolist() == GOOD.tolist() and "faulted" not in repr(f)
    for _ in range(3):
        fault = refuses(cwrapjit.Fault, lambda: f(BAD), "t.f(): SIG", FAULTS[kind][2], "line ")
        assert isinstance(fault, RuntimeError)
        assert fault.signal is signal.Signals(FAULTS[kind][1])
        assert f(GOOD).tolist() == GOOD.tolist(), "the function can be called again"
        if kind == "recursion":
            assert (fault.filename, fault.lineno) == ("<cwrapjit t header>", 1)
        else:
            assert (fault.filename, fault.lineno) == ("<cwrapjit t.f int32>", 3)
            assert fault.text.startswith("if(x == 7) {")
    assert "has faulted" in repr(f)


@pytest.mark.parametrize("kind", ["null", "null member", "wild"])
def test_the_address_is_what_was_accessed(kind: str) -> None:
    fault = refuses(cwrapjit.Fault, lambda: faulting(kind)(BAD), "t.f(): SIG")
    assert fault.address == {"null": 0, "null member": 24, "wild": 7 << 43}[kind]
    fault = refuses(cwrapjit.Fault, lambda: faulting("no address")(BAD), "t.f(): SIG")
    assert fault.address is None, "the processor does not tell"


def test_lines_in_the_header_and_in_sources(tmp_path: pathlib.Path) -> None:
    source = tmp_path / "lib.c"
    source.write_text("#include <stdlib.h>\n\nint quotient(int a, int b)\n{\n  return a\n    / b;\n}\n")
    header = """int quotient(int a, int b);
static int half(int a, int b)
{
    int c = a;
    return c % b;
}
"""
    body = {
        np.int32: """item__output() = item__a() > 0 ? quotient(1, item__b())
            : half(1, item__b());
            return true;"""
    }
    f = wrap(((), ()), (), body, header=header, sources=[str(source)], debug=True)
    assert f(np.int32(1), np.int32(1)) == 1
    fault = refuses(cwrapjit.Fault, lambda: f(np.int32(1), np.int32(0)), "lib.c", "line 6: / b;")
    assert (fault.filename, fault.lineno, fault.text) == (str(source), 6, "/ b;")
    fault = refuses(cwrapjit.Fault, lambda: f(np.int32(-1), np.int32(0)), "return c % b;")
    assert (fault.filename, fault.lineno) == ("<cwrapjit t header>", 5)


@pytest.mark.quick
def test_sources_that_changed_have_no_lines(tmp_path: pathlib.Path) -> None:
    source = tmp_path / "lib.c"
    source.write_text("int quotient(int a, int b) { return a / b; }\nint other(void) { return 1; }\n")
    m = cwrapjit.module("t", header="int quotient(int a, int b);", sources=[str(source)])
    source.write_text(
        "int x[3];\nint quotient(int a, int b) { x[1] = a; return a / b; }\nint other(void) { return 1; }\n"
    )
    body = {np.int32: "item__y() = quotient(item__x(), 0); return true;"}
    f = m.function("f", signature="x() -> y()", Ccode_slice_eval=body, debug=True)
    fault = refuses(cwrapjit.Fault, lambda: f(np.int32(1)), "SIGFPE", "line 1: item__y() = quotient(")
    assert fault.filename == "<cwrapjit t.f int32>", "where it was called"


@pytest.mark.quick
@pytest.mark.parametrize("part", ["validate", "cleanup", "default"])
def test_the_other_snippets_are_guarded_too(part: str) -> None:
    header = """static int zero(void) { static volatile int z; return z; }
static int boom(int on) { return on ? 1 / zero() : 1; }"""
    options: dict[str, Any] = {"extra_args": (("int", "on", "0", "i"),)}
    if part == "validate":
        options["Ccode_validate"] = "\nreturn boom(*on) == 1;"
    elif part == "cleanup":
        options["Ccode_cookie_struct"] = "int unused;"
        options["Ccode_cookie_cleanup"] = "\nboom(*on);"
    else:
        options["extra_args"] = (("int", "on", "0", "i"), ("int", "other", "boom(1)", "i"))
    f = wrap(
        ((),), (), "item__output() = item__a() + *on; return true;", header=header, debug=True, **options
    )
    if part != "default":
        assert f(1.0) == 1
    for _ in range(2):
        fault = refuses(cwrapjit.Fault, lambda: f(1.0, on=1), "SIGFPE")
        assert (fault.filename, fault.lineno) == ("<cwrapjit t header>", 2)


def test_cookies_are_cleaned_up_after_a_fault(capsys: pytest.CaptureFixture[str]) -> None:
    f = wrap_signature(
        "x() -> y()",
        {np.int32: "item__y() = 1 / item__x(); return true;"},
        Ccode_cookie_struct="int *memory;",
        Ccode_validate="cookie->memory = malloc(4); return true;",
        Ccode_cookie_cleanup='free(cookie->memory); printf("cleaned ");',
        debug=True,
    )
    assert f(np.int32(1)) == 1
    refuses(cwrapjit.Fault, lambda: f(np.int32(0)), "SIGFPE")
    assert f(np.int32(1)) == 1
    assert capsys.readouterr().out == "cleaned " * 3


def test_arguments_outputs_and_the_function_are_given_back() -> None:
    f = faulting("null")
    x, out = BAD.copy(), np.zeros(9, np.int32)
    before = sys.getrefcount(x), sys.getrefcount(out)
    for _ in range(10):
        refuses(cwrapjit.Fault, lambda: f(x), "t.f(): SIG")
        refuses(cwrapjit.Fault, lambda: f(x, out=out), "t.f(): SIG")
    assert (sys.getrefcount(x), sys.getrefcount(out)) == before
    assert out.tolist() == [0, 1, 2, 3, 4, 5, 6, 0, 0], "what was written before stays"
    functions = [faulting("null")]
    gone = weakref.ref(functions[0])
    refuses(cwrapjit.Fault, lambda: functions[0](BAD), "t.f(): SIG")
    functions.clear()
    gc.collect()
    assert gone() is None


def test_rounding_and_signals_are_as_before() -> None:
    """Whatever the code has changed is restored, although the kernel changes the signal mask for handlers."""
    header = "#include <signal.h>\n#include <fenv.h>\n"
    body = """sigset_t all;
        sigemptyset(&all);
        sigaddset(&all, SIGUSR2);
        if(item__x() < 0) sigprocmask(SIG_BLOCK, &all, NULL);
        if(item__x() < 0) fesetround(FE_TOWARDZERO);
        item__y() = item__x() < -1 ? ERROR : 1 / (int)(item__x() + 1);
        return true;"""
    f = wrap_signature("x() -> y()", body.replace("ERROR", "*(double *)8"), header=header, debug=True)
    body = body.replace("item__x()", "item__x(0)").replace("ERROR", "item__x(dims_slice__x[0])")
    g = wrap_signature("x(n) -> y()", body, header=header, debug=True)
    libm = ctypes.CDLL("libm.so.6")
    masked = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    upwards = 0x800  # FE_UPWARD
    try:
        libm.fesetround(upwards)
        for call, error, word in (
            (lambda: f(-1.0), cwrapjit.Fault, "division by zero"),
            (lambda: f(-2.0), cwrapjit.Fault, "null pointer"),
            (lambda: g(np.full((3, 1), -2.0)), IndexError, "index 1 is out"),
        ):
            refuses(error, call, word)
            assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == masked | {signal.SIGUSR1}
            assert libm.fegetround() == upwards
    finally:
        libm.fesetround(0)
        signal.pthread_sigmask(signal.SIG_SETMASK, masked)


def test_memory_that_has_no_file_behind_it(tmp_path: pathlib.Path) -> None:
    """A mapped file that has been truncated gives SIGBUS."""
    path = tmp_path / "numbers"
    np.zeros(100_000, np.int32).tofile(path)
    x = np.memmap(path, np.int32, "r")
    f = faulting("zero")
    assert not f(np.asarray(x)).any()
    os.truncate(path, 4096)
    fault = refuses(cwrapjit.Fault, lambda: f(np.asarray(x)), "SIGBUS", "line 2: int x = item__x(i), r = x;")
    assert fault.signal is signal.SIGBUS
    assert fault.address == x.ctypes.data + 4096
    x = None  # as closing it may write to it


@pytest.mark.leak
@pytest.mark.parametrize("kind", ["zero", "recursion", "libc", "abort"])
def test_faults_keep_nothing(kind: str) -> None:
    f = faulting(kind)
    long = np.tile(BAD, (3000, 1))

    def work() -> None:
        for x in (BAD, long):
            with pytest.raises(cwrapjit.Fault):
                f(x)

    keeps_nothing(work, watched=(f, BAD, long))


@pytest.mark.leak
def test_other_errors_of_debug_mode_keep_nothing(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CWRAPJIT_OPTIMIZE", "off")  # so that no check waits for the compiler
    source = tmp_path / "lib.c"
    source.write_text("int quotient(int a, int b) { return a / b; }\n")
    lib = cwrapjit.library("lib", sources=[source], debug=True)
    quotient = lib.function("int quotient(int a, int b)")
    index = wrap_signature("x(n) -> y()", "item__y() = item__x(9); return true;", debug=True)
    behind = wrap_signature(
        "x(n) -> y()", "item__y() = 0; ((char *)data_slice__y)[8] = 0; return true;", debug=True
    )
    unwritten = wrap_signature("x(n) -> y()", "return true;", debug=True)
    readers = [READERS[how](READS, True) for how in ("vectorize", "sources")]

    def work() -> None:
        for f in readers:
            assert f(BAD * 1.0, 2) == 2
            with pytest.raises(cwrapjit.Fault):
                f(BAD * 1.0, 9)
        with pytest.raises(cwrapjit.Fault):
            quotient(1, 0)
        with pytest.raises(IndexError):
            index(BAD * 1.0)
        for f in (behind, unwritten):
            with pytest.raises(cwrapjit.Fault):
                f(BAD * 1.0)
        wrap_signature("x() -> y()", "item__y() = item__x(); return true;", debug=True)(1.0)
        cwrapjit.library("lib", sources=[source], debug=True).function("int quotient(int a, int b)")(1, 1)

    keeps_nothing(work, watched=(quotient, index, behind, unwritten))


# ---- the stack -----------------------------------------------------------------------------------

OVERRUN = """char local[8]; int many = item__x();
WRITE
item__y() = local[2]; return true;"""
WRITES = {
    "libc": "memset(local, 0x41, many);",
    "zeros": "memset(local, 0, many);",
    "loop": "for(volatile int i = 0; i < many; i++) local[i] = i;",
}


def overrun(how: str, **options: Any) -> Any:
    options.setdefault("header", "#include <string.h>\n")
    return wrap_signature(
        "x() -> y()", {np.int32: OVERRUN.replace("WRITE", WRITES[how])}, debug=True, **options
    )


def outcome(call: Any) -> str:
    """Returns the fault's text or "fine": short overruns may stay in padding between the variables."""
    try:
        call()
    except cwrapjit.Fault as fault:
        return str(fault)
    return "fine"


@pytest.mark.plain("sanitizers know each thread's stack: there the code stays on that")
@pytest.mark.skipif(
    sys.version_info >= (3, 14), reason="this CPython knows its thread's stack, and code stays there"
)
@pytest.mark.parametrize("python_h", [False, True])
@pytest.mark.parametrize("how", WRITES)
def test_local_arrays_that_are_overrun(how: str, python_h: bool) -> None:
    f = overrun(how, header="#include <Python.h>\n" if python_h else "#include <string.h>\n")
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    for many in (32, 40, 64, 100, 160, 240, 400, 800, 4000, 100_000, 10_000_000):
        said = outcome(lambda many=many: f(np.int32(many)))
        assert "t.f(): SIGSEGV: " in said, many
        assert many < 1000 or "behind the end of the stack" in said
        assert f(np.int32(3)) == (0 if how == "zeros" else 2 if how == "loop" else 0x41)
        assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == mask
    if how == "loop":
        fault = refuses(cwrapjit.Fault, lambda: f(np.int32(4000)), "behind the end of the stack")
        assert fault.lineno == 2 and fault.text == WRITES[how]


@pytest.mark.quick
@pytest.mark.plain("sanitizers know each thread's stack: there the code stays on that")
@pytest.mark.skipif(
    sys.version_info >= (3, 14), reason="this CPython knows its thread's stack, and code stays there"
)
def test_overruns_inside_of_each_other_and_in_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The outer function prints, so frames of Python lie between the two."""
    f, found = overrun("libc"), []
    text = 'printf("%d", item__x()); char local[8]; memset(local, 1, item__x()); item__y() = 1; return true;'
    outer = wrap_signature("x() -> y()", {np.int32: text}, header="#include <string.h>\n", debug=True)

    class File:
        def write(self, text: str) -> int:
            found.append(outcome(lambda: f(np.int32(4000))))
            return len(text)

        def flush(self) -> None:
            pass

    monkeypatch.setattr(sys, "stdout", File())
    assert outer(np.int32(8)) == 1
    refuses(cwrapjit.Fault, lambda: outer(np.int32(4000)), "behind the end of the stack")

    def work(k: int) -> None:
        for many in (8, 4000, 40):
            found.append(outcome(lambda many=many: f(np.int32(many))))

    in_threads(work, 8)
    assert sum("behind the end" in said for said in found) == len(found) - 16 >= 10
    assert found.count("fine") == 8


@pytest.mark.plain("sanitizers have handlers of their own, and other ends of processes")
@pytest.mark.parametrize("room", ["", "resource.setrlimit(resource.RLIMIT_AS, (size, size))"])
def test_overruns_never_hang(room: str) -> None:
    """Without memory for another stack the process may end, but by the signal, and without hanging."""
    done = python(
        f"""{SETUP}
import resource
f = cwrapjit.function("f", signature="x() -> y()", debug=True, header="#include <string.h>",
    Ccode_slice_eval={{np.int32: {OVERRUN.replace("WRITE", WRITES["libc"])!r}}})
faulthandler.enable()
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
size = (int(open("/proc/self/statm").read().split()[0]) + 10) * os.sysconf("SC_PAGESIZE")  # but for arrays
{room}
ends = []
for many in (64, 100, 240, 400, 800, 4000):
    child = os.fork()
    if child == 0:
        signal.alarm(600)
        try:
            f(np.int32(many))
        except cwrapjit.Fault:
            os._exit(0)
        os._exit(1)
    ends.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(set(ends) <= {{0, -signal.SIGSEGV}}, ends.count(0) >= 2, ends)
"""
    )
    assert done.stdout.split()[:2] == ["True"] * 2, done.stdout


@pytest.mark.quick
@pytest.mark.parametrize("name", ["SIGSEGV", "SIGFPE", "SIGBUS", "SIGILL"])
def test_signals_that_the_code_raises_itself(name: str) -> None:
    body = f"item__y() = 1;\nif(item__x()) raise({name});\nreturn true;"
    f = wrap_signature("x() -> y()", {np.int32: body}, header="#include <signal.h>\n", debug=True)
    assert f(np.int32(0)) == 1
    for _ in range(2):
        fault = refuses(cwrapjit.Fault, lambda: f(np.int32(1)), f"{name}: the code has raised the signal")
        assert fault.signal is signal.Signals[name] and fault.lineno == 2


@pytest.mark.quick
@pytest.mark.parametrize("what", ["__builtin_trap();", "((void (*)(void))(npy_intp)0x1234567)();"])
def test_lines_of_traps_and_of_calls_of_wild_pointers(what: str) -> None:
    body = {np.int32: f"item__y() = 1;\nif(item__x()) {what}\nreturn true;"}
    f = wrap_signature("x() -> y()", body, debug=True)
    assert f(np.int32(0)) == 1
    fault = refuses(cwrapjit.Fault, lambda: f(np.int32(1)), "t.f(): SIG", "line 2: if(item__x())")
    assert fault.lineno == 2 and fault.filename == "<cwrapjit t.f int32>"


# ---- threads and the GIL --------------------------------------------------------------------------


@pytest.mark.parametrize("gil", [None, True, False])
def test_faults_in_many_threads(gil: bool | None) -> None:
    """Calls of one slice keep the GIL; calls of many release it."""
    f = faulting("zero", gil=gil)
    long = np.tile(GOOD, (20_000, 1))
    bad = np.concatenate([long, np.full((1, 6), 7, np.int32)])
    found: list[str] = []

    def work(k: int) -> None:
        for _ in range(5):
            for x in (GOOD, BAD, long, bad):
                try:
                    assert f(x).shape == x.shape
                    found.append("fine")
                except cwrapjit.Fault as fault:
                    found.append(fault.signal.name)

    in_threads(work, 4)
    assert sorted(found) == ["SIGFPE"] * 40 + ["fine"] * 40


def test_threads_are_one_in_debug_mode() -> None:
    body = "item__y() = item__x() + 1; return true;"
    f = wrap_signature("x() -> y()", body, threads=8, unordered=True, debug=True)
    assert np.array_equal(f(ar(100_000)), ar(100_000) + 1)


@pytest.mark.quick
@pytest.mark.parametrize(
    ("gil", "before", "after"),
    [
        (None, "PyThreadState *state = PyEval_SaveThread();", "PyEval_RestoreThread(state);"),
        (False, "PyGILState_STATE state = PyGILState_Ensure();", "PyGILState_Release(state);"),
    ],
)
def test_the_gil_that_code_took_or_gave_itself(gil: bool | None, before: str, after: str) -> None:
    """The fault leaves the code after Py_BEGIN_ALLOW_THREADS, or after PyGILState_Ensure()."""
    code = f"{before} item__output() = 1 / (int)item__a(); {after} return true;"
    f = wrap(((),), (), code, header="#include <Python.h>\n", gil=gil, debug=True)
    assert f(1.0) == 1
    for _ in range(3):
        refuses(cwrapjit.Fault, lambda: f(0.0), "division by zero")
    assert f(1.0) == 1
    in_threads(lambda k: None, 1)


def test_calls_inside_of_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault in a function that is called while a slice prints belongs to that function."""
    inner, faults = faulting("null"), []
    outer = wrap_signature(
        "x() -> y()", {np.int32: 'printf("x");\nitem__y() = 1 / item__x(); return true;'}, debug=True
    )

    class Caller:
        def write(self, text: str) -> None:
            faults.append(refuses(cwrapjit.Fault, lambda: inner(BAD), "null pointer"))

        def flush(self) -> None: ...

    monkeypatch.setattr(sys, "stdout", Caller())
    assert outer(np.int32(1)) == 1
    refuses(cwrapjit.Fault, lambda: outer(np.int32(0)), "division by zero", "line 2")
    assert len(faults) == 2


# ---- indices ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "index, axis, wrong",
    [
        *(("3, 0", 0, "3"), ("0, 4", 1, "4"), ("-1, 0", 0, "-1"), ("0, -1", 1, "-1")),
        *(("2147483648u, 0", 0, "2147483648"), ("1 - (npy_uint64)2, 0", 0, "18446744073709551615")),
        *(("0, 9223372036854775808ull", 1, "9223372036854775808"), ("(char)-2, 0", 0, "-2")),
    ],
)
@pytest.mark.parametrize("write", [False, True])
def test_an_index_out_of_range(index: str, axis: int, wrong: str, write: bool) -> None:
    access = f"item__y({index}) = 1;" if write else f"item__y(0, 0) = item__x({index});"
    body = f"""item__y(0, 0) = 0;
        if(item__on()) {access}
        for(int i = 0; i < 12; i++) item__y(i / 4, i % 4) = i;
        return true;"""
    f = wrap_signature("x(n, m), on() -> y(n, m)", body, debug=True)
    assert f(ar(3, 4), 0.0).tolist() == ar(3, 4).tolist()
    words = f"index {wrong} is out of range for axis {axis}", "(3, 4)", "line 2: if(item__on())"
    refuses(IndexError, lambda: f(ar(3, 4), 1.0), *words, "output 'y'" if write else "argument 'x'")
    refuses(IndexError, lambda: f(ar(2, 3, 4), [0.0, 1.0]), *words)
    assert f(ar(3, 4), 0.0).tolist() == ar(3, 4).tolist()


def test_indices_without_core_dims_and_of_empty_arrays() -> None:
    f = wrap_signature("x(n) -> y()", "item__y() = item__x(0); return true;", debug=True)
    assert f(ar(2)) == 0
    refuses(IndexError, lambda: f(ar(0)), "index 0", "(0,)")
    refuses(IndexError, lambda: f(np.empty((2000, 0))), "index 0", "(0,)")


def test_every_index_is_evaluated_once_and_in_place() -> None:
    body = """npy_intp i = 0;
    while(i < dims_slice__x[0]) { double v = item__x(i); item__y(i++) = v; }
    unsigned char narrow = 1; item__y(narrow) += 10; item__y(-1 + 3) += 20;
    return true;"""
    f = wrap_signature("x(n) -> y(n)", body, debug=True)
    assert f(ar(8)[::-2]).tolist() == [7, 15, 23, 1]


@pytest.mark.parametrize("debug", [False, True])
def test_an_index_that_is_no_integer_does_not_compile(debug: bool) -> None:
    body = "item__y(1.5) = 1; return true;"
    refuses(cwrapjit.CompileError, lambda: wrap_signature("x(n) -> y(n)", body, debug=debug), "t.f float64")


def test_macros_of_the_header_are_checked() -> None:
    header, body = "#define LAST item__x(dims_slice__x[0])", "item__y() = LAST;\nreturn true;"
    f = wrap_signature("x(n) -> y()", body, header=header, debug=True)
    refuses(IndexError, lambda: f(ar(3)), "index 3", "line 1: item__y() = LAST;")


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint16, np.int64, np.float32, np.complex128, "S5"])
def test_checked_functions_compute_the_same(dtype: Any) -> None:
    loop, last = "for(npy_intp i = 0; i < dims_slice__x[0]; i++)", "(dims_slice__x[0] - 1 - i)"
    copy = f"(char *)data_slice__y + i * 5, (char *)data_slice__x + {last} * strides_slice__x[0], 5"
    bodies: dict[Any, str] = {dtype: f"{loop} item__y(i) = item__x({last}); return true;"}
    if dtype == "S5":
        bodies = {(dtype, dtype): f"{loop} memcpy({copy}); return true;"}
    x = (np.arange(24) % 7).astype(dtype).reshape(4, 6)
    plain, checked = (wrap_signature("x(n) -> y(n)", bodies, debug=debug) for debug in (False, True))
    for each in (x, x[::-1], x[:, ::-1], x.T, x[:0]):
        assert plain(each).tolist() == checked(each).tolist() == each[..., ::-1].tolist()
        assert plain(each).dtype == checked(each).dtype


# ---- inputs -------------------------------------------------------------------------------------------

READS = """double f(int n, const double x[n], int k)
{
    return x[k];
}
"""
DECLARED = READS.partition("\n")[0]


def _function(text: str, debug: Any) -> Any:
    call = "item__y() = f((int)dims_slice__x[0], data_slice__x, (int)item__k()); return true;"
    f = wrap_signature("x(n), k() -> y()", call, header=text, debug=debug)
    return lambda x, k: f(x, float(k))


LINES_BEFORE = dict.fromkeys(("sources", "broadcast"), INCLUDES.count("\n"))
READERS: dict[str, Any] = {
    "vectorize": lambda text, debug: cwrapjit.vectorize(text, debug=debug),
    "vectorize of T": lambda text, debug: cwrapjit.vectorize(text.replace("double", "T"), debug=debug),
    "function": _function,
    "source": lambda text, debug: cwrapjit.library("t", source=text, debug=debug).f,
    "sources": lambda text, debug: from_c(text, debug=debug).function(DECLARED),
    "broadcast": lambda text, debug: from_c(text, debug=debug).function(DECLARED, broadcast=True),
}


@pytest.mark.quick
@pytest.mark.parametrize("how", READERS)
def test_reads_around_inputs(how: str) -> None:
    """Reads are right behind the array and far behind it; with "left", in front of it."""
    x = ar(3) + 7
    for debug, indices in ((True, (3, 4, 100_000, 5_000_000)), ("left", (-1, -2, -100_000))):
        f = READERS[how](READS, debug)
        assert [f(x, k) for k in range(3)] == [7, 8, 9]
        for k in indices:
            side = "behind" if k > 0 else "in front of"
            where = f"access {side} the 24 bytes of argument 'x', at byte {8 * k}, in "
            fault = refuses(cwrapjit.Fault, lambda f=f, k=k: f(x, k), "f(): SIGSEGV: ", where, ", line ")
            assert fault.signal is signal.SIGSEGV and fault.lineno == 3 + LINES_BEFORE.get(how, 0)
            assert f(x, 1) == 8, "it can be called again"
        refuses(cwrapjit.Fault, lambda f=f: f(x[:0], 0), "behind the 0 bytes of argument 'x', at byte 0")


@pytest.mark.quick
def test_writes_around_outputs_that_are_given() -> None:
    text = "void f(const double x[n], int n, int k, OUT double y[n]) { y[0] = x[0]; y[k] = 5; }"
    for debug, indices in ((True, (3, 4, 100_000)), ("left", (-1, -100_000))):
        f, out = cwrapjit.vectorize(text, debug=debug), np.full((2, 5), 9.0)
        given = out[0, 1:4]
        for k in indices:
            fault = refuses(cwrapjit.Fault, lambda f=f, k=k, y=given: f(ar(3), k, out=y), "output 'y'")
            assert fault.signal is signal.SIGSEGV and f"at byte {8 * k}," in str(fault)
            assert out.tolist() == [[9, 0, 9, 9, 9], [9] * 5]
        place, k = ("in front of", -1) if debug is True else ("behind", 3)
        words = f"{place} a slice of output 'y' of shape (3,): at byte {-1 if k < 0 else 24}, counted"
        fault = refuses(cwrapjit.Fault, lambda f=f, k=k, y=given: f(ar(3), k, out=y), words)
        assert fault.signal is None and out.tolist() == [[9, 0, 9, 9, 9], [9] * 5]
        assert f(ar(2, 3) + 1, 2, out=out[:, 1:4]) is not None
        assert out.tolist() == [[9, 1, 9, 5, 9], [9, 4, 9, 5, 9]]
        assert f(ar(2, 3) + 1, 2, out=out.T[:3].T) is not None and out[:, 0].tolist() == [1, 4]


@pytest.mark.quick
def test_each_slice_is_an_array_of_its_own() -> None:
    f = cwrapjit.vectorize(READS, debug=True)
    x, k = ar(2, 3), np.array([0, 2], np.int32)
    assert f(x, k).tolist() == [0, 5]
    for bad in ([3, 0], [0, 3]):
        refuses(cwrapjit.Fault, lambda bad=bad: f(x, np.array(bad, np.int32)), "at byte 24, in")
    assert f(x[0], np.arange(3, dtype=np.int32)).tolist() == [0, 1, 2], "one slice for all"
    window = wrap_signature(
        "x(3) -> y()",
        "const double *x = data_slice__x; item__y() = x[0] + x[2]; return true;",
        windows={"x": (3,)},
        debug=True,
    )
    assert window(ar(9)).tolist() == [1, 2, 4, 6, 8, 10, 12, 14, 15]


@pytest.mark.quick
@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.float32, np.float64, np.complex128, np.longdouble])
def test_copies_are_aligned_and_the_same(dtype: Any) -> None:
    name = "npy_longdouble" if dtype is np.longdouble else f"npy_{np.dtype(dtype).name}"
    text = f"""for(npy_intp i = 0; i < dims_slice__x[0]; i++) {{
        const {name} *p = (const {name} *)((const char *)data_slice__x + i * strides_slice__x[0]);
        if((npy_uintp)p % _Alignof({name})) return false;
        item__y(i) = *p;
    }}
    return true;"""
    x = (np.arange(210) % 100).astype(dtype).reshape(2, 3, 5, 7)
    for debug in (True, "left"):
        f = wrap_signature("x(n) -> y(n)", {dtype: text}, debug=debug)
        for each in (
            x,
            x.T,
            x[..., ::-1],
            x[:, ::2, :, 1:4],
            x[..., :0],
            np.broadcast_to(x[0], (3, 3, 5, 7)),
        ):
            assert f(each).tolist() == each.tolist()


@pytest.mark.parametrize("how", ["vectorize", "source", "sources"])
def test_reads_around_what_is_updated_in_place(how: str) -> None:
    """Elements that were written before the fault stay."""
    head = "void f(int n, INOUT double x[n], int k)"
    text = head + "\n{\n    for (int i = 0; i < k; i++)\n        x[i] = x[i] + 1;\n}\n"
    if how == "sources":
        plain = text.replace("INOUT ", "")
        f = from_c(plain, debug=True).function(plain.partition("\n")[0], inout="x")
    else:
        f = READERS[how](text, True)
    x = ar(5)
    f(x[:3], 2)
    assert x.tolist() == [1, 2, 2, 3, 4]
    refuses(cwrapjit.Fault, lambda: f(x[:3], 4), "behind the 24 bytes of argument 'x', at byte 24")
    assert x.tolist() == [2, 3, 3, 3, 4]


def test_structs_by_value_are_not_read_beyond() -> None:
    """libtcc reads structs that are passed by value in words of eight bytes. That must not be a fault."""
    for members, total in (("int a, b, c;", "x.a + x.b + x.c"), ("signed char a[3];", "x.a[0] + x.a[2]")):
        dtype = np.dtype([(each, np.int32) for each in "abc"] if "int" in members else [("a", np.int8, 3)])
        text = f"""typedef struct {{ {members} }} rec;
static int total(rec x) {{ return {total}; }}
int f(int n, const rec r[n]) {{ int s = 0; for (int i = 0; i < n; i++) s += total(r[i]); return s; }}"""
        for each in (2, 5, 4096):
            for debug in (True, "left"):
                f = cwrapjit.vectorize(text, debug=debug)
                assert f(np.ones(each, dtype)) == each * (2 + ("int" in members))


KEEPING = {
    "static data": {"header": "static const double *last;", "keep": "last"},
    "a cookie": {"Ccode_cookie_struct": "const double *last;", "keep": "cookie->last"},
}


@pytest.mark.parametrize("where", KEEPING)
def test_what_keeps_addresses_gets_no_copies(where: str) -> None:
    """Each slice reads the slice before it through a stored address. A copy would be gone by then."""
    options: dict[str, Any] = dict(KEEPING[where])
    keep = options.pop("keep")
    text = f"item__y() = {keep} ? *{keep} : -1; {keep} = data_slice__x; return true;"
    f = wrap_signature("x(n) -> y()", text, debug=True, **options)
    assert f(ar(4, 3)).tolist() == [-1, 0, 3, 6]


def test_what_reads_whole_arrays_gets_no_copies(tmp_path: pathlib.Path) -> None:
    text = "item__y() = ((const double *)data_slice__x)[3 * (Ndims_full__x - 2)]; return true;"
    x = ar(2, 3, 3)
    assert wrap_signature("x(n) -> y()", text, debug=True)(x).tolist()[0] == [3, 6, 9]
    lib = from_shared(READS, tmp_path, debug=True)
    assert lib.function(DECLARED)(ar(9)[:3], 5) == 5, "what libraries keep is not known"
    kept = "static const double *last; double f(int n, const double x[n])\n"
    kept += "{ double r = last ? *last : -1; last = x; return r; }"
    for make in (
        lambda: cwrapjit.library("t", source=kept, debug=True).f,
        lambda: from_c(kept, debug=True).function("double f(int n, const double x[n])"),
    ):
        f, one = make(), ar(3) + 5
        assert (f(one), f(one)) == (-1, 5)


@pytest.mark.quick
def test_an_input_that_is_not_there_is_found_by_the_code(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "numbers"
    np.zeros(100_000).tofile(path)
    x = np.memmap(path, np.float64, "r")
    text = READS.replace("return", "double s = 0;\n    for (int i = 0; i < n; i++)\n        s +=")
    text = text.replace("x[k];", "x[i];\n    return s;")
    functions = [READERS[how](text, True) for how in ("vectorize", "source", "sources")]
    os.truncate(path, 4096)
    for f in functions:
        fault = refuses(cwrapjit.Fault, lambda f=f: f(np.asarray(x), 0), "SIGBUS", ", line ")
        assert fault.address == x.ctypes.data + 4096
        assert fault.lineno == 5 + LINES_BEFORE["sources"] * (f is functions[-1])
    x = None  # as closing it may write to it


# ---- outputs ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), (2, 3)])
@pytest.mark.parametrize("offset", [-16, -1, 0, 8, 200])
def test_writes_around_new_outputs(shape: tuple[int, ...], offset: int) -> None:
    """The code writes through pointers, which are not checked."""
    code = """item__y() = item__x();
        npy_intp at = (npy_intp)item__where();
        if(at) ((char *)data_slice__y)[at < 0 ? at : at - 1 + sizeof_element__y] = 0;
        return true;"""
    f = wrap_signature("x(), where() -> y()", code, debug=True)
    x, where = np.ones(shape), np.zeros(shape)
    assert np.array_equal(f(x, where), x)
    where.reshape(-1)[0 if offset < 0 else -1] = offset if offset < 0 else offset + 1
    at = f"at byte {offset}, counted from its first, which has {x.nbytes}"
    words = [f"in front of output 'y' of shape {shape}: {at}"]
    if offset >= 0:
        words = [f"behind the {x.nbytes} bytes of output 'y', at byte {x.nbytes + offset}, in", "line 3"]
    fault = refuses(cwrapjit.Fault, lambda: f(x, where), *words)
    assert fault.signal is (None if offset < 0 else signal.SIGSEGV) and "has faulted" in repr(f)


@pytest.mark.quick
def test_writes_behind_one_of_several_outputs() -> None:
    f = wrap_signature(
        "x(n) -> y(n), z(n)",
        """for(int i = 0; i < 3; i++) item__y(i) = item__z(i) = 1;
        ((double *)data_slice__z)[3] = 1; return true;""",
        debug=True,
    )
    refuses(cwrapjit.Fault, lambda: f(ar(3)), "behind the 24 bytes of output 'z', at byte 24, in", "line 2")
    refuses(cwrapjit.Fault, lambda: f(ar(2, 3)), "behind the 24 bytes of output 'z'", "line 2")
    assert f(ar(0, 3))[1].shape == (0, 3)


WRITES_FAR = """void f(int n, long k, OUT double y[n], OUT rec z[n])
{
    for (int i = 0; i < n; i++) {
        y[i] = 1;
        z[i] = (rec){1, 2, 3};
    }
    z[0] = z[n - 1];
    if (k == 7) memset(y, 0, -1);
    else if (k) y[k] = 1;
}
"""
OF_RECORDS = "#include <string.h>\ntypedef struct { double a; float b, c; } rec;\n"


def _elementwise() -> Any:
    text = (
        "int64 n, int64 k",
        "float64 y",
        "long at = k == 7 ? 1000 : k;\ny = 1;\nif(at) (&y)[at] = 1; // y[k] = 1",
    )
    kernel = cwrapjit.ElementwiseKernel(*text, "f", debug=True)
    return lambda n, k: [kernel(np.full(n, n), k)]


def _function_that_keeps(header: str) -> Any:
    text = OF_RECORDS + header + WRITES_FAR.replace("OUT ", "")
    call = "f((int)dims_slice__x[0], (long)item__k(), data_slice__y, (rec *)data_slice__z); return true;"
    rec = np.dtype([("a", np.float64), ("b", np.float32), ("c", np.float32)])
    types = (np.float64, np.int64, np.float64, rec)
    f = wrap_signature("x(n), k() -> y(n), z(n)", {types: call}, header=text, debug=True)
    return lambda n, k: f(ar(n), k)


def _vectorize() -> Any:
    text = OF_RECORDS + WRITES_FAR.replace("int n,", "int n, const int x[n],")
    f = cwrapjit.vectorize(text, debug=True)
    return lambda n, k: f(np.zeros(n, np.int32), k)


def _broadcast() -> Any:
    text = WRITES_FAR.replace("int n,", "int n, const int x[n],").replace("OUT ", "")
    lib = from_c(OF_RECORDS + text, header=OF_RECORDS, debug=True)
    f = lib.function(text.partition("\n")[0], broadcast=True, out=("y", "z"))
    return lambda n, k: f(np.zeros(n, np.int32), k)


FAR = {
    "vectorize": _vectorize,
    "static data": lambda: _function_that_keeps("static int kept; "),
    "calls into Python": lambda: _function_that_keeps("#include <Python.h>\n"),
    "source": lambda: cwrapjit.library("t", source=OF_RECORDS + WRITES_FAR, debug=True).f,
    "broadcast": _broadcast,
    "kernel": _elementwise,
}


@pytest.mark.quick
@pytest.mark.parametrize("how", FAR)
def test_writes_far_from_new_outputs(how: str) -> None:
    """Without debug=True such writes would damage other objects, and the process would end later."""
    f = FAR[how]()
    assert f(3, 0)[0].tolist() == [1, 1, 1]
    by_libc = [] if "CWRAPJIT_SANITIZED" in os.environ else [7]  # a sanitizer's memset() ends the process
    for k in (3, 100, 5_000_000, -100_000, *by_libc):
        at, side = (24 if k == 7 else 8 * k), "behind" if k > 0 else "in front of"
        if how == "kernel" and k == 7:
            at = 8000
        name = "output0" if how == "broadcast" else "y"
        words = f"SIGSEGV: access {side} the 24 bytes of output '{name}', at byte {at}"
        fault = refuses(cwrapjit.Fault, lambda k=k: f(3, k), words, "line ")
        assert fault.signal is signal.SIGSEGV and fault.lineno is not None
        assert f(3, 0)[0].tolist() == [1, 1, 1], "it can be called again"
    refuses(cwrapjit.Fault, lambda: f(3, -1), "in front of ", "at byte -1, counted")


@pytest.mark.parametrize("members", ["float a, b, c;", "signed char a[3];"])
def test_new_structs_by_value_are_not_read_beyond(members: str) -> None:
    """libtcc passes structs in words of eight bytes: the last item's word reaches behind the array."""
    text = f"""typedef struct {{ {members} }} rec;
static rec same(rec x) {{ return x; }}
void f(int n, long k, OUT rec y[n])
{{
    memset(y, 0, n * sizeof *y);
    y[0] = same(y[n - 1]);
    ((char *)y)[k] = 0;
}}
"""
    f = cwrapjit.library("t", source="#include <string.h>\n" + text, debug=True).f
    for n in (1, 2, 5, 300):
        size = f(n, 0).nbytes
        refuses(
            cwrapjit.Fault, lambda n=n, size=size: f(n, size + 8), f"the {size} bytes of output 'y'", "line 8"
        )
        refuses(cwrapjit.Fault, lambda n=n, size=size: f(n, size), f"behind result 1: at byte {size}")


def _kept_of_a_kernel() -> Any:
    x = np.ones((3, 300))
    kernel = cwrapjit.ElementwiseKernel("float64 x, int64 k", "float64 y", "y = k * x", "f", debug=True)
    return lambda k: kernel(x, k)


def _kept_of_a_graph() -> Any:
    x, k = cg.ndarray("f8", 1)("x"), cg.float64("k")
    g = cwrapjit.link([x, k], x * k, debug=True)
    return lambda k: g(np.ones(3), float(k))


def _kept_of_two_outputs() -> Any:
    text = """void f(long k, OUT double y[1000], OUT double z[3000])
{
    for(int i = 0; i < 3000; i++) y[i % 1000] = z[i] = k;
}"""
    f = cwrapjit.vectorize(text, debug=True)
    return lambda k: f(k)[1]


def _kept_of_a_library() -> Any:
    text = "void f(long k, OUT double y[3]) { y[0] = y[1] = y[2] = k; }"
    return cwrapjit.library("t", source=text, debug=True).f


RESULTS = {
    "library": _kept_of_a_library,
    "one of two": _kept_of_two_outputs,
    "kernel": _kept_of_a_kernel,
    "graph": _kept_of_a_graph,
}


def count_mappings() -> int:
    with open("/proc/self/maps") as maps:
        return len(maps.readlines())


@pytest.mark.parametrize(
    "how", [pytest.param(how, marks=pytest.mark.quick) if how == "library" else how for how in RESULTS]
)
def test_results_that_are_kept_cost_no_mappings(how: str) -> None:
    """Only the newest results are guarded. The older ones keep their memory and contents."""
    f = RESULTS[how]()
    first = count_mappings()
    kept = [f(k) for k in range(600)]
    before = count_mappings()
    kept += [f(k) for k in range(600, 1200)]
    assert count_mappings() < before + 100
    assert all((y == k).all() for k, y in enumerate(kept))
    kept[0].resize(2000, refcheck=False)
    assert kept[0].tolist() == [0] * 2000
    del kept[::2]
    assert count_mappings() < before + 100, "nor what is left between those that went"
    kept += [f(k) for k in range(1200)]
    assert count_mappings() < first + 4 * 256 + 100
    assert all((y == k).all() for k, y in zip([*range(1, 1200, 2), *range(1200)], kept, strict=True))


@pytest.mark.parametrize("code", "iIlfdgFD")
@pytest.mark.parametrize("shape", [(), (5,), (3, 5)])
def test_elements_that_nobody_wrote(code: str, shape: tuple[int, ...]) -> None:
    dtype = np.dtype(code)
    part = "item__x().real" if dtype.kind == "c" else "item__x()"
    body = {dtype: f"if({part} != 3) item__y() = item__x(); return true;"}
    f = wrap_signature("x() -> y()", body, debug=True)
    x = np.zeros(shape, dtype)
    assert np.array_equal(f(x), x)
    for k in range(x.size):
        x = np.zeros(shape, dtype)
        x.reshape(-1)[k] = 3
        words = (
            f"element {tuple(map(int, np.unravel_index(k, shape) if shape else ()))} of output 'y' was never"
        )
        fault = refuses(cwrapjit.Fault, lambda x=x: f(x), words)
        assert fault.signal is None
        if shape == (3, 5) and code == "d":  # the output has the input's layout
            refuses(cwrapjit.Fault, lambda x=x: f(np.asfortranarray(x)), words)
    out = np.zeros(shape, dtype)
    f(x, out=out)
    assert not out.any(), "an output of the caller's has values of its own"


@pytest.mark.parametrize(
    "how",
    [
        "item__y(0) += item__x(0)",
        "item__y(0) = -item__y(0)",
        "item__y(0) = 2 * item__y(0) - item__x(0)",
        "float f = item__y(0); double d = f; item__y(0) = d * 2",
        "item__y(0) = sqrt(item__y(0))",
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_outputs_that_are_read_before_they_are_written(how: str, dtype: Any) -> None:
    body = f"if(item__x(0) < 0) item__y(0) = -1; else {{ {how}; }} item__y(1) = 0; return true;"
    f = wrap_signature("x(n) -> y(n)", {dtype: body}, debug=True)
    x = np.ones(2, dtype)
    assert f(-x).tolist() == [-1, 0]
    refuses(cwrapjit.Fault, lambda: f(x), "element (0,) of output 'y' ", "written")


def test_nans_of_the_codes_own_are_fine() -> None:
    body = "item__y() = item__x() / item__x() - item__x(); return true;"
    assert np.isnan(wrap_signature("x() -> y()", body, debug=True)(np.array([0.0, np.nan, np.inf]))).all()


@pytest.mark.quick
def test_results_are_ordinary_arrays(tmp_path: pathlib.Path) -> None:
    y = wrap_signature("x() -> y()", "item__y() = item__x(); return true;", debug=True)(ar(5))
    assert y.flags.owndata and y.base is None and y.flags.writeable
    y.resize(7, refcheck=False)
    assert y.tolist() == [0, 1, 2, 3, 4, 0, 0]
    np.save(tmp_path / "y.npy", y)
    assert np.load(tmp_path / "y.npy").tolist() == y.tolist()
    assert np.ones(3).nbytes == 24 and not np.zeros(3).any()


# ---- graphs ------------------------------------------------------------------------------------------


class Text(cg.COp):
    """An op of an int64 with the given C text. In it $x, $y and $fail stand for the names of the node."""

    def __init__(self, code: str, result: Any = None) -> None:
        self.code = code
        self.result = result or cg.int64

    def make_node(self, x: Any) -> Any:
        return cg.Apply(self, [x], [self.result("y")])

    def c_headers(self) -> list[str]:
        return ["<numpy/arrayobject.h>"]

    def c_support_code(self, **unused: Any) -> str:
        return "static long long part(long long a, long long b)\n{\n    return a / b;\n}\n" + SINK

    def c_code(self, node: Any, name: str, inputs: Any, outputs: Any, sub: Any) -> str:
        return string.Template(self.code).substitute(x=inputs[0], y=outputs[0], fail=sub["fail"])


def graph(code: str, result: Any = None, **options: Any) -> Any:
    x = cg.int64("x")
    return cwrapjit.link([x], Text(code, result)(x), debug=True, **options)


@pytest.mark.parametrize("mode", ["struct", "function"])
@pytest.mark.parametrize("kind", FAULTS)
def test_faults_of_graphs(kind: str, mode: str) -> None:
    g = graph(f"int x = (int)$x, r = 0;\n$y = x;\nif(x == 7) {{ {FAULTS[kind][0]} $y = r; }}", mode=mode)
    assert g(6) == 6 and "faulted" not in repr(g)
    for _ in range(3):
        fault = refuses(cwrapjit.Fault, lambda: g(7), "graph: SIG", FAULTS[kind][2])
        assert fault.signal is signal.Signals(FAULTS[kind][1])
        if kind != "recursion":
            assert (fault.filename, fault.lineno) == ("<cwrapjit Text.c_code of y>", 3)
            assert fault.text.startswith("if(x == 7) {")
        assert g(6) == 6
    assert "has faulted" in repr(g)


@pytest.mark.quick
@pytest.mark.compiler("compares the tiers")
def test_faults_of_graphs_in_their_support_code() -> None:
    g = graph("$y = part(100, $x);", optimize="eager")
    assert g(5) == 20 and g.tier == "tcc" and g.wait() is False
    fault = refuses(cwrapjit.Fault, lambda: g(0), "division by zero", "line 3: return a / b;")
    assert fault.filename == "<cwrapjit Text.c_support_code>"
    plain = cwrapjit.link([x := cg.int64("x")], Text("$y = part(100, $x);")(x), optimize="eager")
    assert plain.tier == "cc" and plain(5) == 20, "what is kept of one is not the other's"


MAKE = """npy_intp n = $LENGTH;
    Py_XDECREF($y);
    $y = (PyArrayObject *)PyArray_SimpleNew(1, &n, NPY_$LETTER);
    if(!$y) $fail
    """


def making(length: str, letter: str, rest: str = "") -> str:
    """Returns C code of an op that allocates its array."""
    return MAKE.replace("$LENGTH", length).replace("$LETTER", letter) + rest


@pytest.mark.quick
@pytest.mark.parametrize("mode", ["struct", "function"])
@pytest.mark.parametrize("dtype, letter", [("float64", "DOUBLE"), ("int32", "INT"), ("complex64", "CFLOAT")])
def test_unwritten_elements_of_the_arrays_of_graphs(dtype: str, letter: str, mode: str) -> None:
    rest = f"npy_{dtype} *items = PyArray_DATA($y); memset(items, 0, $x * sizeof *items);"
    code, kind = making("3", letter, rest), cg.ndarray(dtype, 1)
    g = graph(code, kind, mode=mode)
    assert g(3).tolist() == [0, 0, 0]
    refuses(cwrapjit.Fault, lambda: g(2), "graph: the code has not written all of the array of y: element 2")
    refuses(cwrapjit.Fault, lambda: g(0), "element 0 in its memory was never written")
    assert g(3).tolist() == [0, 0, 0]
    x = cg.int64("x")
    inner = cwrapjit.link([x], Text(code, kind)(x) * 2, debug=True, mode=mode)  # later ops may fill it
    assert inner(2).shape == (3,)


@pytest.mark.quick
def test_writes_around_the_arrays_of_graphs() -> None:
    rest = "double *items = PyArray_DATA($y); for(int i = 0; i < 3; i++) items[i] = i; items[$x] = 7;"
    g = graph(making("3", "DOUBLE", rest), cg.ndarray("float64", 1))
    assert g(1).tolist() == [0, 7, 2]
    refuses(cwrapjit.Fault, lambda: g(3), "behind the array of y: at byte 24", "which has 24")
    refuses(cwrapjit.Fault, lambda: g(-2), "in front of the array of y: at byte -")
    for k in (100, -100_000):
        side = "behind" if k > 0 else "in front of"
        fault = refuses(
            cwrapjit.Fault, lambda k=k: g(k), f"access {side} the 24 bytes of a new array", "line "
        )
        assert fault.signal is signal.SIGSEGV and fault.text.endswith("_x] = 7;")
    assert g(1).tolist() == [0, 7, 2]


def test_small_numbers_of_the_arrays_of_graphs_are_not_looked_at() -> None:
    assert graph(making("$x", "SHORT"), cg.ndarray("int16", 1))(3).shape == (3,)


# ---- libraries ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", FAULTS)
def test_faults_of_library_functions(kind: str, tmp_path: pathlib.Path) -> None:
    """The fault happens in a function of numbers, and in one with arrays."""
    source = tmp_path / "lib.c"
    source.write_text(
        "#include <stdlib.h>\n#include <string.h>\n#include <stddef.h>\ntypedef ptrdiff_t npy_intp;\n"
        + SINK
        + f"int f(int x)\n{{\n    int r = x;\n    if(x == 7) {{ {FAULTS[kind][0]} }}\n    return r;\n}}\n"
        + "void g(int n, int y[n])\n{\n    for(int i = 0; i < n; i++) y[i] = f(i);\n}\n"
    )
    lib = cwrapjit.library("lib", sources=[source], debug=True)
    f = lib.function("int f(int x)")
    g = lib.function("void g(int n, int y[n])", out="y")
    assert f(6) == 6 and g(3).tolist() == [0, 1, 2] and "faulted" not in repr(f)
    for call in (lambda: f(7), lambda: g(9)):
        for _ in range(3):
            fault = refuses(cwrapjit.Fault, call, "lib.", "(): SIG", FAULTS[kind][2], "lib.c, line ")
            assert fault.signal is signal.Signals(FAULTS[kind][1]) and fault.filename == str(source)
            assert fault.lineno == (5 if kind == "recursion" else 9)
            assert f(6) == 6 and g(3).tolist() == [0, 1, 2]
    assert "has faulted" in repr(f) and "has faulted" in repr(g)


@pytest.mark.quick
def test_writes_around_the_results_of_library_functions() -> None:
    declared = "void f(int n, int at, double y[n], float z[n])"
    lib = from_c(
        f"{declared} {{ for(int i = 0; i < n; i++) y[i] = z[i] = i; if(at) z[at] = 7; }}", debug=True
    )
    f = lib.function(declared, out=("y", "z"))
    assert f(2, 1)[1].tolist() == [0, 7]
    refuses(cwrapjit.Fault, lambda: f(2, 2), "behind the 8 bytes of output 'z', at byte 8, in")
    refuses(cwrapjit.Fault, lambda: f(2, -3), "in front of result 2: at byte -")
    assert f(2, 0)[0].tolist() == [0, 1]


@pytest.mark.quick
def test_faults_of_libraries_of_another_compiler(tmp_path: pathlib.Path) -> None:
    """Lines are not known; the message names the library."""
    text = "int f(int x) { return 100 / x; }\nint g(long at) { return *(volatile int *)at; }"
    lib = from_shared(text, tmp_path, debug=True)
    f, g = lib.function("int f(int x)", gil=True), lib.function("int g(long at)")
    assert f(1) == 100
    for _ in range(3):
        fault = refuses(cwrapjit.Fault, lambda: f(0), "t.f(): SIGFPE", "inside of libt")
        assert fault.filename is None and fault.lineno is None
        refuses(cwrapjit.Fault, lambda: g(0), "t.g(): SIGSEGV", "null pointer", "inside of libt")


@pytest.mark.quick
def test_other_calls_of_libraries() -> None:
    text = "int f(int x) { return 1 / x; }\ntypedef struct { int x; } S;\nint s(S *s) { return 1 / s->x; }"
    lib = from_c(text, header="typedef struct { int x; } S;", debug=True)
    broadcast = lib.function("int f(int x)", broadcast=True, name="b")
    assert broadcast(np.ones(3, np.int32)).tolist() == [1, 1, 1]
    refuses(cwrapjit.Fault, lambda: broadcast(np.zeros(3, np.int32)), "SIGFPE")
    S_ = lib.struct("S", methods={"s": "int s(S *s)"})
    made = S_(x=1)
    assert made.s() == 1
    made.x = 0
    refuses(cwrapjit.Fault, made.s, "SIGFPE", "division by zero")
    made.x = 1
    assert made.s() == 1


# ---- options -----------------------------------------------------------------------------------------


def test_checked_code_has_one_tier() -> None:
    checked = wrap(((),), (), "item__output() = item__a(); return true;", debug=True, optimize="eager")
    assert checked.tier == "tcc" and checked.wait() is False


def test_a_module_that_is_written_is_not_checked() -> None:
    code = "for(npy_intp i = 0; i < dims_slice__x[0]; i++) item__y(i) = item__x(i); return true;"
    texts = []
    for m in (cwrapjit.module("t", debug=True), cwrapjit.module("t")):
        m.function("f", signature="x(n) -> y(n)", Ccode_slice_eval={float: code})
        texts.append(io.StringIO())
        m.write(texts[-1])
    assert texts[0].getvalue() == texts[1].getvalue()


@pytest.mark.quick
def test_the_whole_process(config: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    body = "item__y() = item__x(dims_slice__x[0]); return true;"
    monkeypatch.delenv("CWRAPJIT_DEBUG", raising=False)
    assert config.debug is False
    monkeypatch.setenv("CWRAPJIT_DEBUG", "1")
    assert config.debug is True
    refuses(IndexError, lambda: wrap_signature("x(n) -> y()", body)(ar(2)), "index 2")
    of_a_library = from_c("int f(int x) { return 1 / x; }").function("int f(int x)")
    refuses(cwrapjit.Fault, lambda: of_a_library(0), "SIGFPE")
    for error, value in ((TypeError, 1), (ValueError, "right")):
        wrong = lambda value=value: cwrapjit.library("m", libraries=["m"], debug=value)  # noqa: E731
        refuses(error, wrong, "debug must be True, False or 'left'")
    assert "cwj_debugged" not in wrap_signature("x(n) -> y()", body, debug=False).source
    config.debug = False
    assert "cwj_debugged" not in wrap_signature("x(n) -> y()", body).source
    config.debug = None
    monkeypatch.setenv("CWRAPJIT_DEBUG", "0")
    assert config.debug is False
    monkeypatch.setenv("CWRAPJIT_DEBUG", "left")
    assert config.debug == "left"
    refuses(
        cwrapjit.Fault,
        lambda: cwrapjit.vectorize(READS)(ar(2), -1),
        "in front of the 16 bytes of argument 'x'",
    )
    config.debug = True
    refuses(
        cwrapjit.Fault, lambda: cwrapjit.vectorize(READS)(ar(2), 2), "behind the 16 bytes of argument 'x'"
    )
    config.debug = None
    monkeypatch.setenv("CWRAPJIT_DEBUG", "on")
    refuses(ValueError, lambda: config.debug, "CWRAPJIT_DEBUG", "'on'")
    refuses(ValueError, lambda: wrap_signature("x(n) -> y()", body), "CWRAPJIT_DEBUG", "'on'")


# ---- other handlers ----------------------------------------------------------------------------------------

SETUP = """
import ctypes, faulthandler, os, signal, sys, threading
import numpy as np, cwrapjit
import cwrapjit.graph as cg
f = cwrapjit.function("f", signature="x() -> y()", debug=True,
    Ccode_slice_eval={np.int32: "item__y() = 1 / item__x(); return true;"})
plain = cwrapjit.function("g", signature="x() -> y()", debug=False, optimize="off",
    Ccode_slice_eval={np.int32: "item__y() = 1 / item__x(); return true;"})
def fault():
    try:
        f(np.int32(0))
    except cwrapjit.Fault as fault:
        print(fault.signal.name, flush=True)
"""


ORDERS = {"none": 0, "before": 1, "after": 1, "both": 1, "off again": 0}  # reports by faulthandler
HOWS = {
    "plain(np.int32(0))": signal.SIGFPE,
    "ctypes.string_at(0)": signal.SIGSEGV,
    "os.abort()": signal.SIGABRT,
    "os.kill(os.getpid(), signal.SIGSEGV)": signal.SIGSEGV,
}


@pytest.mark.plain("sanitizers have handlers of their own, and other ends of processes")
@pytest.mark.parametrize(
    "order, how",
    [*((order, "plain(np.int32(0))") for order in ORDERS), *(("before", how) for how in list(HOWS)[1:])],
)
def test_other_faults_end_the_process_as_ever(order: str, how: str) -> None:
    """faulthandler reports them once, whether it was enabled before or after the first call."""
    enable, disable = "faulthandler.enable()", "faulthandler.disable()"
    before = enable if order in ("before", "both", "off again") else ""
    after = {"after": enable, "both": f"{disable}; {enable}", "off again": disable}.get(order, "")
    done = python(f"{SETUP}\n{before}\nfault()\n{after}\nfault()\n{how}", check=False)
    assert done.returncode == -HOWS[how]
    assert done.stdout.split() == ["SIGFPE"] * 2
    assert done.stderr.count("Fatal Python error") == ORDERS[order]


PYTHON = "#include <Python.h>"


def of_slices(header: str, code: str) -> str:
    return f"""
h = cwrapjit.function("h", signature="x() -> y()", debug=True, header="{header}",
    Ccode_slice_eval={{np.int32: '{code} item__y() = 1; return true;'}})
fault()
sys.stdout = Broken()
h(np.int32(1))
"""


OF_GRAPHS = """
class Text(cg.COp):
    def make_node(self, x):
        return cg.Apply(self, [x], [cg.int64("y")])
    def c_code(self, node, name, inputs, outputs, sub):
        return f"{outputs[0]} = {inputs[0]} ? 1 / 0 : PyLong_AsLong((PyObject *)8);"
x = cg.int64("x")
g = cwrapjit.link([x], Text()(x), debug=True)
fault()
g(0)
"""
BESIDE_A_THREAD = """
slow = cwrapjit.function("f", signature="x() -> y()", debug=True, header="#include <unistd.h>",
    Ccode_slice_eval={np.int32: "usleep(30000000); item__y() = 1; return true;"})
threading.Thread(target=lambda: slow(np.ones(2, np.int32)), daemon=True).start()
fault()
ctypes.string_at(0)
"""
PYTHONS_FAULTS = {
    "printing": of_slices("", 'printf("x");'),
    "python": of_slices(PYTHON, "PyLong_AsLong((PyObject *)8);"),
    "numpy": of_slices(
        PYTHON + r"\n#include <numpy/arrayobject.h>", "PyArray_MultiplyList((npy_intp *)8, 3);"
    ),
    "python in a graph": OF_GRAPHS,
    "a thread that is not inside": BESIDE_A_THREAD,
}


@pytest.mark.plain("sanitizers have handlers of their own, and other ends of processes")
@pytest.mark.parametrize("what", PYTHONS_FAULTS)
def test_nothing_jumps_over_python(what: str) -> None:
    """A fault in Python's own code ends the process, even if a snippet called that code."""
    broken = """
class Broken:
    def write(self, text):
        ctypes.string_at(0)
    def flush(self): pass
faulthandler.enable()
"""
    done = python(SETUP + broken + PYTHONS_FAULTS[what] + "os._exit(0)", check=False)
    assert done.returncode == -signal.SIGSEGV, done.stderr
    assert done.stdout.split() == ["SIGFPE"] and done.stderr.count("Fatal Python error") == 1
    if what == "printing":
        assert "in string_at" in done.stderr and "in write" in done.stderr, "where it was"


@pytest.mark.quick
def test_a_handler_of_somebody_elses_goes_on() -> None:
    """Signals outside guarded calls go to the handlers that were set before or after the first call."""
    done = python(
        SETUP
        + """
signals = []
signal.signal(signal.SIGFPE, lambda number, frame: signals.append(number))
fault()
os.kill(os.getpid(), signal.SIGFPE)
for _ in range(1000): pass
signal.signal(signal.SIGILL, lambda number, frame: signals.append(number))
os.kill(os.getpid(), signal.SIGILL)
for _ in range(1000): pass
fault()
os.kill(os.getpid(), signal.SIGILL)
for _ in range(1000): pass
print(signals == [signal.SIGFPE, signal.SIGILL, signal.SIGILL])
"""
    )
    assert done.stdout.split() == ["SIGFPE", "SIGFPE", "True"]


# ---- many ------------------------------------------------------------------------------------------------


def test_random_faults_leave_nothing_behind() -> None:
    """Injects a few hundred faults of all kinds; trust_faults.py can inject more."""
    from trust_faults import inject

    survived = inject(300, seed=1)
    assert sum(survived.values()) == 300 and len(survived) >= 6
