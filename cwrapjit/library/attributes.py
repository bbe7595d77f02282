"""Attributes of compilers that change how a type lies in memory or how a function is called.

The preprocessor drops all attributes, but leaves a mark where one matters. What packs or aligns a struct or a
member becomes a pragma in the struct, which stays in the syntax tree. A declaration with other marks is put
between pragmas, and what it defines is opaque: better refused than read from the wrong place.
"""

from __future__ import annotations

import re

from cwrapjit.library.pieces import ends, is_definition, names_of

LAYOUT, KIND = "\1", "\2"  # marks: the layout is another one; the type or the way to call is
SYMBOL = "\3"  # around a name: what the linker knows it by
REASON = "an attribute or #pragma pack changes it in a way that is not mapped"

_LAYOUT = re.compile(r"\b_*(?:packed|aligned|align|ms_struct)_*\b")
_SAID = re.compile(r"\b_*packed_*\b(?!\s*\()|\b_*aligned_*\s*\(\s*(\d+)\s*\)")
_KIND = re.compile(r"\b_*(?:mode|vector_size|scalar_storage_order|ms_abi)_*\b")
_KINDS = ("struct", "union")
_STRINGS = re.compile(r"\s*(?:\"[\w.$@]*\"\s*)+")
_SYMBOL = re.compile(f"{SYMBOL}(.*?){SYMBOL}")
_TOKEN = re.compile(f"{LAYOUT}([^{LAYOUT}]*){LAYOUT}|" + r"""[{};]|"(?:\\.|[^"\\\n])*"|\w+|\S""")


def mark(word: str, arguments: str) -> str:
    """What stays of __attribute__((...)) and the like."""
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
    """The text without these marks; what they say of functions and variables is found by name."""
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
    """The marks become pragmas: in structs, or around their outermost declarations."""
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
            head = len(piece) - len(piece.lstrip())  # it may begin with the end of a `# line` mark
            piece = inside or f'{piece[:head]}_Pragma("cwj_{level}"){piece[head:]}_Pragma("cwj_0")'
        out.append(piece)
        begin = end
    return "".join(out)


def _inside(piece: str) -> str | None:
    """The piece, whose marks are pragmas behind the brace of a struct or in front of a member. None: one is
    neither's."""
    pragmas: list[tuple[int, str]] = []  # and where they go
    waiting: list[str] = []  # for the brace of their struct
    # Of open braces: where the struct's pragmas go (0: no struct's), where a member begins, and whether that
    # has a comma (1) or a mark (2): both is too much.
    levels: list[list[int]] = []
    closed = 0  # where those of the struct go whose brace closed just now
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
        elif said.startswith("pack ") and levels[-1][0] and said[5:].isdigit():  # behind a brace
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
