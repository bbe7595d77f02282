"""ReductionKernel: items are mapped, reduced along axes, and what is left becomes the outputs.

A kernel makes functions of tree.py's texts, one for each set of types and each way in which the items of a
call may lie in memory; plan.py says which ones a call takes, and which views of its arrays they get.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cwrapjit._cwrapjit import CompileError, Function, module
from cwrapjit.kernels import ctext, parameters, plan, tree
from cwrapjit.kernels.elementwise import _flags

_MOST_PLANS = 128
_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*\Z")
_CTYPES = {
    "?": "_Bool", "b": "npy_int8", "B": "npy_uint8", "h": "npy_int16", "H": "npy_uint16", "i": "npy_int32",
    "I": "npy_uint32", "l": "npy_int64", "L": "npy_uint64", "q": "npy_int64", "Q": "npy_uint64",
    "f": "npy_float32", "d": "npy_float64", "g": "long double", "F": "npy_complex64", "D": "npy_complex128",
}  # fmt: skip
_SIZES = ("_in_ind.size()", "_out_ind.size()")
_OPTIONS = frozenset(
    "optimize fastmath debug threads include_dirs define_macros libraries library_dirs sources".split()
)


def _words(text: str) -> set[str]:
    return set(re.findall(r"[A-Za-z_]\w*", text))


def _ctype(dtype: np.dtype[Any], who: str) -> str:
    try:
        return _CTYPES[dtype.char]
    except KeyError:
        raise TypeError(f"{who}: {dtype} is no type that C computes with here") from None


class _Header:
    """The C text in front of all functions of a type set, which knows what each of its lines was."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lines: list[str] = []
        self._parts: list[tuple[int, int, str, str]] = []  # first line, lines, which text, the text

    def own(self, *lines: str) -> None:
        self._lines.extend(lines)

    def users(self, what: str, text: str) -> None:
        lines = text.splitlines() or [""]
        self._parts.append((len(self._lines) + 1, len(lines), what, text))
        self._lines.extend(lines)

    @property
    def text(self) -> str:
        return "\n".join(self._lines) + "\n"

    def restore(self, error: CompileError) -> None:
        """Make an error in this text one of the user's texts."""
        for each in {id(e): e for e in (error, *error.errors)}.values():
            line = each.lineno or 0
            if each.filename != f"<cwrapjit {self._name} header>":
                continue
            for first, count, what, text in self._parts:
                if (
                    first <= line <= first + count
                ):  # where a text ends too early, that is said of the next line
                    at = min(line - first, count - 1)
                    place = (text.splitlines() or [""])[at]
                    each.filename = f"<cwrapjit {self._name} {what}>"
                    each.lineno, each.text = at + 1, place
                    each.offset, each.end_offset = min(each.offset or 1, len(place) + 1), None
                    each.args = (each.msg, (each.filename, each.lineno, each.offset, place))


