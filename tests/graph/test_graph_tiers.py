"""Tests compiled graphs: shared by version, recompiled when hot, or made by a compiler that an op demands."""

from __future__ import annotations

import pathlib
import shutil
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from graph_types import Apply, Array, D, FilledOp, Variable, add, double, mul, twice
from helpers import compiler, eventually, python, refuses

import cwrapjit
import cwrapjit.graph as cg

HERE = str(pathlib.Path(__file__).resolve().parents[1])


class Versioned(D):
    """A double with a version for its texts."""

    def __init__(self, version: tuple[Any, ...] = (1,)) -> None:
        super().__init__()
        self.version = version

    def c_code_cache_version(self) -> tuple[Any, ...]:
        return self.version


def compiled_by(work: Callable[[], Any]) -> int:
    """Returns how many units work() compiles."""
    before = cwrapjit.config.compiled_graphs
    work()
    return cwrapjit.config.compiled_graphs - before


def sum_of(op: Any, type: Any = None, **options: Any) -> float:
    type = type or Versioned()
    x, y = type("x"), type("y")
    return float(cwrapjit.link([x, y], op(x, y), **options)(1.0, 2.0))


_numbers = iter(range(10**6))


def unique() -> str:
    """Returns a comment that no other text has."""
    return f"/* {next(_numbers)} of test_graph_tiers */"


@pytest.mark.row("A17")
def test_equal_versions_are_compiled_once() -> None:
    text = "{z} = {x} + {y};" + unique()

    def linked(version: Any) -> int:
        return compiled_by(lambda: sum_of(FilledOp(text, version=version)))

    assert [linked((1,)), linked((1,)), linked((2,))] == [1, 0, 1]
    assert [linked((1,)), linked((2,))] == [0, 0]
    assert [linked(()), linked(())] == [1, 1]
    assert [linked(None), linked(None)] == [1, 1]


@pytest.mark.row("A17")
def test_other_text_never_runs_old_code() -> None:
    mark = unique()
    plus = FilledOp("{z} = {x} + {y};" + mark, version=(1,))
    minus = FilledOp("{z} = {x} - {y};" + mark, version=(1,))
    assert [sum_of(plus), sum_of(minus), sum_of(plus)] == [3.0, -1.0, 3.0]
    assert compiled_by(lambda: sum_of(plus, fastmath=True)) == 1
    assert compiled_by(lambda: sum_of(plus, name="other")) == 1
    assert compiled_by(lambda: sum_of(plus, Versioned((2,)))) == 1
    assert compiled_by(lambda: sum_of(plus, D())) == 1
    assert compiled_by(lambda: sum_of(plus)) == 0


def test_forms_have_code_of_their_own() -> None:
    x = cg.float64("x")
    z = cg.elementwise("a", "a + 1" + unique())(x)
    modes: Any = ("struct", "function", "struct", "function")
    assert [compiled_by(lambda mode=mode: cwrapjit.link([x], z, mode=mode)) for mode in modes] == [1, 1, 0, 0]


def others(count: int) -> None:
    for _ in range(count):
        sum_of(FilledOp("{z} = {x} + {y};" + unique(), version=(1,)))


def test_what_is_kept_is_bounded() -> None:
    op = FilledOp("{z} = {x} + {y};" + unique(), version=(1,))
    found = [compiled_by(lambda: sum_of(op))]
    for count in (40, 40, 64):  # using an entry makes it the newest
        others(count)
        found.append(compiled_by(lambda: sum_of(op)))
    assert found == [1, 0, 0, 1]


def test_what_is_kept_is_bounded_after_a_drop_failed() -> None:
    class Version(int):
        error: Exception | None = None

        def __hash__(self) -> int:
            if self.error is not None:
                raise self.error
            return 5

    version = Version(5)
    sum_of(FilledOp("{z} = {x} + {y};" + unique(), version=(version,)))
    others(63)
    version.error = OSError("no hash")
    if sys.version_info < (3, 14):
        refuses(OSError, lambda: others(1), "no hash")
    else:  # tuples remember their hash, so no drop fails
        others(1)
    version.error = None
    op = FilledOp("{z} = {x} + {y};" + unique(), version=(1,))
    found = [compiled_by(lambda: sum_of(op))]
    others(64)
    assert [*found, compiled_by(lambda: sum_of(op))] == [1, 1]


