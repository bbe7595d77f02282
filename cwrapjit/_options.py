"""The types of function()'s options that other front ends take by keyword, for mypy, and the rule by which
all front ends refuse other options."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypedDict, TypeVar

from cwrapjit._imports import load

if TYPE_CHECKING:
    import numpy as np

    from cwrapjit._cwrapjit import _Cast, _Cookie, _Copies, _List, _Macros, _Math, _Optimize, _Threads

P = ParamSpec("P")
R = TypeVar("R")


def hint(option: str, known: Collection[str]) -> str:
    """Returns "; did you mean 'threads'?" for thread; if nothing is like it, a list of all options."""
    near = load("difflib").get_close_matches(option, known, 1)
    return f"; did you mean {near[0]!r}?" if near else f"; the options are: {', '.join(known)}"


def unknown(who: str, option: str, known: Collection[str], more: str = "") -> TypeError:
    """The error for an option that `who` does not have. more: ends the message in place of a hint."""
    return TypeError(f"{who} got an unexpected keyword argument {option!r}{more or hint(option, known)}")


def check(who: str, given: Iterable[str], known: Collection[str]) -> None:
    for option in given:
        if option not in known:
            raise unknown(who, option, known)


def checked(who: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator: calls with unknown options raise unknown(). `who` is the function's name in messages."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        code = function.__code__
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            check(who, kwargs, names[1:])  # without self, or the first argument
            return function(*args, **kwargs)

        return call

    return decorate


class OfReductions(TypedDict, total=False):
    """Options of ReductionKernel."""

    sources: _List
    include_dirs: _List
    define_macros: _Macros
    libraries: _List
    library_dirs: _List
    optimize: _Optimize | None
    fastmath: bool | None
    math: _Math | None
    debug: bool | Literal["left"] | None
    threads: _Threads | None
    cast: _Cast | None
    copies: _Copies | None


class OfElements(OfReductions, total=False):
    """Options of ElementwiseKernel."""

    unordered: bool | None
    inplace: bool | None
    gil: bool | None


class OfSlices(OfElements, total=False):
    """Options of vectorize()."""

    cookie: _Cookie | None
    identity: complex | np.number[Any] | np.bool_ | None
    associative: bool | None
    c_function: str | None
