/* callback.h: Python callables that C calls.
 *
 * A kind says what a function type's arguments and result are to Python. Trampolines are C functions of one
 * C signature, compiled a few at once; each has a place, from which it learns whom to call. A closure is a
 * Python callable that has such a place, as long as the closure lives. Places are never freed and used again
 * as late as can be, so that C may call them whenever it likes: one that belongs to nobody is an error.
 */
#pragma once

#include "base/watch.h"
#include "library/objects/struct_layout.h"
#include "library/tables/dims.h"

#define CWJ_CROSSINGS(CROSSING)                                                                   \
    CROSSING(CROSS_NOTHING, "nothing")   /* the result of void */                                 \
    CROSSING(CROSS_NUMBER, "number")     /* of `type` */                                          \
    CROSSING(CROSS_REFERENCE, "reference") /* a pointer to a number of `type` */                  \
    CROSSING(CROSS_STRING, "string")     /* const char * */                                       \
    CROSSING(                                                                                     \
        CROSS_TEXTS,                                                                              \
        "texts") /* a pointer to as many of these, or of instances of `cls`, as its dim says,   \
                    or a NULL behind the last */ \
    CROSSING(CROSS_ARRAY, "array") /* a pointer to items of `descr`, of dims */                   \
    CROSSING(CROSS_INSTANCE, "instance") /* a pointer to an instance of `cls` */                  \
    CROSSING(CROSS_STRUCT, "struct") /* by value: the slot points to it */                        \
    CROSSING(CROSS_ADDRESS, "address") /* any other pointer, to `item` */

#define CWJ_CROSSING_ENUM(name, word) CWJ_##name,
typedef enum cwj_crossing {
    CWJ_CROSSINGS(CWJ_CROSSING_ENUM)
} cwj_crossing;

/* An argument or the result. */
typedef struct cwj_passed {
    cwj_crossing crossing;
    bool hidden; /* Python does not get it */
    bool readonly; /* const */
    int symbol; /* a number that dims name, or -1 */
    const cwj_library_type *type; /* of numbers; else NULL */
    PyArray_Descr *descr; /* owned: of arrays; else NULL */
    cwj_struct_layout *layout; /* owned: of instances and structs; else NULL */
    PyObject *converter; /* owned: of an address where a function lies; else NULL */
    PyObject *item; /* owned str: of addresses; else NULL */
    PyObject *name; /* owned str */
    int ndim;
    cwj_dim *dims; /* owned */
} cwj_passed;

enum {
    CWJ_MOST_PASSED = 32 /* arguments of a callback */
};

typedef struct cwj_callback_kind {
    PyObject_HEAD
    PyObject *who; /* owned str: "lib.qsort(): argument compar" */
    int count, nsymbols;
    cwj_passed *passed; /* owned: count of them */
    cwj_passed result;
    bool has_memory; /* an argument is only there during the call */
    struct cwj_trampolines *trampolines; /* owned */
    PyTypeObject *closure_type; /* owned */
    PyTypeObject *pointer_type; /* owned */
} cwj_callback_kind;

/* What a trampoline knows. Its compiled unit has room for it. */
typedef struct cwj_place {
    struct cwj_closure *closure; /* borrowed; NULL: nobody's */
    void *address; /* the trampoline */
    struct cwj_place *next; /* the one that is used after it, of those that are nobody's */
    PyObject *who; /* owned str: whose it was last, or NULL */
} cwj_place;

/* Those of one signature. */
typedef struct cwj_trampolines {
    PyObject_HEAD
    cwj_place *first, *last; /* nobody's, the longest first */
    Py_ssize_t total, used;
    PyObject *units; /* owned list: their code, which stays */
    PyObject *places; /* owned dict: address -> that of its place */
} cwj_trampolines;

typedef struct cwj_closure {
    PyObject_HEAD
    cwj_callback_kind *kind; /* owned */
    PyObject *callable; /* owned; NULL after the garbage collector */
    PyObject *returned; /* owned: what the last result points into, or NULL */
    cwj_place *place; /* NULL: given back */
    struct cwj_watch *watch; /* the call that it was made for, while that runs; or NULL */
    PyObject *weakrefs;
} cwj_closure;

/* enter.c: what trampolines call. slots[0] is the result, zero before; the arguments follow. */
void cwj_callback_enter(cwj_place *place, cwj_slot *slots);

/* cross.c. Returns a new reference, or NULL with an exception set. *root: see there; owned, or NULL. */
PyObject *cwj_cross_in(const cwj_callback_kind *kind, const cwj_passed *passed,
                       const npy_int64 *symbols, cwj_slot *slot, PyObject **root);
/* The end of what cwj_cross_in() made of memory that is C's again: 0, or -1 with an exception set when
 * somebody looks there still. References are taken. */
int cwj_cross_end(const cwj_callback_kind *kind, const cwj_passed *passed, PyObject *made,
                  PyObject *root);
/* The result: 0, or -1 with an exception set. *keeper: what it points into, a new reference or NULL. */
int cwj_cross_out(const cwj_callback_kind *kind, PyObject *given, cwj_slot *slot,
                  PyObject **keeper);

/* closure.c: the closure that an object is, or NULL. */
cwj_closure *cwj_closure_of(PyObject *object);
int cwj_is_trampolines(PyObject *object);

extern PyType_Spec cwj_callback_kind_spec, cwj_closure_spec, cwj_trampolines_spec;
extern PyMethodDef cwj_callback_functions[];
