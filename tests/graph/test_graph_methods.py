"""Tests how link() calls methods of types and ops: arguments, results, exceptions; templates and names."""

from __future__ import annotations

import contextlib
import functools
import gc
import pathlib
import traceback
import types
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from graph_types import (
    ADD,
    DBL,
    Apply,
    Constant,
    D,
    FilledOp,
    Template,
    TemplateOp,
    Type,
    Variable,
    add,
    double,
)
from helpers import refuses
from leaks import keeps_nothing

import cwrapjit
import cwrapjit.graph as cg

link = cwrapjit.link
HERE = pathlib.Path(__file__).name


def graph(type: Any, op: Any = add) -> tuple[list[Variable], Any]:
    x, y = Variable(type, "x"), Variable(type, "y")
    return [x, y], op(x, y)


def notes(error: BaseException) -> str:
    """Returns an exception's notes, or on Python 3.10 its first argument, which has them at its end."""
    return "\n".join(getattr(error, "__notes__", [])) or str(error.args[0])


def noted(exception: type[BaseException], call: Callable[[], Any], *words: str) -> BaseException:
    """call() must raise exactly this class, with a note that contains the words and this file's name."""
    with pytest.raises(exception) as caught:
        call()
    assert type(caught.value) is exception
    text = notes(caught.value)
    assert not [word for word in (*words, HERE) if word not in text], text
    return caught.value


# ---- arguments of methods --------------------------------------------------------------------------


