"""Reads plain C text: which functions it defines, and their parameters.

It is not a parser, but quick enough for each line that a session tries. It reads texts as their directives
leave them (directives.py). library() uses pycparser, and only takes OUT and INOUT from here."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, NoReturn

from cwrapjit._cwrapjit import CompileError
from cwrapjit._imports import load
from cwrapjit._tokens import CONTROL, Token, closes, split, unmatched
from cwrapjit.kernels.directives import MARKS, Reading

_STORAGE = frozenset("extern inline __inline __inline__ _Noreturn register auto __extension__".split())
_RESTRICT = frozenset("restrict __restrict __restrict__".split())
_QUALIFIERS = frozenset("const volatile __const".split()) | _RESTRICT
_ATTRIBUTES = frozenset("__attribute__ __attribute __asm__ asm __asm _Alignas _Pragma".split())
_EXTREMES = {"min": "<", "max": ">"}
_TAGS = ("struct", "union", "enum")
_TYPE_WORDS = frozenset("char short int long float double signed unsigned void _Bool bool _Complex".split())
_NO_NAMES = _TYPE_WORDS | _QUALIFIERS | _STORAGE | {"static", *_TAGS}
_OF_C = re.compile(r"<\w+\.h>")
# A type's kind, as in NumPy's dtypes. No type is named here, as each word may be a macro.
_KIND = """#define cwr_kind(type) _Generic((type)0, __typeof__(0.f): 'f', __typeof__(0.): 'f', \\
    __typeof__(0.L): 'f', default: (type)2 == 1 ? 'b' : (type)-1 < 0 ? 'i' : 'u')
