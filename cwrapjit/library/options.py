"""The options of function(): they say what C's declaration does not."""

from __future__ import annotations

import codecs
import dataclasses
from collections.abc import Collection, Mapping
from typing import Any

_ASCII = "".join(map(chr, range(128)))
NAMES = ("out", "inout", "optional", "keyword_only", "positional_only", "discard")  # of parameters
BY_NAME = ("defaults", "dims", "strides", "hidden", "rename", "prototype")  # dicts by parameter
_CONTAINERS = {"tuple": tuple, "list": list, "set": set}


@dataclasses.dataclass
class Options:
    """The options as given; read() makes them uniform."""

    name: str | None = None
    doc: str | None = None
    out: Any = ()
    inout: Any = ()
    optional: Any = ()
    defaults: Any = None
    dims: Any = None
    order: Any = "C"
    strides: Any = None
    hidden: Any = None
    returns: Any = None
    keyword_only: Any = ()
    positional_only: Any = ()
    check: Any = None
    discard: Any = ()
    keeps: Any = ()
    gil: bool = False
    overlap: str = ""
    stable: bool = False
    unsafe: Any = False
    container: Any = None
    rename: Any = None
    broadcast: bool = False
    prototype: Any = None
    encoding: Any = ""  # of texts: a codec, "fs", "bytes" or None for bytes; by parameter, or one for all
    varargs: Any = None
    texts: frozenset[str] = dataclasses.field(default=frozenset(), init=False)  # that encoding= names
    all_containers: bool = dataclasses.field(default=True, init=False)
    qualname: str = dataclasses.field(default="", init=False)  # a method's: "gsl.rng.get"
    replaces: bool = dataclasses.field(default=False, init=False)  # what keeps= names: a property's setter

    def read(self, who: str, parameters: Collection[str]) -> None:
        """Checks types, and that every name is a parameter. Single names become tuples."""
        for each in ("name", "doc"):
            value = getattr(self, each)
            if value is not None and not isinstance(value, str):
                raise TypeError(f"{who}: {each} must be a str, not {type(value).__name__}")
        if self.name is not None and not self.name.isidentifier():
            raise ValueError(f"{who}: name={self.name!r} is no name in Python")
        for each in (*NAMES, "unsafe"):
            known = [*parameters, "return"] if each == "discard" else parameters
            setattr(self, each, self._names(who, each, getattr(self, each), known))
        for each in BY_NAME:
            given = getattr(self, each)
            setattr(self, each, {} if given is None else by_name(who, each, given))
            for name in getattr(self, each):
                _known(who, each, name, parameters)
        self.dims |= self.prototype
        if self.overlap not in ("", "allow"):
            raise ValueError(f'{who}: overlap must be "allow", not {self.overlap!r}')
        self._read_encodings(who, parameters)
        self._read_orders(who, parameters)
        self._read_containers(who, parameters)
        for one, other in (("out", "inout"), ("keyword_only", "positional_only")):
            if both := set(getattr(self, one)) & set(getattr(self, other)):
                raise ValueError(f"{who}: {min(both)} is in {one}= and in {other}=")

    def _names(self, who: str, option: str, value: Any, parameters: Collection[str]) -> tuple[str, ...]:
        if isinstance(value, bool):
            return tuple(parameters) if value else ()
        names = as_names(who, option, value)
        for name in names:
            _known(who, option, name, parameters)
        return names

    def _of_each(self, who: str, option: str, parameters: Collection[str]) -> dict[str, Any]:
        """Returns an option by parameter; it may be a dict, or the same for all."""
        given = getattr(self, option)
        made = dict(given) if isinstance(given, Mapping) else dict.fromkeys(parameters, given)
        for name in made:
            _known(who, option, name, parameters)
        return made

    def _read_encodings(self, who: str, parameters: Collection[str]) -> None:
        self.texts = frozenset(self.encoding if isinstance(self.encoding, Mapping) else ())
        found = {} if self.encoding == "" else self._of_each(who, "encoding", [*parameters, "return"])
        self.encoding = {name: encoding_of(who, each) for name, each in found.items()}

    def _read_orders(self, who: str, parameters: Collection[str]) -> None:
        self.order = self._of_each(who, "order", parameters)
        for order in self.order.values():
            if order not in ("C", "F"):
                raise ValueError(f"{who}: order must be 'C' or 'F', not {order!r}")

    def _read_containers(self, who: str, parameters: Collection[str]) -> None:
        # Parameters that cannot be containers are left as they are.
        self.all_containers = not isinstance(self.container, Mapping)
        found = {} if self.container is None else self._of_each(who, "container", parameters)
        for name, container in found.items():
            kind = _CONTAINERS.get(container, container) if isinstance(container, str) else container
            if kind not in (tuple, list, set):
                raise ValueError(f"{who}: container must be tuple, list or set, not {container!r}")
            found[name] = kind
        self.container = found


# The options that users can give.
OPTIONS = tuple(name for name, each in Options.__dataclass_fields__.items() if each.init)


def as_names(who: str, option: str, value: Any) -> tuple[str, ...]:
    """Returns a tuple of names. They are checked later, for each function."""
    names = () if value is None else (value,) if isinstance(value, str) else value
    if not isinstance(names, (tuple, list, set, frozenset)) or not all(isinstance(n, str) for n in names):
        raise TypeError(f"{who}: {option} must be the name of a parameter or a tuple of names, not {value!r}")
    return tuple(names)


def by_name(who: str, option: str, value: Any) -> dict[str, Any]:
    """Returns a copy of a dict."""
    if not isinstance(value, Mapping):
        raise TypeError(f"{who}: {option} must be a dict by names of parameters, not {type(value).__name__}")
    return dict(value)


def encoding_of(who: str, given: Any) -> str:
    """Returns the codec of encoding=. It must keep ASCII as it is, because C's texts end at a NUL."""
    if given is None or given in ("bytes", "fs"):
        return given or "bytes"
    if not isinstance(given, str):
        raise TypeError(f"{who}: encoding must be the name of one, or None, not {type(given).__name__}")
    try:
        name, fits = codecs.lookup(given).name, _ASCII.encode(given) == _ASCII.encode()
    except (LookupError, UnicodeError, ValueError):  # unknown, not for texts, or not for these
        fits = False
    if not fits:
        raise ValueError(
            f"{who}: encoding={given!r} is no codec that leaves ASCII as it is: texts of C end at a NUL; "
            "others are arrays of bytes, as in const unsigned char text[n]"
        )
    return "" if name == "utf-8" else name


def names_of(given: Any) -> tuple[str, ...]:
    """Returns a tuple of one name, several or none."""
    return (given,) if isinstance(given, str) else tuple(given or ())


def names_a_parameter(check: Any) -> bool:
    """True if check= is about a status behind a pointer: {"info": ...}, not {1: ...}."""
    return isinstance(check, Mapping) and any(isinstance(key, str) and key != "negative" for key in check)


def _known(who: str, option: str, name: object, parameters: Collection[str]) -> None:
    if name not in parameters:
        shown = ", ".join(parameters) or "none"
        raise ValueError(f"{who}: {option} names {name!r}, which is no parameter; they are: {shown}")
