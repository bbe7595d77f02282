"""Preprocesses C declarations and headers: comments, conditionals, macros, includes.

The user's text is read here. Lines keep their numbers, so that messages have positions in that text. libtcc,
which compiles the text, says which of its conditions hold (conditions.py). The machine's C compiler reads its
#include lines (headers.py); without one they are read here, too.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable, Iterable
from typing import Any

from cwrapjit._unsupported import built_for
from cwrapjit.library import attributes, conditions, constants, headers

_COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
_CONTINUED = re.compile(r"^(?:.*\\\n)+.*", re.MULTILINE)
_WORD = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|[A-Za-z_]\w*|\.?[0-9](?:[eEpP][+-]|[\w.])*')
_OPENED = re.compile(r"\s*\(")
_MARK = re.compile(r'[][(){},]|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'')
_DIRECTIVE = re.compile(r"\s*#\s*([A-Za-z_]\w*)?(.*)", re.DOTALL)
_DEFINE = re.compile(r"\s*([A-Za-z_]\w*)(\(([\w\s,.]*)\))?(.*)", re.DOTALL)
_MORE_INCLUDES = re.compile(r"\s*(?:#\s*include\b(.+))?")
_INCLUDE = re.compile(r'\s*(?:<([^<>"]+)>|"([^"]+)")')
_COMPLEX = re.compile(r"\b(float|double)\s+complex\b|\bcomplex\s+(float|double)\b")
_MAX_DEPTH = 100
_MAX_EXPANSIONS = 20000  # replacements within one logical line
_MOST_BLANK_LINES = 100_000  # in a header; more of them come from a #line

# Compilers' words that mean nothing here.
_NOTHING = (
    "__extension__", "__restrict", "__restrict__", "__inline", "__inline__", "__volatile__", "__cdecl",
    "__stdcall", "_Noreturn", "__BEGIN_DECLS", "__END_DECLS", "__THROW", "_Thread_local",
)  # fmt: skip
_CALLS = ("__attribute__", "__attribute", "__declspec", "__asm__", "__asm", "asm", "_Alignas",
          "__nonnull", "_Pragma")  # fmt: skip
# Macros of gcc, as far as headers ask for them: on each machine, and on all.
_OF_MACHINE = {
    "x86_64": {"__x86_64__": "1", "__WCHAR_TYPE__": "int"},
    "aarch64": {"__aarch64__": "1", "__CHAR_UNSIGNED__": "1", "__WCHAR_TYPE__": "unsigned int"},
}
_PREDEFINED = {
    **_OF_MACHINE[built_for()[0]],
    "__STDC__": "1",
    "__STDC_VERSION__": "201112L",
    "__linux__": "1",
    "__unix__": "1",
    "__LP64__": "1",
    "__CHAR_BIT__": "8",
    "__SIZEOF_POINTER__": "8",
    "__SIZE_TYPE__": "unsigned long",
    "__PTRDIFF_TYPE__": "long",
    "__WINT_TYPE__": "unsigned int",
    "NULL": "((void *)0)",
}
# What remains to be replaced after a compiler's preprocessor.
_SPELLINGS = {**dict.fromkeys(_NOTHING, ""), "__const": "const", "__signed__": "signed"}
_COMPILERS_TYPES = {"__float128": "_Float128", "_Float32": "float", "_Float64": "double",
                    "_Float32x": "double", "_Float64x": "long double"}  # fmt: skip
_INFINITIES = ("__builtin_inff", "__builtin_inf", "__builtin_huge_valf", "__builtin_huge_val")


class PreprocessError(Exception):
    """`line` is 1-based within the file `file`."""

    def __init__(self, message: str, file: str, line: int) -> None:
        super().__init__(message)
        self.file, self.line = file, line


@dataclasses.dataclass(eq=False)
class Macro:
    body: str
    parameters: list[str] | None = None

    def definition(self, name: str) -> str:
        """Returns the line that defines the macro."""
        parameters = "" if self.parameters is None else f"({','.join(self.parameters)})"
        return f"#define {name}{parameters} {self.body}".replace("\n", " ")


class Preprocessor:
    """A preprocessor that keeps its macros from one text to the next."""

    def __init__(
        self, include_dirs: Iterable[str] = (), define_macros: Iterable[tuple[str, str | None]] = (),
        as_libtcc: bool = False,
    ) -> None:  # fmt: skip
        self.include_dirs = [os.fspath(folder) for folder in include_dirs]
        self._as_libtcc = as_libtcc  # headers are read as libtcc reads them
        self.given = list(define_macros)
        spellings = {name: Macro(body) for name, body in _SPELLINGS.items()}
        self.macros = {name: Macro(body) for name, body in _PREDEFINED.items()} | spellings
        self.macros |= {name: Macro("1e999", []) for name in _INFINITIES}
        self._after_compiler = {**spellings, **{name: Macro(body) for name, body in _COMPILERS_TYPES.items()}}
        self._builtin = set(self.macros)  # names that are never given to a compiler
        self.own: set[str] = set(self.macros)  # names that are not constants of a library
        for name, value in self.given:
            self.macros[name] = Macro("1" if value is None else str(value))
            self.own.add(name)
        self._file_of: dict[str, str] = {}  # macro -> file that defines it
        self.origins = headers.Origins(self.include_dirs)
        self.headers_by = ""  # what read the last #include line, and why not the compiler
        self.includes: list[str] = []  # the lines of the user's texts
        self._asks = False  # the user's text has nothing but directives
        self._table = self.macros
        self.once: set[str] = set()
        self.files: dict[str, str] = {}  # every text that was read, for messages
        self._left = 0
        self._packed: list[str] = [""]  # one entry for each #pragma pack(push)
        self.is_declared: Callable[[str], bool] = lambda name: False  # earlier texts declare it
        self._holds: dict[tuple[str, int], bool] = {}  # conditions of a text, by file and line
        self._unsaid = ""  # file of the text for which C does not know them
        self._read: list[str] | None = None  # while a user's text is expanded: all that precedes it

    def run(self, text: str, file: str) -> str:
        """Returns the text after following its directives. Included files are between `# line` marks."""
        out: list[str] = []
        before = self._known()
        self.ask(text, file)
        try:
            self._file(text, file, 0, out)
        except BaseException:
            self._know(*before)
            raise
        return "".join(out)

    def _known(self) -> tuple[Any, ...]:
        """Returns the state to restore after a text that fails."""
        copied = (each.copy() for each in (self.macros, self._builtin, self.own, self.once))
        return len(self.includes), self._packed, self.headers_by, *copied

    def _know(self, includes: int, *known: Any) -> None:
        del self.includes[includes:]
        self._packed, self.headers_by, self.macros, self._builtin, self.own, self.once = known
        self._table = self.macros

    def _file(self, text: str, file: str, depth: int, out: list[str]) -> None:
        if depth > _MAX_DEPTH:
            raise PreprocessError("includes are nested too deeply", file, 1)
        self.files[file] = text
        lines, at = _logical_lines(text), 0
        # Each entry: this branch is read; a branch was taken; the surroundings are read; its line.
        open_ifs: list[list[Any]] = []
        pending: list[str] = []
        while at < len(lines):
            line, first = lines[at], at
            reading = not open_ifs or open_ifs[-1][0]
            if not line.lstrip().startswith("#"):
                pending.append(line + "\n" if reading else "\n")
                at += 1
                continue
            match, at = _DIRECTIVE.match(line), at + 1
            name, rest = (match[1] or "", match[2]) if match else ("", "")
            out.append(self._expand_block(pending, file, first, None if depth else out))
            is_replaced = False
            if reading and name == "include":
                includes, at = ([rest], at) if depth else _includes_of(rest, lines, at)
                is_replaced = self._include(includes, file, at, depth, out)
            else:
                self.follow(name, rest, open_ifs, file, first + 1)
            pending = [] if is_replaced else ["\n" * (at - first)]
        out.append(self._expand_block(pending, file, len(lines), None if depth else out))
        if open_ifs:
            raise PreprocessError("#if without #endif", file, open_ifs[-1][3])

    def follow(self, name: str, rest: str, open_ifs: list[list[Any]], file: str, line: int) -> None:
        """Follows a directive other than #include."""
        if name in ("if", "ifdef", "ifndef", "elif", "else", "endif"):
            self._conditional(name, rest, open_ifs, file, line)
        elif not open_ifs or open_ifs[-1][0]:
            self._directive(name, rest, file, line)

    def ask(self, text: str, file: str, environment: object = None, more: Iterable[str] = ()) -> bool:
        """Asks C which conditions of a text hold. False: it must be asked for each. more: lines before it."""
        macros = [*self._users_macros(), *more]
        found = conditions.holding(text, file, macros, environment, self.include_dirs)
        self._holds = {(file, line): holds for line, holds in (found or {}).items()}
        self._unsaid = file if found is None else ""
        return found is not None

    def _users_macros(self) -> list[str]:
        """Returns the #define lines of what compilers do not define themselves."""
        return [
            macro.definition(name) for name, macro in list(self.macros.items()) if name not in self._builtin
        ]

    def include(self, rest: str, file: str, line: int) -> None:
        """Reads the macros of a file that is included."""
        self._include([rest], file, line, 0, [])

    def takes_arguments(self, text: str) -> bool:
        """True if a text ends with the name of a function-like macro."""
        macro = self.macros.get((text.split() or [""])[-1])
        return macro is not None and macro.parameters is not None

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
        holds = self._holds.get((file, line))
        if file == self._unsaid:
            alone = "\n" * (line - 1) + f"#{name} {rest}\n#endif\n"
            found = conditions.holding(alone, file, self._users_macros(), None, self.include_dirs)
            holds = (found or {}).get(line)
        if holds is not None:
            return holds
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
        try:
            return constants.evaluate_condition(self.expand(text))
        except (ValueError, PreprocessError) as error:
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
            self._define(match[1], Macro(match[4].strip(), parameters), file)
        elif name == "undef":
            self.macros.pop(rest.strip(), None)
        elif name == "error":
            raise PreprocessError(f"#error {rest.strip()}", file, line)
        elif name == "pragma" and rest.strip() == "once":
            self.once.add(file)
        elif name == "pragma" and rest.split("(")[0].strip() == "pack":
            self._pack([each.strip() for each in rest.partition("(")[2].partition(")")[0].split(",")])

    def _define(self, name: str, macro: Macro, file: str) -> None:
        if not file:  # the compiler's
            if name[0] != "_" or (name in self.macros and name not in self._builtin):
                return
            self._builtin.add(name)
        self.macros[name] = macro
        self._file_of[name] = file
        if not file or file in self.origins.foreign:
            self.own.add(name)
        else:
            self.own.discard(name)

    def _pack(self, words: list[str]) -> None:
        """Follows #pragma pack(...)."""
        if words[0] == "push":
            self._packed = [*self._packed, words[-1] if len(words) > 1 else self._packed[-1]]
        elif words[0] == "pop":
            self._packed = self._packed[:-1] or [""]
        else:
            self._packed = [*self._packed[:-1], words[0]]

    def _include(self, includes: list[str], file: str, next_line: int, depth: int, out: list[str]) -> bool:
        """Includes what consecutive #include lines name. False: they bring nothing."""
        if not depth:
            self._asks = all(line.lstrip()[:1] in ("", "#") for line in _logical_lines(self.files[file]))
        wanted = []
        for rest in includes:
            match = _INCLUDE.match(rest) or _INCLUDE.match(self.expand(rest))
            if match is None:
                raise PreprocessError("#include needs a file name", file, next_line)
            name = match[1] or match[2]
            if os.path.exists(name) and not (os.path.isfile(name) or os.path.isdir(name)):
                raise PreprocessError(f"include file {name!r} is no regular file", file, next_line)
            wanted.append((name, match[2] is not None))
        before = len(out)
        if not depth:
            self._forget_guards(wanted)
        if depth or not self._include_by_compiler(wanted, out):
            for name, quoted in wanted:
                if not depth:
                    self._forget_guards([(name, quoted)])
                found = self._include_by_ourselves(name, quoted, file, depth, out)
                # Headers of C itself may be missing: the user's text may declare what it needs.
                if not found and not depth and (self._asks or name not in headers.ISO):
                    lines = self.files[file].split("\n")
                    line = next((at for at, each in enumerate(lines, 1) if name in each), next_line)
                    raise PreprocessError(f"include file {name!r} not found", file, line)
        if not depth:
            self.includes += [_line_of(*each) for each in wanted]
        if len(out) == before:
            return False
        out.append(f'\n# {next_line + 1} "{file}"\n')
        return True

    def _forget_guards(self, wanted: list[tuple[str, bool]]) -> None:
        """Reads a header again if only others have included it so far, and the user now asks for it."""
        before = set(self.origins.foreign)
        for name, quoted in wanted:
            self.origins.again(name, self._asks or quoted)
        again = before - self.origins.foreign
        self.once -= again
        for name in [name for name, file in self._file_of.items() if file in again] if again else []:
            self.macros.pop(name, None)

    def _include_by_compiler(self, wanted: list[tuple[str, bool]], out: list[str]) -> bool:
        lines = [_line_of(*each) for each in wanted]
        end, before = len(out), self._known()
        try:
            said = headers.expanded(lines, self._users_macros(), self.include_dirs, self._as_libtcc)
            self._table = self._after_compiler
            self._take_expanded(said, out)
        except (headers.Failed, PreprocessError) as reason:
            self._know(*before)
            self.headers_by = f"cwrapjit: {reason}"
            del out[end:]
            return False
        finally:
            self._table = self.macros
        self.headers_by = "the C compiler"
        return True

    def _take_expanded(self, said: str, out: list[str]) -> None:
        """Takes text and macros from the output of the compiler's preprocessor."""
        block: list[str] = []
        current, next_line = "", 0
        for file, line, text in headers.lines_of(said, self.origins, self._asks):
            directive = _DIRECTIVE.match(text)
            if directive is not None:
                if directive[1] == "pragma":
                    out.append(self._expand_block(block, file, line))
                    block = []
                self._directive(directive[1] or "", directive[2], file, line)
            elif file and text.strip():
                if block and file == current and _is_within(line, next_line, block[-1]):
                    block[-1] = block[-1][:-1] + text + "\n"
                    continue
                if file != current or not 0 <= line - next_line < _MOST_BLANK_LINES:
                    out.append(self._expand_block(block, current, next_line))
                    out.append(f'\n# {line} "{file}"\n')
                    block, current, next_line = [], file, line
                block.append("\n" * (line - next_line) + text + "\n")
                next_line = line + 1
        out.append(self._expand_block(block, current, next_line))

    def _include_by_ourselves(self, name: str, quoted: bool, file: str, depth: int, out: list[str]) -> bool:
        """Includes a file; False: it is not found. System headers with errors are left out."""
        system = headers.system_folders()
        for folder in [os.path.dirname(file)] * quoted + self.include_dirs + system:
            path = os.path.join(folder, name)
            if not os.path.isfile(path):
                continue
            self.origins.enter(path, name, quoted, file if depth else None, self._asks)
            if path not in self.once:
                with open(path, encoding="utf-8", errors="cwrapjit.octal") as stream:
                    text = stream.read()
                end, packed = len(out), self._packed
                out.append(f'\n# 1 "{path}"\n')
                try:
                    self._file(text, path, depth + 1, out)
                except PreprocessError:
                    if folder not in system:
                        raise
                    del out[end:]
                    self._packed = packed
            return True
        return False

    # ---- macros ------------------------------------------------------------------------------------

    def _expand_block(self, lines: list[str], file: str, line: int, before: list[str] | None = None) -> str:
        text = "".join(lines)
        if not text.strip():
            return text
        self._left = _MAX_EXPANSIONS + 20 * len(text)
        self._read = before
        try:
            plain = _COMPLEX.sub(
                lambda match: f"{match[1] or match[2]} _Complex", self._expand(text, frozenset())
            )
            mark = f"{attributes.LAYOUT}pack {self._packed[-1]}{attributes.LAYOUT}"
            return plain.replace("{", "{" + mark) if self._packed[-1] else plain
        except (PreprocessError, RecursionError) as error:
            raise PreprocessError(str(error), file, line) from None
        finally:
            self._read = None

    def _is_of_a_function(self, name: str) -> bool:
        """True for a macro over a header's own function, like curl_easy_setopt(), if that is declared."""
        if self._read is None or self._file_of.get(name, "<")[:1] in ("", "<"):
            return False
        declared = re.compile(rf"\b{name}\s*\(")
        return self.is_declared(name) or any(declared.search(text) for text in self._read)

    def expand(self, text: str) -> str:
        """Expands the macros in one line."""
        self._left = _MAX_EXPANSIONS
        try:
            return self._expand(text, frozenset())
        except RecursionError:
            raise PreprocessError("macros that use macros are nested too deeply", "", 0) from None

    def _expand(self, text: str, inside: frozenset[str]) -> str:
        macros = self._table
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
        """Returns the replacement and where the macro ends. None: a function-like macro without arguments."""
        if macro is not None and macro.parameters is None:
            if not macro.body:
                return "", end
            return self._expand(_pasted(macro.body), inside | {word}), end
        if macro is not None and self._is_of_a_function(word):
            return None, end
        arguments, after = _arguments(text, end)
        if arguments is None:
            self._left -= after - end  # what was read is of no use
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
            return attributes.mark(word, self._expand(whole, inside)) + kept, after
        assert macro.parameters is not None
        parameters = macro.parameters
        if parameters and parameters[-1].endswith("..."):
            fixed = len(parameters) - 1
            arguments = [*arguments[:fixed], ",".join(arguments[fixed:])]
            parameters = [*parameters[:-1], parameters[-1][:-3] or "__VA_ARGS__"]
        lacking = [""] * (len(parameters) - len(arguments))
        given = dict(zip(parameters, map(str.strip, [*arguments, *lacking]), strict=False))
        body = _substitute(macro.body, given, lambda argument: self._expand(argument, inside))
        kept = "\n" * text.count("\n", end, after)
        return self._expand(_pasted(body), inside | {word}) + kept, after


