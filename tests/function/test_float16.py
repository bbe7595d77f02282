"""float16 in functions: a struct of its bits, with conversions that are NumPy's in both tiers."""

from __future__ import annotations

import functools
import io
import pathlib
from typing import Any

import numpy as np
import pytest
from helpers import build_extension, compiler, refuses
from hypothesis import given
from hypothesis import strategies as st

import cwrapjit

F2, F4, F8 = np.float16, np.float32, np.float64
HALVES = np.arange(65536, dtype=np.uint16).view(F2)
FROM = {F4: "half_to_float", F8: "half_to_double"}


@pytest.fixture(autouse=True)
def needs_a_compiler() -> None:
    compiler()


@functools.cache
def tiers() -> list[Any]:
    """float16 to the others, and these to float16, in both tiers."""
    compiler()
    texts = {(F2, to): f"item__y() = {name}(item__x()); return true;" for to, name in FROM.items()}
    texts |= {(given, F2): "item__y() = float_to_half(item__x()); return true;" for given in FROM}
    made = [
        cwrapjit.function("f", signature="x() -> y()", Ccode_slice_eval=texts, optimize=tier)
        for tier in ("off", "eager")
    ]
    assert [f.tier for f in made] == ["tcc", "cc"], made[1].tier_error
    return made


def widened(array: Any, dtype: Any) -> Any:
    """After a look at both tiers' bits."""
    first, hot = (np.asarray(f(array, out=np.empty(np.shape(array), dtype))) for f in tiers())
    unsigned = f"u{first.itemsize}"
    np.testing.assert_array_equal(first.view(unsigned), hot.view(unsigned))
    return hot


def narrowed(array: Any) -> Any:
    first, hot = (np.atleast_1d(f(array)) for f in tiers())
    np.testing.assert_array_equal(first.view("u2"), hot.view("u2"))
    return hot


def bits(halves: Any) -> Any:
    """What is not a number is quiet: arm64 has instructions for NumPy's conversions, which make it so."""
    return halves.view("u2") | np.where(np.isnan(halves), np.uint16(0x200), np.uint16(0))


def numpys(array: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.atleast_1d(array).astype(F2)


# ---- conversions ------------------------------------------------------------------------------------


@pytest.mark.row("K11", "A05i")
@pytest.mark.parametrize("dtype", [F4, F8])
def test_all_halves_are_numpys(dtype: Any) -> None:
    with np.errstate(invalid="ignore"):
        wanted = HALVES.astype(dtype)
    got = widened(HALVES, dtype)
    told = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.isnan(got), ~told)
    np.testing.assert_array_equal(got[told].view(f"u{got.itemsize}"), wanted[told].view(f"u{got.itemsize}"))
    back = narrowed(wanted)
    np.testing.assert_array_equal(bits(back), bits(HALVES))  # what is not a number, too


@pytest.mark.row("K11")
@pytest.mark.parametrize("dtype", [F4, F8])
def test_what_lies_between_two_halves_goes_to_the_nearest(dtype: Any) -> None:
    finite = np.sort(HALVES[np.isfinite(HALVES)]).astype(F8)
    middle = (finite[1:] + finite[:-1]) / 2  # exact in float32, too
    assert np.array_equal(middle, middle.astype(F4))
    middle = np.concatenate([middle, [65520.0, -65520.0, 2.0**-25, -(2.0**-25)]]).astype(dtype)
    for numbers in (middle, np.nextafter(middle, dtype(np.inf)), np.nextafter(middle, dtype(-np.inf))):
        np.testing.assert_array_equal(narrowed(numbers).view("u2"), numpys(numbers).view("u2"))


