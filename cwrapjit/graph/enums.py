"""Named constants as parameters of ops: macros in C, attributes in Python."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from cwrapjit.graph.base import BuiltIn

_NAME = re.compile(r"[A-Z][A-Z0-9_]*")
_WORDS = re.compile(r"[A-Za-z_]\w*( [A-Za-z_]\w*)*")


class EnumType(BuiltIn, Mapping[str, Any]):
    """EnumType(LOW=0, HIGH=("high", 2), ctype="int"): constants, some with an alias.

    >>> import cwrapjit.graph as cg
    >>> level = cg.EnumType(LOW=0, HIGH=("high", 2), ctype="int")
    >>> level.HIGH, level.fromalias("high")
    (2, 2)

    ctype: the C type of a variable of this type; in Python it has a constant's value.
    cname: the type's name in names of C, by default ctype with "_" for blanks.
    constants: a number, or a pair (alias, number), by name. Names consist of capital letters, digits and
    underscores. They are macros in C and attributes here.

    Raises TypeError for values and C types, AttributeError for names."""

    _values: dict[str, Any]
    aliases: dict[str, str]

    def __init__(self, *, ctype: str = "double", cname: str | None = None, **constants: Any) -> None:
        who = type(self).__name__
        words = " ".join(ctype.split())
        if not _WORDS.fullmatch(words):
            raise TypeError(f"{who}: invalid C type {ctype!r}")
        self.ctype = words
        self.cname = words.replace(" ", "_") if cname is None else cname
        if not re.fullmatch(r"[A-Za-z_]\w*", self.cname):
            raise TypeError(f"{who}: invalid C name {cname!r}")
        self.aliases = {}
        values: dict[str, Any] = {}
        for name, given in constants.items():
            values[name] = self._constant(name, given)
        for alias in self.aliases:
            if alias in values:
                raise TypeError(f"{who}: {alias!r} is an alias and a constant")
        self._values = values

    def _constant(self, name: str, given: Any) -> int | float:
        who = type(self).__name__
        if not _NAME.fullmatch(name):
            raise AttributeError(
                f"{who}: {name!r}: a constant's name has capital letters, digits and underscores"
            )
        value = given
        if isinstance(given, (tuple, list)):
            if len(given) != 2:
                raise TypeError(
                    f"{who}: {name}: wanted a number, or a pair of alias and number, got {given!r}"
                )
            alias, value = given
            self._add_alias(alias, name)
        if not isinstance(value, (bool, int, float)):
            raise TypeError(f"{who}: {name}: wanted a number, got {type(value).__name__}")
        return int(value) if isinstance(value, bool) else value

    def _add_alias(self, alias: Any, name: str) -> None:
        who = type(self).__name__
        if not isinstance(alias, str):
            raise TypeError(f"{who}: {name}: an alias must be a str, not {type(alias).__name__}")
        if alias == name or alias in self.aliases:
            raise TypeError(f"{who}: {name}: the alias {alias!r} is taken")
        self.aliases[alias] = name

    # ---- constants

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __getattr__(self, name: str) -> Any:
        values = self.__dict__.get("_values", {})
        if name in values:
            return values[name]
        raise AttributeError(f"{type(self).__name__} has no constant and no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__.get("_values", {}):
            raise AttributeError(f"{type(self).__name__}: the constant {name} cannot be changed")
        super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._values]

    def fromalias(self, alias: str) -> Any:
        """Returns the value of a constant. Raises KeyError.

        alias: the constant's alias, or else its name."""
        return self[self.aliases.get(alias, alias)]

    def has_alias(self, alias: str) -> bool:
        """True if there is such an alias.

        alias: the alias."""
        return alias in self.aliases

    def get_aliases(self) -> tuple[str, ...]:
        """Returns all aliases, sorted."""
        return tuple(sorted(self.aliases))

    # ---- values

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        """Returns the value if it is a constant's; unless strict, also accepts an alias or a name. Raises
        ValueError or TypeError."""
        if isinstance(value, str) and not strict:
            if value not in self.aliases and value not in self._values:
                raise ValueError(f"{self}.filter(): there is no constant and no alias {value!r}")
            return self.fromalias(value)
        if isinstance(value, bool):
            value = int(value)
        if not isinstance(value, (int, float)):
            raise TypeError(f"{self}.filter(): wanted a number, got {type(value).__name__}")
        if value not in self._values.values():
            raise ValueError(f"{self}.filter(): no constant is {value!r}")
        return value

    # ---- C's side

    def c_support_code(self) -> str:
        return "\n".join(f"#define {name} ({value!r})" for name, value in self._values.items())

    def c_init(self, name: str, sub: dict[str, str]) -> str:
        return f"{name} = ({self.ctype})0;"

    def c_extract(self, name: str, sub: dict[str, str], check_input: bool = True) -> str:
        return (
            f"{name} = PyLong_Check(py_{name}) ? ({self.ctype})PyLong_AsLongLong(py_{name})\n"
            f"    : ({self.ctype})PyFloat_AsDouble(py_{name});\nif (PyErr_Occurred()) {sub['fail']}\n"
            f"if (PyLong_Check(py_{name}) ? (long long){name} != PyLong_AsLongLong(py_{name})\n"
            f"    : ({self.ctype})0.5 == 0 && (double){name} != PyFloat_AsDouble(py_{name})) {{\n"
            f'PyErr_Format(PyExc_OverflowError, "EnumType: %R is no {self.ctype}", py_{name});\n'
            f"{sub['fail']}\n}}"
        )

    def c_sync(self, name: str, sub: dict[str, str]) -> str:
        whole = all(isinstance(value, int) for value in self._values.values())
        make = f"PyLong_FromLongLong((long long){name})" if whole else f"PyFloat_FromDouble((double){name})"
        return f"Py_XDECREF(py_{name});\npy_{name} = {make};\nif (!py_{name}) {sub['fail']}"

    def c_code_cache_version(self) -> tuple[Any, ...]:
        return (2, *self._key())

    # ---- identity

    def _key(self) -> tuple[Any, ...]:
        return self.ctype, self.cname, tuple(self._values.items()), tuple(sorted(self.aliases.items()))

    def __reduce__(self) -> Any:
        return _restore, (type(self), self.ctype, self.cname, dict(self._values), dict(self.aliases))

    def __str__(self) -> str:
        aliases = {name: f"({alias})" for alias, name in self.aliases.items()}
        listed = ", ".join(f"{name}{aliases.get(name, '')}={value}" for name, value in self._values.items())
        return f"{type(self).__name__}<{self.ctype}>({listed})"


