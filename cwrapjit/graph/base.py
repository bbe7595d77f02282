"""The parts of graphs: variables, nodes, and the base classes of types and ops.

link() does not need these classes: it reads attributes (variable.type, .owner, .name; node.op, .inputs,
.outputs) and calls c_ methods of any class. These classes document the methods, and give each optional method
a default.

There are two protocols. In the *filled* one (CType, COp) methods take names and return final C text. In the
*template* one (ResultBase, Op) they take no arguments and return text with "%(name)s" and "%(fail)s" in it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from cwrapjit._content import Shown
from cwrapjit._imports import load


def _missing(owner: object, method: str) -> NoReturn:
    raise NotImplementedError(f"{type(owner).__name__} does not define {method}()")


def check_flag(who: str, option: str, value: object) -> None:
    """Checks an option as the C side does."""
    if not isinstance(value, bool):
        raise TypeError(f"{who}: {option} must be True or False, not {value!r}")


# ---- variables and nodes -------------------------------------------------------------------------


class Named:
    """repr() is str(). Pickled by the class's name, which may refer to another import of the package now."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: Any) -> Any:
        now = load("cwrapjit._travel").now
        # From protocol 2 on, the class in a pickle must be the object's own.
        made = super().__reduce_ex__(protocol if now(type(self)) is type(self) else 1)
        if isinstance(made, str):
            return made
        return now(made[0]), tuple(map(now, made[1])), *made[2:]

    def __repr__(self) -> str:
        return str(self)


class Variable(Named, Shown):
    """A value of a graph: an input, or an output of a node. Variables are distinguished by identity, never by
    name.

    >>> import cwrapjit.graph as cg
    >>> cg.float64("x").type, cg.float64("x").owner
    (float64, None)

    type: the type, such as cwrapjit.graph.float64. Calling a type makes a variable, too.
    name: the name in messages, and the keyword of calls.
    owner: the node that computes it; None for an input.
    index: the number of this output among those of the node.

    Raises TypeError for a name that is not a str."""

    def __init__(
        self, type: Any, name: str | None = None, owner: Apply | None = None, index: int | None = None
    ) -> None:
        if name is not None and not isinstance(name, str):
            raise TypeError(f"a variable's name must be a str, not {_class_name(name)}")
        self.type = type
        self.name = name
        self.owner = owner
        self.index = index

    def __str__(self) -> str:
        if self.name is not None:
            return self.name
        if self.owner is not None:
            place = f".{self.index}" if len(self.owner.outputs) > 1 else ""
            return f"{self.owner.op}{place}"
        return f"<{self.type}>"

    def clone(self, name: str | None = None) -> Variable:
        """A new variable of the same type, without owner.

        name: its name; None: the same."""
        made = copy.copy(self)
        made.owner = made.index = None
        made.name = self.name if name is None else name
        return made


class Constant(Variable):
    """A variable with a value.

    >>> import cwrapjit, cwrapjit.graph as cg
    >>> x, two = cg.float64("x"), cg.Constant(cg.float64, 2)
    >>> cwrapjit.link([x], x * two)(3.0)
    6.0

    type: the type.
    data: the value, which filter() of the type converts, and which raises what does not fit.
    name: the name in messages."""

    def __init__(self, type: Any, data: Any, name: str | None = None) -> None:
        super().__init__(type, name)
        filter = getattr(type, "filter", None)
        self.data = data if filter is None else filter(data)

    @property
    def value(self) -> Any:
        """The same as data."""
        return self.data

    def __str__(self) -> str:
        return self.name if self.name is not None else repr(self.data)


class In(Named):
    """An input of link() with settings.

    >>> import cwrapjit.graph as cg
    >>> cg.In(cg.float64("x"), mutable=True)
    In(x, mutable=True)

    variable: the input.
    mutable: True: runs may overwrite the caller's object, if an op of the graph does so (destroy_map).

    Raises TypeError for what is no variable."""

    def __init__(self, variable: Any, *, mutable: bool = False) -> None:
        if not is_variable(variable):
            raise TypeError(f"In() takes a variable, not {_class_name(variable)}")
        check_flag("In()", "mutable", mutable)
        self.variable = variable
        self.mutable = mutable

    def __repr__(self) -> str:
        return f"In({self.variable}, mutable={self.mutable})"


