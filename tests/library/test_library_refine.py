"""Tests lib.refine(), which adds options to many functions: dims, sizes, statuses."""

from __future__ import annotations

import gc
import itertools
import pickle
import weakref

import numpy as np
import pytest
from leaks import COUNTED, keeps_nothing
from library_tools import from_c

import cwrapjit

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
        assert "Pointer" in str(lib.v_sum.__signature__)
        refine()
    x = np.arange(4.0)
    assert lib.v_sum(x) == 6.0 and lib.v_mean(x) == 1.5
    assert lib.v_add(x, x).tolist() == [0.0, 2.0, 4.0, 6.0]
    lib.v_scale(x, 2.0)
    assert x.tolist() == [0.0, 2.0, 4.0, 6.0]
    assert lib.v_first(2.5) == 2.5  # its x is no pointer, and there is no status
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
    refuses(ValueError, r"argument x is 2, but must be 3", lib.v_mean, 2, np.ones(2))
    mine = lib.function("int v_parts(double x, int *whole, double *rest)", name="mine", inout="rest")
    assert mine(2.5, 0.0) == (0, 2, 0.5)
    lib.refine("v_parts", out=(), inout=(), dims=None, replace=True)
    assert "whole: Pointer[int32]" in str(lib.v_parts.__signature__)
    assert pickle.loads(pickle.dumps(lib)).v_sum(np.ones(3)) == 3.0, "a library remembers what was refined"


def test_functions_that_exist_are_mapped_again(lib):
    f = lib.function("double v_sum(size_t n, const double x[])", unsafe=True)
    assert f(2, np.ones(3)) == 2.0
    lib.refine("v_sum", dims={"x": "n"})
    assert lib.v_sum(np.ones(3)) == 3.0
    assert f(2, np.ones(3)) == 2.0


def test_a_pattern_takes_nothing_back_where_it_is_about_others():
    lib = from_c(TEXT + "const char *v_echo(const char *text) { return text; }")
    lib.refine("v_echo", encoding={"return": None}).refine("v_sum", unsafe="x")
    lib.refine("v_*", encoding={"other": "ascii"}, unsafe="by")
    lib.declare(HEADER + "const char *v_echo(const char *text);")
    assert lib.v_echo("a") == b"a"
    assert lib.v_sum(2, np.array([1.0, 2.0])) == 3


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
    for pattern, options, error, why in (
        ("v_sum", {"dims": {"y": "n"}}, ValueError, r"t\.v_sum\(\): dims names 'y'"),
        ("v_first", {"dims": {"x": 3}}, ValueError, r"t\.v_first\(\): dims names x, which is no pointer"),
        ("v_first", {"out": "y"}, ValueError, r"t\.v_first\(\): out names 'y'"),
        ("v_*", {"outs": "x"}, TypeError, r"t\.refine\(\) got an unexpected .* 'outs'; did you mean 'out'\?"),
        ("v_*", {"name": "x"}, TypeError, r"t\.refine\(\): name= goes with one function"),
        ("v_*", {}, TypeError, r"t\.refine\(\): there is no option"),
        (3, {"out": "x"}, TypeError, r"t\.refine\(\): the pattern must be a str, not int"),
        ("", {"out": "x"}, ValueError, "names none"),
        ("v_sum", {"dims": {"x": "n;"}}, ValueError, r"t\.v_sum\(\): dims\['x'\]"),
    ):
        refuses(error, why, lib.refine, pattern, **options)
    for name in ("v_sum", "v_mean", "v_add", "v_scale", "v_parts"):
        assert "Pointer" in str(getattr(lib, name).__signature__)
    with pytest.warns(UserWarning, match=r"t\.refine\(\): 'u_\*' is the name of no function") as found:
        lib.refine("u_*", out="x")
    assert found[0].filename == __file__


def test_warnings_name_the_users_line_whenever_a_function_is_mapped() -> None:
    text = "const double *larger(const double *a, const double *b) { return *a > *b ? a : b; }"
    head, options = text.partition("{")[0], {"returns": "argument"}
    lib = from_c(text).declare(f"{head};")
    with pytest.warns(UserWarning, match="the result may point into any of a, b") as found:
        lib.function(head, **options)
    with pytest.warns(UserWarning, match="the result may point into any of a, b") as later:
        lib.refine("larger", **options)
    assert [each.filename for each in (*found, *later)] == [__file__, __file__]


# ---- dims --------------------------------------------------------------------------------------------


