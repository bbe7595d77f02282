"""Tasks with real libraries: lines of user code, and speed, beside cffi's ABI mode and ctypes.

Each task is written three times, for a user without a compiler: declarations, necessary facts, the call.
Its lines are those of the function's body; a line that only closes a bracket counts. The cwrapjit version
reads the library's own header: a task whose -dev package is missing is left out.
"""

import ctypes
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import _common as common
import _race as race
import numpy as np

import cwrapjit

BUDGET_S = 3.0
Action = Callable[[], Any]


# ---- GSL: the integral of a Python function --------------------------------------------------------


def integral_ours() -> Action:
    gsl = cwrapjit.library("gsl", libraries=["gsl", "gslcblas"])
    gsl.declare("#include <gsl/gsl_integration.h>")
    gsl.refine("gsl_integration_qng", out=("result", "abserr", "neval"), check=(ValueError, "gsl_strerror"))
    gsl.function("const char *gsl_strerror(int status)")
    f = gsl.gsl_function(function=lambda x: x**5)
    return lambda: gsl.gsl_integration_qng(f, 0.0, 2.0, 1e-9, 1e-9)[0]


def integral_cffi(cffi: Any) -> Action:
    ffi = cffi.FFI()
    ffi.cdef(
        """
        typedef struct { double (*function)(double x, void *params); void *params; } gsl_function;
        int gsl_integration_qng(const gsl_function *f, double a, double b, double epsabs, double epsrel,
                                double *result, double *abserr, size_t *neval);
        const char *gsl_strerror(int status);
        """
    )
    ffi.dlopen("libgslcblas.so", ffi.RTLD_GLOBAL)
    gsl = ffi.dlopen("libgsl.so")
    callback = ffi.callback("double(double, void *)", lambda x, _: x**5)
    f = ffi.new("gsl_function *", (callback, ffi.NULL))
    result, error, count = ffi.new("double *"), ffi.new("double *"), ffi.new("size_t *")

    def integrate() -> float:
        status = gsl.gsl_integration_qng(f, 0.0, 2.0, 1e-9, 1e-9, result, error, count)
        if status:
            raise ValueError(ffi.string(gsl.gsl_strerror(status)).decode())
        return float(result[0])

    integrate.keep = callback  # type: ignore[attr-defined]
    return integrate


def integral_ctypes() -> Action:
    double, pointer = ctypes.c_double, ctypes.POINTER
    kind = ctypes.CFUNCTYPE(double, double, ctypes.c_void_p)

    class Function(ctypes.Structure):
        _fields_ = (("function", kind), ("params", ctypes.c_void_p))

    ctypes.CDLL("libgslcblas.so", ctypes.RTLD_GLOBAL)
    gsl = ctypes.CDLL("libgsl.so")
    gsl.gsl_integration_qng.argtypes = [
        *(pointer(Function), double, double, double, double),
        *(pointer(double), pointer(double), pointer(ctypes.c_size_t)),
    ]
    gsl.gsl_strerror.restype = ctypes.c_char_p
    f = Function(kind(lambda x, _: x**5), None)
    result, error, count = double(), double(), ctypes.c_size_t()

    def integrate() -> float:
        status = gsl.gsl_integration_qng(f, 0.0, 2.0, 1e-9, 1e-9, result, error, count)
        if status:
            raise ValueError(gsl.gsl_strerror(status).decode())
        return result.value

    return integrate


# ---- NLopt: the lowest point of a function with its gradient -----------------------------------------


def valley(x: Any, gradient: Any) -> float:
    if gradient is not None:
        gradient[:] = 2 * (x[0] - 1), 20 * (x[1] - 2)
    return float((x[0] - 1) ** 2 + 10 * (x[1] - 2) ** 2)


def minimum_ours() -> Action:
    nlopt = cwrapjit.library("nlopt", libraries=["nlopt"])
    nlopt.declare("#include <nlopt.h>")
    nlopt.handle(
        "nlopt_opt",
        init="nlopt_opt nlopt_create(nlopt_algorithm algorithm, unsigned n)",
        free="nlopt_destroy",
    )
    dims = {"f": {"x": "n", "gradient": "n"}}
    nlopt.refine("nlopt_set_min_objective", dims=dims, keeps={"opt": "f"}, discard="return")
    nlopt.refine("nlopt_optimize", dims={"x": "nlopt_get_dimension(opt)"}, inout="x", out="opt_f")
    search = nlopt.nlopt_opt(nlopt.NLOPT_LD_LBFGS, 2)
    nlopt.nlopt_set_min_objective(search, valley)
    nlopt.nlopt_set_xtol_rel(search, 1e-6)

    def minimise() -> list[float]:
        x = np.zeros(2)
        nlopt.nlopt_optimize(search, x)
        return x.round(4).tolist()  # type: ignore[no-any-return]

    return minimise


