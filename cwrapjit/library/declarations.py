"""Reads C text into declarations with resolved types. pycparser parses; this file interprets its trees."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import gc
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from cwrapjit import _cwrapjit
from cwrapjit._comments import commented
from cwrapjit._cwrapjit import CompileError, find_typeless
from cwrapjit._imports import load
from cwrapjit._words import KEYWORDS
from cwrapjit.library import attributes, constants, thunks, types
from cwrapjit.library.pieces import (
    Piece,
    batches,
    declared_name,
    defined_names,
    enumerators,
    is_definition,
    is_type_alone,
    names_of,
    pieces,
    tags_for_later,
)
from cwrapjit.library.preprocess import PreprocessError, Preprocessor

_WORD = re.compile(r"[A-Za-z_]\w*")
_POSITION = re.compile(r"^(?P<file>.*?):(?P<line>\d+)(?::(?P<column>\d+))?: (?P<text>.*)", re.DOTALL)
_MAX_NESTING = 200
# Matches a word that begins a declaration or a parameter, in front of a name or a star.
_TYPE_PLACE = re.compile(
    r"(?:^|[(,;{}])\s*(?:(?:const|volatile|extern|static|inline|restrict|register|typedef)\s+)*"
    r"([A-Za-z_]\w*)(?=\s+(?:const\s+)?[A-Za-z_]|\s*\*|\s*[,)]|\s+restrict)"
)
_BRACKET = re.compile(r"[()\[\]{}]|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'")
_DEFINES_TYPES = re.compile(r'\s*(?:_Pragma\("cwj_\d"\)\s*)*(?:typedef\b|(?:struct|union|enum)\b[^;(]*\{)')
_POINTED_DIM = re.compile(r"\[\s*\*\s*([A-Za-z_]\w*)\s*\]")
_KEYWORDS = KEYWORDS | set(
    "_Bool _Complex _Atomic _Alignas _Alignof _Noreturn _Static_assert _Thread_local".split()
)
_COMPILERS_WORDS = ("_Float16", "_Float128")
# Exceptions of pycparser for some texts that are not C. No wider classes: a signal handler may raise inside
# the parser, and such an exception has nothing to do with the text.
_STUMBLES = (AssertionError, AttributeError, IndexError, KeyError, TypeError, ValueError)


@dataclasses.dataclass
class ParameterDeclaration:
    name: str  # "" if the declaration has none
    type: Any
    coord: Any = None


@dataclasses.dataclass
class FunctionDeclaration:
    name: str
    result: Any
    parameters: list[ParameterDeclaration]
    variadic: bool = False
    prototyped: bool = True  # False: f(), and parameters without types, as in old C
    private: bool = False  # static
    by_libtcc: bool = False  # libtcc passes some structs in its own way
    coord: Any = None
    address: int = 0  # of the function to call, which `code` keeps; 0: the symbol's
    code: Any = None
    text: str = ""  # as the user wrote it, in one line
    slices: Any = None  # the text of source= that defines it, if it broadcasts
    fixed: int = -1  # with varargs=: how many parameters precede the dots


def declaration_of(ctype: types.Callable, name: str, coord: Any = None) -> FunctionDeclaration:
    """Returns the declaration of a function of this type."""
    pairs = zip(ctype.names, ctype.parameters, strict=True)
    parameters = [ParameterDeclaration(*pair, coord) for pair in pairs]
    return FunctionDeclaration(name, ctype.result, parameters, ctype.variadic, ctype.prototyped, coord=coord)


def _named_structs(found: FunctionDeclaration) -> Iterator[types.Struct]:
    for ctype in (found.result, *(each.type for each in found.parameters)):
        while (target := types.target_of(ctype)) is not None:
            ctype = target
        if isinstance(ctype, types.Struct):
            yield ctype


def structs_of(found: FunctionDeclaration) -> set[types.Struct]:
    """Returns the structs that a function takes or returns: by value, pointer or pointer to a pointer."""
    return {types.final(struct) for struct in _named_structs(found)}


def has_united(found: FunctionDeclaration) -> bool:
    """True if one of its structs was found to be another one."""
    return any(struct.united is not None for struct in _named_structs(found))


@dataclasses.dataclass
class VariableDeclaration:
    name: str
    type: Any
    const: bool = False
    private: bool = False
    external: bool = False  # extern: defines nothing
    coord: Any = None


@dataclasses.dataclass
class Parsed:
    """The declarations of one text, in its order."""

    functions: list[FunctionDeclaration] = dataclasses.field(default_factory=list)
    variables: list[VariableDeclaration] = dataclasses.field(default_factory=list)
    typedefs: dict[str, Any] = dataclasses.field(default_factory=dict)
    failed: list[tuple[str, CompileError]] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(eq=False)
class Unread:
    """A declaration of functions or variables that has not been parsed."""

    piece: Piece
    names: list[str]
    declared: Any = None  # declared.Said: what declare() said of it
    is_read: bool = False

    def __str__(self) -> str:
        return " ".join(self.piece[0].split()).partition("{")[0].rstrip("; ")


class Declarations:
    """The types, constants and macros that a library knows. They grow with every text that is read."""

    def __init__(
        self, include_dirs: Iterable[str] = (), define_macros: Iterable[Any] = (), header: str = "",
        header_file: str = "", as_libtcc: bool = False,
    ) -> None:  # fmt: skip
        self._header, self._header_file, self._header_read = header, header_file, not header
        self._header_functions: dict[str, FunctionDeclaration] = {}
        self.preprocessor = Preprocessor(include_dirs, define_macros, as_libtcc)
        self.as_libtcc = as_libtcc  # True if libtcc compiles all that is declared
        self.typedefs: dict[str, Any] = dict(types.KNOWN)
        self.tags: dict[str, Any] = {}  # "struct point" -> type
        python = types.Struct("struct", "_object", "PyObject")
        self.typedefs["PyObject"] = self.tags["struct _object"] = python
        self.enumerators: dict[str, int] = {}
        self.symbols: dict[str, str] = {}  # C name -> linker symbol, where they differ
        self._altered = 0  # attributes of the declaration change a layout (1) or a type (2)
        self.in_header = False  # the current text is the library's header
        self._tagless: list[tuple[Any, types.Struct]] = []  # nodes of the current tree, and their structs
        self.in_foreign = False  # the current text is a foreign header's; see headers.Origins
        # Types that are not read yet, by the names that they define: (in header=, foreign).
        self._unread: dict[str, dict[Piece, tuple[bool, bool]]] = {}
        self._in_hand: set[str] = set()  # the names that the current type defines
        # Types that could not be read in the midst of another one.
        self._again: list[tuple[Piece, tuple[bool, bool]]] = []
        self._ours: set[Piece] = set()  # the user's types that were kept in self._unread
        # Called before a name changes its meaning, so that earlier declarations are read with the old one.
        self.before_change: Callable[[], None] = lambda: None
        self.failed: list[tuple[str, CompileError]] = []  # types that were read late, with errors
        self.foreign_enumerators: set[str] = set()
        self._comments: dict[str, str] = {}  # of functions: from all texts and the files in _asked
        self._asked: set[str] = set()  # the files that were searched for comments
        self.signatures: dict[str, types.Callable] = {}  # of capsules, with the type that each agrees with
        self._turns: dict[int, threading.RLock] = {}

    @property
    def turn(self) -> threading.RLock:
        """Returns the lock of readers. Each process has its own: a forked child lacks the other threads."""
        return self._turns.setdefault(os.getpid(), threading.RLock())

    def apart(self, names: set[str], words: set[str]) -> Declarations:
        """Returns a copy for a text that contains `words`, and defines types with `names` itself."""
        with self.turn:
            self.fetch(words)  # reads into self, not into the copy
            made = copy.copy(self)
        made.typedefs = {name: each for name, each in self.typedefs.items() if name not in names}
        made.tags = {tag: each for tag, each in self.tags.items() if tag.split()[-1] not in names}
        made.enumerators = {name: each for name, each in self.enumerators.items() if name not in names}
        made.before_change = lambda: None
        return made

    # ---- reading -----------------------------------------------------------------------------------

    def read_header(self) -> None:
        """Reads header=, whose types, enums and macros all declarations know."""
        with self.turn:
            if self._header_read:
                return
            self._header_read = True  # set first, so that a header with an error is read once
            try:
                with self._within(True, False):
                    parsed = self.read_each(self._header, self._header_file)
                self._header_functions.update({each.name: each for each in parsed.functions})
            except CompileError:
                raise
            except BaseException:  # such as Ctrl-C, while the compiler runs
                self._header_read = False
                raise

    @contextlib.contextmanager
    def _within(self, in_header: bool, in_foreign: bool) -> Iterator[None]:
        """Sets the state for reading another text in the midst of one."""
        before = self._altered, self.in_header, self.in_foreign
        self._altered, self.in_header, self.in_foreign = 0, in_header, in_foreign
        try:
            yield
        finally:
            self._altered, self.in_header, self.in_foreign = before

    def header_function(self, name: str) -> FunctionDeclaration | None:
        """Returns the function that header= declares under this name."""
        self.read_header()
        return self._header_functions.get(name)

    def all_enumerators(self) -> dict[str, int]:
        """Returns the enumerators, with those of header=."""
        self.read_header()
        return self.enumerators

    def name_in_c(self, name: str) -> str:
        """Returns C's name of a function or a type that may be a macro: `#define mpz_clear __gmpz_clear`."""
        self.read_header()
        text = self.preprocessor.expand(name).strip()
        return text if text.isidentifier() else name

    def read(self, text: str, file: str) -> Parsed:
        """Reads all declarations of a text. Raises CompileError, with position and caret, if it cannot."""
        parsed = Parsed()
        self.read_header()
        with self.turn:
            plain = self._plain(text, file)
            if "\n# " in plain:  # it includes files, whose faults are not the text's
                every = list(pieces(plain, file))
                self.read_pieces(each for each in every if each[2] != file)
                plain = _at_their_lines([each for each in every if each[2] == file])
            self._take(self._tree(load("pycparser").CParser(), plain, file, 1), parsed)
        return parsed

    def read_each(self, text: str, file: str) -> Parsed:
        """Reads like read(), but lists what does not parse in `failed`, and reads the rest."""
        with self.turn:
            return self.read_pieces(pieces(self._plain(text, file), file))

    def read_later(self, text: str, file: str) -> tuple[Parsed, list[Unread]]:
        """Reads like read_each(), but keeps types until they are named, and returns declarations unread."""
        self.read_header()
        later: list[Unread] = []
        ours: list[Piece] = []

        def now() -> Iterator[Piece]:
            for each in self._without_foreign(pieces(self._plain(text, file), file)):
                if is_type_alone(each[0]):
                    ours.append(each)
                    continue
                names = None if _DEFINES_TYPES.match(each[0]) else names_of(each[0])
                if names is None:
                    yield each
                elif names:
                    later.append(Unread(each, names))

        with self.turn:
            earlier = set(self._unread)
            at_once = list(now())
            self._keep_types(ours, earlier)
            return self.read_pieces(at_once), later

    def _keep_types(self, found: Iterable[Piece], earlier: set[str]) -> None:
        """Keeps the user's types for later. Reads those at once whose names had a meaning before."""
        again: set[str] = set()
        for each in found:
            if each not in self._ours:
                self._ours.add(each)
                names = defined_names(each[0])
                known = {name for name in names if name in earlier or self._is_known(name)}
                self.fetch(known)
                again |= known
                self._keep(each, (self.in_header, False))
        self.fetch(again)

    def _is_known(self, name: str) -> bool:
        tags = (f"{kind} {name}" in self.tags for kind in ("struct", "union", "enum"))
        return name in self.typedefs or name in self.enumerators or any(tags)

    def read_all_types(self) -> None:
        """Reads all types of the user's texts that nothing has named so far."""
        with self.turn:
            self.fetch(
                [name for name, each in list(self._unread.items()) if not all(f for _, f in each.values())]
            )

    def unread_names(self) -> tuple[set[str], set[str]]:
        """Returns the enumerators, and the structs and unions, of the user's types that are not read yet."""
        constants, structs = set(), set()
        with self.turn:
            for name, found in self._unread.items():
                for (piece, _, _), (_, foreign) in found.items():
                    if foreign:
                        continue
                    if name in enumerators(piece):
                        constants.add(name)
                    elif re.match(r"\s*(?:typedef\s+)?(?:const\s+)?(?:struct|union)\b", piece):
                        structs.add(name)
        return constants, structs

    def read_definitions(self, text: str, file: str) -> tuple[Parsed, set[str], set[str]]:
        """Reads like read_each(), without bodies. Also names the functions of the text and its headers."""
        defined: set[str] = set()
        inner: set[str] = set()

        def heads() -> Iterator[Piece]:
            for piece, line, origin in pieces(self._plain(text, file), file):
                head = piece[: piece.find("{")] if is_definition(piece) else ""
                if head and origin == file:
                    defined.add(declared_name(head))
                elif head and origin not in self.preprocessor.origins.foreign:
                    inner.add(declared_name(head))
                yield f"{head};" if head else piece, line, origin

        return self.read_pieces(heads()), defined, inner

    def read_pieces(self, found: Iterable[Piece]) -> Parsed:
        """Reads these pieces, also those that read_later() returned."""
        parsed = Parsed()
        parser = load("pycparser").CParser()
        with self.turn, _no_garbage_collection():
            for batch in batches(self._without_foreign(found)):
                whole = "".join(piece for piece, _, _ in batch)
                _, line, origin = batch[0]
                try:  # parsing many at once is quicker
                    tree = self._tree(parser, whole, origin, line)
                except CompileError:
                    for piece in batch:
                        self._take_alone(parser, piece, parsed)
                else:
                    self._take(tree, parsed, tolerant=True)
        return parsed

    def _without_foreign(self, found: Iterable[Piece]) -> Iterator[Piece]:
        """Yields the pieces of files that are not foreign. Types of foreign ones are kept until needed."""
        for each in found:
            if each[2] not in self.preprocessor.origins.foreign:
                yield each
            elif _DEFINES_TYPES.match(each[0]):
                self._keep(each, (self.in_header, True))

    def _keep(self, piece: Piece, whose: tuple[bool, bool]) -> None:
        for name in defined_names(piece[0]):
            self._unread.setdefault(name, {})[piece] = whose

    def fetch(self, names: Iterable[str]) -> None:
        """Reads kept types that define these names, one by one: each fetches the types that it needs."""
        with self.turn:
            for name in dict.fromkeys(names):
                if name in self._in_hand:
                    continue  # the current type defines it, and may name it
                for piece in list(self._unread.get(name, ())):
                    self._read_kept(piece)

    def _read_kept(self, kept: Piece) -> None:
        found: tuple[bool, bool] | None = None
        names = defined_names(kept[0])
        for name in names:
            pieces_of = self._unread.get(name, {})
            found = pieces_of.pop(kept, found)
            if not pieces_of:
                self._unread.pop(name, None)
        if found is None:
            return  # another piece needed it first
        before, parsed = self._in_hand, Parsed()
        self._in_hand = before | names
        try:
            with self._within(*found):
                self._take_alone(load("pycparser").CParser(), kept, parsed)
        finally:
            self._in_hand = before
        if parsed.failed and self._in_hand:  # types may name each other
            self._again.append((kept, found))
            return
        if not found[1]:
            self.failed += parsed.failed
        self.fetch(tags_for_later(kept[0]))
        while self._again and not self._in_hand:
            self._keep(*self._again[-1])
            self._read_kept(self._again.pop()[0])

    def _take_alone(self, parser: Any, piece: Piece, parsed: Parsed) -> None:
        text, line, origin = piece
        try:
            self._take(self._tree(parser, text, origin, line), parsed, tolerant=True)
        except CompileError as error:
            names = names_of(text) or [declared_name(text)]
            parsed.failed += [(name, error) for name in names]

    def _take(self, tree: Any, parsed: Parsed, tolerant: bool = False) -> None:
        self._altered = 0
        self._tagless = []
        for node in tree.ext:
            try:
                self._take_node(node, parsed)
            except CompileError as error:
                if not tolerant:
                    raise
                parsed.failed.append((str(getattr(node, "name", None) or "a declaration"), error))

    def _take_node(self, node: Any, parsed: Parsed) -> None:
        kind = type(node).__name__
        try:
            if kind == "Pragma":
                self._altered = int(re.sub(r"\D", "", _text_of_pragma(node)) or 0)
            elif kind == "Typedef":
                self._typedef(node, parsed)
            elif kind == "Decl":
                self._declaration(node, parsed)
            elif kind == "FuncDef":
                self._declaration(node.decl, parsed, old=bool(node.param_decls))
        except RecursionError:
            raise self.error("the declaration is nested too deeply", node.coord) from None

    def comment(self, found: FunctionDeclaration) -> str | None:
        """Returns the comment above a function, in the texts or in the file that declares it."""
        file = str(getattr(found.coord, "file", None) or "<")
        if found.name not in self._comments and file[0] != "<" and file not in self._asked:
            self._asked.add(file)
            with contextlib.suppress(OSError), open(file, encoding="utf-8", errors="replace") as opened:
                self._comments = {**commented(opened.read()), **self._comments}
        return self._comments.get(found.name)

    def _plain(self, text: str, file: str) -> str:
        """Preprocesses a text."""
        if "\0" in text:
            raise CompileError(f"{file}: the text has a NUL character")
        self._comments |= commented(text)
        try:
            plain = self.preprocessor.run(text, file)
            plain = attributes.without_symbols(attributes.with_pragmas(plain), self.symbols)
            return _POINTED_DIM.sub(r"[(*\1)]", plain)  # pycparser takes [*n] for [*]
        except PreprocessError as error:
            raise self.error_at(str(error), error.file, error.line, 0) from None

    def _tree(self, parser: Any, plain: str, file: str, line: int) -> Any:
        self._check_nesting(plain, file)
        used = set(_WORD.findall(plain))
        self.fetch(used - tags_for_later(plain) if self._in_hand else used)
        names = [name for name in used if name in self.typedefs or name in _COMPILERS_WORDS]
        before = "".join(f"typedef int {name};\n" for name in names)
        quoted = file.replace("\\", "\\\\").replace('"', '\\"')
        try:
            tree = parser.parse(f'{before}# {line} "{quoted}"\n{plain}', file)
        except RecursionError:
            raise CompileError(f"{file}: the declaration is nested too deeply") from None
        except load("pycparser.c_parser").ParseError as error:
            raise self._from_parser(str(error), plain, file, line) from None
        except _STUMBLES as error:
            raise CompileError(
                f"{file}: this is no C declaration ({type(error).__name__}: {error})"
            ) from error
        del tree.ext[: len(names)]
        if found := find_typeless(before + plain):  # pycparser would assume int
            message, at, column = found
            raise self.error_at(message, file, line + at - 1 - len(names), column)
        return tree

    def _check_nesting(self, text: str, file: str) -> None:
        depth = deepest = 0
        for char in re.findall(r"[()\[\]{}]", text):
            depth += 1 if char in "([{" else -1
            deepest = max(deepest, depth)
        if deepest > _MAX_NESTING or re.search(r"(?:[*&!~+-]\s*){200}", text):
            raise CompileError(f"{file}: the declaration is nested too deeply")

    # ---- errors ------------------------------------------------------------------------------------

    def error(self, message: str, coord: Any) -> CompileError:
        """Returns a CompileError that points at a place in the text."""
        if coord is None:
            return CompileError(message)
        return self.error_at(message, str(coord.file), int(coord.line), int(coord.column or 0))

    def _from_parser(self, message: str, plain: str, file: str, first: int) -> CompileError:
        """Converts pycparser's error. Open brackets and unknown types, near which it stops, go first."""
        unknown = self._unclosed(plain, file, first) or self._unknown_type(plain, file, first)
        if unknown is not None:
            return unknown
        match = _POSITION.match(message)
        if match is None:
            last = plain.rstrip()
            line = first + last.count("\n")
            column = len(last) - last.rfind("\n") if "end of input" in message else 0
            return self.error_at(_tidy(message.rpartition(": ")[2]), file, line, column)
        line, column = int(match["line"]), int(match["column"] or 0)
        return self.error_at(_tidy(match["text"]), match["file"] or file, line, column)

    def _unknown_type(self, plain: str, file: str, first: int) -> CompileError | None:
        known = (self.typedefs, _KEYWORDS, _COMPILERS_WORDS)
        for match in _TYPE_PLACE.finditer(plain):
            if not any(match[1] in names for names in known):
                message = f"{match[1]} is not a known type"
                return self._error_at_word(message, plain, match.start(1), match[1], file, first)
        return None

    def _unclosed(self, plain: str, file: str, first: int) -> CompileError | None:
        opened: list[tuple[int, str]] = []
        for match in _BRACKET.finditer(plain):
            if match[0] in "([{":
                opened.append((match.start(), match[0]))
            elif match[0] in ")]}" and opened and opened[-1][1] + match[0] in ("()", "[]", "{}"):
                opened.pop()
            elif match[0] in ")]}":
                break
        if not opened:
            return None
        at, bracket = opened[-1]
        return self._error_at_word(f"'{bracket}' is not closed", plain, at, bracket, file, first)

    def _error_at_word(
        self, message: str, plain: str, at: int, word: str, file: str, first: int
    ) -> CompileError:
        line = first + plain.count("\n", 0, at)
        column = at - plain.rfind("\n", 0, at)
        source, line, column = self._as_written(file, line, column)
        if not source[column - 1 :].startswith(word):  # macros moved it
            column = source.find(word) + 1
        return self.error_at(message, file, line, column)

    def _as_written(self, file: str, line: int, column: int) -> tuple[str, int, int]:
        """Returns the line as written, its number and the column, perhaps those of a continuation line."""
        lines = self.preprocessor.files.get(file, "").split("\n")
        source = lines[line - 1] if 0 < line <= len(lines) else ""
        while line < len(lines) and (joined := source.rstrip("\r"))[-1:] == "\\" and column >= len(joined):
            source, line, column = lines[line], line + 1, column - len(joined) + 1
        return source, line, column

    def error_at(self, message: str, file: str, line: int, column: int) -> CompileError:
        """Returns a CompileError that points at a line and, unless 0, a column."""
        source, line, column = self._as_written(file, line, column)
        word = re.match(r"\w+|\S", source[column - 1 :]) if column else None
        start = column if word else None
        end = column + word.end() if word else None
        if column and not word:
            start = end = column  # after the text
        error = CompileError(message, (file, line, start, source or None, line, end))
        error.errors = [error]
        return error

    # ---- declarations ------------------------------------------------------------------------------

    def _typedef(self, node: Any, parsed: Parsed) -> None:
        if self.in_foreign and node.name in types.KNOWN:
            return  # our own size_t and FILE are enough
        resolved = self.resolve(node.type)
        if self._is_altered() and not isinstance(resolved, (types.Struct, types.Pointer)):
            resolved = types.Unknown(attributes.REASON)
        resolved = types.with_alias(resolved, node.name)
        known = self.typedefs.get(node.name)
        if isinstance(resolved, types.Void) and isinstance(known, types.Struct) and known.is_name_only:
            resolved = known  # handle() has made a type of it
        if isinstance(known, types.Struct) and isinstance(resolved, types.Struct) and known is not resolved:
            resolved = self._unite(known, resolved, node.coord)
        if isinstance(resolved, types.Pointer) and isinstance(resolved.target, types.Struct):
            resolved = self._pointer_named(known, resolved, node)
        if known is not None and not types.same(known, resolved):
            self._change()
        self.typedefs[node.name] = parsed.typedefs[node.name] = resolved

    def _is_altered(self) -> bool:
        """True if attributes change what the declaration defines in a way that is not mapped."""
        return self._altered == 2 or (self._altered == 1 and not self.in_header)

    def _change(self) -> None:
        """Must be called before a name gets another meaning."""
        with self._within(False, False):
            self.before_change()

    def _pointer_named(self, known: Any, found: types.Pointer, node: Any) -> types.Pointer:
        """Names the struct of typedef struct state *handle. handle("handle") may have come first."""
        if isinstance(known, types.Struct):
            target = self._unite(known, found.target, node.coord)
            target.alias = "" if target.alias == node.name else target.alias
            found = dataclasses.replace(found, target=target)
        found.target.label = found.target.label or node.name
        return found

    def _unite(self, known: types.Struct, found: types.Struct, coord: Any) -> types.Struct:
        """Unites the opaque type that handle("rng *") knows by its alias with the struct of its typedef."""
        if known.members is not None and found.members is not None and not found.tag:
            self._check_same(known, found, coord)
            found.united = known
            return known
        if known.tag or known.members is not None:
            return found
        for each in ("kind", "tag", "members", "in_header", "pack", "align"):
            setattr(known, each, getattr(found, each))
        if found.tag:
            self.tags[f"{found.kind} {found.tag}"] = known
        found.united = known
        return known

    def _declaration(self, node: Any, parsed: Parsed, old: bool = False) -> None:
        if type(node.type).__name__ == "FuncDecl":
            made = self._prototype(node.name, node.type, node.coord)
            made.prototyped = made.prototyped and not old
            parsed.functions.append(self._marked(made, node))
        elif node.name is None:
            self.resolve(node.type)  # a struct or an enum alone
        else:
            resolved = self._with_lengths(self.resolve(node.type))
            if isinstance(resolved, types.Array) and resolved.dim is None:
                resolved = dataclasses.replace(resolved, dim=_items_of(node.init))
            if isinstance(resolved, types.Callable) and not resolved.pointed:
                made = declaration_of(resolved, node.name, node.coord)  # function_of_double sin, cos;
                parsed.functions.append(self._marked(made, node))
                return
            if self._altered == 2:
                resolved = types.Unknown(attributes.REASON)
            const = "const" in _quals(node.type if isinstance(resolved, types.Pointer) else node)
            private, external = (word in (node.storage or []) for word in ("static", "extern"))
            found = VariableDeclaration(node.name, resolved, const, private, external, node.coord)
            parsed.variables.append(found)

    def _marked(self, made: FunctionDeclaration, node: Any) -> FunctionDeclaration:
        """Adds what the declaration says besides its type."""
        made.result = types.Unknown(attributes.REASON) if self._altered == 2 else made.result
        made.private = "static" in (node.storage or [])
        return made

    def _prototype(self, name: str, declared: Any, coord: Any) -> FunctionDeclaration:
        made = FunctionDeclaration(name, self.resolve(declared.type), [], coord=coord)
        made.prototyped = declared.args is not None
        for each in declared.args.params if declared.args is not None else ():
            kind = type(each).__name__
            if kind == "EllipsisParam":
                made.variadic = True
            elif kind == "ID":
                made.prototyped = False
            else:
                resolved = self.resolve(each.type)
                made.parameters.append(ParameterDeclaration(each.name or "", resolved, each.coord))
        only = made.parameters[0] if len(made.parameters) == 1 else None
        if only is not None and isinstance(only.type, types.Void) and not only.name:
            made.parameters = []
        return made

    # ---- types -------------------------------------------------------------------------------------

    def resolve(self, node: Any) -> Any:
        """Returns the type of a syntax tree."""
        kind = type(node).__name__
        if kind in ("TypeDecl", "Typename"):
            found = self.resolve(node.type)
            return types.with_const_items(found) if "const" in _quals(node) else found
        if kind == "IdentifierType":
            return self._named(node)
        if kind == "FuncDecl":
            return self._callable(node, pointed=False)
        if kind == "PtrDecl" and type(node.type).__name__ == "FuncDecl":
            return self._callable(node.type, pointed=True)
        if kind == "PtrDecl":
            return types.Pointer(self.resolve(node.type), "const" in _quals(node.type))
        if kind == "ArrayDecl":
            dim = node.dim if type(node.dim).__name__ != "ID" or node.dim.name != "*" else None
            item = self.resolve(node.type)
            return types.Array(item, dim, _const_of_items(node.type))
        if kind in ("Struct", "Union"):
            return self._struct(node)
        if kind == "Enum":
            return self._enum(node)
        return types.Unknown(f"C's {kind} is not mapped")

    def _callable(self, node: Any, pointed: bool) -> types.Callable:
        found = self._prototype("", node, node.coord)
        return types.Callable(
            result=found.result,
            names=tuple(each.name for each in found.parameters),
            parameters=tuple(each.type for each in found.parameters),
            variadic=found.variadic,
            prototyped=found.prototyped,
            pointed=pointed,
        )

    def _named(self, node: Any) -> Any:
        words = list(node.names)
        if len(words) == 1 and words[0] in self.typedefs:
            return self.typedefs[words[0]]
        found = types.basic(words)
        if found is None:
            unknown = [word for word in words if types.basic([word]) is None and word not in _KEYWORDS]
            shown = " ".join(unknown or words)
            raise self.error(f"{shown} is not a known type", node.coord)
        return found

    def _struct(self, node: Any) -> types.Struct:
        kind = type(node).__name__.lower()
        for known, struct in () if node.name else self._tagless:
            if known is node:  # typedef struct { ... } point, *points;
                return struct
        made = self.tagged(kind, node.name) if node.name else types.Struct(kind, "")
        if not node.name:
            self._tagless.append((node, made))
        if node.decls is not None and (made.members is None or not self.in_header):
            # The same definition may come again, from a header and from struct().
            found = types.Struct(kind, made.tag, made.alias, [])
            self._add_members(found, node.decls)
            members = found.members or []
            if any(types.holds(each.type, made) for each in members):
                raise self.error(f"{made.name or kind} would hold itself", node.coord)
            if self._is_altered():
                made.altered = made.members is None
            elif made.members is not None:
                self._check_same(made, found, node.coord)
            elif not made.altered:
                made.members, made.in_header = members, self.in_header
                made.pack, made.align = found.pack, found.align
        return made

    def _add_members(self, struct: types.Struct, nodes: list[Any]) -> None:
        """Adds members and what pragmas say of them: see attributes.py."""
        said = {"pack": 0, "align": 0, "member": 0}
        for node in nodes:
            if type(node).__name__ == "Pragma":
                what, number = _text_of_pragma(node).strip('"').removeprefix("cwj_").split()
                said[what] = max(said[what], int(number))
            elif type(node).__name__ == "Decl" and struct.members is not None:
                struct.members.append(dataclasses.replace(self._member(node), align=said["member"]))
                said["member"] = 0
        struct.pack, struct.align = said["pack"], said["align"]

    def struct_named(self, name: str) -> Any:
        """Returns the struct or union of this name, or behind a pointer of this name; else another type."""
        named = self.typedefs.get(name) or self.tags.get(f"struct {name}") or self.tags.get(f"union {name}")
        named = named.target if isinstance(named, types.Pointer) else named
        return named.item if types.is_one_struct(named) else named

    def tagged(self, kind: str, tag: str) -> types.Struct:
        """Returns struct `tag`. handle("tag *") may have named it first."""
        known, named = self.tags.get(f"{kind} {tag}"), self.typedefs.get(tag)
        if isinstance(known, types.Struct):
            return known
        made = named if isinstance(named, types.Struct) and named.is_name_only else types.Struct(kind, tag)
        made.kind, made.tag, self.tags[f"{kind} {tag}"] = kind, tag, made
        return made

    def _member(self, node: Any) -> types.Member:
        ctype = self._with_lengths(self.resolve(node.type))
        bits = -1
        if node.bitsize is not None:
            bits = self._length(node.bitsize)
            if not isinstance(ctype, types.Scalar) or not (ctype.is_integer or ctype.dtype == "bool"):
                raise self.error(f"{node.name or 'a bit field'} is no integer", node.coord)
            if not 0 <= bits <= 64:
                raise self.error(f"{node.name or 'a bit field'} has {bits} bits", node.coord)
        return types.Member(node.name or "", ctype, bits)

    def _with_lengths(self, ctype: Any) -> Any:
        """Computes lengths of arrays at once: enumerators may change, and sizeof needs types."""
        if not isinstance(ctype, types.Array):
            return ctype
        dim = ctype.dim
        try:
            dim = dim and load("pycparser.c_ast").Constant("int", str(self._length(dim)), dim.coord)
        except CompileError:  # reported when the member is used
            pass
        return dataclasses.replace(ctype, item=self._with_lengths(ctype.item), dim=dim)

    def _length(self, node: Any) -> int:
        try:
            return constants.of_tree(node, self.enumerators.get, self.resolve, self.size_of)
        except constants.NotConstant as error:
            raise self.error(str(error), node.coord) from None

    def size_of(self, node: Any) -> int:
        """Computes sizeof of a type."""
        if type(node).__name__ != "Typename":
            raise constants.NotConstant("sizeof of what is no type")
        try:
            return int(thunks.size_of(self.resolve(node)))
        except thunks.Unmapped as error:
            raise constants.NotConstant(f"sizeof: {error}") from None

    def _check_same(self, known: types.Struct, found: types.Struct, coord: Any) -> None:
        if not types.same(known, found):
            raise self.error(
                f"{known.name or known.kind} is known with other members: {types.body(known)}, and now "
                f"{types.body(found)}",
                coord,
            )

    def add(self, known: types.Struct) -> None:
        """Adds a struct of another library."""
        self.fetch([known.tag, known.alias])
        names = [(self.tags, f"{known.kind} {known.tag}")] if known.tag else []
        names += [(self.typedefs, known.alias)] if known.alias else []
        for table, name in names:
            before = table.get(name)
            if isinstance(before, types.Struct) and before.members is not None and known.members is not None:
                self._check_same(before, known, None)
            table[name] = known

    def _enum(self, node: Any) -> Any:
        """Returns int under the enum's name, or another type if int does not hold its values."""
        key = f"enum {node.name}" if node.name else "an unnamed enum"
        made: Any = types.with_alias(types.INT, key)
        if node.values is None:
            return self.tags.setdefault(key, made)
        value, values = -1, {}
        for each in node.values.enumerators:
            if each.value is None:
                value += 1
            else:
                try:
                    value = constants.of_tree(each.value, self.enumerators.get, self.resolve, self.size_of)
                except constants.NotConstant as error:
                    raise self.error(f"the value of {each.name}: {error}", each.coord or node.coord) from None
            if self.enumerators.get(each.name, value) != value:
                self._change()
            values[each.name] = self.enumerators[each.name] = value
        if self.in_foreign:
            self.foreign_enumerators |= values.keys()
        else:
            self.foreign_enumerators -= values.keys()
        least, most = min(values.values(), default=0), max(values.values(), default=0)
        made = self._wider_type(least, most) or dataclasses.replace(made, counts=least >= 0)
        if isinstance(made, types.Scalar):
            made = dataclasses.replace(made, alias=key, values=values)
        if node.name:
            self.tags[key] = made
        return made

    def _wider_type(self, least: int, most: int) -> Any:
        """Returns the type of an enum with these values; None: int."""
        if self._altered:
            return types.Unknown(attributes.REASON)
        if -(2**31) <= least and most < 2**31:
            return None
        if least >= 0 and (most < 2**63 or not self.as_libtcc):
            return types.basic(["unsigned"] if most < 2**32 else ["unsigned", "long"])
        if least >= 0 and most < 2**64:
            return types.Unknown("libtcc takes an enum with values of 2**63 and more for a signed one")
        if -(2**63) <= least and most < 2**63:
            return types.basic(["long"])
        return types.Unknown("an enum has values that no integer type holds")


