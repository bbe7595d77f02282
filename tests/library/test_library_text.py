"""Text: char, char arrays, unsigned text, paths, encodings. Oracles are Python's codecs, libc and sqlite3."""

from __future__ import annotations

import codecs
import ctypes
import os
import pathlib
import sqlite3
from typing import Any

import numpy as np
import pytest
from helpers import refuses
from leaks import COUNTED, keeps_nothing
from library_tools import from_c

import cwrapjit
from cwrapjit import Pointer

TEXT = """
#include <stdlib.h>
#include <string.h>
char same(char c) { return c; }
int code(char c) { return (unsigned char)c; }
int number(signed char c, unsigned char d) { return c + d; }
void pair(char *first, char *second) { *first = 'a'; *second = 'b'; }
int upper(char *c) { *c -= 32; return *c; }
int plus(char c) { return c + 1; }
void name(int n, char *to) { memset(to, 'x', n); if (n > 3) to[3] = 0; }
void some(int *n, char *to) { memcpy(to, "a\\0b", 3); *n = 3; }
size_t length(const char *s) { return s ? strlen(s) : 99; }
int byte(const char *s, int i) { return (unsigned char)s[i]; }
const unsigned char *unsigned_text(const unsigned char *s) { return s; }
const char *text(int which) { return which == 0 ? "\\xe9t\\xe9" : which == 1 ? "\\xff" : NULL; }
char *made(void) { return strdup("\\xe9"); }
void *second(const char *s) { return (void *)(s + 1); }
typedef struct { int n; const char *path; } holder;
holder *held(void) { return calloc(1, sizeof(holder)); }
void let_go(holder *h) { free(h); }
void hold(holder *h, const char *path) { h->path = path; }
int is_text(const holder *h, int c) { return h->path[0] == c; }
char letter = 'q';
typedef struct { char kind; signed char small; double x; } item;
"""


@pytest.fixture(scope="module")
def lib() -> Any:
    lib = from_c(COUNTED + TEXT)
    lib.struct("typedef struct { int n; const char *path; } holder;", free="let_go")
    return lib


# ---- one character --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def same(lib: Any) -> Any:
    return lib.function("char same(char c)")


def test_a_char_is_a_character_of_one_byte(lib: Any, same: Any) -> None:
    assert [same(chr(each)) for each in range(256)] == [chr(each) for each in range(256)]
    code = lib.function("int code(char c)")
    assert [code(bytes([each])) for each in range(256)] == list(range(256))
    assert code(65) == 65 and code(np.int8(-1)) == 255, "its number, as C's own code has it"
    assert "c: str" in repr(same)


@pytest.mark.quick
@pytest.mark.parametrize("wrong", ["", "ab", "\u0100", "\U0001f600", b"", b"ab"])
def test_what_is_no_character_is_refused(same: Any, wrong: str | bytes) -> None:
    refuses(ValueError, lambda: same(wrong), "t.same(): argument c: ", f"{wrong!r} is not one character")


def test_what_is_no_text_is_refused(same: Any) -> None:
    refuses(
        TypeError, lambda: same(1.5), "t.same(): Expected an argument of type str for argument c", "float"
    )
    refuses(TypeError, lambda: same(None), "argument of type str for argument c")
    refuses(ValueError, lambda: same(128), "argument c: ", "128")


def test_signed_and_unsigned_char_stay_numbers(lib: Any) -> None:
    number = lib.function("int number(signed char c, unsigned char d)")
    assert number(-3, 250) == 247
    refuses(TypeError, lambda: number("a", 1), "argument c")


def test_defaults_and_pointers_of_characters(lib: Any) -> None:
    code = lib.function("int code(char c)", defaults={"c": "x"})
    assert code() == ord("x")
    assert lib.function("void pair(char *first, char *second)", out=("first", "second"))() == ("a", "b")
    assert lib.function("int upper(char *c)", inout="c")("b") == (ord("B"), "B")


def test_arrays_of_numbers_have_no_characters(lib: Any) -> None:
    plus = lib.function("int plus(char c)", broadcast=True)
    assert plus(np.array([1, 2], np.int8)).tolist() == [2, 3]


