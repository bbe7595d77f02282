"""The arguments of library()."""

from __future__ import annotations

import dataclasses
import os
from typing import Any, Literal

from cwrapjit import _build, _cwrapjit


@dataclasses.dataclass
class Settings:
    """The arguments, after checks."""

    name: str
    path: str | os.PathLike[str] | None = None
    sources: Any = ()
    libraries: Any = ()
    header: str = ""
    include_dirs: Any = ()
    define_macros: Any = ()
    library_dirs: Any = ()
    init: str | None = None
    free: str | None = None
    gil: bool = False
    doc: str = ""
    debug: bool | Literal["left"] | None = None
    source: str | None = None
    fastmath: bool | None = None
    math: Literal["cwrapjit", "libm"] | None = None
    threads: int | str | None = None
    cast: str | None = None
    copies: str | None = None
    optimize: str | None = None
    interruptible: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise TypeError(f"library(): name must be a str, not {type(self.name).__name__}")
        who = f"library({self.name!r})"
        if not self.name.isprintable() or not {'"', "\\"}.isdisjoint(self.name):  # C reads it in #line
            raise ValueError(f'{who}: name must have neither " nor \\ nor characters that do not print')
        for option in ("header", "doc"):
            if not isinstance(text := getattr(self, option), str):
                raise TypeError(f"{who}: {option} must be a str, not {type(text).__name__}")
        if self.source is not None and not isinstance(self.source, str):
            raise TypeError(f"{who}: source must be a str, C text, not {type(self.source).__name__}")
        if self.source is not None and self.sources:
            raise ValueError(
                f"{who}: source= and sources= do not go together: #include the files in the text"
            )
        if self.debug is not None and not isinstance(self.debug, bool) and self.debug != "left":
            error = ValueError if isinstance(self.debug, str) else TypeError
            raise error(f"{who}: debug must be True, False or 'left', not {self.debug!r}")
        if not isinstance(self.interruptible, bool):
            given = type(self.interruptible).__name__
            raise TypeError(f"{who}: interruptible must be True or False, not {given}")
        # Now: what broadcasts is made later.
        _cwrapjit.check_loops(
            who, self.fastmath, self.math, self.threads, self.cast, self.copies, self.optimize
        )
        for option in self.loops if self.source is None else ():
            raise ValueError(f"{who}: {option}= goes with source=, whose functions broadcast")
        self.debug = _cwrapjit.config.debug if self.debug is None else self.debug
        self.define_macros = _build.macros(self.define_macros, f"{who}: define_macros")

    @property
    def loops(self) -> dict[str, Any]:
        """Options of function() for what broadcasts."""
        options = ("fastmath", "math", "threads", "cast", "copies", "optimize")
        return {name: value for name in options if (value := getattr(self, name)) is not None}

    @property
    def has_sources(self) -> bool:
        return bool(self.sources) or self.source is not None

    @property
    def as_libtcc(self) -> bool:
        """True if libtcc compiles all that is declared: there is no file of another compiler."""
        return self.has_sources or not self.linked

    @property
    def linked(self) -> Any:
        """Returns the libraries and path=."""
        if self.path is None or not (self.libraries is None or isinstance(self.libraries, (tuple, list))):
            return self.libraries
        return [self.path, *(self.libraries or ())]

    @property
    def build(self) -> dict[str, Any]:
        """Returns the options of function() for C text with the same includes and libraries."""
        return {
            "libraries": self.linked, "library_dirs": self.library_dirs, "include_dirs": self.include_dirs,
            "define_macros": self.define_macros,
        }  # fmt: skip

    def environment(self, text: str | None = None, given: str = "") -> object:
        """Makes an environment for C text. text: that of source=, for libtcc; given: as the user wrote it."""
        return _cwrapjit.library_environment(
            self.name, self.sources, self.linked, self.include_dirs, self.define_macros, self.library_dirs,
            self.header, self.debug or False, text, given, self.math, self.interruptible,
        )  # fmt: skip
