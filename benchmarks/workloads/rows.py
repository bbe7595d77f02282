"""Work along rows: cumulative sums and softmax."""

import numpy as np

from workloads import Numba, Workload, count, definition

# ---- cumulative sum ------------------------------------------------------------------------------


def cumulative_loop(x, out):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i]
        out[i] = total


CUMULATIVE = Workload(
    name="cumulative",
    title="cumulative sums of rows, (1e4, 200) float64",
    inputs=lambda rng, quick: (rng.random((count(quick, 10**4), 200)),),
    out=np.empty_like,
    definition=definition(
        {"x": ("n",)},
        ("n",),
        {
            np.float64: """
                double sum = 0;
                for(npy_intp i = 0; i < dims_slice__x[0]; i++) {
                    sum += item__x(i);
                    item__output(i) = sum;
                }
                return true;"""
        },
    ),
    loop="""
void cumulative(const double* restrict x, double* restrict out, ptrdiff_t n, ptrdiff_t m)
{
    for(ptrdiff_t i = 0; i < n; i++) {
        double sum = 0;
        for(ptrdiff_t j = 0; j < m; j++) {
            sum += x[i*m + j];
            out[i*m + j] = sum;
        }
    }
}""",
    loop_arguments=lambda x, out: (x, out, *x.shape),
    numpy={"numpy.cumsum": lambda x, out: np.cumsum(x, axis=1, out=out)},
    numba=Numba(cumulative_loop, "void(float64[:], float64[:])", "(n)->(n)"),
    left_out={"numexpr": "has no running sums"},
)

# ---- softmax -------------------------------------------------------------------------------------


def softmax_numpy(x, out):
    np.subtract(x, x.max(axis=1, keepdims=True), out=out)
    np.exp(out, out=out)
    np.divide(out, out.sum(axis=1, keepdims=True), out=out)


def softmax_loop(x, out):
    top = x[0]
    for i in range(1, x.shape[0]):
        if x[i] > top:
            top = x[i]
    total = 0.0
    for i in range(x.shape[0]):
        out[i] = np.exp(x[i] - top)
        total += out[i]
    for i in range(x.shape[0]):
        out[i] /= total


def softmax(fastmath: bool) -> Workload:
    name = f"softmax{'_fast' if fastmath else ''}"
    return Workload(
        name=name,
        title=f"softmax of rows, (1e4, 100) float64{', fastmath' if fastmath else ''}",
        inputs=lambda rng, quick: (10 * rng.random((count(quick, 10**4), 100)),),
        out=np.empty_like,
        definition=definition(
            {"x": ("n",)},
            ("n",),
            {
                np.float64: """
                    const npy_intp n = dims_slice__x[0];
                    double top = item__x(0), sum = 0;
                    for(npy_intp i = 1; i < n; i++)
                        top = item__x(i) > top ? item__x(i) : top;
                    for(npy_intp i = 0; i < n; i++) {
                        item__output(i) = exp(item__x(i) - top);
                        sum += item__output(i);
                    }
                    for(npy_intp i = 0; i < n; i++)
                        item__output(i) /= sum;
                    return true;"""
            },
        ),
        loop=f"""
void {name}(const double* restrict x, double* restrict out, ptrdiff_t n, ptrdiff_t m)
{{
    for(ptrdiff_t i = 0; i < n; i++, x += m, out += m) {{
        double top = x[0], sum = 0;
        for(ptrdiff_t j = 1; j < m; j++)
            top = x[j] > top ? x[j] : top;
        for(ptrdiff_t j = 0; j < m; j++) {{
            out[j] = exp(x[j] - top);
            sum += out[j];
        }}
        for(ptrdiff_t j = 0; j < m; j++)
            out[j] /= sum;
    }}
}}""",
        loop_arguments=lambda x, out: (x, out, *x.shape),
        numpy={"numpy": softmax_numpy},
        numba=Numba(softmax_loop, "void(float64[:], float64[:])", "(n)->(n)"),
        fastmath=fastmath,
        left_out={"numexpr": "does not sum over an axis into a given array"},
    )


ALL = [CUMULATIVE, softmax(False), softmax(True)]