def _includes_of(first: str, lines: list[str], at: int) -> tuple[list[str], int]:
    """Returns what consecutive #include lines name, and the line after them."""
    includes = [first]
    while at < len(lines) and (more := _MORE_INCLUDES.fullmatch(lines[at])):
        if more[1] and not _INCLUDE.match(more[1]):
            break  # macros of these files may say what it includes
        includes += [more[1]] if more[1] else []
        at += 1
    return includes, at


def _line_of(name: str, quoted: bool) -> str:
    return f'#include "{name}"' if quoted else f"#include <{name}>"


def _logical_lines(text: str) -> list[str]:
    """Joins continued lines, with empty ones after them. Comments become a blank."""

    def blank(match: re.Match[str]) -> str:
        found = match[0]
        return found if found[0] != "/" else " " + "\n" * found.count("\n")

    def join(match: re.Match[str]) -> str:
        return match[0].replace("\\\n", "") + "\n" * match[0].count("\n")

    return _COMMENT.sub(blank, _CONTINUED.sub(join, text.replace("\r\n", "\n"))).split("\n")


def _is_within(line: int, next_line: int, before: str) -> bool:
    """True if the line before goes on here: gcc begins a new one around a macro of a system header."""
    return line == next_line - 1 or (line < next_line and before.rstrip()[-1:] not in (";", "}"))


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
    """Returns the arguments in parentheses after `start`, or None, and where they end."""
    opened = _OPENED.match(text, start)
    if opened is None:
        return None, start
    depth, begin, found = 1, opened.end(), []
    for match in _MARK.finditer(text, begin):
        mark = match[0]
        depth += (mark in "([{") - (mark in ")]}")
        if depth == 0 or (depth == 1 and mark == ","):
            found.append(text[begin : match.start()])
            begin = match.end()
        if depth == 0:
            return found, begin
    return None, len(text)