class Apply(Named):
    """A node: an op, its input variables and its output variables.

    >>> import cwrapjit.graph as cg
    >>> x = cg.float64("x")
    >>> cg.Apply(cg.deep_copy, [x], [x.type()]).out.owner.inputs
    [x]

    op: the op.
    inputs: variables.
    outputs: new variables; they get this node as their owner.

    Raises TypeError for what is no variable, ValueError for an output of another node."""

    def __init__(self, op: Any, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        self.op = op
        self.inputs = list(inputs)
        self.outputs = list(outputs)
        for kind, variables in (("input", self.inputs), ("output", self.outputs)):
            for place, variable in enumerate(variables):
                if not is_variable(variable):
                    raise TypeError(
                        f"Apply of {op}: {kind} {place} must be a variable, not {_class_name(variable)}"
                    )
        for index, output in enumerate(self.outputs):
            if output.owner is not None:
                raise ValueError(f"Apply of {op}: output {index}, {output}, belongs to another node")
        for index, output in enumerate(self.outputs):
            output.owner = self
            output.index = index

    @property
    def out(self) -> Any:
        """The only output."""
        if len(self.outputs) != 1:
            raise AttributeError(f"{self} has {len(self.outputs)} outputs, not one")
        return self.outputs[0]

    def __str__(self) -> str:
        return f"{self.op}({', '.join(map(str, self.inputs))})"


def is_variable(value: object) -> bool:
    """True for an object that has a type and an owner, as variables have."""
    return not isinstance(value, type) and hasattr(value, "type") and hasattr(value, "owner")


def _class_name(value: object) -> str:
    return type(value).__name__


# ---- types ---------------------------------------------------------------------------------------


def _identity(self: Any, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
    """Returns the value as an object of this type; by default, returns it unchanged. strict: refuses instead
    of converting. allow_downcast: precision may be lost. Raises TypeError for values that do not fit the
    type."""
    return value


_identity.identity = True  # type: ignore[attr-defined]  # calls leave such a filter out


class _Settings(Named):
    """Requests that types and ops can make of the compilation. Methods that take c_compiler get it."""

    def c_headers(self, *args: Any, **kwargs: Any) -> Any:
        """Headers to include: "<math.h>", '"own.h"'."""
        return []

    def c_libraries(self, *args: Any, **kwargs: Any) -> Any:
        """Libraries to load: "m"."""
        return []

    def c_header_dirs(self, *args: Any, **kwargs: Any) -> Any:
        """Folders with headers."""
        return []

    def c_lib_dirs(self, *args: Any, **kwargs: Any) -> Any:
        """Folders with libraries."""
        return []

    def c_compile_args(self, *args: Any, **kwargs: Any) -> Any:
        """Arguments for the compiler: "-DX=1"."""
        return []

    def c_no_compile_args(self, *args: Any, **kwargs: Any) -> Any:
        """Arguments to leave out, even if others add them."""
        return []

    def c_init_code(self, *args: Any, **kwargs: Any) -> Any:
        """Statements that run once, before everything else."""
        return []

    def c_support_code(self, *args: Any, **kwargs: Any) -> Any:
        """Functions and types, at file level. A text that several types and ops share is written once."""
        return ""

    def c_compiler(self) -> str | None:
        """The compiler that has to be used: a command, or None for any."""
        return None

    def c_code_cache_version(self) -> tuple[Any, ...]:
        """Must change with the C text. (): compiled code is never reused for another graph."""
        return ()

    def __str__(self) -> str:
        return type(self).__name__


class CType(_Settings):
    """A type whose methods convert its values to C variables and back to Python objects: the filled protocol.

    Methods take the variable's C name, and sub, a dict with "fail": text that leaves the block with an
    exception set. All names in c_declare() must contain the variable's. py_NAME is the Python object."""

    variable_class: type[Variable] = Variable
    filter: Callable[..., Any] = _identity

    def __call__(self, name: str | None = None) -> Any:
        """A new variable of this type."""
        return self.variable_class(self, name)

    def c_declare(self, *args: Any, **kwargs: Any) -> str:
        """c_declare(name, sub, check_input=True): declarations of C variables."""
        _missing(self, "c_declare")

    def c_init(self, *args: Any, **kwargs: Any) -> str:
        """c_init(name, sub): initialises them if there is no object."""
        _missing(self, "c_init")

    def c_extract(self, *args: Any, **kwargs: Any) -> str:
        """c_extract(name, sub, check_input=True): fills them from py_NAME."""
        _missing(self, "c_extract")

    def c_sync(self, *args: Any, **kwargs: Any) -> str:
        """c_sync(name, sub): makes py_NAME an object with their value."""
        _missing(self, "c_sync")

    def c_cleanup(self, *args: Any, **kwargs: Any) -> str:
        """c_cleanup(name, sub): frees what they own."""
        _missing(self, "c_cleanup")

    def c_element_type(self) -> str:
        """Returns the C type of an element: "npy_int32"."""
        _missing(self, "c_element_type")

    def c_literal(self, data: Any) -> str:
        """Returns a C expression for a constant, or "" if there is none."""
        return ""

    def c_is_simple(self) -> bool:
        """True for a number or a small struct, which is not worth keeping between runs."""
        return False

    def values_eq(self, a: Any, b: Any) -> bool:
        """True if the values are equal."""
        return bool(a == b)

    def values_eq_approx(self, a: Any, b: Any, *args: Any, **kwargs: Any) -> bool:
        """True if the values are equal up to rounding."""
        return self.values_eq(a, b)


class BuiltIn(CType):
    """What the built-in types have in common: one C variable of type ctype. Those of one class are equal if
    their keys are."""

    ctype: str

    def _key(self) -> tuple[Any, ...]:
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((type(self), self._key()))

    def c_is_simple(self) -> bool:
        return True

    def c_element_type(self) -> str:
        return self.ctype

    def c_headers(self, c_compiler: Any = None) -> list[str]:
        return ["<Python.h>"]

    def c_declare(self, name: str, sub: dict[str, str], check_input: bool = True) -> str:
        return f"{self.ctype} {name};"

    def c_init(self, name: str, sub: dict[str, str]) -> str:
        return f"{name} = NULL;"

    def c_cleanup(self, name: str, sub: dict[str, str]) -> str:
        return ""

    def c_code_cache_version(self) -> tuple[Any, ...]:
        return (1, *self._key())


class ResultBase(_Settings):
    """A variable that is its own type: the template protocol.

    Calling the class with a name makes a variable, and so does calling a variable. The c_ methods take no
    arguments; in their results "%(name)s" is the variable's C name, and "%(fail)s" leaves the block.

    name: the variable's name.

    Raises TypeError for a name that is not a str; methods that are missing raise NotImplementedError."""

    c_templates = True
    c_is_simple = False
    filter: Callable[..., Any] = _identity

    def __init__(self, name: str | None = None) -> None:
        if name is not None and not isinstance(name, str):
            raise TypeError(f"a variable's name must be a str, not {_class_name(name)}")
        self.name = name
        self.owner: Apply | None = None
        self.index: int | None = None

    def __call__(self, name: str | None = None) -> Any:
        """A new variable of the same class, with the same attributes."""
        made = copy.copy(self)
        ResultBase.__init__(made, name)
        return made

    @property
    def type(self) -> Any:
        """The object itself, which has the c_ methods."""
        return self

    def c_declare(self) -> str:
        """Declares C variables, all with "%(name)s" in their names."""
        _missing(self, "c_declare")

    def c_init(self) -> str:
        """Initialises them: zero, NULL."""
        _missing(self, "c_init")

    def c_extract(self) -> str:
        """Fills them from py_%(name)s."""
        _missing(self, "c_extract")

    def c_sync(self) -> str:
        """Makes py_%(name)s an object with their value. Must not fail."""
        _missing(self, "c_sync")

    def c_cleanup(self) -> str:
        """Frees what they own."""
        return ""

    def __str__(self) -> str:
        return self.name if self.name is not None else f"<{type(self).__name__}>"


# ---- ops -----------------------------------------------------------------------------------------


class _OpClass(type):
    """Lets a class of ops be used as an op: calling it with variables applies an instance that was made
    without arguments."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if args and is_variable(args[0]):
            return super().__call__()(*args, **kwargs)
        return super().__call__(*args, **kwargs)

    @property
    def __signature__(cls) -> Any:
        """The signature of __init__; help() and editors would show that of __call__() above."""
        inspect, own = load("inspect"), cls.__init__  # type: ignore[misc]
        if own is object.__init__:
            return inspect.Signature()
        return inspect.Signature(list(inspect.signature(own).parameters.values())[1:])


def _names_of(op: Any) -> Sequence[tuple[str, ...]]:
    """Returns c_var_names of a template op."""

    def refuse(error: type[Exception], why: str) -> NoReturn:
        raise error(f"c_var_names of {op} {why}")

    said = op.c_var_names
    sides: Sequence[tuple[str, ...]] = load("cwrapjit.graph.words").read_sides(
        said() if callable(said) else said, refuse
    )
    return sides


def _of_types(op: Any, role: str, types: Sequence[Any], variables: Sequence[Any]) -> None:
    if len(types) != len(variables):
        raise TypeError(f"{op} takes {len(types)} {role}s, not {len(variables)}")
    for place, (wanted, variable) in enumerate(zip(types, variables, strict=True)):
        if variable.type != wanted:
            raise TypeError(f"{op}: {role} {place} must be of type {wanted}, not {variable.type}")


class COp(_Settings, metaclass=_OpClass):
    """An operation with C code: the filled protocol.

    c_code(node, name, inputs, outputs, sub) takes the C names of inputs and outputs. With c_var_names() the
    op uses the template protocol instead; see Op.

    __props__, a tuple of attribute names: ops with equal attributes are equal. itypes and otypes, lists of
    types, describe inputs and outputs; without them, make_node() makes one output of the first input's type.
    view_map = {0: [0]} says that output 0 may share memory with input 0. destroy_map says that the op
    overwrites an input: ops that read this input then run before, or link() refuses the graph."""

    __props__: tuple[str, ...] | None = None
    itypes: Sequence[Any] | None = None
    otypes: Sequence[Any] | None = None
    params_type: Any = None
    check_input = True

    def __call__(self, *inputs: Any, **kwargs: Any) -> Any:
        """Returns the output of a new node, or the list of outputs."""
        node = self.make_node(*inputs, **kwargs)
        for name in ("op", "inputs", "outputs"):
            if not hasattr(node, name):
                raise TypeError(
                    f"{self}.make_node() must return a node, which has .{name}: got {_class_name(node)}"
                )
        outputs = node.outputs
        return outputs[0] if len(outputs) == 1 else list(outputs)

    def make_node(self, *inputs: Any) -> Any:
        """Makes a node with new outputs. Raises TypeError for inputs that do not fit."""
        for place, variable in enumerate(inputs):
            if not is_variable(variable):
                raise TypeError(f"{self}: input {place} must be a variable, not {_class_name(variable)}")
        if self.itypes is not None:
            _of_types(self, "input", self.itypes, inputs)
        if self.otypes is not None:
            return Apply(self, inputs, [made() for made in self.otypes])
        if not inputs:
            raise TypeError(
                f"{self} has no inputs: define make_node() or otypes, so that its outputs have types"
            )
        count = 1
        if hasattr(self, "c_var_names"):
            wanted, produced = _names_of(self)
            count = len(produced)
            if len(wanted) != len(inputs):
                raise TypeError(f"{self} takes {len(wanted)} inputs ({', '.join(wanted)}), not {len(inputs)}")
        return Apply(self, inputs, [inputs[0].type() for _ in range(count)])

    def perform(self, node: Any, inputs: Sequence[Any], output_storage: Any, *params: Any) -> None:
        """Computes in Python: output_storage[i][0] = ..."""
        _missing(self, "perform")

    def get_params(self, node: Any) -> Any:
        """Returns the value of params_type for this op, by default made of the op's attributes."""
        make = getattr(self.params_type, "get_params", None)
        if make is None:
            _missing(self, "get_params")
        return make(self)

    def c_code(self, *args: Any, **kwargs: Any) -> str:
        """c_code(node, name, inputs, outputs, sub): the operation."""
        _missing(self, "c_code")

    def c_code_cleanup(self, *args: Any, **kwargs: Any) -> str:
        """c_code_cleanup(node, name, inputs, outputs, sub): runs after c_code, even if that failed."""
        return ""

    def c_support_code_apply(self, *args: Any, **kwargs: Any) -> str:
        """c_support_code_apply(node, name): functions and types of one node, with name in their names."""
        return ""

    def c_init_code_apply(self, *args: Any, **kwargs: Any) -> str:
        """c_init_code_apply(node, name): statements of one node that run once, before everything else."""
        return ""

    def c_support_code_struct(self, *args: Any, **kwargs: Any) -> str:
        """c_support_code_struct(node, name): declares what one node keeps from run to run."""
        return ""

    def c_init_code_struct(self, *args: Any, **kwargs: Any) -> str:
        """c_init_code_struct(node, name, sub): initialises that."""
        return ""

    def c_cleanup_code_struct(self, *args: Any, **kwargs: Any) -> str:
        """c_cleanup_code_struct(node, name): frees what that owns."""
        return ""

    def _props(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__props__ or ())

    def __eq__(self, other: object) -> bool:
        if self.__props__ is None or type(self) is not type(other):
            return self is other
        return self._props() == other._props()

    def __hash__(self) -> int:
        return object.__hash__(self) if self.__props__ is None else hash((type(self), self._props()))


class Op(COp):
    """An operation of the template protocol: methods without arguments, which return templates. In these,
    "%(x)s" is the C name of the variable x in c_var_names(), and "%(fail)s" leaves the block."""

    def c_var_names(self) -> Any:
        """[[names of inputs], [names of outputs]], as lists or as text."""
        _missing(self, "c_var_names")

    def c_validate_update(self) -> str:
        """Checks inputs and prepares outputs."""
        return ""

    def c_validate_update_cleanup(self) -> str:
        """Runs after c_validate_update and all that follows it, even if something failed."""
        return ""
