"""Does work keep anything? Exact counts of all that lives, before and after rounds of it: nothing may differ.

Counted are what C has (_cwrapjit.live()), Python's blocks, file descriptors, threads, and references to what
a test watches. What is filled once (caches, free lists, a first result) is filled by rounds before those that
count: they go on until two looks agree. All batches have as many rounds: a leak in every 40th call shows in
batches of 40.

The system's compiler is off in tests marked `leak`, unless the mark says jobs=True; a look waits until its
queue is empty. C text that allocates counts its blocks itself, by the macros in COUNTED.

With CWRAPJIT_TEST_LEAK=1 a leak is put behind every round, of a reference where references are counted, of 16
bytes elsewhere: each of these tests must fail then (test_leak_tests.py), for which a few rounds are enough.
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

ROUNDS = 20  # at least
TRIES = 40  # batches
in_leak_test = False  # conftest.py

_blocks_of_text = ctypes.c_long(0)
COUNTER = f"({{ long *counter = (long *){ctypes.addressof(_blocks_of_text):#x}L; counter; }})"
# In front of C text whose blocks are to be counted.
COUNTED = f"""
#include <stdlib.h>
#define malloc(size) (++*{COUNTER}, malloc(size))
#define calloc(count, size) (++*{COUNTER}, calloc(count, size))
#define free(block) (*{COUNTER} -= (block) != NULL, free(block))
"""

# Lookups of methods by names that are new each time fill a table of 4096 entries in CPython.
_forget_methods = getattr(sys, "_clear_internal_caches", None) or sys._clear_type_cache

# CPython 3.10 gives code two tables when it runs for the 1024th time, but not to code that seems to be older.
if sys.version_info < (3, 11):
    RUNS = 168  # where a code object has its member co_opcache_flag

    def _let_code_be_old(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            ctypes.c_int.from_address(id(frame.f_code) + RUNS).value = 1 << 20
else:
    _let_code_be_old = None

OF_C = list(_cwrapjit.live())
MEASURES = ["blocks of Python's", "file descriptors", "threads", "blocks of C text", *OF_C]
FIRST, LAST, COUNTS = 0, 1, 2  # what a look consists of


def _clock() -> int:
    """Nanoseconds that other threads of Python's have run for: what changes meanwhile may be theirs."""
    others = sys._current_frames().keys() - {threading.get_ident()}
    try:
        return sum(time.clock_gettime_ns(time.pthread_getcpuclockid(each)) for each in others)
    except OSError:
        return -1  # one has just ended


def _look(into: array[int], watched: tuple[Any, ...]) -> None:
    """Numbers go into the array at once: kept as objects, they would be counted themselves."""
    gc.collect()
    of_c = _cwrapjit.live()  # when the queue is empty
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
    """What a batch of that many rounds leaves more or less of, a text per count; [] when all is well."""
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
    """Fails the test when work keeps anything."""
    assert in_leak_test, "a test that asks what is kept has the marker leak"
    grown = what_grows(work, rounds, watched)
    assert not grown, f"work leaks: {', '.join(grown)}"
