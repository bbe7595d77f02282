from cwrapjit._cwrapjit import BoundGraph as BoundGraph
from cwrapjit._cwrapjit import Graph as Graph
from cwrapjit.graph.arrays import ndarray as ndarray
from cwrapjit.graph.base import Apply as Apply
from cwrapjit.graph.base import Constant as Constant
from cwrapjit.graph.base import COp as COp
from cwrapjit.graph.base import CType as CType
from cwrapjit.graph.base import In as In
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
from cwrapjit.graph.enums import CEnumType as CEnumType
from cwrapjit.graph.enums import EnumList as EnumList
from cwrapjit.graph.enums import EnumType as EnumType
from cwrapjit.graph.external import ExternalCOp as ExternalCOp
from cwrapjit.graph.loops import elementwise as elementwise
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

__all__ = [
    "Apply",
    "BoundGraph",
    "CDataType",
    "CEnumType",
    "COp",
    "CType",
    "Constant",
    "EnumList",
    "EnumType",
    "ExternalCOp",
    "Generic",
    "Graph",
    "In",
    "Op",
    "Params",
    "ParamsType",
    "ResultBase",
    "Scalar",
    "Variable",
    "bool_",
    "complex64",
    "complex128",
    "deep_copy",
    "elementwise",
    "float16",
    "float32",
    "float64",
    "generic",
    "int8",
    "int16",
    "int32",
    "int64",
    "ndarray",
    "register_deep_copy_op_c_code",
    "register_shape_c_code",
    "register_shape_i_c_code",
    "register_view_op_c_code",
    "shape",
    "shape_i",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "view",
]