@pytest.mark.quick
def test_dims_and_declarations_agree(lib):
    text = "double v_sum(size_t n, const double x{})"
    for dims, declared, x in (
        ("n", "[]", np.ones(3)),
        ("n", "[n]", np.ones(3)),
        (("n", 3), "[][3]", np.ones((3, 3))),
    ):
        assert lib.function(text.format(declared), dims={"x": dims})(x) == 3.0
    for dims, declared, why in (
        ("n, 2", "[][3]", r"dims says x\[n\]\[2\], but it is declared as x\[\]\[3\]"),
        ("n", "[n + 1]", r"dims says x\[n\], but it is declared as x\[n \+ 1\]"),
    ):
        refuses(ValueError, why, lib.function, text.format(declared), dims={"x": dims})


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


# Dims as functions of n and k: with a right length, a wrong one, or none.
EXPRESSIONS = """
min(n,k) max(n,min(k,2)) n<k n<=k n>k n>=k n==k n!=k n&&k n||k !!n !(n-k) n?k:7 n>k?n:k k?n/k:0 k&&n/k !k||n%k
n?k?1:2:3 (n?n:k)*2 -n+n+k -(n-k)*(n>k) min(n/k,3) k?n%k+1:n 'A'-n
""".split()


@pytest.mark.quick
def test_dims_are_computed_as_c_computes_them():
    """C itself is the oracle."""
    code = "#define min(a, b) ((a) < (b) ? (a) : (b))\n#define max(a, b) ((a) > (b) ? (a) : (b))\n"
    code += "".join(f"int of{i}(int n, int k) {{ return {text}; }}\n" for i, text in enumerate(EXPRESSIONS))
    lib = from_c(code + CHOICES)
    for i, text in enumerate(EXPRESSIONS):
        of = lib.function(f"int of{i}(int n, int k)")
        chosen = lib.function("void chosen(int n, int k, const double *x)", dims={"x": text})
        for n, k in itertools.product(range(4), range(3)):
            if k == 0 and text == "min(n/k,3)":
                refuses(ValueError, "division by zero", chosen, n, k, np.ones(0))
                continue
            wanted = of(n, k)
            refuses(ValueError, f"must be {wanted} ", chosen, n, k, np.ones(wanted + 1 if wanted >= 0 else 0))
            if wanted >= 0:
                chosen(n, k, np.ones(wanted))


def test_lengths_that_no_parameter_says():
    lib = from_c(CHOICES)
    lib.refine("sparse", dims={"Ap": "n + 1", "Ai": "nz", "Ax": "nz"})
    lib.declare("double sparse(int n, const int *Ap, const int *Ai, const double *Ax);")
    ends, one = np.array([0, 2], np.intc), np.array([1, 2], np.intc)
    assert lib.sparse(1, ends, one, np.ones(2)) == 3.0
    refuses(ValueError, r"Ax is 3, but must be 2 \(nz, nz is 2 by", lib.sparse, 1, ends, one, np.ones(3))
    refuses(ValueError, "argument Ap is 1, but must be 2", lib.sparse, 1, ends[:1], one, np.ones(2))
    # With a misspelt name, n would be an ordinary number, and C would read any length.
    text = "double sparse(int count, const int *Ap, const int *Ai, const double *Ax)"
    for slip in ("Count", "coun", "COUNT"):
        refuses(ValueError, f"{slip} in a dim is no .* but count is", lib.function, text, dims={"Ap": slip})
    dims = {"Ap": "nz + 1", "Ai": "count", "Ax": "count"}
    refuses(
        ValueError, "nz in a dim .* no array that is given has it", from_c(CHOICES).function, text, dims=dims
    )


# ---- statuses, errno, discarded results ------------------------------------------------------------------

STATUSES = """
#include <errno.h>
#include <string.h>
#include <stdio.h>
int fails(int status, int error) { errno = error; return status; }
long long fails_long(long long status, int error) { errno = error; return status; }
unsigned fails_unsigned(unsigned status, int error) { errno = error; return status; }
unsigned long fails_size(unsigned long status, int error) { errno = error; return status; }
const char *text_of(int there, int error) { errno = error; return there ? "there" : NULL; }
void *block(int there, int error) { errno = error; return there ? &errno : NULL; }
double half(double x) { return x / 2; }
int parts(double x, double *whole, int *status, int scratch[3])
{
    scratch[0] = 7; *whole = (int)x; return *status = x < 0 ? 5 : 0;
}
const char *words(int status) { return status == 5 ? "negative" : "other"; }
typedef struct db db;
struct db { char text[80]; };
db *db_open(const char *name) { db *d = calloc(1, sizeof *d); strcpy(d->text, name); return d; }
void db_close(db *d) { free(d); }
int db_run(db *d, int x) { snprintf(d->text, sizeof d->text, "no %d, please", x); return x; }
const char *db_message(db *d) { return d->text; }
const char *db_both(db *d, int status)
{
    static char s[99];
    snprintf(s, 99, "%s: %d", d->text, status);
    return s;
}
const char *db_last(void) { return "the last one"; }
"""


