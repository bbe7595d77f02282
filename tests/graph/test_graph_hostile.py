"""Tests hostile objects, which answer wrongly or change during a call; threads, forks and interrupts."""

from __future__ import annotations

import concurrent.futures
import contextlib
import gc
import os
import pathlib
import signal
import sys
import threading
import time
from typing import Any

import pytest
from graph_types import (
    DBL,
    DBLC,
    Apply,
    Cell,
    D,
    FilledOp,
    Template,
    TemplateOp,
    Unfiltered,
    Variable,
    add,
    double,
)
from helpers import python, refuses, until_it_waits

import cwrapjit
from cwrapjit import _cwrapjit

MODES = ("struct", "function")
both_forms = pytest.mark.parametrize("mode", MODES)


def sum_of(op: Any = add, kind: Any = double, **options: Any) -> Any:
    x, y = kind("x"), kind("y")
    return cwrapjit.link([x, y], op(x, y), **options)


# ---- while linking ---------------------------------------------------------------------------------

OF_OPS = ["c_code", "c_code_cleanup", "c_support_code", "c_init_code", "c_support_code_apply"]
OF_OPS += ["c_support_code_struct", "c_init_code_struct"]
OF_TYPES = ["c_declare", "c_init", "c_extract", "c_extract_out", "c_sync", "c_cleanup"]


@pytest.mark.parametrize("method", OF_OPS + OF_TYPES)
@pytest.mark.parametrize(
    "text, words",
    [
        ("\0", ["0x00 is not C text"]),
        ("(" * 50_000, ["nested too deeply"]),
        ("}" * 9, ["'}' closes nothing"]),
        ("/*", ["comment does not end"]),
        ("x" * 200_000, ["line 1"]),
    ],
    ids=["nul", "brackets", "braces", "comment", "long"],
)
def test_texts_that_are_no_c(method: str, text: str, words: list[str]) -> None:
    odd: Any = type("Odd", (FilledOp if method in OF_OPS else D,), {method: lambda *args, **kw: text})()
    graph = (odd, double) if method in OF_OPS else (add, odd)
    for mode in MODES:
        error = refuses(cwrapjit.CompileError, lambda mode=mode: sum_of(*graph, mode=mode), *words)
        assert error.filename.startswith(f"<cwrapjit Odd.{method}")


@pytest.mark.parametrize(
    "answers, error, word",
    [
        ({"c_headers": "}" * 9}, cwrapjit.CompileError, "#include <}}}"),
        ({"c_headers": "("}, cwrapjit.CompileError, "#include <(>"),
        ({"c_libraries": "x" * 5000}, OSError, "library 'xxx"),
        ({"c_libraries": "/*"}, OSError, "library '/*' cannot be loaded"),
        ({"c_compiler": "/*"}, RuntimeError, "is not a program"),
        ({"c_compiler": "a\0b"}, ValueError, "null byte"),
    ],
)
def test_names_of_what_is_not_there(answers: dict[str, str], error: type[Exception], word: str) -> None:
    (method, text) = next(iter(answers.items()))
    odd = type("Odd", (FilledOp,), {method: lambda self: text})()
    refuses(error, lambda: sum_of(odd), word)


@both_forms
def test_attributes_that_are_new_at_each_look(mode: str) -> None:
    class Restless(Variable):
        looks = 0

        @property
        def owner(self) -> Any:
            Restless.looks += 1
            if Restless.looks > 50:
                raise KeyError("enough")
            return Apply(add, [Restless(double), Restless(double)], [double])

        @owner.setter
        def owner(self, value: Any) -> None:
            pass

    refuses(
        TypeError,
        lambda: cwrapjit.link([double("x")], Restless(double), mode=mode),
        "(a 'Apply' object) does not have it among its outputs",
    )


@pytest.mark.quick
@pytest.mark.parametrize("fault", ["twice", "another owner", "not an input", "a cycle"])
def test_what_strikes_while_a_message_is_made_is_itself(fault: str) -> None:
    class Struck(type(add)):  # type: ignore[misc]
        def __str__(self) -> str:
            raise KeyboardInterrupt

    class Nameless(Variable):
        @property
        def name(self) -> Any:
            return None

        @name.setter
        def name(self, value: Any) -> None:
            pass

    x, node = double("x"), Apply(Struck(), [double("x"), double("y")], [double])
    z = Nameless(double, owner=node)
    others = {"twice": [z], "another owner": [Nameless(double, owner=object())]}
    node.outputs = [z, *others.get(fault, [])]
    node.inputs = [x, {"not an input": Nameless(double), "a cycle": z}.get(fault, x)]
    with pytest.raises(KeyboardInterrupt):
        cwrapjit.link([x], z)


