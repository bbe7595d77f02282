"""link(), and all that Python finds out about a graph before C reads it (csrc/graph/link/) and compiles.

The graph is walked and numbered (walk.py), types and ops return their C (texts.py), nodes are grouped into
steps (steps.py), and the needs of the unit as a whole are collected (words.py)."""

from __future__ import annotations

from sys import intern
from typing import TYPE_CHECKING, Any, Literal

from cwrapjit._cwrapjit import Graph, compile_graph, config
from cwrapjit._options import checked
from cwrapjit.graph.base import check_flag
from cwrapjit.graph.labels import is_showable
from cwrapjit.graph.parties import takes_parameters
from cwrapjit.graph.steps import make_steps
from cwrapjit.graph.texts import Operations, read_checks, read_declarations, read_values
from cwrapjit.graph.walk import Node, Numbering, Value, Walk
from cwrapjit.graph.words import read_settings

if TYPE_CHECKING:
    from collections.abc import Iterable

_MOST_CODES = 64
_codes: dict[Any, Any] = {}  # in the order of their last use


def _filter(value: Value) -> Any:
    """Return the bound method that calls apply to an argument, unless it is known to do nothing."""
    found = getattr(value.type, "filter", None)
    return None if found is None or getattr(found, "identity", False) else found


def _keyword(variable: Any) -> str | None:
    """Return the name by which an input can be passed."""
    name = getattr(variable, "name", None)
    return intern(name) if type(name) is str else None


def _variable(value: Value, filter: Any) -> tuple[Any, ...]:
    return (
        value.variable, value.type, value.label, filter, value.update, value.is_constant, value.value,
        value.stored, value.is_output, value.is_overwritten,
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
    """Return what the graph keeps: name, variables, nodes in the order in which they run, names of blocks,
    names of inputs, outputs. Then steps, texts of variables, texts of nodes, the settings of the unit, and
    the key of its code.
    TypeError: the graph is invalid. ValueError: it cannot run. NotImplementedError: C is missing."""
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
            raise NotImplementedError(
                f"link(): {node.label} has no perform(), which check=True compares with"
            )
    steps = make_steps(values, len(numbered), nodes, struct_form, per_op or check, check)
    in_c = [value for value in values if value.extracted or value.begun or value.is_literal]
    texts = read_values(numbered)
    for value in numbered:
        if value.extracted or value.begun:
            method = "c_extract_out" if value.fetched else "c_init" if value.begun else "c_extract"
            operations.blocks[value.number] = f"{method} of {value.label}"
    nodes_in_c = [node for node in nodes if node.texts is not None]
    parts = tuple([step.said() for step in steps]), texts, tuple([node.texts for node in nodes_in_c])
    kept = (
        name,
        tuple(map(_variable, values, filters)),
        tuple([_node(node, check) for node in nodes]),
        tuple(operations.blocks),
        tuple(map(_keyword, walk.inputs)),
        found.outputs,
    )
    if not nodes_in_c:
        return kept, *parts, None, None
    return kept, *parts, *read_settings(in_c, nodes_in_c, (name, struct_form, *parts))


def _compiled(said: tuple[Any, ...], made_by: tuple[Any, ...], *options: Any) -> Graph:
    """Compiles what read_graph() has returned, or takes code of the same text, versions and options. The key
    has all texts, so even if a type or op changes its text but not its version, old code is never run."""
    *parts, key = said
    settings = config.optimize, config.math, config.debug
    key = None if key is None else (key, settings, options)
    graph, code = compile_graph(tuple(parts), made_by, _codes.get(key), *options)
    if key is not None:
        _codes.pop(key, None)
        _codes[key] = code
        while len(_codes) > _MOST_CODES:  # several if a drop failed before: it calls a version's __hash__
            _codes.pop(next(iter(_codes)), None)
    return graph


@checked("link()")
def link(
    inputs: Iterable[Any],
    outputs: Any,
    *,
    mode: Literal["struct", "function"] = "struct",
    per_op: bool = False,
    validate: bool = True,
    check: bool = False,
    name: str = "graph",
    python: bool = False,
    updates: dict[Any, Any] | None = None,
    optimize: Literal["auto", "eager", "off"] | None = None,
    fastmath: bool | None = None,
    math: Literal["cwrapjit", "libm"] | None = None,
    debug: bool | Literal["left"] | None = None,
) -> Graph:
    """Compile a graph of types and ops to one function, a Graph.

    >>> import cwrapjit
    >>> import cwrapjit.graph as cg
    >>> x, y = cg.float64('x'), cg.float64('y')
    >>> cwrapjit.link([x, y], x * y + 1)(2.0, 3.0)
    7.0

    inputs: a sequence of variables, or of cwrapjit.graph.In(variable, mutable=True) for those that runs may
    overwrite.
    outputs: a variable or a sequence of them. A call returns the value of a single output, a tuple of
    several.
    mode: 'struct' keeps outputs and temporaries from run to run, 'function' keeps nothing.
    per_op: all values between ops are passed as Python objects.
    validate: False leaves out c_validate_update.
    check: each op is compared with its perform().
    name: the graph's name in messages.
    python: ops without C code run by their perform().
    updates: {input: variable}, the variables whose values inputs take after a run.
    optimize, fastmath, math, debug: as for function().

    Raises CompileError for C that does not compile, NotImplementedError for ops and types without C,
    TypeError and ValueError for invalid graphs.
    """
    if not isinstance(updates, dict | None):
        raise TypeError(f"link(): updates must be a dict, not {type(updates).__name__}")
    flags = {"per_op": per_op, "validate": validate, "check": check, "python": python}
    for option, value in flags.items():
        check_flag("link()", option, value)
    if mode not in ("struct", "function"):
        error = ValueError if isinstance(mode, str) else TypeError
        raise error(f"link(): mode must be 'struct' or 'function', not {mode!r}")
    if not isinstance(name, str):
        raise TypeError(f"link(): name must be a str, not {type(name).__name__}")
    struct_form, name = mode == "struct", str.__str__(name)
    said = read_graph(name, inputs, outputs, updates, struct_form, **flags)
    kept = {"mode": mode, "name": name, "updates": dict(updates or ()), **flags}
    kept |= {"optimize": optimize, "fastmath": fastmath, "math": math, "debug": debug}
    given = [tuple(each) if isinstance(each, list) else each for each in (inputs, outputs)]
    return _compiled(said, (*given, kept), struct_form, check, optimize, fastmath, math, debug)
