"""Tests pickles and copies: they give back the same function, made of the same C text."""

from __future__ import annotations

import copy
import gc
import pathlib
import pickle
import random
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import leaks
import numpy as np
import pytest
from helpers import INNER, OUTER, python, refuses, wrap

import cwrapjit
import cwrapjit.graph as cg
from cwrapjit import _travel

AGAIN = """
import pickle, sys
import numpy as np
import cwrapjit
text = "double twice(double x) { return 2 * x; }"
module = cwrapjit.module("m", "")
body = "item__y() = 2 * item__x(); return true;"
module.function("f", signature="x() -> y()", Ccode_slice_eval={np.float64: body})
library = cwrapjit.library("t", source=text + "double of(const double *x) { return 2 * *x; }")
things = [
    cwrapjit.vectorize(text), cwrapjit.vectorize(text.replace("double", "T")), module.f,
    library.twice, module, library,
    cwrapjit.ElementwiseKernel("T x", "T y", "y = 2 * x"), library.of,
    cwrapjit.ReductionKernel("T x", "T y", "2 * x", "a + b", "y = a", "0"),
]
for name in [name for name in sys.modules if name.partition(".")[0] == "cwrapjit"]:
    del sys.modules[name]
import cwrapjit as again
assert again.Function is not type(things[0])
for k, thing in enumerate(things):
    made = pickle.loads(pickle.dumps(thing))
    made = {4: lambda: made.f, 5: lambda: made.twice}.get(k, lambda: made)()
    if k != 7:
        assert float(made(np.array([3.0]))[0] if k != 8 else made(np.array([3.0]))) == 6
assert type(pickle.loads(pickle.dumps(things[0]))) is again.Function
assert pickle.loads(pickle.dumps(again.vectorize(text)))(4.0) == 8
"""


GRAPHS_AGAIN = """
import pickle, sys
import numpy as np
import cwrapjit, cwrapjit.graph as cg
class Own(cg.COp):  # a class of the user's, of the same name after the import
    def make_node(self, x):
        return cg.Apply(self, [x], [cg.float64("y")])
    def c_code(self, node, name, inputs, outputs, sub):
        return f"{outputs[0]} = 2 * {inputs[0]};"
x, v = cg.float64("x"), cg.ndarray("float64", 1)("v")
kinds = [
    x, 2 * x, cg.Constant(cg.float64, 2.0), cg.In(v, mutable=True), (2 * x).owner, cg.ndarray("float64", 1),
    cg.EnumList("A", ("B", "beta"), ctype="int"), cg.ParamsType(a=cg.float64, v=cg.ndarray("float64", 1)),
    cg.Params(cg.ParamsType(a=cg.float64), a=2.0),
    cg.Generic(), cg.CDataType("void *"),
]
graphs = [
    cwrapjit.link([x], 2 * x), cwrapjit.link([cg.In(v, mutable=True)], v + v), cwrapjit.link([x], Own()(x)),
    cwrapjit.link([v], cg.deep_copy(v + v)),
]
for name in [name for name in sys.modules if name.partition(".")[0] == "cwrapjit"]:
    del sys.modules[name]
import cwrapjit as again, cwrapjit.graph
for thing in kinds:
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        made = pickle.loads(pickle.dumps(thing, protocol))
        assert type(made) is getattr(sys.modules[type(thing).__module__], type(thing).__qualname__), thing
        assert type(made) is not type(thing)
for k, graph in enumerate(graphs):
    if k == 2:  # its class is of the package as it was
        pickle.dumps(graph)
        continue
    made = pickle.loads(pickle.dumps(graph))
    assert type(made) is again.graph.Graph
    assert made(3.0 if k == 0 else np.array([3.0])) == 6
made = pickle.loads(pickle.dumps([x, 2 * x]))
assert again.link(made[:1], made[1] + 1.0)(3.0) == 7
"""


def test_what_an_earlier_import_of_the_package_made() -> None:
    python(AGAIN)


@pytest.mark.quick
def test_graphs_of_an_earlier_import_of_the_package() -> None:
    python(GRAPHS_AGAIN)


RECORD = np.dtype([("a", "f8"), ("b", "i4", (2,))], align=True)
SEVEN = np.arange(7.0)


def make_inner() -> Any:
    return wrap((("n",), ("n",)), (), INNER)