@pytest.mark.parametrize("looks", [0, 1])
def test_names_of_a_template_that_go_away(looks: int) -> None:
    left = [[["a", "b"], ["c"]]] * looks

    class Going(FilledOp):
        c_code_cleanup = None  # type: ignore[assignment]

        @property
        def c_var_names(self) -> Any:
            if not left:
                raise AttributeError
            return left.pop()

        def c_code(self, *args: Any) -> str:
            return "%(c)s = %(a)s;"

    x, y = double("x"), double("y")
    if looks:
        assert cwrapjit.link([x, y], Going()(x, y))(1.0, 2.0) == 1.0
    else:
        with pytest.raises(cwrapjit.CompileError):
            cwrapjit.link([x, y], Going()(x, y))


@both_forms
def test_deep_graphs(mode: str) -> None:
    x, y = double("x"), double("y")
    z = x
    for _ in range(1000):
        z = add(z, y)
    assert cwrapjit.link([x, y], z, mode=mode, optimize="off")(1.0, 2.0) == 2001.0


# ---- while running ---------------------------------------------------------------------------------


@both_forms
def test_filters_that_meddle_with_the_cells(mode: str) -> None:
    held: list[Any] = []

    class Meddling(D):
        def filter(self, x: Any, strict: bool = False, allow_downcast: Any = None) -> float:
            if x == 13:
                for cell in held[0].cells:
                    cell.clear()
            if x == 14:
                for cell in held[0].cells:
                    cell.extend([1, 2, 3])
            return float(x)

    k = sum_of(kind=Meddling(), mode=mode)
    held.append(k)
    assert k(1.0, 2.0) == 3.0
    for x, y in ((1.0, 13.0), (13.0, 1.0), (14.0, 1.0), (1.0, 14.0)):
        items = 0 if 13 in (x, y) else 4
        refuses(ValueError, lambda x=x, y=y: k(x, y), f"a list of one object, this one has {items}")
        for cell in k.cells:
            cell[:] = [None]
    assert k(1.0, 2.0) == 3.0
    held.clear()


@both_forms
def test_filters_that_call_the_graph(mode: str) -> None:
    held: list[Any] = []

    class Calling(D):
        def filter(self, x: Any, strict: bool = False, allow_downcast: Any = None) -> float:
            if x == 13:
                refuses(RuntimeError, lambda: held[0](1.0, 2.0), "running already")
                held.clear()
                gc.collect()
            return float(x)

    k = sum_of(kind=Calling(), mode=mode)
    held.append(k)
    assert k(13.0, 2.0) == 15.0
    assert k(1.0, 2.0) == 3.0


@pytest.mark.row("T01")
@both_forms
def test_objects_in_cells_that_act_when_they_die(mode: str) -> None:
    k = sum_of(mode=mode)
    k.cells[0][0], k.cells[1][0] = 1.0, 2.0

    class Last:
        def __del__(self) -> None:
            k.cells[2].clear()
            with contextlib.suppress(RuntimeError):  # it may be running already
                k.run()

    for _ in range(20):
        k.cells[2][:] = [Last()]
        k.run()
        k.cells[2][:] = [None]
    assert k.run() == 0
    assert k.cells[2] == [3.0]


@pytest.mark.quick
@pytest.mark.row("T01")
@both_forms
def test_any_storages(mode: str) -> None:
    k = sum_of(mode=mode)
    good = [[1.0], [2.0], [None]]
    for wrong in (None, 5, (1.0,), [], [1.0, 2.0], {}, "a"):
        for place in range(3):
            storages: list[Any] = [list(s) for s in good]
            storages[place] = wrong
            error = ValueError if isinstance(wrong, list) else TypeError
            word = f"storage {place} must be a list of one object"
            refuses(error, lambda storages=storages: k.once(*storages), word)
            refuses(error, lambda storages=storages: k.bind(*storages), word)
    for count in (0, 1, 2, 4, 100):
        storages = [[1.0]] * count
        refuses(TypeError, lambda s=storages: k.once(*s), "takes 3 storages", f"1 outputs, not {count}")
    same = [1.0]
    assert k.once(same, same, same) == 0
    assert same == [2.0]
    s = k.bind(same, same, same)
    assert (s.run(), same) == (0, [4.0])


@both_forms
def test_lists_that_are_not_quite_lists(mode: str) -> None:
    class Odd(list[Any]):
        def __getitem__(self, index: Any) -> Any:
            raise KeyError

        def __len__(self) -> int:
            return 7

    k = sum_of(mode=mode)
    out = Odd([None])
    assert k.once(Odd([1.0]), Odd([2.0]), out) == 0
    assert list.__getitem__(out, 0) == 3.0


