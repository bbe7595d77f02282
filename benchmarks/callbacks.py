"""Measures the cost of a callback: a C function calls Python, or C text, a thousand times.

Python callables are compared with those of ctypes and of cffi's ABI mode (ffi.callback) and API mode
(extern "Python", the fast one, which needs a compiler); C text is compared with a function of the library
itself. In cwrapjit an array of three arrives as NumPy's; for the others there are two figures: a NumPy
array made from the pointer, and one item of the pointer. All use one C text, built with the same flags.
"""

import ctypes
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

TYPES = "typedef struct { double (*f)(double x, void *data); void *data; } integrand;\n"
FUNCTIONS = """
double add_up(double (*f)(double x, void *data), void *data, int n);
double add_rows(double (*f)(const double *row, int n, void *data), void *data, const double *x, int m, int n);
double integrate(integrand *i, int n);
"""
TEXT = (
    TYPES
    + """
double add_up(double (*f)(double x, void *data), void *data, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += f(i, data);
    return sum;
}
double add_rows(double (*f)(const double *row, int n, void *data), void *data, const double *x, int m, int n)
{
    double sum = 0;
    for (int i = 0; i < m; i++) sum += f(x + i * n, n, data);
    return sum;
}
double integrate(integrand *i, int n) { return add_up(i->f, i->data, n); }
double own_square(double x, void *data) { return x * x; }
"""
)
FLAGS = ("-O2",)
CALLS = 1000
ROW = 3
BUDGET_S = 3.0
# The share of cffi's API mode, or of C's own function, that is wanted.
CASES = {
    "a Python function of a double": 0.5,
    "a Python function of an array, NumPy's": 0.5,
    "a Python function of an array, one item of a pointer": 1.5,
    "a Python function that a struct holds": 0.5,
    "C text of a double": 1.1,
}
X = np.arange(CALLS * ROW, dtype=np.float64)

Action = Callable[[], float]


def square(x: float) -> float:
    return x * x


def by_cwrapjit(path: Path) -> list[Action]:
    lib = cwrapjit.library("callbacks", path, header=TYPES)
    lib.declare(FUNCTIONS, options={"add_rows": {"dims": {"x": ("m", "n"), "f": {"row": "n"}}}})
    integrand = lib.integrand(f=square)

    def first(row: Any) -> float:
        return row[0]  # type: ignore[no-any-return]

    rows = X.reshape(CALLS, ROW)
    return [
        lambda: lib.add_up(square, CALLS),
        lambda: lib.add_rows(first, rows),
        lambda: lib.add_rows(first, rows),
        lambda: lib.integrate(integrand, CALLS),
        lambda: lib.add_up("return x * x;", CALLS),
    ]


def by_ctypes(path: Path) -> list[Action]:
    lib = ctypes.CDLL(str(path))
    double = ctypes.c_double
    kind = ctypes.CFUNCTYPE(double, double, ctypes.c_void_p)
    of_rows = ctypes.CFUNCTYPE(double, ctypes.POINTER(double), ctypes.c_int, ctypes.c_void_p)

    class Integrand(ctypes.Structure):
        _fields_ = (("f", kind), ("data", ctypes.c_void_p))

    for function in (lib.add_up, lib.add_rows, lib.integrate):
        function.restype = double
    f = kind(lambda x, data: x * x)
    arrays = of_rows(lambda row, n, data: np.ctypeslib.as_array(row, (n,))[0])
    items = of_rows(lambda row, n, data: row[0])
    integrand = Integrand(f, None)
    x = X.ctypes.data_as(ctypes.POINTER(double))
    own = ctypes.cast(lib.own_square, kind)
    return [
        lambda: lib.add_up(f, None, CALLS),
        lambda: lib.add_rows(arrays, None, x, CALLS, ROW),
        lambda: lib.add_rows(items, None, x, CALLS, ROW),
        lambda: lib.integrate(ctypes.byref(integrand), CALLS),
        lambda: lib.add_up(own, None, CALLS),
    ]


def by_cffi_abi(cffi: Any, path: Path) -> list[Action]:
    ffi = cffi.FFI()
    ffi.cdef(TYPES + FUNCTIONS + "double own_square(double x, void *data);")
    lib = ffi.dlopen(str(path))
    kind, of_rows = "double(double, void *)", "double(const double *, int, void *)"
    called = {
        "square": ffi.callback(kind, lambda x, data: x * x),
        "array": ffi.callback(of_rows, lambda row, n, data: np.frombuffer(ffi.buffer(row, n * 8))[0]),
        "item": ffi.callback(of_rows, lambda row, n, data: row[0]),
    }
    return cffi_actions(ffi, lib, called)


