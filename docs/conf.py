"""How Sphinx makes a site of these pages: `make docs` writes it to docs/_build."""

from __future__ import annotations

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
ARGUMENTS = re.compile(r"[a-z_]+(?:, [a-z_]+)*: ")
MARKUP = re.compile(r"([\\*`|]|(?<=\w)_(?!\w))")


def _prose(line: str) -> str:
    made, end = "", 0
    for code in CODE.finditer(line):
        made += MARKUP.sub(r"\\\1", line[end : code.start()]) + rf"\ ``{code[1] or code[2]}``\ "
        end = code.end()
    return made + MARKUP.sub(r"\\\1", line[end:])


def plain_text(app: Any, what: str, name: str, of: Any, options: Any, lines: list[str]) -> None:
    """Docstrings are plain text: paragraphs, `code`, lines that begin with an argument and a colon, and
    examples, which begin with >>> or are indented."""
    made: list[str] = []
    kind = "prose"
    for line in lines:
        if not line.strip():
            kind = "prose"
        elif kind == "prose" and line.startswith(">>>"):
            kind = "example"
        elif kind == "prose" and line.startswith("    "):
            kind = "literal"
            made += ["", "::", ""]
        elif ARGUMENTS.match(line) and made and made[-1].endswith("."):
            made.append("")
        made.append(_prose(line) if kind == "prose" else line)
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
