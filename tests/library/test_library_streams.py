"""Tests FILE * from Python's files and paths; the oracle is Python, which reads what C wrote, and goes on."""

from __future__ import annotations

import gzip
import io
import os
import pathlib
import tempfile
from collections.abc import Callable
from typing import Any

import pytest
from helpers import open_descriptors, refuses
from leaks import COUNTED, keeps_nothing
from library_tools import from_c

TEXT = """
#include <stdio.h>
#include <errno.h>
int put(FILE *to, const char *text) { return fputs(text, to) < 0; }
int next(FILE *from) { return fgetc(from); }
int is_null(FILE *from) { return from == NULL; }
int twice(FILE *from, FILE *to)
{
    int n = 0, c;
    while ((c = fgetc(from)) != EOF) { fputc(c, to); n++; }
    return n;
}
int putting(FILE *to, int (*ask)(int)) { fputs("c", to); return ask(1); }
typedef struct { FILE *stream; int n; } reader;
reader *reader_open(FILE *stream) { reader *r = calloc(1, sizeof *r); r->stream = stream; return r; }
int reader_next(reader *r) { return fgetc(r->stream); }
int reader_fill(reader *r, FILE *from) { return r->n = fgetc(from); }
int reader_show(const reader *r, FILE *to) { return fprintf(to, "%d", r->n); }
void reader_close(reader *r) { free(r); }
FILE *mine(void) { return tmpfile(); }
int end(FILE *f) { return fclose(f); }
"""


@pytest.fixture(scope="module")
def lib() -> Any:
    lib = from_c(COUNTED + TEXT)
    lib.handle("reader *", free="reader_close")
    for each in ("int put(FILE *to, const char *text)", "int next(FILE *from)", "int is_null(FILE *from)",
                 "int twice(FILE *from, FILE *to)", "FILE *mine(void)", "int end(FILE *f)"):  # fmt: skip
        lib.function(each)
    return lib


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "d\xe4ta"
    path.write_bytes(bytes(range(65, 91)) * 1000)
    return path


@pytest.mark.row("L18")
@pytest.mark.parametrize("buffering", [0, -1, 7])
def test_both_go_on_where_the_other_stopped(lib: Any, path: pathlib.Path, buffering: int) -> None:
    with open(path, "rb", buffering=buffering) as file:
        assert lib.next(file) == ord("A") and file.tell() == 1 and file.read(2) == b"BC"
        assert lib.next(file) == ord("D") and lib.next(file) == ord("E") and file.read(1) == b"F"
        file.seek(0)
        assert lib.next(file) == ord("A")
        assert file.read(1) == b"B"
        file.seek(5)
        assert file.read(1) == b"F", "Python knows where its buffer lies in the file"
        file.seek(-1, os.SEEK_END)
        assert lib.next(file) == ord("Z") and lib.next(file) == -1 and file.read() == b""
    with open(path, "r+b", buffering=buffering) as both:
        both.write(b"123")
        assert lib.put(both, "45") == 0 and both.write(b"6") == 1 and both.tell() == 6
        assert lib.next(both) == ord("G") and both.read(1) == b"H"
        both.seek(0)
        assert both.read(8) == b"123456GH", "no buffer has what was there before"


def test_files_that_are_written(lib: Any, path: pathlib.Path) -> None:
    with open(path, "wb") as file:
        file.write(b"py ")
        lib.put(file, "c ")
        file.write(b"py ")
        lib.put(file, "c")
    assert path.read_bytes() == b"py c py c", "and what was there is gone, as open() says"
    with open(path, "ab") as file:
        lib.put(file, "!")
        assert file.tell() == 10
    assert path.read_bytes() == b"py c py c!"


def test_text_files(lib: Any, path: pathlib.Path) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write("\xe9")
        lib.put(file, "\u20ac")
        file.write("\n")
    assert path.read_text(encoding="utf-8") == "\xe9\u20ac\n"
    path.write_text("ab\ncd\nef\n")
    with open(path, encoding="utf-8") as file:
        assert file.readline() == "ab\n" and lib.next(file) == ord("c") and file.readline() == "d\n"
        assert next(file) == "ef\n"
        refuses(OSError, lambda: lib.next(file), "telling position disabled")
        assert list(file) == []


