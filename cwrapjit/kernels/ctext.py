"""Translates the C text of an elementwise kernel: what CuPy's C++ has and C lacks becomes C.

It changes only the kernel's own words: `_ind.size()`, and for raw parameters `x[k]`, `x.size()` and so on.
All other text stays as the user wrote it, on its own line."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from cwrapjit._cwrapjit import CompileError
from cwrapjit._tokens import Token, closes, code, unmatched, words
from cwrapjit.kernels.parameters import refuse_at
from cwrapjit.kernels.scalars import includes, value_type

# Functions with a float32 version. Those in the second list are macros already, or take several arguments,
# and need <tgmath.h>, which takes half a millisecond.
_PLAIN = frozenset(
    "acos asin atan acosh asinh atanh cos sin tan cosh sinh tanh exp exp2 expm1 log log10 log1p log2 logb "
    "cbrt fabs sqrt erf erfc lgamma tgamma".split()
)
_BY_TYPE = _PLAIN | set(
    "ceil floor nearbyint rint round trunc pow hypot atan2 fmod remainder copysign nextafter fdim fmax fmin "
    "fma".split()
)
_LINE = re.compile(r"^[ \t]*#[ \t]*(line\b|\d)", re.MULTILINE)
_DEFINITION = r"#\s*define\s+%s\b|\b%s\s*\([^;{}]*\)\s*\{"  # matches definitions of a name
# Types that C++ casts to by a call, float(x), and words before a type that make it a declaration instead.
_CAST = re.compile(
    r"(bool|char|short|int|long|float|double|unsigned|signed|s?size_t|ptrdiff_t|u?int\d+_t"
    r"|npy_(u?int(\d+|p)|float(32|64)|longdouble|bool))\Z"
)
_NO_CAST = frozenset(
    "const volatile static extern inline typedef unsigned signed long short struct union enum".split()
)

# C++'s min and max (a number wins over NaN) and abs, for any type. Calls of fmin() and so on would take
# longer to compile. min and max have two conditional expressions, as gcc does not vectorise a loop over
# floats with both conditions in one.
_EXTREME = """#define {name}(a, b) ({{ const __typeof__((a) + (b)) cwj_a = (a), cwj_b = (b); \\
    const __typeof__((a) + (b)) cwj_c = cwj_b {sign} cwj_a ? cwj_b : cwj_a; \\
    cwj_a != cwj_a ? cwj_b : cwj_c; }})
"""
_HELPERS = {
    "min": _EXTREME.format(name="min", sign="<"),
    "max": _EXTREME.format(name="max", sign=">"),
    "abs": "#define abs(a) ({ const __typeof__((a) + 0) cwj_a = (a); cwj_a < 0 ? -cwj_a : cwj_a + 0; })\n",
}


# CUDA's function specifiers.
_CUDA = {"__device__": "static", "__host__": "", "__forceinline__": "inline", "__noinline__": ""}

# Words of kernels for a device, and their spelling in C.
_OTHER_WORDS = {
    "and": "&&", "or": "||", "not": "!", "nullptr": "((void *)0)",
    "__popc": "__builtin_popcount", "__popcll": "__builtin_popcountll",
    "rsqrt(x)": "(1 / sqrt(x))", "rsqrtf(x)": "(1 / sqrtf(x))",
    "CUDART_INF": "((double)INFINITY)", "CUDART_INF_F": "((float)INFINITY)",
    "CUDART_NAN": "((double)NAN)", "CUDART_NAN_F": "((float)NAN)",
}  # fmt: skip


# Functions that take complex numbers as well as others, by C++'s names, and those for complex numbers only.
_OF_ANY = frozenset("acos asin atan acosh asinh atanh cos sin tan cosh sinh tanh exp log sqrt".split())
_COMPLEX_CALL = """#undef {name}
#define {name}(x) _Generic((x), npy_complex64: cwj_{made}_npy_complex64, \\
    npy_complex128: cwj_{made}_npy_complex128, {others})(x)
