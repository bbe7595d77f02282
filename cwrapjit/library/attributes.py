"""Attributes of compilers that change how a type lies in memory or how a function is called.

The preprocessor drops all attributes, but leaves a mark where one matters; the declaration around it is then
put between pragmas, which stay in the syntax tree. What such a declaration defines is opaque: better
refused than read from the wrong place.
"""

from __future__ import annotations

import re

from cwrapjit.library.pieces import ends

LAYOUT, KIND = "\1", "\2"  # marks: the layout is another one; the type or the way to call is
REASON = "an attribute or #pragma pack changes it in a way that is not mapped"

_LAYOUT = re.compile(r"\b_*(?:packed|aligned|align|ms_struct)_*\b")
_KIND = re.compile(r"\b_*(?:mode|vector_size|scalar_storage_order|ms_abi)_*\b")


def mark(word: str, arguments: str) -> str:
    """What stays of __attribute__((...)) and the like."""
    if _KIND.search(arguments):
        return KIND
    return LAYOUT if word == "_Alignas" or _LAYOUT.search(arguments) else ""


def with_pragmas(text: str) -> str:
    """The marks become pragmas around their outermost declarations."""
    if LAYOUT not in text and KIND not in text:
        return text
    out, begin = [], 0
    for end in [*(match.end() for match in ends(text)), len(text)]:
        piece = text[begin:end]
        level = 2 if KIND in piece else 1 if LAYOUT in piece else 0
        if level:
            piece = piece.replace(LAYOUT, " ").replace(KIND, " ")
            head = len(piece) - len(piece.lstrip())  # it may begin with the end of a `# line` mark
            piece = f'{piece[:head]}_Pragma("cwj_{level}"){piece[head:]}_Pragma("cwj_0")'
        out.append(piece)
        begin = end
    return "".join(out)
