"""ElementwiseKernel: one statement of C for each element, with CuPy's arguments and rules.

A kernel is a Dispatch: the types of a call choose among the functions that statement.py makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cwrapjit._content import Travels, frozen
from cwrapjit._cwrapjit import Adapted, Dispatch, Function
from cwrapjit._imports import load
from cwrapjit._options import OfElements, check
from cwrapjit.kernels import ctext
from cwrapjit.kernels import options as kernel_options
from cwrapjit.kernels.numbers import array_of
from cwrapjit.kernels.parameters import Parameter, check_names, parse, resolve
from cwrapjit.kernels.scalars import check_type, is_scalar, is_weak
from cwrapjit.kernels.statement import Shape, Statement

if TYPE_CHECKING:
    from typing_extensions import Unpack

_CALL = ("out", "size", "dtype", "stream", "block_size")  # the last two are of devices, and ignored
# Names that are members in generated text.
_TAKEN = frozenset(
    "operands dims_slice strides_slice ndims_slice dims_full strides_full ndims_full sizeof_element bool "
    "cookie npy_intp".split()
)
_MOST_FUNCTIONS = 256


class _Given(NamedTuple):
    """The arguments of a call."""

    values: Sequence[Any]  # positional, then keywords
    sources: Sequence[int]  # for each parameter, the index of its value; -1: an output that is not given
    size: int  # the index of the value of size=, or -1
    npositional: int


class ElementwiseKernel(Travels, Dispatch):
    """A function of arrays from one statement of C: cupy.ElementwiseKernel, on the CPU.

    >>> import numpy as np
    >>> import cwrapjit
    >>> squared_diff = cwrapjit.ElementwiseKernel("T x, T y", "T z", "z = (x - y) * (x - y)", "squared_diff")
    >>> squared_diff(np.arange(4.0), 1)
    array([1., 0., 1., 4.])

    in_params, out_params: types and names, "float32 x, T y". A type of one letter stands for any type; the
    arrays of a call decide which, scalars do not. `raw` before a type means the whole array: x[k] is its k-th
    element in C order.
    operation: C statements that see an element of each parameter by its name, the element's index i, and the
    number of elements, _ind.size().
    name: the kernel's name in messages, a C identifier.
    reduce_dims: has no effect.
    preamble: C before everything else.
    no_return: calls return None.
    return_tuple: calls return a tuple even for one output.
    loop_prep, after_loop: C that runs before and after the elements of each row, the last axis.
    options: flags of a compiler: -DNAME=VALUE, -IFOLDER, -ffast-math.
    doc: the docstring.
    more: options of function(), such as threads, fastmath and libraries; cast is "safe" by default.

    Call kernel(x, y) or kernel(x, y, z), or pass out=, an array, or a tuple of them for several outputs.
    size= gives the number of elements if all arrays are raw, dtype={"T": "f4"} the types of letters. stream=
    and block_size= are ignored. A call returns an array of the shape to which the arguments broadcast, or a
    tuple of them; shape () is a scalar.

    Raises CompileError for C that does not compile (when the kernel is made if no type is a letter, else in
    the first call with these types), TypeError and ValueError for parameters, names and options. A call
    raises TypeError for types that do not fit, ValueError for shapes that do not.
    """

    def __init__(
        self,
        in_params: str,
        out_params: str,
        operation: str,
        name: str = "kernel",
        reduce_dims: bool = True,
        preamble: str = "",
        no_return: bool = False,
        return_tuple: bool = False,
        loop_prep: str = "",
        after_loop: str = "",
        options: Sequence[str] = (),
        doc: str | None = None,
        **more: Unpack[OfElements],
    ) -> None:
        kernel_options.check_name(name, "ElementwiseKernel")
        who = self._who = f"{name}()"
        texts = {
            "operation": operation, "preamble": preamble, "loop_prep": loop_prep, "after_loop": after_loop
        }  # fmt: skip
        kernel_options.check_texts(who, texts)
        read = kernel_options.read(options, more, OfElements.__optional_keys__, "ElementwiseKernel", who)
        self.in_params = tuple(parse(in_params, who, "in_params"))
        self.out_params = tuple(parse(out_params, who, "out_params"))
        self._texts = (in_params, out_params, operation)
        self._settings = frozen(
            {
            "name": name, "reduce_dims": reduce_dims, "preamble": preamble, "no_return": no_return,
            "return_tuple": return_tuple, "loop_prep": loop_prep, "after_loop": after_loop,
            "options": options, "doc": doc, **more,
            }
        )  # fmt: skip
        self.params = self.in_params + self.out_params
        self.nin, self.nout, self.nargs = len(self.in_params), len(self.out_params), len(self.params)
        self.name, self.operation, self.preamble = name, operation, preamble
        self.loop_prep, self.after_loop = loop_prep, after_loop
        self.reduce_dims, self.no_return, self.return_tuple = (
            bool(reduce_dims),
            bool(no_return),
            bool(return_tuple),
        )
        self._check()
        self._casting = read.get("cast")
        kernel_options.warn_of_unset(who, self.out_params, texts.values())
        self._statement = Statement(name, self.in_params, self.out_params, texts, self.return_tuple, read)
        self._functions: dict[Any, Function] = {}
        ranks = [k for k, each in enumerate(self.params) if each.raw or self._statement.has_rows]
        doc = doc if doc is not None else self.__class__.__doc__
        super().__init__(ranks=ranks, lists=range(self.nin))
        vars(self).update(__name__=name, __qualname__=name, __doc__=doc)
        if not any(each.placeholder for each in self.params):  # reports errors now
            dtypes = [np.dtype(each.dtype) for each in self.params]
            shapes = tuple(Shape(1, True) if each.raw else None for each in self.params)
            rows = tuple(not each.raw for each in self.params) if self._statement.has_rows else None
            self._function(dtypes, {}, shapes, self._statement.needs_index or rows is not None, rows)

    def _check(self) -> None:
        who = self._who
        if not self.out_params:
            raise ValueError(f"{who}: out_params is empty: a kernel has an output")
        if self.nargs > 32:
            raise ValueError(f"{who}: {self.nargs} parameters; a kernel has at most 32")
        check_names(self.params, who, ("i",))
        for each in self.params:
            if each.name in _TAKEN or each.name.startswith("npy_"):
                raise ValueError(f"{who}: the name {each.name!r} is reserved: generated text has it")
            if each.dtype is not None:
                check_type(each.dtype, who, repr(each.name))
        for what in ("operation", "loop_prep", "after_loop"):
            ctext.check_words(getattr(self, what), who, what)

    if TYPE_CHECKING:  # Dispatch has it

        def __call__(
            self, *args: Any, out: Any = None, size: int | None = None, dtype: Any = None,
            stream: Any = None, block_size: Any = None,
        ) -> Any: ...  # fmt: skip

    else:  # a type checker would accept any name

        def __getattr__(self, name: str) -> Any:
            if name == "__signature__" and "params" in vars(self):
                return load("cwrapjit._signature").build_kernel(self.in_params, self.out_params, _CALL)
            return kernel_options.missing(self, name)

    def _made_by(self) -> Any:
        return type(self), self._texts, self._settings

    def __repr__(self) -> str:
        name, texts = vars(self).get("name", "without name"), vars(self).get("_texts", ("", ""))
        return kernel_options.line_of("ElementwiseKernel", name, *texts[:2])

    @property
    def functions(self) -> tuple[Function, ...]:
        """The functions compiled so far, one for each combination of types."""
        return tuple(dict.fromkeys(self._functions.values()))

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the system's compiler has finished all functions compiled so far.

        timeout: seconds for each function; None: no limit.

        Returns True if all of them have the cc tier's code."""
        return all(each.wait(timeout) for each in self.functions)

    # ---- a call with new types ------------------------------------------------------------------

    def resolve(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Returns what to call with arguments of these types."""
        who = self._who
        out: Any = kwargs.get("out")
        chosen: Any = kwargs.get("dtype")
        check(who, kwargs, _CALL)
        several = isinstance(out, (tuple, list))
        if several and len(out) != self.nout:
            raise ValueError(f"{who}: out: wanted {self.nout} arrays, one for each output, got {len(out)}")
        if out is not None and not several and self.nout != 1:
            raise TypeError(f"{who}: out must be a tuple of {self.nout} arrays")
        if out is not None and len(args) > self.nin:
            raise TypeError(f"{who}: outputs are given by position and as out, too")
        if several:
            return lambda *args, out, **more: self(*args, *out, **more)
        if chosen is not None and not isinstance(chosen, Mapping):
            raise TypeError(f'{who}: dtype must be a dict such as {{"T": "float32"}}, not {chosen!r}')
        if not self.nin <= len(args) <= self.nargs:
            counts = f"{self.nin} {'or' if self.nout == 1 else 'to'} {self.nargs}"
            raise TypeError(f"{who}: wrong number of arguments: wanted {counts}, got {len(args)}")
        at = {word: len(args) + k for k, word in enumerate(kwargs) if kwargs[word] is not None}
        sources = [-1 if k >= self.nin and each is None else k for k, each in enumerate(args)]
        sources += [-1] * (self.nargs - len(args))
        if "out" in at:
            sources[self.nin] = at["out"]
        call = _Given([*args, *kwargs.values()], sources, at.get("size", -1), len(args))
        return self._choose(call, chosen)

    def _choose(self, call: _Given, chosen: Mapping[str, Any] | None) -> Any:
        """Returns what to call: examines the arguments, then resolves their types."""
        given: list[np.dtype[Any] | None] = []
        shapes: list[Shape | None] = []
        spread: list[int] = []
        for k, (each, source) in enumerate(zip(self.params, call.sources, strict=True)):
            array = self._array(call.values[source], each, k >= self.nin) if source >= 0 else None
            given.append(None if array is None else array.dtype)
            shapes.append(
                Shape(array.ndim, array.flags.c_contiguous) if array is not None and each.raw else None
            )
            if array is not None and not each.raw:
                spread.append(source)
        types = resolve(self._who, self.in_params, self.out_params, given, chosen, self._casting)
        dtypes = [each.type_in(types) for each in self.params]
        for each, dtype in zip(self.params, dtypes, strict=True):
            check_type(dtype, self._who, repr(each.name))
        self._check_size(call, bool(spread))
        for k in range(self.nin, self.nargs):
            if self.params[k].raw and shapes[k] is None:
                shapes[k] = Shape(1, True)  # the call makes it
        rows = self._rows(call) if self._statement.has_rows else None
        indexed = self._statement.needs_index or call.size >= 0 or rows is not None
        function = self._function(dtypes, types, tuple(shapes), indexed, rows)
        found = self._adapted(call, function, dtypes, spread, indexed)
        return found if rows is None else _by_rows(found, spread, call.sources[: self.nin])

    def _rows(self, call: _Given) -> tuple[bool, ...] | None:
        """Tells which parameters have items along a last axis; None if there is no such axis."""
        rows = []
        for k, (each, source) in enumerate(zip(self.params, call.sources, strict=True)):
            has_axis = source >= 0 and np.ndim(call.values[source]) > 0
            rows.append(not each.raw and (has_axis or k >= self.nin))
        given = [row and source >= 0 for row, source in zip(rows, call.sources, strict=True)]
        axes = [np.ndim(call.values[s]) > 0 for s, row in zip(call.sources, given, strict=True) if row]
        return tuple(rows) if call.size >= 0 or any(axes) else None

    def _array(self, value: Any, parameter: Parameter, is_output: bool) -> np.ndarray[Any, Any] | None:
        """Returns the array that an argument is or becomes; None for a scalar."""
        if is_output and not isinstance(value, np.ndarray):
            raise TypeError(
                f"{self._who}: output {parameter.name!r} must be a NumPy array, not {type(value).__name__}"
            )
        if value is None:
            raise TypeError(f"{self._who}: {parameter.name!r} is None")
        if is_scalar(value):
            return None
        return value if isinstance(value, np.ndarray) else array_of(self._who, parameter.name, value)

    def _check_size(self, call: _Given, has_arrays: bool) -> None:
        if call.size >= 0 and has_arrays:
            raise ValueError("Specified 'size' can be used only if all of the ndarray are 'raw'.")
        for each, source in zip(self.out_params, call.sources[self.nin :], strict=False):
            if each.raw and source < 0 and call.size < 0:
                raise ValueError(
                    f"Output array size is Undecided: {self._who}: {each.name!r} is raw; pass it, or size="
                )
        if call.size < 0 and not has_arrays:
            raise ValueError(
                f"Loop size is undecided. {self._who} has no array that broadcasts; pass one, or size="
            )

    def _adapted(
        self,
        call: _Given,
        function: Function,
        dtypes: Sequence[np.dtype[Any]],
        spread: Sequence[int],
        indexed: bool,
    ) -> Any:
        """Returns the function if it takes the arguments as they are, else an Adapted around it."""
        nargs, given = len(call.values), call.sources[self.nin :]
        values = [call.values[source] for source in call.sources[: self.nin]]
        weak = [
            source
            for source, each, dtype in zip(call.sources, values, dtypes, strict=False)
            if is_weak(each) and each.dtype != dtype
        ]
        shared = [each.raw for each in self.out_params]
        single = self.nout == 1 and not self.return_tuple
        has_out = single and given[0] == self.nin
        as_it_is = call.npositional == self.nin and nargs == self.nin + has_out
        if as_it_is and not (indexed or any(shared) or weak or self.no_return):
            return function
        made = [j for j in range(self.nout) if shared[j] and given[j] < 0]
        own = [j for j in range(self.nout) if not shared[j]]
        results = [
            -1 - own.index(j) if j in own else nargs + made.index(j) if j in made else given[j]
            for j in range(self.nout)
        ]
        inputs = [*call.sources[: self.nin], *([-1] if indexed else [])]
        inputs += [result for result in results if result >= 0]
        outs = [given[j] for j in own] if any(given[j] >= 0 for j in own) else []
        nown = -1 if len(own) == 1 and not (self.return_tuple and not any(shared)) else len(own)
        passes = inputs == list(range(nargs - 1)) and outs == [nargs - 1] and nown < 0 and not weak
        form = 0 if self.no_return else 2 if not single else 3 if passes else 1
        return Adapted(
            function,
            self._who,
            nargs,
            tuple(inputs),
            tuple(weak),
            tuple(outs),
            tuple(results),
            tuple(dtypes[self.nin + j] for j in made),
            tuple(spread),
            call.size,
            nown,
            form,
        )

    # ---- the function of some types ----------------------------------------------------------------

    def _function(
        self,
        dtypes: Sequence[np.dtype[Any]],
        types: Mapping[str, np.dtype[Any]],
        shapes: tuple[Shape | None, ...],
        indexed: bool,
        rows: tuple[bool, ...] | None,
    ) -> Function:
        key = (tuple(dtype.char for dtype in dtypes), tuple(types.items()), shapes, indexed, rows)
        made = self._functions.get(key)
        if made is None:
            made = self._statement.function(dtypes, types, shapes, indexed, rows)
            if len(self._functions) >= _MOST_FUNCTIONS:
                self._functions.pop(next(iter(self._functions)), None)
            self._functions[key] = made
        return made


def _by_rows(target: Any, spread: Sequence[int], inputs: Sequence[int]) -> Any:
    """Returns a call by rows. It widens all inputs to full rows."""

    def call(*args: Any, **kwargs: Any) -> Any:
        values = [*args, *kwargs.values()]
        lengths = [length for k in spread for length in np.shape(values[k])[-1:]]
        length = next((each for each in lengths if each != 1), 1)
        for k in set(inputs).intersection(spread) if length != 1 else ():
            shape = np.shape(args[k])
            if shape[-1:] == (1,):
                values[k] = np.broadcast_to(args[k], (*shape[:-1], length))
        return target(*values[: len(args)], **kwargs)

    return call