@pytest.mark.quick
def test_a_character_that_dims_ask(lib: Any) -> None:
    own = from_c("void fill(char job, double *x) { x[0] = job; }")
    fill = own.function("void fill(char job, double *x)", dims={"x": "job == 'A' ? 2 : 1"}, out="x")
    assert fill("A").tolist() == [65.0, 0.0] and fill("B").tolist() == [66.0]


@pytest.mark.quick
def test_variables_and_members_are_characters(lib: Any) -> None:
    lib.variable("char letter")
    assert lib.letter == "q"
    lib.letter = "\xe9"
    assert lib.letter == "\xe9"
    with pytest.raises(ValueError, match=r"letter: 'no' is not one character"):
        lib.letter = "no"
    lib.letter = "q"
    item = lib.struct("typedef struct { char kind; signed char small; double x; } item;")
    made = item(kind="k", small=-3, x=1.5)
    assert (made.kind, made.small) == ("k", -3)
    made.kind = b"\xff"
    assert made.kind == "\xff"
    with pytest.raises(ValueError, match=r"attribute kind: 'kk' is not one character"):
        made.kind = "kk"
    assert item.dtype["kind"] == np.int8, "arrays have its number"


# ---- arrays that C fills -----------------------------------------------------------------------------------


@pytest.mark.quick
def test_an_array_that_c_fills_is_text_up_to_the_first_nul(lib: Any) -> None:
    name = lib.function("void name(int n, char to[n])", out="to")
    assert [name(n) for n in range(6)] == ["", "x", "xx", "xxx", "xxx", "xxx"]
    with pytest.raises(ValueError, match="-1"):
        name(-1)
    as_bytes = lib.function("void name(int n, char to[n])", out="to", encoding=None)
    assert as_bytes(5) == b"xxx"


@pytest.mark.quick
def test_a_length_that_c_writes_ends_it_too(lib: Any) -> None:
    some = lib.function("void some(int *n, char to[n])", out="to", inout="n")
    assert some(9) == (3, "a")
    as_bytes = lib.function("void some(int *n, char to[n])", out="to", inout="n", encoding="bytes")
    assert as_bytes(9) == (3, b"a\0b"), "bytes are all that C has written"


@pytest.mark.quick
def test_getcwd_and_strerror_as_libc_has_them() -> None:
    libc = cwrapjit.library("libc")
    getcwd = libc.function(
        "char *getcwd(char buf[size], size_t size)", out="buf", discard="return", encoding="fs"
    )
    assert getcwd(4096) == os.getcwd()
    message = libc.function("int __xpg_strerror_r(int number, char buf[n], size_t n)", out="buf")
    assert message(2, 100) == (0, os.strerror(2)), "its status and what it wrote"


# ---- encodings ---------------------------------------------------------------------------------------------


def test_results_in_the_encoding_that_is_said(lib: Any) -> None:
    text = lib.function("const char *text(int which)", encoding="latin-1")
    assert [text(each) for each in range(3)] == ["\xe9t\xe9", "\xff", None]
    plain = lib.function("const char *text(int which)")
    with pytest.raises(UnicodeDecodeError):
        plain(0)
    for given in (None, "bytes", {"return": None}):
        assert lib.function("const char *text(int which)", encoding=given)(0) == b"\xe9t\xe9"
    assert lib.function("const char *text(int which)", encoding="fs")(1) == os.fsdecode(b"\xff")
    made = lib.function("char *made(void)", returns="callee", encoding="cp1252")
    assert made() == "\xe9"


@pytest.mark.quick
def test_arguments_in_the_encoding_that_is_said(lib: Any) -> None:
    for encoding in ("latin-1", "utf-8", "fs", "cp1252", None):
        byte = lib.function("int byte(const char *s, int i)", encoding=encoding)
        wanted = "\xe9".encode("utf-8" if encoding in ("fs", None) else encoding)
        assert [byte("\xe9", i) for i in range(len(wanted))] == list(wanted)
        assert byte(b"\xfe", 0) == 0xFE
    byte = lib.function("int byte(const char *s, int i)", encoding={"s": "latin-1"})
    refuses(UnicodeEncodeError, lambda: byte("\u20ac", 0), "latin-1")