def by_cffi_api(cffi: Any, folder: Path) -> list[Action]:
    builder = cffi.FFI()
    builder.cdef(TYPES + FUNCTIONS)
    builder.cdef("double own_square(double x, void *data);")
    builder.cdef(
        'extern "Python" { double py_square(double, void *); double py_array(const double *, int, void *);'
        " double py_item(const double *, int, void *); }"
    )
    builder.set_source("_bench_callbacks", TEXT, extra_compile_args=list(FLAGS))
    spec = util.spec_from_file_location("_bench_callbacks", builder.compile(tmpdir=str(folder)))
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    lib, ffi = module.lib, module.ffi

    @ffi.def_extern()  # type: ignore[untyped-decorator]
    def py_square(x: float, data: Any) -> float:
        return x * x

    @ffi.def_extern()  # type: ignore[untyped-decorator]
    def py_array(row: Any, n: int, data: Any) -> float:
        return np.frombuffer(ffi.buffer(row, n * 8))[0]  # type: ignore[no-any-return]

    @ffi.def_extern()  # type: ignore[untyped-decorator]
    def py_item(row: Any, n: int, data: Any) -> float:
        return row[0]  # type: ignore[no-any-return]

    return cffi_actions(ffi, lib, {"square": lib.py_square, "array": lib.py_array, "item": lib.py_item})


def cffi_actions(ffi: Any, lib: Any, called: dict[str, Any]) -> list[Action]:
    integrand = ffi.new("integrand *", (called["square"], ffi.NULL))
    x = ffi.from_buffer("double[]", X)
    own = ffi.addressof(lib, "own_square")
    return [
        lambda: lib.add_up(called["square"], ffi.NULL, CALLS),
        lambda: lib.add_rows(called["array"], ffi.NULL, x, CALLS, ROW),
        lambda: lib.add_rows(called["item"], ffi.NULL, x, CALLS, ROW),
        lambda: lib.integrate(integrand, CALLS),
        lambda: lib.add_up(own, ffi.NULL, CALLS),
    ]


def measure(case: str, actions: dict[str, Action], quick: bool) -> dict[str, float]:
    """Median seconds of one callback."""
    results = {name: action() for name, action in actions.items()}
    if len(set(results.values())) != 1:
        raise SystemExit(f"{case}: {results}")
    medians = race.medians(race.race(actions, BUDGET_S, quick))
    return {name: value / CALLS for name, value in medians.items()}


def cell(times: dict[str, float], name: str) -> str:
    ratio = times[name] / times["cwrapjit"]
    return f"{1e9 * times[name]:.1f}" + ("" if name == "cwrapjit" else f" ({ratio:.2f})")


def main() -> int:
    given = common.arguments("Callbacks of C functions.")
    cffi = common.optional("cffi")
    with common.scratch() as scratch:
        folder = Path(scratch)
        path = native.build(TEXT, "bench_callbacks", FLAGS, folder)
        contenders = {"cwrapjit": by_cwrapjit(path), "ctypes": by_ctypes(path)}
        if cffi is not None:
            contenders["cffi, ABI mode"] = by_cffi_abi(cffi, path)
            contenders["cffi, API mode"] = by_cffi_api(cffi, folder)
        measured = {
            case: measure(case, {name: made[k] for name, made in contenders.items()}, given.quick)
            for k, case in enumerate(CASES)
        }
    rows, shown = [], []
    for case, wanted in CASES.items():
        times = measured[case]
        in_c = case.startswith("C text")
        other = next(reversed(contenders))
        share = times["cwrapjit"] / times[other]
        beside = "a function of the library" if in_c else other
        rows.append(common.target(f"{case}: cwrapjit / {beside}", f"<= {wanted:g}", share, share <= wanted))
        shown.append((case, *(cell(times, name) for name in contenders)))
    common.table(
        f"One callback of {CALLS}, in ns (ratio to cwrapjit's); C text beside a function of the library",
        ("", *contenders),
        shown,
    )
    common.print_targets(rows, given)
    common.save("callbacks", {"median_s": measured, "targets": rows}, given)
    return 0


if __name__ == "__main__":
    sys.exit(main())
