"""Tests what C texts may contain: templates (ResultBase, c_var_names) and filled texts (CType, COp)."""

from __future__ import annotations

import gc
import re
import sys
from typing import Any

import numpy as np
import pytest
from graph_seeds import (
    Add,
    AddFromOp,
    CheckedDouble,
    D,
    Double,
    add,
    filled_op,
    mul,
    said,
    template_op,
    template_type,
)
from graph_types import Trace
from helpers import compiler, refuses

import cwrapjit
import cwrapjit.graph as cg

MODES = ("struct", "function")
both_forms = pytest.mark.parametrize("mode", MODES)

FAILS = '{ PyErr_SetString(PyExc_ValueError, "no reason"); %(fail)s }'


def xy(kind: Any = CheckedDouble) -> tuple[Any, Any]:
    return kind("x"), kind("y")


def linked(op: Any, kind: Any = CheckedDouble, **options: Any) -> Any:
    x, y = xy(kind)
    return cwrapjit.link([x, y], op(x, y), **options)


def refused(op: Any, *words: str, kind: Any = CheckedDouble) -> None:
    """link() of the op must raise CompileError in both forms, with these words in its messages."""
    for mode in MODES:
        with pytest.raises(cwrapjit.CompileError) as caught:
            linked(op, kind, mode=mode)
        text = said(caught.value)
        assert not [word for word in words if word not in text], text


# ---- the document's own example --------------------------------------------------------------------


@pytest.mark.row("T20", "T21", "T31", "T32")
@both_forms
def test_the_sum_of_two_nonnegative_doubles(mode: str) -> None:
    for op, kind in (
        (Add, Double),
        (AddFromOp, CheckedDouble),
        (Add(), CheckedDouble),
        (AddFromOp(), Double),
    ):
        k = linked(op, kind, mode=mode)
        assert k(0.25, 0.5) == 0.75 and type(k(1.0, 2)) is float
        for values in ((-1.0, 2.0), (1.0, -2.0)):
            refuses(RuntimeError, lambda k=k, values=values: k(*values), "no Python exception was set")
        refuses(TypeError, lambda k=k: k("a", 1.0), "must be real number, not str")
        assert k(1.0, 2.0) == 3.0


@pytest.mark.row("T21")
@both_forms
def test_code_works_in_place_on_the_declared_variables_and_sync_gives_results(mode: str) -> None:
    k = linked(template_op(code="%(x)s *= 2; %(z)s = %(x)s; %(z)s += %(y)s;"), mode=mode)
    x = 1.5
    for _ in range(3):
        assert k(x, 2.0) == 5.0
    assert k.cells[0][0] is x, "the caller's object is as it was"


# ---- failing and cleaning up -----------------------------------------------------------------------


@pytest.fixture(params=["tcc", "cc"])
def tier(request: pytest.FixtureRequest) -> Any:
    """Returns a function that brings a graph to that tier."""
    if request.param == "cc":
        compiler()

    def bring(k: Any) -> Any:
        assert request.param == "tcc" or k.wait()
        assert k.tier == request.param
        return k

    return bring


@pytest.mark.row("T05")
@both_forms
def test_locals_are_visible_in_their_own_cleanup_and_half_done_is_fine(mode: str, tier: Any) -> None:
    text, free = "void *p = NULL; if (%(x)s > 0) %(fail)s p = malloc(8);", "free(p);"
    for op, block, result in (
        (template_op(code=text, code_cleanup=free), "c_code", 0.0),
        (template_op(validate=text, validate_cleanup=free), "c_validate_update", 1.0),
    ):
        k = tier(linked(op, mode=mode))
        for _ in range(100):
            refuses(RuntimeError, lambda k=k: k(1.0, 2.0), f"{block} of Templated(x, y)")
            assert k(-1.0, 2.0) == result


