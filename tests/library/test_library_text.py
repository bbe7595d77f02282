"""Tests text: char, char arrays, unsigned text, paths, encodings; oracles are Python, libc and sqlite3."""

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


OF_CHAR = ["'\\377'", "'\\x80' < 0", "(char)200", "(char)200 > 100 ? 2 : 3"]


def test_characters_in_constants_have_the_sign_that_c_gives_them() -> None:
    wanted = from_c("".join(f"int f{k}(void) {{ return {each}; }}\n" for k, each in enumerate(OF_CHAR)))
    lib = from_c("").declare("".join(f"enum {{ E{k} = {each} }};\n" for k, each in enumerate(OF_CHAR)))
    lib.declare("#if '\\377' < 0\nenum { IS_SIGNED = 1 };\n#else\nenum { IS_SIGNED = 0 };\n#endif")
    for k, each in enumerate(OF_CHAR):
        assert getattr(lib, f"E{k}") == wanted.function(f"int f{k}(void)")(), each
    assert lib.IS_SIGNED == lib.E1


@pytest.mark.parametrize("signed, values", [(True, [-1, 1, -56, 3]), (False, [255, 0, 200, 2])])
def test_the_sign_of_char_is_that_of_the_machine(monkeypatch: Any, signed: bool, values: list[int]) -> None:
    """It is signed on x86-64 and unsigned on arm64."""
    monkeypatch.setattr("cwrapjit.library.constants.CHAR_IS_SIGNED", signed)
    lib = from_c("").declare("".join(f"enum {{ E{k} = {each} }};\n" for k, each in enumerate(OF_CHAR)))
    assert [getattr(lib, f"E{k}") for k in range(len(OF_CHAR))] == values


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
    number = lib.function("int number(signed char c, unsigned char d)")  # those types stay numbers
    assert number(-3, 250) == 247
    refuses(TypeError, lambda: number("a", 1), "argument c")


@pytest.mark.quick
def test_what_is_no_character_is_refused(same: Any) -> None:
    for wrong in "", "ab", "\u0100", "\U0001f600", b"", b"ab":
        refuses(
            ValueError, lambda wrong=wrong: same(wrong), "argument c: ", f"{wrong!r} is not one character"
        )
    refuses(ValueError, lambda: same(128), "argument c: ", "128")
    for other in 1.5, None:
        refuses(TypeError, lambda other=other: same(other), "argument of type str for argument c")


def test_characters_elsewhere(lib: Any) -> None:
    """Characters are defaults, behind pointers, and broadcast over arrays, whose items are numbers."""
    code = lib.function("int code(char c)", defaults={"c": "x"})
    assert code() == ord("x")
    assert lib.function("void pair(char *first, char *second)", out=("first", "second"))() == ("a", "b")
    assert lib.function("int upper(char *c)", inout="c")("b") == (ord("B"), "B")
    plus = lib.function("int plus(char c)", broadcast=True)
    assert plus(np.array([1, 2], np.int8)).tolist() == [2, 3]


def test_a_character_that_dims_ask(lib: Any) -> None:
    own = from_c("void fill(char job, double *x) { x[0] = job; }")
    fill = own.function("void fill(char job, double *x)", dims={"x": "job == 'A' ? 2 : 1"}, out="x")
    assert fill("A").tolist() == [65.0, 0.0] and fill("B").tolist() == [66.0]


@pytest.mark.quick
def test_variables_and_members_are_characters(lib: Any) -> None:
    lib.variable("char letter")
    item = lib.struct("typedef struct { char kind; signed char small; double x; } item;")
    made = item(kind="k", small=-3, x=1.5)
    assert (lib.letter, made.kind, made.small) == ("q", "k", -3)
    lib.letter, made.kind = "\xe9", b"\xff"
    assert (lib.letter, made.kind) == ("\xe9", "\xff")
    refuses(ValueError, lambda: setattr(lib, "letter", "no"), "letter: 'no' is not one character")
    refuses(ValueError, lambda: setattr(made, "kind", "kk"), "attribute kind: 'kk' is not one character")
    assert item.dtype["kind"] == np.int8, "arrays have its number"
    lib.letter = "q"


