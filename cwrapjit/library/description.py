"""How Python's mapping of C declarations tells the call path (csrc/library/) what to do.

A `Function` is plain data. csrc/library reads it once, by attribute, when the callable is made, and checks
all of it: nothing here can make a call unsafe, apart from a thunk that does not fit the C function.

Dims are integer expressions over *symbols* in reverse Polish notation, a tuple of ints, symbol names and
operators: those of C (+ - * / % < <= > >= == != && || ! and ?:, which takes three), "<?" for the smaller of
two and ">?" for the larger: ("n",), (3,), ("n", "n", 1, "+", "*", 2, "/"), ("m", "n", "<?"). A symbol gets
its value from an integer argument of that name, or from the first array that has it as a dim of its own;
everywhere else it is checked. Where that array is absent (optional), the symbol is 0. Every symbol must
have such a source.

In slots, integers are in `i` or `u`, bool in `i`, float64 in `d`, float32 in `f`, complex128 in `z`,
complex64 in `c`, long double in `g.v`, all else in `p`. What goes by pointer ("value" with by_pointer,
"length", "status", "data") is in C's own type where `p` points. For a struct by value as result, slot 0 holds
the address where the thunk stores it.
"""

from __future__ import annotations

import dataclasses
from typing import Any

Dim = tuple[int | str, ...]


@dataclasses.dataclass
class Argument:
    """What a caller gives."""

    name: str
    kind: str = "any"  # "positional" only, "keyword" only, or "any"
    required: bool = True
    default: Any = None  # for an absent argument, unless `optional` parameters pass NULL then
    annotation: str = ""  # for messages and inspect.signature: "float", "float64[:,:]"


@dataclasses.dataclass
class Parameter:
    """One parameter of the C function, in its order: what goes into slot k."""

    role: str
    #   "value"    a scalar of `type` from `argument`
    #   "array"    the data of an array of `type` with `dims`, from `argument`; out: allocated, text if "char"
    #   "hidden"   an integer of `type`: the value of `value`, an expression
    #   "stride"   an integer of `type`: stride of parameter `of` along `axis`, in elements (lda, incx)
    #   "string"   const char *: str, bytes or a path, no NUL inside; out: C stores one (char **)
    #   "texts"    a list of those, as an array of pointers with a NULL behind them; its length is its dim;
    #              out: C stores them
    #   "buffer"   the bytes of a bytes-like object; its length is the symbol in dims; of two dims,
    #              items of any type: their number, and the bytes of each
    #   "handle"   the pointer in an instance of `cls` (opaque pointers, structs by pointer)
    #   "handles"  a list of such instances, as "texts" is one of strings
    #   "struct"   the memory of an instance of `cls`, for a struct by value; out: a new one, by pointer
    #   "callback" the address of a function: `cls` is called with what is given and returns (address, what
    #              keeps the function, for as long as the call takes), or raises
    #   "stream"   the same for a FILE *; what keeps it has finish(), which is called after the call, or is a
    #              Pointer
    #   "address"  what a Pointer to `type` holds, or NULL for None; out: where C stores one (T **);
    #              with `cls`, a converter of cwrapjit.library.callbacks, a function lies there
    #   "items"    a tuple, list or set (`container`) of scalars of `type`, as a temporary array of `dims`
    #   "data"     T **: callee-allocated result; with dims, whose symbols come from "length" parameters
    #   "length"   an integer of `type` by pointer that the callee fills: the value of `symbol`
    #              after the call
    #   "status"   an integer of `type` by pointer that the callee fills, for Function.check (out: a result)
    # A NumPy dtype name, or "char" for a character. What C calls size_t is "uint64"; its int is "intc", which
    # becomes Python's int. Of an address: what NumPy calls the items, C's name of what is no number, or ""
    # for void.
    type: str = ""
    argument: int = -1  # index in Function.arguments; -1: none
    by_pointer: bool = False  # "value": a pointer to it; optional ones pass NULL when absent
    optional: bool = False  # absent or None: NULL
    intent: str = "in"  # "in", "inout" (written in place; scalars: also a result), "out" (a result)
    # A dim of () may be anything; arrays without dims are taken as they are, unchecked.
    dims: tuple[Dim, ...] = ()
    # Arrays: "C", "F"; an axis with a "stride" parameter may lie as it likes.
    order: str = "C"
    value: Dim = ()
    of: int = -1  # "stride": index of the array's parameter
    axis: int = 0
    symbol: str = ""  # "value" and "length" of integers: the symbol that they give a value
    cls: Any = None
    container: Any = None
    name: str = ""  # C's name of it, for messages
    # "stride": of an axis that runs backwards C gets the address of the "first" item, or the "lowest", as
    # BLAS wants; "": such arrays are refused.
    negative: str = ""
    descr: Any = None  # "array": the dtype of items that are structs, or texts of one length
    free: int = 0  # "data": address of void free(void *); 0: the memory stays the library's
    # Of texts: a codec's name, "fs" as in os.fsencode(), "bytes" for bytes as results; "" is UTF-8.
    encoding: str = ""
    bound: tuple[int, ...] = ()  # as output: parameters whose values its end needs, too
    is_model: bool = False  # a struct that C gives back may be a copy of this one
    owner: str = "callee"  # of "handle", "handles", "struct" as outputs; "none": they stay C's
    discarded: bool = False  # it is no result, though C writes it


@dataclasses.dataclass
class Result(Parameter):
    """What the C function returns: a parameter that C gives back, of which roles mean this."""

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
    # Of what it points to: "callee" (freed by `free`), "argument" (one of `bases`), "none" (static).
    owner: str = "none"
    readonly: bool = False  # "array", "address": what it points to is const
    bases: tuple[int, ...] = ()  # arguments that the result may point into
    library: Any = None  # "handle" of no owner: what keeps the library's memory; see lifetime.py


@dataclasses.dataclass
class Size:
    """A symbol whose value is asked for in each call: "gsl_size(v)", "v->size". Of NULL it is 0."""

    symbol: str
    type: str  # of an integer
    # Operands: the pointer of that parameter, a handle's, or an integer, with C's type. Sizes that these name
    # come before it.
    of: tuple[int | tuple[Dim, str], ...]
    address: int = (
        0  # of a function of integers and pointers; 0: it is a member of what the pointer points to
    )
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
    # Called after the call with (status or None, errno if it wants it, arguments ...); raises or returns None
    check: Any = None
    # When it is not called: a status of "zero"; any "from zero" that is not -1; a pointer that is "there",
    # and not NULL, for which check gets None. "": it is always called.
    good: str = ""
    reads_errno: bool = False
    checked: tuple[int, ...] = ()  # arguments that it wants, too
    keep_gil: bool = False
    may_overlap: bool = False  # what it writes may share memory with other arguments
    stable: bool = False  # it neither moves nor frees memory of its arguments that arrays may look into
    c_name: str = ""  # C's name of the function
    guard: Any = None  # debug=True: the environment, whose sources have lines
    signature: str = ""  # "double (double, double)": the name of the capsule for scipy.LowLevelCallable
    sizes: list[Size] = dataclasses.field(default_factory=list)
    # Keepers and what they keep after a call, in turn, as numbers of parameters; the number behind the last
    # is the result.
    keeps: tuple[int, ...] = ()
    replaces: bool = False  # what a call keeps takes the place of what the one before it has kept
    returns: str = ""  # what calls give, for inspect.signature: "float", "(float, float64[:])"
