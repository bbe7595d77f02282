/* wrap.h: the tables behind a LibraryFunction, and the steps of its calls.
 *
 * describe.c makes a cwj_wrapped from a description (cwrapjit/library/description.py,
 * which explains all words used here) and checks all of it; a call reads it and never
 * changes it.
 */
#ifndef CWJ_WRAP_WRAP_H
#define CWJ_WRAP_WRAP_H

#include "../state.h"

#include <stdint.h>

/* ---- what thunks see ------------------------------------------------------ */

typedef union cwj_slot {
    long long i;
    unsigned long long u;
    double d;
    float f;
    void *p;
    struct {
        double re, im;
    } z;
    struct {
        float re, im;
    } c;
} cwj_slot;

typedef void cwj_thunk(cwj_slot *slots);

/* ---- types (scalars.c) ----------------------------------------------------- */

typedef enum cwj_type_id {
    CWJ_BOOL,
    CWJ_INT8,
    CWJ_INT16,
    CWJ_INT32,
    CWJ_INTC,
    CWJ_INT64,
    CWJ_UINT8,
    CWJ_UINT16,
    CWJ_UINT32,
    CWJ_UINT64,
    CWJ_FLOAT32,
    CWJ_FLOAT64,
    CWJ_COMPLEX64,
    CWJ_COMPLEX128
} cwj_type_id;

typedef struct cwj_type {
    cwj_type_id id;
    char kind; /* 'b', 'i', 'u', 'f', 'c' */
    bool native; /* Python's own type has it */
    int typenum; /* NumPy's */
    size_t size;
    long long min;
    unsigned long long max;
    const char *name;   /* "float64" */
    const char *python; /* "float" */
} cwj_type;

/* NULL without exception: there is none of this name. */
const cwj_type *cwj_type_find(PyObject *name);

typedef enum cwj_taken {
    CWJ_TAKEN_ERROR = -1, /* an exception is set */
    CWJ_TAKEN = 0,
    CWJ_WRONG_TYPE,
    CWJ_WRONG_VALUE /* out of range, or not exact */
} cwj_taken;

cwj_taken cwj_scalar_take(const cwj_type *type, bool strict, PyObject *object, cwj_slot *slot);
PyObject *cwj_scalar_object(const cwj_type *type, const cwj_slot *slot);
/* Between slots and memory of C's own type. */
void cwj_scalar_store(const cwj_type *type, const cwj_slot *slot, void *memory);
void cwj_scalar_load(const cwj_type *type, const void *memory, cwj_slot *slot);
/* True when an integer type has the value. */
bool cwj_type_holds(const cwj_type *type, npy_int64 value);
/* Puts an integer that the type holds into a slot. */
void cwj_scalar_put(const cwj_type *type, npy_int64 value, cwj_slot *slot);
/* The value of an integer in a slot. False: too large. */
bool cwj_scalar_count(const cwj_type *type, const cwj_slot *slot, npy_int64 *value);

/* ---- dims (dims.c) ----------------------------------------------------------- */

typedef enum cwj_operator {
    CWJ_NUMBER,
    CWJ_SYMBOL,
    CWJ_ADD,
    CWJ_SUBTRACT,
    CWJ_MULTIPLY,
    CWJ_DIVIDE,
    CWJ_REMAINDER
} cwj_operator;

typedef struct cwj_operation {
    cwj_operator op;
    npy_int64 value; /* the number, or the symbol's index */
} cwj_operation;

enum {
    CWJ_MAX_DEPTH = 32
};

typedef struct cwj_dim {
    cwj_operation *operations; /* owned */
    int count; /* 0: anything */
} cwj_dim;

/* The symbol that the dim is, or -1. */
static inline int
cwj_dim_symbol(const cwj_dim *dim)
{
    return dim->count == 1 && dim->operations[0].op == CWJ_SYMBOL ? (int)dim->operations[0].value
                                                                  : -1;
}

