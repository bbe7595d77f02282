"""Moving windows over images, beside plain C, numba.stencil and scipy.ndimage.

The bound is the plain loop in C over the interior windows, with the flags of cwrapjit's cc tier. cwrapjit's
time includes borders, checks and allocation, the bound's does not. numba's stencils fill the border with
zeros. scipy.ndimage itself computes correlations with any weights; for other functions of a window it calls
Python, or a C function by a pointer, which is not shown.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import _common as common
import _native as native
import _race as race
import numpy as np

import cwrapjit

BUDGET_S = 1.5
OWN, FIRST, BOUND, GCC, NUMBA, SCIPY = "cwrapjit", "tcc tier", "plain C", "gcc -O3", "numba", "scipy"

BLUR = np.array([[1, 2, 1], [2, 4, 2], [1, 2, 1]]) / 16
SUM_C = """
    const ctype__y sum = (X(0,0) + X(0,2) + X(2,0) + X(2,2))
                       + 2*(X(0,1) + X(1,0) + X(1,2) + X(2,1)) + 4*X(1,1);
    Y = sum / 16;
"""
SUM_PY = """
    return (x[-1,-1] + x[-1,1] + x[1,-1] + x[1,1] + 2*(x[-1,0] + x[0,-1] + x[0,1] + x[1,0]) + 4*x[0,0]) / 16
"""
HEAT = np.array([[0, 1, 0], [1, -4, 1], [0, 1, 0]]) * 0.1 + np.array([[0, 0, 0], [0, 1, 0], [0, 0, 0]])
HEAT_C = "Y = X(1,1) + (ctype__y).1*(X(0,1) + X(1,0) + X(1,2) + X(2,1) - 4*X(1,1));"
HEAT_PY = """
    return x[0,0] + x.dtype.type(.1)*(x[-1,0] + x[0,-1] + x[0,1] + x[1,0] - 4*x[0,0])
"""
LIFE_C = """
    const uint8_t near = X(0,0) + X(0,1) + X(0,2) + X(1,0) + X(1,2) + X(2,0) + X(2,1) + X(2,2);
    Y = (near == 3) | ((near == 2) & X(1,1));
"""
LIFE_PY = """
    near = x[-1,-1] + x[-1,0] + x[-1,1] + x[0,-1] + x[0,1] + x[1,-1] + x[1,0] + x[1,1]
    return (near == 3) | ((near == 2) & x[0,0])
"""
RANGE_C = """
    ctype__y low = X(0,0), high = low;
    for(int i = 0; i < 3; i++)
        for(int j = 0; j < 3; j++) {
            const ctype__y v = X(i,j);
            low = v < low ? v : low;
            high = v > high ? v : high;
        }
    Y = high - low;
"""
BLUR5_C = """
    ctype__y sum = 0;
    for(int i = 0; i < 5; i++)
        for(int j = 0; j < 5; j++)
            sum += X(i,j);
    Y = sum / 25;
"""
BLUR5 = np.full((5, 5), 1 / 25)

# Title: C's text, its window, dtype, shape, border; what scipy correlates with; numba's text.
Case = tuple[str, int, type, tuple[int, int], str, np.ndarray | None, str | None]
CASES: dict[str, Case] = {
    "blur 3x3, f8, 1000x1000": (SUM_C, 3, np.float64, (1000, 1000), "reflect", BLUR, SUM_PY),
    "blur 3x3, f4, 1000x1000": (SUM_C, 3, np.float32, (1000, 1000), "reflect", BLUR, SUM_PY),
    "heat, f4, 300x400": (HEAT_C, 3, np.float32, (300, 400), "nearest", HEAT, None),
    "box 5x5, f8, 300x400": (BLUR5_C, 5, np.float64, (300, 400), "mirror", BLUR5, None),
    "range 3x3, u1, 1000x1000": (RANGE_C, 3, np.uint8, (1000, 1000), "nearest", None, None),
    "Game of Life, u1, 1000x1000": (LIFE_C, 3, np.uint8, (1000, 1000), "wrap", None, LIFE_PY),
    "Game of Life, u1, 64x64": (LIFE_C, 3, np.uint8, (64, 64), "wrap", None, LIFE_PY),
}


def plain_c(text: str, size: int, dtype: type) -> str:
    kind = {np.float64: "double", np.float32: "float", np.uint8: "uint8_t"}[dtype]
    return f"""
