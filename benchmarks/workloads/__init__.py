"""Workloads that throughput.py races, with everything to run and to check each of them.

A workload holds the code that a user would write for cwrapjit and for each peer, and the plain C loop that
is the limit. Every contender writes into the same preallocated `out`. Contenders that cannot express a
workload are in `left_out`, with the reason.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Arrays = tuple[np.ndarray, ...]


@dataclass(frozen=True)
class Numba:
    """function under numba.vectorize, or under guvectorize where there is a layout."""

    function: Callable[..., Any]
    types: str
    layout: str | None = None


@dataclass(frozen=True)
class Workload:
    name: str  # a C identifier, the name of the functions
    title: str
    inputs: Callable[[np.random.Generator, bool], Arrays]  # the bool: small ones, for --quick
    out: Callable[..., np.ndarray]  # of the inputs
    definition: dict[str, Any]  # arguments of function(), as numpysane_pywrap takes them, too
    loop: str  # C: void NAME(...), the plain loop
    loop_arguments: Callable[..., Sequence[Any]]  # of the inputs and out: arrays and sizes
    numpy: dict[str, Callable[..., Any]]  # of the inputs and out; the first one is the reference
    numba: Numba | None = None
    numexpr: str | None = None  # over the names of the definition's inputs, or those of numexpr_names
    numexpr_names: Callable[..., dict[str, np.ndarray]] | None = None
    pywrap: dict[str, Any] | None = None  # where its definition has to differ
    fastmath: bool = False  # in cwrapjit, in numba and in every C compiler's flags
    left_out: dict[str, str] = field(default_factory=dict)
    tolerance: float = 1e-9
    may_differ: float = 0.0  # share of the results: chaotic ones, where fused instructions are allowed


def definition(
    inputs: dict[str, tuple[Any, ...]], output: tuple[Any, ...], texts: dict[Any, str]
) -> dict[str, Any]:
    return {
        "args_input": tuple(inputs),
        "prototype_input": tuple(inputs.values()),
        "prototype_output": output,
        "Ccode_slice_eval": texts,
    }


def count(quick: bool, full: int) -> int:
    """A size, a hundredth of it for --quick."""
    return full // 100 if quick else full


def everything() -> list[Workload]:
    from workloads import elementwise, images, programs, rows, vectors

    return [*vectors.ALL, *elementwise.ALL, *programs.ALL, *rows.ALL, *images.ALL]
