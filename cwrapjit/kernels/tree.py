"""Writes the C text of a reduction: one fixed tree over numbered items, in forms for different layouts.

A row of n items is cut into leaves of 128. In a leaf, item k belongs to lane k % 16. Each lane combines its
items in order; then the lanes are folded, the second half onto the first, until one is left. A last leaf of
less than 16 items is one lane. Leaves are combined as a binary counter counts, so that operations join
results of about the same number of items. All forms do these operations for each output, in the same order:
results have the same bits for each layout, tier and number of threads.

"one" makes one output from the items of an axis, the others several that lie side by side: "flat" if all
items are in one line, "rows" if each row of them is, "wide" if such rows are long. If several axes make one
row, a table has the place of each item ("tabled")."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

LANES, LEAF, LEVELS = 16, 128, 8
ROW = LEAF << (LEVELS - 1)  # the most items for one call of a function
_BYTES = {"flat": 512, "rows": 512, "wide": 8192}  # of accumulators side by side
_PENDING = 5  # lanes that are kept at a time if they are made in the order of the folds
MOST_BYTES = 1024  # of an accumulator
# gcc unrolls short loops completely before it vectorises, and then does not vectorise conditionals.
_IN_VECTORS = ("#ifdef CWJ_GCC", "#pragma GCC unroll 1", "#endif")
# Keeps gcc from exchanging or merging loops: reading memory in order is up to twice as fast.
_IN_ORDER = ("#ifdef CWJ_GCC", '__asm__ volatile("");', "#endif")


class Input(NamedTuple):
    """An operand that the tree reads."""

    name: str
    ctype: str
    scalar: bool = False  # the same for all items


class Form(NamedTuple):
    kind: str
    unit: bool = False  # True: lines have no gaps


def width(size: int, kind: str) -> int:
    """Returns how many outputs are computed at once. size: bytes of an accumulator."""
    return 1 if kind == "one" else max(1, _BYTES[kind] // size)


def dims(form: Form, axes: int) -> tuple[str, ...]:
    """Returns the core dims of an input: those of the row, then the outputs side by side."""
    row = tuple(f"n{axis}" for axis in range(axes)) if axes > 1 else ("n",)
    return row if form.kind == "one" else (*row, "m")


def _item(operand: Input, form: Form, axes: int, row: str, column: str) -> str:
    """Returns an item of an input in C. In "one" and "flat", the column's number includes the row."""
    name = operand.name
    if operand.scalar:
        return f"item__{name}()"
    ctype = "npy_uint8" if operand.ctype == "_Bool" else operand.ctype  # a byte of a bool may have any value
    start = f"(const char *)data_slice__{name}"
    if form.kind == "one":
        row, column = column, "0"
    if axes > 1:
        start += f" + item__cwr_at_{name}({row})"
    elif form.kind != "flat":
        start += f" + ({row}) * strides_slice__{name}[0]"
    if not form.unit and form.kind != "one":
        start, column = f"{start} + ({column}) * strides_slice__{name}[{axes}]", "0"
    return f"(((const {ctype} *)({start}))[{column}])"


