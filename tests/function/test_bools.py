"""np.bool_ is C's _Bool in both tiers: stores convert, and any byte in memory reads as true or false."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest
from helpers import compiler, refuses, wrap_signature

import cwrapjit as cj
import cwrapjit.graph as cg

TIERS = ["off", "eager"]
N = 5000


@pytest.fixture(autouse=True)
def needs_a_compiler() -> None:
    compiler()


def bytes_of(array: Any) -> Any:
    return np.asarray(array).view(np.uint8)


def odd_bools(n: int = N) -> np.ndarray[Any, Any]:
    """A bool array whose true elements are any byte but 0."""
    rng = np.random.default_rng(3)
    raw = rng.integers(0, 256, n).astype(np.uint8)
    raw[rng.random(n) < 0.4] = 0
    return raw.view(np.bool_)


@pytest.mark.row("G15")
@pytest.mark.parametrize("optimize", TIERS)
@pytest.mark.parametrize(
    ("dtype", "code", "wanted"),
    [
        (np.float64, "item__x()", lambda x: x != 0),
        (np.float64, "item__x() * 0.5", lambda x: x * 0.5 != 0),
        (np.int64, "item__x() & 6", lambda x: x & 6 != 0),
        (np.int64, "item__x() * 256", lambda x: x != 0),
        (np.uint8, "item__x()", lambda x: x != 0),
    ],
)
def test_stores_into_bools_follow_bool(optimize: str, dtype: Any, code: str, wanted: Any) -> None:
    f = wrap_signature(
        "x() -> y()", {(dtype, np.bool_): f"item__y() = {code}; return true;"}, optimize=optimize
    )
    x = np.random.default_rng(1).integers(0, 9, N).astype(dtype)
    if dtype is np.float64:
        x[:6] = [0.5, -0.0, 1e-300, np.nan, np.inf, 0.25]
    out = np.ones(N, np.bool_)
    assert (f.tier == "tcc") == (optimize == "off")
    assert np.array_equal(bytes_of(f(x)), wanted(x).astype(np.uint8))
    f(x, out=out)
    assert np.array_equal(bytes_of(out), wanted(x).astype(np.uint8))


@pytest.mark.row("G15")
@pytest.mark.parametrize("optimize", TIERS)
def test_locals_of_a_bools_type_are_bools(optimize: str) -> None:
    code = "ctype__y half = 0.5; item__y() = half == 1 && half == true && sizeof(half) == 1; return true;"
    f = wrap_signature("x() -> y()", {(np.float64, np.bool_): code}, optimize=optimize)
    assert f(np.zeros(3)).all()


@pytest.mark.row("G15")
@pytest.mark.parametrize("optimize", TIERS)
def test_any_byte_but_0_reads_as_true(optimize: str) -> None:
    odd = odd_bools()
    truth = bytes_of(odd) != 0
    code = "item__y() = item__x() + (item__x() == true) + 8 * (item__x() ^ 1) + 4 * !!item__x(); return true;"
    f = wrap_signature("x() -> y()", {(np.bool_, np.int64): code}, optimize=optimize)
    assert np.array_equal(f(odd), np.where(truth, 6, 8))
    assert np.array_equal(f(odd[::-3]), np.where(truth, 6, 8)[::-3])
    both = wrap_signature(
        "a(), b() -> y()", {np.bool_: "item__y() = item__a() & item__b(); return true;"}, optimize=optimize
    )
    assert np.array_equal(bytes_of(both(odd, odd[::-1])), truth & truth[::-1])
    code = "item__y() = 0; for (int i = 0; i < dims_slice__x[0]; i++) item__y() += item__x(i); return true;"
    count = wrap_signature("x(n) -> y()", {(np.bool_, np.int64): code}, optimize=optimize)
    assert np.array_equal(count(odd.reshape(-1, 50)), truth.reshape(-1, 50).sum(1))


@pytest.mark.quick
@pytest.mark.row("G15")
@pytest.mark.parametrize("optimize", TIERS)
@pytest.mark.parametrize("prefix", ["", "static int calls; calls++;"], ids=["in the loop", "a function"])
def test_bools_that_are_updated_in_place(optimize: str, prefix: str) -> None:
    """Read as true, whatever is there, and left as 0 or 1."""
    code = (
        prefix
        + """
        item__y() = 0;
        for (int i = 0; i < dims_slice__x[0]; i++)
            for (int j = 0; j < dims_slice__x[1]; j++) {
                item__y() += item__x(i, j);
                if (j != 1)
                    item__x(i, j) ^= 1;
            }
        return true;"""
    )
    f = wrap_signature("inout x(n, m) -> y()", {(np.bool_, np.int64): code}, optimize=optimize)
    x = odd_bools().reshape(-1, 10, 10)
    truth = bytes_of(x) != 0
    wanted = ~truth
    wanted[..., 1] = truth[..., 1]
    assert np.array_equal(f(x), truth.sum((1, 2)))
    assert np.array_equal(bytes_of(x), wanted)


@pytest.mark.row("G15")
@pytest.mark.parametrize(
    ("change", "of_false", "of_true"),
    [
        ("item__x()++", 1, 1),
        ("item__x()--", 1, 0),
        ("item__x() += 2", 1, 1),
        ("item__x() -= 1", 1, 0),
        ("item__x() *= 0.5", 0, 1),
        ("item__x() |= 8", 1, 1),
        ("item__x() &= 6", 0, 0),
        ("item__x() /= 2", 0, 0),
        ("item__x() <<= 8", 0, 1),
        ("item__x() = (char)256", 0, 0),
        ("item__x() = 256", 1, 1),
        ("item__x() = -0.0", 0, 0),
    ],
)
def test_assignments_to_bools(change: str, of_false: int, of_true: int) -> None:
    x = odd_bools()
    wanted = np.where(bytes_of(x) != 0, of_true, of_false)
    for optimize in TIERS:
        f = wrap_signature("inout x() ->", {np.bool_: f"{change}; return true;"}, optimize=optimize)
        changed = x.copy()
        f(changed)
        assert np.array_equal(bytes_of(changed), wanted), optimize


@pytest.mark.row("G15")
@pytest.mark.parametrize("optimize", TIERS)
def test_bools_in_graphs(optimize: str) -> None:
    odd = odd_bools()
    truth = bytes_of(odd) != 0
    x = cg.ndarray(np.bool_, 1)("x")
    add = cg.elementwise("a, b", "a + b", dtype="int64")
    assert np.array_equal(cj.link([x], add(x, x), optimize=optimize)(odd), 2 * truth)
    both = cg.elementwise("a, b", "a & b", dtype="bool")
    assert np.array_equal(bytes_of(cj.link([x], both(x, x), optimize=optimize)(odd)), truth)

    class Half(cg.COp):
        def make_node(self, a: Any) -> Any:
            return cg.Apply(self, [a], [cg.Scalar("bool")()])

        def c_code(self, node: Any, name: str, inputs: Any, outputs: Any, sub: Any) -> str:
            return f"{outputs[0]} = {inputs[0]} * 0.5;"

    number = cg.Scalar("float64")("number")
    half = cj.link([number], Half()(number), optimize=optimize)
    assert [half(value) for value in (1.0, 0.0, 2.0)] == [True, False, True]


@pytest.mark.quick
@pytest.mark.row("G15")
def test_bools_of_libraries(tmp_path: pathlib.Path) -> None:
    """C's bool holds 0 or 1: what C writes to is made so; what it only reads is the caller's, and refused."""
    source = tmp_path / "bools.c"
    source.write_text("""
        #include <stdbool.h>
        int count(int n, const bool *x) { int c = 0; for (int i = 0; i < n; i++) c += x[i]; return c; }
        int flip(int n, bool *x) { int c = count(n, x); for (int i = 0; i < n; i++) x[i] = !x[i]; return c; }
        int every(int n, bool *x, int s) { int c = 0; for (int i = 0; i < n; i++) c += x[i * s]; return c; }
    """)
    lib = cj.library("bools", sources=[source])
    lib.function("int count(int n, const bool x[n])")
    lib.function("int flip(int n, bool x[n])", inout="x")
    lib.function("int every(int n, bool x[n], int s)", inout="x", strides={"s": "x"})
    x = odd_bools()
    truth = bytes_of(x) != 0
    refuses(ValueError, lambda: lib.count(x), "argument x", "0 and 1", "x != 0")
    assert lib.count(x != 0) == truth.sum()
    assert lib.every(x[::2]) == truth[::2].sum()
    assert np.array_equal(bytes_of(x[::2]), truth[::2])
    assert lib.flip(x) == truth.sum()
    assert np.array_equal(bytes_of(x), ~truth)
