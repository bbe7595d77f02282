"""Tests that Ctrl-C and deadlines leave C code that does not come back, in every front end.

Each case runs in a process of its own. Its C code says through a pipe that it runs; a second process, which
needs no lock of the first, then sends SIGINT twice. The second one ends the second of patience.
"""

from __future__ import annotations

import fractions
import os
import pathlib
import textwrap
from typing import Any

import numpy as np
import pytest
from helpers import build_shared, python, refuses

import cwrapjit

PRELUDE = """
import os, select, signal, subprocess, sys, threading, time
import numpy as np, cwrapjit

signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background ignore it
begun, done = os.pipe(), os.pipe()
PRESSER = '''
import os, select, signal, sys
begun, done, process, presses = map(int, sys.argv[1:])

def is_pending():
    with open(f"/proc/{process}/status") as status:
        fields = dict(line.split(":") for line in status)
    return (int(fields["SigPnd"], 16) | int(fields["ShdPnd"], 16)) >> (signal.SIGINT - 1) & 1

while os.read(begun, 1) == b".":
    for press in range(presses):
        os.kill(process, signal.SIGINT)
        while is_pending():
            pass
    while presses > 1 and not select.select([begun], [], [], 0.5)[0]:
        os.kill(process, signal.SIGINT)  # the others came just when Python installed another handler
    os.read(begun, 1)
    os.write(done, b".")
'''
RANDOM = '''
import os, random, signal, sys, time
random.seed(1)
for _ in range(200):
    time.sleep(random.random() * 0.02)
    os.kill(int(sys.argv[1]), signal.SIGINT)
'''
HEAD = f'''
long write(int file, const void *bytes, unsigned long size);
static int begin(void) {{ return write({begun[1]}, ".", 1) == 1; }}
static void spin(void) {{ volatile int zero = 0; begin(); while (!zero); }}
'''
SPIN = HEAD + "static double twice(double x) { if (x > 5) spin(); return 2 * x; }"
ones, nines = np.ones(3), np.full(3, 9.0)


def start(presses=2):
    words = map(str, [begun[0], done[1], os.getpid(), presses])
    return subprocess.Popen([sys.executable, "-S", "-E", "-c", PRESSER, *words], pass_fds=(begun[0], done[1]))


def told():
    stopped = False
    while True:
        try:
            stopped = stopped or os.write(begun[1], b"s")
            return os.read(done[0], 1)
        except KeyboardInterrupt:
            pass  # a press came late: the code had been left after a second


def struck(call, error=KeyboardInterrupt):
    '''Returns the text of the exception that the call raises when Ctrl-C is pressed in its C code.'''
    text = None
    try:
        call()
    except error as caught:
        text = str(caught)
    told()
    assert text is not None, "the call has returned"
    return text


def left(call, *words):
    text = struck(call)
    for word in ("left after Ctrl-C", *words):
        assert word in text, (word, text)


presser = start()
"""


def run(case: str, **options: Any) -> str:
    """Runs a case after the prelude, and returns what it printed."""
    code = PRELUDE + textwrap.dedent(case) + "\nos.write(begun[1], b'q')\npresser.wait()\n"
    return python(code, timeout=300, **options).stdout


NO_PRESSES = """
def left(call, *words):
    text, seconds = "was over before", 0.02
    while text is not None and "was over before" in text:  # on a busy machine
        text, seconds = None, 2 * seconds
        try:
            with cwrapjit.deadline(seconds):
                call()
        except TimeoutError as error:
            text = str(error)
    for word in (f"left at the deadline of {seconds} s", *words):
        assert text is not None and word in text, (word, text)

presser.kill()
"""