class Body:
    """The text of a slice. It leaves its results in cwr_v[0] to cwr_v[cwr_m - 1]."""

    def __init__(
        self, form: Form, size: int, inputs: Iterable[Input], extra: str | None, axes: int = 1
    ) -> None:
        """extra: further arguments of cwr_map; None: the items are partial results, and not mapped."""
        self._form, self._inputs, self._extra, self._axes = form, tuple(inputs), extra, axes
        self._width, self._one = width(size, form.kind), form.kind == "one"
        self._blocks = form.kind in ("rows", "wide")  # of as many outputs as the width
        # Lanes larger than a vector, with gaps: a leaf is then read in parts, nearly in memory order.
        self._apart = self._one and not form.unit and axes == 1 and size >= 8

    def _mapped(self, row: str, column: str, number: str) -> str:
        """Returns the mapped value of an item."""
        items = [_item(operand, self._form, self._axes, row, column) for operand in self._inputs]
        if self._extra is None:
            return items[0]
        return f"cwr_map({', '.join(items)}{self._extra.format(number=number, column=column)})"

    def _value(self, row: str, column: str = "cwr_t") -> str:
        """Returns a mapped value of the present leaf: item `row`, and `column` items further."""
        if not self._blocks:
            number = f"cwr_base + {row} + {column} / cwr_m"
            return self._mapped("", f"(cwr_base + {row}) * cwr_m + {column}", number)
        row = f"cwr_base + {row} + cwr_j"
        return self._mapped(row, f"cwr_k + {column}", row)

    def _over(self, rows: str, statement: str) -> Iterator[str]:
        """Loops over all items of that many rows, that is, lanes."""
        if self._blocks:
            yield f"for (npy_intp cwr_j = 0; cwr_j < {rows}; cwr_j++)"
            yield "    for (npy_intp cwr_t = 0; cwr_t < cwr_m; cwr_t++)"
            statement = statement.replace("cwr_v[cwr_t]", "cwr_v[cwr_j * cwr_m + cwr_t]")
            yield f"        {statement}"
        else:
            yield f"for (npy_intp cwr_t = 0; cwr_t < ({rows}) * cwr_m; cwr_t++)"
            yield f"    {statement}"

    def _chain(self) -> Iterator[str]:
        """Combines less than 16 items, one after the other."""
        if self._blocks:
            first = self._mapped("cwr_base", "cwr_k + cwr_t", "cwr_base")
            more = self._mapped("cwr_base + cwr_i", "cwr_k + cwr_t", "cwr_base + cwr_i")
        else:
            first = self._mapped("", "cwr_base * cwr_m + cwr_t", "cwr_base")
            more = self._mapped("", "(cwr_base + cwr_i) * cwr_m + cwr_t", "cwr_base + cwr_i")
        yield "for (npy_intp cwr_t = 0; cwr_t < cwr_m; cwr_t++) {"
        yield f"    cwr_acc cwr_s = {first};"
        yield "    for (npy_intp cwr_i = 1; cwr_i < cwr_r; cwr_i++)"
        yield f"        cwr_s = cwr_reduce(cwr_s, {more});"
        yield "    cwr_v[cwr_t] = cwr_s;"
        yield "}"

    def _sums(self, lane: str, begin: int = 0, end: int = LEAF) -> Iterator[str]:
        """Combines the items of a lane of a whole leaf; for several outputs, also the lane folded onto it."""
        names, half = ("cwr_s",) if self._one else ("cwr_s", "cwr_u"), LANES // 2
        for row, (k, name) in itertools.product(range(begin, end, LANES), enumerate(names)):
            value = self._value(str(row + k * half))
            if row == begin:
                yield f"cwr_acc {name} = {f'cwr_reduce({lane}, {value})' if begin else value};"
            else:
                yield f"{name} = cwr_reduce({name}, {value});"
        yield f"{lane} = {'cwr_s' if self._one else 'cwr_reduce(cwr_s, cwr_u)'};"

    def _leaf_at_once(self) -> Iterator[str]:
        """Makes all lanes, and then folds them."""
        of_one, made = (_IN_VECTORS, LANES) if self._one else ((), LANES // 2)
        if self._form.kind != "flat":
            yield f"if (cwr_r == {LEAF}) {{"
            lane = f"cwr_v[{'cwr_j * cwr_m + cwr_t' if self._blocks else 'cwr_t'}]"
            part = LEAF // 4 if self._apart else LEAF
            for begin in range(0, LEAF, part):
                yield from self._over(str(made), "{")
                yield from ("    " + line for line in self._sums(lane, begin, begin + part))
                yield "}"
            yield from self._folds(made // 2, of_one)
            yield "} else {"
        yield "npy_intp cwr_g = 0;"
        yield from self._over(str(LANES), f"cwr_v[cwr_t] = {self._value('0')};")
        more = f"cwr_v[cwr_t] = cwr_reduce(cwr_v[cwr_t], {self._value('cwr_g')});"
        yield f"for (cwr_g = {LANES}; cwr_g + {LANES} <= cwr_r; cwr_g += {LANES}) {{"
        yield from (*_IN_ORDER, *of_one)
        yield from ("    " + line for line in self._over(str(LANES), more))
        yield "}"
        yield from self._over("cwr_r - cwr_g", more)
        yield from self._folds(LANES // 2)
        yield "}" if self._form.kind != "flat" else ""

    @staticmethod
    def _folds(half: int, in_front: Sequence[str] = ()) -> Iterator[str]:
        while half:
            yield from in_front
            yield f"for (npy_intp cwr_t = 0; cwr_t < {half} * cwr_m; cwr_t++)"
            yield f"    cwr_v[cwr_t] = cwr_reduce(cwr_v[cwr_t], cwr_v[cwr_t + {half} * cwr_m]);"
            half //= 2

    def _leaf_by_lanes(self) -> Iterator[str]:
        """Makes and folds two lanes at a time, in the order of the folds. As few lanes are kept, there can be
        many outputs, and memory is read in long runs."""
        half = LANES // 2
        over = "for (npy_intp cwr_t = 0; cwr_t < cwr_m; cwr_t++)"
        yield "cwr_acc *cwr_to = cwr_v;"
        yield f"for (npy_intp cwr_q = 0; cwr_q < {half}; cwr_q++, cwr_to += cwr_m) {{"
        yield "const npy_intp cwr_j = (cwr_q & 1) * 4 + (cwr_q & 2) + cwr_q / 4; /* its bits, backwards */"
        yield f"if (cwr_r == {LEAF}) {{"
        yield f"    {over} {{"
        yield from ("        " + line for line in self._sums("cwr_to[cwr_t]"))
        yield "    }"
        yield "} else {"
        yield f"    for (npy_intp cwr_h = 0; cwr_h < {LANES}; cwr_h += {half}) {{"
        yield "        cwr_acc *const cwr_lane = cwr_h ? cwr_to + cwr_m : cwr_to;"
        yield f"        {over}"
        yield f"            cwr_lane[cwr_t] = {self._value('cwr_h')};"
        yield f"        for (npy_intp cwr_g = cwr_h + {LANES}; cwr_g + cwr_j < cwr_r; cwr_g += {LANES})"
        yield f"            {over}"
        yield f"                cwr_lane[cwr_t] = cwr_reduce(cwr_lane[cwr_t], {self._value('cwr_g')});"
        yield "    }"
        yield f"    {over}"
        yield "        cwr_to[cwr_t] = cwr_reduce(cwr_to[cwr_t], cwr_to[cwr_m + cwr_t]);"
        yield "}"
        yield "for (npy_intp cwr_c = cwr_q; cwr_c & 1; cwr_c >>= 1) {"
        yield "    cwr_to -= cwr_m;"
        yield f"    {over}"
        yield "        cwr_to[cwr_t] = cwr_reduce(cwr_to[cwr_t], cwr_to[cwr_m + cwr_t]);"
        yield "}"
        yield "}"

    def _leaves(self) -> Iterator[str]:
        """Combines the leaves of a row that has more than one lane."""
        yield f"cwr_acc cwr_stack[{LEVELS * self._width}];"
        yield "npy_intp cwr_top = 0, cwr_leaf = 0;"
        yield f"for (npy_intp cwr_base = 0; cwr_base < cwr_n; cwr_base += {LEAF}, cwr_leaf++) {{"
        inner = [f"npy_intp cwr_r = cwr_n - cwr_base < {LEAF} ? cwr_n - cwr_base : {LEAF};"]
        inner += [f"if (cwr_r < {LANES}) {{", *self._chain(), "} else {"]
        inner += [*(self._leaf_by_lanes() if self._form.kind == "wide" else self._leaf_at_once()), "}"]
        inner += [
            "for (npy_intp cwr_c = cwr_leaf; cwr_c & 1; cwr_c >>= 1) {",
            "cwr_top--;",
            *self._pop(),
            "}",
        ]
        inner += ["if (cwr_base + cwr_r < cwr_n) {"]
        inner += ["    for (npy_intp cwr_t = 0; cwr_t < cwr_m; cwr_t++)"]
        inner += ["        cwr_stack[cwr_top * cwr_m + cwr_t] = cwr_v[cwr_t];"]
        inner += ["    cwr_top++;", "}"]
        yield from ("    " + line for line in inner)
        yield "}"
        yield "while (cwr_top) {"
        yield "    cwr_top--;"
        yield from ("    " + line for line in self._pop())
        yield "}"

    @staticmethod
    def _pop() -> Iterator[str]:
        yield "for (npy_intp cwr_t = 0; cwr_t < cwr_m; cwr_t++)"
        yield "    cwr_v[cwr_t] = cwr_reduce(cwr_stack[cwr_top * cwr_m + cwr_t], cwr_v[cwr_t]);"

    def lines(self, main: str, end: str) -> Iterator[str]:
        """Yields the slice. main: an input with all dims; end: stores cwr_v[cwr_t] as output {column}."""
        rows = f"cwr_at_{main}" if self._axes > 1 else main
        yield f"const npy_intp cwr_n = dims_slice__{rows}[0];"
        yield f"cwr_acc cwr_v[{(_PENDING if self._form.kind == 'wide' else LANES) * self._width}];"
        if self._one:
            yield "enum { cwr_m = 1 };"
        elif not self._blocks:
            yield f"const npy_intp cwr_m = dims_slice__{main}[1];"
        else:
            yield f"const npy_intp cwr_all = dims_slice__{main}[{self._axes}];"
            yield f"for (npy_intp cwr_k = 0; cwr_k < cwr_all; cwr_k += {self._width}) {{"
            yield f"const npy_intp cwr_m = cwr_all - cwr_k < {self._width} ? cwr_all - cwr_k : {self._width};"
        yield f"if (cwr_n < {LANES}) {{"
        yield "    enum { cwr_base = 0 };"
        yield "    const npy_intp cwr_r = cwr_n;"
        yield from ("    " + line for line in self._chain())
        yield "} else {"
        yield from ("    " + line for line in self._leaves())
        yield "}"
        yield "for (npy_intp cwr_t = 0; cwr_t < cwr_m; cwr_t++)"
        yield "    " + end.format(column="cwr_k + cwr_t" if self._blocks else "cwr_t")
        yield "}" if self._blocks else ""
        yield "return 1;"
