"""Functions of existing libraries: the cost of a call, and the time to declare a whole header.

    call      double f(double, double), against cffi's API mode and ctypes
    arrays    a dot product of two short arrays, against cffi's API mode with the same checks in Python
    declare   the whole cblas.h of the package scipy-openblas32, in a process that has declared nothing before

All contenders of a call run the same C text: one shared library for cwrapjit and ctypes, one extension
module for cffi, built with the same flags.
"""

import ctypes
import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib import util
from pathlib import Path
from typing import Any

import _common as common
import _native as native
import _race as race
import numpy as np

import cwrapjit

TEXT = """
double pair(double x, double y) { return x * y + 1; }
double dot(ptrdiff_t n, const double *x, const double *y)
{
    double sum = 0;
    for (ptrdiff_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}
"""
CFFI_DECLARATIONS = "double pair(double x, double y); double dot(ptrdiff_t n, double *x, double *y);"
FLAGS = ("-O2",)

CTYPES_SHARE, CFFI_SHARE, ARRAYS_SHARE = 0.5, 1.0, 0.2
DECLARE_MS = 150.0
MANY_MS = 500.0
BUDGET_S = 3.0

DECLARE = """
import json, sys, time
import numpy, cwrapjit
loaded = "pycparser" in sys.modules
from pathlib import Path
import scipy_openblas32 as blas
(path,) = Path(blas.get_lib_dir()).glob("libscipy_openblas*.so")
text = (Path(blas.get_include_dir()) / "cblas.h").read_text()
COMPLEX = [("FORCE_OPENBLAS_COMPLEX_STRUCT", "1")]
start = time.perf_counter()
lib = cwrapjit.library("cblas", path, include_dirs=[blas.get_include_dir()], define_macros=COMPLEX)
lib.declare(text)
end = time.perf_counter()
many = cwrapjit.library("lapacke", path, include_dirs=[blas.get_include_dir()])
many.declare((Path(blas.get_include_dir()) / "lapacke.h").read_text())
declared = time.perf_counter()
names = sum("LAPACKE_" in name for name in dir(many))
print(json.dumps({"seconds": end - start, "mapped": len(lib.mapped), "unmapped": lib.unmapped,
                  "lapacke": declared - end, "names": names, "pycparser by import": loaded}))
"""


# ---- the contenders ------------------------------------------------------------------------------


class Cffi:
    """API mode: an extension module with the C text in it."""

    def __init__(self, cffi: Any, folder: Path) -> None:
        builder = cffi.FFI()
        builder.cdef(CFFI_DECLARATIONS)
        builder.set_source("_bench_cffi", native.HEADER + TEXT, extra_compile_args=list(FLAGS))
        spec = util.spec_from_file_location("_bench_cffi", builder.compile(tmpdir=str(folder)))
        assert spec is not None
        assert spec.loader is not None
        module = util.module_from_spec(spec)
        spec.loader.exec_module(module)
        self.pair, self.dot, self.from_buffer = module.lib.pair, module.lib.dot, module.ffi.from_buffer

    def checked_dot(self) -> Callable[[Any, Any], float]:
        """What a careful wrapper checks before it hands two arrays to C; cwrapjit checks the same."""
        ndarray, float64 = np.ndarray, np.dtype(np.float64)
        c_dot, from_buffer = self.dot, self.from_buffer

        def dot(x: Any, y: Any) -> float:
            for name, value in (("x", x), ("y", y)):
                if not isinstance(value, ndarray):
                    raise TypeError(f"Expected an array for argument {name}, got {type(value).__name__}")
                if value.dtype != float64 or value.ndim != 1:
                    raise TypeError(f"Expected float64[:] for argument {name}")
                flags = value.flags
                if not (flags.c_contiguous and flags.aligned):
                    raise ValueError(f"{name} must be contiguous and aligned")
            n = x.shape[0]
            if y.shape[0] != n:
                raise ValueError(f"n is {n} in x, {y.shape[0]} in y")
            return c_dot(n, from_buffer("double[]", x), from_buffer("double[]", y))

        return dot


def by_ctypes(path: Path) -> tuple[Any, Any]:
    opened = ctypes.CDLL(str(path))
    pair, dot = opened.pair, opened.dot
    pair.restype = dot.restype = ctypes.c_double
    pair.argtypes = [ctypes.c_double, ctypes.c_double]
    vector = np.ctypeslib.ndpointer(np.float64, 1, flags="C_CONTIGUOUS,ALIGNED")
    dot.argtypes = [ctypes.c_ssize_t, vector, vector]
    return pair, lambda x, y: dot(len(x), x, y)


