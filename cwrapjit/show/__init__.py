"""What people see of functions, modules, kernels, libraries and graphs in a notebook: what _repr_html_() of
these returns. Imported when somebody looks.

Nothing here compiles, starts a compiler or waits for one, and nothing changes what it shows. What comes from
the user's texts is escaped (page.py); what would be long is cut, and says so.
"""

from __future__ import annotations

from typing import Any

from cwrapjit._imports import load

# Which file shows what, by the name of a class of ours: subclasses are shown as what they are made of.
_SHOWN_BY = {
    "cwrapjit.Function": "functions.of_function",
    "cwrapjit.module": "functions.of_module",
    "cwrapjit._explain.Explanation": "functions.of_explanation",
    "cwrapjit.LibraryFunction": "libraries.of_function",
    "cwrapjit.library.public.Library": "libraries.of_library",
    "cwrapjit.library.interface.Interface": "libraries.of_interface",
    "cwrapjit.graph.Graph": "graphs.of_graph",
    "cwrapjit.graph.BoundGraph": "graphs.of_bound",
    "cwrapjit.graph.base.Variable": "graphs.of_variable",
    "cwrapjit.kernels.elementwise.ElementwiseKernel": "kernels.of_elementwise",
    "cwrapjit.kernels.reduction.ReductionKernel": "kernels.of_reduction",
    "cwrapjit.kernels.vectorize.Deduced": "kernels.of_deduced",
}


def html(shown: Any) -> str:
    """The object as a piece of HTML: well formed, without scripts, of bounded length."""
    for each in type(shown).__mro__:
        place = _SHOWN_BY.get(f"{each.__module__}.{each.__qualname__}")
        if place is not None:
            file, _, function = place.partition(".")
            made: str = getattr(load(f"cwrapjit.show.{file}"), function)(shown)
            return made
    raise TypeError(f"html(): nothing here shows a {type(shown).__name__}")


__all__ = ["html"]
