"""Arguments that all slices share: `shared counts(m)`, args_shared=."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cwrapjit as cj

COUNT = """
    if (item__k() < 0 || item__k() >= dims_slice__counts[0]) {
        PyErr_Format(PyExc_IndexError, "%d is no bin", (int)item__k());
        return false;
    }
    item__counts(item__k())++;
    return true;"""


def histogram(**options: Any) -> cj.Function:
    return cj.function(
        "histogram", signature="k(), shared counts(m) ->", Ccode_slice_eval={np.int64: COUNT}, **options
    )


@pytest.mark.parametrize("optimize", ["off", "eager"])
@pytest.mark.parametrize(("slices", "m"), [(10, 5), (5000, 7), (300_000, 3)])
def test_each_slice_writes_where_it_likes(optimize: str, slices: int, m: int) -> None:
    k = np.random.default_rng(3).integers(0, m, slices)
    f = histogram(optimize=optimize)
    for keys in (k, k[::-1], k.reshape(5, -1), k.reshape(5, -1).T, k[::3]):
        counts = np.zeros(m, int)
        for _ in range(3):
            assert f(keys, counts) is None
        assert (counts == 3 * np.bincount(keys.ravel(), minlength=m)).all()
    wide = np.zeros(2 * m, int)
    f(k, wide[::-2])
    assert (wide[::-2] == np.bincount(k, minlength=m)).all() and not wide[::2].any()
    f(np.int64(0), wide[:m])
    f(k[:0], wide[:m])


@pytest.mark.quick
def test_it_does_not_broadcast() -> None:
    f = histogram()
    assert f.signature == "k(), shared counts(m) ->"
    same = cj.function(
        "f", signature="k(), inout shared counts(m) ->", Ccode_slice_eval={np.int64: "return true;"}
    )
    assert same.signature == f.signature
    with pytest.raises(
        ValueError, match=r"'counts' with shape \(2, 5\): wanted 1 dims, as all slices share it"
    ):
        f(np.zeros(2, int), np.zeros((2, 5), int))
    with pytest.raises(ValueError, match="wanted 1 dims"):
        f(1, np.zeros((2, 5), int))
    with pytest.raises(TypeError, match="'counts' is updated in place: wanted a NumPy array, got list"):
        f(np.zeros(2, int), [0, 0])
    frozen = np.zeros(3, int)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="'counts' is written to: wanted a writable array"):
        f(np.zeros(2, int), frozen)
    k = np.zeros(4, int)
    with pytest.raises(ValueError, match="'counts' shares memory with argument 'k'"):
        f(k, k)
    with pytest.raises(ValueError, match="may hold several elements in the same memory"):
        f(k, np.lib.stride_tricks.as_strided(np.zeros(1, int), (4,), (0,)))
    with pytest.raises(IndexError, match="9 is no bin"):
        f(np.array([9]), np.zeros(2, int))


def test_beside_outputs_and_without_dims() -> None:
    f = cj.function(
        "cumulate",
        args_input=("total", "x"),
        prototype_input=((), ()),
        prototype_output=(),
        args_shared=("total",),
        Ccode_slice_eval={
            np.float64: "item__total() += item__x(); item__output() = item__total(); return true;"
        },
    )
    x = np.random.default_rng(1).random((40, 50))
    for order in "CF":
        total = np.zeros(())
        sums = f(total, np.asarray(x, order=order))
        assert np.allclose(sums, x.cumsum().reshape(x.shape)), "slices run in C order"
        assert np.isclose(total, x.sum())


@pytest.mark.quick
def test_threads_need_a_word() -> None:
    with pytest.raises(ValueError, match="they share an argument that each of them may write to"):
        histogram(threads=2)
    assert histogram(threads=2, unordered=True).tier == "tcc"
    assert histogram().tier == "tcc"


@pytest.mark.quick
@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"args_shared": ("q",)}, "args_shared.0. is 'q', which is not in args_input"),
        ({"args_shared": ("c", "c")}, "args_shared has 'c' twice"),
        ({"args_shared": ("c",), "args_inout": ("c",)}, "'c' is in args_inout and in args_shared"),
    ],
)
def test_bad_names(options: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        cj.function(
            "f",
            args_input=("k", "c"),
            prototype_input=((), ("m",)),
            Ccode_slice_eval={int: "return true;"},
            **options,
        )
    with pytest.raises(TypeError, match="signature takes the place of args_shared"):
        cj.function("f", signature="k(), c(m) ->", args_shared=("c",), Ccode_slice_eval={int: "return true;"})


@pytest.mark.quick
def test_debug_and_write_know_it() -> None:
    f = histogram(debug=True)
    counts = np.zeros(3, int)
    f(np.array([1, 1, 2]), counts)
    assert counts.tolist() == [0, 2, 1]
    m = cj.module("shared_ones")
    m.function("histogram", signature="k(), shared counts(m) ->", Ccode_slice_eval={np.int64: COUNT})
    written: list[str] = []
    m.write(file=type("File", (), {"write": lambda self, text: written.append(text)})())
    assert "CWJ_SHARED, 1, (const npy_intp[]){-1}}" in "".join(written)