def minimum_cffi(cffi: Any) -> Action:
    ffi = cffi.FFI()
    ffi.cdef(
        """
        typedef struct nlopt_opt_s *nlopt_opt;
        typedef double (*nlopt_func)(unsigned n, const double *x, double *gradient, void *data);
        nlopt_opt nlopt_create(int algorithm, unsigned n);
        void nlopt_destroy(nlopt_opt opt);
        int nlopt_algorithm_from_string(const char *name);
        int nlopt_set_min_objective(nlopt_opt opt, nlopt_func f, void *data);
        int nlopt_set_xtol_rel(nlopt_opt opt, double tol);
        int nlopt_optimize(nlopt_opt opt, double *x, double *opt_f);
        """
    )
    nlopt = ffi.dlopen("libnlopt.so")

    def called(n: int, x: Any, gradient: Any, data: Any) -> float:
        own = np.frombuffer(ffi.buffer(x, n * 8))
        slope = np.frombuffer(ffi.buffer(gradient, n * 8)) if gradient else None
        return valley(own, slope)

    callback = ffi.callback("nlopt_func", called)
    search = ffi.gc(
        nlopt.nlopt_create(nlopt.nlopt_algorithm_from_string(b"LD_LBFGS"), 2), nlopt.nlopt_destroy
    )
    nlopt.nlopt_set_min_objective(search, callback, ffi.NULL)
    nlopt.nlopt_set_xtol_rel(search, 1e-6)
    lowest = ffi.new("double *")

    def minimise() -> list[float]:
        x = np.zeros(2)
        status = nlopt.nlopt_optimize(search, ffi.from_buffer("double[]", x), lowest)
        if status < 0:
            raise ValueError(f"status {status}")
        return x.round(4).tolist()  # type: ignore[no-any-return]

    minimise.keep = callback  # type: ignore[attr-defined]
    return minimise


def minimum_ctypes() -> Action:
    nlopt, double, pointer = ctypes.CDLL("libnlopt.so"), ctypes.c_double, ctypes.POINTER
    kind = ctypes.CFUNCTYPE(double, ctypes.c_uint, pointer(double), pointer(double), ctypes.c_void_p)
    nlopt.nlopt_create.restype = ctypes.c_void_p
    nlopt.nlopt_create.argtypes = [ctypes.c_int, ctypes.c_uint]
    nlopt.nlopt_algorithm_from_string.argtypes = [ctypes.c_char_p]
    nlopt.nlopt_set_min_objective.argtypes = [ctypes.c_void_p, kind, ctypes.c_void_p]
    nlopt.nlopt_set_xtol_rel.argtypes = [ctypes.c_void_p, double]
    nlopt.nlopt_optimize.argtypes = [ctypes.c_void_p, pointer(double), pointer(double)]

    def called(n: int, x: Any, gradient: Any, data: Any) -> float:
        slope = np.ctypeslib.as_array(gradient, (n,)) if gradient else None
        return valley(np.ctypeslib.as_array(x, (n,)), slope)

    callback = kind(called)
    search = nlopt.nlopt_create(nlopt.nlopt_algorithm_from_string(b"LD_LBFGS"), 2)  # never destroyed
    nlopt.nlopt_set_min_objective(search, callback, None)
    nlopt.nlopt_set_xtol_rel(search, 1e-6)
    lowest = double()

    def minimise() -> list[float]:
        x = np.zeros(2)
        status = nlopt.nlopt_optimize(search, x.ctypes.data_as(pointer(double)), lowest)
        if status < 0:
            raise ValueError(f"status {status}")
        return x.round(4).tolist()  # type: ignore[no-any-return]

    minimise.keep = callback  # type: ignore[attr-defined]
    return minimise


# ---- sqlite3: the rows of a query -----------------------------------------------------------------------

QUERY = "with recursive n(k) as (select 1 union all select k + 1 from n where k < 100) select k, k * k from n"


def rows_ours() -> Action:
    sql = cwrapjit.library("sqlite3", libraries=["sqlite3"])
    sql.declare("#include <sqlite3.h>")
    sql.handle("sqlite3 *", free="sqlite3_close_v2")
    sql.handle("sqlite3_stmt *", free="sqlite3_finalize")
    sql.refine("sqlite3_open", out="ppDb", check=(OSError, "sqlite3_errstr"), discard="return")
    end = {"nByte": -1, "pzTail": None}
    sql.refine("sqlite3_prepare_v2", out="ppStmt", hidden=end, keeps={"ppStmt": "db"}, check=ValueError)
    db = sql.sqlite3_open(":memory:")

    def read() -> int:
        rows, statement = 0, sql.sqlite3_prepare_v2(db, QUERY)
        while sql.sqlite3_step(statement) == sql.SQLITE_ROW:
            rows += sql.sqlite3_column_int(statement, 1)
        return rows

    return read


