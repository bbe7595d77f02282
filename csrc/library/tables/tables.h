/* tables.h: declares the tables that describe a LibraryFunction.
 *
 * describe.c makes a cwj_library_function from a description (cwrapjit/library/description.py explains all words used
 * here), verify.c checks that its parts fit together, and calls only read it.
 */
#pragma once

#include "library/tables/dims.h"
#include "library/tables/slots.h"

#include <stdint.h>

/* Each list defines an enum here, and the words of descriptions in describe.c. */
#define CWJ_NAMED(name, word, ...) CWJ_##name,
#define CWJ_ENUM(type, LIST) \
    typedef enum type {      \
        LIST(CWJ_NAMED)      \
    } type
#define CWJ_WORD(name, word, ...) word,

/* Properties of roles. */
enum {
    CWJ_TYPED = 1,     /* needs a type */
    CWJ_COUNT = 2,     /* needs an integer type */
    CWJ_GIVEN = 4,     /* comes from an argument unless it is an output */
    CWJ_INPUT = 8,     /* cannot be an output */
    CWJ_RETURNED = 16, /* C functions can also return it */
    CWJ_PYTHON = 32,   /* taking it may run Python code: __index__, codecs, converters */
    CWJ_OBJECT = 64,   /* has a class with a layout */
    CWJ_MEMORY = 128,  /* C gets memory into which results may point */
    CWJ_COUNTED = 256, /* the frame stores its lengths */
    CWJ_FREED = 512,   /* if returned, C may give its memory away */
};

#define CWJ_ROLES(ROLE)                                                                       \
    ROLE(VALUE, "value", CWJ_TYPED | CWJ_GIVEN | CWJ_RETURNED | CWJ_PYTHON)                   \
    ROLE(ARRAY, "array", CWJ_TYPED | CWJ_GIVEN | CWJ_RETURNED | CWJ_MEMORY | CWJ_FREED)       \
    ROLE(HIDDEN, "hidden", CWJ_COUNT)                                                         \
    ROLE(STRIDE, "stride", CWJ_COUNT)                                                         \
    ROLE(STRING, "string", CWJ_GIVEN | CWJ_RETURNED | CWJ_PYTHON | CWJ_FREED)                 \
    ROLE(TEXTS, "texts", CWJ_GIVEN | CWJ_RETURNED | CWJ_PYTHON | CWJ_COUNTED | CWJ_FREED)     \
    ROLE(BUFFER, "buffer", CWJ_GIVEN | CWJ_INPUT | CWJ_PYTHON | CWJ_COUNTED)                  \
    ROLE(HANDLE, "handle", CWJ_GIVEN | CWJ_RETURNED | CWJ_OBJECT | CWJ_MEMORY)                \
    ROLE(HANDLES, "handles", CWJ_GIVEN | CWJ_RETURNED | CWJ_OBJECT | CWJ_COUNTED | CWJ_FREED) \
    ROLE(STRUCT, "struct", CWJ_GIVEN | CWJ_RETURNED | CWJ_OBJECT | CWJ_MEMORY)                \
    ROLE(CALLBACK, "callback", CWJ_GIVEN | CWJ_INPUT | CWJ_PYTHON)                            \
    ROLE(STREAM, "stream", CWJ_GIVEN | CWJ_INPUT | CWJ_PYTHON)                                \
    ROLE(ADDRESS, "address", CWJ_GIVEN | CWJ_RETURNED | CWJ_MEMORY | CWJ_FREED)               \
    ROLE(ITEMS, "items", CWJ_TYPED | CWJ_GIVEN | CWJ_PYTHON | CWJ_COUNTED)                    \
    ROLE(DATA, "data", CWJ_TYPED)                                                             \
    ROLE(LENGTH, "length", CWJ_COUNT)                                                         \
    ROLE(STATUS, "status", CWJ_COUNT | CWJ_RETURNED)                                          \
    ROLE(NONE, "none", CWJ_RETURNED) /* only of results */

CWJ_ENUM(cwj_role, CWJ_ROLES);

#define CWJ_TRAITS(name, word, traits) traits,
static inline bool
cwj_role_is(cwj_role role, int trait)
{
    static const int traits[] = {CWJ_ROLES(CWJ_TRAITS)};
    return (traits[role] & trait) != 0;
}

