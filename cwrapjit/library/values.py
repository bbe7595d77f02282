"""Computes the values of a library's enumerators and macros."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from cwrapjit.library import constants
from cwrapjit.library.declarations import Declarations

_WORD = re.compile(r"[A-Za-z_]\w*")


class Values:
    """Values that the text says, and those that C computes. ask: makes the macros.Macro of a macro;
    is_attribute: tells whether a function or a variable has a name."""

    def __init__(
        self, known: Declarations, ask: Callable[[str, Any], Any], is_attribute: Callable[[str], bool]
    ) -> None:
        self.known, self._ask, self._is_attribute = known, ask, is_attribute
        self.live: set[str] = set()  # macros that are read each time
        self.texts = 0  # number of texts read: C may know more after each
        self._simple: dict[str, Any] = {}
        self._asked: dict[str, Any] = {}  # macros whose values only C knows

    def of(self, name: str) -> int | float | str | None:
        """Returns the value of an enumerator or of a simple macro; None: there is none."""
        enumerators = self.known.all_enumerators()
        preprocessor = self.known.preprocessor
        macro = preprocessor.macros.get(name)
        if macro is None:
            self.known.fetch([name])
        if macro is None or name in enumerators:
            return enumerators.get(name)
        kept = self._simple.get(name)
        if kept is None or kept[0] is not macro:
            with self.known.turn:
                if self.is_simple(name):
                    self.known.fetch(_WORD.findall(preprocessor.expand(name)))
                kept = self._simple[name] = (macro, self._of_macro(name, enumerators))
        found: int | float | str | None = kept[1]
        if found is None:
            asked = self.macro(name)
            found = None if asked is None or asked.reason or asked.is_live else asked.value()
        return found

    def macro(self, name: str) -> Any:
        """Returns the macros.Macro of a macro; None: there is none, or it is another name of a function."""
        macro = self.known.preprocessor.macros.get(name)
        if macro is None or self.other_name(name):
            return None
        kept = self._asked.get(name)
        if kept is None or kept[0] is not macro or (kept[1].reason and kept[2] != self.texts):
            with self.known.turn:
                made = self._ask(name, macro)
            kept = self._asked[name] = (macro, made, self.texts)
        return kept[1]

    def is_simple(self, name: str) -> bool:
        """True if the library has a macro of this name without parameters."""
        preprocessor = self.known.preprocessor
        macro = preprocessor.macros.get(name)
        return macro is not None and macro.parameters is None and name not in preprocessor.own

    def _of_macro(self, name: str, known: Mapping[str, int]) -> int | float | str | None:
        """Returns the value of a simple macro, with these values of enumerators."""
        text = self.known.preprocessor.expand(name) if self.is_simple(name) else ""
        return constants.of_macro(text, known)

    def other_name(self, name: str) -> str:
        """Returns the function or variable that a macro renames: `#define fits_open_file ffopen`."""
        if not self.is_simple(name):
            return ""
        text = self.known.preprocessor.expand(name).strip()
        return text if text != name and self._is_attribute(text) else ""

    def names(self) -> set[str]:
        """Returns all names with a value or another name."""
        enumerators = self.known.all_enumerators()
        unread, structs = self.known.unread_names()
        found = {*unread, *structs} | (enumerators.keys() - self.known.foreign_enumerators)
        with self.known.turn:
            known = {**dict.fromkeys(unread, 1), **enumerators}
            macros = [name for name in self.known.preprocessor.macros if self.is_simple(name)]
            found |= {n for n in macros if self.other_name(n) or self._of_macro(n, known) is not None}
        asked = {name: self.macro(name) for name in macros if name not in found}
        return found | {name for name, macro in asked.items() if macro and not macro.reason}
