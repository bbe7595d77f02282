"""Compares cwrapjit with numpysane_pywrap from PyPI: the same definitions, built by the system's compiler.
Both must give the same values, shapes and dtypes, and reject the same calls. is_left_out() skips calls in
which cwrapjit differs on purpose; the names and docstrings of its functions give the reasons."""

from __future__ import annotations

import contextlib
import io
import types
import warnings
from typing import Any

import numpy as np
import pytest
from helpers import build_extension, same

import cwrapjit

hypothesis = pytest.importorskip("hypothesis")
pytest.importorskip("numpysane")
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

HEADER = """
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
"""

INNER = r"""
    const int N = dims_slice__a[0];
    {T} out = 0;
    for (int i = 0; i < N; i++)
        out += *(const {T} *)(data_slice__a + i * strides_slice__a[0]) *
               *(const {T} *)(data_slice__b + i * strides_slice__b[0]);
    *({T} *)data_slice__output = out;
    return true;"""

ROUNDED = r"""
    double out = 0.0;
    for (int i = 0; i < dims_slice__a[0]; i++)
        out += *(const double *)(data_slice__a + i * strides_slice__a[0]) *
               *(const double *)(data_slice__b + i * strides_slice__b[0]);
    *(int32_t *)data_slice__output = (int32_t)round(out);
    return true;"""

OUTER = r"""
    for (int i = 0; i < dims_slice__a[0]; i++)
        for (int j = 0; j < dims_slice__b[0]; j++)
            item__output(i, j) = item__a(i) * item__b(j);
    return true;"""

BOTH = r"""
    item__output0() = 0;
    for (int i = 0; i < dims_slice__a[0]; i++) {
        item__output0() += item__a(i) * item__b(i);
        for (int j = 0; j < dims_slice__b[0]; j++)
            item__output1(i, j) = item__a(i) * item__b(j);
    }
    return true;"""

SINGLE = r"""
    item__output0() = 0;
    for (int i = 0; i < dims_slice__a[0]; i++)
        item__output0() += item__a(i) * item__b(i);
    return true;"""

IDENTITY = r"""
    for (int i = 0; i < dims_slice__output[0]; i++)
        for (int j = 0; j < dims_slice__output[1]; j++)
            item__output(i, j) = i == j;
    return true;"""

SORTED = r"""
    memcpy(data_slice__output, data_slice__a, sizeof_element__a * dims_slice__a[0]);
    qsort(data_slice__output, dims_slice__output[0], sizeof_element__output, compare_doubles);
    return true;"""

ROWS = r"""
    item__output() = 0;
    for (int i = 0; i < dims_slice__a[0]; i++)
        for (int j = 0; j < dims_slice__a[1]; j++)
            item__output() += (1 + i) * (2 + j) * item__a(i, j);
    return true;"""

# In mixed sets numpysane gives item__output an input's type (row B01), so this uses pointers.
GEOMETRY = r"""
    PUT(0, Ndims_full__a)
    PUT(1, Ndims_slice__a)
    PUT(2, dims_slice__a[0])
    PUT(3, dims_slice__a[1])
    PUT(4, dims_full__a[0])
    PUT(5, sizeof_element__a)
    PUT(6, dims_slice__a[1] > 1 ? strides_slice__a[1] : 0)
    PUT(7, Ndims_full__output)
    return true;"""

SCALED = r"""
    item__output() = *scale * cookie->scale * item__a();
    return true;"""


