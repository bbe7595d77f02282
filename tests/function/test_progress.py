"""Tests progress(): long calls report finished slices to a bar; Ctrl-C and signals act between slices."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from helpers import python, refuses

import cwrapjit
import cwrapjit.graph as cg
from cwrapjit import _cwrapjit

SLEEP = "int usleep(unsigned int);"
# SLOW takes one millisecond. COUNT slices last for three reports; calls of MANY slices are ended early.
SLOW = "usleep(1000); item__output() = item__a() + 1; return true;"
COUNT = 300
MANY = 60_000
PAUSE = SLEEP + "static double pause(double x) { usleep(1000); return x; }"


class Bar:
    """A bar that records its updates."""

    def __init__(self, **options: Any) -> None:
        self.options = options
        self.steps = [options["initial"]]
        self.closed = 0

    def update(self, n: int) -> None:
        assert n > 0 and not self.closed
        self.steps.append(n)

    def close(self) -> None:
        self.closed += 1

    @property
    def done(self) -> int:
        return sum(self.steps)


class Bars(list[Bar]):
    """A factory that records the bars it makes."""

    def __init__(self, kind: Callable[..., Bar] = Bar) -> None:
        self.kind = kind

    def __call__(self, **options: Any) -> Bar:
        self.append(self.kind(**options))
        return self[-1]


def slow(name: str = "slow", body: str = SLOW, header: str = SLEEP, **options: Any) -> Any:
    code = {float: body}
    return cwrapjit.function(
        name, signature="a() -> output()", header=header, Ccode_slice_eval=code, **options
    )


def finished(bar: Bar) -> bool:
    return bar.done == bar.options["total"] and bar.closed == 1


@pytest.mark.row("U07")
@pytest.mark.parametrize(
    "options",
    [
        {"threads": 1},
        {"threads": 2, "unordered": True},
        {"gil": True},
        {"gil": False},
        {"windows": {"a": (3,)}, "border": "wrap"},
        {"debug": True},
    ],
    ids=str,
)
def test_a_call_that_lasts_has_one_bar_of_its_slices(options: dict[str, Any]) -> None:
    body = SLOW.replace("item__a()", "item__a(0)") if "windows" in options else SLOW
    f, bars = slow(body=body, **options), Bars()
    with cwrapjit.progress(bar=bars, after=0):
        for _ in range(2):  # for the second call the cost of slices is known
            assert f(np.zeros(COUNT)).tolist() == [1] * COUNT
    assert [bar.options["total"] for bar in bars] == [COUNT, COUNT]
    assert all(map(finished, bars))
    for bar in bars:
        assert bar.options["desc"] == "slow" and bar.options["unit"] == "slice"
        # Two threads need half the time, which is two reports if no compiler runs beside them.
        assert len(bar.steps) >= (2 if options.get("threads") == 2 else 3) and min(bar.steps) > 0


@pytest.mark.row("U07")
def test_only_calls_that_last_have_a_bar() -> None:
    f, bars = slow(), Bars()
    for after in (float("inf"), 3600):
        with cwrapjit.progress(bar=bars, after=after):
            f(np.zeros(COUNT))
    assert bars == []


@pytest.mark.row("U07")
def test_short_calls_ask_nobody() -> None:
    f, asked = cwrapjit.vectorize("double f(double x) { return x + 1; }", optimize="off"), []
    x, context = np.zeros(3), contextvars.copy_context()
    f(x)
    context.run(_cwrapjit.watcher.set, lambda *about: asked.append(about))

    def asks() -> bool:
        asked.clear()
        context.run(lambda: [f(x) for _ in range(100)])
        return asked != []

    assert not all(asks() for _ in range(10)), "one may last, on a busy machine"
    asked.clear()
    context.run(slow(), np.zeros(COUNT))
    assert {(name, total) for name, _, total, _ in asked} == {("slow", COUNT)}
    assert [about[1:4:2] for about in asked] == sorted(about[1:4:2] for about in asked)


@pytest.mark.row("U07")
def test_nothing_of_it_is_there_unless_it_is_used() -> None:
    code = "import sys, cwrapjit; print(sorted({'tqdm', 'cwrapjit._progress'} & sys.modules.keys()))"
    assert python(code).stdout == "[]\n"


@pytest.mark.row("U07")
def test_blocks_can_be_nested_decorate_and_end() -> None:
    f, outer, inner = slow(), Bars(), Bars()

    @cwrapjit.progress(bar=inner, after=0)
    def work() -> None:
        f(np.zeros((COUNT // 3, 3)).T)

    with cwrapjit.progress(bar=outer, after=0):
        work()
        assert (len(outer), len(inner)) == (0, 1)
        f(np.zeros(COUNT))
        work()
    f(np.zeros(COUNT))
    assert (len(outer), len(inner)) == (1, 2)
    assert [bar.options["total"] for bar in inner] == [COUNT] * 2 and all(map(finished, inner))


@pytest.mark.row("U07")
def test_a_block_is_its_threads_own() -> None:
    f, bars = slow(), [Bars() for _ in range(3)]

    def work(own: Bars, **options: Any) -> None:
        with cwrapjit.progress(bar=own, after=0, **options):
            f(np.zeros(COUNT))

    threads = [threading.Thread(target=work, args=(own,)) for own in bars[:2]]
    # Before Python 3.14 each thread has its own context by default.
    threads.append(threading.Thread(target=contextvars.Context().run, args=(f, np.zeros(COUNT))))
    with cwrapjit.progress(bar=bars[2], after=0):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [len(own) for own in bars] == [1, 1, 0]
    assert finished(bars[0][0]) and finished(bars[1][0])


@pytest.mark.row("U07")
def test_tasks_and_contexts_have_it_as_long_as_the_block_lasts() -> None:
    f, bars = slow(), Bars()

    async def call() -> None:
        await asyncio.to_thread(f, np.zeros(COUNT))

    async def main() -> contextvars.Context:
        other = asyncio.create_task(call())
        with cwrapjit.progress(bar=bars, after=0):
            await asyncio.gather(call(), call(), other)
            return contextvars.copy_context()

    context = asyncio.run(main())
    assert len(bars) == 2
    context.run(f, np.zeros(COUNT))
    assert len(bars) == 2


@pytest.mark.row("U07")
def test_blocks_of_generators_end_in_any_order() -> None:
    f, bars = slow(), [Bars(), Bars()]

    def block(own: Bars) -> Iterator[None]:
        with cwrapjit.progress(bar=own, after=0):
            yield
            yield

    one, two = map(block, bars)
    next(one)
    next(two)
    one.close()
    f(np.zeros(COUNT))
    assert [len(own) for own in bars] == [0, 1]
    contextvars.copy_context().run(two.close)
    f(np.zeros(COUNT))
    assert [len(own) for own in bars] == [0, 1]


@pytest.mark.row("U07")
@pytest.mark.parametrize("options", [{}, {"threads": 2, "unordered": True}, {"gil": True}], ids=str)
@pytest.mark.parametrize("where", ["made", "update", "close"])
def test_what_a_bar_raises_ends_the_call(where: str, options: dict[str, Any]) -> None:
    class Stop(BaseException):
        pass

    class Bad(Bar):
        def at(self, place: str) -> None:
            if where == place:
                raise Stop

        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            self.at("made")

        def update(self, n: int) -> None:
            super().update(n)
            self.at("update")

        def close(self) -> None:
            super().close()
            self.at("close")

    f, bars, out = slow(**options), Bars(Bad), np.zeros(COUNT if where == "close" else MANY)
    with cwrapjit.progress(bar=bars, after=0), pytest.raises(Stop):
        f(np.zeros_like(out), out=out)
    assert (0 < out.sum() < out.size) == (where != "close")
    assert [bar.closed for bar in bars] == ([] if where == "made" else [1])
    assert f(np.zeros(3)).tolist() == [1, 1, 1]


@pytest.mark.row("U07")
@pytest.mark.parametrize("options", [{}, {"threads": 2, "unordered": True}], ids=str)
def test_a_failing_slice_closes_the_bar(options: dict[str, Any]) -> None:
    f, bars = slow(body=SLOW.replace("return", "return item__a() == 0;"), **options), Bars()
    x = np.zeros(COUNT)
    x[-5:] = 1
    with cwrapjit.progress(bar=bars, after=0):
        refuses(RuntimeError, lambda: f(x), "slow(): ", "returned false")
    assert len(bars) == 1 and bars[0].closed == 1 and 0 < bars[0].done < COUNT


@pytest.mark.row("U07")
def test_an_error_of_close_does_not_hide_the_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    class Bad(Bar):
        def close(self) -> None:
            raise OSError("no more room")

    seen: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda about: seen.append(str(about.exc_value)))
    f = slow(body=SLOW.replace("return", 'if(item__a()) PyErr_SetString(PyExc_KeyError, "own"); return'))
    with cwrapjit.progress(bar=Bad, after=0):
        refuses(KeyError, lambda: f(np.repeat([0.0, 1.0], [COUNT - 1, 1])), "own")
    assert seen == ["no more room"]


@pytest.fixture
def stopping() -> Iterator[type[BaseException]]:
    """Yields the exception class that SIGUSR1 raises."""

    class Stop(BaseException):
        pass

    def handler(*_: object) -> None:
        raise Stop

    before = signal.signal(signal.SIGUSR1, handler)
    yield Stop
    signal.signal(signal.SIGUSR1, before)


def signalling(condition: str, **options: Any) -> Any:
    """Returns a slow function that sends SIGUSR1 in the slices for which `condition` is true."""
    header = SLEEP + f"int kill(int, int); int getpid(void);\n#define SIGNAL {int(signal.SIGUSR1)}"
    return slow(body=f"if({condition}) kill(getpid(), SIGNAL);" + SLOW, header=header, **options)


@pytest.mark.row("U07")
@pytest.mark.parametrize("options", [{}, {"threads": 2, "unordered": True}, {"gil": True}], ids=str)
def test_what_ends_a_call_closes_the_bar(stopping: type[BaseException], options: dict[str, Any]) -> None:
    f, bars = signalling("item__a() == 400", **options), Bars()
    with cwrapjit.progress(bar=bars, after=0), pytest.raises(stopping):
        f(np.arange(float(MANY)))
    assert len(bars) == 1 and bars[0].closed == 1 and 0 < bars[0].done < MANY


@pytest.mark.row("B11")
@pytest.mark.parametrize("options", [{}, {"gil": True}], ids=str)
def test_an_error_that_a_slice_has_set_is_not_replaced(
    stopping: type[BaseException], options: dict[str, Any]
) -> None:
    f = signalling('item__a() == 100 && (PyErr_SetString(PyExc_ValueError, "own"), 1)', **options)
    with pytest.raises(stopping) as caught:
        try:
            f(np.arange(float(COUNT)))
        finally:
            for _ in range(1000):  # the handler runs here
                pass
    assert repr(caught.value.__context__) == "ValueError('own')"


@pytest.mark.row("U07")
def test_what_a_bar_calls_has_no_bar() -> None:
    f = slow()

    class Calls(Bar):
        def update(self, n: int) -> None:
            super().update(n)
            f(np.zeros(COUNT // 2))

    bars = Bars(Calls)
    with cwrapjit.progress(bar=bars, after=0):
        f(np.zeros(COUNT))
        f(np.zeros(COUNT))
    assert len(bars) == 2 and all(map(finished, bars))


@pytest.mark.row("U07")
def test_slow_bars_are_told_less_often() -> None:
    class Slow(Bar):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            time.sleep(0.5)  # may be 10 % of the time, so no report for the next 4.5 s
            self.begin = time.monotonic()

        def close(self) -> None:
            super().close()
            self.lasted = time.monotonic() - self.begin

    bars = Bars(Slow)
    with cwrapjit.progress(bar=bars, after=0):
        slow()(np.zeros(COUNT))
    (bar,) = bars
    assert isinstance(bar, Slow) and finished(bar)
    assert len(bar.steps) <= 2 + bar.lasted // 4.5


@pytest.mark.row("U07")
def test_kernels_and_library_functions_that_broadcast_have_bars() -> None:
    text = SLEEP + "static double wait(double x) { usleep(1000); return x + 1; }"
    vectorized = cwrapjit.vectorize(
        text + "double vectorized(double x) { return wait(x); }", name="vectorized"
    )
    element = cwrapjit.ElementwiseKernel("T x", "T y", "y = wait(x)", "element", preamble=text)
    total = cwrapjit.ReductionKernel("T x", "T y", "wait(x)", "a + b", "y = a", "0", "sum", preamble=text)
    lib = cwrapjit.library("lib", source=SLEEP + "double pause(double x) { usleep(1000); return x; }")
    pause, x = lib.function("double pause(double x)", broadcast=True), np.zeros(COUNT)
    calls: dict[str, Callable[[], Any]] = {
        **{"vectorized": lambda: vectorized(x), "element": lambda: element(x), "pause": lambda: pause(x)},
        "sum": lambda: total(x[:, None], axis=1),
    }
    for name, call in calls.items():
        bars = Bars()
        with cwrapjit.progress(bar=bars, after=0):
            assert call().shape == (COUNT,)
        assert [(bar.options["desc"], bar.options["total"]) for bar in bars] == [(name, COUNT)]
        assert finished(bars[0])


@pytest.mark.row("U07")
def test_ufuncs_and_graphs_have_none() -> None:
    bars = Bars()
    with cwrapjit.progress(bar=bars, after=0):
        assert slow().ufunc(np.zeros(COUNT)).sum() == COUNT
        x = cg.ndarray("float64", 1)("x")
        k = cwrapjit.link([x], cg.elementwise("a", "pause(a)", support_code=PAUSE)(x))
        assert k(np.zeros(COUNT)).sum() == 0
    assert bars == []


PAUSES = "if((long)item__a(0, 5) % 2000 == 1) usleep(1000);"  # item (0, 5) is the window's centre


@pytest.mark.row("U07")
@pytest.mark.parametrize(
    ("shape", "window", "body"),
    [((3000,), (6001,), "usleep(100);"), ((200_000, 5), (1, 11), PAUSES)],
    ids=["one box", "many boxes that are short"],
)
def test_windows_that_all_reach_beyond_their_array_count(
    shape: tuple[int, ...], window: tuple[int, ...], body: str
) -> None:
    body += "item__output() = item__a(" + "0," * (len(shape) - 1) + "0); return true;"
    f, bars, total = (
        slow(body=body, windows={"a": window}, border="constant", optimize="off"),
        Bars(),
        np.prod(shape),
    )
    with cwrapjit.progress(bar=bars, after=0):
        f(np.arange(float(total)).reshape(shape))
    assert [bar.options["total"] for bar in bars] == [total] and finished(bars[0])
    assert len(bars[0].steps) >= 3 and bars[0].steps[-1] < total // 2  # the last step comes at the end


FORKS = """
import os
import numpy as np
import cwrapjit

