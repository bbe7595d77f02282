"""A text of C cut into its outermost declarations, so that a faulty one leaves the others alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

Piece = tuple[str, int, str]  # a text, the line and the file where it begins

_BATCH = 24
_MARK = re.compile(r'[(){};]|^# (\d+) "(.*)"$|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.MULTILINE)


def pieces(text: str, file: str) -> Iterator[Piece]:
    """The outermost declarations of a preprocessed text, with the line and the file where they begin."""
    begin, origin, offset = 0, file, 0  # line in origin = line in text + offset
    line, counted = 1, 0
    for match in ends(text):
        is_mark = match[0].startswith("#")
        piece = text[begin : match.start() if is_mark else match.end()]
        if piece:
            yield piece, line + offset, origin
        line += text.count("\n", counted, match.end())
        begin = counted = match.end()
        if is_mark:
            origin, offset = match[2], int(match[1]) - line - 1
    rest = text[begin:]
    if rest.strip(" \t\n;"):
        yield rest, line + offset, origin


def batches(pieces: Iterable[Piece]) -> Iterator[list[Piece]]:
    """Neighbours of one file, some at a time."""
    batch: list[Piece] = []
    for each in pieces:
        if batch and (each[2] != batch[0][2] or len(batch) == _BATCH):
            yield batch
            batch = []
        if batch or each[0].strip(" \t\n;"):
            batch.append(each)
    if batch:
        yield batch


def ends(text: str) -> Iterator[re.Match[str]]:
    """What ends the outermost declarations of a preprocessed text, and marks of lines."""
    depth = begin = 0
    for match in _MARK.finditer(text):
        found = match[0]
        if found in "({":
            depth += 1
        elif found in ")}":
            depth = max(depth - 1, 0)
        if found.startswith("#") or (
            depth == 0 and (found == ";" or (found == "}" and _is_body(text, begin, match.end())))
        ):
            depth, begin = 0, match.end()
            yield match


def _is_body(text: str, begin: int, end: int) -> bool:
    """Whether a closing brace ends a function rather than a struct, an enum or an initializer."""
    head = text[begin : text.find("{", begin)]
    return head.rstrip().endswith(")") and text[end : end + 200].lstrip()[:1] not in (";", ",")


def is_definition(piece: str) -> bool:
    """Whether a piece is a function with its body."""
    text = piece.rstrip()
    return text.endswith("}") and _is_body(text, 0, len(text))


def declared_name(piece: str) -> str:
    """The name that a declaration seems to declare, for reports."""
    piece = re.sub(r'_Pragma\("cwj_\d"\)', "", piece)
    match = re.search(r"([A-Za-z_]\w*)\s*\(", piece) or re.search(r"([A-Za-z_]\w*)[^A-Za-z_]*$", piece)
    return match[1] if match else " ".join(piece.split())[:40]


def defined_names(piece: str) -> set[str]:
    """What a piece with a typedef, a struct or an enum may define: tags, enumerators, and other names that
    are not inside braces."""
    names = set(re.findall(r"\b(?:struct|union|enum)\s+([A-Za-z_]\w*)\s*\{", piece))
    for body in re.findall(r"\benum\b[^;{}]*\{([^{}]*)\}", piece):
        names.update(re.findall(r"(?:^|,)\s*([A-Za-z_]\w*)", body))
    inner = 1
    while inner:
        piece, inner = re.subn(r"\{[^{}]*\}", " ", piece)
    return names.union(re.findall(r"([A-Za-z_]\w*)(?=\s*[;,()\[])", piece))
