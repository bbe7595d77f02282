"""Ops whose C is in files with #section lines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers import refuses

import cwrapjit as cj
import cwrapjit.graph as cg

SCALED = """
#section support_code
static double twice(double x) { return 2 * x; }

#section support_code_apply
static double APPLY_SPECIFIC(offset)(void) { return sizeof(DTYPE_INPUT_0); }

#section support_code_struct
long calls;

#section init_code_struct
calls = 0;

#section code
if (INPUT_0 < 0) {
    PyErr_SetString(PyExc_ValueError, "negative: 100%");
    FAIL
}
OUTPUT_0 = twice(INPUT_0) + APPLY_SPECIFIC(offset)() + 100 * calls++
    + 1000 * (TYPENUM_OUTPUT_0 == NPY_DOUBLE);

#section code_cleanup
(void)INPUT_0;
"""

FUNCTION = """#section support_code
static int add_all(double x, double y, double *sum, double *difference)
{
    if (x == y) {
        PyErr_SetString(PyExc_ZeroDivisionError, "equal");
        return 1;
    }
    *sum = x + y;
    *difference = x - y;
    return 0;
}
"""


class FromFiles(cg.ExternalCOp):
    """An op from files; its outputs are float64."""

    outputs = 1

    def make_node(self, *inputs: Any) -> Any:
        return cg.Apply(self, inputs, [cg.float64() for _ in range(self.outputs)])


def written(folder: Any, *texts: str) -> list[str]:
    paths = []
    for i, text in enumerate(texts):
        path = folder / f"op{i}.c"
        path.write_text(text)
        paths.append(str(path))
    return paths


@pytest.mark.quick
@pytest.mark.row("T12i", "T05i")
@pytest.mark.parametrize("mode", ["struct", "function"])
def test_sections_become_the_ops_parts(tmp_path: Any, mode: str) -> None:
    x = cg.float64("x")
    op = FromFiles(written(tmp_path, SCALED))
    k = cj.link([x], [op(x), op(op(x))], mode=mode)
    first, second = k(1.0)
    assert first == 1010.0 and second % 100 == 28
    assert k(1.0)[0] == 1110.0  # counts its calls
    error = refuses(ValueError, lambda: k(-1.0), "negative: 100%")
    assert "FromFiles" in "".join(getattr(error, "__notes__", [])) + str(error)


@pytest.mark.row("T12i")
def test_a_function_does_it_all(tmp_path: Any) -> None:
    x, y = cg.float64("x"), cg.float64("y")

    class Pair(FromFiles):
        outputs = 2

    k = cj.link([x, y], Pair(written(tmp_path, FUNCTION), "add_all")(x, y))
    assert k(5.0, 3.0) == (8.0, 2.0)
    refuses(ZeroDivisionError, lambda: k(1.0, 1.0), "equal")
    refuses(ValueError, lambda: Pair(written(tmp_path, SCALED), "add_all"), "code", "func_name")
    refuses(ValueError, lambda: Pair(written(tmp_path, FUNCTION), "add all"), "func_name")


@pytest.mark.row("T12i")
def test_parameters_in_sections(tmp_path: Any) -> None:
    class WithParams(FromFiles):
        params_type = cg.ParamsType(factor=cg.float64)
        factor = 7.0

    x = cg.float64("x")
    op = WithParams(written(tmp_path, "#section code\nOUTPUT_0 = INPUT_0 * PARAMS->factor;\n"))
    assert cj.link([x], [op(x)])(2.0) == 14.0


@pytest.mark.row("T12i")
def test_several_files_and_relative_paths(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    support = "#section support_code\nstatic int one(void) { return 1; }\n"
    code = "#section code\nOUTPUT_0 = INPUT_0 + one();\n"
    code += "#section support_code\nstatic int two(void) { return 2; }\n"
    x = cg.float64("x")
    op = FromFiles(written(tmp_path, support, code))
    assert cj.link([x], [op(x)])(2.0) == 3.0 and "two" in op.code_sections["support_code"]
    (tmp_path / "mine.py").write_text("import cwrapjit.graph as cg\nclass Mine(cg.ExternalCOp):\n    pass\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    from mine import Mine  # type: ignore[import-not-found]

    assert cj.link([x], [Mine(["op0.c", "op1.c"])(x)])(2.0) == 3.0
    refuses(FileNotFoundError, lambda: Mine("nothing.c"), "nothing.c")
    monkeypatch.chdir(tmp_path)
    typed = type("Typed", (cg.ExternalCOp,), {"__module__": "__main__"})  # as in a session: without a file
    for kind in (cg.ExternalCOp, typed):
        monkeypatch.delattr("__main__.__file__", raising=False)
        assert cj.link([x], [kind(["op0.c", "op1.c"])(x)])(2.0) == 3.0


@pytest.mark.row("T12i")
@pytest.mark.parametrize(
    "texts, words",
    [
        (["int stray;\n#section code\n"], ["stray", "int stray;"]),
        (["#section codes\n"], ["unknown section", "codes"]),
        (["int x;\n"], ["no #section"]),
        ([""], ["no #section"]),
        (["THEANO_SUPPORT_CODE_SECTION\nint x;\n#section code\n"], ["two kinds"]),
        (["THEANO_SUPPORT_CODE_SECTION\nint x;\n", "#section code\n"], ["older markers"]),
        (["#section code\n", "int x;\n"], ["no #section"]),
    ],
)
def test_markers_that_are_wrong(tmp_path: Any, texts: list[str], words: list[str]) -> None:
    refuses(ValueError, lambda: FromFiles(written(tmp_path, *texts)), *words)


@pytest.mark.row("T12i")
def test_older_markers(tmp_path: Any) -> None:
    text = "THEANO_SUPPORT_CODE_SECTION\nstatic double half(double x) { return x / 2; }\n"
    text += "THEANO_APPLY_CODE_SECTION\n"
    text += "static int APPLY_SPECIFIC(f)(double x, double *y) { *y = half(x); return 0; }\n"
    x = cg.float64("x")
    op = FromFiles(written(tmp_path, text), "APPLY_SPECIFIC")
    op.func_name = "APPLY_SPECIFIC(f)"
    assert cj.link([x], [op(x)])(3.0) == 1.5


def test_no_code_at_all(tmp_path: Any) -> None:
    x = cg.float64("x")
    op = FromFiles(written(tmp_path, "#section support_code\n"))
    refuses(NotImplementedError, lambda: cj.link([x], [op(x)]), "FromFiles", "code")
    refuses(ValueError, lambda: FromFiles([]), "no C files")


@pytest.mark.row("T12i")
def test_arrays_have_their_macros(tmp_path: Any) -> None:
    text = """#section code
DTYPE_INPUT_0 *values = PyArray_DATA(INPUT_0);
OUTPUT_0 = 0;
for (npy_intp i = 0; i < PyArray_SIZE(INPUT_0); i++) {
    OUTPUT_0 += values[i] * ITEMSIZE_INPUT_0;
}
"""
    x = cg.ndarray("float32", 1)("x")
    assert cj.link([x], [FromFiles(written(tmp_path, text))(x)])(np.ones(3, "f4")) == 12.0