def test_graphs_with_the_same_code_have_states_of_their_own() -> None:
    op = FilledOp("{z} += {x} + {y};" + unique(), version=(1,))
    type = Versioned()
    x, y = type("x"), type("y")
    first, second = (cwrapjit.link([x, y], op(x, y)) for _ in range(2))
    assert first.source == second.source
    assert [first(1.0, 2.0), first(1.0, 2.0), second(1.0, 2.0)] == [3.0, 6.0, 3.0]
    del first
    assert second(1.0, 2.0) == 6.0


# ---- the cc tier ------------------------------------------------------------------------------


SLOW = """
    double sum = 0;
    for (int i = 0; i < 100000; i++)
        sum += {x} * i;
    {z} = sum + {y};
"""


@pytest.mark.parametrize("mode", ["struct", "function"])
def test_eager_and_wait(mode: str) -> None:
    compiler()
    x, y = double("x"), double("y")
    op = FilledOp(SLOW)
    eager = cwrapjit.link([x, y], mul(op(x, y), y), mode=mode, optimize="eager")
    assert eager.tier == "cc"
    later = cwrapjit.link([x, y], mul(op(x, y), y), mode=mode)
    assert later.tier == "tcc"
    value = later(1.0, 2.0)
    assert later.wait() is True
    assert later.wait(timeout=0) is True
    assert later.tier == "cc"
    assert later(1.0, 2.0) == value == eager(1.0, 2.0)
    off = cwrapjit.link([x, y], mul(op(x, y), y), mode=mode, optimize="off")
    assert off.wait() is False
    assert off.tier == "tcc"
    refuses(ValueError, lambda: off.wait(-1), "negative")
    refuses(TypeError, lambda: off.wait("a"), "must be real number, not str")


def test_a_graph_gets_hot() -> None:
    compiler()
    x, y = double("x"), double("y")
    k = cwrapjit.link([x, y], FilledOp(SLOW)(x, y), optimize="auto")
    value = k(1.0, 2.0)
    assert eventually(lambda: k(1.0, 2.0) != value or k.tier == "cc")
    assert k(1.0, 2.0) == value


def test_short_runs_get_hot_too() -> None:
    compiler()
    x, y = double("x"), double("y")
    k = cwrapjit.link([x, y], add(x, y), optimize="auto")
    assert eventually(lambda: [k(1.0, 2.0) for _ in range(1000)] != [3.0] * 1000 or k.tier == "cc")
    assert k(1.0, 2.0) == 3.0


def test_a_state_lives_through_the_change() -> None:
    compiler()
    x = Array()("x")
    grow = FilledOp("{z} += {x};")
    d = double("d")
    k = cwrapjit.link([d], grow(d))
    assert [k(1.0), k(1.0)] == [1.0, 2.0]
    assert k.wait() is True
    assert [k(1.0), k(1.0)] == [3.0, 4.0]
    arrays = cwrapjit.link([x], twice(twice(x)))
    first = arrays(np.ones(3))
    assert arrays.wait() is True
    assert arrays(np.full(3, 2.0)).tolist() == [8, 8, 8]
    assert first.tolist() == [4, 4, 4]


def test_failures_are_the_same_in_both_tiers() -> None:
    compiler()
    x, y = double("x"), double("y")
    op = FilledOp('if ({x} < 0) { PyErr_SetString(PyExc_KeyError, "below"); {fail} } {z} = {x} + {y};')
    k = cwrapjit.link([x, y], op(x, y))
    refuses(KeyError, lambda: k(-1.0, 2.0), "below")
    assert k.wait() is True
    refuses(KeyError, lambda: k(-1.0, 2.0), "below")
    k.cells[0][0] = -1.0
    assert k.run() == 4


class Counting(FilledOp):
    """An op that counts in static data."""

    def c_support_code(self) -> str:
        return "static int counted;"


def test_static_data_keeps_its_compiler() -> None:
    compiler()
    x, y = double("x"), double("y")
    k = cwrapjit.link([x, y], Counting("{z} = ++counted;")(x, y))
    assert [k(1.0, 2.0), k(1.0, 2.0)] == [1.0, 2.0]
    assert k.wait() is False
    assert k.tier == "tcc"
    assert k(1.0, 2.0) == 3.0


