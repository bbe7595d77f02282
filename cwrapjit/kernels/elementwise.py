"""ElementwiseKernel: one statement of C for each element, CuPy's arguments and rules.

A kernel is a Dispatch: the types of a call choose a function() that was made for them. Its parameters are the
operands of that function, its operation the slice, and macros behind the preamble give elements their names.
A raw parameter is an operand all of whose dims are the slice's, so that each slice has the whole of it; one
that is written to is shared. The index is an operand without memory (csrc/kernel/adapt.c).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from cwrapjit import _cwrapjit
from cwrapjit._cwrapjit import Adapted, CompileError, Dispatch, Function
from cwrapjit.kernels import ctext
from cwrapjit.kernels.parameters import Parameter, check_names, parse, resolve

_OPTIONS = frozenset(
    "sources include_dirs define_macros libraries library_dirs optimize fastmath debug threads unordered "
    "inplace gil".split()
)
_IGNORED = ("stream", "block_size")  # of a device
_CALL = ("out", "size", "dtype", *_IGNORED)
# Members that generated text names.
_TAKEN = frozenset(
    "operands dims_slice strides_slice ndims_slice dims_full strides_full ndims_full sizeof_element bool "
    "cookie npy_intp".split()
)
_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*\Z")
_MOST_FUNCTIONS = 256
_FIRST_BYTE = 0xFFFF800000000000  # see adapt.c


class _Shape(NamedTuple):
    """What is known of an array beside its type where it is raw."""

    ndim: int
    dense: bool


class _Given(NamedTuple):
    """The arguments of a call."""

    values: Sequence[Any]  # positional, then keywords
    sources: Sequence[int]  # of each parameter, its value's number; -1: an output that is not given
    size: int  # the number of size='s value, or -1
    npositional: int


def _is_scalar(value: object) -> bool:
    return isinstance(value, (bool, int, float, complex, np.generic))


class ElementwiseKernel(Dispatch):
    """A function of arrays from one statement of C: cupy.ElementwiseKernel, on the CPU.

    >>> import numpy as np
    >>> import cwrapjit
    >>> squared_diff = cwrapjit.ElementwiseKernel("T x, T y", "T z", "z = (x - y) * (x - y)", "squared_diff")
    >>> squared_diff(np.arange(4.0), 1)
    array([1., 0., 1., 4.])

    in_params and out_params list types and names: "float32 x, T y". A type of one letter stands for any,
    which the arrays of a call decide; scalars do not. `raw` in front of a type means the whole array, for C
    to index: x[k] is its k-th element in C order. operation is C, statements that see an element of each
    parameter by its name, the element's number i, and how many there are, _ind.size(). preamble is C in
    front of all; loop_prep and after_loop run before and after each element. Both forms kernel(x, y) and
    kernel(x, y, z) are there, and out=; size= says how many elements where all arrays are raw. no_return
    and return_tuple are as in CuPy; reduce_dims changes nothing. options are flags of a compiler (-D, -I,
    -ffast-math), or those of function() by name.
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
        **more: Any,
    ) -> None:
        if not isinstance(name, str):
            raise TypeError(f"ElementwiseKernel(): name must be a str, not {type(name).__name__}")
        if not _NAME.match(name):
            raise ValueError(f"Invalid kernel name: {name!r}")
        who = self._who = f"{name}()"
        for text, value in (
            ("operation", operation), ("preamble", preamble),
            ("loop_prep", loop_prep), ("after_loop", after_loop),
        ):  # fmt: skip
            if not isinstance(value, str):
                raise TypeError(f"{who}: {text} must be a str, not {type(value).__name__}")
        for option in more:
            if option not in _OPTIONS:
                raise TypeError(f"ElementwiseKernel() got an unexpected keyword argument {option!r}")
        self.in_params = tuple(parse(in_params, who, "in_params"))
        self.out_params = tuple(parse(out_params, who, "out_params"))
        self._texts = (in_params, out_params, operation)
        self._settings = {
            "name": name, "reduce_dims": reduce_dims, "preamble": preamble, "no_return": no_return,
            "return_tuple": return_tuple, "loop_prep": loop_prep, "after_loop": after_loop,
            "options": options, "doc": doc, **more,
        }  # fmt: skip
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
        flags = _flags(options, who)
        self._options = {**flags, **more}
        for each in flags.keys() & more.keys() & {"define_macros", "include_dirs"}:
            self._options[each] = [*flags[each], *more[each]]
        self._operands = self._operand_names()
        self._words = ctext.words(operation, loop_prep, after_loop)
        self._needs_index = bool(self._words & {"i", "_ind"})
        self._functions: dict[Any, Function] = {}
        ranks = [k for k, each in enumerate(self.params) if each.raw]
        super().__init__(name=name, doc=doc if doc is not None else self.__class__.__doc__, ranks=ranks)
        if not any(each.placeholder for each in self.params):  # so faults are found now
            dtypes = [np.dtype(each.dtype) for each in self.params]
            shapes = tuple(_Shape(1, True) if each.raw else None for each in self.params)
            self._function(dtypes, {}, shapes, self._needs_index)

    def _check(self) -> None:
        who = self._who
        if not self.out_params:
            raise ValueError(f"{who}: out_params is empty: a kernel has an output")
        if self.nargs > 32:
            raise ValueError(f"{who}: {self.nargs} parameters; a kernel has at most 32")
        check_names(self.params, who, ("i", "n"))
        for each in self.params:
            if each.name in _TAKEN or each.name.startswith("npy_"):
                raise ValueError(f"{who}: the name {each.name!r} is reserved: generated text has it")
            if each.dtype is not None:
                _check_type(each.dtype, who, repr(each.name))
        for what in ("operation", "loop_prep", "after_loop"):
            ctext.check_words(getattr(self, what), who, what)

    def _operand_names(self) -> list[str]:
        """Names in the function, which keeps a few for itself."""
        taken = {each.name for each in self.params}
        names = []
        for each in self.params:
            name = each.name
            while name == "out" or re.fullmatch(r"output\d*", name) or (name in taken and name != each.name):
                name += "_"
            names.append(name)
        return names

    def __reduce__(self) -> Any:
        return _rebuild, (type(self), self._texts, self._settings)

    @property
    def functions(self) -> tuple[Function, ...]:
        """What was compiled so far: one for each combination of types."""
        return tuple(dict.fromkeys(self._functions.values()))

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the optimizing compiler is done with all that was compiled so far."""
        return all(each.wait(timeout) for each in self.functions)

    # ---- a call with new types ------------------------------------------------------------------

    def resolve(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Make what is called with arguments of these types."""
        who = self._who
        for word in kwargs:
            if word not in _CALL:
                raise TypeError(f"{who} got an unexpected keyword argument {word!r}")
        plain = self._plain(args, kwargs)
        return plain if plain is not None else self.resolved(args, kwargs, None)

    def resolved(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], chosen: Mapping[str, Any] | None
    ) -> Any:
        """The same, where no keyword but out= and size= is left; `chosen` says what letters are."""
        who = self._who
        if len(args) not in (self.nin, self.nargs):
            counts = f"{self.nin} or {self.nargs}" if self.nout else f"{self.nin}"
            raise TypeError(f"{who}: wrong number of arguments: wanted {counts}, got {len(args)}")
        words = list(kwargs)
        values = [*args, *kwargs.values()]
        sources = list(range(len(args))) + [-1] * (self.nargs - len(args))
        if "out" in kwargs:
            if len(args) > self.nin:
                raise TypeError(f"{who}: outputs are given by position and as out, too")
            sources[self.nin] = len(args) + words.index("out")
        size = len(args) + words.index("size") if "size" in kwargs else -1
        return self._choose(_Given(values, sources, size, len(args)), chosen)

    def _plain(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Where keywords are there that a call without them can do: that call."""
        out = kwargs.get("out", self)
        dtype = kwargs.get("dtype")
        drop = [word for word in (*_IGNORED, "dtype") if word in kwargs]
        drop += [word for word in ("out", "size") if word in kwargs and kwargs[word] is None]
        several = isinstance(out, (tuple, list))
        if several and len(out) != self.nout:
            raise ValueError(
                f"{self._who}: out: wanted {self.nout} arrays, one for each output, got {len(out)}"
            )
        if out is not self and out is not None and not several and self.nout != 1:
            raise TypeError(f"{self._who}: out must be a tuple of {self.nout} arrays")
        if several:
            if len(args) > self.nin:
                raise TypeError(f"{self._who}: outputs are given by position and as out, too")
            drop.append("out")
        if not drop:
            return None
        if dtype is not None:
            return _WithTypes(self, dtype, drop, several)
        return _Without(self, drop, several)

    def _choose(self, call: _Given, chosen: Mapping[str, Any] | None) -> Any:
        """What is called: find out what is known of the arguments, then what their types are."""
        given: list[np.dtype[Any] | None] = []
        shapes: list[_Shape | None] = []
        spread: list[int] = []
        for k, (each, source) in enumerate(zip(self.params, call.sources, strict=True)):
            array = self._array(call.values[source], each, k >= self.nin) if source >= 0 else None
            given.append(None if array is None else array.dtype)
            shapes.append(
                _Shape(array.ndim, array.flags.c_contiguous) if array is not None and each.raw else None
            )
            if array is not None and not each.raw:
                spread.append(source)
        types = resolve(self._who, self.in_params, self.out_params, given, chosen)
        dtypes = [
            g if g is not None else each.type_in(types) for each, g in zip(self.params, given, strict=True)
        ]
        for each, dtype in zip(self.params, dtypes, strict=True):
            _check_type(dtype, self._who, repr(each.name))
        self._check_size(call, bool(spread))
        for k in range(self.nin, self.nargs):
            if self.params[k].raw and shapes[k] is None:
                shapes[k] = _Shape(1, True)  # made by the call
        indexed = self._needs_index or call.size >= 0
        function = self._function(dtypes, types, tuple(shapes), indexed)
        return self._adapted(call, function, dtypes, spread, indexed)

    def _array(self, value: Any, parameter: Parameter, is_output: bool) -> np.ndarray[Any, Any] | None:
        """The array that an argument is, or would be; None: a scalar."""
        if is_output and not isinstance(value, np.ndarray):
            raise TypeError(
                f"{self._who}: output {parameter.name!r} must be a NumPy array, not {type(value).__name__}"
            )
        if value is None:
            raise TypeError(f"{self._who}: {parameter.name!r} is None")
        if _is_scalar(value):
            return None
        return value if isinstance(value, np.ndarray) else np.asarray(value)

    def _check_size(self, call: _Given, has_arrays: bool) -> None:
        if call.size >= 0 and has_arrays:
            raise ValueError("Specified 'size' can be used only if all of the ndarray are 'raw'.")
        for each, source in zip(self.out_params, call.sources[self.nin :], strict=False):
            if each.raw and source < 0 and call.size < 0:
                raise ValueError(
                    f"Output array size is Undecided: {self._who}: {each.name!r} is raw; pass it, or size="
                )
        if call.size < 0 and not has_arrays:
            raise ValueError("Loop size is undecided.")

    def _adapted(
        self,
        call: _Given,
        function: Function,
        dtypes: Sequence[np.dtype[Any]],
        spread: Sequence[int],
        indexed: bool,
    ) -> Any:
        """The function, where it takes the arguments as they are; else what brings them there."""
        casts = [
            _cast(call.values[source], dtype, self._who, each.name)
            for each, source, dtype in zip(self.in_params, call.sources, dtypes, strict=False)
        ]
        shared = [each.raw for each in self.out_params]
        single = self.nout == 1 and not self.return_tuple
        tuple_out = self.nout - sum(shared) != 1 or (self.return_tuple and not any(shared))
        as_it_is = call.npositional == self.nin and (len(call.values) == self.nin or single)
        if as_it_is and not (
            indexed or any(shared) or any(each is not None for each in casts) or self.no_return
        ):
            return function
        inputs = [*call.sources[: self.nin], *([-1] if indexed else [])]
        inputs += [-2 - j for j in range(self.nout) if shared[j]]
        casts += [None] * (len(inputs) - self.nin)
        return Adapted(
            function,
            self._who,
            len(call.values),
            tuple(inputs),
            tuple(casts),
            tuple(call.sources[self.nin :]),
            tuple(shared),
            tuple(dtypes[self.nin :]),
            tuple(spread),
            call.size,
            tuple_out,
            0 if self.no_return else 1 if single else 2,
        )

    # ---- the function of some types ----------------------------------------------------------------

    def _function(
        self,
        dtypes: Sequence[np.dtype[Any]],
        types: Mapping[str, np.dtype[Any]],
        shapes: tuple[_Shape | None, ...],
        indexed: bool,
    ) -> Function:
        key = (tuple(dtype.char for dtype in dtypes), tuple(types.items()), shapes, indexed)
        made = self._functions.get(key)
        if made is None:
            made = self._define(dtypes, types, shapes, indexed)
            if len(self._functions) >= _MOST_FUNCTIONS:
                del self._functions[next(iter(self._functions))]
            self._functions[key] = made
        return made

    def _define(
        self,
        dtypes: Sequence[np.dtype[Any]],
        types: Mapping[str, np.dtype[Any]],
        shapes: Sequence[_Shape | None],
        indexed: bool,
    ) -> Function:
        every = zip(self.params, self._operands, dtypes, shapes, strict=True)
        raws = []
        for k, (each, operand, dtype, shape) in enumerate(every):
            if each.raw:
                ndim, dense = (shape.ndim, shape.dense) if shape is not None else (None, False)
                raws.append(ctext.Raw(each.name, operand, ndim, dense, k >= self.nin, _c_type(dtype)))
        header, early = self._header(dtypes, types, raws)
        body, prefix = self._body(raws, indexed)
        own = [k for k in range(self.nin, self.nargs) if not self.params[k].raw]
        shared = [k for k in range(self.nin, self.nargs) if self.params[k].raw]
        order = [*range(self.nin), *([-1] if indexed else []), *shared, *own]
        key = tuple(np.dtype(np.int8) if k < 0 else dtypes[k] for k in order)
        try:
            return _cwrapjit.function(
                self.name,
                signature=self._signature(shapes, indexed, shared, own),
                header=header,
                Ccode_slice_eval={key: body},
                **self._options,
            )
        except CompileError as error:
            self._locate(error, prefix, early)
            raise

    def _signature(
        self, shapes: Sequence[_Shape | None], indexed: bool, shared: Sequence[int], own: Sequence[int]
    ) -> str:
        def shown(k: int) -> str:
            name, shape = self._operands[k], shapes[k]
            dims = range(shape.ndim) if shape is not None else ()
            return f"{name}({', '.join(f'{name}_{axis}' for axis in dims)})"

        inputs = [shown(k) for k in range(self.nin)]
        inputs += ["i()"] if indexed else []
        inputs += [f"shared {shown(k)}" for k in shared]
        outputs = ", ".join(shown(k) for k in own)
        if len(own) == 1 and self.return_tuple and not shared:
            outputs = f"({outputs},)"
        return f"{', '.join(inputs)} -> {outputs}"

    def _header(
        self, dtypes: Sequence[np.dtype[Any]], types: Mapping[str, np.dtype[Any]], raws: Sequence[ctext.Raw]
    ) -> tuple[str, int]:
        """The text in front of the slice, and the lines in front of the preamble."""
        checked = self._options.get("debug") is not None and self._options["debug"] is not False
        checked = checked or ("debug" not in self._options and bool(_cwrapjit.config.debug))
        has_float = any(dtype.char in "fg" for dtype in (*dtypes, *types.values()))
        used = self._words | ctext.words(self.preamble)
        before, behind = ctext.helpers(self.preamble, used, has_float)
        typedefs = "".join(f"typedef {_c_type(dtype)} {letter}; " for letter, dtype in types.items())
        if "#" in self.preamble.lstrip()[:1]:
            typedefs += "\n"
        names = "".join(
            f"#define {each.name} item__{operand}()\n"
            for each, operand, dtype in zip(self.params, self._operands, dtypes, strict=True)
            if not each.raw or any(raw.name == each.name and raw.ndim is None for raw in raws)
        )
        names += "".join(ctext.raw_accessor(raw, checked) for raw in raws if raw.ndim is not None)
        if "_ind" in self._words:
            names += "#define cwj_index_along(axis) (i / strides_full__i[axis] % dims_full__i[axis])\n"
        front = before + typedefs
        return f"{front}{self.preamble}\n{behind}{names}", front.count("\n")

    def _body(self, raws: Sequence[ctext.Raw], indexed: bool) -> tuple[str, int]:
        """The slice, and how many characters stand in front of the operation in its first line."""
        texts = {
            what: ctext.rewrite(getattr(self, what), raws, self._who, what)
            for what in ("loop_prep", "operation", "after_loop")
        }
        prefix = ""
        if self._needs_index and indexed:
            prefix = f"const npy_intp i = (npy_intp)((npy_uintp)data_slice__i - {_FIRST_BYTE:#x}u); (void)i; "
        prep = texts["loop_prep"]
        if prep.strip():
            if not re.search(r"//|#", prep):
                prep = prep.replace("\n", " ")
            prefix += f"{prep}{chr(10) if '//' in prep or '#' in prep else ''}; "
        skips = "continue" in ctext.words(self.operation)
        wraps = skips or bool(texts["after_loop"].strip())
        prefix += ("do { " if skips else "{ ") if wraps else ""
        # On the operation's last line where that can be: compilers find some faults at the next word.
        last = texts["operation"].rpartition("\n")[2]
        end = "\n;" if "//" in last or "#" in last else " ;"
        end += ("\n} while (0);" if skips else "\n}") if wraps else ""
        return f"{prefix}{texts['operation']}{end}{texts['after_loop']}\n;return true;", len(prefix)

    def _locate(self, error: CompileError, prefix: int, early: int) -> None:
        """Say where in the user's own texts the faults are."""
        for each in {id(e): e for e in (error, *error.errors)}.values():
            file, line = each.filename or "", each.lineno
            if line is None:
                continue
            if file.endswith(" header>"):
                each.lineno = max(line - early, 1)
                continue
            each.text = each.text.removesuffix(" ;") if each.text else each.text  # ours
            if prefix and line == 1:
                each.text = each.text[prefix:] if each.text else each.text
                if each.offset and each.offset > prefix:
                    each.offset -= prefix
                    if each.end_offset and each.end_offset > prefix:
                        each.end_offset -= prefix
                elif each.offset:
                    each.offset = each.end_offset = None


class _Without:
    """A call without some of its keywords, and with the outputs of out=(...) by position."""

    def __init__(self, kernel: ElementwiseKernel, words: Sequence[str], spreads_out: bool) -> None:
        self.kernel, self.words, self.spreads_out = kernel, words, spreads_out

    def taken(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        if self.spreads_out:
            args = (*args, *kwargs["out"])
        return args, {word: value for word, value in kwargs.items() if word not in self.words}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = self.taken(args, kwargs)
        return self.kernel(*args, **kwargs)


class _WithTypes(_Without):
    """The same with types that the caller chose. Such a call is resolved each time."""

    def __init__(
        self, kernel: ElementwiseKernel, types: Any, words: Sequence[str], spreads_out: bool
    ) -> None:
        super().__init__(kernel, words, spreads_out)
        if not isinstance(types, Mapping):
            raise TypeError(f'{kernel._who}: dtype must be a dict such as {{"T": "float32"}}, not {types!r}')
        self.types = types

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = self.taken(args, kwargs)
        return self.kernel.resolved(args, kwargs, self.types)(*args, **kwargs)


def _rebuild(cls: type[ElementwiseKernel], texts: tuple[str, str, str], settings: dict[str, Any]) -> Any:
    return cls(*texts, **settings)


def _c_type(dtype: np.dtype[Any]) -> str:
    """The C type of a dtype, as generated text calls it."""
    named = {"?": "_Bool", "q": "npy_longlong", "Q": "npy_ulonglong", "g": "npy_longdouble"}
    return named.get(dtype.char) or f"npy_{dtype.name}"


def _check_type(dtype: np.dtype[Any], who: str, what: str) -> None:
    if dtype.char in "eG":
        raise TypeError(
            f"{who}: {what} is {dtype}, which C text cannot compute with; convert it with astype()"
        )


def _cast(value: Any, dtype: np.dtype[Any], who: str, name: str) -> Any:
    """How a scalar becomes a number of that type; None: the function does that, or it is no scalar."""
    if isinstance(value, np.generic):
        if value.dtype.kind not in "biufc":
            raise TypeError(f"{who}: {name!r} is a scalar of {value.dtype}; wanted a number")
        if value.dtype.kind == "c" and dtype.kind != "c":
            raise TypeError(f"{who}: {name!r} is complex, but its type is {dtype}")
        return None if value.dtype.char == dtype.char else dtype
    if isinstance(value, complex) and dtype.kind != "c":
        raise TypeError(f"{who}: {name!r} is complex, but its type is {dtype}")
    if dtype.kind == "b" and isinstance(value, (int, float)) and not isinstance(value, bool):
        return bool
    if dtype.kind in "iu" and isinstance(value, float):
        return int
    return None


def _flags(options: Sequence[str], who: str) -> dict[str, Any]:
    """Flags of a compiler as options of function()."""
    if isinstance(options, str) or not all(isinstance(each, str) for each in options):
        raise TypeError(f"{who}: options must be a tuple of flags such as '-DN=3'")
    macros: list[str] = []
    folders: list[str] = []
    made: dict[str, Any] = {}
    for flag in options:
        if flag.startswith("-D") and len(flag) > 2:
            macros.append(flag[2:])
        elif flag.startswith("-I") and len(flag) > 2:
            folders.append(flag[2:])
        elif flag in ("-ffast-math", "--use_fast_math", "-use_fast_math"):
            made["fastmath"] = True
        elif not re.match(r"--?std=|-O\d$", flag):
            raise ValueError(
                f"{who}: options: {flag!r} is not known; wanted -DNAME=VALUE, -IFOLDER, -ffast-math"
            )
    made |= {"define_macros": macros} if macros else {}
    return made | ({"include_dirs": folders} if folders else {})
