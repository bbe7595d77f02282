"""Small linear algebra: inner products of three shapes, 3x3 products, pairwise distances."""

import numpy as np

from workloads import Numba, Workload, count, definition

# ---- inner products ------------------------------------------------------------------------------


def inner_loop(a, b, out):
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i] * b[i]
    out[0] = total


def einsum(a, b, out):
    np.einsum("ij,ij->i", a, b, out=out)


def inner_peers():
    vecdot = getattr(np, "vecdot", None)  # since NumPy 2.0
    return {"numpy.einsum": einsum, **({"numpy.vecdot": vecdot} if vecdot else {})}


def inner(rows: int, columns: int, fastmath: bool = False) -> Workload:
    name = f"inner_{columns}{'_fast' if fastmath else ''}"
    shape = f"({rows:,}, {columns:,})"
    return Workload(
        name=name,
        title=f"inner product, {shape} float64{', fastmath' if fastmath else ''}",
        inputs=lambda rng, quick: tuple(rng.random((count(quick, rows), columns)) for _ in range(2)),
        out=lambda a, _b: np.empty(len(a)),
        definition=definition(
            {"a": ("n",), "b": ("n",)},
            (),
            {
                np.float64: """
                    double sum = 0;
                    for(npy_intp i = 0; i < dims_slice__a[0]; i++)
                        sum += item__a(i) * item__b(i);
                    item__output() = sum;
                    return true;"""
            },
        ),
        loop=f"""
void {name}(const double* restrict a, const double* restrict b, double* restrict out,
          ptrdiff_t n, ptrdiff_t m)
{{
    for(ptrdiff_t i = 0; i < n; i++) {{
        double sum = 0;
        for(ptrdiff_t j = 0; j < m; j++)
            sum += a[i*m + j] * b[i*m + j];
        out[i] = sum;
    }}
}}""",
        loop_arguments=lambda a, b, out: (a, b, out, *a.shape),
        numpy=inner_peers(),
        numba=Numba(inner_loop, "void(float64[:], float64[:], float64[:])", "(n),(n)->()"),
        fastmath=fastmath,
        left_out={"numexpr": "does not sum over an axis into a given array"},
    )


# ---- 3x3 matrices --------------------------------------------------------------------------------


def matmul_loop(a, b, out):
    for i in range(3):
        for j in range(3):
            total = 0.0
            for k in range(3):
                total += a[i, k] * b[k, j]
            out[i, j] = total


MATMUL = Workload(
    name="matmul3",
    title="3x3 matrix products, 3e5 float64",
    inputs=lambda rng, quick: tuple(rng.random((count(quick, 300_000), 3, 3)) for _ in range(2)),
    out=lambda a, _b: np.empty(a.shape),
    definition=definition(
        {"a": (3, 3), "b": (3, 3)},
        (3, 3),
        {
            np.float64: """
                for(int i = 0; i < 3; i++)
                    for(int j = 0; j < 3; j++) {
                        double sum = 0;
                        for(int k = 0; k < 3; k++)
                            sum += item__a(i, k) * item__b(k, j);
                        item__output(i, j) = sum;
                    }
                return true;"""
        },
    ),
    loop="""
void matmul3(const double* restrict a, const double* restrict b, double* restrict out, ptrdiff_t n)
{
    for(ptrdiff_t s = 0; s < n; s++)
        for(int i = 0; i < 3; i++)
            for(int j = 0; j < 3; j++) {
                double sum = 0;
                for(int k = 0; k < 3; k++)
                    sum += a[9*s + 3*i + k] * b[9*s + 3*k + j];
                out[9*s + 3*i + j] = sum;
            }
}""",
    loop_arguments=lambda a, b, out: (a, b, out, len(a)),
    numpy={"numpy.matmul": lambda a, b, out: np.matmul(a, b, out=out)},
    numba=Numba(matmul_loop, "void(float64[:,:], float64[:,:], float64[:,:])", "(n,n),(n,n)->(n,n)"),
    left_out={"numexpr": "has no products of matrices"},
)

# ---- distances -----------------------------------------------------------------------------------


def distances_numpy(x, y, out):
    difference = x - y
    np.einsum("ijk,ijk->ij", difference, difference, out=out)
    np.sqrt(out, out=out)


def distance_loop(x, y, out):
    total = 0.0
    for i in range(x.shape[0]):
        total += (x[i] - y[i]) ** 2
    out[0] = np.sqrt(total)


def distances(dims: str) -> Workload:
    """dims: what plain C has for the number of dims. cwrapjit compiles the 3 that calls have in common."""
    name = "distances" if dims == "dims" else "distances_3"
    return Workload(
        name=name,
        title="pairwise distances, (1200, 1, 3) and (1, 1200, 3) float64"
        + (", plain C for 3" if dims == "3" else ""),
        inputs=lambda rng, quick: (
            rng.random((count(quick, 1200), 1, 3)),
            rng.random((1, count(quick, 1200), 3)),
        ),
        out=lambda x, y: np.empty((x.shape[0], y.shape[1])),
        definition=definition(
            {"x": ("n",), "y": ("n",)},
            (),
            {
                np.float64: """
                double sum = 0;
                for(npy_intp i = 0; i < dims_slice__x[0]; i++)
                    sum += (item__x(i) - item__y(i)) * (item__x(i) - item__y(i));
                item__output() = sqrt(sum);
                return true;"""
            },
        ),
        loop=f"""
void {name}(const double* restrict x, const double* restrict y, double* restrict out,
               ptrdiff_t n, ptrdiff_t m, ptrdiff_t dims)
{{
    for(ptrdiff_t i = 0; i < n; i++)
        for(ptrdiff_t j = 0; j < m; j++) {{
            double sum = 0;
            for(ptrdiff_t k = 0; k < {dims}; k++)
                sum += (x[i*{dims} + k] - y[j*{dims} + k]) * (x[i*{dims} + k] - y[j*{dims} + k]);
            out[i*m + j] = sqrt(sum);
        }}
}}""",
        loop_arguments=lambda x, y, out: (x, y, out, *out.shape, 3),
        numpy={"numpy": distances_numpy},
        numba=Numba(distance_loop, "void(float64[:], float64[:], float64[:])", "(n),(n)->()"),
        numexpr="sqrt((x0 - y0)**2 + (x1 - y1)**2 + (x2 - y2)**2)",
        numexpr_names=lambda x, y: {f"{n}{k}": v[..., k] for n, v in (("x", x), ("y", y)) for k in range(3)},
    )


ALL = [
    inner(10**6, 3),
    inner(10**4, 100),
    inner(10**4, 100, fastmath=True),
    inner(100, 10**4),
    inner(100, 10**4, fastmath=True),
    MATMUL,
    distances("dims"),
    distances("3"),
]
