"""lib.refine(): what a header does not say, for many functions at once; dims by option, sizes, statuses."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from library_tools import from_c

TEXT = """
double v_sum(size_t n, const double *x) { double s = 0; for(size_t i = 0; i < n; i++) s += x[i]; return s; }
double v_mean(size_t n, const double *x) { return n ? v_sum(n, x) / n : 0; }
void v_add(size_t n, const double *x, const double *y, double *z)
{
    for(size_t i = 0; i < n; i++) z[i] = x[i] + y[i];
}
void v_scale(size_t n, double *x, double by) { for(size_t i = 0; i < n; i++) x[i] *= by; }
double v_first(double x) { return x; }
int v_parts(double x, int *whole, double *rest) { *whole = (int)x; *rest = x - *whole; return x < 0; }
int w_check(int x) { return x; }
"""
HEADER = """
double v_sum(size_t n, const double *x);
double v_mean(size_t n, const double *x);
void v_add(size_t n, const double *x, const double *y, double *z);
void v_scale(size_t n, double *x, double by);
double v_first(double x);
int v_parts(double x, int *whole, double *rest);
int w_check(int x);
"""


def refuses(error, pattern, function, *args, **options):
    with pytest.raises(error, match=pattern):
        function(*args, **options)


@pytest.fixture
def lib():
    return from_c(TEXT)


# ---- patterns ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [True, False])
def test_dims_and_outputs_of_many_functions(lib, first):
    def refine():
        lib.refine("v_*", dims={"x": "n", "y": "n", "z": "n"}, out=("z", "whole", "rest"), check=ValueError)

    if first:
        refine()
    lib.declare(HEADER)
    if not first:
        assert "v_sum" in lib.unmapped
        refine()
    x = np.arange(4.0)
    assert lib.v_sum(x) == 6.0 and lib.v_mean(x) == 1.5
    assert lib.v_add(x, x).tolist() == [0.0, 2.0, 4.0, 6.0]
    lib.v_scale(x, 2.0)
    assert x.tolist() == [0.0, 2.0, 4.0, 6.0]
    assert lib.v_first(2.5) == 2.5  # its x is no pointer, and it has no status
    assert lib.v_parts(2.5) == (2, 0.5)
    refuses(ValueError, r"t\.v_parts\(\): status 1", lib.v_parts, -1.0)
    assert lib.w_check(3) == 3 and not lib.unmapped


def test_later_patterns_win_and_functions_own_options_come_last(lib):
    lib.refine("v_*", dims={"x": "n"}, inout=("whole", "rest"), check=ValueError)
    lib.declare(HEADER, options={"v_mean": {"dims": {"x": 3}}})
    assert lib.v_parts(2.5, 0, 0.0) == (2, 0.5)
    lib.refine("v_p*", out="rest")
    assert lib.v_parts(2.5, 0) == (2, 0.5)
    lib.refine("v_parts", out="whole", check=None)
    assert lib.v_parts(-2.5) == (1, -2, -0.5)
    assert lib.v_mean(3, np.ones(3)) == 1.0
    refuses(ValueError, r"dim 0 of argument x is 2, but must be 3", lib.v_mean, 2, np.ones(2))
    mine = lib.function("int v_parts(double x, int *whole, double *rest)", name="mine", inout="rest")
    assert mine(2.5, 0.0) == (0, 2, 0.5)
    lib.refine("v_parts", out=(), inout=(), dims=None, replace=True)
    assert "whole is a pointer without dims" in lib.unmapped["v_parts"]


def test_functions_that_exist_are_mapped_again(lib):
    f = lib.function("double v_sum(size_t n, const double x[])", unsafe=True)
    assert f(2, np.ones(3)) == 2.0
    lib.refine("v_sum", dims={"x": "n"})
    assert lib.v_sum(np.ones(3)) == 3.0
    assert f(2, np.ones(3)) == 2.0


def test_a_library_remembers_what_was_refined(lib):
    lib = pickle.loads(pickle.dumps(lib.declare(HEADER).refine("v_*", dims={"x": "n"})))
    assert lib.v_sum(np.ones(3)) == 3.0


def test_refinements_that_contradict_are_both_shown(lib):
    lib.declare(HEADER)
    lib.refine("v_*", dims={"x": "n"}, out="rest", check=ValueError)
    for again in ({"dims": {"x": "m"}}, {"inout": "rest"}, {"check": OSError}):
        refuses(
            ValueError, r"differs: it was refine\('v_\*', dims=.*, and is now refine\('v_\*', .*replace=True",
            lib.refine, "v_*", **again,
        )  # fmt: skip
    assert lib.v_sum(np.ones(3)) == 3.0
    lib.refine("v_*", dims={"x": "n", "y": "n"}, out="whole")
    assert lib.v_parts(2.5) == (2, 0.5)
    lib.refine("v_*", dims={"x": 2}, replace=True)
    refuses(ValueError, "but must be 2", lib.v_sum, 3, np.ones(3))


def test_refinements_that_do_not_fit(lib):
    lib.declare(HEADER)
    refuses(
        ValueError,
        r"t\.v_sum\(\): dims names 'y', which is no parameter",
        lib.refine,
        "v_sum",
        dims={"y": "n"},
    )
    refuses(
        ValueError, r"t\.v_first\(\): dims names x, which is no pointer", lib.refine, "v_first", dims={"x": 3}
    )
    refuses(ValueError, r"t\.v_first\(\): out names 'y'", lib.refine, "v_first", out="y")
    refuses(TypeError, r"t\.refine\(\) has no option 'outs'; out= is one", lib.refine, "v_*", outs="x")
    refuses(TypeError, r"t\.refine\(\): name= goes with one function", lib.refine, "v_*", name="x")
    refuses(TypeError, r"t\.refine\(\): there is no option", lib.refine, "v_*")
    refuses(TypeError, r"t\.refine\(\): the pattern must be a str, not int", lib.refine, 3, out="x")
    refuses(ValueError, r"names none", lib.refine, "", out="x")
    refuses(TypeError, r"dims must be a dict by names of parameters, not str", lib.refine, "v_*", dims="x")
    refuses(TypeError, r"out must be the name of a parameter", lib.refine, "v_*", out=3)
    for bad in ("n;", "n**2", "x[", "", "strlen(x)", 2.5, True, None, "(n"):
        refuses((TypeError, ValueError), r"t\.v_sum\(\): dims\['x'\]", lib.refine, "v_sum", dims={"x": bad})
    assert lib.unmapped.keys() == {"v_sum", "v_mean", "v_add", "v_scale", "v_parts"}
    assert lib.w_check(3) == 3
    with pytest.warns(UserWarning, match=r"t\.refine\(\): 'u_\*' is the name of no function"):
        lib.refine("u_*", out="x")


# ---- dims --------------------------------------------------------------------------------------------


def test_dims_and_declarations_agree(lib):
    f = lib.function("double v_sum(size_t n, const double x[])", dims={"x": "n"})
    assert f(np.ones(3)) == 3.0
    f = lib.function("double v_sum(size_t n, const double x[n])", dims={"x": "n"})
    assert f(np.ones(3)) == 3.0
    f = lib.function("double v_sum(size_t n, const double x[][3])", dims={"x": ("n", 3)})
    assert f(np.ones((3, 3))) == 3.0
    refuses(
        ValueError, r"dims says x\[n\]\[2\], but it is declared as x\[\]\[3\]", lib.function,
        "double v_sum(size_t n, const double x[][3])", dims={"x": "n, 2"},
    )  # fmt: skip
    refuses(
        ValueError, r"dims says x\[n\], but it is declared as x\[n \+ 1\]", lib.function,
        "double v_sum(size_t n, const double x[n + 1])", dims={"x": "n"},
    )  # fmt: skip


def test_dims_of_void_pointers_count_bytes():
    lib = from_c("int first(const void *p, size_t n) { return n ? *(const unsigned char *)p : -1; }")
    first = lib.function("int first(const void *p, size_t n)", dims={"p": "n"})
    assert first(b"abc") == 97 and first(b"") == -1


CHOICES = """
void diagonal(int m, int n, const double *a, double *s)
{
    for(int i = 0; i < (m < n ? m : n); i++) s[i] = a[i * n + i];
}
void vectors(char job, int m, int n, const double *a, double *u) { if(job != 'N') u[0] = a[0] + m + n; }
void chosen(int n, int k, const double *x) { (void)n; (void)k; (void)x; }
double sparse(int n, const int *Ap, const int *Ai, const double *Ax)
{
    double s = 0;
    for(int i = 0; i < Ap[n]; i++) s += Ai[i] * Ax[i];
    return s;
}
"""


def test_dims_choose():
    lib = from_c(CHOICES)
    lib.function("void diagonal(int m, int n, const double a[m][n], double s[min(m, n)])", out="s")
    assert lib.diagonal(np.arange(6.0).reshape(2, 3)).tolist() == [0.0, 4.0]
    assert lib.diagonal(np.arange(6.0).reshape(3, 2)).tolist() == [0.0, 3.0]
    lib.function(
        "void vectors(char job, int m, int n, const double *a, double *u)",
        dims={"a": "m, n", "u": ("m", "job == 'A' ? m : job == 'S' ? min(m, n) : 0")}, out="u",
    )  # fmt: skip
    shapes = {job: lib.vectors(ord(job), np.ones((3, 2))).shape for job in "ASN"}
    assert shapes == {"A": (3, 3), "S": (3, 2), "N": (3, 0)}


# What follows n and k with dims of the right, of another, and of no length at all.
EXPRESSIONS = """
min(n,k) max(n,k) max(n,min(k,2)) n<k n<=k n>k n>=k n==k n!=k n&&k n||k !n !!n !(n-k)
n?k:7 n>k?n:k k?n/k:0 k&&n/k !k||n%k n?k?1:2:3 (n?n:k)*2 -n+n+k -(n-k)*(n>k) min(n/k,3) k?n%k+1:n 'A'-n
""".split()


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_dims_are_computed_as_c_computes_them(text):
    """An oracle: C itself."""
    macros = "#define min(a, b) ((a) < (b) ? (a) : (b))\n#define max(a, b) ((a) > (b) ? (a) : (b))\n"
    lib = from_c(f"{macros}int of(int n, int k) {{ return {text}; }}\n{CHOICES}")
    of = lib.function("int of(int n, int k)")
    chosen = lib.function("void chosen(int n, int k, const double *x)", dims={"x": text})
    for n in range(4):
        for k in range(3):
            if k == 0 and text == "min(n/k,3)":
                refuses(ValueError, "division by zero", chosen, n, k, np.ones(0))
                continue
            wanted = of(n, k)
            refuses(ValueError, f"must be {wanted} ", chosen, n, k, np.ones(wanted + 1 if wanted >= 0 else 0))
            if wanted >= 0:
                chosen(n, k, np.ones(wanted))


def test_messages_show_dims_as_c_writes_them():
    lib = from_c(CHOICES)
    for text, shown in [
        ("n + k * 2", r"must be 8 \(n \+ \(k \* 2\), n is 2 by .* n, k is 3 by .* k\)"),
        (
            "n > k ? n : max(n, k, 1)",
            r"must be 3 \(\(n > k\) \? n : max\(max\(n, k\), 1\), n is 2 by .* n, k is 3 by .* k\)",
        ),
        ("!n + (n && !k)", r"must be 0 \(!n \+ \(n && !k\), n is 2 by .* n, k is 3 by .* k\)"),
    ]:
        chosen = lib.function("void chosen(int n, int k, const double *x)", dims={"x": text})
        refuses(ValueError, shown, chosen, 2, 3, np.ones(5))


def test_lengths_that_no_parameter_says():
    lib = from_c(CHOICES)
    lib.refine("sparse", dims={"Ap": "n + 1", "Ai": "nz", "Ax": "nz"})
    lib.declare("double sparse(int n, const int *Ap, const int *Ai, const double *Ax);")
    one = np.array([1, 2], np.intc)
    assert lib.sparse(1, np.array([0, 2], np.intc), one, np.ones(2)) == 3.0
    refuses(
        ValueError, r"dim 0 of argument Ax is 3, but must be 2 \(nz, nz is 2 by argument Ai\)",
        lib.sparse, 1, np.array([0, 2], np.intc), one, np.ones(3),
    )  # fmt: skip
    refuses(
        ValueError, "argument Ap is 1, but must be 2", lib.sparse, 1, np.zeros(1, np.intc), one, np.ones(2)
    )
    # A slip of the pen would make n a number like any other, and any length one that C reads.
    declaration = "double sparse(int count, const int *Ap, const int *Ai, const double *Ax)"
    for slip in ("Count", "coun", "COUNT"):
        refuses(
            ValueError, f"{slip} in a dim is no .* but count is", lib.function, declaration, dims={"Ap": slip}
        )
    lib = from_c(CHOICES)
    refuses(
        ValueError, "nz in a dim .* and no array that is given has it",
        lib.function, declaration, dims={"Ap": "nz + 1", "Ai": "count", "Ax": "count"},
    )  # fmt: skip


def test_dims_that_are_no_dims():
    lib = from_c(CHOICES)
    deep = "(" * 40 + "n" + ")" * 40
    nested = "n"
    for _ in range(20):
        nested = f"n ? n : ({nested})"
    for bad, why in [
        ("min(n)", "two numbers at least"), ("min()", "two numbers at least"), ("least(n, k)", "made of"),
        ("n, k ? 1", "is no dim"), ("n ? k", "is no dim"), ("n = k", "made of"), ("n & k", "made of"),
        ("~n", "is no dim"), ("x", "x in a dim is no integer parameter"), ("n << 2", "made of"),
        (nested, "nested too deeply"), ("n->k", "made of"), ("1.5", "no integer"), ("'ab'", "is no integer"),
        ("n++", "made of"), ("sizeof(n)", "made of"), ("(int)n", "made of"), ("+".join("n" * 40), "too long"),
        ("*x", "x in a dim is no integer"), ("10000000000000000000000", "too large"),
    ]:  # fmt: skip
        refuses(
            ValueError, rf"(?s)dims\['x'\].*{why}",
            lib.function, "void chosen(int n, int k, const double *x)", dims={"x": bad},
        )  # fmt: skip
    lib.function("void chosen(int n, int k, const double *x)", dims={"x": deep})
