"""Tests a real notebook: what cells print, faults in C text, the stop button; IPython's `f?`; tqdm's bar."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import python

import cwrapjit

# Runs in its own process, as the notebook packages' warnings are not ours.
RUN = """
import json, sys
import nbformat
from nbclient import NotebookClient

cells = [nbformat.v4.new_code_cell(text) for text in json.loads(sys.argv[1])]
notebook = nbformat.v4.new_notebook(cells=cells)
NotebookClient(notebook, kernel_name="python3", timeout=600, allow_errors=True).execute()
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
    """Returns the outputs of each cell."""
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


# ---- the stop button -------------------------------------------------------------------------------

# Once the C code of the second cell runs, presses until the cell has ended.
STOP = """
import asyncio, json, os, sys
import nbformat
from nbclient import NotebookClient

cells = [nbformat.v4.new_code_cell(text) for text in json.loads(sys.argv[1])]
notebook = nbformat.v4.new_notebook(cells=cells)
client = NotebookClient(notebook, kernel_name="python3", timeout=600, allow_errors=True)

def wait_for_code():
    with open(sys.argv[2], "rb") as begun:
        begun.read(1)

async def press():
    await asyncio.to_thread(wait_for_code)
    while True:
        await client.km.interrupt_kernel()
        await asyncio.sleep(0.5)

async def main():
    async with client.async_setup_kernel():
        presses = asyncio.create_task(press())
        for i, cell in enumerate(notebook.cells):
            await client.async_execute_cell(cell, i)
            if i == 1:
                presses.cancel()

asyncio.run(main())
print(json.dumps([cell.outputs for cell in notebook.cells]))
"""
SPIN = """import os, numpy as np, cwrapjit
begun = os.open({path!r}, os.O_WRONLY)
f = cwrapjit.vectorize('''
long write(int file, const void *bytes, unsigned long size);
double f(double x, int file)
{{
    volatile double y = x;
    if(x > 5 && write(file, ".", 1))
        while(y > 5);
    return 2 * x;
}}''')
kept = f(1.0, begun)
"""


@pytest.mark.row("S08")
def test_the_stop_button_ends_an_endless_loop(tmp_path: Path) -> None:
    """The cell shows a KeyboardInterrupt, and the kernel lives: what it knew is there, and f works."""
    begun = tmp_path / "begun"
    os.mkfifo(begun)
    texts = [SPIN.format(path=str(begun)), "f(9.0, begun)", "print(kept, f(3.0, begun))"]
    define, endless, after = json.loads(python(STOP, json.dumps(texts), str(begun)).stdout)
    assert define == []
    (error,) = endless
    assert (error["output_type"], error["ename"]) == ("error", "KeyboardInterrupt")
    assert error["evalue"].startswith("f(): the C code was left after Ctrl-C")
    assert "while(y > 5);" in error["evalue"]
    assert printed(after) == "2.0 6.0\n"


# ---- questions to IPython --------------------------------------------------------------------------

IPYTHON = r"""
import re
import numpy as np, cwrapjit as cj
import cwrapjit.graph as cg
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
f = cj.function("f", "What it *does*", signature="a() -> output()",
                extra_args=(("double", "scale", "1.5", "d"),),
                Ccode_slice_eval={float: "item__output() = *scale;\nreturn true;"})
k = cj.ElementwiseKernel("T x", "T y", "y = x + 1", "k")
r = cj.ReductionKernel("T x", "T y", "x * 5", "a + b", "y = a", "0", "r")
v = cj.vectorize("T v(T x) { return x - 7; }")
x = cg.float64("x")
g = cj.link([x], x * 3)
def plain(): "of Python's"
shell.push(dict(f=f, k=k, r=r, v=v, g=g, plain=plain, cj=cj))
def asked(name, level):
    text = shell.object_inspect_mime(name, detail_level=level)["text/plain"]
    return re.sub("\x1b[^m]*m", "", text)
before = asked("f", 1)
assert "What it *does*" in before and "return true" not in before
shell.run_line_magic("load_ext", "cwrapjit"); shell.run_line_magic("reload_ext", "cwrapjit")
short, long = asked("f", 0), asked("f", 1)
assert "f(a, out=None, *, scale=1.5)" in short and "What it *does*" in short, short
assert "a() -> output()" in short
assert "File" not in short and "return true" not in short
assert "f(a, out=None, *, scale=1.5)" in long and "What it *does*" in long, long
assert "return true;" in long
for name, text in dict(k="y = x + 1", r="x * 5", v="return x - 7", g="a * b").items():
    assert text in asked(name, 1) and text not in asked(name, 0), asked(name, 1)
assert "of Python's" in asked("plain", 1) and "C text" not in asked("cj", 0)
shell.run_line_magic("colors", "nocolor" if hasattr(shell.inspector, "_theme_name") else "NoColor")
assert "return true" in asked("f", 1)
shell.run_line_magic("unload_ext", "cwrapjit")
assert asked("f", 1) == before or "return true" not in asked("f", 1)
def completed(text):
    with provisionalcompleter():
        return {each.text.lstrip(".") for each in shell.Completer.completions(text, len(text))}
assert {"a=", "out=", "scale="} <= completed("f(") and "scale=" in completed("f(1, sc")
assert {"explain", "wait", "tier"} <= completed("f.")
assert {"out=", "size="} <= completed("k(") and "axis=" in completed("r(") and "x=" in completed("g(")
assert "ElementwiseKernel" in completed("cj.El")
"""


@pytest.mark.row("U04")
def test_in_ipython(tmp_path: Path) -> None:
    home = {
        "IPYTHONDIR": str(tmp_path),
        "HOME": str(tmp_path),
        "PYTHONPATH": str(Path(cwrapjit.__file__).parents[1]),
    }
    done = subprocess.run(
        [sys.executable, "-c", IPYTHON],
        env={**os.environ, **home},
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert done.returncode == 0, done.stdout + done.stderr


# ---- progress --------------------------------------------------------------------------------------

COUNT = 300  # slices, of one millisecond each


@pytest.mark.row("U07")
def test_the_usual_bar_is_tqdms(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = cwrapjit.function(
        "wave",
        signature="a() -> output()",
        header="int usleep(unsigned int);",
        Ccode_slice_eval={float: "usleep(1000); item__output() = item__a() + 1; return true;"},
    )
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with cwrapjit.progress(after=0):
        slow(np.zeros(COUNT))
    lines = stream.getvalue().split("\r")
    assert lines[-1].startswith("wave: 100%") and f"{COUNT}/{COUNT}" in lines[-1], lines
    assert any(line.startswith("wave: ") and "100%" not in line for line in lines[:-1])
