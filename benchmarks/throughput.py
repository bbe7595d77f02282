"""Measures the speed of compiled code: each workload of workloads/, on one thread, against its peers.

    cwrapjit             the cc tier
    tcc tier             cwrapjit with optimize="off": libtcc's code
    numpy, numba, numexpr, numpysane_pywrap, cffi    as a user would write it there
    bound                the plain C loop, compiled with the cc tier's flags, called through ctypes
    exact bound          for fastmath: the same without fast-math, the bound for the tcc tier

All write into one preallocated array. Results are compared with NumPy's before anything is timed.
"""

import math
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import _common as common
import _native as native
import _race as race
import numpy as np
from workloads import Workload, everything

import cwrapjit

OWN, FIRST, BOUND, EXACT = "cwrapjit", "tcc tier", "bound", "exact bound"
BUDGET_S = 4.0
RESTLESS = 1.15
Action = Callable[[], Any]


# ---- the peers -----------------------------------------------------------------------------------


class Peers:
    """What is built once for all workloads."""

    def __init__(self, workloads: list[Workload], folder: Path) -> None:
        self.numba = common.optional("numba")
        self.numexpr = common.optional("numexpr")
        self.cffi = common.optional("cffi")
        if self.numexpr:
            self.numexpr.set_num_threads(1)
        self.bound: dict[bool, Path] = {}
        self.usual: dict[bool, Path] = {}
        self.pywrap: dict[bool, ModuleType | None] = {}
        for fastmath in (False, True):
            chosen = [w for w in workloads if w.fastmath is fastmath]
            text = "\n".join(workload.loop for workload in chosen)
            name = f"loops{fastmath:d}"
            self.bound[fastmath] = native.build(text, f"bound_{name}", native.tier_flags(fastmath), folder)
            self.usual[fastmath] = native.build(text, f"usual_{name}", native.usual_flags(fastmath), folder)
            if fastmath:
                self.exact = native.build(text, f"exact_{name}", native.tier_flags(False), folder)
            self.pywrap[fastmath] = build_pywrap(chosen, f"pywrap_{name}", fastmath, folder)


def build_pywrap(workloads: list[Workload], name: str, fastmath: bool, folder: Path) -> ModuleType | None:
    npsp = common.optional("numpysane_pywrap")
    if npsp is None:
        return None
    functions = {w.name: w.pywrap or w.definition for w in workloads}
    return common.build_pywrap(npsp, name, functions, folder, native.usual_flags(fastmath))


def numba_function(numba: ModuleType, workload: Workload) -> Callable[..., Any]:
    assert workload.numba is not None
    wanted = workload.numba
    options: dict[str, Any] = {"fastmath": True} if workload.fastmath else {}
    if wanted.layout is None:
        return numba.vectorize([wanted.types], **options)(wanted.function)
    return numba.guvectorize([wanted.types], wanted.layout, **options)(wanted.function)


def numexpr_action(numexpr: ModuleType, workload: Workload, inputs: Any, out: np.ndarray) -> Action:
    given = zip(workload.definition["args_input"], inputs, strict=True)
    names = workload.numexpr_names(*inputs) if workload.numexpr_names else dict(given)
    return lambda: numexpr.evaluate(workload.numexpr, names, {}, out=out, casting="unsafe")


def peer_actions(workload: Workload, peers: Peers, inputs: Any, out: np.ndarray) -> dict[str, Action]:
    actions: dict[str, Action] = {
        name: (lambda f=function: f(*inputs, out=out)) for name, function in workload.numpy.items()
    }
    if peers.numba and workload.numba:
        compiled = numba_function(peers.numba, workload)
        actions["numba"] = lambda: compiled(*inputs, out=out)
    if peers.numexpr and workload.numexpr:
        actions["numexpr"] = numexpr_action(peers.numexpr, workload, inputs, out)
    if built := peers.pywrap[workload.fastmath]:
        wrapped = getattr(built, workload.name)
        actions["numpysane_pywrap"] = lambda: wrapped(*inputs, out=out)
    arguments = workload.loop_arguments(*inputs, out)
    if peers.cffi:
        actions["cffi"] = native.by_cffi(
            peers.cffi, peers.usual[workload.fastmath], workload.loop, workload.name, arguments
        )
    actions[BOUND] = native.by_ctypes(peers.bound[workload.fastmath], workload.name, arguments)
    if workload.fastmath:
        actions[EXACT] = native.by_ctypes(peers.exact, workload.name, arguments)
    return actions


