"""Writes a trace as a C file and its header, which need neither Python nor NumPy.

Kernels become loops around their text. Calls between kernels run on stand-ins for arrays (Array): views
compute offsets and strides, others write loops. What a stand-in does not know has no form in C."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cwrapjit._words import KEYWORDS
from cwrapjit.tracing import ops
from cwrapjit.tracing.jit import Arguments, Jitted
from cwrapjit.tracing.kernel import Text
from cwrapjit.tracing.loops import Loop, LoopText
from cwrapjit.tracing.plan import Group, Planner
from cwrapjit.tracing.shapes import scattered
from cwrapjit.tracing.values import CONST, NUMBER, Trace, Traced, users_line

EXTREMES = """\
#define npy_maximum(a, b) ((a) > (b) || (a) != (a) ? (a) : (b))
#define npy_minimum(a, b) ((a) < (b) || (a) != (a) ? (a) : (b))
"""
# Warnings about text that serves all types.
QUIET = """\
#ifdef __GNUC__
#pragma GCC diagnostic ignored "-Wtype-limits"
#pragma GCC diagnostic ignored "-Wsign-compare"
#endif
"""


def c_type(dtype: np.dtype[Any]) -> str:
    return _plain(ops.c_type(dtype))


def _plain(text: str) -> str:
    """Replaces NumPy's names of types."""
    text = re.sub(r"\bnpy_(u?int(?:8|16|32|64))\b", r"\1_t", text)
    return text.replace("npy_intp", "ptrdiff_t").replace("_Bool", "bool")


def _told(length: str) -> str:
    """Returns the parameter for a length."""
    return f"le{length}" if length[0] == "n" else length


class Array:
    """What stands for an array in a call: a pointer, an offset, and lengths and strides as C text.

    number: the C text of an array without dims, in place of a pointer."""

    def __init__(
        self,
        pointer: str,
        dims: Sequence[str],
        dtype: np.dtype[Any],
        strides: Sequence[str] | None = None,
        offset: str = "0",
        number: str = "",
    ) -> None:
        self.pointer, self.dims, self.dtype, self.offset, self.number = (
            pointer,
            list(dims),
            dtype,
            offset,
            number,
        )
        self.is_whole = strides is None
        rest = [" * ".join(dims[k + 1 :]) or "1" for k in range(len(dims))]
        self.strides = rest if strides is None else list(strides)

    def at(self, indices: Sequence[str]) -> str:
        """Returns an element. The array is broadcast to the indices."""
        if self.number:
            return self.number
        used = indices[len(indices) - len(self.dims) :]
        terms = [self.offset] if self.offset != "0" else []
        for index, length, stride in zip(used, self.dims, self.strides, strict=True):
            if length != "1" and index != "0":
                terms.append(index if stride == "1" else f"{index} * ({stride})")
        return f"{self.pointer}[{' + '.join(terms) or '0'}]"

    def __getitem__(self, key: Any) -> Array:
        items = list(key) if isinstance(key, tuple) else [key]
        if Ellipsis in items:
            at = items.index(Ellipsis)
            missing = len(self.dims) - sum(k is not None and k is not Ellipsis for k in items)
            items[at : at + 1] = [slice(None)] * missing
        dims, strides, offset, axis = [], [], self.offset, 0
        for item in items:
            if item is None:
                dims.append("1")
                strides.append("0")
                continue
            length, stride = self.dims[axis], self.strides[axis]
            axis += 1
            if not isinstance(item, slice):
                begin = f"{item}" if item >= 0 else f"({length} - {-item})"
            elif item.start is None and item.stop is None and item.step in (None, 1):
                dims.append(length)
                strides.append(stride)
                continue
            elif item.start is None and item.stop is None and item.step == -1:
                begin = f"({length} - 1)"
                dims.append(length)
                strides.append(f"-({stride})")
            else:
                known = range(*item.indices(int(length)))
                begin = f"{known.start}"
                dims.append(str(len(known)))
                strides.append(f"{known.step} * ({stride})")
            offset = f"{offset} + {begin} * ({stride})"
        if self.number:
            return Array("", dims, self.dtype, strides, number=self.number)
        return Array(self.pointer, dims, self.dtype, strides, offset)

    def transpose(self, order: Sequence[int]) -> Array:
        dims, strides = ([each[k] for k in order] for each in (self.dims, self.strides))
        return Array(self.pointer, dims, self.dtype, strides, self.offset, self.number)