@pytest.mark.row("K11")
def test_floats_of_all_bits_are_numpys() -> None:
    with np.errstate(invalid="ignore"):
        numbers = np.random.default_rng(3).integers(0, 2**32, 200_000, dtype=np.uint32).view(F4)
        tiny = np.arange(0x33000000 - 50, 0x33000000 + 50, dtype=np.uint32).view(F4)
        least = np.arange(0x38800000 - 9000, 0x38800000 + 9000, dtype=np.uint32).view(F4)
        most = np.arange(0x47800000 - 9000, 0x47800000 + 9000, dtype=np.uint32).view(F4)
    numbers = np.concatenate([numbers, tiny, least, most])
    np.testing.assert_array_equal(bits(narrowed(numbers)), bits(numpys(numbers)))


@pytest.mark.row("K11", "G08")
@given(st.lists(st.floats(), min_size=1), st.sampled_from([F4, F8]))
def test_any_floats_are_numpys(values: list[float], dtype: Any) -> None:
    with np.errstate(all="ignore"):
        numbers = np.array(values).astype(dtype)[::-1]
    got, wanted = narrowed(numbers), numpys(numbers)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(wanted))
    np.testing.assert_array_equal(got[~np.isnan(got)].view("u2"), wanted[~np.isnan(got)].view("u2"))


@pytest.mark.row("K11")
def test_a_double_is_rounded_once() -> None:
    value = 1 + 2**-11 + 2**-40  # as a float it is the tie, which goes to 1
    assert numpys(value) > 1 and narrowed(value) > 1 and narrowed(F4(value)) == 1
    f = cwrapjit.function(
        "f",
        signature="x() -> y()",
        Ccode_slice_eval={(F8, F2): "item__y() = float_to_half(item__x() + 0x1p-40); return true;"},
    )
    assert f(1 + 2**-11) > 1


# ---- in functions ----------------------------------------------------------------------------------------


def one(statement: str, **options: Any) -> Any:
    return cwrapjit.function(
        "f", signature="x() -> y()", Ccode_slice_eval={F2: statement + " return true;"}, **options
    )


@pytest.mark.row("K11")
@pytest.mark.parametrize("optimize", ["off", "eager"])
def test_computing_and_copying(optimize: str) -> None:
    twice = one("item__y() = float_to_half(half_to_float(item__x()) * 2);", optimize=optimize)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(twice(HALVES), HALVES * F2(2))
    assert type(twice(F2(3))) is F2 and twice(1.5) == 3 and twice(HALVES[::-3]).strides == (2,)
    same = one("ctype__y h = item__x(); h.bits ^= 0x8000; item__y() = h;", optimize=optimize)
    np.testing.assert_array_equal(same(HALVES).view("u2"), (-HALVES).view("u2"))
    total = cwrapjit.function(
        "total",
        signature="x(n) -> y()",
        Ccode_slice_eval={
            F2: """
                float sum = 0;
                for (npy_intp i = 0; i < dims_slice__x[0]; i++)
                    sum += half_to_float(item__x(i));
                item__y() = float_to_half(sum);
                return true;"""
        },
        optimize=optimize,
    )
    x = np.random.default_rng(1).normal(size=(50, 100)).astype(F2)
    np.testing.assert_allclose(total(x), x.astype(F4).sum(-1), rtol=2e-3)
    changed = cwrapjit.function(
        "changed",
        signature="inout x() -> y()",
        Ccode_slice_eval={
            F2: """
                item__y() = item__x();
                item__x() = float_to_half(0);
                return true;"""
        },
        optimize=optimize,
    )
    given = np.ones(4, F2)
    assert changed(given).tolist() == [1] * 4 and given.tolist() == [0] * 4


@pytest.mark.row("K11")
def test_a_header_asks_for_them() -> None:
    half = "static cwj_half half_of(cwj_half h) { return float_to_half(half_to_float(h) / 2); }"
    refuses(
        cwrapjit.CompileError,
        lambda: one("item__y() = half_of(item__x());", header=half),
        "<numpy/halffloat.h>",
    )
    f = one("item__y() = half_of(item__x());", header="#include <numpy/halffloat.h>\n" + half)
    assert f(3.0) == 1.5 and f.wait() and f(3.0) == 1.5
    own = one(
        "item__y() = item__x(); item__y().bits = float_to_half(1);",
        header="static npy_half float_to_half(float x) { return (npy_half)(42 * x); }",
    )
    assert own(0.0).view(np.uint16) == 42


