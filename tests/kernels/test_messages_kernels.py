"""Tests all messages of kernels and vectorize(): a table of calls, classes and texts."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from cwrapjit import ElementwiseKernel, ReductionKernel, vectorize  # noqa: F401 (the table has them)
from cwrapjit.kernels.parameters import parse, resolve

DIFF = ElementwiseKernel("T x, T y", "T z", "z = (x - y) * (x - y)", "diff", optimize="off")
BOTH = ElementwiseKernel("T x", "T y, int32 z", "y = x * 2; z = (int)x", "both", optimize="off")
TOTAL = ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total", optimize="off")
LARGER = "T larger(T x, T y) { return x > y ? x : y; }"
GOOD = "double f(double x) { return x; }"
X = np.ones((2, 3))


def of(inputs: Any, outputs: Any = "T y", text: Any = "y = x", *name: Any, **options: Any) -> Any:
    """Defines a kernel, and calls it with arrays if the definition succeeds."""
    return ElementwiseKernel(inputs, outputs, text, *name, **options)(np.zeros(2), np.zeros(2))


def total(**changes: Any) -> Any:
    """Defines a reduction with other texts."""
    usual = {"in_params": "T x", "out_params": "T y", "map_expr": "x", "reduce_expr": "a + b"}
    return ReductionKernel(**(usual | {"post_map_expr": "y = a", "identity": "0"} | changes))


def types(inputs: str, outputs: str, *given: Any, **chosen: Any) -> Any:
    """Returns the types of a kernel's letters for arguments of these dtypes."""
    dtypes = [None if each is None else np.dtype(each) for each in given]
    return resolve("f()", parse(inputs, "f()", "a"), parse(outputs, "f()", "b"), dtypes, chosen or None)


