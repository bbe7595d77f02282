"""Displays kernels: their texts, and the functions compiled for calls."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cwrapjit._cwrapjit import Function
from cwrapjit.show import ctext
from cwrapjit.show.functions import attempt, called, compiled_table, docstring
from cwrapjit.show.page import Markup, box, code, facts, fold

_ELEMENTWISE = ("preamble", "loop_prep", "operation", "after_loop")
_REDUCTION = ("map_expr", "reduce_expr", "post_map_expr", "identity", "reduce_type")


def _name(kernel: Any) -> Markup:
    return code(getattr(kernel, "__name__", "without name"))


def _functions(kernel: Any) -> tuple[Function, ...]:
    found = attempt(lambda: kernel.functions)  # other threads may add one meanwhile
    return () if isinstance(found, Exception) else tuple(found.values() if isinstance(found, dict) else found)


def _texts(given: Iterable[tuple[str, object]]) -> Markup:
    shown = [(name, each) for name, each in given if isinstance(each, str) and each.strip()]
    return fold("C text", ctext.users_view(shown), opened=True) if shown else Markup("")


def _compiled(kernel: Any) -> Markup:
    return fold("compiled functions", compiled_table(_functions(kernel)), opened=True)


def of_elementwise(kernel: Any) -> str:
    texts = getattr(kernel, "_texts", ("", "", ""))
    own_doc = kernel.__doc__ != type(kernel).__doc__
    return box(
        "ElementwiseKernel",
        _name(kernel),
        facts(
            [
                ("parameters", code(f"{texts[0]} -> {texts[1]}")),
                ("call", code(called(kernel))),
                ("", docstring(kernel) if own_doc else None),
            ]
        ),
        _texts((name, getattr(kernel, name, "")) for name in _ELEMENTWISE),
        _compiled(kernel),
    )


def of_reduction(kernel: Any) -> str:
    given = vars(kernel).get("_settings", {})
    shown = [(name, code(given[name])) for name in _REDUCTION if given.get(name) is not None]
    return box(
        "ReductionKernel",
        _name(kernel),
        facts(
            [
                ("parameters", code(f"{given.get('in_params', '')} -> {given.get('out_params', '')}")),
                ("call", code(called(kernel))),
                *shown,
            ]
        ),
        _texts([("preamble", given.get("preamble", ""))]),
        _compiled(kernel),
    )


def of_deduced(kernel: Any) -> str:
    shared = vars(kernel).get("_shared")
    return box(
        "function of any T",
        _name(kernel),
        facts(
            [
                ("prototype", code(kernel.signature) if shared is not None else None),
                ("call", code(called(kernel))),
                ("", docstring(kernel)),
            ]
        ),
        _texts([("", shared.text.source if shared is not None else "")]),
        _compiled(kernel),
    )
