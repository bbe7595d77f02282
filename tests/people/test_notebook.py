"""A real notebook: what cells print, and how a fault in C text looks in one."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest
from helpers import python

nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed (the test extra brings it)")
pytest.importorskip("ipykernel", reason="ipykernel is not installed (the test extra brings it)")

# A process of its own, as warnings of the notebook's parts are none of ours.
RUN = """
import json, sys
import nbformat
from nbclient import NotebookClient

cells = [nbformat.v4.new_code_cell(text) for text in json.loads(sys.argv[1])]
notebook = nbformat.v4.new_notebook(cells=cells)
NotebookClient(notebook, kernel_name="python3", timeout=60, allow_errors=True).execute()
print(json.dumps([cell.outputs for cell in notebook.cells]))
"""

DEFINE = """
import numpy as np
import cwrapjit
m = cwrapjit.module("geometry")
def define(body):
    return m.function("f", signature="a() -> output()", Ccode_slice_eval={np.float64: body})
"""
PRINTS = """
f = define('printf("%g ", item__a()); item__output() = item__a(); return true;')
print("before")
f(np.arange(3.0))
print("after")
"""
FAULT = """define('''
    double x = 1;
    return undefined_thing + x;
''')
"""
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(scope="module")
def outputs() -> list[Any]:
    """What each of the cells has under it."""
    cells = [DEFINE, PRINTS, "f(np.arange(2.0))[1]", FAULT, 'print("alive")']
    done: list[Any] = json.loads(python(RUN, json.dumps(cells)).stdout)
    return done


def printed(cell: list[Any]) -> str:
    return "".join(output["text"] for output in cell if output["output_type"] == "stream")


@pytest.mark.row("N20i")
def test_what_snippets_print_is_in_the_cell_that_called_them(outputs: list[Any]) -> None:
    assert printed(outputs[0]) == ""
    assert printed(outputs[1]) == "before\n0 1 2 after\n"
    assert printed(outputs[2]) == "0 1 "
    (value,) = (output["data"]["text/plain"] for output in outputs[2] if "data" in output)
    assert value == repr(np.float64(1))


@pytest.mark.row("U01")
def test_a_fault_in_a_cell_shows_the_line_of_c_with_a_caret(outputs: list[Any]) -> None:
    (error,) = outputs[3]
    assert (error["output_type"], error["ename"]) == ("error", "CompileError")
    assert error["evalue"] == "'undefined_thing' undeclared (<cwrapjit geometry.f float64>, line 3)"
    lines = COLOURS.sub("", "".join(error["traceback"])).splitlines()
    text = next(i for i, line in enumerate(lines) if line.strip() == "return undefined_thing + x;")
    assert "<cwrapjit geometry.f float64>" in lines[text - 1] and "3" in lines[text - 1].split(">")[1]
    assert lines[text + 1].strip() == "^"
    assert lines[text][lines[text + 1].index("^") :].startswith("undefined_thing")
    assert any("Cell In[4]" in line for line in lines), "and the cell that defined it"
    assert printed(outputs[4]) == "alive\n"
