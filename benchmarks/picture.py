"""Draws docs/pictures/speed.svg from the first table of docs/speed.md: `python benchmarks/picture.py`."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # before pyplot: no display is needed

import matplotlib.pyplot as plt

DOCS = Path(__file__).resolve().parents[1] / "docs"
STYLE = {
    "plain C": ("|", "black"),
    "numba": ("o", "#3b76c4"),
    "numexpr": ("^", "#8a56ac"),
    "NumPy": ("s", "#c7752c"),
    "`tcc` tier": ("x", "#888888"),
}


def table(page: Path) -> tuple[list[str], list[list[str]]]:
    """Titles and rows of the page's first table that has numbers of contenders."""
    lines = page.read_text(encoding="utf-8").splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("| one thread"))
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[start:]]
    end = next(i for i, line in enumerate(lines[start:]) if not line.startswith("|"))
    return rows[0], rows[2:end]


def draw(titles: list[str], rows: list[list[str]]) -> plt.Figure:
    figure, axes = plt.subplots(figsize=(8.5, 0.3 * len(rows) + 1.4))
    axes.axvspan(0.2, 1, color="#f3e3e3", zorder=0)
    axes.axvline(1, color="#2d7d46", linewidth=2.5, label="cwrapjit")
    for name, (marker, color) in STYLE.items():
        column = titles.index(name)
        points = [(float(row[column]), -k) for k, row in enumerate(rows) if row[column]]
        size = 90 if marker == "|" else 32
        title = name.replace("`", "")
        axes.scatter(*zip(*points, strict=True), label=title, marker=marker, color=color, s=size, zorder=3)
    axes.set_xscale("log")
    ticks = [0.5, 1, 2, 5, 10, 20, 50]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_xlim(0.2, 100)
    axes.set_yticks([-k for k in range(len(rows))], [row[0] for row in rows])
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("time / cwrapjit's time: right of the line is slower")
    axes.grid(True, alpha=0.3)
    axes.legend(loc="upper center", bbox_to_anchor=(0.3, 1.1), ncols=6, frameon=False, fontsize=9)
    return figure


if __name__ == "__main__":
    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "speed", "font.size": 9})
    picture = DOCS / "pictures" / "speed.svg"
    draw(*table(DOCS / "speed.md")).savefig(picture, bbox_inches="tight", metadata={"Date": None})
    print(picture)