@pytest.mark.quick
@pytest.mark.row("K11")
@pytest.mark.parametrize(
    "statement",
    [
        "item__y() = item__x() + item__x();",
        "item__y() = item__x() * 2;",
        "item__y() = -item__x();",
        "item__y() = 1.5;",
        "item__y() = 1;",
        "item__y() += 1;",
        "item__y()++;",
        "float f = item__x(); item__y() = float_to_half(f);",
        "float f; f = item__x(); item__y() = float_to_half(f);",
        "float f = (float)item__x(); item__y() = float_to_half(f);",
        "double f = 2 * (double)item__x(); item__y() = float_to_half(f);",
        "int i = item__x(); item__y() = float_to_half(i);",
        "float f = sinf(item__x()); item__y() = float_to_half(f);",
        "if (item__x() > 0) return false;",
        "if (item__x()) return false;",
        "item__y() = half_to_float(item__x());",
        "item__y() = float_to_half(item__x());",
        "item__y() = double_to_half(item__x());",
        "float f = half_to_float(1.5f); item__y() = float_to_half(f);",
    ],
)
def test_arithmetic_on_bits_is_refused_with_the_way_to_go(statement: str) -> None:
    refuses(cwrapjit.CompileError, lambda: one(statement), "half_to_float", "float_to_half")


@pytest.mark.row("K11")
def test_float16_of_compilers_is_refused_with_the_way_to_go() -> None:
    refuses(cwrapjit.CompileError, lambda: one("_Float16 h = 1;"), "libtcc", "cwj_half")


@pytest.mark.row("K11")
def test_strange_strides_and_numbers() -> None:
    for f in tiers():
        assert f(np.broadcast_to(F2(2.5), (3, 0, 2)), out=np.empty((3, 0, 2), F4)).shape == (3, 0, 2)
        assert f(np.broadcast_to(F2(2.5), (2, 3)), out=np.empty((2, 3), F4)).tolist() == [[2.5] * 3] * 2
        odd = np.zeros(4, dtype=[("c", "i1"), ("h", F2)])["h"]
        refuses(ValueError, lambda f=f, odd=odd: f(odd, out=np.empty(4, F4)), "aligned")
        refuses(TypeError, lambda f=f: f(np.int8([1])), "float16")


@pytest.mark.row("K11", "U09")
@pytest.mark.parametrize("header", ["", "#include <numpy/halffloat.h>"])
def test_written_modules_have_them(header: str, tmp_path: pathlib.Path) -> None:
    m = cwrapjit.module("written_half", "", header=header)
    text = "item__y() = float_to_half(half_to_float(item__x()) * 1.0001f); return true;"
    m.function("f", signature="x() -> y()", Ccode_slice_eval={F2: text})
    source = io.StringIO()
    m.write(source)
    flags = ("-ffp-contract=off", "-Wall", "-Werror")
    built = build_extension(tmp_path, "written_half", source.getvalue(), *flags)
    np.testing.assert_array_equal(built.f(HALVES).view("u2"), m.f(HALVES).view("u2"))


@pytest.mark.quick
@pytest.mark.row("K11", "K16")
def test_vectorize_by_type() -> None:
    text = "#include <numpy/halffloat.h>\nT f(T x) { return float_to_half(2 * half_to_float(x)); }"
    assert cwrapjit.vectorize(text, T="f2")(F2(1.5)) == 3 and cwrapjit.vectorize(text)(F2([1.5])) == [3]
    plain = cwrapjit.vectorize("T f(T x) { return 2 * x; }")
    refuses(cwrapjit.CompileError, lambda: plain(F2([1.5])), "half_to_float")
