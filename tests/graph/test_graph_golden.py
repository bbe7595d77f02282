"""The generated C of the template style's own example, in both forms: files that people read and review.

After a deliberate change: CWRAPJIT_UPDATE_GOLDEN=1 pytest tests/graph/test_graph_golden.py, then look at the
difference.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from graph_seeds import Add, Double

import cwrapjit
import cwrapjit.graph as cg

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
MODES = ("function", "struct")


def link_add(mode: str) -> cg.Graph:
    x, y = Double("x"), Double("y")
    z = Add(x, y)
    z.name = "z"
    return cwrapjit.link([x, y], z, mode=mode)


@pytest.mark.row("T26", "T33", "T34")
@pytest.mark.parametrize("mode", MODES)
def test_the_generated_text_is_the_one_that_was_reviewed(mode: str) -> None:
    source = link_add(mode).source
    path = GOLDEN / f"graph_add_{mode}.c"
    if os.environ.get("CWRAPJIT_UPDATE_GOLDEN") == "1":
        path.write_text(source, encoding="utf-8")
    assert source == path.read_text(encoding="utf-8")


@pytest.mark.row("T26")
@pytest.mark.parametrize("mode", MODES)
def test_it_has_the_structure_of_the_documents_listing(mode: str) -> None:
    """What the document's listing does, in its order; between these, nothing of another block."""
    source = link_add(mode).source
    text = re.sub(r"/\*.*?\*/", "", source[source.index("static int cwj_step_0") :], flags=re.DOTALL)
    steps = [
        r"V1_x = PyFloat_AsDouble\(py_V1_x\);",
        r"V2_y = PyFloat_AsDouble\(py_V2_y\);",
        r"if \(V1_x < 0 \|\| V2_y < 0\) \{failure = 4; goto label_4;\}",
        r"V3_z = V1_x \+ V2_y;",
        r"label_5:",
        r"label_4:",
        r"label_3:",
        r"if \(!failure\)",
        r"py_V3_z = PyFloat_FromDouble\(V3_z\);",
        r"label_2:",
        r"label_1:",
    ]
    at = 0
    for step in steps:
        found = re.search(step, text[at:])
        assert found, f"{step} is not behind what comes before it"
        at += found.end()
    assert sorted(set(re.findall(r"^\s*(label_\d+):", text, re.MULTILINE))) == [
        f"label_{n}" for n in range(1, 6)
    ]


@pytest.mark.parametrize("mode", MODES)
def test_each_line_directive_says_its_own_line(mode: str) -> None:
    """A fault in generated text must be found where the message says it is."""
    own = 0
    for number, line in enumerate(link_add(mode).source.splitlines(), start=1):
        if re.match(r'#line \d+ "<cwrapjit \S+ generated>"', line):
            assert int(line.split()[1]) == number + 1
            own += 1
    assert own > 1


@pytest.mark.parametrize("mode", MODES)
def test_it_computes_what_the_document_says(mode: str) -> None:
    k = link_add(mode)
    assert k(1.0, 2.0) == 3.0
    k.cells[0][0], k.cells[1][0] = -1.0, 2.0
    assert k.run() == 4
