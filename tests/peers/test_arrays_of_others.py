"""Tests f.ufunc with arrays of other packages; NumPy's own ufuncs are the oracle."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest
from helpers import ar, example

import cwrapjit

pytestmark = pytest.mark.row("U16")


@functools.cache
def hypotenuse() -> Any:
    return cwrapjit.vectorize("double hypotenuse(double x, double y) { return hypot(x, y); }")


@functools.cache
def parts() -> Any:
    """Returns a function like np.modf."""
    return cwrapjit.vectorize("void parts(double x, OUT double *f, OUT double *i) { *f = modf(x, i); }")


@functools.cache
def inner() -> Any:
    body = """
        double sum = 0;
        for(npy_intp i = 0; i < dims_slice__a[0]; i++)
            sum += item__a(i) * item__b(i);
        item__output() = sum;
        return true;"""
    return cwrapjit.function("inner", signature="a(n), b(n) -> output()", Ccode_slice_eval={np.float64: body})


def test_masked_arrays() -> None:
    x, y = np.ma.array([3.0, np.nan, 2.5], mask=[0, 0, 1]), np.ma.array([4.0, 1, 2], mask=[0, 1, 0])
    got, wanted = hypotenuse().ufunc(x, y), np.hypot(x, y)
    assert type(got) is type(wanted)
    assert (got.mask.tolist(), got.fill_value) == (wanted.mask.tolist(), wanted.fill_value)
    np.testing.assert_array_equal(got.filled(-1), wanted.filled(-1))
    for ours, numpys in zip(parts().ufunc(x), np.modf(x), strict=True):
        assert type(ours) is np.ma.MaskedArray and ours.mask.tolist() == numpys.mask.tolist()
        np.testing.assert_array_equal(ours.filled(-1), numpys.filled(-1))
    with pytest.raises(TypeError, match="masked elements, which would be lost"):
        hypotenuse()(x, y)


def test_columns_of_pandas() -> None:
    import pandas as pd

    u = hypotenuse().ufunc
    x = pd.Series([3.0, np.nan, 5], index=["a", "b", "c"], name="x")
    y = pd.Series([12.0, 1, 4], index=["c", "b", "a"], name="x")
    pd.testing.assert_series_equal(u(x, y), np.hypot(x, y))  # as the index aligns them
    pd.testing.assert_series_equal(u(x, 4), np.hypot(x, 4))
    frame = pd.DataFrame({"p": [3.0, np.nan], "q": [1.0, 2.0]}, index=[7, 8])
    pd.testing.assert_frame_equal(u(frame, 4.0), np.hypot(frame, 4.0))
    nullable = pd.array([3.0, None, 5], dtype="Float64")
    pd.testing.assert_extension_array_equal(u(nullable, 4.0), np.hypot(nullable, 4.0))
    for ours, numpys in zip(parts().ufunc(x), np.modf(x), strict=True):
        pd.testing.assert_series_equal(ours, numpys)
    strict = cwrapjit.vectorize("double f(double x) { return x; }", cast="no")
    with pytest.raises(TypeError, match=r"Series has its own __array_ufunc__.*\.ufunc"):
        strict(x)


SUM = """T sum(int n, const T x[n])
{
    T total = 0;
    for (int i = 0; i < n; i++)
        total += x[i];
    return total;
}"""


@pytest.mark.row("N26i", "S04")
def test_functions_of_c_texts_take_what_their_ufuncs_take() -> None:
    """Functions of numbers keep labels; slices with core dims get arrays."""
    import pandas as pd
    import xarray as xr

    f, of_t = hypotenuse(), cwrapjit.vectorize("T plus(T x, T y) { return x + y; }")
    kernel = cwrapjit.ElementwiseKernel("float64 x, T y", "T z", "z = x + y", "plus")
    x = pd.Series([3.0, np.nan, 5], index=["a", "b", "c"], name="x")
    y = pd.Series([12.0, 1, 4], index=["c", "b", "a"], name="x")
    pd.testing.assert_series_equal(f(x, y), np.hypot(x, y))
    pd.testing.assert_series_equal(f(y=x, x=4), np.hypot(4, x))
    frame = pd.DataFrame({"p": [3.0, np.nan], "q": [1.0, 2.0]}, index=[7, 8])
    pd.testing.assert_frame_equal(f(frame, 4.0), np.hypot(frame, 4.0))
    pd.testing.assert_series_equal(of_t(x, 2.0), x + 2)
    assert of_t(pd.NA, 2.0) is of_t(pd.NA, pd.NA) is f(3.0, pd.NA) is pd.NA
    pd.testing.assert_series_equal(kernel(x, x), x + x)
    grid = xr.DataArray(ar(2, 3), dims=("time", "place"), coords={"time": [3, 4]})
    xr.testing.assert_identical(f(grid, 4.0), np.hypot(grid, 4.0))
    for total in (cwrapjit.vectorize(SUM), cwrapjit.vectorize(SUM.replace("T", "double"))):
        assert total(y) == 17 and total(frame).tolist()[1:] == pytest.approx([np.nan], nan_ok=True)
        assert total(grid.astype("f4")).tolist() == [3, 12]
    total = cwrapjit.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")
    assert total(y) == 17 and total(grid, axis=0).tolist() == [3, 5, 7]
    with pytest.raises(TypeError, match=r"hypotenuse\(\): missing required argument 'y'"):
        f(x)
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        f(x, y, z=1)


@pytest.mark.parametrize("name", ["subtract", "le", "maximum", "between"])
def test_functions_with_the_names_of_others_compute_what_they_say(name: str) -> None:
    """pandas calls its own operators for ufuncs of certain names."""
    import pandas as pd

    x = pd.Series([3.0, 5], index=["a", "b"])
    text = f"double {name}(double x, double y) {{ return 10 * x + y; }}"
    kernel = cwrapjit.ElementwiseKernel("T x, T y", "T z", "z = 10 * x + y", name)
    body = {np.float64: "item__output() = 10 * item__x() + item__y(); return true;"}
    of_slices = cwrapjit.function(name, signature="x(), y() -> output()", Ccode_slice_eval=body, cast="safe")
    library = getattr(cwrapjit.library("names", source=text), name)
    for f in (cwrapjit.vectorize(text), cwrapjit.vectorize(text.replace("double", "T")), library, of_slices):
        assert f.__name__ == name
        pd.testing.assert_series_equal(f(x, 2.0), 10 * x + 2)
        pd.testing.assert_series_equal(f(2.0, x), x + 20)
    pd.testing.assert_series_equal(kernel(x, x), 11 * x)
    assert of_slices.ufunc.__name__ == (name if name == "between" else f"{name}_")
    assert of_slices.ufunc.reduce(x) == 35


@pytest.mark.row("S11")
@pytest.mark.parametrize(
    "dtype", ["f8", "f4", "i2", "u1", "Int16", "Float64", "Float32", "double[pyarrow]", "int8[pyarrow]"]
)
def test_journeys_take_columns_of_pandas(dtype: str) -> None:
    import pandas as pd

    columns, moving = example("columns"), example("moving").moving
    x = np.random.default_rng(0).integers(1, 80, (20, 3)).astype(float)
    frame = pd.DataFrame(x, columns=["lat", "lon", "group"]).astype(dtype)
    frame.index = pd.date_range("2024-01-01", periods=20)
    lat, lon = frame["lat"], frame["lon"]
    wanted = columns.distance_by_numpy(x[:, 0], x[:, 1], 10.0, 20.0)
    for got in (
        columns.distance(lat, lon, 10, 20),
        frame.assign(km=lambda f: columns.distance(f.lat, f.lon, np.float32(10), 20))["km"],
        frame.apply(lambda row: columns.distance(row.lat, row.lon, 10, 20), axis=1),
    ):
        assert isinstance(got, pd.Series) and got.index.equals(frame.index)
        np.testing.assert_allclose(got.to_numpy(float), wanted, rtol=1e-9)
    shuffled = columns.distance(lat, lon[::-1], 10, 20)  # as the index aligns them
    np.testing.assert_allclose(shuffled.to_numpy(float), wanted, rtol=1e-9)
    for each in lat, lat[::2], lat[::-1]:
        mean, deviation = moving(each, 3)
        np.testing.assert_allclose(mean, each.astype(float).rolling(3).mean())
        np.testing.assert_allclose(deviation, each.astype(float).rolling(3).std(ddof=0), atol=1e-6)
    plain = frame if isinstance(lat.dtype, np.dtype) else frame.astype(float)  # else an array of objects
    every = moving(plain.T, [[2], [4]])[0]
    np.testing.assert_allclose(every[1].T, frame.astype(float).rolling(4).mean())
    grouped = lat.groupby(frame.group.astype(int) % 2).transform(lambda g: moving(g, 2)[0])
    by_pandas = lat.astype(float).groupby(frame.group.astype(int) % 2).rolling(2).mean().droplevel(0)
    np.testing.assert_allclose(grouped.to_numpy(float), by_pandas.reindex(frame.index))


@pytest.mark.row("S11")
def test_journeys_take_missing_values_and_records_of_pandas() -> None:
    import pandas as pd

    distance = example("columns").distance
    x = pd.Series([10.0, None, 30.0], dtype="Float64", index=["a", "b", "c"], name="x")
    got = distance(x, x, 10.0, 20.0)
    assert got.dtype == "Float64" and got.isna().tolist() == [False, True, False]
    assert distance(pd.NA, 1.0, 2, 3) is pd.NA
    volts = example("binary_log").volts
    frame = pd.DataFrame({"sensor": [1, 2], "time": [3, 4], "raw": [50, -50], "flags": [0, 2]})
    records = frame.astype({"sensor": "u1", "time": "u4", "raw": "i2", "flags": "u1"}).to_records(index=False)
    assert volts(records).tolist() == [0.5, -0.5]


def test_columns_of_polars() -> None:
    import polars as pl
    from polars.testing import assert_frame_equal, assert_series_equal

    u = hypotenuse().ufunc
    x = pl.Series("x", [3.0, None, math.nan, 5.0])
    assert_series_equal(u(x, 4.0), np.hypot(x, 4.0))
    y = pl.Series("y", [4.0, 1.0, 2.0, 12.0])
    assert_series_equal(u(x, y), np.hypot(x, y))
    frame = pl.DataFrame([x, y])
    assert_frame_equal(
        frame.with_columns(z=u(pl.col("x"), 4.0)), frame.with_columns(z=np.hypot(pl.col("x"), 4.0))
    )
    for several in (parts().ufunc, np.modf):  # polars rejects ufuncs with two outputs
        with pytest.raises(NotImplementedError, match="return one 1D array"):
            several(x)


def test_xarray() -> None:
    import xarray as xr

    u = hypotenuse().ufunc
    x = xr.DataArray([[3.0, np.nan], [5.0, 8.0]], dims=("t", "x"), coords={"t": [10, 20]}, name="wind")
    y = xr.DataArray([12.0, 4.0], dims="t", coords={"t": [20, 10]})
    aligned = y.reindex_like(x.t)
    xr.testing.assert_identical(u(x, aligned), np.hypot(x, aligned))
    xr.testing.assert_identical(
        xr.apply_ufunc(u, x, y, join="inner"), xr.apply_ufunc(np.hypot, x, y, join="inner")
    )
    data = xr.Dataset({"p": x, "q": 2 * x})
    xr.testing.assert_identical(xr.apply_ufunc(u, data, 4.0), xr.apply_ufunc(np.hypot, data, 4.0))


@pytest.mark.parametrize("kind", ["f", "f.ufunc"])
def test_xarray_over_dask(kind: str) -> None:
    import xarray as xr

    def use(f: Any, *args: Any, **options: Any) -> Any:
        took = f if kind == "f" or isinstance(f, np.ufunc) else f.ufunc
        return xr.apply_ufunc(took, *args, dask="parallelized", **options)

    x = xr.DataArray(ar(4, 6), dims=("t", "x"), name="wind").chunk(t=2)
    got = use(hypotenuse(), x, 4.0, output_dtypes=[float])
    assert got.chunks == x.chunks
    xr.testing.assert_identical(got.compute(), use(np.hypot, x, 4.0, output_dtypes=[float]).compute())
    dims: Any = {"input_core_dims": [["x"], ["x"]], "output_dtypes": [float]}
    xr.testing.assert_allclose(use(inner(), x, x, **dims).compute(), (x * x).sum("x").compute())
    two = use(parts(), x / 4, output_core_dims=[[], []], output_dtypes=[float, float])
    for ours, numpys in zip(two, np.modf(x.values / 4), strict=True):
        np.testing.assert_array_equal(ours.compute().values, numpys)


def test_dask_arrays() -> None:
    import dask.array as da

    u = hypotenuse().ufunc
    values = ar(4, 6)
    x = da.from_array(values, chunks=(2, 3))
    got = u(x, da.ones(6, chunks=3))
    assert type(got) is da.Array and got.chunks == x.chunks and got.dtype == float
    np.testing.assert_array_equal(got.compute(), np.hypot(values, 1))
    np.testing.assert_allclose(
        inner().ufunc(x.rechunk((2, 6)), x.rechunk((2, 6))).compute(), (values**2).sum(1)
    )
    two = da.apply_gufunc(parts().ufunc, "()->(),()", x / 4, output_dtypes=(float, float))
    for ours, numpys in zip(two, np.modf(values / 4), strict=True):
        np.testing.assert_array_equal(ours.compute(), numpys)
    with pytest.raises(TypeError, match="__array_ufunc__"):  # dask knows NumPy's ufuncs by name
        parts().ufunc(x)


def test_units_of_pint() -> None:
    """pint knows ufuncs by name and rejects unknown ones; it never takes ours for NumPy's."""
    import pint

    units = pint.UnitRegistry()
    x = np.array([3.0, 5.0]) * units.m
    with pytest.raises(TypeError, match="__array_ufunc__"):
        hypotenuse().ufunc(x, 4 * units.m)
    with pytest.raises(TypeError, match="__array_ufunc__"):
        hypotenuse()(x, 4 * units.m)
    in_metres = units.wraps("m", ("m", "m"))(lambda x, y: hypotenuse()(x, y))
    got = in_metres(x, 400 * units.cm)
    assert got.units == units.m
    np.testing.assert_array_equal(got.magnitude, np.hypot([3.0, 5.0], 4))
    add = cwrapjit.vectorize("double add(double x, double y) { return x - y; }")
    with pytest.raises(TypeError, match="__array_ufunc__"):
        add(x, 100 * units.cm)
