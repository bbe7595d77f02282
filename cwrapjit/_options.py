"""The types of function()'s options that other front ends take by keyword. mypy finds wrong options in
programs, and kernels refuse all others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypedDict

if TYPE_CHECKING:
    import numpy as np

    from cwrapjit._cwrapjit import _Cast, _Cookie, _Copies, _List, _Macros, _Optimize, _Threads


class OfReductions(TypedDict, total=False):
    """Options of ReductionKernel."""

    sources: _List
    include_dirs: _List
    define_macros: _Macros
    libraries: _List
    library_dirs: _List
    optimize: _Optimize | None
    fastmath: bool | None
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
