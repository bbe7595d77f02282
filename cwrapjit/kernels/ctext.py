"""The C text of an elementwise kernel: what CuPy's C++ has and C does not, as C.

Only words of the kernel's own are changed: `_ind.size()`, and of raw parameters `x[k]`, `x.size()` and its
kin. Everything else stands as the user wrote it, on its own line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cwrapjit.kernels.parameters import refuse_at

# Comments and literals, names, numbers, and single characters.
_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'|[A-Za-z_]\w*|\.?\d(?:[eEpP][+-]|[\w.])*|\s+|.""",
    re.DOTALL,
)
_NAME = re.compile(r"[A-Za-z_]\w*\Z")
_BLANK = re.compile(r"\s+\Z|//|/\*")

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

# What C++ has for any type: the smaller, the larger (a number beside what is none), the absolute value. Calls
# of fmin() and its like would take longer to compile.
_EXTREME = """#define {name}(a, b) ({{ const __typeof__((a) + (b)) cwj_a = (a), cwj_b = (b); \\
    (cwj_b {sign} cwj_a) | (cwj_a != cwj_a) ? cwj_b : cwj_a; }})
"""
_HELPERS = {
    "min": _EXTREME.format(name="min", sign="<"),
    "max": _EXTREME.format(name="max", sign=">"),
    "abs": "#define abs(a) ({ const __typeof__((a) + 0) cwj_a = (a); cwj_a < 0 ? -cwj_a : cwj_a + 0; })\n",
}


class Raw(NamedTuple):
    """How a raw parameter is reached in one combination of types."""

    name: str
    operand: str  # its name in the function
    ndim: int | None  # None: a scalar
    dense: bool  # C-contiguous: a C array
    written: bool
    c_type: str


def tokens(text: str) -> list[str]:
    return _TOKEN.findall(text)


def words(*texts: str) -> set[str]:
    """The names in texts; what is in comments and literals is none."""
    return {token for text in texts for token in tokens(text) if _NAME.match(token)}


def check_words(text: str, who: str, what: str) -> None:
    """Refuse what has no meaning where elements are items of a loop."""
    at = 0
    for token in tokens(text):
        if token == "return":
            problem = (
                "return would end a thread, and here is none; continue goes on with the next element, found"
            )
            refuse_at(text, at, who, what, problem)
        if token.startswith("_raw_"):
            refuse_at(text, at, who, what, f"{token} is of a thread, and here is none: declare it raw, found")
        at += len(token)


def _next(parts: Sequence[str], at: int) -> int:
    """The place of the next token that is no blank and no comment."""
    at += 1
    while at < len(parts) and _BLANK.match(parts[at]):
        at += 1
    return at


def _follows(parts: Sequence[str], at: int, wanted: Sequence[str]) -> int | None:
    """Where these tokens end that stand behind place `at`; None: others do."""
    for each in wanted:
        at = _next(parts, at)
        if at >= len(parts) or parts[at] != each:
            return None
    return at


def _replaced(parts: Sequence[str], at: int, facts: dict[str, str]) -> tuple[str, int] | None:
    """What takes the place of `.size()` behind a name, and the last token of it."""
    for fact, text in facts.items():
        wanted = [".", "ndim"] if fact == "ndim" else [".", fact, "(", ")"]
        end = _follows(parts, at, wanted)
        if end is not None:
            return text, end
    return None


