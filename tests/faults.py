"""Provides C statements that fault, and a function that runs one, for tests of debug=True."""

from __future__ import annotations

import signal
from typing import Any

import numpy as np
from helpers import wrap_signature

# A C statement that faults, its signal, and words of the message; for functions of libraries, too.
FAULTS: dict[str, tuple[str, int, str]] = {
    "zero": ("r = x / (x - x);", signal.SIGFPE, "division by zero"),
    "modulo": ("r = x % (x - x);", signal.SIGFPE, "division by zero"),
    "long zero": ("r = (long long)x / (x - x);", signal.SIGFPE, "division by zero"),
    "most negative": ("r = (-2147483647 - 1 + (x - x)) / -1;", signal.SIGFPE, "most negative integer by -1"),
    "null": ("r = *(volatile int *)(npy_intp)(x - x);", signal.SIGSEGV, "null pointer (address 0x0)"),
    "null member": ("*((volatile char *)(npy_intp)(x - x) + 24) = 1;", signal.SIGSEGV, "address 0x18"),
    "wild": ("r = *(volatile int *)((npy_intp)x << 43);", signal.SIGSEGV, "memory that is not there"),
    "no address": ("r = *(volatile int *)((npy_intp)1 << 62);", signal.SIGSEGV, "no address"),
    "read-only": ("*(volatile char *)strlen = 1;", signal.SIGSEGV, "not to be used so"),
    "recursion": ("r = sink(x);", signal.SIGSEGV, "stack is exhausted"),
    "trap": ('__asm__("ud2");', signal.SIGILL, "instruction that traps"),
    "abort": ("abort();", signal.SIGABRT, "abort() was called"),
    "libc": ("r = (int)strlen((char *)(npy_intp)(x - x + 8));", signal.SIGSEGV, "inside of libc"),
}

SINK = "static int sink(int n) { volatile char room[500]; room[0] = n; return sink(n + 1) + room[0]; }\n"


def faulting(kind: str, **options: Any) -> Any:
    """Returns a function x(n) -> y(n) that faults in its third line at the element 7."""
    body = f"""for(npy_intp i = 0; i < dims_slice__x[0]; i++) {{
        int x = item__x(i), r = x;
        if(x == 7) {{ {FAULTS[kind][0]} }}
        item__y(i) = r;
    }}
    return true;"""
    return wrap_signature("x(n) -> y(n)", {np.int32: body}, header=SINK, debug=True, **options)
