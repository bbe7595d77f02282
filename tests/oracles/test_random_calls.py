"""Compares random shapes, strides, dtypes and byte orders with an oracle in Python, and tests rough calls.

The oracle knows the rules (core dims, broadcasting, type sets, layouts), but not the implementation. For each
call it gives either every element of the results, or the exceptions that are allowed.
"""

from __future__ import annotations

import copy
import functools
import gc
import itertools
import math
import pickle
import string
import sys
import types
from typing import Any

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
from helpers import ar, python, refuses, wrap

import cwrapjit

MOST_DIMS = 64 if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else 32
SETS = tuple(map(np.dtype, ("i2", "f8", "f4", "u1")))
DTYPES = tuple(map(np.dtype, ("i1", "u1", "i2", "i4", "f4", "f8")))

PROTOTYPES: tuple[tuple[tuple[Any, ...], tuple[Any, ...]], ...] = (
    (((),), ((),)),
    (((), ()), ((),)),
    ((("n",),), ((),)),
    ((("n",), ("n",)), (("n",),)),
    ((("n", 2), ("n",)), ((2, "n"),)),
    ((("n", "m"), ("m", "k")), (("n", "k"),)),
    (((3,), ()), ((), (3,))),
    ((("n",), ("m",)), (("m", "n"), ("n",), ())),
    ((("n", "n"),), (("n",),)),
)

# ---- the functions: each output element is a weighted sum of the slice ------------------


def _loops(name: str, ncore: int, body: str) -> str:
    """Returns C text that runs body for each element of name's slice, at indices i0, i1, ..."""
    heads = "".join(f"for (npy_intp i{k} = 0; i{k} < dims_slice__{name}[{k}]; i{k}++) " for k in range(ncore))
    return f"{heads}{{ {body} }}\n"


def _item(name: str, ncore: int) -> str:
    return f"item__{name}({', '.join(f'i{k}' for k in range(ncore))})"


def _output_names(outs: tuple[Any, ...]) -> list[str]:
    return ["output"] if len(outs) == 1 else [f"output{i}" for i in range(len(outs))]


@functools.cache
def function(index: int, cast: str) -> Any:
    ins, outs = PROTOTYPES[index]
    code = "long long sum = 0, at = 0;\n"
    for name, core in zip(string.ascii_lowercase, ins, strict=False):
        code += _loops(name, len(core), f"sum += ++at * (long long){_item(name, len(core))};")
    for name, core in zip(_output_names(outs), outs, strict=True):
        code += _loops(name, len(core), f"{_item(name, len(core))} = sum++;")
    return wrap(
        ins, outs[0] if len(outs) == 1 else outs, dict.fromkeys(SETS, code + "return true;"), cast=cast
    )


# ---- the oracle ----


def _find_set(inputs: list[Any], outs: list[Any], cast: str) -> np.dtype[Any] | None:
    def native(array: Any) -> np.dtype[Any]:
        return array.dtype.newbyteorder("=")

    for wanted in SETS:
        if all(native(x) == wanted for x in [*inputs, *outs]):
            return wanted
    for wanted in SETS if cast == "safe" else ():
        if all(np.can_cast(x.dtype, wanted) for x in inputs) and all(
            np.can_cast(wanted, x.dtype) for x in outs
        ):
            return wanted
    return None


def _split(shape: tuple[int, ...], core: tuple[Any, ...], named: dict[str, int]) -> tuple[int, ...] | None:
    """Returns the broadcast dims of a shape, or None if its core dims do not fit. Adds to named."""
    shape = (1,) * (len(core) - len(shape)) + shape
    cut = len(shape) - len(core)
    for want, got in zip(core, shape[cut:], strict=True):
        if (named.setdefault(want, got) if isinstance(want, str) else want) != got:
            return None
    return shape[:cut]


def _broadcast(shapes: list[tuple[int, ...]]) -> tuple[int, ...] | None:
    longest = max(map(len, shapes), default=0)
    result = []
    for dims in zip(*((1,) * (longest - len(s)) + s for s in shapes), strict=True):
        lengths = {d for d in dims if d != 1}
        if len(lengths) > 1:
            return None
        result.append(lengths.pop() if lengths else 1)
    return tuple(result)


