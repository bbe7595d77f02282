"""Tests typical tasks with real libraries: one #include, and a line for each fact that C does not state."""

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


@pytest.mark.row("L15")
def test_sqlite_writes_a_file_that_python_reads(tmp_path: pathlib.Path) -> None:
    sql = declared("sqlite3.h", "sqlite3")
    sql.handle("sqlite3 *", free="sqlite3_close_v2")
    sql.handle("sqlite3_stmt *", free="sqlite3_finalize")
    sql.refine("sqlite3_open", out="ppDb", check=(OSError, "sqlite3_errstr"), discard="return")
    sql.refine("sqlite3_bind_*", check=(ValueError, "sqlite3_errstr"))
    sql.refine(
        "sqlite3_prepare_v2",
        out="ppStmt",
        hidden={"nByte": -1, "pzTail": None},
        keeps={"ppStmt": "db"},
        check=(ValueError, "sqlite3_errmsg(db)"),
    )
    db = sql.sqlite3_open(str(tmp_path / "prices.db"))

    def run(db: Any, text: str, *values: float) -> list[float]:
        statement = sql.sqlite3_prepare_v2(db, text)
        for k, value in enumerate(values):
            sql.sqlite3_bind_double(statement, k + 1, value)
        rows = []
        while sql.sqlite3_step(statement) == sql.SQLITE_ROW:
            rows.append(sql.sqlite3_column_double(statement, 0))
        return rows

    run(db, "create table prices (name text, price real)")
    for k in range(5):
        run(db, "insert into prices values ('it''s', ?)", k / 4)
    assert run(db, "select price from prices where price > ?", 0.4) == [0.5, 0.75, 1.0]
    refuses(ValueError, lambda db=db: run(db, "select cost from prices"), "no such column: cost")
    refuses(ValueError, lambda db=db: run(db, "select price from prices", 1.0), "column index out of range")
    statement = sql.sqlite3_prepare_v2(db, "select count(*) from prices")
    refuses(BufferError, db.close, "sqlite3")
    del db
    gc.collect()
    assert sql.sqlite3_step(statement) == sql.SQLITE_ROW  # the statement keeps the database alive
    assert sql.sqlite3_column_int(statement, 0) == 5
    del statement
    gc.collect()
    with sqlite3.connect(tmp_path / "prices.db") as python:
        assert python.execute("select sum(price) from prices").fetchone() == (2.5,)
    python.close()


@pytest.mark.row("L15")
def test_zlib_compresses_arrays() -> None:
    z = declared("zlib.h", "z")
    z.refine(
        "*compress*", dims={"dest": "destLen", "source": "sourceLen"}, out="dest", inout="destLen",
        discard="destLen", check=(ValueError, "zError"),
    )  # fmt: skip
    z.refine("crc32", dims={"buf": "len"})
    x = np.arange(100_000, dtype=np.uint16).view(np.uint8)
    packed = z.compress2(z.compressBound(x.size), x, 9)
    assert zlib.decompress(packed) == x.tobytes()
    assert packed.size == len(zlib.compress(x, 9))
    np.testing.assert_array_equal(z.uncompress(x.size, packed), x)
    refuses(ValueError, lambda: z.uncompress(x.size - 1, packed), "buffer error")
    assert z.crc32(0, x) == zlib.crc32(x)


@pytest.mark.row("L15")
def test_gsl_random_numbers_and_special_functions() -> None:
    gsl = declared("gsl/gsl_rng.h", "gsl", "gslcblas")
    gsl.declare("#include <gsl/gsl_sf_bessel.h>\n#include <gsl/gsl_errno.h>\n#include <gsl/gsl_randist.h>")
    gsl.gsl_set_error_handler_off()
    gsl.handle("gsl_rng *", free="gsl_rng_free")
    gsl.refine("gsl_rng_alloc", returns="callee")
    gsl.refine("gsl_sf_*_e", out="result", check=(ValueError, "gsl_strerror"))
    random = gsl.gsl_rng_alloc(gsl.gsl_rng_mt19937)
    gsl.gsl_rng_set(random, 4357)
    oracle = np.random.RandomState(4357)  # NumPy has the same generator
    drawn = [gsl.gsl_rng_get(random) for _ in range(1000)]
    assert drawn == oracle.randint(0, 2**32, 1000, dtype=np.uint32).tolist()
    assert 0 <= gsl.gsl_ran_flat(random, 0.0, 1.0) < 1
    found = gsl.gsl_sf_bessel_J0_e(2.0)
    assert found.val == pytest.approx(0.22389077914123567, abs=found.err)
    refuses(ValueError, lambda: gsl.gsl_sf_bessel_K0_e(-1.0), "input domain error")