class Number(Array):
    """What stands for a Python number, or a length."""

    def __init__(self, text: str, dtype: Any = np.int64) -> None:
        super().__init__("", (), np.dtype(dtype), number=text)

    def _made(self, sign: str, other: Any) -> Number:
        text, dtype = (
            (other.number, other.dtype) if isinstance(other, Number) else (repr(other), np.dtype(type(other)))
        )
        return Number(f"({self.number} {sign} {text})", np.result_type(self.dtype, dtype))

    def __add__(self, other: Any) -> Number:
        return self._made("+", other)

    def __sub__(self, other: Any) -> Number:
        return self._made("-", other)

    def __mul__(self, other: Any) -> Number:
        return self._made("*", other)

    def __neg__(self) -> Number:
        return Number(f"(-{self.number})", self.dtype)


class _Given:
    """What stands for an argument where a call asks for its lengths."""

    def __init__(self, dims: Sequence[str]) -> None:
        self.shape = [Number(f"((int64_t){n})") for n in dims]


class Writer:
    """Writes the function `name` for a trace."""

    def __init__(
        self, name: str, labels: Sequence[str], trace: Trace, inputs: Sequence[Traced], result: Any
    ) -> None:
        self.name, self.trace = name, trace
        self.body: list[str] = []
        self.tables: list[str] = []
        self.memory: list[tuple[str, str, str]] = []  # a type, a name, a number of elements
        self.can_fail = False
        self.arrays: dict[int, Any] = {}
        lengths = (
            {}
            if trace.is_exact
            else {n: "" for v in inputs for n in v._dims if n > 1 and n not in trace.literals}
        )
        self.lengths = {n: f"n{k}" for k, n in enumerate(lengths)}
        self.parameters: list[tuple[str, str]] = []  # declarations and what they are
        self.givens: dict[str, Any] = {}
        for k, (value, label) in enumerate(zip(inputs, labels, strict=True)):
            self._input(f"in{k}", value, label)
        self.parameters += [(f"size_t {_told(n)}", "a length") for n in self.lengths.values()]
        outputs = _leaves(trace, result)
        self.places: dict[int, Array] = {}
        results = []
        for k, value in enumerate(outputs):
            place = Array(f"out{k}", self._dims(value._dims), value.dtype)
            self.parameters.append((f"{self._type(value)} *{place.pointer}", f"a result{self._shown(place)}"))
            results.append(place)
            self.places.setdefault(value.id, place)
        steps = self._needed(outputs)
        for step, made, text in steps:
            self._kernel(text, made) if text is not None else self._call(step)
        for value, place in zip(outputs, results, strict=True):
            if self.arrays.get(value.id) is not place:
                self._copy(self._array(value), place)

    # ---- values --------------------------------------------------------------------------------------

    def _refuse(self, value: Traced, why: str) -> Any:
        line = users_line(value._place) if value._place else ""
        raise TypeError(f"jit: {self.trace.name}(): write(): {why}{line}") from None

    def _type(self, value: Traced) -> str:
        if not ops.has_c_type(value.dtype):
            self._refuse(value, f"dtype {value.dtype} has no C type here")
        return c_type(value.dtype)

    def _shown(self, array: Array) -> str:
        dims = ", ".join(map(_told, array.dims)) + "," * (len(array.dims) == 1)
        return f", shape ({dims})" if dims else ""

    def _dims(self, dims: Sequence[int]) -> list[str]:
        return [self.lengths.get(n, str(n)) for n in dims]

    def _input(self, name: str, value: Traced, label: str) -> None:
        kind = self._type(value)
        if 0 in value._dims:
            self._refuse(value, f"{label}: an example without elements")
        if value._dims:
            made = Array(name, self._dims(value._dims), value.dtype)
            self.parameters.append((f"const {kind} *{name}", f"{label}{self._shown(made)}"))
        else:
            made = Number(name, value.dtype)
            self.parameters.append((f"{kind} {name}", label))
        self.arrays[value.id] = made
        self.givens[value._name] = _Given(made.dims)

    def _array(self, value: Traced) -> Any:
        if value._kind == NUMBER:
            return Number(f"(({self._type(value)}){self._array(value._args[0]).number})", value.dtype)
        if value._kind == CONST and value.id not in self.arrays:
            self.arrays[value.id] = self._constant(value)
        return self.arrays[value.id]

    def _constant(self, value: Traced) -> Array:
        kind, given = self._type(value), value._params[0]
        if not value._dims:
            return Number(_plain(ops.literal(given, value.dtype)), value.dtype)
        texts = ", ".join(_plain(ops.literal(v, value.dtype)) for v in np.ravel(given))
        self.tables.append(f"static const {kind} k{value.id}[] = {{{texts}}};")
        return Array(f"k{value.id}", self._dims(value._dims), value.dtype)

    def _new(self, dims: Sequence[str], dtype: np.dtype[Any], value: Traced | None = None) -> Array:
        """Returns memory for a value: a result's, if it is one."""
        if value is not None and value.id in self.places:
            return self.places[value.id]
        name = f"t{len(self.memory)}"
        self.memory.append((c_type(dtype), name, " * ".join(f"(size_t){n}" for n in dims)))
        return Array(name, dims, dtype)

    # ---- steps ---------------------------------------------------------------------------------------

    def _needed(self, outputs: Sequence[Traced]) -> list[tuple[Any, list[Traced], Text | None]]:
        """Returns the steps with the values that others need of them, and the text of kernels."""
        needed = {v.id for v in outputs}
        steps: list[tuple[Any, list[Traced], Text | None]] = []
        for step in reversed(Planner(outputs).steps):
            members = step.values if isinstance(step, Group) else [step]
            made = [v for v in members if v.id in needed]
            if made:
                text = Text(step, made) if isinstance(step, Group) else None
                used = [o.value for o in text.operands.values()] if text else made[0]._args
                needed |= {(v._args[0] if v._kind == NUMBER else v).id for v in used}
                steps.append((step, made, text))
        return steps[::-1]

    def _kernel(self, text: Text, made: Sequence[Traced]) -> None:
        dims = self._dims(text.group.space)
        outer, row = (dims[:-1], dims[-1]) if text.of_rows else (dims, "1")
        operands = {name: self._array(o.value) for name, o in text.operands.items()}
        for v in made:
            self.arrays[v.id] = operands[f"y{v.id}"] = self._new(self._dims(v._dims), v.dtype, v)
        rows = {f"y{v.id}" for v in made if v.id in text.group.rows} | {
            name for name, o in text.operands.items() if text.of_rows and o.dims == ""
        }
        self._loops(outer, lambda at: [self._text(text.body, operands, at, row, rows, text.of_rows)])

    def _scan(self, loop: Loop, text: LoopText, *given: Array) -> Any:
        operands = dict(zip(text.operands, given, strict=True))
        dims, (row,) = self._dims(loop.dims), given[loop.carried].dims[-1:]
        rows = {name for name, o in text.operands.items() if o.dims == ""}
        made = []
        for (name, has_steps), v in zip(text.outputs, loop.results, strict=True):
            made.append(self._new([*dims, row] if has_steps else dims, v.dtype))
            operands[name] = made[-1]
            rows |= set() if has_steps else {name}
        self._loops(dims, lambda at: [self._text(text.body, operands, at, row, rows, True)])
        return made[0] if len(made) == 1 else tuple(made)

    def _text(
        self, body: str, operands: dict[str, Any], at: Sequence[str], row: str, rows: set[str], of_rows: bool
    ) -> str:
        """Returns a kernel's text for C: its operands are elements of arrays."""

        def item(match: re.Match[str]) -> str:
            name, index = match[1], match[2]
            text: str = operands[name].at([*at, index] if of_rows and name not in rows else at)
            return text

        if "PyErr_NoMemory" in body:
            self.can_fail = True
        text = re.sub(r"item__(\w+)\((\w*) ?\)", item, body.replace("( ", "("))
        text = re.sub(r"dims_slice__\w+\[0\]", row, text)
        text = text.replace("{ PyErr_NoMemory(); return false; }", "goto failed;")
        return _plain(text.replace("return true;", "").rstrip())

    def _call(self, value: Traced) -> None:
        if value.dtype != object:  # the tuple of a scan()
            self._type(value)
        names = {
            "v": [self._array(arg) for arg in value._args],
            "k": [self._param(value, param) for param in value._params],
            "np": _NumPy(self, value),
            **self.givens,
        }
        arguments = [f"v[{k}]" for k in range(len(value._args))]
        text = value._name.format(*arguments, k=[f"k[{k}]" for k in range(len(value._params))])
        text = re.sub(r"(v\[\d+\])\.reshape\(", r"np.reshape(\1, ", text)
        try:
            self.arrays[value.id] = eval(text, names)
        except (AttributeError, TypeError):  # the stand-ins do not have it
            shown = [getattr(param, "__name__", "") for param in value._params]
            what = value._name.format(*arguments, k=shown).partition("(")[0]
            self._refuse(value, f"{what or 'an operator on Python numbers'} has no form in C")

    def _param(self, value: Traced, param: Any) -> Any:
        if param is scattered:
            return functools.partial(self._scatter, value)
        if not isinstance(param, Loop):
            return param
        text = param.text
        if text is None:
            self._refuse(value, "a scan() whose steps are not elementwise has no form in C")
            return None
        return functools.partial(self._scan, param, text)

    def _scatter(self, value: Traced, x: Array, dims: tuple[int, ...], items: tuple[Any, ...]) -> Array:
        made = self._new(self._dims(dims), value.dtype, value)
        self._loops(made.dims, lambda at: [f"{made.at(at)} = 0;"])
        self._copy(x, made[items])
        return made

    # ---- loops ---------------------------------------------------------------------------------------

    def _loops(self, dims: Sequence[str], inside: Callable[[list[str]], list[str]], first: int = 0) -> None:
        self.body += self._nest(dims, inside, first)

    def _nest(
        self, dims: Sequence[str], inside: Callable[[list[str]], list[str]], first: int = 0
    ) -> list[str]:
        at = [f"j{first + k}" for k in range(len(dims))]
        heads = [
            f"for (ptrdiff_t {j} = 0; {j} < {n}; {j}++) {{" for j, n in zip(at, dims, strict=True) if n != "1"
        ]
        used = [j if n != "1" else "0" for j, n in zip(at, dims, strict=True)]
        return ["{", *heads, *inside(used), "}" * (len(heads) + 1)]

    def _copy(self, source: Array, target: Array) -> None:
        self._loops(target.dims, lambda at: [f"{target.at(at)} = {source.at(at)};"])

    # ---- the files -----------------------------------------------------------------------------------

    def texts(self) -> tuple[str, str]:
        """Returns the texts of the C file and of the header."""
        self.can_fail |= any(count for _, _, count in self.memory)
        kind = "int" if self.can_fail else "void"
        declared = ",\n    ".join(declaration for declaration, _ in self.parameters) or "void"
        prototype = f"{kind} {self.name}(\n    {declared})"
        told = "\n".join(f" * {d.split()[-1].lstrip('*')}: {what}" for d, what in self.parameters)
        ends = "Returns 0, or -1 without memory." if self.can_fail else ""
        guard = f"{self.name.upper()}_H"
        header = (
            f"/* {self.name}: {self.trace.name}(), written by cwrapjit. Arrays are contiguous,\n"
            f" * in C's order, and results do not overlap with arguments. {ends}\n *\n{told} */\n"
            f"#ifndef {guard}\n#define {guard}\n\n"
            "#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n\n"
            '#ifdef __cplusplus\nextern "C" {\n#endif\n\n'
            f"{prototype};\n\n#ifdef __cplusplus\n}}\n#endif\n\n#endif\n"
        )
        body = "\n".join(self.body)
        extra = EXTREMES if "npy_m" in body else ""
        if "cwj_" in body:
            found = Path(__file__).parents[1] / "include" / "cwj_arithmetic.h"
            extra += _plain(found.read_text(encoding="utf-8"))
        lasting = [(t, n, c) for t, n, c in self.memory if c]
        lines = [f"    {t} {n}[1];" for t, n, c in self.memory if not c]
        lines += [f"    {t} *{n} = NULL;" for t, n, _ in lasting]
        if self.can_fail:
            lines.append("    int code = -1;")
        lines += [
            f"    if (({n} = malloc(({c} + 1) * sizeof *{n})) == NULL)\n        goto failed;"
            for _, n, c in lasting
        ]
        used = set(re.findall(r"\w+", body + " ".join(c for _, _, c in lasting)))
        begin = [
            f"    const ptrdiff_t {n} = (ptrdiff_t){_told(n)};" for n in self.lengths.values() if n in used
        ]
        names = [declaration.split()[-1].lstrip("*") for declaration, _ in self.parameters]
        begin += [f"    (void){name};" for name in names if name not in used]
        lines = [*begin, *lines, body]
        if self.can_fail:
            lines += [
                "    code = 0;",
                "failed:",
                *(f"    free({n});" for _, n, _ in lasting),
                "    return code;",
            ]
        tables = "\n".join(self.tables)
        source = (
            f'#include "{self.name}.h"\n\n#include <math.h>\n#include <stdlib.h>\n\n'
            f"{QUIET}\n{extra}\n{tables}\n{prototype}\n{{\n" + "\n".join(lines) + "\n}\n"
        )
        return source, header


