"""Many modules and functions side by side: names, replacement, registration, lifetime."""

from __future__ import annotations

import gc
import importlib
import sys
import types
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from helpers import INNER, ar, refuses, wrap

import cwrapjit


def constant(m: Any, name: str, value: int, **kw: Any) -> Any:
    body = {np.int64: f"item__output() = {value}; return true;"}
    return m.function(
        name, args_input=(), prototype_input=(), prototype_output=(), Ccode_slice_eval=body, **kw
    )


@pytest.fixture
def name() -> Iterator[str]:
    """A module name that nobody has, unregistered afterwards."""
    yield "cwj_registered_by_a_test"
    sys.modules.pop("cwj_registered_by_a_test", None)


@pytest.mark.row("N82")
def test_equal_function_names_do_not_clash() -> None:
    modules = [
        cwrapjit.module(f"m{i}", header=f"static int helper(void) {{ return {i}; }}\nint shown = {i};")
        for i in range(20)
    ]
    for m in modules:
        constant(m, "f", "helper() * 100 + shown")  # type: ignore[arg-type]
    assert [int(m.f()) for m in modules] == [i * 101 for i in range(20)]


@pytest.mark.row("N82")
def test_modules_of_one_name() -> None:
    one, two = cwrapjit.module("same"), cwrapjit.module("same")
    constant(one, "f", 1)
    constant(two, "f", 2)
    assert one.f() == 1 and two.f() == 2 and one is not two


@pytest.mark.row("N82", "N03")
def test_many_functions_in_one_module() -> None:
    m = cwrapjit.module("t")
    functions = [constant(m, f"f{i}", i) for i in range(300)]
    assert [int(f()) for f in functions] == list(range(300))
    assert all(getattr(m, f"f{i}") is f for i, f in enumerate(functions))
    assert m.f299.__qualname__ == "f299"


@pytest.mark.quick
@pytest.mark.row("N82")
def test_a_module_is_a_module() -> None:
    m = cwrapjit.module("geometry", "what it does")
    f = constant(m, "f", 5)
    assert isinstance(m, types.ModuleType)
    assert m.__name__ == "geometry" and m.__doc__ == "what it does"
    assert "f" in dir(m) and vars(m)["f"] is f
    assert "geometry" in repr(m)
    assert f.__module__ == "geometry" and f.__name__ == "f"
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
def test_redefinition_replaces_and_the_old_callable_keeps_working() -> None:
    m = cwrapjit.module("t")
    old = constant(m, "f", 1)
    new = constant(m, "f", 2)
    assert m.f is new and new is not old
    gc.collect()
    assert (int(old()), int(new()), int(m.f())) == (1, 2, 2)


@pytest.mark.row("N22i")
def test_the_same_cell_run_twice() -> None:
    cell = """
m = cwrapjit.module("cell", header="static int n;")
f = m.function("f", args_input=(), prototype_input=(), prototype_output=(),
               Ccode_slice_eval={np.int64: "item__output() = ++n; return true;"})
values.append(int(f()))
"""
    scope: dict[str, Any] = {"cwrapjit": cwrapjit, "np": np, "values": []}
    exec(cell, scope)
    exec(cell, scope)
    assert scope["values"] == [1, 1]


@pytest.mark.row("N22i")
def test_a_failing_redefinition_leaves_the_old_function() -> None:
    m = cwrapjit.module("t")
    old = constant(m, "f", 1)
    refuses(cwrapjit.CompileError, lambda: constant(m, "f", "oops"), "oops")  # type: ignore[arg-type]
    assert m.f is old and old() == 1
    refuses(cwrapjit.CompileError, lambda: constant(m, "g", "oops"), "'oops'")  # type: ignore[arg-type]
    assert not hasattr(m, "g")


@pytest.mark.quick
@pytest.mark.row("N22i")
@pytest.mark.parametrize("taken", ["function", "write", "register", "__name__", "__dict__", "__class__"])
def test_names_that_would_hide_the_modules_own_are_refused(taken: str) -> None:
    m = cwrapjit.module("t")
    refuses(ValueError, lambda: constant(m, taken, 1), taken)
    assert callable(m.function) and m.__name__ == "t"


@pytest.mark.row("N82")
def test_functions_outlive_modules_and_modules_are_collected() -> None:
    m = cwrapjit.module("t", header="static double one = 1;")
    f = m.function(
        "inner",
        args_input=("a", "b"),
        prototype_input=(("n",), ("n",)),
        prototype_output=(),
        Ccode_slice_eval={float: INNER},
    )
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


@pytest.mark.row("N82")
def test_dropping_in_any_order_leaves_the_others_whole() -> None:
    functions = {i: constant(cwrapjit.module(f"m{i}"), "f", i) for i in range(60)}
    for i in sorted(functions, key=lambda i: (i * 37) % 60):
        if i % 3:
            del functions[i]
            assert all(f() == k for k, f in functions.items())
    assert sorted(functions) == list(range(0, 60, 3))


@pytest.mark.row("N82")
def test_functions_without_a_module() -> None:
    made = [
        cwrapjit.function(
            "f",
            "doc",
            args_input=("a",),
            prototype_input=((),),
            prototype_output=(),
            header=f"#define K {i}",
            Ccode_slice_eval={np.float64: "item__output() = item__a() + K; return true;"},
        )
        for i in range(5)
    ]
    assert [float(f(1.0)) for f in made] == [1, 2, 3, 4, 5]
    assert made[0].__doc__ == "doc" and made[0].__name__ == "f"
    refuses(TypeError, lambda: made[0](), "f()", "'a'")


@pytest.mark.quick
@pytest.mark.row("N82", "N12")
def test_a_function_is_used_like_any_other() -> None:
    f = wrap(((), ()), (), "item__output() = item__a() + item__b(); return true;")
    assert f(*[1.0, 2.0]) == 3 and f(**{"a": 1.0, "b": 2.0}) == 3
    assert list(map(f, [1.0, 2.0], [3.0, 4.0])) == [4, 6]
    assert {f: 1}[f] == 1 and callable(f) and f == f
    refuses(TypeError, lambda: type(f)(), "cwrapjit.Function")
    refuses(AttributeError, lambda: setattr(f, "source", ""), "'source'", "not writable")
