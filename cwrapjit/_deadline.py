"""cwrapjit.deadline(): a limit for the time that compiled code may take."""

from __future__ import annotations

from types import TracebackType

from cwrapjit import _cwrapjit


class deadline:
    """`with cwrapjit.deadline(seconds):` raises TimeoutError if compiled code runs at that time.

    The code is left wherever it is, as by Ctrl-C: in functions, kernels, graphs and functions of
    library(source=), with the threads that help a call, but not in NumPy, Python or compiled
    libraries that are not interruptible. These are waited for; compiled code that is called after
    the deadline does not run. Memory that the C code had allocated is lost, and outputs that were
    passed hold what was written so far.

    seconds: from the begin of the block; any number above 0.

    A deadline holds for calls that begin inside the block, in its context (contextvars): those of
    this thread, of asyncio tasks that are made in the block, and of asyncio.to_thread(). Blocks
    nest: the nearest deadline counts. One object serves one block at a time.

    >>> import cwrapjit
    >>> climb = cwrapjit.vectorize("double climb(double x) { while (x < 10) x *= 1; return x; }")
    >>> with cwrapjit.deadline(0.1):
    ...     climb(1.0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    TimeoutError: climb(): the C code was left at the deadline of 0.1 s, and memory that it had ...

    Raises TypeError if `seconds` is no real number, ValueError if it is not above 0,
    RuntimeError if the object is in force already, or is ended without having begun."""

    def __init__(self, seconds: float) -> None:
        if not hasattr(type(seconds), "__float__") or isinstance(seconds, bool):
            raise TypeError(f"deadline(): wanted a number of seconds, got {type(seconds).__name__}")
        self.seconds = float(seconds)
        if not self.seconds > 0:
            raise ValueError(f"deadline(): wanted a number of seconds above 0, got {seconds}")
        self._block: object = None

    def __repr__(self) -> str:
        return f"deadline({self.seconds:g})"

    def __enter__(self) -> deadline:
        if self._block is not None:
            raise RuntimeError(f"{self!r} is in force already; each block needs one of its own")
        self._block = _cwrapjit.enter_deadline(self.seconds)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        block, self._block = self._block, None
        if block is None:
            raise RuntimeError(f"{self!r} is not in force")
        _cwrapjit.leave_deadline(block)