@pytest.mark.row("T05")
@both_forms
@pytest.mark.parametrize("cleanup", ["", "/* nothing */", "int n = 1; (void)n;", "#define A\n#undef A"])
def test_empty_cleanups_and_declarations_compile_in_both_tiers(cleanup: str, mode: str, tier: Any) -> None:
    kind = template_type(cleanup=cleanup)
    op = template_op(
        validate="if (%(x)s < 0) %(fail)s",
        validate_cleanup=cleanup,
        code_cleanup=cleanup,
        code="%(z)s = %(x)s;",
    )
    k = tier(linked(op, kind, mode=mode))
    assert k(1.0, 2.0) == 1.0
    refuses(RuntimeError, lambda: k(-1.0, 2.0), "c_validate_update of Templated(x, y)")


@pytest.mark.quick
@pytest.mark.row("T05")
def test_an_array_of_variable_length_behind_a_failure_is_refused() -> None:
    behind = "int n = 3; if (%(x)s < 0) %(fail)s double t[n]; t[0] = 1; %(z)s = t[0];"
    refused(template_op(code=behind), "variable")
    before = "int n = 3; double t[n]; t[0] = 1; if (%(x)s < 0) %(fail)s %(z)s = t[0];"
    assert linked(template_op(code=before))(1.0, 2.0) == 1.0
    inner = "if (%(x)s < 0) %(fail)s { int n = 3; double t[n]; t[0] = 1; %(z)s = t[0]; }"
    assert linked(template_op(code=inner))(1.0, 2.0) == 1.0


@pytest.mark.row("T04", "T27")
@both_forms
@pytest.mark.parametrize(
    "where, code", [("extract", 1), ("init", 3), ("validate", 4), ("code", 5), ("nowhere", 0)]
)
def test_any_block_but_sync_and_cleanups_may_fail(where: str, code: int, mode: str) -> None:
    def text(block: str, plain: str) -> str:
        return plain + (FAILS if where == block else "")

    kind = template_type(init=text("init", "%(name)s = 0;"))
    failing = template_type(extract=text("extract", "%(name)s = 1;"), init="%(name)s = 0;")
    op = template_op(validate=text("validate", "(void)%(x)s;"), code=text("code", "%(z)s = %(x)s + %(y)s;"))
    x, y = failing("x"), kind("y")
    k = cwrapjit.link([x, y], op(y, x), mode=mode)  # the output has y's type
    k.cells[0][0], k.cells[1][0] = 1.0, 2.0
    assert [k.run(), k.run()] == [code, code]
    assert k.cells[2] == [None if code else 3.0]
    if code:
        refuses(ValueError, lambda: k(1.0, 2.0), "no reason")


@pytest.mark.quick
@pytest.mark.row("T06")
def test_failing_in_a_cleanup_is_refused() -> None:
    refused(template_op(code_cleanup="if (%(x)s < 0) %(fail)s"), "Templated", "c_code_cleanup")
    refused(
        template_op(validate="", validate_cleanup="if (%(x)s < 0) %(fail)s"),
        "Templated",
        "c_validate_update_cleanup",
    )
    refused(Add, "Typed", "c_cleanup", kind=template_type(cleanup="%(fail)s"))


# ---- declarations ----------------------------------------------------------------------------------


@pytest.mark.row("T07", "T16")
@both_forms
@pytest.mark.parametrize("validate", [True, False])
def test_a_type_declares_several_variables_and_typedefs(validate: bool, mode: str) -> None:
    kind = template_type(
        declare="double %(name)s; void *%(name)s_tmp, *aux_%(name)s; typedef double %(name)s_t;",
        init="%(name)s = 0; %(name)s_tmp = NULL; aux_%(name)s = NULL;",
        extract="%(name)s = PyFloat_AsDouble(py_%(name)s); %(name)s_tmp = &%(name)s; aux_%(name)s = NULL;",
    )
    op = template_op(
        code="%(x)s_t twice = *(%(x)s_t *)%(x)s_tmp * 2; aux_%(z)s = &twice;"
        "%(z)s = *(%(z)s_t *)aux_%(z)s + %(y)s; %(z)s_tmp = &%(z)s; aux_%(z)s = aux_%(x)s;"
    )
    k = linked(op, kind, mode=mode, validate=validate)
    assert [k(1.0, 2.0), k(2.0, 2.0)] == [4.0, 6.0]
    x, y = xy(kind)
    chain = cwrapjit.link([x, y], op(op(x, y), op(y, x)), mode=mode)
    assert chain(1.0, 2.0) == 13.0


