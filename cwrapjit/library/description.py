"""Describes, for the call path (csrc/library/), how to call a C function.

A `Function` is plain data. csrc/library reads it once, by attribute, when the callable is made, and checks
all of it: nothing here can make a call unsafe, except a thunk that does not fit the C function.

Dims are integer expressions over *symbols* in reverse Polish notation: tuples of ints, symbols and operators.
These are C's (+ - * / % < <= > >= == != && || ! and ?:, which takes three operands), "<?" (minimum) and ">?"
(maximum): ("n",), (3,), ("n", "n", 1, "+", "*", 2, "/"), ("m", "n", "<?"). Every symbol needs a source: an
integer argument of that name, or the first array that has it as a dim of its own. Elsewhere it is checked. If
that array is absent (optional), the symbol is 0.

In slots, integers are in `i` or `u`, bool in `i`, float64 in `d`, float32 in `f`, complex128 in `z`,
complex64 in `c`, long double in `g.v`, all else in `p`. What goes by pointer ("value" with by_pointer,
"length", "status", "data") has C's own type where `p` points. A struct by value as result is stored at the
address in slot 0.
"""

from __future__ import annotations

import dataclasses
from typing import Any

Dim = tuple[int | str, ...]


@dataclasses.dataclass
class Argument:
    """An argument of the Python callable."""

    name: str
    kind: str = "any"  # "positional" only, "keyword" only, or "any"
    required: bool = True
    default: Any = None  # for an absent argument, unless its parameter is `optional` (NULL)
    annotation: str = ""  # for messages and inspect.signature: "float", "float64[:,:]"


@dataclasses.dataclass
class Parameter:
    """One parameter of the C function: what goes into slot k. They are in C's order."""

    role: str
    #   "value"    a scalar of `type` from `argument`
    #   "array"    the data of an array of `type` with `dims`, from `argument`; out: allocated, text if "char"
    #   "hidden"   an integer of `type`: the value of the expression `value`
    #   "stride"   an integer of `type`: stride of parameter `of` along `axis`, in elements (lda, incx)
    #   "string"   const char *: str, bytes or a path, no NUL inside; out: C stores one (char **)
    #   "texts"    a list of strings, as an array of pointers that ends with NULL; its length is its dim;
    #              out: C stores them
    #   "buffer"   the bytes of a bytes-like object; its length is the symbol in dims; with two dims,
    #              items of any type: their number, and the bytes of each
    #   "handle"   the pointer in an instance of `cls` (opaque pointers, structs by pointer)
    #   "handles"  a list of such instances, passed like "texts"
    #   "struct"   the memory of an instance of `cls`, for a struct by value; out: a new one, by pointer
    #   "callback" the address of a function: `cls` is called with the argument, and returns (address, object
    #              that keeps the function during the call), or raises
    #   "stream"   the same for a FILE *; the object is a Pointer, or its finish() is called after the call
    #   "address"  the address in a Pointer to `type`, or NULL for None; out: where C stores one (T **);
    #              with `cls`, a converter of cwrapjit.library.callbacks, the address of a function
    #   "items"    a tuple, list or set (`container`) of scalars of `type`, as a temporary array of `dims`
    #   "data"     T **: callee-allocated result; with dims, whose symbols come from "length" parameters
    #   "length"   an integer of `type` by pointer that the callee fills: the value of `symbol`
    #              after the call
    #   "status"   an integer of `type` by pointer that the callee fills, for Function.check (out: a result)
    # A NumPy dtype name, or "char" for a character. size_t is "uint64"; int is "intc", which becomes Python's
    # int. For an address: NumPy's name of the items, C's name if they are no numbers, or "" for void.
    type: str = ""
    argument: int = -1  # index in Function.arguments; -1: none
    by_pointer: bool = False  # "value": a pointer to it, NULL for absent optional ones
    optional: bool = False  # absent or None: NULL
    intent: str = "in"  # "in", "inout" (written in place; scalars: also a result), "out" (a result)
    # A dim of () may be anything; arrays without dims are passed unchecked.
    dims: tuple[Dim, ...] = ()
    # Arrays: "C" or "F"; axes with a "stride" parameter may have any stride.
    order: str = "C"
    value: Dim = ()
    of: int = -1  # "stride": index of the array's parameter
    axis: int = 0
    symbol: str = ""  # "value" and "length" of integers: the symbol that they set
    cls: Any = None
    container: Any = None
    name: str = ""  # C's name, for messages
    # "stride": of axes that run backwards C gets the "first" item, or the "lowest" as BLAS does; "": refused.
    negative: str = ""
    descr: Any = None  # "array": the dtype of items that are structs or fixed-length texts
    free: int = 0  # "data": address of void free(void *); 0: the library keeps the memory
    # Texts: a codec's name, "fs" as in os.fsencode(), "bytes": results are bytes; "" is UTF-8.
    encoding: str = ""
    bound: tuple[int, ...] = ()  # outputs: parameters whose values the object's end needs, too
    is_model: bool = False  # a struct that C returns may be a copy of this one
    owner: str = "callee"  # "handle", "handles", "struct" as outputs; "none": C keeps them
    discarded: bool = False  # C writes it, but it is no result


