"""Tests variables and constants of libraries, and functions that run when a library begins and ends."""

from __future__ import annotations

import gc
import pathlib

import numpy as np
import pytest
from helpers import refuses
from library_tools import from_c, from_shared

import cwrapjit

# ---- scalars -------------------------------------------------------------------------------------

SCALARS = """
int64_t x = 3; double d = 1.5; float s = 0.25f; int32_t i = -7; int plain = 4; bool b = 1; uint8_t byte = 200;
int64_t get(void) { return x; }
void put(int64_t value) { x = value; }
static int hidden = 1;
const int fixed = 5;
const char *text = "hello";
"""


def scalars():
    lib = from_c(SCALARS)
    for text in (
        "int64_t x", "double d", "float s", "int32_t i", "int plain", "bool b", "uint8_t byte",
        "const int fixed",
    ):  # fmt: skip
        lib.variable(text)
    return lib


@pytest.mark.row("P05")
def test_scalar_variables_are_live_in_both_directions():
    lib = scalars()
    get, put = lib.function("int64_t get(void)"), lib.function("void put(int64_t value)")
    assert lib.x == 3
    lib.x = 10
    assert get() == 10
    put(-5)
    assert lib.x == -5


@pytest.mark.row("P05")
def test_scalar_variables_keep_their_types():
    lib = scalars()
    for name, value, kind, other in (
        ("x", 3, int, 2**62),
        ("d", 1.5, float, -0.1),
        ("s", 0.25, np.float32, 8.5),
        ("i", -7, np.int32, -(2**31)),
        ("plain", 4, int, 2**31 - 1),
        ("b", True, bool, False),
        ("byte", 200, np.uint8, 255),
    ):
        assert getattr(lib, name) == value and type(getattr(lib, name)) is kind
        setattr(lib, name, other)
        assert getattr(lib, name) == kind(other)


@pytest.mark.row("P05")
def test_complex_variables(tmp_path):
    lib = from_shared("double _Complex z = 1.0; float _Complex w = 2.0f;", tmp_path)
    lib.variable("double complex z")
    lib.variable("float _Complex w")
    lib.z, wide = 1 - 2j, lib.w
    lib.w = np.complex64(0.5j)
    assert (lib.z, wide, lib.w) == (1 - 2j, 2, 0.5j) and type(wide) is np.complex64


def test_a_wrong_value_leaves_a_variable_as_it_was():
    lib = scalars()
    refuses(TypeError, lambda: setattr(lib, "x", "a"), "t.x, got str")
    refuses(OverflowError, lambda: setattr(lib, "i", 2**31), "t.i: 2147483648 is out of range")
    assert (lib.x, lib.i) == (3, -7)
    refuses(AttributeError, lambda: setattr(lib, "fixed", 1), "const")
    refuses(AttributeError, lambda: setattr(lib, "nothing", 1), "nothing")
    refuses(AttributeError, lambda: lib.nothing, "nothing")
    refuses(AttributeError, lambda: lib.variable("int nothing"), "nothing")
    lib.variable("const char *text")
    assert lib.text == "hello"
    refuses(AttributeError, lambda: setattr(lib, "text", "bye"), "text")


@pytest.mark.row("P05i")
def test_what_is_private_has_no_wrapper():
    lib = from_c(SCALARS + "static double secret(double x) { return x; }")
    refuses(NotImplementedError, lambda: lib.variable("static int hidden"), "hidden", "private")
    refuses(NotImplementedError, lambda: lib.function("static double secret(double x)"), "secret", "private")
    lib.declare("static double secret(double x); static int hidden;")
    assert "private" in lib.unmapped["secret"]
    assert "private" in lib.unmapped["hidden"]


# ---- arrays --------------------------------------------------------------------------------------

ARRAYS = """
static double storage[6] = {0, 1, 2, 3, 4, 5};
double fixed[2][3] = {{1, 2, 3}, {4, 5, 6}};
const int64_t table[3] = {7, 8, 9};
double *x = storage;
int64_t n = 6;
double third(void) { return x[3]; }
void put(int64_t i, double value) { x[i] = value; }
void shorten(void) { x = storage + 1; n = 2; }
void none(void) { x = NULL; }
"""


