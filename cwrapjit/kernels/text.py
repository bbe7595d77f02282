"""Plain C text: which functions it defines, and what they take.

Neither a preprocessor nor a parser, but quick enough for something that a session does with every line it
tries. What it does not see (functions that macros make), vectorize() cannot map; library()
asks pycparser, and takes from here only what C cannot say, OUT and INOUT.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, NoReturn

from cwrapjit._cwrapjit import CompileError
from cwrapjit._imports import load
from cwrapjit._tokens import Token, closes, split, tokens

_MARKS = {"/*out*/": "OUT", "/*inout*/": "INOUT"}
_CONDITIONS = ("if", "ifdef", "ifndef", "elif", "else", "endif")
_NEVER = ("0", "__cplusplus", "defined__cplusplus", "defined(__cplusplus)")
_STORAGE = frozenset("extern inline __inline __inline__ _Noreturn register auto __extension__".split())
_RESTRICT = frozenset("restrict __restrict __restrict__".split())
_QUALIFIERS = frozenset("const volatile __const".split()) | _RESTRICT
_ATTRIBUTES = frozenset("__attribute__ __attribute __asm__ asm __asm _Alignas _Pragma".split())
_TAGS = ("struct", "union", "enum")
_TYPE_WORDS = frozenset("char short int long float double signed unsigned void _Bool bool _Complex".split())
_NO_NAMES = _TYPE_WORDS | _QUALIFIERS | _STORAGE | {"static", *_TAGS}


class Parameter(NamedTuple):
    name: str
    at: int
    words: list[str]  # the type's, without qualifiers
    const: bool
    stars: int
    dims: list[list[Token]]
    intent: str  # "", "out" or "inout", as it is marked
    odd: str = ""  # what cannot be read, and why
    type_at: int = 0
    pointer_at: int = -1  # behind this, restrict may stand; -1: nowhere, or it is there already


class TextFunction(NamedTuple):
    name: str
    at: int
    words: list[str]  # of the result's type
    stars: int
    parameters: list[Parameter]
    private: bool  # static
    variadic: bool
    result_at: int
    inner: list[Token]  # between its parentheses

    def early_dims(self) -> list[list[Token]]:
        """First dims that name a parameter behind the array."""
        names = [each.name for each in self.parameters]
        firsts = [(k, each.dims[0]) for k, each in enumerate(self.parameters) if each.dims]
        return [dim for k, dim in firsts if any(token.text in names[k + 1 :] for token in dim)]

    def writes(self) -> bool:
        """There is a parameter that apart() can mark."""
        return any(each.intent and each.pointer_at >= 0 for each in self.parameters)

    def apart(self) -> str:
        """The parameters for C: nothing else points to where those with a mark point to."""
        left_out = {token for dim in self.early_dims() for token in dim}
        marked = {each.pointer_at for each in self.parameters if each.intent}
        return " ".join(
            f"{token.text} restrict" if token.at in marked else token.text
            for token in self.inner
            if token not in left_out and token.text not in _MARKS.values()
        )


class Text:
    """What a text of C defines in its outermost level."""

    def __init__(self, source: str, file: str) -> None:
        self.source = source
        self.file = file
        self.functions: list[TextFunction] = []
        self.typedefs: dict[str, list[str]] = {}  # names of numbers, and the words that they stand for
        self.structs: set[str] = set(_TAGS[:2])  # the words that make a type a struct or union
        self.macros: dict[str, list[str]] = {}  # those without parameters, by their words
        self.defined: set[str] = set()  # macros
        self.includes: list[str] = []  # "<math.h>"
        self.names: set[str] = set()  # what would be defined twice if the text stood there twice
        self.words: set[str] = set()
        self.repeated: set[str] = set()  # words that stand there more than once
        self._conditions: list[bool] = []  # the #ifs around what is read; True: nobody reads this branch
        self._alternatives: set[int] = set()  # where words begin that stand behind an #if
        if "\0" in source:
            raise CompileError(f"{file}: the text has a NUL character")
        try:
            source.encode()
        except UnicodeEncodeError as error:
            raise CompileError(f"{file}: the text has a lone surrogate at position {error.start}") from None
        self._read(_without_attributes([*self._tokens()]))

    @property
    def public(self) -> list[TextFunction]:
        return [each for each in self.functions if not each.private]

    def line(self, at: int) -> int:
        """Counted from 1."""
        return self.source.count("\n", 0, at) + 1

    def place(self, file: bytes, line: int) -> tuple[str, int, str] | None:
        """A line as it was written, of which C has seen another."""
        lines = self.source.split("\n")
        found = os.fsdecode(file) == self.file and 0 < line <= len(lines)
        return (self.file, line, lines[line - 1].rstrip("\r")) if found else None

    @contextlib.contextmanager
    def own_lines(self) -> Iterator[None]:
        """What is wrong in compiled() is shown in the lines as they were written."""
        try:
            yield
        except CompileError as error:
            for each in (error, *error.errors):
                found = self.place(os.fsencode(each.filename or ""), each.lineno or 0)
                each.text = found[2] if found and each.text else each.text
            raise

    def check(self) -> None:
        """Refuses marks and dims that cannot be."""
        for function in self.functions:
            names = [each.name for each in function.parameters]
            for k, each in enumerate(function.parameters):
                word, length = each.intent.upper(), len(each.name)
                if word and each.const:
                    self.fail(f"{each.name} points to const: {word} cannot be", each.at, length)
                if word and not each.stars and not each.dims:
                    self.fail(f"{each.name} is no pointer: {word} stands in front of one", each.at, length)
                for token in (token for dim in each.dims[1:] for token in dim):
                    if token.text in names[k + 1 :]:
                        self.fail(
                            f"{token.text} stands behind {each.name}, whose dim it is: C wants it in front, "
                            "unless it is the first dim",
                            token.at,
                            len(token.text),
                        )

    def is_conditional(self, function: TextFunction) -> bool:
        """It stands behind an #if."""
        return function.at in self._alternatives

    def give_to(self, made: Any) -> None:
        """For those who show the function, and its faults."""
        made.__dict__.update(_text=self.source, _place=self.place)

    def fail(self, message: str, at: int, length: int = 1) -> NoReturn:
        """Raises a CompileError that points at a place of the text."""
        line = self.line(at)
        begin = self.source.rfind("\n", 0, at) + 1
        whole = self.source[begin:].split("\n", 1)[0]
        column = at - begin + 1
        error = CompileError(message, (self.file, line, column, whole, line, column + max(length, 1)))
        error.errors = [error]
        raise error

    def compiled(self) -> str:
        """The text for C: a first dim, which C does not look at, may name a parameter behind its array."""
        parts, end = [], 0
        for function in self.functions:
            for first in function.early_dims():
                begin = first[0].at
                parts.append(self.source[end:begin])
                end = first[-1].at + len(first[-1].text)
                parts.append("".join(c if c == "\n" else " " for c in self.source[begin:end]))
        return "".join([*parts, self.source[end:]])

    def instance(self, k: int = 0, apart: bool = True) -> str:
        """compiled() in which what is defined has names of its own, for k > 0.

        Calls refuse outputs that overlap: with `apart`, compilers know that nothing else is where C writes,
        but for functions that the text itself calls. Macros say so, as lines and columns are the user's;
        files other than C's own may have such names.
        """
        apart = apart and all(re.fullmatch(r"<\w+\.h>", each) for each in self.includes)
        found = [each for each in self.functions if apart and each.name not in self.repeated]
        found = [each for each in found if self._alternatives.isdisjoint(token.at for token in each.inner)]
        heads = {each.name: f"({each.apart()})" for each in found if each.writes()}
        names = sorted(self.names & self.words) if k else sorted(heads)
        macros = "".join(
            f"#define {name}{'(...)' * (name in heads)} {name}{f'__{k}' * (k > 0)}{heads.get(name, '')}\n"
            for name in names
        )
        if not macros:
            return self.compiled()
        ends = "".join(f"#undef {name}\n" for name in names)
        return f'{macros}#line 1 "{self.file}"\n{self.compiled()}\n{ends}'

    # ---- from characters to the outermost declarations -----------------------------------------------

    def _tokens(self) -> Iterator[Token]:
        """Those outside of directives, in branches that the compiler may take."""
        line: list[Token] | None = None  # of a directive
        for token in tokens(self.source):
            if token.kind in ("#", "end"):
                self._directive(line or [])
                line = [] if token.kind == "#" else None
            elif line is not None:
                line += [token] * (token.kind != "comment")
            elif True in self._conditions:
                continue
            elif token.kind == "comment":
                mark = _MARKS.get("".join(token.text.split()).lower())
                if mark:
                    yield Token("word", mark, token.at, token.end)
            else:
                if not token.text.isascii() and token.kind != "string":
                    self._check_letters(token)
                if token.kind == "word":
                    self._add_words({token.text})
                    if self._conditions:
                        self._alternatives.add(token.at)
                yield token

    def _check_letters(self, token: Token) -> None:
        """Refuses what word processors and web pages put in the place of a space or a minus."""
        for at, character in enumerate(token.text, token.at):
            if not character.isascii() and not f"a{character}".isidentifier():
                name = load("unicodedata").name(character, "a character")
                self.fail(f"U+{ord(character):04X} is no character of C: {name.lower()}", at)

    def _directive(self, line: list[Token]) -> None:
        texts = [token.text for token in line]
        if texts and texts[0] in _CONDITIONS:
            self._branch(texts[0], "".join(texts[1:]))
        elif texts[:1] == ["include"]:
            self.includes.append("".join(texts[1:]))
        elif texts[:1] == ["define"] and len(line) > 1 and True not in self._conditions:
            self.defined.add(texts[1])
            self._add_words({token.text for token in line[1:] if token.kind == "word"})
            if texts[2:3] != ["("] or line[1].end < line[2].at:
                self.macros[texts[1]] = texts[2:]
        elif texts[:1] == ["undef"] and True not in self._conditions:
            self.macros.pop("".join(texts[1:]), None)

    def _add_words(self, words: set[str]) -> None:
        self.repeated |= self.words & words
        self.words |= words

    def _branch(self, word: str, condition: str) -> None:
        """Of conditions, `0` and C++ are understood: the compiler knows which other branches it takes."""
        if word in ("if", "ifdef", "ifndef"):
            self._conditions.append(word != "ifndef" and condition in _NEVER)
        elif self._conditions:
            self._conditions.pop()
            if word != "endif":
                self._conditions.append(word == "elif" and condition in _NEVER)

    @property
    def balanced(self) -> bool:
        """Brackets are."""
        opened = ""
        for token in self._tokens():
            if token.text in "([{":
                opened += token.text
            elif token.text in ")]}":
                if opened[-1:] + token.text not in ("()", "[]", "{}"):
                    return False
                opened = opened[:-1]
        return not opened

    # ---- the outermost declarations ---------------------------------------------------------------------

    def _read(self, found: Sequence[Token]) -> None:
        """What stands in braces is left out of declarations."""
        item: list[Token] = []
        at = 0
        while at < len(found):
            token = found[at]
            end = closes(found, at) if token.text in "([{" else at
            if token.text == "{":
                self._tagged(item, found[at + 1 : end])
                item += [token, *found[end : end + 1]]
                if [each.text for each in item[-3:]] == [")", "{", "}"] and all(
                    each.text != "=" for each in item
                ):
                    self._function(item[:-2])
                    item = []
            elif token.text == ";":
                self._variables([each for each in item if each.text not in ("{", "}")])
                item = []
            else:
                item += found[at : end + 1]
            at = end + 1

    def _tagged(self, item: Sequence[Token], inside: Sequence[Token]) -> None:
        """The names that a struct, union or enum gives in front of its brace, and an enum inside."""
        texts = [each.text for each in item[-2:]]
        if len(texts) == 2 and texts[0] in _TAGS and item[-1].kind == "word":
            self.names.add(texts[1])
        if "enum" in texts:
            self.names.update(part[0].text for part in split(inside) if part)

    def _variables(self, rest: list[Token]) -> None:
        texts = [each.text for each in rest]
        if texts[:1] == ["typedef"]:
            self._typedef(rest[1:])
        elif texts[:1] != ["extern"] and ("=" in texts or "(" not in texts):
            self.names.update(_declared(rest))

    def _typedef(self, rest: list[Token]) -> None:
        names = _declared(rest)
        self.names.update(names)
        words = [token.text for token in rest if token.kind == "word" and token.text not in _QUALIFIERS]
        if not self.structs.isdisjoint(words):
            self.structs.update(names)
        elif len(names) == 1 and all(token.kind == "word" for token in rest):
            self.typedefs[names[0]] = words[:-1]

    def _function(self, head: list[Token]) -> None:
        opens = next((k for k, token in enumerate(head) if token.text == "("), 0)
        if opens == 0 or head[opens - 1].kind != "word" or closes(head, opens) + 1 != len(head):
            return  # a function that returns one, or parameters of old C: nothing that can be mapped
        before = head[: opens - 1]
        words = [token.text for token in before if token.kind == "word"]
        name = head[opens - 1]
        inner = head[opens + 1 : -1]
        parts = [part for part in split(inner) if [token.text for token in part] not in ([], ["void"])]
        named = [part for part in parts if [token.text for token in part] != ["..."]]
        made = TextFunction(
            name=name.text,
            at=name.at,
            words=[word for word in words if word not in _STORAGE | _QUALIFIERS and word != "static"],
            stars=sum(token.text == "*" for token in before),
            parameters=[_parameter(part, k) for k, part in enumerate(named)],
            private="static" in words,
            variadic=len(named) < len(parts),
            result_at=next((t.at for t in before if t.text not in _STORAGE | _QUALIFIERS), name.at),
            inner=inner,
        )
        earlier = next((each for each in self.functions if each.name == made.name), None)
        if earlier is not None and {earlier.at, made.at} <= self._alternatives:
            return
        if earlier is not None:
            self.fail(
                f"two functions are called {made.name}: the other one is in line {self.line(earlier.at)}",
                made.at,
                len(made.name),
            )
        self.functions.append(made)
        self.names.add(made.name)


