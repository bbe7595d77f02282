"""Draws pictures with Graphviz's `dot`, if it is installed.

The program may fail, hang, or print something else. It therefore has a time limit, and the page includes its
output as an image, which can neither run nor load anything."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess

from cwrapjit.show.page import Markup, clean

SECONDS = 2.0  # a picture of a hundred nodes takes a tenth of that
_MOST_LETTERS = 40  # of a label
_INK = "#6e7781"  # legible on white and on black, as an image does not know the page's colours
_MADE = 'fontname="Helvetica,Arial,sans-serif" fontsize=11 height=0.3 margin="0.12,0.04"'
_SHAPES = {
    "input": f'shape=ellipse color="#2f81f7" fontcolor="{_INK}"',
    "constant": f'shape=plaintext color="#808080" fontcolor="{_INK}"',
    "op": f'shape=box style=rounded color="#808080" fontcolor="{_INK}"',
    "output": f'shape=ellipse color="#3d8f3d" penwidth=1.6 fontcolor="{_INK}"',
}

_gave_up: set[str] = set()  # programs that took too long and are not run again


class Dot:
    """Builds a text in Graphviz's language."""

    def __init__(self) -> None:
        self._lines = [f"node [{_MADE}]", 'edge [color="#808080" arrowsize=0.6 fontsize=9]']
        self._count = 0

    def node(self, label: str, shape: str) -> str:
        name = f"n{self._count}"
        self._count += 1
        self._lines.append(f"{name} [label={_quoted(label)} {_SHAPES[shape]}]")
        return name

    def edge(self, start: str, end: str, label: str) -> None:
        more = f' [label={_quoted(label)} fontcolor="{_INK}"]' if label else ""
        self._lines.append(f"{start} -> {end}{more}")

    def text(self) -> str:
        inside = "\n".join(self._lines)
        return f"digraph {{\nbgcolor=transparent ranksep=0.3 nodesep=0.2 pad=0.05\n{inside}\n}}\n"


def _quoted(label: str) -> str:
    line = " ".join(clean(label[: 10 * _MOST_LETTERS]).split())
    cut = line if len(line) <= _MOST_LETTERS else f"{line[: _MOST_LETTERS - 3]}..."
    safe = cut.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")
    return f'"{safe}"'


# ---- running it --------------------------------------------------------------------------------------------


def _program() -> str | None:
    found = shutil.which("dot")
    return None if found is None or not os.path.isabs(found) or found in _gave_up else found


def is_there() -> bool:
    """True if dot is installed and has not been too slow."""
    return _program() is not None


def draw(text: str) -> Markup | None:
    """Draws a graph in Graphviz's language. Returns None if that fails."""
    program = _program()
    if program is None:
        return None
    try:
        made = subprocess.run(
            [program, "-Tsvg"], input=text.encode("utf-8", "replace"), capture_output=True, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        _gave_up.add(program)
        return None
    except OSError:  # not executable, or no memory for a process
        return None
    if made.returncode != 0 or not made.stdout.rstrip().endswith(b"</svg>"):
        return None
    data = base64.b64encode(made.stdout).decode()
    return Markup(
        '<div style="max-height:40em;overflow:auto"><img alt="the graph" style="max-width:100%" '
        f'src="data:image/svg+xml;base64,{data}"/></div>'
    )