@pytest.mark.quick
@pytest.mark.row("T07", "A20")
@pytest.mark.parametrize(
    "declare, word",
    [
        ("#define %(name)s_K 1\ndouble %(name)s;", "directive"),
        ("double %(name)s = 0;", "initializer"),
        ("double %(name)s; int other;", "other"),
        ("double %(name)s; typedef int mine;", "mine"),
        ("double %(name)s; %(name)s = 0;", "only declarations of variables and types"),
        ("double %(name)s; int %(name)s_f(void) { return 0; }", "a statement: only declarations"),
        ("static double %(name)s;", "storage class"),
        ("extern double %(name)s;", "storage class"),
        ("double %(name)s", "a declaration ends with ';'"),
        ("double py_%(name)s, %(name)s;", "py_"),
        ("double storage_%(name)s, %(name)s;", "storage_"),
        ("double %(name)s; struct pair { int a; } %(name)s_p;", "'pair' must have the variable's name"),
        ("double %(name)s; struct pair { int a; };", "'pair' must have the variable's name"),
        ("double %(name)s; struct pair;", "'pair' must have the variable's name"),
        ("double %(name)s; union __attribute__((packed)) word { int a; } %(name)s_w;", "'word' must have"),
        ("double %(name)s; typedef struct pair { int a; } %(name)s_t;", "'pair' must have"),
        ("double %(name)s; struct { struct inner { int a; } i; } %(name)s_s;", "'inner' must have"),
        ("double %(name)s; int %(name)s_a[sizeof(struct hidden { int a; })];", "'hidden' must have"),
        ("double %(name)s; enum colour { %(name)s_RED } %(name)s_c;", "'colour' must have"),
        ("double %(name)s; enum { RED } %(name)s_c;", "'RED' must have the variable's name"),
        ("double %(name)s; enum { %(name)s_RED = (3, 4), GREEN = 2 };", "'GREEN' must have"),
        ("double %(name)s; struct { enum { DEEP } e; } %(name)s_s;", "'DEEP' must have"),
        ("double %(name)s; enum { %(name)s_A, B, } (*%(name)s_f)(void);", "'B' must have"),
    ],
)
def test_what_is_no_declaration_is_refused(declare: str, word: str) -> None:
    refused(Add, "Typed", "c_declare", word, kind=template_type(declare=declare))


@pytest.mark.quick
@pytest.mark.row("T07", "T23")
@both_forms
@pytest.mark.parametrize(
    "declare, use",
    [
        ("double %(name)s; struct { double a[3]; } %(name)s_s;", "%(z)s_s.a[2] = 1; %(z)s = %(z)s_s.a[2];"),
        ("double %(name)s; double (*%(name)s_f)(double);", "%(z)s_f = sqrt; %(z)s = %(z)s_f(1);"),
        ("double %(name)s, %(name)s_m[2][3];", "%(z)s_m[1][2] = 1; %(z)s = %(z)s_m[1][2];"),
        ("enum %(name)s_e { %(name)s_A = 1 } %(name)s_v; double %(name)s;", "%(z)s = %(x)s_A;"),
        (
            "struct %(name)s_p { int other; struct %(name)s_p *next; } %(name)s_l; double %(name)s;",
            "%(z)s_l.other = 1; %(z)s_l.next = &%(z)s_l; %(z)s = %(z)s_l.next->other;",
        ),
        (
            "enum { %(name)s_A = 3, %(name)s_B = (%(name)s_A) - 2, };"
            "struct tm *%(name)s_when; double %(name)s;",
            "%(z)s_when = NULL; %(z)s = %(z)s_when ? 0 : %(x)s_B;",
        ),
    ],
)
def test_members_of_every_shape_of_declaration(declare: str, use: str, mode: str) -> None:
    assert linked(template_op(code=use), template_type(declare=declare), mode=mode)(5.0, 2.0) == 1.0


