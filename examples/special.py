"""A special function of a C library over whole arrays, with no C written: one declaration and broadcast=True.

The Bessel function J_n(x) is GSL's if that library is installed (Debian: apt install libgsl-dev), otherwise
libm's. Orders and points broadcast like any ufunc's arguments. The result is compared with Bessel's own
integral, (1 / pi) * integral of cos(n t - x sin t) for t from 0 to pi, which NumPy sums to the last digits.
"""

import sys

import numpy as np

import cwrapjit


def bessel() -> tuple[str, cwrapjit.library]:
    """The library's name, and the library with its function as `jn`."""
    try:
        gsl = cwrapjit.library("gsl", libraries=["gsl", "gslcblas"])
    except OSError:
        libm = cwrapjit.library("libm", libraries=["m"])
        libm.function("double jn(int n, double x)", broadcast=True)
        return "libm", libm
    gsl.function("double gsl_sf_bessel_Jn(int n, double x)", name="jn", broadcast=True)
    return "GSL", gsl


def by_integral(n: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Bessel's integral by the trapezoidal rule, whose error for a periodic function vanishes."""
    t = (np.arange(400) + 0.5) * np.pi / 400
    return np.cos(n[..., None] * t - x[..., None] * np.sin(t)).mean(axis=-1)


def main() -> int:
    name, library = bessel()
    n = np.arange(6, dtype=np.intc)
    x = np.linspace(0.0, 20.0, 9)
    values = library.jn(n[:, None], x)
    print(f"J_n(x) of {name}: {n.shape[0]} orders at {x.shape[0]} points, in one call")
    with np.printoptions(precision=4, suppress=True, floatmode="fixed"):
        print(values)
    worst = float(np.abs(values - by_integral(n[:, None], x)).max())
    print(f"largest difference  {worst:.1e}")
    return int(worst > 1e-13)


if __name__ == "__main__":
    sys.exit(main())
