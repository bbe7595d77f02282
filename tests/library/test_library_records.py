"""Tests structs that meet NumPy: instances as arrays, records and tuples as arguments and members."""

from __future__ import annotations

import gc
import traceback
from typing import Any

import numpy as np
import pytest
from helpers import refuses

import cwrapjit
from cwrapjit import _cwrapjit

TEXT = """
typedef struct { double x, y; } point;
typedef struct { point from; int32_t n[3]; char name[8]; } line;
typedef struct { double x; const int32_t a[2]; } fixed;
typedef struct { fixed of; int32_t one; } holds;
typedef union { int32_t i; float f; } number;
typedef struct { line at; } wide;
typedef struct { double *data; int32_t n; } vector;
typedef struct state state;
int32_t freed = 0;
double norm(const point *p) { return p->x * p->x + p->y * p->y; }
double two(const point *a, line b) { return a->x + b.n[0]; }
double norm_of(point p) { return norm(&p); }
double shift(point *p, double by) { return p->x += by; }
double sum(const line *l) { return l->from.x + l->from.y + l->n[0] + l->n[2] + l->name[1]; }
double first(const vector *v) { return v->n > 0 ? v->data[0] : -1; }
int32_t bits(number n) { return n.i; }
const point *same(const point *p) { return p; }
state *opened(void) { static int32_t one; return (state *)&one; }
void point_end(point *p) { (void)p; freed++; }
"""


@pytest.fixture(scope="module")
def lib() -> Any:
    return cwrapjit.library("t", source=TEXT)


@pytest.mark.quick
@pytest.mark.row("S07")
def test_an_instance_is_a_record_array_that_looks_into_it(lib: Any) -> None:
    p = lib.point(1, 2)
    array = np.asarray(p)
    assert array.shape == () and array.dtype == np.dtype(lib.point) and array.item() == (1.0, 2.0)
    array["x"] = 5
    p.y = 6
    assert p.x == 5 and array.item() == (5.0, 6.0)
    copy = np.array(p)
    copy["x"] = 0
    assert p.x == 5 and copy.flags.owndata and np.array(p, copy=False)["x"] == 5
    assert np.asarray(p, [("x", "f4"), ("y", "f4")]).item() == (5.0, 6.0)
    whole = lib.line((1, 2), [3, 4, 5], "ab")
    assert np.asarray(whole)["n"].tolist() == [3, 4, 5] and np.asarray(whole.from_)["y"] == 2
    assert np.asarray(lib.number(f=2.0))["i"] == 1 << 30


@pytest.mark.quick
@pytest.mark.row("S07")
def test_numpy_stores_instances(lib: Any) -> None:
    p, records = lib.point(1, 2), np.zeros(3, lib.point)
    records[0] = np.asarray(p)
    records[1:] = p
    assert records.tolist() == [(1.0, 2.0)] * 3
    records[...] = lib.point(3, 4)
    assert np.stack([lib.point(3, 4), p]).tolist() == [records[0].item(), (1.0, 2.0)]
    assert np.full(2, p).dtype == np.dtype(lib.point)
    # NumPy takes one element of an array, and items of a list, from tuples alone.
    for wrong in (lambda: records.__setitem__(0, p), lambda: np.array([p, p])):
        refuses(TypeError, wrong, "a point is no number; a[i] = np.asarray(x) stores it")
    assert np.array([p, p], object)[1] is p


@pytest.mark.quick
@pytest.mark.row("S07")
def test_what_numpy_has_no_dtype_for_stays_an_object(lib: Any) -> None:
    for each in (lib.vector(), lib.opened()):
        array = np.asarray(each)
        assert array.dtype == object and array[()] is each
        refuses(TypeError, each._cwrapjit_view, "NumPy has no dtype for ")
    assert lib.first(lib.vector(np.ones(2), 2)) == 1


@pytest.mark.quick
@pytest.mark.row("S07")
def test_const_members_make_the_array_read_only(lib: Any) -> None:
    assert not np.asarray(lib.fixed()).flags.writeable and not np.asarray(lib.holds()).flags.writeable
    assert np.asarray(lib.point()).flags.writeable


@pytest.mark.quick
@pytest.mark.row("S07")
def test_memory_stays_while_arrays_use_it(lib: Any) -> None:
    p = lib.point(1, 2)
    array = np.asarray(p)[...]
    refuses(BufferError, p.close, "something looks into this point")
    del array
    gc.collect()
    p.close()
    refuses(ValueError, lambda: np.asarray(p), "this point was freed")
    array = np.asarray(lib.line((7, 8)).from_)
    gc.collect()
    assert array.item() == (7.0, 8.0)


@pytest.mark.quick
@pytest.mark.row("S07")
def test_functions_take_records(lib: Any) -> None:
    records = np.array([(3, 4), (1, 2)], lib.point)
    named = records.view(np.recarray)
    for take in (lib.norm, lib.norm_of):
        assert take(records[0]) == take(named[0]) == take(p=records[:1].reshape(())) == 25
        assert take(np.asarray(lib.point(1, 2))) == take(named[1].copy()) == 5
    assert lib.shift(records[1], 10) == 11 and records["x"].tolist() == [3, 11]
    assert lib.bits(np.array((5, 0), lib.number)[()]) == 0  # the union's last member
    result = lib.same(records[0])
    del records, named
    gc.collect()
    assert result.x == 3