@pytest.mark.row("L15")
def test_fftw_plans_keep_their_arrays() -> None:
    fftw = declared("fftw3.h", "fftw3", before="#include <complex.h>")
    fftw.handle("fftw_plan", free="fftw_destroy_plan")
    fftw.refine(
        "fftw_plan_dft_2d",
        dims={"in": ("n0", "n1"), "out": ("n0", "n1")},
        keeps={"return": ("in", "out")},
        returns="callee",
    )
    x, y = np.zeros((12, 20), complex), np.zeros((12, 20), complex)
    plan = fftw.fftw_plan_dft_2d(x, y, fftw.FFTW_FORWARD, fftw.FFTW_ESTIMATE)
    x += np.random.default_rng(1).normal(size=(12, 20))
    wanted, held = np.fft.fft2(x), y
    del x, y
    gc.collect()
    fftw.fftw_execute(plan)
    np.testing.assert_allclose(held, wanted)
    with pytest.raises(ValueError, match="n1"):
        fftw.fftw_plan_dft_2d(np.zeros((3, 4), complex), np.zeros((3, 5), complex), -1, 64)


@pytest.mark.row("L15")
def test_lapacke_singular_values_by_declaration() -> None:
    lapack = declared("lapacke.h", "lapacke")
    lapack.refine(
        "LAPACKE_?gesdd",
        dims={"a": ("m", "n"), "s": "min(m, n)", "u": ("m", "m"), "vt": ("n", "n")},
        out=("s", "u", "vt"),
        hidden={"matrix_layout": "LAPACK_ROW_MAJOR", "lda": "n", "ldu": "m", "ldvt": "n"},
        check=ValueError,
    )
    generator = np.random.default_rng(2)
    for name, dtype in (("d", float), ("s", np.float32), ("z", complex)):
        for shape in ((3, 5), (5, 3), (4, 4)):
            a = generator.normal(size=shape).astype(dtype)
            if dtype is complex:
                a += 1j * generator.normal(size=shape)
            s, u, vt = getattr(lapack, f"LAPACKE_{name}gesdd")(ord("A"), a.copy())
            assert s.shape == (min(shape),) and u.shape == (shape[0],) * 2 and vt.shape == (shape[1],) * 2
            np.testing.assert_allclose(s, np.linalg.svd(a, compute_uv=False), rtol=1e-4)
            k = min(shape)
            np.testing.assert_allclose(u[:, :k] * s @ vt[:k], a, rtol=1e-4, atol=1e-4)


@pytest.mark.row("L15")
def test_cfitsio_writes_and_reads_images(tmp_path: pathlib.Path) -> None:
    fits = declared("fitsio.h", "cfitsio")
    fits.refine("ff*", check={"status": OSError}, discard="return")
    fits.refine("ffinit", out="fptr")
    fits.refine("ffopen", out="fptr")
    fits.refine("ffcrim", dims={"naxes": "naxis"})
    fits.refine("ffppr*", dims={"array": "nelem"})
    fits.refine("ffgpvd", dims={"array": "nelem"}, out=("array", "anynul"), discard="anynul")
    image = np.arange(6.0).reshape(2, 3)
    path = tmp_path / "image.fits"
    file = fits.ffinit(str(path))
    fits.ffcrim(file, fits.DOUBLE_IMG, np.array(image.shape[::-1]))
    fits.ffpprd(file, 1, 1, image.ravel())
    fits.ffclos(file)
    written = path.read_bytes()
    assert b"NAXIS1  =                    3" in written
    np.testing.assert_array_equal(np.frombuffer(written, ">f8", 6, 2880).reshape(2, 3), image)
    file = fits.ffopen(str(path), fits.READONLY)
    np.testing.assert_array_equal(fits.ffgpvd(file, 1, 1, 6, 0.0), image.ravel())
    fits.ffclos(file)
    with pytest.raises(OSError, match=r"ffopen\(\).* 104"):
        fits.ffopen(str(tmp_path / "absent.fits"), fits.READONLY)