# ---- arrays that C fills -----------------------------------------------------------------------------------


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


def test_arguments_in_the_encoding_that_is_said(lib: Any) -> None:
    for encoding in ("latin-1", "utf-8", "fs", "cp1252", None):
        byte = lib.function("int byte(const char *s, int i)", encoding=encoding)
        wanted = "\xe9".encode("utf-8" if encoding in ("fs", None) else encoding)
        assert [byte("\xe9", i) for i in range(len(wanted))] == list(wanted)
        assert byte(b"\xfe", 0) == 0xFE
    byte = lib.function("int byte(const char *s, int i)", encoding={"s": "latin-1"})
    refuses(UnicodeEncodeError, lambda: byte("\u20ac", 0), "latin-1")


def test_encodings_that_are_refused(lib: Any) -> None:
    """Encodings in which ASCII has other bytes are rejected, and so are misspelt names."""
    declared = "size_t length(const char *s)"
    for wrong in "utf-16", "utf-32", "utf-7", "utf-8-sig", "cp037", "rot13", "no such", "\0":
        refuses(ValueError, lambda wrong=wrong: lib.function(declared, encoding=wrong), "encoding", "ASCII")
    assert lib.function(declared, encoding="")("ab") == 2, "nothing is said"
    refuses(TypeError, lambda: lib.function(declared, encoding=3), "encoding", "int")
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
    """Reads with C what Python's sqlite3 wrote."""
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
    """An object for os.fspath()."""

    def __init__(self, path: object) -> None:
        self.path = path

    def __fspath__(self) -> Any:
        if isinstance(self.path, Exception):
            raise self.path
        return self.path


def test_paths_are_given_as_they_are(tmp_path: pathlib.Path) -> None:
    libc = cwrapjit.library("libc")
    libc.function("int access(const char *path, int mode)", check=OSError, discard="return")
    odd = tmp_path / os.fsdecode(b"\xff\xe4")  # not UTF-8
    odd.touch()
    assert libc.access(odd, 0) is None and libc.access(os.fsencode(odd), 0) is None
    assert libc.access(Named(str(odd)), 0) is None and libc.access(Named(os.fsencode(odd)), 0) is None
    refuses(FileNotFoundError, lambda: libc.access(tmp_path / "none", 0), "access")


def test_paths_of_strange_types_are_refused(lib: Any) -> None:
    length = lib.function("size_t length(const char *s)", optional="s")
    for path in 3, None, bytearray(b"a"):
        refuses(TypeError, lambda path=path: length(Named(path)), "__fspath__")
    refuses(ZeroDivisionError, lambda: length(Named(ZeroDivisionError("mine"))), "mine")
    refuses(TypeError, lambda: length(bytearray(b"ab")), "type str for argument s", "bytearray")
    assert length(None) == 99


def test_a_nul_inside_is_refused_where_nothing_says_the_length(lib: Any) -> None:
    for encoding in ("utf-8", "latin-1", "fs"):
        length = lib.function("size_t length(const char *s)", encoding=encoding)
        for given in "a\0", "\0", b"a\0b", Named("a\0b"), pathlib.PurePath("a\0b"):
            refuses(ValueError, lambda f=length, given=given: f(given), "argument s holds a NUL", "s[n]")


