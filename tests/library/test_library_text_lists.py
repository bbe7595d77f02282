"""Lists of texts (char **), and members that are texts. Oracles are Python's codecs, libc and PROJ."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
from helpers import refuses
from leaks import COUNTED, keeps_nothing
from library_tools import from_c

import cwrapjit
from cwrapjit import Pointer

TEXT = """
#include <string.h>
int count(const char *const *names) { int n = 0; while (names && names[n]) n++; return names ? n : -1; }
int byte(const char *const *names, int i, int j) { return (unsigned char)names[i][j]; }
int total(int n, const char **names)
{
    int t = 0;
    for (int i = 0; i < n; i++) t += names[i] ? (int)strlen(names[i]) : 1000;
    return names[n] ? -1 : t;
}
int upper(char *const argv[]) { argv[0][0] -= 32; return argv[0][0]; }
int turned(char **list) { char *first = list[0]; list[0] = list[1]; list[1] = first; return list[0][0]; }
int unsigned_bytes(const unsigned char *const *names) { return names[0][0]; }
int both(const char *const *one, const char *const *other) { return count(one) * 100 + count(other); }
const char *last(int n, const char *const *names) { return names[n - 1]; }
void *behind(const char *const *names) { return (void *)names[1]; }
typedef struct { const char *const *names; } holder;
holder *held(void) { return calloc(1, sizeof(holder)); }
void let_go(holder *h) { free(h); }
void hold(holder *h, const char *const *names) { h->names = names; }
int holds(const holder *h, int i) { return h->names[i][0]; }
char **listed(int n)
{
    if (n < 0) return NULL;
    char **list = calloc(n + 1, sizeof(char *));
    for (int i = 0; i < n; i++) list[i] = memset(calloc(1, 8), 'a' + i, i % 8);
    return list;
}
int freed = 0;
void free_list(char **list) { for (int i = 0; list[i]; i++) free(list[i]); free(list); freed++; }
const char *const *fixed(int *n)
{
    static const char *const list[] = {"one", NULL, "\\xe9", NULL};
    *n = 3;
    return list;
}
typedef struct { char name[8]; char *title; const char *note; int n; } book;
typedef struct { book first; int n; } shelf;
int letter(const book *b, int i) { return b->title ? (unsigned char)b->title[i] : -1; }
void shout(book *b) { b->title[0] -= 32; }
void rename_book(book *b) { b->title = "C's own"; }
"""


@pytest.fixture(scope="module")
def lib() -> Any:
    lib = from_c(COUNTED + TEXT)
    lib.handle("holder *", free="let_go")
    return lib


@pytest.mark.quick
def test_a_list_ends_with_null(lib: Any) -> None:
    count = lib.function("int count(const char *const *names)")
    byte = lib.function("int byte(const char *const *names, int i, int j)")
    assert [count(given) for given in ([], ["a"], ("a", "", b"c", pathlib.Path("d")), ["x"] * 999)] == [
        0, 1, 4, 999,
    ]  # fmt: skip
    assert count(None) == -1, "None is NULL"
    assert [byte(["\xe9", b"\xff", pathlib.Path("p")], i, 0) for i in range(3)] == [0xC3, 0xFF, ord("p")]
    assert byte(["a", "bcd"], 1, 3) == 0, "each ends at a NUL"
    assert "names: list[str]" in repr(count)


@pytest.mark.quick
def test_a_list_whose_length_c_is_told(lib: Any) -> None:
    for declared, options in (
        ("int total(int n, const char *names[n])", {}),
        ("int total(int n, const char **names)", {"dims": {"names": "n"}}),
        ("int total(int n, const char *const *names)", {"dims": {"names": "n"}}),
    ):
        total = lib.function(declared, **options)
        assert [total([]), total(["abc"]), total(("abc", "", "de"))] == [0, 3, 5]
        refuses(TypeError, lambda: total(None), "argument of type list[str] for argument names")  # noqa: B023
        refuses(TypeError, lambda: total([None]), "a list with an item of type NoneType")  # noqa: B023
    total = lib.function("int total(int n, const char *names[n])", optional="names")
    assert total([None, "ab", None]) == 2002, "items may be absent where the list may"
    fixed = lib.function("int byte(const char *const names[2], int i, int j)")
    assert fixed(["a", "b"], 1, 0) == ord("b")
    refuses(ValueError, lambda: fixed(["a"], 0, 0), "dim 0 of argument names is 1, but must be 2")


def test_lists_of_one_length(lib: Any) -> None:
    both = lib.function("int both(const char *const one[n], const char *const other[n])")
    assert both(["a", "b"], ["c", "d"]) == 202
    refuses(ValueError, lambda: both(["a"], ["c", "d"]), "dim 0 of argument other is 2, but must be 1")


@pytest.mark.parametrize("wrong", ["ab", b"ab", {"a"}, {"a": 1}, 3, iter("ab"), bytearray(b"a")])
def test_what_is_no_list_is_refused(lib: Any, wrong: object) -> None:
    count = lib.function("int count(const char *const *names)")
    refuses(
        TypeError,
        lambda: count(wrong),
        "t.count(): Expected an argument of type list[str] for argument names",
        type(wrong).__name__,
    )


@pytest.mark.quick
@pytest.mark.parametrize("wrong", [3, None, ["b"], bytearray(b"a"), "a\0", b"\0", "\udc80"])
def test_items_that_are_no_text_are_refused(lib: Any, wrong: object) -> None:
    count = lib.function("int count(const char *const *names)")
    if isinstance(wrong, (str, bytes)) and wrong != "\udc80":
        refuses(ValueError, lambda: count(["a", wrong]), "argument names: text 1 holds a NUL")
    elif isinstance(wrong, str):
        refuses(UnicodeEncodeError, lambda: count(["a", wrong]), "surrogates")
    else:
        refuses(TypeError, lambda: count(["a", wrong]), f"a list with an item of type {type(wrong).__name__}")


def test_lists_in_the_encoding_that_is_said(lib: Any) -> None:
    byte = lib.function("int byte(const char *const *names, int i, int j)", encoding="latin-1")
    assert byte(["a", "\xe9"], 1, 0) == 0xE9
    declared = "int unsigned_bytes(const unsigned char *const *names)"
    assert lib.function(declared, encoding={"names": "utf-8"})(["A"]) == 65
    assert "names: Pointer" in repr(lib.function(declared)), "bytes, unless it is said"


def test_c_may_write_its_copy(lib: Any) -> None:
    upper = lib.function("int upper(char *const argv[])")
    given = ["abc"]
    assert upper(given) == ord("A") and given == ["abc"] and upper([b"abc"]) == ord("A")


def test_what_may_be_an_output_is_a_list_where_it_is_said(lib: Any) -> None:
    refuses(TypeError, lambda: lib.function("int turned(char **list)")(["a"]), "Pointer")
    turned = lib.function("int turned(char **list)", container={"list": list})
    assert turned(["a", "b"]) == ord("b")
    assert isinstance(lib.function("void *behind(const char *const *names)")(["a", "b"]), Pointer)


def test_items_that_change_the_list(lib: Any) -> None:
    class Emptying:
        def __fspath__(self) -> str:
            given.clear()
            return "a"

    given: list[Any] = [Emptying(), "b", "c"]
    assert lib.function("int count(const char *const *names)")(given) == 3


def test_what_c_keeps_of_a_list_is_kept(lib: Any) -> None:
    held = lib.function("holder *held(void)", returns="callee")
    hold = lib.function("void hold(holder *h, const char *const *names)", keeps={"h": "names"})
    holds = lib.function("int holds(const holder *h, int i)")
    last = lib.function("const char *last(int n, const char *const names[n])")
    mine = held()
    hold(mine, ["x" * 5000, "y" * 5000])
    others = [[b"z" * 5000] * 2 for _ in range(100)]
    assert [holds(mine, 0), holds(mine, 1), len(others)] == [ord("x"), ord("y"), 100]
    assert last(["a", "b"]) == "b"


# ---- results ----------------------------------------------------------------------------------------------


@pytest.mark.quick
@pytest.mark.row("L09")
def test_lists_that_c_returns(lib: Any) -> None:
    lib.variable("int freed")
    before = lib.freed
    ended = lib.function("char **listed(int n)", returns=("list", "callee", "free_list"))
    assert [ended(n) for n in (0, 3)] == [[], ["", "b", "cc"]] and ended(-1) is None
    told = lib.function("char **listed(int n)", returns=("n", "callee", "free_list"), encoding=None)
    assert told(3) == [b"", b"b", b"cc"] and lib.freed == before + 3
    fixed = lib.function("const char *const *fixed(int *n)", out="n", returns="n", encoding="latin-1")
    assert fixed() == (["one", None, "\xe9"], 3), "as long as C says, NULLs among them"
    assert lib.function("const char *const *fixed(int *n)", out="n", returns="list")() == (["one"], 3)
    wrong = lib.function("const char *const *fixed(int *n)", out="n", returns="n")
    refuses(UnicodeDecodeError, wrong, "utf-8")
    plain = lib.function("const char *const *fixed(int *n)", out="n")
    assert isinstance(plain()[0], Pointer), "nothing says where it ends"


@pytest.mark.parametrize(
    "declared", ["double *f(void)", "const char *f(void)", "unsigned char **f(void)", "int f(void)"]
)
def test_what_is_no_list_of_texts_is_none(declared: str) -> None:
    own = from_c("void *f(void) { return 0; }")
    refuses(ValueError, lambda: own.function(declared, returns="list"), "returns")
    if "**" in declared:
        assert own.function(declared, returns="list", encoding="utf-8")() is None
        refuses(
            ValueError,
            lambda: own.function(declared, returns=((2, 2), "none"), encoding="utf-8"),
            "no list of texts",
        )


# ---- members ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def book(lib: Any) -> Any:
    return lib.struct("typedef struct { char name[8]; char *title; const char *note; int n; } book;")


@pytest.mark.quick
def test_members_are_texts(lib: Any, book: Any) -> None:
    mine = book(name="abc", title="t\xe9", note=b"n", n=1)
    assert (mine.name, mine.title, mine.note) == ("abc", "t\xe9", "n")
    letter, shout = lib.function("int letter(const book *b, int i)"), lib.function("void shout(book *b)")
    assert [letter(mine, i) for i in range(4)] == [ord("t"), 0xC3, 0xA9, 0]
    for given in ("x" * 5000, b"a", b"", "\udcff", None):
        mine.title = mine.note = given
        others = [b"y" * 5000 for _ in range(100)]
        wanted = given.decode() if isinstance(given, bytes) else given
        assert mine.title == mine.note == wanted and len(others) == 100
    mine.name = "\udcff"
    assert mine.name == "\udcff" and letter(mine, 0) == -1
    single = b"q"
    mine.title = single
    shout(mine)
    assert mine.title == "Q" and single == bytes([ord("q")]), "C writes into a copy"
    lib.function("void rename_book(book *b)")(mine)
    assert mine.title == "C's own"


@pytest.mark.quick
def test_copies_of_structs_keep_their_texts(lib: Any, book: Any) -> None:
    first = book(title="x" * 5000)
    shelf = lib.struct("typedef struct { book first; int n; } shelf;")
    other = shelf(first=first).first
    first.title = None
    del first
    others = [b"y" * 5000 for _ in range(100)]
    assert other.title == "x" * 5000 and len(others) == 100


@pytest.mark.quick
@pytest.mark.parametrize(
    ("name", "value", "error", "words"),
    [
        ("name", "x" * 8, ValueError, "attribute name has room for 7 bytes, got 8"),
        ("name", "a\0", ValueError, "attribute name takes no NUL inside the text"),
        ("title", "a\0", ValueError, "attribute title takes no NUL inside the text"),
        ("title", b"\0", ValueError, "attribute title takes no NUL inside the text"),
        ("name", None, TypeError, "argument of type str or bytes for attribute name, got NoneType"),
        ("note", 3, TypeError, "Expected an argument of type str, bytes or None for attribute note, got int"),
        ("note", bytearray(b"a"), TypeError, "bytearray"),
        ("title", "\ud800", UnicodeEncodeError, "surrogates"),
    ],
)  # fmt: skip
def test_what_fits_no_member_is_refused(book: Any, name: str, value: Any, error: Any, words: str) -> None:
    mine = book(name="abc", title="def", note="ghi")
    refuses(error, lambda: setattr(mine, name, value), words)
    assert (mine.name, mine.title, mine.note) == ("abc", "def", "ghi"), "as it was"


@pytest.mark.quick
def test_proj_takes_options() -> None:
    """The header as it is; what PROJ's own documentation says of the option."""
    proj = cwrapjit.library("proj", libraries=["proj"]).declare("#include <proj.h>")
    context = proj.proj_context_create()
    crs = proj.proj_create(context, "EPSG:4326")
    wkt = proj.proj_as_wkt(context, crs, proj.PJ_WKT2_2019, ["MULTILINE=NO"])
    assert wkt.startswith('GEOGCRS["WGS 84"') and "\n" not in wkt
    assert "\n" in proj.proj_as_wkt(context, crs, proj.PJ_WKT2_2019, None)
    proj.proj_destroy(crs)
    proj.proj_context_destroy(context)


