"""What snippets print comes through sys.stdout and sys.stderr, in order with Python's own output."""

from __future__ import annotations

import contextlib
import io
import sys
from typing import Any

import numpy as np
import pytest
from helpers import ar, python, refuses, wrap

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
def test_in_order_with_python_under_capfd(capfd: Capture) -> None:
    f = prints('printf("C %g\\n", item__a());')
    print("one")
    f(1.0)
    print("two")
    f(2.0)
    assert capfd.readouterr().out == "one\nC 1\ntwo\nC 2\n"


@pytest.mark.row("N20i")
def test_goes_where_sys_stdout_points_at_the_time_of_the_call() -> None:
    f = prints('printf("here"); fprintf(stderr, "there");')
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        f(1.0)
    assert out.getvalue() == "here" and err.getvalue() == "there"


@pytest.mark.row("N20i")
def test_in_order_in_a_pipe_with_block_buffering() -> None:
    code = """
import cwrapjit
f = cwrapjit.function("f", args_input=(), prototype_input=(), prototype_output=(),
                      Ccode_slice_eval={float: 'printf("2\\\\n"); puts("3"); return true;'})
print(1)
f()
print(4)
f()
"""
    assert python(code).stdout == "1\n2\n3\n4\n2\n3\n"


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
def test_stderr_is_apart(capsys: Capture) -> None:
    prints('fprintf(stderr, "e%d", 1); fputs("2", stderr); fputc(51, stderr); printf("o");')(0.0)
    got = capsys.readouterr()
    assert got.err == "e123" and got.out == "o"


@pytest.mark.row("N20i")
def test_long_texts_arrive_whole(capsys: Capture) -> None:
    prints("static char b[300001]; memset(b, 'x', 300000); printf(\"%s|\\n\", b);")(0.0)
    assert capsys.readouterr().out == "x" * 300000 + "|\n"


@pytest.mark.row("N20i")
def test_bytes_that_are_no_utf8_do_no_harm(capsys: Capture) -> None:
    prints('printf("a\\xff" "b\\n");')(0.0)
    out = capsys.readouterr().out
    assert out[0] == "a" and out[-2:] == "b\n" and len(out) == 4


@pytest.mark.row("N20i")
def test_text_written_byte_by_byte(capsys: Capture) -> None:
    prints('for (const char *p = "ä漢!"; *p; p++) putchar(*p);')(0.0)
    assert capsys.readouterr().out == "ä漢!"


@pytest.mark.quick
@pytest.mark.row("N20i")
def test_own_files_are_libcs(tmp_path: Any, capsys: Capture) -> None:
    f = wrap(
        ((),),
        (),
        """
        FILE *file = fopen(path, "w");
        if (file == NULL)
            return false;
        fprintf(file, "%g\\n", item__a());
        fputs("line\\n", file);
        fwrite("xyz", 1, 3, file);
        fflush(file);
        fclose(file);
        item__output() = 1;
        return true;
        """,
        extra_args=(("const char*", "path", "NULL", "s"),),
        header="#include <stdio.h>",
    )
    f(2.5, path=str(tmp_path / "file"))
    assert (tmp_path / "file").read_text() == "2.5\nline\nxyz"
    assert capsys.readouterr().out == ""


@pytest.mark.row("N20i")
def test_sources_print_to_the_same_place(tmp_path: Any, capsys: Capture) -> None:
    (tmp_path / "s.c").write_text(
        'int printf(const char *, ...);\nvoid hello(int n) { printf("hello %d\\n", n); }\n'
    )
    f = prints("hello(5);", header="void hello(int);", sources=[tmp_path / "s.c"])
    print("before")
    f(0.0)
    print("after")
    assert capsys.readouterr().out == "before\nhello 5\nafter\n"


@pytest.mark.row("N20i")
def test_an_error_that_is_set_survives_printing(capsys: Capture) -> None:
    f = prints('PyErr_SetString(PyExc_KeyError, "mine"); printf("still"); return false;')
    assert refuses(KeyError, lambda: f(0.0), "'mine'").args == ("mine",)
    assert capsys.readouterr().out == "still"


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


@pytest.mark.row("N20i")
def test_validate_and_cleanup_print_too(capsys: Capture) -> None:
    f = prints(
        'printf("slice ");',
        Ccode_validate='printf("validate "); return true;',
        Ccode_cookie_cleanup='puts("cleanup");',
    )
    f(ar(2))
    assert capsys.readouterr().out == "validate slice slice cleanup\n"
