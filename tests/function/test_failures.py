"""Tests exceptions that snippets raise, outputs after them, and printing, which goes through sys.stdout."""

from __future__ import annotations

import contextlib
import io
import sys
from typing import Any

import numpy as np
import pytest
from helpers import ar, refuses, same, says, wrap

# Doubles a, and fails if it is negative.
DOUBLES = """
    if (item__a() < 0)
        FAIL
    item__output() = 2 * item__a();
    return true;
"""


def failing(statement: str, **kw: Any) -> Any:
    return wrap(((),), (), DOUBLES.replace("FAIL", statement), **kw)


@pytest.mark.row("N53", "B15")
def test_false_abandons_the_slices_behind_it() -> None:
    f, out = failing("{ item__output() = -7; return false; }"), np.full(6, 99.0)
    refuses(
        RuntimeError, lambda: f(np.array([1.0, 2, 3, -1, 4, 5]), out=out), "t.f", "Ccode_slice_eval", "false"
    )
    assert out.tolist() == [2, 4, 6, -7, 99, 99], "what ran before it"


@pytest.mark.quick
@pytest.mark.row("N54")
@pytest.mark.parametrize(
    "statement, error, text",
    [
        ('{ PyErr_SetString(PyExc_ValueError, "big"); return false; }', ValueError, "big"),
        ('{ PyErr_Format(PyExc_KeyError, "%s-%d", "k", 5); return false; }', KeyError, "'k-5'"),
        ("{ PyErr_SetNone(PyExc_StopIteration); return false; }", StopIteration, ""),
        ("{ PyErr_NoMemory(); return false; }", MemoryError, ""),
        ('{ PyErr_SetString(PyExc_ZeroDivisionError, ""); return false; }', ZeroDivisionError, ""),
        (
            '{ PyErr_Format(PyExc_OverflowError, "%.9s %zd %c %ld", "s", (npy_intp)-1, 65, 7L); return 0; }',
            OverflowError,
            "s -1 A 7",
        ),
    ],
)
def test_own_exception_surfaces_unchanged(statement: str, error: type[BaseException], text: str) -> None:
    f = failing(statement)
    says(error, lambda: f(-1.0), text)
    says(error, lambda: f(np.array([1.0, -1.0, 2.0])), text)
    assert f(2.0) == 4, "and the next call is fine"


@pytest.mark.row("N54")
def test_the_later_of_two_errors_wins_and_cleared_ones_are_gone() -> None:
    two = failing(
        '{ PyErr_SetString(PyExc_ValueError, "first"); PyErr_SetString(PyExc_KeyError, "second"); return 0; }'
    )
    assert refuses(KeyError, lambda: two(-1.0), "second").args == ("second",)
    cleared = failing(
        '{ PyErr_SetString(PyExc_ValueError, "first"); if (PyErr_Occurred()) PyErr_Clear(); return true; }'
    )
    assert cleared(1.0) == 2
    cleared(-1.0)
    forgotten = failing('{ PyErr_SetString(PyExc_ValueError, "first"); PyErr_Clear(); return false; }')
    refuses(RuntimeError, lambda: forgotten(-1.0), "t.f")


@pytest.mark.quick
@pytest.mark.row("N54")
def test_pyerr_occurred_tells_true_and_which() -> None:
    body = """
        item__output(0) = PyErr_Occurred() != NULL;
        PyErr_SetString(PyExc_ValueError, "x");
        item__output(1) = PyErr_Occurred() == PyExc_ValueError;
        PyErr_Clear();
        item__output(2) = PyErr_Occurred() != NULL;
        return true;
    """
    assert wrap(((),), (3,), body)(1.0).tolist() == [0, 1, 0]


@pytest.mark.row("B08")
@pytest.mark.parametrize("shape", [(), (1,), (5,), (2, 3)])
def test_an_error_that_is_set_surfaces_although_the_slice_returned_true(shape: tuple[int, ...]) -> None:
    f = failing('PyErr_SetString(PyExc_ValueError, "quiet");')
    says(ValueError, lambda: f(np.full(shape, -1.0)), "quiet")
    last = np.ones(6)
    last[-1] = -1
    says(ValueError, lambda: f(last), "quiet")
    says(ValueError, lambda: f(last[::-1], out=np.zeros(6)), "quiet")


@pytest.mark.row("B08")
def test_an_error_that_validate_sets_surfaces_although_it_returned_true() -> None:
    quiet = 'PyErr_SetString(PyExc_LookupError, "quiet"); return true;'
    f = wrap(((), (1,)), (), "(*(double *)data_slice__b)++; return true;", Ccode_validate=quiet)
    counter = np.zeros(1)
    says(LookupError, lambda: f(ar(3), counter), "quiet")
    assert counter[0] == 0, "no slice has run"