def definitions(m: Any) -> None:
    """Makes the same definitions in a module of either package."""

    def add(name: str, ins: Any, outs: Any, code: Any, names: Any = None, **kw: Any) -> None:
        m.function(
            name,
            "made for comparison",
            args_input=names or tuple("abcd"[: len(ins)]),
            prototype_input=ins,
            prototype_output=outs,
            Ccode_slice_eval=code if isinstance(code, dict) else {np.float64: code},
            **kw,
        )

    vectors = (("n",), ("n",))
    add(
        "inner",
        vectors,
        (),
        {
            np.float64: INNER.replace("{T}", "double"),
            np.float32: INNER.replace("{T}", "float"),
            np.int64: INNER.replace("{T}", "int64_t"),
            np.int32: INNER.replace("{T}", "int32_t"),
            np.uint8: INNER.replace("{T}", "uint8_t"),
        },
    )
    add(
        "rounded",
        vectors,
        (),
        {np.float64: INNER.replace("{T}", "double"), (np.float64, np.float64, np.int32): ROUNDED},
    )
    add(
        "outer",
        (("n",), ("m",)),
        ("n", "m"),
        {np.float64: OUTER, np.int32: OUTER, np.complex64: "return false;"},
    )
    add("both", vectors, ((), ("n", "n")), BOTH)
    add("single", vectors, ((),), SINGLE)
    add("identity", (), ("N", "N"), {np.float64: IDENTITY, np.int32: IDENTITY})
    add("sorted", (("n",),), ("n",), SORTED, Ccode_validate="return CHECK_CONTIGUOUS_AND_SETERROR_ALL();")
    add("rows", (("n", "m"),), (), ROWS)
    add("square", (("n", "n"),), (), ROWS)
    add(
        "fixed",
        ((2, 3), (3,), ()),
        (2,),
        r"""
        for (int i = 0; i < 2; i++) {
            item__output(i) = item__c();
            for (int j = 0; j < 3; j++)
                item__output(i) += item__a(i, j) * item__b(j);
        }
        return true;""",
    )
    add("geometry", (("n", "m"),), (8,), {(np.float64, np.int64): GEOMETRY, (np.int32, np.int64): GEOMETRY})
    add(
        "mixed",
        ((), ("n",)),
        ((), ("n",)),
        {
            (np.float64, np.int32, np.int64, np.float32): r"""
            *(int64_t *)data_slice__output0 = (int64_t)(*(double *)data_slice__a) + dims_slice__b[0];
            for (int i = 0; i < dims_slice__b[0]; i++)
                *(float *)(data_slice__output1 + i * strides_slice__output1[0]) =
                    *(int32_t *)(data_slice__b + i * strides_slice__b[0]) / 4.0f;
            return true;""",
            (np.float32, np.int32, np.int64, np.float32): "return false;",
        },
    )
    add(
        "scaled",
        ((),),
        (),
        SCALED,
        extra_args=(
            ("double", "scale", "1.5", "d"),
            ("const char*", "text", "NULL", "s"),
            ("int", "n", "-1", "i"),
        ),
        Ccode_cookie_struct="double scale; void *memory; /* freed in the end */",
        Ccode_cookie_cleanup="free(cookie->memory);",
        Ccode_validate=r"""
            if (text == NULL) {
                PyErr_Format(PyExc_RuntimeError, "The 'text' argument is required");
                return false;
            }
            cookie->memory = malloc(100);
            cookie->scale = atof(text) + *n;
            return *scale > 0;""",
    )


COMPARE = r"""
#define PUT(i, value) *(int64_t *)(data_slice__output + (i) * strides_slice__output[0]) = (value);

static int compare_doubles(const void *left, const void *right)
{
    const double x = *(const double *)left, y = *(const double *)right;
    return x < y ? -1 : x > y;
}
"""

NAMES = "inner rounded outer both single identity sorted rows square fixed geometry mixed scaled".split()


@pytest.fixture(scope="session")
def ours() -> Any:
    m = cwrapjit.module("ours", "made for comparison", header=HEADER + COMPARE)
    definitions(m)
    return m


