"""The generated C of the seed's inner product, kept as a file that people read and review.

After a deliberate change: CWRAPJIT_UPDATE_GOLDEN=1 pytest tests/tinyjit/test_golden.py
Then look at the difference.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import cwrapjit

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "inner.c"

BODY = r"""
    {T}* out = ({T}*)data_slice__output;
    const int N = dims_slice__a[0];

    *out = 0.0;

    for(int i=0; i<N; i++)
        *out += *(const {T}*)(data_slice__a + i*strides_slice__a[0]) *
                *(const {T}*)(data_slice__b + i*strides_slice__b[0]);
    return true;"""

ROUNDED = r"""
    double out = 0.0;

    for(int i=0; i<dims_slice__a[0]; i++)
        out += item__a(i) * item__b(i);
    item__output() = (int32_t)round(out);
    return true;"""


def inner() -> cwrapjit.Function:
    m = cwrapjit.module("innerlib", "An inner product module in C", header="#include <stdint.h>")
    return m.function(
        "inner",
        "Inner product",
        args_input=("a", "b"),
        prototype_input=(("n",), ("n",)),
        prototype_output=(),
        Ccode_slice_eval={
            np.float64: BODY.replace("{T}", "double"),
            np.float32: BODY.replace("{T}", "float"),
            (np.float64, np.float64, np.int32): ROUNDED,
        },
    )


@pytest.mark.row("U08")
def test_the_generated_text_is_the_one_that_was_reviewed() -> None:
    source = inner().source
    if os.environ.get("CWRAPJIT_UPDATE_GOLDEN") == "1":
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(source, encoding="utf-8")
    assert source == GOLDEN.read_text(encoding="utf-8")


def test_it_has_a_loop_for_each_type_set_and_one_description() -> None:
    """What is to be looked for when the file changes."""
    sections = inner().source.split("\n/* ---- ")
    titles = [each.partition(" ---- */")[0] for each in sections[1:]]
    assert titles[0] == "header"
    sets = ["float64, float64 -> float64", "float32, float32 -> float32", "float64, float64 -> int32"]
    assert titles[1:4] == sets
    for k, section in enumerate(sections[2:5]):
        assert f"static int cwj_loop_{k}__inner(char **cwj_data, const npy_intp *cwj_dims," in section
        assert ("#define item__output()" in section) == (k == 2), "what a snippet does not name is left out"
        assert section.count('#line 1 "<cwrapjit innerlib.inner ') == 1
        assert section.index("#define return") < section.index("#line 1") < section.index("#undef return")
    rest = "".join(sections[5:])
    assert 'cwj_named__inner[] = {"n"};' in rest
    assert rest.count("CWJ_DESCRIPTOR const cwj_function_decl cwj_function__inner = {") == 1


def test_each_line_directive_says_its_own_line() -> None:
    """A fault in generated text must be found where the message says it is."""
    own = 0
    for number, line in enumerate(inner().source.splitlines(), start=1):
        if line.startswith("#line ") and line.endswith(' "<cwrapjit innerlib.inner generated>"'):
            assert int(line.split()[1]) == number + 1
            own += 1
    assert own == 5  # the start, the header, three bodies


def test_it_computes_what_the_seed_says() -> None:
    f = inner()
    a, b = np.arange(4.0), np.arange(8.0).reshape(2, 4)
    assert f(a, b).tolist() == [14.0, 38.0]
    assert f(a.astype(np.float32), b.astype(np.float32)).dtype == np.float32
    assert f(a + 0.3, a, out=np.zeros((), np.int32)) == 16
