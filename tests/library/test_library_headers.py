"""Tests #include lines, which the preprocessor of the C compiler reads, or our own reader without one."""

from __future__ import annotations

import math
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import build_shared, refuses, until_it_waits

import cwrapjit
from cwrapjit.library import headers, types
from cwrapjit.library.signatures import signature

NO_COMPILER = "/nonexistent/cc"
needs_compiler = pytest.mark.skipif(cwrapjit._cwrapjit.optimizer()["compiler"] is None, reason="no compiler")


@pytest.fixture(
    params=[pytest.param(None, marks=needs_compiler, id="cc"), pytest.param(NO_COMPILER, id="own")]
)
def reader(request, monkeypatch):
    """Runs the test with both readers."""
    monkeypatch.setattr(cwrapjit.config, "compiler", request.param)
    return request.param


@pytest.fixture
def own_reader(monkeypatch):
    monkeypatch.setattr(cwrapjit.config, "compiler", NO_COMPILER)


HEADERS = {
    "shapes.h": """
#ifndef SHAPES_H
#define SHAPES_H
#include <stddef.h>
#include <stdint.h>
#include <limits.h>
#include "shapes/parts.h"
#define SHAPES_MAX 16        /* a comment
                                of two lines */
#define SHAPES_NAME "shapes"
#define SHAPES_TOLERANCE 1e-9
#define SHAPES_TWICE(x) (2 * (x))
#define SHAPES_BITS (CHAR_BIT * sizeof_nothing)
#define SHAPES_FLAGS (SHAPES_TWICE(3) | 1u << 4)
#define SHAPES_GONE 5
#undef SHAPES_GONE
#if INT_MAX < 2147483647 || !defined(__STDC__)
int shapes_of_another_world(int x);
#endif
typedef struct shape {
    size_t n;



    /* ten





       lines */
    part first, rest[SHAPES_TWICE(2)];
    const char *name;
    uint8_t tag;
} shape;
SHAPES_API double shapes_area(const double x[SHAPES_MAX], size_t n) SHAPES_PURE;
SHAPES_API int shapes_count(const shape *s);
extern int shapes_log(const char *format, ...) __attribute__((format(printf, 1, 2)));
static inline int shapes_inline(int x) { return x; }
SHAPES_API SHAPES_KIND shapes_kind(int32_t x);
#pragma pack(push, 1)
struct packed { char c; int i; };
#pragma pack(pop)
SHAPES_API struct packed shapes_packed(void);
extern int shapes_level;
#endif
""",
    "shapes/parts.h": """
#pragma once
#define SHAPES_API extern __attribute__((visibility("default")))
#define SHAPES_PURE __attribute__ ((__pure__)) __attribute__ ((__nonnull__ (1)))
typedef enum { SHAPES_ROUND = 1, SHAPES_FLAT = SHAPES_ROUND << 3 } SHAPES_KIND;
typedef struct part { float weight; int64_t id; } part;
#include "again.h"
SHAPES_API long shapes_part(part p);
""",
    "shapes/again.h": '#include <stdint.h>\n#include "parts.h"\n',
}


@pytest.fixture
def folder(tmp_path):
    for name, text in HEADERS.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return tmp_path


def tables(text: str, **options: Any) -> dict[str, Any]:
    """Declares a text, and returns all that the library then knows."""
    lib = cwrapjit.library("c", **options)
    core = lib._core
    parsed = core.declarations.read_each(text, "<text>")
    tags = core.declarations.tags.values()
    return {
        "functions": {each.name: signature(each) for each in parsed.functions},
        "private": {each.name for each in parsed.functions if each.private},
        "variables": [each.name for each in parsed.variables],
        "failed": [name for name, _ in parsed.failed],
        "structs": {each.name: types.body(each) for each in tags if isinstance(each, types.Struct)},
        "constants": {name: core.values.of(name) for name in core.attributes()},
    }


def by_both(monkeypatch: pytest.MonkeyPatch, text: str, **options: Any) -> list[dict[str, Any]]:
    found = []
    for compiler in (None, NO_COMPILER):
        monkeypatch.setattr(cwrapjit.config, "compiler", compiler)
        found.append(tables(text, **options))
    return found


@needs_compiler
def test_both_ways_read_the_same(folder, monkeypatch):
    one, other = by_both(monkeypatch, "#include <shapes.h>", include_dirs=[folder])
    assert one == other
    assert one["functions"]["shapes_area"] == "double shapes_area(const double x[16], size_t n)"
    assert one["structs"]["struct shape"] == (
        "{ size_t n; part first; part rest[4]; const char *name; uint8_t tag; }"
    )
    names = "area count log inline kind packed part".split()
    assert set(one["functions"]) == {f"shapes_{name}" for name in names}
    assert one["private"] == {"shapes_inline"}
    assert one["variables"] == ["shapes_level"]
    assert one["failed"] == []
    assert one["constants"] == {
        "SHAPES_MAX": 16, "SHAPES_NAME": "shapes", "SHAPES_TOLERANCE": 1e-9, "SHAPES_FLAGS": 22,
        "SHAPES_ROUND": 1, "SHAPES_FLAT": 8,
    }  # fmt: skip


