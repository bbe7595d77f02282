"""Compiles C text where C wants a function: a body, or definitions, of which the last one is used."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from cwrapjit import _cwrapjit
from cwrapjit._imports import load
from cwrapjit.kernels.text import Text, TextFunction, shown
from cwrapjit.library import constants, native, thunks, types
from cwrapjit.library.code import Code
from cwrapjit.library.declarations import Declarations, FunctionDeclaration, declaration_of

_MOST_TEXTS = 128  # that a library keeps compiled
_ENTRY = "cwj_callback_entry"


def compiled(
    known: Declarations, code: Code, ctype: types.Callable, text: str, who: str, by_libtcc: bool
) -> tuple[Any, ...]:
    """Returns the text's address and owner and, if it can get hot, what to call then and its time. It is
    compiled once. by_libtcc: code of libtcc calls it."""
    key = (text, id(ctype), by_libtcc)
    found: tuple[Any, ...] | None = code.texts.get(key)
    if found is None:
        address, owner, again = _compile(known, code, ctype, text, who, by_libtcc)
        found = (address, (owner, ctype))
        if again is not None and not code.debug and _cwrapjit.config.optimize != "off":
            hot = _Hot(code.texts, key, found, again)
            found = (*found, hot.look, hot.heat)
        while len(code.texts) >= _MOST_TEXTS:
            code.texts.pop(next(iter(code.texts)))
        code.texts[key] = found
    return found


class _Hot:
    """A text that may become hot: then the system's compiler compiles it again in the background."""

    def __init__(self, texts: dict[Any, Any], key: Any, found: tuple[int, Any], again: Any) -> None:
        self.texts = texts
        self.key = key
        self.found = found
        self.again = again
        self.owner: Any = None
        self.heat = bytearray(8)  # nanoseconds; empty: `found` is out of date

    def look(self) -> None:
        """Uses the code of the system's compiler if it is ready. If that fails, keeps the present code."""
        try:
            if self.owner is None:
                self.owner, _ = self.again(2)
            places = _cwrapjit.later_thunks(self.owner)
        except RuntimeError:  # there is no compiler
            places = False
        if places is None:
            return
        self.heat.clear()
        made = self.found
        if places:  # C may still have the first address
            made = (places[0], (self.owner, *self.found[1]))
        if self.key in self.texts:
            self.texts[self.key] = made


def _compile(
    known: Declarations, code: Code, ctype: types.Callable, text: str, who: str, by_libtcc: bool
) -> tuple[int, Any, Any]:
    """Returns the address, its owner, and what compiles it again: None if structs allow only one compiler."""
    if "\0" in text:
        raise _cwrapjit.CompileError(f"{who}: the text has a NUL character")
    if not text.strip():
        raise ValueError(f"{who}: the C text is empty")
    file = f"<cwrapjit {who}>"
    build = known.preprocessor
    read = Text(text, file, build.include_dirs, build.given, code.environment)
    read.check()
    last = read.functions[-1] if read.functions and read.statement is None else None
    last = last if last is not None and last.words else None  # FOREACH(x) { ... } is part of a body
    spelled = Spelled(bool(read.includes) or not (last is None or "struct" not in text))
    try:
        parameters = spelled.parameters(ctype)
        opening = spelled.type(ctype.result, f"{_ENTRY}({parameters})") + " {"
        writer = thunks.Writer()
        for each in (ctype.result, *ctype.parameters):
            if isinstance(each, types.Struct):
                writer.spell(each)
        optimize = writer.optimize(by_libtcc)
    except thunks.Unmapped as reason:
        raise TypeError(f"{who}: no C text can be given: {reason}") from None
    name, line, given = _ENTRY, 0, read.compiled()
    if last is None:
        line, given = _lines_in_front(read), read.compiled(read.end)
        head, found = Text(f"{opening}}}", file), declaration_of(ctype, name)
    else:
        head, found = read, _check(known, ctype, read, last, who)
        name, opening = last.name, ""
    head.has_others = True  # the library's types, with which it was read
    confirmed = load("cwrapjit.library.source").confirmation(head, found, lambda struct: None)
    more = Spelled(False)  # used only if the text does not compile without
    after = f"{'}' if opening else ''}\nvoid *const cwj_callback = (void *){name};\n{confirmed}"

    def compile_text(optimize: int) -> Any:
        names = [name if optimize else "cwj_callback"]  # a static function has no symbol
        with read.own_lines():
            before = spelled.text() + more.text()
            return _cwrapjit.compile_thunks(
                code.environment, given, names, optimize, file, before, after, opening, line
            )

    try:
        try:
            owner, (place,) = compile_text(0)
        except _cwrapjit.CompileError:
            more.seen |= set() if spelled.without else spelled.seen
            more.learn_all(known, read.words - read.names)
            if not more.text():
                raise
            owner, (place,) = compile_text(0)
        if optimize:  # libtcc's code was only for its messages
            owner, (address,) = compile_text(1)
            return address, owner, None
    except RuntimeError as error:
        if type(error) is not RuntimeError:  # a subclass, raised while it waited
            raise
        raise TypeError(f"{who}: no C text can be given: {error}") from None
    except _cwrapjit.CompileError as error:
        if opening:
            _speak_of_a_body(error, parameters)
        raise
    again = None if writer.needs_compiler else compile_text
    return load("ctypes").c_void_p.from_address(place).value, owner, again


