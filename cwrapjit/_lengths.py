"""Reads output_dims=: the length of an output's dim, "n*(n-1)/2", becomes steps for a stack of numbers, which
calls run (csrc/base/arithmetic.h)."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any, NoReturn

from cwrapjit._arguments import OUT, Operand, Reader, type_of
from cwrapjit._errors import place_error

# The steps in the order of abi.h; "number" and "symbol" push one, - and ! take one, ?: takes three.
_STEPS = "number symbol u- u! * / % + - << >> < <= > >= == != min max && || ?:".split()
_BINARY = _STEPS[4:-1]
_LEVELS = "?:", "||", "&&", "== !=", "< <= > >=", "<< >>", "+ -", "* / %", "u- u! u+"
_PRECEDENCE = {word: level for level, words in enumerate(_LEVELS) for word in words.split()}
# What ends the part that each of these opens.
_ENDS = {"": "the end", "(": "')'", "?": "':'", "min": "','", "max": "','", "min,": "')'", "max,": "')'"}
_TOKEN = re.compile(r"[ \t\r\n]*([A-Za-z0-9_\x80-\U0010ffff]+|\|\||&&|[=!<>]=|<<|>>|[-+*/%<>!?:(),]|)")
_MOST_NESTING = 100
_MOST_STEPS = 10000
_MOST_NUMBERS = 256  # CWJ_DIM_STACK
_MOST_SIZE = 2**63 - 1


class _Parser:
    """An operator-precedence parser. It stops at the first fault, and tells its place."""

    def __init__(self, who: str, what: str, text: str, dims: Collection[str]) -> None:
        self._known = who, what, text
        self._dims = dims
        self._at = 0
        self._waiting = [""]  # operators whose operands are incomplete, and what is open
        self._depth = 0
        self.steps: list[tuple[int, int | str]] = []
        while self._operand(self._next()) or self._operator(self._next()):
            pass

    def _fail(self, reason: str, more: int = 0) -> NoReturn:
        who, what, text = self._known
        raise place_error(who, what, reason, text, len(text[: self._at + more].encode()))

    def _next(self) -> str:
        token = _TOKEN.match(self._known[2], self._at)
        assert token is not None
        self._at = token.start(1)
        return token[1]

    def _step(self, word: str, value: int | str = 0) -> None:
        op = _STEPS.index(word)
        self._depth += 1 if op < 2 else 0 if op < 4 else -2 if word == "?:" else -1
        self.steps.append((op, value))
        if self._depth > _MOST_NUMBERS or len(self.steps) > _MOST_STEPS:
            self._fail("this expression is too large")

    def _wait(self, word: str) -> None:
        self._waiting.append(word)
        if word not in _BINARY and sum(each not in _BINARY for each in self._waiting) > _MOST_NESTING:
            self._fail("too deeply nested")

    def _number(self, word: str) -> int:
        base = 16 if word[:2] in ("0x", "0X") else 8 if word[0] == "0" and word != "0" else 10
        start = {16: 2, 8: 1, 10: 0}[base]
        wrong = re.search(rf"[^{'0123456789abcdefABCDEF'[: base if base < 16 else None]}]|^$", word[start:])
        if wrong is not None:
            self._fail(f"expected a digit{' of an octal number' if base == 8 else ''}", start + wrong.start())
        if (number := int(word[start:], base)) > _MOST_SIZE:
            self._fail("this number is too large")
        return number

    def _operand(self, word: str) -> bool:
        """Reads a word where an operand may begin. Returns true if the operand goes on."""
        if word in ("-", "!", "+"):
            self._wait(f"u{word}")
        elif word == "(":
            self._wait(word)
        elif word in ("min", "max") and word not in self._dims:
            self._at += len(word)
            if self._next() != "(":
                self._fail("expected '('")
            self._wait(word)
            word = "("
        elif word[:1].isdecimal() and word.isascii():
            self._step("number", self._number(word))
        elif word in self._dims:
            self._step("symbol", word)
        elif word.isidentifier() or not word.isascii():
            self._fail(f"no input has a dimension '{word}'")
        else:
            self._fail("expected a number, a dimension of an input, or '('")
        self._at += len(word)
        return word in ("-", "!", "+", "(")

    def _reduce(self, least: int) -> str:
        """Makes steps of what waits with at least this precedence. Returns what waits now."""
        while _PRECEDENCE.get(self._waiting[-1], -1) >= least:
            word = self._waiting.pop()
            if word != "u+":
                self._step(word)
        return self._waiting[-1]

    def _operator(self, word: str) -> bool:
        """Reads words behind an operand. Returns true if another operand must follow."""
        while True:
            binary = word in _PRECEDENCE or word == "?"
            opened = self._reduce(_PRECEDENCE.get(word, 1) if binary else 0)
            if not binary and f"'{word}'" != _ENDS[opened] and (word or opened):
                self._fail(f"expected an operator or {_ENDS[opened]}")
            self._at += len(word)
            if binary:
                self._wait(word)
                return True
            self._waiting.pop()
            if word in (":", ","):
                self._wait("?:" if word == ":" else f"{opened},")
                return True
            if word == "":
                if self._at < len(self._known[2]):
                    self._fail("expected an operator or the end")
                return False
            if opened != "(":
                self._step(opened[:-1])
            word = self._next()


def output_dims(
    who: str, known: Sequence[Operand], given: Any
) -> list[tuple[str, str, list[tuple[int, int | str]]]]:
    """Returns the items of output_dims: a dim that only outputs have, the expression, and its steps."""
    read, read_dims = Reader(who), []
    example = '"n*(n-1)/2"'
    if not isinstance(given, dict):
        wanted = f'a dict of names and expressions, such as {{"m": {example}}}'
        raise read.wrong(f"output_dims must be {wanted}, not {type_of(given)}")
    of_inputs = {str(dim): name for name, role, dims in reversed(known) if role != OUT for dim in dims}
    for name, text in given.items():
        read.name("output_dims: a name", name)
        if name in of_inputs:
            raise read.bad(
                f"output_dims: '{name}' is a dimension of the input '{of_inputs[name]}', which sets it"
            )
        if not any(name in dims for _, _, dims in known):
            raise read.bad(f"output_dims: no output has a dimension '{name}'")
        if not isinstance(text, str):
            raise read.wrong(f"output_dims['{name}'] must be a str, such as {example}, not {type_of(text)}")
        steps = _Parser(who, f"output_dims['{name}']", text, of_inputs).steps
        read_dims.append((name, text, steps))
    return read_dims
