"""Collects the texts of variables, from their types, and of nodes, from their ops.

Declarations come first, as they tell whether a variable has C, and so whether its nodes do. The other texts
of variables follow when it is known which of them the steps need."""

from __future__ import annotations

import re
from typing import Any

from cwrapjit.graph.labels import class_of, op_label
from cwrapjit.graph.parties import NOTHING, Party, Piece, flag, taken
from cwrapjit.graph.walk import Node, Value
from cwrapjit.graph.words import read_names

_PERCENT = re.compile(r"%(?:(%)|\(([^)]*)\)s)?")


def _fail(block: int, more: str = "") -> str:
    """Return what leaves a block; what it has entered is cleaned up, see tinyjit.h."""
    return f"{{failure = {block}; goto label_{block}{more};}}"


def fill(party: Party, method: str, piece: Piece | None, words: dict[str, str]) -> Piece:
    """Fill in a template: "%(name)s" by these words, and "%%" by "%". Any other percent sign is refused, as
    it would be a mistake in C text."""
    if piece is None:
        return NOTHING
    text, name = piece
    if "%" not in text:
        return piece

    def word(found: re.Match[str]) -> str:
        percent, key = found.groups()
        if key in words:
            return words[key]
        if percent is None:
            at = found.start()
            place = f"line {text.count(chr(10), 0, at) + 1}, column {at - text.rfind(chr(10), 0, at)}"
            known = ", ".join(f"%({each})s" for each in words)
            why = (
                'a \'%\' that begins neither "%(name)s" nor "%%" (in a template, "%%" stands for one percent '
                "sign)"
                if key is None
                else f"%({key})s is not known here, only {known}"
            )
            party.refuse(method, ValueError, f"is no template that can be filled: {place}: {why}")
        return "%"

    return _PERCENT.sub(word, text), name


# ---- variables -------------------------------------------------------------------------------------------


class _Kind:
    """The properties of a type, found out once."""

    def __init__(self, type: Any) -> None:
        self.templates = flag(type, "c_templates")  # its methods take no arguments and return templates
        if not self.templates:
            declare = getattr(type, "c_declare", None)
            self.templates = callable(declare) and taken(declare)[:2] == (0, False)
        self.simple = flag(type, "c_is_simple")
        self.fetches = getattr(type, "c_extract_out", None) is not None


def _ask(value: Value, method: str, required: bool = True, check: bool | None = None) -> Piece | None:
    """check: the value for check_input; None: the method does not take it."""
    sub = value.sub.copy()  # a copy, which the method may change
    if method == "c_sync":
        sub["fail"] = _fail(value.number + 1, "_cleanup")
    if not value.kind.templates:
        extra = None if check is None else ("check_input", check)
        return value.party.text(method, (value.name, sub), required, extra)
    found = value.party.text(method, (), required)
    return None if found is None else fill(value.party, method, found, sub)


def _declare(value: Value, required: bool = False) -> Piece | None:
    by_clients = value.client_checks if value.has_client else value.owner < 0
    return _ask(value, "c_declare", required, by_clients or value.owner_checks)


def read_checks(nodes: list[Node]) -> None:
    """Find out which checks the ops around a variable want; an op decides for all its variables."""
    for node in nodes:
        checks = flag(node.op, "check_input", True)
        for value in node.made:
            value.owner_checks = checks
        for value in (*node.used, *node.params):
            value.has_client = True
            value.client_checks |= checks


def read_declarations(values: list[Value]) -> None:
    kinds: dict[int, _Kind] = {}
    for block, value in enumerate(values, 1):
        kind = kinds.get(id(value.type))
        if kind is None:
            kind = kinds[id(value.type)] = _Kind(value.type)
        value.kind, name, fail = kind, value.name, _fail(block)
        value.sub = (
            {"name": name, "fail": fail}
            if kind.templates
            else {
                "fail": fail, "id": block, "failure_var": "failure",
                "py_ptr": f"py_{name}", "stor_ptr": f"storage_{name}",
            }
        )  # fmt: skip
        value.declare = _declare(value)


def read_values(values: list[Value]) -> tuple[tuple[Any, ...], ...]:
    """Return the texts of variables for C, once the steps are known."""
    found = []
    for value in values:
        declare = extract = begin = sync = cleanup = NOTHING
        if value.extracted or value.begun:
            declare = value.declare or NOTHING
            if value.extracted:
                checks = not value.has_client or value.client_checks
                extract = _ask(value, "c_extract", check=checks) or NOTHING
            if value.begun:
                way = ("c_extract_out", True, value.owner_checks) if value.fetched else ("c_init",)
                begin = _ask(value, *way) or NOTHING
            if value.is_output:
                sync = _ask(value, "c_sync") or NOTHING
            cleanup = _ask(value, "c_cleanup", False) or NOTHING
        more = ", overwritten by runs" if value.is_overwritten else ""
        comment = f"{value.label} ({class_of(value.type)}){more}"
        fails = not value.kind.templates
        kinds = value.fetched, value.kept, fails
        found.append((value.name, comment, *kinds, declare, extract, begin, sync, cleanup))
    return tuple(found)