"""
_COMPLEX_ALONE = {
    "real": "#define real(z) ((z).real)\n",
    "imag": "#define imag(z) ((z).imag)\n",
    "arg": "#define arg(z) carg(z)\n",
    "norm": "#define norm(z) ({ const __typeof__(z) cwj_z = (z); "
    "cwj_z.real * cwj_z.real + cwj_z.imag * cwj_z.imag; })\n",
}


class Index(NamedTuple):
    """The C text for the methods of an index such as `_ind`."""

    facts: Mapping[str, str]
    along: str = ""  # the macro of an axis that replaces .get()[axis]; "": it has no .get()


class Raw(NamedTuple):
    """A raw parameter in one combination of types."""

    name: str
    operand: str  # its name in the function
    ndim: int | None  # None: a scalar
    dense: bool  # C-contiguous: a C array
    written: bool
    c_type: str  # in memory
    checked: bool = False  # debug=True: indices, and axes in brackets, are checked


def without_unroll(text: str) -> str:
    """Removes CUDA's pragma unroll, of which other compilers warn."""
    return re.sub(r"^[ \t]*#[ \t]*pragma[ \t]+unroll\b.*$", "", text, flags=re.MULTILINE)


def check_words(text: str, who: str, what: str) -> None:
    """Refuses words that have no meaning where elements are items of a loop."""
    for token in code(text):
        if token.text == "return":
            problem = (
                "return would end a thread, and here is none; continue goes on with the next element, found"
            )
            refuse_at(text, token.at, who, what, problem)
        if token.text.startswith("_raw_"):
            problem = f"{token.text} is of a thread, and here is none: declare it raw, found"
            refuse_at(text, token.at, who, what, problem)


def check_brackets(text: str, who: str, what: str) -> None:
    """Refuses unbalanced brackets, with which the user's text would swallow text around it."""
    found = unmatched(code(text))
    if found is not None:
        wrong = "is not closed" if found.text in "([{" else "closes nothing"
        refuse_at(text, found.at, who, what, f"'{found.text}' {wrong}, found")


def check_expression(text: str, who: str, what: str, ends: str = ";") -> None:
    """Refuses unbalanced brackets, and text after the expression, which C would compile separately."""
    check_brackets(text, who, what)
    depth = 0
    for token in code(text):
        depth += (token.text in "([{") - (token.text in ")]}")
        if not depth and token.text in ends:
            refuse_at(
                text, token.at, who, what, f"an expression has no '{token.text}' outside of brackets, found"
            )


def show(error: CompileError, place: tuple[str, int, str]) -> None:
    """Moves an error in rewritten text to the user's: place is (file, line, text)."""
    before = (error.text or "").find(place[2])
    if before >= 0 and before < (error.offset or 0) <= before + len(place[2]):
        error.offset = (error.offset or 0) - before
        error.end_offset = error.end_offset and error.end_offset - before
    elif len(place[2]) != len(error.text or ""):  # the columns are those of a rewritten line
        quoted = re.search(r"'(\w+|[][(){}])'", error.msg)
        word = quoted[1] if quoted else ""
        bracket = unmatched(code(place[2])) if word in tuple("[](){}") else None
        found = re.search(rf"\b{word}\b", place[2]) if word.isidentifier() else None
        at = bracket.at if bracket is not None else found.start() if found else -1
        error.offset = at + 1 if at >= 0 else None
        error.end_offset = at + 1 + len(word) if at >= 0 else None
    error.filename, error.lineno, error.text = place
    error.args = (error.msg, (*place[:2], error.offset, place[2]))


def restore(error: CompileError, place: Callable[[bytes, int], tuple[str, int, str] | None]) -> None:
    """Moves all errors to the user's texts."""
    for each in {id(e): e for e in (error, *error.errors)}.values():
        found = place(os.fsencode(each.filename or ""), each.lineno or 0)
        if found is not None:
            show(each, found)


