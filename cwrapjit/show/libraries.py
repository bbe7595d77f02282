"""Displays libraries: the mapped functions, and those without a mapping, with the reason.

This compiles nothing and reads no header."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from cwrapjit._cwrapjit import Function, LibraryFunction
from cwrapjit._imports import load
from cwrapjit.show.functions import attempt, called, docstring
from cwrapjit.show.page import MOST_ROWS, Markup, box, code, facts, fold, table, text

if TYPE_CHECKING:
    from cwrapjit.library.library import Core


def _declared(core: Core, name: str, member: Any) -> str:
    """Describes a callable in a line: its C declaration, or its Python signature."""
    if isinstance(member, LibraryFunction) or (member is not None and isinstance(member.__doc__, str)):
        first: str = (member.__doc__ or "").strip().partition("\n")[0]
        if first:
            return first
    if isinstance(member, Function):
        return member.signature
    found = core.declared.prototypes.get(name)
    if member is None and found is not None:
        declared: str = load("cwrapjit.library.signatures").signature(found)
        return declared
    return "" if member is None else called(member)


def _pending(core: Core, name: str) -> Any:
    """Returns the description of a function that is not made yet, or None."""
    mapped = getattr(core.table.get(name), "mapped", None)
    return mapped[name].function if isinstance(mapped, dict) and name in mapped else None


def _mapped(core: Core, name: str) -> Markup:
    waiting, made = _pending(core, name), core.table.get(name)
    shown = waiting.doc.partition("\n")[0] if waiting is not None else ""
    made = None if hasattr(made, "finish") else made  # units.Later
    return code(shown or _declared(core, name, made))


def _listed(what: str, said: str, names: Sequence[str], cell: Callable[[str], Markup]) -> Markup:
    """Displays a cell for each of the names."""
    rows = [[code(name), cell(name)] for name in names[:MOST_ROWS]]
    return fold(f"{len(names):,} {what}", table(("name", said), rows, len(names)), opened=len(names) <= 20)


def _names(names: Iterable[str]) -> Markup | None:
    found = sorted(names)
    more = f" and {len(found) - MOST_ROWS:,} more" if len(found) > MOST_ROWS else ""
    return code(", ".join(found[:MOST_ROWS]) + more, 4000) if found else None


def of_library(shown: Any) -> str:
    core = vars(shown).get("_core")
    if core is None:
        return box("library", text("without a name: __init__() did not run"))
    unmapped, unread = dict(core.declared.unmapped), core.declared.unread_texts()
    members = dict(core.table)
    return box(
        "library",
        code(core.name),
        facts(
            [
                ("", docstring(shown)),
                ("headers read by", text(core.declarations.preprocessor.headers_by)),
                ("variables", _names(core.variables)),
                ("classes", _names(name for name, each in members.items() if isinstance(each, type))),
            ]
        ),
        _listed("mapped", "declaration", core.mapped_so_far(), lambda name: _mapped(core, name)),
        _listed("declared and not used yet", "declaration", sorted(unread), lambda name: code(unread[name]))
        if unread
        else Markup(""),
        _listed("unmapped", "reason", sorted(unmapped), lambda name: text(unmapped[name]))
        if unmapped
        else Markup(""),
    )


def of_function(shown: LibraryFunction) -> str:
    error = attempt(lambda: shown.tier_error)
    return box(
        "function of a library",
        code(shown.__dict__.get("__qualname__", "without name")),
        facts(
            [
                ("call", code(called(shown))),
                ("", docstring(shown)),
                ("address", code(hex(shown.address)) if shown.address else None),
                ("refused by the system's compiler", text(error) if error is not None else None),
            ]
        ),
    )


def of_interface(shown: Any) -> str:
    found = vars(shown).get("functions", ())
    rows = [[code(called(each)), code((each.__doc__ or "").partition("\n")[0])] for each in found[:MOST_ROWS]]
    return box(
        "interface",
        code(vars(shown).get("__qualname__", "without name")),
        table(("tried in this order", "declaration"), rows, len(found)),
    )
