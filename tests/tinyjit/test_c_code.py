"""Tests the user's own C: header text, C files, include folders, macros, libraries; missing ones."""

from __future__ import annotations

import ctypes
import os
import pathlib
import struct
import sys
from typing import Any

import numpy as np
import pytest
from helpers import ar, build_shared, refuses, same, wrap

import cwrapjit
from cwrapjit import _find_library
from cwrapjit._find_library import find_library

CALL = "item__output() = %s(item__a()); return true;"


def calls(name: str, **kw: Any) -> Any:
    """Returns a function f(a) that calls NAME(a)."""
    kw.setdefault("header", f"double {name}(double);")
    return wrap(((),), (), CALL % name, **kw)


def add(m: Any, name: str, body: str) -> Any:
    return m.function(
        name,
        args_input=("a",),
        prototype_input=((),),
        prototype_output=(),
        Ccode_slice_eval={np.float64: body},
    )


def write(folder: pathlib.Path, name: str, text: str) -> str:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return str(path)


# ---- header ---------------------------------------------------------------------------------------


@pytest.mark.row("N80", "N02")
def test_header_functions_are_seen_by_every_function_of_the_module() -> None:
    m = cwrapjit.module(
        "t",
        header="static double sq(double x) { return x * x; }\n#define TWO 2\ntypedef struct { int x; } pt;",
    )
    add(m, "f", "item__output() = sq(item__a()); return true;")
    add(m, "g", "pt p = {TWO}; item__output() = sq(item__a()) * p.x; return true;")
    assert m.f(3.0) == 9 and m.g(3.0) == 18


@pytest.mark.row("N80")
def test_declared_functions_of_libc_and_libm_are_found() -> None:
    assert calls("cbrt")(8.0) == 2
    assert calls("cbrt", header="")(8.0) == 2, "known without a declaration"
    assert calls("j0")(0.0) == 1, "declared by the header alone"


@pytest.mark.row("N02")
def test_statics_of_the_header_are_one_copy_per_function() -> None:
    m = cwrapjit.module("t", header="static int n;\nstatic int next(void) { return n++; }")
    f = add(m, "f", "item__output() = next(); return true;")
    g = add(m, "g", "item__output() = next(); return true;")
    assert same(f(ar(3)), ar(3)) and same(g(ar(2)), ar(2)) and f(0.0) == 3


@pytest.mark.row("N80", "N02")
@pytest.mark.parametrize(
    "header",
    [
        "",
        "#define ONE 1",
        "// no newline behind this",
        "/* comment */",
        "#define LAST \\\n 1",
        "#define N 5\n#define n 7\n#define i 3\n#define j 4\n#define k 5\n#define x 6",
        "#define dims 3\n#define steps 4\n#define ctx 5\n#define count 6\n#define index 8",
        "#define loop bad\n#define slice bad\n#define name bad\n#define types bad\n#define call bad",
        "enum { a, output, data };\nstatic int f(void) { return 1; }\nstatic int main(void) { return f(); }",
    ],
)
def test_any_header_goes_with_the_generated_text(header: str) -> None:
    f = wrap(
        (("p", 2),),
        (),
        "item__output() = item__a(0, 1) + *e + cookie->c; return dims_slice__a[1] == 2;",
        header=header,
        extra_args=(("int", "e", "3", "i"),),
        Ccode_cookie_struct="int c;",
        Ccode_validate="cookie->c = 10; return CHECK_CONTIGUOUS_ALL();",
    )
    assert f(ar(4, 2)) == 1 + 3 + 10


@pytest.mark.row("N80")
def test_include_dirs_serve_header_and_sources(tmp_path: pathlib.Path) -> None:
    write(
        tmp_path, "inc/limit.h", "#define LIMIT 12.5\nstatic inline double half(double x) { return x / 2; }\n"
    )
    source = write(tmp_path, "limit.c", '#include "limit.h"\ndouble limit(void) { return LIMIT; }\n')
    f = wrap(
        ((),),
        (),
        "item__output() = half(item__a()) + LIMIT + limit(); return true;",
        header="#include <limit.h>\ndouble limit(void);",
        sources=[source],
        include_dirs=[tmp_path / "inc"],
    )
    assert f(1.0) == 0.5 + 25