def _speak_of_a_body(error: _cwrapjit.CompileError, parameters: str) -> None:
    """Adapts messages: users see neither the generated opening of a body nor the names of its parameters."""
    for each in {id(one): one for one in (error, *error.errors)}.values():
        each.msg = str(each.msg).replace(f"of '{_ENTRY}' belongs", "that is returned belongs")
        if each.msg.endswith("' undeclared"):
            each.msg += f" (the parameters are: {parameters})"


def _check(
    known: Declarations, ctype: types.Callable, read: Text, last: TextFunction, who: str
) -> FunctionDeclaration:
    """Returns the declaration of a definition. It must have the expected type, maybe by types of the text."""
    words = " ".join(token.text for token in last.head if token.text not in ("static", "inline", "extern"))
    before = "".join(f"{token.text} " for each in read.types for token in each)
    try:
        parsed = known.apart(read.names, read.words).read(f"{before}{words};", f"<{who}>")
    except _cwrapjit.CompileError as error:
        raise _cwrapjit.CompileError(
            f"{who}: {last.name}() has a type that this library does not know: {error.msg}"
        ) from None
    if len(parsed.functions) != 1 or not native.agrees(ctype, parsed.functions[0]):
        raise TypeError(f"{who}: expected {types.show(ctype)}, got the definition of {shown(last.head)}")
    found: FunctionDeclaration = parsed.functions[0]
    return found


def _lines_in_front(read: Text) -> int:
    """Counts the lines in front of a body: directives, and functions that it calls."""
    if read.statement is not None and read.end:
        line = read.line(read.end)
        if line == read.line(read.statement.at):
            read.fail("a body that stands behind a function begins on a line of its own", read.statement.at)
        return line
    return read.source.count("\n", 0, read.front)


