"""Tests functions sent by other packages: cloudpickle, joblib, and all kinds of processes."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import cwrapjit
import cwrapjit.graph as cg

TEXT = "double excess(double x, double limit) { return x > limit ? x - limit : 0; }"
VALUES = np.arange(6.0)


def things() -> list[Any]:
    x = cg.float64("x")
    lib = cwrapjit.library("own", source=TEXT)
    m = cwrapjit.module("m", header=TEXT)
    body = {"f8": "item__output() = excess(item__x(), 2); return true;"}
    return [
        cwrapjit.vectorize(TEXT),
        m.function("excess", signature="x() -> output()", Ccode_slice_eval=body),
        m,
        cwrapjit.ElementwiseKernel("T x, T y", "T z", "z = x > y ? x - y : 0"),
        cwrapjit.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0"),
        lib.excess,
        lib,
        cwrapjit.link([x], x * x),
    ]


def use(found: list[Any]) -> list[Any]:
    """Calls all objects, here or in another process, and returns the results."""
    vectorized, function, module, kernel, total, member, library, graph = found
    assert module.excess is function and library.excess is member
    return [
        vectorized(VALUES, 2).tolist(), function(VALUES).tolist(), kernel(VALUES, 2.0).tolist(),
        float(total(VALUES)), member(VALUES, 2.0).tolist(), graph(3.0), vectorized.__dask_tokenize__(),
    ]  # fmt: skip


@pytest.mark.row("U05")
@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_processes_compute_the_same(method: str) -> None:
    made = things()
    context = multiprocessing.get_context(method)
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        assert pool.submit(use, made).result() == use(made)
        assert pool.submit(pickle.dumps, made[0]).result() == pickle.dumps(made[0])  # from there and back


@pytest.mark.row("U05")
def test_cloudpickle_takes_what_a_program_defines() -> None:
    program = f"""if True:
        import pickle, sys, cloudpickle, cwrapjit
        excess = cwrapjit.vectorize({TEXT!r})
        class Louder(cwrapjit.ElementwiseKernel):
            pass
        loud = Louder("T x", "T y", "y = 2 * x")
        def both(values):
            return excess(values, 2).tolist(), loud(values).tolist(), type(loud).__name__
        sys.stdout.buffer.write(cloudpickle.dumps(both))
    """
    data = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout
    assert pickle.loads(data)(VALUES) == ([0, 0, 0, 1, 2, 3], (2 * VALUES).tolist(), "Louder")


@pytest.mark.row("U05")
def test_joblib_sends_them_to_its_workers() -> None:
    import joblib

    made = things()
    with joblib.parallel_config(backend="loky", n_jobs=2):
        found = joblib.Parallel()(joblib.delayed(use)(made) for _ in range(3))
    assert found == [use(made)] * 3
    sent = joblib.Parallel(n_jobs=2, backend="loky")(
        joblib.delayed(made[0])(VALUES, limit) for limit in range(4)
    )
    assert [each.sum() for each in sent] == [15, 10, 6, 3]
    assert joblib.hash(made[0]) == joblib.hash(cwrapjit.vectorize(TEXT))
