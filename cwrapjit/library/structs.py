"""Makes classes for C's structs and for handles of opaque types, once per class.

An instance is a C pointer with an owner (csrc/library/objects/instance.c); members are descriptors that read
and write C's memory (csrc/library/objects/fields.c) at the compiler's offsets.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import keyword
import re
import sys
import weakref
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

import numpy as np

from cwrapjit import _cwrapjit
from cwrapjit._cwrapjit import CompileError, Field, Instance, Layout
from cwrapjit._imports import load
from cwrapjit._options import checked
from cwrapjit._signature import CText
from cwrapjit.library import attributes, destructors, types
from cwrapjit.library.classes import Classes
from cwrapjit.library.code import compile_together
from cwrapjit.library.declarations import FunctionDeclaration
from cwrapjit.library.library import Core
from cwrapjit.library.members import ITSELF, Members, plan_text
from cwrapjit.library.names import qualified
from cwrapjit.library.options import encoding_of, names_of
from cwrapjit.library.refine import parameter_names
from cwrapjit.library.signatures import WORDS, written
from cwrapjit.library.thunks import Unmapped

_RESERVED = frozenset({"referenced_objects", "__cwrapjit_layout__"})

Method = Any  # a declaration, (declaration, options), or a callable


@checked("struct()")
def define_struct(
    library: Core,
    declaration: str | type,
    *,
    name: str | None = None,
    init: Method = None,
    methods: Iterable[Method] | Mapping[str, Method] = (),
    free: str | None = None,
    properties: Mapping[str, Any] | None = None,
    arrays: Mapping[str, Any] | None = None,
    encoding: Mapping[str, str | None] | None = None,
    array: Any = False,
    doc: str = "",
) -> Any:
    """Makes a class for a struct or union.

    >>> import cwrapjit
    >>> lib = cwrapjit.library("plane", source='''
    ... typedef struct { double x, y; } point;
    ... double point_norm(const point *p) { return hypot(p->x, p->y); }''')
    >>> Point = lib.struct("point", methods=["double point_norm(const point *p)"])
    >>> p = Point(3.0, y=4.0)
    >>> p.norm(), p
    (5.0, point(x=3.0, y=4.0))

    declaration: its definition, or the name of a struct that a header or an earlier text defined; or another
    library's class, whose instances this library's functions then accept.
    name: the class's name in Python.
    init: the function that fills an object (its first parameter), returns a new one or stores one in a T **;
    without one, members are given by position or name.
    methods: functions whose first parameter points to the struct; "point_norm" becomes norm. Each is a
    declaration, or (declaration, options of function()); keeps= names arguments that C points to afterwards.
    free: the function that ends what init made or C gave away.
    properties: {name: getter or (getter, setter)}.
    arrays: {pointer: size}, the members with the number of items of a pointer, or of a last member x[];
    "list" for a char ** or a T ** that ends with NULL.
    encoding: {member: codec} of texts, None for bytes; unsigned char is text if it is named.
    array: True, or the names of members by "data", "shape", "strides" and "rank": the struct describes an
    array, and functions take and return arrays for it. "unit": "bytes" if strides count bytes.
    doc: the docstring.

    Returns the class. Raises CompileError for a text that is not C, AttributeError for functions that are not
    there, TypeError and ValueError for options."""
    if isinstance(declaration, type):
        return take(library, declaration)
    maker = _Maker(library)
    ctype = maker.read(declaration, "struct()")
    if ctype.altered:
        raise TypeError(f"{library.name}.struct(): {types.show(ctype)} has no mapping: {attributes.REASON}")
    if ctype.members is None:
        raise TypeError(f"{library.name}.struct(): {types.show(ctype)} has no members here; use handle()")
    who = f"{library.name}.struct(): {types.show(ctype)}"
    encodings = {each: encoding_of(who, codec) for each, codec in (encoding or {}).items()}
    encodings = {k: sys.getfilesystemencoding() if each == "fs" else each for k, each in encodings.items()}
    said = Said(free, init is not None, dict(arrays or {}), encodings)
    return maker.define("struct()", ctype, name, said, init, methods, properties, free, doc, array)


@checked("handle()")
def define_handle(
    library: Core,
    declaration: str | type,
    *,
    name: str | None = None,
    init: Method = None,
    methods: Iterable[Method] | Mapping[str, Method] = (),
    free: str | None = None,
    properties: Mapping[str, Any] | None = None,
    doc: str = "",
) -> Any:
    """Makes a class for pointers to a type whose members are private to C: "gsl_rng *".

    >>> import cwrapjit
    >>> lib = cwrapjit.library("boxes", source='''
    ... #include <stdlib.h>
    ... typedef struct box box;
    ... struct box { double w; };
    ... box *box_new(double width) { box *b = malloc(sizeof *b); b->w = width; return b; }
    ... double box_width(const box *b) { return b->w; }
    ... void box_free(box *b) { free(b); }''')
    >>> width = ["double box_width(const box *b)"]
    >>> Box = lib.handle("box *", init="box *box_new(double width)", methods=width, free="box_free")
    >>> with Box(2.5) as one:
    ...     one.width()
    2.5

    declaration: the pointer's type, or another library's class.
    name, init, methods, properties, doc: as for a struct.
    free: ends an instance that Python owns: of init, or of a function with returns="callee".

    Returns the class. Raises as struct() does."""
    if isinstance(declaration, type):
        return take(library, declaration)
    maker = _Maker(library)
    ctype = maker.read_opaque(declaration)
    said = Said(free, init is not None)
    return maker.define("handle()", ctype, name, said, init, methods, properties, free, doc)


def automatic(library: Core, ctype: types.Struct) -> Any:
    """Makes the class of a type that nobody has described. struct() and handle() can describe this very class
    later. It is opaque until all of its members are known and mapped."""
    with library.declarations.turn:
        maker = _Maker(library)
        cls = maker.begun(ctype)
        maker.complete()
    return cls


def _add_members(cls: Any, plans: list[dict[str, Any]]) -> None:
    for plan in plans:
        of = cls if plan["of"] is ITSELF else plan["of"]
        setattr(cls, python_name(plan["name"]), Field(cls.__cwrapjit_layout__, **{**plan, "of": of}))
    dtype = cls.__cwrapjit_layout__.dtype
    if dtype is not None:
        cls.__array__, cls.__float__, cls.__int__ = as_array, be_no_number, be_no_number
        if "dtype" not in vars(cls):  # so np.zeros(3, cls) is an array of structs
            cls.dtype = dtype
    type.__setattr__(cls, "__match_args__", tuple(python_name(plan["name"]) for plan in plans))


def take(library: Core, cls: type) -> type[Instance]:
    """Makes another library's class known to this one."""
    ctype = STRUCTS.get(cls)
    if ctype is None:
        raise TypeError(f"{library.name}: {cls!r} is no class that a library made")
    library.declarations.add(ctype)
    library.classes[ctype] = cls
    library.classes.open.pop(ctype, None)
    library.classes.taken.add(cls)
    free = getattr(cls, "__cwrapjit_layout__").free_name  # noqa: B009
    if free:  # this library's function, too, then frees each object once
        library.classes.frees[free] = cls
    library.keep(cls.__name__, cls)
    library.class_made(ctype)
    return cls


