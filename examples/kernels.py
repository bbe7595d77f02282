"""Short forms that turn a line of C into a function of arrays, on a photograph or an elevation model.

    vectorize          converts stored pixel values back to light: a C function of one number
    ElementwiseKernel  computes grey, with a tone curve that every element looks up, as in CuPy
    ReductionKernel    the geometric mean of the light, of each row and of the picture, to set the exposure
    library            all functions of a C text: blurs rows, more with their distance from the middle
    f.ufunc            the cells in sight from the western edge: an accumulation, as for any ufunc of NumPy's

Each result is compared with NumPy, and the program fails if they differ. The photograph and the model are
sample data that matplotlib ships. The results are drawn to examples/output/kernels.png.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import _pictures as pictures
import numpy as np

import cwrapjit

PICTURE = Path(__file__).parent / "output" / "kernels.png"
EYES = 200.0  # metres above the ground

# The curve of sRGB (IEC 61966-2-1).
linear = cwrapjit.vectorize(
    """
    float linear(unsigned char stored)
    {
        float v = stored / 255.0f;
        return v <= 0.04045f ? v / 12.92f : powf((v + 0.055f) / 1.055f, 2.4f);
    }"""
)

tone = cwrapjit.ElementwiseKernel(
    "T red, T green, T blue, raw T curve",
    "T grey",
    """
    T light = (T)0.2126 * red + (T)0.7152 * green + (T)0.0722 * blue;
    grey = curve[(int)(light * (curve.size() - 1) + (T)0.5)];
    """,
    "tone",
)

geometric_mean = cwrapjit.ReductionKernel(
    "T x",
    "T y",
    "log(x + 1e-4)",
    "a + b",
    "y = exp(a * _out_ind.size() / _in_ind.size())",
    "0",
    "geometric_mean",
    reduce_type="double",
)

lens = cwrapjit.library(
    "lens",
    source="""
    static int at_most(int k, int most) { return k < most ? k : most; }

    /* Means of 2 * radius + 1 neighbours, fewer at the ends. */
    void blur(OUT float y[n], const float x[n], int n, int radius)
    {
        int first = 0, last = -1;
        double sum = 0; /* of x[first] to x[last] */
        for(int i = 0; i < n; i++) {
            while(last < at_most(i + radius, n - 1))
                sum += x[++last];
            while(first < i - radius)
                sum -= x[first++];
            y[i] = sum / (last - first + 1);
        }
    }

    /* What a lens has in focus is a band of rows. */
    int radius(int row, int rows, int widest)
    {
        int away = 2 * row - rows;
        return (away < 0 ? -away : away) * widest / rows;
    }
    """,
)

steeper = cwrapjit.vectorize("double steeper(double a, double b) { return a > b ? a : b; }", associative=True)


# ---- the same by NumPy ------------------------------------------------------------------------------------


def linear_by_numpy(stored: np.ndarray) -> np.ndarray:
    v = stored / np.float32(255)
    return np.where(v <= 0.04045, v / 12.92, ((v + 0.055) / 1.055) ** 2.4)


def tone_by_numpy(red: np.ndarray, green: np.ndarray, blue: np.ndarray, curve: np.ndarray) -> np.ndarray:
    light = red * np.float32(0.2126) + green * np.float32(0.7152) + blue * np.float32(0.0722)
    places = (light * np.float32(curve.size - 1) + np.float32(0.5)).astype(int)
    return np.asarray(curve[places])


def geometric_mean_by_numpy(x: np.ndarray, axis: int | None) -> Any:
    return np.exp(np.mean(np.log(x + 1e-4), axis=axis))


def blur_by_numpy(x: np.ndarray, radius: int) -> np.ndarray:
    sums = np.concatenate([[0.0], np.cumsum(x, dtype=float)])
    first = np.maximum(np.arange(x.size) - radius, 0)
    last = np.minimum(np.arange(x.size) + radius, x.size - 1)
    return np.asarray((sums[last + 1] - sums[first]) / (last - first + 1))


# ---- figures ----------------------------------------------------------------------------------------------


def compare(
    name: str, function: Any, ours: Callable[[], Any], numpys: Callable[[], Any], allowed: float
) -> bool:
    """Compares when the function that `ours` calls has its best code."""
    for _ in range(20):
        ours()
        if hasattr(function, "wait"):  # a ReductionKernel has none
            function.wait()
    return pictures.compare(name, ours, numpys, allowed)


def main() -> int:
    stored, terrain = pictures.load_photograph()[:400], pictures.load_terrain().z.astype(float)
    light = linear(stored)
    colours = [light[..., k] for k in range(3)]  # views: every third element
    curve = (np.linspace(0, 1, 1024, dtype=np.float32) ** np.float32(1 / 2.2)).astype(np.float32)
    grey = tone(*colours, curve)
    rows = len(grey)
    radii = lens.radius(np.arange(rows, dtype=np.int32), rows, 40)
    means = geometric_mean(light.mean(axis=2), axis=1, keepdims=True)
    slopes = (terrain[:, 1:] - terrain[:, :1] - EYES) / np.arange(1, terrain.shape[1])

    def tilted() -> np.ndarray:
        return np.array([lens.blur(row, radius) for row, radius in zip(grey, radii.tolist(), strict=True)])

    def tilted_by_numpy() -> np.ndarray:
        return np.array([blur_by_numpy(row, radius) for row, radius in zip(grey, radii, strict=True)])

    horizon = steeper.ufunc.accumulate(slopes, axis=1)
    agree = [
        compare("vectorize", linear, lambda: linear(stored), lambda: linear_by_numpy(stored), 1e-6),
        compare(
            "ElementwiseKernel",
            tone,
            lambda: tone(*colours, curve),
            lambda: tone_by_numpy(*colours, curve),
            2e-3,
        ),
        compare(
            "ReductionKernel",
            geometric_mean,
            lambda: geometric_mean(light, axis=1),
            lambda: geometric_mean_by_numpy(light, 1),
            1e-6,
        ),
        compare("library", lens.blur, tilted, tilted_by_numpy, 1e-5),
        compare(
            "f.ufunc",
            steeper,
            lambda: steeper.ufunc.accumulate(slopes, axis=1),
            lambda: np.maximum.accumulate(slopes, axis=1),
            0,
        ),
    ]
    key, wanted = geometric_mean(light), geometric_mean_by_numpy(light, None)
    print(f"the photograph's key is {key:.3f}, by NumPy {wanted:.3f}")
    pictures.draw_panes(
        "One line of C for each picture",
        [
            ("the photograph", stored, None),
            ("vectorize(): the light that the camera saw", light, None),
            ("ElementwiseKernel: grey, by a curve", grey, "gray"),
            (
                "ReductionKernel: each row, exposed by its mean",
                np.clip(light * (0.18 / means[..., None]), 0, 1),
                None,
            ),
            ("library(): in focus in the middle", tilted(), "gray"),
            (
                "f.ufunc: in sight from the west",
                np.where(slopes >= horizon, terrain[:, 1:], np.nan),
                "terrain",
            ),
        ],
        PICTURE,
    )
    print(f"picture {PICTURE}")
    return 0 if all(agree) else 1


if __name__ == "__main__":
    sys.exit(main())
