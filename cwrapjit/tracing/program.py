"""Makes a Python function of a trace: it calls kernels, and NumPy between them."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

import cwrapjit
from cwrapjit.tracing.kernel import Text
from cwrapjit.tracing.loops import Loop
from cwrapjit.tracing.plan import Group, Planner
from cwrapjit.tracing.values import (
    CONST,
    INPUT,
    KEPT,
    LOOP,
    NUMBER,
    POINT,
    PYTHON_NUMBERS,
    Trace,
    Traced,
)

HEADER = "#include <cwj_arithmetic.h>"


class Step(NamedTuple):
    """A line of `run`, in words. reads, writes: names of values, and their dtypes and dims."""

    line: str
    kind: str
    reads: dict[str, str]
    writes: dict[str, str]

    def __str__(self) -> str:
        reads, writes = (", ".join(f"{k} {v}" for k, v in each.items()) for each in (self.reads, self.writes))
        read = f"reads {reads}; " if reads else ""
        return f"    {self.line}\n        {self.kind}: {read}writes {writes}"


class Program:
    """What runs for the arguments of one trace: `run` takes them. result: a tree that has traced values."""

    def __init__(self, trace: Trace, inputs: Sequence[Traced], result: Any, options: dict[str, Any]) -> None:
        self.trace, self.options = trace, options
        self.kernels: list[cwrapjit.Function] = []
        self._names: dict[str, Any] = {"np": np}  # what the text of `run` uses
        self.steps: list[Step] = []
        self._prefix = re.sub(r"\W", "", trace.name, flags=re.ASCII).lstrip("_0123456789") or "f"
        outputs: list[Traced] = []
        returned = self._tree(result, outputs)
        self._lasting = {value.id for value in outputs}
        lines = self._lines(outputs)
        given = ", ".join(value._name for value in inputs)
        text = "\n    ".join([f"def run({given}):", *lines, f"return {returned}"])
        exec(compile(text, f"<cwrapjit.jit {trace.name}>", "exec"), self._names)
        self.run: Callable[..., Any] = self._names["run"]
        results, _, call = lines[0].partition(" = ") if len(lines) == 1 else ("", "", "")
        is_whole = returned == (f"({results}, )" if ", " in results else results)
        if is_whole and self.kernels and call == f"{self.kernels[0].__name__}({given})":
            self.run = self.kernels[0]  # it takes the same arguments and returns the result
        self.inputs, self.outputs, self.returned = _described(inputs), _described(outputs), returned

    @property
    def explanation(self) -> str:
        given = ", ".join(f"{name} {what}" for name, what in self.inputs.items())
        return "\n".join(
            [f"{self.trace.name}({given}):", *map(str, self.steps), f"    return {self.returned}"]
        )

    # ---- steps -------------------------------------------------------------------------------------

    def _lines(self, outputs: Sequence[Traced]) -> list[str]:
        """Returns the lines of `run`. The last steps are read first: they know what they need of others."""
        needed = set(self._lasting)
        lines: list[str] = []
        for step, made in self._steps(outputs, needed):
            line, kind, used = self._kernel(step, made) if isinstance(step, Group) else self._call(step)
            self.steps.append(Step(line, kind, _described(used), _described(made)))
            used = [v._args[0] if v._kind == NUMBER else v for v in used]
            last = [
                f"t{v.id}"
                for v in {v.id: v for v in used}.values()
                if v.id not in needed and not _is_given(v)
            ]
            needed |= {value.id for value in used}
            lines += [f"del {', '.join(last)}", line] if last else [line]
        self.kernels.reverse()
        self.steps.reverse()
        return lines[::-1]

    def _steps(
        self, outputs: Sequence[Traced], needed: set[int]
    ) -> Iterator[tuple[Group | Traced, list[Traced]]]:
        """Yields the steps that make values which are needed, the last ones first, with these values."""
        planner = Planner(outputs)
        if any(value._kind == POINT for value in planner.live):
            self.trace.refuse("a value was kept in a function that grad() or vmap() runs; return it there")
        for step in reversed(planner.steps):
            if not isinstance(step, Group):
                yield from [(step, [step])] if step.id in needed else []
                continue
            yield from step.parts([value for value in step.values if value.id in needed])

    def _kernel(self, group: Group, made: list[Traced]) -> tuple[str, str, list[Traced]]:
        text = Text(group, made)
        name = self._define(text, made[0])
        used = [operand.value for operand in text.operands.values()]
        results = ", ".join(f"t{value.id}" for value in made)
        return f"{results} = {name}({', '.join(map(self._name, used))})", text.described, used

    def _define(self, text: Text, first: Traced) -> str:
        """Makes a kernel, and returns its name."""
        name = f"{self._prefix}_{first.id}"
        kernel = cwrapjit.function(
            name,
            f"A kernel of {self.trace.name}(), made by jit()",
            signature=text.signature,
            Ccode_slice_eval={text.types: text.body},
            header=HEADER if "cwj_" in text.body else "",
            **self.options,
        )
        self.kernels.append(kernel)
        self._names[name] = kernel
        return name

    def _call(self, value: Traced) -> tuple[str, str, list[Traced]]:
        kind = "Python" if value._weak else "NumPy"
        if value._params and isinstance(value._params[0], Loop):
            constants, kind = self._loop(value, value._params[0])
        else:
            constants = [self._constant(param) for param in value._params]
        text = value._name.format(*map(self._name, value._args), k=constants)
        return f"t{value.id} = {text}", kind, list(value._args)

    def _loop(self, value: Traced, loop: Loop) -> tuple[list[str], str]:
        """Returns the name of what runs the loop, and its kind."""
        if loop.text is not None:
            return [self._define(loop.text, value)], loop.text.described
        step = Program(loop.trace, loop.inputs, tuple(loop.results), self.options)
        self.kernels += reversed(step.kernels)
        name = self._constant(functools.partial(loop.run, step.run))
        shown = step.explanation.replace("\n", "\n        ")
        return [name], f"loop in Python, of steps\n        {shown}\n        it"

    # ---- names in the text ---------------------------------------------------------------------------

    def _constant(self, given: Any) -> str:
        """Returns the text of a constant."""
        if type(given) in PYTHON_NUMBERS and not isinstance(given, complex) and math.isfinite(given):
            return f"({given!r})" if given < 0 else repr(given)
        name = f"c{len(self._names)}"
        self._names[name] = given
        return name

    def _name(self, value: Traced) -> str:
        if value._kind == INPUT:
            return value._name
        if value._kind == LOOP:
            self.trace.refuse(KEPT)
        if value._kind == NUMBER:  # rounded as NumPy rounds it; kernels refuse an int that no float equals
            is_rounded = value.dtype.kind == "f" and value._args[0].dtype.kind == "i"
            return f"float({self._name(value._args[0])})" if is_rounded else self._name(value._args[0])
        return self._constant(value._params[0]) if value._kind == CONST else f"t{value.id}"

    def _tree(self, result: Any, outputs: list[Traced]) -> str:
        """Returns the text of the result, and adds its traced values to outputs."""
        if isinstance(result, Traced):
            result._check(self.trace)
            outputs.append(result)
            name = self._name(result)
            return f"np.asarray({name})" if result._boxed and not _is_given(result) else name
        if isinstance(result, dict) and type(result) is dict:
            parts = [f"{self._constant(key)}: {self._tree(v, outputs)}" for key, v in result.items()]
            return f"{{{', '.join(parts)}}}"
        if isinstance(result, (tuple, list)):
            parts = [self._tree(v, outputs) for v in result]
            if type(result) is list:
                return f"[{', '.join(parts)}]"
            if type(result) is tuple:
                return f"({''.join(f'{part}, ' for part in parts)})"
            return f"{self._constant(type(result))}({', '.join(parts)})"  # a namedtuple
        return self._constant(result) + ".copy()" * isinstance(result, np.ndarray)


def _is_given(value: Traced) -> bool:
    """Returns true for arguments and constants, which `run` does not compute."""
    return value._kind in (INPUT, CONST)


def _described(values: Sequence[Traced]) -> dict[str, str]:
    """Returns dtypes and dims by name."""
    sources = [v._args[0] if v._kind == NUMBER else v for v in values]
    names = {CONST: "constant", INPUT: ""}
    return {
        names.get(v._kind, "t") + (v._name if v._kind == INPUT else f"{v.id}"): (
            f"{v.dtype}({', '.join(map(str, v._dims))})" if v.dtype != object else "tuple"
        )
        for v in sources
    }