@pytest.fixture
def statuses():
    return from_c(COUNTED + STATUSES)


@pytest.mark.row("L11")
@pytest.mark.parametrize("gil", [False, True])
@pytest.mark.parametrize("debug", [False, True])
def test_errno_becomes_an_error_of_the_system(gil, debug):
    lib = from_c(STATUSES, gil=gil, debug=debug)
    fails = lib.function("int fails(int status, int error)", check=OSError)
    assert [fails(status, 2) for status in (0, 1, 7)] == [0, 1, 7]
    with pytest.raises(FileNotFoundError, match=r"\[Errno 2\] t\.fails\(\): No such file") as found:
        fails(-1, 2)
    assert found.value.errno == 2
    refuses(PermissionError, "Permission denied", fails, -1, 13)
    refuses(OSError, r"t\.fails\(\): status -1, and errno does not say why", fails, -1, 0)
    for name, ctype, fine, failure in [
        ("fails_long", "long long", 5, -1),
        ("fails_unsigned", "unsigned", 2**31, 2**32 - 1),
        ("fails_size", "unsigned long", 2**63, 2**64 - 1),
    ]:
        f = lib.function(f"{ctype} {name}({ctype} status, int error)", check=OSError)
        assert f(fine, 2) == fine
        refuses(FileNotFoundError, "No such file", f, failure, 2)
    assert fails(3, 2) == 3  # the errno of an earlier call does not count


@pytest.mark.quick
@pytest.mark.row("L11")
def test_null_is_a_failure_where_a_pointer_is_promised(statuses):
    declared = "const char *text_of(int there, int error)"
    text_of = statuses.function(declared, check=OSError)
    assert text_of(1, 2) == "there"
    refuses(FileNotFoundError, r"t\.text_of\(\): No such file", text_of, 0, 2)
    refuses(OSError, "NULL, and errno does not say why", text_of, 0, 0)
    refuses(MemoryError, r"t\.text_of\(\): NULL", statuses.function(declared, check=MemoryError), 0, 2)
    asked = []
    text_of = statuses.function(declared, check=asked.append)
    assert text_of(1, 2) == "there" and text_of(0, 2) is None and asked == [None]
    block = statuses.function("void *block(int there, int error)", check=OSError, discard="return")
    assert block(1, 2) is None
    refuses(FileNotFoundError, "No such file", block, 0, 2)
    refuses(
        ValueError, "returns a pointer, whose NULL is no status", statuses.function, declared, check="words"
    )
    refuses(ValueError, "no integer status", statuses.function, "double half(double x)", check=OSError)


@pytest.mark.row("L11")
def test_what_only_repeats_is_discarded(statuses):
    f, text = statuses.function, "int parts(double x, double *whole, int *status, int scratch[3])"
    outs, unused = {"out": ("whole", "status", "scratch")}, ("return", "scratch")
    assert len(f(text, **outs)(2.5)) == 4
    assert f(text, **outs, discard=unused)(2.5) == (2.0, 0)
    parts = f(text, out=("whole", "scratch"), check={"status": "words"}, discard=unused)
    assert parts(2.5) == 2.0
    refuses(RuntimeError, r"t\.parts\(\): negative", parts, -1.0)
    fails = f("int fails(int status, int error)", check=OSError, discard="return")
    assert fails(5, 2) is None
    refuses(FileNotFoundError, "No such", fails, -1, 2)
    assert f("double half(double x)", discard="return")(2.0) is None
    assert f("void *block(int there, int error)", discard="return")(1, 0) is None
    for name in "x", "scratch":
        why = f"discard names {name}, which is no result"
        refuses(ValueError, why, f, text, inout=("whole", "status"), discard=name)
    nothing, last = "void db_close(void *d)", "const char *db_last(void)"
    refuses(ValueError, "but it returns nothing", f, nothing, unsafe=True, discard="return")
    refuses(ValueError, "discard and returns contradict", f, last, returns="static", discard="return")


