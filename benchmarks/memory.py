"""Checks for leaks: resident size after many definitions and many failing calls."""

import ctypes
import gc
import os
import re
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import _common as common
import numpy as np

import cwrapjit

MIB = 2**20
ALLOWED_DEFINE_MIB = 4.0
ALLOWED_CALLS_MIB = 0.25  # a few pages of the allocators' own; one leaked byte per call would be 0.1


def resident_mib() -> float:
    """After the C library has given back what it can."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / MIB


def growth_mib(action: Callable[[], Any], warm_up: int, count: int) -> float:
    for _ in range(warm_up):
        action()
    before = resident_mib()
    for _ in range(count):
        action()
    return resident_mib() - before


def define_call_drop() -> None:
    module = cwrapjit.module("innerlib", "a module", header=common.HEADER)
    inner = module.function("inner", "Inner product", **common.inner_definition())
    a = np.arange(4.0)
    if inner(a, a) != 14.0:
        raise SystemExit("wrong result")


def fail_to_define() -> None:
    try:
        cwrapjit.function(
            "f", "", args_input=("a",), prototype_input=((),), prototype_output=(),
            Ccode_slice_eval={float: "return no_such_name;"},
        )  # fmt: skip
    except cwrapjit.CompileError:
        return
    raise SystemExit("a faulty snippet was accepted")


def failing_calls() -> dict[str, tuple[type[Exception], Callable[[], Any]]]:
    """Each kind of failing call, with what it must raise."""
    inner = cwrapjit.function("inner", "", **common.inner_definition())
    picky = cwrapjit.function(
        "picky", "", args_input=("a",), prototype_input=(("n",),), prototype_output=(),
        Ccode_validate="return dims_slice__a[0] != 3;",
        Ccode_slice_eval={
            float: """
                if(item__a(0) < 0) { PyErr_Format(PyExc_ArithmeticError, "%d is negative", 7); return false; }
                if(item__a(0) > 9) return false;
                item__output() = item__a(0);
                return true; """
        },
        Ccode_cookie_struct="char* text;",
    )  # fmt: skip
    v3, v4 = np.arange(3.0), np.arange(4.0)
    unaligned = np.frombuffer(bytearray(33), dtype=np.uint8)[1:].view(np.float64)
    swapped = v4.astype(v4.dtype.newbyteorder())
    read_only = np.zeros(())
    read_only.flags.writeable = False
    return {
        "wrong type": (TypeError, lambda: inner(np.arange(4), v4)),
        "wrong shape": (ValueError, lambda: inner(v3, v4)),
        "argument missing": (TypeError, lambda: inner(v4)),
        "argument too many": (TypeError, lambda: inner(v4, v4, v4)),
        "unknown keyword": (TypeError, lambda: inner(v4, v4, nothing=1)),
        "not an array": (TypeError, lambda: inner(v4, "four")),
        "out of wrong type": (TypeError, lambda: inner(v4, v4, out=np.zeros((), np.int64))),
        "out of wrong shape": (ValueError, lambda: inner(np.zeros((2, 4)), v4, out=np.zeros(3))),
        "out not writable": (ValueError, lambda: inner(v4, v4, out=read_only)),
        "out no array": (TypeError, lambda: inner(v4, v4, out=[0.0])),
        "validate refuses": (RuntimeError, lambda: picky(v3)),
        "slice fails": (RuntimeError, lambda: picky(v4 + 10)),
        "slice raises": (ArithmeticError, lambda: picky(v4 - 10)),
        "unaligned": (ValueError, lambda: inner(unaligned, v4)),
        "byte-swapped": (TypeError, lambda: inner(swapped, v4)),
    }


def expect(error: type[Exception], call: Callable[[], Any], kind: str) -> Callable[[], None]:
    def action() -> None:
        try:
            call()
        except error:
            return
        raise SystemExit(f"{kind}: no {error.__name__}")

    return action


# ---- one call ------------------------------------------------------------------------------------

NO_MORE_MIB = 0.5  # beside the outputs


def peak_mib(call: Callable[[], Any]) -> float:
    """How far the resident size rises during a call, as the kernel saw it."""
    before = resident_mib()
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    result = call()
    found = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    del result
    return int(found[1]) / 1024 - before if found else float("nan")


def traced_mib(call: Callable[[], Any]) -> float:
    """How much NumPy and Python allocate at most during a call."""
    tracemalloc.start()
    result = call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    del result
    return peak / MIB


def one_call(elements: int) -> dict[str, tuple[float, float, float]]:
    """Name: MiB of the outputs, traced, resident."""
    double = cwrapjit.function(
        "double_it", signature="x() -> y()",
        Ccode_slice_eval={float: "item__y() = 2*item__x(); return true;"},
    )  # fmt: skip
    x, out = np.ones(elements), np.ones(elements)
    calls: dict[str, tuple[float, Callable[[], Any]]] = {
        "f(x)": (x.nbytes / MIB, lambda: double(x)),
        "f(x, out=out)": (0.0, lambda: double(x, out=out)),
        "f(x[::-1])": (x.nbytes / MIB, lambda: double(x[::-1])),
        "f(broadcast x)": (
            x.nbytes / MIB,
            lambda: double(np.broadcast_to(x[:1000], (elements // 1000, 1000))),
        ),
    }
    double(x)
    return {name: (outputs, traced_mib(call), peak_mib(call)) for name, (outputs, call) in calls.items()}


def main() -> int:
    given = common.arguments("Growth of the resident size.")
    quick = given.quick
    share = 100 if quick else 1
    counts = {"define, call, drop": 10_000 // share, "failing definition": 10_000 // share}
    rows = {
        "define, call, drop": (
            growth_mib(define_call_drop, 1000 // share, 10_000 // share),
            ALLOWED_DEFINE_MIB,
        ),
        "failing definition": (
            growth_mib(fail_to_define, 1000 // share, 10_000 // share),
            ALLOWED_DEFINE_MIB,
        ),
    }
    for kind, (error, call) in failing_calls().items():
        name = f"call: {kind}"
        counts[name] = 100_000 // share
        rows[name] = (growth_mib(expect(error, call, kind), 5_000 // share, counts[name]), ALLOWED_CALLS_MIB)

    common.table(
        "growth of the resident size",
        ("", "times", "MiB", "allowed", ""),
        (
            (name, counts[name], f"{growth:+.2f}", f"{allowed:g}", "" if growth < allowed else "TOO MUCH")
            for name, (growth, allowed) in rows.items()
        ),
    )
    calls = one_call(10**5 if given.quick else 10**7)
    common.table(
        "what one call allocates at most, MiB",
        ("", "its outputs", "traced", "resident size rises by"),
        ((name, *(f"{value:.2f}" for value in values)) for name, values in calls.items()),
    )
    extra = max(max(values[1:]) - values[0] for values in calls.values())
    most = max(growth - allowed for growth, allowed in rows.values())
    targets = [
        common.target(
            "a call allocates beside its outputs, MiB", f"< {NO_MORE_MIB}", extra, extra < NO_MORE_MIB
        ),
        common.target(
            "definitions and failing calls leave behind, beyond what is allowed, MiB", "< 0", most, most < 0
        ),
    ]
    common.print_targets(targets, given)
    growths = {name: growth for name, (growth, _) in rows.items()}
    common.save("memory", {"growth_mib": growths, "one_call_mib": calls, "targets": targets}, given)
    return 0


if __name__ == "__main__":
    sys.exit(main())
