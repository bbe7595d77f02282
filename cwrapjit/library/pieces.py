"""Cuts a C text into its outermost declarations, so that a faulty one does not affect the others."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator

Piece = tuple[str, int, str]  # (text, line where it begins, file)

_BATCH = 24
_MARK = re.compile(r'[(){};]|^# (\d+) "(.*)"$|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.MULTILINE)
_TOKEN = re.compile(r'[A-Za-z_]\w*|[()\[\]{}*,=:;^]|"(?:\\.|[^"\\\n])*"|[^\s\w]|\d[\w.]*')

_MARK_ALONE = re.compile(r'^# \d+ ".*"$', re.MULTILINE)
_ENUM = re.compile(r"\benum\b[^;{}()]*\{[^;{}]*$")
_TYPE_WORDS = frozenset(
    "char const double float int long restrict short signed unsigned void volatile _Bool _Complex".split()
)


def pieces(text: str, file: str) -> Iterator[Piece]:
    """Yields the outermost declarations of a preprocessed text, with line and file where they begin."""
    begin, origin, offset = 0, file, 0  # line in origin = line in text + offset
    line, counted = 1, 0
    for match in ends(text):
        is_mark = match[0].startswith("#")
        piece = text[begin : match.start() if is_mark else match.end()]
        if piece:
            if "\n# " in piece[1:]:
                piece = _MARK_ALONE.sub("", piece)
            yield piece, line + offset, origin
        line += text.count("\n", counted, match.end())
        begin = counted = match.end()
        if is_mark:
            origin, offset = match[2], int(match[1]) - line - 1
    rest = text[begin:]
    if rest.strip(" \t\n;"):
        yield rest, line + offset, origin


def batches(pieces: Iterable[Piece]) -> Iterator[list[Piece]]:
    """Yields neighbours of one file, several at a time."""
    for _, several in itertools.groupby(pieces, lambda each: each[2]):
        while batch := list(itertools.islice(several, _BATCH)):
            if any(text.strip(" \t\n;") for text, _, _ in batch):
                yield batch


def ends(text: str) -> Iterator[re.Match[str]]:
    """Yields what ends the outermost declarations of a preprocessed text, and line marks."""
    depth = begin = 0
    for match in _MARK.finditer(text):
        found = match[0]
        if found in "({":
            depth += 1
        elif found in ")}":
            depth = max(depth - 1, 0)
        if found.startswith("#") and depth and _ENUM.search(text, begin, match.start()):
            continue  # this file holds enumerators
        if found.startswith("#") or (
            depth == 0 and (found == ";" or (found == "}" and _is_body(text, begin, match.end())))
        ):
            depth, begin = 0, match.end()
            yield match


def _is_body(text: str, begin: int, end: int) -> bool:
    """True if a closing brace ends a function, not a struct, an enum or an initializer."""
    head = text[begin : text.find("{", begin)]
    return head.rstrip().endswith(")") and text[end : end + 200].lstrip()[:1] not in (";", ",")


def is_definition(piece: str) -> bool:
    """True if a piece is a function with its body."""
    text = piece.rstrip()
    return text.endswith("}") and _is_body(text, 0, len(text))


def declared_name(piece: str) -> str:
    """Returns the name that a declaration seems to declare, for reports."""
    piece = re.sub(r'_Pragma\("cwj_\d"\)', "", piece)
    returns_function = re.match(r"[^()]*\(\s*\*[\s*]*([A-Za-z_]\w*)\s*\(", piece)  # int (*name(void))(int)
    match = returns_function or re.search(r"([A-Za-z_]\w*)\s*\(", piece)
    match = match or re.search(r"([A-Za-z_]\w*)[^A-Za-z_]*$", piece)
    return match[1] if match else " ".join(piece.split())[:40]


def is_type_alone(piece: str) -> bool:
    """True if a declaration defines types, and neither functions nor variables."""
    text = re.sub(r'_Pragma\("cwj_\d"\)', " ", piece).strip("; \t\n")
    if text.startswith("typedef"):
        return re.match(r"typedef\b", text) is not None
    return bool(re.match(r"(?:struct|union|enum)\b[^;(]*\{", text)) and text.endswith("}")


def names_of(piece: str) -> list[str] | None:
    """Returns the functions and variables of a declaration, by its tokens. None: that is not clear. Nothing
    is parsed: it may be wrong if the piece is not C, which the user of such a name is then told."""
    piece = re.sub(r'_Pragma\("cwj_\d"\)', " ", piece)
    head = piece[: piece.find("{")] if is_definition(piece) else piece.rstrip(" \t\n;")
    tokens = _TOKEN.findall(head)
    if "{" in tokens or not tokens:
        return None
    if len(tokens) == 2 and tokens[0] in ("struct", "union", "enum"):
        return []
    found: list[str] = []
    depth = begin = 0
    for at, token in enumerate([*tokens, ","]):
        depth += (token in "([") - (token in ")]")
        if token == "," and depth == 0:
            name = _declarator(tokens[begin:at])
            if name is None:
                return None
            found.append(name)
            begin = at + 1
    return found if depth == 0 else None


def _declarator(tokens: list[str]) -> str | None:
    """Returns the name in a declarator with types in front: the last word before parameters or dims."""
    name = None
    for at, token in enumerate(tokens):
        inner = tokens[at + 1 : at + 4]  # it holds a declarator, not parameters: `(*f)(int)`, `(f)(int)`
        if token == "(" and (inner[:1] == ["*"] or inner[1:] in ([")", "("], [")", "["])):
            return _declarator(tokens[at + 1 :])
        if token in "([=:)":
            break
        if token[0].isalpha() or token[0] == "_":
            name = token
    return None if name in _TYPE_WORDS else name


def tags_for_later(piece: str) -> set[str]:
    """Returns structs and unions that can wait: a type only points to them, or renames them."""
    behind = r"\s*\*" if "{" in piece else ""
    return set(re.findall(rf"\b(?:struct|union)\s+([A-Za-z_]\w*)\b(?!\s*\{{){behind}", piece))


def enumerators(piece: str) -> set[str]:
    """Returns the enumerators that a declaration defines."""
    found: set[str] = set()
    for body in re.findall(r"\benum\b[^;{}]*\{([^{}]*)\}", piece):
        found.update(re.findall(r"(?:^|,)\s*([A-Za-z_]\w*)", body))
    return found


def defined_names(piece: str) -> set[str]:
    """Returns the tags, enumerators and typedef names of a piece; if unclear, all names outside braces."""
    names = set(re.findall(r"\b(?:struct|union|enum)\s+([A-Za-z_]\w*)\s*\{", piece))
    names |= enumerators(piece)
    inner = 1
    while inner:
        piece, inner = re.subn(r"\{[^{}]*\}", " ", piece)
    declared = names_of(piece)
    if declared is not None:
        return names.union(declared)
    return names.union(re.findall(r"([A-Za-z_]\w*)(?=\s*[;,()\[])", piece))