@both_forms
def test_threads_that_change_the_cells(mode: str) -> None:
    k = sum_of(TemplateOp(), DBLC, mode=mode)
    stop = threading.Event()

    def meddle() -> None:
        while not stop.is_set():
            for cell in k.cells:
                cell[:] = [1.0]
                cell.clear()
                cell.append(2.0)

    threads = [threading.Thread(target=meddle) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(1000):
            try:
                k(1.0, 2.0)
            except (TypeError, ValueError, IndexError, RuntimeError):
                pass
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    for cell in k.cells:
        cell[:] = [None]
    assert k(1.0, 2.0) == 3.0


@pytest.mark.quick
@pytest.mark.parametrize("number", [-1, 17, 18, 21, 24, 256, 2**31 - 1])
def test_filters_of_types_that_are_no_scalars(number: int) -> None:
    """Objects, texts and dates are none."""
    refuses(ValueError, lambda: _cwrapjit.make_filter(number, -1, int, str), f"not for type {number}")
    refuses(ValueError, lambda: _cwrapjit.read_scalar(number, 1), f"not for type {number}")
    assert _cwrapjit.make_filter(number, 1, list, str)(1) == "1"


HERE = str(pathlib.Path(__file__).resolve().parents[1])


# ---- threads, forks and interrupts -----------------------------------------------------------------

CALLED = """
{
    PyObject *answer = PyObject_CallNoArgs(py_%(x)s);
    if (!answer) %(fail)s
    Py_DECREF(answer);
    %(z)s = 1;
}
"""


def calling_graph(mode: str = "struct") -> Any:
    """Returns a graph whose run calls its argument."""
    x = Template(extract="%(name)s = 0;")("x")
    op = TemplateOp(names=(("x",), ("z",)), type=DBL, code=CALLED)
    return cwrapjit.link([x], op(x), mode=mode)


def in_thread(work: Any) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


@pytest.mark.parametrize("mode", ["struct", "function"])
def test_a_run_inside_itself_is_refused(mode: str) -> None:
    k = calling_graph(mode)
    seen: list[str] = []

    def again() -> None:
        for call in (k.run, lambda: k(again)):
            try:
                call()
            except RuntimeError as error:
                seen.append(str(error))

    assert k(again) == 1.0
    assert len(seen) == 2
    assert all("running already" in text for text in seen)
    assert k(lambda: None) == 1.0
    s = k.bind([lambda: s.run()], [None])
    assert s.run() == 3
    assert type(s.error) is RuntimeError


def test_an_inner_run_of_another_object_is_fine() -> None:
    k, other = calling_graph(), calling_graph()
    s = k.bind([lambda: None], [None])
    assert k(lambda: (s.run(), other(lambda: None))) == 1.0
    assert s.cells[1] == [1.0]


def test_another_thread_waits_for_its_turn() -> None:
    k = calling_graph()
    inside, may_go = threading.Event(), threading.Event()
    order: list[str] = []

    def slow() -> None:
        inside.set()
        may_go.wait(600)
        order.append("first")

    first = in_thread(lambda: k(slow))
    assert inside.wait(600)
    second = in_thread(lambda: k(lambda: order.append("second")))
    until_it_waits(second)
    assert order == []
    may_go.set()
    first.join(600)
    second.join(600)
    assert order == ["first", "second"]


def test_a_turn_is_given_again_before_the_waiting_thread_is_awake() -> None:
    """CPython 3.15 ends processes that release a lock twice."""
    k = calling_graph()
    others: list[threading.Thread] = []

    def hold() -> None:
        others.append(in_thread(lambda: k(lambda: None)))
        until_it_waits(others[0])

    interval = sys.getswitchinterval()
    try:
        for _ in range(2):
            sys.setswitchinterval(interval)
            others.clear()
            k(hold)
            sys.setswitchinterval(100)  # the other thread does not get the GIL
            for _ in range(100):
                assert k(lambda: None) == 1.0
    finally:
        sys.setswitchinterval(interval)
    others[0].join(600)


@pytest.mark.quick
def test_two_graphs_that_call_each_other() -> None:
    """Both threads would wait forever, so one of them gets an error."""
    k, other = calling_graph(), calling_graph()
    both_run = threading.Barrier(2)
    errors: list[str] = []

    def calling(graph: Any) -> Any:
        def call() -> None:
            both_run.wait(600)
            try:
                graph(lambda: None)
            except RuntimeError as error:
                errors.append(str(error))

        return call

    threads = [in_thread(lambda: k(calling(other))), in_thread(lambda: other(calling(k)))]
    for thread in threads:
        thread.join(600)
    assert not any(thread.is_alive() for thread in threads)
    assert len(errors) == 1
    assert "waits for this one" in errors[0]


@pytest.mark.quick
def test_many_threads_call_one_graph() -> None:
    x, y = double("x"), double("y")
    pause = FilledOp("Py_BEGIN_ALLOW_THREADS\n{z} = {x} + {y};\nPy_END_ALLOW_THREADS")
    k = cwrapjit.link([x, y], add(pause(x, y), y))
    wrong: list[Any] = []

    def work(number: float) -> None:
        for _ in range(300):
            if k(number, 1.0) != number + 2:
                wrong.append(number)

    threads = [in_thread(lambda n=n: work(float(n))) for n in range(8)]
    for thread in threads:
        thread.join(600)
    assert wrong == []


def test_threads_that_link() -> None:
    """Threads link graphs of their own, and bind a graph that they share."""
    x = double("x")
    shared = cwrapjit.link([x], add(x, x))
    right: list[bool] = []

    def work(number: int) -> None:
        cells: list[list[Any]] = [[float(number)], [None]]
        s = shared.bind(*cells)
        for i in range(10):
            k = cwrapjit.link([x], FilledOp(f"{{z}} = {{x}} + {number * 100 + i};")(x))
            right.append(k(1.0) == 1 + number * 100 + i and s.run() == 0 and cells[1] == [2.0 * number])

    threads = [in_thread(lambda n=n: work(n)) for n in range(6)]
    for thread in threads:
        thread.join(600)
    assert right == [True] * 60


def test_ctrl_c_while_waiting_for_a_turn() -> None:
    python(
        """if True:
        import os, signal, sys, threading
        sys.path[:0] = [sys.argv[1], sys.argv[1] + "/graph"]
        from test_graph_hostile import calling_graph, until_it_waits
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a parent may ignore it
        k = calling_graph()
        inside, may_go = threading.Event(), threading.Event()
        def slow():
            inside.set()
            may_go.wait(600)
        thread = threading.Thread(target=lambda: k(slow))
        thread.start()
        inside.wait(600)
        main = threading.current_thread()
        def interrupt():
            begun.wait(600)
            until_it_waits(main)
            os.kill(os.getpid(), signal.SIGINT)
        begun = threading.Event()
        threading.Thread(target=interrupt).start()
        try:
            begun.set()
            k(lambda: None)
        except KeyboardInterrupt:
            may_go.set()
            thread.join()
            assert k(lambda: None) == 1.0
        else:
            raise SystemExit("not interrupted")
    """,
        HERE,
    )


def fork_and_wait(work: Any) -> int:
    """Returns the exit status of a child that runs work(): 0 if that returned True."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if work() is True else 1)
        finally:
            os._exit(2)
    end = time.monotonic() + 600
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -1


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_in_the_middle_of_another_threads_run() -> None:
    k = calling_graph()
    assert k(lambda: None) == 1.0
    inside, may_go = threading.Event(), threading.Event()

    def slow() -> None:
        inside.set()
        may_go.wait(600)

    thread = in_thread(lambda: k(slow))
    assert inside.wait(600)
    assert fork_and_wait(lambda: k(lambda: None) == 1.0) == 0
    may_go.set()
    thread.join(600)
    assert k(lambda: None) == 1.0
    assert fork_and_wait(lambda: k(lambda: None) == 1.0) == 0


@pytest.mark.quick
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_links_and_runs() -> None:
    x, y = double("x"), double("y")
    k = cwrapjit.link([x, y], add(x, y))

    def work() -> bool:
        return k(1.0, 2.0) == 3.0 and cwrapjit.link([x, y], add(x, add(x, y)))(1.0, 2.0) == 4.0

    assert fork_and_wait(work) == 0


@pytest.mark.row("T11i")
def test_processes_that_compile_the_same(tmp_path: Any) -> None:
    """Processes link the same graph ten times each, without errors: they share no file and no lock."""
    program = """if True:
        import sys
        sys.path.insert(0, sys.argv[1])
        from graph_types import ADD, DBL
        import cwrapjit
        x, y = DBL("x"), DBL("y")
        for _ in range(10):
            assert cwrapjit.link([x, y], ADD(x, y))(1.0, 2.0) == 3.0
    """
    env = {**os.environ, "HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda _: python(program, HERE, env=env), range(6)))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.quick
def test_finalizers_that_run_the_graph() -> None:
    """Setting a cell frees its old object, whose finalizer runs the graph while the call has its turn."""
    x = Unfiltered()("x")
    count = Cell()
    k = cwrapjit.link([x], FilledOp(f"{count.c}++; {{z}} = {{x}};")(x))
    seen: list[Any] = []

    class Last:
        def __del__(self) -> None:
            seen.append(refuses(RuntimeError, k.run, "running already"))

    k.cells[0][0] = Last()
    assert k(1.0) == 1.0
    assert len(seen) == 1
    k.cells[1][0] = Last()
    assert k(1.0) == 1.0
    assert len(seen) == 2
    assert count.value == 2
