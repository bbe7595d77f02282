"""Compiles a cell of C, binds its functions in the notebook's namespace, and prints messages about it."""

from __future__ import annotations

import builtins
import dataclasses
import sys
import time
from typing import TYPE_CHECKING, Any

from cwrapjit import _cwrapjit
from cwrapjit._imports import load
from cwrapjit.notebook import faults
from cwrapjit.notebook.names import Names
from cwrapjit.notebook.options import Options, read, refuse
from cwrapjit.notebook.remarks import Check

if TYPE_CHECKING:
    from cwrapjit.library.public import Library

_NOTHING = "nothing to call: the text defines no function, or static ones alone"

# IPython itself looks up these names: no cell could run without them.
NOT_OURS = ("In", "Out", "get_ipython")


@dataclasses.dataclass
class Place:
    """The position of C text in a cell. Line numbers are those of the whole cell."""

    cell: str | None  # the cell's id
    label: str  # the name of the cell in messages; "" if the cell is unknown
    before: int  # the number of lines above the text


@dataclasses.dataclass
class Compiled:
    """The result of compiling a cell."""

    library: Library
    functions: dict[str, Any]
    text: str
    place: Place
    file: str  # the name of the text in messages
    compiler_file: str  # the compiler's name for it
    seconds: float


class Cells:
    """Runs the magics of one shell."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.names = Names(shell.user_ns)
        self.late: list[Check] = []  # pending checks, in front ends that cannot add to an older cell's output
        self.raw = ""
        self.id: str | None = None

    def begins(self, info: Any) -> None:
        """IPython calls this before it runs a cell."""
        self.late = [check for check in self.late if not check.tell()]
        self.raw = info.raw_cell or ""
        self.id = getattr(info, "cell_id", None)

    def run(self, parser: Any, line: str, text: str, in_line: bool = False) -> None:
        """Runs a magic. A cell that fails leaves none of its names bound."""
        magic = "%cwrapjit" if in_line else "%%cwrapjit"
        place = self._place(text, in_line)
        self.names.forget(place.cell, text)
        options = read(parser, line, magic)
        if options.name is not None:
            self.names.forget_library(options.name)
        made = self._compile(options, text, place, magic)
        found = self._to_bind(made, options, magic)
        self._say(made, options, found)
        self.names.bind(found, place.cell, options.name)
        if options.verbose:
            print(_report(made, options))
        if options.annotate:
            load("IPython.display").display(load("cwrapjit.notebook.listing").Listing(made))
        else:
            self._check(made)

    def _check(self, made: Compiled) -> None:
        """Shows the compiler's warnings, below the cell if they come soon enough."""
        check = Check(made)
        if not check.wait() and not check.tell_later(self.shell):
            self.late.append(check)

    def _place(self, text: str, in_line: bool) -> Place:
        """Returns the position of the text in the running cell, or no cell if other code called the magic."""
        wanted = text.strip()
        at = self.raw.find(wanted) if in_line else self.raw.rfind(wanted)
        if not in_line and not (self.raw.lstrip()[:2] == "%%" and self.raw.rstrip().endswith(wanted)):
            at = -1
        if at < 0 or not wanted:
            return Place(None, "", 0)
        if not in_line:
            at -= len(text) - len(text.lstrip())  # empty lines above the text belong to it
        return Place(
            None if in_line else self.id,
            self._label(),
            max(self.raw.count("\n", 0, max(at, 0)), 0),
        )

    def _label(self) -> str:
        """Returns IPython's name of the running cell, or "" if the code comes from no cell."""
        frame: Any = sys._getframe()
        while frame is not None:
            known = self.shell.compile.format_code_name(frame.f_code.co_filename)
            if known:
                return " ".join(known)
            frame = frame.f_back
        return ""

    def _compile(self, options: Options, text: str, place: Place, magic: str) -> Compiled:
        if options.cc is not None:
            _cwrapjit.config.compiler = options.cc
        name = options.name or options.module or place.label.removeprefix("Cell ") or "cell"
        file = f"<cwrapjit {name} source>"
        begin = time.perf_counter()
        try:
            library = load("cwrapjit.library.public").Library(
                name,
                source="\n" * place.before + text,
                include_dirs=options.include_dirs,
                library_dirs=options.library_dirs,
                libraries=options.libraries,
                define_macros=options.define_macros,
                fastmath=options.fastmath,
                threads=options.threads,
                cast=options.cast,
                copies=options.copies,
                optimize=options.optimize,
                debug=options.debug,
            )
            functions = {each: getattr(library, each) for each in library.mapped}
        except _cwrapjit.CompileError as error:
            if place.label:
                faults.move(error, file, place.label)
            raise
        except (OSError, ValueError) as error:  # a missing library, or an option of the wrong kind
            refuse(str(error).removeprefix(f"library({name!r}): "), magic)
        seconds = time.perf_counter() - begin
        return Compiled(library, functions, text, place, place.label or file, file, seconds)

    def _to_bind(self, made: Compiled, options: Options, magic: str) -> dict[str, Any]:
        """Returns the names and values to bind, or raises UsageError."""
        core = made.library._core
        if not made.text.strip():
            refuse("there is no C text", magic)
        if "main" in made.functions or "main" in made.library.unmapped:
            refuse(
                "main() is where programs begin. Here Python calls each function: give it another name, and "
                "parameters for what it should work on",
                magic,
            )
        if options.module is not None:
            if not (made.functions or made.library.unmapped or core.variables):
                refuse(_NOTHING, magic)
            return {options.module: made.library}
        if not made.functions:
            reasons = "; ".join(_not_mapped(made))
            refuse(reasons or _NOTHING, magic)
        for name in made.functions:
            if name in NOT_OURS:
                refuse(f"{name} is IPython's own name: rename the function, or use --module NAME", magic)
        return made.functions

    def _say(self, made: Compiled, options: Options, found: dict[str, Any]) -> None:
        """Prints a line for each fact that may surprise users."""
        lines = _not_mapped(made)
        if options.module is None:
            for name in made.library._core.variables:
                lines.append(f"{name} is a variable: --module NAME makes it NAME.{name}")
            for name in made.library._core.declared.prototypes:
                attribute = load("cwrapjit.library.names").attribute_name(name)
                if attribute != name and attribute in found:
                    lines.append(f"{name}() is called {attribute} in Python")
        if options.fastmath and _cwrapjit.library_has_state(made.library._core.code.environment):
            lines.append(
                "--fastmath changes nothing: libtcc's code is called, as the text writes to its variables"
            )
        for name in found:
            if hasattr(builtins, name) and name not in self.names.namespace:
                lines.append(f"{name} hides Python's own {name} (del {name} brings it back)")
        for line in lines:
            print(f"cwrapjit: {line}")


def _not_mapped(made: Compiled) -> list[str]:
    reasons = {
        name: text.replace(made.compiler_file, made.file) for name, text in made.library.unmapped.items()
    }
    return [f"{name} is not mapped: {reason}" for name, reason in reasons.items()]


def _report(made: Compiled, options: Options) -> str:
    """Returns the text that -v prints."""
    functions = made.functions
    width = max((len(name) for name in functions), default=0)
    number = f"{len(functions)} function{'s' * (len(functions) != 1)}"
    lines = [f"{made.file}: {number} compiled in {made.seconds * 1e3:.1f} ms"]
    if options.module is not None:
        lines[0] += f", in {options.module}"
    for name, function in functions.items():
        lines.append(f"  {name:{width}}  {describe(function)}")
    return "\n".join(lines)


def describe(function: Any) -> str:
    """Returns the prototype and types of a function in one line."""
    if isinstance(function, _cwrapjit.Function):
        return f"{function.signature}, {', '.join(function.types)}"
    return str(function.__doc__).partition("\n")[0]
