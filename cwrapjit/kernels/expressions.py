"""The C text of a reduction of some types: the user's expressions as functions, and the forms of the tree
that call these.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cwrapjit import _cwrapjit
from cwrapjit._cwrapjit import CompileError, Function
from cwrapjit.kernels import ctext, parameters, tree
from cwrapjit.kernels.options import check_texts
from cwrapjit.kernels.scalars import c_type

_MODULES = frozenset(("include_dirs", "define_macros", "libraries", "library_dirs", "sources"))
_LINE = re.compile(r"^[ \t]*#[ \t]*(line\b|\d)", re.MULTILINE)
_PLACES = ("map_expr", "reduce_expr", "post_map_expr")


class Header:
    """The C text in front of all functions of a type set, which knows what each of its lines was."""

    def __init__(self, name: str) -> None:
        self._name, self._file = name, f"<cwrapjit {name} header>"
        self._lines: list[str] = []
        self._parts: list[tuple[int, int, str, str]] = []  # first line, lines, which text, the text

    def own(self, *lines: str) -> None:
        self._lines.extend(lines)

    def users(self, what: str, text: str) -> None:
        lines = text.split("\n")  # what else Python takes for the end of a line is none to C
        self._parts.append((len(self._lines) + 1, len(lines), what, text))
        self._lines.extend(lines)
        if _LINE.search(text):
            self.own(f'#line {len(self._lines) + 2} "{self._file}"')

    @property
    def text(self) -> str:
        return "\n".join(self._lines) + "\n"

    def restore(self, error: CompileError) -> None:
        """Make an error in this text one of the user's texts."""
        for each in {id(e): e for e in (error, *error.errors)}.values():
            line = each.lineno or 0
            if each.filename != self._file:
                continue
            for first, count, what, text in self._parts:
                if (
                    first <= line <= first + count
                ):  # where a text ends too early, that is said of the next line
                    at = min(line - first, count - 1)
                    place = text.split("\n")[at].rstrip("\r")
                    each.filename = f"<cwrapjit {self._name} {what}>"
                    each.lineno, each.text = at + 1, place
                    each.offset, each.end_offset = min(each.offset or 1, len(place) + 1), None
                    each.args = (each.msg, (each.filename, each.lineno, each.offset, place))


class Texts:
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
        check_texts(who, {what: given[what] for what in (*_PLACES, "preamble")})
        for what in _PLACES:
            if "return" in ctext.words(given[what]):
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
        words = ctext.words(self.map)
        self.numbered = "_J" in words or "_j" in words
        self.placed = "_j" in words
        self.sized = self.placed or any("_ind" in w for w in words | ctext.words(self.post))

    def with_sizes(self, text: str) -> str:
        return re.sub(r"\b_(in|out)_ind\s*\.\s*size\s*\(\s*\)", r"cwr_\1_size", text)


def _identity(given: Any, who: str) -> str:
    """The identity in C; "": there is none."""
    if given is None:
        return ""
    if isinstance(given, str):
        return given.strip()
    if isinstance(given, (bool, np.bool_)):
        return str(int(given))
    if isinstance(given, (int, np.integer)):
        return _whole(int(given))
    if isinstance(given, (float, np.floating)):
        if not np.isfinite(given):
            return "NAN" if np.isnan(given) else "INFINITY" if given > 0 else "(-INFINITY)"
        return f"({given}L)" if isinstance(given, np.longdouble) else f"({float(given)!r})"
    raise TypeError(f"{who}: identity must be a C expression, a number or None, not {type(given).__name__}")


def _whole(value: int) -> str:
    """A whole number in C, which has no negative literals, and none of more than 64 bits."""
    if not -(2**63) <= value < 2**64:
        return f"({float(value)!r})"
    if value >= 2**63:
        return f"{value}u"
    return f"({value})" if value > -(2**63) else f"({value + 1} - 1)"


class Family:
    """The functions of one type set."""

    def __init__(self, texts: Texts, types: dict[str, np.dtype[Any]]) -> None:
        self.texts = texts
        self._ctypes_in = [c_type(each.type_in(types)) for each in texts.inputs]
        self._ctypes_out = [c_type(each.type_in(types)) for each in texts.outputs]
        self.dtypes_in = [each.type_in(types) for each in texts.inputs]
        self.dtypes_out = [each.type_in(types) for each in texts.outputs]
        self._header = self._write_header(types)
        self._define = self._definer()
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

    def _definer(self) -> Callable[..., Function]:
        """What defines functions that share the header. Sources are compiled once, by a module."""
        texts = self.texts
        if not texts.options.get("sources"):
            return functools.partial(_cwrapjit.function, header=self._header.text)
        shared = {key: value for key, value in texts.options.items() if key in _MODULES}
        try:
            return _cwrapjit.module(texts.name, "", self._header.text, **shared).function
        except CompileError as error:
            self._header.restore(error)
            raise

    def _write_header(self, types: dict[str, np.dtype[Any]]) -> Header:
        texts, header = self.texts, Header(self.texts.name)
        for letter, dtype in types.items():
            header.own(f"typedef {c_type(dtype)} {letter};")
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

    def _write_map(self, header: Header) -> None:
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

    def _write_post(self, header: Header) -> None:
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
        if options.get("sources"):
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