FRONT_ENDS = {
    "function": """
        f = cwrapjit.vectorize(SPIN + "double f(double x) { return twice(x); }")
        left(lambda: f(nines), "f(): ", "line 4", "spin(void)")
        assert f(ones).tolist() == [2, 2, 2]
        left(lambda: f(nines))
    """,
    "short calls": """
        f = cwrapjit.vectorize(SPIN + "double f(double x) { return twice(x); }")
        for _ in range(300):
            f(ones)
        out = np.zeros(3)
        left(lambda: f(nines, out=out), "f()")
        left(lambda: f(9.0))
        left(lambda: f(nines[::2]))
        left(lambda: f(np.full((3, 2), 9.0).T))
        assert f(ones, out=out).tolist() == [2, 2, 2] and f(1.0) == 2
    """,
    "rows": """
        f = cwrapjit.vectorize(SPIN + "double f(int n, const double x[n]) { return twice(x[n - 1]); }")
        left(lambda: f(np.full((4, 1000), 9.0)), "f()")
        left(lambda: f(np.full((4, 1000), 9.0, np.float32)))
        left(lambda: f(np.full((1000, 4), 9.0).T))
        assert f(np.ones((2, 10))).tolist() == [2, 2]
    """,
    "threads": """
        f = cwrapjit.vectorize(
            SPIN + "double f(double x) { for (int i = 0; i < 300; i++) x = x / 2 + .5;"
            "return twice(x * x); }",
            threads=2,
        )
        f(np.ones(200_000))
        numbers = np.ones(200_000)
        for place in (0, 20_000, 199_999):  # of the caller, of any
            numbers[:] = 1
            numbers[place] = 2.0 ** 320
            left(lambda: f(numbers), "f()")
        assert f(ones).tolist() == [2, 2, 2]
        assert (f(np.ones(200_000)) == 2).all()
    """,
    "ufunc": """
        f = cwrapjit.vectorize(SPIN + "double f(double x) { return twice(x); }")
        if cwrapjit.config.debug:
            sys.exit()  # has no .ufunc
        left(lambda: f.ufunc(nines), "f()")
        left(lambda: f.ufunc(np.full((5, 3), 9.0)[:, ::2]))
        assert f.ufunc(ones).tolist() == [2, 2, 2]
        add = cwrapjit.vectorize(SPIN + "double add(double x, double y) { return twice(x) / 2 + y; }")
        left(lambda: add.ufunc.reduce(nines))
        assert add.ufunc.reduce(ones) == 3
    """,
    "validate, cleanup": """
        m = cwrapjit.module("m", header=HEAD)
        options = dict(
            args_input=("a",), prototype_input=((),), prototype_output=(),
            Ccode_slice_eval={np.float64: "item__output() = item__a(); return true;"},
        )
        left(lambda: m.function("v", "", Ccode_validate="spin(); return true;", **options)(ones), "m.v()")
        f = m.function("c", "", Ccode_cookie_cleanup="spin();", Ccode_cookie_struct="int x;", **options)
        left(lambda: f(ones), "m.c()")
    """,
    "python in slices": """
        m = cwrapjit.module("m", header="#include <Python.h>\\n" + HEAD)
        f = m.function(
            "f", "", args_input=("a",), prototype_input=((),), prototype_output=(),
            Ccode_slice_eval={np.float64: '''
                PyGILState_STATE state = PyGILState_Ensure();
                PyGILState_Release(state);
                if (item__a() > 5) spin();
                item__output() = item__a(); return true;'''},
        )
        left(lambda: f(nines), "m.f()")
        assert f(ones).tolist() == [1, 1, 1]
    """,
    "kernels": """
        k = cwrapjit.ElementwiseKernel("T x", "T y", "if (x > 5) spin(); y = x", "k", preamble=HEAD)
        left(lambda: k(nines), "k()")
        assert k(ones).tolist() == [1, 1, 1]
        add = "(a > 5 ? spin() : (void)0, a + b)"
        r = cwrapjit.ReductionKernel("T x", "T y", "x", add, "y = a", "0", "r", preamble=HEAD)
        left(lambda: r(np.full(100, 9.0)), "r()")
        assert r(np.ones(5)) == 5
    """,
    "library": """
        lib = cwrapjit.library("lib", source=HEAD + '''
            double total(int n, const double x[n]) { if (x[0] > 5) spin(); return x[0] * n; }
            double twice(double x) { if (x > 5) spin(); return 2 * x; }''')
        left(lambda: lib.total(nines), "total()", "spin(void)")
        left(lambda: lib.twice(9.0))
        assert lib.total(ones) == 3 and lib.twice(1.0) == 2
    """,
    "graph": """
        sys.path.insert(0, TESTS)
        from graph_types import DBL, TemplateOp
        spin = TemplateOp(code="if (%(x)s > 5) spin(); %(z)s = %(x)s + %(y)s;")
        spin.c_support_code = lambda: HEAD
        for mode in ("function", None):
            x, y = DBL("x"), DBL("y")
            g = cwrapjit.link([x, y], spin(x, y), **({} if mode is None else {"mode": mode}))
            run = g
            left(lambda: run(9.0, 1.0))
            assert run(1.0, 2.0) == 3
    """,
    "callbacks": """
        lib = cwrapjit.library("lib", source=HEAD + '''
            void each(void (*f)(int), int n) {
                if (n > 5) begin();
                for (int i = 0; i < 3 || n > 5; i++) f(i);
            }''')
        left(lambda: lib.each(lambda i: None, 9), "lib.each()")
        left(lambda: lib.each(lambda i: time.sleep(0.01), 9))
        seen = []
        lib.each(seen.append, 1)
        assert seen == [0, 1, 2]
    """,
}


