"""The examples of README.md: each ```python block runs, in order, in one namespace.

A comment `# -> text` behind a print() is what that statement must print.
"""

import io
import re
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

README = Path(__file__).parents[1] / "README.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
EXPECTED = re.compile(r"# -> (.*)$", re.MULTILINE)


def blocks() -> list[str]:
    return BLOCK.findall(README.read_text(encoding="utf-8"))


@pytest.mark.row("U10")
def test_examples_print_what_they_promise(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": "readme"}
    found = blocks()
    assert len(found) >= 2
    for number, block in enumerate(found):
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile(block, f"<README.md, example {number + 1}>", "exec"), namespace)
        assert printed.getvalue().splitlines() == EXPECTED.findall(block)
    assert list(tmp_path.iterdir()) == []
