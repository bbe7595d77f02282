"""C text as tokens, by tinyjit's lexer, and what all who read it need."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from cwrapjit import _cwrapjit

CONTROL = frozenset("if while for switch return else do sizeof case _Alignof".split())


class Token(NamedTuple):
    kind: str  # "word", "number", "string", "mark", "comment"; "#" begins a directive, "end" ends it
    text: str  # as C reads it: lines that a backslash continues are one
    at: int  # where it begins in the text
    end: int


def tokens(text: str) -> list[Token]:
    return [Token(*each) for each in _cwrapjit.tokens(text)]


def code(text: str) -> list[Token]:
    """What is no comment; directives are as any text, but for their #."""
    return [token for token in tokens(text) if token.kind not in ("comment", "end")]


def words(*texts: str) -> set[str]:
    """The names in texts; what is in comments and literals is none."""
    return {token[1] for text in texts for token in _cwrapjit.tokens(text) if token[0] == "word"}


def names(text: str) -> Iterator[Token]:
    """Words that are no member's."""
    before = ""
    for token in code(text):
        if token.kind == "word" and before not in (".", "->"):
            yield token
        before = token.text


def with_names(text: str, value: Callable[[str], str]) -> str:
    """The text with value() of each name in its place."""
    made, at = [], 0
    for token in names(text):
        made += [text[at : token.at], value(token.text)]
        at = token.end
    return "".join([*made, text[at:]])


def closes(found: Sequence[Token], opens: int) -> int:
    """Where the bracket at `opens` is closed; behind all if nowhere."""
    depth = 0
    for k in range(opens, len(found)):
        depth += (found[k].text in "([{") - (found[k].text in ")]}")
        if not depth:
            return k
    return len(found)


def split(found: Sequence[Token]) -> list[list[Token]]:
    """At the commas outside of brackets."""
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
    """What stands between the commas outside of brackets."""
    return [text[part[0].at : part[-1].end] if part else "" for part in split(code(text))]


def defined(text: str) -> Iterator[str]:
    """The functions that a text seems to define, whatever else is wrong with it."""
    found: list[Token] = []
    inside = False  # a directive
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
