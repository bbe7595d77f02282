"""Cuts a C text into its functions, so that each is compiled without those that it does not need."""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from cwrapjit._tokens import Token, tokens, words
from cwrapjit.kernels.text import Text, opens_parameters


class Part(NamedTuple):
    at: int
    text: str  # for C, with its line
    words: set[str]


class Parts:
    """Definitions and declarations of a text's functions, and the rest of the text, which all of them need.

    Any word may name a function, also in macros. If macros paste words, or if the text includes files other
    than C's own, there may be names that the text does not show, so all of it is the rest. So is a text that
    counts its lines itself, as those of generators do."""

    def __init__(self, text: Text, items: Sequence[list[Token]], includes_only_c: bool) -> None:
        self._text = text
        self._newlines = [found.start() for found in re.finditer("\n", text.source)]
        self._dims = text.early_in_order()
        self._dims_at = [each.dim[0].at for each in self._dims]
        self._rest: list[Part] = []
        self._own: dict[str, list[Part]] = {}
        values = [value or "" for _, value in text.macros]
        pastes = any(each in source for source in (text.source, *values) for each in ("##", "%:"))
        self._cut(items if includes_only_c and not pastes else ())
        self._always = text.named.keys() - self._own.keys()
        self._always |= self._reached(words(*values).union(*(part.words for part in self._rest)))

    def needed_by(self, name: str) -> Collection[str]:
        """Returns the functions that joined() needs for this one."""
        return self._always | self._reached({name}) if name in self._text.named else self._text.named.keys()

    def joined(self, names: Iterable[str]) -> str:
        """Returns the text without the functions that are not named."""
        parts = itertools.chain(self._rest, *(self._own.get(each, ()) for each in names))
        return "".join(part.text for part in sorted(parts))

    def _reached(self, waiting: set[str]) -> set[str]:
        found: set[str] = set()
        while waiting:
            each = waiting.pop()
            if each in self._own and each not in found:
                found.add(each)
                waiting.update(*(part.words for part in self._own[each]))
        return found

    def _cut(self, items: Sequence[list[Token]]) -> None:
        found = tokens(self._text.source) if items else []
        if any(one.kind == "#" and _counts(other) for one, other in itertools.pairwise(found)):
            items = ()
        marks = [each for each in found if each.kind in ("#", "end")]
        lines = [each.at for each in marks]  # where directives begin and end
        at = behind = 0  # the ends of the last part and of the last item
        for item, following in itertools.zip_longest(items, items[1:]):
            first, end = item[0].at, item[-1].end
            passed = bisect_left(lines, first)
            begin = max(behind, marks[passed - 1].end if passed else 0)
            # A macro may have made more than this item. Directives in it may count for what follows.
            is_alone = behind <= first and (following is None or end <= following[0].at)
            name = _function(item)
            if name in self._text.named and is_alone and bisect_left(lines, end) == passed:
                self._add(self._rest, at, begin)
                self._add(self._own.setdefault(name, []), begin, end)
                at = end
            behind = max(behind, end)
        self._add(self._rest, at, len(self._text.source))

    def _add(self, parts: list[Part], at: int, end: int) -> None:
        source = self._text.source
        piece = source[at:end].strip()
        if piece:
            at = source.index(piece, at)
            end = at + len(piece)
            column = at - source.rfind("\n", 0, at) - 1
            line = f'#line {bisect_left(self._newlines, at) + 1} "{self._text.file}"\n{" " * column}'
            dims = self._dims[bisect_left(self._dims_at, at) : bisect_left(self._dims_at, end)]
            parts.append(Part(at, f"{line}{self._text.piece(dims, at, end)}\n", words(piece)))


def _counts(directive: Token) -> bool:
    return directive.text == "line" or directive.kind == "number"


def _function(item: list[Token]) -> str:
    """Returns the name of the function that an outermost declaration defines or declares, or ""."""
    head = item[:-1] if item[-1].text == ";" else item[:-2]
    opens = opens_parameters(head)
    return head[opens - 1].text if opens else ""
