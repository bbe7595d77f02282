"""Hillshade and slope of a real elevation model, computed by a few lines of C.

The model is the one that matplotlib ships as sample data: the Jacksboro fault in Tennessee, 344 x 403 cells
of int16 metres. The C text below sees one window of 3 x 3 cells; broadcasting makes a map from it:

    z       (rows, columns, 3, 3)   a sliding window over the model, a view: nothing is copied
    width   (rows, 1)               metres per cell from west to east, which shrink towards the north
    height  ()                      metres per cell from north to south
    sun     (suns, 1, 1, 3)         one direction for each lighting of the map

The slope is Horn's, from the eight neighbours of a cell. NumPy computes the same, and the program fails if
the results differ. It compares the times when the C text has its best code (f.wait()), and says what they
leave out. The picture goes to examples/output/hillshade.png.
"""

import sys
import time
from pathlib import Path
from typing import Any

import _pictures as pictures
import matplotlib.pyplot as plt
import numpy as np
from _pictures import Terrain, milliseconds

import cwrapjit

TOLERANCE = 1e-12
SUNS = {
    "north-west": 315,
    "north": 0,
    "south-west": 225,
    "west": 270,
}  # azimuths; the first is the large map's
ALTITUDE = 40  # degrees above the horizon
PICTURE = Path(__file__).parent / "output" / "hillshade.png"
LEFT_OUT = """
The times leave out compiling (the lines above), reading the model and drawing. All use one thread. The C text
has fastmath=True: in the cc tier, an arctangent for several cells at a time. NumPy makes a dozen temporary
arrays; a program that reuses them would be faster. docs/speed.md also compares with plain C and numba.
"""

RELIEF_C = r"""
    // Weighted differences across the window. Row 0 is the northern one.
    const double east  = (  item__z(0,2) + 2*item__z(1,2) + item__z(2,2)
                          - item__z(0,0) - 2*item__z(1,0) - item__z(2,0)) / (8*item__width());
    const double north = (  item__z(0,0) + 2*item__z(0,1) + item__z(0,2)
                          - item__z(2,0) - 2*item__z(2,1) - item__z(2,2)) / (8*item__height());
    const double steepness = east*east + north*north;

    // The cosine of the angle between the sun and the ground's normal (-east, -north, 1).
    const double light = (item__sun(2) - east*item__sun(0) - north*item__sun(1))
                       / sqrt(1 + steepness);

    item__hillshade() = light > 0 ? light : 0;
    item__slope()     = atan(sqrt(steepness)) * (180/M_PI);
    return true;
"""


def extent_km(terrain: Terrain) -> tuple[float, float, float, float]:
    """West, east, south and north end of the map of all cells that have eight neighbours."""
    rows, columns = terrain.z.shape
    return (0, (columns - 2) * terrain.width.mean() / 1000, 0, (rows - 2) * terrain.height / 1000)


def directions_to_sun(azimuths: list[int], altitude: float) -> np.ndarray:
    """Unit vectors (east, north, up), one per row."""
    azimuth, up = np.radians(azimuths), np.radians(altitude)
    flat = np.cos(up)
    return np.stack(
        [np.sin(azimuth) * flat, np.cos(azimuth) * flat, np.full(len(azimuths), np.sin(up))], axis=-1
    )


def define_relief(**options: Any) -> cwrapjit.Function:
    f64 = np.float64
    return cwrapjit.module("terrain", "Maps of elevation models").function(
        "relief",
        "Hillshade (0 to 1) and slope (degrees) of the middle of a 3 x 3 window",
        signature="z(3,3), width(), height(), sun(3) -> hillshade(), slope()",
        Ccode_slice_eval={(np.int16, f64, f64, f64, f64, f64): RELIEF_C},
        **options,
    )


