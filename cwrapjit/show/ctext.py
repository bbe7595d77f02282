"""Displays C text: the user's own, and generated C with the user's lines marked.

The #line directives in generated C tell whose lines they are."""

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
MOST_PARTS = 12  # the user's texts of a function; there may be one per type set
_MOST_READ = 2_000_000  # letters of a source that are read
_LINE = re.compile(r'^#line (\d{1,9}) "((?:[^"\\\n]|\\.)*)"$', re.MULTILINE)
_MARKED = "display:block;border-left:3px solid #2f81f7;margin-left:-.6em;padding-left:.45em;"


class Part(NamedTuple):
    """Successive lines that belong to one file."""

    file: str
    text: str
    generated: bool


def parts_of(source: str) -> Iterator[Part]:
    """Splits generated C into parts, without the directives."""
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
    """Returns the user's texts as (name, text), each once, as several type sets may share one. given: the
    texts that the function was made from. vectorize() and libraries add text of their own to these."""
    own = vars(shown).get("_text")
    if isinstance(own, str):
        return [("", own.strip("\n").rstrip())]
    found: dict[str, str] = {}
    for file, content in given:
        found.setdefault(textwrap.dedent(content).strip("\n").rstrip(), name_of(file))
    return [(name, content) for content, name in found.items() if content.strip()]


def name_of(file: str) -> str:
    """Returns 'float64' for "<cwrapjit m.f float64>"; other names of files are returned unchanged."""
    match = re.fullmatch(r"<cwrapjit (?:\S+ )?(.*)>", file)
    return match[1] if match else file


# ---- colours -----------------------------------------------------------------------------------------------

# Bright enough for white and for black backgrounds.
_COLOURS = {
    "Comment": "#808080",
    "Comment.Preproc": "#b0690c",
    "Keyword": "#b04fc4",
    "Keyword.Type": "#178a8a",
    "Literal.String": "#3d8f3d",
    "Literal.Number": "#2f81f7",
}


def _style() -> Any:
    """Makes the style for Pygments, which must be installed."""
    token = load("pygments.token")
    styles = {token.string_to_tokentype(name): colour for name, colour in _COLOURS.items()}
    return type("Style", (load("pygments.style").Style,), {"styles": styles, "background_color": "none"})


def coloured(content: str) -> Markup:
    """Colours C text with Pygments, if that is installed."""
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
    """Returns the part to show, and a note about the rest."""
    if len(content) <= most:
        return content, ""
    shown = content[:most]
    shown = shown[: shown.rfind("\n") + 1] or shown
    more = content.count("\n", len(shown)) + 1
    return shown, f"... and {more:,} more line{'s' if more > 1 else ''}"


def view(content: str) -> Markup:
    """Displays the user's C text."""
    shown, note = _cut(content, MOST_LETTERS)
    return Markup(listing(coloured(shown)) + (faint(note) if note else ""))


def users_view(pairs: Iterable[tuple[str, str]]) -> Markup:
    """Displays several texts of the user, each below its name."""
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
    """Displays generated C with the user's lines marked."""
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
    """Displays the user's texts and the generated text, folded."""
    given = users_texts(shown, texts)
    own = fold("C text", users_view(given)) if given else Markup("")
    return joined([own, fold("generated C, your lines marked", generated_view(shown.source))])
