"""Helpers for many test files: they create functions, expect errors, and start processes."""

from __future__ import annotations

import functools
import importlib.util
import os
import pathlib
import shutil
import string
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cwrapjit
from cwrapjit import _cwrapjit

# Computes the inner product of a(n) and b(n) with the accessors.
INNER = """
    item__output() = 0;
    for (int i = 0; i < dims_slice__a[0]; i++)
        item__output() += item__a(i) * item__b(i);
    return true;
"""

# Computes output(n, m) from a(n) and b(m).
OUTER = """
    for (int i = 0; i < dims_slice__a[0]; i++)
        for (int j = 0; j < dims_slice__b[0]; j++)
            item__output(i, j) = item__a(i) * item__b(j);
    return true;
"""

_MODULE_OPTIONS = ("header", "sources", "include_dirs", "define_macros", "libraries", "library_dirs")


def wrap(
    ins: Any, outs: Any, code: Any, *, module: str = "t", name: str = "f", doc: str = "", **kw: Any
) -> Any:
    """Returns a function `name` of a new module, with arguments a, b, ... and the prototypes ins and outs.

    `code` is the float64 body or a dict of type sets; `names` replaces a, b, ... Other keywords go to
    function(), or to module() if only that knows them.
    """
    shared = {key: kw.pop(key) for key in _MODULE_OPTIONS if key in kw}
    names = kw.pop("names", tuple(string.ascii_lowercase[: len(ins)]))
    owner = cwrapjit.module(module, "made by a test", **shared)
    return owner.function(
        name,
        doc,
        args_input=names,
        prototype_input=ins,
        prototype_output=outs,
        Ccode_slice_eval=code if isinstance(code, dict) else {np.float64: code},
        **kw,
    )


def wrap_signature(
    signature: str, code: Any, *, module: str = "t", name: str = "f", doc: str = "", **kw: Any
) -> Any:
    """Does the same for a signature."""
    shared = {key: kw.pop(key) for key in _MODULE_OPTIONS if key in kw}
    return cwrapjit.module(module, "made by a test", **shared).function(
        name,
        doc,
        signature=signature,
        Ccode_slice_eval=code if isinstance(code, dict) else {np.float64: code},
        **kw,
    )


def ar(*shape: int, dtype: Any = np.float64) -> Any:
    """Returns an array 0, 1, 2, ... of that shape; ar() is a 0-d array of 0."""
    return np.arange(int(np.prod(shape)), dtype=dtype).reshape(shape)


def view(shape: tuple[int, ...], order: int, reverse: int, gaps: int, wide: int = 0, start: int = 0) -> Any:
    """Returns a view of this shape on start, start + 1, ..., permuted, reversed, gapped or broadcast."""
    axes = np.random.default_rng(order).permutation(len(shape))
    memory = start + ar(*(shape[axis] * (1 + (gaps >> axis & 1)) for axis in axes)).transpose(
        np.argsort(axes)
    )
    step = [(1 + (gaps >> axis & 1)) * (1 - 2 * (reverse >> axis & 1)) for axis in range(len(shape))]
    cut = [slice(0, 1) if wide >> axis & 1 else slice(None, None, step[axis]) for axis in range(len(shape))]
    return memory[tuple(cut)]


@functools.cache
def example(name: str) -> Any:
    """Imports examples/name.py, without running its main()."""
    path = pathlib.Path(__file__).parents[1] / "examples" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"example_{name}", path)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def refuses(error: type[BaseException], call: Callable[[], Any], *words: str) -> Any:
    """call() must raise exactly this class, with a message that has all of the words. Returns the exception.

    At least one word is needed, of three characters or more. Without a word, any other error of that class
    would pass; and "2" or "x" is in nearly every message ("2" in all that name int32), so it proves nothing:
    "got 2" and "argument 'x'" do. Use says() for exceptions without a text.
    """
    short = [word for word in words if not isinstance(word, str) or len(word) < 3]
    assert words and not short, f"what must the message say? {short} will be there anyway"
    with pytest.raises(error) as caught:
        call()
    assert type(caught.value) is error, f"{type(caught.value).__name__}: {caught.value}"
    text = str(caught.value)
    missing = [word for word in words if word not in text]
    assert not missing, f"{missing} not in {text!r}"
    return caught.value


def says(error: type[BaseException], call: Callable[[], Any], text: str) -> Any:
    """call() must raise exactly this class, with this text (or none). Returns the exception."""
    with pytest.raises(error) as caught:
        call()
    assert type(caught.value) is error, f"{type(caught.value).__name__}: {caught.value}"
    assert str(caught.value) == text
    return caught.value


def same(got: Any, wanted: Any) -> bool:
    """Returns whether value, shape and dtype are equal; NaN equals NaN, and NaT equals NaT."""
    got, wanted = np.asarray(got), np.asarray(wanted)
    return (
        got.shape == wanted.shape
        and got.dtype == wanted.dtype
        and np.array_equal(got, wanted, equal_nan=_may_nan(got))
    )


