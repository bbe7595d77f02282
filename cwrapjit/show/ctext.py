"""C text on a page: the user's own, and generated C with the user's lines marked.

Generated C says by its #line directives whose text is whose.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from cwrapjit._cwrapjit import Function
from cwrapjit._imports import load
from cwrapjit.show.page import Markup, clean, escaped, faint, fold, joined, listing, text

MOST_LETTERS = 20_000  # of the user's C text that is shown
MOST_GENERATED = 60_000  # letters of generated C
MOST_PARTS = 12  # texts of the user's, of which a function has one for each type set
_MOST_READ = 2_000_000  # letters of a source that anybody looks at
_LINE = re.compile(r'^#line (\d{1,9}) "((?:[^"\\\n]|\\.)*)"$', re.MULTILINE)
_MARKED = "display:block;border-left:3px solid #2f81f7;margin-left:-.6em;padding-left:.45em;"


class Part(NamedTuple):
    """Lines that belong to one file."""

    file: str
    text: str
    generated: bool


def parts_of(source: str) -> Iterator[Part]:
    """The parts of generated C, the directives left out."""
    at, file = 0, ""
    for match in _LINE.finditer(source):
        yield from _part(file, source[at : match.start()])
        at, file = match.end() + 1, match[2]
    yield from _part(file, source[at:])


def _part(file: str, content: str) -> Iterator[Part]:
    if content.strip():
        generated = not file or file.endswith(" generated>")
        yield Part(file, content.strip("\n") if generated else content.strip("\n").rstrip(), generated)


def users_texts(shown: Function, given: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """What to call the user's texts, and these, each once: several type sets may have the same.

    given: the texts that the function was made of, which vectorize() and libraries write around the user's.
    """
    own = vars(shown).get("_text")
    if isinstance(own, str):
        return [("", own.strip("\n").rstrip())]
    found: dict[str, str] = {}
    for file, content in given:
        found.setdefault(textwrap.dedent(content).strip("\n").rstrip(), name_of(file))
    return [(name, content) for content, name in found.items() if content.strip()]


def name_of(file: str) -> str:
    """'float64' for "<cwrapjit m.f float64>"; files of the disk are called by their names."""
    match = re.fullmatch(r"<cwrapjit (?:\S+ )?(.*)>", file)
    return match[1] if match else file


# ---- colours -----------------------------------------------------------------------------------------------

# As bright as can be read on white and on black alike.
_COLOURS = {
    "Comment": "#808080",
    "Comment.Preproc": "#b0690c",
    "Keyword": "#b04fc4",
    "Keyword.Type": "#178a8a",
    "Literal.String": "#3d8f3d",
    "Literal.Number": "#2f81f7",
}


def _style() -> Any:
    """For Pygments, which is there."""
    token = load("pygments.token")
    styles = {token.string_to_tokentype(name): colour for name, colour in _COLOURS.items()}
    return type("Style", (load("pygments.style").Style,), {"styles": styles, "background_color": "none"})


def coloured(content: str) -> Markup:
    """C by Pygments, where that is installed."""
    try:
        pygments = load("pygments")
        lexer = load("pygments.lexers.c_cpp").CLexer(stripnl=False, ensurenl=False)
        formatter = load("pygments.formatters.html").HtmlFormatter(
            noclasses=True, nowrap=True, style=_style()
        )
    except ImportError:
        return escaped(content)
    return Markup(pygments.highlight(clean(content), lexer, formatter).rstrip("\n"))


# ---- views -------------------------------------------------------------------------------------------------


def _cut(content: str, most: int) -> tuple[str, str]:
    """What is shown, and what is said of the rest."""
    if len(content) <= most:
        return content, ""
    shown = content[:most]
    shown = shown[: shown.rfind("\n") + 1] or shown
    more = content.count("\n", len(shown)) + 1
    return shown, f"... and {more:,} more line{'s' if more > 1 else ''}"


def view(content: str) -> Markup:
    """The user's C text."""
    shown, note = _cut(content, MOST_LETTERS)
    return Markup(listing(coloured(shown)) + (faint(note) if note else ""))


def users_view(pairs: Iterable[tuple[str, str]]) -> Markup:
    """Texts of the user's, each below its name."""
    given = list(pairs)
    if len(given) == 1:
        return view(given[0][1])
    most = MOST_LETTERS // max(1, min(len(given), MOST_PARTS))
    made = []
    for name, content in given[:MOST_PARTS]:
        shown, note = _cut(content, most)
        made.append(Markup(faint(name) + listing(coloured(shown)) + (faint(note) if note else "")))
    if len(given) > MOST_PARTS:
        made.append(faint(f"and {len(given) - MOST_PARTS:,} more texts"))
    return Markup("".join(made))


def generated_view(source: str) -> Markup:
    """Generated C; the user's lines are marked."""
    made: list[str] = []
    left, cut = MOST_GENERATED, False
    for part in parts_of(source[:_MOST_READ]):
        shown, note = _cut(part.text, left)
        left -= len(shown)
        if part.generated:
            made.append(f"{escaped(shown)}\n")
        else:
            made.append(
                f'<span style="{_MARKED}background:rgba(47,129,247,.12)" title="{text(part.file)}">'
                f"{escaped(shown)}\n</span>"
            )
        if note or left <= 0:
            cut = True
            break
    note = f"cut: the whole text has {len(source):,} letters, .source is all of it" if cut else ""
    return joined([listing(Markup("".join(made))), faint(note)])


def folds(shown: Function, texts: Iterable[tuple[str, str]]) -> Markup:
    """The user's texts, and the generated text, to be folded out."""
    given = users_texts(shown, texts)
    own = fold("C text", users_view(given)) if given else Markup("")
    return joined([own, fold("generated C, your lines marked", generated_view(shown.source))])