@needs_compiler
@pytest.mark.parametrize("name", ["zlib.h", "png.h", "gsl/gsl_rng.h"])
def test_both_ways_read_the_same_of_real_headers(name, monkeypatch):
    if not os.path.exists(f"/usr/include/{name}"):
        pytest.skip(f"no {name}")
    one, other = by_both(monkeypatch, f"#include <{name}>")
    one["structs"] = {each: body for each, body in one["structs"].items() if each in other["structs"]}
    for each in [each for each in one["structs"] if each[:8] in ("struct _", "struct t")]:
        del one["structs"][each]  # is internal to the C library
    other["structs"] = {each: other["structs"][each] for each in one["structs"]}
    assert one == other
    assert len(one["functions"]) > 20
    assert one["failed"] == []


def test_a_header_of_the_system(reader):
    if not os.path.exists("/usr/include/zlib.h"):
        pytest.skip("no zlib.h")
    lib = cwrapjit.library("z", libraries=["z"])
    lib.declare("#include <zlib.h>", options={"crc32": {"optional": "buf"}})
    assert "deflate" in lib.mapped
    assert "compressBound" in lib.mapped
    assert lib.compressBound(1000) > 1000
    assert lib.Z_BEST_COMPRESSION == 9
    assert not {"printf", "lseek", "read"} & {
        *lib.mapped,
        *lib.unmapped,
    }  # not those of headers that zlib.h includes
    assert not {"SEEK_SET", "_SC_ARG_MAX", "__GNUC__", "linux"} & set(dir(lib))
    assert lib.struct("z_stream")().avail_in == 0


def test_types_of_an_included_header_are_known(reader):
    lib = cwrapjit.library("c", libraries=["c"], header="#include <time.h>\n#include <stdlib.h>\nint x;")
    assert lib.function("time_t time(time_t *t)", optional="t")() > 1e9
    tm = lib.struct("struct tm", name="tm")
    lib.function("time_t mktime(struct tm *t)")
    assert lib.mktime(tm(tm_year=100, tm_mday=1)) == pytest.approx(946684800, abs=90000)
    assert lib.mapped == ["mktime", "time"]


def test_a_text_that_includes_declares_only_its_own(reader):
    lib = cwrapjit.library("m", libraries=["m"])
    lib.declare("#include <math.h>\n#include <stdio.h>\ndouble cos(double x);\nint isatty(int fd);\n")
    assert lib.mapped == ["cos", "isatty"]
    assert lib.function("#include <stddef.h>\n#include <math.h>\ndouble sin(double x);")(0.0) == 0.0
    other = cwrapjit.library("m", libraries=["m"])
    other.declare("#include <math.h>")
    assert {"cbrt", "hypot", "cos"} <= set(other.mapped)


@pytest.mark.row("L01")
def test_what_another_header_has_included_may_be_asked_for(reader, tmp_path):
    """Its #include may come before or after the other one, in the same text or in another."""
    (tmp_path / "inner").mkdir()
    (tmp_path / "outer").mkdir()
    (tmp_path / "inner" / "in.h").write_text(
        "#ifndef IN_H\n#define IN_H\n#include <inner/more.h>\n#define INSIDE 3\n"
        "typedef int number; number abs(number x);\n#endif\n"
    )
    (tmp_path / "inner" / "more.h").write_text("#pragma once\nlong labs(long x);\n#define MORE 4\n")
    (tmp_path / "outer" / "out.h").write_text("#include <inner/in.h>\nnumber rand(void);\n")
    texts = ["#include <outer/out.h>", "#include <inner/in.h>"]
    for order in (["\n".join(texts)], ["\n".join(reversed(texts))], texts, texts[::-1]):
        lib = cwrapjit.library("c", libraries=["c"])
        preprocessor = lib._core.declarations.preprocessor
        preprocessor.include_dirs = [str(tmp_path)]  # as if a system folder
        for text in order:
            lib.declare(text)
        assert lib.mapped == ["abs", "labs", "rand"], order
        assert lib.INSIDE == 3 and lib.abs(-3) == 3
    lib = cwrapjit.library("c", libraries=["c"])
    lib._core.declarations.preprocessor.include_dirs = [str(tmp_path)]
    assert lib.declare(texts[0]).mapped == ["rand"]


def test_macros_go_to_headers_and_come_back(reader, tmp_path):
    (tmp_path / "a.h").write_text(
        "#ifdef WIDE\ntypedef long number;\n#else\ntypedef char number;\n#endif\n#define ADD(x, ...) x\n"
    )
    (tmp_path / "b.h").write_text("ADD(number, 1, 2) f(number x SECOND(y));\n#undef ADD\n#define LEFT 3\n")
    for given, text in (([("WIDE", None)], ""), ((), "#define WIDE\n")):
        lib = cwrapjit.library("a", include_dirs=[tmp_path], define_macros=given)
        lib._core.declarations.read_each(text + '#define SECOND(n) , number n[4]\n#include "a.h"', "<text>")
        (found,) = lib._core.declarations.read_each('# include "b.h" // both', "<text>").functions
        assert signature(found) == "number f(number x, number y[4])"
        assert found.result.spelling == "long"
        assert "ADD" not in lib._core.declarations.preprocessor.macros
        assert lib.LEFT == 3


