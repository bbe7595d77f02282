"""Enough of a C preprocessor for headers: comments, conditionals, macros, and includes that are found.

No process is started and no system header is read: what headers of the system define is known to types.py.
Lines keep their numbers, so that the positions in messages are those of the text.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Any

from cwrapjit.library import attributes

_COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
_WORD = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|[A-Za-z_]\w*|\.?[0-9](?:[eEpP][+-]|[\w.])*')
_DIRECTIVE = re.compile(r"\s*#\s*([A-Za-z_]\w*)?(.*)", re.DOTALL)
_DEFINE = re.compile(r"\s*([A-Za-z_]\w*)(\(([\w\s,.]*)\))?(.*)", re.DOTALL)
_INCLUDE = re.compile(r'\s*(?:<([^<>"]+)>|"([^"]+)")')
_COMPLEX = re.compile(r"\b(float|double)\s+complex\b|\bcomplex\s+(float|double)\b")
_MAX_DEPTH = 100
_MAX_EXPANSIONS = 20000  # replacements within one logical line

# Words of compilers that declarations can do without.
_NOTHING = (
    "__extension__", "__restrict", "__restrict__", "__inline", "__inline__", "__volatile__", "__cdecl",
    "__stdcall", "_Noreturn", "__BEGIN_DECLS", "__END_DECLS", "__THROW", "_Thread_local",
)  # fmt: skip
_CALLS = ("__attribute__", "__attribute", "__declspec", "__asm__", "__asm", "_Alignas",
          "__nonnull", "_Pragma")  # fmt: skip
_PREDEFINED = {
    "__STDC__": "1",
    "__STDC_VERSION__": "201112L",
    "__x86_64__": "1",
    "__linux__": "1",
    "__unix__": "1",
    "__LP64__": "1",
    "__CHAR_BIT__": "8",
    "__SIZEOF_POINTER__": "8",
    "NULL": "((void *)0)",
    "__const": "const",
    "__signed__": "signed",
}


class PreprocessError(Exception):
    """`line` is 1-based within the file `file`."""

    def __init__(self, message: str, file: str, line: int) -> None:
        super().__init__(message)
        self.file, self.line = file, line


class Macro:
    __slots__ = ("body", "parameters")

    def __init__(self, body: str, parameters: list[str] | None = None) -> None:
        self.body = body
        self.parameters = parameters


class Preprocessor:
    """Keeps its macros from one text to the next."""

    def __init__(
        self, include_dirs: Iterable[str] = (), define_macros: Iterable[tuple[str, str | None]] = ()
    ) -> None:
        self.include_dirs = [os.fspath(folder) for folder in include_dirs]
        self.macros: dict[str, Macro] = {name: Macro(body) for name, body in _PREDEFINED.items()}
        self.macros |= {name: Macro("") for name in _NOTHING}
        self.own: set[str] = set(self.macros)  # names that are not constants of a library
        for name, value in define_macros:
            self.macros[name] = Macro("1" if value is None else str(value))
            self.own.add(name)
        self.once: set[str] = set()
        self.files: dict[str, str] = {}  # every text that was read, for messages
        self._left = 0
        self._packed: list[bool] = [False]  # one entry for each #pragma pack(push)

    def run(self, text: str, file: str) -> str:
        """The text with its directives followed. Included files stand between `# line` marks."""
        out: list[str] = []
        self._file(text, file, 0, out)
        return "".join(out)

    def _file(self, text: str, file: str, depth: int, out: list[str]) -> None:
        if depth > _MAX_DEPTH:
            raise PreprocessError("includes are nested too deeply", file, 1)
        self.files[file] = text
        text = without_comments(text.replace("\r\n", "\n"))
        # Each entry: this branch is read; a branch was taken; the outside is read; its line.
        open_ifs: list[list[Any]] = []
        pending: list[str] = []
        lines = text.split("\n")
        at = 0
        while at < len(lines):
            line, first = lines[at], at
            at += 1
            stripped = line.lstrip()
            reading = not open_ifs or open_ifs[-1][0]
            if not stripped.startswith("#"):
                pending.append(line + "\n" if reading else "\n")
                continue
            while line.endswith("\\") and at < len(lines):
                line = line[:-1] + lines[at]
                at += 1
            out.append(self._expand_block(pending, file, first))
            pending = ["\n" * (at - first)]
            match = _DIRECTIVE.match(line)
            name, rest = (match[1] or "", match[2]) if match else ("", "")
            if name in ("if", "ifdef", "ifndef", "elif", "else", "endif"):
                self._conditional(name, rest, open_ifs, file, first + 1)
            elif reading and name == "include":
                out.append("".join(pending))
                pending = []
                self._include(rest, file, at, depth, out)
            elif reading:
                self._directive(name, rest, file, first + 1)
        out.append(self._expand_block(pending, file, len(lines)))
        if open_ifs:
            raise PreprocessError("#if without #endif", file, open_ifs[-1][3])

    def _conditional(self, name: str, rest: str, open_ifs: list[list[Any]], file: str, line: int) -> None:
        if name in ("if", "ifdef", "ifndef"):
            outside = not open_ifs or open_ifs[-1][0]
            taken = outside and self._condition(name, rest, file, line)
            open_ifs.append([taken, taken, outside, line])
            return
        if not open_ifs:
            raise PreprocessError(f"#{name} without #if", file, line)
        state = open_ifs[-1]
        if name == "endif":
            open_ifs.pop()
        else:
            wanted = name == "else" or (not state[1] and state[2] and self._condition("if", rest, file, line))
            state[0] = state[2] and not state[1] and wanted
            state[1] = state[1] or state[0]

    def _condition(self, name: str, rest: str, file: str, line: int) -> bool:
        if name != "if":
            words = rest.split()
            if not words:
                raise PreprocessError(f"#{name} needs a name", file, line)
            return (words[0] in self.macros) == (name == "ifdef")
        text = re.sub(
            r"\bdefined\s*(?:\(\s*([A-Za-z_]\w*)\s*\)|([A-Za-z_]\w*))",
            lambda match: "1" if (match[1] or match[2]) in self.macros else "0",
            rest,
        )
        text = re.sub(r"\b__has_\w+\s*\([^()]*\)", "0", text)
        from cwrapjit.library.constants import evaluate_condition

        try:
            return evaluate_condition(self.expand(text))
        except ValueError as error:
            raise PreprocessError(f"#if: {error}", file, line) from None

    def _directive(self, name: str, rest: str, file: str, line: int) -> None:
        if name == "define":
            match = _DEFINE.match(rest)
            if match is None:
                raise PreprocessError("#define needs a name", file, line)
            parameters = None
            if match[2] is None and match[4].startswith("("):
                raise PreprocessError("#define: the parameters have no end", file, line)
            if match[2] is not None:
                parameters = [each.strip() for each in match[3].split(",")] if match[3].strip() else []
            self.macros[match[1]] = Macro(match[4].strip(), parameters)
            self.own.discard(match[1])
        elif name == "undef":
            self.macros.pop(rest.strip(), None)
        elif name == "error":
            raise PreprocessError(f"#error {rest.strip()}", file, line)
        elif name == "pragma" and rest.strip() == "once":
            self.once.add(file)
        elif name == "pragma" and rest.split("(")[0].strip() == "pack":
            self._pack([each.strip() for each in rest.partition("(")[2].partition(")")[0].split(",")])

    def _pack(self, words: list[str]) -> None:
        """#pragma pack(...)"""
        if words[0] == "push":
            self._packed.append(self._packed[-1] or len(words) > 1)
        elif words[0] == "pop":
            self._packed = self._packed[:-1] or [False]
        else:
            self._packed[-1] = bool(words[0])

    def _include(self, rest: str, file: str, next_line: int, depth: int, out: list[str]) -> None:
        match = _INCLUDE.match(rest) or _INCLUDE.match(self.expand(rest))
        if match is None:
            raise PreprocessError("#include needs a file name", file, next_line)
        wanted = match[1] or match[2]
        folders = ([os.path.dirname(file)] if match[2] else []) + self.include_dirs
        for folder in folders:
            path = os.path.join(folder, wanted)
            if os.path.isfile(path):
                if path not in self.once:
                    with open(path, encoding="utf-8", errors="replace") as stream:
                        text = stream.read()
                    out.append(f'# 1 "{path}"\n')
                    self._file(text, path, depth + 1, out)
                    out.append(f'\n# {next_line + 1} "{file}"\n')
                return

    # ---- macros ------------------------------------------------------------------------------------

    def _expand_block(self, lines: list[str], file: str, line: int) -> str:
        text = "".join(lines)
        if not text.strip():
            return text
        text = text.replace("\\\n", " \n")
        self._left = _MAX_EXPANSIONS + 20 * len(text)
        try:
            plain = _COMPLEX.sub(_known_complex, self._expand(text, frozenset()))
            return plain.replace("{", "{" + attributes.LAYOUT) if self._packed[-1] else plain
        except (PreprocessError, RecursionError) as error:
            raise PreprocessError(str(error), file, line) from None

    def expand(self, text: str) -> str:
        """One line with its macros replaced."""
        self._left = _MAX_EXPANSIONS
        return self._expand(text, frozenset())

    def _expand(self, text: str, inside: frozenset[str]) -> str:
        macros = self.macros
        out: list[str] = []
        copied = 0
        scan = _WORD.search
        match = scan(text)
        while match is not None:
            word, end = match[0], match.end()
            macro = macros.get(word)
            if (macro is not None and word not in inside) or word in _CALLS:
                replaced, end = self._replace(macro, word, text, end, inside)
                if replaced is not None:
                    out.append(text[copied : match.start()])
                    out.append(replaced)
                    copied = end
                    self._left -= 1 + len(replaced) // 100
                    if self._left < 0:
                        raise PreprocessError("macros expand too far", "", 0)
            match = scan(text, end)
        if not copied:
            return text
        out.append(text[copied:])
        return "".join(out)

    def _replace(
        self, macro: Macro | None, word: str, text: str, end: int, inside: frozenset[str]
    ) -> tuple[str | None, int]:
        """What stands for a macro and where it ends; None: a function-like macro without arguments."""
        if macro is not None and macro.parameters is None:
            if not macro.body:
                return "", end
            return self._expand(_pasted(macro.body), inside | {word}), end
        arguments, after = _arguments(text, end)
        if arguments is None:
            self._left -= after - end  # read in vain, up to the end
            if self._left < 0:
                raise PreprocessError("too many parentheses have no end", "", 0)
            return None, end
        if macro is None:  # __attribute__((...))
            kept = "\n" * text.count("\n", end, after)
            whole = ",".join(arguments)
            if word == "_Pragma":
                if "pack" in whole:
                    raise PreprocessError('_Pragma("pack") is not supported', "", 0)
                return kept, after
            return attributes.mark(word, whole) + kept, after
        assert macro.parameters is not None
        given = {}
        parameters = macro.parameters
        if parameters and parameters[-1].endswith("..."):
            fixed = len(parameters) - 1
            arguments = [*arguments[:fixed], ",".join(arguments[fixed:])]
            parameters = [*parameters[:-1], parameters[-1][:-3] or "__VA_ARGS__"]
        for i, parameter in enumerate(parameters):
            given[parameter] = arguments[i].strip() if i < len(arguments) else ""
        body = _substitute(macro.body, given, lambda argument: self._expand(argument, inside))
        kept = "\n" * text.count("\n", end, after)
        return self._expand(_pasted(body), inside | {word}) + kept, after