@pytest.fixture(scope="session")
def theirs(built: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numpysane's generator imports deprecated modules
        import numpysane_pywrap

        m = numpysane_pywrap.module("theirs", "made for comparison", header=HEADER + COMPARE)
        definitions(m)
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            m.write(file=text)
    return build_extension(built, "theirs", text.getvalue(), "-w", "-std=gnu11")


# ---- results of one call --------------------------------------------------------------------------------


def outcome(f: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    """Returns ("returns", results) or ("raises", exception)."""
    try:
        result = f(*args, **kw)
    except Exception as error:
        return "raises", error
    return "returns", result if isinstance(result, (tuple, list)) else [result]


def fresh(kw: dict[str, Any]) -> dict[str, Any]:
    """Returns the keywords with new outputs of the same layout."""
    made = dict(kw)
    if isinstance(kw.get("out"), (tuple, list)):
        made["out"] = type(kw["out"])(duplicate(o) for o in kw["out"])
    elif "out" in kw:
        made["out"] = duplicate(kw["out"])
    return made


def duplicate(array: Any) -> Any:
    """Returns a copy with the same strides. Other objects than arrays are returned unchanged."""
    if not isinstance(array, np.ndarray) or array.base is None:
        return array.copy() if isinstance(array, np.ndarray) else array
    base = array.base.copy()
    offset = array.ctypes.data - array.base.ctypes.data
    return np.ndarray(array.shape, array.dtype, base.data, offset, array.strides)


def agree(ours: Any, theirs: Any, name: str, args: list[Any], **kw: Any) -> str:
    """Makes one call with both, and fails if they differ. Returns "returns" or "raises"."""
    mine, other = fresh(kw), fresh(kw)
    left, right = outcome(getattr(ours, name), args, mine), outcome(getattr(theirs, name), args, other)
    said = f"{name}: cwrapjit {left}, numpysane_pywrap {right}"
    assert left[0] == right[0], said
    if left[0] == "raises":
        assert isinstance(left[1], (TypeError, ValueError, RuntimeError, OverflowError)), said
        assert f"ours.{name}" in str(left[1]) or str(left[1]) == str(right[1]), said
        return "raises"
    assert len(left[1]) == len(right[1]), said
    for one, two in zip(left[1], right[1], strict=True):
        assert same(one, two), said
    if "out" in kw:
        for one, two in zip(as_list(mine["out"]), as_list(other["out"]), strict=True):
            assert same(one, two), said
    return "returns"


def as_list(out: Any) -> list[Any]:
    return list(out) if isinstance(out, (tuple, list)) else [out]


# ---- known differences ----------------------------------------------------------------------------------


def no_element(args: list[Any], kw: dict[str, Any]) -> bool:
    """B07, N12i, and results of length 0 with a smaller out: for us, empty arrays have no layout."""
    return any(np.size(x) == 0 for x in [*args, *as_list(kw.get("out"))] if isinstance(x, np.ndarray))


def outs_grow_in_order(args: list[Any], kw: dict[str, Any]) -> bool:
    """N03i: numpysane rejects an out that is smaller than an earlier one; for us, order does not matter."""
    outs = as_list(kw.get("out"))
    return len(outs) > 1


def out_lacks_core_dims(name: str, kw: dict[str, Any]) -> bool:
    """B19: if out has fewer dims than its prototype, numpysane reads beyond its dims."""
    core = {
        "outer": [2],
        "both": [0, 2],
        "identity": [2],
        "sorted": [1],
        "fixed": [1],
        "geometry": [1],
        "mixed": [0, 1],
    }
    outs = as_list(kw["out"]) if "out" in kw else []
    return any(
        isinstance(o, np.ndarray) and o.ndim < n for o, n in zip(outs, core.get(name, [0]), strict=False)
    )


def length_1_dim_with_an_odd_stride(args: list[Any]) -> bool:
    """B07: for us such a dim is contiguous, as in NumPy."""
    return any(1 in x.shape for x in args if isinstance(x, np.ndarray))


# ---- generated calls ------------------------------------------------------------------------------------

PROTOTYPES: dict[str, tuple[Any, Any]] = {
    "inner": ((("n",), ("n",)), [()]),
    "rounded": ((("n",), ("n",)), [()]),
    "outer": ((("n",), ("m",)), [("n", "m")]),
    "both": ((("n",), ("n",)), [(), ("n", "n")]),
    "rows": ((("n", "m"),), [()]),
    "square": ((("n", "n"),), [()]),
    "fixed": (((2, 3), (3,), ()), [(2,)]),
    "geometry": ((("n", "m"),), [(8,)]),
    "mixed": (((), ("n",)), [(), ("n",)]),
    "sorted": ((("n",),), [("n",)]),
}
DTYPES: dict[str, tuple[Any, Any]] = {
    "geometry": ([np.float64], [np.int64]),
    "mixed": ([np.float64, np.int32], [np.int64, np.float32]),
}
SOME_DTYPES = [np.float64, np.float32, np.int64, np.int32, np.uint8, np.complex64, np.bool_]


@st.composite
def views(draw: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Draws an array of that shape with any memory layout."""
    steps = [draw(st.sampled_from([1, 1, 1, 2, -1])) for _ in shape]
    order = draw(st.permutations(range(len(shape)))) if draw(st.booleans()) else list(range(len(shape)))
    base = [n * abs(step) for n, step in zip(shape, steps, strict=True)]
    size = int(np.prod(base, dtype=int))
    memory = ((np.arange(size) * 5 + 1) % 13).astype(dtype).reshape([base[axis] for axis in order])
    view = memory.transpose(np.argsort(order)) if shape else memory
    return view[tuple(slice(None, None, step) for step in steps)]


@st.composite
def calls(draw: Any) -> tuple[str, list[Any], dict[str, Any]]:
    name = draw(st.sampled_from(sorted(PROTOTYPES)))
    ins, outs = PROTOTYPES[name]
    sizes = {"n": draw(st.integers(0, 3)), "m": draw(st.integers(1, 3))}
    extra = draw(st.lists(st.sampled_from([0, 1, 2, 3]), max_size=3))
    usual, results = DTYPES.get(name, ([np.float64] * len(ins), [np.float64] * len(outs)))
    args = []
    spoilt = draw(st.integers(0, 3)) == 0
    for proto, dtype in zip(ins, usual, strict=True):
        mine = [1 if draw(st.integers(0, 3)) == 0 else n for n in extra[draw(st.integers(0, len(extra))) :]]
        core = [d if isinstance(d, int) else sizes[d] for d in proto]
        shape = [*mine, *core]
        if spoilt and shape and draw(st.booleans()):
            shape[draw(st.integers(0, len(shape) - 1))] = draw(st.integers(0, 4))
        if spoilt and shape and draw(st.integers(0, 3)) == 0:
            shape = shape[1:]
        if draw(st.integers(0, 9)) == 0:
            dtype = draw(st.sampled_from(SOME_DTYPES))
        args.append(draw(views(tuple(shape), dtype)))
    if name in ("inner", "outer") and draw(st.booleans()):
        dtype = draw(st.sampled_from(SOME_DTYPES))
        args = [x.real.astype(dtype) for x in args]
        results = [dtype]
    kw: dict[str, Any] = {}
    if draw(st.booleans()):
        made = []
        for proto, dtype in zip(outs, results, strict=True):
            core = [d if isinstance(d, int) else sizes[d] for d in proto]
            lead = [draw(st.integers(1, 3))] if draw(st.integers(0, 7)) == 0 else []
            shape = [*lead, *extra, *core]
            if spoilt and shape and draw(st.booleans()):
                shape[draw(st.integers(0, len(shape) - 1))] = draw(st.integers(0, 4))
            if draw(st.integers(0, 15)) == 0:
                dtype = draw(st.sampled_from(SOME_DTYPES))
            made.append(
                np.array(draw(views(tuple(shape), dtype))) if not shape else draw(views(tuple(shape), dtype))
            )
        kw["out"] = made[0] if len(made) == 1 and name != "single" else tuple(made)
    return name, args, kw


def is_left_out(name: str, args: list[Any], kw: dict[str, Any]) -> bool:
    if no_element(args, kw) and (name in ("sorted", "geometry") or "out" in kw):
        return True
    if outs_grow_in_order(args, kw) or out_lacks_core_dims(name, kw):
        return True
    return name == "sorted" and length_1_dim_with_an_odd_stride([*args, *as_list(kw.get("out"))])


@pytest.mark.row("N08i", "N13", "N14", "N16", "N24", "N35", "N40", "N41", "N10", "N11", "N03i")
def test_generated_calls(ours, theirs):
    counts = {"returns": 0, "raises": 0}

    @settings(max_examples=400)
    @given(calls())
    def compare(call):
        name, args, kw = call
        if not is_left_out(name, args, kw):
            counts[agree(ours, theirs, name, args, **kw)] += 1

    compare()
    assert counts["returns"] > 80, counts
    assert counts["raises"] > 25, counts


# ---- chosen calls ---------------------------------------------------------------------------------------


def ar(*shape: int, dtype: Any = np.float64) -> Any:
    return np.arange(int(np.prod(shape)), dtype=dtype).reshape(shape)


CHOSEN: list[tuple[str, str, list[Any], dict[str, Any]]] = [
    ("returns", "inner", [ar(4), ar(2, 4)], {}),
    ("returns", "inner", [ar(2, 3, 5), ar(4, 1, 3, 5)], {}),
    ("returns", "inner", [[1, 2], [3, 4]], {}),
    ("raises", "inner", [[1, 2], [3.0, 4.0]], {}),
    ("raises", "inner", [ar(5)], {}),
    ("raises", "inner", [ar(5), ar(5)], {"nonsense": 1}),
    ("raises", "inner", [ar(5), ar(5)], {"a": ar(5)}),
    ("returns", "inner", [], {"b": ar(5), "a": ar(5)}),
    ("returns", "inner", [ar(5), ar(5)], {"out": None}),
    ("returns", "inner", [ar(5), ar(2, 5)], {"out": np.zeros(2)}),
    ("returns", "inner", [ar(5), ar(2, 5)], {"out": np.zeros((3, 2))}),
    ("raises", "inner", [ar(5), ar(2, 5)], {"out": np.zeros(1)}),
    ("raises", "inner", [ar(5), ar(2, 5)], {"out": np.zeros(())}),
    ("raises", "inner", [ar(5), ar(2, 5)], {"out": [0.0, 0.0]}),
    ("returns", "inner", [ar(0, 3), ar(1, 3)], {}),
    ("returns", "inner", [ar(2, 0), ar(2, 0)], {}),
    ("raises", "inner", ["text", ar(3)], {}),
    ("raises", "inner", [None, ar(3)], {}),
    ("raises", "inner", [object(), ar(3)], {}),
    ("returns", "rounded", [ar(4) + 0.3, ar(2, 4)], {"out": np.zeros(2, dtype=np.int32)}),
    ("raises", "rounded", [ar(4) + 0.3, ar(2, 4)], {"out": np.zeros(2, dtype=np.int64)}),
    ("returns", "outer", [ar(5), ar(5)], {"out": np.zeros((5, 5, 5))}),
    ("raises", "outer", [ar(5), ar(5)], {"out": np.zeros((4, 5))}),
    ("raises", "outer", [ar(5).astype(np.complex64)] * 2, {}),
    ("returns", "both", [ar(2, 5), ar(5)], {"out": (np.zeros(2), np.zeros((2, 5, 5)))}),
    ("returns", "both", [ar(2, 5), ar(5)], {"out": [np.zeros(2), np.zeros((2, 5, 5))]}),
    ("returns", "both", [ar(2, 5), ar(5)], {"out": (np.zeros(2), np.zeros((2, 2, 5, 5)))}),
    ("raises", "both", [ar(2, 5), ar(5)], {"out": (np.zeros(2), np.zeros((2, 1, 5, 5)))}),
    ("returns", "both", [ar(5), ar(5)], {"out": (np.zeros(1), np.zeros((2, 5, 5)))}),
    ("raises", "both", [ar(5), ar(5)], {"out": (np.zeros(3), np.zeros((2, 5, 5)))}),
    ("raises", "both", [ar(5), ar(5)], {"out": (np.zeros(()), 1.0)}),
    ("raises", "both", [ar(5), ar(5)], {"out": (np.zeros(()),)}),
    ("raises", "both", [ar(5), ar(5)], {"out": 3}),
    ("returns", "single", [ar(5), ar(5)], {}),
    ("returns", "single", [ar(2, 5), ar(5)], {"out": (np.zeros(2),)}),
    ("raises", "identity", [], {}),
    ("returns", "identity", [], {"out": np.zeros((3, 3))}),
    ("returns", "identity", [], {"out": np.zeros((4, 5, 6))[:3, :3, 0]}),
    ("returns", "identity", [], {"out": np.zeros((2, 3, 3))}),
    ("raises", "identity", [], {"out": np.zeros((3, 2))}),
    ("returns", "sorted", [np.array([3.0, 1.0, 2.0])], {}),
    ("returns", "sorted", [-ar(4, 2, 3)[::2]], {}),
    ("raises", "sorted", [ar(3, 4).T], {}),
    ("raises", "sorted", [ar(6)[::-1]], {}),
    ("raises", "sorted", [ar(3)], {"out": np.zeros(6)[::2]}),
    ("returns", "rows", [ar(4, 2, 3).transpose(0, 2, 1)], {}),
    ("raises", "square", [ar(2, 3)], {}),
    ("returns", "geometry", [ar(5, 2, 3)[::2]], {}),
    ("returns", "mixed", [ar(2), ar(2, 3, dtype=np.int32)], {}),
    ("raises", "mixed", [ar(2, dtype=np.float32), ar(2, 3, dtype=np.int32)], {}),
    ("raises", "scaled", [ar(3)], {}),
    ("returns", "scaled", [ar(3)], {"text": "2.5"}),
    ("returns", "scaled", [ar(3)], {"text": "2.5", "scale": 2, "n": 10}),
    ("raises", "scaled", [ar(3)], {"text": "2.5", "n": 2**40}),
    ("raises", "scaled", [ar(3)], {"text": "2.5", "n": 1.5}),
    ("raises", "scaled", [ar(3)], {"text": "2\0"}),
    ("raises", "scaled", [ar(3)], {"text": 3}),
]


@pytest.mark.row(
    "N08", "N09", "N19", "N28", "N31", "N32", "N33", "N34", "N42", "N45", "N01i", "N06i", "N07i", "N09i"
)
@pytest.mark.parametrize(
    ("wanted", "name", "args", "kw"), CHOSEN, ids=[f"{i}-{c[1]}" for i, c in enumerate(CHOSEN)]
)
def test_chosen_calls(ours, theirs, wanted, name, args, kw):
    try:
        got = agree(ours, theirs, name, args, **kw)
    except SystemError as error:  # pragma: no cover
        pytest.fail(str(error))
    assert got == wanted


@pytest.mark.row("N04")
def test_docstrings_and_names_are_the_same(ours, theirs):
    for name in NAMES:
        assert getattr(ours, name).__name__ == getattr(theirs, name).__name__ == name
        assert getattr(ours, name).__doc__ == getattr(theirs, name).__doc__
    assert ours.__doc__ == theirs.__doc__
    assert isinstance(theirs, types.ModuleType)