# ---- cwrapjit ------------------------------------------------------------------------------------


def own_actions(workload: Workload, inputs: Any, out: np.ndarray) -> tuple[dict[str, Action], bool]:
    """The two tiers, and whether the optimizing one is there."""

    def make(**options: Any) -> Any:
        return cwrapjit.function(workload.name, "", **workload.definition, **options)

    hot = make(fastmath=workload.fastmath)
    first = make(optimize="off")
    actions = {OWN: lambda: hot(*inputs, out=out), FIRST: lambda: first(*inputs, out=out)}
    return actions, race.heat(hot, actions[OWN])


# ---- one workload --------------------------------------------------------------------------------


def check(workload: Workload, inputs: Any, out: np.ndarray, actions: dict[str, Action]) -> set[str]:
    """Who gives the very bits of cwrapjit's tcc tier. Ends the program where a result is wrong."""
    actions[FIRST]()
    bits = out.tobytes()
    same = set()
    next(iter(workload.numpy.values()))(*inputs, out=out)
    expected = out.copy()
    for name, action in actions.items():
        out[...] = 0
        action()
        close = np.isclose(out, expected, rtol=workload.tolerance, atol=workload.tolerance)
        if np.count_nonzero(~close) > workload.may_differ * out.size:
            raise SystemExit(f"{workload.name}: {name} differs from NumPy: {out[~close]}, {expected[~close]}")
        if out.tobytes() == bits:
            same.add(name)
    return same


def measure(workload: Workload, peers: Peers, quick: bool) -> dict[str, Any]:
    inputs = workload.inputs(np.random.default_rng(4), quick)
    out = workload.out(*inputs)
    own, is_hot = own_actions(workload, inputs, out)
    actions = {**own, **peer_actions(workload, peers, inputs, out)}
    same_bits = check(workload, inputs, out, actions)
    times = race.race(actions, BUDGET_S, quick)
    by_median, by_fastest = race.medians(times), race.fastest(times)
    rivals = [name for name in actions if name not in (OWN, FIRST, BOUND, EXACT)]
    best = min(rivals, key=by_median.__getitem__)
    alike = [name for name in rivals if name in same_bits and OWN in same_bits]
    best_alike = min(alike, key=by_median.__getitem__) if alike else None
    return {
        "title": workload.title,
        "cc tier": is_hot,
        "left out": workload.left_out,
        "unrest": race.unrest(times),
        "median_s": by_median,
        "fastest_s": by_fastest,
        "rounds": {name: len(values) for name, values in times.items()},
        "best peer": best,
        "best peer with the same bits": best_alike,
        "same bits as the tcc tier": sorted(same_bits),
        "best peer / cwrapjit": by_median[best] / by_median[OWN],
        "best peer with the same bits / cwrapjit": best_alike and by_median[best_alike] / by_median[OWN],
        "best peer / cwrapjit, fastest": min(by_fastest[name] for name in rivals) / by_fastest[OWN],
        "bound / cwrapjit": by_median[BOUND] / by_median[OWN],
        "bound / cwrapjit, fastest": by_fastest[BOUND] / by_fastest[OWN],
        "tcc tier / bound": by_median[FIRST] / by_median.get(EXACT, by_median[BOUND]),
    }


# ---- the report ----------------------------------------------------------------------------------


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def print_tables(results: dict[str, Any]) -> None:
    names = list(dict.fromkeys(name for found in results.values() for name in found["median_s"]))
    common.table(
        "median ms (- : cannot express it)",
        ("", *names),
        (
            (
                found["title"],
                *(f"{1e3 * found['median_s'][n]:.3g}" if n in found["median_s"] else "-" for n in names),
            )
            for found in results.values()
        ),
    )
    common.table(
        "ratios of medians: above 1.00, cwrapjit is the faster one",
        ("", "best peer", "/ own", "by fastest", "bound / own", "by fastest", "first / bound", ""),
        (
            (
                found["title"],
                found["best peer"],
                f"{found['best peer / cwrapjit']:.2f}",
                f"{found['best peer / cwrapjit, fastest']:.2f}",
                f"{found['bound / cwrapjit']:.2f}",
                f"{found['bound / cwrapjit, fastest']:.2f}",
                f"{found['tcc tier / bound']:.2f}",
                verdict(found),
            )
            for found in results.values()
        ),
    )


