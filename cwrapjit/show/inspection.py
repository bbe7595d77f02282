"""Makes `f??` in IPython show the C text of this package's objects. `f?` works without this.

IPython looks for the source of objects in Python only. The shell's inspector class can be replaced; ours
looks for C text first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cwrapjit.show.ctext import parts_of, users_texts

MOST_LETTERS = 200_000  # of a displayed text
_PARTS = {  # texts of kernels
    "cwrapjit.kernels.elementwise.ElementwiseKernel": ("preamble", "loop_prep", "operation", "after_loop"),
    "cwrapjit.kernels.reduction.ReductionKernel": ("preamble", "map_expr", "reduce_expr", "post_map_expr"),
}
_CLASSES = {
    "cwrapjit.Function",
    "cwrapjit.LibraryFunction",
    "cwrapjit.graph.Graph",
    "cwrapjit.kernels.vectorize.Deduced",
    *_PARTS,
}


def _class_of(shown: Any) -> str:
    """Returns the name of our class in the object's MRO, or ""."""
    names = (f"{each.__module__}.{each.__qualname__}" for each in type(shown).__mro__)
    return next((name for name in names if name in _CLASSES), "")


def source_of(shown: Any) -> str | None:
    """Returns the C text of a function, kernel or graph, or None."""
    kind = _class_of(shown)
    if kind == "cwrapjit.Function":
        return _joined(users_texts(shown, shown._facts()["texts"]))
    if kind == "cwrapjit.graph.Graph":
        return _cut("\n".join(part.text for part in parts_of(shown.source)))
    if kind == "cwrapjit.kernels.vectorize.Deduced":
        shared = vars(shown).get("_shared")
        return None if shared is None else _cut(shared.text.source)
    given = {**vars(shown), **vars(shown).get("_settings", {})} if kind in _PARTS else {}
    parts = [(part, given[part]) for part in _PARTS.get(kind, ()) if given.get(part)]
    return _joined(parts) if parts else None


def _joined(parts: Iterable[tuple[str, object]]) -> str:
    given = [(name, str(text)) for name, text in parts]
    if len(given) == 1:
        return _cut(given[0][1])
    return _cut("\n\n".join(f"/* {name} */\n{text}" for name, text in given))


def _cut(text: str) -> str:
    return text if len(text) <= MOST_LETTERS else f"{text[:MOST_LETTERS]}\n..."


def _with_doc(shown: Any, text: str) -> str:
    """Puts the docstring in front of the text, as IPython shows only one of them."""
    doc = getattr(shown, "__doc__", None)
    if not isinstance(doc, str) or not doc.strip() or doc == type(shown).__doc__:
        return text
    if all(line.strip() in text for line in doc.split("\n")):
        return text
    return f"/* {doc.strip().replace('*/', '* /')} */\n{text}"


def _improve(found: Any, shown: Any, level: int) -> None:
    """Removes the class's texts from IPython's findings about one of our objects, and adds the C text."""
    found.update(dict.fromkeys(("file", "call_def", "call_docstring", "class_docstring", "init_docstring")))
    text = source_of(shown) if level else None
    if text is not None:
        found["source"] = _with_doc(shown, text)


def _inspector(base: Any) -> Any:
    """Derives from the shell's inspector class one that shows C text."""

    def info(self: Any, shown: Any, *args: Any, **kwargs: Any) -> Any:
        found = base.info(self, shown, *args, **kwargs)
        if _class_of(shown):
            _improve(found, shown, kwargs.get("detail_level", args[2] if len(args) > 2 else 0))
        return found

    return type(base)(base.__name__, (base,), {"info": info, "_cwrapjit_base": base})


def register(shell: Any) -> None:
    """Makes `f??` show C text in this shell. A second call does nothing."""
    if not hasattr(shell.inspector, "_cwrapjit_base"):
        _use(shell, _inspector(type(shell.inspector)))


def unregister(shell: Any) -> None:
    """Restores the shell's inspector."""
    if hasattr(shell.inspector, "_cwrapjit_base"):
        _use(shell, shell.inspector._cwrapjit_base)


def _use(shell: Any, inspector: Any) -> None:
    """Changes the class of the present inspector, which keeps its settings, and of later ones."""
    shell.inspector.__class__ = inspector
    shell.inspector_class = inspector
