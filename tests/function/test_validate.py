"""Ccode_validate: when it runs, how often, and what its answer does."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import INNER, ar, refuses, same, says, wrap

COUNTED = {"header": "static int validated;", "Ccode_validate": "validated++; return true;"}
REPORT = "item__output() = validated; return true;"


@pytest.mark.row("N43")
def test_runs_exactly_once_per_call():
    f = wrap((("n",), ("n",)), (), REPORT, **COUNTED)
    assert same(f(ar(2, 3, 5), ar(5)), np.full((2, 3), 1.0))
    assert same(f(ar(2, 3, 5), ar(5)), np.full((2, 3), 2.0))
    assert f(ar(5), ar(5)) == 3


@pytest.mark.row("N43")
def test_runs_after_the_checks_of_arguments_shapes_and_types():
    f = wrap((("n",), ("n",)), (), REPORT, **COUNTED)
    refuses(TypeError, lambda: f(ar(5)), "missing", "'b'")
    refuses(TypeError, lambda: f(ar(5), ar(5), nonsense=1), "nonsense")
    refuses(TypeError, lambda: f(ar(5, dtype=np.int32), ar(5)), "'a' is int32")
    refuses(ValueError, lambda: f(ar(5), ar(3)), "'n'", "must be 5", "got 3")
    refuses(ValueError, lambda: f(ar(2, 5), ar(3, 5)), "axis -2 must be 2", "got 3")
    refuses(TypeError, lambda: f(ar(5), ar(5), out=np.zeros((), dtype=np.int32)), "'output' is int32")
    refuses(ValueError, lambda: f(ar(2, 5), ar(5), out=np.zeros(3)), "must be 2", "got 3")
    assert f(ar(5), ar(5)) == 1


@pytest.mark.row("N43")
def test_sees_the_outputs_too():
    f = wrap(
        (("n",),),
        ("n", 2),
        "return true;",
        Ccode_validate="""
        return Ndims_slice__output == 2 && dims_slice__output[0] == dims_slice__a[0] &&
               dims_slice__output[1] == 2 && Ndims_full__output == 3 && data__output != NULL;""",
    )
    assert f(ar(5, 3)).shape == (5, 3, 2)
    f(ar(5, 3), out=np.zeros((5, 3, 2)))


@pytest.mark.row("N44")
@pytest.mark.parametrize("body", ["return false;", "return 0;", "return dims_slice__a[0] == 3;"])
def test_false_raises(body):
    f = wrap((("n",), ("n",)), (), INNER, Ccode_validate=body)
    refuses(RuntimeError, lambda: f(ar(5), ar(5)), "t.f", "validat")
    refuses(RuntimeError, lambda: f(ar(2, 5), ar(5)), "t.f", "validat")


@pytest.mark.row("N44")
def test_false_runs_no_slice_and_leaves_out_alone():
    f = wrap(((),), (), "item__output() = 1; return true;", Ccode_validate="return dims_full__a[0] != 3;")
    out = np.full(3, 9.0)
    refuses(RuntimeError, lambda: f(ar(3), out=out), "t.f", "Ccode_validate")
    assert np.all(out == 9)
    assert same(f(ar(2)), np.ones(2))


@pytest.mark.row("N44", "N62")
def test_the_answer_may_depend_on_the_call():
    f = wrap(
        (("n",),), (), "item__output() = 1; return true;", Ccode_validate="return dims_slice__a[0] == 3;"
    )
    assert f(ar(3)) == 1
    refuses(RuntimeError, lambda: f(ar(4)), "t.f")
    assert same(f(ar(2, 3)), np.ones(2))


@pytest.mark.row("N45")
def test_its_own_exception_surfaces():
    f = wrap(
        (("n",), ("n",)),
        (),
        INNER,
        Ccode_validate="""
        if (dims_slice__a[0] > 4) {
            PyErr_Format(PyExc_ValueError, "%d is too many for '%s'", (int)dims_slice__a[0], "a");
            return false;
        }
        return true;""",
    )
    assert f(ar(4), ar(4)) == 14
    says(ValueError, lambda: f(ar(5), ar(5)), "5 is too many for 'a'")
    says(ValueError, lambda: f(ar(2, 6), ar(6)), "6 is too many for 'a'")
    assert f(ar(4), ar(4)) == 14


@pytest.mark.row("N45")
@pytest.mark.parametrize(
    "name",
    ["KeyError", "MemoryError", "ZeroDivisionError", "OSError", "NotImplementedError", "StopIteration"],
)
def test_any_exception_class_will_do(name):
    f = wrap(
        ((),),
        (),
        "item__output() = 0; return true;",
        Ccode_validate=f'PyErr_SetString(PyExc_{name}, "told so"); return false;',
    )
    refuses(
        {
            "KeyError": KeyError,
            "MemoryError": MemoryError,
            "ZeroDivisionError": ZeroDivisionError,
            "OSError": OSError,
            "NotImplementedError": NotImplementedError,
            "StopIteration": StopIteration,
        }[name],
        lambda: f(1.0),
        "told so",
    )


@pytest.mark.row("N46")
def test_without_it_every_matching_call_is_accepted():
    f = wrap((("n",), ("n",)), (), INNER)
    x = ar(4, 5)
    y = ar(4)
    assert f(x.T[0], y) == x[:, 0] @ y
    assert same(f(x.T, y), x.T @ y)
    assert same(f(x.T[::-1, ::-1], y), x.T[::-1, ::-1] @ y)


@pytest.mark.row("N46")
@pytest.mark.parametrize("absent", [None, ""])
def test_none_means_omitted(absent):
    if absent is None:
        assert wrap((("n",), ("n",)), (), INNER, Ccode_validate=None)(ar(3), ar(3)) == 5
    else:
        # An empty body can end without return: as C text it is wrong, as an option it is absent.
        f = wrap((("n",), ("n",)), (), INNER, Ccode_validate=absent)
        assert f(ar(3), ar(3)) == 5


@pytest.mark.row("N43", "N45")
def test_extras_are_there():
    f = wrap(
        (("n",), ("n",)),
        (),
        INNER,
        extra_args=(("double", "scale", "1", "d"),),
        Ccode_validate="""
        if (!(*scale > 0))
            PyErr_Format(PyExc_ValueError, "scale must be positive");
        return *scale > 0;""",
    )
    assert f(ar(3), ar(3), scale=2.0) == 5
    says(ValueError, lambda: f(ar(3), ar(3), scale=-1.0), "scale must be positive")
