"""Types, ops, their base classes and variables, of which graphs consist; cwrapjit.link() compiles graphs.

>>> import cwrapjit, cwrapjit.graph as cg
>>> x, y = cg.float64("x"), cg.float64("y")
>>> cwrapjit.link([x, y], x * y + 1)(2.0, 3.0)
7.0
"""

from __future__ import annotations

from typing import Any

from cwrapjit import _imports
from cwrapjit._cwrapjit import BoundGraph as BoundGraph
from cwrapjit._cwrapjit import Graph as Graph

# A module is loaded when one of its names is used. Graphs of users' own types need only base.
_NAMES = {
    "base": ("Apply", "COp", "CType", "Constant", "In", "Op", "ResultBase", "Variable"),
    "scalars": (
        "Scalar", "bool_", "complex128", "complex64", "float16", "float32", "float64",
        "int16", "int32", "int64", "int8", "uint16", "uint32", "uint64", "uint8",
    ),
    "arrays": ("ndarray",),
    "objects": ("CDataType", "Generic", "generic"),
    "params": ("Params", "ParamsType"),
    "enums": ("CEnumType", "EnumList", "EnumType"),
    "loops": ("elementwise",),
    "copies": (
        "deep_copy", "register_deep_copy_op_c_code", "register_shape_c_code", "register_shape_i_c_code",
        "register_view_op_c_code", "shape", "shape_i", "view",
    ),
    "external": ("ExternalCOp",),
}  # fmt: skip
_HOMES = {name: home for home, names in _NAMES.items() for name in names}

__all__ = sorted(["BoundGraph", "Graph", *_HOMES])


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'cwrapjit.graph' has no attribute {name!r}")
    module = _imports.load(f"cwrapjit.graph.{home}")
    globals().update({each: getattr(module, each) for each in _NAMES[home]})
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