@pytest.mark.row("S08")
@pytest.mark.parametrize("debug", ["", "debug=True"])
@pytest.mark.parametrize("front_end", FRONT_ENDS)
def test_ctrl_c_leaves_a_loop(front_end: str, debug: str) -> None:
    case = textwrap.dedent(FRONT_ENDS[front_end])
    if debug:
        case = "cwrapjit.config.debug = True\n" + case
    run(f"TESTS = {os.path.dirname(os.path.dirname(__file__))!r}\n{case}")


@pytest.mark.row("S08")
@pytest.mark.compiler("the cc tier's code")
def test_the_line_in_optimized_code() -> None:
    """It comes from a table that the system's compiler writes."""
    run(f"""
        {textwrap.indent(NO_PRESSES, " " * 8).strip()}
        sys.path.insert(0, {os.path.dirname(os.path.dirname(__file__))!r})
        from graph_types import DBL, TemplateOp
        spin = "static void spin(void)\\n{{\\n    volatile int zero = 0;\\n    while (!zero);\\n}}\\n"
        f = cwrapjit.vectorize(spin + "double f(double x) {{ if (x > 5) spin(); return 2 * x; }}")
        k = cwrapjit.ElementwiseKernel("T x", "T y", "y = x;\\nvolatile T *at = &y;\\nwhile (*at > 5);", "k")
        assert k(ones).tolist() == [1, 1, 1]
        op = TemplateOp(code="if (%(x)s > 5) spin(); %(z)s = %(x)s + %(y)s;")
        op.c_support_code = lambda: spin
        x, y = DBL("x"), DBL("y")
        g = cwrapjit.link([x, y], op(x, y))
        assert f.wait() and k.wait() and g.wait() and (f.tier, g.tier) == ("cc", "cc")
        for _ in range(2):
            left(lambda: f(nines), "in <cwrapjit f source>, line 4: while (!zero);")
            left(lambda: g(9.0, 1.0), "c_support_code>, line 4: while (!zero);")
            left(lambda: k(nines), "line 3: while (*at > 5);")
        assert f(ones).tolist() == [2, 2, 2]
    """)


@pytest.mark.row("S08")
def test_the_first_press_gives_a_second() -> None:
    """What comes back in time is not left, and its results count."""
    run("""
        m = cwrapjit.module("m", header=HEAD + "int usleep(unsigned microseconds);")
        f = m.function(
            "f", "", args_input=("a",), prototype_input=((),), prototype_output=(),
            Ccode_slice_eval={np.float64: '''
                if (item__a() > 5) { begin(); for (int i = 0; i < 20; i++) usleep(10000); }
                item__output() = 2 * item__a(); return true;'''},
        )
        presser.terminate()
        presser.wait()
        presser = start(1)
        out = np.zeros(1)
        assert struck(lambda: (f(np.array([9.0]), out=out), time.sleep(10))) == ""
        assert out == 18
        spin = cwrapjit.vectorize(SPIN + "double f(double x) { return twice(x); }")
        left(lambda: spin(nines))
    """)


