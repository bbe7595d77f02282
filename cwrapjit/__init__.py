"""C snippets become broadcasting NumPy functions in the running session, without a build.

>>> import numpy as np, cwrapjit as cj
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

Types and ops that say what their C is become one function of a whole graph.

>>> x, y = cj.float64("x"), cj.float64("y")
>>> f = cj.link([x, y], x * y + 1)
>>> f(2.0, 3.0)
7.0
"""

from __future__ import annotations

from typing import Any

from cwrapjit._cwrapjit import (
    BoundGraph,
    CompileError,
    CompileWarning,
    Config,
    Function,
    Graph,
    __version__,
    config,
    function,
    link,
    module,
)

__all__ = [
    "BoundGraph",
    "CompileError",
    "CompileWarning",
    "Config",
    "Function",
    "Graph",
    "__version__",
    "config",
    "function",
    "library",
    "link",
    "module",
    "show_config",
]


# What graphs are made of is loaded when somebody asks for it: importing cwrapjit does not take longer for it.
_GRAPH = {
    "base": ("Apply", "COp", "CType", "Constant", "Op", "ResultBase", "Variable"),
    "scalars": (
        "Scalar", "bool_", "complex128", "complex64", "float16", "float32", "float64",
        "int16", "int32", "int64", "int8", "uint16", "uint32", "uint64", "uint8",
    ),
    "arrays": ("ndarray",),
    "objects": ("CDataType", "Generic", "generic"),
    "params": ("Params", "ParamsType"),
    "enums": ("CEnumType", "EnumList", "EnumType"),
    "elementwise": ("elementwise",),
    "copies": (
        "deep_copy", "register_deep_copy_op_c_code", "register_shape_c_code", "register_shape_i_c_code",
        "register_view_op_c_code", "shape", "shape_i", "view",
    ),
    "external": ("ExternalCOp",),
}  # fmt: skip
_HOMES = {name: home for home, names in _GRAPH.items() for name in names}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if name == "library":  # a package that can be called; importing it sets the attribute
        import cwrapjit.library

        return cwrapjit.library
    if home is None:
        raise AttributeError(f"module 'cwrapjit' has no attribute {name!r}")
    from importlib import import_module

    module = import_module(f"cwrapjit.graph.{home}")
    globals().update({each: getattr(module, each) for each in _GRAPH[home]})
    return globals()[name]


def __dir__() -> list[str]:
    return sorted(({*globals()} - {"Any", "annotations"}) | {*_HOMES, "library"})


def show_config(mode: str = "stdout") -> Any:
    """Print versions, paths and defaults; mode="dicts" returns them instead."""
    from cwrapjit import _config

    return _config.show_config(mode)
