"""Tasks in which libraries call back: integrands, objectives, equations, comparisons, rows of a database.

Each by the library's own header, with a line for what C does not say; Python callables and C text by turns.
"""

from __future__ import annotations

import gc
import math
import os
import pathlib
import sqlite3
import zlib
from typing import Any

import numpy as np
import pytest
from helpers import refuses
from library_tools import declared

import cwrapjit

pytestmark = pytest.mark.row("L15")
BOTH = pytest.mark.parametrize("language", ["Python", "C"])


@BOTH
def test_qsort_orders_any_items(language: str) -> None:
    libc = cwrapjit.library("c", libraries=["c"]).declare("#include <stdlib.h>")
    items = "const double a[1], const double b[1]" if language == "Python" else "const void *a, const void *b"
    libc.function(f"void qsort(void base[n*size], size_t n, size_t size, int (*compar)({items}))")
    x = np.random.default_rng(1).normal(size=200)
    wanted = np.sort(x)[::-1]
    body = "double p = *(const double *)a, q = *(const double *)b; return (q > p) - (q < p);"
    libc.qsort(x, body if language == "C" else lambda a, b: int(b[0] > a[0]) - int(b[0] < a[0]))
    np.testing.assert_array_equal(x, wanted)


@pytest.mark.quick
def test_stat_is_what_python_says(tmp_path: Any) -> None:
    libc = cwrapjit.library("c", libraries=["c"]).declare("#include <sys/stat.h>")
    libc.refine("stat", out="__buf", check=OSError, discard="return")
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    made, wanted = libc.stat(path), os.stat(path)
    assert (made.st_size, made.st_ino, made.st_mode) == (5, wanted.st_ino, wanted.st_mode)
    assert made.st_mtim.tv_sec * 10**9 + made.st_mtim.tv_nsec == wanted.st_mtime_ns
    with pytest.raises(FileNotFoundError):
        libc.stat(tmp_path / "absent")


@pytest.mark.quick
def test_zlib_streams_work_through_arrays_piece_by_piece() -> None:
    z = declared("zlib.h", "z", before="#define ZLIB_CONST")
    z.struct(
        "z_stream", free="deflateEnd", init="int deflateInit_(z_stream *s, int level, const char *v, int n)"
    )
    data = np.random.default_rng(2).integers(0, 9, 50_000).astype(np.uint8).tobytes()
    room, packed = np.zeros(700, np.uint8), b""
    stream = z.z_stream(6, z.ZLIB_VERSION, 112)
    stream.next_in, stream.avail_in = data, len(data)
    status = z.Z_OK
    while status == z.Z_OK:
        stream.next_out, stream.avail_out = room, room.size
        status = z.deflate(stream, z.Z_FINISH)
        packed += room[: room.size - stream.avail_out].tobytes()
    assert status == z.Z_STREAM_END and packed == zlib.compress(data, 6)
    assert (stream.total_in, stream.total_out) == (len(data), len(packed))
    stream.close()


INTEGRANDS = {"Python": lambda x: math.exp(-x * x), "C": "return exp(-x * x);"}


def integration() -> Any:
    gsl = declared("gsl/gsl_integration.h", "gsl", "gslcblas")
    init = "gsl_integration_workspace *gsl_integration_workspace_alloc(size_t n)"
    gsl.handle("gsl_integration_workspace *", free="gsl_integration_workspace_free", init=init)
    gsl.refine("gsl_integration_qag*", out=("result", "abserr"), check=(ValueError, "gsl_strerror"))
    gsl.function("const char *gsl_strerror(int gsl_errno)")
    return gsl


@BOTH
def test_gsl_integrates_functions(language: str) -> None:
    gsl = integration()
    space = gsl.gsl_integration_workspace(100)
    f = gsl.gsl_function(function=INTEGRANDS[language])
    value, error = gsl.gsl_integration_qagi(f, 1e-10, 1e-10, 100, space)
    assert abs(value - math.sqrt(math.pi)) < max(error, 1e-14) < 1e-8
    f.function = "return 1 / sqrt(x);" if language == "C" else lambda x: 1 / math.sqrt(x)
    assert gsl.gsl_integration_qags(f, 0, 1, 0, 1e-10, 100, space)[0] == pytest.approx(2, rel=1e-10)


@pytest.mark.quick
def test_gsl_raises_what_the_integrand_raises() -> None:
    gsl = integration()
    seen = []

    def f(x: float) -> float:
        seen.append(x)
        return 1 / (len(seen) - 3)

    call = gsl.gsl_function(function=f)
    space = gsl.gsl_integration_workspace(100)
    refuses(ZeroDivisionError, lambda: gsl.gsl_integration_qags(call, 0, 1, 0, 1e-9, 100, space), "zero")
    assert len(seen) == 3, "after an exception Python is not asked again"