#define CWJ_INTENTS(INTENT)       \
    INTENT(INTENT_IN, "in")       \
    INTENT(INTENT_INOUT, "inout") \
    INTENT(INTENT_OUT, "out")

CWJ_ENUM(cwj_intent, CWJ_INTENTS);

#define CWJ_KINDS(KIND)            \
    KIND(ANY, "any")               \
    KIND(POSITIONAL, "positional") \
    KIND(KEYWORD, "keyword")

CWJ_ENUM(cwj_kind, CWJ_KINDS);

#define CWJ_OWNERS(OWNER)         \
    OWNER(OWNER_NONE, "none")     \
    OWNER(OWNER_CALLEE, "callee") \
    OWNER(OWNER_ARGUMENT, "argument")

CWJ_ENUM(cwj_owner, CWJ_OWNERS);

#define CWJ_ORDERS(ORDER) \
    ORDER(ORDER_C, "C")   \
    ORDER(ORDER_F, "F")

CWJ_ENUM(cwj_order, CWJ_ORDERS);

/* The address that C gets if a stride is negative. */
#define CWJ_NEGATIVES(NEGATIVE) \
    NEGATIVE(REFUSED, "")       \
    NEGATIVE(FIRST, "first")    \
    NEGATIVE(LOWEST, "lowest")

CWJ_ENUM(cwj_negative, CWJ_NEGATIVES);

/* Results for which check= is not called. */
#define CWJ_GOODS(GOOD)                                                                \
    GOOD(GOOD_NEVER, "")                                                               \
    GOOD(GOOD_ZERO, "zero")                                                            \
    GOOD(GOOD_FROM_ZERO, "from zero") /* unsigned: any but the largest, which is -1 */ \
    GOOD(GOOD_THERE, "there") /* a pointer that is not NULL */

CWJ_ENUM(cwj_good, CWJ_GOODS);

typedef struct cwj_argument {
    PyObject *name; /* owned, interned str */
    PyObject *annotation; /* owned str, "" for none */
    PyObject *preset; /* owned: the default; NULL: required */
} cwj_argument;

/* A parameter of the C function, or its result. */
typedef struct cwj_parameter {
    cwj_role role;
    cwj_intent intent; /* of results: out, or in for a status */
    const cwj_library_type *type; /* NULL: not a number */
    PyArray_Descr *descr; /* owned: dtype of an array's items; NULL: any */
    int argument; /* its index, or -1 */
    int ndim;
    cwj_dim *dims; /* owned: ndim of them */
    cwj_dim value;
    uint64_t strided; /* bit d: a parameter passes the stride of axis d to C */
    uint64_t backwards; /* bit d: this stride may be negative */
    uint64_t lowest; /* bit d: then C gets the lowest address, not the first item's */
    cwj_negative negative; /* of stride parameters */
    cwj_order order;
    int by_pointer, optional; /* flags */
    int discarded; /* flag: C writes it, but calls do not return it */
    int is_model; /* flag: a struct that C returns may be a copy of this one */
    bool is_capacity; /* arrays have this length before the call; C may write a smaller one */
    int of, axis;
    int symbol; /* its index, or -1 */
    int lengths_at; /* of CWJ_COUNTED roles: index of their lengths in the frame */
    PyObject *cls; /* owned */
    struct cwj_struct_layout *layout; /* owned: of cls, for structs and handles; or NULL */
    PyObject *known; /* owned dict: results that the converter cls keeps; or NULL */
    PyObject *item; /* owned str: of an address, see cwj_pointer; else NULL */
    PyTypeObject *container; /* borrowed: tuple, list, set or NULL */
    void (*free)(void *); /* frees memory that C gave away; NULL: not needed */
    PyObject *name; /* owned str */
    cwj_owner owner; /* of outputs */
    PyObject *encoding; /* owned str: the texts' codec, "fs" for os.fsencode(), NULL for UTF-8 */
    bool bytes; /* texts are returned as bytes, not str */
    int nbound;
    int *bound; /* owned: parameters whose values free= also needs */
    /* Only of results: */
    int readonly; /* "array": its items are const */
    int nbases;
    int *bases; /* owned: arguments that it may point into */
    PyObject *library; /* owned: keeps the library's memory alive; or NULL */
} cwj_parameter;

