"""Computes integer constant expressions, and the values of enums and of simple macros.

Expressions are syntax trees of pycparser or, in macros and #if, text. Both are computed with C's types.
"""

from __future__ import annotations

import contextlib
import ctypes
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from cwrapjit._imports import load
from cwrapjit._tokens import closes, code
from cwrapjit._unsupported import built_for

_LEVELS = {  # precedence
    op: level
    for level, ops in enumerate("||  &&  |  ^  &  == !=  < > <= >=  << >>  + -  * / %".split("  "))
    for op in ops.split()
}
_TRUTHS = ("==", "!=", "<", ">", "<=", ">=", "&&", "||")
CHAR_IS_SIGNED = built_for()[0] == "x86_64"  # C's char
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


class NotConstant(ValueError):
    """The expression is not constant; the text says why."""


class NoValue(NotConstant):
    """The expression has no value in C, either."""


class Number(NamedTuple):
    """A value of type int, unsigned int, long or unsigned long; of 128 bits if it fits none of these."""

    value: int
    bits: int = 32
    signed: bool = True

    def fitted(self, wraps: bool = True) -> Number:
        """Wraps the value to its type. Raises NoValue if a long overflows, unless `wraps`."""
        value = self.value % 2**self.bits
        value -= 2**self.bits if self.signed and value >= 2 ** (self.bits - 1) else 0
        if value != self.value and self.signed and self.bits == 64 and not wraps:
            raise NoValue("the value is too large")
        return self._replace(value=value)


def of_value(value: int) -> Number:
    """Returns the value in the first type that holds it, as C does for enumerators."""
    for bits, signed in ((32, True), (64, True), (64, False)):
        if (made := Number(value, bits, signed)).fitted() == made:
            return made
    raise NoValue("the value is too large")


def integer(text: str) -> Number:
    """Reads an integer literal of C."""
    digits = text.rstrip("uUlL")
    suffix = text[len(digits) :].lower()
    try:
        base = 0 if digits[:2].lower() in ("0x", "0b") else 8 if digits[0] == "0" and len(digits) > 1 else 10
        value = int(digits, base)
    except (ValueError, IndexError):
        raise NotConstant(f"{text} is no integer") from None
    for bits in (64,) if "l" in suffix else (32, 64):
        for signed in (True, False):
            made = Number(value, bits, signed)
            fits = "u" not in suffix if signed else "u" in suffix or base != 10
            if fits and made.fitted() == made:
                return made
    if "u" not in suffix and base == 10 and value < 2**64:
        return Number(value, 128)  # as in gcc
    raise NoValue(f"{text} is too large")


def character(text: str) -> int:
    """Returns the value of a character literal."""
    prefix, _, inner = text[:-1].partition("'")
    escape = _ESCAPED.fullmatch(inner)
    try:
        value = ord(_unescaped(escape[1], True) if escape is not None else inner)
    except (TypeError, ValueError, OverflowError):
        raise NotConstant(f"{text} is no character") from None
    is_byte = escape is not None and not prefix and 128 <= value < 256
    return value - 256 if is_byte and CHAR_IS_SIGNED else value


def apply(op: str, a: int, b: int) -> int:
    """Computes a op b for integers of any size."""
    if op in ("/", "%"):
        if b == 0:
            raise NoValue("division by zero")
        quotient = abs(a) // abs(b)
        quotient = quotient if (a < 0) == (b < 0) else -quotient
        return quotient if op == "/" else a - quotient * b
    return int(_OPERATIONS[op](a, b))


def common(a: Number, b: Number) -> Number:
    """Converts a to the common type of a and b."""
    bits = max(a.bits, b.bits)
    return Number(a.value, bits, all(each.signed for each in (a, b) if each.bits == bits)).fitted()


def combined(op: str, a: Number, b: Number) -> Number:
    """Computes a op b as C does. Values of 32 bits wrap, and shifts drop bits."""
    if op in ("<<", ">>"):
        if not 0 <= b.value < a.bits:
            raise NoValue(f"a shift by {b.value}")
        value = a.value << b.value if op == "<<" else a.value >> b.value
        return a._replace(value=value).fitted()
    if op not in ("&&", "||"):
        a, b = common(a, b), common(b, a)
    value = apply(op, a.value, b.value)
    return Number(value) if op in _TRUTHS else a._replace(value=value).fitted(wraps=False)


