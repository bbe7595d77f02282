"""Positional and keyword arguments: functions, graphs, functions of libraries and structs bind them by one
rule, and refuse what does not fit in the same words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from helpers import refuses, says, wrap
from library_tools import from_c

import cwrapjit
import cwrapjit.graph as cg


def function_of_slices() -> Any:
    code = "item__output() = item__x() - item__y(); return true;"
    return wrap(((), ()), (), code, names=("x", "y"))


def function_of_a_library() -> Any:
    text = "double f(double x, double y)"
    return from_c(f"{text} {{ return x - y; }}").function(text)


def graph() -> Any:
    x, y = cg.float64("x"), cg.float64("y")
    return cwrapjit.link([x, y], x - y)


FRONT_ENDS = (function_of_slices, function_of_a_library, graph)
# What a call says, behind "NAME(): ".
REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "too many": (lambda f: f(1.0, 2.0, 3.0), "takes 2 positional arguments but 3 were given"),
    "unknown": (lambda f: f(1.0, 2.0, z=3.0), "got an unexpected keyword argument 'z'"),
    "twice": (lambda f: f(1.0, 2.0, x=3.0), "got multiple values for argument 'x'"),
    "none": (lambda f: f(), "missing required argument 'x' (position 1)"),
    "the last is missing": (lambda f: f(1.0), "missing required argument 'y' (position 2)"),
    "the first is missing": (lambda f: f(y=1.0), "missing required argument 'x' (position 1)"),
}


@pytest.mark.row("N18")
@pytest.mark.row("A08i")
@pytest.mark.row("P03i")
@pytest.mark.parametrize("make", FRONT_ENDS)
@pytest.mark.parametrize("fault", REFUSED)
def test_what_does_not_fit_is_refused_in_the_same_words(make: Callable[[], Any], fault: str) -> None:
    f = make()
    assert f(y=1.0, x=3.0) == f(3.0, y=1.0) == f(3.0, 1.0) == 2.0
    call, wanted = REFUSED[fault]
    others = " (keyword-only: out)" if make is function_of_slices and fault == "too many" else ""
    error = refuses(TypeError, lambda: call(f), wanted)
    who, _, text = str(error).partition("(): ")
    assert who in ("t.f", "graph")
    assert text == wanted + others


@pytest.mark.quick
@pytest.mark.row("N18")
@pytest.mark.parametrize("make", FRONT_ENDS)
def test_keywords_that_nobody_interned(make: Callable[[], Any]) -> None:
    """A name is found by what it says, not only by identity."""
    f = make()
    x, z = ("".join(part) for part in (("", "x"), ("z", "z")))
    assert f(**{x: 3.0, "y": 1.0}) == 2.0
    refuses(TypeError, lambda: f(1.0, 2.0, **{z: 3.0}), "got an unexpected keyword argument 'zz'")


@pytest.mark.quick
@pytest.mark.row("P03i")
def test_keyword_only_arguments_are_named() -> None:
    text = "double f(double x, double y, double z)"
    lib = from_c(text + " { return x + y + z; }")
    f = lib.function(text, positional_only="x", keyword_only=("y", "z"))
    who = "t.f(): "
    says(
        TypeError,
        lambda: f(1.0, 2.0),
        who + "takes 1 positional argument but 2 were given (keyword-only: y, z)",
    )
    says(TypeError, lambda: f(1.0, y=2.0), who + "missing required keyword-only argument 'z'")
    says(TypeError, lambda: f(x=1.0, y=2.0, z=3.0), who + "got positional-only argument 'x' by keyword")
    g = from_c("int g(void) { return 7; }").function("int g(void)")
    says(TypeError, lambda: g(1), "t.g(): takes 0 positional arguments but 1 was given")


@pytest.mark.row("P03i")
def test_members_of_structs_are_given_by_the_same_rule() -> None:
    p = from_c("").struct("struct pair { double x, y; };")
    assert (p(3.0, y=1.0).x, p(y=1.0).x) == (3.0, 0.0)
    for fault in ("too many", "unknown", "twice"):
        call, wanted = REFUSED[fault]
        says(TypeError, lambda call=call: call(p), f"pair(): {wanted}")
