"""Tests that README.md and docs/ print what they promise, and SECURITY.md: what is code, what is started."""

from __future__ import annotations

import io
import os
import re
from pathlib import Path

import documents
import pytest
from helpers import build_extension, python, refuses, wrap

import cwrapjit

ROOT, DOCS = documents.ROOT, documents.DOCS

# These pages show results of the cc tier.
WANT_COMPILER = ("errors.md", "how.md", "speed.md")


def parameters() -> list[object]:
    made = []
    for page in documents.pages():
        marks = [pytest.mark.compiler("shows the cc tier")] if page in WANT_COMPILER else []
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
    """Returns whether the file exists, and has a title for the anchor if there is one."""
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


# ---- SECURITY.md ---------------------------------------------------------------------------------------

PAGES = """
import gc, re
import numpy as np
import cwrapjit

def executable():
    '''Pages that can be written and executed, and whether the stack is among what can be executed.'''
    pages, stack = 0, False
    for line in open("/proc/self/maps"):
        low, high, rights, name = re.match(r"(\\w+)-(\\w+) (\\S+) \\S+ \\S+ \\d+ *(.*)", line).groups()
        if "w" in rights and "x" in rights:
            pages += (int(high, 16) - int(low, 16)) // 4096
            assert name in ("", "[heap]"), line
        stack |= name == "[stack]" and "x" in rights
    return pages, stack

def define():
    return cwrapjit.function("f", signature="a() -> output()", optimize="off",
                             Ccode_slice_eval={float: "item__output() = item__a(); return true;"})
seen = [executable()]
f = define()
seen.append(executable())
many = [define() for _ in range(1000)]
seen.append(executable())
del many
gc.collect()
seen.append(executable())
print(*(pages for pages, _ in seen), any(stack for _, stack in seen))
"""


@pytest.mark.row("G09")
def test_pages_with_code_are_the_only_ones_that_can_be_written_and_executed() -> None:
    imported, one, many, dropped, stack = python(PAGES).stdout.split()
    assert (imported, stack) == ("0", "False")
    assert 0 < int(one) < int(many)
    assert int(dropped) <= 256, "1 MiB at most stays for the next function"


# This text would become code wherever it is not treated as text.
EVIL = '"; } */ int evil(void) { return 1; } // \\\n#error evil\n??/ \\" %s %n {0} \\n \t é'


def test_docstrings_are_text(tmp_path: Path) -> None:
    m = cwrapjit.module("evil", EVIL)
    m.function("f", EVIL, signature="a() -> output()", Ccode_slice_eval={float: "return true;"})
    assert (m.__doc__, m.f.__doc__) == (EVIL, EVIL)
    text = io.StringIO()
    m.write(text)
    built = build_extension(tmp_path, "evil", text.getvalue(), "-Wno-trigraphs")
    assert (built.__doc__, built.f.__doc__) == (EVIL, EVIL)


@pytest.mark.parametrize("name", ["a; int evil", "a*/", 'a"', "a\nb", "a\\", "a b"])
def test_names_are_identifiers_or_refused(name: str) -> None:
    refuses(ValueError, lambda: cwrapjit.module(name), "module()", repr(name))
    refuses(ValueError, lambda: wrap(((),), (), "return true;", name=name), "identifier", repr(name))
    refuses(ValueError, lambda: wrap(((),), (), "return true;", names=(name,)), "args_input[0]", repr(name))
    refuses(ValueError, lambda: wrap(((name,),), (), "return true;"), "prototype_input", repr(name))
    refuses(ValueError, lambda: wrap(((),), (name,), "return true;"), "prototype_output", repr(name))
    extra = (("double", name, "1", "d"),)
    refuses(
        ValueError, lambda: wrap(((),), (), "return true;", extra_args=extra), "extra_args[0]", repr(name)
    )


@pytest.mark.quick
@pytest.mark.parametrize("option", ["header", "sources"])
def test_compiling_runs_nothing(option: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text = (
        "#include <stdio.h>\n"
        '__attribute__((constructor)) static void boot(void) { puts("ran"); fflush(stdout); }\n'
        '__attribute__((destructor)) static void end(void) { puts("ran"); fflush(stdout); }\n'
    )
    source = tmp_path / "boot.c"
    source.write_text(text)
    f = wrap(
        ((),), (), "item__output() = 1; return true;", **{option: text if option == "header" else [source]}
    )
    f.wait()
    assert f(0.0) == 1
    del f
    assert capfd.readouterr() == ("", "")


@pytest.mark.row("G10")
def test_a_compiler_in_a_folder_that_is_not_absolute_is_passed_over(tmp_path: Path) -> None:
    for name in ("cc", "gcc", "clang"):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\n: > '{tmp_path}/was-here'\n")
        program.chmod(0o755)
    code = (
        "import os\nos.environ['PATH'] = ':.:../" + tmp_path.name + ":'\nimport cwrapjit\n"
        "f = cwrapjit.function('f', signature='a() -> output()',"
        " Ccode_slice_eval={float: 'item__output() = item__a(); return true;'})\n"
        "print(f.wait(), f.tier, cwrapjit.show_config('dicts')['compiler'])"
    )
    environment = {k: v for k, v in os.environ.items() if k not in ("CC", "CWRAPJIT_CC")}
    wanted = "False tcc none: none of cc, gcc, clang is in PATH\n"
    assert python(code, cwd=tmp_path, env=environment).stdout == wanted
    assert not (tmp_path / "was-here").exists()
