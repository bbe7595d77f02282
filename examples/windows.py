"""Four programs that look at the neighbours of each cell, as moving windows of C.

    hillshade   light and slope of a real elevation model, right up to its edges
    heat        the same model as a hot plate that cools down: usually a loop over cells
    bilateral   a photograph without its noise, edges kept: a weight for each of 7 x 7 neighbours
    life        Conway's Game of Life on a torus, some thousand generations of a glider gun

Each result is compared with NumPy, and the program fails if they differ. The model and the photograph are
sample data that matplotlib ships. The results are drawn to examples/output/windows.png.
"""

import sys
import time
from pathlib import Path
from typing import Any

import _pictures as pictures
import numpy as np

import cwrapjit

SUN = np.array([-0.54, 0.54, 0.64])  # towards the north-west: east, north, up
HEAT_STEPS = 200
GENERATIONS = 2000
PICTURE = Path(__file__).parent / "output" / "windows.png"

m = cwrapjit.module("neighbours", "What cells make of their neighbours")

# Horn's slopes, from the eight neighbours. Row 0 is the northern one; beyond an edge the land goes on level.
hillshade = m.function(
    "hillshade",
    "Light (0 to 1) on an elevation model",
    signature="z(), width(), height(), sun(3) -> light()",
    windows={"z": (3, 3)},
    border="nearest",
    Ccode_slice_eval={
        (np.int16, np.float64, np.float64, np.float64, np.float64): r"""
            const double east  = (  item__z(0,2) + 2*item__z(1,2) + item__z(2,2)
                                  - item__z(0,0) - 2*item__z(1,0) - item__z(2,0)) / (8*item__width());
            const double north = (  item__z(0,0) + 2*item__z(0,1) + item__z(0,2)
                                  - item__z(2,0) - 2*item__z(2,1) - item__z(2,2)) / (8*item__height());
            item__light() = fmax(0, (item__sun(2) - east*item__sun(0) - north*item__sun(1))
                                    / sqrt(1 + east*east + north*north));
            return true;"""
    },
)

heat = m.function(
    "heat",
    "One step in time of the heat equation; nothing leaves at the edges",
    signature="x(), conductivity() -> y()",
    windows={"x": (3, 3)},
    border="reflect",
    Ccode_slice_eval={
        np.float64: r"""
            item__y() = item__x(1,1) + item__conductivity() *
                (item__x(0,1) + item__x(1,0) + item__x(1,2) + item__x(2,1) - 4*item__x(1,1));
            return true;"""
    },
)

bilateral = m.function(
    "bilateral",
    "The mean of those neighbours that look alike",
    signature="image(), near(7, 7), contrast() -> smooth()",
    windows={"image": (7, 7)},
    border="mirror",
    fastmath=True,  # exp() of several cells at a time
    Ccode_slice_eval={
        np.float32: r"""
            float sum = 0, weights = 0;
            #pragma GCC unroll 7 // so that what is left is one loop, over cells: several at a time
            for(int i = 0; i < 7; i++)
                #pragma GCC unroll 7
                for(int j = 0; j < 7; j++) {
                    const float change = (item__image(i,j) - item__image(3,3)) / item__contrast();
                    const float weight = item__near(i,j) * expf(-change*change / 2);
                    sum += weight * item__image(i,j);
                    weights += weight;
                }
            item__smooth() = sum / weights;
            return true;"""
    },
)

life = m.function(
    "life",
    "The next generation",
    signature="x() -> y()",
    windows={"x": (3, 3)},
    border="wrap",
    Ccode_slice_eval={
        np.uint8: r"""
            const npy_uint8 near = item__x(0,0) + item__x(0,1) + item__x(0,2) + item__x(1,0)
                                 + item__x(1,2) + item__x(2,0) + item__x(2,1) + item__x(2,2);
            item__y() = (near == 3) | ((near == 2) & item__x(1,1));
            return true;"""
    },
)

GUN = """
........................O...........
......................O.O...........
............OO......OO............OO
...........O...O....OO............OO
OO........O.....O...OO..............
OO........O...O.OO....O.O...........
..........O.....O.......O...........
...........O...O....................
............OO......................
"""


# ---- the same by NumPy ------------------------------------------------------------------------------------


def hillshade_by_numpy(z: np.ndarray, width: np.ndarray, height: float) -> np.ndarray:
    p = np.pad(z.astype(float), 1, mode="edge")
    columns = p[:-2] + 2 * p[1:-1] + p[2:]
    rows = p[:, :-2] + 2 * p[:, 1:-1] + p[:, 2:]
    east = (columns[:, 2:] - columns[:, :-2]) / (8 * width)
    north = (rows[:-2] - rows[2:]) / (8 * height)
    light = (SUN[2] - east * SUN[0] - north * SUN[1]) / np.sqrt(1 + east**2 + north**2)
    return np.maximum(light, 0)


def heat_by_numpy(x: np.ndarray, conductivity: float) -> np.ndarray:
    p = np.pad(x, 1, mode="symmetric")
    change = p[:-2, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] + p[2:, 1:-1] - 4 * x
    return np.asarray(x + conductivity * change)


