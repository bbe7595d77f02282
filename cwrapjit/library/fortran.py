"""Maps ordinary Fortran routines for lib.fortran(), through bind(c) procedures compiled here.

The compiler checks what the declaration does not say, by the module's .mod file or a rebuilt interface.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import pathlib
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cwrapjit._cwrapjit import (
    CompileError,
    Layout,
    LibraryFunction,
    compile_thunks,
    library_environment,
    library_symbol,
    wrap_function,
)
from cwrapjit._errors import warn_user
from cwrapjit._imports import load
from cwrapjit.library import fortran_data, fortran_write
from cwrapjit.library.description import Function, Result
from cwrapjit.library.fortran_build import Constants, build
from cwrapjit.library.fortran_emit import Callback, Procedure
from cwrapjit.library.fortran_parse import parse
from cwrapjit.library.fortran_text import HELPERS, INTERFACES, POINTER, Derived, Routine
from cwrapjit.library.library import Core
from cwrapjit.library.names import qualified
from cwrapjit.library.settings import Settings
from cwrapjit.library.signatures import annotation, returns
from cwrapjit.library.thunks import Thunk, Unmapped, Writer


def _linked(said: Settings) -> list[str]:
    """Returns the end of the command line: the library, and its libraries=."""
    words = []
    if said.path is not None:
        full = os.path.abspath(said.path)
        words += [full, f"-Wl,-rpath,{os.path.dirname(full)}"]
    for folder in map(os.path.abspath, said.library_dirs):
        words += [f"-L{folder}", f"-Wl,-rpath,{folder}"]
    return words + [f"-l{name}" for name in said.libraries]


@dataclasses.dataclass
class Made:
    """The functions, classes and variables that a declaration has become."""

    functions: dict[str, Any] = dataclasses.field(default_factory=dict)
    classes: dict[str, type] = dataclasses.field(default_factory=dict)
    variables: dict[str, fortran_data.Place] = dataclasses.field(default_factory=dict)
    unmapped: dict[str, str] = dataclasses.field(default_factory=dict)
    refused: set[str] = dataclasses.field(default_factory=set)  # functions that only raise an error


class _Unit:
    """One wrapper module, from the declaration to callables."""

    def __init__(self, library: Core, options: Mapping[str, Any]) -> None:
        self.library = library
        self.options = dict(options)
        self.made = Made()
        self.procedures: list[Procedure] = []
        self.places: list[fortran_data.Place] = []
        self.types: list[Derived] = []
        self.generics: dict[str, list[str]] = {}
        self.lines: list[str] = []  # the symbol of each line of the wrapper module
        self.owner: Any = None
        self.addresses: dict[str, tuple[int, int]] = {}  # symbol -> thunk, procedure
        self.free = 0

    def _try(self, name: str, make: Callable[[], Any], keep: list[Any]) -> None:
        try:
            keep.append(make())
        except Unmapped as error:
            self.made.unmapped[name] = str(error)
        except NotImplementedError as error:
            message = f"{qualified(self.library.name, name)}: {error}"
            self.made.unmapped[name] = str(error)
            warn_user(message)
            self.made.functions[name] = _refusing(message)
            self.made.refused.add(name)

    def read(self, declaration: str, module: str, kinds: Mapping[str, int], ask: Constants) -> None:
        where, modules = f"<fortran of {self.library.name}>", self.library.fortran_modules
        declared = parse(declaration, dict(kinds), where, modules, ask)
        self.made.unmapped |= {name: str(error.args[0]) for name, error in declared.faulty.items()}
        self.generics = declared.generics
        types: dict[str, str] = {}
        for derived in declared.types:
            derived.module = derived.module or module
            if derived.module:
                types[derived.name] = derived.module
                self.types.append(derived)
            else:
                self.made.unmapped[derived.name] = "a derived type needs its module: module="
        if declared.routines:
            self._check_names(declared.routines)
        for routine in declared.routines:
            routine.module = routine.module or module
            self._routine(routine, types, len(declared.routines) == 1)
        for name in sorted(declared.commons):
            self.made.unmapped[f"common /{name}/"] = "a COMMON block has no symbol for each of its variables"
        for derived in self.types:
            for variable in derived.components:
                self._place(f"{derived.name}%{variable.name}", variable, derived.module, derived)
        for owner, variable in declared.variables:
            if owner or module:
                self._place(variable.name, variable, owner or module, None)
            else:
                self.made.unmapped[variable.name] = "a variable needs its module: module="

    def _check_names(self, routines: Sequence[Routine]) -> None:
        """Raises TypeError if no routine has an argument that defaults= or shapes= names."""
        known = {each.name.lower() for routine in routines for each in routine.arguments}
        for name in [*(self.options["defaults"] or ()), *(self.options["shapes"] or ())]:
            if name.lower() not in known:
                who = f"{routines[0].name} has no" if len(routines) == 1 else "no routine here has"
                raise TypeError(f"fortran(): {who} argument {name.lower()!r}")

    def _routine(self, routine: Routine, types: dict[str, str], is_alone: bool) -> None:
        symbol = f"cwj_f{len(self.procedures)}_{routine.name.lower()[:40]}"
        names = {each.name.lower() for each in routine.arguments}
        said: dict[str, Any] = {"unsafe": self.options["unsafe"]}
        for option in "defaults", "shapes":
            given = self.options[option] or {}
            said[option] = {name: each for name, each in given.items() if name.lower() in names}

        def make() -> Procedure:
            try:
                return Procedure(routine, symbol, said, types)
            except (TypeError, ValueError, Unmapped) as error:
                if is_alone:
                    raise
                try:  # the options may be for another routine
                    return Procedure(routine, symbol, {"unsafe": said["unsafe"]}, types)
                except Unmapped:
                    raise Unmapped(str(error)) from None

        self._try(routine.name, make, self.procedures)

    def _place(self, name: str, variable: Any, module: str, derived: Derived | None) -> None:
        symbol = f"cwj_v{len(self.places)}"

        def make() -> fortran_data.Place:
            place = fortran_data.Place(variable, module, symbol, derived)
            if place.type_name and place.type_name not in {each.name for each in self.types}:
                raise Unmapped(f"{variable.name}: the type {place.type_name} is not declared here")
            return place

        self._try(name, make, self.places)

    def text(self) -> str:
        """Returns the wrapper module, and stores the symbol of each line in `lines`."""
        parts: list[tuple[str, str]] = [("", "module cwj_wrapper\n  use, intrinsic :: iso_c_binding")]
        parts += [("", f"  implicit none\n{INTERFACES.rstrip()}\ncontains\n{HELPERS.rstrip()}")]
        parts += [(each.symbol, fortran_write.procedure(each)) for each in self.procedures]
        parts += [(each.symbol, each.text()) for each in self.places]
        for k, derived in enumerate(self.types):
            parts.append(("", fortran_data.lifetime(derived, f"cwj_make{k}", f"cwj_end{k}")))
        parts.append(("", "end module cwj_wrapper\n"))
        self.lines = [symbol for symbol, text in parts for _ in text.split("\n")]
        return "\n".join(text for _, text in parts)

    def _without(self, said: str, reason: str) -> bool:
        """Leaves out and lists what the compiler refuses. False: nothing was, or nothing is left."""
        first: dict[str, str] = {}  # symbol -> the compiler's first error
        for error in re.split(r"\n(?=wrapper\.f90:\d+:\d+:)", said):
            if place := re.match(r"wrapper\.f90:(\d+):\d+:", error):
                first.setdefault(self.lines[int(place[1]) - 1], f"the Fortran compiler refuses it: {error}")
        for symbol in re.findall(r"in function `(cwj_[fv]\d\w*)'", said):
            first.setdefault(symbol, reason)
        everything: list[Procedure | fortran_data.Place] = [*self.procedures, *self.places]
        faulty = [each for each in everything if each.symbol in first]
        kept = [each for each in self.procedures if each not in faulty]
        if not faulty or "" in first or not (kept or len(self.places) > len(faulty)):
            return False
        for each in faulty:
            self.made.unmapped[each.name] = first[each.symbol]
        self.procedures = kept
        self.places = [each for each in self.places if each not in faulty]
        return True

    def _thunks(self) -> dict[str, Thunk]:
        """Returns thunks by symbol."""
        found = {p.symbol: fortran_write.thunk(p) for p in self.procedures}
        found |= {p.symbol: p.thunk() for p in self.places}
        return found | {f"cwj_make{k}": Thunk(POINTER, []) for k in range(len(self.types))}

    def compile(self, sources: Sequence[str], include_dirs: Sequence[str], flags: Sequence[str]) -> None:
        """Builds the shared object in a temporary folder, and loads it."""
        who = f"{self.library.name}.fortran()"
        with tempfile.TemporaryDirectory(prefix="cwrapjit-fortran-") as folder:
            make = functools.partial(
                build,
                folder=pathlib.Path(folder),
                who=who,
                sources=[os.path.abspath(source) for source in sources],
                include_dirs=[os.path.abspath(p) for p in (*include_dirs, *self.library.said.include_dirs)],
                link=_linked(self.library.said),
                flags=flags,
            )
            while True:
                try:
                    path = make(self.text())
                    break
                except (CompileError, AttributeError) as error:
                    if not self._without(getattr(error, "said", ""), str(error)):
                        raise
            said = self.library.said
            environment = library_environment(
                said.name, libraries=[str(path)], interruptible=said.interruptible
            )
        writer, thunks = Writer(), self._thunks()
        own = [library_symbol(environment, symbol) or 0 for symbol in thunks]
        for thunk, address in zip(thunks.values(), own, strict=True):
            writer.add(thunk, str(address))
        code, made = compile_thunks(environment, writer.text(), writer.names)
        self.owner = (environment, code)
        self.addresses = dict(zip(thunks, zip(made, own, strict=True), strict=True))
        self.free = library_symbol(environment, "free") or 0
        self.ends = [library_symbol(environment, f"cwj_end{k}") or 0 for k in range(len(self.types))]

    def finish(self) -> None:
        """Makes functions of descriptions, and classes of types."""
        for k, derived in enumerate(self.types):
            self._class(k, derived)
        for place in self.places:
            place.cls = self.made.classes.get(place.type_name)
            place.locate = self._wrap(place.symbol, place.symbol, place.arguments, place.parameters, Result())
            if place.derived is None:
                self.made.variables[place.variable.name] = place
        for procedure in self.procedures:
            self._function(procedure)
        for name in [each for each in self.made.unmapped if each in self.made.functions]:
            if name not in self.made.refused:
                del self.made.unmapped[name]  # an interface declares it; only its body was not read
        for name, names in self.generics.items():
            self._generic(name, {each.lower() for each in names})
        by_name = {name.lower(): each for name, each in self.made.functions.items()}
        for derived in self.types:
            for name, target in derived.methods:
                if target.lower() in by_name:
                    setattr(self.made.classes[derived.name], name, by_name[target.lower()])
                else:
                    reason = f"the routine {target} is not mapped here"
                    self.made.unmapped.setdefault(f"{derived.name}%{name}", reason)

    def _generic(self, name: str, names: set[str]) -> None:
        """Makes one function of those routines of a name that the types of arguments distinguish."""
        found = [each for own, each in self.made.functions.items() if own.lower() in names]
        if name in self.made.classes:  # a constructor of the type
            return
        chosen = [each for each in found if isinstance(each, LibraryFunction)]
        if not chosen:
            self.made.unmapped[name] = f"of {', '.join(sorted(names))} none is mapped, or all broadcast"
            return
        for procedure in self.procedures:
            if procedure.routine.generic.lower() == name.lower():  # it has no other public name
                self.made.functions.pop(procedure.name, None)
        make = load("cwrapjit.library.interface").Interface
        self.made.functions[name] = make(name, qualified(self.library.name, name), chosen, None)

    def _class(self, k: int, derived: Derived) -> None:
        symbol = f"cwj_make{k}"
        fields = "; ".join(f"{v.type} {v.name}{v.shape}" for v in derived.components)
        layout = Layout(
            f"type({derived.name}) of {derived.module}", fields, 0, 1, self.owner, free=self.ends[k]
        )
        places = [place for place in self.places if place.derived is derived]
        holder: list[Any] = []
        cls = fortran_data.new_class(
            derived, qualified(self.library.name, derived.name), layout, lambda: holder[0](), places
        )
        self.made.classes[derived.name] = cls
        holder.append(
            self._wrap(symbol, derived.name, [], [], Result("handle", cls=derived.name, owner="callee"))
        )

    def _function(self, procedure: Procedure) -> None:
        name = self.options.get("name") or procedure.routine.name
        parameters = [slot.parameter for slot in procedure.slots]
        routine = procedure.routine
        what = "subroutine" if routine.result is None else "function"
        head = f"{what} {routine.name}({', '.join(v.name for v in routine.arguments)})"
        doc = self.options.get("doc") or head  # a routine in one line of Fortran
        if fortran_write.broadcasts(procedure):
            _, address = self.addresses[procedure.symbol]
            define = fortran_write.define_elemental
            self.made.functions[name] = define(procedure, name, doc, address, self.owner)
            return
        refused = procedure.refused
        check = _strides_checked(qualified(self.library.name, name), refused) if refused else None
        self.made.functions[name] = self._wrap(
            procedure.symbol, name, procedure.arguments, parameters, procedure.result, doc, check=check
        )

    def _converter(self, name: str, parameter: Any) -> Any:
        """Returns the converter of Python callables for a dummy procedure."""
        callbacks = load("cwrapjit.library.callbacks")
        who = f"{qualified(self.library.name, name)}(): argument {parameter.name}"
        made = parameter.cls
        return callbacks.Converter(self.library, made.ctype, who, frozenset(), made.dims, False)

    def _wrap(
        self,
        symbol: str,
        name: str,
        arguments: Any,
        parameters: Any,
        result: Result,
        doc: str = "",
        **more: Any,
    ) -> Any:
        for each in (*parameters, result):
            if isinstance(each.cls, str):
                each.cls = self.made.classes[each.cls]
            if isinstance(each.cls, Callback):
                each.cls = self._converter(name, each)
        for each in parameters:
            if each.role == "data":
                each.free = self.free
            if each.argument >= 0:
                arguments[each.argument].annotation = annotation(each)
        if result.role == "handle":
            result.free = self.ends[[t.name for t in self.types].index(result.cls.__name__)]
        elif result.role == "string":
            result.free = self.free
        thunk, address = self.addresses[symbol]
        made = Function(
            name, qualified(self.library.name, name), doc, arguments, parameters, result, thunk, address,
            self.owner,
            keep_gil=bool(self.options.get("gil")),
            guard=self.library.code.environment if self.library.code.debug else None,
            returns=returns(result, parameters), **more,
        )  # fmt: skip
        return wrap_function(made)


def _strides_checked(qualname: str, names: list[str]) -> Callable[[int], None]:
    """Returns the check of a procedure's status: the number of an array that is no Fortran section."""

    def check(status: int) -> None:
        if status:
            raise TypeError(
                f"{qualname}(): argument {names[status - 1]}: ordering: Fortran takes sections of F-ordered"
                " arrays; the strides of this one are no such section's (C-ordered, or broadcast)"
            )

    return check


