"""cast="safe": inputs convert by NumPy's safe casting when asked to; otherwise they never do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers import INNER, ar, refuses, same, wrap

import cwrapjit

COPY = "item__output() = item__a(); return true;"
TYPES = [np.dtype(code) for code in "?bBhHiIlLfdgFDG"]


def copier(*types: Any, **kw: Any) -> Any:
    kw.setdefault("cast", "safe")
    return wrap(((),), (), dict.fromkeys(types or (np.float64,), COPY), **kw)


@pytest.mark.row("N23i")
@pytest.mark.parametrize("target", TYPES, ids=lambda t: t.name)
def test_exactly_numpys_safe_casts_are_taken(target: Any) -> None:
    f, strict = copier(target), copier(target, cast="no")
    for source in TYPES:
        x = np.array([0, 1, 1, 0]).astype(source)
        if np.can_cast(source, target, "safe"):
            assert same(f(x), x.astype(target)), source
        else:
            refuses(TypeError, lambda x=x: f(x), "t.f", f"'a' is {source.name}", target.name)
        if source != target:
            refuses(TypeError, lambda x=x: strict(x), "t.f", f"'a' is {source.name}", target.name)


@pytest.mark.row("N23i")
def test_the_default_is_strict() -> None:
    f = wrap((("n",), ("n",)), (), INNER)
    refuses(TypeError, lambda: f(ar(4, dtype=np.float32), ar(4)), "float32")
    refuses(TypeError, lambda: f(ar(4), [1, 2, 3, 4]), "int64")


@pytest.mark.row("N23i")
def test_values_shapes_and_the_source_array() -> None:
    f = wrap((("n",), ("n",)), (), INNER, cast="safe")
    x = ar(2, 4, dtype=np.int32)
    kept = x.copy()
    assert f(x, [0, 1, 2, 3]).tolist() == [14, 38]
    assert f(x[:, ::-1], ar(4, dtype=np.float32)).tolist() == (x[:, ::-1] @ np.arange(4)).tolist()
    assert same(x, kept)
    assert f(np.array([True, False]), ar(2)) == 0


@pytest.mark.row("N23i", "B02", "B04")
def test_byte_order_and_alignment_convert_too() -> None:
    f = copier()
    x = ar(3)
    assert same(f(x.astype(">f8")), x)
    odd = np.zeros(25, np.uint8)[1:].view(np.float64)
    odd[:] = x
    assert not odd.flags.aligned and same(f(odd), x)
    assert same(f(x.astype(">i4")), x)


@pytest.mark.row("N23i")
def test_the_dtype_decides_and_not_the_value() -> None:
    refuses(TypeError, lambda: copier(np.int8)(np.array(5)), "t.f", "int64", "int8")
    refuses(TypeError, lambda: copier(np.float32)(np.float64(0.5)), "t.f", "float64", "float32")


@pytest.mark.row("N23i")
def test_an_exact_match_comes_before_a_conversion() -> None:
    f = copier(np.float64, np.int32, np.float32)
    for t in (np.float64, np.int32, np.float32):
        assert f(np.ones(2, t)).dtype == t
    assert f(np.ones(2, np.int16)).dtype == np.float64, "the first set that it converts to"


@pytest.mark.row("N23i")
def test_a_matching_argument_is_still_not_copied() -> None:
    address = wrap(
        ((), ()),
        (),
        {(np.float64, np.float64, np.int64): "item__output() = (npy_intp)data_slice__a; return true;"},
        cast="safe",
    )
    x = ar(1)
    assert int(address(x, np.float32(1))[0]) == x.ctypes.data


@pytest.mark.row("N23i", "N34")
def test_outputs_never_convert() -> None:
    f = copier()
    refuses(TypeError, lambda: f(ar(2), out=np.zeros(2, np.float32)), "t.f", "output", "float32")
    refuses(TypeError, lambda: f(ar(2), out=np.zeros(2, np.complex128)), "t.f", "output", "complex128")
    refuses(TypeError, lambda: f(ar(2), out=np.zeros(2, ">f8")), "t.f", "output")


@pytest.mark.row("N23i", "K09")
def test_inouts_never_convert() -> None:
    body = {np.float64: "item__a() += 1; return true;"}
    f = cwrapjit.module("t").function(
        "f", signature="inout a() -> output()", Ccode_slice_eval=body, cast="safe"
    )
    refuses(TypeError, lambda: f(ar(3, dtype=np.float32)), "t.f", "'a' is float32")


@pytest.mark.row("N23i", "B10")
def test_out_may_share_memory_with_what_was_converted() -> None:
    x = np.zeros(8)
    ints = x.view(np.int64)[:4]
    ints[:] = 1, 2, 3, 4
    with_copy = copier()
    assert with_copy(ints.view(np.int32)[::2], out=x[:4]).tolist() == [1, 2, 3, 4]


@pytest.mark.row("N23i", "N25i")
def test_the_modules_choice_is_the_functions_default() -> None:
    m = cwrapjit.module("t", cast="safe")
    kw: dict[str, Any] = {
        "args_input": ("a",),
        "prototype_input": ((),),
        "prototype_output": (),
        "Ccode_slice_eval": {float: COPY},
    }
    m.function("f", **kw)
    m.function("g", cast="no", **kw)
    assert m.f(np.int32(5)) == 5
    refuses(TypeError, lambda: m.g(np.int32(5)), "t.g", "int32")


@pytest.mark.row("N23i")
@pytest.mark.parametrize("value", ["unsafe", "same_kind", "equiv", "", True, 1])
def test_other_casts_are_refused(value: Any) -> None:
    error = ValueError if isinstance(value, str) else TypeError
    refuses(error, lambda: copier(cast=value), f"cast must be 'no' or 'safe', not {value!r}")
