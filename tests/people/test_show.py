"""Tests what users see: repr() in one line, _repr_html_(), help(), signatures, `f?` and `f??`."""

from __future__ import annotations

import ast
import base64
import gc
import inspect
import pydoc
import re
import shutil
import stat
import subprocess
import sys
import threading
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from helpers import INNER, refuses, wrap

import cwrapjit
import cwrapjit.graph as cg
from cwrapjit._cwrapjit import Dispatch
from cwrapjit._explain import build
from cwrapjit.show import ctext, drawing, graphs, html, instances, page

HOSTILE = """<script>alert("1")</script> & 'quotes' ]]> é 漢 \u202e \x1b[31m \x00 \ud800 {fill} %s"""


def tree(shown: Any) -> ElementTree.Element:
    """Returns the HTML for notebooks as a tree, after checking that it is safe."""
    made = shown._repr_html_()
    made.encode()
    root = ElementTree.fromstring(made)
    assert "\n" not in repr(shown) and len(made) < 1_000_000
    for each in root.iter():
        tag = each.tag.rpartition("}")[2]
        assert tag not in ("script", "style", "iframe", "object", "link", "a", "use", "foreignObject")
        assert tag != "img" or each.get("src", "").startswith("data:image/svg+xml;base64,")
        assert not any(name.startswith("on") or "javascript" in value for name, value in each.items())
    return root


def words(shown: Any) -> str:
    """Returns its text without tags."""
    return "\n".join(" ".join(each.split()) for each in tree(shown).itertext())


def facts(shown: Any) -> dict[str, str]:
    """Returns its first table, of names and values."""
    rows = tree(shown).findall("./table/tr")
    return {"".join(row[0].itertext()): "\n".join(row[1].itertext()) for row in rows}


def inner(**options: Any) -> Any:
    return wrap((("n",), ("n",)), (), INNER, module="lib", name="inner", doc="Inner product", **options)


def kernels() -> list[Any]:
    squared = cwrapjit.ElementwiseKernel("T x, T y", "T z", "z = (x - y) * (x - y)", "squared")
    norm = cwrapjit.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "norm")
    return [squared, norm, cwrapjit.vectorize("T larger(T x, T y) { return x > y ? x : y; }")]


def graph() -> Any:
    x, y = cg.float64("x"), cg.float64("y")
    return cwrapjit.link([x, y], x * y + 1, name="scaled")


def library() -> Any:
    made = cwrapjit.library("m", libraries=["m"])
    made.function("double hypot(double x, double y)", defaults={"y": 4.0})
    made.declare("int abs(int x);\ndouble complex cabs(double complex z, ...);\nint matherr;")
    made.interface("any", [made.abs, made.hypot])
    return made


# ---- functions -------------------------------------------------------------------------------------------


@pytest.mark.quick
@pytest.mark.row("U03")
def test_a_function_says_what_it_is() -> None:
    f = inner(extra_args=(("double", "scale", "1.5", "d"),), output_dims={}, optimize="off")
    shown = facts(f)
    assert repr(f) == "<cwrapjit.Function lib.inner(a, b, out=None, *, scale=1.5): a(n), b(n) -> output()>"
    assert shown["prototype"] == "a(n), b(n) -> output()"
    assert shown["call"] == "inner(a, b, out=None, *, scale: double = 1.5)"
    assert shown["types"] == "float64, float64 -> float64"
    assert "optimize='off'" in shown["tier"] and shown["calls"] == "0"
    assert re.fullmatch(r"[\d.]+ (µs|ms|s)", shown["compiled in"])
    assert "Inner product" in words(f)


@pytest.mark.quick
@pytest.mark.row("U03")
def test_all_calls_are_counted() -> None:
    f = inner()
    a = np.arange(3.0)
    for _ in range(300):
        f(a, a)
    f(np.ones((20_000, 3)), a)
    f([1.0, 2.0], [3.0, 4.0])
    with pytest.raises(ValueError, match="inner"):
        f(a, np.arange(4.0))
    assert facts(f)["calls"] == "303"
    windows = wrap(((3,),), (), "item__output() = item__a(1); return true;", windows={"a": (3,)})
    for length in (2, 5, 1000):  # no window, some, or nearly all lie inside
        windows(np.arange(float(length)))
    assert facts(windows)["calls"] == "3"


@pytest.mark.row("U03")
def test_generated_c_has_the_users_lines_marked() -> None:
    f = wrap((), (), "/* mine */\nitem__output() = 1;\nreturn true;", header="/* of all */\n")
    folds = {"".join(each.find("summary").itertext()): each for each in tree(f).iter("details")}  # type: ignore[union-attr]
    generated = folds["generated C, your lines marked"]
    marked = ["".join(each.itertext()) for each in generated.iter("span") if each.get("title")]
    assert [each.split("\n")[0] for each in marked] == ["/* of all */", "/* mine */"]
    assert "cwj_loop_0__f" in "".join(generated.itertext())
    own = "".join(folds["C text"].itertext())
    assert "/* mine */\nitem__output() = 1;\nreturn true;" in own and "cwj_loop" not in own


