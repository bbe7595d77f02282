"""Reads Fortran's specification statements, free form: what callers see of a routine, a type or a module.

Executable statements are skipped, so that a whole source file can be given as its own declaration. What is
read here is written again by fortran_emit.py; the text that was given is never passed on.
"""

from __future__ import annotations

import dataclasses
import re
from typing import NoReturn

from cwrapjit._cwrapjit import CompileError
from cwrapjit.library.fortran_words import (
    Declared,
    Derived,
    Routine,
    Statement,
    Type,
    Variable,
    closing,
    split,
    statements,
)

_NAME = r"[a-z_]\w*"
_TYPES = re.compile(
    r"(integer|real|complex|logical|character|double\s*precision|double\s*complex|type(?=\s*\()|class(?=\s*\())",
    re.IGNORECASE,
)
_PREFIXES = re.compile(r"(?:(?:pure|impure|elemental|recursive|non_recursive|module)\s+)*", re.IGNORECASE)
_ATTRIBUTES = (
    "allocatable asynchronous bind codimension contiguous deferred dimension external intent intrinsic nopass"
    " optional parameter pass pointer private protected public save target value volatile"
).split()

# What names of kinds stand for in iso_c_binding and iso_fortran_env, on x86-64.
KINDS = {
    **dict.fromkeys("c_int8_t c_signed_char c_char c_bool int8 logical8".split(), 1),
    **dict.fromkeys("c_int16_t c_short int16 logical16".split(), 2),
    **dict.fromkeys("c_int c_int32_t c_float c_float_complex int32 real32 logical32".split(), 4),
    **dict.fromkeys("c_long c_long_long c_int64_t c_size_t c_intptr_t c_ptrdiff_t c_double".split(), 8),
    **dict.fromkeys("c_double_complex int64 real64 logical64".split(), 8),
}