def changed(op: str, a: Number) -> Number:
    """Computes -a, +a, ~a or !a."""
    value = int(_UNARY[op](a.value))
    return Number(value) if op == "!" else a._replace(value=value).fitted(wraps=False)


_OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul,
    "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "==": operator.eq, "!=": operator.ne,
    "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge,
    "&&": lambda a, b: bool(a) and bool(b), "||": lambda a, b: bool(a) or bool(b),
}  # fmt: skip
_UNARY: dict[str, Callable[[int], int]] = {
    "-": operator.neg, "+": operator.pos, "~": operator.invert, "!": operator.not_,
}  # fmt: skip


def text_of(tree: Any) -> str:
    """Returns a syntax tree as C text."""
    return str(load("pycparser.c_generator").CGenerator().visit(tree))


def of_tree(
    node: Any, value_of: Callable[[str], Any], type_of: Callable[[Any], Any], size_of: Any = None
) -> int:
    """Returns the value of a syntax tree, or raises NotConstant. value_of, type_of, size_of: called for its
    names (only an int is known) and types."""
    try:
        return _Tree(value_of, type_of, size_of).number(node).value
    except RecursionError:
        raise NotConstant("the expression is nested too deeply") from None


class _Tree(NamedTuple):
    value_of: Callable[[str], Any]
    type_of: Callable[[Any], Any]
    size_of: Any

    def number(self, node: Any) -> Number:
        kind = type(node).__name__
        if kind == "Constant" and "char" in node.type:
            return Number(character(node.value))
        if kind == "Constant" and "int" in node.type:
            return integer(node.value)
        if kind == "Constant":
            raise NotConstant(f"{node.value} is no integer")
        if kind == "ID":
            value = self.value_of(node.name)
            if not isinstance(value, int):
                raise NotConstant(f"{node.name} is not known")
            return of_value(value)
        if kind == "UnaryOp" and node.op == "sizeof" and self.size_of is not None:
            return Number(int(self.size_of(node.expr)), 64, False)
        if kind == "UnaryOp" and node.op in _UNARY:
            return changed(node.op, self.number(node.expr))
        if kind == "BinaryOp" and node.op in ("&&", "||"):
            left = bool(self.number(node.left).value)
            return Number(int(bool(self.number(node.right).value) if left == (node.op == "&&") else left))
        if kind == "BinaryOp":
            return combined(node.op, self.number(node.left), self.number(node.right))
        if kind == "TernaryOp":
            is_true = self.number(node.cond).value
            chosen, other = (node.iftrue, node.iffalse) if is_true else (node.iffalse, node.iftrue)
            found = self.number(chosen)
            with contextlib.suppress(NotConstant):  # the other branch may divide by zero
                found = common(found, self.number(other))
            return found
        if kind == "Cast":
            return self._cast(node.to_type, self.number(node.expr).value)
        raise NotConstant("the expression is not one of integers and + - * / %")

    def _cast(self, node: Any, value: int) -> Number:
        """Returns the value converted to an integer type."""
        ctype = self.type_of(node)
        if not getattr(ctype, "is_integer", False):
            raise NotConstant("a cast to another type")
        bits = int("".join(filter(str.isdigit, ctype.dtype)) or 32)
        made = Number(value, bits, ctype.is_signed).fitted()
        return made if bits >= 32 else Number(made.value)


