"""Collects what types and ops need for the whole unit: headers, folders, libraries, C texts, compiler options
(of those, only -D, -U, -I, -L, -l), a compiler, versions.

Equal texts are kept once: a hundred variables of one type need one copy of its support code."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from cwrapjit._imports import load
from cwrapjit.graph.labels import class_of
from cwrapjit.graph.parties import MISSING, Party
from cwrapjit.graph.walk import Node, Value

# Who answered, which method, the name of the text, the words.
Said = Sequence[tuple[Party, str, str, Sequence[str]]]

# The methods that are asked; those in _TOLD may take the compiler.
_TOLD = ("c_headers", "c_header_dirs", "c_libraries", "c_lib_dirs", "c_compile_args", "c_no_compile_args")
_ASKED = (*_TOLD, "c_support_code", "c_init_code")

# Options for optimizing and warnings are accepted, and ignored.
_IGNORED = ("-O", "-W", "-f", "-m", "-g", "-std=")
_IGNORED_WORDS = ("", "-pthread", "-w", "-pipe")


def _is_one_line(text: str) -> bool:
    return "\n" not in text and "\r" not in text and "\0" not in text


def _header(party: Party, method: str, word: str) -> str:
    """Return the operand of #include, for "math.h", "<math.h>" or "\\"my.h\\""."""
    header = word.strip()
    last = {"<": ">", '"': '"'}.get(header[:1])
    sound = (
        header[:1] != "#" and ">" not in header if last is None else len(header) > 2 and header[-1] == last
    )
    if not sound or not _is_one_line(word):
        wanted = "'math.h', '<math.h>' or '\"my.h\"'"
        party.refuse(method, ValueError, f"must return headers like {wanted}, not {word!r}")
    return f"<{header}>" if header and last is None else header


class _Sets:
    """The needs of the unit. Each dict is a set in the order of first mention."""

    def __init__(self, removed: set[str]) -> None:
        self.headers: dict[str, str] = {}
        self.supports: dict[str, str] = {}  # text: name of the piece
        self.inits: dict[str, str] = {}
        self.include_dirs: dict[str, str] = {}
        self.libraries: dict[str, str] = {}
        self.library_dirs: dict[str, str] = {}
        self.removed = removed
        # As in extension modules: a failing assert() would end the interpreter, and other people's ops are
        # written for builds without it. -UNDEBUG restores assert(), and so does -DNDEBUG in
        # c_no_compile_args().
        self.macros = {} if "-DNDEBUG" in removed else {"NDEBUG": "NDEBUG"}

    def add(self, party: Party, method: str, file: str, words: Sequence[str]) -> None:
        """Add the answer of one method."""
        if method == "c_headers":
            for word in words:
                if word not in self.headers:
                    self.headers[_header(party, method, word)] = ""
        elif method in ("c_support_code", "c_init_code", "c_init_code_apply"):
            texts = self.supports if method == "c_support_code" else self.inits
            for word in words:
                texts[word] = texts.get(word, file)
        elif method == "c_compile_args":
            self.add_arguments(party, method, [word for word in words if word not in self.removed])
        elif method != "c_no_compile_args":
            for word in words:
                if "\0" in word:
                    party.refuse(method, ValueError, f"must not return {word!r}")
                self.paths(method)[word] = ""

    def paths(self, method: str) -> dict[str, str]:
        if method in ("c_header_dirs", "I"):
            return self.include_dirs
        return self.libraries if method in ("c_libraries", "l") else self.library_dirs

    def add_arguments(self, party: Party, method: str, words: Sequence[str]) -> None:
        """Add words of a command line: the text of -D -U -I -L -l may be the next word."""
        left = iter(words)
        for word in left:
            letter = word[1:2]
            if word[:1] == "-" and letter and letter in "DUILl":
                text = (word[2:] or next(left, "")).strip()
                if not text or not _is_one_line(text):
                    party.refuse(method, ValueError, f"must not return -{letter} with {text!r}")
                self.add_argument(letter, text)
            elif not word.startswith(_IGNORED) and word not in _IGNORED_WORDS:
                meant = "-D, -U, -I, -L, -l do, and -O, -W, -f, -m, -g, -std= are ignored"
                party.refuse(method, ValueError, f"returns {word!r}, which means nothing here: {meant}")

    def add_argument(self, letter: str, text: str) -> None:
        if letter not in "DU":
            self.paths(letter)[text] = ""
            return
        name = text.partition("=")[0]
        self.macros.pop(name, None)  # the last one of a name counts, as on a command line
        if letter == "D":
            self.macros[name] = text


def ask_words(party: Party, method: str, compiler: str) -> Sequence[str]:
    answer = party.ask(method, (), False, ("c_compiler", compiler) if method in _TOLD else None)
    if answer is MISSING or answer is None or isinstance(answer, str):
        return ("" if answer is MISSING else answer or "",)
    wanted = "must return a str or a list of str"
    if not isinstance(answer, (list, tuple)):
        party.refuse(method, TypeError, f"{wanted}, not {type(answer).__name__}")
    words = tuple(answer)
    for i, word in enumerate(words):
        if not isinstance(word, str):
            party.refuse(method, TypeError, f"{wanted}, but item {i} is of type {type(word).__name__}")
    return words


