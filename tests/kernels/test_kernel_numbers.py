"""Complex numbers and float16 in vectorize(), ElementwiseKernel and ReductionKernel."""

from __future__ import annotations

import numpy as np
import pytest

import cwrapjit
from cwrapjit import ElementwiseKernel, ReductionKernel

X = np.array([[1 + 2j, -3j, 0.5], [-1.5 + 0.25j, 4, -2 - 1j]])
HALVES = np.array([0.0, -0.0, 1.5, 65504, 6e-8, np.inf, -2.25], np.float16)


# ---- complex numbers ------------------------------------------------------------------------------------


@pytest.mark.row("K11")
@pytest.mark.parametrize("sort", ["F", "D"])
def test_complex_letters(sort: str) -> None:
    x = X.astype(sort)
    for text, wanted in (
        ("y = cadd(cmul(x, conj(x)), T(1, 2))", x * x.conj() + (1 + 2j)),
        ("y = T(x.imag(), x.real())", x.imag + 1j * x.real),
        ("y = T(norm(x))", (x.real**2 + x.imag**2).astype(sort)),
        ("y = T(abs(x), arg(x))", np.abs(x) + 1j * np.angle(x)),
        ("y = cmul(exp(x), sqrt(x))", np.exp(x) * np.sqrt(x)),
        ("T half = {x.real() / 2, x.imag / 2}; y = half", x / 2),
        ("y = x; y.real = imag(x)", x.imag + 1j * x.imag),
    ):
        made = ElementwiseKernel("T x", "T y", text)(x)
        assert made.dtype == sort
        np.testing.assert_allclose(made, wanted, rtol=1e-5 if sort == "F" else 1e-12)
    real = ElementwiseKernel("T x, U k", "U y", "y = x.real() * k + sin(k) + abs(k)")
    k = np.array([1.0, -2, 3], x.real.dtype)
    np.testing.assert_allclose(real(x, k), x.real * k + np.sin(k) + np.abs(k), rtol=1e-5)


@pytest.mark.row("K11")
def test_complex_texts_of_other_places() -> None:
    kernel = ElementwiseKernel(
        "T x, raw T w",
        "T y",
        "y = f(w[i % w.size()], x)",
        preamble="static T f(T a, T b) { return cmul(a, b); }",
    )
    np.testing.assert_array_equal(kernel(X, X[0]), X[0] * X)
    mine = ElementwiseKernel(
        "T x", "T y", "y = cadd(x)", preamble="static T cadd(T z) { z.real += 1; return z; }"
    )
    np.testing.assert_array_equal(mine(X), X + 1)
    for text in ("y = x * x", "y = sqrt(x) + x", "y = 1"):
        with pytest.raises(cwrapjit.CompileError, match="complex"):
            ElementwiseKernel("T x", "T y", text)(X)


@pytest.mark.row("K11")
@pytest.mark.parametrize("sort", ["F", "D"])
@pytest.mark.parametrize("identity", ["0", 0, 0j, None, "T(0)", "CMPLX(0, 0)"])
def test_complex_reductions(sort: str, identity: object) -> None:
    if sort == "F" and identity in (0j, "CMPLX(0, 0)") and not isinstance(identity, int):
        identity = "CMPLXF(0, 0)"
    total = ReductionKernel("T x", "T y", "cmul(x, x)", "cadd(a, b)", "y = a", identity)  # type: ignore[arg-type]
    x = X.astype(sort)
    np.testing.assert_allclose(total(x, axis=0), (x * x).sum(axis=0), rtol=1e-6)
    norm = ReductionKernel("T x", "R y", "norm(x)", "a + b", "y = sqrt(a)", "0", "norm")
    real = x.real.dtype
    np.testing.assert_allclose(norm(x, axis=1, dtype={"R": real}), np.linalg.norm(x, axis=1), rtol=1e-6)
    first = ReductionKernel(
        "T x", "U y", "cmul(x, x)", "cadd(a, b)", "y = abs(a)", "0", reduce_type="complex128"
    )
    if sort == "D":
        np.testing.assert_allclose(first(x, axis=0, dtype={"U": "f8"}), np.abs((x * x).sum(axis=0)))


