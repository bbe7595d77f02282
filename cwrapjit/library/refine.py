"""lib.refine(): options of function() for all functions of a pattern, looked up when one is mapped.

Later calls override earlier ones, parameter by parameter: dicts are joined by their keys, lists of names too.
A name stays in one of out= and inout= (keyword_only=, positional_only=): where it was named last. An empty
list or None takes back. function() and the options of declare() come last. Contradictory options of the same
pattern are an error, unless replace=True is given.

A pattern with wildcards stands for many functions: it ignores parameters that a function does not have, or
has with another type. A plain name stands for one function, which must fit.
"""

from __future__ import annotations

import dataclasses
import fnmatch
import re
from collections.abc import Mapping
from typing import Any

from cwrapjit._options import check
from cwrapjit.library import types
from cwrapjit.library.declarations import FunctionDeclaration
from cwrapjit.library.options import (
    BY_NAME,
    NAMES,
    OPTIONS,
    as_names,
    by_name,
    names_a_parameter,
    names_of,
)  # fmt: skip

_RIVALS = {
    "out": "inout", "inout": "out", "keyword_only": "positional_only", "positional_only": "keyword_only",
}  # fmt: skip


def parameter_names(found: FunctionDeclaration) -> list[str]:
    """Returns the names of a function's parameters: C's, or argN."""
    return [each.name or f"arg{k + 1}" for k, each in enumerate(found.parameters)]


@dataclasses.dataclass
class Refinement:
    """One call of refine()."""

    pattern: str
    options: dict[str, Any]

    def __post_init__(self) -> None:
        self.matches = re.compile(fnmatch.translate(self.pattern)).match
        self.is_plain = not any(each in self.pattern for each in "*?[")

    def __str__(self) -> str:
        said = ", ".join(f"{option}={value!r}" for option, value in self.options.items())
        return f"refine({self.pattern!r}, {said})"


