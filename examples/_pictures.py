"""Provides sample data from matplotlib, timers and drawing for the examples with pictures."""

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib

matplotlib.use("Agg")  # before pyplot: no display is needed

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.cbook import get_sample_data
from matplotlib.figure import Figure

METRES_PER_DEGREE = 111_200  # of latitude


class Terrain(NamedTuple):
    z: np.ndarray  # metres, int16; row 0 is the northern one
    width: np.ndarray  # metres per cell from west to east, one for each row
    height: float  # metres per cell from north to south


def load_terrain() -> Terrain:
    """The Jacksboro fault, Tennessee."""
    with get_sample_data("jacksboro_fault_dem.npz") as dem:
        z = dem["elevation"]
        latitudes = np.linspace(dem["ymin"], dem["ymax"], len(z) + 1)  # edges; ymin is the northern one
        centres = (latitudes[:-1] + latitudes[1:]) / 2
        return Terrain(
            z=z,
            width=METRES_PER_DEGREE * float(dem["dx"]) * np.cos(np.radians(centres)),
            height=METRES_PER_DEGREE * float(dem["dy"]),
        )


def load_photograph() -> np.ndarray:
    """Grace Hopper, as the camera stored it: height, width, colour."""
    with get_sample_data("grace_hopper.jpg") as file:
        return np.array(plt.imread(file, format="jpg"))


def milliseconds(action: Callable[[], Any], repeats: int = 9) -> float:
    """The median over some runs."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return 1000 * statistics.median(times)


def compare(name: str, ours: Callable[[], Any], numpys: Callable[[], Any], allowed: float) -> bool:
    """Says how long both take, and whether they agree."""
    difference = float(np.abs(np.subtract(ours(), numpys(), dtype=float)).max())
    own, numpy = milliseconds(ours), milliseconds(numpys, 3)
    print(f"{name:<18} C {own:7.3f} ms, NumPy {numpy:7.2f} ms, largest difference {difference:.0e}")
    return difference <= allowed


def readable(draw: Callable[..., None]) -> Callable[..., None]:
    """Makes a function draw with letters that one can read when the picture is shown at half its size."""
    return plt.rc_context(
        {"font.size": 14, "axes.titlesize": 15, "xtick.labelsize": 12, "ytick.labelsize": 12}
    )(draw)


def save(figure: Figure, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    plt.close(figure)


@readable
def draw_panes(title: str, panes: list[tuple[str, np.ndarray, str | None]], path: Path) -> None:
    """Six images, row by row: title, image, colours."""
    figure, axes = plt.subplots(2, 3, figsize=(15, 9.5), dpi=110, layout="constrained")
    figure.suptitle(title, fontsize=20, fontweight="bold")
    for pane, (caption, image, colours) in zip(axes.flat, panes, strict=True):
        pane.imshow(image, cmap=colours, interpolation="nearest")
        pane.set_title(caption, fontsize=13)
        pane.set_xticks([])
        pane.set_yticks([])
    save(figure, path)
