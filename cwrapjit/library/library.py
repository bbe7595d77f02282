"""The core of a library: keeps what is declared, and makes callables of it. Users see public.py's Library."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from cwrapjit import _cwrapjit
from cwrapjit._errors import warn_user
from cwrapjit._imports import load
from cwrapjit._options import check
from cwrapjit.library import types
from cwrapjit.library.classes import Classes
from cwrapjit.library.code import Code, Later, Mapped, Pending, compile_together
from cwrapjit.library.declarations import (
    Declarations,
    FunctionDeclaration,
    Parsed,
    structs_of,
)
from cwrapjit.library.declared import Declared, Known, Said
from cwrapjit.library.names import attribute_name, qualified
from cwrapjit.library.options import OPTIONS, Options
from cwrapjit.library.pieces import is_definition
from cwrapjit.library.settings import Settings
from cwrapjit.library.thunks import Classless, Unmapped
from cwrapjit.library.values import Values

_TOGETHER = 64  # so many thunks are compiled at once, at most
_TRIED = 16  # so many unread functions are tried with a new pattern
_WORD = re.compile(r"[A-Za-z_]\w*")


class Variable:
    """An attribute whose value is read each time."""

    get: Callable[..., Any]
    set: Callable[..., Any]


class Core:
    """Everything of one library: settings, declarations, code, classes, values of macros, and attributes."""

    def __init__(self, said: Settings, journal: Any = None, as_libtcc: bool = False) -> None:
        self.name, self.said = said.name, said
        self.journal = journal  # records how it came to be: see public.py
        self.table: dict[str, Any] = {}  # the attributes: values, Variables or Later
        # Returns the Library, whose __dict__ has attributes (see remember()), or None.
        self.remembers: Callable[[], Any] = lambda: None
        self._remembered: set[str] = set()
        self.generation = 0  # a new number when attributes may mean something else
        self.fortran_modules: dict[str, dict[str, int]] = {}  # module -> constants
        self.declared = Declared(self.name)
        self.classes = Classes(
            self.name, lambda struct: load("cwrapjit.library.structs").automatic(self, struct)
        )
        text = None if said.source is None else load("cwrapjit.library.source").Given(said)
        self.declarations = Declarations(
            said.include_dirs,
            said.define_macros,
            said.header,
            f"<{self.name} header>",
            as_libtcc or said.as_libtcc,
        )
        self.declarations.before_change = self.settle_all
        self.declarations.preprocessor.is_declared = self.declared.__contains__
        self.values = Values(
            self.declarations, lambda *which: load("cwrapjit.library.macros").Macro(self, *which),
            lambda name: name in self.declared.unread_attributes or name in self.table,
        )  # fmt: skip
        environment = said.environment() if text is None else text.environment(self.declarations)
        self.code = Code(said, environment, self.declarations)
        self.code.lifetime = load("cwrapjit.library.lifetime").begin(self, said.init, said.free)
        if text is not None:
            text.declare(self)

    # ---- methods of Library --------------------------------------------------------------------------

    def function(self, declaration: str, **options: Any) -> Any:
        """Declares one C function."""
        self._read_options(options)  # first: what a text declares stays known
        parsed = self.read(declaration, "function")
        if len(parsed.functions) != 1 or parsed.variables:
            raise ValueError(
                f"{self.name}.function(): the text should declare one function, it declares "
                f"{len(parsed.functions)} functions and {len(parsed.variables)} variables"
            )
        found = parsed.functions[0]
        found.text = load("cwrapjit.library.signatures").written(declaration)
        read = self.options_of(found, options)
        try:
            made = self._make_specially(found, read)
            made = self.make(found, read) if made is None else self.keep(read.name or found.name, made)
        except Unmapped as reason:
            who = f"{qualified(self.name, found.name)}()"
            if found.private or (found.variadic and read.varargs is None):
                raise NotImplementedError(f"{who}: {reason}") from None
            raise TypeError(f"{who} has no mapping: {reason}") from None
        attribute = attribute_name(options.get("name") or found.name)
        self.declared.known[attribute] = (found, dict(options), attribute)
        self.declared.by_function.add(attribute)
        return made

    def declare(self, text: str, strip_prefix: str, options: Any, shared: Mapping[str, Any]) -> None:
        """Declares all that a header's text does. `options` are per function, `shared` are for all."""
        if options is not None and not isinstance(options, Mapping):
            raise TypeError(f"{self.name}.declare(): options must be a dict of dicts")
        if not isinstance(text, str):
            self.read(text, "declare")
        elif text.endswith((".h", ".c")) and (hint := load("cwrapjit._hints").path_hint(text)):
            raise ValueError(f"{self.name}.declare(): {hint}, or #include it")
        check(f"{self.name}.declare()", shared, ("strip_prefix", "options", *OPTIONS))
        self.forget()
        self.values.texts += 1
        parsed, later = self.declarations.read_later(text, f"<{self.name}.declare>")
        declared = Said(strip_prefix, options or {}, shared)
        self._take(parsed, declared, strict=True)
        self._take_failed()
        for each in later:
            if each.piece[2][:1] != "<" and is_definition(each.piece[0]):
                self.code.inner.update(dict.fromkeys(each.names))
            self.declared.leave(each, declared)
        self.forget()
        at_once = [name for each in later for name in each.names if shared or name in declared.options]
        self.settle(at_once, strict=True)
        self._complete_classes()
        self.forget()

    def settle(self, names: Iterable[str], strict: bool = False) -> None:
        """Reads and maps what declare() has left unread of these C names. strict: errors of options raise."""
        wanted = [name for name in dict.fromkeys(names) if name in self.declared.unread]
        if not wanted:
            return
        with self.declarations.turn:
            found = {each: None for name in wanted for each in self.declared.unread.get(name, ())}
            self.declarations.fetch({word for each in found for word in _WORD.findall(each.piece[0])})
            unread = [each for each in found if not each.is_read]  # fetching may have read some
            for each in unread:
                each.is_read = True
            try:
                for declared, several in itertools.groupby(unread, lambda each: each.declared):
                    parsed = self.declarations.read_pieces(each.piece for each in several)
                    self._take(parsed, declared, strict)
            except BaseException:
                for each in unread:
                    each.is_read = False
                raise
            for name in {name for each in unread for name in each.names}:
                self.declared.drop(name)
            self._take_failed()

    def settle_all(self) -> None:
        self.settle(list(self.declared.unread))

    def _take(self, parsed: Parsed, declared: Said, strict: bool) -> None:
        """Maps what a text declares."""
        self.declared.take(parsed)
        found = [(each, own, name) for each in parsed.functions for name, own in [declared.of(each.name)]]
        self.map_all([each for each in found if not self.declared.is_given(each[2], each[1])], strict)
        self.take_variables(parsed.variables, declared.strip_prefix)

    def take_variables(self, found: Iterable[Any], strip_prefix: str = "") -> None:
        for variable in found:
            try:
                self.add_declared(variable, variable.name.removeprefix(strip_prefix))
            except (Unmapped, AttributeError) as reason:
                self.declared.unmapped[variable.name] = str(reason)

    def _take_failed(self) -> None:
        failed, self.declarations.failed = self.declarations.failed, []
        self.declared.take(Parsed(failed=failed))

    def _complete_classes(self) -> None:
        """Gives classes known members. Maps functions again whose type was found to be another one."""
        with self.declarations.turn:
            for struct in self.classes.growing():
                self.classes.of(struct)
            stale = self.declared.united()
            self._map_again(stale)
            self.declared.by_function.difference_update(attribute for _, _, attribute in stale)

    def redefine(self, name: str, before: Any, now: Any) -> None:
        """Replaces a typedef, in what was read before, too."""
        self.declarations.typedefs[name] = now
        self._map_again(self.declared.replace(before, now))

    def refine(self, pattern: str, replace: bool, options: Mapping[str, Any]) -> None:
        """Sets options of the functions that the pattern names, now and later."""
        if isinstance(pattern, str) and pattern.isidentifier():
            pattern = self.declarations.name_in_c(pattern)
        before = list(self.declared.refinements.all)
        made = self.declared.refinements.add(pattern, options, replace)
        unread = [name for name in self.declared.unread if made.matches(name)]
        named = self.declared.named(made)
        try:
            self._map_again(named)
            self.settle(unread if made.is_plain else unread[:_TRIED], strict=True)
        except BaseException:
            self.declared.refinements.all = before
            self._map_again(self.declared.named(made))
            raise
        if (self.declared.known or self.declared.unread) and not named and not unread:
            warn_user(f"{self.name}.refine(): {pattern!r} is the name of no function that is declared so far")

    def _map_again(self, declared: list[Known]) -> None:
        for _, _, attribute in declared:
            self._drop(attribute)
        self.map_all(declared)

    def map_all(self, declared: Iterable[Known], strict: bool = True) -> None:
        pending = Pending(self.code, self.declared.unmapped)
        for each in declared:
            if len(pending.mapped) == _TOGETHER:
                pending = Pending(self.code, self.declared.unmapped)
            try:
                self._map_later(each, pending)
            except (TypeError, ValueError) as error:
                if strict:
                    raise
                self.declared.unmapped[each[0].name] = str(error)

    def variable(self, declaration: str, name: str | None, shape: Any, readonly: bool) -> None:
        """Declares a variable of the library: a live attribute."""
        parsed = self.read(declaration, "variable")
        if len(parsed.variables) != 1 or parsed.functions:
            raise ValueError(f"{self.name}.variable(): the text should declare one variable")
        found = parsed.variables[0]
        try:
            self.add_declared(found, name or found.name, shape, readonly)
        except Unmapped as reason:
            if found.private:
                raise NotImplementedError(f"{qualified(self.name, found.name)}: {reason}") from None
            raise TypeError(f"{qualified(self.name, found.name)}: {reason}") from None

    def force(self) -> None:
        """Reads and maps all that declare() has left for its first use."""
        self.settle_all()
        self.declarations.read_all_types()
        self._take_failed()
        for name, each in list(self.table.items()):
            if isinstance(each, Pending):  # lists those whose thunks cannot be compiled
                with contextlib.suppress(AttributeError):
                    self.attribute(name)

    def mapped_so_far(self) -> list[str]:
        """Returns the names of all functions that can be called."""
        made = list(self.table.items())
        later = [name for name, each in made if isinstance(each, Later)]
        return sorted(later + [n for n, each in made if callable(each) and not isinstance(each, type)])

    # ---- attributes ----------------------------------------------------------------------------------

    def remember(self, name: str, value: Any, generation: int) -> None:
        """Lets Python find the attribute by itself until forget(). generation: when it was looked up."""
        library = self.remembers()
        if library is None or self.variable_at(name) or name in self.values.live or name.startswith("__"):
            return
        self._remembered.add(name)
        library.__dict__[name] = value
        if generation != self.generation:  # another thread has declared something
            library.__dict__.pop(name, None)

    def forget(self) -> None:
        """Undoes remember(), because names may mean something else now."""
        self.generation += 1
        library = self.remembers()
        while library is not None and self._remembered:
            library.__dict__.pop(self._remembered.pop(), None)

    def attribute(self, name: str) -> Any:
        """Returns the present value of an attribute."""
        self.settle([self.declared.unread_attributes.get(name, "")])
        while isinstance(found := self.table.get(name), Later):
            made = found.finish()
            with self.declarations.turn:  # all threads use the first one's
                for each in found.mapped:
                    if self.table.get(each) is found:
                        if each in made:
                            self.table[each] = self._owned(made[each])
                        else:
                            del self.table[each]
        if found is not None:
            return found.get() if isinstance(found, Variable) else found
        value = self.values.of(name)
        if value is not None:
            return value
        macro = self.values.macro(name)
        if macro is not None and not macro.reason:
            self.values.live.add(name)
            return macro.value()
        other = self.values.other_name(name)
        if other:
            return self.attribute(other)
        reason = self.declared.unmapped.get(name)
        if reason is not None:
            raise AttributeError(f"library {self.name!r}: {name} has no mapping: {reason}")
        named = self._class_named(name)
        if named is not None:
            return named
        if macro is not None:
            raise AttributeError(f"library {self.name!r}: the macro {name} has no value: {macro.reason}")
        if self.declarations.header_function(name) is not None:
            raise AttributeError(
                f"library {self.name!r} has no attribute {name!r}: of header= only types, enums and macros "
                "are used; give its text to declare() instead, or this declaration to function()"
            )
        raise AttributeError(
            f"library {self.name!r} has no attribute {name!r}; nothing of this name is declared"
        )

    def assign(self, name: str, value: Any) -> None:
        """Sets a variable."""
        self.settle([self.declared.unread_attributes.get(name, "")])
        variable = self.variable_at(name)
        if variable is None:
            raise AttributeError(f"library {self.name!r} has no variable {name!r}")
        variable.set(value)

    def attributes(self) -> set[str]:
        """Returns all names that attribute() knows."""
        classes = {cls.__name__ for cls in list(self.classes.values())}
        return self.values.names().union(classes, self.declared.unread_attributes, self.table)

    def _class_named(self, name: str) -> Any:
        """Returns the class that has this name in C: a struct's, a pointer's to one, or an enum's."""
        self.declarations.fetch([name])
        named = self.declarations.struct_named(name)
        if isinstance(named, types.Struct):
            return self.classes.of(named)
        enum = self.classes.enum(named or self.declarations.tags.get(f"enum {name}"))
        return enum or next((each for each in list(self.classes.values()) if each.__name__ == name), None)

    # ---- for other files of this package -------------------------------------------------------------

    def _owned(self, value: Any) -> Any:
        """Stores the journal in functions: their text has addresses, which mean nothing elsewhere."""
        if isinstance(value, (_cwrapjit.LibraryFunction, _cwrapjit.Function)):
            value.__dict__.setdefault("_journal", self.journal)
        return value

    def keep(self, name: str, value: Any) -> Any:
        """Makes value the attribute `name`; returns it."""
        attribute = attribute_name(name)
        self._let_go(attribute)
        self.table[attribute] = self._owned(value)
        self.declared.by_declare.discard(attribute)
        self.declared.unread.pop(self.declared.unread_attributes.pop(attribute, ""), None)
        self.declared.unmapped.pop(name, None)
        self.forget()
        return value

    def variable_at(self, name: str) -> Variable | None:
        found = self.table.get(name)
        return found if isinstance(found, Variable) else None

    @property
    def variables(self) -> list[str]:
        """Returns the names of all variables."""
        return [name for name, each in list(self.table.items()) if isinstance(each, Variable)]

    def prototype(self, name: str) -> FunctionDeclaration | None:
        """Returns what any text declares under this name."""
        self.settle([name])
        return self.declared.prototypes.get(name) or self.declarations.header_function(name)

    def make(self, found: FunctionDeclaration, options: Options, keep: bool = True) -> Any:
        """Makes the callable for a declaration. Raises Unmapped with a reason."""
        mapped = self.map(found, options)
        made = compile_together(self.code, [mapped])[0]
        return self.keep(mapped.function.name, made) if keep else made

    def class_made(self, struct: types.Struct, means_more: bool = False) -> None:
        """Maps functions that declare() left out because of this struct, and those that change: what frees
        its objects and, with means_more, what takes arrays instead, or keeps what the destructor needs."""
        stale = []
        for found, own, attribute in self.declared.waiting.pop(struct, ()):
            is_new = attribute not in self.table and found.name in self.declared.unmapped
            means_other = means_more or found.name in self.classes.frees
            # Otherwise function() has made it, or the class has this name.
            if is_new or (means_other and attribute in self.declared.by_declare):
                stale.append((found, own, attribute))
        self.map_all(stale, strict=False)  # declare() has raised errors of options before

    # ---- steps ---------------------------------------------------------------------------------------

    def read(self, text: Any, method: str) -> Parsed:
        if not isinstance(text, str):
            raise TypeError(
                f"{self.name}.{method}(): the declaration must be a str, not {type(text).__name__}"
            )
        self.forget()
        self.values.texts += 1
        text, file = text.rstrip(), f"<{self.name}.{method}>"
        is_open = bool(text) and not text.endswith((";", "}"))
        try:
            parsed = self.declarations.read(text + ";" * is_open, file)
        except _cwrapjit.CompileError as error:
            at_end = is_open and error.offset == len(text.split("\n")[-1]) + 1
            if at_end and error.msg == "syntax error before ;":
                raise self.declarations.error_at(
                    "unexpected end of input", file, error.lineno or 1, error.offset or 0
                ) from None
            raise
        self.declared.take(parsed)
        return parsed

    def _read_options(self, given: Mapping[str, Any]) -> Options:
        check(f"{self.name}.function()", given, OPTIONS)
        made = Options(**given)
        made.gil = bool(made.gil or self.said.gil)
        return made

    def options_of(self, found: FunctionDeclaration, own: Mapping[str, Any]) -> Options:
        """Returns the options of one function: its own and those of refine()."""
        return self._read_options(self.declared.refinements.of(found, own))

    def _make_specially(self, found: FunctionDeclaration, options: Options) -> Any:
        """Makes a function that frees a class's objects, each once, or one that broadcasts. Else None."""
        if found.name in self.classes.frees:
            return load("cwrapjit.library.structs").end(self, self.classes.frees[found.name], found)
        if options.broadcast or options.prototype is not None:
            return load("cwrapjit.library.broadcast").define(self, found, options)
        return None

    def map(self, found: FunctionDeclaration, options: Options) -> Mapped:
        if self.classes.descriptors:
            found, options = load("cwrapjit.library.descriptors").adapt(self, found, options)
        mapped: Mapped = load("cwrapjit.library.mapping").Mapper(self, found, options).map()
        self.code.target(found)
        return mapped

    def _map_later(self, known: Known, pending: Pending) -> None:
        """Maps a function. Its thunk is compiled with the others that are pending."""
        found, own, attribute = known
        self.declared.known[attribute] = known
        try:
            slices = load("cwrapjit.library.source").refined(self, found, own) if found.slices else None
            if slices is not None:
                self.keep(attribute, slices)
                return
            read = self.options_of(found, {"name": attribute, **own})
            made = self._make_specially(found, read)
            if made is not None:
                self.keep(attribute, made)
                return
            if found.private and found.name in self.code.inner:
                self.code.target(found)
            load("cwrapjit.library.mapping").refuse(found, read)
            mapped = self.map(found, read)
        except (Unmapped, AttributeError, _cwrapjit.CompileError) as reason:
            if isinstance(reason, Classless):
                self.declared.waiting.setdefault(reason.struct, []).append(known)
            self.declared.unmapped[found.name] = str(reason)
            return
        for struct in structs_of(found):
            self.declared.waiting.setdefault(struct, []).append(known)
        self.declared.unmapped.pop(found.name, None)
        self._drop(attribute)
        self.declared.by_declare.add(attribute)
        pending.mapped[attribute] = mapped
        self.table[attribute] = pending

    def _drop(self, attribute: str) -> None:
        self.forget()
        self._let_go(attribute)

    def _let_go(self, attribute: str) -> None:
        """Removes an attribute. For pickles, its function stores until which step it was the library's."""
        kept = getattr(self.table.pop(attribute, None), "__dict__", {})
        if "_journal" in kept:
            kept.setdefault("_replaced", (attribute, len(self.journal.steps)))

    def add_declared(self, found: Any, name: str, shape: Any = None, readonly: bool = False) -> None:
        made = load("cwrapjit.library.variables").make(self, found, shape, readonly)
        self.keep(name, made)