@pytest.mark.quick
@pytest.mark.row("L11")
def test_messages_of_the_library(statuses):
    lib = statuses
    lib.declare("const char *db_message(void *d); const char *words(int status); const char *db_last(void);")
    Db = lib.handle("db *", free="db_close")
    lib.function("db *db_open(const char *name)", returns="callee")
    lib.function("const char *db_message(db *d)")
    lib.function("const char *db_both(db *d, int status)")
    db = lib.db_open("x")
    assert isinstance(db, Db)
    for check, shown in [
        ("db_message(d)", r"t\.db_run\(\): no 3, please"),
        ((KeyError, "db_message(d)"), "no 3, please"),
        (" db_both ( d , status ) ", "no 3, please: 3"),
        ("db_last()", "the last one"),
        (lib.words, "other"),
        ("words", "other"),
        ((OSError, "words"), r"\[Errno 3\] t\.db_run\(\): other"),
    ]:
        run = lib.function("int db_run(db *d, int x)", check=check)
        assert run(db, 0) is None
        refuses(Exception, shown, run, db, 3)
    for check, why in [
        ("db_message(e)", "check: e is no argument of a call; they are: d, x, and status"),
        ("db_message(", r'should be "name" or "name\(argument, status\)"'),
        ("db_none(d)", r"db_none\(\) is not declared"),
        ("db_run", r"db_run\(\) cannot explain itself"),
        ((KeyError, None), "lacks the message function"),
        ((3, "words"), "3 is no exception class"),
        (3, "check must be a function"),
    ]:
        refuses((TypeError, ValueError), why, lib.function, "int db_run(db *d, int x)", check=check)


@pytest.mark.row("L11")
def test_exceptions_by_code(statuses):
    def fails(check, **options):
        return statuses.function("int fails(int status, int error)", check=check, **options)

    negative = fails("negative")
    assert negative(0, 0) == 0 and negative(7, 0) == 7
    refuses(RuntimeError, r"t\.fails\(\): status -1", negative, -1, 0)
    told = {
        -1: (OSError, FileNotFoundError),
        3: (KeyError, KeyError),
        4: ((ValueError, "words"), ValueError),
        5: (lambda status: IndexError("five"), IndexError),
        6: ("words", RuntimeError),
    }
    by_code = fails({status: check for status, (check, _) in told.items()})
    assert [by_code(status, 2) for status in (0, 1, 7, -2)] == [0, 1, 7, -2]
    for status, (_, error) in told.items():
        refuses(error, ".", by_code, status, 2)
    both = fails({"negative": ValueError, -2: KeyError}, name="both")
    refuses(KeyError, "status -2", both, -2, 0)
    refuses(ValueError, "status -9", both, -9, 0)
    assert both(3, 0) == 3 and fails("negative", discard="return")(3, 0) is None
    parts = statuses.function(
        "int parts(double x, double *whole, int *status, int scratch[3])",
        out=("whole", "scratch"), discard=("return", "scratch"), check={"status": {5: KeyError}},
    )  # fmt: skip
    assert parts(2.5) == 2.0
    refuses(KeyError, "status 5", parts, -1.0)
    statuses.declare("typedef struct db db; db *db_open(const char *name); int db_run(db *d, int x);")
    statuses.declare("double half(double x);")
    statuses.refine("*", check={-3: KeyError})
    db = statuses.db_open("x")
    assert statuses.db_run(db, 3) == 3 and statuses.half(3.0) == 1.5
    refuses(KeyError, "status -3", statuses.db_run, db, -3)
    for check, why in [
        ({"negative": 3}, "check must be a function"),
        ({1.5: KeyError}, "1.5 is no status"),
        ({True: KeyError}, "True is no status"),
        ({1: int}, "no exception class"),
        ({}, "says none"),
        ({"error": KeyError, 1: KeyError}, "of one parameter's name, or of codes"),
    ]:
        refuses((TypeError, ValueError), why, fails, check)
    size = "unsigned long fails_size(unsigned long status, int error)"
    refuses(ValueError, "unsigned long is never negative", statuses.function, size, check="negative")
    refuses(ValueError, "are of an integer", statuses.function, "const char *db_last(void)", check="negative")


@pytest.mark.row("L11")
def test_what_a_function_of_the_status_accepts_is_a_result(statuses):
    def fails(check):
        return statuses.function("int fails(int status, int error)", check=check)

    assert fails(lambda status: status if status < 5 else None)(3, 0) == 3
    for told in KeyError, KeyError("told"):
        with pytest.raises(KeyError):
            fails(lambda status, told=told: told)(3, 0)
        assert fails(lambda status, told=told: told if status == 3 else int)(2, 0) == 2


@pytest.mark.row("L11")
def test_a_check_for_all_functions_that_have_a_status(statuses):
    statuses.refine(
        "*", check="words", out=("whole", "scratch"), inout="status", discard=("return", "scratch")
    )
    statuses.refine("fails*", check=OSError, discard=())
    statuses.refine("words", discard=())
    statuses.declare("""
        int fails(int status, int error); long long fails_long(long long status, int error);
        double half(double x); const char *words(int status); const char *db_last(void);
        int parts(double x, double *whole, int *status, int scratch[3]);
    """)
    assert statuses.half(2.0) is None
    statuses.refine("half", discard=())
    assert statuses.half(2.0) == 1.0 and statuses.words(5) == "negative" and statuses.db_last() is None
    assert statuses.parts(2.5, 1) == (2.0, 0)
    refuses(RuntimeError, "negative", statuses.parts, -1.0, 0)
    refuses(FileNotFoundError, "No such", statuses.fails, -1, 2)
    refuses(FileNotFoundError, "No such", statuses.fails_long, -1, 2)


