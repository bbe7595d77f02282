"""A whole C library by its own header: GSL integrates and minimises functions written in Python and in C.

One #include declares everything in the headers. Single lines add what C cannot express: pointers that are
results, functions that free objects, objects that keep others alive. GSL's headers may be missing (Debian:
apt install libgsl-dev); the C library's qsort(), which orders complex numbers by a Python function and by C
text, is always there.
"""

import math
import sys

import numpy as np

import cwrapjit


def integrate(gsl: cwrapjit.library) -> float:
    """The bell curve over the whole line, by adaptive quadrature; the largest error."""
    gsl.handle(
        "gsl_integration_workspace *",
        init="gsl_integration_workspace *gsl_integration_workspace_alloc(size_t n)",
        free="gsl_integration_workspace_free",
    )
    gsl.refine("gsl_integration_qag*", out=("result", "abserr"), discard="return")
    workspace = gsl.gsl_integration_workspace(1000)
    worst = 0.0
    for language, text in (("Python", lambda x: math.exp(-x * x)), ("C", "return exp(-x * x);")):
        f = gsl.gsl_function(function=text)
        value, error = gsl.gsl_integration_qagi(f, 1e-12, 1e-12, 1000, workspace)
        print(f"integral of a {language} function: {value:.12f}, estimated error {error:.0e}")
        worst = max(worst, abs(value - math.sqrt(math.pi)))
    return worst


def minimise(gsl: cwrapjit.library) -> float:
    """Rosenbrock's valley by the simplex method; how far from (1, 1) it ends."""
    gsl.handle("gsl_vector *", init="gsl_vector *gsl_vector_alloc(size_t n)", free="gsl_vector_free")
    gsl.handle(
        "gsl_multimin_fminimizer *",
        init="""gsl_multimin_fminimizer *
                gsl_multimin_fminimizer_alloc(const gsl_multimin_fminimizer_type *T, size_t n)""",
        free="gsl_multimin_fminimizer_free",
    )
    gsl.refine("gsl_multimin_fminimizer_set", keeps={"s": ("f", "x", "step_size")})
    start, step = gsl.gsl_vector(2), gsl.gsl_vector(2)
    gsl.gsl_vector_set_all(start, -1.0)
    gsl.gsl_vector_set_all(step, 0.5)

    def rosenbrock(v: object) -> float:
        x, y = gsl.gsl_vector_get(v, 0), gsl.gsl_vector_get(v, 1)
        return 100 * (y - x * x) ** 2 + (1 - x) ** 2

    f = gsl.gsl_multimin_function(f=rosenbrock, n=2)
    search = gsl.gsl_multimin_fminimizer(gsl.gsl_multimin_fminimizer_nmsimplex2, 2)
    gsl.gsl_multimin_fminimizer_set(search, f, start, step)
    for _ in range(200):
        gsl.gsl_multimin_fminimizer_iterate(search)
    found = gsl.gsl_multimin_fminimizer_x(search)
    at = [gsl.gsl_vector_get(found, k) for k in range(2)]
    print(f"lowest point of the valley: ({at[0]:.6f}, {at[1]:.6f})")
    return max(abs(each - 1) for each in at)


def order() -> float:
    """Complex numbers by their absolute value; how many are in another place than NumPy's sort says."""
    libc = cwrapjit.library("c", libraries=["c"])
    order = "int (*order)(const double a[2], const double b[2])"
    libc.function(f"void qsort(void x[n*size], size_t n, size_t size, {order})")
    z = np.random.default_rng(1).normal(size=(500, 2)).view(np.complex128)[:, 0]
    wanted = z[np.argsort(np.abs(z))]
    by_python, by_c = z.copy(), z.copy()
    libc.qsort(by_python, lambda a, b: int(np.sign(np.hypot(*a) - np.hypot(*b))))
    libc.qsort(by_c, "double p = hypot(a[0], a[1]), q = hypot(b[0], b[1]); return (p > q) - (p < q);")
    print(f"qsort() has ordered {z.size} complex numbers by a Python function, and by C text")
    return float((by_python != wanted).sum() + (by_c != wanted).sum())


def main() -> int:
    worst = order()
    try:
        gsl = cwrapjit.library("gsl", libraries=["gsl", "gslcblas"])
        gsl.declare(
            "#include <gsl/gsl_integration.h>\n#include <gsl/gsl_multimin.h>\n#include <gsl/gsl_vector.h>"
        )
    except (OSError, cwrapjit.CompileError):
        print("GSL is not installed here: no integrals")
    else:
        worst = max(worst, integrate(gsl), minimise(gsl))
    print(f"largest difference  {worst:.1e}")
    return int(worst > 1e-4)


if __name__ == "__main__":
    sys.exit(main())
