"""What the types and ops of a graph want for the unit as a whole: headers, folders, libraries, texts of C,
those words of a compiler's command line that mean something to a unit in memory, a compiler, versions.

Each is kept once, by its text: a hundred variables of one type want one support code.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

from cwrapjit._cwrapjit import ask_party, refuse_answer
from cwrapjit._imports import load
from cwrapjit.graph.labels import class_of

Whom = tuple[Any, str, bool]  # a type or an op, what messages call the variable or node, is it an op
Party = tuple[Any, str, bool, str]  # the same, and the method that was asked
Said = Sequence[tuple[Party, str, Sequence[str]]]  # by whom, the name of the text, the words
Node = tuple[Any, str, Any, str]  # op, label, node, its name in C

# What each party is asked; these may want to know the compiler.
_TOLD = ("c_headers", "c_header_dirs", "c_libraries", "c_lib_dirs", "c_compile_args", "c_no_compile_args")
_ASKED = (*_TOLD, "c_support_code", "c_init_code")

# What says how to optimize or to warn means nothing here, and is accepted.
_IGNORED = ("-O", "-W", "-f", "-m", "-g", "-std=")
_IGNORED_WORDS = ("", "-pthread", "-w", "-pipe")


def _is_one_line(text: str) -> bool:
    return "\n" not in text and "\r" not in text and "\0" not in text


def _header(party: Party, word: str) -> str:
    """Return what stands behind #include, for "math.h", "<math.h>" or "\\"my.h\\""."""
    header = word.strip()
    last = {"<": ">", '"': '"'}.get(header[:1])
    sound = (
        header[:1] != "#" and ">" not in header if last is None else len(header) > 2 and header[-1] == last
    )
    if not sound or not _is_one_line(word):
        wanted = "'math.h', '<math.h>' or '\"my.h\"'"
        refuse_answer(*party, ValueError, f"must return headers like {wanted}, not {word!r}")
    return f"<{header}>" if header and last is None else header


class _Sets:
    """All that the unit needs; each dict is a set, in the order of the first mention."""

    def __init__(self, removed: set[str]) -> None:
        self.headers: dict[str, str] = {}
        self.supports: dict[str, str] = {}  # text: name of the piece
        self.inits: dict[str, str] = {}
        self.include_dirs: dict[str, str] = {}
        self.libraries: dict[str, str] = {}
        self.library_dirs: dict[str, str] = {}
        self.removed = removed
        # As for any extension module: an assert() that fails would end the interpreter, and other people's
        # ops are written for builds without. -UNDEBUG brings assert() back, and so does -DNDEBUG among what
        # c_no_compile_args() names.
        self.macros = {} if "-DNDEBUG" in removed else {"NDEBUG": "NDEBUG"}

    def add(self, party: Party, file: str, words: Sequence[str]) -> None:
        """Add what one method said."""
        method = party[3]
        if method == "c_headers":
            for word in words:
                if word not in self.headers:
                    self.headers[_header(party, word)] = ""
        elif method in ("c_support_code", "c_init_code", "c_init_code_apply"):
            texts = self.supports if method == "c_support_code" else self.inits
            for word in words:
                texts[word] = texts.get(word, file)
        elif method == "c_compile_args":
            self.add_arguments(party, [word for word in words if word not in self.removed])
        elif method != "c_no_compile_args":
            for word in words:
                if "\0" in word:
                    refuse_answer(*party, ValueError, f"must not return {word!r}")
                self.paths(method)[word] = ""

    def paths(self, method: str) -> dict[str, str]:
        if method in ("c_header_dirs", "I"):
            return self.include_dirs
        return self.libraries if method in ("c_libraries", "l") else self.library_dirs

    def add_arguments(self, party: Party, words: Sequence[str]) -> None:
        """Add words of a command line: of -D -U -I -L -l, the text may be the next word."""
        left = iter(words)
        for word in left:
            letter = word[1:2]
            if word[:1] == "-" and letter and letter in "DUILl":
                text = (word[2:] or next(left, "")).strip()
                if not text or not _is_one_line(text):
                    refuse_answer(*party, ValueError, f"must not return -{letter} with {text!r}")
                self.add_argument(letter, text)
            elif not word.startswith(_IGNORED) and word not in _IGNORED_WORDS:
                meant = "-D, -U, -I, -L, -l do, and -O, -W, -f, -m, -g, -std= are ignored"
                refuse_answer(*party, ValueError, f"returns {word!r}, which means nothing here: {meant}")

    def add_argument(self, letter: str, text: str) -> None:
        if letter not in "DU":
            self.paths(letter)[text] = ""
            return
        name = text.partition("=")[0]
        self.macros.pop(name, None)  # the last of one name counts, as on a command line
        if letter == "D":
            self.macros[name] = text


