"""jit() beside NumPy, numexpr, numba, JAX and PyTensor, on one thread.

    runs       programs on 1e5 float64, exact and with fastmath; numba gets loops written by hand
    first      seconds from the decorator to the first result, of 1e3 and of 1e5 numbers
    calls      a call with numbers and with arrays of 3, beside its kernel alone
    planning   a trace of 10,000 nodes, and link() of six ops beside three definitions

The programs are written once, on the names of NumPy, which JAX and PyTensor have, too. Peers that are not
installed are left out, and numexpr where it has no such program.
"""

import itertools
import math
import os
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import _common as common
import _race as race
import numpy as np
from graph import find_pytensor

import cwrapjit
import cwrapjit.graph as cg

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["JAX_ENABLE_X64"], os.environ["JAX_PLATFORMS"] = "1", "cpu"

BUDGET_S = 1.0
NODES, PLAN_S = 10_000, 5.0
CALL_NS, CALLS = 250, 1000
OWN, FAST, NUMPY, NUMEXPR, NUMBA, NUMBA_FAST = "exact", "fastmath", "NumPy", "numexpr", "numba", "numba fast"
JAX, PYTENSOR = "JAX", "PyTensor"
COLUMNS = [OWN, FAST, NUMPY, NUMEXPR, NUMBA, NUMBA_FAST, JAX, PYTENSOR]
SEEDS = itertools.count(1)


# ---- the programs ------------------------------------------------------------------------------------


def programs(np: Any) -> SimpleNamespace:
    """The programs for a module with NumPy's names."""

    def likelihood(x: Any, y: Any) -> Any:
        p = 1 / (1 + np.exp(-(0.3 + 1.7 * x)))
        return -np.mean(y * np.log(p) + (1 - y) * np.log(1 - p))

    def cdf(d: Any) -> Any:
        t = 1 / (1 + 0.2316419 * np.abs(d))
        poly = t * (
            0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429)))
        )
        tail = 0.3989422804014327 * np.exp(-0.5 * d * d) * poly
        return np.where(d > 0, 1 - tail, tail)

    def black_scholes(spot: Any, time: Any) -> Any:
        root = np.sqrt(time)
        d = (np.log(spot / 95) + 0.06 * time) / (0.2 * root)
        return spot * cdf(d) - 95 * np.exp(-0.04 * time) * cdf(d - 0.2 * root)

    def layer(x: Any, w: Any, b: Any) -> Any:
        return np.tanh(np.dot(x, w) + b)

    def cross_entropy(x: Any, y: Any) -> Any:
        shifted = x - np.max(x, axis=-1, keepdims=True)
        total = np.log(np.sum(np.exp(shifted), axis=-1))
        return np.mean(total - np.sum(y * shifted, axis=-1))

    def five_points(u: Any) -> Any:
        near = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
        return u[1:-1, 1:-1] + 0.2 * (near - 4 * u[1:-1, 1:-1])

    def masked(x: Any, y: Any) -> Any:
        re, im, count = x, y, 0 * x
        for _ in range(20):
            is_in = re * re + im * im < 4
            re, im = np.where(is_in, re * re - im * im + x, re), np.where(is_in, 2 * re * im + y, im)
            count = count + np.where(is_in, 1.0, 0.0)
        return count

    return SimpleNamespace(
        likelihood=likelihood,
        black_scholes=black_scholes,
        layer=layer,
        cross_entropy=cross_entropy,
        five_points=five_points,
        masked=masked,
    )


