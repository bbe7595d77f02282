"""Tests the text of README and of the site: what the pages list, where they stand, how wide their code is."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import documents
import pytest

import cwrapjit
from cwrapjit.notebook.options import ARGUMENTS

ROOT, DOCS = documents.ROOT, documents.DOCS


def test_messages_and_pages_name_the_package_to_install() -> None:
    """`pip install cwrapjit[progress]` would look for cwrapjit in an index, which does not have it."""
    files = [
        *(ROOT / "cwrapjit").rglob("*.py"),
        *(ROOT / "examples").glob("*.py"),
        *DOCS.rglob("*.md"),
        ROOT / "README.md",
    ]
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


# ---- docs/settings.md -------------------------------------------------------------------------------------

VARIABLE = re.compile(r"\bCWRAPJIT_[A-Z_]*[A-Z]\b")
BUILD = ("setup.py", "cwrapjit", "csrc", "tinyjit")  # what reads settings of users, and of the build
CHECKS = ("tests", "tools", "benchmarks", "Makefile", ".ci", ".github")
SUFFIXES = {".py", ".c", ".h", ".sh", ".yml"}


def variables(places: tuple[str, ...]) -> set[str]:
    """Returns the variables that these files and folders name, but for those of C macros."""
    roots = [ROOT / each for each in places]
    files = [path for root in roots for path in ([root] if root.is_file() else root.rglob("*"))]
    read = [
        path.read_text(encoding="utf-8")
        for path in files
        if path.suffix in SUFFIXES or path.name in ("Makefile", "run")
        if path.is_file() and path != Path(__file__)
    ]
    return {found for text in read for found in VARIABLE.findall(text)}


def rows(page: str, title: str) -> list[list[str]]:
    """Returns the cells of the table below this title of a page, without its head."""
    section = (DOCS / page).read_text(encoding="utf-8").partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    lines = re.findall(r"^\|(.*)\|$", section, re.MULTILINE)[2:]
    return [[cell.strip() for cell in line.split("|")] for line in lines]


def in_code(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


@pytest.mark.row("S10")
def test_the_page_of_settings_has_all_variables() -> None:
    page = (DOCS / "settings.md").read_text(encoding="utf-8")
    assert set(VARIABLE.findall(page)) == variables(BUILD)
    listed = rows("settings.md", "`cwrapjit.config`") + rows("settings.md", "Other variables")
    assert variables(BUILD) <= {name for row in listed for cell in row[:2] for name in in_code(cell)}


@pytest.mark.row("S10")
def test_contributors_find_the_variables_of_the_tests() -> None:
    cells = [row[0] for row in rows("contributing.md", "Variables of the tests")]
    listed = {name for cell in cells for name in VARIABLE.findall(cell)}
    named = set(VARIABLE.findall((DOCS / "contributing.md").read_text(encoding="utf-8")))
    assert listed <= named <= variables(CHECKS)
    assert variables(CHECKS) - variables(BUILD) == named - variables(BUILD)


@pytest.mark.row("S10")
def test_the_page_of_settings_has_the_attributes_of_config(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = {in_code(row[0])[0]: row for row in rows("settings.md", "`cwrapjit.config`")}
    assert set(listed) == {name for name in dir(cwrapjit.config) if not name.startswith("_")}
    for name, (_, variable, values, default, _) in listed.items():
        documented = vars(type(cwrapjit.config))[name].__doc__ or ""
        assert VARIABLE.findall(documented) == in_code(variable), name
        if not variable:
            continue
        monkeypatch.delenv(in_code(variable)[0], raising=False)
        before = getattr(cwrapjit.config, name)
        usual = in_code(default)[0] if "`" in default else default.split()[0]
        assert before == ast.literal_eval(usual), name
        literals = [each for each in in_code(values.partition(";")[0]) if each != "0"]
        for value in [ast.literal_eval(each) for each in literals]:
            setattr(cwrapjit.config, name, value)
            assert getattr(cwrapjit.config, name) == value
        bounds = [int(each) for each in re.findall(r"^(\d+) .*?to (\d+)", values) for each in each]
        for value in bounds:
            setattr(cwrapjit.config, name, value)
        for value in [each + step for each, step in zip(bounds, (-1, 1), strict=False)]:
            with pytest.raises(ValueError, match=name):
                setattr(cwrapjit.config, name, value)
        assert literals or bounds or name == "compiler"
        setattr(cwrapjit.config, name, None)
        assert getattr(cwrapjit.config, name) == before


@pytest.mark.row("S10")
def test_pages_have_all_options_of_cells() -> None:
    flags = {flag for names, _ in ARGUMENTS for flag in names}
    for page, title in ("settings.md", "Options of cells"), ("notebook.md", "Options"):
        listed = [name.split()[0] for row in rows(page, title) for name in in_code(row[0])]
        assert {name for name in listed if name.startswith("-")} == flags, page
    given = set(inspect.signature(cwrapjit.library).parameters)
    options = [name for row in rows("settings.md", "Options of cells") for name in in_code(row[1])]
    assert {each.rstrip("=") for each in options} <= given


# ---- what the site shows --------------------------------------------------------------------------------

WINDOW = 1280  # pixels
LETTER = 0.602  # width of a character / size of the font: the widest of the usual monospaced fonts
EM = 16  # pixels
PADDING = 2 * 0.875 * EM  # of furo, left and right in a block of code
IN_A_README = 90  # characters that fit where sites show a README: it has no style sheet


def lengths(page: Path) -> dict[str, int]:
    """Returns the lengths of lines of code, by place."""
    return {
        f"{page.name}:{block.line + number}": len(line)
        for block in documents.blocks(page)
        if not block.language.startswith("{")
        for number, line in enumerate(block.text.splitlines())
    }


@pytest.mark.row("S10")
def test_no_line_of_code_is_cut_off() -> None:
    """The style sheet gives the width of the text. A block that is wider gets a scroll bar."""
    style = (DOCS / "_static" / "site.css").read_text(encoding="utf-8")
    rem = float(re.findall(r"\.highlight pre \{ font-size: ([\d.]+)rem", style)[0])
    (least, most, outside), *others = re.findall(
        r"min-width: (\d+)em\) \{[^}]*\}[^}]*width: min\((\d+)em, 100vw - (\d+)em\)", style
    )
    assert others == [] and int(least) * EM <= WINDOW
    width = min(int(most) * EM, WINDOW - int(outside) * EM)
    fit = int((width - PADDING) / (rem * EM * LETTER))
    assert 120 <= fit
    pages = [*(DOCS / page for page in documents.pages()), ROOT / "ARCHITECTURE.md", ROOT / "SECURITY.md"]
    wide = {place: length for page in pages for place, length in lengths(page).items() if length > 120}
    wide |= {
        place: length
        for page in (ROOT / "README.md", DOCS / "index.md")
        for place, length in lengths(page).items()
        if length > IN_A_README
    }
    assert wide == {}


SEARCHED = "licence contributing gdb mypy tutorial gallery glossary changelog interrupt"
INCLUDED = {
    "architecture.md": "ARCHITECTURE.md",
    "security.md": "SECURITY.md",
    "changelog.md": "CHANGELOG.md",
}


@pytest.mark.row("S10")
@pytest.mark.parametrize("word", SEARCHED.split())
def test_search_finds_the_words_that_people_type(word: str) -> None:
    """The search of Sphinx finds whole words of the text of pages, not those of blocks that pages hide."""
    found = []
    for page in documents.pages():
        text = (ROOT / INCLUDED[page] if page in INCLUDED else DOCS / page).read_text(encoding="utf-8")
        if re.search(rf"\b{word}\b", documents.FENCE.sub("", text), re.IGNORECASE):
            found.append(page)
    assert set(found) - {"features.md"}


def captions() -> dict[str, list[str]]:
    """Returns the pages of the site's list, by caption."""
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    lists = re.findall(r"^```\{toctree\}\n:caption: ([^\n]*)\n:hidden:\n\n(.*?)^```", text, re.M | re.DOTALL)
    return {name: [re.sub(r".*<(.*)>", r"\1", each) for each in pages.splitlines()] for name, pages in lists}


@pytest.mark.row("S10")
def test_pages_of_maintainers_are_apart() -> None:
    listed = captions()
    maintainers = listed.pop("For maintainers")
    assert {
        "architecture", "contributing", "features", "porting", "releasing", "tested", "trust"
    } == set(maintainers)  # fmt: skip
    users = [page for pages in listed.values() for page in pages]
    assert {"glossary", "settings", "versions", "when", "changelog", "licence"} <= set(users)
    assert len(users) == len(set(users)) and not set(users) & set(maintainers)


@pytest.mark.row("S10")
def test_the_first_screen_of_the_readme_answers_first_questions() -> None:
    screen = "\n".join((ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:40])
    for word in ("not released", "pip install .", "Linux", "numba", "cffi", "Cython", "debug=True", "crash"):
        assert word in screen, word
    assert "](docs/when.md)" in screen and "](docs/versions.md)" in screen


def test_the_policy_of_security_says_how_to_report() -> None:
    policy = (ROOT / "SECURITY.md").read_text(encoding="utf-8").partition("\n## Reporting")[2]
    assert "private" in policy and "without any details" in policy and "@" not in policy