class Parser:
    """One text. `kinds` maps names of kinds that the text does not define to bytes."""

    def __init__(self, text: str, kinds: dict[str, int], where: str = "<fortran>") -> None:
        self.lines = text.splitlines()
        self.where = where
        self.statements = statements(text)
        self.at = 0
        self.constants = [{**KINDS, **{name.lower(): kind for name, kind in kinds.items()}}]
        self.declared = Declared()

    # Errors

    def fail(self, message: str, statement: Statement | None = None, word: str = "") -> NoReturn:
        line = statement.line if statement is not None else len(self.lines)
        text = self.lines[line - 1] if 0 < line <= len(self.lines) else ""
        column = text.lower().find(word.lower()) if word else len(text) - len(text.lstrip())
        caret = f"\n    {text.rstrip()}\n    {' ' * max(column, 0)}^" if text else ""
        details = (self.where, line, max(column, 0) + 1, text)
        raise CompileError(f"{self.where}:{line}:{max(column, 0) + 1}: {message}{caret}", details)

    # Statements

    def next(self) -> Statement | None:
        if self.at >= len(self.statements):
            return None
        self.at += 1
        return self.statements[self.at - 1]

    def parse(self) -> Declared:
        """Everything that stands in the text, outside a module or in one."""
        self._scope("")
        if not (self.declared.routines or self.declared.types or self.declared.variables):
            self.fail("nothing is declared here: want a subroutine, a function, or a module's parts")
        return self.declared

    def _scope(self, module: str) -> None:
        private: set[str] = set()
        public: set[str] = set()
        all_private = False
        while (statement := self.next()) is not None:
            text = statement.text
            lower = text.lower()
            if routine := self._routine_head(statement):
                self._routine(routine, statement, module)
            elif match := re.match(rf"module\s+({_NAME})$", lower):
                self.constants.append(dict(self.constants[-1]))
                self._scope(match[1])
                self.constants.pop()
            elif re.match(r"end\s*(module|program|submodule)?\b", lower) and module:
                break
            elif lower in ("interface", "abstract interface", "contains", "end interface", "end"):
                continue
            elif match := re.match(rf"type\b\s*(?!\()(?:,(.*?))?(?:::)?\s*({_NAME})$", lower):
                self._derived(match, module)
            elif re.match(r"use\b", lower):
                self._use(lower)
            elif lower.startswith(("implicit ", "save", "import", "interface ", "program ")):
                continue
            elif match := re.match(r"private\b(?:\s*::)?(.*)$", lower):
                names = set(split(match[1]))
                private |= names
                all_private = all_private or not names
            elif match := re.match(r"public\b(?:\s*::)?(.*)$", lower):
                public |= set(split(match[1]))
            elif _TYPES.match(text) or re.match(r"parameter\s*\(", lower):
                table: dict[str, Variable] = {}
                self._specification(statement, table)
                kept = [v for v in table.values() if not v.attributes & {"private", "parameter"}]
                self.declared.variables += [(module, variable) for variable in kept]
            elif module:
                continue  # a statement that says nothing to callers: generic names, common blocks
            else:
                self.fail("not a declaration that is understood here", statement)

        def seen(owner: str, name: str, attributes: set[str]) -> bool:
            if owner != module or "public" in attributes or name.lower() in public:
                return True
            return not all_private and name.lower() not in private

        everything = self.declared
        everything.variables = [(m, v) for m, v in everything.variables if seen(m, v.name, v.attributes)]
        everything.routines = [r for r in everything.routines if seen(r.module, r.name, set())]

    # Routines

    def _routine_head(self, statement: Statement) -> re.Match[str] | None:
        text = statement.text
        start = _PREFIXES.match(text)
        assert start is not None
        rest = text[start.end() :]
        if kind := _TYPES.match(rest):
            after = rest[kind.end() :].lstrip()
            if after.startswith("*"):
                after = re.sub(r"^\*\s*(\d+|\([^)]*\))", "", after)
            elif after.startswith("("):
                after = after[closing(after, 0) + 1 :]
            after = after.lstrip()
            if not re.match(r"((pure|impure|elemental|recursive)\s+)*function\b", after, re.IGNORECASE):
                return None
        elif re.match(r"end\b", rest, re.IGNORECASE):
            return None
        pattern = rf"(?P<before>.*?)\b(?P<what>subroutine|function)\s+(?P<name>{_NAME})\s*(?P<rest>.*)$"
        match = re.match(pattern, text, re.IGNORECASE)
        if match is None or re.search(r"[=:]", match["before"].split("(")[0]):
            return None
        if not re.fullmatch(r"[\w\s(*),=.]*", match["before"]):
            return None
        return match

    def _routine(self, head: re.Match[str], statement: Statement, module: str) -> None:
        rest = head["rest"].strip()
        names: list[str] = []
        if rest.startswith("("):
            end = closing(rest, 0)
            if end < 0:
                self.fail("a parenthesis is not closed", statement, "(")
            names, rest = split(rest[1:end]), rest[end + 1 :]
        for name in names:
            if name == "*" or not re.fullmatch(_NAME, name, re.IGNORECASE):
                self.fail(f"{name!r} is no argument that can be given from Python", statement, name)
        self.constants.append(dict(self.constants[-1]))
        table = {name.lower(): Variable(name) for name in names}
        result = self._result_of(head, rest, statement, table)
        bind: str | None = None
        if match := re.search(
            r"bind\s*\(\s*c\s*(?:,\s*name\s*=\s*['\"]([^'\"]*)['\"])?\s*\)", rest, re.IGNORECASE
        ):
            bind = (match[1] or head["name"].lower()).strip()
        self._body(table)
        constants = {name: value for name, value in self.constants.pop().items() if name not in KINDS}
        routine = Routine(
            head["name"],
            [table[name.lower()] for name in names],
            result,
            module,
            bind,
            statement.line,
            "elemental" in head["before"].lower(),
            constants,
        )
        for variable in routine.arguments + ([result] if result is not None else []):
            if variable.type is None and "external" not in variable.attributes:
                kind = "result" if variable is result else "argument"
                self.fail(f"{kind} {variable.name} of {head['name']} has no type", statement, variable.name)
        self.declared.routines.append(routine)

    def _result_of(
        self, head: re.Match[str], rest: str, statement: Statement, table: dict[str, Variable]
    ) -> Variable | None:
        if head["what"].lower() == "subroutine":
            return None
        named = re.search(rf"result\s*\(\s*({_NAME})\s*\)", rest, re.IGNORECASE)
        result = Variable(named[1] if named else head["name"])
        before = _PREFIXES.sub("", head["before"], count=1)
        if _TYPES.match(before):
            result.type, _ = self._type(before, statement)
        table[result.name.lower()] = result
        return result

    def _body(self, table: dict[str, Variable]) -> None:
        """The specification part, up to the routine's end; what follows it is skipped."""
        nested = 0
        executing = False
        while (statement := self.next()) is not None:
            lower = statement.text.lower()
            if re.fullmatch(rf"end(\s*(subroutine|function|procedure)(\s+{_NAME})?)?", lower):
                if nested == 0:
                    return
                nested -= 1
            elif head := self._routine_head(statement):
                nested += 1
                if not executing and head["name"].lower() in table:
                    table[head["name"].lower()].attributes.add("external")
            elif re.match(r"(end\s*)?interface\b|contains$|abstract\s+interface", lower):
                executing = executing or lower == "contains"
            elif not executing and nested == 0:
                executing = not self._specification(statement, table)

    # Specification statements

    def _specification(self, statement: Statement, table: dict[str, Variable]) -> bool:
        """Reads one into the table. False: it is none."""
        text = statement.text
        lower = text.lower()
        if _TYPES.match(text) and not re.match(rf"{_NAME}\s*(\([^()]*\))?\s*=[^=]", lower):
            self._declaration(statement, table)
            return True
        if re.match(r"use\b", lower):
            self._use(lower)
            return True
        if re.match(r"(implicit|import|save|common|data|external|intrinsic|namelist)\b", lower):
            if lower.startswith("external"):
                for name in split(re.sub(r"^external\s*(::)?", "", lower)):
                    table.setdefault(name, Variable(name)).attributes.add("external")
            return True
        if match := re.match(r"procedure\s*\(.*?\)(.*?)(?:::)\s*(.*)$", text, re.IGNORECASE):
            for name in split(match[2]):
                table.setdefault(name.lower(), Variable(name)).attributes.add("external")
            return True
        if match := re.match(r"parameter\s*\((.*)\)$", text, re.IGNORECASE):
            for part in split(match[1]):
                name, _, value = part.partition("=")
                self._constant(name.strip(), value.strip())
            return True
        if match := re.match(
            rf"({'|'.join(_ATTRIBUTES)})\b\s*(\([^()]*\))?\s*(?:::)?\s*({_NAME}.*)$", text, re.IGNORECASE
        ):
            for entity in split(match[3]):
                variable = self._entity(entity, statement, table)
                self._attribute(match[1].lower() + (match[2] or ""), [variable], statement)
            return True
        return False

    def _declaration(self, statement: Statement, table: dict[str, Variable]) -> None:
        kind, rest = self._type(statement.text, statement)
        attributes: list[str] = []
        if "::" in rest:
            before, _, rest = rest.partition("::")
            attributes = split(before.strip().lstrip(","))
        elif rest.lstrip().startswith(","):
            self.fail("want '::' between attributes and names", statement)
        variables = []
        for entity in split(rest):
            declared: dict[str, Variable] = {}
            variable = self._entity(entity, statement, table, declared)
            variable.type = (
                dataclasses.replace(kind, length=variable.initial[1:])
                if (variable.initial.startswith("*"))
                else kind
            )
            variables.append((variable, bool(declared.get("shape"))))
        if not variables:
            self.fail("a type without a name", statement)
        for attribute in attributes:
            self._attribute(
                attribute, [v for v, shaped in variables if not shaped], statement, every=variables
            )
        for variable, _ in variables:
            if "parameter" in variable.attributes:
                self._constant(variable.name, variable.initial)

    def _entity(
        self,
        entity: str,
        statement: Statement,
        table: dict[str, Variable],
        declared: dict[str, Variable] | None = None,
    ) -> Variable:
        match = re.match(rf"({_NAME})\s*", entity, re.IGNORECASE)
        if match is None:
            self.fail(f"want a name, not {entity!r}", statement, entity.split()[0] if entity.split() else "")
        variable = table.setdefault(match[1].lower(), Variable(match[1]))
        rest = entity[match.end() :]
        if rest.startswith("("):
            end = closing(rest, 0)
            if end < 0:
                self.fail("a parenthesis is not closed", statement, entity)
            variable.shape = self._shape(rest[1:end], statement)
            if declared is not None:
                declared["shape"] = variable
            rest = rest[end + 1 :].lstrip()
        if match := re.match(r"=>?\s*(.*)$", rest):
            variable.initial = match[1]
        elif match := re.match(r"\*\s*(\d+|\(\s*\*\s*\))", rest):
            variable.initial = "*" + match[1].strip("() ")
        elif rest:
            self.fail(f"not understood after {variable.name}: {rest!r}", statement, rest)
        return variable

    def _attribute(
        self,
        attribute: str,
        variables: list[Variable],
        statement: Statement,
        every: list[tuple[Variable, bool]] | None = None,
    ) -> None:
        word = re.match(r"\w*", attribute.lower())
        assert word is not None
        name = word[0]
        if name not in _ATTRIBUTES:
            self.fail(f"unknown attribute {attribute!r}", statement, attribute)
        inside = attribute[attribute.find("(") + 1 : attribute.rfind(")")] if "(" in attribute else ""
        for variable in variables if every is None or name == "dimension" else [v for v, _ in every]:
            if name == "dimension":
                if inside:
                    variable.shape = self._shape(inside, statement)
            elif name == "intent":
                variable.intent = inside.lower().replace(" ", "")
                if variable.intent not in ("in", "out", "inout"):
                    self.fail(f"unknown intent {inside!r}", statement, attribute)
            else:
                variable.attributes.add(name)

    def _shape(self, text: str, statement: Statement) -> tuple[tuple[str, str], ...]:
        dims = []
        for part in split(text):
            pieces = split(part, ":")
            if ":" not in part:
                dims.append(("1", part))
            elif len(pieces) == 2 and pieces[1]:
                dims.append((pieces[0] or "1", pieces[1]))
            elif part == ".." or len(pieces) > 2:
                self.fail(f"a shape that is not understood: {part!r}", statement, part)
            else:
                dims.append((pieces[0], ":"))
        if not dims or ".." in text:
            self.fail("assumed rank and empty shapes have no mapping", statement, "(")
        if any(":" == upper for _, upper in dims) and not all(":" == upper for _, upper in dims):
            self.fail("a shape is assumed in all dimensions or in none", statement, "(")
        return tuple(dims)

    # Types and kinds

    def _use(self, lower: str) -> None:
        """use, intrinsic :: iso_c_binding, only: dp => c_double gives a kind another name."""
        for part in split(lower):
            name, arrow, kind = part.partition("=>")
            name = name.rpartition(":")[2].strip()
            if arrow and re.fullmatch(_NAME, name):
                self._constant(name, kind)

    def _type(self, text: str, statement: Statement) -> tuple[Type, str]:
        match = _TYPES.match(text)
        assert match is not None
        base = re.sub(r"\s+", "", match[1].lower())
        rest = text[match.end() :].lstrip()
        if base in ("doubleprecision", "doublecomplex"):
            return Type("real" if base == "doubleprecision" else "complex", 8), rest
        if rest.startswith("("):
            end = closing(rest, 0)
            if end < 0:
                self.fail("a parenthesis is not closed", statement, "(")
            inside, rest = rest[1:end].strip(), rest[end + 1 :].lstrip()
            if base in ("type", "class"):
                return Type(base, name=inside.lower()), rest
            if base == "character":
                return self._character(inside), rest
            return Type(base, self._kind(base, re.sub(r"^kind\s*=\s*", "", inside.lower()), statement)), rest
        if star := re.match(r"\*\s*(\d+|\(\s*\*\s*\))", rest):
            size = star[1].strip("() ")
            rest = rest[star.end() :].lstrip()
            if base == "character":
                return Type(base, 1, length=size), rest
            return Type(
                base, self._valid(base, int(size) // (2 if base == "complex" else 1), size, statement)
            ), rest
        return Type(base, 1 if base == "character" else 4, length="1" if base == "character" else ""), rest

    def _character(self, inside: str) -> Type:
        length = "1"
        for part in split(inside):
            name, equals, value = part.partition("=")
            if not equals:
                length = part
            elif name.strip().lower() == "len":
                length = value.strip()
        return Type("character", 1, length=length)

    def _kind(self, base: str, text: str, statement: Statement) -> int:
        value = self._number(text)
        if value is None:
            self.fail(
                f"unknown kind {text!r}: define it here, or give kinds={{{text!r}: bytes}}", statement, text
            )
        return self._valid(base, value, text, statement)

    def _valid(self, base: str, value: int, text: str, statement: Statement) -> int:
        allowed = (4, 8) if base in ("real", "complex") else (1, 2, 4, 8)
        if value not in allowed:
            self.fail(f"{base} of kind {text} has no NumPy type here", statement, text)
        return value

    def _number(self, text: str) -> int | None:
        """The value of a constant expression, as far as kinds need it."""
        text = text.strip().lower()
        if re.fullmatch(r"\d+", text):
            return int(text)
        if text in self.constants[-1]:
            return self.constants[-1][text]
        if match := re.fullmatch(r"kind\s*\((.*)\)", text):
            return 8 if re.search(r"\dd|\.\d*d|_real64|_c_double", match[1]) else 4
        if match := re.fullmatch(r"selected_real_kind\s*\((.*)\)", text):
            digits = self._number(split(match[1])[0].replace("p=", "").replace("p =", ""))
            return None if digits is None or digits > 15 else 8 if digits > 6 else 4
        if match := re.fullmatch(r"selected_int_kind\s*\((.*)\)", text):
            digits = self._number(match[1])
            return (
                None
                if digits is None
                else next((k for k, d in ((1, 2), (2, 4), (4, 9), (8, 18)) if digits <= d), None)
            )
        return None

    def _constant(self, name: str, value: str) -> None:
        number = self._number(value)
        if number is not None:
            self.constants[-1][name.lower()] = number
        else:
            self.constants[-1].pop(name.lower(), None)

    # Derived types

    def _derived(self, head: re.Match[str], module: str) -> None:
        derived = Derived(head[2], module)
        extended = head[1] is not None and "extends" in head[1]
        table: dict[str, Variable] = {}
        private = False
        while (statement := self.next()) is not None:
            lower = statement.text.lower()
            if re.match(r"end\s*type\b", lower):
                break
            private = private or (lower == "private" and not derived.methods)
            if match := re.match(r"procedure\b\s*(?:,[^:]*)?(?:::)?\s*(.*)$", statement.text, re.IGNORECASE):
                for part in split(match[1]):
                    name, _, target = part.partition("=>")
                    derived.methods.append((name.strip(), target.strip() or name.strip()))
            elif _TYPES.match(statement.text):
                self._declaration(statement, table)
            elif extended or not re.match(r"(contains|sequence|private|generic|final|public)\b", lower):
                self.fail("not understood in a derived type", statement)
        derived.components = [
            v
            for v in table.values()
            if "private" not in v.attributes and (not private or "public" in v.attributes)
        ]
        self.declared.types.append(derived)


def parse(text: str, kinds: dict[str, int], where: str = "<fortran>") -> Declared:
    """What `text` declares; CompileError, with position and caret, where it is not understood."""
    return Parser(text, kinds, where).parse()
