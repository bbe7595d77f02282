"""Integer constant expressions, and the values of enums and of simple macros.

Expressions come as syntax trees of pycparser or, in #if, as text; both follow C's rules for long integers.
"""

from __future__ import annotations

import ctypes
import dataclasses
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\.?[0-9](?:[eEpP][+-]|[\w.])*)|(?P<char>'(?:\\.|[^'\\])+')|(?P<word>[A-Za-z_]\w*)"
    r"|(?P<op><<|>>|<=|>=|==|!=|&&|\|\||[-+*/%()<>!~&|^?:]))"
)
_LEVELS = [
    level.split() for level in ("||", "&&", "|", "^", "&", "== !=", "< > <= >=", "<< >>", "+ -", "* / %")
]
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_SUFFIXED = re.compile(r"(?<![\w.])(0[xX][0-9a-fA-F]+|\d+)([uUlL]*)(?![\w.])")
_MAX_BITS = 128


class NotConstant(ValueError):
    """What is asked for is no constant; the text says why."""


class NoValue(NotConstant):
    """Nor has C a value for it."""


def integer(text: str) -> int:
    """The value of an integer literal of C."""
    digits = text.rstrip("uUlL")
    try:
        if digits[:2].lower() in ("0x", "0b"):
            return int(digits, 0)
        return int(digits, 8 if digits[0] == "0" and len(digits) > 1 else 10)
    except (ValueError, IndexError):
        raise NotConstant(f"{text} is no integer") from None


def character(text: str) -> int:
    """The value of 'x'."""
    inner = text.strip("L")[1:-1]
    if len(inner) == 1:
        return ord(inner)
    is_hex = inner[:2] == "\\x"
    if is_hex or (inner[:1] == "\\" and inner[1:].isdigit()):
        try:
            value = int(inner[2:], 16) if is_hex else int(inner[1:], 8)
        except ValueError:
            raise NotConstant(f"{text} is no character") from None
        return value - 256 if text[0] != "L" and 128 <= value < 256 else value  # char is signed
    if inner[:1] == "\\" and len(inner) == 2:
        return ord(_ESCAPES.get(inner[1], inner[1]))
    raise NotConstant(f"{text} is no character")


def apply(op: str, a: int, b: int) -> int:
    """a op b, as C computes it."""
    if op in ("/", "%"):
        if b == 0:
            raise NoValue("division by zero")
        quotient = abs(a) // abs(b)
        quotient = quotient if (a < 0) == (b < 0) else -quotient
        return quotient if op == "/" else a - quotient * b
    if op in ("<<", ">>"):
        if not 0 <= b < 64:
            raise NoValue(f"a shift by {b}")
        return a << b if op == "<<" else a >> b
    value = _OPERATIONS[op](a, b)
    if value.bit_length() > _MAX_BITS:
        raise NoValue("the value is too large")
    return int(value)


def is_in_int(value: int) -> bool:
    return -(2**31) <= value < 2**31


def apply_to_ints(op: str, a: int, b: int) -> int:
    """a op b of two numbers that are `int` in C, where 1 << 31 is the most negative one."""
    if op in ("<<", ">>") and not 0 <= b < 32:
        raise NoValue(f"a shift of an int by {b}")
    return ctypes.c_int32(apply(op, a, b)).value


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


def of_tree(node: Any, names: Mapping[str, int], declared: Any = None) -> int:
    """The value of a syntax tree, or NotConstant. declared: the Declarations that know its types."""
    try:
        return _of_tree(node, _Names(names, declared))
    except RecursionError:
        raise NotConstant("the expression is nested too deeply") from None


@dataclasses.dataclass
class _Names:
    values: Mapping[str, int]
    declared: Any


def _of_tree(node: Any, names: _Names) -> int:
    kind = type(node).__name__
    if kind == "Constant":
        if "char" in node.type:
            return character(node.value)
        if "int" in node.type:
            return integer(node.value)
        raise NotConstant(f"{node.value} is no integer")
    if kind == "ID":
        if node.name not in names.values:
            raise NotConstant(f"{node.name} is not known")
        return names.values[node.name]
    if kind == "UnaryOp" and node.op == "sizeof" and names.declared is not None:
        return int(names.declared.size_of(node.expr))
    if kind == "UnaryOp" and node.op in ("-", "+", "~", "!"):
        value = _of_tree(node.expr, names)
        if node.op in "-~" and _is_unsigned(node.expr):
            raise NotConstant("unsigned arithmetic")
        value = int(_UNARY[node.op](value))
        return value if is_in_int(value) or not _is_int(node, names.values) else ctypes.c_int32(value).value
    if kind == "BinaryOp" and (node.op in _OPERATIONS or node.op in ("/", "%", "<<", ">>")):
        left, right = _of_tree(node.left, names), _of_tree(node.right, names)
        value = apply(node.op, left, right)
        if not is_in_int(value) and _is_int(node, names.values):
            return apply_to_ints(node.op, left, right)
        if (min(left, right, value) < 0 or value >= 2**32) and _is_unsigned(node):
            raise NotConstant("unsigned arithmetic")
        return value
    if kind == "TernaryOp":
        chosen = node.iftrue if _of_tree(node.cond, names) else node.iffalse
        return _of_tree(chosen, names)
    if kind == "Cast":
        return _cast(node.to_type, _of_tree(node.expr, names), names.declared)
    raise NotConstant("the expression is not one of integers and + - * / %")