@pytest.mark.row("P06")
def test_array_variables_are_live_in_both_directions():
    lib = from_c(ARRAYS)
    lib.variable("int64_t n")
    lib.variable("double *x", shape="n")
    third, put = lib.function("double third(void)"), lib.function("void put(int64_t i, double value)")
    assert lib.x.shape == (6,)
    lib.variable("double *x", name="few", shape="1 + (n || n - 6) + (n - 6 && n) + 4 * (n && n)")
    assert lib.few.shape == (6,)
    lib.x[3] = 10
    assert third() == 10
    put(0, -1.0)
    assert lib.x[0] == -1
    lib.function("void shorten(void)")()
    assert np.array_equal(lib.x, [1, 2])
    lib.function("void none(void)")()
    assert lib.x is None
    refuses(AttributeError, lambda: setattr(lib, "x", np.zeros(6)), "reallocate")


@pytest.mark.row("P06")
def test_arrays_with_lengths_of_their_own():
    lib = from_c(ARRAYS)
    lib.declare("double fixed[2][3]; const int64_t table[3];")
    assert np.array_equal(lib.fixed, [[1, 2, 3], [4, 5, 6]])
    lib.fixed[1, 2] = 60
    assert lib.fixed[1, 2] == 60
    assert lib.table.tolist() == [7, 8, 9]
    assert not lib.table.flags.writeable
    kept = lib.fixed
    del lib
    gc.collect()
    assert kept[1, 2] == 60  # the array keeps the library alive


def test_a_pointer_needs_a_shape():
    lib = from_c(ARRAYS)
    refuses(TypeError, lambda: lib.variable("double *x"), "shape=")
    refuses(ValueError, lambda: lib.variable("double *x", shape="m"), "t.x: shape: m in a dim")
    lib.declare("double *x;")
    assert "shape=" in lib.unmapped["x"]


# ---- names ---------------------------------------------------------------------------------------


@pytest.mark.row("P04")
def test_variables_that_differ_in_case_alone_and_names_that_python_cannot_have():
    lib = from_c("int a = 1; int A = 2; int lambda = 3; int name = 4; int function = 5; int _members = 6;")
    for name in "a", "A", "lambda", "name", "function", "_members":
        lib.variable(f"int {name}")
    assert (lib.a, lib.A) == (1, 2)
    assert (lib.lambda_, lib.name, lib.function_, lib._members) == (3, 4, 5, 6)
    assert from_c("int __class__ = 7;").variable("int __class__") is None
    text = "int __init__(int a) { return a; } int __(void) { return 8; }"
    special = cwrapjit.library("special", source=text)
    assert (special._init__(9), special._()) == (9, 8)
    lib.lambda_ = 30
    assert lib.lambda_ == 30
    assert lib.__name__ == "t"


# ---- constants -----------------------------------------------------------------------------------

HEADER = r"""
#ifndef LIMITS_H
#define LIMITS_H
/* comments */ // of both kinds
#define VERSION "1.2" ".3"
#define MAJOR 1
#define FLAGS (1 << 4 | MAJOR)
#define HEX 0xFFu
#define EPSILON 1e-3
#define NEGATIVE (-2)
#define LETTER 'a'
#define EMPTY
#define TWICE(x) ((x) * 2)
#define USED TWICE(MAJOR + 1)
#define SIZE sizeof(int)
#define UNKNOWN sizeof(unknown)
#if defined(MAJOR) && MAJOR >= 2
#define WHICH 2
#elif MAJOR == 1
#define WHICH 1
#else
#error never
#endif
#undef GONE
enum color { RED, GREEN = 5, BLUE, LAST = BLUE + HEX };
typedef enum { NO = 0, YES = ~0 } answer;
#endif
"""


@pytest.mark.row("P13i")
def test_constants_of_a_header_are_attributes():
    lib = from_c("int f(void) { return 1; }", header=HEADER)
    assert (lib.RED, lib.GREEN, lib.BLUE, lib.LAST, lib.NO, lib.YES) == (0, 5, 6, 261, 0, -1)
    assert (lib.VERSION, lib.MAJOR, lib.FLAGS, lib.HEX) == ("1.2.3", 1, 17, 255)
    assert (lib.EPSILON, lib.NEGATIVE, lib.LETTER, lib.USED, lib.WHICH) == (1e-3, -2, 97, 4, 1)
    assert lib.SIZE == 4
    for name in "EMPTY", "TWICE", "UNKNOWN", "GONE", "LIMITS_H":
        refuses(AttributeError, lambda name=name: getattr(lib, name), name)
    assert "GREEN" in dir(lib)
    assert "FLAGS" in dir(lib)


