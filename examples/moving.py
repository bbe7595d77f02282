"""Moving mean and deviation of samples, as they lie in a table.

Samples are every second value of a column, or all columns at once: the function is written for a plain vector
and takes them as they are. Each result is compared with NumPy's.
"""

import sys
import time

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import cwrapjit

moving = cwrapjit.vectorize("""
    // Mean and standard deviation of the last `width` samples; NaN as long as there are fewer.
    void moving(const double x[n], int n, long width, OUT double mean[n], OUT double deviation[n])
    {
        if(width < 1)
            width = 1;  // x[i - width] must not lie behind the array
        double sum = 0, squares = 0;
        const double shift = n ? x[0] : 0;  // so that large numbers do not cancel
        for(int i = 0; i < n; i++) {
            const double in = x[i] - shift, out = i >= width ? x[i - width] - shift : 0;
            sum += in - out;
            squares += in * in - out * out;
            const double m = sum / width;
            mean[i] = i >= width - 1 ? m + shift : NAN;
            deviation[i] = i >= width - 1 ? sqrt(fmax(squares / width - m * m, 0)) : NAN;
        }
    }""")


def moving_by_numpy(x: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Only where there are enough samples."""
    windows = sliding_window_view(np.asarray(x, dtype=float), width, axis=-1)
    return windows.mean(axis=-1), windows.std(axis=-1)


def main() -> int:
    rng = np.random.default_rng(0)
    hours = np.arange(24 * 100)
    table = rng.normal(20 + 5 * np.sin(hours * np.pi / 12)[:, None], 1, (len(hours), 6)).astype(np.float32)

    start = time.perf_counter()
    mean, deviation = moving(table[::2, 3], 12)  # every second hour of one sensor
    took = 1000 * (time.perf_counter() - start)
    assert np.allclose([mean[11:], deviation[11:]], moving_by_numpy(table[::2, 3], 12))
    low, high = np.nanmin(mean), np.nanmax(mean)
    print(f"means of {len(mean)} samples over a day, in {took:.2f} ms: {low:.1f} to {high:.1f}")

    widths = [[6], [24], [72]]  # all sensors, backwards in time, with three widths, into one array
    both = np.zeros((3, 6, len(hours), 2))
    moving(table[::-1].T, widths, out=(both[..., 0], both[..., 1]))
    for result, (width,) in zip(both, widths, strict=True):
        wanted = moving_by_numpy(table[::-1].T, width)
        assert np.allclose(np.moveaxis(result[:, width - 1 :], -1, 0), wanted)
    print(f"deviations in 6, 24 and 72 hours: {np.nanmean(both[..., 1], axis=(1, 2)).round(2)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
