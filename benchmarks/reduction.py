"""ReductionKernel beside np.sum, np.linalg.norm, numba and bottleneck: (1e3, 1e3, 3) and 1e7 items.

numba's functions are the usual loops, in the order of the axes; their sums go one by one, from the left.
np.sum and bottleneck are compared with the sum, np.linalg.norm and numba also with the norm. Each array has
its own kernel, like a program that sums arrays of one kind.
"""

import sys
import time
from collections.abc import Callable
from typing import Any

import _common as common
import _race as race
import numpy as np

import cwrapjit

BUDGET_S = 1.0
OWN, NUMPY, BOTTLENECK, NUMBA = "cwrapjit", "NumPy", "bottleneck", "numba"
AXES = (None, 0, 1, 2, (0, 1), (0, 2), (1, 2))
WAIT_S = 60.0


def kernel(norm: bool, **options: Any) -> cwrapjit.ReductionKernel:
    if norm:
        return cwrapjit.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "norm", **options)
    return cwrapjit.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total", **options)


def by_numba(numba: Any, ndim: int, axis: Any, norm: bool) -> Callable[[np.ndarray], Any]:
    """Loops over all axes in their order, which add to the output."""
    axes = range(ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    kept = [k for k in range(ndim) if k not in axes]
    place = f"out[{', '.join(f'i{k}' for k in kept)}]" if kept else "total"
    item = f"x[{', '.join(f'i{k}' for k in range(ndim))}]"
    lines = ["def f(x):", "    total = 0.0"]
    if kept:
        lines.append(f"    out = np.zeros(({' '.join(f'x.shape[{k}],' for k in kept)}))")
    for k in range(ndim):
        lines.append("    " * (k + 1) + f"for i{k} in range(x.shape[{k}]):")
    lines.append("    " * (ndim + 1) + f"{place} += {item + ' * ' + item if norm else item}")
    result = "out" if kept else "total"
    lines.append(f"    return {f'np.sqrt({result})' if norm else result}")
    names: dict[str, Any] = {"np": np}
    exec("\n".join(lines), names)
    return numba.njit(names["f"])  # type: ignore[no-any-return]


def heat(own: cwrapjit.ReductionKernel, call: Callable[[], Any]) -> None:
    """Into the cc tier, with what calls have in common as constants."""
    for _ in range(3):
        end = time.perf_counter() + 0.05
        while time.perf_counter() < end:
            call()
        for function in own.functions:
            function.wait(WAIT_S)


def measure(x: np.ndarray, axis: Any, norm: bool, peers: dict[str, Any], quick: bool) -> dict[str, float]:
    own = kernel(norm)
    actions: dict[str, Callable[[], Any]] = {OWN: lambda: own(x, axis=axis)}
    if not norm:
        actions[NUMPY] = lambda: np.sum(x, axis=axis)
        if peers[BOTTLENECK] and not isinstance(axis, tuple):
            actions[BOTTLENECK] = lambda: peers[BOTTLENECK].nansum(x, axis=axis)
    elif axis is None or isinstance(axis, int):  # of two axes, it is the matrix norm
        actions[NUMPY] = lambda: np.linalg.norm(x if axis is not None else x.ravel("K"), axis=axis)
    else:
        actions[NUMPY] = lambda: np.sqrt(np.sum(x * x, axis=axis))
    if peers[NUMBA]:
        compiled = by_numba(peers[NUMBA], x.ndim, axis, norm)
        actions[NUMBA] = lambda: compiled(x)
    if not quick:
        heat(own, actions[OWN])
    wanted = actions[NUMPY]()
    for name, action in actions.items():
        np.testing.assert_allclose(action(), wanted, rtol=1e-9, err_msg=f"{name}, axis {axis}")
    return race.medians(race.race(actions, BUDGET_S, quick))


def arrays(quick: bool) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    n = 30 if quick else 1000
    made = rng.random((n, n, 3))
    if quick:  # numba takes its time to compile
        return {"C order": made}
    return {
        "C order": made,
        "Fortran's order": np.asfortranarray(made),
        "every second row": rng.random((2 * n, n, 3))[::2],
        "every second item": rng.random((n, n, 6))[:, :, ::2],
    }


def small_calls(quick: bool) -> list[list[str]]:
    rows = []
    for shape, axis in (
        ((10,), None),
        ((3, 4), 0),
        ((3, 4), 1),
        ((100, 100), 0),
        ((100, 100), 1),
        ((1000, 20), 1),
    ):
        x, own = np.random.default_rng(2).random(shape), kernel(False)
        actions: dict[str, Callable[[], Any]] = {
            OWN: lambda own=own, x=x, axis=axis: own(x, axis=axis),
            NUMPY: lambda x=x, axis=axis: np.sum(x, axis=axis),
        }
        if not quick:
            heat(own, actions[OWN])
        rows.append(small_call(f"{shape}, axis {axis}", actions, quick))
    x, out = np.random.default_rng(2).random((10, 10)), np.empty(10)
    own = kernel(False)
    dot = cwrapjit.ReductionKernel("T x, T w", "T y", "x * w", "a + b", "y = a", "0", "dot")
    for title, used, ours, theirs in (
        ("out=", own, lambda: own(x, axis=1, out=out), lambda: np.sum(x, axis=1, out=out)),
        ("keepdims=", own, lambda: own(x, axis=1, keepdims=True), lambda: np.sum(x, axis=1, keepdims=True)),
        ("two inputs", dot, lambda: dot(x, x, axis=1), lambda: np.sum(x * x, axis=1)),
        ("two that broadcast", dot, lambda: dot(x, out, axis=1), lambda: np.sum(x * out, axis=1)),
    ):
        if not quick:
            heat(used, ours)
        rows.append(small_call(f"{x.shape}, axis 1, {title}", {OWN: ours, NUMPY: theirs}, quick))
    return rows


def small_call(title: str, actions: dict[str, Callable[[], Any]], quick: bool) -> list[str]:
    times = race.medians(race.race(actions, BUDGET_S / 4, quick))
    return [title, f"{1e6 * times[OWN]:.2f}", f"{1e6 * times[NUMPY]:.2f}"]


def threads(quick: bool) -> float:
    """How many times as fast two threads are, where arrays stay in the caches."""
    x = np.random.default_rng(3).random((300, 3000) if not quick else (30, 300))
    actions = {}
    for count in (1, 2):
        own = cwrapjit.ReductionKernel("T x", "T y", "exp(-x)", "a + b", "y = a", "0", "total", threads=count)
        actions[str(count)] = lambda own=own: own(x)
        if not quick:
            heat(own, actions[str(count)])
    times = race.medians(race.race(actions, BUDGET_S, quick))
    return times["1"] / times["2"]


def main() -> int:
    given = common.arguments(__doc__.splitlines()[0])
    peers = {NUMBA: common.optional("numba"), BOTTLENECK: common.optional("bottleneck")}
    columns = [OWN, NUMPY, NUMBA, BOTTLENECK]
    results: dict[str, Any] = {}
    rows, targets, behind, cases = [], [], [], 0
    todo = [(f"{name}, axis {axis}", x, axis) for name, x in arrays(given.quick).items() for axis in AXES]
    vector = np.random.default_rng(4).random(1000 if given.quick else 10_000_000)
    todo += [
        ("1e7", vector, None),
        ("1e7, backwards", vector[::-1], None),
        ("5e6, every second", vector[::2], None),
    ]
    for name, x, axis in todo:
        for norm in (False, True):
            title = f"{'norm' if norm else 'sum'}, {name}"
            times = results[title] = measure(x, axis, norm, peers, given.quick)
            best = min(value for who, value in times.items() if who != OWN)
            rows.append(
                [
                    title,
                    *(f"{1e3 * times[who]:.3f}" if who in times else "" for who in columns),
                    f"{best / times[OWN]:.2f}",
                ]
            )
            cases += 1
            if best / times[OWN] < common.LEVEL:
                behind.append(title)
    common.table("ms; the best of the others / cwrapjit", ["", *columns, "best"], rows)
    common.table("small sums, us", ["", OWN, NUMPY], small_calls(given.quick))
    targets.append(
        common.target(
            "reductions as fast as the best peer",
            f"{cases} of {cases}",
            f"{cases - len(behind)} of {cases}",
            not behind,
        )
    )
    ratio = threads(given.quick)
    targets.append(
        common.target("sum of exp(-x) in two threads: times one", ">= 1.7", round(ratio, 2), ratio >= 1.7)
    )
    common.print_targets(targets, given)
    common.save("reduction", {"median_s": results, "targets": targets}, given)
    return 0


if __name__ == "__main__":
    sys.exit(main())
