"""Tests that calls and definitions of library functions keep nothing, on any path."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers import ar
from leaks import keeps_nothing
from library_tools import from_c

TEXT = """
#include <string.h>
int full(int64_t n, int64_t m, const double *a, double *b, const char *s, const double *scale, double *r)
{
    for (int64_t i = 0; i < n * m; i++)
        r[i] = a[i] + b[i] * (scale ? *scale : 1) + (s ? strlen(s) : 0);
    return n * m && a[0] < 0;
}
"""
DECLARATION = (
    "int full(int64_t n, int64_t m, const double a[n][m], double b[n][m], const char *s, const double *scale,"
    " double r[n][m])"
)


def check(status: int) -> None:
    if status:
        raise ZeroDivisionError("negative")


def full() -> Any:
    """Returns a function with most features of calls."""
    return from_c(TEXT).function(DECLARATION, out="r", optional=("s", "scale"), check=check)


a, b, negative = np.ones((3, 4)), np.ones((3, 4)), -np.ones((3, 4))
PATHS: dict[str, tuple[type[BaseException] | None, Callable[[Any], Any]]] = {
    "positions": (None, lambda f: f(a, b)),
    "all": (None, lambda f: f(a, b, "text", 2.0)),
    "keywords": (None, lambda f: f(b=b, scale=3, a=a, s=b"bytes")),
    "too few": (TypeError, lambda f: f(a)),
    "too many": (TypeError, lambda f: f(a, b, "s", 1.0, 2.0)),
    "unknown keyword": (TypeError, lambda f: f(a, b, what=1)),
    "twice": (TypeError, lambda f: f(a, b, a=a)),
    "a list": (TypeError, lambda f: f(a, [1.0])),
    "a dtype": (TypeError, lambda f: f(a, b.astype(np.float32))),
    "a shape": (ValueError, lambda f: f(a, np.ones((3, 5)))),
    "a string that is none": (TypeError, lambda f: f(a, b, 5)),
    "a string with a NUL": (ValueError, lambda f: f(a, b, "a\0b")),
    "a late scalar": (TypeError, lambda f: f(a, b, "text", "x")),
    "the status": (ZeroDivisionError, lambda f: f(negative, b, "text", 2.0)),
}


class NoError(Exception):
    """Stands for the exception of a call that succeeds; never raised."""


@pytest.mark.leak
@pytest.mark.parametrize("path", PATHS)
def test_calls_keep_nothing(path):
    f = full()
    error, call = PATHS[path]
    expected: type[BaseException] = error or NoError

    def work() -> None:
        try:
            call(f)
        except expected:
            return
        assert error is None

    watched = (a, b, negative, check, f)
    keeps_nothing(work, 500, watched)


@pytest.mark.leak
def test_libraries_and_functions_go_with_their_last_user() -> None:
    def work() -> None:
        lib = from_c(TEXT)
        f = lib.function(DECLARATION, out="r", optional=("s", "scale"))
        f(a, b)
        with pytest.raises(TypeError):
            f(1)
        with pytest.raises(AttributeError):
            lib.function("int missing(void)")

    keeps_nothing(work)


def test_a_function_outlives_its_library():
    lib = from_c("int64_t f(int64_t x) { return x + 3; }")
    f = lib.function("int64_t f(int64_t x)")
    gone = weakref.ref(lib)
    del lib
    gc.collect()
    assert f(2) == 5
    del f
    gc.collect()
    assert gone() is None


def test_threads_call_one_function():
    text = (
        "void f(int64_t n, const double *x, double *r) { for (int64_t i = 0; i < n; i++) r[i] = 2 * x[i]; }"
    )
    f = from_c(text).function("void f(int64_t n, const double x[n], double r[n])", out="r")
    faults: list[str] = []

    def work(k: int) -> None:
        x = ar(50) + k
        for _ in range(500):
            if not np.array_equal(f(x), 2 * x):
                faults.append(f"thread {k}")

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
