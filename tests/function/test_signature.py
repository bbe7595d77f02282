"""signature=: one string instead of args_input and the prototypes."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import INNER, ar, refuses, same, wrap, wrap_signature

import cwrapjit

NOTHING = "return true;"


@pytest.mark.row("K07")
def test_a_signature_says_what_the_prototypes_say():
    f = wrap_signature("a(n), b(n) -> ()", INNER)
    g = wrap((("n",), ("n",)), (), INNER)
    x, y = ar(4), ar(2, 4)
    assert same(f(x, y), g(x, y))
    assert f.signature == g.signature


@pytest.mark.row("K07")
def test_fixed_and_named_dims():
    f = wrap_signature(
        "a(n, 3), b(n) -> out(3)",
        """
        for (int j = 0; j < 3; j++) {
            item__out(j) = 0;
            for (int i = 0; i < dims_slice__b[0]; i++)
                item__out(j) += item__a(i, j) * item__b(i);
        }
        return true;""",
    )
    x, y = ar(2, 4, 3), ar(4)
    assert same(f(x, y), np.einsum("...ij,...i->...j", x, y))
    refuses(ValueError, lambda: f(ar(4, 2), y), "t.f", "'a'", "length 3", "got 2")
    refuses(ValueError, lambda: f(x, ar(5)), "t.f", "'b'", "'n'", "must be 4", "got 5")


@pytest.mark.quick
@pytest.mark.row("K07")
def test_an_output_name_replaces_output_in_the_accessors():
    f = wrap_signature("x() -> y()", "item__y() = 2 * item__x(); return true;")
    assert f(3.0) == 6
    code = "item__output() = 2 * item__x(); return true;"
    refuses(cwrapjit.CompileError, lambda: wrap_signature("x() -> y()", code), "'item__output'")
    g = wrap_signature(
        "x() -> p(), q(2)",
        "item__p() = 1; item__q(0) = *(double *)data_slice__q = item__q(1) = 2; return true;",
    )
    p, q = g(0.0)
    assert p == 1
    assert same(q, np.array([2.0, 2.0]))


@pytest.mark.row("K07")
def test_an_output_name_in_messages():
    f = wrap_signature("x(n) -> total()", "item__total() = 0; return true;")
    refuses(ValueError, lambda: f(ar(4, 3), out=np.zeros(5)), "t.f", "total", "must be 4", "got 5")


@pytest.mark.row("K07")
def test_one_output_several_and_a_tuple_of_one():
    x = ar(2)
    one = wrap_signature("x(n) -> z(3)", "item__z(0) = item__z(1) = item__z(2) = 1; return true;")
    assert same(one(x), np.ones(3))
    single = wrap_signature("x(n) -> (z(3),)", "item__z(0) = item__z(1) = item__z(2) = 1; return true;")
    result = single(x)
    assert type(result) is tuple
    assert len(result) == 1
    assert same(result[0], np.ones(3))
    two = wrap_signature(
        "x(n) -> z(3), w()", "item__z(0) = item__z(1) = item__z(2) = 1; item__w() = 2; return true;"
    )
    z, w = two(x)
    assert same(z, np.ones(3))
    assert w == 2


@pytest.mark.row("K07")
def test_an_output_without_a_name_is_called_output():
    assert wrap_signature("x() -> ()", "item__output() = item__x(); return true;")(4.0) == 4


@pytest.mark.row("K07")
def test_no_inputs():
    f = wrap_signature(
        "-> eye(3, 3)", "for (int i = 0; i < 9; i++) item__eye(i / 3, i % 3) = i % 4 == 0; return true;"
    )
    assert same(f(), np.eye(3))


@pytest.mark.row("K07", "K09")
def test_inout_in_a_signature():
    f = wrap_signature(
        "inout total(), x(n) -> count()",
        """
        for (int i = 0; i < dims_slice__x[0]; i++)
            item__total() += item__x(i);
        item__count() = dims_slice__x[0];
        return true;""",
    )
    total = np.array(100.0)
    assert f(total, ar(4)) == 4
    assert total == 106


@pytest.mark.row("K07")
@pytest.mark.parametrize(
    "text",
    ["a(n),b(n)->out()", "  a ( n ) , b ( n )  ->  out ( ) ", "a(n),\n\tb(n)\n-> out()"],
)
def test_blanks_do_not_matter(text):
    f = wrap_signature(text, INNER.replace("output", "out"))
    assert f(ar(3), ar(3)) == 5
    assert f.signature == wrap_signature("a(n), b(n) -> out()", INNER.replace("output", "out")).signature


@pytest.mark.row("K07")
def test_the_signature_of_a_function_can_be_read_back():
    for text in (
        "a(n), b(n) -> output()",
        "inout a(n, 3), b(n) -> out(3)",
        "a(n, n), b(0) -> p(), q(n, 2)",
        "x() -> (z(3),)",
        "-> o(3)",
    ):
        f = wrap_signature(text, NOTHING)
        assert f.signature == text
        assert wrap_signature(f.signature, NOTHING).signature == text


@pytest.mark.quick
@pytest.mark.row("K07")
def test_unicode_names():
    f = wrap_signature("größe(länge) -> summe()", "item__summe() = item__größe(1); return true;")
    assert f(ar(3)) == 1
    refuses(ValueError, lambda: f(ar(2, 3), out=np.zeros(5)), "summe", "must be 2", "got 5")


@pytest.mark.quick
@pytest.mark.row("K07")
@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("a(n), b(n)", 10),  # no arrow
        ("a(n) b(n) -> out()", 5),
        ("a(n), b(n -> out()", 10),
        ("a(n), -> out()", 6),
        ("a(n,) -> out()", None),
        ("a(n, 3x) -> out()", None),
        ("a(-3) -> out()", 2),
        ("a(n) -> out() junk", 14),
        ("1a(n) -> out()", 0),
        ("a(n) => out()", 5),
        ("", 0),
        ("a(n) ->", 7),
        ("a(99999999999999999999999) -> out()", 2),
        ("a(n), a(n) -> out()", 6),
        ("a(n) -> a(n)", 8),
        ("a[n] -> out()", 1),
        ("a((n)) -> out()", 2),
    ],
)
def test_faults_give_the_position(text, position):
    error = refuses(ValueError, lambda: wrap_signature(text, NOTHING), "signature")
    if text == "a(n,) -> out()" or text == "a(n, 3x) -> out()":
        assert "position" in str(error)
    else:
        assert f"position {position}" in str(error), str(error)


@pytest.mark.row("K07")
def test_a_position_counts_characters_not_bytes():
    refuses(ValueError, lambda: wrap_signature("größe(n) => out()", NOTHING), "signature", "position 9")


@pytest.mark.row("K07")
def test_a_signature_excludes_what_it_replaces():
    m = cwrapjit.module("t", "")
    code = {np.float64: NOTHING}
    for extra in (
        {"args_input": ("a",)},
        {"prototype_input": ((),)},
        {"prototype_output": ()},
        {"args_input": ("a",), "prototype_input": ((),), "prototype_output": ()},
        {"args_inout": ("a",)},
    ):
        refuses(
            TypeError,
            lambda extra=extra: m.function("f", "", signature="a() -> ()", Ccode_slice_eval=code, **extra),
            f"signature takes the place of {next(iter(extra))}",
        )


@pytest.mark.row("K07")
@pytest.mark.parametrize("signature", [3, b"a() -> ()", ("a() -> ()",)])
def test_a_signature_is_text(signature):
    refuses(TypeError, lambda: wrap_signature(signature, NOTHING), "signature", type(signature).__name__)


@pytest.mark.quick
@pytest.mark.row("K07")
def test_a_signature_with_a_nul_or_a_lone_surrogate():
    refuses(ValueError, lambda: wrap_signature("a() ->\0 ()", NOTHING), "signature")
    refuses(UnicodeEncodeError, lambda: wrap_signature("a\ud800() -> ()", NOTHING), "surrogates not allowed")


@pytest.mark.row("K07")
def test_a_signature_works_without_module():
    f = cwrapjit.function(
        "f",
        "",
        signature="x() -> ()",
        Ccode_slice_eval={np.float64: "item__output() = item__x(); return true;"},
    )
    assert f(3.0) == 3


@pytest.mark.quick
@pytest.mark.parametrize("signature", ["-> (n), output0(n)", "-> output1(3), ()"])
def test_the_name_of_an_output_without_one_may_be_taken(signature: str) -> None:
    refuses(
        ValueError,
        lambda: wrap_signature(signature, "return true;"),
        "an output without a name",
        "that name is taken",
    )
