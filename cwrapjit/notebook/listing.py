"""-a: lists the lines of a cell with the system compiler's messages, and the generated C."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cwrapjit import _cwrapjit
from cwrapjit._explain import width_of
from cwrapjit.kernels.text import Text
from cwrapjit.notebook.remarks import CODE
from cwrapjit.show import ctext, page

# Kinds of lines: background, edge, mark in terminals. The last kind that applies to a line decides.
KINDS = {
    "plain": ("none", "rgba(128,128,128,.35)", " "),
    "vectorized": ("rgba(46,158,68,.16)", "#2e9e44", "+"),
    "not vectorized": ("rgba(220,154,0,.18)", "#dc9a00", "-"),
    "warning": ("rgba(213,73,61,.18)", "#d5493d", "!"),
}


class Line:
    """A line of the cell, its kind and the facts shown beside it."""

    def __init__(self, number: int, text: str) -> None:
        self.number, self.text = number, text
        self.kind = "plain"
        self.facts: list[str] = []

    def add(self, kind: str, fact: str) -> None:
        kinds = list(KINDS)
        if kinds.index(kind) > kinds.index(self.kind):
            self.kind = kind
        if fact not in self.facts:
            self.facts.append(fact)


class Listing:
    """The annotated cell, as text and as HTML without scripts."""

    def __init__(self, made: Any) -> None:
        texts = made.text.split("\n")
        while texts and not texts[-1].strip():
            texts.pop()
        self.text = "\n".join(texts)
        first = made.place.before + 1
        self.lines = {first + k: Line(first + k, text) for k, text in enumerate(texts)}
        self.sources = {name: _source(function) for name, function in made.functions.items()}
        self.compilers: set[str] = set()
        self._explain(made)
        self.title = f"{made.file}, by {' and '.join(sorted(self.compilers)) or 'libtcc'}"
        self._warn(made)

    # ---- facts -------------------------------------------------------------------------------------

    def _explain(self, made: Any) -> None:
        heads = Heads(made.text, made.file, made.place.before, made.library._core.said.build)
        for name, reason in made.library.unmapped.items():
            if heads.lines.get(name) in self.lines:
                self.lines[heads.lines[name]].add("plain", f"not mapped: {reason}")
        has_state = _cwrapjit.library_has_state(made.library._core.code.environment)
        for name, function in made.functions.items():
            explained = function.explain() if hasattr(function, "explain") else None
            head = self.lines.get(heads.lines.get(name, 0))
            if explained is None:
                if head is not None and not hasattr(function, "explain"):
                    head.add("plain", "called as libtcc has compiled it")
                continue
            self.compilers.add(explained.compiler)
            if head is not None and has_state:
                head.add(
                    "plain", "called as libtcc has compiled it: the text has variables that it writes to"
                )
                continue
            loops = [loop for loop in explained.loops if loop["line"] is not None]
            for loop in loops:
                owner = heads.owner(loop["line"])
                if owner == name or owner not in made.functions:
                    self._loop(self.lines.get(loop["line"]), loop)
            has_loops = any(heads.owner(loop["line"]) == name for loop in loops)
            for loop in explained.loops:
                if loop["line"] is None and head is not None and (loop["vectorized"] or not has_loops):
                    self._loop(head, loop, "slices: ")

    def _loop(self, line: Line | None, loop: dict[str, Any], what: str = "") -> None:
        if line is None:
            return
        if loop["vectorized"]:
            line.add("vectorized", what + width_of(loop))
            return
        reasons = []
        for reason in loop["reasons"]:
            other = reason["line"] not in (None, line.number)
            text = f"line {reason['line']}: {reason['text']}" if other else reason["text"]
            if text not in reasons:
                reasons.append(text)
        line.add("not vectorized", f"{what}not vectorized" + (f": {', '.join(reasons)}" if reasons else ""))

    def _warn(self, made: Any) -> None:
        found = made.library.diagnose()
        if found is None:
            self.title += ", as there is no compiler to ask"
        for warning in found or ():
            line = self.lines.get(warning.lineno or 0)
            if line is not None and warning.filename == made.compiler_file:
                line.add("warning", f"warning: {warning.msg}")

    # ---- display -----------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return "\n".join([self.title, *self._text()])

    def _text(self) -> Iterator[str]:
        width = max((len(line.text) for line in self.lines.values()), default=0)
        for line in self.lines.values():
            said = f"  {'; '.join(line.facts)}" if line.facts else ""
            yield f"{KINDS[line.kind][2]}{line.number:4}  {line.text:{width if said else 0}}{said}"

    def _repr_html_(self) -> str:
        coloured = ctext.coloured(self.text).split("\n")
        rows = [_row(line, text) for line, text in zip(self.lines.values(), coloured, strict=True)]
        folded = [
            page.fold(f"generated C of {name}: {source.count(chr(10))} lines", ctext.generated_view(source))
            for name, source in self.sources.items()
            if source
        ]
        return (
            f'<div class="cwrapjit" style="margin: .2em 0"><div>{page.text(self.title)} {_legend()}</div>'
            f'<pre style="{CODE};margin: .3em 0;overflow: auto;max-height: 48em">{"".join(rows)}</pre>'
            f"{''.join(folded)}</div>"
        )


_WIDTH = 100  # columns for a line and a fact beside it


def _legend() -> str:
    return " ".join(
        f'<span style="background: {back};border-left: 4px solid {edge};padding: 0 6px">{kind}</span>'
        for kind, (back, edge, _) in KINDS.items()
        if kind != "plain"
    )


def _row(line: Line, text: str) -> str:
    back, edge, _ = KINDS[line.kind]
    beside = len(line.facts) == 1 and len(line.text) + len(line.facts[0]) < _WIDTH
    place = "margin-left: 3em" if beside else "display: block;padding-left: 6em"
    said = [
        f'<span style="{place};opacity: .75;font-style: italic">{page.escaped(fact)}</span>'
        for fact in line.facts
    ]
    return (
        f'<span style="display: block;background: {back};border-left: 4px solid {edge};padding: 0 6px;'
        f'min-width: max-content"><span style="opacity: .5;user-select: none">{line.number:4}  </span>'
        f"{text}{''.join(said)}</span>"
    )


def _source(function: Any) -> str:
    return str(getattr(function, "source", "") or "")


class Heads:
    """The lines on which the functions of a text begin."""

    def __init__(self, source: str, file: str, before: int, build: dict[str, Any]) -> None:
        text = Text(source, file, build["include_dirs"], build["define_macros"])
        self.lines = {each.name: before + text.line(each.at) for each in text.functions}

    def owner(self, line: int) -> str:
        """Returns the name of the function that contains the line, or ""."""
        begun = {name: at for name, at in self.lines.items() if at <= line}
        return max(begun, key=lambda name: begun[name], default="")