"""


class Parameter(NamedTuple):
    name: str
    at: int
    words: list[str]  # of the type, without qualifiers
    const: bool
    stars: int
    dims: list[list[Token]]
    intent: str  # the mark: "", "out" or "inout"
    odd: str = ""  # why it cannot be read
    type_at: int = 0
    is_named: bool = True
    pointer: Token | None = None  # restrict may follow it; None: nowhere, or it is there already


class Early(NamedTuple):
    """A dim that C does not accept: a first dim that names a later parameter, or one with min() or max()."""

    dim: list[Token]
    token: Token  # the name in question
    array: str
    is_made: bool  # by a macro, with its brackets
    c: str  # the dim for C; "": nothing


class TextFunction(NamedTuple):
    name: str
    at: int
    words: list[str]  # of the result's type
    stars: int
    parameters: list[Parameter]
    private: bool  # static
    variadic: bool
    result_at: int
    head: list[Token]  # up to its closing parenthesis
    inner: list[Token]  # between its parentheses
    early: list[Early]

    def writes(self) -> bool:
        """True if apart() can mark a parameter."""
        return any(each.intent and each.pointer for each in self.parameters)

    def apart(self) -> str:
        """Returns the parameters for C, in which those with a mark are restrict."""
        given = {token: "" for early in self.early for token in early.dim}
        given |= {early.dim[0]: early.c for early in self.early}
        given |= {each.pointer: f"{each.pointer.text} restrict" for each in self.parameters
                  if each.intent and each.pointer}  # fmt: skip
        texts = [given.get(token, token.text) for token in self.inner if token.text not in MARKS.values()]
        return " ".join(filter(None, texts))


class Text:
    """The outermost definitions of a C text."""

    def __init__(
        self, source: str, file: str, include_dirs: Sequence[Any] = (),
        macros: Sequence[tuple[str, str | None]] = (), environment: object = None,
    ) -> None:  # fmt: skip
        self.source, self.file = source, file
        self.include_dirs, self.macros = include_dirs, macros
        self.functions: list[TextFunction] = []
        self.named: dict[str, TextFunction] = {}
        self.typedefs: dict[str, list[str]] = {}  # names of numbers -> the words of their types
        self.tagged = set(_TAGS)  # the words that begin structs, unions or enums
        self.names: set[str] = set()  # names that a second copy of the text would define twice
        self.types: list[list[Token]] = []  # the declarations of types
        self.end = 0  # the end of the last function
        self.statement: Token | None = None  # the first one after that, which C does not allow
        self._early: list[Early] = []
        self._items: list[list[Token]] = []  # the outermost declarations, up to their ; or }
        self._parts: Any = None  # made for the first function that needs them
        if "\0" in source:
            raise CompileError(f"{file}: the text has a NUL character")
        try:
            source.encode()
        except UnicodeEncodeError as error:
            raise CompileError(f"{file}: the text has a lone surrogate at position {error.start}") from None
        found = Reading(source, file, self.fail, include_dirs, macros, environment)
        self.defined, self.includes, self.front = found.defined, found.includes, found.front
        self.words, self.repeated, self.leaves_out = found.words, found.repeated, found.leaves_out
        self.asked = found.asked
        # Files that are not C's own may define words of types as macros. (bool may be a typedef, too.)
        self.has_others = any(include_dirs or not _OF_C.fullmatch(each) for each in self.includes)
        self._tokens = _without_attributes(found.tokens)
        self._read(self._tokens)

    @property
    def public(self) -> list[TextFunction]:
        return [each for each in self.functions if not each.private]

    def line(self, at: int) -> int:
        """Returns the number of the line, counted from 1."""
        return self.source.count("\n", 0, at) + 1

    def place(self, file: bytes, line: int) -> tuple[str, int, str] | None:
        """Returns a line as it was written, if C has seen another one."""
        lines = self.source.split("\n")
        found = os.fsdecode(file) == self.file and 0 < line <= len(lines)
        return (self.file, line, lines[line - 1].rstrip("\r")) if found else None

    @contextlib.contextmanager
    def own_lines(self) -> Iterator[None]:
        """Moves errors in compiled() to the lines as they were written."""
        try:
            yield
        except CompileError as error:
            load("cwrapjit.kernels.ctext").restore(error, self.place)
            raise

    def check(self) -> None:
        """Refuses impossible marks and dims."""
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
                        self._refuse_dim(token, each.name, "unless it is the first dim")
        for early in self._early:
            if early.is_made:
                self._refuse_dim(early.token, early.array, "where a macro makes the array")

    def _refuse_dim(self, token: Token, array: str, where: str) -> NoReturn:
        self.fail(
            f"{token.text} stands behind {array}, whose dim it is: C wants it in front, {where}",
            token.at,
            len(token.text),
        )

    def confirmation(
        self, function: TextFunction, read: Iterable[tuple[str, Sequence[str], Any, bool]]
    ) -> str:
        """Returns C text that does not compile if C, in either tier, has other types than were read here:
        (whose, words, dtype, whether the size is enough)."""
        made = []
        for whose, words, dtype, by_size in read:
            is_plain = _NO_NAMES.issuperset(words)
            if words in (["T"], []) or (is_plain and not self.has_others and words != ["bool"]):
                continue
            spelled = " ".join(words)
            is_so = f"sizeof({spelled}) == {dtype.itemsize}"
            kinds = "iufb" if is_plain else "iuf"  # npy_bool is an unsigned char
            if dtype.kind in kinds and dtype.char != "e" and not by_size:
                is_so += f" && cwr_kind({spelled}) == '{dtype.kind}'"
            wrong = f"{whose} is of type {spelled}, which was read as {dtype.name}, and is another one to C"
            made.append(f'_Static_assert({is_so}, "{wrong}");')
        if not made:
            return ""
        return f'\n{_KIND}#line {self.line(function.at)} "{self.file}"\n{" ".join(made)}\n'

    def give_to(self, made: Any) -> None:
        """Stores in the function what its display and its faults need."""
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

    def compiled(self, until: int | None = None) -> str:
        """Returns the text for C, without first dims that C does not accept, and without min() and max().
        until: the end of the declarations, where a body begins."""
        dims = [early for early in self.early_in_order() if until is None or early.dim[0].at < until]
        return self.piece(dims, 0, len(self.source))

    def early_in_order(self) -> list[Early]:
        return sorted((each for each in self._early if not each.is_made), key=lambda each: each.dim[0].at)

    def piece(self, dims: Sequence[Early], at: int, end: int) -> str:
        """Returns a piece of compiled(). dims: those in it."""
        parts = []
        for early in dims:
            begin = early.dim[0].at
            parts.append(self.source[at:begin])
            at = early.dim[-1].end
            blank = "".join(c if c == "\n" else " " for c in self.source[begin:at])
            parts += [early.c, blank[len(early.c) :] if "\n" not in blank else blank]
        return "".join([*parts, self.source[at:end]])

    def instance(self, k: int = 0, apart: bool = True, of: str = "") -> str:
        """Returns compiled(). For k > 0, macros give the definitions names of their own. With `apart`, macros
        also make pointers to outputs `restrict`, because calls refuse outputs that overlap. This leaves out
        functions that the text itself calls, and all functions of texts that include files other than C's
        own, which may use the same names. Macros keep the user's lines and columns. of: without functions
        that this one does not need, so that the functions of a long text do not each compile all of it."""
        apart = apart and self._includes_only_c
        if of and self._parts is None:
            self._parts = load("cwrapjit.kernels.parts").Parts(self, self._items, self._includes_only_c)
        kept = self._parts.needed_by(of) if of else self.named.keys()
        found = [self.named[each] for each in kept if apart and each not in self.repeated]
        found = [each for each in found if "#" not in self.source[each.at : each.head[-1].end]]
        heads = {each.name: f"({each.apart()})" for each in found if each.writes()}
        names = sorted(self.names & self.words) if k else sorted(heads)
        macros = "".join(
            f"#define {name}{'(...)' * (name in heads)} {name}{f'__{k}' * (k > 0)}{heads.get(name, '')}\n"
            for name in names
        )
        ends = "".join(f"\n#undef {name}" for name in names)
        text = self._parts.joined(kept) if of else f'#line 1 "{self.file}"\n{self.compiled()}'
        return f"{macros}{text}{ends}\n"

    @property
    def _includes_only_c(self) -> bool:
        return all(_OF_C.fullmatch(each) for each in self.includes)

    @property
    def balanced(self) -> bool:
        """True if the brackets are balanced."""
        return unmatched(self._tokens) is None

    # ---- the outermost declarations ---------------------------------------------------------------------

    def _read(self, found: Sequence[Token]) -> None:
        """Reads the outermost declarations, without the contents of braces."""
        item: list[Token] = []
        at = begin = 0
        while at < len(found):
            token = found[at]
            end = closes(found, at) if token.text in "([{" else at
            if token.text == "{":
                self._tagged(item, found[at + 1 : end])
                item += [token, *found[end : end + 1]]
                if [each.text for each in item[-3:]] == [")", "{", "}"] and all(
                    each.text != "=" for each in item
                ):
                    if _is_statement(item[:1]):
                        self.statement = self.statement or item[0]
                    else:
                        self.statement, self.end = None, item[-1].end
                        self._function(item[:-2])
                    self._items.append(item)
                    begin, item = end + 1, []
            elif token.text == ";":
                self._declaration(item, found[begin : end + 1])
                self._items.append([*item, token])
                begin, item = end + 1, []
            else:
                item += found[at : end + 1]
            at = end + 1
        self._declaration(item, [])

    def _declaration(self, item: list[Token], whole: Sequence[Token]) -> None:
        if _is_statement(item):
            self.statement = self.statement or item[0]
            return
        texts = [each.text for each in item]
        if "=" not in texts:
            self._early += _early_dims(item)
            self.types += [[*whole]] * ("typedef" in texts or "{" in texts)
        self._variables([each for each in item if each.text not in ("{", "}")])

    def _tagged(self, item: Sequence[Token], inside: Sequence[Token]) -> None:
        """Collects names from a struct, union or enum: its tag, and the members of an enum."""
        texts = [each.text for each in item[-2:]]
        self._early += _early_dims(inside) if set(_TAGS).intersection(texts) else []
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
        if not self.tagged.isdisjoint(words):
            self.tagged.update(names)
        elif len(names) == 1 and all(token.kind == "word" for token in rest):
            self.typedefs[names[0]] = words[:-1]

    def _function(self, head: list[Token]) -> None:
        opens = opens_parameters(head)
        if not opens:
            self._early += _early_dims(head)  # a function that returns a function, or parameters of old C
            return
        before = head[: opens - 1]
        words = [token.text for token in before if token.kind == "word"]
        name = head[opens - 1]
        inner = head[opens + 1 : -1]
        parts = [part for part in split(inner) if [token.text for token in part] not in ([], ["void"])]
        named = [part for part in parts if [token.text for token in part] != ["..."]]
        parameters = [_parameter(part, k) for k, part in enumerate(named)]
        early = [*_early_of(named, parameters), *_early_dims(inner)]
        self._early += early
        made = TextFunction(
            name=name.text,
            at=name.at,
            words=[word for word in words if word not in _STORAGE | _QUALIFIERS and word != "static"],
            stars=sum(token.text == "*" for token in before),
            parameters=parameters,
            private="static" in words,
            variadic=len(named) < len(parts),
            result_at=next((t.at for t in before if t.text not in _STORAGE | _QUALIFIERS), name.at),
            head=head,
            inner=inner,
            early=early,
        )
        earlier = self.named.get(made.name)
        if earlier is not None:
            self.fail(
                f"two functions are called {made.name}: the other one is in line {self.line(earlier.at)}",
                made.at,
                len(made.name),
            )
        self.functions.append(made)
        self.named[made.name] = made
        self.names.add(made.name)


def shown(head: Sequence[Token]) -> str:
    """Formats tokens of a declaration as people write them."""
    text = " ".join(token.text for token in head)
    return re.sub(r" (?=[\[\](),])|(?<=[\[(*]) ", "", text)


def opens_parameters(head: Sequence[Token]) -> int:
    """Returns the index of the bracket of a function's parameters, which end the tokens; or 0."""
    opens = next((k for k, token in enumerate(head) if token.text == "("), 0)
    return opens if opens and head[opens - 1].kind == "word" and closes(head, opens) + 1 == len(head) else 0


