/* field.h: declares a member of a struct, which field_new.c makes and fields.c uses. */
#pragma once

#include "library/objects/struct_layout.h"
#include "library/tables/slots.h"

/* The kinds of members, and the words by which field_new.c knows them. */
#define FIELD_KINDS(KIND)                                                                      \
    KIND(SCALAR, "scalar")   /* a number */                                                    \
    KIND(BITS, "bits")       /* bits of a number: dims are the first bit and their count */    \
    KIND(ARRAY, "array")     /* numbers or structs inside the struct */                        \
    KIND(BUFFER, "buffer")   /* char[n]: text up to a NUL */                                   \
    KIND(STRING, "string")   /* char *: a text, or NULL */                                     \
    KIND(LIST,                                                                                 \
         "list") /* a pointer to texts or structs: as many as its dim says, or up to a NULL */ \
    KIND(POINTERS, "pointers") /* pointers to texts or structs, inside the struct */           \
    KIND(DATA, "data") /* a pointer to items; other members have their number */               \
    KIND(INSIDE, "inside") /* a struct inside the struct */                                    \
    KIND(POINTER, "pointer") /* a pointer to a struct or an opaque type */                     \
    KIND(ADDRESS, "address") /* a pointer to memory of unknown extent */                       \
    KIND(FUNCTION, "function") /* a pointer to a function, which `converter` makes */          \
    KIND(REFUSED, "refused") /* cannot be accessed; `reason` says why */

typedef enum field_kind {
#define NAMED(name, word) name,
    FIELD_KINDS(NAMED)
#undef NAMED
} field_kind;

/* A dim: a number, or the integer member at offset `value`. */
typedef struct field_dim {
    const cwj_library_type *type; /* NULL: a number */
    npy_intp value;
} field_dim;

typedef struct field_object {
    PyObject_HEAD
    cwj_struct_layout *layout; /* owned */
    PyObject *name; /* owned str */
    PyObject *reason; /* owned str: the docstring, or why the member cannot be accessed */
    field_kind kind;
    PyObject *word; /* owned str: the same */
    size_t offset;
    const cwj_library_type *type; /* of a scalar */
    PyArray_Descr *descr; /* owned: dtype of an array's items, or NULL */
    cwj_struct_layout *of; /* owned: of the structs inside or pointed to, or NULL */
    PyObject *converter; /* owned: makes a function's address; or an enum's members; or NULL */
    PyObject *item; /* owned str: as in cwj_pointer; or the codec of texts, "" or "bytes" */
    bool readonly; /* const */
    bool is_const; /* the items that an address points to are const */
    int nd;
    field_dim dims[NPY_MAXDIMS];
} field_object;

/* Field(layout, name, offset, kind, dtype=None, dims=(), of=None, readonly=False, reason='', item='',
 * is_const=False).
 * Refuses members that would lie outside of the struct. */
PyObject *cwj_field_new(PyTypeObject *type, PyObject *args, PyObject *kwargs);

extern PyType_Spec cwj_field_spec;
