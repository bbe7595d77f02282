/* callback.h: lets C call Python callables.
 *
 * A kind says how the arguments and the result of a C function type are converted. Trampolines are C functions of one C
 * signature, compiled several at once. Each has a place, which points to its closure. A closure is a Python callable
 * that has a place as long as it lives. Places are never freed and are reused as late as possible. A late call
 * therefore nearly always finds its place free and raises an exception. */
#pragma once

#include "base/watch.h"
#include "library/objects/struct_layout.h"
#include "library/tables/dims.h"

#define CWJ_CROSSINGS(CROSSING)                                                                   \
    CROSSING(CROSS_NOTHING, "nothing")   /* the result is void */                                 \
    CROSSING(CROSS_NUMBER, "number")     /* of `type` */                                          \
    CROSSING(CROSS_REFERENCE, "reference") /* a pointer to a number of `type` */                  \
    CROSSING(CROSS_STRING, "string")     /* const char * */                                       \
    CROSSING(                                                                                     \
        CROSS_TEXTS,                                                                              \
        "texts") /* an array of char *, or of pointers to instances of `cls`: as many as its    \
                    dim says, or up to a NULL */ \
    CROSSING(CROSS_ARRAY, "array") /* a pointer to items of `descr`, with dims */                 \
    CROSSING(CROSS_INSTANCE, "instance") /* a pointer to an instance of `cls` */                  \
    CROSSING(CROSS_STRUCT, "struct") /* by value: the slot points to it */                        \
    CROSSING(CROSS_ADDRESS, "address") /* any other pointer, to `item` */

#define CWJ_CROSSING_ENUM(name, word) CWJ_##name,
typedef enum cwj_crossing {
    CWJ_CROSSINGS(CWJ_CROSSING_ENUM)
} cwj_crossing;

/* An argument or the result of a callback. */
typedef struct cwj_passed {
    cwj_crossing crossing;
    bool hidden; /* Python does not get it */
    bool readonly; /* const */
    int symbol; /* of a number that dims name, or -1 */
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
    bool has_memory; /* an argument lies in memory that is Python's only during the call */
    struct cwj_trampolines *trampolines; /* owned */
    PyTypeObject *closure_type; /* owned */
    PyTypeObject *pointer_type; /* owned */
} cwj_callback_kind;

/* The data of a trampoline, inside its compiled unit. */
typedef struct cwj_place {
    struct cwj_closure *closure; /* borrowed; NULL: the place is free */
    void *address; /* of the trampoline */
    struct cwj_place *next; /* the free place that is used after this one */
    PyObject *who; /* owned str: `who` of the last kind that used it, or NULL */
} cwj_place;

/* All trampolines of one C signature. */
typedef struct cwj_trampolines {
    PyObject_HEAD
    cwj_place *first, *last; /* free places: the first has been free for longest */
    Py_ssize_t total, used;
    PyObject *units; /* owned list: their code, never freed */
    PyObject *places; /* owned dict: address of a trampoline -> address of its place */
} cwj_trampolines;

typedef struct cwj_closure {
    PyObject_HEAD
    cwj_callback_kind *kind; /* owned */
    PyObject *callable; /* owned; NULL once the garbage collector has cleared it */
    PyObject *returned; /* owned: the object that the last result points into, or NULL */
    cwj_place *place; /* NULL after it was given back */
    struct cwj_watch *watch; /* of the call that it was made for, while that runs; or NULL */
} cwj_closure;

/* enter.c: the entry point that trampolines call, `callback_entry` in Python. slots[0] is for the result, zeroed; the
 * arguments follow. */
void cwj_callback_enter(cwj_place *place, cwj_slot *slots);

/* cross.c: converts an argument to a new object, or returns NULL with an exception set. *root, which is NULL, gets an
 * array's base or a tuple of a list's instances, owned, for cwj_cross_end(). */
PyObject *cwj_cross_in(const cwj_callback_kind *kind, const cwj_passed *passed,
                       const npy_int64 *symbols, cwj_slot *slot, PyObject **root);
/* Detaches what cwj_cross_in() made from memory that is C's again. Steals both references. Returns 0, or -1 with an
 * exception set if Python still looks into that memory. */
int cwj_cross_end(const cwj_callback_kind *kind, const cwj_passed *passed, PyObject *made,
                  PyObject *root);
/* Converts the result. *keeper: the object that it points into, a new reference, or NULL. Returns 0, or -1 with an
 * exception set. */
int cwj_cross_out(const cwj_callback_kind *kind, PyObject *given, cwj_slot *slot,
                  PyObject **keeper);

/* closure.c: the closure that an object is, or NULL. */
cwj_closure *cwj_closure_of(PyObject *object);
int cwj_is_trampolines(PyObject *object);

extern PyType_Spec cwj_callback_kind_spec, cwj_closure_spec, cwj_trampolines_spec;
