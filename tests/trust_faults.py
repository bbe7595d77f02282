"""Injects random faults in functions with debug=True, and counts how many the process survives.

    python tests/trust_faults.py 5000 [SEED]

prints the kinds, and "faults injected: N, survived: N" at the end. The status is 0 if both numbers are equal.
"""

from __future__ import annotations

import collections
import random
import sys
import threading
from typing import Any

import numpy as np

import cwrapjit

HEADER = """
static int sink(int n) { volatile char room[500]; room[0] = n; return sink(n + 1) + room[0]; }
static int quotient(int a, int b) { return a / b; }
typedef struct node { struct node *next; int value; } node;
static int last(const node *list) { while(list->value != -1) list = list->next; return list->value; }
"""

# Maps a kind to what a slice does at the chosen element, and the outcome: a signal, "index", or "damage".
KINDS = {
    "division": ("r = quotient(k, k - k);", "SIGFPE"),
    "remainder": ("r = (-2147483647 - 1) % -(k / k);", "SIGFPE"),
    "null": ("r = *(volatile int *)(npy_intp)(k - k);", "SIGSEGV"),
    "list": ("node list = {0, k}; r = last(&list);", "SIGSEGV"),
    "wild read": ("r = ((volatile int *)data_slice__x)[(npy_intp)1 << 44];", "SIGSEGV"),
    "wild write": ("((volatile int *)data_slice__y)[-((npy_intp)1 << 44)] = k;", "SIGSEGV"),
    "read-only": ("*(volatile char *)strlen = k;", "SIGSEGV"),
    "no address": ("r = *(volatile int *)((npy_intp)1 << 62);", "SIGSEGV"),
    "stack": ("r = sink(k);", "SIGSEGV"),
    "trap": ('__asm__("ud2");', "SIGILL"),
    "abort": ("abort();", "SIGABRT"),
    "libc": ("r = (int)strlen((char *)(npy_intp)(k - k + 8));", "SIGSEGV"),
    "copy": ("memcpy((char *)(npy_intp)(k - k + 16), data_slice__x, 4);", "SIGSEGV"),
    "index": ("r = item__x(dims_slice__x[0] + k);", "index"),
    "negative index": ("item__y(-k) = 1;", "index"),
    "behind": ("((int *)data_slice__y)[dims_slice__x[0] + k % 20] = 1;", "SIGSEGV"),
    "in front": ("((int *)data_slice__y)[-1 - k % 20] = 1;", "damage"),
    "unwritten": ("continue;", "damage"),
}


def define(kind: str) -> Any:
    """Returns a function x(n), at() -> y(n) with y = x, which faults at element `at` if that is >= 0."""
    body = f"""
        int k = 7;
        for(npy_intp i = 0; i < dims_slice__x[0]; i++) {{
            int r = item__x(i);
            if(i == item__at()) {{ {KINDS[kind][0]} }}
            item__y(i) = r;
        }}
        return true;"""
    return cwrapjit.function(
        kind.replace(" ", "_").replace("-", "_"),
        signature="x(n), at() -> y(n)",
        Ccode_slice_eval={np.int32: body},
        header=HEADER,
        debug=True,
    )


def outcome(function: Any, x: Any, at: int) -> str:
    """Returns the outcome of a call: a word of KINDS, "fine", or "wrong"."""
    try:
        y = function(x, np.int32(at))
    except cwrapjit.Fault as fault:
        return "damage" if fault.signal is None else str(fault.signal.name)
    except IndexError:
        return "index"
    return "fine" if np.array_equal(x, y) else "wrong"


def inject(count: int, seed: int = 0, threads: int = 3) -> collections.Counter[str]:
    """Injects `count` faults in several threads. Returns how many of each kind ended as expected."""
    functions = {kind: define(kind) for kind in KINDS}
    survived: collections.Counter[str] = collections.Counter()
    lock = threading.Lock()

    def work(number: int, share: int) -> None:
        chosen = random.Random(f"{seed} {number}")
        for _ in range(share):
            kind = chosen.choice(list(KINDS))
            slices = chosen.choice([1, 1, 1, 5, 300])
            x = np.arange(chosen.randrange(1, 30), dtype=np.int32)
            faulty = x if slices == 1 else np.tile(x, (slices, 1))
            good = outcome(functions[kind], x, -1)
            bad = outcome(functions[kind], faulty, chosen.randrange(x.size))
            if good == "fine" and bad == KINDS[kind][1]:
                with lock:
                    survived[kind] += 1

    shares = [count // threads + (i < count % threads) for i in range(threads)]
    workers = [threading.Thread(target=work, args=each) for each in enumerate(shares)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return survived


def main() -> int:
    """Runs the command line."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    survived = inject(count, int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    for kind, number in sorted(survived.items()):
        print(f"{kind:16} {number}")
    print(f"faults injected: {count}, survived: {sum(survived.values())}")
    return 0 if sum(survived.values()) == count else 1


if __name__ == "__main__":
    sys.exit(main())