_UNNAMED = itertools.count(1)  # types of the same name would be the same
STRUCTS: weakref.WeakKeyDictionary[type, types.Struct] = weakref.WeakKeyDictionary()


@dataclasses.dataclass
class Said:
    """What struct() and handle() have said of one type. Later calls add to it."""

    free: str | None = None
    has_init: bool = False
    arrays: dict[str, Any] = dataclasses.field(default_factory=dict)
    encodings: dict[str, str] = dataclasses.field(default_factory=dict)


class _Maker:
    """Makes the classes of one library."""

    def __init__(self, library: Core) -> None:
        self.library = library
        self.name = library.name
        self.declarations = library.declarations
        self.classes: Classes = library.classes
        self.destructor = destructors.NONE

    # ---- reading -----------------------------------------------------------------------------------

    def read(self, declaration: str, who: str) -> types.Struct:
        """Returns the struct that a text defines or names."""
        self.library.declarations.read_header()
        text = declaration.strip()
        text += "" if text.endswith(";") else ";"
        if re.fullmatch(r"[A-Za-z_]\w*\s*;", text):  # the name of a typedef
            name = self.library.declarations.name_in_c(text.rstrip("; "))
            self.declarations.fetch([name])
            found = self.declarations.struct_named(name)
            if isinstance(found, types.Struct):
                return found
            raise TypeError(f"{self.name}.{who}: {text.rstrip('; ')} is no struct that is known here")
        before = set(self.declarations.tags)
        parsed = self.declarations.read(text, f"<cwrapjit {self.name} {who}>")
        wanted = re.match(r"\s*(?:typedef\s+)?(struct|union)\s+([A-Za-z_]\w*)", text)
        found = self.declarations.tags.get(f"{wanted[1]} {wanted[2]}") if wanted is not None else None
        if found is None:
            found = next((each for each in parsed.typedefs.values() if isinstance(each, types.Struct)), None)
        if not isinstance(found, types.Struct):
            for tag in set(self.declarations.tags) - before:
                del self.declarations.tags[tag]
            raise TypeError(f"{self.name}.{who}: this declares no struct: {' '.join(declaration.split())}")
        return found

    def read_opaque(self, declaration: str) -> types.Struct:
        self.library.declarations.read_header()
        match = re.fullmatch(r"\s*(?:(struct|union)\s+)?([A-Za-z_]\w*)\s*\*?\s*;?\s*", declaration)
        if match is None or keyword.iskeyword(match[2]):
            raise TypeError(
                f"{self.name}.handle(): give a pointer type such as 'gsl_rng *', not {declaration.strip()!r}"
            )
        name = match[2] if match[1] else self.library.declarations.name_in_c(match[2])
        self.declarations.fetch([name])
        if match[1]:
            found = self.declarations.tagged(match[1], name)
        else:
            opaque = self.declarations.tags.get(f"struct {name}")
            opaque = opaque or types.Struct("struct", "", alias=name)
            found = self.declarations.typedefs.setdefault(name, opaque)
            if isinstance(found, types.Unknown):  # FILE
                found = self.declarations.typedefs[name] = opaque
            is_pointer = isinstance(found, types.Pointer)
            if isinstance(found, types.Pointer):  # typedef struct state *handle
                found = found.target
            if isinstance(found, types.Void):  # typedef void *handle, or typedef void handle
                made = types.Pointer(opaque, alias=name) if is_pointer else opaque
                self.library.redefine(name, self.declarations.typedefs[name], made)
                found = opaque
        if not isinstance(found, types.Struct):
            raise TypeError(f"{self.name}.handle(): {name} is {types.show(found)}, no opaque type")
        return found

    def class_name(self, name: str | None, ctype: types.Struct) -> str:
        if name is None and ctype in self.classes.described:
            return str(self.classes[ctype].__name__)
        name = name or ctype.class_name
        if not name.isidentifier() or keyword.iskeyword(name):
            raise ValueError(f"{self.name}: {name!r} cannot be the name of a class; say name=")
        return name

    def called(self, cls: type) -> str:
        return qualified(self.name, cls.__name__)

    # ---- classes -----------------------------------------------------------------------------------

    def define(
        self, method: str, ctype: types.Struct, name: str | None, said: Said, init: Method, methods: Any,
        properties: Mapping[str, Any] | None, free: str | None, doc: str, array: Any = False,
    ) -> Any:  # fmt: skip
        """Makes or completes a class, for struct() and handle()."""
        library, is_handle = self.library, method == "handle()"
        name = self.class_name(name, ctype)
        said = self.said(method, ctype, said)
        members, plans = self.known_members(ctype, said) if is_handle else self.members_of(ctype, said)
        is_open = members is not None and members.is_open
        layout = self.layout(ctype, said.free, is_handle or said.has_init or is_open, members, plans)
        with self.made(name, ctype, layout, doc) as cls:
            _add_members(cls, plans)
            if not said.has_init:
                make = without_end if is_open else make_fill(plans)
                cls.__init__ = come_from_functions if is_handle else make
            self.finish(cls, ctype, init, methods, properties or {}, free)
        self.classes.described[ctype] = said
        if array:
            read = load("cwrapjit.library.descriptors").read
            self.classes.descriptors[ctype] = read(f"{self.name}.struct()", ctype, array)
        self.complete()
        library.class_made(ctype, means_more=bool(array or self.destructor.bound))
        return cls

    def said(self, method: str, ctype: types.Struct, now: Said) -> Said:
        """Adds this to what was said before. Raises ValueError if the two contradict each other."""
        before = self.classes.described.get(ctype)
        if before is None or self.classes.get(ctype) in self.classes.taken:
            return now
        who = f"{self.name}.{method}: {types.show(ctype)}"
        if now.free is not None:  # first: it may be no function's name
            destructors.read(self.library, now.free, f"{self.name}: free= of {types.show(ctype)}", ctype)
        if now.free is not None and before.free not in (None, now.free):
            raise ValueError(f"{who} has free={before.free!r} already, which free={now.free!r} contradicts")
        for word, known, more in (
            ("arrays", before.arrays, now.arrays),
            ("encoding", before.encodings, now.encodings),
        ):
            for name, given in more.items():
                old = known.get(name, given)
                if old != given:
                    raise ValueError(
                        f"{who} has {word}={{{name!r}: {old!r}}} already, which {given!r} contradicts"
                    )
        return Said(
            now.free or before.free, now.has_init or before.has_init, {**before.arrays, **now.arrays},
            {**before.encodings, **now.encodings},
        )  # fmt: skip

    def layout(
        self, ctype: types.Struct, free: str | None, needs_init: bool, members: Members | None = None,
        plans: Iterable[Mapping[str, Any]] = (), automatic: bool = False,
    ) -> Layout:  # fmt: skip
        """Makes a layout. Without members the type is opaque."""
        library = self.library
        made = destructors.NONE
        if free is not None:
            made = destructors.read(library, free, f"{self.name}: free= of {types.show(ctype)}", ctype)
            self.destructor = made
        # When the lifetime ends, the library's own free function runs: objects must be gone before that.
        owner = (library.code.environment, library.code.lifetime, made.code)
        size, alignment = (members.size, members.alignment) if members is not None else (0, 1)
        return Layout(
            ctype.name or ctype.label, "; ".join(map(plan_text, plans)), size, alignment, owner, made.address,
            needs_init, types.has_pointers(ctype), made.name, automatic, made.end, len(made.bound),
            self.classes.dtypes.get(ctype) if size else None, any(map(_has_const, plans)),
        )  # fmt: skip

    def class_of(self, ctype: types.Struct, is_inside: bool) -> type[Instance]:
        """Returns the class of a struct that a member is (is_inside) or points to."""
        ctype = types.final(ctype)
        cls = self.begun(ctype)
        if is_inside and self.classes.may_grow(ctype):
            self._add_known_members(ctype)
        return cast("type[Instance]", cls)

    def begun(self, ctype: types.Struct) -> Any:
        """Returns the class of a type. A new one knows no members yet."""
        ctype = types.final(ctype)
        found = self.classes.get(ctype)
        if found is None:
            if not ctype.class_name:
                ctype.label = f"unnamed_{ctype.kind}_{next(_UNNAMED)}"
            name = python_name(ctype.class_name)
            found = self._make(name, ctype, self.layout(ctype, None, True, automatic=True), "")
            found.__init__ = come_from_functions
            found.close = Instance._cwrapjit_close
            self.classes[ctype] = found
            self.classes.open[ctype] = ctype
        return found

    def complete(self) -> None:
        """Gives members to the automatic classes of types whose members are known by now."""
        tried: set[types.Struct] = set()
        while waiting := [each for each in self.classes.growing() if each not in tried]:
            tried.add(waiting[0])
            self._add_known_members(waiting[0])

    def members_of(self, ctype: types.Struct, said: Said) -> tuple[Members, list[dict[str, Any]]]:
        members = Members(self.library, ctype, self.class_of)
        return members, members.plans(said.arrays, said.encodings)

    def known_members(self, ctype: types.Struct, said: Said) -> tuple[Members | None, list[dict[str, Any]]]:
        """Returns (None, []) if the type, or one of its members, has no known layout."""
        if ctype.members is None:
            return None, []
        try:
            return self.members_of(ctype, said)
        except (TypeError, Unmapped, CompileError) as reason:
            self.classes.undescribed[ctype] = str(reason)
        except RecursionError:
            self.classes.undescribed[ctype] = "it is nested too deeply"
        return None, []

    def _add_known_members(self, ctype: types.Struct) -> None:
        del self.classes.open[ctype]  # first: it may have a pointer to itself
        members, plans = self.known_members(ctype, Said())
        if members is None:
            if (inside := types.incomplete_inside(ctype)) is not None:
                self.classes.open[ctype] = inside
            return
        layout = self.layout(ctype, None, members.is_open, members, plans, automatic=True)
        with self.made(self.classes[ctype].__name__, ctype, layout, "") as cls:
            _add_members(cls, plans)
            cls.__init__ = without_end if members.is_open else make_fill(plans)

    @contextlib.contextmanager
    def made(self, name: str, ctype: types.Struct, layout: Layout, doc: str) -> Iterator[Any]:
        """Yields the class of a type with its new layout. If the body fails, restores the class."""
        cls = self.classes.get(ctype)
        if cls is None or cls in self.classes.taken:
            yield self._make(name, ctype, layout, doc)
            return
        doc = doc or (cls.__doc__ if ctype in self.classes.described else "")
        before = {**vars(cls), "__name__": cls.__name__, "__qualname__": cls.__qualname__}
        cls.__cwrapjit_layout__.exchange(layout)
        inside = self.classes.open.pop(ctype, None)  # from now on nothing but the body completes it
        try:
            for each, value in before.items():
                if isinstance(value, Field):
                    delattr(cls, each)
            cls.__name__ = cls.__qualname__ = name
            cls.__doc__ = doc or self._doc(cls.__cwrapjit_layout__)
            yield cls
        except BaseException:
            cls.__cwrapjit_layout__.exchange(layout)
            _restore(cls, before)
            if inside is not None:
                self.classes.open[ctype] = inside
            raise

    def _make(self, name: str, ctype: types.Struct, layout: Layout, doc: str) -> Any:
        namespace: dict[str, Any] = {
            "__slots__": (), "__doc__": doc or self._doc(layout), "__module__": self.name,
            "__qualname__": name, "__cwrapjit_layout__": layout,
        }  # fmt: skip
        cls = type(name, (Instance,), namespace)
        STRUCTS[cls] = ctype
        return cls

    def _doc(self, layout: Layout) -> str:
        more = " Made of its declaration: struct() and handle() of the library say what frees it, and more."
        return f"{layout.name} of {self.name}.{more if layout.automatic else ''}"

    def finish(
        self, cls: Any, ctype: types.Struct, init: Method, methods: Any, properties: Mapping[str, Any],
        free: str | None,
    ) -> None:  # fmt: skip
        """Adds what C functions do for the class. If that fails, the library keeps the class that it had."""
        before, ended = self.classes.get(ctype), destructors.of(cls)
        self.classes[ctype] = cls
        if self.destructor.name:
            destructors.OF_CLASSES[cls] = self.destructor
        try:
            if init is not None:
                cls.__init__ = self._initialiser(cls, init)
            self._add_methods(cls, ctype, methods)
            for name, each in properties.items():
                both = each if isinstance(each, (tuple, list)) and not _is_with_options(each) else (each,)
                if not 1 <= len(both) <= 2:
                    raise TypeError(f"{self.called(cls)}: {name}: give a getter, or (getter, setter)")
                getter = self._callable(cls, both[0], name)
                setter = self._callable(cls, both[1], name, replaces=True) if len(both) > 1 else None
                self._put(cls, name, property(getter, setter, doc=getter.__doc__))
        except BaseException:
            destructors.OF_CLASSES[cls] = ended
            if before is None:
                del self.classes[ctype]
            else:
                self.classes[ctype] = before
            raise
        if "close" not in vars(cls):
            cls.close = Instance._cwrapjit_close
        if free is not None:
            self.classes.frees[self.destructor.name] = cls
        self.library.keep(cls.__name__, cls)

    def _add_methods(self, cls: type[Instance], ctype: types.Struct, methods: Any) -> None:
        if isinstance(methods, Mapping):
            for name, each in methods.items():
                self._put(cls, name, self._callable(cls, each, name))
            return
        prefixes = [
            f"{each}_" for each in (ctype.tag, ctype.alias, cls.__name__, cls.__name__.lower()) if each
        ]
        for each in [methods] if isinstance(methods, str) else methods:
            function = self._callable(cls, each, None, prefixes)
            self._put(cls, str(function.__name__), function)

    def _put(self, cls: type[Instance], name: str, what: Any) -> None:
        if not name.isidentifier() or keyword.iskeyword(name) or name in _RESERVED:
            raise ValueError(f"{self.called(cls)}: {name!r} cannot be the name of a method")
        if isinstance(vars(cls).get(name), Field):
            raise ValueError(f"{self.called(cls)}: {name} is a member already; name the method otherwise")
        setattr(cls, name, what)

    def _callable(
        self,
        cls: type[Instance],
        method: Method,
        name: str | None,
        prefixes: Any = (),
        replaces: bool = False,
    ) -> Any:
        """Makes a method of a C function. Its instance keeps what keeps= names."""
        found, given = self._read(cls, method)
        if not isinstance(found, FunctionDeclaration):
            return found
        given |= _kept_by(next(iter(parameter_names(found)), "self"), given)
        return self._function(found, cls, name or given.pop("name", None), prefixes, given, replaces)

    def _read(self, cls: type[Instance], method: Method) -> tuple[Any, dict[str, Any]]:
        """Returns a method's declaration, or whatever else it is, and its options."""
        declared, given = (method[0], dict(method[1])) if _is_with_options(method) else (method, {})
        if not isinstance(declared, str):
            if not callable(declared):
                raise TypeError(f"{self.called(cls)}: a method is a C declaration, not {declared!r}")
            return declared, given
        parsed = self.library.read(declared, cls.__name__)
        if len(parsed.functions) != 1 or parsed.variables:
            shown = " ".join(declared.split())
            raise ValueError(f"{self.called(cls)}: this should declare one function: {shown}")
        parsed.functions[0].text = written(declared)
        return parsed.functions[0], given

    def _function(
        self,
        found: FunctionDeclaration,
        cls: type[Instance],
        name: str | None,
        prefixes: Iterable[str],
        options: dict[str, Any],
        replaces: bool = False,
    ) -> Any:
        """Makes a C function a method. Without a name, it is C's name without the class's prefix."""
        library, who = self.library, self.called(cls)
        if found.name == self.destructor.name:
            made = end(library, cls, found)
            made.__name__ = name or made.__name__
            return made
        if name is None:
            prefix = next((each for each in prefixes if found.name.startswith(each)), "")
            name = python_name(found.name.removeprefix(prefix) or found.name)
        try:
            read = library.options_of(found, {**options, "name": name})
            read.qualname, read.replaces = f"{who}.{name}", replaces
            return compile_together(library.code, [library.map(found, read)])[0]
        except Unmapped as reason:
            raise TypeError(f"{who}: {found.name}() has no mapping: {reason}") from None

    def _initialiser(self, cls: type[Instance], init: Method) -> Any:
        """Makes __init__ of a C function that fills an object, or makes a new one."""
        found, rest = self._read(cls, init)
        makes, options = "", dict[str, Any]()
        if isinstance(found, FunctionDeclaration):
            makes, options = self._makes_object(cls, found, names_of(rest.get("out", ())))
        if self.destructor.bound and makes not in ("pointer", "output"):
            raise ValueError(
                f"{self.called(cls)}: init: {self.destructor.name}() wants more than the object, and "
                "only functions that return a pointer to a new one, or store one, can keep that"
            )
        for option in options.keys() & rest.keys() & {"out", "discard"}:
            rest[option] = tuple(dict.fromkeys((*names_of(rest[option]), options[option])))
        if isinstance(found, FunctionDeclaration):
            first = next(iter(parameter_names(found)), "")
            keeper = {"": first, "output": options.get("out", "")}.get(makes, "return")
            found = self._function(found, cls, "__init__", (), {**options, **rest, **_kept_by(keeper, rest)})
        return make_init(found, bool(makes))

    def _makes_object(
        self, cls: type[Instance], found: FunctionDeclaration, out: tuple[str, ...]
    ) -> tuple[str, dict[str, Any]]:
        """Returns how a function makes an object, and the options for that: it returns a "pointer" or a
        "value", stores one in an "output" (T **), or fills ("") what its first parameter points to."""
        result, targets = found.result, [types.target_of(each.type) for each in found.parameters]
        if self._is_of(cls, types.target_of(result)):
            return "pointer", {"returns": "callee"}
        if self._is_of(cls, result):
            return "value", {}
        if targets and (isinstance(targets[0], types.Void) or self._is_of(cls, targets[0])):
            return "", {}
        outputs = [
            each.name or f"arg{k + 1}"
            for k, each in enumerate(found.parameters)
            if isinstance(each.type, types.Pointer) and not each.type.const
            if self._is_of(cls, types.target_of(targets[k]))
        ]
        for name in [each for each in outputs if each in out] or outputs:
            is_void = isinstance(result, types.Void)
            return "output", {"out": name, **({} if is_void else {"discard": "return"})}
        raise TypeError(
            f"{self.called(cls)}: init: {found.name}() neither fills a {cls.__name__}, as its first "
            f"parameter, nor returns one, nor stores one in a {cls.__name__} **"
        )

    def _is_of(self, cls: type[Instance], ctype: Any) -> bool:
        return isinstance(ctype, types.Struct) and self.classes.get(types.final(ctype)) is cls


