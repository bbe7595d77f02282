"""module(), function() and the plain facts of a call: names, docstrings, keywords, nothing built."""

from __future__ import annotations

import inspect
import io
import pydoc
import types

import numpy as np
import pytest
from helpers import INNER, ar, refuses, same, wrap

import cwrapjit

# The seed's synopsis, word for word where it matters: raw byte pointers, nothing included.
SYNOPSIS = r"""
    double* out = (double*)data_slice__output;
    const int N = dims_slice__a[0];

    *out = 0.0;

    for(int i=0; i<N; i++)
      *out += *(const double*)(data_slice__a +
                               i*strides_slice__a[0]) *
              *(const double*)(data_slice__b +
                               i*strides_slice__b[0]);
    return true;"""


def inner(**kw):
    return wrap((("n",), ("n",)), (), INNER, **kw)


def scaled(module, name, body):
    """A function x -> body over scalars in an existing module."""
    return module.function(
        name,
        "",
        args_input=("x",),
        prototype_input=((),),
        prototype_output=(),
        Ccode_slice_eval={np.float64: body},
    )


@pytest.mark.row("N01")
def test_module_has_name_and_docstring():
    m = cwrapjit.module("t", "doc")
    assert m.__name__ == "t"
    assert m.__doc__ == "doc"
    assert isinstance(m, types.ModuleType)


@pytest.mark.row("N01")
def test_module_takes_keywords():
    m = cwrapjit.module(name="t", docstring="two\nlines")
    assert (m.__name__, m.__doc__) == ("t", "two\nlines")


@pytest.mark.quick
@pytest.mark.row("N01")
@pytest.mark.parametrize("name", [None, 3, b"t"])
def test_module_name_must_be_text(name):
    refuses(TypeError, lambda: cwrapjit.module(name, "doc"), type(name).__name__)


@pytest.mark.row("N01", "N10i")
@pytest.mark.parametrize("name", ["", "a b", "1st", "class", "a-b"])
def test_module_name_must_be_an_identifier(name):
    refuses(ValueError, lambda: cwrapjit.module(name, "doc"), f"not {name!r}")


@pytest.mark.row("N02")
def test_header_is_seen_by_every_function():
    m = cwrapjit.module("t", "", header="static double sq(double x) { return x * x; }")
    f = scaled(m, "f", "item__output() = sq(item__x()); return true;")
    g = scaled(m, "g", "item__output() = 1 + sq(item__x()); return true;")
    assert f(3.0) == 9
    assert g(3.0) == 10


@pytest.mark.row("N02")
def test_header_is_verbatim_and_may_include_and_define():
    header = (
        '#include <math.h>\n#include <stdint.h>\n#define TEXT "a \\"b\\" %d\\n"\n#define HALF(x) ((x) / 2)\n'
    )
    m = cwrapjit.module("t", "", header=header)
    f = scaled(
        m, "f", "item__output() = HALF(item__x()) + sizeof(TEXT) + sizeof(int16_t) + cos(0); return true;"
    )
    assert f(8.0) == 4 + 10 + 2 + 1


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
    f = wrap(
        ((),),
        (),
        """
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
        return ok;
        """,
    )
    assert f(2.7) == 3.5
    assert capsys.readouterr().out == "text is 3.5\n"
    refuses(ValueError, lambda: f(-4.0), "-4 is negative")


@pytest.mark.row("N03")
def test_each_function_call_adds_one_callable():
    m = cwrapjit.module("t", "")
    before = set(dir(m))
    f = scaled(m, "f", "item__output() = item__x() + 1; return true;")
    g = scaled(m, "g", "item__output() = item__x() + 2; return true;")
    assert m.f is f
    assert m.g is g
    assert set(dir(m)) - before == {"f", "g"}
    assert set(before) >= {"function", "write", "register", "__name__"}
    assert (m.f(1.0), m.g(1.0)) == (2, 3)


@pytest.mark.row("N03")
def test_a_function_outlives_its_module():
    m = cwrapjit.module("t", "", header="static double sq(double x) { return x * x; }")
    f = scaled(m, "f", "item__output() = sq(item__x()); return true;")
    del m
    assert f(5.0) == 25


@pytest.mark.row("N04")
@pytest.mark.parametrize(
    "doc",
    [
        'a "q" \\n\nb',
        "",
        "one line",
        "\\",
        '"',
        "tab\tand \x01 control",
        "percent %s %%",
        "Grüße, 日本語, 🙂",
        "*/ // /*",
        "??/",
    ],
)
def test_docstrings_are_exact(doc):
    f = inner(doc=doc)
    assert f.__doc__ == doc
    assert cwrapjit.module("t", doc).__doc__ == doc


@pytest.mark.row("N04")
def test_help_shows_name_and_docstring():
    text = pydoc.plain(pydoc.render_doc(inner(doc="Multiplies and adds.\n\nAs a second paragraph says.")))
    assert "Multiplies and adds." in text
    assert "As a second paragraph says." in text
    assert "f(a, b" in text


@pytest.mark.row("N03", "N04")
def test_names_of_a_function():
    f = inner()
    assert f.__name__ == "f"
    assert f.__module__ == "t"
    assert isinstance(f, cwrapjit.Function)
    assert "t.f" in repr(f)
    assert "\n" not in repr(f)


@pytest.mark.row("N06")
def test_write_goes_to_stdout_or_to_a_file(capsys):
    m = cwrapjit.module("written", "doc")
    scaled(m, "twice", "item__output() = 2 * item__x(); return true;")
    m.write()
    printed = capsys.readouterr().out
    assert "PyInit_written" in printed
    assert "item__output() = 2 * item__x(); return true;" in printed
    stream = io.StringIO()
    m.write(stream)
    assert stream.getvalue() == printed
    assert capsys.readouterr().out == ""


