"""Structured dtypes: C gets structs with their fields, wherever NumPy has put these."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers import build_extension, refuses, same, wrap, wrap_signature
from hypothesis import given, settings
from hypothesis import strategies as st
from leaks import keeps_nothing

import cwrapjit

PARTICLE = [("x", "f8"), ("k", "i4")]
PACKED = np.dtype(PARTICLE)
ALIGNED = np.dtype(PARTICLE, align=True)
SPREAD = np.dtype({"names": ["k", "x"], "formats": ["i4", "f8"], "offsets": [13, 1], "itemsize": 30})
OVERLAPPING = np.dtype({"names": ["all", "low", "high"], "formats": ["u8", "u4", "u4"], "offsets": [0, 0, 4]})
# Moves each particle by b, counts its moves, and says where it was.
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
    """The same offsets: an array of the first may begin anywhere."""
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
    f = move(PACKED)
    raw = np.zeros(12 * 1000 + 1, "u1")
    p = raw[1:].view(PACKED)
    p[:] = particles(PACKED, 1000)
    for _ in range(2):
        was, now = f(p, 1.0)
        assert same(was, p["x"].copy()) and same(now, moved(p, 1.0)[1])
        f.wait()
    g = wrap_signature(
        "p(n) -> s()",
        {
            (PACKED, "f8"): """
            double s = 0;
            for (npy_intp i = 0; i < dims_slice__p[0]; i++) s += item__p(i).x * item__p(i).k;
            item__s() = s; return true;"""
        },
        fastmath=True,
    )
    for _ in range(2):
        assert np.allclose(g(p), (p["x"] * p["k"]).sum())
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
        ALIGNED,
        [("x", "f8"), ("q", "i4")],
        [("k", "i4"), ("x", "f8")],
        [("x", "f8"), ("k", "u4")],
        [("x", ">f8"), ("k", "i4")],
        [(("title", "x"), "f8"), ("k", "i4")],
        "V12",
        "S12",
    ):
        error = refuses(TypeError, lambda other=other: f(np.zeros(4, other), 1.0), "t.f()", "'p' is")
        assert str(np.dtype(other)) in str(error) and str(PACKED) in str(error)
    refuses(TypeError, lambda: f(1.0, 1.0), "'p' is a Python float")
    refuses(TypeError, lambda: f((1.0, 2), 1.0), "'p' is float64")
    refuses(TypeError, lambda: f(p, 1.0, out=(np.empty(4), np.empty(4, ALIGNED))), "'now' is")
    assert same(f(p.view(np.recarray), 1.0)[0], p["x"])
    # a type set for each
    g = wrap(
        ((),),
        (),
        {(t, "i8"): f"item__output() = {i}; return true;" for i, t in enumerate([PACKED, ALIGNED, np.void])},
    )
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
    for each in (
        dtype,
        np.dtype(
            [
                (
                    dtype.fields[n] and ((dtype.fields[n][2], n) if len(dtype.fields[n]) > 2 else n),
                    dtype.fields[n][0],
                )
                for n in dtype.names
            ],
            align=True,
        ),
    ):
        p = np.zeros(3, each)
        p["half"], p["big"], p["z"], p["when"], p["span"] = 1.5, 1 / np.longdouble(3), 1 + 2j, "NaT", 3
        p["name"], p["text"], p["raw"], p["inner"]["flag"], p["u1"], p["i8"] = (
            b"hello",
            "xyz",
            b"\1\2\3",
            [1, 0, 1],
            0,
            9,
        )
        wanted = p.copy()
        wanted["flag"], wanted["inner"]["r"], wanted["inner"]["flag"] = True, 2, [0, 1, 0]
        wanted["big"] *= 2
        wanted["z"] += 2
        wanted["zf"][:, 1] = 7j
        wanted["m"] += [[0, 1, 2], [10, 11, 12]]
        wanted["name"], wanted["text"], wanted["raw"], wanted["when"] = (
            b"ab",
            "中bz",
            b"\1\2\xff",
            "1970-01-02",
        )
        wanted["span"][:, 1] = 4
        wanted["more"][:, 1, 0] = wanted["inner"]
        wanted["names"][:, 1] = b"wxyz"
        wanted["u1"], wanted["i8"], wanted["titled"] = 255, -9, 1
        f = wrap(((),), (), {each: code}, names=("p",))
        for _ in range(2):
            got = f(p)
            assert got.dtype == each
            for name in each.names:
                assert np.array_equal(got[name], wanted[name]), name
            f.wait()


@pytest.mark.row("K10")
def test_fields_that_overlap():
    f = wrap(
        ((),), (), {OVERLAPPING: "item__output().all = item__a().low; item__output().high++; return true;"}
    )
    p = np.zeros(3, OVERLAPPING)
    p["all"] = [1, 2, 2**32 + 3]
    for _ in range(2):
        assert f(p)["all"].tolist() == [2**32 + 1, 2**32 + 2, 2**32 + 3]
        f.wait()


@st.composite
def layouts(draw: Any) -> Any:
    """Two dtypes of the same fields at other places, and the names of fields that are no arrays."""
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
def test_titles_and_texts_of_any_kind():
    title = 'a "title" \\ */ ?\u4e2d%s\n'
    dtype = np.dtype([((title, "x"), "f8"), ("y", "f8")])
    f = wrap(((),), (), {dtype: "item__output() = item__a(); item__output().y = 3; return true;"})
    got = f(np.zeros(2, dtype))
    assert got.dtype == dtype and got[title].tolist() == [0, 0] and got["y"].tolist() == [3, 3]
    assert f.wait() in (True, False)
    refuses(TypeError, lambda: f(np.zeros(2, [("x", "f8"), ("y", "f8")])), "no type set fits")
    both = np.dtype([("x", "f8")], metadata={"a": object()})
    assert (
        wrap(((),), (), {both: "item__output() = item__a(); return true;"})(np.zeros(2, both)).dtype == both
    )


@pytest.mark.row("K10")
@pytest.mark.parametrize(
    "options", [{"debug": True}, {"threads": 2}, {"optimize": "eager"}, {"unordered": True}]
)
@pytest.mark.parametrize("dtype", [PACKED, ALIGNED], ids=["packed", "aligned"])
def test_with_other_options(dtype, options):
    f = move(dtype, **options)
    p = particles(dtype, 30, 1000)
    assert same(f(p.T, 1.0)[1], moved(p.T, 1.0)[1])
    with pytest.raises(cwrapjit.CompileError, match="z"):
        move(dtype, "item__now().z = 1; return true;", **options)


@pytest.mark.row("K10")
def test_inputs_are_const_and_inouts_are_not():
    with pytest.raises(cwrapjit.CompileError, match=r"const|read-only"):
        wrap(((),), (), {PACKED: "item__a().x = 1; return true;"})
    with pytest.raises(cwrapjit.CompileError, match=r"field .*\bz\b|no member"):
        wrap(((),), (), {PACKED: "item__output().z = 1; return true;"})
    with pytest.raises(cwrapjit.CompileError, match="struct cwj_record_0__f"):
        wrap(((),), (), {PACKED: "item__output() = 1.5; return true;"})
    f = wrap_signature("inout p(n) ->", {PACKED: "item__p(0).x = 5; item__p(0).k--; return true;"})
    p = particles(PACKED, 4)
    f(p)
    assert p[0].tolist() == (5.0, -1)


@pytest.mark.row("K10")
def test_a_written_module_has_the_structs(tmp_path):
    title = 'a "title" \\ */ ??/ \u4e2d'
    titled = np.dtype([((title, "x"), "f8"), ("k", "i4", (2, 2))], align=True)
    m = cwrapjit.module("written_records", "", header="#define N 2\n")
    for name, dtype in (("packed", PACKED), ("aligned", ALIGNED), ("spread", SPREAD)):
        m.function(
            name, signature="p(), b() -> was(), now()", Ccode_slice_eval={(dtype, "f8", "f8", dtype): MOVE}
        )
    m.function(
        "titled",
        signature="p() -> q()",
        Ccode_slice_eval={titled: "item__q() = item__p(); item__q().k[1][0] = N; return true;"},
    )
    with open(tmp_path / "text.c", "w") as file:
        m.write(file)
    flags = ["-Wall", "-Wextra", "-Werror"]
    written = build_extension(tmp_path, "written_records", (tmp_path / "text.c").read_text(), *flags)
    for name, dtype in (("packed", PACKED), ("aligned", ALIGNED), ("spread", SPREAD)):
        p = particles(dtype, 3, 4)
        was, now = getattr(written, name)(p, 1.0)
        assert same(was, p["x"].copy()) and same(now, moved(p, 1.0)[1])
        refuses(
            TypeError, lambda name=name: getattr(written, name)(np.zeros(3, "V12"), 1.0), "no type set fits"
        )
    got = written.titled(np.zeros(3, titled))
    assert got.dtype == titled and got["k"][:, 1, 0].tolist() == [2, 2, 2]


@pytest.mark.row("K10")
def test_names_that_are_changed_in_place_are_those_of_one_array():
    f = wrap(((),), (), {PACKED: "item__output() = item__a(); return true;"})
    p = particles(PACKED, 3)
    first = f(p)
    first.dtype.names = ("y", "j")
    assert same(f(p), p) and f(p).dtype == PACKED
    refuses(TypeError, lambda: f(first), "'a' is [('y', '<f8'), ('j', '<i4')]")


def refused(error: type[Exception], call: Any) -> None:
    with pytest.raises(error):
        call()


@pytest.mark.leak
def test_calls_keep_nothing():
    f, p = move(SPREAD), particles(SPREAD, 10)
    keeps_nothing(lambda: f(p, 1.0), 300, (SPREAD, p.dtype))
    keeps_nothing(lambda: refused(TypeError, lambda: f(np.zeros(3), 1.0)), watched=(SPREAD, p.dtype))


@pytest.mark.leak
def test_definitions_keep_nothing():
    bad = np.dtype([("x", "f8"), ("int", "f8")])
    keeps_nothing(lambda: move(SPREAD, optimize="off"), watched=(SPREAD,))
    keeps_nothing(lambda: refused(TypeError, lambda: move(bad)), watched=(bad,))