def test_faults_have_the_users_lines(reader, folder):
    lib = cwrapjit.library("a", include_dirs=[folder])
    text = '#include "shapes.h"\n#include <stdio.h>\n\nint f(int x,\n      foo y)'
    error = refuses(cwrapjit.CompileError, lambda: lib.function(text), "foo is not a known type")
    assert (error.lineno, error.offset, error.text) == (5, 7, "      foo y);")
    (folder / "bad.h").write_text(
        "int g(int x);\n\n/* 1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11 */\n\nint h(int ^x);\nint k(int x);\n"
    )
    lib.declare('int e(int x);\n#include "bad.h"\nint m(int);')
    assert set(lib.unmapped) == set("eghkm")
    parsed = cwrapjit.library("a", include_dirs=[folder])._core.declarations.read_each(
        '#include "bad.h"', "<text>"
    )
    ((_, error),) = parsed.failed
    assert (Path(error.filename).name, error.lineno) == ("bad.h", 15)
    assert [(each.name, each.coord.line) for each in parsed.functions] == [("g", 1), ("k", 16)]


def test_bytes_that_are_no_utf_8_are_those_of_texts(reader, tmp_path):
    """Bytes of macros become texts in the same way as those of variables and members."""
    (tmp_path / "latin.h").write_bytes(
        b'#define LATIN "caf\xe9 2"\n#define UTF "caf\xc3\xa9"\n#define BOTH LATIN UTF "\\xff" // \xe9\n'
        b"#define LETTER '\xe9'\n/* \xe9 */ static const int size = sizeof(\"\xe9\");\n"
        b'static inline int first(int x) { return x + (unsigned char)"\xe9"[0]; }\n'
    )
    lib = cwrapjit.library("a", include_dirs=[tmp_path]).declare('#include "latin.h"')
    assert (lib.LATIN, lib.UTF) == ("caf\udce9 2", "caf\xe9")
    assert lib.BOTH == lib.LATIN + lib.UTF + "\udcff" and lib.LETTER in (0xE9 - 256, 0xE9)
    assert lib.first(1) == 0xEA


def test_headers_of_c_itself_may_be_missing(own_reader, monkeypatch):
    """A machine without a compiler may lack C's headers; cwrapjit knows their declarations."""
    monkeypatch.setattr(headers, "system_folders", list)
    lib = cwrapjit.library("c", libraries=["c"])
    lib.declare("#include <uchar.h>\nint abs(int x);")
    assert lib.abs(-3) == 3
    assert lib.mapped == ["abs"]
    assert "headers read by cwrapjit: " in repr(lib)


@pytest.mark.row("L01")
def test_a_header_that_one_asks_for_must_be_there(reader):
    for text in (
        "#include <no/such.h>",
        "\n#define A 1\n#include <no/such.h>\n",
        "int abs(int x);\n#include <no/such.h>",
    ):
        lib = cwrapjit.library("c", libraries=["c"])
        error = refuses(
            cwrapjit.CompileError, lambda lib=lib, text=text: lib.declare(text), "'no/such.h' not found"
        )
        assert error.lineno == text.rstrip().count("\n") + 1
        assert repr(lib) == "<library 'c': 0 mapped, 0 unmapped>"
        lib.declare("#include <stddef.h>")  # the next text is read as before
        assert lib.function("int abs(int x)")(-3) == 3


@needs_compiler
def test_who_read_the_headers_can_be_seen(own_reader, monkeypatch):
    lib = cwrapjit.library("c")
    assert repr(lib) == "<library 'c': 0 mapped, 0 unmapped>"
    lib.declare("#include <stddef.h>")
    assert "headers read by cwrapjit: no compiler" in repr(lib)
    monkeypatch.setattr(cwrapjit.config, "compiler", None)
    lib.declare("#include <string.h>")
    assert "headers read by the C compiler" in repr(lib)


@needs_compiler
@pytest.mark.parametrize(
    "script, said",
    [
        ("echo 'x.c:1: error: no' >&2; exit 3", "error: no"),
        ("exit 1", "it ended with 1"),
        ("kill -9 $$", "it ended with -9"),
        ("exec sleep 1000", "did not end within"),
        ("exit 0", ""),
        ("head -c 100000 /dev/urandom", ""),
        ("echo '# 1 \"x.h\" 1'; echo '# 99999999999 \"x.h\"'; echo '#define'; echo 'int f(int'", ""),
        ("echo '# 1 \"x.h\" 1'; echo 'int f(int);'; echo '# 900000000 \"x.h\"'; echo 'int g(int);'", ""),
        (r"""echo '# 1 "\xg\U0001F600\777" 1'""", ""),
        ("printf '# %05000d \"x.h\" 1' 1", ""),
        ("echo '#pragma pack(1)'; echo '# 1 \"x.h\" 1'; echo '#define MY_H'; echo '#define'", "needs a name"),
    ],
)
def test_a_compiler_that_fails_is_done_without(script, said, cc, tmp_path, monkeypatch):
    path = cc(script + "\n")
    (tmp_path / "my.h").write_text("#ifndef MY_H\n#define MY_H\nint abs(int x);\n#endif\n")
    monkeypatch.setattr(cwrapjit.config, "compiler", str(path))
    if "sleep" in script:
        monkeypatch.setattr(headers, "_SECONDS", 1)
    lib = cwrapjit.library("c", libraries=["c"], include_dirs=[tmp_path])
    lib.declare('#include "my.h"\nlong labs(long x);')
    assert lib.labs(-3) == 3
    if said:
        assert said in repr(lib)
        assert lib.abs(-3) == 3


@pytest.mark.row("G07")
def test_a_header_that_includes_itself_twice(reader, tmp_path):
    (tmp_path / "twice.h").write_text('#include "twice.h"\n#include "twice.h"\nint abs(int x);\n')
    lib = cwrapjit.library("c", libraries=["c"], include_dirs=[tmp_path])
    refuses(cwrapjit.CompileError, lambda: lib.declare('#include "twice.h"'), "nested too deeply")