@pytest.mark.quick
@pytest.mark.row("P17i")
def test_what_is_no_text_says_whose_it_is() -> None:
    lib = from_c(
        "#include <string.h>\n"
        "const char *text(void) { return \"\\377\"; } void put(int n, char *s) { s[0] = '\\377'; }\n"
        "int length(const char *s) { return strlen(s); } int given(int n, const char *s) { return n; }\n"
        "int count(const char *const *names) { return !!names; }\n"
        "typedef int (*reader)(const char *line, const char *const *more);\n"
        "int each(reader f, const char *s, const char *const *t) { return f(s, t); }"
    )
    refuses(
        UnicodeDecodeError,
        lib.function("const char *text(void)"),
        "invalid start byte (t.text(): the result)",
    )
    put = lib.function("void put(int n, char s[n])", out="s")
    refuses(UnicodeDecodeError, lambda: put(1), "(t.put(): s)")
    for declared in "int length(const char *s)", "int given(int n, const char s[n])":
        f = lib.function(declared)
        refuses(
            UnicodeEncodeError,
            lambda f=f: f("\udcff"),
            f"surrogates not allowed (t.{f.__name__}(): argument s)",
        )
    latin = lib.function("int length(const char *s)", encoding="latin-1")
    refuses(UnicodeEncodeError, lambda: latin("\u20ac"), "(t.length(): argument s)")
    count = lib.function("int count(const char *const *names)")
    refuses(UnicodeEncodeError, lambda: count(["a", "\udcff"]), "(t.count(): argument names)")
    declared = (
        "int each(int (*f)(const char *line, const char *const *more), const char *s, const char *const *t)"
    )
    each = lib.function(declared, dims={"f": {"more": "list"}})
    assert each(lambda line, more: len(line + more[0]), "a", ["b"]) == 2
    refuses(UnicodeDecodeError, lambda: each(len, b"\xff", []), "(t.each(): argument f: parameter line)")
    refuses(UnicodeDecodeError, lambda: each(len, b"a", [b"\xff"]), "(t.each(): argument f: parameter more)")


@pytest.mark.quick
@pytest.mark.row("P17i")
def test_buffers_whose_length_is_said() -> None:
    """The texts contain NULs. C writes into writable buffers."""
    own = from_c(
        "int sum(int n, const char *s) { int t = 0; while (n--) t += s[n]; return t; }"
        "void put(int n, char *s) { *s = 7; }"
    )
    total, text = own.function("int sum(int n, const char s[n])"), b"\0a\0b"
    for given in "\0a\0b", text, bytearray(text), memoryview(text), np.array([0, 97, 98], np.int8):
        assert total(given) == 97 + 98
    assert total(b"") == 0
    refuses(ValueError, lambda: total(memoryview(text)[::2]), "must be contiguous")
    for other in 5, [1]:
        refuses(TypeError, lambda other=other: total(other), "argument s", f"got {type(other).__name__}")
    whole = np.array([0x01020304, 5], np.int32)  # unsigned char * takes bytes, uint8_t * numbers
    assert own.function("int sum(int n, const unsigned char s[n])")(whole) == 1 + 2 + 3 + 4 + 5
    numbers = own.function("int sum(int n, const uint8_t s[n])")
    assert numbers(whole.view(np.uint8)) == numbers(bytes(whole)) == 15
    refuses(TypeError, lambda: numbers(whole), "dtype is int32, not uint8")
    put = own.function("void put(int n, char s[n])", inout="s")
    data = bytearray(b"abc")
    put(data)
    assert data == b"\7bc"
    data.append(1)  # works only if no buffer is exported
    refuses(ValueError, lambda: put(b"abc"), "writeable")
    refuses(TypeError, lambda: put("abc"), "got str")


# ---- texts that C keeps ----------------------------------------------------------


@pytest.mark.parametrize("encoding", ["latin-1", "fs", "utf-8"])
def test_what_c_keeps_of_a_converted_text_is_kept(lib: Any, encoding: str) -> None:
    """C has the memory of the converted text, not that of the argument."""
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


