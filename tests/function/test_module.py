"""Tests module(), function() and signature=: names, docstrings, headers, sources; many modules at once."""

from __future__ import annotations

import gc
import importlib
import inspect
import pydoc
import sys
import types
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from helpers import INNER, ar, refuses, same, wrap, wrap_signature

import cwrapjit


def scaled(module, name, body):
    """Adds a function x -> body of numbers to a module."""
    return module.function(name, signature="x() -> output()", Ccode_slice_eval={np.float64: body})


@pytest.mark.quick
@pytest.mark.row("N01", "N10i")
@pytest.mark.parametrize("name", [None, 3, b"t", "", "a b", "1st", "class", "a-b"])
def test_module_name_must_be_an_identifier(name):
    error, word = (ValueError, f"not {name!r}") if isinstance(name, str) else (TypeError, type(name).__name__)
    refuses(error, lambda: cwrapjit.module(name, "doc"), word)


@pytest.mark.row("N02")
def test_header_is_verbatim_and_may_include_and_define():
    header = (
        '#include <math.h>\n#include <stdint.h>\n#define TEXT "a \\"b\\" %d\\n"\n#define HALF(x) ((x) / 2)\n'
    )
    m = cwrapjit.module("t", "", header=header)
    body = "item__output() = HALF(item__x()) + sizeof(TEXT) + sizeof(int16_t) + cos(0); return true;"
    assert scaled(m, "f", body)(8.0) == 4 + 10 + 2 + 1


@pytest.mark.row("N02")
def test_statics_of_the_header_are_one_copy_per_function():
    m = cwrapjit.module("t", "", header="static int calls;")
    f = scaled(m, "f", "item__output() = ++calls; return true;")
    g = scaled(m, "g", "item__output() = ++calls; return true;")
    assert [f(0.0), f(0.0), g(0.0), f(0.0), g(0.0)] == [1, 2, 1, 3, 2]


@pytest.mark.row("N02")
def test_sources_are_one_copy_per_module(tmp_path):
    source = tmp_path / "counter.c"
    source.write_text("int calls; int count(void) { return ++calls; }")

    def both():
        m = cwrapjit.module("t", "", header="int count(void);", sources=[str(source)])
        body = "item__output() = count(); return true;"
        return scaled(m, "f", body), scaled(m, "g", body)

    f, g = both()
    assert [f(0.0), g(0.0), f(0.0)] == [1, 2, 3]
    other, _ = both()
    assert other(0.0) == 1


@pytest.mark.row("N02")
def test_what_snippets_use_is_known_without_any_include(capsys):
    code = """
        bool ok = true;
        char *text = malloc(32);
        if (text == NULL)
            return false;
        snprintf(text, 32, "%d.5", (int)round(item__a()));
        item__output() = atof(text);
        printf("text is %s\\n", text);
        free(text);
        if (item__a() < 0) {
            PyErr_Format(PyExc_ValueError, "%d is negative", (int)item__a());
            return false;
        }
        return ok;"""
    f = wrap(((),), (), code)
    assert f(2.7) == 3.5
    assert capsys.readouterr().out == "text is 3.5\n"
    refuses(ValueError, lambda: f(-4.0), "-4 is negative")


@pytest.mark.row("N03")
def test_each_function_call_adds_one_callable():
    m = cwrapjit.module("t", "")
    before = set(dir(m))
    f = scaled(m, "f", "item__output() = item__x() + 1; return true;")
    g = scaled(m, "g", "item__output() = item__x() + 2; return true;")
    assert m.f is f and m.g is g and (m.f(1.0), m.g(1.0)) == (2, 3)
    assert set(dir(m)) - before == {"f", "g"}
    assert set(before) >= {"function", "write", "register", "__name__"}


@pytest.mark.row("N04")
@pytest.mark.parametrize(
    "doc",
    ['a "q" \\n\nb', "", "\\", '"', "tab\tand \x01 control", "%s %%", "Grüße, 日本語, 🙂", "*/ // /*", "??/"],
)
def test_docstrings_are_exact(doc):
    f = wrap((("n",), ("n",)), (), INNER, doc=doc)
    assert f.__doc__ == doc
    assert cwrapjit.module(name="t", docstring=doc).__doc__ == doc


@pytest.mark.row("N04")
def test_help_shows_name_and_docstring():
    text = pydoc.plain(pydoc.render_doc(wrap((("n",), ("n",)), (), INNER, doc="Multiplies.\n\nAnd adds.")))
    assert "f(a, b" in text and "Multiplies." in text and "And adds." in text


