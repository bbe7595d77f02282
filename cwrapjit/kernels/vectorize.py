"""vectorize(): makes a function of arrays from a C function of numbers.

The text is the header of a function(), whose slice is one call. For several types the header has the text
several times, each with another T, and with macros that rename its definitions."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cwrapjit import _build, _cwrapjit
from cwrapjit._comments import commented, docstring
from cwrapjit._content import Travels, frozen
from cwrapjit._imports import load
from cwrapjit._tokens import Token
from cwrapjit.kernels import numbers, scalars
from cwrapjit.kernels.text import Parameter, Text, TextFunction, shown

if TYPE_CHECKING:
    from numpy.typing import DTypeLike
    from typing_extensions import Unpack

    from cwrapjit._options import OfSlices

_SAID = frozenset(
    "docstring args_input prototype_input prototype_output Ccode_slice_eval signature args_inout "
    "header".split()
)
_OTHERS = frozenset(
    "Ccode_validate Ccode_cookie_struct Ccode_cookie_cleanup extra_args args_shared "
    "output_dims windows border cval axes window_steps".split()
)
_DEFAULT = r"\w\s*\([^(){};=]*\w\s*=[^(){};]*\)\s*\{"  # f(double x = 1) {
_TAKEN = ("output", "out", "cookie")  # names that operands cannot have


def vectorize(
    source: str,
    *,
    T: DTypeLike | Sequence[DTypeLike] | None = None,
    name: str | None = None,
    doc: str | None = None,
    **options: Unpack[OfSlices],
) -> _cwrapjit.Function | Any:  # Any: a Deduced, if the text has a T and T= is not given
    """Make the one function of a C text a function of arrays, which broadcasts.

    >>> import numpy as np
    >>> import cwrapjit
    >>> smaller = cwrapjit.vectorize("double smaller(double x, double y) { return x < y ? x : y; }")
    >>> smaller([1.0, 4.0], [[2], [3]]).tolist()
    [[1.0, 2.0], [1.0, 3.0]]

    source: C text that defines one function; others must be static. OUT in front of a pointer makes it a
    result, INOUT makes it updated in place. A parameter may be an array, const double x[n]: its leading dims
    broadcast.
    T: one dtype or several, ("f4", "f8"), for a text that has T for a type. By default, the arguments of a
    call decide.
    name: the function's name in Python, by default that in C.
    doc: the docstring, by default the C function and the comment above it.
    options: options of function(), such as threads, fastmath and libraries; cast is "safe" by default.

    Returns a Function; without T= for a text that has T, a callable that compiles one for each T when a call
    needs it; `functions` has them by dtype. Raises CompileError for C that does not compile, ValueError for a
    text without a function, TypeError and ValueError for options.
    """
    _check(source, name, doc, options)
    macros = _build.macros(options.get("define_macros"), "vectorize(): define_macros")
    text = Text(source, "<cwrapjit vectorize source>", options.get("include_dirs") or (), macros)
    found = _only_function(text)
    made_name = name if name is not None else _python_name(found.name)
    text.file = f"<cwrapjit {made_name} source>"
    shared = _definition(text, found, made_name, doc, options)
    if not shared.generic:
        if T is not None:
            raise ValueError(f"{shared.who}: T={T!r}, but no type in the text is T")
        return shared.define([None])
    if T is not None:
        return shared.define(_given_types(T, shared.who))
    loops = ("fastmath", "math", "threads", "cast", "copies", "optimize")  # reports wrong values now
    _cwrapjit.check_loops(f"{made_name}()", *(options.get(each) for each in loops))
    return Deduced(shared)


def _definition(text: Text, found: TextFunction, *options: Any) -> Definition:
    """OfNumbers if it is possible; else OfArrays, by library(), which also knows what is wrong."""
    made: OfNumbers | None = None
    error: _cwrapjit.CompileError | None = None
    if not any(map(text.tagged.intersection, [found.words, *(each.words for each in found.parameters)])):
        try:
            made = OfNumbers(text, found, *options)
            if made.has_arrays or text.includes:
                text.check()
                made.dtypes("float64")
            if made.inputs() or not made.has_arrays:
                return made
        except _cwrapjit.CompileError as wrong:
            error = None if any(each.dims for each in found.parameters) else wrong
            if error is not None and (made is None or not text.includes):
                raise
    try:
        of_arrays: Definition = load("cwrapjit.kernels.arrays").OfArrays(text, found, *options)
    except _cwrapjit.CompileError as wrong:
        raise error or wrong from None
    return of_arrays


def _check(source: Any, name: Any, doc: Any, options: Mapping[str, Any]) -> None:
    for what, value in (("source", source), ("name", name), ("doc", doc)):
        if not isinstance(value, str) and (value is not None or what == "source"):
            raise TypeError(f"vectorize(): {what} must be a str, not {type(value).__name__}")
    if name is not None and (not name.isidentifier() or keyword.iskeyword(name)):
        raise ValueError(f"vectorize(): name={name!r} is no name in Python")
    if not options:
        return
    rule = load("cwrapjit._options")
    for option in options:
        if option in _SAID:
            raise rule.unknown("vectorize()", option, (), ": the text says that; see function()")
        if option in _OTHERS:
            raise rule.unknown("vectorize()", option, (), ", which functions made by function() have")
    rule.check("vectorize()", options, sorted(rule.OfSlices.__optional_keys__ | {"name", "doc", "T"}))


def _only_function(text: Text) -> TextFunction:
    found = text.public
    if not found:
        more = "; wanted one such as 'double f(double x) { return 2 * x; }'"
        if text.functions:
            more = f"; {text.functions[0].name}() is static"
        elif hint := load("cwrapjit._hints").path_hint(text.source):
            more = f"; {hint}"
        elif not text.balanced:  # reported with its place
            header, body = text.instance(), {np.float64: "return 1;"}
            _cwrapjit.function("vectorize", signature="-> y()", header=header, Ccode_slice_eval=body)
        elif text.leaves_out:
            more = "; its #if leaves text out, which define_macros= may choose"
        elif re.search(_DEFAULT, text.source):
            more = "; parameters have no default values in C"
        raise ValueError(f"vectorize(): the text defines no function{more}: {_shortened(text.source)}")
    if len(found) > 1:
        names = ", ".join(each.name for each in found)
        text.fail(
            f"vectorize() makes one function, and the text has {len(found)}: {names}. Those that only help "
            'should be static; library(name, source="...") maps all of them',
            found[1].at,
            len(found[1].name),
        )
    name, at = found[0].name, found[0].at
    if not name.isascii():
        text.fail(f"{name} is not ASCII, as names of C functions are; name= can be", at, len(name))
    count = len(found[0].parameters)
    if count > numbers.MOST_PARAMETERS:
        text.fail(f"{name}() has {count} parameters, {numbers.MOST_PARAMETERS} at most", at, len(name))
    return found[0]


def _shortened(source: str) -> str:
    return repr(source if len(source) < 60 else f"{source[:57]}...")


def _python_name(name: str) -> str:
    return name + "_" if keyword.iskeyword(name) or name in _TAKEN else name


def _given_types(T: Any, who: str) -> list[str]:
    """Returns the names of dtypes, each once."""
    given = list(T) if isinstance(T, (tuple, list)) else [T]
    if not given:
        raise ValueError(f"{who}: T=() leaves no type")
    names: list[str] = []
    for each in given:
        try:
            dtype = np.dtype(each)
        except TypeError:
            raise TypeError(f"{who}: T has {each!r}, which is no type of NumPy's") from None
        name = numbers.name_of(dtype)
        if name is None:
            raise TypeError(
                f"{who}: T has {dtype.str!r}, for which C has no type: {', '.join(numbers.SPELLED)}"
            )
        if name not in names:
            names.append(name)
    return names


class Deduced(Travels, _cwrapjit.Dispatch):
    """A function whose T depends on the arguments of each call. `functions` has those made so far, by T."""

    functions: dict[str, _cwrapjit.Function]

    def __init__(self, shared: Definition) -> None:
        self._shared = shared
        self._inputs = shared.inputs()  # (name, whether it is a T)
        updated = re.findall(r"\binout (\w+)\(", shared.signature())
        lists = [
            key for k, (each, _) in enumerate(self._inputs[:32]) if each not in updated for key in (k, each)
        ]
        super().__init__(lists=lists)
        vars(self).update(
            __name__=shared.name, __qualname__=shared.name, __doc__=shared.doc, _declared=shared.declared
        )
        self.functions = {}
        if not any(is_T for _, is_T in self._inputs):
            shared.text.fail(
                f"T cannot be deduced: no input of {shared.found.name}() is a T; T=(...) says which types it "
                "stands for",
                shared.found.at,
                len(shared.found.name),
            )
        shared.dtypes("float64")  # reports now what is wrong for each T

    def _made_by(self) -> Any:
        return vectorize, (), self._shared.given(None)

    def __repr__(self) -> str:
        shared = vars(self).get("_shared")
        if shared is None:
            return "<cwrapjit.vectorize without text>"
        return f"<cwrapjit.vectorize {shared.name}: {shared.signature()} of any T>"

    @property
    def signature(self) -> str:
        """The signature, as of a Function."""
        return self._shared.signature()

    @property
    def types(self) -> tuple[str, ...]:
        """The type sets of calls so far."""
        return tuple(types for each in self.functions.values() for types in each.types)

    @property
    def tier(self) -> str:
        """ "cc" when all functions made so far have the cc tier's loops."""
        made = list(self.functions.values())
        return "cc" if made and all(each.tier == "cc" for each in made) else "tcc"

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for all functions made so far.

        timeout: seconds for each function; None: no limit.

        Returns True if all of them have the cc tier's code."""
        done = [each.wait(timeout) for each in list(self.functions.values())]
        return all(done)

    def resolve(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _cwrapjit.Function:
        """Returns the Function for the types of these arguments."""
        given = {name: value for (name, _), value in zip(self._inputs, args, strict=False)} | kwargs
        values = [(name, given[name]) for name, is_T in self._inputs if is_T and name in given]
        if not values:
            missing = next(name for name, is_T in self._inputs if is_T)
            raise TypeError(f"{self._shared.name}(): argument '{missing}' is missing, which says what T is")
        T = numbers.deduced(f"{self._shared.name}()", values)
        found = self.functions.get(T)
        return found if found is not None else self.functions.setdefault(T, self._shared.define([T]))

    if not TYPE_CHECKING:  # a type checker would accept any name

        def __getattr__(self, name: str) -> Any:
            if name == "__signature__":
                inputs = [each for each, _ in self._inputs]
                noutputs = self.signature.partition("->")[2].count("(")
                return load("cwrapjit._signature").build(inputs, (), noutputs, vars(self))
            if not name.startswith("_") and hasattr(_cwrapjit.Function, name):
                raise AttributeError(
                    f"{self._shared.name}(): .{name} is of types that are known: T=(...) says them in the "
                    "definition, and .functions has what calls have made so far"
                )
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


class Definition:
    """What the texts for all T have in common. Subclasses provide the operands."""

    def __init__(
        self, text: Text, found: TextFunction, name: str, doc: str | None, options: Mapping[str, Any]
    ) -> None:
        self.text, self.found, self.name, self.options = text, found, name, options
        self._frozen = frozen(options)
        self.who = f"vectorize() of {found.name}"
        self.declared = declaration(text, found)
        comment = commented(text.source).get(found.name)
        self.doc = doc if doc is not None else docstring(self.declared, comment)
        known = text.names | text.typedefs.keys()
        used = [found.words, *(each.words for each in found.parameters), *text.typedefs.values()]
        self.generic = "T" not in known and any("T" in words for words in used)
        if self.generic and "T" in text.asked:
            text.fail("T is a type here, and an #if asks for it", found.at, len(found.name))

    def signature(self) -> str:
        """Returns the signature for function()."""
        raise NotImplementedError

    def inputs(self) -> list[tuple[str, bool]]:
        """Returns the names of inputs, and whether each is a T."""
        raise NotImplementedError

    def dtypes(self, T: str | None) -> tuple[np.dtype, ...]:
        """Returns a dtype for each operand."""
        raise NotImplementedError

    def slice(self, called: str, T: str | None) -> str:
        """Returns the text of a slice, which calls the function by the name `called`."""
        raise NotImplementedError

    def confirmation(self, T: str | None) -> str:
        """Returns C text that does not compile if C has other types than were read here."""
        raise NotImplementedError

    def defaults(self) -> dict[str, Any]:
        """Returns arguments of function() that the caller can override."""
        return {"cast": "safe"}

    def define(self, types: Sequence[str | None]) -> Any:
        """Makes a Function with a type set for each T."""
        options = {**self.defaults(), **self.options}
        options["define_macros"] = self._macros(types[0], options.get("define_macros"))
        if len(types) == 1:
            options.setdefault("c_function", self._c_function(types[0]))
        slices = {self.dtypes(T): self.slice(self._instance_name(k), T) for k, T in enumerate(types)}
        if len(slices) < len(types):
            raise ValueError(f"{self.who}: T has several types, but no parameter and no result is a T")
        with self.text.own_lines():
            made = _cwrapjit.function(
                self.name,
                self.doc,
                signature=self.signature(),
                Ccode_slice_eval=slices,
                header=self._header(types),
                **options,
            )
        self.text.give_to(made)
        kinds = None if types[0] is None else tuple(types)
        made.__dict__.update(_given=self.given(kinds), _declared=self.declared)
        return made

    def given(self, T: Any) -> dict[str, Any]:
        """Returns arguments of vectorize() for pickles, as the text for C is not the user's."""
        return {"source": self.text.source, "T": T, "name": self.name, "doc": self.doc, **self._frozen}

    def _c_function(self, T: str | None) -> str:
        """Returns the declaration without parameter names, which is how SciPy's capsules are called."""

        def spelled(words: Sequence[str], stars: int) -> str:
            shown = " ".join(numbers.SPELLED[T] if T is not None and word == "T" else word for word in words)
            return f"{shown} {'*' * stars}".rstrip()

        parts = [spelled(each.words, each.stars + (len(each.dims) > 0)) for each in self.found.parameters]
        return f"{spelled(self.found.words, self.found.stars)} {self.found.name}({', '.join(parts)})"

    def _instance_name(self, k: int) -> str:
        return self.found.name if k == 0 else f"{self.found.name}__{k}"

    def _macros(self, T: str | None, given: Any) -> Any:
        """Returns the user's macros, and those that the text needs."""
        made = [f"{word}=" for word in ("OUT", "INOUT") if word in self.text.words]
        if T is not None:
            made.append(f"T={numbers.SPELLED[T]}")
        return [*given, *made] if isinstance(given, (list, tuple)) else made if given is None else given

    def _header(self, types: Sequence[str | None]) -> str:
        """Returns the text, repeated for each further T. Lines are always the user's."""
        has_files = any(each[:1] == '"' for each in self.text.includes)  # which may have such names
        own = self.text.names | self.text.defined
        needed = "" if has_files else scalars.includes(self.text.words, own)
        apart = not self.options.get("inplace")
        parts = [needed, self.text.instance(0, apart), self.confirmation(types[0])]
        for k, T in enumerate(types[1:], 1):
            parts.append(f"\n#undef T\n#define T {numbers.SPELLED[T or '']}\n")
            parts.append(self.text.instance(k, apart))
        if len(types) > 1:
            parts.append("#undef T\n")
        return "".join(parts)


class _Operand(NamedTuple):
    parameter: Parameter | None  # None: the function's result
    words: list[str]
    name: str  # in Python and in the slice
    role: str  # "in", "out", "inout"; "dim": an integer taken from arrays
    dims: tuple[str, ...] = ()


class OfNumbers(Definition):
    """A function of numbers, and of arrays of them whose dims are numbers and parameters."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        names = {each.name for each in self.found.parameters if not each.dims}
        self.lengths = {  # parameter -> the dim of a slice that has its value
            dim[0].text: f"dims_slice__{_python_name(each.name)}[{axis}]"
            for each in reversed(self.found.parameters)
            for axis, dim in reversed([*enumerate(each.dims)])
            if each.intent != "out" and len(dim) == 1 and dim[0].text in names
        }
        self.has_arrays = any(each.dims for each in self.found.parameters)
        self.operands = self._operands()

    # ---- parameters -------------------------------------------------------------------------------------

    def _operands(self) -> list[_Operand]:
        found = self.found
        if found.variadic:
            self.text.fail(
                f"{found.name}() takes a variable number of arguments (...)", found.at, len(found.name)
            )
        made = [self._operand(each) for each in found.parameters]
        for k, each in enumerate(made):
            if each.parameter is not None and any(other.name == each.name for other in made[:k]):
                self.text.fail(f"two parameters are called {each.name}", each.parameter.at, len(each.name))
        words = self._resolved(found.words)
        if found.stars:
            self.text.fail(f"{found.name}() returns a pointer, which is no number", found.result_at)
        outputs = [each for each in made if each.role in ("out", "inout")]
        if words != ["void"]:
            taken = {each.name for each in made}
            result = "output" if "output" not in taken else "output_"
            made.append(_Operand(None, words, result, "out"))
        elif not outputs:
            self.text.fail(
                f"{found.name}() has no result: a type in front of it, or OUT in front of a pointer, says "
                "what it gives",
                found.result_at,
                4,
            )
        return made

    def _operand(self, parameter: Parameter) -> _Operand:
        words = self._resolved(parameter.words)
        name, at, length = parameter.name, parameter.at, len(parameter.name)
        if parameter.odd:
            self.text.fail(f"{name} is {parameter.odd}", at, length)
        if parameter.intent and parameter.const:
            self.text.fail(f"{name} points to const: {parameter.intent.upper()} cannot be", at, length)
        if name in self.lengths or parameter.dims:
            return self._array(parameter, words)
        if parameter.intent and parameter.stars != 1:
            self.text.fail(
                f"{name} is no pointer: {parameter.intent.upper()} stands in front of one, as in "
                f"`{parameter.intent.upper()} {' '.join(parameter.words)} *{name}`",
                at,
                length,
            )
        if parameter.stars and not parameter.intent:
            self.text.fail(
                f"{name} is a pointer: OUT in front of it makes it a result, INOUT what is updated in place, "
                f"and {name}[n] an array",
                at,
                length,
            )
        return _Operand(parameter, words, _python_name(name), parameter.intent or "in")

    def _array(self, parameter: Parameter, words: list[str]) -> _Operand:
        """Reads an array, or an integer that is a dim. Refuses what is not plain: see _definition()."""
        role = parameter.intent or ("in" if parameter.const else "inout") if parameter.dims else "dim"
        plain = not parameter.stars and all(map(self._is_plain, parameter.dims))
        if role == "dim":
            plain = plain and not parameter.intent and "int" in (numbers.dtype_of(words) or "")
        if not plain:
            self.text.fail("this is not plain", parameter.at)
        name = parameter.name if role == "dim" else _python_name(parameter.name)
        return _Operand(parameter, words, name, role, tuple(dim[0].text for dim in parameter.dims))

    def _is_plain(self, dim: list[Token]) -> bool:
        text = dim[0].text if len(dim) == 1 else ""
        return text in self.lengths or (
            text.isascii() and text.isdecimal() and "1" <= text[0] and len(text) < 10
        )

    def _resolved(self, words: list[str]) -> list[str]:
        """Replaces the text's own typedefs in the words of a type."""
        known = self.text.typedefs
        for _ in range(20):
            if known.keys().isdisjoint(words):
                break
            words = [part for word in words for part in known.get(word) or [word]]
        return [word for word in words if word != "const"]

    def _dtype(self, operand: _Operand, T: str | None) -> str:
        if operand.words == ["T"] and T is not None:
            return T
        dtype = numbers.dtype_of(operand.words)
        if dtype is not None:
            return dtype
        shown = " ".join(operand.words)
        parameter = operand.parameter
        if parameter is not None and not parameter.is_named and shown.isidentifier():
            if _numpys(shown) is None:
                self.text.fail(f"{shown} has no type, as in `double {shown}`", parameter.at, len(shown))
        if not shown:
            self.text.fail(
                f"{self.found.name}() has no type in front of it", self.found.at, len(self.found.name)
            )
        what, at = "the result", self.found.result_at
        if operand.parameter is not None:
            what, at = operand.name, operand.parameter.type_at
        more = "; T alone stands for a type" if "T" in operand.words else ""
        if "complex" in shown.lower():
            more = ": libtcc has no _Complex, but the structs npy_complex128 and npy_complex64 {real, imag}"
        wrong = "is no number that NumPy knows"
        named = _numpys(shown)
        if named:
            wrong = f"is NumPy's name: C's is {named}"
        self.text.fail(f"{what} is a {shown}, which {wrong}{more}", at, len(shown))

    # ---- the function -----------------------------------------------------------------------------------

    def dtypes(self, T: str | None) -> tuple[np.dtype, ...]:
        return tuple(np.dtype(self._dtype(each, T)) for each in self._ordered())

    def inputs(self) -> list[tuple[str, bool]]:
        return [(each.name, each.words == ["T"]) for each in self._ordered() if each.role != "out"]

    def _ordered(self) -> list[_Operand]:
        """Returns the operands as type sets list them: inputs and inout operands, then new outputs."""
        inputs = [each for each in self.operands if each.role in ("in", "inout")]
        returned = [each for each in self.operands if each.parameter is None]
        return inputs + returned + [each for each in self.operands if each.role == "out" and each.parameter]

    def signature(self) -> str:
        ordered = self._ordered()
        shown = [
            f"{'inout ' * (each.role == 'inout')}{each.name}({', '.join(each.dims)})" for each in ordered
        ]
        number = sum(each.role != "out" for each in ordered)
        return f"{', '.join(shown[:number])} -> {', '.join(shown[number:])}"

    def confirmation(self, T: str | None) -> str:
        """Included files may redefine types; and bool may be the text's own."""
        read = [
            (each.name, each.words, np.dtype(self._dtype(each, T)), False)
            for each in self.operands
            if self.text.includes or each.words == ["bool"]
        ]
        return self.text.confirmation(self.found, read)

    def defaults(self) -> dict[str, Any]:
        """Requires contiguous slices of arrays, as C does."""
        if not self.has_arrays:
            return super().defaults()
        checks = [
            numbers.check_length(self.lengths[each.name], numbers.dtype_of(each.words), each.name)
            for each in self.operands
            if each.role == "dim"
        ]
        checks += [numbers.CHECK_CONTIGUOUS % each.name for each in self._ordered() if each.dims]
        return {**super().defaults(), "Ccode_validate": "".join([*checks, "return 1;"])}

    def slice(self, called: str, T: str | None) -> str:
        given = []
        for each in self.operands:
            if each.parameter is None:
                continue
            if each.role == "dim":
                given.append(f"({' '.join(each.words)}){self.lengths[each.name]}")
            elif each.dims:
                given.append(f"(void *)data_slice__{each.name}")
            elif each.role == "in":
                given.append(f"item__{each.name}()")
            else:
                ctype = numbers.SPELLED[T] if T is not None and each.words == ["T"] else " ".join(each.words)
                given.append(f"({ctype} *)&item__{each.name}()")
        call = f"{called}({', '.join(given)})"
        result = next((each.name for each in self.operands if each.parameter is None), None)
        return f"{f'item__{result}() = ' if result else ''}{call};\nreturn 1;"


def _numpys(name: str) -> str | None:
    """Returns the C type for a dtype's name, or None."""
    try:
        found = numbers.name_of(np.dtype(name))
    except (TypeError, ValueError, SyntaxError):  # NumPy's errors for unknown words
        return numbers.SPELLED["float16"] if name == "npy_half" else None
    return None if found is None else numbers.SPELLED[found]


def declaration(text: Text, found: TextFunction) -> str:
    """Returns the function's head in one line, as written or as directives leave it."""
    head = [token for token in found.head if token.at >= found.result_at]
    written = text.source[found.result_at : head[-1].end]
    made = any(token.text != text.source[token.at : token.end] for token in head)
    return shown(head) if made or "#" in written or "//" in written else " ".join(written.split())