LISTS = """
#include <string.h>
int count(const char *const *names) { int n = 0; while (names && names[n]) n++; return names ? n : -1; }
int byte(const char *const *names, int i, int j) { return (unsigned char)names[i][j]; }
int total(int n, const char **names)
{
    int t = 0;
    for (int i = 0; i < n; i++) t += names[i] ? (int)strlen(names[i]) : 1000;
    return names[n] ? -1 : t;
}
int upper(char *const argv[]) { argv[0][0] -= 32; return argv[0][0]; }
int turned(char **list) { char *first = list[0]; list[0] = list[1]; list[1] = first; return list[0][0]; }
int unsigned_bytes(const unsigned char *const *names) { return names[0][0]; }
int both(const char *const *one, const char *const *other) { return count(one) * 100 + count(other); }
const char *last(int n, const char *const *names) { return names[n - 1]; }
void *behind(const char *const *names) { return (void *)names[1]; }
typedef struct { const char *const *names; } holder;
holder *held(void) { return calloc(1, sizeof(holder)); }
void let_go(holder *h) { free(h); }
void hold(holder *h, const char *const *names) { h->names = names; }
int holds(const holder *h, int i) { return h->names[i][0]; }
char **listed(int n)
{
    if (n < 0) return NULL;
    char **list = calloc(n + 1, sizeof(char *));
    for (int i = 0; i < n; i++) list[i] = memset(calloc(1, 8), 'a' + i, i % 8);
    return list;
}
int freed = 0;
void free_list(char **list) { for (int i = 0; list[i]; i++) free(list[i]); free(list); freed++; }
const char *const *fixed(int *n)
{
    static const char *const list[] = {"one", NULL, "\\xe9", NULL};
    *n = 3;
    return list;
}
typedef struct { char name[8]; char *title; const char *note; int n; } book;
typedef struct { book first; int n; } shelf;
int letter(const book *b, int i) { return b->title ? (unsigned char)b->title[i] : -1; }
void shout(book *b) { b->title[0] -= 32; }
void rename_book(book *b) { b->title = "C's own"; }
"""


@pytest.fixture(scope="module")
def lists() -> Any:
    lists = from_c(COUNTED + LISTS)
    lists.handle("holder *", free="let_go")
    return lists


@pytest.mark.quick
def test_a_list_ends_with_null(lists: Any) -> None:
    count = lists.function("int count(const char *const *names)")
    byte = lists.function("int byte(const char *const *names, int i, int j)")
    assert [count(given) for given in ([], ["a"], ("a", "", b"c", pathlib.Path("d")), ["x"] * 999)] == [
        0, 1, 4, 999,
    ]  # fmt: skip
    assert count(None) == -1, "None is NULL"
    assert [byte(["\xe9", b"\xff", pathlib.Path("p")], i, 0) for i in range(3)] == [0xC3, 0xFF, ord("p")]
    assert byte(["a", "bcd"], 1, 3) == 0, "each ends at a NUL"
    assert "names: list[str]" in repr(count)


@pytest.mark.quick
def test_a_list_whose_length_c_is_told(lists: Any) -> None:
    for declared, options in (
        ("int total(int n, const char *names[n])", {}),
        ("int total(int n, const char **names)", {"dims": {"names": "n"}}),
        ("int total(int n, const char *const *names)", {"dims": {"names": "n"}}),
    ):
        total = lists.function(declared, **options)
        assert [total([]), total(["abc"]), total(("abc", "", "de"))] == [0, 3, 5]
        refuses(TypeError, lambda f=total: f(None), "type list[str] for argument names")
        refuses(TypeError, lambda f=total: f([None]), "an item of type NoneType")
    total = lists.function("int total(int n, const char *names[n])", optional="names")
    assert total([None, "ab", None]) == 2002, "items may be absent where the list may"
    fixed = lists.function("int byte(const char *const names[2], int i, int j)")
    assert fixed(["a", "b"], 1, 0) == ord("b")
    refuses(ValueError, lambda: fixed(["a"], 0, 0), "argument names is 1, but must be 2")
    both = lists.function("int both(const char *const one[n], const char *const other[n])")
    assert both(["a", "b"], ["c", "d"]) == 202
    refuses(ValueError, lambda: both(["a"], ["c", "d"]), "argument other is 2, but must be 1")


