"""Complex numbers and float16 over 1e6 elements, beside NumPy and numba.

numba has no float16 here, and LLVM may fuse its products. NumPy has its own vector code for products and
absolute values. Results therefore agree to a few units in the last place.
"""

import sys
from typing import Any

import _common as common
import _race as race
import numpy as np

import cwrapjit

BUDGET_S = 1.5
OWN, FIRST = "cwrapjit", "tcc tier"
PEERS = ("NumPy", "numba")

# Title: C's expression of x and y, NumPy's function, and Python's for numba, if it has one
OPERATIONS = {
    "x + y": ("cadd(item__x(), item__y())", np.add, "x + y"),
    "x * y": ("cmul(item__x(), item__y())", np.multiply, "x * y"),
    "x / y": ("cdiv(item__x(), item__y())", np.divide, "x / y"),
    "x < y": ("clt(item__x(), item__y())", np.less, None),
    "abs(x)": ("cabs(item__x())", np.abs, "abs(x)"),
    "exp(x)": ("cexp(item__x())", np.exp, "np.exp(x)"),
    "log(x)": ("clog(item__x())", np.log, "np.log(x)"),
    "sqrt(x)": ("csqrt(item__x())", np.sqrt, "np.sqrt(x)"),
    "sin(x)": ("csin(item__x())", np.sin, "np.sin(x)"),
    "x ** y": ("cpow(item__x(), item__y())", np.power, "x ** y"),
}
CONVERSIONS = {
    "float16 to float32": (np.float16, np.float32, "half_to_float(item__x())"),
    "float32 to float16": (np.float32, np.float16, "float_to_half(item__x())"),
    "float64 to float16": (np.float64, np.float16, "float_to_half(item__x())"),
}


def functions(expression: str, types: tuple[Any, ...], names: str) -> dict[str, Any]:
    """The function that gets hot, and one that stays in the tcc tier."""
    signature = ", ".join(f"{name}()" for name in names) + " -> out()"
    code = {types: f"item__out() = {expression}; return true;"}
    return {
        OWN: cwrapjit.function("f", signature=signature, Ccode_slice_eval=code),
        FIRST: cwrapjit.function("f", signature=signature, Ccode_slice_eval=code, optimize="off"),
    }


def by_numba(numba: Any, python: str, names: str) -> Any:
    made: dict[str, Any] = {"np": np}
    exec(f"def f({', '.join(names)}): return {python}", made)
    return numba.vectorize()(made["f"])


def timed(
    actions: dict[str, Any], hot: Any, out: np.ndarray, wanted: np.ndarray, quick: bool
) -> dict[str, float]:
    race.heat(hot, actions[OWN])
    for name, action in actions.items():
        action()
        np.testing.assert_allclose(out, wanted, rtol=1e-4, err_msg=name)
    return race.medians(race.race(actions, BUDGET_S, quick))


def operation(title: str, dtype: Any, size: int, numba: Any, quick: bool) -> dict[str, float]:
    expression, ufunc, python = OPERATIONS[title]
    rng = np.random.default_rng(3)
    arrays = [(rng.normal(size=size) + 1j * rng.normal(size=size)).astype(dtype) for _ in range(ufunc.nin)]
    names, wanted = "xy"[: ufunc.nin], ufunc(*arrays)
    out = np.empty_like(wanted)
    made = functions(expression, (*[dtype] * ufunc.nin, out.dtype.type), names)
    if numba and python:
        made["numba"] = by_numba(numba, python, names)
    made["NumPy"] = ufunc
    actions = {name: lambda f=f: f(*arrays, out=out) for name, f in made.items()}
    return timed(actions, made[OWN], out, wanted, quick)


def conversion(title: str, size: int, quick: bool) -> dict[str, float]:
    given, result, expression = CONVERSIONS[title]
    x = np.random.default_rng(3).normal(size=size).astype(given)
    out = np.empty(size, result)
    made = functions(expression, (given, result), "x")
    actions = {name: lambda f=f: f(x, out=out) for name, f in made.items()}
    actions["NumPy"] = lambda: np.copyto(out, x, casting="unsafe")
    return timed(actions, made[OWN], out, x.astype(result), quick)


def main() -> int:
    given = common.arguments(__doc__.splitlines()[0])
    numba = common.optional("numba")
    size = 10_000 if given.quick else 1_000_000
    results, targets = {}, []
    for dtype in (np.complex64, np.complex128):
        for title in OPERATIONS:
            results[f"{title}, {dtype.__name__}"] = operation(title, dtype, size, numba, given.quick)
    for title in CONVERSIONS:
        results[title] = conversion(title, size, given.quick)
    columns = [OWN, *PEERS, FIRST]
    rows = []
    for title, times in results.items():
        rows.append([title, *(f"{1e3 * times[name]:.2f}" if name in times else "" for name in columns)])
        ratio = times[OWN] / times["NumPy"]
        targets.append(common.target(f"{title}: time / NumPy's", "<= 1.1", round(ratio, 2), ratio <= 1.1))
    common.table("1e6 elements, ms", ["", *columns], rows)
    common.print_targets(targets, given)
    common.save("complex", {"median_s": results, "targets": targets}, given)
    return 0


if __name__ == "__main__":
    sys.exit(main())