def make_several_types() -> Any:
    bodies = {
        np.float64: "item__output() = item__a() + item__b(); return true;",
        (np.int32, "f4", "g"): "item__output() = item__a() - item__b(); return true;",
    }
    return wrap(((), ()), (), bodies, doc="adds, or subtracts", cast="safe", threads=2, optimize="off")


def make_extras() -> Any:
    extras = (("double", "scale", "1.5", "d"), ["const char *", "word", "NULL", "z"])
    code = "item__output() = *scale * item__a() + (word != NULL); return true;"
    return wrap(((),), (), code, extra_args=extras)


def make_cookie() -> Any:
    return wrap(
        (("n",),), (), "item__output() = cookie->n; return true;",
        Ccode_cookie_struct="int n;", Ccode_validate="cookie->n = (int)dims_slice__a[0]; return true;",
        Ccode_cookie_cleanup="cookie->n = 0;", cookie="readonly",
    )  # fmt: skip


def make_two_outputs() -> Any:
    code = "item__lo() = item__a(0); item__hi() = item__a(1); return true;"
    return cwrapjit.function("ends", "both", signature="a(2) -> lo(), hi()", Ccode_slice_eval={float: code})


def make_windows() -> Any:
    code = "item__output() = item__a(0) + item__a(2); return true;"
    return cwrapjit.function(
        "sides", signature="a() -> output()", Ccode_slice_eval={"f8": code}, windows={"a": (3,)},
        border={"a": "constant"}, cval=np.float32(0.5),
    )  # fmt: skip


def make_output_dims() -> Any:
    code = "for (int i = 0; i < dims_slice__output[0]; i++) item__output(i) = i; return true;"
    return cwrapjit.function(
        "ramp", signature="a(n) -> output(m)", output_dims={"m": "2*n + 1"}, Ccode_slice_eval={"f8": code}
    )


def make_structs_and_dates() -> Any:
    sets = {
        (RECORD, "f8"): "item__output() = item__a().a + item__a().b[1]; return true;",
        ("M8[ns]", "f8"): "item__output() = (double)item__a(); return true;",
        ("m8", "f8"): "item__output() = (double)item__a(); return true;",
    }
    return wrap(((),), (), sets)


def make_reduction() -> Any:
    return wrap(((), ()), (), "item__output() = item__a() * item__b(); return true;", identity=1.0,
                associative=True, unordered=True)  # fmt: skip


def make_vectorized() -> Any:
    text = "#include <math.h>\ndouble hypotenuse(double x, double y) { return sqrt(x * x + y * y); }"
    return cwrapjit.vectorize(text, doc="long side", fastmath=True, define_macros=["UNUSED=1"])


def make_inplace() -> Any:
    code = "item__a() += N; item__output() = item__a(); return true;"
    return cwrapjit.function(
        "more", args_input=("a",), prototype_input=((),), prototype_output=(), Ccode_slice_eval={"f8": code},
        define_macros=[("N", "3")], args_inout=("a",), gil=False,
    )  # fmt: skip


def make_elementwise() -> Any:
    return cwrapjit.ElementwiseKernel("T x, raw T y", "T z", "z = x + y[i] * A", "by_a", options=["-DA=3"])


def make_kernel_reduction() -> Any:
    texts = ("T x", "T y", "x * x", "a + b", "y = a", "0")
    return cwrapjit.ReductionKernel(*texts, "squares", preamble="// own")


# How to make a kernel or the like, and to call it; these lack some attributes of functions.
KERNELS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "elementwise": (make_elementwise, lambda f: [f(SEVEN, SEVEN), f(np.arange(4), np.arange(4))]),
    "reduction": (make_kernel_reduction, lambda f: [f(SEVEN), f(np.ones((2, 3), "f4"), axis=1)]),
    "any T": (
        lambda: cwrapjit.vectorize("T twice(T x) { return 2 * x; }", name="double_of", optimize="off"),
        lambda f: [f(SEVEN), f(np.arange(3, dtype="i2"))],
    ),
}