def without_comments(text: str) -> str:
    """Comments become a blank; their line ends stay."""

    def blank(match: re.Match[str]) -> str:
        found = match[0]
        return found if found[0] != "/" else " " + "\n" * found.count("\n")

    return _COMMENT.sub(blank, text)


def _known_complex(match: re.Match[str]) -> str:
    return (match[1] or match[2]) + " _Complex"


def _pasted(body: str) -> str:
    return re.sub(r"\s*##\s*", "", body) if "##" in body else body


def _substitute(body: str, given: dict[str, str], expand: Any) -> str:
    def value(match: re.Match[str]) -> str:
        word = match[0]
        if word not in given:
            return word
        before = body[: match.start()].rstrip()
        after = body[match.end() :].lstrip()
        if before.endswith("##") or after.startswith("##"):
            return given[word]
        if before.endswith("#"):
            return '"' + given[word].replace("\\", "\\\\").replace('"', '\\"') + '"'
        return str(expand(given[word]))

    return re.sub(r'#(?=\s*")', "", _WORD.sub(value, body))


def _arguments(text: str, start: int) -> tuple[list[str] | None, int]:
    """The arguments in parentheses that begin behind `start`, or None, and where they end."""
    at = start
    while at < len(text) and text[at].isspace():
        at += 1
    if at >= len(text) or text[at] != "(":
        return None, start
    depth, begin, found = 0, at + 1, []
    while at < len(text):
        char = text[at]
        if char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
            if depth == 0:
                found.append(text[begin:at])
                return found, at + 1
        elif char == "," and depth == 1:
            found.append(text[begin:at])
            begin = at + 1
        elif char in "\"'":
            match = _WORD.match(text, at)
            at = match.end() - 1 if match else at
        at += 1
    return None, at
