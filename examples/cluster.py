"""A height field larger than the memory of its workers, on a dask cluster of processes.

    python examples/cluster.py [--size N] [--workers N] [ADDRESS]

Each block of the field is computed from its position alone, by noise from an integer hash. A stencil
computes the steepness of each cell, across the borders of blocks; a reduction counts the steep cells and
adds up the rest. Blocks are freed after their last use, so the array may be several times as large as the
workers' memory.

The workers are processes of this machine with a memory limit each, or those of the scheduler at ADDRESS (or
$DASK_SCHEDULER_ADDRESS), which need cwrapjit, too. The functions are defined here, in `__main__`: they
travel as C text, and each worker compiles them once. A piece of the field is compared with NumPy, and the
program fails if they differ.
"""

import argparse
import os
import tempfile
import time
from typing import Any

import numpy as np

import cwrapjit

# Smooth noise between the corners of squares of 64 x 64 cells; every corner's height is a hash of its place.
heights = cwrapjit.vectorize(
    """
    static double corner(npy_int64 i, npy_int64 j)
    {
        npy_uint64 h = (npy_uint64)i * 0x9E3779B97F4A7C15u ^ (npy_uint64)j * 0xC2B2AE3D27D4EB4Fu;
        h = (h ^ h >> 30) * 0xBF58476D1CE4E5B9u;
        h = (h ^ h >> 27) * 0x94D049BB133111EBu;
        return (h >> 11) * 0x1p-53;
    }

    static double smooth(double t)
    {
        return t * t * (3 - 2 * t);
    }

    double heights(npy_int64 i, npy_int64 j)
    {
        double s = smooth((i & 63) / 64.0), t = smooth((j & 63) / 64.0);
        npy_int64 k = i >> 6, l = j >> 6;
        double left = corner(k, l) * (1 - s) + corner(k + 1, l) * s;
        double right = corner(k, l + 1) * (1 - s) + corner(k + 1, l + 1) * s;
        return 1000 * (left * (1 - t) + right * t);
    }""",
)

# Of a block with a border of one cell on each side; the border itself gets 0, and dask cuts it off.
steepness = cwrapjit.function(
    "steepness",
    signature="z(n, m) -> output(n, m)",
    Ccode_slice_eval={
        float: """
        npy_intp n = dims_slice__z[0], m = dims_slice__z[1];
        for(npy_intp i = 0; i < n; i++)
            for(npy_intp j = 0; j < m; j++)
            {
                bool inside = i > 0 && j > 0 && i < n - 1 && j < m - 1;
                double down = inside ? item__z(i + 1, j) - item__z(i - 1, j) : 0;
                double across = inside ? item__z(i, j + 1) - item__z(i, j - 1) : 0;
                item__output(i, j) = sqrt(down * down + across * across) / 2;
            }
        return true;"""
    },
)

# How many cells of a block are steeper than 20, and the sum of all.
summary = cwrapjit.function(
    "summary",
    signature="x(n, m) -> output(2)",
    Ccode_slice_eval={
        float: """
        double steep = 0, sum = 0;
        for(npy_intp i = 0; i < dims_slice__x[0]; i++)
            for(npy_intp j = 0; j < dims_slice__x[1]; j++)
            {
                steep += item__x(i, j) > 20;
                sum += item__x(i, j);
            }
        item__output(0) = steep;
        item__output(1) = sum;
        return true;"""
    },
)


def field(empty: Any, block_info: Any = None) -> Any:
    """The block of the field at its place; `empty` is there for its shape alone."""
    if not block_info:  # dask wants to know the type of what comes out
        return np.empty((0, 0))
    (top, bottom), (left, right) = block_info[0]["array-location"]
    return heights(np.arange(top, bottom)[:, None], np.arange(left, right))


def lazily(size: int, block: int) -> tuple[Any, Any, Any]:
    """The field, its steepness, and the summary of that, each still to be computed."""
    import dask.array as da

    places = da.empty((size, size), chunks=block, dtype=np.int8)
    z = places.map_blocks(field, dtype=float)
    steep = da.map_overlap(steepness, z, depth=1, boundary="none", dtype=float)
    ones = [(1,) * blocks for blocks in z.numblocks]
    sums = steep.map_blocks(lambda x: summary(x)[None, None], chunks=(*ones, 2), new_axis=2, dtype=float)
    return z, steep, sums.sum(axis=(0, 1))


def largest_difference(z: Any, steep: Any) -> float:
    """Between the steepness of cells around the first corner of four blocks, and NumPy's."""
    middle = z.chunks[0][0]
    around = slice(max(middle - 20, 0), middle + 20)
    heights_there, ours = z[around, around].compute(), steep[around, around].compute()
    down, across = np.gradient(heights_there)
    return float(np.abs(np.hypot(down, across) - ours)[1:-1, 1:-1].max())


def seconds(lazy: Any) -> tuple[float, Any]:
    start = time.perf_counter()
    result = lazy.compute()
    return time.perf_counter() - start, result


def local(workers: int, megabytes: int, folder: str) -> Any:
    from distributed import LocalCluster

    return LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        memory_limit=megabytes * 2**20,
        dashboard_address=":0",
        local_directory=folder,
    )


def report(client: Any, size: int, block: int) -> float:
    """Computes the field on all workers; how many seconds it took."""
    z, steep, sums = lazily(size, block)
    infos = client.scheduler_info(n_workers=-1)["workers"].values()
    memory = sum(info["memory_limit"] for info in infos)
    client.run(lambda: (heights(0, 0), None)[1])  # so that no worker is asked before it is there
    took, (steep_cells, total) = seconds(sums)
    print(f"workers        {len(infos)}, {memory / 2**20:.0f} MiB together")
    print(f"array          {size} x {size} float64, {z.nbytes / 2**20:.0f} MiB: ", end="")
    print(f"{z.nbytes / memory:.2f} of that memory")
    print(f"chunks         {z.npartitions} of {block} x {block}, {z.nbytes / z.npartitions / 2**20:.1f} MiB")
    print(f"steeper than 20    {steep_cells:.0f} cells; mean steepness {total / size**2:.4f}")
    print(f"took           {took:.2f} s, {z.nbytes / took / 2**20:.0f} MiB/s", flush=True)
    difference = largest_difference(z, steep)
    print(f"largest difference from NumPy   {difference:.1e}", flush=True)
    assert difference < 1e-9
    return took


def main() -> None:
    import dask
    from distributed import Client

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("address", nargs="?", default=os.environ.get("DASK_SCHEDULER_ADDRESS"))
    parser.add_argument("--size", type=int, default=20000, help="rows and columns of the field")
    parser.add_argument("--block", type=int, default=1000, help="rows and columns of a chunk")
    parser.add_argument("--workers", type=int, default=min(os.cpu_count() or 1, 8))
    parser.add_argument("--megabytes", type=int, default=400, help="memory limit of a worker")
    given = parser.parse_args()
    dask.config.set({"distributed.admin.large-graph-warning-threshold": "100MB"})
    if given.address:
        with Client(given.address) as client:
            report(client, given.size, given.block)
        return
    took = []
    for workers in (1, given.workers):
        with tempfile.TemporaryDirectory() as folder:
            with local(workers, given.megabytes, folder) as cluster, Client(cluster) as client:
                took.append(report(client, given.size, given.block))
    print(f"speed-up       {took[0] / took[1]:.2f} with {given.workers} workers")


if __name__ == "__main__":
    main()
