/* abi.h: declares the interface between generated C and the call path.
 *
 * Three readers use this text: the prelude before every compiled unit, the call path (csrc/function/call/),
 * and the standalone modules that m.write() emits. It includes nothing: npy_intp (NumPy's signed size type)
 * and bool must be declared before it is included.
 *
 * Units: every stride and every size is in bytes, every dim is in elements.
 * Ownership: everything here is borrowed. The call path owns the memory that a cwj_call points to, during one
 * call. A descriptor is constant data inside the compiled unit. */
#pragma once

/* One operand (an input or an output) of a running call.
 *
 *   full  = the caller's own array; leading dims of length 1 are added if
 *           the array has fewer dims than its prototype
 *   slice = the trailing (core) dims that the prototype names
 *
 *   dims_full    [ e0 | e1 | ... | c0 | c1 ]
 *                                  ^ dims_slice points here */
typedef struct cwj_operand {
    npy_intp ndims_full;
    const npy_intp *dims_full;
    const npy_intp *strides_full;
    npy_intp ndims_slice;
    const npy_intp *dims_slice;
    const npy_intp *strides_slice;
    npy_intp sizeof_element;
    char *data; /* element [0, 0, ...] of the whole array */
} cwj_operand;

/* A running call, as compiled code sees it. The call path stores more members after it. */
typedef struct cwj_call {
    const cwj_operand *operands; /* inputs, then outputs */
    void *cookie;                /* the user's struct, zeroed for each call */
    void *extras;                /* cwj_extras__NAME: one member per extra arg */
} cwj_call;

/* Runs dims[0] slices. data[k] is operand k's first slice, steps[k] the distance to its next one. Returns 1; 0 as soon
 * as a slice returned false: the slices after it have then not run. ctx is a cwj_call*. */
typedef int cwj_loop(char **data, const npy_intp *dims, const npy_intp *steps, void *ctx);

/* Ccode_validate: returns 1 to accept the call, 0 to refuse it. */
typedef int cwj_validate(cwj_call *cwj);
/* Ccode_cookie_cleanup: runs once per call, whether or not the call fails. */
typedef void cwj_cleanup(cwj_call *cwj);
/* Writes the default of every extra argument. */
typedef void cwj_defaults(void *extras);

enum {
    CWJ_IN,
    CWJ_INOUT,
    CWJ_OUT,
    CWJ_SHARED /* like CWJ_INOUT, but every slice gets the whole array */
}; /* cwj_operand_decl.role */

typedef struct cwj_operand_decl {
    const char *name;
    int role;
    int ncore;
    const npy_intp *core; /* >= 0: a fixed length; < 0: named dim number -1 - core[i] */
    bool packed;          /* arguments may be converted, and slices must be contiguous */
} cwj_operand_decl;

/* cwj_dim_step.op: the effect of one step of a dim's expression on a stack of numbers. Operands that && || ?:
 * skip are computed too; an undefined value matters only if it is used. */
enum {
    CWJ_DIM_NUMBER, /* pushes value */
    CWJ_DIM_SYMBOL, /* pushes symbol number `value`: a named dim, in functions */
    CWJ_DIM_MINUS,  /* takes one number */
    CWJ_DIM_NOT,
    CWJ_DIM_MULTIPLY, /* this and the following take two */
    CWJ_DIM_DIVIDE,
    CWJ_DIM_REMAINDER,
    CWJ_DIM_ADD,
    CWJ_DIM_SUBTRACT,
    CWJ_DIM_SHIFT_LEFT,
    CWJ_DIM_SHIFT_RIGHT,
    CWJ_DIM_LESS,
    CWJ_DIM_LESS_EQUAL,
    CWJ_DIM_GREATER,
    CWJ_DIM_GREATER_EQUAL,
    CWJ_DIM_EQUAL,
    CWJ_DIM_UNEQUAL,
    CWJ_DIM_MIN,
    CWJ_DIM_MAX,
    CWJ_DIM_AND,
    CWJ_DIM_OR,
    CWJ_DIM_CHOOSE /* takes three: a ? b : c */
};

enum {
    CWJ_DIM_STACK = 256 /* the most numbers that an expression may need at once */
};

typedef struct cwj_dim_step {
    int op;
    npy_intp value;
} cwj_dim_step;

/* A dim that no input has: its length is computed from the dims of inputs. */
typedef struct cwj_output_dim {
    int named;        /* the number of this named dim */
    const char *text; /* "n*(n-1)/2" */
    int nsteps;
    const cwj_dim_step *steps; /* the length is left on the stack */
} cwj_output_dim;

enum {
    CWJ_REFLECT,  /* d c b a | a b c d | d c b a */
    CWJ_NEAREST,  /* a a a a | a b c d | d d d d */
    CWJ_WRAP,     /* a b c d | a b c d | a b c d */
    CWJ_MIRROR,   /* d c b | a b c d | c b a */
    CWJ_CONSTANT, /* . . . . | a b c d | . . . . */
    CWJ_NBORDERS
}; /* cwj_window.border: the elements outside an array, by SciPy's names */

enum {
    CWJ_FILL_BYTES = 32
}; /* bytes; any number fits */