@pytest.mark.quick
@pytest.mark.row("U03")
@pytest.mark.compiler("waits for the cc tier")
def test_the_tier_is_shown_and_why(tmp_path: Path) -> None:
    f = inner()
    assert "not hot yet" in facts(f)["tier"]
    if f.wait():
        assert facts(f)["tier"].startswith("cc")
    refused = wrap((), (), "REAL r = s; item__output() = r; return true;", header="""
        #define REAL double
        static const struct { int i; } s;""")  # fmt: skip
    assert not refused.wait() and "<" in str(refused.tier_error)
    assert str(refused.tier_error) in facts(refused)["tier"]


@pytest.mark.row("U03")
def test_texts_are_shown_as_they_were_written() -> None:
    text = "T twice(T x)\n{\n    return 2 * x; /* mine */\n}"
    of_types = cwrapjit.vectorize(text, T=("f4", "f8"))
    of_library = cwrapjit.library("own", source=text.replace("T ", "double ")).twice
    indented = wrap((), (), "\n        item__output() = 1; /* mine */\n\n        return true;\n")
    for each, wanted in (
        (of_types, text),
        (of_library, text.replace("T ", "double ")),
        (indented, "item__output() = 1; /* mine */\n\nreturn true;"),
    ):
        fold = tree(each).find("details")
        assert fold is not None and "".join(fold.itertext()) == f"C text{wanted}"


@pytest.mark.row("U03")
def test_colours_need_pygments(monkeypatch: pytest.MonkeyPatch) -> None:
    f = inner()
    plain = words(f)
    for name in ("pygments", "pygments.formatters.html", "pygments.lexers.c_cpp"):
        monkeypatch.setitem(sys.modules, name, None)
    assert "int i = 0; i < dims_slice__a[0]; i++" in words(f)
    assert re.sub(r"\s", "", words(f)) == re.sub(r"\s", "", plain)


# ---- everything else ---------------------------------------------------------------------------------------


@pytest.mark.row("U03")
def test_modules_list_their_functions() -> None:
    m = cwrapjit.module("lib", "A <b>module</b>")
    for k in range(300):
        m.function(
            f"f{k}", signature="-> output()", Ccode_slice_eval={float: f"item__output() = {k}; return 1;"}
        )
    m.f0()
    shown = words(m)
    assert "A <b>module</b>" in shown and "f99" in shown and "f100" not in shown and "and 200 more" in shown
    assert repr(m) == "<cwrapjit.module 'lib' with 300 functions>"


@pytest.mark.row("U03")
def test_kernels_show_their_text_and_what_was_compiled() -> None:
    squared, norm, larger = kernels()
    assert [repr(each) for each in (squared, norm, larger)] == [
        "<ElementwiseKernel squared(T x, T y) -> T z>",
        "<ReductionKernel norm(T x) -> T y>",
        "<cwrapjit.vectorize larger: x(), y() -> output() of any T>",
    ]
    assert [len(tree(each).findall(".//details")) for each in (squared, norm, larger)] == [2, 1, 2]
    squared(np.ones(3), 2.0)
    norm(np.ones(3))
    larger(1, 2)
    assert "z = (x - y) * (x - y)" in words(squared) and "T x, T y -> T z" in words(squared)
    assert "float64, float64 -> float64" in words(squared)
    assert "y = sqrt(a)" in words(norm) and "float64 -> float64" in words(norm)
    assert "x > y ? x : y" in words(larger) and "int64, int64 -> int64" in words(larger)

    class Mine(cwrapjit.ElementwiseKernel):
        """A subclass."""

    mine = Mine("T x", "T y", "y = x", "mine")
    assert "y = x" in words(mine)


@pytest.mark.row("U15")
def test_libraries_show_what_is_mapped_and_why_others_are_not() -> None:
    lib = library()
    before = words(lib)
    assert "declared and not used yet" in before and "double hypot(double x, double y)" in before
    assert lib._core.declared.unread_texts()
    assert len(lib.mapped) == 3
    shown = words(lib)
    assert "declared and not used yet" not in shown
    assert "3 mapped" in shown and "double hypot(double x, double y)" in shown and "int abs(int x)" in shown
    for name, reason in lib.unmapped.items():
        assert name in shown and " ".join(reason.split())[:200] in shown
    assert lib.unmapped and f"{len(lib.unmapped)} unmapped" in shown
    assert "hypot(x: float, y: float = 4.0)" in words(lib.hypot) and hex(lib.hypot.address) in words(
        lib.hypot
    )
    assert "abs(x: int)" in words(lib.any)
    own = cwrapjit.library("own", source="double twice(double x) { return 2 * x; } int calls;")
    assert "double twice(double x)" in words(own) and "calls" in facts(own)["variables"]