# How to make a function, and to call it.
DEFINITIONS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "inner": (make_inner, lambda f: f(SEVEN, SEVEN[::-1])),
    "outer": (lambda: wrap((("n",), ("m",)), ("n", "m"), OUTER), lambda f: f(SEVEN, SEVEN[:2])),
    "types": (make_several_types, lambda f: [f(SEVEN, 2.0), f(np.int32(4), np.ones(2, "f4"))]),
    "extras": (make_extras, lambda f: [f(SEVEN), f(SEVEN, scale=2.0, word="x")]),
    "cookie": (make_cookie, lambda f: f(SEVEN)),
    "two outputs": (make_two_outputs, lambda f: f(SEVEN[:6].reshape(3, 2))),
    "output dims": (make_output_dims, lambda f: f(SEVEN)),
    "structs": (
        make_structs_and_dates,
        lambda f: [f(np.ones(2, RECORD)), f(np.datetime64(5, "ns")), f(np.timedelta64(5, "D"))],
    ),
    "reduction": (make_reduction, lambda f: [f(SEVEN, 2.0), f.ufunc.reduce(SEVEN[1:])]),
    "vectorize": (make_vectorized, lambda f: f(SEVEN, 3)),
    "windows": (make_windows, lambda f: f(SEVEN)),
    "inout": (make_inplace, lambda f: [(a := SEVEN.copy()), f(a)]),
}


def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the process forget all objects, like a new process."""
    monkeypatch.setattr(_travel, "_known", weakref.WeakValueDictionary())
    monkeypatch.setattr(_travel, "_holders", {})


def shown(f: Any) -> tuple[Any, ...]:
    return (
        repr(f), f.source, f.types, f.signature, f.windows, f.output_dims, f.__doc__, f.__name__, f.__module__
    )  # fmt: skip


def bits(result: Any) -> Any:
    if isinstance(result, (tuple, list)):
        return [bits(each) for each in result]
    array = np.asarray(result)
    return array.dtype, array.shape, array.tobytes()


@pytest.mark.quick
@pytest.mark.row("U05")
@pytest.mark.parametrize("kind", [*DEFINITIONS, *KERNELS])
def test_the_same_function_comes_back(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions are equal if their content is."""
    make, call = {**DEFINITIONS, **KERNELS}[kind]
    f, twin = make(), make()
    expected = bits(call(f))
    for protocol in range(2 if kind in KERNELS else 0, pickle.HIGHEST_PROTOCOL + 1):
        data = pickle.dumps(f, protocol)
        assert pickle.loads(data) is f
        with monkeypatch.context() as patched:
            elsewhere(patched)
            g = pickle.loads(data)
            assert g is not f and pickle.loads(data) is g
        assert g == f == twin and not g != f and hash(g) == hash(f) and len({f, g, twin}) == 1
        assert repr(g) == repr(f) and (kind in KERNELS or shown(g) == shown(f))
        assert g.__dask_tokenize__() == f.__dask_tokenize__() == twin.__dask_tokenize__()
        assert bits(call(g)) == expected and pickle.dumps(g, protocol) == data
    assert copy.copy(f) is f and copy.deepcopy([f, f])[1] is f and f != 3


def test_other_content_is_another_function() -> None:
    made = [make() for make, _ in [*DEFINITIONS.values(), *KERNELS.values()]]
    assert len({*made}) == len(made) and len({f.__dask_tokenize__() for f in made}) == len(made)


# ---- modules ----


def make_module() -> Any:
    m = cwrapjit.module("pair", "two functions", header="#define TWO 2", threads=2)
    m.function("twice", signature="a() -> output()",
               Ccode_slice_eval={"f8": "item__output() = TWO * item__a(); return true;"})  # fmt: skip
    m.function("inner", signature="a(n), b(n) -> output()", Ccode_slice_eval={"f8": INNER}, threads=1)
    return m


@pytest.mark.row("U05")
def test_the_same_module_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    m = make_module()
    m.other = m.twice
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        data = pickle.dumps(m, protocol)
        assert pickle.loads(data) is m
        with monkeypatch.context() as patched:
            elsewhere(patched)
            again = pickle.loads(data)
            assert again is not m and pickle.loads(data) is again
            assert pickle.loads(pickle.dumps(again.twice)) is again.twice
        assert again != m and hash(again) != hash(m)  # modules are equal by identity
        assert (repr(again), again.__doc__, again.__name__) == (repr(m), m.__doc__, m.__name__)
        assert again.twice == m.twice and again.inner == m.inner and again.other is again.twice
        assert again.twice(SEVEN).tolist() == (2 * SEVEN).tolist()
        assert again.__dask_tokenize__() == m.__dask_tokenize__()
        more = again.function("more", signature="a() -> output()",
                              Ccode_slice_eval={"f8": "item__output() = TWO; return true;"})  # fmt: skip
        assert more(0.0) == 2 and again.__dask_tokenize__() != m.__dask_tokenize__()
    assert copy.copy(m) is m and copy.deepcopy(m) is m