def end(library: Core, cls: type[Instance], found: FunctionDeclaration) -> Any:
    """Makes a function that frees each object of a class once, instead of the C function for that."""
    destructor = destructors.of(cls)
    if not destructor.end:
        destructors.check(found, f"{qualified(library.name, found.name)}()")
    layout, symbol = getattr(cls, "__cwrapjit_layout__"), found.name  # noqa: B009

    def free(*arguments: Any) -> None:
        if len(arguments) != destructor.count:
            raise TypeError(
                f"{qualified(library.name, symbol)}() takes {destructor.count} positional arguments but "
                f"{len(arguments)} were given"
            )
        instance = arguments[destructor.place]
        if not isinstance(instance, Instance) or getattr(instance, "__cwrapjit_layout__", None) is not layout:
            raise TypeError(
                f"{qualified(library.name, symbol)}(): Expected an argument of type {cls.__name__}, "
                f"got {type(instance).__name__}"
            )
        instance._cwrapjit_close()

    free.__name__ = symbol
    free.__qualname__ = qualified(library.name, symbol)
    free.__doc__ = f"Free a {cls.__name__} now; later calls with it raise. Twice does nothing."
    return free


def _has_const(plan: Mapping[str, Any]) -> bool:
    inside = plan["of"].__cwrapjit_layout__ if plan["kind"] == "inside" else None
    return bool(plan["readonly"] or (inside is not None and inside.readonly))


