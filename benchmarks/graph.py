"""Graphs of types and ops: the time of link(), the cost of a call, and the growth of both.

    link    a chain of 10 operations on doubles, with a new text, to its first result
    call    one addition of two doubles
    chain   link() of 10 to 3000 operations
    arrays  a*b + c over a million float64: two ops in a graph, against function() with the same expression
    members an op that goes over an array by PyArray_GETPTR1, the moving average of docs/graphs.md

PyTensor gets exactly the same graph: `classes` makes types and ops from either library's base classes, with
the same C text. Its C linker compiles in a temporary folder, in a process that has compiled before. It
caches compiled code, so "known" graphs, whose text both libraries have seen before, are timed as well.
"""

import atexit
import itertools
import os
import shutil
import sys
import tempfile
import tracemalloc
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import _common as common
import _race as race
import numpy as np

import cwrapjit
import cwrapjit.graph as cg

LINK_MS, LINK_TIMES = 3.0, 100
CALL_SHARE = 0.2
CHAIN = 300
SLOPE = 1.1  # of log(time) over log(nodes)
ARRAYS_SHARE, ITEMS = 1.2, 10**6
MEMBERS_SHARE, STEPS = 1.05, 10**5
BUDGET_S = 2.0
SEEDS = itertools.count(1)


# ---- the same types and ops on either library's classes ------------------------------------------


