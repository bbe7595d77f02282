"""Measures the cost of the way to optimized code.

one long call    text to result: a polynomial of degree 20 over 2e7 float64, a new text each time, against
                 numba's compile + run in the same process
define to hot    from the definition to f.wait()'s return, a new text each time; by calls: until the loop
                 that the calls take is ready; beside the compiler alone, given the plain loop as a file
the swap         calls of about 0.5 ms from the definition on, until the optimized code is in place: is
                 any of them longer than the others?
"""

import itertools
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import _common as common
import _race as race
import numpy as np

import cwrapjit

DEGREE = 20
HOT_MS = 100.0
TIMES_PLAIN = 1.3
SEEDS = itertools.count(1)


# ---- one long call -------------------------------------------------------------------------------


def coefficients() -> list[float]:
    return np.random.default_rng(next(SEEDS)).random(DEGREE + 1).tolist()


def horner(x: np.ndarray, factors: list[float]) -> np.ndarray:
    y = np.full_like(x, factors[0])
    for factor in factors[1:]:
        y = y * x + factor
    return y


def nested(factors: list[float], variable: str) -> str:
    text = repr(factors[0])
    for factor in factors[1:]:
        text = f"({text})*{variable} + {factor!r}"
    return text


def by_cwrapjit(factors: list[float], x: np.ndarray, **options: Any) -> Any:
    text = f"const double x = item__x(); item__y() = {nested(factors, 'x')}; return true;"
    return cwrapjit.function("f", signature="x() -> y()", Ccode_slice_eval={np.float64: text}, **options)(x)


def python_function(source: str, names: dict[str, Any]) -> Callable[..., Any]:
    exec(source, names)
    return names["f"]


def by_vectorize(numba: Any, factors: list[float], x: np.ndarray) -> Any:
    f = python_function(f"def f(x): return {nested(factors, 'x')}", {})
    return numba.vectorize(["float64(float64)"])(f)(x)


def by_njit(numba: Any, factors: list[float], x: np.ndarray) -> Any:
    source = f"""
def f(x):
    out = np.empty_like(x)
    for i in range(x.shape[0]):
        out[i] = {nested(factors, "x[i]")}
    return out"""
    return numba.njit(["float64[::1](float64[::1])"])(python_function(source, {"np": np}))(x)


def long_call(quick: bool) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    numba = common.optional("numba")
    x = np.random.default_rng(0).random(200_000 if quick else 20_000_000)
    ways: dict[str, Callable[[list[float], np.ndarray], Any]] = {
        "cwrapjit": by_cwrapjit,
        'cwrapjit, optimize="off"': lambda c, v: by_cwrapjit(c, v, optimize="off"),
    }
    if numba:
        ways["numba.vectorize"] = lambda c, v: by_vectorize(numba, c, v)
        ways["numba.njit, a loop"] = lambda c, v: by_njit(numba, c, v)
    for name, way in ways.items():  # also warms the compilers up
        factors = coefficients()
        if not np.allclose(way(factors, x[:1000]), horner(x[:1000], factors), rtol=1e-12):
            raise SystemExit(f"{name} is wrong")
    actions = {name: (lambda w=way: w(coefficients(), x)) for name, way in ways.items()}
    times = common.interleaved(actions, 1 if quick else 9, {'cwrapjit, optimize="off"': 2})
    for name, way in ways.items():  # what was timed, swap in the middle of the call included
        factors = coefficients()
        if not np.allclose(way(factors, x), horner(x, factors), rtol=1e-12):
            raise SystemExit(f"{name} is wrong over {len(x)} elements")
    medians = race.medians(times)
    own = medians["cwrapjit"]
    common.table(
        f"from text to result of one long call: a polynomial of degree {DEGREE} over {len(x):.0e} float64",
        ("", "median ms", "fastest ms", "/ cwrapjit"),
        ((n, f"{1e3 * m:.0f}", f"{1e3 * min(times[n]):.0f}", f"{m / own:.2f}") for n, m in medians.items()),
    )
    rivals = [value for name, value in medians.items() if "numba" in name]
    if not rivals:
        return {"median_s": medians}, []
    ratio = own / min(rivals)
    wanted = common.target("text to result of one long call: cwrapjit / numba", "<= 0.5", ratio, ratio <= 0.5)
    return {"median_s": medians, "fastest_s": race.fastest(times)}, [wanted]


# ---- define to hot -------------------------------------------------------------------------------


def new_inner() -> Any:
    return cwrapjit.function("inner", "", **common.inner_definition(float(next(SEEDS))))


def new_small() -> Any:
    text = f"item__y() = item__x()*item__x() + {next(SEEDS)}; return true;"
    return cwrapjit.function("f", signature="x() -> y()", Ccode_slice_eval={np.float64: text})