def _is_statement(item: Sequence[Token]) -> bool:
    """True if it begins as no declaration does: `return x`, `*y = 1`, `f(x)`."""
    first = item[0] if item else None
    if first is None or first.text in _TAGS:
        return False
    follows = item[1].kind == "word" or item[1].text == "*" if len(item) > 1 else True
    return first.kind != "word" or first.text in CONTROL or not follows


def _early_dims(found: Sequence[Token]) -> list[Early]:
    """Returns the early dims of each list of parameters in the tokens."""
    made: list[Early] = []
    texts = [each.text for each in found]
    for k, text in enumerate(texts if "[" in texts else ()):
        if text == "(":
            parts = split(found[k + 1 : closes(found, k)])
            made += _early_of(parts, [_parameter(part, i) for i, part in enumerate(parts)])
    return made


def _early_of(parts: list[list[Token]], parameters: list[Parameter]) -> list[Early]:
    names = [each.name for each in parameters]
    made = []
    for k, each in enumerate(parameters):
        for axis, dim in enumerate(each.dims if each.is_named else ()):
            unknown = (*([] if axis else names[k + 1 :]), *_EXTREMES)  # C does not know these
            behind = [token for token in dim if token.text in unknown]
            if behind:
                is_made = any(token.text == "[" and token.at == dim[0].at for token in parts[k])
                made.append(Early(dim, behind[0], each.name, is_made, _as_c(dim) if axis else ""))
    return made