TABLE = r"""
# lists of parameters
of("T")
    ValueError: kernel(): in_params: 'T' is alone; wanted a type and a name at position 0 T ^
of("T x,")
    ValueError: kernel(): in_params: nothing is between two commas, or beside one at position 4 T x, ^
of("const T x")
    ValueError: kernel(): in_params: 'const' is not known; wanted 'raw', a type and a name at position 0
    const T x ^
of("raw raw T x")
    ValueError: kernel(): in_params: 'raw' is there twice at position 4 raw raw T x ^
of("T x, flot32 y")
    ValueError: kernel(): in_params: 'flot32' is no dtype; wanted one such as float64, or a letter that
    stands for any at position 5 T x, flot32 y ^
of("T x, object y")
    ValueError: kernel(): in_params: 'object' is no number to C at position 5 T x, object y ^
of("T x, >f8 y")
    ValueError: kernel(): in_params: '>f8' is no number to C at position 5 T x, >f8 y ^
of("T 3x")
    ValueError: kernel(): in_params: '3x' is no name at position 2 T 3x ^
of("é x")
    ValueError: kernel(): in_params: 'é' is no type at position 0 é x ^
of("T i")
    ValueError: kernel(): the name 'i' is reserved, as are 'i' and all that begin with an underscore
of("T double")
    ValueError: kernel(): the name 'double' is a word of C
of("T a__b")
    ValueError: kernel(): the name 'a__b' is reserved, as are all that begin with cwj_ or have two
    underscores
of("x x")
    ValueError: kernel(): the name 'x' is the letter of a type, too
of("T x", "T x")
    ValueError: kernel(): the name 'x' is there twice
of("T x", "T operands")
    ValueError: kernel(): the name 'operands' is reserved: generated text has it
of(3)
    TypeError: kernel(): in_params must be a str, not int
of("T x", "")
    ValueError: kernel(): out_params is empty: a kernel has an output
of(", ".join(f"T x{k}" for k in range(33)))
    ValueError: kernel(): 34 parameters; a kernel has at most 32
# texts, names and options of kernels
of("T x", "T y", "y = x", "9")
    ValueError: Invalid kernel name: '9'
of("T x", "T y", "y = x", 3)
    TypeError: ElementwiseKernel(): name must be a str, not int
of("longdouble x, clongdouble z")
    TypeError: kernel(): 'z' is complex256, which C text cannot compute with; convert it with astype()
of("T x", "T y", "y = x; return;")
    ValueError: kernel(): operation: return would end a thread, and here is none; continue goes on with
    the next element, found at position 7 y = x; return; ^
of("T x", "raw T y", "y[i] = _ind.foo()")
    ValueError: kernel(): operation: wanted _ind.size(), _ind.get()[axis] or _ind.ndim at position 7
    y[i] = _ind.foo() ^
of("T x", loop_prp="")
    TypeError: ElementwiseKernel() got an unexpected keyword argument 'loop_prp'; the options are: cast,
    copies,
    debug, define_macros, fastmath, gil, include_dirs, inplace, libraries, library_dirs, math,
    optimize, sources, threads, unordered
of("T x", axis=0)
    TypeError: ElementwiseKernel() got an unexpected keyword argument 'axis'; calls of the kernel have it
of("T x", thread=3)
    TypeError: ElementwiseKernel() got an unexpected keyword argument 'thread'; did you mean 'threads'?
of("T x", options=("-lm",))
    ValueError: kernel(): options: '-lm' is not known; wanted -DNAME=VALUE, -IFOLDER, -ffast-math
of("T x", options="-DA")
    TypeError: kernel(): options must be a tuple of flags such as '-DN=3'
of("T x", loop_prep="T a = _raw_x[0];")
    ValueError: kernel(): loop_prep: _raw_x is of a thread, and here is none: declare it raw, found at
    position 6 T a = _raw_x[0]; ^
total(in_params="T cwr_x")
    ValueError: reduce_kernel(): the name 'cwr_x' is reserved, as are all that begin with cwr_
total(in_params="")
    ValueError: reduce_kernel(): at least one input and one output are needed
total(out_params="T a")
    ValueError: reduce_kernel(): no output can be named 'a', which is the reduced value in post_map_expr
total(out_params="raw T y")
    ValueError: reduce_kernel(): 'y' is raw; outputs of a reduction cannot be: axis= says which items
    are whose
total(map_expr=" ")
    ValueError: reduce_kernel(): map_expr is empty; wanted a C expression
total(map_expr="(x")
    ValueError: reduce_kernel(): map_expr: '(' is not closed, found at position 0 (x ^
total(map_expr="x)")
    ValueError: reduce_kernel(): map_expr: ')' closes nothing, found at position 1 x) ^
total(post_map_expr="y = a; } {")
    ValueError: reduce_kernel(): post_map_expr: '}' closes nothing, found at position 7 y = a; } { ^
total(post_map_expr="y = a; return")
    ValueError: reduce_kernel(): post_map_expr cannot return; what it computes is taken from it
total(map_expr="_in_ind.get()")
    ValueError: reduce_kernel(): map_expr: wanted _in_ind.size() or _in_ind.get()[axis] at position 0
    _in_ind.get() ^
total(map_expr="_out_ind.get()[0]")
    ValueError: reduce_kernel(): map_expr: wanted _out_ind.size() at position 0 _out_ind.get()[0] ^
total(post_map_expr="y = a + _in_ind.get()[0]")
    ValueError: reduce_kernel(): post_map_expr: wanted _in_ind.size() at position 8 y = a +
    _in_ind.get()[0] ^
total(map_expr="_raw_z[0]")
    ValueError: reduce_kernel(): there is no input for _raw_z
total(identity=[])
    TypeError: reduce_kernel(): identity must be a C expression, a number or None, not list
# calls of kernels
DIFF(X)
    TypeError: diff(): wrong number of arguments: wanted 2 or 3, got 1
DIFF(X, X, foo=1)
    TypeError: diff() got an unexpected keyword argument 'foo'; the options are: out, size, dtype, stream,
    block_size
DIFF(X, None)
    TypeError: diff(): 'y' is None
DIFF(X, "text")
    TypeError: diff(): 'y' is <U4; wanted numbers
DIFF(X, X, 1.0)
    TypeError: diff(): output 'z' must be a NumPy array, not float
DIFF(X, X, dtype="f8")
    TypeError: diff(): dtype must be a dict such as {"T": "float32"}, not 'f8'
DIFF(X, X, dtype={"Q": "f8"})
    TypeError: diff(): dtype: no parameter is of a type 'Q'
DIFF(X, X, dtype={"T": "nosuch"})
    TypeError: diff(): dtype: T is 'nosuch', which is no type of NumPy's
BOTH(X, out=(X,))
    ValueError: both(): out: wanted 2 arrays, one for each output, got 1
BOTH(X, out=X)
    TypeError: both(): out must be a tuple of 2 arrays
BOTH(X, X, X, X)
    TypeError: both(): wrong number of arguments: wanted 1 to 3, got 4
BOTH(X, X, X, out=(X, X))
    TypeError: both(): outputs are given by position and as out, too
BOTH(X, X, [1])
    TypeError: both(): output 'z' must be a NumPy array, not list
TOTAL(X, axis=2)
    AxisError: total(): axis 2 is out of bounds for array of dimension 2
TOTAL(X, axis=(0, 0))
    ValueError: total(): duplicate value in 'axis'
TOTAL(X, axis=1.0)
    TypeError: total(): axis must be None, an int or a tuple of ints, not float
TOTAL(X, initial=3)
    TypeError: total() got an unexpected keyword argument 'initial': identity= of the kernel says
    where it begins
TOTAL(X, where=X > 0)
    TypeError: total() got an unexpected keyword argument 'where'; the options are: axis, keepdims, out,
    dtype, stream
TOTAL(X, axes=0)
    TypeError: total() got an unexpected keyword argument 'axes'; did you mean 'axis'?
TOTAL(3.0)
    ValueError: Loop size is undecided: total(): at least one input that is not raw must be an array
TOTAL(X, X, X)
    TypeError: total(): takes 1 or 2 positional arguments, not 3
TOTAL(np.ma.masked_array(X, X > 0))
    TypeError: total(): 'x' has masked elements; pass .data or .filled()
TOTAL(np.array([None]))
    TypeError: total(): 'x' is object; wanted numbers
TOTAL(np.empty((3, 0)), axis=1, out=np.empty(2))
    ValueError: total(): output 'y' has shape (2,); wanted (3,)
types("T x, T y", "T z", "f4", "f8", None)
    TypeError: f(): 'y' is float64, but T is float32 by 'x'; nothing is cast; deduced: T = float32 ('x')
types("T x, U k, T y, T q", "T z", "f4", "i4", "f4", "f8", None)
    TypeError: f(): 'q' is float64, but T is float32 by 'x'; nothing is cast; deduced: T = float32 ('x',
    'y'), U = int32 ('k')
types("T x, float32 y", "T z", "f4", "f8", None)
    TypeError: f(): 'y' is float64, but it is declared as float32, and float32 does not hold all
    values of float64
types("T x", "T z", None, None)
    TypeError: f(): nothing says what T is: no array is given for 'x', 'z', and scalars do not decide;
    pass an array, the output, or dtype={"T": ...}
types("X x, Y y", "Z z", "i8", "f4", None)
    TypeError: f(): nothing says what Z is: no array is given for 'z', and scalars do not decide; pass
    an array, the output, or dtype={"Z": ...}; deduced: X = int64 ('x'), Y = float32 ('y')
types("T x", "T z", "U3", None)
    TypeError: f(): 'x' is <U3; wanted numbers
types("T x", "T z", "f4", None, T="f8")
    TypeError: f(): 'x' is float32, but T is float64 by dtype=; nothing is cast; deduced: T = float64
    (dtype=)
# vectorize()
vectorize("x * x")
    ValueError: vectorize(): the text defines no function; wanted one such as 'double f(double x) {
    return 2 * x; }': 'x * x'
vectorize("double f(double x) { return x;")
    CompileError: '{' is not closed (<cwrapjit vectorize source>, line 1)
vectorize("double f(double x, double y = 2, int z = 1)\n{ return x * y; }")
    ValueError: vectorize(): the text defines no function; parameters have no default values in C:
    'double f(double x, double y = 2, int z = 1)\n{ return x * ...'
vectorize(GOOD.encode())
    TypeError: vectorize(): source must be a str, not bytes
vectorize(GOOD, name=3)
    TypeError: vectorize(): name must be a str, not int
vectorize(GOOD, name="1f")
    ValueError: vectorize(): name='1f' is no name in Python
vectorize("double psat(double T) { return T; }", T="f8")
    ValueError: vectorize() of psat: T='f8', but no type in the text is T
vectorize(f"double f({', '.join(f'double x{k}' for k in range(501))}) {{ return x0; }}")
    CompileError: f() has 501 parameters, 500 at most (<cwrapjit vectorize source>, line 1)
vectorize(GOOD, signature="x() -> y()")
    TypeError: vectorize() got an unexpected keyword argument 'signature': the text says that; see function()
vectorize(GOOD, windows={"x": (3,)})
    TypeError: vectorize() got an unexpected keyword argument 'windows', which functions made by function()
    have
vectorize(GOOD, thread=3)
    TypeError: vectorize() got an unexpected keyword argument 'thread'; did you mean 'threads'?
vectorize(LARGER, thread=3)
    TypeError: vectorize() got an unexpected keyword argument 'thread'; did you mean 'threads'?
vectorize(LARGER, threads=0)
    ValueError: larger(): threads must be 1 to 1024 or 'auto', not 0
vectorize(LARGER, T="f9")
    TypeError: vectorize() of larger: T has 'f9', which is no type of NumPy's
vectorize(LARGER, T=())
    ValueError: vectorize() of larger: T=() leaves no type
vectorize("double f(float64 x) { return 0; }")
    CompileError: x is a float64, which is NumPy's name: C's is double (<cwrapjit f source>, line 1)
vectorize("#define int long\nint f(int x) { return x; }")
    CompileError: the macro 'int' changes code around this text, too: give it another name, or #undef it
    at the end (<cwrapjit f source>, line 1)
vectorize("void f(const double x[n], int n, double y[n]) { }")(X)
    TypeError: f(): missing required argument 'y' (position 2), which is updated in place: in a C text, OUT
    in front of it makes it a result
vectorize(LARGER)("text", 1)
    TypeError: larger(): T cannot be deduced: argument 'x' has dtype <U4, for which C has no type
vectorize(LARGER)([1, "a"], 1)
    TypeError: larger(): T cannot be deduced: argument 'x' has dtype <U21, for which C has no type
vectorize(LARGER)()
    TypeError: larger(): argument 'x' is missing, which says what T is
vectorize(LARGER)(1, 2, z=3)
    TypeError: larger(): got an unexpected keyword argument 'z'
"""

CASES = re.findall(r"^(\S.*)\n((?:    .*\n)+)", TABLE, re.MULTILINE)


@pytest.mark.quick
@pytest.mark.parametrize(("call", "told"), CASES, ids=[call for call, _ in CASES])
def test_messages(call: str, told: str) -> None:
    with pytest.raises(Exception) as caught:
        eval(call)
    assert f"{type(caught.value).__name__}: {caught.value}".split() == told.split()
