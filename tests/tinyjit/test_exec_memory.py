"""A system that denies executable memory gets an error that names the cause."""

from __future__ import annotations

import platform

import pytest
from helpers import python

CHILD = """
import ctypes, sys
import numpy as np
import cwrapjit

def define():
    return cwrapjit.function("f", args_input=("a",), prototype_input=((),), prototype_output=(),
                             Ccode_slice_eval={np.float64: "item__output() = 2 * item__a(); return true;"})

before = define() if sys.argv[1] == "late" else None
PR_SET_MDWE, REFUSE_EXEC_GAIN = 65, 1
if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0):
    print("no MDWE here")
    raise SystemExit
for _ in range(2):
    try:
        define()
    except Exception as error:
        print(type(error).__name__, "|", error)
    else:
        print("defined")
print("alive", before and float(before(2.0)))
"""


@pytest.mark.quick
@pytest.mark.row("G09")
@pytest.mark.parametrize("when", ["early", "late"])
def test_denied_executable_memory_is_named(when: str) -> None:
    if platform.system() != "Linux":
        pytest.skip("this system has no prctl")
    said = python(CHILD, when).stdout.splitlines()
    if said == ["no MDWE here"]:
        pytest.skip("this kernel has no PR_SET_MDWE")
    first, second, last = said
    assert first == second
    kind, text = first.split(" | ", 1)
    assert kind in ("OSError", "PermissionError", "RuntimeError", "MemoryError")
    assert "executable memory" in text
    assert last == ("alive 4.0" if when == "late" else "alive None")
