"""Tasks of real users with real libraries: one #include, and a line for what C does not say."""

from __future__ import annotations

import gc
import pathlib
import sqlite3
import zlib
from typing import Any

import numpy as np
import pytest
from library_tools import declared

pytestmark = pytest.mark.row("L15")


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
    with pytest.raises(ValueError, match="no such column: cost"):
        run(db, "select cost from prices")
    with pytest.raises(ValueError, match="column index out of range"):
        run(db, "select price from prices", 1.0)
    statement = sql.sqlite3_prepare_v2(db, "select count(*) from prices")
    with pytest.raises(BufferError, match="sqlite3"):
        db.close()
    del db
    gc.collect()
    assert sql.sqlite3_step(statement) == sql.SQLITE_ROW  # the statement keeps its database
    assert sql.sqlite3_column_int(statement, 0) == 5
    del statement
    gc.collect()
    with sqlite3.connect(tmp_path / "prices.db") as python:
        assert python.execute("select sum(price) from prices").fetchone() == (2.5,)
    python.close()


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
    with pytest.raises(ValueError, match="buffer error"):
        z.uncompress(x.size - 1, packed)
    assert z.crc32(0, x) == zlib.crc32(x)


def test_gsl_random_numbers_and_special_functions() -> None:
    gsl = declared("gsl/gsl_rng.h", "gsl", "gslcblas")
    gsl.declare("#include <gsl/gsl_sf_bessel.h>\n#include <gsl/gsl_errno.h>\n#include <gsl/gsl_randist.h>")
    gsl.gsl_set_error_handler_off()
    gsl.handle("gsl_rng *", free="gsl_rng_free")
    gsl.refine("gsl_rng_alloc", returns="callee")
    gsl.refine("gsl_sf_*_e", out="result", check=(ValueError, "gsl_strerror"))
    random = gsl.gsl_rng_alloc(gsl.gsl_rng_mt19937)
    gsl.gsl_rng_set(random, 4357)
    oracle = np.random.RandomState(4357)  # the same generator
    drawn = [gsl.gsl_rng_get(random) for _ in range(1000)]
    assert drawn == oracle.randint(0, 2**32, 1000, dtype=np.uint32).tolist()
    assert 0 <= gsl.gsl_ran_flat(random, 0.0, 1.0) < 1
    found = gsl.gsl_sf_bessel_J0_e(2.0)
    assert found.val == pytest.approx(0.22389077914123567, abs=found.err)
    with pytest.raises(ValueError, match="input domain error"):
        gsl.gsl_sf_bessel_K0_e(-1.0)


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