def test_broadcasting_asks_no_status(statuses):
    text = "int fails(int status, int error)"
    for check in OSError, ValueError:
        refuses(TypeError, "check= is asked after each", statuses.function, text, broadcast=True, check=check)


@pytest.mark.leak
def test_statuses_leak_nothing(statuses):
    fails = statuses.function("int fails(int status, int error)", check=OSError)
    lost = statuses.function("int fails(int status, int error)", check=("words"), name="lost")

    def calls():
        for f, status in ((fails, -1), (fails, 1), (lost, 5)):
            try:
                f(status, 2)
            except (OSError, RuntimeError):
                pass

    keeps_nothing(calls)


# ---- sizes that C knows ------------------------------------------------------------------------------

SIZES = """
#include <string.h>
typedef struct vec_s *vec;
struct vec_s { short unused; struct { unsigned char shift, count; } inner; size_t size; double data[8]; };
vec vec_new(size_t size) { vec v = calloc(1, sizeof *v); v->size = size; v->inner.count = 2; return v; }
void vec_free(vec v) { free(v); }
size_t vec_size(const vec v) { return v->size; }
int vec_less(const vec v, signed char by) { return (int)v->size - by; }
unsigned char vec_byte(const vec v) { return v->size; }
void vec_set(vec v, const double *x) { memcpy(v->data, x, v->size * sizeof *x); }
void vec_get(const vec v, double *x) { memcpy(x, v->data, v->size * sizeof *x); }
double vec_dot(const vec v, const double *x)
{
    double s = 0;
    for(size_t i = 0; i < v->size; i++) s += v->data[i] * x[i];
    return s;
}
double *vec_data(vec v) { return v->data; }
double *vec_resize(vec v, size_t size) { v->size = size; return v->data; }
double vec_half(const vec v) { return v->size / 2.0; }
unsigned long bound(unsigned long n) { return 2 * n + 1; }
int small(signed char n) { return n; }
/* Writes x twice, and how much that is. */
int twice(double *to, unsigned long *length, const double *x, unsigned long n)
{
    if(*length < 2 * n) return -1;
    for(unsigned long i = 0; i < 2 * n; i++) to[i] = x[i % n];
    *length = 2 * n;
    return 0;
}
double first(const double *x, int n) { (void)n; return x[0]; }
"""
VECTORS = """
typedef struct vec_s *vec;
vec vec_new(size_t size); size_t vec_size(const vec v); int vec_less(const vec v, signed char by);
unsigned char vec_byte(const vec v); double vec_half(const vec v);
void vec_set(vec v, const double *x); void vec_get(const vec v, double *x);
double vec_dot(const vec v, const double *x); double *vec_data(vec v); double *vec_resize(vec v, size_t size);
unsigned long bound(unsigned long n); int small(signed char n);
"""


@pytest.fixture
def vectors():
    lib = from_c(SIZES)
    lib.handle("struct vec_s *", name="Vec", free="vec_free", init="struct vec_s *vec_new(size_t size)")
    return lib


@pytest.mark.quick
@pytest.mark.row("L10")
@pytest.mark.parametrize("debug", [False, True])
def test_sizes_that_a_getter_says(debug):
    lib = from_c(SIZES, debug=debug)
    Vec = lib.handle("struct vec_s *", name="Vec", free="vec_free")
    lib.refine("vec_new", returns="callee")
    lib.refine("vec_*", dims={"x": "vec_size(v)"}, out="x")
    for name in "vec_data", "vec_resize":
        lib.refine(name, returns=("vec_size(v)", "argument", "v"))
    lib.declare(VECTORS)
    v = lib.vec_new(3)
    assert isinstance(v, Vec)
    lib.vec_set(v, np.arange(3.0))
    assert lib.vec_get(v).tolist() == [0.0, 1.0, 2.0] and lib.vec_dot(v, np.ones(3)) == 3.0
    for wrong in (2, 4, 0):
        why = rf"argument x is {wrong}, but must be 3 \(vec_size\(v\), vec_size\(v\) is 3\)"
        refuses(ValueError, why, lib.vec_set, v, np.ones(wrong))
    assert lib.vec_data(v).tolist() == [0.0, 1.0, 2.0]
    assert lib.vec_resize(v, 2).tolist() == [0.0, 1.0]  # the length after the call
    assert len(lib.vec_resize(v, 5)) == 5
    assert len(lib.vec_get(v)) == 5
    refuses(TypeError, "type Vec for argument v, got None", lib.vec_get, None)