@pytest.mark.row("N80")
def test_define_macros_in_both_spellings(tmp_path: pathlib.Path) -> None:
    source = write(tmp_path, "m.c", "#ifndef ON\n#error off\n#endif\nint in_source(void) { return VALUE; }\n")
    for macros in ([("ON", None), ("VALUE", "40 + 2")], ["ON", "VALUE=40 + 2"], (("ON", ""), "VALUE=42")):
        f = wrap(
            (),
            (),
            {np.int64: "item__output() = VALUE * 1000 + in_source(); return true;"},
            header="#ifndef ON\n#error off\n#endif\nint in_source(void);",
            sources=[source],
            define_macros=macros,
        )
        assert f() in (42042, 40 + 2 * 1000 + 42)


@pytest.mark.row("N80")
def test_a_system_header_that_the_package_does_not_ship() -> None:
    if not pathlib.Path("/usr/include/unistd.h").exists():
        pytest.skip("no system headers on this machine")
    f = wrap(
        (),
        (),
        {np.int64: "item__output() = getpid(); return true;"},
        header="#include <unistd.h>\n#include <sys/types.h>",
    )
    assert f() == os.getpid()


# ---- sources --------------------------------------------------------------------------------------


@pytest.mark.row("N80", "N02")
def test_sources_are_one_copy_per_module(tmp_path: pathlib.Path) -> None:
    source = write(
        tmp_path,
        "counter.c",
        "static int hidden;\nint shown = 100;\nint next(void) { shown++; return hidden++; }\n",
    )
    made = []
    for name in ("one", "two"):
        m = cwrapjit.module(name, header="int next(void);\nextern int shown;", sources=[source])
        add(m, "f", "item__output() = next(); return true;")
        add(m, "g", "item__output() = next() + 1000 * shown; return true;")
        made.append(m)
    one, two = made
    assert one.f(0.0) == 0
    assert one.g(0.0) == 1 + 1000 * 102
    assert one.f(0.0) == 2
    assert two.f(0.0) == 0, "another module, another copy"


@pytest.mark.row("N80")
def test_several_sources_call_each_other_and_keep_their_statics(tmp_path: pathlib.Path) -> None:
    one = write(
        tmp_path,
        "one.c",
        "double second(double);\nstatic double k = 2;\ndouble first(double x) { return k * second(x); }\n",
    )
    two = write(tmp_path, "two.c", "static double k = 10;\ndouble second(double x) { return k + x; }\n")
    assert calls("first", sources=[one, pathlib.Path(two)])(1.0) == 22
    assert calls("first", sources=(two, one))(1.0) == 22


@pytest.mark.row("N80")
def test_sources_include_files_of_their_own_folder(tmp_path: pathlib.Path) -> None:
    write(tmp_path, "lib/private.h", "#define FACTOR 7\n")
    source = write(
        tmp_path, "lib/code.c", '#include "private.h"\ndouble times(double x) { return FACTOR * x; }\n'
    )
    assert calls("times", sources=[source])(2.0) == 14


@pytest.mark.row("N80")
def test_sources_see_the_systems_headers_and_gnu_extensions(tmp_path: pathlib.Path) -> None:
    if not pathlib.Path("/usr/include/stdlib.h").exists():
        pytest.skip("no system headers on this machine")
    source = write(
        tmp_path,
        "sort.c",
        """#define _GNU_SOURCE
        #include <stdlib.h>
        #include <string.h>
        static int compare(const void *a, const void *b, void *sign)
        {
            const double x = *(const double *)a, y = *(const double *)b;
            return *(int *)sign * ((x > y) - (x < y));
        }
        void sort(double *x, size_t n, int sign) { qsort_r(x, n, sizeof *x, compare, &sign); }
        """,
    )
    f = wrap(
        (("n",),),
        ("n",),
        """memcpy(data_slice__output, data_slice__a, 8 * dims_slice__a[0]);
           sort(data_slice__output, dims_slice__a[0], *sign);
           return true;""",
        header="void sort(double *, size_t, int);",
        sources=[source],
        extra_args=(("int", "sign", "1", "i"),),
        Ccode_validate="return CHECK_CONTIGUOUS_AND_SETERROR_ALL();",
    )
    x = np.array([[3.0, 1, 2], [9, 8, 7]])
    assert same(f(x), np.sort(x))
    assert same(f(x, sign=-1), np.sort(x)[:, ::-1])