def _restore(
    cls: type[EnumType], ctype: str, cname: str, values: dict[str, Any], aliases: dict[str, str]
) -> EnumType:
    made = cls.__new__(cls)
    EnumType.__init__(made, ctype=ctype, cname=cname, **values)
    made.aliases.update(aliases)
    return made


class EnumList(EnumType):
    """EnumList("A", ("B", "beta"), ctype="int"): constants 0, 1, 2, ... in that order.

    >>> import cwrapjit.graph as cg
    >>> cg.EnumList("A", ("B", "beta")).B
    1

    names: names, or pairs (name, alias).
    ctype, cname: as for EnumType, but "int" by default.

    Raises as EnumType does."""

    def __init__(self, *names: Any, ctype: str = "int", cname: str | None = None) -> None:
        who = type(self).__name__
        constants: dict[str, Any] = {}
        for value, given in enumerate(names):
            pair = given if isinstance(given, (tuple, list)) else (given,)
            if len(pair) not in (1, 2) or not isinstance(pair[0], str):
                raise TypeError(f"{who}: wanted a name, or a pair of name and alias, got {given!r}")
            if pair[0] in constants:
                raise AttributeError(f"{who}: {pair[0]!r} is there twice")
            constants[pair[0]] = (pair[1], value) if len(pair) == 2 else value
        super().__init__(ctype=ctype, cname=cname, **constants)


class CEnumType(EnumList):
    """An EnumList whose C values come from a header: no macros are defined. The op that uses the type
    includes the header.

    >>> import cwrapjit.graph as cg
    >>> cg.CEnumType("EDOM", "ERANGE").ERANGE  # in Python; errno.h has another number
    1

    names, ctype, cname: as for EnumList.

    Raises as EnumType does."""

    def c_support_code(self) -> str:
        return ""

    def c_extract(self, name: str, sub: dict[str, str], check_input: bool = True) -> str:
        cases = "\n".join(
            f"case {value}: {name} = {constant}; break;" for constant, value in self._values.items()
        )
        return (
            f"switch (PyLong_AsLong(py_{name})) {{\n{cases}\ndefault:\n"
            "if (!PyErr_Occurred())\n"
            f'PyErr_SetString(PyExc_ValueError, "{type(self).__name__}: no such constant");\n'
            f"{sub['fail']}\n}}"
        )

    def c_sync(self, name: str, sub: dict[str, str]) -> str:
        found = "\n".join(f"{name} == {constant} ? {value} :" for constant, value in self._values.items())
        make = f"py_{name} = PyLong_FromLong(\n{found}\n-1);"
        return f"Py_XDECREF(py_{name});\n{make}\nif (!py_{name}) {sub['fail']}"