@pytest.mark.quick
@pytest.mark.row("L10")
def test_sizes_that_a_member_says():
    lib = from_c(SIZES)
    members = "{ short unused; struct { unsigned char shift, count; } inner; size_t size; double data[8]; }"
    Vec = lib.struct(f"struct vec_s {members}", name="Vec")
    lib.refine("vec_*", dims={"x": "v->size"}, out="x")
    declared = "void vec_get(const struct vec_s *v, double *x)"
    lib.declare(f"void vec_set(struct vec_s *v, const double *x); {declared};")
    v = Vec()
    v.size = 2
    lib.vec_set(v, np.array([4.0, 5.0]))
    assert lib.vec_get(v).tolist() == [4.0, 5.0]
    refuses(ValueError, r"must be 2 \(v->size, v->size is 2\)", lib.vec_set, v, np.ones(3))
    v.inner.count = 3
    get = lib.function(declared, dims={"x": "v->inner.count + 1"}, out=(), name="in_place")
    refuses(ValueError, r"must be 4 \(v->inner\.count \+ 1, v->inner\.count is 3\)", get, v, np.ones(3))
    get = lib.function(declared, optional="v", dims={"x": "v->size"}, out="x", name="of_none")
    assert get(v).shape == (2,)
    v.size = 2**63
    refuses(ValueError, "v->size is too large for a length", get, v)


@pytest.mark.quick
def test_sizes_of_other_types_and_arguments(vectors):
    lib = vectors
    lib.declare(VECTORS)
    v = lib.Vec(5)
    dot = "double vec_dot(const vec v, const double *x)"
    for dim, wanted in [
        ("vec_size(v) + 1", 6),
        ("vec_less(v, 2)", 3),
        ("vec_less(v, -vec_byte(v) + 4)", 6),
        ("min(vec_size(v), vec_byte(v) * 2)", 5),
        ("bound(vec_size(v))", 11),
    ]:
        f = lib.function(dot, dims={"x": dim})
        f(v, np.ones(wanted))
        refuses(ValueError, f"must be {wanted} ", f, v, np.ones(wanted - 1))
    less = {"dims": {"x": "vec_less(v, 6)"}}
    refuses(ValueError, "must be -1", lib.function(dot, **less), v, np.ones(1))
    f = lib.function("void vec_get(const vec v, double *x)", **less, out="x", name="less")
    refuses(ValueError, "dim 0 of x would be -1", f, v)
    f = lib.function(dot, dims={"x": "small(vec_size(v) + 123)"})
    refuses(ValueError, r"computing small\(.*\): 128 is out of range of int8", f, v, np.ones(1))


@pytest.mark.quick
@pytest.mark.row("L10")
def test_outputs_are_cut_to_what_c_wrote():
    lib = from_c(SIZES)
    lib.declare("unsigned long bound(unsigned long n);")
    text = "int twice(double *to, unsigned long *length, const double *x, unsigned long n)"
    said = {"dims": {"to": "length", "x": "n"}, "out": "to", "check": ValueError}
    twice = lib.function(text, **said, hidden={"length": "bound(n)"})
    assert twice(np.array([1.0, 2.0])).tolist() == [1.0, 2.0, 1.0, 2.0]
    assert str(twice.__signature__) == "(x: float64[:]) -> float64[:]"
    short = lib.function(text, **said, hidden={"length": "n"}, name="short")
    refuses(ValueError, r"t\.short\(\): status -1", short, np.ones(2))
    text, unused = text.replace("*to", "to[*length]"), ("length", "return")
    given = lib.function(text, dims={"x": "n"}, inout="length", out="to", discard=unused, name="given")
    assert given(7, np.ones(2)).shape == (4,)


@pytest.mark.quick
def test_hidden_integers_are_what_they_are_said_to_be():
    """The array must be as long as hidden= says; the length does not set hidden=."""
    declare, text = from_c(SIZES).function, "double first(const double *x, int n)"
    f = declare(text, dims={"x": "n"}, hidden={"n": 4})
    assert f(np.ones(4)) == 1.0
    refuses(ValueError, r"dim 0 of argument x is 3, but must be 4 \(n, n is 4\)", f, np.ones(3))
    why = "hidden: what n is depends on others that are hidden"
    refuses(ValueError, why, declare, text, dims={"x": "n"}, hidden={"n": "n + 1"})


# ---- objects that C points to after the call ---------------------------------------------------------

