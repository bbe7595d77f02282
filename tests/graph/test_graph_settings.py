"""Tests what types and ops want for a whole unit: headers, code, folders, arguments, compilers, versions."""

from __future__ import annotations

import functools
import gc
import inspect
import pathlib
from collections.abc import Callable
from typing import Any

import pytest
from graph_types import Cell, D, FilledOp, Variable, add
from helpers import build_shared, compiler, refuses

import cwrapjit

link = cwrapjit.link


def party(base: Any, **answers: Any) -> Any:
    """Gives a type or op methods with these results; a callable is the method itself."""
    for name, answer in answers.items():
        setattr(base, name, answer if callable(answer) else lambda answer=answer: answer)
    return base


def op(code: str = "{z} = {x};", **answers: Any) -> Any:
    return party(FilledOp(code, name="op"), **answers)


def run(node_op: Any, type: Any = None, value: float = 1.0, **options: Any) -> float:
    x = Variable(type or D(), "x")
    return link([x], node_op(x), **options)(value)  # type: ignore[no-any-return]


# ---- headers, folders, libraries -------------------------------------------------------------------


@pytest.mark.row("A07", "A08")
@pytest.mark.parametrize("on_type", [False, True])
def test_headers_and_libraries(on_type: bool) -> None:
    for headers in ("math.h", ["<math.h>"], ("math.h", "<math.h>"), [" math.h "]):
        answers = {"c_headers": headers, "c_libraries": ["m"]}
        code = "{z} = sin({x});"
        k_op, type = (op(code), party(D(), **answers)) if on_type else (op(code, **answers), D())
        x = Variable(type, "x")
        k = link([x], k_op(x))
        assert k(0.0) == 0.0
        assert k.source.count("#include <math.h>") == 1


def test_macros_of_the_arguments_meet_the_texts() -> None:
    """If ## makes `//`, libtcc would read on without end."""
    support = "#define PASTE_(a, b) a##b\n#define PASTE(a, b) PASTE_(a, b)\n"
    made = op("{z} = 4 PASTE(SLASH, SLASH) 2;", c_compile_args=["-DSLASH=/"], c_support_code=support)
    refuses(cwrapjit.CompileError, lambda: run(made), "together with ## is not supported")


@pytest.mark.row("A07", "A09")
def test_own_headers_and_their_folders(tmp_path: pathlib.Path) -> None:
    (tmp_path / "my.h").write_text("#define MINE 42\n")
    for header in ('"my.h"', "my.h", "<my.h>"):
        assert (
            run(op("{z} = MINE;", c_headers=[header], c_header_dirs=[str(tmp_path), str(tmp_path), ""]))
            == 42.0
        )
    refuses(cwrapjit.CompileError, lambda: run(op("{z} = MINE;", c_headers=['"my.h"'])), "my.h")


@pytest.mark.quick
@pytest.mark.row("A08", "A10")
def test_own_libraries_and_their_folders(tmp_path: pathlib.Path) -> None:
    compiler()
    build_shared(tmp_path, "libown.so", "double own(double x) { return 3 * x; }")
    answers = {"c_support_code": "double own(double);", "c_libraries": ["own"], "c_lib_dirs": [str(tmp_path)]}
    assert run(op("{z} = own({x});", **answers), value=2.0) == 6.0
    answers["c_libraries"], answers["c_lib_dirs"] = ["m"], []
    refuses(cwrapjit.CompileError, lambda: run(op("{z} = own({x});", **answers)), "own")
    refuses(OSError, lambda: run(op(c_libraries=["nowhere_to_be_found"])), "nowhere_to_be_found")


WISHES = ["c_headers", "c_libraries", "c_header_dirs", "c_lib_dirs", "c_compile_args", "c_no_compile_args"]


def test_none_is_no_wish() -> None:
    more = ["c_init_code", "c_support_code", "c_compiler", "c_code_cache_version"]
    assert run(op(**dict.fromkeys(WISHES + more, lambda: None))) == 1.0


# ---- c_compiler as an argument ---------------------------------------------------------------------