def rows_cffi(cffi: Any) -> Action:
    ffi = cffi.FFI()
    ffi.cdef(
        """
        typedef struct sqlite3 sqlite3;
        typedef struct sqlite3_stmt sqlite3_stmt;
        int sqlite3_open(const char *name, sqlite3 **db);
        int sqlite3_close_v2(sqlite3 *db);
        const char *sqlite3_errstr(int status);
        int sqlite3_prepare_v2(sqlite3 *db, const char *text, int n, sqlite3_stmt **made, const char **tail);
        int sqlite3_step(sqlite3_stmt *statement);
        int sqlite3_column_int(sqlite3_stmt *statement, int column);
        int sqlite3_finalize(sqlite3_stmt *statement);
        """
    )
    sql = ffi.dlopen("libsqlite3.so")
    SQLITE_ROW = 100
    opened = ffi.new("sqlite3 **")
    status = sql.sqlite3_open(b":memory:", opened)
    if status:
        raise OSError(ffi.string(sql.sqlite3_errstr(status)).decode())
    db = ffi.gc(opened[0], sql.sqlite3_close_v2)

    def read() -> int:
        made = ffi.new("sqlite3_stmt **")
        status = sql.sqlite3_prepare_v2(db, QUERY.encode(), -1, made, ffi.NULL)
        if status:
            raise ValueError(f"status {status}")
        rows, statement = 0, ffi.gc(made[0], sql.sqlite3_finalize)
        while sql.sqlite3_step(statement) == SQLITE_ROW:
            rows += sql.sqlite3_column_int(statement, 1)
        return rows

    return read


def rows_ctypes() -> Action:
    sql, pointer = ctypes.CDLL("libsqlite3.so"), ctypes.c_void_p
    sql.sqlite3_open.argtypes = [ctypes.c_char_p, ctypes.POINTER(pointer)]
    sql.sqlite3_errstr.restype = ctypes.c_char_p
    sql.sqlite3_prepare_v2.argtypes = [
        *(pointer, ctypes.c_char_p, ctypes.c_int),
        *(ctypes.POINTER(pointer), pointer),
    ]
    sql.sqlite3_step.argtypes = [pointer]
    sql.sqlite3_column_int.argtypes = [pointer, ctypes.c_int]
    sql.sqlite3_finalize.argtypes = [pointer]
    SQLITE_ROW = 100
    db = pointer()
    status = sql.sqlite3_open(b":memory:", ctypes.byref(db))
    if status:
        raise OSError(sql.sqlite3_errstr(status).decode())

    def read() -> int:
        statement = pointer()
        status = sql.sqlite3_prepare_v2(db, QUERY.encode(), -1, ctypes.byref(statement), None)
        if status:
            raise ValueError(f"status {status}")
        rows = 0
        while sql.sqlite3_step(statement) == SQLITE_ROW:
            rows += sql.sqlite3_column_int(statement, 1)
        sql.sqlite3_finalize(statement)
        return rows

    return read


# ---- the table -------------------------------------------------------------------------------------------

TASKS = {
    "GSL: integrate a Python function": (
        "gsl/gsl_integration.h",
        integral_ours,
        integral_cffi,
        integral_ctypes,
    ),
    "NLopt: minimise with a gradient": ("nlopt.h", minimum_ours, minimum_cffi, minimum_ctypes),
    "sqlite3: 100 rows": ("sqlite3.h", rows_ours, rows_cffi, rows_ctypes),
}
NAMES = ("cwrapjit", "cffi, ABI mode", "ctypes")


def lines(task: Callable[..., Any]) -> int:
    """Of the body, without empty ones."""
    return sum(bool(each.strip()) for each in inspect.getsource(task).splitlines()[1:])


def main() -> int:
    given = common.arguments("Tasks with real libraries.")
    cffi = common.optional("cffi")
    measured: dict[str, Any] = {}
    rows, shown = [], []
    for task, (header, ours, by_cffi, by_ctypes) in TASKS.items():
        if not Path("/usr/include", header).is_file():
            print(f"(left out: {task}, as there is no {header})")
            continue
        written = {"cwrapjit": lines(ours), "cffi, ABI mode": lines(by_cffi), "ctypes": lines(by_ctypes)}
        actions = {"cwrapjit": ours(), "ctypes": by_ctypes()}
        if cffi is not None:
            actions["cffi, ABI mode"] = by_cffi(cffi)
        results = {name: action() for name, action in actions.items()}
        if any(each != results["cwrapjit"] for each in results.values()):
            raise SystemExit(f"{task}: {results}")
        medians = race.medians(race.race(actions, BUDGET_S, given.quick))
        measured[task] = {"lines": written, "median_s": medians}
        own = medians["cwrapjit"]
        cells = [
            f"{written[name]} lines, {1e6 * medians[name]:.1f} us" if name in medians else ""
            for name in NAMES
        ]
        shown.append((task, *cells))
        for name in NAMES[1:]:
            if name in medians:
                share = own / medians[name]
                rows.append(common.target(f"{task}: time, cwrapjit / {name}", "<= 1", share, share <= 1))
    common.table("Tasks with real libraries", ("", *NAMES), shown)
    common.print_targets(rows, given)
    common.save("tasks", {"tasks": measured, "targets": rows}, given)
    return 0


if __name__ == "__main__":
    sys.exit(main())