class Recorder(D):
    """A double that records the calls of its methods; each call gets its own dict."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: dict[str, list[Any]] = {}
        for method in ("c_declare", "c_init", "c_extract", "c_sync", "c_cleanup"):
            setattr(self, method, functools.partial(self.record, method))

    def record(self, method: str, name: str, sub: dict[str, Any], **others: Any) -> str:
        self.calls.setdefault(method, []).append((name, dict(sub), others))
        text: str = getattr(D, method)(self, name, sub)
        sub.clear()
        return text


@pytest.mark.row("A02", "A03", "A04", "A05", "A06")
def test_what_filled_types_are_given() -> None:
    type = Recorder()
    (x, y), z = graph(type)
    k = link([x, y], z)
    assert k(1.0, 2.0) == 3.0
    for method, names in {
        "c_declare": ["V1_x", "V2_y", "V3"],
        "c_extract": ["V1_x", "V2_y"],
        "c_init": ["V3"],
        "c_sync": ["V3"],
        "c_cleanup": ["V1_x", "V2_y", "V3"],
    }.items():
        assert [call[0] for call in type.calls[method]] == names
        for call in type.calls[method]:
            sub = call[1]
            number = int(call[0][1])
            assert isinstance(sub["fail"], str) and sub["id"] == number
            assert sub["py_ptr"] == "py_" + call[0] and sub["stor_ptr"] == "storage_" + call[0]
            assert sub["failure_var"] == "failure"
    assert type.calls["c_declare"][0][1]["fail"] == "{failure = 1; goto label_1;}"
    assert type.calls["c_sync"][0][1]["fail"] == "{failure = 3; goto label_3_cleanup;}"
    assert [type.calls[method][0][2] for method in ("c_declare", "c_extract")] == [{"check_input": True}] * 2


def test_what_filled_ops_are_given() -> None:
    calls: list[Any] = []

    class Op(FilledOp):
        def c_code(self, node: Any, name: str, inputs: Any, outputs: Any, sub: Any) -> str:
            calls.append((node, name, list(inputs), list(outputs), dict(sub)))
            inputs.clear()
            sub.clear()
            return "V3 = V1_x + V2_y;"

        def c_code_cleanup(self, node: Any, name: str, inputs: Any, outputs: Any, sub: Any) -> str:
            calls.append((node, name, list(inputs), list(outputs), dict(sub)))
            return ""

    (x, y), z = graph(double, Op())
    assert link([x, y], z)(1.0, 2.0) == 3.0
    sub = {"fail": "{failure = 4; goto label_4;}", "id": 4, "failure_var": "failure"}
    assert calls[0] == (z.owner, "node_1", ["V1_x", "V2_y"], ["V3"], sub)
    assert calls[1][:4] == calls[0][:4]


def _flexible(extract: Callable[..., str]) -> Any:
    class Flexible(D):
        c_extract = extract  # type: ignore[assignment]

    return Flexible()


SEEN: list[Any] = []


def _text(name: str, *seen: Any) -> str:
    SEEN.append(seen)
    return f"{name} = PyFloat_AsDouble(py_{name});"


def _decorate(function: Callable[..., str]) -> Callable[..., str]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kw: Any) -> str:
        return function(*args, **kw)

    return wrapper


def _plain(self: Any, name: str, sub: Any) -> str:
    return _text(name)


def _keywords(self: Any, name: str, sub: Any, **kw: Any) -> str:
    return _text(name, kw)


def _keyword_only(self: Any, name: str, sub: Any, *, check_input: bool = True) -> str:
    return _text(name, check_input)


@pytest.mark.quick
@pytest.mark.row("A02", "A04")
@pytest.mark.parametrize(
    ("extract", "seen"),
    [
        (_plain, ()),
        (_decorate(_plain), ()),
        (_keywords, ({"check_input": False},)),
        (_decorate(_keywords), ({"check_input": False},)),
        (_keyword_only, (False,)),
        (lambda self, name, sub, check=True: _text(name, check), (False,)),
        (lambda self, *arguments: _text(arguments[0], len(arguments)), (2,)),
        (staticmethod(lambda name, sub: _text(name)), ()),
        (staticmethod(lambda name, sub, check_input: _text(name, check_input)), (False,)),
        (functools.partialmethod(_keyword_only), (False,)),
        (functools.partialmethod(_keyword_only, check_input=True), (False,)),
    ],
)
def test_check_input_goes_where_the_signature_has_room(extract: Any, seen: Any) -> None:
    op = FilledOp()
    op.check_input = False  # type: ignore[attr-defined]
    inputs, z = graph(_flexible(extract), op)
    SEEN.clear()
    assert link(inputs, z)(1.0, 2.0) == 3.0
    assert SEEN == [seen, seen]


def test_methods_may_be_plain_functions_and_other_callables() -> None:
    class Callable_:
        def __call__(self, name: str, sub: Any, check_input: bool = True) -> str:
            return f"{name} = PyFloat_AsDouble(py_{name});"

    type = D()
    type.c_extract = Callable_()  # type: ignore[method-assign]
    type.c_init = lambda name, sub: f"{name} = 0;"  # type: ignore[method-assign]
    type.c_cleanup = "/* {} {} */".format  # type: ignore[method-assign]
    inputs, z = graph(type)
    assert link(inputs, z)(1.0, 2.0) == 3.0


class Checked(D):
    """A double whose extraction has a check, which check_input=False omits."""

    def c_extract(self, name: str, sub: dict[str, str], check_input: bool = True, **kw: Any) -> str:
        check = "/* THE CHECK */" if check_input else ""
        return f"{check} {name} = PyFloat_AsDouble(py_{name});"

    def c_declare(self, name: str, sub: dict[str, str], check_input: bool = True) -> str:
        return f"{'/* CHECKED */' if check_input else ''} double {name};"


@pytest.mark.row("A22")
@pytest.mark.parametrize("flag", [False, lambda: False])
def test_ops_can_drop_the_checks_of_types(flag: Any) -> None:
    careless = FilledOp()
    careless.check_input = flag  # type: ignore[attr-defined]
    (x, y), z = graph(Checked(), careless)
    for mode in ("struct", "function"):
        assert "THE CHECK" in link([x, y], add(x, y), mode=mode).source
        assert "CHECK" not in link([x, y], z, mode=mode).source
        unused = Variable(Checked(), "u")
        assert link([x, y, unused], z, mode=mode).source.count("THE CHECK") == 1
    source = link([x, y], add(z, y), mode="function").source  # a client of y wants the check, none of x does
    assert source.count("THE CHECK") == 1 and source.count("CHECKED") == 3
    assert link([x, y], careless(add(x, y), y)).source.count("THE CHECK") == 2  # the last client omits it


# ---- results of methods ----------------------------------------------------------------------------


@pytest.mark.quick
@pytest.mark.parametrize("method", ["c_declare", "c_extract", "c_init", "c_sync"])
@pytest.mark.parametrize("answer", [None, 5, b"x", ["a"]])
def test_types_must_answer_with_text(method: str, answer: Any) -> None:
    type = D()
    setattr(type, method, lambda name, sub: answer)
    inputs, z = graph(type)
    kind = answer.__class__.__name__
    words = f"{method} of D, variable", "must return a str", kind, HERE
    refuses(TypeError, lambda: link(inputs, z), *words)


@pytest.mark.parametrize("method", ["c_code", "c_code_cleanup", "c_support_code_apply", "c_init_code_struct"])
def test_ops_must_answer_with_text(method: str) -> None:
    op = FilledOp(name="op")
    setattr(op, method, lambda *arguments: 7)
    inputs, z = graph(double, op)
    refuses(TypeError, lambda: link(inputs, z), f"{method} of op(x, y) must return a str, not int", HERE)


def test_text_that_is_no_unicode() -> None:
    op = FilledOp(name="op")
    op.c_code = lambda *arguments: "/* \ud800 */"  # type: ignore[method-assign]
    inputs, z = graph(double, op)
    error = noted(UnicodeEncodeError, lambda: link(inputs, z), "in c_code of op(x, y)")
    assert isinstance(error, ValueError)


class Asked(cg.COp):
    """An op whose C text needs support code, which the base class lacks."""

    def c_code(self, node: Any, name: str, inputs: Any, outputs: Any, sub: Any) -> str:
        return f"{outputs[0]} = ANSWER;"


def support(*_: Any) -> str:
    return "#define ANSWER 42.0"


class Kind(type(cg.COp)):  # type: ignore[misc]
    """A metaclass whose classes have no hash."""

    def __eq__(cls, other: object) -> bool:
        return cls is other

    __hash__ = None  # type: ignore[assignment]


def with_its_own() -> Asked:
    op = Asked()
    op.c_support_code = support  # type: ignore[method-assign]
    return op


def without_base() -> Any:
    return type("Op", (), {"c_code": Asked.c_code, "__getattr__": lambda self, name: said(name)})()


def said(name: str) -> Any:
    if name != "c_support_code":
        raise AttributeError(name)
    return support


def intercepted() -> Any:
    def find(self: Any, name: str) -> Any:
        return support if name == "c_support_code" else object.__getattribute__(self, name)

    return type("Op", (Asked,), {"__getattribute__": find})()


@pytest.mark.parametrize(
    "op",
    [
        type("Op", (Asked,), {"c_support_code": support})(),
        with_its_own(),
        without_base(),
        intercepted(),
        Kind("Op", (Asked,), {"c_support_code": support})(),
    ],
)
def test_an_op_is_asked_wherever_it_has_its_methods(op: Any) -> None:
    x = Variable(double, "x")
    assert link([x], Apply(op, [x], [double]).outputs[0])(1.0) == 42.0


class Bare(Type):
    """A type without methods."""


@pytest.mark.row("T10i")
@pytest.mark.parametrize("method", ["c_declare", "c_extract", "c_init", "c_sync"])
def test_missing_methods_of_types(method: str) -> None:
    made: Any = Bare()
    for name in ("c_declare", "c_extract", "c_init", "c_sync"):
        if name != method:
            setattr(made, name, getattr(double, name))
    inputs, z = graph(made)
    refuses(NotImplementedError, lambda: link(inputs, z), f"type Bare has no {method}, which variable")

    class Later(D):
        pass

    def later(self: Any, name: str, sub: Any) -> str:
        raise NotImplementedError("later")

    setattr(Later, method, later)
    inputs, z = graph(Later())
    noted(NotImplementedError, lambda: link(inputs, z), f"in {method} of Later, variable ")


def test_methods_that_are_not_needed_may_be_missing() -> None:
    source: Any = Bare()  # inputs need neither c_init nor c_sync, and no variable needs c_cleanup
    source.c_declare, source.c_extract = double.c_declare, double.c_extract
    result: Any = Bare()
    result.c_declare, result.c_init, result.c_sync = double.c_declare, double.c_init, double.c_sync
    inputs, z = graph(source, FilledOp(type=result))
    assert link(inputs, z)(1.0, 2.0) == 3.0


@pytest.mark.quick
@pytest.mark.row("T10i")
def test_a_missing_c_code() -> None:
    class Later(FilledOp):
        def c_code(self, *arguments: Any) -> str:
            raise NotImplementedError("not yet")

    class MethodNotDefined(Exception):
        pass

    class Hidden(FilledOp):
        def c_code(self, *arguments: Any) -> str:
            raise MethodNotDefined

    inputs, z = graph(double, Later(name="later", python=lambda x, y: x - y))
    error = noted(NotImplementedError, lambda: link(inputs, z), "in c_code of later(x, y)")
    assert "not yet" in str(error)
    assert link(inputs, z, python=True)(1.0, 2.0) == -1.0
    inputs, z = graph(double, Hidden(name="hidden", python=lambda x, y: x - y))
    refuses(NotImplementedError, lambda: link(inputs, z), "op Hidden has no c_code, which hidden(x, y) needs")
    assert link(inputs, z, python=True)(1.0, 2.0) == -1.0


# ---- exceptions in methods -------------------------------------------------------------------------


class Trouble(Exception):
    pass


TYPE_METHODS = [
    *("c_declare", "c_init", "c_extract", "c_sync", "c_cleanup", "c_headers", "c_libraries", "c_header_dirs"),
    *("c_lib_dirs", "c_compile_args", "c_no_compile_args", "c_init_code", "c_support_code", "c_compiler"),
    "c_code_cache_version",
]
OP_METHODS = [
    *("c_code", "c_code_cleanup", "c_support_code_apply", "c_init_code_apply", "c_support_code_struct"),
    *("c_init_code_struct", "c_cleanup_code_struct", "c_code_cache_version_apply"),
    *TYPE_METHODS[5:],
]


def _troubled(raised: BaseException) -> Callable[..., Any]:
    def method(*arguments: Any, **keywords: Any) -> Any:
        raise raised

    return method


@pytest.mark.parametrize("method", TYPE_METHODS)
@pytest.mark.parametrize("kind", [Trouble, AttributeError, KeyboardInterrupt])
def test_exceptions_inside_types_go_on(method: str, kind: type[BaseException]) -> None:
    raised = kind("inside")
    type = D()
    setattr(type, method, _troubled(raised))
    inputs, z = graph(type)
    error = noted(kind, lambda: link(inputs, z), f"in {method} of D, variable ", "line ")
    assert error is raised


@pytest.mark.quick
@pytest.mark.parametrize("method", OP_METHODS)
@pytest.mark.parametrize("kind", [Trouble, TypeError])
def test_exceptions_inside_ops_go_on(method: str, kind: type[BaseException]) -> None:
    raised = kind("inside")
    op = FilledOp(name="op", version=(1,))
    setattr(op, method, _troubled(raised))
    inputs, z = graph(Versioned(), op)
    error = noted(kind, lambda: link(inputs, z), f"in {method} of op(x, y)", "line ")
    assert error is raised
    assert traceback.extract_tb(error.__traceback__)[-1].line == "raise raised"


class Versioned(D):
    def c_code_cache_version(self) -> tuple[int, ...]:
        return (1,)


@pytest.mark.parametrize(
    "method", ["c_var_names", "c_validate_update", "c_validate_update_cleanup", "c_code"]
)
def test_exceptions_inside_template_ops_go_on(method: str) -> None:
    raised = Trouble("inside")
    op = TemplateOp()
    setattr(op, method, _troubled(raised))
    inputs, z = graph(DBL, op)
    assert noted(Trouble, lambda: link(inputs, z), f"in {method} of Add(x, y)") is raised


@pytest.mark.quick
@pytest.mark.parametrize(
    "attribute", ["c_is_simple", "filter", "c_literal", "name", "check_input", "params_type"]
)
def test_exceptions_of_properties_go_on(attribute: str) -> None:
    def get(self: Any) -> Any:
        raise Trouble(attribute)

    type = types.new_class("Odd", (D,), exec_body=lambda body: body.update({attribute: property(get)}))()
    op = types.new_class("Op", (FilledOp,), exec_body=lambda body: body.update({attribute: property(get)}))
    if attribute in ("check_input", "params_type"):
        inputs, z = graph(double, op())
    else:
        x = Variable(type, "x")
        inputs, z = [x], add(x, Constant(type, 2.0))
        if attribute == "name":
            x = types.new_class("Named", (), exec_body=lambda body: body.update(name=property(get)))()
            x.type, x.owner = double, None  # type: ignore[attr-defined]
            inputs, z = [x], add(x, x)
    refuses(Trouble, lambda: link(inputs, z), attribute)


def test_what_methods_change_while_linking_does_no_harm() -> None:
    """link() reads nodes and lists once, and keeps texts and objects alive."""

    class Vandal(FilledOp):
        def c_code(self, node: Any, name: str, inputs: Any, outputs: Any, sub: Any) -> str:
            text = super().c_code(node, name, inputs, outputs, sub)
            node.inputs.clear()
            node.outputs[:] = []
            node.op = None
            return text

    inputs, z = graph(double, Vandal(name="vandal"))
    k = link(inputs, z)
    inputs.clear()
    assert k(1.0, 2.0) == 3.0


# ---- templates -------------------------------------------------------------------------------------


class Marked(Template):
    """A template by its mark, although its methods could take arguments."""

    def c_declare(self, name: str = "", sub: Any = None) -> str:
        assert name == "" and sub is None
        return super().c_declare()


class Unmarked(Template):
    c_templates = False


@pytest.mark.parametrize("type", [Marked(), Unmarked()])
def test_templates_are_known_by_mark_or_signature(type: Any) -> None:
    inputs, z = graph(type, ADD)
    assert link(inputs, z)(1.0, 2.0) == 3.0


class Starred(D):
    """A type whose methods take any arguments."""

    def c_declare(self, *given: Any) -> str:
        return f"double {given[0]};"


def test_methods_that_take_anything_are_no_templates() -> None:
    inputs, z = graph(Starred())
    assert link(inputs, z)(1.0, 2.0) == 3.0


def test_an_input_is_looked_at_in_the_steps_that_use_it() -> None:
    (x, y), _ = graph(Checked())
    assert link([x, y], add(add(x, x), y), per_op=True).source.count("THE CHECK") == 3  # x, x + x and y


class Literal(D):
    """A parameter type whose values stand in the C text as literals."""

    def c_literal(self, data: Any) -> str:
        return "2.5"


class Held(FilledOp):
    params_type = Literal()

    def get_params(self, node: Any) -> float:
        return 2.5

    def c_init_code_struct(self, node: Any, name: str, sub: dict[str, Any]) -> str:
        return f"double {name}_bias = {sub['params']}; (void){name}_bias;"


@pytest.mark.parametrize("mode", ["struct", "function"])
def test_literal_parameters_are_there_when_a_state_begins(mode: Any) -> None:
    inputs, z = graph(double, Held())
    assert link(inputs, z, mode=mode)(1.0, 2.0) == 3.0


@pytest.mark.row("T16")
@pytest.mark.parametrize(
    "names",
    [
        [["x", "y"], ["z"]],
        (("x", "y"), ("z",)),
        "[['x', 'y'], ['z']]",
        " (['x', 'y'], ['z'],) ",
    ],
)
def test_names_of_ops_as_lists_and_as_text(names: Any) -> None:
    op = TemplateOp()
    op.c_var_names = lambda: names  # type: ignore[method-assign]
    inputs, z = graph(DBL, op)
    assert link(inputs, z)(1.0, 2.0) == 3.0
    op.c_var_names = names
    assert link(inputs, z)(1.0, 2.0) == 3.0


@pytest.mark.parametrize(
    ("names", "error", "words"),
    [
        ([["x", "y"]], TypeError, "must be two lists of str, like [['x', 'y'], ['z']], not [['x', 'y']]"),
        (["x", "y", "z"], TypeError, "must be two lists of str"),
        (["xy", "z"], TypeError, "must be two lists of str"),
        (5, TypeError, "not 5"),
        ("[['x'], ['z']", ValueError, "also as text, not \"[['x'], ['z']\""),
        ([["x"], ["z"]], TypeError, "takes 1 inputs (x), not 2"),
    ],
)
def test_names_of_ops_that_are_none(names: Any, error: Any, words: str) -> None:
    """Calling the op raises the same error as link()."""

    class Named(cg.Op):
        def c_var_names(self) -> Any:
            return names

    refuses(error, lambda: Named()(cg.float64("x"), cg.float64("y")), "Named", words)
    Named.c_var_names = names
    refuses(error, lambda: Named()(cg.float64("x"), cg.float64("y")), "Named", words)


@pytest.mark.row("A42")
def test_percent_signs() -> None:
    """In templates %% stands for %; filled texts stay as they are."""
    message = '"100%% of %%d"'
    inputs, z = graph(DBL, TemplateOp(code=f"PyErr_SetString(PyExc_ValueError, {message}); %(fail)s"))
    refuses(ValueError, lambda: link(inputs, z)(1.0, 2.0), "100% of %d")
    inputs, z = graph(DBL, TemplateOp(code="%(z)s = 7 %% 4;"))
    assert link(inputs, z)(1.0, 2.0) == 3.0
    code = '{z} = 7 % 4; if ({x} > 5) { PyErr_Format(PyExc_ValueError, "%d%% of %%(x)s", 50); {fail} }'
    inputs, z = graph(double, FilledOp(code))
    k = link(inputs, z)
    assert k(1.0, 2.0) == 3.0
    refuses(ValueError, lambda: k(6.0, 2.0), "50% of %(x)s")


@pytest.mark.row("A42")
@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("a % b", "line 1, column 3", "begins neither"),
        ("a\nbc %d", "line 2, column 4", "begins neither"),
        ("é %d", "line 1, column 3", "begins neither"),
        ("%(q)s", "line 1, column 1", "%(q)s is not known here, only %(fail)s, %(x)s, %(y)s, %(z)s"),
        ("%(x)s%(x\ny)s", "line 1, column 6", "%(x\ny)s is not known"),
        ("%()s", "line 1, column 1", "%()s is not known"),
        ("%(x)d", "line 1, column 1", "begins neither"),
        ("%%%(x", "line 1, column 3", "begins neither"),
        ("%(x)", "line 1, column 1", "begins neither"),
        ("%%%%%", "line 1, column 5", "begins neither"),
    ],
)
def test_percent_signs_that_begin_nothing(text: str, place: str, words: str) -> None:
    inputs, z = graph(DBL, TemplateOp(code=text))
    refuses(ValueError, lambda: link(inputs, z), place, words)


@pytest.mark.row("T24")
def test_validation_can_be_left_out() -> None:
    inputs, z = graph(DBL, TemplateOp(validate_cleanup="int VALIDATE_CLEANUP = 0; (void)VALIDATE_CLEANUP;"))
    k = link(inputs, z)
    assert len(k.blocks) == 5 and "VALIDATE_CLEANUP" in k.source
    k = link(inputs, z, validate=False)
    assert k(-1.0, 2.0) == 1.0
    assert len(k.blocks) == 4 and "VALIDATE_CLEANUP" not in k.source


# ---- filters and parameters ------------------------------------------------------------------------


def test_filters_of_inputs_are_applied_unless_they_do_nothing() -> None:
    def refuse(value: Any, strict: bool = False, allow_downcast: Any = None) -> Any:
        raise Trouble("called")

    type = D()
    type.filter = refuse  # type: ignore[method-assign]
    inputs, z = graph(type)
    refuses(Trouble, lambda: link(inputs, z)(1.0, 2.0), "called")
    refuse.identity = True  # type: ignore[attr-defined]
    assert link(inputs, z)(1.0, 2.0) == 3.0


class Numbers(Type):
    """A parameter type: a tuple of two doubles, which is an array in C."""

    def c_declare(self, name: str, sub: Any) -> str:
        return f"double {name}[2];"

    def c_extract(self, name: str, sub: Any) -> str:
        return f'if (!PyArg_ParseTuple(py_{name}, "dd", &{name}[0], &{name}[1])) {sub["fail"]}'


class Line(FilledOp):
    """Computes a * x + b, with a and b as parameters."""

    params_type = Numbers()

    def __init__(self, a: Any, b: Any) -> None:
        super().__init__(name="line", python=None)
        self.numbers = (a, b)

    def get_params(self, node: Any) -> Any:
        return self.numbers

    def c_code(self, node: Any, name: str, inputs: Any, outputs: Any, sub: Any) -> str:
        params = sub["params"]
        return f"{outputs[0]} = {params}[0] * {inputs[0]} + {params}[1];"

    def perform(self, node: Any, inputs: Any, storage: Any, params: Any = None) -> None:
        storage[0][0] = params[0] * inputs[0] + params[1]


@pytest.mark.quick
@pytest.mark.row("T07i")
@pytest.mark.parametrize("mode", ["struct", "function"])
def test_parameters_of_ops(mode: str) -> None:
    x = Variable(double, "x")
    z = Line(2.0, 1.0)(Line(3.0, 5.0)(Line(2.0, 1.0)(x)))
    k = link([x], z, mode=mode)
    assert k(1.0) == 2 * (3 * 3.0 + 5) + 1
    parameters = [block for block in k.blocks if "parameters" in block]
    assert parameters == ["c_extract of parameters of line"] * 2  # equal parameters share one variable
    assert link([x], z, mode=mode, per_op=True)(1.0) == k(1.0)
    assert link([x], z, mode=mode, check=True)(1.0) == k(1.0)


def test_parameters_that_are_wrong_or_have_no_hash() -> None:
    x = Variable(double, "x")
    k = link([x], Line("one", 2.0)(x))
    refuses(TypeError, lambda: k(1.0), "must be real number, not str")

    class Unhashable(Line):
        def get_params(self, node: Any) -> Any:
            return _Pair(self.numbers)

    assert link([x], Unhashable(2.0, 1.0)(Unhashable(2.0, 1.0)(x)))(1.0) == 7.0

    class Troubled(Line):
        def get_params(self, node: Any) -> Any:
            raise AttributeError("no such parameter")

    error = noted(AttributeError, lambda: link([x], Troubled(1.0, 2.0)(x)), "in get_params of line(x)")
    assert "no such parameter" in str(error)


class _Pair(tuple):  # type: ignore[type-arg]
    __hash__ = None  # type: ignore[assignment]


@pytest.mark.quick
def test_parameters_in_the_init_code_of_a_node() -> None:
    class Keeper(Line):
        def c_support_code_struct(self, node: Any, name: str) -> str:
            return f"double kept_{name};"

        def c_init_code_struct(self, node: Any, name: str, sub: Any) -> str:
            return f"kept_{name} = {sub['params']}[0];"

        def c_code(self, node: Any, name: str, inputs: Any, outputs: Any, sub: Any) -> str:
            return f"{outputs[0]} = kept_{name}++ + {inputs[0]};"

    x = Variable(double, "x")
    k = link([x], Keeper(5.0, 0.0)(x))
    assert [k(1.0), k(1.0)] == [6.0, 7.0]
    refuses(ValueError, lambda: link([x], Keeper(5.0, 0.0)(x), mode="function"), "takes mode='struct'")


# ---- memory and files that are left ----------------------------------------------------------------


@pytest.mark.leak
def test_failed_links_leave_nothing_behind() -> None:
    x = Variable(double, "x")
    failing: list[Callable[[], Any]] = [
        lambda: link([x], add(x, Variable(double, "y"))),
        lambda: link([x], FilledOp("this is no C")(x)),
        lambda: link([Variable(DBL)], TemplateOp(code="%(q)s")(x, x)),
        lambda: link([x], Line(1.0, 2.0)(FilledOp("return;")(x))),
        lambda: link([x], Line("a", 2.0)(x))(1.0),
    ]
    for method in (*TYPE_METHODS, *OP_METHODS):
        party: Any = FilledOp(version=(1,)) if method in OP_METHODS else Versioned()
        setattr(party, method, lambda *arguments, **keywords: 1 // 0)
        y = x if method in OP_METHODS else Variable(party, "y")
        failing.append(lambda y=y, op=party if method in OP_METHODS else add: link([y], op(y, y)))

    def fail_all() -> None:
        for call in failing:
            with contextlib.suppress(Exception):
                call()

    keeps_nothing(fail_all, watched=(x, double, add))


def test_graphs_die_with_their_last_reference() -> None:
    x = Variable(double, "x")
    op = Line(2.0, 1.0)
    k = link([x], op(add(x, Constant(double, 2.0))))
    assert k(1.0) == 7.0
    dead = weakref.ref(op)
    del op, k
    gc.collect()
    assert dead() is None