PLANS = """
typedef struct plan { const double *in; double *out; size_t n; const char *name; } *plan;
plan plan_new(size_t n, const double *in, double *out)
{
    plan p = calloc(1, sizeof *p);
    *p = (struct plan){in, out, n, ""};
    return p;
}
void plan_end(plan p) { free(p); }
void plan_run(plan p) { for(size_t i = 0; i < p->n; i++) p->out[i] = 2 * p->in[i]; }
int plan_input(plan p, const double *in, int status) { if(status == 0) p->in = in; return status; }
void plan_call(const char *name, plan p) { p->name = name; }
const char *plan_name(plan p) { return p->name; }
"""
PLAN = """
typedef struct plan *plan;
plan plan_new(size_t n, const double *in, double *out); void plan_run(plan p);
int plan_input(plan p, const double *in, int status); void plan_call(const char *name, plan p);
const char *plan_name(plan p);
"""


@pytest.fixture
def plans():
    lib = from_c(COUNTED + PLANS)
    lib.handle("struct plan *", name="Plan", free="plan_end")
    lib.refine("plan_new", dims={"in": "n", "out": "n"}, returns="callee", keeps=("in", "out"))
    lib.refine("plan_input", dims={"in": 3}, keeps={"p": "in"}, check=ValueError)
    lib.refine("plan_call", keeps="name")
    lib.declare(PLAN)
    return lib


@pytest.mark.row("L10")
def test_instances_keep_what_c_points_to(plans):
    x, y = np.arange(3.0), np.zeros(3)
    watched = [weakref.ref(x), weakref.ref(y)]
    plan = plans.plan_new(in_=x, out=y)
    del x, y
    gc.collect()
    assert all(each() is not None for each in watched)
    plans.plan_run(plan)
    assert watched[1]().tolist() == [0.0, 2.0, 4.0]
    more = np.ones(3)
    watched.append(weakref.ref(more))
    plans.plan_input(plan, more, 0)
    failed = np.ones(3)
    watched.append(weakref.ref(failed))
    refuses(ValueError, "status 1", plans.plan_input, plan, failed, 1)
    plans.plan_call("".join(["na", "me"]), plan)
    del more, failed
    gc.collect()
    assert [each() is not None for each in watched] == [True, True, True, False]
    plans.plan_run(plan)
    assert watched[1]().tolist() == [2.0, 2.0, 2.0] and plans.plan_name(plan) == "name"
    del plan
    gc.collect()
    assert not any(each() is not None for each in watched)


def test_keeps_that_make_no_sense(plans):
    declaration = "int plan_input(plan p, const double in[3], int status)"
    for keeps, why in [
        ("status", "a number or a container"),
        ("out", "keeps names 'out', which is no argument"),
        ({"in": "p"}, "in is no handle or struct"),
        ({"q": "in"}, "q is no handle or struct"),
        ({"return": "in"}, "return is no handle"),
    ]:
        refuses(ValueError, why, plans.function, declaration, keeps=keeps, dims=None)


def test_methods_keep_by_names_of_c():
    lib = from_c(PLANS)
    Plan = lib.handle(
        "struct plan *", name="Plan", free="plan_end",
        init=("struct plan *plan_new(size_t n, const double in[n], double out[n])", {"keeps": ("in", "out")}),
        methods=[("int plan_input(struct plan *p, const double in[3], int status)", {"keeps": "in"}),
                 "void plan_run(struct plan *p)"],
    )  # fmt: skip
    x = np.arange(3.0)
    seen, y = weakref.ref(x), np.zeros(3)
    plan = Plan(x, y)
    del x
    gc.collect()
    plan.run()
    assert seen() is not None and y.tolist() == [0.0, 2.0, 4.0]
    x = np.ones(3)
    seen = weakref.ref(x)
    plan.input(x, 0)
    del x
    gc.collect()
    assert seen() is not None
    number = [("int plan_input(struct plan *p, const double in[3], int status)", {"keeps": "status"})]
    refuses(ValueError, "a number or a container", lib.handle, "struct plan *", methods=number)


def test_bytes_that_a_method_keeps_stay_where_they_are():
    lib = from_c("""#include <stdint.h>
    typedef struct held { const uint8_t *x; int64_t n; } held;
    void held_set(held *h, const uint8_t *x, int64_t n) { h->x = x; h->n = n; }
    """)
    declaration = "typedef struct held { const uint8_t *x; int64_t n; } held;"
    put = ("void held_set(held *h, const uint8_t x[n], int64_t n)", {"keeps": "x"})
    held = lib.struct(declaration, methods=[put], arrays={"x": "n"})()
    given = bytearray(b"abc")
    held.set(given)
    refuses(BufferError, "export", given.extend, b"d" * 10_000)
    assert held.x.tobytes() == b"abc"


