"""Handles compiler attributes that change how a type lies in memory or how a function is called.

The preprocessor drops all attributes, but leaves marks for these. Marks that pack or align a struct or a
member become pragmas inside the struct, which stay in the syntax tree. A declaration with other marks is put
between pragmas, and what it defines is opaque: it is better refused than read from the wrong place.
"""

from __future__ import annotations

import re

from cwrapjit.library.pieces import ends, is_definition, names_of

LAYOUT, KIND = "\1", "\2"  # marks: another layout; another type or calling convention
SYMBOL = "\3"  # around the symbol that the linker knows a name by
REASON = "an attribute or #pragma pack changes it in a way that is not mapped"

_LAYOUT = re.compile(r"\b_*(?:packed|aligned|align|ms_struct)_*\b")
_SAID = re.compile(r"\b_*packed_*\b(?!\s*\()|\b_*aligned_*\s*\(\s*(\d+)\s*\)")
_KIND = re.compile(r"\b_*(?:mode|vector_size|scalar_storage_order|ms_abi)_*\b")
_KINDS = ("struct", "union")
_STRINGS = re.compile(r"\s*(?:\"[\w.$@]*\"\s*)+")
_SYMBOL = re.compile(f"{SYMBOL}(.*?){SYMBOL}")
_TOKEN = re.compile(f"{LAYOUT}([^{LAYOUT}]*){LAYOUT}|" + r"""[{};]|"(?:\\.|[^"\\\n])*"|\w+|\S""")


def mark(word: str, arguments: str) -> str:
    """Returns the marks that replace __attribute__((...)) and similar."""
    if word.strip("_") == "asm":
        symbol = re.sub(r"[\s\"]", "", arguments) if _STRINGS.fullmatch(arguments) else ""
        return f"{SYMBOL}{symbol}{SYMBOL}" if symbol else ""
    if _KIND.search(arguments):
        return KIND
    if word == "_Alignas":
        arguments = f"aligned({arguments})"
    said = [match[1] for match in _SAID.finditer(arguments)]
    if len(said) != len(_LAYOUT.findall(arguments)) or not all(_may_be(int(each)) for each in said if each):
        return f"{LAYOUT}?{LAYOUT}"
    return "".join(f"{LAYOUT}{f'align {each}' if each else 'packed'}{LAYOUT}" for each in said)


def without_symbols(text: str, found: dict[str, str]) -> str:
    """Removes these marks, and stores the symbols of functions and variables in found, by name."""
    for match in _SYMBOL.finditer(text):
        begin = max(text.rfind(end, 0, match.start()) for end in ";{}") + 1
        declared = _SYMBOL.sub(" ", text[begin : match.start()])
        names = names_of(declared)
        if names and "register" not in declared.split():
            found[names[-1]] = match[1]
    return _SYMBOL.sub(" ", text)


def _may_be(alignment: int) -> bool:
    return 0 < alignment <= 4096 and alignment & (alignment - 1) == 0


def with_pragmas(text: str) -> str:
    """Replaces the marks by pragmas: in structs, or around the outermost declaration."""
    if LAYOUT not in text and KIND not in text:
        return text
    out, begin = [], 0
    for end in [*(match.end() for match in ends(text)), len(text)]:
        piece = text[begin:end]
        if LAYOUT in piece or KIND in piece:
            inside = None if KIND in piece or is_definition(piece) else _inside(piece)
            level = 2 if KIND in piece else 1
            piece = _TOKEN.sub(lambda match: " " if match[0][0] == LAYOUT else match[0], piece)
            piece = piece.replace(KIND, " ")
            head = len(piece) - len(piece.lstrip())  # it may begin with the newline of a `# line` mark
            piece = inside or f'{piece[:head]}_Pragma("cwj_{level}"){piece[head:]}_Pragma("cwj_0")'
        out.append(piece)
        begin = end
    return "".join(out)


def _inside(piece: str) -> str | None:
    """Returns the piece with pragmas after a struct's brace or before a member. None: a mark fits neither."""
    pragmas: list[tuple[int, str]] = []  # (position, text)
    waiting: list[str] = []  # marks that precede the brace of their struct
    # For each open brace: where pragmas of its struct go (0: it is not a struct's), where the current member
    # begins, and whether the member has a comma (1) or a mark (2). Members with both are not mapped.
    levels: list[list[int]] = []
    closed = 0  # where pragmas of the struct that was closed last go
    last = ["", ""]
    for match in _TOKEN.finditer(piece):
        token, said = match[0], match[1]
        if said is None:
            if token == "{":
                is_struct = last[1] in _KINDS or (last[0] in _KINDS and last[1].isidentifier())
                levels.append([match.end() * is_struct, match.end(), 0])
                pragmas += [(match.end(), each) for each in waiting]
                waiting = []
            elif token == "}" and levels:
                closed = levels.pop()[0]
            elif token == ";" and levels:
                levels[-1][1:] = [match.end(), 0]
            elif token == "," and levels:
                levels[-1][2] |= 1
            last = [last[1], token]
        elif said.startswith("pack ") and levels[-1][0] and said[5:].isdigit():  # after a brace
            pragmas.append((levels[-1][0], said))
        elif last[1] in _KINDS and said != "?":
            waiting.append(said)
        elif last[1] == "}" and closed and said != "?":
            pragmas.append((closed, said))
        elif levels and levels[-1][0] and said.startswith("align"):
            pragmas.append((levels[-1][1], said.replace("align", "member")))
            levels[-1][2] |= 2
        elif not said.startswith("pack ") or levels[-1][0]:
            return None
        if levels and levels[-1][2] == 3:
            return None
    for at, said in sorted(pragmas, reverse=True):
        piece = f'{piece[:at]}_Pragma("cwj_{said.replace("packed", "pack 1")}"){piece[at:]}'
    return _TOKEN.sub(lambda match: " " if match[0][0] == LAYOUT else match[0], piece)