# ---- validate and code -----------------------------------------------------------------------------


class AddArrays(cg.Op):
    """Adds arrays of one shape."""

    def c_var_names(self):
        return [["x", "y"], ["z"]]

    def c_validate_update(self):
        return """
            npy_intp n = PyArray_DIMS(%(x)s)[0];
            if (PyArray_DIMS(%(y)s)[0] != n) {
                PyErr_Format(PyExc_ValueError, "%%zd and %%zd items", n, PyArray_DIMS(%(y)s)[0]);
                %(fail)s
            }
            Py_XDECREF(%(z)s);
            %(z)s = (PyArrayObject *)PyArray_SimpleNew(1, &n, NPY_DOUBLE);
            if (!%(z)s) %(fail)s
        """

    def c_code(self):
        return """
            for (npy_intp i = 0; i < PyArray_DIMS(%(z)s)[0]; i++)
                *(double *)PyArray_GETPTR1(%(z)s, i) =
                    *(double *)PyArray_GETPTR1(%(x)s, i) + *(double *)PyArray_GETPTR1(%(y)s, i);
        """


@pytest.mark.quick
@pytest.mark.row("T17")
@both_forms
def test_validate_checks_shapes_before_anything_is_computed(mode: str) -> None:
    vector = cg.ndarray("float64", 1)
    x, y = vector("x"), vector("y")
    k = cwrapjit.link([x, y], AddArrays(x, y), mode=mode)
    assert k(np.ones(3), np.arange(3.0)).tolist() == [1, 2, 3]
    refuses(ValueError, lambda: k(np.ones(3), np.ones(4)), "3 and 4 items")
    assert k(np.arange(8.0)[::2], np.arange(4.0)).tolist() == [0, 3, 6, 9]


@pytest.mark.row("T25")
@both_forms
def test_code_may_validate_by_itself(mode: str) -> None:
    k = linked(template_op(code="if (%(x)s < 0)" + FAILS + " %(z)s = %(x)s + %(y)s;"), mode=mode)
    assert k(1.0, 2.0) == 3.0
    refuses(ValueError, lambda: k(-1.0, 2.0), "no reason")
    assert k.run() == 4, "x, y, z, then the code: no block for a validate that is not there"


# ---- the generated text ----------------------------------------------------------------------------


def state_members(source: str) -> str:
    """Returns the text of all structs that the generated text defines."""
    return "\n".join(re.findall(r"^(?:typedef )?struct[^;{]*\{(.*?)^\}", source, re.DOTALL | re.MULTILINE))


@pytest.mark.row("T23")
@pytest.mark.parametrize("simple", [None, True, False, lambda self: True, lambda self: False])
def test_only_what_is_not_simple_is_a_member_of_the_struct(simple: Any) -> None:
    kind = type("Typed", (CheckedDouble,), {} if simple is None else {"c_is_simple": simple})
    is_simple = simple(None) if callable(simple) else simple
    x, y = xy(kind)
    k = cwrapjit.link([x, y], Add(Add(x, y), y))
    members = re.findall(r"\bdouble (V\d+\w*);", state_members(k.source))
    assert [name.split("_")[0] for name in members] == ([] if is_simple else ["V3", "V4"])
    assert k(1.0, 2.0) == 5.0
    flat = cwrapjit.link([x, y], Add(Add(x, y), y), mode="function")
    assert "double V3" not in state_members(flat.source)
    assert flat(1.0, 2.0) == 5.0