@pytest.mark.row("S08")
@pytest.mark.compiler("a shared library")
def test_compiled_libraries_are_waited_for(tmp_path: pathlib.Path) -> None:
    """They keep locks. C text that they call back is not left either, while they run."""
    text = "#include <time.h>\nvoid linger(void (*f)(void), double s)\n{"
    text += "clock_t end = clock() + s * CLOCKS_PER_SEC; while (clock() < end) f(); }"
    built = build_shared(tmp_path, "liblinger.so", text)
    run(f"""
        lib = cwrapjit.library("linger", {str(built)!r})
        lib.declare("void linger(void (*f)(void), double s);")
        own = cwrapjit.library("own", source=HEAD + "void many(void) {{ static int told; told || begin();"
                               "told = 1; for (volatile int i = 0; i < 1000; i++) ; }}")
        before = time.process_time()
        text = struck(lambda: lib.linger(own.many, 1.5))
        assert text == "", text
        assert time.process_time() - before > 1.4
    """)


LIBRARY = """
#include <time.h>
#include <unistd.h>
void linger(double s);
void spin(int file) { if (write(file, ".", 1)) for (;;) ; }
double stay(int file, double x) { if (x > 5) spin(file); return 2 * x; }
void other(int file, double s) { if (write(file, ".", 1)) linger(s); }
double spend(double s)
{
    clock_t end = clock() + s * CLOCKS_PER_SEC;
    while (clock() < end)
        for (volatile int i = 0; i < 1000; i++) ;
    return s;
}
"""


@pytest.mark.row("S08")
@pytest.mark.row("S09")
@pytest.mark.compiler("shared libraries")
@pytest.mark.parametrize("debug", [False, True])
def test_interruptible_libraries(tmp_path: pathlib.Path, debug: bool) -> None:
    """interruptible=True leaves code of the library itself, not of those that it calls, while it lives."""
    slow = "#include <time.h>\nstatic double spend" + LIBRARY.partition("double spend")[2]
    build_shared(tmp_path, "liblinger.so", slow + "void linger(double s) { spend(s); }")
    flags = (f"-L{tmp_path}", f"-Wl,-rpath,{tmp_path}", "-Wl,--no-as-needed", "-llinger")
    built = build_shared(tmp_path, "libspin.so", LIBRARY, *flags)
    run(f"""
        declared = "void spin(int file); void other(int file, double s);"
        lib = cwrapjit.library("lib", {str(built)!r}, interruptible=True, debug={debug}).declare(declared)
        stay = lib.function("double stay(int file, double x)", broadcast=True)
        left(lambda: lib.spin(begun[1]), "lib.spin()")
        left(lambda: stay(begun[1], nines), "stay()")
        assert stay(begun[1], ones).tolist() == [2, 2, 2]
        before = time.process_time()
        struck(lambda: lib.other(begun[1], 1.5))
        assert time.process_time() - before > 1.4
        {textwrap.indent(NO_PRESSES, " " * 8).strip()}
        left(lambda: lib.spin(begun[1]))
        left(lambda: stay(begun[1], nines))
        del lib, stay
        import gc
        gc.collect()
        lib = cwrapjit.library("lib", {str(built)!r})
        spend = lib.function("double spend(double s)", broadcast=True)
        before = time.process_time()
        try:
            with cwrapjit.deadline(0.02):
                spend([0.3, 0.3])
        except TimeoutError:
            pass  # between its slices
        assert time.process_time() - before > 0.25
    """)


@pytest.mark.row("S08")
def test_the_c_library_is_waited_for() -> None:
    """It owns the memory and the locks of the whole process."""
    libc = cwrapjit.library("libc", libraries=["c"], interruptible=True)
    libc.function("int usleep(unsigned microseconds)")
    with cwrapjit.deadline(0.02):
        assert libc.usleep(100_000) == 0


@pytest.mark.row("S08")
def test_interruptible_refuses() -> None:
    for wrong in ("yes", 1, None):
        kind = type(wrong).__name__
        refuses(
            TypeError,
            lambda wrong=wrong: cwrapjit.library("x", interruptible=wrong),
            "library('x'): interruptible must be True or False",
            kind,
        )
    refuses(TypeError, lambda: cwrapjit.library("x", interuptible=True), "library()", "'interruptible'")


