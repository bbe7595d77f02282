"""Maps sizes that only C knows: dims such as nlopt_get_dimension(opt) and v->size, read in each call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cwrapjit._imports import load
from cwrapjit.library import expressions, types
from cwrapjit.library.constants import text_of
from cwrapjit.library.description import Dim, Size
from cwrapjit.library.expressions import BadDim

if TYPE_CHECKING:
    from cwrapjit.library.mapping import Mapper

_MOST_OPERANDS = 6


class Sizes:
    """The sizes in one function's dims. `mapper` knows the parameters."""

    def __init__(self, mapper: Mapper) -> None:
        self.mapper = mapper
        self.found: dict[str, Size] = {}  # by symbol

    def ask(self, node: Any) -> str:
        """Returns the symbol for a call or a member."""
        symbol = text_of(node)
        if symbol not in self.found:
            make = self._call if type(node).__name__ == "FuncCall" else self._member
            self.found[symbol] = make(symbol, node)
        return symbol

    def symbols(self) -> set[str]:
        """Returns the symbols in operands, which must be known before the call."""
        named = (each[0] for size in self.found.values() for each in size.of if isinstance(each, tuple))
        return expressions.symbols(*named)

    def handles(self) -> set[str]:
        """Returns the parameters whose pointers are operands."""
        numbers = (each for size in self.found.values() for each in size.of if isinstance(each, int))
        return {self.mapper.slots[k].name for k in numbers}

    def _call(self, symbol: str, node: Any) -> Size:
        library = self.mapper.library
        name = library.declarations.name_in_c(text_of(node.name))
        declared = library.prototype(name)
        if declared is None:
            raise BadDim(f"{symbol}: nothing declares a function {name}()", node.coord)
        given = node.args.exprs if node.args is not None else []
        wanted = [each.type for each in declared.parameters]
        if len(given) != len(wanted) or declared.variadic or len(given) > _MOST_OPERANDS:
            raise BadDim(
                f"{symbol}: {name}() takes {len(wanted)} arguments, of which there can be six", node.coord
            )
        if not isinstance(declared.result, types.Scalar) or not declared.result.is_integer:
            raise BadDim(f"{symbol}: {name}() returns {types.show(declared.result)}, no integer", node.coord)
        operands = tuple(self._operand(symbol, *each) for each in zip(given, wanted, strict=True))
        address = library.code.address(name, self.mapper.who, function=True)
        return Size(symbol, declared.result.dtype, operands, address)

    def _operand(self, symbol: str, node: Any, ctype: Any) -> int | tuple[Dim, str]:
        if isinstance(ctype, types.Scalar) and ctype.is_integer:
            return expressions.of_tree(node, self.mapper.lookup, self.ask), ctype.dtype
        k = self.mapper.by_name.get(getattr(node, "name", ""))
        given = None if k is None else self.mapper.slots[k].type
        target = types.target_of(ctype)
        found = given.item if types.is_one_struct(given) else getattr(given, "target", None)
        if k is None or target is None or found is None:
            raise BadDim(
                f"{symbol}: {text_of(node)} should be a parameter of type {types.show(ctype)}", node.coord
            )
        if target is not found and not isinstance(target, types.Void):
            raise BadDim(
                f"{symbol}: {text_of(node)} is a {types.show(given)}, not a {types.show(ctype)}", node.coord
            )
        return k

    def _member(self, symbol: str, node: Any) -> Size:
        names: list[str] = []
        at = node
        while type(at).__name__ == "StructRef":
            names.insert(0, at.field.name)
            is_first = type(at.name).__name__ == "ID"
            if is_first != (at.type == "->"):
                fault = f"{at.name.name} is a pointer: ->" if is_first else "it goes through several pointers"
                raise BadDim(f"{symbol}: {fault}", node.coord)
            at = at.name
        k = self.mapper.by_name.get(getattr(at, "name", ""))
        ctype: Any = None if k is None else types.target_of(self.mapper.slots[k].type)
        if k is None or not isinstance(ctype, types.Struct):
            raise BadDim(f"{symbol}: {text_of(at)} is no parameter that points to a struct", node.coord)
        offset = 0
        for name in names:
            ctype, more = self._step(symbol, ctype, name, node)
            offset += more
        if not isinstance(ctype, types.Scalar) or not ctype.is_integer:
            raise BadDim(f"{symbol} is a {types.show(ctype)}, no integer", node.coord)
        return Size(symbol, ctype.dtype, (k,), offset=offset)

    def _step(self, symbol: str, ctype: Any, name: str, node: Any) -> tuple[Any, int]:
        """Returns a member's type and offset."""
        if not isinstance(ctype, types.Struct) or ctype.members is None:
            raise BadDim(f"{symbol}: the members of {types.show(ctype)} are not known", node.coord)
        members = load("cwrapjit.library.members")
        found = next((each for each in members.flatten(ctype) if each.name == name), None)
        if found is None:
            raise BadDim(f"{symbol}: {types.show(ctype)} has no member {name}", node.coord)
        if found.bits >= 0:
            raise BadDim(f"{symbol} is a bit-field", node.coord)
        offsets, _, _, _ = members.measure(self.mapper.library.code, ctype, self.mapper.who)
        return found.type, offsets[name]
