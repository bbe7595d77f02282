"""declare() keeps a header in pieces, which are read and mapped when somebody wants them."""

from __future__ import annotations

import concurrent.futures
import functools
import pathlib
from typing import Any

import numpy as np
import pytest
from helpers import refuses

import cwrapjit


def installed(header: str, package: str) -> None:
    if not pathlib.Path("/usr/include", header).is_file():
        pytest.skip(f"{header} is not installed (apt install {package})")


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that have been parsed."""
    from cwrapjit.library.declarations import Declarations

    seen: list[str] = []
    tree = Declarations._tree

    def noting(self: Any, parser: Any, plain: str, *rest: Any) -> Any:
        seen.append(plain)
        return tree(self, parser, plain, *rest)

    monkeypatch.setattr(Declarations, "_tree", noting)
    return seen


CODE = """
typedef struct pair { double a, b; } pair;
enum kind { SMALL = 3, LARGE = 5 };
int limit = 7;
const char version[] = "2.5";
double sum(const pair *p) { return p->a + p->b; }
int twice(int x) { return 2 * x; }
int same_as(enum kind k) { return k; }
"""
HEADER = """
typedef struct pair { double a, b; } pair;
typedef pair other;
enum kind { SMALL = 3, LARGE = 5 };
#define MOST (LARGE + 1)
#define NAME "pairs"
#define doubled twice
#define bound limit
extern int limit;
extern const char version[];
double sum(const other *p);
int twice(int x), absent(int x);
int same_as(enum kind k);
int faulty(no_such_type x);
"""


def library() -> Any:
    from library_tools import from_c

    return from_c(CODE)


@pytest.mark.row("L03")
def test_nothing_is_parsed_before_it_is_used(parsed: list[str]) -> None:
    lib = library()
    parsed.clear()
    lib.declare(HEADER)
    assert not any("sum" in each or "twice" in each or "pair" in each for each in parsed)
    assert "declared and not used yet" in repr(lib)
    assert lib.twice(4) == 8
    assert any("twice" in each for each in parsed)
    assert not any("sum" in each or "pair" in each for each in parsed)
    assert lib.sum(lib.pair(1.0, 2.0)) == 3.0
    assert any("struct pair" in each for each in parsed)


@pytest.mark.row("L03")
def test_all_names_are_listed_and_forced() -> None:
    lib = library().declare(HEADER)
    assert {"sum", "twice", "same_as", "limit", "version", "SMALL", "LARGE", "MOST", "NAME", "pair"} <= {
        *dir(lib)
    }
    assert {"doubled", "bound"} <= {*dir(lib)}
    assert lib.mapped == ["same_as", "sum", "twice"]
    assert "no symbol absent" in lib.unmapped["absent"]
    assert "no_such_type is not a known type" in lib.unmapped["faulty"]
    assert set(lib.unmapped) == {"absent", "faulty"}
    with pytest.raises(AttributeError, match="no_such_type"):
        lib.faulty  # noqa: B018
    assert "declared and not used yet" not in repr(lib)


@pytest.mark.row("L01")
def test_constants_macros_and_other_names() -> None:
    lib = library().declare(HEADER)
    assert (lib.SMALL, lib.MOST, lib.NAME, lib.version) == (3, 6, "pairs", "2.5")
    assert lib.doubled is lib.twice and lib.doubled(5) == 10
    assert lib.bound == 7
    lib.limit = 9
    assert lib.bound == 9
    with pytest.raises(AttributeError):
        lib.no_such_name  # noqa: B018


@pytest.mark.row("L03")
@pytest.mark.parametrize("before", [True, False])
def test_what_is_said_before_or_after_counts(before: bool) -> None:
    lib = library()

    def say() -> None:
        lib.struct("pair", methods=["double sum(const pair *p)"])
        lib.function("double sum(const pair *p)", name="total")
        lib.refine("twice", doc="2 x")

    if before:
        lib.declare("typedef struct pair { double a, b; } pair;")
        lib.refine("t*", doc="other")
        lib.refine("twice", doc="2 x")
        lib.function("int twice(int number)")
        lib.declare(HEADER)
    else:
        lib.declare(HEADER)
        say()
        assert lib.pair(1.0, 2.0).sum() == 3.0 and lib.total(lib.pair(2.0, 2.0)) == 4.0
        lib.function("int twice(int number)")
    assert lib.twice(number=3) == 6  # what function() said
    assert "2 x" in lib.twice.__doc__
    assert lib.sum(lib.pair(1.0, 2.0)) == 3.0


@pytest.mark.row("L03")
def test_faulty_options_are_told_at_once() -> None:
    lib = library()
    error = refuses(ValueError, lambda: lib.declare(HEADER, options={"twice": {"out": "y"}}), "twice", "out")
    assert "y" in str(error)


def test_a_type_that_changes_does_so_for_later_declarations_alone() -> None:
    from library_tools import from_c

    lib = from_c("int wide(long x) { return x == 1L << 40; } int narrow(int x) { return x; }")
    lib.declare("#define SIZE 3\\ntypedef long number; int wide(number x);".replace("\\n", "\n"))
    lib.declare("typedef int number; int narrow(number x);")
    assert lib.wide(1 << 40) == 1
    refuses(OverflowError, lambda: lib.narrow(1 << 40), "narrow")


def test_types_may_need_each_other() -> None:
    from library_tools import from_c

    lib = from_c(
        "struct node { int value; struct list *in; }; struct list { struct node *first; int n; };"
        "int count(struct list *l) { return l->n; } int value(struct node *n) { return n->value; }"
    )
    lib.declare(
        """
        typedef struct list *list_ptr;
        typedef struct node *node_ptr;
        struct node { int value; list_ptr in; int (*visit)(node_ptr n, list_ptr l); };
        struct list { node_ptr first; int n; };
        int count(list_ptr l);
        int value(node_ptr n);
        """
    )
    assert lib.mapped == ["count", "value"] and lib.unmapped == {}
    assert lib.list(n=4).n == 4


@pytest.mark.row("L03")
def test_threads_that_use_names_first() -> None:
    for _ in range(20):
        lib = library().declare(HEADER)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            names = ["twice", "sum", "same_as", "limit", "doubled"] * 8
            found = list(pool.map(functools.partial(getattr, lib), names))
        assert len({id(each) for each in found}) == 4  # doubled is twice
        assert lib.twice(2) == 4


@pytest.mark.row("L01")
@pytest.mark.parametrize("text", ["#include <no/such.h>", "#include <no/such.h>\nint twice(int x);"])
def test_a_missing_header_is_one_error(text: str) -> None:
    lib = library()
    refuses(cwrapjit.CompileError, lambda: lib.declare(text), "no/such.h", "not found", "line 1")
    assert lib.mapped == [] and lib.unmapped == {}


@pytest.mark.row("L02")
@pytest.mark.parametrize(
    "compiler", [pytest.param("found", marks=pytest.mark.compiler("it reads the headers")), "none"]
)
@pytest.mark.parametrize(
    ("header", "libraries", "package", "count", "constant", "value"),
    [
        ("zlib.h", "z", "zlib1g-dev", 79, "Z_BEST_COMPRESSION", 9),
        ("sqlite3.h", "sqlite3", "libsqlite3-dev", 250, "SQLITE_DONE", 101),
        ("gsl/gsl_sf.h", "gsl gslcblas", "libgsl-dev", 2500, "GSL_ERANGE", 2),
        ("fitsio.h", "cfitsio", "libcfitsio-dev", 600, "DOUBLE_IMG", -64),
    ],
)
def test_real_headers_with_and_without_a_compiler(
    compiler: str, header: str, libraries: str, package: str, count: int, constant: str, value: int
) -> None:
    installed(header, package)
    if compiler == "none":
        cwrapjit.config.compiler = "none"
    lib = cwrapjit.library("real", libraries=libraries.split()).declare(f"#include <{header}>")
    assert ("C compiler" in repr(lib)) == (compiler == "found")
    assert len(dir(lib)) > count
    assert getattr(lib, constant) == value
    assert not {"printf", "malloc", "FILE", "size_t", "abs"} & {*dir(lib)}
    assert len(lib.mapped) >= count


@pytest.mark.row("L03")
def test_a_header_of_thousands_of_functions(parsed: list[str]) -> None:
    installed("lapacke.h", "liblapacke-dev")
    lib = cwrapjit.library("lapacke", libraries=["lapacke"])
    lib.declare("#include <lapacke.h>")
    assert sum(each.count("(") for each in parsed) < 100  # of 3,820 declarations none is parsed
    assert len([each for each in dir(lib) if each.startswith("LAPACKE_")]) > 2400
    x = np.array([3.0, 1.0, 2.0])
    lib.refine("LAPACKE_dlasrt", dims={"d": "n"}, check=ValueError)
    lib.LAPACKE_dlasrt(ord("I"), x)
    assert x.tolist() == [1.0, 2.0, 3.0]
    assert sum(each.count("(") for each in parsed) < 100
