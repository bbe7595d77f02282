"""Displays functions and modules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import Any

from cwrapjit import _explain
from cwrapjit._cwrapjit import Function
from cwrapjit.show import ctext
from cwrapjit.show.page import (
    BLUNDERS,
    MOST_ROWS,
    Markup,
    box,
    code,
    escaped,
    facts,
    fold,
    joined,
    lines,
    listing,
    table,
    text,
)

_MOST_TYPES = 20
_MOST_DOC = 2000


def docstring(shown: Any) -> Markup | None:
    """Displays the object's own docstring."""
    found = getattr(shown, "__doc__", None)
    if not isinstance(found, str) or not found.strip():
        return None
    cut = found.strip() if len(found) <= _MOST_DOC else f"{found.strip()[:_MOST_DOC]}..."
    return Markup(f'<span style="white-space:pre-wrap">{escaped(cut)}</span>')


def duration(ns: int) -> str:
    if ns < 1_000_000:
        return f"{ns / 1e3:.3g} µs"
    return f"{ns / 1e6:.3g} ms" if ns < 1_000_000_000 else f"{ns / 1e9:.3g} s"


def called(shown: Any) -> str:
    """Returns the call, as "f(a, b, out=None)"."""
    try:
        return f"{shown.__name__}{shown.__signature__}"
    except BLUNDERS:
        return "(...)"


# ---- tiers -------------------------------------------------------------------------------------------------


def attempt(read: Callable[[], Any]) -> Any:
    """Returns the result of read(), or the exception that it raises."""
    try:
        return read()
    except BLUNDERS as error:
        return error


def tier(shown: Any) -> str:
    """Returns the name of the tier whose code runs."""
    return "cc tier" if attempt(lambda: shown.tier) == "cc" else "tcc tier"


def tier_cell(shown: Any, more: str) -> Markup:
    """Says which tier's code runs, and why. more: added if there is no error."""
    if attempt(lambda: shown.tier) == "cc":
        return text("cc: the system compiler's code")
    error = attempt(lambda: shown.tier_error)
    if error is None:
        return text(f"tcc: libtcc's code{more}")
    message = str(error)
    first = message.partition("\n")[0]
    if message == first and len(first) < 200:
        return text(f"tcc: {first}")
    whole = fold(first[:200], listing(escaped(message[:4000])))
    return joined([text("tcc: the system's compiler refused it"), whole])


def _why(figures: dict[str, Any]) -> str:
    spent = duration(figures["loops_ns"]) if figures["loops_ns"] else "no time"
    return {
        "off": "; it stays there (optimize='off')",
        "new": f"; not hot yet: its loops have taken {spent}",
        "running": "; the system's compiler is at work",
    }.get(figures["tier_progress"], "")


# ---- functions ---------------------------------------------------------------------------------------------


def _types(types: Sequence[str]) -> Markup:
    shown = [code(each) for each in types[:_MOST_TYPES]]
    more = len(types) - len(shown)
    return lines([*shown, *([text(f"and {more:,} more")] if more else [])])


def _named(values: dict[str, Any]) -> Markup | None:
    """Displays computed dims, or windows."""
    shown = []
    for name, value in list(values.items())[:_MOST_TYPES]:
        options = value.items() if isinstance(value, dict) else ()
        said = ", ".join(f"{key}={option!r}" for key, option in options if option is not None)
        shown.append(code(f"{name}: {said or value}"))
    return lines(shown) if shown else None


def of_function(shown: Function) -> str:
    figures = shown._facts()
    return box(
        "function",
        code(figures["qualname"]),
        facts(
            [
                ("prototype", code(shown.signature)),
                ("call", code(called(shown))),
                ("", docstring(shown)),
                ("types", _types(shown.types)),
                ("computed dims", _named(shown.output_dims)),
                ("windows", _named(shown.windows)),
                ("tier", tier_cell(shown, _why(figures))),
                ("compiled in", text(duration(figures["defined_ns"]))),
                ("calls", text(f"{figures['calls']:,}")),
            ]
        ),
        ctext.folds(shown, figures["texts"]),
    )


_FIGURES = ("types", "tier", "compiled in", "calls")


def _figures(shown: Function) -> list[Markup]:
    """Returns the cells for _FIGURES."""
    figures = shown._facts()
    compiled, calls = text(duration(figures["defined_ns"])), text(f"{figures['calls']:,}")
    return [_types(shown.types), text(tier(shown)), compiled, calls]


def compiled_table(functions: Iterable[Function]) -> Markup:
    """Displays the functions compiled for the types of calls."""
    made = list(functions)
    if not made:
        return text("nothing yet: the first call compiles")
    return table(_FIGURES, list(map(_figures, made[:MOST_ROWS])), len(made))


# ---- explanations of the cc tier
# -----------------------------------------------------------------------------


def _explained(function: dict[str, Any]) -> Markup:
    loops = list(map(_explain.told, function["loops"][:MOST_ROWS]))
    rows = [[code(place), text(made), lines(map(text, reasons))] for place, made, reasons in loops]
    found = table(("loop", "what became of it", "why not more"), rows, len(function["loops"]))
    return fold(_explain.head(function), joined([found, text(_explain.calls(function))]), opened=True)


def of_explanation(shown: _explain.Explanation) -> str:
    by = facts([("by", code(shown.compiler))])
    return box("explanation of", code(shown.name), by, *map(_explained, shown.functions[:MOST_ROWS]))


# ---- modules -----------------------------------------------------------------------------------------------


def of_module(shown: ModuleType) -> str:
    attributes = dict(vars(shown) or {})  # None in Python 3.10 before __init__()
    found = [(name, each) for name, each in attributes.items() if isinstance(each, Function)]
    rows = [[code(name), code(each.signature), *_figures(each)] for name, each in found[:MOST_ROWS]]
    heads = ("function", "prototype", *_FIGURES)
    return box(
        "module",
        code(attributes.get("__name__", "without name")),
        facts([("", docstring(shown))]),
        table(heads, rows, len(found)) if found else text("no functions yet: .function() makes them"),
    )