@pytest.mark.row("A11")
@pytest.mark.parametrize("method", WISHES)
def test_the_compiler_is_passed_where_there_is_room(method: str) -> None:
    seen: list[Any] = []
    for function in (
        lambda c_compiler=None: seen.append(c_compiler),
        lambda c_compiler: seen.append(c_compiler),
        lambda **kw: seen.append(kw),
        lambda: seen.append("nothing"),
        lambda verbose=False: seen.append(verbose),
    ):
        run(op(**{method: function}))
    assert seen == ["tcc", "tcc", {"c_compiler": "tcc"}, "nothing", False]


@pytest.mark.row("A11")
def test_a_builtin_that_has_no_signature_gets_no_keywords() -> None:
    headers = functools.partial(max, [""], ["<math.h>"])
    with pytest.raises(ValueError, match="no signature"):
        inspect.signature(headers)
    assert run(op("{z} = sqrt({x}) + 1;", c_headers=headers)) == 2.0


@pytest.mark.row("A11")
def test_a_type_error_inside_is_no_reason_to_ask_again() -> None:
    calls: list[Any] = []

    def headers(c_compiler: Any = None) -> list[str]:
        calls.append(c_compiler)
        return ["a" + 5]  # type: ignore[operator]

    refuses(TypeError, lambda: run(op(c_headers=headers)), "concatenate")
    assert calls == ["tcc"]


# ---- arguments -------------------------------------------------------------------------------------


SHOW = """
#ifdef X
{z} = X;
#else
{z} = -1;
#endif
"""


@pytest.mark.row("A12")
@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ([], -1.0),
        (["-DX=5"], 5.0),
        ("-DX=5", 5.0),
        (["-D", "X=6"], 6.0),
        (["-D X=7"], 7.0),
        (["-DX"], 1.0),
        (["-DX=5", "-UX"], -1.0),
        (["-DX=5", "-U", "X", "-DX=8"], 8.0),
        (["-DX=1", "-DX=2"], 2.0),
        (["-O3", "-Wall", "-fPIC", "-march=native", "-g", "-std=c99", "-pthread", "-w", "-DX=3", ""], 3.0),
    ],
)
def test_arguments(arguments: Any, value: float) -> None:
    assert run(op(SHOW, c_compile_args=arguments)) == value


@pytest.mark.row("A12", "A13")
def test_assert_is_off_as_in_any_extension_module() -> None:
    asserting = "#ifdef NDEBUG\n{z} = 0;\n#else\n{z} = 1;\n#endif"
    assert run(op("assert(0); {z} = {x};", c_headers=["assert.h"]), value=2.0) == 2.0
    assert run(op(asserting)) == 0.0
    assert run(op(asserting, c_compile_args=["-UNDEBUG"])) == 1.0
    assert run(op(asserting, c_no_compile_args=["-DNDEBUG"])) == 1.0


@pytest.mark.row("A12")
def test_arguments_with_folders_and_libraries(tmp_path: pathlib.Path) -> None:
    (tmp_path / "my.h").write_text("#define MINE 42\n")
    for arguments in ([f"-I{tmp_path}"], ["-I", str(tmp_path)], [f"-I {tmp_path}"]):
        assert run(op("{z} = MINE;", c_headers="my.h", c_compile_args=arguments)) == 42.0
    build_shared(tmp_path, "libown.so", "double own(double x) { return 3 * x; }")
    arguments = ["-L", str(tmp_path), "-lown"]
    code = op("{z} = own({x});", c_support_code="double own(double);", c_compile_args=arguments)
    assert run(code, value=2.0) == 6.0


@pytest.mark.row("A13")
def test_arguments_are_removed_whoever_adds_them() -> None:
    adds = {"c_compile_args": ["-DX=1"]}
    removes = {"c_no_compile_args": ["-DX=1"]}
    assert run(op(SHOW, **adds)) == 1.0
    assert run(op(SHOW, **adds, **removes)) == -1.0
    assert run(op(SHOW, **adds), party(D(), **removes)) == -1.0
    assert run(op(SHOW, **removes), party(D(), **adds)) == -1.0
    assert run(op(SHOW, **adds, c_no_compile_args=["-DX"])) == 1.0


# ---- code ------------------------------------------------------------------------------------------


SUPPORT = "static double twice(double x) { return 2 * x; }"