/* Symbols that are not there yet are appended to the list. Returns 0, or -1. */
int cwj_dim_read(cwj_dim *dim, PyObject *given, PyObject *symbols, const char *who);
void cwj_dim_clear(cwj_dim *dim);

/* ---- the tables ----------------------------------------------------------------- */

typedef enum cwj_role {
    CWJ_VALUE,
    CWJ_ARRAY,
    CWJ_HIDDEN,
    CWJ_STRIDE,
    CWJ_STRING,
    CWJ_BUFFER,
    CWJ_HANDLE,
    CWJ_STRUCT,
    CWJ_ITEMS,
    CWJ_DATA,
    CWJ_LENGTH,
    CWJ_STATUS,
    CWJ_NULL,
    CWJ_NONE /* of results */
} cwj_role;

typedef enum cwj_intent {
    CWJ_IN,
    CWJ_INOUT,
    CWJ_OUT
} cwj_intent;

typedef enum cwj_kind {
    CWJ_ANY,
    CWJ_POSITIONAL,
    CWJ_KEYWORD
} cwj_kind;

typedef enum cwj_owner {
    CWJ_OWNER_NONE,
    CWJ_OWNER_CALLEE,
    CWJ_OWNER_ARGUMENT, /* and "instance": what is kept are arguments */
} cwj_owner;

typedef struct cwj_argument {
    PyObject *name; /* owned, interned str */
    PyObject *annotation; /* owned str, "" for none */
    PyObject *preset; /* owned: the default, or NULL where required */
    cwj_kind kind;
} cwj_argument;

typedef struct cwj_parameter {
    cwj_role role;
    cwj_intent intent;
    const cwj_type *type;
    int argument; /* or -1 */
    int ndim;
    cwj_dim *dims; /* owned: ndim of them */
    cwj_dim value;
    uint64_t strided; /* bit d: a stride parameter passes on how axis d lies */
    char order;
    bool by_pointer, optional, strict, lowest;
    int of, axis;
    int symbol; /* or -1 */
    int lengths_at; /* of buffers and items: where the frame keeps their lengths */
    PyObject *cls; /* owned, or NULL */
    PyTypeObject *container; /* one of tuple, list, set: borrowed */
    void (*free)(void *);
    PyObject *name; /* owned str */
} cwj_parameter;

typedef struct cwj_result {
    cwj_role role;
    const cwj_type *type;
    bool bytes; /* "string": bytes, not str */
    bool readonly; /* "array": what it points to is const */
    char order;
    cwj_owner owner;
    int ndim;
    cwj_dim *dims; /* owned */
    int nof;
    int *of; /* owned */
    void (*free)(void *);
    PyObject *cls; /* owned, or NULL */
} cwj_result;

typedef struct cwj_wrapped {
    PyObject_HEAD vectorcallfunc vectorcall;
    cwj_thunk *thunk;
    int narguments, nparameters, npositional, nsymbols, nresults, nbuffers, nlengths, nlengths_read;
    bool simple;  /* numbers in, by position, and a number or nothing out */
    bool keep_gil;
    bool result_first;
    bool has_instances;
    cwj_argument *arguments;   /* owned */
    cwj_parameter *parameters; /* owned */
    cwj_result result;
    size_t frame_size;
    PyObject *symbols;   /* owned tuple of str */
    PyObject *check;     /* owned, or NULL */
    PyObject *owner;     /* owned: the code */
    PyObject *who;       /* owned str: "gsl.hypot()" */
    PyObject *signature; /* owned str: C's */
    void *address;
    PyObject *dict;      /* owned: __name__, __doc__ ... */
    PyObject *shown;     /* owned: inspect.Signature, made when asked for */
    PyObject *weakrefs;
} cwj_wrapped;

/* Fills a zeroed function from a description. Returns 0, or -1 with an exception set. */
int cwj_wrapped_describe(cwj_wrapped *self, PyObject *description);
/* The last step of that: see verify.c. */
int cwj_wrapped_verify(const cwj_wrapped *self, const char *who);
void cwj_wrapped_clear(cwj_wrapped *self); /* what describe made */

/* ---- calls ------------------------------------------------------------------------ */