def relief_by_numpy(terrain: Terrain, suns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same in NumPy; suns is (suns, 3)."""
    z = terrain.z.astype(float)
    width = terrain.width[1:-1, np.newaxis]
    columns = z[:-2] + 2 * z[1:-1] + z[2:]
    rows = z[:, :-2] + 2 * z[:, 1:-1] + z[:, 2:]
    east = (columns[:, 2:] - columns[:, :-2]) / (8 * width)
    north = (rows[:-2] - rows[2:]) / (8 * terrain.height)
    steepness = east**2 + north**2
    to_east, to_north, up = (suns[:, k, np.newaxis, np.newaxis] for k in range(3))
    light = (up - east * to_east - north * to_north) / np.sqrt(1 + steepness)
    return np.maximum(light, 0), np.degrees(np.arctan(np.sqrt(steepness)))


@pictures.readable
def draw(terrain: Terrain, hillshades: np.ndarray, slope: np.ndarray, path: Path) -> None:
    figure = plt.figure(figsize=(13, 11.6), dpi=110, layout="constrained")
    maps, suns = figure.subfigures(2, 1, height_ratios=[1.62, 1])
    maps.suptitle(
        "The Jacksboro fault, Tennessee: C computes each cell from its 3 x 3 window",
        fontsize=17,
        fontweight="bold",
    )

    left, right = maps.subplots(1, 2, sharey=True)
    shared = {"extent": extent_km(terrain), "interpolation": "nearest"}
    light = {"cmap": "gray", "vmin": 0.2, "vmax": 1.0}
    first = next(iter(SUNS))
    image = left.imshow(hillshades[0], **light, **shared)
    left.set_title(f"Light from the {first}, {ALTITUDE}° high")
    left.set_ylabel("km from the southern edge")
    maps.colorbar(image, ax=left, shrink=0.85, extend="min", label="light; 1: the ground faces the sun")
    image = right.imshow(slope, cmap="magma", vmin=0, vmax=np.ceil(slope.max() / 5) * 5, **shared)
    right.set_title("Slope")
    maps.colorbar(image, ax=right, shrink=0.85, label="degrees")
    for axes in (left, right):
        axes.set_xlabel("km from the western edge")

    panes = suns.subplots(1, len(SUNS), sharey=True)
    suns.suptitle(
        "One call computes the light of four suns: their directions broadcast over the map", fontsize=15
    )
    for pane, name, shade in zip(panes, SUNS, hillshades, strict=True):
        pane.imshow(shade, **light, **shared)
        pane.set_title(f"from the {name}")
        pane.set_xlabel("km")
    panes[0].set_ylabel("km")

    pictures.save(figure, path)


def main() -> int:
    start = time.perf_counter()
    define_relief()
    first_ms = 1000 * (time.perf_counter() - start)
    again_ms = milliseconds(define_relief)
    relief = define_relief(fastmath=True)  # an arctangent for eight cells at a time
    plain = define_relief(fastmath=True, optimize="off")

    terrain = pictures.load_terrain()
    suns = directions_to_sun([*SUNS.values()], ALTITUDE)
    windows = np.lib.stride_tricks.sliding_window_view(terrain.z, (3, 3))
    width = terrain.width[1:-1, np.newaxis]

    def maps_by_c(function: cwrapjit.Function, count: int) -> tuple[np.ndarray, np.ndarray]:
        return function(windows, width, terrain.height, suns[:count, np.newaxis, np.newaxis])

    start = time.perf_counter()
    maps_by_c(relief, len(suns))
    call_ms = 1000 * (time.perf_counter() - start)
    is_best = relief.wait()
    wait_ms = 1000 * (time.perf_counter() - start)
    hillshades, slopes = maps_by_c(relief, len(suns))
    wanted_hillshades, wanted_slope = relief_by_numpy(terrain, suns)
    difference = max(
        float(np.abs(hillshades - wanted_hillshades).max()), float(np.abs(slopes - wanted_slope).max())
    )

    rows, columns = terrain.z.shape
    print(f"elevation model      {rows} x {columns} cells, {terrain.z.min()} to {terrain.z.max()} m")
    print(f"from text to C code  {again_ms:.2f} ms; the first time, which loads libtcc, {first_ms:.2f} ms")
    best = f"the cc tier came after {wait_ms:.0f} ms" if is_best else f"no cc tier: {relief.tier_error}"
    print(f"the first call       {call_ms:.1f} ms for {len(suns)} suns; {best}")
    tiers = {"tcc tier": plain} | ({"cc tier": relief} if is_best else {})
    print("medians of 9 calls  " + "".join(f"{name:>11}" for name in [*tiers, "NumPy"]))
    for count in (1, len(suns)):
        times = [milliseconds(lambda f=each, n=count: maps_by_c(f, n)) for each in tiers.values()]
        times.append(milliseconds(lambda n=count: relief_by_numpy(terrain, suns[:n])))
        label = f"{count} sun{'s' if count > 1 else ''}"
        print(f"{label:<20}" + "".join(f"{each:8.1f} ms" for each in times))
    print(f"largest difference   {difference:.1e} (allowed {TOLERANCE:.0e})")
    print(LEFT_OUT)
    if not difference <= TOLERANCE:  # also when it is not a number
        print("the C snippet and NumPy disagree", file=sys.stderr)
        return 1

    draw(terrain, hillshades, slopes[0], PICTURE)
    print(f"picture              {PICTURE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
