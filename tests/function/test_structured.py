"""Tests structured dtypes, which are structs in C, and datetime64 and timedelta64, which are int64."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest
from helpers import refuses, same, wrap, wrap_signature
from hypothesis import given, settings
from hypothesis import strategies as st
from leaks import keeps_nothing

import cwrapjit

PARTICLE = [("x", "f8"), ("k", "i4")]
PACKED = np.dtype(PARTICLE)
ALIGNED = np.dtype(PARTICLE, align=True)
SPREAD = np.dtype({"names": ["k", "x"], "formats": ["i4", "f8"], "offsets": [13, 1], "itemsize": 30})
OVERLAPPING = np.dtype({"names": ["all", "low", "high"], "formats": ["u8", "u4", "u4"], "offsets": [0, 0, 4]})
# Moves each particle by b, counts its moves, and returns its old position.
MOVE = """
    item__was() = item__p().x;
    item__now() = item__p();
    item__now().x += item__b();
    item__now().k++;
    return true;
"""


def move(dtype: Any, code: str = MOVE, **kw: Any) -> Any:
    return wrap_signature("p(), b() -> was(), now()", {(dtype, "f8", "f8", dtype): code}, **kw)


def particles(dtype: Any, *shape: int) -> Any:
    made = np.zeros(shape, dtype)
    made["x"] = np.random.default_rng(0).normal(size=shape)
    made["k"] = np.arange(made.size).reshape(shape)
    return made


def moved(p: Any, b: Any) -> Any:
    p, b = np.broadcast_arrays(p, b)
    now = p.copy()
    now["x"] += b
    now["k"] += 1
    return p["x"], now


@pytest.mark.row("K10")
@pytest.mark.parametrize("dtype", [PACKED, ALIGNED, SPREAD], ids=["packed", "aligned", "spread"])
@pytest.mark.parametrize("hot", [False, True])
def test_fields_are_where_numpy_has_them(dtype, hot):
    f = move(dtype)
    if hot and not f.wait():
        pytest.skip("no compiler on this machine")
    p = particles(dtype, 3, 40)
    for each in (p, p[::-1, ::3], p.T, p[0], p[:, :0], p[1, 2]):
        for b in (2.5, np.arange(float(each.shape[-1])) if each.ndim else 1.0):
            was, now = f(each, b)
            wanted = moved(each, b)
            assert same(was, wanted[0]) and same(now, wanted[1])
    assert type(f(p[0, 0], 1.0)[1]) is np.void
    out = np.empty((3, 40)), np.zeros((3, 40), dtype)
    assert f(p, 1.0, out=out) is out
    assert all(same(got, wanted) for got, wanted in zip(out, moved(p, 1.0), strict=True))


@pytest.mark.row("K10")
def test_structs_are_packed_where_numpy_aligns_nothing() -> None:
    """Both dtypes have the same offsets, but an array of the unaligned one may begin at any address."""
    names = {"names": ["k", "x"], "formats": ["i4", "f8"], "offsets": [0, 8], "itemsize": 16}
    anywhere, aligned = np.dtype(names), np.dtype(names, align=True)
    assert (anywhere.alignment, aligned.alignment) == (1, 8)
    assert "struct __attribute__((packed))" in move(anywhere).source
    assert "packed" not in move(aligned).source
    p = np.zeros(16 * 100 + 1, "u1")[1:].view(anywhere)
    p[:] = particles(anywhere, 100)
    for tier in ("off", "eager"):
        assert same(move(anywhere, optimize=tier)(p, 1.0)[1], moved(p, 1.0)[1])


@pytest.mark.row("K10")
def test_unaligned_packed_fields_in_both_tiers():
    p = np.zeros(12 * 1000 + 1, "u1")[1:].view(PACKED)
    p[:] = particles(PACKED, 1000)
    code = """
        double s = 0;
        for (npy_intp i = 0; i < dims_slice__p[0]; i++) s += item__p(i).x * item__p(i).k;
        item__s() = s; return true;"""
    f, g = move(PACKED), wrap_signature("p(n) -> s()", {(PACKED, "f8"): code}, fastmath=True)
    for _ in range(2):
        was, now = f(p, 1.0)
        assert same(was, p["x"].copy()) and same(now, moved(p, 1.0)[1])
        assert np.allclose(g(p), (p["x"] * p["k"]).sum())
        f.wait()
        g.wait()


@pytest.mark.quick
@pytest.mark.row("K10")
def test_memory_that_an_equal_dtype_does_not_align():
    loose = np.dtype({"names": ["x", "k"], "formats": ["f8", "i4"], "offsets": [0, 8], "itemsize": 16})
    assert loose == ALIGNED and loose.alignment == 1
    f = move(ALIGNED)
    p = np.zeros(16 * 8 + 1, "u1")[1:].view(loose)
    error = refuses(ValueError, lambda: f(p, 1.0), "t.f()", "'p' is not aligned", "wanted an aligned array")
    assert "x.copy()" in str(error)
    assert same(f(p.copy(), 1.0)[1], moved(p, 1.0)[1])
    assert f(p[:0], 1.0)[0].shape == (0,)
    refuses(ValueError, lambda: f(p.copy(), 1.0, out=(np.empty(8), p)), "'now' is not aligned")
    assert same(move(loose)(p, 1.0)[1], moved(p, 1.0)[1])


@pytest.mark.quick
@pytest.mark.row("K10")
def test_matching_wants_an_equal_dtype():
    f = move(PACKED)
    assert f.types == ("[('x', '<f8'), ('k', '<i4')], float64 -> float64, [('x', '<f8'), ('k', '<i4')]",)
    p = particles(PACKED, 4)
    for other in (
        *(ALIGNED, [("x", "f8"), ("q", "i4")], [("k", "i4"), ("x", "f8")], [("x", "f8"), ("k", "u4")]),
        *([("x", ">f8"), ("k", "i4")], [(("title", "x"), "f8"), ("k", "i4")], "V12", "S12"),
    ):
        error = refuses(TypeError, lambda other=other: f(np.zeros(4, other), 1.0), "t.f()", "'p' is")
        names = np.dtype(other).names
        shown = np.dtype(other) if names is None else f"struct {names}"
        assert f"'p' is {shown}" in str(error) and f"wanted (struct {PACKED.names}" in str(error)
        assert "; 'p' has " in str(error) or names is None
    refuses(TypeError, lambda: f(1.0, 1.0), "'p' is a Python float")
    refuses(TypeError, lambda: f((1.0, 2), 1.0), "'p' is float64")
    refuses(TypeError, lambda: f(p, 1.0, out=(np.empty(4), np.empty(4, ALIGNED))), "'now' is")
    assert same(f(p.view(np.recarray), 1.0)[0], p["x"])
    # One function has a type set for each.
    bodies = {
        (t, "i8"): f"item__output() = {i}; return true;" for i, t in enumerate([PACKED, ALIGNED, np.void])
    }
    g = wrap(((),), (), bodies)
    assert [int(g(np.zeros((), t))) for t in (PACKED, ALIGNED, SPREAD, "V3")] == [0, 1, 2, 2]
    twice = {PACKED: "return true;", (PACKED, np.dtype(PARTICLE)): "return true;"}
    refuses(ValueError, lambda: wrap(((),), (), twice), "the same types twice")


@pytest.mark.row("K10")
def test_cast_is_numpys():
    f = move(PACKED, cast="safe")
    assert same(f(particles(ALIGNED, 4), 1.0)[1], moved(particles(ALIGNED, 4), 1.0)[1].astype(PACKED))
    small = np.zeros(3, [("x", "f4"), ("k", "i2")])
    assert same(f(small, np.float32(2))[1], moved(small.astype(PACKED), 2.0)[1])
    refuses(TypeError, lambda: f(np.zeros(3, [("x", "f8"), ("k", "i8")]), 1.0), "'p' is")


@pytest.mark.row("K10")
def test_all_kinds_of_fields():
    inner = np.dtype([("r", "f4"), ("flag", "?")])
    dtype = np.dtype(
        [
            ("flag", "?"), ("half", "f2"), ("big", "g"), ("z", "c16"), ("zf", "c8", (2,)),
            ("m", "f8", (2, 3)), ("name", "S5"), ("text", "U3"), ("raw", "V3"), ("when", "M8[s]"),
            ("span", "m8[25us]", 2),
            ("inner", inner), ("more", inner, (2, 2)), ("names", "S4", (2,)), ("u1", "u1"), ("i8", "i8"),
            (("a title", "titled"), "u2"),
        ]
    )  # fmt: skip
    code = """
        ctype__p *q = &item__output();
        *q = item__p();
        q->flag = 0.5;
        q->half = item__p().half;
        q->big *= 2;
        q->z.real += q->z.imag;
        q->zf[1].imag = 7;
        for (int i = 0; i < 2; i++) for (int j = 0; j < 3; j++) q->m[i][j] += 10 * i + j;
        memcpy(q->name, "ab\\0\\0", sizeof q->name);
        q->text[0] = 0x4e2d; q->text[1] = 'b';
        q->raw[2] = 255;
        if (q->when == NPY_DATETIME_NAT) q->when = 86400;
        q->span[1] = q->span[0] + 1;
        q->inner.r = 2; q->inner.flag = !q->inner.flag;
        q->more[1][0] = q->inner;
        memcpy(q->names[1], "wxyz", 4);
        q->u1--; q->i8 = -q->i8; q->titled++;
        return true;
    """
    fields = [
        ((dtype.fields[n][2], n) if len(dtype.fields[n]) > 2 else n, dtype.fields[n][0]) for n in dtype.names
    ]
    for each in (dtype, np.dtype(fields, align=True)):
        p = np.zeros(3, each)
        given = {
            "half": 1.5,
            "big": 1 / np.longdouble(3),
            "z": 1 + 2j,
            "when": "NaT",
            "span": 3,
            "name": b"hello",
        }
        for name, value in {**given, "text": "xyz", "raw": b"\1\2\3", "u1": 0, "i8": 9}.items():
            p[name] = value
        p["inner"]["flag"] = [1, 0, 1]
        wanted = p.copy()
        wanted["inner"]["r"], wanted["inner"]["flag"] = 2, [0, 1, 0]
        wanted["big"] *= 2
        wanted["z"] += 2
        wanted["zf"][:, 1] = 7j
        wanted["m"] += [[0, 1, 2], [10, 11, 12]]
        made = {"flag": True, "name": b"ab", "text": "中bz", "raw": b"\1\2\xff", "when": "1970-01-02"}
        for name, value in {**made, "u1": 255, "i8": -9, "titled": 1}.items():
            wanted[name] = value
        wanted["span"][:, 1] = 4
        wanted["more"][:, 1, 0] = wanted["inner"]
        wanted["names"][:, 1] = b"wxyz"
        f = wrap(((),), (), {each: code}, names=("p",))
        for _ in range(2):
            got = f(p)
            assert got.dtype == each
            for name in each.names:
                assert np.array_equal(got[name], wanted[name]), name
            f.wait()


@pytest.mark.row("K10")
def test_fields_that_overlap():
    code = {OVERLAPPING: "item__output().all = item__a().low; item__output().high++; return true;"}
    f, p = wrap(((),), (), code), np.zeros(3, OVERLAPPING)
    p["all"] = [1, 2, 2**32 + 3]
    for _ in range(2):
        assert f(p)["all"].tolist() == [2**32 + 1, 2**32 + 2, 2**32 + 3]
        f.wait()


@st.composite
def layouts(draw: Any) -> Any:
    """Draws two dtypes that differ in offsets alone, and the names of the fields that are no arrays."""
    leaf = st.sampled_from(
        ["?", "i1", "u2", "i4", "u8", "f4", "f8", "g", "c8", "c16", "M8[s]", "S3", "U2", "V5"]
    )
    inner = st.lists(leaf, min_size=1, max_size=3).map(
        lambda kinds: np.dtype([(f"m{i}", kind) for i, kind in enumerate(kinds)])
    )
    kinds = draw(st.lists(st.one_of(leaf.map(np.dtype), inner), min_size=1, max_size=5))
    shapes = [draw(st.sampled_from([(), (), (2,), (2, 3)])) for _ in kinds]
    formats = [np.dtype((kind, shape)) if shape else kind for kind, shape in zip(kinds, shapes, strict=True)]
    names = [f"f{i}" for i in range(len(formats))]

    def placed() -> Any:
        if draw(st.booleans()):
            return np.dtype(list(zip(names, formats, strict=True)), align=draw(st.booleans()))
        at, offsets = 0, {}
        for i in draw(st.permutations(range(len(formats)))):
            at += draw(st.integers(0, 9))
            offsets[i] = at
            at += formats[i].itemsize
        places = [offsets[i] for i in range(len(formats))]
        size = at + draw(st.integers(0, 9))
        return np.dtype({"names": names, "formats": formats, "offsets": places, "itemsize": size})

    return placed(), placed(), names


@pytest.mark.row("K10")
@settings(max_examples=60, deadline=None)
@given(layouts(), st.integers(0, 3))
def test_random_layouts(two, seed):
    one, other, names = two
    code = "".join(
        f'_Static_assert(sizeof item__p().{name} == sizeof item__q().{name}, "");'
        f"memcpy(&item__q().{name}, &item__p().{name}, sizeof item__p().{name});\n"
        for name in names
    )
    f = wrap_signature("p() -> q()", {(one, other): code + "return true;"}, optimize="off")
    random = np.random.default_rng(seed)
    p = np.zeros(7, one)
    raw = random.integers(32, 127, size=(7, one.itemsize)).astype("u1")
    p[:] = np.frombuffer(raw.tobytes(), one)
    q = f(p[::-1])
    assert q.dtype == other
    for name in names:
        assert q[name].tobytes() == p[::-1][name].tobytes()


@pytest.mark.row("K10")
@pytest.mark.parametrize(
    ("dtype", "words"),
    [
        ([("x", ">f8"), ("k", "i4")], ("field 'x'", "the other byte order")),
        ([("x", "f8"), ("k", "O")], ("field 'k' is object", "references")),
        ([("p", [("q", "O")])], ("field 'p.q' is object", "references")),
        ([("p", [("q", ">i2", (2,))])], ("field 'p.q'", "byte order")),
        ([("x y", "f8")], ("field 'x y'", "no name that C can use")),
        ([("1x", "f8")], ("field '1x'", "no name that C can use")),
        ([("é", "f8")], ("field 'é'", "no name that C can use")),
        ([("x\n", "f8")], ("no name that C can use",)),
        ([("int", "f8")], ("field 'int'", "reserved")),
        ([("bool", "?")], ("field 'bool'", "reserved")),
        ([("p", [("while", "?")])], ("field 'p.while'", "reserved")),
        ([("cwj_gap", "?")], ("field 'cwj_gap'", "reserved")),
        ([("_Bool", "?")], ("field '_Bool'", "reserved")),
        ([("__x", "?")], ("field '__x'", "reserved")),
        ([("x", "S0"), ("y", "f8")], ("field 'x'", "no bytes")),
        ([("x", "f8", (0,)), ("y", "f8")], ("field 'x'", "no bytes")),
        ([], ("it has no bytes",)),
        ([("x", [])], ("no bytes",)),
        (np.dtype(("f8", (3,))), ("subarray", "prototype")),
        (np.dtype((PARTICLE, (3,))), ("subarray", "prototype")),
        ([((object(), "x"), "f8")], ("is a title and no text",)),
    ],
)  # fmt: skip
def test_what_has_no_struct_is_refused(dtype, words):
    try:
        dtype = np.dtype(dtype)
    except TypeError:
        pytest.skip("NumPy has no such dtype")
    refuses(TypeError, lambda: wrap(((),), (), {dtype: "return true;"}), "t.f()", "no struct in C", *words)


@pytest.mark.row("K10")
def test_deep_and_wide_dtypes():
    dtype = np.dtype([("x", "f8")])
    for _ in range(30):
        dtype = np.dtype([("p", dtype, (1, 1))])
    f = wrap(((),), (), {(dtype, "f8"): f"item__output() = item__a(){'.p[0][0]' * 30}.x; return true;"})
    p = np.zeros(3, dtype)
    p.view("f8")[:] = [1, 2, 3]
    assert f(p).tolist() == [1, 2, 3]
    wide = np.dtype([(f"f{i}", "f8") for i in range(300)])
    g = wrap(((),), (), {(wide, "f8"): "item__output() = item__a().f299; return true;"})
    x = np.zeros(2, wide)
    x["f299"] = [4, 5]
    assert g(x).tolist() == [4, 5]
    for _ in range(100):
        dtype = np.dtype([("p", dtype)])
    refuses(TypeError, lambda: wrap(((),), (), {(dtype, "f8"): "return true;"}), "nested too deeply")


@pytest.mark.row("K10")
def test_titles_and_metadata_of_any_kind():
    title = 'a "title" \\ */ ?\u4e2d%s\n'
    dtype, copy = np.dtype([((title, "x"), "f8"), ("y", "f8")]), "item__output() = item__a();"
    f = wrap(((),), (), {dtype: copy + " item__output().y = 3; return true;"})
    got = f(np.zeros(2, dtype))
    assert got.dtype == dtype and got[title].tolist() == [0, 0] and got["y"].tolist() == [3, 3]
    assert f.wait() in (True, False)
    refuses(TypeError, lambda: f(np.zeros(2, [("x", "f8"), ("y", "f8")])), "no type set fits")
    both = np.dtype([("x", "f8")], metadata={"a": object()})
    assert wrap(((),), (), {both: copy + " return true;"})(np.zeros(2, both)).dtype == both


@pytest.mark.row("K10")
@pytest.mark.parametrize(
    "options", [{"debug": True}, {"threads": 2, "optimize": "eager"}, {"unordered": True}]
)
@pytest.mark.parametrize("dtype", [PACKED, ALIGNED], ids=["packed", "aligned"])
def test_with_other_options(dtype, options):
    f, p = move(dtype, **options), particles(dtype, 30, 1000)
    assert same(f(p.T, 1.0)[1], moved(p.T, 1.0)[1])
    refuses(cwrapjit.CompileError, lambda: move(dtype, "item__now().zzz = 1; return true;", **options), "zzz")
    for wrong, word in (("item__p().x = 1", "read-only"), ("item__now() = 1.5", "struct cwj_record_")):
        define = lambda wrong=wrong: move(dtype, wrong + "; return true;", **options)  # noqa: E731
        refuses(cwrapjit.CompileError, define, word)
    inout = wrap_signature(
        "inout p(n) ->", {dtype: "item__p(0).x = 5; item__p(0).k--; return true;"}, debug=True
    )
    inout(p[0])
    assert p[0, 0].tolist() == (5.0, -1)


@pytest.mark.row("K10")
def test_names_that_are_changed_in_place_are_those_of_one_array():
    f = wrap(((),), (), {PACKED: "item__output() = item__a(); return true;"})
    p = particles(PACKED, 3)
    first = f(p)
    first.dtype.names = ("y", "j")
    assert same(f(p), p) and f(p).dtype == PACKED
    refuses(TypeError, lambda: f(first), "'a' is struct ('y', 'j')", "'a' has no member 'x'")


@pytest.mark.leak
def test_calls_with_structs_keep_nothing():
    f, p = move(SPREAD), particles(SPREAD, 10)
    keeps_nothing(lambda: f(p, 1.0), 300, (SPREAD, p.dtype))
    keeps_nothing(
        lambda: refuses(TypeError, lambda: f(np.zeros(3), 1.0), "no type set"), watched=(SPREAD, p.dtype)
    )


@pytest.mark.leak
def test_definitions_keep_nothing():
    bad = np.dtype([("x", "f8"), ("int", "f8")])
    keeps_nothing(lambda: move(SPREAD, optimize="off"), watched=(SPREAD,))
    keeps_nothing(lambda: refuses(TypeError, lambda: move(bad), "reserved"), watched=(bad,))


# ---- datetime64 and timedelta64 ----


NS, MS, S, D = (np.dtype(f"M8[{unit}]") for unit in ("ns", "ms", "s", "D"))
DIFFERENCE = """
    if (item__a() == NPY_DATETIME_NAT || item__b() == NPY_DATETIME_NAT)
        item__output() = NPY_DATETIME_NAT;
    else
        item__output() = item__a() - item__b();
    return true;
