"""cwrapjit.library(): a C library whose functions, variables, constants and classes are attributes."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from cwrapjit import _cwrapjit
from cwrapjit._content import Pickled
from cwrapjit._cwrapjit import CompileWarning, LibraryFunction
from cwrapjit._imports import load
from cwrapjit.library.library import Core
from cwrapjit.library.names import RESERVED
from cwrapjit.library.settings import Settings


def _is_protocol(name: str) -> bool:
    """True for Python's own names, and those that notebooks ask of every object. They read no header."""
    return (name[:2] == "__" and name[-2:] == "__") or name.startswith(("_repr_", "_ipython_"))


class Library(Pickled):
    """A library of C or Fortran: shared ones by path or name, or compiled from C sources.

    path: the library's file; libraries: names as linkers have them ("m", "openblas"); sources: C files.
    source: C text, whose functions become attributes without a declaration, unless static; fastmath, threads,
    cast, optimize: options of those that broadcast, as for function(), but cast is "safe" by default.
    header: C text whose types, enums and macros declarations may use. init, free: C functions that run once,
    before the first and after the last use; exec: runs after init, a C function that returns 0 unless it
    fails, or a Python function of the library. gil=True keeps the GIL in all calls. debug=True turns faults
    in calls into a cwrapjit.Fault.

    Declarations become attributes. Names that Python reserves, or methods here have, get a "_" at the end."""

    _core: Core

    def __init__(
        self,
        name: str,
        path: str | os.PathLike[str] | None = None,
        *,
        sources: Sequence[Any] = (),
        libraries: Sequence[Any] = (),
        header: str = "",
        include_dirs: Sequence[Any] = (),
        define_macros: Sequence[Any] = (),
        library_dirs: Sequence[Any] = (),
        init: str | None = None,
        free: str | None = None,
        exec: str | Callable[[Any], Any] | None = None,
        gil: bool = False,
        doc: str = "",
        debug: bool | Literal["left"] | None = None,
        source: str | None = None,
        fastmath: bool | None = None,
        threads: int | Literal["auto"] | None = None,
        cast: Literal["no", "safe", "same_kind"] | None = None,
        copies: Literal["allow", "warn"] | None = None,
        optimize: Literal["auto", "eager", "off"] | None = None,
    ) -> None:
        given = dict(locals())
        del given["self"]
        journal = load("cwrapjit.library.journal").Journal(given)
        del given["exec"]  # which gets this object
        core = Core(Settings(**given), journal)
        journal.begin(self)
        object.__setattr__(self, "_core", core)
        core.remembers = weakref.ref(self)
        object.__setattr__(self, "__doc__", doc)
        object.__setattr__(self, "__name__", name)
        if exec is not None:
            load("cwrapjit.library.lifetime").execute(self, core, exec)

    def function(self, declaration: str, **options: Any) -> LibraryFunction | Any:  # or a Function
        """Declares one C function: a callable, which is an attribute of the library, too.

        >>> import cwrapjit
        >>> lib = cwrapjit.library("m", libraries=["m"])
        >>> hypot = lib.function("double hypot(double x, double y)", defaults={"y": 4.0})
        >>> hypot(3.0)
        5.0

        out, inout, optional, keyword_only, positional_only: names of parameters. defaults, order, strides,
        hidden, container, rename: dicts by parameter. returns: (shape, owner) of pointers that are returned.
        check: how to handle a status. overlap="allow": what is written may share memory with other arguments.
        stable=True: memory that arrays look into stays where it is. encoding: of texts; None means bytes.
        broadcast=True, prototype={parameter: dims}: a broadcasting function. Also name, doc, gil, unsafe."""
        made = self._core.function(declaration, **options)
        self._core.journal.add("function", (declaration,), options)
        return made

    def declare(
        self,
        text: str,
        *,
        strip_prefix: str = "",
        options: Mapping[str, Mapping[str, Any]] | None = None,
        **shared: Any,
    ) -> Library:
        """Declares all that a header's text does. What cannot be mapped is in `unmapped`, with the reason.

        options: those of function(), by a function's C name; other keywords are options of all functions. The
        functions are compiled together, when the first of them is used."""
        self._core.declare(text, strip_prefix, options, shared)
        self._core.journal.add(
            "declare", (text,), {"strip_prefix": strip_prefix, "options": options, **shared}
        )
        return self

    def refine(self, pattern: str, *, replace: bool = False, **options: Any) -> Library:
        """Sets options of function() for all functions whose C names match a shell pattern.

        >>> import cwrapjit
        >>> lib = cwrapjit.library("m", libraries=["m"])
        >>> _ = lib.declare("double frexp(double x, int *e); double modf(double x, double *whole);")
        >>> _ = lib.refine("*", out=("e", "whole"))
        >>> lib.frexp(40.0), lib.modf(3.25)
        ((0.625, 6), (0.25, 3.0))

        Can be called before or after declare() and function(), whose own options take precedence. Later calls
        override earlier ones, parameter by parameter; out=() or check=None takes back. A pattern with
        wildcards ignores parameters that a function lacks. replace=True drops what the pattern said."""
        self._core.refine(pattern, bool(replace), options)
        self._core.journal.add("refine", (pattern,), {"replace": bool(replace), **options})
        return self

    def variable(
        self, declaration: str, *, name: str | None = None, shape: Any = None, readonly: bool = False
    ) -> None:
        """Declares a variable: a live attribute. shape: of what a pointer points to; "n" is a variable."""
        self._core.variable(declaration, name, shape, readonly)
        how = {"name": name, "shape": shape, "readonly": readonly}
        self._core.journal.add("variable", (declaration,), how)

    def interface(self, name: str, functions: Iterable[Any], *, doc: str | None = None) -> Any:
        """Puts several functions under one name: the types of the arguments choose the function."""
        make = load("cwrapjit.library.interface").Interface
        made = make(name, f"{self._core.name}.{name}", functions, doc)
        self._core.journal.add("interface", (name, made.functions), {"doc": doc})
        return self._core.keep(name, made)

    def struct(self, declaration: str | type, **options: Any) -> Any:
        """Makes a Python class for a C struct: see cwrapjit.library.structs.define_struct()."""
        made = load("cwrapjit.library.structs").define_struct(self._core, declaration, **options)
        self._core.journal.add("struct", (declaration,), options)
        return made

    def handle(self, declaration: str | type, **options: Any) -> Any:
        """Makes a Python class for an opaque pointer: see cwrapjit.library.structs.define_handle()."""
        made = load("cwrapjit.library.structs").define_handle(self._core, declaration, **options)
        self._core.journal.add("handle", (declaration,), options)
        return made

    def fortran(self, declaration: str, **options: Any) -> Any:
        """Maps Fortran routines by their interfaces, a module's variables and types; see fortran.define()."""
        fortran = load("cwrapjit.library.fortran")
        known = fortran.define.__kwdefaults__ or {}
        for option in options:
            if option not in known:
                raise TypeError(
                    f"{self._core.name}.fortran(): unknown option {option!r}, there are {', '.join(known)}; "
                    "what is written, the declaration says: intent(out)"
                )
        made = fortran.define(self._core, declaration, **options)
        self._core.journal.add("fortran", (declaration,), options)
        return made

    def diagnose(self) -> list[CompileWarning] | None:
        """Returns the CompileWarnings of the system's compiler for the library's C text; None without one."""
        return _cwrapjit.library_diagnose(self._core.code.environment)

    @property
    def mapped(self) -> list[str]:
        """The names of all functions that can be called."""
        return self._core.mapped

    @property
    def unmapped(self) -> dict[str, str]:
        """C names of declarations that cannot be mapped, with the reasons."""
        self._core.force()
        return self._core.declared.unmapped

    def __getattr__(self, name: str) -> Any:
        if name in RESERVED or _is_protocol(name):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        core = self._core
        generation = core.generation
        value = core.attribute(name)
        core.remember(name, value, generation)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        self._core.assign(name, value)

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{name} of library {self._core.name!r} cannot be deleted")

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *self._core.attributes()})

    def __repr__(self) -> str:
        core: Core | None = self.__dict__.get("_core")
        if core is None:
            return "<library without name>"
        by = core.declarations.preprocessor.headers_by
        unread, unmapped = len(core.declared.unread_texts()), len(core.declared.unmapped)
        return (
            f"<library {core.name!r}: {len(core.mapped_so_far())} mapped, {unmapped} unmapped"
            f"{f', {unread} declared and not used yet' if unread else ''}"
            f"{by and f', headers read by {by}'}>"
        )
