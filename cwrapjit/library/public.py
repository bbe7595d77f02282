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
from cwrapjit._options import check, checked, unknown
from cwrapjit.library.library import Core
from cwrapjit.library.names import RESERVED, qualified
from cwrapjit.library.settings import Settings


def _is_protocol(name: str) -> bool:
    """True for Python's own names, and those that notebooks ask of every object. They read no header."""
    return (name[:2] == "__" and name[-2:] == "__") or name.startswith(("_repr_", "_ipython_"))


class Library(Pickled):
    """A library of C or Fortran: shared ones by path or name, or compiled from C sources.

    >>> import cwrapjit
    >>> lib = cwrapjit.library("areas", source="double area(double a, double b) { return a * b; }")
    >>> lib.area([1.0, 2.0], 3.0).tolist()
    [3.0, 6.0]

    name: the library's name in messages.
    path: the library's file.
    sources: C files to compile.
    libraries: shared libraries, as linkers name them ("m", "openblas") or by path.
    header: C text whose types, enums and macros declarations may use.
    include_dirs, define_macros, library_dirs: as for module().
    init, free: C functions that run once, before the first and after the last use, by name or declaration.
    exec: runs after init: a C function that returns 0 unless it fails, or a Python function of the library.
    gil: True keeps the GIL in all calls.
    doc: the docstring.
    debug: True or "left" turns faults in calls into a cwrapjit.Fault.
    source: C text, whose functions become attributes without a declaration, unless static. Some broadcast.
    math: as for function(), for the whole text.
    fastmath, threads, cast, copies, optimize: as for function(), for those that broadcast; cast is "safe" by
    default.
    interruptible: True: Ctrl-C and deadlines leave code of the shared libraries, too. Memory that it had
    allocated is lost, and locks that it held stay locked.

    Declarations become attributes. Names that Python reserves, or methods here have, get a "_" at the end.

    Raises OSError for files and libraries that are not there, CompileError for C that does not compile,
    TypeError and ValueError for arguments."""

    _core: Core

    @checked("library()")
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
        math: Literal["cwrapjit", "libm"] | None = None,
        threads: int | Literal["auto"] | None = None,
        cast: Literal["no", "safe", "same_kind"] | None = None,
        copies: Literal["allow", "warn"] | None = None,
        optimize: Literal["auto", "eager", "off"] | None = None,
        interruptible: bool = False,
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

        declaration: one function, as C declares it. Options say what C does not. Names of parameters are a
        str or a tuple of str, dims an int, an expression such as "2*n", or a tuple of these.
        name, doc: the name in Python and the docstring, str.
        out: names of parameters that are allocated and returned.
        inout: names of pointers to one number that C reads and changes; it is returned.
        optional: names of parameters that callers may omit or pass as None: C gets NULL.
        defaults: {parameter: value}.
        keyword_only, positional_only: names, as in Python.
        rename: {parameter: its name in Python}.
        dims: {parameter: dims}, the shape of pointers whose declaration has none.
        order: "C" or "F", the order of arrays in memory; a dict by parameter.
        strides: {parameter: array or (array, axis)}, parameters that are strides, in items.
        hidden: {parameter: expression}, integers that callers do not pass; None: a pointer that is always
        NULL.
        returns: the dims and the owner of what a returned pointer points to; a dict by parameter.
        container: tuple, list or set, taken and returned in place of arrays; a dict by parameter.
        encoding: the codec of texts, by default UTF-8; "fs": that of file names; None: bytes; a dict by
        parameter.
        check: how to handle a status: an exception class, the library's message function, both, a callable,
        or a dict by status.
        discard: names of results to leave out, "return" among them.
        keeps: {object: names}, arguments that C still uses after the call; the instance or "return" keeps
        them.
        varargs: the C types of the arguments for "...", a tuple of str.
        gil: True keeps the GIL.
        overlap: "allow": what is written may share memory with other arguments.
        stable: True: memory that arrays look into stays where it is.
        unsafe: True, or names: pointers of unknown size take any array.
        broadcast: True makes a broadcasting function.
        prototype: {parameter: dims}, as dims=, of a broadcasting function whose slices have dims.

        Returns a LibraryFunction; a Function if it broadcasts. Raises CompileError for a text that is not C,
        AttributeError if the library has no such function, NotImplementedError if it cannot be mapped,
        TypeError and ValueError for options."""
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

        >>> import cwrapjit
        >>> lib = cwrapjit.library("m", libraries=["m"])
        >>> _ = lib.declare("double fdim(double x, double y); enum { NEAR = 1 };")
        >>> lib.fdim(5.0, 3.0), lib.NEAR
        (2.0, 1)

        text: C declarations and directives, such as "#include <zlib.h>".
        strip_prefix: what names of functions lose at their start in Python.
        options: {C name of a function: options of function()}.
        shared: options of function() for all functions.

        The functions are compiled together, when the first of them is used. Returns the library. Raises
        CompileError for a text that is not C and for a header that is not there, TypeError and ValueError for
        options."""
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

        pattern: a C name, or one with the wildcards * ? [ ], which ignores parameters that a function lacks.
        replace: True drops what the pattern said before.
        options: all options of function() but name.

        Can be called before or after declare() and function(), whose own options take precedence. Later calls
        override earlier ones, parameter by parameter; out=() or check=None takes back. Returns the library.
        Raises TypeError and ValueError for options, and for others than those that the pattern said
        before."""
        self._core.refine(pattern, bool(replace), options)
        self._core.journal.add("refine", (pattern,), {"replace": bool(replace), **options})
        return self

    @checked("variable()")
    def variable(
        self, declaration: str, *, name: str | None = None, shape: Any = None, readonly: bool = False
    ) -> None:
        """Declares a variable: a live attribute.

        >>> import cwrapjit
        >>> lib = cwrapjit.library("counter", source="int count = 3;")
        >>> lib.variable("int count", name="calls", readonly=True)
        >>> lib.calls
        3

        declaration: one variable, as C declares it.
        name: its name in Python.
        shape: of what a pointer points to: a length, or a tuple of them; "n" is a variable.
        readonly: True refuses assignments.

        Raises CompileError for a text that is not C, AttributeError if the library has no such variable,
        TypeError if Python has no such type, ValueError for a text that declares something else."""
        self._core.variable(declaration, name, shape, readonly)
        how = {"name": name, "shape": shape, "readonly": readonly}
        self._core.journal.add("variable", (declaration,), how)

    def interface(self, name: str, functions: Iterable[Any], *, doc: str | None = None) -> Any:
        """Puts several functions under one name: the types of the arguments choose the function.

        >>> import cwrapjit
        >>> lib = cwrapjit.library("m", libraries=["m"])
        >>> each = [lib.function("double fabs(double x)"), lib.function("long labs(long x)")]
        >>> size = lib.interface("size", each)
        >>> size(-2.5), size(-2)
        (2.5, 2)

        name: the attribute's name.
        functions: what function() returned; the first that takes the arguments is called.
        doc: the docstring, by default the first lines of theirs.

        Returns the callable. Raises ValueError without functions, TypeError for other objects."""
        make = load("cwrapjit.library.interface").Interface
        made = make(name, qualified(self._core.name, name), functions, doc)
        self._core.journal.add("interface", (name, made.functions), {"doc": doc})
        return self._core.keep(name, made)

    def struct(self, declaration: str | type, **options: Any) -> Any:
        """Makes a Python class for a C struct: see cwrapjit.library.structs.define_struct().

        declaration, options: as there."""
        made = load("cwrapjit.library.structs").define_struct(self._core, declaration, **options)
        self._core.journal.add("struct", (declaration,), options)
        return made

    def handle(self, declaration: str | type, **options: Any) -> Any:
        """Makes a Python class for an opaque pointer: see cwrapjit.library.structs.define_handle().

        declaration, options: as there."""
        made = load("cwrapjit.library.structs").define_handle(self._core, declaration, **options)
        self._core.journal.add("handle", (declaration,), options)
        return made

    def fortran(self, declaration: str, **options: Any) -> Any:
        """Maps Fortran routines by their interfaces, a module's variables and types: see
        cwrapjit.library.fortran.define().

        declaration, options: as there."""
        fortran = load("cwrapjit.library.fortran")
        who = f"{self._core.name}.fortran()"
        for option in options.keys() & {"inout", "optional", "out"}:
            raise unknown(who, option, (), ": the declaration says that, as in intent(out)")
        check(who, options, fortran.define.__kwdefaults__)
        made = fortran.define(self._core, declaration, **options)
        self._core.journal.add("fortran", (declaration,), options)
        return made

    def diagnose(self) -> list[CompileWarning] | None:
        """Returns the CompileWarnings of the system's compiler for the library's C text; None without one."""
        return _cwrapjit.library_diagnose(self._core.code.environment)

    @property
    def mapped(self) -> list[str]:
        """The names of all functions that can be called."""
        self._core.force()
        return self._core.mapped_so_far()

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
