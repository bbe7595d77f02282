"""Types and ops of the later protocol, whose methods get names and return finished C text: CType and COp."""

from __future__ import annotations

import gc
import re
import sys
from typing import Any

import pytest
from graph_seeds import Add, Binary, CheckedDouble, D, Unfiltered, add, double, filled_op, mul, said
from graph_types import Trace
from helpers import refuses

import cwrapjit
import cwrapjit.graph as cg

MODES = ("struct", "function")
both_forms = pytest.mark.parametrize("mode", MODES)


def xy(kind: Any = double) -> tuple[Any, Any]:
    return kind("x"), kind("y")


def linked(op: Any, kind: Any = double, **options: Any) -> Any:
    x, y = xy(kind)
    return cwrapjit.link([x, y], op(x, y), **options)


def refused(op: Any, *words: str, kind: Any = double) -> None:
    """link() of the op raises CompileError, in both forms, with these words in what it says."""
    for mode in MODES:
        with pytest.raises(cwrapjit.CompileError) as caught:
            linked(op, kind, mode=mode)
        text = said(caught.value)
        assert not [word for word in words if word not in text], text


# ---- the methods of a type -------------------------------------------------------------------------


class Recording(D):
    """Keeps what its methods are called with."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any, Any, dict[str, Any]]] = []

    def note(self, method: str, name: Any, sub: Any, **others: Any) -> Any:
        self.calls.append((method, name, sub, others))
        return getattr(D, method)(self, name, sub)

    def c_declare(self, name, sub, check_input=True):
        return self.note("c_declare", name, sub, check_input=check_input)

    def c_init(self, name, sub):
        return self.note("c_init", name, sub)

    def c_extract(self, name, sub, check_input=True, **kwargs):
        return self.note("c_extract", name, sub, check_input=check_input, **kwargs)

    def c_sync(self, name, sub):
        return self.note("c_sync", name, sub)

    def c_cleanup(self, name, sub):
        return self.note("c_cleanup", name, sub)


@pytest.mark.row("A02", "A03", "A04", "A05", "A06")
@both_forms
def test_methods_get_a_name_and_pieces_of_c(mode: str) -> None:
    kind = Recording()
    assert linked(add, kind, mode=mode)(1.0, 2.0) == 3.0
    by_method: dict[str, set[str]] = {}
    for method, name, sub, others in kind.calls:
        assert type(name) is str and name.isidentifier()
        assert isinstance(sub, dict) and isinstance(sub["fail"], str)
        assert "goto label_" in sub["fail"]
        assert set(others) <= {"check_input"} and others.get("check_input", True) is True
        by_method.setdefault(method, set()).add(name)
    x, y, z = sorted(by_method["c_declare"])
    assert (x, y) == ("V1_x", "V2_y")
    assert by_method == {
        "c_declare": {x, y, z},
        "c_init": {z},
        "c_extract": {x, y},
        "c_sync": {z},
        "c_cleanup": {x, y, z},
    }


@pytest.mark.row("A02", "A04")
def test_check_input_and_keywords_go_only_where_they_are_taken() -> None:
    """The document's own final version takes no check_input in c_declare, and **kwargs in c_extract."""
    seen = []

    class Keywords(D):
        def c_extract(self, name, sub, **kwargs):
            seen.append(kwargs)
            return super().c_extract(name, sub)

    class Bare(D):
        def c_extract(self, name, sub):
            return super().c_extract(name, sub)

    assert linked(add, Keywords())(1.0, 2.0) == 3.0
    assert seen and all(set(found) <= {"check_input"} for found in seen)
    assert linked(add, Bare())(1.0, 2.0) == 3.0


@pytest.mark.row("A02")
@both_forms
def test_typedefs_may_be_declared(mode: str) -> None:
    class Typed(D):
        def c_declare(self, name, sub, check_input=True):
            return f"typedef double {name}_t; {name}_t {name};"

    op = filled_op("{x}_t twice = 2 * {x}; {z} = twice + {y};")
    assert linked(op, Typed(), mode=mode)(1.0, 2.0) == 4.0


@pytest.mark.row("A01")
@both_forms
def test_a_type_converts_from_python_and_back(mode: str) -> None:
    identity = filled_op("{z} = {x};")
    x = double("x")
    k = cwrapjit.link([x], [identity(x)], mode=mode)
    assert k(1.5) == 1.5
    assert k("0.25") == 0.25, "filter() comes first"


