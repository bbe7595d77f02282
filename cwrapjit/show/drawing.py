"""Pictures by Graphviz's `dot`, where it is found.

It is a program like any other: it may fail, hang, or print what is no picture. So it gets little time, and
the page takes what it prints as an image, in which nothing runs and nothing is loaded.
"""

from __future__ import annotations

import base64
import os
import shutil
import subprocess

from cwrapjit.show.page import Markup, clean

SECONDS = 2.0  # a picture of a hundred nodes takes a tenth
_MOST_LETTERS = 40  # of a label
_INK = "#6e7781"  # can be read on white and on black: an image does not know the page's colours
_MADE = 'fontname="Helvetica,Arial,sans-serif" fontsize=11 height=0.3 margin="0.12,0.04"'
_SHAPES = {
    "input": f'shape=ellipse color="#2f81f7" fontcolor="{_INK}"',
    "constant": f'shape=plaintext color="#808080" fontcolor="{_INK}"',
    "op": f'shape=box style=rounded color="#808080" fontcolor="{_INK}"',
    "output": f'shape=ellipse color="#3d8f3d" penwidth=1.6 fontcolor="{_INK}"',
}

_gave_up: set[str] = set()  # programs that took too long: nobody waits twice


class Dot:
    """A text in Graphviz's language."""

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
    """Can anything be drawn?"""
    return _program() is not None


def draw(text: str) -> Markup | None:
    """The picture of a graph in Graphviz's language; None where that cannot be had."""
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
    except OSError:  # no right to execute it, no memory for another process
        return None
    if made.returncode != 0 or not made.stdout.rstrip().endswith(b"</svg>"):
        return None
    data = base64.b64encode(made.stdout).decode()
    return Markup(
        '<div style="max-height:40em;overflow:auto"><img alt="the graph" style="max-width:100%" '
        f'src="data:image/svg+xml;base64,{data}"/></div>'
    )