def _at_their_lines(found: list[Piece]) -> str:
    """Joins pieces of one text, each at its line in the text."""
    out, line = [], 1
    for piece, begin, _ in found:
        text = piece.rstrip()
        out.append("\n" * (begin - line) + text)
        line = max(begin, line) + text.count("\n")
    return "".join(out)


@contextlib.contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Disables garbage collection, a third of the time: trees are many small objects, all alive."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _text_of_pragma(node: Any) -> str:
    return str(getattr(node.string, "value", node.string))


def _items_of(initializer: Any) -> Any:
    """Returns the number of items of {1, 2, 3}. None: it is no such list, or has designators."""
    exprs = getattr(initializer, "exprs", None)
    if exprs is None or any(type(each).__name__ == "NamedInitializer" for each in exprs):
        return None
    return load("pycparser.c_ast").Constant("int", str(len(exprs)), initializer.coord)


def _quals(node: Any) -> list[str]:
    """Returns the qualifiers of a pointer's target or of an array's items."""
    return list(getattr(node, "quals", None) or [])


def _const_of_items(node: Any) -> bool:
    while type(node).__name__ == "ArrayDecl":
        node = node.type
    return "const" in _quals(node)


def _tidy(message: str) -> str:
    """Words pycparser's message as a sentence."""
    if message.startswith("before: "):
        return f"syntax error before {message[8:]}"
    return message[:1].lower() + message[1:] if message[:2].istitle() else message


