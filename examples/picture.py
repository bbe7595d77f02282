"""Filters for a colour picture, up to its edges.

A slice is a window of one channel; axes= says that it moves over height and width, border= what lies outside.
The picture consists of bytes: the median is written for bytes, the blur for float64, with cast="safe". Each
result is compared with NumPy's.
"""

import sys
import time

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import cwrapjit

median = cwrapjit.function(
    "median",
    "The median of nine pixels",
    signature="x() -> y()",
    windows={"x": (3, 3)},
    axes={"x": (0, 1)},
    border="reflect",
    Ccode_slice_eval={
        np.uint8: """
            unsigned char sorted[9];
            for(int k = 0; k < 9; k++) {
                int at = k;
                for(; at > 0 && sorted[at - 1] > item__x(k / 3, k % 3); at--)
                    sorted[at] = sorted[at - 1];
                sorted[at] = item__x(k / 3, k % 3);
            }
            item__y() = sorted[4];
            return true;"""
    },
)

blur = cwrapjit.function(
    "blur",
    "A weighted mean of the neighbours",
    signature="x(), weights(n, m) -> y()",
    windows={"x": ("n", "m")},
    axes={"x": (0, 1)},
    border="nearest",
    cast="safe",
    Ccode_slice_eval={
        np.float64: """
            double sum = 0, all = 0;
            for(npy_intp i = 0; i < dims_slice__weights[0]; i++)
                for(npy_intp j = 0; j < dims_slice__weights[1]; j++) {
                    sum += item__weights(i, j) * item__x(i, j);
                    all += item__weights(i, j);
                }
            item__y() = sum / all;
            return true;"""
    },
)

WEIGHTS = [[1, 2, 1], [2, 4, 2], [1, 2, 1]]


def median_by_numpy(picture: np.ndarray) -> np.ndarray:
    padded = np.pad(picture, ((1, 1), (1, 1), (0, 0)), mode="symmetric")
    return np.asarray(np.median(sliding_window_view(padded, (3, 3), axis=(0, 1)), axis=(-2, -1)))


def blur_by_numpy(channel: np.ndarray) -> np.ndarray:
    windows = sliding_window_view(np.pad(channel.astype(float), 1, mode="edge"), (3, 3))
    return np.asarray((windows * WEIGHTS).sum(axis=(-2, -1)) / np.sum(WEIGHTS))


def make_picture() -> np.ndarray:
    """Soft colours, with a wrong value here and there: (height, width, 3), uint8."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:120, :160] / 160
    picture = np.stack([255 * x, 255 * y, 127 + 127 * np.sin(9 * x * y)], axis=-1).astype(np.uint8)
    wrong = rng.random(picture.shape) < 0.02
    picture[wrong] = rng.integers(0, 256, wrong.sum())
    return picture


def main() -> int:
    picture = make_picture()
    start = time.perf_counter()
    clean = median(picture)
    took = 1000 * (time.perf_counter() - start)
    assert clean.dtype == np.uint8 and np.array_equal(clean, median_by_numpy(picture))
    changed = (clean != picture).sum()
    print(f"the median of {picture.shape} bytes took {took:.1f} ms and changed {changed} of them")

    green = blur(clean[..., 1], WEIGHTS)  # one channel: every third byte
    assert np.allclose(green, blur_by_numpy(clean[..., 1]))
    canvas = np.zeros((140, 180, 4))  # the result goes into a part of a larger array
    blur(clean, WEIGHTS, out=canvas[10:130, 10:170, :3])
    assert np.array_equal(canvas[10:130, 10:170, 1], green)
    print(f"the green channel, blurred, has values from {green.min():.1f} to {green.max():.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
