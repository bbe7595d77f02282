"""Checks that work leaks nothing: counts of all that lives must be equal before and after rounds of it.

It counts the objects of C (_cwrapjit.live()), Python's memory blocks, file descriptors, threads, and
references to watched objects. Caches, free lists and the like are filled by the first rounds, which run until
two counts agree. All batches have equally many rounds: a leak in every 40th call shows in batches of 40.

Tests marked `leak` run without the system's compiler, unless the mark says jobs=True; counting waits until
its queue is empty. C text that allocates counts its own blocks, by the macros in COUNTED.

CWRAPJIT_TEST_LEAK=1 adds a leak to each round, of a reference if there are any to count, else of 16 bytes.
Each of these tests must then fail (test_leak_tests.py); a few rounds are enough for that.
"""

from __future__ import annotations

import ctypes
import gc
import itertools
import os
import sys
import threading
import time
from array import array
from collections.abc import Callable
from types import FrameType
from typing import Any

from cwrapjit import _cwrapjit

ROUNDS = 20  # the least number in a batch
TRIES = 40  # the largest number of batches
in_leak_test = False  # conftest.py sets it

_blocks_of_text = ctypes.c_long(0)
COUNTER = f"({{ long *counter = (long *){ctypes.addressof(_blocks_of_text):#x}L; counter; }})"
# C text whose blocks are to be counted begins with this.
COUNTED = f"""
#include <stdlib.h>
#define malloc(size) (++*{COUNTER}, malloc(size))
#define calloc(count, size) (++*{COUNTER}, calloc(count, size))
#define free(block) (*{COUNTER} -= (block) != NULL, free(block))
"""

# CPython caches method lookups in a table of 4096 entries, which new names fill.
_forget_methods = getattr(sys, "_clear_internal_caches", None) or sys._clear_type_cache

# CPython 3.10 allocates two tables for a code object at its 1024th run, unless the code object seems older.
if sys.version_info < (3, 11):
    RUNS = 168  # offset of the member co_opcache_flag in a code object

    def _let_code_be_old(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            ctypes.c_int.from_address(id(frame.f_code) + RUNS).value = 1 << 20
else:
    _let_code_be_old = None

OF_C = list(_cwrapjit.live())
MEASURES = ["blocks of Python's", "file descriptors", "threads", "blocks of C text", *OF_C]
FIRST, LAST, COUNTS = 0, 1, 2  # places in the array that _look() fills


def _clock() -> int:
    """Returns the nanoseconds that other Python threads have run: counts may change with them."""
    others = sys._current_frames().keys() - {threading.get_ident()}
    try:
        return sum(time.clock_gettime_ns(time.pthread_getcpuclockid(each)) for each in others)
    except OSError:
        return -1  # a thread has just ended


def _look(into: array[int], watched: tuple[Any, ...]) -> None:
    """Writes the counts into the array. Number objects would be counted themselves."""
    gc.collect()
    of_c = _cwrapjit.live()  # waits until the queue is empty
    for at, name in enumerate(OF_C, COUNTS + 4):
        into[at] = of_c[name]
    del of_c, at, name
    for at, each in enumerate(watched, COUNTS + len(MEASURES)):
        into[at] = sys.getrefcount(each)
    at = each = None
    into[COUNTS + 1] = len(os.listdir("/proc/self/fd"))
    into[COUNTS + 2] = len(sys._current_frames())
    into[COUNTS + 3] = _blocks_of_text.value
    _forget_methods()
    into[FIRST] = _clock()
    into[COUNTS] = sys.getallocatedblocks()
    into[LAST] = _clock()


def _put_a_leak_in(watched: tuple[Any, ...]) -> None:
    if watched:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(watched[0]))
    else:
        _cwrapjit.lose(16)


def what_grows(
    work: Callable[[], Any], rounds: int = ROUNDS, watched: tuple[Any, ...] = (), tries: int = TRIES
) -> list[str]:
    """Returns one text for each count that a batch of `rounds` rounds changes; [] if there is no leak."""
    leak = os.environ.get("CWRAPJIT_TEST_LEAK") == "1"
    rounds, tries = (2, 2) if leak else (max(rounds, ROUNDS), tries)

    def batch() -> None:
        for _ in itertools.repeat(None, rounds):
            work()
            if leak:
                _put_a_leak_in(watched)

    names = [*MEASURES, *(f"references to {each!s:.60}" for each in watched)]
    before, after = (array("q", bytes(8 * (COUNTS + len(names)))) for _ in range(2))
    settled = False
    threading.setprofile(_let_code_be_old)
    sys.setprofile(_let_code_be_old)
    batch()
    _look(after, watched)
    sys.setprofile(None)
    threading.setprofile(None)
    for _ in itertools.repeat(None, tries):
        before, after = after, before
        batch()
        _look(after, watched)
        same = before[COUNTS:] == after[COUNTS:]
        if settled and (same or before[FIRST] == after[LAST]):
            break
        settled = same
    changes = [b - a for a, b in zip(before, after, strict=True)][COUNTS:]
    return [f"{name}: {change:+}" for name, change in zip(names, changes, strict=True) if change]


def keeps_nothing(work: Callable[[], Any], rounds: int = ROUNDS, watched: tuple[Any, ...] = ()) -> None:
    """Fails the test if work leaks."""
    assert in_leak_test, "a test that asks what is kept has the marker leak"
    grown = what_grows(work, rounds, watched)
    assert not grown, f"work leaks: {', '.join(grown)}"
