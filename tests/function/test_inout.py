"""Arguments that are updated in place; all others are const in C."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import ar, refuses, same, wrap, wrap_signature

import cwrapjit

ADD = "for (int i = 0; i < dims_slice__a[0]; i++) item__a(i) += item__b(i); return true;"
COPY = "for (int i = 0; i < dims_slice__a[0]; i++) item__a(i) = item__b(i); return true;"


@pytest.fixture
def add():
    return wrap_signature(
        "inout a(n), b(n) -> ()", ADD.replace("return", "item__output() = item__a(0); return")
    )


@pytest.mark.row("K09")
def test_an_inout_argument_is_updated(add):
    x = np.ones(3)
    assert add(x, ar(3)) == 1
    assert same(x, np.array([1.0, 2.0, 3.0]))
    add(x, ar(3))
    assert same(x, np.array([1.0, 3.0, 5.0]))


@pytest.mark.row("K09")
def test_args_inout_says_the_same():
    f = wrap((("n",), ("n",)), (), ADD.replace("return", "item__output() = 7; return"), args_inout=("a",))
    x = np.ones((2, 3))
    assert same(f(x, ar(3)), np.full(2, 7.0))
    assert same(x, 1 + np.stack([ar(3)] * 2))


@pytest.mark.row("K09")
def test_without_outputs_none_is_returned():
    f = cwrapjit.module("t", "").function(
        "f",
        "",
        args_input=("a", "b"),
        prototype_input=(("n",), ("n",)),
        prototype_output=None,
        args_inout=("a",),
        Ccode_slice_eval={np.float64: ADD},
    )
    x = np.zeros(3)
    assert f(x, ar(3)) is None
    assert same(x, ar(3))
    refuses(TypeError, lambda: f(x, ar(3), out=np.zeros(3)), "t.f", "out")


@pytest.mark.row("K09")
def test_a_strided_inout_is_updated_where_it_is(add):
    whole = np.zeros((4, 6))
    add(whole[1::2, ::2], ar(3))
    assert same(whole[1::2, ::2], np.stack([ar(3)] * 2))
    assert whole.sum() == 6
    back = np.zeros(3)
    add(back[::-1], ar(3))
    assert same(back, ar(3)[::-1])


@pytest.mark.row("K09")
def test_an_inout_must_be_writable(add):
    x = np.zeros(3)
    x.flags.writeable = False
    refuses(ValueError, lambda: add(x, ar(3)), "t.f", "'a'", "read-only")
    assert not x.any()


@pytest.mark.row("K09")
def test_an_inout_must_be_an_array(add):
    for thing in ([1.0, 2.0, 3.0], 1.0, memoryview(np.zeros(3)), np.float64(1)):
        refuses(TypeError, lambda thing=thing: add(thing, ar(3)), "t.f", "'a'", type(thing).__name__)


@pytest.mark.quick
@pytest.mark.row("K09")
def test_an_inout_is_not_stretched_by_broadcasting(add):
    """Each of its elements would be updated several times."""
    x = np.zeros(3)
    refuses(ValueError, lambda: add(x, ar(2, 3)), "t.f", "'a'", "must be 2")
    assert not x.any()
    many = np.zeros((2, 3))
    add(many, ar(3))
    assert same(many, np.stack([ar(3)] * 2))


@pytest.mark.quick
@pytest.mark.row("K09")
def test_an_inout_must_not_have_elements_on_top_of_each_other(add):
    x = np.lib.stride_tricks.as_strided(np.zeros(3), (2, 3), (0, 8))
    refuses(ValueError, lambda: add(x, ar(3)), "t.f", "'a'", "same memory")


@pytest.mark.row("K09", "B10")
def test_an_inout_counts_as_an_output_for_overlap(add):
    x = ar(6)
    refuses(ValueError, lambda: add(x[:3], x[1:4]), "t.f", "argument 'a'", "argument 'b'")
    refuses(ValueError, lambda: add(x[:3], x[2::-1]), "t.f", "argument 'a'", "argument 'b'")
    assert same(x, ar(6))
    add(x[:3], x[3:])
    assert same(x, np.array([3.0, 5.0, 7.0, 3.0, 4.0, 5.0]))
    add(x[::2], x[1::2])
    assert x[0] == 8


@pytest.mark.row("K09", "B10")
def test_an_inout_and_an_out_may_not_share():
    f = wrap((("n",), ("n",)), ("n",), COPY, args_inout=("a",))
    x = ar(3)
    refuses(ValueError, lambda: f(x, ar(3), out=x), "t.f", "argument 'a'", "output 'output'")
    refuses(ValueError, lambda: f(x, ar(3), out=x[::-1]), "t.f", "argument 'a'", "output 'output'")


@pytest.mark.row("K09", "N43")
def test_the_dtype_and_shape_of_an_inout_are_checked(add):
    refuses(TypeError, lambda: add(np.zeros(3, dtype=np.float32), ar(3)), "t.f", "float32", "float64")
    refuses(ValueError, lambda: add(np.zeros(4), ar(3)), "t.f", "'n'", "must be 4", "got 3")


@pytest.mark.row("K09")
@pytest.mark.parametrize(
    "code",
    [
        "item__b(0) = 1; return true;",
        "item__b(0) += 1; return true;",
        "item__b(0)++; return true;",
        "*(const ctype__b *)data_slice__b = 1; return true;",
    ],
)
def test_plain_inputs_are_const_in_c(code):
    with pytest.raises(cwrapjit.CompileError) as caught:
        wrap_signature("inout a(n), b(n) -> ()", code)
    assert isinstance(caught.value, SyntaxError)
    assert "read-only" in str(caught.value)
    assert caught.value.lineno == 1
    assert caught.value.filename == "<cwrapjit t.f float64>"


@pytest.mark.row("K09", "N24i")
@pytest.mark.parametrize(
    "code", ["double *p = data_slice__b; return p != NULL;", "return memset(data_slice__b, 0, 0) != NULL;"]
)
def test_a_pointer_that_loses_its_const_is_a_warning(code):
    """Libraries often lack the const, so this is no error; it is said, though."""
    with pytest.warns(cwrapjit.CompileWarning, match="qualifiers"):
        wrap_signature("inout a(n), b(n) -> ()", code)


@pytest.mark.row("K09")
@pytest.mark.filterwarnings("error")
def test_pointers_to_inouts_and_outputs_are_writable():
    f = wrap_signature(
        "inout a(), b() -> ()",
        """
        double *a = data_slice__a, *out = data_slice__output;
        const double *b = data_slice__b;
        *out = *a;
        *a = *b;
        return true;""",
    )
    x = np.array(3.0)
    assert f(x, 5.0) == 3
    assert x == 5


@pytest.mark.row("K09")
def test_inout_pointers_are_not_const():
    f = wrap_signature(
        "inout a(n), b(n) -> ()",
        """
        double *to = data_slice__a;
        const double *from = data_slice__b;
        if (!CHECK_CONTIGUOUS_ALL())
            return false;
        memcpy(to, from, dims_slice__a[0] * sizeof *to);
        item__output() = to[1];
        return true;""",
    )
    x = np.zeros(3)
    assert f(x, ar(3)) == 1
    assert same(x, ar(3))


@pytest.mark.row("K09")
@pytest.mark.parametrize(
    ("args_inout", "error", "word"),
    [
        (("c",), ValueError, "'c', which is not in args_input"),
        ("a", TypeError, "tuple or list, not str"),
        (("a", "a"), ValueError, "'a' twice"),
        ((3,), TypeError, "int"),
        (("output",), ValueError, "output"),
    ],
)
def test_args_inout_names_arguments(args_inout, error, word):
    refuses(
        error, lambda: wrap((("n",), ("n",)), (), "return true;", args_inout=args_inout), "args_inout", word
    )


@pytest.mark.row("K09")
def test_several_inouts_may_not_share_memory():
    f = wrap_signature(
        "inout a(n), inout b(n) -> ()",
        """
        for (int i = 0; i < dims_slice__a[0]; i++) {
            double swap = item__a(i);
            item__a(i) = item__b(i);
            item__b(i) = swap;
        }
        item__output() = 0;
        return true;""",
    )
    x = ar(6)
    f(x[:3], x[3:])
    assert same(x, np.array([3.0, 4.0, 5.0, 0.0, 1.0, 2.0]))
    refuses(ValueError, lambda: f(x[:3], x[2:5]), "t.f", "argument 'a'", "argument 'b'")
    refuses(ValueError, lambda: f(x, x), "t.f", "argument 'a'", "argument 'b'")