def _ask(whom: Whom, method: str, *more: Any) -> Any:
    """Return None where there is no such method, too."""
    said = ask_party(*whom, method, *more)
    return None if said is None else said[0]


def _ask_words(whom: Whom, method: str, compiler: str) -> Sequence[str]:
    said = ask_party(*whom, method, (), compiler) if method in _TOLD else ask_party(*whom, method)
    answer = None if said is None else said[0]
    if answer is None or isinstance(answer, str):
        return (answer or "",)
    wanted = "must return a str or a list of str"
    if not isinstance(answer, (list, tuple)):
        refuse_answer(*whom, method, TypeError, f"{wanted}, not {type(answer).__name__}")
    words = tuple(answer)
    for i, word in enumerate(words):
        if not isinstance(word, str):
            text = f"{wanted}, but item {i} is of type {type(word).__name__}"
            refuse_answer(*whom, method, TypeError, text)
    return words


def _ask_init(node: Node) -> str:
    """Return the init code that a node wants for itself, behind that of types and ops."""
    op, label, *arguments = node
    answer = _ask((op, label, True), "c_init_code_apply", tuple(arguments))
    if not isinstance(answer, str | None):
        text = f"must return a str, not {type(answer).__name__}"
        refuse_answer(op, label, True, "c_init_code_apply", TypeError, text)
    return answer or ""


def _compiler(parties: Sequence[Whom]) -> str | None:
    """Return the one that somebody wants; None, "" and "tcc" are no wish: libtcc is there anyway."""
    found, who = None, ""
    for whom in parties:
        answer = _ask(whom, "c_compiler")
        if not isinstance(answer, str | None):
            text = f"must return None, 'tcc' or a command like 'cc', not {answer!r}"
            refuse_answer(*whom, "c_compiler", TypeError, text)
        if answer and answer != "tcc" and found is None:
            found, who = answer, class_of(whom[0])
        elif answer and answer != "tcc" and answer != found:
            wishes = f"{who} wants {found!r} and {class_of(whom[0])} wants {answer!r}"
            raise ValueError(f"link(): one graph has one compiler, but {wishes}")
    return found


def _version(whom: Whom, *ways: tuple[Any, ...]) -> Any:
    """Return what the first of these methods that is there says; None or () for nothing."""
    for method, *arguments in ways:
        said = ask_party(*whom, method, tuple(arguments))
        if said is None:
            continue
        if said[0] is not None and not isinstance(said[0], tuple):
            text = f"must return a tuple, not {type(said[0]).__name__}"
            refuse_answer(*whom, method, TypeError, text)
        try:
            hash(said[0])
        except TypeError as error:
            refuse_answer(*whom, method, TypeError, f"must return what has a hash: {error}")
        return said[0]
    return None


def _versions(types: Sequence[Whom], nodes: Sequence[Node]) -> tuple[Any, ...] | None:
    """Of types once, of ops for each node: it is a node that has a version. None where somebody has none, so
    that nothing is used again."""
    own: tuple[Any, ...] = ("c_code_cache_version",)
    asked = [(whom, [own]) for whom in types]
    asked += [
        ((op, label, True), [("c_code_cache_version_apply", node), own]) for op, label, node, _ in nodes
    ]
    found = []
    for whom, ways in asked:
        found.append(_version(whom, *ways))
        if not found[-1]:
            return None
    return tuple(found)


