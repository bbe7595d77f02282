"""Tests objections of the system's compiler: users get a warning at the next call, and tier_error."""

from __future__ import annotations

import gc
import pathlib
import shutil
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from graph_types import CHECKED, FilledOp, Template, TemplateOp, double
from helpers import compiler, eventually, python, refuses, wrap

import cwrapjit
import cwrapjit.graph as cg

# What libtcc accepts as a double (most is rejected earlier, test_misread.py), and the line of the warning.
WRONG = {
    "a string": ('double v = (double)"abc";', 1),
    "a string, assigned": ('double v;\n  v = (double)"abc";', 2),
    "a struct, to a member": ("struct pair { double a, b; } p = {1, 2};\nstruct pair q; q.a = p;", 2),
    "a struct, to an item": (
        "#define SET(v) item__output() = v\nstruct pair { double a, b; } p = {1, 2};\n\n\tSET(p);",
        4,
    ),
    "a pointer": ("double v = (double)&item__output();", 1),
    "a pointer, to an item": ("/* first */ item__output() = (double)(char *)data_slice__output;", 1),
    "an array": ("double w[2] = {1, 2};\ndouble v = (double)w;", 2),
    "an argument": ('double (*root)(double) = sqrt;\ndouble v = root("abc");', 2),
}


@pytest.fixture(autouse=True)
def needs_a_compiler() -> None:
    compiler()


def told(call: Callable[[], Any]) -> list[Any]:
    """Returns the CompileWarnings of a call; other warnings are errors."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("error")
        warnings.simplefilter("always", cwrapjit.CompileWarning)
        call()
    return [each.message for each in caught]


def eventually_told(call: Callable[[], Any]) -> list[Any]:
    """Repeats a call until it warns, and returns the warnings. The first call starts the compiler."""
    found: list[Any] = []
    eventually(lambda: bool(found.extend(told(call)) or found))
    return found


def wrong(text: str = 'double v = (double)"abc";', **options: Any) -> Any:
    return wrap(((),), (), text + "\nif (item__a() > 0) item__output() = 1;\nreturn true;", **options)


def check_place(warning: Any, file: str, line: int, text: str) -> None:
    assert type(warning) is cwrapjit.CompileWarning
    assert (warning.filename, warning.lineno, warning.text) == (file, line, text)
    assert 1 <= warning.offset <= len(text)
    assert str(warning).startswith(warning.msg) and len(warning.msg) > 10


# ---- functions -----------------------------------------------------------------------------------


@pytest.mark.row("G13")
@pytest.mark.parametrize("kind", WRONG)
def test_a_value_of_a_wrong_kind_is_told_at_the_next_call(kind: str) -> None:
    text, line = WRONG[kind]
    f = wrong(text)
    assert told(lambda: f(1.0)) == [] and f.tier_error is None, "nobody has asked the compiler yet"
    assert f.wait() is False and f.tier == "tcc"
    (warning,) = told(lambda: f(1.0))
    check_place(warning, "<cwrapjit t.f float64>", line, text.split("\n")[line - 1])
    assert told(lambda: f(1.0)) == [], "once is enough"
    error = f.tier_error
    assert type(error) is cwrapjit.CompileError and error.msg == warning.msg
    assert (error.filename, error.lineno, error.offset, error.text) == (
        warning.filename, line, warning.offset, warning.text,
    )  # fmt: skip
    assert f.wait() is False and told(lambda: f(1.0)) == [], "and nobody tries again"


@pytest.mark.row("G13")
def test_it_is_told_of_the_text_as_it_is_written() -> None:
    """The warning shows the user's text, not the one with hidden divisors (tinyjit/read/divisors.h)."""
    found = []
    for sign in "*/%-+":
        text = f'int i = 0 {sign} (int)item__a(); double v = (double)"abc" + i;'
        f = wrong(text)
        f.wait()
        (warning,) = told(lambda f=f: f(1.0))
        check_place(warning, "<cwrapjit t.f float64>", 1, text)
        found.append((warning.offset, warning.msg))
    assert len(set(found)) == 1


