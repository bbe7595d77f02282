"""Arrays of other types and layouts than C wants, beside NumPy, numba.guvectorize, f2py, and copies.

Elements: a double function of numbers, beside a ufunc of NumPy that converts the same arrays. Slices: a
function of double x[n], beside np.copyto() into an existing array and the call on that. numba compiles for
any strides, and its gufuncs convert as NumPy does. f2py, with all slices in one call, copies the whole array.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import _common as common
import _race as race
import numpy as np

import cwrapjit

BUDGET_S = 1.0
OWN, NUMPY, COPY, NUMBA, F2PY = "cwrapjit", "NumPy", "copyto and call", "numba", "f2py"
LINE = "double line(double x) { return 2 * x + 1; }"
SUM = """double sum(int n, const double x[n])
{
    double total = 0;
    for (int i = 0; i < n; i++)
        total += x[i];
    return total;
}"""
FORTRAN = """subroutine total(x, n, rows, r)
  integer, intent(in) :: n, rows
  real(8), intent(in) :: x(n, rows)
  real(8), intent(out) :: r(rows)
  r = sum(x, 1)
end subroutine
"""
TYPES = {
    "float64": "f8",
    "float16": "f2",
    "float32": "f4",
    "int64": "i8",
    "int32": "i4",
    "int16": "i2",
    "other byte order": ">f8",
}
LENGTHS = (3, 10, 100, 1_000, 10_000, 100_000, 1_000_000)

Actions = dict[str, Callable[[], Any]]


def elements(size: int) -> dict[str, tuple[Any, Actions]]:
    f, made = cwrapjit.vectorize(LINE), {}
    out = np.empty(size)
    for title, dtype in TYPES.items():
        x = (np.arange(size) % 1_000).astype(dtype)
        made[title] = x
    made["every second float64"] = np.arange(2.0 * size)[::2]
    return {
        f"{title}, {size:,}": (
            f,
            {OWN: lambda x=x: f(x, out=out), NUMPY: lambda x=x: np.multiply(x, 2.0, out=out, dtype=float)},
        )
        for title, x in made.items()
    }


def by_numba(numba: Any) -> Any:
    def total(x: Any, result: Any) -> None:
        result[0] = 0
        for i in range(x.shape[0]):
            result[0] += x[i]

    return numba.guvectorize(["void(float64[:], float64[:])"], "(n)->()", fastmath=True)(total)


def by_f2py(folder: Path) -> Any:
    """Returns the Fortran function, or None with a word about it."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    missing = [each for each in ("gfortran", "meson", "ninja") if not shutil.which(each, path=path)]
    if missing:
        print(f"({F2PY} is left out: there is no {', '.join(missing)})")
        return None
    (folder / "sums.f90").write_text(FORTRAN)
    command = [sys.executable, "-m", "numpy.f2py", "-c", "--backend", "meson", "-m", "sums", "sums.f90"]
    names = {"PATH": path, "FFLAGS": "-O3 -march=native -ffast-math"}
    subprocess.run(command, cwd=folder, env=os.environ | names, check=True, stdout=subprocess.DEVNULL)
    [made] = folder.glob("sums.*.so")
    spec = importlib.util.spec_from_file_location("sums", made)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.total


def slices(size: int, numba: Any, fortran: Any) -> dict[str, tuple[Any, Actions]]:
    made = {}
    gufunc = by_numba(numba) if numba else None
    for n in (n for n in LENGTHS if n <= size):
        f = cwrapjit.vectorize(SUM, fastmath=True)
        rows = max(1, size // n)
        right, out = np.empty((rows, n)), np.empty(rows)
        given = {
            f"every second float64, n = {n:,}": np.random.default_rng(1).normal(size=(rows, 2 * n))[:, ::2],
            f"columns of float64, n = {n:,}": np.asfortranarray(np.ones((rows, n))),
            f"other byte order, n = {n:,}": np.ones((rows, n), ">f8"),
            f"float32, n = {n:,}": np.ones((rows, n), "f4"),
        }
        for title, x in given.items():
            actions: Actions = {
                OWN: lambda f=f, x=x, out=out: f(x, out=out),
                COPY: lambda f=f, x=x, out=out, right=right: (np.copyto(right, x), f(right, out=out)),
            }
            if gufunc:
                actions[NUMBA] = lambda x=x, out=out: gufunc(x, out)
            if fortran:
                actions[F2PY] = lambda x=x: fortran(x.T)
            made[title] = f, actions
    return made


def measure(cases: dict[str, tuple[Any, Actions]], quick: bool) -> dict[str, dict[str, float]]:
    results = {}
    for title, (f, actions) in cases.items():
        race.heat(f, actions[OWN])
        results[title] = race.fastest(race.race(actions, BUDGET_S, quick))
    return results


def main() -> int:
    given = common.arguments(__doc__.splitlines()[0])
    numba = common.optional("numba")
    of_elements = {}
    for size in (1_000,) if given.quick else (1_000, 100_000, 1_000_000):
        of_elements |= measure(elements(size), given.quick)
    with tempfile.TemporaryDirectory() as folder:
        fortran = by_f2py(Path(folder))
    of_slices = measure(slices(1_000 if given.quick else 2_000_000, numba, fortran), given.quick)
    targets = []
    for results, columns, title in (
        (of_elements, [OWN, NUMPY], "numbers, us"),
        (of_slices, [OWN, COPY, NUMBA, F2PY], "2e6 numbers in slices of n, us"),
    ):
        rows = [
            [case, *(f"{1e6 * times[name]:.3g}" if name in times else "" for name in columns)]
            for case, times in results.items()
        ]
        common.table(title, ["", *columns], rows)
    for case, times in of_elements.items():
        ratio = times[OWN] / times[NUMPY]
        targets.append(common.target(f"{case}: time / NumPy's", "<= 1.2", round(ratio, 2), ratio <= 1.2))
    for case, times in of_slices.items():
        ratio = times[COPY] / times[OWN]
        targets.append(
            common.target(f"{case}: time of {COPY} / time", ">= 1.5", round(ratio, 2), ratio >= 1.5)
        )
    common.print_targets(targets, given)
    common.save("inputs", {"fastest_s": {**of_elements, **of_slices}, "targets": targets}, given)
    return 0


if __name__ == "__main__":
    sys.exit(main())