def _refusing(message: str) -> Callable[..., Any]:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(message)

    return refuse


def _check_options(name: str, given: Mapping[str, Any], wanted: type) -> None:
    for option, value in given.items():
        if isinstance(value, (str, bytes)) or not isinstance(value, wanted):
            what = "dict" if wanted is Mapping else "list of str"
            raise TypeError(f"{name}.fortran(): {option} must be a {what}, not {value!r}")


def define(
    library: Core,
    declaration: str,
    *,
    module: str = "",
    sources: Sequence[str | os.PathLike[str]] = (),
    include_dirs: Sequence[str | os.PathLike[str]] = (),
    kinds: Mapping[str, int] | None = None,
    defaults: Mapping[str, Any] | None = None,
    shapes: Mapping[str, Any] | None = None,
    flags: Sequence[str] = (),
    name: str | None = None,
    doc: str = "",
    gil: bool = False,
    unsafe: bool = False,
) -> Any:
    """Reads a declaration, compiles a wrapper for it, and makes what it declares attributes of the library.

    >>> from pathlib import Path
    >>> import cwrapjit
    >>> text = '''
    ... real(8) function add(x, y)
    ...   real(8), intent(in) :: x, y
    ...   add = x + y
    ... end'''
    >>> _ = Path("add.f90").write_text(text)
    >>> add = cwrapjit.library("sums").fortran(text, sources=["add.f90"])
    >>> add(1.0, 2.5)
    3.5

    declaration: the specification statements of routines, or a module with its variables and types; of
    executable statements, only assignments count.
    module: the module of routines that stand alone; its .mod file is looked for in include_dirs.
    sources: Fortran files to compile along.
    include_dirs: folders with .mod files.
    kinds: {name: bytes} of named kinds.
    defaults: {argument: value}.
    shapes: {argument: dims} that x(*) and assumed shapes do not say.
    flags: flags for the Fortran compiler.
    name: the name in Python of a single routine.
    doc: the docstring.
    gil: True keeps the GIL.
    unsafe: True takes any array for x(*).

    Returns the function, a tuple of several, or the class of a type alone. Raises NotImplementedError if
    nothing can be mapped; of several routines, the others are mapped, and library.unmapped says why. Raises
    CompileError for what is no Fortran, ImportError without fparser, RuntimeError without a Fortran compiler,
    TypeError and ValueError for options."""
    _check_options(library.name, {"sources": sources, "include_dirs": include_dirs, "flags": flags}, Sequence)
    _check_options(
        library.name, {"kinds": kinds or {}, "defaults": defaults or {}, "shapes": shapes or {}}, Mapping
    )
    if not isinstance(declaration, str):
        raise TypeError(f"{library.name}.fortran(): a declaration is a str, not {type(declaration).__name__}")
    unit = _Unit(
        library,
        {"defaults": defaults, "shapes": shapes, "name": name, "doc": doc, "gil": gil, "unsafe": unsafe},
    )
    files, folders = [os.fspath(each) for each in sources], [os.fspath(each) for each in include_dirs]
    found = [os.path.abspath(each) for each in (*folders, *library.said.include_dirs)]
    ask = Constants([os.path.abspath(each) for each in files], found, list(flags))
    with contextlib.closing(ask):
        unit.read(declaration, module, kinds or {}, ask)
    if name is not None and len(unit.procedures) != 1:
        raise TypeError(f"{library.name}.fortran(): name= is for the declaration of one routine")
    if unit.procedures or unit.places or unit.types:
        unit.compile(files, folders, list(flags))
        unit.finish()
    made = unit.made
    if not (made.functions or made.classes or made.variables):
        reasons = "; ".join(f"{routine}: {reason}" for routine, reason in made.unmapped.items())
        raise NotImplementedError(f"{library.name}.fortran(): {reasons}")
    for attribute, place in made.variables.items():
        library.keep(attribute, place)
    for attribute, value in (*made.classes.items(), *made.functions.items()):
        if attribute not in made.refused:
            library.keep(attribute, value)
    library.declared.unmapped.update(made.unmapped)
    functions = tuple(made.functions.values()) or tuple(made.classes.values())
    return functions[0] if len(functions) == 1 else functions