def verdict(found: dict[str, Any]) -> str:
    ratio = found["best peer / cwrapjit"]
    if ratio >= 1:
        return ""
    if ratio >= common.LEVEL:
        return "level"
    alike = found["best peer with the same bits / cwrapjit"]
    if alike and alike >= common.LEVEL and found["best peer"] not in found["same bits as the tcc tier"]:
        return f"BEHIND; {alike:.2f} among those that give the same bits"
    return "BEHIND"


def print_left_out(workloads: list[Workload]) -> None:
    where: dict[str, list[str]] = {}
    for workload in workloads:
        for name, reason in workload.left_out.items():
            where.setdefault(f"{name}, which {reason}", []).append(workload.name)
    for what, names in where.items():
        print(f"  left out: {what}: {', '.join(names)}")


def targets(results: dict[str, Any]) -> list[dict[str, Any]]:
    hot = all(found["cc tier"] for found in results.values())
    ratios = [found["best peer / cwrapjit"] for found in results.values()]
    level, ahead = (sum(ratio >= least for ratio in ratios) for least in (common.LEVEL, 1.0))
    bound = geometric_mean([found["bound / cwrapjit"] for found in results.values()])
    # A twin with fastmath is the same to the tcc tier.
    once = [found for name, found in results.items() if not name.endswith("_fast")]
    first = geometric_mean([found["tcc tier / bound"] for found in once])
    waves = results["waves"]["median_s"]
    rows = [
        common.target(
            f"cc tier: as fast as the best peer (level: >= {common.LEVEL}), workloads",
            f"{len(ratios)} of {len(ratios)}",
            f"{level} of {len(ratios)}, {ahead} at >= 1",
            level == len(ratios) if hot else None,
        ),
        common.target(
            "cc tier: bound / cwrapjit, geometric mean", ">= 0.95", bound, bound >= 0.95 if hot else None
        ),
    ]
    ratios_of_programs: list[tuple[str, float, float]] = [
        (f"exp(-x*x)*sin(y): {name} / cwrapjit", 5, waves[name] / waves[OWN])
        for name in ("numpy", "numba")
        if name in waves
    ]
    for name in ("waves", "likelihood", "haversine", "black_scholes", "softmax"):
        exact, fast = (results[f"{name}{end}"]["median_s"] for end in ("", "_fast"))
        ratios_of_programs += [
            (f"{name}: NumPy / cwrapjit", 1, exact["numpy"] / exact[OWN]),
            (f"{name}: with fastmath / without", 0.5, fast[OWN] / exact[OWN]),
        ]
    rows += [
        common.target(title, f">= {least}", ratio, ratio >= least if hot else None)
        for title, least, ratio in ratios_of_programs
    ]
    rows.append(
        common.target("tcc tier / bound without fast-math, geometric mean", "<= 7", first, first <= 7)
    )
    return rows


def main() -> int:
    given = common.arguments("Throughput against every peer and a plain C loop.")
    workloads = everything()
    results: dict[str, Any] = {}
    with common.scratch() as folder:
        peers = Peers(workloads, Path(folder))
        for workload in workloads:
            print(f"{workload.title} ...", file=sys.stderr, flush=True)
            results[workload.name] = measure(workload, peers, given.quick)
    print_tables(results)
    print_left_out(workloads)
    unrest = common.median(found["unrest"] for found in results.values())
    if unrest > RESTLESS:
        print(f"  A BUSY MACHINE: medians are {unrest:.2f} times the fastest runs; repeat when it is quiet")
    if not all(found["cc tier"] for found in results.values()):
        print("  NO CC TIER in this run: the figures of cwrapjit are the tcc tier's")
    flags = {"bound": native.tier_flags(False), "bound, fastmath": native.tier_flags(True)}
    rows = targets(results)
    common.print_targets(rows, given)
    common.save("throughput", {"flags": flags, "workloads": results, "targets": rows}, given)
    return 0


if __name__ == "__main__":
    sys.exit(main())
