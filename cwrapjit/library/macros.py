"""Asks C for the values of macros: casts, sizeof, floats, commas, calls, addresses.

A compiled function stores the value of the expanded text, which reaches the library by pointers.
"""

from __future__ import annotations

import contextlib
import ctypes
import re
from typing import Any

import numpy as np

from cwrapjit import _cwrapjit
from cwrapjit._tokens import names, with_names
from cwrapjit.kernels.numbers import SPELLED
from cwrapjit.library import constants, types
from cwrapjit.library.ctext import Spelled
from cwrapjit.library.declarations import FunctionDeclaration
from cwrapjit.library.library import Core
from cwrapjit.library.options import Options
from cwrapjit.library.thunks import Unmapped

_INTEGERS = ("char", "short", "int", "long", "long long")
_KINDS = {  # kind -> C type that is stored, and the types that are stored so
    "b": ("_Bool", ["_Bool"]),
    "i": ("long long", ["signed char", *_INTEGERS]),
    "u": ("unsigned long long", [f"unsigned {each}" for each in _INTEGERS]),
    "d": ("double", ["float", "double"]),
    "g": ("long double", ["long double"]),
    "s": ("const char *", ["char *", "const char *"]),
    "p": ("const void *", []),
}
_DTYPES = {"b": "bool", "i": "int64", "u": "uint64", "d": "float64", "g": "longdouble"}
_STORE = "".join(
    f"static int cwj_{kind}(void *to, {ctype} x) {{ *({ctype} *)to = x; return '{kind}'; }}\n"
    for kind, (ctype, _) in _KINDS.items()
)
_ASK = """\
int cwj_ask(void *to) { return _Generic((0, %(value)s), %(choices)s, default: cwj_p)(to, %(value)s); }
const void *cwj_pointer(void) { const void *x[4]; cwj_ask(x); return x[0]; }
"""
_CHOICES = ", ".join(f"{name}: cwj_{kind}" for kind, (_, names) in _KINDS.items() for name in names)


class Macro:
    """A macro that C evaluates, or the reason why it cannot."""

    def __init__(self, library: Core, name: str, macro: Any) -> None:
        self._library, self._name = library, name
        self._text = text = library.declarations.preprocessor.expand(name)
        self.reason = "" if text.strip() else "it stands for nothing"
        if name in library.declarations.preprocessor.own:
            self.reason = "it is of a header that was only included by others: #include it"
        elif macro.parameters is not None:
            self.reason = f"it has parameters ({', '.join(macro.parameters)}): C text of source= can use it"
        elif not self.reason and _is_type(library.declarations, text.replace("*", " ").split()):
            self.reason = "it is a type, or words of one"
        self.is_live = False  # it reads variables, or calls functions
        self._replaced: dict[str, str] = {}
        self._pointers: list[str] = []  # C text of pointers to what the library has
        self._made: Any = None  # the function that returns the macro's pointer
        if self.reason:
            return
        spelled = Spelled(without=False)
        try:
            for word in dict.fromkeys(token.text for token in names(text)):
                self._learn(word, spelled)
            value = with_names(text, lambda word: self._replaced.get(word, word))
            try:
                self._compile(f"({value})", spelled.text())
            except _cwrapjit.CompileError as error:
                if not spelled.text():
                    raise
                try:  # header= may define the types
                    self._compile(f"({value})", "")
                except _cwrapjit.CompileError:
                    raise error from None
        except (_cwrapjit.CompileError, Unmapped, AttributeError, constants.NotConstant) as error:
            self.reason = str(getattr(error, "msg", error))

    def _compile(self, value: str, known: str) -> None:
        before = known + "".join(self._pointers) + _STORE
        if not self.is_live:  # refuses what is not constant: *(int *)0 would crash
            constants.check_numbers(value)
            before += f"static __typeof__((0, {value})) cwj_constant = {value};\n"
        text = _ASK % {"value": value, "choices": _CHOICES}
        self._owner, self._places = _cwrapjit.compile_thunks(
            self._library.code.environment, text, ["cwj_ask", "cwj_pointer"],
            file=f"<macro {self._name}>", before=before,
        )  # fmt: skip

    def _learn(self, word: str, spelled: Spelled) -> None:
        """Adds what C text needs for a word of the library."""
        library, declarations = self._library, self._library.declarations
        library.settle([word])
        declarations.fetch([word])
        spelled.learn(declarations, word)
        function, variable = library.prototype(word), library.variable_at(word)
        if word in declarations.enumerators:
            self._replaced[word] = f"({declarations.enumerators[word]})"
        elif function is not None:
            inner = ", ".join(spelled.type(each.type, "") for each in function.parameters) or "void"
            inner += ", ..." * function.variadic
            target = f"{spelled.type(function.result, '')} (*const cwj_at_{word})({inner})"
            self._pointers.append(f"{target} = (void *){library.code.target(function)}ull;\n")
            self._replaced[word] = f"cwj_at_{word}"
        elif variable is not None or word in library.declared.unmapped:
            dtype = getattr(variable, "dtype", "char")
            spelling = SPELLED[np.dtype(dtype).name] if dtype != "char" else dtype
            address = library.code.address(word, self._name)
            self._pointers.append(f"{spelling} *const cwj_at_{word} = (void *){address}ull;\n")
            self._replaced[word] = f"(*cwj_at_{word})"
        self.is_live = self.is_live or function is not None or variable is not None

    def value(self) -> Any:
        """Returns the present value."""
        answer = (ctypes.c_longdouble * 2)()
        at = ctypes.addressof(answer)
        kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(self._places[0])(at)
        if chr(kind) in _DTYPES:
            found = _cwrapjit.scalar_at(at, _DTYPES[chr(kind)])
            return int(found) if chr(kind) == "u" else found
        if chr(kind) == "s":
            text = ctypes.c_char_p.from_address(at).value
            return None if text is None else text.decode(errors="surrogateescape")
        return self._pointer()

    def _pointer(self) -> Any:
        """Returns a pointer as a function would whose type is the macro's first cast."""
        if self._made is None:
            library, cast = self._library, re.match(r"[\s(]*\(([^()]+)\)", self._text)
            result: Any = types.Pointer(types.Void())
            with contextlib.suppress(_cwrapjit.CompileError):
                parsed = library.declarations.read(f"{cast[1]} f(void);", "<macro>") if cast else None
                result = parsed.functions[0].result if parsed else result
            found = FunctionDeclaration("cwj_pointer", result, [], address=self._places[1], code=self._owner)
            self._made = library.make(found, Options(), keep=False)
        return self._made()


def _is_type(declarations: Any, words: list[str]) -> bool:
    """True if these are words of a type: unsigned long, struct point, extern."""
    known = (_WORDS, declarations.typedefs)
    return bool(words) and (
        words[0] in ("struct", "union", "enum")
        or all(types.basic([each]) is not None or any(each in names for names in known) for each in words)
    )


_WORDS = ("const", "volatile", "extern", "static", "inline", "register")
