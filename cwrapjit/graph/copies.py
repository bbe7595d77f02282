"""Ops for values of any type: deep copy, view, shape. Whoever defines a type class registers C code for it
and its subclasses. For other types the op runs in Python."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from cwrapjit.graph.arrays import ndarray
from cwrapjit.graph.base import Apply, COp
from cwrapjit.graph.objects import Generic
from cwrapjit.graph.scalars import Scalar, int64

_Registered = tuple[str, str, tuple[Any, ...]]  # code, check of the input, version


class _TypedOp(COp):
    """An op of one input whose C code is looked up by the class of the input's type."""

    python_fallback = True
    called = ""
    __props__: tuple[str, ...] | None = ()

    _registry: dict[type, _Registered]

    def _registered(self, node: Any) -> _Registered | None:
        for cls in type(node.inputs[0].type).__mro__:
            if cls in self._registry:
                return self._registry[cls]
        return None

    def c_code(
        self, node: Any, name: str, inputs: Sequence[str], outputs: Sequence[str], sub: dict[str, str]
    ) -> str:
        found = self._registered(node)
        if found is None:
            raise NotImplementedError(
                f"{self}: no C code is registered for {type(node.inputs[0].type).__name__}"
            )
        code, check, _ = found
        names = {**vars(self), "iname": inputs[0], "oname": outputs[0], "fail": sub["fail"]}
        return (check + "\n" + code if check else code) % names

    def c_code_cache_version(self) -> tuple[Any, ...]:
        """The versions of all registered codes; () if any has none."""
        versions = [
            (f"{cls.__module__}.{cls.__qualname__}", found[2]) for cls, found in self._registry.items()
        ]
        return tuple(sorted(versions, key=str)) if all(version for _, version in versions) else ()

    def __str__(self) -> str:
        return self.called

    def c_code_cache_version_apply(self, node: Any) -> tuple[Any, ...]:
        """The version of the code for this node."""
        found = self._registered(node)
        return () if found is None else found[2]


def _register(registry: dict[type, _Registered], cls: Any, code: Any, check: Any, version: Any) -> None:
    if not isinstance(cls, type):
        raise TypeError(f"the type must be a class, not {cls!r}")
    if not isinstance(code, str) or not isinstance(check, str):
        raise TypeError(f"the C code for {cls.__name__} must be a str")
    registry[cls] = code, check, version if isinstance(version, tuple) else (version,)


# ---- deep copy -----------------------------------------------------------------------------------


class DeepCopyOp(_TypedOp):
    """A copy that shares no memory with the input."""

    called = "deep_copy"
    _registry: dict[type, _Registered] = {}

    def perform(self, node: Any, inputs: Sequence[Any], output_storage: Any, *params: Any) -> None:
        """Copies arrays by their copy method, other values by copy.deepcopy."""
        (value,) = inputs
        output_storage[0][0] = value.copy() if isinstance(value, np.ndarray) else copy.deepcopy(value)


def register_deep_copy_op_c_code(type: Any, code: str, version: Any = ()) -> None:
    """Register C code of deep_copy for a type class and its subclasses.

    type: the class.
    code: C, in which %(iname)s and %(oname)s are the names of input and output; %(fail)s leaves the block.
    version: must change with the code; (): code compiled with it is never reused for another graph.

    Raises TypeError for what is no class and code that is not a str."""
    _register(DeepCopyOp._registry, type, code, "", version)


deep_copy = DeepCopyOp()

# ---- view ----------------------------------------------------------------------------------------


class ViewOp(_TypedOp):
    """Returns the input itself, for types whose values are Python objects."""

    called = "view"
    view_map = {0: [0]}
    _registry: dict[type, _Registered] = {}

    def perform(self, node: Any, inputs: Sequence[Any], output_storage: Any, *params: Any) -> None:
        """Hands the input on."""
        output_storage[0][0] = inputs[0]


def register_view_op_c_code(type: Any, code: str, version: Any = ()) -> None:
    """Register C code of view for a type class and its subclasses.

    type, code, version: as for register_deep_copy_op_c_code().

    Raises as that does."""
    _register(ViewOp._registry, type, code, "", version)


view = ViewOp()