/* After the call, an instance keeps an argument alive because C may point to it. */
typedef struct cwj_keep {
    int keeper; /* a parameter; nparameters: the result; nparameters + 1: the library */
    int kept; /* a parameter */
} cwj_keep;

enum {
    CWJ_MOST_SIMPLE = 8 /* parameters of a simple function: their slots lie on the C stack */
};

typedef struct cwj_library_function {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    vectorcallfunc usual; /* replaces vectorcall when all compiler messages are reported */
    cwj_thunk *thunk;
    int narguments, nparameters, npositional, nonly_positional, nsymbols, nresults, nbuffers,
        nlengths;
    int nlengths_read; /* symbols that C may change */
    bool simple; /* see is_simple() in describe.c */
    bool has_written; /* C writes memory that the caller passes */
    bool has_instances;
    bool has_streams;
    bool leavable; /* the C function is compiled by us, or interruptible=: see base/leave.h */
    int keep_gil; /* flags, these three */
    int may_overlap; /* written memory may be shared with other arguments */
    int stable; /* C neither moves nor frees memory that arrays look into */
    cwj_argument *arguments; /* owned */
    cwj_parameter *parameters; /* owned */
    cwj_parameter result;
    int nkeeps;
    cwj_keep *keeps; /* owned */
    int replaces; /* flag: keeps replace those of the previous call */
    int nsizes;
    cwj_size *sizes; /* owned: each after those that it depends on */
    bool sized_after; /* results have such sizes, which are computed after the call */
    bool presets; /* hidden parameters give symbols their values */
    PyObject *described; /* owned list for __signature__: the described arguments, returns */
    size_t frame_size; /* see cwj_library_frame_size() */
    PyObject *symbols; /* owned tuple of str */
    PyObject *check; /* owned, or NULL */
    cwj_good good; /* results for which check is not called */
    int reads_errno; /* flag: check also gets errno */
    int nchecked;
    int *checked; /* owned: arguments that check also gets */
    PyObject *owner; /* owned: the code */
    PyObject *who; /* owned str: "gsl.hypot()" */
    PyObject *signature; /* owned str: C's */
    PyObject *c_name; /* owned, interned str */
    void *address;
    struct cwj_library_guard *guard; /* owned: of debug=True, or NULL */
    bool faulted; /* with a guard: a call has faulted */
    PyObject *dict; /* owned: __name__, __doc__ ... */
    PyObject *shown; /* owned: inspect.Signature, made at the first request */
    PyObject *weakrefs;
} cwj_library_function;

/* Fills a zeroed function from a description's attributes (see cwj_read_attributes()). *guard becomes their `guard`,
 * borrowed. Returns 0, or -1 with an exception set. */
int cwj_library_describe(cwj_library_function *self, PyObject *given, PyObject **guard);
/* Checks that the tables fit together: see verify.c. Returns 0, or -1 with an exception set. */
int cwj_library_verify(const cwj_library_function *self, const char *who);
/* True if an array that C writes has the symbol in a dim, or if the result lies in an argument. */
bool cwj_is_capacity(const cwj_library_function *self, int symbol);
/* True if one of self->sizes gives a dim of the parameter. */
bool cwj_has_size(const cwj_library_function *self, const cwj_parameter *p);
/* True for memory that the caller passes and C writes. */
static inline bool
cwj_is_written_memory(const cwj_parameter *p)
{
    return (p->role == CWJ_ARRAY || p->role == CWJ_BUFFER || p->role == CWJ_HANDLE) &&
           p->intent == CWJ_INTENT_INOUT;
}
/* True if the parameter has a symbol whose value C may change. */
static inline bool
cwj_is_written_length(const cwj_parameter *p)
{
    return p->symbol >= 0 && (p->role == CWJ_LENGTH || (p->role == CWJ_HIDDEN && p->by_pointer) ||
                              (p->role == CWJ_VALUE && p->intent != CWJ_INTENT_IN));
}
/* True if a call returns it, alone or in a tuple. */
static inline bool
cwj_is_result(const cwj_parameter *p)
{
    bool out = p->intent == CWJ_INTENT_OUT;
    if (p->discarded) {
        return false;
    }
    return p->role == CWJ_DATA || (p->role == CWJ_VALUE && p->intent != CWJ_INTENT_IN) ||
           (out && p->role != CWJ_NONE && cwj_role_is(p->role, CWJ_RETURNED));
}
void cwj_library_clear(cwj_library_function *self);
