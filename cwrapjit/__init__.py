"""Compiles C snippets to broadcasting NumPy functions in the running session, without a build.

>>> import numpy as np, cwrapjit as cj
>>> excess = cj.vectorize("double excess(double x, double limit) { return x > limit ? x - limit : 0; }")
>>> excess([18.5, 21.0, 25.5], 20)
array([0. , 1. , 5.5])

If slices are vectors or matrices, give a prototype.

>>> m = cj.module("innerlib", "An inner product module in C")
>>> inner = m.function(
...     "inner", "Inner product",
...     args_input=("a", "b"), prototype_input=(("n",), ("n",)), prototype_output=(),
...     Ccode_slice_eval={np.float64: '''
...         item__output() = 0;
...         for (int i = 0; i < dims_slice__a[0]; i++)
...             item__output() += item__a(i) * item__b(i);
...         return true;'''})
>>> print(inner(np.arange(4.0), np.arange(8.0).reshape(2, 4)))
[14. 38.]

Types and ops that give their C code become one function of a whole graph.

>>> import cwrapjit.graph as cg
>>> x, y = cg.float64("x"), cg.float64("y")
>>> f = cj.link([x, y], x * y + 1)
>>> f(2.0, 3.0)
7.0
"""

from __future__ import annotations

from cwrapjit import _unsupported as _unsupported  # isort: skip  # first: raises where the rest may not load

from typing import TYPE_CHECKING, Any, Literal, overload

from cwrapjit import _arguments as _arguments  # loaded now: definitions use these, and must not import
from cwrapjit import _build as _build
from cwrapjit import _imports
from cwrapjit import _paths as _paths
from cwrapjit._cwrapjit import (
    CompileError,
    CompileWarning,
    Config,
    Fault,
    Function,
    Pointer,
    __version__,
    config,
    function,
    module,
)

if TYPE_CHECKING:
    from cwrapjit._deadline import deadline as deadline
    from cwrapjit._progress import progress as progress
    from cwrapjit._stubs import write_stubs as write_stubs
    from cwrapjit.graph.linking import link as link
    from cwrapjit.kernels.elementwise import ElementwiseKernel as ElementwiseKernel
    from cwrapjit.kernels.reduction import ReductionKernel as ReductionKernel
    from cwrapjit.kernels.vectorize import vectorize as vectorize
    from cwrapjit.library.public import Library as library
    from cwrapjit.tracing.jit import jit as jit
    from cwrapjit.tracing.scan import scan as scan
    from cwrapjit.tracing.transforms import grad as grad
    from cwrapjit.tracing.transforms import value_and_grad as value_and_grad
    from cwrapjit.tracing.transforms import vmap as vmap

__all__ = [
    "CompileError",
    "CompileWarning",
    "Config",
    "ElementwiseKernel",
    "Fault",
    "Function",
    "Pointer",
    "ReductionKernel",
    "__version__",
    "config",
    "deadline",
    "function",
    "grad",
    "jit",
    "library",
    "link",
    "module",
    "progress",
    "scan",
    "show_config",
    "value_and_grad",
    "vectorize",
    "vmap",
    "write_stubs",
]


# The names that are loaded on first use, and their files.
_LATE = {
    "ElementwiseKernel": "kernels.elementwise",
    "ReductionKernel": "kernels.reduction",
    "deadline": "_deadline",
    "grad": "tracing.transforms",
    "jit": "tracing.jit",
    "link": "graph.linking",
    "progress": "_progress",
    "scan": "tracing.scan",
    "value_and_grad": "tracing.transforms",
    "vectorize": "kernels.vectorize",
    "vmap": "tracing.transforms",
    "write_stubs": "_stubs",
}

if not TYPE_CHECKING:  # a type checker would accept any name

    def __getattr__(name: str) -> Any:
        """Loads a name on its first use, to keep the import of this package short."""
        if name in ("graph", "library"):  # the import sets the attribute; library is a class
            return _imports.load(f"cwrapjit.{name}")
        if name in _LATE:
            made = globals()[name] = getattr(_imports.load(f"cwrapjit.{_LATE[name]}"), name)
            return made
        place = ""
        if not name.startswith("_") and name in _imports.load("cwrapjit.graph").__all__:
            place = f"; cwrapjit.graph.{name} is there"
        raise AttributeError(f"module 'cwrapjit' has no attribute {name!r}{place}")


def __dir__() -> list[str]:
    return sorted({*__all__, "graph", *(name for name in globals() if name.startswith("__"))})


@overload
def show_config(mode: Literal["stdout"] = "stdout") -> None: ...
@overload
def show_config(mode: Literal["dicts"]) -> dict[str, str | int | None]: ...
def show_config(mode: str = "stdout") -> Any:
    """Print versions, paths and defaults.

    >>> import cwrapjit
    >>> "compiler flags" in cwrapjit.show_config("dicts")
    True

    mode: "stdout" prints them, "dicts" returns them as a dict.

    Raises ValueError for another mode."""
    return _imports.load("cwrapjit._config").show_config(mode)


def load_ipython_extension(ipython: Any) -> None:
    """%load_ext cwrapjit."""
    _imports.load("cwrapjit.notebook").load(ipython)


def unload_ipython_extension(ipython: Any) -> None:
    """%unload_ext cwrapjit."""
    _imports.load("cwrapjit.notebook").unload(ipython)
