"""Plans how a reduction runs: which functions, on which views of its arrays.

The order of operations depends on the shape alone (`_row`): a row is made of the last reduced axes that have
256 items together and no kept axis between them; if there are none, kept axes may lie between. Rows longer
than 16384 items are cut. The tree of tree.py reduces each piece; the results of several pieces, in C order,
are the items of another such reduction. Strides decide only the form of the loops."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from cwrapjit._cwrapjit import config
from cwrapjit.kernels import tree
from cwrapjit.kernels.reduction_text import FIRST, OUT_AXES, PLACE, SIZES, Fact

_Strides = dict[int, int]  # of outputs, by axis
_PIECES = -1  # stands for an axis: the pieces of rows
_SHORT_ROW = 256
_LINE = 8  # items: blocks of outputs are multiples of this
_LONG = 8  # items in line, from which on a row of several axes is read item by item


class Task:
    """The geometry of a call. All inputs broadcast to `shape`."""

    def __init__(
        self,
        shape: tuple[int, ...],
        axes: tuple[int, ...],
        keepdims: bool,
        scalars: tuple[bool, ...],
        values: Sequence[np.ndarray],
    ) -> None:
        self.shape, self.reduced, self.scalars = shape, axes, scalars
        self.kept = [axis for axis in range(len(shape)) if axis not in axes]
        self.out_shape = tuple(shape[axis] for axis in self.kept)
        self.result_shape = self.out_shape
        if keepdims:
            self.result_shape = tuple(1 if axis in axes else length for axis, length in enumerate(shape))
        self.nout_items, self.nred_items = prod(self.out_shape), prod(shape[axis] for axis in axes)
        pairs = list(zip(scalars, values, strict=True))
        self.strides = [_broadcast(value, shape).strides for scalar, value in pairs if not scalar]
        self.fits = [not scalar and value.shape == shape for scalar, value in pairs]
        self.functions: tuple[Any, ...] = ()  # that read the inputs, and that fill the outputs

    def numbering(self, outputs: bool = False) -> np.ndarray:
        """Describes each axis of the inputs, or of the outputs: whether it is reduced, the difference of its
        items' numbers, its length. Kept and reduced axes are numbered separately."""
        steps, rows = [1, 1], []
        for axis in reversed(range(len(self.shape))):
            is_reduced, length = int(axis in self.reduced), max(self.shape[axis], 1)
            if not (is_reduced and outputs):
                rows.append((is_reduced, steps[is_reduced], length))
            steps[is_reduced] *= length
        return np.array(rows[::-1] or [(0, 1, 1)], np.int64)