@pytest.mark.quick
@pytest.mark.row("S07")
def test_records_that_do_not_lie_right(lib: Any) -> None:
    bytes_of = np.zeros(33, np.uint8)
    shifted = bytes_of[1:].view(lib.point)
    shifted[0] = (3, 4)
    assert lib.norm(shifted[0]) == lib.norm_of(shifted[0]) == 25, "C reads a copy"
    wanted = "shift(): Expected an argument of type point for argument p, got a record that is "
    refuses(TypeError, lambda: lib.shift(shifted[0], 1), f"{wanted}not aligned: C may write there")
    shifted = np.ones(2, lib.point)
    shifted.flags.writeable = False
    assert lib.norm(shifted[0]) == 2
    refuses(TypeError, lambda: lib.shift(shifted[0], 1), f"{wanted}read-only: C may write there")
    swapped = shifted.astype(shifted.dtype.newbyteorder())
    for other in (swapped, shifted.astype("f8, f8"), shifted.astype([("x", "f8"), ("y", "f4")])):
        refuses(TypeError, lambda other=other: lib.norm(other[0]), "got a record whose dtype is", ", not {")
    refuses(TypeError, lambda: lib.first(shifted[0]), "got a record: NumPy has no dtype for vector")
    refuses(TypeError, lambda: lib.norm(np.void(b"12345678")), "got a record whose dtype is |V8")


@pytest.mark.quick
@pytest.mark.row("S07")
def test_functions_take_tuples_of_the_members(lib: Any) -> None:
    assert lib.norm((3, 4.0)) == lib.norm_of((3, np.float32(4))) == 25
    given = ((1, 2), [3, 4, 5], "ab")
    assert lib.sum(given) == lib.sum(((1, 2), np.array([3, 4, 5]), b"ab")) == 11 + ord("b")
    numbers = given[0], given[1], [ord("a"), ord("b"), *[0] * 6]
    assert lib.sum(np.array(numbers, lib.line)[()]) == lib.sum(given), "as NumPy reads the tuple"
    assert lib.first((np.ones(3), 3)) == 1, "the instance keeps the array for the call"
    for wrong, what in (
        ((1,), "got a tuple of length 1 for 2 members"),
        ((), "got a tuple of length 0 for 2 members"),
        ([1, 2], "got list"),
    ):
        refuses(TypeError, lambda wrong=wrong: lib.norm(wrong), "for argument p, " + what)
    error = refuses(TypeError, lambda: lib.norm((1, "a")), "of type float for attribute y, got str")
    assert "t.norm(): argument p" in "".join(traceback.format_exception_only(type(error), error))
    refuses(OverflowError, lambda: lib.bits((1 << 40, 0)), f"attribute i: {1 << 40} is out of range of int32")
    refuses(ValueError, lambda: lib.sum(((1, 2), [0] * 3, "too long")), "attribute name has room for 7 bytes")
    refuses(TypeError, lambda: lib.shift((1, 2), 1), "got tuple: C may write there, and that would be lost")


@pytest.mark.row("S07")
def test_members_take_records_and_tuples(lib: Any) -> None:
    whole, records = lib.line(), np.array([(3, 4)], lib.point)
    whole.from_ = records[0]
    assert repr(whole.from_).startswith("<point(x=3.0, y=4.0)")
    whole.from_ = (5, 6)
    assert whole.from_.x == 5
    for wrong, what in (((1, 2, 3), "a tuple of length 3 for 2 members"), (3, "int")):
        refuses(TypeError, lambda wrong=wrong: setattr(whole, "from_", wrong), f"attribute from, got {what}")

    whole = lib.wide()

    class Closes:
        def __index__(self) -> int:
            whole.close()
            return 1

    refuses(ValueError, lambda: setattr(whole, "at", ((1, 2), [Closes(), 2, 3], "")), "this wide was freed")


@pytest.mark.row("S07")
def test_code_that_runs_while_a_tuple_is_taken_cannot_free_another_argument(lib: Any) -> None:
    victim = lib.point(1, 1)

    class Closes:
        def __index__(self) -> int:
            victim.close()
            return 1

    refuses(ValueError, lambda: lib.two(victim, ((1, 2), [Closes(), 2, 3], "")), "this point was freed")


@pytest.mark.row("S07")
def test_records_are_not_freed_as_objects_of_c() -> None:
    made = cwrapjit.library("t", source=TEXT)
    made.struct("point", free="point_end")
    records = np.array([(3, 4)], made.point)
    made.norm_of(made.point(3, 4))
    before = _cwrapjit.live()["instances"]
    assert made.norm_of(records[0]) == made.norm(records[0]) == made.norm_of((3, 4)) == 25
    assert made.same(records[0]).x == 3
    assert made.freed == 0 and _cwrapjit.live()["instances"] == before
    refuses(TypeError, lambda: made.point_end(records[0]), "point_end(): Expected an argument of type point")


@pytest.mark.quick
@pytest.mark.row("S07")
def test_functions_of_records_take_instances(lib: Any) -> None:
    p, records = lib.point(3, 4), np.array([(3, 4), (6, 8)], lib.point)
    f = cwrapjit.vectorize("typedef struct { double x, y; } pair; double h(pair p) { return p.x + p.y; }")
    assert f(p) == 7 and f(records).tolist() == [7, 14] and f(records[0]) == 7
    broad = cwrapjit.library("broad", source=TEXT).refine("norm", broadcast=True)
    assert broad.norm(p) == 25 and broad.norm(records).tolist() == [25, 100]
    m = cwrapjit.module("m")
    g = m.function("double_x", signature="p() -> x()", Ccode_slice_eval={
        (np.dtype(lib.point), float): "item__x() = 2 * item__p().x; return 1;"})  # fmt: skip
    assert g(p) == 6 and g(records).tolist() == [6, 12]
