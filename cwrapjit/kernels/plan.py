"""How a reduction runs: which functions, on which views of its arrays.

What decides the order of operations looks at the shape alone (`_row`): the last reduced axes that have 256
items, with no kept axis between them, make up rows; if there are none, the last with such axes between. Rows
longer than 16384 items are cut. Each piece is reduced by the tree of tree.py; if there are several, their
results, in C order, are the items of another such reduction. All else here looks at strides, too, and decides
nothing but the form of the loops.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from cwrapjit._cwrapjit import config
from cwrapjit.kernels import tree

_SHORT_ROW = 256
_LINE = 8  # items, outputs side by side are cut into multiples of
_LONG = 8  # items in one line within a row of several axes, which are then read one after the other


class Task:
    """The geometry of a call. Reduced axes of one item are left out of `shape`, which numbers axes."""

    def __init__(
        self,
        shape: tuple[int, ...],
        axes: tuple[int, ...],
        keepdims: bool,
        scalars: tuple[bool, ...],
        values: Sequence[np.ndarray],
    ) -> None:
        self.given_shape, self.given_axes, self.scalars = shape, axes, scalars
        kept = [axis for axis in range(len(shape)) if axis not in axes]
        self.out_shape = tuple(shape[axis] for axis in kept)
        self.result_shape = self.out_shape
        if keepdims:
            self.result_shape = tuple(1 if axis in axes else length for axis, length in enumerate(shape))
        self.nout_items, self.nred_items = prod(self.out_shape), prod(shape[axis] for axis in axes)
        left = [axis for axis in range(len(shape)) if axis not in axes or shape[axis] != 1]
        self.shape = tuple(shape[axis] for axis in left)
        self.kept = [k for k, axis in enumerate(left) if axis not in axes]
        self.reduced = [k for k, axis in enumerate(left) if axis in axes]
        self.strides: list[list[int]] = []  # of the inputs that are arrays
        for scalar, value in zip(scalars, values, strict=True):
            if not scalar:
                strides = _broadcast_strides(value, shape)
                self.strides.append([strides[axis] for axis in left])
        # What makes an input an array of `shape`; None: it is one, or the same for all items, or raw.
        self.ready = [
            None if scalar or value.shape == self.shape else _Aligned(shape, self.shape)
            for scalar, value in zip(scalars, values, strict=True)
        ]

    def numbering(self, outputs: bool = False) -> np.ndarray:
        """Of each axis of the inputs, or of the outputs: whether it is reduced, the distance of its items as
        those of its kind are numbered, its length."""
        steps, rows = [1, 1], []
        for axis in reversed(range(len(self.given_shape))):
            is_reduced, length = int(axis in self.given_axes), max(self.given_shape[axis], 1)
            if not (is_reduced and outputs):
                rows.append((is_reduced, steps[is_reduced], length))
            steps[is_reduced] *= length
        return np.array(rows[::-1] or [(0, 1, 1)], np.int64)


class _Aligned:
    """An input, broadcast to the shape of all, without the reduced axes of one item."""

    __slots__ = ("_left", "_shape")

    def __init__(self, shape: tuple[int, ...], left: tuple[int, ...]) -> None:
        self._shape, self._left = shape, left

    def __call__(self, array: np.ndarray) -> np.ndarray:
        if array.shape != self._shape:
            array = _broadcast(array, self._shape)
        return array if self._left == self._shape else array.reshape(self._left)


def _broadcast(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """As np.broadcast_to, whose checks take longer than a short call."""
    return np.nditer(
        [array], ["multi_index", "zerosize_ok"], [["readonly"]], itershape=shape, order="C"
    ).itviews[0]


def _broadcast_strides(value: np.ndarray, shape: tuple[int, ...]) -> tuple[int, ...]:
    missing = len(shape) - value.ndim
    own = (0 if length == 1 else stride for length, stride in zip(value.shape, value.strides, strict=True))
    return (0,) * missing + tuple(own)


def _row(shape: Sequence[int], reduced: Sequence[int]) -> list[int]:
    """The rule: the axes of a row."""
    row: list[int] = []
    for only_neighbours in (True, False):
        row = []
        for axis in reversed(reduced):
            if only_neighbours and row and row[0] != axis + 1:
                row = []
            row.insert(0, axis)
            if prod(shape[each] for each in row) >= _SHORT_ROW:
                return row
    return row


class _View:
    """Part of an array, its axes in another order, joined and split: never a copy."""

    __slots__ = ("_cut", "_order", "_reorder", "_shape")

    def __init__(
        self, ndim: int, cut: Any, order: Sequence[int], shape: Sequence[int], reorder: Sequence[int]
    ):
        self._cut = cut
        self._order = None if list(order) == list(range(ndim)) else tuple(order)
        self._shape = tuple(shape)
        self._reorder = None if list(reorder) == list(range(len(shape))) else tuple(reorder)

    def __call__(self, array: np.ndarray) -> np.ndarray:
        if self._cut is not None:
            array = array[self._cut]
        if self._order is not None:
            array = array.transpose(self._order)
        if array.shape != self._shape:
            array = array.reshape(self._shape)
        if self._reorder is not None:
            array = array.transpose(self._reorder)
        return array

    def is_whole(self, shape: tuple[int, ...]) -> bool:
        """Is it an array of this shape as it is?"""
        return self._cut is None and self._order is None and self._reorder is None and self._shape == shape


class _Layout:
    """New arrays of a shape whose axes lie as those of the inputs do."""

    def __init__(self, shape: Sequence[int], distances: Sequence[int]) -> None:
        order = sorted(range(len(shape)), key=lambda axis: -distances[axis])
        self._order, self._lengths = order, tuple(shape[axis] for axis in order)
        self._back = None if order == list(range(len(shape))) else np.argsort(order).tolist()

    def strides(self, size: int) -> list[int]:
        steps = _c_strides(self._lengths, size)
        return steps if self._back is None else [steps[k] for k in self._back]

    def new(self, dtype: Any) -> np.ndarray:
        array = np.empty(self._lengths, dtype)
        return array if self._back is None else array.transpose(self._back)

    def new_bytes(self, size: int) -> np.ndarray:
        """Items of that many bytes, along an axis behind the others."""
        array = np.empty((*self._lengths, size), np.uint8)
        return array if self._back is None else array.transpose(*self._back, len(self._back))


class _Stage:
    """One level of the tree: items by position, in; results, or partial results, out.

    Axes are numbered as in `shape`. `strides` and `sizes` belong to the inputs that are arrays, `results` are
    the strides of the outputs, by axis of `shape`; `numbered` texts would divide by the columns of a line.
    """

    def __init__(
        self,
        shape: Sequence[int],
        strides: Sequence[Sequence[int]],
        sizes: Sequence[int],
        reduced: Sequence[int],
        width: int,
        numbered: bool,
        shares: int,
    ) -> None:
        self.shares = shares  # slices that there should be at least
        self.shape, self.strides, self.sizes, self.numbered, self.width = (
            shape,
            strides,
            sizes,
            numbered,
            width,
        )
        self.row = _row(shape, reduced)
        self.outer = [axis for axis in reduced if axis not in self.row]
        # How far the first axis of a row goes in a piece, and from item to item of a row by their numbers.
        self.step = max(1, tree.ROW // prod(shape[axis] for axis in self.row[1:]))
        self.apart = prod(shape[axis] for axis in self.outer if axis > self.row[0])
        self.kept = [axis for axis in range(len(shape)) if axis not in reduced]
        length = shape[self.row[0]] if self.row else 1
        self.pieces = -(-length // self.step) if self.row else 1
        self.parts = prod(shape[axis] for axis in self.outer) * self.pieces

    @property
    def part_layout(self) -> _Layout:
        """How partial results lie: outer axes, pieces, kept axes."""
        axes = [*self.outer, *self.row[:1], *self.kept]
        lengths = [self.shape[axis] for axis in axes]
        distances = [self.distance(axis) for axis in axes]
        if self.row:
            at = len(self.outer)
            lengths[at], distances[at] = self.pieces, distances[at] * self.step
        return _Layout(lengths, distances)

    def boxes(self) -> list[tuple[int, int, int, int]]:
        """What is done at once: which part of the row's first axis, how many pieces of which length."""
        if not self.row:
            return [(0, 1, 1, 1)]
        length = self.shape[self.row[0]]
        whole = length // self.step
        if self.pieces == 1:
            return [(0, length, 1, length)]
        boxes = [(0, whole * self.step, whole, self.step)]
        return boxes + (
            [(whole * self.step, length, 1, length - whole * self.step)] if whole < self.pieces else []
        )

    def joined_row(self, first_length: int) -> list[int]:
        """Lengths of the row's axes, where those that lie in one line in all inputs are one."""
        lengths: list[int] = []
        ends: list[list[int]] = []  # the strides of each joined axis
        for k, axis in enumerate(self.row):
            length = first_length if k == 0 else self.shape[axis]
            if length == 1 and len(self.row) > 1:
                continue
            steps = [strides[axis] for strides in self.strides]
            if lengths and all(end == step * length for end, step in zip(ends[-1], steps, strict=True)):
                lengths[-1] *= length
                ends[-1] = steps
            else:
                lengths.append(length)
                ends.append(steps)
        self.row_steps = ends[-1] if ends else [0] * len(self.strides)
        self.row_strides = ends or [[0] * len(self.strides)]
        return lengths or [1]

    def places(self, lengths: Sequence[int]) -> list[np.ndarray]:
        """Where each item of a row of several axes lies, in bytes, for each input."""
        tables = []
        for k in range(len(self.strides)):
            table = np.zeros(1, np.int64)
            for length, strides in zip(lengths, self.row_strides, strict=True):
                table = (table[:, None] + np.arange(length) * strides[k]).ravel()
            tables.append(table)
        return tables

    def distance(self, axis: int) -> int:
        return sum(abs(strides[axis]) for strides in self.strides)

    def side(self, results: Sequence[Sequence[int]], row: list[int]) -> list[int]:
        """Axes whose outputs are worked on side by side, as one: outer to inner."""
        others = [axis for axis in (*self.outer, *self.kept) if self.shape[axis] > 1]
        if not others:
            return []
        best = min(others, key=self.distance)
        steps = [(sum(map(abs, steps)), length) for steps, length in zip(self.row_strides, row, strict=True)]
        closest, length = min(steps)
        if closest <= self.distance(best) and (len(row) == 1 or length >= _LONG):
            return []
        return self._run(best, others, results)

    def _run(self, best: int, others: Sequence[int], results: Sequence[Sequence[int]]) -> list[int]:
        """The axes that lie in one line with this one, in all arrays."""
        run, all_strides = [best], [*self.strides, *results]
        while True:
            following = [
                axis
                for axis in others
                if axis not in run and all(s[axis] == s[run[-1]] * self.shape[run[-1]] for s in all_strides)
            ]
            if not following:
                return run[::-1]
            run.append(following[0])

    def form(self, row: Sequence[int], run: Sequence[int]) -> tree.Form:
        if not run:
            return tree.Form("one", len(row) == 1 and self.row_steps == self.sizes)
        steps = [strides[run[-1]] for strides in self.strides]
        unit = steps == self.sizes
        length = prod(self.shape[axis] for axis in run)
        if length > tree.width(self.width, "rows"):
            return tree.Form("wide", unit)
        in_line = len(row) == 1 and self.row_steps == [length * step for step in steps]
        return tree.Form("flat" if in_line and not self.numbered else "rows", unit)

    def _split(self, kind: str, length: int, slices: Sequence[int]) -> list[int]:
        """Outputs side by side, in blocks of what a function works on at once if a length of about that
        divides the whole. Blocks are smaller where there were not enough slices else, of some work each."""
        items = prod(self.shape[axis] for axis in self.row) // self.pieces
        most = tree.width(self.width, "rows")  # of few items, too: what they pass over twice then stays near
        if kind == "wide" and items >= tree.LANES:
            most = max(most, tree.width(self.width, kind) // len(self.strides))
        least = max(most // 8, tree.ROW // max(1, items))
        wanted = min(most, max(least, length * prod(slices) // self.shares))
        if length > wanted:
            # Lines of memory are read once where no block begins within one; long blocks are worth more.
            for step, lowest in ((_LINE, wanted // 2), (1, wanted // 4)):
                for block in range(wanted // step * step, lowest, -step):
                    if length % block == 0:
                        return [length // block, block]
        return [length]

    def views(
        self, box: tuple[int, int, int, int], row: list[int], run: list[int], kind: str, of_bytes: bool
    ) -> tuple[_View, _View, _View]:
        """Of the inputs; of the outputs, which have the kept axes, partial ones outer axes and pieces before;
        of tables, which have the outputs' axes."""
        begin, end, pieces, _ = box
        ndim, partial = len(self.shape), self.parts > 1
        outer = self.outer if partial else []
        slices = [axis for axis in (*outer, *self.kept) if axis not in run]
        lengths = [self.shape[axis] for axis in slices]
        length = prod(self.shape[axis] for axis in run)
        side = [] if kind == "one" else [length] if kind == "flat" else self._split(kind, length, lengths)
        trail = [ndim] if of_bytes else []  # an axis of bytes, behind
        sizes = [self.width] if trail else []
        cut = None
        if self.row and (begin, end) != (0, self.shape[self.row[0]]):
            cut = tuple(slice(begin, end) if axis == self.row[0] else slice(None) for axis in range(ndim))
        number = [pieces] if partial else []
        n, p, r, s = len(slices), len(number), len(row), len(side)
        reading = _View(
            ndim + len(trail),
            cut,
            [*slices, *self.row, *run, *trail],
            [*lengths, *number, *row, *side, *sizes],
            [*range(n + p), *range(n + p + r, n + p + r + s - 1), *range(n + p, n + p + r),
             *([n + p + r + s - 1] if s else []), *range(n + p + r + s, n + p + r + s + len(sizes))],
        )  # fmt: skip
        # Outputs: outer axes, pieces, kept ones.
        if partial:
            at = {axis: k for k, axis in enumerate(self.outer)}
            at |= {axis: len(self.outer) + 1 + k for k, axis in enumerate(self.kept)}
            piece = [len(self.outer)]
            first = begin // self.step
            pick = None
            if pieces != self.pieces:
                pick = (*[slice(None)] * len(self.outer), slice(first, first + pieces))
        else:
            at, piece, pick = {axis: k for k, axis in enumerate(self.kept)}, [], None
        wide = len(at) + len(piece)
        order = [*(at[axis] for axis in slices), *piece, *(at[axis] for axis in run)]
        shape = [*lengths, *number, *side]
        table = _View(wide, pick, order, shape, range(len(shape)))
        if not partial:
            return reading, table, table
        shape.append(self.width)
        return reading, _View(wide + 1, pick, [*order, wide], shape, range(len(shape))), table


def _c_strides(shape: Sequence[int], size: int) -> list[int]:
    strides, step = [], size
    for length in reversed(shape):
        strides.append(step)
        step *= length
    return strides[::-1]


_Reading = Callable[[np.ndarray], np.ndarray] | None  # None: the array itself


class _Step:
    """A function, and the views that it gets."""

    __slots__ = ("_function", "_readings", "_tables", "_writing")

    def __init__(
        self,
        function: Any,
        readings: Sequence[_Reading],
        writing: _View | None,
        tables: Sequence[np.ndarray],
    ) -> None:
        self._function, self._tables = function, tuple(tables)
        self._readings, self._writing = readings, writing

    @property
    def has_whole_outputs(self) -> bool:
        """Are outputs what the function fills? Then it can make new ones."""
        return self._writing is None

    @property
    def new(self) -> Callable[..., Any]:
        """From inputs to new outputs."""
        function, readings, tables = self._function, self._readings, self._tables
        if len(readings) > 1 or tables:
            return lambda *inputs: function(*self._sources(inputs), *tables)
        reading = readings[0]  # the usual call, as short as it can be
        return function if reading is None else lambda array: function(reading(array))

    @property
    def into(self) -> Callable[..., Any]:
        """From inputs and whole outputs to these outputs."""
        function, readings, tables = self._function, self._readings, self._tables
        nin, reading = len(readings), readings[0]
        if nin == 1 and not tables and reading is None:
            return lambda array, *outs: function(array, out=outs[0] if len(outs) == 1 else outs)

        def fill(*arrays: np.ndarray) -> Any:
            out = arrays[nin] if len(arrays) == nin + 1 else arrays[nin:]
            return function(*self._sources(arrays[:nin]), *tables, out=out)

        return fill

    def fill(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
        writing = self._writing
        targets = outputs if writing is None else [writing(each) for each in outputs]
        out = targets[0] if len(targets) == 1 else tuple(targets)
        self._function(*self._sources(inputs), *self._tables, out=out)

    def _sources(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        pairs = zip(self._readings, inputs, strict=True)
        return [each if view is None else view(each) for view, each in pairs]


def _reading(ready: _Reading, view: _View, shape: tuple[int, ...]) -> _Reading:
    """One after the other; the view gets an array of this shape."""
    if view.is_whole(shape):
        return ready
    return view if ready is None else lambda array: view(ready(array))


class _Level:
    """Steps that read the same arrays, and how what they make for the next level lies."""

    def __init__(self, steps: list[_Step], layout: _Layout) -> None:
        self.steps, self.layout = steps, layout


def _level(
    family: Any, task: Task, stage: _Stage, results: Sequence[Sequence[int]], scalars: tuple[bool, ...] | None
) -> _Level:
    """scalars: as of Family.function()."""
    texts, partial = family.texts, stage.parts > 1
    steps: list[_Step] = []
    for box in stage.boxes():
        row = stage.joined_row(box[3])
        run = stage.side(results, row)
        form = stage.form(row, run)
        reading, writing, table = stage.views(box, row, run, form.kind, scalars is None)
        function = family.function(form, len(row), scalars, partial, bool(steps), stage.apart)
        tables = stage.places(row) if len(row) > 1 else []
        tables += [] if scalars is None else _tables(texts, stage, task, table)
        if texts.ends_located and not partial:
            tables += [table(_places(stage, task)), task.numbering(outputs=True)]
        if texts.sized and not (scalars is None and partial):
            tables.append(np.array([task.nred_items * task.nout_items, task.nout_items]))
        readings: list[_Reading] = [reading, *(None for _ in texts.raws)]
        if scalars is not None:
            pairs = zip(task.ready, scalars, strict=True)
            readings = [None if scalar else _reading(ready, reading, task.shape) for ready, scalar in pairs]
        whole = not partial and writing.is_whole(task.out_shape)
        steps.append(_Step(function, readings, None if whole else writing, tables))
    return _Level(steps, stage.part_layout)


def _levels(family: Any, task: Task, out_strides: Sequence[Sequence[int]]) -> list[_Level]:
    levels: list[_Level] = []
    scalars: tuple[bool, ...] | None = task.scalars
    pairs = zip(family.dtypes_in, task.scalars, strict=True)
    sizes = [dtype.itemsize for dtype, scalar in pairs if not scalar]
    size, numbered, shares = family.size, family.texts.numbered, _shares(family.texts.options.get("threads"))
    stage = _Stage(task.shape, task.strides, sizes, task.reduced, size, numbered, shares)
    while stage.parts > 1:
        steps = stage.part_layout.strides(family.size)
        del steps[len(stage.outer)]  # from piece to piece
        results = [_at([*stage.outer, *stage.kept], steps, len(stage.shape))]
        levels.append(_level(family, task, stage, results, scalars))
        made = _numbered(stage.part_layout.new_bytes(family.size), task.out_shape)
        scalars = None
        stage = _Stage(made.shape[:-1], [made.strides[:-1]], [family.size], [0], size, False, shares)
    results = [_at(stage.kept, each, len(stage.shape)) for each in out_strides]
    return [*levels, _level(family, task, stage, results, scalars)]


def _shares(threads: Any) -> int:
    """Slices that these threads can share among them; None: as config says."""
    threads = config.threads if threads is None else threads
    count = threads if isinstance(threads, int) else os.cpu_count() or 1
    return 1 if count == 1 else 2 * count


def _numbered(partial: np.ndarray, out_shape: tuple[int, ...]) -> np.ndarray:
    """Partial results, as bytes, as the next level sees them."""
    return partial.reshape(-1, *out_shape, partial.shape[-1])


def _at(axes: Sequence[int], values: Sequence[int], ndim: int) -> list[int]:
    """Values by axis, 0 where there is none."""
    made = [0] * ndim
    for axis, value in zip(axes, values, strict=True):
        made[axis] = value
    return made


def _tables(texts: Any, stage: _Stage, task: Task, view: _View) -> list[np.ndarray]:
    """Numbers of the first items, and of the outputs, as the views of the outputs lie."""
    if not texts.numbered:
        return []
    outer, kept = ([stage.shape[axis] for axis in axes] for axes in (stage.outer, stage.kept))
    pieces = [stage.pieces] if stage.parts > 1 else []
    whole = (*(outer if pieces else ()), *pieces, *kept)
    first = np.zeros((), np.int64)
    if pieces:
        reduced = sorted((*stage.outer, *stage.row))
        steps = _c_strides([stage.shape[axis] for axis in reduced], 1)
        step = dict(zip(reduced, steps, strict=True))
        starts = [np.arange(stage.shape[axis]) * step[axis] for axis in stage.outer]
        first = first + sum(np.ix_(*starts, np.arange(stage.pieces) * (stage.step * step[stage.row[0]])))
        first = first.reshape(*first.shape, *(1 for _ in kept))
    tables = [first]
    if texts.placed:
        tables.append(_places(stage, task))
    tables = [view(np.broadcast_to(each, whole)) for each in tables]
    return [*tables, task.numbering()] if texts.located else tables


def _places(stage: _Stage, task: Task) -> np.ndarray:
    """The numbers of outputs."""
    return np.arange(task.nout_items).reshape([stage.shape[axis] for axis in stage.kept])


def make(family: Any, task: Task, outs: Sequence[np.ndarray]) -> Callable[..., Any]:
    """What runs calls of this geometry: inputs, then outputs where these are given; returns the outputs."""
    nin, out_shape, result_shape = len(task.scalars), task.out_shape, task.result_shape
    dtypes = family.dtypes_out
    first = [sum(abs(strides[axis]) for strides in task.strides) for axis in task.kept]
    layout = _Layout(out_shape, first)
    if not task.nout_items:
        fill: _Filling = lambda inputs, outputs: None  # noqa: E731
    elif not task.nred_items:
        fill = _filling_over_nothing(family, task)
    else:
        strides = [each.reshape(out_shape).strides for each in outs]
        *before, level = _levels(
            family, task, strides or [layout.strides(dtype.itemsize) for dtype in dtypes]
        )
        last = level.steps[0]
        if last.has_whole_outputs and outs and not before and result_shape == out_shape:
            return last.into
        if last.has_whole_outputs and not outs and (not before or len(out_shape) < 2):  # as layout says
            new = last.new if not before else _after(before, last.new, family, out_shape)
            if result_shape == out_shape:
                return new
            if len(dtypes) == 1:
                return lambda *arrays: new(*arrays).reshape(result_shape)
        fill = last.fill
        if before:
            rest = _after(before, lambda *arrays: arrays, family, out_shape)
            fill = lambda inputs, outputs: last.fill(rest(*inputs), outputs)  # noqa: E731

    def run(*arrays: np.ndarray) -> Any:
        """New outputs."""
        results = [layout.new(each) for each in dtypes]
        fill(arrays, results)
        results = [each.reshape(result_shape)[()] for each in results]  # numbers where the shape is ()
        return results[0] if len(results) == 1 else tuple(results)

    def run_into(*arrays: np.ndarray) -> Any:
        given = arrays[nin:]
        reshaped = given if result_shape == out_shape else [each.reshape(out_shape) for each in given]
        fill(arrays[:nin], reshaped)
        return given[0] if len(given) == 1 else given

    return run_into if outs else run


_Filling = Callable[[Sequence[np.ndarray], Sequence[np.ndarray]], None]  # of outputs, from inputs


def _after(
    levels: Sequence[_Level], last: Callable[..., Any], family: Any, out_shape: tuple[int, ...]
) -> Callable[..., Any]:
    """What gets the partial results of these levels, and raw inputs."""

    def run(*inputs: np.ndarray) -> Any:
        raws = [inputs[k] for k in family.texts.raws]
        for level in levels:
            partial = level.layout.new_bytes(family.size)
            for step in level.steps:
                step.fill(inputs, (partial,))
            inputs = (_numbered(partial, out_shape), *raws)
        return last(*inputs)

    return run


def _filling_over_nothing(family: Any, task: Task) -> _Filling:
    texts = family.texts
    tables = [np.array([0, task.nout_items])] if texts.sized else []
    if texts.ends_located:
        places = np.arange(task.nout_items).reshape(task.out_shape)
        tables = [places, task.numbering(outputs=True), *tables]
    step = _Step(family.empty(), [None for _ in texts.raws], None, tables)
    return lambda inputs, outputs: step.fill([inputs[k] for k in texts.raws], outputs)