class Written:
    """C text of ours and of the user, a header or a slice. It knows the user's text behind each line."""

    def __init__(self, name: str, kind: str) -> None:
        self._name, self._is_header = name, kind == "header"
        self._lines: list[str] = []
        self._parts: list[tuple[int, list[str], str]] = []  # first line, the user's lines, their name

    def own(self, *lines: str) -> None:
        self._lines.extend(lines)

    def users(self, what: str, text: str, compiled: str | None = None) -> None:
        """Adds a text of the user. what: its name in errors; "": that of the whole. C gets `compiled`
        instead, which has as many lines."""
        # Other characters that end lines in Python do not end them in C.
        self._parts.append((len(self._lines) + 1, text.split("\n"), what))
        self._lines.extend((text if compiled is None else compiled).split("\n"))
        if _LINE.search(text):
            file = f'"<cwrapjit {self._name} header>"' if self._is_header else ""
            self.own(f"#line {len(self._lines) + 2} {file}")

    @property
    def text(self) -> str:
        return "\n".join(self._lines) + "\n"

    def place(self, file: bytes, line: int) -> tuple[str, int, str] | None:
        """Returns the user's text that a line is from, the line number in that, and the line; or None."""
        name = os.fsdecode(file)
        is_ours = name.startswith(f"<cwrapjit {self._name} ") and not name.endswith(" generated>")
        if not is_ours or name.endswith(" header>") != self._is_header:
            return None
        first, lines, what = next((each for each in reversed(self._parts) if each[0] <= line), (0, [], ""))
        if not lines or line > first + len(
            lines
        ):  # a text that ends too early causes errors in the next line
            return None
        at = min(line - first, len(lines) - 1)
        return f"<cwrapjit {self._name} {what}>" if what else name, at + 1, lines[at].rstrip("\r")


def _follows(parts: Sequence[Token], at: int, wanted: Sequence[str]) -> int | None:
    """Returns the index of the last of these tokens if they follow token `at`, else None."""
    end = at + len(wanted)
    return end if [each.text for each in parts[at + 1 : end + 1]] == list(wanted) else None


def _replaced(parts: Sequence[Token], at: int, facts: Mapping[str, str]) -> tuple[str, int] | None:
    """Replaces `.size()` and so on after a name. Returns the text and the last replaced token's index."""
    for fact, text in facts.items():
        wanted = [".", "ndim"] if fact == "ndim" else [".", fact, "(", ")"]
        end = _follows(parts, at, wanted)
        if end is not None:
            return text, end
    return None


ELEMENT = {
    "_ind": Index(
        {"size": "(Ndims_full__i ? dims_full__i[0] * strides_full__i[0] : 1)", "ndim": "Ndims_full__i"},
        "cwr_index_along",
    )
}


def _raw_facts(raw: Raw) -> dict[str, str]:
    name, ndim = raw.operand, raw.ndim or 0
    size = " * ".join(f"dims_slice__{name}[{axis}]" for axis in range(ndim)) or "(npy_intp)1"
    return {
        "size": f"({size})",
        "shape": f"dims_slice__{name}" if ndim else "((const npy_intp *)0)",
        "strides": f"strides_slice__{name}" if ndim else "((const npy_intp *)0)",
        "ndim": str(ndim),
    }


def checked(text: str, limit: str, index: str) -> str:
    """Returns a checked index. text: the message for an index from `limit` on, shown at %S."""
    return f'CWJ_NUMBER_WITHIN("{text}", {limit}, ({index}))'


def checked_axis(name: str, ndim: str, axis: str) -> str:
    return checked(f"{name} has no axis %S: it has %zd dims", ndim, axis)


def checked_element(raw: Raw, k: str) -> str:
    name, size = raw.name, _raw_facts(raw)["size"]
    return checked(f"{name}[%S] is out of range: {name} has %zd elements in C order", size, k)


def _indexed(
    parts: Sequence[Token], at: int, raw: Raw, indices: Mapping[str, Index]
) -> tuple[str, int] | None:
    """Replaces `x[` after a raw parameter, or all of `x[_ind.get()]`. Returns the text and the last replaced
    token's index."""
    opened = _follows(parts, at, ["["])
    if opened is None:
        return None
    for name, index in indices.items():
        whole = _follows(parts, opened, [name, ".", "get", "(", ")", "]"])
        if whole is not None and index.along:
            return f"raw_at__{raw.operand}({index.along})", whole
    return f"raw__{raw.operand}(", opened


