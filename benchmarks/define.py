"""Measures the time from C text to the first result.

Each turn uses a new text (a constant in it differs), with three type sets and a header that includes math.h
and stdint.h, and ends with the checked result of a first call.

    cwrapjit            module(), function(), call
    numba.guvectorize   the same three types, in a process that has compiled such a function before
    numpysane_pywrap    generate, gcc -O3, link, import, call
"""

import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import _common as common
import numpy as np

import cwrapjit

WANTED_MS = 1.0
WANTED_TIMES = {"numba": 100, "numpysane_pywrap + gcc": 300}
BIASES = itertools.count(1)
A = np.arange(4.0)
WANTED = float(A @ A)


def check(result: Any, bias: float) -> None:
    if result != WANTED + bias:
        raise SystemExit(f"wrong result: {result}, not {WANTED + bias}")


def by_cwrapjit() -> None:
    bias = float(next(BIASES))
    module = cwrapjit.module("innerlib", "a module", header=common.HEADER)
    function = module.function("inner", "Inner product", **common.inner_definition(bias))
    check(function(A, A), bias)


def make_by_numba(numba: Any) -> Callable[[], None]:
    types = [
        "void(float64[:], float64[:], float64[:])",
        "void(float32[:], float32[:], float32[:])",
        "void(float64[:], float64[:], int32[:])",
    ]

    def by_numba() -> None:
        bias = float(next(BIASES))

        def inner(a, b, out):
            total = bias
            for i in range(len(a)):
                total += a[i] * b[i]
            out[0] = total

        check(numba.guvectorize(types, "(n),(n)->()", nopython=True)(inner)(A, A), bias)

    return by_numba


def make_by_pywrap(npsp: Any, folder: Path) -> Callable[[], None]:
    def by_pywrap() -> None:
        bias = float(next(BIASES))
        name = f"inner{bias:.0f}"
        built = common.build_pywrap(npsp, name, {"inner": common.inner_definition(bias)}, folder)
        check(built.inner(A, A), bias)

    return by_pywrap


def main() -> int:
    given = common.arguments("Time from text to first result.")
    quick = given.quick
    rounds = 3 if quick else 200
    with common.scratch() as folder:
        actions: dict[str, Callable[[], None]] = {"cwrapjit": by_cwrapjit}
        if numba := common.optional("numba"):
            actions["numba"] = make_by_numba(numba)
        if npsp := common.optional("numpysane_pywrap"):
            actions["numpysane_pywrap + gcc"] = make_by_pywrap(npsp, Path(folder))
        for warm_up in actions.values():
            warm_up()
        times = common.interleaved(actions, rounds, {"numba": 10, "numpysane_pywrap + gcc": 20})

    medians = {name: common.median(values) for name, values in times.items()}
    base = medians["cwrapjit"]
    common.table(
        "from text (three type sets) to the first result",
        ("", "median ms", "fastest ms", "runs", "times cwrapjit"),
        (
            (
                name,
                f"{1e3 * medians[name]:.3f}",
                f"{1e3 * min(values):.3f}",
                len(values),
                f"{medians[name] / base:.0f}",
            )
            for name, values in times.items()
        ),
    )
    results: dict[str, Any] = {
        "median_s": medians,
        "fastest_s": {name: min(values) for name, values in times.items()},
        "ratio_to_cwrapjit": {name: value / base for name, value in medians.items()},
    }
    rows = [
        common.target("text to the first result, ms", f"< {WANTED_MS}", 1e3 * base, 1e3 * base < WANTED_MS)
    ]
    for name, wanted in WANTED_TIMES.items():
        if name in medians:
            ratio = medians[name] / base
            rows.append(
                common.target(
                    f"text to the first result: {name} / cwrapjit", f">= {wanted}", ratio, ratio >= wanted
                )
            )
    common.print_targets(rows, given)
    results["targets"] = rows
    common.save("define", results, given)
    return 0


if __name__ == "__main__":
    sys.exit(main())
