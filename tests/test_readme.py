"""The examples of README.md: each ```python block runs, in order, in one namespace.

A comment `# -> text` behind a print() is what that statement must print; "..." stands for anything.
"""

import io
import re
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

README = Path(__file__).parents[1] / "README.md"
BLOCK = re.compile(r"^( *)```python\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
EXPECTED = re.compile(r"# -> (.*)$", re.MULTILINE)


def blocks() -> list[str]:
    found = BLOCK.findall(README.read_text(encoding="utf-8"))
    return [re.sub(f"^{indent}", "", block, flags=re.MULTILINE) for indent, block in found]


def is_promised(printed: str, promised: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, promised.split("..."))), printed) is not None


@pytest.mark.row("U10")
def test_examples_print_what_they_promise(tmp_path, monkeypatch):
    pytest.importorskip("scipy")
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": "readme"}
    found = blocks()
    assert len(found) == README.read_text(encoding="utf-8").count("```python\n") >= 2
    for number, block in enumerate(found):
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile(block, f"<README.md, example {number + 1}>", "exec"), namespace)
        lines, promised = printed.getvalue().splitlines(), EXPECTED.findall(block)
        assert len(lines) == len(promised) and all(map(is_promised, lines, promised)), (lines, promised)
    assert list(tmp_path.iterdir()) == []