@pytest.mark.row("T26")
@both_forms
def test_blocks_are_nested_with_one_label_and_one_code_each(mode: str) -> None:
    source = linked(
        template_op(validate="if (%(x)s < 0) %(fail)s", code="if (%(y)s < 0) %(fail)s %(z)s = 1;"), mode=mode
    ).source
    text = re.sub(r"/\*.*?\*/", "", source[source.index("static int cwj_step_0") :], flags=re.DOTALL)
    labels = re.findall(r"^\s*label_(\d+):", text, re.MULTILINE)
    assert labels == ["5", "4", "3", "2", "1"]
    for n in (1, 2, 4, 5):
        assert f"{{failure = {n}; goto label_{n};}}" in text
    # Each label is one block further out than the one before it.
    depth = {}
    for n in range(1, 6):
        ahead = text[: text.index(f"label_{n}:")]
        depth[n] = ahead.count("{") - ahead.count("}")
    assert [depth[n] - depth[1] for n in range(1, 6)] == [0, 1, 2, 3, 4]
    # A block's text stands before the blocks inside it, and its cleanup after them.
    order = ["py_V1_x)", "py_V2_y)", "failure = 4", "failure = 5", "label_5:", "label_4:", "label_3:"]
    places = [text.index(mark) for mark in order]
    assert places == sorted(places)


@both_forms
def test_each_line_directive_says_its_own_line(mode: str) -> None:
    """Messages name lines of the generated text, so #line directives must be right."""
    own = 0
    for number, line in enumerate(linked(Add, mode=mode).source.splitlines(), start=1):
        if re.match(r'#line \d+ "<cwrapjit \S+ generated>"', line):
            assert int(line.split()[1]) == number + 1
            own += 1
    assert own > 1


# ---- compile failures, missing code ----------------------------------------------------------------


@pytest.mark.row("T10i")
def test_c_that_does_not_compile_tells_the_op_and_the_line() -> None:
    op = template_op(code="\n\n  %(z)s = nonsense + 1;")
    refused(op, "'nonsense' undeclared", "Templated", "c_code")
    caught = refuses(cwrapjit.CompileError, lambda: linked(op), "'nonsense' undeclared")
    assert isinstance(caught, SyntaxError)
    assert caught.lineno == 3
    assert "Templated.c_code" in (caught.filename or "")


# ---- reference counts ------------------------------------------------------------------------------


@pytest.mark.row("T13i")
@both_forms
def test_none_old_items_and_results_are_counted_right(mode: str) -> None:
    """The document's sketch releases a None that it does not own, and the new item twice."""

    class Item:
        pass

    k = linked(Add, mode=mode)
    k.cells[0][0], k.cells[1][0] = 1e3, 2e3
    old = Item()
    count = sys.getrefcount(old)
    gc.collect()  # garbage of other tests may refer to None
    none = sys.getrefcount(None)
    for _ in range(1000):
        k.cells[2][0] = old
        assert sys.getrefcount(old) == count + 1
        assert k.run() == 0
        assert sys.getrefcount(old) == count
        references = sys.getrefcount(k.cells[2][0])
        assert references == 2, "the cell's, and that of the call which counts"
    k.cells[0][0] = -1.0
    for _ in range(1000):
        k.cells[2][0] = old
        assert k.run() == 4
        assert sys.getrefcount(old) == count + 1
        k.cells[2][0] = None
    assert abs(sys.getrefcount(None) - none) < 500, "not one for each run"


@pytest.mark.row("A20")
def test_the_channel_is_there_under_its_names() -> None:
    """py_NAME is the caller's object, and storage_NAME the list that holds it."""

    class Nosy(D):
        def c_extract(self, name, sub, **kwargs):
            return (
                D.c_extract(self, name, sub)
                + f"""
                if (PyList_GetItem(storage_{name}, 0) != py_{name}) {{
                    PyErr_SetString(PyExc_SystemError, "another object");
                    {sub["fail"]}
                }}"""
            )

    for mode in MODES:
        assert linked(add, Nosy(), mode=mode)(1.0, 2.0) == 3.0


# ---- leaving a snippet -----------------------------------------------------------------------------

LEAVES = [
    ("return 1;", "return"),
    ("if ({x} < 0) return 1;", "return"),
    ("goto out;", "goto"),
    ("goto label_1;", "goto"),
    ("if ({x} < 0) break;", "break"),
    ("continue;", "continue"),
    ("for (;;) { break; } break;", "break"),
    ("while (0) ; continue;", "continue"),
    ("switch (1) { case 1: continue; }", "continue"),
    ("{ { return 1; } }", "return"),
    ("void *out = &&label_1; goto *out;", "belongs to the generated text"),
]