def test_what_is_no_list_is_refused(lists: Any) -> None:
    count = lists.function("int count(const char *const *names)")
    for wrong in "ab", b"ab", {"a"}, {"a": 1}, 3, iter("ab"), bytearray(b"a"):
        got = f"argument names, got {type(wrong).__name__}"
        refuses(TypeError, lambda wrong=wrong: count(wrong), "type list[str] for", got)


@pytest.mark.quick
def test_items_that_are_no_text_are_refused(lists: Any) -> None:
    count = lists.function("int count(const char *const *names)")
    for wrong in "a\0", b"\0":
        refuses(ValueError, lambda wrong=wrong: count(["a", wrong]), "argument names: text 1 holds a NUL")
    refuses(UnicodeEncodeError, lambda: count(["a", "\udc80"]), "surrogates")
    for other in 3, None, ["b"], bytearray(b"a"):
        word = f"an item of type {type(other).__name__}"
        refuses(TypeError, lambda other=other: count(["a", other]), word)


def test_lists_in_the_encoding_that_is_said(lists: Any) -> None:
    byte = lists.function("int byte(const char *const *names, int i, int j)", encoding="latin-1")
    assert byte(["a", "\xe9"], 1, 0) == 0xE9
    declared = "int unsigned_bytes(const unsigned char *const *names)"
    assert lists.function(declared, encoding={"names": "utf-8"})(["A"]) == 65
    assert "names: Pointer" in repr(lists.function(declared)), "bytes, unless it is said"


def test_what_may_be_an_output_is_a_list_where_it_is_said(lists: Any) -> None:
    refuses(TypeError, lambda: lists.function("int turned(char **list)")(["a"]), "Pointer")
    turned = lists.function("int turned(char **list)", container={"list": list})
    assert turned(["a", "b"]) == ord("b")
    assert isinstance(lists.function("void *behind(const char *const *names)")(["a", "b"]), Pointer)
    upper, given = lists.function("int upper(char *const argv[])"), ["abc"]
    assert upper(given) == ord("A") and given == ["abc"], "C may write its copy"


def test_items_that_change_the_list(lists: Any) -> None:
    class Emptying:
        def __fspath__(self) -> str:
            given.clear()
            return "a"

    given: list[Any] = [Emptying(), "b", "c"]
    assert lists.function("int count(const char *const *names)")(given) == 3


def test_what_c_keeps_of_a_list_is_kept(lists: Any) -> None:
    held = lists.function("holder *held(void)", returns="callee")
    hold = lists.function("void hold(holder *h, const char *const *names)", keeps={"h": "names"})
    holds = lists.function("int holds(const holder *h, int i)")
    last = lists.function("const char *last(int n, const char *const names[n])")
    mine = held()
    hold(mine, ["x" * 5000, "y" * 5000])
    others = [[b"z" * 5000] * 2 for _ in range(100)]
    assert [holds(mine, 0), holds(mine, 1), len(others)] == [ord("x"), ord("y"), 100]
    assert last(["a", "b"]) == "b"


# ---- results ----------------------------------------------------------------------------------------------


@pytest.mark.quick
@pytest.mark.row("L09")
def test_lists_that_c_returns(lists: Any) -> None:
    lists.variable("int freed")
    before = lists.freed
    ended = lists.function("char **listed(int n)", returns=("list", "callee", "free_list"))
    assert [ended(n) for n in (0, 3)] == [[], ["", "b", "cc"]] and ended(-1) is None
    told = lists.function("char **listed(int n)", returns=("n", "callee", "free_list"), encoding=None)
    assert told(3) == [b"", b"b", b"cc"] and lists.freed == before + 3
    fixed = lists.function("const char *const *fixed(int *n)", out="n", returns="n", encoding="latin-1")
    assert fixed() == (["one", None, "\xe9"], 3), "as long as C says, NULLs among them"
    assert lists.function("const char *const *fixed(int *n)", out="n", returns="list")() == (["one"], 3)
    wrong = lists.function("const char *const *fixed(int *n)", out="n", returns="n")
    refuses(UnicodeDecodeError, wrong, "utf-8")
    plain = lists.function("const char *const *fixed(int *n)", out="n")
    assert isinstance(plain()[0], Pointer), "nothing says where it ends"