def loops(np: Any = np) -> SimpleNamespace:
    """The same programs as loops, for numba."""
    exp, log, sqrt, tanh = math.exp, math.log, math.sqrt, math.tanh

    def likelihood(x: Any, y: Any) -> Any:
        total = 0.0
        for i in range(x.size):
            p = 1 / (1 + exp(-(0.3 + 1.7 * x[i])))
            total += y[i] * log(p) + (1 - y[i]) * log(1 - p)
        return -total / x.size

    def black_scholes(spot: Any, time: Any) -> Any:
        made = np.empty_like(spot)
        for i in range(spot.size):
            s, root = spot[i], sqrt(time[i])
            d = (log(s / 95) + 0.06 * time[i]) / (0.2 * root)
            value = 0.0
            for k in range(2):
                e = d - k * 0.2 * root
                t = 1 / (1 + 0.2316419 * abs(e))
                poly = t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429)))
                tail = 0.3989422804014327 * exp(-0.5 * e * e) * t * (0.319381530 + poly)
                share = 1 - tail if e > 0 else tail
                value += s * share if k == 0 else -95 * exp(-0.04 * time[i]) * share
            made[i] = value
        return made

    def layer(x: Any, w: Any, b: Any) -> Any:
        made = np.dot(x, w)
        for i in range(made.shape[0]):
            for j in range(made.shape[1]):
                made[i, j] = tanh(made[i, j] + b[j])
        return made

    def cross_entropy(x: Any, y: Any) -> Any:
        total = 0.0
        for i in range(x.shape[0]):
            most = x[i, 0]
            for j in range(x.shape[1]):
                most = max(most, x[i, j])
            exps = right = 0.0
            for j in range(x.shape[1]):
                exps += exp(x[i, j] - most)
                right += y[i, j] * (x[i, j] - most)
            total += log(exps) - right
        return total / x.shape[0]

    def five_points(u: Any) -> Any:
        made = np.empty((u.shape[0] - 2, u.shape[1] - 2))
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                near = u[i + 1, j] + u[i - 1, j] + u[i, j + 1] + u[i, j - 1]
                made[i - 1, j - 1] = u[i, j] + 0.2 * (near - 4 * u[i, j])
        return made

    def masked(x: Any, y: Any) -> Any:
        made = np.empty_like(x)
        for i in range(x.size):
            re, im, count = x[i], y[i], 0.0
            for _ in range(20):
                if re * re + im * im < 4:
                    re, im = re * re - im * im + x[i], 2 * re * im + y[i]
                    count += 1
            made[i] = count
        return made

    return SimpleNamespace(**locals())


PRICE = "spot * ({0}) - 95 * exp(-0.04 * time) * ({1})"
TAIL = (
    "0.3989422804014327 * exp(-0.5 * d{0} * d{0}) * t{0} * (0.319381530 + t{0} * (-0.356563782 + t{0} * "
    + ("(1.781477937 + t{0} * (-1.821255978 + t{0} * 1.330274429))))")
)


def numexpr_of(name: str, ne: Any) -> Callable[..., Any] | None:
    """The program for numexpr, which has no assignments: each statement is a call."""

    def likelihood(x: Any, y: Any) -> Any:
        p = ne.evaluate("1 / (1 + exp(-(0.3 + 1.7 * x)))")
        return -ne.evaluate("sum(y * log(p) + (1 - y) * log(1 - p))", {"y": y, "p": p}) / x.size

    def black_scholes(spot: Any, time: Any) -> Any:
        d0 = ne.evaluate("(log(spot / 95) + 0.06 * time) / (0.2 * sqrt(time))")
        given = {"spot": spot, "time": time, "d0": d0, "d1": ne.evaluate("d0 - 0.2 * sqrt(time)")}
        for k in "01":
            given[f"t{k}"] = ne.evaluate(f"1 / (1 + 0.2316419 * abs(d{k}))", given)
        shares = [f"where(d{k} > 0, 1 - {TAIL.format(k)}, {TAIL.format(k)})" for k in "01"]
        return ne.evaluate(PRICE.format(*shares), given)

    def five_points(u: Any) -> Any:
        given = {
            "c": u[1:-1, 1:-1], "n": u[:-2, 1:-1], "s": u[2:, 1:-1], "w": u[1:-1, :-2], "e": u[1:-1, 2:],
        }  # fmt: skip
        return ne.evaluate("c + 0.2 * (s + n + e + w - 4 * c)", given)

    found: Callable[..., Any] | None = locals().get(name)
    return found