def contenders(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    path = native.build(TEXT, "bench_library", FLAGS, folder)
    lib = cwrapjit.library("bench", path)
    pairs = {"cwrapjit": lib.function("double pair(double x, double y)")}
    dots = {"cwrapjit": lib.function("double dot(ptrdiff_t n, const double x[n], const double y[n])")}
    pairs["ctypes"], dots["ctypes, ndpointer"] = by_ctypes(path)
    cffi = common.optional("cffi")
    if cffi is not None:
        api = Cffi(cffi, folder)
        pairs["cffi, API mode"] = api.pair
        dots["cffi, API mode + checks in Python"] = api.checked_dot()
    return pairs, dots


# ---- what is measured ----------------------------------------------------------------------------


def timed(title: str, functions: dict[str, Any], given: tuple[Any, Any], quick: bool) -> dict[str, float]:
    wanted = functions["cwrapjit"](*given)
    for name, function in functions.items():
        if function(*given) != wanted:
            raise SystemExit(f"{name} is wrong: {function(*given)}, not {wanted}")
    x, y = given

    def caller(function: Any) -> Callable[[], None]:
        def ten() -> None:  # one loop of ours around ten calls: its cost stays out of the ratios
            function(x, y), function(x, y), function(x, y), function(x, y), function(x, y)
            function(x, y), function(x, y), function(x, y), function(x, y), function(x, y)

        return ten

    times = race.race({name: caller(function) for name, function in functions.items()}, BUDGET_S, quick)
    medians = {name: value / 10 for name, value in race.medians(times).items()}
    common.table(
        title,
        ("", "median ns", "/ cwrapjit"),
        (
            (name, f"{1e9 * value:.0f}", f"{value / medians['cwrapjit']:.2f}")
            for name, value in medians.items()
        ),
    )
    return medians


def share(medians: dict[str, float], peer: str, figure: str, wanted: float) -> dict[str, Any]:
    if peer not in medians:
        return common.target(figure, f"<= {wanted}", f"no {peer.split(',')[0]}", None)
    measured = medians["cwrapjit"] / medians[peer]
    return common.target(figure, f"<= {wanted}", measured, measured <= wanted)


def declare(quick: bool) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    figure, wanted = "declaring the whole cblas.h, ms", f"< {DECLARE_MS:g}"
    many_figure, many_wanted = "declaring lapacke.h, ms", f"< {MANY_MS:g}"
    if common.optional("scipy_openblas32") is None:
        return {}, [
            common.target(each, limit, "no scipy-openblas32", None)
            for each, limit in ((figure, wanted), (many_figure, many_wanted))
        ]
    runs = []
    with common.scratch() as byte_code:  # as installed packages have it, whatever the settings here
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": byte_code}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for _ in range(3 if quick else 13):
            done = subprocess.run(
                [sys.executable, "-c", DECLARE], check=True, capture_output=True, text=True, env=environment
            )
            runs.append(json.loads(done.stdout))
    runs = runs[1:]
    milliseconds = 1e3 * common.median(run["seconds"] for run in runs)
    many = 1e3 * common.median(run["lapacke"] for run in runs)
    last = runs[-1]
    common.table(
        "cblas.h and lapacke.h of scipy-openblas32, declared in a new process",
        ("", ""),
        (
            (f"median ms of lapacke.h, {last['names']} functions", f"{many:.1f}"),
            ("median ms", f"{milliseconds:.1f}"),
            ("fastest ms", f"{1e3 * min(run['seconds'] for run in runs):.1f}"),
            ("mapped", last["mapped"]),
            ("not mapped, with a reason", len(last["unmapped"])),
        ),
    )
    by_import = last["pycparser by import"]
    rows = [
        common.target(figure, wanted, milliseconds, milliseconds < DECLARE_MS),
        common.target(many_figure, many_wanted, many, many < MANY_MS),
        common.target("import cwrapjit imports pycparser", "no", "yes" if by_import else "no", not by_import),
    ]
    return {
        "median_ms": milliseconds,
        "lapacke_ms": many,
        "mapped": last["mapped"],
        "unmapped": last["unmapped"],
    }, rows


def main() -> int:
    given = common.arguments("Functions of existing libraries.")
    with common.scratch() as folder:
        pairs, dots = contenders(Path(folder))
        call = timed("double f(double, double)", pairs, (1.5, 2.0), given.quick)
        vectors = np.arange(3.0), np.arange(3.0) + 1
        arrays = timed("dot product of two 3-vectors", dots, vectors, given.quick)
    header, header_rows = declare(given.quick)
    rows = [
        share(call, "cffi, API mode", "call of f(double, double): cwrapjit / cffi, API mode", CFFI_SHARE),
        share(call, "ctypes", "call of f(double, double): cwrapjit / ctypes", CTYPES_SHARE),
        share(
            arrays,
            "cffi, API mode + checks in Python",
            "call with two arrays: cwrapjit / cffi, API mode + checks in Python",
            ARRAYS_SHARE,
        ),
        *header_rows,
    ]
    common.print_targets(rows, given)
    common.save(
        "library", {"call_median_s": call, "arrays_median_s": arrays, "cblas": header, "targets": rows}, given
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
