"""Tests that pages of docs/ that need other packages print what they promise, and that the site builds."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import documents
import pytest

import cwrapjit
import cwrapjit.graph as cg


@pytest.mark.row("U12")
@pytest.mark.parametrize("page", [*filter(documents.needs_peers, documents.pages())])
def test_pages_print_what_they_promise(page: str, tmp_path: Path) -> None:
    """Runs in its own process, as other packages start threads."""
    command = [sys.executable, documents.__file__, str(documents.DOCS / page)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def public_names() -> list[str]:
    """Returns the names that the API reference must have: all public ones, with attributes of classes."""
    classes = [cwrapjit.Function, cwrapjit.module, cwrapjit.Config, cg.Graph, cg.BoundGraph]
    of_classes = [(each, name) for each in classes for name in vars(each) if not name.startswith("_")]
    return [
        *(f"cwrapjit.{name}" for name in cwrapjit.__all__),
        *(f"cwrapjit.graph.{name}" for name in cg.__all__),
        *(f"{each.__module__}.{each.__name__}.{name}" for each, name in of_classes),
    ]


@pytest.mark.row("U12")
def test_the_site_builds_without_warnings(tmp_path: Path) -> None:
    site, cache = tmp_path / "site", tmp_path / "cache"
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-d", cache, documents.DOCS, site]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    made = {str(path.relative_to(site).with_suffix(".md")) for path in site.rglob("*.html")}
    assert set(documents.pages()) <= made
    shown = (site / "gallery.html").read_text(encoding="utf-8")
    pictures = re.findall(r'<img [^>]*src="(gallery/\w+\.png)"', shown)
    assert len(pictures) == 10 and all((site / each).is_file() for each in pictures)
    reference = (site / "api.html").read_text(encoding="utf-8")
    missing = [name for name in public_names() if f'id="{name}"' not in reference]
    assert missing == []
