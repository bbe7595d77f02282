"""Ctrl-C in a long call: KeyboardInterrupt between slices."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest
from helpers import python

# A parent may ignore SIGINT, as shells do for what runs in the background; children inherit that.
HANDLED = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"

# Would run for about two minutes: a million slices of 0.1 ms.
LONG = (
    HANDLED
    + """
import sys, threading
import numpy as np
import cwrapjit

def define(body, **options):
    return cwrapjit.function("f", signature="a(), s() -> output()",
                             header="int usleep(unsigned int);", Ccode_slice_eval={float: body}, **options)

f = define("if (item__s() > 0) usleep(item__s()); item__output() = 1; return true;", OPTIONS)
WARM
out = np.zeros(SHAPE)
try:
    print("ready", flush=True)
    f(np.zeros(SHAPE), 50.0, out=out)
    print("finished")
except KeyboardInterrupt:
    done = int(out.sum())
    print("interrupted", 0 <= done < out.size, set(np.unique(out)) <= {0.0, 1.0})
print(f(np.zeros(3), 0.0).tolist())
"""
)


def interrupt(options: str, shape: str, warm: str = "", text: str = LONG) -> list[str]:
    """Sends SIGINT to a call under way; what the process then says."""
    code = text.replace("OPTIONS", options).replace("SHAPE", shape).replace("WARM", warm)
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.2)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=50)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0, said
    return said.splitlines()


WARMS = {"first call": "", "after others": "[f(np.zeros(100), 0.0) for _ in range(100)]"}


@pytest.mark.row("B11")
@pytest.mark.parametrize("warm", WARMS.values(), ids=WARMS)
@pytest.mark.parametrize("options", ["threads=1", "threads=2", "gil=True", "gil=False", "unordered=True"])
def test_ctrl_c_ends_a_long_call_between_slices(options: str, warm: str) -> None:
    assert interrupt(options, "10**6", warm) == ["interrupted True True", "[1.0, 1.0, 1.0]"]


@pytest.mark.row("B11")
def test_ctrl_c_ends_a_call_over_many_short_turns() -> None:
    text = LONG.replace("np.zeros(SHAPE), 50.0", "np.zeros((4, 10**6)).T[:, :3], 50.0")
    text = text.replace("out = np.zeros(SHAPE)", "out = np.zeros((10**6, 3))")
    assert interrupt("optimize='off'", "3", text=text)[0] == "interrupted True True"


HELD = (
    HANDLED
    + """
import time
import _thread
import numpy as np
import cwrapjit

fails = cwrapjit.function(
    "fails", signature="a() -> output()", header="int usleep(unsigned int);",
    Ccode_slice_eval={float: '''
        usleep(100);
        if (item__a() == 500)
            PyErr_SetString(PyExc_ValueError, "a slice's own");
        return true;
    '''},
)
x = np.arange(5000.0)
_thread.start_new_thread(lambda: (time.sleep(0.3), _thread.interrupt_main()), ())
try:
    try:
        fails(x)
    finally:
        for _ in range(1000):
            time.sleep(0.005)
except KeyboardInterrupt as error:
    print(repr(error.__context__))
"""
)


@pytest.mark.row("B11")
def test_an_error_that_a_slice_has_set_is_not_replaced() -> None:
    assert python(HELD, timeout=60).stdout == 'ValueError("a slice\'s own")\n'


HANDLER = """
import signal
import numpy as np
import cwrapjit

f = cwrapjit.function("f", signature="a() -> output()", header="int usleep(unsigned int);", THREADS,
                      Ccode_slice_eval={float: "usleep(100); item__output() = 2; return true;"})
seen = []
def handler(number, frame):
    seen.append(float(f(np.zeros(3)).sum()))  # calls of the same function inside of the call
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
print(f(np.zeros(4000)).sum())
signal.setitimer(signal.ITIMER_REAL, 0)
print(set(seen))
"""


@pytest.mark.row("B11")
@pytest.mark.parametrize("option", ["threads=1", "threads=2", "gil=True"])
def test_handlers_of_other_signals_run_between_slices(option: str) -> None:
    assert python(HANDLER.replace("THREADS", option), timeout=60).stdout == "8000.0\n{6.0}\n"