class _Texts:
    """What the user wrote, once it was checked, and what is the same for all types."""

    def __init__(self, given: dict[str, Any], name: str, options: dict[str, Any]) -> None:
        who = f"{name}()"
        self.name, self.who, self.options = name, who, options
        self.inputs = parameters.parse(given["in_params"], who, "in_params")
        self.outputs = parameters.parse(given["out_params"], who, "out_params")
        both = [*self.inputs, *self.outputs]
        parameters.check_names(both, who)
        for each in both:
            if each.name.startswith("cwr_"):
                raise ValueError(
                    f"{who}: the name {each.name!r} is reserved, as are all that begin with cwr_"
                )
            if each.raw:
                raise ValueError(
                    f"{who}: {each.name!r} is raw; raw parameters of a reduction are not supported"
                )
        if not self.inputs or not self.outputs:
            raise ValueError(f"{who}: at least one input and one output are needed")
        if any(each.name == "a" for each in self.outputs):
            raise ValueError(
                f"{who}: no output can be named 'a', which is the reduced value in post_map_expr"
            )
        for what in ("map_expr", "reduce_expr", "post_map_expr", "preamble"):
            if not isinstance(given[what], str):
                raise TypeError(f"{who}: {what} must be a str, not {type(given[what]).__name__}")
            if what != "preamble" and "return" in _words(given[what]):
                raise ValueError(f"{who}: {what} cannot return; what it computes is taken from it")
        for what in ("map_expr", "reduce_expr"):
            if not given[what].strip():
                raise ValueError(f"{who}: {what} is empty; wanted a C expression")
        self.map, self.reduce, self.post = given["map_expr"], given["reduce_expr"], given["post_map_expr"]
        self.preamble = given["preamble"]
        self.identity = _identity(given["identity"], who)
        self.reduce_type = given["reduce_type"]
        if self.reduce_type is not None and not (
            isinstance(self.reduce_type, str) and self.reduce_type.strip()
        ):
            raise TypeError(f"{who}: reduce_type must be the name of a C type, not {self.reduce_type!r}")
        for text in (self.map, self.post):
            if re.search(r"\b_(in|out)_ind\b(?!\s*\.\s*size\s*\(\s*\))", text):
                raise ValueError(f"{who}: of _in_ind and _out_ind C has .size() alone")
        words = _words(self.map)
        self.numbered = "_J" in words or "_j" in words
        self.placed = "_j" in words
        self.sized = self.placed or any("_ind" in w for w in words | _words(self.post))

    def with_sizes(self, text: str) -> str:
        return re.sub(r"\b_(in|out)_ind\s*\.\s*size\s*\(\s*\)", r"cwr_\1_size", text)


def _identity(given: Any, who: str) -> str:
    """The identity in C; "": there is none."""
    if given is None:
        return ""
    if isinstance(given, str):
        return given.strip()
    if isinstance(given, (int, float)) or (isinstance(given, np.generic) and given.dtype.kind in "biuf"):
        value = given.item() if isinstance(given, np.generic) else given
        if isinstance(value, float) and not math.isfinite(value):
            return "NAN" if math.isnan(value) else "INFINITY" if value > 0 else "(-INFINITY)"
        return f"({value!r})" if not isinstance(value, bool) else str(int(value))
    raise TypeError(f"{who}: identity must be a C expression, a number or None, not {type(given).__name__}")