def _has_room(shape: tuple[int, ...], result: tuple[int, ...]) -> bool:
    width = max(len(shape), len(result))
    shape, result = ((1,) * (width - len(s)) + s for s in (shape, result))
    return all(d == r or (r == 1 and d != 0) for d, r in zip(shape, result, strict=True))


def _resolve(index: int, inputs: list[Any], outs: list[Any]) -> tuple[tuple[int, ...], dict[str, int]] | None:
    """Returns the broadcast shape and the named dims, or None if the shapes do not fit."""
    ins, out_prototypes = PROTOTYPES[index]
    named: dict[str, int] = {}
    extras = [_split(x.shape, core, named) for x, core in zip(inputs, ins, strict=True)]
    result = None if None in extras else _broadcast(extras)  # type: ignore[arg-type]
    if result is None or not outs:
        return None if result is None else (result, named)
    given = [_split(x.shape, core, named) for x, core in zip(outs, out_prototypes, strict=True)]
    if None in given or not all(_has_room(s, result) for s in given if s is not None):
        return None
    whole = _broadcast([result, *given])  # type: ignore[list-item]
    return None if whole is None else (whole, named)


def _slice(array: Any, ncore: int, at: tuple[int, ...]) -> list[Any]:
    """Returns the elements of the array's slice number `at`, in C order."""
    shape = (1,) * (ncore - array.ndim) + array.shape
    cut = len(shape) - ncore
    prefix = tuple(0 if d == 1 else i for d, i in zip(shape[:cut], at[len(at) - cut :], strict=True))
    indices = (prefix + core for core in itertools.product(*map(range, shape[cut:])))
    return [array[index[len(shape) - array.ndim :]].item() for index in indices]


def _compute(index: int, inputs: list[Any], extra: tuple[int, ...], named: dict[str, int]) -> list[list[int]]:
    """Returns the elements of each output in C order, with broadcast dims first."""
    ins, outs = PROTOTYPES[index]
    sizes = [math.prod(named[d] if isinstance(d, str) else d for d in core) for core in outs]
    values: list[list[int]] = [[] for _ in outs]
    for at in itertools.product(*map(range, extra)):
        read = [v for x, core in zip(inputs, ins, strict=True) for v in _slice(x, len(core), at)]
        total = sum(weight * int(value) for weight, value in enumerate(read, 1))
        for row, size in zip(values, sizes, strict=True):
            row += range(total, total + size)
            total += size
    return values


def _faults(index: int, inputs: list[Any], outs: list[Any], cast: str) -> set[type[Exception]]:
    """Returns the exceptions that are allowed; an empty set if the call must work."""
    faults: set[type[Exception]] = set()
    strict = [] if cast == "safe" else [*inputs, *outs]
    if any(not x.dtype.isnative for x in strict):
        faults.add(TypeError)
    if any(not x.flags.aligned for x in strict) or any(not x.flags.writeable for x in outs):
        faults.add(ValueError)
    if _find_set(inputs, outs, cast) is None:
        faults.add(TypeError)
    resolved = _resolve(index, inputs, outs)
    if resolved is None:
        return faults | {ValueError}
    width = max(
        len(resolved[0]), *(x.ndim - len(c) for x, c in zip(inputs, PROTOTYPES[index][0], strict=True))
    )
    if not outs and any(width + len(core) > MOST_DIMS for core in PROTOTYPES[index][1]):
        faults.add(ValueError)
    return faults


# ---- arrays of every layout ----


