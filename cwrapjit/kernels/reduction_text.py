"""Writes the C text of a reduction for one type set: the user's expressions as functions, and the forms of
the tree, which call them."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from cwrapjit import _cwrapjit
from cwrapjit._cwrapjit import CompileError, Function
from cwrapjit._tokens import code, words
from cwrapjit.kernels import ctext, numbers, parameters, tree
from cwrapjit.kernels.options import check_texts
from cwrapjit.kernels.scalars import c_type, literal, value_type
from cwrapjit.kernels.statement import Shape, is_checked

_MODULES = frozenset(("include_dirs", "define_macros", "libraries", "library_dirs", "sources"))
_PLACES = ("map_expr", "reduce_expr", "post_map_expr")
# gcc gathers eight scattered items at once, which takes AMD's processors twice as long as one by one.
_HALF_VECTORS = """
#if defined(__x86_64__) && CWJ_GCC >= 8
#pragma GCC target("prefer-vector-width=256")
#endif
"""
_NUMPY = re.compile(r"bool|u?int(8|16|32|64)|float(16|32|64)|complex(64|128)")


class _Operand(NamedTuple):
    """An input of a form: its declaration in the signature, and its dtype."""

    declared: str
    dtype: Any


class Texts:
    """The user's texts, checked, and all that does not depend on types."""

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
        for each in self.outputs:
            if each.raw:
                raise ValueError(
                    f"{who}: {each.name!r} is raw; outputs of a reduction cannot be: axis= says which "
                    "items are whose"
                )
        if not self.inputs or not self.outputs:
            raise ValueError(f"{who}: at least one input and one output are needed")
        if any(each.name == "a" for each in self.outputs):
            raise ValueError(
                f"{who}: no output can be named 'a', which is the reduced value in post_map_expr"
            )
        check_texts(who, {what: given[what] for what in (*_PLACES, "preamble")})
        for what in _PLACES:
            if "return" in words(given[what]):
                raise ValueError(f"{who}: {what} cannot return; what it computes is taken from it")
        for what in ("map_expr", "reduce_expr"):
            if not given[what].strip():
                raise ValueError(f"{who}: {what} is empty; wanted a C expression")
            ctext.check_expression(given[what], who, what)
        if "#" not in given["post_map_expr"]:  # only one of #if and #else counts
            ctext.check_brackets(given["post_map_expr"], who, "post_map_expr")
        self.map, self.reduce, self.post = given["map_expr"], given["reduce_expr"], given["post_map_expr"]
        self.preamble = given["preamble"]
        self.identity = _identity(given["identity"], who)
        ctext.check_expression(self.identity or "", who, "identity", ";,")
        self.reduce_type = given["reduce_type"]
        self._check_reduce_type()
        for what, text, indices in (("map_expr", self.map, _IN_MAP), ("post_map_expr", self.post, _IN_POST)):
            alone, parts = text, code(text)
            for k in range(1, len(parts) - 5):  # x[_in_ind.get()] may be a raw array's
                if re.fullmatch(
                    r"\[_\w+_ind\.get\(\)\]", "".join(each.text for each in parts[k - 1 : k + 6])
                ):
                    begin, end = parts[k - 1].at, parts[k + 5].end
                    alone = f"{alone[:begin]}{' ' * (end - begin)}{alone[end:]}"
            ctext.rewrite(alone, (), who, what, indices)  # refuses now what indices do not have
        self._look()

    def _check_reduce_type(self) -> None:
        given, who = self.reduce_type, self.who
        if given is None:
            return
        if not isinstance(given, str) or not given.strip():
            raise TypeError(f"{who}: reduce_type must be the name of a C type, not {given!r}")
        macros = self.options.get("define_macros") or ()
        known = words(self.preamble, *map(str, macros)) | {"const", "struct", "union", "enum"}
        known |= {each.word for each in (*self.inputs, *self.outputs)}
        for word in re.findall(r"[A-Za-z_]\w*", "" if "include" in known else given):
            if word not in known and not _NUMPY.fullmatch(word) and numbers.dtype_of([word]) is None:
                raise TypeError(
                    f"{who}: reduce_type: wanted a type of C, NumPy, a letter or the preamble, got {word!r}"
                )

    def _look(self) -> None:
        """Finds out which predefined names the texts use."""
        in_map, in_post = words(self.map), words(self.post)
        both = in_map | in_post
        spelled = [" ".join(each.text for each in code(text)) for text in (self.map, self.post)]
        located = re.search(r"\b_in_ind \. get\b", spelled[0]) is not None
        ends_located = re.search(r"\b_out_ind \. get\b", spelled[1]) is not None
        placed = "_j" in in_map or located
        self.numbered = "_J" in in_map or placed
        sized = placed or not in_map.isdisjoint(_IN_MAP)
        self.map_facts = _those((FIRST, self.numbered), (PLACE, placed), (AXES, located), (SIZES, sized))
        sized = not in_post.isdisjoint(_IN_POST)
        self.post_facts = _those((PLACE, ends_located), (OUT_AXES, ends_located), (SIZES, sized))
        self.declared = len(self.inputs)
        # _raw_x is the whole of x, and an additional input.
        self.wholes = [
            k for k, each in enumerate(self.inputs) if f"_raw_{each.name}" in both and not each.raw
        ]
        for each in [self.inputs[k] for k in self.wholes]:
            self.inputs.append(each._replace(name=f"_raw_{each.name}", raw=True))
        self.raws = [k for k, each in enumerate(self.inputs) if each.raw]
        for name in sorted(both):
            if name.startswith("_raw_") and not any(each.name == name for each in self.inputs):
                raise ValueError(f"{self.who}: there is no input for {name}")

    def told(self, maps: bool, ends: bool) -> list[Fact]:
        """Returns the facts that a function needs which maps items, or makes outputs."""
        return list(dict.fromkeys([*(self.map_facts if maps else ()), *(self.post_facts if ends else ())]))


