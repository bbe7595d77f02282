"""Tests functions on a dask cluster of processes, defined in the program itself, and the cluster example."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cwrapjit

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "cluster.py"

PROGRAM = """
    import os

    import dask.array as da
    import numpy as np
    import xarray as xr
    from distributed import Client, LocalCluster

    import cwrapjit

    excess = cwrapjit.vectorize("double excess(double x, double limit) { return x > limit ? x - limit : 0; }")
    twice = cwrapjit.ElementwiseKernel("T x", "T y", "y = 2 * x", "twice")
    inner = cwrapjit.function("inner", signature="a(n), b(n) -> output()", cast="safe",
                              Ccode_slice_eval={float: '''
        double sum = 0;
        for(npy_intp i = 0; i < dims_slice__a[0]; i++)
            sum += item__a(i) * item__b(i);
        item__output() = sum;
        return true;'''})
    parts = cwrapjit.vectorize("void parts(double x, OUT double *f, OUT double *i) { *f = modf(x, i); }")
    steps = cwrapjit.function("steps", signature="x(n) -> output(n)", Ccode_slice_eval={float: '''
        for(npy_intp i = 0; i < dims_slice__x[0]; i++)
            item__output(i) = i > 0 ? item__x(i) - item__x(i - 1) : 0;
        return true;'''})

    def where(x):
        return np.full(x.shape, os.getpid())

    def named(x):
        return excess(x, 5.0)

    def check(client):
        values = np.arange(24.0).reshape(4, 6)
        x = da.from_array(values, chunks=(2, 6))  # sent to the workers, where chunks may be unaligned
        wanted = np.maximum(values - 5, 0)
        same = np.testing.assert_array_equal
        same(x.map_blocks(excess, 5.0).compute(), wanted)
        same(x.map_blocks(named).compute(), wanted)
        same(x.map_blocks(twice).compute(), 2 * values)
        same(da.apply_gufunc(inner, "(n),(n)->()", x, x, output_dtypes=float).compute(), (values**2).sum(1))
        for ours, numpys in zip(da.apply_gufunc(parts, "()->(),()", x / 4, output_dtypes=(float, float)),
                                np.modf(values / 4), strict=True):
            same(ours.compute(), numpys)
        line = da.arange(50.0, chunks=8) ** 2
        same(line.map_overlap(steps, depth=1, boundary="nearest").compute(),
             np.diff(np.arange(50.0) ** 2, prepend=0))
        wind = xr.DataArray(x, dims=("t", "x"))
        got = xr.apply_ufunc(excess, wind, 5.0, dask="parallelized", output_dtypes=[float])
        same(got.compute().values, wanted)
        got = xr.apply_ufunc(inner, wind, wind, input_core_dims=[["x"], ["x"]], dask="parallelized",
                             output_dtypes=[float])
        same(got.compute().values, (values**2).sum(1))
        pids = {*client.run(os.getpid).values()}
        assert len(pids) == 2 and os.getpid() not in pids
        try:
            x.map_blocks(lambda c: inner(c, np.ones(5)), drop_axis=1, dtype=float, meta=np.empty(0)).compute()
        except ValueError as error:
            assert "inner()" in str(error), error
        else:
            raise AssertionError("an error on a worker was lost")
        first, second = client.scatter(excess), client.scatter(excess)
        assert first.key == second.key  # one token for one content
        assert client.submit(lambda f: f(7.0, 5.0), first).result() == 2

    if __name__ == "__main__":
        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
            with Client(cluster) as client:
                check(client)
        print("checked")