#define X(i, j) in[(r + (i)) * columns + c + (j)]
#define Y out[(r + {size // 2}) * columns + c + {size // 2}]
void f(const {kind} *restrict in, {kind} *restrict out, ptrdiff_t rows, ptrdiff_t columns)
{{
    typedef {kind} ctype__y;
    for(ptrdiff_t r = 0; r <= rows - {size}; r++)
        for(ptrdiff_t c = 0; c <= columns - {size}; c++) {{ {text} }}
}}"""


def define(text: str, size: int, dtype: type, border: str, **options: Any) -> cwrapjit.Function:
    return cwrapjit.function(
        "f",
        signature="x() -> y()",
        windows={"x": (size, size)},
        border=border,
        header="#define X(i, j) item__x(i, j)\n#define Y item__y()",
        Ccode_slice_eval={dtype: f"{text} return true; /* item__x item__y ctype__y */"},
        **options,
    )


def by_numba(numba: Any, text: str, x: np.ndarray) -> Callable[[], Any]:
    """Into an array of the type that numba finds, which is there before."""
    names: dict[str, Any] = {"np": np}
    exec(f"def kernel(x):{text}", names)
    stencil = numba.stencil(names["kernel"])
    out = numba.njit(lambda x: stencil(x))(x)
    compiled = numba.njit(lambda x, out: stencil(x, out=out))
    return lambda: compiled(x, out)


def measure(title: str, folder: Path, numba: Any, ndimage: Any, quick: bool) -> dict[str, float]:
    text, size, dtype, shape, border, weights, python = CASES[title]
    random = np.random.default_rng(3)
    x = (
        random.integers(0, 2 if "Life" in title else 256, shape)
        if dtype is np.uint8
        else random.normal(size=shape)
    ).astype(dtype)
    out = np.empty_like(x)
    mark = f"w{list(CASES).index(title)}"
    bound = native.build(plain_c(text, size, dtype), f"bound_{mark}", native.tier_flags(False), folder)
    usual = native.build(plain_c(text, size, dtype), f"usual_{mark}", native.usual_flags(False), folder)
    hot = define(text, size, dtype, border)
    first = define(text, size, dtype, border, optimize="off")
    actions: dict[str, Callable[[], Any]] = {
        OWN: lambda: hot(x, out=out),
        FIRST: lambda: first(x, out=out),
        BOUND: native.by_ctypes(bound, "f", (x, out, *shape)),
        GCC: native.by_ctypes(usual, "f", (x, out, *shape)),
    }
    if numba and python:
        actions[NUMBA] = by_numba(numba, python, x)
    if ndimage and weights is not None:
        kernel = weights.astype(dtype)
        actions[SCIPY] = lambda: ndimage.correlate(x, kernel, output=out, mode=border)
    race.heat(hot, actions[OWN])
    wanted = first(x)
    half = size // 2
    inside = (slice(half, -half), slice(half, -half))
    for name, action in actions.items():
        got = action()
        got = got if name == NUMBA else out
        np.testing.assert_allclose(
            got[inside], wanted[inside], rtol=1e-4, atol=1e-4, err_msg=f"{title}: {name}"
        )
    return race.medians(race.race(actions, BUDGET_S, quick))


def main() -> int:
    given = common.arguments(__doc__.splitlines()[0])
    numba = common.optional("numba")
    ndimage = common.optional("scipy.ndimage")
    columns = [OWN, BOUND, GCC, NUMBA, SCIPY, FIRST]
    results, targets, rows = {}, [], []
    with common.scratch() as folder:
        for title in CASES:
            times = measure(title, Path(folder), numba, ndimage, given.quick)
            results[title] = times
            rows.append([title, *(f"{1e3 * times[name]:.4g}" if name in times else "" for name in columns)])
            ratio = times[OWN] / times[BOUND]
            # Inside, 32 bytes are computed at a time, 0.1 ns for each. The 2000 cells of the outer columns,
            # which plain C leaves out, are single ones, each in a cache line of its own: 5 ns, in all a tenth
            # of plain C's time.
            limit = 2.0 if "1000" not in title else 1.3 if "u1" in title else 1.2
            targets.append(
                common.target(f"{title}: time / plain C's", f"<= {limit}", round(ratio, 2), ratio <= limit)
            )
    common.table("a call, ms", ["", *columns], rows)
    common.print_targets(targets, given)
    common.save("windows", {"median_s": results, "targets": targets}, given)
    return 0


if __name__ == "__main__":
    sys.exit(main())