@pytest.mark.row("U15")
def test_looking_at_a_library_reads_and_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    lib = cwrapjit.library("m", libraries=["m"], header="#include <math.h>\n")
    declared = cwrapjit.library("c", libraries=["m"])
    declared.declare("double hypot(double x, double y);")
    source = cwrapjit.library("own", source="double twice(double x) { return 2 * x; }")

    def start(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError(f"a process was started: {args}")

    monkeypatch.setattr(subprocess, "Popen", start)
    for each in (lib, declared, source):
        waiting, unread = dict(each._core.table), each._core.declared.unread_texts()
        tree(each)
        for name in ("_repr_png_", "_repr_mimebundle_", "_ipython_display_", "_ipython_canary_method"):
            assert not hasattr(each, name)
        assert each._core.table == waiting and each._core.declared.unread_texts() == unread
    assert not lib._core.declarations._header_read


@pytest.mark.quick
@pytest.mark.row("K20")
def test_an_explanation_is_a_table() -> None:
    told = """<f>:2:5: missed: couldn't vectorize loop
<f>:3:5: missed: not vectorized: a < b.
<f>:4:5: optimized: loop vectorized using 32 byte vectors
cwrapjit size cwj_unit_0__f 320
cwrapjit calls exp /lib/libm.so.6
"""
    text = "\nfor (<b>;;)\n{}\nfor (;;)"
    shown = build("t.f", "/usr/bin/cc", [("float64", told, (("<f>", text),)), ("int32", "", ())])
    first, second = tree(shown).findall("details")
    assert "".join(first.find("summary").itertext()) == "float64: variant 'unit', 320 bytes of code"  # type: ignore[union-attr]
    rows = [["".join(cell.itertext()) for cell in row] for row in first.findall("./table/tr")]
    assert rows[1:] == [
        ["line 2: for (<b>;;)", "not vectorized", "line 3: a < b"],
        ["line 4: for (;;)", "vectorized, 32 bytes at a time", ""],
    ]
    assert "calls exp (libm)" in words(shown) and facts(shown) == {"by": "/usr/bin/cc"}
    assert [line.strip() for line in str(shown).splitlines()[2:5]] == rows[1]
    assert "calls" not in "".join(second.itertext())


def test_long_lists_and_texts_are_cut() -> None:
    lib = library()
    lib.unmapped.update({f"f{k}": "a reason " * 1000 for k in range(3000)})
    assert "and 2,9" in words(lib) and len(html(lib)) < 200_000
    assert len(ctext.view("x = 1;\n" * 1_000_000)) < 500_000
    assert "more lines" in ctext.view("x = 1;\n" * 1_000_000)
    long = wrap((), (), "item__output() = 1; return true;", header="/* a line */\n" * 20_000)
    assert "more lines" in words(long) and "cut: the whole text" in words(long) and len(html(long)) < 400_000
    types = ["f4", "f8", "i1", "i2", "i4", "i8"]
    many = wrap(((),), (), dict.fromkeys([(a, b) for a in types for b in types], "return true;"))
    assert "and 16 more" in facts(many)["types"]


@pytest.mark.quick
def test_hostile_texts_are_escaped() -> None:
    f = inner()
    f.__doc__ = HOSTILE
    f.__name__ = HOSTILE
    shown = f._repr_html_()
    assert "<script" not in shown and "\u202e" not in shown and "\x1b" not in shown
    assert "<script>alert(\"1\")</script> & 'quotes' ]]> é 漢" in words(f)
    for wrong in (3, None, b"bytes", ["list"]):
        f.__doc__ = f.__name__ = wrong
        tree(f)
    vars(f).clear()
    assert "a(n), b(n) -> output()" in words(f)
    m = cwrapjit.module("lib", HOSTILE.replace("\x00", ""))
    vars(m)[HOSTILE] = inner()
    m.__name__ = HOSTILE
    tree_of = ElementTree.fromstring(m._repr_html_())
    assert "<script>alert" in "".join(tree_of.itertext())
    del m.__name__
    tree(m)
    text = wrap((), (), "item__output() = '<' + '&'; /* </pre></details><b> \u202e */ return true;")
    assert "</pre></details><b>" in words(text)


def test_objects_that_are_none_yet_can_be_looked_at() -> None:
    from cwrapjit.kernels.vectorize import Deduced
    from cwrapjit.library.interface import Interface

    m = cwrapjit.module.__new__(cwrapjit.module)
    for cls in (
        cwrapjit.ElementwiseKernel,
        cwrapjit.ReductionKernel,
        cwrapjit.library,
        Deduced,
        Interface,
    ):
        cls = getattr(cls, "Library", cls)
        made = cls.__new__(cls)
        assert repr(made)
        tree(made)
    tree(m)
    f = inner()
    gc.collect()  # frees its module
    assert "lib.inner" in words(f)
    with pytest.raises(TypeError, match="int"):
        html(3)


def test_looking_goes_on_while_tiers_change() -> None:
    f = wrap((("n",),), (), {t: INNER.replace("item__b(i)", "item__a(i)") for t in (float, "f4", "i4", "i8")})
    looked: list[str] = []
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            looked.append(f._repr_html_())

    threads = [threading.Thread(target=look) for _ in range(3)]
    for each in threads:
        each.start()
    for _ in range(200):
        f(np.arange(1000.0))
    f.wait()
    done.set()
    for each in threads:
        each.join()
    assert looked and all(ElementTree.fromstring(each) is not None for each in set(looked))


# ---- C objects ---------------------------------------------------------------------------------------------

OBJECTS = r"""
    #include <stdlib.h>
    enum color { RED, GREEN = 5 };
    typedef struct { double x, y; } point;
    typedef union { int i; float f; } number;
    typedef struct { point from; enum color ink; enum color few : 4; unsigned on : 3; number n; } line;
    typedef struct { int kind; union { int i; float f; }; struct { short p, q; }; } mixed;
    struct node { int value; struct node *next; };
    typedef struct {
        char name[8]; const char *text; double *data; void *any; int (*f)(int); char **names; point *list[3];
        double m[3][4]; int row[100]; point p[3]; unsigned char key[2];
    } many;
    typedef struct { int n; double x[]; } open_end;
    typedef struct { const char *text; point p; } told;
    typedef struct { char bytes[2000000]; } large;
    typedef struct state state;
    struct l0 { int x; }; struct l1 { struct l0 a; }; struct l2 { struct l1 a; }; struct l3 { struct l2 a; };
    struct l4 { struct l3 a; }; struct l5 { struct l4 a; }; struct l6 { struct l5 a; };
    point *point_new(double x) { point *p = malloc(sizeof *p); *p = (point){x, 1}; return p; }
    void point_free(point *p) { free(p); }
    told *tell(long where) { static told t; t.text = where ? (char *)where : "of C"; return &t; }
    told *nowhere(void) { return (told *)16; }
    open_end *opened(void) { static long room[4] = {3}; return (open_end *)room; }
    state *get(void) { return malloc(1); }
    state *lent(void) { static long s; return (state *)&s; }
    void put(state *s) { free(s); }
"""


@pytest.fixture(scope="module")
def objects() -> Any:
    return cwrapjit.library("objects", source=OBJECTS)


def nothing_raises(shown: Any) -> str:
    text = repr(shown)
    assert "\n" not in text and len(text) < 2000
    return text


@pytest.mark.quick
@pytest.mark.row("S07")
def test_instances_show_their_members(objects: Any) -> None:
    lib = objects
    assert repr(lib.point(1, 2)) == "point(x=1.0, y=2.0)"
    assert repr(lib.number(i=1 << 30)) == "union number(i=1073741824, f=2.0)"
    assert repr(lib.line(lib.point(1, 2), 5, 5, 7)) == (
        "line(from_=point(x=1.0, y=2.0), ink=color.GREEN, few=color.GREEN, on=7, n=union number(i=0, f=0.0))"
    )
    assert repr(lib.line(ink=3)).count("=3,") == 1, "no enumerator"
    assert repr(lib.mixed(1, i=0, p=2)) == "mixed(kind=1, <union i=0, f=0.0>, p=2, q=0)"
    one = lib.node(1)
    two = lib.node(2, one)
    one.next = two  # makes a cycle
    assert repr(one) == f"node(value=1, next=<struct node * at {hex(two.address)}>)"
    assert repr(lib.node()) == "node(value=0, next=NULL)"

    class Mine(lib.point):  # type: ignore[misc]
        def __del__(self) -> None:
            gone.append(self.x)

    gone: list[float] = []
    mine = Mine(3, 4)
    assert repr(mine) == "Mine(x=3.0, y=4.0)" and gone == []


@pytest.mark.quick
@pytest.mark.row("S07")
def test_what_is_long_is_cut_and_pointers_are_not_followed(objects: Any) -> None:
    many = objects.many()
    many.row[:], many.m[1], many.name, many.text = np.arange(100), 2.5, "é", "long " * 100
    many.data = many.any = data = np.zeros(3)
    at = hex(data.ctypes.data)
    assert nothing_raises(many).partition(", m=") == (
        f"many(name='é', text='{'long ' * 12}'..., data=<double * at {at}>, any=<void * at {at}>, f=NULL, "
        "names=NULL, list=<point *[3]>",
        ", m=",
        "[[0., ..., 0.], ..., [0., ..., 0.]], row=[0, 1, 2, ..., 97, 98, 99], "
        "p=[(0., 0.), (0., 0.), (0., 0.)], key=[0, 0])",
    )
    assert objects.opened().n == 3 and "(n=3, x=<double[]>) at 0x" in repr(objects.opened())
    assert repr(objects.l6()) == "l6(a=l5(a=l4(a=l3(a=l2(a=l1(...))))))"
    members = "".join(f"int number_{k}; " for k in range(1000))
    wide = cwrapjit.library("wide").struct(f"struct wide {{ {members}}}")
    assert nothing_raises(wide()).endswith("=0, ...)")


@pytest.mark.quick
@pytest.mark.row("S07")
def test_whose_an_object_is_and_whether_it_is_there(objects: Any) -> None:
    lib = cwrapjit.library("objects", source=OBJECTS)
    point = lib.struct("point", free="point_free")
    assert re.fullmatch(r"<point\(x=0.0, y=0.0\) at 0x\w+, borrowed>", repr(lib.line().from_))
    made = lib.function("point *point_new(double x)", returns="callee")(3)
    assert re.fullmatch(r"<point\(x=3.0, y=1.0\) at 0x\w+, owned>", repr(made))
    made.close()
    assert repr(made) == "<point: point, freed>" and repr(point(1, 2)) == "point(x=1.0, y=2.0)"
    outer = lib.line()
    inner = outer.from_
    outer.close()
    assert repr(outer) == "<line: line, freed>"
    assert re.fullmatch(r"<point: point at 0x\w+, freed>", repr(inner))
    lib.handle("state *", free="put")
    with lib.function("state *get(void)", returns="callee")() as state:
        assert re.fullmatch(r"<state: struct state at 0x\w+, open>", repr(state))
    assert repr(state) == "<state: struct state, closed>"
    assert repr(lib.state.__new__(lib.state)) == "<state: struct state, not initialised>"
    assert repr(lib.lent()).endswith(", borrowed>")
    assert ", borrowed, no free= is known>" in repr(objects.lent())


@pytest.mark.quick
@pytest.mark.row("S07")
def test_repr_reads_no_memory_that_is_none(objects: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "told(text='of C', p=point(x=0.0, y=0.0)) at 0x" in repr(objects.tell(0))
    assert "told(text=<const char * at 0x10>, p=point" in repr(objects.tell(16))
    assert "told(text=<const char * at 0xffffffffffffff00>, p=point" in repr(objects.tell(-256))
    assert re.fullmatch(r"<told: told at 0x10, borrowed.*>", repr(objects.nowhere()))
    assert re.fullmatch(r"<large: large at 0x\w+, owned>", repr(objects.large()))
    with np.printoptions(formatter={"all": lambda value: 1 // 0}):
        assert "m=<double[3][4]>" in nothing_raises(objects.many())
    monkeypatch.setattr(instances, "peek", lambda address, size: b"")
    assert re.fullmatch(r"<point: point at 0x\w+, owned>", repr(objects.point()))

    def interrupt(address: int, size: int) -> bytes:
        raise KeyboardInterrupt

    monkeypatch.setattr(instances, "peek", interrupt)
    with pytest.raises(KeyboardInterrupt):
        repr(objects.point())


# ---- graphs ------------------------------------------------------------------------------------------------

SVG = """<?xml version="1.0"?>
<svg width="9pt" xmlns="http://www.w3.org/2000/svg"><text x="1">a &lt; b</text></svg>
"""


def picture(shown: Any) -> str:
    """Returns the SVG text of the image."""
    (image,) = tree(shown).iter("img")
    return base64.b64decode(image.get("src", "").removeprefix("data:image/svg+xml;base64,")).decode()


@pytest.fixture
def dot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Replaces Graphviz by a script, which gets the graph in the file `given` beside it."""
    monkeypatch.setattr(drawing, "SECONDS", 60.0)  # enough for a busy machine
    monkeypatch.setattr(drawing, "_gave_up", set())
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))

    def write(script: str) -> Path:
        program = tmp_path / "bin" / "dot"
        program.write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\ncat > {tmp_path}/given\n{script}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        return tmp_path / "given"

    return write


@pytest.mark.row("U15")
def test_a_graph_is_drawn(dot: Callable[[str], Path], tmp_path: Path) -> None:
    (tmp_path / "picture.svg").write_text(SVG)
    given = dot(f"cat {tmp_path}/picture.svg")
    k = graph()
    assert repr(k) == "<cwrapjit.graph.Graph scaled(x, y): 2 nodes, 1 output, struct form>"
    assert picture(k) == SVG
    text = given.read_text()
    assert 'label="x: float64"' in text and 'label="multiply"' in text and 'label="1.0"' in text
    assert text.count("->") == 5 and text.startswith("digraph {")
    assert facts(k)["inputs"] == "x: float64, y: float64"
    for each in (k.bind([1.0], [2.0], [None]), k.outputs[0]):
        assert picture(each) == SVG
    odd = cg.float64('"] evil [label="\\') * cg.float64("&lt;\n")
    odd._repr_html_()
    assert 'label="\\"] evil [label=\\"\\\\: float64"' in given.read_text()
    assert 'label="&amp;lt; : float64"' in given.read_text()


@pytest.mark.row("U15")
@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed (apt install graphviz)")
@pytest.mark.plain("Graphviz itself would run with sanitizers, too")
def test_graphviz_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "SECONDS", 60.0)  # enough for a busy machine
    monkeypatch.setattr(drawing, "_gave_up", set())
    drawn = ElementTree.fromstring(picture(graph()))
    assert {"multiply", "add", "x: float64", "1.0"} <= {each.text for each in drawn.findall(".//{*}text")}
    assert len(drawn.findall(".//{*}path")) >= 5


@pytest.mark.row("U15")
@pytest.mark.parametrize(
    "script", ["exit 1", "echo no picture", "echo '<html/>'", "kill -9 $$", "printf '\\377\\376\\0'"]
)
def test_without_a_picture_there_is_a_list(dot: Callable[[str], Path], script: str) -> None:
    dot(script)
    shown = words(graph())
    assert "2 nodes" in shown and "multiply(x, y)" in shown and "add(v2, 1.0)" in shown.replace("v1", "v2")


@pytest.mark.row("U15")
def test_nobody_waits_long_for_graphviz(dot: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    given = dot("echo >> $0.starts; exec sleep 10000")
    monkeypatch.setattr(drawing, "SECONDS", 0.1)
    for _ in range(3):
        assert "2 nodes" in words(graph())  # waiting would take hours
    program = given.parent / "bin" / "dot"
    assert drawing._gave_up == {str(program)}  # it is not tried a second time
    starts = program.with_suffix(".starts")
    assert not starts.exists() or starts.read_text() == "\n"


@pytest.mark.quick
@pytest.mark.row("U15")
def test_without_graphviz_there_is_a_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    shown = words(graph())
    assert "multiply(x, y)" in shown and "float64" in shown
    broken = tmp_path / "dot"
    broken.write_bytes(b"no program")
    broken.chmod(0o755)
    assert "multiply(x, y)" in words(graph())


def test_graphs_too_large_to_draw_are_listed(
    dot: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = dot("exit 0")
    x = cg.float64("x")
    y = x
    for _ in range(10_000):
        y = y + x
    shown = words(y)
    assert "10,000 nodes" in shown and "more" in shown and not given.exists()
    monkeypatch.setattr(graphs, "_MOST_WALKED", 5000)
    assert "more than" in words(y)
    many = cg.Apply(cg.Op(), [cg.float64() for _ in range(5000)], [cg.float64()]).out
    assert "1 node" in words(many) and not given.exists()


def test_graphs_that_were_tampered_with(dot: Callable[[str], Path]) -> None:
    dot("exit 1")
    x = cg.float64("x")
    y = x * 2.0
    z = y + 1.0
    y.owner.inputs[0] = z  # makes a cycle
    assert "2 nodes" in words(z)

    class Odd(cg.Op):
        def __str__(self) -> str:
            raise RuntimeError(HOSTILE)

    odd = cg.Apply(Odd(), [x], [cg.float64()]).out
    assert "whose __str__ raises RuntimeError" in words(types.SimpleNamespace(_repr_html_=lambda: html(odd)))
    y.owner = 3
    assert "cannot be followed" in words(z)

    class Trap(cg.Variable):
        @property
        def data(self) -> Any:
            raise ValueError("no value")

    assert "variable" in html(Trap(cg.float64, "x"))
    del y.type
    assert html(y)
    assert "constant" in words(cg.Constant(cg.float64, 1.5))
    failing = graph()
    failing.cells[0][0] = "no number"
    assert failing.run() != 0 and "TypeError" in facts(failing)["last run"]


# ---- questions of Python and IPython -----------------------------------------------------------------------


GEOMETRY = """
#include <stdlib.h>
enum color { RED, GREEN = 5 };
#define LIMIT 3
#define NAME "geometry"
typedef struct point { double x; unsigned char kind; float m[3]; struct point *next; } point;
typedef struct hidden hidden;
long counter = 3;
float table[2] = {1, 2};
point *point_new(double x) { point *p = calloc(1, sizeof *p); if (p) p->x = x; return p; }
void point_free(point *p) { free(p); }
double point_norm(const point *p, int power) { return p->x * power; }
double point_twice(const point *p) { return 2 * p->x; }
void limits(const point *p, OUT double *low, OUT int *high) { *low = *high = 0; }
enum color pick(int i) { return i ? GREEN : RED; }
const char *word(const char *of) { return of; }
int none(void) { return 0; }
hidden *find(hidden *other) { return other; }
double total(double *x, int n) { return *x * n; }
void scale(OUT double y[n], const double x[n], int n, double by) { y[0] = x[0] * by; }
"""


def geometry() -> Any:
    made = cwrapjit.library("geometry", source=GEOMETRY)
    made.refine("total", dims={"x": "n"})
    norm = "double point_norm(const point *p, int power)"
    own = {"init": "point *point_new(double x)", "free": "point_free", "methods": [norm]}
    made.struct("point", properties={"doubled": "double point_twice(const point *p)"}, **own)
    return made


@pytest.mark.row("S05")
def test_stubs_of_a_library(tmp_path: Path) -> None:
    lib = geometry()
    cwrapjit.write_stubs(lib, tmp_path / "geometry.pyi")
    text = (tmp_path / "geometry.pyi").read_text(encoding="utf-8")
    found = {getattr(each, "name", ""): ast.unparse(each) for each in ast.parse(text).body}
    wanted = {
        "limits": "(p: point) -> tuple[float, int]",
        "pick": "(i: int) -> color | Any",
        "word": "(of: _Text) -> str | Any",
        "none": "() -> int",
        "find": "(other: hidden) -> hidden | Any",
        "total": "(x: NDArray[np.float64]) -> float",
        "scale": "(x: ArrayLike, by: ArrayLike, out: Any=...) -> NDArray[np.float64]",
    }
    assert {name: found[name] for name in wanted} == {
        n: f"def {n}{each}:\n    ..." for n, each in wanted.items()
    }
    members = ["x: float", "kind: int", "m: NDArray[np.float32]", "next: Any"]
    members += ["@property\n    def doubled(p) -> float:"]
    members += ["def __init__(self, /, x: float) -> None:", "def norm(p, power: int) -> float:"]
    assert all(f"    {each}\n" in found["point"].replace(":\n        ...", ":\n") for each in members)
    assert found["color"] == "class color(enum.IntEnum):\n    RED = 0\n    GREEN = 5"
    for line in ("LIMIT: int", "NAME: str", "RED: int", "counter: int", "table: NDArray[np.float32]"):
        assert f"\n{line}\n" in text


KINDS = """
#include <stdint.h>
typedef struct { double x; int n[2]; char name[4]; } point;
typedef struct { double *data; int n; } vector;
typedef struct { point at; vector of; } pair;
int number(double x) { return 1; }
int count(int x) { return 1; }
int truth(_Bool x) { return 1; }
int text(const char *x) { return 1; }
int maybe(const char *x) { return 1; }
int texts(const char *const *x, int n) { return 1; }
int bytes(const void *x, size_t n) { return 1; }
int room(void *x, size_t n) { return 1; }
int array(const double *x, int n) { return 1; }
int perhaps(const double *x, int n) { return 1; }
int records(const point *x, int n) { return 1; }
int listed(const double *x, int n) { return 1; }
int tupled(const int *x, int n) { return 1; }
int pointer(double *x) { return 1; }
int record(const point *x) { return 1; }
int value(point x) { return 1; }
int other(const vector *x) { return 1; }
int both(pair x) { return 1; }
double broad(const double x[n], int n) { return 1; }
void updated(INOUT double x[n], int n) { x[0] = 1; }
"""


@pytest.mark.row("S05")
def test_stubs_say_what_is_taken(tmp_path: Path) -> None:
    lib = cwrapjit.library("kinds", source=KINDS)
    for pattern in ("array", "perhaps", "records", "bytes", "room", "texts", "listed", "tupled"):
        container = {"listed": {"container": list}, "tupled": {"container": tuple}}.get(pattern, {})
        lib.refine(pattern, dims={"x": "n"}, **container)
    for declaration in ("int number(double x)", "int count(int x)", "int truth(_Bool x)"):
        lib.function(declaration)  # the C function itself, which does not broadcast
    lib.refine("maybe", optional="x")
    lib.refine("perhaps", optional="x")
    point, vector = lib.point(1, [2, 3], "ab"), lib.vector(np.ones(2), 2)
    points = np.zeros(2, lib.point)
    writeable = [bytearray(2), memoryview(bytearray(2)), np.zeros(2)]
    values: dict[str, list[Any]] = {
        "float": [1.5, 2], "int": [3], "bool": [True], "None": [None], "np.void": [points[0]],
        "_Text": ["a", b"a", Path("a")], "_Writeable": writeable,
        "_Bytes": ["a", b"a", points[0], *writeable],
        "NDArray[np.float64]": [np.ones(3)], "NDArray[Any]": [np.ones(3)], "list[Any]": [["a", b"b"]],
        "list[float]": [[1.0, 2.0]], "tuple[int, ...]": [(1, 2)], "_Pointer": [cwrapjit.Pointer(np.ones(3))],
        "point": [point], "vector": [vector], "pair": [lib.pair(point, vector)],
        "ArrayLike": [[1.0, 2.0], np.ones(3), (1, 2)],
    }  # fmt: skip
    wrong = [None, "a", b"a", 1.5, [1.0], (1.0,), np.ones(3), point, vector, points[0], points, object()]
    wrong += [bytearray(2), ["a"], np.ones(3, "i4")]
    cwrapjit.write_stubs(lib, tmp_path / "kinds.pyi")
    body = ast.parse((tmp_path / "kinds.pyi").read_text()).body
    found = {each.name: each for each in body if isinstance(each, ast.FunctionDef)}
    assert len(found) == len([line for line in KINDS.splitlines() if line.endswith("}")])
    for name, function in found.items():
        words = ast.unparse(function.args.args[0].annotation).split(" | ")
        taken = [value for word in words for value in values[word]]
        if name == "records":
            assert words == ["NDArray[Any]"]
            taken = [points]
        for value in taken:
            assert getattr(lib, name)(value) in (1, None), (name, value)
        for value in wrong:
            if words != ["ArrayLike"] and not any(type(value) is type(each) for each in taken):
                with pytest.raises((TypeError, ValueError)):
                    print(name, words, repr(value), getattr(lib, name)(value))
    text = (tmp_path / "kinds.pyi").read_text()
    assert "def __init__(self, /, x: float = ..., n: ArrayLike = ..., name: _Text = ...) -> None" in text
    assert "def __init__(self, /, at: point | np.void = ..., of: vector = ...) -> None" in text
    assert str(inspect.signature(lib.point)) == "(x: float = ..., n: ArrayLike = ..., name: str = ...)"
    assert str(inspect.signature(lib.pair)) == "(at: point = ..., of: vector = ...)"


@pytest.mark.row("S05")
def test_stubs_have_enum_classes_and_names_that_python_can_have(tmp_path: Path) -> None:
    lib = cwrapjit.library("words", source="""
        enum color { RED, None };
        struct phrase { int in; float lambda[2]; };
        enum color pick(int from) { return RED; }
        int first(const struct phrase *class) { return class->in; }""")  # fmt: skip
    cwrapjit.write_stubs(lib, tmp_path / "words.pyi")
    text = (tmp_path / "words.pyi").read_text()
    ast.parse(text)
    assert "def pick(from_: int) -> color | Any" in text and "    in_: int\n    lambda_: NDArray" in text
    assert type(lib.pick(1)).__name__ == "color" and lib.phrase(in_=3).in_ == 3


@pytest.mark.row("S05")
def test_stubs_of_a_module(tmp_path: Path) -> None:
    m = cwrapjit.module("curves")
    extras = (("double", "by", "1", "d"), ("const char*", "label", "NULL", "z"), ("int", "n", "0", "i"))
    body: dict[Any, str] = {float: "return 1;"}
    m.function("one", signature="x(n), inout y() -> z(n), w()", Ccode_slice_eval=body, extra_args=extras)
    m.function("two", signature="-> (z(2),)", Ccode_slice_eval={"f4": "return 1;", **body})
    m.function("three", signature="inout x(n) ->", Ccode_slice_eval=body)
    m.generic, m.number = cwrapjit.vectorize("T f(T x, double y) { return x; }"), 3.5
    setattr(m, "no name", 3)
    cwrapjit.write_stubs(m, str(tmp_path / "curves.pyi"))
    text = (tmp_path / "curves.pyi").read_text(encoding="utf-8")
    assert text.split("\n\n\n")[1].split("\n") == [
        "def generic(x: ArrayLike, y: ArrayLike, out: Any = ...) -> Any: ...",
        "number: float",
        "def one(x: ArrayLike, y: NDArray[Any], *, out: Any = ..., by: float = ..., "
        "label: _Text | None = ..., n: int = ...) -> tuple[NDArray[np.float64], Any]: ...",
        "def three(x: NDArray[Any]) -> None: ...",
        "def two(out: Any = ...) -> tuple[NDArray[Any]]: ...",
        "",
    ]


@pytest.mark.row("S05")
def test_what_stubs_cannot_be_written_of(tmp_path: Path) -> None:
    m = cwrapjit.module("m")
    for wrong in (np, m.__name__, cwrapjit.module, None, inner()):
        refuses(
            TypeError, lambda wrong=wrong: cwrapjit.write_stubs(wrong, "x.pyi"), "write_stubs()", "library"
        )
    for path in (3, None, b"x"):
        refuses(TypeError, lambda path=path: cwrapjit.write_stubs(m, path), "write_stubs()", "path", "not")
    missing = tmp_path / "no" / "m.pyi"
    refuses(FileNotFoundError, lambda: cwrapjit.write_stubs(m, missing), str(missing))
    refuses(IsADirectoryError, lambda: cwrapjit.write_stubs(m, tmp_path), str(tmp_path))


@pytest.mark.row("U04")
def test_everything_that_can_be_called_has_a_signature() -> None:
    squared, norm, larger = kernels()
    lib = library()
    shown = {
        inner(): "(a, b, out=None)",
        squared: "(x: T, y: T, z: T = ..., /, *, out=None, size=None, dtype=None, stream=None, "
        "block_size=None)",
        norm: "(x: T, y: T = ..., /, *, axis=None, keepdims=False, out=None, dtype=None, stream=None)",
        larger: "(x: T, y: T, out=None) -> T",
        graph(): "(x, y)",
        lib.hypot: "(x: float, y: float = 4.0) -> float",
        lib.any: "(*args, **kwargs)",
        lib.interface("one", [lib.abs, lib.function("long labs(long x)")]): "(x)",
    }
    assert {each: str(inspect.signature(each)) for each in shown} == shown
    odd = cwrapjit.ElementwiseKernel("T lambda, T out", "T is", "is = lambda + out", "odd")
    names = "(lambda_: T, out_: T, is_: T = ..., /, *, out=None, size=None, dtype=None, "
    assert str(inspect.signature(odd)).startswith(names)
    for each in (
        cwrapjit.ElementwiseKernel,
        cwrapjit.ReductionKernel,
        cwrapjit.library,
        cwrapjit.module,
        Dispatch,
    ):
        assert "self" not in inspect.signature(each).parameters
    for function in (cwrapjit.function, cwrapjit.link, cwrapjit.vectorize, cwrapjit.show_config):
        assert inspect.signature(function).parameters


@pytest.mark.row("U04")
def test_help_and_dir_tell_what_there_is() -> None:
    squared, norm, larger = kernels()
    lib, k, f = library(), graph(), inner()
    for each in (f, squared, norm, larger, lib, k, lib.hypot, lib.any, cwrapjit.Function, cwrapjit.module):
        assert pydoc.render_doc(each)
    assert "Inner product" in pydoc.getdoc(f)
    assert {"explain", "wait", "tier", "source", "__name__"} <= set(dir(f))
    assert {"abs", "hypot", "mapped", "unmapped"} <= set(dir(lib))
    m = cwrapjit.module("lib")
    m.function("g", signature="-> output()", Ccode_slice_eval={float: "return 1;"})
    assert {"g", "function", "write", "register"} <= set(dir(m))
    for public in cwrapjit.__all__:
        if not public.startswith("__"):
            assert getattr(cwrapjit, public).__doc__, public


def test_what_is_long_is_cut_where_lines_end() -> None:
    assert page.text("x" * 1000) == "x" * 297 + "..."
    assert "and 2 more lines" in ctext.view("y" * (ctext.MOST_LETTERS - 5) + "\nsecond\nthird")
    assert graphs.MOST_DRAWN < 1000
