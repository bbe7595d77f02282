"""Checks that time is proportional to the number of slices, from 1 to 1e8, and to the number of type sets.

A plain C loop with the same flags runs beside it: a bend in that line, too, comes from memory. The fastest
runs count, because other work on the machine slows the long ones and bends the slope.
"""

import itertools
import sys
from pathlib import Path
from typing import Any

import _common as common
import _native as native
import _race as race
import numpy as np

import cwrapjit

FROM = 10**5  # slices: below it, what a call costs shows, and what fits into which cache
SLOPE = (0.9, 1.1)  # of log(time) over log(count), above FROM
BUDGET_S = 1.0
SEEDS = itertools.count(1)
TYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")
PLAIN = "plain C"
SQUARE_C = """
void square(const float* restrict x, float* restrict y, ptrdiff_t n)
{
    for(ptrdiff_t i = 0; i < n; i++)
        y[i] = x[i]*x[i] + 1;
}"""


def slope(counts: list[int], seconds: list[float]) -> float:
    return float(np.polyfit(np.log(counts), np.log(seconds), 1)[0])


# ---- slices --------------------------------------------------------------------------------------


def slices(quick: bool, folder: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    text = {np.float32: "item__y() = item__x()*item__x() + 1; return true;"}

    def make(**options: Any) -> Any:
        return cwrapjit.function("square", signature="x() -> y()", Ccode_slice_eval=text, **options)

    hot, first = make(), make(optimize="off")
    most = 5 if quick else 8
    x = np.ones(10**most, np.float32)
    out = np.zeros_like(x)
    there = race.heat(hot, lambda: hot(x[:10_000], out=out[:10_000]))
    counts = [int(10 ** (k / 2)) for k in range(2 * most + 1)]
    found: dict[str, list[float]] = {"cwrapjit": [], "tcc tier": [], PLAIN: []}
    library = native.build(SQUARE_C, "square", native.tier_flags(False), folder)
    for count in counts:
        given, result = x[:count], out[:count]
        actions = {
            "cwrapjit": lambda g=given, r=result: hot(g, out=r),
            "tcc tier": lambda g=given, r=result: first(g, out=r),
            PLAIN: native.by_ctypes(library, "square", (given, result, count)),
        }
        for name, value in race.fastest(race.race(actions, BUDGET_S, quick)).items():
            found[name].append(value)
    common.table(
        "fastest time of one call, x*x + 1 over float32, out=" + ("" if there else " (no cc tier)"),
        ("slices", *found, *(f"{name}, ns each" for name in found)),
        (
            (
                f"{count:.0e}",
                *(f"{1e6 * found[n][k]:.3g} us" for n in found),
                *(f"{1e9 * found[n][k] / count:.3g}" for n in found),
            )
            for k, count in list(enumerate(counts))[::2]
        ),
    )
    large = [k for k, count in enumerate(counts) if quick or count >= FROM]

    def above(name: str) -> tuple[list[int], list[float]]:
        return [counts[k] for k in large], [found[name][k] for k in large]

    print(f"  slope over slices >= {FROM:.0e}, plain C: {slope(*above(PLAIN)):.3g}")
    own = [name for name in found if name != PLAIN]
    rows = [linear(f"slope over slices >= {FROM:.0e}, {name}", *above(name)) for name in own]
    return {"counts": counts, "fastest_s": found, "cc tier": there}, rows


def linear(figure: str, counts: list[int], seconds: list[float]) -> dict[str, Any]:
    found = slope(counts, seconds)
    return common.target(figure, f"{SLOPE[0]} to {SLOPE[1]}", found, SLOPE[0] <= found <= SLOPE[1])


# ---- type sets -----------------------------------------------------------------------------------


def define(count: int) -> None:
    pairs = list(itertools.product(TYPES, TYPES))[:count]
    text = f"item__y() = item__x() + {next(SEEDS)}; return true;"
    texts = {(np.dtype(a), np.dtype(b)): text for a, b in pairs}
    cwrapjit.function("f", signature="x() -> y()", Ccode_slice_eval=texts, optimize="off")


def type_sets(quick: bool) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    counts = [1, 2, 5, 10, 20, 50, 100]
    actions = {str(count): (lambda c=count: define(c)) for count in counts}
    times = common.interleaved(actions, 1 if quick else 15)
    seconds = [min(times[str(count)]) for count in counts]
    common.table(
        "time of a definition, tcc tier",
        ("type sets", "fastest ms", "ms each"),
        ((c, f"{1e3 * s:.3f}", f"{1e3 * s / c:.3f}") for c, s in zip(counts, seconds, strict=True)),
    )
    row = linear("slope over type sets >= 10", counts[3:], seconds[3:])
    row["ok"] = row["measured"] <= SLOPE[1]  # below 1: a part that does not grow
    row["wanted"] = f"<= {SLOPE[1]}"
    return {"counts": counts, "fastest_s": seconds}, [row]


def main() -> int:
    given = common.arguments("Time against the number of slices and of type sets.")
    with common.scratch() as folder:
        slice_times, slice_rows = slices(given.quick, Path(folder))
    set_times, set_rows = type_sets(given.quick)
    rows = slice_rows + set_rows
    common.print_targets(rows, given)
    common.save("scaling", {"slices": slice_times, "type_sets": set_times, "targets": rows}, given)
    return 0


if __name__ == "__main__":
    sys.exit(main())
