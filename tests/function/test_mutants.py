"""Tests for single changes of the program (tools/mutate.py) that no other test had found."""

from __future__ import annotations

import ctypes
import gc
import io
import pickle
import sys
import threading
import warnings
import weakref
from typing import Any

import numpy as np
import pytest
from helpers import same, wrap, wrap_signature
from library_tools import from_c

import cwrapjit

BUSY = "for (volatile int i = 0; i < 30; i++); item__output() = item__a() + 1; return true;"


def test_threads_do_each_slice_once_and_none_behind_the_array() -> None:
    """The last chunk of a shared call contains the remaining slices only."""
    f = wrap(((),), (), BUSY, threads=2)
    memory = np.zeros(60_000)
    x = memory[:20_000]
    for round in (1, 2, 3):
        f(x, out=x)
        assert (x == round).all() and not memory[20_000:].any()


@pytest.mark.parametrize("own, other", [("q", "l"), ("Q", "L"), ("l", "q"), ("L", "Q")])
def test_types_that_are_one_in_c_need_no_conversion(own: str, other: str) -> None:
    """On 64-bit Linux, these are long and long long."""
    f = wrap(((),), (), {np.dtype(own): "item__output() = item__a() + 1; return true;"}, cast="no")
    assert f(np.arange(3, dtype=other)).tolist() == [1, 2, 3]


def test_the_last_other_holder_of_an_environment_goes_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread, or the garbage collector, may end it while the next one is pickled."""
    others = [wrap(((),), (), f"item__output() = item__a() + {k}; return true;") for k in range(2)]
    last = others.pop()

    class Holders(dict[bytes, Any]):
        def setdefault(self, key: bytes, default: Any = None) -> Any:
            found = super().setdefault(key, default)
            if found:
                others.clear()
                gc.collect()
            return found

    monkeypatch.setattr("cwrapjit._travel._holders", holders := Holders())
    pickle.dumps(others[0])
    pickle.dumps(last)
    assert not others and [[each() for each in known] for known in holders.values()] == [[last]]


def test_an_argument_that_a_later_one_moves() -> None:
    """The call sees `a` as the conversion of b has left it."""
    f = wrap(((), ()), (), "item__output() = item__a() + item__b(); return true;")
    a = np.zeros(3)

    class Moves:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            a.resize(100_000, refcheck=False)
            a[:] = 7
            return np.ones(100_000)

    assert same(f(a, Moves()), np.full(100_000, 8.0))


def test_a_list_of_outputs_that_the_call_empties(monkeypatch: pytest.MonkeyPatch) -> None:
    """The call holds references to the arrays, whatever happens to the list."""
    code = 'printf("here\\n"); item__output0() = item__a(); item__output1() = -item__a(); return true;'
    f = wrap(((),), ((), ()), code)
    outs = [np.zeros(3), np.zeros(3)]
    held = [weakref.ref(each) for each in outs]
    alive = []

    class Empties(io.StringIO):
        def write(self, text: str) -> int:
            outs.clear()
            alive.extend(each() is not None for each in held)
            return len(text)

    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", Empties())
        f(np.arange(3.0), out=outs)
    assert alive and all(alive) and outs == []


def test_an_array_whose_shape_changes_while_its_slices_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The call keeps its copy of the shape: NumPy reuses the memory of the old one."""
    code = 'if (item__a(0) < 0) printf("here\\n"); item__output() = dims_full__a[0]; return true;'
    f = wrap((("n",),), (), code)
    a = np.arange(12.0)
    for _ in range(100):
        assert f(a) == 12  # makes the next call a quick one
    a[0] = -1
    later: list[Any] = []

    class Reshapes(io.StringIO):
        def write(self, text: str) -> int:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # NumPy 2.5 warns
                a.shape = (3, 4)
            later.extend(np.zeros(7) for _ in range(20))
            return len(text)

    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", Reshapes())
        assert f(a) == 12
    assert a.shape == (3, 4) and later


def test_the_stride_along_an_axis_of_one_is_no_matter() -> None:
    """NumPy allows any stride along an axis of length 1; the items are aligned nevertheless."""
    dtype = np.dtype([("x", "f8"), ("k", "i4")], align=True)
    f = wrap_signature("p() -> x()", {(dtype, "f8"): "item__x() = item__p().x + item__p().k; return true;"})
    made = np.array([(1.5, 2), (2.5, 3)], dtype)
    odd = np.lib.stride_tricks.as_strided(made, (1, 2), (3, made.strides[0]))
    assert same(f(odd), [[3.5, 5.5]])


def test_an_output_that_goes_because_another_needs_more() -> None:
    """The second new output has more axes than a quick call can make, so that call must free the first."""
    f = wrap_signature(
        "a(n) -> few(), many(n, n, n, n)",
        "item__few() = item__a(0); item__many(0, 0, 0, 0) = 1; return true;",
    )
    a = np.ones((2, 1))
    for _ in range(20):
        f(a)
    before = sys.getallocatedblocks()
    for _ in range(200):
        f(a)
    assert sys.getallocatedblocks() - before < 100


def test_a_thread_gets_its_signal_stack_back() -> None:
    """debug=True replaces the signal stack during a call."""

    class Stack(ctypes.Structure):
        _fields_ = [("at", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t)]

    libc = ctypes.CDLL(None)
    f = wrap(((),), (), "item__output() = item__a(); return true;", debug=True)

    def stack() -> tuple[Any, ...]:
        found = Stack()
        assert libc.sigaltstack(None, ctypes.byref(found)) == 0
        return found.at, found.flags, found.size

    def call() -> None:
        before = stack()
        f(1.0)
        seen.append((before, stack()))

    seen: list[Any] = []
    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    ((before, after),) = seen
    assert before == after


def test_the_output_says_what_the_inputs_do_not() -> None:
    """If only the output has a type letter, out= gives that type."""
    total = cwrapjit.ReductionKernel("T x", "U y", "x", "a + b", "y = a", "0", "total", optimize="off")
    for dtype in (np.float32, np.int64):
        out = np.zeros(2, dtype)
        assert total(np.ones((2, 3)), axis=1, out=out) is out and out.tolist() == [3, 3]


def test_lengths_in_a_product_stay_arguments_of_a_callback() -> None:
    """a[n] gives n, so the callable does not get it; a[n * m] gives neither."""
    lib = from_c(
        "double call(double (*f)(int n, int m, const double *a))\n"
        "{ double a[] = {1, 2, 3, 4, 5, 6}; return f(2, 3, a); }"
    )
    lib.declare("double call(double (*f)(int n, int m, const double a[n * m]));")
    assert lib.call(lambda n, m, a: 100 * n + 10 * m + a.sum()) == 251


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("kind", ["int%d_t", "int_least%d_t", "int_fast%d_t"])
def test_integers_are_as_wide_as_the_compiler_has_them(kind: str, bits: int) -> None:
    """Values with all bits used pass both ways, signed and unsigned."""
    one, other = kind % bits, "u" + kind % bits
    lib = from_c(
        f"{one} f({one} x) {{ return x; }}\n{other} g({other} x) {{ return x; }}\n"
        f"int size(int k) {{ return k ? sizeof({one}) : sizeof({other}); }}"
    )
    lib.declare(f"{one} f({one} x); {other} g({other} x); int size(int k);")
    least, most = -(2 ** (8 * lib.size(1) - 1)), 2 ** (8 * lib.size(0)) - 1
    assert lib.f(least) == least and lib.g(most) == most