def _each_once(parties: Iterable[Whom]) -> list[Whom]:
    """Return the first of each object. Without setdefault(), which in CPython 3.13 answers with an exception
    set, and with no object, where it has no memory.
    """
    once: dict[int, Whom] = {}
    for party in parties:
        if id(party[0]) not in once:
            once[id(party[0])] = party
    return [*once.values()]


def read_settings(types: Sequence[tuple[Any, str]], nodes: Sequence[Node]) -> tuple[Any, ...]:
    """Return headers, support code and init code with the names of these texts, folders of headers,
    libraries, their folders, macros: all as bytes, but for libraries and their folders; a compiler or None;
    what all that and the parties' versions make the same, or None.
    """
    kinds = _each_once((type, label, False) for type, label in types)
    parties = _each_once([*kinds, *((op, label, True) for op, label, *_ in nodes)])
    compiler = _compiler(parties)
    said: list[tuple[Party, str, Sequence[str]]] = []
    for whom in parties:
        for method in _ASKED:
            words = _ask_words(whom, method, compiler or "tcc")
            if any(words):
                said.append(((*whom, method), f"<cwrapjit {class_of(whom[0])}.{method}>", words))
    for op, label, *more in nodes:
        text = _ask_init((op, label, *more))
        if text:
            file = f"<cwrapjit {class_of(op)}.c_init_code_apply of {label}>"
            said.append(((op, label, True, "c_init_code_apply"), file, (text,)))
    versions = _versions(kinds, nodes)
    found = _read_words(said)
    return *found, compiler, None if versions is None else (versions, found)


def _read_words(said: Said) -> tuple[tuple[Any, ...], ...]:
    sets = _Sets({word for party, _, words in said if party[3] == "c_no_compile_args" for word in words})
    for each in said:
        sets.add(*each)
    pieces = [
        tuple((text.encode(), file.encode()) for text, file in texts.items() if text)
        for texts in (sets.supports, sets.inits)
    ]
    dirs = tuple(os.fsencode(path) for path in sets.include_dirs if path)
    libraries, library_dirs = (tuple(filter(None, each)) for each in (sets.libraries, sets.library_dirs))
    headers = tuple(header.encode() for header in sets.headers if header)
    macros = tuple(macro.encode() for macro in sets.macros.values())
    return headers, *pieces, dirs, libraries, library_dirs, macros


def read_names(party: Party, said: Any, ninputs: int, noutputs: int) -> tuple[str, ...]:
    """Return what a template op calls its inputs and outputs: two lists, or these as text, as the oldest of
    the protocols has it.
    """
    form = "like [['x', 'y'], ['z']]"
    names = said
    if isinstance(said, str):
        try:
            names = load("ast").literal_eval(said)
        except (ValueError, SyntaxError, TypeError):
            refuse_answer(*party, ValueError, f"must be {form}, also as text, not {said!r}")
    sides = [
        tuple(side) if isinstance(side, list | tuple) else (None,)
        for side in (names if isinstance(names, list | tuple) else ())
    ]
    if len(sides) != 2 or not all(isinstance(name, str) for side in sides for name in side):
        refuse_answer(*party, TypeError, f"must be two lists of str, {form}, not {names!r}")
    found, counts = (*sides[0], *sides[1]), (len(sides[0]), len(sides[1]))
    if counts != (ninputs, noutputs):
        named = f"names {counts[0]} input(s) and {counts[1]} output(s)"
        refuse_answer(*party, ValueError, f"{named}, but the node has {ninputs} and {noutputs}")
    if "fail" in found:
        refuse_answer(*party, ValueError, "names a variable 'fail', which is the failure code")
    twice = next((name for i, name in enumerate(found) if name in found[:i]), None)
    if twice is not None:
        refuse_answer(*party, ValueError, f"names '{twice}' twice")
    return found
