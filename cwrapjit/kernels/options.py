"""Arguments that all kernels have: a name, flags of a compiler, options of function()."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

from cwrapjit._cwrapjit import CompileWarning, Function
from cwrapjit._errors import warn_user
from cwrapjit._options import check, unknown
from cwrapjit._tokens import code, words
from cwrapjit.kernels.parameters import Parameter, refuse_at

_OF_CALLS = ("axis", "dtype", "keepdims", "out", "size")
_OURS = ("cwr_", "raw__", "raw_at__", "raw_in__")
_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*\Z")


def check_name(name: Any, kind: str) -> None:
    """Refuses invalid names of kernels."""
    if not isinstance(name, str):
        raise TypeError(f"{kind}(): name must be a str, not {type(name).__name__}")
    if not _NAME.match(name):
        raise ValueError(f"Invalid kernel name: {name!r}")


def check_texts(who: str, texts: Mapping[str, Any]) -> None:
    for what, text in texts.items():
        if not isinstance(text, str):
            raise TypeError(f"{who}: {what} must be a str, not {type(text).__name__}")
        found = code(text) if "#" in text else []
        for before, name in itertools.pairwise(found):
            if before.text in ("define", "undef") and name.text.startswith(_OURS):
                problem = f"{name.text!r} is a name of generated code: a macro needs another one, found"
                refuse_at(text, name.at, who, what, problem)


def warn_of_unset(who: str, outputs: Sequence[Parameter], texts: Iterable[str]) -> None:
    """Warns of `x * 2` instead of `y = x * 2`: a new y would be uninitialised."""
    used = words(*texts)
    for each in outputs:
        if each.name not in used:
            message = f"{who}: no text names the output {each.name!r}: nothing is written to it"
            warn_user(message, CompileWarning)


def line_of(kind: str, name: str, inputs: str, outputs: str) -> str:
    """Returns repr() of a kernel."""
    return f"<{kind} {name}({' '.join(inputs.split())}) -> {' '.join(outputs.split())}>"


def missing(kernel: Any, name: str) -> NoReturn:
    """__getattr__ of kernels: refers to .functions for attributes of Function."""
    more = ""
    if not name.startswith("_") and hasattr(Function, name):
        more = "; each of its .functions has, one for each combination of types that calls have made"
    raise AttributeError(f"{type(kernel).__name__!r} object has no attribute {name!r}{more}")


def read(
    flags: Sequence[str], named: Mapping[str, Any], known: frozenset[str], kind: str, who: str
) -> dict[str, Any]:
    """Returns options of function(): those given by keyword, and the meaning of flags such as -DN=3."""
    for option in named:
        if option in _OF_CALLS:
            raise unknown(f"{kind}()", option, (), "; calls of the kernel have it")
    check(f"{kind}()", named, sorted(known))
    meant = _meant(flags, who)
    made = {**meant, **named}
    for each in meant.keys() & named.keys() & {"define_macros", "include_dirs"}:
        made[each] = [*meant[each], *named[each]]
    return made


def _meant(flags: Sequence[str], who: str) -> dict[str, Any]:
    flags = flags if isinstance(flags, str) else tuple(flags)
    if isinstance(flags, str) or not all(isinstance(each, str) for each in flags):
        raise TypeError(f"{who}: options must be a tuple of flags such as '-DN=3'")
    macros: list[str] = []
    folders: list[str] = []
    made: dict[str, Any] = {}
    for flag in flags:
        if flag.startswith("-D") and len(flag) > 2:
            macros.append(flag[2:])
        elif flag.startswith("-I") and len(flag) > 2:
            folders.append(flag[2:])
        elif flag in ("-ffast-math", "--use_fast_math", "-use_fast_math"):
            made["fastmath"] = True
        elif not re.match(r"--?std=|-O\d$", flag):
            raise ValueError(
                f"{who}: options: {flag!r} is not known; wanted -DNAME=VALUE, -IFOLDER, -ffast-math"
            )
    made |= {"define_macros": macros} if macros else {}
    return made | ({"include_dirs": folders} if folders else {})
