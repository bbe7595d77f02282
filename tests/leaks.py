"""Does work keep anything? By what the process holds now: bytes, blocks, mappings, descriptors, references.

A leak grows with every round; caches, free lists and other threads come and go. So rounds are run in
batches, and work is found guilty when the same thing has grown in each of them but one: so a leak in every
64th call is seen as well. Two innocent batches acquit, so that clean work costs little.

A test that uses this is marked `leak`. With CWRAPJIT_TEST_LEAK=1 a leak is put behind every round, of a
reference where references are counted, of 16 bytes elsewhere: each of these tests must fail then
(test_leak_tests.py), for which three batches of 40 rounds are enough.
"""

from __future__ import annotations

import ctypes
import gc
import mmap
import os
import sys
from collections.abc import Callable
from typing import Any

BATCHES = 5
SELDOM = 64  # calls of functions are timed by samples, one in so many
PAGE = mmap.PAGESIZE
in_leak_test = False  # conftest.py
_libc = ctypes.CDLL(None)
_libc.malloc.restype = ctypes.c_void_p


class _Mallinfo2(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_size_t)
        for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()
    ]


def allocated_bytes() -> int:
    """What the process holds of malloc(); 0 where the C library does not say."""
    mallinfo2 = getattr(_libc, "mallinfo2", None)
    if mallinfo2 is None:
        return 0
    mallinfo2.restype = _Mallinfo2
    info = mallinfo2()
    return int(info.uordblks + info.hblkhd)


def resident_bytes() -> int:
    """Resident size of this process, now."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * PAGE


def _count_mappings() -> int:
    with open("/proc/self/maps", "rb") as maps:
        return sum(1 for _ in maps)


# Lookups of methods by names that are new each time fill a table of 4096 entries in CPython.
_forget_methods = getattr(sys, "_clear_internal_caches", None) or sys._clear_type_cache

# What is looked at; the least that a leak takes of it in each round; what looking itself may take.
MEASURES: dict[str, tuple[Callable[[], int], int, int]] = {
    "bytes of malloc()": (allocated_bytes, 16, 64),
    "blocks of Python's": (sys.getallocatedblocks, 1, 4),
    "resident bytes": (resident_bytes, PAGE, 0),
    "memory mappings": (_count_mappings, 1, 0),
    "file descriptors": (lambda: len(os.listdir("/proc/self/fd")), 1, 0),
}


def _put_a_leak_in(watched: tuple[Any, ...]) -> None:
    if watched:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(watched[0]))
    else:
        _libc.malloc(16)


def what_grows(work: Callable[[], Any], rounds: int = 100, watched: tuple[Any, ...] = ()) -> list[str]:
    """What each batch of that many rounds of work has left more of, a text per measure; [] when all is well.
    References to the watched objects are counted, too, and must not become fewer, either."""
    leak = os.environ.get("CWRAPJIT_TEST_LEAK") == "1"
    batches, rounds = (3, min(rounds, 40)) if leak else (BATCHES, rounds)

    def batch(rounds: int) -> None:
        for _ in range(rounds):
            work()
            if leak:
                _put_a_leak_in(watched)

    def look() -> list[int]:
        gc.collect()
        _forget_methods()
        return [*(measure() for measure, *_ in MEASURES.values()), *map(sys.getrefcount, watched)]

    names = [*MEASURES, *(f"references to {each!s:.60}" for each in watched)]
    seldom = max(rounds // SELDOM, 1)
    enough = [
        *(max(seldom * least, own + 1) for _, least, own in MEASURES.values()),
        *(seldom for _ in watched),
    ]
    batch(max(rounds // 5, 5))
    grown, turns = [0] * len(names), [0] * len(names)
    before = look()
    for turn in range(batches):
        batch(rounds)
        after = look()
        changes = [b - a for a, b in zip(before, after, strict=True)]
        changes[len(MEASURES) :] = map(abs, changes[len(MEASURES) :])
        for i, change in enumerate(changes):
            grown[i] += change
            turns[i] += change >= enough[i]
        if max(turns) < turn:
            return []
        before = after
    return [
        f"{names[i]}: {grown[i]:+} in {batches * rounds} rounds"
        for i in range(len(names))
        if turns[i] >= batches - 1
    ]


def keeps_nothing(work: Callable[[], Any], rounds: int = 100, watched: tuple[Any, ...] = ()) -> None:
    """Fails the test when work keeps anything."""
    assert in_leak_test, "a test that asks what is kept has the marker leak"
    grown = what_grows(work, rounds, watched)
    leak = os.environ.get("CWRAPJIT_TEST_LEAK") == "1"
    for _ in range(2):
        if (
            bool(grown) != leak
        ):  # what is still filling up has an end, and what is given back hides a leak once
            grown = what_grows(work, rounds, watched)
    assert not grown, "work leaks: " + ", ".join(grown)