class Fact(NamedTuple):
    """A fact that texts can use besides the items."""

    operand: str  # of functions
    parameters: str  # of cwr_map or cwr_post
    arguments: str  # for these parameters


FIRST = Fact("cwr_first({m})", "const npy_intp _J", "item__cwr_first({side}) + ({{number}}) * {apart}")
PLACE = Fact("cwr_place({m})", "const npy_intp cwr_place", "item__cwr_place({side})")
_WHERE = "const npy_int64 *const cwr_axes, const npy_intp cwr_naxes"
AXES, OUT_AXES = (
    Fact(f"{name}({name}_n, 3)", _WHERE, f"(const npy_int64 *)data_slice__{name}, dims_slice__{name}[0]")
    for name in ("cwr_in_axes", "cwr_out_axes")
)
SIZES = Fact(
    "cwr_sizes(2)",
    "const npy_intp cwr_in_size, const npy_intp cwr_out_size",
    "item__cwr_sizes(0), item__cwr_sizes(1)",
)


def _those(*facts: tuple[Fact, bool]) -> list[Fact]:
    return [fact for fact, is_told in facts if is_told]


_IN_MAP = {
    "_in_ind": ctext.Index({"size": "cwr_in_size"}, "cwr_along"),
    "_out_ind": ctext.Index({"size": "cwr_out_size"}),
}
_IN_POST = {
    "_in_ind": ctext.Index({"size": "cwr_in_size"}),
    "_out_ind": ctext.Index({"size": "cwr_out_size"}, "cwr_along"),
}
# For each axis: whether it is reduced, the difference of its items' numbers, its length.
_AXES = """
static inline npy_intp cwr_along_axis(const npy_int64 *axis, npy_intp number, npy_intp place)
{
    return (npy_intp)((axis[0] ? number : place) / axis[1] % axis[2]);
}
"""
_ARRAYS = """
typedef struct {
    const char *data;
    const npy_intp *dims, *strides;
} cwr_array;
"""


def _identity(given: Any, who: str) -> str:
    """Returns the identity in C, or "" if there is none."""
    if given is None:
        return ""
    if isinstance(given, str):
        return given.strip()
    if isinstance(given, (bool, int, np.bool_, np.integer)):
        whole = int(given)
        if not -(2**63) <= whole < 2**64:
            return literal(float(whole))
        return literal(whole, "u" if whole >= 2**63 else "")
    if isinstance(given, np.longdouble) and np.isfinite(given):
        return f"({given!s}L)"
    if isinstance(given, (float, np.floating)):
        return literal(float(given))
    if isinstance(given, (complex, np.complexfloating)):
        return f"CMPLX({_identity(given.real, who)}, {_identity(given.imag, who)})"
    raise TypeError(f"{who}: identity must be a C expression, a number or None, not {type(given).__name__}")