# ---- compilers that an op demands -----------------------------------------------------------------------


class Forced(FilledOp):
    """An op that demands a compiler."""

    def __init__(self, command: str, code: str = "{z} = {x} + {y};", **kw: Any) -> None:
        super().__init__(code, **kw)
        self.command = command

    def c_compiler(self) -> str:
        return self.command


@pytest.mark.quick
@pytest.mark.row("A16")
def test_a_compiler_that_an_op_insists_on() -> None:
    command, seen = compiler(), []
    x, y = double("x"), double("y")
    op = Forced(command, "{z} = __builtin_popcount((unsigned){x}) + {y};")
    op.c_headers = lambda c_compiler=None: seen.append(c_compiler)  # type: ignore[attr-defined]
    k = cwrapjit.link([x, y], op(x, y))
    assert k(7.0, 1.0) == 4.0
    assert (k.compiler, k.tier, seen) == (command, "cc", [command])
    assert k.wait() is True
    k = cwrapjit.link([x, y], op(x, y), optimize="off")
    assert k(7.0, 1.0) == 4.0
    both = cwrapjit.link([x, y], add(op(x, y), y), per_op=True)
    assert both(7.0, 1.0) == 5.0


class ForcedCounting(Forced, Counting):
    """An op that demands a compiler, and counts in static data."""


@pytest.mark.row("A16")
def test_a_forced_compiler_may_have_static_data() -> None:
    x, y = double("x"), double("y")
    k = cwrapjit.link([x, y], ForcedCounting(compiler(), "{z} = ++counted;")(x, y))
    assert [k(1.0, 2.0), k(1.0, 2.0)] == [1.0, 2.0]


@pytest.mark.quick
@pytest.mark.row("A16")
def test_a_forced_compiler_that_fails() -> None:
    x, y = double("x"), double("y")
    wrong = Forced(compiler(), "{z} = nonsense;")(x, y)
    error = refuses(cwrapjit.CompileError, lambda: cwrapjit.link([x, y], wrong), "nonsense")
    place = ("<cwrapjit Forced.c_code of V3>", 1, "V3 = nonsense;")
    assert (error.filename, error.lineno, error.text.strip()) == place
    before = cwrapjit.config.compiled_graphs
    missing = Forced("no-such-cc")(x, y)
    refuses(RuntimeError, lambda: cwrapjit.link([x, y], missing), "'no-such-cc' is not a program")
    assert cwrapjit.config.compiled_graphs == before


@pytest.mark.row("A16")
def test_a_forced_compiler_that_ends_without_a_word(tmp_path: pathlib.Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    x, y = double("x"), double("y")
    error = refuses(RuntimeError, lambda: cwrapjit.link([x, y], Forced(str(broken))(x, y)), "status 3")
    assert str(error).startswith("link(): ")


def test_config_counts_what_is_compiled() -> None:
    x, y = double("x"), double("y")
    assert compiled_by(lambda: cwrapjit.link([x, y], add(x, y))) == 1
    refuses(AttributeError, lambda: setattr(cwrapjit.config, "compiled_graphs", 0), "not writable")


def test_exit_while_a_graph_is_compiled_again() -> None:
    if shutil.which("cc") is None:
        pytest.skip("no C compiler on this machine")
    python(
        """if True:
        import sys
        sys.path.insert(0, sys.argv[1])
        from graph_types import add, double
        import cwrapjit
        x, y = double("x"), double("y")
        k = cwrapjit.link([x, y], add(x, y))
        k.wait(timeout=0)
        s = k.bind([1.0], [2.0], [None])
        assert s.run() == 0
    """,
        HERE,
    )


def test_a_python_op_has_no_code() -> None:
    class Python:
        python_fallback = True

        def __call__(self, *inputs: Any) -> Variable:
            return Apply(self, inputs, [double]).outputs[0]

        def perform(self, node: Any, inputs: Any, output_storage: Any) -> None:
            output_storage[0][0] = inputs[0] + 1

    x = double("x")
    k = cwrapjit.link([x], Python()(x))
    assert k(1.0) == 2.0
    assert k.wait() is False
    assert k.run() == 0