# ---- shapes --------------------------------------------------------------------------------------


class Shape(_TypedOp):
    """The shape of a value, as a one-dimensional array of int64."""

    called = "shape"
    _registry: dict[type, _Registered] = {}

    def make_node(self, *inputs: Any) -> Apply:
        """Takes one input, of any type whose values have a shape."""
        return Apply(self, super().make_node(*inputs).inputs, [ndarray("int64", 1)()])

    def perform(self, node: Any, inputs: Sequence[Any], output_storage: Any, *params: Any) -> None:
        """Works for any object with a shape."""
        output_storage[0][0] = np.asarray(np.shape(inputs[0]), np.int64)


def register_shape_c_code(type: Any, code: str, version: Any = ()) -> None:
    """Register C code of shape for a type class and its subclasses.

    type, code, version: as for register_deep_copy_op_c_code(); %(oname)s is the PyArrayObject * of an int64
    array, NULL at first.

    Raises as that does."""
    _register(Shape._registry, type, code, "", version)


shape = Shape()


class ShapeI(_TypedOp):
    """The length along axis i, as an int64."""

    __props__ = ("i",)
    _registry: dict[type, _Registered] = {}

    def __init__(self, i: int) -> None:
        if isinstance(i, bool) or not isinstance(i, int) or i < 0:
            raise ValueError(f"shape_i(): the axis must be an int from 0, not {i!r}")
        self.i = i

    def make_node(self, *inputs: Any) -> Apply:
        """Takes one input, of any type whose values have a shape."""
        return Apply(self, super().make_node(*inputs).inputs, [int64()])

    def perform(self, node: Any, inputs: Sequence[Any], output_storage: Any, *params: Any) -> None:
        """Works for any object with a shape. Raises ValueError if it has too few dimensions."""
        found = np.shape(inputs[0])
        if self.i >= len(found):
            raise ValueError(f"{self}: the input has {len(found)} dimensions")
        output_storage[0][0] = int(found[self.i])

    def __str__(self) -> str:
        return f"shape_i({self.i})"


def register_shape_i_c_code(type: Any, code: str, check_input: str, version: Any = ()) -> None:
    """Register C code of shape_i for a type class and its subclasses.

    type, code, version: as for register_deep_copy_op_c_code(); %(oname)s is an npy_int64.
    check_input: C in front of the code; it must ensure that the input has axis %(i)s.

    Raises as that does."""
    _register(ShapeI._registry, type, code, check_input, version)


def shape_i(i: int) -> ShapeI:
    """Return the op for the length along an axis.

    >>> import numpy as np
    >>> import cwrapjit, cwrapjit.graph as cg
    >>> x = cg.ndarray("float64", 2)("x")
    >>> cwrapjit.link([x], cg.shape_i(1)(x))(np.ones((2, 3)))
    3

    i: the axis, an int from 0.

    Raises ValueError for another; a run raises it if the value has too few dims."""
    return ShapeI(i)


# ---- the built-in types -----------------------------------------------------------------------------

_HAND_ON = "Py_XDECREF(%(oname)s);\n%(oname)s = %(iname)s;\nPy_XINCREF(%(oname)s);"

register_deep_copy_op_c_code(Scalar, "%(oname)s = %(iname)s;", (1,))
register_deep_copy_op_c_code(
    ndarray, "if (cwj_array_copy(&%(oname)s, py_%(oname)s, %(iname)s) < 0) %(fail)s", (1,)
)
register_view_op_c_code(ndarray, _HAND_ON, (1,))
register_view_op_c_code(Generic, _HAND_ON, (1,))
register_shape_c_code(
    ndarray, "if (cwj_array_shape(&%(oname)s, py_%(oname)s, (PyObject *)%(iname)s) < 0) %(fail)s", (1,)
)
register_shape_i_c_code(
    ndarray,
    "%(oname)s = PyArray_DIM(%(iname)s, %(i)s);",
    "if (%(i)s >= PyArray_NDIM(%(iname)s)) {\n"
    'PyErr_Format(PyExc_ValueError, "shape_i(%(i)s): the input has %%d dimensions",\n'
    "             PyArray_NDIM(%(iname)s));\n"
    "%(fail)s\n}",
    (1,),
)