def test_proj_takes_options() -> None:
    """The header is used unchanged, with one option as PROJ's documentation describes it."""
    proj = cwrapjit.library("proj", libraries=["proj"]).declare("#include <proj.h>")
    context = proj.proj_context_create()
    crs = proj.proj_create(context, "EPSG:4326")
    wkt = proj.proj_as_wkt(context, crs, proj.PJ_WKT2_2019, ["MULTILINE=NO"])
    assert wkt.startswith('GEOGCRS["WGS 84"') and "\n" not in wkt
    assert "\n" in proj.proj_as_wkt(context, crs, proj.PJ_WKT2_2019, None)
    proj.proj_destroy(crs)
    proj.proj_context_destroy(context)


@pytest.mark.row("L15")
def test_proj_moves_coordinates() -> None:
    proj = declared("proj.h", "proj")
    proj.handle("PJ_CONTEXT *", free="proj_context_destroy")
    proj.handle("PJ *", free="proj_destroy")
    proj.refine("proj_context_create", returns="callee")
    proj.refine("proj_create", returns="callee", keeps={"return": "ctx"})
    proj.refine("proj_trans_array", dims={"coord": "n"})
    context = proj.proj_context_create()
    mercator = proj.proj_create(context, "+proj=merc +ellps=sphere")
    del context
    gc.collect()
    there = proj.proj_trans(mercator, proj.PJ_FWD, proj.proj_coord(0.2, 0.9, 0.0, 0.0))
    radius = 6370997.0
    assert there.xy.x == pytest.approx(radius * 0.2)
    assert there.xy.y == pytest.approx(radius * np.log(np.tan(np.pi / 4 + 0.45)))
    back = proj.proj_trans(mercator, proj.PJ_INV, there)
    assert (back.lp.lam, back.lp.phi) == (pytest.approx(0.2), pytest.approx(0.9))


@pytest.mark.row("L15")
def test_umfpack_solves_sparse_systems() -> None:
    umfpack = declared("suitesparse/umfpack.h", "umfpack")
    matrix = {"Ap": "columns_and_1", "Ai": "nz", "Ax": "nz"}
    umfpack.refine("umfpack_di_*", dims=matrix, optional=("Control", "Info"), check=ValueError)
    umfpack.refine("umfpack_di_symbolic", out="Symbolic")
    umfpack.refine("umfpack_di_numeric", out="Numeric")
    umfpack.refine("umfpack_di_solve", dims={"X": "n", "B": "n"}, out="X")
    full = np.array([[2.0, 3, 0, 0], [3, 0, 4, 0], [0, -1, -3, 2], [0, 0, 1, 0.5]])
    b = np.array([1.0, 2, 3, 4])
    rows, columns = np.nonzero(full.T)
    sparse = (np.searchsorted(rows, np.arange(5)).astype("i4"), columns.astype("i4"), full.T[rows, columns])
    symbolic = umfpack.umfpack_di_symbolic(4, 4, *sparse)
    numeric = umfpack.umfpack_di_numeric(*sparse, symbolic)
    x = umfpack.umfpack_di_solve(umfpack.UMFPACK_A, *sparse, b, numeric)
    np.testing.assert_allclose(x, np.linalg.solve(full, b))
    with pytest.raises(ValueError, match="nz"):
        umfpack.umfpack_di_numeric(sparse[0], sparse[1][1:], sparse[2], symbolic)


BOTH = pytest.mark.parametrize("language", ["Python", "C"])


@pytest.mark.row("L15")
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


@pytest.mark.row("L15")
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


@pytest.mark.row("L15")
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


@pytest.mark.row("L15")
@BOTH
def test_gsl_integrates_functions(language: str) -> None:
    gsl = integration()
    space = gsl.gsl_integration_workspace(100)
    f = gsl.gsl_function(function=INTEGRANDS[language])
    value, error = gsl.gsl_integration_qagi(f, 1e-10, 1e-10, 100, space)
    assert abs(value - math.sqrt(math.pi)) < max(error, 1e-14) < 1e-8
    f.function = "return 1 / sqrt(x);" if language == "C" else lambda x: 1 / math.sqrt(x)
    assert gsl.gsl_integration_qags(f, 0, 1, 0, 1e-10, 100, space)[0] == pytest.approx(2, rel=1e-10)