def _restore(cls: Any, before: Mapping[str, Any]) -> None:
    """Gives a class the attributes that it had."""
    for name in vars(cls).keys() - before.keys():
        delattr(cls, name)
    for name, value in before.items():
        if getattr(cls, name) is not value and name not in ("__dict__", "__weakref__"):
            setattr(cls, name, value)


def _is_with_options(method: Any) -> bool:
    return isinstance(method, (tuple, list)) and len(method) == 2 and isinstance(method[1], Mapping)


def _kept_by(keeper: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Converts keeps= of names alone: this parameter, or the result, keeps them."""
    names = given.get("keeps", ())
    return {} if isinstance(names, Mapping) or not names else {"keeps": {keeper: names_of(names)}}


def python_name(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) or name in _RESERVED else name


# ---- __init__ and what NumPy asks --------------------------------------------------------------------


def as_array(self: Any, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    """The struct as a record array without dims, for np.asarray(): a view of its memory."""
    view = self._cwrapjit_view()
    return np.asarray(view, dtype) if copy is None else np.array(view, dtype, copy=copy)


def be_no_number(self: Any) -> Any:
    """NumPy asks for a number when it stores the struct as one item: it knows only tuples there."""
    raise TypeError(
        f"a {type(self).__name__} is no number; a[i] = np.asarray(x) stores it in an array of structs, and "
        "np.stack(list) makes an array of several"
    )


def make_fill(plans: Iterable[Mapping[str, Any]]) -> Any:
    """Makes the __init__ that takes members, by position or by name."""
    inspect = load("inspect")
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    named = {python_name(each["name"]): _annotation(each) for each in plans}
    first = "self_" if "self" in named else "self"
    __init__: Any = _cwrapjit.Initializer(None, False)
    __init__.__signature__ = inspect.Signature(
        [
            inspect.Parameter(first, inspect.Parameter.POSITIONAL_ONLY),
            *(inspect.Parameter(name, kind, default=CText("..."), annotation=x) for name, x in named.items()),
        ]
    )
    return __init__


def _annotation(plan: Mapping[str, Any]) -> Any:
    if plan["kind"] == "array":
        return CText("ArrayLike")
    word = {"buffer": "str", "string": "str"}.get(plan["kind"], "")
    if plan["kind"] in ("scalar", "bits"):
        word = WORDS.get(plan["dtype"], plan["dtype"])
    elif plan["kind"] in ("inside", "pointer"):
        word = getattr(plan["of"], "__name__", "")  # "" is the class itself
    return CText(word) if word else load("inspect").Parameter.empty


def come_from_functions(self: Any, /, *args: Any, **kwargs: Any) -> None:
    """Objects of this type are made by C functions."""
    cls = type(self)
    raise TypeError(
        f"{cls.__name__} objects come from functions of {cls.__module__}, not from {cls.__name__}()"
    )


def without_end(self: Any, /, *args: Any, **kwargs: Any) -> None:
    """Objects of this type come from C functions: nothing says how long their last array is."""
    cls = type(self)
    raise TypeError(
        f"{cls.__name__}() would have no memory for its last member, an array whose length nothing says: "
        f"such objects come from functions of {cls.__module__}"
    )


def make_init(function: Any, adopts: bool) -> Any:
    __init__: Any = _cwrapjit.Initializer(function, adopts)
    __init__.__doc__ = function.__doc__
    parameters = function.__signature__.parameters.values()
    signature = function.__signature__
    if adopts:
        inspect = load("inspect")
        first = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
        signature = signature.replace(parameters=[first, *parameters])
    __init__.__signature__ = signature.replace(return_annotation=None)
    return __init__
