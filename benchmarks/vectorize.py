"""vectorize() beside function() and numba.vectorize: text to result, one call, and 1e6 elements when hot."""

import sys
from typing import Any

import _common as common
import _race as race
import numpy as np

import cwrapjit

BUDGET_S = 1.5
OWN, DEDUCED, FUNCTION = "vectorize", "vectorize, T deduced", "function"
TEXT = """static double square(double v) { return v * v; }
double f(double x, double y) { return square(x) > y ? x * y : square(y); }"""
SLICE = """double x = item__x(), y = item__y();
item__output() = x * x > y ? x * y : y * y;
return true;"""


def by_vectorize() -> Any:
    return cwrapjit.vectorize(TEXT)


def by_deduction() -> Any:
    return cwrapjit.vectorize(TEXT.replace("double", "T"))


def by_function() -> Any:
    return cwrapjit.function(
        "f", signature="x(), y() -> output()", Ccode_slice_eval={np.float64: SLICE}, cast="safe"
    )


def by_numba(numba: Any) -> Any:
    @numba.vectorize(["float64(float64, float64)"])
    def f(x: float, y: float) -> float:
        return x * y if x * x > y else y * y

    return f


def first_results(makers: dict[str, Any], quick: bool) -> dict[str, float]:
    actions = {name: lambda make=make: make()(1.5, 2.5) for name, make in makers.items()}
    return race.medians(race.race(actions, BUDGET_S, quick))


def calls(made: dict[str, Any], quick: bool, *arguments: Any) -> dict[str, float]:
    """Medians of 1000 calls, one call's share."""

    def many(f: Any) -> None:
        for _ in range(1000):
            f(*arguments)

    actions = {name: lambda f=f: many(f) for name, f in made.items()}
    times = race.medians(race.race(actions, BUDGET_S, quick))
    return {name: time / 1000 for name, time in times.items()}


def hot(made: dict[str, Any], size: int, quick: bool) -> dict[str, float]:
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(2, size))
    out = np.empty(size)
    wanted = np.where(x * x > y, x * y, y * y)
    actions = {name: lambda f=f: f(x, y, out=out) for name, f in made.items()}
    for name, action in actions.items():
        if hasattr(made[name], "wait"):
            action()
            made[name].wait()
        action()
        np.testing.assert_array_equal(out, wanted, err_msg=name)
    return race.medians(race.race(actions, BUDGET_S, quick))


def main() -> int:
    given = common.arguments(__doc__.splitlines()[0])
    numba = common.optional("numba")
    makers = {OWN: by_vectorize, DEDUCED: by_deduction, FUNCTION: by_function}
    made = {name: make() for name, make in makers.items()}
    if numba:
        made["numba"] = by_numba(numba)
    small = np.arange(3.0)
    results = {
        "text to first result, us": first_results(makers, given.quick),
        "call, two numbers, us": calls(made, given.quick, 1.5, 2.5),
        "call, 3-vectors, us": calls(made, given.quick, small, small),
        "1e6 float64, out=, us": hot(made, 10_000 if given.quick else 1_000_000, given.quick),
    }
    columns = [OWN, DEDUCED, FUNCTION, "numba"]
    rows = [
        [title, *(f"{1e6 * times[name]:.3g}" if name in times else "" for name in columns)]
        for title, times in results.items()
    ]
    common.table("vectorize()", ["", *columns], rows)
    targets = []
    for title, times in results.items():
        limit = 1.5 if "first" in title else 1.2
        for name in (OWN, DEDUCED):
            ratio = times[name] / times[FUNCTION]
            what = f"{title.rpartition(',')[0]}: {name} / function()"
            targets.append(common.target(what, f"<= {limit}", round(ratio, 2), ratio <= limit))
    common.print_targets(targets, given)
    common.save("vectorize", {"median_s": results, "targets": targets}, given)
    return 0


if __name__ == "__main__":
    sys.exit(main())
