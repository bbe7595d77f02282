from typing import Literal, overload

from cwrapjit._cwrapjit import BoundGraph as BoundGraph
from cwrapjit._cwrapjit import CompileError as CompileError
from cwrapjit._cwrapjit import CompileWarning as CompileWarning
from cwrapjit._cwrapjit import Config as Config
from cwrapjit._cwrapjit import Function as Function
from cwrapjit._cwrapjit import Graph as Graph
from cwrapjit._cwrapjit import __version__ as __version__
from cwrapjit._cwrapjit import config as config
from cwrapjit._cwrapjit import function as function
from cwrapjit._cwrapjit import link as link
from cwrapjit._cwrapjit import module as module
from cwrapjit.graph.arrays import ndarray as ndarray
from cwrapjit.graph.base import Apply as Apply
from cwrapjit.graph.base import Constant as Constant
from cwrapjit.graph.base import COp as COp
from cwrapjit.graph.base import CType as CType
from cwrapjit.graph.base import Op as Op
from cwrapjit.graph.base import ResultBase as ResultBase
from cwrapjit.graph.base import Variable as Variable
from cwrapjit.graph.copies import deep_copy as deep_copy
from cwrapjit.graph.copies import register_deep_copy_op_c_code as register_deep_copy_op_c_code
from cwrapjit.graph.copies import register_shape_c_code as register_shape_c_code
from cwrapjit.graph.copies import register_shape_i_c_code as register_shape_i_c_code
from cwrapjit.graph.copies import register_view_op_c_code as register_view_op_c_code
from cwrapjit.graph.copies import shape as shape
from cwrapjit.graph.copies import shape_i as shape_i
from cwrapjit.graph.copies import view as view
from cwrapjit.graph.elementwise import elementwise as elementwise
from cwrapjit.graph.enums import CEnumType as CEnumType
from cwrapjit.graph.enums import EnumList as EnumList
from cwrapjit.graph.enums import EnumType as EnumType
from cwrapjit.graph.external import ExternalCOp as ExternalCOp
from cwrapjit.graph.objects import CDataType as CDataType
from cwrapjit.graph.objects import Generic as Generic
from cwrapjit.graph.objects import generic as generic
from cwrapjit.graph.params import Params as Params
from cwrapjit.graph.params import ParamsType as ParamsType
from cwrapjit.graph.scalars import Scalar as Scalar
from cwrapjit.graph.scalars import bool_ as bool_
from cwrapjit.graph.scalars import complex64 as complex64
from cwrapjit.graph.scalars import complex128 as complex128
from cwrapjit.graph.scalars import float16 as float16
from cwrapjit.graph.scalars import float32 as float32
from cwrapjit.graph.scalars import float64 as float64
from cwrapjit.graph.scalars import int8 as int8
from cwrapjit.graph.scalars import int16 as int16
from cwrapjit.graph.scalars import int32 as int32
from cwrapjit.graph.scalars import int64 as int64
from cwrapjit.graph.scalars import uint8 as uint8
from cwrapjit.graph.scalars import uint16 as uint16
from cwrapjit.graph.scalars import uint32 as uint32
from cwrapjit.graph.scalars import uint64 as uint64
from cwrapjit.library.face import Library as library

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

@overload
def show_config(mode: Literal["stdout"] = "stdout") -> None: ...
@overload
def show_config(mode: Literal["dicts"]) -> dict[str, str | int | None]: ...
