"""Times several contenders side by side."""

import random
import statistics
import time
from collections.abc import Callable
from typing import Any

BLOCK_S = 1e-3  # at least so long is one measurement of each contender, and as long as one run of the slowest
LONG_S = 50e-3  # but no longer, unless a single run is
FEW, MANY = 5, 60  # rounds
WAIT_S = 60.0


def seconds_of(action: Callable[[], Any], number: int = 1) -> float:
    start = time.perf_counter_ns()
    for _ in range(number):
        action()
    return (time.perf_counter_ns() - start) * 1e-9 / number


def race(actions: dict[str, Callable[[], Any]], budget: float, quick: bool = False) -> dict[str, list[float]]:
    """Seconds per call of each action: rounds in which each runs for the same time, each time in another
    order, for about `budget` seconds."""
    first = {name: seconds_of(action) for name, action in actions.items()}
    if quick:
        return {name: [value] for name, value in first.items()}
    block = min(max(BLOCK_S, *first.values()), LONG_S)
    number = {name: max(1, round(block / value)) for name, value in first.items()}
    cost = sum(number[name] * value for name, value in first.items())
    rounds = max(FEW, min(MANY, int(budget / cost)))
    times: dict[str, list[float]] = {name: [] for name in actions}
    order = random.Random(4)
    for _ in range(rounds):
        for name in order.sample(list(actions), len(actions)):
            times[name].append(seconds_of(actions[name], number[name]))
    return times


def medians(times: dict[str, list[float]]) -> dict[str, float]:
    return {name: statistics.median(values) for name, values in times.items() if values}


def fastest(times: dict[str, list[float]]) -> dict[str, float]:
    return {name: min(values) for name, values in times.items() if values}


def unrest(times: dict[str, list[float]]) -> float:
    """How far the medians are above the fastest, as a factor: 1 on a machine that does nothing else."""
    return statistics.median(statistics.median(values) / min(values) for values in times.values())


# ---- cwrapjit's tiers ----------------------------------------------------------------------------


def heat(function: Any, call: Callable[[], Any]) -> bool:
    """Into the cc tier, with what calls have in common as constants. False: there is none."""
    call()
    if not function.wait(WAIT_S):
        return False
    end = time.perf_counter() + 0.1
    for turn in range(10_000):
        call()
        if turn >= 3 and time.perf_counter() > end:
            break
    return bool(function.wait(WAIT_S))