class Refinements:
    """The refinements of one library."""

    def __init__(self, library: str) -> None:
        self.who = f"{library}.refine()"
        self.all: list[Refinement] = []

    def add(self, pattern: object, options: Mapping[str, Any], replace: bool) -> Refinement:
        """Adds a refinement. Raises an error if it makes no sense, or contradicts one of this pattern."""
        if not isinstance(pattern, str):
            raise TypeError(f"{self.who}: the pattern must be a str, not {type(pattern).__name__}")
        if not pattern:
            raise ValueError(f"{self.who}: the pattern must name a C function, or many: '' names none")
        _check_options(self.who, options)
        made = Refinement(pattern, {option: _read(self.who, option, options[option]) for option in options})
        before = [each for each in self.all if each.pattern == pattern]
        if replace:
            self.all = [each for each in self.all if each.pattern != pattern]
        else:
            for each in before:
                self._check_same(each, made)
        self.all.append(made)
        return made

    def _check_same(self, before: Refinement, now: Refinement) -> None:
        for option, value in now.options.items():
            said = before.options.get(option)
            slip = ""
            if option in NAMES:
                both = set(value) & set(before.options.get(_RIVALS.get(option, ""), ()))
                slip = min(both, default="")
            elif isinstance(value, dict) and isinstance(said, dict):
                differing = [name for name in value if name in said and said[name] != value[name]]
                slip = differing[0] if differing else ""
            elif option in before.options and value is not None and said is not None and said != value:
                slip = f"{option}="
            if slip:
                raise ValueError(
                    f"{self.who}: what is said of {slip} differs: it was {before}, and is now {now}; "
                    "replace=True takes the place of all that was said of this pattern"
                )

    def of(self, found: FunctionDeclaration, own: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the options of a function: its own override those of refinements."""
        said = [each for each in self.all if each.matches(found.name)]
        if not said:
            return dict(own)
        made: dict[str, Any] = {}
        for each in said:
            _join(made, each.options if each.is_plain else _fitting(each.options, found))
        _join(made, {option: _read(self.who, option, own[option]) for option in own})
        return {option: value for option, value in made.items() if value is not None}


def _check_options(who: str, options: Mapping[str, Any]) -> None:
    known = [name for name in OPTIONS if name != "name"]
    if not options:
        raise TypeError(f"{who}: there is no option; they are: {', '.join(known)}")
    if "name" in options:
        raise TypeError(
            f"{who}: name= goes with one function: function(..., name=), or strip_prefix= of declare()"
        )
    check(who, options, [*known, "replace"])


def _read(who: str, option: str, value: Any) -> Any:
    """Gives an option its uniform form."""
    if option in NAMES and not isinstance(value, bool):
        return as_names(who, option, value)
    if option in BY_NAME and value is not None:
        return by_name(who, option, value)
    if option == "encoding" and value is None:
        return "bytes"  # None would take back
    return dict(value) if isinstance(value, Mapping) else value


def _join(made: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Adds later options."""
    for option, value in more.items():
        before = made.get(option)
        if isinstance(value, tuple) and option in NAMES and value:
            rival = made.get(_RIVALS.get(option, ""))
            if isinstance(rival, tuple):
                made[_RIVALS[option]] = tuple(name for name in rival if name not in value)
            names = before if isinstance(before, tuple) else ()
            made[option] = (*names, *(name for name in value if name not in names))
        elif isinstance(value, dict) and isinstance(before, dict) and value and option != "check":
            made[option] = {**before, **value}
        else:
            made[option] = value


def _fitting(options: Mapping[str, Any], found: FunctionDeclaration) -> dict[str, Any]:
    """Returns those options of a pattern with wildcards that apply to this function."""
    if "varargs" in options:  # for variadic functions; it declares the parameters that they name
        return dict(options) if found.variadic else {}
    parameters = dict(zip(parameter_names(found), [each.type for each in found.parameters], strict=True))
    named = {**parameters, "return": found.result}
    made: dict[str, Any] = {}
    for option, value in options.items():
        fitting = value
        if option in NAMES and isinstance(value, tuple):
            known = named if option == "discard" else parameters
            fitting = tuple(
                each for each in value if each in known and _may_be(option, known[each], each == "return")
            )
        elif isinstance(value, Mapping) and option in ("container", "encoding", "order", "unsafe", *BY_NAME):
            known = named if option == "encoding" else parameters
            kept = {name: each for name, each in value.items() if name in known}
            fitting = {n: each for n, each in kept.items() if _fits(option, known[n], each, parameters)}
        elif option == "unsafe" and not isinstance(value, bool):
            fitting = tuple(each for each in names_of(value) if each in parameters)
        elif value is not None and option in _ABOUT and not _ABOUT[option](value, found, parameters):
            continue
        if fitting or not value:  # empty values take back, so they stay
            made[option] = fitting
    return made


def _may_be(option: str, ctype: Any, is_result: bool) -> bool:
    """True if the option can name a parameter of this type."""
    if is_result:
        return not isinstance(ctype, types.Void)
    if option in ("out", "inout", "discard"):
        return isinstance(ctype, (types.Pointer, types.Array)) and not ctype.const
    return option != "optional" or isinstance(ctype, (types.Pointer, types.Array))


def _fits(option: str, ctype: Any, value: Any, parameters: Mapping[str, Any]) -> bool:
    if option == "dims":
        return isinstance(ctype, (types.Pointer, types.Array))
    if option == "strides":
        return next(iter(names_of(value)), None) in parameters
    if option == "hidden" and value is None:
        return isinstance(ctype, (types.Pointer, types.Array, types.Callable))
    return option != "hidden" or _is_integer(ctype)


def _is_integer(ctype: Any) -> bool:
    return isinstance(ctype, types.Scalar) and ctype.is_integer


def _has_status(check: Any, found: FunctionDeclaration, parameters: Mapping[str, Any]) -> bool:
    """True if check= finds a status: a pointer to an integer of that name, or a returned int (of 32 bits:
    LAPACKE's statuses are int32_t). errno may come with other signed integers, too."""
    if names_a_parameter(check):
        pointers = [each for each in map(parameters.get, check) if isinstance(each, types.Pointer)]
        filled = [each for each in pointers if not each.const and _is_integer(each.target)]
        return len(filled) == len(check)
    if isinstance(check, type) and issubclass(check, OSError):
        return _is_integer(found.result) and found.result.is_signed
    return isinstance(found.result, types.Scalar) and found.result.dtype in ("intc", "int32")


def _may_keep(keeps: Any, found: FunctionDeclaration, parameters: Mapping[str, Any]) -> bool:
    """True if the function has all parameters that are named."""
    if isinstance(keeps, Mapping):
        named = [*keeps, *(name for names in keeps.values() for name in names_of(names))]
    else:
        named = list(names_of(keeps))
    return all(name in parameters or name == "return" for name in named)


def _may_return(returns: Any, found: FunctionDeclaration, parameters: Mapping[str, Any]) -> bool:
    if isinstance(returns, Mapping):
        return all(name in parameters or name in ("return", found.name) for name in returns)
    return isinstance(found.result, types.Pointer)


_ABOUT = {"check": _has_status, "keeps": _may_keep, "returns": _may_return}
