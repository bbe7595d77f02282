"""Finds functions and variables in the compiled code of a library, keeps it alive, and compiles thunks."""

from __future__ import annotations

import contextlib
import copy
import ctypes
import dataclasses
from collections.abc import Collection, Iterable
from typing import Any

from cwrapjit import _cwrapjit
from cwrapjit._imports import load
from cwrapjit.library.declarations import Declarations, FunctionDeclaration, structs_of
from cwrapjit.library.description import Function
from cwrapjit.library.names import qualified
from cwrapjit.library.settings import Settings
from cwrapjit.library.thunks import Thunk, Unmapped, Writer
from cwrapjit.library.types import Struct, show

_MOST_FAILURES = 8
# A compiled function that a header defines: the owner of its code, its address, whether libtcc compiled it.
Inner = tuple[Any, int, bool]


def addresses(names: Iterable[str]) -> str:
    """Returns C text to append, which stores the addresses of functions that have no symbol."""
    return "".join(f"\nvoid *const cwj_at_{name} = (void *){name};" for name in sorted(names))


class Code:
    """The code of one library. `environment` is the one that C text is compiled in."""

    def __init__(self, said: Settings, environment: object, known: Declarations) -> None:
        self.name, self.debug, self.environment = said.name, said.debug, environment
        self.has_sources = said.has_sources
        # Such memory belongs to this library alone, and is freed with its code.
        self.is_compiled = self.has_sources and not said.linked
        # Whether its functions may keep arguments after a call.
        self.may_keep = not self.is_compiled or _cwrapjit.library_has_state(environment)
        self.lifetime: Any = None  # still None when init= and free= are looked up
        self.texts: dict[Any, Any] = {}  # C text of callbacks -> (address, owner of the code)
        # Functions that headers define for each file that includes them: the compiled function, None before
        # that, the names to compile together with it, or the reason why it cannot be compiled.
        self.inner: dict[str, Inner | list[str] | str | None] = {}
        self._symbols = known.symbols
        self._includes = known.preprocessor.includes
        self._as_libtcc = known.as_libtcc
        self._checked: set[Struct] = set()
        self._failures = 0  # of the system's compiler, with such functions

    def address(self, symbol: str, who: str, function: bool = False) -> int:
        """Returns the address of a symbol. AttributeError: there is none; TypeError: it is a variable."""
        symbol = self._symbols.get(symbol, symbol)
        found = _cwrapjit.library_symbol(self.environment, symbol)
        if found is None:
            raise AttributeError(f"{who}: there is no symbol {symbol} in library {self.name!r}")
        if function and _cwrapjit.library_symbol_is_data(found):
            raise self.is_no_function(symbol, who)
        return found

    def is_no_function(self, symbol: str, who: str) -> TypeError:
        return TypeError(f"{who}: {symbol} is a variable in library {self.name!r}, no function")

    def is_by_libtcc(self, found: FunctionDeclaration) -> bool:
        """True if libtcc compiled the function. libtcc passes some structs in its own way."""
        symbol = self._symbols.get(found.name, found.name)
        return found.by_libtcc or _cwrapjit.library_compiled(self.environment, symbol)

    def target(self, found: FunctionDeclaration) -> str:
        """Returns the address of the C function as text, for thunks."""
        is_inner = found.name in self.inner and not found.address
        if is_inner and (found.private or _cwrapjit.library_symbol(self.environment, found.name) is None):
            self.compile_inner(found)
        return str(
            found.address or self.address(found.name, f"{qualified(self.name, found.name)}()", function=True)
        )

    def take_inner(self, found: FunctionDeclaration) -> bool:
        """True if the text of source= stores this header function's address, which is then used."""
        place = _cwrapjit.library_symbol(self.environment, f"cwj_at_{found.name}")
        if place:
            self.inner[found.name] = (None, ctypes.c_void_p.from_address(place).value or 0, True)
            self.compile_inner(found)
        return bool(place)

    def compile_inner(self, found: FunctionDeclaration) -> None:
        """Compiles a function that a header defines in each text that includes it, and that no library has.
        All such functions are compiled together, as they may share variables; after an error, in halves."""
        inner = self.inner
        if inner[found.name] is None:
            names = sorted(name for name, made in inner.items() if made is None)
            inner.update(dict.fromkeys(names, names))
        while isinstance(made := inner[found.name], list):
            names = made
            try:
                inner.update(self._compile_headers(names))
            except _cwrapjit.CompileError as error:
                half = len(names) // 2
                inner.update(dict.fromkeys(names[:half], names[:half]))
                inner.update(dict.fromkeys(names[half:], names[half:]))
                if not half:
                    inner[found.name] = f"only the header has it, of which libtcc says: {error}"
        if not isinstance(made, tuple):
            raise Unmapped(made)
        if made[2] and not self._as_libtcc:
            self._check_structs(found)
        found.code, found.address, found.by_libtcc = made
        found.private = False

    def _check_structs(self, found: FunctionDeclaration) -> None:
        """Raises Unmapped if a struct differs for libtcc: headers can ask which compiler reads them."""
        includes = "\n".join([*self._includes, ""])
        for struct in structs_of(found) - self._checked:
            try:
                Writer(only_layouts=True).spell(struct)
            except Unmapped:
                continue  # its members are unknown, so no values exist
            try:
                load("cwrapjit.library.members").measure(self, struct, "", includes)
            except (TypeError, _cwrapjit.CompileError):
                known = f"{includes}const char cwj_known[sizeof({struct.name})] = {{0}};"
                with contextlib.suppress(_cwrapjit.CompileError):  # the header does not define its members
                    _cwrapjit.compile_thunks(self.environment, known, ["cwj_known"], quiet=True)
                    raise Unmapped(
                        f"only the header has it, in which {show(struct)} has other members for libtcc"
                    ) from None
            self._checked.add(struct)

    def _compile_headers(self, names: list[str]) -> dict[str, Inner]:
        """Compiles these functions of the headers. libtcc does not see those that a header defines only for
        GNU's compiler, so the system's compiler is tried next, until it has failed often."""
        text = "\n".join(self._includes) + "\n"
        symbols = [f"cwj_at_{name}" for name in names]
        environment, file = self.environment, "<headers>"
        try:
            code, places = _cwrapjit.compile_thunks(environment, text + addresses(names), symbols, file=file)
        except _cwrapjit.CompileError:
            if self._failures >= _MOST_FAILURES:
                raise
            try:
                code, places = _cwrapjit.compile_thunks(environment, text, names, 1, file)
            except RuntimeError as error:
                if type(error) is not RuntimeError:  # a subclass, raised while it waited
                    raise
                self._failures += 1
            else:
                return {name: (code, each, False) for name, each in zip(names, places, strict=True)}
            raise
        pairs = zip(names, places, strict=True)
        return {name: (code, ctypes.c_void_p.from_address(each).value or 0, True) for name, each in pairs}