@pytest.mark.row("N80")
def test_the_functions_own_definition_hides_a_librarys() -> None:
    f = calls("cosh_like", header="static double cosh_like(double x) { return -x; }")
    assert f(3.0) == -3


@pytest.mark.row("N80", "U01")
def test_a_fault_in_a_source_names_file_and_line(tmp_path: pathlib.Path) -> None:
    source = write(
        tmp_path, "bad.c", "int fine(void) { return 1; }\n\nint bad(void) { return missing_name; }\n"
    )
    error = refuses(cwrapjit.CompileError, lambda: cwrapjit.module("t", sources=[source]), "missing_name")
    assert error.filename == source and error.lineno == 3
    assert "return missing_name" in error.text
    implicit = write(tmp_path, "implicit.c", "double f(double x) { return undeclared_function(x); }\n")
    refuses(cwrapjit.CompileError, lambda: cwrapjit.module("t", sources=[implicit]), "undeclared_function")


@pytest.mark.quick
@pytest.mark.row("N80")
def test_a_source_that_is_not_there_is_named(tmp_path: pathlib.Path) -> None:
    absent = str(tmp_path / "nowhere.c")
    refuses(OSError, lambda: cwrapjit.module("t", sources=[absent]), absent, "cannot be opened")
    folder = str(tmp_path)
    refuses(OSError, lambda: cwrapjit.module("t", sources=[folder]), folder, "cannot be read")


# ---- libraries ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Builds libcwjthrice.so with double thrice(double) and int thrice_calls."""
    folder = tmp_path_factory.mktemp("library")
    text = "int thrice_calls; double thrice(double x) { thrice_calls++; return 3 * x; }\n"
    return build_shared(folder, "libcwjthrice.so", text)


@pytest.mark.row("N80")
def test_library_by_path_and_by_name(library: pathlib.Path) -> None:
    for path in (str(library), library):
        assert calls("thrice", libraries=[path])(2.0) == 6
    assert calls("thrice", libraries=["cwjthrice"], library_dirs=[str(library.parent)])(2.0) == 6
    assert calls("thrice", libraries=("cwjthrice",), library_dirs=("/nonexistent", library.parent))(2.0) == 6
    assert calls("j0", libraries=["m"])(0.0) == 1


@pytest.mark.row("N80")
def test_library_data_is_shared_with_the_library(library: pathlib.Path) -> None:
    f = wrap(
        ((),),
        (),
        "thrice(item__a()); item__output() = thrice_calls; return true;",
        header="double thrice(double);\nextern int thrice_calls;",
        libraries=[library],
    )
    first = f(1.0)
    assert f(1.0) == first + 1


@pytest.mark.row("N80")
def test_sources_use_libraries_and_come_before_them(library: pathlib.Path, tmp_path: pathlib.Path) -> None:
    text = "double thrice(double);\ndouble ninefold(double x) { return thrice(thrice(x)); }\n"
    assert calls("ninefold", sources=[write(tmp_path, "s.c", text)], libraries=[library])(1.0) == 9
    own = write(tmp_path, "own.c", "double thrice(double x) { return -x; }\n")
    assert calls("thrice", sources=[own], libraries=[library])(1.0) == -1


@pytest.mark.row("N80")
def test_a_missing_library_is_named(tmp_path: pathlib.Path) -> None:
    text = write(tmp_path, "libcwjtext.so", "\x7fELF but no more")
    for name in ("cwj_no_such_library", "/nonexistent/libx.so", "libcwj_no_such.so.7", text):
        refuses(OSError, lambda name=name: cwrapjit.module("t", libraries=[name]), "module t", name)


@pytest.mark.row("N80")
def test_a_missing_symbol_is_named(tmp_path: pathlib.Path) -> None:
    two = "double gone_one(double), gone_two(double);"
    code = "item__output() = gone_one(1) + gone_two(2); return true;"
    refuses(cwrapjit.CompileError, lambda: wrap(((),), (), code, header=two), "t.f()", "gone_one", "gone_two")
    text = "double gone_three(double);\ndouble uses(double x) { return gone_three(x); }\n"
    source = write(tmp_path, "s.c", text)
    refuses(cwrapjit.CompileError, lambda: cwrapjit.module("t", sources=[source]), "gone_three")


