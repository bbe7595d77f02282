"""Inlined functions of <math.h> over 1e6 float64, beside the same loop by gcc and by numba.

gcc has the usual flags for extensions. The last column is libm itself, called for each element by a loop
that may not inline or replace it. numba computes powers as plain products; from the third power on, their
error is more than one unit in the last place, so they are shown, but are not a target.
"""

import math
import sys
from pathlib import Path
from typing import Any

import _common as common
import _native as native
import _race as race
import numpy as np

import cwrapjit

BUDGET_S = 1.5
OWN, FIRST, GCC, LIBM = "cwrapjit", "tcc tier", "gcc", "libm"

# Title: C's expression of x, and Python's for numba, if it has one.
EXPRESSIONS = {
    "pow(x, 2)": ("pow(x, 2)", "x ** 2"),
    "pow(x, 3)": ("pow(x, 3)", "x ** 3"),
    "pow(x, -1)": ("pow(x, -1)", "x ** -1"),
    "pow(x, .5)": ("pow(x, .5)", "x ** .5"),
    "clamp by fmin, fmax": ("fmin(fmax(x, .2), .8)", "min(max(x, .2), .8)"),
    "fdim(x, .5)": ("fdim(x, .5)", None),
    "fma(x, 2.5, x)": ("fma(x, 2.5, x)", None),
    "copysign(2, x)": ("copysign(2, x)", "math.copysign(2., x)"),
    "round(x)": ("round(x)", None),
    "trunc(x)": ("trunc(x)", "np.trunc(x)"),
    "rint(x)": ("rint(x)", "np.rint(x)"),
    "lrint(x)": ("lrint(x)", None),
    "isnan(x)": ("isnan(x)", "math.isnan(x)"),
}
LESS_EXACT_IN_NUMBA = ("pow(x, 3)",)


def loop(name: str, expression: str) -> str:
    return f"""void {name}(const double *restrict in, double *restrict out, ptrdiff_t n)
{{ for(ptrdiff_t i = 0; i < n; i++) {{ const double x = in[i]; out[i] = {expression}; }} }}"""


def by_numba(numba: Any, expression: str) -> Any:
    names: dict[str, Any] = {"np": np, "math": math}
    exec(f"def f(x): return {expression}", names)
    return numba.vectorize(["float64(float64)"])(names["f"])


def measure(title: str, folder: Path, numba: Any, x: np.ndarray, quick: bool) -> dict[str, float]:
    expression, python = EXPRESSIONS[title]
    out, flags = np.empty_like(x), native.usual_flags(False)
    text = loop("f", expression)
    mark = f"m{list(EXPRESSIONS).index(title)}"
    usual = native.build(text, f"usual_{mark}", flags, folder)
    plain = native.build(text, f"plain_{mark}", [*flags, "-fno-builtin"], folder)
    slice_text = {np.float64: f"const double x = item__x(); item__y() = {expression}; return true;"}
    hot = cwrapjit.function("f", signature="x() -> y()", Ccode_slice_eval=slice_text)
    first = cwrapjit.function("f", signature="x() -> y()", Ccode_slice_eval=slice_text, optimize="off")
    actions = {
        OWN: lambda: hot(x, out=out),
        FIRST: lambda: first(x, out=out),
        GCC: native.by_ctypes(usual, "f", (x, out, x.size)),
        LIBM: native.by_ctypes(plain, "f", (x, out, x.size)),
    }
    if numba and python:
        vectorized = by_numba(numba, python)
        actions["numba"] = lambda: vectorized(x, out=out)
    race.heat(hot, actions[OWN])
    wanted = first(x).copy()
    for name, action in actions.items():
        action()
        np.testing.assert_allclose(out, wanted, rtol=1e-14, err_msg=f"{title} by {name}")
    return race.medians(race.race(actions, BUDGET_S, quick))


def main() -> int:
    given = common.arguments(__doc__.splitlines()[0])
    numba = common.optional("numba")
    x = np.random.default_rng(3).normal(size=10_000 if given.quick else 1_000_000)
    columns = [OWN, GCC, "numba", FIRST, LIBM]
    results, targets, rows = {}, [], []
    with common.scratch() as folder:
        for title in EXPRESSIONS:
            times = measure(title, Path(folder), numba, x, given.quick)
            results[title] = times
            rows.append([title, *(f"{1e3 * times[name]:.2f}" if name in times else "" for name in columns)])
            peers = (GCC,) if title in LESS_EXACT_IN_NUMBA else (GCC, "numba")
            best = min(times[name] for name in peers if name in times)
            ratio = times[OWN] / best
            targets.append(
                common.target(f"{title}: time / gcc's or numba's", "<= 1.1", round(ratio, 2), ratio <= 1.1)
            )
    common.table("1e6 float64, ms", ["", *columns], rows)
    common.print_targets(targets, given)
    common.save("mathematics", {"median_s": results, "targets": targets}, given)
    return 0


if __name__ == "__main__":
    sys.exit(main())
