/* slots.h: numbers in slots: what thunks see, and how they come from Python and go back. */
#pragma once

#include "base/state.h"

#include "base/numbers.h"

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
/* Ends an object with what it wants besides. */
typedef void cwj_end(void *object, const cwj_slot *bound);

enum {
    CWJ_MOST_BOUND = 8 /* values of that */
};

/* ---- types of numbers ------------------------------------------------------- */

typedef struct cwj_library_type {
    char kind; /* 'b', 'i', 'u', 'f', 'c'; 'g' for long double */
    bool text; /* C's char: a character of one byte in Python */
    bool native; /* Python's own type has it */
    int typenum; /* NumPy's */
    size_t size;
    const char *name;   /* "float64" */
    const char *python; /* "float" */
} cwj_library_type;

static inline bool
cwj_is_integer(const cwj_library_type *type)
{
    return type != NULL && (type->kind == 'i' || type->kind == 'u');
}

/* NULL without exception: there is none of this name. */
const cwj_library_type *cwj_library_type_find(PyObject *name);

/* strict: see slots.c. Never CWJ_FITS_BY_NUMPY. */
cwj_fit cwj_scalar_take(const cwj_library_type *type, bool strict, PyObject *object,
                        cwj_slot *slot);
/* The text of what does not fit a number of this type, or a character; NULL with an exception set. */
PyObject *cwj_scalar_fault(cwj_fit fit, const cwj_library_type *type, PyObject *object);
/* Of equal objects of C's the hash is equal: it is that of the address. */
static inline Py_hash_t
cwj_hash_address(const void *address)
{
    size_t bits = (size_t)(uintptr_t)address;
    Py_hash_t hash = (Py_hash_t)(bits >> 4 | bits << (8 * sizeof(bits) - 4));
    return hash == -1 ? -2 : hash;
}

/* What a value of the right kind that does not fit raises. Borrowed. */
static inline PyObject *
cwj_scalar_error(const cwj_library_type *type)
{
    return type->text ? PyExc_ValueError : PyExc_OverflowError;
}
/* Raises what does not fit; NAME is what FORMAT is filled with: "attribute %U". Returns -1. */
int cwj_scalar_refuse(cwj_fit fit, const cwj_library_type *type, PyObject *object,
                      const char *format, PyObject *name);
PyObject *cwj_scalar_object(const cwj_library_type *type, const cwj_slot *slot);
/* The same, in line for what is most usual. */
static inline PyObject *
cwj_number_object(const cwj_library_type *type, const cwj_slot *slot)
{
    return type->typenum == NPY_FLOAT64 ? PyFloat_FromDouble(slot->d)
                                        : cwj_scalar_object(type, slot);
}
/* An enum's number (stolen) becomes the member of this value, where there is one in the dict. */
PyObject *cwj_enumerator(PyObject *members, PyObject *number);

/* Between slots and memory of C's own type. */
void cwj_scalar_store(const cwj_library_type *type, const cwj_slot *slot, void *memory);
void cwj_scalar_load(const cwj_library_type *type, const void *memory, cwj_slot *slot);
/* The value of an integer in a slot. False: too large. */
bool cwj_scalar_count(const cwj_library_type *type, const cwj_slot *slot, npy_int64 *value);