def with_varargs(
    declarations: Declarations, who: str, found: FunctionDeclaration, said: Any
) -> FunctionDeclaration:
    """Returns the declaration with the parameters of varargs=, or as it is. These are mapped like fixed ones.
    Only the call differs: C promotes them, and tells the function how many vector registers are in use."""
    if said is None:
        return found
    texts = (said,) if isinstance(said, str) else said
    if not isinstance(texts, (tuple, list)) or not all(isinstance(each, str) for each in texts):
        raise TypeError(f"{who}: varargs must be a tuple of C types, not {said!r}")
    if not found.variadic:
        raise ValueError(f"{who}: varargs: the declaration does not end with ...")
    made = [*found.parameters]
    names = {each.name for each in made if each.name}
    for k, text in enumerate(texts):
        each = _vararg(declarations, f"{who}: varargs[{k}]", text)
        if each.name in names:
            raise ValueError(f"{who}: varargs[{k}]: another parameter is called {each.name}")
        names |= {each.name} - {""}
        made.append(each)
    return dataclasses.replace(found, parameters=made, fixed=len(found.parameters))


def _vararg(declarations: Declarations, who: str, text: str) -> ParameterDeclaration:
    try:
        parsed = declarations.read(f"void cwj_varargs({text});", "<varargs>")
    except _cwrapjit.CompileError as error:
        raise ValueError(f"{who}: {text!r} is no C type: {error.msg}") from None
    match parsed.functions:
        case [FunctionDeclaration(parameters=[only], variadic=False)] if not parsed.variables:
            return only
    raise ValueError(f"{who}: {text!r} should be one C type that is known, with or without a name")