def rewrite(
    text: str, raws: Iterable[Raw], who: str, what: str, indices: Mapping[str, Index] = ELEMENT
) -> str:
    """Translates float(x), `_ind.size()`, `_ind.get()[axis]`, and expressions with raw arrays to C."""
    by_name = {raw.name: raw for raw in raws}
    parts = code(text)
    ends: dict[int, str] = {}  # index of a closing bracket -> its replacement
    made: list[str] = []
    at = copied = 0
    while at < len(parts):
        token, position = parts[at].text, parts[at].at
        raw, index = by_name.get(token), indices.get(token)
        found: tuple[str, int] | None = None  # the replacement, and the last replaced token's index
        end = ")"  # the replacement of the bracket that closes it
        if index is not None:
            found = _replaced(parts, at, index.facts)
            opened = _follows(parts, at, [".", "get", "(", ")", "["]) if index.along else None
            if found is None and opened is not None:
                found = f"{index.along}(", opened
            elif found is None:
                refuse_at(text, position, who, what, f"wanted {_forms(token, index)}")
        elif raw is not None and not _is_member(parts, at):
            found = _replaced(parts, at, _raw_facts(raw))
            opened = None if found is None or not raw.checked else _follows(parts, found[1], ["["])
            if found is None:
                found = _indexed(parts, at, raw, indices)
                if found is not None and raw.ndim is None:
                    raise TypeError(f"{who}: {raw.name!r} is raw and a scalar here, but {what} indexes it")
                if found is None and raw.ndim is not None:
                    problem = f"{token} is raw: only an element of it, {token}[k], is a value; {token} alone"
                    refuse_at(text, position, who, what, problem)
            elif opened is not None:
                check = checked_axis(raw.name, str(raw.ndim or 0), "")
                found, end = (f"{found[0]}[{check[:-2]}", opened), "))]"
        elif token in ("real", "imag") and _is_member(parts, at):
            called = _follows(parts, at, ["(", ")"])  # C++'s methods of complex numbers
            found = None if called is None else (token, called)
        elif _CAST.match(token) and _is_cast(parts, at):
            found = f"({token})", at
        elif at in ends:
            found = ends[at], at
        if found is not None:
            if parts[found[1]].text == "[":
                ends[closes(parts, found[1])] = end
            made += [text[copied:position], found[0]]
            at, copied = found[1], parts[found[1]].end
            made.append("\n" * text.count("\n", position, copied))  # keeps the number of lines
        at += 1
    return "".join([*made, text[copied:]])


def _forms(name: str, index: Index) -> str:
    """Lists the forms of an index for messages: "_ind.size(), _ind.get()[axis] or _ind.ndim"."""
    forms = [f"{name}.{fact}" + "()" * (fact != "ndim") for fact in index.facts]
    if index.along:
        forms.insert(1, f"{name}.get()[axis]")
    return " or ".join([", ".join(forms[:-1]), forms[-1]] if len(forms) > 1 else forms)


def _is_cast(parts: Sequence[Token], at: int) -> bool:
    """True for float(x), but not for the declaration of a pointer to a function or an array."""
    if _follows(parts, at, ["("]) is None or (at and parts[at - 1].text in _NO_CAST):
        return False
    end = closes(parts, at + 1)
    return _follows(parts, end, ["("]) is None and _follows(parts, end, ["["]) is None


def _is_member(parts: Sequence[Token], at: int) -> bool:
    """True for the name of a struct's member."""
    return at > 0 and parts[at - 1].text in (".", "->")


def loaded(item: str, dtype: np.dtype[Any]) -> str:
    """Converts an item in memory to the value that texts compute with."""
    return f"half_to_float({item})" if dtype.char == "e" else item


def converted(item: str, read: np.dtype[Any], dtype: np.dtype[Any]) -> str:
    """Converts an item of dtype `read` to the value that texts compute with where `dtype` is declared."""
    if dtype.char != "e" or read.char == "e":
        return loaded(item, read)
    rounded = f"double_to_half({item})" if read.char == "d" else f"float_to_half((float){item})"
    return loaded(rounded, dtype)


def stored(value: str, dtype: np.dtype[Any]) -> str:
    """Converts a value to an item in memory."""
    return f"float_to_half({value})" if dtype.char == "e" else value


