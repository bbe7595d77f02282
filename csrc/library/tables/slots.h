/* slots.h: converts numbers between Python and slots, which thunks read and write. */
#pragma once

#include "base/state.h"

#include "base/numbers.h"

/* ---- slots ---------------------------------------------------------------- */

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
/* Ends an object by a destructor that takes more values, `bound`. */
typedef void cwj_end(void *object, const cwj_slot *bound);

enum {
    CWJ_MOST_BOUND = 8 /* values in `bound` */
};

/* ---- types of numbers ------------------------------------------------------- */

typedef struct cwj_library_type {
    char kind; /* 'b', 'i', 'u', 'f', 'c'; 'g' for long double */
    bool text; /* C's char: a character of one byte in Python */
    bool native; /* strict parameters take Python's own type, too */
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

/* Returns NULL, without an exception, if there is no type of this name. */
const cwj_library_type *cwj_library_type_find(PyObject *name);

/* Stores a Python number in a slot. strict: see slots.c. Never returns CWJ_FITS_BY_NUMPY. */
cwj_fit cwj_scalar_take(const cwj_library_type *type, bool strict, PyObject *object,
                        cwj_slot *slot);
/* Returns the text of an error for an object that does not fit the type; NULL with an exception set. */
PyObject *cwj_scalar_fault(cwj_fit fit, const cwj_library_type *type, PyObject *object);
/* Equal objects of C have the same address, so this is their hash. */
static inline Py_hash_t
cwj_hash_address(const void *address)
{
    size_t bits = (size_t)(uintptr_t)address;
    Py_hash_t hash = (Py_hash_t)(bits >> 4 | bits << (8 * sizeof(bits) - 4));
    return hash == -1 ? -2 : hash;
}

/* Returns the exception type for a value of the right kind that does not fit. Borrowed. */
static inline PyObject *
cwj_scalar_error(const cwj_library_type *type)
{
    return type->text ? PyExc_ValueError : PyExc_OverflowError;
}
/* Raises the exception for an object that does not fit. format takes `name`: "attribute %U". Returns -1. */
int cwj_scalar_refuse(cwj_fit fit, const cwj_library_type *type, PyObject *object,
                      const char *format, PyObject *name);
PyObject *cwj_scalar_object(const cwj_library_type *type, const cwj_slot *slot);
/* Does the same, inline for the most common type. */
static inline PyObject *
cwj_number_object(const cwj_library_type *type, const cwj_slot *slot)
{
    return type->typenum == NPY_FLOAT64 ? PyFloat_FromDouble(slot->d)
                                        : cwj_scalar_object(type, slot);
}
/* Returns the enum member with this value, or `number` if the dict has none. Steals number, which may be NULL. */
PyObject *cwj_enumerator(PyObject *members, PyObject *number);

/* These copy a number between a slot and memory of the C type. */
void cwj_scalar_store(const cwj_library_type *type, const cwj_slot *slot, void *memory);
void cwj_scalar_load(const cwj_library_type *type, const void *memory, cwj_slot *slot);
/* Reads the value of an integer in a slot. Returns false if it is too large. */
bool cwj_scalar_count(const cwj_library_type *type, const cwj_slot *slot, npy_int64 *value);