@pytest.mark.row("L15")
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


@pytest.mark.row("L15")
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


@pytest.mark.row("L15")
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
    # C text reads the columns, and gets a Pointer as its user data.
    total = np.zeros(1)
    body = "*(double *)arg0 += atof(arg2[1]); return 0;"
    sql.sqlite3_exec(db, "select a, b from t", "#include <stdlib.h>\n" + body, cwrapjit.Pointer(total))
    assert total[0] == 0 + 1 + 4 + 9

    def fails(*_: Any) -> int:
        raise KeyError("row")

    refuses(KeyError, lambda: sql.sqlite3_exec(db, "select a from t", fails), "row")
    refuses(ValueError, lambda: sql.sqlite3_exec(db, "select a from t", lambda *_: 1), "query aborted")


@pytest.mark.row("L15")
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
    gc.collect()  # the search keeps the function alive
    x = np.array([-1.2, 1.0])
    status, value = nlopt.nlopt_optimize(search, x)
    assert status > 0 and value < 1e-15
    np.testing.assert_allclose(x, 1, rtol=1e-6)
    refuses(ValueError, lambda: nlopt.nlopt_optimize(search, np.zeros(3)), "dimension")


@pytest.mark.row("L15")
@BOTH
def test_cvode_follows_an_equation(language: str) -> None:
    """Integrates y' = (-2 y0, y0) from (1, 0), which gives exp(-2 t)."""
    libraries = "sundials_cvode sundials_nvecserial sundials_sunlinsoldense sundials_sunmatrixdense".split()
    if pathlib.Path("/usr/include/sundials/sundials_core.h").is_file():  # exists since version 7
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


# For each header: libraries, Debian package, text that must come before it.
HEADERS = {
    "zlib.h": ("z", "zlib1g-dev", ""),
    "png.h": ("png16", "libpng-dev", ""),
    "jpeglib.h": ("jpeg", "libjpeg-dev", "#include <stdio.h>\n"),
    "sqlite3.h": ("sqlite3", "libsqlite3-dev", ""),
    "fftw3.h": ("fftw3 fftw3f fftw3l", "libfftw3-dev", ""),
    "proj.h": ("proj", "libproj-dev", ""),
    "fitsio.h": ("cfitsio", "libcfitsio-dev", ""),
    "nlopt.h": ("nlopt", "libnlopt-dev", ""),
    "geos_c.h": ("geos_c", "libgeos-dev", ""),
    "lapacke.h": ("lapacke", "liblapacke-dev", ""),
    "suitesparse/cholmod.h": ("cholmod", "libsuitesparse-dev", ""),
    "suitesparse/umfpack.h": ("umfpack", "libsuitesparse-dev", ""),
    "cvode/cvode.h": ("sundials_cvode", "libsundials-dev", ""),
    "gsl/gsl_sf.h": ("gsl gslcblas", "libgsl-dev", ""),
    "gsl/gsl_rng.h": ("gsl gslcblas", "libgsl-dev", ""),
    "gsl/gsl_statistics.h": ("gsl gslcblas", "libgsl-dev", ""),
}


def share(header: str) -> float:
    """Returns the mapped share of the header's functions, including those that the library lacks."""
    libraries, package, before = HEADERS[header]
    if not pathlib.Path("/usr/include", header).is_file():
        pytest.skip(f"{header} is not installed (apt install {package})")
    lib = cwrapjit.library(pathlib.Path(header).stem, libraries=libraries.split())
    lib.declare(f"{before}#include <{header}>")
    mapped = set(lib.mapped)
    assert not mapped & set(lib.unmapped) and len(mapped) > 10
    assert all(lib.unmapped.values())  # each has a reason
    assert mapped <= set(dir(lib))
    return len(mapped) / (len(mapped) + len(lib.unmapped))


@pytest.mark.soak("maps some ten thousand functions")
def test_one_line_maps_real_headers() -> None:
    shares = {header: share(header) for header in HEADERS}
    shown = {header: f"{each:.1%}" for header, each in shares.items()}
    assert sum(shares.values()) / len(shares) > 0.85, shown
    assert min(shares.values()) > 0.6, shown  # FFTW declares __float128 functions that no library has
