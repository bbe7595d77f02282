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
    """Python's own names, and those that notebooks ask every object for: no header is read for them."""
    return (name[:2] == "__" and name[-2:] == "__") or name.startswith(("_repr_", "_ipython_"))


class Library(Pickled):
    """A library of C or Fortran: shared ones by path or name, or compiled from C sources.

    path: the library's file; libraries: names as linkers have them ("m", "openblas"); sources: C files.
    source: C text, each function of which that is not static becomes an attribute, without a declaration;
    fastmath, threads, cast, optimize: options of those that broadcast, as function() has them; they cast
    safely.
    header: C text whose types, enums and macros declarations may use. init, free: C functions that run once,
    before the first and after the last use; exec: one that returns 0 unless it fails, or a Python function of
    the library, that runs after init. gil=True keeps the GIL in all calls. debug=True makes faults in calls a
    cwrapjit.Fault.

    What is declared becomes an attribute. Names that Python cannot have, and those of the methods here, get a
    "_".
    """

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
        hidden, container, rename: dicts by parameter. returns: (shape, owner) of pointers that come back.
        check: what becomes of a status. overlap="allow": what is written may share memory with other
        arguments. stable=True: memory that arrays look into stays where it is. name, doc, gil, unsafe.
        encoding: of texts; None is for bytes.
        broadcast=True, prototype={parameter: dims}:
        a broadcasting function.
        """
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
        """Declares all that a header's text does. What has no mapping is in `unmapped`, with the reason.

        options: those of function(), by C's name of a function; other keywords are options of all functions.
        The functions are compiled together, when the first of them is used.
        """
        self._core.declare(text, strip_prefix, options, shared)
        self._core.journal.add(
            "declare", (text,), {"strip_prefix": strip_prefix, "options": options, **shared}
        )
        return self

    def refine(self, pattern: str, *, replace: bool = False, **options: Any) -> Library:
        """Says of many functions what C does not: options of function(), for C's names of a shell pattern.

        >>> import cwrapjit
        >>> lib = cwrapjit.library("m", libraries=["m"])
        >>> _ = lib.declare("double frexp(double x, int *e); double modf(double x, double *whole);")
        >>> _ = lib.refine("*", out=("e", "whole"))
        >>> lib.frexp(40.0), lib.modf(3.25)
        ((0.625, 6), (0.25, 3.0))

        Before or after declare() and function(), whose own options come last. Later calls win, parameter by
        parameter; out=() or check=None takes back. Of parameters that a function does not have a pattern with
        wildcards says nothing. replace=True forgets what was said of this very pattern.
        """
        self._core.refine(pattern, bool(replace), options)
        self._core.journal.add("refine", (pattern,), {"replace": bool(replace), **options})
        return self

    def variable(
        self, declaration: str, *, name: str | None = None, shape: Any = None, readonly: bool = False
    ) -> None:
        """Declares a variable: a live attribute. shape: of what a pointer points to, "n" is a variable."""
        self._core.variable(declaration, name, shape, readonly)
        how = {"name": name, "shape": shape, "readonly": readonly}
        self._core.journal.add("variable", (declaration,), how)

    def interface(self, name: str, functions: Iterable[Any], *, doc: str | None = None) -> Any:
        """One name for several functions: the types of the arguments say which is called."""
        make = load("cwrapjit.library.interface").Interface
        made = make(name, f"{self._core.name}.{name}", functions, doc)
        self._core.journal.add("interface", (name, made.functions), {"doc": doc})
        return self._core.keep(name, made)

    def struct(self, declaration: str | type, **options: Any) -> Any:
        """A Python class for a C struct; the options: cwrapjit.library.structs.define_struct()."""
        made = load("cwrapjit.library.structs").define_struct(self._core, declaration, **options)
        self._core.journal.add("struct", (declaration,), options)
        return made

    def handle(self, declaration: str | type, **options: Any) -> Any:
        """A Python class for an opaque pointer; the options: cwrapjit.library.structs.define_handle()."""
        made = load("cwrapjit.library.structs").define_handle(self._core, declaration, **options)
        self._core.journal.add("handle", (declaration,), options)
        return made

    def fortran(self, declaration: str, **options: Any) -> Any:
        """Fortran routines from their interfaces, a module's variables and types; see fortran.define()."""
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
        """What the system compiler's checks say of the library's own C text, its header and sources.

        A list of CompileWarning, empty where all is well; None without a compiler.
        """
        return _cwrapjit.library_diagnose(self._core.code.environment)

    @property
    def mapped(self) -> list[str]:
        """The names of all functions that can be called."""
        return self._core.mapped

    @property
    def unmapped(self) -> dict[str, str]:
        """C's names of what was declared but has no mapping, and why."""
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