@pytest.mark.quick
def test_a_module_that_has_changed_is_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    data = pickle.dumps(make_module())
    elsewhere(monkeypatch)
    first = pickle.loads(data)
    del first.inner
    second = pickle.loads(data)
    assert second is not first and second.inner(SEVEN, SEVEN) == 91 and not hasattr(first, "inner")


COUNT = '#include "own.h"\nstatic int n;\nint next(void) { n += STEP; return n; }\n'


@pytest.fixture
def counting(tmp_path: pathlib.Path) -> Any:
    """Returns a module with two functions that share a counter."""
    (tmp_path / "own.h").write_text("#define STEP 2\n")
    (tmp_path / "count.c").write_text(COUNT)
    m = cwrapjit.module("counting", header="int next(void);", sources=[tmp_path / "count.c"])
    for name in ("one", "other"):
        body = {"f8": "item__output() = next(); return true;"}
        m.function(name, signature="a() -> output()", Ccode_slice_eval=body)
    return m


@pytest.mark.compiler("waits for the cc tier")
def test_sources_travel_as_text_and_exist_once(counting: Any, tmp_path: pathlib.Path,
                                                monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    data = [pickle.dumps(each) for each in (counting.one, counting.other, counting)]
    (tmp_path / "count.c").unlink()
    assert (counting.one(0.0), counting.other(0.0)) == (2, 4)
    elsewhere(monkeypatch)
    one, other, again = map(pickle.loads, data)
    assert (one(0.0), other(0.0), again.one(0.0), counting.one(0.0)) == (2, 4, 6, 6)
    assert again.one is one and again.other is other and one == counting.one
    assert again.__dask_tokenize__() == counting.__dask_tokenize__()
    assert one.wait() in (True, False) and one.tier_error is None


@pytest.mark.quick
def test_what_is_missing_is_named(
    counting: Any, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = pickle.dumps(counting.one)
    (tmp_path / "own.h").unlink()
    elsewhere(monkeypatch)
    refuses(cwrapjit.CompileError, lambda: pickle.loads(data), "counting.one()", "pickle", "own.h")
    lists = ((), (), (), ("/nowhere/libgone.so",), ())
    arguments = {"name": "f", "signature": "a() -> output()", "Ccode_slice_eval": (("f8", "return true;"),)}
    gone = load(1, "0.7", "function", ("t", ("", lists), {}, arguments))
    refuses(OSError, gone, "t.f()", "pickle", "libgone.so")


def test_sources_and_options_are_content(tmp_path: pathlib.Path) -> None:
    made = []
    for text in ("int a;", "int a;", "int b;"):
        (tmp_path / "s.c").write_text(text)
        made.append(wrap(((),), (), "item__output() = 1; return true;", sources=[tmp_path / "s.c"]))
    assert made[0] == made[1] != made[2]
    signed = {"signature": "a() -> output()", "Ccode_slice_eval": {float: "item__output() = 1; return true;"}}
    by_module = cwrapjit.module("t", threads=2, cast="safe").function("f", **signed)
    assert by_module == cwrapjit.module("t").function("f", threads=2, cast="safe", **signed)

    def token(exec: Any) -> Any:
        return cwrapjit.library("demo", libraries=["m"], exec=exec).__dask_tokenize__()

    def returning(value: Any) -> Any:
        return lambda lib: value

    tokens = {token(lambda lib: 0), token(lambda lib: None), token(returning(0)), token(returning(None))}
    assert len(tokens) == 4 and token(returning(0)) in tokens, "functions of one name"


# ---- graphs ----


@pytest.mark.row("U05")
def test_a_graph_comes_back_once(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = cg.float64("x"), cg.float64("y")
    inputs = [x, y]
    graph = cwrapjit.link(inputs, [x * y + 1, y], name="mine", mode="function")
    inputs.clear()
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        data = pickle.dumps(graph, protocol)
        assert pickle.loads(data) is graph
        with monkeypatch.context() as patched:
            elsewhere(patched)
            patched.setattr(_travel, "_numbers", weakref.WeakKeyDictionary())
            again = pickle.loads(data)
            assert again is not graph and pickle.loads(data) is again
        assert again(2.0, 3.0) == graph(2.0, 3.0) == (7.0, 3.0)
        assert again != graph and (repr(again), again.source) == (repr(graph), graph.source)
        assert again.__dask_tokenize__() == graph.__dask_tokenize__()
    other = cwrapjit.link([x, y], [x * y + 2, y], name="mine", mode="function")
    assert other.__dask_tokenize__() != graph.__dask_tokenize__() and copy.deepcopy(graph) is graph
    gone = weakref.ref(graph)
    del graph
    gc.collect()
    assert gone() is None


# ---- libraries ----

OWN = "int total; int add(int n) { total += n; return total; } double square(double x) { return x * x; }"


def make_library() -> Any:
    return cwrapjit.library("own", source=OWN)


def check_of(status: int) -> None:
    if status > 5:
        raise ValueError("more than five")


def make_declared() -> Any:
    lib = cwrapjit.library("c", libraries=["m"], header="#define FOUR 4")
    defaults = {"y": 4.0}
    hypot = lib.function("double hypot(double x, double y)", defaults=defaults)
    defaults["y"] = 0.0
    lib.declare("double sin(double x); int abs(int n);")
    lib.interface("either", [hypot, lib.sin])
    lib.function("double atan2(double a, double b)", broadcast=True)
    lib.function("int abs(int n)", check=check_of, name="checked")
    return lib


def test_libraries_come_back_with_all_that_was_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    lib = make_declared()
    names = ("hypot", "sin", "atan2", "abs", "checked", "either")
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        data = [pickle.dumps(getattr(lib, name), protocol) for name in names]
        whole = pickle.dumps(lib, protocol)
        assert all(
            pickle.loads(each) is getattr(lib, name) for each, name in zip(data[:5], names, strict=False)
        )
        assert pickle.loads(whole) is lib and copy.deepcopy(lib) is lib and copy.copy(lib.sin) is lib.sin
        with monkeypatch.context() as patched:
            elsewhere(patched)
            hypot, sin, atan2, absolute, checked, either = map(pickle.loads, data)
            again = pickle.loads(whole)
        assert again is not lib and again.hypot is hypot and again.sin is sin and again.atan2 is atan2
        assert hypot(3.0) == 5 and sin(0.0) == 0 and absolute(-3) == 3 and again.FOUR == 4
        assert either(3.0, 4.0) == 5 and atan2([1.0], [1.0]).tolist() == lib.atan2([1.0], [1.0]).tolist()
        refuses(ValueError, lambda checked=checked: checked(-6), "more than five")
        assert again != lib and repr(again) == repr(lib)
        assert sin.__dask_tokenize__() == lib.sin.__dask_tokenize__() != hypot.__dask_tokenize__()
        assert again.__dask_tokenize__() == lib.__dask_tokenize__()


def test_what_is_declared_later_comes_later(monkeypatch: pytest.MonkeyPatch) -> None:
    lib = make_library()
    first = pickle.dumps(lib)
    lib.function("int add(int n)", name="more")
    second = pickle.dumps(lib)
    elsewhere(monkeypatch)
    early = pickle.loads(first)
    assert early.add(3) == 3 and not hasattr(early, "more")
    late = pickle.loads(second)
    assert late is early and late.more(4) == 7 and late.total == 7 and lib.total == 0
    assert pickle.loads(first) is early
    early.function("int add(int n)", name="mine")
    elsewhere(monkeypatch)
    third = pickle.loads(pickle.dumps(early))
    assert third is early and third.mine(1) == 8


@pytest.mark.row("U05")
def test_a_library_that_goes_its_own_way_is_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Declarations made here stay, whatever the original library pickles later."""
    lib = make_library()
    first = pickle.dumps(lib)
    with monkeypatch.context() as there:
        elsewhere(there)
        branch = pickle.loads(first)
        branch.function("int add(int n)", name="mine")
        mine = branch.mine
        assert pickle.loads(pickle.dumps(mine)) is mine is branch.mine
        lib.function("int add(int n)", name="more")
        assert pickle.loads(pickle.dumps(lib)) is branch and branch.more(2) == 2 and branch.mine is mine
        back = pickle.dumps(mine)
    elsewhere(monkeypatch)
    pickle.dumps(lib)
    assert pickle.loads(back)(5) == 5 and lib.total == 0 and not hasattr(lib, "mine")


@pytest.mark.row("U05")
def test_children_and_parents_declare_for_themselves() -> None:
    program = """if True:
        import os, pickle, cwrapjit
        lib = cwrapjit.library("demo", libraries=["m"])
        pickle.dumps(lib)
        down, up = os.pipe(), os.pipe()
        child = os.fork()
        if child == 0:
            print(pickle.loads(os.read(down[0], 100_000))(9.0), flush=True)
            lib.function("double cbrt(double x)")
            os.write(up[1], pickle.dumps(lib.cbrt))
            os._exit(0)
        os.close(up[1])
        lib.function("double sqrt(double x)")
        os.write(down[1], pickle.dumps(lib.sqrt))
        print(os.waitpid(child, 0)[1], pickle.loads(os.read(up[0], 100_000))(8.0))
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600)
    assert done.stdout.split() == ["3.0", "0", "2.0"], done.stderr


def test_functions_outlive_their_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """The text of a broadcasting function has addresses, and must not be pickled."""
    lib = make_library()
    square, add = lib.square, lib.add
    del lib
    gc.collect()
    data = pickle.dumps((square, add))
    elsewhere(monkeypatch)
    again = pickle.loads(data)
    gc.collect()
    assert again[0](SEVEN).tolist() == (SEVEN**2).tolist() and again[1](2) == 2
    assert pickle.loads(data)[1] is again[1]


def test_functions_that_were_replaced_are_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pickle has no step for a function that refine(), function() or declare() replaced."""
    lib = make_library()
    lib.function("int add(int n)", name="more", doc="first")
    old = lib.square, lib.more
    lib.declare("int add(int n);")
    lib.refine("add", doc="second")
    lib.function("double square(double x)")
    assert lib.more is not old[1] and lib.square is not old[0]
    new = lib.square, lib.more
    assert pickle.loads(pickle.dumps((old, new))) == (old, new), "they are known here"
    data = pickle.dumps((old, new))
    number = lib._core.journal.number
    del lib
    gc.collect()
    late = pickle.dumps(old)
    with monkeypatch.context() as there:
        elsewhere(there)
        olds, news = pickle.loads(data)
        assert olds[0](SEVEN).tolist() == (SEVEN**2).tolist() and news[0](3.0) == 9
        assert (olds[1].__doc__, news[1].__doc__) == tuple(each.__doc__ for each in (old[1], new[1]))
        assert (olds[1](2), olds[1](2), news[1](2)) == (2, 4, 2), "two libraries"
        assert pickle.loads(pickle.dumps(olds)) == olds
    elsewhere(monkeypatch)
    assert number is not None and pickle.loads(late)[0](SEVEN).tolist() == (SEVEN**2).tolist()


def test_what_is_no_attribute_of_a_library_is_refused() -> None:
    lib = make_library()
    text = "struct point { double x, y; };"
    point = lib.struct(text, name="point")
    refuses(TypeError, lambda: pickle.dumps(point(1.0, 2.0)), "pickle")


@pytest.mark.parametrize("number, T", [("double", None), ("T", ("f4", "f8")), ("T", None)])
def test_faults_show_the_users_text(number: str, T: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """C sees another text, as a dim comes before its parameter."""
    text = f"{number} last(const {number} x[n], int n) {{ return x[n]; }}"
    f = cwrapjit.vectorize(text, T=T, debug=True)
    for _ in range(3):
        fault = refuses(cwrapjit.Fault, lambda f=f: f(SEVEN), "last(): SIGSEGV")
        assert fault.text == text
        parts = list(f.functions.values()) if number == "T" and T is None else [f]
        data = pickle.dumps((f, parts[0]))
        with monkeypatch.context() as there:
            elsewhere(there)
            f, part = pickle.loads(data)
        assert refuses(cwrapjit.Fault, lambda part=part: part(SEVEN), "last(): SIGSEGV").text == text


@pytest.mark.parametrize(
    "change",
    [
        {"doc": "another"}, {"name": "g"}, {"module": "other"}, {"header": "static int other;"},
        {"threads": 1}, {"optimize": "off"}, {"fastmath": True}, {"fastmath": False}, {"debug": True},
        {"cast": "no"}, {"gil": True}, {"define_macros": ["A"]}, {"libraries": ["m"]},
        {"extra_args": [("int", "k", "0", "i")]},
        {"cookie": "readonly"}, {"inplace": True}, {"unordered": True},
        {"names": ("a", "c"), "code": INNER.replace("__b", "__c")},
    ],
)  # fmt: skip
def test_each_part_is_content(change: dict[str, Any]) -> None:
    f = make_inner()
    g = wrap((("n",), ("n",)), (), **{"code": INNER, **change})
    assert f != g and f.__dask_tokenize__() != g.__dask_tokenize__()


def test_what_was_given_may_change_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    names, prototypes, extras = ["a"], [["n"]], [["int", "k", "3", "i"]]
    dims, sets = {"m": "n + 1"}, {"f8": "item__output(0) = *k; return true;"}
    f = cwrapjit.function("f", args_input=names, prototype_input=prototypes, prototype_output=["m"],
                          Ccode_slice_eval=sets, extra_args=extras, output_dims=dims)  # fmt: skip
    names[0], prototypes[0], extras[0][2], dims["m"] = "z", [], "4", "n"
    sets.clear()
    elsewhere(monkeypatch)
    data = pickle.dumps(f)
    elsewhere(monkeypatch)
    g = pickle.loads(data)
    assert g == f and g(SEVEN)[0] == 3 and g(SEVEN).shape == (8,)


def test_another_process_has_the_same_function() -> None:
    functions = [make_inner(), make_vectorized(), make_structs_and_dates(), make_windows()]
    program = (
        "import pickle, sys\n"
        "functions = pickle.load(sys.stdin.buffer)\n"
        "assert functions[0] is functions[1]\n"
        "import numpy as np\n"
        "answer = [functions[0](np.arange(3.), 2 * np.arange(3.)).tolist()]\n"
        "answer += [f.__dask_tokenize__() for f in functions]\n"
        "sys.stdout.buffer.write(pickle.dumps((answer, functions)))"
    )
    data = pickle.dumps([functions[0], *functions])
    done = subprocess.run([sys.executable, "-c", program], input=data, capture_output=True, check=True)
    answer, again = pickle.loads(done.stdout)
    assert answer == [10.0, *(f.__dask_tokenize__() for f in [functions[0], *functions])]
    assert all(a is b for a, b in zip(again[1:], functions, strict=True))


def test_threads_load_one_function(monkeypatch: pytest.MonkeyPatch) -> None:
    data = pickle.dumps(make_inner())
    elsewhere(monkeypatch)
    loaded: list[Any] = []
    barrier = threading.Barrier(8)

    def work() -> None:
        barrier.wait()
        loaded.append(pickle.loads(data))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(loaded) == 8 and len({id(each) for each in loaded}) == 1


def test_nothing_is_kept_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere(monkeypatch)
    f = make_inner()
    data = pickle.dumps(f)
    gone = weakref.ref(f)
    del f
    gc.collect()
    assert gone() is None and not _travel._known and not _travel._holders
    f = pickle.loads(data)
    f.itself = f
    del f
    gc.collect()
    assert not _travel._known and not _travel._holders


# ---- what cannot be loaded ----


def load(*parts: Any) -> Callable[[], Any]:
    return lambda: pickle.loads(pickle.dumps(_Made(parts)))


class _Made:
    """An object whose pickle was written by someone else."""

    def __init__(self, parts: tuple[Any, ...]) -> None:
        self.parts = parts

    def __reduce__(self) -> Any:
        return _travel.load, self.parts


DAMAGED: list[tuple[Any, ...]] = [
    (), (1,), ("1", "0.1", "function", ()), (1, 1, "function", ()), (1, "0.1", "no such", ()),
    (0, "0.1", "function", ()), (1, "0.1", [], ()), (1, "0.1", "function", None),
    (1, "0.1", "function", (1, 2, 3, 4)), (1, "0.1", "function", (None, (), {}, {})),
    (True, "0.1", "function", ()),
]  # fmt: skip


def test_damaged_pickles_are_refused() -> None:
    for parts in DAMAGED:
        refuses(ValueError, load(*parts), "damaged")
    refuses(
        ValueError, load(_travel.FORMAT + 1, "99.0", "function", ()), "99.0", cwrapjit.__version__, "format"
    )
    arguments = {"name": "f", "signature": "a() -> output()", "Ccode_slice_eval": (("f8", "x x x;"),)}
    no_c = load(1, "0.7", "function", ("t", ("", ((),) * 5), {}, arguments))
    refuses(cwrapjit.CompileError, no_c, "t.f()", "pickle of cwrapjit 0.7")


ODD: list[Any] = [None, 3, -(2**70), 1.5, "x", "a\nb", b"x", (), [], {}, ((),), {"a": 1}, object, np.ones(3)]
ODD += ["\ud800"]


def mutated(value: Any, depth: int, choose: random.Random) -> Any:
    """Returns the value with one part replaced."""
    if depth and choose.random() > 0.15:
        if isinstance(value, tuple) and value:
            at = choose.randrange(len(value))
            return (*value[:at], mutated(value[at], depth - 1, choose), *value[at + 1 :])
        if isinstance(value, dict) and value:
            key = choose.choice(list(value))
            return {**value, key: mutated(value[key], depth - 1, choose)}
    return choose.choice([*ODD, ("x",), (("x",),), 2**70, True, b"0" * 16, (("declare", (3,), {}),)])


EXPECTED = (TypeError, ValueError, OSError, AttributeError, NotImplementedError, cwrapjit.CompileError)


@pytest.mark.quick
@pytest.mark.filterwarnings("ignore::cwrapjit.CompileWarning")
@pytest.mark.parametrize(
    "kind", ["function", "module", "elementwise", "reduction", "any T", "graph", "library", "member"]
)
def test_no_damage_crashes(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """If one part of a pickle is replaced, loading gives an exception or an object."""
    elsewhere(monkeypatch)
    lib = make_declared()
    makers: dict[str, Callable[[], Any]] = {
        "function": make_inner,
        "module": make_module,
        "library": lambda: lib,
        "member": lambda: lib.sin,
        "graph": lambda: cwrapjit.link([x := cg.float64("x")], x + 1),
    }
    thing = makers[kind]() if kind in makers else KERNELS[kind][0]()
    _, (form, version, name, content) = thing.__reduce__()
    assert _travel.load(form, version, name, content) is thing
    choose = random.Random(kind)
    refused = 0
    for _ in range(200 if kind == "function" else 40):
        try:
            made = _travel.load(form, version, name, mutated(content, 4, choose))
        except EXPECTED:
            refused += 1
        else:
            assert repr(made) and hash(made) == hash(made)
    assert refused > 13


# ---- lifetimes ------------------


@pytest.mark.leak
@pytest.mark.parametrize("kind", [*DEFINITIONS, *KERNELS, "module", "graph", "library"])
def test_coming_and_going_keeps_nothing(kind: str) -> None:
    x = cg.float64("x")
    others: dict[str, Callable[[], Any]] = {
        "module": make_module,
        "library": make_library,
        "graph": lambda: cwrapjit.link([x], x + 1),
    }
    data = pickle.dumps((others.get(kind) or {**DEFINITIONS, **KERNELS}[kind][0])())
    gc.collect()

    def come_and_go() -> None:
        thing = pickle.loads(data)
        pickle.dumps(thing)
        hash(thing)
        del thing
        gc.collect()

    leaks.keeps_nothing(come_and_go)


def test_a_fork_waits_for_what_is_being_loaded() -> None:
    program = """if True:
        import os, pickle, signal, threading, cwrapjit
        texts = [f"double f{i}(double x) {{ return x + {i}; }}" for i in range(20)]
        data = [pickle.dumps(cwrapjit.vectorize(text, optimize="off")) for text in texts]
        over = []
        def work():
            while not over:
                for each in data:
                    pickle.loads(each)
        threads = [threading.Thread(target=work) for _ in range(3)]
        for each in threads:
            each.start()
        states = []
        for _ in range(5):
            child = os.fork()
            if child == 0:
                signal.alarm(600)
                os._exit(int(pickle.loads(data[3])(1.0) != 4))
            states.append(os.waitpid(child, 0)[1])
        over.append(1)
        for each in threads:
            each.join()
        print(states)
    """
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", program], capture_output=True, text=True
    )
    assert done.stdout.strip() == "[0, 0, 0, 0, 0]", done.stderr


@pytest.mark.quick
def test_when_python_ends_there_is_a_pickle_or_an_error() -> None:
    program = """if True:
        import atexit, pickle, cwrapjit
        class Last:
            def __init__(self, f):
                self.f = f
            def __del__(self, dumps=pickle.dumps, hash=hash, errors=(ImportError, TypeError, AttributeError)):
                for use in (dumps, hash):
                    try:
                        use(self.f)
                    except errors:
                        pass
        f = cwrapjit.vectorize("double f(double x) { return x; }")
        f.last = Last(f)
        atexit.register(pickle.dumps, f)
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