def arguments_of(n: int) -> dict[str, tuple[Any, ...]]:
    """The arguments of each program, with about n elements."""
    rng = np.random.default_rng(1)
    wide = min(100, max(4, math.isqrt(n) // 2))
    rows, side = max(1, n // wide), math.isqrt(n) + 2
    matrix = rng.normal(size=(rows, wide))
    return {
        "likelihood": (rng.normal(size=n), rng.integers(0, 2, n).astype(float)),
        "black_scholes": (80 + 40 * rng.random(n), 0.1 + 2 * rng.random(n)),
        "layer": (matrix, rng.normal(size=(wide, wide)) / wide, rng.normal(size=wide)),
        "cross_entropy": (matrix, np.eye(wide)[rng.integers(0, wide, rows)]),
        "five_points": (rng.random((side, side)),),
        "masked": (3 * rng.random(n) - 2, 2 * rng.random(n) - 1),
    }


# ---- the contenders ----------------------------------------------------------------------------------


def find_peers() -> SimpleNamespace:
    peers = SimpleNamespace(numba=common.optional("numba"), numexpr=common.optional("numexpr"))
    peers.jax, peers.pytensor = common.optional("jax"), None
    if peers.numexpr:
        peers.numexpr.set_num_threads(1)
    if find_pytensor() is not None:
        peers.pytensor = common.optional("pytensor.tensor")
    return peers


def makers(name: str, args: tuple[Any, ...], peers: SimpleNamespace) -> dict[str, Callable[[], Any]]:
    """For each contender, what makes its function anew: a callable without arguments."""

    def bound(function: Any, given: Any = args) -> Callable[[], Any]:
        return lambda: function(*given)

    def of_jax() -> Callable[[], Any]:
        function = peers.jax.jit(getattr(programs(peers.jax.numpy), name))
        given = [peers.jax.numpy.asarray(each) for each in args]
        return lambda: function(*given).block_until_ready()

    def of_pytensor() -> Callable[[], Any]:
        import pytensor

        inputs = [peers.pytensor.TensorType("float64", (None,) * each.ndim)() for each in args]
        return bound(pytensor.function(inputs, getattr(programs(peers.pytensor), name)(*inputs)))

    made: dict[str, Callable[[], Any]] = {
        OWN: lambda: bound(cwrapjit.jit(getattr(programs(np), name))),
        FAST: lambda: bound(cwrapjit.jit(fastmath=True)(getattr(programs(np), name))),
        NUMPY: lambda: bound(getattr(programs(np), name)),
    }
    if peers.numexpr and numexpr_of(name, peers.numexpr):
        made[NUMEXPR] = lambda: bound(numexpr_of(name, peers.numexpr))
    if peers.numba:
        made[NUMBA] = lambda: bound(peers.numba.njit(getattr(loops(), name)))
        made[NUMBA_FAST] = lambda: bound(peers.numba.njit(fastmath=True)(getattr(loops(), name)))
    if peers.jax:
        made[JAX] = of_jax
    if peers.pytensor and name != "masked":  # whose trace takes it a minute
        made[PYTENSOR] = of_pytensor
    return made


def heat(action: Callable[[], Any], quick: bool) -> None:
    """Brings our own kernels into the cc tier."""
    jitted = getattr(action, "__closure__", None)
    for cell in jitted or ():
        if not quick and hasattr(cell.cell_contents, "wait"):
            race.heat(cell.cell_contents, action)


# ---- runs --------------------------------------------------------------------------------------------


def run_times(peers: SimpleNamespace, given: Any) -> tuple[dict[str, dict[str, float]], list[dict[str, Any]]]:
    """Seconds per call of each program. Gradients are not among them yet."""
    times, rows, targets = {}, [], []
    for name, args in arguments_of(1000 if given.quick else 100_000).items():
        actions = {who: make() for who, make in makers(name, args, peers).items()}
        wanted = getattr(programs(np), name)(*args)
        for who, action in actions.items():
            np.testing.assert_allclose(action(), wanted, rtol=1e-7, atol=1e-9, err_msg=f"{who}, {name}")
            heat(action, given.quick)
        best = times[name] = race.fastest(race.race(actions, BUDGET_S, given.quick))
        rows.append([name, *(f"{1e3 * best[who]:.3f}" if who in best else "" for who in COLUMNS)])
        rivals = [best[who] for who in (NUMPY, NUMEXPR, NUMBA_FAST, JAX, NUMBA) if who in best]
        for title, ratio, least in (
            ("fastmath: the fastest of the others / cwrapjit", min(rivals) / best[FAST], common.LEVEL),
            ("exact: NumPy / cwrapjit", best[NUMPY] / best[OWN], 1.0),
            ("exact: numba's loop / cwrapjit", best[NUMBA] / best[OWN] if NUMBA in best else None, 0.95),
        ):
            if ratio is not None:
                targets.append(common.target(f"{name}, {title}", f">= {least}", ratio, ratio >= least))
    common.table("runs, ms", ["", *COLUMNS], rows)
    return times, targets


# ---- first results -----------------------------------------------------------------------------------


def first_results(
    peers: SimpleNamespace, quick: bool
) -> tuple[dict[str, dict[str, float]], list[dict[str, Any]]]:
    """Seconds from the decorator to the first result."""
    shown = [OWN, NUMBA, JAX]
    times, rows, targets = {}, [], []
    for n, least in ((1_000, 20), (100_000, 10)):
        for name in ("likelihood", "black_scholes", "cross_entropy"):
            made = makers(name, arguments_of(n)[name], peers)
            best = times[f"{name}, {n}"] = {
                who: min(
                    race.seconds_of(lambda who=who, made=made: made[who]()())
                    for _ in range(1 if quick else 3)
                )
                for who in shown
                if who in made
            }
            rows.append([f"{name}, {n}", *(f"{1e3 * best[who]:.1f}" if who in best else "" for who in shown)])
            for who in shown[1:]:
                if who in best:
                    ratio = best[who] / best[OWN]
                    title = f"first result of {name}, {n}: {who} / cwrapjit"
                    targets.append(common.target(title, f">= {least}", ratio, ratio >= least))
    common.table("first result, ms", ["", *shown], rows)
    return times, targets


# ---- calls -------------------------------------------------------------------------------------------


def one_kernel(x: Any, y: Any) -> Any:
    return np.hypot(x, y) + np.add(x, y)


def two_kernels(x: Any, y: Any) -> Any:
    z = np.hypot(x, y)
    return np.sqrt(z[::-1]) + np.add(x, y)


def many(f: Any, a: Any, b: Any) -> Callable[[], None]:
    def run() -> None:
        for _ in range(CALLS):
            f(a, b)

    run()  # compiles, for numba
    return run


def call_times(peers: SimpleNamespace, quick: bool) -> tuple[dict[str, float], list[dict[str, Any]]]:
    x = np.arange(3.0)
    actions: dict[str, Callable[[], Any]] = {}
    for function, name, (a, b) in (
        (one_kernel, "numbers", (1.0, 2.0)),
        (one_kernel, "arrays of 3", (x, x)),
        (two_kernels, "arrays of 3, two kernels", (x, x)),
    ):
        jitted = cwrapjit.jit(function)
        actions[name] = many(jitted, a, b)
        if not quick:
            race.heat(jitted, actions[name])
        if function is one_kernel:
            actions[f"{name}, its kernel"] = many(jitted.kernels[0], a, b)
        if peers.numba:
            actions[f"{name}, numba"] = many(peers.numba.njit(function), a, b)
    best = race.fastest(race.race(actions, BUDGET_S, quick))
    best = {name: seconds / CALLS for name, seconds in best.items()}
    common.table("calls, ns", ["", "ns"], [[name, f"{1e9 * each:.0f}"] for name, each in best.items()])
    figure, measured = "a call with numbers, ns", 1e9 * best["numbers"]
    return best, [common.target(figure, f"<= {CALL_NS}", measured, measured <= CALL_NS)]


# ---- planning ----------------------------------------------------------------------------------------


def chain(x: Any) -> Any:
    for _ in range(NODES // 2):
        x = x * 0.5 + 1
    return x


def fan(x: Any) -> Any:
    return sum([x + k for k in range(NODES // 2)])


def link_six() -> None:
    bias = float(next(SEEDS))
    x, y = cg.float64("x"), cg.float64("y")
    z = ((x + y) * bias - x) * y + bias
    if cwrapjit.link([x, y], z + x)(1.0, 2.0) <= 0:
        raise SystemExit("wrong result")


def define_three() -> None:
    for _ in range(3):
        bias = float(next(SEEDS))
        if cwrapjit.vectorize(f"double f(double x, double y) {{ return x * y + {bias}; }}")(1.0, 2.0) <= 0:
            raise SystemExit("wrong result")


def planning(quick: bool) -> tuple[dict[str, float], list[dict[str, Any]]]:
    x = np.arange(10.0)
    seconds = {
        f.__name__: race.seconds_of(lambda f=f: cwrapjit.jit(optimize="off")(f)(x)) for f in (chain, fan)
    }
    targets = [
        common.target(f"{NODES} nodes, a {name}, s", f"< {PLAN_S}", each, each < PLAN_S)
        for name, each in seconds.items()
    ]
    actions = {"link() of six ops": link_six, "three definitions": define_three}
    best = race.fastest(race.race(actions, BUDGET_S, quick))
    ratio = best["link() of six ops"] / best["three definitions"]
    targets.append(common.target("link() of six ops / three definitions", "<= 1", ratio, ratio <= 1))
    rows = [[name, f"{1e3 * each:.2f}"] for name, each in (seconds | best).items()]
    common.table("planning, ms", ["", "ms"], rows)
    return seconds | best, targets


def main() -> int:
    given = common.arguments(__doc__.splitlines()[0])
    peers = find_peers()
    results: dict[str, Any] = {}
    targets: list[dict[str, Any]] = []
    for name, (times, rows) in (
        ("calls_s", call_times(peers, given.quick)),
        ("planning_s", planning(given.quick)),
        ("first_s", first_results(peers, given.quick)),
        ("fastest_s", run_times(peers, given)),
    ):
        results[name] = times
        targets += rows
    common.print_targets(targets, given)
    common.save("jit", {**results, "targets": targets}, given)
    return 0


if __name__ == "__main__":
    sys.exit(main())