def test_what_is_no_list_of_texts_is_none() -> None:
    own = from_c("void *f(void) { return 0; }")
    texts = "unsigned char **f(void)"
    for declared in "double *f(void)", "const char *f(void)", texts, "int f(void)":
        refuses(ValueError, lambda text=declared: own.function(text, returns="list"), "returns")
    assert own.function(texts, returns="list", encoding="utf-8")() is None
    two_dims = {"returns": ((2, 2), "none"), "encoding": "utf-8"}
    refuses(ValueError, lambda: own.function(texts, **two_dims), "no list of texts")


# ---- members ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def book(lists: Any) -> Any:
    return lists.struct("typedef struct { char name[8]; char *title; const char *note; int n; } book;")


def test_an_index_of_a_list_says_whose_it_is() -> None:
    """The message names the list's owner, for reading and writing: members, variables and handles."""
    text = """typedef struct thing thing;
typedef struct { char *names[3]; thing *things[2]; } rec;
rec *make(void) { static rec made = {{"a", "b", "c"}}; return &made; }
char *texts[2] = {"x", "y"};
"""
    lib = cwrapjit.library("t", source=text)
    rec = lib.make()
    assert [rec.names[k] for k in (0, 2, -1, -3)] == ["a", "c", "c", "a"] and rec.names[1:] == ["b", "c"]
    for index in (3, -4, 2**70, -(2**70)):
        words = f"attribute names of rec: index {index} is out of range: there are 3 items"
        refuses(IndexError, lambda index=index: rec.names[index], words)
        refuses(IndexError, lambda index=index: rec.names.__setitem__(index, "z"), words)
    refuses(IndexError, lambda: rec.things[2], "attribute things of rec: index 2 is out", "2 items")
    refuses(IndexError, lambda: lib.texts[2], "t.texts: index 2 is out of range: there are 2 items")
    refuses(TypeError, lambda: rec.names["a"], "integer")


def test_members_are_texts(lists: Any, book: Any) -> None:
    mine = book(name="abc", title="t\xe9", note=b"n", n=1)
    assert (mine.name, mine.title, mine.note) == ("abc", "t\xe9", "n")
    letter, shout = lists.function("int letter(const book *b, int i)"), lists.function("void shout(book *b)")
    assert [letter(mine, i) for i in range(4)] == [ord("t"), 0xC3, 0xA9, 0]
    for given in ("x" * 5000, b"a", b"", "\udcff", None):
        mine.title = mine.note = given
        others = [b"y" * 5000 for _ in range(100)]
        wanted = given.decode() if isinstance(given, bytes) else given
        assert mine.title == mine.note == wanted and len(others) == 100
    mine.name = "\udcff"
    assert mine.name == "\udcff" and letter(mine, 0) == -1
    single = b"q"
    mine.title = single
    shout(mine)
    assert mine.title == "Q" and single == bytes([ord("q")]), "C writes into a copy"
    lists.function("void rename_book(book *b)")(mine)
    assert mine.title == "C's own"


NODES = """
typedef struct node node;
struct node {
    const unsigned char *name; unsigned char tag[8]; char **words; int count; const char *const *ended;
    node **near; int many; const char *latin;
};
static char *words[] = {"a", 0, "c\\303\\251"};
static const char *ended[] = {"x", "y", 0};
static node other = {(const unsigned char *)"other"};
static node *near[] = {&other, &other};
void fill(node *p) {
    p->name = (const unsigned char *)"n\\303\\251"; p->tag[0] = 't'; p->words = words; p->count = 3;
    p->ended = ended; p->near = near; p->many = 2; p->latin = "\\351";
}
int tell(int (*f)(char **texts, int k)) { return f((char **)ended, 3); }
"""


