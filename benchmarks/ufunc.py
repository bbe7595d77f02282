"""f.ufunc beside NumPy's own ufunc of the same operation: calls and reductions of a user's sum of float64.

The tcc tier's reductions are shown, too: libtcc's code adds one number at a time.
"""

import sys
from collections.abc import Callable
from typing import Any

import _common as common
import _race as race
import numpy as np

import cwrapjit

BUDGET_S = 1.0
OWN, FIRST, NUMPY = "cwrapjit", "tcc tier", "NumPy"
CALL_TARGET, REDUCE_TARGET = 1.1, 1.2


def add(**options: Any) -> Any:
    return cwrapjit.function(
        "plus",
        signature="a(), b() -> output()",
        Ccode_slice_eval={np.float64: "item__output() = item__a() + item__b(); return true;"},
        identity=0,
        associative=True,
        **options,
    )


# Title: (elements, what is done with a ufunc, does the target hold for it)
Work = Callable[[Any, np.ndarray, np.ndarray], Any]
CALLS: dict[str, tuple[int, Work]] = {
    "u(x, y) of 1": (1, lambda u, x, y: u(x, y)),
    "u(x, y) of 100": (100, lambda u, x, y: u(x, y)),
    "u(x, x, out=y) of 1e4": (10_000, lambda u, x, y: u(x, x, out=y)),
    "u(x, y, out=y) of 1e4": (10_000, lambda u, x, y: u(x, y, out=y)),
    "u(x, y, out=y) of 1e6": (1_000_000, lambda u, x, y: u(x, y, out=y)),
    "u(y, x, out=y) of 1e4": (10_000, lambda u, x, y: u(y, x, out=y)),
    "u(y, x, out=y) of 1e6": (1_000_000, lambda u, x, y: u(y, x, out=y)),
}
REDUCTIONS: dict[str, tuple[int, Work]] = {
    "reduce of 100": (100, lambda u, x, y: u.reduce(x)),
    "reduce of 1e4": (10_000, lambda u, x, y: u.reduce(x)),
    "reduce of 1e6": (1_000_000, lambda u, x, y: u.reduce(x)),
    "reduce of 1e7": (10_000_000, lambda u, x, y: u.reduce(x)),
    "reduce of (1e3, 1e3), axis 0": (1_000_000, lambda u, x, y: u.reduce(x.reshape(1000, -1), axis=0)),
    "reduce of (1e3, 1e3), axis 1": (1_000_000, lambda u, x, y: u.reduce(x.reshape(1000, -1), axis=1)),
    "reduce of every third": (1_000_000, lambda u, x, y: u.reduce(x[::3])),
}
WITHOUT_TARGET: dict[str, tuple[int, Work]] = {
    "reduce of (333333, 3), axis 1": (999_999, lambda u, x, y: u.reduce(x.reshape(-1, 3), axis=1)),
    "accumulate of 1e6": (1_000_000, lambda u, x, y: u.accumulate(x)),
    "outer of 1e3": (1000, lambda u, x, y: u.outer(x, x)),
    "at of 1e4": (10_000, lambda u, x, y: u.at(y, [3, 2, 1], 1.0)),
}


def measure(size: int, work: Work, ufuncs: dict[str, Any], quick: bool) -> dict[str, float]:
    if quick:
        size = min(size, 10_000) if size != 999_999 else 9999
    x = np.random.default_rng(5).normal(size=size)
    actions = {name: (lambda u=u, y=x.copy(): work(u, x, y)) for name, u in ufuncs.items()}
    for action in actions.values():
        action()
    return race.medians(race.race(actions, BUDGET_S, quick))


def main() -> int:
    given = common.arguments(__doc__.splitlines()[0])
    hot = add()
    hot.wait()
    ufuncs = {OWN: hot.ufunc, NUMPY: np.add, FIRST: add(optimize="off").ufunc}
    results, rows, targets = {}, [], []
    for works, limit in ((CALLS, CALL_TARGET), (REDUCTIONS, REDUCE_TARGET), (WITHOUT_TARGET, None)):
        for title, (size, work) in works.items():
            times = measure(size, work, ufuncs, given.quick)
            ratio = times[OWN] / times[NUMPY]
            results[title] = times
            rows.append([title, *(f"{1e6 * times[name]:.2f}" for name in ufuncs), f"{ratio:.2f}"])
            if limit is not None:
                wanted = f"<= {limit}"
                targets.append(
                    common.target(
                        f"f.ufunc: {title}, time / np.add's", wanted, round(ratio, 2), ratio <= limit
                    )
                )
    common.table("µs", ["", *ufuncs, "ratio"], rows)
    common.print_targets(targets, given)
    common.save("ufunc", {"median_s": results, "targets": targets}, given)
    return 0


if __name__ == "__main__":
    sys.exit(main())
