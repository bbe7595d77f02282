"""The C text of an elementwise kernel: what CuPy's C++ has and C does not, as C.

Only words of the kernel's own are changed: `_ind.size()`, and of raw parameters `x[k]`, `x.size()` and its
kin. Everything else stands as the user wrote it, on its own line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from cwrapjit._cwrapjit import CompileError
from cwrapjit._tokens import Token, closes, code, words
from cwrapjit.kernels.parameters import refuse_at
from cwrapjit.kernels.scalars import includes, value_type

# What float32 has functions of its own for. Those of the second list are macros already, or take several
# arguments: <tgmath.h> knows them, but takes half a millisecond.
_PLAIN = frozenset(
    "acos asin atan acosh asinh atanh cos sin tan cosh sinh tanh exp exp2 expm1 log log10 log1p log2 logb "
    "cbrt fabs sqrt erf erfc lgamma tgamma".split()
)
_BY_TYPE = _PLAIN | set(
    "ceil floor nearbyint rint round trunc pow hypot atan2 fmod remainder copysign nextafter fdim fmax fmin "
    "fma".split()
)
_DEFINITION = r"#\s*define\s+%s\b|\b%s\s*\([^;{}]*\)\s*\{"  # of a name
# Types whose names C++ calls, as in float(x), and words in front of them that make it a declaration.
_CAST = re.compile(
    r"(bool|char|short|int|long|float|double|unsigned|signed|s?size_t|ptrdiff_t|u?int\d+_t"
    r"|npy_(u?int(\d+|p)|float(32|64)|longdouble|bool))\Z"
)
_NO_CAST = frozenset(
    "const volatile static extern inline typedef unsigned signed long short struct union enum".split()
)

# What C++ has for any type: the smaller, the larger (a number beside what is none), the absolute value. Calls
# of fmin() and its like would take longer to compile. Two choices, as gcc vectorises no loop over floats that
# has both conditions in one.
_EXTREME = """#define {name}(a, b) ({{ const __typeof__((a) + (b)) cwj_a = (a), cwj_b = (b); \\
    const __typeof__((a) + (b)) cwj_c = cwj_b {sign} cwj_a ? cwj_b : cwj_a; \\
    cwj_a != cwj_a ? cwj_b : cwj_c; }})
"""
_HELPERS = {
    "min": _EXTREME.format(name="min", sign="<"),
    "max": _EXTREME.format(name="max", sign=">"),
    "abs": "#define abs(a) ({ const __typeof__((a) + 0) cwj_a = (a); cwj_a < 0 ? -cwj_a : cwj_a + 0; })\n",
}


# What CUDA says of functions.
_CUDA = {"__device__": "static", "__host__": "", "__forceinline__": "inline", "__noinline__": ""}

# Words that kernels for a device have, and C spells otherwise or not at all.
_OTHER_WORDS = {
    "and": "&&", "or": "||", "not": "!", "nullptr": "((void *)0)",
    "__popc": "__builtin_popcount", "__popcll": "__builtin_popcountll",
    "rsqrt(x)": "(1 / sqrt(x))", "rsqrtf(x)": "(1 / sqrtf(x))",
    "CUDART_INF": "((double)INFINITY)", "CUDART_INF_F": "((float)INFINITY)",
    "CUDART_NAN": "((double)NAN)", "CUDART_NAN_F": "((float)NAN)",
}  # fmt: skip


# What takes complex numbers as it takes others, by C++'s names, and what is complex numbers' alone.
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
    """What C writes for what has the methods of an index."""

    facts: Mapping[str, str]
    along: str = ""  # the macro of an axis that takes the place of .get()[axis]; "": it has no .get()


class Raw(NamedTuple):
    """How a raw parameter is reached in one combination of types."""

    name: str
    operand: str  # its name in the function
    ndim: int | None  # None: a scalar
    dense: bool  # C-contiguous: a C array
    written: bool
    c_type: str  # in memory
    checked: bool = False  # its indices, and axes in brackets, are looked at: debug=True


def without_unroll(text: str) -> str:
    """Less the pragma of CUDA's compiler, which others warn of."""
    return re.sub(r"^[ \t]*#[ \t]*pragma[ \t]+unroll\b.*$", "", text, flags=re.MULTILINE)


def check_words(text: str, who: str, what: str) -> None:
    """Refuse what has no meaning where elements are items of a loop."""
    for token in code(text):
        if token.text == "return":
            problem = (
                "return would end a thread, and here is none; continue goes on with the next element, found"
            )
            refuse_at(text, token.at, who, what, problem)
        if token.text.startswith("_raw_"):
            problem = f"{token.text} is of a thread, and here is none: declare it raw, found"
            refuse_at(text, token.at, who, what, problem)


def _unmatched(text: str) -> Token | None:
    """The bracket that closes nothing, or else the innermost that is not closed."""
    opened: list[Token] = []
    for token in code(text):
        word = token.text
        if word in "([{":
            opened.append(token)
        elif word in ")]}" and (not opened or opened.pop().text + word not in ("()", "[]", "{}")):
            return token
    return opened[-1] if opened else None


def check_brackets(text: str, who: str, what: str) -> None:
    """Refuse those that do not match: C would take what stands around the text for a part of it."""
    found = _unmatched(text)
    if found is not None:
        wrong = "is not closed" if found.text in "([{" else "closes nothing"
        refuse_at(text, found.at, who, what, f"'{found.text}' {wrong}, found")


def check_expression(text: str, who: str, what: str, ends: str = ";") -> None:
    """Refuse brackets that do not match, and what stands behind an expression, which C would take for
    something of its own."""
    check_brackets(text, who, what)
    depth = 0
    for token in code(text):
        depth += (token.text in "([{") - (token.text in ")]}")
        if not depth and token.text in ends:
            refuse_at(
                text, token.at, who, what, f"an expression has no '{token.text}' outside of brackets, found"
            )