@pytest.mark.row("S08")
def test_handlers_of_python_decide() -> None:
    run("""
        f = cwrapjit.vectorize(SPIN + "double f(double x) { return twice(x); }")
        class Stop(Exception):
            pass
        def stop(*given):
            raise Stop("mine")
        f(ones)  # the watching thread is there
        signal.signal(signal.SIGINT, stop)
        f(ones)
        time.sleep(0.5)  # it has seen the new handler
        assert struck(lambda: f(nines), Stop) == "mine"
        seen = []
        signal.signal(signal.SIGINT, lambda *given: seen.append(given))
        time.sleep(0.5)
        f(ones)
        left(lambda: f(nines))
        assert seen
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        time.sleep(0.5)
        f(ones)
        with cwrapjit.deadline(0.5):
            struck(lambda: f(nines), TimeoutError)
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    """)


@pytest.mark.row("S08")
def test_under_asyncio() -> None:
    run("""
        import asyncio
        f = cwrapjit.vectorize(SPIN + "double f(double x) { return twice(x); }")
        f(ones)
        async def main():
            await asyncio.sleep(0)
            f(nines)
        left(lambda: asyncio.run(main()))
        assert f(ones).tolist() == [2, 2, 2]
    """)


@pytest.mark.row("S08")
def test_a_call_that_keeps_the_gil_from_the_main_thread() -> None:
    """It is left, although Ctrl-C means the main thread, which then gets its own KeyboardInterrupt."""
    run("""
        f = cwrapjit.vectorize(SPIN + "double f(double x) { return twice(x); }")
        for _ in range(300):
            f(ones)  # its calls are short, and keep the GIL
        errors = []
        def work():
            try:
                f(nines)
            except BaseException as error:
                errors.append(str(error))
        thread = threading.Thread(target=work)
        def both():
            thread.start()
            time.sleep(600)
        struck(both)
        thread.join()
        assert "left after Ctrl-C" in errors[0], errors
    """)


@pytest.mark.row("S08")
def test_other_threads_go_on() -> None:
    """Ctrl-C means the main thread: a call of another thread that has released the GIL is not left."""
    run("""
        m = cwrapjit.module("m", header=HEAD)
        f = m.function(
            "f", "", args_input=("a",), prototype_input=(("n",),), prototype_output=(),
            Ccode_slice_eval={np.float64: '''
                volatile double *go = &item__a(0);
                while (*go > 5) ;
                item__output() = *go; return true;'''},
        )
        spin = cwrapjit.vectorize(SPIN + "double f(double x) { return twice(x); }")
        numbers = np.full(1, 9.0)
        results = []
        thread = threading.Thread(target=lambda: results.append(f(numbers)))
        thread.start()
        left(lambda: spin(nines))
        left(lambda: spin(nines))
        assert thread.is_alive()
        numbers[0] = 1
        thread.join()
        assert results == [1]
    """)


@pytest.mark.row("S08")
def test_in_a_forked_child() -> None:
    run("""
        f = cwrapjit.vectorize(SPIN + "double f(double x) { return twice(x); }")
        f(ones)
        presser.kill()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                with cwrapjit.deadline(0.05):
                    f(nines)
            except TimeoutError:
                status = 0 if f(ones).tolist() == [2, 2, 2] else 2
            os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        assert os.read(begun[0], 1) == b"."
        presser = start()
        left(lambda: f(nines))
    """)


