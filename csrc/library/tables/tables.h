/* tables.h: the tables behind a LibraryFunction.
 *
 * describe.c makes a cwj_library_function from a description
 * (cwrapjit/library/description.py, which explains all words used here), verify.c checks
 * what has to fit together; a call reads it and never changes it.
 */
#pragma once

#include "library/tables/dims.h"
#include "library/tables/slots.h"

#include <stdint.h>

/* Each list is an enum here, and in describe.c the words of descriptions. */
#define CWJ_NAMED(name, word, ...) CWJ_##name,
#define CWJ_ENUM(type, LIST) \
    typedef enum type {      \
        LIST(CWJ_NAMED)      \
    } type
#define CWJ_WORD(name, word, ...) word,

/* What a role is about. */
enum {
    CWJ_TYPED = 1,     /* it needs a type */
    CWJ_COUNT = 2,     /* it needs an integer type */
    CWJ_GIVEN = 4,     /* an argument gives it, unless it is an output */
    CWJ_INPUT = 8,     /* it cannot be an output */
    CWJ_RETURNED = 16, /* C functions return it, too */
    CWJ_PYTHON = 32,   /* Python code may run while it is taken: __index__, codecs, converters */
    CWJ_OBJECT = 64,   /* of a class with a layout */
    CWJ_MEMORY = 128,  /* C gets memory, into which results may point */
    CWJ_COUNTED = 256, /* the frame keeps its length */
    CWJ_FREED = 512,   /* returned memory that C may give away */
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
    ROLE(NONE, "none", CWJ_RETURNED) /* of results */

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

/* What C gets when a stride is negative. */
#define CWJ_NEGATIVES(NEGATIVE) \
    NEGATIVE(REFUSED, "")       \
    NEGATIVE(FIRST, "first")    \
    NEGATIVE(LOWEST, "lowest")

CWJ_ENUM(cwj_negative, CWJ_NEGATIVES);

/* When check= is not asked. */
#define CWJ_GOODS(GOOD)                                                            \
    GOOD(GOOD_NEVER, "")                                                           \
    GOOD(GOOD_ZERO, "zero")                                                        \
    GOOD(GOOD_FROM_ZERO, "from zero") /* unsigned: not the largest, which is -1 */ \
    GOOD(GOOD_THERE, "there") /* a pointer that is not NULL */

CWJ_ENUM(cwj_good, CWJ_GOODS);

typedef struct cwj_argument {
    PyObject *name; /* owned, interned str */
    PyObject *annotation; /* owned str, "" for none */
    PyObject *preset; /* owned: the default, or NULL where required */
} cwj_argument;

/* A parameter of the C function, or what it returns. */
typedef struct cwj_parameter {
    cwj_role role;
    cwj_intent intent; /* of what C returns: out, unless it is a status */
    const cwj_library_type *type; /* NULL: no number */
    PyArray_Descr *descr; /* owned: of an array's items, which may be structs; NULL: of any type */
    int argument; /* or -1 */
    int ndim;
    cwj_dim *dims; /* owned: ndim of them */
    cwj_dim value;
    uint64_t strided; /* bit d: a stride parameter passes on how axis d lies */
    uint64_t backwards; /* bit d: also when it runs backwards */
    uint64_t lowest; /* bit d: from its lowest address, not the first item's */
    cwj_negative negative; /* of a stride */
    cwj_order order;
    int by_pointer, optional; /* flags */
    int discarded; /* flag: it would be a result, but nobody wants it */
    int is_model; /* flag: a struct that C gives back may be a copy of this one */
    bool is_capacity; /* arrays have this length before the call; C may write a smaller one */
    int of, axis;
    int symbol; /* or -1 */
    int lengths_at; /* of buffers, items and lists: where the frame keeps their lengths */
    PyObject *cls; /* owned */
    struct cwj_struct_layout *layout; /* owned: that of cls, of structs and handles; else NULL */
    PyObject *known; /* owned dict, of functions: what cls has made of some objects; or NULL */
    PyObject *item; /* owned str: of an address, as of cwj_pointer; NULL: it is none */
    PyTypeObject *container; /* one of tuple, list, set: borrowed */
    void (*free)(void *); /* ends memory that C gave away; NULL: nothing to do */
    PyObject *name; /* owned str */
    cwj_owner owner; /* of what C gives back */
    PyObject
        *encoding; /* owned str, of texts: a codec's name, "fs" for what os.fsencode() has, or NULL,
                           which is UTF-8 */
    bool bytes; /* of texts that come back: bytes, not str */
    int nbound;
    int *bound; /* owned: parameters whose values the end of what C gives away needs, too */
    /* Of what C returns alone: */
    int readonly; /* "array": what it points to is const */
    int nbases;
    int *bases; /* owned: arguments that it may point into */
    PyObject *library; /* owned: what keeps memory of the library's, or NULL */
} cwj_parameter;

/* After the call an instance keeps an argument alive, because C points to it. */
typedef struct cwj_keep {
    int keeper; /* a parameter; nparameters: what is returned; one more: the library */
    int kept; /* a parameter */
} cwj_keep;

enum {
    CWJ_MOST_SIMPLE = 8 /* parameters of a simple function: their slots lie on the C stack */
};

typedef struct cwj_library_function {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    vectorcallfunc usual; /* while vectorcall is the one that looks at the library's text */
    cwj_thunk *thunk;
    int narguments, nparameters, npositional, nonly_positional, nsymbols, nresults, nbuffers,
        nlengths;
    int nlengths_read; /* symbols that C may change */
    bool
        simple; /* at most CWJ_MOST_SIMPLE numbers and instances in, one of these or nothing out: see take_quick.c */
    bool has_written; /* memory that the caller gives */
    bool has_instances;
    bool has_streams;
    int keep_gil; /* flags, these three */
    int may_overlap; /* what it writes may share memory with other arguments */
    int stable; /* leaves memory where it is that arrays look into */
    cwj_argument *arguments; /* owned */
    cwj_parameter *parameters; /* owned */
    cwj_parameter result;
    int nkeeps;
    cwj_keep *keeps; /* owned */
    int replaces; /* flag: what they keep takes the place of what a call before has kept */
    int nsizes;
    cwj_size *sizes; /* owned: what other symbols depend on comes first */
    bool sized_after; /* results have such sizes: they count after the call */
    bool presets; /* symbols have the value of hidden parameters */
    PyObject *described; /* owned list, for __signature__: arguments as described, returns */
    size_t frame_size; /* see cwj_library_frame_size() */
    PyObject *symbols; /* owned tuple of str */
    PyObject *check; /* owned, or NULL */
    cwj_good good; /* what check need not be asked about */
    int reads_errno; /* flag: check wants it, too */
    int nchecked;
    int *checked; /* owned: arguments that check wants, too */
    PyObject *owner; /* owned: the code */
    PyObject *who; /* owned str: "gsl.hypot()" */
    PyObject *signature; /* owned str: C's */
    PyObject *c_name; /* owned, interned str */
    void *address;
    struct cwj_library_guard *guard; /* owned: debug=True; NULL: without */
    bool faulted; /* with a guard: once at least */
    PyObject *dict; /* owned: __name__, __doc__ ... */
    PyObject *shown; /* owned: inspect.Signature, made when asked for */
    PyObject *weakrefs;
} cwj_library_function;

/* Fills a zeroed function from a description's attributes, as of cwj_read_attributes(). *guard: what
 * they say of it, borrowed. Returns 0, or -1 with an exception set. */
int cwj_library_describe(cwj_library_function *self, PyObject *given, PyObject **guard);
/* The last step of that: see verify.c. */
int cwj_library_verify(const cwj_library_function *self, const char *who);
/* True when arrays that C writes, or returns a part of, are as long as the symbol says. */
bool cwj_is_capacity(const cwj_library_function *self, int symbol);
/* True when a C function or a member of a struct says a dim of it. */
bool cwj_has_size(const cwj_library_function *self, const cwj_parameter *p);
/* True for memory that the caller gives and C writes. */
static inline bool
cwj_is_written_memory(const cwj_parameter *p)
{
    return (p->role == CWJ_ARRAY || p->role == CWJ_BUFFER || p->role == CWJ_HANDLE) &&
           p->intent == CWJ_INTENT_INOUT;
}
/* True for a symbol that C may write, so that it has another value after the call. */
static inline bool
cwj_is_written_length(const cwj_parameter *p)
{
    return p->symbol >= 0 && (p->role == CWJ_LENGTH || (p->role == CWJ_HIDDEN && p->by_pointer) ||
                              (p->role == CWJ_VALUE && p->intent != CWJ_INTENT_IN));
}
/* True for what a call returns, or a part of it. */
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
void cwj_library_clear(cwj_library_function *self); /* what describe made */
