"""All that link() finds out of a graph, before something is compiled: what csrc/graph/link/read_plan.c reads.

The graph is walked through and numbered (walk.py), types and ops are asked for their C (texts.py), nodes are
cut into steps (steps.py), and what the unit needs as a whole is asked for (words.py).
"""

from __future__ import annotations

from sys import intern
from typing import Any

from cwrapjit.graph.labels import is_showable
from cwrapjit.graph.parties import takes_parameters
from cwrapjit.graph.steps import make_steps
from cwrapjit.graph.texts import Operations, read_checks, read_declarations, read_values
from cwrapjit.graph.walk import Node, Numbering, Value, Walk
from cwrapjit.graph.words import read_settings


def _filter(value: Value) -> Any:
    """Return the bound method that calls apply to an argument, unless it is known to do nothing."""
    found = getattr(value.type, "filter", None)
    return None if found is None or getattr(found, "identity", False) else found


def _keyword(variable: Any) -> str | None:
    """Return the name by which an input can be given."""
    name = getattr(variable, "name", None)
    return intern(name) if type(name) is str else None


def _variable(value: Value, filter: Any) -> tuple[Any, ...]:
    return (
        value.variable, value.type, value.label, filter, value.update, value.is_constant, value.value,
        value.is_literal, value.stored, value.is_output, value.is_overwritten,
    )  # fmt: skip


def _node(node: Node, check: bool) -> tuple[Any, ...]:
    inputs, outputs = tuple([v.number for v in node.used]), tuple([v.number for v in node.made])
    perform = getattr(node.op, "perform", None) if node.params and (check or node.texts is None) else None
    params = node.params[0].number if perform is not None and takes_parameters(perform) else -1
    return node.node, node.op, node.label, inputs, outputs, params, node.code_block


def read_graph(
    name: str,
    inputs: Any,
    outputs: Any,
    updates: dict[Any, Any] | None,
    struct_form: bool,
    per_op: bool,
    validate: bool,
    check: bool,
    python: bool,
) -> tuple[Any, ...]:
    """Return variables, nodes in the order in which they run, what blocks and inputs are called, outputs;
    steps, the texts of variables and of nodes, and what the unit needs.

    TypeError for what is no graph, ValueError for one that cannot run, NotImplementedError for what has no C.
    """
    if not is_showable(name):
        raise ValueError(f"link(): name must be printable text, not {name!r}")
    walk = Walk(inputs, outputs, updates)
    if not (per_op or check):
        walk.fuse()
    found = Numbering(walk)
    values, nodes, numbered = found.values, found.nodes, found.values[: found.nnumbered]
    filters = [_filter(value) for value in values[: len(walk.inputs)]]
    filters += [None] * (len(values) - len(filters))
    read_checks(nodes)
    read_declarations(numbered)
    operations = Operations(len(numbered), struct_form, validate, python)
    for node in nodes:
        operations.ask(node)
        if check and getattr(node.op, "perform", None) is None:
            raise NotImplementedError(f"{name}(): {node.label} has no perform()")
    steps = make_steps(values, len(numbered), nodes, struct_form, per_op or check, check)
    in_c = [value for value in values if value.extracted or value.begun or value.is_literal]
    texts = read_values(numbered)
    for value in numbered:
        if value.extracted or value.begun:
            method = "c_extract_out" if value.fetched else "c_init" if value.begun else "c_extract"
            operations.blocks[value.number] = f"{method} of {value.label}"
    nodes_in_c = [node for node in nodes if node.texts is not None]
    parts = tuple([step.said() for step in steps]), texts, tuple([node.texts for node in nodes_in_c])
    return (
        tuple(map(_variable, values, filters)),
        tuple([_node(node, check) for node in nodes]),
        tuple(operations.blocks),
        tuple(map(_keyword, walk.inputs)),
        found.outputs,
        *parts,
        read_settings(in_c, nodes_in_c, (name, struct_form, *parts)) if nodes_in_c else None,
    )