class _Reader:
    """Reads an expression. in_if: unknown names are 0, values have 64 bits, divisions by zero pass."""

    def __init__(self, text: str, names: Mapping[str, int] | None = None, *, in_if: bool = False) -> None:
        self.in_if = in_if
        self.names = names or {}
        self.tokens = code(text)
        if len(self.tokens) > 2000:
            raise NotConstant("the expression is too long")
        self.at = 0

    def peek(self) -> str:
        return self.tokens[self.at].text if self.at < len(self.tokens) else ""

    def take(self, wanted: str) -> None:
        if self.peek() != wanted:
            raise NotConstant(f"{wanted!r} is missing")
        self.at += 1

    def whole(self) -> int:
        try:
            value = self.ternary().value
        except RecursionError:
            raise NotConstant("the expression is nested too deeply") from None
        if self.at < len(self.tokens):
            raise NotConstant(f"{self.peek()!r} is not expected")
        return value

    def wide(self, number: Number) -> Number:
        return Number(number.value, 64, number.signed and number.value < 2**63) if self.in_if else number

    def ternary(self) -> Number:
        value = self.binary(0)
        if self.peek() != "?":
            return value
        self.at += 1
        yes = self.ternary()
        self.take(":")
        no = self.ternary()
        return common(yes, no) if value.value else common(no, yes)

    def binary(self, weakest: int) -> Number:
        value = self.wide(self.unary())
        while (level := _LEVELS.get(op := self.peek(), -1)) >= weakest:
            self.at += 1
            right = self.binary(level + 1)
            if self.in_if and op in ("/", "%") and right.value == 0:
                right = right._replace(value=1)  # && or ?: may skip this branch
            value = self.wide(combined(op, value, right))
        return value

    def unary(self) -> Number:
        if self.at >= len(self.tokens):
            raise NotConstant("the expression ends too early")
        kind, text, _, end = self.tokens[self.at]
        self.at += 1
        if kind == "number":
            return integer(text)
        if text in ("L", "u", "U", "u8") and self.peek()[:1] == "'" and self.tokens[self.at].at == end:
            kind, text = "string", text + self.peek()
            self.at += 1
        if kind == "string" and text[-1] == "'":
            return Number(character(text))
        if kind == "word" and not self.in_if and text not in self.names:
            raise NotConstant(f"{text} is not known")
        if kind == "word":
            return of_value(self.names.get(text, 0))
        if text == "(":
            value = self.ternary()
            self.take(")")
            return value
        if text in _UNARY:
            return changed(text, self.wide(self.unary()))
        raise NotConstant(f"{text!r} is not expected")


def evaluate_condition(text: str) -> bool:
    """Returns the value of a condition of #if in which macros are replaced."""
    return bool(_Reader(text, in_if=True).whole())


# 1.5f, -(1e999), (double)2.5; long doubles are left to C
_DOUBLE = re.compile(
    r"(?:\(\s*double\s*\)\s*)?([-+])?\s*(\()?\s*((?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?)([fF]?)\s*(?(2)\))"
)
_STRING = re.compile(r'\s*(u8|[LuU])?"((?:\\.|[^"\\])*)"')
_ESCAPED = re.compile(r"\\(x[0-9a-fA-F]+|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{1,3}|.)")


def of_macro(body: str, names: Mapping[str, int]) -> int | float | str | None:
    """Returns the value of an object-like macro after expansion. None: Python does not know it."""
    text = body.strip()
    while text[:1] + text[-1:] == "()" and closes(parts := code(text), 0) == len(parts) - 1:
        text = text[1:-1].strip()
    if not text:
        return None
    found = _strings(text)
    if found is not None:
        return found
    number = _DOUBLE.fullmatch(text)
    if number is not None and not number[3].isdigit():
        value = float((number[1] or "") + number[3])
        return ctypes.c_float(value).value if number[4] else value
    try:
        return _Reader(text, names).whole()
    except ValueError:
        return None


def check_numbers(text: str) -> None:
    """Raises NoValue if integers alone have no value in C: a division by zero, or too large a result."""
    try:
        _Reader(text).whole()
    except NotConstant as error:
        if isinstance(error, NoValue):
            raise


def _strings(text: str) -> str | None:
    """Joins adjacent string literals. Escapes are code points in wide ones, else bytes of UTF-8."""
    parts, is_wide, at = [], False, 0
    while at < len(text.rstrip()):
        match = _STRING.match(text, at)
        if match is None:
            return None
        parts.append(match[2])
        is_wide = is_wide or match[1] in ("L", "u", "U")
        at = match.end()
    try:
        found = _ESCAPED.sub(lambda match: _unescaped(match[1], is_wide), "".join(parts))
        return found.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape") if parts else None
    except (ValueError, OverflowError):  # not a code point
        return None


def _unescaped(escape: str, is_wide: bool) -> str:
    """Decodes an escape without its backslash. A byte above 127 becomes a surrogate until all are joined."""
    if escape[0] in "uU" and len(escape) > 1:
        return chr(int(escape[1:], 16))
    if escape[0] == "x" or escape.isdigit():
        value = int(escape[1:], 16) if escape[0] == "x" else int(escape, 8)
        return chr(value) if is_wide or value < 128 else chr(0xDC00 + value % 256)
    return _ESCAPES.get(escape, escape)
