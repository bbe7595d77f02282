"""Runs tests for tools/mutate.py and notes which lines each test reaches: a pytest plugin, and some C.

Each process writes its own list into the folder that the environment variable MUTATE_REACHED names: basic
blocks of C (gcc's -fsanitize-coverage=trace-pc calls the function below in each) and lines of Python. Blocks
reached by a process that a test starts belong to that test."""

from __future__ import annotations

import array
import contextlib
import ctypes
import json
import os
import resource
import signal
import sys
import threading
import time
from types import CodeType, FrameType
from typing import Any, NoReturn

FOLDER = os.environ.get("MUTATE_REACHED", "")
ROOT = os.environ.get("MUTATE_TREE", "")
NAME_BYTES = 1024

C_SIDE = """
/* Which basic blocks this process reaches: a name, a count, that many offsets into the extension. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
enum { SIZE = 1 << 24, BLOCKS = 1 << 18 };
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
static unsigned char seen[SIZE];
static struct list { char name[1024]; uint32_t count, blocks[BLOCKS]; } *list;
void __sanitizer_cov_trace_pc(void) {
    uintptr_t at = (uintptr_t)__builtin_return_address(0) - (uintptr_t)__ehdr_start;
    if (list == NULL || seen[at])
        return;
    seen[at] = 1;
    uint32_t i = __atomic_fetch_add(&list->count, 1, __ATOMIC_RELAXED);
    if (i < BLOCKS)
        list->blocks[i] = (uint32_t)at;
}
struct list *mutate_list(void) { return list; }
void mutate_reset(void) { memset(seen, 0, SIZE); list->count = 0; }
__attribute__((constructor)) static void begin(void) {
    const char *folder = getenv("MUTATE_REACHED"), *test = getenv("PYTEST_CURRENT_TEST");
    char path[1024];
    if (folder == NULL)
        return;
    snprintf(path, sizeof path, "%s/%d.blocks", folder, (int)getpid());
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || ftruncate(file, sizeof *list) != 0)
        return;
    void *made = mmap(NULL, sizeof *list, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (made == MAP_FAILED)
        return;
    list = made;
    snprintf(list->name, sizeof list->name, "%s", test == NULL ? "" : test);
}
"""

_lines: set[tuple[str, int]] = set()
_ours: dict[CodeType, bool] = {}
_spent: dict[str, list[Any]] = {}  # test function -> CPU seconds, whether it is quick, whether it passed


def function_of(test: str) -> str:
    """Returns tests/x.py::test_y for tests/x.py::test_y[case] (call)."""
    return test.split(" (")[0].split("[")[0]


def _trace_lines(frame: FrameType, event: str, argument: object) -> Any:
    if event == "line":
        _lines.add((frame.f_code.co_filename, frame.f_lineno))
    return _trace_lines


def _trace_calls(frame: FrameType, event: str, argument: object) -> Any:
    ours = _ours.get(frame.f_code)
    if ours is None:
        ours = _ours[frame.f_code] = frame.f_code.co_filename.startswith(f"{ROOT}/cwrapjit/")
    return _trace_lines if ours else None


def _write(test: str, blocks: list[int]) -> None:
    lines = sorted({f"{os.path.relpath(file, ROOT)}:{line}" for file, line in _lines})
    _lines.clear()
    with open(f"{FOLDER}/{os.getpid()}.jsonl", "a") as file:
        file.write(json.dumps({"test": function_of(test), "blocks": blocks, "lines": lines}) + "\n")


def _take_blocks() -> list[int]:
    module = sys.modules.get("cwrapjit._cwrapjit")
    if module is None:
        return []
    extension = ctypes.CDLL(module.__file__)
    extension.mutate_list.restype = ctypes.c_void_p
    at = extension.mutate_list() + NAME_BYTES
    count = ctypes.c_uint32.from_address(at).value
    found = array.array("I", ctypes.string_at(at + 4, 4 * count))
    extension.mutate_reset()
    return found.tolist()


def pytest_runtest_logreport(report: Any) -> None:
    if not FOLDER:
        return
    spent = _spent.setdefault(function_of(report.nodeid), [0.0, "quick" in report.keywords, True])
    spent[0] += report.duration
    spent[2] = spent[2] and (not report.failed)


def pytest_runtest_teardown(item: Any, nextitem: Any) -> None:
    """Writes the notes after a function's last case. (Later work of fixtures counts for the next one.)"""
    if FOLDER and (nextitem is None or function_of(nextitem.nodeid) != function_of(item.nodeid)):
        _write(item.nodeid, _take_blocks())


def pytest_sessionfinish() -> None:
    if FOLDER:
        with open(f"{FOLDER}/{os.getpid()}.spent", "w") as file:
            json.dump(_spent, file)


def pytest_collection_finish() -> None:
    if FOLDER:
        threading.settrace(_trace_calls)
        sys.settrace(_trace_calls)


# ---- runs, in forks of a process that has imported the common modules -----------------------------------


def _work_of(session: int) -> list[Any]:
    """Returns the times that a session's processes have run; it changes while one waits for a processor."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                words = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        if int(words[3]) == session:
            found.append((words[11:15], time.monotonic() if words[0] in "RD" else 0))
    return found


def _run(words: list[str], cpu: int) -> NoReturn:
    os.setsid()
    for limit, most in (resource.RLIMIT_AS, 8 << 30), (resource.RLIMIT_CORE, 0), (resource.RLIMIT_CPU, cpu):
        resource.setrlimit(limit, (most, most))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(os.open("said.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 1)
    os.dup2(1, 2)
    import pytest

    sys.argv[1:] = words
    sys.exit(int(pytest.main(words)))


def serve() -> None:
    """Runs pytest for each line of the input, and answers with its status: null if for a minute none of its
    processes wanted to run."""
    import hypothesis  # noqa: F401
    import numpy.testing  # noqa: F401
    import pytest  # noqa: F401
    import setuptools  # noqa: F401

    for asked in map(json.loads, sys.stdin):
        child = os.fork()
        if child == 0:
            _run(asked["words"], asked["cpu"])
        still, looks, work = 0, 0, None
        while not (ended := os.waitpid(child, os.WNOHANG))[0]:
            time.sleep(0.1)
            looks += 1
            if looks % 50 == 0:
                work, before = _work_of(child), work
                still = still + 1 if work == before else 0
            if still == 12:
                os.killpg(child, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # processes that it left behind
        print("null" if still >= 12 else os.waitstatus_to_exitcode(ended[1]), flush=True)
