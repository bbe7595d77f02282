"""ReductionKernel: maps items, reduces them along axes, and makes outputs of the results.

A kernel makes functions from tree.py's texts, for each set of types and each way in which items may lie in
memory. plan.py chooses the functions of a call, and the views of its arrays."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from cwrapjit._content import Travels, frozen
from cwrapjit._cwrapjit import Function, count_copy, read_scalar, shares_memory
from cwrapjit._errors import warn_user
from cwrapjit._foreign import plain
from cwrapjit._imports import load
from cwrapjit._options import OfReductions
from cwrapjit._options import unknown as wrong_option
from cwrapjit.kernels import options as kernel_options
from cwrapjit.kernels import parameters, plan
from cwrapjit.kernels.numbers import array_of
from cwrapjit.kernels.reduction_text import Family, Texts
from cwrapjit.kernels.scalars import check_type, is_scalar, is_weak
from cwrapjit.kernels.statement import Shape

if TYPE_CHECKING:
    from typing_extensions import Unpack

_MOST_PLANS = 128
_CALL = ("axis", "keepdims", "out", "dtype", "stream")


def _axes_of(axis: Any, ndim: int, who: str) -> tuple[int, ...]:
    """Returns the axes in rising order, counted from 0."""
    if axis is None:
        return tuple(range(ndim))
    axes = []
    for each in axis if isinstance(axis, tuple) else (axis,):
        try:
            k = operator.index(each)
        except TypeError:
            kind = type(each).__name__
            raise TypeError(f"{who}: axis must be None, an int or a tuple of ints, not {kind}") from None
        if not -ndim <= k < ndim:
            raise np.exceptions.AxisError(k, ndim, f"{who}")
        axes.append(k % ndim)
    if len(set(axes)) < len(axes):
        raise ValueError(f"{who}: duplicate value in 'axis'")
    return tuple(sorted(axes))


def _key(arrays: Sequence[Any], nargs: int, axis: Any, keepdims: bool) -> Any:
    """Returns the key of a call's plan. The first nargs arrays are positional. None: the arguments must be
    examined first. Axes of other types may be equal to ints, but are refused."""
    if not (axis is None or type(axis) is int or (type(axis) is tuple and all(type(k) is int for k in axis))):
        return None
    key: tuple[Any, ...] = (axis, not keepdims, nargs)
    for each in arrays:
        if type(each) is np.ndarray:
            dtype = each.dtype
            if not dtype.isnative or not each.flags.aligned:
                return None
            key += (dtype.num, each.shape, each.strides)
        elif is_scalar(each):
            key += (None,)
        else:
            return None
    return key


def _number(value: Any, what: str, dtype: np.dtype[Any]) -> np.ndarray:
    try:
        return np.array(read_scalar(dtype.num, value.item() if is_weak(value) else value), dtype)
    except TypeError as error:
        raise TypeError(f"{what}: {error}") from None
    except OverflowError as error:
        raise OverflowError(f"{what}: {error}") from None


class ReductionKernel(Travels):
    """Map the items of arrays, reduce them along axes, and make outputs of the results, by C expressions.

    >>> import numpy as np
    >>> import cwrapjit
    >>> norm = cwrapjit.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "norm")
    >>> norm(np.ones((2, 4)), axis=1)
    array([2., 2.])

    in_params, out_params: types and names, as of an ElementwiseKernel; outputs cannot be raw.
    map_expr: an expression of an item of each input.
    reduce_expr: an expression of two values, a and b; commutative, and associative up to rounding.
    post_map_expr: statements that assign the outputs; a is the reduced value.
    identity: an expression or a number, the value for no items; None: there is none.
    name: the kernel's name in messages, a C identifier.
    reduce_type: the C type of a and b, by default that of the first output.
    reduce_dims: has no effect.
    preamble: C before everything else.
    options: flags of a compiler: -DNAME=VALUE, -IFOLDER, -ffast-math.
    keywords: options of function(), such as threads, fastmath and libraries; cast is "safe" by default.

    Raises CompileError for C that does not compile (when the kernel is made if no type is a letter, else in
    the first call with these types), TypeError and ValueError for parameters, names and options.
    """

    def __init__(
        self,
        in_params: str,
        out_params: str,
        map_expr: str,
        reduce_expr: str,
        post_map_expr: str,
        identity: str | float | None,
        name: str = "reduce_kernel",
        reduce_type: str | None = None,
        reduce_dims: bool = True,
        preamble: str = "",
        options: Sequence[str] = (),
        **keywords: Unpack[OfReductions],
    ) -> None:
        kernel_options.check_name(name, "ReductionKernel")
        read = kernel_options.read(
            options, keywords, OfReductions.__optional_keys__, "ReductionKernel", f"{name}()"
        )
        given = {
            "in_params": in_params, "out_params": out_params, "map_expr": map_expr,
            "reduce_expr": reduce_expr, "post_map_expr": post_map_expr, "identity": identity,
            "reduce_type": reduce_type, "preamble": preamble,
        }  # fmt: skip
        self._texts = texts = Texts(given, name, read)
        self._settings = frozen(
            {**given, "name": name, "reduce_dims": reduce_dims, "options": options, **keywords}
        )
        self.__name__ = self.name = name
        self._who = texts.who
        kernel_options.warn_of_unset(self._who, texts.outputs, (post_map_expr, preamble))
        self._families: dict[Any, Family] = {}
        self._plans: dict[Any, Callable[..., Any]] = {}
        if all(not each.placeholder for each in (*texts.inputs, *texts.outputs)):  # reports errors now
            self._family({}, [Shape(1, True) if each.raw else None for each in texts.inputs])

    def _made_by(self) -> Any:
        return type(self), (), self._settings

    if not TYPE_CHECKING:  # a type checker would accept any name

        def __getattr__(self, name: str) -> Any:
            if name == "__signature__" and "_texts" in vars(self):
                inputs = self._texts.inputs[: self.nin]
                return load("cwrapjit._signature").build_kernel(inputs, self._texts.outputs, _CALL)
            return kernel_options.missing(self, name)

    def __repr__(self) -> str:
        given = vars(self).get("_settings", {})
        texts = (given.get("in_params", ""), given.get("out_params", ""))
        return kernel_options.line_of("ReductionKernel", given.get("name", "without name"), *texts)

    @property
    def nin(self) -> int:
        """The number of inputs."""
        return self._texts.declared

    @property
    def nout(self) -> int:
        """The number of outputs."""
        return len(self._texts.outputs)

    @property
    def functions(self) -> tuple[Function, ...]:
        """The compiled functions that calls have made so far."""
        return tuple(f for family in self._families.values() for f in family._functions.values())

    def _family(
        self,
        types: dict[str, np.dtype[Any]],
        shapes: Sequence[Shape | None] = (),
        read: Sequence[np.dtype[Any]] = (),
    ) -> Family:
        read = read or [each.type_in(types) for each in self._texts.inputs]
        key = (
            *((letter, dtype.num) for letter, dtype in types.items()),
            *(each.num for each in read),
            *shapes,
        )
        found = self._families.get(key)
        if found is None:
            for each in (*self._texts.inputs, *self._texts.outputs):
                check_type(each.type_in(types), self._who, repr(each.name))
            found = self._families[key] = Family(self._texts, types, shapes, read)
        return found

    def __call__(
        self,
        *args: Any,
        axis: Any = None,
        keepdims: bool = False,
        out: Any = None,
        dtype: Any = None,
        stream: Any = None,
        **unknown: NoReturn,
    ) -> Any:
        """Reduce along axes.

        args: the inputs, which broadcast together; one that is not raw must be an array. Outputs may follow.
        axis: None (all axes), an int or a tuple of ints.
        keepdims: reduced axes stay, with length 1.
        out: an array of the result's shape, a tuple of them for several outputs.
        dtype: {"T": "f4"}, the types of letters that no array decides.
        stream: ignored.

        Returns an array without the reduced axes, a tuple of them for several outputs; shape () is a scalar.
        Raises TypeError for types that do not fit, ValueError for shapes that do not and for no items without
        an identity, numpy.exceptions.AxisError for an axis that is not there."""
        if unknown:
            word = next(iter(unknown))
            more = ": identity= of the kernel says where it begins" if word == "initial" else ""
            raise wrong_option(self._texts.who, word, _CALL, more)
        if dtype is None:
            arrays = args if out is None else (*args, out)
            run = self._plans.get(_key(arrays, len(args), axis, keepdims))
            if run is not None:
                return run(*arrays)
        return self._call(args, axis, bool(keepdims), out, dtype)

    # ---- a call without a plan -------------------------------------------------------------------------

    def _call(
        self, args: tuple[Any, ...], axis: Any, keepdims: bool, out: Any, dtype: Any, copied: Any = ()
    ) -> Any:
        """copied: the names of arguments that are copies."""
        given = self._given_outputs(args, out)
        inputs = [
            each if type(each) is np.ndarray or is_scalar(each) else self._array(each, k)
            for k, each in enumerate(args[: self.nin])
        ]
        arrays = (*inputs, *(np.asarray(each) for each in given))
        key = _key(arrays, len(args), axis, keepdims) if dtype is None else None
        key = (*key, copied) if key is not None and copied else key
        run = self._plans.get(key)
        if run is None:
            run = self._planned(inputs, given, axis, keepdims, dtype, copied)
            if key is not None:
                if len(self._plans) >= _MOST_PLANS:
                    self._plans.clear()
                self._plans[key] = run
        results = run(*arrays)
        return results if not given else given[0] if len(given) == 1 else tuple(given)

    def _planned(
        self,
        inputs: list[Any],
        given: Sequence[np.ndarray],
        axis: Any,
        keepdims: bool,
        dtype: Any,
        copied: Sequence[str],
    ) -> Callable[..., Any]:
        """Returns a callable for calls of these types and this geometry."""
        texts, who = self._texts, self._who
        arrays = [
            each
            for each, parameter in zip(inputs, texts.inputs, strict=False)
            if not parameter.raw and not is_scalar(each)
        ]
        if not arrays:
            raise ValueError(
                f"Loop size is undecided: {who}: at least one input that is not raw must be an array"
            )
        known = [None if is_scalar(each) else each.dtype for each in (*inputs, *given)]
        known += [None] * (len(inputs) + self.nout - len(known))
        types = parameters.resolve(
            who, texts.inputs[: self.nin], texts.outputs, known, dtype, texts.options.get("cast")
        )
        read = self._read_as(known, types)
        wanted = [*read[: self.nin], *(each.type_in(types) for each in texts.outputs)]
        fits = [
            each is None or (each == own and (is_scalar(value) or value.flags.aligned))
            for each, own, value in zip(known, wanted, (*inputs, *given), strict=False)
        ]
        if not all(fits) and texts.options.get("cast") != "no":
            return self._on_copies(wanted, fits, (axis, keepdims), dtype)
        shape = self._shape(arrays)
        every = [*inputs, *self._wholes(inputs, shape)]
        pairs = list(zip(texts.inputs, every, strict=True))
        shapes = [
            Shape(each.ndim, each.flags.c_contiguous) if parameter.raw and not is_scalar(each) else None
            for parameter, each in pairs
        ]
        family = self._family(types, shapes if texts.raws else (), read)
        scalars = tuple(parameter.raw or is_scalar(each) for parameter, each in pairs)
        task = plan.Task(shape, _axes_of(axis, len(shape), who), keepdims, scalars, every)
        outs = self._check_outputs(given, family.dtypes_out, task)
        if task.nout_items and not task.nred_items and not texts.identity:
            raise ValueError(
                f"{who}: zero-size array to reduction operation {self.name} which has no identity"
            )
        run = plan.make(family, task, outs)
        numbers = [
            (k, parameter.name, family.dtypes_in[k])
            for k, (parameter, each) in enumerate(pairs)
            if is_scalar(each)
        ]
        if not numbers and not texts.wholes and not copied:
            return run

        def run_with_more(*values: Any) -> Any:
            for function, argument in itertools.product(task.functions, copied):
                count_copy(function, argument)
            inputs = values[: self.nin]
            arrays = [*inputs, *self._wholes(inputs, shape), *values[self.nin :]]
            for k, name, each in numbers:
                arrays[k] = _number(arrays[k], f"{who}: argument {name!r}", each)
            return run(*arrays)

        return run_with_more

    def _read_as(
        self, known: Sequence[np.dtype[Any] | None], types: dict[str, np.dtype[Any]]
    ) -> list[np.dtype[Any]]:
        """The dtypes that functions read inputs in: their own, where C converts item by item."""
        read = []
        for k, each in enumerate(self._texts.inputs):
            dtype, own = each.type_in(types), known[k] if k < self.nin else None
            whole = each.raw or k in self._texts.wholes or dtype.kind == "c"
            read.append(dtype if whole or own is None or not own.isnative else own)
        return read

    def _on_copies(
        self, wanted: Sequence[np.dtype[Any]], fits: Sequence[bool], how: tuple[Any, bool], dtype: Any
    ) -> Callable[..., Any]:
        """How calls run whose arrays C cannot read: on copies, and those of outputs are written back."""
        names = [each.name for each in (*self._texts.inputs[: self.nin], *self._texts.outputs)]

        def copied(k: int, value: np.ndarray) -> np.ndarray:
            if k >= self.nin and not value.flags.writeable:
                raise ValueError(f"{self._who}: output {names[k]!r} is read-only")
            if self._texts.options.get("copies") == "warn":
                why = "it is not aligned"  # worded as by note_copy() in match.c
                if not value.dtype.isnative:
                    why = f"it is {value.dtype}, in the other byte order"
                elif value.dtype != wanted[k]:
                    why = f"it is {value.dtype}, and C has {wanted[k]}"
                cure = f"an aligned array avoids that ({names[k]!r} is {wanted[k]} in C)"
                if k < self.nin:
                    cure = f"np.array({names[k]}, '{wanted[k]}', order='C') before the calls copies it once"
                kind = "argument" if k < self.nin else "output"
                message = f"{self._who}: {kind} {names[k]!r} is copied in this call: {why}; {cure}"
                warn_user(message)
            if k >= self.nin and value.dtype.newbyteorder("=") != wanted[k]:
                return np.zeros_like(value, wanted[k], subok=False)
            return value.astype(wanted[k], subok=False)

        def run(*values: Any) -> Any:
            made = list(values)
            for one, other in itertools.combinations(range(self.nin, len(made)), 2):
                if shares_memory(made[one], made[other]):
                    both = f"{names[one]!r} shares memory with output {names[other]!r}"
                    raise ValueError(f"{self._who}: output {both}; wanted separate arrays")
            unfit = [k for k in range(len(made)) if not fits[k]]
            for k in unfit:
                made[k] = copied(k, made[k])
            outs = tuple(made[self.nin :]) or None
            told = tuple([names[k] for k in unfit])
            results = self._call(tuple(made[: self.nin]), *how, outs, dtype, told)
            given = values[self.nin :]
            for each, copy in zip(given, made[self.nin :], strict=True):
                if each is not copy:
                    np.copyto(each, copy, casting="same_kind")
            return results if not given else given[0] if len(given) == 1 else given

        return run

    def _wholes(self, inputs: Sequence[Any], shape: tuple[int, ...]) -> list[Any]:
        """Returns the values of _raw_x: whole arrays, broadcast as their items are."""
        whole = [inputs[k] for k in self._texts.wholes]
        return [each if is_scalar(each) else np.broadcast_to(each, shape) for each in whole]

    def _given_outputs(self, args: tuple[Any, ...], out: Any) -> Sequence[np.ndarray]:
        """Returns the outputs that the caller passes: all or none."""
        nin, nout, who = self.nin, self.nout, self._who
        if len(args) == nin and (out is None or (type(out) is np.ndarray and nout == 1)):
            return () if out is None else (out,)
        if len(args) not in (nin, nin + nout):
            raise TypeError(f"{who}: takes {nin} or {nin + nout} positional arguments, not {len(args)}")
        if out is None:
            given = list(args[nin:])
        elif len(args) > nin:
            raise ValueError(f"{who}: outputs are given both by position and as out")
        else:
            given = list(out) if isinstance(out, (tuple, list)) else [out]
            if len(given) != nout:
                raise ValueError(f"{who}: out has {len(given)} arrays; wanted {nout}")
        if all(each is None for each in given):
            return ()
        for each, parameter in zip(given, self._texts.outputs, strict=bool(given)):
            if not isinstance(each, np.ndarray):
                raise TypeError(
                    f"{who}: output {parameter.name!r} must be an array, not {type(each).__name__}"
                )
            if isinstance(each, np.ma.MaskedArray) and np.ma.is_masked(each):
                raise TypeError(f"{who}: output {parameter.name!r} has masked elements")
        return given

    def _array(self, value: Any, k: int) -> np.ndarray:
        name = self._texts.inputs[k].name
        if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
            raise TypeError(f"{self._who}: {name!r} has masked elements; pass .data or .filled()")
        return array_of(self._who, name, plain(self._who, name, value))

    def _shape(self, arrays: list[np.ndarray]) -> tuple[int, ...]:
        if len(arrays) == 1:
            return arrays[0].shape
        try:
            return np.broadcast_shapes(*(each.shape for each in arrays))
        except ValueError:
            shapes = ", ".join(str(each.shape) for each in arrays)
            raise ValueError(f"{self._who}: inputs of shapes {shapes} do not broadcast together") from None

    def _check_outputs(
        self, given: Sequence[np.ndarray], dtypes: Sequence[np.dtype[Any]], task: plan.Task
    ) -> list[np.ndarray]:
        for each, parameter, dtype in zip(given, self._texts.outputs, dtypes, strict=False):
            if each.dtype != dtype:
                raise TypeError(f"{self._who}: output {parameter.name!r} is {each.dtype}; wanted {dtype}")
            if each.shape != task.result_shape:
                wanted = task.result_shape
                raise ValueError(
                    f"{self._who}: output {parameter.name!r} has shape {each.shape}; wanted {wanted}"
                )
        return [np.asarray(each) for each in given]