class Spelled:
    """Spells the types of a callback for the user's text. without: the text defines the types itself."""

    def __init__(self, without: bool) -> None:
        self.without = without
        self.parts: list[str] = []
        self.seen: set[Any] = set()

    def text(self) -> str:
        return "" if self.without else "".join(self.parts)

    def parameters(self, ctype: types.Callable) -> str:
        """Parameters without a name are called arg0, arg1 ..."""
        shown = [
            self.type(each, name or f"arg{k}")
            for k, (name, each) in enumerate(zip(ctype.names, ctype.parameters, strict=True))
        ]
        return ", ".join([*shown, "..."] if ctype.variadic else shown) or "void"

    def type(self, ctype: Any, name: str) -> str:
        """Returns a declaration of `name`."""
        if isinstance(ctype, types.Array):  # a parameter
            ctype = types.Pointer(ctype.item, ctype.const)
        const = False
        while isinstance(ctype, (types.Pointer, types.Array)):
            const = ctype.const
            if isinstance(ctype, types.Pointer):
                name, ctype = f"*{name}", ctype.target
            else:
                name, ctype = f"({name})[{constants.text_of(ctype.dim)}]", ctype.item
        return f"{'const ' if const else ''}{self._plain(ctype)} {name}".rstrip()

    def _plain(self, ctype: Any) -> str:
        if isinstance(ctype, types.Void):
            return "void"
        if isinstance(ctype, types.Scalar):
            if ctype.alias and ctype.alias not in types.KNOWN and ctype.alias.isidentifier():
                self.once(ctype.alias, f"typedef {ctype.spelling} {ctype.alias};\n")
            return ctype.spelling
        if isinstance(ctype, types.Struct):
            return self._struct(types.final(ctype))
        if isinstance(ctype, types.Callable):
            return "void *"
        raise thunks.Unmapped(f"{types.show(ctype)} is not known in C text")

    def learn(self, known: Declarations, word: str) -> None:
        """Adds the types of this name."""
        found = [known.tags.get(f"{kind} {word}") for kind in ("struct", "union")]
        found.append(known.typedefs.get(word) if word not in types.KNOWN else None)
        for ctype in found:
            if isinstance(ctype, (types.Pointer, types.Callable, types.Scalar)):
                self.once(word, f"typedef {self.type(ctype, word)};\n")
            elif ctype is not None:
                self.type(ctype, "")

    def learn_all(self, known: Declarations, words: set[str]) -> None:
        """Adds what the library knows of a text's words: its types, and its enums with all their members."""
        known.fetch(words)
        for word in sorted(words):
            with contextlib.suppress(thunks.Unmapped):
                self.learn(known, word)
            values = getattr(known.tags.get(f"enum {word}"), "values", None) or {}
            self._enumerate(word, values)
        for word in sorted(words & known.enumerators.keys() - self.seen):
            self._enumerate("", {word: known.enumerators[word]})

    def _enumerate(self, tag: str, values: Mapping[str, int]) -> None:
        if values:
            self.seen.update(values)
            items = ", ".join(f"{name} = {value}{'ull' * (value >= 2**63)}" for name, value in values.items())
            self.parts.append(f"enum {tag} {{ {items} }};\n")

    def once(self, what: Any, text: str) -> None:
        if what not in self.seen:
            self.seen.add(what)
            self.parts.append(text)

    def _struct(self, struct: types.Struct) -> str:
        """Returns the struct's name. Defines the struct as far as its members are known."""
        name = struct.name
        if not name:
            raise thunks.Unmapped(f"{types.show(struct)} has no name")
        if struct.in_header or struct in self.seen:
            return name
        self.seen.add(struct)
        tag = f"{struct.kind} {struct.tag or f'cwj_of_{struct.alias}'}"
        if struct.alias:
            self.parts.append(f"typedef {tag} {struct.alias};\n")
        members = self._members(struct)
        if members is not None:
            self.parts.append(thunks.definition(struct, tag, members))
        return name

    def _members(self, struct: types.Struct) -> str | None:
        shown = []
        for member in struct.members or ():
            inner, layers = types.peeled(member.type)
            try:
                dims = "".join(f"[{thunks.array_length(each)}]" for each in layers)
                bits = f":{member.bits}" if member.bits >= 0 else ""
                is_nameless = isinstance(inner, types.Struct) and not inner.name
                if is_nameless:
                    body = self._members(inner) or "char cwj_empty;"
                    word = f"{inner.kind} {thunks.attributes_of(inner)}{{ {body} }} {member.name}{dims}"
                else:
                    word = self.type(inner, f"{member.name}{dims}")
            except thunks.Unmapped:
                return None
            shown.append(f"{word}{bits}{thunks.aligned(member)};")
        return " ".join(shown) if struct.members is not None else None
