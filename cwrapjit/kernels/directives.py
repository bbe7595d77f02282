"""Finds the tokens of a C text that its preprocessor leaves, with their places in the text.

Tokens from a macro have the place of the macro's name; bodies of functions keep their macros. libtcc
evaluates conditions. If it cannot, the included files are read, which takes the machine's compiler as long as
a hundred texts. `library.preprocess` evaluates conditions and macros, for all front ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from cwrapjit._imports import load
from cwrapjit._tokens import Token, closes, tokens, words

MARKS = {"/*out*/": "OUT", "/*inout*/": "INOUT"}
_CONDITIONS = ("if", "ifdef", "ifndef", "elif", "else", "endif")


class Reading:
    """One pass over a text. macros: (name, value or None) of define_macros=."""

    def __init__(
        self, source: str, file: str, fail: Callable[..., NoReturn], include_dirs: Sequence[Any],
        macros: Sequence[tuple[str, str | None]], environment: object = None,
    ) -> None:  # fmt: skip
        self.source, self.file, self.fail = source, file, fail
        self.include_dirs = include_dirs
        self.given = [each for each in macros if each[0] not in MARKS.values()]
        self.environment = environment  # of the library that compiles the text
        self._follows = False  # True: reads the files of #include lines
        self._waiting: list[tuple[Any, ...]] = []  # #include lines that are not read yet
        self.tokens: list[Token] = []
        self.defined: set[str] = set()  # macros of the text
        self.includes: list[str] = []  # "<math.h>"
        self.words: set[str] = set()
        self.repeated: set[str] = set()  # words that occur more than once
        self.front = 0  # the end of the directives at the top of the text
        self.asked: set[str] = set()  # the words in conditions
        self.leaves_out = False  # a condition leaves out some text
        self._braces: set[str] = (
            set()
        )  # macros with unbalanced braces: only their expansion shows where bodies end
        self._macros = {name for name, _ in self.given}
        self._preprocessor: Any = None
        self._open: list[list[Any]] = []  # the open conditions, as the preprocessor keeps them
        self._read()

    def _read(self) -> None:
        block: list[Token] = []  # tokens since the last directive
        line: list[Token] | None = None  # tokens of a directive
        depth, is_read, in_body = 0, True, False
        for token in tokens(self.source):
            if token.kind in ("#", "end"):
                self._expand(block)
                if line:
                    self._directive(line)
                if token.kind == "end" and not self.tokens and not self._open:
                    self.front = token.end
                block, line = [], [] if token.kind == "#" else None
                is_read = self._is_read()
            elif line is not None:
                line.append(token)
            elif is_read and token.kind == "comment":
                mark = _mark(token)
                block += [Token("word", mark, token.at, token.end)] * (mark != "")
            elif is_read:
                if not token.text.isascii() and token.kind != "string":
                    self._check_letters(token)
                if token.kind == "word":
                    self._add_words({token.text})
                elif token.text == "{":
                    if not depth and [each.text for each in (block or self.tokens)[-1:]] == [")"]:
                        self._expand(block)
                        block, in_body = [], True
                    depth += 1
                elif token.text == "}":
                    depth -= 1
                (self.tokens if in_body and not self._braces else block).append(token)
                in_body = in_body and depth > 0
            elif token.kind != "comment":
                self.leaves_out = True
        self._expand(block)

    def _is_read(self) -> bool:
        return not self._open or bool(self._open[-1][0])

    def _check_letters(self, token: Token) -> None:
        """Refuses characters that word processors and web pages use for a space or a minus."""
        for at, character in enumerate(token.text, token.at):
            if not character.isascii() and not f"a{character}".isidentifier():
                name = load("unicodedata").name(character, "a character")
                self.fail(f"U+{ord(character):04X} is no character of C: {name.lower()}", at)

    def _add_words(self, words: set[str]) -> None:
        self.repeated |= self.words & words
        self.words |= words

    # ---- directives -------------------------------------------------------------------------------------

    def _engine(self) -> Any:
        if self._preprocessor is None:
            preprocess = load("cwrapjit.library.preprocess")
            self._preprocessor = preprocess.Preprocessor(self.include_dirs, self.given, as_libtcc=True)
            self._preprocessor.files[self.file] = self.source
            marks = words(self.source).intersection(MARKS.values())  # defined when the text is compiled
            given = [f"#define {mark}" for mark in marks]
            self._follows = not self._preprocessor.ask(self.source, self.file, self.environment, given)
            self._include()
        return self._preprocessor

    def _asked(self, at: int, length: int, ask: Callable[..., Any], *arguments: Any) -> Any:
        """Calls the preprocessor, and reports its errors at `at` in the text."""
        try:
            return ask(*arguments)
        except load("cwrapjit.library.preprocess").PreprocessError as error:
            self.fail(str(error), at, length)

    def _directive(self, line: list[Token]) -> None:
        parts = [token for token in line if token.kind != "comment"]
        if not parts:
            return
        name, at = parts[0].text, parts[0].at
        rest = _spelled(self.source, line[line.index(parts[0]) + 1 :], parts[0].end)
        is_read, number = self._is_read(), self.source.count("\n", 0, at) + 1
        if name == "include":
            self.includes.append("".join(token.text for token in parts[1:]))
            if is_read:
                self._waiting.append((at, len(name), rest, self.file, number))
                self._include()
            return
        if name in _CONDITIONS:
            self.asked |= words(rest)
            self.words |= self.asked.intersection(MARKS.values())
        elif not (is_read and name in ("define", "undef") and len(parts) > 1):
            return
        elif name == "define":
            self.defined.add(parts[1].text)
            self._macros.add(parts[1].text)
            self._add_words({token.text for token in parts[1:] if token.kind == "word"})
            texts = [token.text for token in parts[2:]]
            if texts.count("{") != texts.count("}") or not self._braces.isdisjoint(texts):
                self._braces.add(parts[1].text)
        if name in _CONDITIONS or parts[1].text not in MARKS.values():
            self._asked(at, len(name), self._engine().follow, name, rest, self._open, self.file, number)

    def _include(self) -> None:
        """Reads the files of #include lines, if libtcc could not evaluate the conditions."""
        while self._follows and self._waiting:
            at, length, *line = self._waiting.pop(0)
            self._asked(at, length, self._engine().include, *line)

    # ---- macros -----------------------------------------------------------------------------------------

    def _expand(self, block: list[Token]) -> None:
        """Appends these tokens with their macros expanded."""
        if not self._macros:
            self.tokens += block
            return
        k = 0
        while k < len(block):
            token = block[k]
            if token.text in self._macros and token.text not in MARKS.values():
                k = self._expand_one(block, k)
            else:
                self.tokens.append(token)
            k += 1

    def _expand_one(self, block: list[Token], k: int) -> int:
        """Expands the macro at k, and returns the index of the last token that it replaces."""
        token, engine = block[k], self._engine()
        made = self._asked(token.at, len(token.text), engine.expand, token.text)
        if k + 1 < len(block) and block[k + 1].text == "(" and engine.takes_arguments(made):
            end = closes(block, k + 1)
            call = " ".join([made, *(each.text for each in block[k + 1 : end + 1])])
            if end < len(block):
                made, k = self._asked(token.at, len(token.text), engine.expand, call), end
        found = [each for each in tokens(made) if each.kind not in ("#", "end", "comment")]
        self.words |= {each.text for each in found if each.kind == "word"}
        self.tokens += [each._replace(at=token.at, end=block[k].end) for each in found]
        return k


def _mark(comment: Token) -> str:
    return MARKS.get("".join(comment.text.split()).lower(), "")


def _spelled(source: str, line: Sequence[Token], at: int) -> str:
    """Returns the rest of a directive from `at` on. Comments become blanks, or marks."""
    parts = []
    for token in line:
        parts += [source[at : token.at], token.text if token.kind != "comment" else f" {_mark(token)} "]
        at = token.end
    return "".join(parts).replace("\\\r\n", " ").replace("\\\n", " ")