class _Family:
    """The functions of one type set."""

    def __init__(self, texts: _Texts, types: dict[str, np.dtype[Any]]) -> None:
        self.texts = texts
        self._ctypes_in = [_ctype(each.type_in(types), texts.who) for each in texts.inputs]
        self._ctypes_out = [_ctype(each.type_in(types), texts.who) for each in texts.outputs]
        self.dtypes_in = [each.type_in(types) for each in texts.inputs]
        self.dtypes_out = [each.type_in(types) for each in texts.outputs]
        self._header = self._write_header(types)
        shared = {key: value for key, value in texts.options.items() if key in _MODULES}
        try:  # one module, so that sources are compiled once
            self._define = module(texts.name, "", self._header.text, **shared).function
        except CompileError as error:
            self._header.restore(error)
            raise
        self._functions: dict[Any, Function] = {}
        used = ["cwr_map", "cwr_reduce", "cwr_post", *(["cwr_identity"] if texts.identity else [])]
        pointers = ", ".join(f"(const void *)&{each}" for each in used)  # libtcc compiles what is used
        probe = f"""
            const void *const cwr_used[] = {{{pointers}}};
            item__size() = cwr_used[0] ? (npy_int64)sizeof(cwr_acc) : 0;
            return true;"""
        self.size = int(self._compile("-> size()", probe, (np.int64,), "off")())
        if self.size > tree.MOST_BYTES or self.size < 1:
            raise ValueError(f"{texts.who}: reduce_type has {self.size} bytes; wanted 1 to {tree.MOST_BYTES}")

        size = self.size
        self.unit = np.dtype(
            f"u{size}" if size in (1, 2, 4, 8) else f"V{size}"
        )  # of partial results, to NumPy

    def _write_header(self, types: dict[str, np.dtype[Any]]) -> _Header:
        texts, header = self.texts, _Header(self.texts.name)
        for letter, dtype in types.items():
            header.own(f"typedef {_ctype(dtype, texts.who)} {letter};")
        dtypes = (*self.dtypes_in, *self.dtypes_out)
        used = ctext.words(texts.map, texts.reduce, texts.post, texts.identity, texts.preamble)
        before, behind = ctext.helpers(texts.preamble, used, any(each.char in "fg" for each in dtypes))
        header.own(*before.splitlines())
        header.users("preamble", texts.preamble)
        header.own(*behind.splitlines())
        header.own("typedef")
        if texts.reduce_type is None:
            header.own(self._ctypes_out[0])
        else:
            known = re.fullmatch(
                r"bool|u?int(8|16|32|64)|float(32|64)|complex(64|128)", texts.reduce_type.strip()
            )
            if known:
                header.own("_Bool" if known[0] == "bool" else f"npy_{known[0]}")
            else:
                header.users("reduce_type", texts.reduce_type)
        header.own("cwr_acc;")
        self._write_map(header)
        header.own("static inline cwr_acc cwr_reduce(const cwr_acc a, const cwr_acc b)", "{", "return")
        header.users("reduce_expr", texts.reduce)
        header.own(";", "}")
        self._write_post(header)
        return header

    def _sizes(self) -> list[str]:
        return ["const npy_intp cwr_in_size", "const npy_intp cwr_out_size"] if self.texts.sized else []

    def _write_map(self, header: _Header) -> None:
        texts = self.texts
        pairs = zip(self._ctypes_in, texts.inputs, strict=True)
        arguments = [f"const {ctype} {each.name}" for ctype, each in pairs]
        arguments += ["const npy_intp _J"] if texts.numbered else []
        arguments += ["const npy_intp cwr_place"] if texts.placed else []
        header.own(f"static inline cwr_acc cwr_map({', '.join(arguments + self._sizes())})", "{")
        if texts.placed:
            header.own("const npy_intp _j = _J * cwr_out_size + cwr_place;")
        header.own("return")
        header.users("map_expr", texts.with_sizes(texts.map))
        header.own(";", "}")

    def _write_post(self, header: _Header) -> None:
        texts, pairs = self.texts, list(zip(self._ctypes_out, self.texts.outputs, strict=True))
        arguments = ["const cwr_acc a", *(f"{ctype} *const cwr_to_{each.name}" for ctype, each in pairs)]
        header.own(f"static inline void cwr_post({', '.join(arguments + self._sizes())})", "{")
        header.own(*(f"{ctype} {each.name} = *cwr_to_{each.name};" for ctype, each in pairs), "{")
        header.users("post_map_expr", texts.with_sizes(texts.post))
        header.own(";", "}", *(f"*cwr_to_{each.name} = {each.name};" for _, each in pairs), "}")
        if texts.identity:
            header.own("static inline cwr_acc cwr_identity(void)", "{", "const cwr_acc cwr_value =")
            header.users("identity", texts.identity)
            header.own(";", "return cwr_value;", "}")

    def _compile(
        self, signature: str, text: str, types: Sequence[Any], optimize: str | None = None
    ) -> Function:
        options = dict(self.texts.options)
        if optimize:
            options["optimize"] = optimize
            options["threads"] = 1
        options = {key: value for key, value in options.items() if key not in _MODULES}
        try:
            return self._define(
                self.texts.name,
                signature=signature,
                unordered=True,
                Ccode_slice_eval={tuple(types): text},
                **options,
            )
        except CompileError as error:
            self._header.restore(error)
            raise

    def _end(self, form: str, partial: bool) -> tuple[str, list[str], list[Any]]:
        """What becomes of results: C, the outputs of the signature, their types."""
        one = form == "one"
        if partial:
            target = "0" if one else "{column}, 0"
            dims = "" if one else "m, "
            output = f"cwr_q({dims}{self.size})"
            return f"*(cwr_acc *)&item__cwr_q({target}) = cwr_v[cwr_t];", [output], [np.uint8]
        texts = self.texts
        value = "cwr_reduce(cwr_identity(), cwr_v[cwr_t])" if texts.identity else "cwr_v[cwr_t]"
        places = [f"&item__{each.name}({'' if one else '{column}'})" for each in texts.outputs]
        outputs = [f"{each.name}({'' if one else 'm'})" for each in texts.outputs]
        return f"cwr_post({', '.join([value, *places, *self._size_items()])});", outputs, self.dtypes_out

    def _size_items(self) -> list[str]:
        return ["item__cwr_sizes(0)", "item__cwr_sizes(1)"] if self.texts.sized else []

    def function(
        self, form: str, axes: int, scalars: tuple[bool, ...] | None, partial: bool, rest: bool
    ) -> Function:
        """The function of a form; scalars: which inputs have one value, None: reads partial results.

        A call that ends with less than a whole piece has another function for it, since what each sees of
        dims and strides then stays the same from call to call: the optimizing tier makes constants of it.
        """
        key = (form, axes, scalars, partial, rest)
        found = self._functions.get(key)
        if found is None:
            found = self._functions[key] = self._make(form, axes, scalars, partial)
        return found

    def _make(self, form: str, axes: int, scalars: tuple[bool, ...] | None, partial: bool) -> Function:
        texts, dims = self.texts, tree.dims(form, axes)
        end, outputs, types = self._end(form, partial)
        front: list[Any]
        if scalars is None:
            inputs = [f"cwr_p({', '.join(dims)}, {self.size})"]
            body = tree.Body(form, self.size, [tree.Input("cwr_p", "cwr_acc", partial=True)], "", axes)
            main, front = "cwr_p", [np.uint8]
        else:
            pairs = list(zip(texts.inputs, scalars, strict=True))
            inputs = [f"{each.name}({'' if scalar else ', '.join(dims)})" for each, scalar in pairs]
            operands = [
                tree.Input(each.name, ctype, scalar)
                for (each, scalar), ctype in zip(pairs, self._ctypes_in, strict=True)
            ]
            side = "" if form == "one" else "{column}"
            extra = ""
            front = list(self.dtypes_in)
            side_dim = "" if form == "one" else "m"
            if axes > 1:
                tables = [f"cwr_at_{each.name}(n)" for each, scalar in pairs if not scalar]
                inputs += tables
                front += [np.int64] * len(tables)
            if texts.numbered:
                extra += f", item__cwr_first({side}) + {{number}}"
                inputs.append(f"cwr_first({side_dim})")
                front.append(np.int64)
            if texts.placed:
                extra += f", item__cwr_place({side})"
                inputs.append(f"cwr_place({side_dim})")
                front.append(np.int64)
            extra += "".join(f", {item}" for item in self._size_items())
            main = next(each.name for each, scalar in pairs if not scalar)
            body = tree.Body(form, self.size, operands, extra, axes)
        if texts.sized and not (scalars is None and partial):
            inputs.append("cwr_sizes(2)")
            front.append(np.int64)
        signature = f"{', '.join(inputs)} -> {', '.join(outputs)}"
        return self._compile(signature, "\n".join(body.lines(main, end)), [*front, *types])

    def empty(self) -> Function:
        """Outputs of reductions over nothing."""
        key = "empty"
        found = self._functions.get(key)
        if found is None:
            texts = self.texts
            places = [f"&item__{each.name}()" for each in texts.outputs]
            text = f"cwr_post({', '.join(['cwr_identity()', *places, *self._size_items()])}); return true;"
            outputs = ", ".join(f"{each.name}()" for each in texts.outputs)
            types = [*([np.int64] if texts.sized else []), *self.dtypes_out]
            sizes = "cwr_sizes(2) " if texts.sized else ""
            found = self._functions[key] = self._compile(f"{sizes}-> {outputs}", text, types)
        return found