class Family:
    """The functions of one type set."""

    def __init__(
        self,
        texts: Texts,
        types: dict[str, np.dtype[Any]],
        shapes: Sequence[Shape | None],
        read: Sequence[np.dtype[Any]],
    ) -> None:
        """shapes: of inputs that are raw and arrays what they are, None for others. read: the dtypes of the
        arrays. Those of items that are not raw may differ from what is declared: C converts each item."""
        self.texts = texts
        self.dtypes_in = read
        self._declared = [each.type_in(types) for each in texts.inputs]
        self.dtypes_out = [each.type_in(types) for each in texts.outputs]
        self._ctypes_in = [c_type(each) for each in self.dtypes_in]
        self._shapes = list(shapes) or [None] * len(texts.inputs)
        self._checked = is_checked(texts.options)
        self._header = self._write_header(types)
        self._define = self._definer()
        self._functions: dict[Any, Function] = {}
        used = ["cwr_map", "cwr_reduce", "cwr_post", *(["cwr_identity"] if texts.identity else [])]
        pointers = ", ".join(f"(const void *)&{each}" for each in used)  # libtcc compiles only used functions
        probe = f"""
            const void *const cwr_used[] = {{{pointers}}};
            item__size() = cwr_used[0] ? (npy_int64)sizeof(cwr_acc) : 0;
            return 1;"""
        self.size = int(self._compile("-> size()", probe, (np.int64,), "off")())
        if self.size > tree.MOST_BYTES or self.size < 1:
            raise ValueError(f"{texts.who}: reduce_type has {self.size} bytes; wanted 1 to {tree.MOST_BYTES}")
        self.partial = np.dtype(f"V{self.size}")  # dtype of results that another level reduces

    def _definer(self) -> Callable[..., Function]:
        """Returns what defines functions that share the header. A module compiles sources only once."""
        texts = self.texts
        if not texts.options.get("sources"):
            return functools.partial(_cwrapjit.function, header=self._header.text)
        shared = {key: value for key, value in texts.options.items() if key in _MODULES}
        try:
            return _cwrapjit.module(texts.name, "", self._header.text, **shared).function
        except CompileError as error:
            ctext.restore(error, self._header.place)
            raise

    def _write_header(self, types: dict[str, np.dtype[Any]]) -> ctext.Written:
        texts, header = self.texts, ctext.Written(self.texts.name, "header")
        header.own(*ctext.letter_types(types).splitlines())
        used = words(texts.map, texts.reduce, texts.post, texts.identity, texts.preamble)
        dtypes = [*self.dtypes_in, *self._declared, *self.dtypes_out, *types.values()]
        dtypes += self._known_accumulator()
        before, behind = ctext.helpers(texts.preamble, used, dtypes)
        header.own(*before.splitlines())
        header.users("preamble", texts.preamble, self._as_c("preamble", texts.preamble))
        header.own(*behind.splitlines())
        header.own(*_AXES.splitlines() if {AXES, OUT_AXES}.intersection(texts.told(True, True)) else ())
        arrays = self._raw_arrays()
        header.own(*_ARRAYS.splitlines() if arrays else ())
        for raw in arrays:
            header.own(*_raw_macros(raw).splitlines())
        header.own("typedef")
        for dtype in self._known_accumulator():
            header.own(value_type(dtype))  # float16 is reduced as float
        if not self._known_accumulator():
            header.users("reduce_type", texts.reduce_type or "")
        header.own("cwr_acc;")
        self._write_map(header)
        header.own("static inline cwr_acc cwr_reduce(const cwr_acc a, const cwr_acc b)", "{", "return")
        header.users("reduce_expr", texts.reduce, self._as_c("reduce_expr", texts.reduce))
        header.own(";", "}")
        self._write_post(header)
        return header

    def _known_accumulator(self) -> list[np.dtype[Any]]:
        """Returns a list of the reduced values' dtype, or an empty list."""
        given = (self.texts.reduce_type or "").strip()
        if not given:
            return [self.dtypes_out[0]]
        return [np.dtype(given)] if _NUMPY.fullmatch(given) else []

    def _raw_arrays(self) -> list[ctext.Raw]:
        made: list[ctext.Raw] = []
        for each, ctype, shape in zip(self.texts.inputs, self._ctypes_in, self._shapes, strict=True):
            if each.raw:
                ndim, dense = shape if shape is not None else (None, False)
                name = f"cwr_a{len(made)}"
                made.append(ctext.Raw(each.name, name, ndim, dense, False, ctype, self._checked))
        return [raw for raw in made if raw.ndim is not None]

    def _raw_numbers(self) -> list[tuple[str, np.dtype[Any]]]:
        """Returns the raw inputs that are numbers here, as (name, dtype)."""
        every = zip(self.texts.inputs, self.dtypes_in, self._shapes, strict=True)
        return [(each.name, dtype) for each, dtype, shape in every if each.raw and shape is None]

    def _rewritten(self, what: str, text: str, indices: Mapping[str, ctext.Index]) -> str:
        scalars = [ctext.Raw(name, name, None, False, False, "") for name, _ in self._raw_numbers()]
        return ctext.rewrite(text, [*self._raw_arrays(), *scalars], self.texts.who, what, indices)

    def _as_c(self, what: str, text: str) -> str:
        """Rewrites a text that knows no arrays and no indices."""
        return ctext.rewrite(text, (), self.texts.who, what, {})

    def _parameters(self, facts: Sequence[Fact]) -> list[str]:
        """Returns the additional parameters of cwr_map and cwr_post."""
        arrays = [f"const cwr_array *const {raw.operand}" for raw in self._raw_arrays()]
        return [*(fact.parameters for fact in facts), *arrays]

    def _arguments(self, facts: Sequence[Fact], side: str, apart: int = 1) -> list[str]:
        """Returns the arguments for _parameters()."""
        given = [fact.arguments.format(side=side, apart=apart) for fact in facts]
        return given + [f"&{raw.operand}" for raw in self._raw_arrays()]

    def _along(self, index: str, number: str) -> str:
        """Returns the #define of an index's .get() along an axis."""
        axis = ctext.checked_axis(f"{index}.get()", "cwr_naxes", "axis") if self._checked else "axis"
        return f"#define cwr_along(axis) cwr_along_axis(cwr_axes + 3 * ({axis}), {number}, cwr_place)"

    def _write_map(self, header: ctext.Written) -> None:
        texts, arguments, loads = self.texts, [], []
        every = zip(texts.inputs, self._declared, self.dtypes_in, self._shapes, strict=True)
        for each, dtype, read, shape in every:
            if shape is None and c_type(read) == value_type(dtype) and read == dtype:
                arguments.append(f"const {c_type(read)} {each.name}")
            elif shape is None:
                item = f"cwr_item_{each.name}"
                arguments.append(f"const {c_type(read)} {item}")
                loads.append(f"const {value_type(dtype)} {each.name} = {ctext.converted(item, read, dtype)};")
        arguments += self._parameters(texts.map_facts)
        header.own(f"static inline cwr_acc cwr_map({', '.join(arguments)})", "{", *loads)
        if PLACE in texts.map_facts:
            header.own("const npy_intp _j = _J * cwr_out_size + cwr_place;", "(void)_j;")
        if AXES in texts.map_facts:
            header.own(self._along("_in_ind", "_J"))
        header.own("return")
        header.users("map_expr", texts.map, self._rewritten("map_expr", texts.map, _IN_MAP))
        header.own(";", "}", "#undef cwr_along")

    def _write_post(self, header: ctext.Written) -> None:
        texts, pairs = self.texts, list(zip(self.dtypes_out, self.texts.outputs, strict=True))
        arguments = [
            "const cwr_acc a",
            *(f"{c_type(dtype)} *const cwr_to_{each.name}" for dtype, each in pairs),
        ]
        arguments += [f"const {value_type(dtype)} {name}" for name, dtype in self._raw_numbers()]
        arguments += self._parameters(texts.post_facts)
        header.own(f"static inline void cwr_post({', '.join(arguments)})", "{")
        for dtype, each in pairs:
            header.own(f"{value_type(dtype)} {each.name} = {ctext.loaded(f'*cwr_to_{each.name}', dtype)};")
        if OUT_AXES in texts.post_facts:
            header.own(self._along("_out_ind", "0"))
        header.own("{")
        header.users("post_map_expr", texts.post, self._rewritten("post_map_expr", texts.post, _IN_POST))
        header.own(";", "}")
        for dtype, each in pairs:
            header.own(f"*cwr_to_{each.name} = {ctext.stored(each.name, dtype)};")
        header.own("}", "#undef cwr_along")
        if texts.identity:
            header.own("static inline cwr_acc cwr_identity(void)", "{", "const cwr_acc cwr_value =")
            header.users("identity", texts.identity, self._as_c("identity", self._identity()))
            header.own(";", "return cwr_value;", "}")

    def _identity(self) -> str:
        """Makes a complex number of a number if the reduced values are complex."""
        text = self.texts.identity
        is_complex = any(dtype.kind == "c" for dtype in self._known_accumulator())
        if is_complex and re.fullmatch(r"[(]?[-+]?[\d.]+(e[-+]?\d+)?[)]?", text):
            return f"{{{text}, 0}}"
        return text

    def _compile(
        self,
        signature: str,
        text: str,
        types: Sequence[Any],
        optimize: str | None = None,
        behind_header: str = "",
    ) -> Function:
        options = {"cast": "safe", **self.texts.options}  # copies inputs that share memory with outputs
        if optimize:
            options["optimize"] = optimize
            options["threads"] = 1
        if options.get("sources"):
            options = {key: value for key, value in options.items() if key not in _MODULES}
        elif behind_header:
            options["header"] = self._header.text + behind_header
        try:
            made = self._define(
                self.texts.name,
                signature=signature,
                unordered=True,
                Ccode_slice_eval={tuple(types): text},
                **options,
            )
            if self._checked:
                made.__dict__["_place"] = self._header.place
            return made
        except CompileError as error:
            ctext.restore(error, self._header.place)
            raise

    def _end(self, form: tree.Form, partial: bool) -> tuple[str, list[str], list[Any]]:
        """Returns how results are stored: C text, the outputs of the signature, their types."""
        one = form.kind == "one"
        if partial:
            step = "" if one else " + ({column}) * strides_slice__cwr_q[0]"
            end = f"*(cwr_acc *)((char *)data_slice__cwr_q{step}) = cwr_v[cwr_t];"
            return end, ["cwr_q()" if one else "cwr_q(m)"], [self.partial]
        texts = self.texts
        value = "cwr_reduce(cwr_identity(), cwr_v[cwr_t])" if texts.identity else "cwr_v[cwr_t]"
        side = "" if one else "{column}"
        places = [f"&item__{each.name}({side})" for each in texts.outputs]
        outputs = [f"{each.name}({'' if one else 'm'})" for each in texts.outputs]
        return f"{self._post(value, places, side)};", outputs, self.dtypes_out

    def _post(self, value: str, places: Sequence[str], side: str) -> str:
        items = [value, *places]
        for name, dtype in self._raw_numbers():
            items.append(ctext.loaded(f"item__{_in_signature(name)}()", dtype))
        return f"cwr_post({', '.join(items + self._arguments(self.texts.post_facts, side))})"

    def function(
        self,
        form: tree.Form,
        axes: int,
        scalars: tuple[bool, ...] | None,
        partial: bool,
        rest: bool,
        apart: int,
    ) -> Function:
        """Returns the function of a form. scalars: which inputs have one value; None: it reads partial
        results. apart: the difference between the numbers of neighbours in a row. If the last piece of rows
        is shorter, `rest` makes another function for it. The dims and strides of each function then stay the
        same from call to call, and the cc tier makes constants of them."""
        apart = apart if self.texts.numbered else 1
        key = (form, axes, scalars, partial, rest, apart)
        found = self._functions.get(key)
        if found is None:
            found = self._functions[key] = self._make(form, axes, scalars, partial, apart)
        return found

    def _make(
        self, form: tree.Form, axes: int, scalars: tuple[bool, ...] | None, partial: bool, apart: int
    ) -> Function:
        dims, side = tree.dims(form, axes), "" if form.kind == "one" else "{column}"
        end, outputs, types = self._end(form, partial)
        if scalars is None:
            operands = [_Operand(f"cwr_p({', '.join(dims)})", self.partial)]
            operands += [self._raw_operand(k) for k in self.texts.raws]
            body = tree.Body(form, self.size, [tree.Input("cwr_p", "cwr_acc")], None, axes)
            main = "cwr_p"
        else:
            operands = self._input_operands(scalars, dims)
            if axes > 1:
                tables = [f"cwr_at_{each.name}(n)" for each in self._spread(scalars)]
                operands += [_Operand(each, np.int64) for each in tables]
            read = [
                tree.Input(each.name, self._ctypes_in[k], scalars[k])
                for k, each in enumerate(self.texts.inputs)
                if self._shapes[k] is None
            ]
            main = self._spread(scalars)[0].name
            extra = "".join(f", {each}" for each in self._arguments(self.texts.map_facts, side, apart))
            body = tree.Body(form, self.size, read, extra, axes)
        operands += self._facts("" if form.kind == "one" else "m", scalars is not None, not partial)
        signature = f"{', '.join(each.declared for each in operands)} -> {', '.join(outputs)}"
        text = self._with_arrays("\n".join(body.lines(main, end)))
        every = [*(each.dtype for each in operands), *types]
        tabled = form.kind == "one" and axes > 1
        return self._compile(signature, text, every, behind_header=_HALF_VECTORS if tabled else "")

    def _spread(self, scalars: tuple[bool, ...]) -> list[parameters.Parameter]:
        """Returns the inputs that are arrays and read item by item."""
        return [each for each, scalar in zip(self.texts.inputs, scalars, strict=True) if not scalar]

    def _raw_operand(self, k: int) -> _Operand:
        name, shape = _in_signature(self.texts.inputs[k].name), self._shapes[k]
        dims = ", ".join(f"cwr_{axis}_{name}" for axis in range(shape.ndim)) if shape is not None else ""
        return _Operand(f"{name}({dims})", self.dtypes_in[k])

    def _input_operands(self, scalars: tuple[bool, ...], dims: Sequence[str]) -> list[_Operand]:
        made = []
        for k, (each, scalar) in enumerate(zip(self.texts.inputs, scalars, strict=True)):
            if scalar:
                made.append(self._raw_operand(k))
            else:
                made.append(_Operand(f"{each.name}({', '.join(dims)})", self.dtypes_in[k]))
        return made

    def _facts(self, m: str, maps: bool, ends: bool) -> list[_Operand]:
        return [_Operand(fact.operand.format(m=m), np.int64) for fact in self.texts.told(maps, ends)]

    def _with_arrays(self, body: str) -> str:
        """Returns the slice, in which raw parameters are known to the functions that it calls."""
        front = ""
        for raw in self._raw_arrays():
            name = _in_signature(raw.name)
            geometry = f"dims_slice__{name}, strides_slice__{name}" if raw.ndim else "0, 0"
            front += f"const cwr_array {raw.operand} = {{data_slice__{name}, {geometry}}};\n"
        return front + body

    def empty(self) -> Function:
        """Returns the function that makes outputs of reductions over nothing."""
        key = "empty"
        found = self._functions.get(key)
        if found is None:
            texts = self.texts
            places = [f"&item__{each.name}()" for each in texts.outputs]
            text = self._with_arrays(f"{self._post('cwr_identity()', places, '')};\nreturn 1;")
            operands = [*(self._raw_operand(k) for k in texts.raws), *self._facts("", False, True)]
            inputs = ", ".join(each.declared for each in operands)
            outputs = ", ".join(f"{each.name}()" for each in texts.outputs)
            types = [*(each.dtype for each in operands), *self.dtypes_out]
            found = self._functions[key] = self._compile(f"{inputs} -> {outputs}", text, types)
        return found


def _in_signature(name: str) -> str:
    return f"cwr{name}" if name.startswith("_") else name


def _raw_macros(raw: ctext.Raw) -> str:
    """Returns #defines of the slice's macros for a raw operand, and of those that texts use."""
    x, steps = raw.operand, [f"{raw.operand}->data"]
    indices = [f"i{axis}" for axis in range(raw.ndim or 0)]
    for axis, index in enumerate(indices):
        wrong = f"{raw.name}: index %S is out of range for axis {axis}, which has %zd elements"
        within = ctext.checked(wrong, f"{x}->dims[{axis}]", index) if raw.checked else f"({index})"
        steps.append(f"{within} * {x}->strides[{axis}]")
    # A byte of a bool may have any value.
    c_type, test = ("npy_bool", " != 0") if raw.c_type == "_Bool" else (raw.c_type, "")
    return (
        f"#define item__{x}({', '.join(indices)}) (*(const {c_type} *)({' + '.join(steps)}){test})\n"
        f"#define data_slice__{x} ({x}->data)\n"
        f"#define dims_slice__{x} ({x}->dims)\n#define strides_slice__{x} ({x}->strides)\n"
    ) + ctext.raw_accessor(raw)