def test_members_are_texts_and_lists_where_it_is_said() -> None:
    lib = from_c(NODES)
    lib.declare(NODES.split("static", 1)[0] + "void fill(node *p);")
    node = lib.node()
    lib.fill(node)
    assert isinstance(node.name, Pointer) and isinstance(node.words, Pointer) and node.tag[0] == ord("t")
    codecs = {"name": "utf-8", "tag": None, "latin": "latin-1", "words": "utf-8"}
    lib.struct("node", arrays={"words": "count", "ended": "list", "near": "many"}, encoding=codecs)
    assert (node.name, node.tag, node.latin) == ("n\xe9", b"t", "\xe9")
    assert (node.words, node.ended) == (["a", None, "c\xe9"], ["x", "y"])
    assert [each.name for each in node.near] == ["other", "other"]
    node.latin, node.name, node.tag = "\xe8", "m\xe9", b"ab"
    assert (node.latin, node.name, node.tag) == ("\xe8", "m\xe9", b"ab")
    refuses(UnicodeEncodeError, lambda: setattr(node, "latin", "\u20ac"), "encode")
    for name in "words", "ended", "count":
        refuses(AttributeError, lambda name=name: setattr(node, name, []), "read-only")
    assert lib.node().words is None and lib.node().ended is None
    refuses(ValueError, lambda: lib.struct("node", encoding={"count": "utf-8"}), "count", "no text")
    refuses(ValueError, lambda: lib.struct("node", encoding={"latin": "utf-8"}), "contradicts")
    refuses(ValueError, lambda: lib.struct("node", encoding={"nothing": "utf-8"}), "no member nothing")


def test_a_list_that_ends_with_null_in_a_callback() -> None:
    lib = from_c(NODES)
    tell = lib.function("int tell(int (*f)(char **texts, int k))", dims={"f": {"texts": "list"}})
    seen: list[Any] = []
    assert tell(lambda texts, k: seen.append(texts) or k) == 3 and seen == [["x", "y"]]
    numbers = "int tell(int (*f)(double *texts, int k))"
    refuses(ValueError, lambda: lib.function(numbers, dims={"f": {"texts": "list"}}), "texts", "lists")


def test_copies_of_structs_keep_their_texts(lists: Any, book: Any) -> None:
    first = book(title="x" * 5000)
    shelf = lists.struct("typedef struct { book first; int n; } shelf;")
    other = shelf(first=first).first
    first.title = None
    del first
    others = [b"y" * 5000 for _ in range(100)]
    assert other.title == "x" * 5000 and len(others) == 100


@pytest.mark.quick
def test_what_fits_no_member_is_refused(book: Any) -> None:
    mine = book(name="abc", title="def", note="ghi")
    for name, value, error, words in (
        ("name", "x" * 8, ValueError, "room for 7 bytes, got 8"),
        ("name", "a\0", ValueError, "attribute name takes no NUL"),
        ("title", "a\0", ValueError, "attribute title takes no NUL"),
        ("title", b"\0", ValueError, "attribute title takes no NUL"),
        ("name", None, TypeError, "attribute name, got NoneType"),
        ("note", 3, TypeError, "attribute note, got int"),
        ("note", bytearray(b"a"), TypeError, "bytearray"),
        ("title", "\ud800", UnicodeEncodeError, "surrogates"),
    ):
        refuses(error, lambda n=name, v=value: setattr(mine, n, v), words)
        assert (mine.name, mine.title, mine.note) == ("abc", "def", "ghi"), "as it was"


@pytest.mark.leak
def test_lists_keep_nothing(lists: Any) -> None:
    count = lists.function("int count(const char *const *names)", encoding="latin-1")
    total = lists.function("int total(int n, const char *names[n])", optional="names")
    held = lists.function("holder *held(void)", returns="callee")
    hold = lists.function("void hold(holder *h, const char *const *names)", keeps={"h": "names"})

    def work() -> None:
        count(["\xe9" * 100, b"b", pathlib.Path("c")])
        total(["a" * 100, None])
        hold(held(), ["a" * 100])
        for wrong in (["a", 3], ["a", "\u20ac"], ["a", "\0"], "a", ["a", None]):
            with pytest.raises((ValueError, TypeError)):
                count(wrong)

    keeps_nothing(work)