@pytest.mark.row("K11")
def test_complex_texts_of_vectorize() -> None:
    square = cwrapjit.vectorize("npy_complex128 square(npy_complex128 z) { return cmul(z, z); }")
    np.testing.assert_array_equal(square(X), X * X)
    turn = cwrapjit.vectorize(
        "static T twice(T z) { return cadd(z, z); }\nT turn(T z) { return cmul(twice(z), conj(z)); }",
        T=("c8", "c16"),
    )
    for sort in ("F", "D"):
        x = X.astype(sort)
        made = turn(x)
        assert made.dtype == sort
        np.testing.assert_allclose(made, 2 * x * x.conj(), rtol=1e-6)
    own = cwrapjit.vectorize(
        "#define cneg(z) mine(z)\nstatic npy_complex128 mine(npy_complex128 z) { z.real = 7; return z; }\n"
        "npy_complex128 f(npy_complex128 z) { return cneg(z); }"
    )
    assert own(1j) == 7 + 1j
    with pytest.raises(cwrapjit.CompileError) as caught:
        cwrapjit.vectorize("npy_complex128 f(npy_complex128 z)\n{\n    return cmul(z, w);\n}")
    assert caught.value.lineno == 3


# ---- float16 --------------------------------------------------------------------------------------------


@pytest.mark.row("K11")
def test_float16_is_read_as_float_and_rounded_where_it_is_stored() -> None:
    scaled = ElementwiseKernel("T x, T k", "T y", "y = x / 3 * k")
    with np.errstate(all="ignore"):
        wanted = (HALVES.astype("f4") / np.float32(3) * np.float32(2.5)).astype("f2")
    made = scaled(HALVES, 2.5)
    assert made.dtype == np.float16
    np.testing.assert_array_equal(made, wanted)
    again = HALVES.copy()
    ElementwiseKernel("T x", "T y", "if (x < 0) continue; y += x")(HALVES, again)
    np.testing.assert_array_equal(again, [0, 0, 3, np.inf, 2 * HALVES[4], np.inf, -2.25])
    apart = ElementwiseKernel("float16 x, raw float16 w", "float32 y, float16 z", "y = x * w[i]; z = sqrt(y)")
    y, z = apart(HALVES[::2], HALVES[::-2])
    wide = HALVES[::2].astype("f4") * HALVES[::-2].astype("f4")
    np.testing.assert_array_equal(y, wide)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(z, np.sqrt(wide).astype("f2"))
    with pytest.raises(TypeError, match="'y' is raw, written to and float16"):
        ElementwiseKernel("raw T x", "raw T y", "y[i] = x[i]")(HALVES, size=7)


@pytest.mark.row("K11")
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_float16_is_reduced_as_float(axis: int | None) -> None:
    x = (np.arange(3000) % 7).reshape(60, 50).astype("f2")
    total = ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0")
    made = total(x, axis=axis)
    assert made.dtype == np.float16
    np.testing.assert_array_equal(made, x.astype("f4").sum(axis=axis).astype("f2"))
    weights = ReductionKernel("T x, raw T w", "T y", "x * w[_J]", "a + b", "y = a / w.size()", "0")
    if axis is not None:
        w = x[0, :, None][:, 0] if axis else x[:, 0]
        wide = x.astype("f4") * (w.astype("f4") if axis else w.astype("f4")[:, None])
        np.testing.assert_array_equal(weights(x, w, axis=axis), (wide.sum(axis=axis) / len(w)).astype("f2"))


@pytest.mark.row("K11")
def test_float16_texts_of_vectorize() -> None:
    third = cwrapjit.vectorize("cwj_half third(cwj_half x) { return float_to_half(half_to_float(x) / 3); }")
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(third(HALVES), (HALVES.astype("f4") / np.float32(3)).astype("f2"))


@pytest.mark.row("K04")
def test_letters_are_casts_as_in_cpp() -> None:
    clip = ElementwiseKernel("T x", "T y", "y = x > T(2) ? x : T(1.5)")
    np.testing.assert_array_equal(clip(np.arange(4.0)), [1.5, 1.5, 1.5, 3])
    np.testing.assert_array_equal(clip(np.arange(4)), [1, 1, 1, 3])
    assert ReductionKernel("T x", "T y", "x > T(1) ? x : T(0)", "a + b", "y = a", "T(0)")(np.arange(4)) == 5