@pytest.mark.quick
@pytest.mark.row("A23")
@pytest.mark.parametrize("code, word", LEAVES)
def test_ways_out_of_a_snippet_are_refused(code: str, word: str) -> None:
    refused(filled_op(code), "Filled", "c_code", word)
    refused(filled_op("", cleanup=code), "Filled", "c_code_cleanup", word)

    class Typed(D):
        def c_extract(self, name, sub, **kwargs):
            return D.c_extract(self, name, sub) + code.replace("{x}", name)

    refused(add, "c_extract", word, kind=Typed())


STAYS = [
    "for (int i = 0; i < 3; i++) { if (i == 1) continue; if (i == 2) break; } {z} = 1;",
    "int i = 0; while (1) { if (++i < 3) continue; break; } {z} = 1;",
    "int i = 0; do { if (++i > 2) break; } while (1); {z} = 1;",
    "int i = 0; again: if (i++ < 3) goto again; {z} = 1;",
    "switch (2) { case 1: {z} = 0; break; case 2: {z} = 1; break; default: break; }",
    "for (int i = 0; i < 2; i++) switch (i) { case 1: continue; default: break; } {z} = 1;",
    "const char *s = \"return; break; goto out;\"; {z} = s[0] == 'r';",
    "/* return 1; goto out; */ {z} = 1; // break",
    "int returns = 1, breaks = 0, gotos = 0; {z} = returns + breaks + gotos;",
    "{z} = 1;\n#if 0\nreturn 1;\n#endif\n",
]


@pytest.mark.quick
@pytest.mark.row("A23")
@both_forms
@pytest.mark.parametrize("code", STAYS)
def test_what_stays_inside_is_fine(code: str, mode: str) -> None:
    assert linked(filled_op(code), mode=mode)(5.0, 2.0) == 1.0
    assert linked(filled_op("{z} = 1;", cleanup=code), mode=mode)(5.0, 2.0) == 1.0


@pytest.mark.row("A23")
def test_support_code_may_return_but_not_carry_a_return_into_a_snippet() -> None:
    def support(text: str) -> Any:
        return lambda self, **kw: text

    half = filled_op(
        "{z} = half({x});", c_support_code=support("static double half(double x) { return x / 2; }")
    )
    assert linked(half)(5.0, 2.0) == 2.5
    for text in (
        "#define LEAVE return 1",
        "#define AWAY return 1\n#define LEAVE AWAY",
        "#define LEAVE break",
        "#define LEAVE goto label_1",
    ):
        for mode in MODES:
            op = filled_op("if ({x} < 0) LEAVE; {z} = 1;", c_support_code=support(text))
            with pytest.raises(cwrapjit.CompileError):
                linked(op, mode=mode)
    loops = "#define UNTIL(n) for (int i = 0;; i++) if (i == (n)) break"
    assert linked(filled_op("UNTIL(3); {z} = 1;", c_support_code=support(loops)))(1.0, 2.0) == 1.0


@pytest.mark.row("A24")
@both_forms
def test_the_caller_of_c_code_may_give_a_failure_code_of_its_own(mode: str) -> None:
    """Tests an op that puts the text of another into its own loop, as elementwise ops do."""
    inner = filled_op("if ({x} < 0) {fail} {z} = {x};")

    class Three(cg.COp):
        def c_code(self, node, name, inputs, outputs, sub):
            once = inner.c_code(node, name, ["item"], ["good"], dict(sub, fail="{bad++; continue;}"))
            return f"""
                double items[3] = {{1, -1, 1}}, good = 0, sum = 0;
                int bad = 0;
                for (int i = 0; i < 3; i++) {{
                    double item = items[i] * {inputs[0]};
                    {once}
                    sum += good;
                }}
                {outputs[0]} = 100 * bad + sum;
            """

    assert linked(Three(), mode=mode)(1.0, 0.0) == 102.0
    assert linked(Three(), mode=mode)(-1.0, 0.0) == 201.0


