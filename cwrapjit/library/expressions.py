"""Converts dims, syntax trees of C or texts of options, to reverse Polish notation (description.py)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from cwrapjit._imports import load
from cwrapjit._tokens import arguments
from cwrapjit.library import constants, types
from cwrapjit.library.constants import text_of
from cwrapjit.library.description import Dim

# Maps a name in a dim to the number of a constant, the name of a symbol, or None if it is unknown.
Lookup = Callable[[str], "int | str | None"]
# Maps the tree of size(v) or v->size to the name of a symbol.
Ask = Callable[[Any], str]

_TEXT = re.compile(r"[\w\s*/%()+<>=!&|?:,.'-]+")
_MAX_LENGTH = 64
_MAX_DEPTH = 32  # of the call path's stack
# The number of operands of each operator. "<?" is the minimum, ">?" the maximum.
OPERANDS = {"!": 1, "?:": 3} | dict.fromkeys("+ - * / % <? >? < <= > >= == != && ||".split(), 2)
_FUNCTIONS = {"min": "<?", "max": ">?"}


class BadDim(ValueError):
    """Says why an expression is no dim; `coord` is its place, if known."""

    def __init__(self, message: str, coord: Any = None) -> None:
        super().__init__(message)
        self.coord = coord


def of_tree(node: Any, lookup: Lookup, ask: Ask | None = None) -> Dim:
    """Converts the dim between brackets."""

    def inner(each: Any) -> Dim:
        return of_tree(each, lookup, ask)

    kind = type(node).__name__
    try:
        return _bounded((constants.of_tree(node, lookup, types.of_words),))
    except constants.NotConstant as error:
        if kind == "Constant":
            raise BadDim(str(error), node.coord) from None
    if kind == "ID":
        return (_named(node.name, lookup, node.coord),)
    if kind == "UnaryOp" and node.op == "*" and type(node.expr).__name__ == "ID":
        return (_named(node.expr.name, lookup, node.coord),)  # [*n], n being a pointer to an integer
    if kind == "UnaryOp" and node.op in "+-!":
        found = inner(node.expr)
        if node.op == "!":
            return _bounded((*found, "!"))
        return found if node.op == "+" else _bounded((0, *found, "-"))
    if kind == "BinaryOp" and node.op in OPERANDS:
        return _bounded((*inner(node.left), *inner(node.right), node.op))
    if kind == "TernaryOp":
        parts = (node.cond, node.iftrue, node.iffalse)
        return _bounded((*(each for part in parts for each in inner(part)), "?:"))
    if kind == "FuncCall" and type(node.name).__name__ == "ID" and node.name.name in _FUNCTIONS:
        return _of_call(node, inner)
    if kind in ("FuncCall", "StructRef") and ask is not None:
        return (ask(node),)
    raise BadDim(
        "a dim is made of integers, parameters, + - * / %, min(), max(), comparisons and ?:",
        getattr(node, "coord", None),
    )


def _of_call(node: Any, inner: Callable[[Any], Dim]) -> Dim:
    """Converts min(m, n, ...) and max(m, n, ...)."""
    name, given = node.name.name, node.args.exprs if node.args is not None else []
    if len(given) < 2:
        raise BadDim(f"{name}() takes two numbers at least", node.coord)
    made = inner(given[0])
    for each in given[1:]:
        made = _bounded((*made, *inner(each), _FUNCTIONS[name]))
    return made


def of_text(text: object, lookup: Lookup, ask: Ask | None = None) -> Dim:
    """Converts a number or a text such as "n*(n+1)/2" to a dim."""
    if isinstance(text, int) and not isinstance(text, bool):
        return (text,)
    try:
        return of_tree(tree_of(text), lookup, ask)
    except RecursionError:
        raise BadDim(f"{text!r} is no dim") from None


def tree_of(text: object) -> Any:
    """Returns the syntax tree of a dim, a number or a text."""
    if isinstance(text, bool) or not isinstance(text, (int, str)):
        raise TypeError(f"a dim must be an int or a str, not {type(text).__name__}")
    text = str(text).strip()
    if not _TEXT.fullmatch(text) or len(text) > 16 * _MAX_LENGTH or "**" in "".join(text.split()):
        raise BadDim(f"{text!r} is no dim")
    # The parser takes [*n] for [*].
    text = f"({text})" if text.startswith("*") else text
    try:
        tree = load("pycparser").CParser().parse(f"int x[{text}];")
        declared = tree.ext[0].type
        if declared.dim is None or declared.dim_quals:  # [static n]
            raise BadDim(f"{text!r} is no dim")
        return declared.dim
    except (load("pycparser.c_parser").ParseError, RecursionError):
        raise BadDim(f"{text!r} is no dim") from None


def shape_of(shape: object, lookup: Lookup, ask: Ask | None = None) -> tuple[Dim, ...]:
    """Converts "n", "n, m", 3 or ("n", 3) to dims."""
    return tuple(of_text(each, lookup, ask) for each in _parts(shape))


def trees_of(who: str, shape: object) -> list[Any]:
    """Returns the same as syntax trees. ValueError and TypeError begin with `who`."""
    try:
        return [tree_of(each) for each in _parts(shape)]
    except (BadDim, TypeError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{who}: {error}") from None


def with_dims(name: str, ctype: Any, trees: list[Any]) -> Any:
    """Returns the type of a pointer or an array with these dims, which must agree with the declared ones."""
    item, layers = types.peeled(ctype)
    known = [each.dim for each in layers]
    const = layers[-1].const if layers else item.const if isinstance(item, types.Pointer) else False
    if not layers:
        if not isinstance(item, types.Pointer) or isinstance(item.target, types.Callable):
            raise BadDim(f"dims names {name}, which is no pointer")
        item = item.target
    if not trees:
        raise BadDim(f"dims[{name!r}] is empty: inout= says that it is one number")
    declared = [None if each is None else text_of(each) for each in known]
    said = [text_of(each) for each in trees]
    if any(each is not None for each in declared) and (
        len(said) != len(declared)
        or any(a is not None and a != b for a, b in zip(declared, said, strict=True))
    ):
        shown = "".join(f"[{each or ''}]" for each in declared)
        raise BadDim(
            f"dims says {name}{''.join(f'[{each}]' for each in said)}, but it is declared as {name}{shown}"
        )
    for tree in reversed(trees):
        item = types.Array(item, tree, const)
    return item


def _parts(shape: object) -> list[object]:
    if isinstance(shape, str):
        return [each for each in arguments(shape) if each]
    if isinstance(shape, int):
        return [shape]
    if isinstance(shape, (tuple, list)):
        return list(shape)
    raise TypeError(f"a shape must be a str, an int or a tuple of these, not {type(shape).__name__}")


def folded(dim: Dim, value: Callable[[int | str], Any], combined: Callable[..., Any]) -> Any:
    """Evaluates a dim: value() of numbers and symbols, combined(op, *operands) of operators."""
    stack: list[Any] = []
    for each in dim:
        if isinstance(each, str) and each in OPERANDS:
            at = len(stack) - OPERANDS[each]
            stack[at:] = [combined(each, *stack[at:])]
        else:
            stack.append(value(each))
    return stack[0]


def value_of(dim: Dim, value: Callable[[int | str], int]) -> int:
    """Computes a dim as the call path does. Raises constants.NoValue for a division by zero."""

    def combined(op: str, *operands: Callable[[], int]) -> Callable[[], int]:
        return lambda: _computed(op, operands)

    def known(each: int | str) -> Callable[[], int]:
        return lambda: value(each)

    found: int = folded(dim, known, combined)()
    return found


def _computed(op: str, operands: tuple[Callable[[], int], ...]) -> int:
    first = operands[0]()
    if op == "?:":
        return operands[1 if first else 2]()
    if op == "!":
        return int(not first)
    if op in ("&&", "||"):
        return int(bool(operands[1]())) if bool(first) == (op == "&&") else int(bool(first))
    second = operands[1]()
    if op in ("<?", ">?"):
        return min(first, second) if op == "<?" else max(first, second)
    return int(constants.apply(op, first, second))


def spelled(op: str, a: str, b: str = "", c: str = "") -> str:
    """Returns C text for an operator, in parentheses if it has several operands."""
    if op == "?:":
        return f"({a} ? {b} : {c})"
    if op == "!":
        return f"!{a}"
    return f"({a} {op[0]} {b} ? {a} : {b})" if op in _FUNCTIONS.values() else f"({a} {op} {b})"


def shown(dim: Dim) -> str:
    """Returns the dim as messages show it."""
    names = {op: name for name, op in _FUNCTIONS.items()}

    def combined(op: str, *operands: str) -> str:
        return f"{names[op]}({', '.join(map(_bare, operands))})" if op in names else spelled(op, *operands)

    found: str = folded(dim, str, combined)
    return _bare(found)


def explained(dim: Dim, names: Iterable[str], values: Iterable[tuple[int, str | None]]) -> str:
    """Adds what a call knows of symbols: "n + 1, n is 3 by argument a"."""
    known = dict(zip(names, values, strict=True))
    said = [(name, *known[name]) for name in dict.fromkeys(each for each in dim if each in known)]
    by = [f", {name} is {value}{f' by argument {source}' if source else ''}" for name, value, source in said]
    return shown(dim) + "".join(by)


def _bare(made: str) -> str:
    return made[1:-1] if made.startswith("(") else made


def symbols(*dims: Dim) -> set[str]:
    """Returns the symbols in dims."""
    return {each for dim in dims for each in dim if isinstance(each, str) and each not in OPERANDS}


def place_of(name: str, trees: Iterable[Any]) -> Any:
    """Returns the place of a name in one of these syntax trees, or None."""
    waiting = list(trees)
    while waiting:
        node = waiting.pop()
        if type(node).__name__ == "ID" and node.name == name:
            return node.coord
        waiting += [each for _, each in node.children()]
    return None


def _named(name: str, lookup: Lookup, coord: Any = None) -> int | str:
    found = lookup(name)
    if found is None:
        raise BadDim(f"{name} in a dim is no integer parameter and no constant", coord)
    return found


def _bounded(dim: Dim) -> Dim:
    if len(dim) > _MAX_LENGTH:
        raise BadDim("a dim is too long")
    if any(isinstance(each, int) and not -(2**63) <= each < 2**63 for each in dim):
        raise BadDim("a number in a dim is too large")
    depth = 0
    for each in dim:
        depth += 1 - OPERANDS.get(each, 0) if isinstance(each, str) else 1
        if depth > _MAX_DEPTH:
            raise BadDim("a dim is nested too deeply")
    return dim
