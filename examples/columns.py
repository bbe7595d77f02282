"""Distances between places, from columns of a table.

C knows nothing of columns: the function takes four numbers. Columns of any type go in, a column comes out,
and pandas keeps its index. Each result is compared with NumPy's.
"""

import sys
import time
from typing import Any

import numpy as np

import cwrapjit

distance = cwrapjit.vectorize("""
    // The way over the globe in km, by the haversine formula, between places in degrees.
    double distance(double lat1, double lon1, double lat2, double lon2)
    {
        const double degree = M_PI / 180;
        const double a = sin((lat2 - lat1) * degree / 2), b = sin((lon2 - lon1) * degree / 2);
        return 2 * 6371 * asin(sqrt(a * a + cos(lat1 * degree) * cos(lat2 * degree) * b * b));
    }""")

HAMBURG = 53.55, 9.99


def distance_by_numpy(lat1: Any, lon1: Any, lat2: Any, lon2: Any) -> Any:
    lat1, lon1, lat2, lon2 = (np.radians(each, dtype=float) for each in (lat1, lon1, lat2, lon2))
    a, b = np.sin((lat2 - lat1) / 2), np.sin((lon2 - lon1) / 2)
    return 2 * 6371 * np.arcsin(np.sqrt(a**2 + np.cos(lat1) * np.cos(lat2) * b**2))


def make_table(places: int) -> np.ndarray:
    """Places in Germany, roughly: a structured array, whose columns are strided views."""
    rng = np.random.default_rng(0)
    table = np.zeros(places, dtype=[("name", "U8"), ("lat", "f4"), ("lon", "f8"), ("height", "i2")])
    table["name"] = [f"place{k}" for k in range(places)]
    table["lat"], table["lon"] = rng.uniform(47, 55, places), rng.uniform(6, 15, places)
    table["height"] = rng.integers(0, 1000, places)
    return table


def main() -> int:
    table = make_table(20_000)
    start = time.perf_counter()
    km = distance(table["lat"], table["lon"], *HAMBURG)  # float32, float64 and numbers
    took = 1000 * (time.perf_counter() - start)
    assert np.allclose(km, distance_by_numpy(table["lat"], table["lon"], *HAMBURG))
    print(f"{len(km)} distances in {took:.1f} ms; the nearest place is {table['name'][km.argmin()]}")

    few = table[:400]  # each with each: a column broadcasts with a row
    matrix = distance(few["lat"][:, None], few["lon"][:, None], few["lat"], few["lon"])
    assert np.allclose(matrix, matrix.T) and not matrix.diagonal().any()
    print(f"the {few.size} first places are up to {matrix.max():.0f} km apart")

    try:
        import pandas as pd
    except ImportError:
        print("pandas is not installed here: no DataFrame")
        return 0
    frame = pd.DataFrame(table).set_index("name")
    frame["km"] = distance(frame["lat"], frame["lon"], *HAMBURG)  # a Series, with the names as its index
    assert np.allclose(frame["km"], km)
    trip = frame.sort_values("lon")[:10]
    ends = trip["lat"], trip["lon"], trip["lat"].shift(), trip["lon"].shift()
    steps = distance(*ends)  # the first one is NaN
    assert np.allclose(steps, distance_by_numpy(*ends), equal_nan=True)
    print(f"a trip from {trip.index[0]} to {trip.index[-1]} in {len(trip) - 1} steps: {steps.sum():.0f} km")
    return 0


if __name__ == "__main__":
    sys.exit(main())