@pytest.mark.leak
def test_returned_lists_and_members_keep_nothing(lists: Any, book: Any) -> None:
    ended = lists.function("char **listed(int n)", returns=("list", "callee", "free_list"))
    wrong = lists.function("const char *const *fixed(int *n)", out="n", returns="n")

    def work() -> None:
        ended(20)
        mine = book(title="x" * 100, note=b"y")
        mine.title = "z" * 200
        mine.note = None
        for bad in (3, "a\0"):
            with pytest.raises((TypeError, ValueError)):
                mine.title = bad
        with pytest.raises(UnicodeDecodeError):
            wrong()

    keeps_nothing(work)


def test_bytes_by_other_names_are_text_where_encoding_names_them():
    text = "typedef uint8_t unit; typedef struct { uint8_t name[8]; const unit *more; } named;"
    lib = from_c(
        f"#include <string.h>\n{text} int size(const unit *s) {{ return strlen((const char *)s); }}"
        'const uint8_t *word(void) { return (const uint8_t *)"\\303\\251"; }'
        'void spell(unit to[n], int n) { memcpy(to, "abc", n < 4 ? n : 4); }'.replace("to[n]", "*to")
    ).declare(text)
    size = "int size(const unit *s)"
    assert lib.function(size, encoding={"s": "utf-8"})("\xe9t\xe9") == 5
    assert lib.function("const uint8_t *word(void)", encoding={"return": "utf-8"})() == "\xe9"
    assert lib.function("const uint8_t *word(void)", returns="bytes")() == b"\xc3\xa9"
    spell = lib.function("void spell(unit to[n], int n)", out="to", encoding={"to": "utf-8"})
    assert spell(8) == "abc"
    named = lib.struct("named", encoding={"name": "utf-8", "more": "latin-1"})(name="a", more="\xe9")
    assert (named.name, named.more) == ("a", "\xe9")
    plain = lib.function(size, encoding="utf-8")  # applies to texts alone
    refuses(TypeError, lambda: plain("abc"), "Pointer[uint8]")


def test_texts_that_c_stores_in_outputs():
    lib = from_c(
        "#include <string.h>\n int live = 0; void done(void *p) { live--; free(p); }"
        "int upper(const char *s, char **made) { if (!*s) return 3; *made = s[0] == '?' ? 0 : strdup(s);"
        "if (*made) { live++; **made -= 32; } return 0; }"
        'void fixed(int *n, const char **word) { *n = 2; *word = "caf\\351"; }'
        'unsigned char *both(uint8_t **made) { *made = (uint8_t *)strdup("one"); live++; return 0; }'
    )
    lib.variable("int live")
    given = "int upper(const char *s, char **made)"
    upper = lib.function(given, returns={"made": ("str", "callee", "done")}, check=ValueError)
    assert upper("abc") == "Abc" and upper("?") is None and lib.live == 0
    refuses(ValueError, lambda: upper(""), "status 3")
    assert lib.function(given, returns=("bytes", "callee", "done"), discard="return")("abc") == b"Abc"
    fixed = "void fixed(int *n, const char **word)"
    said = {"out": ("n", "word"), "returns": {"word": ("str", "none")}}
    assert lib.function(fixed, **said, encoding={"word": "latin-1"})() == (2, "caf\xe9")
    refuses(UnicodeDecodeError, lib.function(fixed, **said), "utf-8")
    both = lib.function(
        "unsigned char *both(uint8_t **made)", returns={"made": ("str", "callee", "done")}, discard="return"
    )
    assert both() == "one" and lib.live == 0
    for declared, returns in (
        (given, {"made": "list"}),
        ("void fixed(int *n, double **word)", {"word": "str"}),
        (given, {"s": "str"}),
    ):
        refuses(ValueError, lambda d=declared, r=returns: lib.function(d, returns=r), "returns")
