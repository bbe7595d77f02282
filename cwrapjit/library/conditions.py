"""Asks libtcc which conditions of a C text hold: its directives alone are compiled, in memory.

Nobody else knows what libtcc and the headers of this package define, which files it finds, and what its
`__LINE__` is.
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
    """By their lines. None: C cannot say, as it does not take the directives without the text around them.

    macros: #define lines in front of it; environment: the library's that compiles it, if there is one."""
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
    except (_cwrapjit.CompileError, ValueError):  # ValueError: a folder that cannot be
        return None
    found = ctypes.string_at(place, len(lines))
    del owner  # only now: it has the memory
    return {line: bool(holds) for line, holds in zip(lines, found, strict=True)}


def _question(text: str) -> tuple[str, list[int], bool]:
    """The directives, each with the number of its line, where a macro says that its condition holds; these
    lines; whether all is certain. #elif is #if behind #else: lines that are skipped count, too."""
    made: list[str] = []
    lines: list[int] = []
    depths: list[int] = []  # of #if lines, as many as one #endif ends
    is_certain = True
    begin, at, name = -1, -1, ""
    shift = 0  # from lines of the text to those that its #line directives say
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