@dataclasses.dataclass
class Result(Parameter):
    """The result of the C function: a Parameter with these roles."""

    role: str = "none"
    #   "none"     nothing, or not wanted
    #   "value"    a scalar of `type`
    #   "status"   an integer for `check`, no result of the call
    #   "string"   const char * -> str or, encoding "bytes", bytes; NULL -> None
    #   "texts"    a pointer to such pointers, as many as `dims` says or up to a NULL -> a list
    #   "array"    a pointer to items of `type` with `dims`
    #   "handle"   a pointer -> an instance of `cls`, or None
    #   "handles"  as "texts": a list of such instances, which are not given away
    #   "struct"   a struct by value -> a new instance of `cls`
    #   "address"  any other pointer -> a Pointer to `type`, or None
    name: str = "the result"
    # The owner of its memory: "callee" (freed by `free`), "argument" (one of `bases`), "none" (static).
    owner: str = "none"
    readonly: bool = False  # "array", "address": what it points to is const
    bases: tuple[int, ...] = ()  # arguments that the result may point into
    library: Any = None  # "handle" without owner: keeps the library's memory; see lifetime.py


@dataclasses.dataclass
class Size:
    """A symbol whose value each call reads: "gsl_size(v)", "v->size". It is 0 for NULL."""

    symbol: str
    type: str  # of an integer
    # Operands: a parameter's index (its pointer), or (dim, C type) of an integer. Sizes in dims come before.
    of: tuple[int | tuple[Dim, str], ...]
    address: int = 0  # of a function of integers and pointers; 0: a member of the pointer's target
    offset: int = 0


@dataclasses.dataclass
class Function:
    name: str
    qualname: str  # "gsl.hypot", for messages
    doc: str
    arguments: list[Argument]
    parameters: list[Parameter]
    result: Result
    thunk: int  # address of void thunk(cwj_slot *)
    address: int  # of the C function itself
    owner: Any  # kept alive: the compiled unit, the library
    # Called after the call with (status or None, errno if reads_errno, arguments ...); raises or returns None
    check: Any = None
    # Results for which it is not called: "zero", "from zero" (unsigned: all but -1), "there" (a pointer;
    # check gets None for NULL). "": it is always called.
    good: str = ""
    reads_errno: bool = False
    checked: tuple[int, ...] = ()  # the arguments that it gets
    keep_gil: bool = False
    may_overlap: bool = False  # what C writes may share memory with other arguments
    stable: bool = False  # C neither moves nor frees memory of arguments that arrays may look into
    c_name: str = ""  # C's name of the function
    guard: Any = None  # debug=True: the environment, whose sources have lines
    signature: str = ""  # "double (double, double)": the name of the capsule for scipy.LowLevelCallable
    sizes: list[Size] = dataclasses.field(default_factory=list)
    # Keeper, kept, keeper, kept ...: parameter numbers; the next two are the result and the library.
    keeps: tuple[int, ...] = ()
    replaces: bool = False  # what a call keeps replaces what the call before has kept
    returns: str = ""  # type of the result, for inspect.signature: "float", "(float, float64[:])"