_INDEX_FACTS = {
    "size": "(Ndims_full__i ? dims_full__i[0] * strides_full__i[0] : 1)",
    "ndim": "Ndims_full__i",
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


def rewrite(text: str, raws: Iterable[Raw], who: str, what: str) -> str:
    """Put C in the place of `_ind.size()`, `_ind.get()[axis]`, and of what is done to raw parameters."""
    by_name = {raw.name: raw for raw in raws}
    parts = tokens(text)
    closing: list[
        tuple[str, str]
    ] = []  # of each bracket that is open, what closes it, and what stands there then
    made: list[str] = []
    at = position = 0
    while at < len(parts):
        token, end = parts[at], at
        raw = by_name.get(token)
        found = None
        if token == "_ind":
            found = _replaced(parts, at, _INDEX_FACTS)
            opened = _follows(parts, at, [".", "get", "(", ")", "["])
            if found is None and opened is not None:
                found = "cwj_index_along(", opened
                closing.append(("]", ")"))
            elif found is None:
                refuse_at(text, position, who, what, "wanted _ind.size(), _ind.get()[axis] or _ind.ndim")
        elif raw is not None and not _is_member(parts, at):
            found = _replaced(parts, at, _raw_facts(raw))
            opened = _follows(parts, at, ["["])
            if found is None and opened is not None:
                if raw.ndim is None:
                    raise TypeError(f"{who}: {raw.name!r} is raw and a scalar here, but {what} indexes it")
                found = f"raw__{raw.operand}(", opened
                closing.append(("]", ")"))
            elif found is None and raw.ndim is not None:
                problem = f"{token} is raw: only an element of it, {token}[k], is a value; {token} alone"
                refuse_at(text, position, who, what, problem)
        elif token in "([{":
            closing.append((")]}"["([{".index(token)],) * 2)
        elif closing and token == closing[-1][0]:
            token = closing.pop()[1]
        if found is not None:
            token, end = found
            token += "\n" * "".join(parts[at : end + 1]).count("\n")  # lines stay where they are
        made.append(token)
        position += sum(map(len, parts[at : end + 1]))
        at = end + 1
    return "".join(made)


def _is_member(parts: Sequence[str], at: int) -> bool:
    """True for the name of a struct's member."""
    before = at - 1
    while before >= 0 and _BLANK.match(parts[before]):
        before -= 1
    return before >= 0 and (parts[before] == "." or (parts[before] == ">" and parts[before - 1] == "-"))


def raw_accessor(raw: Raw, checked: bool) -> str:
    """#define of raw__X(k), element k in C order."""
    name, ndim, c_type = raw.operand, raw.ndim or 0, raw.c_type
    const = "" if raw.written else "const "
    if raw.dense and ndim and not checked:
        if c_type == "_Bool" and not raw.written:
            item = f"((_Bool)((const npy_bool *)data_slice__{name})[k])"
        else:
            item = f"((({const}{c_type} *)data_slice__{name})[k])"
    elif ndim == 0:
        item = f"((void)(k), item__{name}())"
    elif ndim == 1:
        item = f"item__{name}(k)"
    else:
        indices = ["cwj_k"]
        for axis in range(ndim - 1, 0, -1):
            last = indices.pop(0)
            dim = f"dims_slice__{name}[{axis}]"
            indices = [f"{last} / {dim}", f"({last}) % {dim}", *indices]
            indices[0] = f"({indices[0]})"
        value = f"item__{name}({', '.join(indices)})"
        if raw.written:
            item = f"(*({{ const npy_intp cwj_k = (k); &{value}; }}))"
        else:
            item = f"({{ const npy_intp cwj_k = (k); {value}; }})"
    if ndim == 0 and raw.written:
        item = f"(*(&item__{name}() + 0 * (k)))"
    return f"#define raw__{name}(k) {item}\n"


def helpers(preamble: str, used: set[str], has_float: bool) -> tuple[str, str]:
    """What stands before and behind the preamble: functions that C has one of for each type."""
    wanted = used & (_HELPERS.keys() | _BY_TYPE)
    wanted -= {name for name in wanted & words(preamble) if re.search(_DEFINITION % (name, name), preamble)}
    early = bool(wanted & words(preamble))
    text = "#include <math.h>\n" if early and "include" in preamble else ""
    typed = wanted & _BY_TYPE if has_float else frozenset()
    if typed <= _PLAIN and "tgmath" not in preamble:
        for name in sorted(typed):
            text += (
                f"#define {name}(x) _Generic((x), float: {name}f, long double: {name}l, default: {name})(x)\n"
            )
    else:
        text += "#include <tgmath.h>\n"
    text += "".join(helper for name, helper in _HELPERS.items() if name in wanted)
    return (text, "") if early else ("", text)