def raw_accessor(raw: Raw) -> str:
    """Defines raw__X(k), element k in C order."""
    name, ndim, c_type = raw.operand, raw.ndim or 0, raw.c_type
    const = "" if raw.written else "const "
    if raw.dense and ndim:
        if c_type == "_Bool" and not raw.written:
            item = f"((_Bool)((const npy_bool *)data_slice__{name})[k])"
        else:
            item = f"((({const}{c_type} *)data_slice__{name})[k])"
    elif ndim == 0:
        item = f"((void)(k), item__{name}())"
    elif ndim == 1:
        item = f"item__{name}(k)"
    else:
        indices = ["cwj_number"]
        for axis in range(ndim - 1, 0, -1):
            last = indices.pop(0)
            dim = f"dims_slice__{name}[{axis}]"
            indices = [f"{last} / {dim}", f"({last}) % {dim}", *indices]
            indices[0] = f"({indices[0]})"
        value = f"item__{name}({', '.join(indices)})"
        if raw.written:
            item = f"(*({{ const npy_intp cwj_number = (k); &{value}; }}))"
        else:
            item = f"({{ const npy_intp cwj_number = (k); {value}; }})"
    if ndim == 0 and raw.written:
        item = f"(*(&item__{name}() + 0 * (k)))"
    along = ", ".join(f"along({axis})" for axis in range(ndim))
    at = f"item__{name}({along})"
    if c_type == "cwj_half":
        item, at = f"half_to_float({item})", f"half_to_float({at})"
    element = f"raw_in__{name}({checked_element(raw, 'k')})\n#define raw_in__{name}(k) {item}"
    return f"#define raw__{name}(k) {element if raw.checked else item}\n#define raw_at__{name}(along) {at}\n"


def letter_types(types: Mapping[str, np.dtype[Any]]) -> str:
    """Defines the letters of types in C; T(0) is a cast, as in C++."""
    text = ""
    for letter, dtype in types.items():
        name = value_type(dtype)
        made = f"(({name})(__VA_ARGS__))"
        if dtype.kind == "c":
            made = f"cwr_parts(cwj_make_{name}, __VA_ARGS__, 0, 0)"
        text += f"typedef {name} {letter};\n#define {letter}(...) {made}\n"
    return text


def helpers(preamble: str, used: set[str], dtypes: Iterable[np.dtype[Any]]) -> tuple[str, str]:
    """Returns the text before and after the preamble: functions that C has separately for each type."""
    chars = {each.char for each in dtypes}
    own = {name for name in words(preamble) if re.search(_DEFINITION % (name, name), preamble)}
    wanted = (used & (_HELPERS.keys() | _BY_TYPE)) - own
    front = "".join(
        f"#define {word} {meant}\n"
        for word, meant in _OTHER_WORDS.items()
        if word.partition("(")[0] in used - own
    )
    if "rsqrt" in used - own:
        wanted |= {"sqrt"} - own
    early = bool(wanted & words(preamble)) or "__" in preamble or not chars.isdisjoint("eFD")
    text = "#include <numpy/halffloat.h>\n" if "e" in chars else ""
    if early and "include" in preamble:
        text += "#include <math.h>\n"
    typed = frozenset() if chars.isdisjoint("efgF") else wanted & _BY_TYPE
    if typed <= _PLAIN and "tgmath" not in preamble:
        for name in sorted(typed):
            text += (
                f"#define {name}(x) _Generic((x), float: {name}f, long double: {name}l, default: {name})(x)\n"
            )
    else:
        text += "#include <tgmath.h>\n"
    text += "".join(helper for name, helper in _HELPERS.items() if name in wanted)
    once = "static" in words(preamble)  # C allows one "static"
    said = {name: meant for name, meant in _CUDA.items() if name in preamble}
    text += "".join(
        f"#define {name} {'' if once and meant == 'static' else meant}\n" for name, meant in said.items()
    )
    if not chars.isdisjoint("FD"):
        text += _complex_helpers(used - own, own)
    return (front + text, "") if early else (front, text)


def _complex_helpers(used: set[str], own: set[str]) -> str:
    """Includes <complex.h>, and defines C++'s functions that take complex numbers and others."""
    text = includes(used | {"CMPLX"}, own)
    text += "#include <math.h>\n#include <cwj_complex.h>\n"
    text += "#define cwr_parts(make, real, imag, ...) make(real, imag)\n"
    for name in sorted(used & _OF_ANY):
        others = f"float: {name}f, long double: {name}l, default: {name}"
        text += _COMPLEX_CALL.format(name=name, made=name, others=others)
    if "abs" in used:
        text += "static inline long long cwj_whole_abs(long long x) { return x < 0 ? -x : x; }\n"
        others = "float: fabsf, double: fabs, long double: fabsl, default: cwj_whole_abs"
        text += _COMPLEX_CALL.format(name="abs", made="absolute", others=others)
    return text + "".join(helper for name, helper in _COMPLEX_ALONE.items() if name in used)
