"""Tests the journeys of a new user in examples/: they run, and their functions take what NumPy takes."""

from __future__ import annotations

import array
import functools
import operator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import example
from numpy.lib.stride_tricks import sliding_window_view

pytestmark = pytest.mark.row("S11")

JOURNEYS = ["columns", "picture", "montecarlo", "nbody", "binary_log", "moving", "shapes"]


@pytest.mark.parametrize("name", JOURNEYS)
def test_a_journey_agrees_with_numpy(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The programs assert it."""
    assert example(name).main() == 0
    assert len(capsys.readouterr().out.splitlines()) in (1, 2, 3)


# ---- inputs -------------------------------------------------------------------------------------------

# Each makes an argument with the same values of a float64 array, whose values are whole numbers below 128.


def unaligned(x: np.ndarray) -> np.ndarray:
    return np.frombuffer(b"1" + x.tobytes(), x.dtype, offset=1).reshape(x.shape)


def field(x: np.ndarray) -> np.ndarray:
    made = np.zeros(x.shape, np.dtype([("mark", "u1"), ("x", "<f4"), ("y", ">f8")]))
    made["x"] = x
    return made["x"]


def every_second(x: np.ndarray) -> np.ndarray:
    made = np.full(tuple(2 * length for length in x.shape), -1.0)
    made[tuple(slice(None, None, 2) for _ in x.shape)] = x
    return made[tuple(slice(None, None, 2) for _ in x.shape)]


def backwards(x: np.ndarray) -> np.ndarray:
    return np.flip(np.flip(x).copy())


def read_only(x: np.ndarray) -> np.ndarray:
    made = x.copy()
    made.flags.writeable = False
    return made


def channel(x: np.ndarray) -> np.ndarray:
    return np.stack([x + 1, x, x + 2], axis=-1).astype(np.uint8)[..., 1]


FORMS: dict[str, Any] = {
    **{dtype: functools.partial(np.asarray, dtype=dtype) for dtype in ("f2", "f4", "i1", "u2", "i4", "i8")},
    **{dtype: functools.partial(np.asarray, dtype=dtype) for dtype in (">f8", ">f4", ">i2")},
    "list": np.ndarray.tolist,
    "list of arrays": list,
    "memoryview": memoryview,
    "array.array": lambda x: array.array("h", x.astype(int).tolist()) if x.ndim == 1 else x,
    "transposed": lambda x: x.T.copy().T,
    "real part": lambda x: (x + 3j).real,
    "recarray": lambda x: np.rec.fromarrays([x.astype("f4"), x], names="x, y").x,
    **{make.__name__: make for make in (unaligned, field, every_second, backwards, read_only, channel)},
}
given_as = pytest.mark.parametrize("form", FORMS)


def values(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).integers(1, 100, shape).astype(float)


@given_as
def test_columns_are_taken(form: str) -> None:
    lat, lon = values(2, 7)
    columns, places = example("columns"), [FORMS[form](each) for each in (lat, lon)]
    wanted = columns.distance_by_numpy(lat, lon, 10.0, 20.0)
    np.testing.assert_allclose(columns.distance(*places, 10, np.float32(20)), wanted, rtol=1e-12)
    np.testing.assert_allclose(columns.distance(10, [20], *places), wanted, rtol=1e-12)


@given_as
def test_pictures_are_taken(form: str) -> None:
    picture, x = example("picture"), values(6, 8, 3)
    np.testing.assert_allclose(
        picture.blur(FORMS[form](x[..., 0]), picture.WEIGHTS), picture.blur_by_numpy(x[..., 0])
    )
    weights = FORMS[form](np.array(picture.WEIGHTS, float))
    np.testing.assert_allclose(picture.blur(x[..., 1], weights), picture.blur_by_numpy(x[..., 1]))


@pytest.mark.parametrize(
    "part",
    [
        np.s_[:], np.s_[..., 1:2], np.s_[..., ::-1], np.s_[::-1, ::2], np.s_[1:4, 2:7], np.s_[:1, :1],
        np.s_[:0],
    ],
)  # fmt: skip
def test_pictures_of_bytes_are_taken(part: Any) -> None:
    picture, x = example("picture"), values(6, 8, 3).astype(np.uint8)
    for each in x[part], np.frombuffer(x.tobytes(), np.uint8).reshape(x.shape)[part], x.swapaxes(0, 1)[part]:
        wanted = picture.median_by_numpy(each) if each.size else each
        assert np.array_equal(picture.median(each), wanted)
        larger = np.zeros((10, 10, 4), np.uint8)[1 : 1 + len(each), 1 : 1 + each.shape[1], -each.shape[2] :]
        assert picture.median(each, out=larger) is larger and np.array_equal(larger, wanted)


@pytest.mark.parametrize(
    "seeds",
    [
        range(5),
        np.arange(10, dtype=np.uint8)[::2],
        np.random.SeedSequence(0).generate_state(6)[::-1],
        np.random.SeedSequence(0).generate_state(6, np.uint64),
        np.arange(6, dtype=">u4").reshape(2, 3).T,
    ],
    ids=["range", "strided", "backwards", "uint64", "big-endian"],
)
def test_seeds_are_taken(seeds: Any) -> None:
    montecarlo = example("montecarlo")
    given = np.asarray(seeds, np.uint64) if isinstance(seeds, range) else seeds
    wanted = montecarlo.hits_by_numpy(given.astype(np.uint64).ravel(), 50).reshape(given.shape)
    assert np.array_equal(montecarlo.lib.hits(given, 50), wanted)
    assert montecarlo.lib.hits(given, [[[np.int64(50)]]]).tolist() == [np.atleast_2d(wanted).tolist()]
    assert montecarlo.lib.hits(int(given.flat[1]), 50) == wanted.flat[1]


@given_as
def test_stars_are_taken(form: str) -> None:
    nbody, x, mass = example("nbody"), values(5, 3), values(5)
    wanted = nbody.pull_by_numpy(x, mass)
    np.testing.assert_allclose(nbody.pull(FORMS[form](x), x, FORMS[form](mass)), wanted, atol=1e-12)
    np.testing.assert_allclose(nbody.pull(x, FORMS[form](x), mass), wanted, atol=1e-12)


RECORD = np.dtype([("sensor", "u1"), ("time", ">u4"), ("raw", "<i2"), ("flags", "u1")])
SAME = {
    "big-endian": RECORD,
    "native": RECORD.newbyteorder("="),
    "aligned": np.dtype([(name, RECORD[name].newbyteorder("=")) for name in RECORD.names or ()], align=True),
    "small": np.dtype([("sensor", "u1"), ("time", "u2"), ("raw", "i2"), ("flags", "?")]),
    "other names": np.dtype([("a", "u1"), ("b", ">u4"), ("c", "<i2"), ("d", "u1")]),
    "part of a record": np.dtype([("head", "S3"), ("record", RECORD)]),
}


@pytest.mark.parametrize("kind", SAME)
def test_logs_are_taken(kind: str) -> None:
    binary_log, raw, flags = example("binary_log"), values(9), values(9) % 2
    log = np.zeros(9, SAME[kind])
    part = log["record"] if kind == "part of a record" else log
    names = part.dtype.names
    part[names[0]], part[names[1]], part[names[2]], part[names[3]] = 2, 10 * np.arange(9) ** 2, raw, flags
    wanted = np.where(flags, np.nan, 0.01 * raw)
    copy = np.frombuffer(b"1" + log.tobytes(), log.dtype, offset=1)
    copy = copy["record"] if kind == "part of a record" else copy
    for each in part, copy, part.view(np.recarray):
        np.testing.assert_array_equal(binary_log.volts(each), wanted)
        np.testing.assert_array_equal(binary_log.volts(each[::-2]), wanted[::-2])
        np.testing.assert_array_equal(binary_log.volts(each[4]), wanted[4])
        assert binary_log.longest_silence(each, [1, 2]).tolist() == [0, 150]
        assert binary_log.longest_silence(each[::2], np.uint8(2)) == 280


@given_as
def test_samples_are_taken(form: str) -> None:
    moving, x = example("moving").moving, values(30)
    mean, deviation = moving(FORMS[form](x), 4)
    windows = sliding_window_view(x, 4)
    np.testing.assert_allclose(mean[3:], windows.mean(-1))
    np.testing.assert_allclose(deviation[3:], windows.std(-1))
    table = FORMS[form](values(3, 30))
    means, _ = moving(table, [2, 4, 6])  # a width for each row
    np.testing.assert_array_equal(means[1], moving(values(3, 30)[1], 4)[0])


@pytest.mark.parametrize(
    "place", [np.s_[1, :, 2], np.s_[::-1, 3, 0], np.s_[1:3, 4:, 1]], ids=["plane", "backwards", "part"]
)
@pytest.mark.parametrize("dtype", ["f8", ">f8", "g", "D", [("mark", "u1"), ("x", "f8")]])
def test_results_go_into_parts_of_arrays(place: Any, dtype: Any) -> None:
    nbody, moving = example("nbody"), example("moving").moving
    larger = np.full((4, 8, 3), -1, np.int64).astype(dtype)
    whole = larger["x"] if isinstance(dtype, list) else larger
    out, before = whole[place], whole.copy()
    x = values(*out.shape)
    if x.ndim == 1:
        moving(x, 2, out=(out, np.empty(x.shape)))
        wanted = moving(x, 2)[0]
    else:
        wanted = example("columns").distance(x, 1, 2, 3)
        assert example("columns").distance(x, 1, 2, 3, out=out) is out
    before[place] = wanted
    np.testing.assert_array_equal(whole, before)
    stars = values(4, 3)
    nbody.pull(stars, stars, values(4), out=whole[:, 0])
    np.testing.assert_allclose(whole[:, 0], nbody.pull_by_numpy(stars, values(4)), atol=1e-12)


def test_arrays_of_a_librarys_structs_are_taken(tmp_path: Path) -> None:
    shapes, x = example("shapes"), values(8, 2)
    (tmp_path / "shapes.h").write_text(shapes.HEADER)
    (tmp_path / "shapes.c").write_text(shapes.SOURCE)
    lib = shapes.bind(str(tmp_path))
    points = x.view(lib.point)[:, 0]
    other = points.astype([("east", ">f4"), ("north", "i8")])
    big = np.zeros(8, [("mark", "u1"), ("point", lib.point)])
    big["point"] = points
    circle = np.array(((30, 40), 35, np.zeros(8, "i1")), lib.circle)
    inside = np.hypot(x[:, 0] - 30, x[:, 1] - 40) <= 35
    assert 0 < inside.sum() < 8
    frame = np.rec.fromarrays(x.T, names="x, y")
    for each in (
        points,
        other,
        big["point"],
        unaligned(points),
        read_only(points),
        frame,
        points.reshape(2, 4),
    ):
        assert np.array_equal(lib.circle_contains(circle, each).ravel(), inside)
        middle = lib.points_middle(each[..., ::-2])
        wanted = np.asarray(points.reshape(each.shape)["x"][..., ::-2]).mean(axis=-1)
        np.testing.assert_allclose(middle["x"], wanted)
    for column, member in enumerate("xy"):
        assert np.array_equal(points[member], x[:, column])
        assert operator.attrgetter(member)(lib.point(*x[3].tolist())) == x[3, column]
