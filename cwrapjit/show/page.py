"""Pieces of HTML. escaped() makes Markup from text; all other functions combine Markup.

Styles are part of the elements, as notebooks drop other style sheets and scripts. Colours are legible on
white and on black."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


MOST_LETTERS = 300  # of a text in a table
MOST_ROWS = 100  # of a table

# Exceptions expected from users' code that runs here, such as an op's __str__. Not KeyboardInterrupt.
BLUNDERS = (
    ArithmeticError, AssertionError, AttributeError, LookupError, NameError, OSError, RuntimeError, TypeError,
    ValueError,
)  # fmt: skip

# Characters that are invalid in HTML, and those that change the direction of text, which could disguise it.
_ODD = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)
_CELL = "text-align:left;vertical-align:top;padding:.15em .8em .15em 0;border:0"
_MONO = "font-family:var(--jp-code-font-family,monospace);font-size:.92em;background:none;color:inherit"
_LINE = "1px solid rgba(128,128,128,.35)"


def _picture(match: re.Match[str]) -> str:
    letter = ord(match[0])
    return chr(0x2400 + letter) if letter < 32 else "\u2421" if letter == 127 else "\ufffd"


def clean(text: str) -> str:
    """Replaces characters that a page cannot have by pictures of them."""
    return _ODD.sub(_picture, text)


def escaped(text: str) -> Markup:
    """Escapes a text of any length."""
    return Markup(html.escape(clean(text)))


def text(value: object, most: int = MOST_LETTERS) -> Markup:
    """Escapes a text for a line or a cell, and cuts it at `most` letters."""
    shown = said(value)
    return escaped(shown if len(shown) <= most else f"{shown[: most - 3]}...")


def said(value: object) -> str:
    """Returns str(value), which may run the user's code."""
    try:
        return str(value)
    except BLUNDERS as error:
        return f"<{type(value).__name__}, whose __str__ raises {type(error).__name__}>"


def code(value: object, most: int = MOST_LETTERS) -> Markup:
    """Displays a text in the font of code."""
    return Markup(f'<code style="{_MONO};padding:0;white-space:pre-wrap">{text(value, most)}</code>')


def faint(value: object) -> Markup:
    return Markup(f'<span style="opacity:.7">{text(value)}</span>')


def joined(parts: Iterable[Markup], between: str = "") -> Markup:
    return Markup(between.join(parts))


def lines(parts: Iterable[Markup]) -> Markup:
    """Puts each part on its own line."""
    return Markup("<br/>".join(parts))


def facts(pairs: Iterable[tuple[str, Markup | None]]) -> Markup:
    """A table of names and values. Names without a value are left out."""
    rows = [
        f'<tr style="background:none"><th style="{_CELL};font-weight:normal;opacity:.7;white-space:nowrap">'
        f'{text(name)}</th><td style="{_CELL}">{value}</td></tr>'
        for name, value in pairs
        if value
    ]
    return Markup(_table("".join(rows)) if rows else "")


def _table(rows: str) -> str:
    return f'<table style="border-collapse:collapse;border:0;margin:.2em 0">{rows}</table>'


def table(heads: Sequence[str], rows: Sequence[Sequence[Markup]], count: int) -> Markup:
    """A table of at most MOST_ROWS rows. count: the number of rows in all."""
    style = f"{_CELL};border-bottom:{_LINE}"
    head = "".join(f'<th style="{style};opacity:.7">{text(each)}</th>' for each in heads)
    made = [f'<tr style="background:none">{head}</tr>']
    for row in rows[:MOST_ROWS]:
        cells = "".join(f'<td style="{_CELL}">{each}</td>' for each in row)
        made.append(f'<tr style="background:none">{cells}</tr>')
    if count > MOST_ROWS:
        note = faint(f"and {count - MOST_ROWS:,} more")
        made.append(
            f'<tr style="background:none"><td colspan="{len(heads)}" style="{_CELL}">{note}</td></tr>'
        )
    return Markup(_table("".join(made)))


def fold(title: str, content: Markup, opened: bool = False) -> Markup:
    """Content below a title that is clicked to open it."""
    state = ' open="open"' if opened else ""
    return Markup(
        f'<details{state} style="margin:.2em 0"><summary style="cursor:pointer">{text(title)}</summary>'
        f"{content}</details>"
    )


def listing(content: Markup) -> Markup:
    """Displays lines of code."""
    return Markup(
        f'<pre style="{_MONO};line-height:1.35;margin:.3em 0;padding:.4em .6em;'
        f'border-left:3px solid rgba(128,128,128,.35);white-space:pre;overflow:auto;max-height:32em">'
        f"{content}</pre>"
    )


def box(kind: str, title: Markup, *parts: Markup) -> str:
    """The frame for an object: its kind, its name, and the parts."""
    inside = "".join(parts)
    return (
        f'<div class="cwrapjit" style="margin:.2em 0;line-height:1.45"><div style="margin-bottom:.2em">'
        f'<span style="opacity:.7">{text(kind)}</span> <b>{title}</b></div>{inside}</div>'
    )