def _compiler(parties: Sequence[Party]) -> str | None:
    """Return the compiler that a party requires; None, "" and "tcc" require nothing but libtcc."""
    found, who = None, ""
    for party in parties:
        answer = None if "c_compiler" in party.silent() else party.ask("c_compiler")
        if answer is MISSING or answer is None:
            continue
        if not isinstance(answer, str):
            text = f"must return None, 'tcc' or a command like 'cc', not {answer!r}"
            party.refuse("c_compiler", TypeError, text)
        if answer in ("", "tcc"):
            continue
        if found is None:
            found, who = answer, class_of(party.object)
        elif answer != found:
            wishes = f"{who} wants {found!r} and {class_of(party.object)} wants {answer!r}"
            raise ValueError(f"link(): one graph has one compiler, but {wishes}")
    return found


def _version(party: Party, *ways: tuple[Any, ...]) -> Any:
    """Return the answer of the first of these methods that exists; None or () if there is no version."""
    for method, *arguments in ways:
        said = party.ask(method, tuple(arguments))
        if said is MISSING:
            continue
        if not isinstance(said, tuple | None):
            party.refuse(method, TypeError, f"must return a tuple, not {type(said).__name__}")
        try:
            hash(said)
        except TypeError as error:
            party.refuse(method, TypeError, f"must return what has a hash: {error}")
        return said
    return None


def _versions(types: Sequence[Party], nodes: Sequence[Node]) -> tuple[Any, ...] | None:
    """Return the versions of types, once each, and of ops, for each node. None if one is missing: then the
    code is never reused."""
    own: tuple[Any, ...] = ("c_code_cache_version",)
    asked = [(party, [own]) for party in types]
    asked += [(node.party, [("c_code_cache_version_apply", node.node), own]) for node in nodes]
    found = []
    for party, ways in asked:
        found.append(_version(party, *ways))
        if not found[-1]:
            return None
    return tuple(found)


def _each_once(parties: Iterable[Party]) -> list[Party]:
    """Return the first party of each object. Without setdefault(): see order.py."""
    once: dict[int, Party] = {}
    for party in parties:
        if id(party.object) not in once:
            once[id(party.object)] = party
    return [*once.values()]


def read_settings(
    values: Sequence[Value], nodes: Sequence[Node], texts: tuple[Any, ...]
) -> tuple[tuple[Any, ...], Any]:
    """Return headers; support code and init code, with the names of these texts; folders of headers;
    libraries; their folders; macros; a compiler or None. Then a key that is equal for the same code, or None
    if a version is missing."""
    kinds = _each_once(value.party for value in values)
    parties = _each_once([*kinds, *(node.party for node in nodes)])
    compiler = _compiler(parties)
    said: list[tuple[Party, str, str, Sequence[str]]] = []
    for party in parties:
        silent = party.silent()
        for method in _ASKED:
            if method in silent:
                continue
            words = ask_words(party, method, compiler or "tcc")
            if any(words):
                said.append((party, method, f"<cwrapjit {class_of(party.object)}.{method}>", words))
    for node in nodes:  # init code of single nodes comes after that of types and ops
        method = "c_init_code_apply"
        text = node.party.optional(method, (node.node, node.name))
        if text[0]:
            file = f"<cwrapjit {class_of(node.op)}.{method} of {node.label}>"
            said.append((node.party, method, file, (text[0],)))
    versions = _versions(kinds, nodes)
    found = _read_words(said)
    settings = *found, compiler
    return settings, None if versions is None else (versions, settings, texts)


def _read_words(said: Said) -> tuple[tuple[Any, ...], ...]:
    sets = _Sets({word for _, method, _, words in said if method == "c_no_compile_args" for word in words})
    for each in said:
        sets.add(*each)
    pieces = [
        tuple((text, file) for text, file in texts.items() if text) for texts in (sets.supports, sets.inits)
    ]
    dirs = tuple(os.fsencode(path) for path in sets.include_dirs if path)
    libraries, library_dirs = (tuple(filter(None, each)) for each in (sets.libraries, sets.library_dirs))
    headers = tuple(header.encode() for header in sets.headers if header)
    macros = tuple(macro.encode() for macro in sets.macros.values())
    return headers, *pieces, dirs, libraries, library_dirs, macros


def read_sides(said: Any, refuse: Callable[[type[Exception], str], Any]) -> Sequence[tuple[str, ...]]:
    """Return the names of inputs and of outputs in c_var_names: two lists, or these as text, as in the oldest
    protocol."""
    form = "like [['x', 'y'], ['z']]"
    names = said
    if isinstance(said, str):
        try:
            names = load("ast").literal_eval(said)
        except (ValueError, SyntaxError, TypeError):
            refuse(ValueError, f"must be {form}, also as text, not {said!r}")
    sides = [
        tuple(side) if isinstance(side, list | tuple) else (None,)
        for side in (names if isinstance(names, list | tuple) else ())
    ]
    if len(sides) != 2 or not all(isinstance(name, str) for side in sides for name in side):
        refuse(TypeError, f"must be two lists of str, {form}, not {names!r}")
    return sides


def read_names(party: Party, said: Any, ninputs: int, noutputs: int) -> tuple[str, ...]:
    """Return a template op's names of its inputs and outputs."""
    sides = read_sides(said, lambda error, why: party.refuse("c_var_names", error, why))
    found, counts = (*sides[0], *sides[1]), (len(sides[0]), len(sides[1]))
    if counts != (ninputs, noutputs):
        named = f"names {counts[0]} input(s) and {counts[1]} output(s)"
        party.refuse("c_var_names", ValueError, f"{named}, but the node has {ninputs} and {noutputs}")
    if "fail" in found:
        party.refuse("c_var_names", ValueError, "names a variable 'fail', which is the failure code")
    twice = next((name for i, name in enumerate(found) if name in found[:i]), None)
    if twice is not None:
        party.refuse("c_var_names", ValueError, f"names '{twice}' twice")
    return found