def _as_c(dim: Sequence[Token]) -> str:
    """Writes a dim without min() and max()."""
    made, k = "", 0
    while k < len(dim):
        sign, end = _EXTREMES.get(dim[k].text), closes(dim, k + 1)
        if sign is not None and [each.text for each in dim[k + 1 : k + 2]] == ["("]:
            first, *others = [_as_c(part) for part in split(dim[k + 2 : end])] or [""]
            for other in others:
                first = f"(({first}) {sign} ({other}) ? ({first}) : ({other}))"
            made, k = f"{made} {first}", end + 1
        else:
            made, k = f"{made} {dim[k].text}", k + 1
    return made.strip()


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
    """Returns the names that a declaration of types or variables declares."""
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
    intent = ""
    dims: list[list[Token]] = []
    flat: list[Token] = []
    odd = ""
    pointer: Token | None = None
    i = 0
    while i < len(part):
        token = part[i]
        end = closes(part, i) if token.text in "([" else i
        if token.text in MARKS.values():
            intent = token.text.lower()
        elif token.text == "[":
            pointer = pointer if dims else token
            dims.append([t for t in part[i + 1 : end] if t.text not in _QUALIFIERS and t.text != "static"])
        elif token.text == "(":
            odd = "a function: callbacks have no mapping"
            inner = part[i + 1 : end]
            declares = bool(inner) and inner[0].text == "*"  # (*f)(...): its own parameters are not ours
            flat += [each for each in inner if each.kind == "word" or each.text == "*"] if declares else []
        else:
            if token.text in ("&", "&&"):
                odd = "a reference of C++; in C a pointer does that: OUT in front of it makes it a result"
            pointer = token if token.text == "*" else pointer
            flat.append(token)
        i = end + 1
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
        is_named=named,
        pointer=None if any(token.text in _RESTRICT for token in part) else pointer,
    )