# ---- names -----------------------------------------------------------------------------------------


@pytest.mark.row("A19", "A32")
@both_forms
def test_each_variable_has_a_name_of_its_own(mode: str) -> None:
    x, y = D()("x"), D()("x")
    k = cwrapjit.link([x, y], add(mul(x, y), mul(x, y)), mode=mode)
    assert k(2.0, 3.0) == 12.0
    declared = re.findall(r"^\s*double (V\w+);", k.source, re.MULTILINE)
    assert len(declared) == len(set(declared)) == 5
    assert [name.split("_")[0] for name in sorted(declared)] == ["V1", "V2", "V3", "V4", "V5"]


@pytest.mark.row("A20")
@pytest.mark.parametrize("reserved", ["py_", "storage_"])
def test_the_names_of_the_channel_may_not_be_declared(reserved: str) -> None:
    class Greedy(D):
        def c_declare(self, name, sub):
            return f"double {name}; PyObject *{reserved}{name};"

    refused(add, "Greedy.c_declare of x", f"{reserved}V1_x", kind=Greedy())


@pytest.mark.row("A20")
def test_the_channel_is_there_under_its_names() -> None:
    """py_NAME is the caller's object, storage_NAME the list that holds it."""

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


@pytest.mark.quick
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
    """An op that puts another one's text into a loop of its own, as elementwise ops do."""
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


# ---- the document's double -------------------------------------------------------------------------


@pytest.mark.row("A25")
@both_forms
def test_extract_takes_floats_only(mode: str) -> None:
    k = linked(add, Unfiltered(), mode=mode)
    assert k(1.0, 2.0) == 3.0
    refuses(TypeError, lambda: k(1, 2.0), "expected a float")
    refuses(TypeError, lambda: k(1.0, None), "expected a float")
    assert k(1.0, 2.0) == 3.0


@pytest.mark.row("A21", "A30")
@both_forms
def test_a_failing_extract_gives_its_block_to_run_and_its_exception_to_a_call(mode: str) -> None:
    t = Trace()

    class Watched(Unfiltered):
        def c_cleanup(self, name, sub):
            return t.mark("cleanup " + name.split("_")[-1])

    k = linked(add, Watched(), mode=mode)
    k.cells[0][0], k.cells[1][0] = 1.0, "a"
    kept = object()
    k.cells[2][0] = kept
    assert k.run() == 2
    assert type(k.error) is TypeError
    assert t.words() == ["cleanup y", "cleanup x"]
    assert k.cells[2][0] is kept
    k.cells[0][0] = "a"
    assert k.run() == 1
    assert t.words() == ["cleanup x"]
    refuses(TypeError, lambda: k("a", 1.0), "expected a float")


@pytest.mark.row("A26", "A27")
@both_forms
def test_sync_makes_a_new_float_and_leaves_the_old_object_to_its_owner(mode: str) -> None:
    k = linked(add, mode=mode)
    k.cells[0][0], k.cells[1][0] = 1.5, 2.5
    old = object()
    k.cells[2][0] = old
    count = sys.getrefcount(old)
    assert k.run() == 0
    assert sys.getrefcount(old) == count - 1
    result = k.cells[2][0]
    assert result == 4.0
    count = sys.getrefcount(result)
    assert k.run() == 0
    assert k.cells[2][0] == 4.0 and k.cells[2][0] is not result
    assert sys.getrefcount(result) == count - 1


@pytest.mark.quick
@pytest.mark.row("A26", "A27")
@both_forms
def test_a_sync_that_leaves_null_gives_none_and_one_that_changes_nothing_gives_none_too(mode: str) -> None:
    class Null(D):
        def c_sync(self, name, sub):
            return f"Py_XDECREF(py_{name}); py_{name} = NULL;"

    class Nothing(D):
        def c_sync(self, name, sub):
            return ""

    for kind in (Null(), Nothing()):
        k = linked(add, kind, mode=mode)
        none = sys.getrefcount(None)
        for _ in range(200):
            assert k(1.0, 2.0) is None
        assert abs(sys.getrefcount(None) - none) < 20


@pytest.mark.row("T11", "A05")
@both_forms
def test_a_sync_of_this_protocol_may_fail(mode: str) -> None:
    """It goes to the variable's own cleanup, and the result of the run before stays."""
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