@pytest.mark.row("B15", "N19i")
def test_the_same_in_c_order_for_strided_outputs_of_two_dims() -> None:
    f = failing('{ PyErr_SetString(PyExc_ValueError, "stop"); return false; }')
    x = ar(3, 4) + 1
    x[1, 2] = -1
    wanted = np.where(np.arange(12).reshape(3, 4) < 6, 2 * x, 99)
    for out in (np.full((3, 4), 99.0), np.full((4, 3), 99.0).T, np.full((6, 8), 99.0)[::-2, ::2]):
        for view in (x, np.asfortranarray(x)):
            out[...] = 99
            refuses(ValueError, lambda view=view, out=out: f(view, out=out), "stop")
            assert same(out, wanted)


HARD = '100% sure: %s %n %d %% ünï 漢字 \U0001f600 {0} \\ " \t end%'


@pytest.mark.row("N18i")
def test_percent_signs_and_unicode_in_an_exception_text() -> None:
    quoted = '"' + HARD.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t") + '"'
    f = failing("{ PyErr_SetString(PyExc_ValueError, " + quoted + "); return false; }")
    says(ValueError, lambda: f(-1.0), HARD)
    g = failing('{ PyErr_Format(PyExc_ValueError, "%s", ' + quoted + "); return false; }")
    says(ValueError, lambda: g(-1.0), HARD)
    h = failing('{ PyErr_Format(PyExc_ValueError, "at last 100%%"); return false; }')
    says(ValueError, lambda: h(-1.0), "at last 100%")


@pytest.mark.row("N18i")
def test_unicode_names_in_our_own_messages() -> None:
    code, dim = "item__output() = 1; return true;", ("länge",)
    f = wrap((dim, dim), (), code, names=("größe", "漢"), name="fläche")
    refuses(ValueError, lambda: f(ar(3), ar(4)), "t.fläche", "'漢'", "länge", "must be 3", "got 4")
    refuses(TypeError, lambda: f(ar(3, dtype=np.int64), ar(3)), "t.fläche", "größe", "int64")
    refuses(TypeError, lambda: f(ar(3), ar(3), **{"50% größer %s": 1}), "50% größer %s")


@pytest.mark.row("N18i", "N54")
def test_long_texts_arrive_whole_and_bytes_that_are_no_text_break_nothing() -> None:
    f = failing('{ PyErr_SetString(PyExc_ValueError, "bad \\xff byte"); return false; }')
    with pytest.raises(ValueError):  # or UnicodeDecodeError, a subclass; CPython decides
        f(-1.0)
    assert f(1.0) == 2
    long = "{ static char text[100001]; memset(text, 'x', 100000); "
    f = failing(long + 'PyErr_Format(PyExc_ValueError, "%s", text); return false; }')
    says(ValueError, lambda: f(-1.0), "x" * 100000)


# ---- what snippets print ----


Capture = pytest.CaptureFixture[str]


def prints(statement: str, **kw: Any) -> Any:
    return wrap(((),), (), statement + " item__output() = item__a(); return true;", **kw)


@pytest.mark.row("N20i")
def test_in_order_with_python_under_capsys(capsys: Capture) -> None:
    f = prints('printf("C %g\\n", item__a());')
    print("one")
    f(1.0)
    print("two")
    f(ar(2))
    print("three", end="")
    f(3.0)
    assert capsys.readouterr().out == "one\nC 1\ntwo\nC 0\nC 1\nthreeC 3\n"


@pytest.mark.row("N20i")
def test_goes_where_sys_stdout_points_at_the_time_of_the_call() -> None:
    f = prints('printf("here"); fprintf(stderr, "the%s", "re"); fputs("2", stderr); fputc(51, stderr);')
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        f(1.0)
    assert out.getvalue() == "here" and err.getvalue() == "there23"


@pytest.mark.quick
@pytest.mark.row("N20i")
@pytest.mark.parametrize(
    "statement, text",
    [
        (
            'printf("%d %5.2f|%-5s|%05d %x %c %%\\n", -3, 2.5, "ab", 42, 255, 65);',
            "-3  2.50|ab   |00042 ff A %\n",
        ),
        (
            'printf("%ld %zu %lld %u %p\\n", 1L << 40, sizeof(double), -1LL, 7u, NULL);',
            "1099511627776 8 -1 7 (nil)\n",
        ),
        ('printf("%g %e %Lg\\n", 0.5, 12345.678, (long double)1 / 4);', "0.5 1.234568e+04 0.25\n"),
        ('printf("%*.*f|%s\\n", 8, 3, 3.14159, "x");', "   3.142|x\n"),
        ('printf("");', ""),
        ('puts("line"); puts("");', "line\n\n"),
        ("putchar(65); putchar('\\n');", "A\n"),
        ('fputs("text", stdout); fputc(66, stdout); putc(67, stdout);', "textBC"),
        ('fwrite("abcdef", 2, 2, stdout);', "abcd"),
        ('fprintf(stdout, "%s", "x"); fflush(stdout); fflush(NULL);', "x"),
        ('printf("ünï 漢字 \U0001f600\\n");', "ünï 漢字 \U0001f600\n"),
        ('char b[8]; snprintf(b, 8, "%d", 123456789); printf("%s", b);', "1234567"),
        ('say("%d-%s", 5, "five");', "5-five"),
    ],
)
def test_every_function_and_conversion(capsys: Capture, statement: str, text: str) -> None:
    header = """
        #include <stdarg.h>
        #include <stdio.h>
        static void say(const char *format, ...)
        {
            va_list list;
            va_start(list, format);
            vprintf(format, list);
            va_end(list);
        }
    """
    prints(statement, header=header)(0.0)
    assert capsys.readouterr().out == text


