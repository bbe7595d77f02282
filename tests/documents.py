"""Runs the code of Markdown pages, and reports differences: `python tests/documents.py docs/start.md ...`

* ```python blocks run in order in one namespace, that of `__main__`, as in a session. Comments `# -> text` in
  or below the last line of a statement promise what it prints, one comment per line; "..." matches anything.
  `# raises ValueError: text` promises an exception instead.
* ```ipython blocks are cells of one notebook, which shares that namespace; magics work. In cells of C a
  promise is `// -> text`. Text that the cell displays counts as printed.
* A ```python file=NAME.py block is a file that the blocks below can import; it is not run by itself.
* Each ```c block is compiled as the text of a library.
* Blocks in the languages of QUIET and directives of the site are not run; other languages are errors.
* A second word, as in ```python theirs, marks code for another package. test_coming.py runs it: it passes
  `others`, which maps each such pair of words to a function.
"""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
import signal
import sys
import tempfile
import types
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import cwrapjit

FENCE = re.compile(r"^( *)(`{3,})([^\n]*)\n(.*?)^\1\2 *$", re.DOTALL | re.MULTILINE)
PROMISE = re.compile(r"(?:#|//) (->|raises) ?(.*)$", re.MULTILINE)
FILE = "python file="
ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
QUIET = {"text", "console", "toml", "yaml", "fortran", "rst", "cython"}

# tests/peers runs these pages and folders of pages: they need other packages.
PEERS = {
    "cluster.md",
    "coming",
    "libraries.md",
    "notebook.md",
    "progress.md",
    "recipes",
    "travel.md",
    "ufuncs.md",
}


def pages() -> list[str]:
    found = [path.relative_to(DOCS) for path in sorted(DOCS.rglob("*.md"))]
    return [str(path) for path in found if "_build" not in path.parts]


def needs_peers(page: str) -> bool:
    return page.split("/")[0] in PEERS


class Block(NamedTuple):
    language: str
    text: str
    line: int  # the page's line in which the block begins


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            language.strip(),
            re.sub(f"^{indent}", "", code, flags=re.MULTILINE),
            text.count("\n", 0, fence.start()) + 2,
        )
        for fence in FENCE.finditer(text)
        for indent, _, language, code in [fence.groups()]
    ]


@contextlib.contextmanager
def session() -> Iterator[dict[str, Any]]:
    """Makes a `__main__` without a file, as in a session, yields its namespace, and lets Ctrl-C work."""
    outer, main = sys.modules["__main__"], types.ModuleType("__main__")
    sys.modules["__main__"] = main
    # Shells ignore SIGINT in background processes, and so does pytest-xdist.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield vars(main)
    finally:
        signal.signal(signal.SIGINT, handler)
        sys.modules["__main__"] = outer


@contextlib.contextmanager
def files(saved: list[Block]) -> Iterator[None]:
    """Makes the files of a page in a folder of their own, from which the page's code imports them."""
    outer = set(sys.modules)
    with tempfile.TemporaryDirectory() as folder:
        for block in saved:
            Path(folder, block.language.partition(FILE)[2]).write_text(block.text, encoding="utf-8")
        sys.path.insert(0, folder)
        try:
            yield
        finally:
            sys.path.remove(folder)
            names = {Path(block.language.partition(FILE)[2]).stem for block in saved}
            for name in names & (set(sys.modules) - outer):
                del sys.modules[name]


def is_promised(printed: str, promised: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, promised.split("..."))), printed.rstrip()) is not None


def _compare(where: str, text: str, lines: list[str], raised: BaseException | None) -> None:
    """Checks that a piece of code printed and raised what the comments in its text promise."""
    promises = PROMISE.findall(text)
    errors = [words for kind, words in promises if kind == "raises"]
    promised = [words for kind, words in promises if kind == "->"]
    if raised is not None:
        said = f"{type(raised).__name__}: {raised}".splitlines()[0]
        if not errors:
            raise AssertionError(f"{where}: {said}, which no comment promises") from raised
        lines_differ = len(errors) != 1 or not is_promised(said, errors[0])
        assert not lines_differ, f"{where}: raised {said!r}, promised {errors}"
    else:
        assert not errors, f"{where}: nothing raised, promised {errors}"
    same = len(lines) == len(promised) and all(map(is_promised, lines, promised))
    assert same, f"{where}: printed {lines}, promised {promised}"


def run_python(page: Path, block: Block, namespace: dict[str, Any]) -> None:
    """Runs a block statement by statement, with the page's line numbers."""
    tree = ast.increment_lineno(ast.parse(block.text), block.line - 1)
    lines = block.text.splitlines()
    starts = [
        min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))]) - block.line
        for node in tree.body
    ]
    assert not PROMISE.search("\n".join(lines[: min(starts, default=0)])), f"{page}: a promise of nothing"
    for node, start, end in zip(tree.body, starts, [*starts[1:], len(lines)], strict=True):
        printed, raised = io.StringIO(), None
        code = compile(ast.Module([node], []), str(page), "exec")
        try:
            with contextlib.redirect_stdout(printed):
                exec(code, namespace)
        except Exception as error:  # _compare() raises it again if no comment promises it
            raised = error
        place = f"{page.name}:{start + block.line}"
        _compare(place, "\n".join(lines[start:end]), printed.getvalue().splitlines(), raised)


def _run_cell(page: Path, block: Block, namespace: dict[str, Any]) -> None:
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    shell.user_ns.update(namespace)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        done = shell.run_cell(block.text)
    namespace.update(shell.user_ns)
    raised = done.error_before_exec or done.error_in_exec
    lines = (
        [] if raised else re.sub(r"^Out\[\d+\]: ", "", printed.getvalue(), flags=re.MULTILINE).splitlines()
    )
    _compare(f"{page.name}:{block.line}", block.text, [line for line in lines if line], raised)


def _compile_c(page: Path, block: Block, namespace: dict[str, Any]) -> None:
    cwrapjit.library("page", source=block.text)


_RUN = {"python": run_python, "ipython": _run_cell, "c": _compile_c}


def run(page: Path, others: Mapping[str, Callable[[Path, Block, dict[str, Any]], None]] | None = None) -> int:
    """Runs all blocks of a page in the current folder, and returns their number."""
    done, runners = 0, _RUN | dict(others or {})
    found = blocks(page)
    with session() as namespace, files([block for block in found if block.language.startswith(FILE)]):
        for block in found:
            if block.language.startswith(FILE):
                ast.parse(block.text)
            elif block.language in runners:
                runners[block.language](page, block, namespace)
                done += 1
            else:
                is_known = block.language in QUIET or block.language.startswith("{")
                is_known = is_known or block.language.endswith(" theirs")
                assert is_known, f"{page.name}:{block.line}: a block of {block.language!r} would not be run"
    return done


def keep_caches_apart() -> None:
    """Keeps PyTensor's cache of compiled files out of the checkout and the home folder."""
    cache = os.path.join(tempfile.gettempdir(), "cwrapjit-pytensor")
    os.environ.setdefault("PYTENSOR_FLAGS", f"base_compiledir={cache}")


def main(pages: list[str]) -> int:
    failed = 0
    keep_caches_apart()
    for page in pages:
        try:
            print(f"{page}: {run(Path(page).resolve())} blocks as promised")
        except AssertionError as error:
            failed += 1
            print(f"{page}: {error}")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
