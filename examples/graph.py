"""How much could a share lose within ten days? A small risk model as a graph of types and ops.

The prices are the 1047 days of Google's share that matplotlib ships as sample data. The model is the one of
RiskMetrics: the variance of a day is a moving average that forgets by 6 % a day, so each day needs the
result of the day before. That is a loop, written as a custom op in C; all other formulas are built-in ops:

    now, before  ->  r = log(now / before)  ->  variance = ewma(r * r, decay)
    volatility = sqrt(252 * variance)
    at_risk    = now * (1 - exp(-1.645 * sqrt(days * variance)))       (95 % of outcomes lose less)

link() compiles the graph to one C function. The same model in NumPy checks the results. If PyTensor is
installed, it gets the same graph with the same C text in its op, and both times are printed.
"""

import atexit
import os
import shutil
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import cwrapjit
import cwrapjit.graph as cg

DECAY, DAYS = 0.94, 10.0
TOLERANCE = 1e-12

EWMA_C = r"""
    npy_intp n = PyArray_DIMS({x})[0];
    double mean;
    if (n < 1) {{
        PyErr_SetString(PyExc_ValueError, "no returns");
        {fail}
    }}
    if (!{z} || PyArray_DIMS({z})[0] != n) {{
        Py_XDECREF({z});
        {z} = (PyArrayObject *)PyArray_EMPTY(1, &n, NPY_DOUBLE, 0);
        if (!{z})
            {fail}
    }}
    mean = *(double *)PyArray_GETPTR1({x}, 0);
    for (npy_intp i = 0; i < n; i++) {{
        mean = {decay} * mean + (1 - {decay}) * *(double *)PyArray_GETPTR1({x}, i);
        *(double *)PyArray_GETPTR1({z}, i) = mean;
    }}
"""


class Ewma(cg.COp):
    """The moving average of a vector that forgets by 1 - decay with each item."""

    def c_code(self, node: Any, name: str, inputs: Any, outputs: Any, sub: Any) -> str:
        x, decay = inputs
        return EWMA_C.format(x=x, decay=decay, z=outputs[0], fail=sub["fail"])


def by_cwrapjit() -> Callable[..., Any]:
    vector = cg.ndarray("float64", 1)
    now, before = vector("now"), vector("before")
    decay, days = cg.float64("decay"), cg.float64("days")
    log_ratio = cg.elementwise("a, b", "log(a / b)")
    volatility_of = cg.elementwise("v", "sqrt(252 * v)")
    loss_of = cg.elementwise("v, days", "1 - exp(-1.645 * sqrt(days * v))")

    r = log_ratio(now, before)
    variance = Ewma()(r * r, decay)
    return cwrapjit.link(
        [now, before, decay, days], [volatility_of(variance), now * loss_of(variance, days)], name="risk"
    )


def by_numpy(now: Any, before: Any, decay: float, days: float) -> tuple[Any, Any]:
    r = np.log(now / before)
    squares = (r * r).tolist()
    mean = squares[0]
    means = []
    for square in squares:
        mean = decay * mean + (1 - decay) * square
        means.append(mean)
    variance = np.array(means)
    return np.sqrt(252 * variance), now * (1 - np.exp(-1.645 * np.sqrt(days * variance)))


def pytensor_linker() -> Callable[[], Callable[..., Any]]:
    """What links the same graph by PyTensor's C linker, which has compiled something else before."""
    import pytensor
    import pytensor.scalar as ps
    import pytensor.tensor as pt
    from pytensor.compile.mode import Mode
    from pytensor.graph.basic import Apply
    from pytensor.link.c.op import COp

    class Ewma(COp):
        __props__ = ()

        def make_node(self, x: Any, decay: Any) -> Any:
            return Apply(self, [x, decay], [x.type()])

        def perform(self, node: Any, inputs: Any, output_storage: Any) -> None:
            raise NotImplementedError

        def c_code(self, node: Any, name: str, inputs: Any, outputs: Any, sub: Any) -> str:
            x, decay = inputs
            return EWMA_C.format(x=x, decay=decay, z=outputs[0], fail=sub["fail"])

    now, before, days, decay = (
        pt.dvector("now"),
        pt.dvector("before"),
        pt.dscalar("days"),
        ps.float64("decay"),
    )
    r = pt.log(now / before)
    variance = Ewma()(r * r, decay)
    outputs = [pt.sqrt(252 * variance), now * (1 - pt.exp(-1.645 * pt.sqrt(days * variance)))]
    mode = Mode("c")
    pytensor.function([now], now + 1, mode=mode)
    return lambda: pytensor.function([now, before, decay, days], outputs, mode=mode)


def load_prices() -> Any:
    """Closing prices, one a day; without matplotlib a random walk of the same length."""
    try:
        from matplotlib.cbook import get_sample_data
    except ImportError:
        steps = np.random.default_rng(4).normal(0.001, 0.02, 1046)
        return 100 * np.exp(np.concatenate([[0.0], np.cumsum(steps)]))
    with get_sample_data("goog.npz") as sample:
        return np.ascontiguousarray(sample["price_data"]["adj_close"])


def milliseconds(make: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    made = make()
    return made, 1e3 * (time.perf_counter() - start)


def microseconds_per_call(call: Callable[[], Any]) -> float:
    for _ in range(200):
        call()
    rounds = []
    for _ in range(15):
        start = time.perf_counter()
        for _ in range(20):
            call()
        rounds.append((time.perf_counter() - start) / 20)
    return 1e6 * statistics.median(rounds)


def beside_pytensor(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Prints PyTensor's times; its results, none where it is not installed."""
    folder = tempfile.mkdtemp(prefix="cwrapjit-example-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)  # behind what PyTensor does at exit
    os.environ["PYTENSOR_FLAGS"] = f"base_compiledir={folder}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            peer, peer_ms = milliseconds(pytensor_linker())
        except ImportError as error:
            print(f"(PyTensor is left out: {error})")
            return ()
    print(f"{'PyTensor':18} {peer_ms:7.0f} ms {microseconds_per_call(lambda: peer(*arguments)):7.1f} us")
    return tuple(peer(*arguments))


def main() -> int:
    prices = load_prices()
    arguments = (prices[1:], prices[:-1], DECAY, DAYS)  # two views of one array: nothing is copied
    risk = by_cwrapjit()  # the first one loads libtcc and a few modules
    link_ms = statistics.median(milliseconds(by_cwrapjit)[1] for _ in range(9))
    volatility, at_risk = risk(*arguments)
    wanted = by_numpy(*arguments)
    print(f"{len(prices)} days; on the last one, at {prices[-1]:.2f}")
    print(f"  volatility         {volatility[-1]:.1%} a year")
    print(f"  at risk            {at_risk[-1]:.2f} within {DAYS:.0f} days")

    print(f"\n{'':18} {'link':>10} {'call':>10}")
    risk.wait()  # for the cc tier, which otherwise comes in the background
    print(f"{'cwrapjit':18} {link_ms:7.2f} ms {microseconds_per_call(lambda: risk(*arguments)):7.1f} us")
    wanted = (*wanted, *beside_pytensor(arguments))
    print(f"{'NumPy':18} {'':10} {microseconds_per_call(lambda: by_numpy(*arguments)):7.1f} us")

    got = (volatility, at_risk) * (len(wanted) // 2)
    difference = max(np.max(np.abs(g - w) / np.abs(w)) for g, w in zip(got, wanted, strict=True))
    print(f"\nlargest difference {difference:.1e}")
    return 0 if difference <= TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main())
