"""Asks libtcc which conditions of a C text hold, by compiling its directives alone, in memory.

Only libtcc knows its macros and those of this package's headers, the files that it finds, and its `__LINE__`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable

from cwrapjit import _cwrapjit
from cwrapjit._tokens import tokens

_CERTAIN = {"defined", "__cplusplus"}
_ASKED = ("if", "ifdef", "ifndef", "elif")
_HOLDS = "#define cwj_holds_%d\n"
_ANSWER = "#ifdef cwj_holds_%d\n1,\n#else\n0,\n#endif\n"


def holding(
    text: str, file: str, macros: Iterable[str], environment: object, folders: list[str]
) -> dict[int, bool] | None:
    """Returns, by line, whether each condition holds. None: the directives do not compile without the text
    around them. macros: #define lines before the text; environment: that of the library, or None."""
    question, lines, is_certain = _question(text)
    if is_certain:
        return {}
    answers = "".join(_ANSWER % line for line in lines)
    try:
        if environment is None:
            environment = _cwrapjit.library_environment("conditions", include_dirs=folders)
        owner, (place,) = _cwrapjit.compile_thunks(
            environment, "\n".join([*macros, question]), ["cwj_answers"], file=file,
            after=f"\nconst char cwj_answers[] = {{\n{answers}0}};\n", quiet=True,
        )  # fmt: skip
    except (_cwrapjit.CompileError, ValueError):  # ValueError: an impossible folder
        return None
    found = ctypes.string_at(place, len(lines))
    del owner  # it owns the memory, so it is kept until here
    return {line: bool(holds) for line, holds in zip(lines, found, strict=True)}


def _question(text: str) -> tuple[str, list[int], bool]:
    """Returns (C text, lines, is_certain). The text has the directives; `#define cwj_holds_LINE` follows each
    condition, so the macro is defined if the condition holds. An #elif becomes #else and #if. lines: the line
    numbers of all conditions, also of those that the preprocessor skips. is_certain: no condition names a
    macro other than __cplusplus, so libtcc need not be asked."""
    made: list[str] = []
    lines: list[int] = []
    depths: list[int] = []  # for each open #if, the number of #endif that it needs
    is_certain = True
    begin, at, name = -1, -1, ""
    shift = 0  # from lines of the text to those that #line gives
    for token in tokens(text):
        if token.kind == "#":
            begin, name = token.at, ""
        elif begin < 0 or token.kind == "comment":
            pass
        elif token.kind == "end":
            line = text.count("\n", 0, begin) + 1
            if name == "elif" and depths:
                made.append(f"#else\n#line {line + shift}\n#if{text[at : token.at]}\n")
                depths[-1] += 1
            elif name == "endif" and depths:
                made.append("#endif\n" * depths.pop())
            elif name not in ("error", "warning"):
                made.append(f"#line {line + shift}\n{text[begin : token.at]}\n")
                depths += [1] * (name in _ASKED)
            if name == "line" and (digits := text[at : token.at].split()[:1]) and digits[0].isdecimal():
                shift = int(digits[0]) - text.count("\n", 0, token.at) - 2
            if name in _ASKED:
                made.append(_HOLDS % line)
                lines.append(line)
            begin = -1
        elif not name:
            at, name = token.end, token.text
        elif name in _ASKED and token.kind == "word":
            is_certain = is_certain and token.text in _CERTAIN
    return "".join(made), lines, is_certain
