"""Draws mutants for tools/mutate.py from a seed: changes of one place in C or Python."""

from __future__ import annotations

import collections
import io
import pathlib
import random
import re
import tokenize
from collections.abc import Iterator
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[1]
Mutant = dict[str, Any]

# ---- possible changes: a pattern; replacement() changes its group 1 -----------------------------------

SWAPS = {"==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "+": "-", "-": "+", "+=": "-="}
SWAPS |= {"-=": "+=", "&&": "||", "||": "&&", "and": "or", "or": "and", "0": "1", "1": "0", "-1": "0"}
SWAPS |= {"true": "false", "false": "true", "True": "False", "False": "True"}
OPERATOR = r"(?<=[\w)\]] )(==|!=|<=|>=|<|>|\+=|-=|\+|-|&&|\|\||and|or)(?= [\w(!&*\"'-])"
CONSTANT = r"(?<![\w.\"'-])([01])(?![\w.\"'])"
C_RULES = {
    "operator": OPERATOR,
    "constant": CONSTANT,
    "never": r"^ +(?:\} else )?if \((.+)\) \{$",
    "always": r"^ +(?:\} else )?if \((.+)\) \{$",
    "dropped": r"^ +((?!return|goto)[\w\->.\[\]*]+(?: [-+|&]?= .*|\(.*\));|break;|continue;)$",
    "value": r"\breturn (true|false|0|-1)(?=;)",
    "zero": r"\breturn ([^;]*[\w)\]]);",
    "not": r"(!)(?=[\w(])",
}
PYTHON_RULES = {
    "operator": OPERATOR,
    "constant": CONSTANT + r"|\b(True|False)\b",
    "never": r"^ +(?:el)?if (.+):$",
    "always": r"^ +(?:el)?if (.+):$",
    "dropped": r"^ +((?!return|yield|raise|assert|import|from)[\w.\[\]]+(?: [-+|&]?= .+|\(.*\)))$",
    "value": r"\breturn (True|False)$",
    "zero": r"\breturn (.+)$",
    "not": r"\b(not )(?!in\b)",
}


def replacement(kind: str, old: str, python: bool) -> str:
    if kind in ("never", "always"):
        return str(kind == "always") if python else str(int(kind == "always"))
    if kind == "value" and old == "0":
        return "-1"
    if kind in ("operator", "constant", "value"):
        return SWAPS[old]
    return {"dropped": "pass" if python else ";", "zero": "None" if python else "0", "not": ""}[kind]


def blanked(text: str, python: bool) -> str:
    """Replaces comments, strings and text outside functions by blanks of the same length."""

    def blank(old: str) -> str:
        return re.sub(r"[^\n]", " ", old)

    if not python:
        token = r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
        text = re.sub(token, lambda match: blank(match[0]), text, flags=re.DOTALL)
        text = re.sub(
            r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda match: blank(match[0]), text, flags=re.MULTILINE
        )
        parts = re.split(r"(^\{\n.*?^\})", text, flags=re.DOTALL | re.MULTILINE)
        return "".join(part if i % 2 else blank(part) for i, part in enumerate(parts))
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    inside, begin = 0, 0
    for part in tokenize.generate_tokens(io.StringIO(text).readline):
        name = tokenize.tok_name[part.type]
        first, last = starts[part.start[0] - 1] + part.start[1], starts[part.end[0] - 1] + part.end[1]
        if name == "FSTRING_START":
            begin, inside = first if inside == 0 else begin, inside + 1
        inside -= name == "FSTRING_END"
        if name in ("STRING", "COMMENT") or (name == "FSTRING_END" and inside == 0):
            first = begin if name == "FSTRING_END" else first
            text = text[:first] + blank(text[first:last]) + text[last:]
    return text


def places(file: str, text: str) -> Iterator[tuple[str, int, int, str]]:
    """Yields kind, begin, end and new text of all possible changes in a file."""
    python = file.endswith(".py")
    seen = blanked(text, python)
    for kind, rule in (PYTHON_RULES if python else C_RULES).items():
        for match in re.finditer(rule, seen, re.MULTILINE):
            begin, end = match.span(match.lastindex or 1)
            new = replacement(kind, seen[begin:end], python)
            line = text[text.rfind("\n", 0, begin) + 1 : text.find("\n", end)]
            if kind == "dropped" and not python and not re.search(r"[;{}:]\s*$", seen[:begin]):
                continue  # the rest of a statement
            if new != text[begin:end] and "assert" not in line.lower() and "TYPE_CHECKING" not in line:
                yield kind, begin, end, new


def as_mutant(file: str, text: str, kind: str, begin: int, end: int, new: str) -> Mutant:
    """Makes a mutant of whole lines, as many as it takes for the old text to be unique."""
    first, last = text.rfind("\n", 0, begin) + 1, text.find("\n", end)
    number, column = text.count("\n", 0, begin) + 1, begin - first
    while text.count(text[first:last]) > 1:
        first = text.rfind("\n", 0, max(first - 1, 0)) + 1
    changed = text[first:begin] + new + text[end:last]
    return {"id": f"{file}:{number}.{column}:{kind}", "file": file, "old": text[first:last], "new": changed}


def draw(seed: int, pattern: str) -> Iterator[Mutant]:
    """Yields mutants without end, the same number of each kind, and no place twice."""
    of_kind: dict[str, list[tuple[Any, ...]]] = collections.defaultdict(list)
    for folder in ("cwrapjit",) if pattern == "*.py" else ("csrc", "tinyjit"):
        for path in sorted((ROOT / folder).rglob(pattern)):
            file, text = str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")
            for place in places(file, text):
                of_kind[place[0]].append((file, text, *place))
    chance = random.Random(seed)
    for found in of_kind.values():
        chance.shuffle(found)
    while True:
        for kind in sorted(of_kind):
            yield as_mutant(*of_kind[kind].pop())