# ---- nodes -----------------------------------------------------------------------------------------------


class Operations:
    """Asks all nodes, one by one. Their blocks follow those of variables: for each node a validate block, if
    it has one, and its code. Nodes that run in Python have numbers too, so that numbers do not depend on what
    has C."""

    def __init__(self, nblocks: int, struct_form: bool, validate: bool, python: bool) -> None:
        self.blocks = [""] * nblocks
        self.struct_form, self.validate, self.python = struct_form, validate, python

    def _next_block(self) -> int:
        self.blocks.append("")
        return len(self.blocks)

    def ask(self, node: Node) -> None:
        required = not self.python and not flag(node.op, "python_fallback")
        foreign = next((v for v in node.all() if not v.is_literal and v.declare is None), None)
        if foreign is not None and required:
            _declare(foreign, required=True)  # raises, unless the type changes its answer
            raise NotImplementedError(f"link(): variable {foreign.label} has no C")
        found = None if foreign is not None else self._texts(node, required)
        if found is None and getattr(node.op, "perform", None) is None:
            lacks = f"op {op_label(node.op)} has neither c_code nor perform"
            raise NotImplementedError(f"link(): {lacks}, one of which {node.label} needs")
        node.code_block = self._next_block()
        node.texts = found
        self.blocks[-1] = f"{'perform' if found is None else 'c_code'} of {node.label}"

    def _texts(self, node: Node, required: bool) -> tuple[Any, ...] | None:
        """Return the texts for C of a node whose variables have C; None if it has none itself."""
        said = getattr(node.op, "c_var_names", None)
        text, validate, block = node.party.text, (NOTHING, NOTHING), 0
        words: dict[str, str] = {}
        if said is not None:
            words = self._words(node, said)
            block, validate = self._validate(node, words)
        code_block = len(self.blocks) + 1
        fail = _fail(code_block)
        sub = {"fail": fail, "id": code_block, "failure_var": "failure"}
        for params in node.params:
            sub["params"] = params.name
        if said is None:
            code = self._filled(node, "c_code", sub, required)
            is_silent = code is None or "c_code_cleanup" in node.party.silent()
            cleanup = None if is_silent else self._filled(node, "c_code_cleanup", sub)
        else:
            words["fail"] = fail
            code = text("c_code", (), required)
            cleanup = text("c_code_cleanup") if code is not None else None
            code = None if code is None else fill(node.party, "c_code", code, words)
            cleanup = fill(node.party, "c_code_cleanup", cleanup, words)
        if code is None:
            return None
        own, optional = (node.node, node.name), node.party.optional
        struct = (
            optional("c_support_code_apply", own),
            optional("c_element_code", own),
            optional("c_support_code_struct", own),
            optional("c_init_code_struct", (*own, sub)),
            optional("c_cleanup_code_struct", own),
        )
        self._check_init(node, struct[3][0])
        comment = f"{node.party.piece} = {node.label}"
        return node.name, comment, code_block, block, *struct, *validate, code, cleanup or NOTHING

    def _filled(self, node: Node, method: str, sub: dict[str, Any], required: bool = False) -> Piece | None:
        inputs, outputs = [v.name for v in node.used], [v.name for v in node.made]
        return node.party.text(method, (node.node, node.name, inputs, outputs, sub.copy()), required)

    def _words(self, node: Node, said: Any) -> dict[str, str]:
        """Return a template op's names of its variables with those in C; the failure code is still empty."""
        if callable(said):
            said = node.party.ask("c_var_names", (), True)
        names = read_names(node.party, said, len(node.used), len(node.made))
        words = {"fail": ""} | dict(zip(names, (v.name for v in (*node.used, *node.made)), strict=True))
        for params in node.params:
            words["params"] = words.get("params", params.name)
        return words

    def _validate(self, node: Node, words: dict[str, str]) -> tuple[int, tuple[Piece, Piece]]:
        """Return the validate block, with the next number, if the op has one and the caller wants it."""
        methods = ("c_validate_update", "c_validate_update_cleanup")
        found = [node.party.text(method) or NOTHING for method in methods] if self.validate else [NOTHING] * 2
        if not found[0][0] and not found[1][0]:
            return 0, (NOTHING, NOTHING)
        block = self._next_block()
        self.blocks[-1] = f"{methods[0]} of {node.label}"
        words["fail"] = _fail(block)
        first, last = (fill(node.party, m, piece, words) for m, piece in zip(methods, found, strict=True))
        return block, (first, last)

    def _check_init(self, node: Node, text: str) -> None:
        """Refuse init code that uses parameters, unless the state keeps these: mode='struct'."""
        for params in node.params if not self.struct_form and text else ():
            if not params.is_literal and params.name in text:
                node.party.refuse(
                    "c_init_code_struct", ValueError, "uses parameters, which takes mode='struct'"
                )