"""


def run(*command: str, folder: Path) -> str:
    # dask logs how fast the machine is, and reports heartbeats to a closing cluster as errors. With these
    # levels, stderr has only messages of Python and cwrapjit; failures show in the results.
    config = folder / "dask.yaml"
    loggers = ("distributed", "distributed.client", "distributed.gc", "tornado.application")
    levels = dict.fromkeys(loggers, "critical")
    config.write_text(json.dumps({"logging": levels}), encoding="utf-8")
    environment = os.environ | {
        "DASK_CONFIG": str(config),
        "DASK_TEMPORARY_DIRECTORY": str(folder),
        "PYTHONWARNINGS": "error::RuntimeWarning",
    }
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    environment.pop("DASK_SCHEDULER_ADDRESS", None)
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True, timeout=1200
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


@pytest.mark.row("U06")
def test_functions_of_a_program_on_a_cluster(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAM), encoding="utf-8")
    assert run(str(program), folder=tmp_path) == "checked\n"


@pytest.mark.row("U17")
def test_the_example_computes_what_does_not_fit(tmp_path: Path) -> None:
    command = [str(EXAMPLE), "--size=8000", "--block=500", "--workers=2", "--megabytes=400"]
    printed = run(*command, folder=tmp_path)
    one, several = re.findall(r"^workers +(\d+), (\d+) MiB", printed, re.MULTILINE)
    assert (one, several) == (("1", "400"), ("2", "800"))
    assert [*map(float, re.findall(r"([\d.]+) of that memory", printed))] == [1.22, 0.61]
    assert re.findall(r"^chunks +(\d+) of", printed, re.MULTILINE) == ["256", "256"]
    differences = re.findall(r"largest difference from NumPy +(\S+)", printed)
    assert len(differences) == 2 and max(map(float, differences)) < 1e-9
    assert len({*re.findall(r"(\d+) cells", printed)}) == 1
    assert float(re.findall(r"^speed-up +([\d.]+) with 2 workers$", printed, re.MULTILINE)[0]) > 0


@pytest.mark.row("U06")
def test_threads_of_dask() -> None:
    import dask.array as da

    square = cwrapjit.vectorize("double square(double x) { return x * x; }", threads=2)
    values = np.arange(100_000.0)
    got: Any = da.from_array(values, chunks=7_000).map_blocks(square).compute(scheduler="threads")
    np.testing.assert_array_equal(got, values**2)


@pytest.mark.row("S04")
def test_unaligned_chunks() -> None:
    import dask.array as da

    def unaligned(x: np.ndarray) -> np.ndarray:
        made = np.zeros(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
        made[...] = x
        assert not made.flags.aligned
        return made

    values = np.arange(24.0).reshape(4, 6)
    x: Any = da.from_array(values, chunks=(2, 6)).map_blocks(unaligned, dtype=float, meta=np.empty((0, 0)))
    for text in ("double twice(double x) { return x * 2; }", "T twice(T x) { return x * 2; }"):
        np.testing.assert_array_equal(x.map_blocks(cwrapjit.vectorize(text)).compute(), 2 * values)
    twice = cwrapjit.ElementwiseKernel("T x", "T y", "y = 2 * x", "twice")
    np.testing.assert_array_equal(x.map_blocks(twice).compute(), 2 * values)
    summed = """double sum(int n, const double x[n])
    {
        double total = 0;
        for (int i = 0; i < n; i++)
            total += x[i];
        return total;
    }"""
    for f in (
        cwrapjit.vectorize(summed),
        cwrapjit.library("sums", source=summed).sum,
        lambda x: cwrapjit.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0")(x, axis=-1),
    ):
        got = da.apply_gufunc(f, "(n)->()", x, output_dtypes=float).compute()
        np.testing.assert_array_equal(got, values.sum(1))


@pytest.mark.row("U06")
def test_chunks_of_nothing_and_wrong_types() -> None:
    import dask.array as da

    square = cwrapjit.vectorize("double square(double x) { return x * x; }")
    nothing = da.from_array(np.empty((0, 3)), chunks=(1, 3)).map_blocks(square)
    assert (nothing.dtype, nothing.compute().shape) == (float, (0, 3))
    x = da.from_array(np.arange(6.0), chunks=2)
    assert x[x > 9].map_blocks(square).compute().shape == (0,)  # has chunks of unknown size
    strange = da.from_array(np.array([1, None], dtype=object), chunks=1)
    with pytest.raises(TypeError, match=r"square\(\): .*'x' is object"):
        strange.map_blocks(square, dtype=float, meta=np.empty(0)).compute()
