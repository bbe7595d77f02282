"""Splits C text into tokens with tinyjit's lexer, for all readers of C text in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from cwrapjit import _cwrapjit

CONTROL = frozenset("if while for switch return else do sizeof case _Alignof".split())


class Token(NamedTuple):
    kind: str  # "word", "number", "string", "mark", "comment"; "#" begins a directive, "end" ends it
    text: str  # with lines joined that a backslash continues
    at: int  # the offset of its start in the text
    end: int


def tokens(text: str) -> list[Token]:
    return [Token(*each) for each in _cwrapjit.tokens(text)]


def code(text: str) -> list[Token]:
    """Returns the tokens without comments. Directives are included, with their #."""
    return [token for token in tokens(text) if token.kind not in ("comment", "end")]


def words(*texts: str) -> set[str]:
    """Returns the names in the texts, without those in comments and literals."""
    return {token[1] for text in texts for token in _cwrapjit.tokens(text) if token[0] == "word"}


def names(text: str) -> Iterator[Token]:
    """Yields the words that are not names of members."""
    before = ""
    for token in code(text):
        if token.kind == "word" and before not in (".", "->"):
            yield token
        before = token.text


def with_names(text: str, value: Callable[[str], str]) -> str:
    """Replaces each name in the text by value(name)."""
    made, at = [], 0
    for token in names(text):
        made += [text[at : token.at], value(token.text)]
        at = token.end
    return "".join([*made, text[at:]])


def closes(found: Sequence[Token], opens: int) -> int:
    """Returns the index of the bracket that closes the one at `opens`, or len(found)."""
    depth = 0
    for k in range(opens, len(found)):
        depth += (found[k].text in "([{") - (found[k].text in ")]}")
        if not depth:
            return k
    return len(found)


def unmatched(found: Sequence[Token]) -> Token | None:
    """Returns the bracket that closes nothing, or else the innermost one that is not closed."""
    opened: list[Token] = []
    for token in found:
        word = token.text
        if word in "([{":
            opened.append(token)
        elif word in ")]}" and (not opened or opened.pop().text + word not in ("()", "[]", "{}")):
            return token
    return opened[-1] if opened else None


def split(found: Sequence[Token]) -> list[list[Token]]:
    """Splits at the commas outside brackets."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in found:
        depth += (token.text in "([{") - (token.text in ")]}")
        if token.text == "," and not depth:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts if parts != [[]] else []


def arguments(text: str) -> list[str]:
    """Returns the texts between the commas outside brackets."""
    return [text[part[0].at : part[-1].end] if part else "" for part in split(code(text))]


def defined(text: str) -> Iterator[str]:
    """Yields the names of the functions that a text seems to define, even if it is not valid C."""
    found: list[Token] = []
    inside = False  # inside a directive
    for token in tokens(text):
        inside = token.kind == "#" or (inside and token.kind != "end")
        found += [token] * (not inside and token.kind not in ("comment", "end"))
    begin = opens = k = 0
    while k < len(found):
        word = found[k].text
        end = closes(found, k) if word in "([{" else k
        if word == "(":
            opens = k
        elif word == "{" and begin + 1 < opens and found[k - 1].text == ")":
            before, name = found[opens - 2], found[opens - 1]
            has_type = (before.kind == "word" or before.text == "*") and name.kind == "word"
            if has_type and CONTROL.isdisjoint((before.text, name.text)):
                yield name.text
        if word in ("{", ";"):
            begin = end + 1
        k = end + 1
