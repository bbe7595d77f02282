"""Reads the vectoriser's messages for f.explain(), and relates them to the user's lines.

gcc (-fopt-info-vec) writes lines such as

    <cwrapjit m.f float64>:2:19: missed: couldn't vectorize loop
    <cwrapjit m.f float64>:3:10: missed: not vectorized: unsupported use in stmt.
    <cwrapjit m.f float64>:6:19: optimized: loop vectorized using 32 byte vectors

After a loop comes the reason why it stayed scalar, at the place of a statement inside the loop. clang writes
records in YAML: !Analysis with a reason, then !Missed with the loop; or !Passed. Our own lines about the
object follow: "cwrapjit size NAME BYTES" and "cwrapjit calls NAME FILE". The compiled text has one loop over
slices, which is generated and so has no line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from cwrapjit._content import Shown

PLACE = re.compile(
    r"(?P<file>[^\n]*?):(?P<line>\d{1,9}):(?P<column>\d{1,9}): (?P<kind>optimized|missed): (?P<text>.*)"
)
SIZE = re.compile(r"cwrapjit size (?P<name>\S+) (?P<bytes>\d{1,9})$")
CALL = re.compile(r"cwrapjit calls (?P<name>\S+) (?P<file>.*)")
WIDTH = re.compile(r"loop vectorized using (?P<bytes>\d{1,9}) byte vectors")
RECORD = re.compile(r"^--- !(?P<kind>\w+)\n(?P<text>.*?)^\.\.\.$", re.MULTILINE | re.DOTALL)
RECORD_PLACE = re.compile(
    r"DebugLoc: +\{ File: '?(?P<file>.*?)'?, Line: (?P<line>\d{1,9}), Column: (?P<column>\d{1,9})"
)
RECORD_WORDS = re.compile(r"^  - (\w+): +(?:'((?:[^']|'')*)'|(.*))$", re.MULTILINE)
SLICES = "the loop over slices"


class Explanation(Shown):
    """Tells which loops of a function are vectorised, with which width, and what prevented the others.

    `loops` is a list of dicts, one per loop: 'types', 'variant', 'file', 'line' (None: the loop over slices),
    'column', 'text' (the line), 'vectorized', 'bytes' or 'lanes' (gcc gives the bytes of a vector, clang the
    numbers in it), 'reasons' (what prevented it, each with 'line' and 'text').
    `copies` gives for arguments how many calls copied them, as a whole or slice by slice (`cast=`).
    `functions` has one dict per type set: 'types', 'variant', 'size' (bytes of machine code), 'calls'
    ((name, library), ...), 'loops'.
    """

    def __init__(
        self, name: str, compiler: str, functions: list[dict[str, Any]], copies: dict[str, int]
    ) -> None:
        self.name = name
        self.compiler = compiler
        self.functions = functions
        self.copies = copies

    @property
    def loops(self) -> list[dict[str, Any]]:
        return [loop for each in self.functions for loop in each["loops"]]

    def __repr__(self) -> str:
        done = sum(loop["vectorized"] for loop in self.loops)
        return f"<cwrapjit explanation of {self.name}: {done} of {len(self.loops)} loops vectorized>"

    def __str__(self) -> str:
        lines = [line for each in self.functions for line in shown(each)]
        lines += [f"'{name}' was copied in {count} calls" for name, count in self.copies.items()]
        return "\n".join([f"{self.name}, by {self.compiler}", *lines])


# ---- shown -----------------------------------------------------------------------------------------


def width_of(loop: dict[str, Any]) -> str:
    if loop["bytes"]:
        return f"vectorized, {loop['bytes']} bytes at a time"
    return f"vectorized, {loop['lanes']} at a time" if loop["lanes"] else "vectorized"


def head(function: dict[str, Any]) -> str:
    size = "" if function["size"] is None else f", {function['size']} bytes of code"
    return f"{function['types']}: variant '{function['variant']}'{size}"


def told(loop: dict[str, Any]) -> tuple[str, str, list[str]]:
    """Returns the place of a loop, whether it was vectorised, and the reasons why not."""
    place = SLICES if loop["line"] is None else f"line {loop['line']}: {loop['text'].strip()}"
    lines = {reason["line"]: f"line {reason['line']}: " for reason in loop["reasons"]}
    lines |= {None: "", loop["line"]: ""}
    reasons = [f"{lines[reason['line']]}{reason['text']}" for reason in loop["reasons"]]
    return place, width_of(loop) if loop["vectorized"] else "not vectorized", reasons


def calls(function: dict[str, Any]) -> str:
    named = ", ".join(f"{name} ({where})" if where else name for name, where in function["calls"])
    return f"calls {named}" if named else ""


def shown(function: dict[str, Any]) -> Iterator[str]:
    yield head(function)
    for place, made, reasons in map(told, function["loops"]):
        yield f"  {place}"
        yield from (f"      {each}" for each in (made, *reasons))
    if function["calls"]:
        yield f"  {calls(function)}"


# ---- reading ---------------------------------------------------------------------------------------


def reason_of(text: str) -> str:
    """Returns gcc's reason. It says "statement clobbers memory: y_3 = expf (x_2);" of calls."""
    call = re.match(r"statement clobbers memory: (?:\S+ = )?([A-Za-z]\w*) \(", text)
    return f"{call[1]}() is called" if call else text.removeprefix("not vectorized: ")