@pytest.mark.row("A15")
@pytest.mark.parametrize("support", [SUPPORT, [SUPPORT], [SUPPORT, SUPPORT], ("", SUPPORT)])
def test_support_code_is_there_once(support: Any) -> None:
    x, y = (
        Variable(party(D(), c_support_code=support), "x"),
        Variable(party(D(), c_support_code=support), "y"),
    )
    node_op = op("{z} = twice({x}) + twice({y});", c_support_code=support)
    k = link([x, y], node_op(x, y))
    assert k(1.0, 2.0) == 6.0
    assert k.source.count(SUPPORT) == 1


def test_support_code_that_differs_is_all_there() -> None:
    code = op("{z} = one() + two();", c_support_code=["static int one(void) { return 1; }"])
    assert run(code, party(D(), c_support_code="static int two(void) { return 2; }")) == 3.0


@pytest.mark.row("A14")
@pytest.mark.parametrize("init", ["started++;", ["started++;"], ["", "started++;", "started++;"]])
def test_init_code_runs_once_before_everything(init: Any) -> None:
    support = "static int started; static int before(void) { return started; }"
    type = party(D(), c_support_code=support, c_init_code=init)
    x = Variable(type, "x")
    k = link([x], op("{z} = before();", c_init_code=init)(x))
    assert [k(1.0), k(1.0), k(1.0)] == [1.0] * 3
    assert k.bind([1.0], [None]).run() == 0


@pytest.mark.row("A14")
def test_import_array_is_accepted() -> None:
    assert run(op(c_init_code=["import_array();"])) == 1.0
    assert run(op(c_headers=["<numpy/arrayobject.h>"], c_init_code=["import_array();"])) == 1.0


@pytest.mark.quick
def test_init_code_that_raises() -> None:
    code = op(c_init_code='PyErr_SetString(PyExc_KeyError, "at the start");')
    refuses(KeyError, lambda: run(code), "at the start")


@pytest.mark.quick
def test_code_of_nodes() -> None:
    """Each node has its own support code, init code and state."""

    class Counter(FilledOp):
        def c_support_code_apply(self, node: Any, name: str) -> str:
            return f"static int calls_{name};"

        def c_init_code_apply(self, node: Any, name: str) -> str:
            return f"calls_{name} = 10;"

        def c_code(self, node: Any, name: str, inputs: Any, outputs: Any, sub: Any) -> str:
            return f"{outputs[0]} = {inputs[0]} + calls_{name}++;"

    x = Variable(D(), "x")
    counter = Counter()
    k = link([x], [counter(x), counter(counter(x))])
    assert [k(0.0), k(0.0)] == [(10.0, 20.0), (11.0, 22.0)]


@pytest.mark.row("T05i")
@pytest.mark.parametrize("mode", ["struct", "function"])
def test_state_of_nodes(mode: str) -> None:
    class Counter(FilledOp):
        def c_support_code_struct(self, node: Any, name: str) -> str:
            return f"int count_{name};"

        def c_init_code_struct(self, node: Any, name: str, sub: Any) -> str:
            return f"count_{name} = 0;"

        def c_code(self, node: Any, name: str, inputs: Any, outputs: Any, sub: Any) -> str:
            return f"{outputs[0]} = count_{name}++;"

    x = Variable(D(), "x")
    one, two = Counter()(x), Counter()(x)
    k = link([x], [one, two], mode=mode)
    assert [k(0.0), k(0.0)] == [(0.0, 0.0), (1.0, 1.0)]
    bound = k.bind([0.0], cell := [None], [None])
    assert bound.run() == 0 and cell == [0.0]
    assert k(0.0) == (2.0, 2.0)


