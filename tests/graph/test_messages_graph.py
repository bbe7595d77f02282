"""Tests all messages of link() and graphs: a table of calls, classes and texts."""

from __future__ import annotations

import re
import textwrap
from typing import Any

import pytest
from graph_types import ADD, DBL, D, FilledOp, Template, TemplateOp, Variable, add, double, mul  # noqa: F401 (the table has them)

import cwrapjit.graph as cg
from cwrapjit import link

X, Y, ABSENT = (Variable(double, name) for name in ("x", "y", "absent"))
Z = add(X, Y)
Z.name = "z"
K = link([X, Y], Z)
PARAMS = cg.ParamsType(scale=cg.float64)


class Half:
    """An object with these attributes alone."""

    def __init__(self, **attributes: Any) -> None:
        vars(self).update(attributes)


class Odd(D):
    c_declare = "double x;"  # type: ignore[assignment]


def of(op: Any = add, type: Any = double, **options: Any) -> Any:
    """Links an op of two variables of that type."""
    x, y = Variable(type, "x"), Variable(type, "y")
    return link([x, y], op(x, y), **options)


def asked(party: Any, **answers: Any) -> Any:
    """Gives a type or op methods with these results."""
    for name, answer in answers.items():
        setattr(party, name, lambda *arguments, answer=answer: answer)
    return party


def op(**answers: Any) -> Any:
    """Links an op whose methods return these results."""
    return of(asked(FilledOp(name="op"), **answers))


def named(names: Any) -> Any:
    """Links an op with these c_var_names."""
    return of(asked(TemplateOp(), c_var_names=names), DBL)


def broken(**changes: Any) -> Any:
    """Links add(x, y) and mul(x, y) after changing a node: None deletes; names stand for variables."""
    z, other = add(X, Y), mul(X, Y)
    z.name = "z"
    for key, value in changes.items():
        known = {"z": z, "other": other, "x": X, "y": Y}
        made = (
            [known.get(v, v) if isinstance(v, str) else v for v in value]
            if isinstance(value, list)
            else value
        )
        delattr(z.owner, key) if value is None else setattr(z.owner, key, made)
    return link([X, Y], z)


def mapped(**maps: Any) -> Any:
    """Links an op with these maps."""
    neg = FilledOp("{z} = -{x};", name="neg")
    vars(neg).update(maps)
    return link([X], neg(X))