@pytest.mark.quick
@pytest.mark.row("N07")
def test_any_names_work_also_those_that_c_or_the_wrapper_use():
    names = "self args kwargs i data out_ dims ctx cwjx result Ünïcode steps int NULL item__self".split()
    code = "item__output() = " + " + ".join(f"item__{name}()" for name in names) + "; return true;"
    f = wrap(((),) * len(names), (), code, names=names)
    values = [float(2**k) for k in range(len(names))]
    assert f(*values) == f(**dict(zip(names, values, strict=True))) == sum(values)


@pytest.mark.row("N08")
def test_synopsis(capsys):
    """The code is the seed's, with raw byte pointers and without includes."""
    code = """
    double* out = (double*)data_slice__output;
    const int N = dims_slice__a[0];

    *out = 0.0;

    for(int i=0; i<N; i++)
      *out += *(const double*)(data_slice__a +
                               i*strides_slice__a[0]) *
              *(const double*)(data_slice__b +
                               i*strides_slice__b[0]);
    return true;"""
    m = cwrapjit.module(name="innerlib", docstring="An inner product module in C")
    m.function(
        "inner",
        "Inner product",
        args_input=("a", "b"),
        prototype_input=(("n",), ("n",)),
        prototype_output=(),
        Ccode_slice_eval={np.float64: code},
    )
    print(m.inner(np.arange(4, dtype=float), np.arange(8, dtype=float).reshape(2, 4)))
    assert capsys.readouterr().out == "[14. 38.]\n"
    assert m.inner(ar(2, 4)[:, ::-1], ar(8)[::2]).tolist() == [8, 56]


@pytest.mark.row("N07", "N18")
def test_signature_tells_what_a_call_takes():
    code = "item__output() = *scale * item__left(); return true;"
    f = wrap(((), ()), (), code, names=("left", "right"), extra_args=(("double", "scale", "1.5", "d"),))
    parameters = inspect.signature(f).parameters
    either, keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    kinds = [(p.name, p.kind) for p in parameters.values()]
    assert kinds == [("left", either), ("right", either), ("out", either), ("scale", keyword)]
    assert parameters["out"].default is None


# ---- many modules and functions ----


def constant(m: Any, name: str, value: Any, **kw: Any) -> Any:
    body = {np.int64: f"item__output() = {value}; return true;"}
    return m.function(name, signature="-> output()", Ccode_slice_eval=body, **kw)


@pytest.fixture
def name() -> Iterator[str]:
    """Yields an unused module name, and unregisters it afterwards."""
    yield "cwj_registered_by_a_test"
    sys.modules.pop("cwj_registered_by_a_test", None)


@pytest.mark.row("N82")
def test_equal_names_do_not_clash() -> None:
    modules = [
        cwrapjit.module("same", header=f"static int helper(void) {{ return {i}; }}\nint shown = {i};")
        for i in range(20)
    ]
    for m in modules:
        constant(m, "f", "helper() * 100 + shown")
    assert [int(m.f()) for m in modules] == [i * 101 for i in range(20)]


@pytest.mark.row("N82", "N03")
def test_many_functions_in_one_module_dropped_in_any_order() -> None:
    m = cwrapjit.module("t")
    functions = {i: constant(m, f"f{i}", i) for i in range(100)}
    assert all(f() == i and getattr(m, f"f{i}") is f for i, f in functions.items())
    assert m.f99.__qualname__ == "f99"
    for i in sorted(functions, key=lambda i: (i * 37) % 100):
        if i % 3:
            delattr(m, f"f{i}")
            del functions[i]
            assert all(f() == k for k, f in functions.items())


@pytest.mark.quick
@pytest.mark.row("N82", "N01", "N03", "N04")
def test_a_module_is_a_module() -> None:
    m = cwrapjit.module("geometry", "what it does")
    f = constant(m, "f", 5)
    assert isinstance(m, types.ModuleType) and "geometry" in repr(m)
    assert m.__name__ == "geometry" and m.__doc__ == "what it does"
    assert "f" in dir(m) and vars(m)["f"] is f
    assert f.__module__ == "geometry" and f.__name__ == "f" and isinstance(f, cwrapjit.Function)
    assert "geometry.f" in repr(f) and "\n" not in repr(f)
    m.anything = 3
    assert m.anything == 3


@pytest.mark.row("N82")
def test_registration_is_optional_and_makes_it_importable(name: str) -> None:
    m = cwrapjit.module(name)
    constant(m, "f", 7)
    refuses(ModuleNotFoundError, lambda: importlib.import_module(name), name)
    m.register()
    assert importlib.import_module(name) is m
    scope: dict[str, Any] = {}
    exec(f"from {name} import f\nimport {name}\nvalue = f() + {name}.f()", scope)
    assert scope["value"] == 14