"""
SUM = DIFFERENCE.replace(" - ", " + ")
TIMES = np.array(["2024-02-29T12:00:00.123456789", "NaT", "1969-12-31", "2262-01-01"], "M8[ns]")
with warnings.catch_warnings():  # NumPy 2.5 deprecates generic units
    warnings.simplefilter("ignore", DeprecationWarning)
    NOT_A_TIME = np.array("NaT", "M8")


def difference(types: Any = ("M8", "M8", "m8"), code: str = DIFFERENCE, **kw: Any) -> Any:
    return wrap(((), ()), (), {types: code}, **kw)


@pytest.mark.row("K12")
def test_a_unit_that_the_key_names():
    f = difference((NS, NS, "m8[ns]"))
    got = f(TIMES, TIMES[::-1])
    assert same(got, TIMES - TIMES[::-1]) and got.dtype == "m8[ns]"
    assert np.isnat(f(TIMES, TIMES[1])).all()
    out = np.empty(4, "m8[ns]")
    assert f(TIMES, TIMES[::-1], out=out) is out and same(out, got)
    one = f(TIMES[0], TIMES[2])
    assert type(one) is np.timedelta64 and one == TIMES[0] - TIMES[2]
    assert f.types == ("datetime64[ns], datetime64[ns] -> timedelta64[ns]",)
    for wrong in (TIMES.astype(S), TIMES.astype("i8"), TIMES - TIMES[0], TIMES.astype("M8[10ns]")):
        refuses(TypeError, lambda wrong=wrong: f(TIMES, wrong), "t.f()", "'b' is", "datetime64[ns]")
    refuses(
        TypeError, lambda: f(TIMES, TIMES, out=np.empty(4, "m8[us]")), "timedelta64[us]", "timedelta64[ns]"
    )
    refuses(TypeError, lambda: f(TIMES, 3), "'b' is a Python int")
    refuses(TypeError, lambda: f(TIMES.astype(">M8[ns]"), TIMES), "byte order")


@pytest.mark.row("K12")
@pytest.mark.parametrize("unit", ["Y", "M", "W", "D", "h", "s", "ms", "ns", "as", "25s", "7D"])
def test_any_unit_that_all_have(unit):
    f, add = difference(), difference(("M8", "m8", "M8"), SUM)
    x = np.arange(-3, 4).astype(f"M8[{unit}]")
    got = f(x, x[0])
    assert same(got, x - x[0]) and got.dtype == f"m8[{unit}]"
    back = add(x[0], got)
    assert same(back, x) and back.dtype == x.dtype
    out = np.empty(7, f"m8[{unit}]")
    assert f(x, x[::-1], out=out) is out and same(out, x - x[::-1])
    assert type(f(x[1], x[0])) is np.timedelta64 and f(x[1], x[0]) == x[1] - x[0]
    assert f(x[:0], x[0]).dtype == f"m8[{unit}]"


@pytest.mark.quick
@pytest.mark.row("K12")
def test_no_two_units():
    f = difference()
    x, y = TIMES.astype(S), TIMES.astype(MS)
    error = refuses(TypeError, lambda: f(x, y), "t.f()", "'a' is datetime64[s]", "'b' is datetime64[ms]")
    assert 'wanted (datetime64, datetime64 -> timedelta64) of equal units (cast="safe" converts it)' in str(
        error
    )
    refuses(
        TypeError, lambda: f(x, x, out=np.empty(4, "m8[ms]")), "'output' is timedelta64[ms]", "equal units"
    )
    refuses(TypeError, lambda: f(x, NOT_A_TIME), "'b' is datetime64", "equal units")
    refuses(TypeError, lambda: f(x, np.zeros(4)), "'b' is float64")
    months = np.arange(3).astype("m8[M]")
    error = refuses(TypeError, lambda: difference(("M8", "m8", "M8"))(x[:3], months), "timedelta64[M]")
    assert "converts" not in str(error)
    assert same(f(x, x), x - x), "and the next call is right again"
    # A type set whose keys name the units does not need equal units.
    g = wrap(
        ((), ()), (), {("M8", "M8", "m8"): DIFFERENCE, (NS, S, "i8"): "item__output() = 5; return true;"}
    )
    assert same(g(TIMES, x), np.full(4, 5))
    assert same(g(x, x), x - x)


@pytest.mark.row("K12")
@pytest.mark.parametrize(
    ("one", "other"), list(itertools.product(["M8[D]", "M8[s]", "M8[ns]", "M8[M]"], repeat=2))
)
def test_cast_converts_as_numpy_does(one, other):
    f = difference(cast="safe")
    x, y = np.arange(3).astype(one), np.arange(10, 13).astype(other)
    got = f(x, y)
    assert same(got, x - y) and got.dtype == (x - y).dtype
    assert np.isnat(f(x, NOT_A_TIME)).all()


@pytest.mark.row("K12")
def test_cast_by_what_is_safe():
    f = difference(("M8", "m8", "M8"), SUM, cast="safe")
    x = np.arange(3).astype("M8[s]")
    assert same(f(x, np.arange(3).astype("m8[ms]")), x + np.arange(3).astype("m8[ms]"))
    assert same(f(x, np.arange(3)), x + np.arange(3)), "NumPy casts integers to spans of time"
    months = np.arange(3).astype("m8[M]")
    refuses(TypeError, lambda: f(x, months), "timedelta64[M]", "equal units")
    refuses(TypeError, lambda: f(np.arange(3), np.arange(3)), "'a' is int64")
    # Outputs are not converted; inputs are, if possible.
    out = np.empty(3, "M8[ms]")
    assert f(x, np.arange(3).astype("m8[s]"), out=out) is out
    assert same(out, (x + np.arange(3).astype("m8[s]")).astype("M8[ms]"))
    refuses(TypeError, lambda: f(x, x - x[0], out=np.empty(3, "M8[D]")), "'output' is datetime64[D]")
    g = difference((NS, NS, "m8[ns]"), cast="safe")
    assert same(g(x, TIMES[:3]), x - TIMES[:3])
    refuses(TypeError, lambda: g(x, np.zeros(3)), "'b' is float64")
    swapped = TIMES.astype(">M8[ns]")
    assert same(g(swapped, TIMES), TIMES - TIMES) and same(
        difference(cast="safe")(swapped, TIMES), TIMES - TIMES
    )


@pytest.mark.row("K12")
def test_an_argument_updated_in_place_decides_too():
    f = wrap_signature(
        "inout a(), b() ->", {("M8", "m8"): "item__a() += item__b(); return true;"}, cast="safe"
    )
    x = np.arange(3).astype("M8[ms]")
    f(x, np.arange(3).astype("m8[s]"))
    assert same(x, (np.arange(3) * 1001).astype("M8[ms]"))
    refuses(TypeError, lambda: f(x, np.arange(3).astype("m8[us]")), "'a' is datetime64[ms]", "equal units")


@pytest.mark.quick
@pytest.mark.row("K12")
def test_keys_that_leave_units_open_are_refused():
    refuses(ValueError, lambda: difference((NS, "M8", "m8")), "t.f()", "either all", "or none")
    refuses(ValueError, lambda: difference(("i8", "i8", "m8")), "t.f()", "no input", "the unit of an output")
    refuses(TypeError, lambda: difference((">M8[ns]", NS, "m8[ns]")), "byte order")
    assert difference(("i8", "i8", "m8[s]"), SUM)(1, np.int64(2)) == np.timedelta64(3, "s")
    f = difference((np.datetime64, np.datetime64, np.timedelta64))
    assert f.types == ("datetime64, datetime64 -> timedelta64",)


@pytest.mark.row("K12")
@pytest.mark.parametrize("options", [{"debug": True}, {"threads": 2}, {"optimize": "eager"}])
def test_times_with_other_options_and_shapes(options):
    f = difference(**options)
    for unit in ("s", "ms", "25s", "D", "s"):  # the unit may change from call to call
        x = np.arange(12000).astype(f"M8[{unit}]").reshape(3, 4000)[::-1, ::-3]
        assert same(f(x, x[:, :1]), x - x[:, :1])
    assert same(f(x[:0], x[0]), x[:0] - x[0])
    assert same(f(x[0], x.T[:, :, None]), x[0] - x.T[:, :, None])


@pytest.mark.row("K12")
def test_with_core_dims_and_other_types():
    code = """
        item__total() = 0;
        item__last() = NPY_DATETIME_NAT;
        for (int i = 0; i < dims_slice__t[0]; i++)
            if (item__t(i) != NPY_DATETIME_NAT) {
                item__total() += item__x(i);
                if (item__last() == NPY_DATETIME_NAT || item__t(i) > item__last())
                    item__last() = item__t(i);
            }
        return true;"""
    f = wrap_signature("t(n), x(n) -> total(), last()", {("M8", "f8", "f8", "M8"): code})
    total, last = f(TIMES, np.arange(4.0))
    assert total == 5 and type(last) is np.datetime64 and last == TIMES[3]
    total, last = f(TIMES.astype(D), np.arange(8.0).reshape(2, 4))
    assert same(last, np.array([TIMES[3]] * 2).astype(D)) and same(total, np.array([5.0, 17]))
    assert np.isnat(f(TIMES[:0], np.zeros(0))[1])


@pytest.mark.quick
@pytest.mark.row("K12")
def test_the_larger_of_two_times_is_not_found_as_that_of_numbers():
    record = np.dtype([("at", "m8[s]")])
    for types in (("M8", "M8", "m8"), ("m8[s]", "m8[s]", "i8"), (record, record, "i8")):
        for call in ("npy_maximum(1, 2)", "npy_minimum(1, 2)", "npy_amax(i, 3, i)", "npy_amin(i, 3, i)"):
            error = refuses(
                cwrapjit.CompileError,
                lambda types=types, call=call: difference(types, f"item__output() = {call}; return true;"),
                call.split("(")[0],
                "NPY_DATETIME_NAT",
            )
            assert error.lineno == 1
    assert (
        difference(("i8", "i8", "i8"), "item__output() = npy_maximum(item__a(), 2); return true;")(1, 1) == 2
    )


@pytest.mark.leak
def test_calls_with_times_keep_nothing():
    f = difference(cast="safe")
    x, y = np.arange(3).astype("M8[s]"), np.arange(3).astype("M8[ms]")

    def calls() -> None:
        f(x, y)
        f(x, x)
        with pytest.raises(TypeError):
            f(x, 2.5)

    keeps_nothing(calls, watched=(x.dtype, y.dtype))
    keeps_nothing(lambda: difference(optimize="off")(x, x), watched=(x.dtype,))
