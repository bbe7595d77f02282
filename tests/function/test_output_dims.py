"""output_dims=: lengths of outputs that are computed from those of inputs."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from helpers import ar, build_extension, refuses, same, wrap, wrap_signature
from hypothesis import given, settings
from hypothesis import strategies as st
from leaks import keeps_nothing

import cwrapjit

DISTANCES = """
    int k = 0;
    for (npy_intp i = 0; i < dims_slice__x[0]; i++)
        for (npy_intp j = i + 1; j < dims_slice__x[0]; j++) {
            double sum = 0;
            for (npy_intp d = 0; d < dims_slice__x[1]; d++)
                sum += (item__x(i, d) - item__x(j, d)) * (item__x(i, d) - item__x(j, d));
            item__output(k++) = sqrt(sum);
        }
    return true;
"""
# Sets each element of the output to its index.
COUNT = "for (int i = 0; i < dims_slice__output[0]; i++) item__output(i) = i; return true;"


def distances(**kw: Any) -> Any:
    kw.setdefault("output_dims", {"m": "n*(n-1)/2"})
    return wrap_signature("x(n, d) -> output(m)", DISTANCES, **kw)


def expected(x: Any) -> Any:
    i, j = np.triu_indices(x.shape[-2], 1)
    return np.sqrt(((x[..., i, :] - x[..., j, :]) ** 2).sum(-1))


def length(expression: str, **kw: Any) -> Any:
    """What an expression over n and k comes to: n, k -> int."""
    f = wrap_signature("a(n), b(k) -> output(m)", COUNT, output_dims={"m": expression}, **kw)
    return lambda n, k=1: len(f(np.zeros(n), np.zeros(k)))


@pytest.mark.row("K08")
@pytest.mark.parametrize("n", [0, 1, 2, 3, 7])
@pytest.mark.parametrize("outer", [(), (2,), (2, 3), (0,)])
def test_pairwise_distances_without_out(n, outer):
    f = distances()
    x = np.random.default_rng(n).normal(size=(*outer, n, 3))
    got = f(x)
    assert np.allclose(got, expected(x)) and got.shape == expected(x).shape
    out = np.empty(got.shape)
    assert f(x, out=out) is out and same(out, got)
    assert f.signature == "x(n, d) -> output(m)"
    assert f.output_dims == {"m": "n*(n-1)/2"}


@pytest.mark.quick
@pytest.mark.row("K08")
def test_out_must_have_the_computed_length():
    f = distances()
    for _ in range(3):  # the quick way, too
        error = refuses(ValueError, lambda: f(ar(4, 2), out=np.empty(5)), "t.f()", "'output'", "'m'")
        assert "must be 6, which is n*(n-1)/2 with n = 4, got 5" in str(error)
        assert same(f(ar(4, 2), out=np.empty(6)), expected(ar(4, 2)))
    assert same(f(ar(4, 2), out=np.empty((2, 6))), np.stack([expected(ar(4, 2))] * 2))


@pytest.mark.quick
@pytest.mark.row("K08")
def test_all_operators_are_those_of_c():
    rng = np.random.default_rng(0)
    for text, python in [
        ("n + k * 2 + 1", lambda n, k: n + k * 2 + 1),
        ("(n + k) * 2 % 7", lambda n, k: (n + k) * 2 % 7),
        ("0 - (-7 / 2) + n - k + 20", lambda n, k: 3 + n - k + 20),
        ("-(-7 % 4) + n", lambda n, k: 3 + n),
        ("n < k ? n : k", min),
        ("min(n, k) + max(n, k - 1)", lambda n, k: min(n, k) + max(n, k - 1)),
        (
            "(n > k) + 2 * (n >= k) + 4 * (n < k) + 8 * (n <= k) + 16 * (n == k) + 32 * (n != k)",
            lambda n, k: 44 if n < k else 35 if n > k else 26,
        ),
        ("n && k || !n", lambda n, k: int((n and k) != 0 or n == 0)),
        ("k == 0 || n / k > 1 ? 1 : 2", lambda n, k: 1 if k == 0 or n // k > 1 else 2),
        ("k != 0 && n % k == 0 ? n / k : 0", lambda n, k: n // k if k and n % k == 0 else 0),
        ("1 << n >> k", lambda n, k: 1 << n >> k),
        ("1+n<<1", lambda n, k: (1 + n) << 1),
        ("0x1F + 010 + n", lambda n, k: 31 + 8 + n),
        ("n ? k ? 3 : 2 : k ? 1 : 0", lambda n, k: (3 if k else 2) if n else 1 if k else 0),
        ("!!n + + - -k", lambda n, k: int(n != 0) + k),
        (" n\n\t/ 2", lambda n, k: n // 2),
    ]:
        f = length(text)
        for n, k in rng.integers(0, 8, size=(12, 2)):
            assert f(n, k) == python(int(n), int(k)), (text, n, k)


# An expression in C's and in Python's words, with the value that both must have.
def expressions() -> Any:
    leaf = st.one_of(st.integers(0, 9).map(str), st.sampled_from("nk"))

    def more(inner: Any) -> Any:
        binary = st.tuples(inner, st.sampled_from("+ - * / % < <= > >= == != && ||".split()), inner)
        return st.one_of(
            binary.map(lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"),
            inner.map(lambda text: f"(-{text})"),
            inner.map(lambda text: f"!({text})"),
            st.tuples(inner, inner, inner).map(lambda three: "({} ? {} : {})".format(*three)),
            st.tuples(st.sampled_from(["min", "max"]), inner, inner).map(lambda t: "{}({}, {})".format(*t)),
        )

    return st.recursive(leaf, more, max_leaves=8)


@pytest.mark.row("K08")
@settings(max_examples=150, deadline=None)
@given(expressions(), st.integers(0, 5), st.integers(0, 5))
def test_random_expressions_are_what_c_says(text, n, k):
    size = f"({text}) % 50 * (({text}) % 50)"  # never negative
    in_c = cwrapjit.function(
        "f",
        signature="a(n), b(k) -> output(), bad()",
        Ccode_slice_eval={
            np.float64: f"""
            #define min(a, b) cwj_least(a, b)
            #define max(a, b) cwj_most(a, b)
            npy_intp n = dims_slice__a[0], k = dims_slice__b[0];
            item__output() = {size};
            item__bad() = 0;
            return true;"""
        },
        header="""
        static npy_intp cwj_least(npy_intp a, npy_intp b) { return a < b ? a : b; }
        static npy_intp cwj_most(npy_intp a, npy_intp b) { return a > b ? a : b; }""",
        debug=True,
    )
    f = length(size)
    try:
        wanted = int(in_c(np.zeros(n), np.zeros(k))[0])
    except cwrapjit.Fault:
        refuses(ValueError, lambda: f(n, k), "divides by zero")
    else:
        assert f(n, k) == wanted


@pytest.mark.quick
@pytest.mark.row("K08")
def test_what_has_no_length_is_refused():
    f = length("n - 2")
    assert f(2) == 0
    error = refuses(ValueError, lambda: f(1), "t.f()", "'m'", "n - 2 is -1 with n = 1", "negative")
    assert "k =" not in str(error)
    refuses(ValueError, lambda: length("n / k")(3, 0), "t.f()", "'m' = n / k divides by zero", "n = 3, k = 0")
    refuses(ValueError, lambda: length("n % k")(3, 0), "divides by zero")
    big = 2**62
    for text in (
        f"{big} + n * {big}",
        f"n * {big} * 2",
        f"-{big} - {big} - n",
        "n << 62",
        "-1 << 63 << n",
        f"-(-{big} * 2) * n",
        f"(-{big} * 2) / -n",
    ):
        value = 2 if text.startswith(("n", "-1", str(big))) else 1
        refuses(ValueError, lambda text=text, value=value: length(text)(value), "t.f()", "too large")
    refuses(ValueError, lambda: length("1 << n")(64), "shifts by a count")
    refuses(ValueError, lambda: length("n >> k - 2")(3, 1), "shifts by a count")
    with pytest.raises((ValueError, MemoryError), match=r"t\.f\(\)"):
        length(f"{big} + 1")(1)
    # the same with out=, which cannot make it right
    g = wrap_signature("a(n) -> output(m)", COUNT, output_dims={"m": "n - 2"})
    refuses(ValueError, lambda: g(np.zeros(1), out=np.zeros(1)), "n - 2 is -1")
    assert same(g(np.zeros(4), out=np.zeros(2)), ar(2))


@pytest.mark.quick
@pytest.mark.row("K08")
@pytest.mark.parametrize(
    ("text", "place", "word"),
    [
        ("n * q", 4, "no input has a dimension 'q'"),
        ("n * m", 4, "no input has a dimension 'm'"),
        ("n +", 3, "expected a number"),
        ("", 0, "expected a number"),
        ("(n", 2, "expected an operator or ')'"),
        ("n)", 1, "expected an operator or the end"),
        ("n n", 2, "expected an operator or the end"),
        ("n ** 2", 3, "expected a number"),
        ("n & 1", 2, "expected an operator or the end"),
        ("n ? 1", 5, "expected an operator or ':'"),
        ("min(n)", 5, "expected an operator or ','"),
        ("min n", 4, "expected '('"),
        ("09", 1, "octal"),
        ("0x", 2, "expected a digit"),
        ("12ab", 2, "expected a digit"),
        ("1.5", 1, "expected an operator or the end"),
        ("99999999999999999999", 0, "too large"),
        ("n\0", 1, "expected an operator or the end"),
        ("ä + n", 0, "no input has a dimension 'ä'"),
        ("(" * 200 + "n", None, "too deeply nested"),
        ("-" * 200 + "n", None, "too deeply nested"),
        ("+".join("n" * 20000), None, "too large"),
        ("min(n, " * 40 + "n" + ")" * 40, None, "too large"),
        ("n ? " * 120 + "n" + ": n" * 120, None, "too deeply nested"),
    ],
)
def test_a_text_that_is_no_expression_is_refused_with_its_place(text, place, word):
    error = refuses(ValueError, lambda: length(text), "t.f()", "output_dims['m']", word)
    if place is not None:
        assert f"at position {place}\n" in str(error)
        assert str(error).endswith("\n    " + " " * place + "^")


@pytest.mark.quick
@pytest.mark.row("K08")
def test_what_is_no_dim_to_compute_is_refused():
    def define(dims: Any) -> Any:
        return wrap_signature("a(n, 2) -> output(m)", COUNT, output_dims=dims)

    refuses(ValueError, lambda: define({"n": "n"}), "t.f()", "'n' is a dimension of the input 'a'")
    refuses(ValueError, lambda: define({"q": "n"}), "t.f()", "no output has a dimension 'q'")
    refuses(ValueError, lambda: define({"m": "n", "q": "n"}), "no output has a dimension 'q'")
    refuses(ValueError, lambda: define({"m": "n", "1": "n"}), "t.f()", "output_dims", "'1'")
    refuses(TypeError, lambda: define({1: "n"}), "t.f()", "output_dims", "int")
    refuses(TypeError, lambda: define({"m": 3}), "t.f()", "output_dims['m']", "int")
    refuses(TypeError, lambda: define("n"), "t.f()", "output_dims", "dict")
    refuses(TypeError, lambda: define([("m", "n")]), "t.f()", "output_dims", "dict")
    for nothing in (None, {}):
        f = define(nothing)
        assert f.output_dims == {}
        refuses(ValueError, lambda f=f: f(ar(3, 2)), "out is required")
    with pytest.raises(UnicodeEncodeError):
        define({"m": "\ud800"})


@pytest.mark.quick
@pytest.mark.row("K08")
def test_several_dims_and_outputs_beside_dims_that_only_out_has():
    code = """
        for (int i = 0; i < dims_slice__p[0]; i++) item__p(i) = 1;
        for (int i = 0; i < dims_slice__q[0]; i++)
            for (int j = 0; j < dims_slice__q[1]; j++) item__q(i, j) = 10 * i + j;
        return true;"""
    f = wrap_signature("a(n), inout b(k) -> p(s), q(t, n)", code, output_dims={"s": "n + k", "t": "k * 2"})
    p, q = f(np.zeros(3), np.zeros(2))
    assert same(p, np.ones(5)) and same(q, 10 * ar(4)[:, None] + ar(3))
    assert f.output_dims == {"s": "n + k", "t": "k * 2"}
    g = wrap_signature("a(n) -> p(s), q(t, n)", code, output_dims={"s": "n + 1"})
    refuses(ValueError, lambda: g(np.zeros(3)), "'q'", "no input sets dimension 't', so out is required")
    p, q = g(np.zeros(3), out=(np.empty(4), np.empty((5, 3))))
    assert same(p, np.ones(4)) and q[4, 2] == 42
    refuses(ValueError, lambda: g(np.zeros(3), out=(np.empty(3), np.empty((5, 3)))), "must be 4")
    # a dim that two outputs have, an input that lacks its dim, and prototypes in place of a signature
    h = wrap((("n",),), (("m",), ("m", 2)), "return true;", output_dims={"m": "n + 1"})
    assert [each.shape for each in h(1.0)] == [(2,), (2, 2)]
    refuses(ValueError, lambda: h(1.0, out=(np.empty(2), np.empty((3, 2)))), "'m'", "must be 2", "got 3")


@pytest.mark.row("K08")
def test_names_that_are_functions_elsewhere():
    f = wrap_signature("a(min, max) -> output(m)", COUNT, output_dims={"m": "min * max"})
    assert same(f(ar(2, 3)), ar(6))


@pytest.mark.row("K08")
@pytest.mark.parametrize(
    "options", [{"debug": True}, {"threads": 2}, {"cast": "safe"}, {"optimize": "eager"}]
)
def test_with_other_options(options):
    f = distances(**options)
    x = np.random.default_rng(1).normal(size=(500, 6, 3))
    for each in (x, x[::-1, ::2], x[:0], x[0]):
        assert np.allclose(f(each), expected(each))
        assert np.allclose(f(each, out=np.empty(expected(each).shape)), expected(each))
    refuses(ValueError, lambda: f(x, out=np.empty((500, 14))), "must be 15")


@pytest.mark.row("K08")
def test_both_tiers_and_many_sizes():
    f = distances()
    for _ in range(2):
        for n in range(20):
            x = np.random.default_rng(n).normal(size=(3, n, 2))
            assert np.allclose(f(x), expected(x))
        f.wait()


@pytest.mark.row("K08")
def test_threads_call_it_at_the_same_time():
    f = distances()
    wrong = []

    def work(n: int) -> None:
        x = np.random.default_rng(n).normal(size=(n, 2))
        wrong.extend(n for _ in range(200) if not np.allclose(f(x), expected(x)))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.row("K08")
def test_a_written_module_computes_them_too(tmp_path):
    m = cwrapjit.module("written_dims", "")
    m.function(
        "pairs",
        signature="x(n, d) -> output(m)",
        Ccode_slice_eval={np.float64: DISTANCES},
        output_dims={"m": "n > 1 ? n*(n-1)/2 : 0"},
    )
    m.function("plain", signature="x() -> y()", Ccode_slice_eval={np.float64: "item__y() = 1; return true;"})
    with open(tmp_path / "text.c", "w") as file:
        m.write(file)
    written = build_extension(tmp_path, "written_dims", (tmp_path / "text.c").read_text())
    x = np.random.default_rng(3).normal(size=(4, 5, 2))
    assert np.allclose(written.pairs(x), expected(x))
    assert same(written.pairs(x, out=np.empty((4, 10))), m.pairs(x))
    says = "dimension 'm' (axis -1) must be 10, which is n > 1 ? n*(n-1)/2 : 0 with n = 5, got 11"
    refuses(ValueError, lambda: written.pairs(x, out=np.empty((4, 11))), says)


@pytest.mark.leak
@pytest.mark.parametrize("text", ["n*(n-1)/2 + min(n, 3)", "n + n * " * 20, "n * q"])
def test_definitions_and_calls_keep_nothing(text):
    def define() -> None:
        f = wrap_signature("a(n) -> output(m)", COUNT, output_dims={"m": text}, optimize="off")
        f(np.zeros(4))
        with pytest.raises(ValueError, match="must be 9"):
            f(np.zeros(4), out=np.zeros(8))

    def attempt() -> None:
        try:
            define()
        except ValueError as error:
            assert "output_dims" in str(error)

    keeps_nothing(attempt)
