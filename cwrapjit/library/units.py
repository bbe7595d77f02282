"""Compiles the thunks of several functions together."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Collection
from typing import Any

from cwrapjit import _cwrapjit
from cwrapjit.library.code import Code
from cwrapjit.library.declarations import FunctionDeclaration
from cwrapjit.library.description import Function
from cwrapjit.library.thunks import Thunk, Unmapped, Writer


@dataclasses.dataclass
class Mapped:
    """A function before compilation: its description has no addresses yet."""

    declaration: FunctionDeclaration
    function: Function
    thunk: Thunk


class Later:
    """Makes attributes, those in `mapped`, when one of them is used."""

    mapped: Collection[str]

    def finish(self) -> dict[str, Any]:
        raise NotImplementedError


class Pending(Later):
    """Functions that are declared together. Their thunks are one unit, compiled when one of them is used."""

    def __init__(self, code: Code, unmapped: dict[str, str]) -> None:
        """unmapped: gets functions that do not compile at all, with the reason."""
        self.code, self.unmapped = code, unmapped
        self.mapped: dict[str, Mapped] = {}

    def finish(self) -> dict[str, Any]:
        """Returns the callables by name. What does not compile together is tried alone."""
        try:
            made = compile_together(self.code, list(self.mapped.values()))
            return dict(zip(self.mapped, made, strict=True))
        except _cwrapjit.CompileError:
            if len(self.mapped) == 1:
                raise
        except Unmapped:
            pass
        found = {}
        for name, mapped in self.mapped.items():
            try:
                found[name] = compile_together(self.code, [mapped])[0]
            except (_cwrapjit.CompileError, Unmapped) as error:
                self.unmapped[name] = str(error)
        return found


def compile_together(code: Code, mapped: list[Mapped]) -> list[Any]:
    """Returns the callables. Their thunks are one unit per compiler."""
    writers = [Writer(), Writer()]
    places = []
    for each in mapped:
        trial = Writer()
        trial.add(each.thunk, "0")
        chosen = writers[trial.optimize(code.is_by_libtcc(each.declaration))]
        places.append((chosen, chosen.add(each.thunk, code.target(each.declaration))))
    units: dict[int, tuple[object, dict[str, int]]] = {}
    for writer, optimize in zip(writers, (False, True), strict=True):
        if writer.names:
            units[id(writer)] = _compile_unit(code, writer, optimize)
    made = []
    for each, (writer, name) in zip(mapped, places, strict=True):
        owner, by_name = units[id(writer)]
        function = copy.copy(each.function)  # other threads may compile the same functions
        function.thunk = by_name[name]
        function.address = int(code.target(each.declaration))
        function.owner = (owner, code.lifetime or code.environment, each.declaration.code)
        function.result.library = code.lifetime
        function.guard = code.environment if code.debug else None
        made.append(_cwrapjit.wrap_function(function))
    return made


def _compile_unit(code: Code, writer: Writer, optimize: bool) -> tuple[object, dict[str, int]]:
    try:
        owner, addresses = _cwrapjit.compile_thunks(code.environment, writer.text(), writer.names, optimize)
    except RuntimeError as error:
        if not optimize or type(error) is not RuntimeError:  # a subclass was raised while it waited
            raise
        raise Unmapped(
            "a struct of 16 bytes or less with floating and integer members, or arrays of floats, goes by "
            f"value, which libtcc does wrongly ({error})"
        ) from None
    return owner, dict(zip(writer.names, addresses, strict=True))
