"""Parameters of ops as one C struct, with a field for each parameter, each of its own type."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from cwrapjit._cwrapjit import declared_names
from cwrapjit._words import KEYWORDS
from cwrapjit.graph.base import BuiltIn, Named
from cwrapjit.graph.enums import EnumType
from cwrapjit.graph.parties import Party
from cwrapjit.graph.words import ask_words

_FIELD = re.compile(r"[A-Za-z_]\w*")


class Params(Named, Mapping[str, Any]):
    """The values of a ParamsType: read-only attributes, compared by their types.

    >>> import cwrapjit.graph as cg
    >>> cg.Params(cg.ParamsType(a=cg.float64), a=2.5)
    Params(a=2.5)

    params_type: the type.
    values: one value for each of its fields, which nothing converts; ParamsType.get_params() does.

    Raises TypeError for a missing value."""

    _type: ParamsType
    _values: dict[str, Any]

    def __init__(self, params_type: ParamsType, **values: Any) -> None:
        if not isinstance(params_type, ParamsType):
            raise TypeError(f"Params: wanted a ParamsType, got {type(params_type).__name__}")
        missing = [name for name in params_type.fields if name not in values]
        if missing:
            raise TypeError(f"Params: no value for {', '.join(missing)}")
        object.__setattr__(self, "_type", params_type)
        object.__setattr__(self, "_values", {name: values[name] for name in params_type.fields})

    @property
    def params_type(self) -> ParamsType:
        """The type of these values."""
        return self._type

    def __getattr__(self, name: str) -> Any:
        values = self.__dict__.get("_values", {})
        if name in values:
            return values[name]
        raise AttributeError(f"Params: there is no parameter {name!r}; there are {', '.join(values)}")

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"Params: {name} cannot be changed")

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Params)
            and self._type == other._type
            and all(_equal(type, self[name], other[name]) for name, type in self._type.fields.items())
        )

    def __hash__(self) -> int:
        return hash((self._type, tuple(map(_hashable, self._values.values()))))

    def __reduce__(self) -> Any:
        return _make_params, (self._type, self._values)

    def __repr__(self) -> str:
        return f"Params({', '.join(f'{name}={value!r}' for name, value in self._values.items())})"


def _make_params(params_type: ParamsType, values: dict[str, Any]) -> Params:
    return Params(params_type, **values)


def _equal(type: Any, a: Any, b: Any) -> bool:
    compare = getattr(type, "values_eq", None)
    return bool(a == b) if compare is None else bool(compare(a, b))


def _hashable(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype.str, value.tobytes()
    return value


def _from_fields(method: str, *more: str) -> Callable[..., list[str]]:
    """Return a method that collects the answers of the fields' types, each once."""

    def said(self: Any, c_compiler: Any = None) -> list[str]:
        parties = [Party(type, name, False, {}, name) for name, type in self.fields.items()]
        texts = [text for party in parties for text in ask_words(party, method, "tcc")]
        return list(filter(None, dict.fromkeys([*more, *texts])))

    return said


