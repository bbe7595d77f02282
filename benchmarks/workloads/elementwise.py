"""Elementwise arithmetic: contiguous, transposed, strided; complex products."""

import numpy as np

from workloads import Numba, Workload, count, definition

SCALARS = {"a": (), "b": (), "c": ()}
PAIR = {"x": (), "y": ()}


def like_first(first, *_):
    return np.empty_like(first)


def multiply_add_numpy(a, b, c, out):
    np.multiply(a, b, out=out)
    np.add(out, c, out=out)


def multiply_add(name: str, ctype: str, dtype: type, numba_type: str) -> Workload:
    return Workload(
        name=name,
        title=f"a*b + c, 1e7 {np.dtype(dtype).name}",
        inputs=lambda rng, quick: tuple(rng.random(count(quick, 10**7), dtype=dtype) for _ in range(3)),
        out=like_first,
        definition=definition(
            SCALARS, (), {dtype: "item__output() = item__a()*item__b() + item__c(); return true;"}
        ),
        loop=f"""
void {name}(const {ctype}* restrict a, const {ctype}* restrict b, const {ctype}* restrict c,
            {ctype}* restrict out, ptrdiff_t n)
{{
    for(ptrdiff_t i = 0; i < n; i++)
        out[i] = a[i]*b[i] + c[i];
}}""",
        loop_arguments=lambda a, b, c, out: (a, b, c, out, len(a)),
        numpy={"numpy": multiply_add_numpy},
        numba=Numba(lambda a, b, c: a * b + c, f"{numba_type}({numba_type}, {numba_type}, {numba_type})"),
        numexpr="a*b + c",
        tolerance=1e-6 if dtype is np.float32 else 1e-12,
    )


# ---- views ---------------------------------------------------------------------------------------


def product_plus_one_numpy(x, y, out):
    np.multiply(x, y, out=out)
    np.add(out, 1.0, out=out)


PRODUCT_PLUS_ONE = {
    "definition": definition(
        PAIR, (), {np.float64: "item__output() = item__x()*item__y() + 1; return true;"}
    ),
    "numpy": {"numpy": product_plus_one_numpy},
    "numba": Numba(lambda x, y: x * y + 1.0, "float64(float64, float64)"),
    "numexpr": "x*y + 1",
}

TRANSPOSED = Workload(
    name="transposed",
    title="x.T*y.T + 1 into out.T, (1500, 1000) float64",
    inputs=lambda rng, quick: tuple(rng.random((1500, count(quick, 1000))).T for _ in range(2)),
    out=lambda x, _y: np.empty(x.shape[::-1]).T,
    loop="""
void transposed(const double* restrict x, const double* restrict y, double* restrict out, ptrdiff_t n)
{
    for(ptrdiff_t i = 0; i < n; i++)
        out[i] = x[i]*y[i] + 1;
}""",
    loop_arguments=lambda x, y, out: (x, y, out, x.size),
    **PRODUCT_PLUS_ONE,
)

MIXED = Workload(
    name="mixed",
    title="x.T*y + 1, (1500, 1000) float64",
    inputs=lambda rng, quick: (
        rng.random((1500, count(quick, 1000))).T,
        rng.random((count(quick, 1000), 1500)),
    ),
    out=lambda _x, y: np.empty_like(y),
    loop="""
void mixed(const double* restrict x, const double* restrict y, double* restrict out, ptrdiff_t n, ptrdiff_t m)
{
    for(ptrdiff_t i = 0; i < n; i++)
        for(ptrdiff_t j = 0; j < m; j++)
            out[i*m + j] = x[j*n + i]*y[i*m + j] + 1;
}""",
    loop_arguments=lambda x, y, out: (x, y, out, *y.shape),
    **PRODUCT_PLUS_ONE,
)

STRIDED = Workload(
    name="strided",
    title="x[::2]*y[::2] + 1, 1e6 float64",
    inputs=lambda rng, quick: tuple(rng.random(2 * count(quick, 10**6))[::2] for _ in range(2)),
    out=lambda x, _y: np.empty(x.shape),
    loop="""
void strided(const double* restrict x, const double* restrict y, double* restrict out, ptrdiff_t n)
{
    for(ptrdiff_t i = 0; i < n; i++)
        out[i] = x[2*i]*y[2*i] + 1;
}""",
    loop_arguments=lambda x, y, out: (x, y, out, len(x)),
    **PRODUCT_PLUS_ONE,
)

# ---- complex -------------------------------------------------------------------------------------


def complex_values(rng, quick):
    n = count(quick, 10**6)
    return tuple(rng.random(n) + 1j * rng.random(n) for _ in range(2))


COMPLEX = Workload(
    name="complex_product",
    title="complex product on the members, 1e6 complex128",
    inputs=complex_values,
    out=like_first,
    definition=definition(
        PAIR,
        (),
        {
            np.complex128: """
                const npy_complex128 x = item__x(), y = item__y();
                item__output().real = x.real*y.real - x.imag*y.imag;
                item__output().imag = x.real*y.imag + x.imag*y.real;
                return true;"""
        },
    ),
    loop="""
typedef struct { double real, imag; } complex128;
void complex_product(const void* restrict px, const void* restrict py, void* restrict pout, ptrdiff_t n)
{
    const complex128* restrict x = px;
    const complex128* restrict y = py;
    complex128* restrict out = pout;
    for(ptrdiff_t i = 0; i < n; i++) {
        out[i].real = x[i].real*y[i].real - x[i].imag*y[i].imag;
        out[i].imag = x[i].real*y[i].imag + x[i].imag*y[i].real;
    }
}""",
    loop_arguments=lambda x, y, out: (x, y, out, len(x)),
    numpy={"numpy": np.multiply},
    numba=Numba(lambda x, y: x * y, "complex128(complex128, complex128)"),
    numexpr="x*y",
    # NumPy 2's own npy_complex128 is C's complex type.
    pywrap=definition(PAIR, (), {np.complex128: "item__output() = item__x()*item__y(); return true;"}),
)

ALL = [
    multiply_add("multiply_add", "double", np.float64, "float64"),
    multiply_add("multiply_addf", "float", np.float32, "float32"),
    TRANSPOSED,
    MIXED,
    STRIDED,
    COMPLEX,
]