class Double:
    """A double, as the protocol's documentation writes it."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def filter(self, data: Any, strict: bool = False, allow_downcast: Any = None) -> float:
        if strict and not isinstance(data, float):
            raise TypeError("Expected a float!")
        return float(data)

    def c_declare(self, name: str, sub: Any, check_input: bool = True) -> str:
        return f"double {name};"

    def c_init(self, name: str, sub: Any) -> str:
        return f"{name} = 0.0;"

    def c_extract(self, name: str, sub: Any, check_input: bool = True, **kwargs: Any) -> str:
        return f"""
        if (!PyFloat_Check(py_{name})) {{
            PyErr_SetString(PyExc_TypeError, "expected a float");
            {sub["fail"]}
        }}
        {name} = PyFloat_AsDouble(py_{name});
        """

    def c_sync(self, name: str, sub: Any) -> str:
        return f"""
        Py_XDECREF(py_{name});
        py_{name} = PyFloat_FromDouble({name});
        if (!py_{name}) {{
            Py_XINCREF(Py_None);
            py_{name} = Py_None;
        }}
        """

    def c_cleanup(self, name: str, sub: Any) -> str:
        return ""

    def c_code_cache_version(self) -> tuple[int, ...]:
        return (1,)


class Step:
    """z = x SIGN y + bias; the bias makes each text a new one."""

    __props__ = ("sign", "bias")

    def __init__(self, sign: str, bias: float = 0.0) -> None:
        self.sign = sign
        self.bias = bias

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), self.sign, self.bias))

    def perform(self, node: Any, inputs: Any, output_storage: Any) -> None:
        raise NotImplementedError

    def c_code(self, node: Any, name: str, inputs: Any, outputs: Any, sub: Any) -> str:
        return f"{outputs[0]} = {inputs[0]} {self.sign} {inputs[1]} + {self.bias!r};"

    def c_code_cache_version(self) -> tuple[float, ...]:
        return (1, self.bias)


class Ewma:
    """The op of docs/graphs.md, its declarations in front, as C++ wants them."""

    __props__ = ()

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def perform(self, node: Any, inputs: Any, output_storage: Any) -> None:
        raise NotImplementedError

    def c_code(self, node: Any, name: str, inputs: Any, outputs: Any, sub: Any) -> str:
        (x, decay), (z,) = inputs, outputs
        return f"""
            double mean;
            npy_intp n = PyArray_DIMS({x})[0];
            Py_XDECREF({z});
            {z} = (PyArrayObject *)PyArray_SimpleNew(1, &n, NPY_DOUBLE);
            if (!{z}) {sub["fail"]}
            mean = n ? *(double *)PyArray_GETPTR1({x}, 0) : 0;
            for (npy_intp i = 0; i < n; i++) {{
                mean = {decay} * mean + (1 - {decay}) * *(double *)PyArray_GETPTR1({x}, i);
                *(double *)PyArray_GETPTR1({z}, i) = mean;
            }}"""

    def c_code_cache_version(self) -> tuple[Any, ...]:
        return ()


def classes(library: str, ctype: type, cop: type, apply: type) -> SimpleNamespace:
    def make_node(self: Any, x: Any, y: Any) -> Any:
        return apply(self, [x, y], [x.type()])

    def derive(name: str, *bases: type, **attributes: Any) -> Any:
        made = type(library + name, bases, {"__module__": __name__, **attributes})
        globals()[made.__name__] = made  # where PyTensor's cache finds it by its name
        return made

    return SimpleNamespace(
        double=derive("Double", Double, ctype)(),
        Step=derive("Step", Step, cop, make_node=make_node),
        Ewma=derive("Ewma", Ewma, cop, make_node=make_node),
    )


def chain(own: SimpleNamespace, nodes: int, bias: float) -> tuple[Any, Any]:
    """x, y and what comes of `nodes` steps, all of them with the same result."""
    x, y = own.double("x"), own.double("y")
    z = own.Step("+", bias)(x, y)
    for k in range(nodes - 1):
        z = own.Step("-+"[k % 2], bias)(z, y)
    return [x, y], z


def expected(nodes: int, bias: float) -> float:
    z = 1.0 + 2.0 + bias
    for k in range(nodes - 1):
        z = (z - 2.0 if k % 2 == 0 else z + 2.0) + bias
    return z


CWRAPJIT = classes("Own", cg.CType, cg.COp, cg.Apply)


class PyTensor:
    """PyTensor, its classes, and its C linker."""

    def __init__(self) -> None:
        import pytensor
        import pytensor.scalar
        import pytensor.tensor
        from pytensor.compile.mode import Mode
        from pytensor.graph.basic import Apply
        from pytensor.link.c.op import COp
        from pytensor.link.c.type import CType

        self.own = classes("PyTensor", CType, COp, Apply)
        self.scalar = pytensor.scalar.float64
        self.vector = pytensor.tensor.dvector
        self.config = pytensor.config
        self.function = pytensor.function
        self.mode = Mode(linker="c", optimizer=None)
        self.compiles = bool(pytensor.config.cxx)

    def link(self, inputs: Any, output: Any) -> Any:
        return self.function(inputs, output, mode=self.mode)


def find_pytensor() -> PyTensor | None:
    folder = tempfile.mkdtemp(prefix="cwrapjit-bench-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)  # behind what PyTensor does at exit
    os.environ["PYTENSOR_FLAGS"] = f"base_compiledir={folder}"  # read when it is imported
    if common.optional("pytensor") is None:
        return None
    found = PyTensor()
    if not found.compiles:
        print("(pytensor is left out: no C++ compiler)")
    return found if found.compiles else None


# ---- link ----------------------------------------------------------------------------------------


def first_result(
    own: SimpleNamespace, link: Callable[..., Any], nodes: int = 10, known: float | None = None
) -> None:
    bias = float(next(SEEDS)) if known is None else known
    inputs, z = chain(own, nodes, bias)
    got = link(inputs, z)(1.0, 2.0)
    if got != expected(nodes, bias):
        raise SystemExit(f"wrong result: {got}, not {expected(nodes, bias)}")


def ready_types() -> None:
    bias = float(next(SEEDS))
    x, y = cg.float64("x"), cg.float64("y")
    z = x
    for _ in range(5):
        z = (z + y) * bias
    if not cwrapjit.link([x, y], z)(1.0, 2.0) >= 3.0:
        raise SystemExit("wrong result")


def link_time(peer: PyTensor | None, quick: bool) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    actions: dict[str, Callable[[], None]] = {
        "cwrapjit": lambda: first_result(CWRAPJIT, cwrapjit.link),
        "cwrapjit, built-in types": ready_types,
        "cwrapjit, a known graph": lambda: first_result(CWRAPJIT, cwrapjit.link, known=0.5),
    }
    if peer:
        actions["PyTensor, a known graph"] = lambda: first_result(peer.own, peer.link, known=0.5)
        actions["cwrapjit, PyTensor's graph"] = lambda: first_result(peer.own, cwrapjit.link)
        actions["PyTensor"] = lambda: first_result(peer.own, peer.link)
    for warm_up in actions.values():
        warm_up()
    times = common.interleaved(actions, 3 if quick else 200, {"PyTensor": 20})
    medians = {name: common.median(values) for name, values in times.items()}
    base = medians["cwrapjit"]
    common.table(
        "link and first call of 10 operations on doubles",
        ("", "median ms", "fastest ms", "runs", "times cwrapjit"),
        (
            (name, f"{1e3 * medians[name]:.3f}", f"{1e3 * min(v):.3f}", len(v), f"{medians[name] / base:.1f}")
            for name, v in times.items()
        ),
    )
    rows = [
        common.target(
            "link and first call of 10 scalar ops, ms", f"< {LINK_MS}", 1e3 * base, 1e3 * base < LINK_MS
        ),
        target_ratio(
            "the same: PyTensor / cwrapjit",
            f">= {LINK_TIMES}",
            medians["PyTensor"] / base if peer else None,
            lambda ratio: ratio >= LINK_TIMES,
        ),
    ]
    return medians, rows


def target_ratio(
    figure: str, wanted: str, measured: float | None, good: Callable[[float], bool]
) -> dict[str, Any]:
    if measured is None:
        return common.target(figure, wanted, "no PyTensor", None)
    return common.target(figure, wanted, measured, good(measured))


# ---- call ----------------------------------------------------------------------------------------


def call_time(peer: PyTensor | None, quick: bool) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    inputs, z = chain(CWRAPJIT, 1, 0.0)
    own = cwrapjit.link(inputs, z)
    x, y = cg.float64("x"), cg.float64("y")
    ready = cwrapjit.link([x, y], x + y)
    bound = cwrapjit.link(inputs, z).bind([1.0], [2.0], [None])
    actions: dict[str, Callable[[], Any]] = {
        "built-in types": lambda: ready(1.0, 2.0),
        "the protocol's Double, its filter in Python": lambda: own(1.0, 2.0),
        "run() of a bound graph": bound.run,
    }
    if peer:
        inputs, z = chain(peer.own, 1, 0.0)
        call = peer.link(inputs, z)
        trusting = peer.link(inputs, z)
        trusting.trust_input = True
        x, y = peer.scalar("x"), peer.scalar("y")
        scalars = peer.link([x, y], x + y)
        actions["PyTensor, the protocol's Double"] = lambda: call(1.0, 2.0)
        actions["PyTensor, the protocol's Double, trust_input"] = lambda: trusting(1.0, 2.0)
        actions["PyTensor, its float64 scalars"] = lambda: scalars(1.0, 2.0)
        quick_scalars, one, two = peer.link([x, y], x + y), np.float64(1.0), np.float64(2.0)
        quick_scalars.trust_input = True  # takes NumPy's numbers only, unchecked
        actions["PyTensor, its float64 scalars, trust_input"] = lambda: quick_scalars(one, two)
        actions["built-in types, NumPy's numbers"] = lambda: ready(one, two)
    medians = race.medians(race.race(actions, BUDGET_S, quick))
    common.table(
        "one call, two doubles",
        ("", "median ns"),
        ((name, f"{1e9 * value:.0f}") for name, value in medians.items()),
    )
    share = medians["built-in types"] / medians["PyTensor, its float64 scalars"] if peer else None
    rows = [
        target_ratio(
            "call with two doubles, built-in types: cwrapjit / PyTensor",
            f"< {CALL_SHARE}",
            share,
            lambda s: s < CALL_SHARE,
        )
    ]
    return medians, rows


# ---- growth --------------------------------------------------------------------------------------


def growth(quick: bool) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    counts = [10, 30, 100] if quick else [10, 30, 100, CHAIN, 1000, 3000]

    def link_only(count: int) -> Callable[[], None]:
        bias = float(next(SEEDS))
        inputs, z = chain(CWRAPJIT, count, bias)
        return lambda: cwrapjit.link(inputs, z, optimize="off")

    seconds = []
    for count in counts:
        runs = [race.seconds_of(link_only(count)) for _ in range(1 if quick else 7)]
        seconds.append(min(runs))
        first_result(CWRAPJIT, cwrapjit.link, count)
    common.table(
        "time of link()",
        ("operations", "fastest ms", "us each"),
        ((c, f"{1e3 * s:.3f}", f"{1e6 * s / c:.1f}") for c, s in zip(counts, seconds, strict=True)),
    )
    large = slice(1, None)
    slope = float(np.polyfit(np.log(counts[large]), np.log(seconds[large]), 1)[0])
    row = common.target(
        f"slope of link() over {counts[1]} to {counts[-1]} operations", f"<= {SLOPE}", slope, slope <= SLOPE
    )
    return {"counts": counts, "fastest_s": seconds}, [row]


# ---- arrays --------------------------------------------------------------------------------------


def array_time(quick: bool) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    items = 1000 if quick else ITEMS
    a, b, c = (np.random.default_rng(k).random(items) for k in range(3))
    out = np.empty(items)
    whole = cwrapjit.function(
        "muladd",
        signature="a(), b(), c() -> z()",
        Ccode_slice_eval={np.float64: "item__z() = item__a() * item__b() + item__c(); return true;"},
    )
    vector = cg.ndarray("float64", 1)
    va, vb, vc = vector("a"), vector("b"), vector("c")
    graph = cwrapjit.link([va, vb, vc], va * vb + vc)
    flat = graph.bind([a], [b], [c], [None])
    there = race.heat(whole, lambda: whole(a, b, c, out=out)) and race.heat(graph, flat.run)
    flat.run()
    if not np.array_equal(flat.cells[3][0], whole(a, b, c)):
        raise SystemExit("wrong result")
    actions: dict[str, Callable[[], Any]] = {
        "function(), out=": lambda: whole(a, b, c, out=out),
        "graph, run()": flat.run,
        "graph, called": lambda: graph(a, b, c),
        "function(), called": lambda: whole(a, b, c),
        "NumPy": lambda: a * b + c,
    }
    medians = race.medians(race.race(actions, BUDGET_S, quick))
    common.table(
        f"a*b + c over {items} float64" + ("" if there else " (no cc tier)"),
        ("", "median ms"),
        ((name, f"{1e3 * value:.3f}") for name, value in medians.items()),
    )
    share = medians["graph, run()"] / medians["function(), out="]
    allocated = allocated_by(flat)
    rows = [
        common.target(
            "a*b + c as a graph / function(), both hot",
            f"<= {ARRAYS_SHARE}",
            share,
            share <= ARRAYS_SHARE if there else None,
        ),
        common.target("bytes that repeated runs of it allocate", "< 1000", allocated, allocated < 1000),
    ]
    return {**medians, "cc tier": there, "bytes allocated": allocated}, rows


def allocated_by(flat: Any, runs: int = 10) -> int:
    """The most that runs hold of memory beyond what was held before, as Python and NumPy count it."""
    tracemalloc.start()
    flat.run()
    tracemalloc.reset_peak()
    before, _ = tracemalloc.get_traced_memory()
    for _ in range(runs):
        flat.run()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak - before


# ---- members of arrays ---------------------------------------------------------------------------


def member_time(peer: PyTensor | None, quick: bool) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    items = 1000 if quick else STEPS
    x = np.random.default_rng(1).random(items)

    def own(**options: Any) -> tuple[Callable[[], Any], bool]:
        r, decay = cg.ndarray("float64", 1)("r"), cg.float64("decay")
        graph = cwrapjit.link([r, decay], CWRAPJIT.Ewma()(r, decay), **options)
        hot = options.get("optimize") != "off" and race.heat(graph, lambda: graph(x, 0.5))
        return lambda: graph(x, 0.5), hot

    def theirs(flags: str) -> Callable[[], Any]:
        assert peer is not None
        peer.config.gcc__cxxflags = flags
        r, decay = peer.vector("r"), peer.scalar("decay")
        call = peer.link([r, decay], peer.own.Ewma()(r, decay))
        peer.config.gcc__cxxflags = ""
        return lambda: call(x, 0.5)

    first, _ = own(optimize="off")
    plain, there = own()
    fast, _ = own(fastmath=True)
    actions = {"tcc tier": first, "cwrapjit": plain, "cwrapjit, fastmath": fast}
    if peer:
        actions["PyTensor"] = theirs("")  # its flags let the compiler fuse products and sums
        actions["PyTensor, -ffp-contract=off"] = theirs("-ffp-contract=off")
    for name, action in actions.items():
        exact = name in ("tcc tier", "cwrapjit", "PyTensor, -ffp-contract=off")
        if not (np.array_equal if exact else np.allclose)(action(), first()):
            raise SystemExit(f"wrong result: {name}")
    medians = race.medians(race.race(actions, BUDGET_S, quick))
    common.table(
        f"moving average of {items} float64 by PyArray_GETPTR1" + ("" if there else " (no cc tier)"),
        ("", "median us"),
        ((name, f"{1e6 * value:.1f}") for name, value in medians.items()),
    )
    share = medians["cwrapjit"] / medians["PyTensor, -ffp-contract=off"] if peer and there else None
    fused = medians["cwrapjit"] / medians["PyTensor"] if peer and there else "no PyTensor"
    rows = [
        target_ratio(
            "Ewma, same bits: cwrapjit / PyTensor",
            f"<= {MEMBERS_SHARE}",
            share,
            lambda share: share <= MEMBERS_SHARE,
        ),
        common.target("the same: cwrapjit / PyTensor that may fuse, other bits", "-", fused, None),
    ]
    return medians, rows


def main() -> int:
    given = common.arguments("Graphs of types and ops.")
    peer = find_pytensor()
    links, link_rows = link_time(peer, given.quick)
    calls, call_rows = call_time(peer, given.quick)
    chains, chain_rows = growth(given.quick)
    arrays, array_rows = array_time(given.quick)
    members, member_rows = member_time(peer, given.quick)
    rows = [*link_rows, *call_rows, *chain_rows, *array_rows, *member_rows]
    common.print_targets(rows, given)
    results = {"link_median_s": links, "call_median_s": calls, "chain": chains, "arrays_median_s": arrays}
    results["members_median_s"] = members
    common.save("graph", {**results, "targets": rows}, given)
    return 0


if __name__ == "__main__":
    sys.exit(main())