@pytest.mark.parametrize("is_fifo", [True, False], ids=["FIFO", "device"])
def test_files_that_may_never_end_are_refused(tmp_path: pathlib.Path, is_fifo: bool) -> None:
    path = tmp_path / "endless.h" if is_fifo else pathlib.Path("/dev/zero")
    if is_fifo:
        os.mkfifo(path)
    include, words = f'#include "{path}"\n', (str(path), "is no regular file")
    source = include + "double f(double x) { return x; }"
    refuses(cwrapjit.CompileError, lambda: cwrapjit.vectorize(source), *words)
    refuses(cwrapjit.CompileError, lambda: cwrapjit.library("endless", source=source), *words)
    refuses(cwrapjit.CompileError, lambda: cwrapjit.library("endless").declare(include), *words)
    refuses(cwrapjit.CompileError, lambda: calls("f", header=include), *words)
    refuses(OSError, lambda: calls("f", sources=[path]), *words)
    refuses(OSError, lambda: cwrapjit.library("endless", sources=[path]), *words)


@pytest.mark.quick
@pytest.mark.row("N80")
def test_a_missing_include_is_named() -> None:
    error = refuses(
        cwrapjit.CompileError, lambda: calls("cbrt", header="\n#include <cwj_missing.h>"), "cwj_missing.h"
    )
    assert error.filename == "<cwrapjit t header>" and error.lineno == 2


@pytest.mark.row("N80")
@pytest.mark.parametrize("option", ["sources", "include_dirs", "libraries", "library_dirs", "define_macros"])
@pytest.mark.parametrize("value", ["one_string", 5, [5], [None], [b"x", 3], {"a": object()}])
def test_lists_of_a_wrong_kind_are_refused(option: str, value: Any) -> None:
    if option == "define_macros" and isinstance(value, dict):
        value = [("A", 5)]
    refuses(TypeError, lambda: cwrapjit.module("t", **{option: value}), option)


@pytest.mark.row("N80")
@pytest.mark.parametrize(
    "macro", ["1X", "A B=1", "", "=1", ("A-B", "1"), ("A", "1\n#error x"), ("A", "1", "2"), ()]
)
def test_macros_that_cannot_be(macro: Any) -> None:
    error = TypeError if isinstance(macro, tuple) and len(macro) != 2 else ValueError
    refuses(error, lambda: cwrapjit.module("t", define_macros=[macro]), "define_macros[0]", f" {macro!r}")


# ---- libraries by the name for -l ------------------------------------------------------------------------


HEAD = pathlib.Path(sys.executable).read_bytes()[:64]


def fake(folder: pathlib.Path, name: str, machine: int | None = None) -> str:
    """Writes the head of a shared object for this machine or another one."""
    kind = struct.pack("=H", 3)
    number = HEAD[18:20] if machine is None else struct.pack("=H", machine)
    path = folder / name
    path.write_bytes(HEAD[:16] + kind + number + HEAD[20:])
    return str(path)


@pytest.mark.parametrize("name", ["m", "c", "pthread", "dl"])
def test_libraries_of_the_system(name: str) -> None:
    ctypes.CDLL(find_library(name, ()))


def test_the_highest_version_counts(tmp_path: pathlib.Path) -> None:
    for version in ("2.9", "10", "99.bak"):
        fake(tmp_path, f"libver.so.{version}")
    wanted = fake(tmp_path, "libver.so.10.1")
    fake(tmp_path, "libver.so.11", machine=0)
    (tmp_path / "libver.so.12").write_text("not a library")
    (tmp_path / "libver.so.txt").write_text("not a library")
    fake(tmp_path, "libversion.so.99")
    assert find_library("ver", [str(tmp_path)]) == wanted
    plain = fake(tmp_path, "libver.so")
    assert find_library("ver", ["/nonexistent", str(tmp_path)]) == plain