def test_pragma_pack_ends_with_a_text_that_fails(reader):
    lib = cwrapjit.library("a")
    refuses(cwrapjit.CompileError, lambda: lib.declare("#pragma pack(push, 1)\n#error too bad"), "too bad")
    assert lib.struct("struct s { char a; int b; };")(b=2).b == 2


@pytest.mark.parametrize("end", ["#error too bad", "#if 1\n#endif\n#elif", "#include <nobody_has_this.h>"])
def test_macros_are_as_before_a_text_that_fails(reader, tmp_path, end):
    """Headers that the failed text included can be read again."""
    (tmp_path / "my.h").write_text("#ifndef MY\n#define MY 1\nint abs(int x);\n#endif\n")
    lib = cwrapjit.library("c", libraries=["c"], include_dirs=[tmp_path]).declare(
        "#define N 3\n#define TAKEN 1"
    )
    text = f"#undef TAKEN\n#define N 4\n#define ABS abs\n#include <my.h>\nextern int y;\n{end}\n"
    refuses(cwrapjit.CompileError, lambda: lib.declare(text), end.split()[-1].strip("<>1"))
    assert (lib.N, lib.TAKEN) == (3, 1) and {"ABS", "MY", "abs"}.isdisjoint(dir(lib))
    lib.declare("#ifdef ABS\nnothing x;\n#endif\n#include <my.h>")
    assert lib.abs(-3) == 3 and lib.MY == 1


def test_a_failure_is_seen_where_nobody_waits_for_children(cc, tmp_path):
    (tmp_path / "my.h").write_text("int abs(int x);\n")
    cwrapjit.config.compiler = str(cc("echo 'x.c:1: error: no' >&2; exit 3\n"))
    lib = cwrapjit.library("c", libraries=["c"], include_dirs=[tmp_path])
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        lib.declare('#include "my.h"')
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert lib.abs(-3) == 3


def while_it_reads(other: Any, wait: Callable[[Any], None], folder: Any, monkeypatch: Any) -> Any:
    """Reads a library's header while the other thread runs, until wait() returns. Returns the library."""

    def lines_of(*args: Any) -> Any:
        other.start()
        wait(other)
        yield from given(*args)

    (folder / "my.h").write_text("int abs(int x);\n")
    lib = cwrapjit.library("c", libraries=["c"], include_dirs=[folder])
    other.library = lib
    given = headers.lines_of
    monkeypatch.setattr(headers, "lines_of", lines_of)
    lib.declare('#include "my.h"')
    other.join()
    return lib


@needs_compiler
def test_one_thread_at_a_time_reads(tmp_path, monkeypatch):
    text = "#define LONG long\nLONG labs(LONG x);"
    other = threading.Thread(target=lambda: other.library.declare(text))
    lib = while_it_reads(other, until_it_waits, tmp_path, monkeypatch)
    assert (lib.abs(-2), lib.labs(-3)) == (2, 3)


@needs_compiler
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_does_not_wait_for_a_thread_that_reads(tmp_path, monkeypatch):
    def child() -> None:
        pid = os.fork()
        if pid == 0:
            signal.alarm(600)
            other.library.declare("long labs(long x);")
            os._exit(other.library.labs(-3))
        ended.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))

    ended: list[int] = []
    other = threading.Thread(target=child)
    lib = while_it_reads(other, threading.Thread.join, tmp_path, monkeypatch)
    assert (ended, lib.abs(-2)) == ([3], 2)


@pytest.mark.row("G07")
@needs_compiler
@pytest.mark.parametrize("struck", [KeyboardInterrupt, MemoryError, ZeroDivisionError])
def test_what_strikes_while_the_compiler_runs_is_itself(struck, monkeypatch):
    def strike(*args: Any, **kwargs: Any) -> Any:
        raise struck

    lib = cwrapjit.library("c", libraries=["c"])
    with monkeypatch.context() as patch:
        patch.setattr(subprocess, "run", strike)
        with pytest.raises(struck):
            lib.declare("#include <stddef.h>\nint abs(int x);")
    lib.declare("#include <stddef.h>\nint abs(int x);")
    assert lib.abs(-1) == 1