/* An input of which each slice sees a window that moves over the array. The core dims are the window's shape;
 * its centre is at half of each dim (rounded down). */
typedef struct cwj_window {
    int border;
    const int *axes; /* one axis of the array per core dim; negative: from the end. NULL: the input
                                   is not a window */
    const npy_intp *steps; /* elements from one window to the next */
    const unsigned char *fills; /* CWJ_CONSTANT: CWJ_FILL_BYTES per type set; NULL: zeros */
} cwj_window;

typedef struct cwj_type {
    int type_num; /* NumPy's number */
    npy_intp itemsize; /* bytes; 0: any (np.bytes_, np.str_, np.void) */
    const char *dtype; /* argument of np.dtype(), "M8[ns]", or a call of it, "dtype(...)";
                          NULL: type_num is enough, and datetimes may have any unit */
} cwj_type;

typedef struct cwj_typeset {
    const char *name; /* "float64, float64 -> int32" */
    const cwj_type *types; /* one per operand */
    cwj_loop *loop;
} cwj_typeset;

/* One extra argument. kind says how C classifies its type:
 * 'i' signed integer, 'u' unsigned integer, 'b' bool, 'f' float or double,
 * 's' pointer to char, 'O' PyObject*, '?' anything else */
typedef struct cwj_extra {
    const char *name;
    const char *c_type;
    char code; /* PyArg_Parse's letter */
    char kind;
    size_t size; /* bytes of the C type */
    size_t offset; /* bytes into cwj_call.extras */
} cwj_extra;

/* Computes cwj_extra.kind of a C type; the compiler evaluates it. */
#define CWJ_KIND(T)              \
    _Generic(*(T *)0,            \
        _Bool: 'b',              \
        char: 'i',               \
        signed char: 'i',        \
        short: 'i',              \
        int: 'i',                \
        long: 'i',               \
        long long: 'i',          \
        unsigned char: 'u',      \
        unsigned short: 'u',     \
        unsigned int: 'u',       \
        unsigned long: 'u',      \
        unsigned long long: 'u', \
        float: 'f',              \
        double: 'f',             \
        char *: 's',             \
        const char *: 's',       \
        PyObject *: 'O',         \
        default: '?')

/* Storage of a descriptor: a symbol of its unit; in a module, static. */
#ifndef CWJ_DESCRIPTOR
#define CWJ_DESCRIPTOR
#endif

enum { /* cwj_function_decl.flags */
    CWJ_ONE_OUTPUT = 1, /* the result is the output itself, not a tuple */
    CWJ_INPLACE = 2, /* out may be exactly the same view as an input */
    CWJ_CAST_SAFE = 4, /* inputs may be converted by NumPy's safe casting */
    CWJ_RELEASE_GIL = 8, /* no snippet needs the GIL: it is released if that saves time */
    CWJ_UNORDERED = 16, /* slices may run in any order and in parallel */
    CWJ_GIL_ALWAYS = 32, /* gil=False: released in every call */
    CWJ_SILENT = 64, /* no slice fails, raises, prints or calls into Python */
    CWJ_ARRAYS_ONLY = 128, /* new 0-d outputs are also computed in NumPy's memory */
    CWJ_CAST_SAME_KIND = 256, /* arrays may be converted by NumPy's same_kind casting */
    CWJ_WHOLE = 512, /* a snippet reads whole arrays, beyond its slices */
    CWJ_WARN_COPIES = 1024 /* calls that copy arguments warn */
};

enum {
    CWJ_THREADS_AUTO = 0
}; /* cwj_function_decl.threads: one per processor */

/* The facts about a function that are known when it is compiled. */
typedef struct cwj_function_decl {
    const char *name; /* "inner" */
    const char *qualname; /* "innerlib.inner", for messages */
    const char *signature; /* "a(n), b(n) -> output()" */
    int flags;
    int threads; /* the most threads that run the slices of a call; or CWJ_THREADS_AUTO */
    int ninputs;
    int noutputs;
    const cwj_operand_decl *operands; /* ninputs, then noutputs */
    int nnamed;
    const char *const *named; /* the named dims, in order of appearance */
    int noutput_dims;
    const cwj_output_dim *output_dims;
    int ntypesets;
    const cwj_typeset *typesets;
    int nextras;
    const cwj_extra *extras;
    size_t extras_size; /* bytes */
    cwj_defaults *defaults; /* NULL without extras */
    size_t cookie_size; /* bytes */
    cwj_validate *validate; /* or NULL */
    cwj_cleanup *cleanup; /* or NULL */
    const cwj_window *windows; /* one per operand, or NULL */
} cwj_function_decl;

/* Entry points of the call path, which snippets reach through macros. operand is an index into
 * cwj_call.operands. Both check only the core dims, like NumPy: dims of length 1 may have any stride, and an
 * array without elements is contiguous. The second one also raises ValueError. */
bool cwj_contiguous(const cwj_call *cwj, int operand);
bool cwj_contiguous_or_error(const cwj_call *cwj, int operand);
bool cwj_contiguous_all(const cwj_call *cwj);
bool cwj_contiguous_all_or_error(const cwj_call *cwj);