class ParamsType(BuiltIn):
    """ParamsType(a=float64, w=ndarray("float64", 1)): in C, NAME points to a struct with members a and w.

    >>> import cwrapjit.graph as cg
    >>> cg.ParamsType(a=cg.float64).get_params(a=2)
    Params(a=2.0)

    fields: a type by name. It can have any type that declares C variables; these become members, named after
    the field.

    In an op with params_type, sub["params"] is NAME: "%(params)s->a". The values are attributes of the op.
    Raises ValueError without fields, AttributeError for a name that no member can have, TypeError for what is
    no type."""

    fields: dict[str, Any]

    def __init__(self, **fields: Any) -> None:
        if not fields:
            raise ValueError("ParamsType: there are no fields")
        for name, type in fields.items():
            if not _FIELD.fullmatch(name) or name in KEYWORDS or name in ("self_", "filled_"):
                raise AttributeError(f"ParamsType: {name!r} cannot be the name of a C struct's member")
            if not hasattr(type, "c_declare"):
                raise TypeError(f"ParamsType: field {name}: wanted a type, got {type!r}")
        self.fields = dict(sorted(fields.items()))
        texts = [self._text(f, name) for name in self.fields for f in ("c_declare", "c_extract", "c_cleanup")]
        text = repr((list(self.fields), texts))
        self.struct = f"params_{hashlib.sha256(text.encode()).hexdigest()[:12]}"
        self.ctype = f"struct {self.struct} *"

    # ---- Python's side

    def __getattr__(self, name: str) -> Any:
        for type in self._enums():
            if name in type:
                return type[name]
        raise AttributeError(
            f"ParamsType has no attribute {name!r}, and none of its enumerations such a constant"
        )

    def _enums(self) -> list[Any]:
        return [type for type in self.__dict__.get("fields", {}).values() if isinstance(type, EnumType)]

    def get_enum(self, name: str) -> Any:
        """Returns the value of a constant of the fields' enumerations. Raises AttributeError.

        name: the constant's name."""
        return getattr(self, name)

    def enum_from_alias(self, alias: str) -> Any:
        """Returns the value of a constant of the fields' enumerations. Raises AttributeError.

        alias: the constant's alias, or else its name."""
        for type in self._enums():
            if type.has_alias(alias):
                return type.fromalias(alias)
        return getattr(self, alias)

    def get_params(self, *objects: Any, **values: Any) -> Params:
        """Returns Params. Each type filters its value.

        objects: the first that has an attribute of a field's name gives its value.
        values: values by name.

        Raises AttributeError for a field without a value, and what filter() of its type raises."""
        return Params(self, **{
            name: type.filter(self._find(name, objects, values), strict=False, allow_downcast=None)
            for name, type in self.fields.items()
        })  # fmt: skip

    @staticmethod
    def _find(name: str, objects: tuple[Any, ...], values: dict[str, Any]) -> Any:
        if name in values:
            return values[name]
        for each in objects:
            if hasattr(each, name):
                return getattr(each, name)
        who = ", ".join(type(each).__name__ for each in objects) or "the keywords"
        raise AttributeError(f"ParamsType.get_params(): no attribute {name!r} in {who}")

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        """Filters every field by its type. strict: the value must be Params already."""
        if strict and not isinstance(value, Params):
            raise TypeError(f"ParamsType.filter(): wanted Params, got {type(value).__name__} (strict)")
        found = {name: self._find(name, (value,), {}) for name in self.fields}
        return Params(self, **{
            name: type.filter(found[name], strict=strict, allow_downcast=allow_downcast)
            for name, type in self.fields.items()
        })  # fmt: skip

    def values_eq(self, a: Any, b: Any) -> bool:
        return all(_equal(type, getattr(a, name), getattr(b, name)) for name, type in self.fields.items())

    def values_eq_approx(self, a: Any, b: Any, *args: Any, **kwargs: Any) -> bool:
        return all(
            type.values_eq_approx(getattr(a, name), getattr(b, name), *args, **kwargs)
            for name, type in self.fields.items()
        )

    # C's side: a struct, and functions that fill and empty its fields

    def _text(self, method: str, field: str) -> str:
        return str(getattr(self.fields[field], method)(field, _SUB))

    def _field_functions(self, field: str) -> str:
        """The type's texts treat the field as a variable; macros map these names to members."""
        who = f"<ParamsType c_declare of {field}>"
        members = declared_names(who, self._text("c_declare", field), field)
        return "\n".join(
            [
                *(f"#define {member} (self_->{member})" for member in members),
                f"static int {self.struct}_fill_{field}(struct {self.struct} *self_, PyObject *py_{field})",
                "{",
                self._text("c_extract", field),
                "    return PyErr_Occurred() != NULL ? -1 : 0;",
                "}",
                f"static void {self.struct}_empty_{field}(struct {self.struct} *self_)",
                "{",
                self._text("c_cleanup", field),
                "}",
                *(f"#undef {member}" for member in members),
            ]
        )

    def _fill_function(self) -> str:
        lines = [f"static int {self.struct}_fill(struct {self.struct} *self_, PyObject *params_)", "{"]
        for count, field in enumerate(self.fields, 1):
            lines += [
                "    {",
                f'        PyObject *value_ = PyObject_GetAttrString(params_, "{field}");',
                "        if (value_ == NULL) return -1;",
                f"        self_->filled_ = {count};",
                f"        int failed_ = {self.struct}_fill_{field}(self_, value_);",
                "        Py_DECREF(value_);",
                "        if (failed_) return -1;",
                "    }",
            ]
        return "\n".join([*lines, "    return 0;", "}"])

    def _empty_function(self) -> str:
        """Returns the function that empties the fields that were begun, the last one first."""
        fields = reversed(list(enumerate(self.fields, 1)))
        return "\n".join(
            [
                f"static void {self.struct}_empty(struct {self.struct} *self_)",
                "{",
                *(
                    f"    if (self_->filled_ >= {k}) {self.struct}_empty_{field}(self_);"
                    for k, field in fields
                ),
                "    free(self_);",
                "}",
            ]
        )

    def _own_support_code(self) -> str:
        members = "\n".join(f"    {self._text('c_declare', field)}" for field in self.fields)
        struct = f"struct {self.struct} {{\n{members}\n    int filled_;\n}};"
        functions = [self._field_functions(field) for field in self.fields]
        return "\n".join([struct, *functions, self._fill_function(), self._empty_function()])

    def c_is_simple(self) -> bool:
        return False

    c_headers = _from_fields("c_headers", "<Python.h>")
    c_libraries = _from_fields("c_libraries")
    c_header_dirs = _from_fields("c_header_dirs")
    c_lib_dirs = _from_fields("c_lib_dirs")
    c_compile_args = _from_fields("c_compile_args")
    c_no_compile_args = _from_fields("c_no_compile_args")
    c_init_code = _from_fields("c_init_code")

    def c_support_code(self) -> list[str]:
        return [*_from_fields("c_support_code")(self), self._own_support_code()]

    def c_code_cache_version(self) -> tuple[Any, ...]:
        versions = tuple(type.c_code_cache_version() for type in self.fields.values())
        return (1, versions) if all(versions) else ()

    def c_extract(self, name: str, sub: dict[str, str], check_input: bool = True) -> str:
        return (
            f"{name} = (struct {self.struct} *)calloc(1, sizeof *{name});\n"
            f"if ({name} == NULL) {{\nPyErr_NoMemory();\n{sub['fail']}\n}}\n"
            f"if ({self.struct}_fill({name}, py_{name}) < 0) {sub['fail']}"
        )

    def c_sync(self, name: str, sub: dict[str, str]) -> str:
        raise NotImplementedError("ParamsType: parameters cannot be the output of a graph")

    def c_cleanup(self, name: str, sub: dict[str, str]) -> str:
        return f"if ({name} != NULL) {self.struct}_empty({name});"

    # ---- identity

    def _key(self) -> tuple[Any, ...]:
        return tuple(self.fields.items())

    def __reduce__(self) -> Any:
        return _make_type, (self.fields,)

    def __str__(self) -> str:
        return f"ParamsType({', '.join(f'{name}={type}' for name, type in self.fields.items())})"


_SUB = {"fail": "{return -1;}"}  # how these functions fail


def _make_type(fields: dict[str, Any]) -> ParamsType:
    return ParamsType(**fields)