@pytest.mark.row("G10")
def test_no_process_without_an_include(monkeypatch):
    def never(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("a process was started")

    monkeypatch.setattr(subprocess, "Popen", never)
    lib = cwrapjit.library("c", libraries=["c"], header="#define N 3\ntypedef int number;\n")
    lib.declare("#if N == 3\nnumber abs(number x);\n#endif")
    assert lib.abs(-2) == 2


@pytest.mark.row("G10")
def test_conditions_hold_where_they_hold_for_c():
    """Conditions in declarations and in header= see the macros of all earlier texts."""
    lib = cwrapjit.library("c", libraries=["c"], header="#ifdef INT64_MAX\n#define WIDE 3\n#endif\n")
    lib.declare("#include <math.h>\n#define OWN 2")
    lib.declare(
        "#if defined __has_include && __has_include(<stdio.h>) && OWN + WIDE == 5\nint abs(int);\n#endif"
    )
    lib.declare("#if __LINE__ == 2\n\n#elif __LINE__ == 3 && defined(M_PI)\nlong labs(long x);\n#endif")
    assert lib.abs(-2) == 2 and lib.labs(-3) == 3


@needs_compiler
def test_values_that_only_the_compiler_knows(tmp_path):
    (tmp_path / "k.h").write_text(
        "#include <math.h>\n#include <float.h>\n#include <limits.h>\n"
        "#define K_INF HUGE_VAL\n#define K_NEG (-INFINITY)\n#define K_MAX INT_MAX\n#define K_LONG LONG_MAX\n"
    )
    lib = cwrapjit.library("k", include_dirs=[tmp_path])
    lib.declare('#include "k.h"')
    assert (lib.K_INF, lib.K_NEG, lib.K_MAX, lib.K_LONG) == (math.inf, -math.inf, 2**31 - 1, 2**63 - 1)


@needs_compiler
def test_the_compilers_extensions(tmp_path):
    (tmp_path / "gnu.h").write_text("""
__extension__ typedef long long quad;
typedef __float128 wide;
extern quad f (quad __x) __asm__ ("" "f_other") __attribute__ ((__nothrow__ , __leaf__));
extern __inline __attribute__ ((__gnu_inline__)) int g (const char *__restrict __s) { return *__s; }
extern wide h (_Float64 x, _Float32 y);
extern _Noreturn void k (__const int *x, __signed__ char c);
struct odd { char c; int i; } __attribute__ ((__packed__));
extern struct odd o (struct odd *x);
#define SPLIT
__attribute__ ((__aligned__ (64))) extern int aligned;
#include "again.h"
typedef float four __attribute__ ((__vector_size__ (16)));
four v(void);
""")
    (tmp_path / "again.h").write_text("int between(void);\n")
    found = tables('#include "gnu.h"', libraries=["c"], include_dirs=[tmp_path])
    assert found["failed"] == []
    assert found["functions"]["f"] == "quad f(quad __x)"
    assert found["functions"]["h"] == "wide h(double x, float y)"
    assert found["functions"]["k"] == "void k(const int *x, signed char c)"
    lib = cwrapjit.library("c", libraries=["c"], include_dirs=[tmp_path])
    refuses(TypeError, lambda: lib.function('#include "gnu.h"\nwide labs(wide x)'), "_Float128")
    assert lib.struct("struct odd").dtype.itemsize == 5


@pytest.mark.skipif(shutil.which("clang") is None, reason="no clang")
def test_clang_reads_them_as_well(folder, monkeypatch):
    monkeypatch.setattr(cwrapjit.config, "compiler", "clang")
    one = tables("#include <shapes.h>", include_dirs=[folder])
    monkeypatch.setattr(cwrapjit.config, "compiler", NO_COMPILER)
    assert tables("#include <shapes.h>", include_dirs=[folder]) == one


def test_folders_of_any_name(reader, tmp_path):
    folder = tmp_path / 'a "b" \\c\u00e4'
    folder.mkdir()
    (folder / "x.h").write_text("int f(int x);\nint g(bar x);\n")
    parsed = cwrapjit.library("a", include_dirs=[folder])._core.declarations.read_each(
        '#include "x.h"', "<text>"
    )
    assert [each.name for each in parsed.functions] == ["f"]
    ((_, error),) = parsed.failed
    assert (error.filename, error.lineno) == (str(folder / "x.h"), 2)


@pytest.mark.row("L01")
def test_macros_of_the_system_in_the_middle_of_a_declaration(reader, tmp_path):
    (tmp_path / "mid.h").write_text(
        "#include <stdbool.h>\n#include <complex.h>\n#include <limits.h>\n"
        "typedef bool flag, *flags;\n"
        "typedef const bool sure; typedef bool (*asks)(bool, int); typedef bool three[3];\n"
        "struct state { bool a; int b;\n  bool c, d[CHAR_BIT]; double complex z; };\n"
        "extern bool isalpha(int c); bool isdigit(\n  int c,\n  bool d,\n  int e);\n"
        "int abs(flag x);\n"
        "double complex csqrt(double complex z);\n"
        "double cabs(double\n  complex z); double carg(double _Complex z);\n"
    )
    lib = cwrapjit.library("m", libraries=["m"], include_dirs=[tmp_path]).declare("#include <mid.h>")
    assert not lib.unmapped
    assert lib.mapped == ["abs", "cabs", "carg", "csqrt", "isalpha", "isdigit"]
    assert str(lib.abs) == "<cwrapjit.LibraryFunction m.abs(x: bool) -> int>"
    assert (lib.csqrt(-1 + 0j), lib.cabs(3 + 4j), lib.carg(1j)) == (1j, 5.0, math.pi / 2)
    state = lib.state(a=True, c=True, z=2j)
    state.d[7] = True
    assert (state.a, state.c, state.d.tolist(), state.z) == (True, True, [False] * 7 + [True], 2j)


@pytest.mark.row("L01")
def test_types_that_name_each_other_by_their_typedefs(reader, tmp_path):
    (tmp_path / "both.h").write_text(
        "typedef struct part part;\n"
        "typedef struct kind { int (*run)(part *p); part *first; int n; } kind;\n"
        "struct part { const kind *of; int n; };\n"
        "int abs(part *p); long labs(kind *k);\n"
    )
    for first, second in ("part", "kind"), ("kind", "part"):
        lib = cwrapjit.library("c", libraries=["c"], include_dirs=[tmp_path]).declare("#include <both.h>")
        made = getattr(lib, first)(n=3), getattr(lib, second)(n=4)
        assert [each.n for each in made] == [3, 4] and not lib.unmapped


@pytest.mark.row("L01")
@pytest.mark.parametrize("at_once", [False, True])
def test_a_macro_over_a_function_leaves_its_declarations_alone(reader, tmp_path, at_once):
    (tmp_path / "over.h").write_text(
        "int abs(int x);\n#define abs(x) checked_abs(x, __LINE__)\n"
        "#define TWICE(x) (2 * (x))\n#define RETURNS(type, name) type name\n"
    )
    lib = cwrapjit.library("c", libraries=["c"], include_dirs=[tmp_path])
    if at_once:
        lib.declare('#include "over.h"\nint abs(int only);')
    else:
        lib.declare("#include <over.h>")
        lib.function("int abs(int only)")
    assert str(lib.abs) == "<cwrapjit.LibraryFunction c.abs(only: int) -> int>" and lib.abs(-3) == 3
    lib.declare("RETURNS(long, labs)(long x); enum { FOUR = TWICE(2) };")
    lib.declare("#define atoi(x) atol(x)\nint atoi(char *s);")
    assert lib.labs(-3) == 3 and lib.FOUR == 4  # other macros still work
    assert "atol" in lib.mapped and "atoi" not in lib.mapped


MACROS = """
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
typedef int64_t id_t_; typedef struct pair { int x; double y; } pair; typedef void (*ending)(void *);
enum { FIRST = 3 };
extern int level; int checked(void); extern pair both;
static inline int hidden(int x) { return x; }
#define M_CAST ((id_t_)-1)
#define M_PLAIN_CAST (id_t_)7
#define M_UNSIGNED ((unsigned)-1)
#define M_SHORT ((short)70000)
#define M_BOOL ((bool)5)
#define M_SIZE sizeof(pair)
#define M_BITS (8 * sizeof(id_t_) - 1)
#define M_COMMA (checked(), 0x2u)
#define M_LEVEL (M_COMMA + level)
#define M_ENUM ((id_t_)FIRST << 40)
#define M_FLOAT (2.0 * 1.5)
#define M_LONG (1.0L / 3)
#define M_LITERAL -(0.1L)
#define M_CAST_LITERAL (double)2.5l
#define M_HUGE HUGE_VALL
#define M_INDEX "abc"[1]
#define M_TEXT ((const char *)"abc" "def")
#define M_NULL ((void *)0)
#define M_ALL ((void *)-1)
#define M_END ((ending)-1)
#define M_BOTH ((pair *)&both)
#define M_EMPTY
#define M_TYPE pair
#define M_TWICE(x) (2 * (x))
#define M_OF_TWICE M_TWICE(sizeof(int))
#define M_BY_ZERO ((int)1 / 0)
#define M_AT_NOTHING (*(int *)0)
#define M_STATEMENT ({ int zero = 0; 1 / zero; })
#define M_OPEN }
#define M_NOBODY (nobody + 1)
#define M_BOTH_NOW both
"""
VALUES = {
    "M_CAST": -1, "M_PLAIN_CAST": 7, "M_UNSIGNED": 2**32 - 1, "M_SHORT": 4464, "M_BOOL": True, "M_SIZE": 16,
    "M_BITS": 63, "M_COMMA": 2, "M_LEVEL": 7, "M_ENUM": 3 << 40, "M_FLOAT": 3.0, "M_INDEX": 98,
    "M_CAST_LITERAL": 2.5, "M_TEXT": "abcdef", "M_NULL": None, "M_OF_TWICE": 8,
}  # fmt: skip
NO_VALUES = {
    "M_EMPTY": "it stands for nothing", "M_TYPE": "it is a type", "M_TWICE": "it has parameters (x)",
    "M_BY_ZERO": "division by zero", "M_AT_NOTHING": "not constant", "M_STATEMENT": "outside of function",
    "M_OPEN": "not closed", "M_NOBODY": "'nobody' undeclared", "INT64_MAX": "only included by others",
}  # fmt: skip


@pytest.mark.row("L01")
@pytest.mark.parametrize("way", ["declare", "source", "header"])
def test_macros_that_only_c_knows(reader, tmp_path, way):
    (tmp_path / "macros.h").write_text(MACROS)
    text = "int level = 5, calls; pair both = {1, 2.5}; int checked(void) { return ++calls; }"
    text = f'#include "macros.h"\n{text}'
    if way == "declare":
        library = build_shared(tmp_path, "macros.c", text, f"-I{tmp_path}")
        lib = cwrapjit.library("m", library, include_dirs=[tmp_path])
        lib.declare("#include <macros.h>").declare("extern int calls;")
    else:
        header = {"header": MACROS} if way == "header" else {}
        lib = cwrapjit.library("m", source=text, include_dirs=[tmp_path], **header)
    assert {name for name in dir(lib) if name[:2] == "M_"} == {
        *VALUES, "M_LONG", "M_LITERAL", "M_HUGE", "M_ALL", "M_END", "M_BOTH", "M_BOTH_NOW"
    }  # fmt: skip
    assert lib.calls == 0, "dir() runs nothing"
    for name, value in VALUES.items():
        found = getattr(lib, name)
        assert (found, type(found)) == (value, type(value)), name
    assert lib.M_LONG == np.longdouble(1) / 3 and lib.M_LITERAL == np.longdouble("-0.1")
    assert lib.M_HUGE == np.inf and type(lib.M_HUGE) is type(lib.M_LITERAL) is np.longdouble
    assert "0xffffffffffffffff" in repr(lib.M_ALL) and "0xffffffffffffffff" in repr(lib.M_END)
    assert lib.M_BOTH.y == 2.5
    lib.level, before = 10, lib.calls
    assert (lib.M_LEVEL, lib.calls) == (12, before + 1), "what is no constant is read each time"
    for name, why in NO_VALUES.items():
        refuses(AttributeError, lambda name=name: getattr(lib, name), name, why)
    refuses(AttributeError, lambda: lib.M_NOWHERE, "nothing of this name is declared")
    lib.declare("#define M_LATER (later + 1)\n")
    refuses(AttributeError, lambda: lib.M_LATER, "'later' undeclared")
    lib.declare("enum { later = 4 };")
    assert lib.M_LATER == 5


@pytest.mark.row("L01")
def test_enums_that_an_included_file_fills(reader, tmp_path):
    (tmp_path / "kinds.def").write_text("A, /* the first */\nB = 5,\n")
    (tmp_path / "more.def").write_text("\nKIND(C)\n")
    (tmp_path / "kinds.h").write_text(
        "#define KIND(x) KIND_##x = (kind_t)1 << 3,\ntypedef unsigned kind_t;\n"
        'enum kinds {\n  NONE,\n#include "kinds.def"\n#include "more.def"\n  LAST\n};\n'
        "int abs(enum kinds k);\n"
    )
    for text in "#include <kinds.h>", '#include "kinds.h"\nlong labs(enum kinds k);':
        lib = cwrapjit.library("c", libraries=["c"], include_dirs=[tmp_path]).declare(text)
        assert [lib.NONE, lib.A, lib.B, lib.KIND_C, lib.LAST] == [0, 1, 5, 8, 9]
        assert "abs" in lib.mapped and not lib.unmapped


@pytest.mark.row("L01")
def test_a_macro_says_what_is_included(reader, tmp_path):
    (tmp_path / "build.h").write_text("#define MAIN_H <main.h>\n")
    (tmp_path / "main.h").write_text("int abs(int x);\n")
    lib = cwrapjit.library("c", libraries=["c"], include_dirs=[tmp_path])
    assert lib.declare("#include <build.h>\n\n#include MAIN_H").mapped == ["abs"]
    text = "#include <build.h>\n#include OTHER_H"
    refuses(cwrapjit.CompileError, lambda: lib.declare(text), "needs a file name")


ONLY = """
#include <math.h>
static int calls;
struct pair { double x, y; };
struct odd { double x; int n; };
static inline double square(double x) { calls++; return x * x; }
static double root(double x) { return sqrt(x); }
inline double four_times(double x) { return 4 * x; }
static inline int called(void) { return calls; }
static inline double sum(int n, const double x[n]) { double s = 0; while(n--) s += x[n]; return s; }
static inline double norm(const struct pair *p) { return p->x + p->y; }
static inline struct odd turned(struct odd o) { o.x = -o.x; o.n++; return o; }
double fourth(double x);
#ifdef IMPLEMENTATION
double fourth(double x) { return square(square(x)); }
#endif
"""


@pytest.mark.row("L01")
@pytest.mark.parametrize("way", ["declare", "source", "source with all"])
def test_libraries_that_are_headers_alone(reader, tmp_path, way):
    (tmp_path / "only.h").write_text(ONLY)
    text, has_fourth = "#include <only.h>", way == "source with all"
    if way == "declare":
        lib = cwrapjit.library("only", sources=[], include_dirs=[tmp_path]).declare(text)
    else:
        text = f"{has_fourth * '#define IMPLEMENTATION'}\n{text}\nstatic int mine(void) {{ return 1; }}"
        lib = cwrapjit.library("only", source=text, include_dirs=[tmp_path])
    names = ["called", "four_times", "norm", "root", "square", "sum", "turned"]
    assert lib.mapped == sorted(names + ["fourth"] * has_fourth)
    assert (lib.square(3.0), lib.called(), lib.root(4.0), lib.four_times(2.0)) == (9, 1, 2, 8)
    assert lib.norm(lib.pair(1.0, 2.0)) == 3
    turned = lib.turned(lib.odd(1.5, 3))
    assert (turned.x, turned.n) == (-1.5, 4)
    if has_fourth:
        assert (lib.fourth(2.0), lib.called()) == (16, 3)
    assert lib.function("double sum(int n, const double x[n])")(np.arange(4.0)) == 6
    squares = lib.function("double square(double x)", broadcast=True, name="squares")
    assert squares([2.0, 3.0]).tolist() == [4, 9]
    assert way == "declare" or lib.root([4.0, 9.0]).tolist() == [2, 3]


@pytest.mark.row("L01")
def test_functions_of_headers_that_libtcc_does_not_compile(reader, tmp_path):
    (tmp_path / "odd.h").write_text(
        "static inline int fine(int x) { return x + 1; }\n"
        "static inline int odd(int x) { return __builtin_nothing_of_that_name(x); }\n"
    )
    lib = cwrapjit.library("odd", sources=[], include_dirs=[tmp_path]).declare("#include <odd.h>")
    assert lib.fine(1) == 2 and set(lib.unmapped) == {"odd"}
    assert "only the header has it" in lib.unmapped["odd"]
    text = '#include "odd.h"\nint one(void) { return fine(0); }'
    lib = cwrapjit.library("odd", source=text, include_dirs=[tmp_path])
    assert lib.one() == 1 and lib.mapped == ["one"]


SYMBOLS = """
int plain(int x) __asm__("other"); extern int seven __asm__ ("" "number");
int one(void) asm("first"), two(void) __asm("second") __attribute__((nothrow));
static inline int barrier(int x) { register int one __asm__("plain") = x; __asm__("nop"); return one; }
"""


def test_functions_and_variables_go_by_the_symbols_that_they_are_given(reader, tmp_path):
    (tmp_path / "symbols.h").write_text(SYMBOLS)
    text = "int other(int x) { return 2 * x; } int number = 7; int first(void) { return 1; }"
    path = build_shared(tmp_path, "libsymbols.so", text + "int second(void) { return 2; } int barrier;")
    for declared in SYMBOLS, '#include "symbols.h"':
        lib = cwrapjit.library("symbols", path, include_dirs=[tmp_path]).declare(declared)
        assert (lib.plain(4), lib.seven, lib.one(), lib.two()) == (8, 7, 1, 2)
        lib.seven = 8
        assert lib.seven == 8
        lib.seven = 7
    assert cwrapjit.library("s", path).function('int twice(int x) __asm__("other")')(3) == 6
    refuses(AttributeError, lambda: cwrapjit.library("s", path).function('int f(int) asm("gone")'), "gone")


@needs_compiler
def test_functions_of_headers_that_do_not_compile_cost_the_others_little(tmp_path, monkeypatch):
    """All are compiled together; a batch that fails is split in halves."""
    names = [f"f{k:02}" for k in range(40)]
    text = "static int calls;\nint missing(int x);\n"
    for k, name in enumerate(names):
        value = "missing(x)" if k == 7 else f"x + {k}"
        text += f"static inline int {name}(int x) {{ calls++; return {value}; }}\n"
    (tmp_path / "many.h").write_text(text + "static inline int counted(void) { return calls; }\n")
    tried = []
    compile_thunks = cwrapjit._cwrapjit.compile_thunks

    def compile_counted(*args, **kwargs):
        tried.extend([1] * ("<headers>" in (kwargs.get("file"), *args)))
        return compile_thunks(*args, **kwargs)

    monkeypatch.setattr(cwrapjit._cwrapjit, "compile_thunks", compile_counted)
    lib = cwrapjit.library("c", libraries=["c"], include_dirs=[tmp_path]).declare('#include "many.h"')
    assert lib.f30(12) == 42 and len(tried) < 5
    assert set(names) - set(lib.mapped) == {"f07"} and "missing" in lib.unmapped["f07"]
    assert len(tried) < 24
    assert [lib.f39(1), lib.f38(1)] == [40, 39]


@needs_compiler
def test_functions_that_headers_have_for_gnu_alone(tmp_path):
    (tmp_path / "gnu.h").write_text(
        "static int calls;\nstatic inline int plain(int x) { return ++calls + x; }\n"
        "typedef struct { double d; int n; } pair;\n"
        "#ifndef __TINYC__\nstatic inline int gnu(pair p) { return ++calls + p.n + p.d; }\n#endif\n"
    )
    lib = cwrapjit.library("c", libraries=["c"], include_dirs=[tmp_path]).declare('#include "gnu.h"')
    assert lib.unmapped.keys() == {"calls"} and lib.gnu(lib.pair(2.5, 4)) == 7
    assert lib.plain(0) == 2, "one unit has both, and so one counter"


@needs_compiler
@pytest.mark.parametrize(
    "members",
    [
        "int a; char b[GNU ? 2 : 64]; int c;", "\n#if GNU\nint a, c;\n#else\nint c, a;\n#endif\n",
        "int c;\n#if GNU\nint a;\n#endif\n", "struct { char b[GNU ? 8 : 4]; int c; };",
        "int a : GNU ? 3 : 7, c : 9;",
    ],
)  # fmt: skip
def test_structs_that_libtcc_reads_otherwise_than_the_librarys_compiler(members, tmp_path):
    (tmp_path / "own.h").write_text(
        "#pragma once\n#ifdef __TINYC__\n#define GNU 0\n#else\n#define GNU 1\n#endif\n"
        f"typedef struct own {{ {members} }} own;\nstruct same {{ int c; }};\nstruct hidden;\n"
        "static inline int get(const own *p) { return p->c; }\n"
        "static inline int first(own **p) { return p[0]->c; }\n"
        "static inline own make(int c) { own p = {0}; p.c = c; return p; }\n"
        "static inline int fine(struct same *p) { return p->c; }\n"
        "static inline int passes(struct hidden *p) { return p != 0; }\n"
        "int compiled(own *p);\n"
    )
    text = '#include "own.h"\nint compiled(own *p) { return p->c; }'
    library = build_shared(tmp_path, "libown.so", text, f"-I{tmp_path}")
    lib = cwrapjit.library("own", library, include_dirs=[tmp_path])
    lib.declare('#include "own.h"').declare("struct hidden { int x; };")
    assert lib.compiled(lib.own(c=7)) == lib.fine(lib.same(7)) == 7 and lib.passes(lib.hidden(3)) == 1
    for name in ("get", "first", "make"):
        reason = f"{name} has no mapping: only the header has it, in which own has other members for libtcc"
        refuses(AttributeError, lambda name=name: getattr(lib, name), reason)
    alone = cwrapjit.library("own", include_dirs=[tmp_path]).declare('#include "own.h"')
    assert alone.get(alone.make(7)) == 7, "all is libtcc's"
