"""Tests the text of README and of the site: what the pages list, where they stand, how wide their code is."""

from __future__ import annotations

import re

import documents

ROOT, DOCS = documents.ROOT, documents.DOCS


def test_messages_and_pages_name_the_package_to_install() -> None:
    """`pip install cwrapjit[progress]` would look for cwrapjit in an index, which does not have it."""
    files = [*(ROOT / "cwrapjit").rglob("*.py"), *DOCS.rglob("*.md"), ROOT / "README.md"]
    named = {
        str(path.relative_to(ROOT)): found
        for path in files
        if "_build" not in path.parts
        if (found := re.findall(r"install.*\bcwrapjit\[.*", path.read_text(encoding="utf-8")))
    }
    assert named == {}
    extras = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    brought = re.findall(r"^notebook = \[(.*)\]$", extras, re.MULTILINE)[0]
    assert {"ipykernel", "ipywidgets", "tqdm"} <= set(re.findall(r'"([a-z]+)', brought))
