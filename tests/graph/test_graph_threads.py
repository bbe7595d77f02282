"""One object, several threads: runs take turns; forks and interrupts in the middle of one."""

from __future__ import annotations

import os
import pathlib
import signal
import threading
import time
from typing import Any

import pytest
from graph_types import DBL, Cell, FilledOp, TemplateOp, Unfiltered, add, double
from helpers import python, refuses, until_it_waits

import cwrapjit

HERE = pathlib.Path(__file__).resolve().parent

CALLED = """
{
    PyObject *answer = PyObject_CallNoArgs(py_%(x)s);
    if (!answer) %(fail)s
    Py_DECREF(answer);
    %(z)s = 1;
}
"""


def calling_graph(mode: str = "struct") -> Any:
    """Its run calls its argument."""
    from graph_types import Template

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
        may_go.wait(60)
        order.append("first")

    first = in_thread(lambda: k(slow))
    assert inside.wait(60)
    second = in_thread(lambda: k(lambda: order.append("second")))
    until_it_waits(second)
    assert order == []
    may_go.set()
    first.join(60)
    second.join(60)
    assert order == ["first", "second"]


@pytest.mark.quick
def test_two_graphs_that_call_each_other() -> None:
    """Where both threads would wait for ever, one of them gets an error."""
    k, other = calling_graph(), calling_graph()
    both_run = threading.Barrier(2)
    errors: list[str] = []

    def calling(graph: Any) -> Any:
        def call() -> None:
            both_run.wait(60)
            try:
                graph(lambda: None)
            except RuntimeError as error:
                errors.append(str(error))

        return call

    threads = [in_thread(lambda: k(calling(other))), in_thread(lambda: other(calling(k)))]
    for thread in threads:
        thread.join(60)
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
        thread.join(120)
    assert wrong == []


def test_threads_with_objects_of_their_own() -> None:
    x, y = double("x"), double("y")
    k = cwrapjit.link([x, y], add(x, y))
    right: list[bool] = []

    def work(number: float) -> None:
        cells: list[list[Any]] = [[number], [1.0], [None]]
        s = k.bind(*cells)
        right.append(all(s.run() == 0 and cells[2] == [number + 1] for _ in range(300)))

    threads = [in_thread(lambda n=n: work(float(n))) for n in range(6)]
    for thread in threads:
        thread.join(120)
    assert right == [True] * 6


def test_threads_that_link() -> None:
    right: list[bool] = []

    def work(number: int) -> None:
        x = double("x")
        for i in range(10):
            k = cwrapjit.link([x], FilledOp(f"{{z}} = {{x}} + {number * 100 + i};")(x))
            right.append(k(1.0) == 1 + number * 100 + i)

    threads = [in_thread(lambda n=n: work(n)) for n in range(6)]
    for thread in threads:
        thread.join(120)
    assert right == [True] * 60


def test_ctrl_c_while_waiting_for_a_turn() -> None:
    python(
        """if True:
        import os, signal, sys, threading
        sys.path[:0] = sys.argv[1:]
        from test_graph_threads import calling_graph, until_it_waits
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a parent may ignore it
        k = calling_graph()
        inside, may_go = threading.Event(), threading.Event()
        def slow():
            inside.set()
            may_go.wait(60)
        thread = threading.Thread(target=lambda: k(slow))
        thread.start()
        inside.wait(60)
        main = threading.current_thread()
        def interrupt():
            begun.wait(60)
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
        str(HERE),
        str(HERE.parent),
    )


def fork_and_wait(work: Any) -> int:
    """The child's exit status; 0 when work() returned True there."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if work() is True else 1)
        finally:
            os._exit(2)
    end = time.monotonic() + 60
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
        may_go.wait(60)

    thread = in_thread(lambda: k(slow))
    assert inside.wait(60)
    assert fork_and_wait(lambda: k(lambda: None) == 1.0) == 0
    may_go.set()
    thread.join(60)
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
    """30 processes link the same graph ten times each: no file, no lock, no error."""
    import concurrent.futures

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
        list(pool.map(lambda _: python(program, str(HERE.parent), env=env), range(30)))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.quick
def test_finalizers_that_run_the_graph() -> None:
    """The object in a cell goes when the cell is set; its finalizer runs the graph, in that call's turn."""
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