def _is_int(node: Any, names: Mapping[str, int]) -> bool:
    """Whether all numbers in it are of the type int, so that what is too large for that wraps around."""
    kind = type(node).__name__
    if kind == "Constant":
        return "char" in node.type or (node.value[-1] not in "uUlL" and integer(node.value) < 2**31)
    if kind == "ID":
        return is_in_int(names[node.name])
    return kind != "Cast" and all(_is_int(each, names) for _, each in node.children())


def _is_unsigned(node: Any) -> bool:
    """Whether a number in it is unsigned, so that what is negative wraps around."""
    if type(node).__name__ == "Constant":
        return "int" in node.type and "u" in node.value.lower()
    return any(_is_unsigned(each) for _, each in node.children())


def _cast(node: Any, value: int, declared: Any) -> int:
    """What a cast to a type of integers leaves."""
    from cwrapjit.library import types

    words = getattr(getattr(node.type, "type", None), "names", None)
    ctype = types.basic(list(words)) or types.KNOWN.get(" ".join(words)) if words else None
    ctype = declared.resolve(node) if ctype is None and declared is not None else ctype
    if not isinstance(ctype, types.Scalar) or not ctype.is_integer:
        raise NotConstant("a cast to another type")
    bits = int("".join(filter(str.isdigit, ctype.dtype)) or 32)
    value &= 2**bits - 1
    return value - 2**bits if ctype.is_signed and value >= 2 ** (bits - 1) else value


class _Unsigned(int):
    """A number of #if that is unsigned: 64 bits of it, without a sign."""

    __slots__ = ()


def _apply_in_if(op: str, a: int, b: int) -> int:
    """a op b, where one unsigned number makes both so; of a shift it is the left one that counts."""
    if op in ("&&", "||") or not (
        isinstance(a, _Unsigned) or (op not in ("<<", ">>") and isinstance(b, _Unsigned))
    ):
        return apply(op, a, b)
    value = apply(op, a % 2**64, b if op in ("<<", ">>") else b % 2**64)
    return value if op in ("==", "!=", "<", ">", "<=", ">=") else _Unsigned(value % 2**64)


