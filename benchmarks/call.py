"""Measures the cost of one call with very little to compute.

The arguments are two vectors of three float64. numpy.add is the reference; inner products of several
packages are called beside it, with and without out=, and broadcast over two rows.
"""

import sys
import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Any

import _common as common
import numpy as np

import cwrapjit

YARDSTICK = "numpy.add"
WANTED = {"two 3-vectors": 0.45, "two 3-vectors, out=": 0.2, "(2, 3) and (3,)": 0.6}


def numba_inner(numba: Any) -> Callable[..., Any]:

    def inner(a, b, out):
        total = 0.0
        for i in range(len(a)):
            total += a[i] * b[i]
        out[0] = total

    types = ["void(float64[:], float64[:], float64[:])"]
    return numba.guvectorize(types, "(n),(n)->()", nopython=True)(inner)


def numba_loop(numba: Any) -> Callable[..., Any]:
    """Of two vectors alone: it does not broadcast."""

    def inner(a, b):
        total = 0.0
        for i in range(len(a)):
            total += a[i] * b[i]
        return total

    return numba.njit("float64(float64[::1], float64[::1])")(inner)


def inner_products(folder: Path) -> dict[str, Callable[..., Any]]:
    module = cwrapjit.module("innerlib", "a module", header=common.HEADER)
    numba = common.optional("numba")
    found = {
        "cwrapjit inner": module.function("inner", "Inner product", **common.inner_definition()),
        "numpy.vecdot": getattr(np, "vecdot", None),
        "numba gufunc inner": numba and numba_inner(numba),
        "numpysane_pywrap inner": common.pywrap_inner(folder),
    }
    return {name: function for name, function in found.items() if function is not None}


def measure(
    statement: str, functions: dict[str, tuple[Any, dict[str, Any]]], rounds: int, number: int
) -> dict[str, list[float]]:
    """Nanoseconds per call of each function in each round. A function comes with the statement's names."""
    timers = {
        name: timeit.Timer(statement, globals={"f": function, **names})
        for name, (function, names) in functions.items()
    }
    actions = {name: (lambda t=timer: t.timeit(number)) for name, timer in timers.items()}
    for action in actions.values():
        action()
    times: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(rounds):
        for name, action in actions.items():
            times[name].append(1e9 * action() / number)
    return times


def main() -> int:
    given = common.arguments("Cost of one call.")
    quick = given.quick
    rounds, number = (2, 100) if quick else (60, 10_000)
    x, y = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])
    rows = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    results: dict[str, Any] = {}
    with common.scratch() as folder:
        inner = inner_products(Path(folder))
        inner["cwrapjit inner"].wait()
        for name, function in inner.items():
            if float(function(x, y)) != 32.0 or list(function(rows, y)) != [32.0, 77.0]:
                raise SystemExit(f"{name} is wrong: {function(x, y)}, {function(rows, y)}")
        cases = [
            ("two 3-vectors", "f(x, y)", y, np.empty(3), np.empty(())),
            ("two 3-vectors, out=", "f(x, y, out=o)", y, np.empty(3), np.empty(())),
            ("(2, 3) and (3,)", "f(x, y)", rows, np.empty((2, 3)), np.empty(2)),
            ("(2, 3) and (3,), out=", "f(x, y, out=o)", rows, np.empty((2, 3)), np.empty(2)),
        ]
        for title, statement, first, sum_out, inner_out in cases:
            functions = {YARDSTICK: (np.add, {"x": first, "y": x, "o": sum_out})}
            for name, function in inner.items():
                functions[name] = (function, {"x": first, "y": x, "o": inner_out})
            if (statement, first.ndim) == ("f(x, y)", 1) and (numba := common.optional("numba")):
                functions["numba.njit inner, vectors alone"] = (numba_loop(numba), {"x": first, "y": x})
            times = measure(statement, functions, rounds, number)
            base = common.median(times[YARDSTICK]), min(times[YARDSTICK])
            figures = {
                name: {
                    "median_ns": common.median(values),
                    "fastest_ns": min(values),
                    "ratio_of_medians": common.median(values) / base[0],
                    "ratio_of_fastest": min(values) / base[1],
                }
                for name, values in times.items()
            }
            common.table(
                f"{title}: {statement}",
                ("", "median ns", "fastest ns", "medians / numpy.add", "fastest / numpy.add"),
                (
                    (
                        name,
                        *(f"{v:.0f}" for v in list(f.values())[:2]),
                        *(f"{v:.2f}" for v in list(f.values())[2:]),
                    )
                    for name, f in figures.items()
                ),
            )
            results[title] = figures
    rows = [
        common.target(
            f"call, {title}: cwrapjit / numpy.add",
            f"<= {wanted}",
            results[title]["cwrapjit inner"]["ratio_of_medians"],
            results[title]["cwrapjit inner"]["ratio_of_medians"] <= wanted,
        )
        for title, wanted in WANTED.items()
    ]
    common.print_targets(rows, given)
    common.save("call", {"cases": results, "targets": rows}, given)
    return 0


if __name__ == "__main__":
    sys.exit(main())