@pytest.mark.quick
def test_paths_are_read(lib: Any, path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    for given in (path, str(path), os.fsencode(path)):
        assert lib.next(given) == ord("A")
    with open(tmp_path / "copy", "wb") as file:
        assert lib.twice(path, file) == 26000
    assert (tmp_path / "copy").read_bytes() == path.read_bytes()
    assert lib.put(path, "x") == 1 and path.stat().st_size == 26000, "C cannot write there"
    refuses(FileNotFoundError, lambda: lib.next(tmp_path / "none"), "none")


def test_pipes_and_temporary_files(lib: Any) -> None:
    reading, writing = os.pipe()
    with open(reading, "rb") as source, open(writing, "wb") as sink:
        sink.write(b"1")
        lib.put(sink, "2")
        sink.write(b"3")
        sink.flush()
        assert source.read(3) == b"123"
        refuses(ValueError, lambda: lib.next(source), "t.next(): argument from: this file cannot seek")
    with tempfile.TemporaryFile() as file:
        lib.put(file, "abc")
        file.seek(0)
        assert file.read() == b"abc"
    with tempfile.NamedTemporaryFile() as named:
        lib.put(named, "abc")
        named.seek(1)
        assert lib.next(named) == ord("b")


def test_pointers_and_none_are_cs_own(lib: Any) -> None:
    refuses(
        TypeError, lambda: lib.is_null(None), "argument from: expected a file", "got NoneType", "optional="
    )
    assert lib.function("int is_null(FILE *from)", optional="from")(None) == 1
    own = lib.mine()
    assert lib.put(own, "abc") == 0 and lib.is_null(own) == 0 and lib.end(own) == 0
    other = lib.function("void *mine(void)", name="other")()
    assert lib.end(other) == 0


@pytest.mark.parametrize(
    "make",
    [lambda: 3, io.BytesIO, io.StringIO, lambda: gzip.open(os.devnull), lambda: [1], object,
     lambda: gzip.open(os.devnull, "rt")],
)  # fmt: skip
def test_what_is_no_file_is_refused(lib: Any, make: Callable[[], Any]) -> None:
    given = make()
    refuses(
        TypeError, lambda: lib.next(given), "t.next(): argument from: expected a file", type(given).__name__
    )
    if hasattr(given, "close"):
        given.close()


def test_closed_files_and_files_of_the_wrong_mode(lib: Any, path: pathlib.Path) -> None:
    with open(path, "rb") as file:
        assert lib.put(file, "x") == 1
    refuses(ValueError, lambda: lib.next(file), "closed file")
    with open(path, "ab") as file:
        assert lib.next(file) == -1


@pytest.mark.quick
def test_what_cannot_be_written_raises(lib: Any) -> None:
    with open("/dev/full", "wb", buffering=0) as full:
        refuses(OSError, lambda: lib.put(full, "x"), "No space left")


@pytest.mark.quick
def test_an_exception_of_a_callback_leaves_the_file_in_order(lib: Any, tmp_path: pathlib.Path) -> None:
    putting = lib.function("int putting(FILE *to, int (*ask)(int))")
    with open(tmp_path / "f", "wb") as file:
        refuses(ZeroDivisionError, lambda: putting(file, lambda x: x // 0), "division")
        assert putting(file, lambda x: file.fileno() > 0) == 1
        file.write(b"p")
    assert (tmp_path / "f").read_bytes() == b"ccp"


# ---- functions that keep streams ---------------------------------------------------------------------------


def test_what_could_be_kept_is_refused_unless_it_is_said(lib: Any, path: pathlib.Path) -> None:
    loose = lib.function(
        "reader *reader_open(FILE *stream)", returns="callee", name="loose", optional="stream"
    )
    with open(path, "rb") as file:
        refuses(TypeError, lambda: loose(file), "argument stream: C could keep this stream in return")
        refuses(TypeError, lambda: loose(path), "keeps={'return': 'stream'}")
    assert loose(None) is not None
    kept = lib.function("reader *reader_open(FILE *stream)", returns="callee", keeps={"return": "stream"})
    advance = lib.function("int reader_next(reader *r)")
    with open(path, "rb") as file:
        mine = kept(file)
    assert [advance(mine) for _ in range(3)] == [65, 66, 67], "a stream of its own"
    before = open_descriptors()
    mine.close()
    assert len(open_descriptors()) == len(before) - 1
    plain = lib.function("int reader_fill(reader *r, FILE *from)", name="plain")
    reader = loose(None)
    refuses(TypeError, lambda: plain(reader, path), "C could keep this stream in r", "keeps={'r': ()}")
    fill = lib.function("int reader_fill(reader *r, FILE *from)", keeps={"r": ()})
    assert fill(reader, path) == 65
    show = lib.function("int reader_show(const reader *r, FILE *to)")
    with open(path, "w") as file:
        assert show(reader, file) == 2, "const: nothing is kept"
    assert path.read_text() == "65"


@pytest.mark.leak
def test_streams_keep_nothing(lib: Any, path: pathlib.Path) -> None:
    kept = lib.function("reader *reader_open(FILE *stream)", returns="callee", keeps={"return": "stream"})
    putting = lib.function("int putting(FILE *to, int (*ask)(int))")

    def work() -> None:
        with open(path, "r+b") as file:
            lib.next(file)
            lib.next(path)
            lib.twice(path, file)
            kept(file)
            with pytest.raises(ZeroDivisionError):
                putting(file, lambda x: x // 0)
            with pytest.raises(TypeError):
                lib.twice(file, 3)
        with pytest.raises(ValueError, match="closed"):
            lib.next(file)

    keeps_nothing(work)