def library_of(path: str) -> str:
    """Returns "libm" for /lib/x86_64-linux-gnu/libm.so.6, and "cwrapjit" for code of this package."""
    name = path.rpartition("/")[2].partition(".")[0]
    return "cwrapjit" if name == "_cwrapjit" else name


class Reader:
    """Reads the compiler's messages about one type set."""

    def __init__(self, types: str, texts: dict[str, str]) -> None:
        self.types = types
        self.lines = {file: text.split("\n") for file, text in texts.items()}
        self.found: dict[tuple[str, int, int], dict[str, Any]] = {}
        self.last: dict[str, Any] | None = None
        self.sizes: dict[str, int] = {}
        self.calls: list[tuple[str, str]] = []

    def place(self, file: str, line: int) -> tuple[int | None, str]:
        """Returns the line number and text in the user's text; (None, "") in generated text."""
        if file.endswith(" generated>") or file == "<cwrapjit prelude>":
            return None, ""
        known = self.lines.get(file, [])
        return line, known[line - 1] if 0 < line <= len(known) else ""

    def loop(self, match: re.Match[str]) -> dict[str, Any]:
        """Returns the loop at this place, which is added if it is new."""
        file, line, column = match["file"], int(match["line"]), int(match["column"])
        if (file, line, column) not in self.found:
            at, text = self.place(file, line)
            self.found[file, line, column] = {
                "types": self.types, "variant": "", "file": file, "line": at, "column": column, "text": text,
                "vectorized": False, "bytes": None, "lanes": None, "reasons": [],
            }  # fmt: skip
        return self.found[file, line, column]

    def vectorized(self, match: re.Match[str], size: int | None, lanes: int | None) -> None:
        """Only the first message counts: a loop's rest is vectorised again, with smaller vectors."""
        loop = self.loop(match)
        if not loop["vectorized"]:
            loop.update(vectorized=True, bytes=size, lanes=lanes, reasons=[])

    def missed(self, loop: dict[str, Any] | None, match: re.Match[str], text: str) -> None:
        line, _ = self.place(match["file"], int(match["line"]))
        reason = {"line": line, "text": text.rstrip(".")}
        if loop is not None and not loop["vectorized"] and reason not in loop["reasons"]:
            loop["reasons"].append(reason)

    def read_gcc(self, match: re.Match[str]) -> None:
        text = match["text"]
        width = WIDTH.match(text)
        if width:
            self.vectorized(match, int(width["bytes"]), None)
        elif text == "couldn't vectorize loop":
            self.last = self.loop(match)
        elif self.last is not None and match["kind"] == "missed":
            self.missed(self.last, match, reason_of(text))
            self.last = None

    def read_clang(self, told: str) -> None:
        reasons: list[tuple[re.Match[str], str]] = []
        for record in RECORD.finditer(told):
            place = RECORD_PLACE.search(record["text"])
            words = [
                (key, quoted.replace("''", "'") or plain)
                for key, quoted, plain in RECORD_WORDS.findall(record["text"])
            ]
            text = "".join(word for _, word in words)
            if place is None:
                continue
            if record["kind"] == "Passed":
                lanes = dict(words).get("VectorizationFactor", "").split()[-1:]
                self.vectorized(
                    place, None, int(lanes[0]) if lanes and re.fullmatch(r"[0-9]{1,9}", lanes[0]) else None
                )
                reasons = []
            elif record["kind"] == "Missed":
                loop = self.loop(place)
                for at, reason in reasons:
                    self.missed(loop, at, reason)
                reasons = []
            elif text.startswith("loop not vectorized: "):
                reasons.append((place, text.removeprefix("loop not vectorized: ").partition("; allow")[0]))

    def read(self, told: str) -> None:
        self.read_clang(told)
        for line in told.split("\n"):
            if match := PLACE.match(line):
                self.read_gcc(match)
            elif match := SIZE.match(line):
                self.sizes[match["name"]] = int(match["bytes"])
            elif match := CALL.match(line):
                self.calls.append((match["name"], library_of(match["file"])))

    def function(self) -> dict[str, Any]:
        variant, size = "", None
        for name, number in self.sizes.items():
            match = re.match(r"cwj_([a-z]+)\d*_\d+__", name)
            if match and match[1] != "loop" and match[1] != "slice":
                variant, size = match[1], number
        loops = sorted(self.found.values(), key=lambda loop: (loop["line"] or 0, loop["column"]))
        for loop in loops:
            loop["variant"] = variant
        return {
            "types": self.types,
            "variant": variant,
            "size": size,
            "calls": sorted(self.calls),
            "loops": loops,
        }


def build(
    name: str,
    compiler: str,
    parts: Iterable[tuple[str, str, tuple[tuple[str, str], ...]]],
    copies: dict[str, int] | None = None,
) -> Explanation:
    """Each part: a type set's name, the compiler's messages about it, and the user's (name, text) pairs."""
    functions = []
    for types, told, texts in parts:
        reader = Reader(types, dict(texts))
        reader.read(told)
        functions.append(reader.function())
    return Explanation(name, compiler, functions, copies or {})
