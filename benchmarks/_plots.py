"""Draws PNG pictures of benchmark results, each from one JSON file in the folder of results."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")  # before pyplot: no display is needed

import matplotlib.pyplot as plt
import numpy as np

OWN, BOUND = "cwrapjit", "bound"
MARKS = "osv^<>DXP*"


def throughput(results: dict[str, Any]) -> plt.Figure:
    """Every contender's speed as a share of the bound's, one line per workload."""
    workloads = list(results["workloads"].values())
    names = list(dict.fromkeys(name for w in workloads for name in w["median_s"] if "bound" not in name))
    figure, axes = plt.subplots(figsize=(10, 0.42 * len(workloads) + 1.8))
    for k, name in enumerate(names):
        points = [
            (w["median_s"][BOUND] / w["median_s"][name], -row)
            for row, w in enumerate(workloads)
            if name in w["median_s"]
        ]
        style = {"s": 90, "color": "black", "zorder": 3} if name == OWN else {"s": 36}
        axes.scatter(*zip(*points, strict=True), label=name, marker=MARKS[k % len(MARKS)], **style)
    axes.axvline(1, color="gray", linewidth=1)
    axes.set_xscale("log")
    axes.set_yticks([-row for row in range(len(workloads))], [w["title"] for w in workloads], fontsize=8)
    axes.set_xlabel("speed, as a share of the plain C loop's (right is better)")
    axes.grid(True, axis="both", alpha=0.3)
    axes.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.3, -0.1), ncols=6)
    return figure


def call(results: dict[str, Any]) -> plt.Figure:
    cases = results["cases"]
    names = list(dict.fromkeys(name for case in cases.values() for name in case))
    figure, axes = plt.subplots(figsize=(9, 4))
    width = 0.8 / len(names)
    for k, name in enumerate(names):
        places = np.arange(len(cases)) + (k - (len(names) - 1) / 2) * width
        taken = [case[name]["median_ns"] if name in case else np.nan for case in cases.values()]
        axes.bar(places, taken, width, label=name)
    axes.set_xticks(range(len(cases)), list(cases))
    axes.set_ylabel("ns per call")
    axes.legend(fontsize=8)
    return figure


def scaling(results: dict[str, Any]) -> plt.Figure:
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2))
    for name, seconds in results["slices"]["fastest_s"].items():
        left.loglog(results["slices"]["counts"], seconds, "o-", label=name)
    left.set(xlabel="slices", ylabel="seconds of a call", title="x*x + 1 over float32")
    left.legend()
    sets = results["type_sets"]
    right.plot(sets["counts"], 1e3 * np.array(sets["fastest_s"]), "o-")
    right.set(
        xlabel="type sets", ylabel="ms of a definition", title="tcc tier", xlim=(0, None), ylim=(0, None)
    )
    for axes in (left, right):
        axes.grid(True, alpha=0.3)
    return figure


def threads(results: dict[str, Any]) -> plt.Figure:
    lengths = list(results["lengths"].values())
    figure, axes = plt.subplots(figsize=(6, 4))
    at = [1e3 * r["median_s"]["1"] for r in lengths]
    for gain, label in (("gain of 2", "threads=2"), ("gain of auto", 'threads="auto"')):
        axes.semilogx(at, [r[gain] for r in lengths], "o-", label=label)
    axes.set(xlabel="ms with one thread", ylabel="times as fast", ylim=(0, None))
    axes.grid(True, alpha=0.3)
    axes.legend()
    return figure


def graph(results: dict[str, Any]) -> plt.Figure:
    chain = results["chain"]
    figure, axes = plt.subplots(figsize=(6, 4))
    axes.loglog(chain["counts"], 1e3 * np.array(chain["fastest_s"]), "o-")
    axes.set(xlabel="operations in a chain", ylabel="ms of link()")
    axes.grid(True, which="both", alpha=0.3)
    return figure


PICTURES: dict[str, Callable[[dict[str, Any]], plt.Figure]] = {
    "throughput": throughput,
    "call": call,
    "scaling": scaling,
    "threads": threads,
    "graph": graph,
}


def draw(folder: Path) -> list[Path]:
    """NAME.png beside each NAME.json that has a picture."""
    drawn = []
    for name, picture in PICTURES.items():
        path = folder / f"{name}.json"
        if path.exists():
            figure = picture(json.loads(path.read_text()))
            figure.savefig(path.with_suffix(".png"), dpi=130, bbox_inches="tight")
            plt.close(figure)
            drawn.append(path.with_suffix(".png"))
    return drawn