@pytest.mark.row("T05i")
@pytest.mark.parametrize("mode", ["struct", "function"])
def test_the_state_of_a_node_ends_once(mode: str) -> None:
    """c_cleanup_code_struct runs once per state, and for the begun part of a state that failed."""
    begun, ended, fails = Cell(), Cell(), Cell()

    class Keeping(FilledOp):
        def c_support_code_struct(self, node: Any, name: str) -> str:
            return f"long *kept_{name};"

        def c_init_code_struct(self, node: Any, name: str, sub: Any) -> str:
            fail = f"if ({fails.c} == {begun.c}) {{ PyErr_NoMemory(); {sub['fail']} }}"
            return f"{begun.c}++; {fail} kept_{name} = malloc(8);"

        def c_cleanup_code_struct(self, node: Any, name: str) -> str:
            return f"{ended.c}++; free(kept_{name});"

    x = Variable(D(), "x")
    keeping = Keeping("{z} = {x};")
    k = link([x], [keeping(x), keeping(keeping(x))], mode=mode)
    assert [k(1.0), k(2.0)] == [(1.0, 1.0), (2.0, 2.0)]
    bound = k.bind([1.0], [None], [None])
    assert bound.run() == 0
    assert (begun.value, ended.value) == (6, 0)
    del bound
    assert ended.value == 3
    del k
    gc.collect()
    assert ended.value == 6
    begun.value, ended.value, fails.value = 0, 0, 2  # the second of three fails to begin
    k = link([x], [keeping(x), keeping(keeping(x))], mode=mode)
    with pytest.raises(MemoryError):
        k(1.0)
    assert (begun.value, ended.value) == (2, 2)
    fails.value = -1
    assert k(3.0) == (3.0, 3.0)
    del k
    gc.collect()
    assert ended.value == 5


# ---- compilers -------------------------------------------------------------------------------------


@pytest.mark.row("A16")
def test_the_compiler_is_recorded() -> None:
    x = Variable(D(), "x")
    for answer in (None, "tcc", ""):
        k = link([x], op(c_compiler=lambda answer=answer: answer)(x))
        assert k.compiler == "tcc" and k(2.0) == 2.0


# ---- versions --------------------------------------------------------------------------------------


def compiled_by(work: Callable[[], Any]) -> int:
    """Returns how many units work() compiles."""
    before = cwrapjit.config.compiled_graphs
    work()
    return cwrapjit.config.compiled_graphs - before


def versioned(code: str, type_version: Any, op_version: Any) -> Any:
    x = Variable(party(D(), c_code_cache_version=lambda: type_version), "x")
    return link([x], op(code, c_code_cache_version=lambda: op_version)(x))


@pytest.mark.row("A17")
@pytest.mark.parametrize("nothing", [(), None])
def test_no_version_is_never_reused(nothing: Any) -> None:
    for versions in (((1,), nothing), (nothing, (1,))):
        for _ in range(2):
            assert compiled_by(lambda versions=versions: versioned("{z} = 200 + {x};", *versions)(1.0)) == 1
    refuses(TypeError, lambda: versioned("{z} = 1;", (1,), ([1],)), "unhashable")


@pytest.mark.row("A17")
def test_versions_of_nodes() -> None:
    class Op(FilledOp):
        def c_code_cache_version_apply(self, node: Any) -> tuple[Any, ...]:
            return (len(node.inputs),) if len(node.inputs) < 3 else ()

    x = Variable(party(D(), c_code_cache_version=lambda: (1,)), "x")
    code = Op("{z} = 600 + {x};")
    for inputs, units in (([x], 1), ([x, x], 1), ([x, x, x], 2)):
        work = [lambda inputs=inputs: link([x], code(*inputs))] * 2
        assert sum(compiled_by(each) for each in work) == units


def test_each_party_is_asked_once() -> None:
    asked: list[str] = []
    type = party(D(), c_headers=lambda: asked.append("type"), c_code_cache_version=lambda: (1,))
    node_op = op("{z} = {x} + {y};", c_headers=lambda: asked.append("op"), c_code_cache_version=lambda: (1,))
    x, y = Variable(type, "x"), Variable(type, "y")
    link([x, y], node_op(node_op(x, y), node_op(y, x)))
    assert asked == ["type", "op"]
    assert link([x, y], add(x, y))(1.0, 2.0) == 3.0


@pytest.mark.row("A14")
@pytest.mark.parametrize("macro", ["int long", "return return 1 +", "const", "NULL 5", "true 0"])
def test_macros_of_words_of_c_are_refused_or_harmless(macro: str) -> None:
    made = op("{z} = 2 * {x};", c_support_code=f"#undef {macro.split()[0]}\n#define {macro}\n")
    if macro in ("NULL 5", "true 0"):
        assert run(made, value=2.0) == 4.0
    else:
        refuses(
            cwrapjit.CompileError, lambda: run(made), f"the macro {macro.split()[0]!r} changes code around"
        )