@BOTH
def test_gsl_minimises_in_several_dimensions(language: str) -> None:
    gsl = declared("gsl/gsl_multimin.h", "gsl", "gslcblas")
    gsl.declare("#include <gsl/gsl_vector_double.h>")
    gsl.handle("gsl_vector *", free="gsl_vector_free", init="gsl_vector *gsl_vector_alloc(size_t n)")
    gsl.handle(
        "gsl_multimin_fminimizer *",
        free="gsl_multimin_fminimizer_free",
        init="""gsl_multimin_fminimizer *
                gsl_multimin_fminimizer_alloc(const gsl_multimin_fminimizer_type *T, size_t n)""",
    )
    gsl.refine("gsl_multimin_fminimizer_set", keeps={"s": ("f", "x", "step_size")})
    start, step = gsl.gsl_vector(2), gsl.gsl_vector(2)
    for vector, value in ((start, 5.0), (step, 1.0)):
        gsl.gsl_vector_set_all(vector, value)
    of = {
        "Python": lambda v: (gsl.gsl_vector_get(v, 0) - 1) ** 2 + 10 * (gsl.gsl_vector_get(v, 1) - 2) ** 2,
        "C": "const double *v = x->data; return (v[0] - 1) * (v[0] - 1) + 10 * (v[1] - 2) * (v[1] - 2);",
    }
    f = gsl.gsl_multimin_function(f=of[language], n=2)
    search = gsl.gsl_multimin_fminimizer(gsl.gsl_multimin_fminimizer_nmsimplex2, 2)
    gsl.gsl_multimin_fminimizer_set(search, f, start, step)
    for _ in range(100):
        assert gsl.gsl_multimin_fminimizer_iterate(search) == 0
    found = gsl.gsl_multimin_fminimizer_x(search)
    at = [gsl.gsl_vector_get(found, k) for k in range(2)]
    assert at == pytest.approx([1, 2], abs=1e-5)


def test_sqlite_gives_rows_to_python(tmp_path: Any) -> None:
    sql = declared("sqlite3.h", "sqlite3")
    sql.handle("sqlite3 *", free="sqlite3_close_v2")
    sql.refine("sqlite3_open", out="ppDb", check=(OSError, "sqlite3_errstr"), discard="return")
    sql.refine(
        "sqlite3_exec", hidden={"errmsg": None}, check=(ValueError, "sqlite3_errstr"), discard="return"
    )
    sql.refine("sqlite3_changes", check=None)
    with sqlite3.connect(tmp_path / "a.db") as python:
        python.execute("create table t (a, b)")
        python.executemany("insert into t values (?, ?)", [(k, k * k) for k in range(4)])
    python.close()
    db = sql.sqlite3_open(tmp_path / "a.db")
    seen = []

    def row(values: list[str | None], names: list[str]) -> int:
        seen.append(dict(zip(names, values, strict=True)))
        return 0

    sql.refine("sqlite3_exec", dims={"callback": {"arg2": "arg1", "arg3": "arg1"}})
    sql.sqlite3_exec(db, "select a, nullif(b, 4) as b from t", row)
    assert seen == [{"a": str(k), "b": None if k == 2 else str(k * k)} for k in range(4)]
    # C text reads the columns; its user data is a number of ours.
    total = np.zeros(1)
    body = "*(double *)arg0 += atof(arg2[1]); return 0;"
    sql.sqlite3_exec(db, "select a, b from t", "#include <stdlib.h>\n" + body, cwrapjit.Pointer(total))
    assert total[0] == 0 + 1 + 4 + 9

    def fails(*_: Any) -> int:
        raise KeyError("row")

    refuses(KeyError, lambda: sql.sqlite3_exec(db, "select a from t", fails), "row")
    refuses(ValueError, lambda: sql.sqlite3_exec(db, "select a from t", lambda *_: 1), "query aborted")