def heat_by_python(x: list[list[float]], conductivity: float) -> list[list[float]]:
    """Cell by cell, without those at the edges."""
    return [
        [
            x[r][c] + conductivity * (x[r - 1][c] + x[r][c - 1] + x[r][c + 1] + x[r + 1][c] - 4 * x[r][c])
            for c in range(1, len(x[0]) - 1)
        ]
        for r in range(1, len(x) - 1)
    ]


def bilateral_by_numpy(image: np.ndarray, near: np.ndarray, contrast: float) -> np.ndarray:
    padded = np.pad(image, 3, mode="reflect")
    total, weights = np.zeros_like(image), np.zeros_like(image)
    for i in range(7):
        for j in range(7):
            moved = padded[i : i + image.shape[0], j : j + image.shape[1]]
            weight = near[i, j] * np.exp(-(((moved - image) / contrast) ** 2) / 2)
            total += weight * moved
            weights += weight
    return np.asarray(total / weights)


def life_by_numpy(x: np.ndarray) -> np.ndarray:
    near = sum(np.roll(x, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
    return ((near == 3) | ((near == 2) & (x == 1))).astype(np.uint8)


# ---- data and figures -------------------------------------------------------------------------------------


def load_photograph() -> np.ndarray:
    """Grace Hopper, grey, with the noise of a bad camera."""
    grey = (
        pictures.load_photograph()[:360, 80:440].astype(np.float32)
        @ np.array([0.3, 0.59, 0.11], np.float32)
        / 255
    )
    return (grey + np.random.default_rng(4).normal(scale=0.05, size=grey.shape)).astype(np.float32)


def load_gun() -> np.ndarray:
    world = np.zeros((200, 300), np.uint8)
    cells = [[cell == "O" for cell in line] for line in GUN.split()]
    world[20 : 20 + len(cells), 20 : 20 + len(cells[0])] = cells
    return world


def compare(name: str, function: cwrapjit.Function, arguments: Any, wanted: Any, allowed: float) -> bool:
    """When the system's compiler is through."""
    function(*arguments)
    function.wait()
    for _ in range(5):
        function(*arguments)
    function.wait()
    return pictures.compare(name, lambda: function(*arguments), lambda: wanted(*arguments), allowed)


def main() -> int:
    z, widths, height = pictures.load_terrain()
    width = widths[:, np.newaxis]
    photograph, world = load_photograph(), load_gun()
    plate = (z - z.min()) / float(np.ptp(z))
    offsets = np.arange(-3, 4)
    near = np.exp(-(offsets**2 + offsets[:, np.newaxis] ** 2) / (2 * 2.0**2)).astype(np.float32)
    contrast = np.float32(0.12)

    agree = [
        compare(
            "hillshade",
            hillshade,
            (z, width, height, SUN),
            lambda z, w, h, _: hillshade_by_numpy(z, w, h),
            1e-12,
        ),
        compare("heat", heat, (plate, 0.2), heat_by_numpy, 1e-12),
        compare("bilateral", bilateral, (photograph, near, contrast), bilateral_by_numpy, 1e-5),
        compare("life", life, (world,), life_by_numpy, 0),
    ]

    rows = plate[:100, :100].tolist()
    by_python = pictures.milliseconds(lambda: heat_by_python(rows, 0.2), 3)
    by_c = pictures.milliseconds(lambda: heat(plate[:100, :100], 0.2), 100)
    print(
        f"one step of 100 x 100 cells in a loop of Python {by_python:.1f} ms, as windows {1000 * by_c:.0f} µs"
    )
    agree.append(bool(np.allclose(heat(plate[:100, :100], 0.2)[1:-1, 1:-1], heat_by_python(rows, 0.2))))

    start = time.perf_counter()
    other = np.empty_like(plate)
    for _ in range(HEAT_STEPS):
        heat(plate, 0.2, out=other)
        plate, other = other, plate
    heat_ms = 1000 * (time.perf_counter() - start)
    start = time.perf_counter()
    for _ in range(GENERATIONS):
        world = life(world)
    life_ms = 1000 * (time.perf_counter() - start)
    print(f"{HEAT_STEPS} steps of heat {heat_ms:.0f} ms, {GENERATIONS} generations of life {life_ms:.0f} ms")

    if not all(agree):
        print("C and NumPy disagree", file=sys.stderr)
        return 1
    pictures.draw_panes(
        "A few lines of C see the neighbours of each cell",
        [
            ("Hillshade of the Jacksboro fault", hillshade(z, width, height, SUN), "gray"),
            ("A photograph with noise", photograph, "gray"),
            ("A glider gun ...", load_gun(), "binary"),
            (f"The model as a hot plate, {HEAT_STEPS} steps later", plate, "inferno"),
            ("Bilateral filter", bilateral(photograph, near, contrast), "gray"),
            (f"... {GENERATIONS} generations later, on a torus", world, "binary"),
        ],
        PICTURE,
    )
    print(f"picture    {PICTURE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