@pytest.mark.row("P13i")
def test_constants_of_declared_texts_and_of_included_files(tmp_path):
    (tmp_path / "colors.h").write_text(HEADER)
    lib = from_c("int f(int x) { return x; }", include_dirs=[tmp_path])
    lib.declare('#include "colors.h"\n#include <stddef.h>\nenum { FEW = GREEN };\n int f(enum color x);')
    assert (lib.FEW, lib.MAJOR) == (5, 1)
    assert lib.f(lib.BLUE) == 6


UNSIGNED = [
    "5000000000u", "0xFFFFFFFFFFFFFFFFu", "(5000000000u*2)", "4294967296u", "040000000000u", "-5000000000u",
    "9223372036854775808u", "4294967295u + 1u", "2147483648 * 2u", "-1u", "~0u", "-1ul", "5u - 6", "1u << 31",
    "5000000000u/1000000000u", "0x80000000 + 0x80000000u", "-4294967296u", "(2147483648 - 4294967297u)",
]  # fmt: skip


@pytest.mark.row("P13i")
def test_unsigned_macros_are_what_they_are_to_c():
    """Numbers too wide for unsigned int are unsigned long."""
    lines = [f"#define M{k} {text}\n" for k, text in enumerate(UNSIGNED)]
    functions = [f"unsigned long long f{k}(void) {{ return {text}; }}\n" for k, text in enumerate(UNSIGNED)]
    lib = from_c("".join(functions)).declare("".join(lines))
    for k, text in enumerate(UNSIGNED):
        wanted = lib.function(f"unsigned long long f{k}(void)")()
        assert getattr(lib, f"M{k}") == wanted, text


# ---- begin and end -------------------------------------------------------------------------------

MODULE = """
int begun = 0, ended = 0, value = 0;
int *report;
void mod_init(void) { begun++; value = 5; }
void mod_free(void) { ended++; if (report) *report = ended; }
int mod_exec(void) { value += 2; return 0; }
int mod_fail(void) { return -3; }
"""


@pytest.mark.row("P07")
def test_init_runs_once_and_free_at_the_end(tmp_path):
    lib = from_shared(MODULE, tmp_path, init="mod_init", free="mod_free")
    path = next(pathlib.Path(tmp_path).glob("*.so"))
    again = cwrapjit.library("again", path, init="mod_init", free="mod_free")
    watcher = cwrapjit.library("watcher", path)
    for each in lib, watcher:
        each.variable("int begun")
        each.variable("int ended")
    assert (lib.begun, lib.ended) == (1, 0)
    function = lib.function("int mod_exec(void)")
    del lib, each
    gc.collect()
    assert watcher.ended == 0
    del again
    gc.collect()
    assert watcher.ended == 0  # the function keeps the library alive
    del function
    gc.collect()
    assert (watcher.begun, watcher.ended) == (1, 1)


@pytest.mark.row("P34")
def test_exec_runs_after_the_librarys_own_init():
    lib = from_c(MODULE, init="mod_init", exec="mod_exec")
    lib.variable("int value")
    assert lib.value == 7
    seen = []
    from_c(MODULE, init="mod_init", exec=seen.append)
    assert len(seen) == 1


@pytest.mark.row("P34")
def test_a_failing_exec_fails_the_definition():
    refuses(RuntimeError, lambda: from_c(MODULE, init="mod_init", exec="mod_fail"), "mod_fail", "returned -3")
    refuses(RuntimeError, lambda: from_c(MODULE, init="int mod_fail(void)"), "mod_fail")
    refuses(ZeroDivisionError, lambda: from_c(MODULE, exec=lambda lib: 1 // 0), "division", "by zero")
    refuses(AttributeError, lambda: from_c(MODULE, init="nothing"), "nothing")
    refuses(TypeError, lambda: from_c(MODULE, init=5), "init")
    refuses(TypeError, lambda: from_c(MODULE, exec=5), "exec")
    other = "int with(int x) { return x; } double *whose(void) { return NULL; }"
    for given in "int with(int x)", "double *whose(void)":
        refuses(ValueError, lambda given=given: from_c(other, exec=given), "exec", "without parameters")
