"""Displays functions, modules, kernels, libraries and graphs in notebooks, for their _repr_html_(). Imported
on first use.

Nothing here compiles, starts a compiler or waits for one, or changes the object. Users' texts are escaped
(page.py). Long parts are cut, with a note."""

from __future__ import annotations

from typing import Any

from cwrapjit._imports import load

# The function that draws a class of ours, by the name of the class. Subclasses are shown as their base class.
_SHOWN_BY = {
    "cwrapjit.Function": "functions.of_function",
    "cwrapjit.module": "functions.of_module",
    "cwrapjit._explain.Explanation": "functions.of_explanation",
    "cwrapjit.LibraryFunction": "libraries.of_function",
    "cwrapjit.library.public.Library": "libraries.of_library",
    "cwrapjit.library.interface.Interface": "libraries.of_interface",
    "cwrapjit.tracing.jit.Jitted": "jitted.of_jitted",
    "cwrapjit.graph.Graph": "graphs.of_graph",
    "cwrapjit.graph.BoundGraph": "graphs.of_bound",
    "cwrapjit.graph.base.Variable": "graphs.of_variable",
    "cwrapjit.kernels.elementwise.ElementwiseKernel": "kernels.of_elementwise",
    "cwrapjit.kernels.reduction.ReductionKernel": "kernels.of_reduction",
    "cwrapjit.kernels.vectorize.Deduced": "kernels.of_deduced",
}


def html(shown: Any) -> str:
    """Returns the object as well-formed HTML of bounded length, without scripts."""
    for each in type(shown).__mro__:
        place = _SHOWN_BY.get(f"{each.__module__}.{each.__qualname__}")
        if place is not None:
            file, _, function = place.partition(".")
            made: str = getattr(load(f"cwrapjit.show.{file}"), function)(shown)
            return made
    raise TypeError(f"html(): nothing here shows a {type(shown).__name__}")


__all__ = ["html"]