@pytest.mark.row("N20i")
def test_an_error_that_is_set_survives_printing(capsys: Capture) -> None:
    says(KeyError, lambda: prints('PyErr_SetNone(PyExc_KeyError); printf("still"); return false;')(0.0), "")
    assert capsys.readouterr().out == "still"


@pytest.mark.row("N20i")
def test_return_values_are_libcs() -> None:
    body = """
        item__output(0) = printf("%s", "seven77");
        item__output(1) = putchar(65);
        item__output(2) = puts("x") >= 0;
        item__output(3) = fwrite("abc", 1, 3, stderr);
        item__output(4) = fflush(stdout);
        return true;
    """
    f = wrap((), (5,), {np.int64: body})
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        assert f().tolist() == [7, 65, 1, 3, 0]


@pytest.mark.row("N20i")
def test_texts_that_are_long_in_bytes_or_no_utf8(capsys: Capture) -> None:
    prints("static char b[300001]; memset(b, 'x', 300000); printf(\"%s|\\n\", b);")(0.0)
    assert capsys.readouterr().out == "x" * 300000 + "|\n"
    prints('for (const char *p = "ä漢!"; *p; p++) putchar(*p);')(0.0)
    assert capsys.readouterr().out == "ä漢!"
    prints('printf("a\\xff" "b\\n");')(0.0)
    out = capsys.readouterr().out
    assert out[0] == "a" and out[-2:] == "b\n" and len(out) == 4


@pytest.mark.quick
@pytest.mark.row("N20i")
def test_own_files_are_libcs(tmp_path: Any, capsys: Capture) -> None:
    code = """
        FILE *file = fopen(path, "w");
        if (file == NULL)
            return false;
        fprintf(file, "%g\\n", item__a());
        fputs("line\\n", file);
        fwrite("xyz", 1, 3, file);
        fflush(file);
        fclose(file);
        item__output() = 1;
        return true;"""
    path = ("const char*", "path", "NULL", "s")
    wrap(((),), (), code, extra_args=(path,), header="#include <stdio.h>")(2.5, path=str(tmp_path / "file"))
    assert (tmp_path / "file").read_text() == "2.5\nline\nxyz"
    assert capsys.readouterr().out == ""


@pytest.mark.row("N20i")
def test_sources_validate_and_cleanup_print_to_the_same_place(tmp_path: Any, capsys: Capture) -> None:
    text = 'int printf(const char *, ...);\nvoid hello(int n) { printf("hello %d\\n", n); }\n'
    (tmp_path / "s.c").write_text(text)
    f = prints(
        "hello(5);",
        header="void hello(int);",
        sources=[tmp_path / "s.c"],
        Ccode_validate='printf("validate "); return true;',
        Ccode_cookie_cleanup='puts("cleanup");',
    )
    print("before")
    f(ar(2))
    print("after")
    assert capsys.readouterr().out == "before\nvalidate hello 5\nhello 5\ncleanup\nafter\n"


@pytest.mark.quick
@pytest.mark.row("N20i")
def test_without_a_stdout_nothing_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    f = prints('printf("x"); puts("y"); fflush(stdout); fprintf(stderr, "z");')
    for stream in (None, object()):
        monkeypatch.setattr(sys, "stdout", stream)
        monkeypatch.setattr(sys, "stderr", io.StringIO())
        monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
        assert f(4.0) == 4
    monkeypatch.undo()
    assert f is not None


@pytest.mark.row("N20i")
def test_a_stdout_that_raises_does_not_break_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    class Bad:
        def write(self, text: str) -> int:
            raise OSError("disk full")

        def flush(self) -> None:
            raise OSError("disk full")

    said: list[Any] = []
    f = wrap(((),), (), 'item__output() = printf("%g", item__a()); return true;')
    monkeypatch.setattr(sys, "unraisablehook", lambda what: said.append(what.exc_value))
    monkeypatch.setattr(sys, "stdout", Bad())
    got = f(4.0)
    monkeypatch.undo()
    assert got == -1 and [str(error) for error in said] == ["disk full"]
