"""Makes the comment directly above a C function a part of the function's docstring."""

from __future__ import annotations

import re

from cwrapjit._imports import load
from cwrapjit._tokens import CONTROL

# A comment that begins its line, and the head of a function if one follows without an empty line. Comments
# without a function match, too, so that none is scanned twice.
_COMMENTED = re.compile(
    r"^[ \t]*(/\*(?:[^*]*\*+(?:[^/*][^*]*\*+)*/|[^\0]*)|//.*(?:\n[ \t]*//.*)*$)(?:[ \t\r]*\n?"
    r"(?:[ \t]*__attribute__[ \t]*\(\(.*\)\)[ \t\r]*\n?)*"
    r"([ \t]*[\w*][\w*\t\r ]*(?:\n[ \t]*[\w*][\w*\t\r ]*)*)\()?",
    re.MULTILINE,
)
_MARK = re.compile(r"[ \t]*(?:/\*[*!]*|//[/!]*|\*+(?![^\s*]))<?[ \t]?")  # marks of C and Doxygen
_RULE = re.compile(r"[-*=~_/ \t]*\Z")
_BRIEF = re.compile(r"[@\\]brief\s+")


def commented(text: str) -> dict[str, str]:
    """Returns the comments above functions, by function name. Other words of a head are keys, too."""
    found: dict[str, str] = {}
    for match in _COMMENTED.finditer(text) if "//" in text or "/*" in text else ():
        words = re.findall(r"\w+", match[2] or "")
        if len(words) > 1 and CONTROL.isdisjoint(words):  # otherwise a call in a body
            found.update(dict.fromkeys(words, match[1]))
    return found


def docstring(declared: str, comment: str | None) -> str:
    """Returns the declaration, followed by the text of the comment."""
    if not comment:
        return declared
    lines = [_MARK.sub("", line, 1).rstrip() for line in comment.removesuffix("*/").split("\n")]
    text = _BRIEF.sub("", "\n".join("" if _RULE.match(each) else each for each in lines))
    said = load("inspect").cleandoc(text)
    return f"{declared}\n\n{said}" if said else declared
