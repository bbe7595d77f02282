"""A broadcasting inner product: the synopsis of numpysane_pywrap, without its build step.

The program makes exactly the module() and function() calls of a generator script, and the function can be
called at once: nothing is written, built or imported. The program prints

    [14. 38.]
    [[14. 20.]
     [38. 60.]]

and compares this with NumPy's result.
"""

import sys

import numpy as np

import cwrapjit

m = cwrapjit.module(name="innerlib", docstring="An inner product module in C")

m.function(
    "inner",
    "Inner product of two vectors",
    args_input=("a", "b"),
    prototype_input=(("n",), ("n",)),
    prototype_output=(),
    Ccode_slice_eval={
        np.float64: r"""
            double* out = (double*)data_slice__output;
            const int N = dims_slice__a[0];

            *out = 0.0;

            for(int i=0; i<N; i++)
              *out += *(const double*)(data_slice__a +
                                       i*strides_slice__a[0]) *
                      *(const double*)(data_slice__b +
                                       i*strides_slice__b[0]);
            return true;"""
    },
)


def inner_by_numpy(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a * b).sum(axis=-1)


def agree(got: np.ndarray, wanted: np.ndarray) -> bool:
    """Says on stderr where two results differ."""
    if got.shape == wanted.shape and np.array_equal(got, wanted):
        return True
    print(f"got {got}, NumPy says {wanted}", file=sys.stderr)
    return False


def main() -> int:
    a = np.arange(4, dtype=float)
    b = np.arange(8, dtype=float).reshape(2, 4)

    # One function for vectors, broadcast over the two rows of b.
    result = m.inner(a, b)
    print(result)
    good = agree(result, inner_by_numpy(a, b))

    # Two calls that each fill one column of an array made beforehand.
    out = np.zeros((2, 2))
    m.inner(a, b, out=out[:, 0])
    m.inner(1 + a, b, out=out[:, 1])
    print(out)
    good &= agree(out, np.stack([inner_by_numpy(a, b), inner_by_numpy(1 + a, b)], axis=1))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