@pytest.mark.row("A29")
@both_forms
@pytest.mark.parametrize("fails_in", ["x", "y", "code"])
def test_the_cleanup_follows_any_failure(fails_in: str, mode: str) -> None:
    t = Trace()

    class Failing(D):
        def c_extract(self, name, sub, **kwargs):
            stop = f'PyErr_SetString(PyExc_KeyError, "fails in {fails_in}"); {sub["fail"]}'
            return t.mark("extract") + (f"{{ {stop} }}" if name.endswith("_" + fails_in) else f"{name} = 1;")

        def c_cleanup(self, name, sub):
            return t.mark("cleanup") if "_" in name else ""

    stop = '{ PyErr_SetString(PyExc_KeyError, "fails in code"); {fail} }' if fails_in == "code" else ""
    k = linked(filled_op(stop + "{z} = 1;", cleanup=t.mark("cleanup code")), Failing(), mode=mode)
    refuses(KeyError, lambda: k(1.0, 1.0), f"fails in {fails_in}")
    entered = {"x": 1, "y": 2, "code": 2}[fails_in]
    own = ["cleanup code"] if fails_in == "code" else []
    assert t.words() == ["extract"] * entered + own + ["cleanup"] * entered


# ---- the document's graph --------------------------------------------------------------------------


class WatchedDouble(D):
    """Says what happens to which variable."""

    def __init__(self, t: Trace) -> None:
        self.t = t

    def said(self, what: str, name: str, text: str) -> str:
        letter = {"V1": "x", "V2": "y", "V3": "z", "V4": "a", "V5": "b"}[name.split("_")[0]]
        return text + self.t.mark(f"{what} {letter}")

    def c_init(self, name, sub):
        return self.said("init", name, D.c_init(self, name, sub))

    def c_extract(self, name, sub, **kwargs):
        return self.said("extract", name, D.c_extract(self, name, sub))

    def c_sync(self, name, sub):
        return self.said("sync", name, D.c_sync(self, name, sub))

    def c_cleanup(self, name, sub):
        return self.said("cleanup", name, "")


class WatchedBinary(Binary):
    def __init__(self, t: Trace, name: str, sign: str) -> None:
        super().__init__(name, sign)
        self.t = t

    def c_code(self, node, name, inputs, outputs, sub):
        stop = f'if ({inputs[0]} < 0) {{ PyErr_SetString(PyExc_ValueError, "negative"); {sub["fail"]} }}'
        text = super().c_code(node, name, inputs, outputs, sub)
        return self.t.mark(f"code {self.name}") + (stop if self.name == "mul" else "") + text

    def c_code_cleanup(self, node, name, inputs, outputs, sub):
        return self.t.mark(f"cleanup {self.name}")


def graph_of_the_document(t: Trace, **options: Any) -> Any:
    kind = WatchedDouble(t)
    x, y, z = kind("x"), kind("y"), kind("z")
    a = WatchedBinary(t, "add", "+")(x, y)
    b = WatchedBinary(t, "mul", "*")(a, z)
    return cwrapjit.link([x, y, z], [b], **options)


BEGUN = ["extract x", "extract y", "extract z", "init a", "init b"]
ENDED = ["cleanup b", "cleanup a", "cleanup z", "cleanup y", "cleanup x"]


@pytest.mark.row("A30")
def test_what_happens_in_a_graph_and_in_which_order() -> None:
    t = Trace()
    k = graph_of_the_document(t, mode="function")
    assert k(1.0, 2.0, 3.0) == 9.0
    assert t.words() == [*BEGUN, "code add", "code mul", "cleanup mul", "cleanup add", "sync b", *ENDED]
    refuses(ValueError, lambda: k(-3.0, 2.0, 3.0), "negative")
    assert t.words() == [*BEGUN, "code add", "code mul", "cleanup mul", "cleanup add", *ENDED]
    assert k.run() == 7
    t.words()


@pytest.mark.row("A30")
def test_what_happens_in_the_struct_form() -> None:
    t = Trace()
    k = graph_of_the_document(t)
    assert k(1.0, 2.0, 3.0) == 9.0
    said = t.words()
    assert sorted(said[:5]) == sorted(BEGUN)
    inputs_ended = ["cleanup z", "cleanup y", "cleanup x"]
    ran = ["code add", "code mul", "cleanup mul", "cleanup add"]
    assert said[5:] == [*ran, "sync b", *inputs_ended]
    refuses(ValueError, lambda: k(-3.0, 2.0, 3.0), "negative")
    extracts = ["extract x", "extract y", "extract z"]
    assert t.words() == [*extracts, *ran, *inputs_ended], "a and b are kept"
    assert k.run() == 7
    t.words()
    k = None
    gc.collect()
    assert t.words() == ["cleanup b", "cleanup a"]


