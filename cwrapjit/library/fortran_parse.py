"""Reads Fortran, free and fixed form: what callers see of a routine, a type or a module.

fparser parses; this file takes from its trees what callers need, so that a whole source file can be its own
declaration. fortran_emit.py writes it anew; the given text is never passed on. (A reader of our own had read
none of 180 routines in 120 files of SciPy 1.11: most are in fixed form.)
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import logging
import re
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from cwrapjit._cwrapjit import CompileError
from cwrapjit._imports import late, load
from cwrapjit.library.fortran_text import Declared, Derived, Routine, Type, Variable, split

_NAME = r"[a-z_]\w*"
_BASES = re.compile(
    r"(integer|real|complex|logical|character|double\s*precision|double\s*complex|type|class)"
)
_LINE = re.compile(r"at line (\d+)\n")
_UNITS = ("Subroutine_Subprogram", "Function_Subprogram", "Subroutine_Body", "Function_Body")
_DECLARATIONS = ("Type_Declaration_Stmt", "Data_Component_Def_Stmt")
_GROUPS = ("Specification_Part", "Implicit_Part", "Component_Part", "Type_Bound_Procedure_Part")

# Bytes of the named kinds of iso_c_binding and iso_fortran_env, on x86-64.
KINDS = {
    **dict.fromkeys("c_int8_t c_signed_char c_char c_bool int8 logical8".split(), 1),
    **dict.fromkeys("c_int16_t c_short int16 logical16".split(), 2),
    **dict.fromkeys("c_int c_int32_t c_float c_float_complex int32 real32 logical32".split(), 4),
    **dict.fromkeys("c_long c_long_long c_int64_t c_size_t c_intptr_t c_ptrdiff_t c_double".split(), 8),
    **dict.fromkeys("c_double_complex int64 real64 logical64".split(), 8),
}
_INTRINSIC = ("iso_c_binding", "iso_fortran_env", "ieee_arithmetic", "ieee_exceptions", "ieee_features")
_USE = re.compile(r"use\s*(?:,\s*(?:non_)?intrinsic\s*)?(?:::)?\s*(\w+)\s*(?:,\s*(only\s*:)?\s*(.*))?")
Ask = Callable[[tuple[str, str]], "int | None"]
_INTEGER, _REAL = Type("integer", 4), Type("real", 4)


# ---- fparser ------------------------------------------------------------------------------------


def _kind(node: Any) -> str:
    return type(node).__name__


def _parts(node: Any) -> Iterator[Any]:
    """Yields the statements and constructs inside a construct and its grouping nodes."""
    for each in getattr(node, "content", None) or ():
        yield from _parts(each) if _kind(each) in _GROUPS else [each]


def _line(node: Any) -> int:
    item = getattr(node, "item", None)
    while item is None and getattr(node, "content", None):
        node = node.content[0]
        item = getattr(node, "item", None)
    return int(item.span[0]) if item is not None else 0


def _say_nothing(message: str, item: object = None) -> None:
    pass


def _tree(text: str, free: bool | None = None) -> Any:
    """Returns fparser's tree; free=None: it finds the form. Its tables are global: one text at a time."""
    reader = load("fparser.common.readfortran").FortranStringReader(text, ignore_comments=True)
    if free is not None:
        reader.set_format(load("fparser.common.sourceinfo").FortranFormat(free, False))

    def refuse(message: str, item: object = None) -> None:
        raise load("fparser.two.utils").FortranSyntaxError(reader, message)

    # The reader's own methods look up lines beyond the last one, and exit after errors.
    reader.error, reader.info, reader.warning = refuse, _say_nothing, _say_nothing
    return load("fparser.two.parser").ParserFactory().create(std="f2008")(reader)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Silences fparser, which also logs what it raises."""
    logger = logging.getLogger("fparser")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


# ---- one scope ----------------------------------------------------------------------------------


class Scope:
    """The names of a routine, a type or a module: variables, constants, types of undeclared names."""

    def __init__(self, reader: Reader, outer: Scope | None = None) -> None:
        self.reader = reader
        self.table: dict[str, Variable] = {}
        self.constants: dict[str, int] = dict(outer.constants) if outer is not None else {}
        # Types by first letter, if the text has an implicit statement or executable ones; else None.
        self.implicit: dict[str, Type] | None = None if outer is None else outer.implicit
        self.strict: bool = outer is not None and outer.strict  # implicit none
        self.interfaces: dict[str, Routine] = dict(outer.interfaces) if outer is not None else {}
        self._of_interface: dict[str, str] = {}  # procedure(interface) :: name
        # Names of other modules: (module, name there); and modules of which all names are used.
        self.uses: dict[str, tuple[str, str]] = dict(outer.uses) if outer is not None else {}
        self.opened: list[str] = list(outer.opened) if outer is not None else []

    def read(self, node: Any) -> None:
        """Reads a specification statement; ignores others."""
        kind, text = _kind(node), str(node)
        if kind in _DECLARATIONS:
            self._declare(node)
        elif kind == "Use_Stmt":
            self._use(text)
        elif kind == "Implicit_Stmt":
            self._implicit(node)
        elif kind == "Parameter_Stmt":
            for part in split(text[text.index("(") + 1 : -1]):
                name, _, value = part.partition("=")
                self.constant(name, value)
                if self.typed(variable := self.variable(name)):
                    variable.attributes.add("parameter")
        elif kind == "Dimension_Stmt":
            for name, shape in re.findall(rf"({_NAME})\(((?:[^()]|\([^()]*\))*)\)", text, re.IGNORECASE):
                if name.lower() != "dimension":
                    self.variable(name).shape = self.shape(shape, node)
        elif kind == "Intent_Stmt":
            intent, _, names = text.partition("::")
            for name in split(names):
                self.variable(name).intent = re.sub(r"\W|^intent", "", intent.lower())
        elif kind in ("External_Stmt", "Procedure_Declaration_Stmt"):
            pattern = rf"(?:external|procedure\s*\(\s*({_NAME})?\s*\))(?:[^:]*::)?\s*(.*)"
            declared = re.fullmatch(pattern, text, re.IGNORECASE | re.DOTALL)
            for name in split(declared[2]) if declared else ():
                self.variable(name).attributes.add("external")
                if declared and declared[1]:
                    self._of_interface[name.lower()] = declared[1].lower()
        elif kind == "Interface_Block":
            for each in _parts(node):
                if _kind(each) in _UNITS:
                    self._interface(each)
        elif match := re.fullmatch(r"(\w+)\s*(?:::)?\s*(.*)", text):
            if match[1].lower() in ("allocatable", "optional", "pointer", "target", "value", "volatile"):
                for name in split(match[2]):
                    self.variable(re.sub(r"\(.*", "", name)).attributes.add(match[1].lower())

    def _interface(self, unit: Any) -> None:
        """Reads an interface, of a dummy procedure or abstract. One that is not understood stays unknown."""
        name = str(unit.content[0].items[1]).lower()
        with contextlib.suppress(CompileError):
            self.interfaces[name] = self.reader.routine(unit, "", self)
        if name in self.table:
            self.table[name].attributes.add("external")
            self._of_interface[name] = name

    def resolve(self) -> None:
        """Gives procedures the interfaces that were declared, before or after them."""
        for name, interface in self._of_interface.items():
            self.table[name].interface = self.interfaces.get(interface)

    def variable(self, name: str) -> Variable:
        return self.table.setdefault(name.strip().lower(), Variable(name.strip()))

    def _declare(self, node: Any) -> None:
        spec, attributes, entities = node.items
        kind = self.type(str(spec), node)
        said = [str(each) for each in getattr(attributes, "items", ())]
        for entity in entities.items:
            name, dims, length, initial = entity.items
            variable = self.variable(str(name))
            variable.type = kind if length is None else dataclasses.replace(kind, length=_size(str(length)))
            for each in said:
                self._attribute(each, variable, node)
            if dims is not None:
                variable.shape = self.shape(str(dims), node)
            if initial is not None:
                variable.initial = re.sub(r"^\s*=>?\s*", "", str(initial))
            if "parameter" in variable.attributes:
                self.constant(variable.name, variable.initial)

    def _attribute(self, said: str, variable: Variable, node: Any) -> None:
        name, _, inside = said.partition("(")
        name, inside = name.strip().lower(), inside.removesuffix(")")
        if name == "dimension":
            variable.shape = self.shape(inside, node)
        elif name == "intent":
            variable.intent = inside.lower().replace(" ", "")
        else:
            variable.attributes.add(name)

    def shape(self, text: str, node: Any) -> tuple[tuple[str, str], ...]:
        dims = []
        for name in re.findall(rf"\b{_NAME}\b", text.lower()):
            if name not in self.table:
                self.number(name)  # gets it, if it is a constant of another module
        for part in split(text):
            lower, colon, upper = (each.strip() for each in part.partition(":"))
            dims.append(("1", part) if not colon else (lower or ("1" if upper else ""), upper or ":"))
        if not dims or ".." in text:
            self.reader.fail("assumed rank and empty shapes have no mapping", node)
        if any(upper == ":" for _, upper in dims) and not all(upper == ":" for _, upper in dims):
            self.reader.fail("a shape is assumed in all dimensions or in none", node)
        return tuple(dims)

    # Types and kinds

    def _implicit(self, node: Any) -> None:
        if "none" in str(node).lower():
            self.implicit, self.strict = None, True
            return
        self.implicit = {} if self.implicit is None else self.implicit
        for text, letters in re.findall(r"([A-Za-z ]+(?:\*\d+|\([^()]*\))?)\s*\(([^()]*)\)", str(node)[9:]):
            kind = self.type(text.strip(), node)
            for part in split(letters):
                first, _, last = (each.strip().lower() for each in part.partition("-"))
                for code in range(ord(first), ord(last or first) + 1):
                    self.implicit[chr(code)] = kind

    def typed(self, variable: Variable) -> bool:
        """Gives the variable the type of an undeclared name; False if there is none."""
        if variable.type is None and self.implicit is not None:
            first = variable.name[0].lower()
            variable.type = self.implicit.get(first, _INTEGER if "i" <= first <= "n" else _REAL)
        return variable.type is not None

    def _use(self, text: str) -> None:
        """Reads use kinds, only: dp, wp => i8. Constants of modules not read here are looked up later."""
        match = _USE.fullmatch(text.lower())
        if match is None:
            return
        module, only, rest = match[1], match[2], match[3] or ""
        known = self.reader.modules.get(module, KINDS if module in _INTRINSIC else None)
        for name, _, remote in (part.partition("=>") for part in split(rest)):
            name, remote = name.strip(), (remote or name).strip()
            if known is None:
                self.uses[name] = (module, remote)
            elif remote in known:
                self.constants[name] = known[remote]
        if not only and known is None:
            self.opened.append(module)
        elif not only:
            self.constants |= known or {}

    def _used(self, name: str) -> int | None:
        """Asks the compiler for the value of a constant of another module."""
        places = [self.uses[name]] if name in self.uses else [(module, name) for module in self.opened]
        for place in places:
            if (value := self.reader.ask(place)) is not None:
                self.constants[name] = value
                return value
        return None

    def type(self, text: str, node: Any) -> Type:
        lower = text.lower()
        match = _BASES.match(lower)
        if match is None:
            self.reader.fail(f"{text} has no mapping", node)
        base, rest = re.sub(r"\s+", "", match[1]), lower[match.end() :].strip()
        if base in ("doubleprecision", "doublecomplex"):
            return Type("real" if base == "doubleprecision" else "complex", 8)
        inside = _size(rest)
        if base in ("type", "class"):
            return Type(base, name=inside)
        if base == "character":
            return Type(base, 1, length=_length(inside) or "1")
        if rest.startswith("*"):
            return Type(base, self._valid(base, int(inside) // (2 if base == "complex" else 1), inside, node))
        return Type(base, self._bytes(base, re.sub(r"^kind\s*=\s*", "", inside), node) if inside else 4)

    def _bytes(self, base: str, text: str, node: Any) -> int:
        value = self.number(text)
        if value is None:
            known = f"unknown kind {text!r}: define it here, or give kinds={{{text!r}: bytes}}"
            module = self.uses[text][0] if text in self.uses else " or ".join(self.opened)
            if module:
                known += f"; the compiler finds no {module}.mod that has it (include_dirs=, sources=)"
            self.reader.fail(known, node, text)
        return self._valid(base, value, text, node)

    def _valid(self, base: str, value: int, text: str, node: Any) -> int:
        if value not in ((4, 8) if base in ("real", "complex") else (1, 2, 4, 8)):
            self.reader.fail(f"{base} of kind {text} has no NumPy type here", node, text)
        return value

    def number(self, text: str) -> int | None:
        """Returns the value of a constant expression, in the forms that kinds need."""
        text = text.strip().lower()
        if re.fullmatch(r"\d+", text):
            return int(text)
        if text in self.constants:
            return self.constants[text]
        if re.fullmatch(_NAME, text):
            return self._used(text)
        if match := re.fullmatch(r"kind\s*\((.*)\)", text):
            return 8 if re.search(r"\dd|\.\d*d|_real64|_c_double", match[1]) else 4
        if match := re.fullmatch(r"selected_(real|int)_kind\s*\((.*)\)", text):
            digits = self.number(re.sub(r"^[pr]\s*=", "", split(match[2])[0]))
            if digits is None:
                return None
            sizes = ((4, 6), (8, 15)) if match[1] == "real" else ((1, 2), (2, 4), (4, 9), (8, 18))
            return next((size for size, most in sizes if digits <= most), None)
        return None

    def constant(self, name: str, value: str) -> None:
        number = self.number(value)
        if number is not None:
            self.constants[name.strip().lower()] = number
        else:
            self.constants.pop(name.strip().lower(), None)


def _size(text: str) -> str:
    """Returns what is inside `(len=8)`, `*8` or `*(*)`."""
    text = text.strip()
    text = text[1:].strip() if text.startswith("*") else text
    return text[1:-1].strip() if text.startswith("(") else text


def _length(inside: str) -> str:
    """Returns the length of characters in `len=8, kind=c_char`."""
    length = ""
    for part in split(inside):
        name, equals, value = part.partition("=")
        if not equals or name.strip() == "len":
            length = (value if equals else part).strip()
    return length


# ---- a text -------------------------------------------------------------------------------------


class Reader:
    """Reads one text. `kinds` maps names of kinds that the text does not define to bytes."""

    def __init__(
        self, text: str, kinds: dict[str, int], where: str, modules: dict[str, dict[str, int]], ask: Ask
    ) -> None:
        self.text = text
        self.modules = modules  # constants by module; read() adds to it
        self.ask = functools.lru_cache(None)(ask)
        self.lines = text.splitlines()
        self.where = where
        self.declared = Declared()
        self.outermost = Scope(self)
        self.outermost.constants = {**KINDS, **{name.lower(): kind for name, kind in kinds.items()}}

    def fail(self, message: str, node: Any = None, word: str = "", *, line: int = 0) -> NoReturn:
        line = line or _line(node) or max(len(self.lines), 1)
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        column = max(text.lower().find(word.lower()), 0) if word else len(text) - len(text.lstrip())
        caret = f"\n    {text.rstrip()}\n    {' ' * column}^" if text else ""
        details = (self.where, line, column + 1, text)
        raise CompileError(f"{self.where}:{line}:{column + 1}: {message}{caret}", details)

    def read(self) -> Declared:
        """Reads all of the text, in its order. Modules come first, as others use their constants."""
        units, routines = self._readable(), self.declared.routines
        of_units: dict[int, list[Routine]] = {}
        for at in sorted(range(len(units)), key=lambda at: _kind(units[at]) != "Module"):
            unit, before = units[at], len(routines)
            kind = _kind(unit)
            if kind == "Module":
                name = str(unit.content[0].items[1]).lower()
                self._module(unit, "" if name == _AROUND else name)
            elif kind in _UNITS:
                self._try(unit, self._routine, unit, "", self.outermost)
            of_units[at] = routines[before:]
        routines[:] = [each for at in sorted(of_units) for each in of_units[at]]
        if not (self.declared.routines or self.declared.types or self.declared.variables):
            for error in self.declared.faulty.values():
                raise error
            self.fail("nothing is declared here: want a subroutine, a function, or a module's parts")
        return self.declared

    def _try(self, unit: Any, read: Callable[..., None], *args: Any) -> None:
        """Reads one routine or type. An error in it is listed, and does not concern the others."""
        try:
            read(*args)
        except CompileError as error:
            name = str(unit.content[0].items[1])
            self.declared.faulty[name.lower() if name.isupper() else name] = error

    def _readable(self) -> list[Any]:
        """Returns the program units. A routine with a line that is not Fortran is left out, as faulty."""
        first: CompileError | None = None
        while True:
            try:
                return self._units()
            except CompileError as error:
                first = first or error
                found = _around(self.lines, error.args[1][1])
                if found is None:
                    raise first from None
                name, begin, end = found
                self.declared.faulty[name] = error
                self.lines[begin : end + 1] = [""] * (end + 1 - begin)
                self.text = "\n".join(self.lines) + "\n"
                if not self.text.strip():
                    raise first from None

    def _units(self) -> list[Any]:
        """Returns the program units of the text, which may be parts of a module."""
        wrong = load("fparser.two.utils").FparserException  # an InternalError for "integer(", too
        try:
            return list(_tree(self.text).content)
        except wrong as error:
            match = _LINE.match(str(error))
        cards = "\n".join(line[:72] for line in self.lines)  # columns from 73 hold line numbers
        for text, free in (
            (self.text, False),
            (cards + "\n", False),
            (f"module {_AROUND};{self.text}\nend module", True),
        ):
            with contextlib.suppress(wrong):
                return list(_tree(text, free).content)
        self.fail("this is no Fortran that can be read", line=int(match[1]) if match else 0)

    def _module(self, unit: Any, module: str) -> None:
        scope = Scope(self, self.outermost)
        access: dict[str, str] = {}  # by name; "" for all others
        first = len(self.declared.routines)
        for node in _parts(unit):
            kind = _kind(node)
            if kind == "Access_Stmt":
                word, names = node.items[0].lower(), str(node.items[1] or "").lower()
                access.update(dict.fromkeys(split(names) or [""], word))
            elif kind == "Derived_Type_Def":
                self._try(node, self._derived, node, module, scope)
            elif kind == "Interface_Block" and str(node.content[0]).lower().startswith("abstract"):
                scope.read(node)
            elif kind in ("Interface_Block", "Module_Subprogram_Part"):
                for each in _parts(node):
                    if _kind(each) in _UNITS:
                        self._try(each, self._routine, each, module, scope)
                if kind == "Interface_Block":
                    self._generic(node)
            elif kind in _DECLARATIONS:
                self._variables(node, scope)
            else:
                scope.read(node)

        def seen(name: str, attributes: set[str]) -> bool:
            word = access.get(name.lower(), access.get("", "public"))
            return "public" in attributes or (word == "public" and "private" not in attributes)

        self.modules[module] = {name: value for name, value in scope.constants.items() if name not in KINDS}
        kept = [v for v in scope.table.values() if v.type is not None]
        self.declared.variables += [(module, v) for v in kept if seen(v.name, v.attributes)]
        routines = self.declared.routines
        for name in [each for each in self.declared.generics if not seen(each, set())]:
            del self.declared.generics[name]
        public = {name.lower(): each for each, names in self.declared.generics.items() for name in names}
        for each in routines[first:]:
            each.generic = "" if seen(each.name, set()) else public.get(each.name.lower(), "")
        routines[first:] = [each for each in routines[first:] if each.generic or seen(each.name, set())]

    def _generic(self, block: Any) -> None:
        """Reads a generic name, which stands for several routines."""
        name = str(block.content[0].items[0])
        if not re.fullmatch(_NAME, name):
            return
        names = self.declared.generics.setdefault(name, [])
        for each in _parts(block):
            if _kind(each) == "Procedure_Stmt":
                names += [str(one) for one in each.items[0].items]
            elif _kind(each) in _UNITS:
                names.append(str(each.content[0].items[1]))

    def _variables(self, node: Any, scope: Scope) -> None:
        try:
            scope.read(node)
        except CompileError as error:
            for entity in node.items[2].items:
                scope.table.pop(str(entity.items[0]).lower(), None)
                self.declared.faulty[str(entity.items[0])] = error

    # Routines

    def _routine(self, unit: Any, module: str, outer: Scope) -> None:
        self.declared.routines.append(self.routine(unit, module, outer))

    def routine(self, unit: Any, module: str, outer: Scope) -> Routine:
        head = unit.content[0]
        prefix, name, dummies, _ = head.items
        scope = Scope(self, outer)
        name, names = str(name), [str(each) for each in getattr(dummies, "items", ())]
        if name.isupper():  # as in Fortran 77, which ignores case
            name, names = name.lower(), [each.lower() for each in names]
        for each in names:
            if each == "*":
                self.fail("'*' is no argument that can be given from Python", head, "*")
            scope.variable(each)
        result = self._result_of(head, scope)
        parts = list(_parts(unit))
        if scope.implicit is None and not scope.strict and "Execution_Part" in map(_kind, parts):
            scope.implicit = {}  # a source: it may rely on implicit types, interfaces may not
        for node in parts:
            if _kind(node) == "Execution_Part":
                self._assigned(node, names, scope)
            if _kind(node) in ("Execution_Part", "Internal_Subprogram_Part"):
                break
            if _kind(node) == "Common_Stmt":
                self.declared.commons.update(re.findall(r"/\s*(\w*)\s*/", str(node).lower()))
            if node is not head:
                scope.read(node)
        scope.resolve()
        arguments = [scope.table[each.lower()] for each in names]
        for variable in arguments + ([result] if result is not None else []):
            if "external" not in variable.attributes and not scope.typed(variable):
                word = "result" if variable is result else "argument"
                self.fail(f"{word} {variable.name} of {name} has no type", head, variable.name)
        constants = {key: value for key, value in scope.constants.items() if key not in KINDS}
        bind, elemental = _bound(head), "elemental" in str(prefix).lower()
        return Routine(str(name), arguments, result, module, bind, elemental, constants)

    def _assigned(self, executed: Any, names: list[str], scope: Scope) -> None:
        """Gives inout to numbers that the source assigns and that have no intent."""
        assignments = load("fparser.two.utils").walk(
            executed, load("fparser.two.Fortran2003").Assignment_Stmt
        )
        assigned = {str(each.items[0]).lower() for each in assignments}
        for variable in (scope.table[name.lower()] for name in names):
            silent = not variable.intent and not variable.shape and "value" not in variable.attributes
            if silent and variable.name.lower() in assigned:
                variable.intent = "inout"

    def _result_of(self, head: Any, scope: Scope) -> Variable | None:
        if _kind(head) == "Subroutine_Stmt":
            return None
        prefix, name, _, suffix = head.items
        named = re.search(rf"result\s*\(\s*({_NAME})\s*\)", str(suffix), re.IGNORECASE)
        result = scope.variable(named[1] if named else str(name))
        for each in getattr(prefix, "items", ()):
            if _kind(each) != "Prefix_Spec":
                result.type = scope.type(str(each), head)
        return result

    # Derived types

    def _derived(self, unit: Any, module: str, outer: Scope) -> None:
        derived = Derived(str(unit.content[0].items[1]).lower(), module)
        scope = Scope(self, outer)
        private = False
        for node in _parts(unit):
            kind = _kind(node)
            private |= kind == "Private_Components_Stmt"
            if kind in _DECLARATIONS:
                scope.read(node)
            elif kind == "Specific_Binding":
                name, target = str(node.items[-2]), node.items[-1]
                derived.methods.append((name, str(target) if target is not None else name))
        every = scope.table.values()
        seen = [v for v in every if "public" in v.attributes] if private else every
        derived.components = [v for v in seen if "private" not in v.attributes]
        self.declared.types.append(derived)


_AROUND = "cwj_parts"
_HEAD = re.compile(r"(?!\s*end\b)\s*(?:[\w*()=, ]*[\s)])?(?:subroutine|function)\s+(\w+)", re.IGNORECASE)
_END = re.compile(r"\s*end\s*(?:(?:subroutine|function|procedure)\b.*)?(?:!.*)?$", re.IGNORECASE)
_SEPARATE = re.compile(r"\s*module\s+procedure\s+(\w+)\s*(?:!.*)?$", re.IGNORECASE)  # in a submodule


def _around(lines: list[str], line: int) -> tuple[str, int, int] | None:
    """Returns the routine that contains a line (from 1): its name, its first and its last line (from 0)."""
    at = min(line, len(lines)) - 1
    if separate := _SEPARATE.match(lines[at]):
        ends = (k for k in range(at, len(lines)) if _END.match(lines[k]))
        return separate[1], at, next(ends, len(lines) - 1)
    begin = next((k for k in range(at, -1, -1) if _HEAD.match(lines[k])), None)
    if begin is None or any(_END.match(each) for each in lines[begin : line - 1]):
        return None
    rest = range(begin + 1, len(lines))
    # A routine without an end statement ends where the next one begins.
    stops = (
        k if _END.match(lines[k]) else k - 1 for k in rest if _END.match(lines[k]) or _HEAD.match(lines[k])
    )
    end = next(stops, len(lines) - 1)
    head = _HEAD.match(lines[begin])
    assert head is not None
    return head[1], begin, end


def _bound(head: Any) -> str | None:
    """Returns C's name of a routine with bind(c), else None."""
    pattern = r"bind\s*\(\s*c\s*(?:,\s*name\s*=\s*['\"]([^'\"]*)['\"])?\s*\)"
    match = re.search(pattern, str(head), re.IGNORECASE)
    return (match[1] or str(head.items[1]).lower()).strip() if match else None


def parse(
    text: str,
    kinds: dict[str, int],
    where: str = "<fortran>",
    modules: dict[str, dict[str, int]] | None = None,
    ask: Ask = lambda place: None,
) -> Declared:
    """Returns what `text` declares, or raises CompileError with the place. modules: constants by module, with
    those of this text added; ask((module, name)): the value of another one."""
    try:
        load("fparser")
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "lib.fortran() reads Fortran with fparser, which is missing: pip install fparser",
            name="fparser",
        ) from None
    with late, _quiet():
        return Reader(text, kinds, where, {} if modules is None else modules, ask).read()