@pytest.mark.row("G13")
def test_texts_that_run_once_per_call_are_looked_at_too() -> None:
    f = wrap(
        ((),),
        (),
        "item__output() = item__a() + helper(1); return true;",
        header='static double helper(double x) {\n    double v = (double)"header"; return x + 0 * v; }',
        Ccode_validate='double v =\n (double)"validate"; return v < 1e300;',
        Ccode_cookie_struct="double r;",
        Ccode_cookie_cleanup='\n\ncookie->r = "cleanup";',
        extra_args=(("double", "k", '"default"', "d"),),
    )
    f.wait()
    found = {each.filename: (each.lineno, each.text) for each in told(lambda: f(1.0))}
    assert found == {
        "<cwrapjit t header>": (2, '    double v = (double)"header"; return x + 0 * v; }'),
        "<cwrapjit t.f validate>": (2, ' (double)"validate"; return v < 1e300;'),
        "<cwrapjit t.f cleanup>": (3, 'cookie->r = "cleanup";'),
        "<cwrapjit t.f default of k>": (1, '("default"'),
    }
    errors = f.tier_error.errors
    assert {each.filename for each in errors} == set(found) and errors[0].msg in f.tier_error.msg


@pytest.mark.row("G13")
def test_it_is_told_before_the_loop_runs_and_breaks_nothing() -> None:
    f = wrong("double v = item__a(); v += (double)&v * 0;")
    f.wait()
    out, x = np.zeros(3), np.ones(3)
    before = sys.getrefcount(out), sys.getrefcount(x), sys.getrefcount(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(cwrapjit.CompileWarning, match=r"pointer") as caught:
            f(x, out=out)
        assert caught.value.filename == "<cwrapjit t.f float64>"
        assert out.tolist() == [0, 0, 0], "no slice has run"
        assert f(x, out=out) is out and out.tolist() == [1, 1, 1]
    del caught
    assert (sys.getrefcount(out), sys.getrefcount(x), sys.getrefcount(f)) == before
    gone = weakref.ref(f)
    del f
    gc.collect()
    assert gone() is None


@pytest.mark.row("G13")
def test_hot_functions_and_eager_ones_tell_by_themselves() -> None:
    f, x = wrong(), np.ones(10000)
    assert [each.lineno for each in eventually_told(lambda: f(x))] == [1]
    assert told(lambda: f(x)) == [] and f.tier == "tcc"
    made: list[Any] = []
    assert told(lambda: made.append(wrong(optimize="eager"))) == []
    assert len(told(lambda: made[0](1.0))) == 1


@pytest.mark.row("G13")
def test_one_of_many_threads_tells_and_may_call_the_function() -> None:
    f = wrong()
    f.wait()
    seen: list[Any] = []
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *rest: seen.append((message, f(1.0)))  # type: ignore[assignment]
        threads = [threading.Thread(target=f, args=(1.0,)) for _ in range(8)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    assert [(type(each), value) for each, value in seen] == [(cwrapjit.CompileWarning, 1)]


@pytest.mark.row("G13")
def test_code_that_was_dropped_tells_nobody() -> None:
    def drop() -> None:
        for _ in range(3):
            f = wrong(f"/* {time.monotonic_ns()} */ double v = (double)&item__output();")
            f(np.ones(100000))
            f.wait(0)
            del f

    assert told(drop) == []


# ---- other reasons to stay in the tcc tier -------------------------------------------------------


def plain(text: str = "", **options: Any) -> Any:
    return wrap(((),), (), text + "item__output() = item__a(); return true;", **options)


@pytest.mark.row("G13")
def test_nothing_is_wrong() -> None:
    f = plain()
    assert f.tier_error is None
    assert f.wait() and f.tier == "cc" and f.tier_error is None
    off = wrong(optimize="off")
    assert off.wait() is False and off.tier_error is None and told(lambda: off(1.0)) == []
    f = plain("static int count; count++; ")
    assert f.wait() is False and type(f.tier_error) is RuntimeError
    assert "data that it may write" in str(f.tier_error) and told(lambda: f(1.0)) == []


@pytest.mark.plain("its compiler is one of its own, sanitizers choose another")
@pytest.mark.row("G13")
def test_what_the_compiler_says_is_asked_for_in_english(
    cc: Callable[[str], pathlib.Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("LANGUAGE", "de:fr")
    cc('echo "language: $LC_ALL, ${LANGUAGE-none}; $(grep -zc ^LC_ALL= /proc/$$/environ)" >&2; exit 1')
    f = plain()
    f.wait()
    assert "language: C, none; 1" in str(f.tier_error)


WITHOUT = """
import os, sys
os.environ["PATH"] = "/nowhere"
os.environ.pop("CC", None); os.environ.pop("CWRAPJIT_CC", None)
sys.modules["ziglang"] = None
import numpy as np, warnings
warnings.simplefilter("error")
import cwrapjit
import cwrapjit.graph as cg
f = cwrapjit.function("f", "", signature="a() -> b()",
    Ccode_slice_eval={np.float64:
        'double v = (double)"a"; item__b() = 2 * item__a() + 0 * (v > 0); return true;'})
x = np.ones(100000)
for _ in range(30):
    assert f(x).sum() == 2e5
assert (f.wait(), f.tier) == (False, "tcc")
assert type(f.tier_error) is RuntimeError and "none of cc, gcc, clang is in PATH" in str(f.tier_error)
a = cg.float64("a")
g = cwrapjit.link([a], a * a)
for _ in range(2000):
    assert g(3.0) == 9
assert (g.wait(), g.tier) == (False, "tcc") and "none of cc" in str(g.tier_error)
"""


@pytest.mark.row("N05")
def test_auto_without_any_compiler() -> None:
    assert python(WITHOUT).stderr == ""


# ---- graphs --------------------------------------------------------------------------------------


def wrong_op(text: str = 'double v = (double)"abc";', **options: Any) -> FilledOp:
    """Returns an op with a unique text."""
    return FilledOp(f"{{z}} = {{x}};\n{text} /* {time.monotonic_ns()} */", name="Wrong", **options)


def linked(op: Any, **options: Any) -> Any:
    x = double("x")
    return cwrapjit.link([x], op(x), **options)


@pytest.mark.row("G13")
@pytest.mark.parametrize("options", [{}, {"mode": "function"}, {"per_op": True}], ids=str)
def test_graphs_tell_at_the_next_run(options: dict[str, Any]) -> None:
    g = linked(wrong_op(), **options)
    assert told(lambda: g(1.0)) == [] and g.tier_error is None
    assert g.wait() is False
    (warning,) = told(lambda: g(1.0))
    assert warning.filename.startswith("<cwrapjit FilledOp.c_code of ")
    assert warning.lineno == 2 and 'double v = (double)"abc";' in warning.text
    error = g.tier_error
    assert type(error) is cwrapjit.CompileError
    assert (error.filename, error.lineno) == (warning.filename, 2)
    assert told(lambda: g(1.0)) == [] and g.tier == "tcc"


@pytest.mark.row("G13")
def test_graphs_of_templates_tell_too() -> None:
    strange = Template(extract=CHECKED + "\n%(name)s = (double)&%(name)s;")
    x, op = strange("x"), TemplateOp((("x",), ("z",)), code="%(z)s = %(x)s;")
    g = cwrapjit.link([x], op(x))
    g.wait()
    (warning,) = told(lambda: g(1.0))
    assert warning.lineno == 3 and "V1_x = (double)&V1_x;" in warning.text


@pytest.mark.row("G13")
def test_every_way_to_run_a_graph_tells() -> None:
    def tells(begin: Callable[[Any], Callable[[], Any]]) -> list[Any]:
        g = linked(wrong_op())
        run = begin(g)
        assert told(run) == []
        g.wait()
        return [told(run), told(run)]

    storages = ([1.0], [None])
    for begin in (
        lambda g: lambda: g(1.0),
        lambda g: lambda: g.once(*storages),
        lambda g: (g.cells[0].__setitem__(0, 1.0), g.run)[1],
        lambda g: g.bind(*storages).run,
    ):
        first, second = tells(begin)
        assert len(first) == 1 and second == []


@pytest.mark.quick
@pytest.mark.row("G13")
def test_a_graph_tells_before_its_steps_run_and_breaks_nothing() -> None:
    g = linked(wrong_op("double v = (double)&{x}; {z} = 2 * {x};"))
    g.cells[0][0] = 1.0
    assert g.run() == 0
    g.wait()
    g.cells[1][0] = None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert g.run() == -1 and type(g.error) is cwrapjit.CompileWarning
        assert g.cells[1][0] is None, "no step has run"
        assert g.run() == 0 and g.cells[1][0] == 2
    other = linked(wrong_op("double v = (double)&{x};"))
    other.wait()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(cwrapjit.CompileWarning):
            other(1.0)
        assert other(2.0) == 2


@pytest.mark.row("G13")
def test_graphs_with_one_code_tell_once() -> None:
    op = wrong_op(version=(1,))
    typed = type("Versioned", (type(double),), {"c_code_cache_version": lambda self: (1,)})()
    x = typed("x")
    one, other = cwrapjit.link([x], op(x)), cwrapjit.link([x], op(x))
    assert one.wait() is False and other.wait() is False
    assert len(told(lambda: (one(1.0), other(1.0)))) == 1
    assert one.tier_error.msg == other.tier_error.msg
    hot = linked(wrong_op())
    assert len(eventually_told(lambda: [hot(1.0) for _ in range(1000)])) == 1


@pytest.mark.quick
@pytest.mark.row("G13")
def test_why_else_a_graph_stays() -> None:
    good = linked(FilledOp("{z} = 2 * {x};"))
    assert good.wait() and good.tier == "cc" and good.tier_error is None
    counts = linked(FilledOp("static int n; n++; {z} = {x};"))
    assert counts.wait() is False and "data that it may write" in str(counts.tier_error)
    assert type(counts.tier_error) is RuntimeError
    off = linked(wrong_op(), optimize="off")
    assert off.wait() is False and off.tier_error is None and told(lambda: off(1.0)) == []


# ---- sources and libraries -------------------------------------------------------------------------

SOURCE = """\
double twice(double x)
{
    double v = (double)"abc";
    return 2 * x + 0 * (v > 3);
}
"""


def write(folder: pathlib.Path, text: str, name: str = "source.c") -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


@pytest.mark.row("G13")
@pytest.mark.parametrize("kind", ["source", "header"])
def test_the_text_of_a_library_is_looked_at(kind: str, tmp_path: pathlib.Path) -> None:
    if kind == "source":
        file = write(tmp_path, SOURCE)
        lib = cwrapjit.library("lib", sources=[file])
        twice = lib.function("double twice(double x)")
    else:
        file = "<cwrapjit lib header>"
        header = "static " + SOURCE
        lib = cwrapjit.library("lib", sources=[write(tmp_path, "double half(double x) { return x / 2; }")],
                               header=header)  # fmt: skip
        twice = lib.function("double half(double x)")
    assert twice.tier_error is None, "no call, no question"
    (warning,) = eventually_told(lambda: twice(1.0))
    check_place(warning, file, 3, '    double v = (double)"abc";')
    assert told(lambda: twice(1.0)) == []
    error = twice.tier_error
    assert type(error) is cwrapjit.CompileError
    assert (error.filename, error.lineno, error.msg) == (file, 3, warning.msg)


@pytest.mark.row("G13")
def test_a_library_tells_once_and_goes_on(tmp_path: pathlib.Path) -> None:
    path = write(tmp_path, SOURCE + "double thrice(double x) { return 3 * x; }")
    lib = cwrapjit.library("lib", sources=[path])
    twice, thrice = lib.function("double twice(double x)"), lib.function("double thrice(double x)")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        end = time.monotonic() + 600
        with pytest.raises(cwrapjit.CompileWarning) as caught:
            while time.monotonic() < end:
                assert thrice(1.0) == 3
        assert caught.value.lineno == 3
        assert thrice(2.0) == 6 and twice(2.0) == 4 and thrice(3.0) == 9
    assert type(twice.tier_error) is type(thrice.tier_error) is cwrapjit.CompileError
    gone = weakref.ref(thrice)
    del caught, thrice, twice, lib
    gc.collect()
    assert gone() is None


@pytest.mark.quick
@pytest.mark.row("G13")
def test_libraries_with_nothing_to_tell(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, cc: Callable[[str], pathlib.Path]
) -> None:
    foreign = cwrapjit.library("m", libraries=["m"]).function("double hypot(double x, double y)")
    assert foreign(3.0, 4.0) == 5 and foreign.tier_error is None
    path = write(tmp_path, SOURCE)
    monkeypatch.setenv("CWRAPJIT_OPTIMIZE", "off")
    twice = cwrapjit.library("lib", sources=[path]).function("double twice(double x)")
    assert twice(2.0) == 4 and twice.tier_error is None, "nobody is to be asked"
    monkeypatch.setenv("CWRAPJIT_OPTIMIZE", "auto")
    monkeypatch.setattr(cwrapjit.config, "compiler", "/no/such/cc")
    twice = cwrapjit.library("lib", sources=[path]).function("double twice(double x)")
    assert twice(2.0) == 4 and "/no/such/cc" in str(twice.tier_error), "nobody can be asked"
    monkeypatch.setattr(cwrapjit.config, "compiler", None)
    cc("echo 'not today' >&2; exit 1")
    twice = cwrapjit.library("lib", sources=[path]).function("double twice(double x)")
    end = time.monotonic() + 600
    while twice.tier_error is None and time.monotonic() < end:
        assert told(lambda: twice(2.0)) == []
    assert type(twice.tier_error) is RuntimeError and "not today" in str(twice.tier_error)


@pytest.mark.quick
@pytest.mark.row("G13")
def test_a_folder_may_change_and_a_source_may_go(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, SOURCE)
    (tmp_path / "elsewhere").mkdir()
    lib = cwrapjit.library("lib", sources=["source.c"])
    twice = lib.function("double twice(double x)")
    monkeypatch.chdir(tmp_path / "elsewhere")
    (warning,) = eventually_told(lambda: twice(1.0))
    assert (warning.filename, warning.lineno) == (str(tmp_path / "source.c"), 3)
    monkeypatch.chdir(tmp_path)
    other = cwrapjit.library("lib", sources=["source.c"])
    (tmp_path / "source.c").unlink()
    refuses(RuntimeError, other.diagnose, "lib.diagnose()", "source.c")
    assert other.function("double twice(double x)")(1.0) == 2


# ---- diagnose() --------------------------------------------------------------------------------------


def said(found: Any) -> list[tuple[str, int, str]]:
    """Returns file, line and text of each warning."""
    assert all(type(each) is cwrapjit.CompileWarning and str(each) == each.msg for each in found)
    return sorted((each.filename, each.lineno, each.text.strip()) for each in found)


@pytest.mark.quick
@pytest.mark.row("U18")
def test_diagnose_finds_what_compilers_find() -> None:
    text = """
    int u, n = dims_slice__a[0];
    double w, best;
    if (item__b() > 3)
        u = 3;
    for (int i = 0; i < n; i++)
        if (i > 0)
            best = item__a(i);
    printf("%s\\n", 3);
    item__c() = u +
        w +
        best;
    return true;"""
    f = cwrapjit.function("f", "", signature="a(n), b() -> c()", Ccode_slice_eval={np.float64: text})
    found = f.diagnose()
    by_line = {each.lineno: each for each in found}
    lines = text.split("\n")
    assert all(each.filename == "<cwrapjit f float64>" for each in found)
    assert all(each.text == lines[each.lineno - 1] for each in found)
    assert "%s" in by_line[9].msg
    words = " ".join(each.msg for each in found if "uninitialized" in each.msg)
    assert {name for name in ("u", "w", "best") if f"'{name}'" in words} == {"u", "w", "best"}
    assert len(found) == 4
    assert f.tier == "tcc" and f.tier_error is None, "nothing but a look"
    (found,) = wrong('\ndouble v = (double)"abc";\nitem__output() = v;').diagnose()
    check_place(found, "<cwrapjit t.f float64>", 2, 'double v = (double)"abc";')


@pytest.mark.row("U18")
def test_diagnose_looks_at_all_texts_and_silences_ours() -> None:
    f = wrap(
        (("n",), ()),
        ("n",),
        {
            np.float64: "for (int i = 0; i < dims_slice__a[0]; i++) item__output(i) = *k; return true;",
            np.int32: "int never; if (item__b() > 1) return true; return false;",
        },
        header="static double unused(double x) { int nothing; return x; }\nstatic int also_unused;",
        Ccode_validate='fprintf(stderr, "%d", 1.5); return true;',
        Ccode_cookie_struct="double r;",
        Ccode_cookie_cleanup="\nint forgotten;",
        extra_args=(("double", "k", "1", "d"), ("double", "l", "1", "d")),
    )
    assert said(f.diagnose()) == [
        ("<cwrapjit t header>", 1, "static double unused(double x) { int nothing; return x; }"),
        ("<cwrapjit t.f cleanup>", 2, "int forgotten;"),
        ("<cwrapjit t.f int32>", 1, "int never; if (item__b() > 1) return true; return false;"),
        ("<cwrapjit t.f validate>", 1, 'fprintf(stderr, "%d", 1.5); return true;'),
    ]


@pytest.mark.quick
@pytest.mark.row("U18")
def test_diagnose_is_empty_when_all_is_well_and_none_without_a_compiler(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    f = wrap((("n",), ()), ("n",), "item__output(0) = item__a(0) + item__b(); return true;")
    g = linked(FilledOp("{z} = 2 * {x};"))
    x, y = cg.float64("x"), cg.ndarray("float64", 2)("y")
    ready = cwrapjit.link([x, y], cg.deep_copy(y * x + cg.view(y)))
    lib = cwrapjit.library("lib", sources=[write(tmp_path, "double twice(double x) { return 2 * x; }")])
    foreign = cwrapjit.library("m", libraries=["m"])
    for each in (f, g, ready, lib, foreign):
        assert each.diagnose() == []
    monkeypatch.setattr(cwrapjit.config, "compiler", "/no/such/cc")
    for each in (f, g, ready, lib, foreign):
        assert each.diagnose() is None


@pytest.mark.row("U18")
@pytest.mark.parametrize("options", [{}, {"mode": "function"}, {"per_op": True}], ids=str)
def test_diagnose_of_graphs(options: dict[str, Any]) -> None:
    g = linked(FilledOp('int u;\nif ({x} > 1) u = 2;\n{z} = u;\nprintf("%s", 1);'), **options)
    assert said(g.diagnose()) == [
        ("<cwrapjit FilledOp.c_code of V2>", 3, "V2 = u;"),
        ("<cwrapjit FilledOp.c_code of V2>", 4, 'printf("%s", 1);'),
    ]


@pytest.mark.row("U18")
def test_diagnose_of_libraries(tmp_path: pathlib.Path) -> None:
    one = write(tmp_path, "int f(int x)\n{\n    switch (x) {\n    case 1: return 2;\n    }\n}\n", "one.c")
    other = write(
        tmp_path, '#include <stdio.h>\nint g(int x)\n{\n    return printf("%s", x);\n}\n', "other.c"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cwrapjit.CompileWarning)  # of libtcc
        lib = cwrapjit.library(
            "lib", sources=[one, other], header="static inline int h(void)\n{ int u; return u; }"
        )
    assert said(lib.diagnose()) == [
        (one, 6, "}"),
        (other, 4, 'return printf("%s", x);'),
        ("<cwrapjit lib header>", 2, "{ int u; return u; }"),
    ]


# ---- faults about which old compilers only warn --------------------------------------------------------

# Faults in an included file, where libtcc warns or says nothing.
LENIENT = {
    "implicit int": "static const v = 2.5;",
    "pasted": "#define PASTE(a, b) a##b\nPASTE(con, st) v = 2.5;",
    "a pointer for a number": 'static const int v = (int)1.5; static int w(void) { return "abc"; }',
    "a pointer of another type": "static const int v = 2; static const double *w(void) { return &v; }",
}


@pytest.mark.row("G13")
@pytest.mark.parametrize("kind", LENIENT)
def test_what_computes_something_else_in_an_included_file_is_told(kind: str, tmp_path: pathlib.Path) -> None:
    path = write(tmp_path, "\n" + LENIENT[kind], "lenient.h")
    line = LENIENT[kind].count("\n") + 2
    header = f'#include "{path}"'
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cwrapjit.CompileWarning)  # of libtcc
        f = wrap(((),), (), "item__output() = v * item__a(); return true;", header=header)
        source = write(tmp_path, f"{header}\ndouble scaled(double x) {{ return v * x; }}\n")
        scaled = cwrapjit.library("lib", sources=[source]).function("double scaled(double x)")
    assert f.wait() is False and len(told(lambda: f(1.0))) == 1
    error = f.tier_error
    assert type(error) is cwrapjit.CompileError and (error.filename, error.lineno) == (path, line)
    (warning,) = eventually_told(lambda: scaled(1.0))
    assert (warning.filename, warning.lineno) == (path, line)


@pytest.mark.row("G13")
@pytest.mark.parametrize("which", ["gcc", "clang"])
def test_systems_headers_and_const_are_not_hit(which: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which(which) is None:
        pytest.skip(f"no {which}")
    monkeypatch.setattr(cwrapjit.config, "compiler", which)
    headers = "stdlib stdio math pthread signal sys/stat unistd wchar".split()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cwrapjit.CompileWarning)  # of libtcc
        f = wrap(((),), (), "const double c = item__a(); double *p = &c; item__output() = *p; return true;",
              header="".join(f"#include <{each}.h>\n" for each in headers))  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert f.wait() and f.tier == "cc" and f.tier_error is None and f(2.0) == 2


# ---- debug=True -----------------------------------------------------------------------------------------


@pytest.mark.quick
@pytest.mark.row("G13", "G03")
def test_functions_that_are_debugged_tell() -> None:
    f = wrong(debug=True)
    assert f.tier_error is None and told(lambda: f(1.0)) == []
    assert f.wait() is False and f.tier == "tcc"
    (warning,) = told(lambda: f(1.0))
    check_place(warning, "<cwrapjit t.f float64>", 1, 'double v = (double)"abc";')
    assert type(f.tier_error) is cwrapjit.CompileError and f.tier_error.msg == warning.msg
    assert told(lambda: f(1.0)) == []
    called = wrong(debug=True)
    assert len(eventually_told(lambda: called(1.0))) == 1, "the first call asks"
    good = plain(debug=True)
    assert good.wait() is False and good.tier == "tcc" and good.tier_error is None
    assert told(lambda: good(1.0)) == [] and good(2.0) == 2
    off = wrong(debug=True, optimize="off")
    assert off.wait() is False and told(lambda: off(1.0)) == [] and off.tier_error is None


@pytest.mark.row("G13", "G03")
@pytest.mark.parametrize("options", [{}, {"mode": "function"}, {"per_op": True}], ids=str)
def test_graphs_that_are_debugged_tell(options: dict[str, Any]) -> None:
    g = linked(wrong_op(), debug=True, **options)
    assert g.tier_error is None and told(lambda: g(1.0)) == []
    assert g.wait() is False and g.tier == "tcc"
    (warning,) = told(lambda: g(1.0))
    assert warning.lineno == 2 and type(g.tier_error) is cwrapjit.CompileError
    assert told(lambda: g(1.0)) == []
    good = linked(FilledOp("{z} = 2 * {x};"), debug=True)
    assert good.wait() is False and good.tier_error is None and told(lambda: good(1.0)) == []
    off = linked(wrong_op(), debug=True, optimize="off")
    assert off.wait() is False and told(lambda: off(1.0)) == [] and off.tier_error is None


@pytest.mark.quick
@pytest.mark.row("G13", "G03")
def test_debugging_without_a_compiler() -> None:
    text = (
        WITHOUT.split("f = cwrapjit")[0]
        + """
f = cwrapjit.function("f", "", signature="a() -> b()", debug=True,
    Ccode_slice_eval={np.float64: "item__b() = 2 * item__a(); return true;"})
a = cg.float64("a")
g = cwrapjit.link([a], a * a, debug=True)
for _ in range(3):
    assert (f(2.0), g(3.0)) == (4, 9)
assert (f.wait(), g.wait(), f.tier_error, g.tier_error) == (False, False, None, None)
"""
    )
    assert python(text).stderr == ""


@pytest.mark.row("G13")
@pytest.mark.parametrize("debug", [False, True])
def test_waiting_waits_for_what_is_said_of_the_sources(debug: bool, tmp_path: pathlib.Path) -> None:
    path = write(tmp_path, SOURCE)
    f = wrap(((),), (), "item__output() = twice(item__a()); return true;", sources=[path],
          header="double twice(double x);", debug=debug)  # fmt: skip
    assert f.wait() is not debug and f.tier == ("tcc" if debug else "cc")
    (warning,) = told(lambda: f(1.0))
    check_place(warning, path, 3, '    double v = (double)"abc";')
    assert told(lambda: f(1.0)) == [] and f.tier_error is None, "the function's own text is good"