@pytest.mark.row("S08")
def test_random_interrupts_beside_right_calls() -> None:
    """200 presses at any moment: nothing crashes, and each call that returns is right."""
    run("""
        f = cwrapjit.vectorize("double f(double x) { return 2 * x; }")
        row = cwrapjit.vectorize('''double row(int n, const double x[n]) {
            double s = 0; for (int i = 0; i < n; i++) s += x[i]; return s; }''')
        lib = cwrapjit.library("lib", source="double half(double x) { return x / 2; }")
        each = cwrapjit.library("each", source='''void each(void (*f)(int), int n) {
            for (int i = 0; i < n; i++) f(i); }''')
        large, wide = np.arange(100_000.0), np.ones((50, 200))[:, ::2]
        presser.kill()
        alive, end = os.pipe()
        subprocess.Popen([sys.executable, "-S", "-E", "-c", RANDOM, str(os.getpid())], pass_fds=(end,))
        os.close(end)
        ended = select.poll()
        ended.register(alive)
        caught = rounds = inside = 0
        def press(*given):
            global inside
            if inside:
                inside = 0
                raise KeyboardInterrupt
        signal.signal(signal.SIGINT, press)
        while not ended.poll(0):
            try:
                inside = 1
                assert f(ones).tolist() == [2, 2, 2]
                assert f(large)[-1] == 199_998
                assert (row(wide) == 100).all()
                assert lib.half(3.0) == 1.5
                each.each(lambda i: None, 20)
                assert f.ufunc(large[::7])[1] == 14
                inside = 0
                rounds += 1
            except KeyboardInterrupt:
                caught += 1
        assert caught > 20 and rounds > 20, (caught, rounds)
        assert threading.active_count() == 1
    """)


@pytest.mark.row("S09")
@pytest.mark.parametrize("debug", ["", "debug=True"])
@pytest.mark.parametrize("front_end", FRONT_ENDS)
def test_a_deadline_leaves_a_loop(front_end: str, debug: str) -> None:
    case = textwrap.dedent(FRONT_ENDS[front_end])
    if debug:
        case = "cwrapjit.config.debug = True\n" + case
    run(f"TESTS = {os.path.dirname(os.path.dirname(__file__))!r}\n" + NO_PRESSES + case)


@pytest.mark.row("S09")
def test_deadlines_nest() -> None:
    run("""
        f = cwrapjit.vectorize(SPIN + "double f(double x) { return twice(x); }")
        presser.kill()
        for seconds in [(60, 0.02), (0.02, 60)]:
            outer, inner = map(cwrapjit.deadline, seconds)
            try:
                with outer, inner:
                    f(nines)
                raise AssertionError("the call has returned")
            except TimeoutError as error:
                assert "the deadline of 0.02 s" in str(error)
        with cwrapjit.deadline(0.02):
            time.sleep(0.1)  # Python is not stopped, but the code after it does not run
            try:
                f(nines)
                raise AssertionError("the call has returned")
            except TimeoutError as error:
                assert "deadline of 0.02 s" in str(error)
        out = np.zeros(3)
        for _ in range(1000):  # after the block it is over
            f(ones, out=out)
        with cwrapjit.deadline(60):
            assert f(ones).tolist() == [2, 2, 2]
    """)


@pytest.mark.row("S09")
def test_code_does_not_run_after_a_deadline() -> None:
    """However short it is; in each front end, with and without the GIL."""
    run("""
        presser.kill()
        f = cwrapjit.vectorize("double f(double x) { return 2 * x; }")
        lib = cwrapjit.library("lib", source="double half(double x) { return x / 2; }")
        kernel = cwrapjit.ElementwiseKernel("T x", "T y", "y = x + 1")
        total = cwrapjit.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")
        x = cwrapjit.graph.float64("x")
        graph = cwrapjit.link([x], x * x)
        large = np.ones(100_000)
        calls = {
            "number": lambda: f(1.0),
            "numbers": lambda: f(ones),
            "many": lambda: f(large),
            "ufunc": lambda: f.ufunc(ones),
            "library": lambda: lib.half(3.0),
            "kernel": lambda: kernel(ones),
            "reduction": lambda: total(large),
            "graph": lambda: graph(2.0),
        }
        if cwrapjit.config.debug:
            del calls["ufunc"]
        for name, call in calls.items():
            for _ in range(100):  # short calls take another way
                before = call()
            texts = []
            with cwrapjit.deadline(0.01):
                time.sleep(0.02)
                for _ in range(3):
                    try:
                        call()
                    except TimeoutError as error:
                        texts.append(str(error))
            assert len(texts) == 3, (name, texts)
            assert "the deadline of 0.01 s was over before the C code had run" in texts[0], (name, texts)
            assert np.array_equal(call(), before)
        ended = 0
        with cwrapjit.deadline(0.05):
            try:
                while True:
                    f(1.0)
            except TimeoutError:
                ended = 1
        assert ended
    """)


