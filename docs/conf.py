"""How Sphinx makes a site of these pages: `make docs` writes it to docs/_build."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import cwrapjit

project = "cwrapjit"
author = copyright = "the cwrapjit developers"
version = release = cwrapjit.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_enable_extensions = ["colon_fence", "attrs_inline"]
myst_heading_anchors = 4
exclude_patterns = ["_build"]

html_theme = "furo"
html_title = "cwrapjit"
html_copy_source = False
html_show_sphinx = False

autodoc_typehints = "none"
autodoc_member_order = "groupwise"

# What reStructuredText would take for markup.
MARKUP = re.compile(r"([\\*`|]|(?<=\w)_(?!\w))")
CODE = re.compile(r"`([^`]+)`")


def _prose(line: str) -> str:
    parts = CODE.split(line)
    return "".join(f"``{part}``" if i % 2 else MARKUP.sub(r"\\\1", part) for i, part in enumerate(parts))


def plain_text(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Docstrings are plain text: paragraphs, `code`, and examples that begin with >>> or are indented."""
    made: list[str] = []
    in_example = False
    for line in lines:
        if line.startswith(">>>"):
            in_example = True
        elif not line.strip():
            in_example = False
        if in_example:
            made.append(line)
        elif line.startswith("    "):
            if made and not made[-1].startswith("    ") and made[-1] != "":
                made.append("")
            if not made or not _is_in_literal(made):
                made += ["::", ""]
            made.append(line)
        else:
            made.append(_prose(line))
    lines[:] = made


def _is_in_literal(made: list[str]) -> bool:
    above = [line for line in made if line]
    return bool(above) and above[-1].startswith("    ")


def make_ready(app: Any, page: str, source: list[str]) -> None:
    """index.md lists pages, one a line, some of them before they are written; what is beside docs/ has pages
    here that include it, and links to them work in the checkout and in the site."""

    def is_there(line: str) -> bool:
        return not re.fullmatch(r"[a-z/*]+", line) or any(Path(app.srcdir).glob(f"{line}.md"))

    if page == "index":
        source[0] = "\n".join(filter(is_there, source[0].split("\n")))
    source[0] = re.sub(
        r"\]\((?:\.\./)+(SECURITY|ARCHITECTURE)\.md", lambda found: f"](/{found[1].lower()}.md", source[0]
    )


def setup(app: Any) -> None:
    app.connect("source-read", make_ready)
    app.connect("autodoc-process-docstring", plain_text)