def _without_attributes(tokens: Sequence[Token]) -> list[Token]:
    kept: list[Token] = []
    k = 0
    while k < len(tokens):
        if tokens[k].text in _ATTRIBUTES and k + 1 < len(tokens) and tokens[k + 1].text == "(":
            k = closes(tokens, k + 1) + 1
        else:
            kept.append(tokens[k])
            k += 1
    return kept


def _declared(rest: Sequence[Token]) -> list[str]:
    """The names that a declaration of types or variables gives."""
    names = []
    for part in split(rest):
        name, depth = "", 0
        for token in part:
            if token.text == "=" or (token.text == ")" and name):
                break
            depth += (token.text == "[") - (token.text == "]")
            if token.kind == "word" and not depth and token.text not in _NO_NAMES:
                name = token.text
        if name:
            names.append(name)
    return names


def _parameter(part: list[Token], k: int) -> Parameter:
    intent = next((token.text.lower() for token in reversed(part) if token.text in _MARKS.values()), "")
    kept = [token for token in part if token.text not in _MARKS.values()]
    dims: list[list[Token]] = []
    flat: list[Token] = []
    odd = ""
    pointer_at = -1
    i = 0
    while i < len(kept):
        if kept[i].text == "[":
            end = closes(kept, i)
            pointer_at = pointer_at if dims else kept[i].at
            dims.append([t for t in kept[i + 1 : end] if t.text not in _QUALIFIERS and t.text != "static"])
            i = end + 1
            continue
        if kept[i].text == "(":
            odd = "a function: callbacks have no mapping"
        if kept[i].text in ("&", "&&"):
            odd = "a reference of C++; in C a pointer does that: OUT in front of it makes it a result"
        pointer_at = kept[i].at if kept[i].text == "*" else pointer_at
        flat.append(kept[i])
        i += 1
    words = [token for token in flat if token.kind == "word"]
    stars = [i for i, token in enumerate(flat) if token.text == "*"]
    plain = [token for token in words if token.text not in _QUALIFIERS | _STORAGE]
    after_star = bool(stars and plain) and plain[-1].at > flat[stars[-1]].at
    named = (after_star or len(plain) > 1) and plain[-1].text not in _TYPE_WORDS
    if len(plain) == 2 and plain[0].text in _TAGS and not after_star:
        named = False
    name = plain[-1] if named else None
    inner = flat[: stars[0]] if stars else flat
    at = part[0].at if part else 0
    return Parameter(
        name=name.text if name else f"arg{k + 1}",
        at=name.at if name else at,
        words=[token.text for token in plain if token is not name],
        const=any(token.text in ("const", "__const") for token in inner),
        stars=len(stars),
        dims=dims,
        intent=intent,
        odd=odd,
        type_at=plain[0].at if plain else at,
        pointer_at=-1 if any(token.text in _RESTRICT for token in part) else pointer_at,
    )