class _NumPy:
    """What stands for NumPy in calls."""

    def __init__(self, writer: Writer, value: Traced) -> None:
        self._writer, self._value = writer, value
        for name, reduction in ops.REDUCTIONS.items():
            setattr(self, reduction.ufunc.__name__, _Reduction(self, name))

    def _new(self) -> Array:
        v = self._value
        return self._writer._new(self._writer._dims(v._dims), v.dtype, v)

    def _reduced(self, name: str, x: Array, axis: Any, keepdims: bool, divide: str = "") -> Array:
        ndim = len(x.dims)
        given = range(ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        axes = {k % ndim for k in given}
        made, writer = self._new(), self._writer
        kind, dtype = c_type(made.dtype).replace("float", "double"), made.dtype  # as in kernels
        kept = [k for k in range(ndim) if k not in axes]
        add = ops.REDUCTIONS[name].add

        def inside(at: list[str]) -> list[str]:
            places = dict(zip(kept, at, strict=True))

            def inner(within: list[str]) -> list[str]:
                both = {**places, **dict(zip(sorted(axes), within, strict=True))}
                item = x.at([both[k] for k in range(ndim)])
                return [_plain(add.format(a="sum", v=f"({kind}){item}" if divide else item))]

            out = made.at([places.get(k, "0") for k in range(ndim)] if keepdims else at)
            return [
                f"{kind} sum = {_plain(ops.first_of(name, dtype))};",
                *writer._nest([x.dims[k] for k in sorted(axes)], inner, len(kept)),
                f"{out} = ({c_type(dtype)})(sum{divide});",
            ]

        writer._loops([x.dims[k] for k in kept], inside)
        return made

    def mean(self, x: Array, axis: Any = None, keepdims: bool = False) -> Array:
        axes = range(len(x.dims)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        count = " * ".join(f"({c_type(self._value.dtype)}){x.dims[k]}" for k in axes)
        return self._reduced("sum", x, axis, keepdims, f" / ({count})")

    def matmul(self, a: Array, b: Array) -> Array:
        made, kind = self._new(), c_type(self._value.dtype)
        rows, columns = len(a.dims) > 1, len(b.dims) > 1
        sign, times = ("|=", "&&") if kind == "bool" else ("+=", "*")

        def inside(at: list[str]) -> list[str]:
            batch = at[: len(at) - rows - columns]
            left = [*batch, *at[len(batch) : len(batch) + rows], "k"]
            right = [*batch, "k", *at[len(at) - columns :]] if columns else [*batch, "k"]
            product = f"({kind}){a.at(left)} {times} ({kind}){b.at(right)}"
            loop = f"for (ptrdiff_t k = 0; k < {a.dims[-1]}; k++)"
            return [f"{kind} sum = 0;", loop, f"sum {sign} {product};", f"{made.at(at)} = sum;"]

        self._writer._loops(made.dims, inside)
        return made

    def full(self, shape: Any, number: Array, dtype: Any) -> Array:
        return Array(
            "",
            self._writer._dims(self._value._dims),
            np.dtype(dtype),
            number=f"(({c_type(dtype)}){number.at(())})",
        )

    def reshape(self, x: Array, shape: Sequence[int]) -> Array:
        if not x.is_whole or x.number:
            copy = self._writer._new(x.dims, x.dtype)
            self._writer._copy(x, copy)
            x = copy
        return Array(x.pointer, [str(n) for n in shape], x.dtype)

    def concatenate(self, arrays: Sequence[Array], axis: int) -> Array:
        made, before = self._new(), 0
        for each in arrays:
            part = slice(before, before + int(each.dims[axis]))
            self._writer._copy(each, made[(slice(None),) * axis + (part, ...)])
            before = part.stop
        return made

    def stack(self, arrays: Sequence[Array], axis: int) -> Array:
        made = self._new()
        for k, each in enumerate(arrays):
            self._writer._copy(each, made[(slice(None),) * axis + (k, ...)])
        return made

    def _cumulated(self, x: Array, axis: int, first: str, sign: str) -> Array:
        made, kind = self._new(), c_type(self._value.dtype)
        others = [n for k, n in enumerate(x.dims) if k != axis]

        def inside(at: list[str]) -> list[str]:
            place = [*at[:axis], "k", *at[axis:]]
            loop = f"for (ptrdiff_t k = 0; k < {x.dims[axis]}; k++)"
            return [f"{kind} sum = {first};", f"{loop} {made.at(place)} = sum {sign} ({kind}){x.at(place)};"]

        self._writer._loops(others, inside)
        return made

    def cumsum(self, x: Array, axis: int, dtype: Any) -> Array:
        return self._cumulated(x, axis, "0", "+=")

    def cumprod(self, x: Array, axis: int, dtype: Any) -> Array:
        return self._cumulated(x, axis, "1", "*=")


class _Reduction:
    def __init__(self, numpy: _NumPy, name: str) -> None:
        self._numpy, self._name = numpy, name

    def reduce(self, x: Array, axis: Any = None, keepdims: bool = False) -> Array:
        return self._numpy._reduced(self._name, x, axis, keepdims)


def _leaves(trace: Trace, result: Any) -> list[Traced]:
    """Returns the traced values of a result: its constants, too."""
    if isinstance(result, (tuple, list, dict)):
        parts = result.values() if isinstance(result, dict) else result
        return [leaf for part in parts for leaf in _leaves(trace, part)]
    return [] if result is None else [trace.value(result, "write")]


def write(f: Jitted[..., Any], name: str, examples: Sequence[Any], folder: str | os.PathLike[str]) -> None:
    """Writes the files of a jitted function."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) or name in KEYWORDS:
        raise ValueError(f"jit: {f.__name__}(): write(): name: {name!r} is no name of a C function")
    bound = f.__signature__.bind(*examples)
    bound.apply_defaults()
    labels = []
    for (label, value), is_static in zip(bound.arguments.items(), f._static, strict=True):
        labels += [label] * len(Arguments([value], [is_static]).leaves)
    texts = f._trace(list(bound.arguments.values()), lambda *trace: Writer(name, labels, *trace).texts())
    for text, ending in zip(texts, ("c", "h"), strict=True):
        Path(folder, f"{name}.{ending}").write_text(text, encoding="utf-8")