@pytest.mark.parametrize(
    "script",
    [
        "/* GNU ld script: GROUP ( /no/such.so ) */\nOUTPUT_FORMAT(elf64)\n"
        "GROUP ( /no/such.so.1 AS_NEEDED ( {0} ) )\n",
        "INPUT(-lreal)",
        "INPUT( -lreal /* never closed",
    ],
)
def test_scripts_are_followed(tmp_path: pathlib.Path, script: str) -> None:
    wanted = fake(tmp_path, "libreal.so.3")
    (tmp_path / "libscript.so").write_text(script.format(wanted))
    assert find_library("script", [str(tmp_path)]) == wanted


@pytest.mark.parametrize(
    "script", ["INPUT(-lscript)", "INPUT( /* never closed ", "", "INPUT", "INPUT(libbare.so)"]
)
def test_scripts_that_lead_nowhere(tmp_path: pathlib.Path, script: str) -> None:
    fake(tmp_path, "libbare.so")
    (tmp_path / "libscript.so").write_text(script)
    with pytest.raises(OSError, match="'script'"):
        find_library("script", [str(tmp_path)])


def test_files(tmp_path: pathlib.Path) -> None:
    assert find_library("/any/where.so", [str(tmp_path)]) == "/any/where.so"
    assert find_library("libzork.so.7", [str(tmp_path)]) == "libzork.so.7"  # the loader finds or rejects it
    assert find_library("libhere.so.7", [str(tmp_path)]) == "libhere.so.7"
    wanted = fake(tmp_path, "libhere.so.7")
    assert find_library("libhere.so.7", [str(tmp_path)]) == wanted


def test_a_missing_one_is_named_with_the_places(tmp_path: pathlib.Path) -> None:
    with pytest.raises(
        OSError, match=r"library 'zork_nowhere' not found.* in .*/nonexistent, .*ld\.so\.cache, /"
    ):
        find_library("zork_nowhere", [str(tmp_path), "/nonexistent"])


def test_search_path(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = fake(tmp_path, "libonpath.so.1")
    monkeypatch.setenv("LD_LIBRARY_PATH", f":/nonexistent:{tmp_path}")
    assert find_library("onpath", ()) == wanted
    monkeypatch.delenv("LD_LIBRARY_PATH")
    with pytest.raises(OSError, match="'onpath'"):
        find_library("onpath", ())


def cache(*entries: tuple[str, str, int]) -> bytes:
    """Returns a loader's cache with these entries: name, path, processors."""
    start = 48 + 24 * len(entries)
    table, strings = b"", b""
    for name, path, hwcap in entries:
        at = start + len(strings)
        table += struct.pack("=iIIIQ", 3, at, at + len(name) + 1, 0, hwcap)
        strings += f"{name}\0{path}\0".encode()
    head = b"glibc-ld.so.cache1.1" + struct.pack("=II", len(entries), len(strings))
    return head.ljust(48, b"\0") + table + strings


@pytest.mark.parametrize("old", [b"", b"ld.so-1.7.0\0" + struct.pack("=I", 1) + bytes(12) + bytes(4)])
def test_cache(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, old: bytes) -> None:
    wanted = fake(tmp_path, "libcached.so.2")
    newer = fake(tmp_path, "libcached.so.3")
    other = fake(tmp_path, "libother.so.9")
    table = cache(
        ("libcached.so.1", "libcached.so.1", 0),
        ("libcached.so.2", wanted, 0),
        ("libcached.so.3", newer, 5),
        ("libcached.so.9", other, 0),
    )
    file = tmp_path / "cache"
    file.write_bytes(old + table)
    monkeypatch.setattr(_find_library, "_CACHE", str(file))
    assert find_library("cached", ()) == wanted
    for length in range(len(table)):
        file.write_bytes(table[:length])
        assert all(wanted.startswith(path) for path in _find_library._listed_in_cache("cached"))


@pytest.mark.parametrize("start", [b"ld.so-1.7.0", b"glibc-ld.so.cache1.1"])
def test_broken_caches(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, start: bytes) -> None:
    file = tmp_path / "cache"
    monkeypatch.setattr(_find_library, "_CACHE", str(file))
    for rest in (b"", b"\xff" * 3, b"\xff" * 200, bytes(200)):
        file.write_bytes(start + rest)
        assert _find_library._listed_in_cache("m") == []