@BOTH
def test_nlopt_minimises(language: str) -> None:
    nlopt = declared("nlopt.h", "nlopt")
    init = "nlopt_opt nlopt_create(nlopt_algorithm algorithm, unsigned n)"
    nlopt.handle("nlopt_opt", free="nlopt_destroy", init=init)
    nlopt.refine(
        "nlopt_set_min_objective",
        dims={"f": {"x": "n", "gradient": "n"}},
        keeps={"opt": "f"},
        discard="return",
    )
    nlopt.refine("nlopt_optimize", dims={"x": "nlopt_get_dimension(opt)"}, inout="x", out="opt_f")

    def rosenbrock(x: Any, gradient: Any) -> float:
        if gradient is not None:
            gradient[0] = -400 * x[0] * (x[1] - x[0] ** 2) - 2 * (1 - x[0])
            gradient[1] = 200 * (x[1] - x[0] ** 2)
        return float(100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2)

    text = """
    double a = x[1] - x[0] * x[0], b = 1 - x[0];
    if (gradient) { gradient[0] = -400 * x[0] * a - 2 * b; gradient[1] = 200 * a; }
    return 100 * a * a + b * b;
    """
    search = nlopt.nlopt_opt(nlopt.NLOPT_LD_LBFGS, 2)
    nlopt.nlopt_set_min_objective(search, rosenbrock if language == "Python" else text)
    nlopt.nlopt_set_xtol_rel(search, 1e-10)
    gc.collect()  # the search keeps the function
    x = np.array([-1.2, 1.0])
    status, value = nlopt.nlopt_optimize(search, x)
    assert status > 0 and value < 1e-15
    np.testing.assert_allclose(x, 1, rtol=1e-6)
    refuses(ValueError, lambda: nlopt.nlopt_optimize(search, np.zeros(3)), "dimension")


@BOTH
def test_cvode_follows_an_equation(language: str) -> None:
    """y' = (-2 y0, y0), from (1, 0), to exp(-2 t)."""
    libraries = "sundials_cvode sundials_nvecserial sundials_sunlinsoldense sundials_sunmatrixdense".split()
    if pathlib.Path("/usr/include/sundials/sundials_core.h").is_file():  # from 7 on
        pytest.skip("this SUNDIALS has MPI in its headers, whose types are not in /usr/include")
    cvode = declared("cvode/cvode.h", *libraries)
    cvode.declare(
        """
        #include <sundials/sundials_context.h>
        #include <sundials/sundials_nvector.h>
        #include <sundials/sundials_matrix.h>
        #include <sundials/sundials_linearsolver.h>
        #include <nvector/nvector_serial.h>
        #include <sunmatrix/sunmatrix_dense.h>
        #include <sunlinsol/sunlinsol_dense.h>
        """
    )
    cvode.handle("SUNContext", free="SUNContext_Free(&self)")
    cvode.handle("N_Vector", free="N_VDestroy")
    cvode.handle("SUNMatrix", free="SUNMatDestroy")
    cvode.handle("SUNLinearSolver", free="SUNLinSolFree")
    cvode.handle("cvode_memory *", free="CVodeFree(&self)")
    cvode.refine("SUNContext_Create", out="ctx", discard="return")
    cvode.refine(
        "N_VMake_Serial",
        returns="callee",
        dims={"v_data": "vec_length"},
        keeps={"return": ("v_data", "sunctx")},
    )
    cvode.refine("N_VGetArrayPointer", returns=(2, "argument", "v"))
    cvode.refine("SUNDenseMatrix", returns="callee", keeps={"return": "sunctx"})
    cvode.refine("SUNLinSol_Dense", returns="callee", keeps={"return": ("y", "A", "sunctx")})
    cvode.refine("CVodeInit", keeps={"cvode_mem": ("f", "y0")}, check=ValueError)
    cvode.refine("CVodeSetLinearSolver", keeps={"cvode_mem": ("LS", "A")}, check=ValueError)
    cvode.refine("CVode", out="tret", stable=True)
    create = cvode.function(
        "cvode_memory *CVodeCreate(int lmm, SUNContext sunctx)", returns="callee", keeps={"return": "sunctx"}
    )

    def right_hand_side(t: float, y: Any, derivative: Any, data: Any) -> int:
        now, change = cvode.N_VGetArrayPointer(y), cvode.N_VGetArrayPointer(derivative)
        change[:] = -2 * now[0], now[0]
        return 0

    text = """
    struct content { long length; int own; double *data; };
    double *now = ((struct content *)*(void **)y)->data, *change = ((struct content *)*(void **)ydot)->data;
    change[0] = -2 * now[0]; change[1] = now[0];
    return 0;
    """
    context = cvode.SUNContext_Create(None)
    values = np.array([1.0, 0.0])
    y = cvode.N_VMake_Serial(values, context)
    solver = create(cvode.CV_BDF, context)
    cvode.CVodeInit(solver, right_hand_side if language == "Python" else text, 0.0, y)
    assert cvode.CVodeSStolerances(solver, 1e-9, 1e-12) == 0
    matrix = cvode.SUNDenseMatrix(2, 2, context)
    cvode.CVodeSetLinearSolver(solver, cvode.SUNLinSol_Dense(y, matrix, context), matrix)
    refuses(BufferError, context.close, "refers to it")
    del matrix, context
    gc.collect()
    status, reached = cvode.CVode(solver, 1.5, y, cvode.CV_NORMAL)
    assert (status, reached) == (0, 1.5)
    np.testing.assert_allclose(values, [math.exp(-3), (1 - math.exp(-3)) / 2], rtol=1e-6)
    del solver, y
    gc.collect()
