"""README.md and the pages of docs/ that need nothing else: their code runs and prints what it promises."""

from __future__ import annotations

import re
from pathlib import Path

import documents
import pytest

import cwrapjit

ROOT, DOCS = documents.ROOT, documents.DOCS

# Pages that show what the optimizing tier does.
WANT_COMPILER = ("errors.md", "how.md", "speed.md")


def parameters() -> list[object]:
    made = []
    for page in documents.pages():
        marks = [pytest.mark.compiler("shows the optimizing tier")] if page in WANT_COMPILER else []
        marks += [pytest.mark.plain("optimized code without sanitizers' calls")] if page == "speed.md" else []
        if not documents.needs_peers(page):
            made.append(pytest.param(page, marks=marks))
    return made


@pytest.mark.row("U10")
def test_examples_of_the_readme_print_what_they_promise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert documents.run(ROOT / "README.md") >= 5
    assert list(tmp_path.iterdir()) == []


@pytest.mark.row("U12")
def test_links_of_the_readme_lead_somewhere() -> None:
    prose = documents.FENCE.sub("", (ROOT / "README.md").read_text(encoding="utf-8"))
    links = [link for link in re.findall(r"\]\(([^)\s]+)\)", prose) if "://" not in link]
    missing = [link for link in links if not is_there(*link.partition("#")[::2])]
    assert len(links) > 20 and missing == []


def is_there(file: str, anchor: str) -> bool:
    """A file, with a title of that name where the link asks for one."""
    path = ROOT / file
    if not anchor or not path.exists():
        return path.exists()
    titles = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return anchor in [re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles]


@pytest.mark.row("U12")
@pytest.mark.parametrize("page", parameters())
def test_pages_print_what_they_promise(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    documents.run(DOCS / page)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.row("U12")
@pytest.mark.parametrize("page", documents.pages())
def test_a_page_has_one_title(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    included = re.fullmatch(r"```{include} (\S+)\n```\n", text)
    if included:
        text = (DOCS / included[1]).read_text(encoding="utf-8")
    prose = documents.FENCE.sub("", text)
    assert prose.startswith("# ") and prose.count("\n# ") == 0


PAGE = """
    ```python
    print(6 * 7)  # -> 4...
    print("a\\nb")
    # -> a
    # -> b
    ```
"""


@pytest.mark.row("U12")
@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("print(1)  # -> 2", "page.md:2: printed ['1'], promised ['2']"),
        ("x = 1\nprint(1)", "page.md:3: printed ['1'], promised []"),
        ("x = 1  # -> 1", "page.md:2: printed [], promised ['1']"),
        ("1 / 0", "page.md:2: ZeroDivisionError: division by zero, which no comment promises"),
        ("1 / 0  # raises TypeError: ...", "raised 'ZeroDivisionError: division by zero', promised"),
        ("x = 1  # raises ValueError: one", "nothing raised, promised ['ValueError: one']"),
        ("# -> 1\nprint(1)", "a promise of nothing"),
    ],
)
def test_a_page_that_breaks_its_promise_is_found(text: str, wrong: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"```python\n{text}\n```\n")
    with pytest.raises(AssertionError, match=re.escape(wrong)):
        documents.run(page)


@pytest.mark.row("U12")
def test_code_of_pages_runs_or_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"{PAGE}\n```c\ndouble half(double x) {{ return x / 2; }}\n```\n```text\n1 / 0\n```\n")
    assert documents.run(page) == 2
    page.write_text("```c\ndouble half(double x) { return y / 2; }\n```\n")
    with pytest.raises(cwrapjit.CompileError, match="'y' undeclared"):
        documents.run(page)
    page.write_text("```py\n1 / 0\n```\n")
    with pytest.raises(AssertionError, match="a block of 'py' would not be run"):
        documents.run(page)