f = cwrapjit.function("f", signature="a() -> output()", header="int usleep(unsigned int);",
                      Ccode_slice_eval={float: "usleep(1000); item__output() = 1; return true;"})
told, child = [], None

class Bar:
    def __init__(self, **options):
        told.append("made")
    def update(self, n):
        global child
        told.append("update")
        child = os.fork() if child is None else child
    def close(self):
        told.append("close")

with cwrapjit.progress(bar=Bar, after=0):
    out = f(np.zeros(300))
    if child == 0:
        f(np.zeros(300))
        with cwrapjit.progress(bar=Bar, after=0):
            f(np.zeros(300))
if child == 0:
    os._exit(7 if told[:3] == ["made", "update", "made"] and out.sum() == 300 else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), told[0], told[-1])
"""


@pytest.mark.row("U07")
def test_a_child_made_by_fork_shows_its_own_blocks_alone() -> None:
    assert python(FORKS).stdout == "7 made close\n"


@pytest.mark.row("U07")
def test_bars_are_dropped_with_their_calls() -> None:
    f, alive = slow(), []

    def make(**options: Any) -> Bar:
        bar = Bar(**options)
        alive.append(weakref.ref(bar))
        return bar

    with cwrapjit.progress(bar=make, after=0):
        f(np.zeros(COUNT))
        assert [each() for each in alive] == [None]
    alive.append(weakref.ref(make))
    del make
    gc.collect()
    assert [each() for each in alive] == [None, None]


@pytest.mark.row("U07")
def test_arguments_are_checked() -> None:
    refuses(TypeError, lambda: cwrapjit.progress(bar=3), "progress(): ", "bar must be callable", "int")
    for error, wrong, word in (
        *((TypeError, wrong, type(wrong).__name__) for wrong in ("1", None, True)),
        *((ValueError, wrong, repr(wrong)) for wrong in (-0.5, float("nan"))),
    ):
        refuses(error, lambda wrong=wrong: cwrapjit.progress(bar=Bar, after=wrong), "progress(): after", word)


@pytest.mark.row("U07")
def test_without_tqdm_an_import_error_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.delitem(sys.modules, "tqdm.auto", raising=False)
    error = refuses(ImportError, cwrapjit.progress, "tqdm", "pip install tqdm,", "bar=")
    assert error.name == "tqdm"
    with cwrapjit.progress(bar=Bar):
        assert slow()(np.zeros(3)).tolist() == [1, 1, 1]


# ---- Ctrl-C and other signals: slices send them, so that the call is running -----------------

# A parent may ignore SIGINT, as shells do for background processes; children inherit that.
HANDLED = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"

KILL = "int usleep(unsigned int); int kill(int, int); int getpid(void);"

# The calls would run about two minutes: a million slices of 0.1 ms. One of the first slices sends the signal.
LONG = (
    HANDLED
    + f"HEADER = {KILL!r}"
    + """
