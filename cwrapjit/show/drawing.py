"""Pictures by Graphviz's `dot`, where it is found.

It is a program like any other: it may fail, hang, or print what is no picture. So it gets little time, and
what it prints is read as XML of which known elements alone are kept.
"""

from __future__ import annotations

import os
import re
import selectors
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from xml.etree import ElementTree

from cwrapjit.show.page import Markup, clean, escaped

SECONDS = 2.0  # a picture of a hundred nodes takes a tenth
_MOST_BYTES = 4_000_000
_MOST_LETTERS = 40  # of a label
_INK = "#010203"  # becomes the page's own colour
_MADE = 'fontname="Helvetica,Arial,sans-serif" fontsize=11 height=0.3 margin="0.12,0.04"'
_SHAPES = {
    "input": f'shape=ellipse color="#2f81f7" fontcolor="{_INK}"',
    "constant": f'shape=plaintext color="#808080" fontcolor="{_INK}"',
    "op": f'shape=box style=rounded color="#808080" fontcolor="{_INK}"',
    "output": f'shape=ellipse color="#3d8f3d" penwidth=1.6 fontcolor="{_INK}"',
}

# What of SVG is taken over. No links, scripts, images or styles; no ids, as a page has several pictures.
_ELEMENTS = {"svg", "g", "path", "polygon", "polyline", "ellipse", "text"}
_ATTRIBUTES = {
    "cx", "cy", "d", "fill", "font-family", "font-size", "font-weight", "height", "points", "rx", "ry",
    "stroke", "stroke-dasharray", "stroke-width", "text-anchor", "transform", "viewBox", "width", "x", "y",
}  # fmt: skip
_VALUE = re.compile(r"[A-Za-z0-9#.,()+\- \t\n%]*\Z")

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
    printed = _run(program, text)
    return None if printed is None else _taken(printed)


def _run(program: str, text: str) -> bytes | None:
    """What it prints, in time and not too much."""
    with tempfile.TemporaryFile() as given:  # no pipe, which could be full while nobody reads
        given.write(text.encode("utf-8", "replace"))
        given.seek(0)
        try:
            process = subprocess.Popen(
                [program, "-Tsvg"], stdin=given, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                start_new_session=True,
            )  # fmt: skip
        except OSError:  # no right to execute it, no memory for another process
            return None
    finished = False
    try:
        printed = _read(process)
        finished = printed is not None and process.wait(SECONDS) == 0
    except subprocess.TimeoutExpired:
        printed = None
    finally:
        if process.poll() is None or not finished:
            _end(process)
        assert process.stdout is not None
        process.stdout.close()
    if printed is None:
        _gave_up.add(program)
    return printed if finished else None


def _read(process: subprocess.Popen[bytes]) -> bytes | None:
    """Up to the end; None: that does not come."""
    assert process.stdout is not None
    descriptor = process.stdout.fileno()
    end = time.monotonic() + SECONDS
    parts: list[bytes] = []
    size = 0
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        while size <= _MOST_BYTES:
            left = end - time.monotonic()
            if left <= 0 or not selector.select(left):
                return None
            part = os.read(descriptor, 65536)
            if not part:
                return b"".join(parts)
            parts.append(part)
            size += len(part)
    return None


def _end(process: subprocess.Popen[bytes]) -> None:
    """The process and what it has started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


# ---- reading it --------------------------------------------------------------------------------------------


def _taken(printed: bytes) -> Markup | None:
    if b"<!ENTITY" in printed:
        return None
    try:
        root = ElementTree.fromstring(printed)
    except (
        ElementTree.ParseError,
        ValueError,
        LookupError,
    ):  # an encoding that nobody knows is a LookupError
        return None
    if _tag(root) != "svg":
        return None
    return Markup(f'<div style="max-height:40em;overflow:auto">{"".join(_elements(root))}</div>')


def _tag(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _elements(root: ElementTree.Element) -> Iterator[str]:
    """The known elements below, without recursion."""
    stack: list[ElementTree.Element | str] = [root]
    while stack:
        each = stack.pop()
        if isinstance(each, str):
            yield each
            continue
        tag = _tag(each)
        if tag not in _ELEMENTS:  # titles with dot's names of nodes, which are ours, too
            continue
        more = (
            ' xmlns="http://www.w3.org/2000/svg" style="max-width:100%;height:auto"' if tag == "svg" else ""
        )
        yield f"<{tag}{more}{''.join(_attributes(each))}>"
        if tag == "text":
            yield escaped(each.text or "")
        stack.append(f"</{tag}>")
        stack.extend(reversed(each))


def _attributes(element: ElementTree.Element) -> Iterator[str]:
    for name, value in element.items():
        if name in _ATTRIBUTES and _VALUE.match(value):
            shown = "currentColor" if value == _INK else value
            yield f' {name}="{shown}"'
