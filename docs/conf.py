"""How Sphinx makes a site of these pages: `make docs` writes it to docs/_build."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from pathlib import Path
from typing import Any

import cwrapjit

sys.path.insert(0, str(Path(__file__).parent / "pictures"))
import gallery

project = "cwrapjit"
author = copyright = "the cwrapjit developers"
version = release = cwrapjit.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_enable_extensions = ["colon_fence", "attrs_inline"]
myst_heading_anchors = 4
exclude_patterns = ["_build"]

html_theme = "furo"
html_title = "cwrapjit"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False

autodoc_typehints = "none"
smartquotes = False
autodoc_member_order = "groupwise"

# In docstrings: what is code, what begins with names of arguments, and what reStructuredText would take for
# markup in the rest.
CODE = re.compile(
    r"""`([^`]+)`|(?<![\w.%])(\w[\w.]*\(\)|\$?\w[\w.]*_\w+=?|'[^']+'|"[^"]+")(?![\w(])""",
)
ARGUMENTS = re.compile(r"([A-Za-z_]\w*(?:, [A-Za-z_]\w*)*): ")
MARKUP = re.compile(r"([\\*`|]|(?<=\w)_(?!\w))")


def _prose(line: str) -> str:
    made, end = "", 0
    for code in CODE.finditer(line):
        made += MARKUP.sub(r"\\\1", line[end : code.start()]) + rf"\ ``{code[1] or code[2]}``\ "
        end = code.end()
    return made + MARKUP.sub(r"\\\1", line[end:])


def _kinds(of: Any) -> dict[str, str]:
    """Returns the types and defaults of parameters, as text for a reader."""
    try:
        parameters = inspect.signature(of).parameters.values()
    except (TypeError, ValueError):  # no callable, or one without a signature
        return {}
    made = {}
    for each in parameters:
        said = "" if each.annotation is each.empty else str(each.annotation)
        kind = "" if said == "Any" or said.startswith("Unpack[") else said
        kind = re.sub(r"Literal\[([^\]]*)\]", lambda found: found[1].replace(", ", " | "), kind)
        usual = "" if each.default is each.empty else f"default ``{each.default!r}``"
        made[each.name] = ", ".join(filter(None, [kind and f"``{kind}``", usual]))
    return made


# The types of attributes that are written in C: {"Function.tier": "str"}. Setters follow getters.
STUBS = ast.parse(Path(cwrapjit.__file__).with_name("_cwrapjit.pyi").read_text(encoding="utf-8"))
ATTRIBUTES = {
    f"{kind.name}.{each.name}": ast.unparse(each.returns)
    for kind in STUBS.body
    if isinstance(kind, ast.ClassDef)
    for each in reversed(kind.body)
    if isinstance(each, ast.FunctionDef) and each.returns is not None
}


def _type_of(name: str, of: Any) -> str:
    """Returns the type of an attribute, as text for a reader; "" if it is unknown or a name of the stubs."""
    if isinstance(of, property):
        kind = str(inspect.signature(of.fget).return_annotation) if of.fget else ""
    else:
        kind = ATTRIBUTES.get(".".join(name.split(".")[-2:]), "")
    return "" if kind.startswith("_") or kind in ("Any", "object") else kind


def _item(names: str, kinds: dict[str, str]) -> str:
    """Makes the start of an item for some parameters, with their types: once, if they are the same."""
    listed = names.split(", ")
    said = [kinds.get(name, "") for name in listed]
    said = said if len(set(said)) > 1 else [""] * (len(said) - 1) + said[:1]
    shown = (f"**{name}**{kind and f' ({kind})'}" for name, kind in zip(listed, said, strict=True))
    return f"* {', '.join(shown)}: "


def plain_text(app: Any, what: str, name: str, of: Any, options: Any, lines: list[str]) -> None:
    """Docstrings are plain text: paragraphs, `code`, lines that begin with parameters and a colon, and
    examples, which begin with >>> or are indented."""
    made: list[str] = []
    kind, kinds = "prose", _kinds(of)
    if what in ("attribute", "property") and lines and (its_type := _type_of(name, of)):
        made.append(f"(``{its_type}``)")
    for line in lines:
        found = ARGUMENTS.match(line)
        if not line.strip():
            kind = "prose"
        elif kind == "prose" and line.startswith(">>>"):
            kind = "example"
        elif kind == "prose" and line.startswith("    "):
            kind = "literal"
            made += ["", "::", ""]
        elif kind in ("prose", "item") and found and made and (not made[-1] or made[-1].endswith(".")):
            kind = "item"
            made += ["", _item(found[1], kinds) + _prose(line[found.end() :])]
            continue
        made.append(f"  {_prose(line)}" if kind == "item" else _prose(line) if kind == "prose" else line)
    lines[:] = made


def make_ready(app: Any, page: str, source: list[str]) -> None:
    """index.md lists pages, one a line, some of them before they are written; what is beside docs/ has pages
    here that include it, and links to them work in the checkout and in the site."""

    def is_there(line: str) -> bool:
        return not re.fullmatch(r"[a-z/*]+", line) or any(Path(app.srcdir).glob(f"{line}.md"))

    if page == "gallery":
        source[0] = gallery.with_pictures(source[0], "gallery")
    if page == "index":
        source[0] = "\n".join(filter(is_there, source[0].split("\n")))
    source[0] = re.sub(
        r"\]\((?:\.\./)+(SECURITY|ARCHITECTURE)\.md", lambda found: f"](/{found[1].lower()}.md", source[0]
    )


def draw_gallery(app: Any) -> None:
    if app.builder.format == "html":
        gallery.draw(Path(app.outdir) / "gallery")


def setup(app: Any) -> None:
    app.connect("builder-inited", draw_gallery)
    app.connect("source-read", make_ready)
    app.connect("autodoc-process-docstring", plain_text)