@pytest.mark.row("T11", "A05")
@both_forms
def test_a_sync_of_this_protocol_may_fail(mode: str) -> None:
    """A failing sync runs the variable's cleanup, and the earlier result stays."""
    t = Trace()

    class Small(D):
        def c_sync(self, name, sub):
            stop = f'if ({name} > 5) {{ PyErr_SetString(PyExc_OverflowError, "large"); {sub["fail"]} }}'
            return stop + D.c_sync(self, name, sub)

        def c_cleanup(self, name, sub):
            return t.mark("cleanup " + name.split("_")[0])

    k = linked(add, Small(), mode=mode)
    assert k(1.0, 2.0) == 3.0
    t.words()
    refuses(OverflowError, lambda: k(4.0, 2.0), "large")
    assert t.words() == [*(["cleanup V3"] if mode == "function" else []), "cleanup V2", "cleanup V1"]
    assert k.run() == 3 and k.cells[2] == [3.0]
    assert k(2.0, 2.0) == 4.0
    t.words()


@pytest.mark.row("A29")
@both_forms
def test_a_types_cleanup_sees_what_it_declared_and_nothing_else(mode: str) -> None:
    class Leaky(D):
        def c_extract(self, name, sub, **kwargs):
            return "int local_of_extract = 1;" + D.c_extract(self, name, sub)

        def c_cleanup(self, name, sub):
            return "local_of_extract = 0;"

    caught = refuses(cwrapjit.CompileError, lambda: linked(add, Leaky(), mode=mode), "local_of_extract")
    assert "local_of_extract" in str(caught)
    assert "c_cleanup" in f"{caught.filename} {caught}"


@pytest.mark.row("A07i")
@both_forms
def test_a_graph_is_one_unit(mode: str) -> None:
    x, y = xy()
    z = x
    for k in range(5):
        z = mul(add(z, y), filled_op(f"{{z}} = {{x}} - {k} - {id(y)}.0 * 0;")(y, y))
    before = cwrapjit.config.compiled_graphs
    k = cwrapjit.link([x, y], z, mode=mode)
    assert cwrapjit.config.compiled_graphs == before + 1
    assert k.source.count("c_code") >= 15
    wanted = 1.0
    for n in range(5):
        wanted = (wanted + 2.0) * (2.0 - n)
    assert k(1.0, 2.0) == wanted


CPP = [
    "std::vector<double> v; {z} = v.size();",
    "auto f = [](double a) { return a; }; {z} = std::abs({x});",
    "{z} = static_cast<double>({x});",
    "double *p = new double[3]; {z} = *p; delete[] p;",
    "{z} = nullptr == 0;",
]


@pytest.mark.quick
@pytest.mark.row("A08i")
@pytest.mark.parametrize("code", CPP)
def test_code_that_is_cpp_gets_an_error_that_says_so(code: str) -> None:
    refused(filled_op(code), "Filled", "c_code", "C++")


@pytest.mark.quick
@pytest.mark.row("A08i")
@pytest.mark.parametrize(
    "code",
    [
        'asm volatile("" ::: "memory"); oops;',
        '__asm__ __volatile__("nop" : : "r"(1) :"memory"); asm("" :: "r"(2)); oops;',
        'int a = 1; asm("" : "+r"(a) :: "memory"); {z} = a; oops;',
    ],
)
def test_colons_of_an_asm_are_c(code: str) -> None:
    caught = refuses(cwrapjit.CompileError, lambda: linked(filled_op(code)), "'oops' undeclared")
    assert "C++" not in said(caught)
    refused(filled_op(code + " std::abs(1);"), "C++")


@pytest.mark.row("A08i")
@pytest.mark.parametrize(
    "text",
    ["template <typename T> T half(T x) { return x / 2; }", "namespace a { int b; }", "#include <vector>"],
)
def test_support_code_that_is_cpp_gets_an_error_that_says_so(text: str) -> None:
    refused(filled_op("{z} = 1;", c_support_code=lambda self, **kw: text), "Filled", "C++")