class _Reader:
    """Reads an expression in text; unknown names are 0, as in #if.

    in_if: all of it is computed in 64 bits, and what stands behind && and ?: may divide by zero.
    ints: all of it is of the type int.
    """

    def __init__(self, text: str, *, in_if: bool = False, ints: bool = False) -> None:
        self.in_if = in_if
        self.apply = apply_to_ints if ints else _apply_in_if if in_if else apply
        self.tokens: list[tuple[str, str]] = []
        at = 0
        text = text.strip()
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                raise NotConstant(f"{text[at : at + 20]!r} is no part of an expression")
            self.tokens.append((match.lastgroup or "", match[match.lastgroup or 0]))
            at = match.end()
        if len(self.tokens) > 2000:
            raise NotConstant("the expression is too long")
        self.at = 0

    def peek(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def take(self, wanted: str) -> None:
        if self.peek() != wanted:
            raise NotConstant(f"{wanted!r} is missing")
        self.at += 1

    def whole(self) -> int:
        value = self.ternary()
        if self.at < len(self.tokens):
            raise NotConstant(f"{self.peek()!r} is not expected")
        return value

    def ternary(self) -> int:
        value = self.binary(0)
        if self.peek() != "?":
            return value
        self.at += 1
        yes = self.ternary()
        self.take(":")
        no = self.ternary()
        chosen = yes if value else no
        unsigned = self.in_if and (isinstance(yes, _Unsigned) or isinstance(no, _Unsigned))
        return _Unsigned(chosen % 2**64) if unsigned else chosen

    def binary(self, level: int) -> int:
        if level == len(_LEVELS):
            return self.unary()
        value = self.binary(level + 1)
        while self.peek() in _LEVELS[level]:
            op = self.peek()
            self.at += 1
            right = self.binary(level + 1)
            if self.in_if and op in ("/", "%") and right == 0:
                right = 1  # && or ?: may leave this branch out
            value = self.apply(op, value, right)
        return value

    def unary(self) -> int:
        if self.at >= len(self.tokens):
            raise NotConstant("the expression ends too early")
        kind, text = self.tokens[self.at]
        self.at += 1
        if kind == "number":
            value = integer(text)
            return _Unsigned(value) if self.in_if and ("u" in text.lower() or value >= 2**63) else value
        if kind == "char":
            return character(text)
        if kind == "word":
            return 0
        if text == "(":
            value = self.ternary()
            self.take(")")
            return value
        if text in "+-~!":
            operand = self.unary()
            value = int(_UNARY[text](operand))
            if isinstance(operand, _Unsigned) and text != "!":
                return _Unsigned(value % 2**64)
            return self.apply("+", value, 0)
        raise NotConstant(f"{text!r} is not expected")


def evaluate_condition(text: str) -> bool:
    """The value of what stands behind #if, its macros replaced."""
    try:
        return bool(_Reader(text, in_if=True).whole())
    except RecursionError:
        raise NotConstant("the expression is nested too deeply") from None


# 1.5f, -(1e999), (double)2.5L
_DOUBLE = re.compile(
    r"(?:\(\s*double\s*\)\s*)?([-+])?\s*(\()?\s*((?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?)([fFlL]*)\s*(?(2)\))"
)
_STRING = re.compile(r'\s*(?:u8)?"((?:\\.|[^"\\])*)"')


def of_macro(body: str, names: Mapping[str, int]) -> int | float | str | None:
    """The value of an object-like macro, its macros replaced; None: it has none that Python knows."""
    text = body.strip()
    while text.startswith("(") and text.endswith(")") and _closes_last(text):
        text = text[1:-1].strip()
    if not text:
        return None
    found = _strings(text)
    if found is not None:
        return found
    number = _DOUBLE.fullmatch(text)
    if number is not None and not number[3].isdigit():
        value = float((number[1] or "") + number[3])
        return ctypes.c_float(value).value if number[4] in ("f", "F") else value
    try:
        plain = re.sub(r"[A-Za-z_]\w*", lambda match: _value_of(match[0], names), _no_suffixes(text))
        return _wrapped(_Reader(plain, ints=_has_only_ints(text, plain)).whole(), text)
    except (ValueError, RecursionError):
        return None


def _has_only_ints(text: str, plain: str) -> bool:
    """Whether all numbers are of the type int; plain: the text without suffixes."""
    suffixed = any(match[2] for match in _SUFFIXED.finditer(text))
    return not suffixed and all(int(each) < 2**31 for each in re.findall(r"\d+", plain))


def check_numbers(text: str) -> None:
    """NoValue where a text of whole numbers alone has none in C: it divides by zero, or is too large."""
    plain = _no_suffixes(text)
    if re.search(r"[A-Za-z_.\"]", plain):
        return
    try:
        value = _Reader(plain, ints=_has_only_ints(text, plain)).whole()
    except NoValue:
        raise
    except NotConstant:
        return
    if not -(2**63) <= value < 2**64 or (value >= 2**63 and re.search("[-+*/]", text)):
        raise NoValue("the value is too large")


def _wrapped(value: int, text: str) -> int | None:
    """The value of an expression with unsigned numbers, which wrap around; None where that is not clear."""
    numbers = [(integer(digits), suffix.lower()) for digits, suffix in _SUFFIXED.findall(text) if digits]
    if not any("u" in suffix for _, suffix in numbers):
        return _of_plain_numbers(value, text)
    bits = 64 if any("l" in suffix or number >= 2**32 for number, suffix in numbers) else 32
    if 0 <= value < (1 << bits) and not re.search(r"[-~]", text):
        return value
    of_long = any("u" not in suffix and ("l" in suffix or number >= 2**31) for number, suffix in numbers)
    if of_long or re.search(r"[/%>?=!&|]|<(?!<)", text.replace("<<", "")):
        return None
    return value % (1 << bits)


def _of_plain_numbers(value: int, text: str) -> int | None:
    """The same where no number says that it is unsigned: large ones in hexadecimal are."""
    bits = 0
    for digits, _ in _SUFFIXED.findall(text):
        number = integer(digits)
        if number >= 2**64:
            return None
        if digits[0] == "0" and (number >= 2**63 or 2**31 <= number < 2**32):
            bits = max(bits, 64 if number >= 2**63 else 32)
    if bits and value < 0:
        value %= 1 << bits
    return value if value < 2 ** (64 if bits == 64 else 63) and value >= -(2**63) else None


def _value_of(word: str, names: Mapping[str, int]) -> str:
    if word not in names:
        raise NotConstant(f"{word} is not known")
    return f"({names[word]})"


def _no_suffixes(text: str) -> str:
    """Numbers in decimal, so that no letter is left in them."""
    return re.sub(
        r"(?<![\w.])(0[xX][0-9a-fA-F]+|\d+)[uUlL]*(?![\w.])|'(?:\\.|[^'\\])+'",
        lambda match: str(integer(match[0]) if match[1] else character(match[0])),
        text,
    )


def _closes_last(text: str) -> bool:
    depth = 0
    for i, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth == 0:
            return i == len(text) - 1
    return False


def _strings(text: str) -> str | None:
    """Adjacent string literals as one str."""
    parts, at = [], 0
    while at < len(text.rstrip()):
        match = _STRING.match(text, at)
        if match is None:
            return None
        parts.append(re.sub(r"\\(x[0-9a-fA-F]+|[0-7]{1,3}|.)", _unescaped, match[1]))
        at = match.end()
    return "".join(parts) if parts else None


def _unescaped(match: re.Match[str]) -> str:
    return chr(character(f"'{match[0]}'") % 256)