@pytest.mark.row("N06")
def test_write_takes_the_file_by_keyword_and_refuses_what_is_none(tmp_path):
    m = cwrapjit.module("written", "doc")
    scaled(m, "twice", "item__output() = 2 * item__x(); return true;")
    path = tmp_path / "written.c"
    with path.open("w") as stream:
        m.write(file=stream)
    assert "PyInit_written" in path.read_text()
    refuses(TypeError, lambda: m.write(3), "write(): file must be open for writing text, not int")


@pytest.mark.row("N06")
def test_source_is_the_text_in_use():
    f = inner()
    assert isinstance(f.source, str)
    assert "item__output() += item__a(i) * item__b(i);" in f.source
    assert f.signature in f.source


@pytest.mark.row("N07")
def test_argument_names_are_positions_and_keywords():
    f = wrap(((), ()), (), "item__output() = 10 * item__a() + item__b(); return true;")
    x, y = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    wanted = 10 * x + y
    assert same(f(x, y), wanted)
    assert same(f(b=y, a=x), wanted)
    assert same(f(x, b=y), wanted)
    assert same(f(a=y, b=x), 10 * y + x)


@pytest.mark.quick
@pytest.mark.row("N07")
def test_any_names_work_also_those_that_c_or_the_wrapper_use():
    names = (
        "self",
        "args",
        "kwargs",
        "i",
        "data",
        "out_",
        "dims",
        "ctx",
        "cwjx",
        "result",
        "Ünïcode",
        "steps",
        "int",
        "NULL",
        "item__self",
    )
    code = "item__output() = " + " + ".join(f"item__{name}()" for name in names) + "; return true;"
    f = wrap(((),) * len(names), (), code, names=names)
    values = [float(2**k) for k in range(len(names))]
    assert f(*values) == sum(values)
    assert f(**dict(zip(names, values, strict=True))) == sum(values)


@pytest.mark.row("N07")
def test_names_made_at_run_time_match_too():
    f = wrap(
        ((), ()), (), "item__output() = item__left() - item__right(); return true;", names=("left", "right")
    )
    keywords = {"".join(["ri", "ght"]): 1.0, "".join(["le", "ft"]): 5.0}
    assert f(**keywords) == 4


@pytest.mark.row("N08")
def test_synopsis(capsys):
    m = cwrapjit.module(name="innerlib", docstring="An inner product module in C")
    m.function(
        "inner",
        "Inner product",
        args_input=("a", "b"),
        prototype_input=(("n",), ("n",)),
        prototype_output=(),
        Ccode_slice_eval={np.float64: SYNOPSIS},
    )
    print(m.inner(np.arange(4, dtype=float), np.arange(8, dtype=float).reshape(2, 4)))
    assert capsys.readouterr().out == "[14. 38.]\n"


@pytest.mark.row("N18")
def test_missing_arguments():
    f = wrap(((), ()), (), "item__output() = 0; return true;", names=("left", "right"))
    refuses(TypeError, lambda: f(), "t.f", "left")
    refuses(TypeError, lambda: f(1.0), "t.f", "right")
    refuses(TypeError, lambda: f(right=1.0), "t.f", "left")


@pytest.mark.row("N18")
def test_too_many_arguments():
    f = inner()
    x = ar(3)
    refuses(TypeError, lambda: f(x, x, x), "t.f", "takes 2 positional", "3 were given")
    refuses(TypeError, lambda: f(*[x] * 50), "t.f", "takes 2 positional", "50 were given")


@pytest.mark.row("N18")
def test_unknown_and_double_keywords():
    f = wrap(((), ()), (), "item__output() = 0; return true;", names=("left", "right"))
    refuses(TypeError, lambda: f(1.0, 2.0, middle=3.0), "t.f", "middle")
    refuses(TypeError, lambda: f(1.0, 2.0, left=3.0), "t.f", "left")
    refuses(TypeError, lambda: f(1.0, 2.0, **{"a b": 3.0}), "t.f", "a b")
    refuses(TypeError, lambda: f(1.0, 2.0, **{"": 3.0}), "t.f")


@pytest.mark.row("N18")
def test_out_is_keyword_only():
    f = inner()
    x, o = ar(3), np.zeros(())
    refuses(TypeError, lambda: f(x, x, o), "t.f", "takes 2 positional", "3 were given")
    assert f(x, x, out=o) is o


@pytest.mark.row("N18")
def test_a_function_without_module_is_named_by_itself():
    f = cwrapjit.function(
        "alone",
        "",
        args_input=("x",),
        prototype_input=((),),
        prototype_output=(),
        Ccode_slice_eval={np.float64: "item__output() = item__x(); return true;"},
    )
    assert f(2.5) == 2.5
    error = refuses(TypeError, lambda: f(), "alone()", "'x'")
    assert "None" not in str(error)


@pytest.mark.row("N07", "N18")
def test_signature_tells_what_a_call_takes():
    f = wrap(
        ((), ()),
        (),
        "item__output() = *scale * item__left(); return true;",
        names=("left", "right"),
        extra_args=(("double", "scale", "1.5", "d"),),
    )
    parameters = inspect.signature(f).parameters
    kinds = [(p.name, p.kind) for p in parameters.values()]
    either, keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    assert kinds == [("left", either), ("right", either), ("out", keyword), ("scale", keyword)]
    assert parameters["out"].default is None