@pytest.mark.row("S09")
def test_deadlines_belong_to_contexts() -> None:
    """Those of asyncio tasks, in any order; blocks may end in any order, in another thread, or never."""
    run("""
        import asyncio
        presser.kill()
        f = cwrapjit.vectorize(SPIN + "double f(double x) { return twice(x); }")

        def outcome(call):
            try:
                call()
            except TimeoutError as error:
                return str(error)[5:].split(" s")[0].split(" of ")[-1]
            return "right"

        async def other(seconds, before, inside):
            await asyncio.sleep(before)
            with cwrapjit.deadline(seconds):
                await asyncio.sleep(inside)
                return outcome(lambda: f(nines))

        async def patient():
            await asyncio.sleep(0.1)
            return outcome(lambda: f(ones)), outcome(lambda: f.ufunc(ones))

        async def several():
            return await asyncio.gather(patient(), other(0.05, 0, 0.2),
                                        other(0.06, 0.02, 0.1), patient())

        rights = ("right", "right")
        assert asyncio.run(several()) == [rights, "0.05", "0.06", rights]

        async def threads():
            with cwrapjit.deadline(0.04):
                return await asyncio.gather(asyncio.to_thread(outcome, lambda: f(nines)),
                                            asyncio.to_thread(outcome, lambda: f.ufunc(nines)))
        assert asyncio.run(threads()) == ["0.04", "0.04"]
        first, second = cwrapjit.deadline(0.01), cwrapjit.deadline(60)
        first.__enter__(), second.__enter__(), first.__exit__(None, None, None)
        time.sleep(0.03)
        assert outcome(lambda: f(ones)) == "right"
        thread = threading.Thread(target=second.__exit__, args=(None, None, None))
        thread.start()
        thread.join()

        def steps():
            with cwrapjit.deadline(0.01):
                yield
        suspended = steps()
        next(suspended)
        time.sleep(0.03)
        assert outcome(lambda: f(ones)) == "0.01"  # generators share the context
        suspended.close()
        assert outcome(lambda: f(ones)) == "right"
        cwrapjit.deadline(0.01).__enter__()
        time.sleep(0.03)
        assert outcome(lambda: f(ones)) == "0.01"
    """)


@pytest.mark.row("S09")
def test_deadlines_of_threads_are_apart() -> None:
    run("""
        f = cwrapjit.vectorize(SPIN + "double f(double x) { return twice(x); }")
        presser.kill()
        f(ones)
        errors = []
        def work(number):
            try:
                with cwrapjit.deadline(0.02 * number):
                    f(nines)
            except TimeoutError as error:
                errors.append(str(error))
        threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len({error.partition(",")[0] for error in errors}) == 4, errors
    """)


@pytest.mark.row("S09")
def test_deadline_refuses() -> None:
    for wrong in (0, -1.5, float("nan")):
        refuses(
            ValueError, lambda wrong=wrong: cwrapjit.deadline(wrong), "deadline()", "above 0", f"got {wrong}"
        )
    for wrong in ("1", None, True, [1]):
        refuses(
            TypeError,
            lambda wrong=wrong: cwrapjit.deadline(wrong),
            "deadline()",
            "seconds",
            type(wrong).__name__,
        )
    for number in (np.float32(2), np.int64(2), fractions.Fraction(2), np.array(2.0)):
        assert repr(cwrapjit.deadline(number)) == "deadline(2)"
    block = cwrapjit.deadline(60)
    with block:
        refuses(RuntimeError, block.__enter__, "deadline(60)", "in force")
    refuses(RuntimeError, lambda: block.__exit__(None, None, None), "deadline(60)", "not in force")
    with block:
        pass
    assert repr(block) == "deadline(60)"
    with cwrapjit.deadline(float("inf")):
        pass


def test_messages_name_no_line_of_generated_text() -> None:
    f = cwrapjit.function("f", signature="-> y()", Ccode_slice_eval={float: "for(;;); return true;"})
    with cwrapjit.deadline(0.02):
        error = refuses(TimeoutError, f, "f(): the C code was left")
    assert "generated" not in str(error)
