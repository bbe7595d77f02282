"""Wrapped C functions: tuples, lists and sets, bytes and strings, and the GIL."""

from __future__ import annotations

import threading
import time
import zlib
from typing import Any

import numpy as np
import pytest
from helpers import refuses
from leaks import keeps_nothing
from library_tools import from_c

# ---- containers ----------------------------------------------------------------------------------

ITEMS = """
int64_t first(int64_t n, const int64_t *a) { return a[0]; }
int64_t size(int64_t n, const int64_t *a) { return n; }
int64_t sum(int64_t n, const int64_t *a)
{
    int64_t total = 0;
    for (int64_t i = 0; i < n; i++)
        total += a[i];
    return total;
}
double mean(int64_t n, const double *a)
{
    double total = 0;
    for (int64_t i = 0; i < n; i++)
        total += a[i];
    return total / n;
}
int64_t weighed(int64_t n, int64_t m, const int64_t *a)
{
    int64_t total = 0;
    for (int64_t i = 0; i < n * m; i++)
        total += (i + 1) * a[i];
    return total;
}
"""


def of_items(name: str, container: Any) -> Any:
    return from_c(ITEMS).function(
        f"int64_t {name}(int64_t n, const int64_t a[n])", container={"a": container}
    )


@pytest.mark.row("P27")
def test_a_tuple_of_integers():
    first, size, total = (of_items(name, tuple) for name in ("first", "size", "sum"))
    assert first((7, 8)) == 7
    assert total((7, 8, -3)) == 12
    assert total(tuple(range(10_000))) == 49_995_000
    assert size(()) == 0
    assert total(()) == 0
    assert total((2**63 - 1,)) == 2**63 - 1


@pytest.mark.row("P27")
def test_a_tuple_of_tuples():
    f = from_c(ITEMS).function(
        "int64_t weighed(int64_t n, int64_t m, const int64_t a[n][m])", container={"a": tuple}
    )
    assert f(((1, 2), (3, 4), (5, 6))) == 1 + 4 + 9 + 16 + 25 + 36
    assert f(()) == 0
    refuses(TypeError, lambda: f(((1, 2), (3, 4.0))), "argument a")
    refuses(ValueError, lambda: f(((1, 2), (3,))), "argument a: nested containers must have one length")


@pytest.mark.row("P28")
@pytest.mark.parametrize("wrong", [(1, 2.0), [1], (7, True), 5, None, ("a",), (None,), {1}, np.arange(3)])
def test_anything_else_is_no_tuple_of_integers(wrong):
    f = of_items("first", tuple)
    refuses(TypeError, lambda: f(wrong), "tuple[int, ...] for argument a")


@pytest.mark.leak
@pytest.mark.row("P29")
def test_its_buffer_is_freed():
    f = of_items("sum", tuple)
    good, bad = tuple(range(1000)), (*range(1000), 2.5)

    def failing() -> None:
        with pytest.raises(TypeError):
            f(bad)

    keeps_nothing(lambda: f(good), 500, (good,))
    keeps_nothing(failing, 500, (bad,))


@pytest.mark.row("P14")
def test_items_of_containers_are_checked_like_scalars():
    for container, good, bad in [
        (tuple, (1, 2), (1, 2.5)),
        (list, [1, 2], [1, 2.5]),
        (set, {1, 2}, {1, 2.5}),
    ]:
        f = of_items("sum", container)
        assert f(good) == 3
        refuses(TypeError, lambda f=f, bad=bad: f(bad), "argument a")
        for other in (1, 2), [1, 2], {1, 2}:
            if type(other) is not container:
                refuses(TypeError, lambda f=f, other=other: f(other), "argument a")
    mean = from_c(ITEMS).function("double mean(int64_t n, const double a[n])", container={"a": list})
    assert mean([1.0, 2.5, 4]) == 2.5
    refuses(TypeError, lambda: mean([1.0, "a"]), "argument a")


def test_a_container_that_changes_while_it_is_read():
    class Growing(float):
        """A float in name only: nobody asks it, so nothing happens."""

        def __float__(self) -> float:
            items.clear()
            return 1.0

    mean = from_c(ITEMS).function("double mean(int64_t n, const double a[n])", container={"a": list})
    items: list[Any] = [Growing(1.0), *[2.0] * 100]
    assert mean(items) == 201 / 101
    assert len(items) == 101


# ---- bytes and strings ---------------------------------------------------------------------------

BYTES = """
uint32_t adler(const void *data, size_t n)
{
    const unsigned char *p = data;
    uint32_t a = 1, b = 0;
    for (size_t i = 0; i < n; i++) {
        a = (a + p[i]) % 65521;
        b = (b + a) % 65521;
    }
    return b << 16 | a;
}
const char *colour(int k) { return k == 0 ? "red" : k == 1 ? "gr\\xc3\\xbcn" : NULL; }
"""


@pytest.mark.row("P17i")
def test_bytes_and_their_like_are_buffers():
    f = from_c(BYTES).function("uint32_t adler(const void data[n], size_t n)")
    text = "Wikipedia"
    wanted = zlib.adler32(text.encode())
    raw = text.encode()
    assert f(raw) == wanted
    assert f(bytearray(raw)) == wanted
    assert f(memoryview(raw)) == wanted
    assert f(text) == wanted
    assert f(memoryview(b"xx" + raw)[2:]) == wanted
    assert f(b"") == 1
    assert f(b"\0" * 10) == zlib.adler32(b"\0" * 10)
    refuses(ValueError, lambda: f(memoryview(raw)[::2]), "argument data must be contiguous")
    refuses(TypeError, lambda: f(5), "data", "got int")


@pytest.mark.row("P17i")
def test_strings_come_back_as_str_or_bytes():
    lib = from_c(BYTES)
    colour = lib.function("const char *colour(int k)")
    assert [colour(0), colour(1), colour(2)] == ["red", "grün", None]
    raw = lib.function("const char *colour(int k)", name="raw", returns="bytes")
    assert [raw(0), raw(1), raw(2)] == [b"red", "grün".encode(), None]


# ---- the GIL -------------------------------------------------------------------------------------

WAIT = """
#include <time.h>
/* Says that it is here, then waits for an answer. */
int meet(int *cells, int milliseconds)
{
    volatile int *shared = cells;
    struct timespec pause = {0, 1000000};
    shared[0] = 1;
    for (int i = 0; i < milliseconds && !shared[1]; i++)
        nanosleep(&pause, NULL);
    return shared[1];
}
"""


@pytest.mark.row("P18i")
@pytest.mark.parametrize("gil", [False, True])
def test_other_threads_run_during_a_call_unless_the_gil_is_kept(gil):
    meet = from_c(WAIT).function("int meet(int cells[2], int milliseconds)", gil=gil)
    cells = np.zeros(2, np.int32)

    def answer() -> None:
        while not cells[0]:
            time.sleep(0.001)
        cells[1] = 1

    thread = threading.Thread(target=answer)
    thread.start()
    met = meet(cells, 50 if gil else 120_000)
    thread.join()
    if gil:
        assert 0 in np.atleast_1d(met)
    else:
        assert met == 1