/* All arrays are in one piece of memory, on the C stack in the usual call. */
typedef struct cwj_wrap_frame {
    cwj_wrapped *function; /* borrowed */
    cwj_slot *slots;       /* nparameters + 1 */
    cwj_slot *targets;     /* nparameters: what goes by pointer */
    PyObject **given;      /* narguments: borrowed; NULL: absent */
    PyObject **made;       /* nparameters + 1, the last for the result: owned, or NULL */
    void **memory;         /* nparameters: temporary arrays, owned, or NULL */
    npy_intp *lengths;     /* nlengths: of buffers and items */
    npy_int64 *symbols;    /* nsymbols */
    int *sources;          /* nsymbols: the parameter that gave it its value, or -1 */
    Py_buffer *views;      /* nbuffers */
    int nviews;            /* held */
    bool strict;           /* for an interface: see cwj_scalar_take() */
    bool called;           /* the C function has run, and its status was good */
} cwj_wrap_frame;

/* call.c */
PyObject *cwj_wrapped_call(PyObject *op, PyObject *const *args, size_t nargsf, PyObject *kwnames);
/* Which arguments have a type that fits strictly: a tuple of bool, or None when they cannot be bound. */
PyObject *cwj_wrapped_fits(cwj_wrapped *self, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *kwnames);

/* The steps. Each returns 0, or -1 with an exception set. */
int cwj_wrap_bind(cwj_wrap_frame *frame, PyObject *const *args, Py_ssize_t nargs,
                  PyObject *kwnames);
int cwj_wrap_take_value(cwj_wrap_frame *frame, int k, PyObject *object);
int cwj_wrap_take_array(cwj_wrap_frame *frame, int k, PyObject *object);
int cwj_wrap_take_items(cwj_wrap_frame *frame, int k, PyObject *object);
int cwj_wrap_take_string(cwj_wrap_frame *frame, int k, PyObject *object);
int cwj_wrap_take_buffer(cwj_wrap_frame *frame, int k, PyObject *object);
int cwj_wrap_solve(cwj_wrap_frame *frame);
int cwj_wrap_fill(cwj_wrap_frame *frame);
PyObject *cwj_wrap_pack(cwj_wrap_frame *frame);

/* The array of parameter k: given or made; NULL: absent. Borrowed. */
PyArrayObject *cwj_wrap_array(const cwj_wrap_frame *frame, int k);
/* What argument object parameter k has; NULL: absent. Borrowed. */
static inline PyObject *
cwj_wrap_given(const cwj_wrap_frame *frame, int k)
{
    int argument = frame->function->parameters[k].argument;
    return argument < 0 ? NULL : frame->given[argument];
}

/* dims.c: the value of a dim, with an exception when there is none. what: "n", for messages. */
int cwj_wrap_evaluate(const cwj_wrap_frame *frame, const cwj_dim *dim, PyObject *what,
                      npy_int64 *value);
/* Fills ndim dims, none of them negative. */
int cwj_wrap_shape(const cwj_wrap_frame *frame, const cwj_dim *dims, int ndim, PyObject *what,
                   npy_intp *shape);

/* Raise, with "WHO: " in front; -1 for `return`. */
int cwj_wrap_refuse(const cwj_wrap_frame *frame, PyObject *type, const char *format, ...);
/* "Expected an argument of type T for argument a, got G"; detail may be NULL. */
int cwj_wrap_refuse_type(const cwj_wrap_frame *frame, int k, PyObject *object, PyObject *detail);
/* What messages call parameter k: its argument, or C's name of it. Borrowed. */
PyObject *cwj_wrap_name(const cwj_wrap_frame *frame, int k);

/* owner.c: an array over memory at data. free: not NULL, ends the memory with the array.
 * base: kept alive (borrowed here). strides may be NULL. */
PyObject *cwj_array_around(const cwj_type *type, int ndim, const npy_intp *shape,
                           const npy_intp *strides, char order, void *data, void (*free)(void *),
                           PyObject *base, bool writeable);

#endif
