"""Reads the parameter lists of kernels, and resolves the types that letters stand for.

Lists have CuPy's form: "raw T x, float32 y". Each item is a type and a name; `raw` marks arrays that are
indexed and do not broadcast. A type of one letter is a placeholder that each call resolves; others are dtype
names.

    parameters = parse("T x, T y", "f()", "in_params")   # [Parameter(name="x", word="T", ...), ...]
    check_names([*inputs, *outputs], "f()")  # refuses reserved and repeated names
    types = resolve("f()", inputs, outputs, dtypes)      # {"T": dtype("float64")}
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from cwrapjit._words import KEYWORDS

RESERVED = KEYWORDS | set("asm bool false static_assert thread_local true typeof NULL and or not".split())
_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*\Z")
_WORD = re.compile(r"\S+")
_NUMBERS = "biufc"  # kinds of the dtypes that C computes with


class Parameter(NamedTuple):
    """One item of a list."""

    name: str
    word: str  # the type as it is written
    dtype: np.dtype[Any] | None  # None: the word is a placeholder
    raw: bool
    position: int  # of the name, in characters

    @property
    def placeholder(self) -> bool:
        return self.dtype is None

    def type_in(self, types: Mapping[str, np.dtype[Any]]) -> np.dtype[Any]:
        """Returns its dtype, given the dtypes of letters."""
        return types[self.word] if self.dtype is None else self.dtype


def refuse_at(text: str, position: int, who: str, what: str, problem: str) -> NoReturn:
    """Raises ValueError with the place in a text."""
    line = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    shown = text[line : end if end >= 0 else len(text)].replace("\t", " ")
    raise ValueError(
        f"{who}: {what}: {problem} at position {position}\n    {shown}\n    {' ' * (position - line)}^"
    )


def _dtype(word: Any) -> np.dtype[Any] | None:
    """Returns the dtype that a word names, or None."""
    try:
        found: np.dtype[Any] = np.dtype(word)
        return found
    except (TypeError, ValueError, SyntaxError):  # NumPy's errors for unknown words
        return None


def _item(text: str, words: list[re.Match[str]], who: str, what: str) -> Parameter:
    """Makes the parameter that the words of an item declare."""
    if len(words) < 2:
        refuse_at(text, words[0].start(), who, what, f"{words[0][0]!r} is alone; wanted a type and a name")
    *front, type_word, name_word = words
    for each in front:
        if each[0] != "raw":
            problem = f"{each[0]!r} is not known; wanted 'raw', a type and a name"
            refuse_at(text, each.start(), who, what, problem)
    if len(front) > 1:
        refuse_at(text, front[1].start(), who, what, "'raw' is there twice")
    name, word, dtype = name_word[0], type_word[0], None
    if not _NAME.match(name):
        refuse_at(text, name_word.start(), who, what, f"{name!r} is no name")
    if len(word) > 1:
        dtype = _dtype(word)
        if dtype is None:
            problem = f"{word!r} is no dtype; wanted one such as float64, or a letter that stands for any"
            refuse_at(text, type_word.start(), who, what, problem)
        if dtype.kind not in _NUMBERS or not dtype.isnative:
            refuse_at(text, type_word.start(), who, what, f"{word!r} is no number to C")
    elif not (word.isascii() and word.isalpha()):
        refuse_at(text, type_word.start(), who, what, f"{word!r} is no type")
    return Parameter(name, word, dtype, bool(front), name_word.start())


def parse(text: str, who: str, what: str) -> list[Parameter]:
    """Reads a parameter list. Messages begin with `who` and `what`: "f(): in_params: ...". Raises ValueError
    with the position, and a caret below it; TypeError if text is not a str."""
    if not isinstance(text, str):
        raise TypeError(f"{who}: {what} must be a str, not {type(text).__name__}")
    if not text.strip():
        return []
    parameters, start = [], 0
    for item in text.split(","):
        words = list(_WORD.finditer(text, start, start + len(item)))
        if not words:
            refuse_at(text, start, who, what, "nothing is between two commas, or beside one")
        parameters.append(_item(text, words, who, what))
        start += len(item) + 1
    return parameters


def check_names(
    parameters: Sequence[Parameter], who: str, reserved: Sequence[str] = ("i", "n"), more: str = ""
) -> None:
    """Refuses names of generated text, words of C, repeated names, and letters of types as names."""
    seen: set[str] = set()
    letters = {each.word for each in parameters if each.placeholder}
    for name in (each.name for each in parameters):
        reason = None
        if name in seen:
            reason = "is there twice"
        elif name in reserved or name.startswith("_"):
            words = ", ".join(repr(each) for each in reserved)
            reason = f"is reserved, as are {words} and all that begin with an underscore{more}"
        elif name in RESERVED:
            reason = "is a word of C"
        elif name.startswith("cwj_") or "__" in name:
            reason = "is reserved, as are all that begin with cwj_ or have two underscores"
        elif name in letters:
            reason = "is the letter of a type, too"
        if reason:
            raise ValueError(f"{who}: the name {name!r} {reason}")
        seen.add(name)


class _Bound(NamedTuple):
    dtype: np.dtype[Any]
    by: list[str]  # the parameters, or dtype=, that decided it


def _name_of(dtype: np.dtype[Any]) -> str:
    return str(dtype) if dtype.isnative else f"{dtype} (of the other byte order)"


def _table(bound: Mapping[str, _Bound]) -> str:
    """Lists what was deduced: "T = float64 ('x', 'y'), U = int32 ('k')"."""
    return ", ".join(f"{letter} = {_name_of(b.dtype)} ({', '.join(b.by)})" for letter, b in bound.items())


def resolve(
    who: str,
    inputs: Sequence[Parameter],
    outputs: Sequence[Parameter],
    given: Sequence[np.dtype[Any] | None],
    chosen: Mapping[str, Any] | None = None,
    casting: Any = None,
) -> dict[str, np.dtype[Any]]:
    """Returns the dtype of each letter in a call.

    `given` has the dtypes of the arrays, one for each input and output; None is a scalar, or an output that
    the call has to make. Both never decide. Outputs are looked at first, then inputs; all that have one
    letter must be of one dtype. `chosen` is the caller's own choice,
    {"T": "float32"}. `casting` is cast= of the kernel. A letter that nothing says, and dtypes that contradict
    each other, are a TypeError that shows the deduced table.
    """
    parameters = [*inputs, *outputs]
    bound: dict[str, _Bound] = {}
    for letter, dtype in (chosen or {}).items():
        if not any(each.placeholder and each.word == letter for each in parameters):
            raise TypeError(f"{who}: dtype: no parameter is of a type {letter!r}")
        made = _dtype(dtype)
        if made is None:
            raise TypeError(f"{who}: dtype: {letter} is {dtype!r}, which is no type of NumPy's")
        bound[letter] = _Bound(_check(made, who, "dtype"), ["dtype="])
    order = [*range(len(inputs), len(parameters)), *range(len(inputs))]
    for k in order:
        dtype = given[k]
        if dtype is not None:
            _check(dtype, who, f"'{parameters[k].name}'")
            declared = parameters[k].dtype
            if declared is None:
                # A new dtype has no hash yet, and NumPy 1.26 computes a wrong one if memory is short.
                native = dtype if dtype.isnative else dtype.newbyteorder("=")
                _bind(bound, parameters[k], native, who)
            else:
                _check_cast(parameters[k].name, declared, dtype, k >= len(inputs), who, casting)
    for each in parameters:
        if each.placeholder and each.word not in bound:
            names = ", ".join(repr(p.name) for p in parameters if p.word == each.word)
            table = f"; deduced: {_table(bound)}" if bound else ""
            raise TypeError(
                f"{who}: nothing says what {each.word} is: no array is given for {names}, and scalars do not "
                f'decide; pass an array, the output, or dtype={{"{each.word}": ...}}{table}'
            )
    return {letter: b.dtype for letter, b in bound.items()}


def _check(dtype: np.dtype[Any], who: str, what: str) -> np.dtype[Any]:
    if dtype.kind not in _NUMBERS:
        raise TypeError(f"{who}: {what} is {_name_of(dtype)}; wanted numbers")
    return dtype


def _check_cast(
    name: str, declared: np.dtype[Any], dtype: np.dtype[Any], written: bool, who: str, casting: Any
) -> None:
    """Arrays convert to and from fixed types by the casting rule, by default "safe", as those of a ufunc."""
    source, target = (declared, dtype) if written else (dtype, declared)
    if not np.can_cast(source, target, casting or "safe"):
        if casting == "no":
            cure = ' (cast="safe" converts it)' if np.can_cast(source, target) else ""
            raise TypeError(f"{who}: {name!r} is {_name_of(dtype)}; wanted {_name_of(declared)}{cure}")
        raise TypeError(
            f"{who}: {name!r} is {_name_of(dtype)}, but it is declared as {_name_of(declared)}, "
            f"and {_name_of(target)} does not hold all values of {_name_of(source)}"
        )


def _bind(bound: dict[str, _Bound], parameter: Parameter, dtype: np.dtype[Any], who: str) -> None:
    name = repr(parameter.name)
    before = bound.get(parameter.word)
    if before is None:
        bound[parameter.word] = _Bound(dtype, [name])
    elif before.dtype == dtype:
        before.by.append(name)
    else:
        raise TypeError(
            f"{who}: {name} is {_name_of(dtype)}, but {parameter.word} is {_name_of(before.dtype)} by "
            f"{before.by[0]}; nothing is cast; deduced: {_table(bound)}"
        )