TABLE = r"""
# arguments of link()
link(None, Z)
    TypeError: link(): inputs must be a sequence of variables, not NoneType
link("xy", Z)
    TypeError: link(): inputs must be a sequence of variables, not str
link(X, Z)
    TypeError: link(): inputs must be a sequence of variables, not Variable
link([X, 5], Z)
    TypeError: link(): inputs[1] must be a variable, with an attribute 'type', not int
link([cg.ResultBase], Z)
    TypeError: link(): inputs[0] must be a variable, with an attribute 'type', not a class
link([X, Y, X], Z)
    ValueError: link(): inputs[2] is x again: a variable is an input once
link([X, cg.In(X)], add(X, X))
    ValueError: link(): inputs[1] is x again: a variable is an input once
link([X, Y], 5)
    TypeError: link(): outputs must be a sequence of variables or a variable, not int
link([X], cg.In(X))
    TypeError: link(): outputs must be a sequence of variables or a variable, not In
link([X, Y], [[Z]])
    TypeError: link(): outputs[0] must be a variable, with an attribute 'type', not list
link([X, Y], [Z, "z"])
    TypeError: link(): outputs[1] must be a variable, with an attribute 'type', not str
link([X, Y], [])
    ValueError: link(): there are no outputs
of(mode="both")
    ValueError: link(): mode must be 'struct' or 'function', not 'both'
of(per_op=1)
    TypeError: link(): per_op must be True or False, not 1
of(optimize="never")
    ValueError: link(): optimize must be 'auto' or 'off' or 'eager', not 'never'
of(name=5)
    TypeError: link(): name must be a str, not int
of(name="a */ b")
    ValueError: link(): name must be printable text, not 'a */ b'
of(updates=5)
    TypeError: link(): updates must be a dict, not int
link([X, Y], Z, updates={5: X})
    ValueError: link(): updates: a variable without name is not among the inputs
link([X, Y], Z, updates={ABSENT: Z})
    ValueError: link(): updates: absent is not among the inputs
link([X, Y], Z, updates={X: 3.0})
    TypeError: link(): updates: a value must be a variable, not float
cg.In(3)
    TypeError: In() takes a variable, not int
cg.In(X, mutable=1)
    TypeError: In(): mutable must be True or False, not 1
# variables and nodes
link([X], add(X, ABSENT))
    ValueError: link(): absent is needed by add(x, absent), but is not among the inputs
link([X], ABSENT)
    ValueError: link(): absent is among the outputs, but neither computed nor an input
link([X], Half(type=double))
    TypeError: link(): a variable without name (a 'Half' object) has no attribute 'owner'
link([X], Half(owner=None))
    TypeError: link(): outputs must be a sequence of variables or a variable, not Half
broken(op=None)
    TypeError: link(): a node of the graph (a 'Apply' object) has no attribute 'op'
broken(inputs=None)
    TypeError: link(): a node of the graph (a 'Apply' object) has no attribute 'inputs'
broken(outputs=None)
    TypeError: link(): a node of the graph (a 'Apply' object) has no attribute 'outputs'
broken(inputs=5)
    TypeError: link(): inputs of a node (a 'Apply' object) must be a list or a tuple, not int
broken(outputs=[None])
    TypeError: link(): outputs[0] of a node of add must be a variable, with an attribute 'type', not
    NoneType
broken(outputs=[])
    TypeError: link(): the owner of z (a 'Apply' object) does not have it among its outputs
broken(outputs=["z", "z"])
    ValueError: link(): z is twice among the outputs of add(x, y)
broken(outputs=["z", "other"])
    ValueError: link(): a variable without name is among the outputs of add(x, y), but has another owner
broken(inputs=["z", "x"])
    ValueError: link(): the graph has a cycle: add(z, x) needs add(z, x)
mapped(destroy_map={0: 0})
    ValueError: link(): destroy_map of neg(x) must say which outputs have the memory of which inputs,
    like {0: [0]}: 1 outputs and 1 inputs are there, not {0: 0}
mapped(destroy_map={1: [0]})
    ValueError: link(): destroy_map of neg(x) must say which outputs have the memory of which inputs,
    like {0: [0]}: 1 outputs and 1 inputs are there, not {1: [0]}
mapped(destroy_map={0: [-1]})
    ValueError: link(): destroy_map of neg(x) must say which outputs have the memory of which inputs,
    like {0: [0]}: 1 outputs and 1 inputs are there, not {0: [-1]}
mapped(view_map=[0])
    ValueError: link(): view_map of neg(x) must say which outputs have the memory of which inputs, like
    {0: [0]}: 1 outputs and 1 inputs are there, not [0]
mapped(view_map={0: [0.0]})
    ValueError: link(): view_map of neg(x) must say which outputs have the memory of which inputs, like
    {0: [0]}: 1 outputs and 1 inputs are there, not {0: [0.0]}
# types and ops
of(type=Odd())
    TypeError: link(): c_declare of Odd, variable x must be a method, not str
named([["x"], ["z"]])
    ValueError: link(): c_var_names of Add(x, y) names 1 input(s) and 1 output(s), but the node has 2
    and 1 (FILE)
named([["x", "y"], ["x"]])
    ValueError: link(): c_var_names of Add(x, y) names 'x' twice (FILE)
named([["x", "fail"], ["z"]])
    ValueError: link(): c_var_names of Add(x, y) names a variable 'fail', which is the failure code
    (FILE)
named([["x", 5], ["z"]])
    TypeError: link(): c_var_names of Add(x, y) must be two lists of str, like [['x', 'y'], ['z']], not
    [['x', 5], ['z']] (FILE)
named([["x", "y", "z"]])
    TypeError: link(): c_var_names of Add(x, y) must be two lists of str, like [['x', 'y'], ['z']], not
    [['x', 'y', 'z']] (FILE)
named(["xy", "z"])
    TypeError: link(): c_var_names of Add(x, y) must be two lists of str, like [['x', 'y'], ['z']], not
    ['xy', 'z'] (FILE)
named("[['x', 'y'], ['z']")
    ValueError: link(): c_var_names of Add(x, y) must be like [['x', 'y'], ['z']], also as text, not
    "[['x', 'y'], ['z']" (FILE)
named("__import__('os')")
    ValueError: link(): c_var_names of Add(x, y) must be like [['x', 'y'], ['z']], also as text, not
    "__import__('os')" (FILE)
of(TemplateOp(code="%(z)s = %(x)s;\n  %(q)s = 1;"), DBL)
    ValueError: link(): c_code of Add(x, y) is no template that can be filled: line 2, column 3: %(q)s
    is not known here, only %(fail)s, %(x)s, %(y)s, %(z)s (FILE)
of(TemplateOp(code="%(z)s = 5 % 3;"), DBL)
    ValueError: link(): c_code of Add(x, y) is no template that can be filled: line 1, column 11: a '%'
    that begins neither "%(name)s" nor "%%" (in a template, "%%" stands for one percent sign) (FILE)
of(TemplateOp(code="%(z)d = 5;"), DBL)
    ValueError: link(): c_code of Add(x, y) is no template that can be filled: line 1, column 1: a '%'
    that begins neither "%(name)s" nor "%%" (in a template, "%%" stands for one percent sign) (FILE)
of(ADD, Template(extract="\n%(other)s = 1;"))
    ValueError: link(): c_extract of Template, variable x is no template that can be filled: line 2,
    column 1: %(other)s is not known here, only %(name)s, %(fail)s (FILE)
of(ADD, check=True)
    NotImplementedError: link(): Add(x, y) has no perform(), which check=True compares with
op(c_headers=[5])
    TypeError: link(): c_headers of op(x, y) must return a str or a list of str, but item 0 is of type
    int (FILE)
op(c_libraries=["a", None])
    TypeError: link(): c_libraries of op(x, y) must return a str or a list of str, but item 1 is of type
    NoneType (FILE)
op(c_headers=["a\nb"])
    ValueError: link(): c_headers of op(x, y) must return headers like 'math.h', '<math.h>' or '"my.h"',
    not 'a\nb' (FILE)
op(c_headers=["<math.h"])
    ValueError: link(): c_headers of op(x, y) must return headers like 'math.h', '<math.h>' or '"my.h"',
    not '<math.h' (FILE)
op(c_headers=["#include <math.h>"])
    ValueError: link(): c_headers of op(x, y) must return headers like 'math.h', '<math.h>' or '"my.h"',
    not '#include <math.h>' (FILE)
op(c_header_dirs=["a\0b"])
    ValueError: link(): c_header_dirs of op(x, y) must not return 'a\x00b' (FILE)
op(c_libraries=["a\0b"])
    ValueError: link(): c_libraries of op(x, y) must not return 'a\x00b' (FILE)
op(c_compile_args=["x.c"])
    ValueError: link(): c_compile_args of op(x, y) returns 'x.c', which means nothing here: -D, -U, -I,
    -L, -l do, and -O, -W, -f, -m, -g, -std= are ignored (FILE)
op(c_compile_args=["-"])
    ValueError: link(): c_compile_args of op(x, y) returns '-', which means nothing here: -D, -U, -I,
    -L, -l do, and -O, -W, -f, -m, -g, -std= are ignored (FILE)
op(c_compile_args=["-D"])
    ValueError: link(): c_compile_args of op(x, y) must not return -D with '' (FILE)
op(c_compile_args=["-I", " "])
    ValueError: link(): c_compile_args of op(x, y) must not return -I with '' (FILE)
op(c_compile_args=["-D", "X=1\n#error"])
    ValueError: link(): c_compile_args of op(x, y) must not return -D with 'X=1\n#error' (FILE)
op(c_compile_args=["-D5=3"])
    ValueError: link(): define_macros: '5=3' is not NAME or NAME=VALUE
of(asked(FilledOp(name="op"), c_code_cache_version=[1]), asked(D(), c_code_cache_version=(1,)))
    TypeError: link(): c_code_cache_version of op(x, y) must return a tuple, not list (FILE)
of(type=asked(D(), c_code_cache_version=5))
    TypeError: link(): c_code_cache_version of D, variable x must return a tuple, not int (FILE)
of(asked(FilledOp(name="op"), c_compiler="clang"), asked(D(), c_compiler="gcc"))
    ValueError: link(): one graph has one compiler, but D wants 'gcc' and FilledOp wants 'clang'
op(c_compiler=5)
    TypeError: link(): c_compiler of op(x, y) must return None, 'tcc' or a command like 'cc', not 5
    (FILE)
link([X], add(X, cg.Constant(asked(D(), c_literal=5), 2.0)))
    TypeError: link(): c_literal of D, variable a variable without name must return a str, not int
    (FILE)
# graphs that are called
K(1.0)
    TypeError: graph(): missing required argument 'y' (position 2)
K(1.0, 2.0, 3.0)
    TypeError: graph(): takes 2 positional arguments but 3 were given
K(1.0, x=2.0)
    TypeError: graph(): got multiple values for argument 'x'
K(1.0, q=2.0)
    TypeError: graph(): got an unexpected keyword argument 'q'
K.once([1.0], (2.0,), [None])
    TypeError: once(): storage 1 must be a list of one object, not tuple
K.bind([1.0], [2.0], None)
    TypeError: bind(): storage 2 must be a list of one object, not NoneType
K.bind([1.0], [], [None])
    ValueError: bind(): storage 1 must be a list of one object, not 0
K.once([1.0, 2.0], [1.0], [None])
    ValueError: once(): storage 0 must be a list of one object, not 2
K.once([1.0], [2.0])
    TypeError: once() takes 3 storages, one for each of 2 inputs and 1 outputs, not 2
of(optimize="off").wait(-1)
    ValueError: wait(): timeout must not be negative, got -1
# ready types, parameters, ops from files
cg.Params(PARAMS)
    TypeError: Params: no value for scale
cg.Params(3)
    TypeError: Params: wanted a ParamsType, got int
cg.ParamsType(a=3)
    TypeError: ParamsType: field a: wanted a type, got 3
cg.ParamsType(int=cg.float64)
    AttributeError: ParamsType: 'int' cannot be the name of a C struct's member
cg.ParamsType()
    ValueError: ParamsType: there are no fields
cg.EnumType(low=1)
    AttributeError: EnumType: 'low': a constant's name has capital letters, digits and underscores
cg.EnumType(A="a")
    TypeError: EnumType: A: wanted a number, got str
cg.EnumType(A=("A", 1))
    TypeError: EnumType: A: the alias 'A' is taken
cg.EnumType(A=("a", 1), B=("a", 2))
    TypeError: EnumType: B: the alias 'a' is taken
cg.EnumType(A=1, ctype="int; int")
    TypeError: EnumType: invalid C type 'int; int'
cg.EnumType(A=1, cname="1")
    TypeError: EnumType: invalid C name '1'
cg.EnumList("A", "A")
    AttributeError: EnumList: 'A' is there twice
cg.EnumList(3)
    TypeError: EnumList: wanted a name, or a pair of name and alias, got 3
cg.Scalar("S3")
    TypeError: Scalar: no graph type for dtype 'S3'; there are bool, int8, int16, int32, int64, uint8,
    uint16, uint32, uint64, float16, float32, float64, complex64, complex128
cg.ndarray(float, -1)
    ValueError: ndarray: ndim must be from 0 to 32, not -1
cg.CDataType("int")
    TypeError: CDataType: ctype must be a pointer type like 'void *', not 'int'
cg.CDataType("void *", "free(x)")
    TypeError: CDataType: freefunc must be the name of a C function, not 'free(x)'
cg.shape_i(-1)
    ValueError: shape_i(): the axis must be an int from 0, not -1
cg.register_deep_copy_op_c_code(cg.float64, "")
    TypeError: the type must be a class, not float64
cg.register_view_op_c_code(D, None)
    TypeError: the C code for D must be a str
cg.elementwise("a, a", "a")
    ValueError: elementwise(): operands 'a, a' has a name twice
cg.elementwise("a,", "a")
    ValueError: elementwise(): '' cannot be the name of an operand
cg.elementwise("a_", "a_")
    ValueError: elementwise(): 'a_' cannot be the name of an operand
cg.elementwise("", "1")
    ValueError: elementwise(): '' cannot be the name of an operand
cg.elementwise("a", " ")
    ValueError: elementwise(): the expression is empty
cg.elementwise("a", "a", dtype="S3")
    TypeError: elementwise(): no graph type for dtype 'S3'; there are bool, int8, int16, int32, int64,
    uint8, uint16, uint32, uint64, float16, float32, float64, complex64, complex128
cg.elementwise("a, b", "a")(cg.float64("x"))
    TypeError: elementwise[a] takes 2 operands, not 1
cg.elementwise("a", "a")(cg.generic("o"))
    TypeError: elementwise[a]: o is of type Generic, which is no number and no array
cg.ExternalCOp([])
    ValueError: ExternalCOp: there are no C files
"""

CASES = re.findall(r"^(\S.*)\n((?:    .*\n)+)", TABLE, re.MULTILINE)


@pytest.mark.quick
@pytest.mark.parametrize(("call", "told"), CASES, ids=[call for call, _ in CASES])
def test_messages(call: str, told: str) -> None:
    with pytest.raises(Exception) as caught:
        eval(call)
    text = re.sub(r" \(\S+, line \d+\)$", " (FILE)", f"{type(caught.value).__name__}: {caught.value}")
    assert text == " ".join(textwrap.dedent(told).split("\n")).strip()