@pytest.mark.parametrize(
    "wrong", ["utf-16", "utf-32", "utf-7", "utf-8-sig", "cp037", "rot13", "no such", "\0", ""]
)
def test_encodings_with_other_ascii_are_refused(lib: Any, wrong: str) -> None:
    if wrong == "":
        assert lib.function("size_t length(const char *s)", encoding=wrong)("ab") == 2, "nothing is said"
        return
    refuses(
        ValueError, lambda: lib.function("size_t length(const char *s)", encoding=wrong), "encoding", "ASCII"
    )


def test_slips_of_encoding(lib: Any) -> None:
    declared = "size_t length(const char *s)"
    refuses(TypeError, lambda: lib.function(declared, encoding=3), "encoding must be the name", "int")
    refuses(ValueError, lambda: lib.function(declared, encoding={"t": "latin-1"}), "encoding names 't'")


def test_patterns_say_the_encoding() -> None:
    lib = from_c(TEXT)
    lib.refine("t*", encoding="latin-1")
    text = lib.function("const char *text(int which)")
    assert text(0) == "\xe9t\xe9"
    lib.refine("te*", encoding=None)
    assert lib.function("const char *text(int which)")(0) == b"\xe9t\xe9"
    lib.refine("*", encoding={"return": "cp1252", "s": "latin-1"})
    assert lib.function("size_t length(const char *s)")("\xe9") == 1
    assert lib.function("const char *text(int which)", encoding=None)(0) == b"\xe9t\xe9"


def test_unsigned_text_where_it_is_said(lib: Any) -> None:
    declared = "const unsigned char *unsigned_text(const unsigned char *s)"
    assert isinstance(lib.function(declared)(Pointer(b"ab\0")), Pointer), "bytes, unless it is said"
    assert lib.function(declared, encoding="utf-8")("\xe4b") == "\xe4b"
    assert lib.function(declared, encoding={"s": "utf-8"}, returns="bytes")("ab") == b"ab"
    assert lib.function(declared, encoding={"s": "latin-1", "return": "latin-1"})("\xe4") == "\xe4"


@pytest.mark.quick
def test_sqlite3_column_text_is_str(tmp_path: pathlib.Path) -> None:
    """What Python's sqlite3 wrote, read by C's."""
    path = tmp_path / "d\xe4ta.db"
    with sqlite3.connect(path) as there:
        there.execute("create table t (x text)")
        there.execute("insert into t values (?)", ("\xe9\u20ac\U0001f600",))
    there.close()
    sqlite = cwrapjit.library("sqlite3", libraries=["sqlite3"])
    sqlite.refine("sqlite3_column_text", encoding="utf-8")
    sqlite.declare(
        """
        typedef struct sqlite3 sqlite3; typedef struct sqlite3_stmt sqlite3_stmt;
        int sqlite3_open(const char *filename, sqlite3 **db); int sqlite3_close(sqlite3 *);
        int sqlite3_prepare_v2(sqlite3 *db, const char *sql, int n, sqlite3_stmt **statement,
            const char **tail);
        int sqlite3_step(sqlite3_stmt *); int sqlite3_finalize(sqlite3_stmt *);
        const unsigned char *sqlite3_column_text(sqlite3_stmt *, int column);
        """,
        options={
            "sqlite3_open": {"out": "db", "check": RuntimeError},
            "sqlite3_prepare_v2": {"out": "statement", "hidden": {"tail": None}, "check": RuntimeError},
        },
    )
    db = sqlite.sqlite3_open(path)
    statement = sqlite.sqlite3_prepare_v2(db, "select x, null from t", -1)
    assert sqlite.sqlite3_step(statement) == 100
    assert sqlite.sqlite3_column_text(statement, 0) == "\xe9\u20ac\U0001f600"
    assert sqlite.sqlite3_column_text(statement, 1) is None
    assert sqlite.sqlite3_finalize(statement) == 0 and sqlite.sqlite3_close(db) == 0


# ---- paths, NULs ------------------------------------------------------------------------------------------


class Named:
    """What os.fspath() takes."""

    def __init__(self, path: object) -> None:
        self.path = path

    def __fspath__(self) -> Any:
        if isinstance(self.path, Exception):
            raise self.path
        return self.path