@pytest.mark.quick
@pytest.mark.row("N82", "N22i")
def test_registering_again_replaces_ours_and_never_others(name: str) -> None:
    first, second = cwrapjit.module(name), cwrapjit.module(name)
    first.register()
    first.register()
    second.register()
    assert sys.modules[name] is second
    stranger = sys.modules[name] = types.ModuleType(name)
    refuses(ValueError, first.register, name)
    assert sys.modules[name] is stranger
    for taken in ("math", "numpy"):
        before = importlib.import_module(taken)
        refuses(ValueError, cwrapjit.module(taken).register, taken)
        assert sys.modules[taken] is before


@pytest.mark.row("N22i")
def test_redefinition_replaces_unless_it_fails() -> None:
    m = cwrapjit.module("t")
    old = constant(m, "f", 1)
    refuses(cwrapjit.CompileError, lambda: constant(m, "f", "oops"), "oops")
    assert m.f is old and old() == 1
    refuses(cwrapjit.CompileError, lambda: constant(m, "g", "oops"), "'oops'")
    assert not hasattr(m, "g")
    new = constant(m, "f", 2)
    gc.collect()
    assert m.f is new and new is not old
    assert (int(old()), int(new()), int(m.f())) == (1, 2, 2), "the old callable keeps working"


@pytest.mark.row("N22i")
@pytest.mark.parametrize("taken", ["function", "write", "register", "__name__", "__dict__", "__class__"])
def test_names_that_would_hide_the_modules_own_are_refused(taken: str) -> None:
    m = cwrapjit.module("t")
    refuses(ValueError, lambda: constant(m, taken, 1), taken)
    assert callable(m.function) and m.__name__ == "t"


@pytest.mark.row("N82", "N03")
def test_functions_outlive_modules_and_modules_are_collected() -> None:
    m = cwrapjit.module("t", header="static double one = 1;")
    f = m.function("inner", signature="a(n), b(n) -> output()", Ccode_slice_eval={float: INNER})
    m.me = m
    alive = weakref.ref(m)
    del m
    gc.collect()
    assert alive() is None
    assert f(ar(4), ar(4)) == 14
    function = weakref.ref(f)
    del f
    gc.collect()
    assert function() is None


@pytest.mark.row("N82", "N18")
def test_functions_without_a_module() -> None:
    code = {np.float64: "item__output() = item__a() + K; return true;"}
    made = [
        cwrapjit.function(
            "f", "doc", signature="a() -> output()", header=f"#define K {i}", Ccode_slice_eval=code
        )
        for i in range(5)
    ]
    assert [float(f(1.0)) for f in made] == [1, 2, 3, 4, 5]
    assert made[0].__doc__ == "doc" and made[0].__name__ == "f"
    assert "None" not in str(refuses(TypeError, lambda: made[0](), "f()", "'a'"))


@pytest.mark.quick
@pytest.mark.row("N82", "N12")
def test_a_function_is_used_like_any_other() -> None:
    f = wrap(((), ()), (), "item__output() = item__a() + item__b(); return true;")
    assert f(*[1.0, 2.0]) == 3 and f(**{"a": 1.0, "b": 2.0}) == 3
    assert list(map(f, [1.0, 2.0], [3.0, 4.0])) == [4, 6]
    assert {f: 1}[f] == 1 and callable(f) and f == f
    refuses(TypeError, lambda: type(f)(), "cwrapjit.Function")
    refuses(AttributeError, lambda: setattr(f, "source", ""), "'source'", "not writable")


# ---- signatures ----


NOTHING = "return true;"


@pytest.mark.row("K07", "K09")
def test_a_signature_says_what_the_prototypes_say():
    f = wrap_signature(
        "inout a(n), b(n, 3) -> ()", "item__a(0) += item__output() = item__b(1, 2); return true;"
    )
    code = "item__output() = 2; return true;"
    g = wrap((("n",), ("n", 3)), (), code, args_inout=("a",))
    x = ar(2)
    assert f.signature == g.signature == "inout a(n), b(n, 3) -> output()"
    assert f(x, ar(2, 3)) == 5 and x[0] == 5 and g(x, ar(2, 3)) == 2
    alone = cwrapjit.function("f", "", signature="-> ()", Ccode_slice_eval={float: code})
    assert alone() == 2
    for each in (f, g):
        refuses(ValueError, lambda each=each: each(x, ar(3, 3)), "t.f", "'b'", "'n'", "must be 2", "got 3")
        refuses(ValueError, lambda each=each: each(x, ar(2, 2)), "t.f", "'b'", "length 3", "got 2")


