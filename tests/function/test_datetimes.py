"""datetime64 and timedelta64: int64 in C, and no two units in one call."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest
from helpers import build_extension, refuses, same, wrap, wrap_signature
from leaks import keeps_nothing

import cwrapjit

NS, MS, S, D = (np.dtype(f"M8[{unit}]") for unit in ("ns", "ms", "s", "D"))
DIFFERENCE = """
    if (item__a() == NPY_DATETIME_NAT || item__b() == NPY_DATETIME_NAT)
        item__output() = NPY_DATETIME_NAT;
    else
        item__output() = item__a() - item__b();
    return true;
"""
SUM = DIFFERENCE.replace(" - ", " + ")
TIMES = np.array(["2024-02-29T12:00:00.123456789", "NaT", "1969-12-31", "2262-01-01"], "M8[ns]")
with warnings.catch_warnings():  # NumPy 2.5 does without what has no unit, some day
    warnings.simplefilter("ignore", DeprecationWarning)
    NOT_A_TIME = np.array("NaT", "M8")


def difference(types: Any = ("M8", "M8", "m8"), code: str = DIFFERENCE, **kw: Any) -> Any:
    return wrap(((), ()), (), {types: code}, **kw)


@pytest.mark.row("K12")
def test_a_unit_that_the_key_names():
    f = difference((NS, NS, "m8[ns]"))
    got = f(TIMES, TIMES[::-1])
    assert same(got, TIMES - TIMES[::-1]) and got.dtype == "m8[ns]"
    assert np.isnat(f(TIMES, TIMES[1])).all()
    out = np.empty(4, "m8[ns]")
    assert f(TIMES, TIMES[::-1], out=out) is out and same(out, got)
    one = f(TIMES[0], TIMES[2])
    assert type(one) is np.timedelta64 and one == TIMES[0] - TIMES[2]
    assert f.types == ("datetime64[ns], datetime64[ns] -> timedelta64[ns]",)
    for wrong in (TIMES.astype(S), TIMES.astype("i8"), TIMES - TIMES[0], TIMES.astype("M8[10ns]")):
        refuses(TypeError, lambda wrong=wrong: f(TIMES, wrong), "t.f()", "'b' is", "datetime64[ns]")
    refuses(
        TypeError, lambda: f(TIMES, TIMES, out=np.empty(4, "m8[us]")), "timedelta64[us]", "timedelta64[ns]"
    )
    refuses(TypeError, lambda: f(TIMES, 3), "'b' is a Python int")
    refuses(TypeError, lambda: f(TIMES.astype(">M8[ns]"), TIMES), "byte order")


@pytest.mark.row("K12")
@pytest.mark.parametrize(
    "unit", ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as", "25s", "7D"]
)
def test_any_unit_that_all_have(unit):
    f, add = difference(), difference(("M8", "m8", "M8"), SUM)
    x = np.arange(-3, 4).astype(f"M8[{unit}]")
    got = f(x, x[0])
    assert same(got, x - x[0]) and got.dtype == f"m8[{unit}]"
    back = add(x[0], got)
    assert same(back, x) and back.dtype == x.dtype
    out = np.empty(7, f"m8[{unit}]")
    assert f(x, x[::-1], out=out) is out and same(out, x - x[::-1])
    assert type(f(x[1], x[0])) is np.timedelta64 and f(x[1], x[0]) == x[1] - x[0]
    assert f(x[:0], x[0]).dtype == f"m8[{unit}]"


@pytest.mark.quick
@pytest.mark.row("K12")
def test_no_two_units():
    f = difference()
    x, y = TIMES.astype(S), TIMES.astype(MS)
    error = refuses(TypeError, lambda: f(x, y), "t.f()", "'a' is datetime64[s]", "'b' is datetime64[ms]")
    assert 'wanted (datetime64, datetime64 -> timedelta64) of equal units (cast="safe" converts it)' in str(
        error
    )
    refuses(
        TypeError, lambda: f(x, x, out=np.empty(4, "m8[ms]")), "'output' is timedelta64[ms]", "equal units"
    )
    refuses(TypeError, lambda: f(x, NOT_A_TIME), "'b' is datetime64", "equal units")
    refuses(TypeError, lambda: f(x, np.zeros(4)), "'b' is float64")
    months = np.arange(3).astype("m8[M]")
    error = refuses(TypeError, lambda: difference(("M8", "m8", "M8"))(x[:3], months), "timedelta64[M]")
    assert "converts" not in str(error)
    assert same(f(x, x), x - x), "and the next call is right again"
    # units are no matter of sets that have none
    g = wrap(
        ((), ()), (), {("M8", "M8", "m8"): DIFFERENCE, (NS, S, "i8"): "item__output() = 5; return true;"}
    )
    assert same(g(TIMES, x), np.full(4, 5))
    assert same(g(x, x), x - x)


@pytest.mark.row("K12")
@pytest.mark.parametrize(
    ("one", "other"), list(itertools.product(["M8[D]", "M8[s]", "M8[ns]", "M8[M]"], repeat=2))
)
def test_cast_converts_as_numpy_does(one, other):
    f = difference(cast="safe")
    x, y = np.arange(3).astype(one), np.arange(10, 13).astype(other)
    got = f(x, y)
    assert same(got, x - y) and got.dtype == (x - y).dtype
    assert np.isnat(f(x, NOT_A_TIME)).all()


@pytest.mark.row("K12")
def test_cast_by_what_is_safe():
    f = difference(("M8", "m8", "M8"), SUM, cast="safe")
    x = np.arange(3).astype("M8[s]")
    assert same(f(x, np.arange(3).astype("m8[ms]")), x + np.arange(3).astype("m8[ms]"))
    assert same(f(x, np.arange(3)), x + np.arange(3)), "NumPy casts integers to spans of time"
    months = np.arange(3).astype("m8[M]")
    refuses(TypeError, lambda: f(x, months), "timedelta64[M]", "equal units")
    refuses(TypeError, lambda: f(np.arange(3), np.arange(3)), "'a' is int64")
    # an output is not converted: the inputs are, if they can be
    out = np.empty(3, "M8[ms]")
    assert f(x, np.arange(3).astype("m8[s]"), out=out) is out
    assert same(out, (x + np.arange(3).astype("m8[s]")).astype("M8[ms]"))
    refuses(TypeError, lambda: f(x, x - x[0], out=np.empty(3, "M8[D]")), "'output' is datetime64[D]")
    g = difference((NS, NS, "m8[ns]"), cast="safe")
    assert same(g(x, TIMES[:3]), x - TIMES[:3])
    refuses(TypeError, lambda: g(x, np.zeros(3)), "'b' is float64")
    swapped = TIMES.astype(">M8[ns]")
    assert same(g(swapped, TIMES), TIMES - TIMES) and same(
        difference(cast="safe")(swapped, TIMES), TIMES - TIMES
    )


@pytest.mark.row("K12")
def test_an_argument_updated_in_place_decides_too():
    f = wrap_signature(
        "inout a(), b() ->", {("M8", "m8"): "item__a() += item__b(); return true;"}, cast="safe"
    )
    x = np.arange(3).astype("M8[ms]")
    f(x, np.arange(3).astype("m8[s]"))
    assert same(x, (np.arange(3) * 1001).astype("M8[ms]"))
    refuses(TypeError, lambda: f(x, np.arange(3).astype("m8[us]")), "'a' is datetime64[ms]", "equal units")


@pytest.mark.quick
@pytest.mark.row("K12")
def test_keys_that_leave_units_open_are_refused():
    refuses(ValueError, lambda: difference((NS, "M8", "m8")), "t.f()", "either all", "or none")
    refuses(ValueError, lambda: difference(("i8", "i8", "m8")), "t.f()", "no input", "the unit of an output")
    refuses(TypeError, lambda: difference((">M8[ns]", NS, "m8[ns]")), "byte order")
    assert difference(("i8", "i8", "m8[s]"), SUM)(1, np.int64(2)) == np.timedelta64(3, "s")
    f = difference((np.datetime64, np.datetime64, np.timedelta64))
    assert f.types == ("datetime64, datetime64 -> timedelta64",)


@pytest.mark.row("K12")
@pytest.mark.parametrize("options", [{"debug": True}, {"threads": 2}, {"optimize": "eager"}])
def test_with_other_options_and_shapes(options):
    f = difference(**options)
    x = np.arange(12000).astype("M8[s]").reshape(3, 4000)[::-1, ::-3]
    assert same(f(x, x[:, :1]), x - x[:, :1])
    assert same(f(x[:0], x[0]), x[:0] - x[0])
    assert same(f(x[0], x.T[:, :, None]), x[0] - x.T[:, :, None])


@pytest.mark.row("K12")
def test_both_tiers_say_the_same():
    f = difference()
    x = np.arange(1000).astype("M8[s]")
    before = f(x, x[::-1])
    if f.wait():
        assert same(f(x, x[::-1]), before)
    assert same(before, x - x[::-1])


@pytest.mark.row("K12")
def test_with_core_dims_and_other_types():
    f = wrap_signature(
        "t(n), x(n) -> total(), last()",
        {
            ("M8", "f8", "f8", "M8"): """
            item__total() = 0;
            item__last() = NPY_DATETIME_NAT;
            for (int i = 0; i < dims_slice__t[0]; i++)
                if (item__t(i) != NPY_DATETIME_NAT) {
                    item__total() += item__x(i);
                    if (item__last() == NPY_DATETIME_NAT || item__t(i) > item__last())
                        item__last() = item__t(i);
                }
            return true;"""
        },
    )
    total, last = f(TIMES, np.arange(4.0))
    assert total == 5 and type(last) is np.datetime64 and last == TIMES[3]
    total, last = f(TIMES.astype(D), np.arange(8.0).reshape(2, 4))
    assert same(last, np.array([TIMES[3]] * 2).astype(D)) and same(total, np.array([5.0, 17]))
    assert np.isnat(f(TIMES[:0], np.zeros(0))[1])


@pytest.mark.row("K12")
def test_a_written_module_minds_units_too(tmp_path):
    m = cwrapjit.module("written_units", "")
    for name, types in (("any", ("M8", "M8", "m8")), ("ns", (NS, NS, "m8[ns]"))):
        m.function(name, signature="a(), b() -> output()", Ccode_slice_eval={types: DIFFERENCE})
    with open(tmp_path / "text.c", "w") as file:
        m.write(file)
    written = build_extension(tmp_path, "written_units", (tmp_path / "text.c").read_text())
    x = TIMES.astype(S)
    assert same(written.any(x, x[0]), x - x[0])
    assert same(written.ns(TIMES, TIMES[0]), TIMES - TIMES[0])
    refuses(TypeError, lambda: written.any(x, TIMES), "datetime64[ns]", "of equal units")
    refuses(TypeError, lambda: written.ns(x, TIMES), "datetime64[s]")


@pytest.mark.leak
def test_calls_keep_nothing():
    f = difference(cast="safe")
    x, y = np.arange(3).astype("M8[s]"), np.arange(3).astype("M8[ms]")

    def calls() -> None:
        f(x, y)
        f(x, x)
        with pytest.raises(TypeError):
            f(x, 2.5)

    keeps_nothing(calls, watched=(x.dtype, y.dtype))
    keeps_nothing(lambda: difference(optimize="off")(x, x), watched=(x.dtype,))


@pytest.mark.row("K12")
def test_units_that_change_from_call_to_call():
    f = difference()
    units = ["M8[s]", "M8[ms]", "M8[25s]", "M8[D]", "M8[s]"]
    made = []
    for unit in units * 3:
        x = np.arange(3).astype(unit)
        made.append((f(x, x[0]), x - x[0]))
    assert all(same(got, wanted) for got, wanted in made)