@pytest.mark.leak
def test_lists_keep_nothing(lib: Any) -> None:
    count = lib.function("int count(const char *const *names)", encoding="latin-1")
    total = lib.function("int total(int n, const char *names[n])", optional="names")
    held = lib.function("holder *held(void)", returns="callee")
    hold = lib.function("void hold(holder *h, const char *const *names)", keeps={"h": "names"})

    def work() -> None:
        count(["\xe9" * 100, b"b", pathlib.Path("c")])
        total(["a" * 100, None])
        hold(held(), ["a" * 100])
        for wrong in (["a", 3], ["a", "\u20ac"], ["a", "\0"], "a", ["a", None]):
            with pytest.raises((ValueError, TypeError)):
                count(wrong)

    keeps_nothing(work)


@pytest.mark.leak
def test_returned_lists_and_members_keep_nothing(lib: Any, book: Any) -> None:
    ended = lib.function("char **listed(int n)", returns=("list", "callee", "free_list"))
    wrong = lib.function("const char *const *fixed(int *n)", out="n", returns="n")

    def work() -> None:
        ended(20)
        mine = book(title="x" * 100, note=b"y")
        mine.title = "z" * 200
        mine.note = None
        for bad in (3, "a\0"):
            with pytest.raises((TypeError, ValueError)):
                mine.title = bad
        with pytest.raises(UnicodeDecodeError):
            wrong()

    keeps_nothing(work)