def _may_nan(array: Any) -> bool:
    return array.dtype.kind in "fcmM"


def compiler() -> str:
    """Returns the system's C compiler, or skips the test if there is none."""
    found = shutil.which(os.environ.get("CC", "") or "cc") or shutil.which("gcc") or shutil.which("clang")
    if not found:
        pytest.skip("no C compiler on this machine")
    return found


# WHO is 1 in libtcc's code, and 2 in the cc tier's. Only macros of cwrapjit tell the two apart.
WHO = """
#if defined CWJ_GCC || defined CWJ_CLANG
#define WHO 2
#else
#define WHO 1
#endif
"""


def who(**options: Any) -> Any:
    """Returns a function that yields WHO for each element."""
    return wrap(((),), (), "item__output() = WHO + 0 * item__a(); return true;", header=WHO, **options)


def run_quietly(command: list[str], **kw: Any) -> subprocess.CompletedProcess[str]:
    """Runs a command that must succeed. If it does not, the assertion shows its output."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, **kw)
    assert done.returncode == 0, f"{command}: status {done.returncode}\n{done.stdout}{done.stderr}"
    return done


def build_shared(folder: pathlib.Path, file: str, text: str, *flags: str) -> pathlib.Path:
    """Compiles C text to the shared library folder/file."""
    source = folder / (file + ".c")
    source.write_text(text)
    target = folder / file
    run_quietly([compiler(), "-shared", "-fPIC", "-O1", *flags, "-o", str(target), str(source)])
    return target


def build_extension(folder: pathlib.Path, name: str, text: str, *flags: str) -> Any:
    """Compiles the C source of an extension module (with NumPy's headers) and loads it. -O0 takes a third of
    the time; flags may override it."""
    includes = ["-O0", f"-I{sysconfig.get_paths()['include']}", f"-I{np.get_include()}"]
    path = build_shared(
        folder, name + (sysconfig.get_config_var("EXT_SUFFIX") or ".so"), text, *includes, *flags
    )
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def python(code: str, *args: str, check: bool = True, **kw: Any) -> subprocess.CompletedProcess[str]:
    """Runs code in a new process of this interpreter, without input. With `check` it must succeed."""
    kw.setdefault("timeout", 900)  # ends a process that hangs
    done = subprocess.run(
        [sys.executable, "-c", code, *args], capture_output=True, text=True, stdin=subprocess.DEVNULL, **kw
    )
    if check:
        assert done.returncode == 0, f"status {done.returncode}\n{done.stdout}{done.stderr}"
    return done


# ---- waiting for an event, not for a time -----------------------------------------------------------


def eventually(condition: Callable[[], bool], seconds: float = 600.0) -> bool:
    """Waits for something that must happen; only a failing test waits the whole time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.002)
    return condition()


def until_it_waits(thread: threading.Thread) -> None:
    """Waits until the thread sleeps, but not for the GIL: reading its state releases that."""

    def sleeps() -> bool:
        with open(f"/proc/self/task/{thread.native_id}/stat", "rb", 0) as stat:
            return stat.read().rpartition(b")")[2].split()[0] == b"S"

    assert eventually(sleeps), "it never waits"


_met: list[Any] = []  # memory that the C text of meeting() writes to


def meeting(first: int = 100) -> str:
    """Returns C text of meet(number), for slices 0, 1, 2, ... of a call with threads=. The thread that calls
    meeting() must make the call: from slice `first` on it waits until another thread has run one."""
    _met.append(np.zeros(1, np.int64))
    return f"""
        int usleep(unsigned int);
        unsigned long pthread_self(void);
        static void meet(double number)
        {{
            volatile long *others = (volatile long *){_met[-1].ctypes.data}ul;
            if (pthread_self() != {threading.get_ident()}ul)
                *others = 1;
            else if (number == 0)
                *others = 0; /* the first slice is run alone */
            else if (number >= {first})
                for (int k = 0; k < 600000 && !*others; k++)
                    usleep(1000);
        }}
        """


def in_threads(work: Callable[[int], Any], n: int, meanwhile: Callable[[], Any] = lambda: None) -> None:
    """Runs work(0) ... work(n - 1) at once, and meanwhile() in this thread. Raises the first failure."""
    failures: list[BaseException] = []
    gate = threading.Barrier(n)

    def run(k: int) -> None:
        try:
            gate.wait()
            work(k)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(n)]
    for thread in threads:
        thread.start()
    meanwhile()
    for thread in threads:
        thread.join(600)
        assert not thread.is_alive()
    if failures:
        raise failures[0]


def open_descriptors() -> set[str]:
    """Returns the open file descriptors of this process, once no job has any."""
    _cwrapjit.live()  # waits until no job is left
    return set(os.listdir("/proc/self/fd"))


def figure(name: str, value: float) -> None:
    """Writes a figure for `make trust` to the file that CWRAPJIT_FIGURES names."""
    path = os.environ.get("CWRAPJIT_FIGURES")
    if path:
        with open(path, "a") as file:
            file.write(f"{name}\t{value}\n")
