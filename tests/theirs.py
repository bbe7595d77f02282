"""Runs pages of docs/coming with the other package's code: `python tests/theirs.py docs/coming/numba.md ...`

A page has ```python blocks for cwrapjit, and ```python theirs blocks, which run in their own namespace. Both
must print what their comments promise, and functions of both get the same arguments (CALLS). Pages need their
own process, as other packages start threads, and an empty folder, as they write files.
"""

from __future__ import annotations

import copy
import itertools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import documents
import numpy as np
from helpers import build_extension


def numbers(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape)


X, Y, MATRIX = numbers(50), numbers(50, seed=1), numbers(20, 30)

# Arguments for functions that both namespaces define. Results, and arguments after the call, must be equal.
CALLS: dict[str, dict[str, list[tuple[Any, ...]]]] = {
    "cffi.md": {
        "hypot": [(3.5, -2.0)],
        "smooth": [(X,), (X[:1],)],
        "twice": [(0.1,)],
        "frexp": [(1e-300,), (-7.3,)],
    },
    "cython.md": {
        "norms": [(MATRIX,), (MATRIX.T,)],
        "clip": [(X, -0.5, 0.5), (np.float32(X), np.float32(-0.5), np.float32(0.5))],
        "cumulate": [(X,), (X[:0],)],
        "split": [(1e-300,), (-7.3,)],
    },
    "ctypes.md": {
        "hypot": [(3.5, -2.0)],
        "axpy": [(0.3, X, Y)],
        "min_max": [(X,)],
        "set_level": [(7,)],
        "sort_down": [(X,)],
    },
    "f2py.md": {
        "scale_rows": [(np.asfortranarray(MATRIX), Y[:20])],
        "accumulate_in_place": [(X,), (X[:1],)],
        "total": [(X,), (X[:0],)],
        "clip": [(X,)],
    },
    "example.md": {"twice": [(0.1,)]},  # a page that test_coming.py writes
    "jax.md": {
        "softmax": [(X,), (MATRIX,), (MATRIX.T,)],
        "sine": [(X, 7), (X[:1], 3)],
        "huber": [(X, 0.5), (MATRIX, np.abs(MATRIX[0]))],
        "predict": [([{"w": MATRIX, "b": Y[:30]}, {"w": MATRIX.T / 9, "b": X[:20]}], MATRIX.T)],
    },
    "numba.md": {
        "soft": [(X, 0.5), (MATRIX[:, :1], np.abs(MATRIX[0]))],
        "ewma": [(MATRIX, 0.3), (X, np.array([[0.1], [0.9]]))],
        "histogram": [(X, -1.0, 1.0, 7)],
        "norms": [(MATRIX,)],
        "plus": [(X, Y)],
    },
    "numpysane_pywrap.md": {"inner": [(X, Y), (MATRIX, MATRIX[:1])]},
    "pyccel.md": {
        "collatz": [(97,)],
        "smooth": [(X, Y)],
        "row_sums": [(MATRIX, Y[:20])],
        "hypotenuse": [(3.5, -2.0)],
    },
    "theano.md": {
        "ewma": [(X, 0.3), (X[:0], 0.3)],
        "distance": [(X, Y)],
    },
}


class Theirs:
    """Runs the other package's blocks of a page in their own namespace."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}
        self.ours: dict[str, Any] = {}
        self.ran = 0

    def python(self, page: Path, block: documents.Block, ours: dict[str, Any]) -> None:
        self.ours = ours
        documents.run_python(page, block, self.names)
        self.ran += 1

    def cython(self, page: Path, block: documents.Block, ours: dict[str, Any]) -> None:
        """Builds a page's Cython blocks as one module, at the first one: a build takes seconds."""
        self.ours = ours
        self.ran += 1
        if self.ran == 1:
            texts = [each.text for each in documents.blocks(page) if each.language == block.language]
            Path("theirs_in_cython.pyx").write_text("\n\n".join(texts))
            self.names |= vars(build_cython(Path.cwd(), "theirs_in_cython"))

    def runners(self) -> dict[str, Callable[..., None]]:
        return {"python theirs": self.python, "cython theirs": self.cython}


def build_cython(folder: Path, name: str) -> Any:
    from Cython.Build import cythonize

    cythonize(str(folder / f"{name}.pyx"), quiet=True)
    return build_extension(folder, name, (folder / f"{name}.c").read_text(encoding="utf-8"), "-w")


def compare(
    name: str, ours: Callable[..., Any], theirs: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    first, second = copy.deepcopy(arguments), copy.deepcopy(arguments)
    got, wanted = ours(*first), theirs(*second)
    assert (got is None) == (wanted is None), f"{name}: ours returned {got}, theirs {wanted}"
    pairs = zip(first, second, strict=True)
    after = [(a, b) for a, b in pairs if not callable(a) and not isinstance(a, list)]
    for a, b in itertools.chain(after, _results(got, wanted)):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14, err_msg=name)


def _results(got: Any, wanted: Any) -> list[tuple[Any, Any]]:
    if got is None:
        return []
    if isinstance(wanted, (tuple, list)):
        return list(zip(got, wanted, strict=True))
    return [(got, wanted)]


def is_function(value: Any) -> bool:
    return callable(value) and not isinstance(value, type)


def run(page: Path) -> int:
    """Returns how many blocks of the other package ran. Raises AssertionError if something differs."""
    theirs = Theirs()
    documents.run(page, theirs.runners())
    calls = CALLS.get(page.name, {})
    names = theirs.names.keys() & theirs.ours.keys()
    both = {name for name in names if is_function(theirs.names[name]) and is_function(theirs.ours[name])}
    assert both == set(calls), f"defined by both: {sorted(both)}; in CALLS: {sorted(calls)}"
    for name, each in calls.items():
        for arguments in each:
            compare(name, theirs.ours[name], theirs.names[name], arguments)
    return theirs.ran


if __name__ == "__main__":
    sys.path.insert(0, "")  # for modules that are built here
    documents.keep_caches_apart()
    os.environ["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]  # to find meson
    for each in sys.argv[1:]:
        print(f"{each}: {run(Path(each).resolve())} blocks of theirs as promised, and as ours")