import sys, threading
import numpy as np
import cwrapjit

def define(body, **options):
    return cwrapjit.function("f", signature="a(), s() -> output()",
                             header=HEADER, Ccode_slice_eval={float: body}, **options)

f = define('''
    if (item__s() > 0) usleep(item__s());
    if (item__a() == 500) kill(getpid(), 2);
    item__output() = 1;
    return true;''', OPTIONS)
WARM
a = GIVEN
out = np.zeros_like(a)
try:
    f(a, 50.0, out=out)
    print("finished")
except KeyboardInterrupt:
    done = int(out.sum())
    print("interrupted", 0 < done < out.size, set(np.unique(out)) <= {0.0, 1.0})
print(f(np.zeros(3), 0.0).tolist())
"""
)


def interrupted(options: str, given: str, warm: str = "") -> list[str]:
    """Returns the output lines of a process whose call is interrupted."""
    code = LONG.replace("OPTIONS", options).replace("GIVEN", given).replace("WARM", warm)
    return python(code).stdout.splitlines()


WARM = "[f(np.zeros(100), 0.0) for _ in range(100)]"  # measures the cost of a slice


@pytest.mark.row("B11")
@pytest.mark.parametrize(
    "options, warm",
    [("threads=1", ""), ("threads=2", WARM), ("gil=True", WARM), ("gil=False", ""), ("unordered=True", WARM)],
)
def test_ctrl_c_ends_a_long_call_between_slices(options: str, warm: str) -> None:
    assert interrupted(options, "np.arange(10.0**6)", warm) == ["interrupted True True", "[1.0, 1.0, 1.0]"]


@pytest.mark.row("B11")
def test_ctrl_c_ends_a_call_over_many_short_turns() -> None:
    given = "np.arange(4.0 * 10**6).reshape(10**6, 4)[:, :3]"
    assert interrupted("optimize='off'", given)[0] == "interrupted True True"


HANDLER = (
    f"HEADER = {KILL!r}"
    + """
import signal
import numpy as np
import cwrapjit

f = cwrapjit.function("f", signature="a() -> output()", header=HEADER, THREADS, Ccode_slice_eval={float: '''
    usleep(100);
    if ((int)item__a() % 1000 == 500)
        kill(getpid(), SIGNAL);
    item__output() = 2;
    return true;'''.replace("SIGNAL", str(int(signal.SIGALRM)))})
seen = []
def handler(number, frame):
    seen.append(float(f(np.zeros(3)).sum()))  # calls of the same function inside of the call
signal.signal(signal.SIGALRM, handler)
print(f(np.arange(2500.0)).sum())
print(set(seen))
"""
)


@pytest.mark.row("B11")
@pytest.mark.parametrize("option", ["threads=1", "threads=2", "gil=True"])
def test_handlers_of_other_signals_run_between_slices(option: str) -> None:
    assert python(HANDLER.replace("THREADS", option)).stdout == "5000.0\n{6.0}\n"