@pytest.mark.quick
@pytest.mark.row("K07")
def test_an_output_name_replaces_output_in_the_accessors():
    f = wrap_signature("x(n) -> y()", "item__y() = 2 * item__x(1); return true;")
    assert f(ar(2)) == 2
    refuses(ValueError, lambda: f(ar(4, 3), out=np.zeros(5)), "t.f", "'y'", "must be 4", "got 5")
    code = "item__output() = 2 * item__x(); return true;"
    refuses(cwrapjit.CompileError, lambda: wrap_signature("x() -> y()", code), "'item__output'")
    code = "item__p() = 1; item__q(0) = *(double *)data_slice__q = item__q(1) = 2; return true;"
    p, q = wrap_signature("x() -> p(), q(2)", code)(0.0)
    assert p == 1 and same(q, np.array([2.0, 2.0]))


@pytest.mark.row("K07")
def test_one_output_several_and_a_tuple_of_one():
    fill, x = "item__z(0) = item__z(1) = item__z(2) = 1; ", ar(2)
    assert same(wrap_signature("x(n) -> z(3)", fill + "return true;")(x), np.ones(3))
    (single,) = wrap_signature("x(n) -> (z(3),)", fill + "return true;")(x)
    assert same(single, np.ones(3))
    z, w = wrap_signature("x(n) -> z(3), w()", fill + "item__w() = 2; return true;")(x)
    assert same(z, np.ones(3)) and w == 2


@pytest.mark.row("K07")
@pytest.mark.parametrize(
    "text",
    ["a(n),b(n)->out()", "  a ( n ) , b ( n )  ->  out ( ) ", "a(n),\n\tb(n)\n-> out()"],
)
def test_blanks_do_not_matter(text):
    f = wrap_signature(text, INNER.replace("output", "out"))
    assert f(ar(3), ar(3)) == 5
    assert f.signature == wrap_signature("a(n), b(n) -> out()", INNER.replace("output", "out")).signature


@pytest.mark.row("K07")
@pytest.mark.parametrize(
    "text",
    [
        "a(n), b(n) -> output()",
        "inout a(n, 3), b(n) -> out(3)",
        "a(n, n), b(0) -> p(), q(n, 2)",
        "x() -> (z(3),)",
        "-> o(3)",
    ],
)
def test_the_signature_of_a_function_can_be_read_back(text):
    assert wrap_signature(text, NOTHING).signature == text


@pytest.mark.row("K07")
def test_unicode_names():
    f = wrap_signature("größe(länge) -> summe()", "item__summe() = item__größe(1); return true;")
    assert f(ar(3)) == 1
    refuses(ValueError, lambda: f(ar(2, 3), out=np.zeros(5)), "summe", "must be 2", "got 5")


# ---- definitions that are rejected, and unusual valid ones ------


def define(m=None, **changes):
    """Defines a valid f(left(n), right(n)), with changes."""
    arguments = {
        "name": "f",
        "args_input": ("left", "right"),
        "prototype_input": (("n",), ("n",)),
        "prototype_output": (),
        "Ccode_slice_eval": {np.float64: NOTHING},
    }
    return (m or cwrapjit.module("t", "")).function(**(arguments | changes))


@pytest.mark.row("N10i", "B13")
def test_lists_will_do_for_tuples_and_dims_may_be_numpy_integers():
    f = define(args_input=["a", "b"], prototype_input=[["n"], ("n",)], prototype_output=[])
    assert f.signature == "a(n), b(n) -> output()"
    g = define(prototype_output=[["n"], []])
    assert [o.shape for o in g(ar(3), ar(3))] == [(3,), ()]
    code = "item__output(0) = item__output(1) = item__a(2, 1); return true;"
    h = wrap(((np.int64(3), np.uint8(2)),), (np.int32(2),), code)
    assert h(ar(3, 2)).tolist() == [5, 5]


@pytest.mark.row("N10i")
def test_a_refused_definition_leaves_the_module_alone():
    m = cwrapjit.module("t", "")
    first = define(m, Ccode_slice_eval={np.float64: "item__output() = 1; return true;"})
    for error, word, changes in (
        (TypeError, "prototype_input", {"prototype_input": (("n",), "n")}),
        (ValueError, "empty", {"Ccode_slice_eval": {}}),
        (cwrapjit.CompileError, "'this' undeclared", {"Ccode_slice_eval": {np.float64: "this is not C"}}),
        (ValueError, "'left' twice", {"args_input": ("left", "left")}),
    ):
        refuses(error, lambda changes=changes: define(m, **changes), word)
    assert m.f is first
    assert m.f(ar(3), ar(3)) == 1


@pytest.mark.row("N10i")
def test_a_size_that_cannot_exist_is_refused_or_raises_when_called():
    big = 2**62
    f = define(prototype_output=(big, big))
    refuses(ValueError, lambda: f(ar(3), ar(3)), "t.f", "output", "too big")
    g = define(prototype_output=(2**40,))
    refuses(ValueError, lambda: g(ar(2**20, 3), ar(3)), "t.f", "output", "too big")