@pytest.mark.row("A31")
@both_forms
def test_one_block_for_all_or_one_per_op(mode: str) -> None:
    whole, each = Trace(), Trace()
    assert graph_of_the_document(whole, mode=mode)(1.0, 2.0, 3.0) == 9.0
    assert graph_of_the_document(each, mode=mode, per_op=True)(1.0, 2.0, 3.0) == 9.0
    said = whole.words()
    assert "sync a" not in said and "extract a" not in said
    said = each.words()
    places = [said.index(word) for word in ("code add", "sync a", "extract a", "code mul", "sync b")]
    assert places == sorted(places)


# ---- Python's side of a type -----------------------------------------------------------------------


@pytest.mark.row("A33", "A35")
def test_filter_and_name_of_the_documents_double() -> None:
    assert D().filter("3") == 3.0
    refuses(TypeError, lambda: D().filter(1, strict=True), "Expected a float!")
    assert D().filter(1.5, strict=True) == 1.5
    assert str(D()) == "double"
    k = linked(add)
    assert k("3", 4) == 7.0
    refuses(ValueError, lambda: k("three", 4), "'three'")


@pytest.mark.row("A42")
@both_forms
def test_percent_signs(mode: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Finished text stays as it is; a template's own %% becomes one."""
    said = 'PyErr_Format(PyExc_ValueError, "%d%% of %s", (int)5 % 3, "it"); {fail}'
    refuses(ValueError, lambda: linked(filled_op(said), mode=mode)(1.0, 2.0), "2% of it")

    class Templated(cg.Op):
        text = 'PyErr_Format(PyExc_ValueError, "%%d%%%% of %%s", (int)5 %% 3, "it"); %(fail)s'

        def c_var_names(self):
            return [["x", "y"], ["z"]]

        def c_code(self):
            return self.text

    refuses(ValueError, lambda: linked(Templated(), mode=mode)(1.0, 2.0), "2% of it")
    Templated.text = "\n\n  int a = 5 % 3;"
    refuses(ValueError, lambda: linked(Templated(), mode=mode), "Templated", "c_code", "line 3")


# ---- one unit per graph ----------------------------------------------------------------------------


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


@pytest.mark.row("A08i")
@both_forms
def test_inputs_may_be_given_by_the_name_of_their_variable(mode: str) -> None:
    k = linked(filled_op("{z} = {x} - {y};"), mode=mode)
    assert k(y=1.0, x=5.0) == k(5.0, y=1.0) == k(5.0, 1.0) == 4.0
    refuses(TypeError, lambda: k(5.0), "missing required argument 'y' (position 2)")
    refuses(TypeError, lambda: k(5.0, 1.0, x=5.0), "multiple values", "'x'")
    refuses(TypeError, lambda: k(5.0, w=1.0), "unexpected keyword", "'w'")
    refuses(TypeError, lambda: k(5.0, 1.0, 2.0), "takes 2 positional", "3 were given")
    refuses(TypeError, lambda: k(), "missing required argument 'x' (position 1)")


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


@pytest.mark.quick
@pytest.mark.row("A08i")
@pytest.mark.parametrize(
    "text",
    ["template <typename T> T half(T x) { return x / 2; }", "namespace a { int b; }", "#include <vector>"],
)
def test_support_code_that_is_cpp_gets_an_error_that_says_so(text: str) -> None:
    refused(filled_op("{z} = 1;", c_support_code=lambda self, **kw: text), "Filled", "C++")


# ---- both protocols in one graph -------------------------------------------------------------------


@pytest.mark.row("A31", "T03")
@both_forms
def test_both_protocols_go_together(mode: str) -> None:
    x, y = CheckedDouble("x"), double("y")
    z = Add(x, add(y, Add(y, x)))
    assert cwrapjit.link([x, y], z, mode=mode)(1.0, 2.0) == 6.0
    assert cwrapjit.link([x, y], z, mode=mode, per_op=True)(1.0, 2.0) == 6.0
