"""Comments of C text: the one directly above a function becomes a part of its docstring."""

from __future__ import annotations

import inspect
import re

from cwrapjit._tokens import CONTROL

# A comment that begins its line, and the head of a function that follows without an empty line between.
# Comments without one match, too: none is looked at twice.
_COMMENTED = re.compile(
    r"^[ \t]*(/\*(?:[^*]*\*+(?:[^/*][^*]*\*+)*/|[^\0]*)|//.*(?:\n[ \t]*//.*)*$)(?:[ \t\r]*\n?"
    r"(?:[ \t]*__attribute__[ \t]*\(\(.*\)\)[ \t\r]*\n?)*"
    r"([ \t]*[\w*][\w*\t\r ]*(?:\n[ \t]*[\w*][\w*\t\r ]*)*)\()?",
    re.MULTILINE,
)
_MARK = re.compile(r"[ \t]*(?:/\*[*!]*|//[/!]*|\*+(?![^\s*]))<?[ \t]?")  # C's, and Doxygen's
_RULE = re.compile(r"[-*=~_/ \t]*\Z")
_BRIEF = re.compile(r"[@\\]brief\s+")


def commented(text: str) -> dict[str, str]:
    """By the names of functions, the comments above them. (And by some names that are no functions'.)"""
    found: dict[str, str] = {}
    for match in _COMMENTED.finditer(text) if "//" in text or "/*" in text else ():
        words = re.findall(r"\w+", match[2] or "")
        if len(words) > 1 and CONTROL.isdisjoint(words):  # else it is a call in some body
            found.update(dict.fromkeys(words, match[1]))
    return found


def docstring(declared: str, comment: str | None) -> str:
    """The declaration, and what a comment says of it."""
    lines = [_MARK.sub("", line, 1).rstrip() for line in (comment or "").removesuffix("*/").split("\n")]
    said = inspect.cleandoc(_BRIEF.sub("", "\n".join("" if _RULE.match(each) else each for each in lines)))
    return f"{declared}\n\n{said}" if said else declared
