"""The inside of a library: what is declared, and how it becomes callables. People see face.py's Library."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import os
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from cwrapjit import _build, _cwrapjit
from cwrapjit._imports import load
from cwrapjit.library import constants, enums, types
from cwrapjit.library.classes import Classes
from cwrapjit.library.declarations import (
    Declarations,
    FunctionDeclaration,
    Parsed,
    Unread,
    has_united,
    structs_of,
)
from cwrapjit.library.mapping import Mapped, Mapper, attribute_name, refuse
from cwrapjit.library.options import OPTIONS, Options
from cwrapjit.library.pieces import is_definition
from cwrapjit.library.refine import Refinement, Refinements
from cwrapjit.library.thunks import Classless, Unmapped
from cwrapjit.library.units import Pending, compile_together

_TOGETHER = 64  # functions whose thunks are compiled at once, where many are mapped
_TRIED = 16  # functions that a pattern is tried with at once
_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclasses.dataclass(eq=False)
class Declared:
    """What one call of declare() says of its functions."""

    strip_prefix: str
    options: Mapping[str, Any]
    shared: Mapping[str, Any]

    def of(self, name: str) -> tuple[str, dict[str, Any]]:
        """The attribute of a C name, and its options."""
        own = {**self.shared, **self.options.get(name, {})}
        return attribute_name(own.get("name") or name.removeprefix(self.strip_prefix)), own


Known = tuple[FunctionDeclaration, dict[str, Any], str]  # a function, its own options, its attribute


class Core:
    """Everything of one library. The other files of this package get this as `library`."""

    def __init__(
        self, name: str, path: str | os.PathLike[str] | None = None, *, sources: Any = (),
        libraries: Any = (), header: str = "", include_dirs: Any = (), define_macros: Any = (),
        library_dirs: Any = (), init: str | None = None, free: str | None = None, gil: bool = False,
        doc: str = "", debug: bool | str | None = None, source: str | None = None,
        fastmath: bool | None = None, threads: int | str | None = None, journal: Any = None,
    ) -> None:  # fmt: skip
        if not isinstance(name, str):
            raise TypeError(f"library(): name must be a str, not {type(name).__name__}")
        for option, text in (("header", header), ("doc", doc)):
            if not isinstance(text, str):
                raise TypeError(f"library({name!r}): {option} must be a str, not {type(text).__name__}")
        if source is not None and not isinstance(source, str):
            raise TypeError(f"library({name!r}): source must be a str, C text, not {type(source).__name__}")
        if source is not None and sources:
            raise ValueError(
                f"library({name!r}): source= and sources= do not go together: #include the files in the text"
            )
        if debug is not None and not isinstance(debug, bool) and debug != "left":
            error = ValueError if isinstance(debug, str) else TypeError
            raise error(f"library({name!r}): debug must be True, False or 'left', not {debug!r}")
        self.loops = _loop_options(name, source, fastmath, threads)
        self.name = name
        self.doc = doc
        self.debug = _cwrapjit.config.debug if debug is None else debug
        self.unmapped: dict[str, str] = {}
        self._members: dict[str, Any] = {}
        # The library, whose __dict__ has attributes; see remember().
        self.remembers: Callable[[], Any] = lambda: None
        self._remembered: set[str] = set()
        self.generation = 0  # of what attributes mean
        self.texts = 0  # that were read
        self._pending: dict[str, Any] = {}  # Pending, and its like in source.py
        self.variables: dict[str, Any] = {}  # with get() and set(value), by attribute
        self.classes = Classes(self)
        # What declare() mapped by automatic classes, or could not map.
        self._waiting: dict[types.Struct, list[Known]] = {}
        self.refinements = Refinements(name)
        self._declared: dict[str, Known] = {}  # what declare() and function() have read, by attribute
        self._by_declare: set[str] = set()  # the attributes that declare() made
        self.signatures_seen: dict[str, Any] = {}  # of capsules and the like -> the type that they agree with
        self.texts_compiled: dict[Any, Any] = {}  # C text of callbacks -> (address, what keeps the code)
        self._by_function: set[str] = set()  # and function(): no header takes their place
        # What declare() has left for its first use: by C's name, and C's names by attribute.
        self._unread: dict[str, list[Unread]] = {}
        self._unread_attributes: dict[str, str] = {}
        # Functions that headers define for whoever includes them: what source.compile_inner() made, those
        # with which one is to be compiled, or the reason why it cannot be.
        self.inner: dict[str, tuple[Any, int, bool] | list[str] | str | None] = {}
        self.compiler_failed = 0  # at these: how often
        self.journal = journal  # how all this came to be: see face.py
        self.keeps_gil = bool(gil)
        self.link = {  # what the Fortran compiler needs to find this library
            "path": path, "libraries": libraries, "library_dirs": library_dirs, "include_dirs": include_dirs,
        }  # fmt: skip
        self.fortran_modules: dict[str, dict[str, int]] = {}  # their constants
        self._header = header
        self._header_read = not header
        self._macro_values: dict[str, Any] = {}
        self.enums: dict[int, tuple[dict[str, int], Any]] = {}  # classes, by the identity of their values
        self._asked: dict[str, Any] = {}  # macros whose values only C knows
        self._live: set[str] = set()  # those of them that are read each time
        self._header_functions: dict[str, FunctionDeclaration] = {}
        # The functions of all declarations so far, by C's name.
        self.prototypes: dict[str, FunctionDeclaration] = {}
        define_macros = _build.macros(define_macros, f"library({name!r}): define_macros")
        given: Any = None
        if source is not None:
            own = load("cwrapjit.library.source")
            given = own.read(source, f"<cwrapjit {name} source>")
            define_macros += own.macros(given)
        self.declarations = Declarations(include_dirs, define_macros)
        self.declarations.before_change = self.settle_all
        self.declarations.preprocessor.is_declared = self._is_declared
        if path is not None and (libraries is None or isinstance(libraries, (tuple, list))):
            libraries = [path, *(libraries or ())]
        self.build = {
            "libraries": libraries, "library_dirs": library_dirs, "include_dirs": include_dirs,
            "define_macros": define_macros,
        }  # fmt: skip
        read: Any = None
        inner = ""
        if given is not None:
            own.teach(self.declarations)
            with contextlib.suppress(_cwrapjit.CompileError):  # C's message is better
                read = self.declarations.read_definitions(given.source, given.file)
                inner = own.addresses(read[2])

        def environment(text: str | None) -> Any:
            return _cwrapjit.library_environment(
                name, sources, libraries, include_dirs, define_macros, library_dirs, header, self.debug,
                text, given.source if given else "",
            )  # fmt: skip

        with given.own_lines() if given else contextlib.nullcontext():
            try:
                self.environment = environment(given.compiled() + inner if given else None)
            except _cwrapjit.CompileError:
                if not inner:
                    raise
                self.environment = environment(given.compiled())  # functions that nobody uses may be no C
        # No other library has its memory, which goes when its code goes.
        self.has_sources = bool(sources) or source is not None
        self.is_compiled = self.has_sources and not libraries
        # What its functions are given, perhaps after a call.
        self.may_keep = not self.is_compiled or _cwrapjit.library_has_state(self.environment)
        self.lifetime: Any = None  # init= and free= are looked up before there is one
        self.lifetime = load("cwrapjit.library.lifetime").begin(self, init, free)
        if given is not None:
            own.declare(self, given, read or self.declarations.read_definitions(given.source, given.file))

    # ---- what people call ----------------------------------------------------------------------------

    def function(self, declaration: str, **options: Any) -> Any:
        """Declares one C function."""
        self._read_options(options)  # before the text: what it declares is known from then on
        parsed = self._read(declaration, "function")
        if len(parsed.functions) != 1 or parsed.variables:
            raise ValueError(
                f"{self.name}.function(): the text should declare one function, it declares "
                f"{len(parsed.functions)} functions and {len(parsed.variables)} variables"
            )
        found = parsed.functions[0]
        found.text = load("cwrapjit.library.signatures").written(declaration)
        read = self.options_of(found, options)
        made = self._make_specially(found, read)
        try:
            made = self.make(found, read) if made is None else self.keep(read.name or found.name, made)
        except Unmapped as reason:
            who = f"{self.name}.{found.name}()"
            if found.private or (found.variadic and read.varargs is None):
                raise NotImplementedError(f"{who}: {reason}") from None
            raise TypeError(f"{who} has no mapping: {reason}") from None
        attribute = attribute_name(options.get("name") or found.name)
        self._declared[attribute] = (found, dict(options), attribute)
        self._by_function.add(attribute)
        return made

    def declare(self, text: str, strip_prefix: str, options: Any, shared: Mapping[str, Any]) -> None:
        """Declares all that a header's text does. `options` are by function, `shared` is for all."""
        if options is not None and not isinstance(options, Mapping):
            raise TypeError(f"{self.name}.declare(): options must be a dict of dicts")
        if not isinstance(text, str):
            self._read(text, "declare")
        self._read_header()
        self._read_options(shared)
        self.forget()
        self.texts += 1
        parsed, later = self.declarations.read_later(text, f"<{self.name}.declare>")
        declared = Declared(strip_prefix, options or {}, shared)
        self._take(parsed, declared, strict=True)
        self._take_failed()
        for each in later:
            self._leave_unread(each, declared)
        at_once = [name for each in later for name in each.names if shared or name in declared.options]
        self.settle(at_once, strict=True)
        self._complete_classes()
        self.forget()

    def _leave_unread(self, each: Unread, declared: Declared) -> None:
        each.declared = declared
        if each.piece[2][:1] != "<" and is_definition(each.piece[0]):
            self.inner.update(dict.fromkeys(each.names))
        for name in each.names:
            attribute, own = declared.of(name)
            if attribute in self._by_function and not own:  # function() has said more of it
                continue
            before = self._unread.setdefault(name, [])
            self.forget()
            before[:] = [other for other in before if str(other) != str(each)]
            before.append(each)
            self._unread_attributes[attribute] = name
            self.unmapped.pop(name, None)

    def settle(self, names: Iterable[str], strict: bool = False) -> None:
        """Reads and maps what declare() has left unread of these C names; strict: faults in options raise."""
        wanted = [name for name in dict.fromkeys(names) if name in self._unread]
        if not wanted:
            return
        with self.declarations.turn:
            found = {each: None for name in wanted for each in self._unread.get(name, ())}
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
                self._drop_unread(name)
            self._take_failed()

    def _is_declared(self, name: str) -> bool:
        return name in self._unread or name in self.prototypes

    def settle_all(self) -> None:
        self.settle(list(self._unread))

    def _take(self, parsed: Parsed, declared: Declared, strict: bool) -> None:
        """Maps what a text declares."""
        self.take_prototypes(parsed)
        pending = Pending(self)
        for found in parsed.functions:
            attribute, own = declared.of(found.name)
            if attribute in self._by_function and not own:
                continue
            pending = pending if len(pending.mapped) < _TOGETHER else Pending(self)
            try:
                self.declare_function(found, own, attribute, pending)
            except (TypeError, ValueError) as error:
                if strict:
                    raise
                self.unmapped[found.name] = str(error)
        self.take_variables(parsed.variables, declared.strip_prefix)

    def take_prototypes(self, parsed: Parsed) -> None:
        """And what could not be read."""
        self.prototypes.update((found.name, found) for found in parsed.functions)
        self.unmapped.update((name, str(error)) for name, error in parsed.failed)

    def take_variables(self, found: Iterable[Any], strip_prefix: str = "") -> None:
        for variable in found:
            try:
                self.add_declared(variable, variable.name.removeprefix(strip_prefix))
            except (Unmapped, AttributeError) as reason:
                self.unmapped[variable.name] = str(reason)

    def _take_failed(self) -> None:
        failed, self.declarations.failed = self.declarations.failed, []
        self.unmapped.update((name, str(error)) for name, error in failed)

    def _drop_unread(self, name: str) -> None:
        for each in self._unread.pop(name, ()):
            attribute, _ = each.declared.of(name)
            if self._unread_attributes.get(attribute) == name:
                del self._unread_attributes[attribute]

    def _complete_classes(self) -> None:
        """Classes of types whose members are known by now get them; what function() has mapped by a type
        that was found to be another one is mapped again."""
        with self.declarations.turn:
            for struct in self.classes.growing():
                self.classes.of(struct)
            said = {name: self._declared[name] for name in self._by_function if name in self._declared}
            stale = [name for name, (found, _, _) in said.items() if has_united(found)]
            self._map_again([said[name] for name in stale])
            self._by_function.difference_update(stale)

    def redefine(self, name: str, before: Any, now: Any) -> None:
        """A typedef is another type from here on, in what was read before, too."""
        self.declarations.typedefs[name] = now
        stale = []
        for each in self._declared.values():
            found, types_before = each[0], [each[0].result, *(one.type for one in each[0].parameters)]
            found.result = types.replaced(found.result, before, now)
            for one in found.parameters:
                one.type = types.replaced(one.type, before, now)
            if types_before != [found.result, *(one.type for one in found.parameters)]:
                stale.append(each)
        self._map_again(stale)

    def refine(self, pattern: str, replace: bool, options: Mapping[str, Any]) -> None:
        """Options of the functions that the pattern names, declared already or later."""
        if isinstance(pattern, str) and pattern.isidentifier():
            pattern = self.name_in_c(pattern)
        before = list(self.refinements.all)
        made = self.refinements.add(pattern, options, replace)
        unread = [name for name in self._unread if made.matches(name)]
        named = self._named(made)
        try:
            self._map_again(named)
            self.settle(unread if made.is_plain else unread[:_TRIED], strict=True)
        except BaseException:
            self.refinements.all = before
            self._map_again(self._named(made))
            raise
        if (self._declared or self._unread) and not named and not unread:
            warnings.warn(
                f"{self.name}.refine(): {pattern!r} is the name of no function that is declared so far",
                stacklevel=3,
            )

    def _named(self, made: Refinement) -> list[Known]:
        """What is declared and mapped, or cannot be, and a pattern names."""
        return [each for each in list(self._declared.values()) if made.matches(each[0].name)]

    def _map_again(self, declared: Iterable[Known]) -> None:
        pending = Pending(self)
        for found, own, attribute in declared:
            self._forget(attribute)
            self.declare_function(found, own, attribute, pending)

    def variable(self, declaration: str, name: str | None, shape: Any, readonly: bool) -> None:
        """Declares a variable of the library: a live attribute."""
        parsed = self._read(declaration, "variable")
        if len(parsed.variables) != 1 or parsed.functions:
            raise ValueError(f"{self.name}.variable(): the text should declare one variable")
        found = parsed.variables[0]
        try:
            self.add_declared(found, name or found.name, shape, readonly)
        except Unmapped as reason:
            if found.private:
                raise NotImplementedError(f"{self.name}.{found.name}: {reason}") from None
            raise TypeError(f"{self.name}.{found.name}: {reason}") from None

    @property
    def mapped(self) -> list[str]:
        """The names of all functions that can be called."""
        self.force()
        return self.mapped_so_far()

    def force(self) -> None:
        """Reads and maps all that declare() has left for its first use."""
        self.settle_all()
        self.declarations.read_all_types()
        self._take_failed()
        for name, pending in list(self._pending.items()):
            if isinstance(pending, Pending):  # that a thunk cannot be compiled is a reason, too
                with contextlib.suppress(AttributeError):
                    self.attribute(name)

    def unread(self) -> dict[str, str]:
        """What declare() has left for its first use, and the text, by attribute."""
        return {
            attribute: str(self._unread[name][-1])
            for attribute, name in list(self._unread_attributes.items())
            if name in self._unread
        }

    def mapped_so_far(self) -> list[str]:
        made = {
            name
            for name, each in list(self._members.items())
            if callable(each) and not isinstance(each, type)
        }
        return sorted(made.union(self._pending))

    # ---- attributes ----------------------------------------------------------------------------------

    def remember(self, name: str, value: Any, generation: int) -> None:
        """Python finds it without us from now on, until forget(). generation: when it was looked up."""
        library = self.remembers()
        if library is None or name in self.variables or name in self._live or name.startswith("__"):
            return
        self._remembered.add(name)
        library.__dict__[name] = value
        if generation != self.generation:  # another thread has declared something
            library.__dict__.pop(name, None)

    def forget(self) -> None:
        """Names may mean something else now."""
        self.generation += 1
        library = self.remembers()
        while library is not None and self._remembered:
            library.__dict__.pop(self._remembered.pop(), None)

    def attribute(self, name: str) -> Any:
        """What the library's attribute `name` is now."""
        self.settle([self._unread_attributes.get(name, "")])
        pending = self._pending.get(name)  # first: another thread may take it from there to _members
        if name in self.variables:
            return self.variables[name].get()
        if name in self._members:
            return self._members[name]
        if pending is not None:
            made = pending.finish()
            with self.declarations.turn:  # the first thread's are everybody's
                for each in pending.mapped:
                    if self._pending.get(each) is pending:
                        if each in made:
                            self._members[each] = self._owned(made[each])
                        del self._pending[each]
            if name in self._members:  # another thread may have made it
                return self._members[name]
        value = self.constant(name)
        if value is not None:
            return value
        macro = self._macro(name)
        if macro is not None and not macro.reason:
            self._live.add(name)
            return macro.value()
        other = self._other_name(name)
        if other:
            return self.attribute(other)
        reason = self.unmapped.get(name)
        if reason is not None:
            raise AttributeError(f"library {self.name!r}: {name} has no mapping: {reason}")
        found = self._class_named(name)
        if found is not None:
            return found
        if macro is not None:
            raise AttributeError(f"library {self.name!r}: the macro {name} has no value: {macro.reason}")
        if self.header_function(name) is not None:
            raise AttributeError(
                f"library {self.name!r} has no attribute {name!r}: of header= only types, enums and macros "
                "are used; give its text to declare() instead, or this declaration to function()"
            )
        raise AttributeError(
            f"library {self.name!r} has no attribute {name!r}; nothing of this name is declared"
        )

    def assign(self, name: str, value: Any) -> None:
        """Sets a variable."""
        self.settle([self._unread_attributes.get(name, "")])
        variable = self.variables.get(name)
        if variable is None:
            raise AttributeError(f"library {self.name!r} has no variable {name!r}")
        variable.set(value)

    def attributes(self) -> set[str]:
        """All names that attribute() knows."""
        enumerators = self._enumerators()
        unread, structs = self.declarations.unread_names()
        found = {*self._members, *self._pending, *self.variables, *self._unread_attributes, *unread, *structs}
        found |= enumerators.keys() - self.declarations.foreign_enumerators
        found |= {cls.__name__ for cls in list(self.classes.values())}
        with self.declarations.turn:
            known = {**dict.fromkeys(unread, 1), **enumerators}
            macros = [name for name in self.declarations.preprocessor.macros if self._has_simple(name)]
            found |= {n for n in macros if self._other_name(n) or self._of_macro(n, known) is not None}
        asked = {name: self._macro(name) for name in macros if name not in found}
        return found | {name for name, macro in asked.items() if macro and not macro.reason}

    def constant(self, name: str) -> int | float | str | None:
        """The value of an enumerator or of a simple macro; None: there is none."""
        enumerators = self._enumerators()
        preprocessor = self.declarations.preprocessor
        macro = preprocessor.macros.get(name)
        if macro is None:
            self.declarations.fetch([name])
        if macro is None or name in enumerators:
            return enumerators.get(name)
        kept = self._macro_values.get(name)
        if kept is None or kept[0] is not macro:
            with self.declarations.turn:
                if self._has_simple(name):
                    self.declarations.fetch(_WORD.findall(preprocessor.expand(name)))
                kept = self._macro_values[name] = (macro, self._of_macro(name, enumerators))
        found: int | float | str | None = kept[1]
        if found is None:
            asked = self._macro(name)
            found = None if asked is None or asked.reason or asked.is_live else asked.value()
        return found

    def _macro(self, name: str) -> Any:
        """What C says of a macro that is no function's; None: there is no such macro of the library's."""
        preprocessor = self.declarations.preprocessor
        macro = preprocessor.macros.get(name)
        if macro is None or self._other_name(name):
            return None
        kept = self._asked.get(name)
        if kept is None or kept[0] is not macro or (kept[1].reason and kept[2] != self.texts):
            with self.declarations.turn:
                made = load("cwrapjit.library.macros").Macro(self, name, macro)
            kept = self._asked[name] = (macro, made, self.texts)
        return kept[1]

    def _has_simple(self, name: str) -> bool:
        """Whether a macro of the library's, one without parameters, is called so."""
        preprocessor = self.declarations.preprocessor
        macro = preprocessor.macros.get(name)
        return macro is not None and macro.parameters is None and name not in preprocessor.own

    def _of_macro(self, name: str, known: Mapping[str, int]) -> int | float | str | None:
        """The value of a simple macro, with these values of enumerators."""
        text = self.declarations.preprocessor.expand(name) if self._has_simple(name) else ""
        return constants.of_macro(text, known)

    def _other_name(self, name: str) -> str:
        """Of a macro that is another name of a function or a variable: `#define fits_open_file ffopen`."""
        if not self._has_simple(name):
            return ""
        text = self.declarations.preprocessor.expand(name).strip()
        known = (self._unread_attributes, self._members, self._pending, self.variables)
        return text if text != name and any(text in each for each in known) else ""

    def _class_named(self, name: str) -> Any:
        """The class of the struct or union that C calls so, by its own name or by that of a pointer to it."""
        self.declarations.fetch([name])
        named = self.declarations.struct_named(name)
        if isinstance(named, types.Struct):
            return self.classes.of(named)
        enum = enums.of(self, named or self.declarations.tags.get(f"enum {name}"))
        return enum or next((each for each in list(self.classes.values()) if each.__name__ == name), None)

    def _enumerators(self) -> dict[str, int]:
        self._read_header()
        return self.declarations.enumerators

    # ---- what other files of this package use --------------------------------------------------------

    def _owned(self, value: Any) -> Any:
        """A function says which library it is of: its text has addresses, which mean nothing elsewhere."""
        if isinstance(value, (_cwrapjit.LibraryFunction, _cwrapjit.Function)):
            value.__dict__.setdefault("_journal", self.journal)
        return value

    def members(self) -> Iterable[tuple[str, Any]]:
        """The attributes that are made, by name."""
        return self._members.items()

    def keep(self, name: str, value: Any) -> Any:
        """Makes value the attribute `name`; returns it."""
        self._by_declare.discard(self._put(name, self._members, self._owned(value)))
        self.unmapped.pop(name, None)
        return value

    def address(self, symbol: str, who: str, function: bool = False) -> int:
        """The address of what C calls so. AttributeError: there is none; TypeError: it is a variable."""
        symbol = self.declarations.symbols.get(symbol, symbol)
        found = _cwrapjit.library_symbol(self.environment, symbol)
        if found is None:
            raise AttributeError(f"{who}: there is no symbol {symbol} in library {self.name!r}")
        if function and _cwrapjit.library_symbol_is_data(found):
            raise self.is_no_function(symbol, who)
        return found

    def is_no_function(self, symbol: str, who: str) -> TypeError:
        return TypeError(f"{who}: {symbol} is a variable in library {self.name!r}, no function")

    def is_by_libtcc(self, found: FunctionDeclaration) -> bool:
        """Whether libtcc compiled a function: it passes some structs in its own way."""
        symbol = self.declarations.symbols.get(found.name, found.name)
        return found.by_libtcc or _cwrapjit.library_compiled(self.environment, symbol)

    def name_in_c(self, name: str) -> str:
        """What C calls a function or a type that may be a macro: `#define mpz_clear __gmpz_clear`."""
        self._read_header()
        text = self.declarations.preprocessor.expand(name).strip()
        return text if text.isidentifier() else name

    def prototype(self, name: str) -> FunctionDeclaration | None:
        """What any text declares under this name."""
        self.settle([name])
        return self.prototypes.get(name) or self.header_function(name)

    def header_function(self, name: str) -> FunctionDeclaration | None:
        """What header= declares under this name."""
        self._read_header()
        return self._header_functions.get(name)

    def make(self, found: FunctionDeclaration, options: Options, keep: bool = True) -> Any:
        """The callable for a declaration; Unmapped with a reason."""
        mapped = self._map(found, options)
        made = compile_together(self, [mapped])[0]
        return self.keep(mapped.function.name, made) if keep else made

    def class_made(self, struct: types.Struct, means_more: bool = False) -> None:
        """Maps the functions that declare() left out because of this struct, and those that mean something
        else now: what frees its objects and, with means_more, what has arrays instead, or keeps what the
        objects' end needs."""
        pending = Pending(self)
        for found, own, attribute in self._waiting.pop(struct, ()):
            taken = attribute in self._members or attribute in self._pending or attribute in self.variables
            is_new = not taken and found.name in self.unmapped
            is_other = attribute in self._by_declare and (means_more or found.name in self.classes.frees)
            if not is_new and not is_other:  # function() has made it, or the class has this name
                continue
            try:
                self.declare_function(found, own, attribute, pending)
            except (TypeError, ValueError) as error:  # an option's: declare() has raised these for the others
                self.unmapped[found.name] = str(error)

    def keep_pending(self, name: str, pending: Any) -> None:
        """Makes what pending.finish() makes the attribute `name`, when somebody asks for it."""
        self.unmapped.pop(name, None)
        self._put(name, self._pending, pending)

    def add_variable(self, name: str, variable: Any) -> None:
        """Makes what variable.get() and variable.set(value) reach the attribute `name`."""
        self._put(name, self.variables, variable)

    def _put(self, name: str, table: dict[str, Any], value: Any) -> str:
        """The attribute of this name, which is in this table and in no other from now on."""
        attribute = attribute_name(name)
        table[attribute] = value
        for other in (self._members, self._pending, self.variables):
            if other is not table:
                other.pop(attribute, None)
        self._unread.pop(self._unread_attributes.pop(attribute, ""), None)
        self.forget()
        return attribute

    # ---- steps ---------------------------------------------------------------------------------------

    def _read_header(self) -> None:
        """Types, enums and macros of header= are known to all declarations."""
        with self.declarations.turn:
            if self._header_read:
                return
            self._header_read = True  # first: a header with an error is read once
            self.declarations.in_header = True
            try:
                parsed = self.declarations.read_each(self._header, f"<{self.name} header>")
                self._header_functions.update({each.name: each for each in parsed.functions})
            except _cwrapjit.CompileError:
                raise
            except BaseException:  # such as Ctrl-C, while the compiler runs
                self._header_read = False
                raise
            finally:
                self.declarations.in_header = False

    def _read(self, text: Any, method: str) -> Parsed:
        if not isinstance(text, str):
            raise TypeError(
                f"{self.name}.{method}(): the declaration must be a str, not {type(text).__name__}"
            )
        self._read_header()
        self.forget()
        self.texts += 1
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
        self.prototypes.update((found.name, found) for found in parsed.functions)
        return parsed

    def _read_options(self, given: Mapping[str, Any]) -> Options:
        try:
            made = Options(**given)
        except TypeError:
            unknown = min(name for name in given if name not in OPTIONS)
            raise TypeError(
                f"{self.name}.function() has no option {unknown!r}; they are: {', '.join(OPTIONS)}"
            ) from None
        made.gil = bool(made.gil or self.keeps_gil)
        return made

    def options_of(self, found: FunctionDeclaration, own: Mapping[str, Any]) -> Options:
        """The options of one function: its own, and what refine() said of it."""
        return self._read_options(self.refinements.of(found, own))

    def _make_specially(self, found: FunctionDeclaration, options: Options) -> Any:
        """What frees objects of a class, each once; a broadcasting function; None: neither."""
        if found.name in self.classes.frees:
            return load("cwrapjit.library.structs").end(self, self.classes.frees[found.name], found)
        if options.broadcast or options.prototype is not None:
            return load("cwrapjit.library.broadcast").define(self, found, options)
        return None

    def _map(self, found: FunctionDeclaration, options: Options) -> Mapped:
        if self.classes.descriptors:
            found, options = load("cwrapjit.library.descriptors").adapt(self, found, options)
        mapped = Mapper(self, found, options).map()
        self.target(found)
        return mapped

    def target(self, found: FunctionDeclaration) -> str:
        """The C function in a thunk's text: its address."""
        is_inner = found.name in self.inner and not found.address
        if is_inner and (found.private or _cwrapjit.library_symbol(self.environment, found.name) is None):
            load("cwrapjit.library.source").compile_inner(self, found)
        return str(found.address or self.address(found.name, f"{self.name}.{found.name}()", function=True))

    def note(self, found: FunctionDeclaration, own: dict[str, Any], attribute: str) -> Known:
        """Keeps what refine() makes an attribute of again."""
        self._declared[attribute] = known = (found, own, attribute)
        return known

    def declare_function(
        self, found: FunctionDeclaration, own: dict[str, Any], attribute: str, pending: Pending
    ) -> None:
        known = self.note(found, own, attribute)
        try:
            slices = load("cwrapjit.library.source").refined(self, found, own) if found.slices else None
            if slices is not None:
                self.keep_pending(attribute, slices)
                return
            read = self.options_of(found, {"name": attribute, **own})
            made = self._make_specially(found, read)
            if made is not None:
                self.keep(attribute, made)
                return
            if found.private and found.name in self.inner:
                self.target(found)
            refuse(found, read)
            mapped = self._map(found, read)
        except (Unmapped, AttributeError, _cwrapjit.CompileError) as reason:
            if isinstance(reason, Classless):
                self._waiting.setdefault(reason.struct, []).append(known)
            self.unmapped[found.name] = str(reason)
            return
        for struct in structs_of(found):
            self._waiting.setdefault(struct, []).append(known)
        self.unmapped.pop(found.name, None)
        self._forget(attribute)
        self._by_declare.add(attribute)
        pending.mapped[attribute] = mapped
        self._pending[attribute] = pending

    def _forget(self, attribute: str) -> None:
        self.forget()
        self._members.pop(attribute, None)
        self._pending.pop(attribute, None)
        self.variables.pop(attribute, None)

    def add_declared(self, found: Any, name: str, shape: Any = None, readonly: bool = False) -> None:
        made = load("cwrapjit.library.variables").make(self, found, shape, readonly)
        self.add_variable(name, made)


def _loop_options(
    name: str, source: str | None, fastmath: bool | None, threads: int | str | None
) -> dict[str, Any]:
    """Those of function() for what broadcasts; checked now, as such functions are made later."""
    _cwrapjit.check_loops(f"library({name!r})", fastmath, threads)
    given = {"fastmath": fastmath, "threads": threads}
    given = {option: value for option, value in given.items() if value is not None}
    for option in given if source is None else ():
        raise ValueError(f"library({name!r}): {option}= goes with source=, whose functions broadcast")
    return given
