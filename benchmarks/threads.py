"""Measures the gain from two threads, and their cost if there is little to do.

The work is compute-bound: a few hundred dependent steps per element. The same function runs with threads=1,
threads=2 and threads="auto", in turn, on work of several lengths. Then elements of an array beside numba's
target="parallel" and numexpr, on as many threads.
"""

import math
import os
import sys
from collections.abc import Callable
from typing import Any

import _common as common
import _race as race
import numpy as np

import cwrapjit

STEPS = 200
LENGTHS_S = (50e-6, 200e-6, 1e-3, 10e-3, 50e-3)
LONG_S, LONG_GAIN = 10e-3, 1.8
SHORT_S, SHORT_GAIN = 50e-6, 0.95
BUDGET_S = 2.5

WORK_C = f"""
    double value = item__x();
    for(int i = 0; i < {STEPS}; i++)
        value = value*(1 - value)*3.7;
    item__y() = value;
    return true;
"""


def make(threads: int | str) -> Any:
    return cwrapjit.function(
        "logistic", signature="x() -> y()", Ccode_slice_eval={np.float64: WORK_C}, threads=threads
    )


def functions() -> dict[str, Any]:
    found: dict[str, Any] = {}
    x = np.random.default_rng(0).random(20_000)
    for name, threads in {"1": 1, "2": 2, "auto": "auto"}.items():
        found[name] = make(threads)
        race.heat(found[name], lambda f=found[name]: f(x))
    expected = found["1"](x)
    for name, function in found.items():
        if function(x).tobytes() != expected.tobytes():
            raise SystemExit(f"threads={name}: other results than with one thread")
    return found


def elements_per_second(function: Any) -> float:
    x = np.random.default_rng(0).random(50_000)
    out = np.empty_like(x)
    return len(x) / min(race.seconds_of(lambda: function(x, out=out)) for _ in range(5))


def on_two(x: np.ndarray, y: np.ndarray, out: np.ndarray) -> dict[str, Callable[[], Any]]:
    """exp(-x * x) * sin(y), by all that can do it on two threads."""
    text = "double wave(double x, double y) { return exp(-x * x) * sin(y); }"
    own = cwrapjit.vectorize(text, threads=2, fastmath=True)
    actions: dict[str, Callable[[], Any]] = {"cwrapjit": lambda: own(x, y, out=out)}
    race.heat(own, actions["cwrapjit"])
    if numba := common.optional("numba"):
        numba.set_num_threads(2)
        options = {"target": "parallel", "fastmath": True}
        made = numba.vectorize(["float64(float64, float64)"], **options)(
            lambda x, y: math.exp(-x * x) * math.sin(y)
        )
        actions["numba, parallel"] = lambda: made(x, y, out=out)
    if numexpr := common.optional("numexpr"):
        numexpr.set_num_threads(2)
        names = {"x": x, "y": y}
        actions["numexpr"] = lambda: numexpr.evaluate("exp(-x * x) * sin(y)", names, {}, out=out)
    return actions


def beside_peers(quick: bool) -> dict[str, dict[str, float]]:
    found = {}
    for length in (10**3, 10**5, 10**7 // (100 if quick else 1)):
        x, y = np.random.default_rng(0).random((2, length))
        found[f"{length:,}"] = race.medians(race.race(on_two(x, y, np.empty(length)), BUDGET_S, quick))
    names = list(next(iter(found.values())))
    common.table(
        "exp(-x * x) * sin(y) on two threads, fastmath, ms (in brackets: times cwrapjit's)",
        ("elements", *names),
        (
            (length, *(f"{1e3 * m[name]:.3f} ({m[name] / m['cwrapjit']:.2f})" for name in names))
            for length, m in found.items()
        ),
    )
    return found


def main() -> int:
    given = common.arguments("Threads over slices.")
    found = functions()
    speed = elements_per_second(found["1"])
    results: dict[str, Any] = {}
    for length in LENGTHS_S:
        x = np.random.default_rng(0).random(max(2, int(speed * length)))
        out = np.empty_like(x)
        actions = {name: (lambda f=function, x=x, out=out: f(x, out=out)) for name, function in found.items()}
        medians = race.medians(race.race(actions, BUDGET_S, given.quick))
        results[f"{1e3 * length:g} ms"] = {
            "wanted_s": length,
            "elements": len(x),
            "median_s": medians,
            "gain of 2": medians["1"] / medians["2"],
            "gain of auto": medians["1"] / medians["auto"],
        }
    common.table(
        f"compute-bound work on {os.cpu_count()} processors: times as fast as one thread",
        ("work", "one thread, ms", "threads=2", 'threads="auto"'),
        (
            (n, f"{1e3 * r['median_s']['1']:.3f}", f"{r['gain of 2']:.2f}", f"{r['gain of auto']:.2f}")
            for n, r in results.items()
        ),
    )
    can_tell = (os.cpu_count() or 1) > 1
    if not can_tell:
        print("  not measured: one processor")
    long = min(r["gain of 2"] for r in results.values() if r["wanted_s"] >= LONG_S)
    short = min(r["gain of 2"] for r in results.values() if r["wanted_s"] <= SHORT_S)
    rows = [
        common.target(
            "2 threads, work of 10 ms and more: times one", f">= {LONG_GAIN}", long, long >= LONG_GAIN
        ),
        common.target("2 threads, work of 50 us: times one", f">= {SHORT_GAIN}", short, short >= SHORT_GAIN),
    ]
    for row in rows:
        row["ok"] = row["ok"] if can_tell else None
    peers = beside_peers(given.quick)
    common.print_targets(rows, given)
    common.save("threads", {"lengths": results, "beside peers": peers, "targets": rows}, given)
    return 0


if __name__ == "__main__":
    sys.exit(main())