def test_paths_are_given_as_they_are(tmp_path: pathlib.Path) -> None:
    libc = cwrapjit.library("libc")
    libc.function("int access(const char *path, int mode)", check=OSError, discard="return")
    odd = tmp_path / os.fsdecode(b"\xff\xe4")  # no UTF-8
    odd.touch()
    assert libc.access(odd, 0) is None and libc.access(os.fsencode(odd), 0) is None
    assert libc.access(Named(str(odd)), 0) is None and libc.access(Named(os.fsencode(odd)), 0) is None
    refuses(FileNotFoundError, lambda: libc.access(tmp_path / "none", 0), "access")


@pytest.mark.quick
@pytest.mark.parametrize("path", [3, None, bytearray(b"a")])
def test_paths_of_strange_types_are_refused(lib: Any, path: object) -> None:
    length = lib.function("size_t length(const char *s)", optional="s")
    refuses(TypeError, lambda: length(Named(path)), "__fspath__")
    refuses(ZeroDivisionError, lambda: length(Named(ZeroDivisionError("mine"))), "mine")
    refuses(TypeError, lambda: length(bytearray(b"ab")), "argument of type str for argument s", "bytearray")
    assert length(None) == 99


@pytest.mark.parametrize("given", ["a\0", "\0", b"a\0b", Named("a\0b"), pathlib.PurePath("a\0b")])
def test_a_nul_inside_is_refused_where_nothing_says_the_length(lib: Any, given: Any) -> None:
    for encoding in ("utf-8", "latin-1", "fs"):
        length = lib.function("size_t length(const char *s)", encoding=encoding)
        refuses(ValueError, lambda: length(given), "t.length(): argument s holds a NUL", "s[n]")  # noqa: B023


def test_a_nul_inside_goes_where_a_length_is_said() -> None:
    own = from_c("int sum(int n, const char *s) { int t = 0; while (n--) t += s[n]; return t; }")
    total = own.function("int sum(int n, const char s[n])")
    for given in (
        "\0a\0b",
        b"\0a\0b",
        bytearray(b"\0a\0b"),
        memoryview(b"\0a\0b"),
        np.array([0, 97, 98], np.int8),
    ):
        assert total(given) == 97 + 98


# ---- what C keeps ----------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["latin-1", "fs", "utf-8"])
def test_what_c_keeps_of_a_converted_text_is_kept(lib: Any, encoding: str) -> None:
    """It is the converted text whose memory C has, not what it was made from."""
    held = lib.function("holder *held(void)", returns="callee")
    hold = lib.function("void hold(holder *h, const char *path)", keeps={"h": "path"}, encoding=encoding)
    is_text = lib.function("int is_text(const holder *h, int c)")
    second = lib.function("void *second(const char *s)", encoding=encoding)
    for given in (pathlib.Path("x" * 5000), "x" * 5000, Named("x" * 5000)):
        mine = held()
        hold(mine, given)
        pointer = second(given)
        del given
        others = [b"%d" % k + b"y" * 5000 for k in range(100)]
        assert is_text(mine, ord("x")) == 1 and len(others) == 100
        assert ctypes.string_at(pointer.address, 4998) == b"x" * 4998


@pytest.mark.leak
def test_texts_keep_nothing(lib: Any, same: Any, tmp_path: pathlib.Path) -> None:
    length = lib.function("size_t length(const char *s)", encoding="latin-1")
    text = lib.function("const char *text(int which)", encoding="latin-1")
    name = lib.function("void name(int n, char to[n])", out="to")
    held = lib.function("holder *held(void)", returns="callee")
    hold = lib.function("void hold(holder *h, const char *path)", keeps={"h": "path"})

    def work() -> None:
        same("\xe9")
        length("\xe9" * 100)
        length(tmp_path)
        text(0)
        name(100)
        mine = held()
        hold(mine, tmp_path)
        for wrong in ("\u20ac", "a\0b", Named(3), Named("a\0"), Named(ValueError())):
            with pytest.raises((ValueError, TypeError)):
                length(wrong)
        with pytest.raises(ValueError, match="one character"):
            same("ab")

    keeps_nothing(work)


@pytest.mark.leak
def test_encodings_of_functions_that_went_keep_nothing() -> None:
    text = "const char *f(const char *s) { return s; }"

    def work() -> None:
        from_c(text).function("const char *f(const char *s)", encoding="cp1252")("\xe9")

    keeps_nothing(work, watched=(codecs.lookup("cp1252").name,))
