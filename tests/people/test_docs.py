"""Tests that README.md and docs/ print what they promise, and SECURITY.md: what is code, what is started."""

from __future__ import annotations

import io
import os
import re
import struct
import sys
import zlib
from pathlib import Path

import documents
import numpy as np
import pytest
from helpers import build_extension, python, refuses, wrap

import cwrapjit

ROOT, DOCS = documents.ROOT, documents.DOCS

# These pages show results of the cc tier.
WANT_COMPILER = ("errors.md", "how.md", "speed.md", "tutorial.md")


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
def test_files_of_a_page_can_be_imported_below(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```python file=halves.py\ndef half(x):\n    return x / 2\n```\n"
        "```python\nimport halves\nprint(halves.half(3))  # -> 1.5\n```\n"
    )
    before = [*sys.path]
    assert documents.run(page) == 1
    assert sys.path == before and "halves" not in sys.modules
    page.write_text("```python file=halves.py\ndef half(x)\n```\n")
    with pytest.raises(SyntaxError):
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


# ---- tutorial and gallery ----------------------------------------------------------------------------


@pytest.mark.row("S10")
def test_the_files_of_the_tutorial_are_a_module_that_passes_its_tests(tmp_path: Path) -> None:
    found = [block for block in documents.blocks(DOCS / "tutorial.md") if "file=" in block.language]
    names = [block.language.removeprefix(documents.FILE) for block in found]
    for name, block in zip(names, found, strict=True):
        (tmp_path / name).write_text(block.text, encoding="utf-8")
    assert names == ["tracks.py", "test_tracks.py"]
    run = "import sys, pytest; sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', 'test_tracks.py']))"
    printed = python(run, cwd=tmp_path).stdout
    assert re.search(r"^1\d passed", printed, re.MULTILINE), printed


def pixels_of(png: bytes) -> np.ndarray:
    """Reads a PNG file of 8 bits for each of three colours whose rows are not filtered."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    at, chunks = 8, {}
    while at < len(png):
        (size,), kind = struct.unpack_from(">I", png, at), png[at + 4 : at + 8]
        data = png[at + 8 : at + 8 + size]
        assert struct.unpack_from(">I", png, at + 8 + size) == (zlib.crc32(kind + data),)
        chunks[kind], at = data, at + 12 + size
    width, height, *rest = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, 1 + 3 * width)
    assert rest == [8, 2, 0, 0, 0] and not rows[:, 0].any() and chunks[b"IEND"] == b""
    return rows[:, 1:].reshape(height, width, 3)


@pytest.mark.row("S10")
def test_each_program_of_the_gallery_draws_its_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(DOCS / "pictures")
    import gallery

    page = gallery.PAGE.read_text(encoding="utf-8")
    names = gallery.draw(tmp_path)
    assert len(names) == 10 == page.count("\n## ")
    for name in names:
        pixels = pixels_of((tmp_path / f"{name}.png").read_bytes())
        assert pixels.shape == (396, 720, 3)
        assert pixels.std() > 15 and len(np.unique(pixels)) > 8, f"{name}: nearly one colour"
    image = r'^```\n\n<img src="made/(\w+)\.png" alt="\w[^"]+">\n\n\w'
    assert re.findall(image, gallery.with_pictures(page, "made"), re.MULTILINE) == names
    with pytest.raises(ValueError, match="wanted uint8 pixels"):
        gallery.png(np.zeros((2, 2, 3)))


@pytest.mark.row("S10")
@pytest.mark.parametrize("page", ["gallery.md", "tutorial.md"])
def test_code_of_the_tutorial_and_the_gallery_fits_a_screen(page: str) -> None:
    blocks = documents.blocks(DOCS / page)
    assert [line for block in blocks for line in block.text.splitlines() if len(line) > 84] == []
    if page == "gallery.md":
        assert max(len(block.text.splitlines()) for block in blocks) < 25


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
