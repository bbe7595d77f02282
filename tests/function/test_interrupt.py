"""Ctrl-C in a long call: KeyboardInterrupt between slices.

Slices send the signal themselves, so that the call is under way.
"""

from __future__ import annotations

import pytest
from helpers import python

# A parent may ignore SIGINT, as shells do for what runs in the background; children inherit that.
HANDLED = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"

KILL = "int usleep(unsigned int); int kill(int, int); int getpid(void);"

# Would run for about two minutes: a million slices of 0.1 ms. One of the first ones interrupts.
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
    """What a process says whose call is interrupted."""
    code = LONG.replace("OPTIONS", options).replace("GIVEN", given).replace("WARM", warm)
    return python(code).stdout.splitlines()


WARMS = {"first call": "", "after others": "[f(np.zeros(100), 0.0) for _ in range(100)]"}


@pytest.mark.row("B11")
@pytest.mark.parametrize("warm", WARMS.values(), ids=WARMS)
@pytest.mark.parametrize("options", ["threads=1", "threads=2", "gil=True", "gil=False", "unordered=True"])
def test_ctrl_c_ends_a_long_call_between_slices(options: str, warm: str) -> None:
    assert interrupted(options, "np.arange(10.0**6)", warm) == ["interrupted True True", "[1.0, 1.0, 1.0]"]


@pytest.mark.row("B11")
def test_ctrl_c_ends_a_call_over_many_short_turns() -> None:
    given = "np.arange(4.0 * 10**6).reshape(10**6, 4)[:, :3]"
    assert interrupted("optimize='off'", given)[0] == "interrupted True True"


HELD = (
    HANDLED
    + f"HEADER = {KILL!r}"
    + """
import numpy as np
import cwrapjit

fails = cwrapjit.function(
    "fails", signature="a() -> output()", header=HEADER,
    Ccode_slice_eval={float: '''
        usleep(100);
        if (item__a() == 500) {
            PyErr_SetString(PyExc_ValueError, "a slice's own");
            kill(getpid(), 2);
        }
        return true;
    '''},
)
x = np.arange(5000.0)
try:
    try:
        fails(x)
    finally:
        for _ in range(1000):
            pass
except KeyboardInterrupt as error:
    print(repr(error.__context__))
"""
)


@pytest.mark.row("B11")
def test_an_error_that_a_slice_has_set_is_not_replaced() -> None:
    assert python(HELD).stdout == 'ValueError("a slice\'s own")\n'


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
print(f(np.arange(4000.0)).sum())
print(set(seen))
"""
)


@pytest.mark.row("B11")
@pytest.mark.parametrize("option", ["threads=1", "threads=2", "gil=True"])
def test_handlers_of_other_signals_run_between_slices(option: str) -> None:
    assert python(HANDLER.replace("THREADS", option)).stdout == "8000.0\n{6.0}\n"
