"""The thunks of a few C functions: a file that people read and review.

After a deliberate change: CWRAPJIT_UPDATE_GOLDEN=1 pytest tests/library/test_library_golden.py
Then look at the difference.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from library_tools import from_c

from cwrapjit.library.mapping import Mapper
from cwrapjit.library.options import Options
from cwrapjit.library.thunks import Writer

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "thunks.c"
# Declarations and options of function(), in the file's order.
FUNCTIONS: list[tuple[str, dict[str, Any]]] = [
    ("double hypotenuse(double x, double y);", {}),
    ("void scale(int n, double x[n], int *done);", {"out": "done"}),
    ("point shift(point p, enum axis along);", {}),
    ("const char *message(float _Complex z);", {}),
]


@pytest.fixture(scope="module")
def text() -> str:
    lib = from_c("")
    lib.struct("typedef struct point { double x; long n[2]; } point;")
    lib.declare("enum axis { ACROSS, ALONG };")
    core, writer = lib._core, Writer()
    for number, (declaration, options) in enumerate(FUNCTIONS, 1):
        found = core.declarations.read(declaration, "<test>").functions[0]
        writer.add(Mapper(core, found, Options(**options)).map().thunk, hex(number * 0x1000))
    return writer.text()


@pytest.mark.row("P08", "P20")
def test_the_thunks_are_those_that_were_reviewed(text: str) -> None:
    if os.environ.get("CWRAPJIT_UPDATE_GOLDEN") == "1":
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")


@pytest.mark.row("P08", "P20")
def test_a_thunk_takes_all_from_slots_and_calls_an_address(text: str) -> None:
    """Nothing that headers or macros of the library's could stand in the way of."""
    thunks = re.findall(r"void cwj_thunk_\d\(cwj_slot \*s\)\n\{\n(.*?)\n\}", text, flags=re.DOTALL)
    assert len(thunks) == len(FUNCTIONS)
    parameters = (2, 3, 2, 1)
    for number, (thunk, count) in enumerate(zip(thunks, parameters, strict=True), 1):
        assert f"){number * 0x1000:#x})(" in thunk
        assert re.findall(r"s\[([1-9])\]", thunk) == [str(k) for k in range(1, count + 1)]
        assert ("s[0]." in thunk) == (number != 2)
    words = set(re.findall(r"[A-Za-z_]\w*", text))
    assert words.isdisjoint({"hypotenuse", "scale", "shift", "message", "point", "axis", "along", "done"})
    assert "(int)s[2].i" in thunks[2], "an enum is an int"