def by_calls(x: np.ndarray, out: np.ndarray) -> None:
    function, end = new_small(), time.perf_counter() + race.WAIT_S
    while function.tier != "cc" and time.perf_counter() < end:
        function(x, out=out)


def plain_loop(folder: Path, *flags: str) -> None:
    text = f"y[i] = x[i]*x[i] + {next(SEEDS)};"
    source = folder / "plain.c"
    source.write_text(
        "void f(double *restrict y, const double *restrict x, long n)\n"
        f"{{ for (long i = 0; i < n; i++) {text} }}\n"
    )
    command = [shutil.which("cc") or "cc", "-O3", *flags, "-c", str(source), "-o", str(folder / "plain.o")]
    subprocess.run(command, check=True)


PLAIN = ("cc -O3 -c, a file with the plain loop", "cc -O3 -march=native -c")
BY_CALLS = "elementwise, by calls of 1e5 float64"


def define_to_hot(quick: bool) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    there = new_small().wait(race.WAIT_S)
    kinds = {"elementwise, one type set": new_small, "inner product, three type sets": new_inner}
    actions: dict[str, Callable[[], Any]] = {
        name: (lambda m=make: m().wait(race.WAIT_S)) for name, make in kinds.items()
    }
    x = np.random.default_rng(0).random(100_000)
    out = np.empty_like(x)
    with common.scratch() as folder:
        if there:
            actions[BY_CALLS] = lambda: by_calls(x, out)
        if there and shutil.which("cc"):
            actions[PLAIN[0]] = lambda: plain_loop(Path(folder))
            actions[PLAIN[1]] = lambda: plain_loop(Path(folder), "-march=native")
        times = common.interleaved(actions, 2 if quick else 25)
    medians = race.medians(times)
    common.table(
        "from the definition to the optimized code in place, ms" + ("" if there else " (THERE IS NONE)"),
        ("", "median", "fastest", "slowest"),
        (
            (n, f"{1e3 * m:.1f}", f"{1e3 * min(times[n]):.1f}", f"{1e3 * max(times[n]):.1f}")
            for n, m in medians.items()
        ),
    )
    rows = [
        common.target(
            f"define to hot, ms: {name}", f"< {HOT_MS:.0f}", 1e3 * m, 1e3 * m < HOT_MS if there else None
        )
        for name, m in medians.items()
        if name not in PLAIN
    ]
    for name in PLAIN:
        if name in medians:
            ratio = medians[BY_CALLS] / medians[name]
            rows.append(
                common.target(
                    f"define to hot by calls / {name}", f"<= {TIMES_PLAIN}", ratio, ratio <= TIMES_PLAIN
                )
            )
    return {"median_s": medians, "fastest_s": race.fastest(times), "cc tier": there}, rows


# ---- the swap ------------------------------------------------------------------------------------


def swap_once(x: np.ndarray, out: np.ndarray) -> dict[str, float] | None:
    """Seconds of the calls before, around and after the swap; None where it did not come."""
    function = new_small()
    calls: list[float] = []
    swapped = None
    end = time.perf_counter() + 2.0
    while time.perf_counter() < end and (swapped is None or len(calls) < swapped + 50):
        calls.append(race.seconds_of(lambda: function(x, out=out)))
        if swapped is None and function.tier == "cc":
            swapped = len(calls)
    if swapped is None:
        return None
    before = calls[: max(1, swapped - 1)]
    around = calls[max(0, swapped - 2) : swapped + 1]
    return {
        "before_s": common.median(before),
        "around_s": max(around),
        "after_s": common.median(calls[swapped:]),
        "calls before": float(swapped),
    }


def swap(quick: bool) -> dict[str, Any]:
    x = np.random.default_rng(0).random(100_000)
    if not new_small().wait(race.WAIT_S):
        print("\nthe swap: there is no cc tier")
        return {}
    found = [one for one in (swap_once(x, np.empty_like(x)) for _ in range(2 if quick else 9)) if one]
    if not found:
        print("\nthe swap: it did not come within two seconds of calls")
        return {}
    shown = {key: common.median(one[key] for one in found) for key in found[0]}
    common.table(
        'the swap, optimize="auto": calls over 1e5 float64, medians of definitions',
        ("us before", "slowest of the three around it", "after", "calls before it"),
        [(
            *(f"{1e6 * shown[key]:.0f}" for key in ("before_s", "around_s", "after_s")),
            f"{shown['calls before']:.0f}",
        )],
    )  # fmt: skip
    return shown


def main() -> int:
    given = common.arguments("The way to the optimized code.")
    long_times, long_rows = long_call(given.quick)
    hot_times, hot_rows = define_to_hot(given.quick)
    swap_times = swap(given.quick)
    rows = long_rows + hot_rows
    common.print_targets(rows, given)
    results = {"long_call": long_times, "define_to_hot": hot_times, "swap": swap_times, "targets": rows}
    common.save("tiers", results, given)
    return 0


if __name__ == "__main__":
    sys.exit(main())