def _values(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    return (np.arange(math.prod(shape)) % 5).astype(dtype).reshape(shape)


def _strided(draw: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """Draws the same values in memory with gaps, reversed, or with permuted axes."""
    steps = [draw(st.sampled_from((1, 1, 2, -1, -3))) for _ in shape]
    order = draw(st.permutations(range(len(shape))))
    big = np.zeros([shape[axis] * abs(steps[axis]) for axis in order], dtype)
    view = big.transpose([order.index(axis) for axis in range(len(shape))])
    view = view[(..., *(slice(None, None, step) for step in steps))]
    view[...] = _values(shape, dtype)
    return view


def _unaligned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    memory = np.zeros(math.prod(shape) * dtype.itemsize + 1, "u1")
    view = (
        np.frombuffer(memory.data, dtype, math.prod(shape), 1) if math.prod(shape) else memory[:0].view(dtype)
    )
    view = view.reshape(shape)
    view[...] = _values(shape, dtype)
    return view


@st.composite
def arrays(draw: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    kind = draw(
        st.sampled_from(("plain", "strided", "strided", "stretched", "swapped", "unaligned", "sealed"))
    )
    if kind == "strided" and len(shape) <= 8:
        return _strided(draw, shape, dtype)
    if kind == "stretched":
        return np.broadcast_to(_values(tuple(1 if i % 2 else d for i, d in enumerate(shape)), dtype), shape)
    if kind == "swapped":
        return _values(shape, dtype).astype(dtype.newbyteorder())
    if kind == "unaligned":
        return _unaligned(shape, dtype)
    array = _values(shape, dtype)
    array.flags.writeable = kind != "sealed"
    return array


def _shape(draw: Any, extra: list[int], core: tuple[Any, ...], named: dict[str, int]) -> tuple[int, ...]:
    """Draws a shape that mostly fits: part of the broadcast dims, some of them 1, then the core dims."""
    front = [1 if draw(st.integers(0, 4)) == 0 else d for d in extra[draw(st.integers(0, len(extra))) :]]
    shape = front + [named[d] if isinstance(d, str) else d for d in core]
    if shape and draw(st.integers(0, 9)) == 0:
        shape[draw(st.integers(0, len(shape) - 1))] = draw(st.integers(0, 4))
    while not front and shape[:1] == [1] and draw(st.booleans()):
        shape = shape[1:]
    if draw(st.integers(0, 14)) == 0:
        shape = [1] * (MOST_DIMS - len(shape)) + shape
    return tuple(shape)


@st.composite
def calls(draw: Any) -> tuple[int, str, list[Any], list[Any]]:
    """Draws a prototype, a cast option, inputs and maybe outputs."""
    index = draw(st.integers(0, len(PROTOTYPES) - 1))
    cast = draw(st.sampled_from(("no", "no", "safe")))
    ins, outs = PROTOTYPES[index]
    named = {name: draw(st.integers(0, 3)) for name in "nmk"}
    extra = draw(st.lists(st.sampled_from((0, 1, 2, 2, 3)), max_size=3))
    dtype = draw(st.sampled_from(SETS))

    def one(core: tuple[Any, ...]) -> Any:
        other = draw(st.integers(0, 14 if cast == "no" else 2)) == 0
        chosen = draw(st.sampled_from(DTYPES)) if other else dtype
        return draw(arrays(_shape(draw, extra, core, named), chosen))

    inputs = [one(core) for core in ins]
    return index, cast, inputs, [one(core) for core in outs] if draw(st.booleans()) else []


# ---- row G01 ----


def check_call(index: int, cast: str, inputs: list[Any], outs: list[Any]) -> None:
    """Compares one call with the oracle. Also run by hand with many more examples, under sanitizers."""
    call = function(index, cast)
    one = len(PROTOTYPES[index][1]) == 1
    keywords = {} if not outs else {"out": outs[0] if one else outs}
    faults = _faults(index, inputs, outs, cast)
    if faults:
        with pytest.raises((TypeError, ValueError)) as caught:
            call(*inputs, **keywords)
        assert type(caught.value) in faults, (caught.value, faults)
        assert "t.f()" in str(caught.value)
        return
    resolved = _resolve(index, inputs, outs)
    assert resolved is not None
    extra, named = resolved
    wanted = _compute(index, inputs, extra, named)
    result = call(*inputs, **keywords)
    results = [result] if one else list(result)
    dtype = _find_set(inputs, outs, cast)
    assert dtype is not None
    for got, values, core in zip(results, wanted, PROTOTYPES[index][1], strict=True):
        shape = extra + tuple(named[d] if isinstance(d, str) else d for d in core)
        assert outs or (got.shape == shape and got.dtype == dtype)
        whole = np.broadcast_to(got, shape[-MOST_DIMS:])  # out may lack leading dims of length 1
        assert whole.reshape(-1).tolist() == np.array(values, "i8").astype(dtype).tolist()
    assert all(got is out for got, out in zip(results, outs, strict=False))


@pytest.mark.row("G01", "N03i", "N35", "B02")
@hypothesis.settings(max_examples=400)
@hypothesis.given(calls())
def test_random_calls_agree_with_the_oracle(call: tuple[int, str, list[Any], list[Any]]) -> None:
    check_call(*call)


@pytest.mark.row("G01")
def test_the_oracle_sees_every_kind_of_outcome() -> None:
    """Checks the strategy: a wrong one might produce nothing but rejected calls."""
    seen: set[tuple[str, ...]] = set()

    @hypothesis.settings(max_examples=300, database=None, derandomize=True)
    @hypothesis.given(calls())
    def look(call: tuple[int, str, list[Any], list[Any]]) -> None:
        index, cast, inputs, outs = call
        faults = _faults(index, inputs, outs, cast)
        seen.add((cast, "out" if outs else "new", *sorted(fault.__name__ for fault in faults)))

    look()
    assert seen >= {(c, o, *e) for c in ("no", "safe") for o in ("new", "out") for e in ((), ("ValueError",))}
    assert seen >= {("no", "new", "TypeError"), ("no", "out", "TypeError"), ("safe", "out", "TypeError")}


# ---- rough calls --------


@pytest.mark.row("G01")
def test_strides_beyond_every_memory() -> None:
    """Only dims of length 1 may have such strides, which are never used."""
    f = wrap((("n",),), (), "item__output() = item__a(0); return true;")
    wild = np.lib.stride_tricks.as_strided(np.zeros(4), (2, 1), (16, -sys.maxsize - 1))
    assert f(np.ones((2, 1, 3)), out=wild) is wild
    assert wild.tolist() == [[1.0], [1.0]]


@pytest.mark.row("G01")
def test_objects_keep_their_reference_counts() -> None:
    code = """
        PyObject *old = *(PyObject **)data_slice__output;
        Py_INCREF(*(PyObject **)data_slice__a);
        *(PyObject **)data_slice__output = *(PyObject **)data_slice__a;
        Py_XDECREF(old);
        return true;"""
    f = wrap(((),), (), {object: code}, header="#include <Python.h>\n")
    thing = types.SimpleNamespace()
    array = np.array([thing] * 5, dtype=object)
    before = sys.getrefcount(thing)
    assert f(thing) is thing
    result = f(array)
    assert sys.getrefcount(thing) == before + 5
    assert f(np.full(5, None), out=result) is result
    assert sys.getrefcount(thing) == before


@pytest.mark.row("G01")
def test_the_last_reference_may_go_while_the_call_runs() -> None:
    owner = cwrapjit.module("t")
    options = {"Ccode_cookie_struct": "int runs;", "Ccode_cookie_cleanup": "cookie->runs++;"}
    code = {np.float64: "item__output() = item__a() + cookie->runs; return true;"}
    owner.function("f", "", ("a",), ((),), (), code, **options)
    caller = functools.partial(owner.f)

    class Hostile:
        def __array__(self, *args: Any, **kw: Any) -> Any:
            caller.__setstate__((len, (), {}, {}))  # type: ignore[attr-defined]
            del owner.f
            gc.collect()
            return ar(4)

    assert caller(Hostile()).tolist() == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.row("G01")
def test_a_list_as_out_may_change_while_the_call_runs() -> None:
    f = wrap(((),), ((), ()), "item__output0() = item__output1() = item__a(); return true;")
    outs: list[Any] = []

    class Meta(type):
        @property
        def __array_ufunc__(cls) -> Any:
            outs.clear()
            gc.collect()
            return np.ndarray.__array_ufunc__

    class Hostile(np.ndarray, metaclass=Meta):
        pass

    outs += [np.empty(3).view(Hostile), np.empty(3)]
    first, last = outs
    assert f(ar(3), out=outs) is outs and outs == []
    assert first.tolist() == last.tolist() == [0, 1, 2]


@pytest.mark.row("G01")
def test_an_argument_may_change_while_another_is_converted() -> None:
    f = wrap((("n",), ("n",)), (), "item__output() = item__a(dims_slice__a[0] - 1); return true;")
    array = ar(1, 6)

    class Hostile:
        def __array__(self, *args: Any, **kw: Any) -> Any:
            array.resize((3, 2), refcheck=False)
            return ar(2)

    assert f(array, Hostile()).tolist() == [1.0, 3.0, 5.0]


@pytest.mark.row("G01")
def test_keywords_whose_comparison_raises() -> None:
    class Hostile(str):
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            raise ZeroDivisionError("from __eq__")

    f = wrap(((),), (), "item__output() = item__a(); return true;")
    refuses(ZeroDivisionError, lambda: f(**{Hostile("a"): 1.0}), "from __eq__")


@pytest.mark.row("G01")
def test_bytes_that_end_in_no_nul_are_refused() -> None:
    """PyArg_Parse accepts any buffer for "y", and reads on until it finds a NUL."""
    extras = (("const char *", "text", "NULL", "y"),)
    f = wrap(((),), (), "item__output() = text ? text[0] : 0; return true;", extra_args=extras)
    assert f(0.0, text=np.bytes_(b"A")) == 65
    refuses(TypeError, lambda: f(0.0, text=np.full(4096, 65, "u1")), "t.f()", "text", "bytes", "ndarray")


@pytest.mark.row("G01")
def test_nothing_is_pickled_or_copied_by_halves() -> None:
    for copied in (pickle.dumps, copy.copy):
        refuses(TypeError, lambda copied=copied: copied(cwrapjit.config), "cannot pickle 'cwrapjit.")


@pytest.mark.quick
@pytest.mark.row("G01")
def test_a_module_is_initialised_once() -> None:
    bare = cwrapjit.module.__new__(cwrapjit.module)
    refuses(TypeError, lambda: bare.function("f"), "__init__")
    refuses(TypeError, lambda: bare.write(), "__init__")
    refuses(TypeError, lambda: bare.register(), "__init__")

    class Hostile:
        def __fspath__(self) -> str:
            bare.__init__("inner")  # type: ignore[misc]
            return "."

    refuses(TypeError, lambda: bare.__init__("late", include_dirs=[Hostile()]), "once")  # type: ignore[misc]
    refuses(TypeError, lambda: bare.__init__("late"), "once")  # type: ignore[misc]
    code = {np.float64: "item__output() = 7; return true;"}
    assert bare.function("f", signature="-> output()", Ccode_slice_eval=code)() == 7


@pytest.mark.quick
@pytest.mark.row("G01")
def test_messages_without_the_gil_once_there_was_a_subinterpreter() -> None:
    """From then on CPython's PyGILState_Check() is useless."""
    python(
        r"""
import cwrapjit, numpy as np
try:
    import _interpreters as interpreters
except ImportError:
    try:
        import _xxsubinterpreters as interpreters
    except ImportError:
        raise SystemExit
other = interpreters.create()
f = cwrapjit.function("f", signature="a() -> output()", Ccode_slice_eval={np.float64: '''
    if (item__a() < 0) { PyErr_Format(PyExc_ValueError, "negative"); return false; }
    printf("%g\\n", item__a()); item__output() = 1; return true;'''})
for k in range(50):
    assert f(np.arange(3.)).tolist() == [1, 1, 1]
    try:
        f(-1.)
    except ValueError as error:
        assert str(error) == "negative"
    else:
        raise SystemExit("no exception")
interpreters.run_string(other, '''
try:
    import cwrapjit
except ImportError:  # NumPy refuses where it refuses
    pass
''')
interpreters.destroy(other)
assert f(np.arange(3.)).tolist() == [1, 1, 1]
"""
    )
