"""ElementwiseKernel beside function(), NumPy, numexpr, numba: first result, a call, 1e6 elements when hot."""

import sys
from typing import Any

import _common as common
import _race as race
import numpy as np

import cwrapjit

BUDGET_S = 1.5
FIXED, GENERIC, FUNCTION = "kernel", "kernel, T", "function"
TEXT = "z = (x - y) * (x - y)"
SLICE = "item__z() = (item__x() - item__y()) * (item__x() - item__y()); return true;"


def by_kernel() -> Any:
    return cwrapjit.ElementwiseKernel("float64 x, float64 y", "float64 z", TEXT, "squared_diff")


def by_letter() -> Any:
    return cwrapjit.ElementwiseKernel("T x, T y", "T z", TEXT, "squared_diff")


def by_function() -> Any:
    return cwrapjit.function(
        "squared_diff", signature="x(), y() -> z()", Ccode_slice_eval={np.float64: SLICE}
    )


def by_numba(numba: Any) -> Any:
    @numba.vectorize(["float64(float64, float64)"])
    def f(x: float, y: float) -> float:
        return (x - y) * (x - y)

    return f


def first_results(quick: bool) -> dict[str, float]:
    small = np.arange(3.0)
    makers = {FIXED: by_kernel, GENERIC: by_letter, FUNCTION: by_function}
    actions = {name: lambda make=make: make()(small, small) for name, make in makers.items()}
    return race.medians(race.race(actions, BUDGET_S, quick))


def calls(made: dict[str, Any], quick: bool, *arguments: Any, **keywords: Any) -> dict[str, float]:
    """Medians of 1000 calls, one call's share."""

    def many(f: Any) -> None:
        for _ in range(1000):
            f(*arguments, **keywords)

    actions = {name: lambda f=f: many(f) for name, f in made.items()}
    times = race.medians(race.race(actions, BUDGET_S, quick))
    return {name: time / 1000 for name, time in times.items()}


def warm(f: Any, action: Any) -> None:
    action()
    if hasattr(f, "wait"):
        f.wait()
        action()


def hot(made: dict[str, Any], size: int, quick: bool) -> dict[str, float]:
    x, y = np.random.default_rng(2).normal(size=(2, size))
    out, scratch = np.empty(size), np.empty(size)
    wanted = (x - y) * (x - y)

    def by_numpy() -> None:
        np.subtract(x, y, out=scratch)
        np.multiply(scratch, scratch, out=out)

    actions = {name: lambda f=f: f(x, y, out=out) for name, f in made.items()}
    actions["numpy"] = by_numpy
    numexpr = common.optional("numexpr")
    if numexpr:
        numexpr.set_num_threads(1)
        actions["numexpr"] = lambda: numexpr.evaluate("(x - y) * (x - y)", {"x": x, "y": y}, out=out)
    for name, action in actions.items():
        warm(made.get(name), action)
        np.testing.assert_array_equal(out, wanted, err_msg=name)
    return race.medians(race.race(actions, BUDGET_S, quick))


def gathered(size: int, quick: bool) -> dict[str, float]:
    """x + y[n - 1 - i], with a raw operand and the index, beside NumPy's view and numba's loop."""
    x, y = np.random.default_rng(2).normal(size=(2, size))
    out = np.empty(size)
    kernel = cwrapjit.ElementwiseKernel(
        "T x, raw T y", "T z", "z = x + y[_ind.size() - i - 1]", "add_reverse"
    )
    actions: dict[str, Any] = {
        GENERIC: lambda: kernel(x, y, out),
        "numpy": lambda: np.add(x, y[::-1], out=out),
    }
    numba = common.optional("numba")
    if numba:

        @numba.njit
        def loop(x: Any, y: Any, z: Any) -> None:
            for i in range(z.size):
                z[i] = x[i] + y[z.size - i - 1]

        actions["numba"] = lambda: loop(x, y, out)
    for name, action in actions.items():
        warm(kernel if name == GENERIC else None, action)
        np.testing.assert_array_equal(out, x + y[::-1], err_msg=name)
    return race.medians(race.race(actions, BUDGET_S, quick))


def main() -> int:
    given = common.arguments(__doc__.splitlines()[0])
    numba = common.optional("numba")
    made = {FIXED: by_kernel(), GENERIC: by_letter(), FUNCTION: by_function()}
    if numba:
        made["numba"] = by_numba(numba)
    small, out = np.arange(3.0), np.empty(3)
    size = 10_000 if given.quick else 1_000_000
    results = {
        "text to first result, us": first_results(given.quick),
        "call, 3-vectors, us": calls(made, given.quick, small, small),
        "call, a number, us": calls(made, given.quick, small, 2.5),
        "call, out=, us": calls(made, given.quick, small, small, out=out),
        "1e6 float64, out=, us": hot(made, size, given.quick),
        "1e6, raw and i, us": gathered(size, given.quick),
    }
    columns = [FIXED, GENERIC, FUNCTION, "numpy", "numexpr", "numba"]
    rows = [
        [title, *(f"{1e6 * times[name]:.3g}" if name in times else "" for name in columns)]
        for title, times in results.items()
    ]
    common.table("ElementwiseKernel", ["", *columns], rows)
    targets = []
    for title, times in results.items():
        if FUNCTION in times:
            limit = 1.5 if "first" in title else 1.2
            for name in (FIXED, GENERIC):
                ratio = times[name] / times[FUNCTION]
                what = f"{title.rpartition(',')[0]}: {name} / function()"
                targets.append(common.target(what, f"<= {limit}", round(ratio, 2), ratio <= limit))
    common.print_targets(targets, given)
    common.save("elementwise", {"median_s": results, "targets": targets}, given)
    return 0


if __name__ == "__main__":
    sys.exit(main())
