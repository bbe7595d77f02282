"""README.md and the pages of docs/: their code runs and prints what it promises, and they make a site."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import documents
import pytest

import cwrapjit
import cwrapjit.graph as cg

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"

# Pages that need more than the extra `test`, and what. They run in a process of their own.
ONCE = {
    "cluster.md": "dask.distributed",
    "coming": "a little of the other packages",
    "notebook.md": "the magics' front end",
    "progress.md": "tqdm",
    "recipes": "polars and sympy",
    "speed.md": "optimized code without sanitizers' calls",
    "travel.md": "cloudpickle and joblib",
}


def pages() -> list[str]:
    found = [path.relative_to(DOCS) for path in sorted(DOCS.rglob("*.md"))]
    return [str(path) for path in found if "_build" not in path.parts]


# Pages that show what the optimizing tier does.
WANT_COMPILER = ("errors.md", "how.md")


def public_names() -> list[str]:
    """What the reference has to hold: all that can be imported, and what the callables' classes have."""
    classes = [cwrapjit.Function, cwrapjit.module, cwrapjit.Config, cg.Graph, cg.BoundGraph]
    of_classes = [(each, name) for each in classes for name in vars(each) if not name.startswith("_")]
    return [
        *(f"cwrapjit.{name}" for name in cwrapjit.__all__),
        *(f"cwrapjit.graph.{name}" for name in cg.__all__),
        *(f"{each.__module__}.{each.__name__}.{name}" for each, name in of_classes),
    ]


def needs(page: str) -> str:
    """What a page needs, by its own name or its folder's; "" for nothing."""
    name = page.split("/")[0]
    return ONCE.get(name) or ONCE.get(name.removesuffix(".md"), "")


def parameters() -> list[object]:
    made = []
    for page in pages():
        marks = [pytest.mark.once(f"needs {needs(page)}")] if needs(page) else []
        marks += [pytest.mark.compiler("shows the optimizing tier")] if page in WANT_COMPILER else []
        made.append(pytest.param(page, marks=marks))
    return made


@pytest.mark.row("U10")
def test_examples_of_the_readme_print_what_they_promise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("scipy")
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
    if page == "coming/f2py.md" and shutil.which("gfortran") is None:
        pytest.skip("no gfortran on this machine (apt install gfortran)")
    if needs(page):
        command = [sys.executable, str(ROOT / "tests" / "documents.py"), str(DOCS / page)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
    else:
        monkeypatch.chdir(tmp_path)
        documents.run(DOCS / page)
        assert list(tmp_path.iterdir()) == []


@pytest.mark.row("U12")
@pytest.mark.once("the documentation is built in one environment")
def test_the_site_builds_without_warnings(tmp_path: Path) -> None:
    site, cache = tmp_path / "site", tmp_path / "cache"
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-d", cache, DOCS, site]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    made = {str(path.relative_to(site).with_suffix(".md")) for path in site.rglob("*.html")}
    assert set(pages()) <= made
    reference = (site / "api.html").read_text(encoding="utf-8")
    missing = [name for name in public_names() if f'id="{name}"' not in reference]
    assert missing == []


@pytest.mark.row("U12")
@pytest.mark.parametrize("page", pages())
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
