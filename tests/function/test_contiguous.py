"""The CHECK_CONTIGUOUS macros: what they say, what they raise, and where they may stand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers import ar, refuses, same, wrap
from numpy.lib.stride_tricks import as_strided

ASK = "item__output() = CHECK_CONTIGUOUS__a(); return true;"


def views_2d() -> list[Any]:
    """Views of two dims, contiguous and not, among them those where a careless test goes wrong."""
    x = ar(4, 6)
    return [
        x,
        x.T,
        np.asfortranarray(x),
        x[::2],
        x[:, ::2],
        x[:, :3],
        x[:2],
        x[1:2, 1:4],
        x[1:2, ::2],
        x[:, 1:2],
        x[::-1],
        x[:, ::-1],
        x[2:3, ::-1],
        np.broadcast_to(ar(6), (4, 6)),
        np.broadcast_to(1.0, (4, 6)),
        np.broadcast_to(1.0, (1, 1)),
        x[:0],
        x[:, :0],
        x[::-2, :0],
        as_strided(x, (1, 3), (56, 8)),
        as_strided(x, (3, 1), (8, 1000)),
        as_strided(x, (1, 1), (-7, 3)),
        as_strided(x, (0, 3), (5, 11)),
    ]


@pytest.mark.row("N47", "B07", "N12i")
@pytest.mark.parametrize("index", range(len(views_2d())))
def test_check_agrees_with_numpys_flag(index: int) -> None:
    view = views_2d()[index]
    f = wrap((("n", "m"),), (), ASK)
    assert bool(f(view)) is bool(view.flags.c_contiguous)


@pytest.mark.row("N47")
def test_check_of_scalars_and_vectors() -> None:
    assert wrap(((),), (), ASK)(ar(3)[::2]).tolist() == [1.0, 1.0]
    vector = wrap((("n",),), (), ASK)
    assert vector(ar(5)) == 1
    assert vector(ar(5)[::-1]) == 0
    assert vector(ar(5)[::2]) == 0
    assert vector(np.float64(3)) == 1, "a scalar taken as a vector of one element"


@pytest.mark.row("N47")
def test_check_in_validate_without_a_message_refuses_with_runtime_error() -> None:
    f = wrap(
        (("n", "m"),), (), "item__output() = 1; return true;", Ccode_validate="return CHECK_CONTIGUOUS__a();"
    )
    assert f(ar(2, 3)) == 1
    refuses(RuntimeError, lambda: f(ar(2, 3).T), "t.f")


@pytest.mark.row("N48")
def test_seterror_names_function_argument_and_dim() -> None:
    f = wrap(
        (("n", "m"), ("n",)),
        (),
        "item__output() = 1; return true;",
        names=("wind", "rain"),
        Ccode_validate="return CHECK_CONTIGUOUS_AND_SETERROR__wind();",
    )
    assert f(ar(2, 3), ar(2)) == 1
    error = refuses(ValueError, lambda: f(ar(3, 2).T, ar(2)), "t.f", "wind", "contiguous", "axis")
    assert "rain" not in str(error)
    assert f(ar(2, 3), ar(4)[::2]) == 1, "rain is not asked about"


@pytest.mark.row("N48")
def test_seterror_tells_stride_wanted_and_got() -> None:
    f = wrap(
        (("n",),),
        (),
        "item__output() = 1; return true;",
        names=("wind",),
        Ccode_validate="return CHECK_CONTIGUOUS_AND_SETERROR__wind();",
    )
    refuses(ValueError, lambda: f(ar(6)[::2]), "wind", "8 bytes", "got 16")


@pytest.mark.row("N49")
def test_all_covers_inputs_and_outputs() -> None:
    f = wrap(
        (("n",), ("n",)),
        ("n",),
        "for (int i = 0; i < dims_slice__a[0]; i++) item__output(i) = item__a(i) + item__b(i); return true;",
        Ccode_validate="return CHECK_CONTIGUOUS_ALL();",
    )
    assert same(f(ar(3), ar(3)), 2 * ar(3))
    refuses(RuntimeError, lambda: f(ar(6)[::2], ar(3)), "t.f")
    refuses(RuntimeError, lambda: f(ar(3), ar(6)[::2]), "t.f")
    refuses(RuntimeError, lambda: f(ar(3), ar(3), out=np.zeros(6)[::2]), "t.f")
    out = np.zeros(3)
    assert f(ar(3), ar(3), out=out) is out and same(out, 2 * ar(3))


@pytest.mark.row("N50")
def test_all_with_seterror_names_the_one_at_fault() -> None:
    f = wrap(
        (("n",), ("n",)),
        (("n",), ("n",)),
        """for (int i = 0; i < dims_slice__wind[0]; i++) {
               item__output0(i) = item__wind(i);
               item__output1(i) = item__rain(i);
           }
           return true;""",
        names=("wind", "rain"),
        Ccode_validate="return CHECK_CONTIGUOUS_AND_SETERROR_ALL();",
    )
    x, strided = ar(3), ar(6)[::2]
    assert same(f(x, x)[1], x)
    refuses(ValueError, lambda: f(strided, x), "t.f", "wind", "contiguous")
    refuses(ValueError, lambda: f(x, strided), "t.f", "rain", "contiguous")
    refuses(ValueError, lambda: f(x, x, out=(np.zeros(6)[::2], np.zeros(3))), "output0", "contiguous")
    refuses(ValueError, lambda: f(x, x, out=(np.zeros(3), np.zeros(6)[::2])), "output1", "contiguous")


@pytest.mark.row("N50")
def test_the_readme_one_liner() -> None:
    f = wrap(
        (("n", "m"),),
        (),
        """const double *p = data_slice__a;
           double sum = 0;
           for (npy_intp i = 0; i < dims_slice__a[0] * dims_slice__a[1]; i++) sum += p[i];
           item__output() = sum;
           return true;""",
        Ccode_validate="return CHECK_CONTIGUOUS_AND_SETERROR_ALL();",
    )
    assert f(ar(2, 3)) == 15
    refuses(ValueError, lambda: f(ar(2, 3).T), "'a'", "contiguous")
    assert f(ar(2, 3).T.copy()) == 15


@pytest.mark.row("N51")
def test_macros_in_slice_code_say_the_same() -> None:
    body = """
        if (!CHECK_CONTIGUOUS__a()) { item__output() = 1; return true; }
        if (!CHECK_CONTIGUOUS_ALL()) { item__output() = 2; return true; }
        item__output() = 3;
        return true;
    """
    f = wrap((("n",), ("n",)), (), body)
    assert f(ar(6)[::2], ar(3)) == 1
    assert f(ar(3), ar(6)[::2]) == 2
    assert f(ar(3), ar(3)) == 3


@pytest.mark.row("N51", "N48", "N50")
@pytest.mark.parametrize(
    "macro", ["CHECK_CONTIGUOUS_AND_SETERROR__wind()", "CHECK_CONTIGUOUS_AND_SETERROR_ALL()"]
)
def test_seterror_in_slice_code_raises_the_same_message(macro: str) -> None:
    plain = "item__output() = 0; return true;"
    early = wrap((("n",),), (), plain, names=("wind",), Ccode_validate=f"return {macro};")
    late = wrap((("n",),), (), f"item__output() = 0; return {macro};", names=("wind",))
    assert late(ar(4)) == 0
    wanted = refuses(ValueError, lambda: early(ar(4)[::2]), "wind")
    got = refuses(ValueError, lambda: late(ar(2, 4)[:, ::2]), "wind")
    assert str(got) == str(wanted)


@pytest.mark.row("N52")
def test_only_the_slice_has_to_be_contiguous() -> None:
    f = wrap(
        (("n", "m"),),
        ("n", "m"),
        """const double *p = data_slice__a;
           for (npy_intp i = 0; i < dims_slice__a[0] * dims_slice__a[1]; i++)
               ((double *)data_slice__output)[i] = p[i];
           return true;""",
        Ccode_validate="return CHECK_CONTIGUOUS_AND_SETERROR_ALL();",
    )
    x = ar(4, 2, 3)
    assert same(f(x[::2]), x[::2])
    assert same(f(x[::-1]), x[::-1])
    assert same(f(np.broadcast_to(x[0], (5, 2, 3))), np.broadcast_to(x[0], (5, 2, 3)))
    out = np.zeros((8, 2, 3))[::2]
    assert f(x, out=out) is out and same(out, x)
    refuses(ValueError, lambda: f(ar(4, 3, 2).transpose(0, 2, 1)), "'a'", "contiguous")


@pytest.mark.row("B07", "B16")
def test_length_one_and_empty_dims_never_make_a_call_fail() -> None:
    f = wrap(
        (("n", "m"),),
        ("n", "m"),
        "memcpy(data_slice__output, data_slice__a, 8 * dims_slice__a[0] * dims_slice__a[1]); return true;",
        Ccode_validate="return CHECK_CONTIGUOUS_AND_SETERROR_ALL();",
    )
    odd = as_strided(ar(3), (1, 3), (1000, 8))
    assert same(f(odd), ar(1, 3))
    assert same(f(as_strided(ar(3), (3, 1), (8, 24))), ar(3, 1))
    assert f(np.zeros((3, 5))[:0, ::-1]).shape == (0, 5)
    assert f(np.zeros((3, 5))[::2, :0]).shape == (2, 0)


@pytest.mark.row("B07")
def test_a_check_in_a_slice_raises_whatever_the_slice_answers() -> None:
    f = wrap((("n",),), (), "CHECK_CONTIGUOUS_AND_SETERROR__a(); item__output() = item__a(0); return true;")
    for _ in range(5):  # later calls take a quicker way
        assert f(ar(4)) == 0
        refuses(ValueError, lambda: f(ar(4)[::2]), "'a'", "contiguous")