@pytest.mark.leak
def test_what_is_kept_is_let_go(plans):
    def calls():
        plan = plans.plan_new(np.arange(3.0), np.zeros(3))
        plans.plan_input(plan, np.ones(3), 0)
        plans.plan_call("name", plan)
        plans.plan_run(plan)

    keeps_nothing(calls)


def test_hidden_pointers_are_null():
    lib = from_c("""
        struct node;
        int absent(int (*f)(int), const char **rest, struct node *n, double x[3], void *p, int y)
        { return !f + !rest + !n + !x + !p + y; }
        """)
    hidden = dict.fromkeys(("f", "rest", "n", "x", "p"))
    absent = "int absent(int (*f)(int), const char **rest, struct node *n, double x[3], void *p, int y)"
    assert lib.function(absent, hidden=hidden)(10) == 15
    refuses(ValueError, "hidden: None is NULL, and y is no pointer", lib.function, absent, hidden={"y": None})
    lib.declare(absent + ";")
    lib.refine("*", hidden={**hidden, "y": None})  # for the pointers of many functions
    assert lib.absent(1) == 6


def test_statuses_behind_pointers_by_pattern():
    """A number of that name is no status. OSError is about errno for returned statuses alone."""
    lib = from_c("""
        #include <stdint.h>
        int32_t fails(int *status) { *status = 104; return 104; }
        int32_t told(int status) { return status; }
        """)
    lib.declare("int32_t fails(int *status); int32_t told(int status);")
    lib.refine("*", check={"status": OSError}, discard="return")
    assert lib.told(3) is None
    refuses(OSError, r"fails\(\): status 104", lambda: lib.fails())
    lib.refine("*", check=ValueError, discard=(), replace=True)
    refuses(ValueError, r"told\(\): status 3", lambda: lib.told(3))


# ---- how functions describe themselves ---------------------------------------------------------------


def test_docstrings_show_what_was_written():
    lib = from_c(PLANS, header="#define COUNT 3\n")
    f = lib.function("int plan_input(void *const p, const double in[COUNT],\n    int status);", unsafe=True)
    assert f.__doc__ == "int plan_input(void *const p, const double in[COUNT], int status)"
    text = "int plan_input(void *p /* it */, const double *in, int status)"
    f = lib.function(text, unsafe="p", dims={"in": "max(status,COUNT)"})
    assert f.__doc__ == text.replace(" /* it */", "") + "\n\nArrays: in[max(status, COUNT)]"
    assert lib.function(text, unsafe=True, doc="Mine.").__doc__ == "Mine."


SLICES = """
int divide(double x, double y, OUT double *z) { *z = x / y; return y == 0 ? -3 : 0; }
double twice(double x) { return 2 * x; }
double first(const double x[n], int n) { return x[0]; }
double of_pointer(double *x) { return *x; }
static int calls;
"""


@pytest.mark.quick
@pytest.mark.parametrize("state", ["", "int count(double x) { return ++calls; }"])
def test_functions_of_a_text_that_broadcast_are_refined_or_refuse(state):
    lib = cwrapjit.library("t", source=SLICES + state)
    lib.refine("twice", doc="Twice as much.")
    assert lib.twice.__doc__ == "Twice as much." and lib.twice([1.0, 2.0]).tolist() == [2, 4]
    for name, options in (
        ("divide", {"check": "negative"}),
        ("*", {"check": "negative"}),
        ("twi*", {"keyword_only": "x"}),
        ("first", {"dims": {"x": "n"}}),
        ("divide", {"gil": True}),
    ):
        words = rf"t.refine\(\): {next(iter(options))}= is not for .*, which broadcasts; broadcast=False"
        refuses(TypeError, words, lib.refine, name, **options)
    assert [each.tolist() for each in lib.divide([1.0, 2.0], 2.0)] == [[0, 0], [0.5, 1]]
    lib.refine("divide", check="negative", broadcast=False)
    assert lib.divide(1.0, 2.0) == (0, 0.5)
    refuses(TypeError, r"t.divide\(\)", lib.divide, [1.0], 2.0)
    with pytest.raises(RuntimeError, match="-3"):
        lib.divide(1.0, 0.0)
    lib.refine("divide", doc="Again.", broadcast=None, check=None, replace=True)
    assert lib.divide([1.0, 2.0], 2.0)[1].tolist() == [0.5, 1] and lib.divide.__doc__ == "Again."
    lib.refine("of_pointer", inout="x")
    assert lib.of_pointer(3.0)[0] == 3
    with pytest.warns(UserWarning, match="the name of no function"):
        lib.refine("twise", doc="")
