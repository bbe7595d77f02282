"""progress(): shows bars for long calls.

Ten times a second, between chunks of slices, the call path looks at the context variable `watcher`
(csrc/function/call/progress.c). It calls the value, a _Block, with the state of the call; the result reports
that call until its end."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from cwrapjit._cwrapjit import watcher
from cwrapjit._imports import load

if TYPE_CHECKING:
    from contextlib import _GeneratorContextManager


class Bar(Protocol):
    def update(self, n: int, /) -> object: ...
    def close(self) -> object: ...


def progress(*, bar: Callable[..., Bar] | None = None, after: float = 0.5) -> _GeneratorContextManager[None]:
    """Show a bar for each long call of a function in the block.

    >>> import cwrapjit
    >>> f = cwrapjit.vectorize("double f(double x) { return exp(sin(x)); }")
    >>> with cwrapjit.progress(after=2.5):
    ...     y = f([1.0, 2.0])

    bar: a callable, bar(desc=, total=, initial=, unit=, unit_scale=), that makes a bar, which has update(n)
    and close(). The default is tqdm's: a widget in a notebook, else text.
    after: the seconds that a call lasts before its bar appears.

    A bar counts finished slices. The block applies to calls of this thread, and of asyncio tasks started in
    the block, until it ends; of nested blocks the innermost one applies. An exception that a bar raises ends
    the call.

    Returns a context manager. Raises TypeError and ValueError for arguments, ImportError without tqdm."""
    if not (bar is None or callable(bar)):
        raise TypeError(f"progress(): bar must be callable, as tqdm is, not {type(bar).__name__}")
    if isinstance(after, bool) or not isinstance(after, (int, float)):
        raise TypeError(f"progress(): after must be a number of seconds, not {type(after).__name__}")
    if not after >= 0:
        raise ValueError(f"progress(): after must be a number of seconds from 0 on, not {after!r}")
    return _watched(_tqdm() if bar is None else bar, after)


def _tqdm() -> Callable[..., Bar]:
    try:
        made: Callable[..., Bar] = load("tqdm.auto").tqdm
    except ModuleNotFoundError as error:
        if error.name not in ("tqdm", "tqdm.auto"):
            raise
        raise ImportError(
            "progress() shows bars by tqdm, which is missing: pip install tqdm, or give it another bar=",
            name="tqdm",
        ) from None
    return made


@contextmanager
def _watched(bar: Callable[..., Bar], after: float) -> Generator[None, None, None]:
    block = _Block(bar, after)
    watcher.set(block)
    try:
        yield
    finally:
        block.over = True
        # Generators may end their blocks in any order, and in another context than they started in.
        watcher.set(_first_open(watcher.get(None)))


def _first_open(block: _Block | None) -> _Block | None:
    """Returns the innermost block that is still open, from this one outwards."""
    while block is not None and block.over:
        block = block.outer
    return block


class _Block:
    def __init__(self, bar: Callable[..., Bar], after: float) -> None:
        self.bar = bar
        self.after = after
        self.process = os.getpid()  # a child forked in the block shows nothing
        self.outer: _Block | None = _first_open(watcher.get(None))
        self.over = False

    def __call__(self, name: str, done: int, total: int, seconds: float) -> _Shown | None:
        block = _first_open(self)  # a task may outlive the block that started it
        if block is None or seconds < block.after or block.process != os.getpid():
            return None
        return _Shown(block, name, done, total)


class _Shown:
    """The bar of a call. The bar's own calls of functions get no bars."""

    def __init__(self, block: _Block, name: str, done: int, total: int) -> None:
        self.process = block.process
        self.done = done
        self.bar: Bar = _unwatched(
            block.bar, desc=name, total=total, initial=done, unit="slice", unit_scale=True
        )

    def __call__(self, done: int) -> None:
        if self.process == os.getpid() and done > self.done:
            more, self.done = done - self.done, done
            _unwatched(self.bar.update, more)

    def close(self, done: int) -> None:
        if self.process == os.getpid():
            try:
                self(done)
            finally:
                _unwatched(self.bar.close)


def _unwatched(call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    before = watcher.get(None)
    try:
        watcher.set(None)
        return call(*args, **kwargs)
    finally:
        watcher.set(before)