_MODULES = frozenset(("include_dirs", "define_macros", "libraries", "library_dirs", "sources"))


def _axes_of(axis: Any, ndim: int, who: str) -> tuple[int, ...]:
    """The axes that are meant, in rising order."""
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


def _scalar(value: Any) -> bool:
    return isinstance(value, (bool, int, float, complex, np.generic))


def _key(inputs: list[Any], outs: list[np.ndarray], axis: Any, keepdims: bool) -> tuple[Any, ...] | None:
    """What decides how a call runs; None: such a call is planned each time."""
    if not (axis is None or type(axis) is int or (type(axis) is tuple and set(map(type, axis)) <= {int})):
        return None
    places = [None if _scalar(each) else (each.dtype.num, each.shape, each.strides) for each in inputs]
    key = (axis, keepdims, *places)
    return (*key, *((each.dtype.num, each.shape, each.strides) for each in outs)) if outs else key


class ReductionKernel:
    """Map the items of arrays, reduce them along axes, and make outputs of what is left, by C expressions.

    >>> norm = ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "norm")
    >>> norm(np.ones((2, 4)), axis=1)
    array([2., 2.])
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
        **keywords: Any,
    ) -> None:
        if not isinstance(name, str) or not _NAME.match(name):
            raise ValueError(f"Invalid kernel name {name!r}: wanted a name of C")
        unknown = sorted(set(keywords) - _OPTIONS)
        if unknown:
            raise TypeError(f"ReductionKernel() got an unexpected keyword argument {unknown[0]!r}")
        flags = _flags(options, f"{name}()")
        for each in flags.keys() & keywords.keys() & {"define_macros", "include_dirs"}:
            flags[each] = [*flags[each], *keywords.pop(each)]
        given = {
            "in_params": in_params, "out_params": out_params, "map_expr": map_expr,
            "reduce_expr": reduce_expr, "post_map_expr": post_map_expr, "identity": identity,
            "reduce_type": reduce_type, "preamble": preamble,
        }  # fmt: skip
        self._texts = texts = _Texts(given, name, {**flags, **keywords})
        self.__name__ = self.name = name
        self._who = texts.who
        self._families: dict[Any, _Family] = {}
        self._known: dict[Any, tuple[Callable[..., Any], list[np.dtype[Any]]]] = {}
        self._plans: dict[Any, Callable[..., Any]] = {}  # those of calls with one array, and new outputs
        if all(not each.placeholder for each in (*texts.inputs, *texts.outputs)):
            self._family({})  # what does not compile is refused now

    def __repr__(self) -> str:
        return f"<ReductionKernel {self.name}>"

    @property
    def nin(self) -> int:
        return len(self._texts.inputs)

    @property
    def nout(self) -> int:
        return len(self._texts.outputs)

    @property
    def functions(self) -> tuple[Function, ...]:
        """The compiled functions that calls have made so far."""
        return tuple(f for family in self._families.values() for f in family._functions.values())

    def _family(self, types: dict[str, np.dtype[Any]]) -> _Family:
        key = tuple((letter, dtype.num) for letter, dtype in types.items())
        found = self._families.get(key)
        if found is None:
            found = self._families[key] = _Family(self._texts, types)
        return found

    def __call__(
        self, *args: Any, axis: Any = None, keepdims: bool = False, out: Any = None, dtype: Any = None
    ) -> Any:
        """Reduce along the axes; new outputs, or those of `out`, a tuple of them where there are several."""
        if len(args) == 1 and out is None and dtype is None:
            x = args[0]
            if type(x) is np.ndarray:  # the usual call, as short as it can be
                try:
                    run = self._plans.get((x.dtype.num, x.shape, x.strides, axis, keepdims))
                except TypeError:
                    run = None
                if run is not None:
                    return run(x)
        return self._call(args, axis, bool(keepdims), out, dtype)

    # ---- a call that is not usual yet ------------------------------------------------------------------

    def _call(self, args: tuple[Any, ...], axis: Any, keepdims: bool, out: Any, dtype: Any) -> Any:
        given = self._given_outputs(args, out)
        arrays = [each for each in given if each is not None]
        inputs = [each if _scalar(each) else self._array(each, k) for k, each in enumerate(args[: self.nin])]
        key = _key(inputs, arrays, axis, keepdims) if dtype is None else None
        found = self._known.get(key) if key is not None else None
        if found is None:
            found = self._planned(inputs, given, axis, keepdims, dtype)
            if key is not None:
                if len(self._known) >= _MOST_PLANS:
                    self._known.clear()
                    self._plans.clear()
                self._known[key] = found
                if len(inputs) == 1 and not arrays:  # as __call__ asks for it
                    place = (*key[2], axis, keepdims)
                    self._plans[place] = found[0]
        run, dtypes = found
        values = [
            self._number(each, k, dtypes[k]) if _scalar(each) else each for k, each in enumerate(inputs)
        ]
        if not arrays:
            return run(*values)
        run(*values, outs=[np.asarray(each) for each in arrays])
        return arrays[0] if len(arrays) == 1 else tuple(arrays)

    def _planned(
        self, inputs: list[Any], given: list[Any], axis: Any, keepdims: bool, dtype: Any
    ) -> tuple[Callable[..., Any], list[np.dtype[Any]]]:
        """How calls of these types and this geometry run, and the dtypes of their inputs."""
        texts, who = self._texts, self._who
        arrays = [each for each in inputs if not _scalar(each)]
        if not arrays:
            raise ValueError(f"{who}: at least one input must be an array")
        known = [None if each is None or _scalar(each) else each.dtype for each in (*inputs, *given)]
        family = self._family(parameters.resolve(who, texts.inputs, texts.outputs, known, dtype))
        scalars = tuple(map(_scalar, inputs))
        shape = self._shape(arrays)
        task = plan.Task(shape, _axes_of(axis, len(shape), who), keepdims, scalars, inputs)
        outs = self._check_outputs(given, task)
        if task.nout_items and not task.nred_items and not texts.identity:
            raise ValueError(
                f"{who}: zero-size array to reduction operation {self.name} which has no identity"
            )
        return plan.make(family, task, outs), family.dtypes_in

    def _given_outputs(self, args: tuple[Any, ...], out: Any) -> list[Any]:
        nin, nout, who = self.nin, self.nout, self._who
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
        for each, parameter in zip(given, self._texts.outputs, strict=False):  # none, or all
            if not isinstance(each, np.ndarray) or isinstance(each, np.ma.MaskedArray):
                raise TypeError(
                    f"{who}: output {parameter.name!r} must be an array, not {type(each).__name__}"
                )
        return given or [None] * nout

    def _array(self, value: Any, k: int) -> np.ndarray:
        if isinstance(value, np.ma.MaskedArray):
            name = self._texts.inputs[k].name
            raise TypeError(f"{self._who}: {name!r} is a masked array; pass .data or .filled()")
        return np.asarray(value)

    def _number(self, value: Any, k: int, dtype: np.dtype[Any]) -> np.ndarray:
        made = np.empty((), dtype)
        try:
            made[()] = value
        except (TypeError, ValueError) as error:
            raise TypeError(f"{self._who}: {self._texts.inputs[k].name!r}: {error}") from None
        return made

    def _shape(self, arrays: list[np.ndarray]) -> tuple[int, ...]:
        if len(arrays) == 1:
            return arrays[0].shape
        try:
            return np.broadcast_shapes(*(each.shape for each in arrays))
        except ValueError:
            shapes = ", ".join(str(each.shape) for each in arrays)
            raise ValueError(f"{self._who}: inputs of shapes {shapes} do not broadcast together") from None

    def _check_outputs(self, given: list[Any], task: plan.Task) -> list[np.ndarray]:
        if given[0] is None:
            return []
        for each, parameter in zip(given, self._texts.outputs, strict=True):
            if each.shape != task.result_shape:
                wanted = task.result_shape
                raise ValueError(
                    f"{self._who}: output {parameter.name!r} has shape {each.shape}; wanted {wanted}"
                )
        return [np.asarray(each) for each in given]
