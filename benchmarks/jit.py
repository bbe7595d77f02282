"""jit() beside NumPy, numexpr and numba: programs on arrays of 1e5 numbers, and first results of 1e3.

numexpr and numba are left out where they are not installed, and numexpr where it has no such program. numba
compiles the same NumPy code.
"""

import sys
from collections.abc import Callable
from typing import Any

import _common as common
import _race as race
import numpy as np

import cwrapjit

BUDGET_S = 1.0
OWN, FAST, NUMPY, NUMEXPR, NUMBA = "cwrapjit", "fastmath", "NumPy", "numexpr", "numba"
COLUMNS = [OWN, FAST, NUMPY, NUMEXPR, NUMBA]


def polynomial(x: Any, y: Any) -> Any:
    return 3 * x * x + 2 * x * y - y / 4 + 1


def gauss(x: Any, y: Any) -> Any:
    return np.exp(-x * x) * np.sin(y)


def loss(x: Any, y: Any) -> Any:
    p = 1 / (1 + np.exp(-x))
    return -np.mean(y * np.log(p) + (1 - y) * np.log(1 - p))


def softmax(x: Any, y: Any) -> Any:
    e = np.exp(x - np.max(x))
    return e / np.sum(e)


def call_price(x: Any, y: Any) -> Any:
    spot, time_left = 100 + 10 * x, 1 + np.abs(y)
    d = (np.log(spot / 95) + 0.04 * time_left) / (0.2 * np.sqrt(time_left))
    return spot / (1 + np.exp(-1.702 * d)) - 95 * np.exp(-0.02 * time_left)


NUMEXPRS = {
    "polynomial": "3 * x * x + 2 * x * y - y / 4 + 1",
    "gauss": "exp(-x * x) * sin(y)",
    "loss": "sum(-(y * log(1 / (1 + exp(-x))) + (1 - y) * log(1 - 1 / (1 + exp(-x)))))",
}


def contenders(
    program: Callable[..., Any], x: Any, y: Any, peers: dict[str, Any], quick: bool
) -> dict[str, Callable[[], Any]]:
    made: dict[str, Callable[[], Any]] = {NUMPY: lambda: program(x, y)}
    for name, options in ((OWN, {}), (FAST, {"fastmath": True})):
        jitted = cwrapjit.jit(**options)(program)
        made[name] = lambda jitted=jitted: jitted(x, y)
        if not quick:
            race.heat(jitted, made[name])
    if peers[NUMBA]:
        compiled = peers[NUMBA].njit(program)
        made[NUMBA] = lambda: compiled(x, y)
    text = NUMEXPRS.get(program.__name__)
    if peers[NUMEXPR] and text:
        scale = 1 / x.size if text.startswith("sum") else 1
        made[NUMEXPR] = lambda: peers[NUMEXPR].evaluate(text, {"x": x, "y": y}) * scale
    return made


def first_results(peers: dict[str, Any]) -> list[list[str]]:
    """Seconds from the decorator to the first result."""
    x, y = np.random.default_rng(1).random((2, 1000))
    rows = []
    for program in (polynomial, loss, softmax):
        makers: dict[str, Callable[[], Any]] = {OWN: lambda p=program: cwrapjit.jit(p)(x, y)}
        if peers[NUMBA]:
            makers[NUMBA] = lambda p=program: peers[NUMBA].njit(p)(x, y)
        times = {name: min(race.seconds_of(action) for _ in range(3)) for name, action in makers.items()}
        rows.append(
            [program.__name__, *(f"{1e3 * times[n]:.1f}" if n in times else "" for n in (OWN, NUMBA))]
        )
    return rows


def main() -> int:
    given = common.arguments(__doc__.splitlines()[0])
    peers = {NUMBA: common.optional("numba"), NUMEXPR: common.optional("numexpr")}
    if peers[NUMEXPR]:
        peers[NUMEXPR].set_num_threads(1)
    results: dict[str, Any] = {}
    rows, targets = [], []
    x, y = np.random.default_rng(1).random((2, 1000 if given.quick else 100_000)) * 0.98 + 0.01
    for program in (polynomial, gauss, loss, softmax, call_price):
        actions = contenders(program, x, y, peers, given.quick)
        wanted = program(x, y)
        for name, action in actions.items():
            np.testing.assert_allclose(action(), wanted, rtol=1e-9, err_msg=f"{name}, {program.__name__}")
        times = results[program.__name__] = race.fastest(race.race(actions, BUDGET_S, given.quick))
        rows.append(
            [program.__name__, *(f"{1e3 * times[who]:.3f}" if who in times else "" for who in COLUMNS)]
        )
        ratio = times[NUMPY] / times[OWN]
        title = f"{program.__name__}: NumPy's time / cwrapjit's"
        targets.append(common.target(title, ">= 1", round(ratio, 2), ratio >= 1))
    common.table("ms", ["", *COLUMNS], rows)
    common.table("first result of 1e3 numbers, ms", ["", OWN, NUMBA], first_results(peers))
    common.print_targets(targets, given)
    common.save("jit", {"fastest_s": results, "targets": targets}, given)
    return 0


if __name__ == "__main__":
    sys.exit(main())
