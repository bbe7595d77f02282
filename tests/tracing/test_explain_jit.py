"""Tests what explain(), draw() and notebooks show of a jitted function."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import cwrapjit
from cwrapjit.show import drawing

X = np.random.default_rng(3).normal(size=(2, 5))


def layer(x: Any, w: Any) -> Any:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return (e / e.sum(axis=-1, keepdims=True)) @ w + np.arange(4.0), x.mean(axis=0)


def jitted(*args: Any) -> Any:
    f = cwrapjit.jit(layer)
    f(*args)
    return f


@pytest.mark.row("J13")
def test_steps_are_told() -> None:
    f = jitted(X, X[:1].T * np.ones(4))
    head, *lines = f.explain().splitlines()
    assert head == "layer(a0 float64(2, 5), a1 float64(5, 4)):"
    calls, told = lines[:-1:2], lines[1:-1:2]
    names = [re.sub(r"\bt\d+\b|(?<=_)\d+", "_", line.strip()) for line in calls]
    assert sorted(n for n in names if "np." in n) == ["_ = np.matmul(_, a1)", "_ = np.mean(a0, axis=0)"]
    (softmax,) = [line.strip() for line in told if "passes" in line]
    assert re.fullmatch(
        r"kernel, 3 passes over rows of 5, keeps t\d+ in t\d+: reads a0 float64\(2, 5\); "
        r"writes t\d+ float64\(2, 5\)",
        softmax,
    )
    (sums,) = [line.strip() for line in told if "element by element" in line]
    assert re.search(r"reads .*t\d+ float64\(2, 4\)", sums) and "constant" in sums
    assert lines[-1].startswith("    return (t")
    assert sum("NumPy: reads" in line for line in told) == 2
    # What a line writes is what later lines read, and what is returned.
    written = set(re.findall(r"\bt\d+\b", " ".join(line.partition("writes")[2] for line in told)))
    read = set(
        re.findall(r"\bt\d+\b", " ".join(line.partition("reads")[2].partition(";")[0] for line in told))
    )
    assert read <= written == set(re.findall(r"\bt\d+\b", lines[-1])) | read


@pytest.mark.row("J13")
def test_blocks_are_told() -> None:
    def f(x: Any) -> Any:
        e, t = np.exp(x), np.tanh(x)
        return ((e / e.sum(axis=1, keepdims=True)) > (t / t.sum(axis=1, keepdims=True))).sum(axis=1)

    g = cwrapjit.jit(f)
    np.testing.assert_array_equal(g(X), f(X))
    assert re.search(r"2 passes over rows of 5, keeps t\d+ in a block, t\d+ in a block: ", g.explain())
    assert cwrapjit.jit(f).explain() == ""  # no trace yet


@pytest.mark.row("J13")
def test_each_trace_is_told() -> None:
    f = cwrapjit.jit(lambda x, k: (x + np.arange(5.0)) * np.ones(5) * k)
    f(X, 2)
    f(X[:1], 2.0)
    assert f.explain().count("<lambda>(") == 2 and f.explain().count("reads") == 2
    assert f.explain().count("constant") == 4  # two constants in a kernel
    assert f.draw().count("<lambda>") == 0 and f.draw().count("lambda_") == 2


@pytest.mark.row("J13")
def test_the_drawing_has_kernels_and_values() -> None:
    f = jitted(X, X[:1].T * np.ones(4))
    text = f.draw()
    assert text.startswith("digraph {") and text.rstrip().endswith("}")
    nodes = dict(re.findall(r'^(n\d+) \[label="([^"]*)"', text, re.MULTILINE))
    edges = re.findall(r"^(n\d+) -> (n\d+)", text, re.MULTILINE)
    labels = sorted(nodes.values())
    assert labels.count("a0 float64(2, 5)") == 1 and sum(label.startswith("layer_") for label in labels) == 2
    assert any(label.startswith("np.matmul(") for label in labels)
    starts, ends = [nodes[a] for a, _ in edges], [nodes[b] for _, b in edges]
    assert starts.count("a0 float64(2, 5)") == 2 and starts.count("a1 float64(5, 4)") == 1
    assert sum(end.startswith("t") for end in ends) == 2 and not any(
        start.startswith("t") for start in starts
    )
    assert all(name in {n for edge in edges for n in edge} for name in nodes)
    # What is returned as it came has no step.
    same = cwrapjit.jit(lambda x: x)
    same(X)
    assert same.draw().count(" -> ") == 1


@pytest.mark.row("J13")
def test_notebooks_show_steps(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    f = jitted(X, X[:1].T * np.ones(4))
    if shutil.which("dot") is not None:
        monkeypatch.setattr(drawing, "SECONDS", 60.0)
        assert "data:image/svg+xml" in f._repr_html_()
    monkeypatch.setenv("PATH", str(tmp_path))
    page = ElementTree.fromstring(f._repr_html_())
    shown = "".join(page.itertext())
    assert "layer(x: 'Any', w: 'Any')" in shown and f.explain() in shown
    assert "<img" not in f._repr_html_()