def _broadcast(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """np.broadcast_to() without its checks, which take longer than a short call."""
    return np.nditer(
        [array], ["multi_index", "zerosize_ok"], [["readonly"]], itershape=shape, order="C"
    ).itviews[0]


def _row(shape: Sequence[int], reduced: Sequence[int]) -> list[int]:
    """Returns the axes of a row, by the rule at the top of this file."""
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
    """Makes a view of an array of shape `whole`: cuts, reorders, joins and splits axes. Never copies."""

    __slots__ = ("_cut", "_order", "_reorder", "_shape", "_whole")

    def __init__(
        self, whole: Sequence[int], cut: Any, order: Sequence[int], shape: Sequence[int],
        reorder: Sequence[int] = (),
    ) -> None:  # fmt: skip
        self._whole, self._cut, self._shape = tuple(whole), cut, tuple(shape)
        self._order = None if list(order) == list(range(len(whole))) else tuple(order)
        self._reorder = None if list(reorder) == list(range(len(reorder))) else tuple(reorder)

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

    def spread(self, array: np.ndarray) -> np.ndarray:
        """Makes the view of an array that is broadcast to `whole`."""
        return self(_broadcast(array, self._whole))

    @property
    def is_whole(self) -> bool:
        """True if arrays of the shape `whole` are used as they are."""
        return self.joins and self._reorder is None and self._shape == self._whole

    @property
    def joins(self) -> bool:
        """True if axes are only joined or split, apart from `reorder`."""
        return self._cut is None and self._order is None


def _layout(shape: Sequence[int], distances: Sequence[int], dtype: Any) -> np.ndarray:
    """Returns an array without memory, for np.empty_like(): its axes are ordered as those of the inputs."""
    strides, step = [0] * len(shape), dtype.itemsize
    for axis in sorted(range(len(shape)), key=lambda axis: (distances[axis], -axis)):
        strides[axis] = step
        step *= shape[axis]
    made: np.ndarray = as_strided(np.empty(1, dtype), shape, strides)
    return made


class _Stage:
    """One level of the tree: takes items, and makes results or partial results. Axes are numbered as in
    `shape`. `strides` and `sizes` are those of inputs that are arrays. `results` are the strides of outputs,
    by axis of `shape`. `numbered`: texts use the numbers of items, and would have to divide in form "flat".
    `made` are the axes of the result: the kept ones; partial results have the outer axes and the pieces
    before them."""

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
        self.shares = shares  # the least number of slices
        self.shape, self.strides, self.sizes, self.numbered, self.width = (
            shape,
            strides,
            sizes,
            numbered,
            width,
        )
        self.row = _row(shape, reduced)
        self.outer = [axis for axis in reduced if axis not in self.row]
        # A piece's length along the row's first axis, and the difference between the numbers of neighbours in
        # a row.
        self.step = max(1, tree.ROW // prod(shape[axis] for axis in self.row[1:]))
        self.apart = prod(shape[axis] for axis in self.outer if axis > self.row[0])
        self.kept = [axis for axis in range(len(shape)) if axis not in reduced]
        self.length = shape[self.row[0]] if self.row else 1
        self.pieces = -(-self.length // self.step)
        self.parts = prod(shape[axis] for axis in self.outer) * self.pieces
        self.made = [*self.outer, _PIECES, *self.kept] if self.parts > 1 else self.kept
        self.made_shape = [self.pieces if axis == _PIECES else shape[axis] for axis in self.made]

    def part_layout(self, dtype: Any) -> np.ndarray:
        """Returns the layout of partial results."""
        distances = [
            self.distance(self.row[0]) * self.step if axis == _PIECES else self.distance(axis)
            for axis in self.made
        ]
        return _layout(self.made_shape, distances, dtype)

    def boxes(self) -> list[tuple[int, int, int, int]]:
        """Returns (begin, end, pieces, length of a piece) for parts of the row's first axis."""
        whole, rest = divmod(self.length, self.step)
        cut = whole * self.step
        boxes = [(0, cut, whole, self.step), (cut, self.length, 1, rest)]
        return [each for each in boxes if each[0] < each[1]]

    def joined_row(self, first_length: int) -> list[int]:
        """Returns the lengths of the row's axes, with those joined that lie in one line in all inputs."""
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
        self.row_strides = ends or [[0] * len(self.strides)]
        return lengths or [1]

    def places(self, lengths: Sequence[int]) -> list[np.ndarray]:
        """Returns for each input the offsets in bytes of the items of a row of several axes."""
        tables = []
        for k in range(len(self.strides)):
            table = np.zeros(1, np.int64)
            for length, strides in zip(lengths, self.row_strides, strict=True):
                table = (table[:, None] + np.arange(length) * strides[k]).ravel()
            tables.append(table)
        return tables

    def first_items(self) -> np.ndarray:
        """Returns the numbers of the first items of what this stage makes."""
        if self.parts == 1:
            return np.zeros((), np.int64)
        reduced = (*self.outer, *self.row)
        step = {axis: prod(self.shape[each] for each in reduced if each > axis) for axis in reduced}
        starts = [np.arange(self.shape[axis]) * step[axis] for axis in self.outer]
        first = sum(np.ix_(*starts, np.arange(self.pieces) * (self.step * step[self.row[0]])))
        return np.reshape(first, (*np.shape(first), *(1 for _ in self.kept)))

    def distance(self, axis: int) -> int:
        return sum(abs(strides[axis]) for strides in self.strides)

    def side(self, results: Sequence[_Strides], row: list[int]) -> list[int]:
        """Returns axes whose outputs are computed side by side, as one axis, outermost first."""
        others = [axis for axis in (*self.outer, *self.kept) if self.shape[axis] > 1]
        if not others:
            return []
        best = min(others, key=self.distance)
        steps = [(sum(map(abs, steps)), length) for steps, length in zip(self.row_strides, row, strict=True)]
        closest, length = min(steps)
        if closest <= self.distance(best) and (len(row) == 1 or length >= _LONG):
            return []
        return self._run(best, others, results)

    def _run(self, best: int, others: Sequence[int], results: Sequence[_Strides]) -> list[int]:
        """Returns the axes that lie in one line with `best` in all arrays, outermost first."""
        run = [best]
        all_strides: list[Sequence[int] | _Strides] = [*self.strides, *results]
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
            return tree.Form("one", len(row) == 1 and self.row_strides[-1] == self.sizes)
        steps = [strides[run[-1]] for strides in self.strides]
        unit = steps == self.sizes
        length = prod(self.shape[axis] for axis in run)
        if length > tree.width(self.width, "rows"):
            return tree.Form("wide", unit)
        in_line = len(row) == 1 and self.row_strides[-1] == [length * step for step in steps]
        return tree.Form("flat" if in_line and not self.numbered else "rows", unit)

    def _split(self, kind: str, length: int, slices: Sequence[int]) -> list[int]:
        """Splits a run of `length` outputs, computed side by side, into blocks of equal length; one slice
        computes one block. Returns [blocks, length of a block], or [length] if the run is short or no
        suitable length divides it. Blocks are made shorter to get enough slices for all threads, but each
        keeps a minimum of work."""
        items = prod(self.shape[axis] for axis in self.row) // self.pieces
        most = tree.width(self.width, "rows")  # if items are few, to keep them in the cache
        if kind == "wide" and items >= tree.LANES:
            most = max(most, tree.width(self.width, kind) // len(self.strides))
        least = max(most // 8, tree.ROW // max(1, items))
        wanted = min(most, max(least, length * prod(slices) // self.shares))
        if length > wanted:
            # Blocks of whole cache lines read each line once, but long blocks are worth more.
            for step, lowest in ((_LINE, wanted // 2), (1, wanted // 4)):
                for block in range(wanted // step * step, lowest, -step):
                    if length % block == 0:
                        return [length // block, block]
        return [length]

    def views(
        self, box: tuple[int, int, int, int], row: list[int], run: list[int], kind: str
    ) -> tuple[_View, _View]:
        """Returns the view of inputs, and that of outputs and of tables with the outputs' axes."""
        begin, end, pieces, _ = box
        partial = self.parts > 1
        slices = [axis for axis in (*self.outer, *self.kept) if axis not in run]
        front = [self.shape[axis] for axis in slices if axis in self.made]  # other axes have length 1
        length = prod(self.shape[axis] for axis in run)
        side = [] if kind == "one" else [length] if kind == "flat" else self._split(kind, length, front)
        cut = pick = None
        if end - begin < self.length:
            cut = (*[slice(None)] * self.row[0], slice(begin, end))
        if partial and pieces != self.pieces:
            first = begin // self.step
            pick = (*[slice(None)] * len(self.outer), slice(first, first + pieces))
        pieced = [_PIECES] if partial else []
        front += [pieces] if partial else []
        ahead, behind = len(front), len(front) + len(row)
        last = behind + max(len(side) - 1, 0)  # blocks of outputs come before the row
        reading = _View(
            self.shape,
            cut,
            [*slices, *self.row, *run],
            [*front, *row, *side],
            [*range(ahead), *range(behind, last), *range(ahead, behind), *range(last, behind + len(side))],
        )
        order = [self.made.index(axis) for axis in (*slices, *pieced, *run) if axis in self.made]
        return reading, _View(self.made_shape, pick, order, [*front, *side])


class _Step(NamedTuple):
    """A function and the views that it is called with."""

    function: Any
    readings: Sequence[Callable[[np.ndarray], np.ndarray] | None]  # None: the array itself
    writing: _View | None  # None: the function fills the outputs themselves
    tables: Sequence[np.ndarray]

    @property
    def new(self) -> Callable[..., Any]:
        """Returns the shortest call that makes new outputs from inputs."""
        function, tables, reading = self.function, self.tables, self.readings[0]
        if len(self.readings) > 1 or tables:
            return lambda *inputs: function(*self._sources(inputs), *tables)
        return function if reading is None else lambda array: function(reading(array))

    def fill(self, *arrays: np.ndarray) -> Any:
        """Calls the function with inputs and outputs. Returns the outputs if it fills them."""
        writing, out = self.writing, arrays[len(self.readings) :]
        if writing is not None:
            out = tuple([writing(each) for each in out])
        return self.function(*self._sources(arrays), *self.tables, out=out[0] if len(out) == 1 else out)

    def _sources(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        pairs = zip(self.readings, arrays, strict=False)
        return [each if view is None else view(each) for view, each in pairs]


def _level(
    family: Any, task: Task, stage: _Stage, out_strides: Sequence[Sequence[int]], fits: Sequence[bool],
    scalars: tuple[bool, ...] | None,
) -> list[_Step]:  # fmt: skip
    """Makes steps that read the same arrays. fits: whether each has the stage's shape; scalars: as in
    Family.function()."""
    texts, partial, maps = family.texts, stage.parts > 1, scalars is not None
    told, first = texts.told(maps, not partial), stage.first_items()
    results = [dict(zip(stage.made, each, strict=True)) for each in out_strides]
    steps: list[_Step] = []
    for box in stage.boxes():
        row = stage.joined_row(box[3])
        run = stage.side(results, row)
        form = stage.form(row, run)
        reading, writing = stage.views(box, row, run, form.kind)
        function = family.function(form, len(row), scalars, partial, bool(steps), stage.apart)
        tables = stage.places(row) if len(row) > 1 else []
        tables += [_table(fact, task, writing.spread, first) for fact in told]
        kinds = scalars if scalars is not None else (False, *(True for _ in texts.raws))
        as_it_is = None if reading.is_whole else reading
        readings = [
            None if scalar else as_it_is if fit else reading.spread
            for scalar, fit in zip(kinds, fits, strict=True)
        ]
        steps.append(_Step(function, readings, None if writing.is_whole else writing, tuple(tables)))
    return steps


def _levels(
    family: Any, task: Task, out_strides: Sequence[Sequence[int]]
) -> tuple[list[tuple[list[_Step], np.ndarray]], _Step]:
    """Returns for each level steps and the layout of partial results; then the step for outputs."""
    before: list[tuple[list[_Step], np.ndarray]] = []
    scalars: tuple[bool, ...] | None = task.scalars
    fits = task.fits
    pairs = zip(family.dtypes_in, task.scalars, strict=True)
    sizes = [dtype.itemsize for dtype, scalar in pairs if not scalar]
    size, numbered, shares = family.size, family.texts.numbered, _shares(family.texts.options.get("threads"))
    stage = _Stage(task.shape, task.strides, sizes, task.reduced, size, numbered, shares)
    while stage.parts > 1:
        layout = stage.part_layout(family.partial)
        before.append((_level(family, task, stage, [layout.strides], fits, scalars), layout))
        made = _numbered(np.empty_like(layout), task.out_shape)
        scalars, fits = None, [True, *(False for _ in family.texts.raws)]
        stage = _Stage(made.shape, [made.strides], [size], [0], size, False, shares)
    return before, _level(family, task, stage, out_strides, fits, scalars)[0]


def _shares(threads: Any) -> int:
    """Returns how many slices these threads should have to share; None: config.threads."""
    threads = config.threads if threads is None else threads
    count = threads if isinstance(threads, int) else os.cpu_count() or 1
    return 1 if count == 1 else 2 * count


def _numbered(partial: np.ndarray, out_shape: tuple[int, ...]) -> np.ndarray:
    """Reshapes partial results for the next level."""
    return partial.reshape(-1, *out_shape)


def _table(fact: Fact, task: Task, view: Callable[..., np.ndarray], first: np.ndarray) -> np.ndarray:
    """Makes a table for the texts. view: for the outputs' axes; first: the numbers of first items."""
    if fact is FIRST:
        return view(first)
    if fact is PLACE:
        return view(np.arange(task.nout_items).reshape(task.out_shape))
    if fact is SIZES:
        return np.array([task.nred_items * task.nout_items, task.nout_items])
    return task.numbering(outputs=fact is OUT_AXES)


def make(family: Any, task: Task, outs: Sequence[np.ndarray]) -> Callable[..., Any]:
    """Returns the callable for this geometry: takes inputs, then any given outputs; returns the outputs."""
    nin, out_shape, result_shape = len(task.scalars), task.out_shape, task.result_shape
    distances = [sum(abs(strides[axis]) for strides in task.strides) for axis in task.kept]
    layouts = [_layout(out_shape, distances, dtype) for dtype in family.dtypes_out]
    before: list[tuple[list[_Step], np.ndarray]] = []
    last: _Step | None = None
    fill: Callable[..., Any] = lambda *arrays: None  # noqa: E731
    if task.nout_items and not task.nred_items:
        fill = _filling_over_nothing(family, task)
    elif task.nout_items:
        before, last = _levels(family, task, [each.reshape(out_shape).strides for each in outs or layouts])
        fill = last.fill
        task.functions = (*(steps[0].function for steps, _ in before[:1]), last.function)

    def sources(inputs: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        """Returns the arrays that the last level reads."""
        made = inputs
        for steps, layout in before:
            partial = np.empty_like(layout)
            for step in steps:
                step.fill(*made, partial)
            made = (_numbered(partial, out_shape), *(inputs[k] for k in family.texts.raws))
        return made

    in_c_order = all(each.flags.c_contiguous for each in layouts)
    # A function that fills the outputs but for their shape can make new ones in C order.
    if last is not None and (last.writing is None or (last.writing.joins and in_c_order)):
        own, is_same = last.new, last.writing is None and result_shape == out_shape
        if outs and not before and is_same:
            if own is last.function:
                return lambda array, *outs: own(array, out=outs[0] if len(outs) == 1 else outs)
            return fill
        if not outs and (not before or len(out_shape) < 2):  # laid out as in `layouts`
            new: Callable[..., Any] = own if not before else lambda *arrays: own(*sources(arrays))
            if is_same:
                return new
            if len(layouts) == 1:
                return lambda *arrays: new(*arrays).reshape(result_shape)
            if in_c_order:
                return lambda *arrays: tuple([each.reshape(result_shape) for each in new(*arrays)])

    def run(*arrays: np.ndarray) -> Any:
        inputs = sources(arrays[:nin]) if before else arrays[:nin]
        if outs:
            results = arrays[nin:]
            fill(*inputs, *[each.reshape(out_shape) for each in results])
        else:
            outputs = [np.empty_like(each) for each in layouts]
            fill(*inputs, *outputs)
            results = tuple([each.reshape(result_shape)[()] for each in outputs])  # numbers for ()
        return results[0] if len(results) == 1 else results

    return run


def _filling_over_nothing(family: Any, task: Task) -> Callable[..., Any]:
    texts, first = family.texts, np.zeros((), np.int64)
    tables = [_table(fact, task, lambda table: table, first) for fact in texts.told(False, True)]
    step = _Step(family.empty(), [None for _ in texts.raws], None, tuple(tables))
    nin = len(task.scalars)
    return lambda *arrays: step.fill(*(arrays[k] for k in texts.raws), *arrays[nin:])
