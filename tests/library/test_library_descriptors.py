"""Arrays that C takes and gives as structs of data, shape and strides."""

from __future__ import annotations

import numpy as np
import pytest

import cwrapjit as cj

SOURCE = """
#include <stdint.h>
#include <stdlib.h>
typedef struct { double *data; int64_t shape[2]; int64_t stride[2]; } view2;
typedef struct { int rank; const double *base; size_t n; ptrdiff_t strides; } line;

static double at(view2 a, int64_t i, int64_t j) { return a.data[i * a.stride[0] + j * a.stride[1]]; }
double total(view2 a) {
    double r = 0;
    for (int64_t i = 0; i < a.shape[0]; i++) for (int64_t j = 0; j < a.shape[1]; j++) r += at(a, i, j);
    return r;
}
void scale(view2 *a, double by) {
    for (int64_t i = 0; i < a->shape[0]; i++)
        for (int64_t j = 0; j < a->shape[1]; j++) a->data[i * a->stride[0] + j * a->stride[1]] *= by;
}
view2 plus3(view2 a) {
    view2 r = {malloc(8 * a.shape[0] * a.shape[1] + 1), {a.shape[0], a.shape[1]}, {a.shape[1], 1}};
    for (int64_t i = 0; i < a.shape[0]; i++) for (int64_t j = 0; j < a.shape[1]; j++)
        r.data[i * a.shape[1] + j] = at(a, i, j) + 3;
    return r;
}
void plus3_to(const view2 *a, view2 *r) { *r = plus3(*a); }
double first(const line *a) { return a ? a->rank * *a->base + a->n * 100 + a->strides * 1000 : -1; }
static double fixed[6] = {0, 1, 2, 3, 4, 5};
static view2 table = {fixed, {2, 3}, {3, 1}};
view2 *get_table(void) { return &table; }
view2 *get_none(void) { return 0; }
view2 turned(void) { view2 r = {fixed, {3, 2}, {1, 3}}; return r; }
"""


@pytest.fixture
def lib(tmp_path):
    path = tmp_path / "views.c"
    path.write_text(SOURCE)
    made = cj.library("views", sources=[path])
    made.struct("typedef struct { double *data; int64_t shape[2]; int64_t stride[2]; } view2", array=True)
    made.struct(
        "typedef struct { int rank; const double *base; size_t n; ptrdiff_t strides; } line",
        array={"shape": "n", "unit": "bytes"},
    )
    return made


@pytest.mark.row("P12i")
def test_descriptors_by_value_and_pointer_as_argument_and_result(lib):
    a = np.arange(12.0).reshape(3, 4)
    total = lib.function("double total(view2 a)")
    assert total.__doc__ == "double total(view2 a)"
    assert total(a) == 66.0
    assert total(a[::-2, 1::2]) == a[::-2, 1::2].sum()
    assert total(a.T) == 66.0
    assert total(np.zeros((0, 3))) == 0.0
    scale = lib.function("void scale(view2 *a, double by)")
    b = a.copy()
    scale(b[1:2, ::2], by=2.0)
    a[1:2, ::2] *= 2
    np.testing.assert_array_equal(b, a)
    r = lib.function("view2 plus3(view2 a)", returns=("callee", "free"))(a[:, ::-1])
    np.testing.assert_array_equal(r, a[:, ::-1] + 3)
    assert type(r.base).__name__ == "PyCapsule"
    r = lib.function("void plus3_to(const view2 *a, view2 *r)", out="r", returns=("callee", "free"))(a)
    np.testing.assert_array_equal(r, a + 3)
    table = lib.function("view2 *get_table(void)")()
    assert table.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


def test_other_layouts_and_absent_ones(lib):
    first = lib.function("double first(const line *a)", optional="a")
    x = np.arange(10.0, 20.0)
    x.flags.writeable = False
    assert first(x[1::3]) == 11 + 300 + 24000
    assert first(None) == first() == -1.0
    with pytest.raises(TypeError, match="argument a"):
        first(np.zeros((2, 2)))


def test_bad_ones(lib):
    total = lib.function("double total(view2 a)")
    with pytest.raises(TypeError, match="argument a"):
        total(np.zeros((2, 2), np.float32))
    with pytest.raises(TypeError):
        total(None)
    for name in ("view2 *get_none(void)", "view2 turned(void)"):
        with pytest.raises(RuntimeError, match="NULL"):
            lib.function(name)()
    for text in (
        "struct a { double *p, *q; long n; }",
        "struct b { double *p; }",
        "struct c { double *p; double n; }",
    ):
        with pytest.raises(TypeError):
            lib.struct(text, array=True)
    with pytest.raises(ValueError):
        lib.struct("struct d { double *p; long n; }", array={"shapes": "n"})


def test_docstrings_show_the_declaration_that_was_given(lib):
    assert lib.function("void scale(view2 *a, double by)").__doc__ == "void scale(view2 *a, double by)"
    assert lib.function("view2 plus3(view2 a)", name="other", doc="Adds.").__doc__ == "Adds."
    lib.declare("view2 turned(void);")
    assert lib.turned.__doc__ == "view2 turned(void)"