# ---- thunks of several functions together ------------------------------------------------------------


@dataclasses.dataclass
class Mapped:
    """A function before compilation: its description has no addresses yet."""

    declaration: FunctionDeclaration
    function: Function
    thunk: Thunk


class Later:
    """Makes attributes, those in `mapped`, when one of them is used."""

    mapped: Collection[str]

    def finish(self) -> dict[str, Any]:
        raise NotImplementedError


class Pending(Later):
    """Functions that are declared together. Their thunks are one unit, compiled when one of them is used."""

    def __init__(self, code: Code, unmapped: dict[str, str]) -> None:
        """unmapped: gets functions that do not compile at all, with the reason."""
        self.code, self.unmapped = code, unmapped
        self.mapped: dict[str, Mapped] = {}

    def finish(self) -> dict[str, Any]:
        """Returns the callables by name. What does not compile together is tried alone."""
        try:
            made = compile_together(self.code, list(self.mapped.values()))
            return dict(zip(self.mapped, made, strict=True))
        except _cwrapjit.CompileError:
            if len(self.mapped) == 1:
                raise
        except Unmapped:
            pass
        found = {}
        for name, mapped in self.mapped.items():
            try:
                found[name] = compile_together(self.code, [mapped])[0]
            except (_cwrapjit.CompileError, Unmapped) as error:
                self.unmapped[name] = str(error)
        return found


def compile_together(code: Code, mapped: list[Mapped]) -> list[Any]:
    """Returns the callables. Their thunks are one unit per compiler."""
    writers = [Writer(), Writer()]
    places = []
    for each in mapped:
        trial = Writer()
        trial.add(each.thunk, "0")
        chosen = writers[trial.optimize(code.is_by_libtcc(each.declaration))]
        places.append((chosen, chosen.add(each.thunk, code.target(each.declaration))))
    units: dict[int, tuple[object, dict[str, int]]] = {}
    for writer, optimize in zip(writers, (False, True), strict=True):
        if writer.names:
            units[id(writer)] = _compile_unit(code, writer, optimize)
    made = []
    for each, (writer, name) in zip(mapped, places, strict=True):
        owner, by_name = units[id(writer)]
        function = copy.copy(each.function)  # other threads may compile the same functions
        function.thunk = by_name[name]
        function.address = int(code.target(each.declaration))
        function.owner = (owner, code.lifetime or code.environment, each.declaration.code)
        function.result.library = code.lifetime
        function.guard = code.environment if code.debug else None
        made.append(_cwrapjit.wrap_function(function))
    return made


def _compile_unit(code: Code, writer: Writer, optimize: bool) -> tuple[object, dict[str, int]]:
    try:
        owner, addresses = _cwrapjit.compile_thunks(code.environment, writer.text(), writer.names, optimize)
    except RuntimeError as error:
        if not optimize or type(error) is not RuntimeError:  # a subclass was raised while it waited
            raise
        raise Unmapped(
            "a struct of 16 bytes or less with floating and integer members, or arrays of floats, goes by "
            f"value, which libtcc does wrongly ({error})"
        ) from None
    return owner, dict(zip(writer.names, addresses, strict=True))