def show(error: CompileError, place: tuple[str, int, str]) -> None:
    """An error in what became of a user's text is shown there: file, line, text."""
    before = (error.text or "").find(place[2])
    if before >= 0 and before < (error.offset or 0) <= before + len(place[2]):
        error.offset = (error.offset or 0) - before
        error.end_offset = error.end_offset and error.end_offset - before
    elif place[2] != error.text:  # C has seen another line, and the columns of that
        quoted = re.search(r"'(\w+|[][(){}])'", error.msg)
        word = quoted[1] if quoted else ""
        bracket = _unmatched(place[2]) if word in tuple("[](){}") else None
        found = re.search(rf"\b{word}\b", place[2]) if word.isidentifier() else None
        at = bracket.at if bracket is not None else found.start() if found else -1
        error.offset = at + 1 if at >= 0 else None
        error.end_offset = at + 1 + len(word) if at >= 0 else None
    error.filename, error.lineno, error.text = place
    error.args = (error.msg, (*place[:2], error.offset, place[2]))


def _follows(parts: Sequence[Token], at: int, wanted: Sequence[str]) -> int | None:
    """Where these tokens end that stand behind place `at`; None: others do."""
    end = at + len(wanted)
    return end if [each.text for each in parts[at + 1 : end + 1]] == list(wanted) else None


def _replaced(parts: Sequence[Token], at: int, facts: Mapping[str, str]) -> tuple[str, int] | None:
    """What takes the place of `.size()` behind a name, and the last token of it."""
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
    """An index that is looked at; text: what is said of one from `limit` on, where %S is."""
    return f'CWJ_NUMBER_WITHIN("{text}", {limit}, ({index}))'


def checked_axis(name: str, ndim: str, axis: str) -> str:
    return checked(f"{name} has no axis %S: it has %zd dims", ndim, axis)


def checked_element(raw: Raw, k: str) -> str:
    name, size = raw.name, _raw_facts(raw)["size"]
    return checked(f"{name}[%S] is out of range: {name} has %zd elements in C order", size, k)


def _indexed(
    parts: Sequence[Token], at: int, raw: Raw, indices: Mapping[str, Index]
) -> tuple[str, int] | None:
    """What takes the place of `x[` behind a raw parameter, or of all of `x[_ind.get()]`, and the last token
    of it."""
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
    """Put C in the place of float(x), `_ind.size()`, `_ind.get()[axis]`, and what is done to raw arrays."""
    by_name = {raw.name: raw for raw in raws}
    parts = code(text)
    ends: dict[int, str] = {}  # of brackets, by their places: what stands there then
    made: list[str] = []
    at = copied = 0
    while at < len(parts):
        token, position = parts[at].text, parts[at].at
        raw, index = by_name.get(token), indices.get(token)
        found: tuple[str, int] | None = None  # what takes its place, and the last token of that
        end = ")"  # of a bracket, if that is one
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
            made.append("\n" * text.count("\n", position, copied))  # lines stay where they are
        at += 1
    return "".join([*made, text[copied:]])


def _forms(name: str, index: Index) -> str:
    """What an index has, for messages: "_ind.size(), _ind.get()[axis] or _ind.ndim"."""
    forms = [f"{name}.{fact}" + "()" * (fact != "ndim") for fact in index.facts]
    if index.along:
        forms.insert(1, f"{name}.get()[axis]")
    return " or ".join([", ".join(forms[:-1]), forms[-1]] if len(forms) > 1 else forms)


def _is_cast(parts: Sequence[Token], at: int) -> bool:
    """Whether float(x) stands at this place, and no declaration of a pointer to a function or an array."""
    if _follows(parts, at, ["("]) is None or (at and parts[at - 1].text in _NO_CAST):
        return False
    end = closes(parts, at + 1)
    return _follows(parts, end, ["("]) is None and _follows(parts, end, ["["]) is None


def _is_member(parts: Sequence[Token], at: int) -> bool:
    """True for the name of a struct's member."""
    return at > 0 and parts[at - 1].text in (".", "->")


def loaded(item: str, dtype: np.dtype[Any]) -> str:
    """An item of memory as texts compute with it."""
    return f"half_to_float({item})" if dtype.char == "e" else item


def stored(value: str, dtype: np.dtype[Any]) -> str:
    """The reverse of it."""
    return f"float_to_half({value})" if dtype.char == "e" else value


def raw_accessor(raw: Raw) -> str:
    """#define of raw__X(k), element k in C order."""
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
    """What the letters of types are in C; T(0) is a cast, as in C++."""
    text = ""
    for letter, dtype in types.items():
        name = value_type(dtype)
        made = f"(({name})(__VA_ARGS__))"
        if dtype.kind == "c":
            made = f"cwr_parts(cwj_make_{name}, __VA_ARGS__, 0, 0)"
        text += f"typedef {name} {letter};\n#define {letter}(...) {made}\n"
    return text


def helpers(preamble: str, used: set[str], dtypes: Iterable[np.dtype[Any]]) -> tuple[str, str]:
    """What stands before and behind the preamble: functions that C has one of for each type."""
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
    once = "static" in words(preamble)  # C has it once
    said = {name: meant for name, meant in _CUDA.items() if name in preamble}
    text += "".join(
        f"#define {name} {'' if once and meant == 'static' else meant}\n" for name, meant in said.items()
    )
    if not chars.isdisjoint("FD"):
        text += _complex_helpers(used - own, own)
    return (front + text, "") if early else (front, text)


def _complex_helpers(used: set[str], own: set[str]) -> str:
    """<complex.h>, and functions that take complex numbers beside others, as in C++."""
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
